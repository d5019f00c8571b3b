//! Why a frame is refused.

use std::fmt;

/// Why a frame is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The data ends too early.
    Truncated {
        /// Where it ends.
        what: &'static str,
    },
    /// The first word is not a frame's.
    Magic {
        /// First word.
        found: u32,
    },
    /// A reserved bit is set or a reserved value is used.
    Reserved {
        /// Where it is.
        what: &'static str,
    },
    /// The frame needs a dictionary.
    Dictionary {
        /// Number of the dictionary.
        id: u32,
    },
    /// The header asks for a window that no decoder has.
    Window {
        /// Logarithm of the size.
        log: u32,
    },
    /// The header claims more content than is allowed.
    TooLarge {
        /// Size that the header claims.
        claimed: u64,
        /// Largest size allowed.
        limit: u64,
    },
    /// The blocks hold more than is allowed.
    TooLong {
        /// Largest size allowed.
        limit: u64,
    },
    /// The content has another size than the header or the caller says.
    Size {
        /// Size that was found.
        have: u64,
        /// Size that is right.
        want: u64,
    },
    /// A block is larger than the format allows.
    BlockSize {
        /// Size of the block, or the size from which it was refused.
        size: u64,
        /// Largest size allowed.
        limit: u64,
    },
    /// Sizes of the literals section do not fit together.
    Literals {
        /// What does not fit.
        why: &'static str,
    },
    /// The Huffman code or its data is damaged.
    Huffman {
        /// What is wrong.
        why: &'static str,
    },
    /// The table of a state machine is damaged.
    Fse {
        /// What is wrong.
        why: &'static str,
    },
    /// The sequences are damaged.
    Sequences {
        /// What is wrong.
        why: &'static str,
    },
    /// A match starts before the content.
    Offset {
        /// Distance of the match.
        offset: u64,
        /// Bytes before it.
        have: u64,
    },
    /// The content does not have the checksum that the frame stores.
    Checksum {
        /// Stored.
        stored: u32,
        /// Computed.
        computed: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Truncated { what } => write!(f, "data ends in {what}"),
            Error::Magic { found } => write!(f, "not a zstd frame: first word is {found:#010x}"),
            Error::Reserved { what } => write!(f, "reserved value in {what}"),
            Error::Dictionary { id } => write!(f, "needs dictionary {id}"),
            Error::Window { log } => write!(f, "window of 2^{log} bytes or more"),
            Error::TooLarge { claimed, limit } => write!(f, "claims {claimed} bytes of content, at most {limit} are accepted"),
            Error::TooLong { limit } => write!(f, "holds more than {limit} bytes"),
            Error::Size { have, want } => write!(f, "holds {have} bytes instead of {want}"),
            Error::BlockSize { size, limit } => write!(f, "block of {size} bytes, at most {limit} are possible"),
            Error::Literals { why } => write!(f, "literals: {why}"),
            Error::Huffman { why } => write!(f, "Huffman code: {why}"),
            Error::Fse { why } => write!(f, "FSE table: {why}"),
            Error::Sequences { why } => write!(f, "sequences: {why}"),
            Error::Offset { offset, have } => write!(f, "match {offset} bytes back, where only {have} are"),
            Error::Checksum { stored, computed } => write!(f, "checksum is {computed:#010x} instead of {stored:#010x}"),
        }
    }
}

impl std::error::Error for Error {}
