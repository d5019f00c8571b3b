//! Capsules of CUDA 12.8 in the form of later releases.
//!
//! 1. Header: tag and number of instructions are two words instead of one.
//! 2. Whether a Mercury instruction follows from its SASS instruction, or needs a record of four bytes, is decided by the tables of the compiler, which
//!    changed for some instructions ([`table`]): loads from shared memory, calls and returns, conversions, comparisons of types that few kernels use.
//! 3. Full instructions and expanded ones stay as they are.
//! 4. An instruction with a record that nvlink was not seen to read is an error: a reader of the later form would take it for another one. So is a
//!    damaged record.
//!
//! Observed with nvlink 13.0.88: 22,684 functions of ptxas 12.8.93 for sm_100a and sm_120a. Code and scoreboards have no influence.

mod table;

use cubin::capmerc::{self, Capsule, FIRST_TAG, Instruction, TAG};
use table::{CHANGES, KNOWN, NONE};

/// First modifier bit.
const MODIFIERS: u32 = 72;

/// The capsule in the later form, or `None` if it has that form.
///
/// # Errors
///
/// The opcode of the first instruction whose record is not known, or cannot be read.
pub(super) fn converted(capsule: &[u8], code: &[u8]) -> Result<Option<Vec<u8>>, u16> {
    let parsed = match Capsule::read(capsule) {
        Ok(parsed) if parsed.tag == FIRST_TAG => parsed,
        _ => return Ok(None),
    };
    let (words, _) = code.as_chunks::<16>();
    let mut place = 0usize;
    let mut list = Vec::with_capacity(words.len());
    for item in parsed.instructions() {
        let word = words.get(place).map_or(0, |w| u128::from_le_bytes(*w));
        let (_, instruction) = item.map_err(|_| opcode(word))?;
        list.push(later(instruction, word)?);
        place = place.saturating_add(instruction.sass_count() as usize);
    }
    let mut out = Vec::with_capacity(capsule.len());
    capmerc::write(parsed.text_section, TAG, &list, &mut out).map_err(|_| 0u16)?;
    Ok(Some(out))
}

fn opcode(word: u128) -> u16 {
    (word & 0xfff) as u16
}

fn later<'d>(instruction: Instruction<'d>, word: u128) -> Result<Instruction<'d>, u16> {
    let old = match instruction {
        Instruction::Derived => u32::from_be_bytes(NONE),
        Instruction::Short(bytes) => u32::from_be_bytes(*bytes),
        other => return Ok(other),
    };
    let opcode = opcode(word);
    let known = KNOWN.binary_search_by_key(&opcode, |k| k.0).ok().and_then(|i| KNOWN.get(i));
    if !known.is_some_and(|k| k.1.contains(&old)) {
        return Err(opcode);
    }
    let modifiers = (word >> MODIFIERS) as u32;
    let change = CHANGES
        .iter()
        .find(|c| (c.opcode, c.old) == (opcode, old) && modifiers & c.modifiers.0 == c.modifiers.1);
    Ok(match change {
        None => instruction,
        Some(change) if change.new == NONE => Instruction::Derived,
        Some(change) => Instruction::Short(&change.new),
    })
}

#[cfg(test)]
mod tests {
    use super::{CHANGES, FIRST_TAG, Instruction, KNOWN, NONE, TAG, capmerc, converted};

    fn code(words: &[u128]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn capsule(tag: u32, list: &[Instruction<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        capmerc::write(3, tag, list, &mut out).unwrap_or_default();
        out
    }

    #[test]
    fn tables_are_sorted_and_agree() {
        assert!(KNOWN.windows(2).all(|w| w[0].0 < w[1].0));
        assert!(CHANGES.windows(2).all(|w| (w[0].opcode, w[0].old) <= (w[1].opcode, w[1].old)));
        for change in &CHANGES {
            let known = KNOWN.iter().find(|k| k.0 == change.opcode);
            assert!(known.is_some_and(|k| k.1.contains(&change.old)), "{:#x}", change.opcode);
            assert_ne!(change.old.to_be_bytes(), change.new);
            assert_eq!(change.modifiers.1 & !change.modifiers.0, 0);
        }
    }

    #[test]
    fn records_follow_the_instructions() {
        // LDS, CALL.REL, a full instruction for three, I2F of 64 bits and of 32 bits.
        let full = [[1u8].as_slice(), &[9; 15]].concat();
        let lds = [0x42, 0x22, 0x3a, 0x06];
        let expanded = Instruction::ExpandedFull {
            form: 0x51,
            count: 3,
            body: &full,
        };
        let words = code(&[0x7984, 0x7943, 0, 0, 0, 0x7312 | 0x3010 << 72, 0x7312 | 0x3008 << 72]);
        let old = [
            Instruction::Short(&lds),
            Instruction::Derived,
            expanded,
            Instruction::Derived,
            Instruction::Derived,
        ];
        let new = [
            Instruction::Derived,
            Instruction::Short(&[0x42, 0x0a, 0x02, 0x0e]),
            expanded,
            Instruction::Derived,
            Instruction::Short(&[0x41, 0x12, 0x44, 0x0a]),
        ];
        assert_eq!(converted(&capsule(FIRST_TAG, &old), &words), Ok(Some(capsule(TAG, &new))));
        assert_eq!(converted(&capsule(TAG, &old), &words), Ok(None));
        assert_ne!(NONE, lds);
    }

    #[test]
    fn a_record_that_is_not_known_is_an_error() {
        let odd = [0x41, 0xff, 0xff, 0xff];
        let old = capsule(FIRST_TAG, &[Instruction::Short(&odd)]);
        assert_eq!(converted(&old, &code(&[0x7984])), Err(0x984));
        assert_eq!(converted(&old, &[]), Err(0));
        let short = old.get(..old.len() - 1).unwrap_or_default();
        assert_eq!(converted(short, &code(&[0x7984])), Err(0x984));
        assert_eq!(converted(&capsule(FIRST_TAG, &[Instruction::Derived]), &code(&[0x7001])), Err(1));
    }
}
