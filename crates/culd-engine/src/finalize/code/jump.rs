//! Jump tables: offsets in Mercury code become offsets in SASS.
//!
//! 1. All content is in the relocations: function and Mercury offset. The table starts as zeros; later entries overwrite earlier ones.
//! 2. An entry is the SASS offset of the label at that Mercury offset of the prevailing function. The labels that are known are the targets
//!    of that function's own tables: the same place in the input's SASS table says where they are.
//! 3. An offset without a label there gives 0: entries of tables whose function was replaced.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::finalize::linked::Linked;
use crate::finalize::sass::Sass;
use crate::ids::FunctionId;
use crate::names::SeededState;
use crate::object::{Object, Role, entry};
use crate::records::Class;
use crate::records::SymbolTableEntry;
use hashbrown::HashMap;

/// SASS offsets of labels by Mercury offset.
type Labels = HashMap<i64, u32, SeededState>;

/// Writes the tables.
pub(crate) fn write(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, sass: &mut Sass) {
    let records = &output.layout.records;
    let mut labels: HashMap<FunctionId, Labels, SeededState> = HashMap::default();
    for &id in output
        .arranged
        .sections
        .iter()
        .filter(|&&id| records.sections[id].class == Class::Literals)
    {
        let size = linked.bytes[id].as_ref().map_or(0, Vec::len);
        let mut bytes = vec![0; size];
        for kept in &linked.kept[id] {
            let SymbolTableEntry::Symbol(sym) = kept.named else { continue };
            let Some(f) = records.symbols.get(sym).and_then(|sym| sym.function) else {
                continue;
            };
            let Some(function) = records.functions[f].text.and_then(|t| code.of(t)) else {
                continue;
            };
            let object = &output.link.inputs.objects[function.object];
            let known = labels.entry(f).or_insert_with(|| find_labels(object, function));
            let value = known.get(&kept.addend).map_or(0, |&label| function.place(label.into()) as u32);
            if let Some(slot) = bytes.get_mut(kept.offset as usize..).and_then(|b| b.first_chunk_mut::<4>()) {
                *slot = value.to_le_bytes();
            }
        }
        sass.put(id, bytes);
    }
}

fn find_labels(object: &Object<'_>, function: &Function) -> Labels {
    let mut labels = Labels::default();
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
                labels.insert(e.r_addend.get(), u32::from_le_bytes(*word));
            }
        }
    }
    labels
}
