//! Offsets in Mercury code and in the SASS that belongs to it.
//!
//! The capsule of a function lists its Mercury instructions in the order of the SASS instructions. Each has a size in units of 16 bytes,
//! which it states itself or which follows from the SASS instruction.

use crate::object::Object;
use cubin::capmerc::{Capsule, Instruction};
use std::collections::BTreeMap;

pub(crate) const INSTRUCTION: u64 = 16;

/// SASS opcodes whose Mercury form has one unit of 16 bytes, and two; where no record says it. Observed.
const ONE_UNIT: [u16; 58] = [
    0x202, 0x207, 0x208, 0x209, 0x20b, 0x213, 0x219, 0x220, 0x221, 0x228, 0x229, 0x22a, 0x232, 0x238, 0x23e, 0x245, 0x248, 0x287, 0x28c,
    0x291, 0x299, 0x2a4, 0x2bd, 0x2bf, 0x2ca, 0x300, 0x305, 0x306, 0x308, 0x309, 0x311, 0x312, 0x3a1, 0x3c4, 0x589, 0x802, 0x806, 0x882,
    0x886, 0x891, 0x918, 0x941, 0x946, 0x94d, 0x95c, 0x95d, 0xc02, 0xc0c, 0xc24, 0xc32, 0xc36, 0xc3e, 0xc45, 0xc82, 0xd00, 0xd09, 0xd12,
    0xe21,
];

const TWO_UNITS: [u16; 66] = [
    0x211, 0x223, 0x225, 0x227, 0x22b, 0x243, 0x292, 0x2a5, 0x343, 0x344, 0x348, 0x388, 0x3aa, 0x421, 0x423, 0x424, 0x431, 0x446, 0x547,
    0x803, 0x807, 0x808, 0x80b, 0x80c, 0x810, 0x811, 0x812, 0x816, 0x819, 0x81a, 0x820, 0x823, 0x824, 0x825, 0x827, 0x831, 0x836, 0x848,
    0x887, 0x88c, 0x890, 0x892, 0x896, 0x899, 0x8a5, 0x943, 0x944, 0x947, 0x949, 0x94e, 0x950, 0x958, 0x981, 0x983, 0x984, 0x987, 0x988,
    0x989, 0xc11, 0xc12, 0xc25, 0xc2b, 0xc31, 0xe2b, 0xe34, 0xf89,
];

/// Units of the Mercury form of a SASS instruction that has no record; `None` if it is not known.
fn derived_units(word: u128) -> Option<u64> {
    let op = (word & 0xfff) as u16;
    let carry = word >> 74 & 1 == 1;
    let byte = |at: u32| word >> at & 0xff;
    if ONE_UNIT.contains(&op) {
        return Some(1);
    }
    if TWO_UNITS.contains(&op) {
        return Some(2);
    }
    match op {
        // BREAK
        0x942 => Some(1),
        // ISETP.EX, ISETP
        0x20c => Some(if word >> 72 & 1 == 1 { 2 } else { 1 }),
        0x210 | 0xc10 if !carry && (byte(64) == 0xff || byte(24) == 0xff) => Some(1),
        0x210 | 0xc10 => Some(2),
        // LOP3: a plain AND or OR of two registers
        0x212 => Some(if byte(64) == 0xff && matches!(byte(72), 0xc0 | 0xfc) {
            1
        } else {
            2
        }),
        0x290 if !carry && (byte(64) == 0xff || byte(24) == 0xff) => Some(1),
        0x290 => Some(2),
        // BSSY.RELIABLE and .RECONVERGENT, BSSY
        0x945 => Some(if word >> 72 & 3 != 0 { 1 } else { 2 }),
        0x224 | 0xe24 => Some(if byte(72) == 6 { 2 } else { 1 }),
        _ => None,
    }
}

/// SASS offset of every Mercury instruction of the input, and of the end; `None` if the sizes do not add up.
pub(crate) fn mercury_places(object: &Object<'_>, section: u32) -> Option<BTreeMap<u64, u64>> {
    let (places, size) = capsule_places(object, section)?;
    (size == object.section(section)?.size).then_some(places)
}

/// The same by the capsule alone, and the size of the Mercury code.
pub(crate) fn capsule_places(object: &Object<'_>, section: u32) -> Option<(BTreeMap<u64, u64>, u64)> {
    let input = object.section(section)?;
    let sass = object.sass.get(section as usize)?.data;
    let (mut mercury, mut at) = (0u64, 0u64);
    let mut places = BTreeMap::new();
    for item in Capsule::read(input.data).ok()?.instructions() {
        let (_, instruction) = item.ok()?;
        places.entry(mercury * INSTRUCTION).or_insert(at * INSTRUCTION);
        mercury += match instruction {
            Instruction::Derived => {
                let word = sass.get((at * INSTRUCTION) as usize..)?.first_chunk::<16>()?;
                derived_units(u128::from_le_bytes(*word))?
            }
            Instruction::Full(body) | Instruction::ExpandedFull { body, .. } => body.len() as u64 / INSTRUCTION,
            Instruction::Short(bytes) => u64::from(bytes.first()? & 0x3f),
            Instruction::Expanded { .. } => 0,
        };
        at += u64::from(instruction.sass_count());
    }
    Some((places, mercury * INSTRUCTION))
}
