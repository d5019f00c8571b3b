//! Writes the tree of a name as text.
//!
//! 1. A stack holds what is still to be written, the next thing on top: pieces, and halves of types.
//! 2. A type is a first half, its declarator, a second half: `int (*` ... `)[3]`. Without a declarator the halves meet.
//! 3. `under` is set if a pointer, reference or member pointer encloses this type: arrays and functions need parentheses then.
//!    `space` says that something follows which must not touch the type's name.
//! 4. A hidden component swallows the next `::` between components, however much text is between them.
//! 5. Every step and every byte is paid from a budget; when it is spent the name has no text.
//!
//! The stack instead of recursion keeps deep types off the machine's stack.

use crate::ast::{Ast, Doc, NameStyle, Piece, Qualifiers, Type, TypeId};
use crate::number;
use std::fmt::Write as _;

/// Steps and bytes that any name may take.
const BUDGET: usize = 1 << 20;
/// Steps and bytes that a name may take for each of its own bytes.
const BUDGET_PER_BYTE: usize = 64;

/// The text of `doc`, which was parsed from a name of `length` bytes; `None` if it grows out of all proportion.
pub(crate) fn print(ast: &Ast<'_>, doc: Doc, length: usize) -> Option<String> {
    let budget = BUDGET.saturating_add(length.saturating_mul(BUDGET_PER_BYTE));
    let mut printer = Printer {
        ast,
        text: String::new(),
        stack: vec![Task::Piece(Piece::Doc(doc))],
        budget,
        swallow: false,
    };
    while let Some(task) = printer.stack.pop() {
        printer.step(task)?;
    }
    Some(printer.text)
}

#[derive(Clone, Copy)]
enum Task<'m> {
    Piece(Piece<'m>),
    First {
        id: TypeId,
        qualifiers: Qualifiers,
        under: bool,
        space: bool,
    },
    Second {
        id: TypeId,
        qualifiers: Qualifiers,
        under: bool,
    },
}

struct Printer<'a, 'm> {
    ast: &'a Ast<'m>,
    text: String,
    stack: Vec<Task<'m>>,
    budget: usize,
    /// The next [`Piece::Scope`] is not printed.
    swallow: bool,
}

impl<'m> Printer<'_, 'm> {
    fn step(&mut self, task: Task<'m>) -> Option<()> {
        match task {
            Task::Piece(piece) => self.piece(piece),
            Task::First {
                id,
                qualifiers,
                under,
                space,
            } => self.first(self.ast.get(id)?, qualifiers, under, space),
            Task::Second { id, qualifiers, under } => self.second(self.ast.get(id)?, qualifiers, under),
        }
    }

    fn piece(&mut self, piece: Piece<'m>) -> Option<()> {
        match piece {
            Piece::Text(text) => self.write(text),
            Piece::Scope => {
                let swallowed = std::mem::replace(&mut self.swallow, false);
                self.write(if swallowed { "" } else { "::" })
            }
            Piece::Hidden => {
                self.swallow = true;
                Some(())
            }
            Piece::Silent(doc) => {
                self.swallow = doc.leaves().unwrap_or(self.swallow);
                Some(())
            }
            Piece::Number(number) => {
                self.pay(20)?;
                write!(self.text, "{number}").ok()
            }
            Piece::Single(value) => self.write(&number::float_text(f64::from(value), 6)),
            Piece::Double(value) => self.write(&number::float_text(value, 15)),
            Piece::Doc(doc) => {
                let pieces = self.ast.pieces(doc);
                self.pay(pieces.len())?;
                self.stack.extend(pieces.iter().rev().copied().map(Task::Piece));
                Some(())
            }
            Piece::Type(id) => self.push(&[first(id, false, false), second(id, false)]),
        }
    }

    /// Writes the half of `kind` before the declarator.
    fn first(&mut self, kind: Type<'m>, qualifiers: Qualifiers, under: bool, space: bool) -> Option<()> {
        let gap = text(if space { " " } else { "" });
        let open = text(if under { "(" } else { "" });
        match kind {
            Type::Named { text: name, style } => {
                if style != NameStyle::Bare {
                    self.before(qualifiers)?;
                }
                self.push(&[doc(name), if style == NameStyle::Plain { gap } else { text("") }])
            }
            Type::Pointer { mark, to } => self.push_qualified(&[first(to, true, true), text(mark)], qualifiers),
            Type::MemberPointer { class, to } => self.push_qualified(
                &[first(to, true, true), text(" :: "), Task::Piece(Piece::Type(class)), text("::*")],
                qualifiers,
            ),
            Type::Vendor { qualifier, of } => self.push_qualified(&[first(of, true, true), text(qualifier)], qualifiers),
            Type::Complex { of } => self.push_qualified(&[text("_Complex "), first(of, true, true)], qualifiers),
            Type::Qualified { qualifiers: inner, of } => self.push(&[Task::First {
                id: of,
                qualifiers: qualifiers.union(inner),
                under,
                space,
            }]),
            Type::WithArguments { of, arguments } => self.push(&[
                Task::First {
                    id: of,
                    qualifiers,
                    under,
                    space,
                },
                doc(arguments),
            ]),
            Type::Expansion { of } => {
                self.before(qualifiers)?;
                // nvlink quirk: under a pointer the whole pattern is before the pointer's mark.
                if under {
                    self.push(&[first(of, false, false), text("..."), second(of, false), gap])
                } else {
                    self.push(&[first(of, false, false), text("..."), gap])
                }
            }
            Type::Vector { count, of } => {
                self.before(qualifiers)?;
                let of = Task::Piece(Piece::Type(of));
                self.push(&[
                    of,
                    text(" __attribute((vector_size("),
                    text(count),
                    text("*sizeof("),
                    of,
                    text(")))) "),
                    gap,
                ])
            }
            // Qualifiers of an array are not printed, those of a function are after its parameters.
            Type::Array { of, .. } => self.push(&[first(of, false, true), open]),
            Type::Function { returns, .. } => self.push(&[first(returns, false, true), open]),
        }
    }

    /// Writes the half of `kind` after the declarator.
    fn second(&mut self, kind: Type<'m>, qualifiers: Qualifiers, under: bool) -> Option<()> {
        let close = text(if under { ")" } else { "" });
        match kind {
            Type::Named { .. } | Type::Vector { .. } => Some(()),
            Type::Pointer { to, .. } | Type::MemberPointer { to, .. } => self.push(&[second(to, true)]),
            Type::Vendor { of, .. } | Type::Complex { of } => self.push(&[second(of, true)]),
            Type::Qualified { qualifiers: inner, of } => self.push(&[Task::Second {
                id: of,
                qualifiers: qualifiers.union(inner),
                under,
            }]),
            Type::WithArguments { of, .. } => self.push(&[second(of, under)]),
            Type::Expansion { .. } if under => Some(()),
            Type::Expansion { of } => self.push(&[second(of, false)]),
            Type::Array { bound, of } => self.push(&[close, text("["), doc(bound), text("]"), second(of, false)]),
            Type::Function {
                returns,
                parameters,
                reference,
                noexcept,
            } => {
                self.push(&[text(reference), second(returns, false), doc(noexcept)])?;
                let words: Vec<_> = qualifiers.trailing().map(text).collect();
                self.push(&words)?;
                self.push(&[close, text("("), doc(parameters), text(")")])
            }
        }
    }

    /// Plans `tasks`, then the words of `qualifiers`.
    fn push_qualified(&mut self, tasks: &[Task<'m>], qualifiers: Qualifiers) -> Option<()> {
        let words: Vec<_> = qualifiers.before().map(text).collect();
        self.push(&words)?;
        self.push(tasks)
    }

    /// Writes the words of `qualifiers` now.
    fn before(&mut self, qualifiers: Qualifiers) -> Option<()> {
        qualifiers.before().try_for_each(|word| self.write(word))
    }

    /// Plans `tasks`, the first of them next.
    fn push(&mut self, tasks: &[Task<'m>]) -> Option<()> {
        self.pay(tasks.len())?;
        self.stack.extend(tasks.iter().rev());
        Some(())
    }

    fn write(&mut self, text: &str) -> Option<()> {
        self.pay(text.len())?;
        self.text.push_str(text);
        Some(())
    }

    fn pay(&mut self, cost: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(cost)?;
        Some(())
    }
}

fn text(text: &str) -> Task<'_> {
    Task::Piece(Piece::Text(text))
}

fn doc<'m>(doc: Doc) -> Task<'m> {
    Task::Piece(Piece::Doc(doc))
}

fn first<'m>(id: TypeId, under: bool, space: bool) -> Task<'m> {
    Task::First {
        id,
        qualifiers: Qualifiers::NONE,
        under,
        space,
    }
}

fn second<'m>(id: TypeId, under: bool) -> Task<'m> {
    Task::Second {
        id,
        qualifiers: Qualifiers::NONE,
        under,
    }
}
