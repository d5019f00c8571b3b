//! The program under both of its names, on small objects (data/*.ptx, compiled by `ptxas -arch=sm_90 --compile-only`).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A directory with the two objects and the program under both names.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        for name in ["a.cubin", "b.cubin", "c.cubin"] {
            fs::copy(data.join(name), dir.path().join(name)).unwrap();
        }
        for name in ["culd", "nvlink"] {
            link_program(&dir.path().join(name));
        }
        Bench { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Runs `culd ...` or `nvlink ...`.
    fn run(&self, line: &str) -> Output {
        self.run_in(".", line)
    }

    fn run_in(&self, dir: &str, line: &str) -> Output {
        let mut words = line.split(' ');
        Command::new(self.path(words.next().unwrap()))
            .args(words)
            .current_dir(self.path(dir))
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
        "culd: error: 1 undefined reference\n  f(int) [_Z1fi]\n    referenced by a.cubin\n    in kernel ka(int*) (a.cubin)\n    \
         hint: no input defines it: is an object or a library missing?\n"
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
    let names: Vec<_> = fs::read_dir(bench.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 6, "nothing is left behind: {names:?}");
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
    let (code, said) = bench.fails("culd -arch=sm_90 a.cubin b.cubin -lmissing --strict-libraries -o y");
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
        ("culd -arch=sm_80 a.cubin b.cubin -o x", "a.cubin was compiled for sm_90, not sm_80"),
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
    assert_eq!(bench.read("saved/out/x.cubin"), bench.read("x.cubin"));
}

#[test]
fn a_saved_link_has_the_members_of_thin_archives() {
    let bench = Bench::new();
    fs::create_dir(bench.path("parts")).unwrap();
    fs::rename(bench.path("b.cubin"), bench.path("parts/b.cubin")).unwrap();
    let header = |name: &str, size: usize| format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
    let (names, size) = ("parts/b.cubin/\n\n", bench.read("parts/b.cubin").len());
    let thin = ["!<thin>\n", &header("//", names.len()), names, &header("/0", size)].concat();
    fs::write(bench.path("b.a"), thin).unwrap();
    bench.links("culd -arch=sm_90 a.cubin b.a -o x.cubin --save-repro=saved");
    fs::remove_dir_all(bench.path("parts")).unwrap();
    let out = bench.run_in("saved", "culd @response.txt");
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(bench.read("saved/out/x.cubin"), bench.read("x.cubin"));
}

#[test]
fn a_repeated_link_has_the_same_bytes() {
    let bench = Bench::new();
    for directory in ["src/one", "src/two", "elsewhere"] {
        fs::create_dir_all(bench.path(directory)).unwrap();
    }
    fs::rename(bench.path("a.cubin"), bench.path("src/one/part.cubin")).unwrap();
    fs::copy(bench.path("b.cubin"), bench.path("src/two/part.cubin")).unwrap();
    // A library that is found, host libraries that are not, a response file, paths of the current directory.
    let member = bench.read("b.cubin");
    let header = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "b.cubin/", 0, 0, 0, 644, member.len());
    fs::write(bench.path("src/libb.a"), [b"!<arch>\n", header.as_bytes(), &member].concat()).unwrap();
    fs::write(
        bench.path("flags.txt"),
        "-arch=sm_90 -lb,pthread -L src -lm \"one/../src/one/part.cubin\"",
    )
    .unwrap();
    fs::create_dir(bench.path("one")).unwrap();
    let link = |flags: &str, line: &str, directory: &str| {
        let out = Command::new(bench.path("culd"))
            .args(line.split(' '))
            .current_dir(bench.path(directory))
            .env("CULD_FLAGS", flags)
            .env_remove("LIBRARY_PATH")
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&out.stderr));
    };
    for (number, flags) in ["", "--verbose-tkinfo=true", "-g -r", "--verbose-tkinfo=true --map={output}.map"]
        .into_iter()
        .enumerate()
    {
        let saved = format!("elsewhere/saved{number}");
        link(&format!("{flags} --save-repro={saved}"), "@flags.txt -o src/x.cubin", ".");
        // It does not depend on what was there.
        fs::rename(bench.path("src"), bench.path("gone")).unwrap();
        link("", "@response.txt", &saved);
        fs::rename(bench.path("gone"), bench.path("src")).unwrap();
        assert_eq!(bench.read(&format!("{saved}/out/x.cubin")), bench.read("src/x.cubin"), "{flags}");
        let readme = String::from_utf8(bench.read(&format!("{saved}/README.txt"))).unwrap();
        assert!(readme.contains("@flags.txt") && readme.contains("CULD_FLAGS="));
    }
    let note = String::from_utf8_lossy(&bench.read("elsewhere/saved0/out/x.cubin")).into_owned();
    assert!(note.contains("-L src "), "the note has the original command line");
}

#[test]
fn reports_and_dependencies_are_written() {
    let bench = Bench::new();
    let said = bench.links("culd -arch=sm_90 a.cubin b.cubin -o x.cubin --json-report=r.json --dependency-file=x.d");
    assert_eq!(said, "", "a report does not make the link talk");
    let report: serde_json::Value = serde_json::from_slice(&bench.read("r.json")).unwrap();
    assert_eq!(report["status"], "linked");
    assert_eq!(report["inputs"][1]["name"], "b.cubin");
    assert_eq!(report["kernels"][0]["demangled"], "ka(int*)");
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

#[test]
fn the_graph_has_calls_through_pointers() {
    let bench = Bench::new();
    bench.links("nvlink -arch=sm_90 a.cubin b.cubin c.cubin -o x --dot-file=x.dot");
    let expected = "digraph callgraph {\n_Z2kaPi -> _Z1fi;\n_Z1hv -> _Z1gv;\n_Z2kcv -> _Z1uv;\n_Z2kcv -> _Z1hv;\n}\n";
    assert_eq!(String::from_utf8(bench.read("x.dot")).unwrap(), expected);
    bench.links("nvlink -arch=sm_90 -r c.cubin -o x --dot-file=x.dot");
    assert!(
        !contains(&bench.read("x.dot"), "_Z2kcv -> _Z1uv"),
        "a relocatable link only knows direct calls"
    );
    let (code, _) = bench.fails("nvlink -arch=sm_90 a.cubin -o y --dot-file=y.dot");
    assert_eq!(code, Some(255));
    assert_eq!(bench.read("y.dot"), b"digraph callgraph {\n_Z2kaPi -> _Z1fi;\n}\n");
    let (code, _) = bench.fails("nvlink -arch=sm_90 a.cubin b.cubin b.cubin -o z --dot-file=z.dot");
    assert_eq!((code, bench.path("z.dot").exists()), (Some(1), false), "merging failed");
    bench.links("nvlink -arch=compute_90 a.cubin -o y --dot-file=v.dot");
    assert_eq!(bench.read("v.dot"), b"digraph callgraph {\n}\n");
}

#[test]
fn the_map_says_where_everything_went() {
    let bench = Bench::new();
    bench.links("culd -arch=sm_90 a.cubin b.cubin c.cubin -o x --map=x.map");
    let map = String::from_utf8(bench.read("x.map")).unwrap();
    assert!(map.starts_with("Link map of x for sm_90\n\n.shstrtab  at 0x40, "), "{map}");
    let block = |name: &str| {
        let start = map.find(&format!("\n{name}  at ")).unwrap() + 1;
        map[start..].split("\n\n").next().unwrap().lines().skip(1).collect::<Vec<_>>()
    };
    assert_eq!(
        block(".nv.global.init"),
        [
            "         0x0        4  a.cubin(.nv.global.init)",
            "         0x0        4      ga",
            "         0x4        4  b.cubin(.nv.global.init)",
            "         0x4        4      gb",
            "         0x8       20  c.cubin(.nv.global.init)",
            "         0x8       16      table",
        ]
    );
    assert_eq!(
        block(".nv.global"),
        ["         0x0        8  c.cubin(.nv.global)", "         0x0        8      slot"]
    );
    let code = block(".text._Z2kaPi");
    assert!(
        code[0].ends_with("  a.cubin(.text._Z2kaPi)") && code[1].ends_with("    kernel ka(int*) [_Z2kaPi]"),
        "{code:?}"
    );
    assert!(map.contains("\nShared memory\n         0x0       64      tile  c.cubin\n"), "{map}");
    let dropped = map.split("\nDropped\n").nth(1).unwrap();
    let reasons: Vec<&str> = dropped
        .lines()
        .map(str::trim_start)
        .map(|l| l.split_once("  ").unwrap().1)
        .collect();
    assert_eq!(
        reasons,
        [
            "c.cubin  f(int) [_Z1fi]: the copy in b.cubin was taken",
            "c.cubin  dead() [_Z4deadv]: no kernel reaches it",
            "c.cubin  ga: the copy in a.cubin was taken",
            "c.cubin  idle: no kernel reaches it",
        ]
    );
}

#[test]
fn chains_lead_from_a_kernel() {
    let bench = Bench::new();
    let ask = |symbol: &str, more: &str| bench.links(&format!("culd -arch=sm_90 a.cubin b.cubin c.cubin -o x --why-live={symbol}{more}"));
    assert_eq!(ask("_Z1gv", ""), "g() [_Z1gv] is kept:\n  kernel kc()\n  calls h()\n  calls g()\n");
    assert_eq!(ask("f", ""), "f(int) [_Z1fi] is kept:\n  kernel ka(int*)\n  calls f(int)\n");
    assert_eq!(
        ask("u", ""),
        "u() [_Z1uv] is kept:\n  kernel kc()\n  calls through a pointer that may lead to u()\n"
    );
    assert_eq!(
        ask("t", ""),
        "t(int) [_Z1ti] is kept:\n  variable table, which is always kept\n  holds the address of t(int)\n"
    );
    assert_eq!(ask("kc", ""), "kc() [_Z2kcv] is kept:\n  kernel kc()\n");
    assert_eq!(
        ask("tile", ""),
        "tile is kept:\n  kernel kc()\n  calls h()\n  calls g()\n  uses tile\n"
    );
    assert_eq!(ask("gb", ""), "gb is kept:\n  kernel ka(int*)\n  calls f(int)\n  uses gb\n");
    assert_eq!(ask("table", ""), "table is kept:\n  variable table, which is always kept\n");
    assert_eq!(ask("dead", ""), "dead() [_Z4deadv] is dropped: no kernel reaches it\n");
    assert_eq!(
        ask("idle,nosuch", ""),
        "idle is dropped: no kernel reaches it\nnosuch: no input mentions it\n"
    );
    assert_eq!(
        ask("ka", " --kernels-used=kc"),
        "ka(int*) [_Z2kaPi] is dropped: nothing launches it\n"
    );
    assert_eq!(
        ask("dead", " -g"),
        "dead() [_Z4deadv] is kept:\n  dead(), like everything in this kind of link\n"
    );
}

#[test]
fn times_come_phase_by_phase() {
    let bench = Bench::new();
    let said = bench.links("culd -arch=sm_90 a.cubin b.cubin -o x --time-phases --json-report=r.json");
    let rows: Vec<&str> = said.lines().map(|l| l.get(26..).unwrap()).collect();
    let engine = ["inputs", "resolve", "liveness", "merge", "layout", "plan", "arrange", "emit"];
    let mut expected = vec!["read inputs".to_string()];
    expected.extend(["open", "unpack", "ptxas", "order", "optimize"].map(|p| format!("  {p}")));
    expected.push("link".into());
    for phase in engine {
        expected.push(format!("  {phase}"));
        let parts: &[&str] = match phase {
            "merge" => &["records", "attributes"],
            "plan" => &["relocations", "strings"],
            _ => &[],
        };
        expected.extend(parts.iter().map(|p| format!("    {p}")));
    }
    expected.extend(["write output".into(), "total".into()]);
    assert_eq!(rows, expected);
    let report: serde_json::Value = serde_json::from_slice(&bench.read("r.json")).unwrap();
    let parts: Vec<&str> = report["phases"][1]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["phase"].as_str().unwrap())
        .collect();
    assert_eq!(parts, engine);
    bench.links("culd -arch=sm_90 a.cubin b.cubin -o x --json-report=r.json");
    let report: serde_json::Value = serde_json::from_slice(&bench.read("r.json")).unwrap();
    assert!(report["phases"].is_null(), "equal links give equal reports");
}

#[test]
fn reports_know_functions_sections_and_what_was_dropped() {
    let bench = Bench::new();
    bench.links("culd -arch=sm_90 a.cubin b.cubin c.cubin -o x --json-report=r.json");
    let report: serde_json::Value = serde_json::from_slice(&bench.read("r.json")).unwrap();
    let names: Vec<&str> = report["functions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["_Z2kaPi", "_Z1fi", "_Z1ti", "_Z1uv", "_Z1gv", "_Z1hv", "_Z2kcv"]);
    assert_eq!(
        (&report["functions"][1]["input"], &report["functions"][1]["kernel"]),
        (&"b.cubin".into(), &false.into())
    );
    assert_eq!(report["dropped"][0]["why"]["other_copy"], "b.cubin");
    assert_eq!(report["dropped"][1]["why"], "unreached");
    assert_eq!(report["sections"][0]["name"], ".shstrtab");
    assert_eq!(report["kept_sass"].as_array().unwrap().len(), 0);
}

#[test]
fn a_file_can_ride_along() {
    let bench = Bench::new();
    fs::write(bench.path("h"), "hello host").unwrap();
    bench.links("nvlink -arch=sm_90 a.cubin b.cubin -o x --nv-host=h");
    let file = bench.read("x");
    let cubin = cubin::Cubin::parse(&file).unwrap();
    let names: Vec<&[u8]> = cubin.sections().map(|s| s.unwrap().name).collect();
    let compat = names.iter().position(|n| *n == b".nv.compat").unwrap();
    assert_eq!(names[compat + 1], b".nv.host");
    let host = cubin.section_by_name(b".nv.host").unwrap();
    assert_eq!(
        (host.data, host.header.sh_type.get(), host.header.sh_addralign.get()),
        (&b"hello host"[..], 0x7000_0087, 8)
    );
}

/// A table has the address of a weak function whose copy beside it lost, and of a function that nothing calls: nvlink leaves the first
/// entry at 0, and removes what the second one's function calls.
#[test]
fn culd_keeps_what_tables_point_to() {
    let bench = Bench::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["weak1.cubin", "weak2.cubin"] {
        fs::copy(data.join(name), bench.path(name)).unwrap();
    }
    let functions = |name: &str| {
        bench.links(&format!("{name} -arch=sm_90 weak1.cubin weak2.cubin -o {name}.out"));
        let dump = bench.run(&format!("culd dump {name}.out")).stdout;
        let dump = String::from_utf8(dump).unwrap();
        let table = dump.split("patching .nv.constant3").nth(1).unwrap().split("\n\n").next().unwrap();
        let points_to = |f: &str| table.lines().any(|line| line.split_whitespace().any(|word| word == f));
        [points_to("f"), points_to("g"), dump.contains(".text.h")]
    };
    assert_eq!(functions("nvlink"), [false, true, false]);
    assert_eq!(functions("culd"), [true, true, true]);
}

/// A relocatable link with a debugger puts the address of dynamic shared memory into the code. nvlink then makes sections that end before it.
#[test]
fn culd_keeps_room_up_to_placed_dynamic_memory() {
    let bench = Bench::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::copy(data.join("dynamic.cubin"), bench.path("dynamic.cubin")).unwrap();
    let sizes = |line: &str| {
        bench.links(&format!("{line} -arch=sm_90 -o out"));
        let bytes = bench.read("out");
        let cubin = cubin::Cubin::parse(&bytes).unwrap();
        [b".nv.shared.k", b".nv.shared.l"].map(|name| cubin.section_by_name(name).map(|s| s.header.sh_size.get()))
    };
    let direct = sizes("culd -g dynamic.cubin");
    assert_eq!(direct, [Some(0x4d0); 2]);
    bench.links("culd -arch=sm_90 -r -g dynamic.cubin -o r.cubin");
    assert_eq!(sizes("culd r.cubin"), direct);
    assert_ne!(sizes("nvlink r.cubin"), direct);
}
