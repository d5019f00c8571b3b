//! Damaged inputs: every directory in `invalid/` is one defect and one named test.
//!
//! 1. The directory's `recipe` makes the input (see `culd_tests::recipe`).
//! 2. culd links it under its own name: exit code and text have to be those in `expect`, and nothing may be written.
//! 3. Under the name nvlink it may accept what nvlink accepts; it has to end in an orderly way.
//!
//! `CULD_BLESS=1` writes the `expect` files. With `CULD_NVLINK=PATH` the real nvlink is asked too: where it neither crashes nor hangs,
//! culd under its name has to do the same.

use culd_tests::linker::linker;
use culd_tests::recipe::Recipe;
use culd_tests::run::{self, Outcome};
use culd_tests::verdict::compare;
use culd_tests::{Error, Result};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The programs that are asked.
struct Linkers {
    culd: PathBuf,
    as_nvlink: PathBuf,
    nvlink: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let linker = if arguments.list { Ok(PathBuf::new()) } else { linker() };
    match linker.and_then(trials) {
        Ok((trials, _folder)) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn trials(culd: PathBuf) -> Result<(Vec<Trial>, tempfile::TempDir)> {
    let directory = tempfile::tempdir().map_err(Error::file("temporary directory"))?;
    let linkers = Arc::new(Linkers {
        as_nvlink: run::as_nvlink(&culd, directory.path())?,
        culd,
        nvlink: std::env::var_os("CULD_NVLINK").map(PathBuf::from),
    });
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("invalid");
    let mut directories: Vec<PathBuf> = std::fs::read_dir(&root)
        .map_err(Error::file(&root))?
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.join("recipe").is_file())
        .collect();
    directories.sort();
    let trial = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let linkers = Arc::clone(&linkers);
        Trial::test(name, move || check(&path, &linkers))
    };
    Ok((directories.into_iter().map(trial).collect(), directory))
}

fn check(defect: &Path, linkers: &Linkers) -> std::result::Result<(), Failed> {
    let read = |name: &str| std::fs::read_to_string(defect.join(name)).map_err(Error::file(defect.join(name)));
    let base = defect.parent().unwrap_or(defect).join("base");
    let recipe = Recipe::build(&read("recipe")?, &base)?;
    let got = link(&linkers.culd, &recipe)?;
    let text = format!("exit {}\n{}", got.exit, String::from_utf8_lossy(&got.stderr));
    if std::env::var_os("CULD_BLESS").is_some() {
        std::fs::write(defect.join("expect"), &text)?;
    }
    let expected = read("expect")?;
    if without_system_words(&text) != without_system_words(&expected) {
        return Err(format!("expected:\n{expected}\ngot:\n{text}").into());
    }
    if !matches!(got.exit, 1 | 255) || got.stderr.is_empty() || !got.stdout.is_empty() {
        return Err(format!("not a refusal:\n{text}").into());
    }
    nothing_written(&got)?;
    let second = link(&linkers.as_nvlink, &recipe)?;
    match second.exit {
        0 => {}
        1 | 255 if !second.stderr.is_empty() => nothing_written(&second)?,
        code => return Err(format!("as nvlink: exit {code}, {}", String::from_utf8_lossy(&second.stderr)).into()),
    }
    let Some(nvlink) = &linkers.nvlink else { return Ok(()) };
    match compare(&second, &link(nvlink, &recipe)?) {
        None => Ok(()),
        Some(difference) => Err(format!("as nvlink: {difference}\n{}", String::from_utf8_lossy(&second.stderr)).into()),
    }
}

/// The text, without the words of the operating system for its errors, which differ between systems.
fn without_system_words(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once(": ") {
        Some((before, words)) if words.contains(" (os error ") => before,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Links the files of a recipe in a fresh directory.
fn link(linker: &Path, recipe: &Recipe) -> Result<Outcome> {
    let directory = tempfile::tempdir().map_err(Error::file("temporary directory"))?;
    let mut names = Vec::new();
    for (name, bytes) in std::iter::once((&recipe.name, &recipe.bytes)).chain(recipe.others.iter().map(|(n, b)| (n, b))) {
        std::fs::write(directory.path().join(name), bytes).map_err(Error::file(name))?;
        names.push(name.as_str());
    }
    let args = format!("{} {} -o out.cubin", recipe.args, names.join(" "));
    run::link(linker, &args, directory.path(), None)
}

fn nothing_written(outcome: &Outcome) -> std::result::Result<(), Failed> {
    match outcome.files.keys().next() {
        None => Ok(()),
        Some(name) => Err(format!("{name} was written").into()),
    }
}
