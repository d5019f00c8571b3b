//! `cargo xtask versions [V..]`: culd as nvlink of every release, compared with that release's own nvlink.
//!
//! For each version:
//! 1. Its tools are found or installed ([`oracle::release`]).
//! 2. Four comparisons run in a child of this program with `CULD_ORACLE` and `CULD_NVLINK_VERSION` set: random links below sm_100, random links
//!    from sm_100 on, the cases, and the programs that nvcc and CMake build through `culd install-as-nvlink`. All objects are made by the
//!    compilers of the same version. Where cases are named, the programs are left out.
//!    For CUDA 12, nvJitLink is the oracle (`xtask/jitlink.py`) where no nvlink is given, and only random links run, without its own note.
//! 3. Their closing lines become a row of the table of README.md: same of compared.

use crate::context::{Context, Linker};
use crate::oracle;
use crate::record::{OLDER_RELEASE_GROUP, OLDER_RELEASE_LATER_GROUP, RELEASE_GROUP};
use crate::report::Report;
use cubin::arch::Arch;
use cubin::release::{Form, RELEASES, Release, Version};
use culd_tests::fixture::VERSION_VARIABLE;
use culd_tests::{Error, Result};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Cases whose results depend on the release.
pub(crate) const CASES: [&str; 23] = [
    "bad-cuinfo-newer",
    "bad-nvinfo-size",
    "bad-reloc-sym",
    "compat-data-only-100",
    "compat-isa-class",
    "compat-mercury-version-100",
    "compat-tensor-cores-100",
    "data-shared-dyn-align64",
    "data-shared-dyn-several",
    "meta-language",
    "meta-preexit-100",
    "opt-cuda-api-version",
    "opt-debug",
    "opt-register-refused",
    "opt-tools-patch",
    "rlink-shared",
    "rlink-static-unscheduled-100",
    "rlink-weak",
    "sass-fence-guard-100",
    "sections-passed-through-80",
    "stress-arch-mismatch",
    "sym-common-vs-size",
    "tcgen05-groups-100",
];
/// Cases with a rule that fixtures of one or two releases show, to keep the repository small.
pub(crate) const CASES_OF_ONE: [(&str, &str); 16] = [
    ("data-const-overflow", "13.4.92"),
    ("data-shared-dyn-debug-90", "13.1.115"),
    ("data-shared-dyn-modes", "13.4.92"),
    ("rlink-null-pointer-debug", "13.4.92"),
    ("rlink-static-past-100", "13.2.86"),
    ("sass-packed-100", "13.1.115"),
    ("sass-packed-100", "13.4.92"),
    ("sass-reads-100", "13.1.115"),
    ("sass-reads-100", "13.2.78"),
    ("sass-reads-100", "13.4.92"),
    ("sections-passed-through-100", "13.4.92"),
    ("unified-100", "13.1.115"),
    ("unified-100", "13.4.92"),
    ("unified-lineinfo-100", "13.4.92"),
    ("unified-relink", "13.2.86"),
    ("unified-uncalled", "13.4.92"),
];
/// The first seed: none that other tests use.
const SEED: u64 = 7000;

/// What to run for each version.
pub(crate) struct Plan {
    /// Versions; empty means the last build of every row of the table of releases but 13.0, which all other tests compare.
    pub(crate) versions: Vec<String>,
    /// Write fixtures instead.
    pub(crate) record: bool,
    /// Cases; `None` means all.
    pub(crate) cases: Option<Vec<String>>,
    /// Random links below sm_100, and half as many from there on.
    pub(crate) count: usize,
    /// First scenario.
    pub(crate) seed: Option<u64>,
    /// Threads.
    pub(crate) jobs: usize,
}

/// Same and different.
type Counts = (usize, usize);

/// Runs the plan into `report` and prints the table.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let others = RELEASES.iter().filter(|r| r.toolkit != Version::default().release.toolkit);
    let last = others.filter_map(|r| r.builds.last());
    let versions: Vec<String> = match plan.versions.is_empty() {
        true => last.map(|b| b.version.to_owned()).collect(),
        false => plan.versions.clone(),
    };
    let mut rows = Vec::new();
    for text in &versions {
        let version = Version::parse(text).ok_or_else(|| Error::Other(format!("culd cannot be nvlink {text}")))?;
        let older = version.release.rules.form == Form::Cuda12;
        let tools = match older {
            true => oracle::library(context, version.build.version)?,
            false => oracle::release(context, version.build.version)?,
        };
        if plan.record {
            let of_this = CASES_OF_ONE.into_iter().filter(|c| c.1 == version.build.version).map(|c| c.0);
            // The first builds of a release that has a second row differ in little.
            let is_last = std::ptr::eq(version.release, Release::of_toolkit(version.release.toolkit));
            let common = CASES.into_iter().chain([RELEASE_GROUP]).filter(|_| is_last);
            let all = ["record"].into_iter().chain(common).chain(of_this);
            let names: Vec<String> = match older {
                true => {
                    let later = later_archs(&version).first().map(|_| OLDER_RELEASE_LATER_GROUP);
                    ["record", OLDER_RELEASE_GROUP]
                        .into_iter()
                        .chain(later)
                        .map(str::to_owned)
                        .collect()
                }
                false => all.map(str::to_owned).collect(),
            };
            let counts = child(linker, &tools, &version, plan.jobs, &names)?;
            report.add(counts.0, counts.1);
            continue;
        }
        let mut row = Vec::new();
        // There is no nvlink of most releases of CUDA 12, and its library has other texts: random links alone.
        let taken = match (older, plan.cases.is_some()) {
            (true, _) if later_archs(&version).is_empty() => 1,
            (true, _) => 2,
            (false, true) => 3,
            (false, false) => 4,
        };
        for arguments in comparisons(plan, &version).into_iter().take(taken) {
            println!("-- {version}: {}", arguments.join(" "));
            let counts = child(linker, &tools, &version, plan.jobs, &arguments)?;
            report.add(counts.0, counts.1);
            row.push(counts);
        }
        rows.push((version, row));
    }
    if plan.record {
        return Ok(());
    }
    println!("| release | below sm_100 | sm_100 and later | cases | nvcc programs |\n|---|--:|--:|--:|--:|");
    for (version, row) in rows {
        println!("{}", line(&version, &row));
    }
    Ok(())
}

/// A row of the table.
fn line(version: &Version, row: &[Counts]) -> String {
    let mut cells: Vec<String> = row.iter().map(|(same, other)| format!("{same} of {}", same + other)).collect();
    cells.resize(COLUMNS, String::new());
    format!("| {version} | {} |", cells.join(" | "))
}

/// Columns besides the version.
const COLUMNS: usize = 4;

/// The architectures from sm_100 on that a release has.
fn later_archs(version: &Version) -> Vec<String> {
    let mut archs = crate::random::archs("blackwell");
    archs.extend(["sm_101", "sm_107"].map(str::to_owned));
    archs.retain(|name| Arch::parse(name).is_some_and(|arch| arch.is_in(version.release.toolkit)));
    archs
}

/// The arguments of the four comparisons.
fn comparisons(plan: &Plan, version: &Version) -> [Vec<String>; 4] {
    let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let seed = plan.seed.unwrap_or(SEED).to_string();
    let random = |archs: &str, count: usize| {
        let count = count.to_string();
        words(&["random", "--dims", "none", "--seed", &seed, "--count", &count, "--arch", archs])
    };
    let mut cases = words(&["conformance"]);
    cases.extend(plan.cases.iter().flatten().cloned());
    let late = later_archs(version);
    let early = match version.release.rules.form {
        Form::Cuda12 => "cuda12",
        _ => "classic",
    };
    [
        random(early, plan.count),
        random(&late.join(","), plan.count / 2),
        cases,
        words(&["nvcc"]),
    ]
}

/// Runs one comparison, passes on what it prints, and gives the counts of its closing line.
fn child(linker: &Linker, tools: &Path, version: &Version, jobs: usize, arguments: &[String]) -> Result<Counts> {
    let program = std::env::current_exe().map_err(Error::file("this program"))?;
    let start = |source| Error::Start {
        tool: "xtask".into(),
        source,
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(["--jobs", &jobs.to_string(), "--linker"])
        .arg(&linker.culd);
    command
        .env("CULD_ORACLE", tools)
        .env(VERSION_VARIABLE, version.build.version)
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(start)?;
    let mut counts = None;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            counts = closing_line(&line).or(counts);
            if !line.starts_with("ok  ") {
                println!("{line}");
            }
        }
    }
    child.wait().map_err(start)?;
    counts.ok_or_else(|| Error::Other(format!("{version}: {} did not end", arguments.join(" "))))
}

/// The counts in `3 passed, 0 failed`.
fn closing_line(line: &str) -> Option<Counts> {
    let (passed, failed) = line.strip_suffix(" failed")?.split_once(" passed, ")?;
    Some((passed.parse().ok()?, failed.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{closing_line, later_archs, line};
    use cubin::release::Version;

    #[test]
    fn rows_have_all_columns() {
        let row = |version, counts: &[_]| line(&Version::parse(version).unwrap_or_default(), counts);
        assert_eq!(row("12.3.107", &[(5, 1)]), "| 12.3.107 | 5 of 6 |  |  |  |");
        assert_eq!(row("12.9.86", &[(5, 0), (3, 1)]), "| 12.9.86 | 5 of 5 | 3 of 4 |  |  |");
        assert_eq!(
            row("13.4.92", &[(5, 0), (3, 1), (2, 0)]),
            "| 13.4.92 | 5 of 5 | 3 of 4 | 2 of 2 |  |"
        );
    }

    #[test]
    fn releases_have_their_own_later_architectures() {
        let later = |version| later_archs(&Version::parse(version).unwrap_or_default()).join(",");
        assert_eq!(later("12.6"), "");
        assert_eq!(later("12.8"), "sm_100,sm_100a,sm_120,sm_101");
        assert_eq!(later("12.9"), "sm_100,sm_100a,sm_100f,sm_103,sm_120,sm_121,sm_101");
        assert!(later("13.4").ends_with(",sm_107") && !later("13.3").contains("107"));
    }

    #[test]
    fn closing_lines_are_read() {
        assert_eq!(closing_line("95 passed, 2 failed"), Some((95, 2)));
        assert_eq!(closing_line("scenario 3: 95 passed, 2 failed"), None);
        assert_eq!(closing_line("ok      rlink-basic"), None);
    }
}
