//! Which kernels and constants host code refers to.
//!
//! 1. Every relocatable ELF file that is looked at must say so (`.nvHRKE`); one without, or a device object, fatbin or PTX file
//!    outside the device runtime library, means that nothing is known and all kernels stay.
//! 2. A list of one byte is empty. Others are NUL-terminated patterns; a tail without NUL counts, and so do empty patterns.
//! 3. The lists of the device runtime are taken too, but when no other input has any pattern, all kernels stay.

use crate::bytes::Bytes;
use culd_base::KernelFilter;

/// The lists of a host object, of external and of internal names.
#[derive(Debug)]
pub(crate) struct HostLists {
    pub(crate) kernels: [Bytes; 2],
    pub(crate) constants: [Bytes; 2],
    pub(crate) variables: [Bytes; 2],
}

/// What was learnt so far.
#[derive(Debug, Default, Clone)]
pub struct HostInfo {
    patterns: KernelFilter,
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
    pub(crate) fn add(&mut self, lists: &HostLists, is_device_runtime: bool) {
        let before = self.patterns.external.len() + self.patterns.internal.len();
        let [external, internal] = &lists.kernels;
        self.patterns.external.extend(patterns(external));
        self.patterns.internal.extend(patterns(internal));
        let [external, internal] = &lists.constants;
        self.patterns.external_constants.extend(patterns(external));
        self.patterns.internal_constants.extend(patterns(internal));
        let [external, internal] = &lists.variables;
        self.patterns.external_variables.extend(patterns(external));
        self.patterns.internal_variables.extend(patterns(internal));
        if !is_device_runtime {
            self.counted += self.patterns.external.len() + self.patterns.internal.len() - before;
        }
    }

    /// The patterns so far; `None` keeps all kernels.
    pub(crate) fn patterns(&self) -> Option<&KernelFilter> {
        (!self.unknown && self.counted > 0).then_some(&self.patterns)
    }

    /// The patterns; `None` keeps all kernels.
    pub fn finish(self) -> Option<KernelFilter> {
        self.patterns().is_some().then_some(self.patterns)
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

    fn lists(kernels: [&[u8]; 2], constants: [&[u8]; 2]) -> HostLists {
        let bytes = |section: &[u8]| section.to_vec().into();
        HostLists {
            kernels: kernels.map(bytes),
            constants: constants.map(bytes),
            variables: [b"".as_slice(), b""].map(bytes),
        }
    }

    #[test]
    fn one_unknown_input_keeps_all_kernels() {
        let mut info = HostInfo::default();
        info.add(&lists([b"a\0", b"\0"], [b"c\0d\0", b"\0"]), false);
        let expected = KernelFilter {
            external: vec![b"a".to_vec()],
            external_constants: vec![b"c".to_vec(), b"d".to_vec()],
            ..KernelFilter::default()
        };
        assert_eq!(info.clone().finish(), Some(expected));
        info.unknown();
        assert_eq!(info.finish(), None);
    }

    #[test]
    fn the_device_runtime_alone_prunes_nothing() {
        let mut info = HostInfo::default();
        info.add(&lists([b"\0", b"memcpy*\0"], [b"", b""]), true);
        assert_eq!(info.clone().finish(), None);
        info.add(&lists([b"k*\0", b"\0"], [b"", b""]), false);
        assert_eq!(info.finish().map(|p| (p.external.len(), p.internal.len())), Some((1, 1)));
    }
}
