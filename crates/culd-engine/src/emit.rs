//! The image: sizes first, then every byte once.
//!
//! 1. Bytes of computed sections (tables, notes, attributes, call graph).
//! 2. File offsets: each section at the next multiple of its alignment; sections without bytes align the cursor too. Section headers
//!    follow, then program headers.
//! 3. Everything in file order ([`chunks`], [`chunk_list`], [`fill`]), copied from the inputs and patched, or made on the way (headers, symbols, relocations:
//!    [`reloc_sections`]), to memory or to a [`Sink`].

mod chunk_list;
mod chunks;
mod fill;
mod reloc_sections;
mod sink;

pub use sink::Sink;

use crate::align::{align_up, file_offset};
use crate::arrange::{OutputPlan, Shape};
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::SectionId;
use crate::layout::Layout;
use crate::options::{Identity, Suffix};
use crate::records::{Class, SymbolTableEntry};
use crate::relocate::RelocResolver;
use crate::sections::{SyntheticSections, notes};
use chunks::{Chunk, ChunkSource, Contents, Placement, Placements};
use cubin::consts::*;
use cubin::names::make_file_flags_v7;
use cubin::raw::{Ehdr, Phdr, Shdr, Sym};
use cubin::release::Form;
use fill::Destination;
use std::io;
use zerocopy::IntoBytes;

/// Result of writing the image.
pub enum Emitted {
    /// In memory.
    Image(Vec<u8>),
    /// Handed to the sink: its size, or why that failed.
    Written(io::Result<u64>),
}

/// Makes the image, and hands it to `sink` if there is one that takes it.
pub(crate) fn emit(
    parts: &OutputPlan<'_, '_>,
    computed: &SyntheticSections,
    sink: Option<&dyn Sink>,
    out: &mut Collector<'_>,
) -> Result<Emitted, Stop> {
    let shapes = parts.arranged.shapes.as_slice();
    let mut cursor = size_of::<Ehdr>() as u64;
    let mut list = Vec::with_capacity(shapes.len());
    for (&id, shape) in parts.arranged.sections.iter().zip(shapes) {
        cursor = file_offset(cursor, shape.align);
        let size = size_of_section(parts, id, shape, computed);
        list.push(Placement { size, offset: cursor });
        if shape.has_bytes {
            cursor = cursor.saturating_add(size);
        }
    }
    let places = Placements { list };
    let headers = align_up(cursor, 8);
    let programs = headers.saturating_add((size_of::<Shdr>() * (places.list.len() + 1)) as u64);
    let segments = program_headers(parts, shapes, &places.list, programs);
    let total = programs.saturating_add(segments.as_bytes().len() as u64);
    let size = usize::try_from(total)
        .ok()
        .filter(|_| total <= MAX_IMAGE)
        .ok_or_else(|| too_large(parts, total, out))?;
    let resolver = RelocResolver::new(parts.link, parts.layout);
    let header = file_header(parts, headers, if segments.is_empty() { 0 } else { programs }, segments.len());
    let textures = reloc_sections::textures(parts);
    let fixed = &parts.layout.records.standard;
    let bytes = |offset, bytes| Chunk {
        offset,
        source: ChunkSource::Bytes(bytes),
    };
    let mut frame = vec![bytes(0, header.as_bytes()), bytes(programs, segments.as_bytes())];
    let symbols = parts.arranged.symbols.len() + 1;
    let at = places.start_of(parts, fixed.symbols);
    frame.extend(chunks::table(at, symbols, size_of::<Sym>(), ChunkSource::Symbols));
    if parts.arranged.extended {
        let at = places.start_of(parts, fixed.extended);
        frame.extend(chunks::table(at, symbols, size_of::<u32>(), ChunkSource::Extended));
    }
    frame.extend(chunks::table(
        headers,
        places.list.len() + 1,
        size_of::<Shdr>(),
        ChunkSource::Headers,
    ));
    reloc_sections::texture_places(parts, &places, &textures, &mut frame);
    let contents = Contents {
        places: &places,
        computed,
        resolver: &resolver,
    };
    match sink.map(|sink| (sink, sink.begin(total))) {
        Some((sink, Ok(true))) => {
            let done = fill::fill(parts, &contents, frame, Destination::Sink(sink));
            Ok(Emitted::Written(done.map(|()| total)))
        }
        Some((_, Err(error))) => Ok(Emitted::Written(Err(error))),
        Some((_, Ok(false))) | None => {
            let mut image = vec![0u8; size];
            // An image in memory includes all parts.
            fill::fill(parts, &contents, frame, Destination::Memory(&mut image)).unwrap_or_default();
            Ok(Emitted::Image(image))
        }
    }
}

/// Larger images are refused: no device could load them, and damaged sizes would exhaust memory.
const MAX_IMAGE: u64 = 64 << 30;

pub(crate) fn too_large(parts: &OutputPlan<'_, '_>, size: u64, out: &mut Collector<'_>) -> Stop {
    let file = parts
        .link
        .inputs
        .objects
        .iter()
        .next()
        .map_or(String::new(), |o| o.name.to_string());
    out.fatal(Code::Damaged {
        file,
        reason: format!("the linked file would have {size:#x} bytes"),
    })
}

fn size_of_section(parts: &OutputPlan<'_, '_>, id: SectionId, shape: &Shape, computed: &SyntheticSections) -> u64 {
    let entries = || u64::from(parts.plan.counts[id]);
    let symbols = parts.arranged.symbols.len() as u64 + 1;
    match shape.class {
        Class::SectionNames => parts.arranged.section_names.len() as u64,
        Class::Strings => parts.arranged.strings.len() as u64,
        Class::Symbols => symbols * size_of::<Sym>() as u64,
        Class::ExtendedIndices => symbols * 4,
        Class::Rel(_) => entries() * 16,
        Class::Rela(_) | Class::ResolvedRela(_) => entries() * 24,
        _ => computed.get(id).map_or(shape.size, |bytes| bytes.len() as u64),
    }
}

pub(crate) fn copy(to: &mut [u8], offset: u64, from: &[u8]) {
    if let Some(place) = to.get_mut(offset as usize..).and_then(|d| d.get_mut(..from.len())) {
        place.copy_from_slice(from);
    }
}

/// Value of the undefined symbol `.nv.reservedSmem.cap`.
const RESERVED_SHARED: u64 = 0x400;

/// Symbol `number`.
fn symbol(parts: &OutputPlan<'_, '_>, number: usize) -> Sym {
    let OutputPlan { layout, arranged, .. } = *parts;
    let at = number.checked_sub(1);
    let Some(&named) = at.and_then(|i| arranged.symbols.get(i)) else {
        return Sym {
            st_value: layout.null_value.into(),
            ..Sym::default()
        };
    };
    let (mut entry, section) = plain_symbol(layout, named);
    entry.st_name = arranged.name(named).into();
    entry.st_shndx = direct_index(parts, section).unwrap_or(SHN_XINDEX).into();
    entry
}

/// The number of a section, if it fits into a symbol.
fn direct_index(parts: &OutputPlan<'_, '_>, section: Option<SectionId>) -> Option<u16> {
    // nvlink quirk: section 0xfff2 counts as one that fits.
    let quirks = parts.link.options.identity == Identity::Nvlink;
    let index = section.map_or(0, |s| parts.arranged.section_index(s));
    let short = u16::try_from(index).ok()?;
    (short < SHN_LORESERVE || (quirks && short == SHN_COMMON)).then_some(short)
}

/// Extended section index of symbol `number`.
fn extended_index(parts: &OutputPlan<'_, '_>, number: usize) -> u32 {
    let OutputPlan { layout, arranged, .. } = *parts;
    let named = number.checked_sub(1).and_then(|i| arranged.symbols.get(i));
    let section = named.and_then(|&named| plain_symbol(layout, named).1);
    match (section, direct_index(parts, section)) {
        (Some(id), None) => arranged.section_index(id),
        // nvlink quirk: where the index fits, the section's number of creation.
        (Some(id), Some(_)) if parts.link.options.identity == Identity::Nvlink => layout.records.sections[id].number,
        _ => 0,
    }
}

/// A symbol without name, and the section that contains it.
fn plain_symbol(layout: &Layout<'_>, named: SymbolTableEntry) -> (Sym, Option<SectionId>) {
    match named {
        SymbolTableEntry::Section(id) => (
            Sym {
                st_info: STT_SECTION,
                ..Sym::default()
            },
            Some(id),
        ),
        SymbolTableEntry::Symbol(id) => {
            let sym = &layout.records.symbols[id];
            let value = if sym.section.is_none() && sym.name == b".nv.reservedSmem.cap" {
                RESERVED_SHARED
            } else {
                sym.value
            };
            let entry = Sym {
                st_info: sym.bind << 4 | sym.kind,
                st_other: sym.other,
                st_value: value.into(),
                st_size: sym.size.into(),
                ..Sym::default()
            };
            (entry, sym.section)
        }
    }
}

/// Header of section `number`.
fn section_header(parts: &OutputPlan<'_, '_>, Placements { list }: &Placements, number: usize) -> Shdr {
    let at = number.checked_sub(1);
    let Some((&id, place)) = at.and_then(|i| parts.arranged.sections.get(i).zip(list.get(i))) else {
        let count = list.len() as u64 + 1;
        return Shdr {
            sh_size: if count >= u64::from(SHN_LORESERVE) { count } else { 0 }.into(),
            ..Shdr::default()
        };
    };
    let OutputPlan { layout, arranged, .. } = *parts;
    let s = &layout.records.sections[id];
    let index = |id: SectionId| arranged.section_index(id);
    let fixed = &layout.records.standard;
    let symtab = index(fixed.symbols);
    let owner = s.owner.map_or(0, index);
    let (link, info) = match s.class {
        Class::Symbols => (index(fixed.strings), arranged.first_global),
        Class::ExtendedIndices => (symtab, 0),
        Class::CudaNote => (fixed.tool_note.map_or(0, index), fixed.compat.map_or(0, index)),
        Class::Info | Class::FunctionInfo(_) | Class::UftInfo => (symtab, owner),
        Class::Callgraph | Class::Prototype | Class::UdtEntry => (symtab, 0),
        Class::UftEntry if parts.link.mode.relocatable => (symtab, 0),
        Class::Rel(target) | Class::Rela(target) | Class::ResolvedRela(target) => (symtab, index(target)),
        Class::Text(f) | Class::Stub(f) => (
            symtab,
            u32::from(layout.records.functions[f].registers) << 24
                | layout.records.symbol_of[f].map_or(0, |sym| arranged.symbol_index(sym)),
        ),
        Class::Uft => (
            symtab,
            layout.records.unified.first_stub.map_or(0, |sym| arranged.symbol_index(sym)),
        ),
        _ => (0, owner),
    };
    let mut flags = s.flags;
    if let Class::Text(f) = s.class
        && let Ok(at) = parts.flagged.binary_search_by_key(&f, |flagged| flagged.0)
        && let Some((_, barriers)) = parts.flagged.get(at)
    {
        flags |= u64::from(*barriers) << 20;
    }
    if let Class::Rel(target) | Class::Rela(target) = s.class
        && layout.records.sections[target].slot_relocs == Some(id)
        && (matches!(s.class, Class::Rel(_)) || parts.link.mode.rules.plain_parameter_relocs)
    {
        flags = 0;
    }
    if !parts.link.mode.rules.info_link_flags {
        flags &= !SHF_INFO_LINK;
    }
    Shdr {
        sh_name: arranged.name_offset[id].into(),
        sh_type: final_type(parts, s.sh_type).into(),
        sh_flags: flags.into(),
        sh_addr: 0.into(),
        sh_offset: place.offset.into(),
        sh_size: place.size.into(),
        sh_link: link.into(),
        sh_info: info.into(),
        sh_addralign: s.align.into(),
        sh_entsize: u64::from(s.entsize).into(),
    }
}

/// Final links use the generic types for data.
pub(crate) fn final_type(parts: &OutputPlan<'_, '_>, sh_type: u32) -> u32 {
    if parts.link.mode.relocatable {
        return sh_type;
    }
    match sh_type {
        SHT_CUDA_GLOBAL | SHT_CUDA_SHARED | SHT_CUDA_LOCAL => SHT_NOBITS,
        SHT_CUDA_GLOBAL_INIT | SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT_LAST => SHT_PROGBITS,
        other => other,
    }
}

const PT_LOAD: u32 = 1;
const PT_PHDR: u32 = 6;
const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;

/// Program headers: themselves, code and constants, data, themselves again.
fn program_headers(parts: &OutputPlan<'_, '_>, shapes: &[Shape], places: &[Placement], at: u64) -> Vec<Phdr> {
    if parts.link.mode.relocatable {
        return Vec::new();
    }
    let (alloc, write) = (SHF_ALLOC as u8, SHF_WRITE as u8);
    let segment = |writable: u8| {
        let sections = shapes.iter().zip(places);
        sections.filter(move |(s, _)| s.flags & alloc != 0 && s.flags & write == writable)
    };
    let header = |p_type: u32, p_flags: u32, offset: u64, file: u64, memory: u64| Phdr {
        p_type: p_type.into(),
        p_flags: p_flags.into(),
        p_offset: offset.into(),
        p_vaddr: 0.into(),
        p_paddr: 0.into(),
        p_filesz: file.into(),
        p_memsz: memory.into(),
        p_align: 8.into(),
    };
    let mut headers = Vec::new();
    if let (Some((_, first)), Some((_, last))) = (segment(0).next(), segment(0).next_back()) {
        let size = last.offset.saturating_add(last.size) - first.offset;
        headers.push(header(PT_LOAD, READ_EXECUTE, first.offset, size, size));
    }
    if let Some((_, first)) = segment(write).next() {
        let (mut end, mut extra) = (first.offset, 0u64);
        for (s, place) in segment(write) {
            end = place.offset;
            if !s.has_bytes {
                extra = file_offset(end.saturating_add(extra), s.align).saturating_add(place.size) - end;
            } else {
                end += place.size;
            }
        }
        let size = end - first.offset;
        headers.push(header(PT_LOAD, READ_WRITE, first.offset, size, size.saturating_add(extra)));
    }
    let own = (size_of::<Phdr>() * (headers.len() + 2)) as u64;
    headers.insert(0, header(PT_PHDR, READ_EXECUTE, at, own, own));
    headers.push(header(PT_LOAD, READ_EXECUTE, at, own, own));
    headers
}

fn file_header(parts: &OutputPlan<'_, '_>, headers: u64, programs: u64, program_count: usize) -> Ehdr {
    let arranged = parts.arranged;
    let (mode, target) = (parts.link.mode, parts.link.options.target);
    let note = parts.layout.records.standard.cuda_note;
    let note = note.map_or(0, |id| arranged.section_index(id).min(255));
    let kind = if target.capabilities().has_mercury { 2 } else { 4 };
    let count = u16::try_from(arranged.sections.len() + 1)
        .ok()
        .filter(|&n| n < SHN_LORESERVE)
        .unwrap_or(0);
    let (os_abi, abi, version, flags) = match mode.rules.form {
        Form::Cuda12 => {
            let virtual_sm = notes::virtual_arch(parts.link) as u8;
            let flags = make_file_flags_v7(target.number as u8, virtual_sm, target.suffix == Suffix::Arch);
            (ELFOSABI_CUDA_V7, 7, mode.toolkit, flags)
        }
        _ => (ELFOSABI_CUDA, 8, 1, note << 24 | target.number << 8 | kind),
    };
    Ehdr {
        ident: [0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi, 0, 0, 0, 0, 0, 0, 0],
        e_type: if parts.link.mode.relocatable { ET_REL } else { ET_EXEC }.into(),
        e_machine: EM_CUDA.into(),
        e_version: version.into(),
        e_entry: 0.into(),
        e_phoff: programs.into(),
        e_shoff: headers.into(),
        e_flags: flags.into(),
        e_ehsize: (size_of::<Ehdr>() as u16).into(),
        e_phentsize: (size_of::<Phdr>() as u16).into(),
        e_phnum: (program_count as u16).into(),
        e_shentsize: (size_of::<Shdr>() as u16).into(),
        e_shnum: count.into(),
        e_shstrndx: (arranged.section_index(parts.layout.records.standard.section_names) as u16).into(),
    }
}
