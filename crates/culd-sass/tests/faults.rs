//! The hazard checker finds injected scoreboard faults.
//!
//! 1. Take the linked code of recorded kernels and change one scoreboard field of one instruction: drop one wait bit, drop a write or
//!    read scoreboard, or give it another number.
//! 2. A change is a **real fault** when there is a concrete path through the function on which an instruction touches a register that
//!    an earlier one may still be writing, or writes one that an earlier one may still be reading, under the timing rules of
//!    `culd_sass::latency`. Paths are walked one by one by the simulator below, which shares no code with the checker's data flow:
//!    it executes instruction after instruction and keeps every dynamic operation that nothing has proven finished.
//! 3. Every real fault must raise an alarm, and unchanged code must not fail in the simulator either.

use culd_sass::check::check;

mod support;

use support::machine::{Fault, faults, inject, simulate};
use support::record::{RECORDED, unpack};

#[test]
fn real_faults_are_caught_and_clean_code_is_silent() {
    let (mut injected, mut real, mut missed, mut deeper) = (0, 0, Vec::new(), 0);
    for pair in unpack(RECORDED)
        .iter()
        .filter(|p| ["100", "120"].contains(&p.arch.as_str()) && p.call_free())
    {
        // Compiler output: the offsets of indirect branches belong to it.
        let (code, context) = (&pair.input, pair.context());
        assert!(
            !simulate(code, &context, 0, 40),
            "{} {}: simulator fails on compiler output",
            pair.arch,
            pair.name
        );
        let insns = pair.insns();
        let all: Vec<(usize, Fault)> = insns
            .iter()
            .enumerate()
            .flat_map(|(k, insn)| faults(insn).into_iter().map(move |f| (k, f)))
            .collect();
        // A spread of the faults of each function keeps the test short.
        for (k, fault) in all.iter().step_by(all.len() / 24 + 1) {
            let broken = inject(code, &insns, *k, *fault);
            injected += 1;
            let alarm = check(&broken, &context).is_err();
            if simulate(&broken, &context, *k, 40) {
                real += 1;
                if !alarm {
                    missed.push(format!("sm_{} {} {:#x} {fault:?}", pair.arch, pair.name, 16 * k));
                }
            } else {
                deeper += usize::from(alarm);
            }
        }
    }
    println!(
        "{injected} injected, {real} real, {} missed; {deeper} alarms on paths that were not walked",
        missed.len()
    );
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(real >= 1000, "only {real} real faults");
}
