//! Searches the inputs for the definition of a symbol and the references to it.

use crate::ids::{FunctionId, ObjectId, SharedId, SymbolId, Table};
use crate::layout::Layout;
use crate::object::{NO_OWNER, Object, RelocSection, Role};
use crate::records::Place;
use crate::resolve::Fate;
use crate::session::Link;

/// The object whose definition each symbol of the output has.
pub(super) type Definers = Table<SymbolId, Option<ObjectId>>;

/// Finds the prevailing definition.
pub(super) fn definers(link: Link<'_, '_>, layout: &Layout<'_>) -> Definers {
    let records = &layout.records;
    let mut by = Table::filled(records.symbols.len(), None);
    for object in link.inputs.objects.iter() {
        for index in 1..object.symbol_count() {
            let sym = object.symbol_ref(index);
            let Place::Symbol(id) = records.placement.symbols[sym] else {
                continue;
            };
            // A strong definition comes after the weak one that it replaces.
            if object.symbol(index).defined_in().is_some() && records.quirks.overridden.binary_search(&sym).is_err() {
                by[id] = Some(object.id);
            }
        }
    }
    for (id, sym) in records.symbols.enumerate() {
        match sym.function.and_then(|f| link.resolved.functions[f].winner) {
            Some(winner) => by[id] = Some(winner.object),
            // Storage of a common symbol: the file with the largest size.
            None if sym.section.is_some() && by[id].is_none() => by[id] = Some(sym.first_mention),
            None => {}
        }
    }
    by
}

/// Target of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceTarget {
    /// A function.
    Function(FunctionId),
    /// A variable.
    Variable(SymbolId),
    /// A variable in shared memory.
    Shared(SharedId),
}

/// A reference to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Referrer<'d> {
    /// Code of a function that stays.
    Code(FunctionId),
    /// Initial value of a variable; its name, and the input.
    Data(&'d [u8], &'d str),
}

/// All references to a symbol: relocations of code that stays and of data, in link order.
pub(super) fn referrers<'a, 'd>(link: Link<'a, 'd>, layout: &'a Layout<'d>, sought: ReferenceTarget) -> Vec<Referrer<'d>> {
    let mut found = Vec::new();
    for object in link.inputs.objects.iter() {
        for relocs in &object.relocs {
            let from = match object.section(relocs.target).map(|s| (s.role, s.owner)) {
                Some((Role::Text | Role::Stub, owner)) if owner != NO_OWNER => living(link, object, owner),
                Some((Role::GlobalInit | Role::Constant | Role::UnifiedData, _)) => None,
                _ => continue,
            };
            let is_code = matches!(object.section(relocs.target).map(|s| s.role), Some(Role::Text | Role::Stub));
            if is_code && from.is_none() {
                continue;
            }
            let Some(offset) = first_mention(link, layout, object, relocs, sought) else {
                continue;
            };
            found.push(match from {
                Some(f) => Referrer::Code(f),
                None => Referrer::Data(variable_at(object, relocs.target, offset), object.name),
            });
        }
    }
    found
}

/// The function that a symbol defines, if that definition prevails and stays.
fn living(link: Link<'_, '_>, object: &Object<'_>, symbol: u32) -> Option<FunctionId> {
    let sym = object.symbol_ref(symbol);
    let f = link.resolved.function(sym)?;
    (link.resolved.fate(sym) == Fate::Winner && link.live.alive[f]).then_some(f)
}

/// Offset of the first relocation against something.
fn first_mention(
    link: Link<'_, '_>,
    layout: &Layout<'_>,
    object: &Object<'_>,
    relocs: &RelocSection<'_>,
    sought: ReferenceTarget,
) -> Option<u64> {
    let is_it = |symbol: u32| {
        if symbol >= object.symbol_count() {
            return false;
        }
        let sym = object.symbol_ref(symbol);
        match sought {
            ReferenceTarget::Function(f) => link.resolved.function(sym) == Some(f),
            ReferenceTarget::Variable(id) => layout.records.placement.symbols[sym] == Place::Symbol(id),
            ReferenceTarget::Shared(id) => layout.records.placement.symbols[sym] == Place::Shared(id),
        }
    };
    let entries = (0..relocs.entries.len()).filter_map(|i| relocs.entries.get(i));
    entries.filter(|e| is_it(e.r_sym.get())).map(|e| e.r_offset.get()).next()
}

/// The variable that holds a place of a section, or the section.
fn variable_at<'d>(object: &Object<'d>, section: u32, offset: u64) -> &'d [u8] {
    let symbols = (1..object.symbol_count()).map(|i| object.symbol(i));
    let holds = |sym: &crate::object::ObjSymbol<'_>| {
        sym.defined_in() == Some(section) && sym.size != 0 && offset.checked_sub(sym.value).is_some_and(|at| at < sym.size)
    };
    let name = symbols.filter(holds).map(|sym| sym.name).next();
    name.unwrap_or_else(|| object.section(section).map_or(b"", |s| s.name))
}
