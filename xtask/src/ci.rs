//! `cargo xtask ci STEP..`: the steps of `.github/workflows`, so that each runs on any machine as it runs there.
//!
//! A step that needs a tool that is missing is a failure that names the tool and how to install it.

use crate::context::{Context, UNIT_TESTS, succeed};
use crate::dist::in_path;
use crate::report::Report;
use culd_tests::{Error, Result};

/// Crates without file access: they are built for the web.
const PORTABLE: [&str; 6] = ["cubin", "culd-zstd", "culd-demangle", "culd-sass", "culd-engine", "culd-inspect"];

/// What a step does.
enum Work {
    /// `cargo` with these arguments.
    Cargo(&'static [&'static str]),
    /// A tool: its program, its arguments, and how to install it.
    Tool(&'static str, &'static [&'static str], &'static str),
    /// Anything else.
    Code(fn(&Context) -> Result<()>),
}

/// The steps.
const STEPS: &[(&str, &str, Work)] = &[
    ("fmt", "formatting", Work::Cargo(&["fmt", "--all", "--", "--check"])),
    (
        "clippy",
        "lints; warnings are failures",
        Work::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ),
    (
        "docs",
        "documentation; warnings are failures",
        Work::Cargo(&["doc", "--workspace", "--no-deps", "--document-private-items"]),
    ),
    ("isa", "the table of instruction forms", Work::Code(isa)),
    ("msrv", "the oldest supported Rust compiles the program", Work::Code(msrv)),
    ("unit", "tests in the crates", Work::Code(unit)),
    ("recorded", "recorded links and damaged inputs", Work::Code(recorded)),
    ("wasm", "the libraries compile for wasm32", Work::Code(wasm)),
    ("fuzz", "the fuzz targets compile", Work::Cargo(&["build", "-p", "culd-fuzz"])),
    (
        "deny",
        "licenses, advisories and sources of dependencies",
        Work::Tool("cargo-deny", &["--all-features", "check"], "cargo install --locked cargo-deny"),
    ),
    ("typos", "spelling", Work::Tool("typos", &[], "pip install typos")),
    ("api", "public items of the published crates against docs/api", Work::Code(api)),
    (
        "semver",
        "public interfaces against the last published version",
        Work::Tool(
            "cargo-semver-checks",
            &["semver-checks"],
            "cargo install --locked cargo-semver-checks",
        ),
    ),
    ("workflows", "the workflows run tasks, and steps that exist", Work::Code(workflows)),
];

/// Runs the named steps.
pub(crate) fn run(context: &Context, names: &[String], report: &Report) -> Result<()> {
    if names.is_empty() {
        for (name, about, _) in STEPS {
            println!("{name:<10} {about}");
        }
    }
    for name in names {
        let step = STEPS.iter().find(|(n, ..)| n == name);
        let (_, _, work) = step.ok_or_else(|| Error::Other(format!("no step '{name}'; cargo xtask ci lists them")))?;
        let result = match work {
            Work::Cargo(args) => succeed(context.cargo().args(*args).env("RUSTDOCFLAGS", "-D warnings")),
            Work::Tool(program, args, install) => match in_path(program) {
                Some(path) => succeed(std::process::Command::new(path).args(*args).current_dir(&context.root)),
                None => Err(Error::Other(format!("no {program} in PATH: {install}"))),
            },
            Work::Code(code) => code(context),
        };
        report.named(name, result.err().map(|e| e.to_string()).as_deref());
    }
    Ok(())
}

fn api(context: &Context) -> Result<()> {
    succeed(context.cargo().args(["xtask", "api"]))
}

/// The version of Cargo.toml, through rustup.
fn msrv(context: &Context) -> Result<()> {
    let toolchain = format!("+{}", env!("CARGO_PKG_RUST_VERSION"));
    let mut cargo = std::process::Command::new("cargo");
    // the variables of the running toolchain select its compiler
    cargo.env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC").env_remove("CARGO");
    cargo
        .args([toolchain.as_str(), "check", "-p", "culd", "--bins", "--target-dir"])
        .arg(context.target.join("msrv"));
    succeed(cargo.current_dir(&context.root))
}

/// Other systems than Unix leave out the crates that use its resource limits.
fn unit(context: &Context) -> Result<()> {
    let mut cargo = context.cargo();
    cargo.args(UNIT_TESTS).arg("--no-fail-fast");
    if cfg!(not(unix)) {
        cargo.args(["--exclude", "xtask", "--exclude", "culd-fuzz"]);
    }
    succeed(&mut cargo)
}

/// The other tests of the harness use signals and limits of Unix.
fn recorded(context: &Context) -> Result<()> {
    let mut cargo = context.cargo();
    cargo.args(["test", "-p", "culd-tests", "--no-fail-fast"]);
    if cfg!(not(unix)) {
        cargo.args(["--test", "recorded", "--test", "invalid"]);
    }
    succeed(&mut cargo)
}

fn wasm(context: &Context) -> Result<()> {
    let mut cargo = context.cargo();
    cargo.args(["build", "--target", "wasm32-unknown-unknown"]);
    PORTABLE.iter().for_each(|name| {
        cargo.args(["-p", name]);
    });
    succeed(&mut cargo)
}

/// What a workflow may run beside tasks: installing tools, and the release itself.
const BESIDE_TASKS: [&str; 3] = ["rustup ", "sudo apt-get ", "gh release "];

/// Every command of a workflow must be a task, and every `cargo xtask ci NAME` a step.
fn workflows(context: &Context) -> Result<()> {
    let dir = context.root.join(".github/workflows");
    for entry in std::fs::read_dir(&dir).map_err(Error::file(&dir))? {
        let path = entry.map_err(Error::file(&dir))?.path();
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        for (number, line) in text.lines().enumerate() {
            let command = line.trim_start().trim_start_matches("- ").strip_prefix("run: ");
            let Some(command) = command.filter(|c| !c.starts_with('>')) else {
                continue;
            };
            if !command.starts_with("cargo xtask ") && !BESIDE_TASKS.iter().any(|c| command.starts_with(c)) {
                return Err(Error::Other(format!(
                    "{}:{}: '{command}' is not a task",
                    path.display(),
                    number + 1
                )));
            }
        }
        for line in text
            .lines()
            .filter(|l| !l.trim_start().starts_with('#'))
            .filter_map(|l| l.split_once("cargo xtask ci "))
        {
            for name in line
                .1
                .split_whitespace()
                .filter(|n| !n.contains("${{") && !n.contains("}}") && !n.starts_with("matrix"))
            {
                if !STEPS.iter().any(|(n, ..)| *n == name) {
                    return Err(Error::Other(format!("{}: no step '{name}'", path.display())));
                }
            }
        }
    }
    Ok(())
}

fn isa(context: &Context) -> Result<()> {
    let report = Report::default();
    crate::isa::run(context, false, &report)?;
    match report.counts() {
        (_, 0) => Ok(()),
        _ => Err(Error::Other("the table differs from isa/blackwell.txt".into())),
    }
}
