//! `cargo xtask random`: generated modules, linked by nvlink and by culd.
//!
//! 1. Worlds are drawn from consecutive seeds until their links reach the wanted number.
//! 2. Each world is written as PTX and compiled once ([`world`], [`module`], [`body`]), then linked in several ways ([`links`]).
//! 3. Both linkers run in the same folder; exit code, text and every written byte are compared.
//! 4. A failure keeps its inputs, both outputs and the command, and prints the command that repeats its world.
//!
//! Compiled modules are kept in `target/random/cubins` under a hash of what they were made from, so that a repeated run is quick.

mod body;
mod cxx;
mod links;
mod module;
mod world;

use crate::conformance::explain;
use crate::context::{Context, Linker};
use crate::kept;
use crate::oracle;
use crate::report::{Report, parallel};
use culd_tests::case::fresh_copy;
use culd_tests::rng::Rng;
use culd_tests::run::{self, Outcome};
use culd_tests::verdict::{Difference, judge};
use culd_tests::{Error, Result};
use links::Link;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use world::World;

/// What to run.
pub(crate) struct Plan {
    /// Links in all.
    pub(crate) count: usize,
    /// Seed of the first world.
    pub(crate) seed: u64,
    /// Stop after this many worlds, whatever the count.
    pub(crate) worlds: Option<usize>,
    /// Architectures to draw from.
    pub(crate) archs: Vec<String>,
    /// Threads.
    pub(crate) jobs: usize,
    /// Failures that are shown in full.
    pub(crate) show: usize,
    /// Keep the folders of worlds that passed, too.
    pub(crate) keep: bool,
}

/// Names of architectures: `sm_90`, lists with commas, or the groups `classic`, `blackwell` and `all`.
pub(crate) fn archs(text: &str) -> Vec<String> {
    let groups: &[&str] = match text {
        "classic" => &world::CLASSIC,
        "blackwell" => &world::BLACKWELL,
        "all" => return archs("classic").into_iter().chain(archs("blackwell")).collect(),
        list => return list.split(',').map(str::to_owned).collect(),
    };
    groups.iter().map(|a| (*a).to_owned()).collect()
}

/// Everything that the threads share.
struct Session<'a> {
    tools: PathBuf,
    linker: &'a Linker,
    plan: &'a Plan,
    report: &'a Report,
    dir: PathBuf,
    shown: AtomicUsize,
    skipped: AtomicUsize,
    tally: Mutex<BTreeMap<&'static str, usize>>,
    /// What nvlink did: a test in which it refuses everything would show nothing.
    linked: AtomicUsize,
    refused: AtomicUsize,
    crashed: AtomicUsize,
    /// Links in which nvlink's own bytes differ from run to run: they count neither way.
    unstable: AtomicUsize,
    /// Links that differ only in functions whose schedule culd kept and reported.
    kept: AtomicUsize,
    /// Links with nvlink's bytes.
    identical: AtomicUsize,
}

/// A world that is to be linked.
struct Job {
    seed: u64,
    world: World,
    links: Vec<Link>,
    sources: Rng,
}

impl Job {
    fn draw(seed: u64, archs: &[String]) -> Self {
        let mut rng = Rng::new(seed);
        // drawn first and apart, so that naming one architecture on the command line repeats the same world
        let arch = rng.fork().below(archs.len());
        let world = World::draw(&mut rng.fork(), &archs[arch]);
        let links = links::draw(&world, &mut rng.fork());
        Self {
            seed,
            world,
            links,
            sources: rng.fork(),
        }
    }
}

/// Runs the random test into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let dir = context.root.join("target/random");
    std::fs::create_dir_all(dir.join("cubins")).map_err(Error::file(&dir))?;
    let tools = oracle::bin_dir(context)?;
    let session = Session::new(tools, linker, plan, report, dir);
    let mut jobs = Vec::new();
    let mut planned = 0;
    while planned < plan.count && jobs.len() < plan.worlds.unwrap_or(usize::MAX) {
        let mut job = Job::draw(plan.seed + jobs.len() as u64, &plan.archs);
        job.links.truncate(plan.count - planned);
        planned += job.links.len();
        jobs.push(job);
    }
    parallel(&jobs, plan.jobs, |job| {
        if let Err(e) = session.world(job) {
            report.named(&format!("world {}", job.seed), Some(&e.to_string()));
        }
    });
    session.summary(&format!(
        "{} worlds, {} of them not compiled by ptxas",
        jobs.len(),
        session.skipped.load(Ordering::Relaxed)
    ));
    Ok(())
}

/// Compiles one world; gives its folder and the arguments of its links, or nothing if ptxas refuses it.
pub(crate) fn build_world(context: &Context, tools: &Path, arch: &str, seed: u64) -> Result<Option<(PathBuf, Vec<String>)>> {
    let dir = context.root.join("target/random");
    std::fs::create_dir_all(dir.join("cubins")).map_err(Error::file(&dir))?;
    let job = Job::draw(seed, &[arch.to_owned()]);
    let folder = dir.join(format!("{}-{arch}-{seed}", std::process::id()));
    let complaint = compile_all(tools, &dir.join("cubins"), &job, &folder)?;
    Ok(complaint
        .is_none()
        .then(|| (folder, job.links.into_iter().map(|l| l.args).collect())))
}

/// Writes and compiles the modules of a world into `folder`. Gives ptxas's complaint if it has one.
fn compile_all(tools: &Path, cache: &Path, job: &Job, folder: &Path) -> Result<Option<String>> {
    std::fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let mut rng = job.sources.clone();
    for index in 0..job.world.modules {
        let source = module::write(&job.world, index, &mut rng.fork());
        if let Some(complaint) = compile(tools, cache, &source, folder, index)? {
            return Ok(Some(format!("module {index}: {complaint}")));
        }
    }
    Ok(None)
}

/// Compiles one module, or takes it from an earlier run. Gives ptxas's complaint if it has one.
fn compile(tools: &Path, cache: &Path, source: &module::Source, dir: &Path, index: usize) -> Result<Option<String>> {
    let ptx = dir.join(format!("m{index}.ptx"));
    let cubin = dir.join(format!("m{index}.cubin"));
    std::fs::write(&ptx, &source.text).map_err(Error::file(&ptx))?;
    // a folder given by hand may lack the old ptxas: the module is then one more of the new form
    let old = source.old.then(|| oracle::old_ptxas(tools)).flatten();
    let ptxas = old.unwrap_or_else(|| tools.join("ptxas"));
    let key = hash(&[
        &source.text,
        &source.arch,
        &source.flags.join(" "),
        &format!("m{index}"),
        &ptxas.to_string_lossy(),
    ]);
    let cached = cache.join(key);
    if std::fs::copy(&cached, &cubin).is_ok() {
        return Ok(None);
    }
    let out = Command::new(ptxas)
        .arg(format!("-arch={}", source.arch))
        .arg("--compile-only")
        .args(&source.flags)
        .args([format!("m{index}.ptx"), "-o".into(), format!("m{index}.cubin")])
        .current_dir(dir)
        .output()
        .map_err(|source| Error::Start {
            tool: "ptxas".into(),
            source,
        })?;
    if !out.status.success() {
        return Ok(Some(String::from_utf8_lossy(&out.stderr).into_owned()));
    }
    // rename is atomic: another thread or run may look at the same time
    let temporary = cached.with_extension(std::process::id().to_string());
    std::fs::copy(&cubin, &temporary).map_err(Error::file(&temporary))?;
    std::fs::rename(&temporary, &cached).map_err(Error::file(&cached))?;
    Ok(None)
}

/// `cargo xtask cxx`.
pub(crate) use cxx::run as run_cxx;

impl<'a> Session<'a> {
    fn new(tools: PathBuf, linker: &'a Linker, plan: &'a Plan, report: &'a Report, dir: PathBuf) -> Self {
        let zero = AtomicUsize::default;
        Self {
            tools,
            linker,
            plan,
            report,
            dir,
            shown: zero(),
            skipped: zero(),
            tally: Mutex::default(),
            linked: zero(),
            refused: zero(),
            crashed: zero(),
            unstable: zero(),
            kept: zero(),
            identical: zero(),
        }
    }

    /// The folder in which a world is linked: one of its own per process.
    fn folder(&self, arch: &str, seed: u64) -> PathBuf {
        self.dir.join(format!("{}-{arch}-{seed}", std::process::id()))
    }

    /// Removes the folder of a world that passed.
    fn leave(&self, dir: &Path, passed: bool) -> Result<()> {
        if passed && !self.plan.keep {
            std::fs::remove_dir_all(dir).map_err(Error::file(dir))?;
        }
        Ok(())
    }

    fn world(&self, job: &Job) -> Result<()> {
        let dir = self.folder(&job.world.arch, job.seed);
        if let Some(complaint) = compile_all(&self.tools, &self.dir.join("cubins"), job, &dir)? {
            // a world that ptxas refuses says nothing about linkers; too many of them would be a fault of the generator
            self.skipped.fetch_add(1, Ordering::Relaxed);
            if self.plan.keep {
                println!("skipped world {} (ptxas): {complaint}", job.seed);
            }
            return self.leave(&dir, true);
        }
        let mut clean = true;
        for (i, link) in job.links.iter().enumerate() {
            let (arch, seed) = (&job.world.arch, job.seed);
            let name = format!("world {seed} {arch} link {}", i + 1);
            let repeat = format!("cargo xtask random --seed {seed} --worlds 1 --arch {arch}");
            clean &= self.link(&name, &repeat, &format!("{arch}-{seed}-{}", i + 1), link, &dir)?;
        }
        self.leave(&dir, clean)
    }

    /// One link by both; true if they agree. `repeat` is the command that repeats it, `label` names its folder if it fails.
    fn link(&self, name: &str, repeat: &str, label: &str, link: &Link, dir: &Path) -> Result<bool> {
        let nvlink = self.tools.join("nvlink");
        let want = run_clean(&nvlink, &link.args, dir, &[])?;
        let got = run_clean(&self.linker.as_nvlink, &link.args, dir, &[])?;
        let counter = match want.exit {
            0 => &self.linked,
            _ if want.crashed() => &self.crashed,
            _ => &self.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        let mut difference = judge(&got, &want);
        let kept = self.kept(&difference, (&got, &want), &link.args, dir)?;
        if let Some(Ok(functions)) = kept {
            if self.plan.keep {
                println!("kept    {name}: {}", functions.join(", "));
            }
            self.kept.fetch_add(1, Ordering::Relaxed);
            self.report.quiet(name, None);
            difference = None;
        } else if self.is_left_over(&difference, (&got, &want), &link.args, dir)? {
            self.unstable.fetch_add(1, Ordering::Relaxed);
            difference = None;
        } else {
            match &difference {
                None => {
                    self.identical.fetch_add(1, Ordering::Relaxed);
                    self.report.quiet(name, None);
                }
                Some(d) => {
                    let folder = self.dir.join("failed").join(label);
                    let why = self.failure(d, (&got, &want), link, dir, &folder)?;
                    self.fail(name, d, &format!("{}\n{why}\nrepeat: {repeat}", link.args));
                }
            }
        }
        if let Some((keep, bytes)) = link.keeps.as_ref().and_then(|k| Some((k, want.files.get(k)?))) {
            let path = dir.join(keep);
            std::fs::write(&path, bytes).map_err(Error::file(&path))?;
        }
        Ok(difference.is_none())
    }

    /// For files that differ: whether that is only in functions whose schedule was kept.
    fn kept(
        &self,
        difference: &Option<Difference>,
        (got, want): (&Outcome, &Outcome),
        args: &str,
        dir: &Path,
    ) -> Result<Option<std::result::Result<Vec<String>, String>>> {
        let Some(Difference::Bytes { name, .. }) = difference else {
            return Ok(None);
        };
        let (Some(ours), Some(theirs)) = (got.files.get(name), want.files.get(name)) else {
            return Ok(None);
        };
        kept::explained(self.linker, args, dir, (ours, theirs)).map(Some)
    }

    /// For files that differ: whether nvlink's bytes are left over from other work.
    fn is_left_over(&self, difference: &Option<Difference>, (got, want): (&Outcome, &Outcome), args: &str, dir: &Path) -> Result<bool> {
        let Some(Difference::Bytes { name, .. }) = difference else {
            return Ok(false);
        };
        let both = got.files.get(name).zip(want.files.get(name));
        Ok(both.is_some_and(|(ours, theirs)| kept::beyond_tables(ours, theirs)) || !self.is_stable(want, args, dir)?)
    }

    /// Whether nvlink writes the same bytes each time, whatever its memory held before. It does not always: some outputs hold bytes that it never set.
    fn is_stable(&self, first: &Outcome, args: &str, dir: &Path) -> Result<bool> {
        for variables in run::OTHER_MEMORY {
            if run_clean(&self.tools.join("nvlink"), args, dir, variables)?.files != first.files {
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
        folder: &Path,
    ) -> Result<String> {
        fresh_copy(dir, folder)?;
        let cmd = folder.join("cmd");
        std::fs::write(&cmd, format!("{}\n", link.args)).map_err(Error::file(&cmd))?;
        let (ours, theirs) = (folder.join("culd"), folder.join("nvlink"));
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
            folder.display()
        ))
    }

    fn fail(&self, name: &str, difference: &Difference, why: &str) {
        let kind = match difference {
            Difference::Died { .. } | Difference::NoCleanRefusal { .. } => "died",
            Difference::Exit { .. } | Difference::LinkedAnyway { .. } => "exit code",
            Difference::Text { .. } => "text",
            Difference::FileSet { .. } => "set of files",
            Difference::Bytes { .. } => "bytes",
        };
        if let Ok(mut tally) = self.tally.lock() {
            *tally.entry(kind).or_default() += 1;
        }
        let full = self.shown.fetch_add(1, Ordering::Relaxed) < self.plan.show;
        let short = format!("{difference}\n{}", why.lines().next_back().unwrap_or_default());
        self.report.quiet(name, Some(if full { why } else { &short }));
    }

    fn summary(&self, what: &str) {
        let load = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        println!("{what}");
        println!(
            "nvlink: {} linked, {} refused, {} fell over",
            load(&self.linked),
            load(&self.refused),
            load(&self.crashed)
        );
        let (identical, kept) = (load(&self.identical), load(&self.kept));
        if kept > 0 {
            let different: usize = self.tally.lock().map_or(0, |t| t.values().sum());
            let all = identical + kept + different;
            println!(
                "{identical} of {all} identical ({:.1} %), {kept} different only in functions that culd reports as kept",
                identical as f64 * 100.0 / all.max(1) as f64
            );
        }
        if load(&self.unstable) > 0 {
            println!(
                "{} links not counted: nvlink's bytes depend on what its memory held before",
                load(&self.unstable)
            );
        }
        if let Ok(tally) = self.tally.lock()
            && !tally.is_empty()
        {
            let parts: Vec<String> = tally.iter().map(|(k, n)| format!("{k} {n}")).collect();
            println!("differences by kind: {}", parts.join(", "));
        }
    }
}

/// Runs a link and removes what it wrote, so that the next one starts from the same folder.
fn run_clean(tool: &Path, args: &str, dir: &Path, variables: &[(&str, &str)]) -> Result<Outcome> {
    let outcome = run::link_with(tool, args, dir, None, variables)?;
    for name in outcome.files.keys() {
        let path = dir.join(name);
        std::fs::remove_file(&path).map_err(Error::file(&path))?;
    }
    Ok(outcome)
}

/// A name for what some texts make together: FNV-1a in 128 bits. It names cache entries and nothing else.
fn hash(parts: &[&str]) -> String {
    let mut h: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in parts.iter().flat_map(|p| p.bytes().chain([0])) {
        h = (h ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{h:032x}")
}
