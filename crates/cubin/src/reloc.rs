//! Relocation types and how they change bytes.
//!
//! 1. [`reloc_info`] finds a type in one of two tables: 117 `R_CUDA` types for SASS, 64 `R_MERCURY` types for the Mercury view of sm_100+ files.
//! 2. Each type lists bit fields. Bit 0 is the lowest bit of the byte at `r_offset`; a field may straddle bytes.
//! 3. [`apply`] stores `source >> shift` into each field, truncated to its width. Nothing is checked for overflow, because the vendor's linker
//!    does not either. Without an addend in the relocation (REL) the old content of a value field is added first.

mod table;

use std::fmt;

/// The tool that resolves a relocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolver {
    /// No tool: the relocation changes nothing.
    Ignored,
    /// The linker.
    Linker,
    /// The linker if the value is known at link time, else the driver.
    Either,
    /// The driver at load time.
    Driver,
    /// The finalizer that turns Mercury into SASS.
    Finalizer,
}

/// Where the bits of a field come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldSource {
    /// The symbol's value plus addend.
    Value,
    /// The number of the constant bank that contains the symbol.
    Bank,
    /// A generic address in global memory.
    GlobalAddress,
    /// An address in the unified function or data table.
    UnifiedAddress,
    /// A function descriptor.
    FunctionDescriptor,
    /// Index of a texture, sampler or surface header.
    HeaderIndex,
    /// A surface descriptor.
    SurfaceDescriptor,
    /// Slot number of a texture, sampler or surface.
    Slot,
    /// Distance from the instruction to the symbol.
    PcRelative,
    /// A whole instruction.
    Instruction,
    /// The opcode of a yield instruction.
    Opcode,
    /// The predicate of a yield instruction.
    ClearPredicate,
    /// Zero, written when the function is not in the output.
    Zero,
}

/// Bits that a relocation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitField {
    /// Lowest bit, counted from the byte at `r_offset`.
    pub start: u8,
    /// Number of bits.
    pub width: u8,
    /// Value that is stored.
    pub source: FieldSource,
    /// The source is shifted right by this many bits before it is stored.
    pub shift: u8,
}

impl BitField {
    /// Number of bytes from `r_offset` that the field needs.
    pub const fn end_byte(&self) -> usize {
        (self.start as usize + self.width as usize).div_ceil(8)
    }
}

/// A relocation type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RelocInfo {
    /// Number in `r_info`.
    pub code: u32,
    /// Name.
    pub name: &'static str,
    /// Tool that resolves it.
    pub resolver: Resolver,
    /// Bits that it writes.
    pub fields: &'static [BitField],
}

impl RelocInfo {
    /// True when the linker may resolve the type.
    pub fn linker_may_resolve(&self) -> bool {
        matches!(self.resolver, Resolver::Linker | Resolver::Either)
    }
    /// Number of bytes from `r_offset` that the type touches.
    pub fn end_byte(&self) -> usize {
        self.fields.iter().map(BitField::end_byte).max().unwrap_or(0)
    }
}

impl fmt::Display for RelocInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// First code of the Mercury types.
pub const MERCURY_BASE: u32 = 0x1_0000;

/// All `R_CUDA` types, in the order of their codes.
pub fn cuda_types() -> &'static [RelocInfo] {
    &table::CUDA
}

/// All `R_MERCURY` types, in the order of their codes.
pub fn mercury_types() -> &'static [RelocInfo] {
    &table::MERCURY
}

/// The type with this code, `R_CUDA` or `R_MERCURY`.
pub fn reloc_info(code: u32) -> Option<&'static RelocInfo> {
    table::CUDA.get(code as usize).or_else(|| mercury_reloc_info(code))
}

/// The Mercury type with this code.
pub fn mercury_reloc_info(code: u32) -> Option<&'static RelocInfo> {
    table::MERCURY.get(code.checked_sub(MERCURY_BASE)? as usize)
}

/// A type that asks for a function's whole descriptor: the function's address is then taken, whatever the call graph says.
///
/// Observed: not so for the types of single bytes.
pub fn takes_descriptor(code: u32) -> bool {
    matches!(code, 31..=35 | 47..=49 | 61..=63 | 0x1_000f)
}

/// The plain type that replaces a unified one when its symbol has no entry in a unified table.
pub fn unified_replacement(code: u32) -> Option<u32> {
    const M: u32 = MERCURY_BASE;
    const M_34: u32 = M + 0x34;
    const M_3B: u32 = M + 0x3b;
    Some(match code {
        102 => 2,
        103 => 1,
        104..=111 => code - 104 + 76,
        112 => 56,
        113 => 57,
        0x1_0032 => M + 0x02,
        0x1_0033 => M + 0x03,
        M_34..=M_3B => code - M_34 + M + 0x10,
        0x1_003e => M + 0x05,
        0x1_003f => M + 0x06,
        _ => return None,
    })
}

/// Why a relocation was not applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// A field reaches past the section's end.
    #[error("{name} needs {need} bytes, {have} are left in the section")]
    OutOfSection {
        /// Relocation type.
        name: &'static str,
        /// Bytes needed from `r_offset`.
        need: usize,
        /// Bytes there are.
        have: usize,
    },
    /// The type does not store a value.
    #[error("{name} does not store a value")]
    NotAValue {
        /// Relocation type.
        name: &'static str,
    },
}

/// Applies a relocation to `bytes`, which start at `r_offset` and reach to the section's end.
///
/// `add_field` is true for REL: the field's old content is the addend. Nothing is written when the result is an error.
pub fn apply(info: &RelocInfo, bytes: &mut [u8], value: u64, bank: u32, add_field: bool) -> Result<(), ApplyError> {
    for field in info.fields {
        if field.source == FieldSource::Instruction {
            return Err(ApplyError::NotAValue { name: info.name });
        }
        if bytes.len() < field.end_byte() {
            return Err(ApplyError::OutOfSection {
                name: info.name,
                need: info.end_byte(),
                have: bytes.len(),
            });
        }
    }
    for field in info.fields {
        let (source, addend) = match field.source {
            FieldSource::Bank => (u64::from(bank), false),
            FieldSource::Zero | FieldSource::ClearPredicate => (0, false),
            FieldSource::Opcode => (value, false),
            _ => (value, add_field),
        };
        store(field, bytes, source >> field.shift, addend);
    }
    Ok(())
}

/// Stores `value` into a field that is known to be inside `bytes`.
fn store(field: &BitField, bytes: &mut [u8], value: u64, add_field: bool) {
    let first = usize::from(field.start / 8);
    let low = field.start % 8;
    let Some(tail) = bytes.get_mut(first..) else { return };
    let mask = (u128::MAX >> (128 - u32::from(field.width.clamp(1, 64)))) << low;
    let put = |word: u128| {
        let old = if add_field { word & mask } else { 0 };
        (word & !mask) | ((u128::from(value) << low).wrapping_add(old) & mask)
    };
    if let Some(chunk) = tail.first_chunk_mut::<16>() {
        *chunk = put(u128::from_le_bytes(*chunk)).to_le_bytes();
        return;
    }
    // Near the end of the section: only the bytes that are there.
    let mut buffer = [0u8; 16];
    for (b, t) in buffer.iter_mut().zip(tail.iter()) {
        *b = *t;
    }
    let buffer = put(u128::from_le_bytes(buffer)).to_le_bytes();
    for (t, b) in tail.iter_mut().zip(buffer) {
        *t = b;
    }
}

/// Reads the content of a field, to show it; `None` when it is outside `bytes` or is wider than 64 bits.
pub fn field_content(field: &BitField, bytes: &[u8]) -> Option<u64> {
    if field.width == 0 || field.width > 64 {
        return None;
    }
    let part = bytes.get(usize::from(field.start / 8)..field.end_byte())?;
    let mut buffer = [0u8; 16];
    for (b, t) in buffer.iter_mut().zip(part) {
        *b = *t;
    }
    let word = u128::from_le_bytes(buffer) >> (field.start % 8);
    Some((word & (u128::MAX >> (128 - u32::from(field.width)))) as u64)
}

/// `R_CUDA_UNUSED_CLEAR32`, `R_CUDA_UNUSED_CLEAR64` and `R_MERCURY_UNUSED_CLEAR64`: the field is cleared when the function is dead.
pub const UNUSED_CLEAR_TYPES: [u32; 3] = [72, 73, 0x1_000e];

/// `R_CUDA_YIELD_OPCODE9_0` and `R_CUDA_YIELD_CLEAR_PRED4_87`: they turn `YIELD` into `NOP`, in links of code for architectures without
/// independent thread scheduling.
pub const YIELD_TYPES: [u32; 2] = [68, 69];

/// Mercury types whose addend is an offset in code: `R_MERCURY_ABS_PROG_REL32_LO`, `_HI`, `_32`, `_64`.
pub const MERCURY_CODE_ADDRESSES: [u32; 4] = [0x1_0028, 0x1_0029, 0x1_003c, 0x1_003d];

/// True if a type is that of the target of a call instruction.
pub fn is_call(kind: u32) -> bool {
    reloc_info(kind).is_some_and(|info| ["ABS47", "ABS55", "PCREL"].iter().any(|part| info.name.contains(part)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    /// Patches observed on the vendor's linker: type, (low bit, high bit, is it the bank, shift).
    type Observed = (u32, &'static [(u32, u32, bool, u32)]);
    const OBSERVED: &[Observed] = &[
        (1, &[(0, 31, false, 0)]),
        (2, &[(0, 63, false, 0)]),
        (5, &[(26, 57, false, 0)]),
        (10, &[(26, 57, false, 0)]),
        (11, &[(26, 57, false, 32)]),
        (12, &[(23, 54, false, 0)]),
        (13, &[(23, 54, false, 0)]),
        (14, &[(23, 54, false, 32)]),
        (15, &[(26, 49, false, 0)]),
        (16, &[(23, 46, false, 0)]),
        (17, &[(26, 41, false, 0)]),
        (18, &[(23, 38, false, 0)]),
        (19, &[(32, 39, false, 0)]),
        (20, &[(40, 44, false, 0)]),
        (21, &[(26, 31, false, 0)]),
        (22, &[(32, 44, false, 2)]),
        (23, &[(47, 59, false, 2)]),
        (24, &[(28, 41, false, 2), (42, 45, true, 0), (26, 26, true, 4)]),
        (25, &[(23, 36, false, 2), (37, 41, true, 0)]),
        (26, &[(49, 57, false, 0)]),
        (27, &[(31, 36, false, 0)]),
        (28, &[(47, 48, false, 0)]),
        (29, &[(41, 53, false, 2)]),
        (30, &[(45, 57, false, 2)]),
        (36, &[(26, 41, false, 0), (42, 46, true, 0)]),
        (37, &[(37, 52, false, 0), (53, 57, true, 0)]),
        (38, &[(26, 39, false, 2), (40, 44, true, 0)]),
        (39, &[(23, 38, false, 0), (39, 43, true, 0)]),
        (42, &[(20, 51, false, 0)]),
        (43, &[(20, 51, false, 0)]),
        (44, &[(20, 51, false, 32)]),
        (45, &[(20, 43, false, 0)]),
        (46, &[(20, 35, false, 0)]),
        (50, &[(20, 33, false, 2), (34, 38, true, 0)]),
        (51, &[(36, 48, false, 2)]),
        (54, &[(20, 35, false, 0), (36, 40, true, 0)]),
        (55, &[(32, 63, false, 0)]),
        (56, &[(32, 63, false, 0)]),
        (57, &[(32, 63, false, 32)]),
        (59, &[(32, 47, false, 0)]),
        (60, &[(32, 55, false, 0)]),
        (64, &[(40, 53, false, 2), (54, 58, true, 0)]),
        (65, &[(40, 53, false, 2)]),
        (66, &[(38, 53, false, 0), (54, 58, true, 0)]),
        (70, &[(0, 31, false, 0)]),
        (71, &[(0, 31, false, 32)]),
        (74, &[(40, 63, false, 0)]),
        (76, &[(0, 7, false, 0)]),
        (77, &[(0, 7, false, 8)]),
        (78, &[(0, 7, false, 16)]),
        (79, &[(0, 7, false, 24)]),
        (80, &[(0, 7, false, 32)]),
        (81, &[(0, 7, false, 40)]),
        (82, &[(0, 7, false, 48)]),
        (83, &[(0, 7, false, 56)]),
        (100, &[(44, 63, false, 0)]),
        (115, &[(37, 53, false, 0), (54, 58, true, 0)]),
    ];

    #[test]
    fn yield_becomes_nop() {
        let mut instruction = (0x946_u128 | (7 << 87)).to_le_bytes();
        for (kind, value) in YIELD_TYPES.into_iter().zip([0x118, 0]) {
            apply(reloc_info(kind).unwrap(), &mut instruction, value, 0, false).unwrap();
        }
        assert_eq!(u128::from_le_bytes(instruction), 0x918);
    }

    /// Bit by bit, independent of the word arithmetic above.
    fn slow(fields: &[(u32, u32, bool, u32)], bytes: &mut [u8], value: u64, bank: u32, add: bool) {
        for &(low, high, is_bank, shift) in fields {
            let mut v = u128::from(if is_bank { u64::from(bank) } else { value } >> shift);
            let bit = |bytes: &[u8], i: u32| u128::from(bytes[i as usize / 8] >> (i % 8) & 1);
            if add && !is_bank {
                v += (low..=high).map(|i| bit(bytes, i) << (i - low)).sum::<u128>();
            }
            for i in low..=high {
                let b = (v >> (i - low) & 1) as u8;
                let byte = &mut bytes[i as usize / 8];
                *byte = *byte & !(1 << (i % 8)) | b << (i % 8);
            }
        }
    }

    #[test]
    fn fields_match_what_the_vendor_does() {
        let values = [0, 0x1234, 0x0012_3456_789a_bcd8, u64::MAX, 0x8000_0000_0000_0003];
        for &(code, fields) in OBSERVED {
            let info = reloc_info(code).unwrap();
            assert_eq!(info.code, code);
            assert!(info.linker_may_resolve(), "{info}");
            for fill in [0u8, 0xff, 0xa5] {
                for value in values {
                    for (bank, add, len) in [(3, false, 16), (2, true, 16), (31, false, info.end_byte()), (17, true, 40)] {
                        let mut fast = vec![fill; len];
                        let mut bits = fast.clone();
                        apply(info, &mut fast, value, bank, add).unwrap();
                        slow(fields, &mut bits, value, bank, add);
                        assert_eq!(fast, bits, "{info} value {value:#x} bank {bank} add {add} len {len}");
                    }
                }
            }
        }
    }

    #[test]
    fn tables_are_indexed_by_code() {
        assert!(cuda_types().iter().enumerate().all(|(i, r)| r.code == i as u32));
        assert!(mercury_types().iter().enumerate().all(|(i, r)| r.code == MERCURY_BASE + i as u32));
        let count = |r| cuda_types().iter().filter(|t| t.resolver == r).count();
        assert_eq!(
            [Resolver::Linker, Resolver::Driver, Resolver::Either, Resolver::Ignored].map(count),
            [39, 52, 24, 2]
        );
        assert_eq!(reloc_info(117), None);
        assert_eq!(reloc_info(0x1_0040), None);
        assert_eq!(reloc_info(0xffff), None);
        assert_eq!(reloc_info(0x1_0001).unwrap().name, "R_MERCURY_G64");
    }

    #[test]
    fn unified_types_become_plain_ones() {
        let pairs = [(102, 2), (103, 1), (104, 76), (111, 83), (112, 56), (113, 57)];
        for (from, to) in pairs {
            assert_eq!(unified_replacement(from), Some(to));
        }
        // A unified address is as wide as the plain one that replaces it.
        for code in (102..=113).chain(0x1_0032..=0x1_003f) {
            let Some(plain) = unified_replacement(code) else { continue };
            let (unified, plain) = (reloc_info(code).unwrap(), reloc_info(plain).unwrap());
            assert_eq!(unified.end_byte(), plain.end_byte(), "{}", unified.name);
        }
        assert_eq!(unified_replacement(0x1_0034), Some(0x1_0010));
        assert_eq!(unified_replacement(0x1_003b), Some(0x1_0017));
        for other in [0, 101, 114, 0x1_0031, 0x1_003c, 0x1_0040] {
            assert_eq!(unified_replacement(other), None);
        }
    }

    #[test]
    fn short_sections_are_refused_untouched() {
        let info = reloc_info(66).unwrap();
        let mut bytes = [0x55u8; 7];
        let error = apply(info, &mut bytes, u64::MAX, 3, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "R_CUDA_CONST_FIELD21_38 needs 8 bytes, 7 are left in the section"
        );
        assert_eq!(bytes, [0x55; 7]);
        assert!(apply(reloc_info(67).unwrap(), &mut [0; 16], 0, 0, false).is_err());
        assert!(apply(reloc_info(2).unwrap(), &mut [], 0, 0, false).is_err());
        assert!(apply(reloc_info(0).unwrap(), &mut [], 0, 0, false).is_ok());
    }

    #[test]
    fn wide_field_of_a_call() {
        // 47 bits from bit 34 and 8 bits from bit 16 of a call's target.
        let mut bytes = [0u8; 16];
        let info = reloc_info(75).unwrap();
        apply(info, &mut bytes, 0x7f_ffff_ffff_fffc, 0, false).unwrap();
        assert_eq!(u128::from_le_bytes(bytes), (0xff << 16) | (((1u128 << 45) - 1) << 34));
        assert_eq!(field_content(&info.fields[1], &bytes), Some((1 << 45) - 1));
        assert_eq!(field_content(&info.fields[0], &bytes), Some(0xff));
        assert_eq!(field_content(&info.fields[1], &bytes[..8]), None);
    }
}
