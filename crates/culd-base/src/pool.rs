//! The threads of large links, and the memory that they allocate from.
//!
//! glibc gives every thread a heap, which grows by the pages of one request at a time, and gives back what is free at its end. Large blocks are mapped one
//! by one. Each of these system calls stops the page faults of all threads, so that they cost most where many threads work.
//!
//! 1. Before the threads start, a large block is allocated and freed: from then on, glibc takes blocks up to this size from heaps, and heaps keep twice as
//!    much.
//! 2. Each thread allocates and frees blocks when it starts: its heap then has the addresses, without memory, of most of what it will allocate.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Once;

/// Size of the block that is freed. Larger ones are mapped, and given back when they are freed.
const LEARNT: usize = 1 << 20;
/// Size of the blocks that a thread allocates, a little less than [`LEARNT`], and how many.
const BLOCK: usize = LEARNT - (16 << 10);
const BLOCKS: usize = 16;

/// Starts the threads that are shared by all links, unless they exist.
pub fn start() {
    static STARTED: Once = Once::new();
    // An error means that the program has threads already.
    STARTED.call_once(|| builder().build_global().unwrap_or_default());
}

/// So many threads for one link; none if the system refuses them.
pub fn of(threads: usize) -> Option<ThreadPool> {
    builder().num_threads(threads).build().ok()
}

fn builder() -> ThreadPoolBuilder {
    allocate_and_free(1, LEARNT);
    ThreadPoolBuilder::new().start_handler(|_| allocate_and_free(BLOCKS, BLOCK))
}

/// Allocates blocks that are never touched, and frees them.
fn allocate_and_free(count: usize, size: usize) {
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let allocate = |_| {
            let mut block = Vec::<u8>::new();
            // Without the blocks everything works, only slower.
            block.try_reserve_exact(size).unwrap_or_default();
            block
        };
        let blocks: Vec<Vec<u8>> = (0..count).map(allocate).collect();
        std::hint::black_box(&blocks);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn pools_have_the_threads_that_are_requested() {
        assert_eq!(of(3).unwrap().current_num_threads(), 3);
        start();
        start();
        assert!(rayon::current_num_threads() > 0);
    }
}
