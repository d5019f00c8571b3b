//! Two readers of bits.
//!
//! [`Forward`] reads table descriptions: bits from the low end of the first byte on.
//!
//! [`Reverse`] reads coded data, which was written to be read from its end:
//!
//! 1. The highest set bit of the last byte marks the end; the bits below it come first.
//! 2. The next bit is always the top one of a 64-bit register; `have` counts the bits that are known to be in it.
//! 3. A refill reads the eight bytes below the ones already taken with one load, puts them under the `have` bits and moves on by whole
//!    bytes. Bits of a byte that did not fit as a whole are in the register already; the next refill puts the same bits there.
//! 4. After a refill at least 56 bits can be taken. At the end of the data zeros come in and `have` becomes negative, which
//!    [`Reverse::is_done`] finds.

/// Reads bits from the front.
#[derive(Debug)]
pub(crate) struct Forward<'s> {
    src: &'s [u8],
    /// Place of the next bit.
    at: usize,
}

impl<'s> Forward<'s> {
    pub(crate) fn new(src: &'s [u8]) -> Self {
        Forward { src, at: 0 }
    }

    /// The next `count` bits (up to 16) without taking them; zeros after the end.
    pub(crate) fn peek(&self, count: u32) -> u32 {
        let rest = self.src.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<4>() {
            Some(&bytes) => u32::from_le_bytes(bytes),
            None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)),
        };
        word >> (self.at % 8) & ((1 << count.min(16)) - 1)
    }

    pub(crate) fn skip(&mut self, count: u32) {
        self.at += count as usize;
    }

    pub(crate) fn take(&mut self, count: u32) -> u32 {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// The bytes after the last one touched; `None` when more bits were taken than there are.
    pub(crate) fn rest(&self) -> Option<&'s [u8]> {
        self.src.get(self.at.div_ceil(8)..)
    }
}

/// Reads bits from the back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reverse<'s> {
    /// Bytes that are not in the register yet.
    src: &'s [u8],
    bits: u64,
    have: i32,
}

impl<'s> Reverse<'s> {
    /// A reader; `None` when there is no end mark.
    pub(crate) fn new(src: &'s [u8]) -> Option<Self> {
        let last = *src.last()?;
        if last == 0 {
            return None;
        }
        let mut reader = Reverse { src, bits: 0, have: 0 };
        reader.refill();
        reader.skip(last.leading_zeros() + 1);
        Some(reader)
    }

    /// Makes at least 56 bits available, or all that are left.
    #[inline(always)]
    pub(crate) fn refill(&mut self) {
        if !self.refill_whole() {
            let (bits, bytes) = last_bytes(self.src, self.have);
            self.bits |= bits;
            self.have += 8 * bytes as i32;
            self.shorten(bytes);
        }
    }

    /// A refill where eight bytes are left; false when there are less.
    #[inline(always)]
    pub(crate) fn refill_whole(&mut self) -> bool {
        let Some(&window) = self.src.last_chunk::<8>() else { return false };
        self.bits |= u64::from_le_bytes(window) >> (self.have & 63);
        self.shorten(((63 - self.have) >> 3) as usize & 7);
        self.have |= 56;
        true
    }

    #[inline(always)]
    fn shorten(&mut self, bytes: usize) {
        self.src = self.src.get(..self.src.len().wrapping_sub(bytes)).unwrap_or_default();
    }

    /// The next `COUNT` bits.
    #[inline(always)]
    pub(crate) fn top<const COUNT: u32>(&self) -> usize {
        (self.bits >> (64 - COUNT)) as usize
    }

    #[inline(always)]
    pub(crate) fn skip(&mut self, count: u32) {
        self.bits <<= count & 63;
        self.have -= count as i32;
    }

    /// Takes up to 56 bits between two refills.
    #[inline(always)]
    pub(crate) fn take(&mut self, count: u32) -> u64 {
        let value = self.bits >> 1 >> ((63 - count) & 63);
        self.skip(count);
        value
    }

    /// True when more bits were taken than there are.
    pub(crate) fn is_overrun(&self) -> bool {
        self.have < 0
    }

    /// True when exactly all bits were taken.
    pub(crate) fn is_done(&self) -> bool {
        self.src.is_empty() && self.have == 0
    }
}

/// Bits for a register with `have` bits from the last of a few bytes, and the number of bytes that go into them. The reader itself is not
/// passed, so that its fields can stay in registers.
#[cold]
#[inline(never)]
fn last_bytes(src: &[u8], have: i32) -> (u64, usize) {
    // Without bits left there are no bytes left, or the data is overrun.
    let room = if have < 0 { 0 } else { (63 - have) as usize / 8 };
    let mut bits = 0;
    let mut at = 56 - have;
    for &byte in src.iter().rev().take(room) {
        bits |= u64::from(byte) << (at & 63);
        at -= 8;
    }
    (bits, room.min(src.len()))
}
