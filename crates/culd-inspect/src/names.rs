//! Names for the numbers of headers, sections and symbols, as tables.

use std::borrow::Cow;

/// Section types; the names of the vendor's dumper where it has one.
const SECTION_TYPES: &[(u32, &str)] = &[
    (0, "NULL"),
    (1, "PROGBITS"),
    (2, "SYMTAB"),
    (3, "STRTAB"),
    (4, "RELA"),
    (7, "NOTE"),
    (8, "NOBITS"),
    (9, "REL"),
    (18, "SYMTAB_SHNDX"),
    (0x7000_0000, "CUDA_INFO"),
    (0x7000_0001, "CUDA_CALLGRAPH"),
    (0x7000_0002, "CUDA_PROTOTYPE"),
    (0x7000_0003, "CUDA_RESOLVED_RELA"),
    (0x7000_0004, "CUDA_METADATA"),
    (0x7000_0006, "CUDA_CONSTANT"),
    (0x7000_0007, "CUDA_GLOBAL"),
    (0x7000_0008, "CUDA_GLOBAL_INIT"),
    (0x7000_0009, "CUDA_LOCAL"),
    (0x7000_000a, "CUDA_SHARED"),
    (0x7000_000b, "CUDA_RELOCINFO"),
    (0x7000_000e, "CUDA_UFT"),
    (0x7000_0010, "CUDA_UIDX"),
    (0x7000_0011, "CUDA_UFT_ENTRY"),
    (0x7000_0012, "CUDA_UDT"),
    (0x7000_0014, "CUDA_UDT_ENTRY"),
    (0x7000_0015, "CUDA_SHARED_RESERVED"),
    (0x7000_0016, "CUDA_CAPMERC"),
    (0x7000_0064, "CUDA_CONSTANT_B0"),
    (0x7000_0065, "CUDA_CONSTANT_B1"),
    (0x7000_0066, "CUDA_CONSTANT_B2"),
    (0x7000_0067, "CUDA_CONSTANT_B3"),
    (0x7000_0068, "CUDA_CONSTANT_B4"),
    (0x7000_0069, "CUDA_CONSTANT_B5"),
    (0x7000_006a, "CUDA_CONSTANT_B6"),
    (0x7000_006b, "CUDA_CONSTANT_B7"),
    (0x7000_006c, "CUDA_CONSTANT_B8"),
    (0x7000_006d, "CUDA_CONSTANT_B9"),
    (0x7000_006e, "CUDA_CONSTANT_B10"),
    (0x7000_006f, "CUDA_CONSTANT_B11"),
    (0x7000_0070, "CUDA_CONSTANT_B12"),
    (0x7000_0071, "CUDA_CONSTANT_B13"),
    (0x7000_0072, "CUDA_CONSTANT_B14"),
    (0x7000_0073, "CUDA_CONSTANT_B15"),
    (0x7000_0074, "CUDA_CONSTANT_B16"),
    (0x7000_0075, "CUDA_CONSTANT_B17"),
    (0x7000_007c, "CUDA_CONSTANT_USER"),
    (0x7000_0082, "MERC_RELA"),
    (0x7000_0083, "MERC_INFO"),
    (0x7000_0084, "CUDA_CONSTANT_OPTIMIZER"),
    (0x7000_0085, "MERC_SYMTAB"),
    (0x7000_0086, "CUDA_COMPAT_INFO"),
    (0x7000_0087, "CUDA_HOST"),
];

/// Section flags with the letter shown in tables. The two notes carry a flag of their own.
const SECTION_FLAGS: &[(u64, char, &str)] = &[
    (0x1, 'W', "write"),
    (0x2, 'A', "alloc"),
    (0x4, 'X', "exec"),
    (0x40, 'I', "info_link"),
    (0x100_0000, 'c', "cuinfo"),
    (0x200_0000, 't', "tkinfo"),
    (0x1000_0000, 'm', "mercury"),
];

const SEGMENT_TYPES: &[(u32, &str)] = &[(0, "NULL"), (1, "LOAD"), (4, "NOTE"), (6, "PHDR")];
const BINDINGS: &[(u32, &str)] = &[(0, "LOCAL"), (1, "GLOBAL"), (2, "WEAK")];
const SYMBOL_TYPES: &[(u32, &str)] = &[
    (0, "NOTYPE"),
    (1, "OBJECT"),
    (2, "FUNC"),
    (3, "SECTION"),
    (4, "FILE"),
    (5, "COMMON"),
    (10, "TEXTURE"),
    (11, "SAMPLER"),
    (12, "SURFACE"),
    (13, "CUDA_OBJECT"),
];
const FILE_TYPES: &[(u32, &str)] = &[
    (0, "none"),
    (1, "relocatable"),
    (2, "executable"),
    (0xff00, "extensible whole program"),
];

/// Memory space of a symbol, from the upper three bits of `st_other`.
const SPACES: &[(u32, &str)] = &[(1, "global"), (2, "shared"), (4, "constant"), (5, "reserved shared")];

fn lookup(table: &'static [(u32, &'static str)], value: u32) -> Option<&'static str> {
    table
        .binary_search_by_key(&value, |e| e.0)
        .ok()
        .and_then(|i| table.get(i))
        .map(|e| e.1)
}

fn named(table: &'static [(u32, &'static str)], value: u32) -> Cow<'static, str> {
    lookup(table, value).map_or_else(|| Cow::Owned(format!("{value:#x}")), Cow::Borrowed)
}

/// Name of a section type, or its number.
pub(crate) fn section_type(value: u32) -> Cow<'static, str> {
    named(SECTION_TYPES, value)
}

/// Name of a segment type, or its number.
pub(crate) fn segment_type(value: u32) -> Cow<'static, str> {
    named(SEGMENT_TYPES, value)
}

/// Name of a symbol binding, or its number.
pub(crate) fn binding(value: u8) -> Cow<'static, str> {
    named(BINDINGS, value.into())
}

/// Name of a symbol type, or its number.
pub(crate) fn symbol_type(value: u8) -> Cow<'static, str> {
    named(SYMBOL_TYPES, value.into())
}

/// Name of a file type, or its number.
pub(crate) fn file_type(value: u16) -> Cow<'static, str> {
    named(FILE_TYPES, value.into())
}

/// Names of the bits of `st_other`.
pub(crate) fn other_bits(other: u8) -> Vec<Cow<'static, str>> {
    let mut names = Vec::new();
    if other & 0x10 != 0 {
        names.push("entry".into());
    }
    if other & 0x04 != 0 {
        names.push("managed".into());
    }
    if other & 0x03 != 0 {
        names.push(match other & 3 {
            1 => "internal".into(),
            2 => "hidden".into(),
            _ => "protected".into(),
        });
    }
    if other >> 5 != 0 {
        names.push(named(SPACES, (other >> 5).into()));
    }
    if other & 0x08 != 0 {
        names.push("0x8".into());
    }
    names
}

/// Names of section flags; unknown bits as one number.
pub(crate) fn section_flags(flags: u64) -> Vec<Cow<'static, str>> {
    let mut rest = flags;
    let mut names = Vec::new();
    for &(bit, _, name) in SECTION_FLAGS {
        if flags & bit != 0 {
            rest &= !bit;
            names.push(name.into());
        }
    }
    if rest != 0 {
        names.push(format!("{rest:#x}").into());
    }
    names
}

/// Section flags as letters; unknown bits as a number.
pub(crate) fn flag_letters(flags: u64) -> String {
    let mut rest = flags;
    let mut letters = String::new();
    for &(bit, letter, _) in SECTION_FLAGS {
        if flags & bit != 0 {
            rest &= !bit;
            letters.push(letter);
        }
    }
    if rest != 0 {
        letters.push_str(&format!("+{rest:#x}"));
    }
    if letters.is_empty() {
        letters.push('-');
    }
    letters
}

/// The legend for [`flag_letters`].
pub(crate) fn flag_legend() -> String {
    let parts: Vec<String> = SECTION_FLAGS.iter().map(|(_, l, n)| format!("{l} {n}")).collect();
    parts.join(", ")
}

/// Program header permissions as letters.
pub(crate) fn segment_flags(flags: u32) -> String {
    let mut letters = String::new();
    for (bit, letter) in [(4, 'R'), (2, 'W'), (1, 'X')] {
        letters.push(if flags & bit != 0 { letter } else { '-' });
    }
    if flags & !7 != 0 {
        letters.push_str(&format!("+{:#x}", flags & !7));
    }
    letters
}

/// A name as text: bytes that a terminal should not see are escaped.
pub(crate) fn text(name: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(name) {
        Ok(s) if !s.chars().any(char::is_control) => Cow::Borrowed(s),
        _ => Cow::Owned(name.escape_ascii().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        for table in [SECTION_TYPES, SEGMENT_TYPES, BINDINGS, SYMBOL_TYPES, FILE_TYPES, SPACES] {
            assert!(table.is_sorted_by(|a, b| a.0 < b.0));
        }
    }

    #[test]
    fn unknown_numbers_are_shown() {
        assert_eq!(section_type(0x7000_0099), "0x70000099");
        assert_eq!(flag_letters(0x1000_0043), "WAIm");
        assert_eq!(flag_letters(0x8000_0000), "+0x80000000");
        assert_eq!(other_bits(0x95), ["entry", "managed", "internal", "constant"]);
        assert_eq!(text(b"a\x1b[31m"), "a\\x1b[31m");
    }
}
