//! A program that CMake builds with `CUDA_SEPARABLE_COMPILATION`.
//!
//! 1. CMake is the one on PATH, or the package of that name, which pip installs once into `target/cmake`.
//! 2. The project of `tests/nvcc` is configured with the nvcc of `tk`, a link to the view with the real nvlink, and built.
//! 3. What the device link made is put aside, `tk` is pointed at the view with culd, and the build is repeated: only the device link runs.

use super::{Bench, Side, fresh, good, replace_link};
use crate::context::Context;
use culd_tests::run::{self, Outcome};
use culd_tests::{Error, Result as Done};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the program in the report.
pub(super) const NAME: &str = "cmake-separable-compilation";

/// The package that pip installs.
const PACKAGE: &str = "cmake==4.4.4";

/// Result of a build.
pub(super) enum Result {
    /// Both were built; maybe they differ.
    Compared(Option<String>),
    /// CMake cannot be had, and why.
    LeftOut(String),
}

/// Builds the project with both linkers.
pub(super) fn compare(bench: &Bench<'_>, context: &Context) -> Result {
    match find(&context.root.join("target/cmake")) {
        Ok(cmake) => Result::Compared(build_both(bench, &cmake).unwrap_or_else(|e| Some(e.to_string()))),
        Err(why) => Result::LeftOut(why.to_string()),
    }
}

fn build_both(bench: &Bench<'_>, cmake: &Path) -> Done<Option<String>> {
    let dir = fresh(&bench.work.join("programs").join(NAME))?;
    let build = dir.join("build");
    replace_link(&bench.view(Side::Nvlink), &dir.join("tk"))?;
    let mut configure = Command::new(cmake);
    configure.arg("-S").arg(&bench.sources).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_CUDA_COMPILER={}", dir.join("tk/bin/nvcc").display()));
    // the trial program would cost as much as the project
    configure.args(["-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real", "-DCMAKE_CUDA_COMPILER_WORKS=1"]);
    good(&mut configure)?;
    let theirs = link(bench, cmake, Side::Nvlink, &dir, &build)?;
    let ours = link(bench, cmake, Side::Culd, &dir, &build)?;
    if !theirs.files.keys().any(|f| f.ends_with(".cubin")) {
        return Ok(Some(format!("the real nvlink left no cubin, only {:?}", theirs.files.keys())));
    }
    Ok(bench.verdict(&dir, &ours, &theirs))
}

/// Builds, and moves what the device link made into a directory of the linker's name.
fn link(bench: &Bench<'_>, cmake: &Path, side: Side, dir: &Path, build: &Path) -> Done<Outcome> {
    replace_link(&bench.view(side), &dir.join("tk"))?;
    let before = run::stamps(build)?;
    good(Command::new(cmake).arg("--build").arg(build))?;
    let kept = dir.join(side.name());
    std::fs::create_dir_all(&kept).map_err(Error::file(&kept))?;
    let object = Path::new("CMakeFiles/app.dir/cmake_device_link.o");
    let written = run::stamps(build)?
        .into_iter()
        .filter(|(name, stamp)| before.get(name) != Some(stamp));
    let device = |name: &String| name.contains("cmake_device_link");
    let mut outcome = Outcome::default();
    for name in written
        .map(|(name, _)| PathBuf::from(name))
        .filter(|n| device(&n.display().to_string()))
        .chain([object.into()])
    {
        let from = build.join(&name);
        let name = name.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = std::fs::read(&from).map_err(Error::file(&from))?;
        std::fs::rename(&from, kept.join(&name)).map_err(Error::file(&from))?;
        outcome.files.insert(name, bytes);
    }
    Ok(outcome)
}

/// A CMake that runs.
fn find(directory: &Path) -> Done<PathBuf> {
    let works = |path: &Path| Command::new(path).arg("--version").output().is_ok_and(|o| o.status.success());
    let installed = directory.join("bin/cmake");
    if let Some(found) = [PathBuf::from("cmake"), installed.clone()].into_iter().find(|c| works(c)) {
        return Ok(found);
    }
    let mut venv = Command::new("python3");
    good(venv.args(["-m", "venv"]).arg(directory))?;
    let mut pip = Command::new(directory.join("bin/python"));
    good(pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]))?;
    match works(&installed) {
        true => Ok(installed),
        false => Err(Error::Other(format!("{} does not run", installed.display()))),
    }
}
