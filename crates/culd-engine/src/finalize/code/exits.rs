//! Fences before `EXIT`, and everything that moves with them.
//!
//! 1. In links for a debugger, with debug code or with a function that asks for its errors to be seen, every `EXIT` waits for memory errors:
//!    `[MEMBAR] ERRBAR CGAERRBAR EXIT`, all under the guard of the `EXIT`. Code that was compiled so has them; other code gets them, and the
//!    compiler's schedule stays.
//! 2. The capsule states how many instructions belong to an `EXIT`, which identifies the old fences.
//! 3. Branches are re-encoded, but for indirect ones that a list of branches follows; labels before an `EXIT` are before its fences. The code is padded like the compiler's.
//! 4. A wait for the guard moves to the new `ERRBAR`; an instruction that stalled for the `EXIT` after it no longer does. An `EXIT` that takes up to 6 cycles
//!    more than its own 5, for what comes after it, has 5 after new fences.
//! 5. Where a result arrives during the time that the new fences take, a guarded `EXIT` waits for it, and the scoreboards after it change
//!    ([`culd_sass::fenced`]). From 13.1 on the scoreboards of the compiler stay.

use cubin::capmerc::{Capsule, Instruction};
use culd_sass::decode::{Control, INSN_BYTES, Insn, NO_SCOREBOARD, SCOREBOARDS, decode_all, opcode, retarget};
use culd_sass::reg::RegFile;
use std::collections::BTreeMap;

/// The fences, unguarded.
const MEMBAR: u128 = 0x000f_c000_0000_5000_0000_0000_0000_7992;
const ERRBAR: u128 = 0x000f_c000_0000_0000_0000_0000_0000_79ab;
const CGAERRBAR: u128 = 0x000f_ec00_0000_0000_0000_0000_0000_75ab;
const GUARD: u128 = 0xf << 12;
/// All scheduling bits, and the wait mask.
const CONTROL: u128 = 0x1f_ffff << 105;
const WAIT: u128 = 0x3f << 116;
const STALL: u128 = 0xf << 105;
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
const CODE_ALIGN: usize = 128;
/// Cycles of an `EXIT`. One that stalls longer does so for what comes after it, and the fences take at least [`FENCE_CYCLES`] of that time.
const EXIT_STALL: u8 = 5;
const FENCE_CYCLES: u8 = 6;

/// New offsets of instructions.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    /// New offset of the label before each old instruction, and of the end.
    labels: Vec<u32>,
    /// `EXIT`s and those of their old fences that stay: old and new offset.
    exits: Vec<(u32, u32)>,
}

impl Moves {
    /// New offset of a label.
    pub(crate) fn label(&self, offset: u32) -> u32 {
        let (index, rest) = (offset as usize / INSN_BYTES, offset % INSN_BYTES as u32);
        self.labels.get(index).map_or(offset, |l| l + rest)
    }
    /// New offset of an instruction.
    pub(crate) fn instruction(&self, offset: u32) -> u32 {
        match self.exits.binary_search_by_key(&offset, |e| e.0) {
            Ok(i) => self.exits.get(i).map_or(offset, |e| e.1),
            Err(_) => self.label(offset),
        }
    }
}

/// Code with other fences.
pub(crate) struct Fenced {
    /// Code.
    pub(crate) code: Vec<u8>,
    /// New offsets of its instructions.
    pub(crate) moves: Moves,
    /// Why the linker's code may be another.
    pub(crate) doubt: Option<Unsure>,
}

/// Why fences cannot be added.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsure {
    /// An `EXIT` has modifiers, or it stalls for what comes after it.
    #[error("fences at an exit that is not plain")]
    Exit,
    /// The targets of an indirect branch count from a place that no compiler is known to use.
    #[error("fences in a function with an indirect branch of an unknown form")]
    Branch,
    /// The scoreboards that change with the fences are not known.
    #[error("fences at exits change the scoreboards: {0}")]
    Scoreboards(culd_sass::Unsure),
}

/// Fences per `EXIT`: instruction number and count of instructions before it, from the capsule, which describes the compiler's code.
fn fences(capsule: &[u8], code: &[u8], place: &dyn Fn(u32) -> u32) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    let mut first = 0;
    let Ok(capsule) = Capsule::read(capsule) else { return found };
    let number = |old: u32| place(old.saturating_mul(INSN_BYTES as u32)) as usize / INSN_BYTES;
    for (_, instruction) in capsule.instructions().flatten() {
        let next = first + instruction.sass_count();
        let (start, end) = (number(first), number(next));
        let exit = start < end && !matches!(instruction, Instruction::Expanded { .. });
        let opcode = || {
            code.get((end - 1) * INSN_BYTES..)?
                .first_chunk()
                .map(|low| u16::from_le_bytes(*low) & 0xfff)
        };
        if exit && opcode() == Some(opcode::EXIT) {
            found.insert(end - 1, end - 1 - start);
        }
        first = next;
    }
    found
}

/// Gives every `EXIT` its fences: none, or with or without `MEMBAR`. `None` if nothing changes. Capsule and indirect branches are those of the
/// compiler's code; `place` gives their new offsets. `take_time`: results arrive in the time of new fences.
pub(crate) fn fence(
    code: &[u8],
    capsule: &[u8],
    (membar, take_time): (Option<bool>, bool),
    indirect: &BTreeMap<u32, Vec<u32>>,
    place: &dyn Fn(u32) -> u32,
) -> Result<Option<Fenced>, Unsure> {
    if !code.len().is_multiple_of(INSN_BYTES) || u32::try_from(code.len()).is_err() {
        return Err(Unsure::Exit);
    }
    let old = fences(capsule, code, place);
    let wanted: &[u128] = match membar {
        None => &[],
        Some(false) => &[ERRBAR, CGAERRBAR],
        Some(true) => &[MEMBAR, ERRBAR, CGAERRBAR],
    };
    if old.values().all(|&n| n == wanted.len()) {
        return Ok(None);
    }
    let mut insns = decode_all(code).ok_or(Unsure::Exit)?;
    if insns
        .iter()
        .any(|x| matches!(x.op, opcode::BRX | opcode::BRXU) && x.unknown.is_some())
    {
        return Err(Unsure::Branch);
    }
    let placed = |(&at, targets): (&u32, &Vec<u32>)| (place(at), targets.iter().map(|&t| place(t)).collect());
    let indirect: BTreeMap<u32, Vec<u32>> = indirect.iter().map(placed).collect();
    let fresh = |i: usize| old.get(&i) == Some(&0);
    if insns.iter().enumerate().any(|(i, x)| {
        fresh(i) && !(plain_exit(x) && (unscheduled(x) || (x.control.stall <= EXIT_STALL + FENCE_CYCLES && !has_young_operand(&insns, i))))
    }) {
        return Err(Unsure::Exit);
    }
    let mut changes = old.iter().filter(|&(_, &n)| n > wanted.len());
    let mut doubt = changes.any(|(&exit, &n)| changes_alone(&insns, exit, n)).then_some(Unsure::Exit);
    match culd_sass::fenced(&insns, &indirect, !take_time, &fresh).map_err(Unsure::Scoreboards) {
        Ok(fields) if take_time => {
            for (insn, fields) in insns.iter_mut().zip(fields) {
                insn.raw = fields.put(insn.raw);
                insn.control = fields;
            }
        }
        Err(unsure) if take_time => return Err(unsure),
        // Where fences take no time the scoreboards of the compiler stay, or it is not known whether they do.
        fields => doubt = doubt.or(fields.err()),
    }
    let used = insns.iter().rposition(|i| i.op != opcode::NOP).map_or(0, |i| i + 1);
    let padding = insns.get(used).map_or(NOP, |i| i.raw);
    let late = late_guards(&insns, fresh);
    // Lay out: per old instruction the words that replace it.
    let mut order: Vec<(Option<usize>, u128)> = Vec::with_capacity(insns.len());
    let mut moves = Moves::default();
    let starts: BTreeMap<usize, usize> = old.iter().map(|(&exit, &n)| (exit - n, exit)).collect();
    let offset = |order: &[(Option<usize>, u128)]| (order.len() * INSN_BYTES) as u32;
    let mut i = 0;
    while let Some(insn) = insns.get(i).filter(|_| i < used) {
        moves.labels.push(offset(&order));
        let Some((&exit, exit_insn)) = starts.get(&i).and_then(|e| Some((e, insns.get(*e)?))) else {
            order.push((Some(i), insn.raw));
            i += 1;
            continue;
        };
        let label = offset(&order);
        moves.labels.extend(std::iter::repeat_n(label, exit - i));
        let late = late.get(&exit).copied().unwrap_or(0);
        if fresh(exit)
            && let (Some(before), Some(last)) = (exit.checked_sub(1).and_then(|b| insns.get(b)), order.last_mut())
            && stalls_for(before, exit_insn, late)
        {
            *last = (None, before.raw & !STALL | 1 << 105);
        }
        let fences = wanted.iter().map(|&w| scheduled(w, exit_insn) | if w == ERRBAR { late } else { 0 });
        order.extend(fences.map(|w| (None, w)));
        let staying = (exit - i).min(wanted.len());
        let backwards = (0..=staying as u32).rev().map(|k| k * INSN_BYTES as u32);
        moves.exits.extend(backwards.map(|k| (exit_insn.offset - k, offset(&order) - k)));
        order.push((
            None,
            shortened(exit_insn, fresh(exit)) & !late | orphaned(&insns, i..exit, wanted.len(), exit_insn),
        ));
        i = exit + 1;
    }
    let end = offset(&order);
    moves.labels.extend((0..insns.len() - used).map(|k| end + (k * INSN_BYTES) as u32));
    let size = (end as usize).next_multiple_of(CODE_ALIGN) + CODE_ALIGN;
    moves.labels.push(size as u32);
    let words = order.iter().enumerate().map(|(at, &(from, raw))| {
        let insn = from.and_then(|f| insns.get(f));
        insn.map_or(raw, |x| retarget(x, (at * INSN_BYTES) as u32, x.target.map(|t| moves.label(t))))
    });
    let words = words.chain(std::iter::repeat(padding)).take(size / INSN_BYTES);
    let code = words.flat_map(u128::to_le_bytes).collect();
    Ok(Some(Fenced { code, moves, doubt }))
}

/// The waits of guarded `EXIT`s for their guards, by instruction number; each moves to a new `ERRBAR` before its `EXIT`.
fn late_guards(insns: &[Insn], fresh: impl Fn(usize) -> bool) -> BTreeMap<usize, u128> {
    let mut found = BTreeMap::new();
    let mut scoreboards: BTreeMap<(RegFile, u8), u8> = BTreeMap::new();
    for (i, insn) in insns.iter().enumerate() {
        let guard = insn.guard.filter(|_| fresh(i) && !unscheduled(insn));
        let scoreboard = guard.and_then(|g| scoreboards.get(&(g.file, g.index))).copied();
        if let Some(s) = scoreboard.filter(|&s| s != NO_SCOREBOARD) {
            found.insert(i, insn.raw & 1 << (116 + u32::from(s)));
        }
        // One that is used with a wait has arrived.
        let used = |number: &u8| *number < SCOREBOARDS && insn.control.wait >> number & 1 == 1;
        for reg in insn.uses.minus(&insn.uses.without_predicates()).iter() {
            if scoreboards.get(&(reg.file, reg.index)).is_some_and(used) {
                scoreboards.remove(&(reg.file, reg.index));
            }
        }
        for reg in insn.defs.minus(&insn.defs.without_predicates()).iter() {
            let early = insn.early_results().contains(reg);
            let scoreboard = if early { insn.control.read } else { insn.control.write };
            scoreboards.insert((reg.file, reg.index), scoreboard);
        }
    }
    found
}

/// The predicate that is always true.
const NO_PREDICATE: u8 = 7;
/// A predicate may be used so many cycles after the instruction that makes it; each instruction takes one or more.
const PREDICATE_CYCLES: usize = 13;

/// Does an instruction take one more cycle because the `EXIT` after it waits for a scoreboard that it sets? One that makes the guard does so for the
/// fences too: `guard` is the wait for it.
fn stalls_for(before: &Insn, exit: &Insn, guard: u128) -> bool {
    let Control { stall, read, write, .. } = before.control;
    let waits = |n: &u8| *n != NO_SCOREBOARD && exit.control.wait >> n & 1 == 1 && guard >> (116 + u32::from(*n)) & 1 == 0;
    before.target.is_none() && stall == 2 && [read, write].iter().any(waits)
}

/// An `EXIT` without the cycles that its new fences make up for.
fn shortened(exit: &Insn, fresh: bool) -> u128 {
    match fresh && !unscheduled(exit) && (EXIT_STALL..=EXIT_STALL + FENCE_CYCLES).contains(&exit.control.stall) {
        true => exit.raw & !STALL | u128::from(EXIT_STALL) << 105,
        false => exit.raw,
    }
}

/// A fence under the guard of its `EXIT`. In code that was not scheduled every instruction waits for everything.
fn scheduled(fence: u128, exit: &Insn) -> u128 {
    let word = fence & !GUARD | exit.raw & GUARD;
    match fence {
        ERRBAR if unscheduled(exit) => word & !WAIT | exit.raw & WAIT,
        CGAERRBAR if unscheduled(exit) => word & !CONTROL | exit.raw & CONTROL,
        _ => word,
    }
}

/// Code compiled without optimisation: stall 15 and a wait for scoreboards 0 and 1, or since CUDA 13.3 neither.
fn unscheduled(exit: &Insn) -> bool {
    matches!((exit.raw >> 105 & 0x1f, exit.control.wait), (0xf, 3) | (0, 0))
}

/// An `EXIT` without modifiers: guard, predicate and control bits only.
fn plain_exit(insn: &Insn) -> bool {
    const FREE: u128 = GUARD | 0xf << 87 | ((1 << 23) - 1) << 105;
    insn.op == opcode::EXIT && insn.raw & !FREE == 0x94d
}

/// Is the predicate operand of an `EXIT` made so shortly before it that the stalls between the two depend on fences?
///
/// The fences have the guard alone: nvlink lets the result arrive during them.
fn has_young_operand(insns: &[Insn], exit: usize) -> bool {
    let operand = insns.get(exit).map_or(NO_PREDICATE, |x| (x.raw >> 87 & 7) as u8);
    let before = insns.get(exit.saturating_sub(PREDICATE_CYCLES)..exit).unwrap_or_default();
    let makes_it = |insn: &Insn| insn.defs.iter().any(|r| r.file == RegFile::P && r.index == operand);
    operand != NO_PREDICATE && before.iter().any(makes_it)
}

/// The waits of removed fences for the guard of their `EXIT`, which it needs itself.
fn orphaned(insns: &[Insn], fences: std::ops::Range<usize>, wanted: usize, exit: &Insn) -> u128 {
    let removed = insns.get(fences).unwrap_or_default();
    let waits = removed.iter().fold(0, |waits, fence| waits | fence.raw & WAIT);
    if removed.len() > wanted && !exit.unguarded() { waits } else { 0 }
}

/// Cycles between the instruction before a guarded `EXIT` and the one after it that are always enough.
const ENOUGH_CYCLES: u8 = 7;

/// May an `EXIT` or the instruction before it change when its `fences` are removed? Observed: it does not wait for what had arrived during them, waits for
/// what the fences waited for, and may have to stall longer; the instruction before it stalls again until the `EXIT` can wait for it.
fn changes_alone(insns: &[Insn], exit: usize, fences: usize) -> bool {
    let first = exit.saturating_sub(fences);
    let (Some(x), before) = (insns.get(exit), first.checked_sub(1).and_then(|k| insns.get(k))) else {
        return true;
    };
    if unscheduled(x) {
        return false;
    }
    let removed = insns.get(first..exit).unwrap_or_default();
    if x.unguarded() {
        let sets = |number: u8| number < SCOREBOARDS && x.control.wait >> number & 1 == 1;
        return before.is_some_and(|b| b.control.stall == 1 && (sets(b.control.read) || sets(b.control.write)));
    }
    let waits = x.control.wait != 0 || removed.iter().any(|fence| fence.control.wait != 0);
    waits || before.is_none_or(|b| b.control.stall + x.control.stall < ENOUGH_CYCLES)
}

/// The Mercury form of a plain `EXIT`.
pub(crate) fn exit_body(word: u128) -> [u8; 16] {
    let predicate = |at: u32| {
        let index = (word >> at & 7) as u8;
        let negated = (word >> (at + 3) & 1) as u8;
        (if index == 7 { 31 } else { index }) << 3 | negated
    };
    let mut body = [0; 16];
    body[0] = 0x01;
    body[1] = 0x11;
    body[3] = 0x0a;
    body[4] = predicate(12);
    body[11] = predicate(87);
    body
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
    const GUARDED_EXIT: u128 = EXIT & !GUARD | 0x9 << 12;
    /// `BRA` to the next instruction but one.
    const BRA: u128 = 0x000f_ea00_0380_0000_0000_0000_0004_7947;

    fn code(words: &[u128]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    fn capsule(count: usize) -> Vec<u8> {
        let mut out = Vec::new();
        cubin::capmerc::write(1, cubin::capmerc::TAG, &vec![Instruction::Derived; count], &mut out).unwrap();
        out
    }

    fn words(code: &[u8]) -> Vec<u128> {
        code.as_chunks::<16>().0.iter().map(|w| u128::from_le_bytes(*w)).collect()
    }

    #[test]
    fn fences_take_the_guard_and_move_what_follows() {
        let input = code(&[BRA, GUARDED_EXIT, NOP, EXIT, NOP]);
        let Ok(Some(fenced)) = fence(&input, &capsule(5), (Some(true), true), &BTreeMap::new(), &|o| o) else {
            panic!("not fenced");
        };
        let out = words(&fenced.code);
        assert_eq!(out.len(), 16 + 8);
        assert_eq!(out[1] & 0xffff, 0x9992);
        assert_eq!(out[4], GUARDED_EXIT);
        assert_eq!(out[9], EXIT);
        // The branch still targets the instruction after the first EXIT.
        assert_eq!(decode_all(&fenced.code).unwrap()[0].target, Some(5 * 16));
        assert_eq!((fenced.moves.label(16), fenced.moves.instruction(16)), (16, 64));
        assert_eq!((fenced.moves.label(32), fenced.moves.label(80)), (80, 24 * 16));
    }

    #[test]
    fn nothing_to_do_is_nothing_done() {
        let input = code(&[EXIT, NOP]);
        assert!(matches!(
            fence(&input, &capsule(2), (None, true), &BTreeMap::new(), &|o| o),
            Ok(None)
        ));
    }

    #[test]
    fn a_guarded_exit_takes_over_the_waits_of_removed_fences() {
        let wait = 1 << 116;
        let insns = decode_all(&code(&[NOP, ERRBAR | wait, GUARDED_EXIT, ERRBAR | wait, EXIT])).unwrap_or_default();
        let [.., guarded, _, last] = insns.as_slice() else {
            panic!("five instructions")
        };
        assert_eq!(orphaned(&insns, 1..2, 0, guarded), wait);
        assert_eq!(orphaned(&insns, 1..2, 1, guarded), 0, "the fence stays");
        assert_eq!(orphaned(&insns, 3..4, 0, last), 0, "needs no guard");
        assert!(changes_alone(&insns, 2, 1));
    }

    #[test]
    fn late_operands_before_an_exit_do_not_matter_where_fences_take_no_time() {
        // A store with a read scoreboard.
        let store = NOP & !(7 << 113) | 1 << 113 | 5 << 105;
        let input = code(&[store, GUARDED_EXIT, EXIT]);
        assert!(fence(&input, &capsule(3), (Some(true), false), &BTreeMap::new(), &|o| o).is_ok());
    }

    #[test]
    fn a_predicate_that_is_made_before_an_exit_is_not_modelled() {
        // ISETP.GT.AND P0, PT, R2, UR6, PT
        let compare = 0x001f_da00_0bf0_4270_0000_0006_0200_7c0c;
        let exit = GUARDED_EXIT & !(7 << 87);
        let fences = |words: &[u128]| fence(&code(words), &capsule(words.len()), (Some(true), true), &BTreeMap::new(), &|o| o);
        assert!(matches!(fences(&[compare, exit, EXIT]), Err(Unsure::Exit)));
        assert!(!matches!(fences(&[NOP, exit, EXIT]), Err(Unsure::Exit)));
    }

    #[test]
    fn what_stalled_for_an_exit_does_not_stall_for_fences() {
        // S2UR UR27, SR_CTAID.Y, scoreboard 0, two cycles; an EXIT that waits for it
        let special = 0x000e_2400_0000_2600_0000_0000_001b_79c3_u128;
        let exit = EXIT | 1 << 116;
        let stall = |membar| {
            let input = code(&[special, exit, NOP]);
            let fenced = fence(&input, &capsule(3), (Some(membar), false), &BTreeMap::new(), &|o| o)
                .unwrap()
                .unwrap();
            words(&fenced.code)[0] >> 105 & 0xf
        };
        assert_eq!((special >> 105 & 0xf, stall(true), stall(false)), (2, 1, 1));
    }

    #[test]
    fn a_guard_that_was_used_is_not_waited_for_by_fences() {
        // DSETP.GT.AND P1, PT, R4, UR6, PT, which sets scoreboard 1; VOTE.ANY R11, PT, P1, which waits for it; an EXIT that waits for it
        let compare = 0x0040_6400_0bf2_4000_0000_0006_0400_7e2a_u128;
        let vote = 0x002f_e200_008e_0100_0000_0000_000b_7806_u128;
        let exit = EXIT & !GUARD | 0x9 << 12 | 1 << 117;
        let waits = |before: &[u128]| {
            let input = code(&[before, &[exit, NOP]].concat());
            let fenced = fence(&input, &capsule(before.len() + 2), (Some(false), false), &BTreeMap::new(), &|o| o)
                .unwrap()
                .unwrap();
            let words = words(&fenced.code);
            [0, 2].map(|k| words[before.len() + k] >> 117 & 1)
        };
        assert_eq!(waits(&[compare, NOP]), [1, 0]);
        assert_eq!(waits(&[compare, vote]), [0, 1]);
    }

    #[test]
    fn an_exit_with_new_fences_stalls_five_cycles() {
        let with_stall = |word: u128, stall: u128| word & !STALL | stall << 105;
        let fences = |stall| {
            fence(
                &code(&[NOP, with_stall(GUARDED_EXIT, stall), EXIT]),
                &capsule(3),
                (Some(true), true),
                &BTreeMap::new(),
                &|o| o,
            )
        };
        for stall in [5, 6, 7, 8, 11] {
            let Ok(Some(fenced)) = fences(stall) else { panic!("not fenced") };
            assert_eq!(words(&fenced.code)[4], with_stall(GUARDED_EXIT, 5), "{stall}");
        }
        assert!(matches!(fences(12), Err(Unsure::Exit)));
    }

    #[test]
    fn mercury_form_of_exit() {
        assert_eq!(exit_body(EXIT), [1, 0x11, 0, 0x0a, 0xf8, 0, 0, 0, 0, 0, 0, 0xf8, 0, 0, 0, 0]);
        assert_eq!(exit_body(GUARDED_EXIT)[4], 0x09);
    }
}
