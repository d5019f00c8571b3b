//! `cargo xtask mixed`: modules of one scenario compiled by different toolkits, linked under the name culd.
//!
//! 1. Every module of a scenario may have a compiler of its own: those of `xtask/toolkits.txt` and of every release of CUDA 13.
//! 2. Each link of the scenario runs under the name culd with `--verify`. No other linker links such mixes, so there is nothing to compare with.
//! 3. A link passes if it is made, or refused with a reason. A crash, an internal error or an output that fails its verification is a failure.
//! 4. The reasons are counted and printed, names left out.

use super::build::Compilers;
use super::variety::{Dimension, Focus};
use super::{Job, Plan, run_clean};
use crate::context::{Context, Linker};
use crate::report::{Report, parallel};
use culd_tests::run::Outcome;
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Words of messages about faults of the linker itself.
const FAULTS: [&str; 4] = ["nternal error", "panicked", "bug in culd", "verification"];

/// How the links ended: reasons of refusals, and how many were made.
type Ends = Mutex<BTreeMap<String, usize>>;

/// Runs the links into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let compilers = Compilers::mixed(context)?;
    let focus = Focus::Only(vec![Dimension::Toolkits]);
    let mut jobs = Vec::new();
    let mut planned = 0;
    while planned < plan.count && jobs.len() < plan.scenarios.unwrap_or(usize::MAX) {
        let mut job = Job::generate(plan.seed + jobs.len() as u64, &plan.archs, &focus);
        job.links.truncate(plan.count - planned);
        planned += job.links.len();
        jobs.push(job);
    }
    let ends = Ends::default();
    parallel(&jobs, plan.jobs, |job| {
        if let Err(e) = scenario(context, &compilers, linker, job, report, &ends) {
            report.named(&format!("scenario {}", job.seed), Some(&e.to_string()));
        }
    });
    let ends = ends.into_inner().unwrap_or_default();
    let mut rows: Vec<_> = ends.into_iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1));
    for (end, count) in rows {
        println!("{count:6} {end}");
    }
    Ok(())
}

fn scenario(context: &Context, compilers: &Compilers, linker: &Linker, job: &Job, report: &Report, ends: &Ends) -> Result<()> {
    let (arch, seed) = (&job.scenario.arch, job.seed);
    let dir = context
        .root
        .join("target/random")
        .join(format!("{}-mixed-{arch}-{seed}", std::process::id()));
    let mut is_clean = true;
    if compilers.scenario(job, &dir)?.is_ok() {
        for (i, link) in job.links.iter().enumerate() {
            let args = format!("{} --verify", link.args);
            let outcome = run_clean(&linker.culd, &args, &dir, &[])?;
            let failure = fault(&outcome).map(|why| {
                format!(
                    "{args}\n{why}\nkept: {}\nrepeat: cargo xtask mixed --seed {seed} --scenarios 1 --arch {arch}",
                    dir.display()
                )
            });
            is_clean &= failure.is_none();
            report.quiet(&format!("mixed scenario {seed} {arch} link {}", i + 1), failure.as_deref());
            if let Ok(mut ends) = ends.lock() {
                *ends.entry(end(&outcome)).or_default() += 1;
            }
            if let Some((keep, bytes)) = link.keeps.as_ref().and_then(|k| Some((k, outcome.files.get(k)?))) {
                let path = dir.join(keep);
                std::fs::write(&path, bytes).map_err(Error::file(&path))?;
            }
        }
    }
    match is_clean {
        true => std::fs::remove_dir_all(&dir).map_err(Error::file(&dir)),
        false => Ok(()),
    }
}

/// What is wrong with a link that neither was made nor refused with a reason.
fn fault(outcome: &Outcome) -> Option<String> {
    let text = String::from_utf8_lossy(&outcome.stderr);
    let is_made = outcome.exit == 0 && !outcome.files.is_empty();
    let is_refused = matches!(outcome.exit, 1 | 2 | 255) && text.contains("error") && !FAULTS.iter().any(|w| text.contains(w));
    (!is_made && !is_refused).then(|| format!("exit {}\n{text}", outcome.exit))
}

/// How a link ended, without names: its first error up to the first quotation mark, or what it did.
fn end(outcome: &Outcome) -> String {
    if outcome.exit == 0 {
        return "linked".into();
    }
    let text = String::from_utf8_lossy(&outcome.stderr);
    let first = text.lines().find(|l| l.contains("error")).unwrap_or("no reason");
    let parts: Vec<&str> = first.split('\'').step_by(2).collect();
    format!("refused: {}", parts.join("'..'").chars().take(160).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(exit: i32, stderr: &str) -> Outcome {
        Outcome {
            exit,
            stderr: stderr.into(),
            ..Outcome::default()
        }
    }

    #[test]
    fn refusals_need_a_reason() {
        assert!(fault(&outcome(1, "culd: error: 'f' is defined twice")).is_none());
        assert!(fault(&outcome(1, "")).is_some());
        assert!(fault(&outcome(0, "")).is_some());
        assert!(fault(&outcome(134, "culd: error: x")).is_some());
        assert!(fault(&outcome(1, "culd: error: Internal error: no node")).is_some());
    }

    #[test]
    fn reasons_are_counted_without_names() {
        assert_eq!(
            end(&outcome(1, "culd: error: 'f' in 'a.cubin' is bad")),
            "refused: culd: error: '..' in '..' is bad"
        );
    }
}
