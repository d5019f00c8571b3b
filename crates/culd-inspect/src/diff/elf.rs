//! Differences in the file header, in the set of sections, in section headers, in the layout and in the program headers.
//!
//! Fields that follow from others are compared by what they follow from: an offset by the gap before it, an index by what it names, the range of a
//! program header by the sections inside.

use super::context::Context;
use super::finding::{Finding, Group};
use super::pairing::Side;
use crate::dump::{function_of, is_reloc};
use crate::names;
use crate::view::{Sect, View};
use cubin::consts::*;
use std::collections::{BTreeMap, BTreeSet};

fn hex(v: &u64) -> String {
    format!("{v:#x}")
}

/// The file header.
pub(crate) fn header(cx: &mut Context<'_, '_>) {
    let (a, b) = (cx.a.header, cx.b.header);
    let g = Group::Header;
    cx.field(g, "", "file type", [a.e_type.get(), b.e_type.get()], |t| {
        names::file_type(*t).into_owned()
    });
    cx.field(g, "", "architecture", [cx.a.arch(), cx.b.arch()], |v| format!("sm_{v}"));
    let fields: [(&str, u64, u64); 7] = [
        ("e_machine", a.e_machine.get().into(), b.e_machine.get().into()),
        ("e_version", a.e_version.get().into(), b.e_version.get().into()),
        ("e_entry", a.e_entry.get(), b.e_entry.get()),
        ("e_ehsize", a.e_ehsize.get().into(), b.e_ehsize.get().into()),
        ("e_phentsize", a.e_phentsize.get().into(), b.e_phentsize.get().into()),
        ("e_shentsize", a.e_shentsize.get().into(), b.e_shentsize.get().into()),
        ("e_phnum", a.e_phnum.get().into(), b.e_phnum.get().into()),
    ];
    for (name, x, y) in fields {
        cx.field(g, "", name, [x, y], hex);
    }
    for (i, (x, y)) in a.ident.iter().zip(b.ident).enumerate() {
        let name = match i {
            4 => "class".to_owned(),
            7 => "OS ABI".to_owned(),
            8 => "ABI version".to_owned(),
            _ => format!("e_ident[{i}]"),
        };
        cx.field(g, "", &name, [u64::from(*x), u64::from(y)], hex);
    }
    flags(cx);
    let names = [(Side::A, a.e_shstrndx.get()), (Side::B, b.e_shstrndx.get())].map(|(s, i)| cx.sections.common(s, i.into()));
    if names[0] != names[1] {
        let [x, y] = names.map(|n| cx.section_text(n));
        cx.push(Finding::field(g, "", "e_shstrndx", x, y));
    }
}

/// The flags: architecture bits are compared with the architecture, the index of the note through the section it names.
fn flags(cx: &mut Context<'_, '_>) {
    let (a, b) = (cx.a.header.e_flags.get(), cx.b.header.e_flags.get());
    if a == b {
        return;
    }
    let new_form = [cx.a, cx.b].iter().all(|v| v.header.ident.get(7) == Some(&ELFOSABI_CUDA));
    if !new_form {
        cx.field(Group::Header, "", "e_flags", [u64::from(a), u64::from(b)], hex);
        return;
    }
    cx.field(
        Group::Header,
        "",
        "low byte of e_flags",
        [u64::from(a & 0xff), u64::from(b & 0xff)],
        hex,
    );
    let stated = [a >> 24, b >> 24];
    if stated[0] == stated[1] {
        return;
    }
    let real = [cx.a, cx.b].map(|v| v.section_by_name(b".note.nv.cuinfo").map(|s| s.index.min(255)));
    if real == stated.map(Some) {
        cx.consequences.insert("index of .note.nv.cuinfo in e_flags".into());
    } else {
        let show = |v: &u64| format!("section {v:#x}");
        cx.field(Group::Header, "", "cuinfo note in e_flags", stated.map(u64::from), show);
    }
}

/// Sections that only one file has. A function that is missing as a whole is one difference.
pub(crate) fn only(cx: &mut Context<'_, '_>) {
    for side in [Side::A, Side::B] {
        let view = cx.view(side);
        let alone: Vec<u32> = match side {
            Side::A => cx.sections.only_a().collect(),
            Side::B => cx.sections.only_b().collect(),
        };
        let gone: BTreeSet<&[u8]> = alone.iter().filter_map(|&i| view.section_name(i).strip_prefix(b".text.")).collect();
        let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
        let mut found = Vec::new();
        for &i in &alone {
            let name = view.section_name(i);
            match function_of(name) {
                Some(f) if gone.contains(f) => *counts.entry(f).or_default() += 1,
                _ => {
                    let section = names::text(name).into_owned();
                    found.push(Finding::only(Group::Sections, section.clone(), "section", side == Side::A, "").in_section(section));
                }
            }
        }
        for (f, n) in counts {
            let name = cx.show(f);
            let mut finding = Finding::only(Group::Sections, format!("function {name}"), "function", side == Side::A, "").of_symbol(name);
            finding.what = format!("only in {} ({n} sections)", if side == Side::A { "A" } else { "B" });
            cx.push(finding);
        }
        cx.findings.extend(found);
    }
}

/// Fields of the headers of paired sections, sizes left out.
pub(crate) fn section_headers(cx: &mut Context<'_, '_>) {
    let pairs: Vec<(u32, u32)> = cx.sections.both().collect();
    let names_of = |v: &View<'_>| v.section(v.header.e_shstrndx.get().into()).map(|s| s.data.to_vec());
    let same_names = names_of(cx.a) == names_of(cx.b);
    for (ia, ib) in pairs {
        let (Some(a), Some(b)) = (cx.a.section(ia), cx.b.section(ib)) else {
            continue;
        };
        let (a, b) = (*a, *b);
        let g = Group::SectionHeaders;
        let subject = match ia {
            0 => "section 0".to_owned(),
            _ => names::text(a.name).into_owned(),
        };
        let before = cx.findings.len();
        cx.field(g, &subject, "type", [a.header.sh_type.get(), b.header.sh_type.get()], |t| {
            names::section_type(*t)
        });
        let fields = [
            ("flags", a.header.sh_flags.get(), b.header.sh_flags.get()),
            ("address", a.header.sh_addr.get(), b.header.sh_addr.get()),
            ("alignment", a.header.sh_addralign.get(), b.header.sh_addralign.get()),
            ("entry size", a.header.sh_entsize.get(), b.header.sh_entsize.get()),
        ];
        for (name, x, y) in fields {
            cx.field(g, &subject, name, [x, y], hex);
        }
        if a.header.sh_name != b.header.sh_name {
            if same_names {
                let values = [a.header.sh_name.get(), b.header.sh_name.get()].map(u64::from);
                cx.field(g, &subject, "offset of the name", values, hex);
            } else {
                cx.consequences.insert("offsets of section names".into());
            }
        }
        link_and_info(cx, &subject, [&a, &b]);
        for f in cx.findings.iter_mut().skip(before) {
            f.section = Some(subject.clone());
        }
    }
}

fn link_and_info(cx: &mut Context<'_, '_>, subject: &str, [a, b]: [&Sect<'_>; 2]) {
    let g = Group::SectionHeaders;
    let sides = [(Side::A, a), (Side::B, b)];
    let link = sides.map(|(side, s)| cx.sections.common(side, s.header.sh_link.get()));
    if link[0] != link[1] {
        let [x, y] = link.map(|l| cx.section_text(l));
        cx.push(Finding::field(g, subject, "linked section", x, y));
    }
    let [x, y] = sides.map(|(_, s)| s.header.sh_info.get());
    let code = a.header.sh_flags.get() & SHF_EXECINSTR != 0 || a.name.starts_with(b".nv.capmerc.text.");
    let section_index = a.header.sh_flags.get() & SHF_INFO_LINK != 0 || is_reloc(a) || function_of(a.name).is_some();
    if code {
        let registers = [u64::from(x >> 24), u64::from(y >> 24)];
        cx.field(g, subject, "register count in sh_info", registers, |v| v.to_string());
        let symbols = sides.map(|(side, s)| {
            // Code and capsules both name the function in the plain symbol table.
            let index = s.header.sh_info.get() & 0xff_ffff;
            cx.symbols.first().map_or(index, |p| p.common(side, index))
        });
        if symbols[0] != symbols[1] {
            let text = |view: &View<'_>, i: u32| {
                view.tables
                    .first()
                    .map_or_else(String::new, |t| names::text(t.name(i)).into_owned())
            };
            let (ta, tb) = (text(cx.a, x & 0xff_ffff), text(cx.b, y & 0xff_ffff));
            cx.push(Finding::field(g, subject, "function symbol in sh_info", ta, tb));
        }
    } else if section_index {
        let info = sides.map(|(side, s)| cx.sections.common(side, s.header.sh_info.get()));
        if info[0] != info[1] {
            let [x, y] = info.map(|l| cx.section_text(l));
            cx.push(Finding::field(g, subject, "section in sh_info", x, y));
        }
    } else if x != y {
        symbol_count(cx, subject, [a, b]);
    }
}

/// `sh_info` of a symbol table: the number of local symbols, which changes with symbols that only one file has.
fn symbol_count(cx: &mut Context<'_, '_>, subject: &str, [a, b]: [&Sect<'_>; 2]) {
    let [x, y] = [a, b].map(|s| s.header.sh_info.get());
    if let Some(number) = cx.a.tables.iter().position(|t| t.section == a.index) {
        if let Some(pairs) = cx.symbols.get(number) {
            let shared = [
                x - (pairs.only_a().filter(|&i| i < x).count() as u32).min(x),
                y - (pairs.only_b().filter(|&i| i < y).count() as u32).min(y),
            ];
            if shared[0] == shared[1] {
                cx.consequences.insert("number of local symbols".into());
                return;
            }
        }
        let show = |v: &u64| v.to_string();
        cx.field(
            Group::SectionHeaders,
            subject,
            "number of local symbols",
            [x.into(), y.into()],
            show,
        );
        return;
    }
    cx.field(Group::SectionHeaders, subject, "sh_info", [x.into(), y.into()], hex);
}

/// Sizes of paired sections whose content shows no other difference.
pub(crate) fn sizes(cx: &mut Context<'_, '_>) {
    let pairs: Vec<(u32, u32)> = cx.sections.both().collect();
    for (ia, ib) in pairs {
        let (Some(a), Some(b)) = (cx.a.section(ia), cx.b.section(ib)) else {
            continue;
        };
        let sizes = [a.header.sh_size.get(), b.header.sh_size.get()];
        if sizes[0] == sizes[1] {
            continue;
        }
        if cx.changed.contains(&ia) {
            cx.consequences.insert("section sizes".into());
            continue;
        }
        let subject = names::text(a.name).into_owned();
        cx.push(Finding::field(Group::SectionHeaders, subject.clone(), "size", hex(&sizes[0]), hex(&sizes[1])).in_section(subject));
    }
}

/// The section before a section in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// Bytes between the aligned end of what came before and the section.
    Gap(u64),
    /// The bytes of this section, by common number.
    Shared(u32),
    /// Before the end of what came before, and not with another section.
    Overlap(u64),
}

fn align(value: u64, to: u64) -> u64 {
    if to < 2 {
        value
    } else {
        value.checked_next_multiple_of(to).unwrap_or(value)
    }
}

/// Start of every section, and the aligned end of all.
fn starts(cx: &Context<'_, '_>, side: Side) -> (Vec<Start>, u64) {
    let view = cx.view(side);
    let mut cursor = u64::from(view.header.e_ehsize.get());
    let mut at: BTreeMap<u64, u32> = BTreeMap::new();
    let mut out = vec![Start::Gap(0)];
    for s in view.sections.iter().skip(1) {
        let offset = s.header.sh_offset.get();
        let expected = align(cursor, s.header.sh_addralign.get());
        out.push(match offset.checked_sub(expected) {
            Some(gap) => Start::Gap(gap),
            None => match at.get(&offset) {
                Some(&other) => Start::Shared(cx.sections.common(side, other)),
                None => Start::Overlap(offset),
            },
        });
        if !s.data.is_empty() {
            at.entry(offset).or_insert(s.index);
        }
        cursor = cursor.max(offset.saturating_add(s.data.len() as u64));
    }
    (out, cursor)
}

/// Offsets: gaps between sections, place of the tables, padding that is not zero, bytes after the end.
pub(crate) fn layout(cx: &mut Context<'_, '_>) {
    let ((starts_a, end_a), (starts_b, end_b)) = (starts(cx, Side::A), starts(cx, Side::B));
    let words = |cx: &Context<'_, '_>, s: Start| match s {
        Start::Gap(0) => "directly after the section before".to_owned(),
        Start::Gap(n) => format!("{n} bytes after the section before"),
        Start::Shared(other) => format!("the bytes of {}", cx.section_text(other)),
        Start::Overlap(offset) => format!("at {offset:#x} inside other sections"),
    };
    let pairs: Vec<(u32, u32)> = cx.sections.both().collect();
    for (ia, ib) in pairs {
        let (Some(&x), Some(&y)) = (starts_a.get(ia as usize), starts_b.get(ib as usize)) else {
            continue;
        };
        let (Some(a), Some(b)) = (cx.a.section(ia), cx.b.section(ib)) else {
            continue;
        };
        if x != y {
            let subject = names::text(a.name).into_owned();
            let finding = Finding::field(Group::Layout, subject.clone(), "place", words(cx, x), words(cx, y)).in_section(subject);
            cx.push(finding);
        } else if a.header.sh_offset != b.header.sh_offset {
            cx.consequences.insert("section offsets".into());
        }
    }
    // Section 0 has no place; its bytes are compared as they are.
    if let (Some(a), Some(b)) = (cx.a.section(0), cx.b.section(0)) {
        let offsets = [a.header.sh_offset.get(), b.header.sh_offset.get()];
        cx.field(Group::Layout, "section 0", "offset", offsets, hex);
    }
    tables(cx, [end_a, end_b]);
    padding(cx);
}

/// Places of the section headers and program headers, relative to what they follow.
fn tables(cx: &mut Context<'_, '_>, ends: [u64; 2]) {
    let views = [cx.a, cx.b];
    let shoff = views.map(|v| v.header.e_shoff.get());
    let gaps = [0, 1].map(|i| shoff[i].wrapping_sub(align(ends[i], 8)).cast_signed());
    if gaps[0] != gaps[1] {
        let show = |v: &i64| format!("{v} bytes after the last section");
        cx.field(Group::Layout, "section header table", "place", gaps, show);
    } else if shoff[0] != shoff[1] {
        cx.consequences.insert("e_shoff".into());
    }
    let counts = views.map(|v| v.sections.len() as u64);
    if counts[0] != counts[1] {
        cx.consequences.insert("number of sections".into());
    }
    let phoff = views.map(|v| v.header.e_phoff.get());
    if views.iter().any(|v| v.segments.is_empty()) {
        cx.field(Group::Layout, "program headers", "offset", phoff, hex);
        return;
    }
    let gaps = [0, 1].map(|i| {
        phoff[i]
            .wrapping_sub(shoff[i].wrapping_add(counts[i].wrapping_mul(64)))
            .cast_signed()
    });
    if gaps[0] != gaps[1] {
        let show = |v: &i64| format!("{v} bytes after the section header table");
        cx.field(Group::Layout, "program headers", "place", gaps, show);
    } else if phoff[0] != phoff[1] {
        cx.consequences.insert("e_phoff".into());
    }
}

/// Bytes that belong to no section and no table: offset and value of those that are not zero.
fn loose_bytes(view: &View<'_>) -> Vec<(u64, u8)> {
    let table = |offset: u64, count: usize, size: u64| (offset, offset.saturating_add(count as u64 * size));
    let mut used: Vec<(u64, u64)> = view
        .sections
        .iter()
        .map(|s| {
            (
                s.header.sh_offset.get(),
                s.header.sh_offset.get().saturating_add(s.data.len() as u64),
            )
        })
        .collect();
    used.push((0, view.header.e_ehsize.get().into()));
    let (section_size, segment_size) = if view.is_64() { (64, 56) } else { (40, 32) };
    used.push(table(view.header.e_shoff.get(), view.sections.len(), section_size));
    used.push(table(view.header.e_phoff.get(), view.segments.len(), segment_size));
    used.sort_unstable();
    let mut loose = Vec::new();
    let mut cursor = 0u64;
    used.push((view.data.len() as u64, view.data.len() as u64));
    for (start, end) in used {
        let gap = usize::try_from(cursor).ok().zip(usize::try_from(start).ok());
        for (i, &byte) in gap.and_then(|(c, s)| view.data.get(c..s)).unwrap_or_default().iter().enumerate() {
            if byte != 0 {
                loose.push((cursor + i as u64, byte));
            }
        }
        cursor = cursor.max(end);
    }
    loose
}

fn padding(cx: &mut Context<'_, '_>) {
    let [a, b] = [cx.a, cx.b].map(loose_bytes);
    let values = |l: &[(u64, u8)]| l.iter().map(|x| x.1).collect::<Vec<u8>>();
    if values(&a) != values(&b) {
        let show = |l: &[(u64, u8)]| match l.first() {
            None => "all zero".to_owned(),
            Some((at, byte)) => format!("{} bytes not zero, the first {byte:#04x} at {at:#x}", l.len()),
        };
        cx.push(Finding::field(Group::Layout, "", "padding between sections", show(&a), show(&b)));
    }
    let end = |v: &View<'_>| {
        let last = v.header.e_phoff.get() + v.segments.len() as u64 * 56;
        (v.data.len() as u64).saturating_sub(last.max(v.header.e_shoff.get() + v.sections.len() as u64 * 64))
    };
    let ends = [end(cx.a), end(cx.b)];
    cx.field(Group::Layout, "", "number of bytes after the last table", ends, |v| v.to_string());
}

/// Program headers, compared by the sections they cover.
pub(crate) fn segments(cx: &mut Context<'_, '_>) {
    let selection = crate::dump::Selection::default();
    let rows = [cx.a, cx.b].map(|v| crate::dump::Model::new(v, &selection).segments().collect::<Vec<_>>());
    let [rows_a, rows_b] = rows;
    // Which sections a program header covers follows from their flags and sizes.
    let moved_cover = cx
        .findings
        .iter()
        .any(|f| f.group == Group::SectionHeaders && matches!(f.field.as_str(), "flags" | "type" | "size"));
    for (a, b) in rows_a.iter().zip(&rows_b) {
        let subject = format!("program header {} ({})", a.index, a.kind);
        let g = Group::Layout;
        cx.field(g, &subject, "type", [a.type_value, b.type_value], |t| {
            names::segment_type(*t).into_owned()
        });
        cx.field(g, &subject, "flags", [&a.flags, &b.flags], |f| (*f).clone());
        cx.field(g, &subject, "alignment", [a.align, b.align], hex);
        cx.field(g, &subject, "address", [a.address, b.address], hex);
        cx.field(g, &subject, "physical address", [a.physical_address, b.physical_address], hex);
        let covers = [(Side::A, a), (Side::B, b)]
            .map(|(side, r)| r.sections.map(|(x, y)| (cx.sections.common(side, x), cx.sections.common(side, y))));
        let ends = [(cx.a, a), (cx.b, b)].map(|(v, r)| relative(v, r));
        if ends[0] != ends[1] && moved_cover {
            cx.consequences.insert("program headers".into());
        } else if ends[0] != ends[1] {
            let show = |(start, end, extra): &(i64, i64, i64)| format!("{start:+} {end:+} {extra:+}");
            cx.field(g, &subject, "range against its sections (start, end, memory)", ends, show);
        } else if covers[0] != covers[1] {
            let show = |cx: &Context<'_, '_>, c: Option<(u32, u32)>| match c {
                Some((x, y)) => format!("{} to {}", cx.section_text(x), cx.section_text(y)),
                None => "no section".into(),
            };
            // The first and last section of a range follow from the order and the set of sections.
            if cx.findings.iter().any(|f| matches!(f.group, Group::Order | Group::Sections)) {
                cx.consequences.insert("program headers".into());
            } else {
                let [x, y] = covers.map(|c| show(cx, c));
                cx.push(Finding::field(g, subject, "sections", x, y));
            }
        } else if (a.offset, a.file_size, a.memory_size) != (b.offset, b.file_size, b.memory_size) {
            cx.consequences.insert("program headers".into());
        }
    }
}

/// Start and end of a segment relative to what it covers, and its memory beyond the file and the sections without bytes.
fn relative(view: &View<'_>, row: &crate::dump::SegmentRow) -> (i64, i64, i64) {
    let end = row.offset.wrapping_add(row.file_size);
    let Some((first, last)) = row.sections else {
        let table = view.header.e_phoff.get();
        let size = view.segments.len() as u64 * 56;
        let start = row.offset.wrapping_sub(table).cast_signed();
        let extra = row.memory_size.wrapping_sub(row.file_size).cast_signed();
        return (start, end.wrapping_sub(table.wrapping_add(size)).cast_signed(), extra);
    };
    let (Some(x), Some(y)) = (view.section(first), view.section(last)) else {
        return (0, 0, 0);
    };
    let start = row.offset.wrapping_sub(x.header.sh_offset.get()).cast_signed();
    let stop = end
        .wrapping_sub(y.header.sh_offset.get().wrapping_add(y.data.len() as u64))
        .cast_signed();
    let mut memory = row.file_size;
    for s in (first..=last)
        .filter_map(|i| view.section(i))
        .filter(|s| cubin::read::is_nobits(s.header.sh_type.get()))
    {
        memory = align(memory.wrapping_add(row.offset), s.header.sh_addralign.get()).wrapping_sub(row.offset);
        memory = memory.wrapping_add(s.header.sh_size.get());
    }
    (start, stop, row.memory_size.wrapping_sub(memory).cast_signed())
}
