//! Differences in `.debug_frame`.
//!
//! 1. Both sections are taken apart into common entries and function entries; the function of an entry comes from the relocation of its address.
//! 2. Function entries pair by function and are compared with the common entry before them. The reference to it is compared by its distance from
//!    that entry: compilers write references that miss it by a few bytes, and linkers carry the distance over.
//! 3. Paired entries give a map of offsets for the relocations.

use super::context::{Context, OffsetMap};
use super::finding::{Finding, Group};
use super::pairing::Side;
use crate::dump::is_reloc;
use crate::names;
use crate::view::{Sect, View};
use std::collections::{BTreeMap, VecDeque};

/// An entry for one function.
struct Entry<'d> {
    /// Start of the entry.
    start: u64,
    /// Everything after the reference to the common entry.
    body: &'d [u8],
    /// Start and bytes of the common entry before it.
    common: (u64, &'d [u8]),
    /// Where the reference points, from the start of the common entry.
    reference: i64,
    /// Common number and name of the function.
    function: Option<(u32, String)>,
}

/// Size of length, mark and reference in the 64-bit form.
const HEAD: u64 = 20;

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

/// Every entry of a section as start, reference and the rest; `None` when the section has another form.
fn split(data: &[u8]) -> Option<Vec<(u64, u64, &[u8])>> {
    let mut out = Vec::new();
    let mut at = 0usize;
    while at < data.len() {
        if data.get(at..)?.first_chunk() != Some(&[0xff; 4]) {
            return None;
        }
        let length = usize::try_from(u64_at(data, at + 4)?).ok()?;
        let end = at.checked_add(12)?.checked_add(length)?;
        let reference = u64_at(data, at + 12)?;
        out.push((at as u64, reference, data.get(at + HEAD as usize..end)?));
        at = end;
    }
    Some(out)
}

/// Symbols by the offset of the relocation that names them.
fn functions(view: &View<'_>, section: &Sect<'_>) -> BTreeMap<u64, u32> {
    let tables = view
        .sections
        .iter()
        .filter(|s| is_reloc(s) && s.header.sh_info.get() == section.index);
    tables
        .flat_map(|s| view.relocations(s).1)
        .map(|r| (r.r_offset.get(), r.r_sym.get()))
        .collect()
}

fn entries<'d>(cx: &Context<'_, 'd>, side: Side, section: &Sect<'d>) -> Option<Vec<Entry<'d>>> {
    let view = cx.view(side);
    let parts = split(section.data)?;
    let by_offset = functions(view, section);
    let table = usize::from(section.name.starts_with(b".nv.merc."));
    let mut common = (0, &[][..]);
    let mut out = Vec::new();
    for (start, reference, body) in parts {
        if reference == u64::MAX {
            common = (start, body);
            continue;
        }
        let function = by_offset.get(&(start + HEAD)).and_then(|&symbol| {
            let number = cx.symbols.get(table)?.common(side, symbol);
            let name = view.tables.get(table)?.name(symbol);
            Some((number, cx.show(name)))
        });
        out.push(Entry {
            start,
            body,
            common,
            reference: reference.wrapping_sub(common.0).cast_signed(),
            function,
        });
    }
    Some(out)
}

/// Frame entries of a pair of sections; false when the form is unknown.
pub(crate) fn compare<'d>(cx: &mut Context<'_, 'd>, a: &Sect<'d>, b: &Sect<'d>) -> bool {
    let (Some(list_a), Some(list_b)) = (entries(cx, Side::A, a), entries(cx, Side::B, b)) else {
        return false;
    };
    cx.mark(a);
    let section = names::text(a.name).into_owned();
    let title = |e: &Entry<'_>| match &e.function {
        Some((_, name)) => format!("frame of {name}"),
        None => format!("frame at {:#x} (no function)", e.start),
    };
    let mut waiting: BTreeMap<(Option<u32>, &[u8]), VecDeque<usize>> = BTreeMap::new();
    let key = |e: &Entry<'d>| match &e.function {
        Some((f, _)) => (Some(*f), &[][..]),
        None => (None, e.body),
    };
    for (j, e) in list_b.iter().enumerate() {
        waiting.entry(key(e)).or_default().push_back(j);
    }
    let mut pieces = Vec::new();
    let mut found = Vec::new();
    for x in &list_a {
        let partner = waiting.get_mut(&key(x)).and_then(VecDeque::pop_front).and_then(|j| list_b.get(j));
        let Some(y) = partner else {
            found.push(Finding::only(Group::Debug, section.clone(), title(x), true, ""));
            continue;
        };
        pieces.push((y.start, HEAD + y.body.len() as u64, x.start));
        pieces.push((y.common.0, HEAD + y.common.1.len() as u64, x.common.0));
        if x.reference != y.reference {
            let [p, q] = [x, y].map(|e| format!("{:+}", e.reference));
            found.push(Finding::field(
                Group::Debug,
                section.clone(),
                format!("distance of the common entry of the {}", title(x)),
                p,
                q,
            ));
        }
        for (what, p, q) in [("instructions", x.body, y.body), ("common entry", x.common.1, y.common.1)] {
            if p != q {
                let show = |d: &[u8]| format!("{} bytes {}", d.len(), crate::line::hex(d.get(..24).unwrap_or(d)));
                found.push(Finding::field(
                    Group::Debug,
                    section.clone(),
                    format!("{what} of the {}", title(x)),
                    show(p),
                    show(q),
                ));
            }
        }
    }
    for y in waiting.into_values().flatten().filter_map(|j| list_b.get(j)) {
        found.push(Finding::only(Group::Debug, section.clone(), title(y), false, ""));
    }
    pieces.sort_unstable();
    pieces.dedup();
    let moved = pieces.iter().any(|p| p.0 != p.2);
    let quiet = found.is_empty() && !moved;
    cx.findings.extend(found.into_iter().map(|f| f.in_section(section.clone())));
    if moved {
        cx.consequences.insert(format!("places in {section}"));
        cx.maps.insert(a.index, OffsetMap::new(pieces));
    }
    // Bytes differ, entries do not: let the plain comparison say where.
    !quiet
}
