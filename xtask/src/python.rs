//! `cargo xtask python`: the Python package, from the wheel.
//!
//! 1. Build libraries and program (`--quick`: the dev profile), and a wheel of this machine with all of them in `target/python`.
//! 2. Install it into a fresh virtual environment, with pytest.
//! 3. Run `packaging/python/tests` there, outside of the repository's own modules.

use crate::context::{Context, succeed};
use crate::libraries::Platform;
use crate::report::Report;
use crate::{dist, libraries};
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the wheel and tests it.
pub(crate) fn run(context: &Context, linker: Option<&Path>, quick: bool, report: &Report) -> Result<()> {
    let work = context.target.join("python");
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let wheel = wheel(context, linker, quick, &work)?;
    let size = std::fs::metadata(&wheel).map_err(Error::file(&wheel))?.len();
    println!("{}: {size} bytes", wheel.display());
    let venv = work.join("venv");
    dist::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    let python = venv.join("bin/python");
    let pip = |what: &str| {
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]);
        dist::output(&mut pip)
    };
    pip("pytest")?;
    pip(&wheel.display().to_string())?;
    if pip("cuda-bindings").is_err() {
        println!("cuda-bindings cannot be installed: its test is skipped");
    }
    let mut tests = Command::new(&python);
    tests
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(context.root.join("packaging/python/tests"))
        .env_remove("CULD_LIBRARY")
        .env_remove("CULD_OWN_NVJITLINK")
        .current_dir(&work);
    let out = tests.output().map_err(Error::file(&python))?;
    let text = String::from_utf8_lossy(&out.stdout);
    print!("{text}");
    let (passed, failed) = (counted(&text, "passed"), counted(&text, "failed") + counted(&text, "error"));
    report.add(passed, failed);
    match out.status.success() && passed > 0 {
        true => Ok(()),
        false => Err(Error::Other(format!("pytest: {}", out.status))),
    }
}

/// Builds the wheel.
fn wheel(context: &Context, linker: Option<&Path>, quick: bool, work: &Path) -> Result<PathBuf> {
    let libraries = libraries::build(context, quick, Platform::Host)?;
    let program = match (linker, quick) {
        (Some(path), _) => path.canonicalize().map_err(Error::file(path))?,
        (None, true) => {
            succeed(context.cargo().args(["build", "--quiet", "-p", "culd", "--bin", "culd"]))?;
            context.target.join("debug/culd")
        }
        (None, false) => {
            succeed(
                context
                    .cargo()
                    .args(["build", "--quiet", "--release", "-p", "culd", "--bin", "culd"]),
            )?;
            context.target.join("release/culd")
        }
    };
    dist::wheel(context, work, &program, &libraries.packed())
}

/// The number before a word in the last line of pytest: `9 passed, 1 failed in 0.20s`.
fn counted(text: &str, word: &str) -> usize {
    let last = text.lines().rev().find(|l| l.contains(" in ")).unwrap_or("");
    let words: Vec<&str> = last.split([' ', ',']).collect();
    let number = |pair: &[&str]| pair.last()?.starts_with(word).then(|| pair.first()?.parse().ok())?;
    words.windows(2).find_map(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn results_are_counted() {
        let text = "....F\n1 failed, 4 passed in 0.20s\n";
        assert_eq!(
            (counted(text, "passed"), counted(text, "failed"), counted(text, "error")),
            (4, 1, 0)
        );
        assert_eq!(counted("no tests ran in 0.00s", "passed"), 0);
        assert_eq!(counted("2 errors in 0.1s", "error"), 2);
    }
}
