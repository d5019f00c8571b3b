//! `cargo xtask fault-injection`: kills, failed writes, shortened inputs and other surroundings, in numbers (see `culd_tests::fault_injection`).

use crate::context::Linker;
use crate::report::Report;
use culd_tests::Result;
use culd_tests::fault_injection::{self, Counts};

/// Kills `kills` links and does the other trials in proportion.
pub(crate) fn run(linker: &Linker, kills: usize, seed: u64, report: &Report) -> Result<()> {
    let culd = &linker.culd;
    let show = |name: String, counts: Result<Counts>| match counts {
        Ok(counts) => {
            let list: Vec<String> = counts.iter().map(|(what, n)| format!("{n} {what}")).collect();
            report.named(&format!("{name}: {}", list.join(", ")), None);
        }
        Err(e) => report.named(&name, Some(&e.to_string())),
    };
    show(format!("{kills} kills"), fault_injection::kills(culd, kills, seed));
    let failures = kills.div_ceil(10);
    show(
        format!("{failures} failed writes"),
        fault_injection::write_failures(culd, failures, seed),
    );
    let cuts = kills.div_ceil(40);
    show(
        format!("{cuts} shortened inputs"),
        fault_injection::truncations(culd, cuts, 200 << 20, seed),
    );
    match fault_injection::same_everywhere(culd, &fault_injection::fixtures()?, usize::MAX) {
        Ok((links, runs)) => report.named(
            &format!("{links} links, {runs} runs with other threads and directories: one result each"),
            None,
        ),
        Err(e) => report.named("other threads and directories", Some(&e.to_string())),
    }
    Ok(())
}
