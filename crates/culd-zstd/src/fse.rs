//! Finite state entropy: tables of state machines.
//!
//! 1. A description gives each symbol a share of the `1 << log` states; shares are written with as few bits as what is left allows, zeros
//!    in runs ([`Shares::read`]).
//! 2. Symbols of the share "less than one" take one state each from the top. The others are spread over the rest with a stride that
//!    reaches every place ([`Table::build`]).
//! 3. The states of a symbol, in order, divide the range of next states among themselves: `bits` bits are read and added to `next`.
//!
//! A cell holds all that a step needs: where to go, and for sequences the value that the symbol represents.

use crate::bits::Forward;
use crate::error::Error;

/// Largest number of states.
pub(crate) const MAX_STATES: usize = 512;

/// One state: bits 0 to 15 the first next state, 16 to 23 bits to read for it, 24 to 31 extra bits of the value, 32 to 63 its base.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cell(u64);

impl Cell {
    /// What a symbol represents: `base` and `extra` bits on top.
    pub(crate) const fn of_value(base: u32, extra: u8) -> Self {
        Cell((base as u64) << 32 | (extra as u64) << 24)
    }
    const fn with_next(self, next: u32, bits: u32) -> Self {
        Cell(self.0 | (next & 0xffff) as u64 | ((bits & 0xff) as u64) << 16)
    }
    /// A cell whose `bits` and `extra` are the sums of those of three cells. No field overflows: states are below 2^9, bits below 10, extra
    /// bits below 32.
    #[inline(always)]
    pub(crate) fn sum(self, other: Cell, third: Cell) -> Cell {
        Cell(self.0.wrapping_add(other.0).wrapping_add(third.0))
    }
    #[inline(always)]
    pub(crate) fn next(self) -> usize {
        (self.0 & 0xffff) as usize
    }
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        (self.0 >> 16) as u32 & 0xff
    }
    #[inline(always)]
    pub(crate) fn extra(self) -> u32 {
        (self.0 >> 24) as u32 & 0xff
    }
    #[inline(always)]
    pub(crate) fn base(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Shares of symbols in the states; -1 represents less than one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// Share of each symbol.
    share: [i16; 64],
    /// Number of symbols.
    count: usize,
    /// Logarithm of the number of states.
    log: u32,
}

impl Shares {
    /// Shares that add up to `1 << log`.
    pub(crate) const fn new<const N: usize>(log: u32, list: [i16; N]) -> Self {
        let mut share = [0; 64];
        let mut i = 0;
        while i < N {
            share[i & 63] = list[i];
            i += 1;
        }
        Shares { share, count: N, log }
    }

    /// Reads a description with at most `max_log` and `symbols` symbols; returns what follows it.
    pub(crate) fn read(src: &[u8], max_log: u32, symbols: usize) -> Result<(Self, &[u8]), Error> {
        let mut bits = Forward::new(src);
        let log = bits.take(4) + 5;
        if log > max_log {
            return Err(Error::Fse { why: "too many states" });
        }
        let mut shares = Shares {
            share: [0; 64],
            count: 0,
            log,
        };
        let mut left = 1i32 << log;
        while left > 0 {
            if shares.count >= symbols {
                return Err(Error::Fse { why: "too many symbols" });
            }
            // Values 0 to left + 1 are possible; the smallest ones are written with a bit less.
            let most = left as u32 + 1;
            let width = most.ilog2() + 1;
            let half = 1 << (width - 1);
            let short = (1 << width) - 1 - most;
            let value = bits.peek(width);
            let low = value & (half - 1);
            let value = if low < short {
                bits.skip(width - 1);
                low
            } else {
                bits.skip(width);
                if value >= half { value - short } else { value }
            };
            let share = value as i32 - 1;
            left -= share.abs();
            if let Some(place) = shares.share.get_mut(shares.count) {
                *place = share as i16;
            }
            shares.count += 1;
            // A zero is followed by the number of zeros after it, in steps of up to three.
            let mut zeros = if share == 0 { 3 } else { 0 };
            while zeros == 3 && shares.count <= symbols {
                zeros = bits.take(2);
                shares.count += zeros as usize;
            }
        }
        if left < 0 || shares.count > symbols {
            return Err(Error::Fse {
                why: "shares do not add up",
            });
        }
        let rest = bits.rest().ok_or(Error::Truncated { what: "an FSE table" })?;
        Ok((shares, rest))
    }
}

/// What symbols represent.
pub(crate) type Meaning = [Cell; 64];

/// The state machine of one kind of symbol.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    cells: [Cell; MAX_STATES],
    log: u32,
}

impl Table {
    /// A table without use.
    pub(crate) const EMPTY: Table = Table {
        cells: [Cell(0); MAX_STATES],
        log: 0,
    };

    /// Bits of the first state.
    pub(crate) fn log(&self) -> u32 {
        self.log
    }

    /// The cell of a state.
    #[inline(always)]
    pub(crate) fn cell(&self, state: usize) -> Cell {
        self.cells[state & (MAX_STATES - 1)]
    }

    /// One state that always gives the same symbol.
    pub(crate) fn set_single(&mut self, value: Cell) {
        self.log = 0;
        self.cells[0] = value;
    }

    /// Takes over another table.
    pub(crate) fn set(&mut self, table: &Table) {
        let states = 1 << (table.log & 15);
        self.log = table.log;
        for (to, from) in self.cells.iter_mut().zip(&table.cells).take(states) {
            *to = *from;
        }
    }

    /// Fills the table. Shares add up to `1 << log`, so every place is taken once; all places are masked, so no share can lead outside.
    pub(crate) const fn build(&mut self, shares: &Shares, meaning: &Meaning) {
        const MASK: usize = MAX_STATES - 1;
        let size = 1usize << (shares.log & 15);
        let mut symbols = [0u8; MAX_STATES];
        let mut next = [0u16; 64];
        let mut top = size;
        let mut symbol = 0;
        while symbol < shares.count {
            let share = shares.share[symbol & 63];
            if share < 0 {
                top = top.wrapping_sub(1);
                symbols[top & MASK] = symbol as u8;
                next[symbol & 63] = 1;
            } else {
                next[symbol & 63] = share as u16;
            }
            symbol += 1;
        }
        let stride = (size >> 1) + (size >> 3) + 3;
        let mut place = 0;
        symbol = 0;
        while symbol < shares.count {
            let mut left = shares.share[symbol & 63];
            while left > 0 {
                symbols[place & MASK] = symbol as u8;
                place = (place + stride) & (size - 1);
                while place >= top {
                    place = (place + stride) & (size - 1);
                }
                left -= 1;
            }
            symbol += 1;
        }
        let mut state = 0;
        while state < size {
            let symbol = symbols[state & MASK] as usize & 63;
            let order = next[symbol] as u32;
            next[symbol] = next[symbol].wrapping_add(1);
            let bits = shares.log.wrapping_sub(31 - (order | 1).leading_zeros()) & 15;
            self.cells[state & MASK] = meaning[symbol].with_next((order << bits).wrapping_sub(size as u32), bits);
            state += 1;
        }
        self.log = shares.log;
    }

    /// The table of constant shares.
    pub(crate) const fn fixed(shares: &Shares, meaning: &Meaning) -> Table {
        let mut table = Self::EMPTY;
        table.build(shares, meaning);
        table
    }
}
