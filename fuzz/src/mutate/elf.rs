//! Changes of an ELF file: headers, tables, and the records of CUDA's sections.

use super::{container, values};
use culd_tests::elf::{ElfSection, FieldInfo, HEADER, RELOCATION, SECTION, SYMBOL, number, put, sections};
use culd_tests::rng::Rng;

const SHT_SYMTAB: u32 = 2;
const SHT_STRTAB: u32 = 3;
const SHT_RELA: u32 = 4;
const SHT_NOTE: u32 = 7;
const SHT_REL: u32 = 9;
const CUDA_INFO: u32 = 0x7000_0000;
const CUDA_CALLGRAPH: u32 = 0x7000_0001;
const CUDA_PROTOTYPE: u32 = 0x7000_0002;
const CUDA_MERC_RELA: u32 = 0x7000_0082;
const CUDA_MERC_INFO: u32 = 0x7000_0083;
const CUDA_MERC_SYMTAB: u32 = 0x7000_0085;
const CUDA_COMPAT: u32 = 0x7000_0086;

/// Makes one change.
pub fn change(bytes: &mut [u8], rng: &mut Rng) {
    let list = sections(bytes);
    match rng.below(10) {
        0 => field(bytes, 0, &HEADER, rng),
        1 | 2 => section_header(bytes, &list, rng),
        3 => rearrange(bytes, &list, rng),
        _ => contents(bytes, &list, rng),
    }
}

/// Changes a random field of the record at `base`.
fn field(bytes: &mut [u8], base: usize, table: &[FieldInfo], rng: &mut Rng) {
    if let Some(&(_, offset, width)) = rng.choose(table) {
        values::set(bytes, base.saturating_add(offset), width, rng);
    }
}

/// A field of a section header, also with the value that another section has there.
fn section_header(bytes: &mut [u8], list: &[ElfSection], rng: &mut Rng) {
    let (Some(one), Some(other)) = (rng.choose(list), rng.clone().choose(list)) else {
        return;
    };
    if rng.chance(30) {
        let (_, offset, width) = SECTION[rng.below(SECTION.len())];
        values::borrow(bytes, one.header + offset, other.header + offset, width);
    } else {
        field(bytes, one.header, &SECTION, rng);
    }
}

/// Sections trade places, come twice, vanish, grow or shrink.
fn rearrange(bytes: &mut [u8], list: &[ElfSection], rng: &mut Rng) {
    let mut draw = || list.get(rng.below(list.len())).map(|s| s.header);
    let (Some(a), Some(b)) = (draw(), draw()) else { return };
    let copy = |bytes: &mut [u8], from: usize, to: usize| {
        if from.max(to).checked_add(64).is_some_and(|end| end <= bytes.len()) {
            bytes.copy_within(from..from + 64, to);
        }
    };
    match rng.below(4) {
        0 => copy(bytes, a, b),
        1 => {
            let first: Vec<u8> = bytes.get(a..).and_then(|h| h.get(..64)).unwrap_or_default().to_vec();
            copy(bytes, b, a);
            if let Some(place) = bytes.get_mut(b..).and_then(|h| h.get_mut(..first.len())) {
                place.copy_from_slice(&first);
            }
        }
        2 => {
            put(bytes, a.saturating_add(4), 4, 0);
        }
        _ => {
            let size = number(bytes, a.saturating_add(32), 8);
            put(
                bytes,
                a.saturating_add(32),
                8,
                size.wrapping_add(rng.pick([1, 4, 8, 24, 128, u64::MAX, u64::MAX - 7])),
            );
        }
    }
}

/// Something inside a section; sections with records more often than others.
fn contents(bytes: &mut [u8], list: &[ElfSection], rng: &mut Rng) {
    let fits = |s: &&ElfSection| s.size > 0 && s.sh_type != 0;
    let all: Vec<&ElfSection> = list.iter().filter(fits).collect();
    let tables: Vec<&ElfSection> = all.iter().copied().filter(|s| s.sh_type != 1).collect();
    let from = if rng.chance(85) && !tables.is_empty() { &tables } else { &all };
    let Some(&section) = rng.choose(from) else { return };
    let (at, size) = (section.offset, section.size);
    match section.sh_type {
        SHT_SYMTAB | CUDA_MERC_SYMTAB => record(bytes, section, 24, &SYMBOL, rng),
        SHT_REL => record(bytes, section, 16, &RELOCATION[..3], rng),
        SHT_RELA | CUDA_MERC_RELA => record(bytes, section, 24, &RELOCATION, rng),
        CUDA_CALLGRAPH | CUDA_PROTOTYPE => record(bytes, section, 8, &[("first", 0, 4), ("second", 4, 4)], rng),
        SHT_NOTE => record(bytes, section, 4, &[("word", 0, 4)], rng),
        CUDA_INFO | CUDA_MERC_INFO | CUDA_COMPAT => attribute(bytes, section, rng),
        SHT_STRTAB => strings(bytes, section, rng),
        _ => match container::find(bytes, at, size) {
            Some(fatbin) if rng.chance(80) => container::fatbin(bytes, fatbin, rng),
            _ => values::overwrite(bytes, at, size, rng),
        },
    }
}

/// A field of a record of a table, or a whole record in another's place.
fn record(bytes: &mut [u8], section: &ElfSection, width: usize, table: &[FieldInfo], rng: &mut Rng) {
    let count = section.size / width;
    let (one, other) = (rng.below(count), rng.below(count));
    let (at, from) = (section.offset + one * width, section.offset + other * width);
    match rng.below(10) {
        0 if at.max(from) + width <= bytes.len() => bytes.copy_within(from..from + width, at),
        1 | 2 => {
            if let Some(&(_, offset, size)) = rng.choose(table) {
                values::borrow(bytes, at + offset, from + offset, size);
            }
        }
        _ => field(bytes, at, table, rng),
    }
}

/// A record of `.nv.info` or `.nv.compat`: its format, attribute, size, or a word of its payload.
fn attribute(bytes: &mut [u8], section: &ElfSection, rng: &mut Rng) {
    let mut starts = Vec::new();
    let (mut at, end) = (section.offset, section.offset + section.size);
    while at + 4 <= end {
        starts.push(at);
        let payload = if number(bytes, at, 1) == 4 {
            number(bytes, at + 2, 2) as usize
        } else {
            0
        };
        at += 4 + payload;
    }
    let Some(&start) = rng.choose(&starts) else { return };
    match rng.below(6) {
        0 => values::set(bytes, start, 1, rng),
        1 => values::set(bytes, start + 1, 1, rng),
        2 => values::set(bytes, start + 2, 2, rng),
        _ => {
            let size = number(bytes, start + 2, 2) as usize;
            values::set(bytes, start + 4 + rng.below(size.max(4)) / 4 * 4, 4, rng);
        }
    }
}

/// Strings run together, end early, become equal or lose the last NUL.
fn strings(bytes: &mut [u8], section: &ElfSection, rng: &mut Rng) {
    let range = section.offset..(section.offset + section.size).min(bytes.len());
    let Some(table) = bytes.get_mut(range) else { return };
    let len = table.len();
    match rng.below(3) {
        0 => {
            let ends: Vec<usize> = (0..len).filter(|i| table[*i] == 0).collect();
            if let Some(&at) = rng.choose(&ends) {
                table[at] = b'x';
            }
        }
        1 if len > 0 => table[rng.below(len)] = 0,
        _ => {
            if let Some(last) = table.last_mut() {
                *last = b'!';
            }
        }
    }
}
