//! A file with what the checks look up: sections, symbols of both views, relocations by target.

use crate::names::SeededState;
use cubin::callgraph::CallGraph;
use cubin::consts::*;
use cubin::kind::{SectionKind, classify};
use cubin::raw::{Rel, Rela, Sym};
use cubin::read::{Cubin, ReadError, Section, Symbol, SymbolSection, string_at};
use hashbrown::{HashMap, HashSet};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// One of the views of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// Machine code.
    Sass,
    /// Mercury, from sm_100 on.
    Mercury,
}

/// A relocation with the name of its symbol.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reloc {
    /// Offset in the section that is patched.
    pub(super) offset: u64,
    /// Type.
    pub(super) kind: u32,
    /// Symbol.
    pub(super) symbol: u32,
    /// Addend; 0 in REL sections, whose addend is in the field.
    pub(super) addend: i64,
    /// The section has addends.
    pub(super) is_rela: bool,
}

/// A file and its tables.
pub(super) struct File<'d> {
    pub(super) name: &'d str,
    pub(super) cubin: Cubin<'d>,
    pub(super) sections: Vec<Section<'d>>,
    pub(super) kinds: Vec<SectionKind>,
    /// Symbols of `.symtab`.
    pub(super) symbols: Vec<Symbol<'d>>,
    /// Symbols of `.nv.merc.symtab`; empty without one.
    pub(super) mercury: Vec<Symbol<'d>>,
    /// Relocation sections by the section that they patch.
    relocated: HashMap<u32, Vec<u32>, SeededState>,
    /// Direct calls that `.nv.callgraph` lists: code section of the caller, symbol of the callee.
    pub(super) calls: HashSet<(u32, u32), SeededState>,
    /// Sections by name, in order.
    by_name: HashMap<&'d [u8], Vec<u32>, SeededState>,
}

impl<'d> File<'d> {
    pub(super) fn new(name: &'d str, cubin: Cubin<'d>) -> Result<Self, ReadError> {
        let sections: Vec<Section<'d>> = cubin.sections().collect::<Result<_, _>>()?;
        let kinds = sections.iter().map(|s| classify(s.name, s.header.sh_type.get())).collect();
        let symbols: Vec<Symbol<'d>> = cubin.symbols().collect::<Result<_, _>>()?;
        let mercury = mercury_symbols(&cubin, &sections)?;
        let mut relocated: HashMap<u32, Vec<u32>, SeededState> = HashMap::default();
        let mut by_name: HashMap<&'d [u8], Vec<u32>, SeededState> = HashMap::default();
        for s in sections.iter().skip(1) {
            by_name.entry(s.name).or_default().push(s.index);
            if matches!(s.header.sh_type.get(), SHT_REL | SHT_RELA | SHT_CUDA_MERC_RELA) {
                relocated.entry(s.header.sh_info.get()).or_default().push(s.index);
            }
        }
        let calls = listed_calls(&sections, &symbols);
        Ok(File {
            name,
            calls,
            cubin,
            sections,
            kinds,
            symbols,
            mercury,
            relocated,
            by_name,
        })
    }

    pub(super) fn has_mercury(&self) -> bool {
        !self.mercury.is_empty()
    }

    pub(super) fn section(&self, index: u32) -> Option<&Section<'d>> {
        self.sections.get(index as usize)
    }

    pub(super) fn kind(&self, index: u32) -> SectionKind {
        self.kinds.get(index as usize).copied().unwrap_or(SectionKind::Null)
    }

    /// Sections of one name, in order.
    pub(super) fn named(&self, name: &[u8]) -> &[u32] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn view_symbols(&self, view: View) -> &[Symbol<'d>] {
        match view {
            View::Sass => &self.symbols,
            View::Mercury => &self.mercury,
        }
    }

    /// Relocations of a section.
    pub(super) fn relocs(&self, target: u32) -> Vec<Reloc> {
        let mut found = Vec::new();
        for s in self.relocated.get(&target).into_iter().flatten().filter_map(|&i| self.section(i)) {
            if s.header.sh_type.get() == SHT_REL {
                for e in <[Rel]>::ref_from_bytes(s.data).unwrap_or_default() {
                    found.push(Reloc {
                        offset: e.r_offset.get(),
                        kind: e.r_type.get(),
                        symbol: e.r_sym.get(),
                        addend: 0,
                        is_rela: false,
                    });
                }
            } else {
                for e in <[Rela]>::ref_from_bytes(s.data).unwrap_or_default() {
                    found.push(Reloc {
                        offset: e.r_offset.get(),
                        kind: e.r_type.get(),
                        symbol: e.r_sym.get(),
                        addend: e.r_addend.get(),
                        is_rela: true,
                    });
                }
            }
        }
        found
    }

    /// The symbol of a relocation in a view.
    pub(super) fn symbol(&self, view: View, index: u32) -> Option<&Symbol<'d>> {
        self.view_symbols(view).get(index as usize)
    }

    /// Is a section part of the Mercury view?
    pub(super) fn is_mercury(&self, s: &Section<'_>) -> bool {
        s.header.sh_flags.get() & SHF_CUDA_MERCURY != 0
    }
}

fn listed_calls(sections: &[Section<'_>], symbols: &[Symbol<'_>]) -> HashSet<(u32, u32), SeededState> {
    let graphs = sections.iter().filter(|s| s.header.sh_type.get() == SHT_CUDA_CALLGRAPH);
    let mut found = HashSet::default();
    for pair in graphs.filter_map(|s| CallGraph::read(s.data).ok()).flat_map(|g| g.calls) {
        let caller = symbols.get(pair.first.get() as usize).and_then(|sym| sym.section.index());
        if let Some(code) = caller {
            found.insert((code, pair.second.get()));
        }
    }
    found
}

fn mercury_symbols<'d>(cubin: &Cubin<'d>, sections: &[Section<'d>]) -> Result<Vec<Symbol<'d>>, ReadError> {
    let Some(table) = sections.iter().find(|s| s.header.sh_type.get() == SHT_CUDA_MERC_SYMTAB) else {
        return Ok(Vec::new());
    };
    let entries = <[Sym]>::ref_from_bytes(table.data).map_err(|_| ReadError::BadTable {
        section: table.index,
        reason: "symbol table size is not a multiple of 24",
    })?;
    let extended = sections.iter().find(|s| s.name == b".nv.merc.symtab_shndx");
    let extended = extended.and_then(|s| <[U32]>::ref_from_bytes(s.data).ok()).unwrap_or_default();
    let symbol = |(i, entry): (usize, &'d Sym)| {
        let offset = entry.st_name.get();
        let name = string_at(cubin.strings(), offset).ok_or_else(|| ReadError::BadName {
            what: format!("symbol {i} of .nv.merc.symtab"),
            offset,
            size: cubin.strings().len(),
        })?;
        let bad = |index: u32| ReadError::BadIndex {
            what: format!("section index of symbol {i} of .nv.merc.symtab"),
            index: index.into(),
            count: sections.len(),
        };
        let index = match entry.st_shndx.get() {
            SHN_XINDEX => Some(extended.get(i).ok_or_else(|| bad(SHN_XINDEX.into()))?.get()),
            SHN_LORESERVE.. | 0 => None,
            direct => Some(direct.into()),
        };
        let section = match (index, entry.st_shndx.get()) {
            (Some(x), _) if x as usize >= sections.len() => return Err(bad(x)),
            (Some(x), _) => SymbolSection::Index(x),
            (None, 0) => SymbolSection::Undefined,
            (None, SHN_COMMON) => SymbolSection::Common,
            (None, reserved) => SymbolSection::Reserved(reserved),
        };
        Ok(Symbol {
            index: i as u32,
            entry,
            name,
            section,
        })
    };
    entries.iter().enumerate().map(symbol).collect()
}
