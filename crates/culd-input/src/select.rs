//! Which entry of a fatbin a link uses.
//!
//! 1. Keep the entries that can run on the target: ELF by the binary-compatibility table, PTX and LTO IR by the rules of virtual architectures.
//! 2. Of those, take the greatest by (architecture number, ELF over PTX, suffix a > f > none).
//! 3. Between equals the first wins, except between PTX without suffix of exactly the target's number, where the last wins.
//! 4. LTO IR is no candidate unless link-time optimisation is on; but when nothing else fits, that there is some is worth saying.

use crate::fatbin::{Entry, Kind};
use crate::target::{Suffix, Target};

/// Device code of the first number also runs on the second.
const ELF_RUNS_ON: [(u32, u32); 5] = [(80, 86), (80, 89), (86, 89), (100, 103), (120, 121)];

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

/// True when a device ELF for `code` can be linked for `target`.
pub fn elf_fits(code: Target, target: Target) -> bool {
    // Below sm_100 there is no family code, so the suffix rule is one for all pairs.
    code.number == target.number || (code.suffix != Suffix::Arch && ELF_RUNS_ON.contains(&(code.number, target.number)))
}

/// True when PTX or LTO IR for `code` can be compiled for `target`.
pub fn virtual_fits(code: Target, target: Target) -> bool {
    match code.suffix {
        Suffix::None => code.number <= target.number,
        Suffix::Arch => code == target,
        Suffix::Family => code.number <= target.number && code.family().is_some() && code.family() == target.family(),
    }
}

/// Chooses the entry for `target`.
pub fn choose(entries: &[Entry<'_>], target: Target) -> Choice {
    let mut best: Option<(u32, bool, Suffix, usize)> = None;
    let mut lto_fits = false;
    for entry in entries {
        let code = entry.arch;
        let is_elf = match entry.kind {
            Kind::Elf if elf_fits(code, target) => true,
            Kind::Ptx if virtual_fits(code, target) => false,
            Kind::LtoIr => {
                lto_fits |= virtual_fits(code, target);
                continue;
            }
            _ => continue,
        };
        let last_wins = !is_elf && code.suffix == Suffix::None && code.number == target.number;
        let rank = (code.number, is_elf, code.suffix);
        let better = best.is_none_or(|(number, elf, suffix, _)| {
            let held = (number, elf, suffix);
            rank > held || (rank == held && last_wins)
        });
        if better {
            best = Some((code.number, is_elf, code.suffix, entry.index));
        }
    }
    match best {
        Some((.., index)) => Choice::Entry(index),
        None if lto_fits => Choice::OnlyLtoIr,
        None => Choice::Nothing,
    }
}
