//! Relocation sections of the output.
//!
//! 1. Slots of textures come first in the relocations of a parameter bank, offsets descending.
//! 2. Kept relocations are in reverse order of arrival: each reference gets the part before those that came before it, and its own
//!    entries are written from the back.
//! 3. `--preserve-relocs` lists what was patched, in reverse order of arrival, always with addends.
//!
//! Only offsets are computed here, as [`Chunk`]s; entries are made when their window is filled.

use super::chunks::Chunk;
use super::chunks::ChunkSource;
use super::chunks::place_of;
use crate::arrange::OutputPlan;
use crate::csr::GroupedLists;
use crate::ids::{FunctionId, Id, SectionId};
use crate::object::Object;
use crate::records::{RelocRef, SymbolTableEntry};
use crate::relocate::{Entry, RelocAction, RelocResolver};
use cubin::consts::*;
use cubin::raw::Rela;
use cubin::read::Relocations;
use cubin::reloc::{field_content, reloc_info};
use cubin::write::Plan;
use zerocopy::IntoBytes;

/// Size of an entry with addend.
const RELA: u64 = 24;
/// Size of an entry without.
const REL: u64 = 16;

/// Where the relocations of every reference go, in file order.
pub(super) fn places(output: &OutputPlan<'_, '_>, file: &Plan) -> Vec<Chunk<'static>> {
    let records = &output.layout.records;
    let mut units = Vec::with_capacity(records.relocs.len());
    // What is left of each section, from the back.
    let mut left: Vec<u64> = file.placements().iter().map(|place| place.size).collect();
    let mut take = |id: SectionId, wanted: u64| {
        let position = (output.arranged.section_index(id) as usize).checked_sub(1)?;
        let left = left.get_mut(position)?;
        let size = wanted.min(*left);
        *left -= size;
        Some((Position(position), file.placements().get(position)?.offset + *left, size))
    };
    for (reference, (r, plan)) in (0..).zip(records.relocs.iter().zip(&output.plan.refs)) {
        if let (true, Some(id)) = (plan.kept > 0, plan.destination) {
            let with_addends = plan.with_addends;
            let wanted = u64::from(plan.kept) * if with_addends { RELA } else { REL };
            units.extend(take(id, wanted).map(|(position, offset, size)| {
                let source = ChunkSource::Kept {
                    reference,
                    size,
                    with_addends,
                };
                (position, Chunk { offset, source })
            }));
        }
        if plan.listed > 0
            && let Some(id) = records.sections[r.target].companions[2]
        {
            units.extend(take(id, u64::from(plan.listed) * RELA).map(|(position, offset, size)| {
                let source = ChunkSource::Listed { reference, size };
                (position, Chunk { offset, source })
            }));
        }
    }
    // Sections are in file order, and what came last is first in its section.
    GroupedLists::newest_first(file.placements().len(), &units).into_items()
}

/// Position of an emitted section.
#[derive(Clone, Copy)]
struct Position(usize);

impl Id for Position {
    fn from_index(index: usize) -> Self {
        Position(index)
    }
    fn index(self) -> usize {
        self.0
    }
}

/// Writes the kept relocations of a reference.
pub(super) fn fill_kept(output: &OutputPlan<'_, '_>, resolver: &RelocResolver<'_, '_>, r: &RelocRef, with_addends: bool, place: &mut [u8]) {
    let object = &output.link.inputs.objects[r.object];
    let mut slots = place.rchunks_exact_mut(if with_addends { RELA } else { REL } as usize);
    resolver.for_each(object, r, output.plan.meanings(r.object), |e, decision| {
        let (kind, symbol, addend) = match decision {
            RelocAction::Keep(kind, symbol) => (kind, output.arranged.symbol_index(symbol), e.addend),
            RelocAction::KeepSection(kind, section, addend) => {
                (kind, output.arranged.named_index(SymbolTableEntry::Section(section)), addend)
            }
            _ => return,
        };
        let Some(slot) = slots.next() else { return };
        let implicit = if with_addends { implicit_addend(object, r, e) } else { None };
        put(slot, e.offset, kind, symbol, implicit.unwrap_or(addend));
    });
}

/// `--force-rela`: the addend of an entry that was read without one is what its field holds.
fn implicit_addend(object: &Object<'_>, r: &RelocRef, e: Entry) -> Option<i64> {
    let relocs = object.relocs.get(r.index as usize)?;
    let Relocations::Rel(list) = relocs.entries else { return None };
    let offset = usize::try_from(list.get(e.index as usize)?.r_offset.get()).ok()?;
    let bytes = object.section(relocs.target)?.data.get(offset..)?;
    let field = reloc_info(e.kind)?.fields.first()?;
    field_content(field, bytes).map(|content| content as i64)
}

/// Writes the list of a reference's resolved relocations.
pub(super) fn fill_listed(output: &OutputPlan<'_, '_>, resolver: &RelocResolver<'_, '_>, r: &RelocRef, place: &mut [u8]) {
    let object = &output.link.inputs.objects[r.object];
    let mut slots = place.rchunks_exact_mut(RELA as usize);
    resolver.for_each(object, r, output.plan.meanings(r.object), |e, decision| {
        if let RelocAction::Patch(_, _, _, Some((named, addend))) = decision
            && let Some(slot) = slots.next()
        {
            let symbol = named.map_or(0, |named| output.arranged.named_index(named));
            put(slot, e.offset, e.kind, symbol, addend);
        }
    });
}

fn put(slot: &mut [u8], offset: u64, kind: u32, symbol: u32, addend: i64) {
    let entry = Rela {
        r_offset: offset.into(),
        r_type: kind.into(),
        r_sym: symbol.into(),
        r_addend: addend.into(),
    };
    let size = slot.len();
    slot.copy_from_slice(entry.as_bytes().get(..size).unwrap_or_default());
}

/// Entries for texture slots, offsets descending: for each kind of kernel, distinguished by what it leaves out and by its code section if it
/// has such parameters.
pub(super) struct TextureEntries(Vec<(TextureKey, Vec<u8>)>);

/// What the entries of a kernel depend on.
type TextureKey = (Option<u8>, Option<SectionId>);

/// Texture slots, as they are in the relocations of parameter banks.
pub(super) fn textures(output: &OutputPlan<'_, '_>) -> TextureEntries {
    let mut keys: Vec<TextureKey> = output.layout.textures.kernels.iter().map(|&t| texture_key(output, t)).collect();
    keys.sort_unstable();
    keys.dedup();
    TextureEntries(keys.into_iter().map(|key| (key, texture_entries(output, key))).collect())
}

fn texture_key(output: &OutputPlan<'_, '_>, (kernel, left_out): (FunctionId, Option<u8>)) -> TextureKey {
    let records = &output.layout.records;
    let owns = |text: &SectionId| {
        output
            .layout
            .textures
            .slots
            .iter()
            .any(|&(sym, _)| records.symbols[sym].section == Some(*text))
    };
    (left_out, records.functions[kernel].text.filter(owns))
}

fn texture_entries(output: &OutputPlan<'_, '_>, (left_out, text): TextureKey) -> Vec<u8> {
    let records = &output.layout.records;
    let size = if output.link.mode.force_rela { RELA } else { REL } as usize;
    let mut bytes = Vec::new();
    for (sym, offset) in output.layout.textures.slots_of(records, (text, left_out)).rev() {
        let kind: u32 = match records.symbols[sym].kind {
            STT_CUDA_TEXTURE => 6,
            STT_CUDA_SAMPLER => 7,
            _ => 52,
        };
        let at = bytes.len();
        bytes.resize(at + size, 0);
        if let Some(slot) = bytes.get_mut(at..) {
            put(slot, offset, kind, output.arranged.symbol_index(sym), 0);
        }
    }
    bytes
}

/// Where texture slots go: all entries, or as many as the section has room for, before the relocations of every parameter bank.
pub(super) fn texture_places<'a>(output: &OutputPlan<'_, '_>, file: &Plan, entries: &'a TextureEntries, units: &mut Vec<Chunk<'a>>) {
    for &kernel in &output.layout.textures.kernels {
        let bank = output.layout.records.functions[kernel.0]
            .parameters
            .map(|id| &output.layout.records.sections[id]);
        let list = bank.and_then(|s| s.slot_relocs).and_then(|list| place_of(output, file, list));
        let key = texture_key(output, kernel);
        if let (Some(place), Some((_, bytes))) = (list, entries.0.iter().find(|e| e.0 == key)) {
            let size = bytes.len().min(place.size as usize);
            units.push(Chunk {
                offset: place.offset,
                source: ChunkSource::Bytes(bytes.get(..size).unwrap_or_default()),
            });
        }
    }
}
