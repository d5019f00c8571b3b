//! Functions inside of copies of a kernel that lost (`-ewp`): their symbols stay.
//!
//! 1. Such a symbol is where the prevailing code has the instruction at its Mercury offset; it is nowhere, at 0, if none starts there.
//! 2. nvlink quirk: that place is a label of the prevailing code, where the function before it ends. (It also schedules the code again as if a block started
//!    there, which culd does not.)
//! 3. nvlink quirk: a symbol at a place that has one already has the size of its Mercury code; the first one there goes up to the next place.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::offsets::mercury_places;
use crate::finalize::code::sources::Sources;
use crate::ids::{SectionId, SymbolId};
use crate::names::SeededState;
use crate::records::SymbolTableEntry;
use cubin::consts::STT_FUNC;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The symbols of one kernel.
#[derive(Default)]
pub(crate) struct Inner {
    /// Place in the input of the prevailing code.
    places: HashMap<SymbolId, u64, SeededState>,
    /// The first symbol at every place.
    labels: BTreeMap<u64, SymbolId>,
}

impl Inner {
    /// Place of a function inside, in the input of the prevailing code.
    pub(crate) fn place(&self, id: SymbolId) -> Option<u64> {
        self.places.get(&id).copied()
    }

    /// Place and size of a function inside, in the output.
    pub(crate) fn symbol(&self, function: &Function, id: SymbolId, mercury_size: u64) -> (u64, u64) {
        let Some(place) = self.place(id) else { return (0, mercury_size) };
        let start = function.place(place);
        let size = if self.labels.get(&place) == Some(&id) {
            self.end(function, place).saturating_sub(start)
        } else {
            mercury_size
        };
        (start, size)
    }

    /// Where the function that starts at a place of the input ends in the output.
    pub(crate) fn end(&self, function: &Function, place: u64) -> u64 {
        let next = self.labels.range(place.saturating_add(1)..).next();
        next.map_or(function.code.len() as u64, |(&next, _)| function.place(next))
    }
}

/// Kernels of which a copy with functions inside lost.
#[derive(Default)]
pub(crate) struct Copies(HashMap<SectionId, Inner, SeededState>);

impl Copies {
    /// Looks at all symbols, where some object has functions inside of kernels.
    pub(crate) fn new(output: &OutputPlan<'_, '_>, sources: &Sources<'_, '_>) -> Self {
        let mut copies = Copies::default();
        let objects = &output.link.inputs.objects;
        if !objects.iter().any(|o| o.has_inner_functions) {
            return copies;
        }
        let records = &output.layout.records;
        let mut lost: HashMap<SectionId, Option<BTreeMap<u64, u64>>, SeededState> = HashMap::default();
        for &named in &output.arranged.symbols {
            let SymbolTableEntry::Symbol(id) = named else { continue };
            let sym = &records.symbols[id];
            let (STT_FUNC, Some(text), Some(f)) = (sym.kind, sym.section, sym.function) else {
                continue;
            };
            let winner = output.link.resolved.functions[f].winner;
            let Some(winner) = winner.filter(|w| objects[w.object].outer(w.symbol).is_some()) else {
                continue;
            };
            let Some(taken) = records.sections[text].pieces.as_slice().first() else {
                continue;
            };
            let object = &objects[taken.object];
            let place = if taken.object != winner.object {
                let places = lost.entry(text).or_insert_with(|| mercury_places(object, taken.section));
                // The end is no place.
                let inside = object.section(taken.section).is_some_and(|s| sym.value < s.size);
                places.as_ref().and_then(|p| p.get(&sym.value)).copied().filter(|_| inside)
            } else {
                let input = sources.of(winner.object).inner_symbol(winner.symbol);
                input.map(|s| s.st_value.get())
            };
            let Some(place) = place else { continue };
            let inner = copies.0.entry(text).or_default();
            inner.places.insert(id, place);
            inner.labels.entry(place).or_insert(id);
        }
        copies.0.retain(|text, _| lost.contains_key(text));
        copies
    }

    /// The functions inside of a kernel, if a copy of it lost.
    pub(crate) fn of(&self, text: SectionId) -> Option<&Inner> {
        self.0.get(&text)
    }
}
