//! `cargo xtask bench`: how fast links are, nvlink's and ours.
//!
//! 1. For every shape and size, make the inputs in `target/bench` (deterministic; see [`shapes`]).
//! 2. Link with nvlink and with culd in turn, several times, so that noise of the machine hits both; the best time counts.
//! 3. Compare the outputs byte by byte: a difference is a failure. Measure the floor: reading the inputs and writing that many bytes.
//! 4. Print the row, and put it into `benches/results.tsv`, which replaces the row of the same shape and size.
//! 5. Rewrite `docs/benchmarks.md` and draw `docs/benchmarks.svg` from all rows.
//!
//! A quick run (one small size of each shape) checks the bytes and writes nothing.

mod chart;
pub(crate) mod counts;
mod make;
mod measure;
mod page;
mod ptx;
mod shapes;
mod table;
mod threads;

use crate::context::{Context, Linker};
use crate::oracle;
use crate::report::Report;
use culd_tests::{Error, Result};
use make::Maker;
use measure::Cost;
pub(crate) use measure::inner;
use shapes::{SHAPES, Shape};
use std::path::{Path, PathBuf};
use table::{Row, Table};

/// What to run.
pub(crate) struct Plan {
    /// Shapes, or shape=size; empty means all.
    pub(crate) names: Vec<String>,
    /// One small size of each shape, nothing written.
    pub(crate) quick: bool,
    /// Runs of each linker.
    pub(crate) runs: usize,
    /// Threads that make inputs.
    pub(crate) jobs: usize,
    /// Numbers of cores to compare; empty: the plain benchmark.
    pub(crate) cores: Vec<usize>,
    /// Leave the inputs where they are.
    pub(crate) keep: bool,
}

impl Plan {
    /// Removes the inputs of a link.
    fn clean_up(&self, dir: &Path) -> Result<()> {
        match self.keep {
            true => Ok(()),
            false => std::fs::remove_dir_all(dir).map_err(Error::file(dir)),
        }
    }
}

/// Seconds of processor time after which a link is given up.
const LIMIT: u64 = 300;
/// A run of more seconds is repeated only once, or not at all.
const LONG: f64 = 8.0;
const VERY_LONG: f64 = 30.0;

/// Runs the benchmarks; rows that differ in bytes count as failures in `report`.
pub(crate) fn run(context: &Context, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let tools = oracle::bin_dir(context)?;
    let work = context.root.join("target/bench");
    if !plan.cores.is_empty() {
        return threads::run(context, &tools, linker, plan, report);
    }
    let mut table = Table::load(&context.root.join("benches/results.tsv"))?;
    println!("{}", Row::HEAD);
    for (shape, size) in chosen(plan)? {
        let dir = work.join(format!("{}-{size}", shape.name));
        let row = {
            let mut maker = Maker::new(&tools, &work.join("cache"), &dir, plan.jobs)?;
            (shape.make)(&mut maker, size)?;
            race(&tools, linker, plan, shape, size, &maker)?
        };
        plan.clean_up(&dir)?;
        println!("{}", row.line());
        report.quiet(&format!("{} {size}", shape.name), row.failure().as_deref());
        if !plan.quick {
            table.put(row);
            // after every row: a run that is stopped has not been in vain
            table.save()?;
            page::write(&context.root.join("docs"), &table)?;
        }
    }
    Ok(())
}

/// The shapes and sizes of a plan.
fn chosen(plan: &Plan) -> Result<Vec<(&'static Shape, usize)>> {
    let mut out = Vec::new();
    let all: Vec<String> = SHAPES.iter().map(|s| s.name.to_owned()).collect();
    for wanted in if plan.names.is_empty() { &all } else { &plan.names } {
        let (name, size) = wanted.split_once('=').map_or((wanted.as_str(), None), |(n, s)| (n, Some(s)));
        let shape = SHAPES.iter().find(|s| s.name == name);
        let shape = shape.ok_or_else(|| Error::Other(format!("no shape '{name}'; there are: {}", all.join(" "))))?;
        match size {
            Some(size) => out.push((shape, size.parse().map_err(|e| Error::Other(format!("{wanted}: {e}")))?)),
            None if plan.quick => out.push((shape, shape.quick)),
            None => out.extend(shape.sizes.iter().chain(shape.endless).map(|&size| (shape, size))),
        }
    }
    Ok(out)
}

/// Times both linkers in turn.
fn race(tools: &Path, linker: &Linker, plan: &Plan, shape: &Shape, size: usize, made: &Maker<'_>) -> Result<Row> {
    let ends = size <= shape.sizes.iter().copied().max().unwrap_or(size);
    let programs: [(Option<PathBuf>, &str); 2] = [
        (ends.then(|| tools.join("nvlink")), "nvlink.out"),
        (Some(linker.as_nvlink.clone()), "culd.out"),
    ];
    let mut costs: [Vec<Cost>; 2] = Default::default();
    for run in 0..plan.runs.max(1) {
        for ((program, output), costs) in programs.iter().zip(&mut costs) {
            let tired = costs
                .last()
                .is_some_and(|c| c.exit != 0 || c.wall > VERY_LONG || (c.wall > LONG && run >= 2));
            let Some(program) = program.as_ref().filter(|_| !tired) else {
                continue;
            };
            let mut args = vec![format!("-arch={}", made.arch)];
            args.extend(made.files.iter().cloned());
            args.extend(["-o".to_owned(), (*output).to_owned()]);
            costs.push(measure::cost(program, &args, &made.dir, LIMIT)?);
        }
    }
    let [nvlink, culd] = costs.map(|c| best(&c));
    let culd = culd.ok_or_else(|| Error::Other("no run".into()))?;
    let read = |name: &str| std::fs::read(made.dir.join(name)).ok();
    let (theirs, ours) = (read("nvlink.out"), read("culd.out"));
    let output = ours.as_ref().map_or(0, |o| o.len() as u64);
    Ok(Row {
        shape: shape.name.to_owned(),
        size,
        input: made.bytes,
        output,
        nvlink,
        culd,
        floor: measure::floor(&made.files, output, &made.dir, 0)?.wall,
        same: nvlink.map(|n| n.exit == culd.exit && theirs == ours),
        runs: plan.runs.max(1),
        load: load(),
    })
}

/// How many processes wanted a processor in the last minute.
fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg")
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The shortest time, the least processor time, the largest memory.
fn best(costs: &[Cost]) -> Option<Cost> {
    costs.iter().copied().reduce(|a, b| Cost {
        wall: a.wall.min(b.wall),
        cpu: a.cpu.min(b.cpu),
        memory: a.memory.max(b.memory),
        exit: if a.exit != 0 { a.exit } else { b.exit },
        faults: a.faults.min(b.faults),
    })
}
