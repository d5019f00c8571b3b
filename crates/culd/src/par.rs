//! Doing many independent things, on several cores when it pays.

use rayon::prelude::*;

/// Below this many bytes of work a pool costs more than it saves.
const WORTH_A_POOL: usize = 4 << 20;

/// True when `bytes` of work are worth several threads.
pub fn worth(bytes: usize, threads: usize) -> bool {
    threads != 1 && bytes >= WORTH_A_POOL
}

/// Runs `work` with a pool of `threads` (0: all cores) installed, if the amount of work is worth it.
pub fn with_pool<R: Send>(bytes: usize, threads: usize, work: impl FnOnce() -> R + Send) -> R {
    if !worth(bytes, threads) || threads == 0 {
        return work();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// Maps every item, in order, on several threads when it pays.
pub fn map<T: Sync, R: Send>(items: &[T], bytes: usize, threads: usize, work: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    if worth(bytes, threads) && items.len() > 1 {
        items.par_iter().map(work).collect()
    } else {
        items.iter().map(work).collect()
    }
}

/// Does two things, at once when it pays.
pub fn join<A: Send, B: Send>(bytes: usize, threads: usize, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if worth(bytes, threads) { rayon::join(a, b) } else { (a(), b()) }
}
