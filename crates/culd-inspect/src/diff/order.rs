//! What moved between two orders of the same things.
//!
//! 1. Keep the things that both lists have, and write down for each of the first list its place in the second.
//! 2. A longest increasing run of places is what stayed; everything else moved.
//! 3. Moved items that are adjacent in both lists moved as one block.

use std::collections::{HashMap, HashSet};

/// A block that moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Move {
    /// What moved, in order.
    pub(crate) items: Vec<u32>,
    /// The item before the block in the first list.
    pub(crate) after_a: Option<u32>,
    /// The item before the block in the second list.
    pub(crate) after_b: Option<u32>,
}

/// The moves that turn list `a` into list `b`. Both hold unique numbers; numbers that only one list has are ignored.
pub(crate) fn moves(a: &[u32], b: &[u32]) -> Vec<Move> {
    let in_a: HashSet<u32> = a.iter().copied().collect();
    let common_b: Vec<u32> = b.iter().copied().filter(|x| in_a.contains(x)).collect();
    let place_b: HashMap<u32, u32> = common_b.iter().zip(0..).map(|(&x, i)| (x, i)).collect();
    let (common_a, places): (Vec<u32>, Vec<u32>) = a.iter().filter_map(|&x| Some((x, *place_b.get(&x)?))).unzip();
    if common_a == common_b {
        return Vec::new();
    }
    let stayed = longest_run(&places);
    let mut out: Vec<Move> = Vec::new();
    let mut previous: Option<(usize, u32)> = None;
    for (i, (&x, &place)) in common_a.iter().zip(&places).enumerate() {
        if stayed.get(i).is_some_and(|s| *s) {
            continue;
        }
        let joins = previous == Some((i.wrapping_sub(1), place.wrapping_sub(1)));
        previous = Some((i, place));
        match out.last_mut() {
            Some(last) if joins => last.items.push(x),
            _ => out.push(Move {
                items: vec![x],
                after_a: i.checked_sub(1).and_then(|i| common_a.get(i)).copied(),
                after_b: (place as usize).checked_sub(1).and_then(|i| common_b.get(i)).copied(),
            }),
        }
    }
    out
}

/// Marks a longest increasing subsequence.
fn longest_run(values: &[u32]) -> Vec<bool> {
    let mut tails: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; values.len()];
    for (i, v) in values.iter().enumerate() {
        let at = tails.partition_point(|&t| values.get(t).is_some_and(|x| x < v));
        if let (Some(prev), Some(slot)) = (at.checked_sub(1).and_then(|p| tails.get(p)), before.get_mut(i)) {
            *slot = *prev;
        }
        match tails.get_mut(at) {
            Some(t) => *t = i,
            None => tails.push(i),
        }
    }
    let mut marks = vec![false; values.len()];
    let mut at = tails.last().copied();
    while let Some(i) = at {
        let (Some(mark), Some(prev)) = (marks.get_mut(i), before.get(i)) else {
            break;
        };
        *mark = true;
        at = (*prev != usize::MAX).then_some(*prev);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moved() {
        assert!(moves(&[1, 2, 3], &[1, 2, 3]).is_empty());
        assert!(moves(&[1, 2, 3], &[0, 1, 9, 3]).is_empty());
        assert!(moves(&[], &[1]).is_empty());
    }

    #[test]
    fn a_block_moves_as_one() {
        let found = moves(&[1, 2, 3, 4, 5], &[3, 4, 5, 1, 2]);
        let expected = Move {
            items: vec![1, 2],
            after_a: None,
            after_b: Some(5),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn two_moves() {
        let found = moves(&[1, 2, 3, 4, 5, 6], &[2, 3, 1, 4, 6, 5]);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].items.as_slice(), found[0].after_b), (&[1][..], Some(3)));
    }

    #[test]
    fn reversed() {
        let found = moves(&[1, 2, 3, 4], &[4, 3, 2, 1]);
        assert_eq!(found.iter().map(|m| m.items.len()).sum::<usize>(), 3);
    }
}
