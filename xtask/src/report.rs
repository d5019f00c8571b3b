//! Named results and the closing line that every test task prints.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts results and prints them one per line.
#[derive(Default)]
pub(crate) struct Report {
    passed: AtomicUsize,
    failed: AtomicUsize,
    print: Mutex<()>,
}

impl Report {
    /// A result that is printed even when good.
    pub(crate) fn named(&self, name: &str, failure: Option<&str>) {
        self.count(name, failure, true);
    }

    /// A result of which there are thousands: printed only when bad.
    pub(crate) fn quiet(&self, name: &str, failure: Option<&str>) {
        self.count(name, failure, false);
    }

    fn count(&self, name: &str, failure: Option<&str>, always: bool) {
        let counter = if failure.is_none() { &self.passed } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
        let _one_at_a_time = self.print.lock();
        match failure {
            None if always => println!("ok      {name}"),
            None => {}
            Some(why) => {
                println!("FAILED  {name}");
                for line in why.lines() {
                    println!("        {line}");
                }
            }
        }
    }

    /// Counts results that another program has named and printed.
    pub(crate) fn add(&self, passed: usize, failed: usize) {
        self.passed.fetch_add(passed, Ordering::Relaxed);
        self.failed.fetch_add(failed, Ordering::Relaxed);
    }

    /// How many passed and failed so far.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.passed.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// Prints the closing line; true if nothing failed.
    pub(crate) fn close(&self) -> bool {
        let (passed, failed) = self.counts();
        println!("{passed} passed, {failed} failed");
        failed == 0
    }
}

/// Runs `work` on every item, on `jobs` threads. Order of the calls is the order of the items; they overlap.
pub(crate) fn parallel<T: Sync>(items: &[T], jobs: usize, work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}
