//! Compiler, linker and model side by side, instruction by instruction.

use culd_sass::decode::{Control, Insn, decode_all};
use culd_sass::{Study, study};

use super::Pair;

/// Scoreboard fields as text.
fn text(c: Control) -> String {
    let number = |n: u8| if n == 7 { "-".to_owned() } else { n.to_string() };
    let waits: String = (0..6)
        .map(|n| if c.wait >> n & 1 == 1 { n.to_string() } else { "-".into() })
        .collect();
    format!("{waits} R{} W{} {:>2}", number(c.read), number(c.write), c.stall)
}

fn registers(insn: &Insn) -> String {
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

/// Prints every choice that differs from the compiler's, given the compiler's earlier choices, and every wait.
pub(crate) fn notes(pair: &Pair) {
    if pair.call_free() {
        side("in", pair, &pair.input);
        if pair.input.len() == pair.linked.len() {
            side("out", pair, &pair.linked);
        }
    }
}

fn side(which: &str, pair: &Pair, code: &[u8]) {
    let Some(study) = study(code, &pair.context()) else { return };
    if study.insns.iter().any(|i| i.unknown.is_some()) {
        return;
    }
    let at = |k: usize| format!("{}@{:x}", study.insns[k].name, study.insns[k].offset);
    let need = |n: Option<usize>| n.map_or("out".to_owned(), |n| format!("{:x}", study.insns[n].offset));
    for note in &study.notes {
        if std::env::var_os("JSON").is_some() {
            let start = study.blocks.iter().rev().find(|b| b.0 <= note.insn).map_or(0, |b| b.0);
            println!(
                "{{\"how\":\"{:?}\",\"f\":\"{} {which} {}\",\"start\":{start},\"insn\":{},\"need\":{},\"read\":{},\"model\":{},\"compiler\":{},\"range\":[{},{}],\"live\":{},\"stream\":{}}}",
                note.how,
                pair.arch,
                pair.name,
                note.insn,
                note.need.map_or("null".into(), |n| n.to_string()),
                note.read,
                note.model,
                note.compiler,
                note.range.0,
                note.range.1,
                format!("{:?}", note.live)
                    .replace('(', "[")
                    .replace(')', "]")
                    .replace("Some", "")
                    .replace("None", "null"),
                format!("{:?}", note.stream).replace('(', "[").replace(')', "]")
            );
            continue;
        }
        if note.model == note.compiler {
            continue;
        }
        let start = study.blocks.iter().rev().find(|b| b.0 <= note.insn).map_or(0, |b| b.0);
        let time = |k: usize| {
            k.checked_sub(start)
                .and_then(|k| note.times.get(k))
                .map_or("?".into(), |t| t.to_string())
        };
        println!(
            "{:?} model {} compiler {} {} t{} need {} t{} {which} sm_{} {}",
            note.how,
            note.model,
            note.compiler,
            at(note.insn),
            time(note.insn),
            need(note.need),
            note.need.map_or(String::new(), time),
            pair.arch,
            pair.name
        );
        for (n, list) in note.live.iter().enumerate() {
            let list: Vec<String> = list
                .iter()
                .map(|(k, _, d)| format!("{} t{} need {} t{}", at(*k), time(*k), need(*d), d.map_or(String::new(), time)))
                .collect();
            println!("    {n}: {}", list.join("; "));
        }
    }
    for (k, insn) in study.insns.iter().enumerate() {
        let (a, b) = (insn.control.wait, study.taught[k].wait);
        if a != b {
            let last = study.blocks.iter().any(|b| b.0 == k + 1);
            println!(
                "Wait {} model {b:06b} compiler {a:06b} {} {which} sm_{} {}",
                if last { "end" } else { "inner" },
                at(k),
                pair.arch,
                pair.name
            );
        }
    }
}
