//! Waits that another compiler added to code, which nvlink 13.0 and 13.1 do not know.
//!
//! 1. ptxas 13.0.100 and later put a `NOP` before each `BSYNC`, or after each `BREAK`, and mark the function (EIATTR_NVSAL_SW_WAR). The record of the capsule is a
//!    full instruction that represents both.
//! 2. nvlink makes SASS again from such records, by the rules of its own release: the `NOP` goes, and the record, too, since it follows from one instruction.
//!
//! 3. Time that the `NOP` took is missing, so that a scoreboard may be another. Observed: in 3 fields of 2 of 95 functions. These functions are reported.
//! 4. Under the name culd the waits stay: the compiler added them for the sake of the hardware.
//! 5. ptxas 12.8 and 12.9 put a `NOP` after each `WARPSYNC`, with a full record for both. nvlink drops it, too; the record is the first bytes of the full one.
//!
//! Observed: 2,037 of 2,037 `NOP`s in 29 functions of a final link, whose other fields all stay; for 5. 790 of 790.

use crate::finalize::code::offsets::INSTRUCTION;
use crate::options::Identity;
use cubin::capmerc::{Capsule, Instruction};
use culd_sass::OffsetMap;
use culd_sass::decode::opcode;
use std::collections::BTreeMap;

/// Form of a record of four bytes.
const SHORT: u8 = 0x40;
/// Why a function of an older compiler is reported.
const PAUSES: &str = "has waits of an older compiler, which nvlink drops";
/// Why such a function is reported.
const DROPPED: &str = "has waits of a later compiler, which nvlink drops";

/// Which compiler added waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compiler {
    /// One before 13.0: a `NOP` after each `WARPSYNC`.
    Older,
    /// 13.0.100 or later: a `NOP` before each `BSYNC`, or after each `BREAK`.
    Later,
}

/// Code without its waits.
pub(super) struct Shorter {
    pub(super) code: Vec<u8>,
    /// Where the rest went.
    pub(super) map: OffsetMap,
    /// Why nvlink's may be another.
    pub(super) doubt: Option<String>,
}

/// The code without the waits; `None` if there are none. Fails if they stay.
pub(super) fn dropped(capsule: &[u8], code: &[u8], compiler: Compiler, identity: Identity) -> Result<Option<Shorter>, String> {
    let waits = added(capsule, code, compiler);
    let reason = match compiler {
        Compiler::Older => PAUSES,
        Compiler::Later => DROPPED,
    };
    let shorter = match (identity, compiler) {
        _ if waits.is_empty() => return Ok(None),
        (Identity::Culd, _) => None,
        (Identity::Nvlink, Compiler::Older) => culd_sass::without_pauses(code, &waits),
        (Identity::Nvlink, Compiler::Later) => culd_sass::without(code, &waits).map(|(code, map)| (code, map, false)),
    };
    let (code, map, sure) = shorter.ok_or(reason)?;
    let doubt = (!sure).then(|| reason.to_owned());
    Ok(Some(Shorter { code, map, doubt }))
}

/// Indirect branches and their targets at their new offsets.
pub(super) fn moved(indirect: &BTreeMap<u32, Vec<u32>>, map: &OffsetMap) -> BTreeMap<u32, Vec<u32>> {
    let place = |offset: &u32| map.new_offset(*offset);
    let branches = indirect.iter();
    branches
        .map(|(at, targets)| (place(at), targets.iter().map(place).collect()))
        .collect()
}

/// Offsets of the waits in the code of a capsule, ascending.
fn added(capsule: &[u8], code: &[u8], compiler: Compiler) -> Vec<u32> {
    let Ok(capsule) = Capsule::read(capsule) else { return Vec::new() };
    let operation = |at: u64| Some(u16::from_le_bytes(*code.get(usize::try_from(at).ok()?..)?.first_chunk()?) & 0xfff);
    let mut first = 0u64;
    let mut list = Vec::new();
    for (_, instruction) in capsule.instructions().flatten() {
        if let Instruction::ExpandedFull { count: 2, .. } = instruction {
            let second = first + INSTRUCTION;
            let wait = match (compiler, operation(first), operation(second)) {
                (Compiler::Later, Some(opcode::NOP), Some(opcode::BSYNC)) => Some(first),
                (Compiler::Later, Some(opcode::BREAK), Some(opcode::NOP)) => Some(second),
                (Compiler::Older, Some(opcode::WARPSYNC | opcode::WARPSYNC_COLLECTIVE), Some(opcode::NOP)) => Some(second),
                _ => None,
            };
            list.extend(wait.and_then(|at| u32::try_from(at).ok()));
        }
        first += u64::from(instruction.sass_count()) * INSTRUCTION;
    }
    list
}

/// The first bytes of its full instruction are the record of a `WARPSYNC` once its wait has gone.
pub(super) fn short_record(operation: u16, body: &[u8]) -> Option<[u8; 4]> {
    let &[units, a, b, c] = body.first_chunk()?;
    matches!(operation, opcode::WARPSYNC | opcode::WARPSYNC_COLLECTIVE).then_some([SHORT | units, a, b, c])
}

/// Does the record of this instruction follow from it once its wait has gone?
pub(super) fn is_derived(operation: u16) -> bool {
    matches!(operation, opcode::BSYNC | opcode::BREAK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubin::capmerc::{TAG, write};

    fn code(operations: &[u16]) -> Vec<u8> {
        operations.iter().flat_map(|&o| u128::from(o).to_le_bytes()).collect()
    }

    #[test]
    fn waits_are_those_of_records_of_two() {
        let body = [1; 16];
        let pair = Instruction::ExpandedFull {
            form: 0x51,
            count: 2,
            body: &body,
        };
        let list = [pair, Instruction::Derived, pair, Instruction::Derived, Instruction::Derived, pair];
        let mut capsule = Vec::new();
        write(1, TAG, &list, &mut capsule).unwrap_or_default();
        let (nop, wait, leave, other) = (opcode::NOP, opcode::BSYNC, opcode::BREAK, 0x210);
        let code = code(&[nop, wait, other, leave, nop, nop, wait, nop, other]);
        assert_eq!(added(&capsule, &code, Compiler::Later), [0, 0x40]);
        assert_eq!(added(&capsule[..9], &code, Compiler::Later), [0u32; 0]);
        assert_eq!(added(&capsule, &code, Compiler::Older), [0u32; 0]);
        assert_eq!(
            short_record(opcode::WARPSYNC, &[1, 0x47, 0x6e, 0x0a, 0xf8]),
            Some([0x41, 0x47, 0x6e, 0x0a])
        );
        assert_eq!(short_record(opcode::BSYNC, &body), None);
    }
}
