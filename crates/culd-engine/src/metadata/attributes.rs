//! `.nv.info` records of the inputs that survive, in merge order, and what they say about functions.
//!
//! 1. Inputs in order, their attribute sections in header order, records in file order.
//! 2. Dropped: codes 00, 23 (not in relocatable outputs) and 26, empty payloads, sections of dead functions and of definitions that are
//!    not prevailing, global records about either.
//! 3. EXTERNS keep only undefined functions and kernels.
//! 4. The symbol before a payload is translated when the record is written ([`subject`]). Everything before that needs only the live
//!    set, so it runs in parallel with merging.

use super::codes::slot_of;
use crate::ids::{FunctionId, SymbolRef, Table};
use crate::inputs::Inputs;
use crate::layout::Layout;
use crate::liveness::Live;
use crate::mode::Mode;
use crate::object::{ObjSection, Object, Role};
use crate::par::Threads;
use crate::parts::Parts;
use crate::records::Place;
use crate::records::SymbolTableEntry;
use crate::resolve::{Fate, Resolved};
use crate::session::Link;
use cubin::consts::*;
use cubin::nvinfo::FORMAT_BYTE;
use cubin::nvinfo::FORMAT_HALF;
use cubin::nvinfo::FORMAT_NONE;
use cubin::nvinfo::attr;
use cubin::nvinfo::{FORMAT_SIZED, Record};
use std::ops::Range;

/// What records are collected from: a link without the condensed graph, which is made at the same time.
#[derive(Clone, Copy)]
pub struct Sources<'a, 'd> {
    /// Objects.
    pub inputs: &'a Inputs<'d>,
    /// Functions.
    pub resolved: &'a Resolved<'d>,
    /// Live functions.
    pub live: &'a Live,
    /// Derived from the options.
    pub mode: Mode,
    /// Thread pool settings.
    pub threads: Threads,
}

/// Owner of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The module.
    Module,
    /// A function.
    Function(FunctionId),
    /// The table of unified functions.
    Stubs,
}

/// A payload.
#[derive(Debug, Clone)]
pub enum Payload<'d> {
    /// Two bytes of a short record.
    Half(u16),
    /// Bytes as they are.
    Bytes(&'d [u8]),
    /// Bytes that start with the number of a symbol of an input.
    About(SymbolRef, &'d [u8]),
    /// The same where the views of a file differ.
    AboutViews(SymbolRef, Box<Views<'d>>),
    /// The symbol of a function, and a word.
    FunctionWord(FunctionId, u32),
    /// One word.
    Word(u32),
    /// Bytes that differ between the views of a file.
    Views(Box<Views<'d>>),
    /// Functions. Boxed, as rare payloads are: records are many and should be small.
    Functions(Box<[FunctionId]>),
    /// Words.
    Words(Box<[u32]>),
}

impl<'d> Payload<'d> {
    /// The symbol of an input before a payload, and the payload as the linked view has it.
    pub(crate) fn about(&self) -> Option<(SymbolRef, &'d [u8])> {
        match self {
            Payload::About(symbol, bytes) => Some((*symbol, bytes)),
            Payload::AboutViews(symbol, views) => Some((*symbol, views.mercury)),
            _ => None,
        }
    }
}

/// A payload in both views of a file.
#[derive(Debug, Clone)]
pub struct Views<'d> {
    /// In the Mercury view.
    pub mercury: &'d [u8],
    /// In the SASS view.
    pub sass: &'d [u8],
}

/// A record of the output.
#[derive(Debug, Clone)]
pub struct Attribute<'d> {
    /// Format.
    pub format: u8,
    /// Code.
    pub code: u8,
    /// Payload.
    pub payload: Payload<'d>,
}

impl Attribute<'_> {
    /// The 16 bits of a short record.
    pub fn half(&self) -> u16 {
        match self.payload {
            Payload::Half(v) => v,
            Payload::Bytes(b) => u16::from_le_bytes([b.first().copied().unwrap_or(0), b.get(1).copied().unwrap_or(0)]),
            _ => 0,
        }
    }
}

/// What attributes say about a function.
#[derive(Debug, Default, Clone, Copy)]
pub struct Facts {
    /// Registers, if recorded.
    pub registers: Option<u32>,
    /// Stack frame.
    pub frame: i32,
    /// Call-return stack.
    pub crs: i32,
    /// Stack of a region.
    pub region: Option<u32>,
    /// The compiler could not bound the stack of this kernel (`-ewp`): MIN_STACK_SIZE -1.
    pub unbounded: bool,
}

/// One of them.
#[derive(Clone, Copy)]
enum Fact {
    Registers(Option<u32>),
    Frame(i32),
    Crs(i32),
    Region(Option<u32>),
    Unbounded,
}

impl Facts {
    fn learn(&mut self, fact: Fact) {
        match fact {
            Fact::Registers(registers) => self.registers = registers,
            Fact::Frame(frame) => self.frame = frame,
            Fact::Crs(crs) => self.crs = crs,
            Fact::Region(region) => self.region = region,
            Fact::Unbounded => self.unbounded = true,
        }
    }
}

/// A use of reserved shared memory: the number of records before the one that states it, and the function unless it is dead.
pub type Reserved = (usize, Option<FunctionId>);

/// All surviving records.
#[derive(Debug)]
pub struct Attributes<'d> {
    /// Records of the module in merge order.
    pub module: Vec<Attribute<'d>>,
    /// Records of functions and stubs in merge order. Those of a section are in one part.
    pub records: Parts<Attribute<'d>>,
    /// Owner and first record of each attribute section.
    pub runs: Vec<(Owner, u32)>,
    /// Per function.
    pub facts: Table<FunctionId, Facts>,
    /// Functions that use reserved shared memory, in merge order.
    pub reserved: Vec<Reserved>,
    /// Records of functions and stubs whose codes act on kernels: owners and numbers.
    pub inheritable: Vec<(Owner, u32)>,
}

impl<'d> Attributes<'d> {
    /// Owners with their records, by section, in merge order.
    pub fn sections(&self) -> impl Iterator<Item = (Owner, Range<usize>)> {
        let ends = self.runs.iter().skip(1).map(|r| r.1 as usize).chain([self.records.len()]);
        self.runs
            .iter()
            .zip(ends)
            .map(|(&(owner, first), end)| (owner, first as usize..end))
    }
}

/// Codes whose first word is a symbol.
const SYMBOL_FIRST: [u8; 14] = [0x02, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x11, 0x12, 0x13, 0x14, 0x17, 0x2f, 0x3b, 0x45];

/// Sections whose records are collected together, if several threads work.
const CHUNK: usize = 2048;

/// Consecutive sections of an object.
type Sections<'a, 'd> = (&'a Object<'d>, Range<usize>);

/// Cuts the sections of all objects into chunks.
fn chunks<'a, 'd>(objects: &'a [Object<'d>], size: usize) -> Vec<Vec<Sections<'a, 'd>>> {
    let mut chunks = vec![Vec::new()];
    let mut room = size;
    for object in objects {
        let mut rest = 0..object.sections.len();
        while !rest.is_empty() {
            if room == 0 {
                chunks.push(Vec::new());
                room = size;
            }
            let end = rest.end.min(rest.start.saturating_add(room));
            if let Some(chunk) = chunks.last_mut() {
                chunk.push((object, rest.start..end));
            }
            room -= end - rest.start;
            rest.start = end;
        }
    }
    chunks
}

/// Collects the records.
pub fn collect<'d>(link: Sources<'_, 'd>) -> Attributes<'d> {
    let size = if link.threads.is_parallel() { CHUNK } else { usize::MAX };
    let parts = link.threads.map(&chunks(link.inputs.objects.as_slice(), size), |chunk| {
        let mut part = Part::with_room(chunk);
        for (object, sections) in chunk {
            part.add(link, object, sections.clone());
        }
        part
    });
    let mut facts = Table::filled(link.resolved.functions.len(), Facts::default());
    for (f, fact) in parts.iter().flat_map(|part| &part.facts) {
        facts[*f].learn(*fact);
    }
    join(parts, facts, link.threads)
}

/// One part after the other.
fn join<'d>(parts: Vec<Part<'d>>, facts: Table<FunctionId, Facts>, threads: Threads) -> Attributes<'d> {
    let mut module = Vec::with_capacity(parts.len());
    let mut records = Parts::default();
    let (mut runs, mut reserved, mut inheritable) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let first = records.len();
        let moved = |&(owner, number): &(Owner, u32)| (owner, number + first as u32);
        runs.extend(part.runs.iter().map(moved));
        inheritable.extend(part.inheritable.iter().map(moved));
        reserved.extend(part.reserved.iter().map(|&(before, f)| (before + first, f)));
        module.push(part.module);
        records.push(part.records);
    }
    Attributes {
        module: threads.concat(module, &flag(attr::ERROR, 0)),
        records,
        runs,
        facts,
        reserved,
        inheritable,
    }
}

/// Records of consecutive sections; see [`Attributes`].
#[derive(Default)]
struct Part<'d> {
    module: Vec<Attribute<'d>>,
    records: Vec<Attribute<'d>>,
    runs: Vec<(Owner, u32)>,
    facts: Vec<(FunctionId, Fact)>,
    reserved: Vec<Reserved>,
    inheritable: Vec<(Owner, u32)>,
}

/// Bytes that a record takes in an input, on average.
const AVERAGE: usize = 8;

impl<'d> Part<'d> {
    /// With room for the records of sections: what is not used is not touched.
    fn with_room(chunk: &[Sections<'_, '_>]) -> Self {
        let (mut module, mut functions) = (0, 0);
        for section in chunk
            .iter()
            .flat_map(|(object, range)| object.sections.get(range.clone()).unwrap_or_default())
        {
            match section.role {
                Role::Info => module += section.data.len(),
                Role::FunctionInfo => functions += section.data.len(),
                _ => {}
            }
        }
        Part {
            module: Vec::with_capacity(module / AVERAGE),
            records: Vec::with_capacity(functions / AVERAGE),
            ..Part::default()
        }
    }

    fn add(&mut self, link: Sources<'_, 'd>, object: &Object<'d>, sections: Range<usize>) {
        let own = object.sections.get(sections.clone()).unwrap_or_default();
        for (number, s) in sections.zip(own) {
            let owner = match s.role {
                Role::Info => Owner::Module,
                Role::FunctionInfo => match owner(link, object, s) {
                    Some(owner) => owner,
                    None => {
                        let dead = is_dead(link, object, s) && uses_reserved(s.data);
                        self.reserved.extend(dead.then_some((self.records.len(), None)));
                        continue;
                    }
                },
                _ => continue,
            };
            let collector = Section { link, object, owner };
            if owner != Owner::Module {
                self.runs.push((owner, self.records.len() as u32));
            }
            let mut twins = object.sass.get(number).map(|s| cubin::nvinfo::records(s.data).flatten());
            for record in cubin::nvinfo::records(s.data).flatten() {
                let twin = twins
                    .as_mut()
                    .filter(|_| record.attribute != attr::FINALIZER_OPTIONS)
                    .and_then(Iterator::next);
                if let Some(mut attribute) = collector.translate(&record) {
                    attribute.payload = both_views(attribute.payload, twin.as_ref());
                    let fact = collector.fact(&attribute);
                    self.facts.extend(fact);
                    // The link states it anew for every kernel.
                    if !link.mode.relocatable && matches!(fact, Some((_, Fact::Unbounded))) {
                        continue;
                    }
                    if attribute.code == attr::RESERVED_SMEM_USED {
                        self.reserved.extend(owner.function().map(|f| (self.records.len(), Some(f))));
                    }
                    match owner {
                        Owner::Module => self.module.push(attribute),
                        _ => {
                            if slot_of(attribute.code).is_some() {
                                self.inheritable.push((owner, self.records.len() as u32));
                            }
                            self.records.push(attribute);
                        }
                    }
                }
            }
        }
    }
}

/// Bytes that differ between the views, such as code offsets.
fn both_views<'d>(payload: Payload<'d>, twin: Option<&Record<'d>>) -> Payload<'d> {
    match (payload, twin) {
        (Payload::Bytes(mercury), Some(twin)) if twin.payload != mercury => Payload::Views(Box::new(Views {
            mercury,
            sass: twin.payload,
        })),
        (Payload::About(symbol, mercury), Some(twin)) if twin.payload != mercury => Payload::AboutViews(
            symbol,
            Box::new(Views {
                mercury,
                sass: twin.payload,
            }),
        ),
        (payload, _) => payload,
    }
}

/// The function that an attribute section describes, if its definition prevails and is live.
fn owner(link: Sources<'_, '_>, object: &Object<'_>, s: &ObjSection<'_>) -> Option<Owner> {
    let symbol = object.symbol_ref(object.owner_of(s)?);
    let f = link.resolved.function(symbol)?;
    if !link.live.alive[f] || link.resolved.fate(symbol) != Fate::Winner {
        return None;
    }
    let stub = link.resolved.functions[f].stub && !link.mode.relocatable;
    Some(if stub { Owner::Stubs } else { Owner::Function(f) })
}

/// Whether the definition that an attribute section describes prevails, but is dead.
fn is_dead(link: Sources<'_, '_>, object: &Object<'_>, s: &ObjSection<'_>) -> bool {
    let symbol = object.owner_of(s).map(|index| object.symbol_ref(index));
    let dead = |f| !link.live.alive[f];
    symbol.is_some_and(|sym| link.resolved.function(sym).is_some_and(dead) && link.resolved.fate(sym) == Fate::Winner)
}

fn uses_reserved(data: &[u8]) -> bool {
    cubin::nvinfo::records(data)
        .flatten()
        .any(|r| r.attribute == attr::RESERVED_SMEM_USED)
}

struct Section<'a, 'd> {
    link: Sources<'a, 'd>,
    object: &'a Object<'d>,
    owner: Owner,
}

impl<'d> Section<'_, 'd> {
    fn translate(&self, record: &Record<'d>) -> Option<Attribute<'d>> {
        let (format, code) = (record.format, record.attribute);
        let relocatable = self.link.mode.relocatable;
        if code == attr::ERROR || code == attr::LOAD_CACHE_REQUEST || (code == attr::MAX_STACK_SIZE && !relocatable) {
            return None;
        }
        if format != FORMAT_SIZED {
            return Some(Attribute {
                format,
                code,
                payload: Payload::Half(record.half),
            });
        }
        if record.payload.is_empty() {
            return None;
        }
        let payload = match code {
            attr::EXTERNS => Payload::Functions(self.externs(record).into()),
            attr::AT_ENTRY_FRAGMENTS | attr::LANGUAGE => Payload::Words(record.words().iter().map(|w| w.get()).collect()),
            _ if SYMBOL_FIRST.contains(&code) || code == attr::MAX_STACK_SIZE => self.symbol_first(record)?,
            _ => Payload::Bytes(record.payload),
        };
        Some(Attribute { format, code, payload })
    }

    fn symbol_first(&self, record: &Record<'d>) -> Option<Payload<'d>> {
        let verbatim = Payload::Bytes(record.payload);
        let Some(index) = record.word(0) else {
            return Some(verbatim);
        };
        // In links with symbols that have no name, no symbol is one of these.
        if (index == 0 && !self.link.mode.rules.unnamed_symbols) || index >= self.object.symbol_count() {
            return Some(verbatim);
        }
        let reference = self.object.symbol_ref(index);
        if let Some(f) = self.link.resolved.function(reference) {
            let about_definition = matches!(record.attribute, attr::FRAME_SIZE | attr::REGCOUNT | attr::MAX_STACK_SIZE);
            let stub = self.link.resolved.functions[f].stub && !self.link.mode.relocatable;
            let loser = self.link.resolved.functions[f].winner.is_some() && self.link.resolved.fate(reference) != Fate::Winner;
            if !self.link.live.alive[f] || (self.owner == Owner::Module && about_definition && (loser || stub)) {
                return None;
            }
        }
        Some(Payload::About(reference, record.payload))
    }

    fn externs(&self, record: &Record<'d>) -> Vec<FunctionId> {
        let functions = record.words().iter().map(|w| w.get()).filter(|&i| i < self.object.symbol_count());
        let functions = functions.filter_map(|i| self.link.resolved.function(self.object.symbol_ref(i)));
        functions
            .filter(|&f| self.link.live.alive[f])
            .filter(|&f| self.link.resolved.functions[f].winner.is_none() || self.link.resolved.functions[f].entry)
            .collect()
    }

    fn fact(&self, attribute: &Attribute<'d>) -> Option<(FunctionId, Fact)> {
        let word = |bytes: &[u8]| bytes.get(..4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        if let Some((symbol, bytes)) = attribute.payload.about() {
            let rest = bytes.get(4..).unwrap_or_default();
            let fact = match attribute.code {
                attr::REGCOUNT => Fact::Registers(word(rest)),
                attr::FRAME_SIZE => Fact::Frame(word(rest).unwrap_or(0) as i32),
                attr::SAM_REGION_STACK_SIZE => Fact::Region(word(rest)),
                attr::MIN_STACK_SIZE if word(rest) == Some(u32::MAX) => Fact::Unbounded,
                _ => return None,
            };
            return Some((self.link.resolved.function(symbol)?, fact));
        }
        match (&attribute.payload, attribute.code, self.owner) {
            (Payload::Bytes(bytes), attr::CRS_STACK_SIZE | attr::SYNC_STACK, Owner::Function(f)) => {
                Some((f, Fact::Crs(word(bytes).unwrap_or(0) as i32)))
            }
            _ => None,
        }
    }
}

/// What a symbol of an input is in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// This symbol or section.
    Is(SymbolTableEntry),
    /// It has no number of its own; the record stays as it is.
    NoSymbol,
    /// Nothing: the record is dropped too.
    Dropped,
}

/// What the symbol before a payload is in the output.
pub(crate) fn subject(link: Link<'_, '_>, layout: &Layout<'_>, symbol: SymbolRef) -> Subject {
    let records = &layout.records;
    if let Some(f) = link.resolved.function(symbol) {
        return records.symbol_of[f].map_or(Subject::Dropped, |sym| Subject::Is(SymbolTableEntry::Symbol(sym)));
    }
    let (object, index) = link.inputs.locate(symbol);
    if object.symbol_kind(index) == STT_SECTION {
        let section = object.symbol(index).defined_in();
        let placed = section.and_then(|s| records.placement.sections[object.section_ref(s)]);
        return placed.map_or(Subject::Dropped, |(id, _)| Subject::Is(SymbolTableEntry::Section(id)));
    }
    match records.placement.symbols[symbol] {
        Place::Symbol(sym) => Subject::Is(SymbolTableEntry::Symbol(sym)),
        _ => Subject::NoSymbol,
    }
}

impl Owner {
    /// The function, if it is one.
    pub fn function(self) -> Option<FunctionId> {
        match self {
            Owner::Function(f) => Some(f),
            _ => None,
        }
    }
}

/// A record with a half word.
pub(super) fn half(code: u8, value: u16) -> Attribute<'static> {
    Attribute {
        format: FORMAT_HALF,
        code,
        payload: Payload::Half(value),
    }
}

/// A record with a byte.
pub(super) fn byte(code: u8, value: u16) -> Attribute<'static> {
    Attribute {
        format: FORMAT_BYTE,
        code,
        payload: Payload::Half(value),
    }
}

/// A record without a value.
pub(crate) fn flag(code: u8, value: u16) -> Attribute<'static> {
    Attribute {
        format: FORMAT_NONE,
        code,
        payload: Payload::Half(value),
    }
}

/// The first record of a code.
pub(super) fn first_of<'l, 'd>(list: &'l mut [Attribute<'d>], code: u8) -> Option<&'l mut Attribute<'d>> {
    list.iter_mut().find(|r| r.code == code)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Linked, Small, options};

    #[test]
    fn chunks_have_every_section_once_and_in_order() {
        let objects = vec![
            Small::new().kernel("k").call("k", "f"),
            Small::new().function("f"),
            Small::new().kernel("j"),
        ];
        Linked::run(objects, &options(), |l| {
            let objects = l.link.inputs.objects.as_slice();
            let all: Vec<(u32, usize)> = objects
                .iter()
                .flat_map(|o| (0..o.sections.len()).map(|s| (o.id.number(), s)))
                .collect();
            for size in [1, 3, 7, usize::MAX] {
                let chunks = super::chunks(objects, size);
                assert!(chunks.iter().all(|c| c.iter().map(|(_, range)| range.len()).sum::<usize>() <= size));
                let parts = chunks.iter().flatten();
                let seen: Vec<(u32, usize)> = parts.flat_map(|(o, range)| range.clone().map(|s| (o.id.number(), s))).collect();
                assert_eq!(seen, all, "{size}");
            }
        });
    }
}
