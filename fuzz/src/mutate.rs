//! Damages a file where it hurts.
//!
//! 1. The first bytes say what the file is: a device or host ELF file, a fat binary, an archive, something else.
//! 2. A random number of changes is made, each of a random kind. Blind byte changes rarely get past the first check of a format, so most
//!    kinds change the number fields of a format: [`elf`] headers, tables and records, [`container`] headers and what is inside.
//! 3. New numbers are those at which arithmetic overflows, numbers near the old one, sizes and counts of the file itself, and numbers
//!    taken from other places of it ([`values`]).

pub mod container;
pub mod elf;
pub mod values;

use culd_tests::recipe::FATBIN_MAGIC;
use culd_tests::rng::Rng;

/// A damaged copy of `seed`; `other` is a file to take pieces from.
pub fn damage(seed: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..rng.pick([1, 1, 1, 2, 3, 6]) {
        change(&mut bytes, other, rng);
    }
    bytes
}

/// A copy that lacks its end. `None` for a file without bytes.
pub fn cut(seed: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let keep = match rng.below(3) {
        0 => seed.len().checked_sub(rng.between(1, 16))?,
        _ => rng.below(seed.len()),
    };
    (keep < seed.len()).then(|| seed[..keep].to_vec())
}

/// Makes one change.
pub fn change(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    match rng.below(20) {
        0 => flip(bytes, rng),
        1 => {
            let len = bytes.len();
            values::overwrite(bytes, 0, len, rng);
        }
        2 => splice(bytes, other, rng),
        3 => bytes.truncate(rng.below(bytes.len())),
        _ => structured(bytes, rng),
    }
}

/// A change of a field of the format.
pub fn structured(bytes: &mut [u8], rng: &mut Rng) {
    if bytes.starts_with(b"\x7fELF") {
        elf::change(bytes, rng);
    } else if bytes.starts_with(&FATBIN_MAGIC) {
        container::fatbin(bytes, 0, rng);
    } else if bytes.starts_with(b"!<") {
        container::archive(bytes, rng);
    } else {
        let len = bytes.len();
        values::overwrite(bytes, 0, len, rng);
    }
}

fn flip(bytes: &mut [u8], rng: &mut Rng) {
    let at = rng.below(bytes.len());
    if let Some(b) = bytes.get_mut(at) {
        *b ^= 1 << rng.below(8);
    }
}

/// Takes a piece of another file, over or into this one.
fn splice(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    let len = rng.between(1, 200).min(other.len());
    let from = rng.below(other.len().saturating_sub(len) + 1);
    let piece = &other[from..from + len];
    let at = rng.below(bytes.len() + 1);
    let end = if rng.chance(50) { at } else { (at + len).min(bytes.len()) };
    bytes.splice(at..end, piece.iter().copied());
}
