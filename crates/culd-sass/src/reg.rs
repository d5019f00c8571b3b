//! Registers and sets of registers.

use std::fmt;

/// The four register files of a thread or warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RegFile {
    /// General registers R0..R254.
    R,
    /// Uniform registers UR0..UR254.
    Ur,
    /// Predicates P0..P6.
    P,
    /// Uniform predicates UP0..UP6.
    Up,
}

/// Words of a [`RegSet`]: four for R, four for UR, one for both predicate files.
const WORDS: usize = 9;

/// One register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reg {
    /// Its file.
    pub file: RegFile,
    /// Its number in that file.
    pub index: u8,
}

impl Reg {
    /// A general register.
    #[must_use]
    pub const fn r(index: u8) -> Self {
        Self { file: RegFile::R, index }
    }

    fn slot(self) -> usize {
        let index = usize::from(self.index);
        match self.file {
            RegFile::R => index,
            RegFile::Ur => 256 + index,
            RegFile::P => 512 + (index & 7),
            RegFile::Up => 520 + (index & 7),
        }
    }

    fn from_slot(slot: usize) -> Self {
        let (file, index) = match slot {
            0..256 => (RegFile::R, slot),
            256..512 => (RegFile::Ur, slot - 256),
            512..520 => (RegFile::P, slot - 512),
            _ => (RegFile::Up, slot - 520),
        };
        Self {
            file,
            index: u8::try_from(index).unwrap_or(u8::MAX),
        }
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.file {
            RegFile::R => "R",
            RegFile::Ur => "UR",
            RegFile::P => "P",
            RegFile::Up => "UP",
        };
        write!(f, "{name}{}", self.index)
    }
}

impl fmt::Debug for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A set of registers of all four files, as a fixed bitset.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RegSet([u64; WORDS]);

/// A summary of a set: sets that share a register have outlines that meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outline([u64; 2]);

impl Outline {
    /// That of the empty set.
    pub(crate) const EMPTY: Self = Self([0; 2]);

    /// May the sets share a register?
    pub(crate) fn meets(self, other: Self) -> bool {
        self.0[0] & other.0[0] | self.0[1] & other.0[1] != 0
    }

    /// Of both sets.
    pub(crate) fn union(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }
}

impl RegSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// Adds one register.
    pub fn insert(&mut self, reg: Reg) {
        let slot = reg.slot();
        if let Some(word) = self.0.get_mut(slot / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    /// Adds `count` registers from `first` up. A range that runs past R254 or UR254 is not something the compiler emits; the excess is dropped.
    pub fn insert_range(&mut self, first: Reg, count: u8) {
        let slot = first.slot();
        let count = count.min(u8::MAX - first.index);
        let at = slot % 64;
        if let Some(word) = self.0.get_mut(slot / 64).filter(|_| at + usize::from(count) < 64) {
            *word |= ((1 << count) - 1) << at;
        } else {
            for index in (first.index..).take(usize::from(count)) {
                self.insert(Reg { index, ..first });
            }
        }
    }

    /// Is the register in the set?
    #[must_use]
    pub fn contains(&self, reg: Reg) -> bool {
        let slot = reg.slot();
        self.0.get(slot / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    /// Is there nothing in the set?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Do the two sets share a register?
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |all, (a, b)| all | a & b) != 0
    }

    /// General registers in one word, all others in another one.
    pub(crate) fn outline(&self) -> Outline {
        let [a, b, c, d, rest @ ..] = self.0;
        Outline([a | b | c | d, rest.iter().fold(0, |all, word| all | word)])
    }

    /// Registers in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a | b)
    }

    /// Registers in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & b)
    }

    /// Registers in `self` and not in `other`.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.combine(other, |a, b| a & !b)
    }

    /// Only the general registers of the set.
    #[must_use]
    pub fn general(&self) -> Self {
        let mut out = *self;
        out.0.iter_mut().skip(4).for_each(|word| *word = 0);
        out
    }

    /// The general and uniform registers of the set, without predicates.
    #[must_use]
    pub fn without_predicates(&self) -> Self {
        let mut out = *self;
        out.0.iter_mut().skip(8).for_each(|word| *word = 0);
        out
    }

    /// Is a predicate in the set?
    pub(crate) fn has_predicates(&self) -> bool {
        self.0.last().is_some_and(|word| *word != 0)
    }

    /// The members, file by file, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Reg> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    Reg::from_slot(i * 64 + bit)
                })
            })
        })
    }

    fn combine(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut out = *self;
        out.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a = f(*a, *b));
        out
    }
}

impl FromIterator<Reg> for RegSet {
    fn from_iter<T: IntoIterator<Item = Reg>>(iter: T) -> Self {
        let mut out = Self::EMPTY;
        iter.into_iter().for_each(|reg| out.insert(reg));
        out
    }
}

impl fmt::Debug for RegSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_their_registers() {
        for file in [RegFile::R, RegFile::Ur] {
            for (first, count) in [(0u8, 1u8), (60, 4), (62, 8), (64, 64), (4, 128), (250, 8), (254, 1)] {
                let mut set = RegSet::EMPTY;
                set.insert_range(Reg { file, index: first }, count);
                let all = (u16::from(first)..u16::from(first) + u16::from(count)).filter(|&index| index < 255);
                let one_by_one = all.map(|index| Reg { file, index: index as u8 });
                assert!(set.iter().eq(one_by_one), "{file:?} {first} {count}");
            }
        }
    }

    #[test]
    fn slots_do_not_collide() {
        let files = [RegFile::R, RegFile::Ur, RegFile::P, RegFile::Up];
        for file in files {
            let last = if matches!(file, RegFile::R | RegFile::Ur) { 254 } else { 6 };
            for index in [0, 1, last] {
                let reg = Reg { file, index };
                let set = RegSet::from_iter([reg]);
                assert_eq!(set.iter().collect::<Vec<_>>(), [reg]);
                assert!(set.contains(reg));
            }
        }
    }

    #[test]
    fn general_drops_the_other_files() {
        let all: RegSet = [
            Reg::r(3),
            Reg {
                file: RegFile::Ur,
                index: 3,
            },
            Reg {
                file: RegFile::P,
                index: 3,
            },
        ]
        .into_iter()
        .collect();
        assert_eq!(all.general().iter().collect::<Vec<_>>(), [Reg::r(3)]);
        assert_eq!(all.without_predicates().iter().count(), 2);
        assert_eq!(all.minus(&all.general()).iter().count(), 2);
    }
}
