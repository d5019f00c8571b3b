//! Section headers.
//!
//! 1. Number 0 is the null section; the section names are a string table that ends with a NUL.
//! 2. Each section: its place in the file, alignment, size, and what its type says about entry size, `sh_link` and `sh_info`.
//! 3. The file as a whole: one symbol table, and no two sections for the same thing.

use super::{Checked, DefectPlace, MAX_ALIGN, MAX_MEMORY, defect, text};
use crate::consts::*;
use crate::kind::function_name;
use crate::raw::Shdr;
use crate::read::{Cubin, Section, has_string, is_nobits_section};

/// What `sh_link` or `sh_info` names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    /// Nothing that is checked.
    Anything,
    /// A string table.
    Strings,
    /// A symbol table.
    Symbols,
    /// A section of code.
    Text,
    /// A section with bytes, other than the section itself.
    Bytes,
}

impl Names {
    fn expected(self) -> &'static str {
        match self {
            Names::Anything => "a section",
            Names::Strings => "a string table",
            Names::Symbols => "a symbol table",
            Names::Text => "a text section",
            Names::Bytes => "a section with bytes to patch",
        }
    }

    fn fits(self, header: &Shdr) -> bool {
        let sh_type = header.sh_type.get();
        match self {
            Names::Anything => true,
            Names::Strings => sh_type == SHT_STRTAB,
            Names::Symbols => matches!(sh_type, SHT_SYMTAB | SHT_CUDA_MERC_SYMTAB),
            Names::Text => is_text(header),
            Names::Bytes => !is_nobits_section(header) && !is_relocation(sh_type),
        }
    }
}

/// Rules of a section type: entry size in bytes, `sh_link`, `sh_info` (where it names a section).
struct Rule {
    entry: u64,
    link: Names,
    info: Names,
}

/// The rules of a type. Most sections of a file have none.
fn rule_of(sh_type: u32) -> Option<Rule> {
    use Names::{Anything, Bytes, Strings, Symbols, Text};
    let (entry, link, info) = match sh_type {
        SHT_CUDA_INFO | SHT_CUDA_MERC_INFO => (0, Symbols, Text),
        SHT_SYMTAB | SHT_CUDA_MERC_SYMTAB => (24, Strings, Anything),
        SHT_SYMTAB_SHNDX => (4, Symbols, Anything),
        SHT_REL => (16, Symbols, Bytes),
        SHT_RELA | SHT_CUDA_MERC_RELA => (24, Symbols, Bytes),
        SHT_CUDA_CALLGRAPH | SHT_CUDA_PROTOTYPE | SHT_CUDA_MERC_CALLGRAPH | SHT_CUDA_MERC_PROTOTYPE => (8, Symbols, Anything),
        SHT_CUDA_CONSTANT0 | SHT_CUDA_SHARED => (0, Anything, Text),
        SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY => (32, Anything, Anything),
        SHT_CUDA_RESOLVED_RELA => (24, Anything, Anything),
        _ => return None,
    };
    Some(Rule { entry, link, info })
}

/// Types of which a file has at most one section in each of its views.
const SINGLE: [(u32, &str); 4] = [
    (SHT_SYMTAB, "symbol table"),
    (SHT_SYMTAB_SHNDX, "table of extended section indices"),
    (SHT_CUDA_CALLGRAPH, "call graph"),
    (SHT_CUDA_PROTOTYPE, "prototype table"),
];

pub(super) fn is_relocation(sh_type: u32) -> bool {
    matches!(sh_type, SHT_REL | SHT_RELA | SHT_CUDA_MERC_RELA)
}

pub(super) fn is_text(header: &Shdr) -> bool {
    let plain = header.sh_type.get() == SHT_PROGBITS && header.sh_flags.get() & SHF_EXECINSTR != 0;
    plain || matches!(header.sh_type.get(), SHT_CUDA_UFT | SHT_CUDA_CAPMERC)
}

pub(super) fn place(section: &Section<'_>) -> DefectPlace {
    DefectPlace::Section {
        index: section.index,
        name: text(section.name),
    }
}

pub(super) fn check(cubin: &Cubin<'_>) -> Checked {
    first_and_names(cubin)?;
    let count = cubin.section_headers().len();
    for (index, header) in (0..).zip(cubin.section_headers()).skip(1) {
        // Names are looked at only where a rule or a defect needs them.
        if !has_string(cubin.section_names(), header.sh_name.get()) {
            cubin.section(index)?;
        }
        if let Some(reason) = bounds_problem(cubin, header) {
            return Err(defect(place(&cubin.section(index)?), reason));
        }
        if let Some(rule) = rule_of(header.sh_type.get()) {
            if let Some(reason) = entries_problem(header, &rule) {
                return Err(defect(place(&cubin.section(index)?), reason));
            }
            links(cubin, index, header, &rule, count)?;
        }
    }
    once(cubin)
}

fn first_and_names(cubin: &Cubin<'_>) -> Checked {
    let first = cubin.section(0)?;
    if first.header.sh_type.get() != SHT_NULL {
        let sh_type = first.header.sh_type.get();
        return Err(defect(
            place(&first),
            format!("sh_type is {sh_type:#x}, number 0 is the null section"),
        ));
    }
    let index = cubin.section_names_section();
    let names = cubin.section(index)?;
    if names.header.sh_type.get() != SHT_STRTAB {
        return Err(defect(place(&names), "e_shstrndx names it, but it is not a string table"));
    }
    terminated(&names)
}

/// A string table ends with a NUL.
pub(super) fn terminated(section: &Section<'_>) -> Checked {
    match section.data.last() {
        None | Some(0) => Ok(()),
        Some(_) => Err(defect(place(section), "the last string has no end")),
    }
}

fn bounds_problem(cubin: &Cubin<'_>, header: &Shdr) -> Option<String> {
    let align = header.sh_addralign.get();
    if align != 0 && (!align.is_power_of_two() || align > MAX_ALIGN) {
        return Some(format!("sh_addralign {align:#x} is not a power of two up to {MAX_ALIGN:#x}"));
    }
    let size = header.sh_size.get();
    if is_nobits_section(header) {
        return (size > MAX_MEMORY).then(|| format!("sh_size {size:#x} is more memory than any device has ({MAX_MEMORY:#x})"));
    }
    // The reader has checked that both ranges are in the file.
    let (start, end) = (header.sh_offset.get(), header.sh_offset.get().saturating_add(size));
    let table = cubin.header().e_shoff.get();
    let table_end = table.saturating_add(size_of_val(cubin.section_headers()) as u64);
    let overlaps = |from: u64, to: u64| size != 0 && start < to && from < end;
    let what = match () {
        () if overlaps(0, 64) => "the ELF header",
        () if overlaps(table, table_end) => "the section header table",
        () => return None,
    };
    Some(format!("sh_offset {start:#x}, sh_size {size:#x}: it overlaps {what}"))
}

fn entries_problem(header: &Shdr, rule: &Rule) -> Option<String> {
    if rule.entry == 0 {
        return None;
    }
    let (stated, size) = (header.sh_entsize.get(), header.sh_size.get());
    let optional = matches!(
        header.sh_type.get(),
        SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY | SHT_CUDA_RESOLVED_RELA | SHT_CUDA_MERC_SYMTAB | SHT_SYMTAB_SHNDX
    );
    if stated != rule.entry && !(optional && stated == 0) {
        return Some(format!("sh_entsize is {stated}, entries have {} bytes", rule.entry));
    }
    (!size.is_multiple_of(rule.entry)).then(|| format!("sh_size {size:#x} is not a multiple of {}", rule.entry))
}

fn links(cubin: &Cubin<'_>, index: u32, header: &Shdr, rule: &Rule, count: usize) -> Checked {
    let sh_type = header.sh_type.get();
    let of_function = || cubin.section(index).is_ok_and(|s| function_name(s.name, sh_type).is_some());
    // ptxas 12.0 to 12.3 does not set the flag.
    let names_section = header.sh_flags.get() & SHF_INFO_LINK != 0
        || is_relocation(sh_type)
        || matches!(sh_type, SHT_CUDA_INFO | SHT_CUDA_MERC_INFO) && header.sh_info.get() != 0
        || rule.info != Names::Anything && of_function();
    let fields = [
        ("sh_link", header.sh_link.get(), rule.link, true),
        ("sh_info", header.sh_info.get(), rule.info, names_section),
    ];
    for (field, value, names, matters) in fields {
        if !matters || names == Names::Anything {
            continue;
        }
        let reason = match cubin.section_headers().get(value as usize) {
            None => format!("{field} is {value}, there are {count} sections"),
            Some(named) if names.fits(named) && value != index => continue,
            Some(_) => {
                let named = cubin.section(value)?;
                format!("{field} is {value} ('{}'), which is not {}", text(named.name), names.expected())
            }
        };
        return Err(defect(place(&cubin.section(index)?), reason));
    }
    Ok(())
}

/// What a file has once.
fn once(cubin: &Cubin<'_>) -> Checked {
    // By view and type.
    let mut seen = [[false; SINGLE.len()]; 2];
    for (index, header) in (0u32..).zip(cubin.section_headers()) {
        let Some(which) = SINGLE.iter().position(|(sh_type, _)| *sh_type == header.sh_type.get()) else {
            continue;
        };
        let view = usize::from(header.sh_flags.get() & SHF_CUDA_MERCURY != 0);
        if std::mem::replace(&mut seen[view][which], true) {
            let (_, what) = SINGLE[which];
            return Err(defect(place(&cubin.section(index)?), format!("a second {what}")));
        }
    }
    if cubin.symtab_section().is_none() {
        return Err(defect(DefectPlace::File, "there is no symbol table"));
    }
    Ok(())
}
