//! What a dump shows of the ELF container: header, program headers, sections, symbols and relocations, as rows.
//!
//! Text and JSON are two renderings of these rows. Long tables are iterators, so a large file is shown without a second copy in memory.

use super::model::Model;
use crate::names;
use crate::view::{Home, Sect, SymbolTable, View};
use cubin::consts::*;
use cubin::names::{symbol_binding, symbol_type};
use cubin::raw::Phdr;
use cubin::reloc::{BitField, FieldSource, RelocInfo, Resolver, reloc_info};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The file header.
#[derive(Debug, Clone, Serialize)]
pub struct HeaderRow {
    /// 32 or 64.
    pub class: u8,
    /// `relocatable`, `executable` or a number.
    pub file_type: Cow<'static, str>,
    /// `e_type`.
    pub file_type_value: u16,
    /// `sm_90`.
    pub arch: String,
    /// `e_ident[EI_OSABI]`.
    pub os_abi: u8,
    /// `e_ident[EI_ABIVERSION]`.
    pub abi_version: u8,
    /// `e_machine`.
    pub machine: u16,
    /// `e_version`.
    pub version: u32,
    /// `e_entry`.
    pub entry: u64,
    /// `e_flags`.
    pub flags: u32,
    /// Index of `.note.nv.cuinfo` as the flags state it; 255 and more are stated as 255. Absent in CUDA 12 files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags_note_section: Option<u32>,
    /// `e_shoff`.
    pub section_headers_offset: u64,
    /// `e_shnum`.
    pub section_count: u16,
    /// `e_shstrndx`.
    pub section_names_section: u16,
    /// `e_phoff`.
    pub program_headers_offset: u64,
    /// `e_phnum`.
    pub program_header_count: u16,
    /// Size of the file in bytes.
    pub file_size: u64,
}

/// A program header.
#[derive(Debug, Clone, Serialize)]
pub struct SegmentRow {
    /// Position.
    pub index: u32,
    /// `LOAD`, `PHDR` or a number.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// `p_type`.
    pub type_value: u32,
    /// `R-X`.
    pub flags: String,
    /// `p_flags`.
    pub flags_value: u32,
    /// `p_offset`.
    pub offset: u64,
    /// `p_filesz`.
    pub file_size: u64,
    /// `p_memsz`.
    pub memory_size: u64,
    /// `p_vaddr`.
    pub address: u64,
    /// `p_paddr`.
    pub physical_address: u64,
    /// `p_align`.
    pub align: u64,
    /// Indices of the first and last section that are inside, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sections: Option<(u32, u32)>,
}

/// A section header.
#[derive(Debug, Clone, Serialize)]
pub struct SectionRow<'d> {
    /// Index.
    pub index: u32,
    /// Name.
    pub name: Cow<'d, str>,
    /// Type as a name or a number.
    #[serde(rename = "type")]
    pub kind: String,
    /// `sh_type`.
    pub type_value: u32,
    /// Flags as names.
    #[serde(serialize_with = "flag_names")]
    pub flags: (u64, u32),
    /// `sh_flags`.
    pub flags_value: u64,
    /// `sh_addr`.
    pub address: u64,
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_size`.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entry_size: u64,
}

/// A symbol.
#[derive(Debug, Clone, Serialize)]
pub struct SymbolRow<'d> {
    /// Index in its table.
    pub index: u32,
    /// Name.
    pub name: Cow<'d, str>,
    /// C++ name, with `--demangle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// `st_value`.
    pub value: u64,
    /// `st_size`.
    pub size: u64,
    /// `LOCAL`, `GLOBAL`, `WEAK`.
    #[serde(serialize_with = "binding_name")]
    pub binding: u8,
    /// `FUNC`, `OBJECT`, ...
    #[serde(rename = "type", serialize_with = "type_name")]
    pub kind: u8,
    /// Bits of `st_other` as names: `entry`, `managed`, a memory space.
    #[serde(serialize_with = "other_names")]
    pub other: u8,
    /// `st_info`.
    pub info_value: u8,
    /// `st_other`.
    pub other_value: u8,
    /// Section index; absent for undefined, common and reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<u32>,
    /// Section name, or `undefined`, `common`, a reserved number.
    pub section_name: Cow<'d, str>,
}

/// One relocation.
#[derive(Debug, Clone, Serialize)]
pub struct RelocRow<'d> {
    /// Offset in the section it patches.
    pub offset: u64,
    /// Type as a name or a number.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// Number of the type.
    pub type_value: u32,
    /// Symbol index.
    pub symbol: u32,
    /// Symbol name.
    pub symbol_name: Cow<'d, str>,
    /// C++ name, with `--demangle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// Addend; absent in REL sections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addend: Option<i64>,
    /// Tool that resolves it.
    pub resolver: &'static str,
    /// The bits it writes.
    #[serde(serialize_with = "bit_fields")]
    pub bits: &'static [BitField],
}

#[derive(Serialize)]
struct BitsRow {
    first: u8,
    width: u8,
    source: &'static str,
    shift: u8,
}

fn flag_names<S: Serializer>((flags, kind): &(u64, u32), s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(names::section_flags(*flags, *kind))
}

fn binding_name<S: Serializer>(binding: &u8, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&symbol_binding(*binding))
}

fn type_name<S: Serializer>(kind: &u8, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&symbol_type(*kind))
}

fn other_names<S: Serializer>(other: &u8, s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(names::other_bits(*other))
}

fn bit_fields<S: Serializer>(fields: &&'static [BitField], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(fields.iter().map(|f| BitsRow {
        first: f.start,
        width: f.width,
        source: source_name(f.source),
        shift: f.shift,
    }))
}

/// What a field holds, in words.
pub(crate) fn source_name(source: FieldSource) -> &'static str {
    match source {
        FieldSource::Value => "value",
        FieldSource::Bank => "bank",
        FieldSource::GlobalAddress => "global address",
        FieldSource::UnifiedAddress => "unified address",
        FieldSource::FunctionDescriptor => "function descriptor",
        FieldSource::HeaderIndex => "header index",
        FieldSource::SurfaceDescriptor => "surface descriptor",
        FieldSource::Slot => "slot",
        FieldSource::PcRelative => "pc-relative",
        FieldSource::Instruction => "instruction",
        FieldSource::Opcode => "opcode",
        FieldSource::ClearPredicate => "clear predicate",
        FieldSource::Zero => "zero",
    }
}

fn resolver_name(info: Option<&RelocInfo>) -> &'static str {
    match info.map(|i| i.resolver) {
        Some(Resolver::Ignored) => "none",
        Some(Resolver::Linker) => "linker",
        Some(Resolver::Either) => "linker or driver",
        Some(Resolver::Driver) => "driver",
        Some(Resolver::Finalizer) => "finalizer",
        None => "unknown",
    }
}

/// Name of a relocation type, or its number.
pub(crate) fn reloc_name(code: u32) -> Cow<'static, str> {
    reloc_info(code).map_or_else(|| Cow::Owned(format!("{code:#x}")), |i| Cow::Borrowed(i.name))
}

/// True for sections that hold relocations.
pub(crate) fn is_reloc(section: &Sect<'_>) -> bool {
    matches!(
        section.header.sh_type.get(),
        SHT_REL | SHT_RELA | SHT_CUDA_RESOLVED_RELA | SHT_CUDA_MERC_RELA | SHT_CUDA_MERC_RESOLVED_RELA
    )
}

impl<'v, 'd> Model<'v, 'd> {
    /// The file header.
    pub fn header(&self) -> HeaderRow {
        let view = self.view;
        let h = &view.header;
        let [_, _, _, _, class, _, _, os_abi, abi_version, ..] = h.ident;
        HeaderRow {
            class: if class == 1 { 32 } else { 64 },
            file_type: names::file_type(h.e_type.get()),
            file_type_value: h.e_type.get(),
            arch: format!("sm_{}", view.arch()),
            os_abi,
            abi_version,
            machine: h.e_machine.get(),
            version: h.e_version.get(),
            entry: h.e_entry.get(),
            flags: h.e_flags.get(),
            flags_note_section: (os_abi == ELFOSABI_CUDA).then(|| h.e_flags.get() >> 24),
            section_headers_offset: h.e_shoff.get(),
            section_count: h.e_shnum.get(),
            section_names_section: h.e_shstrndx.get(),
            program_headers_offset: h.e_phoff.get(),
            program_header_count: h.e_phnum.get(),
            file_size: view.data.len() as u64,
        }
    }

    /// Program headers.
    pub fn segments(&self) -> impl Iterator<Item = SegmentRow> + use<'v, 'd> {
        let view = self.view;
        view.segments.iter().enumerate().map(|(index, p)| SegmentRow {
            index: index as u32,
            kind: names::segment_type(p.p_type.get()),
            type_value: p.p_type.get(),
            flags: names::segment_flags(p.p_flags.get()),
            flags_value: p.p_flags.get(),
            offset: p.p_offset.get(),
            file_size: p.p_filesz.get(),
            memory_size: p.p_memsz.get(),
            address: p.p_vaddr.get(),
            physical_address: p.p_paddr.get(),
            align: p.p_align.get(),
            sections: covered(view, p),
        })
    }

    /// Sections, number 0 left out.
    pub fn sections(&self) -> impl Iterator<Item = SectionRow<'d>> + use<'_, 'v, 'd> {
        self.view
            .sections
            .iter()
            .skip(1)
            .filter(|s| self.shows_section(s))
            .map(|s| SectionRow {
                index: s.index,
                name: names::text(s.name),
                kind: names::section_type(s.header.sh_type.get()),
                type_value: s.header.sh_type.get(),
                flags: (s.header.sh_flags.get(), s.header.sh_type.get()),
                flags_value: s.header.sh_flags.get(),
                address: s.header.sh_addr.get(),
                offset: s.header.sh_offset.get(),
                size: s.header.sh_size.get(),
                link: s.header.sh_link.get(),
                info: s.header.sh_info.get(),
                align: s.header.sh_addralign.get(),
                entry_size: s.header.sh_entsize.get(),
            })
    }

    /// Symbols of a table, number 0 left out.
    pub fn symbols(&self, table: &'v SymbolTable<'d>) -> impl Iterator<Item = SymbolRow<'d>> + use<'_, 'v, 'd> {
        let view = self.view;
        (1..table.entries.len() as u32).filter_map(move |index| {
            let entry = table.entries.get(index as usize)?;
            let home = table.home(index);
            let name = view.symbol_name(table, index);
            if !self.shows_symbol(name, home) {
                return None;
            }
            let (section, section_name) = match home {
                Home::Undefined => (None, Cow::Borrowed("undefined")),
                Home::Common => (None, Cow::Borrowed("common")),
                Home::Reserved(r) => (None, Cow::Owned(format!("{r:#x}"))),
                Home::Section(s) => (Some(s), view.section(s).map_or(Cow::Borrowed("?"), |s| names::text(s.name))),
            };
            Some(SymbolRow {
                index,
                name: names::text(name),
                demangled: self.demangled(name),
                value: entry.st_value.get(),
                size: entry.st_size.get(),
                binding: entry.bind(),
                kind: entry.kind(),
                other: entry.st_other,
                info_value: entry.st_info,
                other_value: entry.st_other,
                section,
                section_name,
            })
        })
    }

    /// Sections with relocations.
    pub fn reloc_sections(&self) -> impl Iterator<Item = &'v Sect<'d>> + use<'_, 'v, 'd> {
        self.view.sections.iter().filter(|s| is_reloc(s) && self.shows_relocs(s))
    }

    /// Entries of a relocation section.
    pub fn relocs(&self, section: &'v Sect<'d>) -> impl Iterator<Item = RelocRow<'d>> + use<'_, 'v, 'd> {
        let view = self.view;
        let table = view.table_of(section);
        let (with_addend, entries) = view.relocations(section);
        entries.map(move |r| {
            let (code, symbol) = (r.r_type.get(), r.r_sym.get());
            let info = reloc_info(code);
            let name = match table {
                Some(t) if (symbol as usize) < t.entries.len() => view.symbol_name(t, symbol),
                _ => b"?",
            };
            RelocRow {
                offset: r.r_offset.get(),
                kind: reloc_name(code),
                type_value: code,
                symbol,
                symbol_name: names::text(name),
                demangled: self.demangled(name),
                addend: with_addend.then(|| r.r_addend.get()),
                resolver: resolver_name(info),
                bits: info.map_or(&[], |i| i.fields),
            }
        })
    }
}

/// First and last section that a program header covers.
fn covered(view: &View<'_>, segment: &Phdr) -> Option<(u32, u32)> {
    const WRITABLE: u32 = 2;
    let offset = segment.p_offset.get();
    let end = offset.saturating_add(segment.p_filesz.get());
    let writable = segment.p_flags.get() & WRITABLE != 0;
    let inside = |s: &&Sect<'_>| {
        let at = s.header.sh_offset.get();
        let flags = s.header.sh_flags.get();
        // Sections without bytes share their offset with what follows; their flags distinguish them.
        let fits = flags & (SHF_ALLOC | SHF_CUDA_MERCURY) == SHF_ALLOC && (flags & SHF_WRITE != 0) == writable;
        fits && at >= offset && at <= end && at.saturating_add(s.data.len() as u64) <= end
    };
    let first = view.sections.iter().skip(1).find(inside)?;
    let last = view.sections.iter().rev().find(inside)?;
    Some((first.index, last.index))
}
