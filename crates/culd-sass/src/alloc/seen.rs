//! What an allocation saw at each of its decisions.
//!
//! The allocator runs twice: with the compiler's numbers, and without the stack pointer. A decision that sees the same state in both runs comes out the same,
//! whether the model can explain it or not. States are compared by their hashes.

use super::{How, Live};
use crate::policy::Pending;
use crate::setter::SetterId;

/// What a run saw, to compare two of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// For every setter, a hash of all that its choice depends on.
    pub(super) choices: Vec<u64>,
    /// For every instruction, a hash of what was pending before it.
    pub(super) pending: Vec<u64>,
    /// For every setter, how its number was chosen.
    pub(super) how: Vec<How>,
    /// Setters for which the model chose the compiler's number.
    pub(super) right_choice: Vec<bool>,
    /// Instructions for which the model's waits were the compiler's.
    pub(super) right_wait: Vec<bool>,
    pub(super) model: Vec<u8>,
}

impl Seen {
    /// Is the model's choice for the setter that of the compiler?
    pub(crate) fn chose_right(&self, id: SetterId) -> bool {
        self.right_choice.get(id.index()) == Some(&true)
    }

    /// For every setter how its number was chosen and whether as the compiler did; instructions with other waits than the compiler's.
    pub(crate) fn judged(&self) -> (Vec<(&'static str, bool, u8)>, Vec<usize>) {
        let name = |how: &How| match how {
            How::Fixed => "fixed",
            How::Join => "join",
            How::Free => "free",
            How::ShareOut => "share-out",
            How::ShareIn => "share-in",
        };
        let choices = self
            .how
            .iter()
            .zip(&self.right_choice)
            .zip(&self.model)
            .map(|((h, r), m)| (name(h), *r, *m))
            .collect();
        (choices, (0..self.right_wait.len()).filter(|k| !self.right_wait[*k]).collect())
    }
}

/// The hash of what is pending at a choice, and of all else that the choice depends on.
pub(super) fn hash_live(live: &Live, rest: &impl std::hash::Hash) -> u64 {
    let mut hasher = Words::new();
    for list in live {
        hasher.add(list.len() as u64);
        for (id, need) in list {
            hasher.add(id.index() as u64);
            hasher.add(need.map_or(u64::MAX, |need| need as u64));
        }
    }
    rest.hash(&mut hasher);
    hasher.0
}

/// The hash of what is pending at an instruction, and of what of it came around a loop.
pub(super) fn hash_pending(state: &Pending, late: &Pending, unknown: &Pending) -> u64 {
    let mut hasher = Words::new();
    let lists = |hasher: &mut Words, lists: &Pending| {
        for list in lists {
            hasher.add(list.len() as u64);
            list.iter().for_each(|id| hasher.add(id.index() as u64));
        }
    };
    lists(&mut hasher, state);
    // What is late is unknown, too.
    if !unknown.iter().chain(late).all(Vec::is_empty) {
        lists(&mut hasher, late);
        lists(&mut hasher, unknown);
    }
    hasher.0
}

/// A hash of words, so that results do not depend on the standard library's.
struct Words(u64);

impl Words {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, value: u64) {
        // A word at a time; the shift brings the upper half back down, where the next word comes in.
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
}

impl std::hash::Hasher for Words {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.add(u64::from(*byte));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.add(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }
}
