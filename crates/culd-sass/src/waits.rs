//! Code without instructions that a later compiler added to it.
//!
//! 1. Each instruction to delete is a plain `NOP`: it has no scoreboards and waits for nothing.
//! 2. Branches to it go to the next instruction that stays; the code is padded as the compiler does.
//! 3. All other fields stay.

use crate::decode::{Insn, NO_SCOREBOARD, decode_all, opcode, retarget};
use crate::fence::OffsetMap;
use crate::rewrite::{NOP, bytes, padded};

/// The code without the instructions at `deleted`, which is sorted, and where the others went. `None` if it cannot be taken apart, or one of them is no plain `NOP`.
#[must_use]
pub fn without(code: &[u8], deleted: &[u32]) -> Option<(Vec<u8>, OffsetMap)> {
    let mut insns = decode_all(code)?;
    let used = insns.iter().rposition(|insn| insn.op != opcode::NOP).map_or(0, |k| k + 1);
    let padding = insns.get(used).map_or(NOP, |insn| insn.raw);
    insns.truncate(used);
    let goes = |insn: &Insn| deleted.binary_search(&insn.offset).is_ok();
    let (gone, kept): (Vec<Insn>, Vec<Insn>) = insns.into_iter().partition(goes);
    if gone.len() != deleted.len() || !gone.iter().all(is_plain) {
        return None;
    }
    let new_size = padded(kept.len() * crate::decode::INSN_BYTES);
    let map = OffsetMap::new(deleted.to_vec(), code.len().try_into().ok()?, new_size.try_into().ok()?);
    let words: Vec<u128> = kept
        .iter()
        .map(|insn| retarget(insn, map.new_offset(insn.offset), insn.target.map(|t| map.new_offset(t))))
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
    fn other_instructions_stay() {
        let waits = ADDED | 1 << 116;
        assert_eq!(without(&code(&[MOVE, waits, EXIT]), &[16]), None);
        assert_eq!(without(&code(&[MOVE, ADDED, EXIT]), &[0]), None);
        assert_eq!(without(&code(&[MOVE, ADDED, EXIT]), &[0x200]), None);
    }
}
