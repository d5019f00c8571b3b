//! What a rewrite may change, beside the code that it was made from.
//!
//! 1. Every instruction that stays is at its new place. Its word is the old one but for the scoreboard fields, the stall and, in code that moved, the
//!    displacement of a branch, which leads to the new place of the old target.
//! 2. An instruction signals results and operands when it did so before; the load of a stack pointer that nothing uses no longer does.
//! 3. A stall is the compiler's. It is two cycles instead of one where the next instruction waits for a scoreboard that this one sets, and one instead of two
//!    after the load of the stack pointer.

use super::Alarm;
use crate::decode::{Control, INSN_BYTES, Insn, NO_SCOREBOARD, SCOREBOARDS, decode_all, opcode, retarget};
use crate::fence::OffsetMap;
use crate::setter::STACK_POINTER;

/// Proves that a rewrite changed nothing but what it may.
///
/// # Errors
/// The first instruction that differs, by its new offset.
pub fn changes(before: &[u8], after: &[u8], map: &OffsetMap) -> Result<(), Alarm> {
    let (old, new) = (decode_all(before).ok_or(Alarm::Size)?, decode_all(after).ok_or(Alarm::Size)?);
    let kept = old.iter().filter(|insn| map.deleted().binary_search(&insn.offset).is_err());
    compare_all(kept, &new, map)
}

/// Compares the instructions that stay with those of the new code.
pub(super) fn compare_all<'a>(kept: impl Iterator<Item = &'a Insn>, new: &[Insn], map: &OffsetMap) -> Result<(), Alarm> {
    let pairs: Vec<(&Insn, &Insn)> = kept.zip(new).collect();
    for (k, (old, new)) in pairs.iter().enumerate() {
        let next = pairs.get(k + 1).map_or(0, |(_, next)| next.control.wait);
        compare(old, new, next, map)?;
    }
    // The rest is padding, of one kind.
    let rest = new.get(pairs.len()..).unwrap_or_default();
    let padding = rest.first().map_or(0, |insn| insn.raw);
    rest.iter()
        .find(|insn| insn.raw != padding || insn.op != opcode::NOP)
        .map_or(Ok(()), |insn| Err(Alarm::Changed(insn.offset)))
}

fn compare(old: &Insn, new: &Insn, next_wait: u8, map: &OffsetMap) -> Result<(), Alarm> {
    let moved = if map.deleted().is_empty() {
        old.raw
    } else {
        retarget(old, new.offset, old.target.map(|t| map.new_offset(t)))
    };
    let (was, is) = (old.control, new.control);
    let dead = was.write != NO_SCOREBOARD && is.write == NO_SCOREBOARD && is_stack_pointer(old);
    let signals = |c: Control| (c.write != NO_SCOREBOARD, c.read != NO_SCOREBOARD);
    if new.raw != is.put(moved) || map.new_offset(old.offset) != new.offset || (signals(was) != signals(is) && !dead) {
        return Err(Alarm::Changed(new.offset));
    }
    let stall = match (was.stall, is.stall) {
        (1, 2) => sets(is, next_wait),
        (2, 1) => dead,
        (a, b) => a == b,
    };
    if stall { Ok(()) } else { Err(Alarm::Stall(new.offset)) }
}

/// Does an instruction set a scoreboard of a wait mask?
pub(super) fn sets(control: Control, wait: u8) -> bool {
    [control.read, control.write]
        .into_iter()
        .any(|n| n < SCOREBOARDS && wait >> n & 1 == 1)
}

fn is_stack_pointer(insn: &Insn) -> bool {
    insn.name == "LDC" && insn.defs.contains(STACK_POINTER) && insn.defs.iter().count() == 1 && insn.offset as usize / INSN_BYTES < 64
}
