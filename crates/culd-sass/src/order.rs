//! The order in which the allocator visits blocks.
//!
//! 1. Reverse post order from the first block.
//! 2. The walk takes the successors of a block as a hash table of eight buckets gives them: by the FNV-1a hash of their numbers in layout order, successors of
//!    one bucket by number. Observed on switches: the arms are numbered neither forwards nor backwards.
//! 3. Blocks that are not reached come last, in layout order.

use crate::cfg::{BlockId, Cfg};

/// Start and factor of FNV-1a, 32 bits.
const FNV: (u32, u32) = (0x811c_9dc5, 0x0100_0193);
/// Buckets of a table of successors.
const BUCKETS: u32 = 8;

/// All blocks in the order of their visits.
pub(crate) fn visit_order(cfg: &Cfg) -> Vec<BlockId> {
    let Some(entry) = cfg.ids().next() else {
        return Vec::new();
    };
    let mut seen = vec![false; cfg.blocks.len()];
    let mut post = Vec::with_capacity(cfg.blocks.len());
    seen[entry.index()] = true;
    let mut stack = vec![(entry, successors(cfg, entry), 0)];
    while let Some((block, succ, next)) = stack.last_mut() {
        match succ.get(*next).copied() {
            Some(to) => {
                *next += 1;
                if !std::mem::replace(&mut seen[to.index()], true) {
                    stack.push((to, successors(cfg, to), 0));
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

/// For every block: does it lead into a loop from outside? A retreating edge is one to a block that is visited before.
pub(crate) fn loop_entries(cfg: &Cfg, order: &[BlockId]) -> Vec<bool> {
    let mut visit = vec![0; cfg.blocks.len()];
    for (at, id) in order.iter().enumerate() {
        visit[id.index()] = at;
    }
    let is_header = |id: BlockId| {
        let mut before = cfg.blocks[id.index()].pred.iter();
        before.any(|pred| visit[pred.index()] >= visit[id.index()])
    };
    let headers: Vec<bool> = cfg.ids().map(is_header).collect();
    let enters = |id: BlockId| {
        let mut next = cfg.blocks[id.index()].succ.iter();
        next.any(|to| headers[to.index()] && visit[to.index()] > visit[id.index()])
    };
    cfg.ids().map(enters).collect()
}

/// Successors in the order of the walk: what is walked first is visited last.
fn successors(cfg: &Cfg, id: BlockId) -> Vec<BlockId> {
    let mut succ = cfg.blocks[id.index()].succ.clone();
    succ.sort_by_key(|to| (bucket(to.index()), *to));
    succ
}

/// The bucket of a block number.
fn bucket(number: usize) -> u32 {
    let number = u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
    let hash = number
        .into_iter()
        .fold(FNV.0, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(FNV.1));
    hash % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_come_by_their_hash() {
        let buckets: Vec<u32> = (0..8).map(bucket).collect();
        assert_eq!(buckets, [5, 4, 7, 6, 1, 0, 3, 2]);
        assert_eq!(bucket(10), bucket(2));
    }
}
