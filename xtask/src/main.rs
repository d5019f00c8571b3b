//! Developer tasks: everything around `cargo build`.
//!
//! `cargo xtask help` lists them. Each task is one module; all of them end with exit code 0 only if everything passed.
#![forbid(unsafe_code)]

mod api;
mod bench;
mod browser;
mod builds;
mod ci;
mod clients;
mod conformance;
mod context;
mod dist;
mod fatbins;
#[cfg(unix)]
mod fault_injection;
mod fuzz;
mod isa;
mod kept_schedules;
mod left_over;
mod libraries;
mod mutate;
mod nvcc;
mod nvjitlink;
mod oracle;
mod python;
mod random;
mod record;
mod report;
mod sass;
mod stress;
mod system;
mod test;
mod versions;
mod viewer;

use context::Context;
use culd_tests::{Error, Result};
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test [--offline]            everything below that a change must pass; --offline leaves out what needs the oracle
cargo xtask oracle                      install the pinned NVIDIA tools into target/oracle and print their directory
cargo xtask conformance [CASE..]        link tests/cases with nvlink and with culd, compare bytes, text and exit code
    --arch A        the same cases on other architectures; --count N: each case on N of them, in turn
cargo xtask record [CASE..]             write tests/fixtures: inputs and nvlink's results of the cases and of some random scenarios
cargo xtask random                      link generated modules with both; a failure prints the command that repeats it
    --count N       links (default 500)          --seed S    first scenario (default 1)
    --scenarios N   at most this many scenarios  --arch A    sm_90, a list with commas, classic (default), blackwell or all
    --show N        failures shown in full (10)  --keep      keep every scenario's directory in target/random
    --dims LIST     none, or dimensions that every scenario gets: toolkits, ewp, types, unknown, flags, unified, cxx, many, runtime
    --toolkits T    other compilers: those marked in xtask/toolkits.txt (default), all, none, or versions with commas
cargo xtask mixed [--count N] [--seed S]  link modules of different toolkits, 11.7 to the newest, under the name culd: made or refused with a reason
cargo xtask cxx [--count N] [--seed S]  link C++ programs (tests/cxx through nvcc) in random subsets with both
    --arch A        architectures (default sm_80,sm_90,sm_100,sm_120)
cargo xtask mutate                      link inputs that were damaged on purpose; a crash, a hang or a blow-up is a failure
    --count N       mutants (default 100000)     --seed S    of the generator (default 1)
    --nvlink N      ask the real nvlink about the first N too
cargo xtask fuzz [TARGET..]             fuzzing guided by coverage, on the stable toolchain; a finding is a failure
    --seconds N     per target (default 60)      --keep      store a reduced set of what was found in fuzz/corpus
    --coverage      lines and regions reached, by crate (needs nightly with llvm-tools)
cargo xtask fault-injection [--count N] kill N links (default 2000), fail writes, shorten inputs, change the surroundings
cargo xtask nvcc [PROGRAM..]            build tests/nvcc through nvcc and CMake with nvlink and with culd in its place, compare what they keep
cargo xtask builds [SYSTEM..]           build a program of 40 files with cmake, meson, nvcc and clang through views in both modes
cargo xtask fatbins [--count N] [--seed S]  link random fat binaries of one to five entries with both: the same entry must be taken
cargo xtask pairs                       link an object of every architecture for every architecture with both
cargo xtask versions [V..]              be nvlink of these versions (default: 13.1 and later), each compared with that nvlink and its compilers
    --count N       random links below sm_100 (default 200), half as many from there on    --seed S    first scenario
    --record        write tests/fixtures/releases instead
cargo xtask sass [--arch A]             link real kernels for Blackwell with both; prints how many functions are identical, kept and wrong
    --corpus [SOURCE..]  kernels of public headers (CUB, Thrust, libcu++, cuRAND, ...) instead, and why functions were kept; --quick: a few
    --variants LIST  some of the ways to compile it: O3,O2,O1,O0,lineinfo,debugger,G
    --groups N      link N groups of 2 to 30 of these objects per architecture and variant instead (--seed S)
    --faults N      inject N faults into the functions of the corpus that are rewritten; the hazard checker must catch them or prove them harmless
cargo xtask isa [--write] [--oracle [--arch A]]
                                        check that the decoder's table is what crates/culd-sass/isa/blackwell.txt gives; --write: write it;
                                        --oracle: compare every form with nvdisasm
cargo xtask libraries [--quick]         build libnvJitLink.so.13, libnvJitLink.so.12 and libculd.so.0 in target/library, check their export tables, and
                                        build a C program with libculd through pkg-config and CMake; --quick: the dev profile, in target/debug
    --glibc V       for this glibc and later, such as 2.17; links with zig
    --target T      another platform: x86_64-pc-windows-gnu, aarch64-unknown-linux-gnu
cargo xtask python [--quick]            build the wheel with program and libraries, and run packaging/python/tests with it in a fresh environment
cargo xtask clients [NAME..]            run programs that use libnvJitLink (tests/clients) with NVIDIA's library and with ours, and compare
cargo xtask nvjitlink [NAME..]          run scenarios of the C interface with NVIDIA's libnvJitLink and with ours, each in its own process
    --quick         the dev profile              --toolkits V  libnvJitLink.so.12 against that of this version, in $CULD_TOOLKITS
cargo xtask stress [--seconds S] [--threads T]
                                        libnvJitLink under load (60 s, 16 threads); target/stress can be carried to another machine: run SECONDS THREADS
cargo xtask viewer                      compile reader and linker to WebAssembly and write the page target/viewer/index.html
cargo xtask browser                     click through the pages in headless Chromium; screenshots are in target/browser. Skipped without Chromium
cargo xtask bench [SHAPE|SHAPE=SIZE..]  time both linkers, compare bytes, update docs/benchmarks.md; --quick: small sizes, nothing written
cargo xtask bench --threads 1,2,4,8,16  the same links on so many cores: wall time, serial part, busy cores per phase; writes docs/scaling.md
    --keep          leave the inputs in target/bench
cargo xtask counts [--record]           count the instructions of a few links; over 5 % more than benches/counts.tsv is a failure
cargo xtask dist                        build, test and pack culd for every platform; results in target/dist, packages in target/dist/out
    --target T      one platform, or none        --package P tar, zip, wheel, deb, crates, recipes, or none
    --count N       only N recorded files
    --quick         without recorded links       --record    write the table into docs/install.md
cargo xtask api [--write]               compare the public items of the published crates with docs/api, or write these files
cargo xtask ci STEP..                   a step of .github/workflows; without STEP, a list

  --linker PATH   compare this program instead of the release build of culd
  --jobs N        threads (default 2)
";

fn main() -> ExitCode {
    if let Some(code) = bench::inner() {
        return code;
    }
    match task() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::from(2)
        }
    }
}

/// What was typed.
#[derive(Default)]
struct Typed {
    task: String,
    names: Vec<String>,
    linker: Option<PathBuf>,
    jobs: Option<usize>,
    count: Option<usize>,
    seed: Option<u64>,
    scenarios: Option<usize>,
    nvlink: Option<u64>,
    arch: Option<String>,
    show: Option<usize>,
    dims: Option<String>,
    toolkits: Option<String>,
    keep: bool,
    seconds: Option<u64>,
    coverage: bool,
    offline: bool,
    quick: bool,
    corpus: bool,
    variants: Vec<String>,
    faults: Option<usize>,
    groups: Option<usize>,
    write: bool,
    oracle: bool,
    record: bool,
    threads: Vec<usize>,
    target: Option<String>,
    package: Option<String>,
    glibc: Option<String>,
}

fn typed() -> std::result::Result<Typed, lexopt::Error> {
    use lexopt::prelude::*;
    let mut out = Typed::default();
    let mut parser = lexopt::Parser::from_env();
    while let Some(arg) = parser.next()? {
        match arg {
            Value(v) if out.task.is_empty() => out.task = v.string()?,
            Value(v) => out.names.push(v.string()?),
            Long("threads") => {
                let list = parser.value()?.string()?;
                out.threads = list
                    .split(',')
                    .map(str::parse)
                    .collect::<std::result::Result<_, _>>()
                    .map_err(|_| "--threads takes numbers: 1,2,4")?;
            }
            Long("linker") => out.linker = Some(parser.value()?.into()),
            Long("jobs") => out.jobs = Some(parser.value()?.parse()?),
            Long("count") => out.count = Some(parser.value()?.parse()?),
            Long("seed") => out.seed = Some(parser.value()?.parse()?),
            Long("scenarios" | "worlds") => out.scenarios = Some(parser.value()?.parse()?),
            Long("nvlink") => out.nvlink = Some(parser.value()?.parse()?),
            Long("arch") => out.arch = Some(parser.value()?.string()?),
            Long("show") => out.show = Some(parser.value()?.parse()?),
            Long("dims") => out.dims = Some(parser.value()?.string()?),
            Long("toolkits") => out.toolkits = Some(parser.value()?.string()?),
            Long("keep") => out.keep = true,
            Long("seconds") => out.seconds = Some(parser.value()?.parse()?),
            Long("coverage") => out.coverage = true,
            Long("quick") => out.quick = true,
            Long("corpus") => out.corpus = true,
            Long("variants") => out.variants = parser.value()?.string()?.split(',').map(str::to_owned).collect(),
            Long("groups") => out.groups = Some(parser.value()?.parse()?),
            Long("faults") => out.faults = Some(parser.value()?.parse()?),
            Long("write") => out.write = true,
            Long("oracle") => out.oracle = true,
            Long("record") => out.record = true,
            Long("target") => out.target = Some(parser.value()?.string()?),
            Long("package") => out.package = Some(parser.value()?.string()?),
            Long("glibc") => out.glibc = Some(parser.value()?.string()?),
            Long("offline") => out.offline = true,
            Long("help") | Short('h') => out.task = "help".into(),
            _ => return Err(arg.unexpected()),
        }
    }
    Ok(out)
}

/// The architectures that were typed, or all whose code is scheduled again.
fn sass_archs(typed: Option<&str>) -> Vec<String> {
    match typed {
        Some(list) => random::archs(list),
        None => sass::ARCHS.iter().map(|a| (*a).to_owned()).collect(),
    }
}

fn task() -> Result<bool> {
    let typed = typed().map_err(|e| Error::Other(format!("{e}\n{HELP}")))?;
    let context = Context::new();
    let jobs = typed.jobs.unwrap_or(2);
    let report = Report::default();
    match typed.task.as_str() {
        "oracle" => {
            println!("{}", oracle::bin_dir(&context)?.display());
            return Ok(true);
        }
        "conformance" => {
            let linker = context.linker(typed.linker.as_deref())?;
            let others = typed.arch.map(|list| random::archs(&list)).map(|archs| {
                let each = typed.count.unwrap_or(archs.len());
                (archs, each)
            });
            let plan = conformance::Plan {
                names: typed.names,
                others,
                jobs,
            };
            conformance::run(&context, &linker, &plan, &report)?;
        }
        task @ ("random" | "cxx" | "mixed") => {
            let linker = context.linker(typed.linker.as_deref())?;
            let archs = typed
                .arch
                .as_deref()
                .unwrap_or(if task == "cxx" { random::CXX_ARCHS } else { "classic" });
            let dims = typed.dims.as_deref().map(random::Focus::parse).transpose();
            let focus = dims
                .map_err(|word| Error::Other(format!("no dimension '{word}': there are {}", random::Focus::names())))?
                .unwrap_or(random::Focus::Shares);
            let option = |name: &str, value: &Option<String>| value.as_ref().map_or(String::new(), |v| format!(" --{name} {v}"));
            let plan = random::Plan {
                count: typed.count.unwrap_or(if task == "cxx" { 100 } else { 500 }),
                seed: typed.seed.unwrap_or(1),
                scenarios: typed.scenarios,
                archs: random::archs(archs),
                jobs,
                show: typed.show.unwrap_or(10),
                keep: typed.keep,
                toolkits: random::Selection::parse(typed.toolkits.as_deref().unwrap_or("default")),
                focus,
                typed: option("dims", &typed.dims) + &option("toolkits", &typed.toolkits),
            };
            let run = match task {
                "cxx" => random::run_cxx,
                "mixed" => random::run_mixed,
                _ => random::run,
            };
            run(&context, &linker, &plan, &report)?;
        }
        "libraries" => {
            libraries::run(&context, typed.quick, typed.glibc.as_deref(), typed.target.as_deref())?;
            return Ok(true);
        }
        "python" => python::run(&context, typed.linker.as_deref(), typed.quick, &report)?,
        "clients" => clients::run(&context, &typed.names, typed.quick, &report)?,
        "nvjitlink" => nvjitlink::run(&context, &typed.names, typed.quick, typed.toolkits.as_deref(), &report)?,
        "stress" => {
            let threads = typed.threads.first().copied().unwrap_or(16);
            stress::run(&context, typed.quick, typed.seconds.unwrap_or(60), threads, &report)?;
        }
        "mutate" => {
            let plan = mutate::Plan {
                count: typed.count.unwrap_or(100_000) as u64,
                seed: typed.seed.unwrap_or(1),
                jobs,
                is_test: false,
                nvlink: typed.nvlink.unwrap_or(0),
            };
            mutate::run(&context, &plan, &report)?;
        }
        "fuzz" => {
            let plan = fuzz::Plan {
                names: typed.names,
                seconds: typed.seconds.unwrap_or(60),
                jobs,
                keep: typed.keep,
                coverage: typed.coverage,
                tested: false,
            };
            fuzz::run(&context, &plan, &report)?;
        }
        #[cfg(unix)]
        "fault-injection" => {
            let linker = context.linker(typed.linker.as_deref())?;
            fault_injection::run(&linker, typed.count.unwrap_or(2000), typed.seed.unwrap_or(1), &report)?;
        }
        "builds" => {
            let linker = context.linker(typed.linker.as_deref())?;
            builds::run(&context, &linker, &typed.names, jobs, &report)?;
        }
        "nvcc" => {
            let linker = context.linker(typed.linker.as_deref())?;
            nvcc::run(&context, &linker, &nvcc::Plan { names: typed.names, jobs }, &report)?;
        }
        "sass" if typed.corpus || typed.faults.is_some() => {
            let linker = context.linker(typed.linker.as_deref())?;
            let archs = typed.arch.as_deref().map(random::archs);
            let plan = sass::corpus::Plan {
                names: typed.names,
                archs,
                quick: typed.quick,
                variants: typed.variants,
                faults: typed.faults,
                groups: typed.groups.map(|n| (n, typed.seed.unwrap_or(1))),
                jobs,
            };
            sass::corpus::run(&context, &linker, &plan, &report)?;
        }
        "sass" => {
            let linker = context.linker(typed.linker.as_deref())?;
            let archs = sass_archs(typed.arch.as_deref());
            sass::run(&context, &linker, &archs, jobs, &report)?;
        }
        "isa" => {
            isa::run(&context, typed.write, &report)?;
            if typed.oracle {
                isa::oracle::run(&context, &sass_archs(typed.arch.as_deref()), &report)?;
            }
        }
        "versions" => {
            let linker = context.linker(typed.linker.as_deref())?;
            let plan = versions::Plan {
                versions: typed.names,
                record: typed.record,
                cases: None,
                count: typed.count.unwrap_or(200),
                seed: typed.seed,
                jobs,
            };
            versions::run(&context, &linker, &plan, &report)?;
        }
        "pairs" => {
            let linker = context.linker(typed.linker.as_deref())?;
            fatbins::run_pairs(&context, &linker, jobs, &report)?;
        }
        "fatbins" => {
            let linker = context.linker(typed.linker.as_deref())?;
            let (count, seed) = (typed.count.unwrap_or(600), typed.seed.unwrap_or(1));
            fatbins::run(&context, &linker, &fatbins::Plan { count, seed, jobs }, &report)?;
        }
        "viewer" => {
            println!("{}", viewer::run(&context)?.display());
            return Ok(true);
        }
        "browser" => {
            let linker = context.linker(typed.linker.as_deref())?;
            browser::run(&context, &linker, &report)?;
        }
        "bench" => {
            let linker = context.linker(typed.linker.as_deref())?;
            let plan = bench::Plan {
                names: typed.names,
                quick: typed.quick,
                runs: typed.count.unwrap_or(if typed.quick { 2 } else { 5 }),
                jobs,
                cores: typed.threads,
                keep: typed.keep,
            };
            bench::run(&context, &linker, &plan, &report)?;
        }
        "counts" => {
            let linker = context.linker(typed.linker.as_deref())?;
            bench::counts::run(&context, &linker, typed.record, &report)?;
        }
        "record" => {
            let linker = context.linker(typed.linker.as_deref())?;
            record::run(&context, &linker, &typed.names, jobs, &report)?;
        }
        "dist" => {
            let plan = dist::Plan {
                target: typed.target,
                package: typed.package,
                linker: typed.linker,
                quick: typed.quick,
                count: typed.count,
                record: typed.record,
                jobs,
            };
            dist::run(&context, &plan, &report)?;
        }
        "api" => api::run(&context, typed.write, &report)?,
        "ci" => ci::run(&context, &typed.names, &report)?,
        "test" => test::run(&context, jobs, typed.offline, &report)?,
        "help" | "" => {
            print!("{HELP}");
            return Ok(true);
        }
        other => return Err(Error::Other(format!("no task '{other}'\n{HELP}"))),
    }
    Ok(report.close())
}
