//! Unpacking of an entry's data with a hard bound.
//!
//! 1. Refuse a claimed size above the caller's limit, or above what the stored bytes can hold at the format's best ratio.
//! 2. Unpack into memory of the claimed size, new or the caller's; anything but exactly that size is an error.
//!
//! nvlink takes several zstd frames and skippable ones in a row, and refuses data after them, wrong checksums, and windows of 4 GiB and
//! more.

use super::{Compression, Entry, FatbinError};
use crate::codec::CodecError;

/// A limit for callers without an opinion: 4 GiB.
pub const DEFAULT_LIMIT: u64 = 1 << 32;

/// An LZ4 block cannot hold more than this many times its size.
const LZ4_RATIO: u64 = 255;
/// A zstd block of four bytes can represent 128 KiB.
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
    /// The part that is wanted, for members of groups.
    part: Option<(usize, usize)>,
}

pub(super) fn content<'d>(entry: &Entry<'d>, limit: u64) -> Result<Content<'d>, FatbinError> {
    let have = entry.stored.len();
    let compression = entry.compression();
    let header = entry.group.unwrap_or(entry.header);
    let need = match (compression, header.compressed_size.get()) {
        (Compression::Stored, _) | (Compression::Lz4, 0) => header.stored_size.get(),
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
        Compression::Stored => return part(entry, packed.len()).map(|p| Content::Plain(slice(packed, p))),
        Compression::Lz4 => LZ4_RATIO,
        Compression::Zstd => ZSTD_RATIO,
    };
    let claimed = header.unpacked_size.get();
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
        part: part(entry, claimed as usize)?,
    }))
}

/// Where the image of a member is in the unpacked data of its group.
fn part(entry: &Entry<'_>, unpacked: usize) -> Result<Option<(usize, usize)>, FatbinError> {
    if entry.group.is_none() {
        return Ok(None);
    }
    let start = entry.header.header_size.get() as usize;
    let size = usize::try_from(entry.header.stored_size.get()).unwrap_or(usize::MAX);
    match start.checked_add(size).is_some_and(|end| end <= unpacked) {
        true => Ok(Some((start, size))),
        false => Err(FatbinError::Unpack {
            offset: entry.offset,
            reason: format!("a member of {size} bytes at {start} is not within the {unpacked} bytes of its group"),
        }),
    }
}

fn slice(bytes: &[u8], part: Option<(usize, usize)>) -> &[u8] {
    match part {
        Some((start, size)) => bytes.get(start..).and_then(|b| b.get(..size)).unwrap_or_default(),
        None => bytes,
    }
}

impl Packed<'_> {
    /// Bytes that it unpacks to, if it is sound.
    pub fn size(&self) -> usize {
        self.part.map_or(self.size, |(_, size)| size)
    }

    /// Unpacks.
    pub fn unpack(&self) -> Result<Vec<u8>, FatbinError> {
        if self.part.is_some() {
            let group = Packed { part: None, ..*self }.unpack()?;
            return Ok(slice(&group, self.part).to_vec());
        }
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
        if self.part.is_some() {
            let member = self.unpack()?;
            if member.len() != place.len() {
                return Err(self.bad(format!("a member has {} bytes instead of {}", member.len(), place.len())));
            }
            place.copy_from_slice(&member);
            return Ok(());
        }
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
