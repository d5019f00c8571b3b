//! Shared memory of a relocatable output: sizes are summed, nothing is laid out.
//!
//! 1. A kernel whose own text refers to a dynamic variable is padded to 16 and gets a symbol `externsharedinstance` that stands for the
//!    start of its dynamic memory; with a debugger the variables get values instead, one per variable.
//! 2. A section's size is the sum of its variables plus one alignment if the sum does not exceed it (compilers do the same). Later releases
//!    align the size if the kernel has dynamic memory.

use super::shared::dynamic_align;
use super::{Context, Layout};
use crate::ids::{ObjectId, SectionId, SymbolId};
use crate::merge::align_up;
use crate::merge::model::{Class, Local, NO_SPACE, OutSymbol, Place};
use crate::names::State;
use crate::options::Identity;
use cubin::consts::*;
use hashbrown::HashMap;

/// Kernel texts that refer to dynamic variables, in order of arrival of their relocations, with these variables.
type Uses = Vec<(SectionId, Vec<SymbolId>)>;

pub(super) fn sum<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>) {
    let uses = dynamic_uses(context, layout);
    let any_dynamic = layout.m.globals.iter().any(|&y| layout.m.symbols[y].dynamic);
    let module_align = layout.m.module_shared_align;
    let known = layout.m.sections.len();
    for (text, variables) in &uses {
        let declared: Vec<u64> = variables.iter().map(|&y| layout.m.symbols[y].value).collect();
        // The instance comes before a section that has to be made for it.
        let instance = (!context.mode.debug_symbols).then(|| instance(layout, context.mode.rules.weak_symbols_global));
        let Some(id) = section_of(context, layout, *text) else { continue };
        let record = &mut layout.m.sections[id];
        let mut first = None;
        for declared in declared {
            let align = dynamic_align(context, declared);
            record.align = record.align.max(align);
            record.size = align_up(record.size.max(context.mode.shared_start), align);
            if context.mode.rules.dynamic_alignment && !context.mode.debug_symbols {
                record.size = record.size.max(declared);
            }
            // nvlink quirk: the instance is aligned for the first variable alone.
            first.get_or_insert(record.size);
        }
        let start = match context.options.identity {
            Identity::Nvlink => first.unwrap_or(record.size),
            Identity::Culd => record.size,
        };
        if let Some(symbol) = instance {
            layout.m.symbols[symbol].value = start;
            layout.dynamic_instances.push((*text, symbol));
        }
    }
    layout.dynamic_instances.sort_unstable();
    // nvlink quirk: the alignment of the first section that a compiler laid out becomes the value of symbol 0.
    let whole = layout
        .m
        .whole_shared
        .iter()
        .filter(|w| w.1 > 0 && context.options.identity == Identity::Nvlink);
    let first = whole.min_by_key(|w| layout.m.functions[w.0].shared);
    layout.null_value = first.map_or(layout.null_value, |w| w.2);
    let section_with = |layout: &Layout<'d>, text: SectionId| match layout.m.sections[text].class {
        Class::Text(f) => layout.m.functions[f].shared,
        _ => None,
    };
    let aligned: Vec<SectionId> = match context.mode.rules.dynamic_alignment {
        true => uses.iter().filter_map(|(text, _)| section_with(layout, *text)).collect(),
        false => Vec::new(),
    };
    if context.mode.debug_symbols {
        let start = align_up(context.mode.shared_start, 16);
        for y in layout.m.symbols.iter_mut().filter(|y| y.dynamic) {
            y.value = start;
        }
        equalise(context, layout, &uses);
    }
    for (i, s) in layout
        .m
        .sections
        .iter_mut()
        .enumerate()
        .filter(|(_, s)| s.class == Class::KernelShared)
    {
        if i < known {
            s.align = s.align.max(module_align);
        }
        let kept = s.size > 0 || (s.align == 16 && any_dynamic);
        s.no_symbol = s.size == 0;
        s.size = if kept { padded(s.size, s.align) } else { super::shared::ABSENT };
    }
    for id in aligned {
        let s = &mut layout.m.sections[id];
        if s.size != super::shared::ABSENT {
            s.size = align_up(s.size, s.align);
        }
    }
    if let Some(id) = layout.m.module_shared_section() {
        let s = &mut layout.m.sections[id];
        s.no_symbol = s.size == 0;
        s.size = padded(s.size, s.align);
    }
}

/// The shared section of a kernel's text; kernels that were not selected get theirs now.
fn section_of<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>, text: SectionId) -> Option<SectionId> {
    let Class::Text(f) = layout.m.sections[text].class else {
        return None;
    };
    if let Some(id) = layout.m.functions[f].shared {
        return Some(id);
    }
    Some(layout.m.add_shared_section(context.mode, f, context.resolved.functions[f].name))
}

fn padded(size: u64, align: u64) -> u64 {
    if size <= align { size.saturating_add(align) } else { size }
}

fn dynamic_uses(context: Context<'_, '_>, layout: &Layout<'_>) -> Uses {
    let m = &layout.m;
    let mut uses: Uses = Vec::new();
    let mut place: HashMap<SectionId, usize, State> = HashMap::default();
    for r in &m.relocs {
        let object = &context.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            continue;
        };
        let Class::Text(f) = m.sections[r.target].class else { continue };
        if !context.resolved.functions[f].entry || !m.is_current(r, relocs.target) {
            continue;
        }
        for &index in object.specials(relocs) {
            let Place::Symbol(y) = m.places[object.symbol_ref(index)] else {
                continue;
            };
            if !m.symbols[y].dynamic {
                continue;
            }
            let at = *place.entry(r.target).or_insert_with(|| {
                uses.push((r.target, Vec::new()));
                uses.len() - 1
            });
            if let Some((_, variables)) = uses.get_mut(at) {
                variables.push(y);
            }
        }
    }
    uses
}

/// With a debugger: one value per dynamic variable, the same for all kernels that use it.
fn equalise<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>, uses: &Uses) {
    let mut changed = true;
    while changed {
        changed = false;
        for (text, variables) in uses {
            let Some(id) = section_of(context, layout, *text) else { continue };
            for &y in variables {
                let total = layout.m.sections[id].size;
                let highest = layout.m.symbols[y].value.max(total);
                changed |= highest != layout.m.symbols[y].value || highest != total;
                layout.m.symbols[y].value = highest;
                layout.m.sections[id].size = highest;
            }
        }
    }
}

fn instance(layout: &mut Layout<'_>, weak_is_global: bool) -> SymbolId {
    let id = layout.m.symbols.push(OutSymbol {
        name: b"externsharedinstance",
        name_id: None,
        bind: STB_WEAK,
        kind: STT_CUDA_OBJECT,
        other: STO_CUDA_SHARED | 1,
        input_other: STO_CUDA_SHARED | 1,
        literal_number: 0,
        space: NO_SPACE,
        managed: false,
        keep: true,
        withdrawn: false,
        hidden: false,
        weak_reference: true,
        dynamic: false,
        section: None,
        value: 0,
        size: 0,
        first: ObjectId::new(0),
        function: None,
        shared: None,
        constant_cut: ObjectId::new(0),
    });
    if weak_is_global {
        layout.m.globals.push(id);
    } else {
        layout.m.locals.push(Local::Symbol(id));
    }
    id
}
