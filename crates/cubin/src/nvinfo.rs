//! `.nv.info`: attributes of the module and of its functions.
//!
//! 1. A section is a sequence of records without padding: format byte, attribute byte, two bytes that depend on the format.
//! 2. Format 4 ("SVAL"): the two bytes are the payload's size, the payload follows. Every other format is a record of four bytes.
//! 3. The attribute's meaning comes from a table of 97 codes; unknown codes and formats are kept as they are.
//!
//! The writer puts records one after the other, byte for byte what the reader took apart.

pub mod attr;
mod table;

use crate::codec::{CodecError, take, u16_at, u32_at, word};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// Format of records whose two bytes carry nothing.
pub const FORMAT_NONE: u8 = 1;
/// Format of records with a byte.
pub const FORMAT_BYTE: u8 = 2;
/// Format of records with 16 bits.
pub const FORMAT_HALF: u8 = 3;
/// Format of records with a payload.
pub const FORMAT_SIZED: u8 = 4;

/// What the payload of an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Payload {
    /// Never written.
    Nothing,
    /// The record's presence is the information.
    Flag,
    /// A byte in the record.
    Byte,
    /// 16 bits in the record.
    Half,
    /// One word.
    Word,
    /// Symbol index and value.
    SymbolValue,
    /// Symbol indices.
    Symbols,
    /// A symbol index, then words.
    SymbolWords,
    /// Symbol of the parameter bank's section, offset and size of the parameters in it.
    ParamBank,
    /// One kernel parameter.
    Param,
    /// One kernel parameter in the newer form.
    ParamV2,
    /// Three words x, y, z.
    Dim3,
    /// Branch instructions and their targets.
    BranchTargets,
    /// Pairs of words.
    Pairs,
    /// Code offsets.
    Offsets,
    /// Words.
    Words,
    /// Bytes without known structure.
    Opaque,
}

/// Which words of a payload are symbol indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolUse {
    /// None.
    No,
    /// The first.
    First,
    /// All.
    All,
}

/// Which words of a payload are offsets in the function's code, as nvlink's finalizer for sm_100 and later translates them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodePlaces {
    /// None.
    No,
    /// The first word of each group of so many words.
    Every(u8),
    /// Branches with their targets: {offset, 0, count, targets}.
    Branches,
    /// Pairs of a kind and an offset.
    Tagged,
}

impl CodePlaces {
    /// Calls a function for each word of a payload that is an offset.
    pub fn for_each(self, words: &mut [u32], mut place: impl FnMut(&mut u32)) {
        match self {
            Self::No => {}
            Self::Every(group) => words.iter_mut().step_by(group.max(1).into()).for_each(place),
            Self::Tagged => words.iter_mut().skip(1).step_by(2).for_each(place),
            Self::Branches => {
                let mut rest = words;
                while let [at, _, count, tail @ ..] = rest {
                    place(at);
                    let count = (*count as usize).min(tail.len());
                    let (targets, tail) = tail.split_at_mut(count);
                    targets.iter_mut().for_each(&mut place);
                    rest = tail;
                }
            }
        }
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AttributeInfo {
    /// Code.
    pub code: u8,
    /// Name.
    pub name: &'static str,
    /// Form of the payload.
    pub payload: Payload,
    /// Which words of the payload are symbol indices.
    pub symbols: SymbolUse,
    /// Which words of the payload are offsets in code.
    pub places: CodePlaces,
}

/// The attribute with this code.
pub fn attribute_info(code: u8) -> Option<&'static AttributeInfo> {
    let later = || table::LATER.iter().find(|a| a.code == code);
    table::ATTRIBUTES.get(usize::from(code)).or_else(later)
}

/// The attributes of CUDA 13.0 in the order of their codes.
pub fn attributes() -> &'static [AttributeInfo] {
    &table::ATTRIBUTES
}

/// Name of a record format.
pub fn format_name(format: u8) -> Option<&'static str> {
    Some(match format {
        FORMAT_NONE => "EIFMT_NVAL",
        FORMAT_BYTE => "EIFMT_BVAL",
        FORMAT_HALF => "EIFMT_HVAL",
        FORMAT_SIZED => "EIFMT_SVAL",
        _ => return None,
    })
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Record<'d> {
    /// Format.
    pub format: u8,
    /// Attribute code.
    pub attribute: u8,
    /// The two bytes after the code; the payload's size in a sized record.
    pub half: u16,
    /// Payload, empty unless the record is sized.
    pub payload: &'d [u8],
}

impl<'d> Record<'d> {
    /// A record whose presence is the information.
    pub fn flag(attribute: u8) -> Self {
        Record::short(FORMAT_NONE, attribute, 0)
    }
    /// A record with a byte.
    pub fn with_byte(attribute: u8, value: u8) -> Self {
        Record::short(FORMAT_BYTE, attribute, value.into())
    }
    /// A record with 16 bits.
    pub fn with_half(attribute: u8, value: u16) -> Self {
        Record::short(FORMAT_HALF, attribute, value)
    }
    /// A record of four bytes.
    pub fn short(format: u8, attribute: u8, half: u16) -> Self {
        Record {
            format,
            attribute,
            half,
            payload: &[],
        }
    }
    /// A record with a payload.
    pub fn sized(attribute: u8, payload: &'d [u8]) -> Result<Self, CodecError> {
        let half = u16::try_from(payload.len()).map_err(|_| CodecError::TooLong {
            what: "payload of an .nv.info record",
            size: payload.len(),
            max: u16::MAX.into(),
        })?;
        Ok(Record {
            format: FORMAT_SIZED,
            attribute,
            half,
            payload,
        })
    }

    /// The attribute's entry in the table.
    pub fn info(&self) -> Option<&'static AttributeInfo> {
        attribute_info(self.attribute)
    }
    /// The byte of a record with a byte.
    pub fn byte(&self) -> u8 {
        self.half.to_le_bytes()[0]
    }
    /// Bytes that the record takes.
    pub fn size(&self) -> usize {
        4 + self.payload.len()
    }
    /// Word `i` of the payload.
    pub fn word(&self, i: usize) -> Option<u32> {
        u32_at(self.payload, i.checked_mul(4)?)
    }
    /// The payload as words; a rest of less than four bytes is left out.
    pub fn words(&self) -> &'d [U32] {
        <[U32]>::ref_from_prefix_with_elems(self.payload, self.payload.len() / 4).map_or(&[], |(words, _)| words)
    }
    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.format, self.attribute]);
        out.extend_from_slice(&self.half.to_le_bytes());
        out.extend_from_slice(self.payload);
    }
    /// Decoded payload.
    pub fn value(&self) -> Value<'d> {
        match self.format {
            FORMAT_SIZED => self.sized_value().unwrap_or(Value::Bytes(self.payload)),
            FORMAT_NONE if self.half == 0 => Value::Flag,
            FORMAT_BYTE => Value::Byte(self.byte()),
            _ => Value::Half(self.half),
        }
    }

    fn sized_value(&self) -> Option<Value<'d>> {
        let words = || self.payload.len().is_multiple_of(4).then(|| self.words());
        let exact = |size| (self.payload.len() == size).then_some(());
        Some(match self.info()?.payload {
            Payload::Word | Payload::Byte | Payload::Half | Payload::Flag => {
                exact(4)?;
                Value::Word(self.word(0)?)
            }
            Payload::SymbolValue => {
                exact(8)?;
                Value::SymbolValue {
                    symbol: self.word(0)?,
                    value: self.word(1)?,
                }
            }
            Payload::Symbols => Value::Symbols(words()?),
            Payload::Offsets => Value::Offsets(words()?),
            Payload::SymbolWords | Payload::Pairs | Payload::Words => Value::Words(words()?),
            Payload::ParamBank => {
                exact(8)?;
                Value::ParamBank {
                    symbol: self.word(0)?,
                    offset: u16_at(self.payload, 4)?,
                    size: u16_at(self.payload, 6)?,
                }
            }
            Payload::Param => Value::Param(Param::read(self.payload)?),
            Payload::ParamV2 => Value::ParamV2(ParamV2::read(self.payload)?),
            Payload::Dim3 => {
                exact(12)?;
                Value::Dim3([self.word(0)?, self.word(1)?, self.word(2)?])
            }
            Payload::BranchTargets => {
                let targets = BranchTargets { words: words()? };
                { targets }.try_for_each(|t| t.map(drop)).ok()?;
                Value::BranchTargets(targets)
            }
            Payload::Nothing | Payload::Opaque => return None,
        })
    }
}

/// What a record says, for showing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'d> {
    /// Nothing but its presence.
    Flag,
    /// A byte.
    Byte(u8),
    /// 16 bits.
    Half(u16),
    /// A word.
    Word(u32),
    /// A symbol and a value.
    SymbolValue {
        /// Symbol index.
        symbol: u32,
        /// Value.
        value: u32,
    },
    /// Symbol indices.
    Symbols(&'d [U32]),
    /// Code offsets.
    Offsets(&'d [U32]),
    /// Words.
    Words(&'d [U32]),
    /// Location of a kernel's parameters in constant bank 0.
    ParamBank {
        /// Symbol of the `.nv.constant0` section.
        symbol: u32,
        /// Offset of the first parameter.
        offset: u16,
        /// Size of all parameters.
        size: u16,
    },
    /// A kernel parameter.
    Param(Param),
    /// A kernel parameter in the newer form.
    ParamV2(ParamV2),
    /// x, y, z.
    Dim3([u32; 3]),
    /// Indirect branches.
    BranchTargets(BranchTargets<'d>),
    /// Bytes without known structure, or of a size that does not fit the attribute.
    Bytes(&'d [u8]),
}

/// A kernel parameter (`EIATTR_KPARAM_INFO`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Param {
    /// Always 0.
    pub index: u32,
    /// Position in the parameter list.
    pub ordinal: u16,
    /// Offset from the first parameter.
    pub offset: u16,
    /// Binary logarithm of the alignment of what a pointer parameter points to (8 bits).
    pub log_alignment: u8,
    /// Memory space of what a pointer parameter points to (4 bits).
    pub space: u8,
    /// Constant bank, 31 for the parameter bank (5 bits).
    pub bank: u8,
    /// The parameter is passed in a constant bank.
    pub in_bank: bool,
    /// Size in bytes (14 bits).
    pub size: u16,
}

impl Param {
    /// Reads a payload of 12 bytes.
    pub fn read(payload: &[u8]) -> Option<Param> {
        let [a, b, packed] = [0, 4, 8].map(|at| u32_at(payload, at));
        let (packed, place) = (packed?, b?);
        (payload.len() == 12).then_some(Param {
            index: a?,
            ordinal: place as u16,
            offset: (place >> 16) as u16,
            log_alignment: packed as u8,
            space: (packed >> 8 & 0xf) as u8,
            bank: (packed >> 12 & 0x1f) as u8,
            in_bank: packed >> 17 & 1 == 0,
            size: (packed >> 18) as u16,
        })
    }
    /// The payload. Bits that do not fit their field are lost.
    pub fn bytes(&self) -> [u8; 12] {
        let packed = u32::from(self.log_alignment)
            | u32::from(self.space & 0xf) << 8
            | u32::from(self.bank & 0x1f) << 12
            | u32::from(!self.in_bank) << 17
            | u32::from(self.size) << 18;
        let place = u32::from(self.ordinal) | u32::from(self.offset) << 16;
        words_to_bytes([self.index, place, packed])
    }
}

/// A kernel parameter (`EIATTR_KPARAM_INFO_V2`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParamV2 {
    /// Position in the parameter list.
    pub index: u32,
    /// Offset from the first parameter.
    pub offset: u32,
    /// Size in bytes.
    pub size: u16,
    /// Binary logarithm of the alignment.
    pub log_alignment: u8,
    /// Type (low four bits) and pointer bit.
    pub kind: u8,
}

impl ParamV2 {
    /// Reads a payload of 12 bytes.
    pub fn read(payload: &[u8]) -> Option<ParamV2> {
        let [size_low, size_high, log_alignment, kind] = *payload.get(8..)?.first_chunk::<4>()?;
        (payload.len() == 12).then_some(ParamV2 {
            index: u32_at(payload, 0)?,
            offset: u32_at(payload, 4)?,
            size: u16::from_le_bytes([size_low, size_high]),
            log_alignment,
            kind,
        })
    }
    /// The payload.
    pub fn bytes(&self) -> [u8; 12] {
        let last = u32::from(self.size) | u32::from(self.log_alignment) << 16 | u32::from(self.kind) << 24;
        words_to_bytes([self.index, self.offset, last])
    }
}

fn words_to_bytes(words: [u32; 3]) -> [u8; 12] {
    let mut out = [0; 12];
    for (chunk, word) in out.chunks_exact_mut(4).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// The branches of an `EIATTR_INDIRECT_BRANCH_TARGETS` record, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchTargets<'d> {
    words: &'d [U32],
}

/// An indirect branch and where it can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch<'d> {
    /// Offset of the branch instruction.
    pub offset: u32,
    /// Second word, 0 in every file seen.
    pub flags: u32,
    /// Offsets of the targets.
    pub targets: &'d [U32],
}

impl<'d> Iterator for BranchTargets<'d> {
    type Item = Result<Branch<'d>, CodecError>;
    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = match self.words {
            [] => return None,
            [offset, flags, count, rest @ ..] => ([offset.get(), flags.get(), count.get()], rest),
            _ => ([0, 0, u32::MAX], &[][..]),
        };
        let [offset, flags, count] = head;
        let Some((targets, rest)) = rest.split_at_checked(count as usize) else {
            let have = self.words.len() * 4;
            self.words = &[];
            return Some(Err(CodecError::Truncated {
                what: "indirect branch",
                offset: 0,
                need: 12 + u64::from(count) * 4,
                have,
            }));
        };
        self.words = rest;
        Some(Ok(Branch { offset, flags, targets }))
    }
}

/// The records of a section, in order. Stops after the first error.
pub fn records(data: &[u8]) -> Records<'_> {
    Records { data, at: 0 }
}

/// Iterator over the records of a section.
#[derive(Debug, Clone)]
pub struct Records<'d> {
    data: &'d [u8],
    at: usize,
}

impl<'d> Records<'d> {
    /// Offset of the next record.
    pub fn offset(&self) -> usize {
        self.at
    }
    fn read(&self) -> Result<Record<'d>, CodecError> {
        let head = word(self.data, self.at, ".nv.info record")?.to_le_bytes();
        let [format, attribute, low, high] = head;
        let half = u16::from_le_bytes([low, high]);
        let size = if format == FORMAT_SIZED { half } else { 0 };
        let payload = take(self.data, self.at + 4, size.into(), "payload of an .nv.info record")?;
        Ok(Record {
            format,
            attribute,
            half,
            payload,
        })
    }
}

impl<'d> Iterator for Records<'d> {
    type Item = Result<Record<'d>, CodecError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.data.len() {
            return None;
        }
        let record = self.read();
        self.at = match &record {
            Ok(record) => self.at + record.size(),
            Err(_) => self.data.len(),
        };
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    const SECTION: &[u8] = &[
        0x04, 0x2f, 8, 0, 0x1a, 0, 0, 0, 0x18, 0, 0, 0, // registers of symbol 26
        0x04, 0x17, 12, 0, 0, 0, 0, 0, 1, 0, 8, 0, 0x00, 0xf0, 0x21, 0, // second parameter
        0x03, 0x1b, 0xff, 0, // maximal register count
        0x01, 0x41, 0, 0, // flag
        0x02, 0x4c, 3, 0, // barriers
        0x04, 0x0a, 8, 0, 7, 0, 0, 0, 0x10, 2, 0x10, 0, // parameters at 0x210, 16 bytes
        0x04, 0xee, 3, 0, 1, 2, 3, // unknown code, odd size
        0x05, 0x61, 7, 9, // unknown format and code
        0x04, 0x34, 16, 0, 0xb0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xd0, 1, 0, 0, // branch with one target
    ];

    #[test]
    fn records_decode_to_their_values() {
        let list: Vec<_> = records(SECTION).collect::<Result<_, _>>().unwrap();
        assert_eq!(list.len(), 9);
        assert_eq!(list[0].value(), Value::SymbolValue { symbol: 26, value: 24 });
        let Value::Param(param) = list[1].value() else {
            panic!("{:?}", list[1])
        };
        assert_eq!(
            (param.ordinal, param.offset, param.size, param.bank, param.in_bank),
            (1, 8, 8, 0x1f, true)
        );
        assert_eq!(&param.bytes()[..], list[1].payload);
        assert_eq!(list[2].value(), Value::Half(0xff));
        assert_eq!(list[3].value(), Value::Flag);
        assert_eq!(list[4].value(), Value::Byte(3));
        assert_eq!(
            list[5].value(),
            Value::ParamBank {
                symbol: 7,
                offset: 0x210,
                size: 16
            }
        );
        assert_eq!(list[6].value(), Value::Bytes(&[1, 2, 3]));
        assert_eq!(list[6].info(), None);
        assert_eq!(list[7].value(), Value::Half(0x0907));
        let Value::BranchTargets(mut branches) = list[8].value() else {
            panic!("{:?}", list[8])
        };
        let branch = branches.next().unwrap().unwrap();
        assert_eq!((branch.offset, branch.targets[0].get()), (0xb0, 0x1d0));
        assert_eq!(branches.next(), None);
        let mut out = Vec::new();
        list.iter().for_each(|r| r.write(&mut out));
        assert_eq!(out, SECTION);
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_list() {
        let full: Vec<_> = records(SECTION).flatten().collect();
        for cut in 0..SECTION.len() {
            let part: Result<Vec<_>, _> = records(&SECTION[..cut]).collect();
            match part {
                Ok(list) => assert!(full.starts_with(&list)),
                Err(CodecError::Truncated { offset, need, have, .. }) => assert!(offset + have == cut && need > have as u64),
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn places_in_code() {
        let places = |code: u8, words: &[u32]| {
            let mut moved = words.to_vec();
            attribute_info(code).unwrap().places.for_each(&mut moved, |w| *w += 0x1000);
            moved
        };
        assert_eq!(places(0x1c, &[0x10, 0x20]), [0x1010, 0x1020]);
        assert_eq!(places(0x44, &[0x10, 0xf, 0x20, 0xff00]), [0x1010, 0xf, 0x1020, 0xff00]);
        assert_eq!(places(0x39, &[0x10, 1, 2, 3, 0x20]), [0x1010, 1, 2, 3, 0x1020]);
        assert_eq!(
            places(0x34, &[0x10, 0, 2, 0x30, 0x40, 0x20, 0, 9, 0x50]),
            [0x1010, 0, 2, 0x1030, 0x1040, 0x1020, 0, 9, 0x1050]
        );
        assert_eq!(places(0x1d, &[0x10]), [0x10]);
    }

    #[test]
    fn table_is_indexed_by_code() {
        assert_eq!(attribute_info(0x6b).map(|a| a.name), Some("EIATTR_NVSAL_SW_WAR"));
        assert!(attribute_info(0x61).is_none());
        assert!(attributes().iter().enumerate().all(|(i, a)| usize::from(a.code) == i));
        assert_eq!(attribute_info(0x2f).unwrap().name, "EIATTR_REGCOUNT");
        assert_eq!(attribute_info(0x61), None);
        let with_symbol: Vec<u8> = attributes().iter().filter(|a| a.symbols != SymbolUse::No).map(|a| a.code).collect();
        assert_eq!(
            with_symbol,
            [
                0x02, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0f, 0x11, 0x12, 0x13, 0x14, 0x17, 0x23, 0x26, 0x2f, 0x3b, 0x45
            ]
        );
    }

    #[test]
    fn payloads_are_limited_to_what_the_size_field_holds() {
        assert!(Record::sized(1, &[0; 0x1_0000]).is_err());
        assert_eq!(Record::sized(1, &[0; 0xffff]).unwrap().half, 0xffff);
    }

    #[test]
    fn newer_parameters_round_trip() {
        let p = ParamV2 {
            index: 3,
            offset: 0x1_0004,
            size: 24,
            log_alignment: 4,
            kind: 0x12,
        };
        assert_eq!(ParamV2::read(&p.bytes()), Some(p));
        assert_eq!(ParamV2::read(&p.bytes()[..11]), None);
    }
}
