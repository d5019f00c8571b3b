//! `cargo xtask dist`: the program for every platform, tested there, and its packages, each installed and used in a clean place.
//!
//! 1. Build the program for the target ([`build`]); `--linker PATH` takes a finished one.
//! 2. Test it where this machine can run it ([`check`]): recorded links, damaged inputs, commands, installation, names and paths of the
//!    platform. All platforms must agree on one hash.
//! 3. Make the packages ([`package`]), install each, link the example, remove it without a trace ([`install`]).
//! 4. Write `target/dist/out` with all packages, `SHA256SUMS` and the bill of materials ([`sbom`]).
//! 5. Keep the results of every run in `target/dist/results.tsv` and print the table ([`table`]); `--record` copies it into docs/install.md.

mod build;
mod check;
mod deb;
mod examples;
mod hash;
mod install;
mod package;
mod page;
mod recipes;
mod sandbox;
mod sbom;
mod table;
mod targets;

pub(crate) use build::{install_target, zig_command, zig_rustc};
pub(crate) use targets::{HOST, OLDEST_GLIBC, in_path};

use crate::context::Context;
use crate::report::Report;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{Row, Table};
use targets::{TARGETS, Target};

/// What to do.
pub(crate) struct Plan {
    /// Only this platform.
    pub(crate) target: Option<String>,
    /// Only this kind of package; `none` for the program alone.
    pub(crate) package: Option<String>,
    /// A finished program of the platform.
    pub(crate) linker: Option<PathBuf>,
    /// Do not run the recorded links and damaged inputs.
    pub(crate) quick: bool,
    /// Replay only so many of the recorded files, taken evenly.
    pub(crate) count: Option<usize>,
    /// Write the table into docs/install.md.
    pub(crate) record: bool,
    pub(crate) jobs: usize,
}

/// Where the parts of a distribution are.
pub(crate) struct Place<'a> {
    pub(crate) context: &'a Context,
    /// `target/dist`.
    pub(crate) work: PathBuf,
    /// `target/dist/out`.
    pub(crate) out: PathBuf,
    /// The version of culd.
    pub(crate) version: String,
    /// Seconds since 1970 of the last commit: every time in a package.
    pub(crate) epoch: u64,
}

impl<'a> Place<'a> {
    fn new(context: &'a Context) -> Result<Self> {
        let work = context.target.join("dist");
        let out = work.join("out");
        std::fs::create_dir_all(&out).map_err(Error::file(&out))?;
        let epoch = match std::env::var("SOURCE_DATE_EPOCH") {
            Ok(text) => text,
            Err(_) => output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&context.root))?,
        };
        Ok(Self {
            context,
            work,
            out,
            version: env!("CARGO_PKG_VERSION").into(),
            epoch: epoch.trim().parse().unwrap_or(0),
        })
    }

    /// An empty directory below `target/dist`.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let dir = self.work.join(name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
        }
        std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
        Ok(dir)
    }
}

/// A program of a platform, and what runs it.
pub(crate) struct Program {
    pub(crate) target: &'static Target,
    pub(crate) path: PathBuf,
    /// Words before the program; or why it cannot run here.
    pub(crate) runner: std::result::Result<Vec<String>, String>,
}

impl Program {
    /// A command that runs `path`, this program under some name, in `dir`.
    pub(crate) fn command_for(&self, path: &Path, dir: &Path) -> Command {
        let words: Vec<&str> = self.runner.iter().flatten().flat_map(|w| w.split(' ')).collect();
        let mut command = match words.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(path);
                command
            }
            None => Command::new(path),
        };
        command.current_dir(dir);
        quiet_wine(&mut command);
        command
    }

    /// Where it runs, for the table.
    pub(crate) fn place(&self) -> String {
        let profile = match self.path.components().any(|c| c.as_os_str() == "debug") {
            true => ", dev profile",
            false => "",
        };
        let place: String = match &self.runner {
            Ok(words) => match words.first() {
                None => "native".into(),
                Some(_) if self.target.is_windows() => "wine".into(),
                Some(first) => Path::new(first).file_name().unwrap_or_default().to_string_lossy().into_owned(),
            },
            Err(why) => format!("not run: {why}"),
        };
        place + profile
    }
}

/// Wine prints notes of its own and looks for a display otherwise.
pub(crate) fn quiet_wine(command: &mut Command) {
    command.env("WINEDEBUG", "-all").env_remove("DISPLAY");
}

/// What a command printed, if it succeeded.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|source| Error::Start {
        tool: tool.clone(),
        source,
    })?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(Error::Tool {
            tool: format!("{command:?}"),
            status: out.status.to_string(),
            text: format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr)),
        }),
    }
}

/// A wheel of this machine in `directory`: a finished program and libraries.
pub(crate) fn wheel(context: &Context, directory: &Path, program: &Path, libraries: &[&Path]) -> Result<PathBuf> {
    let place = Place {
        work: directory.to_owned(),
        out: directory.to_owned(),
        ..Place::new(context)?
    };
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let program = Program {
        target: Target::find(&triple).ok_or_else(|| unknown_target(&triple))?,
        path: program.to_owned(),
        runner: Ok(Vec::new()),
    };
    package::wheel_with(&place, &program, libraries)
}

/// The words that run programs of a Rust target here; or why they cannot run.
pub(crate) fn runner(context: &Context, triple: &str) -> std::result::Result<Vec<String>, String> {
    Target::find(triple)
        .ok_or_else(|| format!("no target '{triple}'"))?
        .runner(&context.root)
}

/// Runs the task.
pub(crate) fn run(context: &Context, plan: &Plan, report: &Report) -> Result<()> {
    let place = Place::new(context)?;
    let mut table = Table::read(&place.work.join("results.tsv"))?;
    let wants = |kind: &str| plan.package.as_deref().is_none_or(|p| p == kind);
    let targets: Vec<&Target> = match plan.target.as_deref() {
        None => TARGETS.iter().collect(),
        Some("none") => Vec::new(),
        Some(name) => vec![Target::find(name).ok_or_else(|| unknown_target(name))?],
    };
    for target in targets {
        match one_target(&place, plan, target, report, &mut table) {
            Ok(()) => {}
            Err(e) => report.named(&format!("dist {}", target.triple), Some(&e.to_string())),
        }
        table.write()?;
    }
    // Those of no platform: left out where one platform was named.
    let common = |kind: &str| wants(kind) && (plan.package.is_some() || plan.target.as_deref().is_none_or(|t| t == "none"));
    if common("crates") {
        table.put(install::crates(&place, plan.quick, report)?);
    }
    if common("viewer") {
        table.put(page::make(&place, report)?);
    }
    if common("examples") {
        let prefix = place.work.join(format!("stage/culd-{}-{HOST}", place.version));
        match prefix.join("bin/culd").is_file() {
            true => examples::run(&place, &prefix, report)?.into_iter().for_each(|row| table.put(row)),
            false => println!("examples: not built, {} is not there", prefix.display()),
        }
    }
    if common("recipes") {
        recipes::write(&place)?;
        for row in recipes::check(&place, report)? {
            table.put(row);
        }
    }
    hash::sums(&place.out)?;
    table.write()?;
    let links = hash::agreement(&place.work)?;
    report.named(&links.line(), links.failure().as_deref());
    let text = format!("{}\n{}.\n", table.text(), links.line());
    print!("{text}");
    if plan.record {
        table::record(&context.root.join("docs/install.md"), &text)?;
    }
    Ok(())
}

fn unknown_target(name: &str) -> Error {
    let names: Vec<&str> = TARGETS.iter().map(|t| t.triple).collect();
    Error::Other(format!("no target '{name}': there are {}", names.join(", ")))
}

/// Builds, tests and packs for one platform.
fn one_target(place: &Place<'_>, plan: &Plan, target: &'static Target, report: &Report, table: &mut Table) -> Result<()> {
    let path = match &plan.linker {
        Some(path) => path.canonicalize().map_err(Error::file(path))?,
        None => build::program(place, target)?,
    };
    let size = std::fs::metadata(&path).map_err(Error::file(&path))?.len();
    let program = Program {
        target,
        path,
        runner: target.runner(&place.context.root),
    };
    let mut row = Row::new(target.triple, "program", size, &program.place());
    let before = table
        .find(target.triple, "program")
        .filter(|old| plan.quick && old.size == size)
        .cloned();
    if let Some(before) = before {
        // The recorded links of this program were replayed by an earlier run.
        row = before;
    } else if program.runner.is_ok() {
        let result = check::portable(place, &program, plan, report)?;
        row.tests = Some((result.passed, result.total));
        row.hash = result.hash;
    }
    let fits = (size > target.limit && plan.linker.is_none()).then(|| format!("{size} bytes, more than {}", target.limit));
    report.named(&format!("{}: size {size}", target.triple), fits.as_deref());
    table.put(row);
    for kind in package::kinds(target) {
        if plan.package.as_deref().is_none_or(|p| p == *kind) {
            let file = package::make(place, &program, kind)?;
            table.put(install::test(place, &program, kind, &file, report)?);
        }
    }
    Ok(())
}
