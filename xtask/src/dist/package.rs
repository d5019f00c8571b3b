//! The packages of a platform: archive, wheel, Debian package.
//!
//! 1. [`stage`] lays out the files once: program, manual page, completions, CMake module, licenses, bill of materials.
//! 2. Archives and the Debian package are made from it by `tar`, `python3` and `dpkg-deb`; the wheel by `packaging/python/wheel.py`. Order, times, owners and
//!    modes are fixed, so that two builds give the same bytes.

use super::check::copy;
use super::targets::{OLDEST_GLIBC, Target};
use super::{Place, Program, deb, output, sbom};
use crate::libraries::{self, Platform};
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kinds of packages that a platform has.
pub(super) fn kinds(target: &Target) -> &'static [&'static str] {
    match (target.deb, target.wheel) {
        _ if target.is_windows() => &["zip", "wheel"],
        (Some(_), _) => &["tar", "wheel", "deb"],
        (None, Some(_)) => &["tar", "wheel"],
        (None, None) => &["tar"],
    }
}

/// Makes a package; its file.
pub(super) fn make(place: &Place<'_>, program: &Program, kind: &str) -> Result<PathBuf> {
    let stage = stage(place, program)?;
    let file = match kind {
        "tar" => archive(place, &stage, "tar.gz")?,
        "zip" => archive(place, &stage, "zip")?,
        "wheel" => wheel(place, program, &stage)?,
        "deb" => deb::make(place, program, &stage)?,
        other => {
            return Err(Error::Other(format!(
                "no package '{other}': there are tar, zip, wheel, deb, crates, recipes"
            )));
        }
    };
    let size = std::fs::metadata(&file).map_err(Error::file(&file))?.len();
    println!("{} {size}", file.display());
    Ok(file)
}

/// The name of the archives and of the directory in them.
fn full_name(place: &Place<'_>, target: &Target) -> String {
    format!("culd-{}-{}", place.version, target.triple)
}

/// Lays out the files of a package as below `/usr`.
fn stage(place: &Place<'_>, program: &Program) -> Result<PathBuf> {
    let root = &place.context.root;
    let name = full_name(place, program.target);
    let dir = place.fresh(&format!("stage/{name}"))?;
    let put = |from: &Path, to: &str| {
        let to = dir.join(to);
        let parent = to.parent().unwrap_or(&dir);
        std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        copy(from, &to)
    };
    put(&program.path, &format!("bin/{}", program.target.program()))?;
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        put(&root.join(file), &format!("share/doc/culd/{file}"))?;
    }
    for file in ["cli.md", "nvcc.md", "compatibility.md", "install.md"] {
        put(&root.join("docs").join(file), &format!("share/doc/culd/docs/{file}"))?;
    }
    put(&root.join("packaging/cmake/culdConfig.cmake"), "share/cmake/culd/culdConfig.cmake")?;
    let version = std::fs::read_to_string(root.join("packaging/cmake/culdConfigVersion.cmake.in")).map_err(Error::file(root))?;
    write(
        &dir.join("share/cmake/culd/culdConfigVersion.cmake"),
        &version.replace("@VERSION@", &place.version),
    )?;
    write(&dir.join("share/doc/culd/sbom.spdx.json"), &sbom::text(place, program.target)?)?;
    for (file, text) in generated(place, program) {
        write(&dir.join(file), &text)?;
    }
    Ok(dir)
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
    std::fs::write(path, text).map_err(Error::file(path))
}

/// The manual page and the completions that the program writes itself; without such flags, a manual page with the text of `--help`.
fn generated(place: &Place<'_>, program: &Program) -> Vec<(&'static str, String)> {
    const FILES: [(&str, &[&str]); 4] = [
        ("share/man/man1/culd.1", &["--generate-man"]),
        ("share/bash-completion/completions/culd", &["--generate-completions", "bash"]),
        ("share/zsh/site-functions/_culd", &["--generate-completions", "zsh"]),
        ("share/fish/vendor_completions.d/culd.fish", &["--generate-completions", "fish"]),
    ];
    // A program that cannot run here has the texts of the build of this machine.
    let native = Program {
        target: program.target,
        path: place.context.target.join("debug/culd"),
        runner: Ok(Vec::new()),
    };
    let teller = if program.runner.is_ok() { program } else { &native };
    let ask = |args: &[&str]| {
        output(teller.command_for(&teller.path, &place.work).args(args))
            .ok()
            .filter(|t| !t.is_empty())
    };
    let mut files: Vec<(&str, String)> = FILES.iter().filter_map(|(file, args)| Some((*file, ask(args)?))).collect();
    if !files.iter().any(|(file, _)| file.ends_with(".1")) {
        let help = ask(&["--help"]).unwrap_or_default();
        files.push((FILES[0].0, manual(&place.version, &help)));
    }
    files
}

/// A manual page around the text of `--help`.
fn manual(version: &str, help: &str) -> String {
    let mut body = String::new();
    for line in help.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        body.push_str(&format!("{guard}{line}\n"));
    }
    format!(
        ".TH CULD 1 \"\" \"culd {version}\" \"User Commands\"\n.SH NAME\nculd \\- device linker for CUDA\n.SH SYNOPSIS\n.B culd\n[\\fIoptions\\fR] \
         \\fIinputs\\fR \\-o \\fIoutput\\fR\n.SH DESCRIPTION\nculd links device code for NVIDIA GPUs. Called as nvlink it has the command line, messages and \
         bytes of nvlink.\n.SH OPTIONS\n.nf\n{body}.fi\n.SH SEE ALSO\nThe files in /usr/share/doc/culd.\n"
    )
}

/// `tar.gz` or `zip` of a staged directory.
fn archive(place: &Place<'_>, stage: &Path, extension: &str) -> Result<PathBuf> {
    let name = stage.file_name().unwrap_or_default();
    let file = place.out.join(format!("{}.{extension}", name.to_string_lossy()));
    let script = place.context.root.join("packaging/archive.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(stage).arg(&file).arg(place.epoch.to_string());
    output(&mut python)?;
    Ok(file)
}

/// The wheel of a platform: the program, and the libraries where they are built for it.
fn wheel(place: &Place<'_>, program: &Program, stage: &Path) -> Result<PathBuf> {
    let tag = program.target.wheel;
    let platform = match program.target.triple {
        triple if triple.ends_with("linux-gnu") => Some(Platform::Glibc {
            triple,
            version: OLDEST_GLIBC,
        }),
        triple if triple.contains("windows") => Some(Platform::Windows),
        // musl has one C library per process, which the libraries would have to share; macOS has no CUDA.
        _ => None,
    };
    if let Some(platform) = platform {
        add_libraries(stage, &libraries::build(place.context, false, platform)?.packed())?;
    }
    wheel_of(place, stage, tag.ok_or_else(|| Error::Other("this platform has no wheels".into()))?)
}

/// A wheel of this machine, with libraries in it.
pub(super) fn wheel_with(place: &Place<'_>, program: &Program, libraries: &[&Path]) -> Result<PathBuf> {
    let stage = stage(place, program)?;
    add_libraries(&stage, libraries)?;
    wheel_of(place, &stage, &format!("linux_{}", std::env::consts::ARCH))
}

fn add_libraries(stage: &Path, libraries: &[&Path]) -> Result<()> {
    let lib = stage.join("lib");
    std::fs::create_dir_all(&lib).map_err(Error::file(&lib))?;
    for library in libraries {
        copy(library, &lib.join(library.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn wheel_of(place: &Place<'_>, stage: &Path, tag: &str) -> Result<PathBuf> {
    let mut python = Command::new("python3");
    python.arg(place.context.root.join("packaging/python/wheel.py"));
    python.arg("--stage").arg(stage).arg("--out").arg(&place.out);
    python.args(["--version", &place.version, "--platform", tag, "--epoch", &place.epoch.to_string()]);
    let file = output(&mut python)?;
    Ok(PathBuf::from(file.trim()))
}
