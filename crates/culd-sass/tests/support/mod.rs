//! Functions of compiled and linked files, recorded or fresh, and their comparison with the model.
#![allow(dead_code, reason = "each test and example uses a part")]

pub(crate) mod cubin;
pub(crate) mod fences;
pub(crate) mod machine;
pub(crate) mod record;
pub(crate) mod study;

use std::collections::{BTreeMap, BTreeSet};

use culd_sass::decode::{Insn, decode_all};
use culd_sass::{KernelContext, Rewrite, check, rewrite};

/// One function in the compiler's object and in the linked file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Architecture with suffix, such as `100a`.
    pub(crate) arch: String,
    pub(crate) name: String,
    pub(crate) entry: bool,
    /// Code in the compiler's object.
    pub(crate) input: Vec<u8>,
    /// Code in the linked file.
    pub(crate) linked: Vec<u8>,
    /// Offsets of instructions with a relocation.
    pub(crate) relocated: BTreeSet<u32>,
    /// Indirect branches and their targets.
    pub(crate) indirect: BTreeMap<u32, Vec<u32>>,
    /// The linker is of release 13.1 or later.
    pub(crate) later: bool,
}

/// How the model did on one function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The model's bytes (or its "unchanged") are the linker's.
    Identical,
    /// The model was not sure; the reason.
    Kept(String),
    /// The model was sure and wrong; the first differing offset.
    Wrong(usize),
}

impl Pair {
    pub(crate) fn context(&self) -> KernelContext {
        let number = self.arch.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().unwrap_or(0);
        KernelContext {
            arch: number,
            entry: self.entry,
            indirect: self.indirect.clone(),
            looks_ahead: self.later,
            ..KernelContext::default()
        }
    }

    pub(crate) fn insns(&self) -> Vec<Insn> {
        decode_all(&self.input).unwrap_or_default()
    }

    pub(crate) fn call_free(&self) -> bool {
        self.entry && self.insns().iter().all(|insn| !matches!(insn.name, "CALL" | "RET"))
    }

    /// Did the linker change more than relocated fields?
    pub(crate) fn changed(&self) -> bool {
        masked(&self.input, &self.relocated) != masked(&self.linked, &self.relocated)
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let (mine, offsets) = match rewrite(&self.input, &self.context()) {
            Rewrite::Unchanged => (self.input.clone(), self.relocated.clone()),
            Rewrite::Unsure(why) => return Verdict::Kept(why.to_string()),
            Rewrite::Rewritten { code, map } => (code, self.relocated.iter().map(|o| map.new_offset(*o)).collect()),
        };
        let (mine, theirs) = (masked(&mine, &offsets), masked(&self.linked, &offsets));
        if mine == theirs {
            return Verdict::Identical;
        }
        let at = mine.chunks(16).zip(theirs.chunks(16)).position(|(a, b)| a != b);
        Verdict::Wrong(at.unwrap_or(mine.len().min(theirs.len()) / 16) * 16)
    }

    /// Alarms of the hazard checker on the compiler's and on the linker's code.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let mut linked = self.context();
        if let Rewrite::Rewritten { map, .. } = rewrite(&self.input, &linked) {
            let place = |offset: &u32| map.new_offset(*offset);
            linked.indirect = linked
                .indirect
                .iter()
                .map(|(at, to)| (place(at), to.iter().map(place).collect()))
                .collect();
        }
        let runs = [("input", &self.input, self.context()), ("linked", &self.linked, linked)];
        runs.into_iter()
            .filter_map(|(what, code, context)| check::check(code, &context).err().map(|a| format!("{what}: {a}")))
            .collect()
    }
}

/// Clears the operand bits (not the control fields) of the instructions at `offsets`.
fn masked(code: &[u8], offsets: &BTreeSet<u32>) -> Vec<u8> {
    let mut out = code.to_vec();
    for offset in offsets {
        let at = *offset as usize;
        if let Some(word) = out.get_mut(at..at + 13) {
            word.fill(0);
        }
        if let Some(byte) = out.get_mut(at + 13) {
            *byte &= !1;
        }
    }
    out
}

/// Counts of one architecture.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) functions: usize,
    pub(crate) call_free: usize,
    pub(crate) changed: usize,
    /// Call-free functions only, from here on.
    pub(crate) identical: usize,
    pub(crate) kept: usize,
    pub(crate) wrong: usize,
    /// Functions of all kinds with an alarm on either side.
    pub(crate) alarms: usize,
}

/// Compares all pairs; `note` is called for everything that is not identical.
pub(crate) fn tally(pairs: &[Pair], mut note: impl FnMut(&Pair, &str)) -> BTreeMap<String, Row> {
    let mut table: BTreeMap<String, Row> = BTreeMap::new();
    for pair in pairs {
        let row = table.entry(pair.arch.clone()).or_default();
        row.functions += 1;
        row.changed += usize::from(pair.changed());
        let call_free = pair.call_free();
        row.call_free += usize::from(call_free);
        match pair.verdict() {
            Verdict::Identical => row.identical += usize::from(call_free),
            Verdict::Kept(why) => {
                row.kept += 1;
                note(pair, &format!("kept: {why}"));
            }
            Verdict::Wrong(at) => {
                row.wrong += 1;
                note(pair, &format!("WRONG, first at {at:#x}"));
            }
        }
        let alarms = pair.alarms();
        row.alarms += usize::from(!alarms.is_empty());
        for alarm in alarms {
            note(pair, &format!("ALARM {alarm}"));
        }
    }
    table
}

/// The table as text.
pub(crate) fn render(table: &BTreeMap<String, Row>) -> String {
    let mut out = format!(
        "{:<6} {:>9} {:>9} {:>8} {:>9} {:>5} {:>6} {:>7} {:>8}\n",
        "arch", "functions", "call-free", "changed", "identical", "kept", "wrong", "alarms", "share"
    );
    for (arch, r) in table {
        let share = 100.0 * r.identical as f64 / r.call_free.max(1) as f64;
        out += &format!(
            "{arch:<6} {:>9} {:>9} {:>8} {:>9} {:>5} {:>6} {:>7} {share:>7.1}%\n",
            r.functions, r.call_free, r.changed, r.identical, r.kept, r.wrong, r.alarms
        );
    }
    out
}

/// The verdict in a word or two.
pub(crate) fn short(pair: &Pair) -> String {
    match pair.verdict() {
        Verdict::Identical => "identical".into(),
        Verdict::Kept(why) => why,
        Verdict::Wrong(at) => format!("WRONG {at:#x}"),
    }
}
