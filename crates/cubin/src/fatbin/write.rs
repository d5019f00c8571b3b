//! Writing of containers whose entries are stored as they are.

use super::{EntryHeader, EntryKind, FLAG_64BIT, FLAG_LINUX, FatbinHeader, MAGIC, VERSION};
use crate::codec::CodecError;
use zerocopy::IntoBytes;

/// An entry to write.
#[derive(Debug, Clone, Copy)]
pub struct NewEntry<'d> {
    /// Kind of the data.
    pub kind: EntryKind,
    /// Architecture number.
    pub arch: u32,
    /// Flags; those for compression must not be set.
    pub flags: u64,
    /// Major and minor version of the data's format.
    pub version: (u16, u16),
    /// Identifier, empty for none.
    pub identifier: &'d [u8],
    /// Options, empty for none.
    pub options: &'d [u8],
    /// The data.
    pub data: &'d [u8],
}

impl<'d> NewEntry<'d> {
    /// A 64-bit device ELF file for a Linux host.
    pub fn elf(arch: u32, data: &'d [u8]) -> Self {
        NewEntry {
            kind: EntryKind::Elf,
            arch,
            flags: FLAG_64BIT | FLAG_LINUX,
            version: (1, 8),
            identifier: &[],
            options: &[],
            data,
        }
    }
}

/// A container in the making.
#[derive(Debug, Default, Clone)]
pub struct Writer {
    payload: Vec<u8>,
}

impl Writer {
    /// An empty container.
    pub fn new() -> Self {
        Writer::default()
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: &NewEntry<'_>) -> Result<(), CodecError> {
        let fixed = size_of::<EntryHeader>();
        // A string is padded to 8 bytes and has at least its NUL.
        let padded = |s: &[u8]| if s.is_empty() { 0 } else { (s.len() + 1).next_multiple_of(8) };
        let identifier = padded(entry.identifier);
        let options_at = if entry.options.is_empty() { 0 } else { fixed + identifier };
        let options = if options_at == 0 { 0 } else { 8 + padded(entry.options) };
        let header_size = fixed + identifier + options;
        let small = |size: usize, what| {
            u32::try_from(size).map_err(|_| CodecError::TooLong {
                what,
                size,
                max: u32::MAX as usize,
            })
        };
        // Observed: text is stored with its NUL, device files without.
        let nul = usize::from(entry.kind == EntryKind::Ptx);
        let stored_size = (entry.data.len() + nul).next_multiple_of(8);
        let header = EntryHeader {
            kind: entry.kind.code().into(),
            version: 0x0101.into(),
            header_size: small(header_size, "header of an entry")?.into(),
            stored_size: (stored_size as u64).into(),
            options: (options_at as u32).into(),
            minor: entry.version.1.into(),
            major: entry.version.0.into(),
            arch: entry.arch.into(),
            identifier: if identifier == 0 { 0 } else { fixed as u32 }.into(),
            identifier_size: small(entry.identifier.len(), "identifier of an entry")?.into(),
            flags: entry.flags.into(),
            ..EntryHeader::default()
        };
        let start = self.payload.len();
        let mut put = |bytes: &[u8], until: usize| {
            self.payload.extend_from_slice(bytes);
            self.payload.resize(start + until, 0);
        };
        put(header.as_bytes(), fixed);
        put(entry.identifier, fixed + identifier);
        if options_at != 0 {
            put(&(options_at as u32 + 8).to_le_bytes(), options_at + 4);
            put(&small(entry.options.len(), "options of an entry")?.to_le_bytes(), options_at + 8);
            put(entry.options, header_size);
        }
        put(entry.data, header_size + stored_size);
        Ok(())
    }

    /// The container's bytes.
    pub fn finish(self) -> Vec<u8> {
        let header = FatbinHeader {
            magic: MAGIC.into(),
            version: VERSION.into(),
            header_size: (size_of::<FatbinHeader>() as u16).into(),
            payload_size: (self.payload.len() as u64).into(),
        };
        let mut out = Vec::with_capacity(size_of::<FatbinHeader>() + self.payload.len());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(&self.payload);
        out
    }
}
