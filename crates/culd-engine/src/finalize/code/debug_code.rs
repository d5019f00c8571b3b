//! Code without a schedule, as compilers write it with full debug information.
//!
//! 1. Up to 13.2 every instruction takes 15 cycles and waits for scoreboards 0 and 1; those that signal use these two.
//! 2. From 13.3 on there are neither stall counts nor scoreboards.
//! 3. The jump to itself that ends a function and the padding after it are the same in all code.

use cubin::capmerc::{Capsule, Instruction};
use culd_sass::decode::opcode;

/// Place of stall count, yield bit, scoreboards and wait mask in an instruction, and those of an instruction without any.
const CONTROL: u128 = 0x1f_ffff << 105;
const NO_SCOREBOARD: u128 = 7;
const WRITE: u32 = 110;
const READ: u32 = 113;
/// 15 cycles, waits for both scoreboards.
const SLOW: u128 = 0xf << 105 | 3 << 116;
/// Bits of the opcode, and those that are the same for all kinds of operands.
const OPCODE: u128 = 0xfff;
const OPERATION: u128 = 0x1ff;
/// Operations that signal in code without a schedule, whatever they do in code with one. Observed in compiled code.
const RESULT_AND_OPERANDS: [u16; 17] = [
    0x106, 0x112, 0x119, 0x160, 0x16f, 0x180, 0x181, 0x182, 0x183, 0x184, 0x189, 0x18a, 0x18c, 0x18d, 0x199, 0x1a8, 0x1c2,
];
const OPERANDS: [u16; 6] = [0x11d, 0x156, 0x185, 0x186, 0x187, 0x188];
const RESULT: [u16; 3] = [0x155, 0x1ac, 0x1c3];

/// Instructions before the end of a function.
fn count(words: &[[u8; 16]]) -> usize {
    let is_nop = |word: &&[u8; 16]| u128::from_le_bytes(**word) & OPCODE == u128::from(opcode::NOP);
    let padding = words.iter().rev().take_while(is_nop).count();
    words.len().saturating_sub(padding + 1)
}

/// Whether instructions have stall counts of their own.
pub(crate) fn is_scheduled(code: &[u8]) -> bool {
    let words = code.as_chunks::<16>().0;
    let stall = |word: &[u8; 16]| u128::from_le_bytes(*word) >> 105 & 0xf;
    words.iter().take(count(words)).any(|word| !matches!(stall(word), 0 | 15))
}

/// Takes the schedule from code. `waits`: in the form of releases up to 13.2.
pub(crate) fn unscheduled(code: &[u8], waits: bool) -> Vec<u8> {
    let mut code = code.to_vec();
    let words = code.as_chunks_mut::<16>().0;
    let count = count(words);
    for word in words.iter_mut().take(count) {
        let old = u128::from_le_bytes(*word);
        let signals = |at: u32| old >> at & NO_SCOREBOARD != NO_SCOREBOARD;
        let operation = (old & OPERATION) as u16;
        let (write, read) = match operation {
            _ if !waits => (NO_SCOREBOARD, NO_SCOREBOARD),
            _ if RESULT_AND_OPERANDS.contains(&operation) => (0, 1),
            _ if OPERANDS.contains(&operation) => (NO_SCOREBOARD, 1),
            _ if RESULT.contains(&operation) => (0, NO_SCOREBOARD),
            _ if signals(WRITE) => (0, 1),
            _ if signals(READ) => (NO_SCOREBOARD, 1),
            _ => (NO_SCOREBOARD, NO_SCOREBOARD),
        };
        let new = old & !CONTROL | write << WRITE | read << READ | if waits { SLOW } else { 0 };
        *word = new.to_le_bytes();
    }
    code
}

/// A `NOP` that does nothing but stall, without its stall.
const DELAY: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
const YIELD: u128 = 1 << 109;

/// Delays between results of double precision are groups of `NOP`s with records of their own. nvlink 13.0 writes the longest ones of a group first, the compilers
/// of 12.8 and 12.9 last, and those of one or two cycles with the yield bit.
pub(super) fn order_delays(code: &mut [u8], capsule: &[u8]) {
    let stall = |word: &[u8; 16]| (u128::from_le_bytes(*word) >> 105 & 15) as u8;
    let list: Vec<Instruction<'_>> = match Capsule::read(capsule) {
        Ok(capsule) => capsule.instructions().flatten().map(|(_, instruction)| instruction).collect(),
        Err(_) => Vec::new(),
    };
    let mut first = 0usize;
    for instruction in list {
        let count = instruction.sass_count() as usize;
        let words = code
            .as_chunks_mut::<16>()
            .0
            .get_mut(first..first.saturating_add(count))
            .unwrap_or_default();
        for word in words.iter_mut().filter(|_| matches!(instruction, Instruction::Expanded { .. })) {
            let old = u128::from_le_bytes(*word);
            if old & !(15 << 105) == DELAY | YIELD && stall(word) > 0 {
                *word = (old & !YIELD).to_le_bytes();
            }
        }
        first = first.saturating_add(count);
    }
    let is_delay = |word: &[u8; 16]| u128::from_le_bytes(*word) & !(15 << 105) == DELAY && stall(word) > 0;
    let (words, _) = code.as_chunks_mut::<16>();
    for group in words.chunk_by_mut(|a, b| is_delay(a) && is_delay(b)) {
        if group.first().is_some_and(is_delay) {
            group.sort_by_key(|word| std::cmp::Reverse(stall(word)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DELAY, Instruction, YIELD, is_scheduled, order_delays, unscheduled};

    /// An instruction: opcode, stall count, scoreboards of result and operands, wait mask.
    fn word(opcode: u128, stall: u128, write: u128, read: u128, wait: u128) -> [u8; 16] {
        (opcode | stall << 105 | write << 110 | read << 113 | wait << 116).to_le_bytes()
    }

    #[test]
    fn schedules_are_taken_away_but_for_the_end() {
        let end = [word(0x947, 0, 7, 7, 0), word(0x918, 0, 7, 7, 0)];
        let code = [
            word(0x7ac, 1, 0, 7, 0),
            word(0x986, 2, 7, 0, 1),
            word(0x202, 5, 7, 7, 1),
            end[0],
            end[1],
        ]
        .concat();
        assert!(is_scheduled(&code));
        let slow = [
            word(0x7ac, 15, 0, 7, 3),
            word(0x986, 15, 7, 1, 3),
            word(0x202, 15, 7, 7, 3),
            end[0],
            end[1],
        ]
        .concat();
        let none = [
            word(0x7ac, 0, 7, 7, 0),
            word(0x986, 0, 7, 7, 0),
            word(0x202, 0, 7, 7, 0),
            end[0],
            end[1],
        ]
        .concat();
        assert!(!is_scheduled(&slow) && !is_scheduled(&none));
        assert_eq!(unscheduled(&code, true), slow);
        assert_eq!(unscheduled(&code, false), none);
        assert!(unscheduled(&[], true).is_empty());
    }

    #[test]
    fn the_longest_delays_of_a_group_come_first() {
        let delay = |stall: u128| DELAY | stall << 105;
        let other = delay(2) | 1 << 116;
        let code = |words: &[u128]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
        let mut words = code(&[delay(3), delay(15), delay(15), other, delay(4), delay(15), delay(0), delay(0)]);
        order_delays(&mut words, &[]);
        let sorted = [delay(15), delay(15), delay(3), other, delay(15), delay(4), delay(0), delay(0)];
        assert_eq!(words, code(&sorted));
        // A short one yields, if it has a record of its own.
        let mut capsule = Vec::new();
        let own = Instruction::Expanded { count: 1 };
        cubin::capmerc::write(1, cubin::capmerc::TAG, &[own, own, Instruction::Derived], &mut capsule).unwrap_or_default();
        let mut words = code(&[delay(2) | YIELD, delay(15), delay(1) | YIELD]);
        order_delays(&mut words, &capsule);
        assert_eq!(words, code(&[delay(15), delay(2), delay(1) | YIELD]));
    }
}
