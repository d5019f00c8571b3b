//! Huffman codes of literals.
//!
//! 1. Weights of the symbols come as nibbles or through a state machine ([`read_weights`]); the weight of the last symbol is what makes
//!    the code complete.
//! 2. A symbol of weight `w` takes `1 << (w - 1)` places of the code, symbols of small weight first. The table is always indexed with
//!    [`LOG`] bits, so that an index cannot be outside.
//! 3. One stream is read symbol by symbol; four streams are read in turns, because their chains of dependent loads then overlap. After
//!    a refill there are bits for five symbols.

use crate::bits::Reverse;
use crate::error::Error;
use crate::fse::{Cell, Meaning, Shares, Table};

/// Longest code.
const LOG: u32 = 11;
const SIZE: usize = 1 << LOG;
/// Symbols per refill: 5 × 11 bits are at most 56.
const TURN: usize = 5;
/// Entries that are written at once.
const CHUNK: usize = 8;

/// The code: for each possible [`LOG`] bits the symbol in the high byte and the length of its code in the low one.
#[derive(Debug, Clone)]
pub(crate) struct Huffman {
    /// The entries, and a place for chunks that go beyond the last.
    entries: [u16; SIZE + CHUNK],
    is_set: bool,
    /// The state machine of weights.
    weights: Table,
}

impl Default for Huffman {
    fn default() -> Self {
        Huffman {
            entries: [0; SIZE + CHUNK],
            is_set: false,
            weights: Table::EMPTY,
        }
    }
}

/// Weights of the symbols.
struct Weights {
    list: [u8; 256],
    count: usize,
}

impl Weights {
    fn push(&mut self, weight: u8) -> Result<(), Error> {
        // The last of 256 symbols is not written.
        let place = self.list.get_mut(..255).and_then(|list| list.get_mut(self.count));
        *place.ok_or(Error::Huffman { why: "too many symbols" })? = weight;
        self.count += 1;
        Ok(())
    }
}

/// Weights as symbols of a state machine.
const WEIGHTS: Meaning = {
    let mut meaning = [Cell::of_value(0, 0); 64];
    let mut i = 0;
    while i < 64 {
        meaning[i] = Cell::of_value(i as u32, 0);
        i += 1;
    }
    meaning
};

/// Reads the written weights; returns what follows them.
fn read_weights<'s>(src: &'s [u8], table: &mut Table) -> Result<(Weights, &'s [u8]), Error> {
    const TRUNCATED: Error = Error::Truncated { what: "a Huffman code" };
    let (&head, src) = src.split_first().ok_or(TRUNCATED)?;
    let mut weights = Weights { list: [0; 256], count: 0 };
    if let Some(count) = head.checked_sub(127) {
        let count = usize::from(count);
        let (nibbles, rest) = src.split_at_checked(count.div_ceil(2)).ok_or(TRUNCATED)?;
        for (pair, byte) in weights.list.as_chunks_mut::<2>().0.iter_mut().zip(nibbles) {
            *pair = [byte >> 4, byte & 15];
        }
        weights.count = count;
        return Ok((weights, rest));
    }
    let (coded, rest) = src.split_at_checked(head.into()).ok_or(TRUNCATED)?;
    let (shares, stream) = Shares::read(coded, 6, LOG as usize + 1)?;
    table.build(&shares, &WEIGHTS);
    coded_weights(table, stream, &mut weights)?;
    Ok((weights, rest))
}

/// Two state machines take turns until the bits run out; the one that is not out of bits gives one symbol more.
fn coded_weights(table: &Table, stream: &[u8], weights: &mut Weights) -> Result<(), Error> {
    let mut bits = Reverse::new(stream).ok_or(Error::Huffman {
        why: "weights without end mark",
    })?;
    let mut first = bits.take(table.log()) as usize;
    let mut second = bits.take(table.log()) as usize;
    if bits.is_overrun() {
        return Err(Error::Truncated { what: "Huffman weights" });
    }
    let mut push = |weight: u32| weights.push(weight as u8);
    loop {
        bits.refill();
        // A step takes up to 6 bits.
        for _ in 0..4 {
            let cell = table.cell(first);
            push(cell.base())?;
            first = cell.next() + bits.take(cell.bits()) as usize;
            if bits.is_overrun() {
                return push(table.cell(second).base());
            }
            let cell = table.cell(second);
            push(cell.base())?;
            second = cell.next() + bits.take(cell.bits()) as usize;
            if bits.is_overrun() {
                return push(table.cell(first).base());
            }
        }
    }
}

impl Huffman {
    /// Forgets the code, for a new frame.
    pub(crate) fn forget(&mut self) {
        self.is_set = false;
    }

    /// True when there is a code that a later block may use again.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set
    }

    /// Reads a code; returns what follows it.
    pub(crate) fn read<'s>(&mut self, src: &'s [u8]) -> Result<&'s [u8], Error> {
        self.is_set = false;
        let (weights, rest) = read_weights(src, &mut self.weights)?;
        self.build(weights)?;
        self.is_set = true;
        Ok(rest)
    }

    fn build(&mut self, mut weights: Weights) -> Result<(), Error> {
        let mut ranks = [0u32; 16];
        for &weight in weights.list.iter().take(weights.count) {
            ranks[usize::from(weight & 15)] += 1;
            if u32::from(weight) > LOG {
                return Err(Error::Huffman { why: "weight too large" });
            }
        }
        let sum: u32 = (1..=LOG).map(|weight| ranks[weight as usize & 15] << (weight - 1)).sum();
        let Some(log) = sum.checked_ilog2().map(|log| log + 1).filter(|&log| log <= LOG) else {
            return Err(Error::Huffman {
                why: "codes too long, or none",
            });
        };
        let missing = (1 << log) - sum;
        if !missing.is_power_of_two() {
            return Err(Error::Huffman {
                why: "code is not complete",
            });
        }
        let last = missing.ilog2() + 1;
        weights.list[weights.count & 255] = last as u8;
        ranks[last as usize & 15] += 1;
        if ranks[1] < 2 {
            return Err(Error::Huffman {
                why: "no code of full length",
            });
        }
        self.fill(&weights, &ranks, log);
        Ok(())
    }

    /// Fills the entries in order, so that a chunk may go beyond the range of its symbol.
    fn fill(&mut self, weights: &Weights, ranks: &[u32; 16], log: u32) {
        // Symbols by weight; those without a code are put after the others.
        let mut order = [0u8; 512];
        let mut starts = [0usize; 16];
        starts[0] = 256;
        for weight in 1..=LOG as usize {
            starts[(weight + 1) & 15] = starts[weight & 15] + ranks[weight & 15] as usize;
        }
        for (symbol, &weight) in weights.list.iter().enumerate().take(weights.count + 1) {
            let start = &mut starts[usize::from(weight & 15)];
            order[*start & 511] = symbol as u8;
            *start += 1;
        }
        let mut symbols = order.iter();
        let mut at = 0;
        for weight in 1..=log {
            // Ranges of a table of `log` bits in the one of `LOG` bits.
            let size = 1usize << ((LOG - log + weight - 1) & 15);
            for &symbol in symbols.by_ref().take(ranks[weight as usize & 15] as usize) {
                let entry = u16::from(symbol) << 8 | (log + 1 - weight) as u16;
                let end = at + size;
                while at < end
                    && let Some(chunk) = self.entries.get_mut(at..).and_then(<[u16]>::first_chunk_mut)
                {
                    *chunk = [entry; CHUNK];
                    at += CHUNK;
                }
                at = end;
            }
        }
    }

    #[inline(always)]
    fn symbol(&self, bits: &mut Reverse<'_>) -> u8 {
        let entry = self.entries[bits.top::<LOG>()];
        bits.skip(u32::from(entry & 0xff));
        (entry >> 8) as u8
    }

    /// Decodes the rest of a stream, which has to end with `out`.
    fn stream(&self, mut bits: Reverse<'_>, out: &mut [u8]) -> Result<(), Error> {
        let (turns, rest) = out.as_chunks_mut::<TURN>();
        for turn in turns {
            bits.refill();
            for place in turn {
                *place = self.symbol(&mut bits);
            }
        }
        bits.refill();
        for place in rest {
            *place = self.symbol(&mut bits);
        }
        if bits.is_done() {
            Ok(())
        } else {
            Err(Error::Huffman {
                why: "a stream has another size than its symbols",
            })
        }
    }

    /// Decodes one stream.
    pub(crate) fn one(&self, src: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.stream(reader(src)?, out)
    }

    /// Decodes four streams, each of which has a quarter of the output, rounded up but for the last.
    pub(crate) fn four(&self, src: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let this = self;
        dispatch_bmi!(Huffman::four_streams as (this: &Huffman, src: &[u8], out: &mut [u8]) -> Result<(), Error>)
    }

    #[inline(always)]
    fn four_streams(&self, src: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let [mut a, mut b, mut c, mut d] = split_streams(src)?;
        let quarter = out.len().div_ceil(4);
        let mut rest = out;
        let mut next = || {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut_checked(quarter)?;
            rest = tail;
            Some(part)
        };
        let (Some(out_a), Some(out_b), Some(out_c)) = (next(), next(), next()) else {
            return Err(Error::Literals {
                why: "too few for four streams",
            });
        };
        let out_d = rest;
        let turns = out_a.as_chunks_mut::<TURN>().0.iter_mut();
        let turns = turns.zip(out_b.as_chunks_mut::<TURN>().0).zip(out_c.as_chunks_mut::<TURN>().0);
        let turns = turns.zip(out_d.as_chunks_mut::<TURN>().0);
        let mut done = 0;
        for (((turn_a, turn_b), turn_c), turn_d) in turns {
            // A refill that cannot be done changes nothing, and one too many does no harm.
            if !(a.refill_whole() & b.refill_whole() & c.refill_whole() & d.refill_whole()) {
                break;
            }
            for i in 0..TURN {
                turn_a[i] = self.symbol(&mut a);
                turn_b[i] = self.symbol(&mut b);
                turn_c[i] = self.symbol(&mut c);
                turn_d[i] = self.symbol(&mut d);
            }
            done += TURN;
        }
        for (bits, out) in [(a, out_a), (b, out_b), (c, out_c), (d, out_d)] {
            self.stream(bits, out.get_mut(done..).unwrap_or_default())?;
        }
        Ok(())
    }
}

fn reader(src: &[u8]) -> Result<Reverse<'_>, Error> {
    Reverse::new(src).ok_or(Error::Huffman {
        why: "a stream without end mark",
    })
}

/// The streams: three sizes of 16 bits come first, the last stream takes the rest.
fn split_streams(src: &[u8]) -> Result<[Reverse<'_>; 4], Error> {
    const TRUNCATED: Error = Error::Truncated { what: "Huffman streams" };
    let (sizes, mut rest) = src.split_first_chunk::<6>().ok_or(TRUNCATED)?;
    let mut next = |size: [u8; 2]| {
        let (stream, tail) = rest.split_at_checked(u16::from_le_bytes(size).into()).ok_or(TRUNCATED)?;
        rest = tail;
        reader(stream)
    };
    let [a, b, c, d, e, f] = *sizes;
    Ok([next([a, b])?, next([c, d])?, next([e, f])?, reader(rest)?])
}
