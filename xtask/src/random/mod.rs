//! `cargo xtask random`: generated modules, linked by nvlink and by culd.
//!
//! 1. Scenarios are generated from consecutive seeds until their links reach the wanted number.
//! 2. Each scenario is written as PTX and compiled once ([`scenario`], [`module`], [`body`]), then linked in several ways ([`links`]).
//! 3. Further dimensions are chosen last ([`variety`]): other compilers, changed objects, more input files. [`build`] makes them all.
//! 4. Both linkers run in the same directory; exit code, text and every written byte are compared.
//! 5. A failure keeps its inputs, both outputs and the command, and prints the command that repeats its scenario. The summary counts by dimension
//!    ([`tally`]).

mod body;
mod build;
mod cxx;
mod links;
mod mixed;
mod module;
mod patch;
mod scenario;
mod tally;
mod unified;
mod variety;

use crate::conformance::explain;
use crate::context::{Context, Linker};
use crate::kept_schedules::{self, Kept};
use crate::left_over;
use crate::report::{Report, parallel};
use build::{Compilers, Tags};
use culd_tests::case::fresh_copy;
use culd_tests::rng::Rng;
use culd_tests::run::{self, Outcome};
use culd_tests::verdict::{Difference, compare, compare_files, is_listed_refusal};
use culd_tests::{Error, Result};
use links::Link;
use scenario::Scenario;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tally::{Tally, Verdict, tags_of};
use variety::Variety;

pub(crate) use build::{Selection, oracle_ptx};
pub(crate) use variety::Focus;

/// What to run.
pub(crate) struct Plan {
    /// Links in all.
    pub(crate) count: usize,
    /// Seed of the first scenario.
    pub(crate) seed: u64,
    /// Stop after this many scenarios, whatever the count.
    pub(crate) scenarios: Option<usize>,
    /// Architectures to choose from.
    pub(crate) archs: Vec<String>,
    /// Threads.
    pub(crate) jobs: usize,
    /// Failures that are shown in full.
    pub(crate) show: usize,
    /// Keep the directories of scenarios that passed, too.
    pub(crate) keep: bool,
    /// Other compilers.
    pub(crate) toolkits: Selection,
    /// Dimensions that scenarios have beside their modules.
    pub(crate) focus: Focus,
    /// `--toolkits` and `--dims` as typed, for commands that repeat a scenario.
    pub(crate) typed: String,
}

impl Plan {
    /// What a command that repeats a link needs beside seed and architecture.
    fn suffix(&self) -> &str {
        &self.typed
    }
}

/// Names of architectures: `sm_90`, lists with commas, or the groups `classic`, `blackwell`, `cuda12` and `all`.
pub(crate) fn archs(text: &str) -> Vec<String> {
    let groups: &[&str] = match text {
        "classic" => &scenario::CLASSIC,
        "blackwell" => &scenario::BLACKWELL,
        "cuda12" => &scenario::CUDA_12,
        "all" => return archs("classic").into_iter().chain(archs("blackwell")).collect(),
        list => return list.split(',').map(str::to_owned).collect(),
    };
    groups.iter().map(|a| (*a).to_owned()).collect()
}

/// Everything that the threads share.
struct Session<'a> {
    compilers: &'a Compilers,
    linker: &'a Linker,
    plan: &'a Plan,
    report: &'a Report,
    dir: PathBuf,
    shown: AtomicUsize,
    skipped: AtomicUsize,
    tally: Tally,
}

/// A scenario that is to be linked.
struct Job {
    seed: u64,
    scenario: Scenario,
    links: Vec<Link>,
    sources: Rng,
    variety: Variety,
}

impl Job {
    fn generate(seed: u64, archs: &[String], focus: &Focus) -> Self {
        let mut rng = Rng::new(seed);
        // chosen first and independently, so that naming one architecture on the command line repeats the same scenario
        let arch = rng.fork().below(archs.len());
        let scenario = Scenario::generate(&mut rng.fork(), &archs[arch]);
        let mut links = links::generate(&scenario, &mut rng.fork());
        let sources = rng.fork();
        let mut more = rng.fork();
        let variety = Variety::generate(&mut more, &scenario, focus);
        variety.extend(&mut links, &mut more);
        Self {
            seed,
            scenario,
            links,
            sources,
            variety,
        }
    }
}

/// Runs the random test into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let compilers = Compilers::new(context, &plan.toolkits)?;
    let is_library = compilers.is_library();
    let session = Session::new(&compilers, linker, plan, report, context.root.join("target/random"));
    let mut jobs = Vec::new();
    let mut planned = 0;
    while planned < plan.count && jobs.len() < plan.scenarios.unwrap_or(usize::MAX) {
        let mut job = Job::generate(plan.seed + jobs.len() as u64, &plan.archs, &plan.focus);
        if is_library {
            links::for_library(&mut job.links);
        }
        job.links.truncate(plan.count - planned);
        planned += job.links.len();
        jobs.push(job);
    }
    parallel(&jobs, plan.jobs, |job| {
        if let Err(e) = session.scenario(job) {
            report.named(&format!("scenario {}", job.seed), Some(&e.to_string()));
        }
    });
    session.summary(&format!(
        "{} scenarios, {} of them not compiled by ptxas",
        jobs.len(),
        session.skipped.load(Ordering::Relaxed)
    ));
    Ok(())
}

/// A scenario for the recorder: compiled, with its directory and the arguments of its links, or nothing if ptxas refuses it.
pub(crate) struct Scenarios {
    compilers: Compilers,
    dir: PathBuf,
}

impl Scenarios {
    pub(crate) fn new(context: &Context) -> Result<Self> {
        Ok(Self {
            compilers: Compilers::new(context, &Selection::Default)?,
            dir: context.root.join("target/random"),
        })
    }

    /// Compiles one scenario; gives its directory and the arguments of its links, or nothing if ptxas refuses it.
    pub(crate) fn build(&self, arch: &str, seed: u64, focus: &Focus) -> Result<Option<(PathBuf, Vec<String>)>> {
        let job = Job::generate(seed, &[arch.to_owned()], focus);
        let directory = self.dir.join(format!("{}-{arch}-{seed}", std::process::id()));
        let made = self.compilers.scenario(&job, &directory)?;
        let mut links = job.links;
        if self.compilers.is_library() {
            links::for_library(&mut links);
        }
        Ok(made.is_ok().then(|| (directory, links.into_iter().map(|l| l.args).collect())))
    }
}

/// `cargo xtask mixed`.
pub(crate) use mixed::run as run_mixed;

/// `cargo xtask cxx`.
pub(crate) use cxx::{ARCHS as CXX_ARCHS, run as run_cxx};

impl<'a> Session<'a> {
    fn new(compilers: &'a Compilers, linker: &'a Linker, plan: &'a Plan, report: &'a Report, dir: PathBuf) -> Self {
        Self {
            compilers,
            linker,
            plan,
            report,
            dir,
            shown: AtomicUsize::default(),
            skipped: AtomicUsize::default(),
            tally: Tally::default(),
        }
    }

    /// The directory in which a scenario is linked: one of its own per process.
    fn directory(&self, arch: &str, seed: u64) -> PathBuf {
        self.dir.join(format!("{}-{arch}-{seed}", std::process::id()))
    }

    /// Removes the directory of a scenario that passed.
    fn leave(&self, dir: &Path, passed: bool) -> Result<()> {
        if passed && !self.plan.keep {
            std::fs::remove_dir_all(dir).map_err(Error::file(dir))?;
        }
        Ok(())
    }

    fn scenario(&self, job: &Job) -> Result<()> {
        let dir = self.directory(&job.scenario.arch, job.seed);
        let mut tags = match self.compilers.scenario(job, &dir)? {
            Ok(tags) => tags,
            Err(complaint) => {
                // a scenario that ptxas refuses cannot be linked; too many of them would be a fault of the generator
                self.skipped.fetch_add(1, Ordering::Relaxed);
                if self.plan.keep {
                    println!("skipped scenario {} (ptxas): {complaint}", job.seed);
                }
                return self.leave(&dir, true);
            }
        };
        let mut clean = true;
        for (i, link) in job.links.iter().enumerate() {
            let (arch, seed) = (&job.scenario.arch, job.seed);
            let name = format!("scenario {seed} {arch} link {}", i + 1);
            let repeat = format!("cargo xtask random --seed {seed} --scenarios 1 --arch {arch}{}", self.plan.suffix());
            clean &= self.link(&name, &repeat, &format!("{arch}-{seed}-{}", i + 1), link, &dir, &mut tags)?;
        }
        self.leave(&dir, clean)
    }

    /// One link by both; true if they agree. `repeat` is the command that repeats it, `label` names its directory if it fails.
    fn link(&self, name: &str, repeat: &str, label: &str, link: &Link, dir: &Path, files: &mut Tags) -> Result<bool> {
        let nvlink = self.compilers.tools.join("nvlink");
        let mut want = run_clean(&nvlink, &link.args, dir, &[])?;
        // The libraries of 12.0 to 12.2 crash at random.
        for _ in 0..3 {
            if self.compilers.is_library() && want.crashed() {
                want = run_clean(&nvlink, &link.args, dir, &[])?;
            }
        }
        let got = run_clean(&self.linker.as_nvlink, &link.args, dir, &[])?;
        let tags = tags_of(&link.args, files);
        let difference = match self.compilers.is_library() {
            true => compare_files(&got, &want),
            false => compare(&got, &want),
        };
        let verdict = self.verdict(name, &difference, (&got, &want), &link.args, dir)?;
        match (&difference, verdict) {
            (Some(d), Verdict::Different) => {
                let directory = self.dir.join("failed").join(label);
                let why = self.failure(d, (&got, &want), link, dir, &directory)?;
                let dimensions: Vec<&str> = tags.iter().map(String::as_str).collect();
                self.fail(
                    name,
                    d,
                    &format!("{}\ndimensions: {}\n{why}\nrepeat: {repeat}", link.args, dimensions.join(", ")),
                );
            }
            (_, Verdict::Unstable) => {}
            _ => self.report.quiet(name, None),
        }
        if want.crashed() {
            self.tally.crash(name, repeat, (&got, &want));
        }
        self.tally.count(&tags, verdict, &want);
        if let Some((keep, bytes)) = link.keeps.as_ref().and_then(|k| Some((k, want.files.get(k)?))) {
            let path = dir.join(keep);
            std::fs::write(&path, bytes).map_err(Error::file(&path))?;
            files.insert(keep.clone(), tags);
        }
        Ok(verdict != Verdict::Different)
    }

    fn verdict(&self, name: &str, difference: &Option<Difference>, both: (&Outcome, &Outcome), args: &str, dir: &Path) -> Result<Verdict> {
        if let Some(Ok(functions)) = self.kept(difference, both, args, dir)? {
            if !self.is_stable(both.1, args, dir)? {
                return Ok(Verdict::Unstable);
            }
            for kept in &functions {
                if self.plan.keep {
                    println!("kept    {name}: {}: {}\n        {args}", kept.name, kept.reason);
                }
                self.tally.cause(kept.cause(), name);
            }
            return Ok(Verdict::Kept);
        }
        if self.is_left_over(difference, both, args, dir)? {
            return Ok(Verdict::Unstable);
        }
        Ok(match difference {
            Some(_) => Verdict::Different,
            None if both.1.crashed() => Verdict::Crashed,
            None if is_listed_refusal(both.0, both.1) => Verdict::Refused,
            None => Verdict::Same,
        })
    }

    /// For files that differ: whether that is only in functions whose schedule was kept.
    fn kept(
        &self,
        difference: &Option<Difference>,
        (got, want): (&Outcome, &Outcome),
        args: &str,
        dir: &Path,
    ) -> Result<Option<std::result::Result<Vec<Kept>, String>>> {
        let Some(Difference::Bytes { name, .. }) = difference else {
            return Ok(None);
        };
        let (Some(ours), Some(theirs)) = (got.files.get(name), want.files.get(name)) else {
            return Ok(None);
        };
        kept_schedules::explained(self.linker, args, dir, (ours, theirs)).map(Some)
    }

    /// For files that differ: whether nvlink's bytes are left over from other work.
    fn is_left_over(&self, difference: &Option<Difference>, (got, want): (&Outcome, &Outcome), args: &str, dir: &Path) -> Result<bool> {
        let Some(Difference::Bytes { name, .. }) = difference else {
            return Ok(false);
        };
        let both = got.files.get(name).zip(want.files.get(name));
        Ok(both.is_some_and(|(ours, theirs)| left_over::beyond_tables(ours, theirs)) || !self.is_stable(want, args, dir)?)
    }

    /// Whether nvlink writes the same bytes each time, whatever its memory held before. It does not always: some outputs hold bytes that it never set.
    fn is_stable(&self, first: &Outcome, args: &str, dir: &Path) -> Result<bool> {
        for variables in run::OTHER_MEMORY {
            if run_clean(&self.compilers.tools.join("nvlink"), args, dir, variables)?.files != first.files {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Saves a failed link and says what is known about it.
    fn failure(
        &self,
        difference: &Difference,
        (got, want): (&Outcome, &Outcome),
        link: &Link,
        dir: &Path,
        directory: &Path,
    ) -> Result<String> {
        fresh_copy(dir, directory)?;
        let cmd = directory.join("cmd");
        std::fs::write(&cmd, format!("{}\n", link.args)).map_err(Error::file(&cmd))?;
        let (ours, theirs) = (directory.join("culd"), directory.join("nvlink"));
        for (side, outcome) in [(&ours, got), (&theirs, want)] {
            std::fs::create_dir_all(side).map_err(Error::file(side))?;
            let texts = [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)];
            for (name, bytes) in outcome.files.iter().map(|(n, b)| (n.as_str(), b)).chain(texts) {
                std::fs::write(side.join(name), bytes).map_err(Error::file(side))?;
            }
        }
        Ok(format!(
            "{}\nsaved: {}",
            explain(difference, (got, &ours), (want, &theirs), self.linker),
            directory.display()
        ))
    }

    fn fail(&self, name: &str, difference: &Difference, why: &str) {
        self.tally.difference(difference);
        let full = self.shown.fetch_add(1, Ordering::Relaxed) < self.plan.show;
        let short: Vec<&str> = why
            .lines()
            .filter(|l| l.starts_with("dimensions: ") || l.starts_with("repeat: "))
            .collect();
        let short = format!("{difference}\n{}", short.join("\n"));
        self.report.quiet(name, Some(if full { why } else { &short }));
    }

    fn summary(&self, what: &str) {
        self.tally.summary(what, self.plan.show);
    }
}

/// Runs a link and removes what it wrote, so that the next one starts from the same directory.
fn run_clean(tool: &Path, args: &str, dir: &Path, variables: &[(&str, &str)]) -> Result<Outcome> {
    let outcome = run::link_with(tool, args, dir, None, variables)?;
    for name in outcome.files.keys() {
        let path = dir.join(name);
        std::fs::remove_file(&path).map_err(Error::file(&path))?;
    }
    Ok(outcome)
}
