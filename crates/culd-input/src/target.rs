//! Architectures: a number and a suffix, as fatbin entries, device objects and command lines name them.

use std::fmt;

/// Architecture suffix, in the order in which a fatbin entry is preferred.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suffix {
    /// None: `sm_90`.
    #[default]
    None,
    /// Family-specific: `sm_100f`.
    Family,
    /// Architecture-specific: `sm_90a`.
    Arch,
}

/// An architecture such as `sm_90a`: what is linked for, or what a piece of device code was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Number, 90 for `sm_90a`.
    pub number: u32,
    /// Suffix.
    pub suffix: Suffix,
}

impl Target {
    /// An architecture.
    pub fn new(number: u32, suffix: Suffix) -> Self {
        Target { number, suffix }
    }

    /// Parses `sm_90a`; any number is accepted.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, suffix) = match rest.as_bytes().last()? {
            b'a' => (rest.strip_suffix('a')?, Suffix::Arch),
            b'f' => (rest.strip_suffix('f')?, Suffix::Family),
            _ => (rest, Suffix::None),
        };
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        let number = digits.parse().ok().filter(|_| plain)?;
        Some(Target { number, suffix })
    }

    /// The family whose members run each other's `f` code, named by its first member.
    pub fn family(self) -> Option<u32> {
        match self.number {
            100 | 103 => Some(100),
            110 => Some(110),
            120 | 121 => Some(120),
            _ => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}
