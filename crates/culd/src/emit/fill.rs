//! Filling the image, window by window.
//!
//! 1. Everything is listed as [`Unit`]s in file order: headers, tables, computed sections, and each input section at its place with the
//!    references that patch it.
//! 2. Units are grouped into [`Window`]s of up to 256 KiB. A window is filled where it will stay, or for a [`Sink`] in a small buffer
//!    that stays in the cache. A large unit without patches goes from the input to the sink without a copy.
//! 3. Windows do not depend on each other, so they are filled in parallel when it pays.

use super::sink::Sink;
use super::{Computed, Parts, Placement, Placements, kept};
use crate::csr::Lists;
use crate::ids::{Id, SectionId, Table};
use crate::merge::model::{Class, Piece};
use crate::relocate::{Decider, Decision};
use cubin::raw::{Shdr, Sym};
use rayon::prelude::*;
use std::io;
use std::ops::Range;
use zerocopy::IntoBytes;

/// A window spans at most this much of the image, unless one unit is larger.
const WINDOW: u64 = 256 << 10;
/// Units of this size without patches are handed on without a copy.
const DIRECT: usize = 32 << 10;

/// A part of the image.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit<'a> {
    /// Offset in the image.
    pub(super) offset: u64,
    /// What stands there.
    pub(super) source: Source<'a>,
}

/// What a part of the image is made from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
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

impl Unit<'_> {
    fn len(&self) -> u64 {
        match self.source {
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::Kept { size, .. } | Source::Listed { size, .. } => size,
            Source::Symbols(_, count) => u64::from(count) * size_of::<Sym>() as u64,
            Source::Extended(_, count) => u64::from(count) * size_of::<u32>() as u64,
            Source::Headers(_, count) => u64::from(count) * size_of::<Shdr>() as u64,
        }
    }
    fn end(&self) -> u64 {
        self.offset + self.len()
    }
    /// Bytes that can be handed on as they are.
    fn bytes(&self) -> Option<&[u8]> {
        match self.source {
            Source::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// So many symbols or headers are one unit.
const ENTRIES: u32 = 2048;

/// Units of the entries of a table.
pub(super) fn table<'a>(offset: u64, entries: usize, size: usize, source: fn(u32, u32) -> Source<'a>) -> impl Iterator<Item = Unit<'a>> {
    let entries = entries as u32;
    (0..entries).step_by(ENTRIES as usize).map(move |first| Unit {
        offset: offset + u64::from(first) * size as u64,
        source: source(first, ENTRIES.min(entries - first)),
    })
}

/// A number of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UnitId(u32);

impl Id for UnitId {
    fn from_index(index: usize) -> Self {
        UnitId(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Units that are filled together.
struct Window {
    units: Range<usize>,
    start: u64,
    end: u64,
    /// One unit without patches.
    direct: bool,
}

/// Where the image goes.
pub(super) enum Target<'t> {
    /// Zeroed memory.
    Memory(&'t mut [u8]),
    /// In parts.
    Sink(&'t dyn Sink),
}

/// What the image is made of besides the inputs.
pub(super) struct Contents<'a, 'd> {
    /// Places of the emitted sections.
    pub(super) places: &'a Placements,
    /// Computed sections.
    pub(super) computed: &'a Computed,
    /// What becomes of relocations.
    pub(super) decider: &'a Decider<'a, 'd>,
    /// Headers and symbols.
    pub(super) frame: Vec<Unit<'a>>,
}

/// Fills the image.
pub(super) fn fill(parts: &Parts<'_, '_>, mut contents: Contents<'_, '_>, target: Target<'_>) -> io::Result<()> {
    let frame = std::mem::take(&mut contents.frame);
    let more = frame.len() + parts.layout.m.relocs.len();
    let ((mut list, refs), kept) = parts.context.crew.join(
        || {
            let list = units(parts, &contents, more);
            let refs = list.references(parts);
            (list, refs)
        },
        || kept::places(parts, contents.places),
    );
    list.units.extend(frame);
    list.units.extend(kept);
    let mut order: Vec<u32> = (0..list.units.len() as u32).filter(|&i| list.units[i as usize].len() > 0).collect();
    // Few runs, each in file order: this takes little more than looking at them.
    order.sort_by_key(|&i| list.units[i as usize].offset);
    let filler = Filler {
        parts,
        places: contents.places,
        decider: contents.decider,
        units: &list.units,
        order: &order,
        refs: &refs,
    };
    let windows = filler.windows();
    filler.run(&windows, target)
}

struct UnitList<'a> {
    units: Vec<Unit<'a>>,
    /// Per section: its first unit, and how many.
    of_section: Table<SectionId, (u32, u32)>,
    places: &'a Placements,
}

/// Sections whose units are listed together.
const SECTIONS: usize = 4096;

/// All sections but tables and relocations. `more` will follow.
fn units<'a>(parts: &Parts<'a, '_>, contents: &Contents<'a, '_>, more: usize) -> UnitList<'a> {
    let arranged = parts.arranged;
    let positions: Vec<Range<usize>> = (0..arranged.sections.len())
        .step_by(SECTIONS)
        .map(|first| first..(first + SECTIONS).min(arranged.sections.len()))
        .collect();
    let listed = parts.context.crew.map(&positions, |range| {
        let mut units = Vec::with_capacity(range.len());
        let mut counts = Vec::with_capacity(range.len());
        for position in range.clone() {
            let first = units.len();
            section_units(parts, contents, position, &mut units);
            counts.push((units.len() - first) as u32);
        }
        (units, counts)
    });
    let mut list = UnitList {
        units: Vec::with_capacity(listed.iter().map(|l| l.0.len()).sum::<usize>() + more),
        of_section: Table::filled(parts.layout.m.sections.len(), (0, 0)),
        places: contents.places,
    };
    let mut sections = arranged.sections.iter();
    for (units, counts) in listed {
        let mut first = list.units.len() as u32;
        list.units.extend(units);
        for (count, &id) in counts.into_iter().zip(sections.by_ref()) {
            list.of_section[id] = (first, count);
            first += count;
        }
    }
    list
}

/// The units of one section.
fn section_units<'a>(parts: &Parts<'a, '_>, contents: &Contents<'a, '_>, position: usize, units: &mut Vec<Unit<'a>>) {
    let arranged = parts.arranged;
    let section = arranged.sections.get(position).zip(arranged.shapes.get(position));
    let (Some((&id, shape)), Some(place)) = (section, contents.places.list.get(position)) else {
        return;
    };
    let computed = match shape.class {
        Class::Symbols | Class::ExtendedIndices | Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_) => return,
        _ if !shape.has_bytes => return,
        Class::SectionNames => Some(arranged.section_names.as_slice()),
        Class::Strings => Some(arranged.strings.as_slice()),
        _ => contents.computed.get(id),
    };
    let s = &parts.layout.m.sections[id];
    match computed.or_else(|| s.bytes.as_deref().map(Vec::as_slice)) {
        Some(bytes) => units.push(Unit {
            offset: place.offset,
            source: Source::Bytes(bytes),
        }),
        None => units.extend(s.pieces.as_slice().iter().filter_map(|p| piece(parts, p, place))),
    }
}

fn piece<'a>(parts: &Parts<'a, '_>, p: &Piece, place: &Placement) -> Option<Unit<'a>> {
    let bytes = parts.context.inputs.objects[p.object].section(p.section)?.data;
    // A piece that does not fit its section is left out.
    let end = p.base.checked_add(bytes.len() as u64)?;
    (end <= place.size && !bytes.is_empty()).then_some(Unit {
        offset: place.offset + p.base,
        source: Source::Bytes(bytes),
    })
}

impl UnitList<'_> {
    /// The references that patch each unit, newest first.
    fn references(&self, parts: &Parts<'_, '_>) -> Lists<UnitId, u32> {
        let mut pairs: Vec<(UnitId, u32)> = Vec::new();
        for (n, (r, plan)) in parts.layout.m.relocs.iter().zip(&parts.plan.refs).enumerate() {
            let (first, count) = self.of_section[r.target];
            if !plan.patches || count == 0 {
                continue;
            }
            let own = self.units.get(first as usize..(first + count) as usize).unwrap_or_default();
            let start = self.places.start_of(parts, r.target);
            let at = own.partition_point(|u| u.offset - start <= r.base).saturating_sub(1);
            pairs.push((UnitId(first + at as u32), n as u32));
        }
        Lists::newest_first(self.units.len(), &pairs)
    }
}

struct Filler<'a, 'p, 'd> {
    parts: &'a Parts<'p, 'd>,
    places: &'a Placements,
    decider: &'a Decider<'p, 'd>,
    units: &'a [Unit<'a>],
    /// Units that have bytes, in file order.
    order: &'a [u32],
    refs: &'a Lists<UnitId, u32>,
}

impl Filler<'_, '_, '_> {
    fn unit(&self, position: usize) -> Option<(UnitId, &Unit<'_>)> {
        let &n = self.order.get(position)?;
        Some((UnitId(n), self.units.get(n as usize)?))
    }

    fn windows(&self) -> Vec<Window> {
        let mut windows: Vec<Window> = Vec::new();
        for position in 0..self.order.len() {
            let Some((id, unit)) = self.unit(position) else { continue };
            let direct = unit.bytes().is_some_and(|b| b.len() >= DIRECT) && self.patched_by(id).is_empty();
            match windows.last_mut() {
                // Windows never overlap, whatever the pieces do.
                Some(w) if unit.offset < w.end || (!direct && !w.direct && unit.end() - w.start <= WINDOW) => {
                    w.units.end = position + 1;
                    w.end = w.end.max(unit.end());
                    w.direct = false;
                }
                _ => windows.push(Window {
                    units: position..position + 1,
                    start: unit.offset,
                    end: unit.end(),
                    direct,
                }),
            }
        }
        windows
    }

    fn run(&self, windows: &[Window], target: Target<'_>) -> io::Result<()> {
        let bytes = windows.iter().map(|w| (w.end - w.start) as usize).sum();
        let parallel = self.parts.context.crew.for_part(bytes).is_several();
        match target {
            Target::Memory(image) => {
                let mut places = split(image, windows);
                let one = |(w, place): (&Window, &mut &mut [u8])| self.fill(w, place);
                if parallel {
                    windows.par_iter().zip(&mut places).for_each(one);
                } else {
                    windows.iter().zip(&mut places).for_each(one);
                }
                Ok(())
            }
            Target::Sink(sink) if parallel => windows
                .par_iter()
                .with_max_len(16)
                .try_for_each_init(Vec::new, |buffer, w| self.send(w, buffer, sink)),
            Target::Sink(sink) => {
                let mut buffer = Vec::new();
                windows.iter().try_for_each(|w| self.send(w, &mut buffer, sink))
            }
        }
    }

    fn send(&self, window: &Window, buffer: &mut Vec<u8>, sink: &dyn Sink) -> io::Result<()> {
        if let (true, Some((_, unit))) = (window.direct, self.unit(window.units.start))
            && let Some(bytes) = unit.bytes()
        {
            return sink.write_at(unit.offset, bytes);
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
        for position in window.units.clone() {
            let Some((id, unit)) = self.unit(position) else { continue };
            let at = (unit.offset - window.start) as usize;
            let Some((before, rest)) = place.split_at_mut_checked(at) else {
                continue;
            };
            if let Some(gap) = before.get_mut(done..) {
                gap.fill(0);
            }
            let Some(data) = rest.get_mut(..unit.len() as usize) else {
                continue;
            };
            done = done.max(at + data.len());
            self.write(unit.source, data);
            for &n in self.patched_by(id).iter().rev() {
                self.patch(n as usize, unit.offset, data);
            }
        }
    }

    /// References that patch a unit, newest first.
    fn patched_by(&self, id: UnitId) -> &[u32] {
        if id.index() < self.refs.owners() { self.refs.of(id) } else { &[] }
    }

    fn write(&self, source: Source<'_>, place: &mut [u8]) {
        let reference = |n: u32| self.parts.layout.m.relocs.get(n as usize);
        match source {
            Source::Bytes(bytes) => place.copy_from_slice(bytes),
            Source::Kept {
                reference: n,
                with_addends,
                ..
            } => {
                if let Some(r) = reference(n) {
                    kept::fill_kept(self.parts, self.decider, r, with_addends, place);
                }
            }
            Source::Listed { reference: n, .. } => {
                if let Some(r) = reference(n) {
                    kept::fill_listed(self.parts, self.decider, r, place);
                }
            }
            Source::Symbols(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<Sym>())) {
                    slot.copy_from_slice(super::symbol(self.parts, n).as_bytes());
                }
            }
            Source::Extended(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<u32>())) {
                    slot.copy_from_slice(&super::extended_index(self.parts, n).to_le_bytes());
                }
            }
            Source::Headers(first, _) => {
                for (n, slot) in (first as usize..).zip(place.chunks_exact_mut(size_of::<Shdr>())) {
                    slot.copy_from_slice(super::section_header(self.parts, self.places, n).as_bytes());
                }
            }
        }
    }

    /// Applies the relocations of one reference to the unit that starts at `offset` of the image.
    fn patch(&self, n: usize, offset: u64, data: &mut [u8]) {
        let Some(r) = self.parts.layout.m.relocs.get(n) else { return };
        let base = offset.saturating_sub(self.places.start_of(self.parts, r.target));
        let object = &self.parts.context.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        let (meanings, is_rela) = (self.parts.plan.meanings(r.object), relocs.is_rela());
        self.decider.for_each(object, r, meanings, |e, decision| {
            let at = e.offset.checked_sub(base).and_then(|at| usize::try_from(at).ok());
            let Some(field) = at.and_then(|at| data.get_mut(at..)) else {
                return;
            };
            match decision {
                Decision::Clear(size) => {
                    if let Some(field) = field.get_mut(..size.into()) {
                        field.fill(0);
                    }
                }
                // A field that does not fit was refused when the object was read.
                Decision::Patch(info, value, bank, _) => cubin::reloc::apply(info, field, value, bank, !is_rela).unwrap_or_default(),
                Decision::Drop | Decision::Fail(_) | Decision::Keep(..) | Decision::KeepSection(..) => {}
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
