//! `cargo xtask stress`: libnvJitLink under load.
//!
//! 1. Build the library for an old glibc and `tests/nvjitlink/stress.c` with zig, so that both run on other machines.
//! 2. Put them into `target/stress` with the bundled objects and a script `run`: `target/stress/run SECONDS THREADS` needs nothing else.
//! 3. Run the script: threads link two objects over and over and compare the bytes, and every second one also links changed inputs with changed options. A crash, a
//!    hang, an image after a failed link or other bytes are failures.

use crate::context::{Context, succeed};
use crate::libraries::{self, Platform};
use crate::report::Report;
use crate::{dist, system};
use culd_tests::{Error, Result};
use std::path::PathBuf;
use std::process::Command;

/// The script of the directory; it is started with seconds and threads.
const RUN: &str = "#!/bin/sh
cd \"$(dirname \"$0\")\" || exit 2
exec ./stress ./libnvJitLink.so.13 mixed \"${1:-600}\" \"${2:-16}\" saxpy.cubin combine.cubin nvlink.cubin
";

/// Prepares the directory and runs it for `seconds` with `threads` threads.
pub(crate) fn run(context: &Context, quick: bool, seconds: u64, threads: usize, report: &Report) -> Result<()> {
    let directory = prepare(context, quick)?;
    println!("{} has everything: run SECONDS THREADS", directory.display());
    let mut stress = Command::new(directory.join("run"));
    let failure = succeed(stress.args([seconds.to_string(), threads.to_string()])).err();
    report.named("stress", failure.map(|e| e.to_string()).as_deref());
    Ok(())
}

/// The directory that can be carried to another machine.
fn prepare(context: &Context, quick: bool) -> Result<PathBuf> {
    let platform = Platform::Glibc {
        triple: dist::HOST,
        version: dist::OLDEST_GLIBC,
    };
    let library = libraries::build(context, quick, platform)?.nvjitlink;
    let directory = context.target.join("stress");
    std::fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
    let example = context.root.join("examples/saxpy");
    let inputs = ["saxpy.cubin", "combine.cubin", "nvlink.cubin"].map(|name| example.join(name));
    for file in inputs.into_iter().chain([library]) {
        let copy = directory.join(file.file_name().unwrap_or_default());
        // A running program keeps the file that it has loaded.
        let _ = std::fs::remove_file(&copy);
        std::fs::copy(&file, copy).map_err(Error::file(&file))?;
    }
    let mut cc = libraries::compiler(context, platform)?;
    cc.args(["-O1", "-pthread"]).arg(context.root.join("tests/nvjitlink/stress.c"));
    succeed(cc.arg("-ldl").arg("-o").arg(directory.join("stress")))?;
    let script = directory.join("run");
    std::fs::write(&script, RUN).map_err(Error::file(&script))?;
    system::make_program(&script).map_err(Error::file(&script))?;
    Ok(directory)
}
