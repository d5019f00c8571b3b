//! `cargo xtask bench --threads 1,2,4,8,16`: how links scale with the number of cores.
//!
//! 1. For every shape, make the inputs, link once with nvlink and compare culd's bytes on every number of cores: one hash.
//! 2. Time culd on each number of cores, restricted by processor affinity, in turn; the best run counts. Measure the floor the same way.
//! 3. The serial part s is the one of Amdahl's law between one core and the most: T(n) = T(1) (s + (1 - s) / n).
//! 4. On the most cores, `--time-phases` says how long each phase takes and how many cores it keeps busy.
//! 5. Print the tables; unless the run is quick, write them to `docs/scaling.md`.

use super::make::Maker;
use super::measure::{self, Cost};
use super::shapes::Shape;
use super::{LIMIT, Plan, best, chosen};
use crate::context::{Context, Linker};
use crate::report::Report;
use culd_tests::{Error, Result};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The links that are compared unless names are given.
const DEFAULT: [&str; 11] = [
    "small=1000",
    "small=5000",
    "small=10000",
    "host=1000",
    "host=3000",
    "weakdup=300",
    "kernels=10000",
    "debug=300",
    "lineinfo=1000",
    "small100=1000",
    "archive=5000",
];

/// What was measured of one link.
struct Scaled {
    name: String,
    nvlink: f64,
    /// Per number of cores: costs and floor.
    runs: Vec<(usize, Cost, f64)>,
    phases: String,
    same: bool,
}

/// Runs the comparison.
pub(super) fn run(context: &Context, tools: &Path, linker: &Linker, plan: &Plan, report: &Report) -> Result<()> {
    let names = if plan.names.is_empty() {
        DEFAULT.map(str::to_owned).to_vec()
    } else {
        plan.names.clone()
    };
    let plan = &Plan {
        names,
        cores: plan.cores.clone(),
        ..*plan
    };
    let work = context.root.join("target/bench");
    let mut rows = Vec::new();
    for (shape, size) in chosen(plan)? {
        let dir = work.join(format!("{}-{size}", shape.name));
        let mut maker = Maker::new(tools, &work.join("cache"), &dir, plan.jobs)?;
        (shape.make)(&mut maker, size)?;
        let row = scale(tools, linker, plan, shape, size, &maker)?;
        drop(maker);
        plan.clean_up(&dir)?;
        println!("{}\n{}", row.line(), row.phases);
        report.quiet(&row.name, (!row.same).then_some("the outputs differ"));
        rows.push(row);
    }
    let page = text(&rows, &plan.cores);
    println!("{page}");
    match plan.quick {
        true => Ok(()),
        false => {
            let path = context.root.join("docs/scaling.md");
            std::fs::write(&path, page).map_err(Error::file(&path))
        }
    }
}

fn scale(tools: &Path, linker: &Linker, plan: &Plan, shape: &Shape, size: usize, made: &Maker<'_>) -> Result<Scaled> {
    let args = |output: &str| {
        let mut args = vec![format!("-arch={}", made.arch)];
        args.extend(made.files.iter().cloned());
        args.extend(["-o".to_owned(), output.to_owned()]);
        args
    };
    let nvlink = best(&[
        measure::cost(&tools.join("nvlink"), &args("nvlink.out"), &made.dir, LIMIT)?,
        measure::cost(&tools.join("nvlink"), &args("nvlink.out"), &made.dir, LIMIT)?,
    ]);
    let want = std::fs::read(made.dir.join("nvlink.out")).ok();
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); plan.cores.len()];
    let mut same = want.is_some();
    for _ in 0..plan.runs.max(1) {
        for (&cores, costs) in plan.cores.iter().zip(&mut costs) {
            costs.push(measure::cost_on(&linker.as_nvlink, &args("culd.out"), &made.dir, LIMIT, cores)?);
            same &= std::fs::read(made.dir.join("culd.out")).ok() == want;
        }
    }
    let output = want.map_or(0, |w| w.len() as u64);
    let mut runs = Vec::new();
    for (&cores, costs) in plan.cores.iter().zip(&costs) {
        let floor = measure::floor(&made.files, output, &made.dir, cores)?.wall;
        runs.extend(best(costs).map(|c| (cores, c, floor)));
    }
    let mut timed = Command::new(&linker.culd);
    timed.arg("--time-phases").args(args("phases.out")).current_dir(&made.dir);
    let said = timed.output().map_err(Error::file(&linker.culd))?;
    Ok(Scaled {
        name: format!("{} {size}", shape.name),
        nvlink: nvlink.map_or(0.0, |c| c.wall),
        runs,
        phases: String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout),
        same,
    })
}

impl Scaled {
    /// One line for people, in milliseconds.
    fn line(&self) -> String {
        let mut out = format!("{:16} nvlink {:8.1}", self.name, self.nvlink * 1e3);
        for (cores, cost, floor) in &self.runs {
            let _ = write!(
                out,
                " | {cores}: {:.1} (cpu {:.1}, floor {:.1}, {} faults)",
                cost.wall * 1e3,
                cost.cpu * 1e3,
                floor * 1e3,
                cost.faults
            );
        }
        out
    }

    /// The serial part by Amdahl's law, between the first and the last number of cores.
    fn serial(&self) -> Option<f64> {
        let ((first, a, _), (last, b, _)) = (self.runs.first()?, self.runs.last()?);
        let n = *last as f64 / *first as f64;
        (n > 1.0).then(|| ((b.wall / a.wall - 1.0 / n) / (1.0 - 1.0 / n)).clamp(0.0, 1.0))
    }
}

fn text(rows: &[Scaled], cores: &[usize]) -> String {
    let mut out = String::from(
        "# Scaling\n\nThe same links on 1 to many cores (processor affinity), in milliseconds; written by `cargo xtask bench --threads`. \
         The bytes are the same on every number of cores.\n\n",
    );
    let _ = writeln!(out, "Machine: {}.\n", super::page::machine());
    let heads: String = cores.iter().map(|c| format!(" {c} |")).collect();
    let bars: String = cores.iter().map(|_| "--:|").collect();
    let _ = writeln!(
        out,
        "| link | nvlink |{heads} serial part | times faster than nvlink | over the floor | bytes |\n|---|--:|{bars}--:|--:|--:|---|"
    );
    for row in rows {
        let _ = write!(out, "| {} | {:.0} |", row.name, row.nvlink * 1e3);
        for (_, cost, _) in &row.runs {
            let _ = write!(out, " {:.1} |", cost.wall * 1e3);
        }
        let (serial, last) = (row.serial().map_or("–".into(), |s| format!("{:.0} %", s * 100.0)), row.runs.last());
        let ratio = last.map_or(0.0, |(_, c, _)| row.nvlink / c.wall);
        let floor = last.map_or(0.0, |(_, c, f)| c.wall / f);
        let _ = writeln!(
            out,
            " {serial} | {ratio:.0} | {floor:.1} | {} |",
            if row.same { "same" } else { "**different**" }
        );
    }
    out.push_str("\n## Phases on all cores\n");
    for row in rows {
        let _ = write!(out, "\n{}:\n\n```\n{}```\n", row.name, row.phases);
    }
    out
}
