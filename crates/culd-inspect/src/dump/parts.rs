//! The parts of a file as a table.

use crate::file::DeviceFile;
use crate::style::{TextStyle, Tone};
use std::io::{self, Write};

/// Writes what a file is and which parts it has.
pub(super) fn write(out: &mut dyn Write, file: &DeviceFile<'_>, path: &str, style: TextStyle) -> io::Result<()> {
    let count = file.parts.len();
    let title = format!(
        "{path}: {}, {count} part{} with device code",
        file.kind,
        if count == 1 { "" } else { "s" }
    );
    writeln!(out, "{}", style.paint(Tone::Heading, &title))?;
    for p in &file.problems {
        writeln!(out, "  {} {}", style.paint(Tone::Bad, &format!("{}:", p.place)), p.reason)?;
    }
    if count == 0 {
        return Ok(());
    }
    let heads = "  kind     arch           size    stored  packing  section         name";
    writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
    for p in &file.parts {
        let row = &p.row;
        let mut line = format!(
            "  {:<8} {:<11} {:>7}  {:>8}  {:<7}  {:<14}  {}",
            row.kind,
            row.arch.as_deref().unwrap_or("-"),
            row.size,
            row.stored_size,
            row.compression,
            row.section.as_deref().unwrap_or("-"),
            row.name
        );
        for (label, text) in [("from", &row.identifier), ("options", &row.options)] {
            if label == "options" && !row.has_text_options {
                line.push_str("  options in binary form");
            } else if !text.is_empty() {
                line.push_str(&format!("  {label} \"{text}\""));
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
