//! Lists of items per id in one flat array (compressed sparse rows).

use crate::ids::{Id, Table};
use std::marker::PhantomData;

/// For each id a list of items; all lists are in one array.
#[derive(Debug, Clone)]
pub struct GroupedLists<I, T> {
    start: Vec<u32>,
    items: Vec<T>,
    id: PhantomData<I>,
}

impl<I: Id, T: Copy> GroupedLists<I, T> {
    /// Groups `(owner, item)` pairs by owner; each list is in reverse order of arrival, as if every item had been put first.
    pub fn newest_first(owners: usize, pairs: &[(I, T)]) -> Self {
        let mut start = vec![0u32; owners + 1];
        for (owner, _) in pairs {
            start[owner.index() + 1] += 1;
        }
        for i in 0..owners {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut items: Vec<T> = Vec::with_capacity(pairs.len());
        if let Some(&(_, filler)) = pairs.first() {
            items.resize(pairs.len(), filler);
        }
        for &(owner, item) in pairs.iter().rev() {
            let slot = &mut next[owner.index()];
            items[*slot as usize] = item;
            *slot += 1;
        }
        GroupedLists {
            start,
            items,
            id: PhantomData,
        }
    }

    /// Number of items in all lists.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// All lists, one after the other.
    pub fn into_items(self) -> Vec<T> {
        self.items
    }

    /// The list of one owner.
    pub fn of(&self, owner: I) -> &[T] {
        let i = owner.index();
        &self.items[self.start[i] as usize..self.start[i + 1] as usize]
    }
}

/// Keeps the first arrival of each `(owner, item)` pair.
pub fn without_repeats<I: Id + PartialEq, T: Id>(owners: usize, items: usize, pairs: &[(I, T)]) -> Vec<(I, T)> {
    if pairs.is_empty() {
        return Vec::new();
    }
    let grouped = GroupedLists::<I, u32>::newest_first(
        owners,
        &pairs.iter().enumerate().map(|(n, &(o, _))| (o, n as u32)).collect::<Vec<_>>(),
    );
    let mut last: Table<T, u32> = Table::filled(items, u32::MAX);
    let mut keep = vec![false; pairs.len()];
    for owner in (0..owners).map(I::from_index) {
        for &n in grouped.of(owner).iter().rev() {
            let item = pairs[n as usize].1;
            if last[item] != owner.index() as u32 {
                last[item] = owner.index() as u32;
                keep[n as usize] = true;
            }
        }
    }
    pairs.iter().zip(keep).filter(|(_, k)| *k).map(|(p, _)| *p).collect()
}
