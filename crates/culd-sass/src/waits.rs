//! Code without instructions that another compiler added to it.
//!
//! 1. Each instruction to delete is a plain `NOP`: it has no scoreboards and waits for nothing.
//! 2. Branches to it go to the next instruction that stays; the code is padded as the compiler does.
//! 3. All other fields stay, but for stalls in code of compilers before 13.0 ([`without_pauses`]): a `NOP` that stalls longer than a cycle leaves its stall to
//!    the instruction before it. The cycle of another is missing where a comparison is exactly as far from its use as it must be: there the instruction before
//!    the use stalls one more.
//!
//! Observed for 3.: 29 of 29 longer stalls and 58 of 58 exact distances in functions of CUDA 12.9. What is not known is reported ([`is_tight`]).

use crate::decode::{Insn, NO_SCOREBOARD, decode_all, opcode, retarget};
use crate::fence::OffsetMap;
use crate::reg::{RegFile, RegSet};
use crate::rewrite::{NOP, bytes, padded};

/// Bit that lets another warp go on.
const YIELD: u32 = 109;
/// Cycles after a `NOP` in which a yield bit may change; in which a delay may.
const SOON: u32 = 4;
const DELAYED: u32 = 64;
/// Cycles from a comparison to an instruction that it guards, or another one that needs the predicate early.
const PREDICATE_CYCLES: u32 = 13;
/// They need a predicate later than others do.
const SELECTS: [&str; 2] = ["SEL", "FSEL"];
const LONGEST_STALL: u8 = 15;

/// The code without the instructions at `deleted`, which is sorted, and the new offsets of the others. `None` if it cannot be decoded, or one of them is not a plain `NOP`.
#[must_use]
pub fn without(code: &[u8], deleted: &[u32]) -> Option<(Vec<u8>, OffsetMap)> {
    shortened(decode_all(code)?, code.len(), deleted)
}

/// Code of a compiler before 13.0 without the `NOP`s at `deleted`, which is sorted, each after a `WARPSYNC`; and whether stalls and yield bits are known.
#[must_use]
pub fn without_pauses(code: &[u8], deleted: &[u32]) -> Option<(Vec<u8>, OffsetMap, bool)> {
    let mut insns = decode_all(code)?;
    let mut sure = true;
    for offset in deleted {
        let k = insns.binary_search_by_key(offset, |insn| insn.offset).ok()?;
        let before_fields = k.checked_sub(1).and_then(|j| insns.get(j)).map(|insn| insn.control);
        let pause = insns.get_mut(k)?;
        // Code without a schedule: every instruction has the same stall and waits for the same.
        if before_fields == Some(pause.control) && pause.control.stall == LONGEST_STALL {
            pause.control.wait = 0;
            continue;
        }
        sure &= !is_tight(insns.get(k + 1..).unwrap_or_default());
        let stall = insns.get_mut(k).map(|pause| std::mem::take(&mut pause.control.stall))?;
        let (longer, by) = match stall {
            0 | 1 => (exact_use(&insns, deleted, k), 1),
            _ => (Some(k), stall),
        };
        if let Some(before) = longer.map(|k| before(&insns, deleted, k)) {
            let fields = &mut insns.get_mut(before?)?.control;
            fields.stall = fields.stall.checked_add(by).filter(|stall| *stall <= LONGEST_STALL)?;
        }
    }
    shortened(insns, code.len(), deleted).map(|(code, map)| (code, map, sure))
}

/// May the instructions after a `NOP` that goes change in a way that is not known? Observed: the first of them is a `REDUX`, which comes a cycle later; one of
/// two cycles soon after it does not yield, which it may do in the new code; a delay of double precision gets longer.
fn is_tight(next: &[Insn]) -> bool {
    let mut cycles = 0;
    for (j, insn) in next.iter().enumerate() {
        let stays = insn.control.stall == 2 && insn.raw >> YIELD & 1 == 0;
        if j == 0 && insn.name == "REDUX" || stays && (1..=SOON).contains(&cycles) || insn.op == opcode::NOP && insn.control.stall > 2 {
            return true;
        }
        cycles += u32::from(insn.control.stall);
        if insn.target.is_some() || cycles > DELAYED {
            break;
        }
    }
    false
}

/// The instruction before `k` that stays.
fn before(insns: &[Insn], deleted: &[u32], k: usize) -> Option<usize> {
    let stays = |j: &usize| insns.get(*j).is_some_and(|insn| deleted.binary_search(&insn.offset).is_err());
    (0..k).rev().find(stays)
}

/// The first use after the `NOP` at `k` of a predicate that a comparison before it sets, where only the cycle of the `NOP` keeps them far enough apart.
fn exact_use(insns: &[Insn], deleted: &[u32], k: usize) -> Option<usize> {
    let is_left = |insn: &Insn| {
        insn.target.is_some() || matches!(insn.op, opcode::RET | opcode::BRX | opcode::BRXU) || opcode::CALLS.contains(&insn.op)
    };
    let mut cycles = 0;
    let mut overwritten = RegSet::EMPTY;
    for insn in insns.get(..k)?.iter().rev().take_while(|insn| !is_left(insn)) {
        cycles += u32::from(insn.control.stall);
        if cycles >= PREDICATE_CYCLES {
            break;
        }
        let mut set = insn.defs.minus(&overwritten);
        overwritten = overwritten.union(&insn.defs);
        let mut distance = cycles;
        for (j, user) in insns.iter().enumerate().skip(k + 1) {
            let needs = user.uses.iter().any(|r| r.file == RegFile::P && set.contains(r));
            if needs && distance + 1 == PREDICATE_CYCLES && deleted.binary_search(&user.offset).is_err() && !SELECTS.contains(&user.name) {
                return Some(j);
            }
            set = set.minus(&user.defs);
            distance += u32::from(user.control.stall);
            if distance >= PREDICATE_CYCLES || is_left(user) {
                break;
            }
        }
    }
    None
}

fn shortened(mut insns: Vec<Insn>, size: usize, deleted: &[u32]) -> Option<(Vec<u8>, OffsetMap)> {
    let used = insns.iter().rposition(|insn| insn.op != opcode::NOP).map_or(0, |k| k + 1);
    let padding = insns.get(used).map_or(NOP, |insn| insn.raw);
    insns.truncate(used);
    let goes = |insn: &Insn| deleted.binary_search(&insn.offset).is_ok();
    let (gone, kept): (Vec<Insn>, Vec<Insn>) = insns.into_iter().partition(goes);
    if gone.len() != deleted.len() || !gone.iter().all(is_plain) {
        return None;
    }
    let new_size = padded(kept.len() * crate::decode::INSN_BYTES);
    let map = OffsetMap::new(deleted.to_vec(), size.try_into().ok()?, new_size.try_into().ok()?);
    let words: Vec<u128> = kept
        .iter()
        .map(|insn| {
            insn.control
                .put(retarget(insn, map.new_offset(insn.offset), insn.target.map(|t| map.new_offset(t))))
        })
        .collect();
    Some((bytes(&words, padding, new_size), map))
}

fn is_plain(insn: &Insn) -> bool {
    let fields = insn.control;
    insn.op == opcode::NOP && (fields.write, fields.read, fields.wait) == (NO_SCOREBOARD, NO_SCOREBOARD, 0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const ADDED: u128 = 0x000f_e200_0000_0000_0000_0000_0000_7918;
    const MOVE: u128 = 0x000f_e200_0000_0f00_0000_0005_0000_7202;
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;

    fn code(words: &[u128]) -> Vec<u8> {
        let filled = words.iter().copied().chain(std::iter::repeat(NOP)).take(16);
        filled.flat_map(u128::to_le_bytes).collect()
    }

    #[test]
    fn a_plain_nop_goes_and_the_rest_moves() {
        let (new, map) = without(&code(&[MOVE, ADDED, MOVE, EXIT]), &[16]).unwrap();
        assert_eq!(new, code(&[MOVE, MOVE, EXIT]));
        assert_eq!((map.new_offset(16), map.new_offset(32), map.new_offset(48)), (16, 16, 32));
    }

    #[test]
    fn the_time_of_a_pause_stays_where_it_is_needed() {
        const SYNC: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_7948;
        let stall = |word: u128, cycles: u128| word & !(15 << 105) | cycles << 105;
        let new = |pause: u128| without_pauses(&code(&[stall(SYNC, 5), pause, MOVE, EXIT]), &[16]).unwrap();
        // One cycle goes, two stay; without a schedule nothing changes.
        assert_eq!(new(stall(ADDED, 1)).0, code(&[stall(SYNC, 5), MOVE, EXIT]));
        let (longer, map, sure) = new(stall(ADDED, 2));
        assert_eq!(longer, code(&[stall(SYNC, 7), MOVE, EXIT]));
        assert_eq!((map.deleted(), sure), (&[16][..], true));
        let slow = |word: u128| stall(word, 15) | 3 << 116;
        let unscheduled = without_pauses(&code(&[slow(NOP), slow(NOP), slow(MOVE), EXIT]), &[16]).unwrap();
        assert_eq!(unscheduled.0, code(&[slow(NOP), slow(MOVE), EXIT]));
        assert_eq!(without_pauses(&code(&[SYNC, ADDED, MOVE]), &[0]), None);
    }

    #[test]
    fn other_instructions_stay() {
        let waits = ADDED | 1 << 116;
        assert_eq!(without(&code(&[MOVE, waits, EXIT]), &[16]), None);
        assert_eq!(without(&code(&[MOVE, ADDED, EXIT]), &[0]), None);
        assert_eq!(without(&code(&[MOVE, ADDED, EXIT]), &[0x200]), None);
    }
}
