//! Injected scoreboard faults, and a machine that walks paths through the changed code.
//!
//! 1. A fault changes one instruction, or exchanges the scoreboards of two: a wait is dropped, a scoreboard is dropped or gets another number, a stall is
//!    shortened.
//! 2. A fault is **real** when there is a path through the function on which an instruction touches a register that an earlier one may still be writing, or
//!    writes one that an earlier one may still be reading, under the timing rules of `culd_sass::latency`. The machine shares no code with the checker's data
//!    flow: it executes instruction after instruction and keeps every dynamic operation that nothing has proven finished.
//! 3. Branches are decided at random; on the way to the changed instruction mostly by the distance to it.

use culd_sass::KernelContext;
use culd_sass::decode::{Control, Insn, decode_all};
use culd_sass::latency::{LateOperands, Queue, timing};
use culd_sass::reg::{Reg, RegFile, RegSet};

/// A changed field of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// One bit of the wait mask.
    DropWait(u8),
    /// Another scoreboard for the results, or none.
    SetWrite(u8),
    /// Another scoreboard for the operands, or none.
    SetRead(u8),
    /// The scoreboards of the next instruction that has one, and the other way round.
    Swap,
    /// So many cycles.
    Stall(u8),
}

impl Fault {
    /// What kind of fault it is.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::DropWait(_) => "wait dropped",
            Self::SetWrite(7) | Self::SetRead(7) => "scoreboard dropped",
            Self::SetWrite(_) | Self::SetRead(_) => "another scoreboard",
            Self::Swap => "scoreboards swapped",
            Self::Stall(_) => "stall shortened",
        }
    }
}

/// All single-field faults of an instruction.
pub(crate) fn faults(insn: &Insn) -> Vec<Fault> {
    let control = insn.control;
    let mut out: Vec<Fault> = (0..6).filter(|bit| control.wait >> bit & 1 == 1).map(Fault::DropWait).collect();
    if control.write != 7 {
        out.extend([
            Fault::SetWrite(7),
            Fault::SetWrite((control.write + 1) % 6),
            Fault::SetWrite((control.write + 3) % 6),
        ]);
    }
    if control.read != 7 {
        out.extend([
            Fault::SetRead(7),
            Fault::SetRead((control.read + 1) % 6),
            Fault::SetRead((control.read + 3) % 6),
        ]);
    }
    out
}

/// The faults of [`faults`] and those that are not about one field of a scoreboard.
pub(crate) fn all_faults(insns: &[Insn], k: usize) -> Vec<Fault> {
    let Some(insn) = insns.get(k) else { return Vec::new() };
    let mut out = faults(insn);
    let stall = insn.control.stall;
    if stall > 1 {
        out.extend([Fault::Stall(1), Fault::Stall(stall - 1)]);
    }
    let control = insn.control;
    let other = partner(insns, k).and_then(|j| insns.get(j)).map(|i| i.control);
    if other.is_some_and(|o| (o.write, o.read) != (control.write, control.read)) {
        out.push(Fault::Swap);
    }
    out
}

/// The next instruction that signals with the same fields.
fn partner(insns: &[Insn], k: usize) -> Option<usize> {
    let shape = |i: &Insn| (i.control.write != 7, i.control.read != 7);
    let own = insns.get(k).map(shape).filter(|s| s.0 || s.1)?;
    (k + 1..insns.len().min(k + 40)).find(|j| insns.get(*j).map(shape) == Some(own))
}

/// The code with a fault at instruction `k`.
pub(crate) fn inject(code: &[u8], insns: &[Insn], k: usize, fault: Fault) -> Vec<u8> {
    let mut out = code.to_vec();
    let Some(insn) = insns.get(k) else { return out };
    let mut put = |insn: &Insn, control: Control| {
        if let Some(word) = out.get_mut(insn.offset as usize..insn.offset as usize + 16) {
            word.copy_from_slice(&control.put(insn.raw).to_le_bytes());
        }
    };
    let mut control = insn.control;
    match fault {
        Fault::DropWait(bit) => control.wait &= !(1 << bit),
        Fault::SetWrite(number) => control.write = number,
        Fault::SetRead(number) => control.read = number,
        Fault::Stall(cycles) => control.stall = cycles,
        Fault::Swap => {
            if let Some(other) = partner(insns, k).and_then(|j| insns.get(j)) {
                let theirs = other.control;
                put(
                    other,
                    Control {
                        write: control.write,
                        read: control.read,
                        ..theirs
                    },
                );
                (control.write, control.read) = (theirs.write, theirs.read);
            }
        }
    }
    put(insn, control);
    out
}

/// A deterministic source of branch decisions.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// One dynamic operation that may still be running.
struct Running {
    result: bool,
    registers: RegSet,
    queue: Queue,
    /// Scoreboards whose wait ends it.
    boards: Vec<u8>,
    guard: Option<(RegFile, u8, bool, u32)>,
    issued: usize,
}

/// Executes paths.
struct Machine<'a> {
    insns: &'a [Insn],
    context: &'a KernelContext,
    running: Vec<Running>,
    /// Every use of a scoreboard in issue order: (scoreboard, time, counts for certain).
    signals: Vec<(u8, usize, bool)>,
    versions: [[u32; 8]; 2],
    /// Targets of the active `BSSY`, per register.
    converge: [Option<u32>; 16],
    /// Steps from every instruction to the one that the path is led to.
    distance: &'a [u32],
    /// The path has been there.
    reached: bool,
}

impl<'a> Machine<'a> {
    fn new(insns: &'a [Insn], context: &'a KernelContext, distance: &'a [u32]) -> Self {
        Self {
            insns,
            context,
            running: Vec::new(),
            signals: Vec::new(),
            versions: [[0; 8]; 2],
            converge: [None; 16],
            distance,
            reached: false,
        }
    }

    /// Walks one path; true when it meets a hazard.
    fn walk(&mut self, random: &mut Random, steps: usize) -> bool {
        let mut k = 0;
        for time in 0..steps {
            let Some(insn) = self.insns.get(k) else { return false };
            self.reached |= self.distance.get(k) == Some(&0);
            if self.execute(insn, time) {
                return true;
            }
            let Some(next) = self.next(k, insn, random) else { return false };
            k = next;
        }
        false
    }

    fn next(&mut self, k: usize, insn: &Insn, random: &mut Random) -> Option<usize> {
        let ways = self.ways(k, insn);
        if !self.reached && random.below(4) != 0 {
            let far = |way: &Option<usize>| way.and_then(|w| self.distance.get(w).copied()).unwrap_or(u32::MAX);
            return ways.into_iter().min_by_key(far).flatten();
        }
        ways.get(random.below(ways.len())).copied().flatten()
    }

    fn ways(&mut self, k: usize, insn: &Insn) -> Vec<Option<usize>> {
        let index = |offset: u32| Some(offset as usize / 16);
        let second = insn.bits(87, 4) != 7;
        let mut ways: Vec<Option<usize>> = Vec::new();
        match insn.name {
            "BRA" => {
                ways.push(insn.target.and_then(index));
                if insn.op == 0x547 || insn.guard.is_some() || second || insn.bits(32, 2) != 0 {
                    ways.push(Some(k + 1));
                }
            }
            "BRX" | "BRXU" => ways.extend(
                self.context
                    .indirect
                    .get(&insn.offset)
                    .map_or(&[][..], Vec::as_slice)
                    .iter()
                    .map(|t| index(*t)),
            ),
            "EXIT" | "RET" => {
                ways.push(None);
                if insn.guard.is_some() || second {
                    ways.push(Some(k + 1));
                }
            }
            "BSYNC" => ways.push(self.converge[usize::from(insn.bits(16, 4))].and_then(index).or(Some(k + 1))),
            "BSSY" => {
                self.converge[usize::from(insn.bits(16, 4))] = insn.target;
                ways.push(Some(k + 1));
            }
            _ => ways.push(Some(k + 1)),
        }
        ways
    }

    /// Everything that finished by the time the operations in `over` have: earlier ones of an ordered queue.
    fn finish(&mut self, over: impl Fn(&Running) -> bool) {
        let done: Vec<(Queue, bool, usize)> = self
            .running
            .iter()
            .filter(|r| over(r))
            .map(|r| (r.queue, r.result, r.issued))
            .collect();
        self.running.retain(|r| {
            let ordered = done.iter().any(|(queue, result, issued)| {
                r.issued <= *issued
                    && if r.result {
                        *result && *queue == r.queue && queue.results_in_order()
                    } else {
                        r.queue.operands_before(*queue)
                    }
            });
            !over(r) && !ordered
        });
    }

    fn version(&self, file: RegFile, index: u8) -> u32 {
        self.versions[usize::from(file == RegFile::Up)][usize::from(index & 7)]
    }

    fn execute(&mut self, insn: &Insn, time: usize) -> bool {
        let wait = insn.control.wait;
        self.finish(|r| r.boards.iter().any(|b| wait >> b & 1 == 1));
        if insn.name == "DEPBAR" {
            let (board, left) = (insn.bits(44, 3), usize::from(insn.bits(38, 6)));
            // The operations before the last `left` certain signals of this scoreboard are over.
            let certain: Vec<usize> = self.signals.iter().filter(|s| s.0 == board && s.2).map(|s| s.1).collect();
            let over = certain.len().checked_sub(left).map(|n| certain.get(n).copied().unwrap_or(time));
            if let Some(bound) = over {
                self.finish(|r| r.boards.contains(&board) && r.boards.len() == 1 && r.issued < bound);
            }
        }
        let guard = insn.guard;
        if guard.is_some_and(|g| g.index == 7) {
            return false;
        }
        let tag = guard.map(|g| (g.file, g.index, g.negated, self.version(g.file, g.index)));
        if self.meets(insn, tag) {
            return true;
        }
        self.issue(insn, tag, time);
        if insn.name == "R2P" {
            self.versions[0].iter_mut().for_each(|v| *v += 1);
        }
        for reg in insn.defs.iter() {
            if matches!(reg.file, RegFile::P | RegFile::Up) {
                self.versions[usize::from(reg.file == RegFile::Up)][usize::from(reg.index & 7)] += 1;
            }
        }
        false
    }

    fn meets(&self, insn: &Insn, tag: Option<(RegFile, u8, bool, u32)>) -> bool {
        let queue = timing(insn, self.context.arch).queue;
        self.running.iter().any(|r| {
            let excluded = matches!((r.guard, tag), (Some(a), Some(b)) if a.0 == b.0 && a.1 == b.1 && a.2 != b.2 && a.3 == b.3);
            let hit: Vec<Reg> = if r.result {
                let ordered = r.queue == queue && queue.results_in_order();
                r.registers
                    .iter()
                    .filter(|reg| insn.uses.contains(*reg) || (!ordered && insn.defs.contains(*reg)))
                    .collect()
            } else if r.queue.operands_before(queue) {
                Vec::new()
            } else {
                r.registers.iter().filter(|reg| insn.defs.contains(*reg)).collect()
            };
            !excluded && !hit.is_empty()
        })
    }

    fn issue(&mut self, insn: &Insn, tag: Option<(RegFile, u8, bool, u32)>, time: usize) {
        let timing = timing(insn, self.context.arch);
        let (read, write) = (insn.control.read, insn.control.write);
        let boards = |list: &[u8]| list.iter().copied().filter(|b| *b < 6).collect::<Vec<u8>>();
        for board in boards(&[read, write]) {
            self.signals.push((board, time, insn.guard.is_none()));
        }
        let early = insn.early_results();
        for (registers, ends) in [(insn.defs.minus(&early), boards(&[write])), (early, boards(&[read, write]))] {
            if timing.result && !registers.is_empty() {
                self.running.push(Running {
                    result: true,
                    registers,
                    queue: timing.queue,
                    boards: ends,
                    guard: tag,
                    issued: time,
                });
            }
        }
        let late = insn.uses.minus(&insn.defs);
        let late = match timing.operands {
            LateOperands::None => RegSet::EMPTY,
            LateOperands::General => late.general(),
            LateOperands::All => late.without_predicates(),
        };
        // Even without late registers of its own, an instruction of a queue orders the ones before it.
        let ends = boards(&[read, write]);
        if !late.is_empty() || (timing.queue != Queue::Unordered && !ends.is_empty()) {
            self.running.push(Running {
                result: false,
                registers: late,
                queue: timing.queue,
                boards: ends,
                guard: tag,
                issued: time,
            });
        }
    }
}

/// Looks for a path with a hazard, mostly through instruction `target`.
pub(crate) fn simulate(code: &[u8], context: &KernelContext, target: usize, walks: usize) -> bool {
    let insns = decode_all(code).unwrap_or_default();
    let distance = distances(&insns, context, target);
    let mut random = Random(insns.len() as u64);
    (0..walks).any(|_| Machine::new(&insns, context, &distance).walk(&mut random, 2 * insns.len() + 64))
}

/// Steps from every instruction to `target`, with the targets of all `BSSY` of its register after a `BSYNC`.
fn distances(insns: &[Insn], context: &KernelContext, target: usize) -> Vec<u32> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); insns.len()];
    let mut machine = Machine::new(insns, context, &[]);
    for (k, insn) in insns.iter().enumerate() {
        for way in machine.ways(k, insn).into_iter().flatten() {
            before.get_mut(way).into_iter().for_each(|list| list.push(k));
        }
    }
    let mut distance = vec![u32::MAX; insns.len()];
    let mut queue = std::collections::VecDeque::from([(target, 0)]);
    while let Some((k, steps)) = queue.pop_front() {
        let Some(slot) = distance.get_mut(k).filter(|d| **d == u32::MAX) else {
            continue;
        };
        *slot = steps;
        queue.extend(before.get(k).into_iter().flatten().map(|p| (*p, steps + 1)));
    }
    distance
}
