//! Differences as values, and how they are put in order, joined and counted.

use serde::Serialize;
use std::collections::BTreeMap;

/// What a difference is about. The order is the order of a report: causes before what follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Fields of the file header.
    Header,
    /// Sections that only one file has.
    Sections,
    /// Symbols that only one file has.
    Symbols,
    /// The order of sections and of records.
    Order,
    /// The order of symbols.
    SymbolOrder,
    /// Fields of section headers.
    SectionHeaders,
    /// Fields of symbols.
    SymbolFields,
    /// Attributes.
    Attributes,
    /// Notes.
    Notes,
    /// Call graph and prototypes.
    CallGraph,
    /// Relocations.
    Relocations,
    /// Instructions.
    Code,
    /// Bytes of data sections.
    Data,
    /// Mercury capsules.
    Mercury,
    /// Debug information.
    Debug,
    /// String tables.
    Strings,
    /// Offsets, gaps, program headers.
    Layout,
    /// Bytes that none of the above explains.
    Bytes,
}

impl Group {
    /// The heading of the group in a report.
    pub fn title(self) -> &'static str {
        match self {
            Group::Header => "file header",
            Group::Sections => "sections",
            Group::Symbols => "symbols",
            Group::Order => "order",
            Group::SymbolOrder => "symbol order",
            Group::SectionHeaders => "section headers",
            Group::SymbolFields => "symbol fields",
            Group::Attributes => "attributes",
            Group::Notes => "notes",
            Group::CallGraph => "call graph",
            Group::Relocations => "relocations",
            Group::Code => "code",
            Group::Data => "data",
            Group::Mercury => "mercury capsules",
            Group::Debug => "debug information",
            Group::Strings => "string tables",
            Group::Layout => "layout",
            Group::Bytes => "other bytes",
        }
    }
}

impl Group {
    /// Lines shown of the group unless all are requested.
    pub(crate) fn limit(self) -> usize {
        match self {
            Group::SymbolOrder | Group::Layout => 4,
            _ => 8,
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Group of findings that it belongs to.
    pub group: Group,
    /// What differs: a section, a symbol, a place in a section.
    pub subject: String,
    /// Section, if the difference is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Symbol, if the difference is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
    /// Offset in the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Which field or property.
    pub field: String,
    /// What A has; absent when A has nothing there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// What B has; absent when B has nothing there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
    /// The difference in words, without the subject.
    #[serde(skip)]
    pub(crate) what: String,
}

impl Finding {
    /// A field with two values.
    pub(crate) fn field(
        group: Group,
        subject: impl Into<String>,
        field: impl Into<String>,
        a: impl Into<String>,
        b: impl Into<String>,
    ) -> Self {
        let (field, a, b) = (field.into(), a.into(), b.into());
        Finding {
            what: format!("{field} is {a} in A, {b} in B"),
            group,
            subject: subject.into(),
            section: None,
            symbol: None,
            offset: None,
            field,
            a: Some(a),
            b: Some(b),
        }
    }

    /// Something that only one file has.
    pub(crate) fn only(group: Group, subject: impl Into<String>, field: impl Into<String>, in_a: bool, value: impl Into<String>) -> Self {
        let (field, value) = (field.into(), value.into());
        let side = if in_a { "A" } else { "B" };
        let what = if value.is_empty() {
            format!("{field} only in {side}")
        } else {
            format!("{field} {value} only in {side}")
        };
        Finding {
            what,
            group,
            subject: subject.into(),
            section: None,
            symbol: None,
            offset: None,
            field,
            a: in_a.then(|| value.clone()),
            b: (!in_a).then_some(value),
        }
    }

    /// A difference in words.
    pub(crate) fn words(group: Group, subject: impl Into<String>, field: impl Into<String>, what: impl Into<String>) -> Self {
        Finding {
            what: what.into(),
            group,
            subject: subject.into(),
            section: None,
            symbol: None,
            offset: None,
            field: field.into(),
            a: None,
            b: None,
        }
    }

    pub(crate) fn in_section(mut self, section: impl Into<String>) -> Self {
        self.section = Some(section.into());
        self
    }
    pub(crate) fn of_symbol(mut self, symbol: impl Into<String>) -> Self {
        self.symbol = Some(symbol.into());
        self
    }
    pub(crate) fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The difference as a sentence.
    pub fn message(&self) -> String {
        if self.subject.is_empty() {
            self.what.clone()
        } else {
            format!("{}: {}", self.subject, self.what)
        }
    }
}

/// Findings of the same text about several subjects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line<'f> {
    /// Text of the findings.
    pub(crate) what: &'f str,
    /// The findings.
    pub(crate) findings: Vec<&'f Finding>,
}

/// Subjects that are named when several findings become one line.
const NAMED: usize = 4;

impl Line<'_> {
    /// The line as text; every subject is named when `all` is set.
    pub(crate) fn text(&self, all: bool) -> String {
        let [only] = self.findings.as_slice() else {
            let shown = if all { self.findings.len() } else { NAMED };
            let names: Vec<&str> = self.findings.iter().take(shown).map(|f| f.subject.as_str()).collect();
            let more = self.findings.len().saturating_sub(shown);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            return format!("{} places: {} ({}{rest})", self.findings.len(), self.what, names.join(", "));
        };
        only.message()
    }
}

/// Joins findings of one group that say the same, keeping the order of first appearance.
pub(crate) fn lines<'f>(findings: &[&'f Finding]) -> Vec<Line<'f>> {
    let mut by_what: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out: Vec<Line<'f>> = Vec::new();
    for f in findings {
        let at = *by_what.entry(&f.what).or_insert(out.len());
        match out.get_mut(at) {
            Some(line) => line.findings.push(f),
            None => out.push(Line {
                what: &f.what,
                findings: vec![f],
            }),
        }
    }
    out
}
