//! Counts results by dimension and prints the summary.

use culd_tests::run::Outcome;
use culd_tests::verdict::Difference;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Links without any dimension.
const NONE: &str = "(none of these)";

/// Links named for each reason why functions were kept.
const EXAMPLES: usize = 4;

/// How a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// nvlink's exit code, text and bytes.
    Same,
    /// Different only in functions whose schedule culd kept and reported.
    Kept,
    Different,
    /// nvlink crashed or reported an internal error.
    Crashed,
    /// nvlink's bytes differ from run to run.
    Unstable,
    /// culd refuses an input that nvlink takes, for a reason that docs/compatibility.md gives.
    Refused,
}

/// Links of a dimension, by verdict.
#[derive(Debug, Default, Clone, Copy)]
struct Row([usize; 6]);

impl Row {
    fn all(&self) -> usize {
        self.0.iter().sum()
    }
    fn get(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }
}

#[derive(Default)]
struct Counts {
    total: Row,
    rows: BTreeMap<String, Row>,
    kinds: BTreeMap<&'static str, usize>,
    /// Why functions were kept: how many, and the first links with one.
    causes: BTreeMap<String, (usize, Vec<String>)>,
    /// What nvlink did: a test in which it refuses everything would show nothing.
    linked: usize,
    refused: usize,
    /// Links in which nvlink crashed, with what culd did.
    crashes: Vec<(String, String)>,
}

/// The counts of a run, shared by its threads.
#[derive(Default)]
pub(crate) struct Tally(Mutex<Counts>);

impl Tally {
    /// Counts a link.
    pub(crate) fn count(&self, tags: &BTreeSet<String>, verdict: Verdict, want: &Outcome) {
        let Ok(mut counts) = self.0.lock() else { return };
        counts.total.0[verdict as usize] += 1;
        match want.exit {
            0 => counts.linked += 1,
            _ if verdict != Verdict::Crashed => counts.refused += 1,
            _ => {}
        }
        let none = BTreeSet::from([NONE.to_owned()]);
        for tag in if tags.is_empty() { &none } else { tags } {
            counts.rows.entry(tag.clone()).or_default().0[verdict as usize] += 1;
        }
    }

    /// Counts the kind of a difference.
    pub(crate) fn difference(&self, difference: &Difference) {
        let kind = match difference {
            Difference::Died { .. } | Difference::NoCleanRefusal { .. } => "died",
            Difference::Text { .. } => "text",
            Difference::FileSet { .. } => "set of files",
            Difference::Bytes { .. } => "bytes",
            _ => "exit code",
        };
        if let Ok(mut counts) = self.0.lock() {
            *counts.kinds.entry(kind).or_default() += 1;
        }
    }

    /// Counts why a function of a link was kept.
    pub(crate) fn cause(&self, cause: &str, link: &str) {
        if let Ok(mut counts) = self.0.lock() {
            let (functions, links) = counts.causes.entry(cause.to_owned()).or_default();
            *functions += 1;
            if links.len() < EXAMPLES && !links.iter().any(|l| l == link) {
                links.push(link.to_owned());
            }
        }
    }

    /// Notes a link in which nvlink crashed or reported an internal error.
    pub(crate) fn crash(&self, name: &str, repeat: &str, (got, want): (&Outcome, &Outcome)) {
        let last = |outcome: &Outcome| {
            let text = String::from_utf8_lossy(&outcome.stderr).into_owned();
            let line = text.lines().rfind(|l| !l.trim().is_empty()).unwrap_or("no text").to_owned();
            line.chars().take(160).collect::<String>()
        };
        let ours = match got.exit {
            0 => "linked".to_owned(),
            exit => format!("exit {exit}, {}", last(got)),
        };
        let note = format!(
            "{name}\n    nvlink: exit {}, {}\n    culd:   {ours}\n    repeat: {repeat}",
            want.exit,
            last(want)
        );
        if let Ok(mut counts) = self.0.lock() {
            counts.crashes.push((ours, note));
        }
    }

    /// Prints everything. At most `show` crashes of each outcome of culd are listed.
    pub(crate) fn summary(&self, what: &str, show: usize) {
        let Ok(counts) = self.0.lock() else { return };
        let total = counts.total;
        println!("{what}");
        println!(
            "nvlink: {} linked, {} refused, {} crashed",
            counts.linked,
            counts.refused,
            total.get(Verdict::Crashed)
        );
        let (same, kept) = (total.get(Verdict::Same), total.get(Verdict::Kept));
        if kept > 0 {
            let all = same + kept + total.get(Verdict::Different);
            println!(
                "{same} of {all} identical ({:.1} %), {kept} different only in functions that culd reports as kept",
                same as f64 * 100.0 / all.max(1) as f64
            );
        }
        for (cause, (functions, links)) in &counts.causes {
            println!("{functions:>6} functions kept: {cause} ({}, ..)", links.join(", "));
        }
        if total.get(Verdict::Unstable) > 0 {
            println!(
                "{} links not counted: nvlink's bytes depend on what its memory held before",
                total.get(Verdict::Unstable)
            );
        }
        if total.get(Verdict::Refused) > 0 {
            println!(
                "{} links not counted: culd refuses an input that nvlink takes, for a reason in docs/compatibility.md",
                total.get(Verdict::Refused)
            );
        }
        if !counts.kinds.is_empty() {
            let parts: Vec<String> = counts.kinds.iter().map(|(k, n)| format!("{k} {n}")).collect();
            println!("differences by kind: {}", parts.join(", "));
        }
        counts.table();
        counts.crashes(show);
    }
}

impl Counts {
    fn table(&self) {
        println!(
            "{:<34} {:>7} {:>7} {:>7} {:>9} {:>12}",
            "dimension", "links", "same", "kept", "different", "not compared"
        );
        let all = ("all links".to_owned(), self.total);
        for (name, row) in self.rows.iter().map(|(n, r)| (n.clone(), *r)).chain([all]) {
            println!(
                "{name:<34} {:>7} {:>7} {:>7} {:>9} {:>12}",
                row.all(),
                row.get(Verdict::Same),
                row.get(Verdict::Kept),
                row.get(Verdict::Different),
                row.get(Verdict::Crashed) + row.get(Verdict::Unstable) + row.get(Verdict::Refused)
            );
        }
    }

    fn crashes(&self, show: usize) {
        if self.crashes.is_empty() {
            return;
        }
        let linked = self.crashes.iter().filter(|(ours, _)| ours == "linked").count();
        println!(
            "nvlink crashed or reported an internal error in {} links, which are not compared: culd linked {linked}, refused {}",
            self.crashes.len(),
            self.crashes.len() - linked
        );
        for is_linked in [true, false] {
            let these = self.crashes.iter().filter(|(ours, _)| (ours == "linked") == is_linked);
            for (_, note) in these.take(show) {
                println!("  {note}");
            }
        }
    }
}

/// The dimensions of a link: those of its files, and its modes.
pub(crate) fn tags_of(args: &str, files: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut tags = BTreeSet::new();
    for word in args.split_whitespace() {
        tags.extend(files.get(word).into_iter().flatten().cloned());
        match word {
            "-g" | "-r" | "--preserve-relocs" => tags.extend([format!("link {word}")]),
            w if w.starts_with("--uidx-file") => tags.extend(["link --uidx-file".to_owned()]),
            _ => {}
        }
    }
    tags
}
