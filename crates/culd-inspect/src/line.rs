//! Lines of tables, put together without the formatting machinery: large files have millions of them.

use std::io::{self, Write};

/// A line in the making.
#[derive(Debug, Default)]
pub(crate) struct Line {
    bytes: Vec<u8>,
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Line {
    /// Appends text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends text and fills it up to a width; at least one space follows.
    pub(crate) fn left(&mut self, text: &str, width: usize) -> &mut Self {
        self.text(text);
        self.spaces(width.saturating_sub(text.len()).max(1))
    }

    /// Appends text with spaces before it up to a width.
    pub(crate) fn right(&mut self, text: &str, width: usize) -> &mut Self {
        self.spaces(width.saturating_sub(text.len()));
        self.text(text)
    }

    /// Appends a number in hexadecimal with `0x`, with spaces before it up to a width.
    pub(crate) fn hex(&mut self, value: u64, width: usize) -> &mut Self {
        let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
        self.spaces(width.saturating_sub(digits as usize + 2)).text("0x");
        for i in (0..digits).rev() {
            let digit = DIGITS.get((value >> (4 * i) & 15) as usize);
            self.bytes.push(digit.copied().unwrap_or(b'?'));
        }
        self
    }

    /// Appends a number in decimal and fills it up to a width.
    pub(crate) fn number_left(&mut self, value: u64, width: usize) -> &mut Self {
        let before = self.bytes.len();
        self.number(value, 0);
        let used = self.bytes.len() - before;
        self.spaces(width.saturating_sub(used))
    }

    /// Appends a number in decimal, with spaces before it up to a width.
    pub(crate) fn number(&mut self, value: u64, width: usize) -> &mut Self {
        let mut buffer = [0u8; 20];
        let mut at = buffer.len();
        let mut rest = value;
        for (i, slot) in buffer.iter_mut().enumerate().rev() {
            *slot = b'0' + (rest % 10) as u8;
            rest /= 10;
            at = i;
            if rest == 0 {
                break;
            }
        }
        let digits = buffer.get(at..).unwrap_or_default();
        self.spaces(width.saturating_sub(digits.len()));
        self.bytes.extend_from_slice(digits);
        self
    }

    /// Appends spaces.
    pub(crate) fn spaces(&mut self, count: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len() + count, b' ');
        self
    }

    /// Writes the line and starts a new one.
    pub(crate) fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.bytes.push(b'\n');
        let result = out.write_all(&self.bytes);
        self.bytes.clear();
        result
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(data: &[u8]) -> String {
    let digit = |v: u8| DIGITS.get(usize::from(v)).map_or('?', |d| char::from(*d));
    data.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn as_the_standard_formatting() {
        for value in [0, 1, 9, 10, 15, 16, 0x1234, 99, 100, u64::MAX, 1 << 63] {
            let mut out = Vec::new();
            let mut line = Line::default();
            line.hex(value, 9)
                .text("|")
                .number_left(value, 5)
                .text("|")
                .number(value, 7)
                .text("|")
                .left("ab", 4)
                .right("cd", 4)
                .end(&mut out)
                .unwrap();
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("{value:>#9x}|{value:<5}|{value:>7}|{:<4}{:>4}\n", "ab", "cd")
            );
        }
        assert_eq!(hex(&[0, 0x7f, 0xa5]), "007fa5");
    }
}
