//! What the compiler's waits mean: which of them no register conflict explains.
//!
//! 1. Flow the pending setters of every scoreboard through the graph: a wait empties its scoreboard, a setter joins its own.
//! 2. A wait for a scoreboard none of whose pending setters conflicts with the instruction is a policy wait for all of them: values
//!    that leave a block and have had time to arrive, cache invalidation after atomics, ends of collectives, ...
//!    Not so when the instruction itself sets that scoreboard and a pending setter came around a loop: that is a re-use wait, which
//!    the allocator finds by itself. Nor when the instruction waits for every scoreboard, in use or not.
//!    Nor when it is the last of its block and one of them came around a loop: the allocator adds these waits. Nor when one conflicts that was pending
//!    earlier in the block beside what came around a loop and was waited for alone: it is waited for again.
//! 3. Policy waits belong to their setters, not to the number: they follow the setter when it gets another number.
//! 4. The first conflict inside the block is a property of the setter alone; for a setter without registers it is its first policy wait,
//!    and a policy wait of a cache invalidation or of a `NOP` counts for all.
//! 5. `DEPBAR.LE SBn, count` ends all but the `count` youngest pending setters of n.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::cfg::{Block, BlockId, Cfg, collective};
use crate::decode::{Control, Insn, SCOREBOARDS, opcode};
use crate::order::loop_entries;
use crate::reg::RegSet;
use crate::setter::{Kind, SetterId, Setters};
use crate::times::Times;

/// Most instructions of a collective, its end included.
const COLLECTIVE: usize = 8;
/// Loads of code before 13.0 that may wait without a conflict, which those of 13.0 do not.
const LOADS: [&str; 3] = ["LDC", "LDG", "LDL"];

/// A wait mask with every scoreboard.
pub(crate) const ALL_SCOREBOARDS: u8 = (1 << SCOREBOARDS) - 1;

/// Pending setters per scoreboard, each list ascending.
pub(crate) type Pending = [Vec<SetterId>; SCOREBOARDS as usize];

/// Policy waits and first conflicts of a function.
#[derive(Debug)]
pub(crate) struct Policy {
    /// For every instruction, the setters it waits for without a conflict, ascending.
    waits: Vec<Vec<SetterId>>,
    /// Instructions with waits that the input does not have.
    added: Vec<bool>,
    /// For every setter, the first instruction of its block that needs it; `None` = it leaves the block.
    first_need: Vec<Option<usize>>,
    /// For every setter: an operand read that leaves its block, and whose registers the next block writes. Empty where that does not matter.
    needed_next: Vec<bool>,
    /// What begins of collectives wait for, in code of compilers before 13.0.
    held: BTreeMap<usize, Vec<SetterId>>,
    /// For every block: its end waits for what has arrived. Empty: all do.
    waits_at_end: Vec<bool>,
    /// Estimated when they are needed first.
    times: OnceCell<Times>,
}

/// A wait on `WARPSYNC.COLLECTIVE`, or on a `WARPSYNC` of a constant mask that begins a collective, does not end a group: `ENDCOLLECTIVE` waits again.
pub(crate) fn keeps_pending(insn: &Insn) -> bool {
    collective(insn) || insn.op == opcode::WARPSYNC && insn.target.is_some()
}

/// Some cache operations wait for every scoreboard, in use or not.
pub(crate) fn waits_for_all(insn: &Insn) -> bool {
    insn.control.wait == ALL_SCOREBOARDS
}

/// A call waits for everything that is pending.
pub(crate) fn waits_for_pending(insn: &Insn) -> bool {
    opcode::CALLS.contains(&insn.op)
}

/// `DEPBAR.LE SBn, count` waits until at most `count` operations of scoreboard n are in flight: (n, count).
pub(crate) fn counted_wait(insn: &Insn) -> Option<(usize, usize)> {
    (insn.name == "DEPBAR").then(|| (usize::from(insn.bits(44, 3)), usize::from(insn.bits(38, 6))))
}

/// Drops all but the `left` youngest entries: operations of one scoreboard under a counted wait finish in order.
pub(crate) fn keep_last<T>(pending: &mut Vec<T>, left: usize) {
    pending.drain(..pending.len().saturating_sub(left));
}

/// Adds `from` to the ascending list `into`; true when something was new.
pub(crate) fn merge(into: &mut Vec<SetterId>, from: &[SetterId]) -> bool {
    let before = into.len();
    let Some(first) = from.iter().position(|id| into.binary_search(id).is_err()) else {
        return false;
    };
    let from = from.get(first..).unwrap_or_default();
    // What is new is usually younger than all others.
    if from.is_sorted_by(|a, b| a < b) && into.last() < from.first() {
        into.extend_from_slice(from);
        return true;
    }
    into.extend_from_slice(from);
    into.sort_unstable();
    into.dedup();
    into.len() != before
}

impl Policy {
    pub(crate) fn new(insns: &[Insn], cfg: &Cfg, setters: &Setters<'_>, order: &[BlockId], older: bool) -> Self {
        let entry = flow(insns, cfg, setters, older);
        let known = forward(insns, cfg, setters, order, older);
        let mut held: BTreeMap<usize, Vec<SetterId>> = BTreeMap::new();
        let mut waits = vec![Vec::new(); insns.len()];
        let (mut state, mut renewed) = (Pending::default(), Pending::default());
        for id in cfg.ids() {
            state.clone_from(&entry[id.index()]);
            renewed.iter_mut().for_each(Vec::clear);
            step((insns, older), cfg, setters, id, &mut state, |k, number, pending| {
                if older && keeps_pending(&insns[k]) {
                    merge(held.entry(k).or_default(), pending);
                }
                let Control { read, write, .. } = insns[k].control;
                let reuse = [read, write].contains(&number) && pending.iter().any(|s| setters.get(*s).insn >= k);
                if waits_for_all(&insns[k]) {
                    return;
                }
                let late = |s: &SetterId| {
                    let (entry, known) = (&entry[id.index()][usize::from(number)], &known[id.index()][usize::from(number)]);
                    let again = (cfg.blocks[id.index()].start..=k).contains(&setters.get(*s).insn);
                    !again && entry.binary_search(s).is_ok() && known.binary_search(s).is_err()
                };
                // What was pending beside what came around a loop, which alone is waited for, is waited for again.
                let again: Vec<SetterId> = pending.iter().copied().filter(|s| !late(s) && setters.get(*s).insn < k).collect();
                let conflicts = |s: &SetterId| setters.conflicts(*s, k);
                let explained = renewed[usize::from(number)].iter().any(conflicts);
                if reuse || (pending.iter().any(late) && !again.iter().any(conflicts)) {
                    merge(&mut renewed[usize::from(number)], &again);
                }
                if reuse || explained {
                    return;
                }
                if k + 1 == cfg.blocks[id.index()].end && pending.iter().any(late) {
                    return;
                }
                if pending.iter().any(|setter| setters.conflicts(*setter, k)) {
                    let signals: Vec<SetterId> = pending.iter().copied().filter(|s| setters.get(*s).signals_read()).collect();
                    merge(&mut waits[k], &signals);
                } else {
                    merge(&mut waits[k], &meant(insns, &cfg.blocks[id.index()], setters, k, pending));
                }
            });
        }
        let mut policy = Self {
            waits,
            added: vec![false; insns.len()],
            first_need: Vec::new(),
            needed_next: Vec::new(),
            waits_at_end: Vec::new(),
            held,
            times: OnceCell::new(),
        };
        policy.first_need = setters.ids().map(|id| policy.find_need(cfg, setters, id)).collect();
        policy
    }

    /// A load that waits without a conflict, before the end of its block.
    pub(crate) fn waiting_load(&self, insns: &[Insn], cfg: &Cfg) -> Option<usize> {
        let is_last = |k: usize| cfg.blocks[cfg.block_of[k].index()].end == k + 1;
        (0..insns.len()).find(|k| self.any_wait(*k) && LOADS.contains(&insns[*k].name) && !is_last(*k))
    }

    /// The rules of 13.0 for code of compilers before it: the end of a collective waits again for what its begin waits for.
    pub(crate) fn repeat_in_collectives(&mut self, insns: &[Insn], cfg: &Cfg) {
        for (k, insn) in insns.iter().enumerate() {
            let last = cfg.blocks[cfg.block_of[k].index()].end == k + 1;
            if !last && LOADS.contains(&insn.name) {
                self.waits[k].clear();
            }
        }
        for (begin, held) in std::mem::take(&mut self.held) {
            let end = insns
                .iter()
                .skip(begin + 1)
                .take(COLLECTIVE)
                .position(|insn| insn.name == "ENDCOLLECTIVE");
            if let Some(k) = end {
                merge(&mut self.waits[begin + 1 + k], &held);
            }
        }
    }

    /// The rules of 13.1 and later: operand reads whose registers the next block writes are not joined by others, and of the ends of blocks only those before
    /// a loop wait for what has arrived.
    pub(crate) fn look_ahead(&mut self, cfg: &Cfg, setters: &Setters<'_>, order: &[BlockId]) {
        self.waits_at_end = loop_entries(cfg, order);
        let effects: Vec<(RegSet, RegSet)> = cfg.blocks.iter().map(|b| setters.effects(b.start..b.end)).collect();
        let needed_next = |id: SetterId| {
            let setter = setters.get(id);
            let leaves = setter.kind == Kind::Read && self.first_need(id).is_none();
            let mut next = cfg.blocks[cfg.block_of[setter.insn].index()].succ.iter();
            leaves
                && next.any(|b| {
                    let (defs, touched) = &effects[b.index()];
                    let range = cfg.blocks[b.index()].start..cfg.blocks[b.index()].end;
                    setters.may_conflict(id, defs, touched) && setters.first_conflict(id, range).is_some()
                })
        };
        self.needed_next = setters.ids().map(needed_next).collect();
    }

    /// The estimated times of all instructions of the function.
    pub(crate) fn times(&self, insns: &[Insn], cfg: &Cfg, setters: &Setters<'_>) -> &Times {
        self.times.get_or_init(|| Times::new(insns, cfg, setters))
    }

    /// Does it matter what the next block needs (13.1 on)?
    pub(crate) fn looks_ahead(&self) -> bool {
        !self.needed_next.is_empty()
    }

    /// Does the end of the block wait for what has arrived?
    pub(crate) fn waits_at_end(&self, block: BlockId) -> bool {
        self.waits_at_end.get(block.index()) != Some(&false)
    }

    /// Does the next block write what the setter reads? Always false where that does not matter.
    pub(crate) fn is_needed_next(&self, setter: SetterId) -> bool {
        self.needed_next.get(setter.index()) == Some(&true)
    }

    /// Does instruction `k` wait for the setter by policy?
    pub(crate) fn waits_for(&self, k: usize, setter: SetterId) -> bool {
        self.waits[k].binary_search(&setter).is_ok()
    }

    /// Adds a policy wait.
    pub(crate) fn add(&mut self, k: usize, setter: SetterId) {
        merge(&mut self.waits[k], &[setter]);
        self.added[k] = true;
    }

    /// Has instruction `k` waits that the input does not have?
    pub(crate) fn is_amended(&self, k: usize) -> bool {
        self.added[k]
    }

    /// Has instruction `k` any policy wait?
    pub(crate) fn any_wait(&self, k: usize) -> bool {
        !self.waits[k].is_empty()
    }

    /// The instruction of the same block that first needs the setter, `None` when it leaves the block.
    pub(crate) fn first_need(&self, setter: SetterId) -> Option<usize> {
        self.first_need[setter.index()]
    }

    fn find_need(&self, cfg: &Cfg, setters: &Setters<'_>, id: SetterId) -> Option<usize> {
        let setter = setters.get(id);
        let end = cfg.blocks[cfg.block_of[setter.insn].index()].end;
        let signals_only = setter.signals_only();
        let by_policy = |k: usize| signals_only || matches!(setters.insn(k).name, "CCTL" | "NOP");
        (setter.insn + 1..end).find(|k| setters.conflicts(id, *k) || (self.any_wait(*k) && by_policy(*k) && self.waits_for(*k, id)))
    }
}

/// `BSYNC` and a guarded `EXIT` wait for everything that works on uniform registers, arrived or not.
pub(crate) fn waits_for_uniform(insn: &Insn) -> bool {
    insn.name == "BSYNC" || insn.name == "EXIT" && insn.guard.is_some()
}

/// Of the setters that end with a policy wait, those for which it is there: at the end of a block, values of this block that have arrived, or those that
/// work on uniform registers; what else is on their scoreboard ends with them. All, if there are none of these.
fn meant(insns: &[Insn], block: &Block, setters: &Setters<'_>, k: usize, pending: &[SetterId]) -> Vec<SetterId> {
    if k + 1 != block.end {
        return pending.to_vec();
    }
    let uniform = |s: &SetterId| waits_for_uniform(&insns[k]) && setters.get(*s).is_uniform();
    let local = |s: &SetterId| (block.start..k).contains(&setters.get(*s).insn);
    let only = |wanted: &dyn Fn(&SetterId) -> bool| -> Vec<SetterId> { pending.iter().copied().filter(wanted).collect() };
    [only(&uniform), only(&local)]
        .into_iter()
        .find(|list| !list.is_empty())
        .unwrap_or_else(|| pending.to_vec())
}

/// Pending setters at the entry of every block as far as blocks before it in `order` know.
fn forward(insns: &[Insn], cfg: &Cfg, setters: &Setters<'_>, order: &[BlockId], older: bool) -> Vec<Pending> {
    let mut entry = vec![Pending::default(); cfg.blocks.len()];
    let mut visited = vec![false; cfg.blocks.len()];
    let mut state = Pending::default();
    for id in order {
        visited[id.index()] = true;
        state.clone_from(&entry[id.index()]);
        step((insns, older), cfg, setters, *id, &mut state, |_, _, _| ());
        for to in cfg.blocks[id.index()].succ.iter().filter(|to| !visited[to.index()]) {
            for (into, from) in entry[to.index()].iter_mut().zip(&state) {
                merge(into, from);
            }
        }
    }
    entry
}

/// Pending setters at the entry of every block, under the numbers and waits of `insns`.
pub(crate) fn flow(insns: &[Insn], cfg: &Cfg, setters: &Setters<'_>, older: bool) -> Vec<Pending> {
    let mut entry = vec![Pending::default(); cfg.blocks.len()];
    let mut queue: std::collections::VecDeque<BlockId> = cfg.ids().collect();
    let mut queued = vec![true; cfg.blocks.len()];
    let mut state = Pending::default();
    while let Some(id) = queue.pop_front() {
        queued[id.index()] = false;
        state.clone_from(&entry[id.index()]);
        step((insns, older), cfg, setters, id, &mut state, |_, _, _| ());
        for to in &cfg.blocks[id.index()].succ {
            let mut grown = false;
            for (into, from) in entry[to.index()].iter_mut().zip(&state) {
                grown |= merge(into, from);
            }
            if grown && !std::mem::replace(&mut queued[to.index()], true) {
                queue.push_back(*to);
            }
        }
    }
    entry
}

fn step(
    code: (&[Insn], bool),
    cfg: &Cfg,
    setters: &Setters<'_>,
    id: BlockId,
    state: &mut Pending,
    waited: impl FnMut(usize, u8, &[SetterId]),
) {
    let block = &cfg.blocks[id.index()];
    walk(code, setters, block.start..block.end, state, waited);
}

/// What is pending after the instructions of `range`; `waited` hears of every wait. `older`: in code of compilers before 13.0 every wait ends what it is for.
pub(crate) fn walk(
    (insns, older): (&[Insn], bool),
    setters: &Setters<'_>,
    range: std::ops::Range<usize>,
    state: &mut Pending,
    mut waited: impl FnMut(usize, u8, &[SetterId]),
) {
    for (k, insn) in range.clone().zip(&insns[range]) {
        for (number, pending) in (0..).zip(state.iter_mut()) {
            if insn.control.wait >> number & 1 == 1 {
                waited(k, number, pending);
                if older || !keeps_pending(insn) {
                    pending.clear();
                }
            }
        }
        if let Some((number, left)) = counted_wait(insn)
            && let Some(pending) = state.get_mut(number)
        {
            keep_last(pending, left);
        }
        for setter in setters.of(k) {
            let number = match setters.get(setter).kind {
                Kind::Read => insn.control.read,
                Kind::Write => insn.control.write,
            };
            if let Some(pending) = state.get_mut(usize::from(number)) {
                merge(pending, &[setter]);
            }
        }
    }
}
