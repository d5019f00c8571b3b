//! `docs/benchmarks.md`: the measured table for readers.

use super::chart;
use super::measure::Cost;
use super::shapes::SHAPES;
use super::table::{Row, Table};
use culd_tests::{Error, Result};
use std::fmt::Write as _;
use std::path::Path;

/// Processor time of a link of nothing, which growth is measured above.
const START: f64 = 0.0014;

/// Processor time above that which is not significant for growth.
const SHORT: f64 = 0.005;

/// Writes the page and its picture into `docs`.
pub(super) fn write(docs: &Path, table: &Table) -> Result<()> {
    let svg = docs.join("benchmarks.svg");
    std::fs::write(&svg, chart::draw(table)).map_err(Error::file(&svg))?;
    let page = docs.join("benchmarks.md");
    std::fs::write(&page, text(table)).map_err(Error::file(&page))
}

fn text(table: &Table) -> String {
    let mut out = String::from(
        "# Benchmarks\n\n\
         How long device links take with nvlink 13.0.88 and with culd under the name nvlink. This page and its picture are written by\n\
         `cargo xtask bench` from `benches/results.tsv`; a run of some shapes (`cargo xtask bench small host=1000`) replaces their rows.\n\n\
         ![Time over size](benchmarks.svg)\n\n## Method\n\n",
    );
    let _ = writeln!(out, "- Machine: {}.", machine());
    out.push_str(
        "- Inputs are made by the command: modules compiled by the real ptxas and nvcc for sm_90 (small100 and kernels100: sm_100), copied under other names of equal\n  \
           length. The same tools give the same bytes.\n\
         - The linkers run in turn on a warm page cache. Times are the best of as many runs as the row says (two where a run takes over 8 s,\n  \
           one where it takes over 30 s). Rows may come from different days and versions; the two linkers of a row ran together.\n\
         - *Load* is how many processes wanted a processor meanwhile, the linker included: above the number of cores, others were at work\n  \
           and times are longer than they need be.\n\
         - The time of a link ends with its process. The processor time and the memory are also those of the process that frees the memory of a large link of culd\n  \
           afterwards.\n\
         - Memory is the largest resident set; it is bold where it is over 10 MB + 1.2 × (inputs + output).\n\
         - *Floor*: starting a process, reading every input and writing as many bytes as the output has. It does no work, so it is a bound.\n\
         - *Growth*: exponent of processor time over size, between the two largest sizes; 1 is linear. A dash: too short to tell.\n\
         - Outputs are compared byte by byte. A dash in nvlink's column means that nvlink does not end in minutes; there is nothing to compare.\n\n",
    );
    out.push_str(
        "## Times\n\n| shape | size | in MB | out MB | nvlink s | culd s | times faster | culd MB | floor s | culd / floor | bytes | runs | load |\n",
    );
    out.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|--:|\n");
    for row in &table.rows {
        line(&mut out, row);
    }
    out.push_str("\n## Growth\n\n| shape | what grows | nvlink | culd |\n|---|---|--:|--:|\n");
    for shape in SHAPES {
        let rows = table.of(shape.name);
        if rows.len() > 1 {
            let (theirs, ours) = (growth(&rows, |r| r.nvlink), growth(&rows, |r| Some(r.culd)));
            let _ = writeln!(out, "| {} | {} | {theirs} | {ours} |", shape.name, shape.about);
        }
    }
    out
}

fn line(out: &mut String, row: &Row) {
    let _ = writeln!(
        out,
        "| {} | {} | {:.1} | {:.1} | {} | {} | {} | {} | {} | {:.1} | {} | {} | {} |",
        row.shape,
        row.size,
        row.input as f64 / 1e6,
        row.output as f64 / 1e6,
        row.nvlink.map_or_else(|| "–".to_owned(), |c| seconds(c.wall)),
        seconds(row.culd.wall),
        row.ratio().map_or_else(|| "–".to_owned(), times),
        memory(row),
        seconds(row.floor),
        row.culd.wall / row.floor,
        match row.same {
            Some(true) => "same",
            Some(false) => "**different**",
            None => "–",
        },
        row.runs,
        row.load.map_or_else(|| "–".to_owned(), |l| format!("{l:.1}"))
    );
}

/// The memory, bold where it is over the bound.
fn memory(row: &Row) -> String {
    let bound = 10.0 + 1.2 * (row.input + row.output) as f64 / 1e6;
    let text = format!("{:.0}", row.culd.memory);
    if row.culd.memory > bound { format!("**{text}**") } else { text }
}

fn seconds(s: f64) -> String {
    if s < 0.1 { format!("{s:.4}") } else { format!("{s:.2}") }
}

fn times(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.1}")
    } else {
        format!("{ratio:.0}")
    }
}

/// The exponent between the two largest sizes that were measured.
fn growth(rows: &[&Row], cost: impl Fn(&Row) -> Option<Cost>) -> String {
    let points: Vec<(f64, f64)> = rows
        .iter()
        .filter_map(|r| Some((r.size as f64, (cost(r)?.cpu - START).max(1e-4))))
        .collect();
    match points.as_slice() {
        [.., (_, y)] if *y < SHORT => "–".into(),
        [.., (x0, y0), (x1, y1)] => format!("{:.2}", (y1 / y0).ln() / (x1 / x0).ln()),
        _ => "–".into(),
    }
}

/// Processor, cores, memory and system.
pub(super) fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let after = |text: &str, key: &str| {
        let line = text.lines().find(|l| l.starts_with(key))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let model = after(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| std::env::consts::ARCH.into());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let memory = after(&read("/proc/meminfo"), "MemTotal").and_then(|m| m.split_whitespace().next()?.parse::<f64>().ok());
    let memory = memory.map_or_else(String::new, |kib| format!(", {:.0} GiB of memory", kib / 1024.0 / 1024.0));
    format!("{model}, {cores} cores{memory}, {}", std::env::consts::OS)
}
