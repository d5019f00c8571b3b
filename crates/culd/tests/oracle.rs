//! Random command lines given to the real nvlink and to this program: exit code, both streams and every file must be the same.
//!
//! Runs only when CULD_ORACLE names a directory with the real nvlink and ptxas. CULD_ORACLE_RUNS sets how many lines are tried,
//! CULD_ORACLE_SEED where they start; a failure prints the seed of its line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel that needs a function from elsewhere, and a module that has it.
const MODULES: [(&str, &str); 2] = [("a", include_str!("data/a.ptx")), ("b", include_str!("data/b.ptx"))];

/// Option files, by name.
const OPTION_FILES: [(&str, &str); 14] = [
    ("v.opt", "-v"),
    ("two.opt", "-v\n -maxrregcount=7\t-w"),
    ("nested.opt", "-optf v.opt -r"),
    ("self.opt", "-optf self.opt"),
    ("unknown.opt", "-v -foo"),
    ("open.opt", "-o"),
    ("quote.opt", "-l \"a b\" -L x\\ y"),
    ("stray.opt", "-v \"abc"),
    ("tail.opt", "-v abc\\"),
    ("single.opt", "-l 'a b'"),
    ("empty.opt", ""),
    ("escaped.opt", "-l a\\\\b -l=\\\"a\\,b\\\" -nvvmpath \"x\\\"y\""),
    ("inputs.opt", "a.cubin\nb.cubin"),
    ("list.opt", "-kernels-used k,\"l,m\" -Xptxas=-v,-O1"),
];

/// Pieces of command lines; the first part is the usual link.
const PIECES: &[&str] = &[
    "-v",
    "--verbose",
    "-g",
    "--debug",
    "-r",
    "-w",
    "-Werror",
    "-disable-infos",
    "-report-arch",
    "--report-arch",
    "-extrawarn",
    "-suppress-debug-info",
    "-suppress-arch-warning",
    "-suppress-stack-size-warning",
    "-preserve-relocs",
    "-dump-callgraph",
    "-dump-callgraph-no-demangle",
    "-ignore-host-info",
    "-use-host-info",
    "-keep-system-libraries",
    "-emit-ptx",
    "-lto",
    "-dlto",
    "--link-time-opt",
    "-Ofc=max",
    "-Ofc 0",
    "-Ofc=x",
    "-nvvmpath=/n",
    "-nvvmpath y",
    "-m64",
    "-m 64",
    "-m=0x40",
    "-m=0100",
    "-m32",
    "-mabc",
    "--machine=64",
    "-cpu-arch=X86_64",
    "-cpu-arch AARCH64",
    "-cpu-arch=x",
    "-lfoo",
    "-l bar,baz",
    "-l=",
    "-l \"x,y\",z",
    "-l a\"b",
    "-Lfoo",
    "-L ld",
    "--library-path=x",
    "-la",
    "-kernels-used=k",
    "-kernels-used ,",
    "-variables-used=v",
    "-Xptxas=-O1",
    "-Xptxas -v",
    "-Xnvvm=-a,-b",
    "-maxrregcount=32",
    "-maxrregcount=0x20",
    "-maxrregcount 5",
    "-maxrregcount=08",
    "-maxrregcount=",
    "-maxrregcount=-1",
    "-maxrregcount=99999999999",
    "-maxrregcount=99999999999x",
    "-split-compile=2",
    "-split-compile= 3",
    "-split-compile-extended=4",
    "-device-stack-protector=true",
    "-device-stack-protector false",
    "-device-stack-protector=1",
    "-device-stack-protector",
    "-time=t.csv",
    "-time -",
    "-time=/nonexist/t",
    "-uidx=nofile",
    "-uidx=v.opt",
    "--uidx-file=",
    "--register-link-binaries=r.c",
    "--register-link-binaries s.c",
    "--register-link-binaries=/nonexist/r",
    "-register-link-binaries=r",
    "-o p.cubin",
    "-o=o.cubin",
    "-o /nonexist/o",
    "-o",
    "--output-file=o.cubin",
    "--output-file",
    "-ofile",
    "--o=x",
    "-arch=sm_90",
    "-arch=sm_80",
    "-arch sm_91",
    "-arch=compute_90",
    "-arch=lto_90",
    "-arch",
    "--arch=sm_90",
    "-arch=",
    "-V",
    "-h",
    "--help",
    "--version",
    "-foo",
    "--foo",
    "--foo=bar",
    "-foo=bar",
    "--",
    "-",
    "-=",
    "---v",
    "-v=1",
    "-v=",
    "--verbose=",
    "-verbose",
    "--v",
    "-ghls",
    "-ghls=lcs-aug",
    "-ghls lcs-aug",
    "-ghls=x",
    "--tool-name=foo",
    "-tool-name x",
    "--force-rela",
    "-shared",
    "--host-ccbin gcc",
    "-host-ccbin=cc",
    "-Xlinker a,b",
    "--host-linker-options=-z",
    "--allow-undefined-globals",
    "--reserve-null-pointer",
    "-dont-reserve-null-pointer",
    "--disable-smem-reservation=true",
    "-disable-smem-reservation",
    "--enable-extended-smem=false",
    "--syscall-const-offset=16",
    "--syscall-const-offset=x",
    "--cuda-api-version=13.0",
    "--cuda-api-version=12.4",
    "--cuda-api-version=13",
    "--cuda-api-version=13.0x",
    "--force-partial-lto",
    "--force-whole-lto",
    "-uumn",
    "--fdcmpt",
    "--edbg=1",
    "-verbose-tkinfo=true",
    "--verbose-tkinfo false",
    "-dot=d.dot",
    "--dot-file=/nonexist/d",
    "-dot",
    "--nv-host=nofile",
    "--nv-host=v.opt",
    "--device-stack-protector-frame-size-threshold=8",
    "zz.cubin",
    "text.cubin",
    "tiny.cubin",
    "a.cubin",
    "empty.cubin",
    "host.cubin",
    "-Lld -lshort",
    "-optf v.opt",
    "-optf=two.opt",
    "-optf nested.opt",
    "-optf self.opt",
    "-optf unknown.opt",
    "-optf open.opt",
    "-optf quote.opt",
    "-optf stray.opt",
    "-optf tail.opt",
    "-optf single.opt",
    "-optf empty.opt",
    "-optf escaped.opt",
    "-optf inputs.opt",
    "-optf list.opt",
    "-optf nofile.opt",
    "-optf v.opt,empty.opt",
    "--options-file=v.opt",
];

/// A small random number generator (splitmix64): the same seed gives the same line everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % below as u64) as usize
    }
}

/// A random command line: mostly a good link with a few pieces put in anywhere.
fn command_line(seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut groups: Vec<Vec<String>> = Vec::new();
    for usual in ["-arch=sm_90", "-o o.cubin", "a.cubin", "b.cubin"] {
        if random.next(12) > 0 {
            groups.push(usual.split(' ').map(Into::into).collect());
        }
    }
    for _ in 0..random.next(6) {
        let piece = PIECES[random.next(PIECES.len())];
        let place = random.next(groups.len() + 1);
        groups.insert(place, piece.split(' ').map(Into::into).collect());
    }
    groups.concat()
}

fn prepare(tools: &Path, dir: &Path) {
    for (name, body) in MODULES {
        let source = dir.join(format!("{name}.ptx"));
        fs::write(&source, body).unwrap();
        let made = Command::new(tools.join("ptxas"))
            .args(["-arch=sm_90", "--compile-only", "-o"])
            .arg(dir.join(format!("{name}.cubin")))
            .arg(&source)
            .status()
            .expect("ptxas runs");
        assert!(made.success());
        fs::remove_file(source).unwrap();
    }
    for (name, text) in OPTION_FILES {
        fs::write(dir.join(name), text).unwrap();
    }
    fs::create_dir(dir.join("ld")).unwrap();
    fs::write(dir.join("ld/libshort.a"), "not an archive").unwrap();
    fs::write(dir.join("text.cubin"), "x".repeat(200)).unwrap();
    fs::write(dir.join("tiny.cubin"), "x").unwrap();
    fs::write(dir.join("empty.cubin"), "").unwrap();
    let mut host = fs::read(dir.join("b.cubin")).unwrap();
    host[18] = 62;
    fs::write(dir.join("host.cubin"), host).unwrap();
}

/// What a run did.
#[derive(Debug, PartialEq)]
struct Seen {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

fn run(program: &Path, line: &[String], inputs: &Path, dir: &Path) -> Seen {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir.join("ld")).unwrap();
    for entry in fs::read_dir(inputs).unwrap().map(Result::unwrap).filter(|e| e.path().is_file()) {
        fs::copy(entry.path(), dir.join(entry.file_name())).unwrap();
    }
    fs::copy(inputs.join("ld/libshort.a"), dir.join("ld/libshort.a")).unwrap();
    let out = Command::new(program).args(line).current_dir(dir).output().expect("the linker runs");
    let files = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_file() && !inputs.join(p.file_name().unwrap()).exists())
        .map(|p| (p.file_name().unwrap().into(), fs::read(p).unwrap()))
        .collect();
    Seen {
        code: out.status.code(),
        stdout: String::from_utf8_lossy(&out.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
        files,
    }
}

#[test]
fn random_command_lines_behave_like_nvlink() {
    let Some(tools) = std::env::var_os("CULD_ORACLE").map(PathBuf::from) else {
        return;
    };
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let (runs, first) = (number("CULD_ORACLE_RUNS", 400), number("CULD_ORACLE_SEED", 1));
    let work = tempfile::tempdir().unwrap();
    let inputs = work.path().join("inputs");
    fs::create_dir(&inputs).unwrap();
    prepare(&tools, &inputs);
    let ours = work.path().join("bin/nvlink");
    fs::create_dir(work.path().join("bin")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_culd"), &ours).unwrap();
    // Both run in a directory of the same name: registration names contain it.
    let dir = work.path().join("run");
    let (mut same, mut crashed, mut reports) = (0, 0, String::new());
    for seed in first..first + runs {
        let line = command_line(seed);
        let theirs = run(&tools.join("nvlink"), &line, &inputs, &dir);
        if theirs.code.is_none() {
            crashed += 1;
            continue;
        }
        let mine = run(&ours, &line, &inputs, &dir);
        if theirs == mine {
            same += 1;
            continue;
        }
        let files = |s: &Seen| {
            s.files
                .iter()
                .map(|(n, b)| format!("{}:{}", n.display(), b.len()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        reports += &format!("seed {seed}: nvlink {}\n", line.join(" "));
        for (who, seen) in [("theirs", &theirs), ("mine", &mine)] {
            let head: String = seen.stdout.chars().take(200).collect();
            reports += &format!(
                "  {who} {:?} [{}] {head:?}\n    {}\n",
                seen.code,
                files(seen),
                seen.stderr.trim_end().replace('\n', "\n    ")
            );
        }
    }
    println!("{reports}same {same} of {} ({crashed} more crash nvlink)", runs - crashed);
    assert_eq!(same, runs - crashed, "{reports}");
}
