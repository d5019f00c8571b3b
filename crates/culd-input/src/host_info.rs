//! Which kernels host code refers to.
//!
//! 1. Every relocatable ELF file that is looked at must say so (`.nvHRKE`); one without, or a device object, fatbin or PTX file
//!    outside the device runtime library, means that nothing is known and all kernels stay.
//! 2. A list of one byte is empty. Others are NUL-terminated patterns; a tail without NUL counts, and so do empty patterns.
//! 3. The lists of the device runtime are taken too, but when no other input has any pattern, all kernels stay.

/// Patterns of the kernels to keep: `*` is a wildcard, a match is anchored at both ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct KernelPatterns {
    /// For kernels with external linkage.
    pub external: Vec<Vec<u8>>,
    /// For static kernels.
    pub internal: Vec<Vec<u8>>,
}

/// What was learnt so far.
#[derive(Debug, Default, Clone)]
pub struct HostInfo {
    patterns: KernelPatterns,
    /// Patterns of inputs other than the device runtime.
    counted: usize,
    unknown: bool,
}

impl HostInfo {
    /// An input that does not tell.
    pub fn unknown(&mut self) {
        self.unknown = true;
    }

    /// The lists of a host object.
    pub fn add(&mut self, external: &[u8], internal: &[u8], is_device_runtime: bool) {
        let before = self.patterns.external.len() + self.patterns.internal.len();
        self.patterns.external.extend(patterns(external));
        self.patterns.internal.extend(patterns(internal));
        if !is_device_runtime {
            self.counted += self.patterns.external.len() + self.patterns.internal.len() - before;
        }
    }

    /// The patterns; `None` keeps all kernels.
    pub fn finish(self) -> Option<KernelPatterns> {
        (!self.unknown && self.counted > 0).then_some(self.patterns)
    }
}

/// The patterns of a section.
fn patterns(section: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let list = if section.len() <= 1 { &[] } else { section };
    // The last NUL ends a pattern, it does not start another.
    let list = list.strip_suffix(&[0]).map_or(list, |without| without);
    let has_any = section.len() > 1;
    list.split(|&b| b == 0).filter(move |_| has_any).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(section: &[u8]) -> Vec<String> {
        patterns(section).map(|p| String::from_utf8_lossy(&p).into_owned()).collect()
    }

    #[test]
    fn lists_are_split_at_nul() {
        assert!(all(b"").is_empty());
        assert!(all(b"\0").is_empty());
        assert!(all(b"x").is_empty(), "one byte is an empty list, whatever it is");
        assert_eq!(all(b"_Z2k1*\0"), ["_Z2k1*"]);
        assert_eq!(all(b"a\0b"), ["a", "b"]);
        assert_eq!(all(b"a\0\0b\0"), ["a", "", "b"]);
        assert_eq!(all(b"\0\0"), ["", ""]);
    }

    #[test]
    fn one_unknown_input_keeps_all_kernels() {
        let mut info = HostInfo::default();
        info.add(b"a\0", b"\0", false);
        let expected = KernelPatterns {
            external: vec![b"a".to_vec()],
            internal: vec![],
        };
        assert_eq!(info.clone().finish(), Some(expected));
        info.unknown();
        assert_eq!(info.finish(), None);
    }

    #[test]
    fn the_device_runtime_alone_prunes_nothing() {
        let mut info = HostInfo::default();
        info.add(b"\0", b"memcpy*\0", true);
        assert_eq!(info.clone().finish(), None);
        info.add(b"k*\0", b"\0", false);
        assert_eq!(info.finish().map(|p| (p.external.len(), p.internal.len())), Some((1, 1)));
    }
}
