//! Damages a file.
//!
//! A drawn number of changes, each of a drawn kind. Blind byte changes rarely get past the first check of a format, so most kinds know
//! where ELF keeps its numbers: the header, the section table, and tables of records inside sections.

use culd_tests::rng::Rng;

/// Numbers at which arithmetic goes wrong.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    7,
    0xff,
    0xffff,
    0xff00,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 40,
    u64::MAX - 7,
    u64::MAX,
];

/// A damaged copy of `seed`; `other` is a file to take pieces from.
pub fn damage(seed: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..rng.pick([1, 1, 1, 2, 3, 6]) {
        match rng.below(12) {
            0..2 => flip(&mut bytes, rng),
            2 => overwrite_at(&mut bytes, 0, 64, rng),
            3..6 => section_header(&mut bytes, rng),
            6..9 => inside_section(&mut bytes, rng),
            9 => bytes.truncate(rng.below(bytes.len())),
            10 => splice(&mut bytes, other, rng),
            _ => {
                let len = bytes.len();
                overwrite_at(&mut bytes, 0, len, rng);
            }
        }
    }
    bytes
}

fn flip(bytes: &mut [u8], rng: &mut Rng) {
    let at = rng.below(bytes.len());
    if let Some(b) = bytes.get_mut(at) {
        *b ^= 1 << rng.below(8);
    }
}

/// Puts a drawn number of a drawn width into `start..start + len`.
fn overwrite_at(bytes: &mut [u8], start: usize, len: usize, rng: &mut Rng) {
    let width = rng.pick([1, 2, 4, 4, 8, 8]);
    let at = start.saturating_add(rng.below(len) / width * width);
    let end = at.saturating_add(width);
    let Some(field) = bytes.get_mut(at..end) else { return };
    let mut old = [0; 8];
    old[..width].copy_from_slice(field);
    let value = match rng.below(4) {
        0 => rng.next(),
        1 => u64::from_le_bytes(old).wrapping_add(rng.pick([1, 8, 64, u64::MAX, 0x1000])),
        _ => rng.pick(EDGES),
    };
    field.copy_from_slice(&value.to_le_bytes()[..width]);
}

fn number(bytes: &[u8], at: usize, width: usize) -> usize {
    let mut value = [0; 8];
    if let Some(field) = at.checked_add(width).and_then(|end| bytes.get(at..end)) {
        value[..width].copy_from_slice(field);
    }
    usize::try_from(u64::from_le_bytes(value)).unwrap_or(usize::MAX)
}

/// Where a drawn section header lies.
fn draw_section(bytes: &[u8], rng: &mut Rng) -> usize {
    let (table, count) = (number(bytes, 40, 8), number(bytes, 60, 2));
    table.saturating_add(64 * rng.below(count))
}

fn section_header(bytes: &mut [u8], rng: &mut Rng) {
    let at = draw_section(bytes, rng);
    overwrite_at(bytes, at, 64, rng);
}

fn inside_section(bytes: &mut [u8], rng: &mut Rng) {
    let at = draw_section(bytes, rng);
    let (offset, size) = (number(bytes, at.saturating_add(24), 8), number(bytes, at.saturating_add(32), 8));
    let size = size.min(bytes.len());
    overwrite_at(bytes, offset, size, rng);
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
