//! Contents of one section as values, and back.

use super::{Model, ModelError, ModelSection, ModelSymbol, Strings, contents};
use crate::callgraph::CallGraph;
use crate::capmerc::{self, Capsule, Instruction};
use crate::codec::CodecError;
use crate::consts::*;
use crate::kind::{SectionKind, classify};
use crate::notes::{CudaInfo, Note, OWNER, TYPE_CUINFO, TYPE_TKINFO, ToolInfo, notes};
use crate::nvinfo::{Record, records};
use crate::raw::{Pair, Rel, Rela, Sym};
use crate::read::{Cubin, Relocations, Section, SymbolSection};
use crate::tables::{Metadata, RelocationActions, prototypes};
use crate::unified::{self, Index, UnifiedEntry};
use crate::write::Content;
use crate::write::strings::{NewSymbol, encode_symbols};
use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

/// A relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Offset of the patched field in its section.
    pub offset: u64,
    /// Type.
    pub code: u32,
    /// Symbol index.
    pub symbol: u32,
    /// Addend, 0 for REL.
    pub addend: i64,
}

/// A note with its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelNote<'d> {
    /// Tool that took part.
    Tool(ToolInfo<'d>),
    /// Device and toolkit.
    Cuda(CudaInfo),
    /// Another note.
    Other(Note<'d>),
}

/// Contents of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Body<'d> {
    /// No bytes in the file; size in memory.
    NoBits(u64),
    /// Bytes of another section.
    SameAs(u32),
    /// Bytes without structure: code and data.
    Bytes(&'d [u8]),
    /// Strings.
    Strings(Strings<'d>),
    /// Symbols.
    Symbols(Vec<ModelSymbol>),
    /// Extended section indices of the linked symbol table.
    ExtendedIndices,
    /// Relocations without addends.
    Rel(Vec<Relocation>),
    /// Relocations with addends.
    Rela(Vec<Relocation>),
    /// Attributes.
    Records(Vec<Record<'d>>),
    /// Notes.
    Notes(Vec<ModelNote<'d>>),
    /// Call graph.
    CallGraph(CallGraph<'d>),
    /// Prototypes.
    Prototypes(&'d [Pair]),
    /// Relocation actions.
    Actions(RelocationActions<'d>),
    /// Module ids.
    Metadata(Metadata<'d>),
    /// Entries of a unified table.
    UnifiedEntries(&'d [UnifiedEntry]),
    /// Index of the unified tables.
    UnifiedIndex(Index<'d>),
    /// Mercury code: section of its SASS, tag, instructions.
    Capsule(u32, u32, Vec<Instruction<'d>>),
}

/// Takes a section apart.
pub(super) fn read<'d>(cubin: &Cubin<'d>, section: &Section<'d>) -> Result<Body<'d>, ModelError> {
    let kind = classify(section.name, section.header.sh_type.get());
    let data = section.data;
    let body = match kind {
        SectionKind::StringTable => {
            let strings = Strings::read(data).ok_or_else(|| contents(section, "string table without a NUL at its end"))?;
            return Ok(Body::Strings(strings));
        }
        SectionKind::SymbolTable => return symbols(cubin, section),
        SectionKind::SymbolSectionIndices => return Ok(Body::ExtendedIndices),
        SectionKind::Rel | SectionKind::Rela | SectionKind::ResolvedRela => return relocations(cubin, section),
        SectionKind::Info | SectionKind::FunctionInfo | SectionKind::Compat => records(data).collect::<Result<_, _>>().map(Body::Records),
        SectionKind::ToolInfo | SectionKind::CudaInfo | SectionKind::CudaVersion | SectionKind::Note => {
            notes(data).map(|n| note(n?)).collect::<Result<_, _>>().map(Body::Notes)
        }
        SectionKind::CallGraph => CallGraph::read(data).map(Body::CallGraph),
        SectionKind::Prototype => prototypes(data).map(Body::Prototypes),
        SectionKind::RelocationActions => RelocationActions::read(data).map(Body::Actions),
        SectionKind::Metadata => Ok(Body::Metadata(Metadata::read(data))),
        SectionKind::UnifiedFunctionEntries | SectionKind::UnifiedDataEntries => unified::entries(data).map(Body::UnifiedEntries),
        SectionKind::UnifiedIndex => Index::read(data).map(Body::UnifiedIndex),
        SectionKind::Capsule => capsule(data),
        _ => Ok(Body::Bytes(data)),
    };
    body.map_err(|source| ModelError::Section {
        section: section.index,
        name: String::from_utf8_lossy(section.name).into_owned(),
        source,
    })
}

fn capsule(data: &[u8]) -> Result<Body<'_>, CodecError> {
    let capsule = Capsule::read(data)?;
    capsule.check()?;
    let list = capsule.instructions().map(|i| i.map(|(_, i)| i)).collect::<Result<_, _>>()?;
    Ok(Body::Capsule(capsule.text_section, capsule.tag, list))
}

fn note(note: Note<'_>) -> Result<ModelNote<'_>, CodecError> {
    Ok(match note.kind {
        TYPE_TKINFO if note.name == OWNER => ModelNote::Tool(ToolInfo::read(note.description)?),
        TYPE_CUINFO if note.name == OWNER && note.description.len() == 8 => ModelNote::Cuda(CudaInfo::read(note.description)?),
        _ => ModelNote::Other(note),
    })
}

fn relocations<'d>(cubin: &Cubin<'d>, section: &Section<'d>) -> Result<Body<'d>, ModelError> {
    let list = cubin.relocations(section)?;
    let entry = |r: Rela| Relocation {
        offset: r.r_offset.get(),
        code: r.r_type.get(),
        symbol: r.r_sym.get(),
        addend: r.r_addend.get(),
    };
    let entries = (0..list.len()).filter_map(|i| list.get(i)).map(entry).collect();
    Ok(match list {
        Relocations::Rel(_) => Body::Rel(entries),
        Relocations::Rela(_) => Body::Rela(entries),
    })
}

fn symbols<'d>(cubin: &Cubin<'d>, section: &Section<'d>) -> Result<Body<'d>, ModelError> {
    let entries = <[Sym]>::ref_from_bytes(section.data).map_err(|_| contents(section, "size is not a multiple of 24"))?;
    let table = cubin.section(section.header.sh_link.get())?;
    let strings = Strings::read(table.data).ok_or_else(|| contents(&table, "string table without a NUL at its end"))?;
    let extended = extended_indices(cubin, section.index)?;
    let read = |(i, s): (usize, &Sym)| {
        let name = strings.find(s.st_name.get());
        let place = match s.st_shndx.get() {
            0 => SymbolSection::Undefined,
            SHN_COMMON => SymbolSection::Common,
            SHN_XINDEX => {
                let index = extended
                    .get(i)
                    .ok_or_else(|| contents(section, "symbol without its extended section index"))?;
                SymbolSection::Index(index.get())
            }
            reserved @ SHN_LORESERVE.. => SymbolSection::Reserved(reserved),
            direct => SymbolSection::Index(direct.into()),
        };
        Ok(ModelSymbol {
            name: name.ok_or_else(|| contents(section, "symbol name is the end of another name"))?,
            info: s.st_info,
            other: s.st_other,
            section: place,
            value: s.st_value.get(),
            size: s.st_size.get(),
            unused_index: match s.st_shndx.get() {
                SHN_XINDEX => 0,
                _ => extended.get(i).map_or(0, |x| x.get()),
            },
        })
    };
    let list: Result<_, ModelError> = entries.iter().enumerate().map(read).collect();
    Ok(Body::Symbols(list?))
}

/// The extended section indices that belong to a symbol table.
fn extended_indices<'d>(cubin: &Cubin<'d>, symtab: u32) -> Result<&'d [U32], ModelError> {
    let headers = (0u32..).zip(cubin.section_headers());
    let mut tables = headers.filter(|(_, s)| s.sh_type.get() == SHT_SYMTAB_SHNDX && s.sh_link.get() == symtab);
    let Some((index, _)) = tables.next() else { return Ok(&[]) };
    let section = cubin.section(index)?;
    <[U32]>::ref_from_bytes(section.data).map_err(|_| contents(&section, "size is not a multiple of 4"))
}

/// Encodes a section's contents.
pub(super) fn encode<'d>(model: &Model<'d>, index: u32, section: &ModelSection<'d>) -> Result<Content<'d>, ModelError> {
    let mut out = Vec::new();
    let failed = |source| ModelError::Section {
        section: index,
        name: String::from_utf8_lossy(model.section_name(section)).into_owned(),
        source,
    };
    match &section.body {
        Body::NoBits(_) => return Ok(Content::NoBits),
        Body::SameAs(twin) => return Ok(Content::SameAs(*twin)),
        Body::Bytes(bytes) => return Ok(Content::Bytes((*bytes).into())),
        Body::Strings(strings) => strings.write(&mut out),
        Body::Symbols(list) => out = symbol_tables(model, section.link, list).0,
        Body::ExtendedIndices => {
            if let Some(table) = model.section(section.link)
                && let Body::Symbols(list) = &table.body
            {
                out = symbol_tables(model, table.link, list).1.unwrap_or_default();
            }
        }
        Body::Rel(list) => list.iter().for_each(|r| out.extend_from_slice(rel(r).as_bytes())),
        Body::Rela(list) => list.iter().for_each(|r| out.extend_from_slice(rela(r).as_bytes())),
        Body::Records(list) => list.iter().for_each(|r| r.write(&mut out)),
        Body::Notes(list) => list.iter().try_for_each(|n| write_note(n, &mut out)).map_err(failed)?,
        Body::CallGraph(graph) => graph.write(&mut out),
        Body::Prototypes(list) => out.extend_from_slice(list.as_bytes()),
        Body::Actions(actions) => actions.write(&mut out),
        Body::Metadata(metadata) => metadata.write(&mut out),
        Body::UnifiedEntries(list) => out.extend_from_slice(list.as_bytes()),
        Body::UnifiedIndex(index) => index.write(&mut out),
        Body::Capsule(text, tag, list) => capmerc::write(*text, *tag, list, &mut out).map_err(failed)?,
    }
    Ok(Content::Bytes(out.into()))
}

fn symbol_tables(model: &Model<'_>, link: u32, list: &[ModelSymbol]) -> (Vec<u8>, Option<Vec<u8>>) {
    let strings = model.strings(link);
    let symbol = |s: &ModelSymbol| NewSymbol {
        name: strings.and_then(|t| t.offset(s.name)).unwrap_or_default(),
        info: s.info,
        other: s.other,
        section: s.section,
        value: s.value,
        size: s.size,
        unused_index: s.unused_index,
    };
    let list: Vec<_> = list.iter().map(symbol).collect();
    encode_symbols(&list)
}

fn write_note(note: &ModelNote<'_>, out: &mut Vec<u8>) -> Result<(), CodecError> {
    match note {
        ModelNote::Tool(tool) => tool.write(out),
        ModelNote::Cuda(info) => info.write(out),
        ModelNote::Other(note) => note.write(out),
    }
}

fn rel(r: &Relocation) -> Rel {
    Rel {
        r_offset: r.offset.into(),
        r_type: r.code.into(),
        r_sym: r.symbol.into(),
    }
}

fn rela(r: &Relocation) -> Rela {
    Rela {
        r_offset: r.offset.into(),
        r_type: r.code.into(),
        r_sym: r.symbol.into(),
        r_addend: r.addend.into(),
    }
}
