//! Call graphs and prototypes of all inputs, joined in link order.
//!
//! An object's lists need the numbers of its own functions and whether its definitions were rejected on arrival, which nothing changes later
//! ([`ObjectFunctions`]). So this follows the resolution of functions at a distance, on another thread. What it needs of other objects, the definition that
//! prevailed when a prototype disagreed, is found at the end.

use super::{ADDRESS_LITERAL, Fate};
use crate::ids::{FunctionId, ObjectId, ProtoId, SymbolRef, Table};
use crate::names::{Interner, SeededState};
use crate::object::{NO_OWNER, Object, StringRef};
use crate::options::{Identity, LinkOptions};
use hashbrown::HashMap;

/// What the call graphs of consecutive objects need of their functions.
#[derive(Debug)]
pub struct ObjectFunctions {
    /// Number of their first symbol.
    pub(super) first: usize,
    /// By symbol: number of its function, or the largest number.
    pub(super) numbers: Vec<u32>,
    /// By symbol, when the objects arrived.
    pub(super) fates: Vec<Fate>,
    /// Symbols of kernels that were rejected, ascending.
    pub(super) rejected_kernels: Vec<SymbolRef>,
    /// Number of functions so far.
    pub(super) count: usize,
}

impl ObjectFunctions {
    fn place(&self, object: &Object<'_>, index: u32) -> usize {
        (object.first_symbol as usize + index as usize).wrapping_sub(self.first)
    }

    fn function(&self, object: &Object<'_>, index: u32) -> Option<FunctionId> {
        let number = self.numbers.get(self.place(object, index)).copied();
        number.filter(|&number| number != u32::MAX).map(FunctionId::new)
    }

    fn fate(&self, object: &Object<'_>, index: u32) -> Fate {
        self.fates.get(self.place(object, index)).copied().unwrap_or_default()
    }

    fn is_rejected_kernel(&self, object: &Object<'_>, index: u32) -> bool {
        self.rejected_kernels.binary_search(&object.symbol_ref(index)).is_ok()
    }

    /// The function, unless this object's definition of it was rejected.
    fn speaking(&self, object: &Object<'_>, index: u32) -> Option<FunctionId> {
        match self.fate(object, index) {
            Fate::Rejected => None,
            _ => self.function(object, index),
        }
    }
}

/// Prototypes that call graphs state for a function. Every mention reads them, in random order, so they are small.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct StatedPrototypes {
    /// From `.nv.prototype`.
    pub(super) prototype: Option<ProtoId>,
    /// Of the last mention.
    latest: Option<ProtoId>,
}

/// How the address of a function is taken.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Taken {
    /// With this prototype; none if nothing takes it.
    pub(super) prototype: Option<ProtoId>,
    /// Only a rejected copy takes it, without a prototype.
    pub(super) unnamed: bool,
    /// The first object that does.
    pub(super) by: Option<ObjectId>,
}

/// The joined lists, object by object in link order.
#[derive(Debug)]
pub struct CallLists<'d> {
    identity: Identity,
    pub(super) prototypes: Interner<'d, ProtoId>,
    is_mentioned: Table<ProtoId, bool>,
    pub(super) mentioned: Vec<ProtoId>,
    pub(super) mentioned_until: Table<ObjectId, u32>,
    pub(super) stated: Table<FunctionId, StatedPrototypes>,
    pub(super) taken: Table<FunctionId, Taken>,
    pub(super) direct: Vec<(FunctionId, FunctionId)>,
    pub(super) sites: Vec<(FunctionId, ProtoId)>,
    pub(super) takes: Vec<(FunctionId, FunctionId)>,
    /// Functions with prototypes that disagree, and the object that states the later one.
    pub(super) mismatches: Vec<(ObjectId, FunctionId)>,
}

impl<'d> CallLists<'d> {
    /// No lists.
    pub fn new(options: &LinkOptions<'_>) -> Self {
        CallLists {
            identity: options.identity,
            prototypes: Interner::new(),
            is_mentioned: Table::new(),
            mentioned: Vec::new(),
            mentioned_until: Table::new(),
            stated: Table::new(),
            taken: Table::new(),
            direct: Vec::new(),
            sites: Vec::new(),
            takes: Vec::new(),
            mismatches: Vec::new(),
        }
    }

    /// Takes the next objects.
    pub fn add(&mut self, objects: &[Object<'d>], own: &ObjectFunctions) {
        self.stated.grow(own.count, StatedPrototypes::default());
        self.taken.grow(own.count, Taken::default());
        for object in objects {
            self.object(own, object);
            self.mentioned_until.push(self.mentioned.len() as u32);
        }
    }

    /// Joins one object's call graph and prototypes.
    fn object(&mut self, own: &ObjectFunctions, object: &Object<'d>) {
        let graph = &object.callgraph;
        for &(a, b) in &graph.direct {
            if let (Some(a), Some(b)) = (own.speaking(object, a), own.function(object, b)) {
                self.direct.push((a, b));
            }
        }
        let mut known = None;
        for &(a, p) in &graph.taken {
            if let Some(a) = own.speaking(object, a) {
                // The last mention's prototype counts.
                let id = self.intern(object, p, &mut known);
                self.mention(id);
                let taken = &mut self.taken[a];
                (taken.prototype, taken.unnamed) = (Some(id), false);
                taken.by.get_or_insert(object.id);
                self.stated[a].latest = Some(id);
            } else if let (Identity::Culd, Some(a)) = (self.identity, own.function(object, a)) {
                // nvlink quirk: a copy that was rejected takes no address, so that tables of its object lose the function.
                self.take(a, object.string(p), object);
            }
        }
        for &(a, p) in &graph.sites {
            if let Some(a) = own.speaking(object, a) {
                let id = self.intern(object, p, &mut known);
                self.mention(id);
                self.sites.push((a, id));
            }
        }
        self.takers(own, object);
        self.descriptors(own, object);
        for &(index, p) in &object.prototypes {
            let Some(f) = own.function(object, index) else { continue };
            let id = self.intern(object, p, &mut known);
            self.check_prototype(object, f, id);
            // A rejected copy changes nothing, unless a call of the driver's function follows it.
            let known = self.stated[f].prototype.replace(id);
            if known != Some(id) || own.fate(object, index) != Fate::Rejected {
                self.mention(id);
            }
            let taken = &mut self.taken[f].prototype;
            *taken = taken.map(|_| id);
        }
    }

    /// The id of a prototype; that of the one before is `known`, because neighbours often have the same.
    fn intern(&mut self, object: &Object<'d>, string: StringRef, known: &mut Option<(StringRef, ProtoId)>) -> ProtoId {
        match *known {
            Some((last, id)) if last == string => id,
            _ => {
                let id = self.prototypes.intern(object.string(string));
                *known = Some((string, id));
                id
            }
        }
    }

    /// Notes the first mention of a prototype.
    fn mention(&mut self, id: ProtoId) {
        self.is_mentioned.grow(self.prototypes.len(), false);
        if !std::mem::replace(&mut self.is_mentioned[id], true) {
            self.mentioned.push(id);
        }
    }

    /// Address takers: the target counts as taken even if its own definition here was rejected.
    fn takers(&mut self, own: &ObjectFunctions, object: &Object<'d>) {
        if object.callgraph.takers.is_empty() {
            return;
        }
        let mut prototypes = object.callgraph.taken.clone();
        prototypes.reverse();
        prototypes.sort_by_key(|&(index, _)| index);
        for &(a, b) in &object.callgraph.takers {
            let (Some(taker), Some(target)) = (own.speaking(object, a), own.function(object, b)) else {
                continue;
            };
            self.takes.push((taker, target));
            let at = prototypes.partition_point(|&(index, _)| index < b);
            if let Some(&(index, p)) = prototypes.get(at)
                && index == b
            {
                self.take(target, object.string(p), object);
            }
        }
    }

    /// Functions whose descriptor a relocation references, unless it belongs to a body that was rejected. ptxas 11.7 to 12.1 does not list all
    /// of them as taken by somebody.
    fn descriptors(&mut self, own: &ObjectFunctions, object: &Object<'d>) {
        let mut literals = None;
        for &(section, index) in &object.descriptors {
            let owner = object.section(section).map_or(NO_OWNER, |s| s.owner);
            let rejected = owner != NO_OWNER && own.fate(object, owner) == Fate::Rejected;
            let target = match self.identity {
                // nvlink quirk: as in call graphs, an object whose copy was rejected takes no address of the function. It does take that of a kernel, unless
                // the address is a literal of rejected bodies only.
                Identity::Nvlink => own.speaking(object, index).or_else(|| {
                    let kernel = own.function(object, index).filter(|_| own.is_rejected_kernel(object, index))?;
                    let literals = literals.get_or_insert_with(|| address_literals(own, object));
                    let is_live = literals.get(&(section, object.symbol(index).name)) != Some(&false);
                    is_live.then_some(kernel)
                }),
                Identity::Culd => own.function(object, index),
            };
            if !rejected && let Some(f) = target {
                self.take(f, b"", object);
            }
        }
    }

    fn take(&mut self, f: FunctionId, prototype: &'d [u8], object: &Object<'d>) {
        if self.taken[f].prototype.is_none() {
            self.taken[f] = Taken {
                prototype: Some(self.prototypes.intern(prototype)),
                unnamed: prototype.is_empty(),
                by: Some(object.id),
            };
        }
    }

    /// A prototype that disagrees with the mention before is an error. Calls of driver functions have more text, after a `|`.
    fn check_prototype(&mut self, object: &Object<'d>, f: FunctionId, id: ProtoId) {
        let Some(known) = self.stated[f].latest.replace(id).filter(|&known| known != id) else {
            return;
        };
        let types = |id: ProtoId| self.prototypes.strings()[id].split(|&b| b == b'|').next();
        if types(known) != types(id) {
            self.mismatches.push((object.id, f));
        }
    }
}

/// The literals of an object that hold addresses, by section and function: does a body that was not rejected use it?
fn address_literals<'d>(own: &ObjectFunctions, object: &Object<'d>) -> HashMap<(u32, &'d [u8]), bool, SeededState> {
    let mut out = HashMap::default();
    let literal = |index: u32| {
        let symbol = object.symbol(index);
        Some((symbol.defined_in()?, symbol.name.strip_prefix(ADDRESS_LITERAL)?))
    };
    for relocs in &object.relocs {
        let owner = object.section(relocs.target).map_or(NO_OWNER, |s| s.owner);
        let rejected = owner != NO_OWNER && own.fate(object, owner) == Fate::Rejected;
        let symbols = (0..relocs.entries.len())
            .filter_map(|i| relocs.entries.get(i))
            .map(|r| r.r_sym.get());
        for key in symbols.filter_map(literal) {
            *out.entry(key).or_insert(false) |= !rejected;
        }
    }
    out
}
