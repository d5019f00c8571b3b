//! `culd report --html`, and `--html` of a link.

use super::{Request, put, put_json};
use crate::cli::hiargs::LinkPlan;
use crate::cli::messages::CliMessage;
use crate::cli::{os, report, side_outputs};
use culd_engine::Outcome;
use culd_input::Loaded;
use culd_report::link::{self, Linked};
use culd_report::model::Message;
use culd_report::{Report, page};
use std::io::Write;

pub(super) fn run(request: &Request, report: &Report, out: &mut dyn Write) -> Result<(), String> {
    match (request.value("html"), request.has("json")) {
        (_, true) => put_json(out, report),
        (Some("-"), _) => put(out, &page::html(report)),
        (Some(file), _) => side_outputs::write_text(file.as_bytes(), page::html(report).as_bytes()).map_err(|e| e.to_string()),
        (None, false) => Err("culd report needs --html <file> or --json".into()),
    }
}

/// The description of a link, while its inputs and its output are at hand.
pub fn describe(plan: &LinkPlan, loaded: &Loaded, outcome: &Outcome) -> Option<Report> {
    let inputs: Vec<(&str, &[u8])> = loaded.objects.iter().map(|o| (&*o.name, &o.bytes[..])).collect();
    let output = plan.output.as_deref().map(os::lossy).unwrap_or_default();
    let linked = Linked {
        output: &output,
        image: outcome.image.as_deref()?,
        inputs: &inputs,
        map: outcome.explained.map.as_ref(),
    };
    link::report(linked).ok()
}

/// Writes the page of a link. A link without an image has a page with its messages.
pub fn write(file: &[u8], described: Option<Report>, report: &report::Report) -> Result<(), CliMessage> {
    let mut page = described.unwrap_or_else(|| Report::new(&format!("link for {}", report.target)));
    page.status = Some(report.status.to_owned());
    let messages = report.messages.iter().map(|m| Message {
        severity: m.severity.to_owned(),
        code: m.code.to_string(),
        text: m.text.clone(),
    });
    page.messages.extend(messages);
    side_outputs::write_text(file, page::html(&page).as_bytes())
}
