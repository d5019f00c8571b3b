//! What did not get into the output, in link order.
//!
//! 1. Functions: copies that lost against another one; definitions that nothing keeps.
//! 2. Variables: weak copies that lost. Variables in shared memory that no kernel refers to.
//! 3. Constants that were merged with equal ones, or that were dropped because they did not fit.
//! 4. Sections and references with a reason in the [`ledger`] that is not listed above.

use super::map::{DropReason, Dropped};
use super::references::{self, Definers};
use crate::arrange::OutputPlan;
use crate::ids::{FunctionId, SymbolId};
use crate::layout::{Layout, Moves};
use crate::ledger::{self, Disposition};
use crate::object::{Object, Role, text};
use crate::records::SymbolEmission;
use crate::records::{Class, Place};
use crate::resolve::Fate;
use crate::session::Link;
use cubin::consts::*;

/// Lists what was dropped.
pub(super) fn dropped(output: &OutputPlan<'_, '_>) -> Vec<Dropped> {
    let (link, layout) = (output.link, output.layout);
    let mut list = Vec::new();
    let defined_by = references::definers(link, layout);
    for object in link.inputs.objects.iter() {
        functions(link, object, &mut list);
        variables(link, layout, &defined_by, object, &mut list);
        constants(layout, object, &mut list);
    }
    for e in ledger::entries(link, layout, output.plan) {
        let why = match e.disposition {
            Disposition::Unnamed => DropReason::Unnamed,
            Disposition::Ignored => DropReason::Ignored,
            Disposition::AddressUnused(function) => DropReason::AddressUnused(function),
            _ => continue,
        };
        list.push(entry(&link.inputs.objects[e.object], e.what.as_bytes(), e.size, why));
    }
    list
}

fn entry(object: &Object<'_>, name: &[u8], size: u64, why: DropReason) -> Dropped {
    Dropped {
        name: text(name),
        size,
        input: object.name.to_string(),
        why,
    }
}

fn functions(link: Link<'_, '_>, object: &Object<'_>, list: &mut Vec<Dropped>) {
    let resolved = link.resolved;
    for index in object.symbols_of(&[STT_FUNC]) {
        let symbol = object.symbol_ref(index);
        let Some(f) = resolved.function(symbol) else { continue };
        let why = match resolved.fate(symbol) {
            Fate::None => continue,
            Fate::Rejected | Fate::Replaced => match resolved.functions[f].winner {
                Some(winner) => DropReason::OtherCopy(link.inputs.objects[winner.object].name.to_string()),
                None => continue,
            },
            Fate::Winner if link.live.alive[f] => continue,
            Fate::Winner => why_dead(link, f),
        };
        let sym = object.symbol(index);
        // Of two views the one that runs is counted.
        let sass = sym.defined_in().and_then(|s| object.sass.get(s as usize));
        list.push(entry(object, sym.name, sass.map_or(sym.size, |s| s.size), why));
    }
}

/// Why a function is dead.
pub(super) fn why_dead(link: Link<'_, '_>, f: FunctionId) -> DropReason {
    match link.resolved.functions[f].entry {
        true => DropReason::NotUsed,
        false => DropReason::Unreached,
    }
}

fn variables(link: Link<'_, '_>, layout: &Layout<'_>, defined_by: &Definers, object: &Object<'_>, list: &mut Vec<Dropped>) {
    let records = &layout.records;
    for index in object.symbols_of(&[STT_OBJECT, STT_CUDA_OBJECT]) {
        let symbol = object.symbol_ref(index);
        let sym = object.symbol(index);
        match records.placement.symbols[symbol] {
            Place::Symbol(id) if records.quirks.overridden.binary_search(&symbol).is_ok() => {
                let winner = link.inputs.objects[defined_by[id].unwrap_or(records.symbols[id].first_mention)]
                    .name
                    .to_string();
                list.push(entry(object, sym.name, sym.size, DropReason::OtherCopy(winner)));
            }
            Place::Symbol(id) if sym.defined_in().is_some() && is_dropped(layout, id) => {
                list.push(entry(object, sym.name, sym.size, DropReason::Unreached));
            }
            Place::Shared(id)
                if sym.defined_in().is_some() && sym.size != 0 && !link.mode.relocatable && layout.shared.offset[id].is_none() =>
            {
                list.push(entry(object, sym.name, sym.size, DropReason::Unreached));
            }
            _ => {}
        }
    }
}

/// True for a constant that was dropped because not all of them fit.
fn is_dropped(layout: &Layout<'_>, id: SymbolId) -> bool {
    let sym = &layout.records.symbols[id];
    let in_bank = |moves: &Moves| sym.section == Some(moves.bank);
    sym.emission == SymbolEmission::Withdrawn && layout.moves.as_ref().is_some_and(in_bank)
}

/// Constants of this object that were merged: they were placed, but are not pieces any more.
fn constants(layout: &Layout<'_>, object: &Object<'_>, list: &mut Vec<Dropped>) {
    if layout.constant_units.is_none() {
        return;
    }
    for (index, s) in object.sections.iter().enumerate().filter(|(_, s)| s.role == Role::Constant) {
        let Some((id, _)) = layout.records.placement.sections[object.section_ref(index as u32)] else {
            continue;
        };
        let record = &layout.records.sections[id];
        // Pieces come in link order.
        let is_piece = || record.pieces.as_slice().binary_search_by_key(&object.id, |p| p.object).is_ok();
        if matches!(record.class, Class::Constant(_)) && !is_piece() {
            list.push(entry(object, s.name, s.size, DropReason::Merged));
        }
    }
}
