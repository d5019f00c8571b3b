//! Runs of plain objects: drafts become records, in parallel.
//!
//! 1. Groups of objects are drafted ([`super::plain`]); the run ends before the first object that is not plain.
//! 2. Sums of the numbers of drafts give the first section and the first symbol of every group.
//! 3. Sections that are appended to known records get their places, in link order.
//! 4. In parallel, each group: numbers become those of the output, places of its objects' sections and symbols are written.
//! 5. In parallel, each record: symbols, then sections, then the functions that the run defines.

use super::Merger;
use super::drafts::{Group, SectionDraft, SymbolDraft, TextDraft, What};
use super::functions::{define_symbol, info_record, kernel_info_name, set_body, set_header_facts, text_record};
use super::sections::{append_piece, parameters_record};
use crate::ids::{FunctionId, Id, SectionId, SymbolId, SymbolRef};
use crate::names::Name;
use crate::object::{ObjSection, Object};
use crate::records::*;
use cubin::consts::*;
use rayon::prelude::*;
use std::ops::Range;

/// Objects that are drafted together.
const GROUP: usize = 16;
/// Objects of a first run: the rest is drafted when all of them are plain.
const TRIAL: usize = if cfg!(debug_assertions) { 2 } else { 64 };

/// Where the next run starts, and how long it may be.
#[derive(Debug)]
pub(super) struct Runs {
    next: usize,
    limit: usize,
    /// Objects to merge one by one after a run that ended early.
    pause: usize,
}

impl Runs {
    /// The first object makes records that the others find.
    pub(super) fn new(is_possible: bool) -> Self {
        Runs {
            next: if is_possible { 1 } else { usize::MAX },
            limit: TRIAL,
            pause: 1,
        }
    }

    /// The objects, from `position` on, to try.
    pub(super) fn candidates(&self, position: usize, count: usize) -> Range<usize> {
        let end = if position < self.next {
            position
        } else {
            count.min(position.saturating_add(self.limit))
        };
        position..end
    }

    /// So many of the objects that were tried are merged.
    pub(super) fn done(&mut self, tried: &Range<usize>, merged: usize) {
        if merged == tried.len() {
            self.limit = usize::MAX;
            return;
        }
        // Drafts that are not used cost time: the pauses between short runs grow.
        self.pause = if merged < TRIAL { self.pause.saturating_mul(2) } else { 1 };
        self.next = tried.start.saturating_add(merged).saturating_add(self.pause);
        self.limit = TRIAL;
    }
}

/// First number and range of numbers of what the groups have.
struct Starts(Vec<usize>);

impl Starts {
    fn new(groups: &[Group], count: impl Fn(&Group) -> usize) -> Self {
        let sums = groups.iter().scan(0, |sum, group| {
            let start = *sum;
            *sum += count(group);
            Some(start)
        });
        Starts(sums.collect())
    }

    /// The group that item `i` is in, and its position there.
    fn locate(&self, i: usize) -> (usize, usize) {
        let group = self.0.partition_point(|&start| start <= i).saturating_sub(1);
        (group, i - self.0.get(group).copied().unwrap_or(0))
    }
}

fn moved<I: Id>(id: I, base: usize) -> I {
    I::from_index(id.index() + base)
}

impl<'d> Merger<'_, 'd, '_, '_> {
    /// Merges the objects of a range up to the first one that is not plain, and returns how many.
    pub(super) fn plain_run(&mut self, range: Range<usize>) -> usize {
        let objects = self.inputs.objects.as_slice().get(range).unwrap_or_default();
        let Some(first) = objects.first().map(|o| o.symbol_ref(0)) else {
            return 0;
        };
        self.add_names_of_runs();
        let this = &*self;
        let mut groups: Vec<Group> = objects.par_chunks(GROUP).map(|objects| this.group(objects, first)).collect();
        let complete = groups.iter().take_while(|g| g.count == GROUP).count();
        groups.truncate(complete + 1);
        let count = groups.iter().map(|g| g.count).sum();
        if let Some(merged) = objects.get(..count).filter(|m| !m.is_empty()) {
            self.fill(merged, groups);
        }
        count
    }

    fn group(&self, objects: &[Object<'d>], first: SymbolRef) -> Group {
        let mut group = Group::default();
        // Most objects end the loop after the last one.
        let _ = objects.iter().all(|object| self.draft(object, first, &mut group));
        group
    }

    /// The tables by name that an object which is merged alone looks into.
    pub(super) fn add_names_of_runs(&mut self) {
        for range in std::mem::take(&mut self.runs_without_names) {
            for id in range.map(SectionId::from_index) {
                let record = &self.records.sections[id];
                match record.class {
                    Class::KernelShared => self.kernel_shared.insert(record.name.rest, id),
                    Class::Parameters => self.parameters.insert(record.name.rest, id),
                    _ => None,
                };
            }
        }
    }

    fn fill(&mut self, objects: &[Object<'d>], mut groups: Vec<Group>) {
        let (first_section, first_symbol) = (self.records.sections.len(), self.records.symbols.len());
        let sections = Starts::new(&groups, |g| g.sections.len());
        let symbols = Starts::new(&groups, |g| g.symbols.len());
        for append in groups.iter_mut().flat_map(|g| &mut g.appended) {
            let record = &mut self.records.sections[append.target];
            append.piece.base = append_piece(record, append.piece, append.size, append.align);
        }
        self.place_groups(objects, &mut groups, (&sections, first_section), (&symbols, first_symbol));
        self.extend_lists(&groups);
        let run = Run {
            objects: objects.first().map_or(0, |o| o.id.index())..objects.last().map_or(0, |o| o.id.index() + 1),
            first_section,
            dead: Starts::new(&groups, |g| g.dead as usize),
            groups,
            sections,
        };
        self.fill_symbols(&run, &symbols);
        self.fill_sections(&run);
        self.fill_functions(&run);
        self.records.quirks.dead_section_count += run.groups.iter().map(|g| g.dead).sum::<u32>();
        #[cfg(test)]
        {
            self.records.in_runs += objects.len();
        }
        self.runs_without_names.push(first_section..self.records.sections.len());
    }

    /// Writes the places of the objects' sections and symbols, and moves the numbers of the lists of each group.
    fn place_groups(
        &mut self,
        objects: &[Object<'d>],
        groups: &mut [Group],
        (sections, first_section): (&Starts, usize),
        (symbols, first_symbol): (&Starts, usize),
    ) {
        let placement = &mut self.records.placement;
        let heads = || objects.chunks(GROUP).filter_map(<[_]>::first);
        let places = placement.sections.split_mut(heads().map(|o| o.section_ref(0)));
        let names = placement.symbols.split_mut(heads().map(|o| o.symbol_ref(0)));
        let starts = sections.0.iter().zip(&symbols.0);
        let work: Vec<_> = groups.iter_mut().zip(starts).zip(places.into_iter().zip(names)).collect();
        work.into_par_iter()
            .for_each(|((group, (section, symbol)), (mut places, mut names))| {
                let (section, symbol) = (first_section + section, first_symbol + symbol);
                for (place, id) in &group.placed {
                    places.set(*place, Some((moved(*id, section), 0)));
                }
                for append in &group.appended {
                    places.set(append.place, Some((append.target, append.piece.base)));
                }
                for (reference, id) in &group.variables {
                    names.set(*reference, Place::Symbol(*id));
                }
                for entry in &mut group.locals {
                    *entry = match *entry {
                        SymbolTableEntry::Section(id) => SymbolTableEntry::Section(moved(id, section)),
                        SymbolTableEntry::Symbol(id) => SymbolTableEntry::Symbol(moved(id, symbol)),
                    };
                }
                group.globals.iter_mut().for_each(|id| *id = moved(*id, symbol));
                group.memory.iter_mut().for_each(|id| *id = moved(*id, section));
                for draft in &mut group.relocs {
                    match draft.append.and_then(|n| group.appended.get(n as usize)) {
                        Some(append) => draft.reloc.base = append.piece.base,
                        None => draft.reloc.target = moved(draft.reloc.target, section),
                    }
                }
            });
    }

    /// Appends the lists of the groups.
    fn extend_lists(&mut self, groups: &[Group]) {
        let records = &mut self.records;
        let relocs = || {
            let drafts = groups.iter().flat_map(|group| &group.relocs);
            records.relocs.extend(drafts.map(|draft| draft.reloc));
        };
        let others = || {
            for group in groups {
                records.order.globals.extend_from_slice(&group.globals);
                records.texts.extend_from_slice(&group.texts);
                records.memory.extend_from_slice(&group.memory);
            }
        };
        let locals = || {
            groups
                .iter()
                .for_each(|group| records.order.locals.extend_from_slice(&group.locals))
        };
        rayon::join(locals, || rayon::join(relocs, others));
    }

    fn fill_symbols(&mut self, run: &Run, starts: &Starts) {
        let known = run.groups.iter().zip(&run.sections.0);
        for id in known.flat_map(|(group, &start)| group.known.iter().map(move |&id| moved(id, start))) {
            let Some((draft, text)) = run.text(id) else { continue };
            let Some(symbol) = self.records.symbol_of[text.function] else {
                continue;
            };
            let sym = self.inputs.objects[draft.object].symbol(text.symbol);
            let record = &mut self.records.symbols[symbol];
            define_symbol(self.mode, record, &sym, true);
            record.section = Some(SectionId::from_index(run.first_section + id.index()));
        }
        let count = run.groups.iter().map(|g| g.symbols.len()).sum();
        let mut symbols = std::mem::take(&mut self.records.symbols);
        let first = symbols.len();
        let this = &*self;
        symbols.extend_parallel(count, |i| {
            let (group, at) = starts.locate(i);
            this.function_symbol_of(&run.groups[group].symbols[at], run)
        });
        self.records.symbols = symbols;
        let drafts = || (first..).map(SymbolId::from_index).zip(run.groups.iter().flat_map(|g| &g.symbols));
        let (symbol_of, by_name) = (&mut self.records.symbol_of, &mut self.by_name);
        rayon::join(
            || drafts().for_each(|(id, draft)| symbol_of[draft.function] = Some(id)),
            || drafts().for_each(|(id, draft)| draft.name.into_iter().for_each(|name| by_name[name] = Some(id))),
        );
    }

    /// The symbol of a function as it is after the run.
    fn function_symbol_of(&self, draft: &SymbolDraft, run: &Run) -> OutSymbol<'d> {
        let object = &self.inputs.objects[draft.object];
        let sym = object.symbol(draft.index);
        let is_undefined = sym.defined_in().is_none();
        let mut new = match is_undefined {
            true => self.undefined_function(object, &sym),
            false => self.new_symbol(object, &sym, sym.bind, STT_FUNC),
        };
        new.function = Some(draft.function);
        let winner = self.resolved.functions[draft.function].winner;
        if let Some(winner) = winner.filter(|w| run.objects.contains(&w.object.index())) {
            let object = &self.inputs.objects[winner.object];
            define_symbol(self.mode, &mut new, &object.symbol(winner.symbol), is_undefined);
            new.section = self.records.placement.sections[object.section_ref(winner.section)].map(|p| p.0);
        }
        new
    }

    fn fill_sections(&mut self, run: &Run) {
        let count = run.groups.iter().map(|g| g.sections.len()).sum();
        let mut sections = std::mem::take(&mut self.records.sections);
        let this = &*self;
        sections.extend_parallel(count, |i| {
            let (group, at) = run.sections.locate(i);
            let base = run.first_section + i - at;
            let draft = &run.groups[group].sections[at];
            let dead = run.dead.0[group] as u32 + draft.dead;
            let number = this.records.section_number(this.mode, true, run.first_section + i) + dead;
            this.section_of_draft(draft, base, number)
        });
        self.records.sections = sections;
    }

    /// The record of a draft; `base` is the number of the group's first one.
    fn section_of_draft(&self, draft: &SectionDraft, base: usize, number: u32) -> OutSection<'d> {
        let object = &self.inputs.objects[draft.object];
        let at = |id: SectionId| moved(id, base);
        let name = |symbol: u32| object.symbol(symbol).name;
        let record = |new: NewSection<'d>| OutSection::new(new, number);
        let section = |index: u32| object.section(index).unwrap_or(&ObjSection::NULL);
        match draft.what {
            What::Text(text) => {
                let s = section(text.section);
                let mut new = record(text_record(text.function, name(text.symbol), s));
                let piece = Piece {
                    object: draft.object,
                    section: text.section,
                    base: 0,
                };
                set_body(self.mode, &mut new, s, piece);
                let [rel, rela] = text.companions;
                new.companions = [rel.map(at), rela.map(at), None];
                new.first_companion = text.first_companion;
                new
            }
            What::KernelInfo { symbol, function, text } => {
                let mut new = record(info_record(function, kernel_info_name(name(symbol))));
                new.owner = Some(at(text));
                new
            }
            What::Info {
                section: s,
                function,
                text,
            } => {
                let mut new = record(info_record(function, Name::plain(section(s).name)));
                new.owner = Some(at(text));
                new
            }
            What::Shared { symbol, text } => {
                let mut new = record(kernel_shared_record(name(symbol)));
                new.owner = Some(at(text));
                new
            }
            What::Parameters {
                section: index,
                slots,
                text,
            } => {
                let mut new = record(parameters_record(section(index)));
                (new.owner, new.slot_relocs) = (Some(at(text)), Some(at(slots)));
                let piece = Piece {
                    object: draft.object,
                    section: index,
                    base: 0,
                };
                append_piece(&mut new, piece, section(index).size, section(index).align.get());
                new
            }
            What::Slots { section: index, bank } => {
                let mut new = record(reloc_record(Name::plain(section(index).name), at(bank), RelocForm::Rel));
                new.flags = 0;
                new
            }
            What::Relocs { symbol, text, form } => record(reloc_record(Name::new(b".text.", name(symbol)), at(text), form)),
        }
    }

    /// What the functions that the run defines have.
    fn fill_functions(&mut self, run: &Run) {
        let mut functions = std::mem::take(&mut self.records.functions);
        let this = &*self;
        let count: usize = run.groups.iter().map(|g| g.texts.len()).sum();
        // Passing over all functions for a few would not be linear.
        if count.saturating_mul(4) >= functions.len() {
            functions.for_each_parallel(|f, function| {
                let winner = this.resolved.functions[f].winner;
                if let Some(winner) = winner.filter(|w| run.objects.contains(&w.object.index())) {
                    let object = &this.inputs.objects[winner.object];
                    let place = this.records.placement.sections[object.section_ref(winner.section)];
                    this.define_function(run, place.map(|p| p.0), f, function);
                }
            });
        } else {
            for &f in run.groups.iter().flat_map(|g| &g.texts) {
                let winner = this.resolved.functions[f].winner;
                let place = winner.and_then(|w| this.records.placement.sections[this.inputs.objects[w.object].section_ref(w.section)]);
                this.define_function(run, place.map(|p| p.0), f, &mut functions[f]);
            }
        }
        self.records.functions = functions;
    }

    fn define_function(&self, run: &Run, text: Option<SectionId>, f: FunctionId, function: &mut OutFunction) {
        let Some(place) = text.and_then(|id| id.index().checked_sub(run.first_section)) else {
            return;
        };
        let (group, at) = run.sections.locate(place);
        let base = run.first_section + place - at;
        let Some(SectionDraft {
            object,
            what: What::Text(draft),
            ..
        }) = run.groups.get(group).and_then(|g| g.sections.get(at))
        else {
            return;
        };
        if draft.function != f {
            return;
        }
        let object = &self.inputs.objects[*object];
        let Some(section) = object.section(draft.section) else { return };
        function.text = text;
        function.info = draft.info.map(|id| moved(id, base));
        function.shared = draft.shared.map(|id| moved(id, base));
        function.parameters = draft.parameters.map(|id| moved(id, base));
        function.bind = object.symbol(draft.symbol).bind;
        function.relocated = Some(section.relocated);
        set_header_facts(function, section);
    }
}

/// A run of plain objects.
struct Run {
    objects: Range<usize>,
    first_section: usize,
    groups: Vec<Group>,
    sections: Starts,
    /// Records of dead functions.
    dead: Starts,
}

impl Run {
    /// The draft of a text, by its number in the run.
    fn text(&self, id: SectionId) -> Option<(&SectionDraft, &TextDraft)> {
        let (group, at) = self.sections.locate(id.index());
        let draft = self.groups.get(group)?.sections.get(at)?;
        match &draft.what {
            What::Text(text) => Some((draft, text)),
            _ => None,
        }
    }
}
