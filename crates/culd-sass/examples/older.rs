//! Compares the model with links of objects of CUDA 12.8 and 12.9.
//!
//! `older [-r] [-v] [-o] NAME.ARCH.r.cubin...`: every argument is an object; the linked twin is `NAME.ARCH.l.cubin`. `-r`: the twins are relocatable, and functions
//! with calls count, too. `-v` lists the functions, `-o` those that the model of the older compiler does not reproduce. In the counts, `old` are functions that it
//! reproduces, `nop` those that lose waits. Delays of double precision are not ordered here, so that functions with them count as other stalls.

use culd_sass::decode::{decode_all, opcode};
use culd_sass::study::study;
use std::collections::BTreeMap;

#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let partial = args.iter().any(|a| a == "-r");
    let verbose = args.iter().any(|a| a == "-v");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in args.iter().filter(|a| a.ends_with(".r.cubin")) {
        let Ok(pairs) = support::cubin::read_pair(path) else { continue };
        for mut pair in pairs {
            if !partial && !pair.call_free() {
                continue;
            }
            let Some(insns) = decode_all(&pair.input) else { continue };
            let drop: Vec<u32> = insns
                .windows(2)
                .filter(|w| matches!(w[0].op, 0x948 | 0x348) && w[1].op == opcode::NOP && w[0].control.stall == 5)
                .map(|w| w[1].offset)
                .collect();
            let mut tag = if drop.is_empty() { "" } else { "nop " }.to_owned();
            let mut input = pair.input.clone();
            if !drop.is_empty() {
                let Some((code, map, sure)) = culd_sass::without_pauses(&pair.input, &drop) else {
                    *counts.entry("not without".into()).or_default() += 1;
                    continue;
                };
                pair.indirect = pair
                    .indirect
                    .iter()
                    .map(|(a, t)| (map.new_offset(*a), t.iter().map(|t| map.new_offset(*t)).collect()))
                    .collect();
                input = code;
                if !sure {
                    tag += "tight ";
                }
            }
            pair.input = input;
            let context = culd_sass::KernelContext {
                older: true,
                relocatable: partial,
                ..pair.context()
            };
            let Some(study) = study(&pair.input, &context) else {
                *counts.entry("no study".into()).or_default() += 1;
                continue;
            };
            if study.insns.iter().any(|i| i.unknown.is_some()) {
                *counts.entry("unknown".into()).or_default() += 1;
                continue;
            }
            let linked: Vec<_> = decode_all(&pair.linked).unwrap_or_default();
            if linked.len() < study.insns.len() || study.insns.iter().zip(&linked).any(|(a, b)| a.op != b.op) {
                *counts.entry("other instructions".into()).or_default() += 1;
                continue;
            }
            let board = |c: &culd_sass::decode::Control| (c.write, c.read, c.wait);
            let same = |a: &[culd_sass::decode::Control]| a.iter().zip(&linked).all(|(a, b)| board(a) == board(&b.control));
            let exact = |a: &[culd_sass::decode::Control]| a.iter().zip(&linked).all(|(a, b)| *a == b.control);
            let input: Vec<_> = study.insns.iter().map(|i| i.control).collect();
            let repro_old = study.old.iter().zip(&input).all(|(a, b)| board(a) == board(b));
            let mine = if partial { &study.alive } else { &study.fresh };
            tag += if repro_old { "old " } else { "    " };
            let one = |a: &[culd_sass::decode::Control]| {
                if exact(a) {
                    "exact"
                } else if same(a) {
                    "boards"
                } else {
                    "no"
                }
            };
            let mut first = 0;
            tag += &match culd_sass::rewrite(&pair.input, &context) {
                culd_sass::Rewrite::Unchanged if exact(&input) => "sure unchanged".to_owned(),
                culd_sass::Rewrite::Unchanged => {
                    first = 1;
                    "WRONG unchanged".into()
                }
                culd_sass::Rewrite::Unsure(why) => format!("unsure {}", why.to_string().split(" at 0x").next().unwrap_or("")),
                culd_sass::Rewrite::Rewritten { code, .. } => {
                    let code: Vec<_> = decode_all(&code)
                        .unwrap_or_default()
                        .iter()
                        .map(|i| i.control)
                        .take(study.insns.len())
                        .collect();
                    if exact(&code) {
                        "sure right".into()
                    } else {
                        first = code.iter().zip(&linked).position(|(a, b)| *a != b.control).unwrap_or(0) * 16;
                        if same(&code) { "WRONG stalls".into() } else { "WRONG".into() }
                    }
                }
            };
            if args.iter().any(|a| a == "-o") && !repro_old {
                let k = study.old.iter().zip(&input).position(|(a, b)| board(a) != board(b)).unwrap_or(0);
                println!(
                    "OLD {path} {} {} at {:#x} {} {:?} {:?}",
                    pair.name,
                    study.insns.len(),
                    k * 16,
                    study.insns[k].name,
                    study.old[k],
                    input[k]
                );
            }
            if verbose {
                let k = mine
                    .iter()
                    .zip(&linked)
                    .position(|(a, b)| board(a) != board(&b.control))
                    .unwrap_or(0);
                println!(
                    "{tag} | {path} {} {} at {:#x} fresh {} first wrong {first:#x}",
                    pair.name,
                    study.insns.len(),
                    k * 16,
                    one(mine)
                );
            }
            *counts.entry(tag).or_default() += 1;
        }
    }
    for (tag, n) in counts {
        println!("{n:>6} {tag}");
    }
}
