//! Colours for a terminal, and nothing for a pipe.

use std::io::{self, Write};

/// Whether text carries colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextStyle {
    /// Plain text.
    #[default]
    Plain,
    /// ANSI colours.
    Coloured,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A heading.
    Heading,
    /// Secondary information.
    Faint,
    /// Something wrong.
    Bad,
    /// The first of two files.
    Left,
    /// The second of two files.
    Right,
}

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Tone::Heading => "1",
            Tone::Faint => "2",
            Tone::Bad => "1;31",
            Tone::Left => "31",
            Tone::Right => "32",
        }
    }
}

impl TextStyle {
    /// `text` in a tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        match self {
            TextStyle::Plain => text.to_owned(),
            TextStyle::Coloured => format!("\x1b[{}m{text}\x1b[0m", tone.code()),
        }
    }

    /// A heading with an empty line before it.
    pub(crate) fn heading(self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        // Files with many functions have many headings: no formatting for plain ones.
        match self {
            TextStyle::Plain => [b"\n", text.as_bytes(), b"\n"].iter().try_for_each(|part| out.write_all(part)),
            TextStyle::Coloured => writeln!(out, "\n{}", self.paint(Tone::Heading, text)),
        }
    }
}
