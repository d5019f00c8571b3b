//! Program headers of executable files.
//!
//! The linker's writer: the table itself, one segment over all allocated sections that are not writable, one over the writable ones, the table again.
//! The finalizer: the table twice, then one segment per run of allocated sections of the SASS view with equal permissions, in section order.
//!
//! A segment's size in memory is its size in the file plus the memory of its sections without bytes: each starts at the next multiple of its
//! alignment counted from its file offset plus what came before.

use super::{Extent, Storage, WriterKind};
use crate::consts::*;
use crate::raw::Phdr;

const READ: u32 = 4;
const WRITE: u32 = 2;
const EXECUTE: u32 = 1;

/// A segment in the making.
pub(super) struct Segment {
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

    fn add(&mut self, s: &Extent, offset: u64) {
        if s.storage != Storage::NoBits {
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

/// The segments of a file, while its sections are placed one after the other.
pub(super) enum Segments {
    /// A file without program headers.
    None,
    /// The linker's: to read, to write.
    Linker([Option<Segment>; 2]),
    /// The finalizer's.
    Finalizer(Vec<Segment>),
}

impl Segments {
    pub(super) fn new(writer: WriterKind, executable: bool) -> Self {
        match writer {
            _ if !executable => Segments::None,
            WriterKind::Linker => Segments::Linker([None, None]),
            WriterKind::Finalizer | WriterKind::FirstFinalizer => Segments::Finalizer(Vec::new()),
        }
    }

    /// Adds a section to the segment that it belongs to.
    pub(super) fn add(&mut self, s: &Extent, offset: u64) {
        if s.flags & (SHF_ALLOC | SHF_CUDA_MERCURY) != SHF_ALLOC {
            return;
        }
        match self {
            Segments::None => {}
            Segments::Linker([read, write]) => {
                let (segment, permissions) = match s.flags & SHF_WRITE {
                    0 => (read, READ | EXECUTE),
                    _ => (write, READ | WRITE),
                };
                segment.get_or_insert_with(|| Segment::new(permissions, offset)).add(s, offset);
            }
            Segments::Finalizer(list) => {
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
        }
    }

    /// The program headers. `table` is their own offset.
    pub(super) fn finish(self, table: u64) -> Vec<Phdr> {
        let own = |flags: u32, segments: usize| {
            let size = ((segments + 2) * size_of::<Phdr>()) as u64;
            let load = load(flags, table, size, size);
            let p_type = PT_PHDR.into();
            (Phdr { p_type, ..load }, load)
        };
        match self {
            Segments::None => Vec::new(),
            Segments::Linker(list) => {
                let body: Vec<Phdr> = list.iter().flatten().map(Segment::header).collect();
                let (first, last) = own(READ | EXECUTE, body.len());
                [first].into_iter().chain(body).chain([last]).collect()
            }
            Segments::Finalizer(list) => {
                let (first, second) = own(READ, list.len());
                [first, second].into_iter().chain(list.iter().map(Segment::header)).collect()
            }
        }
    }
}
