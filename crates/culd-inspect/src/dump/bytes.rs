//! The bytes of sections, for sections requested by name.

use super::model::Model;
use crate::names;
use crate::style::{TextStyle, Tone};
use std::io::{self, Write};

/// Writes the bytes of the sections that are requested.
pub(super) fn write(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    if model.selection.sections.is_empty() && !model.selection.bytes {
        return Ok(());
    }
    for s in model
        .view
        .sections
        .iter()
        .skip(1)
        .filter(|s| model.shows_section(s) && !s.data.is_empty())
    {
        style.heading(out, &format!("Bytes of {}", names::text(s.name)))?;
        let mut previous: Option<&[u8]> = None;
        let mut repeats = false;
        for (i, line) in s.data.chunks(16).enumerate() {
            if previous == Some(line) && line.len() == 16 {
                if !repeats {
                    writeln!(out, "  {}", style.paint(Tone::Faint, "*"))?;
                }
                repeats = true;
                continue;
            }
            repeats = false;
            previous = Some(line);
            write_line(out, i * 16, line)?;
        }
        writeln!(out, "  {:06x}", s.data.len())?;
    }
    Ok(())
}

/// Offset, words, letters.
fn write_line(out: &mut dyn Write, offset: usize, line: &[u8]) -> io::Result<()> {
    write!(out, "  {offset:06x} ")?;
    for chunk in line.chunks(4) {
        match <[u8; 4]>::try_from(chunk) {
            Ok(word) => write!(out, " {:08x}", u32::from_le_bytes(word))?,
            Err(_) => {
                for b in chunk {
                    write!(out, " {b:02x}")?;
                }
            }
        }
    }
    let letters: String = line
        .iter()
        .map(|&b| if (0x20..0x7f).contains(&b) { b as char } else { '.' })
        .collect();
    let used = line.len() / 4 * 9 + line.len() % 4 * 3;
    writeln!(out, "{:pad$}  {letters}", "", pad = 36usize.saturating_sub(used))
}
