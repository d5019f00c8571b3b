//! The program for a platform, in the profile `distribution`.
//!
//! 1. The Rust target is installed by rustup if it is missing.
//! 2. musl and wasm link with the linker that comes with Rust. The others link with zig, which has the libraries of glibc, mingw and macOS;
//!    zig and `cargo zigbuild` are those of PATH, or are installed by pip into `target/dist/venv`.
//! 3. Static programs have packed relocations and no tables for unwinding (`packaging/static.ld`).
//! 4. Paths of this machine are replaced in the program, so that it is the same wherever it is built.

use super::targets::{Build, Target, in_path};
use super::{Place, output};
use crate::context::{Context, succeed};
use culd_tests::{Error, Result, run};
use std::path::PathBuf;
use std::process::Command;

/// Packages with zig and the wrapper that lets cargo use it.
const ZIG: [&str; 2] = ["ziglang", "cargo-zigbuild"];

/// Builds the program; its path.
pub(super) fn program(place: &Place<'_>, target: &Target) -> Result<PathBuf> {
    let context = place.context;
    install_target(context, target.triple)?;
    let mut cargo = context.cargo();
    let variable = |what: &str| format!("CARGO_TARGET_{}_{what}", target.triple.to_uppercase().replace('-', "_"));
    match target.build {
        Build::RustLld => {
            cargo.args(["build", "--target", target.triple]).env(variable("LINKER"), "rust-lld");
        }
        Build::Zig(glibc) => {
            zigbuild(context, &mut cargo)?
                .arg("--target")
                .arg(format!("{}{glibc}", target.triple));
        }
    }
    let home = std::env::var("CARGO_HOME").or_else(|_| std::env::var("HOME").map(|h| format!("{h}/.cargo")));
    let mut flags = format!("--remap-path-prefix={}=/culd", context.root.display());
    if let Ok(home) = home {
        flags.push_str(&format!(" --remap-path-prefix={home}=/cargo"));
    }
    if target.triple.ends_with("musl") {
        let script = context.root.join("packaging/static.ld");
        flags.push_str(" -Clink-arg=-zpack-relative-relocs -Clink-arg=--no-eh-frame-hdr");
        flags.push_str(&format!(" -Clink-arg=-T{}", script.display()));
    }
    cargo.env(variable("RUSTFLAGS"), flags);
    succeed(cargo.args(["--profile", "distribution", "--quiet", "-p", "culd", "--bin", "culd"]))?;
    Ok(context.target.join(target.triple).join("distribution").join(target.program()))
}

/// Installs a Rust target if it is missing.
pub(crate) fn install_target(context: &Context, triple: &str) -> Result<()> {
    let rustup = || {
        let mut rustup = Command::new("rustup");
        rustup.current_dir(&context.root);
        rustup
    };
    let installed = output(rustup().args(["target", "list", "--installed"]))?;
    match installed.lines().any(|l| l == triple) {
        true => Ok(()),
        false => succeed(rustup().args(["target", "add", triple])),
    }
}

/// Adds `zigbuild` to cargo's words, and to its PATH.
fn zigbuild<'c>(context: &Context, cargo: &'c mut Command) -> Result<&'c mut Command> {
    if in_path("cargo-zigbuild").is_none() {
        cargo.env("PATH", run::search_path(&zig(context)?)?);
    }
    Ok(cargo.arg("zigbuild"))
}

/// `cargo rustc` with zig as linker.
pub(crate) fn zig_rustc(context: &Context) -> Result<Command> {
    let mut cargo = match in_path("cargo-zigbuild") {
        Some(program) => Command::new(program),
        None => {
            let bin = zig(context)?;
            let mut cargo = Command::new(bin.join("cargo-zigbuild"));
            cargo.env("PATH", run::search_path(&bin)?);
            cargo
        }
    };
    cargo.arg("rustc").current_dir(&context.root);
    Ok(cargo)
}

/// The program zig: that of PATH, or of the environment with `cargo-zigbuild`.
pub(crate) fn zig_command(context: &Context) -> Result<Command> {
    if let Some(zig) = in_path("zig") {
        return Ok(Command::new(zig));
    }
    let mut python = Command::new(zig(context)?.join("python"));
    python.args(["-m", "ziglang"]);
    Ok(python)
}

/// The directory of `cargo-zigbuild` in an environment of its own.
fn zig(context: &Context) -> Result<PathBuf> {
    let venv = context.target.join("dist/venv");
    let bin = venv.join("bin");
    if !bin.join("cargo-zigbuild").exists() {
        output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        output(Command::new(bin.join("python")).args(["-m", "pip", "install", "--quiet"]).args(ZIG))
            .map_err(|e| Error::Other(format!("zig cannot be installed: {e}")))?;
    }
    Ok(bin)
}
