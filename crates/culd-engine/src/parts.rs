//! A list in parts that several threads made: where items are many, joining the parts would cost as much as making them.

use std::ops::Range;

/// Items one after the other, in parts.
#[derive(Debug)]
pub struct Parts<T> {
    parts: Vec<Vec<T>>,
    /// Number of the first item of each part, ascending: no part is empty.
    starts: Vec<usize>,
    len: usize,
}

impl<T> Parts<T> {
    /// Appends a part.
    pub fn push(&mut self, part: Vec<T>) {
        if !part.is_empty() {
            self.starts.push(self.len);
            self.len += part.len();
            self.parts.push(part);
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The part that has an item, and the number of its first one.
    fn part(&self, number: usize) -> Option<(&[T], usize)> {
        let at = self.starts.partition_point(|&start| start <= number).checked_sub(1)?;
        Some((self.parts.get(at)?, *self.starts.get(at)?))
    }

    /// An item.
    pub fn get(&self, number: usize) -> Option<&T> {
        let (part, start) = self.part(number)?;
        part.get(number - start)
    }

    /// Consecutive items of one part.
    pub fn of_part(&self, range: Range<usize>) -> &[T] {
        let Some((part, start)) = self.part(range.start) else { return &[] };
        part.get(range.start - start..range.end.saturating_sub(start)).unwrap_or_default()
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts.iter().flatten()
    }
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        Parts {
            parts: Vec::new(),
            starts: Vec::new(),
            len: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_one_list() {
        let mut list = Parts::default();
        for part in [vec![0, 1], vec![], vec![2], vec![3, 4, 5]] {
            list.push(part);
        }
        assert_eq!((list.len(), list.iter().copied().collect::<Vec<_>>()), (6, (0..6).collect()));
        assert!((0..6).all(|n| list.get(n) == Some(&n)));
        assert_eq!(list.get(6), None);
        assert_eq!((list.of_part(0..2), list.of_part(3..5)), (&[0, 1][..], &[3, 4][..]));
        for empty in [0..0, 2..2, 6..6, 9..9, 1..3] {
            assert!(list.of_part(empty).is_empty());
        }
        assert_eq!(Parts::<u8>::default().of_part(0..0), &[]);
    }
}
