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
use crate::setter::{Class, Kind, class};

/// Has a value arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrived {
    No,
    Unknown,
    Yes,
}

/// Cycles that fences put between an `EXIT` and the instruction before it.
pub(crate) const FENCE_CYCLES: u32 = 6;

/// Cycles from issue: (not arrived up to, arrived from on). `None`: never waited for at the end of a block.
fn arrival(insn: &Insn, kind: Kind) -> Option<(u32, u32)> {
    if kind == Kind::Read {
        return Some(match insn.name {
            "LDG" => (6, 15),
            "LDS" | "STS" => (7, 20),
            "SHFL" => (1, 9),
            "STG" => (10, 15),
            _ => (8, 24),
        });
    }
    match class(insn) {
        Class::Long | Class::Texture => None,
        Class::Constant => Some((51, 55)),
        Class::UniformConstant => Some((17, 21)),
        Class::Special => Some((35, 37)),
        Class::UniformSpecial => Some((28, 60)),
        Class::Shared => Some((39, 61)),
        Class::Other => match insn.name {
            "SHFL" => Some((21, 25)),
            "F2I" | "MUFU" | "POPC" | "I2F" | "F2F" | "FLO" => Some((9, 16)),
            _ => Some((0, u32::MAX)),
        },
    }
}

/// Is the setter never waited for at the end of a block?
pub(crate) fn never_waited(insn: &Insn, kind: Kind) -> bool {
    arrival(insn, kind).is_none()
}

/// A setter of the block that is pending at its end.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    insn: usize,
    kind: Kind,
    number: u8,
    /// Time of issue, at least and at most.
    issued: (u32, u32),
}

impl Waiting {
    /// Cycles since its issue, at least and at most, at the last instruction of the block, whose stall is `stall`.
    fn elapsed(&self, end: (u32, u32), stall: u32) -> (u32, u32) {
        // Both bounds of the time at the end follow from the same waits as those of the issue.
        let span = |end: u32, issued: u32| end.saturating_sub(stall).saturating_sub(issued);
        (
            span(end.0, self.issued.0).min(span(end.1, self.issued.1)),
            span(end.1, self.issued.0),
        )
    }
}

/// The setters of a block that are pending behind its last instruction, and the time there.
fn pending(insns: &[Insn], range: std::ops::Range<usize>) -> (Vec<Waiting>, (u32, u32)) {
    let mut list: Vec<Waiting> = Vec::new();
    let mut now = (0u32, 0u32);
    for (k, insn) in range.clone().zip(insns.get(range).unwrap_or_default()) {
        let wait = insn.control.wait;
        list.retain(|w| {
            let waited = wait >> w.number & 1 == 1;
            if waited {
                let (low, high) = insns.get(w.insn).and_then(|i| arrival(i, w.kind)).unwrap_or((100, 1000));
                now.0 = now.0.max(w.issued.0.saturating_add(low));
                now.1 = now.1.max(w.issued.1.saturating_add(high.min(1000)));
            }
            !waited
        });
        for (kind, number) in [(Kind::Read, insn.control.read), (Kind::Write, insn.control.write)] {
            if number < SCOREBOARDS && number != NO_SCOREBOARD {
                list.push(Waiting {
                    insn: k,
                    kind,
                    number,
                    issued: now,
                });
            }
        }
        let stall = u32::from(insn.control.stall);
        now = (now.0.saturating_add(stall), now.1.saturating_add(stall));
    }
    (list, now)
}

/// Has the setter of instruction `k` arrived at the end of its block, `extra` cycles later than the code says?
pub(crate) fn arrived(insns: &[Insn], block: std::ops::Range<usize>, k: usize, kind: Kind, extra: u32) -> Arrived {
    let (list, end) = pending(insns, block.clone());
    let stall = insns.get(block.end.saturating_sub(1)).map_or(0, |i| u32::from(i.control.stall));
    let Some(w) = list.iter().find(|w| w.insn == k && w.kind == kind) else {
        return Arrived::Unknown;
    };
    let (least, most) = w.elapsed(end, stall);
    let (least, most) = (least.saturating_add(extra), most.saturating_add(extra));
    match insns.get(k).map(|i| arrival(i, kind)) {
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
    /// Its operands, not its result.
    pub read: bool,
    /// Cycles since issue, at least and at most.
    pub elapsed: (u32, u32),
    /// The end of the block waits for it.
    pub waited: bool,
}

/// All arrivals of a function where one setter of a block is alone on its number.
#[must_use]
pub fn arrivals(insns: &[Insn], indirect: &BTreeMap<u32, Vec<u32>>) -> Vec<Arrival> {
    let cfg = Cfg::new(insns, indirect);
    let mut out = Vec::new();
    for block in &cfg.blocks {
        let last = block.end.saturating_sub(1);
        let Some(end) = insns.get(last) else { continue };
        let mut bare: Vec<Insn> = insns.get(block.start..block.end).unwrap_or_default().to_vec();
        if let Some(last) = bare.last_mut() {
            last.control.wait = 0;
        }
        let (list, now) = pending(&bare, 0..bare.len());
        for w in &list {
            if w.insn + block.start == last
                || list.iter().filter(|o| o.number == w.number).count() != 1
                || end.touched().intersects(&bare[w.insn].defs)
            {
                continue;
            }
            out.push(Arrival {
                insn: w.insn + block.start,
                last,
                read: w.kind == Kind::Read,
                elapsed: w.elapsed(now, u32::from(end.control.stall)),
                waited: end.control.wait >> w.number & 1 == 1,
            });
        }
    }
    out
}
