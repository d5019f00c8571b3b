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
//!
//! FDEs are made independently of each other; their places are added up afterwards.

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
use hashbrown::HashMap;
use std::borrow::Cow;
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
    let threads = output.link.threads;
    let (mercury, kept) = (linked.sections[id].bytes.as_deref().unwrap_or_default(), &linked.sections[id].kept);
    let entries = frame_entries(mercury);
    let mut by_offset: Vec<(u64, &Kept)> = kept.iter().map(|k| (k.offset, k)).collect();
    by_offset.sort_by_key(|k| k.0);
    let mut frame = Frame {
        output,
        code,
        mercury,
        kept: by_offset,
        of_function: HashMap::default(),
        inputs: threads
            .map(output.link.inputs.objects.as_slice(), |object| {
                input_frames(object, code.sources.of(object.id))
            })
            .into(),
    };
    let tasks = frame.tasks(&entries);
    let written = threads.map(&tasks, |task| frame.pair(task));
    let (placed, mut places) = frame.place(written.into_iter().flatten());
    places.sort_by_key(|place| place.0);
    let out = threads.join_parts(&placed, TOGETHER, |pairs| {
        let mut out = Vec::with_capacity(pairs.iter().map(|(pair, _)| pair.size()).sum());
        pairs.iter().for_each(|(pair, at)| pair.write(*at, &mut out));
        out
    });
    let moved = |_, k: &Kept| {
        let &(_, place, addend) = last_at(&places, k.offset, |place| place.0)?;
        Some(relocation(output, k, place, R_CUDA_64, addend))
    };
    let entries: Vec<Rela> = threads.filter_map(kept, moved);
    sass.put_relocs(output, id, &entries);
    sass.put(id, out);
}

/// Pairs of CIE and FDE that are written together.
const TOGETHER: usize = 1024;

/// The last item with a key in a sorted list.
fn last_at<T>(list: &[T], key: u64, key_of: impl Fn(&T) -> u64) -> Option<&T> {
    let end = list.partition_point(|item| key_of(item) <= key);
    list.get(end.checked_sub(1)?).filter(|item| key_of(item) == key)
}

/// An FDE of the Mercury view that has its address.
struct Task<'a> {
    entry: &'a FrameEntry,
    /// Number that says how much code it is about.
    range: u64,
    /// The CIE before it.
    cie: Range<usize>,
    function: FunctionId,
    text: SectionId,
    kind: Kind,
}

/// Which FDE of a function it is.
#[derive(Clone, Copy)]
enum Kind {
    First,
    Further,
    /// That of a function inside of a kernel, at this place of the Mercury code.
    Inner(u64),
}

/// A CIE and an FDE to write.
struct Pair<'x> {
    cie: Cow<'x, [u8]>,
    /// The code it is about.
    code: Range<u64>,
    program: Vec<u8>,
    /// Place of the FDE's address in the Mercury view, and its new addend.
    address: (u64, i64),
    /// The Mercury CIE, if its addresses are taken over.
    mercury_cie: Range<usize>,
}

impl Pair<'_> {
    /// Bytes of an FDE without its program: length, mark, CIE, address, range.
    const FIXED: usize = 4 + 4 * size_of::<u64>();

    fn size(&self) -> usize {
        self.cie.len() + Self::FIXED + self.program.len()
    }

    /// Appends the bytes, for a place in the section.
    fn write(&self, at: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.cie);
        out.extend_from_slice(&u32::MAX.to_le_bytes());
        for word in [24 + self.program.len() as u64, at, self.code.start, self.code.end - self.code.start] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.program);
    }
}

/// Old place of an address, new place, addend.
type Moved = (u64, u64, i64);

struct Frame<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    code: &'a Functions<'a, 'd>,
    mercury: &'a [u8],
    /// Kept relocations, sorted by their offsets.
    kept: Vec<(u64, &'a Kept)>,
    /// FDEs of functions with several.
    of_function: HashMap<FunctionId, Vec<&'a FrameEntry>, SeededState>,
    /// Frames of the inputs, those of objects without prevailing functions too.
    inputs: Table<ObjectId, InputFrames<'d>>,
}

impl<'a, 'd> Frame<'a, 'd> {
    /// The FDEs that are written, in order.
    fn tasks(&mut self, entries: &'a [FrameEntry]) -> Vec<Task<'a>> {
        let subjects = self.output.link.threads.map(entries, |entry| {
            let address = (entry.range.start + FDE_ADDRESS) as u64;
            let (function, text) = self.function_at(address).filter(|_| entry.fde.is_some())?;
            Some((function, text, self.inner_at(address)))
        });
        let mut counts: Table<FunctionId, u32> = Table::filled(self.output.layout.records.functions.len(), 0);
        for (function, ..) in subjects.iter().flatten().filter(|subject| subject.2.is_none()) {
            counts[*function] += 1;
        }
        let mut done: Table<FunctionId, bool> = Table::filled(counts.len(), false);
        let mut tasks = Vec::with_capacity(entries.len());
        let mut cie = 0..0;
        for (entry, subject) in entries.iter().zip(subjects) {
            let Some(range) = entry.fde else {
                cie = entry.range.clone();
                continue;
            };
            let Some((function, text, inner)) = subject else { continue };
            let kind = match inner {
                Some(place) => Kind::Inner(place),
                None => {
                    if counts[function] > 1 {
                        self.of_function.entry(function).or_default().push(entry);
                    }
                    let stubs = self.code.stubs_in(self.output, text);
                    let later_stub = stubs.is_some_and(|s| s.first().is_none_or(|s| s.function != function));
                    match std::mem::replace(&mut done[function], true) || later_stub {
                        true => Kind::Further,
                        false => Kind::First,
                    }
                }
            };
            tasks.push(Task {
                entry,
                range,
                cie: cie.clone(),
                function,
                text,
                kind,
            });
        }
        tasks
    }

    /// What is written for an FDE.
    fn pair(&self, task: &Task<'_>) -> Option<Pair<'_>> {
        match task.kind {
            Kind::First => self.first(task),
            Kind::Further => Some(self.whole(task, self.cie(task).into(), 0..task.range, vec![0; 4])),
            Kind::Inner(place) => self.inner(task, place),
        }
    }

    /// Assigns places to pairs that follow each other, and to their addresses.
    fn place<'x>(&self, pairs: impl Iterator<Item = Pair<'x>>) -> (Vec<(Pair<'x>, u64)>, Vec<Moved>) {
        let (mut placed, mut places, mut at) = (Vec::new(), Vec::new(), 0);
        for pair in pairs {
            let (address, addend) = pair.address;
            places.push((address, at + (pair.cie.len() + FDE_ADDRESS) as u64, addend));
            for offset in pair.mercury_cie.clone() {
                if let Some(k) = self.kept_at(offset as u64) {
                    places.push((offset as u64, at + (offset - pair.mercury_cie.start) as u64, k.addend));
                }
            }
            let size = pair.size() as u64;
            placed.push((pair, at));
            at += size;
        }
        (placed, places)
    }

    /// The Mercury CIE before an FDE.
    fn cie(&self, task: &Task<'_>) -> &'a [u8] {
        self.mercury.get(task.cie.clone()).unwrap_or_default()
    }

    fn kept_at(&self, offset: u64) -> Option<&'a Kept> {
        last_at(&self.kept, offset, |k| k.0).map(|k| k.1)
    }

    /// The function that an FDE's address belongs to.
    fn function_at(&self, address: u64) -> Option<(FunctionId, SectionId)> {
        let SymbolTableEntry::Symbol(sym) = self.kept_at(address)?.named else {
            return None;
        };
        let f = self.output.layout.records.symbols.get(sym)?.function?;
        Some((f, self.output.layout.records.functions[f].text?))
    }

    /// Offset in Mercury code of the function inside of a kernel that an FDE's address belongs to.
    fn inner_at(&self, address: u64) -> Option<u64> {
        let addend = u64::try_from(self.kept_at(address)?.addend).ok()?;
        (addend != 0).then_some(addend)
    }

    /// A pair for a whole function, whose address keeps its addend.
    fn whole<'x>(&self, task: &Task<'_>, cie: Cow<'x, [u8]>, code: Range<u64>, program: Vec<u8>) -> Pair<'x> {
        let address = (task.entry.range.start + FDE_ADDRESS) as u64;
        Pair {
            cie,
            code,
            program,
            address: (address, self.kept_at(address).map_or(0, |k| k.addend)),
            mercury_cie: 0..0,
        }
    }

    /// The FDE of a function inside of a kernel. Nothing is written for one that the input's SASS view does not have.
    fn inner(&self, task: &Task<'_>, mercury: u64) -> Option<Pair<'_>> {
        let function = self.code.of(task.text)?;
        let object = &self.output.link.inputs.objects[function.object];
        let frames = &self.inputs[object.id];
        let start = *frames.starts.get(&(function.section, mercury))?;
        let &(cie, fde) = frames.of.get(&(function.section, start))?;
        let range = inner_range(function, object, start, fde)?;
        let copies = self
            .code
            .copies
            .of(task.text)
            .filter(|_| self.output.link.options.identity == Identity::Nvlink);
        let range = copies.map_or(range, |c| c.end(function, start).saturating_sub(function.place(start)));
        Some(Pair {
            cie: cie.into(),
            code: function.place(start)..function.place(start) + range,
            program: moved(function, start, fde.get(FDE_PROGRAM..)?),
            address: ((task.entry.range.start + FDE_ADDRESS) as u64, function.place(start) as i64),
            mercury_cie: task.cie.clone(),
        })
    }

    /// The function's first FDE.
    fn first(&self, task: &Task<'_>) -> Option<Pair<'_>> {
        let function = self.code.of(task.text)?;
        let object = &self.output.link.inputs.objects[function.object];
        let frames = &self.inputs[object.id];
        let &(cie, fde) = frames.of.get(&(function.section, 0))?;
        let own = fde.get(FDE_PROGRAM..)?;
        let Some(all) = self.of_function.get(&task.function) else {
            let stubs = self.code.stubs_in(self.output, task.text).map(Stubs::first_range);
            let inner = || inner_range(function, object, 0, fde).filter(|_| object.has_inner_functions);
            let range = stubs.or_else(inner).unwrap_or(function.code.len() as u64);
            return Some(self.whole(task, cie.into(), 0..range, moved(function, 0, own)));
        };
        let program = self.union(function, object, all).unwrap_or_else(|| moved(function, 0, own));
        Some(self.whole(task, in_sass_units(self.cie(task)).into(), 0..function.code.len() as u64, program))
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
