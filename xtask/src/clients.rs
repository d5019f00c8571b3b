//! `cargo xtask clients`: programs that use libnvJitLink, with NVIDIA's library and with ours. No GPU is needed.
//!
//! 1. Build our library ([`crate::libraries`]) and the inputs of `tests/nvjitlink`.
//! 2. Install the clients into `target/clients/venv`: by name, except for NVIDIA's library and compiler, which are of the release that the results
//!    are compared with.
//! 3. `tests/clients/run.py` runs every client's script twice and compares what they print, check by check.

use crate::context::{Context, succeed};
use crate::libraries::Platform;
use crate::report::Report;
use crate::{dist, libraries, oracle};
use culd_tests::{Error, Result};
use std::process::Command;

/// The clients, and what they need.
const PACKAGES: [&str; 10] = [
    "cuda-bindings",
    "cuda-core",
    "numba-cuda",
    "cuda-cccl",
    "tinygrad",
    "numpy",
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-nvjitlink==13.0.88",
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
];

/// Runs the clients whose names are given, or all.
pub(crate) fn run(context: &Context, names: &[String], quick: bool, report: &Report) -> Result<()> {
    let tools = oracle::bin_dir(context)?;
    let ours = libraries::build(context, quick, Platform::Host)?.nvjitlink;
    let work = context.target.join("clients");
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let venv = work.join("venv");
    let python = venv.join("bin/python");
    let ready = work.join("installed");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&ready).ok().as_deref() != Some(&wanted) {
        dist::output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(PACKAGES);
        dist::output(&mut pip)?;
        std::fs::write(&ready, &wanted).map_err(Error::file(&ready))?;
    }
    let mut clients = Command::new(&python);
    clients
        .arg(context.root.join("tests/clients/run.py"))
        .args([&ours, &tools, &work])
        .args(names);
    let failure = succeed(&mut clients).err().map(|e| e.to_string());
    report.named("clients", failure.as_deref());
    Ok(())
}
