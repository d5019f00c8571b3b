//! `cargo xtask counts [--record]`: instructions of a few fixed links, counted by callgrind.
//!
//! Times on a shared machine vary too much to fail on; counts vary by less than a thousandth.
//!
//! 1. The links are the first ones of some recorded fixtures, run under the name nvlink.
//! 2. What `--version` takes is taken off: loading the program, which depends on the system's loader and the environment, is more
//!    than half of a small link.
//! 3. `benches/counts.tsv` holds the counts that were accepted, with a hash of the inputs: other inputs cannot be compared.
//! 4. A count that is over 5 % higher is a failure. One that is over 5 % lower passes, with a hint to record it.

use super::ptx::hash;
use crate::context::{Context, Linker};
use crate::nvcc::{fresh, good};
use crate::report::Report;
use culd_tests::fixture::Fixture;
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The fixtures: C++ with tables of virtual functions, debug information, an archive, and a large random link.
const LINKS: [&str; 4] = ["cxx-virtual", "opt-debug", "lib-archive", "random-sm_90a-900090"];

/// How many percent more are too much.
const TOLERANCE: u64 = 5;

/// A count and the hash of the inputs it belongs to.
type Count = (u64, u64);

/// Counts into `report`; with `record`, accepts what is counted.
pub(crate) fn run(context: &Context, linker: &Linker, record: bool, report: &Report) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("left out counts: there is no valgrind on PATH");
        return Ok(());
    }
    let file = context.root.join("benches/counts.tsv");
    let mut accepted = load(&file)?;
    for link in LINKS {
        let dir = fresh(&context.root.join("target/counts").join(link))?;
        let counted = count(context, linker, link, &dir);
        let verdict = match &counted {
            Err(e) => Err(e.to_string()),
            Ok(_) if record => Ok("recorded".to_owned()),
            Ok(now) => compare_count(accepted.get(link), *now),
        };
        let name = format!(
            "count {link}: {}",
            counted.as_ref().map_or_else(|_| "-".into(), |c| c.0.to_string())
        );
        match &verdict {
            Ok(note) => report.named(&format!("{name} ({note})"), None),
            Err(why) => report.named(&name, Some(why)),
        }
        if let (true, Ok(count)) = (record, counted) {
            accepted.insert(link.to_owned(), count);
        }
    }
    if record {
        let lines: String = accepted.iter().map(|(l, (n, h))| format!("{l}\t{n}\t{h:016x}\n")).collect();
        std::fs::write(&file, lines).map_err(Error::file(&file))?;
    }
    Ok(())
}

/// Whether a count is good, and what to say about it.
fn compare_count(before: Option<&Count>, now: Count) -> std::result::Result<String, String> {
    const RECORD: &str = "run `cargo xtask counts --record` and commit benches/counts.tsv";
    let Some(&(count, inputs)) = before else {
        return Err(format!("there is no accepted count: {RECORD}"));
    };
    if inputs != now.1 {
        return Err(format!("the fixture was recorded again: {RECORD}"));
    }
    let text = format!("{:+.2} %", (now.0 as f64 / count as f64 - 1.0) * 100.0);
    let hundredfold = now.0 * 100;
    if hundredfold > count * (100 + TOLERANCE) {
        return Err(format!("{text} against {count}: slower. If that is what it costs, {RECORD}"));
    }
    let faster = hundredfold < count * (100 - TOLERANCE);
    Ok(if faster { format!("{text}; {RECORD}") } else { text })
}

fn count(context: &Context, linker: &Linker, link: &str, dir: &Path) -> Result<Count> {
    let path = context.root.join(format!("tests/fixtures/{link}.fixture"));
    let fixture = Fixture::decode(&std::fs::read(&path).map_err(Error::file(&path))?)?;
    let first = fixture.links.first().ok_or_else(|| Error::Other(format!("{link} has no link")))?;
    let mut inputs = String::new();
    for (name, bytes) in &fixture.inputs {
        let path = dir.join(name);
        std::fs::write(&path, bytes).map_err(Error::file(path))?;
        inputs += &format!("{name} {:?}", bytes);
    }
    let all = instructions(linker, &first.args, dir)?;
    let total = all.saturating_sub(instructions(linker, "--version", dir)?);
    Ok((total, hash(&(first.args.clone() + &inputs))))
}

/// How many instructions the linker executes with `args`.
fn instructions(linker: &Linker, args: &str, dir: &Path) -> Result<u64> {
    // one thread: the others would wait, and waiting is counted too
    let script = format!("exec valgrind --tool=callgrind --callgrind-out-file=counts.out \"$0\" {args}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).arg(&linker.as_nvlink).env("RAYON_NUM_THREADS", "1");
    good(shell.current_dir(dir))?;
    let out = dir.join("counts.out");
    let text = std::fs::read_to_string(&out).map_err(Error::file(&out))?;
    let total = text
        .lines()
        .find_map(|l| l.strip_prefix("summary: ").or(l.strip_prefix("totals: "))?.trim().parse().ok());
    total.ok_or_else(|| Error::Other("callgrind gave no total".into()))
}

fn load(file: &Path) -> Result<BTreeMap<String, Count>> {
    let text = match std::fs::read_to_string(file) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        other => other.map_err(Error::file(file))?,
    };
    let row = |line: &str| {
        let mut fields = line.split('\t');
        let name = fields.next()?.to_owned();
        Some((name, (fields.next()?.parse().ok()?, u64::from_str_radix(fields.next()?, 16).ok()?)))
    };
    text.lines()
        .map(|l| row(l).ok_or_else(|| Error::Other(format!("{}: not a row: {l}", file.display()))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::compare_count;

    #[test]
    fn only_more_than_five_percent_more_fails() {
        let before = (1000, 7);
        assert!(compare_count(Some(&before), (1050, 7)).is_ok());
        assert!(compare_count(Some(&before), (1051, 7)).is_err());
        assert!(compare_count(Some(&before), (10, 7)).is_ok());
        assert!(compare_count(Some(&before), (1000, 8)).is_err());
        assert!(compare_count(None, (1000, 7)).is_err());
    }
}
