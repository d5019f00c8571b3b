//! The pages in a real browser.
//!
//! 1. Chromium must be installed; as root it is installed with apt-get, otherwise the step is skipped with a message.
//! 2. Pages: a link of a recorded case with `--html`, a made-up one with 10,000 functions, the viewer.
//! 3. tests/browser/check.py clicks through them; screenshots stay in target/browser.

use crate::context::{Context, Linker, succeed};
use crate::report::Report;
use crate::viewer;
use culd_report::model::{Function, Unit};
use culd_tests::fixture::Fixture;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The recorded case that is linked.
const CASE: &str = "cxx-template-shared";
const ARCH: &str = "-arch=sm_90";
const FUNCTIONS: u32 = 10_000;

/// Checks the pages of a linker.
pub(crate) fn run(context: &Context, linker: &Linker, report: &Report) -> Result<()> {
    if let Err(reason) = chromium() {
        println!("browser: left out: {reason}");
        return Ok(());
    }
    let out = context.target.join("browser");
    std::fs::create_dir_all(&out).map_err(Error::file(&out))?;
    let objects = inputs(context, &out)?;
    let (page, cubin) = (out.join("report.html"), out.join("report.cubin"));
    let mut link = Command::new(&linker.culd);
    link.arg(ARCH).args(&objects).arg("-o").arg(&cubin).arg("--html").arg(&page);
    succeed(&mut link)?;
    // Another program, for the difference of two.
    let other = out.join("other.cubin");
    let saxpy = ["saxpy.cubin", "combine.cubin"].map(|n| context.root.join("examples/saxpy").join(n));
    succeed(Command::new(&linker.culd).arg(ARCH).args(&saxpy).arg("-o").arg(&other))?;
    let large = out.join("large.html");
    std::fs::write(&large, culd_report::page::html(&made_up())).map_err(Error::file(&large))?;
    let mut check = Command::new("python3");
    check
        .arg(context.root.join("tests/browser/check.py"))
        .arg("--culd")
        .arg(&linker.culd)
        .arg("--out")
        .arg(&out);
    check
        .arg("--report")
        .arg(&page)
        .arg("--cubin")
        .arg(&cubin)
        .arg("--large")
        .arg(&large);
    check
        .arg("--viewer")
        .arg(viewer::run(context)?)
        .arg("--objects")
        .args(&objects)
        .arg("--linked")
        .args([&cubin, &other]);
    let checked = succeed(&mut check);
    report.named("pages in a browser", checked.err().map(|e| e.to_string()).as_deref());
    Ok(())
}

/// Finds Chromium or installs it.
fn chromium() -> std::result::Result<(), String> {
    let is_there = || {
        ["chromium", "chromium-browser", "google-chrome"]
            .iter()
            .any(|name| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()))
    };
    if is_there() {
        return Ok(());
    }
    let id = Command::new("id").arg("-u").output().map_err(|e| e.to_string())?;
    if id.stdout.trim_ascii() != b"0" {
        return Err("chromium is not installed, and only root can install it (apt-get install chromium)".into());
    }
    let install = || {
        Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends", "chromium"])
            .output()
    };
    let _ = install();
    if !is_there() {
        let _ = Command::new("apt-get").args(["update", "-qq"]).output();
        let _ = install();
    }
    if is_there() {
        Ok(())
    } else {
        Err("chromium is not installed, and apt-get cannot install it".into())
    }
}

/// The inputs of the recorded case as files.
fn inputs(context: &Context, out: &Path) -> Result<Vec<PathBuf>> {
    let path = context.root.join("tests/fixtures").join(format!("{CASE}.fixture"));
    let bytes = std::fs::read(&path).map_err(Error::file(&path))?;
    let mut files = Vec::new();
    for (name, bytes) in Fixture::decode(&bytes)?.inputs {
        let file = out.join(name);
        std::fs::write(&file, bytes).map_err(Error::file(&file))?;
        files.push(file);
    }
    Ok(files)
}

/// A description with many functions, as a link of a large library has.
fn made_up() -> culd_report::Report {
    let mut report = culd_report::Report::new("made up: 10,000 functions");
    let mut unit = Unit {
        name: "large.cubin".into(),
        file: "large.cubin".into(),
        arch: "sm_90".into(),
        sm: 90,
        inputs: (0..200).map(|n| format!("libkernels.a:part_{n:03}.o")).collect(),
        ..Unit::default()
    };
    let mut state = 12345u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    for n in 0..FUNCTIONS {
        let (family, tile) = (format!("library::detail::operation_{}", n / 25), 1 << (n % 8));
        let kernel = n % 4 != 0;
        unit.functions.push(Function {
            name: format!("_ZN7library6detail12operation_{}ILi{tile}EfEEvPT0_{n}", n / 25),
            demangled: format!("void {family}<{tile}, float, layout::row_major, policy<{n}>>(float*, float const*, long)"),
            family,
            kernel,
            code: u64::from(128 * (1 + random(60) * random(20))),
            registers: Some(16 + random(200)),
            frame: Some(8 * random(10)),
            stack: Some(16 * random(40)),
            local_access: Some([random(4), random(4)]),
            shared: u64::from(1024 * random(40)),
            barriers: random(2),
            constants: vec![[0, 560]],
            parameters: Some(24),
            input: Some(n / 50),
            ..Function::default()
        });
        if n > 0 {
            unit.calls.push([n, random(n)]);
        }
    }
    unit.size = unit.functions.iter().map(|f| f.code).sum::<u64>() * 5 / 4;
    report.units.push(unit);
    report
}
