//! The sequences section of a compressed block.
//!
//! 1. A number of sequences, then a byte with the mode of each of the three tables (literal lengths, offsets, match lengths): the fixed
//!    table, one symbol, a description, or the table of the block before.
//! 2. The first states are read, then for each sequence the extra bits of offset, match length and literal length, then the next
//!    states in the order literal length, match length, offset.
//! 3. Offsets 1 to 3 name one of the three offsets used last, shifted by one when there are no literals.
//! 4. A sequence copies literals, then repeats a part of the output. Literals that are left come last.
//!
//! Sequences are read in batches and then carried out: each of the two loops has few enough values to keep them in registers.

use crate::bits::Reverse;
use crate::copy;
use crate::error::Error;
use crate::fse::{Cell, Meaning, Shares, Table};
use crate::output::SLACK;
use std::hint::select_unpredictable;

/// The kinds of symbols.
struct Kind {
    meaning: Meaning,
    fixed: Table,
    max_log: u32,
    symbols: usize,
}

/// First values and extra bits of the codes that represent a range: `list` gives the bits of each code from `plain` on.
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
struct Recent([u32; 3]);

impl Recent {
    /// The offset that a written value means. Whether it is a recent one cannot be foreseen, so there are no branches.
    #[inline(always)]
    fn resolve(&mut self, value: u32, no_literals: bool) -> u32 {
        let [a, b, c] = self.0;
        let is_new = value > 3;
        // 1 to 3 are the recent ones, 4 is one less than the latest; an offset of 0 is refused where it is used.
        let which = value + u32::from(no_literals & !is_new);
        let old = select_unpredictable(which == 1, a, a.wrapping_sub(1));
        let old = select_unpredictable(which == 2, b, old);
        let old = select_unpredictable(which == 3, c, old);
        let offset = select_unpredictable(is_new, value.wrapping_sub(3), old);
        self.0 = [
            offset,
            select_unpredictable(which == 1, b, a),
            select_unpredictable(which <= 2, c, b),
        ];
        offset
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

/// Destination of a block.
pub(crate) struct Target<'o> {
    /// The output from the start of the frame to the latest end of the block, and [`SLACK`] bytes.
    pub(crate) out: &'o mut [u8],
    /// Where the block starts in it.
    pub(crate) at: usize,
}

/// Why a block does not fit into its target.
const OVERFLOW: Error = Error::Sequences {
    why: "more output than is possible",
};

impl Sequences {
    /// Forgets tables and offsets, for a new frame.
    pub(crate) fn forget(&mut self) {
        self.literals.is_set = false;
        self.offsets.is_set = false;
        self.matches.is_set = false;
        self.recent = Recent([1, 4, 8]);
    }

    /// Reads the section and carries it out with literals that have slack; returns where the block ends in the output.
    pub(crate) fn run(&mut self, src: &[u8], mut literals: &[u8], mut target: Target<'_>) -> Result<usize, Error> {
        let (mut count, rest) = read_count(src)?;
        if count == 0 {
            if !rest.is_empty() {
                return Err(Error::Sequences {
                    why: "data after the last",
                });
            }
            return finish(literals, target);
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
        let mut states = self.first_states(bits);
        let mut batch = [Step::default(); BATCH];
        while count > BATCH {
            self.read(&mut states, &mut batch);
            literals = carry_out(&batch, &mut self.recent, literals, &mut target)?;
            count -= BATCH;
        }
        if let Some((last, rest)) = batch.get_mut(..count).and_then(<[Step]>::split_last_mut) {
            self.read(&mut states, rest);
            *last = self.read_last(&mut states);
        }
        literals = carry_out(batch.get(..count).unwrap_or_default(), &mut self.recent, literals, &mut target)?;
        if !states.bits.is_done() {
            return Err(Error::Sequences {
                why: "bits left over or missing",
            });
        }
        finish(literals, target)
    }

    fn first_states<'s>(&self, mut bits: Reverse<'s>) -> States<'s> {
        bits.refill();
        let literal = bits.take(self.literals.table.log()) as usize;
        let offset = bits.take(self.offsets.table.log()) as usize;
        let matched = bits.take(self.matches.table.log()) as usize;
        States {
            literal,
            offset,
            matched,
            bits,
        }
    }

    /// Reads sequences, none of which is the last.
    fn read(&self, states: &mut States<'_>, steps: &mut [Step]) {
        let this = self;
        dispatch_bmi!(Sequences::read_steps as (this: &Sequences, states: &mut States<'_>, steps: &mut [Step]))
    }

    #[inline(always)]
    fn read_steps(&self, states: &mut States<'_>, steps: &mut [Step]) {
        let (literals, offsets, matches) = (&self.literals.table, &self.offsets.table, &self.matches.table);
        let mut now = *states;
        for step in steps {
            let literal = literals.cell(now.literal);
            let offset = offsets.cell(now.offset);
            let matched = matches.cell(now.matched);
            let sum = literal.sum(offset, matched);
            now.bits.refill();
            let mut total = sum.bits() + sum.extra();
            let mut offset_extra = 0;
            if total > 56 {
                // Without the offset there are at most 26 + 16 + 16. More than 56 of them mean two lengths above 64 KiB, which no block
                // can have: `carry_out` refuses them whatever the bits are.
                offset_extra = now.bits.take(offset.extra());
                now.bits.refill();
                total -= offset.extra();
            }
            let mut fields = Fields(now.bits.take(total));
            now.offset = offset.next() + fields.take(offset.bits());
            now.matched = matched.next() + fields.take(matched.bits());
            now.literal = literal.next() + fields.take(literal.bits());
            step.literals = literal.base() + fields.take(literal.extra()) as u32;
            step.matched = matched.base() + fields.take(matched.extra()) as u32;
            step.offset = offset.base().wrapping_add((fields.0 | offset_extra) as u32);
        }
        *states = now;
    }

    /// Reads the last sequence, which has no next states.
    fn read_last(&self, states: &mut States<'_>) -> Step {
        let literal = self.literals.table.cell(states.literal);
        let offset = self.offsets.table.cell(states.offset);
        let matched = self.matches.table.cell(states.matched);
        let mut value = |cell: Cell| {
            states.bits.refill();
            cell.base().wrapping_add(states.bits.take(cell.extra()) as u32)
        };
        let (offset, matched, literals) = (value(offset), value(matched), value(literal));
        Step { literals, matched, offset }
    }
}

/// Sequences that are read before they are carried out.
const BATCH: usize = 64;

/// One sequence.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    literals: u32,
    matched: u32,
    /// Offset as written.
    offset: u32,
}

/// The three state machines and the bits that drive them.
#[derive(Debug, Clone, Copy)]
struct States<'s> {
    literal: usize,
    offset: usize,
    matched: usize,
    bits: Reverse<'s>,
}

/// Bit fields, the last one lowest.
struct Fields(u64);

impl Fields {
    /// Takes the last field.
    #[inline(always)]
    fn take(&mut self, bits: u32) -> usize {
        let field = self.0 & ((1 << (bits & 63)) - 1);
        self.0 >>= bits & 63;
        field as usize
    }
}

/// Carries sequences out; returns the literals that are left.
#[inline(never)]
fn carry_out<'l>(steps: &[Step], recent: &mut Recent, mut literals: &'l [u8], target: &mut Target<'_>) -> Result<&'l [u8], Error> {
    let out = &mut *target.out;
    let mut at = target.at;
    let mut now = *recent;
    for step in steps {
        let (literal_size, match_size) = (step.literals as usize, step.matched as usize);
        let back = now.resolve(step.offset, literal_size == 0) as usize;
        let middle = at + literal_size;
        if literal_size + SLACK > literals.len() {
            return Err(Error::Sequences {
                why: "more literals than there are",
            });
        }
        if middle + match_size + SLACK > out.len() {
            return Err(OVERFLOW);
        }
        // An offset of 0 wraps around here.
        if back.wrapping_sub(1) >= middle {
            return Err(Error::Offset {
                offset: back as u64,
                have: middle as u64,
            });
        }
        copy::append(out, at, literals, literal_size).ok_or(OVERFLOW)?;
        copy::repeat(out, middle, back, match_size).ok_or(OVERFLOW)?;
        literals = literals.get(literal_size..).unwrap_or_default();
        at = middle + match_size;
    }
    target.at = at;
    *recent = now;
    Ok(literals)
}

/// Appends the literals after the last sequence.
fn finish(literals: &[u8], target: Target<'_>) -> Result<usize, Error> {
    let rest = literals.get(..literals.len().saturating_sub(SLACK)).unwrap_or_default();
    let end = target.at + rest.len();
    if end + SLACK > target.out.len() {
        return Err(OVERFLOW);
    }
    target.out.get_mut(target.at..end).ok_or(OVERFLOW)?.copy_from_slice(rest);
    Ok(end)
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
