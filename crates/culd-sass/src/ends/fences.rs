//! The time that new fences take before a guarded `EXIT`, and what arrives in it (before 13.1).
//!
//! 1. The `EXIT` comes [`AFTER_BLOCK`] cycles after its place by the stalls of the block alone, and [`AFTER_GUARD`] cycles after the instruction that makes
//!    its guard, but not sooner than without fences. So time that the block waits for results, its own or those of blocks before, hides that of the fences,
//!    unless the guard waits too.
//! 2. A setter has arrived after the cycles that the choice of a number counts for it ([`Setter::latency`](crate::setter::Setter)), operands of accesses to
//!    memory some cycles later ([`Clock::arrived`]). Where this was not observed to a cycle, the answer is not known near it.
//!    Nor where waits hide the fences of an `EXIT` that stalls for what comes after it.
//! 3. Time of earlier blocks passes on the shortest way, with what these blocks wait for.

use std::collections::{BTreeMap, BTreeSet};

use super::{Arrived, EXIT_STALL, Function};
use crate::cfg::{BlockId, LONGEST};
use crate::decode::NO_SCOREBOARD;
use crate::policy::Pending;
use crate::setter::{Kind, SetterId};

/// Cycles from the place of an `EXIT` to the one that it has after new fences: 9 to 11 explain what was observed.
const AFTER_BLOCK: i64 = 9;
/// Cycles from the instruction that makes the guard of an `EXIT` to this `EXIT` after new fences; no other number explains what was observed.
const AFTER_GUARD: i64 = 17;
/// Cycles by which the latencies are not known, more or less.
const MARGIN: i64 = 3;

/// Cycles of hidden fences that show where the `EXIT` stalls for what comes after it: 4 did in five functions, 6 and 7 did not.
const SHOWING: i64 = 4;
/// What may show.
const NOT_SHOWING: i64 = 5;

/// The times of a block that ends with an `EXIT` with new fences, from its start.
pub(super) struct Clock {
    start: usize,
    /// When the instructions of the block are issued, and its end.
    issue: Vec<i64>,
    /// When the `EXIT` is issued.
    exit: i64,
    /// Waits hide the time of the fences, but the `EXIT` stalls for what comes after it: then some of the time shows, how much is not known.
    stalls: bool,
}

impl Clock {
    /// `entry`: what is pending at the starts of all blocks.
    pub(super) fn new(f: &Function<'_>, id: BlockId, entry: &[Pending]) -> Self {
        let block = &f.cfg.blocks[id.index()];
        let last = block.end - 1;
        let issue = issue_after_waits(f, id, entry);
        let at = |k: usize| issue.get(k - block.start).copied().unwrap_or(0);
        let guard = f.insns[last].guard;
        let makes_guard = |k: &usize| guard.is_some_and(|g| f.insns[*k].defs.iter().any(|r| (r.file, r.index) == (g.file, g.index)));
        let made = (block.start..last).rev().find(makes_guard);
        let by_guard = made.map_or(0, |k| match f.insns[k].control.write {
            NO_SCOREBOARD => at(k) + AFTER_GUARD,
            // A guard that arrives late is waited for by the fences.
            _ => at(last) + AFTER_BLOCK,
        });
        let by_stalls = f.cfg.stalls[last] - f.cfg.stalls[block.start] + AFTER_BLOCK;
        let exit = at(last).max(by_guard).max(by_stalls);
        Self {
            start: block.start,
            exit,
            stalls: f.insns[last].control.stall > EXIT_STALL && exit == at(last),
            issue,
        }
    }

    fn issue(&self, k: usize) -> i64 {
        k.checked_sub(self.start).and_then(|k| self.issue.get(k)).copied().unwrap_or(0)
    }

    /// The `EXIT`.
    fn last(&self) -> usize {
        (self.start + self.issue.len()).saturating_sub(2)
    }

    /// Cycles by which the `EXIT` comes later with its fences.
    pub(super) fn cycles(&self) -> u32 {
        u32::try_from(self.exit - self.issue(self.last()))
            .unwrap_or(0)
            .max(self.stalls.into())
    }

    /// Has a setter of the block arrived at the `EXIT`? `late`: it had not without fences.
    pub(super) fn arrived(&self, f: &Function<'_>, s: SetterId, late: bool) -> Arrived {
        let setter = f.setters.get(s);
        let insn = &f.insns[setter.insn];
        let registers = insn.uses.general().iter().count();
        // Observed beside the latencies: by how much they are longer, and whether this is known to a cycle.
        let (longer, exact) = match (insn.name, setter.kind) {
            ("LDC", Kind::Write) => (0, true),
            ("LDS" | "SHFL", Kind::Read) => (1, true),
            ("STS", Kind::Read) if registers < 4 => (1, true),
            ("STG", Kind::Read) if registers < 4 => (2, true),
            ("STG" | "STS", Kind::Read) => (3, false),
            _ => (0, false),
        };
        let done = self.issue(setter.insn) + i64::from(setter.latency) + longer;
        let left = done - self.exit;
        let last = self.last();
        match left {
            1..=SHOWING if self.stalls && exact => Arrived::Yes,
            1..=NOT_SHOWING if self.stalls => Arrived::Unknown,
            1.. if exact || left > MARGIN || setter.kind == Kind::Read => Arrived::No,
            1.. => Arrived::Unknown,
            _ if late && done <= self.issue(last) || f.insns[last].control.stall > EXIT_STALL => Arrived::Unknown,
            _ if exact || left < -MARGIN => Arrived::Yes,
            _ => Arrived::Unknown,
        }
    }
}

/// When the instructions of a block are issued, and its end: after the stalls of those before, and when what they need has arrived. `elapsed` gives the cycles
/// between a setter of an earlier block and the start of the block.
fn issue(f: &Function<'_>, id: BlockId, entry: &Pending, elapsed: impl Fn(usize) -> Option<i64>) -> Vec<i64> {
    let block = &f.cfg.blocks[id.index()];
    let inherited = |s: &SetterId| {
        let setter = f.setters.get(*s);
        elapsed(setter.insn).map(|elapsed| (*s, i64::from(setter.latency) - elapsed))
    };
    let mut pending: Vec<(SetterId, i64)> = entry.iter().flatten().filter_map(inherited).collect();
    let mut now = 0;
    let mut issue = Vec::with_capacity(block.end - block.start + 1);
    for k in block.start..block.end {
        pending.retain(|(s, done)| {
            let conflict = f.setters.conflicts(*s, k);
            if conflict {
                now = now.max(*done + i64::from(f.setters.get(*s).delay(&f.insns[k])));
            }
            !conflict
        });
        issue.push(now);
        pending.extend(f.setters.of(k).map(|s| (s, now + i64::from(f.setters.get(s).latency))));
        now += i64::from(f.insns[k].control.stall);
    }
    issue.push(now);
    issue
}

/// Does a block need something that is pending at its start?
fn meets_inherited(f: &Function<'_>, id: BlockId, entry: &[Pending]) -> bool {
    let block = &f.cfg.blocks[id.index()];
    let pending = entry[id.index()].iter().flatten();
    pending
        .into_iter()
        .any(|s| f.setters.first_conflict(*s, block.start..block.end).is_some())
}

/// The same, with the time that the blocks on the way wait for results of others.
fn issue_after_waits(f: &Function<'_>, id: BlockId, entry: &[Pending]) -> Vec<i64> {
    if !meets_inherited(f, id, entry) {
        return issue(f, id, &Pending::default(), |_| None);
    }
    let mut blocks: BTreeMap<BlockId, Vec<i64>> = BTreeMap::new();
    let mut distances: BTreeMap<BlockId, i64> = BTreeMap::new();
    let mut queue: BTreeSet<(i64, BlockId)> = f.cfg.blocks[id.index()].pred.iter().map(|pred| (0, *pred)).collect();
    while let Some((distance, block)) = queue.pop_first() {
        if distances.contains_key(&block) {
            continue;
        }
        distances.insert(block, distance);
        let meets = meets_inherited(f, block, entry);
        let near = if meets { f.times().nearby(f.cfg, block) } else { BTreeMap::new() };
        let elapsed = |k: usize| near.get(&f.cfg.block_of[k]).map(|way| way + f.times().to_end(k));
        let times = issue(f, block, &entry[block.index()], elapsed);
        let through = distance + times.last().copied().unwrap_or(0);
        blocks.insert(block, times);
        if through < LONGEST {
            queue.extend(f.cfg.blocks[block.index()].pred.iter().map(|pred| (through, *pred)));
        }
    }
    let elapsed = |k: usize| {
        let from = f.cfg.block_of[k];
        let (way, times) = (distances.get(&from)?, blocks.get(&from)?);
        let at = times.get(k - f.cfg.blocks[from.index()].start)?;
        Some(way + times.last()? - at)
    };
    issue(f, id, &entry[id.index()], elapsed)
}

#[cfg(test)]
mod tests {
    use crate::decode::{Control, Insn, NO_SCOREBOARD, decode};

    /// `LDC R11, c[0x0][0x370]`, `ISETP.GT.U32.AND P0, PT, R11, 0x7f, PT`, `STS [R0], R5`, `@P0 EXIT`.
    const LOAD: u128 = 0x000e_2200_0000_0800_0000_dc00_ff0b_7b82;
    const COMPARE: u128 = 0x000f_e200_03f0_4070_0000_007f_0b00_780c;
    const STORE: u128 = 0x0003_e200_0000_0800_0000_0005_0000_7388;
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_094d;
    /// The predicate that `COMPARE` makes.
    const PREDICATE: u32 = 81;

    fn with(raw: u128, stall: u8, (write, read, wait): (u8, u8, u8)) -> u128 {
        let fields = Control {
            stall,
            write,
            read,
            wait,
            ..decode(raw, 0).control
        };
        fields.put(raw)
    }

    /// Does the `EXIT` at the end of some code wait for the operands of the store before it, once it has fences?
    fn waits(code: &[u128]) -> bool {
        let insns: Vec<Insn> = (0..).zip(code).map(|(k, raw)| decode(*raw, 16 * k)).collect();
        let last = insns.len() - 1;
        let fields = crate::fenced(&insns, &Default::default(), false, &|k| k == last).unwrap_or_default();
        fields.get(last).is_some_and(|exit| exit.wait == 2)
    }

    #[test]
    fn results_that_the_guard_does_not_need_hide_the_time_of_fences() {
        const NONE: u8 = NO_SCOREBOARD;
        let (load, store) = (with(LOAD, 2, (0, NONE, 0)), with(STORE, 7, (NONE, 1, 0)));
        assert!(waits(&[store, EXIT]));
        assert!(!waits(&[with(STORE, 1, (NONE, 1, 0)), EXIT]));
        // The guard waits for the load, and so do the fences; or another comparison does.
        let compare = with(COMPARE, 6, (NONE, NONE, 1));
        assert!(waits(&[load, compare, store, EXIT]));
        assert!(!waits(&[load, compare | 1 << PREDICATE, store, EXIT]));
    }
}
