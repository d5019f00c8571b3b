//! The scoreboard allocator: numbers for all setters of a function, and the waits that follow from them.
//!
//! 1. Visit the blocks in a given order. A block starts with the pending setters of its already visited predecessors.
//! 2. At each instruction: every number with a pending conflicting setter is waited for and becomes free; then the read setter and the
//!    write setter pick their numbers ([`Run::pick`]); then policy waits free numbers, except what this instruction just set. Policy waits at the
//!    end of a block pass over a number that the last instruction sets: its setters remain pending.
//! 3. `pick` looks, in this order, for a number to join (same first need), for a free number, and for the least harmful number to share ([`share`]).
//!    Results of textures are not joined, their operands are. The highest numbers are set apart: 5 for textures, where there are any; the one below, or
//!    else 5, for values of long loads that leave their block. In a kernel without long loads every value may have that number. Operand reads that leave
//!    their block join each other, but not those whose registers the next block writes (13.1 on).
//! 4. When all blocks are numbered, the waits are recomputed over the whole graph until nothing changes. A setter in the first block of a loop also
//!    waits for its own number when, around the loop, setters are pending on it that it did not know about when it chose.
//!
//! 5. What comes to a block around a loop, unknown when the block was visited, and is still pending at its last instruction, is waited for there. This wait
//!    is an addition: numbers and other waits are as if it was not there.
//!
//! The same procedure runs with the stack pointer's setter (must reproduce the compiler's code) and without it (gives the finalizer's).

mod seen;
mod share;
mod waits;

use std::collections::BTreeMap;

use crate::cfg::{BlockId, Cfg};
use crate::decode::{Control, Insn, NO_SCOREBOARD, SCOREBOARDS, opcode};
use crate::policy::{Pending, Policy, counted_wait, keep_last, keeps_pending, merge, waits_for_pending, waits_for_uniform};
use crate::setter::{Class, Kind, SetterId, Setters};
use crate::times::Times;
pub(crate) use seen::Seen;
use seen::hash_live;

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
    /// Blocks right after an `EXIT` that gets fences: what is pending at their start has had more time than in the input. Empty: none.
    pub(crate) delayed: Vec<bool>,
    /// Numbers are chosen as compilers before 13.0 do.
    pub(crate) older: bool,
}

impl Function<'_> {
    pub(crate) fn times(&self) -> &Times {
        self.policy.times(self.insns, self.cfg, self.setters)
    }

    /// Does the instruction neither set nor count scoreboards?
    fn sets_nothing(&self, k: usize) -> bool {
        self.setters.of(k).next().is_none() && counted_wait(&self.insns[k]).is_none()
    }
}

/// The scoreboard fields of all instructions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) fields: Vec<Control>,
    /// An instruction whose number or wait has a rule that is not known: it had several numbers to share, for example.
    pub(crate) ambiguous: Option<usize>,
    /// The first instruction where the model was not right with the compiler's numbers, and where the numbers before it are no longer the compiler's.
    pub(crate) untested: Option<usize>,
    /// What the run saw at every choice and every wait.
    pub(crate) seen: Seen,
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
    /// What was pending at the entry of every block when it was visited.
    known: Vec<Pending>,
    /// Blocks that were visited before one of those that lead to them: a loop comes around to them.
    headers: Vec<bool>,
    /// Cycles from the end of other blocks to the start of one.
    distances: Option<(BlockId, BTreeMap<BlockId, i64>)>,
    /// The setters of the block on every number, waited for or not, and when the last of those counted so far arrives.
    used: [(Vec<SetterId>, i64); SCOREBOARDS as usize],
    /// The setter of the block on every number that arrives last, and when, if nothing waits.
    latest: [Option<(i64, SetterId)>; SCOREBOARDS as usize],
    ambiguous: Option<usize>,
    /// Numbers that an instruction waits for before it takes one of them itself: a long load of a loop's first block.
    early: BTreeMap<usize, u8>,
    /// The function has long loads: the highest number is for those whose value leaves the block.
    any_long: bool,
    /// The function has textures: number 5 is theirs.
    any_texture: bool,
    /// How the last number was chosen.
    how: How,
    /// The time that new fences take may change the number chosen last.
    depends_on_fences: bool,
    /// The run with the compiler's numbers: what is decided there from the same state is decided again.
    lesson: Option<&'a Seen>,
    /// Setters get the compiler's numbers.
    taught: bool,
    seen: Seen,
    untested: Option<usize>,
}

/// How a number was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// It is the only one for its kind.
    Fixed,
    /// Same first need as another setter.
    Join,
    /// Nothing was pending on it.
    Free,
    /// Shared by a value that leaves the block.
    ShareOut,
    /// Shared by a value that is needed in the block.
    ShareIn,
}

/// Allocates the whole function; `dead` is the setter that no longer needs a number. What is decided from a state that `lesson` saw as well is decided
/// as the compiler did.
pub(crate) fn allocate(f: &Function<'_>, order: &[BlockId], dead: Option<SetterId>, lesson: Option<&Seen>) -> Allocation {
    let mut run = Run::new(f, dead);
    run.lesson = lesson;
    run.finish(order)
}

/// Gives all setters the compiler's numbers, and tells where the model would have chosen them too.
pub(crate) fn learn(f: &Function<'_>, order: &[BlockId]) -> Allocation {
    let mut run = Run::new(f, None);
    run.taught = true;
    run.finish(order)
}

/// Allocates with all setters, without a look at the compiler's numbers.
pub(crate) fn free(f: &Function<'_>, order: &[BlockId]) -> Allocation {
    Run::new(f, None).finish(order)
}

/// What `pick` needs to know about the setter that wants a number.
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

impl<'a> Run<'a> {
    fn new(f: &'a Function<'a>, dead: Option<SetterId>) -> Self {
        Self {
            f,
            dead,
            numbers: vec![None; f.setters.len()],
            companions: vec![None; f.setters.len()],
            out: vec![None; f.cfg.blocks.len()],
            known: vec![Pending::default(); f.cfg.blocks.len()],
            headers: vec![false; f.cfg.blocks.len()],
            distances: None,
            used: Default::default(),
            latest: Default::default(),
            ambiguous: None,
            early: BTreeMap::new(),
            any_long: f
                .setters
                .ids()
                .any(|s| f.setters.get(s).class == Class::Long && f.setters.get(s).kind == Kind::Write),
            any_texture: f.setters.ids().any(|s| f.setters.get(s).class == Class::Texture),
            how: How::Fixed,
            depends_on_fences: false,
            lesson: None,
            taught: false,
            seen: Seen {
                choices: vec![0; f.setters.len()],
                how: vec![How::Fixed; f.setters.len()],
                pending: vec![0; f.insns.len()],
                right_choice: vec![true; f.setters.len()],
                right_wait: vec![true; f.insns.len()],
                model: vec![7; f.setters.len()],
            },
            untested: None,
        }
    }

    fn finish(&mut self, order: &[BlockId]) -> Allocation {
        for id in order {
            self.block(*id);
        }
        let waits = self.waits(order);
        // What a `WARPSYNC` of 13.1 and later waits for is known only as far as the input shows it.
        let unknown = |(k, (insn, wait)): (usize, (&Insn, &u8))| {
            let (new, old) = (wait.count_ones(), insn.control.wait.count_ones());
            let for_dead = || self.dead.is_some_and(|dead| self.f.policy.waits_for(k, dead));
            matches!(insn.op, opcode::WARPSYNC | opcode::WARPSYNC_COLLECTIVE) && (new > old || new < old && !for_dead())
        };
        let mut synchronized = self.f.insns.iter().zip(&waits).enumerate();
        let synchronized = self.f.policy.looks_ahead().then(|| synchronized.position(unknown)).flatten();
        self.ambiguous = self.ambiguous.or(synchronized);
        let fields = self.f.insns.iter().zip(waits).enumerate();
        Allocation {
            fields: fields.map(|(k, (insn, wait))| self.fields(k, insn, wait)).collect(),
            ambiguous: self.ambiguous,
            untested: self.untested,
            seen: std::mem::take(&mut self.seen),
        }
    }

    /// Is the setter waited for again, although instruction `k` waits for it by policy? So it is where `k` closes a loop and the setter is outside (13.1 on).
    fn repeats(&self, k: usize, id: SetterId) -> bool {
        let f = self.f;
        let block = &f.cfg.blocks[f.cfg.block_of[k].index()];
        let mut back = block.succ.iter().map(|to| f.cfg.blocks[to.index()].start);
        f.policy.looks_ahead()
            && k + 1 == block.end
            && !waits_for_uniform(&f.insns[k])
            && back.any(|start| start <= block.start && f.setters.get(id).insn < start)
    }

    /// Number of long loads whose value leaves the block.
    fn escaping_load_slot(&self) -> u8 {
        self.top() - 1
    }

    /// Numbers from here on are for textures.
    fn top(&self) -> u8 {
        SCOREBOARDS - u8::from(self.any_texture)
    }

    /// Does a long load wait for its own number first? In the first block of a loop it does not share the number of loads that leave their block with what
    /// was pending before the loop.
    fn renews(&self, request: &SlotRequest, list: &[(SetterId, Option<usize>)]) -> bool {
        let block = &self.f.cfg.blocks[request.block.index()];
        let local = |s: SetterId| (block.start..request.insn).contains(&self.f.setters.get(s).insn);
        self.is_escaping_load(request.id) && !list.is_empty() && !list.iter().any(|(s, _)| local(*s)) && self.headers[request.block.index()]
    }

    /// Is one of the blocks before this one visited after it, or this block itself?
    fn is_loop_header(&self, id: BlockId) -> bool {
        self.f.cfg.blocks[id.index()]
            .pred
            .iter()
            .any(|pred| self.out[pred.index()].is_none())
    }

    /// Does a wait here leave pending what it is for? Before 13.0 none does.
    fn keeps_pending(&self, insn: &Insn) -> bool {
        keeps_pending(insn) && !self.f.older
    }

    fn is_escaping_load(&self, id: SetterId) -> bool {
        let setter = self.f.setters.get(id);
        setter.class == Class::Long && setter.kind == Kind::Write && self.f.policy.first_need(id).is_none()
    }

    fn entry(&mut self, id: BlockId) -> Live {
        let block = &self.f.cfg.blocks[id.index()];
        let mut pending = Pending::default();
        for pred in &block.pred {
            if let Some(out) = &self.out[pred.index()] {
                for (into, from) in pending.iter_mut().zip(out) {
                    merge(into, from);
                }
            }
        }
        self.known[id.index()].clone_from(&pending);
        let need = |s: SetterId| match self.f.setters.get(s).signals_only() {
            true => (block.start..block.end).find(|k| self.f.policy.waits_for(*k, s)),
            false => self.f.setters.first_conflict(s, block.start..block.end),
        };
        pending.map(|list| list.into_iter().map(|s| (s, need(s))).collect())
    }

    fn block(&mut self, id: BlockId) {
        let (start, end) = (self.f.cfg.blocks[id.index()].start, self.f.cfg.blocks[id.index()].end);
        self.headers[id.index()] = self.is_loop_header(id);
        let mut live = self.entry(id);
        self.used = Default::default();
        self.latest = Default::default();
        let long_reserved = live.iter().flatten().any(|(s, _)| self.is_escaping_load(*s))
            || (start..end).any(|k| self.f.setters.of(k).any(|s| self.is_escaping_load(s)));
        // The outline of what is pending, made again after an instruction that may change it.
        let mut outline = None;
        for k in start..end {
            let insn = &self.f.insns[k];
            let pending = *outline.get_or_insert_with(|| self.f.setters.outline(live.iter().flatten().map(|(s, _)| *s)));
            let meets = self.f.policy.any_wait(k) || waits_for_pending(insn) || self.f.setters.meets(pending, k);
            if !meets && self.f.sets_nothing(k) {
                continue;
            }
            outline = None;
            if meets && !self.keeps_pending(insn) {
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
                let flag = self.ambiguous;
                let number = self.pick(&request, &live);
                let number = self.compare(&request, number, &live, flag);
                self.numbers[s.index()] = Some(number);
                if let Some(list) = live.get_mut(usize::from(number)) {
                    if self.renews(&request, list) {
                        list.clear();
                        *self.early.entry(k).or_default() |= 1 << number;
                    }
                    let reserved = RESERVED_ZERO.contains(&insn.name);
                    let forced = reserved
                        || !list.is_empty()
                            && request.start >= self.escaping_load_slot()
                            && !self.f.cfg.blocks[id.index()].succ.contains(&id);
                    self.companions[s.index()] = (!forced).then(|| list.iter().map(|(s, _)| *s).collect());
                    list.push((s, request.need));
                    self.used[usize::from(number)].0.push(s);
                    let arrives = self.f.cfg.stalls[k] + i64::from(self.f.setters.get(s).latency);
                    let latest = &mut self.latest[usize::from(number)];
                    *latest = (*latest).max(Some((arrives, s)));
                }
            }
            if waits_for_pending(insn) {
                live = Live::default();
            }
            if self.f.policy.any_wait(k) && !self.keeps_pending(insn) {
                let is_pending = |s: SetterId| live.iter().flatten().any(|(other, _)| *other == s);
                let waits: [bool; SCOREBOARDS as usize] =
                    std::array::from_fn(|n| !self.joins_at_end(k, n) && self.policy_wait(k, live[n].iter().map(|(s, _)| *s), is_pending));
                for (list, _) in live.iter_mut().zip(waits).filter(|(_, waits)| *waits) {
                    list.retain(|(s, _)| self.f.setters.get(*s).insn == k || self.repeats(k, *s));
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

    /// The number of a setter: the compiler's, if that is wanted or if the compiler chose it from the same state; else the model's.
    fn compare(&mut self, request: &SlotRequest, model: u8, live: &Live, ambiguous: Option<usize>) -> u8 {
        let (i, compiler) = (request.id.index(), self.f.setters.number_in_input(request.id));
        let now = self.f.cfg.stalls[request.insn];
        let on_its_way = self
            .latest
            .map(|latest| latest.filter(|(arrives, _)| *arrives > now).map(|(_, s)| s));
        let state = hash_live(live, &(self.busy(request, live), request.long_reserved, on_its_way));
        self.seen.choices[i] = state;
        self.seen.right_choice[i] = model == compiler;
        self.seen.how[i] = self.how;
        self.seen.model[i] = model;
        let same = self.lesson.is_some_and(|lesson| lesson.choices[i] == state);
        if self.taught || same {
            self.ambiguous = ambiguous.or(self.depends_on_fences.then_some(request.insn));
            return compiler;
        }
        self.doubt(self.depends_on_fences, request.insn);
        // The model was wrong about what to share; a number that is free now is not shared.
        let shares = |how: How| matches!(how, How::ShareIn | How::ShareOut);
        let other_rule = |lesson: &Seen| shares(lesson.how[i]) && self.how == How::Free;
        if self.lesson.is_some_and(|lesson| !lesson.right_choice[i] && !other_rule(lesson)) {
            self.untested.get_or_insert(request.insn);
        }
        model
    }

    /// Notes that the rule is not known which decides about an instruction.
    fn doubt(&mut self, is_unknown: bool, insn: usize) {
        if is_unknown {
            self.ambiguous.get_or_insert(insn);
        }
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
        self.depends_on_fences = false;
        if RESERVED_ZERO.contains(&self.f.insns[request.insn].name) {
            self.how = How::Fixed;
            return 0;
        }
        // Textures never join others.
        let texture = request.start == TEXTURE;
        if let Some(number) = self.joinable(request, live).filter(|_| !texture) {
            self.how = How::Join;
            return number;
        }
        // Not those of barriers in memory.
        let signals = self.f.setters.get(request.id).signals_only() && self.f.insns[request.insn].name != "SYNCS";
        let signal_out = request.kind == Kind::Write && request.need.is_none() && signals;
        let may_be_long = request.need.is_some() || signal_out || !self.any_long;
        let escaping_load_slot = self.escaping_load_slot();
        let limit = match request.start {
            dedicated if dedicated >= escaping_load_slot => dedicated + 1,
            _ if !may_be_long || request.long_reserved => escaping_load_slot,
            _ => self.top(),
        };
        let busy = self.busy(request, live);
        if let Some(free) = (request.start..limit).find(|n| busy >> n & 1 == 0) {
            self.how = How::Free;
            return free;
        }
        if request.start >= escaping_load_slot {
            self.how = How::Fixed;
            return request.start;
        }
        self.how = if request.need.is_some() { How::ShareIn } else { How::ShareOut };
        match request.need {
            None => self.share_out(request, live),
            Some(need) => self.share(request, need, limit, live),
        }
    }

    /// A number whose setters are first needed where this one is needed, or a group of operand reads that leave the block as well and may join.
    fn joinable(&self, request: &SlotRequest, live: &Live) -> Option<u8> {
        let block = &self.f.cfg.blocks[request.block.index()];
        let here = |insn: usize| (block.start..request.insn).contains(&insn);
        let fits = |list: &[(SetterId, Option<usize>)]| match request.need {
            Some(need) => {
                earliest(list) == Some(need)
                    && list.iter().all(|(s, _)| {
                        let other = self.f.setters.get(*s);
                        let foreign_long = !here(other.insn) && other.class == Class::Long && other.kind == Kind::Write;
                        let texture = other.class == Class::Texture && other.kind == Kind::Write;
                        !texture && !foreign_long && (here(other.insn) || !self.f.older)
                    })
            }
            None => {
                request.kind == Kind::Read
                    && !list.iter().any(|(s, _)| self.f.policy.is_needed_next(*s))
                    && list.iter().any(|(s, _)| here(self.f.setters.get(*s).insn))
                    && list
                        .iter()
                        .all(|(s, need)| self.f.setters.get(*s).kind == Kind::Read && need.is_none())
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
