//! Reserved shared memory of a final link (`.nv.shared.reserved.*`): variables that compiled code shares with the driver.
//!
//! 1. Each variable has one place, however many inputs bring it; the value in an input is its alignment.
//! 2. Variables of a section by descending alignment, then ascending size, as a kernel's own shared variables.
//! 3. The section ends with the last one and has the largest of their alignments.

use super::Layout;
use super::sort::list_sort;
use crate::align::align_up;
use crate::ids::{Id, SectionId, SymbolId};
use crate::par::Threads;
use crate::records::{Class, OutSymbol};

pub(super) fn lay_out(layout: &mut Layout<'_>, threads: Threads) {
    let records = &mut layout.records;
    let section = |n: usize, symbol: &OutSymbol<'_>| {
        let id = symbol.section?;
        (records.sections[id].class == Class::ReservedShared).then_some((id, SymbolId::from_index(n)))
    };
    let mut variables: Vec<(SectionId, SymbolId)> = threads.filter_map(records.symbols.as_slice(), section);
    variables.sort_unstable();
    for group in variables.chunk_by(|a, b| a.0 == b.0) {
        let Some(&(id, _)) = group.first() else { continue };
        let key = |sym: &SymbolId| (u64::MAX - records.symbols[*sym].value, records.symbols[*sym].size);
        let sorted = list_sort(group.iter().map(|v| v.1).collect(), &|a, b| key(a) <= key(b));
        let (mut end, mut align) = (0u64, 1);
        for sym in sorted {
            let symbol = &mut records.symbols[sym];
            align = symbol.value.max(align);
            symbol.value = align_up(end, symbol.value);
            end = symbol.value.saturating_add(symbol.size);
        }
        (records.sections[id].size, records.sections[id].align) = (end, align);
    }
}
