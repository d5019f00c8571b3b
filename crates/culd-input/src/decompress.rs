//! Decompression of fatbin payloads, bounded before anything is allocated.
//!
//! 1. Refuse a claimed size above [`LIMIT`], and one that the method cannot reach from so few bytes: both cost nothing to check.
//! 2. zstd: refuse a frame whose own header disagrees with the claim or asks for a window beyond reason.
//! 3. Decompress into a buffer of exactly the claimed size; more or fewer bytes are an error.

use ruzstd::decoding::FrameDecoder;
use std::cell::RefCell;

/// Largest payload that is decompressed.
pub const LIMIT: u64 = 2 << 30;
/// Largest zstd window; fatbinary uses 8 MiB at most.
const WINDOW_LIMIT: u64 = 64 << 20;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Compression method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// One LZ4 block without a frame.
    Lz4,
    /// One zstd frame.
    Zstd,
}

impl Method {
    /// Most output bytes that one input byte can stand for: an LZ4 length byte adds 255; a zstd RLE block turns 4 bytes into 128 KiB.
    fn ratio(self) -> u64 {
        match self {
            Method::Lz4 => 255,
            Method::Zstd => 32 * 1024,
        }
    }
}

/// Why a payload cannot be decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// Larger than anything sensible.
    #[error("claims {claimed} bytes after decompression, more than the limit of {LIMIT}")]
    TooLarge {
        /// Claimed size.
        claimed: u64,
    },
    /// The method cannot produce so much from so little.
    #[error("claims {claimed} bytes after decompression, {have} compressed bytes cannot hold that many")]
    Impossible {
        /// Claimed size.
        claimed: u64,
        /// Compressed bytes.
        have: u64,
    },
    /// The stream is broken.
    #[error("compressed bytes are damaged: {0}")]
    Damaged(String),
    /// The stream ends with another size than claimed.
    #[error("decompression gives {got} bytes, {claimed} were claimed")]
    Size {
        /// Claimed size.
        claimed: u64,
        /// Size reached.
        got: u64,
    },
}

/// Decompresses `input` to exactly `claimed` bytes.
pub fn decompress(method: Method, input: &[u8], claimed: u64) -> Result<Vec<u8>, DecompressError> {
    let have = input.len() as u64;
    if claimed > LIMIT {
        return Err(DecompressError::TooLarge { claimed });
    }
    if claimed > have.saturating_add(1).saturating_mul(method.ratio()) {
        return Err(DecompressError::Impossible { claimed, have });
    }
    if method == Method::Zstd {
        check_frame(input, claimed)?;
    }
    let mut output = vec![0; claimed as usize];
    let got = match method {
        Method::Lz4 => lz4_flex::block::decompress_into(input, &mut output).map_err(|e| DecompressError::Damaged(e.to_string()))?,
        Method::Zstd => zstd(input, &mut output)?,
    };
    if got as u64 != claimed {
        return Err(DecompressError::Size { claimed, got: got as u64 });
    }
    Ok(output)
}

fn zstd(input: &[u8], output: &mut [u8]) -> Result<usize, DecompressError> {
    thread_local! {
        /// One decoder per thread: its tables are costly to set up for payloads of a few kilobytes.
        static DECODER: RefCell<FrameDecoder> = RefCell::new(FrameDecoder::new());
    }
    DECODER.with_borrow_mut(|decoder| {
        decoder
            .decode_all(input, output)
            .map_err(|e| DecompressError::Damaged(e.to_string()))
    })
}

/// Checks magic, window and content size of a zstd frame against the claim.
fn check_frame(input: &[u8], claimed: u64) -> Result<(), DecompressError> {
    let damaged = |what: &str| DecompressError::Damaged(what.to_owned());
    let rest = input.strip_prefix(&ZSTD_MAGIC).ok_or_else(|| damaged("no zstd magic"))?;
    let (&descriptor, mut rest) = rest.split_first().ok_or_else(|| damaged("no frame header"))?;
    let single_segment = descriptor & 0x20 != 0;
    if !single_segment {
        let (&window, behind) = rest.split_first().ok_or_else(|| damaged("no window size"))?;
        let base = 1u64 << (10 + (window >> 3));
        let size = base + (base >> 3) * u64::from(window & 7);
        if size > WINDOW_LIMIT {
            return Err(DecompressError::Damaged(format!("window of {size} bytes")));
        }
        rest = behind;
    }
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = match (descriptor >> 6, single_segment) {
        (0, false) => return Ok(()),
        (0, true) => 1,
        (1, _) => 2,
        (2, _) => 4,
        _ => 8,
    };
    let field = rest
        .get(dictionary..dictionary + content)
        .ok_or_else(|| damaged("no content size"))?;
    let mut number = [0; 8];
    number.iter_mut().zip(field).for_each(|(to, from)| *to = *from);
    // Two-byte sizes start at 256.
    let size = u64::from_le_bytes(number) + if content == 2 { 256 } else { 0 };
    if size != claimed {
        return Err(DecompressError::Size { claimed, got: size });
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// A zstd frame with one raw or RLE block, built by hand.
    fn frame(content: &[u8]) -> Vec<u8> {
        let mut out = ZSTD_MAGIC.to_vec();
        out.push(0xa0); // four-byte content size, single segment
        out.extend((content.len() as u32).to_le_bytes());
        let header = (content.len() as u32) << 3 | 1; // last block, raw
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(content);
        out
    }

    #[test]
    fn both_methods_give_back_the_bytes() {
        let text = b"abcabcabcabcabcabcabcabcabcabcabc".to_vec();
        let lz4 = lz4_flex::block::compress(&text);
        assert_eq!(decompress(Method::Lz4, &lz4, text.len() as u64).unwrap(), text);
        assert_eq!(decompress(Method::Zstd, &frame(&text), text.len() as u64).unwrap(), text);
    }

    #[test]
    fn a_claimed_terabyte_is_refused_at_once() {
        for method in [Method::Lz4, Method::Zstd] {
            assert_eq!(
                decompress(method, &[0; 64], 1 << 40),
                Err(DecompressError::TooLarge { claimed: 1 << 40 })
            );
            let error = decompress(method, &[0; 4], 1 << 30).unwrap_err();
            assert!(matches!(error, DecompressError::Impossible { .. }), "{error}");
        }
    }

    #[test]
    fn a_frame_that_disagrees_with_the_entry_is_refused() {
        let bytes = frame(b"hello");
        assert_eq!(
            decompress(Method::Zstd, &bytes, 6),
            Err(DecompressError::Size { claimed: 6, got: 5 })
        );
        let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0, 0];
        assert!(decompress(Method::Zstd, &window, 5).unwrap_err().to_string().contains("window"));
    }

    #[test]
    fn damaged_streams_are_errors() {
        let text = [b'x'; 300];
        let lz4 = lz4_flex::block::compress(&text);
        for cut in 0..lz4.len() {
            assert!(decompress(Method::Lz4, &lz4[..cut], 300).is_err());
        }
        let zstd = frame(&text);
        for cut in 0..zstd.len() {
            assert!(decompress(Method::Zstd, &zstd[..cut], 300).is_err());
        }
    }
}
