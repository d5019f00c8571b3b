//! How many relocations are kept and listed, so that sections get their sizes before any byte is written.

use super::{RelocAction, RelocResolver, SymbolTarget};
use crate::ids::{FunctionId, ObjectId, SectionId, Table};
use crate::layout::{Layout, NOT_FOUND};
use crate::object::{Object, RelocSection};
use crate::records::{Class, RelocRef};
use crate::session::Link;

const PAST_END: &str = "relocation is past end of offset";

/// Counts of the kept and listed relocations of one input section.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RefPlan {
    /// Kept entries.
    pub(crate) kept: u32,
    /// Entries listed by `--preserve-relocs`.
    pub(crate) listed: u32,
    /// Something is patched or cleared.
    pub(crate) patches: bool,
    /// Entries come with addends.
    pub(crate) with_addends: bool,
    /// The relocation section that receives the kept entries.
    pub(crate) destination: Option<SectionId>,
}

/// Sizes of the relocation sections.
#[derive(Debug)]
pub struct RelocPlan {
    /// Per reference of [`crate::records::Merged::relocs`].
    pub(crate) refs: Vec<RefPlan>,
    /// Per section: entries it will have.
    pub(crate) counts: Table<SectionId, u32>,
    /// Reason why nvlink fails when it writes the file.
    pub(crate) failure: Option<&'static str>,
    /// Reason why it fails before it prints what the kernels use.
    pub(crate) early_failure: Option<&'static str>,
    /// Uses of functions that were removed: the object, the section of the output, and the function.
    pub(crate) removed: Vec<(ObjectId, SectionId, FunctionId)>,
    meanings: Table<ObjectId, Vec<SymbolTarget>>,
}

impl RelocPlan {
    /// Target of every symbol of an object that has relocations.
    pub(crate) fn meanings(&self, object: ObjectId) -> &[SymbolTarget] {
        &self.meanings[object]
    }
}

/// References of one object that are counted together.
const PART: usize = 512;

/// Counts what is kept and listed.
pub fn plan(link: Link<'_, '_>, layout: &Layout<'_>) -> RelocPlan {
    let resolver = RelocResolver::new(link, layout);
    let runs: Vec<&[RelocRef]> = layout.records.relocs.chunk_by(|a, b| a.object == b.object).collect();
    let planned = link.threads.map(&runs, |run| {
        let Some(first) = run.first() else {
            return (Vec::new(), Problems::default(), Vec::new());
        };
        let object = &link.inputs.objects[first.object];
        let meanings = resolver.meanings(object);
        let parts: Vec<&[RelocRef]> = run.chunks(PART).collect();
        let planned = link.threads.map(&parts, |part| {
            let mut problems = Problems::default();
            let one = |r| plan_one(&resolver, object, r, &meanings, &mut problems);
            let refs: Vec<RefPlan> = part.iter().map(one).collect();
            (refs, problems)
        });
        let mut planned = planned.into_iter();
        let (mut refs, mut problems) = planned.next().unwrap_or_default();
        for (more, others) in planned {
            refs.extend(more);
            problems.failure = problems.failure.or(others.failure);
            problems.early_failure = problems.early_failure.or(others.early_failure);
            others.removed.into_iter().for_each(|removed| problems.note(removed));
        }
        (refs, problems, meanings)
    });
    let mut plan = RelocPlan {
        refs: Vec::with_capacity(layout.records.relocs.len()),
        counts: Table::filled(layout.records.sections.len(), 0),
        failure: None,
        early_failure: None,
        removed: Vec::new(),
        meanings: Table::filled(link.inputs.objects.len(), Vec::new()),
    };
    for (run, part) in runs.iter().zip(planned) {
        let (refs, problems, meanings) = part;
        plan.failure = plan.failure.or(problems.failure);
        plan.early_failure = plan.early_failure.or(problems.early_failure);
        plan.removed.extend(problems.removed);
        plan.refs.extend(refs);
        if let Some(first) = run.first() {
            plan.meanings[first.object] = meanings;
        }
    }
    for (r, part) in layout.records.relocs.iter().zip(&plan.refs) {
        if let Some(id) = part.destination {
            plan.counts[id] += part.kept;
        }
        if part.listed > 0
            && let Some(id) = layout.records.sections[r.target].companions[2]
        {
            plan.counts[id] += part.listed;
        }
    }
    for r in &layout.literal_relocs {
        if let Some(id) = layout.records.sections[r.bank].companions[1] {
            plan.counts[id] += 1;
        }
        if r.offset >= layout.records.sections[r.bank].size {
            plan.early_failure = Some(PAST_END);
        }
    }
    for &(k, left_out) in &layout.textures.kernels {
        let bank = layout.records.functions[k].parameters;
        if let Some(id) = bank.and_then(|id| layout.records.sections[id].slot_relocs) {
            plan.counts[id] = layout
                .textures
                .slots_of(&layout.records, (layout.records.functions[k].text, left_out))
                .count() as u32;
        }
    }
    plan
}

/// Reason why the link fails.
#[derive(Debug, Default)]
struct Problems {
    failure: Option<&'static str>,
    early_failure: Option<&'static str>,
    removed: Vec<(ObjectId, SectionId, FunctionId)>,
}

impl Problems {
    /// Notes a use of a function that was removed, unless it was the last one noted.
    fn note(&mut self, removed: (ObjectId, SectionId, FunctionId)) {
        if self.removed.last() != Some(&removed) {
            self.removed.push(removed);
        }
    }
}

fn plan_one<'d>(
    resolver: &RelocResolver<'_, 'd>,
    object: &Object<'d>,
    r: &RelocRef,
    meanings: &[SymbolTarget],
    problems: &mut Problems,
) -> RefPlan {
    let layout = resolver.layout;
    let record = &layout.records.sections[r.target];
    let is_rela = object.relocs.get(r.index as usize).is_some_and(RelocSection::is_rela);
    let with_addends = is_rela || resolver.link.mode.force_rela;
    let mut plan = RefPlan {
        with_addends,
        destination: record.companions[usize::from(with_addends)],
        ..RefPlan::default()
    };
    let units = layout
        .constant_units
        .as_ref()
        .filter(|_| matches!(record.class, Class::Constant(3)));
    let mode = &resolver.link.mode;
    let past_code = match mode.preserve && mode.rules.looks_up_preserved && object.has_mercury() {
        true => NOT_FOUND,
        false => PAST_END,
    };
    let code_end = matches!(record.class, Class::Text(_)).then_some(record.size);
    resolver.for_each(object, r, meanings, |e, decision| match decision {
        RelocAction::Drop => {}
        RelocAction::Removed(f) => {
            problems.note((object.id, r.target, f));
        }
        _ if code_end.is_some_and(|end| e.offset >= end) => {
            problems.failure.get_or_insert(past_code);
        }
        RelocAction::Clear(_) => plan.patches = true,
        RelocAction::Keep(..) => {
            if e.offset >= record.size {
                match record.class {
                    // without any table left the section is not written
                    Class::Literals if record.size > 0 => _ = problems.early_failure.get_or_insert(PAST_END),
                    Class::Literals => {}
                    _ if units.is_some() => _ = problems.failure.get_or_insert(PAST_END),
                    _ => {}
                }
            }
            plan.kept += 1;
        }
        RelocAction::KeepSection(..) => plan.kept += 1,
        RelocAction::Patch(_, _, _, named) => {
            if units.is_some_and(|u| !is_in(u, e.offset)) {
                problems.failure.get_or_insert(NOT_FOUND);
            }
            plan.patches = true;
            plan.listed += u32::from(named.is_some());
        }
        RelocAction::Fail(what) => {
            problems.failure.get_or_insert(what);
        }
    });
    plan
}

/// Is an offset in one of the units, which are in order?
fn is_in(units: &[(u64, u64)], offset: u64) -> bool {
    let before = units.get(..units.partition_point(|u| u.0 <= offset)).unwrap_or_default();
    before.last().is_some_and(|&(base, size)| offset - base < size)
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn an_offset_belongs_to_the_unit_that_contains_it() {
        let units = [(0, 4), (8, 8), (32, 4)];
        let inside = |offset: u64| is_in(&units, offset);
        assert!([0, 3, 8, 15, 32, 35].into_iter().all(inside));
        assert!(![4, 7, 16, 31, 36, 1 << 40].into_iter().any(inside));
    }
}
