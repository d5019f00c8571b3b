//! `.debug_frame` of the SASS view.
//!
//! 1. Every FDE of the linked Mercury view that still has its address: the input's own SASS CIE and FDE of the prevailing function, with
//!    new CIE offset and range. Those of dead and replaced functions are dropped.
//! 2. Several FDEs of one function (a replaced copy left one): the first has the Mercury CIE before it, in SASS units, and becomes the
//!    union of their programs: positions in Mercury code, translated; a later entry of a position replaces an earlier one; positions where
//!    no instruction starts are lost. Each further one is the Mercury CIE and an empty FDE with the Mercury range.
//!    So are the FDEs of stubs of unified functions, but for the one in the first slot.
//! 3. A function inside of a kernel (`-ewp`) has an FDE whose address is the kernel's with an addend, and a CIE that has the kernel's address:
//!    those of the input's SASS view, found by the value that its symbol has there.
//! 4. Advances move with deleted instructions.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::finalize::code::sources::Source;
use crate::finalize::code::stubs::Stubs;
use crate::finalize::debug::dwarf::{FDE_ADDRESS, FDE_PROGRAM, FrameEntry, FrameOp, frame_entries, frame_ops};
use crate::finalize::linked::{Kept, Linked, sass_entries};
use crate::finalize::relocs::relocation;
use crate::finalize::sass::Sass;
use crate::ids::{FunctionId, ObjectId, SectionId, Table};
use crate::names::SeededState;
use crate::object::Object;
use crate::options::Identity;
use crate::records::SymbolTableEntry;
use cubin::consts::STT_FUNC;
use cubin::raw::Rela;
use hashbrown::{HashMap, HashSet};
use std::ops::Range;

/// SASS type of an address.
const R_CUDA_64: u32 = 2;
/// Advances in SASS programs count in these units.
const UNIT: u64 = 4;
/// Place of the unit in a CIE: after the length, the mark, the version and an empty augmentation.
const CIE_UNIT: usize = 22;

/// A place in the code of an input: code section, offset in it.
type Place = (u32, u64);

/// CIE and FDE of a function.
type InputFrame<'d> = (&'d [u8], &'d [u8]);

/// Frames of an input.
#[derive(Default)]
struct InputFrames<'d> {
    /// CIE and FDE of each function, by place in the SASS view.
    of: HashMap<Place, InputFrame<'d>, SeededState>,
    /// Where functions inside of kernels start: place in the Mercury view, offset in the SASS view.
    starts: HashMap<Place, u64, SeededState>,
}

/// Writes the section and its relocations.
pub(crate) fn write(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, sass: &mut Sass) {
    let Some(id) = crate::finalize::sass::find(output, b".debug_frame") else {
        return;
    };
    let mercury = linked.bytes[id].as_deref().unwrap_or_default();
    let entries = frame_entries(mercury);
    let mut frame = Frame {
        output,
        code,
        mercury,
        entries: &entries,
        kept: linked.kept[id].iter().map(|k| (k.offset, k)).collect(),
        of_function: HashMap::default(),
        inputs: output
            .link
            .threads
            .map(output.link.inputs.objects.as_slice(), |object| {
                input_frames(object, code.sources.of(object.id))
            })
            .into(),
        done: HashSet::default(),
        out: Vec::new(),
        places: HashMap::default(),
    };
    frame.build();
    let Frame { out, places, .. } = frame;
    let moved = |k: &Kept| {
        let &(place, addend) = places.get(&k.offset)?;
        Some(relocation(output, k, place, R_CUDA_64, addend))
    };
    let entries: Vec<Rela> = linked.kept[id].iter().filter_map(moved).collect();
    sass.put_relocs(output, id, &entries);
    sass.put(id, out);
}

struct Frame<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    code: &'a Functions<'a, 'd>,
    mercury: &'a [u8],
    entries: &'a [FrameEntry],
    kept: HashMap<u64, &'a Kept, SeededState>,
    /// FDEs of each function.
    of_function: HashMap<FunctionId, Vec<&'a FrameEntry>, SeededState>,
    /// Frames of the inputs, those of objects without prevailing functions too.
    inputs: Table<ObjectId, InputFrames<'d>>,
    done: HashSet<FunctionId, SeededState>,
    out: Vec<u8>,
    /// New places and addends of addresses.
    places: HashMap<u64, (u64, i64), SeededState>,
}

impl<'a, 'd> Frame<'a, 'd> {
    fn build(&mut self) {
        for entry in self.entries.iter().filter(|e| e.fde.is_some()) {
            let address = (entry.range.start + FDE_ADDRESS) as u64;
            if let Some((f, _)) = self.function_at(address).filter(|_| self.inner_at(address).is_none()) {
                self.of_function.entry(f).or_default().push(entry);
            }
        }
        let mut cie: &[u8] = &[];
        let mut cie_place = 0..0;
        for entry in self.entries {
            let Some(range) = entry.fde else {
                cie = self.mercury.get(entry.range.clone()).unwrap_or_default();
                cie_place = entry.range.clone();
                continue;
            };
            let address = (entry.range.start + FDE_ADDRESS) as u64;
            let Some((f, text)) = self.function_at(address) else { continue };
            if let Some(addend) = self.inner_at(address) {
                self.inner(text, addend, address, cie_place.clone());
                continue;
            }
            let later_stub = self
                .code
                .stubs_in(self.output, text)
                .is_some_and(|s| s.first().is_none_or(|s| s.function != f));
            let start = if self.done.insert(f) && !later_stub {
                self.first(f, text, cie)
            } else {
                Some(self.append(cie, 0..range, &[0; 4]))
            };
            if let Some(start) = start {
                let addend = self.kept.get(&address).map_or(0, |k| k.addend);
                self.places.insert(address, (start, addend));
            }
        }
    }

    /// The function that an FDE's address belongs to.
    fn function_at(&self, address: u64) -> Option<(FunctionId, SectionId)> {
        let SymbolTableEntry::Symbol(sym) = self.kept.get(&address)?.named else {
            return None;
        };
        let f = self.output.layout.records.symbols.get(sym)?.function?;
        Some((f, self.output.layout.records.functions[f].text?))
    }

    /// Offset in Mercury code of the function inside of a kernel that an FDE's address belongs to.
    fn inner_at(&self, address: u64) -> Option<u64> {
        let addend = u64::try_from(self.kept.get(&address)?.addend).ok()?;
        (addend != 0).then_some(addend)
    }

    /// The FDE of a function inside of a kernel. Nothing is written for one that the input's SASS view does not have.
    fn inner(&mut self, text: SectionId, mercury: u64, address: u64, mercury_cie: Range<usize>) -> Option<()> {
        let function = self.code.of(text)?;
        let object = &self.output.link.inputs.objects[function.object];
        let frames = &self.inputs[object.id];
        let start = *frames.starts.get(&(function.section, mercury))?;
        let &(cie, fde) = frames.of.get(&(function.section, start))?;
        let range = inner_range(function, object, start, fde)?;
        let copies = self
            .code
            .copies
            .of(text)
            .filter(|_| self.output.link.options.identity == Identity::Nvlink);
        let range = copies.map_or(range, |c| c.end(function, start).saturating_sub(function.place(start)));
        let program = moved(function, start, fde.get(FDE_PROGRAM..)?);
        let at = self.out.len();
        let place = self.append(cie, function.place(start)..function.place(start) + range, &program);
        self.places.insert(address, (place, function.place(start) as i64));
        for offset in mercury_cie.clone() {
            if let Some(k) = self.kept.get(&(offset as u64)) {
                let place = at + (offset - mercury_cie.start);
                self.places.insert(offset as u64, (place as u64, k.addend));
            }
        }
        Some(())
    }

    /// Appends a CIE and an FDE; gives the place of its address.
    fn append(&mut self, cie: &[u8], code: Range<u64>, program: &[u8]) -> u64 {
        let at = self.out.len() as u64;
        self.out.extend_from_slice(cie);
        let fde = self.out.len();
        self.out.extend_from_slice(&u32::MAX.to_le_bytes());
        for word in [24 + program.len() as u64, at, code.start, code.end - code.start] {
            self.out.extend_from_slice(&word.to_le_bytes());
        }
        self.out.extend_from_slice(program);
        (fde + FDE_ADDRESS) as u64
    }

    /// The function's first FDE. `mercury_cie` is before it in the Mercury view.
    fn first(&mut self, f: FunctionId, text: SectionId, mercury_cie: &[u8]) -> Option<u64> {
        let function = self.code.of(text)?;
        let object = &self.output.link.inputs.objects[function.object];
        let frames = &self.inputs[object.id];
        let &(cie, fde) = frames.of.get(&(function.section, 0))?;
        let own = fde.get(FDE_PROGRAM..)?;
        let all = self.of_function.get(&f).filter(|all| all.len() > 1);
        let Some(all) = all else {
            let stubs = self.code.stubs_in(self.output, text).map(Stubs::first_range);
            let inner = || inner_range(function, object, 0, fde).filter(|_| object.has_inner_functions);
            let range = stubs.or_else(inner).unwrap_or(function.code.len() as u64);
            return Some(self.append(cie, 0..range, &moved(function, 0, own)));
        };
        let program = self.union(function, object, all).unwrap_or_else(|| moved(function, 0, own));
        Some(self.append(&in_sass_units(mercury_cie), 0..function.code.len() as u64, &program))
    }

    /// The union of several programs, in SASS positions; `None` if something is not known.
    fn union(&self, function: &Function, object: &Object<'d>, all: &[&FrameEntry]) -> Option<Vec<u8>> {
        let places = crate::finalize::code::offsets::mercury_places(object, function.section)?;
        let mut rules: std::collections::BTreeMap<u64, Vec<u8>> = std::collections::BTreeMap::new();
        for entry in all {
            let program = self.mercury.get(entry.range.start + FDE_PROGRAM..entry.range.end)?;
            for (position, rule) in positions(program)? {
                if let Some(&place) = places.get(&position) {
                    rules.insert(function.place(place), rule);
                }
            }
        }
        let mut program = Vec::new();
        let mut at = 0;
        for (place, rule) in rules {
            if place > at {
                program.push(4);
                program.extend_from_slice(&(((place - at) / UNIT) as u32).to_le_bytes());
                at = place;
            }
            program.extend_from_slice(&rule);
        }
        let size = (FDE_PROGRAM + program.len()).next_multiple_of(8) - FDE_PROGRAM;
        program.resize(size, 0);
        Some(program)
    }
}

/// A Mercury CIE as the SASS view has it.
fn in_sass_units(cie: &[u8]) -> Vec<u8> {
    let mut cie = cie.to_vec();
    if let Some(unit) = cie.get_mut(CIE_UNIT) {
        *unit = UNIT as u8;
    }
    cie
}

/// Rules by position; a trailing advance is a position without rule.
fn positions(program: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut list: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut position, mut advanced) = (0u64, false);
    for op in frame_ops(program)? {
        match op {
            FrameOp::Advance { delta, .. } => {
                position = position.wrapping_add_signed(delta.into());
                advanced = true;
            }
            FrameOp::Rule(range) => {
                let bytes = program.get(range)?;
                match list.last_mut().filter(|_| !advanced) {
                    Some(last) => last.1.extend_from_slice(bytes),
                    None => list.push((position, bytes.to_vec())),
                }
                advanced = false;
            }
        }
    }
    if advanced {
        list.push((position, Vec::new()));
    }
    Some(list)
}

/// Size of a function in a section with several: up to where the input's ends.
fn inner_range(function: &Function, object: &Object<'_>, start: u64, fde: &[u8]) -> Option<u64> {
    let range = fde.get(FDE_ADDRESS + 8..)?.first_chunk().map(|b| u64::from_le_bytes(*b))?;
    let end = start.checked_add(range)?;
    let size = object.sass.get(function.section as usize)?.data.len() as u64;
    let end = if end < size {
        function.place(end)
    } else {
        function.code.len() as u64
    };
    end.checked_sub(function.place(start))
}

/// The program of code that starts at `start` with its positions moved.
fn moved(function: &Function, start: u64, program: &[u8]) -> Vec<u8> {
    let mut out = program.to_vec();
    let (mut old, mut new) = (start, function.place(start));
    for op in frame_ops(program).filter(|_| function.moved()).unwrap_or_default() {
        let FrameOp::Advance { delta, at } = op else { continue };
        old = old.wrapping_add_signed(i64::from(delta) * UNIT as i64);
        let place = function.place(old);
        let delta = (place.wrapping_sub(new) / UNIT) as u32;
        new = place;
        if let Some(field) = out.get_mut(at..).and_then(|b| b.first_chunk_mut::<4>()) {
            *field = delta.to_le_bytes();
        }
    }
    out
}

fn input_frames<'d>(object: &Object<'d>, source: &Source<'_, 'd>) -> InputFrames<'d> {
    let mut frames = InputFrames::default();
    if object.has_inner_functions {
        for i in object.symbols_of(&[STT_FUNC]) {
            let mercury = object.symbol(i);
            if let (Some(text), Some(sass)) = (mercury.defined_in(), source.inner_symbol(i)) {
                frames.starts.insert((text, mercury.value), sass.st_value.get());
            }
        }
    }
    let Some((number, section)) = object.sass.iter().enumerate().find(|(_, s)| s.name == b".debug_frame") else {
        return frames;
    };
    let relocs = object.relocs.iter().find(|r| r.target == number as u32);
    let addresses: HashMap<u64, (u32, i64), SeededState> = relocs
        .map_or(&[][..], |r| sass_entries(object, r.section))
        .iter()
        .map(|r| (r.r_offset.get(), (r.r_sym.get(), r.r_addend.get())))
        .collect();
    let mut cie: &[u8] = &[];
    for entry in frame_entries(section.data) {
        let bytes = section.data.get(entry.range.clone()).unwrap_or_default();
        if entry.fde.is_none() {
            cie = bytes;
            continue;
        }
        let Some(&(symbol, addend)) = addresses.get(&((entry.range.start + FDE_ADDRESS) as u64)) else {
            continue;
        };
        if let (Some(text), Ok(start)) = (object.symbol(symbol).defined_in(), u64::try_from(addend)) {
            // A file that was linked before has what is left of replaced copies after the function's own.
            frames.of.entry((text, start)).or_insert((cie, bytes));
        }
    }
    frames
}
