//! Stalls that follow the scoreboards.
//!
//! 1. What no longer is waited for at once stalls a cycle less ([`relieve`]).
//! 2. What is waited for at once stalls two cycles ([`hurry`]).

use crate::cfg::Cfg;
use crate::decode::{Control, Insn, SCOREBOARDS};

/// An instruction stalls at least two cycles when the next one waits for a scoreboard that it sets. The load of a dead stack pointer sets none.
pub(super) fn hurry(insns: &[Insn], fields: &mut [Control], dead: Option<usize>) {
    for k in 1..fields.len() {
        let (wait, before) = (fields[k].wait, fields[k - 1]);
        let waits_for = |n: u8| n < SCOREBOARDS && wait >> n & 1 == 1;
        if before.stall == 1 && (waits_for(before.read) || waits_for(before.write)) {
            fields[k - 1].stall = 2;
        }
    }
    let Some(k) = dead else { return };
    let number = insns[k].control.write;
    let needed = |next: &Insn| next.control.wait >> number & 1 == 1;
    if fields[k].stall == 2 && number < SCOREBOARDS && insns.get(k + 1).is_some_and(needed) {
        fields[k].stall = 1;
    }
}

/// Cycles from a uniform load of a constant to a plain one; one more if it is of 64 bits or more.
const UNIFORM_LOAD_CYCLES: u32 = 6;
const WIDE: u8 = 5;

/// An instruction that stalls two cycles because the next one waited for a scoreboard that it sets, and no longer does, stalls one. A uniform load of a
/// constant is far enough from the plain load after it: the instruction before that one stalls longer. After other instructions it is not known whether
/// something is too near; the first of them is returned.
pub(super) fn relieve(insns: &[Insn], cfg: &Cfg, fields: &mut [Control], dead: Option<usize>) -> Option<usize> {
    let waits = |control: &Control, next: &Control| {
        let waits_for = |n: u8| n < SCOREBOARDS && next.wait >> n & 1 == 1;
        waits_for(control.read) || waits_for(control.write)
    };
    for k in 0..insns.len().saturating_sub(1) {
        let (old, next) = (&insns[k], &insns[k + 1]);
        let relieved = old.control.stall == 2 && waits(&old.control, &next.control) && !waits(&fields[k], &fields[k + 1]);
        if !relieved || dead == Some(k) {
            continue;
        }
        if old.name != "LDCU" || fields[k].stall != 2 {
            return Some(k);
        }
        fields[k].stall = 1;
        let apart = UNIFORM_LOAD_CYCLES + u32::from(old.bits(73, 3) >= WIDE);
        let end = cfg.blocks[cfg.block_of[k].index()].end;
        // The shorter stall accounts for one cycle; what happens where more are missing, or where the block ends before, is not known.
        let mut cycles = 0;
        let mut near = Some(k);
        for j in k + 1..end {
            cycles += u32::from(fields[j - 1].stall);
            near = match insns[j].name {
                _ if cycles >= apart => None,
                "LDC" if j > k + 1 && cycles + 1 == apart => {
                    fields[j - 1].stall += 1;
                    None
                }
                "LDC" | "LDCU" | "S2R" | "S2UR" => return Some(k),
                _ => continue,
            };
            break;
        }
        if near.is_some() {
            return near;
        }
    }
    None
}
