//! What builds rely on: views, flags of the environment, reports of failed links, standard input and output.
#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with objects for sm_90 and the program under its own name.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for name in ["a.cubin", "b.cubin"] {
            fs::copy(data.join(name), dir.path().join(name)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_culd"), dir.path().join("culd")).unwrap();
        Bench { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut words = line.split(' ');
        let mut command = Command::new(self.path(words.next().unwrap()));
        command.args(words).current_dir(self.dir.path());
        for variable in [
            "LIBRARY_PATH",
            "CULD_FLAGS",
            "CULD_REPORT",
            "CULD_NVLINK_VERSION",
            "CULD_PTXAS",
            "CUDA_HOME",
            "CUDA_PATH",
        ] {
            command.env_remove(variable);
        }
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Exit code and standard error.
    fn said(&self, line: &str) -> (Option<i32>, String) {
        let out = self.run(line);
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&fs::read(self.path(name)).unwrap()).unwrap()
    }

    /// A toolkit whose ptxas prints a version.
    fn toolkit(&self, version: &str) {
        fs::create_dir_all(self.path("cuda/bin")).unwrap();
        let ptxas = self.path("cuda/bin/ptxas");
        fs::write(&ptxas, format!("#!/bin/sh\necho 'Cuda compilation tools, release 0, V{version}'\n")).unwrap();
        fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_view_is_the_nvlink_of_its_toolkit() {
    let bench = Bench::new();
    bench.toolkit("13.4.92");
    let out = bench.run("culd install-as-nvlink view --toolkit cuda");
    assert!(
        text(&out.stdout).contains("is ready: its nvlink is culd as nvlink 13.4.92."),
        "{out:?}"
    );
    let out = bench.run("view/bin/nvlink --version");
    assert!(text(&out.stdout).contains("release 13.4, V13.4.92"));
    // Flags of culd are not nvlink's, whatever the environment says.
    let mut link = bench.command("view/bin/nvlink -arch=sm_90 a.cubin b.cubin -o x --map=m");
    let out = link.env("CULD_FLAGS", "--map=m").output().unwrap();
    assert_eq!(
        (out.status.code(), text(&out.stderr).as_str()),
        (Some(1), "nvlink fatal   : Unknown option '-map'\n")
    );
    let out = bench
        .command("view/bin/nvlink -arch=sm_90 a.cubin b.cubin -o x")
        .env("CULD_FLAGS", "--map=m")
        .output()
        .unwrap();
    assert!(out.status.success() && !bench.path("m").exists());
}

#[test]
fn a_toolkit_of_another_release_has_a_view_in_the_mode_culd_only() {
    let bench = Bench::new();
    bench.toolkit("11.8.89");
    let (code, said) = bench.said("culd install-as-nvlink view --toolkit cuda");
    assert_eq!(code, Some(1));
    assert!(
        said.contains("culd cannot be nvlink 11.8.89") && said.contains("13.0, 13.1") && said.contains("--mode culd"),
        "{said}"
    );
    assert!(!bench.path("view").exists());
    let out = bench.run("culd install-as-nvlink view --toolkit=cuda --mode=culd");
    assert!(out.status.success(), "{out:?}");
    let (code, said) = bench.said("view/bin/nvlink -arch=sm_90 a.cubin -o x");
    assert_eq!(code, Some(255));
    assert!(said.starts_with("culd: error: 1 undefined reference\n"), "{said}");
}

#[test]
fn the_environment_adds_flags() {
    let bench = Bench::new();
    let flags = "--map={output}.map  --json-report={output}.{target}.json";
    let out = bench
        .command("culd -arch=sm_90 a.cubin b.cubin -o x")
        .env("CULD_FLAGS", flags)
        .output()
        .unwrap();
    assert!(out.status.success(), "{out:?}");
    assert!(text(&fs::read(bench.path("x.map")).unwrap()).starts_with("Link map of x for sm_90"));
    assert_eq!(bench.json("x.sm_90.json")["status"], "linked");
}

#[test]
fn the_environment_asks_for_a_report_under_the_name_nvlink() {
    let bench = Bench::new();
    bench.toolkit("13.0.88");
    assert!(bench.run("culd install-as-nvlink view --toolkit=cuda").status.success());
    let line = "view/bin/nvlink -arch=sm_90 a.cubin b.cubin -o x";
    let plain = bench.command(line).output().unwrap();
    let bytes = fs::read(bench.path("x")).unwrap();
    let out = bench.command(line).env("CULD_REPORT", "{output}.{target}.json").output().unwrap();
    assert_eq!((out.status, &out.stdout, &out.stderr), (plain.status, &plain.stdout, &plain.stderr));
    assert_eq!(fs::read(bench.path("x")).unwrap(), bytes);
    assert_eq!(bench.json("x.sm_90.json")["status"], "linked");
    // culd has the flag
    let out = bench
        .command("culd -arch=sm_90 a.cubin b.cubin -o y")
        .env("CULD_REPORT", "y.json")
        .output()
        .unwrap();
    assert!(out.status.success() && !bench.path("y.json").exists(), "{out:?}");
}

#[test]
fn every_failure_has_a_report_and_no_old_one_stays() {
    let bench = Bench::new();
    let whole = fs::read(bench.path("b.cubin")).unwrap();
    fs::write(bench.path("cut.cubin"), &whole[..whole.len() / 2]).unwrap();
    fs::write(bench.path("p.ptx"), ".version 8.0\n.target sm_90\n.address_size 64\n").unwrap();
    let cases = [
        ("-arch=sm_90 a.cubin missing.o -o x", "errors", "Unusable"),
        ("-arch=sm_90 a.cubin cut.cubin -o x", "errors", "Unusable"),
        ("-arch=sm_80 a.cubin b.cubin -o x", "errors", "ArchMismatch"),
        ("-arch=sm_90 a.cubin p.ptx -o x --ptxas=none", "errors", "NoPtxas"),
        (
            "-arch=sm_90 a.cubin b.cubin -lnone --strict-libraries -o x",
            "errors",
            "LibraryMissing",
        ),
        ("-arch=sm_90 a.cubin -o x", "errors", "UndefinedReference"),
        ("-arch=sm_90 a.cubin b.cubin -o x --kernels-used=none", "errors", "NothingLeft"),
        ("-arch=sm_90 a.cubin b.cubin -o none/x", "fatal", "OutputFile"),
        ("-arch=sm_90 a.cubin b.cubin", "fatal", "NoOutput"),
        ("a.cubin b.cubin -o x", "fatal", "NoArch"),
    ];
    for (line, status, code) in cases {
        fs::write(bench.path("r.json"), "{\"status\": \"old\"}").unwrap();
        assert!(!bench.run(&format!("culd {line} --json-report=r.json")).status.success(), "{line}");
        let report = bench.json("r.json");
        assert_eq!(report["status"], status, "{line}");
        assert_eq!(report["messages"][0]["code"], code, "{line}");
        assert!(report["output"].is_null(), "{line}");
    }
}

#[test]
fn missing_libraries_are_named_when_references_are_undefined() {
    let bench = Bench::new();
    assert_eq!(
        bench.said("culd -arch=sm_90 a.cubin b.cubin -o x -lrt -lm -lnone"),
        (Some(0), String::new())
    );
    let (code, said) = bench.said("culd -arch=sm_90 a.cubin -o x -L. -lnone");
    assert_eq!(code, Some(255));
    assert!(
        said.contains("1 undefined reference") && said.ends_with("culd: warning: library -lnone not found in .\n"),
        "{said}"
    );
}

#[test]
fn a_dash_is_standard_input_or_output() {
    let bench = Bench::new();
    assert!(bench.run("culd -arch=sm_90 a.cubin b.cubin -o x").status.success());
    let linked = fs::read(bench.path("x")).unwrap();
    let out = bench.run("culd -arch=sm_90 a.cubin b.cubin -o -");
    assert!(out.stdout == linked, "the bytes of the file");
    let out = bench.run("culd -arch=sm_90 a.cubin b.cubin -o x --map=-");
    assert!(text(&out.stdout).starts_with("Link map of x"));
    let out = bench.run("culd -arch=sm_90 a.cubin b.cubin -o x --json-report=-");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&out.stdout).unwrap()["status"],
        "linked"
    );
    let feed = |line: &str, bytes: &[u8]| {
        let mut child = bench.command(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        child.wait_with_output().unwrap()
    };
    let out = feed("culd dump --json -", &linked);
    assert!(out.status.success() && text(&out.stdout).contains("culd.dump/1"));
    let out = feed("culd -arch=sm_90 a.cubin - -o y", &fs::read(bench.path("b.cubin")).unwrap());
    assert!(out.status.success() && fs::metadata(bench.path("y")).unwrap().len() == linked.len() as u64);
    assert!(!bench.path("-").exists());
    // For nvlink it is a name like any other.
    symlink(env!("CARGO_BIN_EXE_culd"), bench.path("nvlink")).unwrap();
    assert!(bench.run("nvlink -arch=sm_90 a.cubin b.cubin -o -").status.success());
    assert!(bench.path("-").exists());
}

#[test]
fn a_dash_is_a_file_of_every_command() {
    let bench = Bench::new();
    assert!(bench.run("culd -arch=sm_90 a.cubin b.cubin -o x").status.success());
    let linked = fs::read(bench.path("x")).unwrap();
    for line in [
        "culd dump -",
        "culd dump --list -",
        "culd dump --kernels -",
        "culd size -",
        "culd occupancy -",
        "culd report - --html -",
        "culd report - --json",
        "culd diff - x",
        "culd diff x -",
        "culd diff --sizes x -",
    ] {
        let mut child = bench.command(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // A program that does not read it may be gone already.
        let _ = child.stdin.take().unwrap().write_all(&linked);
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success() && !out.stdout.is_empty(), "{line}: {}", text(&out.stderr));
    }
    for line in [
        "--html",
        "--map",
        "--json-report",
        "--dependency-file",
        "--dot-file",
        "--register-link-binaries",
    ] {
        let out = bench.run(&format!("culd -arch=sm_90 a.cubin b.cubin -o x {line} -"));
        assert!(out.status.success() && !out.stdout.is_empty(), "{line}");
    }
    assert!(!bench.path("-").exists());
}

/// A ptxas that takes a while, and the output of a link with it: standard error is a terminal or a pipe.
#[cfg(target_os = "linux")]
fn slow_link(bench: &Bench, seconds: &str, is_terminal: bool) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    let ptxas = bench.path("ptxas");
    let script = format!("#!/bin/sh\nsleep {seconds}\ncp {} elf.o\n", bench.path("b.cubin").display());
    fs::write(&ptxas, script).unwrap();
    fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(bench.path("b.ptx"), ".version 8.0\n.target sm_90\n.address_size 64\n").unwrap();
    let mut command = bench.command("culd -arch=sm_90 a.cubin b.ptx -o x");
    command.env("CULD_PTXAS", &ptxas).env("TERM", "xterm").env("NO_COLOR", "1");
    if !is_terminal {
        return text(&command.output().unwrap().stderr);
    }
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let slave = ptsname(&master, Vec::new()).unwrap();
    let open = || fs::OpenOptions::new().read(true).write(true).open(slave.to_str().unwrap()).unwrap();
    let mut child = command.stderr(open()).spawn().unwrap();
    // The command keeps its end of the terminal open.
    drop(command);
    let mut said = Vec::new();
    // Linux reports an error at the end of a terminal.
    let _ = fs::File::from(master).read_to_end(&mut said);
    assert!(child.wait().unwrap().success(), "{}", text(&said));
    text(&said)
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_shows_work_that_takes_long() {
    let bench = Bench::new();
    let said = slow_link(&bench, "1.8", true);
    assert!(said.contains("culd: compiling PTX, 0 of 1, 1 s"), "{said:?}");
    assert!(said.ends_with("\r\x1b[K"), "the line is erased: {said:?}");
    assert_eq!(slow_link(&bench, "0", true), "", "short work");
    assert_eq!(slow_link(&bench, "1.3", false), "", "no terminal");
}

#[test]
fn every_command_has_help() {
    let bench = Bench::new();
    for (line, expected) in [
        ("culd help", "culd doctor"),
        ("culd help dump", "culd dump [flags]"),
        ("culd install-as-nvlink --help", "--mode <mode>"),
        ("culd help install-as-nvlink", "--mode <mode>"),
        ("culd doctor --help", "culd doctor"),
    ] {
        let out = bench.run(line);
        assert!(out.status.success() && text(&out.stdout).contains(expected), "{line}");
    }
    assert_eq!(bench.said("culd help nothing").0, Some(1));
}

#[test]
fn the_doctor_names_what_does_not_fit() {
    let bench = Bench::new();
    bench.toolkit("11.8.89");
    let out = text(&bench.run("culd doctor --toolkit cuda").stdout);
    assert!(
        out.contains("11.8.89, ") && out.contains("culd cannot be the nvlink of CUDA 11.8.89"),
        "{out}"
    );
    bench.toolkit("13.2.51");
    let out = text(&bench.run("culd doctor --toolkit cuda").stdout);
    assert!(!out.contains("cannot be"), "{out}");
}
