//! A dump as text: a summary line, then one block per kind of information, each only when there is something to show.

use super::model::Model;
use super::rows::{RelocRow, SymbolRow, source_name};
use crate::line::Line;
use crate::names;
use crate::style::{TextStyle, Tone};
use cubin::names::{symbol_binding, symbol_type};
use cubin::reloc::BitField;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes everything that is selected of one device file; true when something is wrong with the file.
pub(super) fn write(out: &mut dyn Write, model: &Model<'_, '_>, name: &str, style: TextStyle) -> io::Result<bool> {
    let header = model.header();
    let title = format!(
        "{name}: {}-bit cubin, {}, {}, {} bytes",
        header.class, header.file_type, header.arch, header.file_size
    );
    writeln!(out, "{}", style.paint(Tone::Heading, &title))?;
    let mut contents = model.everything();
    let problems = model.problems(&contents);
    model.select(&mut contents);
    if !problems.is_empty() {
        style.heading(out, "Problems")?;
        for p in &problems {
            writeln!(out, "  {} {}", style.paint(Tone::Bad, &format!("{}:", p.place)), p.reason)?;
        }
    }
    if model.shows_all() {
        write_header(out, model, style)?;
        write_segments(out, model, style)?;
    }
    if model.sections().next().is_none() && !model.view.sections.is_empty() {
        writeln!(out, "  no function or section here matches the names given")?;
    }
    super::decoded_text::kernels(out, model, style)?;
    write_sections(out, model, style)?;
    write_symbols(out, model, style)?;
    write_relocs(out, model, style)?;
    super::decoded_text::write(out, model, &contents, style)?;
    super::bytes::write(out, model, style)?;
    Ok(!problems.is_empty())
}

fn write_header(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    let h = model.header();
    style.heading(out, "Header")?;
    writeln!(out, "  type             {} ({})", h.file_type, h.file_type_value)?;
    writeln!(out, "  ABI              OS {:#x}, version {}", h.os_abi, h.abi_version)?;
    writeln!(out, "  machine          {}, version {}, entry {:#x}", h.machine, h.version, h.entry)?;
    match h.flags_note_section {
        Some(n) => writeln!(out, "  flags            {:#010x}: {}, cuinfo note in section {n}", h.flags, h.arch)?,
        None => writeln!(out, "  flags            {:#010x}: {}", h.flags, h.arch)?,
    }
    let count = if h.section_count == 0 {
        model.view.sections.len()
    } else {
        h.section_count.into()
    };
    writeln!(
        out,
        "  section headers  {count} at {:#x}, names in section {}",
        h.section_headers_offset, h.section_names_section
    )?;
    writeln!(
        out,
        "  program headers  {} at {:#x}",
        h.program_header_count, h.program_headers_offset
    )
}

fn write_segments(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    if model.view.segments.is_empty() {
        return Ok(());
    }
    style.heading(out, "Program headers")?;
    let heads = "  type  flags   offset  file size  memory size  align  sections";
    writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
    for s in model.segments() {
        let sections = match s.sections {
            Some((a, b)) => format!("{} .. {}", show(model.view.section_name(a)), show(model.view.section_name(b))),
            None => String::new(),
        };
        let line = format!(
            "  {:<5} {:<5} {:>#8x} {:>#10x} {:>#12x} {:>6}  {sections}",
            s.kind, s.flags, s.offset, s.file_size, s.memory_size, s.align
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn show(name: &[u8]) -> std::borrow::Cow<'_, str> {
    names::text(name)
}

fn write_sections(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    let mut rows = model.sections().peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    style.heading(out, "Sections")?;
    let heads = "  index    offset      size  align  entry  link  info      flags  type               name";
    writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
    let mut line = Line::default();
    for s in rows {
        line.number(s.index.into(), 7)
            .hex(s.offset, 10)
            .hex(s.size, 10)
            .number(s.align, 7)
            .number(s.entry_size, 7);
        line.number(s.link.into(), 6).text("  ");
        line.number_left(s.info.into(), 10)
            .left(&names::flag_letters(s.flags_value), 7)
            .left(&s.kind, 19)
            .text(&s.name);
        line.end(out)?;
    }
    writeln!(out, "{}", style.paint(Tone::Faint, &format!("  flags: {}", names::flag_legend())))
}

fn write_symbols(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    let words = Words::new();
    let mut line = Line::default();
    for table in &model.view.tables {
        let mut rows = model.symbols(table).peekable();
        if rows.peek().is_none() {
            continue;
        }
        style.heading(out, &format!("Symbols ({})", show(model.view.section_name(table.section))))?;
        let heads = "  index     value      size  binding  type         other            section  name";
        writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
        for row in rows {
            put_symbol(&mut line, &row, &words);
            line.end(out)?;
        }
    }
    Ok(())
}

/// Names of bindings and types, made once for the many symbols of a large file.
struct Words {
    bindings: [String; 16],
    types: [String; 16],
}

impl Words {
    fn new() -> Self {
        Words {
            bindings: std::array::from_fn(|i| symbol_binding(i as u8)),
            types: std::array::from_fn(|i| symbol_type(i as u8)),
        }
    }
}

fn put_symbol<'w>(line: &mut Line, s: &SymbolRow<'_>, words: &'w Words) {
    let other: Cow<'_, str> = match s.other {
        0 => "-".into(),
        _ => names::other_bits(s.other).join("+").into(),
    };
    let word = |list: &'w [String; 16], i: u8| list.get(usize::from(i)).map_or("?", String::as_str);
    line.number(s.index.into(), 7).hex(s.value, 10).hex(s.size, 10).text("  ");
    line.left(word(&words.bindings, s.binding), 9)
        .left(word(&words.types, s.kind), 13)
        .left(&other, 16);
    match s.section {
        Some(index) => line.number(index.into(), 8),
        None if s.section_name == "undefined" => line.right("undef", 8),
        None => line.right(&s.section_name, 8),
    };
    line.text("  ").text(s.demangled.as_deref().unwrap_or(&s.name));
}

fn write_relocs(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    let mut texts = HashMap::new();
    let mut line = Line::default();
    for section in model.reloc_sections() {
        let target = model.view.section_name(section.header.sh_info.get());
        let title = format!(
            "Relocations {} (section {}), patching {}",
            show(section.name),
            section.index,
            show(target)
        );
        style.heading(out, &title)?;
        for row in model.relocs(section) {
            let bits = texts.entry(row.type_value).or_insert_with(|| bits_text(row.bits));
            put_reloc(&mut line, &row, bits);
            line.end(out)?;
        }
    }
    Ok(())
}

fn put_reloc(line: &mut Line, r: &RelocRow<'_>, bits: &str) {
    line.hex(r.offset, 10).text("  ").left(&r.kind, 29);
    line.text(r.demangled.as_deref().unwrap_or(&r.symbol_name));
    match r.addend {
        Some(a) if a < 0 => line.text(" - ").hex(a.unsigned_abs(), 0),
        Some(a) if a > 0 => line.text(" + ").hex(a.cast_unsigned(), 0),
        _ => line,
    };
    line.text("  [")
        .number(r.symbol.into(), 0)
        .text("]  ")
        .text(bits)
        .text(" by ")
        .text(r.resolver);
}

/// `bits 32-63 = value >> 32`.
pub(crate) fn bits_text(fields: &[BitField]) -> String {
    if fields.is_empty() {
        return "no bits".into();
    }
    let mut text = String::from("bits ");
    for (i, f) in fields.iter().enumerate() {
        let separator = if i == 0 { "" } else { ", " };
        let last = (u32::from(f.start) + u32::from(f.width)).saturating_sub(1);
        let _ = write!(text, "{separator}{}-{last} = {}", f.start, source_name(f.source));
        if f.shift != 0 {
            let _ = write!(text, " >> {}", f.shift);
        }
    }
    text
}
