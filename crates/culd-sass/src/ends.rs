//! The waits at the ends of blocks, for setters that no longer share a number with those they shared it with in the input.
//!
//! At the last instruction of a block a number is waited for when all setters of this block that are pending on it have had time to arrive. For one setter
//! the answer is known
//!
//! 1. from the input, where the end of the block waits for it or for a later one of its kind: it has arrived; or where the end does not, and all on its
//!    number are of its kind and not later: it has not;
//! 2. else from the clock ([`crate::clock`]): the input shows nothing when the setter was waited for earlier in the block together with others, or when a
//!    later one on its number had not arrived;
//! 3. never for loads from memory and textures, which are not waited for in this way.
//!
//! From 13.1 on only the ends of blocks that lead into a loop wait in this way, there also for setters of earlier blocks; and `BSYNC` and guarded `EXIT`s
//! wait for all setters of uniform registers, of this block or earlier ones.
//!
//! New fences before an `EXIT` give setters more time to arrive ([`fences`]).
//!
//! The numbers are decided with the answers that matter only: one setter that has not arrived is enough. Where the answer matters and is not known, the
//! function is kept.

mod fences;

use crate::alloc::Function;
use crate::cfg::{Block, BlockId, LONGEST};
use crate::clock::{Arrived, FENCE_CYCLES, arrived, arrived_after, never_waited};
use crate::decode::{Control, Insn, SCOREBOARDS};
use crate::policy::{Pending, flow, waits_for_uniform, walk};
use crate::setter::{Kind, SetterId};

/// Cycles of an `EXIT` that stalls for nothing else.
const EXIT_STALL: u8 = 5;

/// The waits at ends of blocks that the clock adds to those of the input. `fenced` names the `EXIT`s that get fences, which take time. Blocks are looked at in
/// `order`, that of their visits: behind a wait that is missing numbers may change, so that nothing is unknown there yet.
///
/// # Errors
/// The instruction whose arrival decides and is not known, where no wait is missing before it.
pub(crate) fn missing_waits(
    f: &Function<'_>,
    order: &[BlockId],
    fields: &[Control],
    dead: Option<SetterId>,
    fenced: &dyn Fn(usize) -> bool,
) -> Result<Vec<(usize, SetterId)>, usize> {
    let mut with_fields: Option<Vec<Insn>> = None;
    let mut waits = Vec::new();
    let (mut inherited, mut input): (Option<Inherited>, Option<Inherited>) = (None, None);
    for id in order.iter().copied().filter(|id| f.policy.waits_at_end(*id)) {
        let block = &f.cfg.blocks[id.index()];
        let range = block.start..block.end;
        let changed = |k: usize| fields[k] != f.insns[k].control;
        let last = block.end - 1;
        let looks_ahead = f.policy.looks_ahead();
        let clock = (fenced(last) && !looks_ahead).then(|| {
            let insns = with_fields.get_or_insert_with(|| replaced(f.insns, fields));
            let inherited = inherited.get_or_insert_with(|| Inherited::new(f, insns));
            fences::Clock::new(f, id, &inherited.entry)
        });
        let extra = match &clock {
            Some(clock) => [clock.cycles(); 2].into(),
            None if fenced(last) => FENCE_CYCLES,
            None => (0, 0),
        };
        if extra.0 == 0 && !looks_ahead && !range.clone().any(changed) {
            continue;
        }
        let foreign = looks_ahead.then(|| {
            let insns = with_fields.get_or_insert_with(|| replaced(f.insns, fields));
            let inherited = inherited.get_or_insert_with(|| Inherited::new(f, insns));
            inherited.at(f, insns, id)
        });
        if let Some(foreign) = &foreign
            && let Some(s) = mixed(f, block, fields, dead, foreign, || {
                input.get_or_insert_with(|| Inherited::new(f, f.insns)).before(f, f.insns, id)
            })
        {
            if waits.is_empty() {
                return Err(f.setters.get(s).insn);
            }
            return Ok(waits);
        }
        let mut shown: Option<Shown> = None;
        for number in (0..SCOREBOARDS).filter(|n| fields[last].wait >> n & 1 == 0) {
            let foreign = foreign.as_ref().map_or(&[][..], |f| f[usize::from(number)].as_slice());
            let mut group = pending(f, block, number, |k| fields[k], dead);
            group.extend(foreign.iter().map(|(s, _)| *s));
            let own = [fields[last].read, fields[last].write].contains(&number);
            if own
                || group.is_empty()
                || group.iter().any(|s| {
                    f.insns
                        .get(f.setters.get(*s).insn)
                        .is_none_or(|i| never_waited(i, f.setters.get(*s).kind))
                })
            {
                continue;
            }
            let shown = shown.get_or_insert_with(|| {
                let input = looks_ahead.then(|| input.get_or_insert_with(|| Inherited::new(f, f.insns)).at(f, f.insns, id));
                Shown::new(f, block, input.as_ref())
            });
            if extra.0 == 0 && shown.late.iter().any(|late| late.iter().all(|s| group.contains(s))) {
                continue;
            }
            let insns = with_fields.get_or_insert_with(|| replaced(f.insns, fields));
            let aside = looks_ahead && extra.0 > 0 && waits_aside(insns, block);
            let answers = |s: &SetterId| {
                let setter = f.setters.get(*s);
                let after = |cycles| arrived(insns, block.start..block.end, setter.insn, setter.kind, cycles);
                // An `EXIT` that stalls for what follows it, or a block that waits for results which the `EXIT` does not depend on: what the compiler knew of
                // the time is not known. Observed in such blocks: what arrives during the fences is waited for in some, and in some not.
                let by_clock = || match after(extra) {
                    Arrived::Yes if extra.1 > 0 && f.insns[last].control.stall > EXIT_STALL => Arrived::Unknown,
                    Arrived::Yes if aside && after((0, 0)) != Arrived::Yes => Arrived::Unknown,
                    answer => answer,
                };
                if let Some(clock) = clock.as_ref().filter(|_| extra.0 > 0) {
                    return match shown.arrived(f, *s) {
                        Some(Arrived::Yes) => Arrived::Yes,
                        None if after((0, 0)) == Arrived::Yes => Arrived::Yes,
                        answer => clock.arrived(f, *s, answer.is_some()),
                    };
                }
                if let Some((_, least)) = foreign.iter().find(|(t, _)| t == s) {
                    return match f.policy.waits_for(last, *s) {
                        true => Arrived::Yes,
                        false => arrived_after(&insns[setter.insn], setter.kind, *least),
                    };
                }
                match shown.arrived(f, *s) {
                    // The clock contradicts the input.
                    Some(Arrived::No) if extra.1 > 0 && after((0, 0)) == Arrived::Yes => Arrived::Unknown,
                    Some(Arrived::No) if extra.1 > 0 => by_clock(),
                    Some(answer) => answer,
                    None => by_clock(),
                }
            };
            let answers: Vec<Arrived> = group.iter().map(answers).collect();
            if answers.contains(&Arrived::No) {
                continue;
            }
            if let Some((s, _)) = group.iter().zip(&answers).find(|(_, a)| **a == Arrived::Unknown) {
                if waits.is_empty() {
                    return Err(f.setters.get(*s).insn);
                }
                return Ok(waits);
            }
            waits.extend(group.into_iter().filter(|s| !f.policy.waits_for(last, *s)).map(|s| (last, s)));
        }
        // Numbers of later blocks may change with these waits.
        if !waits.is_empty() {
            return Ok(waits);
        }
    }
    let uniform_ends = |id: &BlockId| waits_for_uniform(&f.insns[f.cfg.blocks[id.index()].end - 1]);
    let changed = |(insn, fields): (&Insn, &Control)| insn.control != *fields;
    if (f.policy.looks_ahead() || f.insns.iter().zip(fields).any(changed)) && order.iter().any(uniform_ends) {
        let insns = with_fields.get_or_insert_with(|| replaced(f.insns, fields));
        for id in order.iter().copied().filter(uniform_ends) {
            let last = f.cfg.blocks[id.index()].end - 1;
            let new = inherited.get_or_insert_with(|| Inherited::new(f, insns)).before(f, insns, id);
            let old = input.get_or_insert_with(|| Inherited::new(f, f.insns)).before(f, f.insns, id);
            for (_, list) in new.iter().enumerate().filter(|(n, _)| fields[last].wait >> n & 1 == 0) {
                for s in list.iter().filter(|s| f.setters.get(**s).is_uniform()) {
                    let known = old.iter().any(|o| o.binary_search(s).is_ok());
                    if !known && !f.policy.waits_for(last, *s) {
                        waits.push((last, *s));
                    }
                }
            }
        }
    }
    Ok(waits)
}

/// A setter of the block, or one of an earlier block that may not have arrived, on a number that the end of the block waits for together with others of earlier
/// blocks; and the input has no number with all of them. Whether the wait is there for the others alone is not known.
fn mixed(
    f: &Function<'_>,
    block: &Block,
    fields: &[Control],
    dead: Option<SetterId>,
    foreign: &Foreign,
    input: impl FnOnce() -> Pending,
) -> Option<SetterId> {
    let last = block.end - 1;
    let waited = (0..SCOREBOARDS)
        .zip(foreign)
        .filter(|(n, list)| fields[last].wait >> n & 1 == 1 && !list.is_empty());
    let groups: Vec<(SetterId, Vec<SetterId>)> = waited
        .filter_map(|(number, list)| {
            let own = pending(f, block, number, |k| fields[k], dead);
            let unsure = |(s, elapsed): &&(SetterId, u32)| {
                let setter = f.setters.get(*s);
                !f.policy.waits_for(last, *s) && arrived_after(&f.insns[setter.insn], setter.kind, *elapsed) != Arrived::Yes
            };
            let first = own.first().or(list.iter().find(unsure).map(|(s, _)| s)).copied()?;
            let conflict = own.iter().chain(list.iter().map(|(s, _)| s)).any(|s| f.setters.conflicts(*s, last));
            (!conflict).then(|| (first, own.into_iter().chain(list.iter().map(|(s, _)| *s)).collect()))
        })
        .collect();
    if groups.is_empty() {
        return None;
    }
    let input = input();
    let known = |group: &Vec<SetterId>| input.iter().any(|old| group.iter().all(|s| old.binary_search(s).is_ok()));
    groups.into_iter().find(|(_, group)| !known(group)).map(|(first, _)| first)
}

/// Setters of earlier blocks per number, each with the cycles since then on the shortest way.
type Foreign = [Vec<(SetterId, u32)>; SCOREBOARDS as usize];

/// What comes from earlier blocks to the ends of blocks.
struct Inherited {
    /// Pending at the entry of every block.
    entry: Vec<Pending>,
}

impl Inherited {
    fn new(f: &Function<'_>, insns: &[Insn]) -> Self {
        Self {
            entry: flow(insns, f.cfg, f.setters, false),
        }
    }

    /// What is pending before the last instruction of a block.
    fn before(&self, f: &Function<'_>, insns: &[Insn], id: BlockId) -> Pending {
        let block = &f.cfg.blocks[id.index()];
        let mut state = self.entry[id.index()].clone();
        walk((insns, false), f.setters, block.start..block.end - 1, &mut state, |_, _, _| ());
        state
    }

    /// The setters of earlier blocks that are pending before the last instruction of a block.
    fn at(&self, f: &Function<'_>, insns: &[Insn], id: BlockId) -> Foreign {
        let block = &f.cfg.blocks[id.index()];
        let last = block.end - 1;
        let state = self.before(f, insns, id);
        let here = f.times().issue(last);
        let mut distances = None;
        state.map(|list| {
            let foreign = list.into_iter().filter(|s| !(block.start..last).contains(&f.setters.get(*s).insn));
            let since = |s: SetterId| {
                let insn = f.setters.get(s).insn;
                let from = f.cfg.block_of[insn];
                let distances = distances.get_or_insert_with(|| f.times().nearby(f.cfg, id));
                let way = distances.get(&from).map_or(LONGEST, |way| way + f.times().to_end(insn));
                (s, u32::try_from(way + here).unwrap_or(0))
            };
            foreign.map(since).collect()
        })
    }
}

/// The setters of a block that are pending on a number at its last instruction. The first use of the result of an instruction ends the wait for its operands
/// too; a wait for that number on behalf of another setter does not.
fn pending(f: &Function<'_>, block: &Block, number: u8, fields: impl Fn(usize) -> Control, dead: Option<SetterId>) -> Vec<SetterId> {
    let mut group: Vec<SetterId> = Vec::new();
    for k in block.start..block.end - 1 {
        let control = fields(k);
        if control.wait >> number & 1 == 1 {
            group.clear();
        }
        let complete = |s: &SetterId| {
            let setter = f.setters.get(*s);
            let write = fields(setter.insn).write;
            let is_result = |r: &SetterId| f.setters.get(*r).kind == Kind::Write;
            let used = || f.setters.of(setter.insn).filter(is_result).any(|r| f.setters.conflicts(r, k));
            setter.kind == Kind::Read && write < SCOREBOARDS && used()
        };
        group.retain(|s| !complete(s));
        let on = |s: &SetterId| number_of(control, f.setters.get(*s).kind) == number && Some(*s) != dead;
        group.extend(f.setters.of(k).filter(on));
    }
    group
}

/// Does an instruction of the block wait for one before it in the block, and does the guard of the last instruction not depend on it?
fn waits_aside(insns: &[Insn], block: &Block) -> bool {
    let code = insns.get(block.start..block.end).unwrap_or_default();
    let mut pending = 0u8;
    let waits = |insn: &Insn| {
        let Control { wait, read, write, .. } = insn.control;
        let waits = wait & pending != 0;
        for number in [read, write].into_iter().filter(|n| *n < SCOREBOARDS) {
            pending |= 1 << number;
        }
        waits
    };
    let waits: Vec<bool> = code.iter().map(waits).collect();
    let Some((last, before)) = code.split_last() else { return false };
    let mut needed = last.uses;
    before.iter().zip(waits).rev().any(|(insn, waits)| {
        let leads_to_guard = insn.defs.intersects(&needed);
        if leads_to_guard {
            let left = if insn.unguarded() { needed.minus(&insn.defs) } else { needed };
            needed = left.union(&insn.uses);
        }
        waits && !leads_to_guard
    })
}

fn number_of(control: Control, kind: Kind) -> u8 {
    if kind == Kind::Read { control.read } else { control.write }
}

fn replaced(insns: &[Insn], fields: &[Control]) -> Vec<Insn> {
    let with = |(insn, control): (&Insn, &Control)| Insn {
        control: *control,
        ..insn.clone()
    };
    insns.iter().zip(fields).map(with).collect()
}

/// What the input shows about the arrivals of one block.
struct Shown {
    /// Setters that its end waits for, because they have arrived.
    arrived: Vec<SetterId>,
    /// Groups that its end does not wait for: not all of a group have arrived.
    late: Vec<Vec<SetterId>>,
}

impl Shown {
    fn new(f: &Function<'_>, block: &Block, foreign: Option<&Foreign>) -> Self {
        let last = block.end - 1;
        let end = f.insns[last].control;
        let mut shown = Self {
            arrived: Vec::new(),
            late: Vec::new(),
        };
        for number in 0..SCOREBOARDS {
            let mut group = pending(f, block, number, |k| f.insns[k].control, None);
            group.extend(foreign.iter().flat_map(|f| &f[usize::from(number)]).map(|(s, _)| *s));
            if end.wait >> number & 1 == 1 {
                shown.arrived.extend(group.into_iter().filter(|s| f.policy.waits_for(last, *s)));
            } else if ![end.read, end.write].contains(&number) && !group.is_empty() {
                shown.late.push(group);
            }
        }
        shown
    }

    /// Has the setter arrived at the end of its block? Setters of one kind arrive in order.
    fn arrived(&self, f: &Function<'_>, s: SetterId) -> Option<Arrived> {
        let setter = f.setters.get(s);
        let alike =
            |t: &SetterId| f.setters.get(*t).kind == setter.kind && f.insns[f.setters.get(*t).insn].name == f.insns[setter.insn].name;
        if self.arrived.iter().any(|t| *t >= s && alike(t)) {
            return Some(Arrived::Yes);
        }
        let late = |group: &Vec<SetterId>| group.iter().all(|t| *t <= s && alike(t));
        self.late.iter().any(late).then_some(Arrived::No)
    }
}
