//! Differences in sections of plain bytes.
//!
//! 1. In a data section whose symbols moved, each symbol's bytes are compared at its own place in each file; the rest is compared as a whole.
//! 2. Otherwise bytes are compared in place when most are equal.
//! 3. Otherwise pieces of B are looked up in A: what was found elsewhere has moved, what was not found differs.
//!
//! Steps 1 and 3 give a map of offsets, so that relocations in moved pieces compare equal.

use super::context::{Context, OffsetMap, Reordered};
use super::finding::{Finding, Group};
use super::pairing::Side;
use crate::line::hex;
use crate::names;
use crate::view::{Home, Sect};
use std::collections::HashMap;

/// Pieces shorter than this are not looked for elsewhere.
const PIECE: usize = 16;
/// Bytes shown of a difference.
const SHOWN: usize = 16;

/// A symbol in a section of both files.
struct Item {
    name: String,
    at: [u64; 2],
    size: u64,
}

/// Symbols of a section that both files have with the same size, in the order of A.
fn items(cx: &Context<'_, '_>, a: &Sect<'_>, b: &Sect<'_>) -> Vec<Item> {
    let number = usize::from(a.name.starts_with(b".nv.merc."));
    let (Some(ta), Some(tb), Some(pairs)) = (cx.a.tables.get(number), cx.b.tables.get(number), cx.symbols.get(number)) else {
        return Vec::new();
    };
    let mut list: Vec<Item> = pairs
        .both()
        .filter_map(|(ia, ib)| {
            let (x, y) = (ta.entries.get(ia as usize)?, tb.entries.get(ib as usize)?);
            let here = ta.home(ia) == Home::Section(a.index) && tb.home(ib) == Home::Section(b.index);
            (here && x.st_size == y.st_size && x.st_size.get() > 0).then(|| Item {
                name: cx.show(ta.name(ia)),
                at: [x.st_value.get(), y.st_value.get()],
                size: x.st_size.get(),
            })
        })
        .collect();
    list.sort_by_key(|i| i.at);
    list
}

fn part(data: &[u8], at: u64, size: u64) -> &[u8] {
    let range = usize::try_from(at).ok().zip(usize::try_from(at.saturating_add(size)).ok());
    range.and_then(|(s, e)| data.get(s..e)).unwrap_or_default()
}

/// Data of a pair of sections.
pub(crate) fn compare(cx: &mut Context<'_, '_>, group: Group, a: &Sect<'_>, b: &Sect<'_>) {
    if a.data == b.data {
        return;
    }
    let section = names::text(a.name).into_owned();
    let items = items(cx, a, b);
    if items.iter().any(|i| i.at[0] != i.at[1]) {
        cx.maps
            .insert(a.index, OffsetMap::new(items.iter().map(|i| (i.at[1], i.size, i.at[0])).collect()));
        cx.mark(a);
        for i in &items {
            let (x, y) = (part(a.data, i.at[0], i.size), part(b.data, i.at[1], i.size));
            let found = in_place(group, &section, x, y, |at| format!("{section} {}+{at:#x}", i.name), i.at[0]);
            cx.findings.extend(found);
        }
        let rest = [Side::A, Side::B].map(|side| uncovered(if side == Side::A { a.data } else { b.data }, &items, side));
        if rest[0] != rest[1] {
            let show = |r: &[u8]| if r.is_empty() { "zero".to_owned() } else { short_hex(r) };
            let finding = Finding::field(group, section.clone(), "bytes outside symbols", show(&rest[0]), show(&rest[1]));
            cx.push(finding.in_section(section));
        }
        cx.consequences.insert(format!("places in {}", names::text(a.name)));
        return;
    }
    let name_at = |at: u64| {
        let inside = items.iter().find(|i| at >= i.at[0] && at - i.at[0] < i.size);
        match inside {
            Some(i) => format!("{section}+{at:#x} ({}+{:#x})", i.name, at - i.at[0]),
            None => format!("{section}+{at:#x}"),
        }
    };
    bytes(cx, group, a, b, name_at);
}

/// Bytes that no symbol covers and that are not zero.
fn uncovered(data: &[u8], items: &[Item], side: Side) -> Vec<u8> {
    let mut covered = vec![false; data.len()];
    for i in items {
        let start = usize::try_from(i.at[usize::from(side == Side::B)]).unwrap_or(usize::MAX);
        let end = start
            .saturating_add(usize::try_from(i.size).unwrap_or(usize::MAX))
            .min(covered.len());
        if let Some(range) = covered.get_mut(start..end) {
            range.fill(true);
        }
    }
    data.iter().zip(covered).filter(|(b, c)| !c && **b != 0).map(|(b, _)| *b).collect()
}

/// Bytes without symbols: in place, or by pieces that moved.
pub(crate) fn bytes(cx: &mut Context<'_, '_>, group: Group, a: &Sect<'_>, b: &Sect<'_>, name_at: impl Fn(u64) -> String) {
    if a.data == b.data {
        return;
    }
    cx.mark(a);
    let section = names::text(a.name).into_owned();
    let (x, y) = (a.data, b.data);
    let differing = x.iter().zip(y).filter(|(p, q)| p != q).count();
    if x.len() == y.len() && (differing * 4 <= x.len() || x.len() <= PIECE * 4) {
        let found = in_place(group, &section, x, y, name_at, 0);
        cx.findings.extend(found);
        return;
    }
    let pieces = pieces(x, y);
    let found: u64 = pieces.iter().map(|p| p.1).sum();
    if found == y.len() as u64 && x.len() == y.len() {
        let first = pieces.iter().find(|p| p.0 != p.2);
        let detail = first.map_or_else(String::new, |(at_b, len, at_a)| {
            format!("{len:#x} bytes are at {at_a:#x} in A, at {at_b:#x} in B")
        });
        cx.reordered.push(Reordered {
            subject: format!("{} pieces of {section}", pieces.len()),
            detail,
        });
    } else {
        let what = format!(
            "{:#x} bytes in A, {:#x} in B; {:#x} bytes of B are also in A, in {} pieces",
            x.len(),
            y.len(),
            found,
            pieces.len()
        );
        cx.push(Finding::words(group, section.clone(), "bytes", what).in_section(section.clone()));
        let found = unmatched(group, &section, x, y, &pieces);
        cx.findings.extend(found);
    }
    cx.maps.insert(a.index, OffsetMap::new(pieces));
}

/// The first bytes that differ around pieces that correspond.
fn unmatched(group: Group, section: &str, x: &[u8], y: &[u8], pieces: &[(u64, u64, u64)]) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut cursor = (0u64, 0u64);
    let ends = pieces.iter().copied().chain([(y.len() as u64, 0, x.len() as u64)]);
    for (at_b, len, at_a) in ends {
        let (pa, pb) = (cursor.0, cursor.1);
        if at_a >= pa && (at_a > pa || at_b > pb) {
            let (p, q) = (part(x, pa, at_a - pa), part(y, pb, at_b.saturating_sub(pb)));
            let show = |d: &[u8]| if d.is_empty() { "nothing".to_owned() } else { short_hex(d) };
            let finding = Finding::field(group, format!("{section}+{pa:#x}"), "content", show(p), show(q));
            out.push(finding.in_section(section).at(pa));
        }
        cursor = (at_a + len, at_b + len);
    }
    out
}

fn short_hex(data: &[u8]) -> String {
    match data.get(..SHOWN) {
        Some(head) if data.len() > SHOWN => format!("{}… ({:#x} bytes)", hex(head), data.len()),
        _ => hex(data),
    }
}

/// Runs of differing bytes of two strings of bytes; runs that are close are one. The second string may be longer or shorter.
fn in_place(group: Group, section: &str, x: &[u8], y: &[u8], name_at: impl Fn(u64) -> String, base: u64) -> Vec<Finding> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in x.iter().zip(y).enumerate().filter(|(_, (p, q))| p != q).map(|(i, _)| i) {
        match runs.last_mut() {
            Some((start, end)) if at - *end < 4 && at - *start < SHOWN => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs.into_iter()
        .map(|(start, end)| {
            let show = |d: &[u8]| hex(d.get(start..end).unwrap_or_default());
            let noun = if end - start == 1 {
                "byte".to_owned()
            } else {
                format!("{} bytes", end - start)
            };
            let mut finding = Finding::field(group, name_at(start as u64), "bytes", show(x), show(y));
            finding.what = format!("{noun} {} in A, {} in B", show(x), show(y));
            finding.in_section(section).at(base + start as u64)
        })
        .collect()
}

/// Pieces of `y` that are found in `x`: start in `y`, length, start in `x`; in the order of `y`.
fn pieces(x: &[u8], y: &[u8]) -> Vec<(u64, u64, u64)> {
    let key = |d: &[u8], at: usize| d.get(at..).and_then(|d| d.first_chunk::<PIECE>()).map(|c| u128::from_le_bytes(*c));
    let mut index: HashMap<u128, usize> = HashMap::with_capacity(x.len() / PIECE);
    for at in (0..x.len()).step_by(PIECE) {
        if let Some(k) = key(x, at) {
            index.entry(k).or_insert(at);
        }
    }
    let run = |p: usize, q: usize| x.iter().skip(p).zip(y.iter().skip(q)).take_while(|(a, b)| a == b).count();
    let mut out: Vec<(u64, u64, u64)> = Vec::new();
    // Where the piece before would go on in `x`, and the end of the piece before in `y`.
    let (mut next, mut done) = (0usize, 0usize);
    let mut at = 0;
    while at < y.len() {
        let straight = run(next, at);
        let (from, len) = if straight >= PIECE || at == done && straight > 0 && at + straight == y.len() {
            (next, straight)
        } else {
            match key(y, at).and_then(|k| index.get(&k)) {
                Some(&p) => (p, run(p, at)),
                None => (0, 0),
            }
        };
        if len < PIECE && !(len > 0 && at + len == y.len()) {
            at += 1;
            continue;
        }
        // Grow backwards over bytes that were passed over.
        let back = x
            .get(..from)
            .unwrap_or_default()
            .iter()
            .rev()
            .zip(y.get(done..at).unwrap_or_default().iter().rev());
        let back = back.take_while(|(a, b)| a == b).count();
        out.push(((at - back) as u64, (len + back) as u64, (from - back) as u64));
        at += len;
        done = at;
        next = from + len;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(n: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect()
    }

    #[test]
    fn moved_pieces_are_found() {
        let (p, q) = (sample(100, 1), sample(77, 2));
        let x = [p.clone(), q.clone()].concat();
        let y = [q, p].concat();
        assert_eq!(pieces(&x, &y), [(0, 77, 100), (77, 100, 0)]);
    }

    #[test]
    fn inserted_bytes_are_left_out() {
        let x = sample(200, 3);
        let mut y = x.clone();
        y.splice(50..50, [9; 20]);
        let found = pieces(&x, &y);
        assert_eq!(found.iter().map(|p| p.1).sum::<u64>(), 200);
    }
}
