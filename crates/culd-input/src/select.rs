//! Which entry of a fatbin a link uses.
//!
//! 1. Keep the entries that can run on the target: ELF by the binary-compatibility table, PTX and LTO IR by the rules of virtual architectures.
//! 2. Of those, take the greatest by (architecture number, ELF over PTX, suffix a > f > none).
//! 3. Between equals the first wins, except between PTX without suffix of exactly the target's number, where the last wins.
//! 4. With link-time optimization LTO IR comes before all others. Without, it is not a candidate, but when nothing else fits, its presence is
//!    reported.

use cubin::arch::{Arch, Suffix};
use cubin::fatbin::{Entry, EntryKind};
use cubin::release::Release;

/// What the choice looks at in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Kind of the image.
    pub kind: EntryKind,
    /// What it was made for.
    pub arch: Arch,
}

impl From<&Entry<'_>> for Candidate {
    fn from(entry: &Entry<'_>) -> Self {
        Candidate {
            kind: entry.kind(),
            arch: entry.arch(),
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

/// True when the linker of a release can link a device ELF for `code` for `target`: some take code with suffix `a` only for a target with it.
pub fn elf_fits(code: Arch, target: Arch, release: Option<&Release>) -> bool {
    let Some(release) = release else { return code.runs_on(target) };
    if release.rules.accelerated_only_for_itself && code.suffix == Suffix::Arch && target.suffix != Suffix::Arch {
        return false;
    }
    code.runs_on_in(target, release.toolkit)
}

/// What is better the greater it is: LTO IR where it is wanted, the architecture, device code, the suffix.
type Rank = (bool, u32, bool, Suffix);

/// Chooses the entry for `target`; `lto`: with link-time optimization; `release`: as in [`elf_fits`].
pub fn choose(entries: &[Candidate], target: Arch, lto: bool, release: Option<&Release>) -> Choice {
    let mut best: Option<(Rank, usize)> = None;
    let mut lto_fits = false;
    for (index, entry) in entries.iter().enumerate() {
        let code = entry.arch;
        let is_elf = match entry.kind {
            EntryKind::Elf if elf_fits(code, target, release) => true,
            EntryKind::Ptx if code.compiles_for(target) => false,
            EntryKind::Lto if code.compiles_for(target) => {
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

    fn target(name: &str) -> Arch {
        Arch::parse(&format!("sm_{name}")).unwrap()
    }

    #[test]
    fn a_strict_release_takes_accelerated_code_for_accelerated_targets_only() {
        let fits = |code, on, toolkit| elf_fits(target(code), target(on), Some(Release::of_toolkit(toolkit)));
        assert!(elf_fits(target("90a"), target("90"), None) && fits("90a", "90", 130) && fits("90a", "90a", 131));
        assert!(!fits("90a", "90", 131));
        assert!(fits("70", "75", 129) && !fits("70", "75", 130) && !elf_fits(target("70"), target("75"), None));
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
        choose(&entries, target(on), lto, None)
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
