//! Just enough of the file format to take functions out of a cubin made from our own sources.

use std::collections::BTreeMap;

use super::Pair;

struct Section<'a> {
    name: String,
    data: &'a [u8],
}

fn number(data: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(size)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

fn sections(elf: &[u8]) -> Option<Vec<Section<'_>>> {
    let table = number(elf, 0x28, 8)? as usize;
    let count = number(elf, 0x3c, 2)? as usize;
    let names = number(elf, 0x3e, 2)? as usize;
    let raw = |i: usize| -> Option<(usize, &[u8])> {
        let at = table + i * 64;
        let (offset, size) = (number(elf, at + 24, 8)? as usize, number(elf, at + 32, 8)? as usize);
        let data = if number(elf, at + 4, 4)? == 8 {
            &[]
        } else {
            // Reserved memory lies beyond the end of the file.
            elf.get(offset..offset + size).unwrap_or_default()
        };
        Some((number(elf, at, 4)? as usize, data))
    };
    let strings = raw(names)?.1;
    (0..count)
        .map(|i| {
            let (name, data) = raw(i)?;
            let text = strings.get(name..)?.split(|byte| *byte == 0).next()?;
            Some(Section {
                name: String::from_utf8_lossy(text).into_owned(),
                data,
            })
        })
        .collect()
}

/// Attribute 0x34 of `.nv.info.<function>`: {branch offset, 0, n, n targets}.
fn indirect(info: &[u8]) -> BTreeMap<u32, Vec<u32>> {
    let word = |at: usize| number(info, at, 4).map(|v| v as u32);
    let mut out = BTreeMap::new();
    let mut at = 0;
    while let (Some(format), Some(attribute), Some(size)) = (number(info, at, 1), number(info, at + 1, 1), number(info, at + 2, 2)) {
        let payload = at + 4;
        let end = payload + if format == 4 { size as usize } else { 0 };
        let mut p = payload;
        while format == 4 && attribute == 0x34 && p + 12 <= end {
            let (Some(branch), Some(count)) = (word(p), word(p + 8)) else {
                break;
            };
            out.insert(branch, (0..count as usize).map_while(|i| word(p + 12 + 4 * i)).collect());
            p += 12 + 4 * count as usize;
        }
        at = end;
    }
    out
}

/// Functions that are in both files.
pub(crate) fn pairs(arch: &str, input: &[u8], linked: &[u8]) -> Vec<Pair> {
    let (Some(old), Some(new)) = (sections(input), sections(linked)) else {
        return Vec::new();
    };
    let find = |name: &str| old.iter().find(|s| s.name == name).map(|s| s.data);
    let mut out = Vec::new();
    for section in &old {
        let Some(name) = section.name.strip_prefix(".text.") else {
            continue;
        };
        let Some(twin) = new.iter().find(|s| s.name == section.name) else {
            continue;
        };
        let relocations = find(&format!(".rela.text.{name}")).unwrap_or_default();
        out.push(Pair {
            arch: arch.to_owned(),
            name: name.to_owned(),
            entry: find(&format!(".nv.constant0.{name}")).is_some(),
            input: section.data.to_vec(),
            linked: twin.data.to_vec(),
            relocated: relocations
                .chunks_exact(24)
                .filter_map(|r| number(r, 0, 4))
                .map(|v| v as u32 & !15)
                .collect(),
            indirect: indirect(find(&format!(".nv.info.{name}")).unwrap_or_default()),
            later: false,
        });
    }
    out
}

/// Reads `name.ARCH.r.cubin` and its twin `name.ARCH.l.cubin`.
pub(crate) fn read_pair(path: &str) -> std::io::Result<Vec<Pair>> {
    let arch = path.trim_end_matches(".r.cubin").rsplit('.').next().unwrap_or_default();
    let arch = arch.trim_start_matches("sm_");
    Ok(pairs(
        arch,
        &std::fs::read(path)?,
        &std::fs::read(path.replace(".r.cubin", ".l.cubin"))?,
    ))
}
