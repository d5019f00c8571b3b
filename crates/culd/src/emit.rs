//! The image: sizes first, then every byte once.
//!
//! 1. Bytes of computed sections (tables, notes, attributes, call graph).
//! 2. File offsets: each section at the next multiple of its alignment; sections without bytes align the cursor too. Section headers
//!    follow, then program headers.
//! 3. One buffer, split into the sections' parts: each part is filled on its own, copied from the inputs, patched, and its kept
//!    relocations written, in parallel when it pays.

use crate::arrange::Arranged;
use crate::csr::Lists;
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{SectionId, Table};
use crate::layout::{ABSENT, Context, Layout};
use crate::merge::align_up;
use crate::merge::model::{Class, OutSection};
use crate::metadata::propagate::Final;
use crate::metadata::{callgraph, compat, encode, notes};
use crate::options::Identity;
use crate::relocate::{Decider, Decision, Named, RelocPlan};
use cubin::consts::*;
use cubin::raw::{Ehdr, Phdr, Rela, Shdr, Sym};
use cubin::read::is_nobits;
use rayon::prelude::*;
use zerocopy::IntoBytes;

/// Everything that the image is made of.
pub struct Parts<'a, 'd> {
    /// Inputs, functions, options.
    pub context: Context<'a, 'd>,
    /// Records.
    pub layout: &'a Layout<'d>,
    /// Sizes of relocation sections.
    pub plan: &'a RelocPlan,
    /// Order.
    pub arranged: &'a Arranged,
    /// Attributes.
    pub attributes: &'a Final<'d>,
}

struct Placement {
    size: u64,
    offset: u64,
}

/// Makes the image.
pub fn emit(parts: &Parts<'_, '_>, out: &mut Collector<'_>) -> Result<Vec<u8>, Stop> {
    let computed = computed(parts, out)?;
    let mut cursor = size_of::<Ehdr>() as u64;
    let mut places: Vec<Placement> = Vec::with_capacity(parts.arranged.sections.len());
    for &id in &parts.arranged.sections {
        let s = &parts.layout.m.sections[id];
        let size = size_of_section(parts, id, computed[id].as_deref());
        cursor = align_up(cursor, s.align);
        places.push(Placement { size, offset: cursor });
        if !is_nobits(s.sh_type) {
            cursor = cursor.saturating_add(size);
        }
    }
    let headers = align_up(cursor, 8);
    let programs = headers.saturating_add((size_of::<Shdr>() * (places.len() + 1)) as u64);
    let segments = program_headers(parts, &places, programs);
    let total = programs.saturating_add(segments.as_bytes().len() as u64);
    let total = usize::try_from(total)
        .ok()
        .filter(|&t| t as u64 <= MAX_IMAGE)
        .ok_or_else(|| too_large(parts, total, out))?;
    let mut image = vec![0u8; total];
    fill(parts, &computed, &places, &mut image)?;
    let mut tail = Vec::with_capacity(total - headers as usize);
    tail.extend_from_slice(section_headers(parts, &places).as_bytes());
    tail.extend_from_slice(segments.as_bytes());
    if let Some(end) = image.get_mut(headers as usize..) {
        end.copy_from_slice(&tail);
    }
    let header = file_header(parts, headers, if segments.is_empty() { 0 } else { programs }, segments.len());
    if let Some(start) = image.get_mut(..size_of::<Ehdr>()) {
        start.copy_from_slice(header.as_bytes());
    }
    Ok(image)
}

/// Larger images are refused: no device could load them, and damaged sizes would exhaust memory.
const MAX_IMAGE: u64 = 64 << 30;

pub(crate) fn too_large(parts: &Parts<'_, '_>, size: u64, out: &mut Collector<'_>) -> Stop {
    let file = parts
        .context
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

/// Bytes of the sections that the linker computes.
pub(crate) fn computed(parts: &Parts<'_, '_>, out: &mut Collector<'_>) -> Result<Table<SectionId, Option<Vec<u8>>>, Stop> {
    let Parts {
        context,
        layout,
        arranged,
        attributes,
        ..
    } = *parts;
    let fixed = &layout.m.fixed;
    let mut bytes: Table<SectionId, Option<Vec<u8>>> = Table::filled(layout.m.sections.len(), None);
    bytes[fixed.tool_note] = Some(notes::tool_note(context));
    bytes[fixed.cuda_note] = Some(notes::cuda_note(context));
    bytes[fixed.info] = Some(encode::encode(layout, arranged, &attributes.module));
    bytes[fixed.callgraph] = Some(callgraph::callgraph(context, layout, arranged));
    bytes[fixed.prototype] = Some(callgraph::prototypes(context, layout, arranged));
    if let Some(id) = fixed.compat {
        bytes[id] = Some(compat::compat(context, layout, out)?);
    }
    for &id in &arranged.sections {
        let s = &layout.m.sections[id];
        match s.class {
            Class::FunctionInfo(f) => bytes[id] = Some(encode::encode(layout, arranged, &attributes.functions[f])),
            Class::UftInfo => bytes[id] = Some(encode::encode(layout, arranged, &attributes.stubs)),
            Class::UftEntry => bytes[id] = Some(unified_entries(parts, &layout.m.unified.functions)),
            Class::UdtEntry => bytes[id] = Some(unified_entries(parts, &layout.m.unified.data)),
            _ => {}
        }
    }
    Ok(bytes)
}

fn unified_entries(parts: &Parts<'_, '_>, entries: &[crate::merge::model::UnifiedEntry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 * entries.len());
    for e in entries {
        let m = &parts.layout.m;
        let symbol = match parts.context.resolved.function(e.symbol) {
            Some(f) => m.functions[f].symbol,
            None => {
                if let crate::merge::model::Place::Symbol(y) = m.places[e.symbol] {
                    Some(y)
                } else {
                    None
                }
            }
        };
        out.extend_from_slice(&symbol.map_or(0, |y| parts.arranged.symbol_index(y)).to_le_bytes());
        out.extend_from_slice(&e.flags.to_le_bytes());
        for word in [e.offset, e.id.0, e.id.1] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    out
}

fn size_of_section(parts: &Parts<'_, '_>, id: SectionId, computed: Option<&[u8]>) -> u64 {
    let s = &parts.layout.m.sections[id];
    let entries = u64::from(parts.plan.counts[id]);
    let symbols = parts.arranged.symbols.len() as u64 + 1;
    match s.class {
        Class::SectionNames => parts.arranged.section_names.len() as u64,
        Class::Strings => parts.arranged.strings.len() as u64,
        Class::Symbols => symbols * size_of::<Sym>() as u64,
        Class::ExtendedIndices => symbols * 4,
        Class::Rel(_) => entries * 16,
        Class::Rela(_) | Class::ResolvedRela(_) => entries * 24,
        _ => match (computed, &s.bytes) {
            (Some(bytes), _) => bytes.len() as u64,
            (None, Some(bytes)) => bytes.len() as u64,
            (None, None) if s.size == ABSENT => 0,
            (None, None) => s.size,
        },
    }
}

/// Splits the image and fills each section's part.
fn fill(parts: &Parts<'_, '_>, computed: &Table<SectionId, Option<Vec<u8>>>, places: &[Placement], image: &mut [u8]) -> Result<(), Stop> {
    let layout = parts.layout;
    let mut slices: Table<SectionId, Option<&mut [u8]>> = Table::new();
    slices.grow_with(layout.m.sections.len(), || None);
    let mut rest = image;
    let mut at = 0u64;
    for (&id, place) in parts.arranged.sections.iter().zip(places) {
        let size = if is_nobits(layout.m.sections[id].sh_type) { 0 } else { place.size };
        let gap = place.offset.saturating_sub(at) as usize;
        let (Some((_, tail)), true) = (rest.split_at_mut_checked(gap), place.offset >= at) else {
            return Ok(());
        };
        let Some((mine, tail)) = tail.split_at_mut_checked(size as usize) else {
            return Ok(());
        };
        (rest, at) = (tail, place.offset + size);
        slices[id] = Some(mine);
    }
    fill_tables(parts, &mut slices);
    let order: Vec<(SectionId, u32)> = layout.m.relocs.iter().enumerate().map(|(n, r)| (r.target, n as u32)).collect();
    let refs = Lists::newest_first(layout.m.sections.len(), &order);
    let mut jobs: Vec<Job<'_>> = Vec::with_capacity(parts.arranged.sections.len());
    for &id in &parts.arranged.sections {
        let class = layout.m.sections[id].class;
        if matches!(class, Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_)) {
            continue;
        }
        let companions = layout.m.sections[id].companions;
        let Some(data) = slices[id].take() else { continue };
        let mut take = |c: Option<SectionId>| c.and_then(|c| slices[c].take());
        let (rel, rela) = (take(companions[0]), take(companions[1]));
        jobs.push(Job {
            id,
            data,
            kept: [rel, rela],
        });
    }
    let decider = Decider::new(parts.context, layout);
    let work = |job: &mut Job<'_>| job.run(parts, &decider, computed[job.id].as_deref(), &refs);
    if crate::par::worth(jobs.iter().map(|j| j.data.len()).sum(), parts.context.options.threads) {
        jobs.par_iter_mut().for_each(work);
    } else {
        jobs.iter_mut().for_each(work);
    }
    if parts.context.mode.preserve {
        list_resolved(parts, &decider, &mut slices);
    }
    Ok(())
}

/// One section's part of the image, with its relocation sections.
struct Job<'i> {
    id: SectionId,
    data: &'i mut [u8],
    kept: [Option<&'i mut [u8]>; 2],
}

impl Job<'_> {
    fn run(&mut self, parts: &Parts<'_, '_>, decider: &Decider<'_, '_>, computed: Option<&[u8]>, refs: &Lists<SectionId, u32>) {
        let layout = parts.layout;
        let s = &layout.m.sections[self.id];
        match (computed, &s.bytes) {
            (Some(bytes), _) => copy(self.data, 0, bytes),
            (None, Some(bytes)) => copy(self.data, 0, bytes),
            (None, None) => {
                for piece in s.pieces.as_slice() {
                    let input = parts.context.inputs.objects[piece.object].section(piece.section);
                    copy(self.data, piece.base, input.map_or(&[], |i| i.data));
                }
            }
        }
        self.textures(parts, s);
        let mut left = self.kept.each_ref().map(|k| k.as_ref().map_or(0, |k| k.len()));
        for &n in refs.of(self.id).iter().rev() {
            self.relocate(parts, decider, n as usize, &mut left);
        }
    }

    /// Applies the relocations of one input section and writes those that are kept, from the back.
    fn relocate(&mut self, parts: &Parts<'_, '_>, decider: &Decider<'_, '_>, n: usize, left: &mut [usize; 2]) {
        let (Some(r), Some(plan)) = (parts.layout.m.relocs.get(n), parts.plan.refs.get(n)) else {
            return;
        };
        if plan.kept == 0 && !plan.patches {
            return;
        }
        let object = &parts.context.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        let rela = usize::from(relocs.is_rela() || parts.context.mode.force_rela);
        let entry_size = if rela == 1 { 24 } else { 16 };
        let meanings = parts.plan.meanings(r.object);
        decider.for_each(object, r, meanings, |e, decision| match decision {
            Decision::Drop | Decision::Fail(_) | Decision::KeepSection(..) => {}
            Decision::Clear(size) => {
                if let Some(field) = self.data.get_mut(e.offset as usize..).and_then(|d| d.get_mut(..size.into())) {
                    field.fill(0);
                }
            }
            Decision::Patch(info, value, bank, _) => {
                if let Some(field) = self.data.get_mut(e.offset as usize..) {
                    // A field that does not fit was refused when the object was read.
                    cubin::reloc::apply(info, field, value, bank, !relocs.is_rela()).unwrap_or_default();
                }
            }
            Decision::Keep(kind, symbol) => {
                left[rela] = left[rela].saturating_sub(entry_size);
                let entry = Rela {
                    r_offset: e.offset.into(),
                    r_type: kind.into(),
                    r_sym: parts.arranged.symbol_index(symbol).into(),
                    r_addend: e.addend.into(),
                };
                if let Some(slot) = self.kept[rela]
                    .as_mut()
                    .and_then(|k| k.get_mut(left[rela]..left[rela] + entry_size))
                {
                    slot.copy_from_slice(entry.as_bytes().get(..entry_size).unwrap_or_default());
                }
            }
        });
    }

    /// Texture slots of a parameter bank: one entry per slot, offsets descending.
    fn textures(&mut self, parts: &Parts<'_, '_>, s: &OutSection<'_>) {
        if s.class != Class::Parameters {
            return;
        }
        let rela = usize::from(parts.context.mode.force_rela);
        let entry_size = if rela == 1 { 24 } else { 16 };
        let slots = parts.layout.textures.slots.iter().rev();
        let Some(out) = self.kept[rela].as_mut() else { return };
        for (slot, &(y, offset)) in out.chunks_exact_mut(entry_size).zip(slots) {
            let kind: u32 = match parts.layout.m.symbols[y].kind {
                STT_CUDA_TEXTURE => 6,
                STT_CUDA_SAMPLER => 7,
                _ => 52,
            };
            let entry = Rela {
                r_offset: offset.into(),
                r_type: kind.into(),
                r_sym: parts.arranged.symbol_index(y).into(),
                r_addend: 0.into(),
            };
            slot.copy_from_slice(entry.as_bytes().get(..entry_size).unwrap_or_default());
        }
    }
}

pub(crate) fn copy(to: &mut [u8], offset: u64, from: &[u8]) {
    if let Some(place) = to.get_mut(offset as usize..).and_then(|d| d.get_mut(..from.len())) {
        place.copy_from_slice(from);
    }
}

/// `.nv.resolvedrela.X`: what was patched, in reverse order of arrival, always with addends.
fn list_resolved(parts: &Parts<'_, '_>, decider: &Decider<'_, '_>, slices: &mut Table<SectionId, Option<&mut [u8]>>) {
    let mut left: Table<SectionId, usize> = Table::filled(slices.len(), 0);
    for id in slices.ids() {
        left[id] = slices[id].as_ref().map_or(0, |s| s.len());
    }
    for r in &parts.layout.m.relocs {
        let Some(id) = parts.layout.m.sections[r.target].companions[2] else {
            continue;
        };
        let object = &parts.context.inputs.objects[r.object];
        decider.for_each(object, r, parts.plan.meanings(r.object), |e, decision| {
            let Decision::Patch(_, _, _, Some((named, addend))) = decision else {
                return;
            };
            left[id] = left[id].saturating_sub(24);
            let entry = Rela {
                r_offset: e.offset.into(),
                r_type: e.kind.into(),
                r_sym: parts.arranged.named_index(named).into(),
                r_addend: addend.into(),
            };
            if let Some(slot) = slices[id].as_mut().and_then(|s| s.get_mut(left[id]..left[id] + 24)) {
                slot.copy_from_slice(entry.as_bytes());
            }
        });
    }
}

/// String tables, symbols and extended section indices.
fn fill_tables(parts: &Parts<'_, '_>, slices: &mut Table<SectionId, Option<&mut [u8]>>) {
    let Parts { layout, arranged, .. } = *parts;
    let fixed = &layout.m.fixed;
    let mut put = |id: SectionId, bytes: &[u8]| {
        if let Some(slice) = slices[id].take() {
            copy(slice, 0, bytes);
        }
    };
    put(fixed.section_names, &arranged.section_names);
    put(fixed.strings, &arranged.strings);
    let mut symbols = vec![Sym::default(); arranged.symbols.len() + 1];
    // nvlink quirk: indices that fit hold the section's number of creation, and section 0xfff2 counts as one that fits.
    let quirks = parts.context.options.identity == Identity::Nvlink;
    let mut extended = vec![0u32; if arranged.extended { symbols.len() } else { 0 }];
    if let Some(null) = symbols.first_mut() {
        null.st_value = layout.null_value.into();
    }
    for (i, (&named, &name)) in arranged.symbols.iter().zip(&arranged.symbol_names).enumerate() {
        let (mut sym, section) = symbol(layout, named);
        sym.st_name = name.into();
        let index = section.map_or(0, |s| arranged.section_index(s));
        let direct = u16::try_from(index)
            .ok()
            .filter(|&i| i < SHN_LORESERVE || (quirks && i == SHN_COMMON));
        sym.st_shndx = direct.unwrap_or(SHN_XINDEX).into();
        if let Some(slot) = extended.get_mut(i + 1) {
            *slot = match section {
                _ if direct.is_none() => index,
                Some(id) if quirks => layout.m.sections[id].number,
                _ => 0,
            };
        }
        if let Some(slot) = symbols.get_mut(i + 1) {
            *slot = sym;
        }
    }
    put(fixed.symbols, symbols.as_bytes());
    if arranged.extended {
        let bytes: Vec<u8> = extended.iter().flat_map(|i| i.to_le_bytes()).collect();
        put(fixed.extended, &bytes);
    }
}

/// Value of the undefined symbol `.nv.reservedSmem.cap`.
const RESERVED_SHARED: u64 = 0x400;

fn symbol(layout: &Layout<'_>, named: Named) -> (Sym, Option<SectionId>) {
    match named {
        Named::Section(id) => (
            Sym {
                st_info: STT_SECTION,
                ..Sym::default()
            },
            Some(id),
        ),
        Named::Symbol(id) => {
            let y = &layout.m.symbols[id];
            let value = if y.section.is_none() && y.name.is(b".nv.reservedSmem.cap") {
                RESERVED_SHARED
            } else {
                y.value
            };
            let sym = Sym {
                st_info: y.bind << 4 | y.kind,
                st_other: y.other,
                st_value: value.into(),
                st_size: y.size.into(),
                ..Sym::default()
            };
            (sym, y.section)
        }
    }
}

fn section_headers(parts: &Parts<'_, '_>, places: &[Placement]) -> Vec<Shdr> {
    let mut headers = vec![Shdr::default()];
    if places.len() + 1 >= usize::from(SHN_LORESERVE) {
        headers = vec![Shdr {
            sh_size: (places.len() as u64 + 1).into(),
            ..Shdr::default()
        }];
    }
    for (&id, place) in parts.arranged.sections.iter().zip(places) {
        headers.push(section_header(parts, id, place));
    }
    headers
}

fn section_header(parts: &Parts<'_, '_>, id: SectionId, place: &Placement) -> Shdr {
    let Parts { layout, arranged, .. } = *parts;
    let s = &layout.m.sections[id];
    let index = |id: SectionId| arranged.section_index(id);
    let fixed = &layout.m.fixed;
    let symtab = index(fixed.symbols);
    let owner = s.owner.map_or(0, index);
    let (link, info) = match s.class {
        Class::Symbols => (index(fixed.strings), arranged.first_global),
        Class::ExtendedIndices => (symtab, 0),
        Class::CudaNote => (index(fixed.tool_note), fixed.compat.map_or(0, index)),
        Class::Info | Class::FunctionInfo(_) | Class::UftInfo => (symtab, owner),
        Class::Callgraph | Class::Prototype | Class::UdtEntry => (symtab, 0),
        Class::UftEntry if parts.context.mode.relocatable => (symtab, 0),
        Class::Rel(target) | Class::Rela(target) | Class::ResolvedRela(target) => (symtab, index(target)),
        Class::Text(f) | Class::Stub(f) => (
            symtab,
            text_info(parts, s) | layout.m.functions[f].symbol.map_or(0, |y| arranged.symbol_index(y)),
        ),
        Class::Uft => (symtab, layout.m.unified.first_stub.map_or(0, |y| arranged.symbol_index(y))),
        _ => (0, owner),
    };
    let mut flags = s.flags;
    if let Class::Text(f) = s.class
        && parts.attributes.flagged.binary_search(&f).is_ok()
    {
        flags |= u64::from(layout.m.functions[f].barriers) << 20;
    }
    if let Class::Rel(target) = s.class
        && layout.m.sections[target].class == Class::Parameters
    {
        flags = 0;
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
        sh_entsize: s.entsize.into(),
    }
}

/// The top byte of a text section's `sh_info` is its own register count up to sm_89.
fn text_info(parts: &Parts<'_, '_>, s: &OutSection<'_>) -> u32 {
    let piece = s.pieces.as_slice().first();
    let input = piece.and_then(|p| parts.context.inputs.objects[p.object].section(p.section));
    input.map_or(0, |i| i.info & 0xff00_0000)
}

/// Final links use the generic types for data.
pub(crate) fn final_type(parts: &Parts<'_, '_>, sh_type: u32) -> u32 {
    if parts.context.mode.relocatable {
        return sh_type;
    }
    match sh_type {
        SHT_CUDA_GLOBAL | SHT_CUDA_SHARED | SHT_CUDA_LOCAL => SHT_NOBITS,
        SHT_CUDA_GLOBAL_INIT | SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT17 => SHT_PROGBITS,
        other => other,
    }
}

const PT_LOAD: u32 = 1;
const PT_PHDR: u32 = 6;
const READ_EXECUTE: u32 = 5;
const READ_WRITE: u32 = 6;

/// Program headers: themselves, code and constants, data, themselves again.
fn program_headers(parts: &Parts<'_, '_>, places: &[Placement], at: u64) -> Vec<Phdr> {
    if parts.context.mode.relocatable {
        return Vec::new();
    }
    let sections = || parts.arranged.sections.iter().map(|&id| &parts.layout.m.sections[id]).zip(places);
    let segment = |writable: u64| sections().filter(move |(s, _)| s.flags & SHF_ALLOC != 0 && s.flags & SHF_WRITE == writable);
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
        let size = last.offset + last.size - first.offset;
        headers.push(header(PT_LOAD, READ_EXECUTE, first.offset, size, size));
    }
    if let Some((_, first)) = segment(SHF_WRITE).next() {
        let (mut end, mut extra) = (first.offset, 0u64);
        for (s, place) in segment(SHF_WRITE) {
            end = place.offset;
            if is_nobits(s.sh_type) {
                extra = align_up(end + extra, s.align).saturating_add(place.size) - end;
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

fn file_header(parts: &Parts<'_, '_>, headers: u64, programs: u64, program_count: usize) -> Ehdr {
    let arranged = parts.arranged;
    let note = arranged.section_index(parts.layout.m.fixed.cuda_note).min(255);
    let kind = if parts.context.options.target.is_blackwell() { 2 } else { 4 };
    let count = u16::try_from(arranged.sections.len() + 1)
        .ok()
        .filter(|&n| n < SHN_LORESERVE)
        .unwrap_or(0);
    Ehdr {
        ident: [0x7f, b'E', b'L', b'F', 2, 1, 1, ELFOSABI_CUDA, 8, 0, 0, 0, 0, 0, 0, 0],
        e_type: if parts.context.mode.relocatable { ET_REL } else { ET_EXEC }.into(),
        e_machine: EM_CUDA.into(),
        e_version: 1.into(),
        e_entry: 0.into(),
        e_phoff: programs.into(),
        e_shoff: headers.into(),
        e_flags: (note << 24 | parts.context.options.target.number << 8 | kind).into(),
        e_ehsize: (size_of::<Ehdr>() as u16).into(),
        e_phentsize: (size_of::<Phdr>() as u16).into(),
        e_phnum: (program_count as u16).into(),
        e_shentsize: (size_of::<Shdr>() as u16).into(),
        e_shnum: count.into(),
        e_shstrndx: (arranged.section_index(parts.layout.m.fixed.section_names) as u16).into(),
    }
}
