//! Replays what nvlink did, without nvlink: every file in `fixtures/` is one named test.
//!
//! The linker is `CULD_BIN`, or else the `culd` of this tree, which is built in the same profile as this test.
//! It is called under the name nvlink; those in `fixtures/releases` are from other releases. The conformance cases and the random scenarios come from `cargo xtask record`.

use culd_tests::fixture::Fixture;
use culd_tests::linker::linker;
use culd_tests::verdict::{Difference, text_difference};
use culd_tests::{Error, Result, run};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // cargo nextest lists the tests without running them: nothing is to be built then
    let linker = if arguments.list { Ok(PathBuf::new()) } else { linker() };
    match linker.and_then(|culd| trials(&culd)) {
        Ok((trials, _folder)) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn trials(culd: &Path) -> Result<(Vec<Trial>, tempfile::TempDir)> {
    let directory = tempfile::tempdir().map_err(Error::file("temporary directory"))?;
    let linker = Arc::new(run::as_nvlink(culd, directory.path())?);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files = Vec::new();
    for dir in [fixtures.join("releases"), fixtures] {
        let entries = std::fs::read_dir(&dir).map_err(Error::file(&dir))?.filter_map(|e| e.ok());
        files.extend(entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "fixture")));
    }
    files.sort();
    let trial = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let linker = Arc::clone(&linker);
        Trial::test(name, move || replay(&path, &linker))
    };
    Ok((files.into_iter().map(trial).collect(), directory))
}

fn replay(path: &Path, linker: &Path) -> std::result::Result<(), Failed> {
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    let fixture = Fixture::decode(&bytes)?;
    let directory = tempfile::tempdir()?;
    let differences = fixture.replay(linker, &directory.path().join("link"))?;
    if differences.is_empty() {
        return Ok(());
    }
    let mut text = format!("{} of {} links differ\n", differences.len(), fixture.links.len());
    for (i, got, difference) in differences {
        let Some(link) = fixture.links.get(i) else { continue };
        let more = match difference {
            Difference::Text { stream: "stdout" } => text_difference(&got.stdout, &link.outcome.stdout),
            Difference::Bytes { .. } | Difference::FileSet { .. } => String::new(),
            _ => text_difference(&got.stderr, &link.outcome.stderr),
        };
        text.push_str(&format!("link {}: {}\n{difference} {more}\n", i + 1, link.args));
    }
    Err(text.into())
}
