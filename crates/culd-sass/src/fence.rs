//! Deletion of the fence work-around prefixes, and the offsets that move with it.
//!
//! The compiler puts both prefixes before every fence; the linker sees the whole function and removes unnecessary ones.
//!
//! 1. `MEMBAR.ALL.CTA` directly followed by another `MEMBAR` is deleted, whatever its guard, if the function uses no barrier objects
//!    (`SYNCS`).
//! 2. The run of up to four `@!PT LDS RZ,[RZ]` directly before any `MEMBAR` is deleted (the `MEMBAR` itself may stay), if the function has
//!    no asynchronous copies (`LDGSTS`).
//! 3. Every offset after a deleted instruction moves down by 16 per deletion; an offset inside a prefix means the next kept instruction.

use crate::decode::{INSN_BYTES, Insn, opcode};

/// `@!PT LDS RZ, [RZ]` without its control fields.
const DUMMY_LOAD: u128 = 0x800_0000_0000_ffff_f984;

/// Longest run of dummy loads that belongs to one fence.
const RUN: usize = 4;

/// Old offsets to new offsets of one function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffsetMap {
    deleted: Vec<u32>,
    old_size: u32,
    new_size: u32,
}

impl OffsetMap {
    pub(crate) fn new(deleted: Vec<u32>, old_size: u32, new_size: u32) -> Self {
        Self {
            deleted,
            old_size,
            new_size,
        }
    }

    /// The new place of an old offset. Offsets at or after the old end become the new end.
    #[must_use]
    pub fn new_offset(&self, old: u32) -> u32 {
        if old >= self.old_size && self.old_size != 0 {
            return self.new_size;
        }
        let before = self.deleted.partition_point(|offset| *offset < old);
        old.saturating_sub(u32::try_from(before * INSN_BYTES).unwrap_or(u32::MAX))
    }

    /// Offsets of the deleted instructions in the old code, ascending. Empty when only control fields changed.
    #[must_use]
    pub fn deleted(&self) -> &[u32] {
        &self.deleted
    }

    /// Number of deleted instructions in an old range of offsets.
    #[must_use]
    pub fn deleted_in(&self, range: std::ops::Range<u32>) -> usize {
        self.deleted.iter().filter(|offset| range.contains(offset)).count()
    }

    /// This map, and then another one of the code that it leads to.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let mut deleted = self.deleted.clone();
        let mut before = self.deleted.iter().peekable();
        let mut moved = 0;
        for &offset in &next.deleted {
            while before.next_if(|d| **d <= offset.saturating_add(moved)).is_some() {
                moved += INSN_BYTES as u32;
            }
            deleted.push(offset.saturating_add(moved));
        }
        deleted.sort_unstable();
        Self::new(deleted, self.old_size, next.new_size)
    }

    /// Code size after the rewrite, padding included.
    #[must_use]
    pub fn new_size(&self) -> u32 {
        self.new_size
    }
}

fn is_dummy_load(insn: &Insn) -> bool {
    insn.raw & ((1 << 105) - 1) == DUMMY_LOAD
}

fn is_cta_fence(insn: &Insn) -> bool {
    insn.op == opcode::MEMBAR && insn.bits(72, 8) == 0x80
}

/// Marks the instructions to delete.
pub(crate) fn deletable_prefixes(insns: &[Insn]) -> Vec<bool> {
    let has = |name| insns.iter().any(|insn| insn.name == name);
    let (barriers, copies) = (has("SYNCS"), has("LDGSTS"));
    let mut deletable = vec![false; insns.len()];
    for (k, insn) in insns.iter().enumerate() {
        if insn.op != opcode::MEMBAR {
            continue;
        }
        let next_is_fence = insns.get(k + 1).is_some_and(|next| next.op == opcode::MEMBAR);
        deletable[k] |= next_is_fence && is_cta_fence(insn) && !barriers;
        if copies {
            continue;
        }
        for j in (k.saturating_sub(RUN)..k).rev().take_while(|j| is_dummy_load(&insns[*j])) {
            deletable[j] = true;
        }
    }
    deletable
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::decode;

    const FENCE_CTA: u128 = 0x000f_c000_0000_8000_0000_0000_0000_7992;
    const FENCE_GPU: u128 = 0x000f_c000_0000_a000_0000_0000_0000_7992;
    /// A wait for a barrier object, and an asynchronous copy.
    const ARRIVE: u128 = 0x004e_2600_0800_10ff_0000_0000_0500_75a7;
    const COPY: u128 = 0x004f_e800_0b9a_1004_0000_0000_0205_7fae;
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

    fn marks(code: &[u128]) -> Vec<bool> {
        let insns: Vec<Insn> = code.iter().enumerate().map(|(k, raw)| decode(*raw, 16 * k as u32)).collect();
        deletable_prefixes(&insns)
    }

    #[test]
    fn two_maps_make_one() {
        let (first, next) = (OffsetMap::new(vec![16, 64], 128, 96), OffsetMap::new(vec![16, 48, 64], 96, 48));
        let both = first.then(&next);
        assert_eq!(both.deleted(), [16, 32, 64, 80, 96]);
        for old in (0..128).step_by(INSN_BYTES) {
            assert_eq!(both.new_offset(old), next.new_offset(first.new_offset(old)), "{old}");
        }
        assert_eq!((both.new_offset(128), both.new_size()), (48, 48));
    }

    #[test]
    fn prefix_of_a_fence_goes_and_the_fence_stays() {
        let dummy = DUMMY_LOAD | 0xfc0 << 109;
        assert_eq!(marks(&[NOP, dummy, dummy, FENCE_CTA, FENCE_GPU]), [false, true, true, true, false]);
        assert_eq!(marks(&[dummy, FENCE_CTA, NOP]), [true, false, false]);
        assert_eq!(
            marks(&[dummy, dummy, dummy, dummy, dummy, FENCE_GPU]),
            [false, true, true, true, true, false]
        );
        assert_eq!(marks(&[dummy, NOP, FENCE_GPU]), [false, false, false]);
        // a function with a barrier object, and one with an asynchronous copy
        assert_eq!(marks(&[dummy, FENCE_CTA, FENCE_GPU, ARRIVE]), [true, false, false, false]);
        assert_eq!(marks(&[COPY, dummy, FENCE_CTA, FENCE_GPU]), [false, false, true, false]);
    }

    #[test]
    fn offsets_inside_a_prefix_go_to_the_next_kept_instruction() {
        let map = OffsetMap::new(vec![16, 32], 128, 96);
        assert_eq!([0, 16, 32, 48, 64, 128].map(|o| map.new_offset(o)), [0, 16, 16, 16, 32, 96]);
        assert_eq!(map.deleted_in(0..32), 1);
    }
}
