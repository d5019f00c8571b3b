//! Relocations: every entry has a known type, an existing symbol, and a field inside the section that it patches.

use super::contents::symbol_count;
use super::sections::is_relocation;
use super::{Checked, DefectPlace, defect, text};
use crate::consts::*;
use crate::read::{Cubin, Section};
use crate::reloc::{RelocInfo, mercury_reloc_info, reloc_info};

pub(super) fn check(cubin: &Cubin<'_>) -> Checked {
    for (index, header) in (0..).zip(cubin.section_headers()) {
        if is_relocation(header.sh_type.get()) {
            one(cubin, &cubin.section(index)?)?;
        }
    }
    Ok(())
}

fn one(cubin: &Cubin<'_>, section: &Section<'_>) -> Checked {
    let list = cubin.relocations(section)?;
    let target = cubin.section(section.header.sh_info.get())?;
    let is_mercury = section.header.sh_type.get() == SHT_CUDA_MERC_RELA;
    // Offsets of Mercury code refer to code that is generated from the capsule; its size is only known during the link.
    let is_capsule = target.header.sh_type.get() == SHT_CUDA_CAPMERC;
    let room = target.header.sh_size.get();
    let symbols = symbol_count(cubin, section)?;
    let width = if section.header.sh_type.get() == SHT_REL { 16 } else { 24 };
    for i in 0..list.len() {
        let Some(entry) = list.get(i) else { continue };
        let (code, symbol, offset) = (entry.r_type.get(), entry.r_sym.get(), entry.r_offset.get());
        let info = if is_mercury { mercury_reloc_info(code) } else { reloc_info(code) };
        let reason = match info {
            None => format!("r_type {code} is unknown"),
            Some(_) if u64::from(symbol) >= symbols => format!("r_sym is {symbol}, there are {symbols} symbols"),
            Some(info) if !is_capsule && !fits(info, offset, room) => format!(
                "r_offset {offset:#x}: {} patches {} bytes, '{}' has {room:#x}",
                info.name,
                info.end_byte(),
                text(target.name)
            ),
            Some(_) => continue,
        };
        let place = DefectPlace::Entry {
            index: section.index,
            name: text(section.name),
            what: "relocation",
            offset: i * width,
        };
        return Err(defect(place, reason));
    }
    Ok(())
}

fn fits(info: &RelocInfo, offset: u64, room: u64) -> bool {
    offset.checked_add(info.end_byte().max(1) as u64).is_some_and(|end| end <= room)
}
