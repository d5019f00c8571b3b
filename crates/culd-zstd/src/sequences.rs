//! The sequences section of a compressed block.
//!
//! 1. A number of sequences, then a byte with the mode of each of the three tables (literal lengths, offsets, match lengths): the fixed
//!    table, one symbol, a description, or the table of the block before.
//! 2. The first states are read, then for each sequence the extra bits of offset, match length and literal length, then the next
//!    states in the order literal length, match length, offset.
//! 3. Offsets 1 to 3 name one of the three offsets used last, shifted by one when there are no literals.
//! 4. A sequence copies literals, then repeats a part of the output. Literals that are left come last.
//!
//! Sequences are carried out as they are read.

use crate::bits::Reverse;
use crate::copy;
use crate::error::Error;
use crate::fse::{Cell, Meaning, Shares, Table};
use crate::literals::Literals;

/// The kinds of symbols.
struct Kind {
    meaning: Meaning,
    fixed: Table,
    max_log: u32,
    symbols: usize,
}

/// First values and extra bits of the codes that stand for a range: `list` gives the bits of each code from `plain` on.
const fn ranges<const N: usize>(first: u32, plain: usize, list: [u8; N]) -> Meaning {
    let mut meaning = [Cell::of_value(0, 0); 64];
    let mut base = first;
    let mut i = 0;
    while i < plain + N {
        let extra = if i < plain { 0 } else { list[i - plain] };
        meaning[i] = Cell::of_value(base, extra);
        base += 1 << extra;
        i += 1;
    }
    meaning
}

const LITERALS_MEANING: Meaning = ranges(0, 16, [1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const MATCHES_MEANING: Meaning = ranges(3, 32, [1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const OFFSETS_MEANING: Meaning = {
    let mut meaning = [Cell::of_value(0, 0); 64];
    let mut i = 0;
    while i < 32 {
        meaning[i] = Cell::of_value(1 << i, i as u8);
        i += 1;
    }
    meaning
};

static LITERALS: Kind = Kind {
    meaning: LITERALS_MEANING,
    fixed: Table::fixed(
        &Shares::new(
            6,
            [
                4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
            ],
        ),
        &LITERALS_MEANING,
    ),
    max_log: 9,
    symbols: 36,
};
static OFFSETS: Kind = Kind {
    meaning: OFFSETS_MEANING,
    fixed: Table::fixed(
        &Shares::new(
            5,
            [
                1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
            ],
        ),
        &OFFSETS_MEANING,
    ),
    max_log: 8,
    symbols: 32,
};
static MATCHES: Kind = Kind {
    meaning: MATCHES_MEANING,
    fixed: Table::fixed(
        &Shares::new(
            6,
            [
                1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
            ],
        ),
        &MATCHES_MEANING,
    ),
    max_log: 9,
    symbols: 53,
};

/// A table that may be used again by the next block.
#[derive(Debug)]
struct Kept {
    table: Table,
    is_set: bool,
}

impl Default for Kept {
    fn default() -> Self {
        Kept {
            table: Table::EMPTY,
            is_set: false,
        }
    }
}

const TRUNCATED: Error = Error::Truncated {
    what: "the sequences of a block",
};

impl Kept {
    fn read<'s>(&mut self, mode: u8, kind: &Kind, src: &'s [u8]) -> Result<&'s [u8], Error> {
        let was_set = std::mem::replace(&mut self.is_set, false);
        let rest = match mode & 3 {
            0 => {
                self.table.set(&kind.fixed);
                src
            }
            1 => {
                let (&symbol, rest) = src.split_first().ok_or(TRUNCATED)?;
                if usize::from(symbol) >= kind.symbols {
                    return Err(Error::Sequences { why: "unknown symbol" });
                }
                self.table.set_single(kind.meaning[usize::from(symbol & 63)]);
                rest
            }
            2 => {
                let (shares, rest) = Shares::read(src, kind.max_log, kind.symbols)?;
                self.table.build(&shares, &kind.meaning);
                rest
            }
            _ if was_set => src,
            _ => return Err(Error::Sequences { why: "no earlier table" }),
        };
        self.is_set = true;
        Ok(rest)
    }
}

/// The offsets used last, the latest first.
#[derive(Debug, Clone, Copy)]
struct Recent([usize; 3]);

impl Recent {
    /// The offset that a written value means.
    #[inline(always)]
    fn resolve(&mut self, value: usize, no_literals: bool) -> usize {
        let [a, b, c] = self.0;
        if value > 3 {
            self.0 = [value - 3, a, b];
            return value - 3;
        }
        match value + usize::from(no_literals) {
            1 => {}
            2 => self.0 = [b, a, c],
            3 => self.0 = [c, a, b],
            // An offset of 0 is refused where it is used.
            _ => self.0 = [a.wrapping_sub(1), a, b],
        }
        self.0[0]
    }
}

/// Tables and offsets that stay from block to block.
#[derive(Debug)]
pub(crate) struct Sequences {
    literals: Kept,
    offsets: Kept,
    matches: Kept,
    recent: Recent,
}

impl Default for Sequences {
    fn default() -> Self {
        Sequences {
            literals: Kept::default(),
            offsets: Kept::default(),
            matches: Kept::default(),
            recent: Recent([1, 4, 8]),
        }
    }
}

/// Where a block goes.
pub(crate) struct Target<'o> {
    /// The output with slack.
    pub(crate) out: &'o mut [u8],
    /// Where the frame starts.
    pub(crate) start: usize,
    /// Where the block starts.
    pub(crate) at: usize,
    /// Where the block has to end at the latest.
    pub(crate) end: usize,
}

/// Why a block does not fit into its target.
const OVERFLOW: Error = Error::Sequences {
    why: "more output than a block may have",
};

impl Sequences {
    /// Forgets tables and offsets, for a new frame.
    pub(crate) fn forget(&mut self) {
        self.literals.is_set = false;
        self.offsets.is_set = false;
        self.matches.is_set = false;
        self.recent = Recent([1, 4, 8]);
    }

    /// Reads the section and carries it out; returns where the block ends in the output.
    pub(crate) fn run(&mut self, src: &[u8], literals: &Literals, target: Target<'_>) -> Result<usize, Error> {
        let (count, rest) = read_count(src)?;
        if count == 0 {
            if !rest.is_empty() {
                return Err(Error::Sequences {
                    why: "data behind the last",
                });
            }
            return finish(literals, 0, target.out, target.at, target.end);
        }
        let (&modes, rest) = rest.split_first().ok_or(TRUNCATED)?;
        if modes & 3 != 0 {
            return Err(Error::Reserved {
                what: "the modes of tables",
            });
        }
        let rest = self.literals.read(modes >> 6, &LITERALS, rest)?;
        let rest = self.offsets.read(modes >> 4, &OFFSETS, rest)?;
        let rest = self.matches.read(modes >> 2, &MATCHES, rest)?;
        let bits = Reverse::new(rest).ok_or(Error::Sequences { why: "no end mark" })?;
        self.execute(count, bits, literals, target)
    }

    fn execute(&mut self, count: usize, mut bits: Reverse<'_>, literals: &Literals, target: Target<'_>) -> Result<usize, Error> {
        let Target { out, start, mut at, end } = target;
        let (lits, lit_count) = (literals.with_slack(), literals.count());
        let (literal_table, offset_table, match_table) = (&self.literals.table, &self.offsets.table, &self.matches.table);
        let mut recent = self.recent;
        let mut taken = 0;
        bits.refill();
        let mut literal_state = bits.take(literal_table.log()) as usize;
        let mut offset_state = bits.take(offset_table.log()) as usize;
        let mut match_state = bits.take(match_table.log()) as usize;
        for left in (0..count).rev() {
            let literal = literal_table.cell(literal_state);
            let offset = offset_table.cell(offset_state);
            let matched = match_table.cell(match_state);
            bits.refill();
            let is_wide = offset.extra() + matched.extra() + literal.extra() > 30;
            let offset_value = offset.base() as usize + bits.take(offset.extra()) as usize;
            if is_wide {
                bits.refill();
            }
            let match_size = matched.base() as usize + bits.take(matched.extra()) as usize;
            let literal_size = literal.base() as usize + bits.take(literal.extra()) as usize;
            if left > 0 {
                if is_wide {
                    bits.refill();
                }
                // At most 9 + 9 + 8 bits.
                literal_state = literal.next() + bits.take(literal.bits()) as usize;
                match_state = matched.next() + bits.take(matched.bits()) as usize;
                offset_state = offset.next() + bits.take(offset.bits()) as usize;
            }
            let back = recent.resolve(offset_value, literal_size == 0);
            let middle = at + literal_size;
            if literal_size > lit_count - taken {
                return Err(Error::Sequences {
                    why: "more literals than there are",
                });
            }
            if middle + match_size > end {
                return Err(OVERFLOW);
            }
            // An offset of 0 wraps around here.
            if back.wrapping_sub(1) >= middle - start {
                return Err(Error::Offset {
                    offset: back as u64,
                    have: (middle - start) as u64,
                });
            }
            copy::copy_from(out, at, lits, taken, literal_size).ok_or(OVERFLOW)?;
            copy::repeat(out, middle, back, match_size).ok_or(OVERFLOW)?;
            taken += literal_size;
            at = middle + match_size;
        }
        if !bits.is_done() {
            return Err(Error::Sequences {
                why: "bits left over or missing",
            });
        }
        self.recent = recent;
        finish(literals, taken, out, at, end)
    }
}

/// Appends the literals behind the last sequence.
fn finish(literals: &Literals, taken: usize, out: &mut [u8], at: usize, end: usize) -> Result<usize, Error> {
    let rest = literals.with_slack().get(taken..literals.count()).unwrap_or_default();
    let stop = at + rest.len();
    if stop > end {
        return Err(OVERFLOW);
    }
    out.get_mut(at..stop).ok_or(OVERFLOW)?.copy_from_slice(rest);
    Ok(stop)
}

/// Number of sequences: one to three bytes.
fn read_count(src: &[u8]) -> Result<(usize, &[u8]), Error> {
    match *src {
        [0xff, low, high, ref rest @ ..] => Ok((0x7f00 + usize::from(u16::from_le_bytes([low, high])), rest)),
        [first @ 0x80..=0xfe, low, ref rest @ ..] => Ok((usize::from(first - 0x80) << 8 | usize::from(low), rest)),
        [first @ 0..0x80, ref rest @ ..] => Ok((first.into(), rest)),
        _ => Err(TRUNCATED),
    }
}
