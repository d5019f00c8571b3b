//! Shared memory of a relocatable output: sizes are summed, nothing is laid out.
//!
//! 1. A kernel whose own text refers to a dynamic variable is padded to 16 and gets a symbol `externsharedinstance` that represents the
//!    start of its dynamic memory; with a debugger the variables get values instead, one per variable.
//! 2. A section's size is the sum of its variables plus one alignment if the sum does not exceed it (compilers do the same). Later releases
//!    align the size if the kernel has dynamic memory.

use super::Layout;
use super::shared::dynamic_align;
use crate::align::next_multiple;
use crate::ids::{ObjectId, SectionId, SymbolId};
use crate::names::SeededState;
use crate::options::Identity;
use crate::records::SymbolEmission;
use crate::records::{ABSENT, Class, NO_SPACE, OutSymbol, Place, SymbolTableEntry};
use crate::session::Link;
use cubin::consts::*;
use hashbrown::HashMap;

/// Kernel texts that refer to dynamic variables, in order of arrival of their relocations, with these variables.
type Uses = Vec<(SectionId, Vec<SymbolId>)>;

pub(super) fn sum<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>) {
    let uses = dynamic_uses(link, layout);
    let any_dynamic = layout.records.order.globals.iter().any(|&sym| layout.records.symbols[sym].dynamic);
    let module_align = layout.records.shared.module_align;
    let known = layout.records.sections.len();
    for (text, variables) in &uses {
        let declared: Vec<u64> = variables.iter().map(|&sym| layout.records.symbols[sym].value).collect();
        // The instance comes before a section that has to be made for it.
        let instance = (!link.mode.debug_symbols).then(|| instance(layout, link.mode.rules.weak_symbols_global));
        let Some(id) = section_of(link, layout, *text) else { continue };
        let record = &mut layout.records.sections[id];
        let mut first = None;
        for declared in declared {
            let align = dynamic_align(link, declared);
            record.align = record.align.max(align);
            record.size = next_multiple(record.size.max(link.mode.shared_start), align);
            if link.mode.rules.dynamic_alignment && !link.mode.debug_symbols {
                record.size = record.size.max(declared);
            }
            // nvlink quirk: the instance is aligned for the first variable alone.
            first.get_or_insert(record.size);
        }
        let start = match link.options.identity {
            Identity::Nvlink => first.unwrap_or(record.size),
            Identity::Culd => record.size,
        };
        if let Some(symbol) = instance {
            layout.records.symbols[symbol].value = start;
            layout.dynamic_instances.push((*text, symbol));
        }
    }
    layout.dynamic_instances.sort_unstable();
    for i in 0..layout.records.shared.placed.len() {
        let (f, start) = layout.records.shared.placed[i];
        if let Some(id) = layout.records.functions[f].shared {
            let record = &mut layout.records.sections[id];
            record.size = record.size.max(start);
        }
    }
    // nvlink quirk: the alignment of the first section that a compiler laid out for a kernel, else for the module, becomes the value of symbol 0.
    let whole = layout
        .records
        .shared
        .whole
        .iter()
        .filter(|w| w.variable.is_none())
        .filter(|w| link.options.identity == Identity::Nvlink && link.live.late.binary_search(&w.kernel).is_err());
    let first = whole.min_by_key(|w| layout.records.functions[w.kernel].shared);
    let first = first.map(|w| w.align).or(layout.records.shared.module_whole);
    layout.null_value = first.unwrap_or(layout.null_value);
    let section_with = |layout: &Layout<'d>, text: SectionId| match layout.records.sections[text].class {
        Class::Text(f) => layout.records.functions[f].shared,
        _ => None,
    };
    let aligned: Vec<SectionId> = match link.mode.rules.dynamic_alignment {
        true => uses.iter().filter_map(|(text, _)| section_with(layout, *text)).collect(),
        false => Vec::new(),
    };
    if link.mode.debug_symbols {
        let start = next_multiple(link.mode.shared_start, 16);
        let keeps_places = !layout.records.shared.placed.is_empty();
        for sym in layout.records.symbols.iter_mut().filter(|sym| sym.dynamic) {
            sym.value = if keeps_places { sym.value.max(start) } else { start };
        }
        equalise(link, layout, &uses, known);
    }
    let whole = layout.records.shared.whole.iter().filter(|w| w.variable.is_none());
    let mut whole: Vec<SectionId> = whole.filter_map(|w| layout.records.functions[w.kernel].shared).collect();
    whole.sort_unstable();
    for (i, s) in layout
        .records
        .sections
        .iter_mut()
        .enumerate()
        .filter(|(_, s)| s.class == Class::KernelShared)
    {
        if i < known {
            s.align = s.align.max(module_align);
        }
        let is_whole = whole.binary_search(&SectionId::new(i as u32)).is_ok();
        let kept = s.size > 0 || is_whole || (s.align == 16 && any_dynamic);
        s.no_symbol = s.size == 0;
        s.size = if kept { padded(s.size, s.align) } else { ABSENT };
    }
    for id in aligned {
        let s = &mut layout.records.sections[id];
        if s.size != ABSENT {
            s.size = next_multiple(s.size, s.align);
        }
    }
    if let Some(id) = layout.records.module_shared_section() {
        let s = &mut layout.records.sections[id];
        s.no_symbol = s.size == 0;
        s.size = padded(s.size, s.align);
    }
}

/// The shared section of a kernel's text; kernels that were not selected get theirs now.
fn section_of<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, text: SectionId) -> Option<SectionId> {
    let Class::Text(f) = layout.records.sections[text].class else {
        return None;
    };
    if let Some(id) = layout.records.functions[f].shared {
        return Some(id);
    }
    Some(layout.records.add_shared_section(link.mode, f, link.resolved.functions[f].name))
}

fn padded(size: u64, align: u64) -> u64 {
    if size <= align { size.saturating_add(align) } else { size }
}

fn dynamic_uses(link: Link<'_, '_>, layout: &Layout<'_>) -> Uses {
    let records = &layout.records;
    let mut uses: Uses = Vec::new();
    let mut place: HashMap<SectionId, usize, SeededState> = HashMap::default();
    for r in &records.relocs {
        let object = &link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            continue;
        };
        let Class::Text(f) = records.sections[r.target].class else {
            continue;
        };
        if !link.resolved.functions[f].entry || !records.is_current(r, relocs.target) {
            continue;
        }
        for &index in object.specials(relocs) {
            let Place::Symbol(sym) = records.placement.symbols[object.symbol_ref(index)] else {
                continue;
            };
            if !records.symbols[sym].dynamic {
                continue;
            }
            let at = *place.entry(r.target).or_insert_with(|| {
                uses.push((r.target, Vec::new()));
                uses.len() - 1
            });
            if let Some((_, variables)) = uses.get_mut(at) {
                variables.push(sym);
            }
        }
    }
    uses
}

/// With a debugger: one value per dynamic variable, the same for all kernels that use it. Sections that were there before are aligned for the
/// variables of the module, too.
fn equalise<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, uses: &Uses, known: usize) {
    let module_align = layout.records.shared.module_align;
    let aligned = |size: u64, align: u64, is_known: bool| match link.mode.rules.dynamic_alignment {
        true => next_multiple(size, if is_known { align.max(module_align) } else { align }),
        false => size,
    };
    let mut changed = true;
    while changed {
        changed = false;
        for (text, variables) in uses {
            let Some(id) = section_of(link, layout, *text) else { continue };
            for &sym in variables {
                let record = &layout.records.sections[id];
                let total = aligned(record.size, record.align, (id.number() as usize) < known);
                let highest = layout.records.symbols[sym].value.max(total);
                changed |= highest != layout.records.symbols[sym].value || highest != layout.records.sections[id].size;
                layout.records.symbols[sym].value = highest;
                layout.records.sections[id].size = highest;
            }
        }
    }
}

fn instance(layout: &mut Layout<'_>, weak_is_global: bool) -> SymbolId {
    let id = layout.records.symbols.push(OutSymbol {
        name: b"externsharedinstance",
        name_id: None,
        bind: STB_WEAK,
        kind: STT_CUDA_OBJECT,
        other: STO_CUDA_SHARED | 1,
        input_other: STO_CUDA_SHARED | 1,
        literal_number: 0,
        space: NO_SPACE,
        managed: false,
        emission: SymbolEmission::Emit,
        weak_reference: true,
        dynamic: false,
        section: None,
        value: 0,
        size: 0,
        first_mention: ObjectId::new(0),
        function: None,
        shared: None,
        constant_relocs_dropped_before: ObjectId::new(0),
    });
    if weak_is_global {
        layout.records.order.globals.push(id);
    } else {
        layout.records.order.locals.push(SymbolTableEntry::Symbol(id));
    }
    id
}
