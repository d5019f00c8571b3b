//! Unpacking of an entry's data with a hard bound.
//!
//! 1. Refuse a claimed size above the caller's limit, or above what the stored bytes can hold at the format's best ratio.
//! 2. Unpack into memory of the claimed size, new or the caller's; anything but exactly that size is an error.
//!
//! nvlink takes several zstd frames and skippable ones in a row, and refuses data behind them, wrong checksums, and windows of 4 GiB and
//! more.

use super::{Compression, Entry, FatbinError};
use crate::codec::CodecError;

/// A limit for callers without an opinion: 4 GiB.
pub const DEFAULT_LIMIT: u64 = 1 << 32;

/// An LZ4 block cannot hold more than this many times its size.
const LZ4_RATIO: u64 = 255;
/// A zstd block of four bytes can stand for 128 KiB.
const ZSTD_RATIO: u64 = 128 * 1024 / 4;

/// Data of an entry.
#[derive(Debug, Clone, Copy)]
pub enum Content<'d> {
    /// As it is stored.
    Plain(&'d [u8]),
    /// It has to be unpacked.
    Packed(Packed<'d>),
}

/// Compressed data of an entry; the size that it claims to unpack to is within the limit.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'d> {
    offset: usize,
    compression: Compression,
    packed: &'d [u8],
    size: usize,
}

pub(super) fn content<'d>(entry: &Entry<'d>, limit: u64) -> Result<Content<'d>, FatbinError> {
    let have = entry.stored.len();
    let compression = entry.compression();
    let need = match (compression, entry.header.compressed_size.get()) {
        (Compression::Stored, _) | (Compression::Lz4, 0) => entry.header.stored_size.get(),
        (_, size) => size.into(),
    };
    let packed = usize::try_from(need)
        .ok()
        .and_then(|n| entry.stored.get(..n))
        .ok_or(CodecError::Truncated {
            what: "data of an entry",
            offset: entry.offset,
            need,
            have,
        })?;
    let ratio = match compression {
        Compression::Stored => return Ok(Content::Plain(packed)),
        Compression::Lz4 => LZ4_RATIO,
        Compression::Zstd => ZSTD_RATIO,
    };
    let claimed = entry.header.unpacked_size.get();
    let possible = (packed.len() as u64).saturating_mul(ratio);
    let limit = limit.min(possible).min(isize::MAX as u64);
    if claimed > limit {
        return Err(FatbinError::TooLarge {
            offset: entry.offset,
            stored: packed.len(),
            claimed,
            limit,
        });
    }
    Ok(Content::Packed(Packed {
        offset: entry.offset,
        compression,
        packed,
        size: claimed as usize,
    }))
}

impl Packed<'_> {
    /// Bytes that it unpacks to, if it is sound.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Unpacks.
    pub fn unpack(&self) -> Result<Vec<u8>, FatbinError> {
        match self.compression {
            Compression::Zstd => culd_zstd::decompress_exact(self.packed, self.size).map_err(|error| self.bad_zstd(error)),
            _ => {
                let mut out = vec![0; self.size];
                self.unpack_into(&mut out).map(|()| out)
            }
        }
    }

    /// Unpacks into memory of the right size.
    pub fn unpack_into(&self, place: &mut [u8]) -> Result<(), FatbinError> {
        match self.compression {
            Compression::Zstd => culd_zstd::decompress_into(self.packed, place).map_err(|error| self.bad_zstd(error)),
            _ => match lz4_flex::block::decompress_into(self.packed, place) {
                Ok(size) if size == self.size => Ok(()),
                Ok(size) => Err(self.bad(format!("LZ4 block holds {size} bytes instead of {}", self.size))),
                Err(error) => Err(self.bad(format!("LZ4: {error}"))),
            },
        }
    }

    fn bad_zstd(&self, error: culd_zstd::Error) -> FatbinError {
        self.bad(match error {
            culd_zstd::Error::Size { have, want } => format!("zstd data holds {have} bytes instead of {want}"),
            culd_zstd::Error::TooLong { limit } => format!("zstd data holds more than {limit} bytes"),
            error => format!("zstd: {error}"),
        })
    }

    fn bad(&self, reason: String) -> FatbinError {
        FatbinError::Unpack {
            offset: self.offset,
            reason,
        }
    }
}
