//! Entries that hold several images, compressed as one.
//!
//! 1. In place of options the entry has a table: the number of members, its size with these eight bytes, the members.
//! 2. A member is a header like an entry's with an option block. Its header size is the offset of its image in the unpacked data, its stored size
//!    the size of the image.
//! 3. The next member begins at the next multiple of 8. The last one ends where the table does.

use super::{Entry, EntryHeader, EntryKind, FatbinError};
use crate::codec::{CodecError, u32_at};
use zerocopy::FromBytes;

impl<'d> Entry<'d> {
    /// The images of a group as entries; for other entries the entry itself.
    pub fn members(&self) -> Result<Vec<Entry<'d>>, FatbinError> {
        if self.kind() != EntryKind::Group {
            return Ok(vec![*self]);
        }
        let table = self.header.options.get() as usize;
        let bad = |field, value: usize| CodecError::Value {
            what: "group of entries",
            offset: self.offset,
            field,
            value: value as u64,
        };
        let word = |at: usize| u32_at(self.bytes, at).map(|w| w as usize);
        let (count, size) = word(table)
            .zip(table.checked_add(4).and_then(word))
            .ok_or_else(|| bad("table", table))?;
        let bytes = table.checked_add(size).and_then(|end| self.bytes.get(table..end));
        let mut rest = bytes.and_then(|b| b.get(8..)).ok_or_else(|| bad("size of the table", size))?;
        let mut members = Vec::new();
        while !rest.is_empty() {
            let (header, _) = EntryHeader::ref_from_prefix(rest).map_err(|_| bad("size of the table", size))?;
            let member = member_size(header, rest).and_then(|size| rest.split_at_checked(size));
            let (bytes, tail) = member.ok_or_else(|| bad("size of the table", size))?;
            if header.kind.get() != EntryKind::Elf.code() {
                return Err(bad("kind of a member", header.kind.get().into()).into());
            }
            members.push(Entry {
                offset: self.offset,
                header,
                group: Some(self.header),
                bytes,
                stored: self.stored,
            });
            rest = tail;
        }
        match members.len() == count {
            true => Ok(members),
            false => Err(bad("number of members", count).into()),
        }
    }
}

/// Size of a member's header with its strings.
fn member_size(header: &EntryHeader, bytes: &[u8]) -> Option<usize> {
    let fixed = size_of::<EntryHeader>();
    let options = match header.options.get() as usize {
        0 => fixed,
        block => {
            let start = u32_at(bytes, block)? as usize;
            let size = u32_at(bytes, block.checked_add(4)?)? as usize;
            // a zero byte comes with them
            start.checked_add(size)?.checked_add(1)?
        }
    };
    let identifier = header.identifier.get().checked_add(header.identifier_size.get())? as usize;
    fixed.max(options).max(identifier).checked_next_multiple_of(8)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::super::{DEFAULT_LIMIT, Fatbin, FatbinHeader, MAGIC, VERSION};
    use super::*;
    use zerocopy::IntoBytes;

    fn member(arch: u32, start: u32, size: u64, options: &[u8]) -> Vec<u8> {
        let header = EntryHeader {
            kind: 2.into(),
            header_size: start.into(),
            stored_size: size.into(),
            arch: arch.into(),
            options: if options.is_empty() { 0 } else { 0x40 }.into(),
            ..EntryHeader::default()
        };
        let mut bytes = header.as_bytes().to_vec();
        if !options.is_empty() {
            bytes.extend_from_slice(&0x48u32.to_le_bytes());
            bytes.extend_from_slice(&(options.len() as u32).to_le_bytes());
            bytes.push(0);
            bytes.extend_from_slice(options);
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    /// A group of two images, "first" and "other".
    fn group(count: u32, second_size: u64) -> Vec<u8> {
        let members = [member(90, 0, 5, b""), member(100, 5, second_size, b"compat")].concat();
        let table = [count.to_le_bytes(), (members.len() as u32 + 8).to_le_bytes()].concat();
        let header = EntryHeader {
            kind: 0x100.into(),
            header_size: (0x48 + members.len() as u32).into(),
            stored_size: 10.into(),
            options: 0x40.into(),
            ..EntryHeader::default()
        };
        let entry = [header.as_bytes(), &table, &members, b"firstother"].concat();
        let container = FatbinHeader {
            magic: MAGIC.into(),
            version: VERSION.into(),
            header_size: 16.into(),
            payload_size: (entry.len() as u64).into(),
        };
        [container.as_bytes(), &entry].concat()
    }

    #[test]
    fn members_are_entries_of_their_own() {
        let bytes = group(2, 5);
        let entry = Fatbin::parse(&bytes).unwrap().entries().next().unwrap().unwrap();
        let members = entry.members().unwrap();
        let seen: Vec<_> = members
            .iter()
            .map(|m| (m.arch().number, m.payload(DEFAULT_LIMIT).unwrap().to_vec()))
            .collect();
        assert_eq!(seen, [(90, b"first".to_vec()), (100, b"other".to_vec())]);
    }

    #[test]
    fn damaged_groups_are_refused() {
        let bytes = group(3, 5);
        let entry = Fatbin::parse(&bytes).unwrap().entries().next().unwrap().unwrap();
        assert!(entry.members().is_err(), "a member is missing");
        let bytes = group(2, 6);
        let entry = Fatbin::parse(&bytes).unwrap().entries().next().unwrap().unwrap();
        let members = entry.members().unwrap();
        assert!(members[0].payload(DEFAULT_LIMIT).is_ok());
        assert!(members[1].payload(DEFAULT_LIMIT).is_err(), "it ends after its group");
        for cut in 0..bytes.len() {
            for entry in Fatbin::parse(&bytes[..cut]).into_iter().flat_map(|f| f.entries()).flatten() {
                for member in entry.members().unwrap_or_default() {
                    let _ = member.payload(DEFAULT_LIMIT);
                }
            }
        }
    }
}
