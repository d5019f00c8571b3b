//! Injects faults into rewritten functions and counts what the hazard checker says.
//!
//! `faults [--jobs J] N FILE..`: every file is a compiler's object whose name has the architecture between dots (`name.sm_100a.cubin`). The functions that the model
//! rewrites get about N faults in all, spread evenly; the machine of the tests looks for a path on which an unnoticed fault is real.
//! Fails when one is, or when the checker raised an alarm about unchanged code.

use culd_sass::check::{changes, check};
use culd_sass::decode::decode_all;
use culd_sass::{KernelContext, OffsetMap, Rewrite, rewrite};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

#[path = "../tests/support/mod.rs"]
mod support;

use support::machine::{Fault, all_faults, inject, simulate};

/// Paths that are walked for a fault without an alarm.
const WALKS: usize = 24;

/// A rewritten function.
struct Function {
    name: String,
    before: Vec<u8>,
    after: Vec<u8>,
    map: OffsetMap,
    context: KernelContext,
}

fn functions(path: &str) -> Vec<Function> {
    let arch = path.split('.').find_map(|part| part.strip_prefix("sm_")).unwrap_or_default();
    let bytes = std::fs::read(path).unwrap_or_default();
    let rewritten = |pair: support::Pair| match rewrite(&pair.input, &pair.context()) {
        Rewrite::Rewritten { code, map } => {
            let place = |offset: &u32| map.new_offset(*offset);
            let mut context = pair.context();
            context.indirect = context
                .indirect
                .iter()
                .map(|(at, to)| (place(at), to.iter().map(place).collect()))
                .collect();
            Some(Function {
                name: format!("sm_{arch} {}", pair.name),
                before: pair.input,
                after: code,
                map,
                context,
            })
        }
        _ => None,
    };
    support::cubin::pairs(arch, &bytes, &bytes)
        .into_iter()
        .filter_map(rewritten)
        .collect()
}

/// What became of the faults of one kind.
#[derive(Default)]
struct Row {
    injected: usize,
    caught: usize,
    proven: usize,
    missed: usize,
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.injected += other.injected;
        self.caught += other.caught;
        self.proven += other.proven;
        self.missed += other.missed;
    }
}

/// What became of all faults of a function, and whether the checker was silent about it unchanged.
fn judge(function: &Function, each: usize) -> (BTreeMap<&'static str, Row>, bool) {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let alarm = check(&function.after, &function.context).err();
    if let Some(alarm) = &alarm {
        println!("{}: {alarm}", function.name);
    }
    let insns = decode_all(&function.after).unwrap_or_default();
    let faults: Vec<(usize, Fault)> = (0..insns.len())
        .flat_map(|k| all_faults(&insns, k).into_iter().map(move |f| (k, f)))
        .collect();
    for (k, fault) in faults.iter().step_by((faults.len() / each).max(1)) {
        let broken = inject(&function.after, &insns, *k, *fault);
        let row = rows.entry(fault.kind()).or_default();
        row.injected += 1;
        let alarm = check(&broken, &function.context).and_then(|()| changes(&function.before, &broken, &function.map));
        if alarm.is_err() {
            row.caught += 1;
        } else if simulate(&broken, &function.context, *k, WALKS) {
            row.missed += 1;
            println!("missed: {} {:#x} {fault:?}", function.name, 16 * k);
        } else {
            row.proven += 1;
        }
    }
    (rows, alarm.is_none())
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut jobs = 1;
    if arguments.first().is_some_and(|a| a == "--jobs") {
        jobs = arguments.get(1).and_then(|n| n.parse().ok()).unwrap_or(1);
        arguments.drain(..2.min(arguments.len()));
    }
    let mut arguments = arguments.into_iter();
    let wanted: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let all: Vec<Function> = arguments.flat_map(|path| functions(&path)).collect();
    let each = wanted.div_ceil(all.len().max(1));
    let (next, sum) = (AtomicUsize::new(0), Mutex::new((BTreeMap::<&str, Row>::new(), true)));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(function) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (rows, clean) = judge(function, each);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    sum.1 &= clean;
                    for (kind, row) in rows {
                        sum.0.entry(kind).or_default().add(&row);
                    }
                }
            });
        }
    });
    let (rows, clean) = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{} functions", all.len());
    println!("| fault | injected | alarm | proven harmless, no path found | missed |\n|---|--:|--:|--:|--:|");
    for (kind, r) in &rows {
        println!("| {kind} | {} | {} | {} | {} |", r.injected, r.caught, r.proven, r.missed);
    }
    let missed: usize = rows.values().map(|r| r.missed).sum();
    if clean && missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
