//! `cargo xtask test`: everything that a change must pass.
//!
//! 1. Form: formatting, lints, documentation.
//! 2. Without CUDA: unit and integration tests, the bundled example, replay of recorded results, damaged inputs, short runs of
//!    the fuzz targets and of mutants.
//! 3. With the oracle: the conformance cases live, random links, fat binaries, C++ programs, programs that nvcc and CMake build;
//!    the Python package from its wheel, which needs pytest from the network.
//!
//! Every step prints its name, its own results and how long it took. A step that fails does not stop the later ones.

use crate::context::{Context, Linker, UNIT_TESTS, succeed};
use crate::report::Report;
use crate::{bench, conformance, fatbins, fuzz, mutate, nvcc, oracle, python, random, sass, versions};
use culd_tests::{Error, Result};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Links of the random test.
const RANDOM_LINKS: usize = 1700;
/// Links of the random test on architectures with two views per file.
const BLACKWELL_LINKS: usize = 650;
/// On how many of these architectures each case runs.
const BLACKWELL_PER_CASE: usize = 1;
/// Fat binaries.
const FATBINS: usize = 600;
/// The release that is compared beside the pinned one, its random links below sm_100 (half as many from there on).
const OTHER_VERSION: &str = "13.4.92";
const OTHER_LINKS: usize = 40;
/// Links of C++ programs.
const CXX_LINKS: usize = 100;
/// Links with a damaged input.
const MUTANTS: u64 = 5_000;
/// Seconds of each target that is guided by coverage.
const GUIDED_SECONDS: u64 = 5;

/// Runs all steps into `report`.
pub(crate) fn run(context: &Context, jobs: usize, offline: bool, report: &Report) -> Result<()> {
    let form = Steps {
        context,
        jobs,
        report,
        tools: None,
    };
    // The tools come over the network meanwhile.
    let tools = std::thread::scope(|scope| {
        let install = (!offline).then(|| scope.spawn(|| oracle::bin_dir(context)));
        form.cargo("fmt", &["fmt", "--all", "--", "--check", "-l"]);
        form.cargo(
            "clippy",
            &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        );
        form.cargo("docs", &["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"]);
        let failed = |_| Err(Error::Other("installing the tools failed".into()));
        install.map(|install| install.join().unwrap_or_else(failed)).transpose()
    })?;
    let steps = Steps {
        tools: tools.as_deref(),
        ..form
    };
    steps.step("instruction forms", || crate::isa::run(context, false, report));
    let unit_tests: Vec<&str> = UNIT_TESTS.into_iter().chain(["--no-fail-fast"]).collect();
    steps.tests("unit tests", &unit_tests, None);
    steps.step("fuzz", || {
        let plan = fuzz::Plan {
            names: Vec::new(),
            seconds: GUIDED_SECONDS,
            jobs,
            keep: false,
            coverage: false,
            tested: true,
        };
        fuzz::run(context, &plan, report)
    });
    steps.step("mutants", || {
        let plan = mutate::Plan {
            count: MUTANTS,
            seed: 1,
            jobs,
            is_test: true,
            nvlink: 0,
        };
        mutate::run(context, &plan, report)
    });
    let linker = steps.step("release build", || context.linker(None));
    let Some(linker) = linker else { return Ok(()) };
    steps.step("example", || example(context, &linker));
    steps.step("browser", || crate::browser::run(context, &linker, report));
    steps.tests(
        "recorded results",
        &["test", "--quiet", "-p", "culd-tests", "--no-fail-fast"],
        Some(&linker.culd),
    );
    steps.compared("counts", || bench::counts::run(context, &linker, false, report));
    if tools.is_none() {
        println!("left out (--offline): conformance, random links, fat binaries, C++ programs, nvcc programs, Python package");
        return Ok(());
    }
    steps.live(&linker);
    Ok(())
}

struct Steps<'a> {
    context: &'a Context,
    jobs: usize,
    report: &'a Report,
    tools: Option<&'a Path>,
}

impl Steps<'_> {
    /// Runs `work` as a named step.
    fn step<T>(&self, name: &str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("== {name}");
        let start = Instant::now();
        let result = work();
        let seconds = start.elapsed().as_secs_f64();
        let failure = result.as_ref().err().map(ToString::to_string);
        self.report.named(&format!("{name} ({seconds:.0} s)"), failure.as_deref());
        result.ok()
    }

    /// A step that is one cargo command.
    fn cargo(&self, name: &str, args: &[&str]) {
        self.step(name, || {
            let mut cargo = self.context.cargo();
            // warnings of rustdoc are failures
            cargo.args(args).env("RUSTDOCFLAGS", "-D warnings");
            succeed(&mut cargo)
        });
    }

    /// A step of many tests: their results are counted one by one.
    fn tests(&self, name: &str, args: &[&str], linker: Option<&Path>) {
        self.step(name, || {
            let mut cargo = self.context.cargo();
            cargo.args(args).stdout(Stdio::piped());
            if let Some(tools) = self.tools {
                cargo.env("CULD_ORACLE", tools);
            }
            if let Some(linker) = linker {
                cargo.env("CULD_BIN", linker);
            }
            let (passed, failed, good) = counted(&mut cargo)?;
            self.report.add(passed, failed);
            println!("{name}: {passed} passed, {failed} failed");
            match (good, failed) {
                (true, 0) if passed > 0 => Ok(()),
                (true, 0) => Err(Error::Other("no test ran".into())),
                _ => Err(Error::Other(format!("{failed} tests failed"))),
            }
        });
    }

    /// The steps that run both linkers.
    fn live(&self, linker: &Linker) {
        let (context, jobs, report) = (self.context, self.jobs, self.report);
        self.compared("conformance", || {
            let plan = conformance::Plan {
                names: Vec::new(),
                others: None,
                jobs,
            };
            conformance::run(context, linker, &plan, report)
        });
        self.compared("conformance on Blackwell", || {
            let plan = conformance::Plan {
                names: Vec::new(),
                others: Some((random::archs("blackwell"), BLACKWELL_PER_CASE)),
                jobs,
            };
            conformance::run(context, linker, &plan, report)
        });
        let plan = |count, archs: &str| random::Plan {
            count,
            seed: 1,
            scenarios: None,
            archs: random::archs(archs),
            jobs,
            show: 10,
            keep: false,
            toolkits: random::Selection::Default,
            focus: random::Focus::Settled {
                blackwell: archs == "blackwell",
            },
            typed: String::new(),
        };
        self.compared("random links", || {
            random::run(context, linker, &plan(RANDOM_LINKS, "classic"), report)
        });
        self.compared("random links on Blackwell", || {
            random::run(context, linker, &plan(BLACKWELL_LINKS, "blackwell"), report)
        });
        self.compared("fat binaries", || {
            let plan = fatbins::Plan {
                count: FATBINS,
                seed: 1,
                jobs,
            };
            fatbins::run(context, linker, &plan, report)
        });
        self.compared("another release", || {
            let plan = versions::Plan {
                versions: vec![OTHER_VERSION.into()],
                record: false,
                cases: Some(versions::CASES.map(str::to_owned).into()),
                count: OTHER_LINKS,
                seed: None,
                jobs,
            };
            versions::run(context, linker, &plan, report)
        });
        self.compared("pairs of architectures", || fatbins::run_pairs(context, linker, jobs, report));
        self.compared("kernels on Blackwell", || {
            let archs: Vec<String> = sass::ARCHS.iter().map(|a| (*a).to_owned()).collect();
            sass::run(context, linker, &archs, jobs, report)
        });
        self.compared("C++ programs", || {
            random::run_cxx(context, linker, &plan(CXX_LINKS, random::CXX_ARCHS), report)
        });
        self.compared("nvcc programs", || {
            nvcc::run(context, linker, &nvcc::Plan { names: Vec::new(), jobs }, report)
        });
        self.step("Python package", || python::run(context, Some(&linker.culd), true, report));
    }

    /// A step whose results go straight into the report.
    fn compared(&self, name: &str, work: impl FnOnce() -> Result<()>) {
        self.step(name, || {
            let before = self.report.counts();
            work()?;
            let after = self.report.counts();
            let (passed, failed) = (after.0 - before.0, after.1 - before.1);
            println!("{name}: {passed} the same, {failed} different");
            if failed == 0 {
                Ok(())
            } else {
                Err(Error::Other(format!("{failed} differ")))
            }
        });
    }
}

/// Runs a test command, passes its output on, and adds up its `test result:` lines.
pub(crate) fn counted(command: &mut Command) -> Result<(usize, usize, bool)> {
    let start = |source| Error::Start {
        tool: "cargo".into(),
        source,
    };
    let mut child = command.spawn().map_err(start)?;
    let (mut passed, mut failed) = (0, 0);
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            if let Some((p, f)) = result_line(&line) {
                (passed, failed) = (passed + p, failed + f);
            }
            println!("{line}");
        }
    }
    let status = child.wait().map_err(start)?;
    Ok((passed, failed, status.success()))
}

/// The counts in `test result: ok. 3 passed; 0 failed; ..`.
fn result_line(line: &str) -> Option<(usize, usize)> {
    let rest = line.trim().strip_prefix("test result: ")?;
    let number = |word: &str| {
        rest.split([';', '.'])
            .find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok())
    };
    Some((number("passed")?, number("failed")?))
}

/// Links the bundled example: by the command of the README, and under the name nvlink with nvlink's bytes.
fn example(context: &Context, linker: &Linker) -> Result<()> {
    let directory = context.root.join("examples/saxpy");
    let work = context.root.join("target/example");
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    for (tool, name) in [(&linker.culd, "culd.cubin"), (&linker.as_nvlink, "nvlink.cubin")] {
        let output = work.join(name);
        let mut link = Command::new(tool);
        link.args(["-arch=sm_90", "saxpy.cubin", "combine.cubin", "-o"])
            .arg(&output)
            .current_dir(&directory);
        let out = link.output().map_err(|source| Error::Start {
            tool: tool.display().to_string(),
            source,
        })?;
        if !out.status.success() {
            let text = String::from_utf8_lossy(&out.stderr).into_owned();
            return Err(Error::Tool {
                tool: name.into(),
                status: out.status.to_string(),
                text,
            });
        }
    }
    let read = |path: &Path| std::fs::read(path).map_err(Error::file(path));
    if read(&work.join("nvlink.cubin"))? != read(&directory.join("nvlink.cubin"))? {
        return Err(Error::Other("the example's bytes are not nvlink's".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::result_line;

    #[test]
    fn result_lines_are_counted() {
        assert_eq!(
            result_line("test result: ok. 31 passed; 0 failed; 2 ignored; 0 measured"),
            Some((31, 0))
        );
        assert_eq!(
            result_line("test result: FAILED. 299 passed; 21 failed; 0 ignored"),
            Some((299, 21))
        );
        assert_eq!(result_line("running 3 tests"), None);
    }
}
