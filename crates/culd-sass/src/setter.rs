//! Setters: the (instruction, result or operand) pairs that own a scoreboard number, and when another instruction must wait for them.
//!
//! 1. A setter is an instruction whose write or read field names a scoreboard in the compiler's code. Which instructions need a
//!    scoreboard is the compiler's decision and is kept.
//! 2. An instruction conflicts with a write setter when it reads or writes a register the setter writes, and with a read setter when it
//!    writes a general register the setter reads and does not write itself (textures and descriptor instructions: uniform registers
//!    too). Predicates of atomics may arrive with the read setter ([`Insn::early_results`]).
//! 3. No conflict between opposite guards of the same predicate that nothing changes in between, nor in one block between the results of
//!    two `LDS`, nor between operands and the result of a later instruction that comes after them in a queue (`READ_BEFORE`).
//! 4. A setter without registers (a fence, an atomic without result) only signals: its users are found from the compiler's waits.

use std::cell::Cell;

use crate::cfg::{Block, Cfg};
use crate::decode::{Insn, NO_SCOREBOARD};
use crate::reg::{Outline, Reg, RegSet};

/// Which end of an instruction the scoreboard represents. Reads are numbered before writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Operands have been read.
    Read,
    /// Results have been written.
    Write,
}

/// Latency class of an opcode, as the allocator sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Memory loads and atomics with a result: numbers from 2 up.
    Long,
    /// Texture and surface loads: always number 5.
    Texture,
    /// `LDC`.
    Constant,
    /// `LDCU`.
    UniformConstant,
    /// `S2R`.
    Special,
    /// `S2UR`.
    UniformSpecial,
    /// `LDS`.
    Shared,
    /// Everything else.
    Other,
}

/// Mnemonics that are not [`Class::Other`].
const CLASSES: &[(&str, Class)] = &[
    ("ATOM", Class::Long),
    ("ATOMG", Class::Long),
    ("FOOTPRINT", Class::Texture),
    ("LD", Class::Long),
    ("LDC", Class::Constant),
    ("LDCU", Class::UniformConstant),
    ("LDG", Class::Long),
    ("LDGMC", Class::Long),
    ("LDL", Class::Long),
    ("LDS", Class::Shared),
    ("S2R", Class::Special),
    ("S2UR", Class::UniformSpecial),
    ("SULD", Class::Texture),
    ("TEX", Class::Texture),
    ("TLD", Class::Texture),
    ("TLD4", Class::Texture),
    ("TMML", Class::Texture),
    ("TXD", Class::Texture),
    ("TXQ", Class::Texture),
];

/// Instructions other than textures that read uniform registers late.
const LATE_UNIFORM: [&str; 18] = [
    "UBLKCP",
    "UBLKPF",
    "UBLKRED",
    "UMEMSETS",
    "UREDGR",
    "USTGR",
    "UTCATOMSWS",
    "UTCBAR",
    "UTCCP",
    "UTCHMMA",
    "UTCIMMA",
    "UTCOMMA",
    "UTCQMMA",
    "UTMACCTL",
    "UTMALDG",
    "UTMAPF",
    "UTMAREDG",
    "UTMASTG",
];

/// The class of an instruction.
pub(crate) fn class(insn: &Insn) -> Class {
    CLASSES
        .binary_search_by_key(&insn.name, |row| row.0)
        .ok()
        .and_then(|i| CLASSES.get(i))
        .map_or(Class::Other, |row| row.1)
}

/// Cycles until the operands of an instruction have been read, by mnemonic and least number of registers; the last row that fits counts.
const READ_CYCLES: [(&str, usize, u32); 21] = [
    ("ATOMS", 0, 9),
    ("DADD", 0, 2),
    ("DFMA", 0, 2),
    ("DMUL", 0, 2),
    ("F2F", 0, 12),
    ("F2I", 0, 12),
    ("FLO", 0, 12),
    ("I2F", 0, 12),
    ("LDG", 0, 10),
    ("LDGSTS", 0, 10),
    ("LDL", 0, 12),
    ("LDS", 0, 8),
    ("MUFU", 0, 8),
    ("POPC", 0, 12),
    ("SHFL", 0, 7),
    ("SHFL", 2, 9),
    ("STG", 0, 12),
    ("STG", 4, 13),
    ("STL", 0, 12),
    ("STS", 0, 10),
    ("STS", 3, 12),
];

/// Cycles until the results of an instruction have been written, by mnemonic; [`latency`] has that of loads from memory and textures.
const WRITE_CYCLES: [(&str, u32); 18] = [
    ("DADD", 2),
    ("DFMA", 2),
    ("DMUL", 2),
    ("DSETP", 2),
    ("F2F", 12),
    ("F2I", 12),
    ("FENCE", 2000),
    ("FLO", 12),
    ("I2F", 12),
    ("LDC", 48),
    ("LDCU", 18),
    ("LDS", 40),
    ("LDSM", 41),
    ("MUFU", 14),
    ("POPC", 12),
    ("S2R", 32),
    ("S2UR", 24),
    ("SHFL", 23),
];

/// Number of the special register that holds the lane, which arrives sooner than others.
pub(crate) const SR_LANEID: u8 = 0;
const LANE_CYCLES: u32 = 31;
/// The block's first index as a uniform value: a uniform instruction has it a cycle sooner than others.
const SR_CTAID_X: u8 = 0x25;
const CTAID_X_CYCLES: u32 = 23;

/// Cycles from issue to completion, as the choice of a number to share sees them: fitted to 62,000 such choices of compiler and linker (13.0 and 13.4), of which 168
/// come out otherwise.
fn latency(insn: &Insn, kind: Kind, class: Class) -> u32 {
    match (kind, class) {
        (Kind::Read, _) => {
            let registers = insn.uses.general().iter().count();
            let row = READ_CYCLES.iter().rfind(|row| row.1 <= registers && row.0 == insn.name);
            row.map_or(8, |row| row.2)
        }
        (Kind::Write, Class::Long | Class::Texture) => 307,
        (Kind::Write, _) if insn.name == "S2R" && insn.bits(72, 8) == SR_LANEID => LANE_CYCLES,
        (Kind::Write, Class::UniformSpecial) if insn.bits(72, 8) == SR_CTAID_X => CTAID_X_CYCLES,
        (Kind::Write, _) => WRITE_CYCLES.iter().find(|row| row.0 == insn.name).map_or(20, |row| row.1),
    }
}

/// About a second of work.
const CONFLICT_TESTS: u64 = 200_000_000;

/// Index of a setter in [`Setters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SetterId(u32);

impl SetterId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One setter.
#[derive(Debug)]
pub(crate) struct Setter {
    /// Index of the instruction.
    pub(crate) insn: usize,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
    /// Cycles that it takes.
    pub(crate) latency: u32,
    /// Registers a later instruction must not touch (write setters) or write (read setters).
    hazard: RegSet,
    /// Results that come with the operand scoreboard.
    early: RegSet,
    /// Of all registers of the two sets.
    outline: Outline,
    /// Later kinds of its block that do not wait for its operands.
    before: &'static [&'static str],
}

/// All setters of a function in program order, and the conflict test.
#[derive(Debug)]
pub(crate) struct Setters<'a> {
    insns: &'a [Insn],
    cfg: &'a Cfg,
    /// What every instruction reads or writes.
    touched: Vec<RegSet>,
    /// The outlines of these sets.
    outlines: Vec<Outline>,
    /// The outlines of all sets of a block.
    blocks: Vec<Outline>,
    list: Vec<Setter>,
    /// Conflict tests left: bounds the time for functions of any size.
    budget: Cell<u64>,
    /// For every instruction, its read and its write setter.
    of: Vec<[Option<SetterId>; 2]>,
}

/// Instructions whose operands have been read before those of a later kind of the same block deliver their results.
const READ_BEFORE: [(&str, &[&str]); 8] = [
    ("ATOMG", &["ATOMG", "LDG"]),
    ("DMUL", &["DMUL"]),
    ("F2I", &["F2I"]),
    ("LDG", &["ATOMG", "LDG"]),
    ("LDS", &["LDS"]),
    ("SHFL", &["SHFL"]),
    ("STG", &["LDS"]),
    ("STS", &["LDS", "SHFL"]),
];

/// The later kinds of [`READ_BEFORE`] for an instruction.
fn read_before(insn: &Insn) -> &'static [&'static str] {
    READ_BEFORE.iter().find(|row| row.0 == insn.name).map_or(&[], |row| row.1)
}

/// Is it `LDC R1, c[..]`, unguarded: the load of the stack pointer?
pub(crate) fn loads_stack_pointer(insn: &Insn) -> bool {
    insn.raw & 0xff_ffff == 0x01_7b82
}

impl<'a> Setters<'a> {
    pub(crate) fn new(insns: &'a [Insn], cfg: &'a Cfg) -> Self {
        let touched: Vec<RegSet> = insns.iter().map(Insn::touched).collect();
        let outlines: Vec<Outline> = touched.iter().map(RegSet::outline).collect();
        let join = |b: &Block| outlines[b.start..b.end].iter().fold(Outline::EMPTY, |all, one| all.union(*one));
        let mut out = Self {
            insns,
            cfg,
            blocks: cfg.blocks.iter().map(join).collect(),
            outlines,
            touched,
            list: Vec::new(),
            budget: Cell::new(CONFLICT_TESTS),
            of: vec![[None; 2]; insns.len()],
        };
        for (k, insn) in insns.iter().enumerate() {
            for (slot, kind, number) in [(0, Kind::Read, insn.control.read), (1, Kind::Write, insn.control.write)] {
                if number != NO_SCOREBOARD {
                    let id = SetterId(u32::try_from(out.list.len()).unwrap_or(u32::MAX));
                    out.list.push(Setter::new(insn, k, kind));
                    out.of[k][slot] = Some(id);
                }
            }
        }
        out
    }

    pub(crate) fn get(&self, id: SetterId) -> &Setter {
        &self.list[id.index()]
    }

    pub(crate) fn insn(&self, k: usize) -> &Insn {
        &self.insns[k]
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = SetterId> + use<> {
        (0..u32::try_from(self.list.len()).unwrap_or(u32::MAX)).map(SetterId)
    }

    /// The number the compiler gave the setter.
    pub(crate) fn number_in_input(&self, id: SetterId) -> u8 {
        let setter = self.get(id);
        let control = self.insns[setter.insn].control;
        match setter.kind {
            Kind::Read => control.read,
            Kind::Write => control.write,
        }
    }

    /// The setters of one instruction, reads first.
    pub(crate) fn of(&self, insn: usize) -> impl Iterator<Item = SetterId> + use<> {
        self.of[insn].into_iter().flatten()
    }

    /// Must instruction `later` wait for the setter?
    pub(crate) fn conflicts(&self, id: SetterId, later: usize) -> bool {
        match self.budget.get().checked_sub(1) {
            Some(left) => self.budget.set(left),
            None => return false,
        }
        let setter = self.get(id);
        // Most pairs share no register, and a look at the outlines is enough.
        if !setter.outline.meets(self.outlines[later]) {
            return false;
        }
        let (y, touched) = (&self.insns[later], &self.touched[later]);
        // The order of the two is looked at last.
        let same_block = || setter.insn < later && self.cfg.block_of[setter.insn] == self.cfg.block_of[later];
        let hit = match setter.kind {
            Kind::Write => {
                let in_order = || same_block() && self.insns[setter.insn].name == "LDS" && y.name == "LDS";
                setter.hazard.intersects(touched) && (!in_order() || setter.hazard.intersects(&y.uses))
            }
            Kind::Read => {
                let in_order = || same_block() && setter.before.contains(&y.name);
                setter.hazard.intersects(&y.defs) && !in_order() || setter.early.intersects(touched)
            }
        };
        hit && !self.exclusive(setter.insn, later)
    }

    /// The outline of the registers of some setters.
    pub(crate) fn outline(&self, setters: impl Iterator<Item = SetterId>) -> Outline {
        setters.fold(Outline::EMPTY, |all, id| all.union(self.get(id).outline))
    }

    /// May instruction `k` conflict with one of the setters of an outline?
    pub(crate) fn meets(&self, outline: Outline, k: usize) -> bool {
        outline.meets(self.outlines[k])
    }

    /// Do the guards of two instructions exclude each other, with the predicate unchanged in between?
    fn exclusive(&self, first: usize, later: usize) -> bool {
        let (Some(a), Some(b)) = (self.insns[first].guard, self.insns[later].guard) else {
            return false;
        };
        a.excludes(b) && first < later && !self.insns[first..later].iter().any(|insn| insn.changes(a))
    }

    /// The budget ran out: answers of [`Self::conflicts`] can no longer be relied on.
    pub(crate) fn exhausted(&self) -> bool {
        self.budget.get() == 0
    }

    /// May instructions that write `defs` and touch `touched` conflict with a read setter? Guards and queues are not looked at.
    pub(crate) fn may_conflict(&self, id: SetterId, defs: &RegSet, touched: &RegSet) -> bool {
        let setter = self.get(id);
        setter.hazard.intersects(defs) || setter.early.intersects(touched)
    }

    /// Registers that some instructions write, and those that they touch.
    pub(crate) fn effects(&self, range: std::ops::Range<usize>) -> (RegSet, RegSet) {
        let join = |all: (RegSet, RegSet), k: usize| (all.0.union(&self.insns[k].defs), all.1.union(&self.touched[k]));
        range.fold((RegSet::EMPTY, RegSet::EMPTY), join)
    }

    /// First instruction of `range`, in one block, that conflicts with the setter.
    pub(crate) fn first_conflict(&self, id: SetterId, range: std::ops::Range<usize>) -> Option<usize> {
        let block = self.cfg.block_of.get(range.start)?;
        let outline = self.get(id).outline;
        if !outline.meets(self.blocks[block.index()]) {
            return None;
        }
        let mut touching = range.filter(|later| self.meets(outline, *later));
        touching.find(|later| self.conflicts(id, *later))
    }
}

impl Setter {
    /// Registers that a later instruction must not write (operands), or touch (results).
    pub(crate) fn hazard(&self) -> &RegSet {
        &self.hazard
    }

    fn new(insn: &Insn, k: usize, kind: Kind) -> Self {
        let class = class(insn);
        let hazard = match kind {
            Kind::Write => insn.defs.minus(&insn.early_results()),
            Kind::Read => {
                let late = insn.uses.minus(&insn.defs);
                if class == Class::Texture || LATE_UNIFORM.contains(&insn.name) {
                    late.without_predicates()
                } else {
                    late.general()
                }
            }
        };
        let early = if kind == Kind::Read { insn.early_results() } else { RegSet::EMPTY };
        Self {
            insn: k,
            kind,
            class,
            latency: latency(insn, kind, class),
            outline: hazard.union(&early).outline(),
            hazard,
            early,
            before: read_before(insn),
        }
    }

    /// Cycles after [`Self::latency`] until an instruction has the result.
    pub(crate) fn delay(&self, user: &Insn) -> u32 {
        u32::from(self.class == Class::UniformSpecial && self.latency == CTAID_X_CYCLES && !user.name.starts_with('U'))
    }

    /// A fence that signals through its operand scoreboard although it has no operands.
    pub(crate) fn signals_read(&self) -> bool {
        self.kind == Kind::Read && self.signals_only()
    }

    /// The result or a late operand is a uniform register.
    pub(crate) fn is_uniform(&self) -> bool {
        self.hazard
            .intersects(&self.hazard.without_predicates().minus(&self.hazard.general()))
    }

    /// A setter without registers, such as a fence or an atomic without result: it only signals completion.
    pub(crate) fn signals_only(&self) -> bool {
        self.hazard.is_empty() && self.early.is_empty()
    }
}

/// The stack pointer.
pub(crate) const STACK_POINTER: Reg = Reg::r(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lane_arrives_sooner_than_other_special_registers() {
        // S2R R8, SR_LANEID and S2R R27, SR_TID.X
        let (lane, thread): (u128, u128) = (0x000e_6200_0000_0000_0000_0000_0008_7919, 0x000e_6200_0000_2100_0000_0000_001b_7919);
        let cycles = |word| latency(&crate::decode::decode(word, 0), Kind::Write, Class::Special);
        assert_eq!((cycles(lane), cycles(thread)), (31, 32));
    }

    #[test]
    fn classes_are_sorted() {
        assert!(CLASSES.is_sorted_by_key(|row| row.0));
    }
}
