//! Developer tasks: everything around `cargo build`.
//!
//! `cargo xtask help` lists them. Each task is one module; all of them end with exit code 0 only if everything passed.
#![forbid(unsafe_code)]

mod conformance;
mod context;
mod oracle;
mod report;

use context::Context;
use culd_tests::{Error, Result};
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask oracle                      install the pinned NVIDIA tools into target/oracle and print their folder
cargo xtask conformance [CASE..]        link tests/cases with nvlink and with culd, compare bytes, text and exit code

  --linker PATH   compare this program instead of the release build of culd
  --jobs N        threads (default 2)
";

fn main() -> ExitCode {
    match task() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::from(2)
        }
    }
}

/// What was typed.
#[derive(Default)]
struct Typed {
    task: String,
    names: Vec<String>,
    linker: Option<PathBuf>,
    jobs: Option<usize>,
}

fn typed() -> std::result::Result<Typed, lexopt::Error> {
    use lexopt::prelude::*;
    let mut out = Typed::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Value(v) if out.task.is_empty() => out.task = v.string()?,
            Value(v) => out.names.push(v.string()?),
            Long("linker") => out.linker = Some(parser.value()?.into()),
            Long("jobs") => out.jobs = Some(parser.value()?.parse()?),
            Long("help") | Short('h') => out.task = "help".into(),
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(out)
}

fn task() -> Result<bool> {
    let typed = typed().map_err(|e| Error::Other(format!("{e}\n{HELP}")))?;
    let context = Context::new();
    let jobs = typed.jobs.unwrap_or(2);
    let report = Report::default();
    match typed.task.as_str() {
        "oracle" => {
            println!("{}", oracle::bin_dir(&context)?.display());
            return Ok(true);
        }
        "conformance" => {
            let linker = context.linker(typed.linker.as_deref())?;
            conformance::run(&context, &linker, &conformance::Plan { names: typed.names, jobs }, &report)?;
        }
        "help" | "" => {
            print!("{HELP}");
            return Ok(true);
        }
        other => return Err(Error::Other(format!("no task '{other}'\n{HELP}"))),
    }
    Ok(report.close())
}
