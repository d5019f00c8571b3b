//! `cargo xtask sass --corpus`: kernels of public headers on the architectures whose code nvlink schedules again.
//!
//! 1. pip installs the headers of `xtask/corpus.txt` into `target/corpus/site`, once; `CULD_CORPUS_HEADERS` names directories that have them instead.
//! 2. Every source of `tests/corpus` is compiled to PTX, once: `parts: N` in its first line means N times, with `PART` from 0 on.
//! 3. ptxas makes an object of each PTX file for each architecture and each variant of options; objects stay in `target/corpus`.
//! 4. Both linkers link each object alone, the debugger's variant with `-g`; what nvlink wrote is kept beside the object. A source whose first line has
//!    `runtime` is linked with the device runtime, one with `only: ARCH ..` is made for these architectures. Every function is compared: *identical*;
//!    *kept*, when culd reports that it kept the compiler's schedule; *different*, when it is not reported: a failure.
//! 5. The table has one row per architecture and variant, then one line per cause, most frequent first. `target/corpus/kept.tsv` has the functions.
//! 6. `--faults N` instead injects N faults into the functions that are rewritten and asks the hazard checker about them (`examples/faults.rs` of culd-sass).
//! 7. `--groups N` instead links groups of objects ([`super::groups`]).
//!
//! `--quick` takes the sources that are compiled in seconds, one variant and two architectures.

use crate::context::{Context, Linker};
use crate::kept_schedules::{self, Kept};
use crate::nvcc::{fresh, good};
use crate::oracle;
use crate::report::{Report, parallel};
use culd_tests::run;
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const PINNED: &str = include_str!("../../corpus.txt");
const REPORT: &str = "kept.json";

/// Architectures of the table.
pub(crate) const ARCHS: [&str; 5] = ["sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"];
/// Architectures of `--quick`.
const QUICK_ARCHS: [&str; 2] = ["sm_100a", "sm_120a"];
/// Sources of `--quick`.
const QUICK: [&str; 2] = ["images", "neural"];

/// Name, options of ptxas, options of the link.
pub(super) const VARIANTS: [(&str, &str, &str); 7] = [
    ("O3", "-O3", ""),
    ("O2", "-O2", ""),
    ("O1", "-O1", ""),
    ("O0", "-O0", ""),
    ("lineinfo", "-O3 -lineinfo", ""),
    ("debugger", "-O3", "-g"),
    ("G", "-g -O0", ""),
];

/// Counts of one architecture.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    functions: usize,
    identical: usize,
    kept: usize,
    different: usize,
    files: usize,
    same_files: usize,
}

pub(super) struct Corpus<'a> {
    sources: PathBuf,
    pub(super) work: PathBuf,
    headers: Vec<PathBuf>,
    pub(super) tools: PathBuf,
    pub(super) linker: &'a Linker,
    rows: Mutex<BTreeMap<(String, usize), Row>>,
    causes: Mutex<BTreeMap<String, usize>>,
    /// Functions that are not identical: object, what they are, name.
    lines: Mutex<Vec<String>>,
}

/// A PTX file of the corpus.
pub(super) struct Source {
    name: String,
    path: PathBuf,
    /// It calls the device runtime.
    pub(super) runtime: bool,
    /// Its architectures, all if empty.
    only: Vec<String>,
}

/// One object: source, architecture, variant.
pub(super) type Item<'a> = (&'a Source, &'a str, usize);

/// What is compared.
pub(crate) struct Plan {
    /// Sources, all if empty.
    pub(crate) names: Vec<String>,
    /// Architectures, if not those of the table.
    pub(crate) archs: Option<Vec<String>>,
    /// A few sources, one variant.
    pub(crate) quick: bool,
    /// Variants, all if empty.
    pub(crate) variants: Vec<String>,
    /// Faults to inject, instead of a comparison.
    pub(crate) faults: Option<usize>,
    /// Links of several objects, instead: groups of each architecture and variant, and the first seed.
    pub(crate) groups: Option<(usize, u64)>,
    /// Threads.
    pub(crate) jobs: usize,
}

/// Compares all functions into `report`, one result per object.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let (quick, jobs) = (plan.quick, plan.jobs);
    let work = context.root.join("target/corpus");
    let corpus = Corpus {
        sources: context.root.join("tests/corpus"),
        headers: headers(&work)?,
        tools: oracle::bin_dir(context)?,
        work,
        linker,
        rows: Mutex::default(),
        causes: Mutex::default(),
        lines: Mutex::default(),
    };
    let ptx = corpus.ptx(plan, report)?;
    let listed: &[&str] = if quick { &QUICK_ARCHS } else { &ARCHS };
    let archs: Vec<&str> = plan
        .archs
        .as_ref()
        .map_or_else(|| listed.to_vec(), |a| a.iter().map(String::as_str).collect());
    let wanted = |v: &usize| {
        let name = VARIANTS.get(*v).map_or("", |v| v.0);
        if plan.variants.is_empty() {
            !quick || *v == 0
        } else {
            plan.variants.iter().any(|w| w == name)
        }
    };
    let variants: Vec<usize> = (0..VARIANTS.len()).filter(wanted).collect();
    let items: Vec<Item<'_>> = ptx
        .iter()
        .flat_map(|p| archs.iter().map(move |a| (p, *a)))
        .filter(|(p, a)| p.only.is_empty() || p.only.iter().any(|o| o == a))
        .flat_map(|(p, a)| variants.iter().map(move |v| (p, a, *v)))
        .collect();
    if let Some(count) = plan.faults {
        return corpus.faults(&items, count, jobs, report);
    }
    if let Some(groups) = plan.groups {
        return super::groups::run(&corpus, &items, groups, jobs, report);
    }
    parallel(&items, jobs, |item| {
        let failure = corpus.compare(item).unwrap_or_else(|e| Some(e.to_string()));
        report.quiet(&label(item), failure.as_deref());
    });
    corpus.print()
}

fn label((source, arch, variant): &Item<'_>) -> String {
    format!("{} {arch} {}", source.name, VARIANTS.get(*variant).map_or("", |v| v.0))
}

/// The headers, installed if need be.
fn headers(work: &Path) -> Result<Vec<PathBuf>> {
    if let Some(list) = std::env::var_os("CULD_CORPUS_HEADERS") {
        std::fs::create_dir_all(work).map_err(Error::file(work))?;
        return Ok(std::env::split_paths(&list).collect());
    }
    let (site, stamp) = (work.join("site"), work.join("stamp"));
    std::fs::create_dir_all(work).map_err(Error::file(work))?;
    if !std::fs::read_to_string(&stamp).is_ok_and(|s| s == PINNED) {
        eprintln!("installing headers into {} (once)", site.display());
        let packages = PINNED.lines().filter(|l| !l.starts_with('#'));
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "--upgrade",
        ]);
        good(pip.arg("--target").arg(&site).args(packages))?;
        std::fs::write(&stamp, PINNED).map_err(Error::file(&stamp))?;
    }
    Ok(vec![
        site.join("nvidia/cu13/include"),
        site.join("cutlass_library/source/include"),
        site.join("flashinfer/data/csrc"),
        site.join("flashinfer/data/include"),
        site,
    ])
}

impl Corpus<'_> {
    /// All PTX files, made where the source is newer: name and path.
    fn ptx(&self, plan: &Plan, report: &Report) -> Result<Vec<Source>> {
        let mut parts = Vec::new();
        for entry in std::fs::read_dir(&self.sources).map_err(Error::file(&self.sources))? {
            let source = entry.map_err(Error::file(&self.sources))?.path();
            let Some(name) = source.file_name().and_then(|n| n.to_str()?.strip_suffix(".cu")) else {
                continue;
            };
            let text = std::fs::read_to_string(&source).map_err(Error::file(&source))?;
            let first = text.lines().next().unwrap_or_default();
            let count = first
                .split_once("parts: ")
                .and_then(|(_, n)| n.split(['.', ' ']).next()?.parse().ok())
                .unwrap_or(1);
            let taken = if plan.names.is_empty() {
                !plan.quick || QUICK.contains(&name)
            } else {
                plan.names.iter().any(|n| n == name)
            };
            if taken {
                parts.extend((0..count).map(|part| (name.to_owned(), part, source.clone(), text.clone())));
            }
        }
        parts.sort();
        let made = Mutex::new(Vec::new());
        parallel(&parts, plan.jobs, |(name, part, source, text)| {
            let name = format!("{name}.{part}");
            let first = text.lines().next().unwrap_or_default();
            let only: Vec<String> = first
                .split_once("only: ")
                .map_or_else(Vec::new, |(_, list)| list.split_whitespace().map(str::to_owned).collect());
            match self.compile(&name, *part, source, text, only.first().map(String::as_str)) {
                Ok(path) => {
                    let runtime = first.contains("runtime");
                    made.lock()
                        .map(|mut made| made.push(Source { name, path, runtime, only }))
                        .unwrap_or_default();
                }
                Err(e) => report.quiet(&name, Some(&e.to_string())),
            }
        });
        let mut made = made.into_inner().map_err(|e| Error::Other(e.to_string()))?;
        made.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(made)
    }

    /// The PTX of a part of a source, for one architecture if it is only for some.
    fn compile(&self, name: &str, part: usize, source: &Path, text: &str, only: Option<&str>) -> Result<PathBuf> {
        let path = self.work.join(format!("{name}.ptx"));
        let stamp = self.work.join(format!("{name}.source"));
        if path.exists() && std::fs::read_to_string(&stamp).is_ok_and(|s| s == text) {
            return Ok(path);
        }
        let mut nvcc = Command::new(self.tools.join("nvcc"));
        nvcc.args(["-ptx", "-rdc=true", "-w", "-std=c++17", "--extended-lambda"]);
        nvcc.arg(format!(
            "-arch=compute_{}",
            only.and_then(|a| a.strip_prefix("sm_")).unwrap_or("100")
        ));
        nvcc.args(["--expt-relaxed-constexpr", &format!("-DPART={part}")]);
        for dir in &self.headers {
            nvcc.arg("-I").arg(dir);
        }
        good(nvcc.arg(source).arg("-o").arg(&path))?;
        std::fs::write(&stamp, text).map_err(Error::file(&stamp))?;
        Ok(path)
    }

    /// The object of an item, made where the PTX is newer.
    pub(super) fn object(&self, (source, arch, variant): &Item<'_>) -> Result<PathBuf> {
        let (variant, assemble, _) = VARIANTS.get(*variant).copied().unwrap_or_default();
        let object = self.work.join(format!("{}.{arch}.{variant}.cubin", source.name));
        if !newer(&object, &source.path) {
            let mut ptxas = Command::new(self.tools.join("ptxas"));
            ptxas
                .args(["-c", &format!("-arch={arch}")])
                .args(assemble.split(' '))
                .arg(&source.path);
            good(ptxas.arg("-o").arg(&object))?;
        }
        Ok(object)
    }

    /// Injects faults into the functions of all objects that are rewritten.
    fn faults(&self, items: &[Item<'_>], count: usize, jobs: usize, report: &Report) -> Result<()> {
        let objects = Mutex::new(Vec::new());
        parallel(items, jobs, |item| match self.object(item) {
            Ok(path) => objects.lock().map(|mut list| list.push(path)).unwrap_or_default(),
            Err(e) => report.quiet(&label(item), Some(&e.to_string())),
        });
        let mut objects = objects.into_inner().map_err(|e| Error::Other(e.to_string()))?;
        objects.sort();
        // a program that was built before and carried along, or cargo
        let beside = std::env::current_exe()
            .ok()
            .map(|xtask| xtask.with_file_name("faults"))
            .filter(|p| p.exists());
        let mut program = Command::new(beside.as_deref().unwrap_or(Path::new(option_env!("CARGO").unwrap_or("cargo"))));
        if beside.is_none() {
            program.args(["run", "--quiet", "--release", "-p", "culd-sass", "--example", "faults", "--"]);
        }
        program.arg("--jobs").arg(jobs.to_string()).arg(count.to_string());
        let status = program.args(&objects).status().map_err(Error::file("faults"))?;
        let failure = (!status.success()).then(|| format!("{status}"));
        report.quiet("faults are caught or harmless", failure.as_deref());
        Ok(())
    }

    fn compare(&self, item: &Item<'_>) -> Result<Option<String>> {
        let (source, arch, variant) = item;
        let (name, options) = VARIANTS.get(*variant).map_or(("", ""), |v| (v.0, v.2));
        let input = self.object(item)?;
        let dir = fresh(&self.work.join(format!("{}.{arch}.{name}", source.name)))?;
        let copy = dir.join("in.cubin");
        std::fs::copy(&input, &copy).map_err(Error::file(&copy))?;
        let runtime = match source.runtime {
            true => oracle::device_runtime(&self.tools)?.display().to_string(),
            false => String::new(),
        };
        let args = format!("-arch={arch} {options} in.cubin {runtime} -o out.cubin");
        let link = |tool: &Path, args: &str| run::link(tool, args, &dir, None);
        let mut ours = link(&self.linker.as_nvlink, &args)?;
        let reported = link(&self.linker.culd, &format!("{args} --json-report {REPORT}"))?;
        let linked = input.with_extension("linked");
        let theirs = if newer(&linked, &input) {
            std::fs::read(&linked).ok()
        } else {
            let mut theirs = link(&self.tools.join("nvlink"), &args)?;
            let file = theirs.files.remove("out.cubin");
            if let Some(file) = &file {
                std::fs::write(&linked, file).map_err(Error::file(&linked))?;
            } else if ours.stderr == theirs.stderr {
                return Ok(None);
            }
            file
        };
        std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
        let (Some(theirs), Some(ours)) = (theirs, ours.files.remove("out.cubin")) else {
            return Ok(Some("only one of the two links, or other messages".into()));
        };
        let kept = kept(reported.files.get(REPORT).map_or(&[], Vec::as_slice))?;
        let (a, b) = (super::code(&theirs)?, super::code(&ours)?);
        let mut row = Row {
            files: 1,
            same_files: usize::from(ours == theirs),
            functions: a.len(),
            ..Row::default()
        };
        let mut different = Vec::new();
        for (function, code) in &a {
            match (b.get(function) == Some(code), kept.get(function)) {
                (true, _) => row.identical += 1,
                (false, Some(kept)) => {
                    row.kept += 1;
                    self.cause(arch, kept.cause())?;
                    self.line(item, &kept.reason, function)?;
                }
                (false, None) => {
                    different.push(function.as_str());
                    self.line(item, "different without a report", function)?;
                }
            }
        }
        row.different = different.len();
        self.add(arch, *variant, row)?;
        Ok((!different.is_empty()).then(|| format!("different without a report: {}", different.join(", "))))
    }

    fn line(&self, item: &Item<'_>, cause: &str, function: &str) -> Result<()> {
        let mut lines = self.lines.lock().map_err(|e| Error::Other(e.to_string()))?;
        lines.push(format!("{}\t{cause}\t{function}\n", label(item)));
        Ok(())
    }

    /// Counts a cause.
    fn cause(&self, arch: &str, cause: &str) -> Result<()> {
        let mut causes = self.causes.lock().map_err(|e| Error::Other(e.to_string()))?;
        *causes.entry(format!("{cause} ({arch})")).or_default() += 1;
        Ok(())
    }

    fn add(&self, arch: &str, variant: usize, row: Row) -> Result<()> {
        let mut rows = self.rows.lock().map_err(|e| Error::Other(e.to_string()))?;
        let sum = rows.entry((arch.to_owned(), variant)).or_default();
        sum.functions += row.functions;
        sum.identical += row.identical;
        sum.kept += row.kept;
        sum.different += row.different;
        sum.files += row.files;
        sum.same_files += row.same_files;
        Ok(())
    }

    fn print(&self) -> Result<()> {
        println!(
            "| architecture, variant | functions | identical | kept and reported | different without report | share identical | files identical |"
        );
        println!("|---|---|---|---|---|---|---|");
        for ((arch, variant), r) in self.rows.lock().map_err(|e| Error::Other(e.to_string()))?.iter() {
            let variant = VARIANTS.get(*variant).map_or("", |v| v.0);
            let share = 100.0 * r.identical as f64 / r.functions.max(1) as f64;
            println!(
                "| {arch} {variant} | {} | {} | {} | {} | {share:.1} % | {} of {} |",
                r.functions, r.identical, r.kept, r.different, r.same_files, r.files
            );
        }
        let causes = self.causes.lock().map_err(|e| Error::Other(e.to_string()))?;
        let mut causes: Vec<(&String, &usize)> = causes.iter().collect();
        causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(**count), *cause));
        for (cause, count) in causes {
            println!("{count:>6} {cause}");
        }
        let mut lines = self.lines.lock().map_err(|e| Error::Other(e.to_string()))?;
        lines.sort();
        let path = self.work.join("kept.tsv");
        std::fs::write(&path, lines.concat()).map_err(Error::file(&path))
    }
}

/// Is a file at least as new as another one?
fn newer(a: &Path, b: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    matches!((time(a), time(b)), (Some(a), Some(b)) if a >= b)
}

/// The kept functions of a report and their causes.
fn kept(report: &[u8]) -> Result<BTreeMap<String, Kept>> {
    let list = match report {
        [] => Vec::new(),
        report => kept_schedules::of_report(report)?,
    };
    Ok(list.into_iter().map(|k| (k.name.clone(), k)).collect())
}
