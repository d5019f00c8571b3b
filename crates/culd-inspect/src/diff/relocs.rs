//! Differences in relocations.
//!
//! 1. Every entry becomes (offset in A's terms, type, common number of the symbol, addend).
//! 2. Equal entries pair; what remains pairs by offset and differs in a field, or is unpaired.
//! 3. If every entry has a partner, the order is compared.

use super::context::{Context, OffsetMap, Reordered, move_words};
use super::finding::{Finding, Group};
use super::order::moves;
use super::pairing::Side;
use crate::dump::reloc_name;
use crate::names;
use crate::view::Sect;
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    place: u64,
    kind: u32,
    symbol: u32,
    addend: i64,
}

/// An entry with what is shown of it.
struct Shown {
    entry: Entry,
    offset: u64,
    symbol: u32,
}

fn entries(cx: &Context<'_, '_>, side: Side, section: &Sect<'_>, map: Option<&OffsetMap>) -> Vec<Shown> {
    let (_, list) = cx.view(side).relocations(section);
    list.map(|r| {
        let offset = r.r_offset.get();
        let place = map.map_or(offset, |m| m.to_a(offset));
        Shown {
            entry: Entry {
                place,
                kind: r.r_type.get(),
                symbol: cx.symbol_of(side, section, r.r_sym.get()),
                addend: r.r_addend.get(),
            },
            offset,
            symbol: r.r_sym.get(),
        }
    })
    .collect()
}

/// Relocations of a pair of sections.
pub(crate) fn compare(cx: &mut Context<'_, '_>, a: &Sect<'_>, b: &Sect<'_>) {
    let map = cx.maps.get(&a.header.sh_info.get()).cloned();
    let list_a = entries(cx, Side::A, a, None);
    let list_b = entries(cx, Side::B, b, map.as_ref());
    if list_a.iter().map(|s| s.entry).eq(list_b.iter().map(|s| s.entry)) {
        return;
    }
    cx.mark(a);
    // Partners: for each entry of A the place in B's list.
    let mut waiting: BTreeMap<Entry, VecDeque<usize>> = BTreeMap::new();
    for (i, s) in list_b.iter().enumerate() {
        waiting.entry(s.entry).or_default().push_back(i);
    }
    let mut alone_a = Vec::new();
    let mut order = Vec::new();
    for (i, s) in list_a.iter().enumerate() {
        match waiting.get_mut(&s.entry).and_then(VecDeque::pop_front) {
            Some(j) => order.push((i as u32, j)),
            None => alone_a.push(i),
        }
    }
    let mut alone_b: Vec<usize> = waiting.into_values().flatten().collect();
    alone_b.sort_unstable();
    if alone_a.is_empty() && alone_b.is_empty() {
        reordered(cx, a, &list_a, &order);
        return;
    }
    differences(cx, [a, b], [&list_a, &list_b], [&alone_a, &alone_b]);
}

fn reordered(cx: &mut Context<'_, '_>, section: &Sect<'_>, list: &[Shown], order: &[(u32, usize)]) {
    let in_a: Vec<u32> = order.iter().map(|o| o.0).collect();
    let mut by_b = order.to_vec();
    by_b.sort_by_key(|o| o.1);
    let in_b: Vec<u32> = by_b.iter().map(|o| o.0).collect();
    let Some(first) = moves(&in_a, &in_b).into_iter().next() else {
        return;
    };
    let show = |i: u32| {
        list.get(i as usize)
            .map_or_else(String::new, |s| format!("the one at {:#x}", s.offset))
    };
    let subject = format!("{} relocations of {}", list.len(), names::text(section.name));
    let moved = first.items.first().map_or_else(String::new, |&i| show(i));
    let detail = format!("{moved} is {}", move_words(&first, show));
    cx.reordered.push(Reordered { subject, detail });
}

fn differences(cx: &mut Context<'_, '_>, [a, b]: [&Sect<'_>; 2], [list_a, list_b]: [&[Shown]; 2], [alone_a, alone_b]: [&[usize]; 2]) {
    let target = names::text(cx.a.section_name(a.header.sh_info.get())).into_owned();
    let section = names::text(a.name).into_owned();
    let mut at_place: BTreeMap<u64, VecDeque<usize>> = BTreeMap::new();
    for &j in alone_b {
        if let Some(s) = list_b.get(j) {
            at_place.entry(s.entry.place).or_default().push_back(j);
        }
    }
    let mut found = Vec::new();
    for x in alone_a.iter().filter_map(|&i| list_a.get(i)) {
        let subject = format!("relocation at {target}+{:#x}", x.offset);
        let partner = at_place
            .get_mut(&x.entry.place)
            .and_then(VecDeque::pop_front)
            .and_then(|j| list_b.get(j));
        match partner {
            Some(y) => found.extend(fields(cx, &subject, [a, b], [x, y])),
            None => found.push(Finding::only(Group::Relocations, subject, "", true, words(cx, Side::A, a, x))),
        }
        for f in found.iter_mut().rev().take_while(|f| f.offset.is_none()) {
            f.offset = Some(x.offset);
        }
    }
    for y in at_place.into_values().flatten().filter_map(|j| list_b.get(j)) {
        let subject = format!("relocation at {target}+{:#x}", y.offset);
        found.push(Finding::only(Group::Relocations, subject, "", false, words(cx, Side::B, b, y)).at(y.offset));
    }
    for f in &mut found {
        f.section = Some(section.clone());
        if f.field.is_empty() {
            f.field = "relocation".into();
            f.what = f.what.trim_start().to_owned();
        }
    }
    cx.findings.extend(found);
}

fn words(cx: &Context<'_, '_>, side: Side, section: &Sect<'_>, s: &Shown) -> String {
    let symbol = cx.symbol_text(side, section, s.symbol);
    let addend = match s.entry.addend {
        0 => String::new(),
        n if n < 0 => format!(" - {:#x}", n.unsigned_abs()),
        n => format!(" + {n:#x}"),
    };
    format!("{} {symbol}{addend}", reloc_name(s.entry.kind))
}

fn fields(cx: &Context<'_, '_>, subject: &str, [a, b]: [&Sect<'_>; 2], [x, y]: [&Shown; 2]) -> Vec<Finding> {
    let mut found = Vec::new();
    let g = Group::Relocations;
    if x.entry.kind != y.entry.kind {
        let [ka, kb] = [x, y].map(|s| reloc_name(s.entry.kind).into_owned());
        found.push(Finding::field(g, subject, "type", ka, kb));
    }
    if x.entry.symbol != y.entry.symbol {
        let (sa, sb) = (cx.symbol_text(Side::A, a, x.symbol), cx.symbol_text(Side::B, b, y.symbol));
        found.push(Finding::field(g, subject, "symbol", sa, sb));
    }
    if x.entry.addend != y.entry.addend {
        let [aa, ab] = [x, y].map(|s| format!("{:#x}", s.entry.addend));
        found.push(Finding::field(g, subject, "addend", aa, ab));
    }
    found
}
