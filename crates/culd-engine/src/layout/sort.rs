//! The list sort whose order of ties reaches the output.
//!
//! nvlink quirk: a merge sort over linked lists that is not stable. 1. Deal the items alternately to two lists, each item put first.
//! 2. Sort both. 3. Merge: the first list's head comes first only if it is strictly before the second's.

/// Sorts as nvlink's list sort does.
pub fn list_sort<T: Copy>(items: Vec<T>, before: &impl Fn(&T, &T) -> bool) -> Vec<T> {
    if items.len() < 2 {
        return items;
    }
    let deal = |parity: usize| {
        items
            .iter()
            .enumerate()
            .filter(|(i, _)| i % 2 == parity)
            .map(|(_, v)| *v)
            .rev()
            .collect()
    };
    let (a, b): (Vec<T>, Vec<T>) = (list_sort(deal(0), before), list_sort(deal(1), before));
    let mut sorted = Vec::with_capacity(items.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(sym)) = (a.get(i), b.get(j)) {
        if before(x, sym) {
            sorted.push(*x);
            i += 1;
        } else {
            sorted.push(*sym);
            j += 1;
        }
    }
    sorted.extend(a.iter().skip(i));
    sorted.extend(b.iter().skip(j));
    sorted
}

#[cfg(test)]
mod tests {
    use super::list_sort;

    #[test]
    fn ties_come_out_as_observed() {
        // Orders read back from nvlink's texture slots: equal keys, first list always first.
        let equal = |n: usize| list_sort((0..n).collect(), &|_, _| true);
        assert_eq!(equal(3), [2, 0, 1]);
        assert_eq!(equal(4), [2, 0, 3, 1]);
        assert_eq!(equal(8), [2, 6, 0, 4, 3, 7, 1, 5]);
    }

    #[test]
    fn sorts() {
        assert_eq!(list_sort(vec![5, 1, 4, 2, 3], &|a, b| a < b), [1, 2, 3, 4, 5]);
    }
}
