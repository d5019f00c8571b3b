//! Where the bytes are: by input, function, template family or section.

use crate::model::Unit;
use serde::Serialize;
use std::collections::HashMap;

/// What one row describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Code by input; files for cubins that are not from a link.
    Input,
    /// Code by function.
    Function,
    /// Code by template family.
    Family,
    /// Everything by section.
    Section,
}

impl By {
    /// From its name.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "input" => By::Input,
            "function" => By::Function,
            "family" => By::Family,
            "section" => By::Section,
            _ => return None,
        })
    }

    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            By::Input => "input",
            By::Function => "function",
            By::Family => "family",
            By::Section => "section",
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What the row describes.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Functions or sections.
    pub count: u64,
}

/// A table, largest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// What one row describes.
    pub by: By,
    /// Bytes of all rows.
    pub total: u64,
    /// The rows.
    pub rows: Vec<Row>,
}

/// The table of some units.
pub fn table<'u>(units: impl IntoIterator<Item = &'u Unit>, by: By) -> Table {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |name: &str, size: u64| {
        let at = *places.entry(name.to_owned()).or_insert_with(|| {
            rows.push(Row {
                name: name.to_owned(),
                size: 0,
                count: 0,
            });
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(at) {
            row.size = row.size.saturating_add(size);
            row.count += 1;
        }
    };
    for unit in units {
        match by {
            By::Section => unit.sections.iter().filter(|s| s.in_file).for_each(|s| add(&s.name, s.size)),
            By::Function => unit.functions.iter().for_each(|f| add(&f.demangled, f.code)),
            By::Family => unit.functions.iter().for_each(|f| add(&f.family, f.code)),
            By::Input => unit
                .functions
                .iter()
                .for_each(|f| add(unit.input(f.input).unwrap_or(&unit.name), f.code)),
        }
    }
    rows.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.name.cmp(&b.name)));
    let total = rows.iter().map(|r| r.size).fold(0, u64::saturating_add);
    Table { by, total, rows }
}
