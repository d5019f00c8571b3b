//! The wait masks, when all setters have their numbers.
//!
//! 1. Flow the pending setters of every number through the graph, in the order of the visits, until nothing changes: only what comes around a loop is
//!    not yet there when a block is looked at first. What passes a block because a wait there is still missing would remain pending after it.
//! 2. An instruction waits for a number if a setter pending on it conflicts or is waited for by policy. In the first block of a loop it also does if it
//!    sets the number itself and did not choose to join what is pending there, around the loop; and at the end of that block for what came around the loop
//!    and is new: not what only signals (an atomic without a result) where another on its number does since before the loop, nor what only reads operands
//!    that others on its number read since then.
//! 3. What came around a loop only adds waits: where it alone is waited for, what was pending before stays pending, and is waited for again.
//! 4. A loop that waits at its end for a setter before the loop, without a conflict, adds a wait too (13.1 on).
//! 5. A call waits for everything that is pending.
//! 6. An instruction that sees the same state as in the run with the compiler's numbers waits as it did in the compiler's code.

use super::seen::hash_pending;
use super::{RESERVED_ZERO, Run};
use crate::cfg::{Block, BlockId};
use crate::policy::{ALL_SCOREBOARDS, Pending, counted_wait, keep_last, merge, waits_for_all, waits_for_pending, waits_for_uniform};
use crate::reg::RegSet;
use crate::setter::{Kind, SetterId};

impl Run<'_> {
    /// The wait masks: an instruction waits for every number with a pending setter that conflicts or is waited for by policy.
    pub(super) fn waits(&mut self, order: &[BlockId]) -> Vec<u8> {
        let f = self.f;
        let mut entry = vec![Pending::default(); f.cfg.blocks.len()];
        let mut waits = vec![0; f.insns.len()];
        // Blocks whose entry grew since they were visited.
        let mut grown = vec![true; f.cfg.blocks.len()];
        // Their memory is used again for every block.
        let (mut state, mut late, mut unknown) = (Pending::default(), Pending::default(), Pending::default());
        // Entry sets only grow, so this ends; the bound covers graphs far deeper than any compiler output.
        for _ in 0..64 {
            let mut changed = false;
            for i in order.iter().map(|id| id.index()) {
                let block = &f.cfg.blocks[i];
                if !std::mem::replace(&mut grown[i], false) {
                    continue;
                }
                state.clone_from(&entry[i]);
                for (n, known) in self.known[i].iter().enumerate() {
                    let is_new = |s: &&SetterId| known.binary_search(s).is_err();
                    unknown[n].clear();
                    unknown[n].extend(state[n].iter().filter(is_new));
                    let signals = |s: &SetterId| f.setters.get(*s).kind == Kind::Write && f.setters.get(*s).signals_only();
                    let signaled = !unknown[n].is_empty() && known.iter().any(signals);
                    let is_reserved = |s: &SetterId| RESERVED_ZERO.contains(&f.insns[f.setters.get(*s).insn].name);
                    let counts = |s: &&SetterId| !(is_reserved(s) || signaled && signals(s));
                    // Operands that are pending anyway are not new.
                    let pending = if unknown[n].is_empty() {
                        RegSet::EMPTY
                    } else {
                        self.operands(known)
                    };
                    let adds =
                        |s: &&SetterId| f.setters.get(**s).kind != Kind::Read || !f.setters.get(**s).hazard().minus(&pending).is_empty();
                    late[n].clear();
                    if self.headers[i] {
                        late[n].extend(unknown[n].iter().filter(counts).filter(adds));
                    }
                }
                changed |= self.wait_block(block, &mut state, (&mut late, &mut unknown), &mut waits);
                for to in &block.succ {
                    for (into, from) in entry[to.index()].iter_mut().zip(&state) {
                        grown[to.index()] |= merge(into, from);
                    }
                    changed |= grown[to.index()];
                }
            }
            if !changed {
                break;
            }
        }
        let lesson = self.lesson;
        let untested = |k: &usize| lesson.is_some_and(|l| l.pending[*k] != self.seen.pending[*k] && !l.right_wait[*k]);
        if let Some(k) = (0..f.insns.len()).find(untested) {
            self.untested.get_or_insert(k);
        }
        waits
    }

    /// The registers that the operand reads among some setters protect.
    fn operands(&self, list: &[SetterId]) -> RegSet {
        let setters = list.iter().map(|s| self.f.setters.get(*s));
        let reads = setters.filter(|s| s.kind == Kind::Read);
        reads.fold(RegSet::EMPTY, |all, s| all.union(s.hazard()))
    }

    fn wait_block(&mut self, block: &Block, state: &mut Pending, (late, unknown): (&mut Pending, &mut Pending), waits: &mut [u8]) -> bool {
        let f = self.f;
        let mut changed = false;
        // The hash of the lists and the outline of the first, made again after an instruction that may change them.
        let mut view = None;
        for (k, wait) in (block.start..block.end).zip(&mut waits[block.start..block.end]) {
            let (seen, outline) = *view.get_or_insert_with(|| {
                let outline = f.setters.outline(state.iter().flatten().copied());
                (hash_pending(state, late, unknown), outline)
            });
            self.seen.pending[k] = seen;
            let meets = f.policy.any_wait(k) || waits_for_pending(&f.insns[k]) || f.setters.meets(outline, k);
            if !meets && f.insns[k].control.wait == 0 && k + 1 < block.end && f.sets_nothing(k) {
                self.seen.right_wait[k] = true;
                changed |= std::mem::take(wait) != 0;
                continue;
            }
            let ends = self.model_wait(k, state, meets);
            // Waits that were there before anything came around a loop.
            let first = if unknown.iter().all(Vec::is_empty) {
                ends
            } else {
                let known = |n: usize| state[n].iter().filter(|s| unknown[n].binary_search(s).is_err()).copied().collect();
                self.model_wait(k, &std::array::from_fn(known), meets)
            };
            let sets = f.setters.of(k).next().is_some();
            if ends != 0 || sets {
                view = None;
                for (number, late) in late.iter_mut().enumerate().filter(|(_, late)| !late.is_empty()) {
                    late.retain(|s| ends >> number & 1 == 0 && f.setters.get(*s).insn != k);
                }
            }
            let around = (0..).zip(&*late).map(|(n, late)| u8::from(!late.is_empty()) << n).sum::<u8>();
            let around = if k + 1 == block.end { around } else { 0 };
            let (model, compiler) = (ends | around, f.insns[k].control.wait);
            self.seen.right_wait[k] = model == compiler;
            let same = !f.policy.is_amended(k) && self.lesson.is_some_and(|lesson| lesson.pending[k] == seen);
            let mask = if self.taught || same { compiler } else { model };
            // A wait for a number with nothing on it: what it is there for, and under which number, is not known.
            let empty = |(number, list): (usize, &Vec<SetterId>)| mask >> number & 1 == 1 && list.is_empty();
            let is_new = self.lesson.is_some() && f.policy.looks_ahead() && !waits_for_all(&f.insns[k]);
            self.doubt(is_new && mask != 0 && state.iter().enumerate().any(empty), k);
            if mask != 0 {
                view = None;
            }
            let waited = state.iter_mut().zip(late.iter()).enumerate();
            for (number, (list, late)) in waited.filter(|(number, _)| mask >> number & 1 == 1) {
                match (ends >> number & 1, around >> number & 1) {
                    (0, 1) => list.retain(|s| late.binary_search(s).is_err()),
                    _ if self.keeps_pending(&f.insns[k]) => {}
                    (1, _) if first >> number & 1 == 0 => list.retain(|s| unknown[number].binary_search(s).is_err()),
                    _ if waits_for_all(&f.insns[k])
                        || waits_for_pending(&f.insns[k])
                        || list.iter().any(|s| f.setters.conflicts(*s, k)) =>
                    {
                        list.clear()
                    }
                    _ => list.retain(|s| self.repeats(k, *s)),
                }
                if !self.keeps_pending(&f.insns[k]) {
                    unknown[number].clear();
                }
            }
            changed |= std::mem::replace(wait, mask) != mask;
            if let Some((number, left)) = counted_wait(&f.insns[k])
                && let Some(list) = state.get_mut(number)
            {
                view = None;
                keep_last(list, left);
            }
            for s in f.setters.of(k) {
                if let Some((list, unknown)) =
                    self.numbers[s.index()].and_then(|n| state.get_mut(usize::from(n)).zip(unknown.get_mut(usize::from(n))))
                {
                    merge(list, &[s]);
                    unknown.retain(|u| *u != s);
                }
            }
        }
        changed
    }

    /// The numbers that an instruction waits for: those with a pending conflict, those of policy, and its own if setters are pending on it that it did
    /// not choose to join.
    /// `meets`: the instruction may wait for one of the setters.
    fn model_wait(&self, k: usize, state: &Pending, meets: bool) -> u8 {
        let f = self.f;
        if waits_for_all(&f.insns[k]) {
            return ALL_SCOREBOARDS;
        }
        let mut mask = self.early.get(&k).copied().unwrap_or(0);
        let calls = waits_for_pending(&f.insns[k]);
        for (number, list) in state.iter().enumerate().filter(|(_, list)| meets && !list.is_empty()) {
            let is_pending = |s: SetterId| state.iter().any(|list| list.binary_search(&s).is_ok());
            let by_policy = || !self.joins_at_end(k, number) && self.policy_wait(k, list.iter().copied(), is_pending);
            if calls || list.iter().any(|s| f.setters.conflicts(*s, k)) || by_policy() {
                mask |= 1 << number;
            }
        }
        for s in f.setters.of(k) {
            let Some(number) = self.numbers[s.index()] else { continue };
            let is_header = self.headers[f.cfg.block_of[k].index()];
            let joined = |known: &Vec<SetterId>| !is_header || state[usize::from(number)].iter().all(|other| known.contains(other));
            if mask >> number & 1 == 0 && !self.companions[s.index()].as_ref().is_none_or(joined) {
                mask |= 1 << number;
            }
        }
        mask
    }

    /// Does the last instruction of a block set the number itself? It does not wait for what it joins.
    pub(super) fn joins_at_end(&self, k: usize, number: usize) -> bool {
        let f = self.f;
        let mut own = f.setters.of(k).filter_map(|s| self.numbers[s.index()]);
        k + 1 == f.cfg.blocks[f.cfg.block_of[k].index()].end && own.any(|own| usize::from(own) == number)
    }

    /// Does instruction `k` wait by policy for a number with these setters? At the end of a block all setters of the block must have arrived. Operands have
    /// been read once the result of their instruction has been used.
    pub(super) fn policy_wait(
        &self,
        k: usize,
        list: impl Iterator<Item = SetterId> + Clone,
        is_pending: impl Fn(SetterId) -> bool,
    ) -> bool {
        let f = self.f;
        if !f.policy.any_wait(k) {
            return false;
        }
        let block = &f.cfg.blocks[f.cfg.block_of[k].index()];
        let local = |s: &SetterId| (block.start..k).contains(&f.setters.get(*s).insn);
        let waited = |s: SetterId| f.policy.waits_for(k, s);
        if !list.clone().any(waited) {
            return false;
        }
        if k + 1 != block.end {
            return true;
        }
        let for_uniform = |s: SetterId| waits_for_uniform(&f.insns[k]) && f.setters.get(s).is_uniform();
        if list.clone().any(|s| waited(s) && (!local(&s) || for_uniform(s))) {
            return true;
        }
        let were_read = |s: &SetterId| {
            let setter = f.setters.get(*s);
            let result = f.setters.of(setter.insn).find(|r| f.setters.get(*r).kind == Kind::Write);
            let used = |r: SetterId| f.policy.first_need(r).is_some_and(|need| need <= k);
            setter.kind == Kind::Read && result.is_some_and(|r| self.dead != Some(r) && !is_pending(r) && used(r))
        };
        list.filter(|s| local(s) && !were_read(s)).all(waited)
    }
}
