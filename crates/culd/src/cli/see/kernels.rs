//! `culd dump --kernels`: the table of functions alone.

use super::table::{Table, number};
use super::{Request, put, put_json};
use culd_report::{Function, Report};
use std::io::Write;

pub(super) fn run(request: &Request, report: &Report, out: &mut dyn Write) -> Result<(), String> {
    if request.has("json") {
        return put_json(out, report);
    }
    let top = request.top()?;
    for (at, unit) in report.units.iter().enumerate() {
        if at > 0 {
            put(out, "\n")?;
        }
        put(out, &format!("{} ({})\n", unit.name, unit.arch))?;
        let mut functions: Vec<&Function> = unit.functions.iter().collect();
        sort(&mut functions, request.value("sort").unwrap_or("code"))?;
        let mut table = Table::new(&["name", "code", "regs", "stack", "local", "shared", "const", "bar", "threads"]).texts_after(0);
        for f in functions.iter().take(top) {
            table.row(cells(f));
        }
        put(out, &table.text())?;
    }
    Ok(())
}

fn sort(functions: &mut [&Function], column: &str) -> Result<(), String> {
    let key: fn(&Function) -> u64 = match column {
        "code" => |f| f.code,
        "registers" => |f| f.registers.unwrap_or(0).into(),
        "stack" => |f| if f.stack_unknown { u64::MAX } else { f.stack.unwrap_or(0).into() },
        "shared" => |f| f.shared,
        "name" => |_| 0,
        other => return Err(format!("--sort is code, name, registers, stack or shared, not {other}")),
    };
    functions.sort_by(|a, b| {
        (!a.kernel, key(b))
            .cmp(&(!b.kernel, key(a)))
            .then_with(|| a.demangled.cmp(&b.demangled))
    });
    Ok(())
}

fn cells(f: &Function) -> Vec<String> {
    let known = |n: Option<u32>| n.map_or_else(|| "-".into(), |n| number(n.into()));
    let constants = f
        .constants
        .iter()
        .fold(0, |sum: u64, b| sum.saturating_add(b.last().copied().unwrap_or(0)));
    let threads = match (f.required_threads, f.max_threads) {
        (Some(n), _) => format!("={n}"),
        (None, Some(n)) => format!("<={n}"),
        (None, None) => String::new(),
    };
    vec![
        format!("{}{}", if f.kernel { "" } else { "  " }, f.demangled),
        number(f.code),
        known(f.registers),
        if f.stack_unknown { "unknown".into() } else { known(f.stack) },
        f.local_access
            .map_or_else(|| "-".into(), |[loads, stores]| number(u64::from(loads) + u64::from(stores))),
        format!("{}{}", number(f.shared), if f.dynamic_shared { "+" } else { "" }),
        number(constants),
        number(f.barriers.into()),
        threads,
    ]
}
