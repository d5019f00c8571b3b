//! What the loader is doing and how long it took.
//!
//! Compilers may run for minutes: another thread can read the step and the count of a [`Progress`] meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

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
