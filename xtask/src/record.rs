//! `cargo xtask record`: nvlink's results, kept in `tests/fixtures` for machines without it.
//!
//! 1. The conformance cases, but for those in [`LIVE_ONLY`].
//! 2. Random scenarios: a few seeds for every architecture, and as many again with other compilers, changed objects and further files.
//!
//! With `CULD_NVLINK_VERSION` (and the tools of that version in `CULD_ORACLE`) the fixtures are those of a release, in `tests/fixtures/releases`;
//! `cargo xtask versions --record` does that for all.
//!
//! Both are linked by nvlink in order, and inputs and results become one fixture each.

use crate::context::{Context, Linker};
use crate::report::{Report, parallel};
use crate::{kept_schedules, oracle, random};
use culd_tests::case::Case;
use culd_tests::fixture::{Fixture, VERSION_VARIABLE};
use culd_tests::verdict::Difference;
use culd_tests::{Error, Result, cases_dir, run};
use std::path::{Path, PathBuf};

/// Cases that only the live comparison runs, and why.
const LIVE_ONLY: [(&str, &str); 3] = [
    (
        "rlink-shared-dyn-twice",
        "nvlink writes an invalid alignment; recorded files are valid",
    ),
    ("stress-10k-kernels", "its inputs are 14 MB"),
    (
        "stress-xindex",
        "its inputs are 32 MB: more than 65,280 sections need that many kernels",
    ),
];

/// Scenarios per architecture, of those with one view per file.
const SCENARIOS: u64 = 12;
/// Scenarios per architecture with two views per file.
const BLACKWELL_WORLDS: u64 = 5;
/// A scenario whose fixture is larger is left out: the repository stays small.
const MAX_FIXTURE: usize = 80_000;
/// Seeds that the live random test does not use by default.
const FIRST_SEED: u64 = 900_000;
const FIRST_BLACKWELL_SEED: u64 = 910_000;
/// Scenarios with further dimensions, per architecture.
const VARIED_WORLDS: u64 = 4;
const FIRST_VARIED_SEED: u64 = 920_000;
/// Scenarios per architecture and release.
const RELEASE_WORLDS: u64 = 2;
const FIRST_RELEASE_SEED: u64 = 930_000;
const FIRST_OLDER_RELEASE_SEED: u64 = 940_000;

/// A group of random scenarios.
struct Group {
    /// Its name on the command line.
    name: &'static str,
    archs: &'static str,
    first: u64,
    /// Scenarios per architecture.
    count: u64,
    is_varied: bool,
}

const GROUPS: [Group; 11] = [
    Group {
        name: "random-classic",
        archs: "classic",
        first: FIRST_SEED,
        count: SCENARIOS,
        is_varied: false,
    },
    Group {
        name: "random-blackwell",
        archs: "blackwell",
        first: FIRST_BLACKWELL_SEED,
        count: BLACKWELL_WORLDS,
        is_varied: false,
    },
    Group {
        name: "random-varied",
        archs: "all",
        first: FIRST_VARIED_SEED,
        count: VARIED_WORLDS,
        is_varied: true,
    },
    Group {
        name: RELEASE_GROUP,
        archs: "sm_80,sm_90,sm_100,sm_120",
        first: FIRST_RELEASE_SEED,
        count: RELEASE_WORLDS,
        is_varied: false,
    },
    Group {
        name: OLDER_RELEASE_GROUP,
        archs: "sm_52,sm_61,sm_75,sm_80,sm_90",
        first: FIRST_OLDER_RELEASE_SEED,
        count: RELEASE_WORLDS,
        is_varied: false,
    },
    // A world whose modules are for architectures without independent threads, so that YIELD becomes NOP.
    Group {
        name: OLDER_RELEASE_GROUP,
        archs: "sm_72",
        first: 74013,
        count: 1,
        is_varied: false,
    },
    // The same with --preserve-relocs, which lists these relocations without a symbol.
    Group {
        name: OLDER_RELEASE_GROUP,
        archs: "sm_72",
        first: 9155037,
        count: 1,
        is_varied: false,
    },
    // The address of a kernel is taken before a symbol without a name is made, which then has the name of a section.
    Group {
        name: OLDER_RELEASE_GROUP,
        archs: "sm_75",
        first: 7420041,
        count: 1,
        is_varied: false,
    },
    // A file of five sections.
    Group {
        name: OLDER_RELEASE_GROUP,
        archs: "sm_50",
        first: 310001,
        count: 1,
        is_varied: false,
    },
    // A kernel with more than 48 KB of shared memory.
    Group {
        name: OLDER_RELEASE_GROUP,
        archs: "sm_90",
        first: 310117,
        count: 1,
        is_varied: false,
    },
    Group {
        name: OLDER_RELEASE_LATER_GROUP,
        archs: "sm_100,sm_100a,sm_120,sm_101",
        first: FIRST_OLDER_RELEASE_SEED,
        count: RELEASE_WORLDS,
        is_varied: false,
    },
];
/// The group that is recorded for each release of CUDA 12, whose oracle is a library: texts are not compared.
pub(crate) const OLDER_RELEASE_GROUP: &str = "random-cuda12";
/// The group that is recorded for each release of CUDA 12 that has sm_100.
pub(crate) const OLDER_RELEASE_LATER_GROUP: &str = "random-cuda12-later";
/// The group that is recorded for each release; the pinned one has the others.
pub(crate) const RELEASE_GROUP: &str = "random-release";

/// Groups of one release.
const OF_RELEASES: [&str; 3] = [RELEASE_GROUP, OLDER_RELEASE_GROUP, OLDER_RELEASE_LATER_GROUP];

/// A random scenario to record.
struct Scenario {
    name: String,
    arch: String,
    seed: u64,
    is_varied: bool,
}

impl Group {
    fn scenarios(&self) -> impl Iterator<Item = Scenario> {
        let (first, count, is_varied) = (self.first, self.count, self.is_varied);
        let prefix = if is_varied { "random-varied" } else { "random" };
        let numbered = random::archs(self.archs).into_iter().zip(0..);
        numbered.flat_map(move |(arch, i)| {
            (0..count).map(move |w| {
                let seed = first + i * count + w;
                Scenario {
                    name: format!("{prefix}-{arch}-{seed}"),
                    arch: arch.clone(),
                    seed,
                    is_varied,
                }
            })
        })
    }
}

/// Sources and notes of a case; everything else is an input.
fn is_input(name: &str) -> bool {
    let source = [".ptx", ".cu", ".py", ".sh", ".h"].iter().any(|e| name.ends_with(e));
    !source && !matches!(name, "cmd" | "desc" | "expect" | "build")
}

/// What every recording needs.
struct Recorder<'a> {
    linker: &'a Linker,
    tools: PathBuf,
    fixtures: PathBuf,
    work: PathBuf,
    /// The release, if it is not the pinned one.
    version: Option<String>,
}

/// Records all, or the named cases and groups of random scenarios only.
pub(crate) fn run(context: &Context, linker: &Linker, names: &[String], jobs: usize, report: &Report) -> Result<()> {
    let version = std::env::var(VERSION_VARIABLE).ok();
    let fixtures = context.root.join("tests/fixtures");
    let recorder = Recorder {
        linker,
        tools: oracle::bin_dir(context)?,
        fixtures: if version.is_some() { fixtures.join("releases") } else { fixtures },
        work: context.root.join("target/record"),
        version,
    };
    std::fs::create_dir_all(&recorder.fixtures).map_err(Error::file(&recorder.fixtures))?;
    let note = |name: &str, result: Result<Option<String>>| match result {
        Ok(None) => report.named(name, None),
        Ok(Some(why)) => println!("left out {name}: {why}"),
        Err(e) => report.named(name, Some(&e.to_string())),
    };
    let (groups, cases): (Vec<String>, Vec<String>) = names.iter().cloned().partition(|n| GROUPS.iter().any(|g| g.name == *n));
    if groups.is_empty() || !cases.is_empty() {
        let cases = Case::load_all(&cases_dir(), &cases)?.into_iter();
        let cases: Vec<Case> = cases.map(|c| c.with_ptx(random::oracle_ptx())).collect();
        parallel(&cases, jobs, |case| note(&case.name, recorder.case(case)));
    }
    let wanted = GROUPS
        .iter()
        .filter(|g| (names.is_empty() && !OF_RELEASES.contains(&g.name)) || groups.iter().any(|n| n == g.name));
    let scenarios: Vec<Scenario> = wanted.flat_map(Group::scenarios).collect();
    if !scenarios.is_empty() {
        let made = random::Scenarios::new(context)?;
        parallel(&scenarios, jobs, |scenario| {
            note(&scenario.name, recorder.scenario(&made, scenario))
        });
    }
    let files = std::fs::read_dir(&recorder.fixtures).map_err(Error::file(&recorder.fixtures))?;
    let total: u64 = files.filter_map(|e| e.ok()?.metadata().ok()).map(|m| m.len()).sum();
    println!("tests/fixtures: {total} bytes");
    Ok(())
}

impl Recorder<'_> {
    /// Records a case, or says why not.
    fn case(&self, case: &Case) -> Result<Option<String>> {
        if let Some((_, why)) = LIVE_ONLY.iter().find(|(n, _)| *n == case.name) {
            return Ok(Some(format!("{why}; the live comparison has it")));
        }
        // not in the tree: compilers write the path of their directory into what they make
        let input = std::env::temp_dir()
            .join("culd-record")
            .join(self.version.as_deref().unwrap_or("pinned"));
        let input = input.join(&case.name);
        std::fs::create_dir_all(&input).map_err(Error::file(&input))?;
        case.build(&input, &self.tools)?;
        let wanted = |n: &str| is_input(n) || names_source(case, n);
        // compiling PTX needs ptxas, which the machine of the replay may lack
        let links: Vec<String> = case.links.iter().filter(|l| !l.contains(".ptx")).cloned().collect();
        let mut fixture = Fixture::record(&self.tools.join("nvlink"), &input, &links, &self.work.join(&case.name), wanted)?;
        fixture.version.clone_from(&self.version);
        self.write(&case.name, &fixture.encode()?)
    }

    /// Records a random scenario, or says why not.
    fn scenario(&self, scenarios: &random::Scenarios, scenario: &Scenario) -> Result<Option<String>> {
        let focus = if scenario.is_varied {
            random::Focus::Recordable
        } else {
            random::Focus::plain()
        };
        let name = &scenario.name;
        let Some((dir, mut links)) = scenarios.build(&scenario.arch, scenario.seed, &focus)? else {
            return Ok(Some("ptxas refuses it".into()));
        };
        // its identifiers depend on the directory in which the link runs
        links.retain(|l| !l.contains("--register-link-binaries"));
        let (nvlink, work) = (self.tools.join("nvlink"), self.work.join(name));
        let mut fixture = Fixture::record(&nvlink, &dir, &links, &work, is_input)?;
        fixture.version.clone_from(&self.version);
        std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
        if !repeats(&fixture, &nvlink, &work)? {
            return Ok(Some("nvlink's bytes depend on what its memory held before".into()));
        }
        if self.keeps(&fixture, &work)? {
            return Ok(Some(
                "culd keeps the compiler's schedule of some function; the live comparison judges such links".into(),
            ));
        }
        let bytes = fixture.encode()?;
        if bytes.len() > MAX_FIXTURE {
            return Ok(Some(format!("{} bytes", bytes.len())));
        }
        self.write(name, &bytes)
    }

    /// Whether culd differs in functions that it reports as kept.
    fn keeps(&self, fixture: &Fixture, work: &Path) -> Result<bool> {
        for (i, got, difference) in fixture.replay(&self.linker.as_nvlink, work)? {
            let (Some(link), Difference::Bytes { name, .. }) = (fixture.links.get(i), &difference) else {
                continue;
            };
            let both = got.files.get(name).zip(link.outcome.files.get(name));
            fixture.unpack_for(i, work)?;
            if let Some((ours, theirs)) = both
                && (crate::left_over::beyond_tables(ours, theirs)
                    || kept_schedules::explained(self.linker, &link.args, work, (ours, theirs))?.is_ok())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<Option<String>> {
        let prefix = self.version.as_ref().map_or(String::new(), |v| format!("{v}-"));
        let path = self.fixtures.join(format!("{prefix}{name}.fixture"));
        std::fs::write(&path, bytes).map_err(Error::file(path))?;
        Ok(None)
    }
}

/// Some links name a source file as their input.
fn names_source(case: &Case, name: &str) -> bool {
    case.links.iter().any(|l| l.split_whitespace().any(|w| w == name))
}

/// Whether nvlink does the same again.
fn repeats(fixture: &Fixture, nvlink: &Path, work: &Path) -> Result<bool> {
    for variables in run::OTHER_MEMORY {
        let differences = fixture.replay_with(nvlink, work, variables)?;
        if differences
            .iter()
            .any(|(i, _, _)| fixture.links.get(*i).is_some_and(|l| !l.outcome.crashed()))
        {
            return Ok(false);
        }
    }
    Ok(true)
}
