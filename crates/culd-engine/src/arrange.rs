//! Which sections and symbols are emitted, their order, and the string tables.
//!
//! 1. Sections: kept records in order of creation, stably sorted into ranks: tables, other data, metadata, relocations, constants, code,
//!    initialised data, data without bytes.
//! 2. Symbols: section symbols and static or weak symbols, then global ones.
//! 3. String tables ([`names()`]).

mod names;

pub use names::{Names, names};

use crate::ids::{FunctionId, Id, ProtoId, SectionId, SymbolId, Table};
use crate::layout::Layout;
use crate::options::Identity;
use crate::records::SymbolEmission;
use crate::records::{ABSENT, Emission};
use crate::records::{Class, OutSection, SymbolTableEntry};
use crate::relocate::RelocPlan;
use crate::session::Link;
use cubin::consts::*;
use cubin::read::is_nobits;

const NONE: u32 = 0;
/// A section symbol that has no number yet.
const WANTED: u32 = u32::MAX;

/// The order of the output.
#[derive(Debug)]
pub struct Arranged {
    /// Emitted sections in order; index i has section number i + 1.
    pub sections: Vec<SectionId>,
    /// Size, alignment and class of each. Records are large and in another order, so later phases read these instead.
    pub shapes: Vec<Shape>,
    /// Emitted symbols in order; index i has symbol number i + 1.
    pub symbols: Vec<SymbolTableEntry>,
    /// Number of the first global symbol.
    pub first_global: u32,
    /// `.strtab`.
    pub strings: Vec<u8>,
    /// `.shstrtab`.
    pub section_names: Vec<u8>,
    /// Per section: offset of its name.
    pub name_offset: Table<SectionId, u32>,
    /// Section numbers are too many for 16 bits.
    pub extended: bool,
    section_index: Table<SectionId, u32>,
    section_symbol: Table<SectionId, u32>,
    symbol_index: Table<SymbolId, u32>,
    name_of_section_symbol: Table<SectionId, u32>,
    name_of_symbol: Table<SymbolId, u32>,
    prototype_offset: Table<ProtoId, u32>,
}

/// Properties of a section that decide its place in the file.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Class of its record.
    pub class: Class,
    /// Size; that of tables and of computed sections is not known yet.
    pub size: u64,
    /// Alignment.
    pub align: u64,
    /// It has bytes in the file.
    pub has_bytes: bool,
    /// Its bytes come from several input sections.
    pub is_mixed: bool,
    /// Of the flags those that matter for segments.
    pub flags: u8,
}

impl Shape {
    /// A section without bytes.
    const EMPTY: Shape = Shape {
        class: Class::PassedThrough,
        size: 0,
        align: 1,
        has_bytes: false,
        is_mixed: false,
        flags: 0,
    };

    fn new(s: &OutSection<'_>) -> Self {
        Shape {
            class: s.class,
            size: match &s.bytes {
                Some(bytes) => bytes.len() as u64,
                None if s.size == ABSENT => 0,
                None => s.size,
            },
            align: s.align,
            has_bytes: !is_nobits(s.sh_type),
            is_mixed: s.bytes.is_none() && s.pieces.as_slice().len() > 1,
            flags: (s.flags & (SHF_ALLOC | SHF_WRITE)) as u8,
        }
    }
}

impl Arranged {
    /// Number of a section, 0 if it is not emitted.
    pub fn section_index(&self, id: SectionId) -> u32 {
        self.section_index[id]
    }
    /// Number of a symbol, 0 if it is not emitted.
    pub fn symbol_index(&self, id: SymbolId) -> u32 {
        self.symbol_index.get(id).copied().unwrap_or(NONE)
    }
    /// Number of a symbol or section symbol.
    pub(crate) fn named_index(&self, named: SymbolTableEntry) -> u32 {
        match named {
            SymbolTableEntry::Symbol(id) => self.symbol_index[id],
            SymbolTableEntry::Section(id) => self.section_symbol[id],
        }
    }
    /// Offset of the name of a symbol or section symbol.
    pub(crate) fn name(&self, named: SymbolTableEntry) -> u32 {
        match named {
            SymbolTableEntry::Symbol(id) => self.name_of_symbol[id],
            SymbolTableEntry::Section(id) => self.name_of_section_symbol[id],
        }
    }
    /// Offset of a prototype in the string table.
    pub fn prototype_offset(&self, p: ProtoId) -> u32 {
        self.prototype_offset[p]
    }
}

/// More sections than this need extended indices.
const MAX_SECTIONS: usize = SHN_LORESERVE as usize;

/// Order and numbers, without names: the string tables do not depend on the order and are made in parallel.
#[derive(Debug)]
pub struct Order {
    pub(crate) sections: Vec<SectionId>,
    shapes: Vec<Shape>,
    pub(crate) symbols: SymbolNumbers,
    extended: bool,
    section_index: Table<SectionId, u32>,
}

/// Order and numbers of symbols.
#[derive(Debug)]
pub(crate) struct SymbolNumbers {
    pub(crate) order: Vec<SymbolTableEntry>,
    pub(crate) first_global: u32,
    section_symbol: Table<SectionId, u32>,
    index: Table<SymbolId, u32>,
}

/// Combines order and names.
pub fn arrange(order: Order, names: Names) -> Arranged {
    Arranged {
        sections: order.sections,
        shapes: order.shapes,
        symbols: order.symbols.order,
        first_global: order.symbols.first_global,
        strings: names.strings,
        section_names: names.section_names,
        name_offset: names.section_offset,
        extended: order.extended,
        section_index: order.section_index,
        section_symbol: order.symbols.section_symbol,
        symbol_index: order.symbols.index,
        name_of_section_symbol: names.of_sections,
        name_of_symbol: names.of_symbols,
        prototype_offset: names.prototype_offset,
    }
}

/// Chooses the emitted sections and symbols and their order.
pub fn order(link: Link<'_, '_>, layout: &Layout<'_>, plan: &RelocPlan, has_info: bool) -> Order {
    let sections = &layout.records.sections;
    let has_prototypes = !prototyped(link, layout).is_empty();
    let is_emitted = |id: SectionId, s: &OutSection<'_>| {
        s.emission == Emission::Emit
            && match s.class {
                Class::ExtendedIndices => false,
                Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_) => plan.counts[id] > 0,
                Class::KernelShared | Class::ModuleShared => s.size != ABSENT,
                Class::Prototype => has_prototypes,
                Class::Info => has_info,
                _ => true,
            }
    };
    let chunks: Vec<(usize, &[OutSection<'_>])> = sections.as_slice().chunks(CHUNK).enumerate().collect();
    let mut parts = link.threads.map(&chunks, |&(n, chunk)| {
        let mut part = OrderPart::default();
        for (i, s) in chunk.iter().enumerate() {
            let id = SectionId::from_index(n * CHUNK + i);
            let emitted = is_emitted(id, s);
            if emitted {
                let (ids, shapes) = &mut part.ranks[rank(s)];
                ids.push(id);
                shapes.push(Shape::new(s));
            }
            part.symbols.push(if emitted && !lacks_symbol(s) { WANTED } else { NONE });
        }
        part
    });
    let kept: usize = parts.iter().flat_map(|part| &part.ranks).map(|r| r.0.len()).sum();
    // nvlink quirk: it decides by the number of all records, those of dead functions included.
    let records = match link.options.identity {
        Identity::Nvlink => sections.iter().last().map_or(0, |s| s.number as usize),
        Identity::Culd => kept,
    };
    // Blackwell: decided when all sections of both views are known.
    let extended = records + 1 >= MAX_SECTIONS && !link.options.target.capabilities().has_mercury;
    if extended {
        let id = layout.records.standard.extended;
        let shape = Shape::new(&sections[id]);
        match has_late_indices(link) {
            true => {
                if let Some(first) = parts.first_mut() {
                    first.ranks[METADATA].0.insert(0, id);
                    first.ranks[METADATA].1.insert(0, shape);
                }
            }
            false => {
                if let Some(last) = parts.last_mut() {
                    last.ranks[TABLES].0.push(id);
                    last.ranks[TABLES].1.push(shape);
                }
            }
        }
    }
    let wanted = parts.iter().flat_map(|part| &part.symbols).copied().collect::<Vec<u32>>();
    let (mut ids, mut shapes) = (Vec::new(), Vec::new());
    for rank in 0..RANKS {
        for (own, of_rank) in parts.iter_mut().map(|part| std::mem::take(&mut part.ranks[rank])) {
            ids.push(own);
            shapes.push(of_rank);
        }
    }
    let numbers = || {
        let order = link.threads.concat(ids, &SectionId::new(0));
        let mut section_index = Table::filled(sections.len(), NONE);
        for (i, &id) in order.iter().enumerate() {
            section_index[id] = i as u32 + 1;
        }
        (order, section_index)
    };
    let ((order, section_index), (shapes, symbols)) = link.threads.join(numbers, || {
        link.threads.join(
            || link.threads.concat(shapes, &Shape::EMPTY),
            || order_symbols(layout, wanted.into()),
        )
    });
    Order {
        sections: order,
        shapes,
        symbols,
        extended,
        section_index,
    }
}

/// Sections that are sorted together.
const CHUNK: usize = 4096;

/// Consecutive records.
#[derive(Default)]
struct OrderPart {
    /// The emitted ones, by rank.
    ranks: [(Vec<SectionId>, Vec<Shape>); RANKS],
    /// For each, whether its section symbol is wanted.
    symbols: Vec<u32>,
}

const RANKS: usize = 8;
const TABLES: usize = 0;
const METADATA: usize = 2;

/// Is `.symtab_shndx` the first section of the metadata, with its size kept free after the symbol table?
pub(crate) fn has_late_indices(link: Link<'_, '_>) -> bool {
    // nvlink quirk: from 13.3 on the section is sorted by its type, after its place in the file was counted.
    link.options.identity == Identity::Nvlink && link.mode.rules.late_extended_indices
}

/// Sections come in this order; equal ranks keep the order of creation.
fn rank(s: &OutSection<'_>) -> usize {
    match s.class {
        Class::SectionNames | Class::Strings | Class::Symbols | Class::ExtendedIndices => TABLES,
        Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_) => 3,
        Class::Parameters | Class::Literals => 4,
        Class::Text(_) | Class::Stub(_) | Class::Uft => 5,
        Class::Udt => 6,
        Class::Constant(_) | Class::GlobalInit | Class::PassedThrough if s.flags & SHF_ALLOC != 0 => {
            match s.flags & (SHF_EXECINSTR | SHF_WRITE) {
                0 => 4,
                SHF_WRITE => 6,
                _ => 5,
            }
        }
        _ if s.flags & SHF_ALLOC != 0 => 7,
        _ if s.sh_type == SHT_PROGBITS => 1,
        _ => METADATA,
    }
}

/// Sections that never have a section symbol, and empty ones that do not.
fn lacks_symbol(s: &OutSection<'_>) -> bool {
    match s.class {
        Class::SectionNames
        | Class::Strings
        | Class::Symbols
        | Class::ExtendedIndices
        | Class::Rel(_)
        | Class::Rela(_)
        | Class::ResolvedRela(_)
        | Class::Info
        | Class::FunctionInfo(_)
        | Class::UftInfo
        | Class::EmptyShared
        | Class::Compat => true,
        Class::KernelShared | Class::ModuleShared | Class::ToolNote | Class::CudaNote => s.no_symbol,
        Class::Debug(_) | Class::Global | Class::GlobalInit | Class::Constant(_) | Class::PassedThrough => s.size == 0,
        _ => false,
    }
}

fn order_symbols(layout: &Layout<'_>, section_symbol: Table<SectionId, u32>) -> SymbolNumbers {
    let records = &layout.records;
    let mut out = SymbolNumbers {
        order: Vec::with_capacity(records.order.locals.len() + records.order.globals.len()),
        first_global: 0,
        section_symbol,
        index: Table::filled(records.symbols.len(), NONE),
    };
    let is_kept = |id: SymbolId| matches!(records.symbols[id].emission, SymbolEmission::Emit | SymbolEmission::Common);
    for &local in &records.order.locals {
        match local {
            SymbolTableEntry::Section(id) => {
                if out.section_symbol[id] == WANTED {
                    out.order.push(SymbolTableEntry::Section(id));
                    out.section_symbol[id] = out.order.len() as u32;
                }
            }
            SymbolTableEntry::Symbol(id) if is_kept(id) => {
                out.order.push(SymbolTableEntry::Symbol(id));
                out.index[id] = out.order.len() as u32;
            }
            SymbolTableEntry::Symbol(_) => {}
        }
    }
    out.first_global = out.order.len() as u32 + 1;
    for &id in records.order.globals.iter().filter(|&&id| is_kept(id)) {
        out.order.push(SymbolTableEntry::Symbol(id));
        out.index[id] = out.order.len() as u32;
    }
    out
}

/// Functions listed in `.nv.prototype`.
pub fn prototyped(link: Link<'_, '_>, layout: &Layout<'_>) -> Vec<(FunctionId, ProtoId)> {
    let functions = &link.resolved.functions;
    let is_there = |f: FunctionId| link.live.alive[f] && layout.records.symbol_of[f].is_some();
    // nvlink quirk: second names of functions that it removed stay, as names of no symbol.
    let is_left = |f: FunctionId| link.live.dead_aliases.binary_search(&f).is_ok();
    let listed = functions
        .ids()
        .filter(|&f| (is_there(f) || is_left(f)) && functions[f].taken.is_none());
    listed.filter_map(|f| Some((f, link.resolved.prototype(f)?))).collect()
}

/// Everything that the image is made of, complete once the sections and symbols have their order.
pub struct OutputPlan<'a, 'd> {
    /// Inputs, functions, options.
    pub link: Link<'a, 'd>,
    /// Records.
    pub layout: &'a Layout<'d>,
    /// Sizes of relocation sections.
    pub plan: &'a RelocPlan,
    /// Order.
    pub arranged: &'a Arranged,
    /// Functions whose text section has barrier flags, and the number of barriers.
    pub flagged: &'a [(FunctionId, u32)],
    /// Kernels whose text section states the registers of all that they call.
    pub totals: &'a [(FunctionId, u32)],
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
