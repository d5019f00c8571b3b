//! The parts of a described file as chunks, so that they are written like those of any other link.

use crate::emit::chunks::{Chunk, ChunkSource};
use crate::emit::windows::FileChunks;
use cubin::write::FilePart;
use std::ops::Range;

/// The parts of a file in file order.
pub(crate) struct ImageChunks<'i> {
    parts: Vec<Chunk<'i>>,
    order: Vec<u32>,
}

impl<'i> ImageChunks<'i> {
    /// `parts` are in file order.
    pub(crate) fn new(parts: &'i [FilePart<'i>]) -> Self {
        let chunk = |(offset, bytes): &'i FilePart<'i>| Chunk {
            offset: *offset,
            source: ChunkSource::Bytes(bytes),
        };
        ImageChunks {
            parts: parts.iter().map(chunk).collect(),
            order: (0..parts.len() as u32).collect(),
        }
    }
}

impl<'i> FileChunks<'i> for ImageChunks<'i> {
    type Id = u32;

    fn ids(&self) -> &[u32] {
        &self.order
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
        if let ChunkSource::Bytes(bytes) = chunk.source {
            place.copy_from_slice(bytes);
        }
    }
}
