//! What a rewrite may change, beside the code that it was made from.
//!
//! 1. Every instruction that stays is at its new place. Its word is the old one but for the scoreboard fields, the stall and, in code that moved, the
//!    displacement of a branch, which leads to the new place of the old target. It may give up the warp's turn or not, and keep fewer operands for the next
//!    instruction.
//! 2. An instruction signals results and operands when it did so before; the load of a stack pointer that nothing uses no longer does.
//! 3. A stall is the compiler's. It is two cycles instead of one where the next instruction waits for a scoreboard that this one sets, and one instead of two
//!    after the load of the stack pointer, and after a uniform load of a constant for which the next instruction no longer waits. An instruction before a
//!    plain load may stall the cycle longer by which a uniform load before it stalls less.

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
    let mut owed = 0;
    for (k, pair) in pairs.iter().enumerate() {
        compare(*pair, pairs.get(k + 1).copied(), map, &mut owed)?;
    }
    // The rest is padding, of one kind.
    let rest = new.get(pairs.len()..).unwrap_or_default();
    let padding = rest.first().map_or(0, |insn| insn.raw);
    rest.iter()
        .find(|insn| insn.raw != padding || insn.op != opcode::NOP)
        .map_or(Ok(()), |insn| Err(Alarm::Changed(insn.offset)))
}

/// `owed`: cycles that uniform loads before stall less.
fn compare((old, new): (&Insn, &Insn), next: Option<(&Insn, &Insn)>, map: &OffsetMap, owed: &mut u8) -> Result<(), Alarm> {
    let (wait_before, wait_now) = next.map_or((0, 0), |(old, new)| (old.control.wait, new.control.wait));
    let moved = if map.deleted().is_empty() {
        old.raw
    } else {
        retarget(old, new.offset, old.target.map(|t| map.new_offset(t)))
    };
    let (was, is) = (old.control, new.control);
    let dead = was.write != NO_SCOREBOARD && is.write == NO_SCOREBOARD && is_stack_pointer(old);
    let signals = |c: Control| (c.write != NO_SCOREBOARD, c.read != NO_SCOREBOARD);
    if new.raw != is.put(moved)
        || map.new_offset(old.offset) != new.offset
        || (signals(was) != signals(is) && !dead)
        || is.reuse & !was.reuse != 0
    {
        return Err(Alarm::Changed(new.offset));
    }
    let stall = match (was.stall, is.stall) {
        (a, b) if a == b => true,
        (1, 2) if sets(is, wait_now) => true,
        (2, 1) if dead => true,
        (2, 1) if old.name == "LDCU" && sets(was, wait_before) && !sets(is, wait_now) => {
            *owed = 1;
            true
        }
        (a, b) if b == a + 1 && next.is_some_and(|(next, _)| next.name == "LDC") => std::mem::take(owed) == 1,
        _ => false,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::context::KernelContext;

    /// `LDC R1, c[0][0x37c]` on scoreboard 0, `LDS R4, [R2]` on 1, `IADD3`-like use of R4 that waits for 1, `EXIT`, padding.
    const CODE: [u128; 5] = [
        0x000e_2200_0000_0800_0000_df00_ff01_7b82,
        0x000e_6400_0000_0800_0000_0000_0204_7984,
        0x002f_ca00_078e_0004_0000_0004_0404_7224,
        0x000f_ea00_0380_0000_0000_0000_0000_794d,
        0x000f_c000_0000_0000_0000_0000_0000_7918,
    ];

    fn bytes(code: &[u128]) -> Vec<u8> {
        code.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The code with other control fields at one instruction.
    fn with(k: usize, change: impl Fn(&mut Control)) -> Vec<u8> {
        let mut code = CODE;
        let mut control = crate::decode::decode(code[k], 0).control;
        change(&mut control);
        code[k] = control.put(code[k]);
        bytes(&code)
    }

    #[test]
    fn only_scoreboards_and_a_few_stalls_may_change() {
        let (before, map) = (bytes(&CODE), OffsetMap::new(Vec::new(), 80, 80));
        let verdict = |after: &[u8]| changes(&before, after, &map);
        assert_eq!(verdict(&before), Ok(()));
        assert_eq!(verdict(&with(0, |c| c.write = 7)), Ok(()), "the stack pointer");
        assert_eq!(verdict(&with(1, |c| c.write = 3)), Ok(()), "another scoreboard");
        assert_eq!(
            verdict(&with(1, |c| c.write = 7)),
            Err(Alarm::Changed(16)),
            "a result without a scoreboard"
        );
        assert_eq!(verdict(&with(1, |c| c.stall = 1)), Err(Alarm::Stall(16)));
        assert_eq!(verdict(&with(2, |c| c.stall += 1)), Err(Alarm::Stall(32)));
        let mut other = CODE;
        other[2] ^= 1 << 24;
        assert_eq!(verdict(&bytes(&other)), Err(Alarm::Changed(32)), "another operand");
    }

    #[test]
    fn a_uniform_load_that_is_waited_for_later_stalls_less() {
        // LDCU.64 UR10, c[0][0x398]; a move; LDC R1
        let words = [
            0x0800_0a00_0000_7300_ff0a_77ac,
            0x0400_0000_4000_0200_7224,
            CODE[0] & ((1 << 105) - 1),
        ];
        let code = |stalls: [u8; 3], wait: u8| {
            let fields = stalls.into_iter().enumerate().map(|(k, stall)| Control {
                stall,
                write: if k == 1 { NO_SCOREBOARD } else { 0 },
                read: NO_SCOREBOARD,
                wait: if k == 1 { wait } else { 0 },
                stays: false,
                reuse: 0,
            });
            bytes(&fields.zip(words).map(|(fields, word)| fields.put(word)).collect::<Vec<_>>())
        };
        let (before, map) = (code([2, 5, 1], 1), OffsetMap::new(Vec::new(), 48, 48));
        let verdict = |stalls, wait| changes(&before, &code(stalls, wait), &map);
        assert_eq!(verdict([1, 5, 1], 2), Ok(()));
        assert_eq!(verdict([1, 6, 1], 2), Ok(()), "before a plain load");
        assert_eq!(verdict([1, 5, 1], 1), Err(Alarm::Stall(0)), "still waited for");
        assert_eq!(verdict([1, 7, 1], 2), Err(Alarm::Stall(16)), "more than it stalls less");
        assert_eq!(verdict([2, 6, 1], 1), Err(Alarm::Stall(16)));
    }

    #[test]
    fn a_scoreboard_is_taken_a_cycle_after_the_issue() {
        let context = KernelContext {
            arch: 100,
            entry: true,
            ..KernelContext::default()
        };
        assert_eq!(check(&bytes(&CODE), &context), Ok(()));
        assert_eq!(check(&with(1, |c| c.stall = 1), &context), Err(Alarm::Stall(16)));
    }
}
