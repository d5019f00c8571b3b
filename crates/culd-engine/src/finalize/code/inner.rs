//! Calls of functions inside of a kernel (`-ewp`) in code whose instructions moved.
//!
//! 1. Calls and returns have the distance to their target: the function, or for a return the start of the kernel, from which return addresses count.
//! 2. Return addresses are immediate operands. The relocations of labels in the Mercury view tell which: the compiler's finalizer resolved those of the SASS
//!    view.

use crate::finalize::code::exits::Fenced;
use crate::finalize::code::offsets::mercury_places;
use crate::object::{ObjSection, Object, entry};
use cubin::layout::R_MERCURY_PROG_REL32;
use culd_sass::decode::{INSN_BYTES, displacement, opcode, with_displacement};

/// The immediate operand of an instruction.
const IMMEDIATE: u32 = 32;

/// SASS offsets of the instructions whose immediate operand is a label.
pub(crate) fn labels(object: &Object<'_>, section: u32, input: &ObjSection<'_>) -> Result<Vec<u32>, String> {
    let lists = object.relocs.iter().filter(|r| r.target == section);
    let entries = lists.flat_map(|list| (0..list.entries.len()).map(|i| entry(&list.entries, i)));
    let mut found = entries.filter(|e| e.r_type.get() == R_MERCURY_PROG_REL32).peekable();
    if found.peek().is_none() {
        return Ok(Vec::new());
    }
    let places = mercury_places(object, section).ok_or("has an instruction whose Mercury size is not known, before the labels of calls")?;
    let start = |at: u64| places.range(..=at).next_back().map_or(0, |p| *p.1);
    Ok(found
        .filter(|e| e.r_offset.get() < input.size)
        .filter_map(|e| u32::try_from(start(e.r_offset.get())).ok())
        .collect())
}

/// Moves the targets of calls, returns and return addresses. `old` is the code before.
pub(crate) fn retarget(fenced: &mut Fenced, old: &[u8], labels: &[u32]) {
    let (words, moves) = (old.as_chunks::<INSN_BYTES>().0, &fenced.moves);
    for (at, word) in (0u32..).step_by(INSN_BYTES).zip(words) {
        let raw = u128::from_le_bytes(*word);
        let op = (raw & 0xfff) as u16;
        let new = moves.instruction(at);
        let Some(slot) = fenced.code.get_mut(new as usize..).and_then(|c| c.first_chunk_mut::<INSN_BYTES>()) else {
            continue;
        };
        let now = u128::from_le_bytes(*slot);
        let moved = if opcode::CALLS.contains(&op) || op == opcode::RET {
            let target = i64::from(at) + INSN_BYTES as i64 + displacement(raw).saturating_mul(4);
            let inside = u32::try_from(target).ok().filter(|t| (*t as usize) < old.len());
            inside.map(|t| with_displacement(now, (i64::from(moves.label(t)) - i64::from(new) - INSN_BYTES as i64) / 4))
        } else if labels.contains(&at) {
            let label = u128::from(moves.label((raw >> IMMEDIATE) as u32));
            Some(now & !(0xffff_ffff << IMMEDIATE) | label << IMMEDIATE)
        } else {
            None
        };
        if let Some(moved) = moved {
            *slot = moved.to_le_bytes();
        }
    }
}
