//! Offsets in Mercury code and in the SASS that belongs to it.
//!
//! The capsule of a function lists its Mercury instructions in the order of the SASS instructions. Each has a size in units of 16 bytes,
//! which it states itself or which follows from the SASS instruction.

use crate::object::Object;
use cubin::capmerc::{Capsule, Instruction};
use std::collections::BTreeMap;

pub(crate) const INSTRUCTION: u64 = 16;

/// SASS opcodes whose Mercury form has one unit of 16 bytes, and two, whatever their operands.
///
/// Read from pairs of places: `.nv_debug_line_sass` of objects compiled with `-lineinfo` has the place of nearly every instruction in both views. 1.9 million
/// pairs of 4,280 functions (sm_100a and sm_120a) follow these rules, but for those of eight functions.
const ONE_UNIT: [u16; 79] = [
    0x202, 0x207, 0x208, 0x209, 0x20f, 0x213, 0x216, 0x219, 0x21a, 0x220, 0x221, 0x228, 0x229, 0x230, 0x232, 0x238, 0x23a, 0x23e, 0x240,
    0x245, 0x246, 0x248, 0x287, 0x28c, 0x299, 0x2a4, 0x2bd, 0x2bf, 0x2ca, 0x300, 0x301, 0x302, 0x305, 0x306, 0x307, 0x308, 0x309, 0x310,
    0x311, 0x312, 0x313, 0x3a1, 0x3c4, 0x802, 0x806, 0x882, 0x886, 0x908, 0x918, 0x941, 0x942, 0x946, 0x94d, 0x95c, 0x95d, 0x9af, 0xc02,
    0xc07, 0xc08, 0xc13, 0xc19, 0xc20, 0xc28, 0xc32, 0xc36, 0xc3e, 0xc45, 0xc46, 0xc48, 0xc82, 0xd00, 0xd06, 0xd08, 0xd09, 0xd10, 0xd12,
    0xe21, 0xe29, 0xe46,
];

const TWO_UNITS: [u16; 89] = [
    0x211, 0x215, 0x223, 0x225, 0x227, 0x22b, 0x231, 0x234, 0x243, 0x276, 0x292, 0x2a5, 0x343, 0x344, 0x348, 0x388, 0x3aa, 0x416, 0x419,
    0x421, 0x423, 0x424, 0x431, 0x433, 0x446, 0x4a4, 0x547, 0x589, 0x803, 0x804, 0x807, 0x808, 0x809, 0x80b, 0x80c, 0x810, 0x811, 0x812,
    0x816, 0x819, 0x81a, 0x81c, 0x820, 0x823, 0x824, 0x825, 0x827, 0x831, 0x832, 0x836, 0x83b, 0x840, 0x846, 0x848, 0x883, 0x887, 0x88c,
    0x890, 0x891, 0x892, 0x896, 0x899, 0x8a4, 0x8a5, 0x902, 0x943, 0x944, 0x947, 0x949, 0x94e, 0x950, 0x958, 0x981, 0x983, 0x984, 0x987,
    0x988, 0x989, 0xc11, 0xc23, 0xc25, 0xc27, 0xc2b, 0xc31, 0xe25, 0xe27, 0xe2b, 0xe34, 0xf89,
];

/// Units of the Mercury form of a SASS instruction that has no record; `None` if it is not known. One unit has room for two operands, none of them with a
/// carry or a predicate.
fn derived_units(word: u128) -> Option<u64> {
    let op = (word & 0xfff) as u16;
    let carry = word >> 74 & 1 == 1;
    let is_null = |at: u32| word >> at & 0xff == 0xff;
    let is_plain = |at: u32| word >> at & 7 == 7;
    let is_small = match op {
        _ if ONE_UNIT.contains(&op) => true,
        _ if TWO_UNITS.contains(&op) => false,
        // FSETP, ISETP, DSETP: neither `.EX`, a second result, nor a predicate operand
        0x20b | 0x20c | 0xc0b | 0xc0c | 0x22a | 0xe2a => word >> 72 & 1 == 0 && is_plain(84) && is_plain(87) && word >> 90 & 1 == 0,
        // IADD3, UIADD3: no third operand
        0x210 | 0xc10 | 0x290 => !carry && is_null(64),
        // LOP3: no third operand
        0x212 | 0xc12 => is_null(64),
        // IMAD.X
        0x224 | 0xc24 | 0xe24 => !carry,
        // ULEA.HI
        0x291 => word >> 80 & 1 == 0,
        // BSSY.RELIABLE and .RECONVERGENT, BSSY
        0x945 => word >> 72 & 3 != 0,
        _ => return None,
    };
    Some(if is_small { 1 } else { 2 })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_operands() {
        let units = |high: u64, low: u64| derived_units(u128::from(high) << 64 | u128::from(low));
        // ISETP with and without `.EX`, with a predicate operand; DSETP with a second result
        assert_eq!(units(0x000f_da00_03f0_5270, 0x0000_00ff_0000_720c), Some(1));
        assert_eq!(units(0x000f_da00_03f0_5371, 0x0000_00ff_0000_720c), Some(2));
        assert_eq!(units(0x000f_da00_00f0_5270, 0x0000_00ff_0000_720c), Some(2));
        assert_eq!(units(0x000f_da00_0390_f000, 0x0000_0004_0200_722a), Some(2));
        // IADD3 of two and three registers, with a carry; LOP3 of two and three
        assert_eq!(units(0x000f_ca00_07ff_e0ff, 0x0000_0002_0300_7210), Some(1));
        assert_eq!(units(0x000f_ca00_07ff_e005, 0x0000_0002_0300_7210), Some(2));
        assert_eq!(units(0x000f_ca00_00ff_e4ff, 0x0000_0002_0300_7210), Some(2));
        assert_eq!(units(0x000f_ca00_078e_c0ff, 0x0000_0002_0300_7212), Some(1));
        assert_eq!(units(0x000f_ca00_078e_c005, 0x0000_0002_0300_7212), Some(2));
        assert_eq!(units(0, 0xfff), None);
    }

    #[test]
    fn opcodes_are_in_one_list_and_sorted() {
        assert!(ONE_UNIT.is_sorted() && TWO_UNITS.is_sorted());
        assert!(ONE_UNIT.iter().all(|op| !TWO_UNITS.contains(op)));
    }
}
