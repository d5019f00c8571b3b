//! `cargo xtask conformance`: the cases, linked by both linkers.
//!
//! With a release of CUDA 12 (`CULD_NVLINK_VERSION`) sources state the PTX version of that release, and cases with CUDA sources are left out: its
//! nvcc is not at hand.
//!
//! For every case, on several threads:
//! 1. build its inputs with the oracle, once;
//! 2. run each of its links with nvlink and with culd under the name nvlink, each in a copy of its own directory;
//! 3. compare; a difference is shown with what `culd diff` says. The directories stay below `target/cases/<name>/`.

use crate::context::{Context, Linker};
use crate::oracle;
use crate::random::oracle_ptx;
use crate::report::{Report, parallel};
use culd_tests::case::{Case, fresh_copy};
use culd_tests::run::{self, Outcome};
use culd_tests::verdict::{self, Difference, text_difference};
use culd_tests::{Error, Result, cases_dir};
use std::path::{Path, PathBuf};

/// What to run.
pub(crate) struct Plan {
    /// Names of cases; empty means all.
    pub(crate) names: Vec<String>,
    /// Other architectures than the cases' own: each case runs on so many of them, in turn.
    pub(crate) others: Option<(Vec<String>, usize)>,
    /// Threads.
    pub(crate) jobs: usize,
}

/// Cases that do not apply to other architectures, and the reason.
const OWN_ARCH_ONLY: [(&str, &str); 20] = [
    (
        "sysfn-literals",
        "on Blackwell jump tables have relocations, and those of such a function remain in its bank",
    ),
    (
        "sass-overflow-100",
        "on sm_120 and sm_121 the schedule of the input is not reproduced, so it is kept",
    ),
    ("stress-10k-kernels", "a matter of size, and slow"),
    ("stress-xindex", "a matter of size, and slow"),
    ("bad-align-huge", "the damage is in one of two views"),
    ("bad-cuinfo-old", "the damage is in one of two views"),
    ("bad-reloc-offset", "the damage is in one of two views"),
    ("bad-reloc-type", "the damage is in one of two views"),
    ("bad-shstrndx", "the damage is in one of two views"),
    (
        "ewp-inner",
        "on Blackwell nvlink frees the stack pointer of such kernels again after -r, which is not modelled",
    ),
    (
        "ewp-inner-90",
        "on Blackwell nvlink frees the stack pointer of such kernels again after -r, which is not modelled",
    ),
    (
        "ewp-recursion-copies",
        "functions inside of copies that did not prevail have Mercury sizes in the second view",
    ),
    ("meta-barrier-flags", "the changes are in one of two views"),
    ("meta-injected-many", "the changes are in one of two views"),
    ("meta-injected-one", "the changes are in one of two views"),
    ("opt-udt", "unified tables of two views are not modelled"),
    ("opt-uft", "unified tables of two views are not modelled"),
    (
        "rlink-literals-twice",
        "nvlink does not read its own jump tables of replaced copies, or leaves them zero in the second view",
    ),
    (
        "rlink-weak-literals",
        "frames of replaced copies with fewer rules differ in the second view",
    ),
    ("sym-alias", "sizes of aliases in the second view are not modelled"),
];

/// Runs the cases into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let tools = oracle::bin_dir(context)?;
    let work = context.root.join("target/cases");
    let mut cases = Case::load_all(&cases_dir(), &plan.names)?;
    if let Some(version) = oracle_ptx() {
        cases = cases.into_iter().map(|c| c.with_ptx(Some(version))).collect();
        let all = cases.len();
        cases.retain(|c| !c.needs_nvcc().unwrap_or(true));
        println!("{} cases need nvcc, which this release has not", all - cases.len());
    }
    if let Some((archs, each)) = &plan.others {
        let turn = |(i, case): (usize, &Case)| {
            let archs = archs.iter().cycle().skip(i * each).take((*each).min(archs.len()));
            archs.map(|a| case.for_arch(a)).collect::<Vec<_>>()
        };
        let suits = |c: &&Case| !OWN_ARCH_ONLY.iter().any(|(n, _)| *n == c.name);
        cases = cases.iter().filter(suits).enumerate().flat_map(turn).collect();
    }
    parallel(&cases, plan.jobs, |case| {
        let failures = compare(case, &work.join(&case.name), &tools, linker).unwrap_or_else(|e| vec![e.to_string()]);
        let failure = (!failures.is_empty()).then(|| failures.join("\n"));
        report.named(&case.name, failure.as_deref());
    });
    Ok(())
}

fn compare(case: &Case, work: &Path, tools: &Path, linker: &Linker) -> Result<Vec<String>> {
    let input = work.join("in");
    std::fs::create_dir_all(work).map_err(Error::file(work))?;
    case.build(&input, tools)?;
    let (mut theirs_in, mut ours_in) = (input.clone(), input);
    let mut failures = Vec::new();
    for (i, args) in case.links.iter().enumerate() {
        let theirs = work.join(format!("nvlink{}", i + 1));
        let ours = work.join(format!("culd{}", i + 1));
        fresh_copy(&theirs_in, &theirs)?;
        fresh_copy(&ours_in, &ours)?;
        let want = run::link(&tools.join("nvlink"), args, &theirs, Some(tools))?;
        let got = run::link(&linker.as_nvlink, args, &ours, Some(tools))?;
        if let Some(difference) = verdict::compare(&got, &want) {
            failures.push(format!(
                "link {}: {args}\n{}",
                i + 1,
                explain(&difference, (&got, &ours), (&want, &theirs), linker)
            ));
        }
        // After a link that only nvlink makes (a listed refusal), both go on from nvlink's files.
        let only_theirs = got.exit != 0 && want.exit == 0;
        ours_in = if only_theirs { theirs.clone() } else { ours };
        theirs_in = theirs;
    }
    Ok(failures)
}

/// The difference, and what can be said about its cause. Each side comes with the directory that holds its files.
pub(crate) fn explain(difference: &Difference, ours: (&Outcome, &PathBuf), nvlink: (&Outcome, &PathBuf), linker: &Linker) -> String {
    let text = |o: &Outcome| {
        String::from_utf8_lossy(&o.stderr)
            .lines()
            .chain(String::from_utf8_lossy(&o.stdout).lines())
            .take(6)
            .map(|l| format!("\n    {l}"))
            .collect::<String>()
    };
    let more = match difference {
        Difference::Died { .. } | Difference::NoCleanRefusal { .. } | Difference::LinkedAnyway { .. } | Difference::Exit { .. } => {
            format!("\n  nvlink said:{}\n  ours said:{}", text(nvlink.0), text(ours.0))
        }
        Difference::Text { stream: "stdout" } => format!(": {}", text_difference(&ours.0.stdout, &nvlink.0.stdout)),
        Difference::Text { .. } => format!(": {}", text_difference(&ours.0.stderr, &nvlink.0.stderr)),
        Difference::FileSet { .. } => String::new(),
        Difference::Bytes { name, .. } => {
            let (a, b) = (nvlink.1.join(name), ours.1.join(name));
            let said = linker.explain(&a, &b, 40).unwrap_or_else(|| "(culd diff said nothing)".into());
            format!("\n{said}\nfiles: {} {}", a.display(), b.display())
        }
    };
    format!("{difference}{more}")
}
