//! Names: interning, and names composed of a prefix and a part of an input.

use crate::ids::{Id, Table};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hasher};
use std::marker::PhantomData;

/// A name made of a fixed prefix and bytes of an input, so that `.text.f` costs no copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'d> {
    /// Fixed part.
    pub prefix: &'static [u8],
    /// Rest.
    pub rest: &'d [u8],
}

impl<'d> Name<'d> {
    /// A name without prefix.
    pub fn plain(rest: &'d [u8]) -> Self {
        Name { prefix: b"", rest }
    }
    /// A fixed name.
    pub fn fixed(prefix: &'static [u8]) -> Self {
        Name { prefix, rest: b"" }
    }
    /// Prefix and rest.
    pub fn new(prefix: &'static [u8], rest: &'d [u8]) -> Self {
        Name { prefix, rest }
    }
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.prefix.len() + self.rest.len()
    }
    /// The whole name, copied.
    pub fn to_vec(self) -> Vec<u8> {
        [self.prefix, self.rest].concat()
    }
    /// Hash, the same for every split into prefix and rest.
    pub fn hash(self) -> u32 {
        hash_joined(self) as u32
    }
    /// Equal to the bytes?
    pub fn is(&self, bytes: &[u8]) -> bool {
        bytes.strip_prefix(self.prefix) == Some(self.rest)
    }
}

/// Hash with a fixed seed: tables look the same in every run.
pub fn hash(parts: [&[u8]; 2]) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    for part in parts {
        hasher.write(part);
    }
    hasher.finish()
}

/// A hash map state with a fixed seed.
pub type State = FixedState;

/// Distinct byte strings with ids in order of first appearance.
pub struct Interner<'d, I> {
    strings: Table<I, &'d [u8]>,
    /// Low half of the hash, id.
    table: HashTable<(u32, u32)>,
    /// The last string that was looked up: callers often ask about one several times.
    last: Option<(&'d [u8], u32)>,
    id: PhantomData<I>,
}

impl<'d, I: Id> Interner<'d, I> {
    /// An empty interner.
    pub fn new() -> Self {
        Interner {
            strings: Table::new(),
            table: HashTable::new(),
            last: None,
            id: PhantomData,
        }
    }
    /// Makes room for so many more strings.
    pub fn reserve(&mut self, more: usize) {
        self.strings.reserve(more);
        self.table.reserve(more, |&(h, _)| spread(h.into()));
    }
    /// The id of a string, new or known.
    pub fn intern(&mut self, string: &'d [u8]) -> I {
        if let Some((known, id)) = self.last
            && std::ptr::eq(known, string)
        {
            return I::from_index(id as usize);
        }
        let key = spread(hash([string, b""]));
        let Interner { strings, table, .. } = self;
        let same = |&(h, i): &(u32, u32)| h == key as u32 && strings[I::from_index(i as usize)] == string;
        let id = match table.entry(key, same, |&(h, _)| spread(h.into())) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(vacant) => {
                let id = strings.push(string).index() as u32;
                vacant.insert((key as u32, id));
                id
            }
        };
        self.last = Some((string, id));
        I::from_index(id as usize)
    }
    /// The id of a string, if known.
    pub fn get(&self, string: &[u8]) -> Option<I> {
        let key = spread(hash([string, b""]));
        let found = self
            .table
            .find(key, |&(h, i)| h == key as u32 && self.strings[I::from_index(i as usize)] == string)?;
        Some(I::from_index(found.1 as usize))
    }
    /// The string of an id.
    pub fn string(&self, id: I) -> &'d [u8] {
        self.strings[id]
    }
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.strings.len()
    }
    /// All strings in order of first appearance.
    pub fn strings(&self) -> &Table<I, &'d [u8]> {
        &self.strings
    }
}

impl<I: Id> std::fmt::Debug for Interner<'_, I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.strings.fmt(f)
    }
}

impl<I: Id> Default for Interner<'_, I> {
    fn default() -> Self {
        Interner::new()
    }
}

/// An ELF string table under construction: each distinct string once, in order of first appearance.
#[derive(Debug)]
pub struct StringTable {
    bytes: Vec<u8>,
    /// Low half of the hash, offset.
    table: HashTable<(u32, u32)>,
}

impl StringTable {
    /// A table with the empty string at 0; `known_empty` says whether "" is found there or becomes a string of its own. About `count`
    /// names will come.
    pub fn new(known_empty: bool, count: usize) -> Self {
        let mut table = HashTable::with_capacity(count);
        if known_empty {
            let key = spread(hash([b"", b""]));
            table.insert_unique(key, (key as u32, 0), |&(h, _)| spread(h.into()));
        }
        StringTable { bytes: vec![0], table }
    }
    /// Offset of a name, added if new.
    pub fn add(&mut self, name: Name<'_>) -> u32 {
        self.add_hashed(name, name.hash())
    }
    /// The same for a name whose hash is known.
    pub fn add_hashed(&mut self, name: Name<'_>, hash: u32) -> u32 {
        let key = spread(hash.into());
        let StringTable { bytes, table } = self;
        let same = |&(h, offset): &(u32, u32)| h == key as u32 && is_at(bytes, offset as usize, name);
        match table.entry(key, same, |&(h, _)| spread(h.into())) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(vacant) => {
                let offset = bytes.len() as u32;
                vacant.insert((key as u32, offset));
                bytes.extend_from_slice(name.prefix);
                bytes.extend_from_slice(name.rest);
                bytes.push(0);
                offset
            }
        }
    }
    /// The finished table.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A hash whose both ends depend on the low half alone: tables use its top bits and its low bits, and keep the low half.
fn spread(hash: u64) -> u64 {
    let low = hash & 0xffff_ffff;
    low | low << 32
}

/// Same value for every split of a name into prefix and rest.
fn hash_joined(name: Name<'_>) -> u64 {
    match name.len() {
        _ if name.prefix.is_empty() => hash([name.rest, b""]),
        // Clearing a large buffer would cost more than the hash of a short name.
        0..=64 => hash_copied::<64>(name),
        65..=256 => hash_copied::<256>(name),
        _ => hash([&name.to_vec(), b""]),
    }
}

/// The hash of a name of at most `N` bytes.
fn hash_copied<const N: usize>(name: Name<'_>) -> u64 {
    let mut joined = [0u8; N];
    let Some(place) = joined.get_mut(..name.len()) else { return 0 };
    if let Some((head, tail)) = place.split_at_mut_checked(name.prefix.len()) {
        head.copy_from_slice(name.prefix);
        tail.copy_from_slice(name.rest);
    }
    hash([place, b""])
}

fn is_at(bytes: &[u8], offset: usize, name: Name<'_>) -> bool {
    let Some(found) = bytes.get(offset..offset + name.len() + 1) else {
        return false;
    };
    let (text, end) = found.split_at(name.len());
    end == [0] && name.is(text)
}
