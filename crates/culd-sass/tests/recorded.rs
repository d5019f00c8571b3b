//! The model against the recorded output of the real linker: nothing wrong, no alarm, at least nine of ten call-free kernels identical.

use culd_sass::decode::decode_all;
use culd_sass::{KernelContext, Rewrite, rewrite};

mod support;

use support::record::{RECORDED, RECORDED_FENCES, RECORDED_LATER, pack, unpack};

#[test]
fn recorded_functions_are_identical_or_kept() {
    identical_or_kept(&unpack(RECORDED), &["100", "100a", "103", "110", "120", "121"], 60);
}

#[test]
fn recorded_functions_of_later_releases_are_identical_or_kept() {
    let mut pairs = unpack(RECORDED_LATER);
    pairs.iter_mut().for_each(|pair| pair.later = true);
    identical_or_kept(&pairs, &["100", "103", "120"], 130);
}

/// The scoreboards of all these functions change with the fences that links for a debugger put before guarded `EXIT`s.
#[test]
fn scoreboards_that_change_with_fences_are_the_linkers() {
    let pairs = unpack(RECORDED_FENCES);
    assert!(pairs.len() >= 20, "only {} functions recorded", pairs.len());
    for pair in &pairs {
        let verdict = support::fences::verdict(pair);
        assert_eq!(verdict, Some(support::Verdict::Identical), "sm_{} {}", pair.arch, pair.name);
    }
}

/// At least `least` call-free kernels for each of `archs`, nine of ten identical; on no architecture a wrong one or an alarm.
fn identical_or_kept(pairs: &[support::Pair], archs: &[&str], least: usize) {
    let mut notes = Vec::new();
    let table = support::tally(pairs, |pair, what| notes.push(format!("sm_{} {}: {what}", pair.arch, pair.name)));
    println!("{}{}", notes.join("\n") + "\n", support::render(&table));
    for arch in archs {
        let row = table.get(*arch).copied().unwrap_or_default();
        assert!(
            row.call_free >= least,
            "sm_{arch}: only {} call-free kernels recorded",
            row.call_free
        );
        assert!(
            row.identical * 10 >= row.call_free * 9,
            "sm_{arch}: {} of {} identical",
            row.identical,
            row.call_free
        );
    }
    for (arch, row) in &table {
        assert_eq!((row.wrong, row.alarms), (0, 0), "sm_{arch}");
    }
}

#[test]
fn recorded_functions_survive_packing() {
    let pairs = unpack(RECORDED);
    assert_eq!(unpack(&pack(&pairs)), pairs);
}

#[test]
fn functions_the_linker_copies_are_unchanged() {
    for pair in unpack(RECORDED) {
        let context = pair.context();
        let outside = [
            KernelContext {
                entry: false,
                ..context.clone()
            },
            KernelContext {
                calls: true,
                ..context.clone()
            },
            KernelContext {
                debug: true,
                ..context.clone()
            },
            KernelContext {
                relocatable: true,
                ..context
            },
        ];
        for context in outside {
            assert_eq!(rewrite(&pair.input, &context), Rewrite::Unchanged, "{}", pair.name);
        }
    }
}

/// Only scoreboard fields, deleted fence prefixes and branch displacements may differ between input and output.
#[test]
fn rewriting_keeps_instructions_and_order() {
    let mut moved = 0;
    for pair in unpack(RECORDED) {
        let Rewrite::Rewritten { code, map } = rewrite(&pair.input, &pair.context()) else {
            continue;
        };
        let (old, new) = (pair.insns(), decode_all(&code).unwrap_or_default());
        assert_eq!(map.new_size() as usize, code.len());
        moved += usize::from(!map.deleted().is_empty());
        let used = old.iter().rposition(|insn| insn.name != "NOP").map_or(0, |k| k + 1);
        for insn in old.iter().take(used).filter(|insn| !map.deleted().contains(&insn.offset)) {
            let at = map.new_offset(insn.offset) as usize / 16;
            let twin = new.get(at).map(|i| (i.op, i.defs, i.uses, i.target));
            assert_eq!(
                twin,
                Some((insn.op, insn.defs, insn.uses, insn.target.map(|t| map.new_offset(t)))),
                "{} {:#x}",
                pair.name,
                insn.offset
            );
        }
    }
    assert!(moved >= 20, "only {moved} functions with deleted fences");
}

/// The rewriter must end and must not panic on anything.
#[test]
fn damaged_code_is_survived() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for pair in unpack(RECORDED).iter().filter(|pair| pair.arch == "120") {
        let mut code = pair.input.clone();
        for _ in 0..6 {
            let at = next() as usize % code.len().max(1);
            if let Some(byte) = code.get_mut(at) {
                *byte ^= 1 << (next() % 8);
            }
            let _ = rewrite(&code, &pair.context());
            let cut = next() as usize % code.len().max(1);
            let _ = rewrite(code.get(..cut).unwrap_or_default(), &pair.context());
            let _ = rewrite(code.get(..cut / 16 * 16).unwrap_or_default(), &pair.context());
        }
    }
}
