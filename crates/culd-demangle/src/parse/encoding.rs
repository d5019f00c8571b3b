//! Whole names.
//!
//! 1. `T..` and `G..` are special names: a table says which text precedes which part.
//! 2. Otherwise a name; if nothing follows, it is data and its qualifiers are dropped.
//! 3. For a function template comes the return type, which is printed in full before the name.
//! 4. The parameters, then clones, qualifiers, and what kind of constructor or destructor this is.

use super::{Parser, text};
use crate::ast::{Doc, Piece};
use crate::number;
use crate::tables::{SPECIALS, Subject};

impl Parser<'_> {
    /// `<encoding>`: a function, data or a special name.
    pub(super) fn encoding(&mut self) -> Option<Doc> {
        self.deeper(|parser| parser.encoding_with(true))
    }

    /// An encoding of which only the name is printed: no return type, no parameters.
    pub(super) fn encoding_without_parameters(&mut self) -> Option<Doc> {
        self.deeper(|parser| parser.encoding_with(false))
    }

    fn encoding_with(&mut self, parameters_too: bool) -> Option<Doc> {
        if matches!(self.cursor.peek(), b'T' | b'G') {
            return self.special();
        }
        let text = self.function_or_data(parameters_too)?;
        // nvlink quirk: it writes the text twice, the first time in vain, and what a hidden component swallows is not forgotten.
        Some(text!(self, Piece::Silent(text), text))
    }

    fn function_or_data(&mut self, parameters_too: bool) -> Option<Doc> {
        let name = self.name()?;
        if self.at_encoding_end() {
            return Some(text!(self, name.text, name.suffix));
        }
        let has_return = name.has_arguments && !name.no_return;
        let returns = if has_return { Some(self.type_id()?) } else { None };
        let parameters = self.parameters(false)?;
        let text = if parameters_too {
            let returns = match returns {
                Some(returns) => text!(self, returns, " "),
                None => Doc::EMPTY,
            };
            let text = text!(self, returns, name.text, "(", parameters, ")");
            self.clones(text)?
        } else {
            text!(self, name.text, Piece::Silent(parameters))
        };
        Some(text!(self, text, name.qualifiers, name.suffix))
    }

    /// Whether an encoding ends here: at the end, at the `E` of what contains it, or at a clone's `$`.
    fn at_encoding_end(&self) -> bool {
        self.cursor.at_end() || matches!(self.cursor.peek(), b'E' | b'$')
    }

    /// `{$ <clone>}` after a function: a mangled name, a number (which is dropped), or plain text up to the end.
    fn clones(&mut self, function: Doc) -> Option<Doc> {
        let mut text = function;
        while !self.in_clone && self.cursor.eat(b"$") {
            if self.cursor.eat(b"_Z") {
                self.in_clone = true;
                let name = self.encoding()?;
                self.in_clone = false;
                text = text!(self, "[clone ", text, "] ", name);
                continue;
            }
            let rest = std::str::from_utf8(self.cursor.rest()).ok()?;
            self.cursor.skip(rest.len());
            if rest.starts_with(|first: char| first.is_ascii_digit()) {
                return rest.bytes().all(|byte| byte.is_ascii_digit()).then_some(text);
            }
            text = text!(self, "[clone ", text, "] ", rest);
        }
        Some(text)
    }

    /// `<special-name>`.
    fn special(&mut self) -> Option<Doc> {
        let &(code, text, subject) = SPECIALS.iter().find(|(code, ..)| self.cursor.starts_with(code))?;
        self.cursor.skip(code.len());
        Some(match subject {
            Subject::Type => {
                let subject = self.type_id()?;
                text!(self, text, subject)
            }
            Subject::Name => {
                let subject = self.name()?.text;
                text!(self, text, subject)
            }
            Subject::TemplateArgument => {
                let subject = self.template_argument()?;
                text!(self, text, subject)
            }
            Subject::Thunk(offsets) => {
                let mut text = text!(self, text);
                for _ in 0..offsets {
                    let offset = self.call_offset()?;
                    text = text!(self, text, offset, " ");
                }
                let subject = self.encoding()?;
                text!(self, text, subject)
            }
        })
    }

    /// `h <number> _` or `v <number> _ <number> _`.
    fn call_offset(&mut self) -> Option<Doc> {
        let is_virtual = self.cursor.eat(b"v");
        if !is_virtual {
            self.cursor.expect(b"h")?;
        }
        let offset = self.offset()?;
        if !is_virtual {
            return Some(text!(self, "(offset ", offset, ")"));
        }
        let virtual_offset = self.offset()?;
        Some(text!(self, "(offset ", offset, ", virtual offset ", virtual_offset, ")"))
    }

    /// `[n] <number> _`.
    fn offset(&mut self) -> Option<i64> {
        let is_negative = self.cursor.eat(b"n");
        let offset = number::parse(self.cursor.digits()?);
        self.cursor.expect(b"_")?;
        Some(if is_negative { offset.wrapping_neg() } else { offset })
    }
}
