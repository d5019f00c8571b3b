//! Jump tables: offsets in Mercury code become offsets in SASS.
//!
//! 1. A table starts as the literals of its bank; later entries overwrite earlier ones. A bank is all zeros where relocations fill it: they have function and
//!    Mercury offset. The other words of a bank are literals that are no addresses (tables of functions inside of a kernel, `-ewp`).
//! 2. An entry is the SASS offset of the label at that Mercury offset of the prevailing function, counted from the symbol that it names: that of the function,
//!    or of one inside of it. The labels that are known are the targets of that function's own tables: the same place in the input's SASS table says where
//!    they are. In an output of `-r` that place is 0 where another copy's table was there too: then the sizes of Mercury instructions tell, for
//!    targets of its indirect branches.
//! 3. An offset without a label there gives 0: entries of tables whose function was replaced.
//! 4. In data (tables of functions inside of a kernel), an entry that only the finalizer resolves is the place of the function in its kernel. One inside of a
//!    copy that lost is where the module `copies` says.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::finalize::code::offsets::mercury_places;
use crate::finalize::linked::{Kept, Linked};
use crate::finalize::sass::Sass;
use crate::ids::{FunctionId, SectionId};
use crate::names::SeededState;
use crate::object::{Object, Role, entry};
use crate::records::Class;
use crate::records::SymbolTableEntry;
use cubin::layout::R_MERCURY_PROG_REL64;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// SASS offsets of labels by Mercury offset.
type Labels = HashMap<i64, u32, SeededState>;

/// Writes the tables.
pub(crate) fn write(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, sass: &mut Sass) {
    let records = &output.layout.records;
    let mut labels: HashMap<FunctionId, Labels, SeededState> = HashMap::default();
    for &id in &output.arranged.sections {
        let written = match records.sections[id].class {
            Class::Literals => Some(literals(output, linked, code, id, &mut labels)),
            Class::GlobalInit | Class::Constant(_) => data(output, linked, code, id),
            _ => None,
        };
        if let Some(bytes) = written {
            sass.put(id, bytes);
        }
    }
}

/// A bank with labels of code.
fn literals(
    output: &OutputPlan<'_, '_>,
    linked: &Linked,
    code: &Functions<'_, '_>,
    id: SectionId,
    labels: &mut HashMap<FunctionId, Labels, SeededState>,
) -> Vec<u8> {
    let records = &output.layout.records;
    let mut bytes = linked.sections[id].bytes.clone().unwrap_or_default();
    for kept in &linked.sections[id].kept {
        let SymbolTableEntry::Symbol(number) = kept.named else { continue };
        let Some(sym) = records.symbols.get(number) else { continue };
        let Some(f) = sym.function else { continue };
        let Some(text) = records.functions[f].text.or(sym.section) else {
            continue;
        };
        let Some(function) = code.of(text) else { continue };
        let object = &output.link.inputs.objects[function.object];
        let known = labels
            .entry(function.function)
            .or_insert_with(|| find_labels(code, object, function));
        let label = kept.addend.wrapping_add_unsigned(sym.value);
        let copied = || code.copies.of(text).and_then(|c| c.place(number)).filter(|_| kept.addend == 0);
        let known = known.get(&label).map(|&place| place.into()).or_else(copied);
        let value = known.map_or(0, |place| function.place(place) as u32);
        if let Some(slot) = bytes.get_mut(kept.offset as usize..).and_then(|b| b.first_chunk_mut::<4>()) {
            *slot = value.to_le_bytes();
        }
    }
    bytes
}

/// Data with places of functions inside of kernels, if it has any.
fn data(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, id: SectionId) -> Option<Vec<u8>> {
    let mut places = linked.sections[id]
        .kept
        .iter()
        .filter_map(|k| Some((k.offset, place_in_code(output, code, k)?)))
        .peekable();
    places.peek()?;
    let mut bytes = linked.sections[id].bytes.clone().unwrap_or_default();
    for (offset, place) in places {
        if let Some(slot) = bytes.get_mut(offset as usize..).and_then(|b| b.first_chunk_mut::<8>()) {
            *slot = place.to_le_bytes();
        }
    }
    Some(bytes)
}

/// The place in its kernel of the function inside of it that an entry of data names.
pub(crate) fn place_in_code(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>, kept: &Kept) -> Option<u64> {
    let (R_MERCURY_PROG_REL64, SymbolTableEntry::Symbol(number)) = (kept.kind, kept.named) else {
        return None;
    };
    let records = &output.layout.records;
    let sym = records.symbols.get(number)?;
    let winner = output.link.resolved.functions.get(sym.function?)?.winner?;
    let text = sym.section?;
    let function = code.of(text)?;
    let start = if winner.object == function.object {
        Some(code.sources.of(winner.object).inner_symbol(winner.symbol)?.st_value.get())
    } else {
        code.copies.of(text).and_then(|c| c.place(number))
    };
    // Without a place it is nowhere.
    let place = start.map_or(0, |start| function.place(start));
    Some(place.wrapping_add_signed(kept.addend))
}

fn find_labels(code: &Functions<'_, '_>, object: &Object<'_>, function: &Function) -> Labels {
    let mut labels = Labels::default();
    let mut places = None;
    for relocs in &object.relocs {
        let table = object
            .section(relocs.target)
            .filter(|s| s.role == Role::Literals && s.info == function.section);
        let Some(sass) = object.sass.get(relocs.target as usize).filter(|_| table.is_some()) else {
            continue;
        };
        for i in 0..relocs.entries.len() {
            let e = entry(&relocs.entries, i);
            let word = sass.data.get(e.r_offset.get() as usize..).and_then(|d| d.first_chunk::<4>());
            if let Some(word) = word {
                let label = e.r_addend.get().wrapping_add_unsigned(object.symbol(e.r_sym.get()).value);
                let mut place = u32::from_le_bytes(*word);
                if place == 0 {
                    let (places, targets) = places.get_or_insert_with(|| {
                        let targets = code.sources.of(function.object).branch_targets(function.section);
                        let places = mercury_places(object, function.section).unwrap_or_default();
                        (places, targets.into_values().flatten().collect::<BTreeSet<u32>>())
                    });
                    let known = u64::try_from(label).ok().and_then(|l| places.get(&l));
                    let known = known.and_then(|&p| u32::try_from(p).ok());
                    place = known.filter(|p| targets.contains(p)).unwrap_or(0);
                }
                labels.insert(label, place);
            }
        }
    }
    labels
}
