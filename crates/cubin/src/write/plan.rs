//! Offsets and headers of a file.
//!
//! 1. A cursor starts after the file header. Each section aligns it, also one without bytes in the file, and moves it by its size and the bytes kept free
//!    after it. A section that shares the bytes of an earlier one has that one's offset and leaves the cursor where it is.
//! 2. Section headers follow at the next multiple of 8, then the program headers (`segments`).
//! 3. The file header and section 0 follow from the number of sections and the offsets of both tables.

use super::segments::Segments;
use super::{ImageHeader, WriteError, WriterKind};
use crate::consts::*;
use crate::raw::{Ehdr, Phdr, Shdr};
use std::ops::Range;

/// Whose bytes a section has in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// None.
    NoBits,
    /// Its own.
    Own,
    /// Those of an earlier section, whose offset it has.
    SameAs(u32),
}

/// What decides the place of a section in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// `sh_size`.
    pub size: u64,
    /// `sh_addralign`; 0 counts as 1.
    pub align: u64,
    /// Bytes kept free after the contents.
    pub reserve: u64,
    /// `sh_flags`; of interest are those that decide its segment.
    pub flags: u64,
    /// Whose bytes it has.
    pub storage: Storage,
}

/// Fields of a section header that do not depend on its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionFields {
    /// Offset of the name in the section name table.
    pub name: u32,
    /// `sh_type`.
    pub sh_type: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
}

/// File offset and size of a section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// `sh_offset`.
    pub offset: u64,
    /// `sh_size`.
    pub size: u64,
}

impl Placement {
    /// The bytes of a section that has bytes in the file.
    pub fn span(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }
}

/// Offsets and headers of a file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    header: ImageHeader,
    writer: WriterKind,
    /// Sections from number 1 on.
    places: Vec<Placement>,
    section_headers: u64,
    program_headers: u64,
    segments: Vec<Phdr>,
    size: u64,
}

/// Larger files cannot be addressed.
const MAX_OFFSET: u64 = isize::MAX as u64 / 2;

/// Rounds up; `None` on overflow.
fn align_up(value: u64, align: u64) -> Option<u64> {
    // Division is slow; almost all alignments are powers of two.
    if align.is_power_of_two() {
        return Some(value.checked_add(align - 1)? & !(align - 1));
    }
    value.checked_next_multiple_of(align.max(1))
}

impl Plan {
    /// Assigns all offsets. `sections` are those from number 1 on.
    pub fn new(header: ImageHeader, writer: WriterKind, sections: impl ExactSizeIterator<Item = Extent>) -> Result<Self, WriteError> {
        let mut places: Vec<Placement> = Vec::with_capacity(sections.len());
        let mut segments = Segments::new(writer, header.e_type == ET_EXEC);
        let mut cursor = size_of::<Ehdr>() as u64;
        for (number, extent) in (1u32..).zip(sections) {
            let too_large = WriteError::TooLarge { section: number };
            let offset = match extent.storage {
                Storage::SameAs(other) => {
                    if writer == WriterKind::FirstFinalizer {
                        cursor = align_up(cursor, extent.align).ok_or(too_large)?;
                    }
                    shared_offset(&places, number, extent.size, other)?
                }
                Storage::NoBits | Storage::Own => {
                    let Some(offset) = align_up(cursor, extent.align) else {
                        return Err(too_large);
                    };
                    let used = if extent.storage == Storage::Own { extent.size } else { 0 };
                    let end = offset.checked_add(used).and_then(|end| end.checked_add(extent.reserve));
                    let Some(end) = end.filter(|&end| end <= MAX_OFFSET) else {
                        return Err(too_large);
                    };
                    cursor = end;
                    offset
                }
            };
            segments.add(&extent, offset);
            places.push(Placement { offset, size: extent.size });
        }
        let section_headers = cursor.next_multiple_of(8);
        let program_headers = section_headers + ((places.len() + 1) * size_of::<Shdr>()) as u64;
        let segments = segments.finish(program_headers);
        let size = program_headers + size_of_val(segments.as_slice()) as u64;
        Ok(Plan {
            header,
            writer,
            places,
            section_headers,
            program_headers,
            segments,
            size,
        })
    }

    /// Size of the file.
    pub fn size(&self) -> u64 {
        self.size
    }
    /// Refuses a file larger than `limit`.
    pub fn check_size(&self, limit: u64) -> Result<(), WriteError> {
        let size = self.size;
        if size > limit {
            return Err(WriteError::OverLimit { size, limit });
        }
        Ok(())
    }
    /// Number of sections, number 0 included.
    pub fn section_count(&self) -> usize {
        self.places.len() + 1
    }
    /// Places of the sections from number 1 on.
    pub fn placements(&self) -> &[Placement] {
        &self.places
    }
    /// Place of a section; `None` for section 0 and numbers that do not exist.
    pub fn placement(&self, section: u32) -> Option<Placement> {
        self.places.get((section as usize).checked_sub(1)?).copied()
    }
    /// Offset of the section headers.
    pub fn section_header_offset(&self) -> u64 {
        self.section_headers
    }
    /// Offset of the program headers; the end of a file that has none.
    pub fn program_header_offset(&self) -> u64 {
        self.program_headers
    }
    /// Program headers.
    pub fn segments(&self) -> &[Phdr] {
        &self.segments
    }

    /// The file header.
    pub fn file_header(&self) -> Ehdr {
        let executable = !self.segments.is_empty();
        // Observed: the linker's writer states the entry size even without program headers.
        let entry = executable || self.writer == WriterKind::Linker;
        Ehdr {
            ident: self.header.ident,
            e_type: self.header.e_type.into(),
            e_machine: EM_CUDA.into(),
            e_version: self.header.e_version.into(),
            e_entry: 0.into(),
            e_phoff: if executable { self.program_headers } else { 0 }.into(),
            e_shoff: self.section_headers.into(),
            e_flags: self.header.e_flags.into(),
            e_ehsize: (size_of::<Ehdr>() as u16).into(),
            e_phentsize: if entry { size_of::<Phdr>() as u16 } else { 0 }.into(),
            e_phnum: (self.segments.len() as u16).into(),
            e_shentsize: (size_of::<Shdr>() as u16).into(),
            e_shnum: self.direct_count().unwrap_or(0).into(),
            e_shstrndx: direct_index(self.header.section_names.into()).unwrap_or(SHN_XINDEX).into(),
        }
    }

    /// Section 0: holds what does not fit the file header.
    pub fn null_header(&self) -> Shdr {
        let names = self.header.section_names;
        let count = match self.direct_count() {
            Some(_) => 0,
            None => self.section_count() as u64,
        };
        Shdr {
            sh_size: count.into(),
            sh_link: if direct_index(names.into()).is_none() { names } else { 0 }.into(),
            ..Shdr::default()
        }
    }

    /// The header of a section.
    pub fn section_header(&self, section: u32, fields: &SectionFields) -> Shdr {
        let place = self.placement(section).unwrap_or_default();
        Shdr {
            sh_name: fields.name.into(),
            sh_type: fields.sh_type.into(),
            sh_flags: fields.flags.into(),
            sh_addr: 0.into(),
            sh_offset: place.offset.into(),
            sh_size: place.size.into(),
            sh_link: fields.link.into(),
            sh_info: fields.info.into(),
            sh_addralign: fields.align.into(),
            sh_entsize: fields.entsize.into(),
        }
    }

    /// The number of sections as 16 bits, if the header can hold it. Observed: the finalizer takes the first reserved number for one that it can.
    fn direct_count(&self) -> Option<u16> {
        let count = self.section_count() as u64;
        match self.writer {
            WriterKind::Finalizer | WriterKind::FirstFinalizer if count == SHN_LORESERVE.into() => Some(SHN_LORESERVE),
            _ => direct_index(count),
        }
    }
}

/// The offset of a section that shares the bytes of `other`.
fn shared_offset(places: &[Placement], section: u32, size: u64, other: u32) -> Result<u64, WriteError> {
    let twin = (other as usize).checked_sub(1).and_then(|at| places.get(at));
    let twin = twin.ok_or(WriteError::Shared { section, other })?;
    if twin.size != size {
        return Err(WriteError::SizeMismatch {
            section,
            size,
            content: twin.size,
        });
    }
    Ok(twin.offset)
}

/// An index as 16 bits, if it is not in the reserved range.
fn direct_index(index: u64) -> Option<u16> {
    u16::try_from(index).ok().filter(|&i| i < SHN_LORESERVE)
}
