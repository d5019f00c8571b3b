//! The emitter: a described file becomes bytes in two phases.
//!
//! 1. The caller describes an [`Image`]: header fields, sections in order with their sizes and where their bytes come from.
//! 2. [`Image::plan`] assigns every offset: a cursor starts after the file header; each section aligns it, also one without bytes in the file;
//!    bytes kept free after a section and sections that share the bytes of another one are taken into account. Section headers follow at the
//!    next multiple of 8, then the program headers.
//! 3. [`Plan::write`] fills one buffer. Callers that produce contents themselves (or in parallel) use [`Plan::range`] and [`Plan::write_headers`].
//!
//! More than 65,279 sections: `e_shnum` is 0 and section 0 holds the count; symbols get their section through [`strings::encode_symbols`].
//! A size that does not match its contents is an error.

pub mod segments;
pub mod strings;

use crate::consts::*;
use crate::raw::{Ehdr, Phdr, Shdr};
use std::borrow::Cow;
use std::ops::Range;
use zerocopy::IntoBytes;

/// Which of the vendor's two writers a file is laid out like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    /// The linker below sm_100 and the compiler below sm_90: at most one segment to read and one to write.
    Linker,
    /// The finalizer, which writes all files from sm_100 on and compiled files for sm_90: one segment per run of sections with equal permissions.
    Finalizer,
}

/// Header fields that are not computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageHeader {
    /// `e_ident`.
    pub ident: [u8; 16],
    /// `e_type`; executable files get program headers.
    pub e_type: u16,
    /// `e_version`.
    pub e_version: u32,
    /// `e_flags`.
    pub e_flags: u32,
    /// Index of the section name table.
    pub section_names: u32,
}

impl ImageHeader {
    /// `e_ident` of a CUDA 13 file.
    pub const IDENT: [u8; 16] = [0x7f, b'E', b'L', b'F', 2, 1, 1, ELFOSABI_CUDA, 8, 0, 0, 0, 0, 0, 0, 0];
}

/// Where the bytes of a section come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'d> {
    /// The section has no bytes in the file.
    NoBits,
    /// These bytes.
    Bytes(Cow<'d, [u8]>),
    /// The section has the offset of an earlier section, whose bytes it shares.
    SameAs(u32),
    /// The caller fills the section's range of the buffer.
    Later,
}

/// A section to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSection<'d> {
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
    /// `sh_addralign`; 0 counts as 1.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
    /// `sh_size`.
    pub size: u64,
    /// Bytes kept free after the contents.
    pub reserve: u64,
    /// Where the bytes come from.
    pub content: Content<'d>,
}

/// A file to write. Section 0 is not in the list: the first entry is section 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'d> {
    /// Header fields.
    pub header: ImageHeader,
    /// Writer to follow.
    pub style: Style,
    /// Sections from number 1 on.
    pub sections: Vec<ImageSection<'d>>,
}

/// Why a file cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Size and contents differ.
    #[error("section {section}: sh_size is {size:#x}, but there are {content:#x} bytes")]
    SizeMismatch {
        /// Section index.
        section: u32,
        /// `sh_size`.
        size: u64,
        /// Size of the contents.
        content: u64,
    },
    /// An alignment above 8 that is not a power of two.
    #[error("section {section}: alignment {align:#x} is not a power of two")]
    Alignment {
        /// Section index.
        section: u32,
        /// `sh_addralign`.
        align: u64,
    },
    /// A section shares bytes with one that does not come before it or has none.
    #[error("section {section} cannot share the bytes of section {other}")]
    Shared {
        /// Section index.
        section: u32,
        /// The other section.
        other: u32,
    },
    /// The file would be larger than memory can hold.
    #[error("section {section} ends beyond the largest file size")]
    TooLarge {
        /// Section index.
        section: u32,
    },
    /// The file would be larger than allowed.
    #[error("the file would have {size:#x} bytes, {limit:#x} are the most")]
    OverLimit {
        /// Size of the file.
        size: u64,
        /// Largest size.
        limit: u64,
    },
    /// The buffer has another size than the plan.
    #[error("buffer has {have} bytes, the file {need}")]
    Buffer {
        /// Size of the buffer.
        have: usize,
        /// Size of the file.
        need: usize,
    },
    /// The caller has to fill a section itself.
    #[error("contents of section {section} are left to the caller")]
    Later {
        /// Section index.
        section: u32,
    },
}

/// Offsets of a file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Offset of each section, number 0 included.
    offsets: Vec<u64>,
    section_headers: u64,
    program_headers: u64,
    segments: Vec<Phdr>,
    size: usize,
}

/// Rounds up; `None` on overflow.
fn align_up(value: u64, align: u64) -> Option<u64> {
    value.checked_next_multiple_of(align.max(1))
}

impl<'d> Image<'d> {
    /// Number of sections, number 0 included.
    pub fn section_count(&self) -> usize {
        self.sections.len() + 1
    }

    /// Sections with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (u32, &ImageSection<'d>)> {
        (1u32..).zip(&self.sections)
    }

    /// Assigns all offsets.
    pub fn plan(&self) -> Result<Plan, WriteError> {
        let mut offsets = Vec::with_capacity(self.section_count());
        offsets.push(0);
        let mut cursor = size_of::<Ehdr>() as u64;
        for (i, s) in self.numbered() {
            check_section(i, s)?;
            if let Content::SameAs(other) = s.content {
                offsets.push(self.shared_offset(i, s, other, &offsets)?);
                continue;
            }
            let too_large = WriteError::TooLarge { section: i };
            let offset = align_up(cursor, s.align).ok_or_else(|| too_large.clone())?;
            offsets.push(offset);
            let used = if matches!(s.content, Content::NoBits) { 0 } else { s.size };
            let end = offset.checked_add(used).and_then(|e| e.checked_add(s.reserve));
            cursor = end.filter(|&e| e <= isize::MAX as u64 / 2).ok_or(too_large)?;
        }
        let section_headers = cursor.next_multiple_of(8);
        let program_headers = section_headers + (self.section_count() * size_of::<Shdr>()) as u64;
        let segments = segments::segments(self, &offsets, program_headers);
        let size = program_headers as usize + size_of_val(segments.as_slice());
        Ok(Plan {
            offsets,
            section_headers,
            program_headers,
            segments,
            size,
        })
    }

    fn shared_offset(&self, i: u32, s: &ImageSection<'d>, other: u32, offsets: &[u64]) -> Result<u64, WriteError> {
        let refuse = WriteError::Shared { section: i, other };
        let twin = (other as usize).checked_sub(1).and_then(|t| self.sections.get(t));
        let (Some(twin), Some(&offset)) = (twin, offsets.get(other as usize)) else {
            return Err(refuse);
        };
        if twin.size != s.size {
            return Err(WriteError::SizeMismatch {
                section: i,
                size: s.size,
                content: twin.size,
            });
        }
        Ok(offset)
    }

    /// The whole file. All contents must be known.
    pub fn emit(&self) -> Result<Vec<u8>, WriteError> {
        self.emit_within(isize::MAX as u64)
    }

    /// The whole file, unless it would be larger than `limit`.
    pub fn emit_within(&self, limit: u64) -> Result<Vec<u8>, WriteError> {
        let plan = self.plan()?;
        if plan.size() as u64 > limit {
            return Err(WriteError::OverLimit {
                size: plan.size() as u64,
                limit,
            });
        }
        let mut out = vec![0; plan.size()];
        plan.write(self, &mut out)?;
        Ok(out)
    }
}

fn check_section(i: u32, s: &ImageSection<'_>) -> Result<(), WriteError> {
    // Relocatable links of relocatable links take alignments of shared memory from addresses.
    // nvlink aligns small constants to their size, so that banks of them have any alignment up to 8.
    if s.align > 8 && !s.align.is_power_of_two() && s.content != Content::NoBits {
        return Err(WriteError::Alignment {
            section: i,
            align: s.align,
        });
    }
    match &s.content {
        Content::Bytes(bytes) if bytes.len() as u64 != s.size => Err(WriteError::SizeMismatch {
            section: i,
            size: s.size,
            content: bytes.len() as u64,
        }),
        _ => Ok(()),
    }
}

impl Plan {
    /// Size of the file.
    pub fn size(&self) -> usize {
        self.size
    }
    /// Offset of a section.
    pub fn offset(&self, section: u32) -> Option<u64> {
        self.offsets.get(section as usize).copied()
    }
    /// Offset of the section headers.
    pub fn section_header_offset(&self) -> u64 {
        self.section_headers
    }
    /// Program headers.
    pub fn segments(&self) -> &[Phdr] {
        &self.segments
    }
    /// Bytes of a section in the file; empty for sections without bytes.
    pub fn range(&self, image: &Image<'_>, section: u32) -> Option<Range<usize>> {
        let s = image.sections.get((section as usize).checked_sub(1)?)?;
        let start = usize::try_from(self.offset(section)?).ok()?;
        let size = if matches!(s.content, Content::NoBits) { 0 } else { s.size as usize };
        Some(start..start.checked_add(size)?)
    }

    /// Fills a zeroed buffer of [`Plan::size`] bytes. All contents must be known.
    pub fn write(&self, image: &Image<'_>, out: &mut [u8]) -> Result<(), WriteError> {
        self.write_headers(image, out)?;
        for (i, s) in image.numbered() {
            let bytes: &[u8] = match &s.content {
                Content::Bytes(bytes) => bytes,
                Content::Later => return Err(WriteError::Later { section: i }),
                Content::NoBits | Content::SameAs(_) => continue,
            };
            let mismatch = WriteError::SizeMismatch {
                section: i,
                size: s.size,
                content: bytes.len() as u64,
            };
            let target = self.range(image, i).and_then(|r| out.get_mut(r));
            match target {
                Some(target) if target.len() == bytes.len() => target.copy_from_slice(bytes),
                _ => return Err(mismatch),
            }
        }
        Ok(())
    }

    /// Writes the file header, the section headers and the program headers.
    pub fn write_headers(&self, image: &Image<'_>, out: &mut [u8]) -> Result<(), WriteError> {
        let have = out.len();
        let wrong = WriteError::Buffer { have, need: self.size };
        if have != self.size || self.offsets.len() != image.section_count() {
            return Err(wrong);
        }
        let mut put = |offset: u64, bytes: &[u8]| {
            let start = offset as usize;
            let target = start.checked_add(bytes.len()).and_then(|end| out.get_mut(start..end));
            target.map(|t| t.copy_from_slice(bytes)).ok_or_else(|| wrong.clone())
        };
        put(0, self.file_header(image).as_bytes())?;
        put(self.section_headers, null_header(image).as_bytes())?;
        let entry = size_of::<Shdr>() as u64;
        let mut at = self.section_headers + entry;
        for ((_, s), &offset) in image.numbered().zip(self.offsets.iter().skip(1)) {
            put(at, section_header(s, offset).as_bytes())?;
            at += entry;
        }
        put(self.program_headers, self.segments.as_bytes())
    }

    fn file_header(&self, image: &Image<'_>) -> Ehdr {
        let executable = !self.segments.is_empty();
        // Observed: the linker's writer states the entry size even without program headers.
        let entry = executable || image.style == Style::Linker;
        let names = image.header.section_names;
        Ehdr {
            ident: image.header.ident,
            e_type: image.header.e_type.into(),
            e_machine: EM_CUDA.into(),
            e_version: image.header.e_version.into(),
            e_entry: 0.into(),
            e_phoff: if executable { self.program_headers } else { 0 }.into(),
            e_shoff: self.section_headers.into(),
            e_flags: image.header.e_flags.into(),
            e_ehsize: (size_of::<Ehdr>() as u16).into(),
            e_phentsize: if entry { size_of::<Phdr>() as u16 } else { 0 }.into(),
            e_phnum: (self.segments.len() as u16).into(),
            e_shentsize: (size_of::<Shdr>() as u16).into(),
            e_shnum: direct_count(image).unwrap_or(0).into(),
            e_shstrndx: direct_index(names.into()).unwrap_or(SHN_XINDEX).into(),
        }
    }
}

/// An index as 16 bits, if it is not in the reserved range.
fn direct_index(index: u64) -> Option<u16> {
    u16::try_from(index).ok().filter(|&i| i < SHN_LORESERVE)
}

/// The number of sections as 16 bits, if the header can hold it. Observed: the finalizer takes the first reserved number for one that it can.
fn direct_count(image: &Image<'_>) -> Option<u16> {
    let count = image.section_count() as u64;
    match image.style {
        Style::Finalizer if count == SHN_LORESERVE.into() => Some(SHN_LORESERVE),
        _ => direct_index(count),
    }
}

/// Section 0: holds what does not fit the file header.
fn null_header(image: &Image<'_>) -> Shdr {
    let count = image.section_count() as u64;
    let names = image.header.section_names;
    Shdr {
        sh_size: if direct_count(image).is_none() { count } else { 0 }.into(),
        sh_link: if direct_index(names.into()).is_none() { names } else { 0 }.into(),
        ..Shdr::default()
    }
}

fn section_header(s: &ImageSection<'_>, offset: u64) -> Shdr {
    Shdr {
        sh_name: s.name.into(),
        sh_type: s.sh_type.into(),
        sh_flags: s.flags.into(),
        sh_addr: 0.into(),
        sh_offset: offset.into(),
        sh_size: s.size.into(),
        sh_link: s.link.into(),
        sh_info: s.info.into(),
        sh_addralign: s.align.into(),
        sh_entsize: s.entsize.into(),
    }
}

#[cfg(test)]
mod tests;
