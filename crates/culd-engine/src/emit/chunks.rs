//! Chunks: the parts that the output file consists of, and where its sections are.

use crate::arrange::OutputPlan;
use crate::ids::SectionId;
use crate::relocate::RelocResolver;
use crate::sections::SyntheticSections;
use cubin::raw::Shdr;
use cubin::raw::Sym;
use std::ops::Range;

/// Size and file offset of a section.
pub(super) struct Placement {
    pub(super) size: u64,
    pub(super) offset: u64,
}

impl Placement {
    /// The part of the image that a section with bytes takes.
    pub(super) fn span(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }
}

/// Places of the emitted sections, in their order.
pub(super) struct Placements {
    pub(super) list: Vec<Placement>,
}

impl Placements {
    /// The place of a section, if it is emitted.
    pub(super) fn of(&self, parts: &OutputPlan<'_, '_>, id: SectionId) -> Option<&Placement> {
        self.list.get((parts.arranged.section_index(id) as usize).checked_sub(1)?)
    }
    /// Where a section starts in the image; 0 for one that is not emitted.
    pub(super) fn start_of(&self, parts: &OutputPlan<'_, '_>, id: SectionId) -> u64 {
        self.of(parts, id).map_or(0, |p| p.offset)
    }
}

/// What the image is made of besides the inputs.
pub(super) struct Contents<'a, 'd> {
    /// Places of the emitted sections.
    pub(super) places: &'a Placements,
    /// Sections that the linker writes itself.
    pub(super) computed: &'a SyntheticSections,
    /// Action for each relocation.
    pub(super) resolver: &'a RelocResolver<'a, 'd>,
}

/// A part of the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'a> {
    /// Offset in the image.
    pub(super) offset: u64,
    /// Source of its bytes.
    pub(super) source: ChunkSource<'a>,
}

/// What a part of the image is made from.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChunkSource<'a> {
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
    pub(super) fn span(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len())
    }
}

/// So many symbols or headers are one unit.
const ENTRIES: u32 = 2048;

/// Units of the entries of a table.
pub(super) fn table<'a>(
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
