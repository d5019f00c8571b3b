//! The tree of a name in the style of c++filt, and how it is printed.
//!
//! A type is printed in two halves around its declarator: `int (*` and `)(float)`.

use std::rc::Rc;

/// A shared subtree.
pub(crate) type Ref = Rc<Node>;

/// Longest text.
const LIMIT: usize = 1 << 16;
/// Levels of nesting; substitutions make trees deeper than names.
const DEPTH: usize = 512;

/// A part of a name.
#[derive(Debug)]
pub(crate) enum Node {
    Text(String),
    /// Words before a name or a type.
    Prefixed(&'static str, Ref),
    /// `a::b`.
    Nested(Ref, Ref),
    Template(Ref, Vec<Ref>),
    /// A name with an ABI tag.
    Tagged(Ref, Ref),
    /// Pointer or reference.
    Pointer(&'static str, Ref),
    Qualified(Ref, String),
    Array(String, Ref),
    /// A pointer to a member: class and type.
    Member(Ref, Ref),
    /// A function, or the type of one without a name.
    Function {
        returns: Option<Ref>,
        name: Option<Ref>,
        parameters: Vec<Ref>,
        qualifiers: String,
    },
    Lambda(Vec<Ref>, usize),
    Pack(Vec<Ref>),
    /// A pattern that is repeated for each element of the pack in it.
    Expansion(Ref),
    /// A literal of a type.
    Cast(Ref, String),
    /// The address of something, as a template argument.
    Address(Ref),
}

impl Node {
    /// The name of the class, for its constructors.
    pub(crate) fn last_name(&self) -> Option<String> {
        match self {
            Node::Text(text) => text.split('<').next()?.rsplit("::").next().map(str::to_owned),
            Node::Nested(_, last) => last.last_name(),
            Node::Template(of, _) | Node::Tagged(of, _) => of.last_name(),
            _ => None,
        }
    }

    /// Number of elements of the first pack.
    fn pack(&self) -> Option<usize> {
        let any = |list: &[Ref]| list.iter().find_map(|n| n.pack());
        match self {
            Node::Pack(list) => Some(list.len()),
            Node::Text(_) => None,
            Node::Prefixed(_, a) | Node::Pointer(_, a) | Node::Qualified(a, _) | Node::Array(_, a) => a.pack(),
            Node::Expansion(a) | Node::Cast(a, _) | Node::Address(a) | Node::Tagged(a, _) => a.pack(),
            Node::Nested(a, b) | Node::Member(a, b) => a.pack().or_else(|| b.pack()),
            Node::Template(a, list) => a.pack().or_else(|| any(list)),
            Node::Lambda(list, _) => any(list),
            Node::Function { returns, parameters, .. } => returns.as_ref().and_then(|r| r.pack()).or_else(|| any(parameters)),
        }
    }
}

/// The text of a tree; `None` if it is too long.
pub(crate) fn print(node: &Node) -> Option<String> {
    let mut printer = Printer {
        out: String::new(),
        element: None,
        depth: 0,
    };
    printer.whole(node)?;
    Some(printer.out)
}

struct Printer {
    out: String,
    /// Which element of packs is printed.
    element: Option<usize>,
    depth: usize,
}

impl Printer {
    fn whole(&mut self, node: &Node) -> Option<()> {
        self.depth += 1;
        let fits = self.depth < DEPTH && self.out.len() < LIMIT;
        let done = fits.then_some(()).and_then(|()| self.left(node)).and_then(|()| self.right(node));
        self.depth -= 1;
        done
    }

    /// The element that replaces a node while an element of a pack is printed.
    fn resolve<'n>(&self, node: &'n Node) -> &'n Node {
        match (node, self.element) {
            (Node::Pack(list), Some(element)) => list.get(element).map_or(node, |n| &**n),
            _ => node,
        }
    }

    /// True if the declarator of a pointer to this needs parentheses.
    fn is_wrapped(&self, node: &Node) -> bool {
        match self.resolve(node) {
            Node::Qualified(of, _) => self.is_wrapped(of),
            other => matches!(other, Node::Function { .. } | Node::Array(..)),
        }
    }

    /// References to references are one.
    fn collapse<'n>(&self, mark: &'static str, to: &'n Node) -> (&'static str, &'n Node) {
        match (mark, self.resolve(to)) {
            ("&" | "&&", Node::Pointer("&", inner)) => ("&", inner),
            ("&" | "&&", Node::Pointer("&&", inner)) => (mark, inner),
            _ => (mark, to),
        }
    }

    fn left(&mut self, node: &Node) -> Option<()> {
        (self.out.len() < LIMIT).then_some(())?;
        match self.resolve(node) {
            Node::Text(text) => self.out += text,
            Node::Prefixed(words, of) => {
                self.out += words;
                self.whole(of)?;
            }
            Node::Nested(a, b) => {
                self.whole(a)?;
                self.out += "::";
                self.whole(b)?;
            }
            Node::Template(of, arguments) => {
                self.whole(of)?;
                if self.out.ends_with('<') {
                    self.out.push(' ');
                }
                self.out.push('<');
                self.list(arguments)?;
                self.out += if self.out.ends_with('>') { " >" } else { ">" };
            }
            Node::Tagged(of, tag) => {
                self.whole(of)?;
                self.out += "[abi:";
                self.whole(tag)?;
                self.out.push(']');
            }
            Node::Pointer(mark, to) => {
                let (mark, to) = self.collapse(mark, to);
                self.left(to)?;
                if self.is_wrapped(to) {
                    self.out.push('(');
                }
                self.out += mark;
            }
            Node::Qualified(of, words) => {
                if let Node::Array(_, element) = self.resolve(of) {
                    self.left(element)?;
                    self.out += words;
                    self.out.push(' ');
                } else {
                    self.left(of)?;
                    if !self.is_wrapped(of) && !self.out.ends_with(words.as_str()) {
                        self.out += words;
                    }
                }
            }
            Node::Member(class, to) => {
                self.left(to)?;
                self.out += if self.is_wrapped(to) { "(" } else { " " };
                self.whole(class)?;
                self.out += "::*";
            }
            Node::Array(_, of) => {
                self.left(of)?;
                if !matches!(self.resolve(of), Node::Array(..)) {
                    self.out.push(' ');
                }
            }
            Node::Function { returns, name, .. } => {
                if let Some(returns) = returns {
                    let start = self.out.len();
                    self.left(returns)?;
                    // `int (*f(float))(long)`: the name is inside the parentheses of its result.
                    let half = self.out.get(start..).unwrap_or_default();
                    if half.matches('(').count() == half.matches(')').count() {
                        self.out.push(' ');
                    }
                }
                if let Some(name) = name {
                    self.whole(name)?;
                }
            }
            Node::Lambda(parameters, number) => {
                self.out += "{lambda(";
                self.list(parameters)?;
                self.out += &format!(")#{number}}}");
            }
            Node::Pack(list) => self.list(list)?,
            Node::Expansion(of) => self.expansion(of)?,
            Node::Cast(of, value) => {
                self.out.push('(');
                self.whole(of)?;
                self.out += &format!("){value}");
            }
            Node::Address(of) => match &**of {
                // A member has no parameters here.
                Node::Function { name: Some(name), .. } if matches!(**name, Node::Nested(..)) => {
                    self.out.push('&');
                    self.whole(name)?;
                }
                Node::Text(_) | Node::Nested(..) => {
                    self.out.push('&');
                    self.whole(of)?;
                }
                _ => {
                    self.out += "&(";
                    self.whole(of)?;
                    self.out.push(')');
                }
            },
        }
        Some(())
    }

    fn right(&mut self, node: &Node) -> Option<()> {
        match self.resolve(node) {
            Node::Pointer(mark, to) => {
                let (_, to) = self.collapse(mark, to);
                self.close(to)
            }
            Node::Member(_, to) => self.close(to),
            Node::Qualified(of, words) => {
                self.right(of)?;
                if matches!(self.resolve(of), Node::Function { .. }) {
                    self.out += words;
                }
                Some(())
            }
            Node::Array(bound, of) => {
                self.out += &format!("[{bound}]");
                self.right(of)
            }
            Node::Function {
                returns,
                parameters,
                qualifiers,
                ..
            } => {
                self.out.push('(');
                self.list(parameters)?;
                self.out.push(')');
                self.out += qualifiers;
                returns.as_ref().map_or(Some(()), |r| self.right(r))
            }
            _ => Some(()),
        }
    }

    /// What follows the declarator of a pointer.
    fn close(&mut self, to: &Node) -> Option<()> {
        if self.is_wrapped(to) {
            self.out.push(')');
            let inner = match self.resolve(to) {
                Node::Qualified(of, _) => self.resolve(of),
                other => other,
            };
            if matches!(inner, Node::Array(..)) {
                self.out.push(' ');
            }
        }
        self.right(to)
    }

    /// A list with commas; empty elements vanish.
    fn list(&mut self, list: &[Ref]) -> Option<()> {
        let mut is_first = true;
        for node in list {
            let before = self.out.len();
            if !is_first {
                self.out += ", ";
            }
            let start = self.out.len();
            self.whole(node)?;
            match self.out.len() == start {
                true => self.out.truncate(before),
                false => is_first = false,
            }
        }
        Some(())
    }

    fn expansion(&mut self, of: &Node) -> Option<()> {
        let Some(count) = of.pack() else {
            self.out.push('(');
            self.whole(of)?;
            self.out += ")...";
            return Some(());
        };
        let saved = self.element;
        for element in 0..count {
            if element > 0 {
                self.out += ", ";
            }
            self.element = Some(element);
            self.whole(of)?;
        }
        self.element = saved;
        Some(())
    }
}
