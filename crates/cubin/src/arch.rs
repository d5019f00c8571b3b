//! GPU architectures: the one table of their numbers, suffixes, families and names, and which code runs where.
//!
//! * [`Arch`] is a number with a suffix, as in `sm_90a`.
//! * [`Arch::runs_on`] answers for device code, [`Arch::compiles_for`] for PTX and LTO IR.
//! * [`Capabilities`] are the properties of files and links that differ between generations.
//! * [`names`] lists every name that a command line may use: `sm_90`, the virtual `compute_90`, and `lto_90`.

mod capabilities;

pub use capabilities::{Capabilities, capabilities};

use std::fmt;
use std::sync::LazyLock;

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

impl Suffix {
    /// The letter in names; empty for none.
    pub fn letter(self) -> &'static str {
        match self {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        }
    }
}

/// An architecture such as `sm_90a`: the target of a link, or what device code was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// Number, 90 for `sm_90a`.
    pub number: u32,
    /// Suffix.
    pub suffix: Suffix,
}

/// One architecture number that a link can target.
struct Row {
    number: u32,
    /// Suffixes besides none.
    suffixes: &'static [Suffix],
    /// First member of the family whose members run each other's `f` code.
    family: Option<u32>,
    /// Other numbers that run device code for this one.
    runs_on: &'static [u32],
    /// Toolkit version times ten that introduced it; 0 for all supported releases.
    since: u32,
    /// The last toolkit that knows it, version times ten.
    until: u32,
}

const fn row(number: u32, suffixes: &'static [Suffix], family: Option<u32>, runs_on: &'static [u32]) -> Row {
    Row {
        number,
        suffixes,
        family,
        runs_on,
        since: 0,
        until: u32::MAX,
    }
}

/// One that CUDA 13 dropped.
const fn dropped(number: u32, runs_on: &'static [u32]) -> Row {
    Row {
        until: 129,
        ..row(number, PLAIN, None, runs_on)
    }
}

/// One that a toolkit introduced.
const fn new(since: u32, row: Row) -> Row {
    Row { since, ..row }
}

const PLAIN: &[Suffix] = &[];
const ARCH_ONLY: &[Suffix] = &[Suffix::Arch];
const ARCH_AND_FAMILY: &[Suffix] = &[Suffix::Arch, Suffix::Family];

/// Architectures in ascending order.
const TABLE: [Row; 22] = [
    dropped(50, &[52]),
    dropped(52, &[]),
    dropped(53, &[]),
    dropped(60, &[61]),
    dropped(61, &[]),
    dropped(62, &[]),
    dropped(70, &[]),
    dropped(72, &[]),
    row(75, PLAIN, None, &[]),
    row(80, PLAIN, None, &[86, 89]),
    row(86, PLAIN, None, &[89]),
    row(87, PLAIN, None, &[]),
    new(130, row(88, PLAIN, None, &[])),
    row(89, PLAIN, None, &[]),
    row(90, ARCH_ONLY, None, &[]),
    new(128, row(100, ARCH_AND_FAMILY, Some(100), &[103, 107])),
    // CUDA 13 calls it sm_110.
    Row {
        until: 129,
        ..new(128, row(101, ARCH_AND_FAMILY, Some(101), &[]))
    },
    new(129, row(103, ARCH_AND_FAMILY, Some(100), &[107])),
    new(134, row(107, ARCH_AND_FAMILY, None, &[])),
    new(130, row(110, ARCH_AND_FAMILY, Some(110), &[])),
    new(128, row(120, ARCH_AND_FAMILY, Some(120), &[121])),
    new(129, row(121, ARCH_AND_FAMILY, Some(120), &[])),
];

/// The toolkit that introduced the suffix `f`.
const FAMILIES: u32 = 129;

/// Code for the first number ran on the second up to the toolkit that is the third.
const RAN_ON: [(u32, u32, u32); 1] = [(70, 75, 129)];

/// Numbers that CUDA 13 renamed: code for the first runs on the second.
const RENAMED: [(u32, u32); 1] = [(101, 110)];

fn row_of(number: u32) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.number == number)
}

impl Arch {
    /// An architecture; its number need not be in the table.
    pub const fn new(number: u32, suffix: Suffix) -> Self {
        Arch { number, suffix }
    }

    /// Parses `sm_90a`; `None` for names that no link can target.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, suffix) = match rest.as_bytes().last()? {
            b'a' => (rest.strip_suffix('a')?, Suffix::Arch),
            b'f' => (rest.strip_suffix('f')?, Suffix::Family),
            _ => (rest, Suffix::None),
        };
        // Other spellings of a number, such as `090`, are not names.
        let is_plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        let row = row_of(digits.parse().ok().filter(|_| is_plain)?)?;
        let exists = suffix == Suffix::None || row.suffixes.contains(&suffix);
        exists.then_some(Arch::new(row.number, suffix))
    }

    /// The architecture that a name of [`names`] names: `sm_90a`, `compute_90a`, `lto_90a`.
    pub fn of_name(name: &str) -> Option<Self> {
        let rest = PREFIXES.iter().find_map(|p| name.strip_prefix(p)?.strip_prefix('_'))?;
        Arch::parse(&format!("sm_{rest}"))
    }

    /// All targets in ascending order.
    pub fn all() -> impl Iterator<Item = Arch> {
        TABLE.iter().flat_map(|row| {
            let suffixes = std::iter::once(&Suffix::None).chain(row.suffixes);
            suffixes.map(|&suffix| Arch::new(row.number, suffix))
        })
    }

    /// The family whose members run each other's `f` code, named by its first member.
    pub fn family(self) -> Option<u32> {
        row_of(self.number)?.family
    }

    /// True when device code for this architecture runs on `target`. Code with suffix `a` runs on its own number only.
    pub fn runs_on(self, target: Arch) -> bool {
        let listed = || row_of(self.number).is_some_and(|row| row.runs_on.contains(&target.number));
        let renamed = || RENAMED.contains(&(self.number, target.number));
        self.number == target.number || (self.suffix != Suffix::Arch && (listed() || renamed()))
    }

    /// True when both are names of one architecture, with any suffix.
    pub fn is_same_chip(self, target: Arch) -> bool {
        self.number == target.number || RENAMED.contains(&(self.number, target.number))
    }

    /// Like [`Arch::runs_on`], for the linker of a toolkit, version times ten.
    pub fn runs_on_in(self, target: Arch, toolkit: u32) -> bool {
        let ran = |&(code, on, until): &(u32, u32, u32)| (code, on) == (self.number, target.number) && toolkit <= until;
        self.runs_on(target) || RAN_ON.iter().any(ran)
    }

    /// The toolkits, version times ten, that have this architecture: the first, 0 for all before the last, and the last.
    pub fn toolkits(self) -> (u32, u32) {
        let (since, until) = row_of(self.number).map_or((0, u32::MAX), |row| (row.since, row.until));
        match self.suffix {
            Suffix::Family => (since.max(FAMILIES), until),
            _ => (since, until),
        }
    }

    /// True when the linker of a toolkit, version times ten, has this target.
    pub fn is_in(self, toolkit: u32) -> bool {
        let (since, until) = self.toolkits();
        (since..=until).contains(&toolkit)
    }

    /// True for a name that CUDA 13 replaced by another one.
    pub fn is_renamed(self) -> bool {
        RENAMED.iter().any(|(before, _)| *before == self.number)
    }

    /// True for architectures that CUDA 13 dropped; their files have the form of CUDA 12.
    pub fn is_before_turing(self) -> bool {
        self.number < 75
    }

    /// True when PTX or LTO IR for this architecture can be compiled for `target`.
    pub fn compiles_for(self, target: Arch) -> bool {
        match self.suffix {
            Suffix::None => self.number <= target.number,
            Suffix::Arch => self == target,
            Suffix::Family => self.number <= target.number && self.family().is_some() && self.family() == target.family(),
        }
    }

    /// What files for this architecture have, and what its linker does.
    pub fn capabilities(self) -> &'static Capabilities {
        capabilities(self.number)
    }

    /// True from sm_90 on.
    pub fn is_hopper_or_later(self) -> bool {
        self.number >= 90
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.suffix.letter())
    }
}

/// A name of an architecture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArchName {
    /// `sm_90a`, `compute_90a` or `lto_90a`.
    pub text: String,
    /// Toolkit version times ten that introduced it; 0 for all supported releases.
    pub since: u32,
    /// The last toolkit that knows it, version times ten.
    pub until: u32,
}

/// Prefixes of names: virtual, for link-time optimization, real.
const PREFIXES: [&str; 3] = ["compute", "lto", "sm"];

static NAMES: LazyLock<Vec<ArchName>> = LazyLock::new(|| {
    let mut names: Vec<ArchName> = PREFIXES
        .iter()
        .flat_map(|prefix| {
            Arch::all().map(move |arch| {
                let (since, until) = arch.toolkits();
                ArchName {
                    text: format!("{prefix}_{}{}", arch.number, arch.suffix.letter()),
                    since,
                    until,
                }
            })
        })
        .collect();
    names.sort();
    names
});

/// Every name of every architecture, real and virtual, sorted as text.
pub fn names() -> &'static [ArchName] {
    &NAMES
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn arch(name: &str) -> Arch {
        Arch::parse(&format!("sm_{name}")).unwrap()
    }

    #[test]
    fn names_are_read_and_written() {
        for target in Arch::all() {
            assert_eq!(Arch::parse(&target.to_string()), Some(target));
        }
        for name in ["sm_90f", "sm_080", "sm_+90", "sm_", "sm_a", "90", "compute_90", "sm_75a", "sm_102"] {
            assert_eq!(Arch::parse(name), None, "{name}");
        }
        assert_eq!(names().len(), 3 * Arch::all().count());
        assert!(names().is_sorted() && names().iter().any(|n| n.text == "lto_107f" && n.since == 134));
        assert!(names().iter().any(|n| n.text == "sm_72" && n.until == 129));
    }

    #[test]
    fn toolkits_have_their_own_architectures() {
        let known = |name, toolkit| arch(name).is_in(toolkit);
        assert!(known("52", 120) && known("72", 129) && !known("52", 130) && !known("72", 134));
        assert!(known("75", 120) && known("75", 134));
        assert!(known("101a", 128) && known("101f", 129) && !known("101", 130));
        assert!(!known("100", 126) && known("100", 128) && !known("100f", 128) && known("100f", 129));
        assert!(arch("70").runs_on_in(arch("75"), 129) && !arch("70").runs_on_in(arch("75"), 130) && !arch("70").runs_on(arch("75")));
    }

    #[test]
    fn device_code_runs_on_its_number_and_few_others() {
        let runs = |code, on| arch(code).runs_on(arch(on));
        for (code, on) in [
            ("90", "90a"),
            ("90a", "90"),
            ("100a", "100f"),
            ("80", "86"),
            ("80", "89"),
            ("86", "89"),
            ("100", "103a"),
            ("100f", "103"),
            ("120f", "121f"),
        ] {
            assert!(runs(code, on), "{code} on {on}");
        }
        for (code, on) in [
            ("80", "87"),
            ("80", "90"),
            ("86", "80"),
            ("89", "90"),
            ("100a", "103"),
            ("103", "100"),
            ("110", "120"),
        ] {
            assert!(!runs(code, on), "{code} on {on}");
        }
        assert!(runs("101", "110") && !runs("101a", "110"));
    }

    #[test]
    fn virtual_code_compiles_for_later_architectures() {
        let compiles = |code, on| arch(code).compiles_for(arch(on));
        for (code, on) in [("80", "90"), ("90", "90a"), ("90a", "90a"), ("100f", "103a"), ("120f", "121")] {
            assert!(compiles(code, on), "{code} on {on}");
        }
        for (code, on) in [
            ("90", "80"),
            ("90a", "90"),
            ("90a", "100a"),
            ("100f", "110"),
            ("103f", "100"),
            ("100a", "100f"),
        ] {
            assert!(!compiles(code, on), "{code} on {on}");
        }
    }
}
