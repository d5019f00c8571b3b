//! What the codecs of section contents share: the error type and checked little-endian reads.

/// Why bytes are not what a codec expects. Offsets count from the start of the bytes given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// Something reaches past the end.
    #[error("{what} at offset {offset:#x} needs {need} bytes, {have} are left")]
    Truncated {
        /// Name of the structure that was read.
        what: &'static str,
        /// Offset of the structure in the section.
        offset: usize,
        /// Bytes it needs.
        need: u64,
        /// Bytes there are.
        have: usize,
    },
    /// A table that does not consist of whole entries.
    #[error("{what}: {size:#x} bytes are not a multiple of {unit}")]
    Unit {
        /// Which table.
        what: &'static str,
        /// Its size.
        size: usize,
        /// Size of an entry.
        unit: usize,
    },
    /// A field with a value that has no meaning.
    #[error("{what} at offset {offset:#x}: {field} is {value:#x}")]
    Value {
        /// Name of the structure that was read.
        what: &'static str,
        /// Offset of the structure in the section.
        offset: usize,
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// Something that cannot be written because a size field is too small for it.
    #[error("{what}: {size} bytes do not fit a field for at most {max}")]
    TooLong {
        /// Name of the structure that was written.
        what: &'static str,
        /// Its size.
        size: usize,
        /// Largest size that can be written.
        max: usize,
    },
}

/// `size` bytes at `offset`, or an error that names `what`.
pub(crate) fn take<'d>(data: &'d [u8], offset: usize, size: usize, what: &'static str) -> Result<&'d [u8], CodecError> {
    let end = offset.checked_add(size);
    end.and_then(|end| data.get(offset..end)).ok_or(CodecError::Truncated {
        what,
        offset,
        need: size as u64,
        have: data.len().saturating_sub(offset),
    })
}

/// The little-endian word at `offset`.
pub(crate) fn u32_at(data: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(offset..)?.first_chunk()?))
}

/// The little-endian half word at `offset`.
pub(crate) fn u16_at(data: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*data.get(offset..)?.first_chunk()?))
}

/// The first little-endian word of `data`, or an error that names `what`.
pub(crate) fn word(data: &[u8], offset: usize, what: &'static str) -> Result<u32, CodecError> {
    u32_at(data, offset).ok_or(CodecError::Truncated {
        what,
        offset,
        need: 4,
        have: data.len().saturating_sub(offset),
    })
}
