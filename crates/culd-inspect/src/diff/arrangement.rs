//! Differences in the order of sections and symbols.
//!
//! 1. Sections of functions are compared class by class (`.text.*`, `.nv.info.*`, ...); classes in which the same functions moved to the same
//!    place become one difference.
//! 2. The other sections, and the classes as wholes, are compared as one list.
//! 3. If the order differs and 1 and 2 show nothing, the plain list of sections is compared.
//! 4. Symbols are compared as one list for each table.

use super::context::{Context, move_words};
use super::finding::{Finding, Group};
use super::order::{Move, moves};
use super::pairing::{Pairs, Side};
use crate::dump::function_of;
use crate::names;
use crate::view::{Sect, View};
use std::collections::BTreeMap;

/// Common numbers of a table in the order of one file.
fn order_of(pairs: &Pairs, side: Side, count: usize) -> Vec<u32> {
    (1..count as u32).map(|i| pairs.common(side, i)).collect()
}

/// `.text.*` for `.text.k`.
fn class_of(section: &Sect<'_>) -> Option<String> {
    let function = function_of(section.name)?;
    let prefix = section.name.get(..section.name.len().checked_sub(function.len())?)?;
    Some(format!("{}*", names::text(prefix)))
}

type Classes = BTreeMap<String, [Vec<u32>; 2]>;

/// Function sections by class, and the list of everything else with each class standing once.
fn classify(cx: &Context<'_, '_>) -> (Classes, [Vec<u32>; 2]) {
    let mut classes = Classes::new();
    let mut rest = [Vec::new(), Vec::new()];
    // A class is in the list of the rest as the common number of its first section in A.
    let mut tokens: BTreeMap<String, u32> = BTreeMap::new();
    for (number, side) in [Side::A, Side::B].into_iter().enumerate() {
        let mut seen = std::collections::BTreeSet::new();
        for s in cx.view(side).sections.iter().skip(1) {
            let common = cx.sections.common(side, s.index);
            let Some(class) = class_of(s) else {
                rest[number].push(common);
                continue;
            };
            let token = *tokens.entry(class.clone()).or_insert(common);
            if seen.insert(class.clone()) {
                rest[number].push(token);
            }
            if let Some(list) = classes.entry(class).or_default().get_mut(number) {
                list.push(common);
            }
        }
    }
    (classes, rest)
}

/// The order of sections.
pub(crate) fn sections(cx: &mut Context<'_, '_>) {
    let count = [cx.a.sections.len(), cx.b.sections.len()];
    let plain_a = order_of(&cx.sections, Side::A, count[0]);
    let plain_b = order_of(&cx.sections, Side::B, count[1]);
    let plain = moves(&plain_a, &plain_b);
    if plain.is_empty() {
        return;
    }
    let (classes, [rest_a, rest_b]) = classify(cx);
    // Functions that moved and where to, with the classes in which they did.
    let mut joined: Vec<(Vec<String>, String, Vec<String>)> = Vec::new();
    for (class, [a, b]) in &classes {
        for m in moves(a, b) {
            let function = |common: u32| {
                let name = cx.section_text(common);
                cx.show(function_of(name.as_bytes()).unwrap_or(name.as_bytes()))
            };
            let items: Vec<String> = m.items.iter().map(|&i| function(i)).collect();
            let words = move_words(&m, function);
            match joined.iter_mut().find(|(i, w, _)| *i == items && *w == words) {
                Some((_, _, list)) => list.push(class.clone()),
                None => joined.push((items, words, vec![class.clone()])),
            }
        }
    }
    // What moved in most classes comes first.
    joined.sort_by_key(|(_, _, classes)| std::cmp::Reverse(classes.len()));
    let mut found: Vec<Finding> = joined
        .into_iter()
        .map(|(items, words, classes)| {
            let subject = format!("{} {}", if items.len() == 1 { "function" } else { "functions" }, shorten(&items));
            Finding::words(Group::Order, subject, "section order", format!("{words} ({})", classes.join(", ")))
        })
        .collect();
    found.extend(moves(&rest_a, &rest_b).iter().map(|m| section_move(cx, m)));
    if found.is_empty() {
        found.extend(plain.iter().map(|m| section_move(cx, m)));
    }
    cx.findings.extend(found);
    cx.consequences.insert("section indices".into());
}

fn section_move(cx: &Context<'_, '_>, m: &Move) -> Finding {
    let items: Vec<String> = m.items.iter().map(|&i| cx.section_text(i)).collect();
    let subject = format!("{} {}", if items.len() == 1 { "section" } else { "sections" }, shorten(&items));
    Finding::words(Group::Order, subject, "section order", move_words(m, |c| cx.section_text(c)))
}

/// A list of names, the middle left out when it is long.
fn shorten(items: &[String]) -> String {
    match items {
        [first, .., last] if items.len() > 3 => format!("{first} … {last} ({} in a row)", items.len()),
        _ => items.join(", "),
    }
}

/// The order of symbols.
pub(crate) fn symbols(cx: &mut Context<'_, '_>) {
    for number in 0..cx.symbols.len() {
        let (Some(pairs), Some(a), Some(b)) = (cx.symbols.get(number), cx.a.tables.get(number), cx.b.tables.get(number)) else {
            continue;
        };
        let found = moves(
            &order_of(pairs, Side::A, a.entries.len()),
            &order_of(pairs, Side::B, b.entries.len()),
        );
        if found.is_empty() {
            continue;
        }
        let name = |view: &View<'_>, i: u32| view.tables.get(number).map_or(&b""[..], |t| view.symbol_name(t, i)).to_vec();
        let show = |i: u32| cx.show(&name(cx.a, i));
        let table = names::text(cx.a.section_name(a.section)).into_owned();
        // The tables of both views move alike; the second one is only worth a word.
        if number > 0 && cx.findings.iter().any(|f| f.field == "symbol order") {
            cx.consequences.insert(format!("order of {table}"));
            continue;
        }
        let findings: Vec<Finding> = found
            .iter()
            .map(|m| {
                let items: Vec<String> = m.items.iter().map(|&i| show(i)).collect();
                let subject = format!("{} {}", if items.len() == 1 { "symbol" } else { "symbols" }, shorten(&items));
                Finding::words(Group::SymbolOrder, subject, "symbol order", move_words(m, show)).in_section(table.clone())
            })
            .collect();
        cx.findings.extend(findings);
        cx.consequences.insert("symbol indices".into());
    }
}
