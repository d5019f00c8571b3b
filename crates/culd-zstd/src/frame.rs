//! Frames and blocks.
//!
//! 1. A frame starts with a magic and a descriptor, which says which of window, dictionary and content size follow.
//! 2. Blocks follow, each with a header of three bytes: last or not, kind, size.
//! 3. A checksum of the content follows when the descriptor says so.
//! 4. The content has to have the size that the header states.

use crate::error::Error;
use crate::huffman::Huffman;
use crate::literals::{BLOCK_MAX, Literals};
use crate::output::Output;
use crate::sequences::{Sequences, Target};
use crate::xxh64::xxh64;

/// First word of a frame.
const MAGIC: u32 = 0xfd2f_b528;
/// First word of a frame to pass over, without its lowest four bits.
const SKIPPABLE: u32 = 0x184d_2a50;

/// Windows of 2^32 bytes and more are refused, as the reference decoder does; nothing is allocated for a window.
const WINDOW_LOG_MAX: u32 = 31;

const TRUNCATED: Error = Error::Truncated { what: "a frame header" };

/// What the header of a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    window: u64,
    pub(crate) content_size: Option<u64>,
    has_checksum: bool,
}

/// A little-endian number of up to eight bytes from the front of `src`.
fn number<'s>(src: &mut &'s [u8], bytes: usize) -> Result<u64, Error> {
    let (head, rest): (&'s [u8], &'s [u8]) = src.split_at_checked(bytes).ok_or(TRUNCATED)?;
    *src = rest;
    Ok(head.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

impl Header {
    /// Reads the header at the start of `src`; returns what follows it.
    pub(crate) fn read(src: &[u8]) -> Result<(Self, &[u8]), Error> {
        let mut rest = src;
        let found = number(&mut rest, 4)? as u32;
        if found != MAGIC {
            return Err(Error::Magic { found });
        }
        let descriptor = number(&mut rest, 1)? as u8;
        if descriptor & 8 != 0 {
            return Err(Error::Reserved { what: "a frame header" });
        }
        let is_single = descriptor & 0x20 != 0;
        let mut window = 0;
        if !is_single {
            let byte = number(&mut rest, 1)?;
            let log = 10 + (byte >> 3) as u32;
            if log > WINDOW_LOG_MAX {
                return Err(Error::Window { log });
            }
            let base = 1u64 << log;
            window = base + base / 8 * (byte & 7);
        }
        let id = number(&mut rest, [0, 1, 2, 4][usize::from(descriptor & 3)])? as u32;
        if id != 0 {
            return Err(Error::Dictionary { id });
        }
        let content_size = match descriptor >> 6 {
            0 if !is_single => None,
            0 => Some(number(&mut rest, 1)?),
            1 => Some(number(&mut rest, 2)? + 256),
            2 => Some(number(&mut rest, 4)?),
            _ => Some(number(&mut rest, 8)?),
        };
        let header = Header {
            // A single segment: the content size replaces the window.
            window: if is_single { content_size.unwrap_or_default() } else { window },
            content_size,
            has_checksum: descriptor & 4 != 0,
        };
        Ok((header, rest))
    }
}

/// What follows a skippable frame at the start of `src`; `None` when there is none.
pub(crate) fn skippable(src: &[u8]) -> Result<Option<&[u8]>, Error> {
    let mut rest = src;
    if number(&mut rest, 4)? as u32 & !15 != SKIPPABLE {
        return Ok(None);
    }
    let size = number(&mut rest, 4)? as usize;
    let after = rest.get(size..).ok_or(Error::Truncated { what: "a skippable frame" })?;
    Ok(Some(after))
}

/// What stays from block to block.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    code: Huffman,
    literals: Literals,
    sequences: Sequences,
}

impl Blocks {
    /// Unpacks the blocks of a frame; returns what follows it.
    pub(crate) fn frame<'s>(&mut self, header: &Header, src: &'s [u8], out: &mut Output) -> Result<&'s [u8], Error> {
        const TRUNCATED: Error = Error::Truncated { what: "a block" };
        self.code.forget();
        self.sequences.forget();
        let start = out.len();
        let block_max = usize::try_from(header.window).unwrap_or(BLOCK_MAX).min(BLOCK_MAX);
        let mut rest = src;
        loop {
            let (&[a, b, c], body) = rest.split_first_chunk::<3>().ok_or(TRUNCATED)?;
            let word = u32::from_le_bytes([a, b, c, 0]);
            let size = (word >> 3) as usize;
            if size > block_max {
                return Err(Error::BlockSize {
                    size: size as u64,
                    limit: block_max as u64,
                });
            }
            let stored = if word >> 1 & 3 == 1 { 1 } else { size };
            let (body, after) = body.split_at_checked(stored).ok_or(TRUNCATED)?;
            match word >> 1 & 3 {
                0 => out.extend(body)?,
                1 => out.fill(body.first().copied().unwrap_or_default(), size)?,
                2 => self.block(body, block_max, start, out)?,
                _ => return Err(Error::Reserved { what: "a block header" }),
            }
            rest = after;
            if word & 1 != 0 {
                break;
            }
        }
        self.check(header, rest, out, start)
    }

    /// Unpacks a compressed block.
    fn block(&mut self, src: &[u8], block_max: usize, start: usize, out: &mut Output) -> Result<(), Error> {
        let rest = self.literals.read(src, block_max, &mut self.code)?;
        let allowed = block_max.min(out.left());
        let (bytes, at) = out.room(start, allowed);
        let size = self.sequences.run(rest, self.literals.with_slack(), Target { out: bytes, at })?;
        out.advance_to(start + size);
        Ok(())
    }

    /// Compares size and checksum of the content; returns what follows the frame.
    fn check<'s>(&self, header: &Header, src: &'s [u8], out: &Output, start: usize) -> Result<&'s [u8], Error> {
        let have = (out.len() - start) as u64;
        if let Some(want) = header.content_size.filter(|&want| want != have) {
            return Err(Error::Size { have, want });
        }
        if !header.has_checksum {
            return Ok(src);
        }
        let (&stored, rest) = src.split_first_chunk().ok_or(Error::Truncated { what: "a checksum" })?;
        let stored = u32::from_le_bytes(stored);
        let computed = xxh64(out.since(start)) as u32;
        if stored != computed {
            return Err(Error::Checksum { stored, computed });
        }
        Ok(rest)
    }
}
