//! Line tables of the SASS view: `.debug_line` and `.nv_debug_line_sass`.
//!
//! Per unit of the inputs' SASS view: the header as the Mercury link patched it, with a new length; then the sequences of the functions
//! that are taken from this input, ascending by symbol number.
//!
//! nvlink quirk: a copy that was replaced later has a sequence too if the Mercury link kept its relocation: that of its Mercury code,
//! translated as if it were the prevailing code.
//!
//! nvlink quirk: of the stubs of unified functions only that of the first slot has a range, to the end of the table; the others' sequences
//! have one row and end where they start.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::finalize::code::offsets::mercury_places;
use crate::finalize::debug::dwarf::line::{ADDRESS, LineUnit, line_rows, line_units, moved_sequence};
use crate::finalize::linked::{Linked, sass_entries};
use crate::finalize::sass::Sass;
use crate::ids::{ObjectId, SectionId};
use crate::names::SeededState;
use crate::object::Object;
use crate::records::SymbolTableEntry;
use cubin::raw::Rela;
use hashbrown::HashMap;
use std::borrow::Cow;

/// New offset of each unit of `.debug_line`: object and offset in its SASS view.
pub(crate) type Units = HashMap<(ObjectId, u64), u64, SeededState>;

const R_CUDA_64: u32 = 2;

/// Writes both tables; gives the places of the units of `.debug_line`.
pub(crate) fn write(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, sass: &mut Sass) -> Units {
    let mut units = Units::default();
    for name in [&b".debug_line"[..], b".nv_debug_line_sass"] {
        let Some(id) = crate::finalize::sass::find(output, name) else {
            continue;
        };
        let mut table = Table {
            output,
            code,
            out: Vec::new(),
            relocs: Vec::new(),
        };
        let mercury = Mercury {
            id,
            bytes: linked.sections[id].bytes.as_deref().unwrap_or_default(),
            named: linked.sections[id].kept.iter().map(|k| (k.offset, k.named)).collect(),
        };
        for object in output.link.inputs.objects.iter() {
            let places = table.object(object, name, &mercury);
            if name == b".debug_line" {
                units.extend(places.into_iter().map(|(from, to)| ((object.id, from), to)));
            }
        }
        sass.put_relocs(output, id, &table.relocs);
        sass.put(id, table.out);
    }
    units
}

struct Table<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    code: &'a Functions<'a, 'd>,
    out: Vec<u8>,
    relocs: Vec<Rela>,
}

/// The table in the linked Mercury view.
struct Mercury<'a> {
    id: SectionId,
    bytes: &'a [u8],
    /// Functions by the offset of their address.
    named: HashMap<u64, SymbolTableEntry, SeededState>,
}

/// A sequence: number of the function's symbol, bytes, offset of the address in them.
type Sequence<'d> = (u32, Cow<'d, [u8]>, usize);

impl Table<'_, '_> {
    fn object(&mut self, object: &Object<'_>, name: &[u8], mercury: &Mercury<'_>) -> Vec<(u64, u64)> {
        let mut places = Vec::new();
        let Some((number, section)) = object.sass.iter().enumerate().find(|(_, s)| s.name == name) else {
            return places;
        };
        let relocs = object.relocs.iter().find(|r| r.target == number as u32);
        let symbols: HashMap<u64, u32, SeededState> = relocs
            .map_or(&[][..], |r| sass_entries(object, r.section))
            .iter()
            .map(|r| (r.r_offset.get(), r.r_sym.get()))
            .collect();
        let twin = object.section(number as u32).map_or(&[][..], |s| s.data);
        let twins = line_units(twin);
        let base = self.output.layout.records.placement.sections[object.section_ref(number as u32)]
            .filter(|p| p.0 == mercury.id)
            .map(|p| p.1);
        for (i, unit) in line_units(section.data).into_iter().enumerate() {
            let mut sequences: Vec<Sequence<'_>> = Vec::new();
            let lengths = section.data.get(unit.header.start + 15..).unwrap_or_default();
            for (range, address) in &unit.sequences {
                let Some(address) = *address else { continue };
                let Some(&symbol) = symbols.get(&(address as u64)) else { continue };
                let bytes = section.data.get(range.clone()).unwrap_or_default();
                if let Some((number, size)) = self.stub(object, symbol) {
                    let start = line_rows(bytes, lengths, unit.special).and_then(|rows| unit.special.start(&rows, size));
                    sequences.extend(start.map(|b| (number, Cow::Owned(b), ADDRESS)));
                } else if let Some((symbol, function)) = self.kept(object, symbol) {
                    let moved = if function.moved() {
                        moved_sequence(bytes, lengths, unit.special, |offset| function.place(offset))
                    } else {
                        None
                    };
                    let bytes = moved.map_or(Cow::Borrowed(bytes), Cow::Owned);
                    sequences.push((symbol, bytes, address - range.start));
                }
            }
            if let Some((twin_unit, base)) = twins.get(i).zip(base) {
                self.replaced(object, twin, twin_unit, mercury, base, &mut sequences);
            }
            sequences.sort_by_key(|s| s.0);
            places.push((unit.header.start as u64, self.out.len() as u64));
            let patched = twins
                .get(i)
                .map(|u| &u.header)
                .filter(|h| h.len() == unit.header.len())
                .zip(base)
                .and_then(|(h, base)| mercury.bytes.get(base as usize + h.start..base as usize + h.end));
            let header = patched.or_else(|| section.data.get(unit.header.clone())).unwrap_or_default();
            self.unit(header, &sequences);
        }
        places
    }

    /// Sequences of copies that were replaced: those of the Mercury view, with the places of the prevailing code.
    fn replaced(&self, object: &Object<'_>, data: &[u8], unit: &LineUnit, mercury: &Mercury<'_>, base: u64, out: &mut Vec<Sequence<'_>>) {
        let records = &self.output.layout.records;
        for (range, address) in &unit.sequences {
            let Some(address) = *address else { continue };
            let Some(&SymbolTableEntry::Symbol(symbol)) = mercury.named.get(&base.saturating_add(address as u64)) else {
                continue;
            };
            // A damaged object may name a symbol that does not exist.
            let Some(record) = records.symbols.get(symbol) else { continue };
            let text = record
                .function
                .map(|f| &records.functions[f])
                .filter(|f| f.stub_offset.is_none())
                .and_then(|f| f.text);
            let Some(function) = text.and_then(|t| self.code.of(t)).filter(|f| f.object != object.id) else {
                continue;
            };
            let lengths = data.get(unit.header.start + 15..).unwrap_or_default();
            let rows = line_rows(data.get(range.clone()).unwrap_or_default(), lengths, unit.special);
            let inputs = &self.output.link.inputs.objects;
            let places = inputs.get(function.object).and_then(|o| mercury_places(o, function.section));
            let Some((rows, places)) = rows.zip(places) else { continue };
            let places = places.range(..record.size).map(|(&mercury, &sass)| (mercury, function.place(sass)));
            let bytes = unit.special.sequence(&rows, places, function.code.len() as u64);
            let number = self.output.arranged.symbol_index(symbol);
            out.extend(bytes.map(|b| (number, Cow::Owned(b), ADDRESS)));
        }
    }

    /// Number of a stub of a unified function, and the size of its sequence.
    fn stub(&self, object: &Object<'_>, symbol: u32) -> Option<(u32, u64)> {
        let table = self.code.stubs.as_ref()?;
        let f = self.output.link.resolved.function(object.symbol_ref(symbol))?;
        let stubs = &self.output.layout.records.unified.stubs;
        let stub = stubs.iter().find(|s| s.function == f && s.object == object.id)?;
        let size = if stub.offset == 0 { table.code.len() as u64 } else { 0 };
        Some((self.output.arranged.symbol_index(self.output.layout.records.symbol_of[f]?), size))
    }

    /// Number of a function whose sequence stays.
    fn kept(&self, object: &Object<'_>, symbol: u32) -> Option<(u32, &Function)> {
        let section = object.symbol(symbol).defined_in()?;
        let (_, function) = self.code.taken(self.output, object, section)?;
        let f = self.output.link.resolved.function(object.symbol_ref(symbol))?;
        let symbol = self.output.layout.records.symbol_of[f]?;
        Some((self.output.arranged.symbol_index(symbol), function))
    }

    fn unit(&mut self, header: &[u8], sequences: &[Sequence<'_>]) {
        let body: usize = sequences.iter().map(|s| s.1.len()).sum();
        let length = (header.len() + body).saturating_sub(4) as u32;
        self.out.extend_from_slice(&length.to_le_bytes());
        self.out.extend_from_slice(header.get(4..).unwrap_or_default());
        for (symbol, bytes, address) in sequences {
            self.relocs.push(Rela {
                r_offset: ((self.out.len() + *address) as u64).into(),
                r_type: R_CUDA_64.into(),
                r_sym: (*symbol).into(),
                r_addend: 0.into(),
            });
            self.out.extend_from_slice(bytes);
        }
    }
}
