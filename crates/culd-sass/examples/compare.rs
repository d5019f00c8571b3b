//! Compares the model with a real linker, or records functions for the tests.
//!
//! `compare [-v] [--record FILE] NAME.ARCH.r.cubin...`: every argument is a compiler's object; the linked twin is `NAME.ARCH.l.cubin`.
//! `--study NAME` prints the functions whose name contains NAME with the fields of compiler, linker and model side by side; `--distance` how many differ.
//! `--fast` counts each changed call-free function (with `--fenced`, each changed function) once and leaves the hazard checker out.
//! `--fenced`, with `--fast`, `--study` or `--arrivals`: the twins are links for a debugger, whose guarded `EXIT`s get fences. With `--record`: functions whose
//! scoreboards change with them.
//! `--later`: compiler and linker are of release 13.1 or later.
//! `--choices` counts the scoreboards and waits of compiler and linker that the model chooses otherwise; `-v` lists them. `--arrivals` prints what ends of
//! blocks show about latencies.
//! `--unknown` prints the instructions that the decoder does not know.
//! Prints one row per architecture; `-v` also lists what was kept. Fails when something is wrong or the hazard checker raised an alarm.

use std::process::ExitCode;

#[path = "../tests/support/mod.rs"]
mod support;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().any(|a| a == "-v");
    let record = arguments.iter().position(|a| a == "--record").and_then(|i| arguments.get(i + 1));
    let mut pairs = Vec::new();
    for path in arguments.iter().filter(|a| a.ends_with(".r.cubin")) {
        match support::cubin::read_pair(path) {
            Ok(more) => pairs.extend(more),
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
    if arguments.iter().any(|a| a == "--later") {
        pairs.iter_mut().for_each(|p| p.later = true);
    }
    let fenced = arguments.iter().any(|a| a == "--fenced");
    if arguments.iter().any(|a| a == "--fast") {
        return fast(pairs, verbose, fenced);
    }
    if record.is_some() && fenced {
        pairs.retain(support::fences::changes);
    }
    if let Some(file) = record
        && let Err(error) = std::fs::write(file, support::record::pack(&pairs))
    {
        eprintln!("{file}: {error}");
    }
    if let Some(part) = arguments.iter().position(|a| a == "--study").and_then(|i| arguments.get(i + 1)) {
        pairs.iter().filter(|p| p.name.contains(part.as_str())).for_each(if fenced {
            support::fences::print
        } else {
            support::study::print
        });
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|a| a == "--distance") {
        pairs.iter().for_each(support::study::distance);
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|a| a == "--choices") {
        support::study::choices(&pairs, verbose);
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|a| a == "--arrivals") {
        pairs.iter().for_each(if fenced {
            support::fences::arrivals
        } else {
            support::study::arrivals
        });
        return ExitCode::SUCCESS;
    }
    if arguments.iter().any(|a| a == "--unknown") {
        pairs.iter().for_each(support::study::unknown);
        return ExitCode::SUCCESS;
    }
    let table = support::tally(&pairs, |pair, what| {
        if verbose || !what.starts_with("kept") {
            println!("sm_{} {}: {what}", pair.arch, pair.name);
        }
    });
    print!("{}", support::render(&table));
    let clean = table.values().all(|r| r.wrong == 0 && r.alarms == 0);
    if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Counts each changed call-free function once.
fn fast(mut pairs: Vec<support::Pair>, verbose: bool, fenced: bool) -> ExitCode {
    let mut seen = std::collections::BTreeSet::new();
    pairs.retain(|p| (fenced || p.call_free()) && p.changed() && seen.insert((p.arch.clone(), p.input.clone())));
    let (mut identical, mut kept, mut wrong) = (0, 0, 0);
    for pair in &pairs {
        let Some(verdict) = (if fenced {
            support::fences::verdict(pair)
        } else {
            Some(pair.verdict())
        }) else {
            continue;
        };
        match verdict {
            support::Verdict::Identical => identical += 1,
            support::Verdict::Kept(why) => {
                kept += 1;
                if verbose {
                    println!("sm_{} {}: kept: {why}", pair.arch, pair.name);
                }
            }
            support::Verdict::Wrong(at) => {
                wrong += 1;
                println!("sm_{} {}: WRONG, first at {at:#x}", pair.arch, pair.name);
            }
        }
    }
    println!("{} functions: {identical} identical, {kept} kept, {wrong} wrong", pairs.len());
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
