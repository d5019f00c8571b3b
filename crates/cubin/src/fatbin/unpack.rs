//! Unpacking of an entry's data with a hard bound.
//!
//! 1. Refuse a claimed size above the caller's limit, or above what the stored bytes can hold at the format's best ratio.
//! 2. zstd: refuse a frame whose window is much larger than the claimed size, because the decoder keeps a window's worth of output.
//! 3. Unpack at most one byte more than claimed; anything but exactly the claimed size is an error.

use super::{Compression, Entry, FatbinError};
use crate::codec::CodecError;
use ruzstd::decoding::StreamingDecoder;
use std::borrow::Cow;
use std::io::Read;

/// A limit for callers without an opinion: 4 GiB.
pub const DEFAULT_LIMIT: u64 = 1 << 32;

/// An LZ4 block cannot hold more than this many times its size.
const LZ4_RATIO: u64 = 255;
/// A zstd block of four bytes can stand for 128 KiB.
const ZSTD_RATIO: u64 = 128 * 1024 / 4;
/// Windows up to this size are accepted whatever the claimed size is.
const ZSTD_WINDOW: u64 = 8 << 20;
/// Memory is taken in steps once a claim is larger than this.
const FIRST_ALLOCATION: u64 = 64 << 20;

pub(super) fn unpack<'d>(entry: &Entry<'d>, limit: u64) -> Result<Cow<'d, [u8]>, FatbinError> {
    let have = entry.stored.len();
    let compression = entry.compression();
    let need = match (compression, entry.header.compressed_size.get()) {
        (Compression::Stored, _) | (_, 0) => entry.header.stored_size.get(),
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
        _ => zstd(packed, claimed),
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

fn zstd(packed: &[u8], claimed: u64) -> Result<Vec<u8>, String> {
    let window = window_size(packed).ok_or("zstd: frame header is not complete")?;
    if window > ZSTD_WINDOW.max(claimed.saturating_mul(2)) {
        return Err(format!("zstd: window of {window} bytes for {claimed} bytes of data"));
    }
    let decoder = StreamingDecoder::new(packed).map_err(|e| format!("zstd: {e}"))?;
    let mut out = Vec::with_capacity(claimed.min(FIRST_ALLOCATION) as usize);
    decoder.take(claimed + 1).read_to_end(&mut out).map_err(|e| format!("zstd: {e}"))?;
    if out.len() as u64 != claimed {
        let size = if out.len() as u64 > claimed {
            "more".into()
        } else {
            out.len().to_string()
        };
        return Err(format!("zstd frame holds {size} bytes instead of {claimed}"));
    }
    Ok(out)
}

/// Window size that a frame header asks for.
fn window_size(frame: &[u8]) -> Option<u64> {
    let [descriptor, second] = *frame.get(4..)?.first_chunk::<2>()?;
    if descriptor & 0x20 == 0 {
        let base = 1u64 << (10 + (second >> 3));
        return Some(base + base / 8 * u64::from(second & 7));
    }
    // A single segment: the content size stands in for the window.
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied()?;
    let size = 1usize << (descriptor >> 6);
    let bytes = frame.get(5 + dictionary..)?.get(..size)?;
    let value = bytes.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
    Some(if size == 2 { value + 256 } else { value })
}
