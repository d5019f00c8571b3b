//! Comparing files of any kind: their parts pair by name, cubins are compared as cubins, everything else byte by byte.

use super::compare::compare;
use super::finding::{Finding, Group};
use super::options::Options;
use super::report::{self, DiffReport};
use crate::file::{DeviceFile, Part};
use crate::style::{TextStyle, Tone};
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Write};

/// The comparison of a pair of parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartReport {
    /// Name of the part; empty when the files are single cubins.
    pub name: String,
    /// The differences.
    pub report: DiffReport,
}

/// The comparison of two files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilesReport {
    /// Parts that only one file has, as sentences.
    pub only: Vec<String>,
    /// Pairs of parts.
    pub parts: Vec<PartReport>,
    /// The files differ outside their parts.
    pub container: bool,
}

impl FilesReport {
    /// True when the files are the same, byte for byte.
    pub fn is_same(&self) -> bool {
        self.only.is_empty() && !self.container && self.parts.iter().all(|p| p.report.is_same())
    }
}

/// Pairs of parts in the order of A, then what only B has. A single part pairs with a single part whatever their names.
fn pair<'p, 'd>(a: &'p [Part<'d>], b: &'p [Part<'d>]) -> Vec<(Option<&'p Part<'d>>, Option<&'p Part<'d>>)> {
    if let ([x], [y]) = (a, b) {
        return vec![(Some(x), Some(y))];
    }
    // An object and an archive of it share no names; what the parts are is the next best thing.
    let known: BTreeSet<&str> = a.iter().map(|p| p.row.name.as_str()).collect();
    let by_name = b.iter().any(|p| known.contains(p.row.name.as_str()));
    let key = |p: &Part<'_>| match by_name {
        true => p.row.name.clone(),
        false => format!("{} {}", p.row.kind, p.row.arch.as_deref().unwrap_or_default()),
    };
    let mut left: BTreeMap<String, VecDeque<&Part<'d>>> = BTreeMap::new();
    for y in b {
        left.entry(key(y)).or_default().push_back(y);
    }
    let mut out: Vec<_> = a
        .iter()
        .map(|x| (Some(x), left.get_mut(&key(x)).and_then(VecDeque::pop_front)))
        .collect();
    out.extend(left.into_values().flatten().map(|y| (None, Some(y))));
    out
}

/// Compares two files. The error says which file cannot be read and why.
pub fn compare_files(a: &[u8], b: &[u8], names: [&str; 2], options: Options) -> Result<FilesReport, String> {
    let files = [DeviceFile::open(a), DeviceFile::open(b)];
    for (file, name) in files.iter().zip(names) {
        if file.parts.is_empty() {
            let reason = file.problems.first().map_or("no device code inside", |p| p.reason.as_str());
            return Err(format!("{name}: {reason}"));
        }
    }
    let [file_a, file_b] = files;
    let mut out = FilesReport::default();
    for (x, y) in pair(&file_a.parts, &file_b.parts) {
        let (x, y) = match (x, y) {
            (Some(x), Some(y)) => (x, y),
            (Some(x), None) => {
                out.only.push(format!("{} {} only in A", x.row.kind, x.row.name));
                continue;
            }
            (None, Some(y)) => {
                out.only.push(format!("{} {} only in B", y.row.kind, y.row.name));
                continue;
            }
            (None, None) => continue,
        };
        let bytes = |p: &Part<'_>, name: &str| p.bytes().map(|b| b.into_owned()).map_err(|e| format!("{name}{}: {e}", p.row.name));
        let (bytes_a, bytes_b) = (bytes(x, names[0])?, bytes(y, names[1])?);
        let report = if x.is_cubin() && y.is_cubin() {
            let view = |b: &[u8], name: &str, p: &Part<'_>| View::parse(b).map(|_| ()).map_err(|e| format!("{name}{}: {e}", p.row.name));
            view(&bytes_a, names[0], x)?;
            view(&bytes_b, names[1], y)?;
            match (View::parse(&bytes_a), View::parse(&bytes_b)) {
                (Ok(view_a), Ok(view_b)) => compare(&view_a, &view_b, options),
                _ => DiffReport::default(),
            }
        } else {
            plain(&bytes_a, &bytes_b)
        };
        out.parts.push(PartReport {
            name: x.row.name.clone(),
            report,
        });
    }
    out.container = a != b && out.only.is_empty() && out.parts.iter().all(|p| p.report.is_same());
    Ok(out)
}

/// Two parts that are not cubins.
fn plain(a: &[u8], b: &[u8]) -> DiffReport {
    if a == b {
        return DiffReport::default();
    }
    let at = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
    let what = format!("{} bytes in A, {} in B; the first difference is at {at:#x}", a.len(), b.len());
    DiffReport {
        findings: vec![Finding::words(Group::Bytes, "", "content", what).at(at as u64)],
        ..DiffReport::default()
    }
}

/// Writes a comparison of files as text.
pub fn write_text(out: &mut dyn Write, found: &FilesReport, names: [&str; 2], options: Options, style: TextStyle) -> io::Result<()> {
    if found.is_same() {
        return writeln!(out, "{} and {} are the same", names[0], names[1]);
    }
    writeln!(out, "{} {}", style.paint(Tone::Left, "A"), names[0])?;
    writeln!(out, "{} {}", style.paint(Tone::Right, "B"), names[1])?;
    if found.container {
        writeln!(out, "all device code is the same; the files around it differ")?;
    }
    for line in &found.only {
        writeln!(out, "{line}")?;
    }
    let single = matches!(found.parts.as_slice(), [p] if p.name.is_empty());
    let mut same = 0;
    for part in &found.parts {
        if part.report.is_same() {
            same += 1;
            continue;
        }
        if !single {
            writeln!(out, "\n{}", style.paint(Tone::Heading, &format!("part {}", part.name)))?;
        }
        report::write_body(out, &part.report, options, style)?;
    }
    if same > 0 {
        writeln!(out, "\n{same} other part{} the same", if same == 1 { " is" } else { "s are" })?;
    }
    Ok(())
}

/// Writes a comparison of files as a JSON object.
pub fn write_json(out: &mut dyn Write, found: &FilesReport, names: [&str; 2]) -> io::Result<()> {
    let parts: Vec<serde_json::Value> = found.parts.iter().map(|p| report::json(&p.name, &p.report)).collect();
    let document = serde_json::json!({
        "schema": "culd.diff/1",
        "a": names[0],
        "b": names[1],
        "same": found.is_same(),
        "only_in_one": found.only,
        "container_differs": found.container,
        "parts": parts,
    });
    serde_json::to_writer(&mut *out, &document).map_err(io::Error::from)?;
    writeln!(out)
}
