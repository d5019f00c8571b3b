//! Differences in code, instruction by instruction.
//!
//! 1. Code of equal size is compared in place. Otherwise common instructions at both ends are set aside, and what remains is aligned.
//! 2. A changed instruction is explained by its fields: scheduling control first, then operand bits.

use super::context::Context;
use super::finding::{Finding, Group};
use crate::names;
use crate::view::Sect;

/// Bytes of an instruction.
const SIZE: usize = 16;
/// Instructions on each side up to which an exact alignment is tried.
const ALIGNED: usize = 3000;

/// Fields of an instruction: first bit, width, name. The rest is opcode and operands.
const FIELDS: &[(u32, u32, &str)] = &[
    (0, 12, "opcode"),
    (12, 4, "guard predicate"),
    (16, 8, "destination register"),
    (24, 8, "first source register"),
    (32, 32, "immediate or second operand"),
    (64, 8, "third source register"),
    (72, 33, "modifiers"),
    (105, 4, "stall count"),
    (109, 1, "yield"),
    (110, 3, "write barrier"),
    (113, 3, "read barrier"),
    (116, 6, "wait mask"),
    (122, 4, "reuse"),
    (126, 2, "top bits"),
];

/// The fields in which two instructions differ.
pub(crate) fn explain(a: u128, b: u128) -> String {
    let field = |v: u128, start: u32, width: u32| v >> start & ((1u128 << width) - 1);
    let mut parts = Vec::new();
    for &(start, width, name) in FIELDS {
        let (x, y) = (field(a, start, width), field(b, start, width));
        if x != y {
            parts.push(format!("{name} (bits {start}-{}) is {x:#x} in A, {y:#x} in B", start + width - 1));
        }
    }
    parts.join("; ")
}

fn instructions(data: &[u8]) -> Vec<u128> {
    data.chunks(SIZE)
        .map(|c| {
            let mut bytes = [0u8; SIZE];
            for (to, from) in bytes.iter_mut().zip(c) {
                *to = *from;
            }
            u128::from_le_bytes(bytes)
        })
        .collect()
}

/// Code of a pair of sections.
pub(crate) fn compare(cx: &mut Context<'_, '_>, a: &Sect<'_>, b: &Sect<'_>) {
    if a.data == b.data {
        return;
    }
    cx.mark(a);
    let section = names::text(a.name).into_owned();
    let (x, y) = (instructions(a.data), instructions(b.data));
    if x.len() == y.len() {
        for (i, (p, q)) in x.iter().zip(&y).enumerate().filter(|(_, (p, q))| p != q) {
            cx.push(changed(&section, i, *p, *q));
        }
        if a.data.len() != b.data.len() {
            let sizes = [a.data.len(), b.data.len()].map(|n| format!("{n:#x}"));
            cx.push(Finding::field(Group::Code, section.clone(), "size", sizes[0].clone(), sizes[1].clone()).in_section(section));
        }
        return;
    }
    let head = x.iter().zip(&y).take_while(|(p, q)| p == q).count();
    let most = x.len().min(y.len()) - head;
    let tail = x.iter().rev().zip(y.iter().rev()).take(most).take_while(|(p, q)| p == q).count();
    let middle = |v: &[u128]| v.get(head..v.len() - tail).unwrap_or_default().to_vec();
    let (x_mid, y_mid) = (middle(&x), middle(&y));
    let counts = [x.len(), y.len()].map(|n| format!("{n} instructions"));
    cx.push(Finding::field(Group::Code, section.clone(), "length", counts[0].clone(), counts[1].clone()).in_section(section.clone()));
    let runs = if x_mid.len() <= ALIGNED && y_mid.len() <= ALIGNED {
        align(&x_mid, &y_mid)
    } else {
        vec![(0, x_mid.len(), 0, y_mid.len())]
    };
    for (at_a, len_a, at_b, len_b) in runs {
        let same = len_a.min(len_b);
        for i in 0..same {
            if let (Some(&p), Some(&q)) = (x_mid.get(at_a + i), y_mid.get(at_b + i)) {
                cx.push(changed(&section, head + at_a + i, p, q));
            }
        }
        if len_a != len_b {
            let in_a = len_a > len_b;
            let at = SIZE * (head + if in_a { at_a + same } else { at_b + same });
            let n = len_a.abs_diff(len_b);
            let what = format!(
                "{n} instruction{} only in {}",
                if n == 1 { "" } else { "s" },
                if in_a { "A" } else { "B" }
            );
            let finding = Finding::words(Group::Code, format!("{section}+{at:#x}"), "instructions", what);
            cx.push(finding.in_section(section.clone()).at(at as u64));
        }
    }
}

fn changed(section: &str, number: usize, a: u128, b: u128) -> Finding {
    let at = number * SIZE;
    let mut finding = Finding::field(
        Group::Code,
        format!("instruction at {section}+{at:#x}"),
        "instruction",
        format!("{a:#034x}"),
        format!("{b:#034x}"),
    );
    finding.what = explain(a, b);
    finding.in_section(section).at(at as u64)
}

/// Runs that differ between two lists: start and length in each. Longest common subsequence, by rows of bits.
fn align(x: &[u128], y: &[u128]) -> Vec<(usize, usize, usize, usize)> {
    let width = y.len() + 1;
    let mut best = vec![0u16; (x.len() + 1) * width];
    let at = |i: usize, j: usize| i * width + j;
    for i in (0..x.len()).rev() {
        for j in (0..y.len()).rev() {
            best[at(i, j)] = if x[i] == y[j] {
                best[at(i + 1, j + 1)] + 1
            } else {
                best[at(i + 1, j)].max(best[at(i, j + 1)])
            };
        }
    }
    let mut runs: Vec<(usize, usize, usize, usize)> = Vec::new();
    let (mut i, mut j, mut start) = (0, 0, (0, 0));
    loop {
        let same = i < x.len() && j < y.len() && x[i] == y[j];
        let end = i == x.len() && j == y.len();
        if same || end {
            if start != (i, j) {
                runs.push((start.0, i - start.0, start.1, j - start.1));
            }
            if end {
                return runs;
            }
            (i, j) = (i + 1, j + 1);
            start = (i, j);
        } else if j == y.len() || i < x.len() && best[at(i + 1, j)] >= best[at(i, j + 1)] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_finds_inserted_and_removed() {
        assert_eq!(align(&[1, 2, 3], &[1, 9, 2, 3]), [(1, 0, 1, 1)]);
        assert_eq!(align(&[1, 2, 3], &[1, 3]), [(1, 1, 1, 0)]);
        assert_eq!(align(&[1, 2, 3], &[1, 7, 3]), [(1, 1, 1, 1)]);
        assert_eq!(align(&[], &[4]), [(0, 0, 0, 1)]);
    }

    #[test]
    fn control_fields_have_names() {
        let a = 5u128 << 105;
        assert_eq!(explain(a, 2 << 105), "stall count (bits 105-108) is 0x5 in A, 0x2 in B");
        assert!(explain(7 << 110, 1 << 110 | 1 << 32).contains("write barrier"));
    }
}
