//! What every comparison needs: the two files, the pairs, and a place for findings.

use super::finding::{Finding, Group};
use super::order::Move;
use super::pairing::{self, Pairs, Side};
use crate::names;
use crate::view::{Sect, SymbolTable, View};
use std::collections::{BTreeMap, BTreeSet};

/// Something whose entries are the same, in another order.
#[derive(Debug, Clone)]
pub(crate) struct Reordered {
    /// Subject of the comparison.
    pub(crate) subject: String,
    /// One of its moves, in words.
    pub(crate) detail: String,
}

/// How offsets of a section of B correspond to offsets of its partner in A.
#[derive(Debug, Clone, Default)]
pub(crate) struct OffsetMap {
    /// Start in B, length, start in A; sorted by the first.
    pieces: Vec<(u64, u64, u64)>,
}

impl OffsetMap {
    pub(crate) fn new(mut pieces: Vec<(u64, u64, u64)>) -> Self {
        pieces.sort_unstable();
        OffsetMap { pieces }
    }

    /// The offset in A for one in B: the same where nothing is known, marked where the piece has no partner.
    pub(crate) fn to_a(&self, offset: u64) -> u64 {
        if self.pieces.is_empty() {
            return offset;
        }
        let at = self.pieces.partition_point(|p| p.0 <= offset);
        match at.checked_sub(1).and_then(|i| self.pieces.get(i)) {
            Some(&(b, len, a)) if offset - b < len => a + (offset - b),
            _ => offset | 1 << 63,
        }
    }
}

/// Two files, their pairs, and what is found.
pub(crate) struct Context<'v, 'd> {
    /// First file.
    pub(crate) a: &'v View<'d>,
    /// Second file.
    pub(crate) b: &'v View<'d>,
    /// Pairs of sections.
    pub(crate) sections: Pairs,
    /// Pairs of symbols, one for each symbol table.
    pub(crate) symbols: Vec<Pairs>,
    /// Offset maps of sections of A whose pieces moved.
    pub(crate) maps: BTreeMap<u32, OffsetMap>,
    /// Differences.
    pub(crate) findings: Vec<Finding>,
    /// Same entries in another order.
    pub(crate) reordered: Vec<Reordered>,
    /// Differences that follow from others, in a few words each.
    pub(crate) consequences: BTreeSet<String>,
    /// Sections of A with a difference in their content.
    pub(crate) changed: BTreeSet<u32>,
    /// Show C++ names.
    pub(crate) demangle: bool,
}

impl<'v, 'd> Context<'v, 'd> {
    pub(crate) fn new(a: &'v View<'d>, b: &'v View<'d>, demangle: bool) -> Self {
        let sections = pairing::sections(a, b);
        let symbols = a
            .tables
            .iter()
            .zip(&b.tables)
            .map(|(ta, tb)| pairing::symbols((a, ta), (b, tb), &sections))
            .collect();
        Context {
            a,
            b,
            sections,
            symbols,
            maps: BTreeMap::new(),
            findings: Vec::new(),
            reordered: Vec::new(),
            consequences: BTreeSet::new(),
            changed: BTreeSet::new(),
            demangle,
        }
    }

    pub(crate) fn view(&self, side: Side) -> &'v View<'d> {
        match side {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    pub(crate) fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Adds a field's difference if there is one.
    pub(crate) fn field<T: PartialEq>(&mut self, group: Group, subject: &str, field: &str, values: [T; 2], show: impl Fn(&T) -> String) {
        let [a, b] = values;
        if a != b {
            self.push(Finding::field(group, subject, field, show(&a), show(&b)));
        }
    }

    /// Notes that the content of a section of A differs.
    pub(crate) fn mark(&mut self, section: &Sect<'_>) {
        self.changed.insert(section.index);
    }

    /// A name as text, in C++ form when requested.
    pub(crate) fn show(&self, name: &[u8]) -> String {
        let demangled = if self.demangle { culd_demangle::readable(name) } else { None };
        demangled.unwrap_or_else(|| names::text(name).into_owned())
    }

    /// Name of the section with a common number.
    pub(crate) fn section_text(&self, common: u32) -> String {
        match self.common_section(common) {
            Some(s) => names::text(s.name).into_owned(),
            None => format!("section {common}"),
        }
    }

    fn common_section(&self, common: u32) -> Option<&'v Sect<'d>> {
        let count = self.a.sections.len() as u32;
        match common.checked_sub(count) {
            None => self.a.section(common),
            Some(b) => self.b.section(b),
        }
    }

    /// The symbol table that a section refers to, and its number.
    pub(crate) fn table(&self, side: Side, section: &Sect<'_>) -> Option<(usize, &'v SymbolTable<'d>)> {
        let view = self.view(side);
        let table = view.table_of(section)?;
        let number = view.tables.iter().position(|t| t.section == table.section)?;
        Some((number, table))
    }

    /// Common number of a symbol that a section refers to.
    pub(crate) fn symbol_of(&self, side: Side, section: &Sect<'_>, index: u32) -> u32 {
        let number = self.table(side, section).map_or(0, |(n, _)| n);
        self.symbols.get(number).map_or(index, |p| p.common(side, index))
    }

    /// Name of a symbol that a section refers to.
    pub(crate) fn symbol_text(&self, side: Side, section: &Sect<'_>, index: u32) -> String {
        match self.table(side, section) {
            Some((_, t)) if (index as usize) < t.entries.len() => self.show(self.view(side).symbol_name(t, index)),
            _ => format!("symbol {index}"),
        }
    }
}

/// `first in A, after x in B`.
pub(crate) fn move_words(moved: &Move, show: impl Fn(u32) -> String) -> String {
    let place = |after: Option<u32>| after.map_or_else(|| "first".to_owned(), |x| format!("after {}", show(x)));
    format!("{} in A, {} in B", place(moved.after_a), place(moved.after_b))
}
