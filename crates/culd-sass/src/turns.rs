//! Where a warp gives up its turn, after a stall grew.
//!
//! 1. From the start of a block, and from every instruction that gives up the turn, cycles are counted.
//! 2. An instruction of fixed latency that stalls two cycles gives up the turn when the count reaches [`TURN`] with it, and else keeps it. Shorter stalls
//!    keep it; what longer ones do is in the input.
//! 3. Where a stall of the block grew, the count is another from there on, until an instruction gives up the turn in both.
//! 4. Operands that are kept for an instruction beyond a new end of a turn are not kept.
//! 5. Where the input does not follow the rule, or a longer stall would reach the count, the answer is not known.
//!
//! Observed: 101,761 of 103,176 instructions that stall two cycles in functions of one architecture; 1,303 of the others are the first of a turn. A stall grew in
//! five functions with such an instruction after it.

use crate::cfg::Cfg;
use crate::decode::{Control, Insn, NO_SCOREBOARD};

/// Cycles after which a warp gives up its turn.
const TURN: u32 = 12;

/// Where the operand of each bit of [`Control::reuse`] is in the instruction.
const OPERANDS: [u32; 3] = [24, 32, 64];

/// Decides anew who gives up the turn in blocks with a stall that grew; the first such stall after which that is not known is returned.
pub(crate) fn follow(insns: &[Insn], cfg: &Cfg, fields: &mut [Control]) -> Option<usize> {
    cfg.blocks.iter().find_map(|block| {
        let (old, new) = (insns.get(block.start..block.end)?, fields.get_mut(block.start..block.end)?);
        let grown = old.iter().zip(new.iter()).position(|(old, new)| new.stall > old.control.stall)?;
        let unknown = count(old, new, grown).is_none();
        unknown.then_some(block.start + grown)
    })
}

/// Counts in the old and the new code of a block side by side; `None`: not known.
fn count(old: &[Insn], new: &mut [Control], grown: usize) -> Option<()> {
    let (mut before, mut now) = (0, 0);
    for k in 0..old.len() {
        let (is, was) = (*new.get(k)?, old.get(k)?.control);
        let fixed = was.read == NO_SCOREBOARD && was.write == NO_SCOREBOARD;
        let reaches = |count: u32, control: Control| count + u32::from(control.stall) >= TURN;
        if k > grown && fixed && before != now {
            let changes = reaches(before, was) != reaches(now, is);
            match is.stall {
                0 | 1 => {}
                2 if was.stays == reaches(before, was) => return None,
                2 if changes => {
                    new.get_mut(k)?.stays = !was.stays;
                    if was.stays {
                        forget(old, new, k)?;
                    }
                }
                2 => {}
                _ if changes && was.stays => return None,
                _ => {}
            }
        }
        let counted = |count: u32, control: Control| if control.stays { count + u32::from(control.stall) } else { 0 };
        before = counted(before, was);
        now = counted(now, *new.get(k)?);
    }
    Some(())
}

/// Instruction `k` gives up the turn now: what was kept for one after it is forgotten. `None`: not known for whom operands are kept.
fn forget(old: &[Insn], new: &mut [Control], k: usize) -> Option<()> {
    if old.get(k)?.control.reuse != 0 {
        return None;
    }
    // Uniform instructions have operands of their own.
    let plain = |insn: &Insn| !insn.name.starts_with('U');
    let Some(last) = old.get(..k)?.iter().rposition(plain) else {
        return Some(());
    };
    let keeper = old.get(last)?;
    if keeper.control.reuse == 0 || plain(old.get(k)?) {
        return Some(());
    }
    let user = old.get(k..)?.iter().find(|insn| plain(insn))?;
    for (bit, at) in OPERANDS.into_iter().enumerate() {
        let kept = keeper.control.reuse >> bit & 1 == 1;
        if kept && keeper.raw >> at & 0xff != user.raw >> at & 0xff {
            return None;
        }
    }
    new.get_mut(last)?.reuse = 0;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;

    /// `LDCU.64 UR16`, `IMAD.MOV.U32 R0, RZ, RZ, R0`, `UMOV UR4, 1`.
    const LOAD: u128 = 0x0800_0a00_0000_7300_ff10_77ac;
    const MOVE: u128 = 0x078e_00ff_0000_00ff_0000_7224;
    const UNIFORM: u128 = 0x0000_0001_0004_7882;

    fn code(list: &[(u128, u8, bool, u8)]) -> Vec<Insn> {
        let insn = |(k, (raw, stall, stays, reuse)): (u32, &(u128, u8, bool, u8))| {
            let write = if *raw == LOAD { 0 } else { NO_SCOREBOARD };
            let control = Control {
                stall: *stall,
                write,
                read: NO_SCOREBOARD,
                wait: 0,
                stays: *stays,
                reuse: *reuse,
            };
            decode(control.put(*raw), 16 * k)
        };
        (0..).zip(list).map(insn).collect()
    }

    /// The fields when the load at the start stalls a cycle longer.
    fn grown(list: &[(u128, u8, bool, u8)]) -> Option<Vec<Control>> {
        let insns = code(list);
        let cfg = Cfg::new(&insns, &Default::default(), false);
        let mut fields: Vec<Control> = insns.iter().map(|i| i.control).collect();
        fields[0].stall += 1;
        follow(&insns, &cfg, &mut fields).is_none().then_some(fields)
    }

    #[test]
    fn the_turn_ends_after_twelve_cycles() {
        let mut list = vec![(LOAD, 1, true, 0)];
        list.extend([(MOVE, 1, true, 0); 8]);
        list.extend([(MOVE, 2, true, 0), (MOVE, 2, false, 0), (MOVE, 2, true, 0)]);
        let fields = grown(&list).unwrap_or_default();
        let ends: Vec<usize> = (0..fields.len()).filter(|k| !fields[*k].stays).collect();
        assert_eq!(ends, [9], "11 cycles before, 12 now");
        list[9].2 = false;
        assert_eq!(grown(&list), None, "the input has another rule");
    }

    #[test]
    fn operands_are_not_kept_over_the_end_of_a_turn() {
        let mut list = vec![(LOAD, 1, true, 0)];
        list.extend([(MOVE, 1, true, 0); 7]);
        list.extend([(MOVE, 1, true, 1), (UNIFORM, 2, true, 0), (MOVE, 2, false, 0)]);
        let fields = grown(&list).unwrap_or_default();
        assert_eq!((fields[8].reuse, fields[9].stays, fields[10].stays), (0, false, true));
    }
}
