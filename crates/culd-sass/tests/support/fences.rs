//! Functions of links for a debugger: their guarded `EXIT`s get fences, which take time.

use std::collections::BTreeSet;

use culd_sass::decode::{Insn, decode_all};

use super::{Pair, Verdict};

/// Instructions before an `EXIT` that make it wait for memory errors.
const FENCES: [&str; 3] = ["MEMBAR", "ERRBAR", "CGAERRBAR"];

/// The linker's instructions without the fences that it added, their waits at the `EXIT`, and the numbers of the `EXIT`s that got some.
fn without_fences(pair: &Pair) -> Option<(Vec<Insn>, Vec<Insn>, BTreeSet<usize>)> {
    let input = decode_all(&pair.input)?;
    let linked = decode_all(&pair.linked)?;
    let (mut out, mut fresh, mut next) = (Vec::with_capacity(input.len()), BTreeSet::new(), linked.into_iter().peekable());
    let used = input.iter().rposition(|i| i.name != "NOP").map_or(0, |k| k + 1);
    for (k, insn) in input.iter().take(used).enumerate() {
        let mut waits = 0;
        while insn.name == "EXIT" && next.peek().is_some_and(|n| FENCES.contains(&n.name)) {
            waits |= next.next()?.control.wait;
            fresh.insert(k);
        }
        let mut twin = next.next()?;
        if twin.name != insn.name {
            return None;
        }
        twin.control.wait |= waits;
        out.push(twin);
    }
    Some((input.into_iter().take(used).collect(), out, fresh))
}

/// Do scoreboards of the function change with fences that take time?
pub(crate) fn changes(pair: &Pair) -> bool {
    without_fences(pair).is_some_and(|(input, linked, fresh)| {
        let scoreboards = |i: &Insn| (i.control.wait, i.control.read, i.control.write);
        let guarded = fresh.iter().any(|k| input[*k].guard.is_some());
        guarded && input.iter().zip(&linked).any(|(i, l)| scoreboards(i) != scoreboards(l))
    })
}

/// How the model does with the fences of one function. `None`: it has none that take time.
pub(crate) fn verdict(pair: &Pair) -> Option<Verdict> {
    let (input, linked, fresh) = without_fences(pair)?;
    if !fresh.iter().any(|k| input[*k].guard.is_some()) {
        return None;
    }
    Some(
        match culd_sass::fenced(&input, &pair.indirect, pair.later, &|k| fresh.contains(&k)) {
            Err(why) => Verdict::Kept(why.to_string()),
            Ok(fields) => {
                let same = |k: &usize| {
                    let (a, b) = (fields[*k], linked[*k].control);
                    (a.wait, a.read, a.write) == (b.wait, b.read, b.write)
                };
                match (0..input.len()).find(|k| !same(k)) {
                    None => Verdict::Identical,
                    Some(k) => Verdict::Wrong(k * 16),
                }
            }
        },
    )
}

/// Prints what guarded `EXIT`s with new fences show about the time that these take.
pub(crate) fn arrivals(pair: &Pair) {
    let Some((input, linked, fresh)) = without_fences(pair) else {
        return;
    };
    if linked.iter().any(|i| i.unknown.is_some()) {
        return;
    }
    for (what, code) in [("old", &input), ("new", &linked)] {
        for a in culd_sass::study::arrivals(code, &pair.indirect) {
            let insn = &code[a.insn];
            if fresh.contains(&a.last) && code[a.last].guard.is_some() {
                println!(
                    "{what} {}{}{}*{} {} {} {} stall {} sm_{} {:x} {}",
                    if insn.guard.is_some() { "@" } else { "" },
                    insn.name,
                    if a.read { "/r" } else { "" },
                    a.others.min(3),
                    a.elapsed.0,
                    a.elapsed.1,
                    u8::from(a.waited),
                    input[a.last].control.stall,
                    pair.arch,
                    insn.offset,
                    pair.name
                );
            }
        }
    }
}

/// Prints a function: compiler, linker without fences, and model.
pub(crate) fn print(pair: &Pair) {
    let Some((input, linked, fresh)) = without_fences(pair) else {
        return;
    };
    let model = culd_sass::fenced(&input, &pair.indirect, pair.later, &|k| fresh.contains(&k));
    println!(
        "== sm_{} {} {:?}",
        pair.arch,
        pair.name,
        model.as_ref().err().map(ToString::to_string)
    );
    for (k, insn) in input.iter().enumerate() {
        let (i, l) = (insn.control, linked[k].control);
        let n = model.as_ref().map_or(l, |m| m[k]);
        println!(
            "{:04x} {} | {}{}{} {}{} {}",
            insn.offset,
            super::study::text(i),
            if (i.wait, i.read, i.write) == (l.wait, l.read, l.write) {
                ".".repeat(16)
            } else {
                super::study::text(l)
            },
            if (n.wait, n.read, n.write) == (l.wait, l.read, l.write) {
                "  "
            } else {
                " *"
            },
            if (n.wait, n.read, n.write) == (l.wait, l.read, l.write) {
                String::new()
            } else {
                super::study::text(n)
            },
            if insn.guard.is_some() { "@ " } else { "" },
            insn.name,
            super::study::registers(insn)
        );
    }
}
