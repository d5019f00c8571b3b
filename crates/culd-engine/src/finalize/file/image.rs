//! The file: SASS sections, parameter banks, Mercury sections.
//!
//! 1. The sections of the Mercury link in their order, with SASS contents; then one parameter bank per kernel, in the order of code. Files with too many
//!    sections for the symbols' fields have a table of extended section numbers before the parameter banks, and one before the Mercury symbol table.
//! 2. One capsule per code section, then the Mercury twins of debug information, attributes, relocations, constants, initialised data and
//!    reserved shared memory, then the Mercury symbol table.
//! 3. Twins whose contents are the same in both views repeat the place of the SASS section.
//! 4. Reserved shared memory has bytes in the Mercury view: those that follow it in the file that the Mercury link alone would have been,
//!    that is the start of that file's section headers.

use crate::arrange::OutputPlan;
use crate::diagnostics::{Collector, Stop};
use crate::emit::headers::{final_type, image_header, link_and_info};
use crate::emit::windows::{self, Emitted};
use crate::emit::{Sink, refused};
use crate::finalize::code::functions::{Functions, RESERVED_BASE};
use crate::finalize::file::chunks::ImageChunks;
use crate::finalize::file::numbers::Numbers;
use crate::finalize::file::numbers::parameter_bank;
use crate::finalize::file::tables::{self, Strings};
use crate::finalize::linked::{Kept, Linked, symbol_number};
use crate::finalize::sass::Sass;
use crate::ids::{SectionId, Table};
use crate::options::Identity;
use crate::records::ABSENT;
use crate::records::{Class, OutSection};
use crate::sections::compat;
use crate::size_limit;
use cubin::consts::*;
use cubin::layout::{R_MERCURY_ABS64, R_MERCURY_PROG_REL32, R_MERCURY_PROG_REL64, TwinFacts, names_reserve, shares_twin};
use cubin::raw::{Rela, Shdr};
use cubin::read::{SymbolSection, is_nobits};
use cubin::release::Rules;
use cubin::write::strings::encode_symbols;
use cubin::write::{Content, Extent, Image, ImageSection, Plan, Storage, WriteError, WriterKind};
use std::borrow::Cow;
use zerocopy::IntoBytes;

/// Files with this many sections have tables of extended section numbers.
///
/// nvlink quirk: it takes the first reserved number for one that a symbol's field can hold, so that its files may have one section more.
fn many_sections(identity: Identity) -> usize {
    match identity {
        Identity::Nvlink => usize::from(SHN_LORESERVE) + 1,
        Identity::Culd => SHN_LORESERVE.into(),
    }
}

const FIRST_RESERVED: SymbolSection = SymbolSection::Index(SHN_LORESERVE as u32);

/// A parameter bank.
struct Parameters<'d> {
    text: SectionId,
    name: Vec<u8>,
    data: &'d [u8],
    align: u64,
    flags: u64,
}

fn parameters<'d>(output: &OutputPlan<'_, 'd>, code: &Functions<'_, 'd>) -> Vec<Parameters<'d>> {
    let mut banks = Vec::new();
    for &text in &code.order {
        let Some(function) = code.of(text) else { continue };
        if output.layout.records.functions[function.function].parameters.is_some() {
            continue;
        }
        if let Some(bank) = parameter_bank(output, code, function) {
            let name = output.link.resolved.functions[function.function].name;
            banks.push(Parameters {
                text,
                name: [b".nv.constant0.", name].concat(),
                data: bank.data,
                align: bank.align.get(),
                // The flag is set even if the input does not have it.
                flags: bank.flags | SHF_INFO_LINK,
            });
        }
    }
    banks
}

/// True for sections that have a twin besides code.
fn has_twin(s: &OutSection<'_>, rules: &Rules) -> bool {
    let calls = matches!(s.class, Class::Callgraph | Class::Prototype) && rules.mercury_callgraph;
    calls
        || matches!(
            s.class,
            Class::Debug(_)
                | Class::Info
                | Class::FunctionInfo(_)
                | Class::Rel(_)
                | Class::Rela(_)
                | Class::ResolvedRela(_)
                | Class::Literals
                | Class::Parameters
                | Class::Constant(_)
                | Class::GlobalInit
                | Class::ReservedShared
                | Class::HostData
                | Class::UftInfo
                | Class::UftEntry
                | Class::Udt
                | Class::UdtEntry
                | Class::Uidx
        )
        || s.class == Class::PassedThrough && s.sh_type != SHT_NOTE
}

/// True for sections with code, whose twin is a capsule.
fn is_code(s: &OutSection<'_>) -> bool {
    matches!(s.class, Class::Text(_) | Class::Stub(_) | Class::Uft)
}

struct Writer<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    linked: &'a Linked,
    code: &'a Functions<'a, 'd>,
    sass: &'a Sass,
    frame: &'a ImageFrame<'d>,
    /// The file that the Mercury link alone would have been.
    mercury_file: &'a Plan,
    sections: Vec<ImageSection<'a>>,
}

/// What of the file does not depend on the contents of the SASS view.
pub(crate) struct ImageFrame<'d> {
    banks: Vec<Parameters<'d>>,
    /// Mercury sections in order: capsules, then the others.
    mercury: Vec<SectionId>,
    /// Names of the Mercury sections.
    names: Vec<Vec<u8>>,
    /// Number of sections.
    count: usize,
    numbers: Numbers,
    strings: Strings,
    symbol_tables: [Vec<u8>; 2],
    /// Extended section numbers of the symbols of both tables.
    extended: [Vec<u8>; 2],
    /// The file that the Mercury link alone would have been.
    mercury_file: Result<Plan, WriteError>,
}

impl<'d> ImageFrame<'d> {
    /// Numbers, names and symbols.
    pub(crate) fn new(output: &OutputPlan<'_, 'd>, linked: &Linked, code: &Functions<'_, 'd>) -> Self {
        let banks = parameters(output, code);
        let (mercury, names) = mercury_order(output, code);
        // The section without a name and the Mercury symbol table count.
        let count = output.arranged.sections.len() + banks.len() + mercury.len() + 2;
        let extended = count >= many_sections(output.link.options.identity);
        let numbers = numbers(output, &mercury, banks.len(), extended);
        let bank_names: Vec<&[u8]> = banks.iter().map(|b| b.name.as_slice()).collect();
        let strings = tables::strings(output, &bank_names, &names, extended);
        let (symbol_tables, extended) = symbol_tables(output, code, &numbers, &strings);
        let mercury_file = mercury_file(output, linked, code, symbol_tables[0].len() as u64);
        ImageFrame {
            banks,
            mercury,
            names,
            count,
            numbers,
            strings,
            symbol_tables,
            extended,
            mercury_file,
        }
    }
}

/// Makes the file, and hands it to `sink` if there is one that takes it.
pub(crate) fn emit<'d>(
    output: &OutputPlan<'_, 'd>,
    linked: &Linked,
    code: &Functions<'_, 'd>,
    (frame, sass): (ImageFrame<'d>, Sass),
    sink: Option<&dyn Sink>,
    out: &mut Collector<'_>,
) -> Result<Emitted, Stop> {
    let image = image(output, linked, code, &frame, &sass).map_err(|error| refused(output, &error, out))?;
    let plan = image.plan().map_err(|error| refused(output, &error, out))?;
    let limit = size_limit::limit(output.link.inputs);
    plan.check_size(limit).map_err(|error| refused(output, &error, out))?;
    let emitted = {
        let threads = output.link.threads;
        let header = plan.file_header();
        let (receiver, chunks) = threads.join(|| windows::begin(sink, plan.size()), || ImageChunks::new(&image, &plan, &header));
        windows::write(&chunks, plan.size(), threads, receiver)
    };
    if output.link.options.leave_memory {
        std::mem::forget(image);
        std::mem::forget((frame, sass));
    }
    Ok(emitted)
}

/// Describes the file.
fn image<'a, 'd>(
    output: &'a OutputPlan<'a, 'd>,
    linked: &'a Linked,
    code: &'a Functions<'a, 'd>,
    frame: &'a ImageFrame<'d>,
    sass: &'a Sass,
) -> Result<Image<'a>, WriteError> {
    let mut writer = Writer {
        output,
        linked,
        code,
        sass,
        frame,
        mercury_file: frame.mercury_file.as_ref().map_err(Clone::clone)?,
        sections: Vec::new(),
    };
    writer.sections = output.link.threads.map(&output.arranged.sections, |&id| writer.sass_section(id));
    writer.sections.reserve_exact(frame.count.saturating_sub(writer.sections.len()));
    if frame.numbers.extended {
        writer.extended_numbers();
    }
    writer.parameter_banks();
    writer.mercury_sections();
    Ok(Image {
        header: image_header(output),
        writer: writer_kind(output),
        sections: writer.sections,
    })
}

/// Sections with a twin in order of the twins, and the names of these.
fn mercury_order(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>) -> (Vec<SectionId>, Vec<Vec<u8>>) {
    let sections = &output.layout.records.sections;
    let emitted = output.arranged.sections.iter().copied();
    let twins = emitted.filter(|&id| has_twin(&sections[id], &output.link.mode.rules));
    let mercury: Vec<SectionId> = code.order.iter().copied().chain(twins).collect();
    let name = |&id: &SectionId| {
        let prefix: &[u8] = if code.of(id).is_some() { b".nv.capmerc" } else { b".nv.merc" };
        [prefix, &sections[id].name.to_vec()].concat()
    };
    let names = output.link.threads.map(&mercury, name);
    (mercury, names)
}

fn numbers(output: &OutputPlan<'_, '_>, mercury: &[SectionId], banks: usize, extended: bool) -> Numbers {
    let first_parameter = output.arranged.sections.len() as u32 + 1 + u32::from(extended);
    let first_mercury = first_parameter + banks as u32;
    let mut numbers = Numbers {
        extended,
        first_parameter,
        twins: Table::filled(output.layout.records.sections.len(), 0),
        symbols: first_mercury + mercury.len() as u32 + u32::from(extended),
    };
    for (&id, number) in mercury.iter().zip(first_mercury..) {
        numbers.twins[id] = number;
    }
    numbers
}

/// The symbol tables of both views, Mercury's first, and their extended section numbers.
fn symbol_tables(
    output: &OutputPlan<'_, '_>,
    code: &Functions<'_, '_>,
    numbers: &Numbers,
    strings: &Strings,
) -> ([Vec<u8>; 2], [Vec<u8>; 2]) {
    let mut lists = tables::symbols(output, code, numbers, strings);
    if output.link.options.identity == Identity::Nvlink {
        for symbol in lists.iter_mut().flatten().filter(|sym| sym.section == FIRST_RESERVED) {
            symbol.section = SymbolSection::Reserved(SHN_LORESERVE);
        }
    }
    // nvlink quirk: both tables of extended numbers have an entry for every symbol of the SASS view.
    let entries = lists[1].len();
    let filled = |table: Option<Vec<u8>>| {
        let mut table = table.unwrap_or_default();
        table.resize(4 * entries, 0);
        table
    };
    let [mercury, sass] = &lists;
    let encoded = output.link.threads.join(|| encode_symbols(mercury), || encode_symbols(sass));
    let ((mercury, mercury_extended), (sass, sass_extended)) = encoded;
    ([mercury, sass], [filled(mercury_extended), filled(sass_extended)])
}

/// Sections that have no bytes in the file.
fn has_no_bytes(s: &OutSection<'_>) -> bool {
    is_nobits(s.sh_type) || s.sh_type == SHT_CUDA_SHARED_RESERVED
}

fn align_of(s: &OutSection<'_>) -> u64 {
    if is_code(s) { 16 } else { s.align }
}

fn writer_kind(output: &OutputPlan<'_, '_>) -> WriterKind {
    match output.link.mode.rules.aligns_twins {
        true => WriterKind::FirstFinalizer,
        false => WriterKind::Finalizer,
    }
}

/// What the relocation section `id` of a target lists: relocations of its slots of textures, or the others.
fn relocs_in<'l>(output: &OutputPlan<'_, '_>, linked: &'l Linked, id: SectionId, target: SectionId) -> &'l [Kept] {
    match output.layout.records.sections[target].slot_relocs == Some(id) {
        true => &linked.sections[target].slots,
        false => &linked.sections[target].kept,
    }
}

/// The file that the Mercury link alone would have been: `symbols` is the size of its symbol table.
fn mercury_file(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, symbols: u64) -> Result<Plan, WriteError> {
    let (sections, arranged) = (&output.layout.records.sections, output.arranged);
    let bytes = |id: SectionId| linked.sections[id].bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
    let extents = arranged.sections.iter().map(|&id| {
        let s = &sections[id];
        let size = match s.class {
            Class::SectionNames => arranged.section_names.len() as u64,
            Class::Strings => arranged.strings.len() as u64,
            Class::Symbols => symbols,
            // Observed: the table of stubs has the NOPs of the finalized code.
            Class::Uft => code.stubs.as_ref().map_or(s.size, |stubs| stubs.mercury_size),
            Class::Text(_) | Class::Stub(_) => s.size,
            Class::Rela(target) => 24 * relocs_in(output, linked, id, target).len() as u64,
            Class::ResolvedRela(_) => 24 * linked.sections[id].listed.len() as u64,
            Class::Compat => bytes(id).saturating_sub(compat::late_size(output.link)),
            _ => bytes(id),
        };
        Extent {
            size,
            // Observed: stubs and their table keep their alignment.
            align: if matches!(s.class, Class::Text(_)) { 16 } else { s.align },
            reserve: 0,
            flags: s.flags,
            storage: if has_no_bytes(s) { Storage::NoBits } else { Storage::Own },
        }
    });
    Plan::new(image_header(output), writer_kind(output), extents)
}

/// A table of extended section numbers.
fn extended_section(name: u32, flags: u64, link: u32, table: &[u8]) -> ImageSection<'_> {
    ImageSection {
        name,
        sh_type: SHT_SYMTAB_SHNDX,
        flags,
        link,
        info: 0,
        align: 4,
        entsize: 4,
        size: table.len() as u64,
        reserve: 0,
        content: Content::Bytes(table.into()),
    }
}

impl<'a, 'd> Writer<'a, 'd> {
    fn section(&self, id: SectionId) -> &'a OutSection<'d> {
        &self.output.layout.records.sections[id]
    }

    fn sass_bytes(&self, id: SectionId) -> Cow<'a, [u8]> {
        let frame = self.frame;
        match self.section(id).class {
            Class::SectionNames => frame.strings.section_names.as_slice().into(),
            Class::Strings => frame.strings.strings.as_slice().into(),
            Class::Symbols => frame.symbol_tables[1].as_slice().into(),
            Class::Parameters => self.parameters_with_slots(id).into(),
            _ => match (self.code.of(id), &self.sass.bytes[id]) {
                (Some(function), _) => function.code.as_slice().into(),
                (None, Some(bytes)) => bytes.as_slice().into(),
                (None, None) => self.linked.sections[id].bytes.as_deref().unwrap_or_default().into(),
            },
        }
    }

    /// The parameter bank of a kernel with the slots of its textures after it.
    fn parameters_with_slots(&self, id: SectionId) -> Vec<u8> {
        let function = self.section(id).owner.and_then(|t| self.code.of(t));
        let bank = function
            .and_then(|f| parameter_bank(self.output, self.code, f))
            .map_or(&[][..], |b| b.data);
        let mut bytes = bank.to_vec();
        bytes.resize((self.code.sources.slot_base + self.section(id).size) as usize, 0);
        bytes
    }

    fn sass_section(&self, id: SectionId) -> ImageSection<'a> {
        let (link, info) = self.link_and_info(id);
        let nobits = has_no_bytes(self.section(id));
        let content = if nobits { Cow::default() } else { self.sass_bytes(id) };
        let relocatable = self.output.link.mode.relocatable;
        let s = self.section(id);
        let (mut align, mut size) = (s.align, content.len() as u64);
        if nobits {
            size = if s.size == ABSENT { 0 } else { s.size };
            if !relocatable {
                size += match s.class {
                    Class::KernelShared | Class::ModuleShared | Class::EmptyShared => tables::shared_base(self.output),
                    Class::ReservedShared => RESERVED_BASE,
                    _ => 0,
                };
            }
        }
        let reserve = match s.class {
            // The names of the tables of extended numbers take the place that is kept free for them.
            Class::SectionNames if self.frame.numbers.extended => 0,
            Class::SectionNames => names_reserve([(&b""[..], SHF_CUDA_MERCURY)].into_iter()),
            Class::Strings => self.frame.strings.reserve,
            _ => 0,
        };
        if s.class == Class::Strings {
            align = 1;
        }
        ImageSection {
            name: self.output.arranged.name_offset[id],
            sh_type: match s.sh_type {
                SHT_CUDA_SHARED_RESERVED if !relocatable => SHT_NOBITS,
                other => final_type(self.output, other),
            },
            flags: s.flags,
            link,
            info,
            align,
            entsize: s.entsize.into(),
            size,
            reserve,
            content: if nobits { Content::NoBits } else { Content::Bytes(content) },
        }
    }

    fn link_and_info(&self, id: SectionId) -> (u32, u32) {
        let (link, info) = link_and_info(self.output, id);
        match self.section(id).class {
            // The symbols of parameter banks come last, and they are local.
            Class::Symbols if !self.frame.strings.parameters.is_empty() && self.output.link.mode.rules.counts_last_symbols => {
                (link, (self.frame.symbol_tables[1].len() / 24) as u32)
            }
            _ => (link, info),
        }
    }

    fn extended_numbers(&mut self) {
        let symbols = self.output.arranged.section_index(self.output.layout.records.standard.symbols);
        let name = self.frame.strings.extended[1];
        self.sections.push(extended_section(name, 0, symbols, &self.frame.extended[1]));
    }

    fn parameter_banks(&mut self) {
        for (bank, &(name, _)) in self.frame.banks.iter().zip(&self.frame.strings.parameters) {
            self.sections.push(ImageSection {
                name,
                sh_type: final_type(self.output, SHT_CUDA_CONSTANT0),
                // The flag is set even if the input does not have it.
                flags: bank.flags | SHF_INFO_LINK,
                link: 0,
                info: self.output.arranged.section_index(bank.text),
                align: bank.align,
                entsize: 0,
                size: bank.data.len() as u64,
                reserve: 0,
                content: Content::Bytes(bank.data.into()),
            });
        }
    }

    fn mercury_sections(&mut self) {
        let frame = self.frame;
        let twins: Vec<_> = frame.mercury.iter().zip(&frame.names).zip(&frame.strings.mercury).collect();
        let made = self
            .output
            .link
            .threads
            .map(&twins, |&((&id, name), &offset)| self.mercury_section(id, name, offset));
        self.sections.extend(made);
        if frame.numbers.extended {
            let name = frame.strings.extended[0];
            let section = extended_section(name, SHF_CUDA_MERCURY, frame.numbers.symbols, &frame.extended[0]);
            self.sections.push(section);
        }
        let symbols = frame.symbol_tables[0].as_slice();
        self.sections.push(ImageSection {
            name: frame.strings.mercury_symbols,
            sh_type: SHT_CUDA_MERC_SYMTAB,
            flags: SHF_CUDA_MERCURY,
            link: self.output.arranged.section_index(self.output.layout.records.standard.strings),
            info: self.output.arranged.first_global,
            align: 8,
            entsize: 24,
            size: symbols.len() as u64,
            reserve: 0,
            content: Content::Bytes(symbols.into()),
        });
    }

    /// Relocations of the Mercury view.
    fn mercury_relocs(&self, list: &[Kept]) -> Vec<Rela> {
        let entry = |k: &Kept| Rela {
            r_offset: k.offset.into(),
            r_type: k.kind.into(),
            r_sym: symbol_number(self.output, k.named).into(),
            r_addend: k.addend.into(),
        };
        list.iter().map(entry).collect()
    }

    fn mercury_bytes(&self, id: SectionId) -> Cow<'a, [u8]> {
        let (code, linked) = (self.code, self.linked);
        let bytes = match self.section(id).class {
            Class::Text(_) | Class::Stub(_) | Class::Uft => return code.of(id).map_or(&[][..], |f| f.capsule.as_slice()).into(),
            Class::Rela(target) => {
                let mut list = self.mercury_relocs(relocs_in(self.output, linked, id, target));
                if let Some(stubs) = code.stubs_in(self.output, target) {
                    for entry in &mut list {
                        entry.r_offset = stubs.mercury_place(entry.r_offset.get()).into();
                    }
                }
                list.as_bytes().to_vec()
            }
            Class::ResolvedRela(_) => self.mercury_relocs(&linked.sections[id].listed).as_bytes().to_vec(),
            Class::ReservedShared => self.reserved_bytes(id),
            _ => return linked.sections[id].bytes.as_deref().unwrap_or_default().into(),
        };
        bytes.into()
    }

    fn mercury_section(&self, id: SectionId, name: &[u8], name_offset: u32) -> ImageSection<'a> {
        let s = self.section(id);
        let symbols = self.frame.numbers.symbols;
        let twin = |id: SectionId| self.frame.numbers.mercury(self.output, id);
        let owner = s.owner.map_or(0, twin);
        let sass_owner = || s.owner.map_or(0, |id| self.output.arranged.section_index(id));
        let own_flags = SHF_CUDA_MERCURY | s.flags;
        let (sh_type, flags, link, info, entsize) = match s.class {
            Class::Text(_) | Class::Stub(_) | Class::Uft => {
                let (_, symbol) = link_and_info(self.output, id);
                (SHT_CUDA_CAPMERC, SHF_CUDA_MERCURY, symbols, symbol, s.entsize.into())
            }
            Class::Info | Class::FunctionInfo(_) | Class::UftInfo => (SHT_CUDA_MERC_INFO, own_flags, symbols, owner, 0),
            Class::Rela(target) => (SHT_CUDA_MERC_RELA, own_flags, symbols, twin(target), 24),
            Class::ResolvedRela(target) => (SHT_CUDA_MERC_RESOLVED_RELA, own_flags, symbols, twin(target), 24),
            Class::Constant(4) => (SHT_CUDA_CONSTANT_PIC, own_flags, 0, 0, 0),
            Class::Constant(_) => (SHT_CUDA_CONSTANT_USER, own_flags, 0, 0, 0),
            Class::Parameters => (SHT_CUDA_CONSTANT_IMAGE_HEADERS, own_flags, 0, owner, 0),
            // nvlink quirk: without the flag (objects of CUDA 12) the number stays that of the SASS view.
            Class::Literals if s.flags & SHF_INFO_LINK == 0 => (SHT_CUDA_CONSTANT_OPTIMIZER, own_flags, 0, sass_owner(), 0),
            Class::Literals => (SHT_CUDA_CONSTANT_OPTIMIZER, own_flags, 0, owner, 0),
            Class::GlobalInit => (SHT_CUDA_GLOBAL_INIT, own_flags, 0, 0, 0),
            Class::ReservedShared => (SHT_CUDA_SHARED_RESERVED, own_flags, 0, 0, 0),
            Class::HostData => (SHT_CUDA_HOST, own_flags, 0, 0, 0),
            Class::Callgraph => (SHT_CUDA_MERC_CALLGRAPH, SHF_CUDA_MERCURY, symbols, 0, 8),
            Class::Prototype => (SHT_CUDA_MERC_PROTOTYPE, SHF_CUDA_MERCURY, symbols, 0, 8),
            Class::PassedThrough => (s.sh_type, own_flags, 0, 0, s.entsize.into()),
            Class::UftEntry if !self.output.link.mode.relocatable => (SHT_CUDA_UFT_ENTRY, own_flags, 0, 0, s.entsize.into()),
            Class::UftEntry | Class::UdtEntry => (s.sh_type, own_flags, symbols, 0, s.entsize.into()),
            Class::Udt | Class::Uidx => (s.sh_type, own_flags, 0, 0, 0),
            _ => (SHT_PROGBITS, SHF_CUDA_MERCURY, 0, 0, 0),
        };
        let content = self.mercury_bytes(id);
        let number = self.output.arranged.section_index(id);
        let twin = self.sections.get((number as usize).wrapping_sub(1));
        let twin_size = twin.map_or(0, |t| t.size);
        let kept = &self.linked.sections[id].kept;
        let facts = TwinFacts {
            name,
            sh_type,
            size: content.len() as u64,
            twin_size,
            same: twin.is_some_and(|t| matches!(&t.content, Content::Bytes(bytes) if **bytes == *content)),
            finalizer_relocations: kept.iter().any(|k| matches!(k.kind, R_MERCURY_PROG_REL32 | R_MERCURY_PROG_REL64)),
            absolute_relocations: kept.iter().any(|k| k.kind == R_MERCURY_ABS64),
            later_debug: self.output.link.mode.rules.shares_later_debug,
        };
        let shared = !is_code(s) && shares_twin(&facts) && facts.size == twin_size;
        ImageSection {
            name: name_offset,
            sh_type,
            flags,
            link,
            info,
            align: align_of(s),
            entsize,
            size: content.len() as u64,
            reserve: 0,
            content: if shared { Content::SameAs(number) } else { Content::Bytes(content) },
        }
    }

    /// The start of the section headers that the Mercury link alone would have written, from where this section would have been.
    fn reserved_bytes(&self, id: SectionId) -> Vec<u8> {
        let arranged = self.output.arranged;
        let start = self.mercury_file.placement(arranged.section_index(id)).unwrap_or_default().offset;
        let padding = self.mercury_file.section_header_offset() - start;
        let names = arranged.section_names.len() as u64;
        let string_table = |name: u32, offset: u64, size: u64| Shdr {
            sh_name: name.into(),
            sh_type: SHT_STRTAB.into(),
            sh_offset: offset.into(),
            sh_size: size.into(),
            sh_addralign: 1.into(),
            ..Shdr::default()
        };
        let headers = [
            Shdr::default(),
            string_table(1, 0x40, names),
            string_table(0xb, 0x40 + names, arranged.strings.len() as u64),
        ];
        let mut bytes = vec![0; padding as usize];
        bytes.extend_from_slice(headers.as_bytes());
        bytes.resize(self.section(id).size as usize, 0);
        bytes
    }
}
