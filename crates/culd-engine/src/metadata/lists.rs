//! Attribute records of one function: shared with the inputs' records until they are changed, because most never are.

use super::attributes::Attribute;
use crate::parts::Parts;
use std::ops::Range;

/// Records of a function, newest first.
#[derive(Debug, Clone, Default)]
pub(super) struct List<'d> {
    /// Range of all records, in merge order.
    shared: (u32, u32),
    /// The function's own copy, once there is one; it replaces the range.
    #[allow(clippy::box_collection, reason = "few functions have any, and there are many functions")]
    own: Option<Box<Vec<Attribute<'d>>>>,
}

impl<'d> List<'d> {
    fn shared<'r>(&self, records: &'r Parts<Attribute<'d>>) -> &'r [Attribute<'d>] {
        let (first, end) = self.shared;
        records.of_part(first as usize..end as usize)
    }

    /// Takes the records of one more section; sections come in merge order, and [`List::finish`] after the last.
    pub(super) fn add(&mut self, records: &Parts<Attribute<'d>>, range: Range<usize>) {
        let older = self.shared(records);
        if older.is_empty() && self.own.is_none() {
            self.shared = (range.start as u32, range.end as u32);
            return;
        }
        let own = self.own.get_or_insert_with(|| Box::new(older.to_vec()));
        own.extend_from_slice(records.of_part(range));
    }

    /// Turns what several sections gave into the order of all lists.
    pub(super) fn finish(&mut self) {
        if let Some(own) = &mut self.own {
            own.reverse();
        }
    }

    /// The records.
    pub(super) fn iter<'r>(&'r self, records: &'r Parts<Attribute<'d>>) -> impl Iterator<Item = &'r Attribute<'d>> {
        let shared = if self.own.is_some() { &[][..] } else { self.shared(records) };
        shared.iter().rev().chain(self.own.iter().flat_map(|own| own.iter()))
    }

    /// The records, to change.
    pub(super) fn to_mut(&mut self, records: &Parts<Attribute<'d>>) -> &mut Vec<Attribute<'d>> {
        let shared = self.shared(records);
        self.own.get_or_insert_with(|| {
            // Most get one or two more.
            let mut own = Vec::with_capacity(shared.len() + 2);
            own.extend(shared.iter().rev().cloned());
            Box::new(own)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::attributes::Payload;

    fn record(code: u8) -> Attribute<'static> {
        Attribute {
            format: 4,
            code,
            payload: Payload::Word(0),
        }
    }

    #[test]
    fn newest_records_come_first_shared_or_not() {
        let mut records = Parts::default();
        records.push((0..6).map(record).collect());
        let codes = |list: &List<'static>| list.iter(&records).map(|r| r.code).collect::<Vec<_>>();
        let mut list = List::default();
        list.add(&records, 1..3);
        list.finish();
        assert_eq!(codes(&list), [2, 1]);
        list.to_mut(&records).push(record(9));
        assert_eq!(codes(&list), [2, 1, 9]);

        let mut several = List::default();
        for range in [0..2, 3..3, 4..6] {
            several.add(&records, range);
        }
        several.finish();
        assert_eq!(codes(&several), [5, 4, 1, 0]);
    }
}
