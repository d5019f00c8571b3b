//! The fatbin container: several builds of the same device code in one block of bytes.
//!
//! 1. Check the 16-byte header: magic, version 1, header size, payload size.
//! 2. Walk the entries; each says where the next one starts. Entries of unknown kinds are kept, to be skipped by the chooser.
//! 3. An entry that does not lie in the bytes ends the walk; what could be read is kept and the damage is recorded.
//!
//! All numbers are little-endian. [`Entry::content`] undoes the compression; see [`crate::decompress`] for its limits.

use crate::decompress::{self, Method};
use crate::target::{Suffix, Target};
use std::borrow::Cow;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// First word of a fatbin.
pub const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// Bits of an entry's flag word.
mod flags {
    pub(super) const DEBUG: u64 = 0x2;
    pub(super) const LZ4: u64 = 0x2000;
    pub(super) const ZSTD: u64 = 0x8000;
    pub(super) const SCRAMBLED: u64 = 0x1_0000;
    pub(super) const SUFFIX_A: u64 = 0x10_0000;
    pub(super) const SUFFIX_F: u64 = 0x20_0000;
}

/// Container header.
#[derive(Debug, Clone, Copy, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    magic: [u8; 4],
    version: U16,
    header_size: U16,
    payload_size: U64,
}

/// Entry header; the identifier and the option block follow it.
#[derive(Debug, Clone, Copy, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct RawEntry {
    kind: U16,
    version: U16,
    header_size: U32,
    payload_size: U64,
    compressed_size: U32,
    options_offset: U32,
    minor: U16,
    major: U16,
    arch: U32,
    ident_offset: U32,
    ident_size: U32,
    flags: U64,
    key: U64,
    size: U64,
}

/// Why a container or an entry cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// Shorter than its header.
    #[error("fatbin header needs 16 bytes, there are {size}")]
    TooShort {
        /// Bytes there are.
        size: usize,
    },
    /// No fatbin magic.
    #[error("no fatbin magic")]
    NotFatbin,
    /// A container version that does not exist yet.
    #[error("fatbin version {version} is unknown")]
    Version {
        /// Version found.
        version: u16,
    },
    /// The header's own size is impossible.
    #[error("fatbin header claims a size of {size} bytes, at least 16 are needed")]
    HeaderSize {
        /// Claimed size.
        size: u16,
    },
    /// The container claims more bytes than there are.
    #[error("fatbin claims {claimed:#x} bytes of entries, {have:#x} bytes follow its header")]
    Truncated {
        /// Claimed payload.
        claimed: u64,
        /// Bytes behind the header.
        have: u64,
    },
    /// An entry does not lie in the container.
    #[error("fatbin entry {index} at offset {offset:#x}: {reason}")]
    Entry {
        /// Number of the entry, from 0.
        index: usize,
        /// Offset of the entry in the container.
        offset: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A compressed payload that cannot be undone.
    #[error("fatbin entry {index}: {source}")]
    Decompress {
        /// Number of the entry, from 0.
        index: usize,
        /// What is wrong.
        source: decompress::DecompressError,
    },
}

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// A device ELF file.
    Elf,
    /// LTO IR (NVVM).
    LtoIr,
    /// Something this version does not know.
    Other(u16),
}

/// One entry of a container.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'d> {
    /// Position in the container, from 0.
    pub index: usize,
    /// What it holds.
    pub kind: Kind,
    /// What it was made for.
    pub arch: Target,
    /// Format version: the PTX ISA, the cubin ABI or the IR format, as (major, minor).
    pub version: (u16, u16),
    /// `--ident` of the tool that made it.
    pub ident: &'d [u8],
    /// Compiler options to apply to PTX or IR.
    pub options: &'d [u8],
    /// Bytes as stored; shorter than claimed when `truncated`.
    pub stored: &'d [u8],
    /// The payload runs past the end of the container.
    pub truncated: bool,
    flags: u64,
    compressed_size: u32,
    size: u64,
}

#[cfg(test)]
impl Entry<'_> {
    /// An entry without bytes.
    pub(crate) fn for_test(index: usize, kind: Kind, arch: Target) -> Self {
        Entry {
            index,
            kind,
            arch,
            version: (0, 0),
            ident: &[],
            options: &[],
            stored: &[],
            truncated: false,
            flags: 0,
            compressed_size: 0,
            size: 0,
        }
    }
}

impl<'d> Entry<'d> {
    /// Compiled with `-g`.
    pub fn is_debug(&self) -> bool {
        self.flags & flags::DEBUG != 0
    }

    /// The payload is scrambled with a key (LTO IR).
    pub fn is_scrambled(&self) -> bool {
        self.flags & flags::SCRAMBLED != 0
    }

    /// How the payload is compressed; `None` when it is stored as it is.
    pub fn compression(&self) -> Option<Method> {
        match self.flags {
            f if f & flags::ZSTD != 0 => Some(Method::Zstd),
            f if f & flags::LZ4 != 0 => Some(Method::Lz4),
            _ => None,
        }
    }

    /// Size of the payload after decompression, as claimed.
    pub fn size(&self) -> u64 {
        match self.compression() {
            Some(_) => self.size,
            None => self.stored.len() as u64,
        }
    }

    /// The payload, decompressed. PTX comes without the NUL padding.
    pub fn content(&self) -> Result<Cow<'d, [u8]>, FatbinError> {
        let fail = |reason| FatbinError::Entry {
            index: self.index,
            offset: 0,
            reason,
        };
        let Some(method) = self.compression() else {
            if self.truncated {
                return Err(fail("payload is cut off"));
            }
            return Ok(Cow::Borrowed(self.without_padding(self.stored)));
        };
        let input = self.stored.get(..self.compressed_size as usize);
        let input = input.ok_or_else(|| fail("compressed bytes run past the payload"))?;
        let bytes =
            decompress::decompress(method, input, self.size).map_err(|source| FatbinError::Decompress { index: self.index, source })?;
        let kept = self.without_padding(&bytes).len();
        let mut bytes = bytes;
        bytes.truncate(kept);
        Ok(Cow::Owned(bytes))
    }

    fn without_padding<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        if self.kind != Kind::Ptx {
            return bytes;
        }
        let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        bytes.get(..end).unwrap_or_default()
    }
}

/// A container and its entries.
#[derive(Debug, Clone)]
pub struct Fatbin<'d> {
    /// Entries in order.
    pub entries: Vec<Entry<'d>>,
    /// Bytes the container takes, its header included.
    pub size: usize,
    /// What ended the walk early.
    pub damage: Option<FatbinError>,
}

impl<'d> Fatbin<'d> {
    /// Reads the container at the start of `data`; more bytes may follow it.
    pub fn parse(data: &'d [u8]) -> Result<Self, FatbinError> {
        let (header, _) = Header::ref_from_prefix(data).map_err(|_| FatbinError::TooShort { size: data.len() })?;
        if header.magic != MAGIC {
            return Err(FatbinError::NotFatbin);
        }
        if header.version.get() != 1 {
            return Err(FatbinError::Version {
                version: header.version.get(),
            });
        }
        let start = header.header_size.get();
        if usize::from(start) < size_of::<Header>() {
            return Err(FatbinError::HeaderSize { size: start });
        }
        let start = usize::from(start).min(data.len());
        let have = data.len() - start;
        let claimed = header.payload_size.get();
        let payload = usize::try_from(claimed).unwrap_or(usize::MAX).min(have);
        let mut fatbin = Fatbin {
            entries: Vec::new(),
            size: start + payload,
            damage: (claimed > have as u64).then_some(FatbinError::Truncated {
                claimed,
                have: have as u64,
            }),
        };
        let body = data.get(..fatbin.size).unwrap_or_default();
        if let Err(damage) = fatbin.walk(body, start) {
            fatbin.damage.get_or_insert(damage);
        }
        Ok(fatbin)
    }

    fn walk(&mut self, body: &'d [u8], start: usize) -> Result<(), FatbinError> {
        let mut offset = start;
        while offset < body.len() {
            let index = self.entries.len();
            let bytes = body.get(offset..).unwrap_or_default();
            let (entry, used) = read_entry(bytes, index).map_err(|reason| FatbinError::Entry { index, offset, reason })?;
            let cut = entry.truncated;
            self.entries.push(entry);
            if cut {
                let reason = "payload runs past the end";
                return Err(FatbinError::Entry { index, offset, reason });
            }
            offset += used;
        }
        Ok(())
    }
}

/// Reads one entry; answers with the bytes it takes.
fn read_entry(bytes: &[u8], index: usize) -> Result<(Entry<'_>, usize), &'static str> {
    let (raw, _) = RawEntry::ref_from_prefix(bytes).map_err(|_| "header runs past the end")?;
    let header_size = raw.header_size.get() as usize;
    if header_size < size_of::<RawEntry>() {
        return Err("header size is smaller than a header");
    }
    let header = bytes.get(..header_size).ok_or("header runs past the end")?;
    let behind = bytes.get(header_size..).unwrap_or_default();
    let claimed = usize::try_from(raw.payload_size.get()).unwrap_or(usize::MAX);
    let stored = behind.get(..claimed).unwrap_or(behind);
    let flags = raw.flags.get();
    let suffix = match flags {
        f if f & flags::SUFFIX_A != 0 => Suffix::Arch,
        f if f & flags::SUFFIX_F != 0 => Suffix::Family,
        _ => Suffix::None,
    };
    let kind = match raw.kind.get() {
        1 => Kind::Ptx,
        2 => Kind::Elf,
        8 => Kind::LtoIr,
        other => Kind::Other(other),
    };
    // ELF entries keep a copy of their compatibility attributes in the same place; nothing here needs it.
    let options = match (kind, raw.options_offset.get()) {
        (Kind::Elf | Kind::Other(_), _) | (_, 0) => &[],
        (_, at) => block_string(header, at).ok_or("option block lies outside the header")?,
    };
    let ident = string(header, raw.ident_offset.get(), raw.ident_size.get()).ok_or("identifier lies outside the header")?;
    let entry = Entry {
        index,
        kind,
        arch: Target::new(raw.arch.get(), suffix),
        version: (raw.major.get(), raw.minor.get()),
        ident,
        options,
        stored,
        truncated: stored.len() < claimed,
        flags,
        compressed_size: raw.compressed_size.get(),
        size: raw.size.get(),
    };
    Ok((entry, header_size + stored.len()))
}

/// The string of an option block: its offset and length, both counted from the entry's start.
fn block_string(header: &[u8], at: u32) -> Option<&[u8]> {
    let block = header.get(at as usize..)?;
    let (offset, rest) = U32::ref_from_prefix(block).ok()?;
    let (size, _) = U32::ref_from_prefix(rest).ok()?;
    string(header, offset.get(), size.get())
}

/// A string of the header without its NUL padding.
fn string(header: &[u8], offset: u32, size: u32) -> Option<&[u8]> {
    let start = offset as usize;
    let bytes = header.get(start..start.checked_add(size as usize)?)?;
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    bytes.get(..end)
}
