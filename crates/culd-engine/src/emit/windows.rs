//! Writing the chunks of a file, window by window.
//!
//! 1. Chunks are grouped into [`Window`]s of up to 256 KiB.
//! 2. A window is filled where it will stay, or for a [`Sink`] in a small buffer that stays in the cache. A large chunk without patches
//!    is passed from its source to the sink without a copy, in parts of the size of a window: the system writes larger ones more slowly.
//! 3. For a sink, windows end at multiples of their size: the system then takes one large page of its cache for each, and writes a fifth faster. A small
//!    chunk at such a place is part of two windows: both make it, and each writes its part.
//! 4. Windows do not depend on each other, so they are filled in parallel when it pays.

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
    /// The chunk begins where all chunks before it have ended.
    fn is_apart(&self, id: Self::Id) -> bool;
    /// The part of the file that is kept for a chunk.
    fn span(&self, id: Self::Id) -> Range<u64>;
    /// Offset and source of its bytes; `None` if it has none after all.
    fn chunk(&self, id: Self::Id) -> Option<Chunk<'a>>;
    /// The bytes of its source are changed.
    fn is_patched(&self, id: Self::Id) -> bool;
    /// A sink has received what covers this part of the file.
    fn is_early(&self, _: &Range<u64>) -> bool {
        false
    }
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

impl<'s> Receiver<'s> {
    /// Writes chunks of which nothing else is known yet.
    pub(crate) fn write_early(self, early: &[(u64, &[u8])]) -> Self {
        match &self {
            Receiver::Sink(sink) => match early.iter().try_for_each(|(offset, bytes)| send_parts(*sink, *offset, bytes)) {
                Ok(()) => self,
                Err(error) => Receiver::Failed(error),
            },
            Receiver::Memory | Receiver::Failed(_) => self,
        }
    }
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
/// So many chunks are divided into windows by one thread.
const PART: usize = if cfg!(test) { 32 } else { 4096 };
/// Chunks of this size without patches are passed on without a copy; chunks and gaps below it may be divided between two windows.
pub(super) const DIRECT: u64 = 32 << 10;

/// Chunks that are filled together.
#[derive(Debug)]
struct Window {
    /// Positions of the chunks.
    chunks: Range<usize>,
    /// What the chunks cover.
    start: u64,
    end: u64,
    /// The part of the file that is written.
    part: Range<u64>,
    /// One chunk without patches.
    direct: bool,
}

impl Window {
    fn new(position: usize, span: Range<u64>, from: u64, direct: bool) -> Self {
        Window {
            chunks: position..position + 1,
            start: span.start.min(from),
            end: span.end,
            part: from..span.end,
            direct,
        }
    }

    /// Adds the chunk at `position`, which ends at `end`.
    fn add(&mut self, position: usize, end: u64) {
        self.chunks.end = position + 1;
        self.end = self.end.max(end);
        self.part.end = self.part.end.max(end);
        self.direct = false;
    }

    /// Ends what is written at `end`.
    fn cut(&mut self, end: u64) {
        self.end = self.end.max(end);
        self.part.end = end;
    }
}

/// How a file is divided into windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Division {
    /// Between chunks.
    Chunks,
    /// At multiples of [`WINDOW`], where it is possible.
    Blocks,
}

struct WindowWriter<'w, C> {
    chunks: &'w C,
    threads: Threads,
}

impl<'a, C: FileChunks<'a>> WindowWriter<'_, C> {
    /// The windows of all chunks; for a sink many chunks are divided by several threads, which adds a few windows.
    fn windows(&self, division: Division) -> Vec<Window> {
        let ids = self.chunks.ids();
        if division == Division::Chunks || !self.threads.is_parallel() {
            return self.windows_of(0..ids.len(), division);
        }
        let mut starts = vec![0];
        for wanted in (PART..ids.len()).step_by(PART) {
            let rest = ids.iter().enumerate().skip(wanted.max(starts.last().map_or(0, |s| s + 1)));
            starts.extend(rest.take(PART).find(|(_, id)| self.chunks.is_apart(**id)).map(|(at, _)| at));
        }
        let ends = starts.iter().skip(1).copied().chain([ids.len()]);
        let parts: Vec<Range<usize>> = starts.iter().zip(ends).map(|(&start, end)| start..end).collect();
        let windows = self.threads.map(&parts, |part| self.windows_of(part.clone(), division));
        windows.into_iter().flatten().collect()
    }

    /// The windows of a part of the chunks.
    fn windows_of(&self, part: Range<usize>, division: Division) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        let mut is_open = false;
        let ids = self.chunks.ids().iter().enumerate();
        for (position, &id) in ids.take(part.end).skip(part.start) {
            let span = self.chunks.span(id);
            if division == Division::Blocks && self.chunks.is_early(&span) {
                // No window may have this part, not even as a gap.
                is_open = false;
                continue;
            }
            let direct = span.end - span.start >= DIRECT && !self.chunks.is_patched(id) && self.unchanged(id).is_some();
            match std::mem::replace(&mut is_open, true) {
                true => self.place(position, span, direct, division, &mut windows),
                false => windows.push(Window::new(position, span.clone(), span.start, direct)),
            }
        }
        windows
    }

    /// Adds a chunk to the last window, or to a new one, or to both.
    fn place(&self, position: usize, span: Range<u64>, direct: bool, division: Division, windows: &mut Vec<Window>) {
        let Range { start, end } = span;
        // Windows never overlap, whatever the pieces do: a chunk that reaches back into the window before undoes the division.
        if let Some(divided) = windows.pop_if(|w| start < w.part.start)
            && let Some(last) = windows.last_mut()
        {
            last.add(position, end.max(divided.end));
            last.part.end = last.end;
            return;
        }
        let Some(last) = windows.last_mut() else {
            windows.push(Window::new(position, span, start, direct));
            return;
        };
        if start < last.end {
            last.add(position, end);
            return;
        }
        let block_end = (last.part.start / WINDOW).saturating_add(1).saturating_mul(WINDOW);
        let limit = match division {
            Division::Chunks => last.part.start.saturating_add(WINDOW),
            Division::Blocks => block_end,
        };
        if !direct && !last.direct && end <= limit {
            last.add(position, end);
            return;
        }
        let is_small = |from: u64, to: u64| to.saturating_sub(from) < DIRECT;
        let divides = division == Division::Blocks && !last.direct && last.end <= block_end && block_end < end;
        let from = match () {
            () if !divides => start,
            // A gap: its zeros are divided.
            () if block_end <= start && is_small(last.end, start) => {
                last.cut(block_end);
                block_end
            }
            // The chunk is part of both windows.
            () if start < block_end && !direct && is_small(start, end) => {
                last.add(position, end);
                last.part.end = block_end;
                block_end
            }
            () => start,
        };
        windows.push(Window::new(position, span, from, direct));
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
        let bytes = windows.iter().map(|w| (w.part.end - w.part.start) as usize).sum();
        self.threads.for_part(bytes).is_parallel()
    }

    fn fill_all(&self, image: &mut [u8]) {
        let windows = self.windows(Division::Chunks);
        let mut places = split(image, &windows);
        let one = |(w, place): (&Window, &mut &mut [u8])| self.fill(w, place);
        if self.is_parallel(&windows) {
            windows.par_iter().zip(&mut places).for_each(one);
        } else {
            windows.iter().zip(&mut places).for_each(one);
        }
    }

    fn send_all(&self, sink: &dyn Sink) -> io::Result<()> {
        let windows = self.windows(Division::Blocks);
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
            return send_parts(sink, offset, bytes);
        }
        let size = (window.end - window.start) as usize;
        if buffer.len() < size {
            buffer.resize(size, 0);
        }
        let place = buffer.get_mut(..size).unwrap_or_default();
        self.fill(window, place);
        let (from, to) = (window.part.start - window.start, window.part.end - window.start);
        sink.write_at(window.part.start, place.get(from as usize..to as usize).unwrap_or_default())
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

/// Writes bytes in parts that end at multiples of [`WINDOW`].
fn send_parts(sink: &dyn Sink, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let size = (WINDOW - offset % WINDOW).min(bytes.len() as u64);
        let (part, rest) = bytes.split_at_checked(size as usize).unwrap_or((bytes, &[]));
        sink.write_at(offset, part)?;
        (offset, bytes) = (offset.saturating_add(size), rest);
    }
    Ok(())
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
        /// The chunk that the sink gets first.
        early: Option<usize>,
    }

    impl Numbered {
        fn new(sources: Vec<(u64, Vec<u8>)>) -> Self {
            let ids = (0..sources.len()).collect();
            Numbered { sources, ids, early: None }
        }
    }

    impl<'a> FileChunks<'a> for &'a Numbered {
        type Id = usize;
        fn ids(&self) -> &[usize] {
            &self.ids
        }
        fn is_apart(&self, id: usize) -> bool {
            let before = self.sources.iter().take(id).map(|(at, bytes)| at + bytes.len() as u64);
            before.max().unwrap_or(0) <= self.span(id).start
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
        fn is_early(&self, span: &Range<u64>) -> bool {
            self.early.is_some_and(|id| self.span(id) == *span)
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

    /// What a sink receives and what memory gets.
    fn written(chunks: &Numbered, size: u64, threads: usize) -> (Vec<u8>, usize, Vec<u8>) {
        let threads = Threads::new(0, threads);
        let sink = Written::default();
        let early = chunks.early.and_then(|id| chunks.sources.get(id));
        let early: Vec<(u64, &[u8])> = early.map(|(at, bytes)| (*at, bytes.as_slice())).into_iter().collect();
        let receiver = begin(Some(&sink), size).write_early(&early);
        assert!(matches!(write(&chunks, size, threads, receiver), Emitted::Written(Ok(written)) if written == size));
        let Emitted::Image(image) = write(&chunks, size, threads, Receiver::Memory) else {
            return Default::default();
        };
        let (bytes, largest) = sink.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        (bytes, largest, image)
    }

    #[test]
    fn windows_for_a_sink_have_the_bytes_of_windows_in_memory() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut divided = 0;
        for case in 0..60 {
            let (mut sources, mut offset) = (Vec::new(), random(100));
            for number in 0..20 + random(300) {
                let size = match random(20) {
                    0 => random(3 * WINDOW),
                    1..4 => random(2 * DIRECT),
                    _ => random(DIRECT / 4),
                };
                let bytes: Vec<u8> = (0..size).map(|at| (number + at) as u8 | 1).collect();
                sources.push((offset, bytes));
                // Some chunks overlap, most are near each other, some gaps are large.
                offset = match random(if case % 2 == 0 { 30 } else { u64::MAX }) {
                    0 => offset + random(size + 1),
                    1 => offset + size + random(WINDOW),
                    _ => offset + size + random(200),
                };
            }
            let size = sources.iter().map(|(at, bytes)| at + bytes.len() as u64).max().unwrap_or(0);
            let mut chunks = Numbered::new(sources);
            // Nothing overlaps with a chunk that is written early.
            chunks.early = Some(random(20) as usize).filter(|_| case % 2 == 1);
            let writer = WindowWriter {
                chunks: &&chunks,
                threads: Threads::new(0, 1),
            };
            let windows = writer.windows(Division::Blocks);
            let covers = |w: &Window| chunks.early.is_some_and(|id| w.part.contains(&chunks.sources[id].0));
            assert!(!windows.iter().any(covers), "{windows:?}");
            assert!(windows.is_sorted_by(|a, b| a.part.end <= b.part.start), "{windows:?}");
            divided += windows.iter().filter(|w| w.part.end < w.end).count();
            for threads in [1, 3] {
                let (bytes, _, image) = written(&chunks, size, threads);
                assert!(bytes == image, "case {case}");
            }
        }
        assert!(divided > 20, "chunks are divided");
    }

    #[test]
    fn windows_end_at_multiples_of_their_size() {
        let sources: Vec<(u64, Vec<u8>)> = (0..2000).map(|n| (n * 1000 + 64, vec![n as u8; 900])).collect();
        let chunks = Numbered::new(sources);
        let writer = WindowWriter {
            chunks: &&chunks,
            threads: Threads::new(0, 1),
        };
        let ends: Vec<u64> = writer.windows(Division::Blocks).iter().map(|w| w.part.end).collect();
        let (last, others) = ends.split_last().unwrap_or((&0, &[]));
        assert_eq!((*last, others.len()), (1999 * 1000 + 64 + 900, 7));
        assert!(others.iter().all(|end| end % WINDOW == 0), "{others:?}");
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
        let chunks = Numbered::new(sources);
        let mut expected = vec![0; offset as usize];
        for (n, (at, bytes)) in chunks.sources.iter().enumerate() {
            match (&chunks).is_patched(n) {
                true => crate::emit::copy(&mut expected, *at, &vec![0xff; bytes.len()]),
                false => crate::emit::copy(&mut expected, *at, bytes),
            }
        }
        for threads in [1, 3] {
            let (bytes, largest, image) = written(&chunks, offset, threads);
            assert!(bytes == expected && image == expected, "other bytes");
            assert_eq!(largest, WINDOW as usize);
        }
    }
}
