//! The number to share where none is free.
//!
//! 1. A value that leaves its block first gives up the claim of later blocks: any number without pending setters will do.
//! 2. Else the issue time of every instruction is estimated ([`crate::times`]). A number is waited for at
//!    the first need of any of its setters; sharing costs the cycles by which the last one is late there, or has that many to spare.
//! 3. A wait for one setter of a number ends the wait for all of them, but the number counts as busy until the last of them has arrived.
//! 4. The number with the most cycles to spare is taken, the lowest of equal ones. A value that leaves the block is waited for somewhere else, so that all
//!    numbers that cost it nothing are equal.
//! 5. Time passes in all blocks on the shortest way from the setter, not only in the block right before.
//! 6. From 13.1 on, what the next block needs is needed at the end of this one.

use super::{Live, Run, SlotRequest};
use crate::setter::{Class, Kind, SetterId, loads_stack_pointer};

/// Cycles by which results of earlier blocks may arrive sooner with new fences, as far as is known.
const DELAYS: [i64; 3] = [6, 8, i32::MAX as i64];

/// In place of a delay: shuffles of the block take a cycle longer. Observed: some do.
const LATE_SHUFFLE: i64 = i64::MIN;

/// Cycles by which a guarded load from shared memory whose result leaves its block may be late. Observed: 1 to 5 in three functions.
const LATE_GUARD: i64 = 5;

/// Cycles by which the times of 13.1 and later may be off where a value leaves its block.
const MARGIN: i64 = 2;

/// What it costs to share a number, smaller is better: cycles lost at the first need, which are negative where there is time to spare; the number.
type ShareCost = (i64, u8);

/// The cost before 13.0: time to spare counts nothing, and numbers of other blocks' setters that are needed in this block come first.
fn older_cost(cycles: i64, need: i64, list: &[(SetterId, Option<usize>)], local: &dyn Fn(SetterId) -> bool) -> i64 {
    let foreign = !list.iter().any(|(s, _)| local(*s));
    match need != i64::MAX && foreign && list.iter().any(|(_, need)| need.is_some()) {
        true => -1,
        false => cycles.max(0),
    }
}

impl Run<'_> {
    /// No number for a value that leaves the block: give up the successors' claim, then share where that costs the least waiting time.
    pub(super) fn share_out(&mut self, request: &SlotRequest, live: &Live) -> u8 {
        let mut first = request.start..if self.any_long { self.escaping_load_slot() } else { self.top() };
        if let Some(free) = first.find(|n| live[usize::from(*n)].is_empty()) {
            return free;
        }
        let limit = if request.long_reserved {
            self.escaping_load_slot()
        } else {
            self.top()
        };
        let number = self.share(request, usize::MAX, limit, live);
        // Observed: the number of a live stack pointer is not shared in some cases.
        let is_pointer = |s: SetterId| loads_stack_pointer(&self.f.insns[self.f.setters.get(s).insn]);
        let shares = live
            .get(usize::from(number))
            .is_some_and(|list| list.iter().any(|(s, _)| is_pointer(*s)));
        self.doubt(self.lesson.is_none() && shares, request.insn);
        number
    }

    /// No number is free: share with the number that costs the least waiting time. `need` is the first need, or beyond all instructions.
    pub(super) fn share(&mut self, request: &SlotRequest, need: usize, limit: u8, live: &Live) -> u8 {
        let (start, end) = (
            self.f.cfg.blocks[request.block.index()].start,
            self.f.cfg.blocks[request.block.index()].end,
        );
        let times = self.f.times();
        if self.distances.as_ref().is_none_or(|(id, _)| *id != request.block) {
            self.distances = Some((request.block, times.nearby(self.f.cfg, request.block)));
        }
        let distances = self.distances.as_ref().map(|(_, distances)| distances);
        let issued = |k: usize| if (start..end).contains(&k) { times.issue(k) } else { i64::MAX };
        let done = |s: SetterId, delay: i64| {
            let setter = self.f.setters.get(s);
            if (start..=request.insn).contains(&setter.insn) {
                let late = i64::from(delay == LATE_SHUFFLE && setter.kind == Kind::Write && self.f.insns[setter.insn].name == "SHFL");
                return issued(setter.insn).saturating_add(setter.latency.into()).saturating_add(late);
            }
            // Of other blocks only those that are near can have something on its way.
            let way = distances.and_then(|distances| distances.get(&self.f.cfg.block_of[setter.insn]));
            way.map_or(0, |way| {
                (i64::from(setter.latency) - way - times.to_end(setter.insn) - delay.max(0)).max(0)
            })
        };
        let own = done(request.id, 0);
        // A wait for one setter of a number ends the wait for all, but does not make the others arrive.
        let mut used = std::mem::take(&mut self.used);
        for (list, last) in &mut used {
            *last = list.drain(..).map(|s| done(s, 0)).fold(*last, i64::max);
        }
        // What the next block needs is needed at the end of this one (13.1 on).
        let next = &self.f.cfg.blocks[request.block.index()].succ;
        let looks_ahead = self.f.policy.looks_ahead();
        let end_time = issued(end - 1).saturating_add(i64::from(self.f.insns[end - 1].control.stall) - 1);
        let leaving = |s: SetterId| {
            let mut ranges = next.iter().map(|b| &self.f.cfg.blocks[b.index()]).map(|b| b.start..b.end);
            match looks_ahead && ranges.any(|r| self.f.setters.first_conflict(s, r).is_some()) {
                true => end_time,
                false => i64::MAX,
            }
        };
        let needed = |s: SetterId, need: Option<usize>| need.map_or_else(|| leaving(s), issued);
        let need = needed(request.id, Some(need).filter(|n| *n != usize::MAX));
        let choose = |own: i64, delay: i64| {
            let mut best: Option<ShareCost> = None;
            for number in request.start..limit {
                let list = &live[usize::from(number)];
                let holds_escaping_load = list.iter().any(|(s, need)| {
                    let setter = self.f.setters.get(*s);
                    setter.class == Class::Long && setter.kind == Kind::Write && need.is_none()
                });
                if list.is_empty() || holds_escaping_load {
                    continue;
                }
                let theirs = list.iter().map(|(s, need)| needed(*s, *need)).min().unwrap_or(i64::MAX);
                let last = list
                    .iter()
                    .map(|(s, _)| done(*s, delay))
                    .max()
                    .unwrap_or(0)
                    .max(used[usize::from(number)].1);
                let cycles = if need == i64::MAX {
                    own.saturating_sub(theirs).max(0)
                } else if theirs < need {
                    own.saturating_sub(theirs)
                } else {
                    last.saturating_sub(need)
                };
                let cycles = match self.f.older {
                    true => older_cost(cycles, need, list, &|s| {
                        (start..=request.insn).contains(&self.f.setters.get(s).insn)
                    }),
                    false => cycles,
                };
                if best.is_none_or(|cost| (cycles, number) < cost) {
                    best = Some((cycles, number));
                }
            }
            best
        };
        let best = choose(own, 0);
        let other = |own: i64, delay: i64| choose(own, delay).map(|b| b.1) != best.map(|b| b.1);
        // A choice that a cycle or two would change is not known in the later releases.
        let leaves = self.f.policy.first_need(request.id).is_none();
        let shifts = [-MARGIN, MARGIN];
        let close = looks_ahead && leaves && shifts.into_iter().any(|by| other(own + by, 0) || other(own, by));
        let again = self.lesson.is_none() && shifts.into_iter().any(|by| other(own + by, 0));
        let shuffled = !looks_ahead && other(own, LATE_SHUFFLE);
        let insn = &self.f.insns[request.insn];
        let guarded = !looks_ahead && leaves && insn.name == "LDS" && insn.guard.is_some() && other(own.saturating_add(LATE_GUARD), 0);
        self.ambiguous = self.ambiguous.or((close || shuffled || guarded || again).then_some(request.insn));
        let delayed = self.f.delayed.get(request.block.index()) == Some(&true);
        // Where the compiler chose otherwise, its times are not those of the model.
        let is_wrong = looks_ahead && best.map(|b| b.1) != Some(self.f.setters.number_in_input(request.id));
        let depends_on_fences = delayed && (is_wrong || DELAYS.into_iter().any(|delay| other(own, delay)));
        self.depends_on_fences = depends_on_fences;
        self.used = used;
        best.map_or(self.escaping_load_slot(), |(_, number)| number)
    }
}
