//! Numbers and names as this crate shows them; the names themselves come from the `cubin` crate.

use cubin::consts::*;
use cubin::names;
use std::borrow::Cow;

/// Section flags as letters, and what the letters mean.
const FLAG_LETTERS: &[(u64, char, &str)] = &[
    (SHF_WRITE, 'W', "write"),
    (SHF_ALLOC, 'A', "alloc"),
    (SHF_EXECINSTR, 'X', "exec"),
    (SHF_INFO_LINK, 'I', "info link"),
    (SHF_CUDA_NOTE_CUINFO, 'c', "cuinfo"),
    (SHF_CUDA_NOTE_TKINFO, 't', "tkinfo"),
    (SHF_CUDA_MERCURY, 'm', "mercury"),
];

/// Name of a section type, or its number.
pub(crate) fn section_type(value: u32) -> String {
    names::section_type(value)
}

/// Name of a segment type, or its number.
pub(crate) fn segment_type(value: u32) -> Cow<'static, str> {
    names::segment_type(value).map_or_else(|| Cow::Owned(format!("{value:#x}")), Cow::Borrowed)
}

/// What a file is, in a word.
pub(crate) fn file_type(value: u16) -> Cow<'static, str> {
    match value {
        ET_REL => "relocatable".into(),
        ET_EXEC => "executable".into(),
        _ => names::file_type(value).map_or_else(|| Cow::Owned(format!("{value:#x}")), Cow::Borrowed),
    }
}

/// Names of the bits of `st_other`.
pub(crate) fn other_bits(other: u8) -> Vec<String> {
    list(&names::symbol_other(other))
}

/// Names of section flags; unknown bits as one number.
pub(crate) fn section_flags(flags: u64, kind: u32) -> Vec<String> {
    list(&names::section_flags(flags, kind))
}

/// The parts of a text joined by `|`, in small letters.
fn list(joined: &str) -> Vec<String> {
    joined.split('|').filter(|p| !p.is_empty()).map(str::to_lowercase).collect()
}

/// Section flags as letters; unknown bits as a number.
pub(crate) fn flag_letters(flags: u64) -> String {
    let mut rest = flags;
    let mut letters = String::new();
    for &(bit, letter, _) in FLAG_LETTERS {
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
    let parts: Vec<String> = FLAG_LETTERS.iter().map(|(_, l, n)| format!("{l} {n}")).collect();
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
    // Nearly all names are plain ASCII, which is cheap to see.
    match std::str::from_utf8(name) {
        Ok(s) if name.iter().all(|b| (0x20..0x7f).contains(b)) || !s.chars().any(char::is_control) => Cow::Borrowed(s),
        _ => Cow::Owned(name.escape_ascii().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_are_shown() {
        assert_eq!(section_type(0x7000_0099), "0x70000099");
        assert_eq!(flag_letters(0x1000_0043), "WAIm");
        assert_eq!(flag_letters(0x8000_0000), "+0x80000000");
        assert_eq!(other_bits(0x95), ["internal", "managed", "entry", "constant"]);
        assert_eq!(text(b"a\x1b[31m"), "a\\x1b[31m");
    }
}
