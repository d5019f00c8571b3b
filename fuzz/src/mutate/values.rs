//! Numbers to put into a field.

use culd_tests::elf::{number, put};
use culd_tests::rng::Rng;

/// Numbers at which arithmetic overflows.
const EDGES: [u64; 16] = [
    0,
    1,
    2,
    3,
    7,
    0x80,
    0xff,
    0xff00,
    0xfff2,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    1 << 62,
    u64::MAX,
];

/// Small steps away from the old number.
const STEPS: [u64; 10] = [1, 4, 8, 16, 24, 64, 0x1000, u64::MAX, u64::MAX - 7, u64::MAX - 23];

/// Changes the number of `width` bytes at `at`.
pub fn set(bytes: &mut [u8], at: usize, width: usize, rng: &mut Rng) {
    let old = number(bytes, at, width);
    let len = bytes.len() as u64;
    let value = match rng.below(8) {
        0 => rng.next(),
        1 | 2 => old.wrapping_add(rng.pick(STEPS)),
        3 => old ^ 1 << rng.below(width * 8),
        4 => rng.pick([len, len.wrapping_sub(1), len / 2, len.wrapping_sub(old), len.wrapping_mul(2)]),
        5 => rng.below(64) as u64,
        _ => rng.pick(EDGES),
    };
    put(bytes, at, width, value);
}

/// Changes a number of a random width in `start..start + len`.
pub fn overwrite(bytes: &mut [u8], start: usize, len: usize, rng: &mut Rng) {
    let width = rng.pick([1, 2, 4, 4, 8, 8]);
    let at = start.saturating_add(rng.below(len) / width * width);
    set(bytes, at, width, rng);
}

/// Copies the number of another record's same field over this one.
pub fn borrow(bytes: &mut [u8], at: usize, from: usize, width: usize) {
    let value = number(bytes, from, width);
    put(bytes, at, width, value);
}
