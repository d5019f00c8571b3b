//! The hazard checker: proves that no instruction touches a register that an unfinished instruction still reads or writes.
//!
//! It shares the decoder with the rewriter and nothing else: neither the allocator's conflict rules nor its control flow graph.
//!
//! 1. Build the graph of single instructions. A branch continues at its target and, unless it is unconditional, after it; a `BSYNC` continues at every
//!    target of a `BSSY` of the same convergence register and after it; an indirect branch continues at all its targets. Calls fall through: the
//!    callee is trusted to wait for what it uses.
//! 2. The state is the set of operations in flight. An operation is the late results or the late operands of one instruction
//!    ([`crate::latency`]), with the scoreboards a wait on which proves that it is over, and the number of later operations on its
//!    scoreboard, for counted waits. A guarded instruction counts for those with the same guard, as long as the predicate has not changed.
//! 3. Before an instruction, its wait mask removes the operations it proves over. What is left must not meet its registers: late
//!    results must not be read or written, late operands must not be written. An instruction whose guard excludes the operation's guard
//!    is exempt as long as the predicate has not changed. A global load may overwrite late operands of an earlier one.
//! 4. After it, its own operations are in flight. An unguarded shared-memory load with a scoreboard also covers the earlier loads of
//!    its queue.
//! 5. An instruction whose successor in the code waits for a scoreboard that it sets stalls two cycles or more: the scoreboard is taken in the cycle after
//!    the issue.
//! 6. Where paths meet, operations are united, their proofs intersected. The first alarm stops the check; no alarm at the fixpoint
//!    is the proof. The sets only grow and the proofs only shrink, so the walk ends.

mod changes;

use std::collections::VecDeque;
use std::fmt;

use crate::context::KernelContext;
use crate::decode::{Guard, INSN_BYTES, Insn, SCOREBOARDS, decode, decode_all, decode_like, opcode};
use crate::fence::OffsetMap;
use crate::latency::{LateOperands, Queue, Timing, timing};
use crate::reg::{Outline, Reg, RegSet};

pub use changes::changes;

/// What the two instructions do to the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HazardKind {
    /// A result that has not arrived is read.
    ReadAfterWrite,
    /// A result that has not arrived is overwritten.
    WriteAfterWrite,
    /// An operand that has not been read is overwritten.
    WriteAfterRead,
}

/// Why the code is not proven.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Alarm {
    /// There is a path on which two instructions meet at a register.
    #[error("{kind} of {register}: instruction at {second:#x} does not wait for the one at {first:#x}")]
    Hazard {
        /// Kind of conflict.
        kind: HazardKind,
        /// The register.
        register: Reg,
        /// Offset of the unfinished instruction.
        first: u32,
        /// Offset of the instruction that touches the register.
        second: u32,
    },
    /// The code is not a whole number of instructions.
    #[error("code size is not a multiple of {INSN_BYTES}")]
    Size,
    /// A branch has no known target.
    #[error("unknown branch target at {0:#x}")]
    ControlFlow(u32),
    /// The registers of an instruction are not known.
    #[error("unknown instruction at {0:#x}")]
    Unknown(u32),
    /// The next instruction waits for a scoreboard before it is taken, or a stall is not the compiler's.
    #[error("wrong stall at {0:#x}")]
    Stall(u32),
    /// More than scoreboards differs from the compiler's code.
    #[error("changed instruction at {0:#x}")]
    Changed(u32),
    /// The walk did not end within its budget.
    #[error("control flow too complex to check")]
    Budget,
}

impl Alarm {
    /// The instruction the alarm is about.
    #[must_use]
    pub fn offset(&self) -> u32 {
        match self {
            Self::Hazard { second, .. } => *second,
            Self::ControlFlow(offset) | Self::Unknown(offset) | Self::Stall(offset) | Self::Changed(offset) => *offset,
            Self::Size | Self::Budget => 0,
        }
    }
}

impl fmt::Display for HazardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadAfterWrite => "read after write",
            Self::WriteAfterWrite => "write after write",
            Self::WriteAfterRead => "write after read",
        })
    }
}

/// One instruction as the checker sees it.
struct Step<'a> {
    insn: &'a Insn,
    timing: Timing,
    /// Execution may continue at the next instruction.
    falls: bool,
    /// Where else it may continue, ascending.
    jumps: Vec<usize>,
    /// Of the registers that it writes, and of those that it reads.
    defs: Outline,
    uses: Outline,
}

impl Step<'_> {
    /// The successors of the step with number `k`, ascending.
    fn next(&self, k: usize) -> impl Iterator<Item = usize> {
        let (back, ahead) = self.jumps.split_at(self.jumps.partition_point(|to| *to <= k));
        back.iter().copied().chain(self.falls.then_some(k + 1)).chain(ahead.iter().copied())
    }

    /// The only successor, if there is one only.
    fn only(&self, k: usize) -> Option<usize> {
        match (self.falls, self.jumps.as_slice()) {
            (true, []) => Some(k + 1),
            (false, &[to]) => Some(to),
            _ => None,
        }
    }

    /// Makes the list of successors ascending, each once.
    fn sort(&mut self, k: usize) {
        let falls = self.falls;
        self.jumps.retain(|to| !falls || *to != k + 1);
        self.jumps.sort_unstable();
        self.jumps.dedup();
    }
}

/// An operation of an instruction: twice its index, plus one for its operands.
type OpId = u32;

/// What is known about an operation in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flight {
    /// A wait for any of these scoreboards proves it over.
    proofs: u8,
    /// The scoreboard that it counts on: that of the results, which come last, or else of the operands; of itself or of the first one that proves it over.
    counted: u8,
    /// At least so many operations were put on that scoreboard after it.
    younger: u8,
    /// Its guard predicate has been overwritten.
    stale_guard: bool,
}

/// Operations in flight. Unguarded operations without any proof can only pile up; they are kept as plain register sets, so that a
/// long function does not carry a long list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    /// Ascending.
    flights: Vec<(OpId, Flight)>,
    endless_operands: RegSet,
    endless_results: RegSet,
}

/// Proves a function or returns the first alarm.
///
/// # Errors
/// Fails when a hazard is found or when the code cannot be analysed.
pub fn check(code: &[u8], context: &KernelContext) -> Result<(), Alarm> {
    check_decoded(&decode_all(code).ok_or(Alarm::Size)?, context)
}

/// Proves a rewritten function: that it is free of hazards and differs from the compiler's code only where it may.
///
/// # Errors
/// Fails as [`check`] and [`changes()`] do.
pub(crate) fn prove(before: &[Insn], after: &[u8], map: &OffsetMap, context: &KernelContext) -> Result<(), Alarm> {
    u32::try_from(after.len()).map_err(|_| Alarm::Size)?;
    let (words, rest) = after.as_chunks::<INSN_BYTES>();
    if !rest.is_empty() {
        return Err(Alarm::Size);
    }
    let mut insns: Vec<Insn> = Vec::with_capacity(words.len());
    for (k, (word, offset)) in words.iter().zip((0u32..).step_by(INSN_BYTES)).enumerate() {
        let raw = u128::from_le_bytes(*word);
        // Padding is like the word before it.
        let insn = match before.get(k).or(insns.last()) {
            Some(like) => decode_like(raw, offset, like),
            None => decode(raw, offset),
        };
        insns.push(insn);
    }
    check_decoded(&insns, context)?;
    changes::compare_all(before.iter(), &insns, map)
}

fn check_decoded(insns: &[Insn], context: &KernelContext) -> Result<(), Alarm> {
    let used = insns.iter().rposition(|insn| insn.op != opcode::NOP).map_or(0, |k| k + 1);
    let insns = insns.get(..used).unwrap_or_default();
    let steps = graph(insns, context)?;
    let hasty = |pair: &[Insn]| matches!(pair, [a, b] if a.control.stall < 2 && changes::sets(a.control, b.control.wait));
    if let Some([insn, ..]) = insns.windows(2).find(|pair| hasty(pair)) {
        return Err(Alarm::Stall(insn.offset));
    }
    Walk {
        counts: steps.iter().any(|step| counted_wait(step.insn).is_some()),
        steps,
        entry: vec![None; insns.len()],
    }
    .run()
}

fn graph<'a>(insns: &'a [Insn], context: &KernelContext) -> Result<Vec<Step<'a>>, Alarm> {
    let index = |offset: u32| -> Option<usize> {
        let k = offset as usize / INSN_BYTES;
        ((offset as usize).is_multiple_of(INSN_BYTES) && k < insns.len()).then_some(k)
    };
    let mut steps = Vec::with_capacity(insns.len());
    for (k, insn) in insns.iter().enumerate() {
        if insn.unknown.is_some() {
            return Err(Alarm::Unknown(insn.offset));
        }
        let mut next = Vec::new();
        let mut falls = true;
        match insn.op {
            opcode::BRA | opcode::BRA_U | opcode::WARPSYNC_COLLECTIVE => {
                if let Some(target) = insn.target {
                    next.push(index(target).ok_or(Alarm::ControlFlow(insn.offset))?);
                }
                falls = insn.op != opcode::BRA || conditional(insn);
            }
            opcode::BRX | opcode::BRXU => {
                let targets = context.indirect.get(&insn.offset).ok_or(Alarm::ControlFlow(insn.offset))?;
                for target in targets {
                    next.push(index(*target).ok_or(Alarm::ControlFlow(insn.offset))?);
                }
                falls = insn.guard.is_some();
            }
            opcode::BSSY if insn.target.and_then(index).is_none() => return Err(Alarm::ControlFlow(insn.offset)),
            // Filled in when the graph without it is known.
            opcode::BSYNC => falls = conditional(insn),
            opcode::EXIT | opcode::RET => falls = conditional(insn),
            _ => {}
        }
        let mut step = Step {
            insn,
            timing: timing(insn, context.arch),
            falls: falls && k + 1 < insns.len(),
            jumps: next,
            defs: insn.defs.outline(),
            uses: insn.uses.outline(),
        };
        step.sort(k);
        steps.push(step);
    }
    converge(&mut steps, index);
    Ok(steps)
}

/// The `BSSY` instructions that may have set each convergence register: register and instruction, ascending.
type Convergence = Vec<(u8, usize)>;

/// Gives every `BSYNC` its successors: the targets of the `BSSY` instructions of its register that reach it. States are kept where a path starts, splits or
/// joins; a `BSYNC` ends a path, and its targets are those of `BSSY`.
fn converge(steps: &mut [Step<'_>], index: impl Fn(u32) -> Option<usize>) {
    if !steps.iter().any(|step| step.insn.op == opcode::BSYNC) {
        return;
    }
    let mut heads = vec![false; steps.len()];
    for (k, step) in steps.iter().enumerate() {
        let ends = step.only(k) != Some(k + 1) || step.insn.op == opcode::BSYNC;
        let bssy = Some(&step.insn)
            .filter(|insn| insn.op == opcode::BSSY)
            .and_then(|insn| insn.target.and_then(&index));
        for to in step.next(k).filter(|_| ends).chain(bssy) {
            heads.get_mut(to).into_iter().for_each(|head| *head = true);
        }
    }
    let mut entry: Vec<Option<Convergence>> = vec![None; steps.len()];
    let mut queue = VecDeque::from([0]);
    let mut state = Convergence::new();
    if let Some(first) = entry.first_mut() {
        *first = Some(Convergence::default());
    }
    while let Some(head) = queue.pop_front() {
        let Some(Some(known)) = entry.get(head) else { continue };
        state.clone_from(known);
        let mut k = head;
        loop {
            pass(steps, k, &mut state, &index);
            let Some(step) = steps.get(k) else { break };
            if let Some(only) = step.only(k)
                && !heads.get(only).copied().unwrap_or(true)
            {
                k = only;
                continue;
            }
            for to in step.next(k) {
                if entry.get_mut(to).is_some_and(|slot| unite(slot, &state)) {
                    queue.push_back(to);
                }
            }
            break;
        }
    }
}

/// One instruction: a `BSSY` sets its register, a `BSYNC` gets the targets of those that are in it.
fn pass(steps: &mut [Step<'_>], k: usize, state: &mut Convergence, index: impl Fn(u32) -> Option<usize>) {
    let Some(insn) = steps.get(k).map(|step| step.insn) else { return };
    let register = insn.bits(16, 4);
    match insn.op {
        opcode::BSSY => {
            state.retain(|(other, _)| *other != register);
            state.insert(state.partition_point(|(other, _)| *other < register), (register, k));
        }
        opcode::BSYNC => {
            let set = state.iter().filter(|(other, _)| *other == register);
            let targets: Vec<usize> = set.filter_map(|(_, b)| steps.get(*b)?.insn.target.and_then(&index)).collect();
            if let Some(step) = steps.get_mut(k) {
                step.jumps.extend(targets);
                step.sort(k);
            }
        }
        _ => {}
    }
}

/// Adds a state to what is known at an instruction; true when something was new.
fn unite(slot: &mut Option<Convergence>, state: &Convergence) -> bool {
    let Some(old) = slot else {
        *slot = Some(state.clone());
        return true;
    };
    let mut grown = false;
    for bssy in state {
        if let Err(place) = old.binary_search(bssy) {
            old.insert(place, *bssy);
            grown = true;
        }
    }
    grown
}

/// Guarded, with a second predicate, or a branch of a special kind.
fn conditional(insn: &Insn) -> bool {
    insn.guard.is_some() || insn.bits(87, 4) != 7 || (insn.op == opcode::BRA && insn.bits(32, 2) != 0)
}

struct Walk<'a> {
    steps: Vec<Step<'a>>,
    /// There are counted waits.
    counts: bool,
    /// State before an instruction, kept only where a path starts, splits or joins.
    entry: Vec<Option<Box<State>>>,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), Alarm> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let heads = self.heads();
        if let Some(entry) = self.entry.first_mut() {
            *entry = Some(Box::default());
        }
        let mut queue = VecDeque::from([0]);
        let mut state = State::default();
        // Every visit of a head means that its entry state changed; the bound is far above what any compiled function needs.
        let mut budget = 64 * self.steps.len() + 4096;
        while let Some(head) = queue.pop_front() {
            let Some(Some(entry)) = self.entry.get(head) else { continue };
            state.flights.clone_from(&entry.flights);
            (state.endless_operands, state.endless_results) = (entry.endless_operands, entry.endless_results);
            let mut k = head;
            loop {
                budget = budget.checked_sub(1).ok_or(Alarm::Budget)?;
                let Some(step) = self.steps.get(k) else { break };
                self.advance(k, step, &mut state)?;
                match step.only(k) {
                    Some(only) if !heads.get(only).copied().unwrap_or(true) => k = only,
                    _ => {
                        for to in step.next(k) {
                            if self.entry.get_mut(to).is_some_and(|entry| join(entry, &state)) && !queue.contains(&to) {
                                queue.push_back(to);
                            }
                        }
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Instructions whose entry state must be kept: reached by more than one way, or by a branch.
    fn heads(&self) -> Vec<bool> {
        let mut reached = vec![0u32; self.steps.len()];
        let mut heads = vec![false; self.steps.len()];
        for (k, step) in self.steps.iter().enumerate() {
            let several = step.only(k).is_none();
            for to in step.next(k) {
                if let (Some(count), Some(head)) = (reached.get_mut(to), heads.get_mut(to)) {
                    *count += 1;
                    *head |= *count > 1 || to != k + 1 || several;
                }
            }
        }
        heads
    }

    /// Steps 3 and 4 of the module documentation.
    fn advance(&self, k: usize, step: &Step<'_>, state: &mut State) -> Result<(), Alarm> {
        let insn = step.insn;
        let wait = insn.control.wait;
        if wait != 0 {
            state.flights.retain(|(_, flight)| flight.proofs & wait == 0);
        }
        if let Some((scoreboard, left)) = counted_wait(insn) {
            state
                .flights
                .retain(|(_, flight)| flight.counted & scoreboard == 0 || flight.younger < left);
        }
        if insn.guard.is_some_and(Guard::never) {
            return Ok(());
        }
        self.meet(step, state)?;
        // Only predicates are guards.
        let changes_guards = insn.defs.has_predicates() || matches!(insn.name, "R2P" | "UR2UP");
        for (id, flight) in state.flights.iter_mut().filter(|_| changes_guards) {
            if let Some(guard) = self.step_of(*id).and_then(|step| step.insn.guard) {
                flight.stale_guard |= insn.changes(guard);
            }
        }
        self.launch(k, step, state);
        Ok(())
    }

    fn step_of(&self, id: OpId) -> Option<&Step<'_>> {
        self.steps.get(id as usize / 2)
    }

    fn meet(&self, step: &Step<'_>, state: &State) -> Result<(), Alarm> {
        let insn = step.insn;
        let touched = insn.touched();
        let outline = step.defs.union(step.uses);
        let alarm = |kind, set: RegSet, first| match set.iter().next() {
            Some(register) => Err(Alarm::Hazard {
                kind,
                register,
                first,
                second: insn.offset,
            }),
            None => Ok(()),
        };
        let read_or_write = |set: &RegSet| {
            if set.intersects(&insn.uses) {
                HazardKind::ReadAfterWrite
            } else {
                HazardKind::WriteAfterWrite
            }
        };
        let late = touched.intersection(&state.endless_results);
        alarm(read_or_write(&late), late, insn.offset)?;
        alarm(
            HazardKind::WriteAfterRead,
            insn.defs.intersection(&state.endless_operands),
            insn.offset,
        )?;
        for (id, flight) in &state.flights {
            let Some(first) = self.step_of(*id) else { continue };
            // Most share no register.
            if !first.defs.meets(outline) && (id % 2 == 0 || !first.uses.meets(step.defs)) {
                continue;
            }
            let excluded = matches!((first.insn.guard, insn.guard), (Some(a), Some(b)) if a.excludes(b) && !flight.stale_guard);
            if excluded {
                continue;
            }
            if id % 2 == 0 {
                // Results of one queue arrive in order, so a later one may overwrite an earlier one.
                let in_order = first.timing.queue.results_in_order() && first.timing.queue == step.timing.queue;
                let results = first.insn.defs.minus(&first.insn.early_results());
                let set = results.intersection(if in_order { &insn.uses } else { &touched });
                alarm(read_or_write(&set), set, first.insn.offset)?;
                continue;
            }
            let early = first.insn.early_results().intersection(&touched);
            alarm(read_or_write(&early), early, first.insn.offset)?;
            if !first.timing.queue.operands_before(step.timing.queue) {
                alarm(
                    HazardKind::WriteAfterRead,
                    late_operands(first).intersection(&insn.defs),
                    first.insn.offset,
                )?;
            }
        }
        Ok(())
    }

    fn launch(&self, k: usize, step: &Step<'_>, state: &mut State) {
        let insn = step.insn;
        let (read, write) = (mask(insn.control.read), mask(insn.control.write));
        for (id, flight) in state.flights.iter_mut().filter(|_| self.counts) {
            // With the guard of the other one, unchanged, it is executed when the other one was.
            let alike = || self.step_of(*id).is_some_and(|first| first.insn.guard == insn.guard) && !flight.stale_guard;
            if insn.guard.is_none() || alike() {
                let added = u8::from(flight.counted & read != 0) + u8::from(flight.counted & write != 0);
                flight.younger = flight.younger.saturating_add(added);
            }
        }
        if step.timing.queue != Queue::Unordered && read | write != 0 {
            for (id, flight) in &mut state.flights {
                let Some(first) = self.steps.get(*id as usize / 2) else { continue };
                let (earlier, later) = (first.timing.queue, step.timing.queue);
                match *id % 2 {
                    0 if earlier == later && later.results_in_order() => flight.proofs |= write,
                    1 if earlier.operands_before(later) => flight.proofs |= read | write,
                    _ => continue,
                }
                if flight.counted == 0 {
                    flight.counted = if *id % 2 == 0 || write != 0 { write } else { read };
                }
            }
        }
        let Ok(id) = OpId::try_from(2 * k) else { return };
        let results = insn.defs.minus(&insn.early_results());
        if step.timing.result && !results.is_empty() {
            if read | write == 0 && insn.guard.is_none() && !step.timing.queue.results_in_order() {
                state.endless_results = state.endless_results.union(&results);
            } else {
                put(state, id, (write, write));
            }
        }
        let operands = late_operands(step);
        if !operands.is_empty() || !insn.early_results().is_empty() {
            if read | write == 0 && insn.guard.is_none() && step.timing.queue == Queue::Unordered {
                state.endless_operands = state.endless_operands.union(&operands);
            } else {
                put(state, id + 1, (read | write, if write == 0 { read } else { write }));
            }
        }
    }
}

/// An operation starts again: what is proven must hold for the earlier run of the same instruction too.
fn put(state: &mut State, id: OpId, (proofs, counted): (u8, u8)) {
    let new = |proofs, stale_guard| Flight {
        proofs,
        counted,
        younger: 0,
        stale_guard,
    };
    match state.flights.binary_search_by_key(&id, |(id, _)| *id) {
        Err(place) => state.flights.insert(place, (id, new(proofs, false))),
        Ok(place) => {
            if let Some((_, flight)) = state.flights.get_mut(place) {
                *flight = new(flight.proofs & proofs, flight.stale_guard);
            }
        }
    }
}

fn late_operands(step: &Step<'_>) -> RegSet {
    let operands = step.insn.uses.minus(&step.insn.defs);
    match step.timing.operands {
        LateOperands::None => RegSet::EMPTY,
        LateOperands::General => operands.general(),
        LateOperands::All => operands.without_predicates(),
    }
}

fn mask(scoreboard: u8) -> u8 {
    if scoreboard < SCOREBOARDS { 1 << scoreboard } else { 0 }
}

/// `DEPBAR.LE SBn, count`: the mask of n, and count.
fn counted_wait(insn: &Insn) -> Option<(u8, u8)> {
    (insn.name == "DEPBAR").then(|| (mask(insn.bits(44, 3)), insn.bits(38, 6)))
}

/// Unites `from` into `into`; true when something changed.
fn join(into: &mut Option<Box<State>>, from: &State) -> bool {
    let Some(old) = into else {
        *into = Some(Box::new(from.clone()));
        return true;
    };
    let mut changed = false;
    let mut place = 0;
    for (id, flight) in &from.flights {
        place += old.flights.iter().skip(place).take_while(|(known, _)| known < id).count();
        match old.flights.get_mut(place) {
            Some((known, old)) if known == id => {
                let before = *old;
                old.proofs &= flight.proofs;
                old.younger = old.younger.min(flight.younger);
                old.stale_guard |= flight.stale_guard;
                changed |= before != *old;
            }
            _ => {
                old.flights.insert(place, (*id, *flight));
                changed = true;
            }
        }
    }
    for (into, from) in [
        (&mut old.endless_operands, &from.endless_operands),
        (&mut old.endless_results, &from.endless_results),
    ] {
        let before = std::mem::replace(into, into.union(from));
        changed |= before != *into;
    }
    changed
}
