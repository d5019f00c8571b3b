//! Entries of the symbol table.

use crate::arrange::OutputPlan;
use crate::ids::SectionId;
use crate::options::Identity;
use crate::records::{SymbolEmission, SymbolTableEntry};
use cubin::consts::*;
use cubin::raw::Sym;

/// Value of the undefined symbol `.nv.reservedSmem.cap`.
const RESERVED_SHARED: u64 = 0x400;

/// Symbol `number`.
pub(super) fn symbol(output: &OutputPlan<'_, '_>, number: usize) -> Sym {
    let OutputPlan { layout, arranged, .. } = *output;
    let at = number.checked_sub(1);
    let Some(&named) = at.and_then(|i| arranged.symbols.get(i)) else {
        return Sym {
            st_value: layout.null_value.into(),
            ..Sym::default()
        };
    };
    let (mut entry, section) = plain_symbol(output, named);
    entry.st_name = arranged.name(named).into();
    entry.st_shndx = match is_common(output, named) {
        true => SHN_COMMON,
        false => direct_index(output, section).unwrap_or(SHN_XINDEX),
    }
    .into();
    entry
}

fn is_common(output: &OutputPlan<'_, '_>, named: SymbolTableEntry) -> bool {
    matches!(named, SymbolTableEntry::Symbol(id) if output.layout.records.symbols[id].emission == SymbolEmission::Common)
}

/// The number of a section, if it fits into a symbol.
fn direct_index(output: &OutputPlan<'_, '_>, section: Option<SectionId>) -> Option<u16> {
    // nvlink quirk: section 0xfff2 counts as one that fits.
    let quirks = output.link.options.identity == Identity::Nvlink;
    let index = section.map_or(0, |s| output.arranged.section_index(s));
    let short = u16::try_from(index).ok()?;
    (short < SHN_LORESERVE || (quirks && short == SHN_COMMON)).then_some(short)
}

/// Extended section index of symbol `number`.
pub(super) fn extended_index(output: &OutputPlan<'_, '_>, number: usize) -> u32 {
    let OutputPlan { layout, arranged, .. } = *output;
    let named = number.checked_sub(1).and_then(|i| arranged.symbols.get(i));
    let section = named.and_then(|&named| plain_symbol(output, named).1);
    match (section, direct_index(output, section)) {
        (Some(id), None) => arranged.section_index(id),
        // nvlink quirk: where the index fits, the section's number of creation.
        (Some(id), Some(_)) if output.link.options.identity == Identity::Nvlink => layout.records.sections[id].number,
        _ => 0,
    }
}

/// A symbol without name, and the section that contains it.
fn plain_symbol(output: &OutputPlan<'_, '_>, named: SymbolTableEntry) -> (Sym, Option<SectionId>) {
    let layout = output.layout;
    match named {
        SymbolTableEntry::Section(id) => (
            Sym {
                st_info: STT_SECTION,
                ..Sym::default()
            },
            Some(id),
        ),
        SymbolTableEntry::Symbol(id) => {
            let sym = &layout.records.symbols[id];
            let states = output.link.mode.rules.states_reserved_cap;
            let value = if states && sym.section.is_none() && sym.name == b".nv.reservedSmem.cap" {
                RESERVED_SHARED
            } else {
                sym.value
            };
            let entry = Sym {
                st_info: sym.bind << 4 | sym.kind,
                st_other: sym.other,
                st_value: value.into(),
                st_size: sym.size.into(),
                ..Sym::default()
            };
            (entry, sym.section)
        }
    }
}
