//! Unified function and data tables: entries of `.nv.uft.entry` and `.nv.udt.entry`, and the index file in `.nv.uidx`.
//!
//! 1. An entry names a symbol by a 16-byte id and gives its offset in the table.
//! 2. The index file starts with a magic and the sizes of both tables, then lists ids with the offsets that every module must use.
//! 3. Versions above 1 add 16 bytes per function after the records; they are kept as they are.

use crate::codec::CodecError;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// First bytes of an index file.
pub const MAGIC: [u8; 8] = *b"\x7fUFTINDX";

/// A 16-byte id.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct UnifiedId {
    /// First half.
    pub first: U64,
    /// Second half.
    pub second: U64,
}

/// An entry of `.nv.uft.entry` or `.nv.udt.entry`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct UnifiedEntry {
    /// Symbol index.
    pub symbol: U32,
    /// 1 in compiled files, 7 in linked ones.
    pub flags: U32,
    /// Offset in the table.
    pub offset: U64,
    /// Id.
    pub id: UnifiedId,
}

/// The entries of a section.
pub fn entries(data: &[u8]) -> Result<&[UnifiedEntry], CodecError> {
    <[UnifiedEntry]>::ref_from_bytes(data).map_err(|_| CodecError::Unit {
        what: "unified table entries",
        size: data.len(),
        unit: size_of::<UnifiedEntry>(),
    })
}

/// A record of an index file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IndexRecord {
    /// Id.
    pub id: UnifiedId,
    /// Offset in its table.
    pub offset: U64,
}

#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct IndexHeader {
    magic: [u8; 8],
    version: U32,
    padding: U32,
    function_bytes: U64,
    functions: U64,
    data_bytes: U64,
    data: U64,
}

/// An index file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index<'d> {
    /// Version, 1.
    pub version: u32,
    /// Second word after the magic, 0.
    pub padding: u32,
    /// Size of the function table.
    pub function_bytes: u64,
    /// Size of the data table.
    pub data_bytes: u64,
    /// Functions.
    pub functions: &'d [IndexRecord],
    /// Variables.
    pub data: &'d [IndexRecord],
    /// What versions above 1 add.
    pub rest: &'d [u8],
}

impl<'d> Index<'d> {
    /// Takes an index file apart. The size must be what the counts say.
    pub fn read(bytes: &'d [u8]) -> Result<Self, CodecError> {
        const WHAT: &str = "unified index";
        let (header, body) = IndexHeader::ref_from_prefix(bytes).map_err(|_| CodecError::Truncated {
            what: WHAT,
            offset: 0,
            need: size_of::<IndexHeader>() as u64,
            have: bytes.len(),
        })?;
        if header.magic != MAGIC {
            return Err(CodecError::Value {
                what: WHAT,
                offset: 0,
                field: "magic",
                value: u64::from_le_bytes(header.magic),
            });
        }
        let (functions, data) = (header.functions.get(), header.data.get());
        let extra = if header.version.get() > 1 {
            functions.saturating_mul(16)
        } else {
            0
        };
        let need = functions.saturating_add(data).saturating_mul(24).saturating_add(extra);
        if need != body.len() as u64 {
            return Err(CodecError::Truncated {
                what: WHAT,
                offset: size_of::<IndexHeader>(),
                need,
                have: body.len(),
            });
        }
        let outside = |_| CodecError::Truncated {
            what: WHAT,
            offset: size_of::<IndexHeader>(),
            need,
            have: body.len(),
        };
        let (functions, body) =
            <[IndexRecord]>::ref_from_prefix_with_elems(body, functions as usize).map_err(|e| outside(e.to_string()))?;
        let (data, rest) = <[IndexRecord]>::ref_from_prefix_with_elems(body, data as usize).map_err(|e| outside(e.to_string()))?;
        Ok(Index {
            version: header.version.get(),
            padding: header.padding.get(),
            function_bytes: header.function_bytes.get(),
            data_bytes: header.data_bytes.get(),
            functions,
            data,
            rest,
        })
    }

    /// Appends the file's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let header = IndexHeader {
            magic: MAGIC,
            version: self.version.into(),
            padding: self.padding.into(),
            function_bytes: self.function_bytes.into(),
            functions: (self.functions.len() as u64).into(),
            data_bytes: self.data_bytes.into(),
            data: (self.data.len() as u64).into(),
        };
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(self.functions.as_bytes());
        out.extend_from_slice(self.data.as_bytes());
        out.extend_from_slice(self.rest);
    }
}

/// Unified symbols that only exist where the tables do.
pub const UNIFIED_SYMBOLS: [&[u8]; 8] = [
    b"__UDT_OFFSET",
    b"__UFT_OFFSET",
    b"__UFT_CANONICAL",
    b"__UDT_CANONICAL",
    b"__UFT",
    b"__UDT",
    b"__UFT_END",
    b"__UDT_END",
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn sample(version: u32, rest: &[u8]) -> Vec<u8> {
        let record = |a: u64, offset: u64| IndexRecord {
            id: UnifiedId {
                first: a.into(),
                second: 7.into(),
            },
            offset: offset.into(),
        };
        let index = Index {
            version,
            padding: 0,
            function_bytes: 0x100,
            data_bytes: 8,
            functions: &[record(1, 0x80), record(2, 0)],
            data: &[record(3, 4)],
            rest,
        };
        let mut out = Vec::new();
        index.write(&mut out);
        out
    }

    #[test]
    fn index_files_round_trip() {
        for bytes in [sample(1, &[]), sample(2, &[5; 32])] {
            let index = Index::read(&bytes).unwrap();
            assert_eq!((index.functions.len(), index.data.len()), (2, 1));
            assert_eq!(index.functions[0].offset.get(), 0x80);
            let mut out = Vec::new();
            index.write(&mut out);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn damage_is_named() {
        let bytes = sample(1, &[]);
        for cut in 0..bytes.len() {
            assert!(Index::read(&bytes[..cut]).is_err());
        }
        let mut magic = bytes.clone();
        magic[0] = 0;
        assert!(Index::read(&magic).unwrap_err().to_string().contains("magic"));
        let mut count = bytes.clone();
        count[24..32].copy_from_slice(&[0xff; 8]);
        assert!(Index::read(&count).is_err());
        let mut version = bytes;
        version[8] = 2;
        assert!(Index::read(&version).is_err());
    }

    #[test]
    fn entries_are_32_bytes() {
        assert_eq!(entries(&[0; 64]).unwrap().len(), 2);
        assert!(entries(&[0; 33]).is_err());
    }
}
