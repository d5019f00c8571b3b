//! The table of results: one row per package, kept between runs.

use super::targets::TARGETS;
use culd_tests::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    target: String,
    package: String,
    pub(super) size: u64,
    /// Passed, of all that ran.
    pub(super) tests: Option<(usize, usize)>,
    /// Where they ran.
    place: String,
    /// Hash of all recorded links.
    pub(super) hash: Option<String>,
}

impl Row {
    pub(super) fn new(target: &str, package: &str, size: u64, place: &str) -> Self {
        Self {
            target: target.into(),
            package: package.into(),
            size,
            tests: None,
            place: place.into(),
            hash: None,
        }
    }

    fn line(&self) -> String {
        let tests = self.tests.map_or("-".into(), |(p, t)| format!("{p} {t}"));
        let hash = self.hash.as_deref().unwrap_or("-");
        [
            self.target.as_str(),
            &self.package,
            &self.size.to_string(),
            &tests,
            &self.place,
            hash,
        ]
        .join("\t")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split('\t');
        let mut word = || words.next();
        let (target, package, size) = (word()?, word()?, word()?.parse().ok()?);
        let tests = word()?.split_once(' ').and_then(|(p, t)| Some((p.parse().ok()?, t.parse().ok()?)));
        let place = word()?;
        let mut row = Row::new(target, package, size, place);
        row.tests = tests;
        row.hash = word().filter(|h| *h != "-").map(str::to_owned);
        Some(row)
    }
}

/// Rows by target and package.
pub(super) struct Table {
    file: PathBuf,
    rows: BTreeMap<(String, String), Row>,
    /// The keys of this run.
    new: BTreeSet<(String, String)>,
}

impl Table {
    /// The results of earlier runs.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(file) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            other => other.map_err(Error::file(file))?,
        };
        let mut table = Self {
            file: file.into(),
            rows: BTreeMap::new(),
            new: BTreeSet::new(),
        };
        text.lines().filter_map(Row::parse).for_each(|row| table.put(row));
        table.new.clear();
        Ok(table)
    }

    /// Adds a row, or replaces the one of an earlier run.
    pub(super) fn put(&mut self, row: Row) {
        let key = (row.target.clone(), row.package.clone());
        self.new.insert(key.clone());
        self.rows.insert(key, row);
    }

    /// The row of a package.
    pub(super) fn find(&self, target: &str, package: &str) -> Option<&Row> {
        self.rows.get(&(target.into(), package.into()))
    }

    /// Adds the rows to the file; those that another run has written meanwhile stay.
    pub(super) fn write(&mut self) -> Result<()> {
        let written = Self::read(&self.file)?.rows;
        for (key, row) in written {
            if !self.new.contains(&key) {
                self.rows.insert(key, row);
            }
        }
        let text: String = self.rows.values().map(|r| r.line() + "\n").collect();
        std::fs::write(&self.file, text).map_err(Error::file(&self.file))
    }

    /// The table as Markdown.
    pub(super) fn text(&self) -> String {
        let mut out = String::from("| target | package | size | tests passed | where |\n|---|---|---:|---:|---|\n");
        for row in self.rows.values() {
            let tests = row.tests.map_or("–".into(), |(p, t)| format!("{p} of {t}"));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {tests} | {} |",
                row.target,
                row.package,
                megabytes(row.size),
                row.place
            );
        }
        for target in TARGETS.iter().filter(|t| !self.rows.keys().any(|(triple, _)| triple == t.triple)) {
            let _ = writeln!(out, "| {} | | | – | not built |", target.triple);
        }
        out
    }
}

fn megabytes(size: u64) -> String {
    format!("{:.2} MB", size as f64 / 1e6)
}

/// Replaces the table of a page between its two marks.
pub(super) fn record(page: &Path, table: &str) -> Result<()> {
    const MARKS: (&str, &str) = ("<!-- table -->\n", "<!-- end of table -->");
    let text = std::fs::read_to_string(page).map_err(Error::file(page))?;
    let parts = text
        .split_once(MARKS.0)
        .and_then(|(before, rest)| Some((before, rest.split_once(MARKS.1)?.1)));
    let (before, after) = parts.ok_or_else(|| Error::Other(format!("{} has no marks for the table", page.display())))?;
    std::fs::write(page, format!("{before}{}{table}{}{after}", MARKS.0, MARKS.1)).map_err(Error::file(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_survive_a_file() {
        let mut row = Row::new("wasm32-wasip1", "program", 3_000_000, "node");
        assert_eq!(Row::parse(&row.line()), Some(row.clone()));
        row.tests = Some((3, 4));
        row.hash = Some("abc".into());
        assert_eq!(Row::parse(&row.line()), Some(row));
    }
}
