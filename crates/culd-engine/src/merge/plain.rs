//! Drafts of plain objects: those whose records follow from the resolution and from the records before the run of objects that they are part of. A
//! run is drafted in parallel.
//!
//! An object is plain if all of this is true; others are merged one by one.
//! 1. Functions: undefined ones, rejected copies, and definitions that prevail from their arrival to the end. Their names are not those of variables.
//!    Dead ones leave nothing but nvlink's count of their records; kernels among them are not plain.
//! 2. Variables: undefined ones that have a record, which this mention does not change, and the hidden symbols of parameters.
//! 3. Sections: parameter banks of its kernels, attributes of its functions, and sections that are appended to records that exist.
//! 4. Relocations: those of its functions, and those of appended sections whose records of relocations exist.
//!
//! Drafts are in the order in which [`Merger::object`] makes records. Numbers of records count from the first record of the [`Group`].

use super::Merger;
use super::drafts::*;
use super::functions::symbol_is_local;
use super::relocs::{DroppedEntries, is_read};
use crate::ids::{FunctionId, Id as _, SectionId, SymbolId, SymbolRef};
use crate::object::{ObjSection, ObjSymbol, Object, RelocSection, Role, entry};
use crate::records::*;
use crate::resolve::Fate;
use cubin::consts::*;
use cubin::driver::is_driver_function;
use cubin::read::SymbolSection;

impl<'d> Merger<'_, 'd, '_, '_> {
    /// Are there plain objects in a link of this kind? Errors are reported one object after another.
    pub(super) fn has_plain_objects(&self) -> bool {
        let (mode, options) = (&self.mode, self.options);
        let plain_mode = !mode.relocatable && !mode.preserve && !mode.force_rela && !mode.rules.keeps_dead_names && !options.debug;
        let checks = options.api_version.is_some() || options.tools_patch;
        let errors = !self.resolved.function_errors.is_empty() || !self.resolved.prototype_errors.is_empty();
        plain_mode && !checks && !errors && !self.inputs.objects.iter().any(|o| o.is_ewp)
    }

    /// Adds the draft of an object to a group of a run of objects that starts with symbol `first`; false if the object is not plain.
    pub(super) fn draft(&self, object: &Object<'d>, first: SymbolRef, group: &mut Group) -> bool {
        let (before, dead) = (group.lengths(), group.dead);
        group.slots.clear();
        group.slots.resize(object.sections.len(), Slot::Nothing);
        let is_plain = self.is_silent(object)
            && self.draft_functions(object, first, group).is_some()
            && self.draft_variables(object, group).is_some()
            && self.draft_sections(object, group).is_some()
            && self.draft_relocs(object, group).is_some();
        match is_plain {
            true => group.count += 1,
            false => {
                group.truncate(before);
                group.dead = dead;
            }
        }
        is_plain
    }

    /// No message is about the object as a whole, and it has nothing that is handled apart.
    fn is_silent(&self, object: &Object<'d>) -> bool {
        let has_compat = self.records.standard.compat.is_some();
        let makes_compat = self.mode.rules.compat_of_inputs && !has_compat && object.compat.is_some();
        let shares_tensors = object.sass.iter().any(|s| s.sh_type == SHT_CUDA_SHARED_RESERVED);
        let warns = has_compat && object.lacks_isa_class();
        !makes_compat && !shares_tensors && !warns && !object.has_inner_functions && object.note_sections().is_empty()
    }

    fn draft_functions(&self, object: &Object<'d>, first: SymbolRef, group: &mut Group) -> Option<()> {
        for &index in object.function_order() {
            let symbol = object.symbol_ref(index);
            let Some(f) = self.resolved.function(symbol) else { continue };
            if !self.adds_nothing(f, symbol) {
                self.draft_function(object, f, &object.symbol(index), index, first, group)?;
            }
        }
        Some(())
    }

    fn draft_function(
        &self,
        object: &Object<'d>,
        f: FunctionId,
        sym: &ObjSymbol<'d>,
        index: u32,
        first: SymbolRef,
        group: &mut Group,
    ) -> Option<()> {
        if sym.bind != STB_LOCAL
            && (self.known(sym).is_some_and(|id| self.records.symbols[id].function.is_none()) || self.is_shared_name(sym))
        {
            return None;
        }
        let took = self.resolved.took(sym.reference);
        let function = &self.resolved.functions[f];
        let prevails = || self.resolved.fate(sym.reference) == Fate::Winner && function.defined_by == Some(sym.reference);
        if !self.live.alive[f] {
            if took {
                let section = sym.defined_in()?;
                let is_own = object.section(section)?.owner == index;
                if !is_own || !prevails() || sym.other & STO_CUDA_ENTRY != 0 || is_driver_function(sym.name) {
                    return None;
                }
                group.count_dead(section, 0, 0);
            }
            return Some(());
        }
        let has_symbol = self.records.symbol_of[f].is_some();
        if !has_symbol && function.first_symbol < first {
            return None;
        }
        let makes_symbol = !has_symbol && function.first_symbol == sym.reference;
        let Some(section_index) = sym.defined_in() else {
            if makes_symbol {
                let id = self.draft_symbol(object, f, index, sym.reference, group);
                group.globals.push(id);
            }
            return (sym.bind != STB_LOCAL).then_some(());
        };
        let section = object.section(section_index)?;
        if !took {
            return Some(());
        }
        let is_new = prevails() && self.records.functions[f].text.is_none();
        if section.role != Role::Text || section.owner != index || !is_new || is_driver_function(sym.name) {
            return None;
        }
        if makes_symbol {
            let id = self.draft_symbol(object, f, index, sym.reference, group);
            match symbol_is_local(self.mode, sym.bind) {
                true => group.locals.push(SymbolTableEntry::Symbol(id)),
                false => group.globals.push(id),
            }
        }
        let draft = TextDraft {
            symbol: index,
            section: section_index,
            function: f,
            info: None,
            shared: None,
            parameters: None,
            companions: [None; 2],
            first_companion: None,
        };
        let text = group.record(object, What::Text(draft));
        group.texts.push(f);
        group.locals.push(SymbolTableEntry::Section(text));
        group.set_slot(section_index, Slot::Text(text));
        group.placed.push((object.section_ref(section_index), text));
        if has_symbol {
            group.known.push(text);
        }
        if sym.other & STO_CUDA_ENTRY != 0 && self.live.late.binary_search(&f).is_err() {
            // Static kernels of one name share a section.
            if sym.bind == STB_LOCAL || self.kernel_shared.contains_key(sym.name) {
                return None;
            }
            let info = What::KernelInfo {
                symbol: index,
                function: f,
                text,
            };
            let info = group.section(object, info);
            let shared = group.record(object, What::Shared { symbol: index, text });
            group.memory.push(shared);
            group.locals.push(SymbolTableEntry::Section(shared));
            let text = group.text(text)?;
            (text.info, text.shared) = (Some(info), Some(shared));
        }
        Some(())
    }

    fn draft_symbol(&self, object: &Object<'d>, function: FunctionId, index: u32, symbol: SymbolRef, group: &mut Group) -> SymbolId {
        let id = SymbolId::from_index(group.symbols.len());
        group.symbols.push(SymbolDraft {
            object: object.id,
            index,
            function,
            name: self.resolved.name(symbol).filter(|_| !self.resolved.functions[function].local),
        });
        id
    }

    fn is_shared_name(&self, sym: &ObjSymbol<'d>) -> bool {
        !self.shared_by_name.is_empty() && self.shared_by_name.contains_key(sym.name)
    }

    fn draft_variables(&self, object: &Object<'d>, group: &mut Group) -> Option<()> {
        for &index in object.variables() {
            let sym = object.symbol(index);
            if sym.is_texture() || sym.is_shared() {
                return None;
            }
            if let SymbolSection::Index(section) = sym.section {
                let s = object.section(section).filter(|s| s.role == Role::Parameters)?;
                if sym.bind != STB_LOCAL || sym.other & 3 != STV_INTERNAL {
                    return None;
                }
                self.draft_parameters(object, section, s, group)?;
                continue;
            }
            if sym.section == SymbolSection::Common {
                return None;
            }
            if sym.bind == STB_LOCAL {
                continue;
            }
            let name = self.resolved.name(sym.reference)?;
            let id = self.by_name[name]?;
            let known = &self.records.symbols[id];
            let is_variable = known.space != NO_SPACE && known.kind == STT_OBJECT && known.function.is_none() && known.shared.is_none();
            let agrees = known.space == sym.other & STO_CUDA_SPACE
                && known.managed == (sym.other & STO_CUDA_MANAGED != 0)
                && (known.size == sym.size || sym.size == 0)
                && (!known.weak_reference || sym.bind == STB_WEAK);
            if !is_variable || !agrees || self.resolved.function_named(name).is_some() || self.is_shared_name(&sym) {
                return None;
            }
            group.variables.push((sym.reference, id));
        }
        Some(())
    }

    fn draft_sections(&self, object: &Object<'d>, group: &mut Group) -> Option<()> {
        for &index in object.placed_sections() {
            let s = object.section(index)?;
            match s.role {
                Role::Parameters => self.draft_parameters(object, index, s, group)?,
                Role::Debug | Role::GlobalInit | Role::Constant => self.draft_append(object, index, s, group)?,
                _ => return None,
            }
        }
        for &index in object.info_sections() {
            let Some(s) = object.section(index).filter(|s| s.role == Role::FunctionInfo) else {
                continue;
            };
            let text = match group.slot(s.info) {
                Slot::Text(text) => text,
                Slot::Dead(counted) => {
                    group.count_dead(s.info, counted, 1);
                    continue;
                }
                _ if self.dead_owner(object, s.info).is_some() => return None,
                _ => continue,
            };
            let TextDraft { info, function, .. } = *group.text(text)?;
            let id = info.unwrap_or_else(|| {
                let section = index;
                group.section(object, What::Info { section, function, text })
            });
            group.text(text)?.info = Some(id);
            group.placed.push((object.section_ref(index), id));
        }
        Some(())
    }

    /// The bank of a kernel of the object. Its name is that of the kernel, so that no other bank of the run has it.
    fn draft_parameters(&self, object: &Object<'d>, index: u32, s: &ObjSection<'d>, group: &mut Group) -> Option<()> {
        if matches!(group.slot(index), Slot::Bank) {
            return Some(());
        }
        let Slot::Text(text) = group.slot(s.info) else { return None };
        let draft = *group.text(text)?;
        let name = object.symbol(draft.symbol).name;
        let is_named = s.name.strip_suffix(name) == Some(b".nv.constant0.");
        if draft.shared.is_none() || draft.parameters.is_some() || !is_named || self.parameters.contains_key(s.name) {
            return None;
        }
        let bank = SectionId::from_index(group.sections.len());
        let slots = SectionId::from_index(group.sections.len() + 1);
        let parameters = What::Parameters {
            section: index,
            slots,
            text,
        };
        group.record(object, parameters);
        group.memory.push(bank);
        group.section(object, What::Slots { section: index, bank });
        group.locals.push(SymbolTableEntry::Section(bank));
        group.text(text)?.parameters = Some(bank);
        group.set_slot(index, Slot::Bank);
        group.placed.push((object.section_ref(index), bank));
        Some(())
    }

    fn draft_append(&self, object: &Object<'d>, index: u32, s: &ObjSection<'d>, group: &mut Group) -> Option<()> {
        let target = *self.named_sections.get(s.name)?;
        if self.records.sections[target].align < s.align.get() {
            return None;
        }
        group.set_slot(index, Slot::Appended(group.appended.len() as u32));
        group.appended.push(Append {
            place: object.section_ref(index),
            target,
            piece: Piece {
                object: object.id,
                section: index,
                base: 0,
            },
            align: s.align.get(),
            size: s.size,
        });
        Some(())
    }

    fn draft_relocs(&self, object: &Object<'d>, group: &mut Group) -> Option<()> {
        for (index, relocs) in (0..).zip(&object.relocs) {
            if self.uses_new_images(object, relocs) {
                return None;
            }
            let reloc = |target| RelocRef {
                object: object.id,
                index,
                target,
                base: 0,
            };
            match group.slot(relocs.target) {
                // A copy that was rejected.
                Slot::Nothing if self.dead_owner(object, relocs.target).is_some() => return None,
                Slot::Bank => return None,
                Slot::Nothing if object.section(relocs.target).is_some_and(|s| s.role != Role::Text) => return None,
                Slot::Nothing => {}
                Slot::Dead(counted) => {
                    let forms = dead_forms(relocs);
                    forms.iter().fold(counted, |counted, form| {
                        group.count_dead(relocs.target, counted, 2 + form.companion())
                    });
                }
                Slot::Text(text) => {
                    for &form in text_forms(relocs)? {
                        draft_companion(object, text, form, group)?;
                    }
                    if !relocs.entries.is_empty() {
                        let reloc = reloc(text);
                        group.relocs.push(RelocDraft { reloc, append: None });
                    }
                }
                Slot::Appended(append) => {
                    let target = group.appended.get(append as usize)?.target;
                    if self.keeps_some(object, relocs, target)? {
                        let (reloc, append) = (reloc(target), Some(append));
                        group.relocs.push(RelocDraft { reloc, append });
                    }
                }
            }
        }
        Some(())
    }

    /// Are any relocations of an appended section kept? `None` if they need a record that does not exist.
    fn keeps_some(&self, object: &Object<'d>, relocs: &RelocSection<'d>, target: SectionId) -> Option<bool> {
        let record = &self.records.sections[target];
        let rules = (self.options.identity, self.mode.rules.keeps_replaced_frames);
        let skips = DroppedEntries::new(record.class, object, relocs, &self.records, self.resolved, rules);
        let mut entries = (0..relocs.entries.len()).map(|i| entry(&relocs.entries, i));
        if !entries.any(|e| is_read(object, &skips, &e)) {
            return Some(false);
        }
        let forms: &[RelocForm] = match (relocs.is_rela(), relocs.plain_later) {
            (false, _) => &[RelocForm::Rel],
            (true, false) => &[RelocForm::Rela],
            (true, true) => &[RelocForm::Rela, RelocForm::Rel],
        };
        let exist = forms.iter().all(|form| record.companions[form.companion()].is_some());
        exist.then_some(true)
    }
}

/// The records that the relocations of a text need, in order; `None` if that depends on the places of sections.
fn text_forms(relocs: &RelocSection<'_>) -> Option<&'static [RelocForm]> {
    match relocs.is_rela() {
        _ if relocs.entries.is_empty() => Some(&[]),
        false => Some(&[RelocForm::Rel]),
        true if relocs.plain_named => Some(&[RelocForm::Rela, RelocForm::Rel]),
        true if relocs.plain_later => None,
        true => Some(&[RelocForm::Rela]),
    }
}

/// The records that nvlink makes for the relocations of a dead function: the first entry's, and those of entries with other addends.
pub(super) fn dead_forms(relocs: &RelocSection<'_>) -> Vec<RelocForm> {
    let is_rela = relocs.is_rela();
    let count = if is_rela {
        relocs.entries.len()
    } else {
        relocs.entries.len().min(1)
    };
    let form = |i: usize| RelocForm::with_addends(is_rela && (i == 0 || entry(&relocs.entries, i).r_addend.get() != 0));
    let mut forms: Vec<RelocForm> = (0..count).map(form).collect();
    forms.dedup();
    forms
}

fn draft_companion(object: &Object<'_>, text: SectionId, form: RelocForm, group: &mut Group) -> Option<()> {
    let draft = *group.text(text)?;
    if draft.companions[form.companion()].is_some() {
        return Some(());
    }
    let relocs = What::Relocs {
        symbol: draft.symbol,
        text,
        form,
    };
    let id = group.section(object, relocs);
    let draft = group.text(text)?;
    draft.companions[form.companion()] = Some(id);
    draft.first_companion.get_or_insert(form);
    Some(())
}
