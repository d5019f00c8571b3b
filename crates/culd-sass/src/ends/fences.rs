//! The time that new fences take before a guarded `EXIT`, and what arrives in it (before 13.1).
//!
//! 1. The `EXIT` comes [`AFTER_BLOCK`] cycles after its place by the stalls of the block alone, and [`AFTER_GUARD`] cycles after the instruction that makes
//!    its guard, but not sooner than without fences. So time that the block waits for results of its own hides that of the fences, unless the guard waits too.
//! 2. A setter has arrived after the cycles that the choice of a number counts for it ([`Setter::latency`](crate::setter::Setter)). Where a few cycles more
//!    or less were not observed, the answer is not known.

use super::{Arrived, EXIT_STALL, Function};
use crate::cfg::Block;
use crate::decode::NO_SCOREBOARD;
use crate::setter::{Kind, SetterId};

/// Cycles from the place of an `EXIT` to the one that it has after new fences: 8 to 10 explain what was observed.
const AFTER_BLOCK: i64 = 8;
/// Cycles from the instruction that makes the guard of an `EXIT` to this `EXIT` after new fences; no other number explains what was observed.
const AFTER_GUARD: i64 = 16;
/// Cycles that a store of more than two words to shared memory takes longer, at least.
const WIDE_STORE: i64 = 2;
/// Cycles by which the latencies are not known, more or less.
const MARGIN: i64 = 3;

/// Cycles by which the last instruction of a block comes later with new fences.
pub(super) fn cycles(f: &Function<'_>, block: &Block) -> u32 {
    let last = block.end - 1;
    let issue = f.times().issue(last);
    let by_stalls = f.cfg.stalls[last] - f.cfg.stalls[block.start] + AFTER_BLOCK;
    let guard = f.insns[last].guard;
    let makes_guard = |k: &usize| guard.is_some_and(|g| f.insns[*k].defs.iter().any(|r| (r.file, r.index) == (g.file, g.index)));
    let made = (block.start..last).rev().find(makes_guard);
    let by_guard = made.map_or(0, |k| match f.insns[k].control.write {
        NO_SCOREBOARD => f.times().issue(k) + AFTER_GUARD,
        // A guard that arrives late is waited for by the fences.
        _ => issue + AFTER_BLOCK,
    });
    u32::try_from(by_stalls.max(by_guard) - issue).unwrap_or(0)
}

/// Has a setter of the block arrived at its last instruction, that comes `cycles` later? `late`: it had not without these.
pub(super) fn arrived(f: &Function<'_>, last: usize, s: SetterId, cycles: u32, late: bool) -> Arrived {
    let setter = f.setters.get(s);
    let (name, is_read) = (f.insns[setter.insn].name, setter.kind == Kind::Read);
    let registers = f.insns[setter.insn].uses.general().iter().count();
    let wide = is_read && name == "STS" && registers > 3;
    let latency = i64::from(setter.latency) + if wide { WIDE_STORE } else { 0 };
    let left = latency - (f.times().issue(last) - f.times().issue(setter.insn));
    // The latencies of others were not observed to a cycle.
    let exact = matches!((name, is_read), ("LDC", false) | ("LDS" | "SHFL" | "STS", true)) && !wide;
    let left_after = left - i64::from(cycles);
    match left_after {
        1.. if exact || left_after > MARGIN || is_read => Arrived::No,
        _ if left_after > 0 || late && left <= 0 || f.insns[last].control.stall > EXIT_STALL => Arrived::Unknown,
        _ if exact || left_after < -MARGIN => Arrived::Yes,
        _ => Arrived::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::{Control, Insn, NO_SCOREBOARD, decode};

    /// `LDC R11, c[0x0][0x370]`, `ISETP.GT.U32.AND P0, PT, R11, 0x7f, PT`, `STS [R0], R5`, `@P0 EXIT`.
    const LOAD: u128 = 0x000e_2200_0000_0800_0000_dc00_ff0b_7b82;
    const COMPARE: u128 = 0x000f_e200_03f0_4070_0000_007f_0b00_780c;
    const STORE: u128 = 0x0003_e200_0000_0800_0000_0005_0000_7388;
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_094d;
    /// The predicate that `COMPARE` makes.
    const PREDICATE: u32 = 81;

    fn with(raw: u128, stall: u8, (write, read, wait): (u8, u8, u8)) -> u128 {
        let fields = Control { stall, write, read, wait };
        fields.put(raw)
    }

    /// Does the `EXIT` at the end of some code wait for the operands of the store before it, once it has fences?
    fn waits(code: &[u128]) -> bool {
        let insns: Vec<Insn> = (0..).zip(code).map(|(k, raw)| decode(*raw, 16 * k)).collect();
        let last = insns.len() - 1;
        let fields = crate::fenced(&insns, &Default::default(), false, &|k| k == last).unwrap_or_default();
        fields.get(last).is_some_and(|exit| exit.wait == 2)
    }

    #[test]
    fn results_that_the_guard_does_not_need_hide_the_time_of_fences() {
        const NONE: u8 = NO_SCOREBOARD;
        let (load, store) = (with(LOAD, 2, (0, NONE, 0)), with(STORE, 7, (NONE, 1, 0)));
        assert!(waits(&[store, EXIT]));
        assert!(!waits(&[with(STORE, 1, (NONE, 1, 0)), EXIT]));
        // The guard waits for the load, and so do the fences; or another comparison does.
        let compare = with(COMPARE, 6, (NONE, NONE, 1));
        assert!(waits(&[load, compare, store, EXIT]));
        assert!(!waits(&[load, compare | 1 << PREDICATE, store, EXIT]));
    }
}
