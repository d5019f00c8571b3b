//! Line tables of the SASS view: `.debug_line` and `.nv_debug_line_sass`.
//!
//! Per unit of the inputs' SASS view: the header as the Mercury link patched it, with a new length; then the sequences of the functions
//! that are taken from this input, ascending by symbol number.

use super::Sass;
use super::code::{Function, Functions};
use super::dwarf::{line_units, moved_sequence};
use super::linked::{Linked, sass_entries};
use crate::emit::Parts;
use crate::ids::{ObjectId, SectionId};
use crate::names::State;
use crate::object::Object;
use cubin::raw::Rela;
use hashbrown::HashMap;
use std::borrow::Cow;

/// New offset of each unit of `.debug_line`: object and offset in its SASS view.
pub(super) type Units = HashMap<(ObjectId, u64), u64, State>;

const R_CUDA_64: u32 = 2;

/// Writes both tables; gives the places of the units of `.debug_line`.
pub(super) fn write(parts: &Parts<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, sass: &mut Sass) -> Units {
    let mut units = Units::default();
    for name in [&b".debug_line"[..], b".nv_debug_line_sass"] {
        let Some(id) = super::find(parts, name) else { continue };
        let mut table = Table {
            parts,
            code,
            out: Vec::new(),
            relocs: Vec::new(),
        };
        let mercury = linked.bytes[id].as_deref().unwrap_or_default();
        for object in parts.context.inputs.objects.iter() {
            let places = table.object(object, id, name, mercury);
            if name == b".debug_line" {
                units.extend(places.into_iter().map(|(from, to)| ((object.id, from), to)));
            }
        }
        sass.put_relocs(parts, id, &table.relocs);
        sass.put(id, table.out);
    }
    units
}

struct Table<'a, 'd> {
    parts: &'a Parts<'a, 'd>,
    code: &'a Functions<'a, 'd>,
    out: Vec<u8>,
    relocs: Vec<Rela>,
}

impl Table<'_, '_> {
    fn object(&mut self, object: &Object<'_>, id: SectionId, name: &[u8], mercury: &[u8]) -> Vec<(u64, u64)> {
        let mut places = Vec::new();
        let Some((number, section)) = object.sass.iter().enumerate().find(|(_, s)| s.name == name) else {
            return places;
        };
        let relocs = object.relocs.iter().find(|r| r.target == number as u32);
        let symbols: HashMap<u64, u32, State> = relocs
            .map_or(&[][..], |r| sass_entries(object, r.section))
            .iter()
            .map(|r| (r.r_offset.get(), r.r_sym.get()))
            .collect();
        let twin = object.section(number as u32).map_or(&[][..], |s| s.data);
        let twin_headers: Vec<_> = line_units(twin).into_iter().map(|u| u.header).collect();
        let base = self.parts.layout.m.placed[object.section_ref(number as u32)]
            .filter(|p| p.0 == id)
            .map(|p| p.1);
        for (i, unit) in line_units(section.data).into_iter().enumerate() {
            let mut sequences: Vec<(u32, Cow<'_, [u8]>, usize)> = Vec::new();
            let lengths = section.data.get(unit.header.start + 15..).unwrap_or_default();
            for (range, address) in &unit.sequences {
                let Some(address) = *address else { continue };
                if let Some((symbol, function)) = symbols.get(&(address as u64)).and_then(|&y| self.kept(object, y)) {
                    let bytes = section.data.get(range.clone()).unwrap_or_default();
                    let moved = if function.moved() {
                        moved_sequence(bytes, lengths, unit.special, |offset| function.place(offset))
                    } else {
                        None
                    };
                    let bytes = moved.map_or(Cow::Borrowed(bytes), Cow::Owned);
                    sequences.push((symbol, bytes, address - range.start));
                }
            }
            sequences.sort_by_key(|s| s.0);
            places.push((unit.header.start as u64, self.out.len() as u64));
            let patched = twin_headers
                .get(i)
                .filter(|h| h.len() == unit.header.len())
                .zip(base)
                .and_then(|(h, base)| mercury.get(base as usize + h.start..base as usize + h.end));
            let header = patched.or_else(|| section.data.get(unit.header.clone())).unwrap_or_default();
            self.unit(header, &sequences);
        }
        places
    }

    /// Number of a function whose sequence stays.
    fn kept(&self, object: &Object<'_>, symbol: u32) -> Option<(u32, &Function)> {
        let section = object.symbol(symbol).defined_in()?;
        let (_, function) = self.code.taken(self.parts, object, section)?;
        let f = self.parts.context.resolved.function(object.symbol_ref(symbol))?;
        let symbol = self.parts.layout.m.symbol_of[f]?;
        Some((self.parts.arranged.symbol_index(symbol), function))
    }

    fn unit(&mut self, header: &[u8], sequences: &[(u32, Cow<'_, [u8]>, usize)]) {
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
