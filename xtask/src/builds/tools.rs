//! The programs of the builds.
//!
//! 1. CMake, Ninja and Meson: packages of PyPI, installed once into `target/builds/venv`.
//! 2. clang: that of the system. Debian's clang 19 reads the headers of CUDA up to 12.5, so its toolkit is made of the wheels of that release.
//! 3. clang 19 names images as `fatbinary` of CUDA 12 does, of which there is no wheel: a script translates for that of CUDA 13.

use super::{Bench, oracle_toolkit};
use crate::nvcc::good;
use crate::oracle;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of PyPI.
const PACKAGES: &[&str] = &["cmake", "ninja", "meson"];

/// The toolkit for clang: the wheels of CUDA 12.5, with the headers that clang includes on its own.
const WHEELS: &[&str] = &[
    "nvidia-cuda-nvcc-cu12==12.5.82",
    "nvidia-cuda-runtime-cu12==12.5.82",
    "nvidia-curand-cu12==10.3.6.82",
    "nvidia-cuda-cccl-cu12==12.6.77",
];

/// The directories of scripts and of programs from packages, beside the sources.
pub(super) fn programs(sources: &Path) -> [PathBuf; 2] {
    ["bin", "venv/bin"].map(|name| sources.with_file_name(name))
}

/// A program of the packages.
pub(super) fn program(bench: &Bench<'_>, name: &str) -> PathBuf {
    bench.work.join("venv/bin").join(name)
}

/// Finds or installs what a system needs; its toolkit, or why it is left out.
pub(super) fn prepare(bench: &Bench<'_>, system: &str) -> std::result::Result<PathBuf, String> {
    let of = |done: Result<PathBuf>| done.map_err(|e| e.to_string());
    match system {
        "cmake" | "meson" => {
            install_packages(bench).map_err(|e| format!("pip cannot install {}: {e}", PACKAGES.join(", ")))?;
            of(oracle_toolkit(bench.context))
        }
        "clang" => {
            let program =
                clang().ok_or("clang++-19 and clang-nvlink-wrapper are not installed (apt-get install clang-19 clang-tools-19)")?;
            println!("clang: {}", version(&program));
            of(clang_toolkit(bench))
        }
        _ => of(oracle_toolkit(bench.context)),
    }
}

fn runs(program: &Path) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success())
}

fn version(program: &str) -> String {
    let text = good(Command::new(program).arg("--version")).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn install_packages(bench: &Bench<'_>) -> Result<()> {
    if PACKAGES.iter().all(|name| runs(&program(bench, name))) {
        return Ok(());
    }
    good(Command::new("python3").args(["-m", "venv"]).arg(bench.work.join("venv")))?;
    pip(bench, &[], PACKAGES)
}

fn pip(bench: &Bench<'_>, flags: &[&Path], packages: &[&str]) -> Result<()> {
    let mut pip = Command::new(program(bench, "python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    good(pip.args(flags).args(packages)).map(drop)
}

/// A clang++ that runs and has the wrapper that starts nvlink.
pub(super) fn clang() -> Option<String> {
    let name = "clang++-19";
    let wrapper = good(Command::new(name).arg("-print-prog-name=clang-nvlink-wrapper")).ok()?;
    // A name without directory is that of a program that was not found.
    Path::new(wrapper.trim()).is_absolute().then(|| name.to_owned())
}

fn clang_toolkit(bench: &Bench<'_>) -> Result<PathBuf> {
    let directory = bench.work.join("cuda-12.5");
    let toolkit = directory.join("nvidia/cuda_nvcc");
    if !directory.join("nvidia/cuda_cccl").exists() {
        if !runs(&program(bench, "python")) {
            good(Command::new("python3").args(["-m", "venv"]).arg(bench.work.join("venv")))?;
        }
        pip(bench, &[Path::new("--target"), &directory], WHEELS)?;
    }
    let fatbinary = oracle::bin_dir(bench.context)?.join("fatbinary");
    let script = bench.work.join("bin/fatbinary");
    let text = format!(
        "#!/bin/sh\n\
         for argument; do\n    shift\n    \
         argument=$(echo \"$argument\" | sed 's/^--image=profile=sm_\\([0-9a-z]*\\),file=/--image3=kind=elf,sm=\\1,file=/; \
         s/^--image=profile=compute_\\([0-9a-z]*\\),file=/--image3=kind=ptx,sm=\\1,file=/')\n    \
         set -- \"$@\" \"$argument\"\ndone\nexec '{}' \"$@\"\n",
        fatbinary.display()
    );
    std::fs::create_dir_all(bench.work.join("bin")).map_err(Error::file(&bench.work))?;
    std::fs::write(&script, text).map_err(Error::file(&script))?;
    good(Command::new("chmod").arg("+x").arg(&script))?;
    Ok(toolkit)
}
