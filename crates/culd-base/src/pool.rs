//! The threads of large links, and the memory that they allocate from.
//!
//! glibc gives every thread a heap, which grows by the pages of one request at a time, and gives back what is free at its end. Large blocks are mapped one
//! by one. Each of these system calls stops the page faults of all threads, so that they cost most where many threads work.
//!
//! 1. A block is allocated and freed: from then on, glibc takes blocks up to this size from heaps, and heaps keep twice as much.
//! 2. Each thread allocates and frees blocks: its heap then has the addresses, without memory, of most of what it will allocate.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of the block that is freed. Larger ones are mapped, and given back when they are freed.
const LEARNT: usize = 1 << 20;
/// Size of the blocks that a thread allocates, a little less than what heaps have room for, and how many.
const BLOCK: usize = LEARNT - (16 << 10);
const BLOCKS: usize = 8;

/// Lets the threads that are shared by all links grow their heaps, once; they begin with it when they have nothing else to do.
pub fn grow_heaps() {
    static GROWN: AtomicBool = AtomicBool::new(false);
    if HAS_HEAPS && !GROWN.swap(true, Ordering::Relaxed) {
        allocate_and_free(1, LEARNT);
        rayon::spawn_broadcast(|_| allocate_and_free(BLOCKS, BLOCK));
    }
}

/// So many threads for one link; none if the system refuses them.
pub fn of(threads: usize) -> Option<ThreadPool> {
    let mut builder = ThreadPoolBuilder::new().num_threads(threads);
    if HAS_HEAPS {
        allocate_and_free(1, LEARNT);
        builder = builder.start_handler(|_| allocate_and_free(BLOCKS, BLOCK));
    }
    builder.build().ok()
}

/// Threads have heaps of glibc.
const HAS_HEAPS: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

/// Allocates blocks that are never touched, and frees them.
fn allocate_and_free(count: usize, size: usize) {
    let allocate = |_| {
        let mut block = Vec::<u8>::new();
        // Without the blocks everything works, only slower.
        block.try_reserve_exact(size).unwrap_or_default();
        block
    };
    let blocks: Vec<Vec<u8>> = (0..count).map(allocate).collect();
    std::hint::black_box(&blocks);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn pools_have_the_threads_that_are_requested() {
        assert_eq!(of(3).unwrap().current_num_threads(), 3);
    }

    #[test]
    fn heaps_grow_beside_other_work() {
        grow_heaps();
        grow_heaps();
        assert_eq!(rayon::join(|| 1, || 2), (1, 2));
    }
}
