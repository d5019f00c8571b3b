//! The header, compiled by a C and a C++ compiler, against the library: the examples link the bundled objects.

#![allow(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The directory of the library that this test was built with.
fn library_dir() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    test.parent().map(Path::to_owned).unwrap_or_default()
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles an example against the header and the library; `None` where there is no such compiler.
fn compiled(compiler: &str, source: &str, dir: &Path) -> Option<PathBuf> {
    if Command::new(compiler).arg("--version").output().is_err() {
        eprintln!("skipped: {compiler} is not installed");
        return None;
    }
    let library = library_dir();
    let program = dir.join("program");
    let done = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-o"])
        .arg(&program)
        .arg(here().join("examples").join(source))
        .arg("-I")
        .arg(here().join("include"))
        .arg("-L")
        .arg(&library)
        .arg("-lculd_c")
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

fn run(program: &Path, args: &[&str], dir: &Path) -> Output {
    Command::new(program)
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", program.display()))
}

fn object(name: &str) -> String {
    here().join("../culd/examples/data").join(name).display().to_string()
}

#[cfg(target_os = "linux")]
#[test]
fn a_c_program_links_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = compiled("cc", "link.c", dir.path()) else {
        return;
    };
    let (saxpy, combine) = (object("saxpy.cubin"), object("combine.cubin"));
    let good = run(&program, &["sm_90", "out.cubin", &saxpy, &combine], dir.path());
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stderr));
    assert!(String::from_utf8_lossy(&good.stdout).starts_with("saxpy: "));
    let image = std::fs::read(dir.path().join("out.cubin")).expect("the output");
    let linked = culd::link_files("sm_90", &[saxpy.clone(), combine]).expect("a link");
    assert!(image == linked.image());

    let bad = run(&program, &["sm_90", "bad.cubin", &saxpy], dir.path());
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&bad.stderr).contains("[UndefinedReference]"));
    assert!(!dir.path().join("bad.cubin").exists());
    assert_eq!(run(&program, &["sm_9", "x", "y"], dir.path()).status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_cpp_program_links_memory() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(program) = compiled("c++", "link.cpp", dir.path()) else {
        return;
    };
    let good = run(&program, &["sm_90", &object("saxpy.cubin"), &object("combine.cubin")], dir.path());
    assert!(good.status.success(), "{}", String::from_utf8_lossy(&good.stdout));
    let report: serde_json::Value = serde_json::from_slice(&good.stdout).expect("JSON");
    assert_eq!(report["kernels"][0]["name"], "saxpy");
    let bad = run(&program, &["sm_90", &object("saxpy.cubin")], dir.path());
    assert_eq!(bad.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&bad.stdout).expect("JSON");
    assert_eq!(report["diagnostics"][0]["code"], "UndefinedReference");
}

/// Every function of the header is exported, and nothing else of ours.
#[test]
fn the_header_declares_what_is_exported() {
    let header = std::fs::read_to_string(here().join("include/culd.h")).expect("the header");
    let source = std::fs::read_to_string(here().join("src/exports.rs")).expect("the exports");
    let declared: Vec<&str> = names(&header, "culd_").filter(|n| header.contains(&format!("{n}("))).collect();
    let exported: Vec<&str> = source
        .split("extern \"C\" fn ")
        .skip(1)
        .filter_map(|s| s.split('(').next())
        .collect();
    for name in &exported {
        assert!(declared.contains(name), "{name} is not in culd.h");
    }
    for name in declared {
        assert!(exported.contains(&name), "{name} is not exported");
    }
}

/// The words of a text that start with a prefix.
fn names<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(move |w| w.starts_with(prefix))
}
