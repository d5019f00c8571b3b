//! Estimated times, as the choice of a number to share sees them.
//!
//! 1. In a block an instruction is issued after the stalls of those before it, and when everything of the block that it depends on has arrived.
//! 2. From one block to another time passes on the shortest way: whole blocks in between, and the rest of the block where an instruction was issued.
//! 3. After [`LONGEST`] cycles everything but loads from memory has arrived: what is further away does not matter.

use std::collections::{BTreeMap, BTreeSet};

use crate::cfg::{BlockId, Cfg, LONGEST};
use crate::decode::Insn;
use crate::setter::{SetterId, Setters};

/// The times of a function's instructions, each counted in its block.
#[derive(Debug)]
pub(crate) struct Times {
    issue: Vec<u32>,
    to_end: Vec<i64>,
}

impl Times {
    pub(crate) fn new(insns: &[Insn], cfg: &Cfg, setters: &Setters<'_>) -> Self {
        let mut times = Self {
            issue: Vec::with_capacity(insns.len()),
            to_end: Vec::with_capacity(insns.len()),
        };
        let mut pending: Vec<(SetterId, u32)> = Vec::new();
        for block in &cfg.blocks {
            let mut now = 0u32;
            pending.clear();
            for (k, insn) in (block.start..block.end).zip(&insns[block.start..block.end]) {
                pending.retain(|(s, done)| {
                    let conflict = setters.conflicts(*s, k);
                    if conflict {
                        now = now.max(*done + setters.get(*s).delay(insn));
                    }
                    !conflict
                });
                times.issue.push(now);
                pending.extend(setters.of(k).map(|s| (s, now + setters.get(s).latency)));
                now += u32::from(insn.control.stall);
            }
            times
                .to_end
                .extend(times.issue[block.start..].iter().map(|issue| i64::from(now - issue)));
        }
        times
    }

    /// Cycles from the start of its block to the issue of an instruction.
    pub(crate) fn issue(&self, insn: usize) -> i64 {
        self.issue.get(insn).map_or(i64::MAX, |t| i64::from(*t))
    }

    /// Cycles from the issue of an instruction to the end of its block.
    pub(crate) fn to_end(&self, insn: usize) -> i64 {
        self.to_end[insn]
    }

    /// Cycles from the end of other blocks to the start of this one, as far as that takes less than [`LONGEST`].
    pub(crate) fn nearby(&self, cfg: &Cfg, id: BlockId) -> BTreeMap<BlockId, i64> {
        let mut distances = BTreeMap::new();
        let mut queue: BTreeSet<(i64, BlockId)> = cfg.blocks[id.index()].pred.iter().map(|pred| (0, *pred)).collect();
        while let Some((distance, block)) = queue.pop_first() {
            if distances.contains_key(&block) {
                continue;
            }
            distances.insert(block, distance);
            let block = &cfg.blocks[block.index()];
            let through = distance + self.to_end(block.start);
            if through < LONGEST {
                queue.extend(block.pred.iter().map(|pred| (through, *pred)));
            }
        }
        distances
    }
}
