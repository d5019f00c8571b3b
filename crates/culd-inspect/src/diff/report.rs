//! A comparison's result, as text and as JSON.

use super::context::Context;
use super::finding::{Finding, Group, lines};
use super::options::Options;
use crate::style::{TextStyle, Tone};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// What differs between two files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiffReport {
    /// Differences, causes first.
    pub findings: Vec<Finding>,
    /// What else differs because of them.
    pub consequences: Vec<String>,
    /// A guess at the reason of it all.
    pub hint: Option<&'static str>,
}

impl DiffReport {
    pub(super) fn new(cx: Context<'_, '_>) -> Self {
        let mut findings = cx.findings;
        findings.sort_by_key(|f| f.group);
        let only_order = findings.iter().any(|f| f.field == "section order" || f.field == "symbol order")
            && !findings
                .iter()
                .any(|f| matches!(f.group, Group::Header | Group::Sections | Group::Symbols));
        DiffReport {
            hint: only_order.then_some("same sections and symbols in another order, as if the inputs came in another order"),
            findings,
            consequences: cx.consequences.into_iter().collect(),
        }
    }

    /// True when the files are the same, byte for byte.
    pub fn is_same(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Writes a report as text, without saying between what.
pub(super) fn write_body(out: &mut dyn Write, report: &DiffReport, options: Options, style: TextStyle) -> io::Result<()> {
    if let Some(hint) = report.hint {
        writeln!(out, "{hint}")?;
    }
    let mut groups: BTreeMap<Group, Vec<&Finding>> = BTreeMap::new();
    for f in &report.findings {
        groups.entry(f.group).or_default().push(f);
    }
    for (group, findings) in groups {
        style.heading(out, group.title())?;
        let lines = lines(&findings);
        let shown = if options.all { lines.len() } else { group.limit() };
        // One more line is shown rather than counted.
        let shown = if lines.len() == shown + 1 { shown + 1 } else { shown };
        for line in lines.iter().take(shown) {
            writeln!(out, "  {}", line.text(options.all))?;
        }
        if lines.len() > shown {
            let rest: usize = lines.iter().skip(shown).map(|l| l.findings.len()).sum();
            let text = format!("… and {rest} more (--all shows them)");
            writeln!(out, "  {}", style.paint(Tone::Faint, &text))?;
        }
    }
    if !report.consequences.is_empty() {
        let text = format!("following from these: {}", report.consequences.join(", "));
        writeln!(out, "\n{}", style.paint(Tone::Faint, &text))?;
    }
    Ok(())
}

#[derive(Serialize)]
struct JsonFinding<'r> {
    #[serde(flatten)]
    finding: &'r Finding,
    message: String,
}

/// A report as a JSON value.
pub(super) fn json(name: &str, report: &DiffReport) -> serde_json::Value {
    let differences: Vec<JsonFinding<'_>> = report
        .findings
        .iter()
        .map(|finding| JsonFinding {
            finding,
            message: finding.message(),
        })
        .collect();
    serde_json::json!({
        "name": name,
        "same": report.is_same(),
        "hint": report.hint,
        "differences": differences,
        "consequences": report.consequences,
    })
}
