//! Names: interning, and names composed of a prefix and a part of an input.

use crate::ids::{Id, Table};
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

/// A name made of a fixed prefix and bytes of an input, so that `.text.f` costs no copy.
#[derive(Debug, Clone, Copy)]
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
        hash_joined(self)
    }
    /// Starts with a dot?
    pub fn is_dotted(&self) -> bool {
        self.prefix.first().or(self.rest.first()) == Some(&b'.')
    }
    /// Equal to the bytes?
    pub fn is(&self, bytes: &[u8]) -> bool {
        bytes.strip_prefix(self.prefix) == Some(self.rest)
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Name<'_>) -> bool {
        if self.prefix == other.prefix {
            return self.rest == other.rest;
        }
        self.len() == other.len() && self.prefix.iter().chain(self.rest).eq(other.prefix.iter().chain(other.rest))
    }
}

impl Eq for Name<'_> {}

/// Seed of all hashes of this process. It is random, so that no file can be made whose names all collide; nothing that
/// is written depends on it.
static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());

/// A hash map state with the seed of this process.
#[derive(Debug, Clone)]
pub struct SeededState(FixedState);

impl Default for SeededState {
    fn default() -> Self {
        SeededState(FixedState::with_seed(*SEED))
    }
}

impl BuildHasher for SeededState {
    type Hasher = <FixedState as BuildHasher>::Hasher;
    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// Hashes many strings.
#[derive(Debug, Clone, Default)]
pub struct NameHasher(SeededState);

impl NameHasher {
    /// Hash of a string.
    pub fn of(&self, string: &[u8]) -> u32 {
        let mut hasher = self.0.build_hasher();
        hasher.write(string);
        hasher.finish() as u32
    }
}

/// Hash of a string.
fn hash(string: &[u8]) -> u32 {
    NameHasher::default().of(string)
}

/// A hash table of numbers, by hashes that their owner can check.
#[derive(Debug, Default)]
struct RawTable {
    /// Hash and number; `FREE` is none. Their count is a power of two.
    slots: Vec<(u32, u32)>,
    used: usize,
}

/// A number that no slot holds.
const FREE: u32 = u32::MAX;

impl RawTable {
    /// Four fifths are used at most.
    fn limit(&self) -> usize {
        self.slots.len() / 5 * 4
    }
    /// Makes room for so many more.
    fn reserve(&mut self, more: usize) {
        let wanted = self.used + more;
        if wanted <= self.limit() {
            return;
        }
        let size = (wanted / 4 * 5 + 5).next_power_of_two();
        let old = std::mem::replace(&mut self.slots, vec![(0, FREE); size]);
        for (hash, number) in old.into_iter().filter(|s| s.1 != FREE) {
            if let Err(at) = self.look(hash, |_| false) {
                self.put(at, hash, number);
            }
        }
    }
    /// The number with this hash that is the `same`, or the place for it.
    fn look(&self, hash: u32, same: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        // There is always a free one.
        while let Some(&(known, number)) = self.slots.get(at)
            && number != FREE
        {
            if known == hash && same(number) {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
        Err(at)
    }
    fn put(&mut self, at: usize, hash: u32, number: u32) {
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = (hash, number);
        }
    }
    /// The number with this hash that is the `same`, or a `new` one.
    fn find_or_add(&mut self, hash: u32, same: impl Fn(u32) -> bool, new: u32) -> (u32, bool) {
        if self.used >= self.limit() {
            self.reserve(1);
        }
        match self.look(hash, same) {
            Ok(known) => (known, false),
            Err(at) => {
                self.put(at, hash, new);
                self.used += 1;
                (new, true)
            }
        }
    }
}

/// Distinct byte strings with ids in order of first appearance.
pub struct Interner<'d, I> {
    strings: Table<I, &'d [u8]>,
    slots: RawTable,
}

impl<'d, I: Id> Interner<'d, I> {
    /// An empty interner.
    pub fn new() -> Self {
        Interner {
            strings: Table::new(),
            slots: RawTable::default(),
        }
    }
    /// Makes room for so many more strings.
    pub fn reserve(&mut self, more: usize) {
        self.strings.reserve(more);
        self.slots.reserve(more);
    }
    /// The id of a string, new or known.
    pub fn intern(&mut self, string: &'d [u8]) -> I {
        self.intern_hashed(string, hash(string))
    }
    /// The same for a string whose hash is known.
    pub fn intern_hashed(&mut self, string: &'d [u8], hash: u32) -> I {
        let Interner { strings, slots } = self;
        let same = |number: u32| strings[I::from_index(number as usize)] == string;
        let (number, is_new) = slots.find_or_add(hash, same, strings.len() as u32);
        if is_new {
            return strings.push(string);
        }
        I::from_index(number as usize)
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

/// Numbers for distinct things in order of first appearance, by hashes that their owner can check.
#[derive(Debug)]
pub struct Deduplicator {
    slots: RawTable,
}

impl Deduplicator {
    /// About `count` things will come.
    pub fn new(count: usize) -> Self {
        let mut slots = RawTable::default();
        slots.reserve(count);
        Deduplicator { slots }
    }
    /// The number of the thing with this hash that is the `same`, or the next one.
    pub fn number(&mut self, hash: u32, same: impl Fn(u32) -> bool) -> u32 {
        let next = self.slots.used as u32;
        self.slots.find_or_add(hash, same, next).0
    }
    /// The number of the first thing with this hash that is the `same`; of a new thing its own `number`.
    pub fn first(&mut self, hash: u32, number: u32, same: impl Fn(u32) -> bool) -> u32 {
        self.slots.find_or_add(hash, same, number).0
    }
    /// The number of the thing with this hash that is the `same`.
    pub fn find(&self, hash: u32, same: impl Fn(u32) -> bool) -> Option<u32> {
        self.slots.look(hash, same).ok()
    }
}

/// Same value for every split of a name into prefix and rest.
fn hash_joined(name: Name<'_>) -> u32 {
    match name.len() {
        _ if name.prefix.is_empty() => hash(name.rest),
        // Clearing a large buffer would cost more than the hash of a short name.
        0..=64 => hash_copied::<64>(name),
        65..=256 => hash_copied::<256>(name),
        _ => hash(&name.to_vec()),
    }
}

/// The hash of a name of at most `N` bytes.
fn hash_copied<const N: usize>(name: Name<'_>) -> u32 {
    let mut joined = [0u8; N];
    let Some(place) = joined.get_mut(..name.len()) else { return 0 };
    if let Some((head, tail)) = place.split_at_mut_checked(name.prefix.len()) {
        head.copy_from_slice(name.prefix);
        tail.copy_from_slice(name.rest);
    }
    hash(place)
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a failed test")]
mod tests {
    use super::*;
    use crate::ids::NameId;

    #[test]
    fn names_with_equal_hashes_stay_apart() {
        let strings: Vec<String> = (0..300).map(|n| format!("name{n}")).collect();
        let mut interner: Interner<'_, NameId> = Interner::new();
        for round in 0..2 {
            for (n, string) in strings.iter().enumerate() {
                let id = interner.intern_hashed(string.as_bytes(), n as u32 % 3);
                assert_eq!(id.index(), n, "round {round}");
            }
        }
        assert_eq!(interner.len(), strings.len());
    }

    #[test]
    fn a_name_is_the_same_however_it_is_split() {
        let whole = Name::plain(b".text.f");
        for name in [Name::new(b".text.", b"f"), Name::fixed(b".text.f"), Name::new(b".", b"text.f")] {
            assert_eq!(name, whole);
            assert_eq!(name.hash(), whole.hash());
            assert!(name.is_dotted() && name.is(b".text.f"));
        }
        for other in [
            Name::plain(b".text."),
            Name::new(b".text.", b"g"),
            Name::new(b".text", b"f"),
            Name::fixed(b""),
        ] {
            assert_ne!(other, whole);
        }
        assert!(!Name::plain(b"").is_dotted());
    }

    #[test]
    fn things_are_numbered_in_order() {
        let things: Vec<u32> = (0..500).map(|n| n * 7 % 300).collect();
        let mut numbering = Deduplicator::new(0);
        let mut distinct: Vec<u32> = Vec::new();
        for &thing in &things {
            let number = numbering.number(thing % 11, |n| distinct[n as usize] == thing) as usize;
            if number == distinct.len() {
                distinct.push(thing);
            }
            assert_eq!(distinct[number], thing);
        }
        assert_eq!(distinct.len(), 300);
        assert_eq!(numbering.find(3, |_| false), None);
        let mut firsts = Deduplicator::new(0);
        for (n, &thing) in (0u32..).zip(&things) {
            let first = firsts.first(thing % 11, n, |other| things[other as usize] == thing);
            assert_eq!(things.iter().position(|&t| t == thing), Some(first as usize));
        }
    }
}
