//! How the vendor's tools lay out a file beyond what its section headers say.
//!
//! 1. Two writers exist ([`WriterKind`]). Files from sm_100 on come from the finalizer, compiled files for sm_90 too; all others from the linker's writer.
//! 2. The finalizer reserves room in the string tables before their sizes are known ([`names_reserve`], [`strings_reserve`]).
//! 3. A Mercury section whose contents the finalizer does not rewrite owns no bytes: it repeats the offset of its twin in the SASS view
//!    ([`shares_twin`]).
//!
//! All rules were observed on files of the tools; none reads an offset.

use crate::consts::*;
use crate::kind::{CAPSULE_PREFIX, SectionKind, classify, without_mercury};
use crate::names::file_flags;
use crate::notes::{TYPE_TKINFO, ToolInfo, notes};
use crate::raw::Ehdr;
use crate::read::Cubin;
use crate::write::WriterKind;
use std::borrow::Cow;

/// The writer that made a file.
pub fn writer_of(cubin: &Cubin<'_>) -> WriterKind {
    let header = cubin.header();
    // Without program headers the linker's writer states the size of their entries, the finalizer's writer does not.
    if header.e_type.get() == ET_REL && header.e_phnum.get() == 0 {
        return if header.e_phentsize.get() == 0 {
            WriterKind::Finalizer
        } else {
            WriterKind::Linker
        };
    }
    writer_for(cubin.header(), first_tool(cubin).unwrap_or_default())
}

/// The writer that `tool` uses for a file with this header.
pub fn writer_for(header: &Ehdr, tool: &[u8]) -> WriterKind {
    let [_, _, _, _, _, _, _, abi, ..] = header.ident;
    let sm = file_flags(header).sm;
    let finalizer = sm >= 100 || sm >= 90 && tool == b"ptxas";
    if abi == ELFOSABI_CUDA && finalizer {
        WriterKind::Finalizer
    } else {
        WriterKind::Linker
    }
}

/// Name of the tool that wrote a file: the first entry of its tool note.
pub fn first_tool<'d>(cubin: &Cubin<'d>) -> Option<&'d [u8]> {
    let section = cubin.section_by_name(b".note.nv.tkinfo")?;
    let note = notes(section.data).next()?.ok()?;
    if note.kind != TYPE_TKINFO {
        return None;
    }
    ToolInfo::read(note.description).ok().map(|t| t.tool)
}

/// Bytes that the finalizer keeps free after the section names.
///
/// With a Mercury view: room for two tables of extended section indices, whether they exist or not. Without one (compiled files for sm_90): room
/// for one such table and for the names of the Mercury code that was left out again. Sections are given as name and flags.
pub fn names_reserve<'a>(sections: impl Iterator<Item = (&'a [u8], u64)> + Clone) -> u64 {
    const INDICES: usize = b".symtab_shndx\0".len();
    const MERCURY_INDICES: usize = b".nv.merc.symtab_shndx\0".len();
    if sections.clone().any(|(_, flags)| flags & SHF_CUDA_MERCURY != 0) {
        return (INDICES + MERCURY_INDICES) as u64;
    }
    let code = sections.filter(|(_, flags)| flags & SHF_EXECINSTR != 0);
    let capsules = code.map(|(name, _)| CAPSULE_PREFIX.len() + name.len() + 1);
    (INDICES + capsules.sum::<usize>()) as u64
}

/// Whether the toolkit of an object makes room for names of code in [`names_reserve`]. CUDA 12.0 to 12.2 do not.
pub fn reserves_code_names(ident: &[u8; 16], e_version: u32) -> bool {
    let [_, _, _, _, _, _, _, abi, ..] = *ident;
    abi != ELFOSABI_CUDA_V7 || e_version >= 123
}

/// Bytes that the finalizer keeps free after the symbol names of a file with a Mercury view.
///
/// Some sections have another name in the Mercury view. Room is reserved for the Mercury name of each (without a NUL); what is used of it is the SASS
/// name of those that have a section symbol. `new_names` are the SASS names of section symbols that are called differently in the two symbol tables.
pub fn strings_reserve<'a>(names: impl Iterator<Item = &'a [u8]>, new_names: impl Iterator<Item = &'a [u8]>) -> u64 {
    let renamed = names.filter(|n| n.starts_with(b".nv.merc.")).map(without_mercury);
    let reserved: usize = renamed.filter(|n| sass_name(n).as_ref() != *n).map(<[u8]>::len).sum();
    let used: usize = new_names.map(|n| n.len() + 1).sum();
    reserved.saturating_sub(used) as u64
}

/// Names that differ between the views: Mercury, SASS.
static RENAMED: [(&[u8], &[u8]); 4] = [
    (b".nv.constant.user", b".nv.constant3"),
    (b".nv.constant.pic", b".nv.constant4"),
    (b".nv.constant.optimizer", b".nv.constant2"),
    (b".nv.constant.entry_image_header_indices", b".nv.constant0"),
];

/// Name of a section in the SASS view, from its name in the Mercury view without the Mercury prefix.
pub fn sass_name(plain: &[u8]) -> Cow<'_, [u8]> {
    let (rela, bank) = match plain.strip_prefix(b".rela") {
        Some(rest) => (&b".rela"[..], rest),
        None => (&b""[..], plain),
    };
    for (from, to) in RENAMED {
        if let Some(rest) = bank.strip_prefix(from)
            && (rest.is_empty() || rest.first() == Some(&b'.'))
        {
            return [rela, to, rest].concat().into();
        }
    }
    plain.into()
}

/// Name of a constant bank or of its relocations in the Mercury view, if it is another one. Parameter banks are not covered: the finalizer makes
/// them itself.
pub fn mercury_bank_name(sass: &[u8]) -> Option<Vec<u8>> {
    let prefix = [&b".rela"[..], b".rel"]
        .into_iter()
        .find(|p| sass.strip_prefix(*p).is_some_and(|r| r.starts_with(b".")));
    let prefix = prefix.unwrap_or_default();
    let bank = sass.strip_prefix(prefix)?;
    let mut found = RENAMED.iter().filter(|(_, to)| *to != b".nv.constant0");
    found.find_map(|(from, to)| {
        let rest = bank.strip_prefix(*to)?;
        (rest.is_empty() || rest.first() == Some(&b'.')).then(|| [prefix, from, rest].concat())
    })
}

/// What decides whether a Mercury section owns its bytes.
#[derive(Debug, Clone, Copy)]
pub struct TwinFacts<'a> {
    /// Name of the Mercury section.
    pub name: &'a [u8],
    /// Its type.
    pub sh_type: u32,
    /// Its size.
    pub size: u64,
    /// Size of its twin in the SASS view.
    pub twin_size: u64,
    /// Its bytes are those of its twin.
    pub same: bool,
    /// It has relocations that the finalizer resolves (`R_MERCURY_PROG_REL32`, in data `R_MERCURY_PROG_REL64`).
    pub finalizer_relocations: bool,
    /// It has absolute relocations (`R_MERCURY_ABS64`).
    pub absolute_relocations: bool,
    /// Debug sections of DWARF 5 share their bytes, too.
    pub later_debug: bool,
}

/// Relocation type that only the finalizer resolves: code offsets in debug information and jump tables.
pub const R_MERCURY_PROG_REL32: u32 = 0x1_0008;
/// The same with eight bytes: tables in data of functions inside of kernels (`-ewp`).
pub const R_MERCURY_PROG_REL64: u32 = 0x1_0007;
/// Relocation type of code addresses in line tables.
pub const R_MERCURY_ABS64: u32 = 0x1_0002;

/// Debug sections that the finalizer does not change.
const SHARED_DEBUG: [&[u8]; 8] = [
    b".debug_abbrev",
    b".debug_aranges",
    b".debug_loc",
    b".debug_macinfo",
    b".debug_pubnames",
    b".debug_pubtypes",
    b".debug_ranges",
    b".debug_str",
];
/// Those of DWARF 5. `.debug_macro` and `.debug_types` are copied.
const SHARED_LATER_DEBUG: [&[u8]; 6] = [
    b".debug_addr",
    b".debug_line_str",
    b".debug_loclists",
    b".debug_names",
    b".debug_rnglists",
    b".debug_str_offsets",
];

/// True when a Mercury section has the offset of its twin in the SASS view instead of bytes of its own.
///
/// Data and most debug sections are the same in both views, but for data with addresses of functions inside of kernels. The finalizer rewrites line
/// tables when they refer to code, and `.debug_info` when it refers to a line table. Lists of registers and of their types share their bytes when the
/// finalizer changed neither places nor order, as in a list without registers. Empty sections with an empty twin follow it.
pub fn shares_twin(facts: &TwinFacts<'_>) -> bool {
    if facts.size == 0 && facts.twin_size == 0 {
        return true;
    }
    let plain = without_mercury(facts.name);
    match classify(facts.name, facts.sh_type) {
        SectionKind::DebugPtx => true,
        SectionKind::GlobalInit => !facts.finalizer_relocations,
        SectionKind::NamedConstant(_) => matches!(plain, b".nv.constant.user" | b".nv.constant.pic") && !facts.finalizer_relocations,
        SectionKind::Debug => match plain {
            b".debug_frame" => false,
            b".debug_info" => !facts.finalizer_relocations,
            b".debug_line" => !facts.absolute_relocations,
            _ => SHARED_DEBUG.contains(&plain) || (facts.later_debug && SHARED_LATER_DEBUG.contains(&plain)),
        },
        SectionKind::DebugLineSass => !facts.absolute_relocations,
        SectionKind::DebugRegisters | SectionKind::DebugRegisterTypes => facts.same,
        SectionKind::OtherCuda => (SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT_LAST).contains(&facts.sh_type),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_both_views() {
        for (mercury, sass) in [
            (&b".nv.constant.user"[..], &b".nv.constant3"[..]),
            (b".rela.nv.constant.optimizer.k", b".rela.nv.constant2.k"),
            (b".nv.constant.userx", b".nv.constant.userx"),
            (b".text.k", b".text.k"),
        ] {
            assert_eq!(sass_name(mercury).as_ref(), sass);
        }
    }

    #[test]
    fn bytes_reserved_after_the_names() {
        let plain: [(&[u8], u64); 3] = [(b".shstrtab", 0), (b".text._Z3onePi", 6), (b".nv.info._Z3onePi", 0x40)];
        assert_eq!(names_reserve(plain.into_iter()), 0x28);
        assert_eq!(names_reserve(plain.into_iter().take(1)), 0xe);
        let stub: [(&[u8], u64); 2] = [(b".text.uf2", 6), (b".nv.uft.rel.uf2", 6)];
        assert_eq!(names_reserve(stub.into_iter()), 0x3e);
        let mercury: [(&[u8], u64); 2] = [(b".text.k", 6), (b".nv.merc.symtab", SHF_CUDA_MERCURY)];
        assert_eq!(names_reserve(mercury.into_iter()), 36);
        let renamed: [&[u8]; 3] = [b".nv.merc.nv.constant.user", b".nv.merc.rela.nv.constant.user", b".nv.merc.nv.info"];
        let new: [&[u8]; 1] = [b".nv.constant3"];
        assert_eq!(strings_reserve(renamed.into_iter(), new.into_iter()), 17 + 22 - 14);
    }

    #[test]
    fn who_owns_bytes() {
        let facts = TwinFacts {
            name: b".nv.merc.debug_info",
            sh_type: SHT_PROGBITS,
            size: 8,
            twin_size: 8,
            same: false,
            finalizer_relocations: true,
            absolute_relocations: true,
            later_debug: false,
        };
        assert!(!shares_twin(&facts));
        for (name, later) in [(&b".nv.merc.debug_line_str"[..], true), (b".nv.merc.debug_macro", false)] {
            let dwarf5 = TwinFacts { name, ..facts };
            assert!(!shares_twin(&dwarf5));
            assert_eq!(
                shares_twin(&TwinFacts {
                    later_debug: true,
                    ..dwarf5
                }),
                later
            );
        }
        assert!(shares_twin(&TwinFacts {
            finalizer_relocations: false,
            ..facts
        }));
        let line = TwinFacts {
            name: b".nv.merc.debug_line",
            ..facts
        };
        assert!(!shares_twin(&line));
        assert!(shares_twin(&TwinFacts {
            absolute_relocations: false,
            ..line
        }));
        let frame = TwinFacts {
            name: b".nv.merc.debug_frame",
            absolute_relocations: false,
            finalizer_relocations: false,
            ..facts
        };
        assert!(!shares_twin(&frame));
        assert!(shares_twin(&TwinFacts {
            size: 0,
            twin_size: 0,
            ..frame
        }));
        for name in [
            &b".nv.merc.nv.constant.user"[..],
            b".nv.merc.debug_abbrev",
            b".nv.merc.nv_debug_ptx_txt.1",
        ] {
            let plain = TwinFacts {
                name,
                finalizer_relocations: false,
                ..facts
            };
            assert!(shares_twin(&plain));
            let is_data = name.ends_with(b"user");
            assert_eq!(
                shares_twin(&TwinFacts {
                    finalizer_relocations: true,
                    ..plain
                }),
                !is_data
            );
        }
        let types = TwinFacts {
            name: b".nv.merc.nv_debug_info_reg_type",
            ..facts
        };
        assert!(!shares_twin(&types));
        assert!(shares_twin(&TwinFacts { same: true, ..types }));
        for name in [
            &b".nv.merc.nv.constant.optimizer.k"[..],
            b".nv.merc.nv_debug_info_reg_sass",
            b".nv.merc.nv.info",
        ] {
            let sh_type = if name.ends_with(b"info") { SHT_CUDA_MERC_INFO } else { 1 };
            assert!(!shares_twin(&TwinFacts { name, sh_type, ..facts }));
        }
    }
}
