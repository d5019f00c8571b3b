//! Memory for the contents of many files.
//!
//! A large buffer asks the system for large pages: with small ones, handing out the memory costs as much as reading the files.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// From this size on large pages are worth it.
const LARGE: usize = 2 << 20;

/// Zeroed memory of a fixed size.
pub(crate) enum HugeBuffer {
    Small(Vec<u8>),
    Large(MmapMut),
}

impl HugeBuffer {
    /// A zeroed buffer of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        match (len >= LARGE).then(|| MmapMut::map_anon(len)) {
            Some(Ok(map)) => {
                #[cfg(target_os = "linux")]
                // Without large pages the buffer still works.
                let _advice_only = map.advise(memmap2::Advice::HugePage);
                HugeBuffer::Large(map)
            }
            Some(Err(_)) | None => HugeBuffer::Small(vec![0; len]),
        }
    }
}

impl Deref for HugeBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            HugeBuffer::Small(bytes) => bytes,
            HugeBuffer::Large(map) => map,
        }
    }
}

impl DerefMut for HugeBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            HugeBuffer::Small(bytes) => bytes,
            HugeBuffer::Large(map) => map,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_zeroed_and_are_writable() {
        for len in [0, 1, LARGE - 1, LARGE, LARGE + 5] {
            let mut buffer = HugeBuffer::new(len);
            assert_eq!((buffer.len(), buffer.iter().filter(|b| **b != 0).count()), (len, 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|b| *b == 7));
        }
    }
}
