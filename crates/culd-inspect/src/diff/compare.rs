//! Compares two device files step by step; the steps are listed in the documentation of the parent module.

use super::context::Context;
use super::finding::{Finding, Group};
use super::options::Options;
use super::report::DiffReport;
use super::{arrangement, attributes, code, contents, data, elf, frame, relocs, symbols};
use crate::dump::{codes_of, is_reloc};
use crate::names;
use crate::view::{Sect, View};
use cubin::consts::*;
use std::collections::BTreeMap;

/// Compares two files.
pub fn compare(a: &View<'_>, b: &View<'_>, options: Options) -> DiffReport {
    if a.data == b.data {
        return DiffReport::default();
    }
    // Both views get the same lifetime, the shorter one.
    compare_views(a, b, options)
}

fn compare_views<'d>(a: &View<'d>, b: &View<'d>, options: Options) -> DiffReport {
    let mut cx = Context::new(a, b, options.demangle);
    elf::header(&mut cx);
    elf::only(&mut cx);
    symbols::compare(&mut cx);
    arrangement::sections(&mut cx);
    arrangement::symbols(&mut cx);
    elf::section_headers(&mut cx);
    contents_of_sections(&mut cx);
    elf::sizes(&mut cx);
    orders(&mut cx);
    elf::layout(&mut cx);
    elf::segments(&mut cx);
    if cx.findings.is_empty() {
        unexplained(&mut cx);
    }
    DiffReport::new(cx)
}

fn contents_of_sections(cx: &mut Context<'_, '_>) {
    let pairs: Vec<(u32, u32)> = cx.sections.both().skip(1).collect();
    let twins = twins(cx.a);
    let sections = pairs.iter().filter_map(|&(ia, ib)| Some((*cx.a.section(ia)?, *cx.b.section(ib)?)));
    let sections: Vec<(Sect<'_>, Sect<'_>)> = sections.collect();
    // Relocations come last, because pieces that moved take them along.
    for (a, b) in sections.iter().filter(|(a, _)| !is_reloc(a) && !twins.contains_key(&a.index)) {
        content(cx, a, b);
    }
    for (twin, of) in twins {
        if cx.changed.contains(&of) {
            cx.changed.insert(twin);
        }
        if let Some(map) = cx.maps.get(&of).cloned() {
            cx.maps.insert(twin, map);
        }
    }
    for (a, b) in sections.iter().filter(|(a, _)| is_reloc(a)) {
        relocs::compare(cx, a, b);
    }
}

/// Mercury sections that are the bytes of another section, and that section.
fn twins(view: &View<'_>) -> BTreeMap<u32, u32> {
    let merc = |s: &&Sect<'_>| s.name.starts_with(b".nv.merc.");
    let range = |s: &Sect<'_>| (s.header.sh_offset.get(), s.data.len());
    let plain: BTreeMap<(u64, usize), u32> = view
        .sections
        .iter()
        .filter(|s| !merc(s) && !s.data.is_empty())
        .map(|s| (range(s), s.index))
        .collect();
    let twin = |s: &Sect<'_>| Some((s.index, *plain.get(&range(s))?));
    view.sections.iter().filter(merc).filter_map(twin).collect()
}

fn content<'d>(cx: &mut Context<'_, 'd>, a: &Sect<'d>, b: &Sect<'d>) {
    let kind = a.header.sh_type.get();
    match kind {
        SHT_SYMTAB | SHT_CUDA_MERC_SYMTAB => {}
        SHT_SYMTAB_SHNDX => symbols::extended(cx, a, b),
        SHT_STRTAB => contents::string_table(cx, a, b),
        SHT_NOTE | SHT_CUDA_CALLGRAPH | SHT_CUDA_PROTOTYPE | SHT_CUDA_RELOCINFO | SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY => {
            contents::compare(cx, a, b);
        }
        SHT_CUDA_UIDX | SHT_CUDA_METADATA | SHT_CUDA_CAPMERC => {
            contents::compare(cx, a, b);
            if !cx.changed.contains(&a.index) {
                capsule(cx, a, b);
            }
        }
        _ => match codes_of(a) {
            Some(codes) => attributes::compare(cx, a, b, codes),
            None => plain(cx, a, b),
        },
    }
}

/// Bytes of a capsule after the section index, which is compared by name.
fn capsule<'d>(cx: &mut Context<'_, 'd>, a: &Sect<'d>, b: &Sect<'d>) {
    let rest = |s: &Sect<'d>| Sect {
        data: s.data.get(4..).unwrap_or_default(),
        ..*s
    };
    let section = names::text(a.name).into_owned();
    data::bytes(cx, Group::Mercury, &rest(a), &rest(b), |at| format!("{section}+{:#x}", at + 4));
}

fn plain<'d>(cx: &mut Context<'_, 'd>, a: &Sect<'d>, b: &Sect<'d>) {
    if a.data == b.data {
        return;
    }
    if a.header.sh_flags.get() & SHF_EXECINSTR != 0 {
        code::compare(cx, a, b);
    } else if a.name.ends_with(b".debug_frame") && frame::compare(cx, a, b) {
    } else if a.header.sh_flags.get() & SHF_ALLOC == 0 {
        let section = names::text(a.name).into_owned();
        data::bytes(cx, Group::Debug, a, b, |at| format!("{section}+{at:#x}"));
    } else {
        data::compare(cx, Group::Data, a, b);
    }
}

/// Lists whose entries only changed their order: one difference each, or a consequence when sections or symbols changed their order too.
fn orders(cx: &mut Context<'_, '_>) {
    let list = std::mem::take(&mut cx.reordered);
    if list.is_empty() {
        return;
    }
    let cause = cx.findings.iter().any(|f| matches!(f.group, Group::Order | Group::SymbolOrder));
    if cause {
        let mut names: Vec<String> = list.into_iter().map(|r| r.subject).collect();
        names.dedup();
        let shown = names
            .get(..6)
            .map_or_else(|| names.join(", "), |n| format!("{} and {} more", n.join(", "), names.len() - 6));
        cx.push(Finding::words(
            Group::Order,
            "",
            "order",
            format!("the same entries in another order too: {shown}"),
        ));
        return;
    }
    for r in list {
        cx.push(Finding::words(
            Group::Order,
            r.subject,
            "order",
            format!("same entries in another order: {}", r.detail),
        ));
    }
}

/// The first different byte, when nothing else was found.
fn unexplained(cx: &mut Context<'_, '_>) {
    let (a, b) = (cx.a.data, cx.b.data);
    let at = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    let place = cx.a.sections.iter().find(|s| {
        let start = usize::try_from(s.header.sh_offset.get()).unwrap_or(usize::MAX);
        !s.data.is_empty() && at >= start && at - start < s.data.len()
    });
    let subject = match place {
        Some(s) => format!("{}+{:#x}", names::text(s.name), at as u64 - s.header.sh_offset.get()),
        None => "outside sections".into(),
    };
    let show = |d: &[u8]| d.get(at).map_or_else(|| "the end of the file".to_owned(), |v| format!("{v:#04x}"));
    cx.push(
        Finding::field(
            Group::Bytes,
            subject,
            format!("first different byte (file offset {at:#x})"),
            show(a),
            show(b),
        )
        .at(at as u64),
    );
}
