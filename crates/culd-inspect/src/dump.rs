//! Showing what is in a device file.
//!
//! 1. `model` pairs a file with the requested parts.
//! 2. `rows`, `attributes`, `kernels` and the other row modules turn bytes into rows with names.
//! 3. `text` and `json` write the same rows for people and for programs.

mod attributes;
mod bytes;
mod contents;
mod decoded_text;
mod json;
mod kernels;
mod model;
mod parts;
mod problems;
mod rows;
mod text;

pub use attributes::{AttributeRow, AttributeValue, BranchRow, SymbolRef};
pub(crate) use attributes::{Codes, codes_of, number, rows as attribute_rows};
pub use contents::{ActionRow, CallGraphRow, CapsuleRow, Contents, EdgeRow, MetadataRow, NoteContent, NoteRow, PrototypeRow, UnifiedRow};
pub use kernels::{BankRow, FunctionRow, ParamRow};
pub(crate) use model::function_of;
pub use model::{Model, Selection};
pub(crate) use rows::{is_reloc, reloc_name};

pub use rows::{HeaderRow, RelocRow, SectionRow, SegmentRow, SymbolRow};

use crate::file::DeviceFile;
use crate::style::{TextStyle, Tone};
use crate::view::View;
use std::io::{self, Write};

/// Writes one cubin as text; true when something is wrong with it.
pub fn write_text(out: &mut dyn Write, view: &View<'_>, selection: &Selection, name: &str, style: TextStyle) -> io::Result<bool> {
    text::write(out, &Model::new(view, selection), name, style)
}

/// Writes one cubin as a JSON object.
pub fn write_json(out: &mut dyn Write, view: &View<'_>, selection: &Selection, name: &str) -> io::Result<()> {
    let model = Model::new(view, selection);
    serde_json::to_writer(out, &json::Document { name, model }).map_err(io::Error::from)
}

/// Result of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpOutcome {
    /// Something in the file could not be read.
    pub damaged: bool,
    /// Cubins that were shown.
    pub shown: usize,
}

/// Writes a file of any kind as text; with `list` only its parts.
pub fn write_file(
    out: &mut dyn Write,
    file: &DeviceFile<'_>,
    selection: &Selection,
    path: &str,
    style: TextStyle,
    list: bool,
) -> io::Result<DumpOutcome> {
    let mut outcome = DumpOutcome {
        damaged: !file.problems.is_empty(),
        shown: 0,
    };
    let single = matches!(file.parts.as_slice(), [p] if p.row.name.is_empty() && p.is_cubin());
    if !single || list {
        parts::write(out, file, path, style)?;
    }
    if list {
        return Ok(outcome);
    }
    for part in file.parts.iter().filter(|p| p.is_cubin()) {
        let name = format!("{path}{}", joined(&part.row.name));
        if !single {
            writeln!(out)?;
        }
        let shown = part.bytes().and_then(|bytes| {
            let view = View::parse(&bytes).map_err(|e| e.to_string())?;
            Ok(write_text(out, &view, selection, &name, style))
        });
        match shown {
            Ok(written) => {
                outcome.damaged |= written?;
                outcome.shown += 1;
            }
            Err(reason) => {
                outcome.damaged = true;
                writeln!(out, "{}", style.paint(Tone::Bad, &format!("{name}: {reason}")))?;
            }
        }
    }
    Ok(outcome)
}

/// A part's name after the path of its file.
fn joined(part: &str) -> String {
    match part {
        "" => String::new(),
        p if p.starts_with(':') => p.to_owned(),
        p => format!(":{p}"),
    }
}

/// Writes a file of any kind as a JSON object.
pub fn write_file_json(
    out: &mut dyn Write,
    file: &DeviceFile<'_>,
    selection: &Selection,
    path: &str,
    list: bool,
) -> io::Result<DumpOutcome> {
    let mut outcome = DumpOutcome {
        damaged: !file.problems.is_empty(),
        shown: 0,
    };
    let mut problems = file.problems.clone();
    let rows: Vec<_> = file.parts.iter().map(|p| &p.row).collect();
    write!(
        out,
        "{{\"path\":{},\"kind\":\"{}\",\"parts\":",
        serde_json::to_string(path)?,
        file.kind
    )?;
    serde_json::to_writer(&mut *out, &rows)?;
    write!(out, ",\"cubins\":[")?;
    for part in file.parts.iter().filter(|p| p.is_cubin() && !list) {
        let name = format!("{path}{}", joined(&part.row.name));
        let bytes = part.bytes();
        match bytes
            .as_deref()
            .map_err(Clone::clone)
            .and_then(|b| View::parse(b).map_err(|e| e.to_string()))
        {
            Ok(view) => {
                if outcome.shown > 0 {
                    write!(out, ",")?;
                }
                outcome.shown += 1;
                write_json(out, &view, selection, &name)?;
            }
            Err(reason) => {
                outcome.damaged = true;
                problems.push(crate::view::Problem { place: name, reason });
            }
        }
    }
    write!(out, "],\"problems\":")?;
    serde_json::to_writer(&mut *out, &problems)?;
    write!(out, "}}")?;
    Ok(outcome)
}
