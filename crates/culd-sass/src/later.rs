//! Which operand reads that leave their block are overwritten in a later one.
//!
//! 1. Per block, the registers that it writes and touches: by any instruction, and by those that always conflict (no guard, and of a kind that does not
//!    come after others in a queue).
//! 2. Flow them against the graph: what the blocks after a block may do, and what one of them does for certain.
//! 3. A read is overwritten if something certain hits it, and not if nothing hits it. In between, the instructions decide one by one.

use crate::cfg::{BlockId, Cfg};
use crate::reg::RegSet;
use crate::setter::{SetterId, Setters, is_queued};

/// Registers that instructions write and touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Effects {
    defs: RegSet,
    touched: RegSet,
}

impl Effects {
    fn join(&mut self, other: &Effects) {
        self.defs = self.defs.union(&other.defs);
        self.touched = self.touched.union(&other.touched);
    }
}

/// What instructions may do, and what they do for certain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Summary {
    possible: Effects,
    certain: Effects,
}

impl Summary {
    fn join(&mut self, other: &Summary) {
        self.possible.join(&other.possible);
        self.certain.join(&other.certain);
    }
}

/// What can happen after every block.
#[derive(Debug)]
pub(crate) struct LaterWrites {
    after: Vec<Summary>,
}

impl LaterWrites {
    pub(crate) fn new(cfg: &Cfg, setters: &Setters<'_>) -> Self {
        let own: Vec<Summary> = cfg.blocks.iter().map(|b| summary(setters, b.start..b.end)).collect();
        let mut after = vec![Summary::default(); cfg.blocks.len()];
        let mut queue: Vec<BlockId> = cfg.ids().collect();
        let mut queued = vec![true; cfg.blocks.len()];
        while let Some(id) = queue.pop() {
            queued[id.index()] = false;
            let mut new = after[id.index()];
            for succ in &cfg.blocks[id.index()].succ {
                new.join(&own[succ.index()]);
                new.join(&after[succ.index()]);
            }
            if new == after[id.index()] {
                continue;
            }
            after[id.index()] = new;
            for pred in &cfg.blocks[id.index()].pred {
                if !std::mem::replace(&mut queued[pred.index()], true) {
                    queue.push(*pred);
                }
            }
        }
        Self { after }
    }

    /// Does a block that can follow the setter's own write what the setter reads?
    pub(crate) fn overwrites(&self, cfg: &Cfg, setters: &Setters<'_>, id: SetterId) -> bool {
        let own = cfg.block_of[setters.get(id).insn];
        let Summary { possible, certain } = &self.after[own.index()];
        let hit = |effects: &Effects| setters.may_conflict(id, &effects.defs, &effects.touched);
        hit(certain) || hit(possible) && walk(cfg, setters, id, own)
    }
}

fn summary(setters: &Setters<'_>, range: std::ops::Range<usize>) -> Summary {
    let mut out = Summary::default();
    for k in range {
        let insn = setters.insn(k);
        let effects = Effects {
            defs: insn.defs,
            touched: *setters.touched(k),
        };
        out.possible.join(&effects);
        if insn.guard.is_none() && !is_queued(insn) {
            out.certain.join(&effects);
        }
    }
    out
}

/// The same question, answered instruction by instruction.
fn walk(cfg: &Cfg, setters: &Setters<'_>, id: SetterId, own: BlockId) -> bool {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut next = cfg.blocks[own.index()].succ.clone();
    while let Some(block) = next.pop() {
        if std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        let block = &cfg.blocks[block.index()];
        if setters.first_conflict(id, block.start..block.end).is_some() {
            return true;
        }
        next.extend(block.succ.iter().copied());
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::IndirectTargets;
    use crate::decode::{INSN_BYTES, decode_all};
    use crate::setter::Kind;

    /// `STG` with an operand scoreboard, `ATOM`, `MOV`, `SHFL`, `LDG`, `BRA`.
    const FORMS: [u128; 6] = [
        0x0003_e200_0c10_190a_0000_0007_0200_0986,
        0x0003_6200_081e_f10a_8000_0005_0200_098a,
        0x000f_e200_0000_0f00_0000_0005_0007_0202,
        0x020e_a200_0000_00ff_0420_0000_0500_0989,
        0x0003_e200_0c10_190a_0000_0007_0200_0981,
        0x000f_ea00_0380_0000_0000_0000_0044_0947,
    ];

    #[test]
    fn the_summaries_agree_with_the_instructions() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = move |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let mut answers = [0; 2];
        for _ in 0..400 {
            let count = 8 + below(40);
            let code: Vec<u8> = (0..count)
                .flat_map(|_| {
                    let form = FORMS[below(FORMS.len() as u64) as usize];
                    let guard = [7, 7, 0, 8, 1][below(5) as usize];
                    let registers: u128 = (below(12) << 16 | below(12) << 24 | below(12) << 32 | guard << 12).into();
                    (form & !0xff_ffff_f000 | registers).to_le_bytes()
                })
                .collect();
            let mut insns = decode_all(&code).expect("whole instructions");
            for insn in insns.iter_mut().filter(|insn| insn.target.is_some()) {
                insn.target = Some(below(count) as u32 * INSN_BYTES as u32);
            }
            let cfg = Cfg::new(&insns, &IndirectTargets::default());
            let setters = Setters::new(&insns, &cfg);
            let later = LaterWrites::new(&cfg, &setters);
            for id in setters.ids().filter(|id| setters.get(*id).kind == Kind::Read) {
                let own = cfg.block_of[setters.get(id).insn];
                let expected = walk(&cfg, &setters, id, own);
                assert_eq!(later.overwrites(&cfg, &setters, id), expected);
                answers[usize::from(expected)] += 1;
            }
        }
        assert!(answers.iter().all(|n| *n > 500), "{answers:?}");
    }
}
