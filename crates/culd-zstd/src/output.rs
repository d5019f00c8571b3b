//! The output: one vector that grows up to the limit.
//!
//! 1. Memory is taken when the size is known from a header, at once up to [`FIRST`], beyond that by doubling while blocks arrive.
//! 2. The vector is always [`SLACK`] bytes longer than what may be written, for copies in whole chunks.
//! 3. At the end it is cut to what was written.

use crate::error::Error;

/// Bytes that are allocated beyond the limit.
pub const SLACK: usize = 32;

/// What is taken at once when a header claims a large size.
const FIRST: usize = 64 << 20;

/// The output with its place for chunk copies.
#[derive(Debug)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    at: usize,
    limit: usize,
}

impl Output {
    pub(crate) fn new(limit: usize) -> Self {
        Self::reusing(Vec::new(), limit)
    }

    /// In memory that was used before; what it holds is not looked at.
    pub(crate) fn reusing(bytes: Vec<u8>, limit: usize) -> Self {
        Output {
            bytes,
            at: 0,
            limit: limit.min(isize::MAX as usize - SLACK),
        }
    }

    /// Bytes written.
    pub(crate) fn len(&self) -> usize {
        self.at
    }

    /// Bytes that may still be written.
    pub(crate) fn left(&self) -> usize {
        self.limit.saturating_sub(self.at)
    }

    /// Announces `size` more bytes.
    pub(crate) fn expect(&mut self, size: u64) -> Result<(), Error> {
        let left = self.left();
        match usize::try_from(size) {
            Ok(size) if size <= left => {
                self.make_room(size.min(FIRST));
                Ok(())
            }
            _ => Err(Error::TooLarge {
                claimed: size,
                limit: left as u64,
            }),
        }
    }

    /// Makes the next `size` bytes writable, or as many as the limit leaves.
    fn make_room(&mut self, size: usize) {
        let need = self.at + size.min(self.left()) + SLACK;
        if need <= self.bytes.len() {
            return;
        }
        if self.bytes.is_empty() {
            self.bytes = vec![0; need];
        } else {
            let double = self.bytes.len().saturating_mul(2).min(self.limit + SLACK);
            self.bytes.resize(need.max(double), 0);
        }
    }

    /// The output from `start` on with room for `size` more bytes and [`SLACK`], and the place of the first of them.
    pub(crate) fn room(&mut self, start: usize, size: usize) -> (&mut [u8], usize) {
        self.make_room(size);
        let end = self.at + size + SLACK;
        (self.bytes.get_mut(start..end).unwrap_or_default(), self.at - start)
    }

    /// Says that everything up to `end` is written.
    pub(crate) fn advance_to(&mut self, end: usize) {
        self.at = end;
    }

    fn take(&mut self, size: usize) -> Result<&mut [u8], Error> {
        if size > self.left() {
            return Err(Error::TooLong { limit: self.limit as u64 });
        }
        self.make_room(size);
        let start = self.at;
        self.at += size;
        self.bytes
            .get_mut(start..self.at)
            .ok_or(Error::TooLong { limit: self.limit as u64 })
    }

    /// Appends bytes.
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.take(bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Appends one byte several times.
    pub(crate) fn fill(&mut self, byte: u8, count: usize) -> Result<(), Error> {
        self.take(count)?.fill(byte);
        Ok(())
    }

    /// What was written from `start` on.
    pub(crate) fn since(&self, start: usize) -> &[u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The vector, longer than what was written, to be used again.
    pub(crate) fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// The vector, cut to what was written.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.truncate(self.at);
        self.bytes
    }
}
