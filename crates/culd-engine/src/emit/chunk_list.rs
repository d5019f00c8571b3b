//! The output file as a list of chunks in file order.
//!
//! 1. Most sections have one source: bytes that were computed, or one input section. Each is a step of its own, known by its position
//!    alone, so that nothing is stored for it.
//! 2. Everything else is listed as [`Chunk`]s: headers, the symbol table in parts, the pieces of sections with several, the relocations of
//!    every reference.
//! 3. Units are sorted by offset and merged with the sections, which are in file order already.
//! 4. Each reference is assigned to the step that it patches.

use super::chunks::Chunk;
use super::chunks::ChunkSource;
use super::chunks::Contents;
use super::reloc_sections;
use crate::arrange::OutputPlan;
use crate::arrange::Shape;
use crate::csr::GroupedLists;
use crate::ids::{Id, SectionId};
use crate::par::Threads;
use crate::records::{Class, Piece};
use cubin::write::Placement;
use std::ops::Range;

/// A step: first come the positions of all emitted sections, then the units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkId(u32);

impl Id for ChunkId {
    fn from_index(index: usize) -> Self {
        ChunkId(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Everything that has bytes, in file order.
pub(super) struct ChunkList<'a> {
    /// Steps in file order.
    pub(super) steps: Vec<ChunkId>,
    units: Vec<Chunk<'a>>,
    /// Number of emitted sections.
    sections: usize,
    /// Per step that is a section or a piece of one: the references that patch it, newest first.
    refs: GroupedLists<ChunkId, u32>,
    /// Number of these steps.
    patchable: usize,
}

impl<'a> ChunkList<'a> {
    /// Makes the list of chunks.
    pub(super) fn new(output: &OutputPlan<'a, '_>, contents: &Contents<'a, '_>, frame: Vec<Chunk<'a>>) -> Self {
        let sections = output.arranged.sections.len();
        let ((mut units, refs), relocations) = output.link.threads.join(
            || {
                let mixed = MultiPieceSections::new(output, contents);
                let refs = mixed.references(output, contents);
                let refs = GroupedLists::newest_first(sections + mixed.units.len(), &refs);
                (mixed.units, refs)
            },
            || reloc_sections::places(output, contents.file),
        );
        let patchable = sections + units.len();
        units.extend(frame);
        units.extend(relocations);
        let steps = steps(
            output.arranged.shapes.as_slice(),
            contents.file.placements(),
            &units,
            output.link.threads,
        );
        ChunkList {
            steps,
            units,
            sections,
            refs,
            patchable,
        }
    }

    /// The step is a whole section: it begins where the sections before it have ended.
    pub(super) fn is_section(&self, step: ChunkId) -> bool {
        step.index() < self.sections
    }

    /// The part of the image that a step covers.
    pub(super) fn span(&self, contents: &Contents<'_, '_>, step: ChunkId) -> Range<u64> {
        match self.unit(step) {
            Some(unit) => unit.span(),
            None => contents.file.placements().get(step.index()).map_or(0..0, Placement::span),
        }
    }

    /// Source of the step's bytes and its offset; `None` if a piece does not fit its section.
    pub(super) fn unit_at(&self, output: &OutputPlan<'a, '_>, contents: &Contents<'a, '_>, step: ChunkId) -> Option<Chunk<'a>> {
        match self.unit(step) {
            Some(unit) => Some(*unit),
            None => plain_section(output, contents, step.index()),
        }
    }

    /// References that patch a step, newest first.
    pub(super) fn patched_by(&self, step: ChunkId) -> &[u32] {
        if step.index() < self.patchable { self.refs.of(step) } else { &[] }
    }

    fn unit(&self, step: ChunkId) -> Option<&Chunk<'a>> {
        self.units.get(step.index().checked_sub(self.sections)?)
    }
}

/// The bytes of a section that has one source.
fn plain_section<'a>(output: &OutputPlan<'a, '_>, contents: &Contents<'a, '_>, position: usize) -> Option<Chunk<'a>> {
    let arranged = output.arranged;
    let (&id, shape) = arranged.sections.get(position).zip(arranged.shapes.get(position))?;
    let place = contents.file.placements().get(position)?;
    let computed = match shape.class {
        Class::SectionNames => Some(arranged.section_names.as_slice()),
        Class::Strings => Some(arranged.strings.as_slice()),
        // Code is never computed.
        Class::Text(_) => None,
        _ => contents.computed.get(id),
    };
    let source = match computed {
        Some(bytes) => bytes,
        None => {
            let s = &output.layout.records.sections[id];
            match s.bytes.as_deref() {
                Some(bytes) => bytes,
                None => return piece(output, s.pieces.as_slice().first()?, place),
            }
        }
    };
    Some(Chunk {
        offset: place.offset,
        source: ChunkSource::Bytes(source),
    })
}

fn piece<'a>(output: &OutputPlan<'a, '_>, p: &Piece, place: &Placement) -> Option<Chunk<'a>> {
    let bytes = output.link.inputs.objects[p.object].section(p.section)?.data;
    // A piece that does not fit its section is left out.
    let end = p.base.checked_add(bytes.len() as u64)?;
    (end <= place.size && !bytes.is_empty()).then_some(Chunk {
        offset: place.offset + p.base,
        source: ChunkSource::Bytes(bytes),
    })
}

/// Is a section one step?
fn is_plain(shape: &Shape) -> bool {
    shape.has_bytes && !shape.is_mixed && !is_table(shape)
}

/// Sections that are made of entries; their units are listed by the modules that write them.
fn is_table(shape: &Shape) -> bool {
    matches!(
        shape.class,
        Class::Symbols | Class::ExtendedIndices | Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_)
    )
}

/// Sections with several pieces.
struct MultiPieceSections<'a> {
    /// Their units, one section after the other.
    units: Vec<Chunk<'a>>,
    /// Where each section's are, by position.
    of_section: Vec<(u32, Range<usize>)>,
}

impl<'a> MultiPieceSections<'a> {
    fn new(output: &OutputPlan<'a, '_>, contents: &Contents<'a, '_>) -> Self {
        let mut out = MultiPieceSections {
            units: Vec::new(),
            of_section: Vec::new(),
        };
        let arranged = output.arranged;
        let mixed = |shape: &Shape| shape.has_bytes && shape.is_mixed && !is_table(shape);
        for (position, _) in arranged.shapes.iter().enumerate().filter(|(_, shape)| mixed(shape)) {
            let (Some(&id), Some(place)) = (arranged.sections.get(position), contents.file.placements().get(position)) else {
                continue;
            };
            let first = out.units.len();
            let pieces = output.layout.records.sections[id].pieces.as_slice();
            out.units.extend(pieces.iter().filter_map(|p| piece(output, p, place)));
            out.of_section.push((position as u32, first..out.units.len()));
        }
        out
    }

    /// Step and number of every reference that patches something.
    fn references(&self, output: &OutputPlan<'_, '_>, contents: &Contents<'_, '_>) -> Vec<(ChunkId, u32)> {
        let sections = output.arranged.sections.len();
        let position = |id: SectionId| (output.arranged.section_index(id) as usize).checked_sub(1);
        output.link.threads.filter_map(&output.layout.records.relocs, |n, r| {
            let position = position(r.target).filter(|_| output.plan.refs.get(n).is_some_and(|plan| plan.patches))?;
            let is_mixed = output.arranged.shapes.get(position).is_some_and(|shape| shape.is_mixed);
            let step = match is_mixed {
                false => position,
                true => sections + self.unit_of(position, r.base, contents)?,
            };
            Some((ChunkId::from_index(step), n as u32))
        })
    }

    /// The unit of a multi-piece section that contains an offset.
    fn unit_of(&self, position: usize, base: u64, contents: &Contents<'_, '_>) -> Option<usize> {
        let found = self.of_section.binary_search_by_key(&(position as u32), |s| s.0).ok()?;
        let range = self.of_section.get(found)?.1.clone();
        let own = self.units.get(range.clone())?;
        let start = contents.file.placements().get(position)?.offset;
        let before = own.partition_point(|u| u.offset - start <= base);
        (!own.is_empty()).then(|| range.start + before.saturating_sub(1))
    }
}

/// So many sections are merged with units by one thread.
const PART: usize = 4096;

/// Sections of one step and units, merged by offset; what is empty is left out.
fn steps(shapes: &[Shape], places: &[Placement], units: &[Chunk<'_>], threads: Threads) -> Vec<ChunkId> {
    let mut order: Vec<u32> = (0..).zip(units).filter(|(_, u)| u.len() > 0).map(|(i, _)| i).collect();
    let offset_of = |i: &u32| units.get(*i as usize).map_or(0, |u| u.offset);
    // Few runs, each in file order: the sort is nearly linear.
    order.sort_by_key(offset_of);
    let plain = |range: Range<usize>| {
        let sections = shapes.iter().zip(places).enumerate().take(range.end).skip(range.start);
        sections
            .filter(|(_, (shape, place))| place.size > 0 && is_plain(shape))
            .map(|(position, (_, place))| (position, place.offset))
    };
    let end = |start: usize| places.len().min(start.saturating_add(PART));
    let starts: Vec<usize> = (0..places.len()).step_by(PART).collect();
    let last_of = |&start: &usize| (start..end(start)).rev().find_map(|position| plain(position..position + 1).next());
    let lasts: Vec<Option<(usize, u64)>> = threads.map(&starts, last_of);
    // The parts before a part have the units before their last section.
    let mut first_units = vec![0];
    for last in lasts {
        let before = first_units.last().copied().unwrap_or(0);
        first_units.push(last.map_or(before, |(_, offset)| order.partition_point(|i| offset_of(i) < offset)));
    }
    let unit = |i: &u32| ChunkId(places.len() as u32 + i);
    let parts: Vec<(usize, usize)> = starts.into_iter().zip(first_units.iter().copied()).collect();
    let part = |&(start, first_unit): &(usize, usize)| {
        let mut order = order.get(first_unit..).unwrap_or_default().iter().peekable();
        let mut steps = Vec::with_capacity(2 * PART);
        for (position, offset) in plain(start..end(start)) {
            while let Some(i) = order.next_if(|i| offset_of(i) < offset) {
                steps.push(unit(i));
            }
            steps.push(ChunkId(position as u32));
        }
        steps
    };
    let mut steps = threads.concat(threads.map(&parts, part), &ChunkId(0));
    let rest = first_units.last().and_then(|&first| order.get(first..)).unwrap_or_default();
    steps.extend(rest.iter().map(unit));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_units_are_merged_by_offset() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for count in [0, 1, PART - 1, PART, 3 * PART + 17] {
            let (mut shapes, mut places, mut units, mut at) = (Vec::new(), Vec::new(), Vec::new(), 0);
            let mut expected = Vec::new();
            for position in 0..count {
                let size = random(4);
                let is_mixed = random(3) == 0;
                shapes.push(Shape {
                    class: Class::Info,
                    has_bytes: random(9) > 0,
                    is_mixed,
                    size,
                    align: 1,
                    flags: 0,
                });
                places.push(Placement { offset: at, size });
                let is_step = size > 0 && shapes.last().is_some_and(is_plain);
                match is_mixed && size > 0 {
                    true => {
                        expected.push((at, ChunkId((count + units.len()) as u32)));
                        units.push(Chunk {
                            offset: at,
                            source: ChunkSource::Bytes(&[1, 2, 3][..size as usize]),
                        });
                    }
                    false => expected.extend(is_step.then_some((at, ChunkId(position as u32)))),
                }
                at += size;
            }
            let expected: Vec<ChunkId> = expected.into_iter().map(|e| e.1).collect();
            for threads in [1, 3] {
                assert_eq!(steps(&shapes, &places, &units, Threads::new(0, threads)), expected);
            }
        }
    }
}
