//! The decoded contents of sections as text.

use super::attributes::{AttributeRow, put_value};
use super::contents::{Contents, EdgeRow, NoteContent, PrototypeRow};
use super::kernels::FunctionRow;
use super::model::Model;
use crate::line::Line;
use crate::names;
use crate::style::{TextStyle, Tone};
use std::io::{self, Write};

/// The table of kernels, then the one of other functions.
pub(super) fn kernels(out: &mut dyn Write, model: &Model<'_, '_>, style: TextStyle) -> io::Result<()> {
    if !model.selection.sections.is_empty() && model.selection.kernels.is_empty() {
        return Ok(());
    }
    let functions = model.functions();
    let (kernels, others): (Vec<_>, Vec<_>) = functions.into_iter().partition(|f| f.kernel);
    if !kernels.is_empty() {
        style.heading(out, "Kernels")?;
        let heads = "  registers   stack   frame  barriers   shared    code  params  constant banks       name";
        writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
        for k in &kernels {
            write_kernel(out, k)?;
        }
    }
    if !others.is_empty() {
        style.heading(out, "Device functions")?;
        let heads = "  registers   stack   frame  barriers     code  name";
        writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
        let mut line = Line::default();
        for f in &others {
            line.right(&optional(f.registers), 11)
                .right(&optional(f.stack), 8)
                .right(&optional(f.frame), 8);
            line.number(f.barriers.into(), 10).number(f.code_size, 9).text("  ");
            line.text(f.demangled.as_deref().unwrap_or(&f.name)).end(out)?;
        }
    }
    Ok(())
}

fn optional(value: Option<u32>) -> String {
    match value {
        None => "-".into(),
        Some(u32::MAX) => "unknown".into(),
        Some(v) => v.to_string(),
    }
}

fn write_kernel(out: &mut dyn Write, k: &FunctionRow<'_>) -> io::Result<()> {
    let banks: Vec<String> = k.constant_banks.iter().map(|b| format!("c[{}] {}", b.bank, b.size)).collect();
    writeln!(
        out,
        "  {:>9} {:>7} {:>7} {:>9} {:>8} {:>7}  {:<6}  {:<19}  {}",
        optional(k.registers),
        optional(k.stack),
        optional(k.frame),
        k.barriers,
        k.shared,
        k.code_size,
        match k.parameters_size {
            Some(size) => format!("{}: {size}", k.parameters.len()),
            None => k.parameters.len().to_string(),
        },
        banks.join(", "),
        k.demangled.as_deref().unwrap_or(&k.name)
    )?;
    if let Some([x, y, z]) = k.max_threads {
        writeln!(out, "            at most {x} x {y} x {z} threads per block")?;
    }
    if let Some([x, y, z]) = k.required_threads {
        writeln!(out, "            exactly {x} x {y} x {z} threads per block")?;
    }
    Ok(())
}

/// Everything decoded.
pub(super) fn write(out: &mut dyn Write, model: &Model<'_, '_>, contents: &Contents<'_>, style: TextStyle) -> io::Result<()> {
    let mut line = Line::default();
    for (section, codes) in model.attribute_sections() {
        let mut rows = model.attributes(section, codes).peekable();
        if rows.peek().is_none() {
            continue;
        }
        style.heading(out, &format!("Attributes {}", names::text(section.name)))?;
        for row in rows {
            put_attribute(&mut line, &row);
            line.end(out)?;
        }
    }
    write_notes(out, contents, style)?;
    write_callgraph(out, contents, style)?;
    write_tables(out, contents, style)
}

fn put_attribute(line: &mut Line, row: &AttributeRow<'_>) {
    let format = row.format.strip_prefix("EIFMT_").unwrap_or(&row.format);
    line.hex(row.offset as u64, 8)
        .text("  ")
        .left(&row.name, 34)
        .text(" ")
        .text(format)
        .text("  ");
    put_value(line, &row.value);
}

fn write_notes(out: &mut dyn Write, contents: &Contents<'_>, style: TextStyle) -> io::Result<()> {
    let mut section = "";
    for note in &contents.notes {
        if note.section_name != section {
            style.heading(out, &format!("Notes {}", note.section_name))?;
            section = &note.section_name;
        }
        match &note.content {
            NoteContent::Tool {
                version,
                object,
                tool,
                tool_version,
                build,
                arguments,
            } => {
                writeln!(out, "  {tool}: {tool_version}, {build}")?;
                writeln!(out, "    arguments \"{arguments}\", object \"{object}\", note version {version}")?;
            }
            NoteContent::Cuda {
                version,
                virtual_sm,
                toolkit,
            } => writeln!(
                out,
                "  compute_{virtual_sm}, toolkit {}.{}, note version {version}",
                toolkit / 10,
                toolkit % 10
            )?,
            NoteContent::Other { hex } => writeln!(out, "  {} type {}: {hex}", note.owner, note.type_value)?,
        }
    }
    Ok(())
}

fn write_edges(out: &mut dyn Write, style: TextStyle, title: &str, verb: &str, edges: &[EdgeRow<'_>]) -> io::Result<()> {
    if edges.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {}", style.paint(Tone::Faint, title))?;
    for e in edges {
        writeln!(
            out,
            "    {} [{}] {verb} {} [{}]",
            e.from.name, e.from.symbol, e.to.name, e.to.symbol
        )?;
    }
    Ok(())
}

fn write_prototypes(out: &mut dyn Write, style: TextStyle, title: &str, rows: &[PrototypeRow<'_>]) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    if !title.is_empty() {
        writeln!(out, "  {}", style.paint(Tone::Faint, title))?;
    }
    let indent = if title.is_empty() { "  " } else { "    " };
    for p in rows {
        writeln!(
            out,
            "{indent}{} [{}]  {} (string {:#x})",
            p.function.name, p.function.symbol, p.prototype, p.string_offset
        )?;
    }
    Ok(())
}

fn write_callgraph(out: &mut dyn Write, contents: &Contents<'_>, style: TextStyle) -> io::Result<()> {
    if let Some(graph) = &contents.callgraph {
        style.heading(out, "Call graph")?;
        write_edges(out, style, "calls", "->", &graph.calls)?;
        write_prototypes(out, style, "address taken", &graph.address_taken)?;
        write_prototypes(out, style, "indirect calls", &graph.indirect_calls)?;
        write_edges(out, style, "address takers", "takes", &graph.address_takers)?;
    }
    if !contents.prototypes.is_empty() {
        style.heading(out, "Prototypes")?;
        write_prototypes(out, style, "", &contents.prototypes)?;
    }
    Ok(())
}

fn write_tables(out: &mut dyn Write, contents: &Contents<'_>, style: TextStyle) -> io::Result<()> {
    if !contents.actions.is_empty() {
        style.heading(out, "Relocation actions")?;
    }
    for a in &contents.actions {
        let fields: Vec<String> = a
            .fields
            .iter()
            .map(|[source, width, start]| format!("{width} bits from {source} to {start}"))
            .collect();
        writeln!(
            out,
            "  {}: symbol kind {}, shift {}, {}",
            a.kind,
            a.symbol_kind,
            a.shift,
            fields.join(", ")
        )?;
    }
    if !contents.unified.is_empty() {
        style.heading(out, "Unified tables")?;
    }
    for u in &contents.unified {
        write!(out, "  {:<14} {:<8} {} at {:#x}", u.section_name, u.kind, u.id, u.offset)?;
        match (&u.symbol, u.flags) {
            (Some(s), Some(flags)) => writeln!(out, ", {} [{}], flags {flags:#x}", s.name, s.symbol)?,
            _ => writeln!(out)?,
        }
    }
    if !contents.metadata.is_empty() {
        style.heading(out, "Module metadata")?;
    }
    for m in &contents.metadata {
        writeln!(out, "  {} section {} alignment {}", m.module_id, m.section, m.alignment)?;
    }
    if !contents.capsules.is_empty() {
        style.heading(out, "Mercury capsules")?;
        let heads = "  instructions  derived  full  short  expanded  SASS  code section";
        writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
    }
    for c in &contents.capsules {
        writeln!(
            out,
            "  {:>12} {:>8} {:>5} {:>6} {:>9} {:>5}  {} [{}]",
            c.instructions, c.derived, c.full, c.short, c.expanded, c.sass_instructions, c.text_section_name, c.text_section
        )?;
    }
    Ok(())
}
