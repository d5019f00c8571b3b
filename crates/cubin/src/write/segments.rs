//! Program headers of executable files.
//!
//! The linker's writer: the table itself, one segment over all allocated sections that are not writable, one over the writable ones, the table again.
//! The finalizer: the table twice, then one segment per run of allocated sections of the SASS view with equal permissions, in section order.
//!
//! A segment's size in memory is its size in the file plus the memory of its sections without bytes: each starts at the next multiple of its
//! alignment counted from its file offset plus what came before.

use super::{Content, Image, ImageSection, Style};
use crate::consts::*;
use crate::raw::Phdr;

const READ: u32 = 4;
const WRITE: u32 = 2;
const EXECUTE: u32 = 1;

/// A segment in the making.
struct Segment {
    flags: u32,
    start: u64,
    end: u64,
    /// Memory beyond the file's bytes.
    extra: u64,
}

impl Segment {
    fn new(flags: u32, start: u64) -> Self {
        Segment {
            flags,
            start,
            end: start,
            extra: 0,
        }
    }

    fn add(&mut self, s: &ImageSection<'_>, offset: u64) {
        if !matches!(s.content, Content::NoBits) {
            self.end = offset + s.size;
            return;
        }
        self.end = offset;
        let before = offset.saturating_add(self.extra);
        let at = before.checked_next_multiple_of(s.align.max(1)).unwrap_or(u64::MAX);
        self.extra = at.saturating_add(s.size) - offset;
    }

    fn header(&self) -> Phdr {
        let size = self.end.saturating_sub(self.start);
        load(self.flags, self.start, size, size.saturating_add(self.extra))
    }
}

fn load(flags: u32, offset: u64, file: u64, memory: u64) -> Phdr {
    Phdr {
        p_type: PT_LOAD.into(),
        p_flags: flags.into(),
        p_offset: offset.into(),
        p_filesz: file.into(),
        p_memsz: memory.into(),
        p_align: 8.into(),
        ..Phdr::default()
    }
}

/// Program headers of a file whose sections have these offsets (number 0 included). `table` is where the headers go.
pub(super) fn segments(image: &Image<'_>, offsets: &[u64], table: u64) -> Vec<Phdr> {
    if image.header.e_type != ET_EXEC {
        return Vec::new();
    }
    let allocated = || {
        let placed = image.sections.iter().zip(offsets.iter().skip(1).copied());
        placed.filter(|(s, _)| s.flags & SHF_ALLOC != 0 && s.flags & SHF_CUDA_MERCURY == 0)
    };
    let list = match image.style {
        Style::Linker => {
            let read = covering(READ | EXECUTE, allocated().filter(|(s, _)| s.flags & SHF_WRITE == 0));
            let write = covering(READ | WRITE, allocated().filter(|(s, _)| s.flags & SHF_WRITE != 0));
            read.into_iter().chain(write).collect()
        }
        Style::Finalizer => runs(allocated()),
    };
    let size = ((list.len() + 2) * size_of::<Phdr>()) as u64;
    let own = match image.style {
        Style::Linker => load(READ | EXECUTE, table, size, size),
        Style::Finalizer => load(READ, table, size, size),
    };
    let first = Phdr {
        p_type: PT_PHDR.into(),
        ..own
    };
    let body = list.iter().map(Segment::header);
    match image.style {
        Style::Linker => [first].into_iter().chain(body).chain([own]).collect(),
        Style::Finalizer => [first, own].into_iter().chain(body).collect(),
    }
}

/// One segment over all these sections.
fn covering<'a, 'd: 'a>(flags: u32, sections: impl Iterator<Item = (&'a ImageSection<'d>, u64)>) -> Option<Segment> {
    let mut segment: Option<Segment> = None;
    for (s, offset) in sections {
        segment.get_or_insert_with(|| Segment::new(flags, offset)).add(s, offset);
    }
    segment
}

/// One segment per run of sections with equal permissions.
fn runs<'a, 'd: 'a>(sections: impl Iterator<Item = (&'a ImageSection<'d>, u64)>) -> Vec<Segment> {
    let mut list: Vec<Segment> = Vec::new();
    for (s, offset) in sections {
        let bit = |flag: u64, permission: u32| if s.flags & flag != 0 { permission } else { 0 };
        let flags = READ | bit(SHF_WRITE, WRITE) | bit(SHF_EXECINSTR, EXECUTE);
        match list.last_mut() {
            Some(last) if last.flags == flags => last.add(s, offset),
            _ => {
                let mut segment = Segment::new(flags, offset);
                segment.add(s, offset);
                list.push(segment);
            }
        }
    }
    list
}
