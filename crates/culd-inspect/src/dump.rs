//! Showing what is in a device file.
//!
//! 1. `model` pairs a file with what the user wants to see of it.
//! 2. `rows`, `attributes`, `kernels` and the other row modules turn bytes into rows with names.
//! 3. `text` and `json` write the same rows for people and for programs.

mod attributes;
mod bytes;
mod contents;
mod decoded_text;
mod json;
mod kernels;
mod model;
mod problems;
mod rows;
mod text;

pub use attributes::{AttributeRow, AttributeValue, BranchRow, SymbolRef};
pub(crate) use attributes::{Codes, codes_of, hex, number, rows as attribute_rows};
pub use contents::{ActionRow, CallGraphRow, CapsuleRow, Contents, EdgeRow, MetadataRow, NoteContent, NoteRow, PrototypeRow, UnifiedRow};
pub use kernels::{BankRow, FunctionRow, ParamRow};
pub(crate) use model::function_of;
pub use model::{Model, Selection};
pub(crate) use rows::{is_reloc, reloc_name};

pub use rows::{HeaderRow, RelocRow, SectionRow, SegmentRow, SymbolRow};

use crate::style::Style;
use crate::view::View;
use std::io::{self, Write};

/// Writes one device file as text.
pub fn write_text(out: &mut dyn Write, view: &View<'_>, selection: &Selection, name: &str, style: Style) -> io::Result<()> {
    text::write(out, &Model::new(view, selection), name, style)
}

/// Writes one device file as a JSON object.
pub fn write_json(out: &mut dyn Write, view: &View<'_>, selection: &Selection, name: &str) -> io::Result<()> {
    let model = Model::new(view, selection);
    serde_json::to_writer(out, &json::Document { name, model }).map_err(io::Error::from)
}
