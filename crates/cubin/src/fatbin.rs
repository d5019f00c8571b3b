//! The fat binary container: device code for several architectures in one blob.
//!
//! 1. A header of 16 bytes holds a magic, a version and the size of all entries.
//! 2. An entry is a header (64 bytes, then identifier and option strings, padded to 8) and its data.
//! 3. Flags say how the data is stored: as it is, as an LZ4 block, or as a zstd frame.
//! 4. [`Entry::payload`] unpacks. The size that the header claims is compared with a limit and with what the stored bytes can hold
//!    before anything is allocated, and the result must have exactly that size.
//!
//! An entry may be a group ([`EntryKind::Group`], `fatbinary --concat` of CUDA 13.4): images one after another, compressed as one, with a table
//! of headers in place of options. [`Entry::members`] gives them as entries.
//!
//! [`Writer`] makes containers of stored entries.

mod group;
mod unpack;
mod write;

pub use unpack::{Content, DEFAULT_LIMIT, Packed};
pub use write::{NewEntry, Writer};

use crate::arch::{Arch, Suffix};
use crate::codec::{CodecError, u32_at};
use std::borrow::Cow;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First word of a container.
pub const MAGIC: u32 = 0xba55_ed50;
/// First word of the structure in a host object that points to a container.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// Version of a container.
pub const VERSION: u16 = 1;

/// Flag: 64-bit code.
pub const FLAG_64BIT: u64 = 0x1;
/// Flag: compiled for debugging.
pub const FLAG_DEBUG: u64 = 0x2;
/// Flag: made on a Linux host.
pub const FLAG_LINUX: u64 = 0x10;
/// Flag: stored as an LZ4 block.
pub const FLAG_LZ4: u64 = 0x2000;
/// Flag: stored as a zstd frame.
pub const FLAG_ZSTD: u64 = 0x8000;
/// Flag: data is scrambled.
pub const FLAG_SCRAMBLED: u64 = 0x1_0000;
/// Flag: architecture with suffix `a`.
pub const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
/// Flag: architecture with suffix `f`.
pub const FLAG_FAMILY_SPECIFIC: u64 = 0x20_0000;
/// Flag: device file with a Mercury view.
pub const FLAG_MERCURY: u64 = 0x100_0000;

/// Names of the flags, lowest first.
pub const FLAG_NAMES: [(u64, &str); 9] = [
    (FLAG_64BIT, "64bit"),
    (FLAG_DEBUG, "debug"),
    (FLAG_LINUX, "linux"),
    (FLAG_LZ4, "lz4"),
    (FLAG_ZSTD, "zstd"),
    (FLAG_SCRAMBLED, "scrambled"),
    (FLAG_ARCH_SPECIFIC, "arch-specific"),
    (FLAG_FAMILY_SPECIFIC, "family-specific"),
    (FLAG_MERCURY, "mercury"),
];

/// Header of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FatbinHeader {
    /// [`MAGIC`].
    pub magic: U32,
    /// [`VERSION`].
    pub version: U16,
    /// Size of this header.
    pub header_size: U16,
    /// Size of all entries.
    pub payload_size: U64,
}

/// Fixed part of an entry's header.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct EntryHeader {
    /// What the data is: 1 PTX, 2 device ELF, 8 LTO code.
    pub kind: U16,
    /// Version of the entry, 0x0101.
    pub version: U16,
    /// Size of the header with its strings.
    pub header_size: U32,
    /// Size of the stored data with its padding.
    pub stored_size: U64,
    /// Size of compressed data without padding, 0 when it is not compressed.
    pub compressed_size: U32,
    /// Offset of the option block from the start of the entry, 0 when there is none.
    pub options: U32,
    /// Minor version of the data's format.
    pub minor: U16,
    /// Major version of the data's format.
    pub major: U16,
    /// Architecture number, 90 for sm_90.
    pub arch: U32,
    /// Offset of the identifier from the start of the entry, 0 when there is none.
    pub identifier: U32,
    /// Size of the identifier.
    pub identifier_size: U32,
    /// Flags.
    pub flags: U64,
    /// Key of scrambled data.
    pub key: U64,
    /// Size of the unpacked data, 0 when it is not compressed.
    pub unpacked_size: U64,
}

/// Kind of the image in an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// A device ELF file.
    Elf,
    /// Code for link-time optimization.
    Lto,
    /// Mercury code.
    Mercury,
    /// Images compressed as one.
    Group,
    /// Something else.
    Other(u16),
}

impl EntryKind {
    /// Number in the header.
    pub fn code(self) -> u16 {
        match self {
            EntryKind::Ptx => 1,
            EntryKind::Elf => 2,
            EntryKind::Lto => 8,
            EntryKind::Mercury => 16,
            EntryKind::Group => 0x100,
            EntryKind::Other(code) => code,
        }
    }
    /// Kind with this number.
    pub fn from_code(code: u16) -> Self {
        match code {
            1 => EntryKind::Ptx,
            2 => EntryKind::Elf,
            8 => EntryKind::Lto,
            16 => EntryKind::Mercury,
            0x100 => EntryKind::Group,
            other => EntryKind::Other(other),
        }
    }
}

/// Compression of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As it is.
    Stored,
    /// LZ4 block.
    Lz4,
    /// zstd frame.
    Zstd,
}

/// Why a container or an entry is not readable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FatbinError {
    /// No container.
    #[error("not a fat binary: first word is {magic:#010x}")]
    Magic {
        /// First word.
        magic: u32,
    },
    /// Another version.
    #[error("fat binary version {version}, header size {header_size}: only version 1 with at least 16 bytes is known")]
    Version {
        /// Version.
        version: u16,
        /// Header size.
        header_size: u16,
    },
    /// Damage in the container.
    #[error("fat binary: {0}")]
    Codec(#[from] CodecError),
    /// An entry claims to unpack to more than allowed.
    #[error("fat binary entry at offset {offset:#x} claims to unpack {stored} bytes to {claimed}, at most {limit} are accepted")]
    TooLarge {
        /// Offset of the entry.
        offset: usize,
        /// Stored size.
        stored: usize,
        /// Claimed size.
        claimed: u64,
        /// Largest size accepted.
        limit: u64,
    },
    /// Compressed data that does not unpack to the claimed size.
    #[error("fat binary entry at offset {offset:#x}: {reason}")]
    Unpack {
        /// Offset of the entry.
        offset: usize,
        /// Cause of the failure.
        reason: String,
    },
}

/// A container.
#[derive(Debug, Clone, Copy)]
pub struct Fatbin<'d> {
    /// Header.
    pub header: &'d FatbinHeader,
    payload: &'d [u8],
}

impl<'d> Fatbin<'d> {
    /// Reads the container at the start of `data`; bytes after it are ignored.
    pub fn parse(data: &'d [u8]) -> Result<Self, FatbinError> {
        let (header, _) = FatbinHeader::ref_from_prefix(data).map_err(|_| CodecError::Truncated {
            what: "header",
            offset: 0,
            need: size_of::<FatbinHeader>() as u64,
            have: data.len(),
        })?;
        if header.magic.get() != MAGIC {
            return Err(FatbinError::Magic { magic: header.magic.get() });
        }
        let header_size = header.header_size.get();
        if header.version.get() != VERSION || usize::from(header_size) < size_of::<FatbinHeader>() {
            return Err(FatbinError::Version {
                version: header.version.get(),
                header_size,
            });
        }
        let rest = data.get(usize::from(header_size)..).unwrap_or_default();
        let size = usize::try_from(header.payload_size.get()).unwrap_or(usize::MAX).min(rest.len());
        Ok(Fatbin {
            header,
            payload: rest.get(..size).unwrap_or_default(),
        })
    }

    /// Size of the whole container as its header says.
    pub fn size(&self) -> u64 {
        self.header.payload_size.get().saturating_add(self.header.header_size.get().into())
    }
    /// True when the data ends before the container does.
    pub fn is_truncated(&self) -> bool {
        (self.payload.len() as u64) < self.header.payload_size.get()
    }
    /// The entries in order. Stops after the first error.
    pub fn entries(&self) -> Entries<'d> {
        Entries {
            payload: self.payload,
            at: 0,
            base: self.header.header_size.get().into(),
        }
    }
}

/// Iterator over the entries of a container.
#[derive(Debug, Clone)]
pub struct Entries<'d> {
    payload: &'d [u8],
    at: usize,
    base: usize,
}

impl<'d> Entries<'d> {
    fn read(&mut self) -> Result<Entry<'d>, FatbinError> {
        const WHAT: &str = "entry header";
        let offset = self.base + self.at;
        let rest = self.payload.get(self.at..).unwrap_or_default();
        let truncated = |need: u64| CodecError::Truncated {
            what: WHAT,
            offset,
            need,
            have: rest.len(),
        };
        let fixed = size_of::<EntryHeader>();
        let (header, _) = EntryHeader::ref_from_prefix(rest).map_err(|_| truncated(fixed as u64))?;
        let header_size = header.header_size.get() as usize;
        if header_size < fixed {
            return Err(FatbinError::Codec(CodecError::Value {
                what: WHAT,
                offset,
                field: "size",
                value: header_size as u64,
            }));
        }
        let (bytes, data) = rest.split_at_checked(header_size).ok_or_else(|| truncated(header_size as u64))?;
        let size = usize::try_from(header.stored_size.get()).unwrap_or(usize::MAX);
        let stored = data.get(..size.min(data.len())).unwrap_or_default();
        self.at += header_size + stored.len();
        Ok(Entry {
            offset,
            header,
            group: None,
            bytes,
            stored,
        })
    }
}

impl<'d> Iterator for Entries<'d> {
    type Item = Result<Entry<'d>, FatbinError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.payload.len() {
            return None;
        }
        let entry = self.read();
        if entry.is_err() {
            self.at = self.payload.len();
        }
        Some(entry)
    }
}

/// An entry.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'d> {
    /// Offset from the start of the container.
    pub offset: usize,
    /// Fixed part of the header.
    pub header: &'d EntryHeader,
    /// Header of the group that it is a member of.
    group: Option<&'d EntryHeader>,
    /// The whole header with its strings.
    bytes: &'d [u8],
    /// The data as stored, with padding; shorter than the header says when the container is truncated.
    pub stored: &'d [u8],
}

impl<'d> Entry<'d> {
    /// Kind of the image in the entry.
    pub fn kind(&self) -> EntryKind {
        EntryKind::from_code(self.header.kind.get())
    }
    /// Architecture; its number need not be one that exists.
    pub fn arch(&self) -> Arch {
        let suffix = match self.header.flags.get() {
            f if f & FLAG_ARCH_SPECIFIC != 0 => Suffix::Arch,
            f if f & FLAG_FAMILY_SPECIFIC != 0 => Suffix::Family,
            _ => Suffix::None,
        };
        Arch::new(self.header.arch.get(), suffix)
    }
    /// How the data is stored.
    pub fn compression(&self) -> Compression {
        match self.group.unwrap_or(self.header).flags.get() {
            f if f & FLAG_ZSTD != 0 => Compression::Zstd,
            f if f & FLAG_LZ4 != 0 => Compression::Lz4,
            _ => Compression::Stored,
        }
    }
    /// The identifier without its padding; empty when there is none or it is outside the header.
    pub fn identifier(&self) -> &'d [u8] {
        let start = self.header.identifier.get() as usize;
        let size = self.header.identifier_size.get() as usize;
        let bytes = start.checked_add(size).and_then(|end| self.bytes.get(start..end));
        until_nul(bytes.unwrap_or_default())
    }
    /// The option block; empty when there is none or it is outside the header.
    pub fn options(&self) -> &'d [u8] {
        let block = self.header.options.get() as usize;
        let find = || {
            let start = u32_at(self.bytes, block)? as usize;
            let size = u32_at(self.bytes, block.checked_add(4)?)? as usize;
            self.bytes.get(start..start.checked_add(size)?)
        };
        if block == 0 { &[] } else { find().unwrap_or_default() }
    }
    /// A container with this entry alone, as it is stored.
    pub fn alone(&self) -> Vec<u8> {
        let header = FatbinHeader {
            magic: MAGIC.into(),
            version: VERSION.into(),
            header_size: (size_of::<FatbinHeader>() as u16).into(),
            payload_size: ((self.bytes.len() + self.stored.len()) as u64).into(),
        };
        [header.as_bytes(), self.bytes, self.stored].concat()
    }
    /// The data, unpacked. Entries that claim to unpack to more than `limit` bytes are refused.
    pub fn payload(&self, limit: u64) -> Result<Cow<'d, [u8]>, FatbinError> {
        match self.content(limit)? {
            Content::Plain(bytes) => Ok(Cow::Borrowed(bytes)),
            Content::Packed(packed) => packed.unpack().map(Cow::Owned),
        }
    }
    /// The data, for a caller that unpacks it. Entries that claim to unpack to more than `limit` bytes are refused.
    pub fn content(&self, limit: u64) -> Result<Content<'d>, FatbinError> {
        unpack::content(self, limit)
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
