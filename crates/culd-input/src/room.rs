//! Memory for the contents of many files.
//!
//! A large room asks the system for large pages: with small ones, handing out the memory costs as much as reading the files.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// From this size on large pages are worth it.
const LARGE: usize = 2 << 20;

/// Zeroed memory of a fixed size.
pub(crate) enum Room {
    Small(Vec<u8>),
    Large(MmapMut),
}

impl Room {
    /// A room of `len` bytes.
    pub(crate) fn new(len: usize) -> Self {
        match (len >= LARGE).then(|| MmapMut::map_anon(len)) {
            Some(Ok(map)) => {
                #[cfg(target_os = "linux")]
                // Without large pages it is as good as any other memory.
                let _advice_only = map.advise(memmap2::Advice::HugePage);
                Room::Large(map)
            }
            Some(Err(_)) | None => Room::Small(vec![0; len]),
        }
    }
}

impl Deref for Room {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Room::Small(bytes) => bytes,
            Room::Large(map) => map,
        }
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Room::Small(bytes) => bytes,
            Room::Large(map) => map,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_empty_and_hold_what_is_put_there() {
        for len in [0, 1, LARGE - 1, LARGE, LARGE + 5] {
            let mut room = Room::new(len);
            assert_eq!((room.len(), room.iter().filter(|b| **b != 0).count()), (len, 0));
            room.fill(7);
            assert!(room.iter().all(|b| *b == 7));
        }
    }
}
