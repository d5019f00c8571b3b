//! Registers of variables: `.nv_debug_info_reg_sass` of the SASS view.
//!
//! A list belongs to a function by name: name, count, {word, variable, register, start, end}.
//!
//! 1. The lists of the inputs one after the other.
//! 2. The first list of a name is that of the first function of the output with this name; ranges in further ones and of dead functions are
//!    cleared. nvlink quirk: it is the first one although the code may come from another input (a replaced copy, static functions of one name).
//! 3. Ranges of the function's own list move with its code; one that starts at a deleted instruction, or at one before a deleted pause of an
//!    older compiler, starts at the last one before it that stays.
//! 4. Ranges of a list for other code are translated from the Mercury list: places where no Mercury instruction of the code starts
//!    become 0. Both lists have the same records; the SASS list has them by register and start. Of a Mercury instruction whose SASS ends with
//!    `ENDCOLLECTIVE`, the last place is that of the instruction before it.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::{Function, opcode_at};
use crate::finalize::code::functions::Functions;
use crate::finalize::code::offsets::{INSTRUCTION, mercury_places};
use crate::finalize::code::sources::{function_name, inputs};
use crate::finalize::register_lists::List;
use crate::finalize::register_lists::NAME;
use crate::finalize::register_lists::lists;
use crate::names::SeededState;
use crate::object::Object;
use culd_sass::decode::opcode::{END_COLLECTIVE, NOP};
use hashbrown::{HashMap, HashSet};

/// The bytes of the section.
pub(crate) fn ranges(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>) -> Vec<u8> {
    let mut functions: HashMap<&[u8], &Function, SeededState> = HashMap::default();
    for function in code.order.iter().filter_map(|&id| code.of(id)) {
        functions.entry(function_name(output, function.function)).or_insert(function);
    }
    let mut out = Vec::new();
    let mut seen: HashSet<Vec<u8>, SeededState> = HashSet::default();
    for (object, data) in inputs(output, NAME) {
        let start = out.len();
        out.extend_from_slice(data);
        for list in lists(data) {
            let function = functions.get(list.name).filter(|_| seen.insert(list.name.to_vec()));
            let places = function.map_or_else(|| vec![(0, 0); list.records.len()], |f| list.placed(output, object, f));
            for (record, (first, last)) in list.records.iter().zip(places) {
                for (at, value) in [(record.range, first), (record.range + 4, last)] {
                    if let Some(word) = out.get_mut(start + at..).and_then(|b| b.first_chunk_mut::<4>()) {
                        *word = (value as u32).to_le_bytes();
                    }
                }
            }
        }
    }
    out
}

impl List<'_> {
    /// The new ranges of the records.
    fn placed(&self, output: &OutputPlan<'_, '_>, object: &Object<'_>, function: &Function) -> Vec<(u64, u64)> {
        if function.object == object.id {
            let place = |offset| function.place_instruction(offset);
            // A range starts with the instruction before the first one that has the value; a deleted one makes way for the one before.
            // An older compiler counts the pause after a `WARPSYNC`, which is deleted, as part of what follows.
            let is_older = object.toolkit < output.link.mode.rules.finalizer;
            let start = |offset: u64| match function.is_deleted(offset) || is_older && function.is_deleted(offset + INSTRUCTION) {
                true => place(offset).saturating_sub(INSTRUCTION),
                false => place(offset),
            };
            return self.records.iter().map(|r| (start(r.start), place(r.end))).collect();
        }
        self.translated(output, object, function)
            .unwrap_or_else(|| vec![(0, 0); self.records.len()])
    }

    fn translated(&self, output: &OutputPlan<'_, '_>, object: &Object<'_>, function: &Function) -> Option<Vec<(u64, u64)>> {
        let mercury = object.sections.iter().find(|s| s.name == NAME)?.data;
        let mut twins = lists(mercury).into_iter().find(|l| l.name == self.name)?.records;
        if twins.len() != self.records.len() {
            return None;
        }
        twins.sort_by_key(|r| (r.register, r.start));
        let input = output.link.inputs.objects.get(function.object)?;
        let places = mercury_places(input, function.section)?;
        let sass = input.sass.get(function.section as usize)?.data;
        // A range ends with the last of the SASS instructions of a Mercury instruction, and starts one before the first of the next that is not a delay.
        let next = |at: u64| places.range(at + 1..).next();
        let last = |at: u64| {
            let last = next(at)?.1.checked_sub(INSTRUCTION)?;
            let ends_collective = opcode_at(sass, last)? == END_COLLECTIVE && last > *places.get(&at)?;
            last.checked_sub(if ends_collective { INSTRUCTION } else { 0 })
        };
        let place = |sass: Option<u64>| sass.map_or(0, |sass| function.place_instruction(sass));
        let known = |at: u64| places.contains_key(&at).then_some(at);
        let start = |at: u64| {
            let (next_at, first) = next(known(at)?)?;
            let end = next(*next_at).map_or(first + INSTRUCTION, |n| *n.1);
            let main = (*first..end)
                .step_by(INSTRUCTION as usize)
                .find(|at| opcode_at(sass, *at) != Some(NOP));
            Some(main.unwrap_or(*first))
        };
        let end = |at: u64| last(known(at)?);
        // Observed: the instruction before is that of the new code, a fence before an `EXIT` for example.
        let before = |place: u64| place.saturating_sub(INSTRUCTION);
        Some(twins.iter().map(|r| (before(place(start(r.start))), place(end(r.end)))).collect())
    }
}
