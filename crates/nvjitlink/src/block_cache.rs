//! Memory blocks that links use again.
//!
//! A small link makes about 300 allocations, and the allocator of the C library takes a quarter of its time. This one keeps freed blocks:
//!
//! 1. Sizes are rounded up to a class. A block is always allocated and freed with the size of its class, by [`System`], so it does not matter
//!    which thread or which call frees it.
//! 2. A call of the interface takes the cache ([`Scope::enter`]) and puts it back at its end. While it has the cache, freed blocks are kept in
//!    lists by class and taken from there. A call that finds no cache, because another thread has it, works without one.
//! 3. The cache has a bound ([`LIMIT`]); what is above goes back to the system at once.
//!
//! The functions are never inlined: there are thousands of places that free something, and a small link runs through much of the code once, so that its
//! size counts for more than the calls.
//!
//! There is one cache in the process and nothing that must run at the end of a thread. After a fork in the middle of a call, the child has no
//! cache until the end of its own first call.
#![allow(unsafe_code, reason = "an allocator has raw pointers")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Blocks have the alignment of `malloc`; requests for more are not cached.
const ALIGN: usize = 16;
/// Largest size in classes that are multiples of the alignment.
const FINE: usize = 512;
/// Largest size of a cached block.
const LARGEST: usize = 64 << 10;
/// Classes: 16, 32, .. 512, then powers of two.
const CLASSES: usize = FINE / ALIGN + (LARGEST / FINE).ilog2() as usize;
/// Most bytes in a cache.
const LIMIT: usize = 1 << 20;

/// The class of a size, and its size.
fn class(size: usize) -> (usize, usize) {
    if size <= FINE {
        let index = size.saturating_sub(1) / ALIGN;
        return (index, (index + 1) * ALIGN);
    }
    let rounded = size.next_power_of_two();
    (FINE / ALIGN - 1 + (rounded / FINE).ilog2() as usize, rounded)
}

fn is_cached(layout: &Layout) -> bool {
    layout.size() <= LARGEST && layout.align() <= ALIGN
}

/// A free block; its first word is the next one of its class.
struct Block {
    next: *mut Block,
}

/// Lists of free blocks.
struct Cache {
    free: [*mut Block; CLASSES],
    bytes: usize,
}

/// The cache, while no call has it.
static IDLE: AtomicPtr<Cache> = AtomicPtr::new(null_mut());

/// The cache, while a call of this thread has it. The value has no destructor, so that access never allocates.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod active {
    use super::Cache;
    use std::cell::Cell;
    use std::ptr::null_mut;

    thread_local! {
        static ACTIVE: Cell<*mut Cache> = const { Cell::new(null_mut()) };
    }

    pub(super) fn get() -> *mut Cache {
        ACTIVE.get()
    }

    pub(super) fn set(cache: *mut Cache) {
        ACTIVE.set(cache);
    }
}

/// The same, through a TLS descriptor: two instructions in a library that the loader had room for in its static block. Code that rustc makes for a
/// shared library calls `__tls_get_addr`, which was a twentieth of the time of a small link. On AArch64 descriptors are the only form.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod active {
    use super::Cache;
    use std::arch::{asm, global_asm};

    global_asm!(
        ".pushsection .tbss.culd_active_cache,\"awT\",@nobits",
        ".p2align 3",
        ".globl culd_active_cache",
        ".hidden culd_active_cache",
        ".type culd_active_cache, @object",
        ".size culd_active_cache, 8",
        "culd_active_cache: .zero 8",
        ".popsection",
        options(att_syntax)
    );

    /// Where the variable of this thread is.
    fn place() -> *mut *mut Cache {
        let place;
        // SAFETY: the code sequence of the psABI; it leaves the variable's offset from the thread pointer, which is the first word of its block.
        unsafe {
            asm!(
                "leaq culd_active_cache@tlsdesc(%rip), %rax",
                "call *culd_active_cache@tlscall(%rax)",
                "addq %fs:0, %rax",
                out("rax") place,
                clobber_abi("C"),
                options(att_syntax)
            );
        }
        place
    }

    pub(super) fn get() -> *mut Cache {
        // SAFETY: the variable of this thread is aligned, starts as null, and no other thread knows it.
        unsafe { place().read() }
    }

    pub(super) fn set(cache: *mut Cache) {
        // SAFETY: as above.
        unsafe { place().write(cache) }
    }
}

/// A call that has the cache, or works without.
pub(crate) struct Scope(*mut Cache);

impl Scope {
    pub(crate) fn enter() -> Scope {
        if !active::get().is_null() {
            return Scope(null_mut());
        }
        let mut cache = IDLE.swap(null_mut(), Ordering::Acquire);
        if cache.is_null() {
            cache = Box::into_raw(Box::new(Cache {
                free: [null_mut(); CLASSES],
                bytes: 0,
            }));
        }
        active::set(cache);
        Scope(cache)
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        if self.0.is_null() {
            return;
        }
        active::set(null_mut());
        if IDLE
            .compare_exchange(null_mut(), self.0, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            // Another thread has put one there meanwhile.
            // SAFETY: the pointer is that of the box made in `enter`, and this scope alone has it.
            let mut cache = unsafe { Box::from_raw(self.0) };
            cache.clear();
        }
    }
}

impl Cache {
    fn take(&mut self, index: usize, size: usize) -> Option<*mut u8> {
        let list = self.free.get_mut(index)?;
        let block = *list;
        if block.is_null() {
            return None;
        }
        // SAFETY: blocks of a list are free, aligned and larger than the link.
        *list = unsafe { (*block).next };
        self.bytes -= size;
        Some(block.cast())
    }

    /// Keeps a block, unless the cache is full.
    fn keep(&mut self, index: usize, size: usize, block: *mut u8) -> bool {
        let Some(list) = self.free.get_mut(index).filter(|_| self.bytes + size <= LIMIT) else {
            return false;
        };
        let block = block.cast::<Block>();
        // SAFETY: the block was freed by its owner, has at least 16 bytes and that alignment.
        unsafe { (*block).next = *list };
        *list = block;
        self.bytes += size;
        true
    }

    fn clear(&mut self) {
        for size in (1..=FINE / ALIGN).map(|n| n * ALIGN).chain(power_sizes()) {
            let (index, size) = class(size);
            while let Some(block) = self.take(index, size) {
                // SAFETY: every block was allocated with the size of its class.
                unsafe { System.dealloc(block, block_layout(size)) };
            }
        }
    }
}

fn power_sizes() -> impl Iterator<Item = usize> {
    std::iter::successors(Some(FINE * 2), |size| Some(size * 2)).take_while(|size| *size <= LARGEST)
}

fn block_layout(size: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and sizes of classes are small multiples of it.
    unsafe { Layout::from_size_align_unchecked(size, ALIGN) }
}

/// The cache of this thread's call.
fn active<'a>() -> Option<&'a mut Cache> {
    // SAFETY: the pointer is null or that of a cache that only this thread has; the reference ends before another is made.
    unsafe { active::get().as_mut() }
}

/// The allocator.
#[derive(Debug)]
pub struct BlockCache;

// SAFETY: blocks come from `System`, with the size of a class in both directions; a cached block has no owner.
unsafe impl GlobalAlloc for BlockCache {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_cached(&layout) {
            // SAFETY: as promised by the caller.
            return unsafe { System.alloc(layout) };
        }
        let (index, size) = class(layout.size());
        let cached = active().and_then(|cache| cache.take(index, size));
        // SAFETY: the size of a class is not zero.
        cached.unwrap_or_else(|| unsafe { System.alloc(block_layout(size)) })
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !is_cached(&layout) {
            // SAFETY: as promised by the caller; the block was not rounded.
            return unsafe { System.dealloc(block, layout) };
        }
        let (index, size) = class(layout.size());
        if !active().is_some_and(|cache| cache.keep(index, size, block)) {
            // SAFETY: it was allocated with the size of this class.
            unsafe { System.dealloc(block, block_layout(size)) }
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size is not zero and does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        if !is_cached(&layout) && !is_cached(&new) {
            // SAFETY: as promised by the caller.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        if is_cached(&layout) && is_cached(&new) && class(layout.size()) == class(new_size) {
            return block;
        }
        // SAFETY: both blocks have the smaller size and are different.
        unsafe {
            let moved = self.alloc(new);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            moved
        }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_cached(&layout) {
            // SAFETY: as promised by the caller.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: the block has at least the size.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_dense_and_hold_their_sizes() {
        let mut seen = Vec::new();
        for wanted in 1..=LARGEST {
            let (index, size) = class(wanted);
            assert!(size >= wanted && index < CLASSES && size.is_multiple_of(ALIGN), "{wanted}");
            if seen.last() != Some(&(index, size)) {
                seen.push((index, size));
            }
        }
        assert_eq!(seen.len(), CLASSES);
        assert!(seen.iter().enumerate().all(|(at, (index, _))| at == *index));
    }

    /// One test has the only cache of the process: tests run on several threads.
    #[test]
    fn blocks_are_used_again_within_a_scope() {
        let layout = block_layout(100);
        // SAFETY: layouts are the same in both directions, blocks are not used after they are freed.
        unsafe {
            let scope = Scope::enter();
            let first = BlockCache.alloc(layout);
            first.write_bytes(7, 100);
            BlockCache.dealloc(first, layout);
            let again = BlockCache.alloc_zeroed(layout);
            assert_eq!(again, first);
            assert!((0..100).all(|at| again.add(at).read() == 0));
            let grown = BlockCache.realloc(again, layout, 112);
            assert_eq!(grown, again);
            let moved = BlockCache.realloc(grown, block_layout(112), 100_000);
            BlockCache.dealloc(moved, block_layout(100_000));
            let inner = Scope::enter();
            assert!(inner.0.is_null());
            drop((inner, scope));
            assert!(active().is_none());
            let outside = BlockCache.alloc(layout);
            BlockCache.dealloc(outside, layout);
            // What one thread allocates another may free.
            let _scope = Scope::enter();
            let block = BlockCache.alloc(layout).addr();
            std::thread::spawn(move || {
                let _scope = Scope::enter();
                BlockCache.dealloc(std::ptr::with_exposed_provenance_mut(block), layout);
            })
            .join()
            .unwrap_or_default();
        }
    }

    #[test]
    fn the_cache_is_bounded() {
        let layout = block_layout(LARGEST);
        let mut cache = Cache {
            free: [null_mut(); CLASSES],
            bytes: 0,
        };
        let (index, size) = class(LARGEST);
        let mut kept = 0;
        loop {
            // SAFETY: a fresh block is kept by the cache or freed here.
            let block = unsafe { System.alloc(layout) };
            if !cache.keep(index, size, block) {
                // SAFETY: as above.
                unsafe { System.dealloc(block, layout) };
                break;
            }
            kept += 1;
        }
        assert_eq!(kept, LIMIT / LARGEST);
        cache.clear();
        assert_eq!(cache.bytes, 0);
    }
}
