//! What the loader is doing and how long it took.
//!
//! Compilers may run for minutes: another thread can read the step and the count of a [`Progress`] meanwhile. Times are measured only if they are
//! asked for, because not every platform has a clock.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A step of the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Files are searched and opened.
    Reading,
    /// Entries are chosen and unpacked.
    Unpacking,
    /// ptxas compiles PTX.
    Ptx,
    /// Modules are optimized.
    Optimizing,
    /// The inputs are loaded.
    Done,
}

impl Step {
    const ALL: [Step; 5] = [Step::Reading, Step::Unpacking, Step::Ptx, Step::Optimizing, Step::Done];
}

/// The step that the loader is at, and how much of it is done.
#[derive(Debug, Default)]
pub struct Progress {
    step: AtomicUsize,
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// Starts a step with a number of parts.
    pub fn start(&self, step: Step, total: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.step.store(step as usize, Ordering::Relaxed);
    }

    /// One part is done.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The step, the parts that are done, and all of them.
    pub fn now(&self) -> (Step, usize, usize) {
        let step = Step::ALL.get(self.step.load(Ordering::Relaxed)).copied();
        let read = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        (step.unwrap_or(Step::Done), read(&self.done), read(&self.total))
    }
}

/// Measures the parts of a load.
#[derive(Debug)]
pub(crate) struct Times {
    last: Option<Instant>,
    pub(crate) parts: Vec<(&'static str, Duration)>,
}

impl Times {
    pub(crate) fn new(is_on: bool) -> Self {
        Times {
            last: is_on.then(Instant::now),
            parts: Vec::new(),
        }
    }

    /// Ends a part.
    pub(crate) fn lap(&mut self, part: &'static str) {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            self.parts.push((part, now - *last));
            *last = now;
        }
    }
}
