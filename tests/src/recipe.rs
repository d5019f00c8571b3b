//! A damaged file as a text: a sound file and what is changed in it.
//!
//! ```text
//! # One line on the defect.
//! base kernel.cubin
//! section[.text.kernel].sh_size = 0xffffffffffffffff
//! ```
//!
//! 1. `base FILE` names the sound file, in `tests/invalid/base`; `empty` starts from nothing. The result is called like it, or as `name NAME` says.
//! 2. `with FILE` adds a sound file to the link, `args WORDS` options.
//! 3. Everything else is an edit `PLACE = VALUE`, `PLACE += VALUE` or `PLACE -= VALUE`, applied in order:
//!
//! | place | what |
//! |---|---|
//! | `header.FIELD` | field of the ELF header |
//! | `section[NAME].FIELD`, `section[NUMBER].FIELD` | field of a section header |
//! | `symbol[NAME].FIELD`, `symbol[NUMBER].FIELD` | field of a symbol |
//! | `reloc[SECTION][NUMBER].FIELD` | field of a relocation |
//! | `data[SECTION][OFFSET].uN` | a number in a section's bytes |
//! | `file[OFFSET].uN` | a number anywhere |
//! | `fatbin.FIELD`, `entry.FIELD` | header of the fat binary, of its first entry |
//! | `file.size` | cuts or extends the file |
//!
//! A value is a number, or a text in quotes that is stored as it is. Inside a host object `fatbin` and `entry` are those of its section.

use crate::elf::{self, FieldInfo, number, put};
use crate::{Error, Result};
use std::path::Path;

/// Header of a fat binary.
pub const FATBIN: [FieldInfo; 4] = [("magic", 0, 4), ("version", 4, 2), ("header_size", 6, 2), ("payload_size", 8, 8)];
/// Header of an entry of a fat binary.
pub const ENTRY: [FieldInfo; 13] = [
    ("kind", 0, 2),
    ("version", 2, 2),
    ("header_size", 4, 4),
    ("stored_size", 8, 8),
    ("compressed_size", 16, 4),
    ("options", 20, 4),
    ("minor", 24, 2),
    ("arch", 28, 4),
    ("identifier", 32, 4),
    ("identifier_size", 36, 4),
    ("flags", 40, 8),
    ("key", 48, 8),
    ("unpacked_size", 56, 8),
];
/// First bytes of a fat binary.
pub const FATBIN_MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// A damaged file and the link that it takes part in.
#[derive(Debug, Default)]
pub struct Recipe {
    /// Name of the damaged file.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Other inputs: name and bytes.
    pub others: Vec<(String, Vec<u8>)>,
    /// Options of the link.
    pub args: String,
}

impl Recipe {
    /// Makes what the recipe in `text` describes, from the files in `base`.
    pub fn build(text: &str, base: &Path) -> Result<Self> {
        let mut recipe = Recipe {
            args: "-arch=sm_90".into(),
            ..Recipe::default()
        };
        let read = |name: &str| std::fs::read(base.join(name)).map_err(Error::file(base.join(name)));
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("base", name) => (recipe.name, recipe.bytes) = (name.into(), read(name)?),
                ("empty", name) => recipe.name = name.into(),
                ("name", name) => recipe.name = name.into(),
                ("with", name) => recipe.others.push((name.into(), read(name)?)),
                ("args", args) => recipe.args = args.into(),
                _ => edit(&mut recipe.bytes, line).ok_or_else(|| Error::Other(format!("cannot follow '{line}'")))?,
            }
        }
        Ok(recipe)
    }
}

/// Applies one edit.
fn edit(bytes: &mut Vec<u8>, line: &str) -> Option<()> {
    let (place, value) = line.split_once('=')?;
    let (place, sign) = match place.trim_end() {
        p if p.ends_with('+') => (p.trim_end_matches('+'), 1),
        p if p.ends_with('-') => (p.trim_end_matches('-'), -1),
        p => (p, 0),
    };
    let (place, value) = (place.trim(), value.trim());
    if place == "file.size" {
        let value = usize::try_from(parse(value)?).ok()?;
        let size = match sign {
            0 => value,
            1 => bytes.len().checked_add(value)?,
            _ => bytes.len().checked_sub(value)?,
        };
        bytes.resize(size, 0);
        return Some(());
    }
    if let Some(text) = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        let (at, _) = find(bytes, place)?;
        let text = text.replace("\\n", "\n");
        bytes.get_mut(at..at + text.len())?.copy_from_slice(text.as_bytes());
        return Some(());
    }
    let (at, width) = find(bytes, place)?;
    let value = parse(value)?;
    let old = number(bytes, at, width);
    let value = match sign {
        0 => value,
        1 => old.wrapping_add(value),
        _ => old.wrapping_sub(value),
    };
    put(bytes, at, width, value).then_some(())
}

fn parse(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn field(table: &[FieldInfo], name: &str) -> Option<(usize, usize)> {
    table.iter().find(|f| f.0 == name).map(|f| (f.1, f.2))
}

/// `a[b][c].d` as its parts.
fn parts(place: &str) -> (&str, Vec<&str>, &str) {
    let head = place.find(['[', '.']).unwrap_or(place.len());
    let tail = place.rfind("].").map_or(head, |i| i + 1);
    let inner = place.get(head..tail).unwrap_or_default();
    let keys = inner.split_terminator(']').map(|k| k.trim_start_matches('[')).collect();
    (&place[..head], keys, place.get(tail + 1..).unwrap_or_default())
}

/// Offset and width of the number at a place.
fn find(bytes: &[u8], place: &str) -> Option<(usize, usize)> {
    let (what, keys, name) = parts(place);
    let sections = || elf::sections(bytes);
    let fatbin = || bytes.windows(4).position(|w| w == FATBIN_MAGIC);
    let section = |key: &str| {
        let list = sections();
        let i = key.parse().ok().or_else(|| list.iter().position(|s| s.name == key.as_bytes()))?;
        list.into_iter().nth(i)
    };
    let free = |at: usize| Some((at, parse(name.strip_prefix('u')?)? as usize / 8));
    let (base, table): (usize, &[FieldInfo]) = match (what, keys.as_slice()) {
        ("header", []) => (0, &elf::HEADER),
        ("section", [key]) => (section(key)?.header, &elf::SECTION),
        ("symbol", [key]) => {
            let list = sections();
            let table = elf::symbol_table(&list)?;
            let named = |i: &usize| elf::symbol_name(bytes, &list, *i) == key.as_bytes();
            let index = key.parse().ok().or_else(|| (1..table.size / 24).rfind(named))?;
            (table.offset + 24 * index, &elf::SYMBOL)
        }
        ("reloc", [key, index]) => (section(key)?.offset + 24 * index.parse::<usize>().ok()?, &elf::RELOCATION),
        ("data", [key, offset]) => return free(section(key)?.offset + parse(offset)? as usize),
        ("file", [offset]) => return free(parse(offset)? as usize),
        ("fatbin", []) => (fatbin()?, &FATBIN),
        ("entry", []) => (fatbin()? + 16, &ENTRY),
        _ => return None,
    };
    let (offset, width) = field(table, name)?;
    Some((base + offset, width))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn places_are_found() {
        let mut file = vec![0; 200];
        file[40] = 64;
        file[60] = 2;
        edit(&mut file, "section[1].sh_link = 0x102").unwrap();
        assert_eq!(file[64 + 64 + 40..][..2], [2, 1]);
        edit(&mut file, "section[1].sh_link -= 1").unwrap();
        edit(&mut file, "header.e_flags += 7").unwrap();
        edit(&mut file, "file[3].u16 = 65535").unwrap();
        edit(&mut file, "file[8].u8 = \"ab\"").unwrap();
        assert_eq!(
            (file[168], file[48], &file[3..5], &file[8..10]),
            (1, 7, &[255, 255][..], &b"ab"[..])
        );
        edit(&mut file, "file.size -= 150").unwrap();
        assert_eq!(file.len(), 50);
        assert!(edit(&mut file, "file[100].u32 = 1").is_none());
        assert!(edit(&mut file, "header.nothing = 1").is_none());
    }
}
