//! `cargo xtask sass --corpus --groups N`: links of several objects of the corpus.
//!
//! 1. For each architecture and variant, N groups of 2 to 30 objects are drawn by `--seed`.
//! 2. Sources define some functions twice: objects that the link names as the second definition leave the group, until it links.
//! 3. Both linkers link the group. It is *identical*; *kept*, when all that differs follows from functions that culd reports; *refused*, when both refuse it
//!    with the same words; or *different*: a failure.

use super::corpus::{Corpus, Item, VARIANTS};
use crate::kept_schedules;
use crate::nvcc::fresh;
use crate::oracle;
use crate::report::{Report, parallel};
use culd_tests::rng::Rng;
use culd_tests::{Error, Result, run};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// Objects of a group, at most.
const MOST: usize = 30;
const OUTPUT: &str = "out.cubin";

/// Counts of one architecture and variant.
#[derive(Debug, Default, Clone, Copy)]
struct Row {
    identical: usize,
    kept: usize,
    different: usize,
    refused: usize,
}

enum Verdict {
    Identical,
    Kept(Vec<String>),
    Refused,
    Different(String),
}

/// Draws and compares the groups.
pub(super) fn run(corpus: &Corpus<'_>, items: &[Item<'_>], (count, seed): (usize, u64), jobs: usize, report: &Report) -> Result<()> {
    let mut sets: BTreeMap<(&str, usize), Vec<&Item<'_>>> = BTreeMap::new();
    for item in items {
        sets.entry((item.1, item.2)).or_default().push(item);
    }
    let mut groups = Vec::new();
    for (&(arch, variant), items) in sets.iter().filter(|(_, items)| items.len() >= 2) {
        for number in 0..count {
            let mut rng = Rng::new(seed + number as u64);
            let mut left = items.clone();
            let size = (2 + rng.below(MOST - 1)).min(left.len());
            let drawn: Vec<&Item<'_>> = (0..size).map(|_| left.swap_remove(rng.below(left.len()))).collect();
            groups.push((arch, variant, number, drawn));
        }
    }
    let rows: Mutex<BTreeMap<(&str, usize), Row>> = Mutex::default();
    let causes: Mutex<BTreeMap<String, usize>> = Mutex::default();
    parallel(&groups, jobs, |(arch, variant, number, items)| {
        let name = format!("{arch} {} group {number}", VARIANTS.get(*variant).map_or("", |v| v.0));
        let verdict = compare(corpus, &name.replace(' ', "-"), items).unwrap_or_else(|e| Verdict::Different(e.to_string()));
        let mut sum = Row::default();
        let failure = match verdict {
            Verdict::Identical => (sum.identical += 1, None).1,
            Verdict::Refused => (sum.refused += 1, None).1,
            Verdict::Kept(list) => {
                sum.kept += 1;
                if let Ok(mut causes) = causes.lock() {
                    list.into_iter().for_each(|cause| *causes.entry(cause).or_default() += 1);
                }
                None
            }
            Verdict::Different(why) => (sum.different += 1, Some(why)).1,
        };
        if let Ok(mut rows) = rows.lock() {
            let row = rows.entry((arch, *variant)).or_default();
            row.identical += sum.identical;
            row.kept += sum.kept;
            row.different += sum.different;
            row.refused += sum.refused;
        }
        report.quiet(&name, failure.as_deref());
    });
    print(
        &*rows.lock().map_err(|e| Error::Other(e.to_string()))?,
        &*causes.lock().map_err(|e| Error::Other(e.to_string()))?,
    );
    Ok(())
}

fn print(rows: &BTreeMap<(&str, usize), Row>, causes: &BTreeMap<String, usize>) {
    println!("| architecture, variant | links | identical | kept and reported | different without report | refused by both |");
    println!("|---|---|---|---|---|---|");
    for ((arch, variant), r) in rows {
        let variant = VARIANTS.get(*variant).map_or("", |v| v.0);
        let links = r.identical + r.kept + r.different;
        println!(
            "| {arch} {variant} | {links} | {} | {} | {} | {} |",
            r.identical, r.kept, r.different, r.refused
        );
    }
    let mut causes: Vec<(&String, &usize)> = causes.iter().collect();
    causes.sort_by_key(|(cause, count)| (std::cmp::Reverse(**count), *cause));
    for (cause, count) in causes {
        println!("{count:>6} {cause}");
    }
}

fn compare(corpus: &Corpus<'_>, name: &str, items: &[&Item<'_>]) -> Result<Verdict> {
    let dir = fresh(&corpus.work.join("groups").join(name))?;
    let mut files: Vec<String> = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let path = dir.join(format!("m{number}.cubin"));
        std::fs::copy(corpus.object(item)?, &path).map_err(Error::file(&path))?;
        files.push(format!("m{number}.cubin"));
    }
    let Some(&&(_, arch, variant)) = items.first() else {
        return Ok(Verdict::Refused);
    };
    let options = VARIANTS.get(variant).map_or("", |v| v.2);
    let runtime = match items.iter().any(|item| item.0.runtime) {
        true => oracle::device_runtime(&corpus.tools)?.display().to_string(),
        false => String::new(),
    };
    let line = |files: &[String]| format!("-arch={arch} {options} {} {runtime} -o {OUTPUT}", files.join(" "));
    let link = |tool: &PathBuf, files: &[String]| run::link(tool, &line(files), &dir, None);
    let mut ours = link(&corpus.linker.as_nvlink, &files)?;
    while ours.exit != 0 && files.len() > 1 {
        let text = String::from_utf8_lossy(&ours.stderr).into_owned();
        let second = |file: &String| text.contains(&format!("in '{file}', first defined"));
        let before = files.len();
        files.retain(|file| !second(file));
        if files.len() == before {
            break;
        }
        ours = link(&corpus.linker.as_nvlink, &files)?;
    }
    let mut theirs = link(&corpus.tools.join("nvlink"), &files)?;
    let outputs = (ours.files.remove(OUTPUT), theirs.files.remove(OUTPUT));
    let verdict = match outputs {
        _ if (ours.exit, &ours.stderr) != (theirs.exit, &theirs.stderr) => Verdict::Different("other exit code or messages".into()),
        (None, None) => Verdict::Refused,
        (Some(a), Some(b)) if a == b => Verdict::Identical,
        (Some(a), Some(b)) => match kept_schedules::explained(corpus.linker, &line(&files), &dir, (&a, &b))? {
            Ok(kept) => Verdict::Kept(kept.iter().map(|k| format!("{}: {}", k.cause(), k.name)).collect()),
            Err(why) => Verdict::Different(why),
        },
        _ => Verdict::Different("only one of the two links".into()),
    };
    if !matches!(verdict, Verdict::Different(_)) {
        std::fs::remove_dir_all(&dir).map_err(Error::file(&dir))?;
    }
    Ok(verdict)
}
