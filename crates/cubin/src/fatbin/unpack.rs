//! Unpacking of an entry's data with a hard bound.
//!
//! 1. Refuse a claimed size above the caller's limit, or above what the stored bytes can hold at the format's best ratio.
//! 2. Unpack into a buffer of the claimed size; anything but exactly that size is an error.
//!
//! nvlink takes several zstd frames and skippable ones in a row, and refuses data behind them, wrong checksums, and windows of 4 GiB and
//! more.

use super::{Compression, Entry, FatbinError};
use crate::codec::CodecError;
use std::borrow::Cow;

/// A limit for callers without an opinion: 4 GiB.
pub const DEFAULT_LIMIT: u64 = 1 << 32;

/// An LZ4 block cannot hold more than this many times its size.
const LZ4_RATIO: u64 = 255;
/// A zstd block of four bytes can stand for 128 KiB.
const ZSTD_RATIO: u64 = 128 * 1024 / 4;

pub(super) fn unpack<'d>(entry: &Entry<'d>, limit: u64) -> Result<Cow<'d, [u8]>, FatbinError> {
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
    let (ratio, claimed) = match compression {
        Compression::Stored => return Ok(Cow::Borrowed(packed)),
        Compression::Lz4 => (LZ4_RATIO, entry.header.unpacked_size.get()),
        Compression::Zstd => (ZSTD_RATIO, entry.header.unpacked_size.get()),
    };
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
    let result = match compression {
        Compression::Lz4 => lz4(packed, claimed as usize),
        _ => zstd(packed, claimed as usize),
    };
    result.map(Cow::Owned).map_err(|reason| FatbinError::Unpack {
        offset: entry.offset,
        reason,
    })
}

fn lz4(packed: &[u8], claimed: usize) -> Result<Vec<u8>, String> {
    let mut out = vec![0; claimed];
    match lz4_flex::block::decompress_into(packed, &mut out) {
        Ok(size) if size == claimed => Ok(out),
        Ok(size) => Err(format!("LZ4 block holds {size} bytes instead of {claimed}")),
        Err(error) => Err(format!("LZ4: {error}")),
    }
}

fn zstd(packed: &[u8], claimed: usize) -> Result<Vec<u8>, String> {
    culd_zstd::decompress_exact(packed, claimed).map_err(|error| match error {
        culd_zstd::Error::Size { have, want } => format!("zstd data holds {have} bytes instead of {want}"),
        culd_zstd::Error::TooLong { limit } => format!("zstd data holds more than {limit} bytes"),
        error => format!("zstd: {error}"),
    })
}
