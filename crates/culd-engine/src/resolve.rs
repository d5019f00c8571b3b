//! Function resolution over all inputs, before anything is merged. Objects are taken as soon as they are read and their names are numbered
//! ([`symbol_names`]).
//!
//! 1. Functions are numbered by first appearance of their symbol, defined or not; a static function is one of its own.
//! 2. Definitions of one name: strong beats weak, two strong ones are an error. Weak against weak: fewer registers win; with equal
//!    registers the new one wins if its virtual architecture is above that of the first definition's file; else the present one stays.
//! 3. Each definition has a [`Fate`]: winner, rejected on arrival, or replaced later.
//! 4. Call graph lists of all inputs are joined; entries of rejected definitions are ignored, those of replaced ones stay.

mod symbol_names;

use symbol_names::DottedNames;
pub use symbol_names::{NamedSymbols, SymbolNames};

use crate::csr::{GroupedLists, without_repeats};
use crate::diagnostics::Code;
use crate::ids::{FunctionId, NameId, ObjectId, ProtoId, SymbolRef, Table};
use crate::names::{Interner, SeededState};
use crate::object::{FunctionMention, NO_OWNER, Object, StringRef, text};
use crate::options::{Identity, LinkOptions};
use crate::par::Threads;
use cubin::consts::*;
use hashbrown::HashMap;
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

/// Declarations of a function in all objects. Every mention reads it, in random order, so it is small.
#[derive(Debug, Default, Clone, Copy)]
struct Mentions {
    /// Prototype from `.nv.prototype`.
    prototype: Option<ProtoId>,
    /// Last mention.
    latest_prototype: Option<ProtoId>,
    declared_entry: Option<bool>,
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
    mentions: Table<FunctionId, Mentions>,
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
        self.mentions[f].prototype
    }
    /// True when the first mention of a function calls it a kernel.
    pub fn is_declared_entry(&self, f: FunctionId) -> bool {
        self.mentions[f].declared_entry == Some(true)
    }
    /// Name of a function as text.
    pub fn function_name(&self, f: FunctionId) -> String {
        text(self.functions[f].name)
    }
}

/// Resolution, object by object in link order.
#[derive(Debug)]
pub struct Resolver<'d> {
    identity: Identity,
    /// Bytes of all inputs, until the tables have room for them.
    expected: Option<u64>,
    out: Resolved<'d>,
    is_mentioned: Table<ProtoId, bool>,
    direct: Vec<(FunctionId, FunctionId)>,
    sites: Vec<(FunctionId, ProtoId)>,
    takes: Vec<(FunctionId, FunctionId)>,
}

type Objects<'d> = Table<ObjectId, Object<'d>>;

impl<'d> Resolver<'d> {
    /// A resolver without objects. Those that will come have about so many bytes.
    pub fn new(options: &LinkOptions<'_>, bytes: u64) -> Self {
        let out = Resolved {
            name_count: 0,
            prototypes: Interner::new(),
            mentioned: Vec::new(),
            mentioned_until: Table::new(),
            mentions: Table::new(),
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
            identity: options.identity,
            expected: Some(bytes),
            out,
            is_mentioned: Table::new(),
            direct: Vec::new(),
            sites: Vec::new(),
            takes: Vec::new(),
        }
    }

    /// Takes the next objects.
    pub fn add(&mut self, objects: &Objects<'d>, new: Range<usize>, mut names: NamedSymbols) {
        self.out.name_of.append(&mut names.name_of);
        let symbols = self.out.name_of.len();
        self.out.function_of.grow(symbols, u32::MAX);
        self.out.fates.grow(symbols, Fate::None);
        self.out.function_named.grow(names.count, u32::MAX);
        let new = objects.as_slice().get(new).unwrap_or_default();
        for object in new {
            self.out.rejected.push(false);
            self.functions(objects, object);
            self.callgraph(objects, object);
            self.out.mentioned_until.push(self.out.mentioned.len() as u32);
        }
        let bytes: u64 = new.iter().map(Object::file_size).sum();
        if bytes > 0
            && let Some(expected) = self.expected.take()
        {
            self.reserve(bytes, expected.saturating_sub(bytes));
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
        out.mentions.reserve(more(out.mentions.len()));
        self.direct.reserve(more(self.direct.len()));
        self.sites.reserve(more(self.sites.len()));
        self.takes.reserve(more(self.takes.len()));
    }

    /// Joins the call graph lists and returns the result.
    pub fn finish(self, mut names: SymbolNames<'d>, relocatable: bool, threads: Threads) -> Resolved<'d> {
        let Resolver {
            mut out,
            direct,
            sites,
            takes,
            ..
        } = self;
        for &prototype in out.prototypes.strings().iter() {
            if let Some(id) = names.intern(prototype) {
                out.prototype_names.push(id);
            }
        }
        out.name_count = names.len();
        out.dotted = names.into_dotted();
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

    /// Every function symbol of one object, in order.
    fn functions(&mut self, objects: &Objects<'d>, object: &Object<'d>) {
        for mention in object.function_mentions() {
            let FunctionMention { index, bind, entry, .. } = mention;
            let symbol = object.symbol_ref(index);
            let Some(name) = self.out.name(symbol) else { continue };
            let f = self.function_for(object, name, &mention);
            self.out.function_of[symbol] = f.number();
            if bind != STB_LOCAL && *self.out.mentions[f].declared_entry.get_or_insert(entry) != entry {
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
        self.out.mentions.push(Mentions::default());
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
            self.out.fates[symbol] = Fate::Rejected;
            self.out.rejected[object.id] = true;
            return;
        }
        if let Some(old) = function.winner {
            let old_symbol = objects[old.object].symbol_ref(old.symbol);
            self.out.fates[old_symbol] = Fate::Replaced;
        }
        if function.winner.is_none() {
            function.first_definition = new.object;
            function.defined_by = Some(symbol);
            function.taken_before = function.taken.is_some();
        }
        if function.first_virtual_sm == 0 {
            function.first_virtual_sm = virtual_sm;
        }
        function.winner = Some(new);
        function.bind = bind;
        function.registers = registers;
        self.out.fates[symbol] = Fate::Winner;
    }

    /// Joins one object's call graph and prototypes.
    fn callgraph(&mut self, objects: &Objects<'d>, object: &Object<'d>) {
        let graph = &object.callgraph;
        for &(a, b) in &graph.direct {
            if let (Some(a), Some(b)) = (self.speaking(object, a), self.function(object, b)) {
                self.direct.push((a, b));
            }
        }
        let mut known = None;
        for &(a, p) in &graph.taken {
            if let Some(a) = self.speaking(object, a) {
                // The last mention's prototype counts.
                let id = self.intern(object, p, &mut known);
                self.mention(id);
                self.out.functions[a].taken = Some(id);
                self.out.functions[a].taken_unnamed = false;
                self.out.mentions[a].latest_prototype = Some(id);
            } else if let (Identity::Culd, Some(a)) = (self.identity, self.function(object, a)) {
                // nvlink quirk: a copy that was rejected takes no address, so that tables of its object lose the function.
                self.take(a, object.string(p));
            }
        }
        for &(a, p) in &graph.sites {
            if let Some(a) = self.speaking(object, a) {
                let id = self.intern(object, p, &mut known);
                self.mention(id);
                self.sites.push((a, id));
            }
        }
        self.takers(object);
        self.descriptors(object);
        for &(index, p) in &object.prototypes {
            let Some(f) = self.function(object, index) else { continue };
            let id = self.intern(object, p, &mut known);
            self.check_prototype(objects, object, f, id);
            // A rejected copy changes nothing, unless a call of the driver's function follows it.
            let known = self.out.mentions[f].prototype.replace(id);
            if known != Some(id) || self.out.fate(object.symbol_ref(index)) != Fate::Rejected {
                self.mention(id);
            }
            let taken = &mut self.out.functions[f].taken;
            *taken = taken.map(|_| id);
        }
    }

    /// The id of a prototype; that of the one before is `known`, because neighbours often have the same.
    fn intern(&mut self, object: &Object<'d>, string: StringRef, known: &mut Option<(StringRef, ProtoId)>) -> ProtoId {
        match *known {
            Some((last, id)) if last == string => id,
            _ => {
                let id = self.out.prototypes.intern(object.string(string));
                *known = Some((string, id));
                id
            }
        }
    }

    /// Notes the first mention of a prototype.
    fn mention(&mut self, id: ProtoId) {
        self.is_mentioned.grow(self.out.prototypes.len(), false);
        if !std::mem::replace(&mut self.is_mentioned[id], true) {
            self.out.mentioned.push(id);
        }
    }

    /// Address takers: the target counts as taken even if its own definition here was rejected.
    fn takers(&mut self, object: &Object<'d>) {
        if object.callgraph.takers.is_empty() {
            return;
        }
        let mut prototypes = object.callgraph.taken.clone();
        prototypes.reverse();
        prototypes.sort_by_key(|&(index, _)| index);
        for &(a, b) in &object.callgraph.takers {
            let (Some(taker), Some(target)) = (self.speaking(object, a), self.function(object, b)) else {
                continue;
            };
            self.takes.push((taker, target));
            let at = prototypes.partition_point(|&(index, _)| index < b);
            if let Some(&(index, p)) = prototypes.get(at)
                && index == b
            {
                self.take(target, object.string(p));
            }
        }
    }

    /// Functions whose descriptor a relocation references, unless it belongs to a body that was rejected. ptxas 11.7 to 12.1 does not list all
    /// of them as taken by somebody.
    fn descriptors(&mut self, object: &Object<'d>) {
        let mut literals = None;
        for &(section, index) in &object.descriptors {
            let owner = object.section(section).map_or(NO_OWNER, |s| s.owner);
            let rejected = owner != NO_OWNER && self.out.fate(object.symbol_ref(owner)) == Fate::Rejected;
            let target = match self.identity {
                // nvlink quirk: as in call graphs, an object whose copy was rejected takes no address of the function. It does take that of a kernel, unless
                // the address is a literal of rejected bodies only.
                Identity::Nvlink => self.speaking(object, index).or_else(|| {
                    let kernel = self.function(object, index).filter(|&f| self.out.functions[f].entry)?;
                    let literals = literals.get_or_insert_with(|| self.address_literals(object));
                    let is_live = literals.get(&(section, object.symbol(index).name)) != Some(&false);
                    is_live.then_some(kernel)
                }),
                Identity::Culd => self.function(object, index),
            };
            if !rejected && let Some(f) = target {
                self.take(f, b"");
            }
        }
    }

    /// The literals of an object that hold addresses, by section and function: does a body that was not rejected use it?
    fn address_literals(&self, object: &Object<'d>) -> HashMap<(u32, &'d [u8]), bool, SeededState> {
        let mut out = HashMap::default();
        let literal = |index: u32| {
            let symbol = object.symbol(index);
            Some((symbol.defined_in()?, symbol.name.strip_prefix(ADDRESS_LITERAL)?))
        };
        for relocs in &object.relocs {
            let owner = object.section(relocs.target).map_or(NO_OWNER, |s| s.owner);
            let rejected = owner != NO_OWNER && self.out.fate(object.symbol_ref(owner)) == Fate::Rejected;
            let symbols = (0..relocs.entries.len())
                .filter_map(|i| relocs.entries.get(i))
                .map(|r| r.r_sym.get());
            for key in symbols.filter_map(literal) {
                *out.entry(key).or_insert(false) |= !rejected;
            }
        }
        out
    }

    fn take(&mut self, f: FunctionId, prototype: &'d [u8]) {
        if self.out.functions[f].taken.is_none() {
            self.out.functions[f].taken = Some(self.out.prototypes.intern(prototype));
            self.out.functions[f].taken_unnamed = prototype.is_empty();
        }
    }

    /// A prototype that disagrees with the mention before is an error. Calls of driver functions have more text, after a `|`.
    fn check_prototype(&mut self, objects: &Objects<'d>, object: &Object<'d>, f: FunctionId, id: ProtoId) {
        let Some(known) = self.out.mentions[f].latest_prototype.replace(id).filter(|&known| known != id) else {
            return;
        };
        let types = |id: ProtoId| self.out.prototypes.strings()[id].split(|&b| b == b'|').next();
        if types(known) == types(id) {
            return;
        }
        let function = &self.out.functions[f];
        let first = function.winner.map_or(function.first, |w| w.object);
        let first = objects[first].name.to_string();
        let symbol = text(function.name);
        self.out.prototype_errors.push((
            object.id,
            Code::PrototypeMismatch {
                symbol,
                file: object.name.into(),
                first,
            },
        ));
    }

    fn function(&self, object: &Object<'d>, index: u32) -> Option<FunctionId> {
        self.out.function(object.symbol_ref(index))
    }

    /// The function, unless this object's definition of it was rejected.
    fn speaking(&self, object: &Object<'d>, index: u32) -> Option<FunctionId> {
        let symbol = object.symbol_ref(index);
        if self.out.fate(symbol) == Fate::Rejected {
            None
        } else {
            self.out.function(symbol)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
