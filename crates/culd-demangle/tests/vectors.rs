//! Every name of the tables (name, tab, the text that nvlink prints for it) comes out as nvlink prints it.
//!
//! 1. `vectors.tsv`: compiled names, hand-made names, names from a random grammar.
//! 2. `quirks.tsv`: names on which nvlink does the unexpected, and more compiled ones.

use culd_demangle::display;

/// Fails with all names of `table` that come out differently, or if `table` has not `count` of them.
fn check(table: &str, count: usize) {
    let mut wrong = Vec::new();
    for line in table.lines() {
        let (name, text) = line.split_once('\t').unwrap_or((line, ""));
        let shown = display(name.as_bytes());
        if shown != text.as_bytes() {
            wrong.push(format!("{name}\n  want {text}\n  got  {}", String::from_utf8_lossy(&shown)));
        }
    }
    assert_eq!(table.lines().count(), count);
    assert!(wrong.is_empty(), "{} of {count} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn all_vectors_match() {
    check(include_str!("vectors.tsv"), 2442);
}

#[test]
fn all_quirks_match() {
    check(include_str!("quirks.tsv"), 518);
}
