//! Links in which culd kept the compiler's schedule of some functions and reports it.
//!
//! From sm_100 on nvlink re-schedules kernels; where culd is not sure how, it keeps what the compiler wrote and reports the function. Such a link is
//! judged by its differences from nvlink's, as [`culd_inspect::diff`] finds them:
//!
//! 1. The report (`CULD_REPORT`) names the functions that were kept; without any, the link is different.
//! 2. What differs must belong to one of them: its code, its size, its attributes, relocations into it, its capsule and its jump table.
//! 3. If instructions of one of them are elsewhere, tables of code positions (unwinding, lines, registers) and the layout may follow.

use crate::context::Linker;
use culd_inspect::diff::{self, Finding, Group};
use culd_inspect::view::View;
use culd_tests::{Error, Result, run};
use std::path::Path;

const REPORT: &str = "kept.json";

/// Sections that belong to a function, before its name.
const OWN: [&str; 7] = [
    ".text.",
    ".nv.info.",
    ".rela.text.",
    ".nv.capmerc.text.",
    ".nv.constant2.",
    ".rela.nv.constant2.",
    ".nv.resolvedrela.text.",
];
/// Sections with positions in code.
const POSITIONS: [&str; 8] = [
    ".debug_frame",
    ".debug_line",
    ".debug_info",
    ".debug_loc",
    ".nv_debug_line_sass",
    ".nv_debug_info_reg_sass",
    ".debug_ranges",
    ".debug_aranges",
];

/// A function whose schedule was kept.
pub(crate) struct Kept {
    /// Its name.
    pub(crate) name: String,
    /// Why, with the place in the code.
    pub(crate) reason: String,
}

impl Kept {
    /// The reason without the place.
    pub(crate) fn cause(&self) -> &str {
        self.reason.split(" at 0x").next().unwrap_or(&self.reason)
    }
}

/// The functions that were kept, if all that differs between two outputs follows from that; otherwise what does not.
pub(crate) fn explained(
    linker: &Linker,
    args: &str,
    dir: &Path,
    (ours, nvlink): (&[u8], &[u8]),
) -> Result<std::result::Result<Vec<Kept>, String>> {
    let kept = functions(linker, args, dir)?;
    if kept.is_empty() {
        return Ok(Err("no function was kept".into()));
    }
    let views = View::parse(nvlink)
        .map_err(|e| e.to_string())
        .and_then(|a| Ok((a, View::parse(ours).map_err(|e| e.to_string())?)));
    let (a, b) = views.map_err(Error::Other)?;
    let findings = diff::compare(&a, &b, diff::Options::default()).findings;
    Ok(match foreign(&findings, &kept) {
        None => Ok(kept),
        Some(finding) => {
            let names: Vec<&str> = kept.iter().map(|k| k.name.as_str()).collect();
            Err(format!("kept: {}; but also {}", names.join(", "), finding.message()))
        }
    })
}

/// Links again, with a report.
pub(crate) fn functions(linker: &Linker, args: &str, dir: &Path) -> Result<Vec<Kept>> {
    let outcome = run::link_with(&linker.as_nvlink, args, dir, None, &[("CULD_REPORT", REPORT)])?;
    for name in outcome.files.keys() {
        std::fs::remove_file(dir.join(name)).map_err(Error::file(dir.join(name)))?;
    }
    let Some(text) = outcome.files.get(REPORT) else {
        return Ok(Vec::new());
    };
    of_report(text)
}

/// The functions of a report.
pub(crate) fn of_report(text: &[u8]) -> Result<Vec<Kept>> {
    let report: serde_json::Value = serde_json::from_slice(text).map_err(|e| Error::Other(format!("{REPORT}: {e}")))?;
    let list = report.get("kept_sass").and_then(|l| l.as_array()).map_or(&[][..], Vec::as_slice);
    let text = |k: &serde_json::Value, key: &str| k.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let kept = list.iter().filter_map(|k| {
        Some(Kept {
            name: text(k, "name")?,
            reason: text(k, "reason").unwrap_or_default(),
        })
    });
    Ok(kept.collect())
}

/// The first difference that does not follow from the kept functions.
fn foreign<'f>(findings: &'f [Finding], kept: &[Kept]) -> Option<&'f Finding> {
    let is_kept = |name: &str| kept.iter().any(|k| k.name == name);
    let own = |f: &Finding| {
        let section = f.section.as_deref().map(plain);
        let in_own = section.is_some_and(|s| OWN.iter().any(|o| s.strip_prefix(o).is_some_and(is_kept)));
        in_own || (f.group == Group::SymbolFields && f.field == "size" && f.symbol.as_deref().is_some_and(is_kept))
    };
    let moved = findings.iter().any(|f| own(f) && f.group != Group::Code);
    let follows = |f: &Finding| match f.group {
        Group::Layout | Group::Header => true,
        Group::Debug | Group::Relocations => {
            let section = f.section.as_deref().unwrap_or(&f.subject);
            let section = plain(section).trim_start_matches(".rela");
            POSITIONS.iter().any(|p| section.starts_with(p))
        }
        _ => false,
    };
    findings.iter().find(|f| !(own(f) || moved && follows(f)))
}

/// The name of a section's twin in the SASS view.
fn plain(name: &str) -> &str {
    name.strip_prefix(".nv.merc").unwrap_or(name)
}
