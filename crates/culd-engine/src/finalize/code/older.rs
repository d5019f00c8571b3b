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
