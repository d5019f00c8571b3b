//! Differences in notes, call graph, prototypes, tables, capsules and string tables: lists of records that have a text form.
//!
//! Each list is turned into texts in which indices are replaced by names; lists are compared as multisets first, then by order.

use super::context::{Context, Reordered, move_words};
use super::finding::{Finding, Group};
use super::order::moves;
use super::pairing::Side;
use crate::dump::{CallGraphRow, Contents, EdgeRow, NoteContent, NoteRow, PrototypeRow, function_of};
use crate::names;
use crate::view::Sect;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Compares two lists of texts. `noun` says what an entry is.
pub(crate) fn lists(cx: &mut Context<'_, '_>, group: Group, subject: &str, noun: &str, a: &[String], b: &[String]) {
    if a == b {
        return;
    }
    let mut waiting: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
    for (j, text) in b.iter().enumerate() {
        waiting.entry(text).or_default().push_back(j);
    }
    let mut order = Vec::new();
    let mut alone = Vec::new();
    for (i, text) in a.iter().enumerate() {
        match waiting.get_mut(text.as_str()).and_then(VecDeque::pop_front) {
            Some(j) => order.push((i as u32, j)),
            None => alone.push(Finding::only(group, subject, noun, true, text.clone())),
        }
    }
    let mut rest: Vec<(usize, &str)> = waiting.into_iter().flat_map(|(t, q)| q.into_iter().map(move |j| (j, t))).collect();
    rest.sort_unstable();
    // One entry on each side is a change of that entry.
    if let ([x], [(_, y)]) = (alone.as_slice(), rest.as_slice()) {
        let was = x.a.clone().unwrap_or_default();
        cx.push(Finding::field(group, subject, noun, was, *y));
    } else {
        cx.findings.extend(alone);
        cx.findings
            .extend(rest.iter().map(|(_, t)| Finding::only(group, subject, noun, false, *t)));
    }
    let in_a: Vec<u32> = order.iter().map(|o| o.0).collect();
    let mut by_b = order;
    by_b.sort_by_key(|o| o.1);
    let in_b: Vec<u32> = by_b.iter().map(|o| o.0).collect();
    let Some(first) = moves(&in_a, &in_b).into_iter().next() else {
        return;
    };
    let show = |i: u32| a.get(i as usize).cloned().unwrap_or_default();
    let moved = first.items.first().map_or_else(String::new, |&i| show(i));
    cx.reordered.push(Reordered {
        subject: subject.to_owned(),
        detail: format!("{moved} is {}", move_words(&first, show)),
    });
}

/// Contents of a pair of sections that hold records.
pub(crate) fn compare(cx: &mut Context<'_, '_>, a: &Sect<'_>, b: &Sect<'_>) {
    let read = |cx: &Context<'_, '_>, side: Side, s: &Sect<'_>| {
        let index = s.index;
        Texts::new(cx, side, s, &Contents::read(cx.view(side), |x| x.index == index))
    };
    let (x, y) = (read(cx, Side::A, a), read(cx, Side::B, b));
    if x == y {
        // Equal records in different bytes: strings or padding that records do not name.
        return;
    }
    cx.mark(a);
    let name = names::text(a.name).into_owned();
    let before = cx.findings.len();
    for (group, noun, p, q) in [
        (Group::Notes, "note", &x.notes, &y.notes),
        (Group::CallGraph, "call", &x.calls, &y.calls),
        (Group::CallGraph, "address-taken function", &x.taken, &y.taken),
        (Group::CallGraph, "indirect call", &x.indirect, &y.indirect),
        (Group::CallGraph, "taken address", &x.takers, &y.takers),
        (Group::CallGraph, "prototype", &x.prototypes, &y.prototypes),
        (Group::Data, "entry", &x.entries, &y.entries),
        (Group::Mercury, "capsule", &x.capsules, &y.capsules),
        (Group::Bytes, "problem", &x.problems, &y.problems),
    ] {
        if group == Group::Notes && p.len() == q.len() && p.len() == 1 {
            note_fields(cx, &name, &x.note_fields, &y.note_fields);
        } else {
            lists(cx, group, &name, noun, p, q);
        }
    }
    for f in cx.findings.iter_mut().skip(before) {
        f.section = Some(name.clone());
    }
}

/// The fields of one note.
fn note_fields(cx: &mut Context<'_, '_>, section: &str, a: &[(String, String)], b: &[(String, String)]) {
    for ((field, x), (other, y)) in a.iter().zip(b) {
        if (field, x) != (other, y) {
            cx.push(Finding::field(Group::Notes, section, field.clone(), x.clone(), y.clone()));
        }
    }
}

/// Owner of all notes seen.
const OWNER: &str = "NVIDIA Corp";

/// The records of a section as texts.
#[derive(Debug, Default, PartialEq, Eq)]
struct Texts {
    notes: Vec<String>,
    note_fields: Vec<(String, String)>,
    calls: Vec<String>,
    taken: Vec<String>,
    indirect: Vec<String>,
    takers: Vec<String>,
    prototypes: Vec<String>,
    entries: Vec<String>,
    capsules: Vec<String>,
    problems: Vec<String>,
}

impl Texts {
    fn new(cx: &Context<'_, '_>, side: Side, section: &Sect<'_>, contents: &Contents<'_>) -> Self {
        // A common number that differs from A's index is not shown, but keeps functions of one name apart.
        let function = |name: &str, index: u32| {
            let common = cx.symbol_of(side, section, index);
            let twin = cx.table(Side::A, section).is_some_and(|(_, t)| t.name(common) == name.as_bytes());
            let shown = cx.show(name.as_bytes());
            if twin { shown } else { format!("{shown} (another symbol)") }
        };
        let edge = |e: &EdgeRow<'_>| format!("{} -> {}", function(&e.from.name, e.from.symbol), function(&e.to.name, e.to.symbol));
        let proto = |p: &PrototypeRow<'_>| format!("{} {}", function(&p.function.name, p.function.symbol), p.prototype);
        let empty = CallGraphRow::default();
        let graph = contents.callgraph.as_ref().unwrap_or(&empty);
        let mut entries: Vec<String> = contents.actions.iter().map(|a| format!("{a:?}")).collect();
        entries.extend(contents.unified.iter().map(|u| {
            let symbol = u.symbol.as_ref().map_or_else(String::new, |s| function(&s.name, s.symbol));
            format!("{} {} at {:#x} flags {:?} {symbol}", u.kind, u.id, u.offset, u.flags)
        }));
        entries.extend(contents.metadata.iter().map(|m| format!("{m:?}")));
        let note_fields = contents.notes.iter().flat_map(fields_of).collect::<Vec<_>>();
        let notes = contents.notes.iter().map(|n| {
            let usual = format!("\"{OWNER}\", type");
            let fields = fields_of(n).into_iter().filter(|(k, v)| k != "owner" || !v.starts_with(&usual));
            let parts: Vec<String> = fields.map(|(k, v)| format!("{k} {v}")).collect();
            parts.join(", ")
        });
        Texts {
            notes: notes.collect(),
            note_fields,
            calls: graph.calls.iter().map(edge).collect(),
            taken: graph.address_taken.iter().map(proto).collect(),
            indirect: graph.indirect_calls.iter().map(proto).collect(),
            takers: graph.address_takers.iter().map(edge).collect(),
            prototypes: contents.prototypes.iter().map(proto).collect(),
            entries,
            capsules: contents
                .capsules
                .iter()
                .map(|c| {
                    let text = cx.section_text(cx.sections.common(side, c.text_section));
                    format!(
                        "{} instructions for {} of {text}, {} derived, {} full, {} short, {} expanded, tag {:#x}",
                        c.instructions, c.sass_instructions, c.derived, c.full, c.short, c.expanded, c.tag
                    )
                })
                .collect(),
            problems: contents.problems.iter().map(|p| p.reason.clone()).collect(),
        }
    }
}

fn fields_of(note: &NoteRow<'_>) -> Vec<(String, String)> {
    let mut list: Vec<(&str, String)> = match &note.content {
        NoteContent::Tool {
            version,
            object,
            tool,
            tool_version,
            build,
            arguments,
        } => vec![
            ("tool", tool.to_string()),
            ("arguments", format!("\"{arguments}\"")),
            ("version", format!("\"{tool_version}\"")),
            ("build", format!("\"{build}\"")),
            ("object", format!("\"{object}\"")),
            ("note version", version.to_string()),
        ],
        NoteContent::Cuda {
            version,
            virtual_sm,
            toolkit,
        } => vec![
            ("virtual architecture", format!("compute_{virtual_sm}")),
            ("toolkit", toolkit.to_string()),
            ("note version", version.to_string()),
        ],
        NoteContent::Other { hex } => vec![("content", hex.clone())],
    };
    // The owner is always the same; it is only worth a word when it is not.
    list.push(("owner", format!("\"{}\", type {}", note.owner, note.type_value)));
    list.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

/// The strings of a table in order, empty ones kept.
fn strings(data: &[u8]) -> Vec<String> {
    let data = data.strip_suffix(&[0]).unwrap_or(data);
    data.split(|&b| b == 0).map(|s| names::text(s).into_owned()).collect()
}

/// String tables: what is in them and in which order.
pub(crate) fn string_table(cx: &mut Context<'_, '_>, a: &Sect<'_>, b: &Sect<'_>) {
    if a.data == b.data {
        return;
    }
    cx.mark(a);
    let name = names::text(a.name).into_owned();
    let (x, y) = (strings(a.data), strings(b.data));
    let before = cx.findings.len();
    lists(cx, Group::Strings, &name, "string", &x, &y);
    // The name of a symbol or section that only one file has was already reported.
    let news: BTreeSet<String> = cx
        .findings
        .iter()
        .take(before)
        .filter(|f| matches!(f.group, Group::Sections | Group::Symbols))
        .map(|f| f.subject.trim_start_matches("function ").to_owned())
        .collect();
    let old = |f: &Finding| {
        let text = f.a.as_deref().or(f.b.as_deref()).unwrap_or_default();
        let function = function_of(text.as_bytes()).map(|n| names::text(n).into_owned());
        news.contains(text) || function.is_some_and(|n| news.contains(&n))
    };
    let both = |f: &Finding| f.a.is_some() && f.b.is_some();
    let count = cx.findings.len();
    let mut index = 0;
    cx.findings.retain(|f| {
        index += 1;
        index <= before || both(f) || !old(f)
    });
    if cx.findings.len() < count {
        cx.consequences.insert("strings of what only one file has".into());
    }
    for f in cx.findings.iter_mut().skip(before) {
        f.section = Some(name.clone());
    }
}
