//! Changes of fat binaries and archives: their headers, compressed data, and the files inside.
//!
//! Compressed data is changed in two ways: in the stream itself, which mostly ends in the decoder, and after it: the data is unpacked,
//! changed and packed again, so that the damage is found by whoever reads the file inside.

use super::{elf, values};
use crate::wrap::Packing;
use cubin::fatbin::Fatbin;
use culd_tests::elf::{number, put};
use culd_tests::recipe::{ENTRY, FATBIN, FATBIN_MAGIC};
use culd_tests::rng::Rng;

/// Offset of the first fat binary in `at..at + size`.
pub fn find(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let part = bytes.get(at..at.checked_add(size)?.min(bytes.len()))?;
    part.windows(4).position(|w| w == FATBIN_MAGIC).map(|i| at + i)
}

/// Changes the fat binary at `base`: its header, an entry's header, or an entry's data.
pub fn fatbin(bytes: &mut [u8], base: usize, rng: &mut Rng) {
    let entries = entries(bytes, base);
    let Some(&entry) = rng.choose(&entries) else {
        return values::overwrite(bytes, base, 16, rng);
    };
    match rng.below(10) {
        0 => {
            let (_, offset, width) = FATBIN[rng.below(FATBIN.len())];
            values::set(bytes, base + offset, width, rng);
        }
        1..5 => {
            let (_, offset, width) = ENTRY[rng.below(ENTRY.len())];
            values::set(bytes, entry + offset, width, rng);
        }
        _ => payload(bytes, entry, rng),
    }
}

fn payload(bytes: &mut [u8], entry: usize, rng: &mut Rng) {
    let start = entry.saturating_add(number(bytes, entry + 4, 4) as usize);
    let size = usize::try_from(number(bytes, entry + 8, 8)).unwrap_or(usize::MAX);
    let size = size.min(bytes.len().saturating_sub(start));
    let Some(data) = bytes.get(start..start + size) else { return };
    if data.starts_with(b"\x7fELF") {
        // The file inside keeps its size, so that the container around it stays whole.
        let mut inner = data.to_vec();
        elf::change(&mut inner, rng);
        inner.resize(size, 0);
        bytes[start..start + size].copy_from_slice(&inner);
    } else if !rng.chance(50) || repack(bytes, entry, start, size, rng).is_none() {
        // The frame's own header is as interesting as all the rest.
        let len = if rng.chance(50) { size.min(16) } else { size };
        values::overwrite(bytes, start, len, rng);
    }
}

/// Changes the file in a compressed entry. Nothing if it does not unpack, or does not fit its place any more.
fn repack(bytes: &mut [u8], entry: usize, start: usize, size: usize, rng: &mut Rng) -> Option<()> {
    /// More is not worth the time.
    const LIMIT: u64 = 1 << 20;
    let packing = Packing::from_flags(number(bytes, entry + 40, 8))?;
    let from = entry.checked_sub(16).filter(|&at| bytes[at..].starts_with(&FATBIN_MAGIC))?;
    let first = Fatbin::parse(bytes.get(from..)?).ok()?.entries().next()?.ok()?;
    let mut inner = first.payload(LIMIT).ok()?.into_owned();
    super::structured(&mut inner, rng);
    let packed = packing.pack(&inner);
    if packed.len() > size {
        return None;
    }
    bytes.get_mut(start..start + packed.len())?.copy_from_slice(&packed);
    put(bytes, entry + 16, 4, packed.len() as u64);
    put(bytes, entry + 56, 8, inner.len() as u64);
    Some(())
}

/// Offsets of the entries' headers.
fn entries(bytes: &[u8], base: usize) -> Vec<usize> {
    let mut list = Vec::new();
    let mut at = base.saturating_add(16);
    while at.saturating_add(64) <= bytes.len() && list.len() < 64 {
        list.push(at);
        let size = number(bytes, at + 4, 4).saturating_add(number(bytes, at + 8, 8));
        match usize::try_from(size).ok().and_then(|s| at.checked_add(s.max(64))) {
            Some(next) => at = next,
            None => break,
        }
    }
    list
}

/// Texts that do not belong into a member's header.
const TEXTS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"9999999999",
    b"4294967296",
    b"x",
    b"/",
    b"//",
    b"/0",
    b"/99999",
    b"#1/8",
    b"#1/9999999",
    b"`",
];

/// Changes an archive: the header of a member or the member itself.
pub fn archive(bytes: &mut [u8], rng: &mut Rng) {
    let mut members = Vec::new();
    let mut at = 8usize;
    while at + 60 <= bytes.len() && members.len() < 1000 {
        let digits = String::from_utf8_lossy(&bytes[at + 48..at + 58]).trim().parse::<usize>();
        let size = digits.unwrap_or(0).min(bytes.len());
        members.push((at, size));
        at += 60 + size + (size & 1);
    }
    let Some(&(at, size)) = rng.choose(&members) else {
        return values::overwrite(bytes, 0, 8, rng);
    };
    match rng.below(10) {
        0 => values::overwrite(bytes, 0, 8, rng),
        1 => text(bytes, at, 16, rng),
        2 | 3 => text(bytes, at + 48, 10, rng),
        4 => values::overwrite(bytes, at, 60, rng),
        _ => {
            let start = at + 60;
            let Some(data) = bytes.get(start..(start + size).min(bytes.len())) else {
                return;
            };
            let mut inner = data.to_vec();
            let len = inner.len();
            super::structured(&mut inner, rng);
            inner.resize(len, 0);
            bytes[start..start + len].copy_from_slice(&inner);
        }
    }
}

/// Writes a text into a field of blanks.
fn text(bytes: &mut [u8], at: usize, width: usize, rng: &mut Rng) {
    let text = TEXTS[rng.below(TEXTS.len())];
    for i in 0..width {
        put(bytes, at + i, 1, text.get(i).copied().unwrap_or(b' ').into());
    }
}
