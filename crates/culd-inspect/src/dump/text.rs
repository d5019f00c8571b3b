//! A dump as text: a summary line, then one block per kind of information, each only when there is something to show.

use super::model::Model;
use super::rows::{RelocRow, SymbolRow, source_name};
use crate::names;
use crate::style::{Style, Tone};
use cubin::names::{symbol_binding, symbol_type};
use cubin::reloc::BitField;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes everything that is selected of one device file.
pub(super) fn write(out: &mut dyn Write, model: &Model<'_, '_>, name: &str, style: Style) -> io::Result<()> {
    let header = model.header();
    let title = format!(
        "{name}: {}-bit cubin, {}, {}, {} bytes",
        header.class, header.file_type, header.arch, header.file_size
    );
    writeln!(out, "{}", style.paint(Tone::Heading, &title))?;
    let problems = model.problems();
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
    super::decoded_text::kernels(out, model, style)?;
    write_sections(out, model, style)?;
    write_symbols(out, model, style)?;
    write_relocs(out, model, style)?;
    super::decoded_text::write(out, model, style)?;
    super::bytes::write(out, model, style)
}

fn write_header(out: &mut dyn Write, model: &Model<'_, '_>, style: Style) -> io::Result<()> {
    let h = model.header();
    style.heading(out, "Header")?;
    writeln!(out, "  type             {} ({})", h.file_type, h.file_type_value)?;
    writeln!(out, "  ABI              OS {:#x}, version {}", h.os_abi, h.abi_version)?;
    writeln!(out, "  machine          {}, version {}, entry {:#x}", h.machine, h.version, h.entry)?;
    match h.flags_note_section {
        Some(n) => writeln!(
            out,
            "  flags            {:#010x}: {}, cuinfo note in section {n:#x}",
            h.flags, h.arch
        )?,
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

fn write_segments(out: &mut dyn Write, model: &Model<'_, '_>, style: Style) -> io::Result<()> {
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

fn write_sections(out: &mut dyn Write, model: &Model<'_, '_>, style: Style) -> io::Result<()> {
    let mut rows = model.sections().peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    style.heading(out, "Sections")?;
    let heads = "  index    offset      size  align  entry  link  info      flags  type               name";
    writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
    for s in rows {
        writeln!(
            out,
            "  {:>5x} {:>9x} {:>9x} {:>6x} {:>6x} {:>5x}  {:<8x}  {:<5}  {:<18} {}",
            s.index,
            s.offset,
            s.size,
            s.align,
            s.entry_size,
            s.link,
            s.info,
            names::flag_letters(s.flags_value),
            s.kind,
            s.name
        )?;
    }
    writeln!(out, "{}", style.paint(Tone::Faint, &format!("  flags: {}", names::flag_legend())))
}

fn write_symbols(out: &mut dyn Write, model: &Model<'_, '_>, style: Style) -> io::Result<()> {
    let words = Words::new();
    for table in &model.view.tables {
        let mut rows = model.symbols(table).peekable();
        if rows.peek().is_none() {
            continue;
        }
        style.heading(out, &format!("Symbols ({})", show(model.view.section_name(table.section))))?;
        let heads = "  index     value      size  binding  type         other            section  name";
        writeln!(out, "{}", style.paint(Tone::Faint, heads))?;
        for row in rows {
            write_symbol(out, &row, &words)?;
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

fn write_symbol(out: &mut dyn Write, s: &SymbolRow<'_>, words: &Words) -> io::Result<()> {
    let other: Cow<'_, str> = match s.other {
        0 => "-".into(),
        _ => names::other_bits(s.other).join("+").into(),
    };
    write!(
        out,
        "  {:>5x} {:>9x} {:>9x}  {:<7}  {:<11}  {:<15} ",
        s.index,
        s.value,
        s.size,
        words.bindings.get(usize::from(s.binding)).map_or("?", String::as_str),
        words.types.get(usize::from(s.kind)).map_or("?", String::as_str),
        other
    )?;
    match s.section {
        Some(index) => write!(out, "{index:>8x}  ")?,
        None if s.section_name == "undefined" => write!(out, "   undef  ")?,
        None => write!(out, "{:>8}  ", s.section_name)?,
    }
    writeln!(out, "{}", s.demangled.as_deref().unwrap_or(&s.name))
}

fn write_relocs(out: &mut dyn Write, model: &Model<'_, '_>, style: Style) -> io::Result<()> {
    let mut texts = BTreeMap::new();
    for section in model.reloc_sections() {
        let target = model.view.section_name(section.header.sh_info.get());
        let title = format!(
            "Relocations {} (section {:x}), patching {}",
            show(section.name),
            section.index,
            show(target)
        );
        style.heading(out, &title)?;
        for row in model.relocs(section) {
            let bits = texts.entry(row.type_value).or_insert_with(|| bits_text(row.bits));
            write_reloc(out, &row, bits)?;
        }
    }
    Ok(())
}

fn write_reloc(out: &mut dyn Write, r: &RelocRow<'_>, bits: &str) -> io::Result<()> {
    let symbol = r.demangled.as_deref().unwrap_or(&r.symbol_name);
    write!(out, "  {:>8x}  {:<25} {symbol}", r.offset, r.kind)?;
    match r.addend {
        Some(a) if a < 0 => write!(out, " - {:#x}", a.unsigned_abs())?,
        Some(a) if a > 0 => write!(out, " + {a:#x}")?,
        _ => {}
    }
    writeln!(out, "  [{:x}]  {bits} by {}", r.symbol, r.resolver)
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
