//! Names of the format's numbers, for showing files.
//!
//! Names of standard ELF numbers are those of the ELF specification. CUDA names follow the vendor's tools where those print one.

use crate::consts::*;
use crate::raw::Ehdr;
use std::fmt::Write as _;

/// Finds the name of a number in a table.
fn lookup(table: &[(u32, &'static str)], number: u32) -> Option<&'static str> {
    table.iter().find(|(n, _)| *n == number).map(|(_, name)| *name)
}

static SECTION_TYPES: [(u32, &str); 41] = [
    (SHT_NULL, "NULL"),
    (SHT_PROGBITS, "PROGBITS"),
    (SHT_SYMTAB, "SYMTAB"),
    (SHT_STRTAB, "STRTAB"),
    (SHT_RELA, "RELA"),
    (5, "HASH"),
    (6, "DYNAMIC"),
    (SHT_NOTE, "NOTE"),
    (SHT_NOBITS, "NOBITS"),
    (SHT_REL, "REL"),
    (SHT_SYMTAB_SHNDX, "SYMTAB_SHNDX"),
    (SHT_CUDA_INFO, "CUDA_INFO"),
    (SHT_CUDA_CALLGRAPH, "CUDA_CALLGRAPH"),
    (SHT_CUDA_PROTOTYPE, "CUDA_PROTOTYPE"),
    (SHT_CUDA_RESOLVED_RELA, "CUDA_RESOLVED_RELA"),
    (SHT_CUDA_METADATA, "CUDA_METADATA"),
    (0x7000_0006, "CUDA_CONSTANT"),
    (SHT_CUDA_GLOBAL, "CUDA_GLOBAL"),
    (SHT_CUDA_GLOBAL_INIT, "CUDA_GLOBAL_INITIALIZED"),
    (SHT_CUDA_LOCAL, "CUDA_LOCAL"),
    (SHT_CUDA_SHARED, "CUDA_SHARED"),
    (SHT_CUDA_RELOCINFO, "CUDA_RELOCINFO"),
    (SHT_CUDA_UFT, "CUDA_UFT"),
    (SHT_CUDA_UIDX, "CUDA_UIDX"),
    (SHT_CUDA_UFT_ENTRY, "CUDA_UFT_ENTRY"),
    (SHT_CUDA_UDT, "CUDA_UDT"),
    (SHT_CUDA_UDT_ENTRY, "CUDA_UDT_ENTRY"),
    (SHT_CUDA_SHARED_RESERVED, "CUDA_SHARED_RESERVED"),
    (SHT_CUDA_CAPMERC, "CUDA_CAPMERC"),
    (SHT_CUDA_CONSTANT_IMAGE_HEADERS, "CUDA_CONSTANT_IMAGE_HEADERS"),
    (SHT_CUDA_CONSTANT_USER, "CUDA_CONSTANT_USER"),
    (SHT_CUDA_CONSTANT_PIC, "CUDA_CONSTANT_PIC"),
    (SHT_CUDA_MERC_RELA, "CUDA_MERC_RELA"),
    (SHT_CUDA_MERC_INFO, "CUDA_MERC_INFO"),
    (SHT_CUDA_MERC_CALLGRAPH, "CUDA_MERC_CALLGRAPH"),
    (SHT_CUDA_MERC_PROTOTYPE, "CUDA_MERC_PROTOTYPE"),
    (SHT_CUDA_CONSTANT_OPTIMIZER, "CUDA_CONSTANT_OPTIMIZER"),
    (SHT_CUDA_MERC_SYMTAB, "CUDA_MERC_SYMTAB"),
    (SHT_CUDA_COMPAT, "CUDA_COMPAT"),
    (SHT_CUDA_HOST, "CUDA_HOST"),
    (SHT_CUDA_MERC_RESOLVED_RELA, "CUDA_MERC_RESOLVED_RELA"),
];

/// Name of a section type; `0x...` for unknown ones, `CUDA_CONSTANTn` for constant banks.
pub fn section_type(sh_type: u32) -> String {
    if let Some(name) = lookup(&SECTION_TYPES, sh_type) {
        return name.into();
    }
    match sh_type {
        SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT17 => format!("CUDA_CONSTANT{}", sh_type - SHT_CUDA_CONSTANT0),
        _ => format!("{sh_type:#x}"),
    }
}

static SECTION_FLAGS: [(u64, &str); 14] = [
    (SHF_WRITE, "WRITE"),
    (SHF_ALLOC, "ALLOC"),
    (SHF_EXECINSTR, "EXEC"),
    (0x10, "MERGE"),
    (0x20, "STRINGS"),
    (SHF_INFO_LINK, "INFO_LINK"),
    (0x80, "LINK_ORDER"),
    (0x100, "OS_NONCONFORMING"),
    (0x200, "GROUP"),
    (0x400, "TLS"),
    (0x800, "COMPRESSED"),
    (SHF_CUDA_NOTE_CUINFO, "CUINFO"),
    (SHF_CUDA_NOTE_TKINFO, "TKINFO"),
    (SHF_CUDA_MERCURY, "MERCURY"),
];

/// Names of the section flags joined by `|`. For code of CUDA 12 files the barrier count is shown as `BARRIERS(n)`.
pub fn section_flags(sh_flags: u64, sh_type: u32) -> String {
    let mut left = sh_flags;
    let mut out = String::new();
    let code = sh_flags & SHF_EXECINSTR != 0 && sh_type != SHT_NOTE;
    if code && left & SHF_CUDA_BARRIERS != 0 {
        join(&mut out, &format!("BARRIERS({})", (left & SHF_CUDA_BARRIERS) >> 20));
        left &= !SHF_CUDA_BARRIERS;
    }
    finish_flags(out, left, &SECTION_FLAGS)
}

fn join(out: &mut String, name: &str) {
    if !out.is_empty() {
        out.push('|');
    }
    out.push_str(name);
}

/// Appends the names of the bits of `left`, then what is left as a number.
fn finish_flags(mut out: String, mut left: u64, table: &[(u64, &str)]) -> String {
    for (bit, name) in table {
        if left & bit != 0 {
            join(&mut out, name);
            left &= !bit;
        }
    }
    if left != 0 {
        join(&mut out, &format!("{left:#x}"));
    }
    out
}

/// Name of a symbol's binding.
pub fn symbol_binding(bind: u8) -> String {
    match bind {
        STB_LOCAL => "LOCAL".into(),
        STB_GLOBAL => "GLOBAL".into(),
        STB_WEAK => "WEAK".into(),
        other => other.to_string(),
    }
}

/// Name of a symbol's type.
pub fn symbol_type(kind: u8) -> String {
    match kind {
        0 => "NOTYPE",
        STT_OBJECT => "OBJECT",
        STT_FUNC => "FUNC",
        STT_SECTION => "SECTION",
        4 => "FILE",
        5 => "COMMON",
        6 => "TLS",
        STT_CUDA_TEXTURE => "CUDA_TEXTURE",
        STT_CUDA_SAMPLER => "CUDA_SAMPLER",
        STT_CUDA_SURFACE => "CUDA_SURFACE",
        STT_CUDA_OBJECT => "CUDA_OBJECT",
        other => return other.to_string(),
    }
    .into()
}

/// Names of the bits of `st_other` joined by `|`, empty for 0.
///
/// Low two bits: visibility, where internal marks symbols that only the tools use. 4: managed. 0x10: kernel. Top three bits: memory space.
pub fn symbol_other(other: u8) -> String {
    let mut out = String::new();
    match other & 3 {
        1 => join(&mut out, "INTERNAL"),
        2 => join(&mut out, "HIDDEN"),
        3 => join(&mut out, "PROTECTED"),
        _ => {}
    }
    for (bit, name) in [(STO_CUDA_MANAGED, "MANAGED"), (0x08, "0x8"), (STO_CUDA_ENTRY, "ENTRY")] {
        if other & bit != 0 {
            join(&mut out, name);
        }
    }
    match other & STO_CUDA_SPACE {
        0 => {}
        STO_CUDA_GLOBAL => join(&mut out, "GLOBAL"),
        STO_CUDA_SHARED => join(&mut out, "SHARED"),
        0x60 => join(&mut out, "LOCAL"),
        STO_CUDA_CONSTANT => join(&mut out, "CONSTANT"),
        0xa0 => join(&mut out, "RESERVED_SHARED"),
        space => join(&mut out, &format!("{space:#x}")),
    }
    out
}

/// Name of a reserved section index.
pub fn reserved_section(index: u16) -> Option<&'static str> {
    Some(match index {
        0 => "UND",
        SHN_ABS => "ABS",
        SHN_COMMON => "COMMON",
        SHN_XINDEX => "XINDEX",
        _ => return None,
    })
}

/// Name of a file type.
pub fn file_type(e_type: u16) -> Option<&'static str> {
    Some(match e_type {
        0 => "NONE",
        ET_REL => "REL",
        ET_EXEC => "EXEC",
        3 => "DYN",
        4 => "CORE",
        0xff00 => "CUDA_EWP",
        _ => return None,
    })
}

/// Name of a segment type.
pub fn segment_type(p_type: u32) -> Option<&'static str> {
    Some(match p_type {
        0 => "NULL",
        PT_LOAD => "LOAD",
        4 => "NOTE",
        PT_PHDR => "PHDR",
        _ => return None,
    })
}

/// What `e_flags` says, in the form of the file's OS ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFlags {
    /// Architecture number, 90 for sm_90.
    pub sm: u8,
    /// Suffix `a`: known only in CUDA 12 files, where a bit says it.
    pub accelerated: Option<bool>,
    /// Virtual architecture, in CUDA 12 files.
    pub virtual_sm: Option<u8>,
    /// 64-bit addresses, in CUDA 12 files.
    pub wide: Option<bool>,
    /// Section index of `.note.nv.cuinfo`, in CUDA 13 files; 255 when it does not fit.
    pub note: Option<u8>,
    /// The file has a Mercury view.
    pub mercury: bool,
    /// All bits.
    pub bits: u32,
}

/// Takes `e_flags` apart.
pub fn file_flags(header: &Ehdr) -> FileFlags {
    let [.., abi, _, _, _, _, _, _, _, _] = header.ident;
    let bits = header.e_flags.get();
    if abi == ELFOSABI_CUDA_V7 {
        return FileFlags {
            sm: bits as u8,
            accelerated: Some(bits & 0x800 != 0),
            virtual_sm: Some((bits >> 16) as u8),
            wide: Some(bits & 0x400 != 0),
            note: None,
            mercury: bits & 0x4000 != 0,
            bits,
        };
    }
    FileFlags {
        sm: (bits >> 8) as u8,
        accelerated: None,
        virtual_sm: None,
        wide: None,
        note: Some((bits >> 24) as u8),
        mercury: bits & 2 != 0,
        bits,
    }
}

/// `e_flags` of a CUDA 13 file for architecture `sm` with its `.note.nv.cuinfo` at section `note`.
pub fn make_file_flags(sm: u8, note: u32) -> u32 {
    // Architectures from 100 on carry a Mercury view.
    let low = if sm >= 100 { 2 } else { 4 };
    note.min(255) << 24 | u32::from(sm) << 8 | low
}

/// `e_flags` of a CUDA 12 file with 64-bit addresses for architecture `sm`, compiled from PTX for `virtual_sm`. Mercury views are not covered.
pub fn make_file_flags_v7(sm: u8, virtual_sm: u8, accelerated: bool) -> u32 {
    let suffix = if accelerated { 0x800 } else { 0 };
    u32::from(virtual_sm) << 16 | 0x500 | suffix | u32::from(sm)
}

impl FileFlags {
    /// The architecture's name, `sm_90` or `sm_90a`.
    pub fn arch_name(&self) -> String {
        let suffix = if self.accelerated == Some(true) { "a" } else { "" };
        format!("sm_{}{suffix}", self.sm)
    }
    /// All that the flags say, in words.
    pub fn describe(&self) -> String {
        let mut out = self.arch_name();
        // Writing to a string cannot fail.
        let _ = match (self.virtual_sm, self.note) {
            (Some(v), _) => write!(out, ", compute_{v}"),
            (_, Some(255)) => write!(out, ", cuinfo by name"),
            (_, Some(n)) => write!(out, ", cuinfo in section {n}"),
            _ => Ok(()),
        };
        if self.wide == Some(false) {
            out.push_str(", 32-bit addresses");
        }
        if self.mercury {
            out.push_str(", Mercury");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    fn header(abi: u8, flags: u32) -> Ehdr {
        let mut header = Ehdr::new_zeroed();
        header.ident[7] = abi;
        header.e_flags = flags.into();
        header
    }

    #[test]
    fn file_flags_of_both_toolkits() {
        let new = |bits| file_flags(&header(ELFOSABI_CUDA, bits)).describe();
        assert_eq!(new(0x0600_5a04), "sm_90, cuinfo in section 6");
        assert_eq!(new(0xff00_6402), "sm_100, cuinfo by name, Mercury");
        let old = |bits| file_flags(&header(ELFOSABI_CUDA_V7, bits)).describe();
        assert_eq!(old(0x005a_055a), "sm_90, compute_90");
        assert_eq!(old(0x005a_0d5a), "sm_90a, compute_90");
        assert_eq!(old(0x004b_014b), "sm_75, compute_75, 32-bit addresses");
        assert_eq!(make_file_flags(90, 6), 0x0600_5a04);
        assert_eq!(make_file_flags(121, 300), 0xff00_7902);
        assert_eq!(make_file_flags_v7(80, 75, false), 0x004b_0550);
        assert_eq!(make_file_flags_v7(90, 90, true), 0x005a_0d5a);
    }

    #[test]
    fn flags_and_types_have_names() {
        assert_eq!(section_flags(6, SHT_PROGBITS), "ALLOC|EXEC");
        assert_eq!(section_flags(0x20_0006, SHT_PROGBITS), "BARRIERS(2)|ALLOC|EXEC");
        assert_eq!(section_flags(0x100_0040, SHT_NOTE), "INFO_LINK|CUINFO");
        assert_eq!(section_flags(0x1000_0042, 0x7000_0084), "ALLOC|INFO_LINK|MERCURY");
        assert_eq!(section_flags(0x1_0000_0000, 1), "0x100000000");
        assert_eq!(section_type(0x7000_0066), "CUDA_CONSTANT2");
        assert_eq!(section_type(0x7000_0099), "0x70000099");
        assert_eq!(symbol_other(0x24), "MANAGED|GLOBAL");
        assert_eq!(symbol_other(0x10), "ENTRY");
        assert_eq!(symbol_other(0x81), "INTERNAL|CONSTANT");
        assert_eq!(symbol_other(0), "");
        assert_eq!(symbol_type(13), "CUDA_OBJECT");
        assert_eq!(symbol_binding(2), "WEAK");
    }
}
