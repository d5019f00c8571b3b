//! The parts of a described file as chunks, so that they are written like those of any other link.

use crate::emit::chunks::{Chunk, ChunkSource, table};
use crate::emit::windows::FileChunks;
use cubin::raw::{Ehdr, Shdr};
use cubin::write::{Content, Image, Plan};
use std::ops::Range;
use zerocopy::IntoBytes;

/// The parts of a file in file order.
pub(crate) struct ImageChunks<'i> {
    image: &'i Image<'i>,
    plan: &'i Plan,
    parts: Vec<Chunk<'i>>,
    order: Vec<u32>,
}

impl<'i> ImageChunks<'i> {
    /// The parts of an image; `plan` and `header` are its own.
    pub(crate) fn new(image: &'i Image<'i>, plan: &'i Plan, header: &'i Ehdr) -> Self {
        let chunk = |offset, bytes| Chunk {
            offset,
            source: ChunkSource::Bytes(bytes),
        };
        let mut parts = Vec::with_capacity(image.sections.len() + 3);
        parts.push(chunk(0, header.as_bytes()));
        let sections = image.sections.iter().zip(plan.placements());
        parts.extend(sections.filter_map(|(section, place)| match &section.content {
            Content::Bytes(bytes) if !bytes.is_empty() => Some(chunk(place.offset, bytes)),
            _ => None,
        }));
        parts.extend(table(
            plan.section_header_offset(),
            plan.section_count(),
            size_of::<Shdr>(),
            ChunkSource::Headers,
        ));
        parts.push(chunk(plan.program_header_offset(), plan.segments().as_bytes()));
        ImageChunks {
            image,
            plan,
            order: (0..parts.len() as u32).collect(),
            parts,
        }
    }
}

impl<'i> FileChunks<'i> for ImageChunks<'i> {
    type Id = u32;

    fn ids(&self) -> &[u32] {
        &self.order
    }

    fn is_apart(&self, _: u32) -> bool {
        // All of them are whole sections or tables.
        true
    }

    fn span(&self, id: u32) -> Range<u64> {
        self.chunk(id).map_or(0..0, |chunk| chunk.span())
    }

    fn chunk(&self, id: u32) -> Option<Chunk<'i>> {
        self.parts.get(id as usize).copied()
    }

    fn is_patched(&self, _: u32) -> bool {
        false
    }

    fn write(&self, _: u32, chunk: &Chunk<'i>, place: &mut [u8]) {
        match chunk.source {
            ChunkSource::Bytes(bytes) => place.copy_from_slice(bytes),
            ChunkSource::Headers(first, _) => {
                for (n, slot) in (first..).zip(place.chunks_exact_mut(size_of::<Shdr>())) {
                    slot.copy_from_slice(self.image.section_header(self.plan, n).as_bytes());
                }
            }
            // Only links without finalizer make these.
            ChunkSource::Kept { .. } | ChunkSource::Listed { .. } | ChunkSource::Symbols(..) | ChunkSource::Extended(..) => {}
        }
    }
}
