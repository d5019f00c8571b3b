//! Searching the inputs: who defines a symbol, and who refers to it.

use crate::ids::{FunctionId, ObjectId, SharedId, SymbolId, Table};
use crate::layout::Layout;
use crate::object::{NO_OWNER, Object, RelocSection, Role};
use crate::records::Place;
use crate::resolve::Fate;
use crate::session::Link;

/// The object whose definition each symbol of the output has.
pub(super) type Definers = Table<SymbolId, Option<ObjectId>>;

/// Finds the definitions in force.
pub(super) fn definers(context: Link<'_, '_>, layout: &Layout<'_>) -> Definers {
    let m = &layout.records;
    let mut by = Table::filled(m.symbols.len(), None);
    for object in context.inputs.objects.iter() {
        for index in 1..object.symbol_count() {
            let y = object.symbol_ref(index);
            let Place::Symbol(id) = m.symbol_placement[y] else { continue };
            // A strong definition comes after the weak one that it replaces.
            if object.symbol(index).defined_in().is_some() && m.overridden.binary_search(&y).is_err() {
                by[id] = Some(object.id);
            }
        }
    }
    for (id, y) in m.symbols.enumerate() {
        match y.function.and_then(|f| context.resolved.functions[f].winner) {
            Some(winner) => by[id] = Some(winner.object),
            // Storage of a common symbol: the file that asks for most.
            None if y.section.is_some() && by[id].is_none() => by[id] = Some(y.first_mention),
            None => {}
        }
    }
    by
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceTarget {
    /// A function.
    Function(FunctionId),
    /// A variable.
    Variable(SymbolId),
    /// A variable in shared memory.
    Shared(SharedId),
}

/// Someone who refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Referrer<'d> {
    /// Code of a function that stays.
    Code(FunctionId),
    /// Initial value of a variable; its name, and the input.
    Data(&'d [u8], &'d str),
}

/// All who refer to something: relocations of code that stays and of data, in link order.
pub(super) fn referrers<'a, 'd>(context: Link<'a, 'd>, layout: &'a Layout<'d>, sought: ReferenceTarget) -> Vec<Referrer<'d>> {
    let mut found = Vec::new();
    for object in context.inputs.objects.iter() {
        for relocs in &object.relocs {
            let from = match object.section(relocs.target).map(|s| (s.role, s.owner)) {
                Some((Role::Text | Role::Stub, owner)) if owner != NO_OWNER => living(context, object, owner),
                Some((Role::GlobalInit | Role::Constant | Role::UnifiedData, _)) => None,
                _ => continue,
            };
            let is_code = matches!(object.section(relocs.target).map(|s| s.role), Some(Role::Text | Role::Stub));
            if is_code && from.is_none() {
                continue;
            }
            let Some(offset) = first_mention(context, layout, object, relocs, sought) else {
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

/// The function that a symbol defines, if that definition is in force and stays.
fn living(context: Link<'_, '_>, object: &Object<'_>, symbol: u32) -> Option<FunctionId> {
    let y = object.symbol_ref(symbol);
    let f = context.resolved.function(y)?;
    (context.resolved.fate(y) == Fate::Winner && context.live.alive[f]).then_some(f)
}

/// Offset of the first relocation against something.
fn first_mention(
    context: Link<'_, '_>,
    layout: &Layout<'_>,
    object: &Object<'_>,
    relocs: &RelocSection<'_>,
    sought: ReferenceTarget,
) -> Option<u64> {
    let is_it = |symbol: u32| {
        if symbol >= object.symbol_count() {
            return false;
        }
        let y = object.symbol_ref(symbol);
        match sought {
            ReferenceTarget::Function(f) => context.resolved.function(y) == Some(f),
            ReferenceTarget::Variable(id) => layout.records.symbol_placement[y] == Place::Symbol(id),
            ReferenceTarget::Shared(id) => layout.records.symbol_placement[y] == Place::Shared(id),
        }
    };
    let entries = (0..relocs.entries.len()).filter_map(|i| relocs.entries.get(i));
    entries.filter(|e| is_it(e.r_sym.get())).map(|e| e.r_offset.get()).next()
}

/// The variable that holds a place of a section, or the section.
fn variable_at<'d>(object: &Object<'d>, section: u32, offset: u64) -> &'d [u8] {
    let symbols = (1..object.symbol_count()).map(|i| object.symbol(i));
    let holds = |y: &crate::object::ObjSymbol<'_>| {
        y.defined_in() == Some(section) && y.size != 0 && offset.checked_sub(y.value).is_some_and(|at| at < y.size)
    };
    let name = symbols.filter(holds).map(|y| y.name).next();
    name.unwrap_or_else(|| object.section(section).map_or(b"", |s| s.name))
}
