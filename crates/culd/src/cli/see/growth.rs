//! `culd diff --sizes`, and budgets for builds.

use super::table::{Table, number};
use super::{Request, put, put_json, read};
use culd_report::growth::{self, Change, Growth, Numbers};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Document<'d> {
    schema: &'static str,
    #[serde(flatten)]
    growth: &'d Growth,
    over_budget: &'d [String],
}

pub(super) fn run(request: &Request, out: &mut dyn Write) -> Result<u8, String> {
    let [a, b] = request.files.as_slice() else {
        return Err("two files, please; see culd diff --help".into());
    };
    let (before, after) = (read(std::slice::from_ref(a))?, read(std::slice::from_ref(b))?);
    for report in [&before, &after] {
        if let Some(m) = report.messages.iter().find(|m| m.severity == "error") {
            return Err(m.text.clone());
        }
    }
    let growth = growth::growth(&before, &after);
    let budgets = budgets(request.value("fail-above").unwrap_or_default())?;
    let over: Vec<String> = budgets.iter().flat_map(|b| b.exceeded(&growth)).collect();
    if request.has("json") {
        let document = Document {
            schema: "culd.size-diff/1",
            growth: &growth,
            over_budget: &over,
        };
        put_json(out, &document)?;
    } else {
        put(out, &text(&growth, request.top()?))?;
        for line in &over {
            put(out, &format!("over budget: {line}\n"))?;
        }
    }
    Ok(u8::from(!over.is_empty()))
}

fn delta(before: u64, after: u64) -> String {
    let sign = match after.cmp(&before) {
        std::cmp::Ordering::Less => "-",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => "+",
    };
    let share = if before == 0 {
        String::new()
    } else {
        format!(", {:+.1} %", (after as f64 - before as f64) * 100.0 / before as f64)
    };
    format!("{sign}{}{share}", number(after.abs_diff(before)))
}

fn text(growth: &Growth, top: usize) -> String {
    let mut table = Table::new(&["function", "delta", "code", "registers", "stack", "shared", "arch"]).texts_after(1);
    for change in growth.changes.iter().take(top) {
        table.row(cells(change));
    }
    let mut out = if growth.changes.is_empty() { String::new() } else { table.text() };
    let more = growth.changes.len().saturating_sub(top);
    if more > 0 {
        out += &format!("and {more} more\n");
    }
    for line in &growth.unpaired {
        out += &format!("{line}\n");
    }
    let ([size_a, size_b], [code_a, code_b]) = (growth.size, growth.code);
    out += &format!("code {} -> {} bytes ({})\n", number(code_a), number(code_b), delta(code_a, code_b));
    out += &format!(
        "cubins {} -> {} bytes ({})\n",
        number(size_a),
        number(size_b),
        delta(size_a, size_b)
    );
    out + &format!("{} functions differ, {} have the same numbers\n", growth.changes.len(), growth.same)
}

fn cells(change: &Change) -> Vec<String> {
    let cell = |of: fn(&Numbers) -> Option<u64>| {
        let show = |n: Option<Numbers>| n.map_or_else(|| "-".into(), |n| of(&n).map_or_else(|| "unknown".into(), number));
        let (a, b) = (show(change.before), show(change.after));
        if a == b { a } else { format!("{a} -> {b}") }
    };
    let state = match (change.before, change.after) {
        (None, _) => "new ",
        (_, None) => "gone ",
        _ => "",
    };
    let difference = change.code_delta();
    let sign = if difference > 0 {
        "+"
    } else if difference < 0 {
        "-"
    } else {
        ""
    };
    vec![
        format!("{state}{}", change.name),
        format!("{sign}{}", number(u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX))),
        cell(|n| Some(n.code)),
        cell(|n| Some(n.registers)),
        cell(|n| n.stack),
        cell(|n| Some(n.shared)),
        change.arch.clone(),
    ]
}

/// A limit on growth.
#[derive(Debug, PartialEq)]
struct Budget {
    /// None for all code together.
    field: Option<&'static str>,
    limit: f64,
    is_percent: bool,
}

const FIELDS: [&str; 4] = ["code", "registers", "stack", "shared"];

fn budgets(text: &str) -> Result<Vec<Budget>, String> {
    let parse = |part: &str| {
        let (field, limit) = match part.split_once('=') {
            Some((field, limit)) => {
                let known = FIELDS.iter().find(|f| **f == field);
                (
                    Some(*known.ok_or_else(|| format!("--fail-above knows code, registers, stack and shared, not {field}"))?),
                    limit,
                )
            }
            None => (None, part),
        };
        let (digits, is_percent) = limit.strip_suffix('%').map_or((limit, false), |d| (d, true));
        let limit = digits.trim().parse().ok().filter(|n: &f64| *n >= 0.0 && n.is_finite());
        let limit = limit.ok_or_else(|| format!("--fail-above needs a number, not {part}"))?;
        Ok(Budget { field, limit, is_percent })
    };
    text.split(',').filter(|p| !p.is_empty()).map(parse).collect()
}

impl Budget {
    fn is_over(&self, before: u64, after: u64) -> bool {
        let grown = after.saturating_sub(before) as f64;
        if self.is_percent {
            grown * 100.0 > self.limit * before as f64
        } else {
            grown > self.limit
        }
    }

    fn exceeded(&self, growth: &Growth) -> Vec<String> {
        let limit = format!("{}{}", self.limit, if self.is_percent { " %" } else { "" });
        let Some(field) = self.field else {
            let [a, b] = growth.code;
            let over = self
                .is_over(a, b)
                .then(|| format!("all code grew by {} (limit {limit})", delta(a, b)));
            return over.into_iter().collect();
        };
        let value = |n: Numbers| match field {
            "code" => n.code,
            "registers" => n.registers,
            "stack" => n.stack.unwrap_or(u64::MAX),
            _ => n.shared,
        };
        // New functions count as all code does, not on their own.
        let pairs = growth.changes.iter().filter_map(|c| Some((c, value(c.before?), value(c.after?))));
        let over = pairs.filter(|(_, a, b)| self.is_over(*a, *b));
        over.map(|(c, a, b)| {
            let show = |n: u64| if n == u64::MAX { "unknown".to_owned() } else { number(n) };
            format!("{field} of {} ({}): {} -> {} (limit {limit})", c.name, c.arch, show(a), show(b))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn budgets_are_read_and_kept() {
        let list = budgets("5%,registers=8,stack=0").unwrap();
        assert_eq!(list.len(), 3);
        assert!(list[0].is_percent && !list[0].is_over(100, 105) && list[0].is_over(100, 106));
        assert!(!list[1].is_over(24, 32) && list[1].is_over(24, 33));
        assert!(list[2].is_over(0, u64::MAX) && !list[2].is_over(8, 4));
        assert!(budgets("speed=3").is_err() && budgets("x").is_err() && budgets("-1").is_err());
        assert!(budgets("").unwrap().is_empty());
    }
}
