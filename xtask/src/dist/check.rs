//! The tests of a program on its platform.
//!
//! 1. Recorded links: text, exit code and bytes of each must be those of nvlink. The hash of all results is the same on every platform.
//! 2. Damaged inputs: the test `invalid`, with the program of the platform.
//! 3. Commands and surroundings ([`CHECKS`]): each is one test. Texts of `dump` and `diff` must be the same on every platform, too, and are part of
//!    the hash.

use super::{Place, Plan, Program, hash, sandbox};
use crate::report::{Report, parallel};
use crate::test::counted;
use culd_tests::fixture::Fixture;
use culd_tests::run::RUNNER_VARIABLE;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

/// Result of the tests.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) total: usize,
    /// Of all recorded links and texts; `None` if they did not run.
    pub(crate) hash: Option<String>,
}

/// Runs all tests; `plan.quick` leaves out recorded links and damaged inputs.
pub(crate) fn portable(place: &Place<'_>, program: &Program, plan: &Plan, report: &Report) -> Result<Outcome> {
    let before = report.counts();
    let bench = Bench::new(place, program)?;
    let mut texts = Vec::new();
    for (name, check) in CHECKS {
        let result = check(&bench);
        let failure = result.as_ref().err().map(ToString::to_string);
        report.named(&format!("{}: {name}", program.target.triple), failure.as_deref());
        texts.extend(result.ok().filter(|text| !text.is_empty()));
    }
    let mut hash = None;
    if !plan.quick {
        let links = recorded(&bench, plan, report)?;
        println!("{}: {} recorded files replayed", program.target.triple, links.len());
        let count = links.len();
        hash = Some(format!(
            "{} ({count} files)",
            hash::hex([texts, links].concat().join("\n").as_bytes())
        ));
        println!(
            "{}: hash of all results {}",
            program.target.triple,
            hash.as_deref().unwrap_or_default()
        );
        invalid(&bench, report)?;
    }
    let after = report.counts();
    let (passed, failed) = (after.0 - before.0, after.1 - before.1);
    Ok(Outcome {
        passed,
        total: passed + failed,
        hash,
    })
}

/// The program in a directory with the example.
pub(super) struct Bench<'a> {
    place: &'a Place<'a>,
    pub(super) program: &'a Program,
    pub(super) dir: PathBuf,
    pub(super) culd: PathBuf,
    nvlink: PathBuf,
}

/// The arguments of the example's link.
pub(super) const EXAMPLE: [&str; 3] = ["-arch=sm_90", "saxpy.cubin", "combine.cubin"];

impl<'a> Bench<'a> {
    fn new(place: &'a Place<'a>, program: &'a Program) -> Result<Self> {
        let dir = place.fresh(&format!("check/{}", program.target.triple))?;
        let example = place.context.root.join("examples/saxpy");
        for file in ["saxpy.cubin", "combine.cubin", "nvlink.cubin"] {
            copy(&example.join(file), &dir.join(file))?;
        }
        let bin = dir.join("bin");
        std::fs::create_dir(&bin).map_err(Error::file(&bin))?;
        let culd = bin.join(program.target.program());
        copy(&program.path, &culd)?;
        let nvlink = bin.join(program.target.program().replace("culd", "nvlink"));
        copy(&program.path, &nvlink)?;
        Ok(Self {
            place,
            program,
            dir,
            culd,
            nvlink,
        })
    }

    fn run(&self, program: &Path, dir: &Path, args: &[&str]) -> Result<Output> {
        let mut command = self.program.command_for(program, dir);
        command.args(args).stdin(Stdio::null());
        command.output().map_err(Error::file(program))
    }

    /// Runs a command that must end with `code`; what it printed.
    fn ends(&self, program: &Path, dir: &Path, args: &[&str], code: i32) -> Result<Output> {
        let out = self.run(program, dir, args)?;
        match out.status.code() == Some(code) {
            true => Ok(out),
            false => Err(Error::Tool {
                tool: format!("{} {args:?}", program.display()),
                status: out.status.to_string(),
                text: String::from_utf8_lossy(&out.stderr).into_owned(),
            }),
        }
    }

    /// Links the example in `dir` as nvlink; the bytes of `output` must be nvlink's.
    fn link_example(&self, nvlink: &Path, dir: &Path, more: &[&str], output: &Path) -> Result<()> {
        self.ends(nvlink, dir, &[&EXAMPLE[..], more].concat(), 0)?;
        let read = |path: &Path| std::fs::read(path).map_err(Error::file(path));
        match read(output)? == read(&self.dir.join("nvlink.cubin"))? {
            true => Ok(()),
            false => Err(Error::Other(format!("{}: the bytes are not nvlink's", output.display()))),
        }
    }

    /// The words before the program, for the test harness.
    fn runner(&self) -> String {
        self.program.runner.as_ref().map(|w| w.join(" ")).unwrap_or_default()
    }

    /// A directory with the example's inputs.
    pub(super) fn inputs(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
        for file in ["saxpy.cubin", "combine.cubin"] {
            copy(&self.dir.join(file), &dir.join(file))?;
        }
        Ok(dir)
    }
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).map(drop).map_err(Error::file(from))
}

/// A test; it returns text that must be the same on every platform.
type Check = fn(&Bench<'_>) -> Result<String>;

/// The tests of commands and surroundings.
const CHECKS: [(&str, Check); 12] = [
    ("version", |b| Ok(text(&b.ends(&b.culd, &b.dir, &["--version"], 0)?))),
    ("link as nvlink", |b| {
        b.link_example(&b.nvlink, &b.dir, &["-o", "out.cubin"], &b.dir.join("out.cubin"))
            .map(empty)
    }),
    ("link as culd", |b| {
        b.ends(&b.culd, &b.dir, &[&EXAMPLE[..], &["-o", "own.cubin"]].concat(), 0)?;
        let file = b.dir.join("own.cubin");
        Ok(hash::hex(&std::fs::read(&file).map_err(Error::file(file))?))
    }),
    ("dump", |b| Ok(text(&b.ends(&b.culd, &b.dir, &["dump", "nvlink.cubin"], 0)?))),
    ("diff", |b| {
        Ok(text(&b.ends(&b.culd, &b.dir, &["diff", "saxpy.cubin", "nvlink.cubin"], 1)?))
    }),
    ("option file with CRLF", |b| {
        let options = b.dir.join("options.txt");
        std::fs::write(&options, "-arch=sm_90\r\nsaxpy.cubin\r\n combine.cubin\r\n-o crlf.cubin\r\n").map_err(Error::file(&options))?;
        b.ends(&b.nvlink, &b.dir, &["--options-file", "options.txt"], 0)?;
        b.ends(&b.culd, &b.dir, &["@options.txt"], 0).map(|_| String::new())
    }),
    ("names outside ASCII", |b| {
        let dir = b.inputs("größe 漢字 😀")?;
        let name = "é 𝄞.cubin";
        b.link_example(&b.nvlink, &dir, &["-o", name], &dir.join(name)).map(empty)
    }),
    ("path of 300 characters", |b| {
        let dir = b.inputs(&["d".repeat(100), "e".repeat(100), "f".repeat(100)].join("/"))?;
        let relative = dir.strip_prefix(&b.dir).unwrap_or(&dir).join("long.cubin");
        b.link_example(&b.nvlink, &b.dir, &["-o", &relative.to_string_lossy()], &b.dir.join(&relative))
            .map(empty)
    }),
    ("output over an existing file", |b| {
        let dir = b.inputs("existing")?;
        let out = dir.join("out.cubin");
        std::fs::write(&out, b"old").map_err(Error::file(&out))?;
        b.link_example(&b.nvlink, &dir, &["-o", "out.cubin"], &out)?;
        b.ends(&b.nvlink, &dir, &["-arch=sm_90", "no-such.cubin", "-o", "out.cubin"], 1)?;
        let files = std::fs::read_dir(&dir).map_err(Error::file(&dir))?.count();
        same("files after a failed link", &files.to_string(), "3")?;
        b.link_example(
            &b.nvlink,
            &dir,
            &["-o", if b.program.target.is_windows() { "NUL" } else { "/dev/null" }],
            &out,
        )
        .map(empty)
    }),
    ("install-as-nvlink", install_as_nvlink),
    ("other surroundings", other_surroundings),
    ("sandbox, another user, other times", sandbox::links),
];

fn empty((): ()) -> String {
    String::new()
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

pub(super) fn same(what: &str, got: &str, want: &str) -> Result<()> {
    match got == want {
        true => Ok(()),
        false => Err(Error::Other(format!("{what}: {got}, not {want}"))),
    }
}

/// A view of a toolkit of empty files links the example, is refreshed, and leaves the toolkit as it was.
fn install_as_nvlink(b: &Bench<'_>) -> Result<String> {
    if b.program.target.is_wasm() {
        return Ok(String::new());
    }
    let suffix = if b.program.target.is_windows() { ".exe" } else { "" };
    let toolkit = b.dir.join("cuda");
    let bin = toolkit.join("bin");
    std::fs::create_dir_all(toolkit.join("include")).map_err(Error::file(&bin))?;
    std::fs::create_dir_all(&bin).map_err(Error::file(&bin))?;
    let files = [format!("bin/nvcc{suffix}"), format!("bin/nvlink{suffix}"), "include/cuda.h".into()];
    for file in &files {
        std::fs::write(toolkit.join(file), file).map_err(Error::file(file))?;
    }
    let json = toolkit.join("version.json");
    std::fs::write(&json, r#"{"cuda_nvcc": {"version": "13.0.88"}}"#).map_err(Error::file(&json))?;
    for _ in ["new", "refreshed"] {
        b.ends(&b.culd, &b.dir, &["install-as-nvlink", "view", "--toolkit", "cuda"], 0)?;
    }
    let view = b.dir.join("view");
    let nvlink = view.join(&files[1]);
    b.link_example(&nvlink, &b.dir, &["-o", "view.cubin"], &b.dir.join("view.cubin"))?;
    for file in [&files[0], &files[2]] {
        same(
            file,
            &std::fs::read_to_string(view.join(file)).map_err(Error::file(view.join(file)))?,
            file,
        )?;
    }
    std::fs::remove_dir_all(&view).map_err(Error::file(&view))?;
    for file in &files {
        same(file, &std::fs::read_to_string(toolkit.join(file)).map_err(Error::file(file))?, file)?;
    }
    Ok(String::new())
}

/// Links with other threads, locales, time zones, temporary directories, without HOME and from read-only inputs: one hash.
fn other_surroundings(b: &Bench<'_>) -> Result<String> {
    let mut hashes = Vec::new();
    for (i, threads) in ["1", "2", "5"].into_iter().enumerate() {
        let dir = b.inputs(&format!("surroundings{i}/{}", "x".repeat(i * 7 + 1)))?;
        for file in ["saxpy.cubin", "combine.cubin"] {
            let path = dir.join(file);
            let mut rights = std::fs::metadata(&path).map_err(Error::file(&path))?.permissions();
            rights.set_readonly(true);
            std::fs::set_permissions(&path, rights).map_err(Error::file(&path))?;
        }
        let mut command = b.program.command_for(&b.culd, &dir);
        command.args(EXAMPLE).args([&format!("--threads={threads}"), "-o", "out.cubin"]);
        command.env("LC_ALL", ["C", "de_DE.UTF-8", "tr_TR.UTF-8"].get(i).unwrap_or(&"C"));
        command.env("TZ", ["UTC", "Asia/Tokyo", "America/New_York"].get(i).unwrap_or(&"UTC"));
        // wine keeps its registry below HOME
        if i > 0 && !b.program.target.is_windows() {
            command.env_remove("HOME").env_remove("USER").env_remove("TMPDIR");
        }
        let out = command.output().map_err(Error::file(&b.culd))?;
        same("exit", &out.status.to_string(), "exit status: 0")?;
        hashes.push(hash::hex(&std::fs::read(dir.join("out.cubin")).map_err(Error::file(dir))?));
    }
    hashes.dedup();
    same("hashes", &hashes.len().to_string(), "1")?;
    Ok(hashes.concat())
}

/// Replays every recorded link; one line with the hash of each.
fn recorded(b: &Bench<'_>, plan: &Plan, report: &Report) -> Result<Vec<String>> {
    let fixtures = b.place.context.root.join("tests/fixtures");
    let mut files = Vec::new();
    for dir in [fixtures.join("releases"), fixtures] {
        let entries = std::fs::read_dir(&dir).map_err(Error::file(&dir))?.filter_map(|e| e.ok());
        files.extend(entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "fixture")));
    }
    files.sort();
    let step = plan.count.map_or(1, |n| files.len().div_ceil(n.max(1)));
    let files: Vec<PathBuf> = files.into_iter().step_by(step).collect();
    let lines = Mutex::new(Vec::new());
    parallel(&files, plan.jobs, |file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let result = replay(b, file, &b.dir.join("recorded").join(&name));
        let failure = match &result {
            Ok((_, differences)) if differences.is_empty() => None,
            Ok((_, differences)) => Some(differences.clone()),
            Err(e) => Some(e.to_string()),
        };
        report.quiet(&format!("{}: {name}", b.program.target.triple), failure.as_deref());
        if let (Ok((hash, _)), Ok(mut lines)) = (result, lines.lock()) {
            lines.push(format!("{name} {hash}"));
        }
    });
    let mut lines = lines.into_inner().unwrap_or_default();
    lines.sort();
    let list = b.place.work.join(format!("links-{}.txt", b.program.target.triple));
    std::fs::write(&list, lines.join("\n")).map_err(Error::file(&list))?;
    Ok(lines)
}

/// The hash of what the links of a file did, and how they differ from nvlink's.
fn replay(b: &Bench<'_>, file: &Path, dir: &Path) -> Result<(String, String)> {
    let fixture = Fixture::decode(&std::fs::read(file).map_err(Error::file(file))?)?;
    let runner = b.runner();
    let variables = [(RUNNER_VARIABLE, runner.as_str()), ("WINEDEBUG", "-all")];
    let outcomes = fixture.outcomes(&b.nvlink, dir, &variables)?;
    let mut whole = Vec::new();
    for got in &outcomes {
        whole.extend(format!("exit {}\n", got.exit).into_bytes());
        for (name, bytes) in [("stdout", &got.stdout), ("stderr", &got.stderr)]
            .into_iter()
            .chain(got.files.iter().map(|(n, b)| (n.as_str(), b)))
        {
            whole.extend(format!("{name} {}\n", hash::hex(bytes)).into_bytes());
        }
    }
    let differences: Vec<String> = fixture
        .compare(outcomes)
        .iter()
        .map(|(i, _, d)| format!("link {}: {d}", i + 1))
        .collect();
    let _ = std::fs::remove_dir_all(dir);
    Ok((hash::hex(&whole), differences.join("\n")))
}

/// The test `invalid` with the program of the platform.
fn invalid(b: &Bench<'_>, report: &Report) -> Result<()> {
    let mut cargo: Command = b.place.context.cargo();
    cargo.args(["test", "--quiet", "-p", "culd-tests", "--test", "invalid"]);
    cargo
        .env("CULD_BIN", &b.culd)
        .env(RUNNER_VARIABLE, b.runner())
        .env("WINEDEBUG", "-all")
        .stdout(Stdio::piped());
    let (passed, failed, _) = counted(&mut cargo)?;
    report.add(passed, failed);
    println!("{}: damaged inputs: {passed} passed, {failed} failed", b.program.target.triple);
    Ok(())
}
