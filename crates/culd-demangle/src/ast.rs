//! The tree of a demangled name.
//!
//! 1. Everything but a type is a [`Doc`]: a run of [`Piece`]s that are printed one after the other. A piece may be a doc or a type again.
//! 2. A [`Type`] is printed in two halves around its declarator (`int (*` and `)[3]`), so types keep their structure.
//! 3. A hidden component swallows the next `::` that is printed, wherever that is; so docs and types know how they leave this state.
//! 4. Docs and types are made once and shared by reference (substitutions): the tree is a directed graph without cycles.

/// A run of pieces in [`Ast`].
#[derive(Clone, Copy, Default)]
pub(crate) struct Doc {
    start: usize,
    len: usize,
    leaves: Swallow,
}

/// What printing something does to the next [`Piece::Scope`]: whether it is swallowed; `None` if that stays as it was.
pub(crate) type Swallow = Option<bool>;

impl Doc {
    pub(crate) const EMPTY: Self = Self {
        start: 0,
        len: 0,
        leaves: None,
    };

    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// A type in [`Ast`].
#[derive(Clone, Copy)]
pub(crate) struct TypeId(usize);

/// A part of a [`Doc`].
#[derive(Clone, Copy)]
pub(crate) enum Piece<'m> {
    Text(&'m str),
    /// The `::` between two components of a nested name.
    Scope,
    /// A component that prints nothing and swallows the next [`Piece::Scope`].
    Hidden,
    /// Prints nothing, but leaves the next [`Piece::Scope`] as the doc would.
    Silent(Doc),
    Number(i64),
    /// A `float` literal.
    Single(f32),
    /// A `double` literal.
    Double(f64),
    Doc(Doc),
    /// A type without a declarator.
    Type(TypeId),
}

impl<'m> From<&'m str> for Piece<'m> {
    fn from(text: &'m str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Piece<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<Doc> for Piece<'_> {
    fn from(doc: Doc) -> Self {
        Self::Doc(doc)
    }
}

impl From<TypeId> for Piece<'_> {
    fn from(id: TypeId) -> Self {
        Self::Type(id)
    }
}

/// A set of `const`, `volatile`, `restrict`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Qualifiers {
    is_const: bool,
    is_volatile: bool,
    is_restrict: bool,
}

impl Qualifiers {
    pub(crate) const NONE: Self = Self {
        is_const: false,
        is_volatile: false,
        is_restrict: false,
    };

    /// Adds the qualifier with this code; `None` if there is none.
    pub(crate) fn with(self, code: u8) -> Option<Self> {
        match code {
            b'K' => Some(Self { is_const: true, ..self }),
            b'V' => Some(Self { is_volatile: true, ..self }),
            b'r' => Some(Self { is_restrict: true, ..self }),
            _ => None,
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self {
            is_const: self.is_const || other.is_const,
            is_volatile: self.is_volatile || other.is_volatile,
            is_restrict: self.is_restrict || other.is_restrict,
        }
    }

    /// The words in the order in which they are printed, each with a space after it.
    pub(crate) fn before(self) -> impl Iterator<Item = &'static str> {
        self.select(["const ", "volatile ", "restrict "])
    }

    /// The words in the order in which they are printed, each with a space before it.
    pub(crate) fn trailing(self) -> impl Iterator<Item = &'static str> {
        self.select([" const", " volatile", " restrict"])
    }

    fn select(self, words: [&'static str; 3]) -> impl Iterator<Item = &'static str> {
        let present = [self.is_const, self.is_volatile, self.is_restrict];
        words.into_iter().zip(present).filter_map(|(word, present)| present.then_some(word))
    }
}

/// The last component of a name: what a constructor after it is called.
#[derive(Clone, Copy)]
pub(crate) struct Component {
    pub(crate) text: Doc,
    /// For a lambda: the substitutions that its parameter types recorded, as a first index and a count.
    pub(crate) recorded: (usize, usize),
}

/// A name that may go on.
#[derive(Clone, Copy)]
pub(crate) struct Prefix {
    pub(crate) text: Doc,
    /// What a constructor is called here; `None` where a constructor cannot follow.
    pub(crate) last: Option<Component>,
}

/// How a named type combines with the surrounding declarator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameStyle {
    /// As usual.
    Plain,
    /// It came through a substitution of a prefix: no space follows it.
    Tight,
    /// It came through a substitution of a template parameter with arguments: tight, and its qualifiers are not printed.
    Bare,
}

/// A type; `print` says how each is written.
#[derive(Clone, Copy)]
pub(crate) enum Type<'m> {
    /// A builtin, a class, a template parameter or a decltype.
    Named {
        text: Doc,
        style: NameStyle,
    },
    /// A pointer or a reference.
    Pointer {
        mark: &'static str,
        to: TypeId,
    },
    /// `to` as a member of `class`.
    MemberPointer {
        class: TypeId,
        to: TypeId,
    },
    Qualified {
        qualifiers: Qualifiers,
        of: TypeId,
    },
    /// A type with a vendor qualifier.
    Vendor {
        qualifier: &'m str,
        of: TypeId,
    },
    Complex {
        of: TypeId,
    },
    /// A pack expansion.
    Expansion {
        of: TypeId,
    },
    Array {
        bound: Doc,
        of: TypeId,
    },
    Vector {
        count: &'m str,
        of: TypeId,
    },
    Function {
        returns: TypeId,
        parameters: Doc,
        reference: &'static str,
        noexcept: Doc,
    },
    /// A substituted type that template arguments follow.
    WithArguments {
        of: TypeId,
        arguments: Doc,
    },
}

/// How the two halves of a type leave the next [`Piece::Scope`].
#[derive(Clone, Copy, Default)]
struct Halves {
    first: Swallow,
    second: Swallow,
}

impl Halves {
    fn both(self) -> Swallow {
        self.second.or(self.first)
    }
}

/// The pieces and types of one name.
#[derive(Default)]
pub(crate) struct Ast<'m> {
    pieces: Vec<Piece<'m>>,
    types: Vec<(Type<'m>, Halves)>,
}

impl<'m> Ast<'m> {
    /// A doc of these pieces.
    pub(crate) fn doc(&mut self, pieces: &[Piece<'m>]) -> Doc {
        let start = self.pieces.len();
        let is_empty = |piece: &&Piece<'_>| matches!(piece, Piece::Text("") | Piece::Doc(Doc { len: 0, .. }));
        self.pieces.extend(pieces.iter().filter(|piece| !is_empty(piece)));
        let leaves = pieces.iter().rev().find_map(|&piece| self.piece_leaves(piece));
        Doc {
            start,
            len: self.pieces.len() - start,
            leaves,
        }
    }

    /// A doc of `items` with `separator` between them; an empty item keeps its separators.
    pub(crate) fn join(&mut self, items: &[Doc], separator: &'static str) -> Doc {
        let mut pieces = Vec::with_capacity(items.len() * 2);
        for (index, &item) in items.iter().enumerate() {
            if index > 0 {
                pieces.push(Piece::Text(separator));
            }
            pieces.push(Piece::Doc(item));
        }
        self.doc(&pieces)
    }

    pub(crate) fn add_type(&mut self, kind: Type<'m>) -> TypeId {
        let halves = self.type_leaves(kind);
        self.types.push((kind, halves));
        TypeId(self.types.len() - 1)
    }

    pub(crate) fn pieces(&self, doc: Doc) -> &[Piece<'m>] {
        self.pieces.get(doc.start..doc.start + doc.len).unwrap_or_default()
    }

    /// The type of `id`. Ids come from [`Ast::add_type`] of the same tree alone, so there always is one.
    pub(crate) fn get(&self, id: TypeId) -> Option<Type<'m>> {
        self.types.get(id.0).map(|&(kind, _)| kind)
    }

    fn halves(&self, id: TypeId) -> Halves {
        self.types.get(id.0).map(|&(_, halves)| halves).unwrap_or_default()
    }

    fn piece_leaves(&self, piece: Piece<'m>) -> Swallow {
        match piece {
            Piece::Scope => Some(false),
            Piece::Hidden => Some(true),
            Piece::Doc(doc) | Piece::Silent(doc) => doc.leaves,
            Piece::Type(id) => self.halves(id).both(),
            Piece::Text(_) | Piece::Number(_) | Piece::Single(_) | Piece::Double(_) => None,
        }
    }

    fn type_leaves(&self, kind: Type<'m>) -> Halves {
        match kind {
            Type::Named { text, .. } => Halves {
                first: text.leaves,
                second: None,
            },
            Type::Pointer { to: of, .. }
            | Type::Qualified { of, .. }
            | Type::Vendor { of, .. }
            | Type::Complex { of }
            | Type::Expansion { of } => self.halves(of),
            Type::MemberPointer { class, to } => {
                let Halves { first, second } = self.halves(to);
                Halves {
                    first: self.halves(class).both().or(first),
                    second,
                }
            }
            Type::Array { bound, of } => {
                let Halves { first, second } = self.halves(of);
                Halves {
                    first,
                    second: second.or(bound.leaves),
                }
            }
            Type::Vector { of, .. } => Halves {
                first: self.halves(of).both(),
                second: None,
            },
            Type::Function {
                returns,
                parameters,
                noexcept,
                ..
            } => {
                let Halves { first, second } = self.halves(returns);
                Halves {
                    first,
                    second: noexcept.leaves.or(second).or(parameters.leaves),
                }
            }
            Type::WithArguments { of, arguments } => {
                let Halves { first, second } = self.halves(of);
                Halves {
                    first: arguments.leaves.or(first),
                    second,
                }
            }
        }
    }
}

impl Doc {
    /// How printing this leaves the next [`Piece::Scope`].
    pub(crate) fn leaves(self) -> Swallow {
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::{Ast, Doc, NameStyle, Piece, Type};

    #[test]
    fn empty_pieces_vanish_but_separators_stay() {
        let mut ast = Ast::default();
        let nothing = ast.doc(&["".into(), Doc::EMPTY.into()]);
        assert!(nothing.is_empty());
        assert!(ast.join(&[nothing], ", ").is_empty());
        assert!(!ast.join(&[nothing, nothing], ", ").is_empty());
        assert!(!ast.doc(&[Piece::Number(0)]).is_empty());
    }

    #[test]
    fn the_last_component_or_scope_decides_what_is_left() {
        let mut ast = Ast::default();
        let hidden = ast.doc(&[Piece::Hidden, "x".into()]);
        let scoped = ast.doc(&[hidden.into(), Piece::Scope]);
        let returns = ast.add_type(Type::Named {
            text: scoped,
            style: NameStyle::Plain,
        });
        let function = Type::Function {
            returns,
            parameters: hidden,
            reference: "",
            noexcept: Doc::EMPTY,
        };
        let function = ast.add_type(function);
        assert_eq!(ast.doc(&["x".into()]).leaves(), None);
        assert_eq!(hidden.leaves(), Some(true));
        assert_eq!(scoped.leaves(), Some(false));
        assert_eq!(ast.doc(&[returns.into()]).leaves(), Some(false));
        assert_eq!(ast.doc(&[function.into(), "x".into()]).leaves(), Some(true));
    }
}
