//! The string tables: each distinct string once, in order of first appearance.
//!
//! 1. `.shstrtab`: names of sections in order of creation. `.strtab`: prototypes, then section names and static and weak symbols in order of
//!    creation, then global symbols. Records that are not emitted keep their names unless they were withdrawn.
//! 2. Equal names of symbols and prototypes were found when they were resolved: their [`NameId`] says where they are.
//! 3. Equal names of sections are found by their hashes, once for both tables; so is what may be equal to one of them: they start with a
//!    dot. Should a section have another name, everything is looked for among them. With several threads, each looks at the names whose hashes
//!    are in its part of all hashes.
//! 4. With many threads, strings are found and copied in parallel ([`parallel`]). Where symbols have odd names, only the offsets of the strings of `.strtab`
//!    are decided, in order; their bytes are copied afterwards.

mod parallel;

use crate::ids::{NameId, ProtoId, SectionId, SymbolId, Table};
use crate::layout::Layout;
use crate::names::{Deduplicator, Name, SeededState};
use crate::par::Threads;
use crate::records::{Emission, Merged, OutSection, OutSymbol, SymbolTableEntry};
use crate::session::Link;
use cubin::consts::STT_FUNC;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::borrow::Cow;

/// The string tables and where everything's name is in them.
#[derive(Debug)]
pub struct Names {
    pub(super) strings: Vec<u8>,
    pub(super) section_names: Vec<u8>,
    /// Names of sections in `.shstrtab`.
    pub(super) section_offset: Table<SectionId, u32>,
    /// Names of section symbols in `.strtab`.
    pub(super) of_sections: Table<SectionId, u32>,
    /// Names of symbols in `.strtab`.
    pub(super) of_symbols: Table<SymbolId, u32>,
    pub(super) prototype_offset: Table<ProtoId, u32>,
}

/// Makes the string tables. They do not depend on what is emitted, so this can run beside other phases.
pub fn names<'d>(link: Link<'_, 'd>, layout: &Layout<'d>) -> Names {
    let records = &layout.records;
    if link.mode.rules.keeps_dead_names {
        return created_names(link, records);
    }
    let distinct = Distinct::of_sections(link, records);
    let (mut names, (section_names, section_offset)) = link.threads.join(
        || symbol_strings(link, records, &distinct),
        || section_strings(link, records, &distinct),
    );
    names.section_names = section_names;
    names.section_offset = section_offset;
    names
}

/// The string tables of releases that keep the names of all records that they made, in the order in which they made them.
fn created_names<'d>(link: Link<'_, 'd>, records: &Merged<'d>) -> Names {
    let resolved = link.resolved;
    let mut strings = Strings::new(0, 0, link.threads);
    let mut section_names = Strings::new(0, 0, link.threads);
    let mut in_strings: HashMap<Vec<u8>, u32, SeededState> = HashMap::default();
    let mut in_sections: HashMap<Vec<u8>, u32, SeededState> = HashMap::default();
    let add = |table: &mut Strings<'d>, known: &mut HashMap<Vec<u8>, u32, SeededState>, name: Name<'d>| {
        table.add(known.entry(name.to_vec()).or_insert(ABSENT), name)
    };
    let mut prototype_offset = Table::filled(resolved.prototypes.len(), 0);
    for &name in &records.created.sections {
        add(&mut section_names, &mut in_sections, name);
    }
    for &name in &records.created.symbols {
        add(&mut strings, &mut in_strings, name);
    }
    for &p in &resolved.mentioned {
        prototype_offset[p] = add(&mut strings, &mut in_strings, Name::plain(resolved.prototypes.string(p)));
    }
    let mut out = Names {
        strings: Vec::new(),
        section_names: Vec::new(),
        section_offset: Table::filled(records.sections.len(), 0),
        of_sections: Table::filled(records.sections.len(), 0),
        of_symbols: Table::filled(records.symbols.len(), 0),
        prototype_offset,
    };
    for (id, s) in records.sections.enumerate() {
        out.section_offset[id] = add(&mut section_names, &mut in_sections, s.name);
        out.of_sections[id] = add(&mut strings, &mut in_strings, s.name);
    }
    for (id, s) in records.symbols.enumerate() {
        out.of_symbols[id] = add(&mut strings, &mut in_strings, Name::plain(s.name));
    }
    (out.strings, out.section_names) = (strings.finish(), section_names.finish());
    out
}

/// Names that are hashed together.
const HASH_CHUNK: usize = 4096;

/// Parts of all hashes, if several threads work.
const SHARDS: usize = 32;

/// Distinct names of sections.
struct Distinct {
    /// For each part of all hashes, the first section of each name.
    shards: Vec<Deduplicator>,
    /// Per section: the first one of the same name.
    first: Table<SectionId, SectionId>,
    /// All names start with a dot.
    all_dotted: bool,
    /// Bytes of all names with their ends.
    size: usize,
}

/// The part that a hash belongs to.
fn shard_of(hash: u32, shards: usize) -> usize {
    ((u64::from(hash) * shards as u64) >> 32) as usize
}

/// Hashes of the names of a chunk of sections, by the part of all hashes that they belong to.
struct HashedNames {
    /// Hash and place in the chunk, by shard; those of one shard in order.
    by_shard: Vec<(u32, u16)>,
    /// Where each shard ends in `by_shard`.
    ends: Vec<u32>,
    /// All names start with a dot.
    dotted: bool,
    /// Bytes of all names with their ends.
    size: usize,
}

impl HashedNames {
    /// At most [`HASH_CHUNK`] sections.
    fn new(chunk: &[OutSection<'_>], shards: usize) -> Self {
        let hashes: Vec<u32> = chunk.iter().map(|s| s.name.hash()).collect();
        // First the number of each shard's names, then where the next one of each is put, which in the end is where the shard ends.
        let mut ends = vec![0u32; shards];
        for &hash in &hashes {
            if let Some(count) = ends.get_mut(shard_of(hash, shards)) {
                *count += 1;
            }
        }
        let mut next = 0;
        for end in &mut ends {
            next += std::mem::replace(end, next);
        }
        let mut by_shard = vec![(0, 0); hashes.len()];
        for (n, &hash) in (0..).zip(&hashes) {
            if let Some(end) = ends.get_mut(shard_of(hash, shards)) {
                if let Some(place) = by_shard.get_mut(*end as usize) {
                    *place = (hash, n);
                }
                *end += 1;
            }
        }
        HashedNames {
            by_shard,
            ends,
            dotted: chunk.iter().all(|s| s.name.is_dotted()),
            size: chunk.iter().map(|s| s.name.len() + 1).sum(),
        }
    }

    /// The sections of a shard in order: number (the chunk's first has number `base`), record, hash.
    fn of_shard<'c, 'd>(
        &self,
        shard: usize,
        base: u32,
        chunk: &'c [OutSection<'d>],
    ) -> impl Iterator<Item = (u32, &'c OutSection<'d>, u32)> {
        let end_of = |shard: usize| self.ends.get(shard).map_or(0, |&end| end as usize);
        let range = shard.checked_sub(1).map_or(0, end_of)..end_of(shard);
        let own = self.by_shard.get(range).unwrap_or_default();
        own.iter()
            .filter_map(move |&(hash, n)| Some((base + u32::from(n), chunk.get(usize::from(n))?, hash)))
    }
}

impl Distinct {
    fn of_sections(link: Link<'_, '_>, records: &Merged<'_>) -> Self {
        let sections = records.sections.as_slice();
        let chunks: Vec<&[OutSection<'_>]> = sections.chunks(HASH_CHUNK).collect();
        let several = link.threads.is_parallel() && chunks.len() > 1;
        let shards: Vec<usize> = (0..if several { SHARDS } else { 1 }).collect();
        let hashed = link.threads.map(&chunks, |chunk| HashedNames::new(chunk, shards.len()));
        let found = link.threads.map(&shards, |&shard| {
            let mut numbering = Deduplicator::new(sections.len() / shards.len());
            let mut repeats = Vec::new();
            let chunks = (0..).step_by(HASH_CHUNK).zip(chunks.iter().zip(&hashed));
            for (n, s, hash) in chunks.flat_map(|(base, (chunk, hashed))| hashed.of_shard(shard, base, chunk)) {
                let same = |other: u32| sections.get(other as usize).is_some_and(|other| other.name == s.name);
                let first = numbering.first(hash, n, same);
                repeats.extend((first != n).then_some((n, first)));
            }
            (numbering, repeats)
        });
        let mut first: Table<SectionId, SectionId> = Table::from(records.sections.ids().collect::<Vec<_>>());
        let mut shards = Vec::with_capacity(found.len());
        for (numbering, repeats) in found {
            for (n, known) in repeats {
                first[SectionId::new(n)] = SectionId::new(known);
            }
            shards.push(numbering);
        }
        Distinct {
            shards,
            first,
            all_dotted: hashed.iter().all(|h| h.dotted),
            size: hashed.iter().map(|h| h.size).sum(),
        }
    }

    /// The first section of a name.
    fn find(&self, records: &Merged<'_>, hash: u32, name: &[u8]) -> Option<SectionId> {
        let sections = records.sections.as_slice();
        let same = |n: u32| sections.get(n as usize).is_some_and(|s| s.name.is(name));
        let shard = self.shards.get(shard_of(hash, self.shards.len()))?;
        shard.find(hash, same).map(SectionId::new)
    }
}

/// The offset of a string that is not in the table.
const ABSENT: u32 = u32::MAX;

/// A string table under construction.
struct Strings<'d> {
    /// Size so far.
    size: usize,
    contents: Contents<'d>,
}

/// The strings of a table.
enum Contents<'d> {
    Bytes(Vec<u8>),
    /// To be copied later, in order.
    Listed(Vec<Listed<'d>>),
}

/// A string of an input, or one that was made.
enum Listed<'d> {
    Name(Name<'d>),
    Owned(Vec<u8>),
}

impl Listed<'_> {
    fn name(&self) -> Name<'_> {
        match self {
            Listed::Name(name) => *name,
            Listed::Owned(bytes) => Name::plain(bytes),
        }
    }
}

impl<'d> From<Name<'d>> for Listed<'d> {
    fn from(name: Name<'d>) -> Self {
        Listed::Name(name)
    }
}

impl<'d> From<Cow<'d, [u8]>> for Listed<'d> {
    fn from(name: Cow<'d, [u8]>) -> Self {
        match name {
            Cow::Borrowed(name) => Listed::Name(Name::plain(name)),
            Cow::Owned(name) => Listed::Owned(name),
        }
    }
}

/// Strings that are copied together.
const COPIED: usize = 2048;

impl<'d> Strings<'d> {
    /// The empty string is at offset 0; there will be at most `size` bytes of others, or `count` strings.
    fn new(size: usize, count: usize, threads: Threads) -> Self {
        let contents = match threads.are_many() {
            true => Contents::Listed(Vec::with_capacity(count)),
            false => {
                let mut bytes = Vec::with_capacity(size + 1);
                bytes.push(0);
                Contents::Bytes(bytes)
            }
        };
        Strings { size: 1, contents }
    }

    /// Adds a string, unless its place says where it is.
    #[inline]
    fn add(&mut self, place: &mut u32, string: impl Into<Listed<'d>>) -> u32 {
        if *place == ABSENT {
            let string = string.into();
            let name = string.name();
            *place = self.size as u32;
            self.size += name.len() + 1;
            match &mut self.contents {
                Contents::Bytes(bytes) => {
                    bytes.extend_from_slice(name.prefix);
                    bytes.extend_from_slice(name.rest);
                    bytes.push(0);
                }
                Contents::Listed(list) => list.push(string),
            }
        }
        *place
    }

    /// The table.
    fn finish(self) -> Vec<u8> {
        let list = match self.contents {
            Contents::Bytes(bytes) => return bytes,
            Contents::Listed(list) => list,
        };
        let mut bytes = vec![0; self.size];
        let mut rest = bytes.get_mut(1..).unwrap_or_default();
        let mut parts = Vec::with_capacity(list.len() / COPIED + 1);
        for part in list.chunks(COPIED) {
            let size = part.iter().map(|listed| listed.name().len() + 1).sum();
            let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
            parts.push((part, place));
            rest = tail;
        }
        parts.into_par_iter().for_each(|(part, mut place)| {
            for name in part.iter().map(Listed::name) {
                let (own, tail) = std::mem::take(&mut place).split_at_mut_checked(name.len() + 1).unwrap_or_default();
                if let Some((prefix, rest)) = own.split_at_mut_checked(name.prefix.len())
                    && let Some(rest) = rest.get_mut(..name.rest.len())
                {
                    prefix.copy_from_slice(name.prefix);
                    rest.copy_from_slice(name.rest);
                }
                place = tail;
            }
        });
        bytes
    }
}

/// `.shstrtab`.
fn section_strings(link: Link<'_, '_>, records: &Merged<'_>, distinct: &Distinct) -> (Vec<u8>, Table<SectionId, u32>) {
    if link.threads.are_many() {
        return parallel::section_strings(records, distinct);
    }
    let mut offsets = Table::filled(records.sections.len(), 0);
    let mut strings = Strings::new(distinct.size, records.sections.len(), link.threads);
    let mut places = Table::filled(records.sections.len(), ABSENT);
    for (id, s) in records
        .sections
        .enumerate()
        .filter(|(_, s)| s.emission != Emission::Never && s.name.len() > 0)
    {
        offsets[id] = strings.add(&mut places[distinct.first[id]], s.name);
    }
    (strings.finish(), offsets)
}

/// `.strtab`.
struct SymbolStrings<'a, 'd> {
    records: &'a Merged<'d>,
    distinct: &'a Distinct,
    strings: Strings<'d>,
    /// Where the names of sections are, by the first section of each.
    places: Table<SectionId, u32>,
    /// Where names that cannot be equal to a section's are.
    by_name: Table<NameId, u32>,
    /// Names are looked for among those of sections.
    odd: Odd<'d>,
}

/// Strings that may be equal to a section's name.
struct Odd<'d> {
    numbering: Deduplicator,
    names: Vec<Cow<'d, [u8]>>,
    places: Vec<u32>,
}

/// Makes everything of [`Names`] but what belongs to `.shstrtab`.
fn symbol_strings<'d>(link: Link<'_, 'd>, records: &Merged<'d>, distinct: &Distinct) -> Names {
    let resolved = link.resolved;
    let is_plain = |id: &NameId| distinct.all_dotted && !resolved.is_dotted(*id);
    let lone = |sym: &OutSymbol<'_>| sym.name_id.is_none() && sym.literal_number == 0 && !Name::plain(sym.name).is_dotted();
    let has_lone = link.threads.any(records.symbols.as_slice(), lone);
    if link.threads.are_many() && distinct.all_dotted && !has_lone && !records.quirks.unnamed_have_first_name {
        let made = parallel::symbol_strings(link, records, distinct);
        return Names {
            strings: made.strings,
            section_names: Vec::new(),
            section_offset: Table::new(),
            of_sections: made.of_sections,
            of_symbols: made.of_symbols,
            prototype_offset: made.prototype_offset,
        };
    }
    let mut of_sections = Table::filled(records.sections.len(), 0);
    let mut of_symbols = Table::filled(records.symbols.len(), 0);
    let mut prototype_offset = Table::filled(resolved.prototypes.len(), 0);
    let mut out = SymbolStrings {
        records,
        distinct,
        strings: Strings::new(
            distinct.size + records.symbols.iter().map(|s| s.name.len() + 1).sum::<usize>(),
            records.sections.len() + records.symbols.len(),
            link.threads,
        ),
        places: Table::filled(records.sections.len(), ABSENT),
        by_name: Table::filled(resolved.name_count, ABSENT),
        odd: Odd {
            numbering: Deduplicator::new(0),
            names: Vec::new(),
            places: Vec::new(),
        },
    };
    let plain = |id: Option<NameId>| id.filter(is_plain).filter(|_| !has_lone);
    for &p in &resolved.mentioned {
        prototype_offset[p] = out.add(plain(resolved.prototype_name(p)), Cow::from(resolved.prototypes.string(p)));
    }
    let first_name = out.strings.size as u32;
    let has_first_name = |sym: &OutSymbol<'_>| records.quirks.unnamed_have_first_name && sym.name.is_empty() && sym.kind == STT_FUNC;
    for &local in &records.order.locals {
        match local {
            SymbolTableEntry::Section(id) if records.sections[id].emission == Emission::Never => {}
            SymbolTableEntry::Section(id) => of_sections[id] = out.section(id),
            // nvlink quirk: such a symbol has the name of the first section.
            SymbolTableEntry::Symbol(id) if has_first_name(&records.symbols[id]) => of_symbols[id] = first_name,
            SymbolTableEntry::Symbol(id) => of_symbols[id] = out.symbol(&records.symbols[id], plain),
        }
    }
    for &id in &records.order.globals {
        of_symbols[id] = out.symbol(&records.symbols[id], plain);
    }
    Names {
        strings: out.strings.finish(),
        section_names: Vec::new(),
        section_offset: Table::new(),
        of_sections,
        of_symbols,
        prototype_offset,
    }
}

impl<'d> SymbolStrings<'_, 'd> {
    fn symbol(&mut self, sym: &OutSymbol<'d>, plain: impl Fn(Option<NameId>) -> Option<NameId>) -> u32 {
        match sym {
            _ if !sym.emission.has_name() => 0,
            _ if sym.literal_number != 0 => self.add(None, literal_name(self.records, sym).into()),
            _ => self.add(plain(sym.name_id), Cow::from(sym.name)),
        }
    }

    fn section(&mut self, id: SectionId) -> u32 {
        let name = self.records.sections[id].name;
        // An odd string that is equal has taken the place already.
        self.strings.add(&mut self.places[self.distinct.first[id]], name)
    }

    /// Adds a name: one that is equal to no section's, or any other.
    fn add(&mut self, plain: Option<NameId>, name: Cow<'d, [u8]>) -> u32 {
        if let Some(id) = plain {
            return self.strings.add(&mut self.by_name[id], name);
        }
        let hash = Name::plain(&name).hash();
        if let Some(section) = self.distinct.find(self.records, hash, &name) {
            return self.strings.add(&mut self.places[section], name);
        }
        let Odd { numbering, names, places } = &mut self.odd;
        let same = |number: u32| names.get(number as usize) == Some(&name);
        let number = numbering.number(hash, same) as usize;
        if number == names.len() {
            names.push(name.clone());
            places.push(ABSENT);
        }
        match places.get_mut(number) {
            Some(place) => self.strings.add(place, name),
            None => 0,
        }
    }
}

/// Name of a literal in the Mercury view: its section's and its number.
fn literal_name(records: &Merged<'_>, sym: &OutSymbol<'_>) -> Vec<u8> {
    let mut name = sym.section.map_or(Vec::new(), |s| records.sections[s].name.to_vec());
    name.extend_from_slice(format!(".{}", sym.literal_number).as_bytes());
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Class, NewSection};

    #[test]
    fn shards_have_every_name_once_and_in_order() {
        let names: Vec<String> = (0..500).map(|n| format!(".text.f{n}")).collect();
        let section = |name: &'static [u8], rest| {
            let new = NewSection {
                name: Name::new(name, rest),
                class: Class::Debug(crate::records::DebugKind::Other),
                sh_type: 0,
                flags: 0,
                align: 1,
                entsize: 0,
            };
            OutSection::new(new, 0)
        };
        let sections: Vec<OutSection<'_>> = names.iter().map(|name| section(b"", name.as_bytes())).collect();
        for shards in [1, 2, SHARDS] {
            let hashed = HashedNames::new(&sections, shards);
            let mut seen = Vec::new();
            for shard in 0..shards {
                let own: Vec<u32> = hashed.of_shard(shard, 1000, &sections).map(|(n, ..)| n).collect();
                assert!(own.is_sorted());
                for (_, s, hash) in hashed.of_shard(shard, 1000, &sections) {
                    assert_eq!(hash, s.name.hash());
                    assert_eq!(shard_of(hash, shards), shard);
                }
                seen.extend(own);
            }
            seen.sort_unstable();
            assert!(seen.into_iter().eq(1000..1500));
        }
    }
}
