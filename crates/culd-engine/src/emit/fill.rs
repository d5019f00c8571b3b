//! Filling the image, window by window.
//!
//! 1. The steps of the chunk list ([`super::chunk_list`]) are grouped into [`Window`]s of up to 256 KiB.
//! 2. A window is filled where it will stay, or for a [`Sink`] in a small buffer that stays in the cache. A large step without patches
//!    is passed from the input to the sink without a copy.
//! 3. Windows do not depend on each other, so they are filled in parallel when it pays.

use super::chunk_list::ChunkId;
use super::chunk_list::ChunkList;
use super::chunks::{Chunk, ChunkSource, Contents};
use super::reloc_sections;
use super::sink::Sink;
use crate::arrange::OutputPlan;
use crate::relocate::RelocAction;
use cubin::raw::{Shdr, Sym};
use rayon::prelude::*;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use zerocopy::IntoBytes;

/// A window spans at most this much of the image, unless one step is larger.
const WINDOW: u64 = 256 << 10;
/// Steps of this size without patches are passed on without a copy.
const DIRECT: u64 = 32 << 10;

/// Steps that are filled together.
struct Window {
    steps: Range<usize>,
    start: u64,
    end: u64,
    /// One step without patches.
    direct: bool,
}

/// Destination of the image.
pub(super) enum Destination<'t> {
    /// Zeroed memory.
    Memory(&'t mut [u8]),
    /// In parts.
    Sink(&'t dyn Sink),
}

/// Fills the image; `frame` are headers and symbols.
pub(super) fn fill<'a>(
    parts: &OutputPlan<'a, '_>,
    contents: &Contents<'a, '_>,
    frame: Vec<Chunk<'a>>,
    target: Destination<'_>,
) -> io::Result<()> {
    let filler = Filler {
        parts,
        contents,
        chunks: ChunkList::new(parts, contents, frame),
    };
    let windows = filler.windows();
    filler.run(&windows, target)
}

struct Filler<'f, 'a, 'd, 'c> {
    parts: &'f OutputPlan<'a, 'd>,
    contents: &'f Contents<'a, 'c>,
    chunks: ChunkList<'a>,
}

impl<'a> Filler<'_, 'a, '_, '_> {
    fn step(&self, position: usize) -> Option<ChunkId> {
        self.chunks.steps.get(position).copied()
    }

    fn unit(&self, step: ChunkId) -> Option<Chunk<'a>> {
        self.chunks.unit_at(self.parts, self.contents, step)
    }

    /// The bytes of a step that can be passed on unchanged.
    fn bytes(&self, step: ChunkId) -> Option<(u64, &'a [u8])> {
        match self.unit(step)? {
            Chunk {
                offset,
                source: ChunkSource::Bytes(bytes),
            } => Some((offset, bytes)),
            _ => None,
        }
    }

    fn windows(&self) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        for (position, &step) in self.chunks.steps.iter().enumerate() {
            let Range { start, end } = self.chunks.span(self.contents, step);
            let direct = end - start >= DIRECT && self.chunks.patched_by(step).is_empty() && self.bytes(step).is_some();
            match windows.last_mut() {
                // Windows never overlap, whatever the pieces do.
                Some(w) if start < w.end || (!direct && !w.direct && end - w.start <= WINDOW) => {
                    w.steps.end = position + 1;
                    w.end = w.end.max(end);
                    w.direct = false;
                }
                _ => windows.push(Window {
                    steps: position..position + 1,
                    start,
                    end,
                    direct,
                }),
            }
        }
        windows
    }

    fn run(&self, windows: &[Window], target: Destination<'_>) -> io::Result<()> {
        let bytes = windows.iter().map(|w| (w.end - w.start) as usize).sum();
        let parallel = self.parts.link.threads.for_part(bytes).is_parallel();
        match target {
            Destination::Memory(image) => {
                let mut places = split(image, windows);
                let one = |(w, place): (&Window, &mut &mut [u8])| self.fill(w, place);
                if parallel {
                    windows.par_iter().zip(&mut places).for_each(one);
                } else {
                    windows.iter().zip(&mut places).for_each(one);
                }
                Ok(())
            }
            Destination::Sink(sink) if parallel => {
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
            Destination::Sink(sink) => {
                let mut buffer = Vec::new();
                windows.iter().try_for_each(|w| self.send(w, &mut buffer, sink))
            }
        }
    }

    fn send(&self, window: &Window, buffer: &mut Vec<u8>, sink: &dyn Sink) -> io::Result<()> {
        if window.direct
            && let Some((offset, bytes)) = self.step(window.steps.start).and_then(|step| self.bytes(step))
        {
            return sink.write_at(offset, bytes);
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
        for step in window.steps.clone().filter_map(|position| self.step(position)) {
            let Some(unit) = self.unit(step) else { continue };
            let span = unit.span();
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
            self.write(unit.source, data);
            for &n in self.chunks.patched_by(step).iter().rev() {
                self.patch(n as usize, unit.offset, data);
            }
        }
        if let Some(gap) = place.get_mut(done..) {
            gap.fill(0);
        }
    }

    fn write(&self, source: ChunkSource<'_>, place: &mut [u8]) {
        let reference = |n: u32| self.parts.layout.records.relocs.get(n as usize);
        match source {
            ChunkSource::Bytes(bytes) => place.copy_from_slice(bytes),
            ChunkSource::Kept {
                reference: n,
                with_addends,
                ..
            } => {
                if let Some(r) = reference(n) {
                    reloc_sections::fill_kept(self.parts, self.contents.resolver, r, with_addends, place);
                }
            }
            ChunkSource::Listed { reference: n, .. } => {
                if let Some(r) = reference(n) {
                    reloc_sections::fill_listed(self.parts, self.contents.resolver, r, place);
                }
            }
            ChunkSource::Symbols(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<Sym>())) {
                    slot.copy_from_slice(super::symbol(self.parts, n).as_bytes());
                }
            }
            ChunkSource::Extended(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<u32>())) {
                    slot.copy_from_slice(&super::extended_index(self.parts, n).to_le_bytes());
                }
            }
            ChunkSource::Headers(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<Shdr>())) {
                    slot.copy_from_slice(super::section_header(self.parts, self.contents.places, n).as_bytes());
                }
            }
        }
    }

    /// Applies the relocations of one reference to the unit that starts at `offset` of the image.
    fn patch(&self, n: usize, offset: u64, data: &mut [u8]) {
        let Some(r) = self.parts.layout.records.relocs.get(n) else { return };
        let base = offset.saturating_sub(self.contents.places.start_of(self.parts, r.target));
        let object = &self.parts.link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        let (meanings, is_rela) = (self.parts.plan.meanings(r.object), relocs.is_rela());
        self.contents.resolver.for_each(object, r, meanings, |e, decision| {
            let at = e.offset.checked_sub(base).and_then(|at| usize::try_from(at).ok());
            let Some(field) = at.and_then(|at| data.get_mut(at..)) else {
                return;
            };
            match decision {
                RelocAction::Clear(size) => {
                    if let Some(field) = field.get_mut(..size.into()) {
                        field.fill(0);
                    }
                }
                // A field that does not fit was refused when the object was read.
                RelocAction::Patch(info, value, bank, _) => cubin::reloc::apply(info, field, value, bank, !is_rela).unwrap_or_default(),
                RelocAction::Drop
                | RelocAction::Removed(_)
                | RelocAction::Fail(_)
                | RelocAction::Keep(..)
                | RelocAction::KeepSection(..) => {}
            }
        });
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
