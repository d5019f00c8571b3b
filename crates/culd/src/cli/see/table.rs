//! Text tables. On a terminal the first column is cut so that a row fits.

use std::fmt::Write;
use std::io::IsTerminal;

/// Least width of the cut column.
const LEAST: usize = 16;

/// A table: names first, numbers after them, right-aligned.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// Columns of text that follow the numbers, left-aligned.
    texts_after: usize,
}

impl Table {
    /// A table with these headings.
    pub(super) fn new(headings: &[&str]) -> Self {
        Table {
            rows: vec![headings.iter().map(|h| (*h).to_owned()).collect()],
            texts_after: 0,
        }
    }

    /// The last `count` columns are text.
    pub(super) fn texts_after(mut self, count: usize) -> Self {
        self.texts_after = count;
        self
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text, cut to the width of the terminal.
    pub(super) fn text(&self) -> String {
        self.fitted(terminal_width())
    }

    fn fitted(&self, width: Option<usize>) -> String {
        let columns = self.rows.first().map_or(0, Vec::len);
        let of = |column: usize| {
            self.rows
                .iter()
                .filter_map(|r| r.get(column))
                .map(|c| c.chars().count())
                .max()
                .unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(of).collect();
        let others: usize = widths.iter().skip(1).map(|w| w + 2).sum();
        if let (Some(first), Some(width)) = (widths.first_mut(), width) {
            *first = (*first).min(width.saturating_sub(others).max(LEAST));
        }
        let mut out = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if at > 0 {
                    line.push_str("  ");
                }
                let is_text = at == 0 || at + self.texts_after >= columns;
                let cell = cut(cell, if at == 0 { width } else { usize::MAX });
                let _ = if is_text {
                    write!(line, "{cell:<width$}")
                } else {
                    write!(line, "{cell:>width$}")
                };
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

/// Text with its middle left out.
fn cut(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let tail = width / 3;
    let head = width.saturating_sub(tail + 1);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

/// Columns of the terminal; none when standard output is not one.
fn terminal_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let stated = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    stated.or_else(size_of_terminal).or(Some(80))
}

#[cfg(target_os = "linux")]
fn size_of_terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|n| *n > 0)
}

#[cfg(not(target_os = "linux"))]
fn size_of_terminal() -> Option<usize> {
    None
}

/// A number with its thousands apart.
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, c) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_and_names_keep_both_ends() {
        let mut table = Table::new(&["name", "code", "limit"]).texts_after(1);
        table.row(vec![
            "void a_long_name_of_a_kernel<float>(float*)".into(),
            "12,345".into(),
            "warps".into(),
        ]);
        table.row(vec!["k".into(), "1".into(), "".into()]);
        let text = table.fitted(Some(40));
        assert!(text.lines().all(|l| l.chars().count() <= 40), "{text}");
        assert_eq!(table.fitted(None).lines().nth(2), Some(format!("{:<43}  {:>6}", "k", 1).as_str()));
        assert_eq!((number(1), number(1234567)), ("1".into(), "1,234,567".into()));
        assert_eq!(cut("abcdefghij", 7), "abcd…ij");
    }
}
