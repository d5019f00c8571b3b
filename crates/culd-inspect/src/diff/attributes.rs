//! Differences in attribute sections: values of the same attribute, attributes that only one file has, their order.

use super::context::{Context, Reordered, move_words};
use super::finding::{Finding, Group};
use super::order::moves;
use super::pairing::Side;
use crate::dump::{AttributeRow, AttributeValue, Codes, attribute_rows};
use crate::names;
use crate::view::Sect;
use std::collections::{BTreeMap, VecDeque};

/// A record with symbols as common numbers.
struct Item<'d> {
    /// Attribute and what it is about: symbol or position of the parameter.
    key: (u8, u64),
    row: AttributeRow<'d>,
}

fn items<'d>(cx: &Context<'_, 'd>, side: Side, section: &Sect<'d>, codes: Codes) -> Vec<Item<'d>> {
    attribute_rows(cx.view(side), section, codes)
        .map(|mut row| {
            let common = |index: u32| cx.symbol_of(side, section, index);
            let about = match &mut row.value {
                AttributeValue::SymbolNumber { symbol, .. } => {
                    *symbol = common(*symbol);
                    1 << 32 | u64::from(*symbol)
                }
                AttributeValue::ParameterBank { symbol, .. } => {
                    *symbol = common(*symbol);
                    0
                }
                AttributeValue::Symbols { symbols } => {
                    for s in symbols {
                        s.symbol = common(s.symbol);
                    }
                    0
                }
                AttributeValue::Parameter { ordinal, .. } => 2 << 32 | u64::from(*ordinal),
                AttributeValue::ParameterV2 { ordinal, .. } => 2 << 32 | u64::from(*ordinal),
                _ => 0,
            };
            row.offset = 0;
            Item {
                key: (row.code, about),
                row,
            }
        })
        .collect()
}

/// What an attribute is about, in words.
fn title(cx: &Context<'_, '_>, row: &AttributeRow<'_>) -> String {
    match &row.value {
        AttributeValue::SymbolNumber { symbol_name, .. } => format!("{} of {}", row.name, cx.show(symbol_name.as_bytes())),
        AttributeValue::Parameter { ordinal, .. } => format!("{} of parameter {ordinal}", row.name),
        _ => row.name.clone().into_owned(),
    }
}

/// The value without what the title says, and without indices.
fn value(cx: &Context<'_, '_>, row: &AttributeRow<'_>) -> String {
    match &row.value {
        AttributeValue::SymbolNumber { number, .. } => crate::dump::number(*number),
        AttributeValue::Symbols { symbols } if symbols.is_empty() => "no symbol".into(),
        AttributeValue::Symbols { symbols } => {
            let list: Vec<String> = symbols.iter().map(|s| cx.show(s.name.as_bytes())).collect();
            list.join(" ")
        }
        AttributeValue::ParameterBank {
            symbol_name, offset, size, ..
        } => format!("{size} bytes at {offset:#x} of {symbol_name}"),
        other => other.to_string(),
    }
}

/// Attributes of a pair of sections.
pub(crate) fn compare<'d>(cx: &mut Context<'_, 'd>, a: &Sect<'d>, b: &Sect<'d>, codes: Codes) {
    let (list_a, list_b) = (items(cx, Side::A, a, codes), items(cx, Side::B, b, codes));
    if list_a.iter().map(|i| &i.row).eq(list_b.iter().map(|i| &i.row)) {
        return;
    }
    cx.mark(a);
    let section = names::text(a.name).into_owned();
    let pairs = pair(&list_a, &list_b);
    let mut used = vec![false; list_b.len()];
    let mut found = Vec::new();
    let mut order = Vec::new();
    for (i, (x, partner)) in list_a.iter().zip(&pairs).enumerate() {
        let Some((j, y)) = partner.and_then(|j| Some((j, list_b.get(j)?))) else {
            found.push(Finding::only(
                Group::Attributes,
                section.clone(),
                title(cx, &x.row),
                true,
                format!("({})", value(cx, &x.row)),
            ));
            continue;
        };
        if let Some(u) = used.get_mut(j) {
            *u = true;
        }
        order.push((i as u32, j));
        if x.row.value != y.row.value {
            let (va, vb) = (value(cx, &x.row), value(cx, &y.row));
            found.push(Finding::field(Group::Attributes, section.clone(), title(cx, &x.row), va, vb));
        }
        if x.row.format != y.row.format {
            let field = format!("format of {}", title(cx, &x.row));
            found.push(Finding::field(
                Group::Attributes,
                section.clone(),
                field,
                x.row.format.clone(),
                y.row.format.clone(),
            ));
        }
    }
    for (y, _) in list_b.iter().zip(used).filter(|(_, used)| !used) {
        found.push(Finding::only(
            Group::Attributes,
            section.clone(),
            title(cx, &y.row),
            false,
            format!("({})", value(cx, &y.row)),
        ));
    }
    cx.findings.extend(found.into_iter().map(|f| f.in_section(section.clone())));
    reordered(cx, &section, &list_a, order);
}

/// For each record of A its partner in B: equal records first, then records of the same attribute.
fn pair(list_a: &[Item<'_>], list_b: &[Item<'_>]) -> Vec<Option<usize>> {
    let mut out = vec![None; list_a.len()];
    let mut by_key: BTreeMap<(u8, u64), VecDeque<usize>> = BTreeMap::new();
    for (j, y) in list_b.iter().enumerate() {
        by_key.entry(y.key).or_default().push_back(j);
    }
    for exact in [true, false] {
        for (slot, x) in out.iter_mut().zip(list_a).filter(|(s, _)| s.is_none()) {
            let Some(waiting) = by_key.get_mut(&x.key) else { continue };
            // The first one waiting is the partner nearly always.
            let at = if exact {
                waiting.iter().position(|&j| list_b.get(j).is_some_and(|y| y.row == x.row))
            } else {
                (!waiting.is_empty()).then_some(0)
            };
            *slot = at.and_then(|at| waiting.remove(at));
        }
    }
    out
}

fn reordered(cx: &mut Context<'_, '_>, section: &str, list_a: &[Item<'_>], order: Vec<(u32, usize)>) {
    let in_a: Vec<u32> = order.iter().map(|o| o.0).collect();
    let mut by_b = order;
    by_b.sort_by_key(|o| o.1);
    let in_b: Vec<u32> = by_b.iter().map(|o| o.0).collect();
    let Some(first) = moves(&in_a, &in_b).into_iter().next() else {
        return;
    };
    let show = |i: u32| list_a.get(i as usize).map_or_else(String::new, |x| title(cx, &x.row));
    let moved = first.items.first().map_or_else(String::new, |&i| show(i));
    let detail = format!("{moved} is {}", move_words(&first, show));
    cx.reordered.push(Reordered {
        subject: format!("attributes of {section}"),
        detail,
    });
}
