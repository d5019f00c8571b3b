//! Speed of this decoder and of ruzstd on files that hold one frame each: `compare [files or folders]`.
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

fn measure(name: &str, bytes: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{name:10} {:9.3} ms {:8.1} MB/s", best * 1e3, bytes as f64 / best / 1e6);
    best
}

fn main() {
    let mut frames = Vec::new();
    std::env::args_os().skip(1).for_each(|path| collect(path.into(), &mut frames));
    let sizes: Vec<usize> = frames.iter().map(|frame| reference(frame).len()).collect();
    let bytes: usize = sizes.iter().sum();
    for (frame, &size) in frames.iter().zip(&sizes) {
        assert!(culd_zstd::decompress_frame(frame, size).unwrap() == reference(frame));
    }
    println!(
        "{} frames, {} bytes packed, {bytes} unpacked",
        frames.len(),
        frames.iter().map(Vec::len).sum::<usize>()
    );
    let ours = measure("culd-zstd", bytes, || {
        for (frame, &size) in frames.iter().zip(&sizes) {
            std::hint::black_box(culd_zstd::decompress_frame(frame, size).unwrap());
        }
    });
    let theirs = measure("ruzstd", bytes, || {
        for (frame, &size) in frames.iter().zip(&sizes) {
            let mut out = Vec::with_capacity(size);
            let decoder = ruzstd::decoding::StreamingDecoder::new(frame.as_slice()).unwrap();
            decoder.take(size as u64 + 1).read_to_end(&mut out).unwrap();
            std::hint::black_box(out);
        }
    });
    println!("ratio {:.2}", theirs / ours);
}
