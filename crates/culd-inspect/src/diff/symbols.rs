//! Differences in symbols: which there are, and their fields.

use super::context::Context;
use super::finding::{Finding, Group};
use super::pairing::Side;
use crate::names;
use crate::view::{Home, Sect, SymbolTable};
use cubin::consts::STT_SECTION;
use cubin::names::{symbol_binding, symbol_type};
use std::collections::{BTreeMap, BTreeSet};

fn hex(v: &u64) -> String {
    format!("{v:#x}")
}

/// Symbols that only one file has, and fields of those that both have.
pub(crate) fn compare(cx: &mut Context<'_, '_>) {
    let counts = [cx.a.tables.len(), cx.b.tables.len()];
    cx.field(Group::Symbols, "", "number of symbol tables", counts, |c| c.to_string());
    let mut known: BTreeSet<(bool, Vec<u8>)> = BTreeSet::new();
    for number in 0..cx.symbols.len() {
        let (Some(a), Some(b)) = (cx.a.tables.get(number), cx.b.tables.get(number)) else {
            continue;
        };
        only(cx, number, [a, b], &mut known);
        let suffix = if number == 0 { "" } else { " (mercury)" };
        let before = cx.findings.len();
        fields(cx, number, [a, b], suffix);
        if number > 0 {
            drop_twins(cx, before, suffix);
        }
    }
}

/// Differences of Mercury symbols that the plain symbols show too are consequences.
fn drop_twins(cx: &mut Context<'_, '_>, from: usize, suffix: &str) {
    let key = |f: &Finding| {
        let words = f.what.split(" (").next().unwrap_or_default().to_owned();
        (f.symbol.clone(), f.field.clone(), words)
    };
    let mercury = cx.findings.split_off(from);
    let plain: BTreeSet<_> = cx.findings.iter().filter(|f| f.group == Group::SymbolFields).map(key).collect();
    let (same, news): (Vec<_>, Vec<_>) = mercury.into_iter().partition(|f| plain.contains(&key(f)));
    if !same.is_empty() {
        cx.consequences.insert(format!("symbols of the other view{suffix}"));
    }
    cx.findings.extend(news);
}

fn only(cx: &mut Context<'_, '_>, number: usize, tables: [&SymbolTable<'_>; 2], known: &mut BTreeSet<(bool, Vec<u8>)>) {
    let Some(pairs) = cx.symbols.get(number) else { return };
    let alone = [pairs.only_a().collect::<Vec<u32>>(), pairs.only_b().collect()];
    for ((side, table), list) in [Side::A, Side::B].into_iter().zip(tables).zip(alone) {
        let view = cx.view(side);
        for i in list {
            let Some(entry) = table.entries.get(i as usize) else { continue };
            let name = view.symbol_name(table, i);
            // A section symbol is reported with its section, and the Mercury table with the plain one.
            let home_alone = match table.home(i) {
                Home::Section(s) => match side {
                    Side::A => cx.sections.to_b.get(s as usize).copied().flatten().is_none(),
                    Side::B => cx.sections.common(Side::B, s) as usize >= cx.a.sections.len(),
                },
                _ => false,
            };
            let news = known.insert((side == Side::A, name.to_vec()));
            if !news || home_alone && (entry.kind() == STT_SECTION || entry.st_value.get() == 0 && entry.st_size.get() != 0) {
                cx.consequences
                    .insert("symbols of sections and functions that only one file has".into());
                continue;
            }
            let place = match table.home(i) {
                Home::Undefined => "undefined".to_owned(),
                Home::Common => "common".to_owned(),
                Home::Reserved(r) => format!("{r:#x}"),
                Home::Section(s) => format!("in {}", names::text(view.section_name(s))),
            };
            let name = cx.show(name);
            let what = format!("{} {}", symbol_binding(entry.bind()), symbol_type(entry.kind()));
            let mut finding = Finding::only(Group::Symbols, name.clone(), "symbol", side == Side::A, what.clone()).of_symbol(name);
            finding.what = format!("only in {} ({what}, {place})", if side == Side::A { "A" } else { "B" });
            cx.push(finding);
        }
    }
}

/// A symbol with its values in both files.
type Shifted = (String, u64, u64);

fn fields(cx: &mut Context<'_, '_>, number: usize, [a, b]: [&SymbolTable<'_>; 2], suffix: &str) {
    let Some(pairs) = cx.symbols.get(number) else { return };
    let pairs: Vec<(u32, u32)> = pairs.both().collect();
    // Values that shifted by the same distance in one section are one difference.
    let mut shifts: BTreeMap<(u32, i64), Vec<Shifted>> = BTreeMap::new();
    for (ia, ib) in pairs {
        let (Some(x), Some(y)) = (a.entries.get(ia as usize), b.entries.get(ib as usize)) else {
            continue;
        };
        let homes = [(Side::A, a.home(ia)), (Side::B, b.home(ib))].map(|(side, h)| match h {
            Home::Section(s) => Home::Section(cx.sections.common(side, s)),
            other => other,
        });
        let value = [x.st_value.get(), y.st_value.get()];
        if x.st_name != y.st_name {
            name(cx, (a, ia), (b, ib));
        }
        if x.st_info == y.st_info && x.st_other == y.st_other && x.st_size == y.st_size && value[0] == value[1] && homes[0] == homes[1] {
            continue;
        }
        let name = cx.show(cx.a.symbol_name(a, ia));
        let subject = format!("{name}{suffix}");
        let before = cx.findings.len();
        let g = Group::SymbolFields;
        cx.field(g, &subject, "binding", [x.bind(), y.bind()], |v| symbol_binding(*v));
        cx.field(g, &subject, "type", [x.kind(), y.kind()], |v| symbol_type(*v));
        cx.field(g, &subject, "other", [x.st_other, y.st_other], |v| match v {
            0 => "0".to_owned(),
            _ => format!("{v:#x} ({})", names::other_bits(*v).join("+")),
        });
        cx.field(g, &subject, "size", [x.st_size.get(), y.st_size.get()], hex);
        if homes[0] != homes[1] {
            let [ha, hb] = homes.map(|h| home_text(cx, h));
            cx.push(Finding::field(g, subject.clone(), "section", ha, hb));
        }
        for f in cx.findings.iter_mut().skip(before) {
            f.symbol = Some(name.clone());
        }
        if value[0] != value[1] {
            let section = match homes[0] {
                Home::Section(s) => s,
                _ => u32::MAX,
            };
            let delta = value[1].wrapping_sub(value[0]).cast_signed();
            shifts.entry((section, delta)).or_default().push((name, value[0], value[1]));
        }
    }
    for ((section, delta), list) in shifts {
        shift(cx, section, delta, &list, suffix);
    }
}

/// Extended section indices of symbols, by symbol.
pub(crate) fn extended(cx: &mut Context<'_, '_>, a: &Sect<'_>, b: &Sect<'_>) {
    let word = |s: &Sect<'_>, i: u32| {
        let at = i as usize * 4;
        s.data.get(at..at + 4).and_then(|w| w.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    let number = cx.a.tables.iter().position(|t| t.section == a.header.sh_link.get()).unwrap_or(0);
    let (Some(pairs), Some(table)) = (cx.symbols.get(number), cx.a.tables.get(number)) else {
        return;
    };
    let section = names::text(a.name).into_owned();
    let mut found = Vec::new();
    for (ia, ib) in pairs.both() {
        let homes = [(Side::A, word(a, ia)), (Side::B, word(b, ib))].map(|(side, i)| cx.sections.common(side, i));
        if homes[0] != homes[1] {
            let [x, y] = homes.map(|h| if h == 0 { "none".to_owned() } else { cx.section_text(h) });
            let name = cx.show(cx.a.symbol_name(table, ia));
            let subject = format!("{section} of {name}");
            found.push(
                Finding::field(Group::SymbolFields, subject, "section", x, y)
                    .of_symbol(name)
                    .in_section(section.clone()),
            );
        }
    }
    if !found.is_empty() {
        cx.mark(a);
    }
    cx.findings.extend(found);
}

/// Names of a pair of symbols whose name offsets differ: nothing but a consequence when the strings moved.
fn name(cx: &mut Context<'_, '_>, (a, ia): (&SymbolTable<'_>, u32), (b, ib): (&SymbolTable<'_>, u32)) {
    let [x, y] = [a.name(ia), b.name(ib)];
    let subject = cx.show(cx.a.symbol_name(a, ia));
    let show = |n: &[u8]| format!("\"{}\"", names::text(n));
    if x != y {
        cx.push(Finding::field(Group::SymbolFields, subject.clone(), "name", show(x), show(y)).of_symbol(subject));
    } else if a.strings == b.strings {
        let offset = |t: &SymbolTable<'_>, i: u32| t.entries.get(i as usize).map_or(0, |e| u64::from(e.st_name.get()));
        let (x, y) = (hex(&offset(a, ia)), hex(&offset(b, ib)));
        cx.push(Finding::field(Group::SymbolFields, subject.clone(), "offset of the name", x, y).of_symbol(subject));
    } else {
        cx.consequences.insert("offsets of symbol names".into());
    }
}

fn home_text(cx: &Context<'_, '_>, home: Home) -> String {
    match home {
        Home::Undefined => "undefined".into(),
        Home::Common => "common".into(),
        Home::Reserved(r) => format!("{r:#x}"),
        Home::Section(s) => cx.section_text(s),
    }
}

/// Symbols named when several values shift together.
const NAMED: usize = 4;

fn shift(cx: &mut Context<'_, '_>, section: u32, delta: i64, list: &[Shifted], suffix: &str) {
    let section = if section == u32::MAX {
        String::new()
    } else {
        cx.section_text(section)
    };
    if let [(name, a, b)] = list {
        let mut finding = Finding::field(Group::SymbolFields, format!("{name}{suffix}"), "value", hex(a), hex(b)).of_symbol(name.clone());
        if !section.is_empty() {
            finding.what = format!("{} ({section})", finding.what);
            finding = finding.in_section(section);
        }
        cx.push(finding);
        return;
    }
    let names: Vec<&str> = list.iter().take(NAMED).map(|(n, ..)| n.as_str()).collect();
    let more = list.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let direction = if delta < 0 { "lower" } else { "higher" };
    let what = format!(
        "values of {} symbols are {:#x} {direction} in B ({}{rest})",
        list.len(),
        delta.unsigned_abs(),
        names.join(", ")
    );
    let subject = format!("{section}{suffix}");
    cx.push(Finding::words(Group::SymbolFields, subject, "value", what).in_section(section));
}
