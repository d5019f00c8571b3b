//! The string tables: each distinct string once, in order of first appearance.
//!
//! 1. `.shstrtab`: names of sections in order of creation. `.strtab`: prototypes, then section names and static and weak symbols in order of
//!    creation, then global symbols. Records that are not emitted keep their names unless they were withdrawn.
//! 2. Equal names of symbols and prototypes were found when they were resolved: their [`NameId`] says where they are.
//! 3. Equal names of sections are found by their hashes, once for both tables; so is what may be equal to one of them: they start with a
//!    dot. Should a section have another name, everything is looked for among them.

use crate::ids::{NameId, ProtoId, SectionId, SymbolId, Table};
use crate::layout::Layout;
use crate::names::{Deduplicator, Name, SeededState};
use crate::records::{Emission, Merged, OutSection, OutSymbol, SymbolTableEntry};
use crate::session::Link;
use hashbrown::HashMap;
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
pub fn names(link: Link<'_, '_>, layout: &Layout<'_>) -> Names {
    let records = &layout.records;
    if link.mode.rules.keeps_dead_names {
        return created_names(link, records);
    }
    let distinct = Distinct::of_sections(link, records);
    let of_section = &distinct.of_section;
    let (mut names, (section_names, section_offset)) = link
        .threads
        .join(|| symbol_strings(link, records, &distinct), || section_strings(records, of_section));
    names.section_names = section_names;
    names.section_offset = section_offset;
    names
}

/// The string tables of releases that keep the names of all records that they made, in the order in which they made them.
fn created_names(link: Link<'_, '_>, records: &Merged<'_>) -> Names {
    let resolved = link.resolved;
    let mut strings = Strings::new();
    let mut section_names = Strings::new();
    let mut in_strings: HashMap<Vec<u8>, u32, SeededState> = HashMap::default();
    let mut in_sections: HashMap<Vec<u8>, u32, SeededState> = HashMap::default();
    let add = |table: &mut Strings, known: &mut HashMap<Vec<u8>, u32, SeededState>, name: Name<'_>| {
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
    (out.strings, out.section_names) = (strings.bytes, section_names.bytes);
    out
}

/// Names that are hashed together.
const HASH_CHUNK: usize = 4096;

/// Number of a distinct string among those that were looked for by their hashes.
type StringNumber = u32;

/// Distinct names of sections.
struct Distinct {
    numbering: Deduplicator,
    /// Number of each section's name.
    of_section: Table<SectionId, StringNumber>,
    /// The first section of each.
    first: Vec<SectionId>,
    /// All names start with a dot.
    all_dotted: bool,
}

impl Distinct {
    fn of_sections(link: Link<'_, '_>, records: &Merged<'_>) -> Self {
        let chunks: Vec<&[OutSection<'_>]> = records.sections.as_slice().chunks(HASH_CHUNK).collect();
        let hashed = link.threads.map(&chunks, |chunk| {
            let dotted = chunk.iter().all(|s| s.name.is_dotted());
            (chunk.iter().map(|s| s.name.hash()).collect::<Vec<u32>>(), dotted)
        });
        let mut out = Distinct {
            numbering: Deduplicator::new(records.sections.len()),
            of_section: Table::filled(records.sections.len(), 0),
            first: Vec::with_capacity(records.sections.len()),
            all_dotted: hashed.iter().all(|h| h.1),
        };
        let hashes = hashed.iter().flat_map(|h| &h.0);
        for ((id, s), &hash) in records.sections.enumerate().zip(hashes) {
            let first = &out.first;
            let same = |number: u32| first.get(number as usize).is_some_and(|&f| records.sections[f].name == s.name);
            let number = out.numbering.number(hash, same);
            out.of_section[id] = number;
            if number as usize == out.first.len() {
                out.first.push(id);
            }
        }
        out
    }
}

/// A string that is not in the table.
const ABSENT: u32 = u32::MAX;

/// A string table under construction.
struct Strings {
    bytes: Vec<u8>,
}

impl Strings {
    /// The empty string is at offset 0.
    fn new() -> Self {
        Strings { bytes: vec![0] }
    }
    /// Adds a name, unless its place says where it is.
    fn add(&mut self, place: &mut u32, name: Name<'_>) -> u32 {
        if *place == ABSENT {
            *place = self.bytes.len() as u32;
            self.bytes.extend_from_slice(name.prefix);
            self.bytes.extend_from_slice(name.rest);
            self.bytes.push(0);
        }
        *place
    }
}

/// `.shstrtab`.
fn section_strings(records: &Merged<'_>, of_section: &Table<SectionId, StringNumber>) -> (Vec<u8>, Table<SectionId, u32>) {
    let mut offsets = Table::filled(records.sections.len(), 0);
    let mut strings = Strings::new();
    let mut places = vec![ABSENT; records.sections.len()];
    for (id, s) in records
        .sections
        .enumerate()
        .filter(|(_, s)| s.emission != Emission::Never && s.name.len() > 0)
    {
        if let Some(place) = places.get_mut(of_section[id] as usize) {
            offsets[id] = strings.add(place, s.name);
        }
    }
    (strings.bytes, offsets)
}

/// `.strtab`.
struct SymbolStrings<'a, 'd> {
    records: &'a Merged<'d>,
    distinct: &'a Distinct,
    strings: Strings,
    /// Where the names of sections are.
    places: Vec<u32>,
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
fn symbol_strings(link: Link<'_, '_>, records: &Merged<'_>, distinct: &Distinct) -> Names {
    let resolved = link.resolved;
    let mut of_sections = Table::filled(records.sections.len(), 0);
    let mut of_symbols = Table::filled(records.symbols.len(), 0);
    let mut prototype_offset = Table::filled(resolved.prototypes.len(), 0);
    let is_plain = |id: &NameId| distinct.all_dotted && !resolved.is_dotted(*id);
    let lone = |sym: &OutSymbol<'_>| sym.name_id.is_none() && sym.literal_number == 0 && !Name::plain(sym.name).is_dotted();
    let has_lone = records.symbols.iter().any(lone);
    let mut out = SymbolStrings {
        records,
        distinct,
        strings: Strings::new(),
        places: vec![ABSENT; distinct.first.len()],
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
    for &local in &records.order.locals {
        match local {
            SymbolTableEntry::Section(id) if records.sections[id].emission == Emission::Never => {}
            SymbolTableEntry::Section(id) => of_sections[id] = out.section(id),
            SymbolTableEntry::Symbol(id) => of_symbols[id] = out.symbol(&records.symbols[id], plain),
        }
    }
    for &id in &records.order.globals {
        of_symbols[id] = out.symbol(&records.symbols[id], plain);
    }
    Names {
        strings: out.strings.bytes,
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
        let mut place = ABSENT;
        // An odd string that is equal has taken the place already.
        let place = match self.places.get_mut(self.distinct.of_section[id] as usize) {
            Some(known) => known,
            None => &mut place,
        };
        self.strings.add(place, name)
    }

    /// Adds a name: one that is equal to no section's, or any other.
    fn add(&mut self, plain: Option<NameId>, name: Cow<'d, [u8]>) -> u32 {
        if let Some(id) = plain {
            return self.strings.add(&mut self.by_name[id], Name::plain(&name));
        }
        let hash = Name::plain(&name).hash();
        let sections = self.distinct;
        let is_section = |number: u32| {
            sections
                .first
                .get(number as usize)
                .is_some_and(|&f| self.records.sections[f].name.is(&name))
        };
        if let Some(place) = sections
            .numbering
            .find(hash, is_section)
            .and_then(|n| self.places.get_mut(n as usize))
        {
            return self.strings.add(place, Name::plain(&name));
        }
        let Odd { numbering, names, places } = &mut self.odd;
        let same = |number: u32| names.get(number as usize) == Some(&name);
        let number = numbering.number(hash, same) as usize;
        if number == names.len() {
            names.push(name.clone());
            places.push(ABSENT);
        }
        match places.get_mut(number) {
            Some(place) => self.strings.add(place, Name::plain(&name)),
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
