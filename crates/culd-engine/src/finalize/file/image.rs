//! The file: SASS sections, parameter banks, Mercury sections.
//!
//! 1. The sections of the Mercury link in their order, with SASS contents; then one parameter bank per kernel, in the order of code. Files with too many
//!    sections for the symbols' fields have a table of extended section numbers before the parameter banks, and one before the Mercury symbol table.
//! 2. One capsule per code section, then the Mercury twins of debug information, attributes, relocations, constants, initialised data and
//!    reserved shared memory, then the Mercury symbol table.
//! 3. Twins whose contents are the same in both views repeat the place of the SASS section.
//! 4. Reserved shared memory has bytes in the Mercury view: those that follow it in the file that the Mercury link alone would have been,
//!    that is the start of that file's section headers.

use crate::align::align_up;
use crate::arrange::OutputPlan;
use crate::diagnostics::{Code, Collector, Stop};
use crate::emit::final_type;
use crate::finalize::code::functions::{Functions, RESERVED_BASE};
use crate::finalize::file::numbers::Numbers;
use crate::finalize::file::numbers::parameter_bank;
use crate::finalize::file::tables::{self, Strings};
use crate::finalize::linked::{Linked, symbol_number};
use crate::finalize::sass::Sass;
use crate::ids::{SectionId, Table};
use crate::options::Identity;
use crate::records::ABSENT;
use crate::records::{Class, OutSection};
use crate::size_limit;
use cubin::consts::*;
use cubin::layout::{R_MERCURY_ABS64, R_MERCURY_PROG_REL32, TwinFacts, names_reserve, shares_twin};
use cubin::raw::{Rela, Shdr};
use cubin::read::{SymbolSection, is_nobits};
use cubin::release::Rules;
use cubin::write::strings::encode_symbols;
use cubin::write::{Content, Image, ImageHeader, ImageSection, WriterKind};
use zerocopy::IntoBytes;

/// Size of a record that `.nv.compat` gets at the very end.
const LATE_COMPAT: u64 = 12;

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

fn parameters<'d>(parts: &OutputPlan<'_, 'd>, code: &Functions<'_, 'd>) -> Vec<Parameters<'d>> {
    let mut banks = Vec::new();
    for &text in &code.order {
        let Some(function) = code.of(text) else { continue };
        if parts.layout.records.functions[function.function].parameters.is_some() {
            continue;
        }
        if let Some(bank) = parameter_bank(parts, code, function) {
            let name = parts.link.resolved.functions[function.function].name;
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
    parts: &'a OutputPlan<'a, 'd>,
    linked: &'a Linked,
    code: &'a Functions<'a, 'd>,
    sass: Sass,
    numbers: Numbers,
    strings: Strings,
    /// Mercury sections in order: the section and whether it is a capsule.
    mercury: Vec<SectionId>,
    symbol_tables: [Vec<u8>; 2],
    /// Extended section numbers of the symbols of both tables.
    extended: [Vec<u8>; 2],
    sections: Vec<ImageSection<'static>>,
}

/// Makes the file.
pub(crate) fn emit<'d>(
    parts: &OutputPlan<'_, 'd>,
    linked: &Linked,
    code: &Functions<'_, 'd>,
    sass: Sass,
    out: &mut Collector<'_>,
) -> Result<Vec<u8>, Stop> {
    let sections = &parts.layout.records.sections;
    let banks = parameters(parts, code);
    let twins = parts
        .arranged
        .sections
        .iter()
        .copied()
        .filter(|&id| has_twin(&sections[id], &parts.link.mode.rules));
    let mercury: Vec<SectionId> = code.order.iter().copied().chain(twins).collect();
    let names: Vec<Vec<u8>> = mercury
        .iter()
        .map(|&id| {
            let prefix: &[u8] = if code.of(id).is_some() { b".nv.capmerc" } else { b".nv.merc" };
            [prefix, &sections[id].name.to_vec()].concat()
        })
        .collect();
    // The section without a name and the Mercury symbol table count.
    let count = parts.arranged.sections.len() + banks.len() + mercury.len() + 2;
    let extended = count >= many_sections(parts.link.options.identity);
    let first_parameter = parts.arranged.sections.len() as u32 + 1 + u32::from(extended);
    let first_mercury = first_parameter + banks.len() as u32;
    let mut numbers = Numbers {
        extended,
        first_parameter,
        twins: Table::filled(sections.len(), 0),
        symbols: first_mercury + mercury.len() as u32 + u32::from(extended),
    };
    for (&id, number) in mercury.iter().zip(first_mercury..) {
        numbers.twins[id] = number;
    }
    let bank_names: Vec<Vec<u8>> = banks.iter().map(|b| b.name.clone()).collect();
    let strings = tables::strings(parts, &bank_names, &names, extended);
    let mut lists = tables::symbols(parts, code, &numbers, &strings);
    if parts.link.options.identity == Identity::Nvlink {
        for symbol in lists.iter_mut().flatten().filter(|sym| sym.section == FIRST_RESERVED) {
            symbol.section = SymbolSection::Reserved(SHN_LORESERVE);
        }
    }
    // nvlink quirk: both tables of extended numbers have an entry for every symbol of the SASS view.
    let entries = lists[1].len();
    let [(mercury_symbols, mercury_extended), (sass_symbols, sass_extended)] = lists.map(|list| encode_symbols(&list));
    let filled = |table: Option<Vec<u8>>| {
        let mut table = table.unwrap_or_default();
        table.resize(4 * entries, 0);
        table
    };
    let mut writer = Writer {
        parts,
        linked,
        code,
        sass,
        numbers,
        strings,
        mercury,
        symbol_tables: [mercury_symbols, sass_symbols],
        extended: [filled(mercury_extended), filled(sass_extended)],
        sections: Vec::new(),
    };
    writer.sass_sections();
    if extended {
        writer.extended_numbers();
    }
    writer.parameter_banks(&banks);
    writer.mercury_sections(&names);
    let image = Image {
        header: header(parts),
        writer: WriterKind::Finalizer,
        sections: writer.sections,
    };
    image.emit_within(size_limit::limit(parts.link.inputs)).map_err(|e| {
        let file = parts
            .link
            .inputs
            .objects
            .iter()
            .next()
            .map_or(String::new(), |o| o.name.to_string());
        out.fatal(Code::Damaged {
            file,
            reason: e.to_string(),
        })
    })
}

fn header(parts: &OutputPlan<'_, '_>) -> ImageHeader {
    let fixed = &parts.layout.records.standard;
    let note = fixed.cuda_note.map_or(0, |id| parts.arranged.section_index(id).min(255));
    ImageHeader {
        ident: ImageHeader::IDENT,
        e_type: if parts.link.mode.relocatable { ET_REL } else { ET_EXEC },
        e_version: 1,
        e_flags: note << 24 | parts.link.options.target.number << 8 | 2,
        section_names: parts.arranged.section_index(fixed.section_names),
    }
}

/// A table of extended section numbers.
fn extended_section(name: u32, flags: u64, link: u32, table: Vec<u8>) -> ImageSection<'static> {
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

impl Writer<'_, '_> {
    fn section(&self, id: SectionId) -> &OutSection<'_> {
        &self.parts.layout.records.sections[id]
    }

    fn is_nobits(&self, id: SectionId) -> bool {
        let sh_type = self.section(id).sh_type;
        is_nobits(sh_type) || sh_type == SHT_CUDA_SHARED_RESERVED
    }

    fn sass_sections(&mut self) {
        let order = self.parts.arranged.sections.clone();
        for id in order {
            let section = self.sass_section(id);
            self.sections.push(section);
        }
    }

    fn sass_bytes(&mut self, id: SectionId) -> Vec<u8> {
        match self.section(id).class {
            Class::SectionNames => return self.strings.section_names.clone(),
            Class::Strings => return self.strings.strings.clone(),
            Class::Symbols => return self.symbol_tables[1].clone(),
            _ => {}
        }
        if let Some(function) = self.code.of(id) {
            return function.code.clone();
        }
        if self.section(id).class == Class::Parameters {
            return self.parameters_with_slots(id);
        }
        let bytes = self.sass.bytes[id].take();
        bytes.or_else(|| self.linked.bytes[id].clone()).unwrap_or_default()
    }

    /// The parameter bank of a kernel with the slots of its textures after it.
    fn parameters_with_slots(&self, id: SectionId) -> Vec<u8> {
        let function = self.section(id).owner.and_then(|t| self.code.of(t));
        let bank = function
            .and_then(|f| parameter_bank(self.parts, self.code, f))
            .map_or(&[][..], |b| b.data);
        let mut bytes = bank.to_vec();
        bytes.resize((self.code.sources.slot_base + self.section(id).size) as usize, 0);
        bytes
    }

    fn sass_section(&mut self, id: SectionId) -> ImageSection<'static> {
        let (link, info) = self.link_and_info(id);
        let nobits = self.is_nobits(id);
        let content = if nobits { Vec::new() } else { self.sass_bytes(id) };
        let relocatable = self.parts.link.mode.relocatable;
        let s = self.section(id);
        let (mut align, mut size) = (s.align, content.len() as u64);
        if nobits {
            size = if s.size == ABSENT { 0 } else { s.size };
            if !relocatable {
                size += match s.class {
                    Class::KernelShared | Class::ModuleShared => tables::shared_base(self.parts),
                    Class::ReservedShared => RESERVED_BASE,
                    _ => 0,
                };
            }
        }
        let reserve = match s.class {
            // The names of the tables of extended numbers take the place that is kept free for them.
            Class::SectionNames if self.numbers.extended => 0,
            Class::SectionNames => names_reserve([(&b""[..], SHF_CUDA_MERCURY)].into_iter()),
            Class::Strings => self.strings.reserve,
            _ => 0,
        };
        if s.class == Class::Strings {
            align = 1;
        }
        ImageSection {
            name: self.parts.arranged.name_offset[id],
            sh_type: match s.sh_type {
                SHT_CUDA_SHARED_RESERVED if !relocatable => SHT_NOBITS,
                other => final_type(self.parts, other),
            },
            flags: s.flags,
            link,
            info,
            align,
            entsize: s.entsize.into(),
            size,
            reserve,
            content: if nobits { Content::NoBits } else { Content::Bytes(content.into()) },
        }
    }

    fn link_and_info(&self, id: SectionId) -> (u32, u32) {
        let parts = self.parts;
        let index = |id: SectionId| parts.arranged.section_index(id);
        let fixed = &parts.layout.records.standard;
        let s = self.section(id);
        let symtab = index(fixed.symbols);
        let owner = s.owner.map_or(0, index);
        match s.class {
            Class::Symbols => {
                let all = self.symbol_tables[1].len() / 24;
                let banks = !self.strings.parameters.is_empty();
                let first = if banks { all as u32 } else { parts.arranged.first_global };
                (index(fixed.strings), first)
            }
            Class::CudaNote => (fixed.tool_note.map_or(0, index), fixed.compat.map_or(0, index)),
            Class::Info | Class::FunctionInfo(_) | Class::UftInfo => (symtab, owner),
            Class::Callgraph | Class::Prototype | Class::UdtEntry => (symtab, 0),
            Class::UftEntry if parts.link.mode.relocatable => (symtab, 0),
            Class::Rel(target) | Class::Rela(target) | Class::ResolvedRela(target) => (symtab, index(target)),
            Class::Text(_) | Class::Stub(_) | Class::Uft => (symtab, self.text_info(id)),
            _ => (0, owner),
        }
    }

    fn text_info(&self, id: SectionId) -> u32 {
        let symbol = match self.section(id).class {
            Class::Text(f) | Class::Stub(f) => self.parts.layout.records.symbol_of[f],
            Class::Uft => self.parts.layout.records.unified.first_stub,
            _ => None,
        };
        symbol.map_or(0, |sym| self.parts.arranged.symbol_index(sym))
    }

    fn extended_numbers(&mut self) {
        let symbols = self.parts.arranged.section_index(self.parts.layout.records.standard.symbols);
        let table = std::mem::take(&mut self.extended[1]);
        self.sections.push(extended_section(self.strings.extended[1], 0, symbols, table));
    }

    fn parameter_banks(&mut self, banks: &[Parameters<'_>]) {
        for (bank, &(name, _)) in banks.iter().zip(&self.strings.parameters) {
            self.sections.push(ImageSection {
                name,
                sh_type: final_type(self.parts, SHT_CUDA_CONSTANT0),
                // The flag is set even if the input does not have it.
                flags: bank.flags | SHF_INFO_LINK,
                link: 0,
                info: self.parts.arranged.section_index(bank.text),
                align: bank.align,
                entsize: 0,
                size: bank.data.len() as u64,
                reserve: 0,
                content: Content::Bytes(bank.data.to_vec().into()),
            });
        }
    }

    fn mercury_sections(&mut self, names: &[Vec<u8>]) {
        let offsets = std::mem::take(&mut self.strings.mercury);
        let mercury = std::mem::take(&mut self.mercury);
        for ((&id, name), &offset) in mercury.iter().zip(names).zip(&offsets) {
            let section = self.mercury_section(id, name, offset);
            self.sections.push(section);
        }
        if self.numbers.extended {
            let table = std::mem::take(&mut self.extended[0]);
            let section = extended_section(self.strings.extended[0], SHF_CUDA_MERCURY, self.numbers.symbols, table);
            self.sections.push(section);
        }
        let symbols = std::mem::take(&mut self.symbol_tables[0]);
        self.sections.push(ImageSection {
            name: self.strings.mercury_symbols,
            sh_type: SHT_CUDA_MERC_SYMTAB,
            flags: SHF_CUDA_MERCURY,
            link: self.parts.arranged.section_index(self.parts.layout.records.standard.strings),
            info: self.parts.arranged.first_global,
            align: 8,
            entsize: 24,
            size: symbols.len() as u64,
            reserve: 0,
            content: Content::Bytes(symbols.into()),
        });
    }

    fn mercury_bytes(&self, id: SectionId) -> Vec<u8> {
        let relocs = |list: &[crate::finalize::linked::Kept]| -> Vec<Rela> {
            let entry = |k: &crate::finalize::linked::Kept| Rela {
                r_offset: k.offset.into(),
                r_type: k.kind.into(),
                r_sym: symbol_number(self.parts, k.named).into(),
                r_addend: k.addend.into(),
            };
            list.iter().map(entry).collect()
        };
        match self.section(id).class {
            Class::Text(_) | Class::Stub(_) | Class::Uft => self.code.of(id).map_or(Vec::new(), |f| f.capsule.clone()),
            Class::Rela(target) => {
                let mut list = relocs(&self.linked.kept[target]);
                if let Some(stubs) = self.code.stubs_in(self.parts, target) {
                    for entry in &mut list {
                        entry.r_offset = stubs.mercury_place(entry.r_offset.get()).into();
                    }
                }
                list.as_bytes().to_vec()
            }
            Class::ResolvedRela(_) => relocs(&self.linked.listed[id]).as_bytes().to_vec(),
            Class::Literals => vec![0; self.linked.bytes[id].as_ref().map_or(0, Vec::len)],
            Class::ReservedShared => self.reserved_bytes(id),
            _ => self.linked.bytes[id].clone().unwrap_or_default(),
        }
    }

    fn mercury_section(&self, id: SectionId, name: &[u8], name_offset: u32) -> ImageSection<'static> {
        let s = self.section(id);
        let symbols = self.numbers.symbols;
        let twin = |id: SectionId| self.numbers.mercury(self.parts, id);
        let owner = s.owner.map_or(0, twin);
        let own_flags = SHF_CUDA_MERCURY | s.flags;
        let (sh_type, flags, link, info, entsize) = match s.class {
            Class::Text(_) | Class::Stub(_) | Class::Uft => {
                (SHT_CUDA_CAPMERC, SHF_CUDA_MERCURY, symbols, self.text_info(id), s.entsize.into())
            }
            Class::Info | Class::FunctionInfo(_) | Class::UftInfo => (SHT_CUDA_MERC_INFO, own_flags, symbols, owner, 0),
            Class::Rela(target) => (SHT_CUDA_MERC_RELA, own_flags, symbols, twin(target), 24),
            Class::ResolvedRela(target) => (SHT_CUDA_MERC_RESOLVED_RELA, own_flags, symbols, twin(target), 24),
            Class::Constant(4) => (SHT_CUDA_CONSTANT_PIC, own_flags, 0, 0, 0),
            Class::Constant(_) => (SHT_CUDA_CONSTANT_USER, own_flags, 0, 0, 0),
            Class::Parameters => (SHT_CUDA_CONSTANT_IMAGE_HEADERS, own_flags, 0, owner, 0),
            Class::Literals => (SHT_CUDA_CONSTANT_OPTIMIZER, own_flags, 0, owner, 0),
            Class::GlobalInit => (SHT_CUDA_GLOBAL_INIT, own_flags, 0, 0, 0),
            Class::ReservedShared => (SHT_CUDA_SHARED_RESERVED, own_flags, 0, 0, 0),
            Class::HostData => (SHT_CUDA_HOST, own_flags, 0, 0, 0),
            Class::Callgraph => (SHT_CUDA_MERC_CALLGRAPH, SHF_CUDA_MERCURY, symbols, 0, 8),
            Class::Prototype => (SHT_CUDA_MERC_PROTOTYPE, SHF_CUDA_MERCURY, symbols, 0, 8),
            Class::PassedThrough => (s.sh_type, own_flags, 0, 0, s.entsize.into()),
            Class::UftEntry if !self.parts.link.mode.relocatable => (SHT_CUDA_UFT_ENTRY, own_flags, 0, 0, s.entsize.into()),
            Class::UftEntry | Class::UdtEntry => (s.sh_type, own_flags, symbols, 0, s.entsize.into()),
            Class::Udt | Class::Uidx => (s.sh_type, own_flags, 0, 0, 0),
            _ => (SHT_PROGBITS, SHF_CUDA_MERCURY, 0, 0, 0),
        };
        let content = self.mercury_bytes(id);
        let number = self.parts.arranged.section_index(id);
        let twin = self.sections.get((number as usize).wrapping_sub(1));
        let twin_size = twin.map_or(0, |t| t.size);
        let kept = &self.linked.kept[id];
        let facts = TwinFacts {
            name,
            sh_type,
            size: content.len() as u64,
            twin_size,
            same: twin.is_some_and(|t| matches!(&t.content, Content::Bytes(bytes) if **bytes == *content)),
            finalizer_relocations: kept.iter().any(|k| k.kind == R_MERCURY_PROG_REL32),
            absolute_relocations: kept.iter().any(|k| k.kind == R_MERCURY_ABS64),
        };
        let shared = !is_code(s) && shares_twin(&facts) && facts.size == twin_size;
        ImageSection {
            name: name_offset,
            sh_type,
            flags,
            link,
            info,
            align: if is_code(s) { 16 } else { s.align },
            entsize,
            size: content.len() as u64,
            reserve: 0,
            content: if shared {
                Content::SameAs(number)
            } else {
                Content::Bytes(content.into())
            },
        }
    }

    /// The start of the section headers that the Mercury link alone would have written, from where this section would have been.
    fn reserved_bytes(&self, id: SectionId) -> Vec<u8> {
        let arranged = self.parts.arranged;
        let (mut cursor, mut start) = (0x40u64, 0);
        for &other in &arranged.sections {
            let s = self.section(other);
            cursor = align_up(cursor, if is_code(s) { 16 } else { s.align });
            if other == id {
                start = cursor;
            }
            if self.is_nobits(other) {
                continue;
            }
            cursor += match s.class {
                Class::SectionNames => arranged.section_names.len() as u64,
                Class::Strings => arranged.strings.len() as u64,
                Class::Symbols => self.symbol_tables[0].len() as u64,
                Class::Text(_) | Class::Stub(_) | Class::Uft => s.size,
                Class::Rela(target) => 24 * self.linked.kept[target].len() as u64,
                Class::ResolvedRela(_) => 24 * self.linked.listed[other].len() as u64,
                Class::Compat => (self.linked.bytes[other].as_ref().map_or(0, Vec::len) as u64).saturating_sub(LATE_COMPAT),
                _ => self.linked.bytes[other].as_ref().map_or(0, Vec::len) as u64,
            };
        }
        let padding = align_up(cursor, 8) - start;
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
