//! The orders in which the allocator may visit blocks. The exact order of the finalizer is not known; the caller tries all of these and
//! keeps those that reproduce the compiler's own numbers.

use crate::cfg::{BlockId, Cfg};
use crate::decode::{Insn, opcode};

/// How the two successors of a conditional branch are ordered in a reverse post order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockOrder {
    /// The side where the predicate is true comes first.
    TrueFirst,
    /// No graph walk: layout order.
    Layout,
    /// The taken side comes first.
    TakenFirst,
    /// The side where the predicate is false comes first.
    FalseFirst,
    /// The fall-through side comes first.
    FallThroughFirst,
}

/// Candidates, most likely first.
pub(crate) const BLOCK_ORDERS: [BlockOrder; 5] = [
    BlockOrder::TrueFirst,
    BlockOrder::Layout,
    BlockOrder::TakenFirst,
    BlockOrder::FalseFirst,
    BlockOrder::FallThroughFirst,
];

/// All blocks in the given order; unreachable ones last, in layout order.
pub(crate) fn visit_order(cfg: &Cfg, insns: &[Insn], order: BlockOrder) -> Vec<BlockId> {
    let Some(entry) = cfg.ids().next().filter(|_| order != BlockOrder::Layout) else {
        return cfg.ids().collect();
    };
    let mut seen = vec![false; cfg.blocks.len()];
    let mut post = Vec::with_capacity(cfg.blocks.len());
    seen[entry.index()] = true;
    let mut stack = vec![(entry, visit_last_first(cfg, insns, order, entry), 0)];
    while let Some((block, succ, next)) = stack.last_mut() {
        match succ.get(*next).copied() {
            Some(to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to.index()], true) {
                    stack.push((to, visit_last_first(cfg, insns, order, to), 0));
                }
            }
            None => {
                post.push(*block);
                stack.pop();
            }
        }
    }
    post.reverse();
    post.extend(cfg.ids().filter(|id| !seen[id.index()]));
    post
}

/// Successors in the order of the depth-first walk: what is walked first ends up later in the reverse post order.
fn visit_last_first(cfg: &Cfg, insns: &[Insn], order: BlockOrder, id: BlockId) -> Vec<BlockId> {
    let block = &cfg.blocks[id.index()];
    let branch = &insns[block.end - 1];
    let two_way = matches!(branch.op, opcode::BRA | opcode::BRA_U | opcode::EXIT | opcode::BSYNC | opcode::RET);
    let (&[a, b], true) = (block.succ.as_slice(), two_way) else {
        return block.succ.clone();
    };
    let Some(&next) = cfg.block_of.get(block.end) else {
        return vec![a, b];
    };
    let taken = match (a == next, b == next) {
        (false, true) => a,
        (true, false) => b,
        _ => return vec![a, b],
    };
    let negated = match (branch.op, branch.guard) {
        (opcode::BRA_U, _) => branch.bits(27, 1) == 1,
        (_, Some(guard)) => guard.negated,
        (_, None) => branch.bits(90, 1) == 1,
    };
    let taken_walked_first = match order {
        BlockOrder::TrueFirst | BlockOrder::Layout => negated,
        BlockOrder::FalseFirst => !negated,
        BlockOrder::TakenFirst => false,
        BlockOrder::FallThroughFirst => true,
    };
    if taken_walked_first { vec![taken, next] } else { vec![next, taken] }
}
