//! The literals section of a compressed block.
//!
//! 1. Two bits say how literals are stored: as they are, one byte repeated, with a new Huffman code, with the code of an earlier block.
//! 2. Two more say how wide the sizes are that follow, and for Huffman codes whether there are one or four streams.
//! 3. All kinds end up in one buffer, which has [`SLACK`] more bytes than are used, for copies in whole chunks.

use crate::error::Error;
use crate::huffman::Huffman;
use crate::output::SLACK;

/// Largest content of a block.
pub(crate) const BLOCK_MAX: usize = 128 << 10;

/// The literals of one block.
#[derive(Debug, Default)]
pub(crate) struct Literals {
    buffer: Vec<u8>,
    count: usize,
}

const TRUNCATED: Error = Error::Truncated {
    what: "the literals of a block",
};

/// First fields of the section.
struct Header {
    kind: u8,
    count: usize,
    packed: usize,
    four_streams: bool,
}

impl Header {
    fn read(src: &[u8]) -> Result<(Self, &[u8]), Error> {
        let first = *src.first().ok_or(TRUNCATED)?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        // Bytes of the header, bits before the sizes, bits of a size.
        let (bytes, skip, width) = match (kind < 2, format) {
            (true, 0 | 2) => (1, 3, 5),
            (true, 1) => (2, 4, 12),
            (true, _) => (3, 4, 20),
            (false, 0 | 1) => (3, 4, 10),
            (false, 2) => (4, 4, 14),
            (false, _) => (5, 4, 18),
        };
        let (head, rest) = src.split_at_checked(bytes).ok_or(TRUNCATED)?;
        let word = head.iter().rev().fold(0u64, |word, &byte| word << 8 | u64::from(byte)) >> skip;
        let count = (word & ((1 << width) - 1)) as usize;
        let packed = match kind {
            0 => count,
            1 => 1,
            _ => (word >> width) as usize,
        };
        let header = Header {
            kind,
            count,
            packed,
            four_streams: format != 0,
        };
        Ok((header, rest))
    }
}

impl Literals {
    /// The literals with [`SLACK`] bytes after them.
    pub(crate) fn with_slack(&self) -> &[u8] {
        self.buffer.get(..self.count + SLACK).unwrap_or_default()
    }

    /// Reads the section of a block of at most `block_max` bytes; returns what follows it.
    pub(crate) fn read<'s>(&mut self, src: &'s [u8], block_max: usize, code: &mut Huffman) -> Result<&'s [u8], Error> {
        let (header, rest) = Header::read(src)?;
        if header.count > block_max {
            return Err(Error::BlockSize {
                size: header.count as u64,
                limit: block_max as u64,
            });
        }
        let (packed, rest) = rest.split_at_checked(header.packed).ok_or(TRUNCATED)?;
        if self.buffer.is_empty() {
            self.buffer = vec![0; BLOCK_MAX + SLACK];
        }
        self.count = header.count;
        let out = self.buffer.get_mut(..header.count).ok_or(TRUNCATED)?;
        match header.kind {
            0 => out.copy_from_slice(packed),
            1 => out.fill(packed.first().copied().unwrap_or_default()),
            kind => {
                let packed = match kind {
                    2 => code.read(packed)?,
                    _ if code.is_set() => packed,
                    _ => return Err(Error::Huffman { why: "no earlier code" }),
                };
                if header.four_streams {
                    code.four(packed, out)?;
                } else {
                    code.one(packed, out)?;
                }
            }
        }
        Ok(rest)
    }
}
