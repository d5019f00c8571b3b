//! `cargo xtask sass`: real kernels on the architectures whose code nvlink schedules again.
//!
//! 1. The sources of `crates/culd-sass/tests/kernels` are compiled for each architecture; objects stay in `target/sass`.
//! 2. Each is linked alone by nvlink and by culd, and the code of every function is compared.
//! 3. A function is *identical*; or *kept*, when culd reports that it kept the compiler's schedule; or *wrong*. Nothing may be wrong, and of the kernels at
//!    least nine of ten must be identical.

pub(crate) mod corpus;
mod groups;

use crate::context::{Context, Linker};
use crate::kept_schedules;
use crate::nvcc::{fresh, good};
use crate::oracle;
use crate::report::{Report, parallel};
use culd_inspect::view::View;
use culd_tests::run;
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// Architectures of the table.
pub(crate) const ARCHS: [&str; 6] = ["sm_100", "sm_100a", "sm_103", "sm_110", "sm_120", "sm_121"];
/// Sources for some architectures only.
const SPECIAL: (&str, &str) = ("tcgen05_100a", "sm_100a");

/// Counts of one architecture.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    functions: usize,
    identical: usize,
    kept: usize,
    wrong: usize,
    files: usize,
    same_files: usize,
}

struct Bench<'a> {
    sources: PathBuf,
    work: PathBuf,
    tools: PathBuf,
    linker: &'a Linker,
    rows: Mutex<BTreeMap<String, Row>>,
}

/// Compares all kernels into `report`, one result per source and architecture.
pub(crate) fn run(context: &Context, linker: &Linker, archs: &[String], jobs: usize, report: &Report) -> Result<()> {
    let bench = Bench {
        sources: context.root.join("crates/culd-sass/tests/kernels"),
        work: context.root.join("target/sass"),
        tools: oracle::bin_dir(context)?,
        linker,
        rows: Mutex::default(),
    };
    std::fs::create_dir_all(&bench.work).map_err(Error::file(&bench.work))?;
    let names = source_names(&bench.sources)?;
    let pairs: Vec<(&String, &String)> = names.iter().flat_map(|n| archs.iter().map(move |a| (n, a))).collect();
    let pairs: Vec<_> = pairs.into_iter().filter(|(n, a)| fits(n, a)).collect();
    parallel(&pairs, jobs, |(name, arch)| {
        let failure = bench.compare(name, arch).unwrap_or_else(|e| Some(e.to_string()));
        report.quiet(&format!("{name}.cu {arch}"), failure.as_deref());
    });
    let rows = bench.rows.lock().map_err(|e| Error::Other(e.to_string()))?;
    print!("{}", table(&rows));
    for (arch, row) in rows.iter() {
        let enough = row.identical * 10 >= row.functions * 9;
        let failure = (!enough).then(|| format!("{} of {}", row.identical, row.functions));
        report.quiet(&format!("{arch}: nine of ten functions identical"), failure.as_deref());
    }
    Ok(())
}

/// Compiles all kernels for some architectures: the objects, and the architecture of each.
pub(crate) fn compile_all(context: &Context, tools: &Path, archs: &[String]) -> Result<Vec<(PathBuf, String)>> {
    let (sources, work) = (
        context.root.join("crates/culd-sass/tests/kernels"),
        context.root.join("target/sass"),
    );
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let mut objects = Vec::new();
    for name in source_names(&sources)? {
        for arch in archs.iter().filter(|arch| fits(&name, arch)) {
            objects.push((compile(&sources, &work, tools, &name, arch)?, arch.clone()));
        }
    }
    Ok(objects)
}

/// Names of the sources, sorted.
fn source_names(sources: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(sources).map_err(Error::file(sources))? {
        let name = entry.map_err(Error::file(sources))?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".cu").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn fits(name: &str, arch: &str) -> bool {
    name != SPECIAL.0 || arch == SPECIAL.1
}

/// Compiles a source, unless the object was made from the same text for the same architecture.
fn compile(sources: &Path, work: &Path, tools: &Path, name: &str, arch: &str) -> Result<PathBuf> {
    let object = work.join(format!("{name}.{arch}.cubin"));
    let stamp = object.with_extension("stamp");
    let source = sources.join(format!("{name}.cu"));
    let text = std::fs::read_to_string(&source).map_err(Error::file(&source))?;
    if object.exists() && std::fs::read_to_string(&stamp).is_ok_and(|s| s == text) {
        return Ok(object);
    }
    let mut nvcc = Command::new(tools.join("nvcc"));
    nvcc.args(["-rdc=true", "-w", "-cubin", &format!("-arch={arch}")]);
    good(nvcc.arg(&source).arg("-o").arg(&object))?;
    std::fs::write(&stamp, text).map_err(Error::file(&stamp))?;
    Ok(object)
}

fn table(rows: &BTreeMap<String, Row>) -> String {
    let mut out =
        "| architecture | functions | identical | kept | wrong | share identical | files identical |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for (arch, r) in rows {
        let share = 100.0 * r.identical as f64 / r.functions.max(1) as f64;
        out += &format!(
            "| {arch} | {} | {} | {} | {} | {share:.1} % | {} of {} |\n",
            r.functions, r.identical, r.kept, r.wrong, r.same_files, r.files
        );
    }
    out
}

impl Bench<'_> {
    fn compare(&self, name: &str, arch: &str) -> Result<Option<String>> {
        let object = compile(&self.sources, &self.work, &self.tools, name, arch)?;
        let dir = fresh(&self.work.join(format!("{name}.{arch}")))?;
        let input = dir.join("in.cubin");
        std::fs::copy(&object, &input).map_err(Error::file(&input))?;
        let args = format!("-arch={arch} in.cubin -o out.cubin");
        let link = |tool: &Path| -> Result<Vec<u8>> {
            let mut outcome = run::link(tool, &args, &dir, None)?;
            let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
            let bytes = outcome
                .files
                .remove("out.cubin")
                .ok_or_else(|| Error::Other(format!("{}: {text}", tool.display())))?;
            std::fs::remove_file(dir.join("out.cubin")).map_err(Error::file(&dir))?;
            Ok(bytes)
        };
        let (theirs, ours) = (link(&self.tools.join("nvlink"))?, link(&self.linker.as_nvlink)?);
        let kept = kept_schedules::functions(self.linker, &args, &dir)?;
        let mut row = Row {
            files: 1,
            same_files: usize::from(ours == theirs),
            ..Row::default()
        };
        let (a, b) = (code(&theirs)?, code(&ours)?);
        let mut wrong = Vec::new();
        for (function, bytes) in &a {
            row.functions += 1;
            match b.get(function) {
                Some(other) if other == bytes => row.identical += 1,
                Some(_) if kept.iter().any(|k| k.name == *function) => row.kept += 1,
                _ => wrong.push(function.as_str()),
            }
        }
        row.wrong = wrong.len();
        self.add(arch, row)?;
        let explained = ours == theirs || kept_schedules::explained(self.linker, &args, &dir, (&ours, &theirs))?.is_ok();
        let failure = match (wrong.as_slice(), explained) {
            ([], true) => return std::fs::remove_dir_all(&dir).map_err(Error::file(&dir)).map(|()| None),
            ([], false) => "differs outside of the functions that were kept".to_owned(),
            _ => format!("wrong: {}", wrong.join(", ")),
        };
        Ok(Some(failure))
    }

    fn add(&self, arch: &str, row: Row) -> Result<()> {
        let mut rows = self.rows.lock().map_err(|e| Error::Other(e.to_string()))?;
        let sum = rows.entry(arch.to_owned()).or_default();
        sum.functions += row.functions;
        sum.identical += row.identical;
        sum.kept += row.kept;
        sum.wrong += row.wrong;
        sum.files += row.files;
        sum.same_files += row.same_files;
        Ok(())
    }
}

/// The code of every function of a linked file.
fn code(file: &[u8]) -> Result<BTreeMap<String, Vec<u8>>> {
    let view = View::parse(file).map_err(|e| Error::Other(e.to_string()))?;
    let texts = view.sections.iter().filter_map(|s| {
        let name = s.name.strip_prefix(b".text.")?;
        Some((String::from_utf8_lossy(name).into_owned(), s.data.to_vec()))
    });
    Ok(texts.collect())
}
