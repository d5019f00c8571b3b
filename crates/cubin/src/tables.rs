//! Sections that are plain tables of fixed-size entries: `.nv.prototype`, `.nv.rel.action`, `.nv.resolvedrela.*`, `.nv.metadata`.
//!
//! Reading checks that the size is a multiple of the entry's and gives the entries in place; writing is their bytes.

use crate::codec::CodecError;
use crate::raw::{Pair, Rela};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The entries of a table in place.
fn entries<'d, T>(data: &'d [u8], what: &'static str) -> Result<&'d [T], CodecError>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    <[T]>::ref_from_bytes(data).map_err(|_| CodecError::Unit {
        what,
        size: data.len(),
        unit: size_of::<T>(),
    })
}

/// `.nv.prototype`: function symbol and offset of its prototype in the string table.
pub fn prototypes(data: &[u8]) -> Result<&[Pair], CodecError> {
    entries(data, "prototype table")
}

/// `.nv.resolvedrela.*`: relocations that the linker has applied, kept for tools.
pub fn resolved_relocations(data: &[u8]) -> Result<&[Rela], CodecError> {
    entries(data, "table of resolved relocations")
}

/// How a relocation type that an old driver does not support stores its value.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct RelocationAction {
    /// What is stored, 0 for the value.
    pub kind: u8,
    /// Shift of the value.
    pub shift: u8,
    /// First bit of the source for the first field.
    pub source: u8,
    /// Width of the first field.
    pub width: u8,
    /// First bit of the first field.
    pub start: u8,
    /// First bit of the source for the second field.
    pub source2: u8,
    /// Width of the second field.
    pub width2: u8,
    /// First bit of the second field.
    pub start2: u8,
}

/// `.nv.rel.action`: actions of relocation types from a first one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelocationActions<'d> {
    /// Code of the first type described.
    pub first_type: u64,
    /// One action per type.
    pub actions: &'d [RelocationAction],
}

impl<'d> RelocationActions<'d> {
    /// Takes a section apart.
    pub fn read(data: &'d [u8]) -> Result<Self, CodecError> {
        let (first, rest) = U64::ref_from_prefix(data).map_err(|_| CodecError::Truncated {
            what: "relocation action table",
            offset: 0,
            need: 8,
            have: data.len(),
        })?;
        Ok(RelocationActions {
            first_type: first.get(),
            actions: entries(rest, "relocation action table")?,
        })
    }
    /// Appends the section's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.first_type.to_le_bytes());
        out.extend_from_slice(self.actions.as_bytes());
    }
}

/// The only action that linked files hold: a constant bank reference with 17 bits of offset and 5 bits of bank.
pub const CONST_FIELD22_37: RelocationAction = RelocationAction {
    kind: 0,
    shift: 0,
    source: 0,
    width: 17,
    start: 37,
    source2: 0,
    width2: 5,
    start2: 54,
};

/// An entry of `.nv.metadata`. No tool at hand writes this section; the form is the documented one.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MetadataEntry {
    /// Offset of the module id in the string table.
    pub module_id: U32,
    /// Section that the entry came from.
    pub section: U32,
    /// Alignment.
    pub alignment: U32,
}

/// `.nv.metadata`: entries, and bytes after the last whole one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata<'d> {
    /// Entries.
    pub entries: &'d [MetadataEntry],
    /// Bytes that do not make up an entry.
    pub rest: &'d [u8],
}

impl<'d> Metadata<'d> {
    /// Takes a section apart.
    pub fn read(data: &'d [u8]) -> Self {
        let count = data.len() / size_of::<MetadataEntry>();
        let (entries, rest) = <[MetadataEntry]>::ref_from_prefix_with_elems(data, count).unwrap_or((&[], data));
        Metadata { entries, rest }
    }
    /// Appends the section's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.entries.as_bytes());
        out.extend_from_slice(self.rest);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn relocation_actions_of_a_linked_file() {
        let bytes = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36];
        let table = RelocationActions::read(&bytes).unwrap();
        assert_eq!(table.first_type, 115);
        assert_eq!(table.actions, [CONST_FIELD22_37]);
        // The action says the same as the table of relocation types.
        let fields = crate::reloc::reloc_info(115).unwrap().fields;
        assert_eq!((fields[0].start, fields[0].width), (CONST_FIELD22_37.start, CONST_FIELD22_37.width));
        assert_eq!(
            (fields[1].start, fields[1].width),
            (CONST_FIELD22_37.start2, CONST_FIELD22_37.width2)
        );
        let mut out = Vec::new();
        table.write(&mut out);
        assert_eq!(out, bytes);
        assert!(RelocationActions::read(&bytes[..7]).is_err());
        assert!(RelocationActions::read(&bytes[..15]).is_err());
    }

    #[test]
    fn tables_consist_of_whole_entries() {
        assert_eq!(prototypes(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap()[0].second.get(), 2);
        let error = prototypes(&[0; 9]).unwrap_err();
        assert_eq!(error.to_string(), "prototype table: 0x9 bytes are not a multiple of 8");
        assert_eq!(resolved_relocations(&[0; 48]).unwrap().len(), 2);
        assert!(resolved_relocations(&[0; 25]).is_err());
    }

    #[test]
    fn metadata_keeps_unknown_entries() {
        let bytes: Vec<u8> = (0..29).collect();
        let metadata = Metadata::read(&bytes);
        assert_eq!((metadata.entries.len(), metadata.rest.len()), (2, 5));
        let mut out = Vec::new();
        metadata.write(&mut out);
        assert_eq!(out, bytes);
    }
}
