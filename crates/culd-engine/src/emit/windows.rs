//! Writing the chunks of a file, window by window.
//!
//! 1. Chunks are grouped into [`Window`]s of up to 256 KiB.
//! 2. A window is filled where it will stay, or for a [`Sink`] in a small buffer that stays in the cache. A large chunk without patches
//!    is passed from its source to the sink without a copy, in parts of the size of a window: the system writes larger ones more slowly.
//! 3. Windows do not depend on each other, so they are filled in parallel when it pays.

use super::chunks::{Chunk, ChunkSource};
use super::sink::Sink;
use crate::par::Threads;
use rayon::prelude::*;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Result of writing the image.
pub enum Emitted {
    /// In memory.
    Image(Vec<u8>),
    /// Handed to the sink: its size, or why that failed.
    Written(io::Result<u64>),
}

/// The chunks of a file in file order. What is between them is zero.
pub(crate) trait FileChunks<'a>: Sync {
    /// Names a chunk.
    type Id: Copy + Sync;
    /// All chunks, ascending by offset.
    fn ids(&self) -> &[Self::Id];
    /// The part of the file that is kept for a chunk.
    fn span(&self, id: Self::Id) -> Range<u64>;
    /// Offset and source of its bytes; `None` if it has none after all.
    fn chunk(&self, id: Self::Id) -> Option<Chunk<'a>>;
    /// The bytes of its source are changed.
    fn is_patched(&self, id: Self::Id) -> bool;
    /// Writes its bytes to a place of its length.
    fn write(&self, id: Self::Id, chunk: &Chunk<'a>, place: &mut [u8]);
}

/// Where an image is written.
pub(crate) enum Receiver<'s> {
    Memory,
    Sink(&'s dyn Sink),
    /// The sink failed.
    Failed(io::Error),
}

/// Announces an image of `size` bytes to `sink`. A file is made and its space reserved, which takes time: it can run beside other work.
pub(crate) fn begin(sink: Option<&dyn Sink>, size: u64) -> Receiver<'_> {
    match sink.map(|sink| (sink, sink.begin(size))) {
        Some((sink, Ok(true))) => Receiver::Sink(sink),
        Some((_, Err(error))) => Receiver::Failed(error),
        Some((_, Ok(false))) | None => Receiver::Memory,
    }
}

/// Writes a file of `size` bytes.
pub(crate) fn write<'a>(chunks: &impl FileChunks<'a>, size: u64, threads: Threads, receiver: Receiver<'_>) -> Emitted {
    let writer = WindowWriter { chunks, threads };
    match receiver {
        Receiver::Sink(sink) => Emitted::Written(writer.send_all(sink).map(|()| size)),
        Receiver::Failed(error) => Emitted::Written(Err(error)),
        Receiver::Memory => {
            let mut image = vec![0u8; size as usize];
            writer.fill_all(&mut image);
            Emitted::Image(image)
        }
    }
}

/// A window spans at most this much of the image, unless one chunk is larger.
const WINDOW: u64 = 256 << 10;
/// Chunks of this size without patches are passed on without a copy.
const DIRECT: u64 = 32 << 10;

/// Chunks that are filled together.
struct Window {
    /// Positions of the chunks.
    chunks: Range<usize>,
    start: u64,
    end: u64,
    /// One chunk without patches.
    direct: bool,
}

struct WindowWriter<'w, C> {
    chunks: &'w C,
    threads: Threads,
}

impl<'a, C: FileChunks<'a>> WindowWriter<'_, C> {
    fn windows(&self) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        for (position, &id) in self.chunks.ids().iter().enumerate() {
            let Range { start, end } = self.chunks.span(id);
            let direct = end - start >= DIRECT && !self.chunks.is_patched(id) && self.unchanged(id).is_some();
            match windows.last_mut() {
                // Windows never overlap, whatever the pieces do.
                Some(w) if start < w.end || (!direct && !w.direct && end - w.start <= WINDOW) => {
                    w.chunks.end = position + 1;
                    w.end = w.end.max(end);
                    w.direct = false;
                }
                _ => windows.push(Window {
                    chunks: position..position + 1,
                    start,
                    end,
                    direct,
                }),
            }
        }
        windows
    }

    /// The bytes of a chunk that can be passed on unchanged.
    fn unchanged(&self, id: C::Id) -> Option<(u64, &'a [u8])> {
        match self.chunks.chunk(id)? {
            Chunk {
                offset,
                source: ChunkSource::Bytes(bytes),
            } => Some((offset, bytes)),
            _ => None,
        }
    }

    fn is_parallel(&self, windows: &[Window]) -> bool {
        let bytes = windows.iter().map(|w| (w.end - w.start) as usize).sum();
        self.threads.for_part(bytes).is_parallel()
    }

    fn fill_all(&self, image: &mut [u8]) {
        let windows = self.windows();
        let mut places = split(image, &windows);
        let one = |(w, place): (&Window, &mut &mut [u8])| self.fill(w, place);
        if self.is_parallel(&windows) {
            windows.par_iter().zip(&mut places).for_each(one);
        } else {
            windows.iter().zip(&mut places).for_each(one);
        }
    }

    fn send_all(&self, sink: &dyn Sink) -> io::Result<()> {
        let windows = self.windows();
        if !self.is_parallel(&windows) {
            let mut buffer = Vec::new();
            return windows.iter().try_for_each(|w| self.send(w, &mut buffer, sink));
        }
        // Some windows take much longer than others, so that they are handed out one by one; their buffers are used again.
        let spare = Mutex::new(Vec::new());
        let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        windows.par_iter().with_max_len(1).try_for_each(|w| {
            let mut buffer = spare().pop().unwrap_or_default();
            let sent = self.send(w, &mut buffer, sink);
            spare().push(buffer);
            sent
        })
    }

    fn send(&self, window: &Window, buffer: &mut Vec<u8>, sink: &dyn Sink) -> io::Result<()> {
        if window.direct
            && let Some(&id) = self.chunks.ids().get(window.chunks.start)
            && let Some((offset, bytes)) = self.unchanged(id)
        {
            let mut parts = (offset..).step_by(WINDOW as usize).zip(bytes.chunks(WINDOW as usize));
            return parts.try_for_each(|(at, part)| sink.write_at(at, part));
        }
        let size = (window.end - window.start) as usize;
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let place = buffer.get_mut(..size).unwrap_or_default();
        self.fill(window, place);
        sink.write_at(window.start, place)
    }

    /// Fills one window, gaps included.
    fn fill(&self, window: &Window, place: &mut [u8]) {
        let mut done = 0;
        for &id in self.chunks.ids().get(window.chunks.clone()).unwrap_or_default() {
            let Some(chunk) = self.chunks.chunk(id) else { continue };
            let span = chunk.span();
            let at = (span.start - window.start) as usize;
            let Some((before, rest)) = place.split_at_mut_checked(at) else {
                continue;
            };
            if let Some(gap) = before.get_mut(done..) {
                gap.fill(0);
            }
            let Some(data) = rest.get_mut(..(span.end - span.start) as usize) else {
                continue;
            };
            done = done.max(at + data.len());
            self.chunks.write(id, &chunk, data);
        }
        if let Some(gap) = place.get_mut(done..) {
            gap.fill(0);
        }
    }
}

/// Cuts the image into the windows' parts.
fn split<'i>(image: &'i mut [u8], windows: &[Window]) -> Vec<&'i mut [u8]> {
    let (mut rest, mut at) = (image, 0u64);
    let mut places = Vec::with_capacity(windows.len());
    for w in windows {
        let gap = w.start.saturating_sub(at) as usize;
        let (_, tail) = std::mem::take(&mut rest).split_at_mut_checked(gap).unwrap_or_default();
        let size = ((w.end - w.start) as usize).min(tail.len());
        let (mine, tail) = tail.split_at_mut_checked(size).unwrap_or_default();
        places.push(mine);
        (rest, at) = (tail, w.end);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chunks of which the last is changed while it is written.
    struct Numbered {
        sources: Vec<(u64, Vec<u8>)>,
        ids: Vec<usize>,
    }

    impl<'a> FileChunks<'a> for &'a Numbered {
        type Id = usize;
        fn ids(&self) -> &[usize] {
            &self.ids
        }
        fn span(&self, id: usize) -> Range<u64> {
            self.chunk(id).map_or(0..0, |chunk| chunk.span())
        }
        fn chunk(&self, id: usize) -> Option<Chunk<'a>> {
            self.sources.get(id).map(|(offset, bytes)| Chunk {
                offset: *offset,
                source: ChunkSource::Bytes(bytes),
            })
        }
        fn is_patched(&self, id: usize) -> bool {
            id + 1 == self.ids.len()
        }
        fn write(&self, id: usize, chunk: &Chunk<'a>, place: &mut [u8]) {
            if let ChunkSource::Bytes(bytes) = chunk.source {
                place.copy_from_slice(bytes);
            }
            if self.is_patched(id) {
                place.fill(0xff);
            }
        }
    }

    /// What was written, and the largest part.
    #[derive(Default)]
    struct Written(Mutex<(Vec<u8>, usize)>);

    impl Sink for Written {
        fn begin(&self, size: u64) -> io::Result<bool> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = vec![0; size as usize];
            Ok(true)
        }
        fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            crate::emit::copy(&mut written.0, offset, bytes);
            written.1 = written.1.max(bytes.len());
            Ok(())
        }
    }

    #[test]
    fn large_chunks_are_written_in_parts_and_whole() {
        let large = WINDOW as usize * 3 + 17;
        let mut sources = Vec::new();
        let mut offset = 0;
        for (number, size) in (1..).zip([64, large, 200, DIRECT as usize, WINDOW as usize, 5, large, DIRECT as usize + 1]) {
            // Parts that trade places would be seen.
            let bytes: Vec<u8> = (0..size).map(|at| number + 16 * ((at as u64 / WINDOW) as u8)).collect();
            sources.push((offset, bytes));
            offset += size as u64 + 3;
        }
        let ids = (0..sources.len()).collect();
        let chunks = Numbered { sources, ids };
        let mut expected = vec![0; offset as usize];
        for (n, (at, bytes)) in chunks.sources.iter().enumerate() {
            match (&chunks).is_patched(n) {
                true => crate::emit::copy(&mut expected, *at, &vec![0xff; bytes.len()]),
                false => crate::emit::copy(&mut expected, *at, bytes),
            }
        }
        for threads in [1, 3] {
            let threads = Threads::new(0, threads);
            let sink = Written::default();
            let receiver = begin(Some(&sink), offset);
            assert!(matches!(write(&&chunks, offset, threads, receiver), Emitted::Written(Ok(size)) if size == offset));
            let written = sink.0.into_inner().unwrap_or_else(PoisonError::into_inner);
            assert!(written.0 == expected, "other bytes");
            assert_eq!(written.1, WINDOW as usize);
            assert!(matches!(write(&&chunks, offset, threads, Receiver::Memory), Emitted::Image(image) if image == expected));
        }
    }
}
