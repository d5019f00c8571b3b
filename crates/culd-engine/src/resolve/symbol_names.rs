//! Names of the inputs' symbols: equal ones get one id. This needs nothing but the objects, so it runs ahead of the resolution of functions.
//!
//! 1. Names are in shards, by the first bits of their hashes; with many threads each shard looks at its own names of every object.
//! 2. A shard numbers its names in order of first appearance; the id of a name is made of that number and the shard. Ids are equal for equal names and
//!    have no other meaning: nothing is ordered by them.

use crate::ids::{Id, NameId};
use crate::names::{Interner, NameHasher};
use crate::object::Object;
use crate::par::Threads;
use rayon::prelude::*;

/// Shards, if many threads work: a power of two.
const SHARDS: usize = 8;

/// Distinct names of symbols and prototypes.
#[derive(Debug)]
pub struct SymbolNames<'d> {
    shards: Vec<Shard<'d>>,
}

/// The names with some hashes.
#[derive(Debug, Default)]
struct Shard<'d> {
    names: Interner<'d, NameId>,
    /// Per name: it starts with a dot.
    dotted: Vec<bool>,
}

/// Names of the symbols of consecutive objects.
#[derive(Debug, Default)]
pub struct NamedSymbols {
    /// By symbol; none for those that represent sections.
    pub(super) name_of: Vec<Option<NameId>>,
    /// Ids so far are less than this.
    pub(super) count: usize,
}

/// Per name: it starts with a dot.
#[derive(Debug, Default)]
pub(super) struct DottedNames(Vec<Vec<bool>>);

impl DottedNames {
    pub(super) fn has(&self, id: NameId) -> bool {
        let shards = self.0.len().max(1);
        let shard = self.0.get(id.index() % shards);
        shard.and_then(|s| s.get(id.index() / shards)).copied().unwrap_or(false)
    }
}

impl<'d> Shard<'d> {
    /// The id of a name; this is shard `number` of `count`.
    fn intern(&mut self, name: &'d [u8], hash: u32, number: usize, count: usize) -> NameId {
        let id = self.names.intern_hashed(name, hash);
        if id.index() == self.dotted.len() {
            self.dotted.push(name.first() == Some(&b'.'));
        }
        NameId::from_index(id.index() * count + number)
    }

    /// Calls `named` with the number of each symbol with a name in this shard, and the name's id.
    fn add(&mut self, objects: &[Object<'d>], number: usize, count: usize, mut named: impl FnMut(usize, NameId)) {
        let names: usize = objects.iter().map(|o| o.named as usize).sum();
        self.names.reserve(names / count);
        for object in objects {
            for (symbol, name, hash) in object.names(|hash| shard_of(hash, count) == number) {
                named(symbol.index(), self.intern(name, hash, number, count));
            }
        }
    }
}

/// The shard, of a power of two, that a hash belongs to.
fn shard_of(hash: u32, shards: usize) -> usize {
    ((u64::from(hash) * shards as u64) >> 32) as usize
}

impl<'d> SymbolNames<'d> {
    /// No names.
    pub fn new(threads: Threads) -> Self {
        let count = if threads.are_many() { SHARDS } else { 1 };
        SymbolNames {
            shards: (0..count).map(|_| Shard::default()).collect(),
        }
    }

    /// Takes the next objects.
    pub fn add(&mut self, objects: &[Object<'d>]) -> NamedSymbols {
        let first = objects.first().map_or(0, |o| o.first_symbol as usize);
        let symbols = objects.iter().map(|o| o.symbol_count() as usize).sum();
        let mut name_of = vec![None; symbols];
        let mut put = |symbol: usize, id: NameId| {
            if let Some(place) = name_of.get_mut(symbol - first) {
                *place = Some(id);
            }
        };
        let count = self.shards.len();
        if let [shard] = self.shards.as_mut_slice() {
            shard.add(objects, 0, 1, put);
        } else {
            let shards = self.shards.par_iter_mut().enumerate().map(|(number, shard)| {
                let mut found = Vec::new();
                shard.add(objects, number, count, |symbol, id| found.push((symbol as u32, id)));
                found
            });
            for (symbol, id) in shards.collect::<Vec<_>>().into_iter().flatten() {
                put(symbol as usize, id);
            }
        }
        NamedSymbols {
            name_of,
            count: self.len(),
        }
    }

    /// The id of a further name.
    pub(super) fn intern(&mut self, name: &'d [u8]) -> Option<NameId> {
        let (hash, count) = (NameHasher::default().of(name), self.shards.len());
        let number = shard_of(hash, count);
        Some(self.shards.get_mut(number)?.intern(name, hash, number, count))
    }

    /// All ids are less than this.
    pub(super) fn len(&self) -> usize {
        let longest = self.shards.iter().map(|s| s.names.len()).max().unwrap_or(0);
        longest * self.shards.len()
    }

    /// Which names start with a dot.
    pub(super) fn into_dotted(self) -> DottedNames {
        DottedNames(self.shards.into_iter().map(|s| s.dotted).collect())
    }
}
