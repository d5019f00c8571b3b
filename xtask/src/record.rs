//! `cargo xtask record`: nvlink's results, kept in `tests/fixtures` for machines without it.
//!
//! 1. The conformance cases, but for those in [`LIVE_ONLY`].
//! 2. Random worlds: a few seeds for every architecture.
//!
//! Both are linked by nvlink in order, and inputs and results become one fixture each.

use crate::context::{Context, Linker};
use crate::report::{Report, parallel};
use crate::{kept, oracle, random};
use culd_tests::case::Case;
use culd_tests::fixture::Fixture;
use culd_tests::verdict::Difference;
use culd_tests::{Error, Result, cases_dir, run};
use std::path::{Path, PathBuf};

/// Cases that only the live comparison runs, and why.
const LIVE_ONLY: [(&str, &str); 3] = [
    (
        "rlink-shared-dyn-twice",
        "nvlink's file has an alignment that is none; recorded files are sound",
    ),
    ("stress-10k-kernels", "its inputs are 14 MB"),
    (
        "stress-xindex",
        "its inputs are 32 MB: more than 65,280 sections need that many kernels",
    ),
];

/// Worlds per architecture, of those with one view per file.
const WORLDS: u64 = 12;
/// Worlds per architecture with two views per file.
const BLACKWELL_WORLDS: u64 = 5;
/// A world whose fixture is larger is left out: the repository stays small.
const MAX_FIXTURE: usize = 80_000;
/// Seeds that the live random test does not use by default.
const FIRST_SEED: u64 = 900_000;
const FIRST_BLACKWELL_SEED: u64 = 910_000;

/// Sources and notes of a case; everything else is an input.
fn is_input(name: &str) -> bool {
    let source = [".ptx", ".cu", ".py", ".sh", ".h"].iter().any(|e| name.ends_with(e));
    !source && !matches!(name, "cmd" | "desc" | "expect" | "build")
}

/// What every recording needs.
struct Recorder<'a> {
    context: &'a Context,
    linker: &'a Linker,
    tools: PathBuf,
    fixtures: PathBuf,
    work: PathBuf,
}

/// Records all, or the named cases only; `random-blackwell` names the worlds with two views per file.
pub(crate) fn run(context: &Context, linker: &Linker, names: &[String], jobs: usize, report: &Report) -> Result<()> {
    let recorder = Recorder {
        context,
        linker,
        tools: oracle::bin_dir(context)?,
        fixtures: context.root.join("tests/fixtures"),
        work: context.root.join("target/record"),
    };
    std::fs::create_dir_all(&recorder.fixtures).map_err(Error::file(&recorder.fixtures))?;
    let note = |name: &str, result: Result<Option<String>>| match result {
        Ok(None) => report.named(name, None),
        Ok(Some(why)) => println!("left out {name}: {why}"),
        Err(e) => report.named(name, Some(&e.to_string())),
    };
    let only_blackwell = names.iter().any(|n| n == "random-blackwell");
    if !only_blackwell {
        let cases = Case::load_all(&cases_dir(), names)?;
        parallel(&cases, jobs, |case| note(&case.name, recorder.case(case)));
    }
    if names.is_empty() || only_blackwell {
        let worlds: Vec<(String, u64)> = [
            ("classic", FIRST_SEED, WORLDS),
            ("blackwell", FIRST_BLACKWELL_SEED, BLACKWELL_WORLDS),
        ]
        .into_iter()
        .flat_map(|(group, first, count)| {
            let numbered = random::archs(group).into_iter().zip(0..);
            numbered.flat_map(move |(a, i)| (0..count).map(move |w| (a.clone(), first + i * count + w)))
        })
        .collect();
        let worlds: Vec<_> = worlds
            .into_iter()
            .filter(|w| !only_blackwell || w.1 >= FIRST_BLACKWELL_SEED)
            .collect();
        parallel(&worlds, jobs, |(arch, seed)| {
            let name = format!("random-{arch}-{seed}");
            note(&name, recorder.world(&name, arch, *seed));
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
        // not in the tree: compilers write the path of their folder into what they make
        let input = std::env::temp_dir().join("culd-record").join(&case.name);
        std::fs::create_dir_all(&input).map_err(Error::file(&input))?;
        case.build(&input, &self.tools)?;
        let wanted = |n: &str| is_input(n) || names_source(case, n);
        // compiling PTX needs ptxas, which the machine of the replay may lack
        let links: Vec<String> = case.links.iter().filter(|l| !l.contains(".ptx")).cloned().collect();
        let fixture = Fixture::record(&self.tools.join("nvlink"), &input, &links, &self.work.join(&case.name), wanted)?;
        self.write(&case.name, &fixture.encode()?)
    }

    /// Records a random world, or says why not.
    fn world(&self, name: &str, arch: &str, seed: u64) -> Result<Option<String>> {
        let Some((dir, mut links)) = random::build_world(self.context, &self.tools, arch, seed)? else {
            return Ok(Some("ptxas refuses it".into()));
        };
        // its identifiers depend on the folder in which the link runs
        links.retain(|l| !l.contains("--register-link-binaries"));
        let (nvlink, work) = (self.tools.join("nvlink"), self.work.join(name));
        let fixture = Fixture::record(&nvlink, &dir, &links, &work, is_input)?;
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
                && (kept::beyond_tables(ours, theirs) || kept::explained(self.linker, &link.args, work, (ours, theirs))?.is_ok())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<Option<String>> {
        let path = self.fixtures.join(format!("{name}.fixture"));
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
