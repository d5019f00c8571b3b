//! User constants that do not fit: laid out again, variable by variable.
//!
//! 1. Only when the bank, as the inputs' sections make it, is larger than the limit of a final link.
//! 2. Where kernels were selected, with options or by the launches of host objects, only the constants stay that code of the output refers to or
//!    that were named as used. Otherwise all stay; bytes that no symbol names and copies that lost go in any case.
//! 3. Global variables are sorted by alignment, largest first, static and weak ones after them, smallest first; then by size, smallest
//!    first. They are put one after the other. In releases whose symbol tables count weak symbols as global, weak variables are among those.
//! 4. Symbols and relocations follow ([`Moves`]). If it still does not fit, [`super::limits`] reports the new size.
//!
//! nvlink quirks: it takes the size up to 8 for the alignment, so that 7 bytes are at multiples of 7 and 16-byte vectors at multiples of
//! 8; culd keeps the alignment that a variable had. It crashes where a static constant or one with addresses is left; this does not.

use super::Layout;
use super::constants::USER_BANK;
use super::sort::list_sort;
use crate::ids::{SectionId, SymbolId, Table};
use crate::liveness::Patterns;
use crate::options::Identity;
use crate::records::SymbolEmission;
use crate::records::{Class, Emission, Merged, OutSymbol, Piece, Pieces, Place};
use crate::session::Link;
use cubin::consts::CONSTANT_LIMIT;
use cubin::consts::*;
use cubin::read::Relocations;
use std::cmp::Reverse;

/// New offsets of parts of the bank.
#[derive(Debug)]
pub struct Moves {
    /// The bank.
    pub bank: SectionId,
    /// Old offset, size and new offset, by old offset.
    ranges: Vec<(u64, u64, u64)>,
}

impl Moves {
    /// New offset of a byte of the bank; `None` if it was dropped.
    pub fn place(&self, old: u64) -> Option<u64> {
        let at = self.ranges.partition_point(|r| r.0 <= old).checked_sub(1)?;
        let &(start, size, new) = self.ranges.get(at)?;
        (old - start < size).then(|| new.saturating_add(old - start))
    }
}

/// A variable of the bank.
#[derive(Clone, Copy)]
struct Variable {
    symbol: SymbolId,
    /// In the local part of the symbol table: static, or weak in older releases.
    local: bool,
    align: u64,
    size: u64,
    old: u64,
}

/// Lays the user constants out again if they do not fit; true if so.
pub(super) fn lay_out(link: Link<'_, '_>, layout: &mut Layout<'_>) -> bool {
    let mut memory = layout.records.memory.iter().copied();
    let Some(bank) = memory.find(|&id| layout.records.sections[id].class == Class::Constant(USER_BANK)) else {
        return false;
    };
    if layout.records.sections[bank].size <= CONSTANT_LIMIT {
        return false;
    }
    let is_needed = needed(link, layout, bank);
    let mut variables = Vec::new();
    for (symbol, sym) in layout.records.symbols.enumerate().filter(|(_, sym)| is_in(sym, bank)) {
        if is_needed.as_ref().is_none_or(|needed| needed[symbol]) {
            variables.push(Variable {
                symbol,
                local: sym.bind == STB_LOCAL || (sym.bind == STB_WEAK && !link.mode.rules.weak_symbols_global),
                align: alignment(link, &layout.records, bank, sym),
                size: sym.size,
                old: sym.value,
            });
        }
    }
    // Ties depend on where the sort starts: at the static and weak ones. It gives the reverse order.
    variables.sort_by_key(|v| !v.local);
    let key = |v: &Variable| (if v.local { -(v.align as i64) } else { v.align as i64 }, Reverse(v.size));
    let before = |a: &Variable, b: &Variable| key(a) < key(b);
    let mut variables = list_sort(variables, &before);
    variables.reverse();
    // nvlink quirk: `--reserve-null-pointer`, which is about shared memory, counts here, but not where constants may go.
    let start = u64::from(link.options.reserve_null_pointer && is_needed.is_none());
    place(link, layout, bank, &variables, start);
    true
}

fn is_in(sym: &OutSymbol<'_>, bank: SectionId) -> bool {
    sym.section == Some(bank) && sym.emission != SymbolEmission::Withdrawn
}

fn alignment(link: Link<'_, '_>, records: &Merged<'_>, bank: SectionId, sym: &OutSymbol<'_>) -> u64 {
    match link.options.identity {
        Identity::Nvlink => sym.size.clamp(1, 8),
        Identity::Culd => (1 << sym.value.trailing_zeros().min(62)).min(records.sections[bank].align.max(1)),
    }
}

/// The constants that stay where some may go.
fn needed(link: Link<'_, '_>, layout: &Layout<'_>, bank: SectionId) -> Option<Table<SymbolId, bool>> {
    let filter = link.options.kernels.as_ref().filter(|_| !link.mode.debug_symbols)?;
    let records = &layout.records;
    let (external, internal) = (Patterns::new(&filter.external_constants), Patterns::new(&filter.internal_constants));
    let mut needed = Table::filled(records.symbols.len(), false);
    let mut by_offset: Vec<(u64, SymbolId)> = Vec::new();
    for (id, sym) in records.symbols.enumerate().filter(|(_, sym)| is_in(sym, bank)) {
        let patterns = if sym.bind == STB_LOCAL { &internal } else { &external };
        needed[id] = patterns.matches(sym.name);
        by_offset.push((sym.value, id));
    }
    by_offset.sort_unstable();
    for r in &records.relocs {
        let object = &link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            continue;
        };
        if !records.is_current(r, relocs.target) {
            continue;
        }
        let mut refer = |index: u32, addend: i64| {
            if object.symbol_kind(index) != STT_SECTION {
                if let Place::Symbol(id) = records.placement.symbols[object.symbol_ref(index)] {
                    needed[id] = true;
                }
                return;
            }
            let section = object
                .symbol(index)
                .defined_in()
                .and_then(|s| records.placement.sections[object.section_ref(s)]);
            if let Some((_, base)) = section.filter(|s| s.0 == bank) {
                let offset = base.wrapping_add(addend as u64);
                let at = by_offset.partition_point(|v| v.0 <= offset).checked_sub(1);
                if let Some(&(_, id)) = at.and_then(|at| by_offset.get(at)) {
                    needed[id] = true;
                }
            }
        };
        match relocs.entries {
            Relocations::Rela(list) => list.iter().for_each(|e| refer(e.r_sym.get(), e.r_addend.get())),
            Relocations::Rel(list) => list.iter().for_each(|e| refer(e.r_sym.get(), 0)),
        }
    }
    Some(needed)
}

/// Puts the variables one after the other, from `start` on, and makes the bank of them.
fn place(link: Link<'_, '_>, layout: &mut Layout<'_>, bank: SectionId, variables: &[Variable], start: u64) {
    let pieces = std::mem::replace(&mut layout.records.sections[bank].pieces, Pieces::EMPTY);
    let mut bytes = Vec::new();
    let mut ranges = Vec::with_capacity(variables.len());
    let (mut end, mut align) = (start, 1);
    let mut stays = Table::filled(layout.records.symbols.len(), false);
    for v in variables {
        let offset = end.div_ceil(v.align).saturating_mul(v.align);
        end = offset.saturating_add(v.size);
        align = align.max(v.align);
        layout.records.symbols[v.symbol].value = offset;
        stays[v.symbol] = true;
        ranges.push((v.old, v.size, offset));
        // What is refused anyway need not be copied.
        if end <= CONSTANT_LIMIT {
            bytes.resize(end as usize, 0);
            let content = contents(link, pieces.as_slice(), v).unwrap_or_default();
            if let Some(place) = bytes.get_mut(offset as usize..).and_then(|b| b.get_mut(..content.len())) {
                place.copy_from_slice(content);
            }
        }
    }
    ranges.sort_unstable();
    let record = &mut layout.records.sections[bank];
    (record.size, record.align) = (end, align);
    if end > CONSTANT_LIMIT {
        // Nothing will be written: the message names the inputs.
        record.pieces = pieces;
    } else {
        record.bytes = Some(Box::new(bytes));
    }
    if variables.is_empty() {
        record.emission = Emission::Never;
    }
    let gone = layout
        .records
        .symbols
        .enumerate()
        .filter(|(id, sym)| is_in(sym, bank) && !stays[*id]);
    let gone: Vec<SymbolId> = gone.map(|(id, _)| id).collect();
    for id in gone {
        // nvlink quirk: `--preserve-relocs` keeps the symbols of constants that are gone, with their old values.
        if link.mode.preserve && !variables.is_empty() {
            layout.records.symbols[id].other |= STV_INTERNAL;
        } else {
            layout.records.symbols[id].emission = SymbolEmission::Withdrawn;
        }
    }
    layout.moves = Some(Moves { bank, ranges });
}

/// The bytes of a variable in the input that defines it.
fn contents<'d>(link: Link<'_, 'd>, pieces: &[Piece], v: &Variable) -> Option<&'d [u8]> {
    let piece = pieces.get(pieces.partition_point(|p| p.base <= v.old).checked_sub(1)?)?;
    let data = link.inputs.objects[piece.object].section(piece.section)?.data;
    let rest = data.get(usize::try_from(v.old - piece.base).ok()?..)?;
    Some(rest.get(..usize::try_from(v.size).ok()?).unwrap_or(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn parts_move_and_gaps_are_gone() {
        let moves = Moves {
            bank: SectionId::from_index(0),
            ranges: vec![(4, 4, 100), (16, 8, 0)],
        };
        let places: Vec<Option<u64>> = [0, 4, 7, 8, 16, 23, 24].map(|old| moves.place(old)).to_vec();
        assert_eq!(places, [None, Some(100), Some(103), None, Some(0), Some(7), None]);
    }
}
