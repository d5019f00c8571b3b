//! Reads a mangled name (after its `_Z`) into a tree.
//!
//! 1. `encoding`: a whole name: function, data or special name; clones after a `$`.
//! 2. `name`: nested, local and unqualified names; template arguments.
//! 3. `types`: types and parameter lists.
//! 4. `expr`: expressions and literals.
//! 5. This file: what they share, which is identifiers, numbers, substitutions and the limits.
//!
//! The grammar is that of the Itanium C++ ABI as far as nvlink supports it. Where nvlink fails, so does this parser: every function
//! answers `None`, and nothing of the name is demangled.

mod encoding;
mod expr;
mod name;
mod types;

use crate::ast::{Ast, Component, Doc, Piece, Prefix, Qualifiers, Type, TypeId};
use crate::cursor::Cursor;
use crate::{number, tables};

/// How deep names, types and expressions may be nested. A level takes up to 2 KiB of stack; a thread may have just 2 MiB.
pub(crate) const MAX_DEPTH: usize = 450;
/// Steps for each byte of a name. A byte is read once, or twice for each conversion operator to a template parameter around it.
const STEPS_PER_BYTE: usize = 16;
/// How many substitutions a name may record for each of its bytes.
const SUBSTITUTIONS_PER_BYTE: usize = 16;

/// The tree of the mangled name `name` (without `_Z`) and the doc that represents the whole of it.
pub(crate) fn parse(name: &[u8]) -> Option<(Ast<'_>, Doc)> {
    let mut parser = Parser::new(name);
    let doc = parser.encoding()?;
    parser.cursor.at_end().then_some((parser.ast, doc))
}

/// Makes a doc of pieces: `text!(self, "sizeof(", type_id, ")")`.
macro_rules! text {
    ($parser:expr, $($piece:expr),+ $(,)?) => {
        $parser.ast.doc(&[$(crate::ast::Piece::from($piece)),+])
    };
}
use text;

/// What a substitution represents.
#[derive(Clone, Copy)]
enum Substitution {
    Prefix(Prefix),
    /// A template parameter that has arguments.
    TemplateParameter(Doc),
    Type(TypeId),
    /// The index is taken, but a use of it is an error.
    Unusable,
}

struct Parser<'m> {
    cursor: Cursor<'m>,
    ast: Ast<'m>,
    substitutions: Vec<Substitution>,
    max_substitutions: usize,
    depth: usize,
    steps_left: usize,
    /// In the type of a conversion operator, where template arguments may belong to the operator.
    in_conversion: bool,
    /// In the name of a clone, which has no clones of its own.
    in_clone: bool,
}

impl<'m> Parser<'m> {
    fn new(name: &'m [u8]) -> Self {
        Self {
            cursor: Cursor::new(name),
            ast: Ast::default(),
            substitutions: Vec::new(),
            max_substitutions: name.len().saturating_mul(SUBSTITUTIONS_PER_BYTE),
            depth: 0,
            steps_left: name.len().saturating_mul(STEPS_PER_BYTE),
            in_conversion: false,
            in_clone: false,
        }
    }

    /// Reads something that may contain itself. All recursion passes through here.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.steps_left = self.steps_left.checked_sub(1)?;
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// `read` until an `E`, which is skipped.
    fn until_end<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        while !self.cursor.eat(b"E") {
            items.push(read(self)?);
        }
        Some(items)
    }

    /// `<length> <identifier>`, as it is written.
    fn plain_identifier(&mut self) -> Option<&'m str> {
        let length = number::parse(self.cursor.digits()?);
        let bytes = self.cursor.take(usize::try_from(length).ok()?)?;
        let valid = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
        if bytes.is_empty() || !bytes.iter().all(valid) {
            return None;
        }
        std::str::from_utf8(bytes).ok()
    }

    /// An identifier as a component of a name: the namespaces that compilers make up have no name of their own.
    fn identifier(&mut self) -> Option<Piece<'m>> {
        let identifier = self.plain_identifier()?;
        Some(match identifier {
            _ if identifier.starts_with("_GLOBAL__N_") => Piece::Text("<unnamed>"),
            // nvlink quirk: nvcc's namespace of a static function vanishes.
            _ if identifier.starts_with("_INTERNAL") => Piece::Hidden,
            _ => Piece::Text(identifier),
        })
    }

    /// `{B <identifier>}`: `[abi:a,b]`, or nothing.
    fn abi_tags(&mut self) -> Option<Doc> {
        let mut tags = Vec::new();
        while self.cursor.eat(b"B") {
            let tag = self.plain_identifier()?;
            tags.push(text!(self, tag));
        }
        if tags.is_empty() {
            return Some(Doc::EMPTY);
        }
        let tags = self.ast.join(&tags, ",");
        Some(text!(self, "[abi:", tags, "]"))
    }

    /// `[<number>] _`: counts from 1 for a lone `_`, 2 for `0_`.
    fn ordinal(&mut self) -> Option<i64> {
        if self.cursor.eat(b"_") {
            return Some(1);
        }
        let number = self.number()?;
        self.cursor.expect(b"_")?;
        Some(number.wrapping_add(2))
    }

    /// A number that is not negative, even after it wrapped around.
    fn number(&mut self) -> Option<i64> {
        Some(number::parse(self.cursor.digits()?)).filter(|&number| number >= 0)
    }

    /// `{r | V | K}`.
    fn qualifiers(&mut self) -> Qualifiers {
        let mut qualifiers = Qualifiers::NONE;
        while let Some(more) = qualifiers.with(self.cursor.peek()) {
            qualifiers = more;
            self.cursor.skip(1);
        }
        qualifiers
    }

    /// `[R | O]` of a member function.
    fn reference_qualifier(&mut self) -> &'static str {
        if self.cursor.eat(b"R") {
            " &"
        } else if self.cursor.eat(b"O") {
            " &&"
        } else {
            ""
        }
    }

    /// `T [<number>] _`. Template parameters are not replaced by their arguments.
    fn template_parameter(&mut self) -> Option<Doc> {
        self.cursor.expect(b"T")?;
        let ordinal = self.ordinal()?;
        Some(text!(self, "T", ordinal))
    }

    /// Records a type as the next substitution.
    fn record_type(&mut self, kind: Type<'m>) -> Option<TypeId> {
        let id = self.ast.add_type(kind);
        self.record(Substitution::Type(id))?;
        Some(id)
    }

    fn record(&mut self, substitution: Substitution) -> Option<()> {
        if self.substitutions.len() >= self.max_substitutions {
            return None;
        }
        self.substitutions.push(substitution);
        Some(())
    }

    /// Records the parameter types of a lambda once more.
    ///
    /// nvlink quirk: it reads the name of the class again for a constructor or destructor.
    fn record_again(&mut self, component: Component) -> Option<()> {
        let (first, count) = component.recorded;
        for index in first..first.checked_add(count)? {
            let substitution = *self.substitutions.get(index)?;
            self.record(substitution)?;
        }
        Some(())
    }

    /// `S <letter>` or `S [<base-36 number>] _`, not `St`.
    fn substitution(&mut self) -> Option<Substitution> {
        self.cursor.expect(b"S")?;
        let letter = self.cursor.peek();
        if letter.is_ascii_lowercase() {
            self.cursor.skip(1);
            return Some(Substitution::Prefix(self.standard_name(letter)));
        }
        let index = self.sequence_number()?;
        match *self.substitutions.get(index)? {
            Substitution::Unusable => None,
            usable => Some(usable),
        }
    }

    fn standard_name(&mut self, letter: u8) -> Prefix {
        match tables::STANDARD.iter().find(|(candidate, ..)| *candidate == letter) {
            Some(&(_, text, last)) => {
                let last = text!(self, last);
                Prefix {
                    text: text!(self, text),
                    last: Some(component(last)),
                }
            }
            // nvlink quirk: a letter without a meaning is a name without text.
            None => Prefix {
                text: Doc::EMPTY,
                last: None,
            },
        }
    }

    /// `_` is 0, `0_` is 1, `Z_` is 36.
    fn sequence_number(&mut self) -> Option<usize> {
        if self.cursor.eat(b"_") {
            return Some(0);
        }
        let digits = self.cursor.take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        self.cursor.expect(b"_")?;
        let value = digits.iter().try_fold(0_usize, |value, &digit| {
            let digit = char::from(digit).to_digit(36)?;
            value.checked_mul(36)?.checked_add(usize::try_from(digit).ok()?)
        })?;
        value.checked_add(1)
    }
}

/// A component other than a lambda.
fn component(text: Doc) -> Component {
    Component { text, recorded: (0, 0) }
}

impl From<Substitution> for Piece<'_> {
    fn from(substitution: Substitution) -> Self {
        match substitution {
            Substitution::Prefix(Prefix { text, .. }) | Substitution::TemplateParameter(text) => Piece::Doc(text),
            Substitution::Type(id) => Piece::Type(id),
            Substitution::Unusable => Piece::Text(""),
        }
    }
}
