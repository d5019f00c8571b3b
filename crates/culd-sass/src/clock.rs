//! When results arrive, as the end of a block sees it.
//!
//! At the last instruction of a block a scoreboard is waited for when all setters of it in this block have had time to arrive, so that no later block has
//! to. The time is counted from the start of the block:
//!
//! 1. An instruction is issued after the stalls of those before it.
//! 2. A wait lifts the time to the arrival of everything of this block on its scoreboard.
//! 3. The latencies were observed as ranges ([`arrival`]): below the range no wait was seen, above it always. In between the answer is not known.
//! 4. Loads from global, local and generic memory, atomics with a result and textures are never waited for in this way.

use std::collections::BTreeMap;

use crate::cfg::Cfg;
use crate::decode::{Insn, NO_SCOREBOARD, SCOREBOARDS};
use crate::setter::{Class, Kind, SR_LANEID, class};

/// Has a value arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrived {
    No,
    Unknown,
    Yes,
}

/// Cycles that fences put between an `EXIT` and the instruction before it, at least and at most.
pub(crate) const FENCE_CYCLES: (u32, u32) = (6, 8);

/// Double precision: where these have scoreboards, ends of blocks always wait for them.
const DOUBLE: [&str; 4] = ["DADD", "DFMA", "DMUL", "DSETP"];

/// What of a block decides when its results arrive.
#[derive(Debug, Clone, Copy, Default)]
struct Traits {
    /// Accesses to shared memory of more than one register, or atomics.
    shared: bool,
    /// How the block ends.
    end: End,
}

/// How a block ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum End {
    /// With a branch.
    #[default]
    Branch,
    /// With an instruction for control flow that is not a branch.
    Control,
    /// Before a label.
    Label,
}

impl End {
    fn of(insns: &[Insn]) -> Self {
        match insns.last().map(|i| i.name) {
            None | Some("BRA") => Self::Branch,
            Some("BRX" | "BRXU" | "BSYNC" | "CALL" | "EXIT" | "RET" | "WARPSYNC") => Self::Control,
            Some(_) => Self::Label,
        }
    }
}

impl Traits {
    fn of(insns: &[Insn]) -> Self {
        let wide = |i: &Insn| match i.name {
            "ATOMS" => true,
            "LDS" => i.defs.iter().count() > 1,
            "STS" => i.uses.general().iter().count() > 2,
            _ => false,
        };
        Self {
            shared: insns.iter().any(wide),
            end: End::of(insns),
        }
    }
}

/// Cycles from issue: (not arrived up to, arrived from on). `None`: never waited for at the end of a block.
fn arrival(insn: &Insn, kind: Kind, traits: Traits) -> Option<(u32, u32)> {
    if DOUBLE.contains(&insn.name) {
        // The operands of a comparison are read late.
        return Some(if insn.name == "DSETP" && kind == Kind::Read {
            (2, 64)
        } else {
            (1, 2)
        });
    }
    if kind == Kind::Read {
        return Some(match insn.name {
            "LDG" => (5, 14),
            "STS" if insn.uses.general().iter().count() > 1 => (11, if traits.shared { 24 } else { 15 }),
            "LDS" | "STS" if traits.shared => (7, 24),
            "LDS" => (7, 9),
            "STS" => (8, 15),
            "SHFL" => (7, 12),
            "ATOMS" => (13, 20),
            "STG" => (11, 19),
            _ => (7, 24),
        });
    }
    match class(insn) {
        Class::Long | Class::Texture => None,
        Class::Constant => Some((47, 48)),
        Class::UniformConstant => Some((17, 18)),
        Class::Special if insn.bits(72, 8) == SR_LANEID => Some((31, 32)),
        Class::Special => Some((32, 33)),
        Class::UniformSpecial => Some((25, 26)),
        Class::Shared => Some(match traits.end {
            End::Branch => (40, 44),
            End::Control => (38, 44),
            // Observed: 315 of 315 loads that were issued 40 cycles before the last instruction have arrived, none of 20 after 38 cycles.
            End::Label => (38, 40),
        }),
        Class::Other => match insn.name {
            "SHFL" => Some((23, 24)),
            "MATCH" => Some((18, 24)),
            "F2I" | "MUFU" | "POPC" | "I2F" | "F2F" | "FLO" => Some((9, 17)),
            _ => Some((0, u32::MAX)),
        },
    }
}

/// Cycles from issue until a wait for the setter is over, at least and at most.
fn delivery(insn: &Insn, kind: Kind, traits: Traits) -> Option<(u32, u32)> {
    if kind == Kind::Write {
        let exact = match class(insn) {
            Class::Constant => Some(48),
            Class::UniformConstant => Some(18),
            Class::Special => Some(32),
            _ if insn.name == "SHFL" => Some(24),
            _ => None,
        };
        if let Some(cycles) = exact {
            return Some((cycles, cycles));
        }
    }
    arrival(insn, kind, traits).map(|(low, high)| (low, high.saturating_sub(1)))
}

/// Is the setter never waited for at the end of a block?
pub(crate) fn never_waited(insn: &Insn, kind: Kind) -> bool {
    arrival(insn, kind, Traits::default()).is_none()
}

/// Has a setter of an earlier block arrived, that was issued that many cycles before on the shortest way?
pub(crate) fn arrived_after(insn: &Insn, kind: Kind, elapsed: u32) -> Arrived {
    match arrival(
        insn,
        kind,
        Traits {
            shared: true,
            ..Traits::default()
        },
    ) {
        None => Arrived::No,
        Some((low, _)) if elapsed <= low => Arrived::No,
        Some((_, high)) if elapsed >= high => Arrived::Yes,
        Some(_) => Arrived::Unknown,
    }
}

/// A setter of the block that is pending.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    insn: usize,
    kind: Kind,
    number: u8,
    /// Cycles since its issue, at least and at most.
    elapsed: (u32, u32),
}

/// The setters of a block that are pending at its last instruction, after that instruction's own waits.
fn pending(insns: &[Insn], range: std::ops::Range<usize>) -> Vec<Waiting> {
    let mut list: Vec<Waiting> = Vec::new();
    let traits = Traits::of(insns.get(range.clone()).unwrap_or_default());
    let last = range.end.saturating_sub(1);
    for (k, insn) in range.clone().zip(insns.get(range).unwrap_or_default()) {
        let wait = insn.control.wait;
        // A wait takes until the arrival of everything it waits for.
        let mut delay = (0, 0);
        list.retain(|w| {
            let waited = wait >> w.number & 1 == 1;
            if waited {
                let (low, high) = insns.get(w.insn).and_then(|i| delivery(i, w.kind, traits)).unwrap_or((100, 1000));
                delay.0 = delay.0.max(low.saturating_sub(w.elapsed.1));
                delay.1 = delay.1.max(high.min(1000).saturating_sub(w.elapsed.0));
            }
            !waited
        });
        let stall = if k == last { 0 } else { u32::from(insn.control.stall) };
        list.iter_mut().for_each(|w| pass(w, delay));
        for (kind, number) in [(Kind::Read, insn.control.read), (Kind::Write, insn.control.write)] {
            if number < SCOREBOARDS && number != NO_SCOREBOARD {
                list.push(Waiting {
                    insn: k,
                    kind,
                    number,
                    elapsed: (0, 0),
                });
            }
        }
        list.iter_mut().for_each(|w| pass(w, (stall, stall)));
    }
    list
}

/// Lets time pass.
fn pass(w: &mut Waiting, cycles: (u32, u32)) {
    w.elapsed = (w.elapsed.0.saturating_add(cycles.0), w.elapsed.1.saturating_add(cycles.1));
}

/// Has the setter of instruction `k` arrived at the end of its block, `extra` cycles later than the code says?
pub(crate) fn arrived(insns: &[Insn], block: std::ops::Range<usize>, k: usize, kind: Kind, extra: (u32, u32)) -> Arrived {
    let list = pending(insns, block.clone());
    let Some(w) = list.iter().find(|w| w.insn == k && w.kind == kind) else {
        return Arrived::Unknown;
    };
    let (least, most) = (w.elapsed.0.saturating_add(extra.0), w.elapsed.1.saturating_add(extra.1));
    let traits = Traits::of(insns.get(block).unwrap_or_default());
    match insns.get(k).map(|i| arrival(i, kind, traits)) {
        Some(None) => Arrived::No,
        Some(Some((low, high))) => {
            if most <= low {
                Arrived::No
            } else if least >= high {
                Arrived::Yes
            } else {
                Arrived::Unknown
            }
        }
        None => Arrived::Unknown,
    }
}

/// What a block shows about arrivals at its end: instruction, operand read, cycles since issue at least and at most, waited for.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// The instruction.
    pub insn: usize,
    /// The last instruction of the block.
    pub last: usize,
    /// Earlier ones of its kind on its number.
    pub others: usize,
    /// Its operands, not its result.
    pub read: bool,
    /// Cycles since issue, at least and at most.
    pub elapsed: (u32, u32),
    /// The end of the block waits for it.
    pub waited: bool,
}

/// All arrivals of a function where all setters of a block on a number are of one kind: of the last one.
#[must_use]
pub fn arrivals(insns: &[Insn], indirect: &BTreeMap<u32, Vec<u32>>) -> Vec<Arrival> {
    let cfg = Cfg::new(insns, indirect, false);
    let mut out = Vec::new();
    for block in &cfg.blocks {
        let last = block.end.saturating_sub(1);
        let Some(end) = insns.get(last) else { continue };
        let mut bare: Vec<Insn> = insns.get(block.start..block.end).unwrap_or_default().to_vec();
        if let Some(last) = bare.last_mut() {
            last.control.wait = 0;
        }
        let list = pending(&bare, 0..bare.len());
        for w in &list {
            let group: Vec<&Waiting> = list.iter().filter(|o| o.number == w.number).collect();
            let alike = |o: &&Waiting| o.kind == w.kind && bare[o.insn].name == bare[w.insn].name && o.insn <= w.insn;
            if w.insn + block.start == last || !group.iter().all(alike) || end.touched().intersects(&bare[w.insn].defs) {
                continue;
            }
            out.push(Arrival {
                insn: w.insn + block.start,
                last,
                others: group.len() - 1,
                read: w.kind == Kind::Read,
                elapsed: w.elapsed,
                waited: end.control.wait >> w.number & 1 == 1,
            });
        }
    }
    out
}
