//! `cargo xtask mutate`: links with one damaged input, by the hundred thousand.
//!
//! 1. Build the linker and the mutator with overflow checks and assertions (profile `fuzz`; `cargo xtask test` uses its own build).
//! 2. Cut the numbers into batches; each is a child process under limits of memory and file size that prints one line per mutant.
//! 3. A child that dies or prints nothing for five seconds leaves the number of its last mutant: a crash or a hang. The rest of its
//!    batch is given to a new child.
//! 4. Add up. Everything but *same*, *different* and *refused* is a failure and is listed with its number.
//!
//! With `--nvlink N` the first N mutants are also given to the real nvlink and to culd under its name, and both are counted.

use crate::context::{Context, succeed};
use crate::oracle;
use crate::report::{Report, parallel};
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Mutants per child.
const BATCH: u64 = 20_000;
/// A child without output for this long counts as hanging.
const PATIENCE: Duration = Duration::from_secs(5);
/// Reading the seeds takes a while on a busy machine.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);
/// Address space of a child in KiB.
const MEMORY_KIB: u32 = 4_000_000;
/// Largest file of a child in blocks of 512 bytes.
const FILE_BLOCKS: u32 = 200_000;
/// Failures listed by number.
const LISTED: usize = 40;

/// What to do.
pub(crate) struct Plan {
    /// Number of mutants.
    pub(crate) count: u64,
    /// Seed of the generator.
    pub(crate) seed: u64,
    /// Children at a time.
    pub(crate) jobs: usize,
    /// Use what the other tests have built, instead of a fast build of its own.
    pub(crate) is_test: bool,
    /// Mutants that nvlink is asked about.
    pub(crate) nvlink: u64,
}

/// Counts of one run.
#[derive(Default)]
struct Tally {
    classes: BTreeMap<String, u64>,
    kinds: BTreeMap<String, u64>,
    archs: BTreeMap<String, u64>,
    failures: Vec<String>,
    /// Largest time in microseconds, memory and output per input, with their mutants.
    slowest: (u64, u64),
    hungriest: (u64, u64),
    largest: (u64, u64),
    program: u64,
}

impl Tally {
    /// Takes one line of a child; the number of its mutant.
    fn line(&mut self, line: &str) -> Option<u64> {
        let mut words = line.split(' ');
        let number: u64 = words.next()?.parse().ok()?;
        let class = words.next()?;
        if class == "program" {
            self.program += 1;
            self.failures.push(line.to_owned());
            return None;
        }
        *self.classes.entry(class.to_owned()).or_default() += 1;
        if !matches!(class, "same" | "different" | "refused" | "none") {
            self.failures.push(line.to_owned());
        }
        let numbers: Vec<u64> = words.by_ref().take(4).filter_map(|w| w.parse().ok()).collect();
        if let &[micros, _, memory, output] = numbers.as_slice() {
            self.slowest = self.slowest.max((micros, number));
            self.hungriest = self.hungriest.max((memory, number));
            self.largest = self.largest.max((output, number));
        }
        for (word, counts) in words.zip([&mut self.kinds, &mut self.archs]) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        Some(number)
    }

    fn fail(&mut self, number: u64, class: &str) {
        *self.classes.entry(class.to_owned()).or_default() += 1;
        self.failures.push(format!("{number} {class}"));
    }
}

/// The programs of a run.
struct Tools {
    fuzz: PathBuf,
    culd: PathBuf,
}

/// Runs mutants into `report`.
pub(crate) fn run(context: &Context, plan: &Plan, report: &Report) -> Result<()> {
    let tools = build(context, plan.is_test)?;
    let start = Instant::now();
    let batches: Vec<(u64, u64)> = (0..plan.count.div_ceil(BATCH))
        .map(|i| (i * BATCH, ((i + 1) * BATCH).min(plan.count)))
        .collect();
    let tally = Mutex::new(Tally::default());
    parallel(&batches, plan.jobs, |&(from, to)| {
        let failure = batch(&tools, plan.seed, from, to, &tally).err().map(|e| e.to_string());
        if let Some(failure) = failure {
            report.named(&format!("mutants {from} to {to}"), Some(&failure));
        }
    });
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    show(&tally, start.elapsed());
    let failures = tally.failures.iter().take(LISTED).cloned().collect::<Vec<_>>().join("\n");
    let name = format!("{} mutants from seed {}", plan.count, plan.seed);
    report.named(&name, (!tally.failures.is_empty()).then_some(failures.as_str()));
    if plan.nvlink > 0 {
        compare(context, &tools, plan, report)?;
    }
    Ok(())
}

fn build(context: &Context, is_test: bool) -> Result<Tools> {
    let directory = if is_test {
        context.dev_programs(true)?
    } else {
        let mut cargo = context.cargo();
        cargo.args(["build", "--quiet", "--profile", "fuzz", "-p", "culd-fuzz", "-p", "culd"]);
        succeed(&mut cargo)?;
        context.target.join("fuzz")
    };
    Ok(Tools {
        fuzz: directory.join("culd-fuzz"),
        culd: directory.join("culd"),
    })
}

/// A child that works on a range.
fn child(tools: &Tools, task: &str, seed: u64, range: (u64, u64), nvlink: Option<&Path>) -> Result<Child> {
    let mut shell = Command::new("sh");
    let script = match nvlink {
        // nvlink gets limits of its own
        Some(_) => "exec \"$0\" \"$@\"".to_owned(),
        None => format!("ulimit -c 0; ulimit -v {MEMORY_KIB}; ulimit -f {FILE_BLOCKS}; exec \"$0\" \"$@\""),
    };
    shell.arg("-c").arg(script).arg(&tools.fuzz).arg(task);
    for (flag, value) in [("--seed", seed), ("--from", range.0), ("--to", range.1)] {
        shell.arg(flag).arg(value.to_string());
    }
    shell.arg("--culd").arg(&tools.culd);
    if let Some(nvlink) = nvlink {
        shell.arg("--nvlink").arg(nvlink);
    }
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    shell.spawn().map_err(|source| Error::Start {
        tool: "culd-fuzz".into(),
        source,
    })
}

/// The lines of a child as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let (send, receive) = channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            let all = BufReader::new(out).lines().map_while(std::io::Result::ok);
            all.take_while(|line| send.send(line.clone()).is_ok()).for_each(drop);
        });
    }
    receive
}

/// Runs one batch, with as many children as it takes.
fn batch(tools: &Tools, seed: u64, from: u64, to: u64, tally: &Mutex<Tally>) -> Result<()> {
    let mut next = from;
    while next < to {
        let mut child = child(tools, "mutants", seed, (next, to), None)?;
        let said = lines(&mut child);
        let mut patience = FIRST_PATIENCE;
        let hangs = loop {
            match said.recv_timeout(patience) {
                Ok(line) => {
                    let number = tally.lock().unwrap_or_else(PoisonError::into_inner).line(&line);
                    next = number.map_or(next, |n| n + 1);
                    patience = PATIENCE;
                }
                Err(RecvTimeoutError::Timeout) => break true,
                Err(RecvTimeoutError::Disconnected) => break false,
            }
        };
        if hangs {
            // It may have ended by itself meanwhile.
            let _ = child.kill();
        }
        let out = child.wait_with_output().map_err(Error::file("culd-fuzz"))?;
        if next < to {
            let text = String::from_utf8_lossy(&out.stderr);
            let reason = text.lines().find(|l| !l.is_empty()).unwrap_or_default();
            let class = if hangs { "hang" } else { "crash" };
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.fail(next, class);
            tally.failures.push(format!("    {} {reason}", out.status));
            next += 1;
        }
    }
    Ok(())
}

fn show(tally: &Tally, time: Duration) {
    let list = |counts: &BTreeMap<String, u64>| counts.iter().map(|(k, n)| format!("{k} {n}")).collect::<Vec<_>>().join(", ");
    println!("results: {}", list(&tally.classes));
    println!("inputs: {}", list(&tally.kinds));
    println!("targets: {}", list(&tally.archs));
    println!(
        "slowest {:.1} ms (mutant {}), most memory {:.1} MB (mutant {}), largest output {:.1} kB (mutant {}); {:.0} s",
        tally.slowest.0 as f64 / 1e3,
        tally.slowest.1,
        tally.hungriest.0 as f64 / 1e6,
        tally.hungriest.1,
        tally.largest.0 as f64 / 1e3,
        tally.largest.1,
        time.as_secs_f64()
    );
}

/// The table of both linkers.
fn compare(context: &Context, tools: &Tools, plan: &Plan, report: &Report) -> Result<()> {
    let nvlink = oracle::bin_dir(context)?.join("nvlink");
    let step = plan.nvlink.div_ceil(plan.jobs as u64 * 4).max(1);
    let ranges: Vec<(u64, u64)> = (0..plan.nvlink)
        .step_by(step as usize)
        .map(|from| (from, (from + step).min(plan.nvlink)))
        .collect();
    let counts: Mutex<BTreeMap<String, [u64; 2]>> = Mutex::default();
    let pairs: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let differ: Mutex<Vec<String>> = Mutex::default();
    parallel(&ranges, plan.jobs, |&range| {
        let Ok(mut child) = child(tools, "compare", plan.seed, range, Some(&nvlink)) else {
            return;
        };
        for line in lines(&mut child) {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, theirs, ours, agree, ..] = words.as_slice() else { continue };
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.entry((*theirs).to_owned()).or_default()[0] += 1;
            counts.entry((*ours).to_owned()).or_default()[1] += 1;
            let pair = format!("{agree}: nvlink {theirs}, culd {ours}");
            *pairs.lock().unwrap_or_else(PoisonError::into_inner).entry(pair).or_default() += 1;
            if *agree == "differ" {
                differ.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        }
        let _ = child.wait();
    });
    println!("| result | nvlink | culd as nvlink |\n|---|---|---|");
    for (class, [theirs, ours]) in counts.into_inner().unwrap_or_else(PoisonError::into_inner) {
        println!("| {class} | {theirs} | {ours} |");
    }
    for (pair, n) in pairs.into_inner().unwrap_or_else(PoisonError::into_inner) {
        println!("{n:>6}  {pair}");
    }
    let differ = differ.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{} differ:\n{}",
        differ.len(),
        differ.iter().take(LISTED).cloned().collect::<Vec<_>>().join("\n")
    );
    report.named(&format!("{} mutants given to nvlink", plan.nvlink), None);
    Ok(())
}
