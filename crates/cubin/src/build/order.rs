//! Order and numbers of sections and symbols, and the string tables that follow from them.

use super::ids::shown;
use super::section::{Body, SectionEntry, number};
use super::symbol::{State, SymbolEntry};
use super::{Binding, BuildError, ObjectBuilder, SectionId, SymbolId};
use crate::consts::*;
use crate::layout;
use crate::write::WriterKind;
use crate::write::strings::StringTable;

/// Numbers that the parts of an object have in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    /// Live sections in order; the first is section 1.
    pub(super) sections: Vec<SectionId>,
    /// Symbols in order; the first is symbol 1.
    pub(super) symbols: Vec<SymbolId>,
    /// First symbol of the second part of the table.
    pub(super) first_global: u32,
    /// There are local symbols after the global ones.
    pub(super) has_late: bool,
    section_number: Vec<Option<u32>>,
    symbol_number: Vec<Option<u32>>,
}

impl Numbering {
    /// Number of a section; `None` when it is not in the file.
    pub fn section(&self, section: SectionId) -> Option<u32> {
        self.section_number.get(section.0 as usize).copied().flatten()
    }
    /// Number of a symbol; `None` when it is not in the file.
    pub fn symbol(&self, symbol: SymbolId) -> Option<u32> {
        self.symbol_number.get(symbol.0 as usize).copied().flatten()
    }
}

/// Offsets of names.
pub(super) struct Names {
    pub(super) section_table: Vec<u8>,
    /// By section handle.
    pub(super) sections: Vec<u32>,
    pub(super) string_table: Vec<u8>,
    /// By symbol handle.
    pub(super) symbols: Vec<u32>,
    /// By prototype handle.
    pub(super) prototypes: Vec<u32>,
}

/// Parts of the string table, see `name_part`.
const PARTS: usize = 3;
/// Rank of sections of the Mercury view.
const MERCURY: usize = 9;

impl ObjectBuilder {
    /// Sections come in this order; equal ranks keep the order of creation.
    fn rank(&self, s: &SectionEntry) -> usize {
        let late = self.is_late(s);
        match s.spec.sh_type {
            _ if s.spec.flags & SHF_CUDA_MERCURY != 0 => MERCURY,
            SHT_SYMTAB | SHT_STRTAB | SHT_SYMTAB_SHNDX => 0,
            SHT_REL | SHT_RELA => 3,
            _ if late => 8,
            SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT17 => 4,
            _ if s.spec.flags & SHF_EXECINSTR != 0 => 5,
            SHT_CUDA_GLOBAL_INIT => 6,
            _ if s.spec.flags & SHF_ALLOC != 0 => 7,
            SHT_PROGBITS => 1,
            _ => 2,
        }
    }

    /// The finalizer makes parameter banks itself, after everything else.
    fn is_late(&self, s: &SectionEntry) -> bool {
        self.writer == WriterKind::Finalizer && s.spec.sh_type == SHT_CUDA_CONSTANT0
    }

    /// Sections without a symbol in the file.
    fn lacks_symbol(s: &SectionEntry) -> bool {
        let tables = [
            SHT_SYMTAB,
            SHT_STRTAB,
            SHT_SYMTAB_SHNDX,
            SHT_REL,
            SHT_RELA,
            SHT_CUDA_INFO,
            SHT_CUDA_COMPAT,
        ];
        let empty = matches!(&s.body, Body::Bytes(bytes) if bytes.is_empty());
        let debug = s.spec.name.starts_with(b".debug_");
        tables.contains(&s.spec.sh_type) || s.spec.flags & SHF_CUDA_MERCURY != 0 || debug && empty
    }

    /// Sections that the file has.
    fn is_written(&self, s: &SectionEntry, extended: bool) -> bool {
        let empty = match s.body {
            Body::Indices => !extended,
            Body::ModuleInfo => self.attributes.is_empty() && self.functions.iter().all(|f| f.deleted || f.resources.is_none()),
            Body::Compat => self.compat.is_empty(),
            _ => false,
        };
        !s.deleted && !empty
    }

    /// Numbers sections and symbols.
    pub(super) fn number(&self) -> Result<Numbering, BuildError> {
        let sections = self.ordered_sections()?;
        let mut section_number = vec![None; self.sections.len()];
        for (n, id) in (1u32..).zip(&sections) {
            if let Some(slot) = section_number.get_mut(id.0 as usize) {
                *slot = Some(n);
            }
        }
        let (first, globals, late) = self.ordered_symbols(&section_number);
        let first_global = number(first.len() + 1, "number of symbols")?;
        let has_late = !late.is_empty();
        let symbols: Vec<SymbolId> = [first, globals, late].concat();
        let mut symbol_number = vec![None; self.symbols.len()];
        for (n, id) in (1u32..).zip(&symbols) {
            if let Some(slot) = symbol_number.get_mut(id.0 as usize) {
                *slot = Some(n);
            }
        }
        Ok(Numbering {
            sections,
            symbols,
            first_global,
            has_late,
            section_number,
            symbol_number,
        })
    }

    fn ordered_sections(&self) -> Result<Vec<SectionId>, BuildError> {
        let with = |extended| {
            let all = (0u32..).map(SectionId).zip(&self.sections);
            all.filter(move |(_, s)| self.is_written(s, extended))
        };
        // Section 0 and the table of extended indices count as well.
        let count = with(false).count() + 2;
        number(count, "number of sections")?;
        let extended = count > usize::from(SHN_LORESERVE);
        let mut ranked: Vec<(usize, SectionId)> = with(extended).map(|(id, s)| (self.rank(s), id)).collect();
        ranked.sort_unstable();
        Ok(ranked.into_iter().map(|(_, id)| id).collect())
    }

    /// Symbols of the first part of the table, of the second, and those that the finalizer adds.
    fn ordered_symbols(&self, written: &[Option<u32>]) -> (Vec<SymbolId>, Vec<SymbolId>, Vec<SymbolId>) {
        let (mut first, mut globals, mut late) = (Vec::new(), Vec::new(), Vec::new());
        for (id, symbol) in (0u32..).map(SymbolId).zip(&self.symbols) {
            if symbol.state == State::Deleted {
                continue;
            }
            let section = symbol.section.and_then(|s| self.sections.get(s.0 as usize).map(|e| (s, e)));
            let list = match section {
                Some((s, e)) => {
                    let is_written = written.get(s.0 as usize).copied().flatten().is_some();
                    if !is_written || Self::lacks_symbol(e) {
                        continue;
                    }
                    if self.is_late(e) { &mut late } else { &mut first }
                }
                None if self.is_global(symbol) => &mut globals,
                None => &mut first,
            };
            list.push(id);
        }
        (first, globals, late)
    }

    fn is_global(&self, symbol: &SymbolEntry) -> bool {
        match symbol.ordered_as {
            Binding::Local => false,
            Binding::Global => true,
            Binding::Weak => self.has_weak_with_global(),
        }
    }

    /// Number of a section that `from` refers to.
    pub(super) fn section_number(&self, n: &Numbering, section: SectionId, from: &[u8]) -> Result<u32, BuildError> {
        let entry = self.entry(section)?;
        n.section(section).ok_or_else(|| BuildError::Deleted {
            from: shown(from),
            name: shown(&entry.spec.name),
        })
    }

    /// Number of a symbol that `from` refers to.
    pub(super) fn symbol_number(&self, n: &Numbering, symbol: SymbolId, from: &[u8]) -> Result<u32, BuildError> {
        if symbol == SymbolId::NULL {
            return Ok(0);
        }
        let entry = self.symbol_entry(symbol)?;
        let number = n.symbol(symbol).filter(|_| entry.state == State::Live);
        number.ok_or_else(|| {
            let (from, name) = (shown(from), shown(self.symbol_name(entry)));
            match entry.section.map(|s| n.section(s)) {
                Some(Some(_)) => BuildError::NoSymbol { from, name },
                _ => BuildError::Deleted { from, name },
            }
        })
    }

    /// The string tables.
    pub(super) fn names(&self) -> Result<Names, BuildError> {
        self.check_string_sizes()?;
        let mut table = StringTable::new();
        let mut sections = vec![0; self.sections.len()];
        let is_late = |s: &SectionEntry| self.is_late(s);
        let early = (0usize..).zip(&self.sections).filter(|(_, s)| !is_late(s));
        let late = (0usize..).zip(&self.sections).filter(|(_, s)| is_late(s));
        for (i, s) in early.chain(late) {
            if let Some(slot) = sections.get_mut(i) {
                *slot = self.put_section_name(&mut table, s);
            }
        }
        let (mut strings, mut prototypes) = (StringTable::new(), Vec::with_capacity(self.prototypes.len()));
        let mut pending = self.prototypes.iter().peekable();
        let mut symbols = vec![0; self.symbols.len()];
        for part in 0..PARTS {
            for ((created, slot), s) in (0..).zip(symbols.iter_mut()).zip(&self.symbols) {
                while let Some(p) = pending.next_if(|p| !self.is_early() || p.created <= created) {
                    prototypes.push(strings.intern(&p.string));
                }
                if self.name_part(s) == part {
                    *slot = self.put_symbol_name(&mut strings, s);
                }
            }
        }
        prototypes.extend(pending.map(|p| strings.intern(&p.string)));
        Ok(Names {
            section_table: table.into_bytes(),
            sections,
            string_table: strings.into_bytes(),
            symbols,
            prototypes,
        })
    }

    /// 0: order of creation; 1: global symbols; 2: what the finalizer adds.
    fn name_part(&self, s: &SymbolEntry) -> usize {
        match s.section.and_then(|id| self.sections.get(id.0 as usize)) {
            Some(section) if self.is_late(section) => 2,
            Some(_) => 0,
            None if self.is_global(s) && !self.is_early() => 1,
            None => 0,
        }
    }

    /// The finalizer gives some constant banks another name, in the place of the longer one that they have in the Mercury view.
    fn put_section_name(&self, table: &mut StringTable, s: &SectionEntry) -> u32 {
        let name = &s.spec.name;
        if self.writer != WriterKind::Finalizer || self.is_late(s) || table.find(name).is_some() {
            return table.intern(name);
        }
        let longer = layout::mercury_bank_name(name);
        let padding = longer.map_or(0, |l| l.len().saturating_sub(name.len()));
        let offset = table.intern(name);
        (0..padding).for_each(|_| {
            table.append(b"");
        });
        offset
    }

    /// The name of a section's symbol. Where there is no symbol, the longer name of a bank's relocations stays.
    fn put_section_symbol_name(&self, strings: &mut StringTable, s: &SectionEntry) -> u32 {
        let longer = if self.writer == WriterKind::Finalizer && matches!(s.body, Body::Rel(_) | Body::Rela(_)) {
            layout::mercury_bank_name(&s.spec.name)
        } else {
            None
        };
        match longer {
            Some(longer) => strings.intern(&longer),
            None => self.put_section_name(strings, s),
        }
    }

    fn put_symbol_name(&self, strings: &mut StringTable, s: &SymbolEntry) -> u32 {
        if s.state == State::Erased {
            (0..=s.spec.name.len()).for_each(|_| {
                strings.append(b"");
            });
            return 0;
        }
        match s.section.and_then(|id| self.sections.get(id.0 as usize)) {
            Some(section) => self.put_section_symbol_name(strings, section),
            None => strings.intern(&s.spec.name),
        }
    }

    /// Offsets of names have 32 bits.
    fn check_string_sizes(&self) -> Result<(), BuildError> {
        // No name is stored with more than this many bytes of padding.
        const PADDING: u64 = 64;
        let symbols = self.symbols.iter().map(|s| self.symbol_name(s).len() as u64 + PADDING);
        let prototypes = self.prototypes.iter().map(|p| p.string.len() as u64 + 1);
        let total = symbols.chain(prototypes).try_fold(0u64, u64::checked_add).unwrap_or(u64::MAX);
        if total > u32::MAX.into() {
            return Err(BuildError::TooLarge {
                what: "size of all names",
                value: total,
                max: u32::MAX.into(),
            });
        }
        Ok(())
    }
}
