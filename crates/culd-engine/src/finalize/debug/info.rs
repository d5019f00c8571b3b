//! Other debug sections of the SASS view.
//!
//! 1. Every code address in DWARF is a relocation against its function (`DW_AT_low_pc`, `DW_AT_high_pc`, lexical blocks, location lists): the bytes have none,
//!    so nothing in them is parsed. The addend is that of the input's SASS view, moved with the code.
//! 2. Addresses in information about another copy of the function (replaced or refused) have Mercury offsets of that copy. nvlink quirk: they are translated as if they
//!    referred to the prevailing code: to its first instruction at or after the offset, or to its end.
//! 3. `.debug_info`: references to line tables are filled in; a relocatable link keeps them, with the place of the SASS line table.
//! 4. `.nv_debug_info_reg_sass`: see [`registers`]. `.nv_debug_info_reg_type`: the inputs' one after the other.
//! 5. All others share the Mercury bytes; their relocations have SASS types.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::finalize::code::offsets::mercury_places;
use crate::finalize::code::sources::inputs;
use crate::finalize::debug::line::Units;
use crate::finalize::debug::registers;
use crate::finalize::linked::{Kept, Linked, sass_entries};
use crate::finalize::register_lists;
use crate::finalize::relocs::{relocation, sass_type};
use crate::finalize::sass::Sass;
use crate::ids::{ObjectId, SectionId};
use crate::names::SeededState;
use crate::records::Class;
use crate::records::SymbolTableEntry;
use cubin::layout::R_MERCURY_PROG_REL32;
use cubin::raw::Rela;
use cubin::reloc::MERCURY_CODE_ADDRESSES;
use hashbrown::HashMap;
use std::collections::BTreeMap;

const R_CUDA_32: u32 = 1;
const R_CUDA_64: u32 = 2;
const R_MERCURY_ABS32: u32 = 0x1_0003;
const R_MERCURY_G64: u32 = 0x1_0001;

/// Writes the sections.
pub(crate) fn write(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, units: &Units, sass: &mut Sass) {
    for &id in &output.arranged.sections {
        let s = &output.layout.records.sections[id];
        if !matches!(s.class, Class::Debug(_)) || sass.bytes[id].is_some() {
            continue;
        }
        match s.name.to_vec().as_slice() {
            b".debug_info" => Addresses::new(output, code, id).info(linked, units, sass),
            register_lists::NAME => sass.put(id, registers::ranges(output, code)),
            b".nv_debug_info_reg_type" => sass.put(id, joined(output, b".nv_debug_info_reg_type")),
            _ => Addresses::new(output, code, id).others(linked, sass),
        }
    }
}

fn plain_type(kind: u32) -> u32 {
    match kind {
        R_MERCURY_ABS32 | R_MERCURY_PROG_REL32 => R_CUDA_32,
        R_MERCURY_G64 => sass_type(kind),
        _ => R_CUDA_64,
    }
}

/// Addresses in one debug section.
struct Addresses<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    code: &'a Functions<'a, 'd>,
    id: SectionId,
    /// SASS relocations of the inputs, by offset in the output.
    twins: HashMap<u64, (ObjectId, Rela), SeededState>,
    /// SASS places of the Mercury instructions of functions that entries of other copies name.
    places: HashMap<SectionId, Option<Places>, SeededState>,
}

/// Where the Mercury instructions of a function are in the input's SASS.
struct Places {
    starts: BTreeMap<u64, u64>,
    /// Size of the Mercury code.
    size: u64,
}

impl Places {
    /// `None` if the places are not known.
    fn of(output: &OutputPlan<'_, '_>, function: &Function) -> Option<Self> {
        let object = output.link.inputs.objects.get(function.object)?;
        Some(Self {
            starts: mercury_places(object, function.section)?,
            size: object.section(function.section)?.size,
        })
    }

    /// The place of a Mercury offset in the linked code: that of the first instruction at or after it, else the end.
    fn translate(&self, function: &Function, offset: i64) -> i64 {
        let Ok(offset) = u64::try_from(offset) else { return 0 };
        let start = self.starts.range(offset..).next().filter(|_| offset < self.size);
        start.map_or(function.code.len() as u64, |(_, &sass)| function.place(sass)) as i64
    }
}

impl<'a, 'd> Addresses<'a, 'd> {
    fn new(output: &'a OutputPlan<'a, 'd>, code: &'a Functions<'a, 'd>, id: SectionId) -> Self {
        let mut twins = HashMap::default();
        for piece in output.layout.records.sections[id].pieces.as_slice() {
            let object = &output.link.inputs.objects[piece.object];
            for relocs in object.relocs.iter().filter(|r| r.target == piece.section) {
                for e in sass_entries(object, relocs.section) {
                    twins.insert(piece.base.wrapping_add(e.r_offset.get()), (object.id, *e));
                }
            }
        }
        Self {
            output,
            code,
            id,
            twins,
            places: HashMap::default(),
        }
    }

    /// The addend in the SASS view.
    fn addend(&mut self, k: &Kept) -> i64 {
        let twin = self.twins.get(&k.offset);
        let addend = twin.map_or(k.addend, |t| t.1.r_addend.get());
        let (SymbolTableEntry::Symbol(symbol), true) = (k.named, MERCURY_CODE_ADDRESSES.contains(&k.kind)) else {
            return addend;
        };
        let records = &self.output.layout.records;
        let text = records.symbols.get(symbol).and_then(|sym| records.functions[sym.function?].text);
        let Some((text, function)) = text.and_then(|t| Some((t, self.code.of(t)?))) else {
            return addend;
        };
        let object = twin.map(|t| &self.output.link.inputs.objects[t.0]);
        let own = twin
            .zip(object)
            .is_some_and(|((id, r), object)| *id == function.object && object.symbol(r.r_sym.get()).defined_in() == Some(function.section));
        if own {
            return u64::try_from(addend).map_or(addend, |offset| function.place(offset) as i64);
        }
        let places = self.places.entry(text).or_insert_with(|| Places::of(self.output, function));
        places
            .as_ref()
            .map_or(addend, |p| p.translate(function, k.addend))
            .min(function.code.len() as i64)
    }

    fn others(mut self, linked: &Linked, sass: &mut Sass) {
        let mut entries = Vec::new();
        for k in &linked.sections[self.id].kept {
            let addend = self.addend(k);
            let kind = if k.kind == R_MERCURY_ABS32 { R_CUDA_32 } else { R_CUDA_64 };
            entries.push(relocation(self.output, k, k.offset, kind, addend));
        }
        if !entries.is_empty() {
            sass.put_relocs(self.output, self.id, &entries);
        }
    }

    fn info(mut self, linked: &Linked, units: &Units, sass: &mut Sass) {
        let mut bytes = linked.sections[self.id].bytes.clone().unwrap_or_default();
        let mut entries = Vec::new();
        for k in &linked.sections[self.id].kept {
            let mut addend = self.addend(k);
            if k.kind == R_MERCURY_PROG_REL32 {
                let unit = self.twins.get(&k.offset).and_then(|t| units.get(&(t.0, addend as u64)));
                let unit = unit.copied().unwrap_or(0);
                if !self.output.link.mode.relocatable {
                    if let Some(field) = bytes.get_mut(k.offset as usize..).and_then(|b| b.first_chunk_mut::<4>()) {
                        *field = (unit as u32).to_le_bytes();
                    }
                    continue;
                }
                // A relocatable link leaves the reference to the next one, which moves the line tables again.
                addend = unit as i64;
            }
            entries.push(relocation(self.output, k, k.offset, plain_type(k.kind), addend));
        }
        sass.put_relocs(self.output, self.id, &entries);
        sass.put(self.id, bytes);
    }
}

fn joined(output: &OutputPlan<'_, '_>, name: &'static [u8]) -> Vec<u8> {
    inputs(output, name).flat_map(|(_, data)| data.iter().copied()).collect()
}
