//! Relocation sections of the output.
//!
//! 1. All relocation sections lie side by side, so one block of memory holds them.
//! 2. Slots of textures come first in the relocations of a parameter bank, offsets descending.
//! 3. Kept relocations stand in reverse order of arrival: each reference gets the part in front of those that came before it, and its own
//!    entries are written from the back.
//! 4. `--preserve-relocs` lists what was patched, in reverse order of arrival, always with addends.

use super::{Parts, Placement};
use crate::ids::{SectionId, Table};
use crate::merge::model::Class;
use crate::relocate::{Decider, Decision, destination};
use cubin::consts::*;
use cubin::raw::Rela;
use rayon::prelude::*;
use zerocopy::IntoBytes;

/// The bytes of all relocation sections.
pub(super) struct Block {
    /// Offset in the image.
    pub(super) offset: u64,
    /// Bytes, gaps included.
    pub(super) bytes: Vec<u8>,
}

/// Part of the block that one reference fills.
struct Part<'b> {
    reference: usize,
    entry_size: usize,
    place: &'b mut [u8],
}

/// Fills the relocation sections.
pub(super) fn block(parts: &Parts<'_, '_>, places: &[Placement], decider: &Decider<'_, '_>) -> Block {
    let m = &parts.layout.m;
    let sections = parts.arranged.sections.iter().zip(places);
    let of_block: Vec<(SectionId, &Placement)> = sections
        .map(|(&id, place)| (id, place))
        .filter(|(id, _)| matches!(m.sections[*id].class, Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_)))
        .collect();
    let (Some((_, first)), Some((_, last))) = (of_block.first(), of_block.last()) else {
        return Block {
            offset: 0,
            bytes: Vec::new(),
        };
    };
    let offset = first.offset;
    let mut bytes = vec![0u8; (last.offset + last.size - offset) as usize];
    let mut slices: Table<SectionId, &mut [u8]> = Table::new();
    slices.grow_with(m.sections.len(), || &mut []);
    let (mut rest, mut at) = (bytes.as_mut_slice(), offset);
    for &(id, place) in &of_block {
        let gap = place.offset.saturating_sub(at) as usize;
        let (_, tail) = std::mem::take(&mut rest).split_at_mut_checked(gap).unwrap_or_default();
        let (mine, tail) = tail.split_at_mut_checked(place.size as usize).unwrap_or_default();
        (rest, at) = (tail, place.offset + place.size);
        slices[id] = mine;
    }
    textures(parts, &mut slices);
    if parts.context.mode.preserve {
        list_resolved(parts, decider, &mut slices);
    }
    let mut jobs = cut(parts, &mut slices);
    let work = jobs.iter().map(|j| j.place.len()).sum();
    if crate::par::worth(work, parts.context.options.threads) {
        jobs.par_iter_mut().for_each(|job| job.fill(parts, decider));
    } else {
        jobs.iter_mut().for_each(|job| job.fill(parts, decider));
    }
    Block { offset, bytes }
}

/// Cuts the sections into the references' parts, from the back.
fn cut<'b>(parts: &Parts<'_, '_>, slices: &mut Table<SectionId, &'b mut [u8]>) -> Vec<Part<'b>> {
    let force = parts.context.mode.force_rela;
    let mut jobs = Vec::new();
    for (reference, (r, plan)) in parts.layout.m.relocs.iter().zip(&parts.plan.refs).enumerate() {
        let relocs = parts.context.inputs.objects[r.object].relocs.get(r.index as usize);
        let (Some(relocs), true) = (relocs, plan.kept > 0) else { continue };
        let Some(id) = destination(parts.layout, relocs, r, force) else {
            continue;
        };
        let entry_size = if relocs.is_rela() || force { 24 } else { 16 };
        let all = std::mem::take(&mut slices[id]);
        let at = all.len().saturating_sub(plan.kept as usize * entry_size);
        let (front, place) = all.split_at_mut_checked(at).unwrap_or_default();
        slices[id] = front;
        jobs.push(Part {
            reference,
            entry_size,
            place,
        });
    }
    jobs
}

impl Part<'_> {
    fn fill(&mut self, parts: &Parts<'_, '_>, decider: &Decider<'_, '_>) {
        let Some(r) = parts.layout.m.relocs.get(self.reference) else {
            return;
        };
        let object = &parts.context.inputs.objects[r.object];
        let mut slots = self.place.rchunks_exact_mut(self.entry_size);
        decider.for_each(object, r, parts.plan.meanings(r.object), |e, decision| {
            if let Decision::Keep(kind, symbol) = decision
                && let Some(slot) = slots.next()
            {
                put(slot, e.offset, kind, parts.arranged.symbol_index(symbol), e.addend);
            }
        });
    }
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

/// Texture slots of the parameter banks: one entry per slot, offsets descending.
fn textures(parts: &Parts<'_, '_>, slices: &mut Table<SectionId, &mut [u8]>) {
    let m = &parts.layout.m;
    let rela = usize::from(parts.context.mode.force_rela);
    let entry_size = if rela == 1 { 24 } else { 16 };
    for &id in &parts.arranged.sections {
        let s = &m.sections[id];
        let (Class::Parameters, Some(list)) = (s.class, s.companions[rela]) else {
            continue;
        };
        let slots = parts.layout.textures.slots.iter().rev();
        for (slot, &(y, offset)) in slices[list].chunks_exact_mut(entry_size).zip(slots) {
            let kind: u32 = match m.symbols[y].kind {
                STT_CUDA_TEXTURE => 6,
                STT_CUDA_SAMPLER => 7,
                _ => 52,
            };
            put(slot, offset, kind, parts.arranged.symbol_index(y), 0);
        }
    }
}

fn list_resolved(parts: &Parts<'_, '_>, decider: &Decider<'_, '_>, slices: &mut Table<SectionId, &mut [u8]>) {
    for r in &parts.layout.m.relocs {
        let Some(id) = parts.layout.m.sections[r.target].companions[2] else {
            continue;
        };
        let object = &parts.context.inputs.objects[r.object];
        let mut rest = std::mem::take(&mut slices[id]);
        decider.for_each(object, r, parts.plan.meanings(r.object), |e, decision| {
            let Decision::Patch(_, _, _, Some((named, addend))) = decision else {
                return;
            };
            let all = std::mem::take(&mut rest);
            let at = all.len().saturating_sub(24);
            let (front, slot) = all.split_at_mut_checked(at).unwrap_or_default();
            rest = front;
            if slot.len() == 24 {
                put(slot, e.offset, e.kind, parts.arranged.named_index(named), addend);
            }
        });
        slices[id] = rest;
    }
}
