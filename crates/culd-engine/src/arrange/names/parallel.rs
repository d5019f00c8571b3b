//! String tables with many threads.
//!
//! 1. Every mention of a string has a key: its section, its [`NameId`], or a number among the strings that need a look at all others. Equal strings that
//!    share a place have equal keys.
//! 2. The first mention of each key is where the string is added.
//! 3. Mentions are divided into parts. The sizes of their strings decide the offset of each part.
//! 4. The parts are written side by side. The offset of each string is noted under its key, where the other mentions find it.

use super::{Distinct, literal_name};
use crate::ids::{Id, NameId, ProtoId, SectionId, SymbolId, Table};
use crate::names::{Deduplicator, Name};
use crate::records::{Emission, Merged, SymbolTableEntry};
use crate::session::Link;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Mentions of one part.
const PART: usize = 2048;
/// No string.
const NONE: u32 = u32::MAX;
/// A string that may be equal to any other.
const ODD: u32 = u32::MAX - 1;

/// What has a name.
#[derive(Clone, Copy)]
enum Owner {
    Prototype(ProtoId),
    Section(SectionId),
    Symbol(SymbolId),
}

/// An odd string and its position among the mentions.
type Odd<'d> = (usize, Cow<'d, [u8]>);

/// `.strtab` and where the names are in it.
pub(super) struct SymbolNames {
    pub(super) strings: Vec<u8>,
    pub(super) of_sections: Table<SectionId, u32>,
    pub(super) of_symbols: Table<SymbolId, u32>,
    pub(super) prototype_offset: Table<ProtoId, u32>,
}

/// All mentions of strings, in order.
struct Mentions<'a, 'd> {
    link: Link<'a, 'd>,
    records: &'a Merged<'d>,
    distinct: &'a Distinct,
}

impl<'d> Mentions<'_, 'd> {
    fn len(&self) -> usize {
        self.link.resolved.mentioned.len() + self.records.order.locals.len() + self.records.order.globals.len()
    }

    fn owner(&self, at: usize) -> Option<Owner> {
        let (prototypes, locals) = (&self.link.resolved.mentioned, &self.records.order.locals);
        if let Some(&prototype) = prototypes.get(at) {
            return Some(Owner::Prototype(prototype));
        }
        let at = at - prototypes.len();
        match locals.get(at) {
            Some(&SymbolTableEntry::Section(id)) => Some(Owner::Section(id)),
            Some(&SymbolTableEntry::Symbol(id)) => Some(Owner::Symbol(id)),
            None => self.records.order.globals.get(at - locals.len()).map(|&id| Owner::Symbol(id)),
        }
    }

    fn key(&self, owner: Owner) -> u32 {
        let plain = |id: Option<NameId>| {
            let id = id.filter(|&id| !self.link.resolved.is_dotted(id));
            id.map_or(ODD, |id| (self.records.sections.len() + id.index()) as u32)
        };
        match owner {
            Owner::Prototype(p) => plain(self.link.resolved.prototype_name(p)),
            Owner::Section(id) if self.records.sections[id].emission == Emission::Never => NONE,
            Owner::Section(id) => self.distinct.first[id].index() as u32,
            Owner::Symbol(id) => match &self.records.symbols[id] {
                sym if !sym.emission.has_name() => NONE,
                sym if sym.literal_number != 0 => ODD,
                sym => plain(sym.name_id),
            },
        }
    }

    /// The string of a mention that is not a literal's name.
    fn name(&self, owner: Owner) -> Name<'d> {
        match owner {
            Owner::Prototype(p) => Name::plain(self.link.resolved.prototypes.string(p)),
            Owner::Section(id) => self.records.sections[id].name,
            Owner::Symbol(id) => Name::plain(self.records.symbols[id].name),
        }
    }

    fn odd(&self, owner: Owner) -> Cow<'d, [u8]> {
        match owner {
            Owner::Symbol(id) if self.records.symbols[id].literal_number != 0 => {
                literal_name(self.records, &self.records.symbols[id]).into()
            }
            owner => Cow::from(self.name(owner).rest),
        }
    }

    /// Gives odd strings their keys; the strings, and the number of keys.
    fn resolve_odd(&self, keys: &mut [u32]) -> (Vec<Odd<'d>>, usize) {
        let first = self.records.sections.len() + self.link.resolved.name_count;
        let mut numbering = Deduplicator::new(0);
        let mut names: Vec<Cow<'d, [u8]>> = Vec::new();
        let mut mentioned = Vec::new();
        for (at, key) in keys.iter_mut().enumerate().filter(|(_, key)| **key == ODD) {
            let Some(owner) = self.owner(at) else { continue };
            let name = self.odd(owner);
            let hash = Name::plain(&name).hash();
            *key = match self.distinct.find(self.records, hash, &name) {
                Some(section) => section.index() as u32,
                None => {
                    let number = numbering.number(hash, |n| names.get(n as usize) == Some(&name));
                    if number as usize == names.len() {
                        names.push(name.clone());
                    }
                    first as u32 + number
                }
            };
            mentioned.push((at, name));
        }
        (mentioned, first + names.len())
    }
}

/// A string table, and where the string of each key is in it.
struct StringTable {
    bytes: Vec<u8>,
    /// By key; 0 for keys without a mention.
    offsets: Vec<AtomicU32>,
}

fn numbers(count: usize, value: u32) -> Vec<AtomicU32> {
    let all = (0..count).into_par_iter().with_min_len(PART);
    all.map(|_| AtomicU32::new(value)).collect()
}

impl StringTable {
    /// Makes the table of mentions with these keys, which are less than `count`. `names` gives the strings of mentions that ascend.
    fn new<'d, N: FnMut(usize) -> Option<Name<'d>>>(keys: &[u32], count: usize, names: impl Fn(usize) -> N + Sync) -> Self {
        let first = numbers(count, NONE);
        keys.par_iter().with_min_len(PART).enumerate().for_each(|(at, &key)| {
            if let Some(first) = first.get(key as usize) {
                first.fetch_min(at as u32, Relaxed);
            }
        });
        let is_first = |at: usize, key: u32| first.get(key as usize).is_some_and(|first| first.load(Relaxed) == at as u32);
        // The strings that a part adds, with their keys.
        let added = |part: usize| {
            let start = part * PART;
            let own = keys.get(start..keys.len().min(start + PART)).unwrap_or_default();
            let added = (start..).zip(own).filter(|&(at, &key)| is_first(at, key));
            let mut name = names(start);
            added.filter_map(move |(at, &key)| Some((key, name(at)?)))
        };
        let parts = keys.len().div_ceil(PART);
        let sizes: Vec<usize> = (0..parts)
            .into_par_iter()
            .map(|part| added(part).map(|(_, name)| name.len() + 1).sum())
            .collect();
        let mut bytes = vec![0; 1 + sizes.iter().sum::<usize>()];
        let (mut rest, mut offset) = (bytes.get_mut(1..).unwrap_or_default(), 1);
        let mut places = Vec::with_capacity(parts);
        for (part, size) in sizes.into_iter().enumerate() {
            let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
            places.push((part, offset, place));
            (rest, offset) = (tail, offset + size);
        }
        let offsets = numbers(count, 0);
        places.into_par_iter().for_each(|(part, mut offset, mut place)| {
            for (key, name) in added(part) {
                let size = name.len() + 1;
                let (own, tail) = std::mem::take(&mut place).split_at_mut_checked(size).unwrap_or_default();
                if let Some((prefix, rest)) = own.split_at_mut_checked(name.prefix.len())
                    && let Some(rest) = rest.get_mut(..name.rest.len())
                {
                    prefix.copy_from_slice(name.prefix);
                    rest.copy_from_slice(name.rest);
                }
                if let Some(noted) = offsets.get(key as usize) {
                    noted.store(offset as u32, Relaxed);
                }
                (place, offset) = (tail, offset + size);
            }
        });
        StringTable { bytes, offsets }
    }

    fn offset(&self, key: u32) -> Option<u32> {
        Some(self.offsets.get(key as usize)?.load(Relaxed))
    }
}

/// Makes `.shstrtab`. The key of a section is the first one of its name.
pub(super) fn section_strings(records: &Merged<'_>, distinct: &Distinct) -> (Vec<u8>, Table<SectionId, u32>) {
    let sections = records.sections.as_slice();
    let key = |at: usize| {
        let has_name = sections.get(at).is_some_and(|s| s.emission != Emission::Never && s.name.len() > 0);
        let first = distinct.first.as_slice().get(at).filter(|_| has_name);
        first.map_or(NONE, |first| first.index() as u32)
    };
    let all = || (0..sections.len()).into_par_iter().with_min_len(PART);
    let keys: Vec<u32> = all().map(key).collect();
    let table = StringTable::new(&keys, sections.len(), |_| |at: usize| Some(sections.get(at)?.name));
    let offset = |at: usize| table.offset(keys.get(at).copied().unwrap_or(NONE)).unwrap_or(0);
    let offsets: Vec<u32> = all().map(offset).collect();
    (table.bytes, offsets.into())
}

/// Makes `.strtab`. All section names start with a dot, and a symbol without a [`NameId`] has a name that does, too.
pub(super) fn symbol_strings<'d>(link: Link<'_, 'd>, records: &Merged<'d>, distinct: &Distinct) -> SymbolNames {
    let mentions = &Mentions { link, records, distinct };
    let all = (0..mentions.len()).into_par_iter().with_min_len(PART);
    let mut keys: Vec<u32> = all.map(|at| mentions.owner(at).map_or(NONE, |owner| mentions.key(owner))).collect();
    let (odd, count) = mentions.resolve_odd(&mut keys);
    let names = |start: usize| {
        let mut odd = odd.iter().skip(odd.partition_point(|(at, _)| *at < start)).peekable();
        move |at: usize| {
            while odd.next_if(|(other, _)| *other < at).is_some() {}
            match odd.next_if(|(other, _)| *other == at) {
                Some((_, name)) => Some(Name::plain(name)),
                None => Some(mentions.name(mentions.owner(at)?)),
            }
        }
    };
    let table = StringTable::new(&keys, count, names);
    let (sections, symbols) = (numbers(records.sections.len(), 0), numbers(records.symbols.len(), 0));
    let prototypes = numbers(link.resolved.prototypes.len(), 0);
    keys.par_iter().with_min_len(PART).enumerate().for_each(|(at, &key)| {
        let (Some(offset), Some(owner)) = (table.offset(key), mentions.owner(at)) else {
            return;
        };
        let place = match owner {
            Owner::Prototype(p) => prototypes.get(p.index()),
            Owner::Section(id) => sections.get(id.index()),
            Owner::Symbol(id) => symbols.get(id.index()),
        };
        if let Some(place) = place {
            place.store(offset, Relaxed);
        }
    });
    let plain = |list: Vec<AtomicU32>| list.into_iter().map(AtomicU32::into_inner).collect::<Vec<_>>();
    SymbolNames {
        strings: table.bytes,
        of_sections: plain(sections).into(),
        of_symbols: plain(symbols).into(),
        prototype_offset: plain(prototypes).into(),
    }
}
