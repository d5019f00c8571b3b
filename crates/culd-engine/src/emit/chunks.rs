//! Chunks: the parts that the output file consists of, and where its sections are.

use crate::arrange::OutputPlan;
use crate::ids::SectionId;
use crate::relocate::RelocResolver;
use crate::sections::SyntheticSections;
use cubin::raw::Shdr;
use cubin::raw::Sym;
use cubin::write::{Placement, Plan};
use std::ops::Range;

/// The place of a section, if it is emitted.
pub(super) fn place_of(output: &OutputPlan<'_, '_>, file: &Plan, id: SectionId) -> Option<Placement> {
    file.placement(output.arranged.section_index(id))
}

/// Where a section starts in the image; 0 for one that is not emitted.
pub(super) fn start_of(output: &OutputPlan<'_, '_>, file: &Plan, id: SectionId) -> u64 {
    place_of(output, file, id).map_or(0, |place| place.offset)
}

/// What the image is made of besides the inputs.
pub(super) struct Contents<'a, 'd> {
    /// Places of the emitted sections, and headers.
    pub(super) file: &'a Plan,
    /// Sections that the linker writes itself.
    pub(super) computed: &'a SyntheticSections,
    /// Action for each relocation.
    pub(super) resolver: &'a RelocResolver<'a, 'd>,
}

/// A part of the image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chunk<'a> {
    /// Offset in the image.
    pub(crate) offset: u64,
    /// Source of its bytes.
    pub(crate) source: ChunkSource<'a>,
}

/// What a part of the image is made from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChunkSource<'a> {
    /// Bytes before relocation.
    Bytes(&'a [u8]),
    /// Relocations of a reference that are kept.
    Kept {
        /// Number of the reference.
        reference: u32,
        /// Bytes.
        size: u64,
        /// Entries have addends.
        with_addends: bool,
    },
    /// Relocations of a reference that were resolved.
    Listed {
        /// Number of the reference.
        reference: u32,
        /// Bytes.
        size: u64,
    },
    /// Symbols: first number, and how many.
    Symbols(u32, u32),
    /// Extended section indices of symbols: first number, and how many.
    Extended(u32, u32),
    /// Section headers: first number, and how many.
    Headers(u32, u32),
}

impl Chunk<'_> {
    pub(super) fn len(&self) -> u64 {
        match self.source {
            ChunkSource::Bytes(bytes) => bytes.len() as u64,
            ChunkSource::Kept { size, .. } | ChunkSource::Listed { size, .. } => size,
            ChunkSource::Symbols(_, count) => u64::from(count) * size_of::<Sym>() as u64,
            ChunkSource::Extended(_, count) => u64::from(count) * size_of::<u32>() as u64,
            ChunkSource::Headers(_, count) => u64::from(count) * size_of::<Shdr>() as u64,
        }
    }
    /// The part of the image that it covers.
    pub(crate) fn span(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len())
    }
}

/// So many symbols or headers are one chunk.
const ENTRIES: u32 = 2048;

/// Chunks of the entries of a table.
pub(crate) fn table<'a>(
    offset: u64,
    entries: usize,
    size: usize,
    source: fn(u32, u32) -> ChunkSource<'a>,
) -> impl Iterator<Item = Chunk<'a>> {
    let entries = entries as u32;
    (0..entries).step_by(ENTRIES as usize).map(move |first| Chunk {
        offset: offset + u64::from(first) * size as u64,
        source: source(first, ENTRIES.min(entries - first)),
    })
}
