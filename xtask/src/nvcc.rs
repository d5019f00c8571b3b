//! `cargo xtask nvcc`: programs of several files, device-linked by nvcc with nvlink and with culd in its place.
//!
//! 1. Two views of the oracle's toolkit are made by `culd install-as-nvlink`; in one of them `bin/nvlink` is then pointed back at the real one.
//! 2. The sources of `tests/nvcc` are compiled once for every variant of flags that a program of the table needs; objects stay in `target/nvcc`.
//! 3. Each program gets a directory with its objects and runs its nvcc command twice in it. Only `tk`, the link to the view, changes in between:
//!    the toolkit's path reaches the output, so both must spell it alike.
//! 4. Everything that nvcc kept is compared: the cubins, the register file, what is made from them, the messages and the exit code.
//!
//! Programs that CMake builds are in [`cmake`].

mod cmake;
mod programs;

use crate::conformance::explain;
use crate::context::{Context, Linker};
use crate::oracle;
use crate::report::{Report, parallel};
use crate::system::symlink;
use culd_tests::run::{self, Outcome};
use culd_tests::verdict::compare;
use culd_tests::{Error, Result};
use programs::{PROGRAMS, Program, Variant};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Characters shown of a line that explains a difference.
const LINE: usize = 300;

/// What to run.
pub(crate) struct Plan {
    /// Names of programs; empty means all.
    pub(crate) names: Vec<String>,
    /// Threads.
    pub(crate) jobs: usize,
}

/// The linker of the device link.
#[derive(Clone, Copy)]
enum Side {
    Nvlink,
    Culd,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Nvlink => "nvlink",
            Self::Culd => "culd",
        }
    }
}

/// Directories of one run.
struct Bench<'a> {
    /// Sources.
    sources: PathBuf,
    /// Objects, views and the programs' directories.
    work: PathBuf,
    linker: &'a Linker,
}

/// Runs the programs into `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let tools = oracle::bin_dir(context)?;
    let bench = Bench {
        sources: context.root.join("tests/nvcc"),
        work: context.root.join("target/nvcc"),
        linker,
    };
    for side in [Side::Nvlink, Side::Culd] {
        bench.make_view(side, &tools)?;
    }
    let wanted = |name: &str| plan.names.is_empty() || plan.names.iter().any(|n| n == name);
    let chosen: Vec<&Program> = PROGRAMS.iter().filter(|p| wanted(p.name)).collect();
    let objects: BTreeSet<(Variant, &str)> = chosen.iter().flat_map(|p| p.objects()).collect();
    let objects: Vec<_> = objects.into_iter().collect();
    parallel(&objects, plan.jobs, |&(variant, source)| {
        if let Err(e) = bench.compile(variant, source) {
            report.named(&format!("compile {source}.cu {}", variant.label()), Some(&e.to_string()));
        }
    });
    parallel(&chosen, plan.jobs, |program| {
        let failure = bench.compare(program).unwrap_or_else(|e| Some(e.to_string()));
        report.named(program.name, failure.as_deref());
    });
    if wanted(cmake::NAME) {
        match cmake::compare(&bench, context) {
            cmake::Result::Compared(failure) => report.named(cmake::NAME, failure.as_deref()),
            cmake::Result::LeftOut(why) => println!("left out {}: {why}", cmake::NAME),
        }
    }
    Ok(())
}

impl Bench<'_> {
    fn view(&self, side: Side) -> PathBuf {
        self.work.join(format!("view-{}", side.name()))
    }

    /// A toolkit whose nvlink is culd, or the same with the real nvlink.
    fn make_view(&self, side: Side, tools: &Path) -> Result<()> {
        let view = self.view(side);
        let toolkit = tools
            .parent()
            .ok_or_else(|| Error::Other(format!("{} has no parent", tools.display())))?;
        std::fs::create_dir_all(&self.work).map_err(Error::file(&self.work))?;
        let mut install = Command::new(&self.linker.culd);
        install.arg("install-as-nvlink").arg(&view).arg("--toolkit").arg(toolkit);
        good(&mut install)?;
        if matches!(side, Side::Nvlink) {
            replace_link(&tools.join("nvlink"), &view.join("bin/nvlink"))?;
        }
        Ok(())
    }

    fn object(&self, variant: Variant, source: &str) -> PathBuf {
        self.work.join(format!("objects/{}/{source}.{}", variant.label(), variant.suffix()))
    }

    /// Compiles one source, unless the object was made from the same text by the same command.
    fn compile(&self, variant: Variant, source: &str) -> Result<()> {
        let object = self.object(variant, source);
        let stamp = object.with_extension("stamp");
        let mut nvcc = Command::new(self.view(Side::Nvlink).join("bin/nvcc"));
        nvcc.arg("-rdc=true")
            .args(variant.flags())
            .arg(format!("{source}.cu"))
            .arg("-o")
            .arg(&object);
        nvcc.current_dir(&self.sources);
        let read = |name: String| {
            let path = self.sources.join(name);
            std::fs::read_to_string(&path).map_err(Error::file(path))
        };
        let compiler = std::fs::canonicalize(nvcc.get_program()).map_err(Error::file(nvcc.get_program()))?;
        let made_from = format!(
            "{nvcc:?} {}\n{}{}",
            compiler.display(),
            read(format!("{source}.cu"))?,
            read("parts.h".into())?
        );
        if object.exists() && std::fs::read_to_string(&stamp).is_ok_and(|s| s == made_from) {
            return Ok(());
        }
        if let Some(directory) = object.parent() {
            std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
        }
        good(&mut nvcc)?;
        std::fs::write(&stamp, made_from).map_err(Error::file(stamp))
    }

    /// Runs a program with both linkers; says how they differ.
    fn compare(&self, program: &Program) -> Result<Option<String>> {
        let dir = fresh(&self.work.join("programs").join(program.name))?;
        let mut names = Vec::new();
        for (variant, source) in program.objects() {
            let from = self.object(variant, source);
            let name = format!("{source}.{}", variant.suffix());
            symlink(&from, &dir.join(&name)).map_err(Error::file(&from))?;
            names.push(name);
        }
        replace_link(&self.view(Side::Nvlink), &dir.join("tk"))?;
        if !program.prepare.is_empty() {
            good(Command::new("sh").args(["-ec", program.prepare]).current_dir(&dir))?;
        }
        let arguments = format!("{} --keep", program.link.replace("{objects}", &names.join(" ")));
        let theirs = self.link(Side::Nvlink, &arguments, &dir)?;
        let ours = self.link(Side::Culd, &arguments, &dir)?;
        if let Some(expectation) = program.expect.unmet(&theirs) {
            return Ok(Some(format!("nvcc {arguments}\nwith the real nvlink: {expectation}")));
        }
        Ok(self.verdict(&dir, &ours, &theirs).map(|text| format!("nvcc {arguments}\n{text}")))
    }

    /// Runs nvcc with one of the linkers and moves what it wrote into a directory of that linker's name.
    fn link(&self, side: Side, arguments: &str, dir: &Path) -> Result<Outcome> {
        replace_link(&self.view(side), &dir.join("tk"))?;
        let outcome = run::link(Path::new("tk/bin/nvcc"), arguments, dir, None)?;
        let kept = dir.join(side.name());
        std::fs::create_dir_all(&kept).map_err(Error::file(&kept))?;
        for name in outcome.files.keys() {
            std::fs::rename(dir.join(name), kept.join(name)).map_err(Error::file(dir.join(name)))?;
        }
        Ok(outcome)
    }

    fn verdict(&self, dir: &Path, ours: &Outcome, theirs: &Outcome) -> Option<String> {
        // a cubin that differs also differs in the files made from it: look at the cubins first
        let cubins = |o: &Outcome| {
            let mut o = o.clone();
            o.files.retain(|name, _| name.ends_with(".cubin"));
            o
        };
        let difference = compare(&cubins(ours), &cubins(theirs)).or_else(|| compare(ours, theirs))?;
        let directory = |side: Side| dir.join(side.name());
        let (ours, theirs) = ((ours, &directory(Side::Culd)), (theirs, &directory(Side::Nvlink)));
        let text = explain(&difference, ours, theirs, self.linker);
        // lists of the runtime's functions are long
        Some(text.lines().map(|l| l.chars().take(LINE).collect::<String>() + "\n").collect())
    }
}

/// An empty directory.
pub(crate) fn fresh(dir: &Path) -> Result<PathBuf> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(Error::file(dir))?;
    }
    std::fs::create_dir_all(dir).map_err(Error::file(dir))?;
    Ok(dir.to_owned())
}

/// Makes `at` a link to `target`, whatever it was before.
pub(crate) fn replace_link(target: &Path, at: &Path) -> Result<()> {
    match std::fs::remove_file(at) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(at)(e)),
        _ => {}
    }
    symlink(target, at).map_err(Error::file(at))
}

/// Runs a command that must succeed.
pub(crate) fn good(command: &mut Command) -> Result<String> {
    let out = command.output().map_err(|source| Error::Start {
        tool: format!("{command:?}"),
        source,
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if out.status.success() {
        return Ok(text(&out.stdout));
    }
    Err(Error::Tool {
        tool: format!("{command:?}"),
        status: out.status.to_string(),
        text: text(&out.stdout) + &text(&out.stderr),
    })
}
