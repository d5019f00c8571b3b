//! Types and parameter lists.
//!
//! 1. Read the modifiers before a type (pointers, qualifiers, array bounds, ...) into a list.
//! 2. Read the type at the core.
//! 3. Apply the list from its end; each step records a substitution.
//!
//! The list instead of recursion lets a chain of pointers be as long as it likes.

use super::{Parser, Substitution, text};
use crate::ast::{Doc, NameStyle, Qualifiers, Type, TypeId};
use crate::tables::{self, BUILTINS, BUILTINS_D, BUILTINS_DF};

/// A modifier before a type.
#[derive(Clone, Copy)]
enum Modifier<'m> {
    Pointer(&'static str),
    Qualified(Qualifiers),
    Complex,
    Expansion,
    MemberOf(TypeId),
    Array(Doc),
    Vector(&'m str),
    Vendor(&'m str),
}

impl<'m> Modifier<'m> {
    fn apply(self, of: TypeId) -> Type<'m> {
        match self {
            Self::Pointer(mark) => Type::Pointer { mark, to: of },
            Self::Qualified(qualifiers) => Type::Qualified { qualifiers, of },
            Self::Complex => Type::Complex { of },
            Self::Expansion => Type::Expansion { of },
            Self::MemberOf(class) => Type::MemberPointer { class, to: of },
            Self::Array(bound) => Type::Array { bound, of },
            Self::Vector(count) => Type::Vector { count, of },
            Self::Vendor(qualifier) => Type::Vendor { qualifier, of },
        }
    }
}

impl<'m> Parser<'m> {
    /// `<type>`.
    pub(super) fn type_id(&mut self) -> Option<TypeId> {
        self.deeper(|parser| {
            let mut modifiers = Vec::new();
            while let Some(modifier) = parser.modifier()? {
                modifiers.push(modifier);
            }
            let mut id = if parser.at_function_type() {
                parser.function_type(&mut modifiers)?
            } else {
                parser.core_type()?
            };
            for modifier in modifiers.into_iter().rev() {
                id = parser.record_type(modifier.apply(id))?;
            }
            Some(id)
        })
    }

    /// One modifier, `Some(None)` if none follows.
    fn modifier(&mut self) -> Option<Option<Modifier<'m>>> {
        let skip = |parser: &mut Self, count| parser.cursor.skip(count);
        Some(Some(match self.cursor.pair() {
            [b'P', _] => {
                skip(self, 1);
                Modifier::Pointer("*")
            }
            [b'R', _] => {
                skip(self, 1);
                Modifier::Pointer("&")
            }
            [b'O', _] => {
                skip(self, 1);
                Modifier::Pointer("&&")
            }
            [b'r' | b'V' | b'K', _] => Modifier::Qualified(self.qualifiers()),
            [b'C', _] => {
                skip(self, 1);
                Modifier::Complex
            }
            [b'D', b'p'] => {
                skip(self, 2);
                Modifier::Expansion
            }
            [b'M', _] => {
                skip(self, 1);
                Modifier::MemberOf(self.type_id()?)
            }
            [b'A', _] => {
                skip(self, 1);
                Modifier::Array(self.array_bound()?)
            }
            [b'D', b'v'] => {
                skip(self, 2);
                let count = self.cursor.digits()?;
                self.cursor.expect(b"_")?;
                Modifier::Vector(count)
            }
            [b'U', b't' | b'l'] => return None,
            [b'U', _] => {
                skip(self, 1);
                Modifier::Vendor(self.plain_identifier()?)
            }
            _ => return Some(None),
        }))
    }

    /// `[<number> | <expression>] _`.
    fn array_bound(&mut self) -> Option<Doc> {
        let bound = if self.cursor.at_digit() {
            let digits = self.cursor.digits()?;
            text!(self, digits)
        } else if self.cursor.peek() == b'_' {
            Doc::EMPTY
        } else {
            self.expression()?
        };
        self.cursor.expect(b"_")?;
        Some(bound)
    }

    fn at_function_type(&self) -> bool {
        matches!(self.cursor.pair(), [b'F', _] | [b'D', b'o' | b'O'])
    }

    /// `[Do | DO <expression> E] F [Y] <return type> <parameters> [R | O] E`.
    ///
    /// Qualifiers right before it belong to it: they record no substitution of their own.
    fn function_type(&mut self, modifiers: &mut Vec<Modifier<'m>>) -> Option<TypeId> {
        let noexcept = if self.cursor.eat(b"Do") {
            text!(self, " noexcept")
        } else if self.cursor.eat(b"DO") {
            let condition = self.expression()?;
            self.cursor.expect(b"E")?;
            text!(self, " noexcept(", condition, ")")
        } else {
            Doc::EMPTY
        };
        // nvlink quirk: after an exception specification it takes any character for the F.
        if noexcept.is_empty() || self.cursor.at_end() {
            self.cursor.expect(b"F")?;
        } else {
            self.cursor.skip(1);
        }
        self.cursor.eat(b"Y");
        let returns = self.type_id()?;
        let parameters = self.parameters(true)?;
        let reference = self.reference_qualifier();
        self.cursor.expect(b"E")?;
        let id = self.record_type(Type::Function {
            returns,
            parameters,
            reference,
            noexcept,
        })?;
        if let Some(&Modifier::Qualified(qualifiers)) = modifiers.last() {
            modifiers.pop();
            return Some(self.ast.add_type(Type::Qualified { qualifiers, of: id }));
        }
        Some(id)
    }

    /// A type that is neither a modifier nor a function.
    fn core_type(&mut self) -> Option<TypeId> {
        let [code, second] = self.cursor.pair();
        if let Some(text) = tables::find(BUILTINS, code) {
            self.cursor.skip(1);
            return Some(self.builtin(text));
        }
        match [code, second] {
            [b'D', _] => self.d_type(second),
            [b'u', _] => {
                self.cursor.skip(1);
                let identifier = self.identifier()?;
                let arguments = self.optional_template_arguments()?;
                let text = text!(self, identifier, arguments);
                self.record_named(text)
            }
            [b'T', _] => self.template_parameter_type(),
            [b'S', b't'] | [b'0'..=b'9' | b'N' | b'Z', _] => {
                let text = self.name()?.text;
                self.record_named(text)
            }
            [b'S', _] => self.substituted_type(),
            _ => None,
        }
    }

    /// The types that start with a `D`.
    fn d_type(&mut self, second: u8) -> Option<TypeId> {
        if let Some(text) = tables::find(BUILTINS_D, second) {
            self.cursor.skip(2);
            return Some(self.builtin(text));
        }
        match second {
            b'F' => {
                self.cursor.skip(2);
                let &(code, text) = BUILTINS_DF.iter().find(|(code, _)| self.cursor.starts_with(code))?;
                self.cursor.skip(code.len());
                Some(self.builtin(text))
            }
            b't' | b'T' => {
                let text = self.decltype()?;
                self.record_named(text)
            }
            b'y' => {
                self.cursor.skip(2);
                let of = self.type_id()?;
                self.cursor.expect(b"E")?;
                let text = text!(self, "typeof(", of, ")");
                self.record_named(text)
            }
            _ => None,
        }
    }

    /// `Dt <expression> E` or `DT <expression> E`.
    pub(super) fn decltype(&mut self) -> Option<Doc> {
        let is_name = self.cursor.eat(b"Dt");
        if !is_name {
            self.cursor.expect(b"DT")?;
        }
        let expression = self.expression()?;
        self.cursor.expect(b"E")?;
        Some(if is_name {
            text!(self, "decltype(", expression, ")")
        } else {
            text!(self, "decltype((", expression, "))")
        })
    }

    /// A builtin type; it is not recorded.
    fn builtin(&mut self, text: &'static str) -> TypeId {
        let text = text!(self, text);
        self.ast.add_type(Type::Named {
            text,
            style: NameStyle::Plain,
        })
    }

    fn record_named(&mut self, text: Doc) -> Option<TypeId> {
        self.record_type(Type::Named {
            text,
            style: NameStyle::Plain,
        })
    }

    /// A template parameter, perhaps of template kind with its arguments.
    fn template_parameter_type(&mut self) -> Option<TypeId> {
        let text = self.template_parameter()?;
        if !self.arguments_belong_to_parameter(text)? {
            return self.record_named(text);
        }
        self.record(Substitution::TemplateParameter(text))?;
        let arguments = self.template_arguments()?;
        let text = text!(self, text, arguments);
        self.record_named(text)
    }

    /// Whether template arguments follow that belong to the template parameter before them. In the type of a conversion operator
    /// they belong to the operator, unless a second list follows.
    fn arguments_belong_to_parameter(&mut self, parameter: Doc) -> Option<bool> {
        if self.cursor.peek() != b'I' || !self.in_conversion {
            return Some(self.cursor.peek() == b'I');
        }
        let cursor = self.cursor.clone();
        let recorded = self.substitutions.len();
        self.record(Substitution::TemplateParameter(parameter))?;
        self.template_arguments()?;
        let second_list = self.cursor.peek() == b'I';
        self.cursor = cursor;
        self.substitutions.truncate(recorded);
        Some(second_list)
    }

    /// A substitution as a type, perhaps with template arguments. One that is a prefix is printed tight.
    fn substituted_type(&mut self) -> Option<TypeId> {
        let substitution = self.substitution()?;
        let arguments = match substitution {
            Substitution::Type(_) if self.in_conversion => Doc::EMPTY,
            _ => self.optional_template_arguments()?,
        };
        let (text, style) = match substitution {
            Substitution::Type(id) if arguments.is_empty() => return Some(id),
            Substitution::Type(of) => return self.record_type(Type::WithArguments { of, arguments }),
            Substitution::Prefix(prefix) => (prefix.text, NameStyle::Tight),
            Substitution::TemplateParameter(text) => (text, NameStyle::Bare),
            Substitution::Unusable => return None,
        };
        if arguments.is_empty() {
            return Some(self.ast.add_type(Type::Named { text, style }));
        }
        let text = text!(self, text, arguments);
        self.record_type(Type::Named { text, style })
    }

    /// Parameter types up to the end of an encoding or an `E`; in a function type also up to its reference qualifier.
    /// A lone `v` means no parameters.
    pub(super) fn parameters(&mut self, in_function_type: bool) -> Option<Doc> {
        if self.cursor.peek() == b'v' {
            let start = self.cursor.clone();
            self.cursor.skip(1);
            if self.at_parameters_end(in_function_type) {
                return Some(Doc::EMPTY);
            }
            self.cursor = start;
        }
        let mut parameters = Vec::new();
        while !self.at_parameters_end(in_function_type) {
            if self.cursor.eat(b"z") {
                if !self.at_parameters_end(in_function_type) {
                    return None;
                }
                parameters.push(text!(self, "..."));
            } else {
                let parameter = self.type_id()?;
                parameters.push(text!(self, parameter));
            }
        }
        if parameters.is_empty() {
            return None;
        }
        Some(self.ast.join(&parameters, ", "))
    }

    fn at_parameters_end(&self, in_function_type: bool) -> bool {
        self.cursor.at_end()
            || matches!(self.cursor.peek(), b'E' | b'$')
            || (in_function_type && matches!(self.cursor.pair(), [b'R' | b'O', b'E']))
    }
}
