//! The image as an ELF file.
//!
//! 1. It parses; every section and symbol of both views has a name, every symbol a section that exists.
//! 2. Header: type, architecture and the section of the CUDA note.
//! 3. Sections have the type that belongs to their name; offsets are aligned; `sh_link` and `sh_info` that are indices name something.
//! 4. Every relocation names a symbol that exists and a place inside its section.
//! 5. Functions and variables are inside their sections; a function is as large as its section.
//! 6. No two sections have bytes in common, but those that both views share.

use super::file::{File, View};
use super::{Check, Findings, Rules, text};
use cubin::consts::*;
use cubin::kind::SectionKind;
use cubin::names::file_flags;
use cubin::raw::Rela;
use cubin::read::{Cubin, Section, is_nobits, is_nobits_section};
use cubin::release::Form;
use zerocopy::FromBytes;

/// What `sh_link` holds in releases where it does not follow the symbol table.
const FIXED_LINK: u32 = 5;

/// Parses the image and checks it; the error is what makes it unreadable.
pub(super) fn check<'d>(image: &'d [u8], rules: &Rules<'_>, found: &mut Findings) -> Result<File<'d>, String> {
    let cubin = Cubin::parse(image).map_err(|e| e.to_string())?;
    cubin.program_headers().map_err(|e| e.to_string())?;
    let file = File::new("", cubin).map_err(|e| e.to_string())?;
    let mut say = |problem: Option<String>| {
        if let Some(problem) = problem {
            found.add(Check::Structure, problem);
        }
    };
    say(header(&file, rules));
    for section in file.sections.iter().skip(1) {
        say(place(&file, section, rules));
        say(kind(&file, section, rules));
        if matches!(
            section.header.sh_type.get(),
            SHT_REL | SHT_RELA | SHT_CUDA_RESOLVED_RELA | SHT_CUDA_MERC_RELA
        ) {
            say(relocations(&file, section).err());
        }
    }
    say(overlap(&file));
    symbols(&file, rules, &mut say);
    Ok(file)
}

fn header(file: &File<'_>, rules: &Rules<'_>) -> Option<String> {
    let header = file.cubin.header();
    let expected = if rules.options.relocatable { ET_REL } else { ET_EXEC };
    if header.e_type.get() != expected {
        return Some(format!("e_type is {}, it should be {expected}", header.e_type.get()));
    }
    let [_, _, _, _, _, _, _, abi, version, ..] = header.ident;
    let form = match (abi, version) {
        (ELFOSABI_CUDA, 8) => Form::Cuda13,
        (ELFOSABI_CUDA_V7, 7) => Form::Cuda12,
        _ => return Some(format!("the ABI is {abi:#x}, version {version}; it should be 0x41, version 8")),
    };
    if rules.options.form() != form {
        return Some(format!(
            "the ABI is {abi:#x}, version {version}, which is not the form of this link"
        ));
    }
    let flags = file_flags(header);
    let target = rules.options.target;
    if u32::from(flags.sm) != target.number {
        return Some(format!("e_flags are for sm_{}, the link is for {target}", flags.sm));
    }
    if flags.mercury != target.capabilities().has_mercury || file.has_mercury() != target.capabilities().has_mercury {
        return Some(format!("e_flags {:#x} and the symbol tables do not fit {target}", flags.bits));
    }
    let notes = [&b".note.nv.cuinfo"[..], b".note.nv.cuver"];
    let (name, note) = notes.iter().find_map(|name| Some((name, file.named(name).first().copied()?)))?;
    (flags.note != Some(note.min(255) as u8)).then(|| format!("e_flags {:#x} do not name {}, section {note}", flags.bits, text(name)))
}

fn place(file: &File<'_>, section: &Section<'_>, rules: &Rules<'_>) -> Option<String> {
    let h = section.header;
    let name = text(section.name);
    let (align, offset, count) = (h.sh_addralign.get(), h.sh_offset.get(), file.sections.len());
    let release = rules.options.release().map(|r| r.rules_for(rules.options.target));
    // A link of relocatable links takes alignments of shared memory from addresses, a final one in later releases. nvlink quirk: user constants over 64 KB
    // are laid out again, each at multiples of its size up to 8, and the bank of a final link has the largest of these alignments.
    let by_size = match section.name {
        b".nv.constant3" => h.sh_type.get() == SHT_PROGBITS && align <= 8,
        b".nv.merc.nv.constant.user" => h.sh_type.get() == SHT_CUDA_CONSTANT_USER && align <= 8,
        _ => false,
    };
    let is_shared = section.name.starts_with(b".nv.shared.") || section.name == b".nv_debug.shared";
    let by_place = match h.sh_type.get() {
        SHT_CUDA_SHARED => true,
        SHT_NOBITS => is_shared && release.is_some_and(|r| r.dynamic_alignment),
        _ => false,
    };
    let is_align = align.is_power_of_two() || (align != 0 && (by_place || by_size));
    if !(is_align && offset.is_multiple_of(align)) {
        return Some(format!("section {name} is at {offset:#x}, which is not aligned to {align}"));
    }
    // nvlink quirk: the number that the symbol table once had, which a small file does not have.
    let is_fixed = release.is_some_and(|r| r.fixed_symbol_table_link) && h.sh_link.get() == FIXED_LINK;
    if h.sh_link.get() as usize >= count && !is_fixed {
        return Some(format!("section {name}: sh_link {} names no section", h.sh_link.get()));
    }
    if h.sh_flags.get() & SHF_INFO_LINK != 0 && h.sh_info.get() as usize >= count {
        return Some(format!("section {name}: sh_info {} names no section", h.sh_info.get()));
    }
    None
}

/// Does a section have the type that its name implies?
fn kind(file: &File<'_>, section: &Section<'_>, rules: &Rules<'_>) -> Option<String> {
    use SectionKind as K;
    let sh_type = section.header.sh_type.get();
    let mercury = file.is_mercury(section);
    let linked = !rules.options.relocatable && !mercury;
    let kind = cubin::kind::classify(section.name, SHT_PROGBITS);
    // The name decides, not the type.
    let expected = match kind {
        _ if mercury => return None,
        K::Global => [SHT_CUDA_GLOBAL, SHT_NOBITS],
        K::GlobalInit => [SHT_CUDA_GLOBAL_INIT, SHT_PROGBITS],
        K::Shared | K::SharedModule => [SHT_CUDA_SHARED, SHT_NOBITS],
        K::Constant(bank) => [SHT_CUDA_CONSTANT0 + u32::from(bank), SHT_PROGBITS],
        K::Text | K::Debug | K::DebugLineSass | K::DebugRegisters | K::DebugRegisterTypes | K::DebugPtx => [SHT_PROGBITS; 2],
        K::Info | K::FunctionInfo => [SHT_CUDA_INFO; 2],
        K::CallGraph => [SHT_CUDA_CALLGRAPH; 2],
        K::Prototype => [SHT_CUDA_PROTOTYPE; 2],
        K::Compat => [SHT_CUDA_COMPAT; 2],
        K::ToolInfo | K::CudaInfo => [SHT_NOTE; 2],
        K::SymbolTable => [SHT_SYMTAB; 2],
        K::SymbolSectionIndices => [SHT_SYMTAB_SHNDX; 2],
        K::StringTable => [SHT_STRTAB; 2],
        _ => return by_prefix(section),
    };
    let expected = expected[usize::from(linked)];
    (sh_type != expected).then(|| wrong_type(section, expected))
}

/// Relocation sections are named after what they patch.
fn by_prefix(section: &Section<'_>) -> Option<String> {
    let expected = match section.name {
        name if name.starts_with(b".rela.") => SHT_RELA,
        name if name.starts_with(b".rel.") => SHT_REL,
        name if name.starts_with(b".nv.resolvedrela") => SHT_CUDA_RESOLVED_RELA,
        b".symtab" => SHT_SYMTAB,
        b".strtab" | b".shstrtab" => SHT_STRTAB,
        b".symtab_shndx" => SHT_SYMTAB_SHNDX,
        _ => return None,
    };
    (section.header.sh_type.get() != expected).then(|| wrong_type(section, expected))
}

fn wrong_type(section: &Section<'_>, expected: u32) -> String {
    let name = cubin::names::section_type;
    let sh_type = section.header.sh_type.get();
    format!(
        "section {} has type {}, it should be {}",
        text(section.name),
        name(sh_type),
        name(expected)
    )
}

fn relocations(file: &File<'_>, section: &Section<'_>) -> Result<(), String> {
    let name = text(section.name);
    let sh_type = section.header.sh_type.get();
    let view = if sh_type == SHT_CUDA_MERC_RELA { View::Mercury } else { View::Sass };
    let target = file
        .section(section.header.sh_info.get())
        .filter(|t| t.index != 0)
        .ok_or_else(|| format!("section {name} patches no section"))?;
    // Sections are named after the section that they patch.
    let patched = section.name.strip_prefix(b".rela").or_else(|| section.name.strip_prefix(b".rel"));
    if patched.is_some_and(|p| p != target.name) {
        return Err(format!("section {name} patches section {}", text(target.name)));
    }
    let size = match file.kind(target.index) {
        // Offsets count in Mercury code, whose size only its symbol has.
        SectionKind::Capsule => u64::MAX,
        _ if is_nobits(target.header.sh_type.get()) => 0,
        _ => target.header.sh_size.get(),
    };
    let count = file.view_symbols(view).len();
    let one = |i: usize, symbol: u32, offset: u64| {
        if symbol as usize >= count {
            return Err(format!("section {name}: entry {i} names symbol {symbol}, which does not exist"));
        }
        // Static functions of one name share the first one's list of resolved relocations.
        if offset >= size && sh_type != SHT_CUDA_RESOLVED_RELA {
            return Err(format!("section {name}: entry {i} is past the end of its section"));
        }
        Ok(())
    };
    if sh_type == SHT_CUDA_MERC_RELA {
        let entries = <[Rela]>::ref_from_bytes(section.data).map_err(|_| format!("section {name}: size is not a multiple of 24"))?;
        return entries
            .iter()
            .enumerate()
            .try_for_each(|(i, e)| one(i, e.r_sym.get(), e.r_offset.get()));
    }
    let entries = file.cubin.relocations(section).map_err(|e| e.to_string())?;
    (0..entries.len())
        .filter_map(|i| Some((i, entries.get(i)?)))
        .try_for_each(|(i, e)| one(i, e.r_sym.get(), e.r_offset.get()))
}

fn overlap(file: &File<'_>) -> Option<String> {
    let mut list: Vec<&Section<'_>> = file.sections.iter().skip(1).collect();
    list.retain(|s| !is_nobits_section(s.header) && s.header.sh_type.get() != SHT_NOBITS && s.header.sh_size.get() != 0);
    list.sort_by_key(|s| (s.header.sh_offset.get(), s.index));
    let mut last: Option<&Section<'_>> = None;
    for s in list {
        if let Some(before) = last {
            let end = before.header.sh_offset.get().saturating_add(before.header.sh_size.get());
            let shared = file.is_mercury(s) != file.is_mercury(before) && s.header.sh_offset == before.header.sh_offset;
            if s.header.sh_offset.get() < end && !shared {
                return Some(format!("sections {} and {} have bytes in common", text(before.name), text(s.name)));
            }
        }
        if last.is_none_or(|l| l.header.sh_offset.get() + l.header.sh_size.get() <= s.header.sh_offset.get() + s.header.sh_size.get()) {
            last = Some(s);
        }
    }
    None
}

fn symbols(file: &File<'_>, rules: &Rules<'_>, say: &mut impl FnMut(Option<String>)) {
    let mut owned = vec![false; file.sections.len()];
    for sym in file.symbols.iter().skip(1) {
        let Some(section) = sym.section.index().and_then(|i| file.section(i)) else {
            continue;
        };
        let (value, size, space) = (sym.entry.st_value.get(), sym.entry.st_size.get(), section.header.sh_size.get());
        let fits = value.checked_add(size).is_some_and(|end| end <= space);
        let name = text(sym.name);
        match (sym.entry.kind(), file.kind(section.index)) {
            (_, SectionKind::Null) => say(Some(format!("symbol {name} is in section {}, which is inactive", section.index))),
            (STT_FUNC, SectionKind::Text) => {
                let is_owner = section.name.strip_prefix(b".text.") == Some(sym.name);
                if let Some(slot) = owned.get_mut(section.index as usize) {
                    *slot |= is_owner;
                }
                // A function may be inside another one (`-ewp`), or inside of a copy that lost. A second name of a function has no size.
                let is_inner = (value != 0 || sym.name.starts_with(b"$")) && !is_owner && (fits || rules.nvlink);
                if (value != 0 && !is_inner) || (!is_inner && size != space && (is_owner || size != 0)) {
                    say(Some(format!("function {name} has {size} bytes at {value:#x}, its section {space}")));
                }
            }
            (STT_FUNC, SectionKind::UnifiedFunctions | SectionKind::UnifiedFunctionStub) => {}
            (STT_FUNC, _) => say(Some(format!("function {name} is in section {}", text(section.name)))),
            (
                STT_OBJECT | STT_CUDA_OBJECT,
                SectionKind::Global | SectionKind::GlobalInit | SectionKind::Constant(_) | SectionKind::UnifiedData,
            ) if !fits => {
                // nvlink quirks: `--preserve-relocs` keeps symbols of constants that did not fit, with their old values; constants that
                // were merged may end after their bank, and so may literals of a copy that lost.
                let is_constant = matches!(file.kind(section.index), SectionKind::Constant(_));
                let old = is_constant && (rules.options.preserve_relocs || rules.nvlink);
                if !old {
                    say(Some(format!(
                        "variable {name}, {size} bytes at {value:#x}, is not in its section {}, {space} bytes",
                        text(section.name)
                    )));
                }
            }
            _ => {}
        }
    }
    for sym in file.mercury.iter().skip(1) {
        if let Some(index) = sym.section.index().filter(|&i| file.kind(i) == SectionKind::Null) {
            say(Some(format!("symbol {} is in section {index}, which is inactive", text(sym.name))));
        }
    }
    for s in file.sections.iter().skip(1) {
        let is_code = file.kind(s.index) == SectionKind::Text;
        if is_code && !owned.get(s.index as usize).copied().unwrap_or(false) {
            say(Some(format!("section {} has no function", text(s.name))));
        }
    }
}
