//! Names and template arguments.
//!
//! 1. `N..E` is a path of components; each one that continues is recorded as a prefix substitution.
//! 2. `Z <encoding> E <name>` is local to a function: the function's text, `::`, the name.
//! 3. Anything else is one component, perhaps in `std`, perhaps with template arguments.
//! 4. A component is an identifier, an operator, a constructor or destructor, or something without a name: a lambda, an unnamed type,
//!    a structured binding.

use super::{Parser, Substitution, component, text};
use crate::ast::{Component, Doc, Piece, Prefix, Qualifiers};
use crate::tables::{self, CONSTRUCTORS, DESTRUCTORS, INHERITING, Role};

/// A name as far as an encoding cares.
#[derive(Clone, Copy, Default)]
pub(super) struct Name {
    pub(super) text: Doc,
    /// It ends in template arguments: the type of such a function starts with its return type.
    pub(super) has_arguments: bool,
    /// A constructor, destructor or conversion: no return type in any case.
    pub(super) no_return: bool,
    /// What kind of constructor or destructor it is; printed at the very end.
    pub(super) suffix: &'static str,
    /// The qualifiers of a member function; printed after its parameters.
    pub(super) qualifiers: Doc,
}

/// An unqualified name.
struct Unqualified {
    component: Component,
    no_return: bool,
    suffix: &'static str,
}

impl Unqualified {
    fn plain(text: Doc) -> Self {
        Self {
            component: component(text),
            no_return: false,
            suffix: "",
        }
    }
}

/// What the prefix of a nested name becomes when another component follows.
#[derive(Clone, Copy, Default)]
enum Pending {
    /// Nothing: it was itself a substitution.
    #[default]
    None,
    Prefix,
    /// Nothing either, but it takes an index: a constructor, destructor or template parameter with arguments.
    Unusable,
}

/// A nested name while it is read.
#[derive(Default)]
struct Path {
    prefix: Option<Prefix>,
    pending: Pending,
    has_arguments: bool,
    no_return: bool,
    suffix: &'static str,
    /// It ends in a substitution, which cannot be all of a name.
    ends_in_substitution: bool,
}

impl<'m> Parser<'m> {
    /// `<name>`.
    pub(super) fn name(&mut self) -> Option<Name> {
        if self.cursor.eat(b"N") {
            return self.nested_name();
        }
        if self.cursor.eat(b"Z") {
            return self.local_name();
        }
        let is_std = self.cursor.eat(b"St");
        if !is_std && self.cursor.peek() == b'S' {
            let substitution = self.substitution()?;
            let arguments = self.template_arguments()?;
            let text = text!(self, substitution, arguments);
            return Some(Name {
                text,
                has_arguments: true,
                ..Name::default()
            });
        }
        let Unqualified {
            component,
            no_return,
            suffix,
        } = self.unqualified_name(None)?;
        let mut text = text!(self, if is_std { "std::" } else { "" }, component.text);
        let has_arguments = self.cursor.peek() == b'I';
        if has_arguments {
            self.record(Substitution::Prefix(Prefix { text, last: None }))?;
            let arguments = self.template_arguments()?;
            text = text!(self, text, arguments);
        }
        Some(Name {
            text,
            has_arguments,
            no_return,
            suffix,
            qualifiers: Doc::EMPTY,
        })
    }

    /// `N [qualifiers] {component} E`, after the `N`.
    fn nested_name(&mut self) -> Option<Name> {
        let qualifiers = self.qualifiers();
        let reference = self.reference_qualifier();
        let mut path = Path::default();
        while !self.cursor.eat(b"E") {
            self.component(&mut path)?;
        }
        if path.ends_in_substitution {
            return None;
        }
        Some(Name {
            text: path.prefix?.text,
            has_arguments: path.has_arguments,
            no_return: path.no_return,
            suffix: path.suffix,
            qualifiers: self.function_qualifiers(qualifiers, reference),
        })
    }

    /// ` const &` and the like.
    fn function_qualifiers(&mut self, qualifiers: Qualifiers, reference: &'static str) -> Doc {
        let mut text = Doc::EMPTY;
        for word in qualifiers.trailing() {
            text = text!(self, text, word);
        }
        text!(self, text, reference)
    }

    /// Reads one more component of a nested name.
    fn component(&mut self, path: &mut Path) -> Option<()> {
        self.record_pending(path)?;
        path.ends_in_substitution = false;
        match self.cursor.pair() {
            [b'S', _] => {
                let mut next = self.substituted_prefix()?;
                next.text = self.scoped(path.prefix, next.text);
                path.prefix = Some(next);
                path.has_arguments = false;
                path.ends_in_substitution = true;
            }
            [b'T', _] => {
                let parameter = self.template_parameter()?;
                let text = self.scoped(path.prefix, parameter);
                path.prefix = Some(Prefix { text, last: None });
                // nvlink quirk: without its arguments the template takes an index that cannot be used.
                let has_arguments = self.cursor.peek() == b'I';
                path.pending = if has_arguments { Pending::Unusable } else { Pending::Prefix };
                path.has_arguments = false;
            }
            [b'D', b't' | b'T'] => {
                if path.prefix.is_some() {
                    return None;
                }
                path.prefix = Some(Prefix {
                    text: self.decltype()?,
                    last: None,
                });
                path.pending = Pending::Prefix;
            }
            [b'I', _] => {
                let prefix = path.prefix.filter(|_| !path.has_arguments)?;
                let arguments = self.template_arguments()?;
                path.prefix = Some(Prefix {
                    text: text!(self, prefix.text, arguments),
                    ..prefix
                });
                path.pending = Pending::Prefix;
                path.has_arguments = true;
            }
            code => self.unqualified_component(path, code)?,
        }
        Some(())
    }

    fn unqualified_component(&mut self, path: &mut Path, code: [u8; 2]) -> Option<()> {
        let Unqualified {
            component,
            no_return,
            suffix,
        } = self.unqualified_name(path.prefix)?;
        // The marker of a data member around a lambda.
        self.cursor.eat(b"M");
        let text = self.scoped(path.prefix, component.text);
        path.has_arguments = false;
        path.no_return = no_return;
        let is_special = matches!(code, [b'C', _] | [b'D', _]) && code != *b"DC";
        if is_special {
            // A constructor after a constructor is called after the class.
            path.prefix = Some(Prefix {
                text,
                last: path.prefix.and_then(|class| class.last),
            });
            path.pending = Pending::Unusable;
            path.suffix = suffix;
        } else {
            path.prefix = Some(Prefix {
                text,
                last: Some(component),
            });
            path.pending = Pending::Prefix;
        }
        Some(())
    }

    /// `<prefix>::<component>`.
    fn scoped(&mut self, prefix: Option<Prefix>, component: Doc) -> Doc {
        match prefix {
            Some(prefix) => text!(self, prefix.text, Piece::Scope, component),
            None => component,
        }
    }

    /// Another component follows: what was read so far becomes a substitution.
    fn record_pending(&mut self, path: &mut Path) -> Option<()> {
        let prefix = path.prefix;
        match (std::mem::take(&mut path.pending), prefix) {
            (Pending::Prefix, Some(prefix)) => self.record(Substitution::Prefix(prefix)),
            (Pending::Unusable, Some(_)) => self.record(Substitution::Unusable),
            _ => Some(()),
        }
    }

    /// A substitution, or `St`, as a component of a nested name.
    fn substituted_prefix(&mut self) -> Option<Prefix> {
        if self.cursor.eat(b"St") {
            let text = text!(self, "std");
            return Some(Prefix {
                text,
                last: Some(component(text)),
            });
        }
        match self.substitution()? {
            Substitution::Prefix(prefix) => Some(prefix),
            Substitution::Type(id) => Some(Prefix {
                text: text!(self, id),
                last: None,
            }),
            Substitution::TemplateParameter(text) => Some(Prefix { text, last: None }),
            Substitution::Unusable => None,
        }
    }

    /// `Z <encoding> E (s | [d [<number>] _] <name>) [<discriminator>]`, after the `Z`.
    fn local_name(&mut self) -> Option<Name> {
        let function = self.encoding()?;
        self.cursor.expect(b"E")?;
        if self.cursor.eat(b"s") {
            let instance = self.discriminator()?;
            let text = text!(self, function, "::string", instance);
            return Some(Name {
                text,
                has_arguments: true,
                ..Name::default()
            });
        }
        let mut scope = function;
        if self.cursor.eat(b"d") {
            let argument = self.ordinal()?;
            scope = text!(self, scope, "::[default argument ", argument, " (from end)]");
        }
        let name = self.deeper(Self::name)?;
        let instance = self.discriminator()?;
        Some(Name {
            text: text!(self, scope, "::", name.text, instance),
            ..name
        })
    }

    /// `_ <digit>` or `__ <number> _`; entities without one are the first of their name.
    fn discriminator(&mut self) -> Option<Doc> {
        let number = if self.cursor.eat(b"__") {
            let number = self.number()?;
            self.cursor.expect(b"_")?;
            number
        } else if let [b'_', digit @ b'0'..=b'9'] = self.cursor.pair() {
            self.cursor.skip(2);
            i64::from(digit - b'0')
        } else {
            return Some(Doc::EMPTY);
        };
        Some(text!(self, " (instance ", number.wrapping_add(2), ")"))
    }

    /// `<unqualified-name>`; `class` is the component before it.
    fn unqualified_name(&mut self, class: Option<Prefix>) -> Option<Unqualified> {
        match self.cursor.pair() {
            [b'0'..=b'9', _] => {
                let identifier = self.identifier()?;
                let tags = self.abi_tags()?;
                Some(Unqualified::plain(text!(self, identifier, tags)))
            }
            [b'U', b't'] => {
                self.cursor.skip(2);
                let instance = self.ordinal()?;
                let tags = self.abi_tags()?;
                Some(Unqualified::plain(text!(self, "[unnamed type (instance ", instance, ")]", tags)))
            }
            [b'U', b'l'] => self.lambda(),
            [b'D', b'C'] => self.structured_binding(),
            [b'C', b'I'] => self.inheriting_constructor(),
            [b'C', kind] => self.constructor(class, kind),
            [b'D', kind] => self.destructor(class, kind),
            _ => self.operator_name(),
        }
    }

    /// `Ul <parameters> E <ordinal>`.
    fn lambda(&mut self) -> Option<Unqualified> {
        self.cursor.skip(2);
        let first = self.substitutions.len();
        let parameters = self.deeper(|parser| parser.parameters(false))?;
        let recorded = (first, self.substitutions.len().saturating_sub(first));
        self.cursor.expect(b"E")?;
        let instance = self.ordinal()?;
        let tags = self.abi_tags()?;
        let text = text!(self, "[lambda(", parameters, ") (instance ", instance, ")]", tags);
        Some(Unqualified {
            component: Component { text, recorded },
            no_return: false,
            suffix: "",
        })
    }

    /// `DC {<identifier>} E`. nvlink never ends on a list that is not closed.
    fn structured_binding(&mut self) -> Option<Unqualified> {
        self.cursor.skip(2);
        let names = self.until_end(|parser| {
            let name = parser.plain_identifier()?;
            Some(text!(parser, name))
        })?;
        let names = self.ast.join(&names, ",");
        let tags = self.abi_tags()?;
        Some(Unqualified::plain(text!(self, "[structured binding for ", names, "]", tags)))
    }

    fn inheriting_constructor(&mut self) -> Option<Unqualified> {
        self.cursor.skip(2);
        let suffix = tables::find(INHERITING, self.cursor.peek())?;
        self.cursor.skip(1);
        let base = self.type_id()?;
        let tags = self.abi_tags()?;
        Some(Unqualified {
            component: component(text!(self, base, tags)),
            no_return: true,
            suffix,
        })
    }

    fn constructor(&mut self, class: Option<Prefix>, kind: u8) -> Option<Unqualified> {
        let suffix = tables::find(CONSTRUCTORS, kind)?;
        self.cursor.skip(2);
        let class = class?.last?;
        self.record_again(class)?;
        let tags = self.abi_tags()?;
        Some(Unqualified {
            component: component(text!(self, class.text, tags)),
            no_return: true,
            suffix,
        })
    }

    fn destructor(&mut self, class: Option<Prefix>, kind: u8) -> Option<Unqualified> {
        let &(_, mark, suffix) = DESTRUCTORS.iter().find(|(candidate, ..)| *candidate == kind)?;
        self.cursor.skip(2);
        let class = class?.last?;
        self.record_again(class)?;
        let tags = self.abi_tags()?;
        Some(Unqualified {
            component: component(text!(self, mark, class.text, tags)),
            no_return: true,
            suffix,
        })
    }

    /// `cv <type>`, `li <identifier>` or the code of an operator.
    fn operator_name(&mut self) -> Option<Unqualified> {
        let code = self.cursor.pair();
        self.cursor.skip(2);
        match &code {
            b"cv" => {
                let outer = std::mem::replace(&mut self.in_conversion, true);
                let target = self.type_id()?;
                self.in_conversion = outer;
                let tags = self.abi_tags()?;
                let text = text!(self, "operator ", target, tags);
                Some(Unqualified {
                    component: component(text),
                    no_return: true,
                    suffix: "",
                })
            }
            b"li" => {
                let suffix = self.plain_identifier()?;
                let tags = self.abi_tags()?;
                Some(Unqualified::plain(text!(self, "operator \"\"", suffix, tags)))
            }
            _ => {
                let operator = tables::operator(code)?;
                let space = if operator.role == Role::SpacedName { " " } else { "" };
                let tags = self.abi_tags()?;
                Some(Unqualified::plain(text!(self, "operator ", operator.text, space, tags)))
            }
        }
    }

    /// The text of an operator's name in an expression.
    pub(super) fn operator_text(&mut self) -> Option<Doc> {
        Some(self.operator_name()?.component.text)
    }

    /// `I {<template-argument>} E`.
    pub(super) fn template_arguments(&mut self) -> Option<Doc> {
        self.cursor.expect(b"I")?;
        let outer = std::mem::replace(&mut self.in_conversion, false);
        let arguments = self.until_end(Self::template_argument)?;
        self.in_conversion = outer;
        let arguments = self.ast.join(&arguments, ", ");
        Some(text!(self, "<", arguments, ">"))
    }

    /// `I {<template-argument>} E`, or nothing.
    pub(super) fn optional_template_arguments(&mut self) -> Option<Doc> {
        if self.cursor.peek() == b'I' {
            self.template_arguments()
        } else {
            Some(Doc::EMPTY)
        }
    }

    /// A type, an expression, a literal or a pack. A pack is one argument, even an empty one.
    pub(super) fn template_argument(&mut self) -> Option<Doc> {
        match self.cursor.peek() {
            b'X' => {
                self.cursor.skip(1);
                let expression = self.expression()?;
                self.cursor.expect(b"E")?;
                Some(expression)
            }
            b'L' => self.literal(),
            b'J' => {
                self.cursor.skip(1);
                let elements = self.deeper(|parser| parser.until_end(Self::template_argument))?;
                Some(self.ast.join(&elements, ", "))
            }
            _ => {
                let argument = self.type_id()?;
                Some(text!(self, argument))
            }
        }
    }
}
