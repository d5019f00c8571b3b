//! Compiler, linker and model side by side, instruction by instruction.

use culd_sass::decode::{Control, Insn, decode_all};
use culd_sass::study::{Study, study};

use super::Pair;

/// Scoreboard fields as text.
pub(super) fn text(c: Control) -> String {
    let number = |n: u8| if n == 7 { "-".to_owned() } else { n.to_string() };
    let waits: String = (0..6)
        .map(|n| if c.wait >> n & 1 == 1 { n.to_string() } else { "-".into() })
        .collect();
    format!("{waits} R{} W{} {:>2}", number(c.read), number(c.write), c.stall)
}

pub(super) fn registers(insn: &Insn) -> String {
    let list = |set: &culd_sass::reg::RegSet| set.iter().map(|r| r.to_string()).collect::<Vec<_>>().join(",");
    format!("{} <- {}", list(&insn.defs), list(&insn.uses))
}

fn linked(pair: &Pair, study: &Study) -> Option<Vec<Control>> {
    let linked = decode_all(&pair.linked)?;
    Some(linked.iter().take(study.insns.len()).map(|i| i.control).collect())
}

/// Prints one function.
pub(crate) fn print(pair: &Pair) {
    let Some(study) = study(&pair.input, &pair.context()) else { return };
    let Some(linked) = linked(pair, &study) else { return };
    println!("== sm_{} {}   order {:?}", pair.arch, pair.name, study.order);
    println!("   input             alive             linked            new");
    for (k, insn) in study.insns.iter().enumerate() {
        if let Some(b) = study.blocks.iter().position(|b| b.0 == k) {
            let pred: Vec<usize> = (0..study.blocks.len()).filter(|p| study.blocks[*p].1.contains(&b)).collect();
            println!("-- B{b} pred {pred:?} succ {:?}", study.blocks[b].1);
        }
        let mark = |a: Control, b: Control| if a == b { ' ' } else { '*' };
        let (i, a, l, n) = (insn.control, study.alive[k], linked[k], study.new[k]);
        let guard = insn.guard.map_or(String::new(), |g| {
            format!("@{}{:?}{} ", if g.negated { "!" } else { "" }, g.file, g.index)
        });
        println!(
            "{:04x} {}{}{} | {}{}{} {guard}{} {} {}",
            insn.offset,
            text(i),
            mark(i, a),
            if i == a { " ".repeat(16) } else { text(a) },
            text(l),
            mark(l, n),
            if l == n { " ".repeat(16) } else { text(n) },
            insn.name,
            registers(insn),
            insn.target.map_or(String::new(), |t| format!("-> {t:x}"))
        );
    }
}

/// Prints how many instructions differ: model from compiler, model from linker.
pub(crate) fn distance(pair: &Pair) {
    let Some(study) = study(&pair.input, &pair.context()) else { return };
    let Some(linked) = linked(pair, &study) else { return };
    let alive = study.insns.iter().zip(&study.alive).filter(|(i, c)| i.control != **c).count();
    let new = linked.iter().zip(&study.new).filter(|(l, c)| l != c).count();
    let short = super::short(pair);
    if short != "identical" {
        let first =
            |mut it: Box<dyn Iterator<Item = usize> + '_>| it.next().map_or("-".to_owned(), |k| format!("{:x}", study.insns[k].offset));
        let a = first(Box::new(
            (0..study.insns.len()).filter(|k| study.insns[*k].control != study.alive[*k]),
        ));
        let n = first(Box::new((0..study.insns.len()).filter(|k| linked[*k] != study.new[*k])));
        println!(
            "{alive:>4} {new:>4} of {:>5} first {a} {n} sm_{} {} {}",
            study.insns.len(),
            pair.arch,
            pair.name,
            short
        );
    }
}

/// Prints the words of instructions that the decoder does not know.
pub(crate) fn unknown(pair: &Pair) {
    for insn in pair.insns().iter().filter(|i| i.unknown.is_some()) {
        println!("{:032x} sm_{} {}@{:x} {}", insn.raw, pair.arch, insn.name, insn.offset, pair.name);
    }
}

/// Prints what the ends of blocks show about arrival times.
pub(crate) fn arrivals(pair: &Pair) {
    if !pair.call_free() {
        return;
    }
    for code in [&pair.input, &pair.linked] {
        let insns = decode_all(code).unwrap_or_default();
        if insns.iter().any(|i| i.unknown.is_some()) {
            continue;
        }
        for a in culd_sass::study::arrivals(&insns, &pair.indirect) {
            let insn = &insns[a.insn];
            println!(
                "{}{}*{}>{} {} {} {} sm_{} {:x} {}",
                insn.name,
                if a.read { "/r" } else { "" },
                a.others.min(3),
                insns[a.last].name,
                a.elapsed.0,
                a.elapsed.1,
                u8::from(a.waited),
                pair.arch,
                insn.offset,
                pair.name
            );
        }
    }
}

/// Counts the choices of compiler and linker that the model makes otherwise, each function once.
pub(crate) fn choices(pairs: &[Pair], verbose: bool) {
    let mut seen = std::collections::BTreeSet::new();
    let mut rows: std::collections::BTreeMap<String, (usize, usize)> = std::collections::BTreeMap::new();
    let (mut functions, mut waits) = (0, 0);
    for pair in pairs.iter().filter(|p| p.call_free()) {
        for (what, code) in [("input", &pair.input), ("linked", &pair.linked)] {
            if !seen.insert(code.clone()) {
                continue;
            }
            let Some((insns, list, other)) = culd_sass::study::choices(code, &pair.context()) else {
                continue;
            };
            functions += 1;
            waits += other.len();
            for c in &list {
                let insn = &insns[c.insn];
                let row = rows.entry(c.how.to_owned()).or_default();
                row.0 += 1;
                if !c.right {
                    row.1 += 1;
                    let end = if c.read { "/r" } else { "" };
                    let number = if c.read { insn.control.read } else { insn.control.write };
                    if verbose {
                        println!(
                            "{} {}{end} {number} not {} at {:x} sm_{} {what} {}",
                            c.how, insn.name, c.number, insn.offset, pair.arch, pair.name
                        );
                    }
                }
            }
            for k in other.iter().filter(|_| verbose) {
                println!(
                    "wait {} at {:x} sm_{} {what} {}",
                    insns[*k].name, insns[*k].offset, pair.arch, pair.name
                );
            }
        }
    }
    print!("{functions} functions, {waits} waits otherwise;");
    for (how, (all, wrong)) in rows {
        print!(" {how} {wrong}/{all}");
    }
    println!();
}
