//! What an allocation saw at each of its decisions.
//!
//! The allocator runs twice: with the compiler's numbers, and without the stack pointer. A decision that sees the same state in both runs comes out the same,
//! whether the model can explain it or not. States are compared by their hashes.

use super::How;
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

pub(super) fn hash(value: &impl std::hash::Hash) -> u64 {
    use std::hash::Hasher;
    let mut hasher = Words(0xcbf2_9ce4_8422_2325);
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hash of words, so that results do not depend on the standard library's.
struct Words(u64);

impl std::hash::Hasher for Words {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        // A word at a time; the shift brings the upper half back down, where the next word comes in.
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}
