//! The program under both of its names, on two small objects (data/a.ptx and data/b.ptx, compiled by `ptxas -arch=sm_90 --compile-only`).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with the two objects and the program under both names.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for name in ["a.cubin", "b.cubin"] {
            fs::copy(data.join(name), folder.path().join(name)).unwrap();
        }
        for name in ["culd", "nvlink"] {
            link_program(&folder.path().join(name));
        }
        Bench { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Runs `culd ...` or `nvlink ...`.
    fn run(&self, line: &str) -> Output {
        self.run_in(".", line)
    }

    fn run_in(&self, folder: &str, line: &str) -> Output {
        let mut words = line.split(' ');
        Command::new(self.path(words.next().unwrap()))
            .args(words)
            .current_dir(self.path(folder))
            .env_remove("LIBRARY_PATH")
            .output()
            .unwrap()
    }

    /// Runs and returns exit code and standard error.
    fn fails(&self, line: &str) -> (Option<i32>, String) {
        let out = self.run(line);
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    }

    fn links(&self, line: &str) -> String {
        let (code, said) = self.fails(line);
        assert_eq!(code, Some(0), "{line}: {said}");
        said
    }
}

/// A copy can be busy while another test starts a program, so this is a link where that is possible.
fn link_program(at: &Path) {
    #[cfg(unix)]
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_culd"), at).unwrap();
    #[cfg(not(unix))]
    fs::copy(env!("CARGO_BIN_EXE_culd"), at).unwrap();
}

fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|w| w == needle.as_bytes())
}

#[test]
fn the_name_decides_who_signs() {
    let bench = Bench::new();
    assert_eq!(bench.links("culd -arch=sm_90 a.cubin b.cubin -o c.cubin"), "");
    assert_eq!(bench.links("nvlink -arch=sm_90 a.cubin b.cubin -o n.cubin"), "");
    assert!(contains(
        &bench.read("n.cubin"),
        "\0nvlink\0Cuda compilation tools, release 13.0, V13.0.88\0"
    ));
    assert!(contains(&bench.read("c.cubin"), "\0culd\0culd "));
    bench.links("nvlink -arch=sm_90 a.cubin b.cubin -o t.cubin --tool-name=mine");
    assert!(contains(&bench.read("t.cubin"), "\0mine\0Cuda"));
}

#[test]
fn help_and_version_go_to_standard_output() {
    let bench = Bench::new();
    let out = bench.run("nvlink --help");
    assert_eq!((out.stdout.len(), out.stderr.len(), out.status.code()), (8755, 0, Some(0)));
    let out = bench.run("nvlink -V");
    assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), 5);
    assert!(contains(&bench.run("culd --help").stdout, "--json-report <file>"));
    assert!(contains(&bench.run("culd -V").stdout, "culd 0."));
}

#[test]
fn undefined_references_say_who_asks() {
    let bench = Bench::new();
    let (code, said) = bench.fails("nvlink -arch=sm_90 a.cubin -o x");
    assert_eq!(
        (code, said.as_str()),
        (Some(255), "nvlink error   : Undefined reference to '_Z1fi' in 'a.cubin'\n")
    );
    let (code, said) = bench.fails("culd -arch=sm_90 a.cubin -o x");
    assert_eq!(code, Some(255));
    assert_eq!(
        said,
        "culd: error: 1 undefined reference\n  f(int) [_Z1fi]\n    asked for by a.cubin\n"
    );
}

#[test]
fn a_failed_link_leaves_the_output_alone() {
    let bench = Bench::new();
    fs::write(bench.path("x"), "precious").unwrap();
    for line in [
        "nvlink -arch=sm_90 a.cubin -o x",
        "culd -arch=sm_90 a.cubin a.cubin b.cubin -o x",
        "culd -arch=sm_80 a.cubin b.cubin -o x",
    ] {
        assert_ne!(bench.run(line).status.code(), Some(0));
        assert_eq!(bench.read("x"), b"precious", "{line}");
    }
    let names: Vec<_> = fs::read_dir(bench.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 5, "nothing is left behind: {names:?}");
}

#[test]
fn culd_is_strict_about_what_nvlink_drops() {
    let bench = Bench::new();
    fs::write(
        bench.path("notes.txt"),
        "not a device object, but long enough to be looked at by anybody",
    )
    .unwrap();
    bench.links("nvlink -arch=sm_90 a.cubin b.cubin notes.txt -lmissing -o x");
    let (code, said) = bench.fails("culd -arch=sm_90 a.cubin b.cubin notes.txt -o y");
    assert_eq!(code, Some(255), "{said}");
    assert!(said.contains("notes.txt"), "{said}");
    let (code, said) = bench.fails("culd -arch=sm_90 a.cubin b.cubin -lmissing -o y");
    assert_ne!(code, Some(0));
    assert!(said.contains("-lmissing"), "{said}");
    assert!(!bench.path("y").exists());
}

#[test]
fn culd_refuses_what_makes_no_sense() {
    let bench = Bench::new();
    bench.links("nvlink -arch=compute_90 a.cubin b.cubin -o x");
    for (line, words) in [
        ("culd -arch=compute_90 a.cubin b.cubin -o x", "virtual architecture"),
        ("culd -arch=sm_90 a.cubin b.cubin -o x --threads=-1", "--threads"),
        (
            "culd -arch=sm_80 a.cubin b.cubin -o x",
            "a.cubin was compiled for another architecture than sm_80",
        ),
        ("culd -o x", "no input files"),
    ] {
        let (code, said) = bench.fails(line);
        assert!(code != Some(0) && said.contains(words), "{line}: {said}");
    }
    assert!(!bench.path("x").exists());
}

#[test]
fn mistyped_flags_get_a_suggestion_from_culd_only() {
    let bench = Bench::new();
    assert_eq!(
        bench.fails("culd --verbos"),
        (Some(1), "culd: error: unknown flag --verbos; did you mean --verbose?\n".into())
    );
    assert_eq!(
        bench.fails("nvlink --verbos"),
        (Some(1), "nvlink fatal   : Unknown option '-verbos'\n".into())
    );
    assert_eq!(
        bench.fails("nvlink --threads=2"),
        (Some(1), "nvlink fatal   : Unknown option '-threads'\n".into())
    );
    let (_, said) = bench.fails("culd --color=always --verbos");
    assert!(!said.contains('\x1b'), "colour is known only when the line is understood");
    let (_, said) = bench.fails("culd --color=always -arch=sm_90");
    assert!(said.starts_with("culd: \x1b[1;31merror:\x1b[0m "), "{said:?}");
}

#[test]
fn response_files_hold_arguments() {
    let bench = Bench::new();
    fs::write(bench.path("args"), "-arch sm_90\n'a.cubin' \"b.cubin\" -o x.cubin --trace").unwrap();
    assert_eq!(bench.links("culd @args"), "a.cubin\nb.cubin\n");
    assert!(bench.path("x.cubin").exists());
    assert_eq!(
        bench.fails("nvlink -arch=sm_90 -o x @args"),
        (Some(1), "nvlink fatal   : Could not open input file '@args'\n".into())
    );
}

#[test]
fn a_saved_link_can_be_repeated_elsewhere() {
    let bench = Bench::new();
    bench.links("culd -arch=sm_90 -v a.cubin b.cubin -o x.cubin --save-repro=saved");
    let out = bench.run_in("saved", "culd @response.txt");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(bench.read("saved/out.cubin"), bench.read("x.cubin"));
}

#[test]
fn reports_and_dependencies_are_written() {
    let bench = Bench::new();
    let said = bench.links("culd -arch=sm_90 a.cubin b.cubin -o x.cubin --json-report=r.json --dependency-file=x.d");
    assert_eq!(said, "", "a report does not make the link talk");
    let report: serde_json::Value = serde_json::from_slice(&bench.read("r.json")).unwrap();
    assert_eq!(report["status"], "linked");
    assert_eq!(report["inputs"][1]["name"], "b.cubin");
    assert_eq!(report["kernels"][0]["demangled"], "ka(int *)");
    assert_eq!(report["output"]["size"], bench.read("x.cubin").len());
    assert_eq!(bench.read("x.d"), b"x.cubin: \\\n  a.cubin \\\n  b.cubin\n\na.cubin:\n\nb.cubin:\n");
    bench.fails("culd -arch=sm_90 a.cubin -o x.cubin --json-report=r.json");
    let report: serde_json::Value = serde_json::from_slice(&bench.read("r.json")).unwrap();
    assert_eq!(
        (&report["status"], &report["messages"][0]["code"]),
        (&"errors".into(), &"UndefinedReference".into())
    );
}

#[cfg(unix)]
#[test]
fn output_goes_anywhere() {
    let bench = Bench::new();
    bench.links("nvlink -arch=sm_90 a.cubin b.cubin -o x.cubin");
    assert_eq!(
        bench.run("nvlink -arch=sm_90 a.cubin b.cubin -o /dev/stdout").stdout,
        bench.read("x.cubin")
    );
    bench.links("nvlink -arch=sm_90 a.cubin b.cubin -o /dev/null");
    let (code, said) = bench.fails("nvlink -arch=sm_90 a.cubin b.cubin -o no/x");
    assert_eq!(
        (code, said.as_str()),
        (Some(1), "nvlink fatal   : Could not open output file 'no/x'\n")
    );
}

#[test]
fn threads_do_not_change_the_output() {
    let bench = Bench::new();
    bench.links("culd -arch=sm_90 a.cubin b.cubin -o x --threads=1");
    bench.links("culd -arch=sm_90 a.cubin b.cubin -o y --threads=3 --verify");
    assert_eq!(bench.read("x"), bench.read("y"));
}
