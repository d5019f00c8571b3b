//! A one-shot decoder of zstd frames (RFC 8878) for many small frames of known size.
//!
//! 1. `frame`: the header is read; a content size above the caller's limit is refused before memory is allocated.
//! 2. The output is one vector. It has [`SLACK`] bytes more than the limit while blocks are unpacked, so that copies may write whole
//!    chunks; matches read from the vector itself, so there is no window to keep.
//! 3. A raw or RLE block is copied or filled. A compressed block has two sections:
//!    `literals` fills a buffer with bytes, by Huffman codes (`huffman`) or without;
//!    `sequences` reads triples of literal length, match length and offset (`fse`) and carries them out (`copy`).
//! 4. A checksum after the last block is compared with the output (`xxh64`).
//!
//! Tables and the literal buffer live in a [`Decoder`], so that a frame costs no allocation but its output. [`decompress`],
//! [`decompress_exact`] and [`decompress_into`] keep one decoder per thread.
//!
//! Nothing in a frame can make the decoder panic, run for longer than in proportion to the size of the frame and of the limit, or take
//! more memory than the limit, [`SLACK`] and the fixed tables.
#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[macro_use]
mod dispatch;

mod bits;
mod copy;
mod error;
mod frame;
mod fse;
mod huffman;
mod literals;
mod output;
mod sequences;
mod xxh64;

pub use error::Error;
pub use output::SLACK;

use frame::Blocks;
use output::Output;
use std::cell::RefCell;

/// Tables and buffers that are used for one frame after the other.
#[derive(Debug, Default)]
pub struct Decoder {
    blocks: Box<Blocks>,
    /// Memory of an earlier output.
    spare: Vec<u8>,
}

impl Decoder {
    /// A decoder; it can be used any number of times, also after errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Unpacks all frames of `src`, one after the other, to at most `limit` bytes. Skippable frames are passed over.
    pub fn decompress(&mut self, src: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
        Ok(self.frames(src, Output::new(limit))?.finish())
    }

    /// [`Decoder::decompress`] for content of a size that is known: anything but exactly `size` bytes is an error.
    pub fn decompress_exact(&mut self, src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        let want = size as u64;
        let mut out = Output::new(size);
        out.expect(want)?;
        let out = self.frames(src, out)?;
        match out.len() as u64 {
            have if have == want => Ok(out.finish()),
            have => Err(Error::Size { have, want }),
        }
    }

    /// [`Decoder::decompress_exact`] into the caller's memory: anything but exactly as many bytes as it has is an error. The content is
    /// made elsewhere and copied, because copies write whole chunks; that memory is kept for the next call.
    pub fn decompress_into(&mut self, src: &[u8], place: &mut [u8]) -> Result<(), Error> {
        let want = place.len() as u64;
        let mut out = Output::reusing(std::mem::take(&mut self.spare), place.len());
        out.expect(want)?;
        let out = self.frames(src, out)?;
        let content = out.since(0);
        if content.len() as u64 != want {
            let have = content.len() as u64;
            return Err(Error::Size { have, want });
        }
        place.copy_from_slice(content);
        self.spare = out.into_memory();
        Ok(())
    }

    fn frames(&mut self, src: &[u8], mut out: Output) -> Result<Output, Error> {
        let mut rest = src;
        while !rest.is_empty() {
            if let Some(after) = frame::skippable(rest)? {
                rest = after;
                continue;
            }
            let (header, body) = frame::Header::read(rest)?;
            if let Some(size) = header.content_size {
                out.expect(size)?;
            }
            rest = self.blocks.frame(&header, body, &mut out)?;
        }
        Ok(out)
    }
}

thread_local! {
    static DECODER: RefCell<Decoder> = RefCell::default();
}

fn with_decoder<T>(work: impl FnOnce(&mut Decoder) -> T) -> T {
    DECODER.with(|decoder| match decoder.try_borrow_mut() {
        Ok(mut decoder) => work(&mut decoder),
        // Not reachable, because nothing in here calls back; a fresh decoder is right as well.
        Err(_) => work(&mut Decoder::new()),
    })
}

/// [`Decoder::decompress`] with the decoder of this thread.
pub fn decompress(src: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    with_decoder(|decoder| decoder.decompress(src, limit))
}

/// [`Decoder::decompress_exact`] with the decoder of this thread.
pub fn decompress_exact(src: &[u8], size: usize) -> Result<Vec<u8>, Error> {
    with_decoder(|decoder| decoder.decompress_exact(src, size))
}

/// [`Decoder::decompress_into`] with the decoder of this thread.
pub fn decompress_into(src: &[u8], place: &mut [u8]) -> Result<(), Error> {
    with_decoder(|decoder| decoder.decompress_into(src, place))
}
