//! Basic blocks of one function.
//!
//! 1. A block ends at a branch (`BRA`, `BRA.U`, `BRX`, `BRXU`), `EXIT`, `RET`, `BSYNC` or `WARPSYNC.COLLECTIVE`, and before every target
//!    of a branch, a `BSSY` or an indirect branch. `BAR`, `BSSY` and `WARPSYNC.ALL` do not end one; a guarded `WARPSYNC.ALL` and a `WARPSYNC` of a mask in a
//!    register do (the last one not from 13.1 on). A `WARPSYNC.ALL` begins a block where the instruction before it stalls as at the end of one: on some
//!    architectures and after some instructions it does, which is not understood, but the stall shows it. A `CALL` is a block of its own: what has arrived is
//!    waited for before it, values that are needed after it leave their block, and the numbers of later blocks, which decide the order of visits, grow by two.
//! 2. Successors: a `BSYNC` of convergence register Bn branches to the target of the last `BSSY` Bn above it; indirect branches go to
//!    the targets recorded in the function's metadata.
//! 3. Targets that are not instructions and indirect branches without targets are listed as problems, not guessed.

use std::collections::{BTreeMap, BTreeSet};

use crate::decode::{Control, Insn, NO_SCOREBOARD, opcode};

/// Index of a block in [`Cfg::blocks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlockId(u32);

impl BlockId {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Instructions `start..end` without a branch in between.
#[derive(Debug, Default)]
pub(crate) struct Block {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) succ: Vec<BlockId>,
    pub(crate) pred: Vec<BlockId>,
}

/// The control flow graph of one function.
#[derive(Debug)]
pub(crate) struct Cfg {
    pub(crate) blocks: Vec<Block>,
    /// Block of every instruction.
    pub(crate) block_of: Vec<BlockId>,
    /// Sum of the stalls before every instruction, and of all.
    pub(crate) stalls: Vec<i64>,
    /// A branch target is not an instruction, or an indirect branch had no known target.
    pub(crate) broken: Option<u32>,
}

/// Cycles after which every result but those of long loads has arrived.
pub(crate) const LONGEST: i64 = 64;

/// The targets of one indirect branch, as function offsets.
pub(crate) type IndirectTargets = BTreeMap<u32, Vec<u32>>;

/// `WARPSYNC.COLLECTIVE` and `.EXCLUSIVE` carry a target; a plain `WARPSYNC` of a register mask does not.
pub(crate) fn collective(insn: &Insn) -> bool {
    insn.op == opcode::WARPSYNC_COLLECTIVE && insn.target.is_some()
}

/// One of the forms of `CALL`.
fn is_call(insn: &Insn) -> bool {
    opcode::CALLS.contains(&insn.op)
}

fn ends_block(insn: &Insn, looks_ahead: bool) -> bool {
    collective(insn)
        || matches!(insn.op, opcode::WARPSYNC | opcode::WARPSYNC_COLLECTIVE)
            && (!insn.unguarded() || !looks_ahead && insn.uses.iter().count() > 0)
        || matches!(
            insn.op,
            opcode::BRA | opcode::BRA_U | opcode::BRX | opcode::BRXU | opcode::EXIT | opcode::RET | opcode::BSYNC
        )
}

/// Cycles that an instruction before a `WARPSYNC.ALL` stalls at least where its block ends there, with and without a scoreboard of its own. Observed without
/// an end: 1 with a scoreboard, 1 or 2 without.
const STALLS_AT_END: [u8; 2] = [2, 4];

/// Does a block begin with `insn`, a `WARPSYNC.ALL`? It depends on nothing before it, so that only the end of a block stalls for longer.
fn begins_block(before: &Insn, insn: &Insn) -> bool {
    let Control { stall, read, write, .. } = before.control;
    let scoreboards = [read, write].into_iter().filter(|n| *n != NO_SCOREBOARD);
    let waits = scoreboards.clone().any(|n| insn.control.wait >> n & 1 == 1);
    let least = STALLS_AT_END[usize::from(scoreboards.count() == 0)];
    insn.op == opcode::WARPSYNC && insn.target.is_none() && insn.unguarded() && !waits && stall >= least
}

impl Cfg {
    /// Builds the graph of `insns`, whose offsets need not be contiguous.
    /// `looks_ahead`: the compiler is of release 13.1 or later.
    pub(crate) fn new(insns: &[Insn], indirect: &IndirectTargets, looks_ahead: bool) -> Self {
        let mut broken = None;
        let mut leaders = BTreeSet::from([0]);
        for (k, insn) in insns.iter().enumerate() {
            if is_call(insn) {
                leaders.insert(k);
            }
            if is_call(insn) || ends_block(insn, looks_ahead) {
                leaders.insert(k + 1);
            }
            if k.checked_sub(1).is_some_and(|j| begins_block(&insns[j], insn)) {
                leaders.insert(k);
            }
            let table = match insn.op {
                opcode::BRX | opcode::BRXU => indirect.get(&insn.offset).map_or(&[][..], Vec::as_slice),
                _ => &[],
            };
            for target in insn.target.iter().chain(table) {
                match at(insns, *target) {
                    Some(k) => _ = leaders.insert(k),
                    None => broken = Some(insn.offset),
                }
            }
        }
        leaders.retain(|k| *k < insns.len());
        let mut graph = Self {
            blocks: Vec::with_capacity(leaders.len()),
            block_of: vec![BlockId(0); insns.len()],
            stalls: sums(insns),
            broken,
        };
        let starts: Vec<usize> = leaders.into_iter().collect();
        for (i, start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(insns.len());
            graph.blocks.push(Block {
                start: *start,
                end,
                ..Block::default()
            });
            graph.block_of[*start..end].fill(BlockId::new(i));
        }
        graph.connect(insns, indirect);
        graph
    }

    fn connect(&mut self, insns: &[Insn], indirect: &IndirectTargets) {
        // Last BSSY above, per convergence register.
        let mut converge: [Option<u32>; 16] = [None; 16];
        for i in 0..self.blocks.len() {
            let (start, end) = (self.blocks[i].start, self.blocks[i].end);
            for insn in &insns[start..end] {
                if insn.op == opcode::BSSY {
                    converge[usize::from(insn.bits(16, 4))] = insn.target;
                }
            }
            let last = &insns[end - 1];
            let next = (end < insns.len()).then(|| self.block_of[end]);
            let block_at = |offset: u32| at(insns, offset).map(|k| self.block_of[k]);
            let mut succ: Vec<Option<BlockId>> = Vec::with_capacity(2);
            match last.op {
                opcode::BRA | opcode::BRA_U => {
                    succ.push(last.target.and_then(block_at));
                    if falls_through(last) {
                        succ.push(next);
                    }
                }
                opcode::EXIT | opcode::RET => {
                    if !last.unguarded() {
                        succ.push(next);
                    }
                }
                opcode::BSYNC => {
                    let target = converge[usize::from(last.bits(16, 4))].and_then(block_at);
                    succ.push(target.or(next));
                    if !last.unguarded() {
                        succ.push(next);
                    }
                }
                opcode::BRX | opcode::BRXU => {
                    let Some(table) = indirect.get(&last.offset) else {
                        self.broken = Some(last.offset);
                        continue;
                    };
                    let targets: BTreeSet<BlockId> = table.iter().filter_map(|offset| block_at(*offset)).collect();
                    succ.extend(targets.into_iter().map(Some));
                }
                _ => succ.push(next),
            }
            for to in succ.into_iter().flatten() {
                if !self.blocks[i].succ.contains(&to) {
                    self.blocks[i].succ.push(to);
                    self.blocks[to.index()].pred.push(BlockId::new(i));
                }
            }
        }
    }

    /// All blocks in layout order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = BlockId> + use<> {
        (0..self.blocks.len()).map(BlockId::new)
    }
}

/// The instruction at an offset.
fn at(insns: &[Insn], offset: u32) -> Option<usize> {
    insns.binary_search_by_key(&offset, |insn| insn.offset).ok()
}

fn sums(insns: &[Insn]) -> Vec<i64> {
    let mut sums = vec![0];
    sums.extend(insns.iter().scan(0, |sum, insn| {
        *sum += i64::from(insn.control.stall);
        Some(*sum)
    }));
    sums
}

/// A branch that can also go on to the next instruction: guarded, with a second condition, or of a special kind.
pub(crate) fn falls_through(branch: &Insn) -> bool {
    branch.op == opcode::BRA_U || !branch.unguarded() || branch.bits(87, 4) != 7 || branch.bits(32, 2) != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_a_block_of_its_own() {
        // NOP, CALL.ABS.NOINC, NOP, EXIT
        let nop: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
        let call: u128 = 0x000f_ea00_03c0_0000_0000_0000_0000_7943;
        let exit: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
        let insns: Vec<Insn> = (0..)
            .zip([nop, nop, call, nop, exit])
            .map(|(k, raw)| crate::decode::decode(raw, 16 * k))
            .collect();
        let cfg = Cfg::new(&insns, &IndirectTargets::new(), false);
        let ranges: Vec<(usize, usize)> = cfg.blocks.iter().map(|b| (b.start, b.end)).collect();
        assert_eq!(ranges, [(0, 2), (2, 3), (3, 5)]);
        let next: Vec<usize> = cfg.blocks.iter().flat_map(|b| &b.succ).map(|b| b.index()).collect();
        assert_eq!(next, [1, 2]);
    }
}
