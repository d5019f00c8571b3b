//! Which section and which symbol of one file is which of the other.
//!
//! 1. Sections pair by name. Several of one name (static functions of several inputs) pair by the code they belong to, then by equal bytes,
//!    then by their order.
//! 2. Symbols pair by name. Several of one name pair by the pair of sections that contain them and by equal bytes, then by their order.
//! 3. Pairs give every section and symbol of both files one *common number*: that of the first file where there is a pair, and a number past the
//!    first file's for what only the second has. Indices are compared through common numbers, so a shift of indices is not a difference.

use crate::view::{Home, SymbolTable, View};
use cubin::consts::STT_FUNC;
use std::collections::HashMap;
use std::hash::Hash;

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// Pairs of a table's entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs {
    /// Entry of B for each of A.
    pub(crate) to_b: Vec<Option<u32>>,
    /// Common number of each entry of B.
    pub(crate) common_b: Vec<u32>,
}

impl Pairs {
    fn new(to_b: Vec<Option<u32>>, count_b: usize) -> Self {
        let first_free = to_b.len() as u32;
        let mut common_b: Vec<u32> = (0..count_b as u32).map(|i| first_free.saturating_add(i)).collect();
        for (a, b) in to_b.iter().enumerate() {
            if let Some(slot) = b.and_then(|b| common_b.get_mut(b as usize)) {
                *slot = a as u32;
            }
        }
        Pairs { to_b, common_b }
    }

    /// Common number of an entry.
    pub(crate) fn common(&self, side: Side, index: u32) -> u32 {
        match side {
            Side::A => index,
            // An index outside the table stays itself, marked so that it meets no other.
            Side::B => self.common_b.get(index as usize).copied().unwrap_or(index | 1 << 31),
        }
    }

    /// Pairs in the order of A.
    pub(crate) fn both(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.to_b.iter().enumerate().filter_map(|(a, b)| Some((a as u32, (*b)?)))
    }

    /// Entries of A without a partner.
    pub(crate) fn only_a(&self) -> impl Iterator<Item = u32> + '_ {
        self.to_b.iter().enumerate().filter(|(_, b)| b.is_none()).map(|(a, _)| a as u32)
    }

    /// Entries of B without a partner.
    pub(crate) fn only_b(&self) -> impl Iterator<Item = u32> + '_ {
        let count_a = self.to_b.len() as u32;
        self.common_b
            .iter()
            .enumerate()
            .filter(move |(_, c)| **c >= count_a)
            .map(|(b, _)| b as u32)
    }
}

/// Pairs what has the same key, first come first served, among entries without a partner yet.
fn pair_by<K: Hash + Eq>(to_b: &mut [Option<u32>], taken: &mut [bool], key_a: impl Fn(u32) -> Option<K>, key_b: impl Fn(u32) -> Option<K>) {
    let mut waiting: HashMap<K, std::collections::VecDeque<u32>> = HashMap::new();
    for b in (0..taken.len() as u32).filter(|&b| !taken.get(b as usize).is_some_and(|t| *t)) {
        if let Some(key) = key_b(b) {
            waiting.entry(key).or_default().push_back(b);
        }
    }
    for (a, slot) in to_b.iter_mut().enumerate().filter(|(_, s)| s.is_none()) {
        let Some(b) = key_a(a as u32).and_then(|k| waiting.get_mut(&k)?.pop_front()) else {
            continue;
        };
        *slot = Some(b);
        if let Some(t) = taken.get_mut(b as usize) {
            *t = true;
        }
    }
}

/// Number of sections of each name.
fn name_counts<'d>(view: &View<'d>) -> HashMap<&'d [u8], usize> {
    let mut counts = HashMap::new();
    for s in view.sections.iter().skip(1) {
        *counts.entry(s.name).or_insert(0) += 1;
    }
    counts
}

/// Pairs the sections of two files.
pub(crate) fn sections<'d>(a: &View<'d>, b: &View<'d>) -> Pairs {
    let mut to_b = vec![None; a.sections.len()];
    let mut taken = vec![false; b.sections.len()];
    if let (Some(first), Some(t)) = (to_b.first_mut(), taken.first_mut()) {
        *first = Some(0);
        *t = true;
    }
    let (counts_a, counts_b) = (name_counts(a), name_counts(b));
    let many = |name: &[u8]| counts_a.get(name).copied().unwrap_or(0) > 1 || counts_b.get(name).copied().unwrap_or(0) > 1;
    let unique = |view: &View<'d>, i: u32| view.section(i).map(|s| s.name).filter(|n| !many(n));
    pair_by(&mut to_b, &mut taken, |i| unique(a, i), |i| unique(b, i));
    // Code of one name pairs by its bytes, then by order; the other sections of one name follow their code.
    let code = |view: &View<'d>, i: u32| view.section(i).filter(|s| s.name.starts_with(b".text.")).map(|s| (s.name, s.data));
    pair_by(&mut to_b, &mut taken, |i| code(a, i), |i| code(b, i));
    let code_name = |view: &View<'d>, i: u32| code(view, i).map(|(name, _)| name);
    pair_by(&mut to_b, &mut taken, |i| code_name(a, i), |i| code_name(b, i));
    let codes = Pairs::new(to_b.clone(), b.sections.len());
    let follower = |view: &View<'d>, side: Side, i: u32| {
        let s = view.section(i)?;
        let owner = s.header.sh_info.get();
        (owner != 0).then(|| (s.name, codes.common(side, owner)))
    };
    pair_by(&mut to_b, &mut taken, |i| follower(a, Side::A, i), |i| follower(b, Side::B, i));
    let bytes = |view: &View<'d>, i: u32| view.section(i).map(|s| (s.name, s.data));
    pair_by(&mut to_b, &mut taken, |i| bytes(a, i), |i| bytes(b, i));
    let name = |view: &View<'d>, i: u32| view.section(i).map(|s| s.name);
    pair_by(&mut to_b, &mut taken, |i| name(a, i), |i| name(b, i));
    Pairs::new(to_b, b.sections.len())
}

/// The bytes of a symbol, as far as they are in the file.
pub(crate) fn symbol_bytes<'d>(view: &View<'d>, table: &SymbolTable<'d>, index: u32) -> &'d [u8] {
    let Home::Section(s) = table.home(index) else { return &[] };
    let (Some(section), Some(entry)) = (view.section(s), table.entries.get(index as usize)) else {
        return &[];
    };
    let start = usize::try_from(entry.st_value.get()).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(entry.st_size.get()).unwrap_or(usize::MAX));
    section.data.get(start..end).unwrap_or_default()
}

/// Pairs the symbols of two tables.
pub(crate) fn symbols<'d>(
    (a, table_a): (&View<'d>, &SymbolTable<'d>),
    (b, table_b): (&View<'d>, &SymbolTable<'d>),
    sections: &Pairs,
) -> Pairs {
    let mut to_b = vec![None; table_a.entries.len()];
    let mut taken = vec![false; table_b.entries.len()];
    if let (Some(first), Some(t)) = (to_b.first_mut(), taken.first_mut()) {
        *first = Some(0);
        *t = true;
    }
    let home = |table: &SymbolTable<'_>, side: Side, i: u32| match table.home(i) {
        Home::Section(s) => Home::Section(sections.common(side, s)),
        other => other,
    };
    let full = |view: &View<'d>, table: &SymbolTable<'d>, side: Side, i: u32| {
        let kind = table.entries.get(i as usize)?.kind();
        let bytes = if kind == STT_FUNC { &[] } else { symbol_bytes(view, table, i) };
        Some((view.symbol_name(table, i), kind, home(table, side, i), bytes))
    };
    pair_by(
        &mut to_b,
        &mut taken,
        |i| full(a, table_a, Side::A, i),
        |i| full(b, table_b, Side::B, i),
    );
    let placed = |view: &View<'d>, table: &SymbolTable<'d>, side: Side, i: u32| {
        let kind = table.entries.get(i as usize)?.kind();
        Some((view.symbol_name(table, i), kind, home(table, side, i)))
    };
    pair_by(
        &mut to_b,
        &mut taken,
        |i| placed(a, table_a, Side::A, i),
        |i| placed(b, table_b, Side::B, i),
    );
    // A name alone is enough, but not the empty one.
    let name = |view: &View<'d>, table: &SymbolTable<'d>, i: u32| Some(view.symbol_name(table, i)).filter(|n| !n.is_empty());
    pair_by(&mut to_b, &mut taken, |i| name(a, table_a, i), |i| name(b, table_b, i));
    Pairs::new(to_b, table_b.entries.len())
}
