//! From the compiler's SASS of one function to the SASS of a final link.
//!
//! 1. Only call-free entry functions in final links that are not for a debugger change; everything else is [`Rewrite::Unchanged`].
//! 2. Strip the padding `NOP`s, decode, mark the fence prefixes.
//! 3. The stack pointer is dead when the first `LDC R1, c[0][0x37c]` owns a scoreboard and nothing else touches R1. If neither a
//!    fence prefix nor a dead stack pointer is found, or the code was compiled without optimisation: unchanged. Debug code keeps its schedule.
//! 4. Dead stack pointer: run the allocator with it. If that reproduces every scoreboard field of the input and every instruction is known, the
//!    allocator without it gives the answer.
//! 5. Delete the prefixes, re-encode the branches that moved, pad with `NOP`s to 128 bytes plus eight more.
//! 6. Prove the result with the hazard checker ([`crate::check`]). A result that fails is never returned.

mod stalls;
pub(crate) mod study;

use crate::context::KernelContext;
use std::collections::BTreeMap;
use std::fmt;

use crate::alloc::{Allocation, Function, Seen, allocate, free, learn, reserves_zero};
use crate::cfg::{BlockId, Cfg, IndirectTargets};
use crate::decode::opcode::{self, MEMBAR};
use crate::decode::{Control, INSN_BYTES, Insn, NO_SCOREBOARD, SCOREBOARDS, decode_all, retarget};
use crate::ends::missing_waits;
use crate::fence::{OffsetMap, deletable_prefixes};
use crate::order::visit_order;
use crate::policy::{Policy, counted_wait, keeps_pending, waits_for_all};
use crate::setter::{Kind, STACK_POINTER, SetterId, Setters, loads_stack_pointer};
use crate::turns;
use stalls::{hurry, relieve};

/// Code is padded to this and then by eight more instructions.
const CODE_ALIGN: usize = 128;

/// `NOP` used for padding when the input has none.
pub(crate) const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

/// The load of the stack pointer is in the first instructions.
const PROLOGUE: usize = 64;

/// A wait at the end of a block changes numbers after it, which may add waits: so often at most.
const ROUNDS: usize = 64;

/// The number of textures.
const TEXTURES: usize = 5;

/// Larger functions are left alone, so that the time of a link stays bounded.
const MAX_INSNS: usize = 1 << 20;

/// Outcome for one function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrite {
    /// The final link keeps the input's bytes.
    Unchanged,
    /// The final link has these bytes.
    Rewritten {
        /// New code, padding included.
        code: Vec<u8>,
        /// New offsets by old offset.
        map: OffsetMap,
    },
    /// The final link would change the function, but the model cannot compute how. The input's code is valid and can be kept.
    Unsure(Unsure),
}

/// Reason why the model cannot compute the final code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at {offset:#x}")]
pub struct Unsure {
    /// Why the model does not cover the code.
    pub reason: Reason,
    /// The instruction it was found at.
    pub offset: u32,
}

/// Reasons to be unsure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The code is not a whole number of instructions, or too large.
    Size,
    /// An instruction is not in the opcode table.
    UnknownInstruction,
    /// A branch target is not an instruction, or an indirect branch has no known targets.
    ControlFlow,
    /// A deleted instruction carries scoreboard fields.
    FenceCarriesScoreboard,
    /// The model does not reproduce the compiler's own scoreboards.
    SelfCheck,
    /// A value that leaves its block found no free scoreboard and had several to share.
    Overflow,
    /// The input does not show whether a value is waited for at the end of its block.
    HiddenWait,
    /// A stall of two cycles has lost its cause.
    Stall,
    /// A counted wait names a scoreboard that its instructions no longer use.
    CountedWait,
    /// The hazard checker found a conflict in the result.
    Hazard,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Size => "code size not supported",
            Self::UnknownInstruction => "unknown instruction",
            Self::ControlFlow => "unknown branch target",
            Self::FenceCarriesScoreboard => "fence prefix with scoreboards",
            Self::SelfCheck => "scoreboards of the input not reproduced",
            Self::Overflow => "several scoreboards to share",
            Self::HiddenWait => "wait hidden by a shared scoreboard",
            Self::Stall => "stall without the wait that caused it",
            Self::CountedWait => "counted wait for a scoreboard that changes",
            Self::Hazard => "hazard check failed",
        })
    }
}

/// Rewrites one function.
#[must_use]
pub fn rewrite(code: &[u8], context: &KernelContext) -> Rewrite {
    let is_final = context.entry && !(context.calls || context.debug || context.relocatable);
    if !is_final && !context.older {
        return Rewrite::Unchanged;
    }
    plan(code, context, is_final).unwrap_or_else(Rewrite::Unsure)
}

/// Which compiler made the schedule.
#[derive(Debug, Clone, Copy)]
struct Compiler {
    /// 13.1 or later.
    looks_ahead: bool,
    /// Before 13.0.
    older: bool,
}

impl Compiler {
    fn of(context: &KernelContext) -> Self {
        Self {
            looks_ahead: context.looks_ahead,
            older: context.older,
        }
    }
}

fn unsure(reason: Reason, offset: u32) -> Unsure {
    Unsure { reason, offset }
}

fn plan(old: &[u8], context: &KernelContext, is_final: bool) -> Result<Rewrite, Unsure> {
    let mut insns = decode_all(old)
        .filter(|insns| insns.len() <= MAX_INSNS)
        .ok_or(unsure(Reason::Size, 0))?;
    let used = insns.iter().rposition(|insn| insn.op != opcode::NOP).map_or(0, |k| k + 1);
    let padding = insns.get(used).map_or(NOP, |insn| insn.raw);
    insns.truncate(used);
    let is_final = is_final && !insns.iter().any(|insn| opcode::CALLS.contains(&insn.op) || insn.op == opcode::RET);
    if !is_final && !context.older {
        return Ok(Rewrite::Unchanged);
    }
    let mut deletable = deletable_prefixes(&insns);
    deletable.iter_mut().for_each(|goes| *goes &= is_final);
    let dead = dead_stack_pointer(&insns).filter(|_| is_final && !context.debug_code);
    if !context.older && dead.is_none() && !deletable.contains(&true) {
        return Ok(Rewrite::Unchanged);
    }
    let old_size = u32::try_from(old.len()).map_err(|_| unsure(Reason::Size, 0))?;
    let (kept, deleted) = split(insns, &deletable)?;
    let new_size = padded(kept.len() * INSN_BYTES);
    let map = OffsetMap::new(deleted, old_size, u32::try_from(new_size).map_err(|_| unsure(Reason::Size, 0))?);
    let (kept, indirect) = aim_at_kept(kept, &context.indirect);
    let cfg = Cfg::new(&kept, &indirect, context.looks_ahead);
    if let Some(offset) = cfg.broken {
        return Err(unsure(Reason::ControlFlow, offset));
    }
    let fields = match dead {
        None if !context.older => kept.iter().map(|insn| insn.control).collect(),
        _ => reallocate(&kept, &cfg, dead, Compiler::of(context), &|_| false)?,
    };
    let new_insns = assemble(&kept, &fields, &map);
    let code = bytes(&new_insns, padding, new_size);
    if context.older && code == old {
        return Ok(Rewrite::Unchanged);
    }
    if let Some(hazard) = crate::check::prove(&kept, &code, &map, &moved(context, &map)).err() {
        return Err(unsure(Reason::Hazard, hazard.offset()));
    }
    Ok(Rewrite::Rewritten { code, map })
}

/// Does code load a stack pointer that nothing in it uses, with a scoreboard? The linker frees it, also where functions inside of a kernel hide that from
/// [`rewrite`].
#[must_use]
pub fn loads_dead_stack_pointer(code: &[u8]) -> bool {
    decode_all(code).is_some_and(|insns| dead_stack_pointer(&insns).is_some())
}

/// Offset of the load of a stack pointer that nothing uses.
fn dead_stack_pointer(insns: &[Insn]) -> Option<u32> {
    let load = insns.iter().take(PROLOGUE).find(|insn| loads_stack_pointer(insn))?;
    // A load that also claims its operands is code without a schedule: every instruction waits for everything, and that stays.
    let owns_scoreboard = load.control.write != NO_SCOREBOARD && load.control.read == NO_SCOREBOARD;
    let elsewhere = insns
        .iter()
        .filter(|insn| insn.offset != load.offset)
        .any(|insn| insn.touched().contains(STACK_POINTER));
    (owns_scoreboard && !elsewhere && !load.uses.contains(STACK_POINTER)).then_some(load.offset)
}

/// Parts the instructions into those that stay and the offsets of the others. A deleted fence may signal the fence after it, which then no longer
/// waits: the number was free before and is free after, so that no other instruction changes.
fn split(insns: Vec<Insn>, deletable: &[bool]) -> Result<(Vec<Insn>, Vec<u32>), Unsure> {
    if !deletable.contains(&true) {
        return Ok((insns, Vec::new()));
    }
    let mut kept = Vec::with_capacity(insns.len());
    let mut deleted = Vec::new();
    let mut signal: Option<u8> = None;
    for (mut insn, deletable) in insns.into_iter().zip(deletable) {
        let Control { write, read, wait, .. } = insn.control;
        let carries = || unsure(Reason::FenceCarriesScoreboard, insn.offset);
        if let Some(number) = signal.take() {
            let (true, MEMBAR) = (!deletable && wait >> number & 1 == 1, insn.op) else {
                return Err(carries());
            };
            insn.control.wait &= !(1 << number);
        }
        if !deletable {
            kept.push(insn);
            continue;
        }
        if (write, wait) != (NO_SCOREBOARD, 0) || read != NO_SCOREBOARD && (insn.op != MEMBAR || read >= SCOREBOARDS) {
            return Err(carries());
        }
        signal = Some(read).filter(|&number| number != NO_SCOREBOARD);
        deleted.push(insn.offset);
    }
    Ok((kept, deleted))
}

/// Moves branch targets that point into a deleted prefix to the next kept instruction. Offsets are still those of the input.
fn aim_at_kept(mut kept: Vec<Insn>, indirect: &BTreeMap<u32, Vec<u32>>) -> (Vec<Insn>, IndirectTargets) {
    let offsets: Vec<u32> = kept.iter().map(|insn| insn.offset).collect();
    let aim = |target: u32| {
        offsets
            .get(offsets.partition_point(|offset| *offset < target))
            .copied()
            .unwrap_or(target)
    };
    for insn in &mut kept {
        insn.target = insn.target.map(aim);
    }
    let indirect = indirect
        .iter()
        .map(|(at, targets)| (*at, targets.iter().map(|t| aim(*t)).collect()))
        .collect();
    (kept, indirect)
}

/// New scoreboard fields for all instructions, if a stack pointer at an offset is dead and the `EXIT`s that `fenced` names get fences.
fn reallocate(
    insns: &[Insn],
    cfg: &Cfg,
    stack_pointer: Option<u32>,
    Compiler { looks_ahead, older }: Compiler,
    fenced: &dyn Fn(usize) -> bool,
) -> Result<Vec<Control>, Unsure> {
    if let Some(insn) = insns.iter().find(|insn| insn.unknown.is_some()) {
        return Err(unsure(Reason::UnknownInstruction, insn.offset));
    }
    let start = stack_pointer.unwrap_or(0);
    let setters = Setters::new(insns, cfg);
    let order = visit_order(cfg);
    let mut policy = Policy::new(insns, cfg, &setters, &order, older);
    if looks_ahead {
        policy.look_ahead(cfg, &setters, &order);
    }
    let dead = stack_pointer.and_then(|offset| dead_setter(insns, &setters, offset));
    let lesson = match older {
        true => {
            let mut before = function(insns, cfg, &setters, &policy);
            before.older = true;
            let fields = free(&before, &order).fields;
            if let Some((insn, _)) = insns.iter().zip(&fields).find(|(insn, fields)| insn.control != **fields) {
                return Err(unsure(Reason::SelfCheck, insn.offset));
            }
            // Observed with a live stack pointer: some waits of such loads stay.
            if dead.is_none()
                && let Some(k) = policy.waiting_load(insns, cfg)
                && insns[k].name == "LDC"
            {
                return Err(unsure(Reason::HiddenWait, insns[k].offset));
            }
            policy.repeat_in_collectives(insns, cfg);
            // A wait for every scoreboard that is not one of a cache operation: each has a cause of its own.
            if let Some(insn) = insns.iter().find(|insn| waits_for_all(insn) && insn.name != "CCTL") {
                return Err(unsure(Reason::HiddenWait, insn.offset));
            }
            // Counted waits of these compilers end more than they count.
            if let Some(insn) = insns
                .iter()
                .find(|insn| counted_wait(insn).is_some_and(|(number, _)| number == TEXTURES))
            {
                return Err(unsure(Reason::CountedWait, insn.offset));
            }
            // What such an arrival at a barrier shares is not known.
            let holds = |insn: &&Insn| insn.op == opcode::WARPSYNC && keeps_pending(insn) && insn.control.wait.count_ones() > 1;
            if let Some(insn) = insns.iter().find(holds) {
                return Err(unsure(Reason::Overflow, insn.offset));
            }
            None
        }
        false => Some(learn(&function(insns, cfg, &setters, &policy), &order).seen),
    };
    // Observed: where the compiler's choice is not that of the model, the linker may decide again, even if nothing was removed.
    let wrong = || {
        setters
            .ids()
            .find(|id| lesson.as_ref().is_some_and(|lesson| !lesson.chose_right(*id)))
    };
    if looks_ahead
        && stack_pointer.is_none()
        && let Some(id) = wrong()
    {
        return Err(unsure(Reason::SelfCheck, insns[setters.get(id).insn].offset));
    }
    let new = settle(insns, cfg, &setters, &mut policy, dead, lesson.as_ref(), fenced)?;
    if setters.exhausted() {
        return Err(unsure(Reason::Size, start));
    }
    if let Some(k) = new.untested {
        return Err(unsure(Reason::SelfCheck, insns[k].offset));
    }
    if let Some(k) = new.ambiguous {
        return Err(unsure(Reason::Overflow, insns[k].offset));
    }
    if let Some(offset) = moved_count(&function(insns, cfg, &setters, &policy), &new.fields) {
        return Err(unsure(Reason::CountedWait, offset));
    }
    if let Some(k) = taken_in_collective(insns, cfg, &new.fields) {
        return Err(unsure(Reason::Overflow, insns[k].offset));
    }
    let mut fields = new.fields;
    let calls = |insn: &Insn| opcode::CALLS.contains(&insn.op) || insn.op == opcode::RET;
    if older && insns.iter().any(calls) {
        // Which operands and restored registers share a number before a return is not known.
        let changed = insns.iter().zip(&fields).position(|(insn, fields)| insn.control != *fields);
        let restored = || insns.iter().position(|insn| insn.name == "LDL");
        let several = || insns.iter().position(|insn| calls(insn) && insn.control.wait.count_ones() > 1);
        if let Some(k) = changed.or_else(restored).or_else(several) {
            return Err(unsure(Reason::Overflow, insns[k].offset));
        }
    }
    if older && let Some(k) = waits_at_once(insns, cfg, &policy, &setters) {
        return Err(unsure(Reason::HiddenWait, insns[k].offset));
    }
    if let Some(k) = relieve(insns, cfg, &mut fields, dead.map(|id| setters.get(id).insn)) {
        return Err(unsure(Reason::Stall, insns[k].offset));
    }
    hurry(insns, &mut fields, dead.map(|id| setters.get(id).insn));
    match turns::follow(insns, cfg, &mut fields) {
        Some(k) => Err(unsure(Reason::Stall, insns[k].offset)),
        None => Ok(fields),
    }
}

/// The scoreboard fields of code whose guarded `EXIT`s get fences: `fresh` names those without. A fence takes time, in which more results arrive; the
/// `EXIT` waits for what has arrived, and the numbers after it change. `looks_ahead`: the scheduler is that of 13.1 or later, where the fields are those of
/// the input with few exceptions.
///
/// # Errors
/// Fails where the model cannot compute the fields; with `looks_ahead` also where they may change.
pub fn fenced(
    insns: &[Insn],
    indirect: &BTreeMap<u32, Vec<u32>>,
    looks_ahead: bool,
    fresh: &dyn Fn(usize) -> bool,
) -> Result<Vec<Control>, Unsure> {
    let guarded = |k: usize| fresh(k) && insns.get(k).is_some_and(|insn| !insn.unguarded());
    let same = || insns.iter().map(|insn| insn.control).collect();
    let used = insns.iter().rposition(|insn| insn.op != opcode::NOP).map_or(0, |k| k + 1);
    if !(0..used).any(guarded) {
        return Ok(same());
    }
    let code = insns.get(..used).unwrap_or_default();
    let cfg = Cfg::new(code, indirect, looks_ahead);
    if let Some(offset) = cfg.broken {
        return Err(unsure(Reason::ControlFlow, offset));
    }
    let mut fields = reallocate(code, &cfg, None, Compiler { looks_ahead, older: false }, &guarded)?;
    // Which of the fields change from 13.1 on is not known well enough.
    if let Some((insn, _)) = code
        .iter()
        .zip(&fields)
        .find(|(insn, fields)| looks_ahead && insn.control != **fields)
    {
        return Err(unsure(Reason::Overflow, insn.offset));
    }
    fields.extend(insns.iter().skip(used).map(|insn| insn.control));
    Ok(fields)
}

/// Allocates, and adds the waits at ends of blocks that the new numbers need, until none is missing.
fn settle(
    insns: &[Insn],
    cfg: &Cfg,
    setters: &Setters<'_>,
    policy: &mut Policy,
    dead: Option<SetterId>,
    lesson: Option<&Seen>,
    fenced: &dyn Fn(usize) -> bool,
) -> Result<Allocation, Unsure> {
    let order = visit_order(cfg);
    let mut round = 0;
    loop {
        let mut f = function(insns, cfg, setters, policy);
        f.delayed = delayed(&f, fenced);
        let new = allocate(&f, &order, dead, lesson);
        let missing = missing_waits(&f, &order, &new.fields, dead, fenced).map_err(|k| unsure(Reason::HiddenWait, insns[k].offset))?;
        let Some((k, _)) = missing.first() else { return Ok(new) };
        round += 1;
        if round == ROUNDS {
            return Err(unsure(Reason::HiddenWait, insns[*k].offset));
        }
        for (k, setter) in missing {
            policy.add(k, setter);
        }
    }
}

/// Blocks that follow an `EXIT` with new fences, from 13.1 on also those that follow soon.
fn delayed(f: &Function<'_>, fenced: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let ends_fenced = |id: &BlockId| f.cfg.blocks[id.index()].end.checked_sub(1).is_some_and(fenced);
    if !f.cfg.ids().any(|id| ends_fenced(&id)) {
        return Vec::new();
    }
    let follows = |id: BlockId| match f.policy.looks_ahead() {
        true => f.times().nearby(f.cfg, id).keys().any(ends_fenced),
        false => f.cfg.blocks[id.index()].pred.iter().any(ends_fenced),
    };
    f.cfg.ids().map(follows).collect()
}

fn function<'a>(insns: &'a [Insn], cfg: &'a Cfg, setters: &'a Setters<'a>, policy: &'a Policy) -> Function<'a> {
    Function {
        insns,
        cfg,
        setters,
        policy,
        zero_reserved: reserves_zero(insns),
        delayed: Vec::new(),
        older: false,
    }
}

/// A counted wait names its scoreboard in the instruction: the youngest setter of that number before it in its block must keep it, and
/// without one there, every setter of that number.
fn moved_count(f: &Function<'_>, fields: &[Control]) -> Option<u32> {
    let moved = |k: usize| {
        let (number, _) = counted_wait(&f.insns[k])?;
        let names = |control: &Control| [control.read, control.write].map(usize::from).contains(&number);
        let start = f.cfg.blocks[f.cfg.block_of[k].index()].start;
        let moves = |j: &usize| names(&f.insns[*j].control) && !names(&fields[*j]);
        let moved = match (start..k).rev().find(|j| names(&f.insns[*j].control)) {
            Some(youngest) => moves(&youngest),
            None => (0..f.insns.len()).any(|j| moves(&j)),
        };
        moved.then_some(f.insns[k].offset)
    };
    (0..f.insns.len()).find_map(moved)
}

/// The end of a block that waits, without a conflict, for operands that the instruction before it reads. Compilers before 13.0 do so; when nvlink does is not known.
fn waits_at_once(insns: &[Insn], cfg: &Cfg, policy: &Policy, setters: &Setters<'_>) -> Option<usize> {
    let ends = cfg.blocks.iter().filter(|b| b.end > b.start + 1).map(|b| b.end - 1);
    let waits = |k: usize| {
        let reads = |s: SetterId| setters.get(s).kind == Kind::Read && insns[k - 1].name == "DADD";
        setters.of(k - 1).any(|s| reads(s) && policy.waits_for(k, s))
    };
    ends.into_iter().find(|k| waits(*k))
}

/// A number that a collective waits for is not free before its end, where it is waited for again: one that is used in between was not chosen as nvlink
/// chooses, unless all of the collective is as in the input.
fn taken_in_collective(insns: &[Insn], cfg: &Cfg, fields: &[Control]) -> Option<usize> {
    for block in &cfg.blocks {
        let (mut held, mut changed) = (0, false);
        for k in block.start..block.end {
            let Control { read, write, wait, .. } = fields[k];
            changed |= fields[k] != insns[k].control;
            if keeps_pending(&insns[k]) {
                held |= wait;
            } else if insns[k].name == "ENDCOLLECTIVE" {
                (held, changed) = (0, false);
            }
            if changed && [read, write].into_iter().any(|n| n < SCOREBOARDS && held >> n & 1 == 1) {
                return Some(k);
            }
        }
    }
    None
}

fn dead_setter(insns: &[Insn], setters: &Setters<'_>, stack_pointer: u32) -> Option<SetterId> {
    let k = insns.iter().position(|insn| insn.offset == stack_pointer)?;
    setters.of(k).last()
}

/// The instruction words at their new places.
fn assemble(kept: &[Insn], fields: &[Control], map: &OffsetMap) -> Vec<u128> {
    let place = |(insn, fields): (&Insn, &Control)| {
        let moves = !map.deleted().is_empty();
        let raw = if moves {
            retarget(insn, map.new_offset(insn.offset), insn.target.map(|t| map.new_offset(t)))
        } else {
            insn.raw
        };
        fields.put(raw)
    };
    kept.iter().zip(fields).map(place).collect()
}

pub(crate) fn padded(code: usize) -> usize {
    code.next_multiple_of(CODE_ALIGN) + 8 * INSN_BYTES
}

pub(crate) fn bytes(insns: &[u128], padding: u128, size: usize) -> Vec<u8> {
    let words = insns.iter().copied().chain(std::iter::repeat(padding)).take(size / INSN_BYTES);
    words.flat_map(u128::to_le_bytes).collect()
}

/// The context with indirect branches at their new offsets.
fn moved(context: &KernelContext, map: &OffsetMap) -> KernelContext {
    let place = |offset: &u32| map.new_offset(*offset);
    let indirect = context
        .indirect
        .iter()
        .map(|(at, targets)| (place(at), targets.iter().map(place).collect()))
        .collect();
    KernelContext {
        indirect,
        ..context.clone()
    }
}
