//! Code of objects of older toolkits.
//!
//! 1. nvlink 13.0 schedules Blackwell code of CUDA 12.8 and 12.9 as its own compiler would have done. Most functions come out as they were.
//! 2. Delays between results of double precision are ordered anew ([`order_delays`]).
//! 3. Other functions are scheduled as if the compiler was the linker's own. They are reported, unless they are [`plain`].
//!
//! Observed with nvlink 13.0.88 and 15,327 functions of ptxas 12.9.86 for sm_100a and sm_120a: plain functions come out as they were.

use crate::finalize::code::debug_code::order_delays;
use crate::object::Object;
use cubin::capmerc::{Capsule, Instruction};
use cubin::release::Rules;
use culd_sass::decode::opcode;
use std::borrow::Cow;

/// Why a function of an older toolkit is reported.
pub(super) const SCHEDULED_AGAIN: &str = "compiled by an older toolkit, whose code nvlink schedules again";
/// They end a block, or call.
const BRANCHES: [u16; 10] = {
    use opcode::{BRA, BRA_U, BRX, BRXU, BSYNC, RET};
    let [call, call_absolute, relative, absolute] = opcode::CALLS;
    [BRA, BRA_U, BRX, BRXU, BSYNC, RET, call, call_absolute, relative, absolute]
};
/// Most scoreboards that a plain function sets. Observed: from 12 on the choice may be another.
const FEW_SCOREBOARDS: usize = 8;

/// The code that is scheduled: delays as this release orders them.
pub(super) fn ordered<'d>(object: &Object<'d>, rules: &Rules, compiled: &'d [u8]) -> Cow<'d, [u8]> {
    let mut code = Cow::Borrowed(compiled);
    if rules.longest_delays_first && object.toolkit < rules.finalizer {
        order_delays(code.to_mut());
    }
    code
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
