//! `.nv.capmerc.text.*`: the Mercury form of a function, stored as a difference to its SASS.
//!
//! 1. Header: index of the SASS `.text` section, a tag, the number n of Mercury instructions, a bitmap of n bits in whole words. In files of
//!    CUDA 12.8 tag and number are one word.
//! 2. A set bit says that the instruction follows from one SASS instruction; it has no record.
//! 3. Every clear bit has a record, in order. Its first byte says which form:
//!    * 1, 2, 3: a full Mercury instruction of 16 times that many bytes, for one SASS instruction;
//!    * 0x41, 0x42, 0x43: four bytes, for one SASS instruction;
//!    * low seven bits 0x50: a half word, its upper nine bits count the SASS instructions that it represents;
//!    * low seven bits 0x51, 0x52, 0x53: such a half word, then a full instruction.
//! 4. The numbers of SASS instructions add up to the size of `.text` divided by 16.

use crate::codec::{CodecError, take, u16_at, word};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

const WHAT: &str = "capmerc record";

/// Tag of files of CUDA 12.9 and later.
pub const TAG: u32 = 0xc000_0001;
/// Tag of files of CUDA 12.8, in the upper two bits of the word that has the number of instructions.
pub const FIRST_TAG: u32 = 0x4000_0000;
const FIRST_TAG_MASK: u32 = 0xc000_0000;

/// A Mercury instruction as the capsule stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction<'d> {
    /// Follows from one SASS instruction.
    Derived,
    /// A full instruction for one SASS instruction.
    Full(&'d [u8]),
    /// Four bytes for one SASS instruction.
    Short(&'d [u8; 4]),
    /// Represents `count` SASS instructions without a body of its own.
    Expanded {
        /// Number of SASS instructions.
        count: u16,
    },
    /// A full instruction that represents `count` SASS instructions.
    ExpandedFull {
        /// Low seven bits of the half word: 0x51, 0x52 or 0x53.
        form: u8,
        /// Number of SASS instructions.
        count: u16,
        /// The instruction.
        body: &'d [u8],
    },
}

impl<'d> Instruction<'d> {
    /// Number of SASS instructions that it represents.
    pub fn sass_count(&self) -> u32 {
        match self {
            Instruction::Derived | Instruction::Full(_) | Instruction::Short(_) => 1,
            Instruction::Expanded { count } | Instruction::ExpandedFull { count, .. } => (*count).into(),
        }
    }
    /// Bytes of its record.
    pub fn size(&self) -> usize {
        match self {
            Instruction::Derived => 0,
            Instruction::Full(body) => body.len(),
            Instruction::Short(_) => 4,
            Instruction::Expanded { .. } => 2,
            Instruction::ExpandedFull { body, .. } => 2 + body.len(),
        }
    }
    /// The full instruction, if it has one.
    pub fn body(&self) -> Option<&'d [u8]> {
        match self {
            Instruction::Full(body) | Instruction::ExpandedFull { body, .. } => Some(body),
            _ => None,
        }
    }
    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let half = |form: u8, count: u16| (u16::from(form) | count << 7).to_le_bytes();
        match self {
            Instruction::Derived => {}
            Instruction::Full(body) => out.extend_from_slice(body),
            Instruction::Short(bytes) => out.extend_from_slice(*bytes),
            Instruction::Expanded { count } => out.extend_from_slice(&half(0x50, *count)),
            Instruction::ExpandedFull { form, count, body } => {
                out.extend_from_slice(&half(*form, *count));
                out.extend_from_slice(body);
            }
        }
    }
}

/// A capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capsule<'d> {
    /// Index of the `.text` section with the SASS.
    pub text_section: u32,
    /// Tag: [`TAG`] or [`FIRST_TAG`].
    pub tag: u32,
    /// Number of Mercury instructions.
    pub count: u32,
    bitmap: &'d [U32],
    records: &'d [u8],
    records_at: usize,
}

impl<'d> Capsule<'d> {
    /// Takes the header apart; the records are checked when they are requested.
    pub fn read(data: &'d [u8]) -> Result<Self, CodecError> {
        const HEAD: &str = "capmerc header";
        let tag = word(data, 4, HEAD)?;
        let (tag, count, bitmap_at) = match tag & FIRST_TAG_MASK {
            FIRST_TAG => (FIRST_TAG, tag & !FIRST_TAG_MASK, 8),
            _ => (tag, word(data, 8, HEAD)?, 12),
        };
        let words = count.div_ceil(32) as usize;
        let bitmap = take(data, bitmap_at, words.saturating_mul(4), "capmerc bitmap")?;
        let records_at = bitmap_at + bitmap.len();
        Ok(Capsule {
            text_section: word(data, 0, HEAD)?,
            tag,
            count,
            bitmap: <[U32]>::ref_from_bytes(bitmap).unwrap_or_default(),
            records: data.get(records_at..).unwrap_or_default(),
            records_at,
        })
    }

    /// The instructions in order. Stops after the first error.
    pub fn instructions(&self) -> Instructions<'d> {
        Instructions {
            capsule: *self,
            number: 0,
            at: 0,
        }
    }

    /// Checks all records: they fill the section to the last byte. Gives the number of SASS instructions.
    pub fn check(&self) -> Result<u64, CodecError> {
        let mut list = self.instructions();
        let mut sass = 0u64;
        for item in &mut list {
            sass += u64::from(item?.1.sass_count());
        }
        if list.at != self.records.len() {
            return Err(CodecError::Value {
                what: "capmerc section",
                offset: self.records_at + list.at,
                field: "number of bytes after the last record",
                value: (self.records.len() - list.at) as u64,
            });
        }
        Ok(sass)
    }
}

/// Iterator over the instructions of a capsule: offset of the record in the section, instruction.
#[derive(Debug, Clone)]
pub struct Instructions<'d> {
    capsule: Capsule<'d>,
    number: u32,
    at: usize,
}

impl<'d> Instructions<'d> {
    fn read(&self) -> Result<Instruction<'d>, CodecError> {
        let (i, at) = (self.number, self.at);
        let bits = self.capsule.bitmap.get((i / 32) as usize).map_or(0, |w| w.get());
        if bits >> (i % 32) & 1 == 1 {
            return Ok(Instruction::Derived);
        }
        let data = self.capsule.records;
        let &[first] = take(data, at, 1, WHAT)?.first_chunk().unwrap_or(&[0]);
        let body = |at: usize| -> Result<&'d [u8], CodecError> {
            let &[units] = take(data, at, 1, WHAT)?.first_chunk().unwrap_or(&[0]);
            if !(1..=3).contains(&units) {
                return Err(self.bad(units));
            }
            take(data, at, usize::from(units) * 16, WHAT)
        };
        let half = || {
            take(data, at, 2, WHAT)?;
            Ok(u16_at(data, at).unwrap_or_default() >> 7)
        };
        match first {
            1..=3 => Ok(Instruction::Full(body(at)?)),
            0x41..=0x43 => match take(data, at, 4, WHAT)?.first_chunk() {
                Some(bytes) => Ok(Instruction::Short(bytes)),
                None => Err(self.bad(first)),
            },
            _ => match first & 0x7f {
                0x50 => Ok(Instruction::Expanded { count: half()? }),
                form @ 0x51..=0x53 => Ok(Instruction::ExpandedFull {
                    form,
                    count: half()?,
                    body: body(at + 2)?,
                }),
                _ => Err(self.bad(first)),
            },
        }
    }

    fn bad(&self, value: u8) -> CodecError {
        CodecError::Value {
            what: WHAT,
            offset: self.capsule.records_at + self.at,
            field: "form",
            value: value.into(),
        }
    }
}

impl<'d> Iterator for Instructions<'d> {
    type Item = Result<(usize, Instruction<'d>), CodecError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.number >= self.capsule.count {
            return None;
        }
        let place = self.capsule.records_at + self.at;
        match self.read() {
            Ok(instruction) => {
                self.number += 1;
                self.at += instruction.size();
                Some(Ok((place, instruction)))
            }
            Err(error) => {
                self.number = self.capsule.count;
                Some(Err(error))
            }
        }
    }
}

/// Appends a capsule with these instructions to `out`.
pub fn write(text_section: u32, tag: u32, instructions: &[Instruction<'_>], out: &mut Vec<u8>) -> Result<(), CodecError> {
    let count = u32::try_from(instructions.len()).map_err(|_| CodecError::TooLong {
        what: "capmerc section",
        size: instructions.len(),
        max: u32::MAX as usize,
    })?;
    let head: &[u32] = match tag {
        FIRST_TAG => &[text_section, tag | count],
        _ => &[text_section, tag, count],
    };
    for word in head {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for chunk in instructions.chunks(32) {
        let bits = chunk
            .iter()
            .enumerate()
            .fold(0u32, |bits, (i, x)| bits | u32::from(matches!(x, Instruction::Derived)) << i);
        out.extend_from_slice(&bits.to_le_bytes());
    }
    instructions.iter().for_each(|x| x.write(out));
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn sample() -> Vec<u8> {
        let full = [vec![2u8], vec![7; 31]].concat();
        let short = [0x41, 1, 2, 3];
        let macro_body = [vec![1u8], vec![9; 15]].concat();
        let mut list = vec![Instruction::Derived; 40];
        list[3] = Instruction::Full(&full);
        list[33] = Instruction::Short(&short);
        list[34] = Instruction::ExpandedFull {
            form: 0x51,
            count: 5,
            body: &macro_body,
        };
        list[39] = Instruction::Expanded { count: 300 };
        let mut out = Vec::new();
        write(12, TAG, &list, &mut out).unwrap();
        out
    }

    #[test]
    fn all_forms_round_trip() {
        let bytes = sample();
        let capsule = Capsule::read(&bytes).unwrap();
        assert_eq!((capsule.text_section, capsule.tag, capsule.count), (12, TAG, 40));
        assert_eq!(capsule.check().unwrap(), 36 + 1 + 1 + 5 + 300);
        let list: Vec<_> = capsule.instructions().map(|i| i.unwrap().1).collect();
        let mut out = Vec::new();
        write(capsule.text_section, capsule.tag, &list, &mut out).unwrap();
        assert_eq!(out, bytes);
        let places: Vec<_> = capsule
            .instructions()
            .flatten()
            .filter(|(_, i)| i.body().is_some())
            .map(|(at, _)| at)
            .collect();
        assert_eq!(places, [20, 20 + 32 + 4]);
    }

    #[test]
    fn the_first_form_has_one_word_less() {
        let bytes = sample();
        let list: Vec<_> = Capsule::read(&bytes).unwrap().instructions().map(|i| i.unwrap().1).collect();
        let mut first = Vec::new();
        write(12, FIRST_TAG, &list, &mut first).unwrap();
        assert_eq!(first[4..8], (FIRST_TAG | 40).to_le_bytes());
        assert_eq!(first[8..], bytes[12..]);
        let capsule = Capsule::read(&first).unwrap();
        assert_eq!((capsule.tag, capsule.count), (FIRST_TAG, 40));
        assert!(capsule.instructions().map(|i| i.unwrap().1).eq(list));
    }

    #[test]
    fn damage_is_named() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let short = &bytes[..cut];
            assert!(Capsule::read(short).and_then(|c| c.check()).is_err(), "{cut}");
        }
        let mut form = bytes.clone();
        form[20] = 0x77;
        let error = Capsule::read(&form).unwrap().check().unwrap_err();
        assert_eq!(error.to_string(), "capmerc record at offset 0x14: form is 0x77");
        let mut long = bytes.clone();
        long.push(0);
        assert!(Capsule::read(&long).unwrap().check().is_err());
        let mut count = bytes;
        count[8..12].copy_from_slice(&[0xff; 4]);
        assert!(Capsule::read(&count).is_err());
    }
}
