//! Expressions and literals.
//!
//! 1. A literal, a template parameter, a name, or `gs` (`::`) before one of them or before `new` and `delete`.
//! 2. Function parameters and folds, which start with an `f`.
//! 3. Unary and binary operators from the table of operators.
//! 4. Expressions that are texts around operands, from the table of expressions.
//! 5. A handful with a shape of their own: increments, conversions, calls without lookup, member access, `sizeof...`.
//!
//! Operands are written one after the other: no parentheses for precedence, no spaces around operators.

use super::{Parser, text};
use crate::ast::{Doc, Piece};
use crate::number;
use crate::tables::{self, Part, Role};

impl Parser<'_> {
    /// `<expression>`.
    pub(super) fn expression(&mut self) -> Option<Doc> {
        self.deeper(|parser| match parser.cursor.pair() {
            [b'L', _] => parser.literal(),
            [b'T', _] => parser.template_parameter(),
            [b'g', b's'] => {
                parser.cursor.skip(2);
                let expression = parser.expression()?;
                Some(text!(parser, "::", expression))
            }
            code => parser.expression_with_code(code),
        })
    }

    fn expression_with_code(&mut self, code: [u8; 2]) -> Option<Doc> {
        match &code {
            [b'0'..=b'9', _] | b"on" | b"dn" => self.base_name(),
            b"sr" => {
                self.cursor.skip(2);
                self.scoped_name()
            }
            b"li" => self.operator_text(),
            b"nw" | b"na" => self.new_expression(),
            [b'f', b'p' | b'L' | b'l' | b'r' | b'R'] => self.parameter_or_fold(),
            _ => {
                self.cursor.skip(2);
                self.operation(code)
            }
        }
    }

    /// An expression after its code.
    fn operation(&mut self, code: [u8; 2]) -> Option<Doc> {
        if let Some(parts) = tables::expression(code) {
            return self.parts(parts);
        }
        match &code {
            b"pp" => self.increment("++"),
            b"mm" => self.increment("--"),
            b"cv" => self.conversion(),
            b"cp" => {
                let function = self.base_name()?;
                let arguments = self.expressions()?;
                Some(text!(self, "(", function, ")(", arguments, ")"))
            }
            b"dt" => self.member_access("."),
            b"pt" => self.member_access("->"),
            b"sZ" => {
                let pack = if matches!(self.cursor.peek(), b'T' | b'f') {
                    self.expression()?
                } else {
                    return None;
                };
                Some(text!(self, "sizeof...(", pack, ")"))
            }
            _ => {
                let operator = tables::operator(code)?;
                match operator.role {
                    Role::Unary => {
                        let operand = self.expression()?;
                        Some(text!(self, operator.text, operand))
                    }
                    Role::Binary => {
                        let left = self.expression()?;
                        let right = self.expression()?;
                        Some(text!(self, left, operator.text, right))
                    }
                    Role::Name | Role::SpacedName => None,
                }
            }
        }
    }

    /// An expression from the table.
    fn parts(&mut self, parts: &[Part]) -> Option<Doc> {
        let mut pieces = Vec::with_capacity(parts.len());
        for &part in parts {
            pieces.push(match part {
                Part::Text(text) => Piece::Text(text),
                Part::Expr => Piece::Doc(self.expression()?),
                Part::Type => Piece::Type(self.type_id()?),
                Part::List => Piece::Doc(self.expressions()?),
            });
        }
        Some(self.ast.doc(&pieces))
    }

    /// Expressions up to an `E`, with commas between them.
    fn expressions(&mut self) -> Option<Doc> {
        let expressions = self.until_end(Self::expression)?;
        Some(self.ast.join(&expressions, ", "))
    }

    /// Prefix with a `_`, otherwise postfix.
    fn increment(&mut self, operator: &'static str) -> Option<Doc> {
        let is_prefix = self.cursor.eat(b"_");
        let operand = self.expression()?;
        Some(if is_prefix {
            text!(self, operator, operand)
        } else {
            text!(self, operand, operator)
        })
    }

    /// `cv <type> <expression>` or `cv <type> _ {<expression>} E`.
    fn conversion(&mut self) -> Option<Doc> {
        let target = self.type_id()?;
        if self.cursor.eat(b"_") {
            let arguments = self.expressions()?;
            return Some(text!(self, target, "(", arguments, ")"));
        }
        let operand = self.expression()?;
        Some(text!(self, "(", target, ")", operand))
    }

    fn member_access(&mut self, operator: &'static str) -> Option<Doc> {
        let object = self.expression()?;
        let global = if self.cursor.eat(b"gs") { "::" } else { "" };
        let member = if self.cursor.eat(b"sr") {
            self.scoped_name()?
        } else {
            self.base_name()?
        };
        Some(text!(self, "(", object, operator, global, member, ")"))
    }

    /// `(nw | na) {<expression>} _ <type> (E | pi {<expression>} E | il {<expression>} E)`.
    fn new_expression(&mut self) -> Option<Doc> {
        let keyword = if self.cursor.eat(b"nw") { "new" } else { "new[]" };
        self.cursor.eat(b"na");
        let mut placement = Vec::new();
        while !self.cursor.eat(b"_") {
            placement.push(self.expression()?);
        }
        let mut text = text!(self, keyword);
        if !placement.is_empty() {
            let placement = self.ast.join(&placement, ", ");
            text = text!(self, text, " (", placement, ")");
        }
        let created = self.type_id()?;
        text = text!(self, text, " ", created);
        if self.cursor.eat(b"E") {
            return Some(text);
        }
        if self.cursor.eat(b"pi") {
            let arguments = self.expressions()?;
            return Some(text!(self, text, "(", arguments, ")"));
        }
        if !self.cursor.starts_with(b"il") {
            return None;
        }
        let list = self.expression()?;
        Some(text!(self, text, list))
    }

    /// `<identifier> [<template-arguments>]`.
    fn simple_name(&mut self) -> Option<Doc> {
        let identifier = self.identifier()?;
        let tags = self.abi_tags()?;
        let arguments = self.optional_template_arguments()?;
        Some(text!(self, identifier, tags, arguments))
    }

    /// The last part of a scoped name: an identifier, `on <operator>` or `dn <destructor>`.
    fn base_name(&mut self) -> Option<Doc> {
        if self.cursor.eat(b"on") {
            let operator = self.operator_text()?;
            let arguments = self.optional_template_arguments()?;
            return Some(text!(self, operator, arguments));
        }
        if !self.cursor.eat(b"dn") {
            return self.simple_name();
        }
        if self.cursor.at_digit() {
            let class = self.simple_name()?;
            return Some(text!(self, "~", class));
        }
        let class = self.type_id()?;
        Some(text!(self, "~", class))
    }

    /// `<type> <base name>`, `{<simple name>} E <base name>` or `N <type> {<simple name>} E <base name>`, after the `sr`.
    fn scoped_name(&mut self) -> Option<Doc> {
        let scope = if self.cursor.at_digit() {
            let names = self.until_end(Self::simple_name)?;
            self.ast.join(&names, "::")
        } else if self.cursor.eat(b"N") {
            let outermost = self.type_id()?;
            let mut names = vec![text!(self, outermost)];
            names.extend(self.until_end(Self::simple_name)?);
            self.ast.join(&names, "::")
        } else {
            let scope = self.type_id()?;
            text!(self, scope)
        };
        let name = self.base_name()?;
        Some(text!(self, scope, "::", name))
    }

    /// `fpT`, `fp <qualifiers> <ordinal>`, `fL <level> p <qualifiers> <ordinal>`, or a fold.
    fn parameter_or_fold(&mut self) -> Option<Doc> {
        if self.cursor.eat(b"fpT") {
            return Some(text!(self, "this"));
        }
        if self.cursor.eat(b"fp") {
            return self.parameter();
        }
        if !matches!(self.cursor.rest(), [b'f', b'L', b'0'..=b'9', ..]) {
            return self.fold();
        }
        self.cursor.skip(2);
        let level = self.number()?.wrapping_add(1);
        self.cursor.expect(b"p")?;
        let parameter = self.parameter()?;
        Some(text!(
            self,
            parameter,
            "[up ",
            level,
            if level > 1 { " levels]" } else { " level]" }
        ))
    }

    /// `<qualifiers> <ordinal>`.
    fn parameter(&mut self) -> Option<Doc> {
        let mut text = Doc::EMPTY;
        for word in self.qualifiers().before() {
            text = text!(self, text, word);
        }
        let ordinal = self.ordinal()?;
        Some(text!(self, text, "param#", ordinal))
    }

    /// `(fl | fr) <operator> <expression>` or `(fL | fR) <operator> <expression> <expression>`.
    fn fold(&mut self) -> Option<Doc> {
        let kind = self.cursor.pair();
        self.cursor.skip(2);
        let operator = tables::operator(self.cursor.pair())
            .filter(|operator| operator.role == Role::Binary)?
            .text;
        self.cursor.skip(2);
        let first = self.expression()?;
        Some(match &kind {
            b"fl" => text!(self, "(...", operator, first, ")"),
            b"fr" => text!(self, "(", first, operator, "...)"),
            _ => {
                let second = self.expression()?;
                text!(self, "(", first, operator, "...", operator, second, ")")
            }
        })
    }

    /// `L _Z <encoding> E`, `L DnE` or `L <type> <value> E`.
    pub(super) fn literal(&mut self) -> Option<Doc> {
        self.cursor.expect(b"L")?;
        if self.cursor.eat(b"_Z") {
            let entity = self.encoding_without_parameters()?;
            self.cursor.expect(b"E")?;
            return Some(entity);
        }
        if self.cursor.eat(b"DnE") {
            return Some(text!(self, "nullptr"));
        }
        let code = match self.cursor.pair() {
            // nvlink does not support complex numbers.
            [b'C', b'f' | b'd' | b'e' | b'g'] => return None,
            [code, _] => code,
        };
        let of = self.type_id()?;
        if self.cursor.eat(b"E") {
            let value = if matches!(code, b'f' | b'd' | b'e' | b'g') {
                "0.0"
            } else {
                "\"...\""
            };
            return Some(text!(self, "(", of, ")", value));
        }
        let value = match code {
            b'f' | b'd' | b'e' => self.float_value(code)?,
            _ => {
                let sign = if self.cursor.eat(b"n") { "-" } else { "" };
                let digits = self.cursor.digits()?;
                text!(self, sign, digits)
            }
        };
        self.cursor.expect(b"E")?;
        Some(text!(self, "(", of, ")", value))
    }

    /// The hexadecimal digits of a `float` or `double`; nvlink does not know those of longer types.
    fn float_value(&mut self, code: u8) -> Option<Doc> {
        let hex = self.cursor.take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let piece = match code {
            b'f' => Piece::Single(f32::from_bits(u32::try_from(number::float_bits(hex, 8)?).ok()?)),
            b'd' => Piece::Double(f64::from_bits(number::float_bits(hex, 16)?)),
            _ => return None,
        };
        Some(self.ast.doc(&[piece]))
    }
}
