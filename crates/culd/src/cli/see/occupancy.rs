//! `culd occupancy`.

use super::table::{Table, number};
use super::{Request, put, put_json};
use culd_report::occupancy::{self, Limits, Occupancy};
use culd_report::{Function, Report, Unit};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Document<'d> {
    schema: &'static str,
    kernels: Vec<Kernel<'d>>,
}

#[derive(Serialize)]
struct Kernel<'d> {
    file: &'d str,
    arch: String,
    name: &'d str,
    demangled: &'d str,
    registers: Option<u32>,
    shared: u64,
    dynamic_shared: u64,
    barriers: u32,
    occupancy: Vec<Occupancy>,
}

/// Block sizes of the table.
const SHOWN: [u32; 5] = [64, 128, 256, 512, 1024];

pub(super) fn run(request: &Request, report: &Report, out: &mut dyn Write) -> Result<(), String> {
    let dynamic = request.number("dynamic-shared")?.unwrap_or(0);
    let json = request.has("json");
    let blocks: Vec<u32> = match request.value("block") {
        Some(list) => list
            .split(',')
            .map(|n| {
                n.parse()
                    .ok()
                    .filter(|n| (1..=1024).contains(n))
                    .ok_or_else(|| format!("--block is 1 to 1024, not {n}"))
            })
            .collect::<Result<_, _>>()?,
        None if json => (1..=32).map(|n| n * 32).collect(),
        None => SHOWN.to_vec(),
    };
    let mut document = Document {
        schema: "culd.occupancy/1",
        kernels: Vec::new(),
    };
    for unit in &report.units {
        let limits = limits(unit, request.value("arch"))?;
        let kernels: Vec<&Function> = unit.functions.iter().filter(|f| f.kernel).collect();
        if json {
            document
                .kernels
                .extend(kernels.iter().map(|f| kernel(unit, limits, f, &blocks, dynamic)));
        } else {
            put(out, &format!("{} on sm_{}\n", unit.name, limits.sm))?;
            put(out, &text(&kernels, limits, &blocks, dynamic))?;
        }
    }
    if json {
        return put_json(out, &document);
    }
    Ok(())
}

fn limits(unit: &Unit, stated: Option<&str>) -> Result<&'static Limits, String> {
    let sm = match stated {
        Some(arch) => arch
            .trim_start_matches("sm_")
            .trim_end_matches(['a', 'f'])
            .parse()
            .map_err(|_| format!("no architecture {arch}"))?,
        None => unit.sm,
    };
    occupancy::limits(sm).ok_or_else(|| format!("{}: the limits of sm_{sm} are not known; --arch chooses others", unit.name))
}

fn kernel<'d>(unit: &'d Unit, limits: &Limits, f: &'d Function, blocks: &[u32], dynamic: u64) -> Kernel<'d> {
    Kernel {
        file: &unit.name,
        arch: format!("sm_{}", limits.sm),
        name: &f.name,
        demangled: &f.demangled,
        registers: f.registers,
        shared: f.shared,
        dynamic_shared: dynamic,
        barriers: f.barriers,
        occupancy: blocks.iter().filter_map(|&n| occupancy::of_kernel(limits, f, n, dynamic)).collect(),
    }
}

fn text(kernels: &[&Function], limits: &Limits, blocks: &[u32], dynamic: u64) -> String {
    let sizes: Vec<String> = blocks.iter().map(|n| n.to_string()).collect();
    let mut headings = vec!["kernel", "regs", "shared"];
    headings.extend(sizes.iter().map(String::as_str));
    headings.push("limited by");
    let mut table = Table::new(&headings).texts_after(1);
    for f in kernels {
        let results: Vec<Option<Occupancy>> = blocks.iter().map(|&n| occupancy::of_kernel(limits, f, n, dynamic)).collect();
        let mut cells = vec![
            f.demangled.clone(),
            f.registers.map_or_else(|| "-".into(), |n| number(n.into())),
            number(f.shared.saturating_add(dynamic)),
        ];
        cells.extend(
            results
                .iter()
                .map(|r| r.as_ref().map_or_else(|| "-".into(), |r| format!("{} %", r.percent))),
        );
        let mut words: Vec<&str> = results.iter().flatten().flat_map(|r| &r.limited_by).map(|l| l.word()).collect();
        words.sort_unstable();
        words.dedup();
        cells.push(words.join(", "));
        table.row(cells);
    }
    table.text()
}
