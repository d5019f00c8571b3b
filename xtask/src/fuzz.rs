//! `cargo xtask fuzz`: the targets in `fuzz/coverage`, guided by the coverage they reach.
//!
//! 1. Build them on the stable toolchain: the compiler adds the counters and the comparisons that libFuzzer watches. The code is safe Rust with
//!    overflow checks and assertions on, so no address sanitizer is needed.
//! 2. Unpack the files to start from (`culd-fuzz unpack`): sound ones, and those that were kept in `fuzz/corpus`.
//! 3. Run every target for its time under limits of memory, time and size. A panic, a broken bound or a hang leaves a file in
//!    `target/guided/<target>/findings` and is a failure. A time limit that passes when the file is tried alone was a busy machine.
//! 4. `--keep`: reduce what was found to a set that reaches the same, and store it in `fuzz/corpus`.
//! 5. `--coverage`: give all these files to the targets in a build that counts lines and regions, and print a table by crate.

use crate::context::Context;
use crate::report::{Report, parallel};
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The targets, the most work first.
const TARGETS: [&str; 7] = [
    "jit",
    "link_two",
    "roundtrip",
    "parse_cubin",
    "parse_host_object",
    "parse_archive",
    "parse_fatbin",
];
/// What the compiler adds for libFuzzer.
const RUSTFLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";
/// Limits of every run; the bounds of a single file are in `fuzz/coverage/src/lib.rs`.
const LIMITS: [&str; 3] = ["-rss_limit_mb=1024", "-timeout=30", "-max_len=24000"];

/// What to do.
pub(crate) struct Plan {
    /// Targets by name; none for all.
    pub(crate) names: Vec<String>,
    /// Seconds per target.
    pub(crate) seconds: u64,
    /// Targets at a time.
    pub(crate) jobs: usize,
    /// Store what was found.
    pub(crate) keep: bool,
    /// Count lines and regions.
    pub(crate) coverage: bool,
    /// The tests of the workspace have been built.
    pub(crate) tested: bool,
}

/// The programs and directories of a run.
struct Guided {
    programs: PathBuf,
    directory: PathBuf,
}

/// Runs the targets into `report`.
pub(crate) fn run(context: &Context, plan: &Plan, report: &Report) -> Result<()> {
    let names: Vec<&str> = TARGETS
        .into_iter()
        .filter(|t| plan.names.is_empty() || plan.names.iter().any(|n| n == t))
        .collect();
    if names.is_empty() {
        return Err(Error::Other(format!("the targets are {}", TARGETS.join(", "))));
    }
    if plan.seconds > 0 || plan.keep {
        guided(context, plan, &names, report)?;
    }
    if plan.coverage {
        coverage(context)?;
    }
    Ok(())
}

/// Runs targets and keeps what they found.
fn guided(context: &Context, plan: &Plan, names: &[&str], report: &Report) -> Result<()> {
    let guided = Guided {
        programs: build(context)?,
        directory: context.target.join("guided"),
    };
    files(context, plan.tested, "unpack", &guided.directory)?;
    if plan.seconds > 0 {
        let before = spent();
        parallel(names, plan.jobs, |name| match guided.run(name, plan.seconds) {
            Ok(found) => report.named(&found.line, found.failure.as_deref()),
            Err(e) => report.named(name, Some(&e.to_string())),
        });
        println!("{} s of processor time", spent() - before);
    }
    if plan.keep {
        parallel(names, plan.jobs, |name| {
            let failure = guided.reduce(name).err().map(|e| e.to_string());
            report.named(&format!("{name}: reduced"), failure.as_deref());
        });
        files(context, plan.tested, "keep", &guided.directory)?;
    }
    Ok(())
}

/// Processor time of all children in seconds.
fn spent() -> i64 {
    crate::system::costs().map_or(0, |c| c.cpu / 1_000_000)
}

fn output(command: &mut Command) -> Result<Output> {
    command.output().map_err(|source| Error::Start {
        tool: command.get_program().to_string_lossy().into_owned(),
        source,
    })
}

/// Runs a command to its good end; what it printed.
fn good(command: &mut Command) -> Result<Output> {
    let out = output(command)?;
    if out.status.success() {
        return Ok(out);
    }
    Err(Error::Tool {
        tool: format!("{command:?}"),
        status: out.status.to_string(),
        text: String::from_utf8_lossy(&out.stderr).into_owned(),
    })
}

/// The machine that is compiled for: naming it keeps build scripts without counters.
fn host(rustc: &mut Command) -> Result<String> {
    let out = good(rustc.arg("-vV"))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| Error::Other("rustc does not name its host".into()))
}

/// Builds the targets; their directory.
fn build(context: &Context) -> Result<PathBuf> {
    let host = host(&mut Command::new("rustc"))?;
    let directory = context.root.join("fuzz/coverage");
    // The versions of the other builds, so that their proc macros need not be built again.
    let lock = directory.join("Cargo.lock");
    if !lock.exists() {
        std::fs::copy(context.root.join("Cargo.lock"), &lock).map_err(Error::file(lock))?;
    }
    let mut cargo = context.cargo();
    cargo
        .current_dir(&directory)
        .args(["build", "--quiet", "--target", &host, "--target-dir"]);
    good(cargo.arg(&context.target).env("RUSTFLAGS", RUSTFLAGS))?;
    Ok(context.target.join(host).join("debug"))
}

/// Has the plain fuzzer unpack or keep the files in `directory`.
fn files(context: &Context, tested: bool, task: &str, directory: &Path) -> Result<()> {
    let mut fuzz = Command::new(context.dev_programs(tested)?.join("culd-fuzz"));
    let out = good(fuzz.arg(task).arg("--dir").arg(directory))?;
    print!("{}", String::from_utf8_lossy(&out.stdout));
    Ok(())
}

/// What a run came to.
struct Found {
    line: String,
    failure: Option<String>,
}

impl Guided {
    /// A target with its limits.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.args(LIMITS).current_dir(self.directory.join(name));
        // PTX is refused: a process of ptxas for every file would be most of the time.
        // Only culd's own code is tested: NVIDIA's library, which links with -lto are handed to, crashes on damaged inputs.
        command
            .env("CULD_PTXAS", "/nonexistent/ptxas")
            .env("CULD_NVJITLINK", "/nonexistent/libnvJitLink.so");
        command
    }

    /// Runs a target for a while.
    fn run(&self, name: &str, seconds: u64) -> Result<Found> {
        let directory = self.directory.join(name);
        for part in ["found", "findings"] {
            std::fs::create_dir_all(directory.join(part)).map_err(Error::file(&directory))?;
        }
        let mut command = self.command(name);
        command.args([
            "-print_final_stats=1",
            "-artifact_prefix=findings/",
            &format!("-max_total_time={seconds}"),
        ]);
        let out = output(command.args(["found", "start"]))?;
        let text = String::from_utf8_lossy(&out.stderr);
        let number = |key: &str| {
            text.rsplit(key)
                .next()
                .and_then(|t| t.split_whitespace().next())
                .unwrap_or("?")
                .to_owned()
        };
        let (runs, edges, features) = (number("number_of_executed_units:"), number("cov:"), number("ft:"));
        let line = format!("{name}: {runs} files tried in {seconds} s, {edges} edges, {features} features");
        let failure = match out.status.success() {
            true => None,
            false => self.finding(name, &text)?,
        };
        Ok(Found { line, failure })
    }

    /// The finding that ended a run. None if it was a time limit that passes on the second try.
    fn finding(&self, name: &str, text: &str) -> Result<Option<String>> {
        let file = text
            .lines()
            .find_map(|l| l.split_once("Test unit written to "))
            .map(|(_, f)| f.trim());
        if let Some(file) = file.filter(|f| f.contains("timeout-"))
            && output(self.command(name).arg(file))?.status.success()
        {
            return Ok(None);
        }
        let path = file.map_or_else(|| "no file".to_owned(), |f| self.directory.join(name).join(f).display().to_string());
        let mut lines = text
            .lines()
            .skip_while(|l| !l.contains("panicked at") && !l.contains("ERROR: libFuzzer"));
        let why: Vec<&str> = lines.by_ref().take(2).collect();
        Ok(Some(format!("{path}\n{}", why.join("\n"))))
    }

    /// Reduces the files of a target to a few that reach the same.
    fn reduce(&self, name: &str) -> Result<()> {
        let directory = self.directory.join(name);
        let least = directory.join("least");
        if least.exists() {
            std::fs::remove_dir_all(&least).map_err(Error::file(&least))?;
        }
        for part in ["found", "least"] {
            std::fs::create_dir_all(directory.join(part)).map_err(Error::file(&directory))?;
        }
        good(
            self.command(name)
                .args(["-use_counters=0", "-set_cover_merge=1", "least", "found", "start"]),
        )
        .map(drop)
    }
}

/// Lines and regions that the files of all targets reach, by crate.
fn coverage(context: &Context) -> Result<()> {
    // Set by the toolchain that runs this program; another one is asked here.
    let nightly = |tool: &str| {
        let mut command = Command::new(tool);
        command.arg("+nightly").env_remove("RUSTUP_TOOLCHAIN").current_dir(&context.root);
        command
    };
    let host = host(&mut nightly("rustc"))?;
    let sysroot = good(nightly("rustc").args(["--print", "sysroot"]))?.stdout;
    let tools = Path::new(String::from_utf8_lossy(&sysroot).trim())
        .join("lib/rustlib")
        .join(&host)
        .join("bin");
    let target = context.target.join("lines");
    let mut cargo = nightly("cargo");
    cargo.args(["build", "--quiet", "-p", "culd-fuzz", "--target", &host, "--target-dir"]);
    good(cargo.arg(&target).env("RUSTFLAGS", "-Cinstrument-coverage"))?;
    let program = target.join(&host).join("debug/culd-fuzz");
    let (raw, merged) = (target.join("replay.profraw"), target.join("replay.profdata"));
    let out = good(Command::new(&program).arg("replay").env("LLVM_PROFILE_FILE", &raw))?;
    print!("{}", String::from_utf8_lossy(&out.stdout));
    let mut merge = Command::new(tools.join("llvm-profdata"));
    good(merge.args(["merge", "-sparse", "-o"]).args([&merged, &raw]))?;
    let mut export = Command::new(tools.join("llvm-cov"));
    export
        .args(["export", "--summary-only", "--instr-profile"])
        .args([&merged, &program]);
    let json: serde_json::Value = serde_json::from_slice(&good(&mut export)?.stdout).map_err(|e| Error::Other(e.to_string()))?;
    print!("{}", table(&json));
    Ok(())
}

/// The table of `llvm-cov export`, by crate of this repository.
fn table(json: &serde_json::Value) -> String {
    let mut crates: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
    let files = json["data"][0]["files"].as_array().map_or(&[][..], Vec::as_slice);
    for file in files {
        let name = file["filename"].as_str().unwrap_or_default();
        let Some((_, path)) = name.rsplit_once("/crates/") else { continue };
        let sums = crates.entry(path.split('/').next().unwrap_or_default()).or_default();
        let numbers = [
            ("lines", "covered"),
            ("lines", "count"),
            ("regions", "covered"),
            ("regions", "count"),
        ];
        for (sum, (what, which)) in sums.iter_mut().zip(numbers) {
            *sum += file["summary"][what][which].as_u64().unwrap_or(0);
        }
    }
    let percent = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 * 100.0 / all as f64 };
    let row = |(name, [a, b, c, d]): (&&str, &[u64; 4])| {
        format!(
            "| {name} | {a} of {b} ({:.0} %) | {c} of {d} ({:.0} %) |\n",
            percent(*a, *b),
            percent(*c, *d)
        )
    };
    let rows: String = crates.iter().map(row).collect();
    format!("| crate | lines | regions |\n|---|---|---|\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn lines_are_added_up_by_crate() {
        let file = |name: &str, covered: u64| {
            serde_json::json!({"filename": name, "summary": {
                "lines": {"count": 10, "covered": covered}, "regions": {"count": 4, "covered": 1}}})
        };
        let files = [
            file("/x/crates/cubin/src/a.rs", 5),
            file("/x/crates/cubin/src/b.rs", 7),
            file("/x/std.rs", 1),
        ];
        let json = serde_json::json!({"data": [{"files": files}]});
        let text = table(&json);
        assert!(
            text.ends_with("|---|---|---|\n| cubin | 12 of 20 (60 %) | 2 of 8 (25 %) |\n"),
            "{text}"
        );
    }
}
