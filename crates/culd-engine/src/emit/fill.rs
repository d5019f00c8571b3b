//! The bytes of each chunk: copied from where they are or made, then patched.

use super::chunk_list::ChunkId;
use super::chunk_list::ChunkList;
use super::chunks::{Chunk, ChunkSource, Contents, start_of};
use super::windows::FileChunks;
use super::{headers, reloc_sections, symbols};
use crate::arrange::OutputPlan;
use crate::relocate::RelocAction;
use cubin::raw::{Shdr, Sym};
use std::ops::Range;
use zerocopy::IntoBytes;

/// The chunks of a linked file, and how they are made.
pub(super) struct Filler<'f, 'a, 'd, 'c> {
    pub(super) output: &'f OutputPlan<'a, 'd>,
    pub(super) contents: &'f Contents<'a, 'c>,
    pub(super) chunks: ChunkList<'a>,
    /// Chunks that a sink has received: offsets and bytes.
    pub(super) early: &'f [(u64, &'a [u8])],
}

impl<'a> FileChunks<'a> for Filler<'_, 'a, '_, '_> {
    type Id = ChunkId;

    fn ids(&self) -> &[ChunkId] {
        &self.chunks.steps
    }

    fn is_apart(&self, id: ChunkId) -> bool {
        self.chunks.is_section(id)
    }

    fn span(&self, id: ChunkId) -> Range<u64> {
        self.chunks.span(self.contents, id)
    }

    fn chunk(&self, id: ChunkId) -> Option<Chunk<'a>> {
        self.chunks.unit_at(self.output, self.contents, id)
    }

    fn is_patched(&self, id: ChunkId) -> bool {
        !self.chunks.patched_by(id).is_empty()
    }

    fn is_early(&self, span: &Range<u64>) -> bool {
        let is_it = |(offset, bytes): &(u64, &[u8])| *offset == span.start && bytes.len() as u64 == span.end - span.start;
        self.early.iter().any(is_it)
    }

    fn write(&self, id: ChunkId, chunk: &Chunk<'a>, place: &mut [u8]) {
        self.make(chunk.source, place);
        for &reference in self.chunks.patched_by(id).iter().rev() {
            self.patch(reference as usize, chunk.offset, place);
        }
    }
}

impl Filler<'_, '_, '_, '_> {
    fn make(&self, source: ChunkSource<'_>, place: &mut [u8]) {
        let reference = |n: u32| self.output.layout.records.relocs.get(n as usize);
        match source {
            ChunkSource::Bytes(bytes) => place.copy_from_slice(bytes),
            ChunkSource::Kept {
                reference: n,
                with_addends,
                ..
            } => {
                if let Some(r) = reference(n) {
                    reloc_sections::fill_kept(self.output, self.contents.resolver, r, with_addends, place);
                }
            }
            ChunkSource::Listed { reference: n, .. } => {
                if let Some(r) = reference(n) {
                    reloc_sections::fill_listed(self.output, self.contents.resolver, r, place);
                }
            }
            ChunkSource::Symbols(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<Sym>())) {
                    slot.copy_from_slice(symbols::symbol(self.output, n).as_bytes());
                }
            }
            ChunkSource::Extended(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<u32>())) {
                    slot.copy_from_slice(&symbols::extended_index(self.output, n).to_le_bytes());
                }
            }
            ChunkSource::Headers(first, _) => {
                for (n, slot) in (first..).zip(place.chunks_exact_mut(size_of::<Shdr>())) {
                    slot.copy_from_slice(headers::section_header(self.output, self.contents.file, n).as_bytes());
                }
            }
        }
    }

    /// Applies the relocations of one reference to the chunk that starts at `offset` of the image.
    fn patch(&self, n: usize, offset: u64, data: &mut [u8]) {
        let Some(r) = self.output.layout.records.relocs.get(n) else {
            return;
        };
        let base = offset.saturating_sub(start_of(self.output, self.contents.file, r.target));
        let object = &self.output.link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        let (meanings, is_rela) = (self.output.plan.meanings(r.object), relocs.is_rela());
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
