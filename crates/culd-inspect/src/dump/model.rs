//! One device file with the requested parts.

use crate::view::{Home, Sect, View};
use cubin::consts::SHT_PROGBITS;
use cubin::kind;

/// Parts of the file to show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these sections (`*` matches any text).
    pub sections: Vec<String>,
    /// Only what belongs to these functions.
    pub kernels: Vec<String>,
    /// Show C++ names.
    pub demangle: bool,
    /// Show the bytes of sections that have no decoded form.
    pub bytes: bool,
}

/// A device file and a selection.
#[derive(Debug, Clone, Copy)]
pub struct Model<'v, 'd> {
    /// The file.
    pub view: &'v View<'d>,
    /// Parts of the file to show.
    pub selection: &'v Selection,
}

impl<'v, 'd> Model<'v, 'd> {
    /// Pairs a file with a selection.
    pub fn new(view: &'v View<'d>, selection: &'v Selection) -> Self {
        Model { view, selection }
    }

    /// True when everything is shown.
    pub fn shows_all(&self) -> bool {
        self.selection.sections.is_empty() && self.selection.kernels.is_empty()
    }

    /// The C++ name, when requested and when there is one.
    pub fn demangled(&self, name: &[u8]) -> Option<String> {
        if self.selection.demangle {
            culd_demangle::readable(name)
        } else {
            None
        }
    }

    /// True when a section is shown.
    pub fn shows_section(&self, section: &Sect<'_>) -> bool {
        self.shows_all() || self.named(section.name) || self.function_of(section).is_some_and(|f| self.shows_function(f))
    }

    /// True when the relocations in a section are shown: with the section itself or with the section they patch.
    pub fn shows_relocs(&self, section: &Sect<'_>) -> bool {
        self.shows_section(section) || self.view.section(section.header.sh_info.get()).is_some_and(|t| self.named(t.name))
    }

    /// True when a symbol is shown.
    pub fn shows_symbol(&self, name: &[u8], home: Home) -> bool {
        if self.shows_all() || self.shows_function(name) {
            return true;
        }
        let Home::Section(s) = home else { return false };
        self.view.section(s).is_some_and(|s| self.shows_section(s))
    }

    /// True when a function is picked by `--kernel`, under its mangled or its C++ name.
    pub fn shows_function(&self, name: &[u8]) -> bool {
        if self.selection.kernels.is_empty() {
            return false;
        }
        let direct = self.selection.kernels.iter().any(|k| matches(k.as_bytes(), name));
        direct
            || [culd_demangle::demangle(name), culd_demangle::readable(name)]
                .into_iter()
                .flatten()
                .any(|d| {
                    let short = d.split('(').next().unwrap_or(&d);
                    self.selection.kernels.iter().any(|k| k == &d || k == short)
                })
    }

    fn named(&self, name: &[u8]) -> bool {
        self.selection.sections.iter().any(|p| matches(p.as_bytes(), name))
    }

    /// The function whose section this is, by its name.
    pub fn function_of(&self, section: &Sect<'d>) -> Option<&'d [u8]> {
        function_of(section.name)
    }
}

/// The function in a section name, also in the name of its relocations: `k` in `.rela.text.k`.
pub(crate) fn function_of(name: &[u8]) -> Option<&[u8]> {
    let mut plain = kind::without_mercury(name);
    for prefix in [&b".nv.resolvedrela"[..], b".rela", b".rel"] {
        if let Some(rest) = plain.strip_prefix(prefix) {
            plain = rest;
            break;
        }
    }
    // The name decides alone: relocations have a type of their own.
    kind::function_name(plain, SHT_PROGBITS)
}

/// Matches a name against a pattern in which `*` matches any text.
pub(crate) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|&b| b == b'*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&[u8]> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        if part.is_empty() {
            continue;
        }
        let Some(at) = rest.windows(part.len()).position(|w| w == *part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_sections() {
        let cases: &[(&str, Option<&str>)] = &[
            (".text.k", Some("k")),
            (".rela.text.k", Some("k")),
            (".nv.resolvedrela.text.k", Some("k")),
            (".nv.merc.rela.text.k", Some("k")),
            (".nv.merc.nv.info.k", Some("k")),
            (".nv.capmerc.text.k", Some("k")),
            (".nv.constant0.k", Some("k")),
            (".nv.constant17.k", Some("k")),
            (".rel.nv.constant0.k", Some("k")),
            (".nv.constant3", None),
            (".nv.shared.k", Some("k")),
            (".nv.shared.reserved.0", None),
            (".nv.info", None),
            (".debug_frame", None),
        ];
        for (name, function) in cases {
            assert_eq!(function_of(name.as_bytes()), function.map(str::as_bytes), "{name}");
        }
    }

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            (".text.k", ".text.k", true),
            (".text.k", ".text.k2", false),
            (".text.*", ".text.k2", true),
            ("*.k", ".text.k", true),
            (".*ext*k*", ".text.k2", true),
            ("*a*b", "ab", true),
            ("*ab", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
