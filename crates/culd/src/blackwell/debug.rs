//! Other debug sections of the SASS view.
//!
//! * `.debug_info`: the Mercury bytes with references to line tables filled in; code addresses have the addends of the inputs' SASS view.
//! * `.nv_debug_info_reg_sass`: see [`registers`].
//! * `.nv_debug_info_reg_type`: the inputs' one after the other.
//! * All others share the Mercury bytes; their relocations have SASS types.

use super::Sass;
use super::code::Functions;
use super::line::Units;
use super::linked::{Linked, sass_entries};
use super::registers;
use super::relocs::{relocation, sass_type};
use crate::emit::Parts;
use crate::ids::{ObjectId, SectionId};
use crate::merge::model::Class;
use crate::names::State;
use crate::object::Object;
use cubin::layout::R_MERCURY_PROG_REL32;
use cubin::raw::Rela;
use hashbrown::HashMap;

const R_CUDA_32: u32 = 1;
const R_CUDA_64: u32 = 2;
const R_MERCURY_ABS32: u32 = 0x1_0003;
const R_MERCURY_G64: u32 = 0x1_0001;

/// Writes the sections.
pub(super) fn write(parts: &Parts<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, units: &Units, sass: &mut Sass) {
    for &id in &parts.arranged.sections {
        let s = &parts.layout.m.sections[id];
        if !matches!(s.class, Class::Debug(_)) || sass.bytes[id].is_some() {
            continue;
        }
        match s.name.to_vec().as_slice() {
            b".debug_info" => info(parts, linked, id, units, sass),
            registers::NAME => sass.put(id, registers::ranges(parts, code)),
            b".nv_debug_info_reg_type" => sass.put(id, joined(parts, b".nv_debug_info_reg_type")),
            _ => others(parts, linked, id, sass),
        }
    }
}

fn plain_type(kind: u32) -> u32 {
    match kind {
        R_MERCURY_ABS32 => R_CUDA_32,
        R_MERCURY_G64 => sass_type(kind),
        _ => R_CUDA_64,
    }
}

fn others(parts: &Parts<'_, '_>, linked: &Linked, id: SectionId, sass: &mut Sass) {
    let entries: Vec<Rela> = linked.kept[id]
        .iter()
        .map(|k| {
            let addend = k.twin.map_or(k.addend, |t| t.r_addend.get());
            let kind = if k.kind == R_MERCURY_ABS32 { R_CUDA_32 } else { R_CUDA_64 };
            relocation(parts, k, k.offset, kind, addend)
        })
        .collect();
    if !entries.is_empty() {
        sass.put_relocs(parts, id, &entries);
    }
}

/// SASS relocations of all inputs in a section, by offset in the output.
fn input_relocations(parts: &Parts<'_, '_>, id: SectionId) -> HashMap<u64, (ObjectId, Rela), State> {
    let mut found = HashMap::default();
    for piece in parts.layout.m.sections[id].pieces.as_slice() {
        let object = &parts.context.inputs.objects[piece.object];
        for relocs in object.relocs.iter().filter(|r| r.target == piece.section) {
            for e in sass_entries(object, relocs.section) {
                found.insert(piece.base + e.r_offset.get(), (object.id, *e));
            }
        }
    }
    found
}

fn info(parts: &Parts<'_, '_>, linked: &Linked, id: SectionId, units: &Units, sass: &mut Sass) {
    let twins = input_relocations(parts, id);
    let mut bytes = linked.bytes[id].clone().unwrap_or_default();
    let mut entries = Vec::new();
    for k in &linked.kept[id] {
        let twin = twins.get(&k.offset);
        let addend = twin.map_or(k.addend, |t| t.1.r_addend.get());
        if k.kind != R_MERCURY_PROG_REL32 {
            entries.push(relocation(parts, k, k.offset, plain_type(k.kind), addend));
            continue;
        }
        let unit = twin.and_then(|t| units.get(&(t.0, addend as u64))).copied().unwrap_or(0);
        if let Some(field) = bytes.get_mut(k.offset as usize..).and_then(|b| b.first_chunk_mut::<4>()) {
            *field = (unit as u32).to_le_bytes();
        }
    }
    sass.put_relocs(parts, id, &entries);
    sass.put(id, bytes);
}

pub(super) fn inputs<'a, 'd>(parts: &'a Parts<'_, 'd>, name: &'static [u8]) -> impl Iterator<Item = (&'a Object<'d>, &'d [u8])> {
    let objects = parts.context.inputs.objects.iter();
    objects.filter_map(move |o| Some((o, o.sass.iter().find(|s| s.name == name)?.data)))
}

fn joined(parts: &Parts<'_, '_>, name: &'static [u8]) -> Vec<u8> {
    inputs(parts, name).flat_map(|(_, data)| data.iter().copied()).collect()
}
