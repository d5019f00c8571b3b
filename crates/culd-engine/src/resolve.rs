//! Function resolution over all inputs, before anything is merged. Objects are taken as soon as they are read and their names are numbered
//! ([`symbol_names`]).
//!
//! 1. Functions are numbered by first appearance of their symbol, defined or not; a static function is one of its own.
//! 2. Definitions of one name: strong beats weak, two strong ones are an error. Weak against weak: fewer registers win; with equal
//!    registers the new one wins if its virtual architecture is above that of the first definition's file; else the present one stays.
//! 3. Each definition has a [`Fate`]: winner, rejected on arrival, or replaced later.
//! 4. Call graph lists of all inputs are joined ([`calls`]); entries of rejected definitions are ignored, those of replaced ones stay. That needs nothing of
//!    later objects, so it runs beside the resolution of the functions of those that follow.

mod calls;
mod symbol_names;

pub use calls::{CallLists, ObjectFunctions};
use calls::{StatedPrototypes, Taken};
use symbol_names::DottedNames;
pub use symbol_names::{NamedSymbols, SymbolNames};

use crate::csr::{GroupedLists, without_repeats};
use crate::diagnostics::Code;
use crate::ids::{FunctionId, NameId, ObjectId, ProtoId, SymbolRef, Table};
use crate::names::Interner;
use crate::object::{FunctionMention, Object, text};

use crate::par::Threads;
use cubin::consts::*;
use std::ops::Range;

/// Prefix of the names of literals that hold the address of a function.
const ADDRESS_LITERAL: &[u8] = b"$ADDRESS$";

/// Result of resolution for one definition.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Not a definition of a function.
    #[default]
    None,
    /// Prevails at the end.
    Winner,
    /// Lost when it arrived.
    Rejected,
    /// Prevailed when its file was merged, beaten by a later one.
    Replaced,
}

/// A definition: object and symbol index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Object.
    pub object: ObjectId,
    /// Symbol index there.
    pub symbol: u32,
    /// Section index there.
    pub section: u32,
}

/// A function of the link.
#[derive(Debug, Clone)]
pub struct Function<'d> {
    /// Name.
    pub name: &'d [u8],
    /// Some definition is a kernel.
    pub entry: bool,
    /// The prevailing definition.
    pub winner: Option<Definition>,
    /// Static.
    pub local: bool,
    /// First file that mentions it.
    pub first: ObjectId,
    /// Its first symbol.
    pub first_symbol: SymbolRef,
    /// The stub of a unified function.
    pub stub: bool,
    /// Address taken, with this prototype.
    pub taken: Option<ProtoId>,
    /// Only a rejected copy takes the address, without a prototype: a kernel's.
    pub taken_unnamed: bool,
    /// An object before that of its first definition took the address.
    pub taken_before: bool,
    /// The symbol that defined it first, if any does.
    pub defined_by: Option<SymbolRef>,
    bind: u8,
    registers: u32,
    first_definition: ObjectId,
    first_virtual_sm: u32,
}

/// The result: functions, fates and the joined call graph.
#[derive(Debug)]
pub struct Resolved<'d> {
    /// Number of distinct names of symbols and prototypes.
    pub name_count: usize,
    /// Prototype strings.
    pub prototypes: Interner<'d, ProtoId>,
    /// Prototype strings in the order the call graphs and `.nv.prototype` mention them; rejected definitions do not count.
    pub mentioned: Vec<ProtoId>,
    /// Per object: how many of these it and those before it mention.
    pub mentioned_until: Table<ObjectId, u32>,
    /// Functions by number (less one).
    pub functions: Table<FunctionId, Function<'d>>,
    /// Direct callees, newest first, repeats kept.
    pub direct: GroupedLists<FunctionId, FunctionId>,
    /// Indirect call sites by prototype, newest first, repeats kept.
    pub sites: GroupedLists<FunctionId, ProtoId>,
    /// Functions whose address a function takes, newest first, repeats kept.
    pub takes: GroupedLists<FunctionId, FunctionId>,
    /// Errors to report when their object is merged, before its variables.
    pub function_errors: Vec<(ObjectId, Code)>,
    /// Errors to report when their object has been merged.
    pub prototype_errors: Vec<(ObjectId, Code)>,
    /// What the first mention that other objects see calls a function: a kernel or not. Every mention reads it, in random order, so it is small.
    declared_entry: Table<FunctionId, Option<bool>>,
    stated: Table<FunctionId, StatedPrototypes>,
    dotted: DottedNames,
    prototype_names: Table<ProtoId, NameId>,
    name_of: Table<SymbolRef, Option<NameId>>,
    /// Per name: number of the function that is not static, or the largest number.
    function_named: Table<NameId, u32>,
    function_of: Table<SymbolRef, u32>,
    fates: Table<SymbolRef, Fate>,
    /// Per object: some definition of its was rejected.
    rejected: Table<ObjectId, bool>,
}

impl Resolved<'_> {
    /// The function of a name, unless it is static.
    pub fn function_named(&self, name: NameId) -> Option<FunctionId> {
        let number = self.function_named.get(name).copied().filter(|&n| n != u32::MAX)?;
        Some(FunctionId::new(number))
    }
    /// The name of a symbol of an input, unless it represents a section.
    pub fn name(&self, symbol: SymbolRef) -> Option<NameId> {
        self.name_of[symbol]
    }
    /// Does a name start with a dot?
    pub fn is_dotted(&self, name: NameId) -> bool {
        self.dotted.has(name)
    }
    /// The name that is the same as a prototype.
    pub fn prototype_name(&self, p: ProtoId) -> Option<NameId> {
        self.prototype_names.get(p).copied()
    }
    /// The function that a symbol of an input represents.
    pub fn function(&self, symbol: SymbolRef) -> Option<FunctionId> {
        let f = self.function_of[symbol];
        (f != u32::MAX).then_some(FunctionId::new(f))
    }
    /// Fate of the definition that this symbol makes.
    pub fn fate(&self, symbol: SymbolRef) -> Fate {
        self.fates[symbol]
    }
    /// True if some definition of an object was rejected.
    pub fn has_rejected(&self, object: ObjectId) -> bool {
        self.rejected[object]
    }
    /// True if the definition prevailed when its file was merged.
    pub fn took(&self, symbol: SymbolRef) -> bool {
        matches!(self.fates[symbol], Fate::Winner | Fate::Replaced)
    }
    /// The prototype of a function from `.nv.prototype`.
    pub fn prototype(&self, f: FunctionId) -> Option<ProtoId> {
        self.stated.get(f).and_then(|stated| stated.prototype)
    }
    /// True when the first mention of a function calls it a kernel.
    pub fn is_declared_entry(&self, f: FunctionId) -> bool {
        self.declared_entry[f] == Some(true)
    }
    /// Notes whose address is taken.
    fn take_addresses(&mut self, taken: &Table<FunctionId, Taken>, threads: Threads) {
        let note = |f: FunctionId, function: &mut Function<'_>| {
            let Some(taken) = taken.get(f) else { return };
            (function.taken, function.taken_unnamed) = (taken.prototype, taken.unnamed);
            function.taken_before = function.winner.is_some() && taken.by.is_some_and(|by| by < function.first_definition);
        };
        match threads.is_parallel() {
            true => self.functions.for_each_parallel(note),
            false => (0..)
                .zip(self.functions.iter_mut())
                .for_each(|(n, function)| note(FunctionId::new(n), function)),
        }
    }
    /// Name of a function as text.
    pub fn function_name(&self, f: FunctionId) -> String {
        text(self.functions[f].name)
    }
}

/// Resolution, object by object in link order.
#[derive(Debug)]
pub struct Resolver<'d> {
    /// Bytes of all inputs, until the tables have room for them.
    expected: Option<u64>,
    out: Resolved<'d>,
    /// Definitions that were replaced: the object that did so, the function, and the object that had defined it.
    replaced: Vec<(ObjectId, FunctionId, ObjectId)>,
    /// Symbols of kernels that were rejected since the last objects were handed on.
    rejected_kernels: Vec<SymbolRef>,
}

type Objects<'d> = Table<ObjectId, Object<'d>>;

impl<'d> Resolver<'d> {
    /// A resolver without objects. Those that will come have about so many bytes.
    pub fn new(bytes: u64) -> Self {
        let out = Resolved {
            name_count: 0,
            prototypes: Interner::new(),
            mentioned: Vec::new(),
            mentioned_until: Table::new(),
            declared_entry: Table::new(),
            stated: Table::new(),
            dotted: DottedNames::default(),
            prototype_names: Table::new(),
            functions: Table::new(),
            direct: GroupedLists::newest_first(0, &[]),
            sites: GroupedLists::newest_first(0, &[]),
            takes: GroupedLists::newest_first(0, &[]),
            function_errors: Vec::new(),
            prototype_errors: Vec::new(),
            function_named: Table::new(),
            name_of: Table::new(),
            function_of: Table::new(),
            fates: Table::new(),
            rejected: Table::new(),
        };
        Resolver {
            expected: Some(bytes),
            out,
            replaced: Vec::new(),
            rejected_kernels: Vec::new(),
        }
    }

    /// Takes the next objects, and returns what their call graphs need.
    pub fn add(&mut self, objects: &Objects<'d>, new: Range<usize>, mut names: NamedSymbols) -> ObjectFunctions {
        let first = self.out.name_of.len();
        self.out.name_of.append(&mut names.name_of);
        let symbols = self.out.name_of.len();
        self.out.function_of.grow(symbols, u32::MAX);
        self.out.fates.grow(symbols, Fate::None);
        self.out.function_named.grow(names.count, u32::MAX);
        let new = objects.as_slice().get(new).unwrap_or_default();
        for object in new {
            self.out.rejected.push(false);
            self.functions(objects, object);
        }
        let bytes: u64 = new.iter().map(Object::file_size).sum();
        if bytes > 0
            && let Some(expected) = self.expected.take()
        {
            self.reserve(bytes, expected.saturating_sub(bytes));
        }
        self.rejected_kernels.sort_unstable();
        ObjectFunctions {
            first,
            numbers: self.out.function_of.as_slice().get(first..).unwrap_or_default().to_vec(),
            fates: self.out.fates.as_slice().get(first..).unwrap_or_default().to_vec(),
            rejected_kernels: std::mem::take(&mut self.rejected_kernels),
            count: self.out.functions.len(),
        }
    }

    /// Makes room for what comes after the first objects, as if the rest of the inputs were like these: moving tables that grow costs more than filling
    /// them, and room that is not used is never touched.
    fn reserve(&mut self, bytes: u64, rest: u64) {
        let more = |count: usize| (count as u128 * u128::from(rest) / u128::from(bytes.max(1))) as usize;
        let out = &mut self.out;
        out.name_of.reserve(more(out.name_of.len()));
        out.function_of.reserve(more(out.function_of.len()));
        out.fates.reserve(more(out.fates.len()));
        out.function_named.reserve(more(out.function_named.len()));
        out.functions.reserve(more(out.functions.len()));
        out.declared_entry.reserve(more(out.declared_entry.len()));
    }

    /// Joins the call graph lists and returns the result.
    pub fn finish(
        mut self,
        calls: CallLists<'d>,
        mut names: SymbolNames<'d>,
        objects: &Objects<'d>,
        relocatable: bool,
        threads: Threads,
    ) -> Resolved<'d> {
        let prototype_errors = self.prototype_errors(&calls, objects);
        let mut out = self.out;
        let CallLists {
            prototypes,
            mentioned,
            mentioned_until,
            stated,
            taken,
            direct,
            sites,
            takes,
            ..
        } = calls;
        for &prototype in prototypes.strings().iter() {
            if let Some(id) = names.intern(prototype) {
                out.prototype_names.push(id);
            }
        }
        (out.prototypes, out.mentioned, out.mentioned_until) = (prototypes, mentioned, mentioned_until);
        (out.stated, out.prototype_errors) = (stated, prototype_errors);
        out.name_count = names.len();
        out.dotted = names.into_dotted();
        out.take_addresses(&taken, threads);
        let count = out.functions.len();
        // nvlink quirk: only a relocatable link drops what is repeated.
        let once = |pairs: Vec<(FunctionId, FunctionId)>| match relocatable {
            true => without_repeats(count, count, &pairs),
            false => pairs,
        };
        let others = || {
            let sites = GroupedLists::newest_first(count, &sites);
            (sites, GroupedLists::newest_first(count, &once(takes)))
        };
        (out.direct, (out.sites, out.takes)) = threads.join(|| GroupedLists::newest_first(count, &once(direct)), others);
        out
    }

    /// A prototype that disagrees with the mention before is an error, which names the definition that prevailed then.
    fn prototype_errors(&mut self, calls: &CallLists<'d>, objects: &Objects<'d>) -> Vec<(ObjectId, Code)> {
        if calls.mismatches.is_empty() {
            return Vec::new();
        }
        self.replaced.sort_by_key(|&(by, f, _)| (f, by));
        let (functions, replaced) = (&self.out.functions, &self.replaced);
        let error = |&(object, f): &(ObjectId, FunctionId)| {
            let function = &functions[f];
            let winner = function.winner.filter(|_| function.first_definition <= object).map(|w| w.object);
            let later = replaced.partition_point(|&(by, other, _)| (other, by) <= (f, object));
            let later = replaced.get(later).filter(|replaced| replaced.1 == f);
            let first = winner.map_or(function.first, |winner| later.map_or(winner, |replaced| replaced.2));
            let error = Code::PrototypeMismatch {
                symbol: text(function.name),
                file: objects[object].name.into(),
                first: objects[first].name.to_string(),
            };
            (object, error)
        };
        calls.mismatches.iter().map(error).collect()
    }

    /// Every function symbol of one object, in order.
    fn functions(&mut self, objects: &Objects<'d>, object: &Object<'d>) {
        for mention in object.function_mentions() {
            let FunctionMention { index, bind, entry, .. } = mention;
            let symbol = object.symbol_ref(index);
            let Some(name) = self.out.name(symbol) else { continue };
            let f = self.function_for(object, name, &mention);
            self.out.function_of[symbol] = f.number();
            if bind != STB_LOCAL && *self.out.declared_entry[f].get_or_insert(entry) != entry {
                self.out.function_errors.push((
                    object.id,
                    Code::EntryMismatch {
                        symbol: text(&culd_demangle::display(object.symbol(index).name)),
                    },
                ));
            }
            let Some(section) = mention.defined_in() else { continue };
            let function = &mut self.out.functions[f];
            function.entry |= entry;
            function.stub |= mention.stub;
            self.define(
                objects,
                object,
                f,
                Definition {
                    object: object.id,
                    symbol: index,
                    section,
                },
                bind,
                mention.registers,
            );
        }
    }

    fn function_for(&mut self, object: &Object<'d>, id: NameId, mention: &FunctionMention) -> FunctionId {
        let local = mention.bind == STB_LOCAL;
        if !local && self.out.function_named[id] != u32::MAX {
            return FunctionId::new(self.out.function_named[id]);
        }
        let f = self.out.functions.push(Function {
            name: object.symbol(mention.index).name,
            entry: false,
            winner: None,
            local,
            first: object.id,
            first_symbol: object.symbol_ref(mention.index),
            stub: false,
            taken: None,
            taken_unnamed: false,
            taken_before: false,
            defined_by: None,
            bind: 0,
            registers: 0,
            first_definition: object.id,
            first_virtual_sm: 0,
        });
        self.out.declared_entry.push(None);
        if !local {
            self.out.function_named[id] = f.number();
        }
        f
    }

    fn define(&mut self, objects: &Objects<'d>, object: &Object<'d>, f: FunctionId, new: Definition, bind: u8, registers: u32) {
        let function = &mut self.out.functions[f];
        let virtual_sm = object.virtual_sm.unwrap_or(0);
        let symbol = object.symbol_ref(new.symbol);
        let wins = match function.winner {
            None => true,
            Some(_) if function.bind == STB_WEAK => {
                bind == STB_GLOBAL
                    || registers < function.registers
                    || (registers == function.registers && virtual_sm > function.first_virtual_sm)
            }
            Some(_) => {
                if bind == STB_GLOBAL {
                    let first = objects[function.first_definition].name.to_string();
                    let error = Code::MultipleDefinition {
                        symbol: text(function.name),
                        file: object.name.into(),
                        first,
                    };
                    self.out.function_errors.push((object.id, error));
                }
                false
            }
        };
        if !wins {
            if function.entry {
                self.rejected_kernels.push(symbol);
            }
            self.out.fates[symbol] = Fate::Rejected;
            self.out.rejected[object.id] = true;
            return;
        }
        if let Some(old) = function.winner {
            let old_symbol = objects[old.object].symbol_ref(old.symbol);
            self.out.fates[old_symbol] = Fate::Replaced;
            self.replaced.push((object.id, f, old.object));
        }
        if function.winner.is_none() {
            function.first_definition = new.object;
            function.defined_by = Some(symbol);
        }
        if function.first_virtual_sm == 0 {
            function.first_virtual_sm = virtual_sm;
        }
        function.winner = Some(new);
        function.bind = bind;
        function.registers = registers;
        self.out.fates[symbol] = Fate::Winner;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
