//! Which entry of a fatbin a link uses.
//!
//! 1. Keep the entries that can run on the target: ELF by the binary-compatibility table, PTX and LTO IR by the rules of virtual architectures.
//! 2. Of those, take the greatest by (architecture number, ELF over PTX, suffix a > f > none).
//! 3. Between equals the first wins, except between PTX without suffix of exactly the target's number, where the last wins.
//! 4. With link-time optimization LTO IR comes before all others. Without, it is no candidate; but when nothing else fits, that there is some is
//!    worth saying.

use crate::target::{Suffix, Target};
use cubin::admission::runs_on;
use cubin::fatbin::{self, Entry, EntryKind};

/// What the choice looks at in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// What it holds.
    pub kind: EntryKind,
    /// What it was made for.
    pub arch: Target,
}

impl From<&Entry<'_>> for Candidate {
    fn from(entry: &Entry<'_>) -> Self {
        let suffix = match entry.suffix() {
            fatbin::Suffix::Plain => Suffix::None,
            fatbin::Suffix::Family => Suffix::Family,
            fatbin::Suffix::Specific => Suffix::Arch,
        };
        Candidate {
            kind: entry.kind(),
            arch: Target::new(entry.arch(), suffix),
        }
    }
}

/// What a fatbin has for a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The entry with this index.
    Entry(usize),
    /// Only LTO IR fits.
    OnlyLtoIr,
    /// Nothing fits.
    Nothing,
}

/// True when a device ELF for `code` can be linked for `target`; `strict`: code with suffix `a` only for a target with it.
pub fn elf_fits(code: Target, target: Target, strict: bool) -> bool {
    if strict && code.suffix == Suffix::Arch && target.suffix != Suffix::Arch {
        return false;
    }
    // Below sm_100 there is no family code, so the suffix rule is one for all pairs.
    runs_on(code.number, code.suffix == Suffix::Arch, target.number)
}

/// True when PTX or LTO IR for `code` can be compiled for `target`.
pub fn virtual_fits(code: Target, target: Target) -> bool {
    match code.suffix {
        Suffix::None => code.number <= target.number,
        Suffix::Arch => code == target,
        Suffix::Family => code.number <= target.number && code.family().is_some() && code.family() == target.family(),
    }
}

/// What is better the greater it is: LTO IR where it is wanted, the architecture, device code, the suffix.
type Rank = (bool, u32, bool, Suffix);

/// Chooses the entry for `target`; `lto`: with link-time optimization; `strict`: as in [`elf_fits`].
pub fn choose(entries: &[Candidate], target: Target, lto: bool, strict: bool) -> Choice {
    let mut best: Option<(Rank, usize)> = None;
    let mut lto_fits = false;
    for (index, entry) in entries.iter().enumerate() {
        let code = entry.arch;
        let is_elf = match entry.kind {
            EntryKind::Elf if elf_fits(code, target, strict) => true,
            EntryKind::Ptx if virtual_fits(code, target) => false,
            EntryKind::Lto if virtual_fits(code, target) => {
                lto_fits = true;
                if !lto {
                    continue;
                }
                false
            }
            _ => continue,
        };
        let last_wins = entry.kind == EntryKind::Ptx && code.suffix == Suffix::None && code.number == target.number;
        let rank = (entry.kind == EntryKind::Lto, code.number, is_elf, code.suffix);
        if best.is_none_or(|(held, _)| rank > held || (rank == held && last_wins)) {
            best = Some((rank, index));
        }
    }
    match best {
        Some((_, index)) => Choice::Entry(index),
        None if lto_fits => Choice::OnlyLtoIr,
        None => Choice::Nothing,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    fn target(name: &str) -> Target {
        Target::parse(&format!("sm_{name}")).unwrap()
    }

    #[test]
    fn device_code_runs_on_its_number_and_few_others() {
        let fits = |code, on| elf_fits(target(code), target(on), false);
        for (code, on) in [
            ("90", "90a"),
            ("90a", "90"),
            ("100a", "100f"),
            ("80", "86"),
            ("80", "89"),
            ("86", "89"),
        ] {
            assert!(fits(code, on), "{code} on {on}");
        }
        for (code, on) in [("100", "103a"), ("100f", "103"), ("120f", "121f")] {
            assert!(fits(code, on), "{code} on {on}");
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
            assert!(!fits(code, on), "{code} on {on}");
        }
    }

    #[test]
    fn virtual_code_goes_upwards() {
        let fits = |code, on| virtual_fits(target(code), target(on));
        for (code, on) in [("80", "90"), ("90", "90a"), ("90a", "90a"), ("100f", "103a"), ("120f", "121")] {
            assert!(fits(code, on), "{code} on {on}");
        }
        for (code, on) in [
            ("90", "80"),
            ("90a", "90"),
            ("90a", "100a"),
            ("100f", "110"),
            ("103f", "100"),
            ("100a", "100f"),
        ] {
            assert!(!fits(code, on), "{code} on {on}");
        }
    }

    /// Chooses among entries written as `e90a` (ELF), `p80` (PTX), `l90` (LTO IR).
    fn chosen(entries: &[&str], on: &str) -> Choice {
        chosen_with(entries, on, false)
    }

    fn chosen_with(entries: &[&str], on: &str, lto: bool) -> Choice {
        let entries: Vec<Candidate> = entries
            .iter()
            .map(|text| Candidate {
                kind: match text.as_bytes()[0] {
                    b'e' => EntryKind::Elf,
                    b'p' => EntryKind::Ptx,
                    _ => EntryKind::Lto,
                },
                arch: target(&text[1..]),
            })
            .collect();
        choose(&entries, target(on), lto, false)
    }

    #[test]
    fn number_then_kind_then_suffix_decide() {
        assert_eq!(chosen(&["e80", "p86"], "86"), Choice::Entry(1));
        assert_eq!(chosen(&["e90", "e90a"], "90"), Choice::Entry(1));
        assert_eq!(chosen(&["e100f", "p100a"], "100a"), Choice::Entry(0));
        assert_eq!(chosen(&["e100a", "e100", "e100f"], "100f"), Choice::Entry(0));
        assert_eq!(chosen(&["p90", "e90"], "90"), Choice::Entry(1));
    }

    #[test]
    fn the_first_of_equals_wins_but_for_plain_ptx_of_the_target() {
        assert_eq!(chosen(&["e90", "e90"], "90"), Choice::Entry(0));
        assert_eq!(chosen(&["p80", "p80"], "90"), Choice::Entry(0));
        assert_eq!(chosen(&["p90", "p90"], "90"), Choice::Entry(1));
        assert_eq!(chosen(&["p90a", "p90a"], "90a"), Choice::Entry(0));
    }

    #[test]
    fn lto_ir_is_only_worth_a_word() {
        assert_eq!(chosen(&["l90", "p80"], "90"), Choice::Entry(1));
        assert_eq!(chosen(&["e80", "l80"], "90"), Choice::OnlyLtoIr);
        assert_eq!(chosen(&["l100"], "90"), Choice::Nothing);
        assert_eq!(chosen(&[], "90"), Choice::Nothing);
    }

    #[test]
    fn with_optimization_lto_ir_comes_first() {
        let chosen = |entries: &[&str], on| chosen_with(entries, on, true);
        assert_eq!(chosen(&["e90", "l80", "p90"], "90"), Choice::Entry(1));
        assert_eq!(chosen(&["l80", "l90"], "90"), Choice::Entry(1));
        assert_eq!(chosen(&["e90", "l100"], "90"), Choice::Entry(0));
    }
}
