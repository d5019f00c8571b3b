//! The emitter: a described file becomes bytes in two phases.
//!
//! 1. [`Plan::new`] takes the header fields and the [`Extent`] of every section, and assigns every offset. It is the only owner of offsets, file header,
//!    section 0 and program headers, and completes the other section headers.
//! 2. The contents are placed at those offsets. A caller that makes contents itself, in parallel or in parts, takes [`Plan::placement`] and the
//!    headers from the plan.
//! 3. A caller that has all contents describes an [`Image`]: [`Image::plan`] makes its plan, [`Image::parts`] gives the file in parts, in file order,
//!    and [`Image::emit`] gives it as one buffer.
//!
//! More than 65,279 sections: `e_shnum` is 0 and section 0 holds the count; symbols get their section through [`strings::encode_symbols`].
//! A size that does not match its contents is an error.

mod plan;
pub mod segments;
pub mod strings;

pub use plan::{Extent, Placement, Plan, SectionFields, Storage};

use crate::consts::*;
use crate::raw::Shdr;
use std::borrow::Cow;
use zerocopy::IntoBytes;

/// Which of the vendor's two writers a file is laid out like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriterKind {
    /// The linker below sm_100 and the compiler below sm_90: at most one segment to read and one to write.
    Linker,
    /// The finalizer, which writes all files from sm_100 on and compiled files for sm_90: one segment per run of sections with equal permissions.
    Finalizer,
    /// The finalizer of CUDA 12.8: sections that repeat the place of another one move the next one to their alignment.
    FirstFinalizer,
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
    pub writer: WriterKind,
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
}

/// A part of a file: its offset and its bytes.
pub type FilePart<'i> = (u64, Cow<'i, [u8]>);

impl ImageSection<'_> {
    fn extent(&self) -> Extent {
        Extent {
            size: self.size,
            align: self.align,
            reserve: self.reserve,
            flags: self.flags,
            storage: match self.content {
                Content::NoBits => Storage::NoBits,
                Content::Bytes(_) => Storage::Own,
                Content::SameAs(other) => Storage::SameAs(other),
            },
        }
    }

    fn fields(&self) -> SectionFields {
        SectionFields {
            name: self.name,
            sh_type: self.sh_type,
            flags: self.flags,
            link: self.link,
            info: self.info,
            align: self.align,
            entsize: self.entsize,
        }
    }
}

impl<'d> Image<'d> {
    /// Sections with their numbers.
    fn numbered(&self) -> impl Iterator<Item = (u32, &ImageSection<'d>)> {
        (1u32..).zip(&self.sections)
    }

    /// Assigns all offsets.
    pub fn plan(&self) -> Result<Plan, WriteError> {
        for (i, s) in self.numbered() {
            check_section(i, s)?;
        }
        Plan::new(self.header, self.writer, self.sections.iter().map(ImageSection::extent))
    }

    /// The header of a section, or of what is before the first one. `plan` is this image's.
    pub fn section_header(&self, plan: &Plan, number: u32) -> Shdr {
        let section = (number as usize).checked_sub(1).and_then(|n| self.sections.get(n));
        section.map_or_else(|| plan.null_header(), |s| plan.section_header(number, &s.fields()))
    }

    /// The parts of the file that are not zero bytes between sections, in file order. `plan` is this image's.
    pub fn parts<'i>(&'i self, plan: &'i Plan) -> Vec<FilePart<'i>> {
        let mut headers = Vec::with_capacity(plan.section_count() * size_of::<Shdr>());
        for number in 0..plan.section_count() as u32 {
            headers.extend_from_slice(self.section_header(plan, number).as_bytes());
        }
        let mut parts: Vec<FilePart<'i>> = Vec::with_capacity(self.sections.len() + 3);
        parts.push((0, plan.file_header().as_bytes().to_vec().into()));
        for (s, place) in self.sections.iter().zip(plan.placements()) {
            if let Content::Bytes(bytes) = &s.content
                && !bytes.is_empty()
            {
                parts.push((place.offset, bytes.as_ref().into()));
            }
        }
        parts.push((plan.section_header_offset(), headers.into()));
        parts.push((plan.program_header_offset(), plan.segments().as_bytes().into()));
        parts
    }

    /// The whole file.
    pub fn emit(&self) -> Result<Vec<u8>, WriteError> {
        self.emit_within(isize::MAX as u64)
    }

    /// The whole file, unless it would be larger than `limit`.
    pub fn emit_within(&self, limit: u64) -> Result<Vec<u8>, WriteError> {
        let plan = self.plan()?;
        plan.check_size(limit)?;
        let mut out = Vec::with_capacity(plan.size() as usize);
        for (offset, bytes) in self.parts(&plan) {
            // Parts do not overlap and are in file order: what is skipped is padding.
            out.resize(offset as usize, 0);
            out.extend_from_slice(&bytes);
        }
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

#[cfg(test)]
mod tests;
