//! Names of the inputs' symbols: equal ones get one id. This needs nothing but the objects, so it runs ahead of the resolution of functions.

use crate::ids::{Id, NameId, Table};
use crate::names::Interner;
use crate::object::Object;

/// Distinct names of symbols and prototypes.
#[derive(Debug, Default)]
pub struct SymbolNames<'d> {
    names: Interner<'d, NameId>,
    /// Per name: it starts with a dot.
    pub(super) dotted: Table<NameId, bool>,
}

/// Names of the symbols of consecutive objects.
#[derive(Debug, Default)]
pub struct NamedSymbols {
    /// By symbol; none for those that represent sections.
    pub(super) name_of: Vec<Option<NameId>>,
    /// Number of distinct names so far.
    pub(super) count: usize,
}

impl<'d> SymbolNames<'d> {
    /// Takes the next objects.
    pub fn add(&mut self, objects: &[Object<'d>]) -> NamedSymbols {
        let first = objects.first().map_or(0, |o| o.first_symbol as usize);
        let symbols = objects.iter().map(|o| o.symbol_count() as usize).sum();
        let mut name_of = vec![None; symbols];
        self.names.reserve(objects.iter().map(|o| o.named as usize).sum());
        for object in objects {
            for (symbol, name, hash) in object.names() {
                let id = self.names.intern_hashed(name, hash);
                self.note_dot(id, name);
                if let Some(place) = name_of.get_mut(symbol.index() - first) {
                    *place = Some(id);
                }
            }
        }
        NamedSymbols {
            name_of,
            count: self.names.len(),
        }
    }

    /// The id of a further name.
    pub(super) fn intern(&mut self, name: &'d [u8]) -> NameId {
        let id = self.names.intern(name);
        self.note_dot(id, name);
        id
    }

    /// Number of distinct names.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Notes whether a new name starts with a dot.
    fn note_dot(&mut self, id: NameId, name: &[u8]) {
        if id.index() == self.dotted.len() {
            self.dotted.push(name.first() == Some(&b'.'));
        }
    }
}
