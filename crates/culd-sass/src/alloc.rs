//! The scoreboard allocator: numbers for all setters of a function, and the waits that follow from them.
//!
//! 1. Visit the blocks in a given order. A block starts with the pending setters of its already visited predecessors.
//! 2. At each instruction: every number with a pending conflicting setter is waited for and becomes free; then the read setter and the
//!    write setter pick their numbers ([`Run::pick`]); then policy waits free numbers, except what this instruction just set.
//! 3. `pick` looks, in this order, for a number to join (same first need), for a free number, and for the least harmful number to share.
//!    The highest numbers are set apart: 5 for textures, where there are any; the one below, or else 5, for values of long loads that leave their block.
//!    In a kernel without long loads every value may have that number.
//! 4. When all blocks are numbered, the waits are recomputed over the whole graph until nothing changes. A setter also waits for
//!    its own number when, around a loop, setters are pending on it that were not pending when it was chosen.
//!
//! The same procedure runs with the stack pointer's setter (must reproduce the compiler's code) and without it (gives the finalizer's).

use crate::cfg::{Block, BlockId, Cfg};
use crate::decode::{Control, Insn, NO_SCOREBOARD, SCOREBOARDS};
use crate::policy::{ALL_SCOREBOARDS, Pending, Policy, counted_wait, keep_last, keeps_pending, merge, waits_for_all};
use crate::setter::{Class, Kind, SetterId, Setters, latency};

/// Number of textures. Long loads whose value leaves the block use the highest number that is left: this one, or the one below it in functions with textures.
const TEXTURE: u8 = 5;

/// Instructions that always use number 0.
const RESERVED_ZERO: [&str; 2] = ["LDGDEPBAR", "UTMACMDFLUSH"];

/// Everything about a function that does not depend on the stack pointer.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) insns: &'a [Insn],
    pub(crate) cfg: &'a Cfg,
    pub(crate) setters: &'a Setters<'a>,
    pub(crate) policy: &'a Policy,
    /// `LDGDEPBAR` or `DEPBAR SB0` are in the function: number 0 is theirs.
    pub(crate) zero_reserved: bool,
}

/// The scoreboard fields of all instructions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) fields: Vec<Control>,
    /// A value that leaves its block had several numbers to share and the rule for the choice is not known.
    pub(crate) ambiguous: bool,
}

/// Pending setters of one number while a block is visited, each with the instruction of this block that first needs it.
type Live = [Vec<(SetterId, Option<usize>)>; SCOREBOARDS as usize];

struct Run<'a> {
    f: &'a Function<'a>,
    dead: Option<SetterId>,
    numbers: Vec<Option<u8>>,
    /// For every setter, the setters it shares its number with by choice; `None` when it had no choice.
    companions: Vec<Option<Vec<SetterId>>>,
    out: Vec<Option<Pending>>,
    times: Option<(BlockId, Vec<u32>)>,
    ambiguous: bool,
    /// The function has long loads: the highest number is for those whose value leaves the block.
    any_long: bool,
    /// The function has textures: number 5 is theirs.
    any_texture: bool,
}

/// Allocates the whole function; `dead` is the setter that no longer needs a number.
pub(crate) fn allocate(f: &Function<'_>, order: &[BlockId], dead: Option<SetterId>) -> Allocation {
    let mut run = Run {
        f,
        dead,
        numbers: vec![None; f.setters.len()],
        companions: vec![None; f.setters.len()],
        out: vec![None; f.cfg.blocks.len()],
        times: None,
        ambiguous: false,
        any_long: f
            .setters
            .ids()
            .any(|s| f.setters.get(s).class == Class::Long && f.setters.get(s).kind == Kind::Write),
        any_texture: f.setters.ids().any(|s| f.setters.get(s).class == Class::Texture),
    };
    for id in order {
        run.block(*id);
    }
    let waits = run.waits();
    let fields = f.insns.iter().enumerate().map(|(k, insn)| run.fields(k, insn, waits[k])).collect();
    Allocation {
        fields,
        ambiguous: run.ambiguous,
    }
}

/// Properties of the setter for which `pick` chooses a number.
struct SlotRequest {
    block: BlockId,
    id: SetterId,
    insn: usize,
    kind: Kind,
    /// First instruction of the block that needs it.
    need: Option<usize>,
    /// Numbers below are not for this class.
    start: u8,
    /// A long load that leaves its block is pending here: its number is taken.
    long_reserved: bool,
}

impl Run<'_> {
    fn needed(&self, id: SetterId) -> bool {
        self.dead != Some(id)
    }

    /// Number of long loads whose value leaves the block.
    fn escaping_load_slot(&self) -> u8 {
        self.top() - 1
    }

    /// Numbers from here on are for textures.
    fn top(&self) -> u8 {
        SCOREBOARDS - u8::from(self.any_texture)
    }

    fn is_escaping_load(&self, id: SetterId) -> bool {
        let setter = self.f.setters.get(id);
        setter.class == Class::Long && setter.kind == Kind::Write && self.f.policy.first_need(id).is_none()
    }

    fn entry(&self, id: BlockId) -> Live {
        let block = &self.f.cfg.blocks[id.index()];
        let mut pending = Pending::default();
        for pred in &block.pred {
            if let Some(out) = &self.out[pred.index()] {
                for (into, from) in pending.iter_mut().zip(out) {
                    merge(into, from);
                }
            }
        }
        pending.map(|list| {
            list.into_iter()
                .map(|s| (s, self.f.setters.first_conflict(s, block.start..block.end)))
                .collect()
        })
    }

    fn block(&mut self, id: BlockId) {
        let (start, end) = (self.f.cfg.blocks[id.index()].start, self.f.cfg.blocks[id.index()].end);
        let mut live = self.entry(id);
        let long_reserved = live.iter().flatten().any(|(s, _)| self.is_escaping_load(*s))
            || (start..end).any(|k| self.f.setters.of(k).any(|s| self.is_escaping_load(s)));
        for k in start..end {
            let insn = &self.f.insns[k];
            if !keeps_pending(insn) {
                for list in &mut live {
                    if list
                        .iter()
                        .any(|(s, need)| self.f.setters.conflicts(*s, k) || (*need == Some(k) && self.f.setters.get(*s).signals_only()))
                    {
                        list.clear();
                    }
                }
            }
            if let Some((number, left)) = counted_wait(insn)
                && let Some(list) = live.get_mut(number)
            {
                keep_last(list, left);
            }
            let dead = self.dead;
            for s in self.f.setters.of(k).filter(|s| dead != Some(*s)) {
                let request = self.request(id, s, long_reserved);
                let number = self.pick(&request, &live);
                self.numbers[s.index()] = Some(number);
                if let Some(list) = live.get_mut(usize::from(number)) {
                    let reserved = RESERVED_ZERO.contains(&insn.name);
                    let forced = reserved
                        || !list.is_empty()
                            && request.start >= self.escaping_load_slot()
                            && !self.f.cfg.blocks[id.index()].succ.contains(&id);
                    self.companions[s.index()] = (!forced).then(|| list.iter().map(|(s, _)| *s).collect());
                    list.push((s, request.need));
                }
            }
            if self.f.policy.any_wait(k) && !keeps_pending(insn) {
                for list in &mut live {
                    if list.iter().any(|(s, _)| self.f.policy.waits_for(k, *s)) {
                        list.retain(|(s, _)| self.f.setters.get(*s).insn == k);
                    }
                }
            }
        }
        let out = live.map(|list| {
            let mut ids: Vec<SetterId> = list.into_iter().map(|(s, _)| s).collect();
            ids.sort_unstable();
            ids
        });
        self.out[id.index()] = Some(out);
    }

    fn request(&self, block: BlockId, id: SetterId, long_reserved: bool) -> SlotRequest {
        let setter = self.f.setters.get(id);
        let need = self.f.policy.first_need(id);
        let start = match (setter.kind, setter.class) {
            (Kind::Write, Class::Texture) => TEXTURE,
            (Kind::Write, Class::Long) => need.map_or(self.escaping_load_slot(), |_| 2),
            _ => 0,
        };
        let start = start.max(u8::from(self.f.zero_reserved));
        SlotRequest {
            block,
            id,
            insn: setter.insn,
            kind: setter.kind,
            need,
            start,
            long_reserved,
        }
    }

    fn pick(&mut self, request: &SlotRequest, live: &Live) -> u8 {
        if RESERVED_ZERO.contains(&self.f.insns[request.insn].name) {
            return 0;
        }
        if let Some(number) = self.joinable(request, live) {
            return number;
        }
        let signal_out = request.kind == Kind::Write && request.need.is_none() && self.f.setters.get(request.id).signals_only();
        let may_be_long = request.need.is_some() || signal_out || !self.any_long;
        let escaping_load_slot = self.escaping_load_slot();
        let limit = match request.start {
            dedicated if dedicated >= escaping_load_slot => dedicated + 1,
            _ if !may_be_long || request.long_reserved => escaping_load_slot,
            _ => self.top(),
        };
        let busy = self.busy(request, live);
        if let Some(free) = (request.start..limit).find(|n| busy >> n & 1 == 0) {
            return free;
        }
        if request.start >= escaping_load_slot {
            return request.start;
        }
        match request.need {
            None => self.share_out(request, live),
            Some(need) => self.share_in(request, need, limit, live),
        }
    }

    /// A number whose setters are first needed where this one is needed, or a group of operand reads that leave the block as well.
    fn joinable(&self, request: &SlotRequest, live: &Live) -> Option<u8> {
        let block = &self.f.cfg.blocks[request.block.index()];
        let here = |insn: usize| (block.start..request.insn).contains(&insn);
        let fits = |list: &[(SetterId, Option<usize>)]| match request.need {
            Some(need) => {
                earliest(list) == Some(need)
                    && list.iter().all(|(s, _)| {
                        let other = self.f.setters.get(*s);
                        let foreign_long = !here(other.insn) && other.class == Class::Long && other.kind == Kind::Write;
                        other.class != Class::Texture && !foreign_long
                    })
            }
            None => {
                request.kind == Kind::Read
                    && list.iter().all(|(s, need)| {
                        let other = self.f.setters.get(*s);
                        other.kind == Kind::Read && need.is_none() && here(other.insn)
                    })
            }
        };
        (0..SCOREBOARDS)
            .zip(live)
            .find(|(_, list)| !list.is_empty() && fits(list))
            .map(|(n, _)| n)
    }

    /// Numbers with something pending here, and for values that leave the block also those pending at a successor's entry.
    fn busy(&self, request: &SlotRequest, live: &Live) -> u8 {
        let mut busy = 0;
        let mut mark = |occupied: [bool; SCOREBOARDS as usize]| {
            for (n, used) in occupied.into_iter().enumerate() {
                busy |= u8::from(used) << n;
            }
        };
        mark(std::array::from_fn(|n| !live[n].is_empty()));
        if request.need.is_none() {
            for succ in &self.f.cfg.blocks[request.block.index()].succ {
                for pred in &self.f.cfg.blocks[succ.index()].pred {
                    if let Some(out) = &self.out[pred.index()] {
                        mark(std::array::from_fn(|n| !out[n].is_empty()));
                    }
                }
            }
        }
        busy
    }

    /// No number for a value that leaves the block: give up the successors' claim, then share where that costs the least waiting time.
    fn share_out(&mut self, request: &SlotRequest, live: &Live) -> u8 {
        let block = &self.f.cfg.blocks[request.block.index()];
        let mut first = request.start..if self.any_long { self.escaping_load_slot() } else { self.top() };
        if let Some(free) = first.find(|n| live[usize::from(*n)].is_empty()) {
            return free;
        }
        let range = request.start..if request.long_reserved {
            self.escaping_load_slot()
        } else {
            self.top()
        };
        let (start, end) = (block.start, block.end);
        self.estimate(request.block, start..end);
        let Some((_, issue)) = &self.times else {
            return self.escaping_load_slot();
        };
        let setter = self.f.setters.get(request.id);
        let done = issue
            .get(request.insn - start)
            .map_or(0, |t| t + latency(setter.class, setter.kind));
        let cost = |list: &[(SetterId, Option<usize>)]| {
            earliest(list)
                .and_then(|k| issue.get(k.wrapping_sub(start)))
                .map_or(0, |t| done.saturating_sub(*t))
        };
        // Seen often: someone's value leaves the block as well. With only values needed here the choice is not understood.
        self.ambiguous |= range.clone().all(|n| earliest(&live[usize::from(n)]).is_some());
        range
            .min_by_key(|n| (cost(&live[usize::from(*n)]), *n))
            .unwrap_or(self.escaping_load_slot())
    }

    /// No number for a value needed in this block: share with the number that costs the least waiting time.
    fn share_in(&mut self, request: &SlotRequest, need: usize, limit: u8, live: &Live) -> u8 {
        let (start, end) = (
            self.f.cfg.blocks[request.block.index()].start,
            self.f.cfg.blocks[request.block.index()].end,
        );
        self.estimate(request.block, start..end);
        let Some((_, issue)) = &self.times else {
            return self.escaping_load_slot();
        };
        let done = |s: SetterId| {
            let setter = self.f.setters.get(s);
            issue
                .get(setter.insn.wrapping_sub(start))
                .map_or(0, |t| t + latency(setter.class, setter.kind))
        };
        let own = done(request.id);
        // Setters that have ended by now have no cost.
        let now = issue.get(request.insn - start).copied().unwrap_or(0);
        let mut best: Option<((u32, i64, u8), u8)> = None;
        for number in request.start..limit {
            let list = &live[usize::from(number)];
            let holds_escaping_load = list.iter().any(|(s, need)| {
                let setter = self.f.setters.get(*s);
                setter.class == Class::Long && setter.kind == Kind::Write && need.is_none()
            });
            if list.is_empty() || holds_escaping_load {
                continue;
            }
            let theirs = earliest(list).map_or(i64::MAX, |k| k as i64);
            let last = list
                .iter()
                .map(|(s, _)| {
                    if (start..request.insn).contains(&self.f.setters.get(*s).insn) {
                        done(*s)
                    } else {
                        0
                    }
                })
                .max();
            let key = if theirs >= need as i64 {
                (last.unwrap_or(0).max(now), theirs, number)
            } else {
                (own, -theirs, number)
            };
            if best.is_none_or(|(k, _)| key < k) {
                best = Some((key, number));
            }
        }
        best.map_or(self.escaping_load_slot(), |(_, number)| number)
    }

    /// Estimated issue time of every instruction of the block.
    fn estimate(&mut self, id: BlockId, range: std::ops::Range<usize>) {
        if self.times.as_ref().is_some_and(|(known, _)| *known == id) {
            return;
        }
        let mut issue = Vec::with_capacity(range.len());
        let mut pending: Vec<(SetterId, u32)> = Vec::new();
        let mut now = 0u32;
        for k in range {
            pending.retain(|(s, done)| {
                let conflict = self.f.setters.conflicts(*s, k);
                if conflict {
                    now = now.max(*done);
                }
                !conflict
            });
            issue.push(now);
            for s in self.f.setters.of(k).filter(|s| self.needed(*s)) {
                let setter = self.f.setters.get(s);
                pending.push((s, now + latency(setter.class, setter.kind)));
            }
            now += u32::from(self.f.insns[k].control.stall);
        }
        self.times = Some((id, issue));
    }

    /// The wait masks: an instruction waits for every number with a pending setter that conflicts or is waited for by policy.
    fn waits(&self) -> Vec<u8> {
        let f = self.f;
        let mut entry = vec![Pending::default(); f.cfg.blocks.len()];
        let mut waits = vec![0; f.insns.len()];
        // Entry sets only grow, so this ends; the bound covers graphs far deeper than any compiler output.
        for _ in 0..64 {
            let mut changed = false;
            for (i, block) in f.cfg.blocks.iter().enumerate() {
                let mut state = entry[i].clone();
                changed |= self.wait_block(block, &mut state, &mut waits);
                for to in &block.succ {
                    for (into, from) in entry[to.index()].iter_mut().zip(&state) {
                        changed |= merge(into, from);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        waits
    }

    fn wait_block(&self, block: &Block, state: &mut Pending, waits: &mut [u8]) -> bool {
        let f = self.f;
        let mut changed = false;
        for (k, wait) in (block.start..block.end).zip(&mut waits[block.start..block.end]) {
            let mut mask = 0;
            if waits_for_all(&f.insns[k]) {
                mask = ALL_SCOREBOARDS;
                state.iter_mut().for_each(Vec::clear);
            }
            for (number, list) in state.iter_mut().enumerate() {
                if list.iter().any(|s| f.setters.conflicts(*s, k) || f.policy.waits_for(k, *s)) {
                    mask |= 1 << number;
                    if !keeps_pending(&f.insns[k]) {
                        list.clear();
                    }
                }
            }
            for s in f.setters.of(k) {
                let Some(number) = self.numbers[s.index()] else { continue };
                let list = &mut state[usize::from(number)];
                if self.companions[s.index()]
                    .as_ref()
                    .is_some_and(|known| list.iter().any(|other| !known.contains(other)))
                {
                    mask |= 1 << number;
                    list.clear();
                }
            }
            changed |= std::mem::replace(wait, mask) != mask;
            if let Some((number, left)) = counted_wait(&f.insns[k])
                && let Some(list) = state.get_mut(number)
            {
                keep_last(list, left);
            }
            for s in f.setters.of(k) {
                if let Some(list) = self.numbers[s.index()].and_then(|n| state.get_mut(usize::from(n))) {
                    merge(list, &[s]);
                }
            }
        }
        changed
    }

    fn fields(&self, k: usize, insn: &Insn, wait: u8) -> Control {
        let mut fields = Control {
            wait,
            read: NO_SCOREBOARD,
            write: NO_SCOREBOARD,
            ..insn.control
        };
        for s in self.f.setters.of(k) {
            let number = self.numbers[s.index()].unwrap_or(NO_SCOREBOARD);
            match self.f.setters.get(s).kind {
                Kind::Read => fields.read = number,
                Kind::Write => fields.write = number,
            }
        }
        fields
    }
}

fn earliest(list: &[(SetterId, Option<usize>)]) -> Option<usize> {
    list.iter().filter_map(|(_, need)| *need).min()
}

/// Does the function reserve number 0 for asynchronous copies?
pub(crate) fn reserves_zero(insns: &[Insn]) -> bool {
    insns
        .iter()
        .any(|insn| insn.name == "LDGDEPBAR" || (insn.name == "DEPBAR" && insn.bits(44, 3) == 0))
}
