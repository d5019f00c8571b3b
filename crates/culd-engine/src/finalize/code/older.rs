//! Code of objects of older toolkits.
//!
//! 1. nvlink 13.0 schedules Blackwell code of CUDA 12.8 and 12.9 as its own compiler would have done.
//! 2. Delays between results of double precision are ordered anew ([`order_delays`]); the count of an arrival at a barrier is shifted in another way.
//! 3. `NOP`s after `WARPSYNC` go ([`super::waits`]).
//! 4. Scoreboards are allocated by the rules of 13.0. Where a model of the older compiler reproduces the code, that of 13.0 gives the result ([`culd_sass`]).
//! 5. Other functions are scheduled as if the compiler was the linker's own. They are reported, unless they are [`plain`].
//!
//! Observed with nvlink 13.0.88, sm_100a and sm_120a: of 2,421 functions of real kernels of ptxas 12.9.86 and 2,403 of 12.8.93 no unreported one differs (1,826 and 1,821).
//! Of 15,327 functions of ptxas 12.9.86 the plain ones came out as they were.

use crate::finalize::code::debug_code::order_delays;
use crate::object::Object;
use cubin::capmerc::{Capsule, Instruction};
use cubin::release::Rules;
use culd_sass::decode::opcode;
use culd_sass::{KernelContext, Rewrite};
use std::borrow::Cow;

/// Why a function of an older toolkit is reported.
pub(super) const SCHEDULED_AGAIN: &str = "compiled by an older toolkit, whose code nvlink schedules again";
/// They end a block, or call.
const BRANCHES: [u16; 10] = {
    use opcode::{BRA, BRA_U, BRX, BRXU, BSYNC, RET};
    let [call, call_absolute, relative, absolute] = opcode::CALLS;
    [BRA, BRA_U, BRX, BRXU, BSYNC, RET, call, call_absolute, relative, absolute]
};
/// `BAR.ARV` of a register, `SHF`, and the map of an address in shared memory to that of a cluster.
const ARRIVE: u16 = 0x31d;
const SHIFT: u16 = 0x819;
const MAP_SHARED: u16 = 0x8a4;
/// Places of a shift's operands, and of the bit that selects the upper half.
const OPERAND: u32 = 24;
const LOWER_OPERAND: u32 = 64;
const HIGH: u32 = 80;
const NO_REGISTER: u128 = 0xff;
/// Most scoreboards that a plain function sets. Observed: from 12 on the choice may be another.
const FEW_SCOREBOARDS: usize = 8;

/// Does nvlink schedule the code of this object again, as its own compiler would have done?
pub(super) fn is_older(object: &Object<'_>, rules: &Rules) -> bool {
    rules.longest_delays_first && object.toolkit < rules.finalizer
}

/// The code that is scheduled: delays as this release orders them.
pub(super) fn ordered<'d>(object: &Object<'d>, rules: &Rules, compiled: &'d [u8], capsule: &[u8]) -> Cow<'d, [u8]> {
    let mut code = Cow::Borrowed(compiled);
    if is_older(object, rules) {
        order_delays(code.to_mut(), capsule);
        shift_counts(code.to_mut());
    }
    code
}

/// An arrival at a barrier under a collective counts its threads and keeps the count shifted. The older compilers take the count as the upper half of a
/// 64-bit shift, nvlink 13.0 as a plain operand.
fn shift_counts(code: &mut [u8]) {
    let (words, _) = code.as_chunks_mut::<16>();
    let operation = |word: &[u8; 16]| u16::from_le_bytes([word[0], word[1]]) & 0xfff;
    for at in 2..words.len().saturating_sub(1) {
        let Some([barrier, shift, end]) = words.get_mut(at - 1..at + 2).and_then(|w| w.first_chunk_mut()) else {
            return;
        };
        if [operation(barrier), operation(shift), operation(end)] != [ARRIVE, SHIFT, opcode::END_COLLECTIVE] {
            continue;
        }
        let old = u128::from_le_bytes(*shift);
        let upper = old >> LOWER_OPERAND & 0xff;
        if old >> HIGH & 1 == 1 && old >> OPERAND & 0xff == NO_REGISTER {
            let new = old & !(0xff << OPERAND | 0xff << LOWER_OPERAND | 1 << HIGH) | upper << OPERAND | NO_REGISTER << LOWER_OPERAND;
            *shift = new.to_le_bytes();
        }
    }
}

/// Is there an expansion that nvlink makes in another way: an address in the shared memory of a cluster?
fn expands_otherwise(code: &[u8], capsule: &[u8]) -> bool {
    let Ok(capsule) = Capsule::read(capsule) else { return false };
    let words = code.as_chunks::<16>().0;
    let mut first = 0usize;
    capsule.instructions().flatten().any(|(_, instruction)| {
        let count = instruction.sass_count() as usize;
        let maps = |word: &[u8; 16]| u16::from_le_bytes([word[0], word[1]]) & 0xfff == MAP_SHARED;
        let found = count > 1
            && words
                .get(first..first.saturating_add(count))
                .is_some_and(|words| words.iter().any(maps));
        first = first.saturating_add(count);
        found
    })
}

/// The code as nvlink schedules it again. Where the model of the older compiler does not reproduce the code, it is scheduled as if the compiler was the linker's
/// own, which is in doubt.
pub(super) fn rewritten(code: &[u8], capsule: &[u8], context: &mut KernelContext, doubt: &mut Option<String>) -> Rewrite {
    context.older = true;
    let rewritten = culd_sass::rewrite(code, context);
    context.older = false;
    if expands_otherwise(code, capsule) {
        doubt.get_or_insert(SCHEDULED_AGAIN.into());
    }
    let Rewrite::Unsure(unsure) = rewritten else { return rewritten };
    let rewritten = culd_sass::rewrite(code, context);
    let new = match &rewritten {
        Rewrite::Rewritten { code, .. } => code,
        _ => code,
    };
    if !plain(new, capsule) {
        doubt.get_or_insert(format!("{SCHEDULED_AGAIN} ({unsure})"));
    }
    rewritten
}

/// Is there nothing that a scheduler decides: no branches, no expanded instructions, few scoreboards?
pub(super) fn plain(code: &[u8], capsule: &[u8]) -> bool {
    let Ok(capsule) = Capsule::read(capsule) else { return false };
    // The last record represents the loop and the padding after the code.
    let last = capsule.count.saturating_sub(1) as usize;
    let mut expanded = capsule
        .instructions()
        .flatten()
        .enumerate()
        .filter(|(i, (_, instruction))| match instruction {
            Instruction::ExpandedFull { .. } => true,
            Instruction::Expanded { .. } => *i != last,
            _ => false,
        });
    let words = code.as_chunks::<16>().0.iter().map(|w| u128::from_le_bytes(*w));
    let branches = words.clone().filter(|w| BRANCHES.contains(&((w & 0xfff) as u16))).count();
    let sets = |shift: u32| words.clone().filter(|w| w >> shift & 7 != 7).count();
    expanded.next().is_none() && branches <= 1 && sets(110) + sets(113) <= FEW_SCOREBOARDS
}

#[cfg(test)]
mod tests {
    use super::{FEW_SCOREBOARDS, plain};
    use cubin::capmerc::{Instruction, TAG, write};

    /// An instruction that sets a scoreboard for its result, or none.
    fn word(opcode: u128, write: u128) -> [u8; 16] {
        (opcode | write << 110 | 7 << 113).to_le_bytes()
    }

    fn is_plain(words: &[[u8; 16]], list: &[Instruction<'_>]) -> bool {
        let mut capsule = Vec::new();
        write(1, TAG, list, &mut capsule).unwrap_or_default();
        plain(&words.concat(), &capsule)
    }

    #[test]
    fn branches_expansions_and_many_scoreboards_are_not_plain() {
        let (load, other, end) = (word(0x981, 0), word(0x210, 7), word(0x947, 7));
        let derived = |count| vec![Instruction::Derived; count];
        let ended = |count| [derived(count), vec![Instruction::Expanded { count: 9 }]].concat();
        assert!(is_plain(&[load, other, end], &ended(2)));
        assert!(!is_plain(&[load, word(0x947, 7), end], &ended(2)));
        assert!(!is_plain(&[load, word(0x944, 7), end], &ended(2)));
        let many = [vec![load; FEW_SCOREBOARDS], vec![end]].concat();
        assert!(is_plain(&many, &ended(FEW_SCOREBOARDS)));
        let more = [vec![load; FEW_SCOREBOARDS + 1], vec![end]].concat();
        assert!(!is_plain(&more, &ended(FEW_SCOREBOARDS + 1)));
        let body = [[1u8].as_slice(), &[0; 15]].concat();
        let fence = Instruction::ExpandedFull {
            form: 0x51,
            count: 5,
            body: &body,
        };
        assert!(!is_plain(&[load, other, end], &[vec![fence], ended(1)].concat()));
        assert!(!is_plain(
            &[load, end],
            &[vec![Instruction::Expanded { count: 2 }], ended(1)].concat()
        ));
        assert!(!plain(&load, &[]));
    }
}
