//! Names in the style of c++filt: `double geo::dot<double>(geo::V<double> const&)`.
//!
//! 1. The name is read into a tree ([`node`](crate::node)) by recursive descent. Template parameters are replaced by their arguments at once; a
//!    substitution is a shared subtree.
//! 2. Functions with template arguments, except constructors and conversions, have a return type.
//! 3. Expressions other than literals and addresses, and vector types, are not read; the caller falls back to the other style.
//! 4. Depth and size are limited: a name that needs more is not demangled.

use crate::node::{Node, Ref, print};
use crate::tables;
use std::rc::Rc;

/// Levels of nesting.
const DEPTH: usize = 96;

/// The name as c++filt writes it; `None` if it is not a C++ name, or has something that is not supported.
pub fn demangle_cxx(mangled: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(mangled).ok()?;
    let rest = text.strip_prefix("_Z")?;
    let (name, clone) = match rest.split_once('.') {
        Some((_, suffix)) if suffix.matches('.').count() > 1 => return None,
        Some((name, suffix)) => (name, format!(" [clone .{suffix}]")),
        None => (rest, String::new()),
    };
    let mut parser = Parser {
        rest: name.as_bytes(),
        substitutions: Vec::new(),
        arguments: Vec::new(),
        lambdas: 0,
        depth: 0,
    };
    let tree = parser.encoding(true)?;
    (parser.rest.is_empty()).then_some(())?;
    Some(print(&tree)? + &clone)
}

struct Parser<'m> {
    rest: &'m [u8],
    substitutions: Vec<Ref>,
    /// Template arguments of the function that is being read.
    arguments: Vec<Ref>,
    /// Lambdas around this place: template parameters of generic lambdas are `auto`.
    lambdas: usize,
    depth: usize,
}

/// A name, and what follows from its form.
struct Name {
    node: Ref,
    /// The last component has template arguments.
    is_template: bool,
    /// A constructor, destructor or conversion: no return type.
    is_special: bool,
    qualifiers: String,
}

impl<'m> Parser<'m> {
    fn peek(&self) -> u8 {
        self.rest.first().copied().unwrap_or(0)
    }

    fn peek_second(&self) -> u8 {
        self.rest.get(1).copied().unwrap_or(0)
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text.as_bytes()) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let result = if self.depth > DEPTH { None } else { read(self) };
        self.depth -= 1;
        result
    }

    fn number(&mut self) -> Option<usize> {
        let digits = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (text, rest) = self.rest.split_at_checked(digits).filter(|_| digits > 0)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()?.parse().ok()
    }

    /// `_` is 0, `0_` is 1, and so on.
    fn sequence(&mut self, base: u32) -> Option<usize> {
        let mut value = 0usize;
        let mut is_first = true;
        loop {
            let digit = match self.next()? {
                b'_' => return Some(if is_first { 0 } else { value.checked_add(1)? }),
                c => char::from(c).to_digit(36).filter(|d| *d < base && !c.is_ascii_lowercase())?,
            };
            value = value.checked_mul(base as usize)?.checked_add(digit as usize)?;
            is_first = false;
        }
    }

    fn encoding(&mut self, top: bool) -> Option<Ref> {
        self.deeper(|p| p.encoding_inner(top))
    }

    fn encoding_inner(&mut self, top: bool) -> Option<Ref> {
        const SPECIAL: [(&str, &str); 4] = [
            ("TV", "vtable for "),
            ("TI", "typeinfo for "),
            ("TS", "typeinfo name for "),
            ("TT", "VTT for "),
        ];
        for (code, words) in SPECIAL {
            if self.take(code) {
                let of = self.type_()?;
                return Some(Rc::new(Node::Prefixed(words, of)));
            }
        }
        if self.take("GV") {
            let of = self.name()?.node;
            return Some(Rc::new(Node::Prefixed("guard variable for ", of)));
        }
        let name = self.name()?;
        if self.rest.is_empty() || self.peek() == b'E' {
            return Some(name.node);
        }
        let returns = match name.is_template && !name.is_special {
            true => Some(self.type_()?).filter(|r| !matches!(**r, Node::Array(..))).map(Some)?,
            false => None,
        };
        let parameters = self.types_to_end()?;
        Some(Rc::new(Node::Function {
            // The function around a local name is printed without it.
            returns: returns.filter(|_| top),
            name: Some(name.node),
            parameters,
            qualifiers: name.qualifiers,
        }))
    }

    /// Types up to the end of the name or an `E`, which stays.
    fn types_to_end(&mut self) -> Option<Vec<Ref>> {
        let mut list = Vec::new();
        while !self.rest.is_empty() && self.peek() != b'E' {
            list.push(self.type_()?);
        }
        if let [one] = list.as_slice()
            && matches!(&**one, Node::Text(text) if text == "void")
        {
            list.clear();
        }
        Some(list)
    }

    fn name(&mut self) -> Option<Name> {
        self.deeper(Self::name_inner)
    }

    fn name_inner(&mut self) -> Option<Name> {
        match (self.peek(), self.peek_second()) {
            (b'N', _) => return self.nested(),
            (b'Z', _) => return self.local(),
            _ => {}
        }
        let is_substitution = self.peek() == b'S' && self.peek_second() != b't';
        let mut is_special = false;
        let node = match is_substitution {
            true => self.substitution()?,
            false => {
                let is_std = self.take("St");
                let (node, special) = self.unqualified(None)?;
                is_special = special;
                match is_std {
                    true => Rc::new(Node::Nested(text("std"), node)),
                    false => node,
                }
            }
        };
        let is_template = self.peek() == b'I';
        let node = match is_template {
            true => {
                if !is_substitution {
                    self.substitutions.push(node.clone());
                }
                let arguments = self.template_arguments(true)?;
                Rc::new(Node::Template(node, arguments))
            }
            false => node,
        };
        Some(Name {
            node,
            is_template,
            is_special,
            qualifiers: String::new(),
        })
    }

    fn qualifiers(&mut self) -> String {
        let mut text = String::new();
        loop {
            let word = match self.peek() {
                b'r' => " restrict",
                b'V' => " volatile",
                b'K' => " const",
                _ => "-",
            };
            if text.contains(word) {
                _ = self.next();
                continue;
            }
            text = match self.peek() {
                b'r' => format!(" restrict{text}"),
                b'V' => format!(" volatile{text}"),
                b'K' => format!(" const{text}"),
                _ => return text,
            };
            _ = self.next();
        }
    }

    fn nested(&mut self) -> Option<Name> {
        self.take("N").then_some(())?;
        let mut qualifiers = self.qualifiers();
        if self.take("R") {
            qualifiers += " &";
        } else if self.take("O") {
            qualifiers += " &&";
        }
        let mut node: Option<Ref> = None;
        let (mut is_template, mut is_special) = (false, false);
        while !self.take("E") {
            match (self.peek(), node.clone()) {
                (b'I', Some(of)) => {
                    let arguments = self.template_arguments(true)?;
                    node = Some(Rc::new(Node::Template(of, arguments)));
                    is_template = true;
                }
                (b'S', None) => {
                    if self.take("St") {
                        node = Some(text("std"));
                    } else {
                        node = Some(self.substitution()?);
                    }
                    continue;
                }
                (b'T', None) => node = Some(self.parameter()?),
                (_, before) => {
                    let (last, special) = self.unqualified(before.as_ref())?;
                    (is_template, is_special) = (false, special);
                    node = Some(match before {
                        Some(before) => Rc::new(Node::Nested(before, last)),
                        None => last,
                    });
                }
            }
            if self.peek() != b'E' {
                self.substitutions.push(node.clone()?);
            }
        }
        Some(Name {
            node: node?,
            is_template,
            is_special,
            qualifiers,
        })
    }

    fn local(&mut self) -> Option<Name> {
        self.take("Z").then_some(())?;
        let function = self.encoding(false)?;
        self.take("E").then_some(())?;
        if self.take("s") {
            self.discriminator();
            let node = Rc::new(Node::Nested(function, text("string literal")));
            return Some(Name {
                node,
                is_template: false,
                is_special: false,
                qualifiers: String::new(),
            });
        }
        let entity = self.name()?;
        self.discriminator();
        Some(Name {
            node: Rc::new(Node::Nested(function, entity.node)),
            ..entity
        })
    }

    fn discriminator(&mut self) {
        if self.take("__") {
            _ = self.number();
            _ = self.take("_");
        } else if self.peek() == b'_' && self.peek_second().is_ascii_digit() {
            _ = self.next();
            _ = self.next();
        }
    }

    /// One component; true for constructors, destructors and conversions.
    fn unqualified(&mut self, before: Option<&Ref>) -> Option<(Ref, bool)> {
        _ = self.take("L");
        let (node, special) = match (self.peek(), self.peek_second()) {
            (b'0'..=b'9', _) => (self.source_name()?, false),
            (b'C', b'1'..=b'5') => {
                self.rest = self.rest.get(2..)?;
                (text(&before?.last_name()?), true)
            }
            (b'D', b'0'..=b'5') => {
                self.rest = self.rest.get(2..)?;
                (text(&format!("~{}", before?.last_name()?)), true)
            }
            (b'U', b'l') => (self.lambda()?, false),
            (b'U', b't') => {
                self.rest = self.rest.get(2..)?;
                (text(&format!("{{unnamed type#{}}}", self.sequence(10)? + 1)), false)
            }
            (b'c', b'v') => {
                self.rest = self.rest.get(2..)?;
                let to = self.type_()?;
                (Rc::new(Node::Prefixed("operator ", to)), true)
            }
            (first @ b'a'..=b'z', second) => {
                let operator = tables::operator([first, second])?;
                self.rest = self.rest.get(2..)?;
                let is_word = operator.text.starts_with(|c: char| c.is_ascii_alphabetic());
                (text(&format!("operator{}{}", if is_word { " " } else { "" }, operator.text)), false)
            }
            _ => return None,
        };
        let mut node = node;
        while self.take("B") {
            let tag = self.source_name()?;
            node = Rc::new(Node::Tagged(node, tag));
        }
        Some((node, special))
    }

    fn source_name(&mut self) -> Option<Ref> {
        let length = self.number()?;
        let (name, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        let name = std::str::from_utf8(name).ok()?;
        match name.starts_with("_GLOBAL__N") {
            true => Some(text("(anonymous namespace)")),
            false => Some(text(name)),
        }
    }

    fn lambda(&mut self) -> Option<Ref> {
        self.take("Ul").then_some(())?;
        self.lambdas += 1;
        let parameters = self.types_to_end();
        self.lambdas -= 1;
        self.take("E").then_some(())?;
        let number = self.sequence(10)? + 1;
        Some(Rc::new(Node::Lambda(parameters?, number)))
    }

    fn substitution(&mut self) -> Option<Ref> {
        self.take("S").then_some(())?;
        const CHARS: &str = "std::char_traits<char>";
        let standard = match self.peek() {
            b'a' => "std::allocator".to_owned(),
            b'b' => "std::basic_string".to_owned(),
            b's' => format!("std::basic_string<char, {CHARS}, std::allocator<char> >"),
            b'i' => format!("std::basic_istream<char, {CHARS} >"),
            b'o' => format!("std::basic_ostream<char, {CHARS} >"),
            b'd' => format!("std::basic_iostream<char, {CHARS} >"),
            _ => {
                let index = self.sequence(36)?;
                let known = self.substitutions.get(index)?;
                // A parameter of a generic lambda means something else outside of it.
                let is_auto = matches!(&**known, Node::Text(text) if text.starts_with("auto:"));
                return (!is_auto || self.lambdas > 0).then(|| known.clone());
            }
        };
        _ = self.next();
        Some(text(&standard))
    }

    fn parameter(&mut self) -> Option<Ref> {
        self.take("T").then_some(())?;
        let index = self.sequence(10)?;
        if self.lambdas > 0 {
            return Some(text(&format!("auto:{}", index + 1)));
        }
        self.arguments.get(index).cloned()
    }

    fn template_arguments(&mut self, names_function: bool) -> Option<Vec<Ref>> {
        self.deeper(|p| {
            p.take("I").then_some(())?;
            let mut list = Vec::new();
            while !p.take("E") {
                // c++filt prints a comma after an empty pack.
                let is_empty = matches!(list.last().map(|n: &Ref| &**n), Some(Node::Pack(pack)) if pack.is_empty());
                (!is_empty).then_some(())?;
                list.push(p.template_argument()?);
            }
            if names_function {
                p.arguments = list.clone();
            }
            Some(list)
        })
    }

    fn template_argument(&mut self) -> Option<Ref> {
        match self.peek() {
            b'L' => self.literal(),
            b'X' => {
                _ = self.next();
                let node = match self.take("ad") {
                    true => Rc::new(Node::Address(self.literal()?)),
                    false if self.peek() == b'L' => self.literal()?,
                    false => self.parameter()?,
                };
                self.take("E").then_some(node)
            }
            b'J' => {
                _ = self.next();
                let mut list = Vec::new();
                while !self.take("E") {
                    list.push(self.template_argument()?);
                }
                Some(Rc::new(Node::Pack(list)))
            }
            _ => self.type_(),
        }
    }

    fn literal(&mut self) -> Option<Ref> {
        self.take("L").then_some(())?;
        if self.take("_Z") || self.take("Z") {
            let saved = self.arguments.clone();
            let node = self.encoding(true)?;
            self.arguments = saved;
            return self.take("E").then_some(node);
        }
        let code = self.peek();
        let of = self.type_()?;
        let sign = if self.take("n") { "-" } else { "" };
        let end = self.rest.iter().position(|&b| b == b'E')?;
        let (digits, rest) = self.rest.split_at_checked(end)?;
        let digits = std::str::from_utf8(digits).ok()?;
        self.rest = rest;
        self.take("E").then_some(())?;
        let suffix = match code {
            _ if digits.is_empty() => return Some(of),
            b'b' if digits == "0" => return Some(text("false")),
            b'b' if digits == "1" => return Some(text("true")),
            b'i' => "",
            b'j' => "u",
            b'l' => "l",
            b'm' => "ul",
            b'x' => "ll",
            b'y' => "ull",
            b'f' | b'd' => return None,
            _ => return Some(Rc::new(Node::Cast(of, format!("{sign}{digits}")))),
        };
        Some(text(&format!("{sign}{digits}{suffix}")))
    }

    fn type_(&mut self) -> Option<Ref> {
        self.deeper(Self::type_inner)
    }

    fn type_inner(&mut self) -> Option<Ref> {
        let node = match (self.peek(), self.peek_second()) {
            (b'r' | b'V' | b'K', _) => {
                let qualifiers = self.qualifiers();
                let of = self.type_()?;
                Rc::new(Node::Qualified(of, qualifiers))
            }
            (b'P', _) => self.mark("*")?,
            (b'R', _) => self.mark("&")?,
            (b'O', _) => self.mark("&&")?,
            (b'F', _) => self.function_type()?,
            (b'A', _) => {
                _ = self.next();
                let bound = self.number().map(|n| n.to_string()).unwrap_or_default();
                self.take("_").then_some(())?;
                let of = self.type_()?;
                Rc::new(Node::Array(bound, of))
            }
            (b'M', _) => {
                _ = self.next();
                let class = self.type_()?;
                let to = self.type_()?;
                Rc::new(Node::Member(class, to))
            }
            (b'T', _) => {
                let parameter = self.parameter()?;
                match self.peek() {
                    b'I' => {
                        self.substitutions.push(parameter.clone());
                        let arguments = self.template_arguments(false)?;
                        Rc::new(Node::Template(parameter, arguments))
                    }
                    _ => parameter,
                }
            }
            (b'D', b'p') => {
                self.rest = self.rest.get(2..)?;
                let of = self.type_()?;
                Rc::new(Node::Expansion(of))
            }
            (b'D', code) => {
                let word = match code {
                    b'n' => "decltype(nullptr)",
                    b'h' => "half",
                    code => tables::find(tables::BUILTINS_D, code)?,
                };
                self.rest = self.rest.get(2..)?;
                return Some(text(word));
            }
            (b'S', second) if second != b't' => {
                let known = self.substitution()?;
                match self.peek() {
                    b'I' => {
                        let arguments = self.type_arguments()?;
                        Rc::new(Node::Template(known, arguments))
                    }
                    _ => return Some(known),
                }
            }
            (b'N' | b'Z' | b'S' | b'0'..=b'9', _) => {
                let saved = self.arguments.clone();
                let name = self.name()?;
                self.arguments = saved;
                (!name.is_special && name.qualifiers.is_empty()).then_some(name.node)?
            }
            (b'u', _) => {
                _ = self.next();
                return self.source_name();
            }
            (code, _) => {
                let word = match code {
                    b'z' => "...",
                    code => tables::find(tables::BUILTINS, code)?,
                };
                _ = self.next();
                return Some(text(word));
            }
        };
        self.substitutions.push(node.clone());
        Some(node)
    }

    fn type_arguments(&mut self) -> Option<Vec<Ref>> {
        self.template_arguments(false)
    }

    fn mark(&mut self, mark: &'static str) -> Option<Ref> {
        _ = self.next();
        let to = self.type_()?;
        Some(Rc::new(Node::Pointer(mark, to)))
    }

    fn function_type(&mut self) -> Option<Ref> {
        _ = self.take("F");
        _ = self.take("Y");
        let returns = self.type_()?;
        (!matches!(*returns, Node::Array(..))).then_some(())?;
        let parameters = self.types_to_end()?;
        self.take("E").then_some(())?;
        Some(Rc::new(Node::Function {
            returns: Some(returns),
            name: None,
            parameters,
            qualifiers: String::new(),
        }))
    }
}

fn text(text: &str) -> Ref {
    Rc::new(Node::Text(text.to_owned()))
}
