//! Speed of this decoder and of ruzstd on files that hold one frame each: `speed [files or directories]`.
#![allow(clippy::unwrap_used, reason = "a tool for developers")]

use std::io::Read;
use std::path::PathBuf;
use std::time::Instant;

fn collect(path: PathBuf, frames: &mut Vec<Vec<u8>>) {
    if path.is_dir() {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        paths.into_iter().for_each(|path| collect(path, frames));
    } else {
        frames.push(std::fs::read(path).unwrap());
    }
}

fn reference(frame: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(frame)
        .unwrap()
        .read_to_end(&mut out)
        .unwrap();
    out
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn main() {
    let mut frames = Vec::new();
    std::env::args_os().skip(1).for_each(|path| collect(path.into(), &mut frames));
    let sizes: Vec<usize> = frames.iter().map(|frame| reference(frame).len()).collect();
    let bytes: usize = sizes.iter().sum();
    for (frame, &size) in frames.iter().zip(&sizes) {
        assert!(culd_zstd::decompress_exact(frame, size).unwrap() == reference(frame));
    }
    println!(
        "{} frames, {} bytes packed, {bytes} unpacked",
        frames.len(),
        frames.iter().map(Vec::len).sum::<usize>()
    );
    let ours = || {
        for (frame, &size) in frames.iter().zip(&sizes) {
            std::hint::black_box(culd_zstd::decompress_exact(frame, size).unwrap());
        }
    };
    let theirs = || {
        for (frame, &size) in frames.iter().zip(&sizes) {
            let mut out = Vec::with_capacity(size);
            let decoder = ruzstd::decoding::StreamingDecoder::new(frame.as_slice()).unwrap();
            decoder.take(size as u64 + 1).read_to_end(&mut out).unwrap();
            std::hint::black_box(out);
        }
    };
    // In turns, so that both meet the same noise.
    let mut best = [f64::MAX; 2];
    for _ in 0..12 {
        best = [best[0].min(seconds(ours)), best[1].min(seconds(theirs))];
    }
    for (name, time) in ["culd-zstd", "ruzstd"].iter().zip(best) {
        println!("{name:10} {:9.3} ms {:8.1} MB/s", time * 1e3, bytes as f64 / time / 1e6);
    }
    println!("ratio {:.2}", best[1] / best[0]);
}
