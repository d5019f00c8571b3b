//! Frames that the reference encoder made at many levels, and damaged ones, against another decoder.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use culd_zstd::{Decoder, Error};
use std::io::Read;
use std::path::Path;

/// Most bytes that anything in here may unpack to.
const LIMIT: usize = 1 << 20;

fn samples() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut list: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap()))
        .collect();
    list.sort();
    assert!(list.len() > 15);
    list
}

fn reference(frame: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let decoder = ruzstd::decoding::StreamingDecoder::new(frame).ok()?;
    decoder.take(LIMIT as u64).read_to_end(&mut out).ok()?;
    Some(out)
}

/// The frame without its checksum, so that damage gets as far as it can.
fn without_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    if frame[4] & 4 != 0 {
        frame[4] &= !4;
        frame.truncate(frame.len() - 4);
    }
    frame
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % end
    }
}

#[test]
fn samples_unpack_to_what_another_decoder_finds() {
    let mut decoder = Decoder::new();
    for (name, frame) in samples() {
        let want = reference(&frame).unwrap();
        assert!(decoder.decompress(&frame, LIMIT).unwrap() == want, "{name}");
        assert!(culd_zstd::decompress_exact(&frame, want.len()).unwrap() == want, "{name}");
        assert!(decoder.decompress_exact(&frame, want.len() + 1).is_err(), "{name}");
        if let Some(less) = want.len().checked_sub(1) {
            assert!(decoder.decompress(&frame, less).is_err(), "{name}");
            assert!(decoder.decompress_exact(&frame, less).is_err(), "{name}");
        }
    }
}

#[test]
fn all_samples_in_a_row() {
    let frames: Vec<u8> = samples().into_iter().flat_map(|(_, frame)| frame).collect();
    let want: Vec<u8> = samples().iter().flat_map(|(_, frame)| reference(frame).unwrap()).collect();
    assert!(culd_zstd::decompress(&frames, want.len()).unwrap() == want);
}

#[test]
fn cuts_are_refused() {
    for (name, frame) in samples() {
        let size = reference(&frame).unwrap().len();
        let step = 1 + frame.len() / 500;
        for cut in (1..frame.len()).step_by(step) {
            assert!(culd_zstd::decompress_exact(&frame[..cut], size).is_err(), "{name} cut to {cut}");
            assert!(culd_zstd::decompress(&frame[..cut], LIMIT).is_err(), "{name} cut to {cut}");
        }
    }
}

#[test]
fn checksums_find_every_change_of_the_content() {
    let (_, frame) = samples().into_iter().find(|(name, _)| name == "random.zst").unwrap();
    // The one raw block starts after the frame's and its own header.
    for at in 10..frame.len() {
        let mut damaged = frame.clone();
        damaged[at] ^= 0x10;
        let error = culd_zstd::decompress(&damaged, LIMIT).unwrap_err();
        assert!(matches!(error, Error::Checksum { .. }), "{at}: {error}");
    }
}

#[test]
fn damaged_frames_unpack_to_the_same_bytes_or_not_at_all() {
    let mut decoder = Decoder::new();
    let mut rng = Rng(0x5eed);
    let (mut both, mut refused) = (0, 0);
    for (name, frame) in samples() {
        let frame = without_checksum(frame);
        let is_large = reference(&frame).unwrap().len() > 1 << 16;
        for round in 0..if is_large { 40 } else { 400 } {
            let mut damaged = frame.clone();
            for _ in 0..=rng.below(3) {
                let at = rng.below(damaged.len());
                damaged[at] = match rng.below(3) {
                    0 => damaged[at] ^ 1 << rng.below(8),
                    1 => rng.below(256) as u8,
                    _ => damaged[rng.below(frame.len())],
                };
            }
            let Ok(ours) = decoder.decompress(&damaged, LIMIT) else {
                refused += 1;
                continue;
            };
            assert!(ours.len() <= LIMIT);
            if let Some(theirs) = reference(&damaged) {
                assert!(ours == theirs, "{name}, round {round}");
                both += 1;
            }
        }
    }
    assert!(both > 500 && refused > 500, "{both} {refused}");
    // What was damaged before has left nothing after.
    for (name, frame) in samples() {
        assert!(decoder.decompress(&frame, LIMIT).ok() == reference(&frame), "{name}");
    }
}
