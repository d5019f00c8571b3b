//! Shared memory of a relocatable output: sizes are summed, nothing is laid out.
//!
//! 1. A kernel whose own text refers to a dynamic variable is padded to 16 and gets a symbol `externsharedinstance` that stands for the
//!    start of its dynamic memory; with a debugger the variables get values instead, one per variable.
//! 2. A section's size is the sum of its variables plus one alignment if the sum does not exceed it (compilers do the same).

use super::{Context, Layout};
use crate::ids::{ObjectId, SectionId, SymbolId};
use crate::merge::align_up;
use crate::merge::model::{Class, Local, NO_SPACE, OutSymbol, Place};
use crate::names::{Name, State};
use cubin::consts::*;
use hashbrown::HashMap;

pub(super) fn sum<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>) {
    let uses = dynamic_uses(context, layout);
    let any_dynamic = layout.m.globals.iter().any(|&y| layout.m.symbols[y].dynamic);
    missing_sections(context, layout, &uses);
    let sections = sections_by_symbol(layout);
    let mut totals: Vec<u64> = Vec::with_capacity(sections.len());
    for &id in &sections {
        let module_align = layout.m.module_shared_align;
        let record = &mut layout.m.sections[id];
        record.align = record.align.max(module_align);
        let dynamic = record.owner.is_some_and(|t| uses.contains_key(&t));
        if dynamic {
            record.align = record.align.max(16);
            record.size = align_up(record.size.max(context.mode.shared_start), 16);
        }
        totals.push(record.size);
    }
    if context.mode.debug_symbols {
        equalise(layout, &sections, &uses, &mut totals);
    }
    for (&id, &total) in sections.iter().zip(&totals) {
        let owner = layout.m.sections[id].owner;
        if let Some(text) = owner.filter(|t| uses.contains_key(t) && !context.mode.debug_symbols) {
            let symbol = instance(layout, total);
            layout.dynamic_instances.push((text, symbol));
        }
        let record = &mut layout.m.sections[id];
        let kept = total > 0 || (record.align == 16 && any_dynamic);
        record.no_symbol = total == 0;
        record.size = if kept { padded(total, record.align) } else { super::shared::ABSENT };
    }
    layout.dynamic_instances.sort_unstable();
    if let Some(s) = layout.m.sections.iter_mut().find(|s| s.class == Class::ModuleShared) {
        s.no_symbol = s.size == 0;
        s.size = padded(s.size, s.align);
    }
}

/// Kernels that were not selected have no section yet; dynamic memory needs one.
fn missing_sections<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>, uses: &HashMap<SectionId, Vec<SymbolId>, State>) {
    for f in context.resolved.functions.ids() {
        let Some(text) = layout.m.functions[f].text.filter(|t| uses.contains_key(t)) else {
            continue;
        };
        if layout.m.functions[f].shared.is_none() {
            let name = Name::new(b".nv.shared.", context.resolved.names.string(context.resolved.functions[f].name));
            let id = layout
                .m
                .add_section(context.mode, name, Class::KernelShared, SHT_CUDA_SHARED, 0x43, 1, 0);
            layout.m.sections[id].owner = Some(text);
            layout.m.functions[f].shared = Some(id);
        }
    }
}

/// Kernel sections, those of global kernels first, each in order of the kernels' symbols.
fn sections_by_symbol(layout: &Layout<'_>) -> Vec<SectionId> {
    let m = &layout.m;
    let locals = m
        .locals
        .iter()
        .filter_map(|l| if let Local::Symbol(y) = l { Some(y) } else { None });
    let functions = m.globals.iter().chain(locals).filter_map(|&y| m.symbols[y].function);
    let mut sections: Vec<SectionId> = Vec::new();
    let mut seen = vec![false; m.sections.len()];
    let shared = functions.filter_map(|f| m.functions[f].shared);
    let all = m
        .sections
        .enumerate()
        .filter(|(_, s)| s.class == Class::KernelShared)
        .map(|(id, _)| id);
    for id in shared.chain(all) {
        if !std::mem::replace(&mut seen[id.0 as usize], true) {
            sections.push(id);
        }
    }
    sections
}

fn padded(size: u64, align: u64) -> u64 {
    if size <= align { size + align } else { size }
}

/// Kernel texts that refer to dynamic variables, with these variables.
fn dynamic_uses(context: Context<'_, '_>, layout: &Layout<'_>) -> HashMap<SectionId, Vec<SymbolId>, State> {
    let m = &layout.m;
    let mut uses: HashMap<SectionId, Vec<SymbolId>, State> = HashMap::default();
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
            if let Place::Symbol(y) = m.places[object.symbol_ref(index)]
                && m.symbols[y].dynamic
            {
                uses.entry(r.target).or_default().push(y);
            }
        }
    }
    uses
}

/// With a debugger: one value per dynamic variable, the same for all kernels that use it.
fn equalise(layout: &mut Layout<'_>, sections: &[SectionId], uses: &HashMap<SectionId, Vec<SymbolId>, State>, totals: &mut [u64]) {
    let users: Vec<(usize, &Vec<SymbolId>)> = sections
        .iter()
        .enumerate()
        .filter_map(|(i, id)| Some((i, uses.get(&layout.m.sections[*id].owner?)?)))
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (i, variables) in &users {
            for &y in *variables {
                let highest = layout.m.symbols[y].value.max(totals[*i]);
                changed |= highest != layout.m.symbols[y].value || highest != totals[*i];
                layout.m.symbols[y].value = highest;
                totals[*i] = highest;
            }
        }
    }
}

fn instance(layout: &mut Layout<'_>, value: u64) -> SymbolId {
    let id = layout.m.symbols.push(OutSymbol {
        name: Name::fixed(b"externsharedinstance"),
        bind: STB_WEAK,
        kind: STT_CUDA_OBJECT,
        other: STO_CUDA_SHARED | 1,
        input_other: STO_CUDA_SHARED | 1,
        space: NO_SPACE,
        managed: false,
        keep: true,
        withdrawn: false,
        weak_reference: true,
        dynamic: false,
        section: None,
        value,
        size: 0,
        first: ObjectId(0),
        common: None,
        function: None,
        shared: None,
        constant_cut: ObjectId(0),
    });
    layout.m.locals.push(Local::Symbol(id));
    id
}
