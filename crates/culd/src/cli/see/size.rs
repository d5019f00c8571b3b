//! `culd size`.

use super::table::{Table, number};
use super::{Request, put, put_json};
use culd_report::sizes::{self, By};
use culd_report::{Report, Unit};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Document<'d> {
    schema: &'static str,
    tables: &'d [sizes::Table],
}

pub(super) fn run(request: &Request, report: &Report, out: &mut dyn Write) -> Result<(), String> {
    let by = request.value("by").unwrap_or("function").split(',');
    let by: Vec<By> = by
        .map(|name| By::parse(name).ok_or_else(|| format!("--by is input, function, family or section, not {name}")))
        .collect::<Result<_, _>>()?;
    let units: Vec<&Unit> = report
        .units
        .iter()
        .filter(|u| request.value("arch").is_none_or(|a| a == u.arch))
        .collect();
    let mut tables: Vec<sizes::Table> = by.into_iter().map(|by| sizes::table(units.iter().copied(), by)).collect();
    for table in &mut tables {
        match request.value("sort").unwrap_or("size") {
            "size" => {}
            "name" => table.rows.sort_by(|a, b| a.name.cmp(&b.name)),
            "count" => table.rows.sort_by_key(|r| std::cmp::Reverse(r.count)),
            other => return Err(format!("--sort is size, name or count, not {other}")),
        }
        table.rows.truncate(request.top()?);
    }
    if request.has("json") {
        return put_json(
            out,
            &Document {
                schema: "culd.size/1",
                tables: &tables,
            },
        );
    }
    for (at, table) in tables.iter().enumerate() {
        if at > 0 {
            put(out, "\n")?;
        }
        put(out, &text(table))?;
    }
    Ok(())
}

fn text(table: &sizes::Table) -> String {
    let what = if table.by == By::Section { "sections" } else { "functions" };
    let share = |size: u64| format!("{:.1} %", size as f64 * 100.0 / table.total.max(1) as f64);
    let mut text = Table::new(&[table.by.word(), "bytes", "share", what]);
    for row in &table.rows {
        text.row(vec![row.name.clone(), number(row.size), share(row.size), number(row.count)]);
    }
    text.row(vec!["total".into(), number(table.total), String::new(), String::new()]);
    text.text()
}
