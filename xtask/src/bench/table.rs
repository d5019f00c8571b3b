//! The measured rows, as a file of tab-separated values.

use super::measure::Cost;
use super::shapes::SHAPES;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};

/// One link.
pub(super) struct Row {
    pub(super) shape: String,
    pub(super) size: usize,
    /// Bytes of the inputs.
    pub(super) input: u64,
    /// Bytes of the output.
    pub(super) output: u64,
    /// Nothing where nvlink would not end.
    pub(super) nvlink: Option<Cost>,
    pub(super) culd: Cost,
    /// Seconds.
    pub(super) floor: f64,
    /// Whether the outputs are equal.
    pub(super) same: Option<bool>,
    /// Runs of each linker at most.
    pub(super) runs: usize,
    /// Load of the machine when the row was measured, the linkers included; unknown for some old rows.
    pub(super) load: Option<f64>,
}

/// First line of the file.
const COLUMNS: &str =
    "shape\tsize\tinput\toutput\tnvlink wall\tnvlink cpu\tnvlink MB\tculd wall\tculd cpu\tculd MB\tfloor\tsame\truns\tload";

impl Row {
    /// Head of what a run prints.
    pub(super) const HEAD: &'static str =
        "shape         size     in MB    out MB   nvlink s     culd s      ratio    culd MB    floor s  bytes";

    /// The row for people.
    pub(super) fn line(&self) -> String {
        let wall = |c: Option<Cost>| c.map_or_else(|| "-".to_owned(), |c| format!("{:.4}", c.wall));
        format!(
            "{:10} {:>7} {:>9.2} {:>9.2} {:>10} {:>10} {:>10} {:>10.1} {:>10.4}  {}",
            self.shape,
            self.size,
            self.input as f64 / 1e6,
            self.output as f64 / 1e6,
            wall(self.nvlink),
            wall(Some(self.culd)),
            self.ratio().map_or_else(|| "-".to_owned(), |r| format!("{r:.2}")),
            self.culd.memory,
            self.floor,
            match self.same {
                Some(true) => "same",
                Some(false) => "DIFFERENT",
                None => "not compared",
            }
        )
    }

    /// How many times faster than nvlink.
    pub(super) fn ratio(&self) -> Option<f64> {
        self.nvlink.map(|n| n.wall / self.culd.wall)
    }

    /// What is wrong with the row.
    pub(super) fn failure(&self) -> Option<String> {
        match (self.culd.exit, self.same) {
            (0, Some(true) | None) => None,
            (0, Some(false)) => Some("the outputs differ".into()),
            (exit, _) => Some(format!("culd ended with {exit}")),
        }
    }

    fn encode(&self) -> String {
        let cost = |c: Option<Cost>| c.map_or_else(|| "\t\t".to_owned(), |c| format!("{:.6}\t{:.6}\t{:.2}", c.wall, c.cpu, c.memory));
        let same = self.same.map_or("", |s| if s { "yes" } else { "no" });
        format!(
            "{}\t{}\t{}\t{}\t{}\t{}\t{:.6}\t{same}\t{}\t{}",
            self.shape,
            self.size,
            self.input,
            self.output,
            cost(self.nvlink),
            cost(Some(self.culd)),
            self.floor,
            self.runs,
            self.load.map_or_else(String::new, |l| l.to_string())
        )
    }

    fn decode(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields.get(i)?.parse::<f64>().ok();
        let cost = |i: usize| {
            Some(Cost {
                wall: number(i)?,
                cpu: number(i + 1)?,
                memory: number(i + 2)?,
                exit: 0,
                faults: 0.0,
            })
        };
        Some(Self {
            shape: (*fields.first()?).to_owned(),
            size: fields.get(1)?.parse().ok()?,
            input: fields.get(2)?.parse().ok()?,
            output: fields.get(3)?.parse().ok()?,
            nvlink: cost(4),
            culd: cost(7)?,
            floor: number(10)?,
            same: match *fields.get(11)? {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
            runs: fields.get(12)?.parse().ok()?,
            load: number(13),
        })
    }
}

/// All rows, in the order of the shapes and sizes.
pub(super) struct Table {
    path: PathBuf,
    pub(super) rows: Vec<Row>,
}

impl Table {
    /// Reads the file; none is an empty table.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            other => other.map_err(Error::file(path))?,
        };
        let rows = text.lines().skip(1);
        let rows = rows.map(|l| Row::decode(l).ok_or_else(|| Error::Other(format!("{}: not a row: {l}", path.display()))));
        Ok(Self {
            path: path.to_owned(),
            rows: rows.collect::<Result<_>>()?,
        })
    }

    /// Adds a row, in place of the one of that shape and size.
    pub(super) fn put(&mut self, row: Row) {
        self.rows.retain(|r| (&r.shape, r.size) != (&row.shape, row.size));
        self.rows.push(row);
        self.rows.sort_by_key(|r| (SHAPES.iter().position(|s| s.name == r.shape), r.size));
    }

    /// Writes the file.
    pub(super) fn save(&self) -> Result<()> {
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
        }
        let rows: String = self.rows.iter().map(|r| r.encode() + "\n").collect();
        std::fs::write(&self.path, format!("{COLUMNS}\n{rows}")).map_err(Error::file(&self.path))
    }

    /// The rows of a shape, by size.
    pub(super) fn of(&self, shape: &str) -> Vec<&Row> {
        self.rows.iter().filter(|r| r.shape == shape).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(nvlink: Option<Cost>) -> Row {
        let culd = Cost {
            wall: 0.5,
            cpu: 0.25,
            memory: 12.5,
            exit: 0,
            faults: 0.0,
        };
        Row {
            shape: "small".into(),
            size: 100,
            input: 1234,
            output: 567,
            nvlink,
            culd,
            floor: 0.125,
            same: nvlink.map(|_| true),
            runs: 5,
            load: nvlink.map(|_| 1.5),
        }
    }

    #[test]
    fn rows_survive_the_file() {
        let cost = Cost {
            wall: 2.0,
            cpu: 1.5,
            memory: 80.25,
            exit: 0,
            faults: 0.0,
        };
        for row in [row(None), row(Some(cost))] {
            let again = Row::decode(&row.encode()).map(|r| (r.line(), r.encode()));
            assert_eq!(again, Some((row.line(), row.encode())));
        }
        assert!(Row::decode("small\t100").is_none());
    }
}
