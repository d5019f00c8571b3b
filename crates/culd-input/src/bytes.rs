//! Bytes of an input: a range of a mapped file or of an owned buffer, shared without copying.

use crate::buffer::HugeBuffer;
use crate::mapped::Mapped;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// What the bytes live in.
enum Backing {
    Mapped(Mapped),
    Owned(Vec<u8>),
    Buffer(HugeBuffer),
}

/// A cheap handle on immutable bytes; clones and sub-ranges share the storage.
#[derive(Clone)]
pub struct Bytes {
    backing: Arc<Backing>,
    range: Range<usize>,
}

impl Bytes {
    pub(crate) fn from_mapped(map: Mapped) -> Self {
        let range = 0..map.as_slice().len();
        Bytes {
            backing: Arc::new(Backing::Mapped(map)),
            range,
        }
    }

    /// The part at `range` of these bytes; `None` when it is not inside.
    pub fn slice(&self, range: Range<usize>) -> Option<Bytes> {
        let start = self.range.start.checked_add(range.start)?;
        let end = self.range.start.checked_add(range.end)?;
        (start <= end && end <= self.range.end).then(|| Bytes {
            backing: Arc::clone(&self.backing),
            range: start..end,
        })
    }

    /// The handle for `part`, a sub-slice of these bytes; a copy when it is elsewhere.
    pub fn part(&self, part: &[u8]) -> Bytes {
        let base = self.as_ptr() as usize;
        let offset = (part.as_ptr() as usize).checked_sub(base);
        let range = offset.and_then(|start| Some(start..start.checked_add(part.len())?));
        range.and_then(|r| self.slice(r)).unwrap_or_else(|| part.to_vec().into())
    }

    /// True when the bytes are mapped from a file instead of held in memory.
    pub fn is_mapped(&self) -> bool {
        matches!(*self.backing, Backing::Mapped(_))
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let range = 0..bytes.len();
        Bytes {
            backing: Arc::new(Backing::Owned(bytes)),
            range,
        }
    }
}

impl From<HugeBuffer> for Bytes {
    fn from(buffer: HugeBuffer) -> Self {
        let range = 0..buffer.len();
        Bytes {
            backing: Arc::new(Backing::Buffer(buffer)),
            range,
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        let all = match &*self.backing {
            Backing::Mapped(map) => map.as_slice(),
            Backing::Owned(bytes) => bytes,
            Backing::Buffer(buffer) => buffer,
        };
        all.get(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes, mapped: {})", self.len(), self.is_mapped())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn parts_share_the_storage_and_stay_inside() {
        let all = Bytes::from(b"abcdef".to_vec());
        let middle = all.slice(1..5).unwrap();
        assert_eq!(&*middle, b"bcde");
        assert!(middle.slice(0..5).is_none());
        let inner = middle.part(&middle[1..3]);
        assert_eq!(&*inner, b"cd");
        assert_eq!(inner.as_ptr(), all[2..].as_ptr());
        assert_eq!(&*all.part(b"xyz"), b"xyz");
    }
}
