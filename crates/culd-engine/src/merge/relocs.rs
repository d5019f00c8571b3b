//! Relocation sections and notes of one object, in file order.
//!
//! 1. Relocations in a body that was not taken leave nothing; a dead prevailing definition still makes shared variables and textures used.
//! 2. The first kept entry makes the record named like the input section, each further one `.rel` (no addend) or `.rela`: records are
//!    created in that order even if they stay empty.
//! 3. The entries themselves are not copied: layout and emission read them from the input again.

use super::Merger;
use crate::diagnostics::Stop;
use crate::ids::{Id as _, SectionId, SymbolRef};
use crate::names::Name;
use crate::object::{Object, RelocSection, Role, entry};
use crate::options::Identity;
use crate::records::RelocForm;
use crate::records::*;
use crate::resolve::{Fate, Resolved};
use cubin::consts::*;
use cubin::raw::Rela;
use cubin::reloc::UNUSED_CLEAR_TYPES;

impl<'d> Merger<'_, 'd, '_, '_> {
    pub(super) fn relocations_and_notes(&mut self, object: &Object<'d>) -> Result<(), Stop> {
        self.created_prototypes(object);
        let notes = object.note_sections();
        let mut done = 0;
        for (index, relocs) in object.relocs.iter().enumerate() {
            let first = notes.partition_point(|&n| n < relocs.section);
            for &note in notes.get(done..first).unwrap_or_default() {
                self.place(object, note)?;
            }
            done = first;
            self.relocation_section(object, index as u32, relocs);
        }
        for &note in notes.get(done..).unwrap_or_default() {
            self.place(object, note)?;
        }
        Ok(())
    }

    /// Call graph and prototypes are read before relocations.
    fn created_prototypes(&mut self, object: &Object<'d>) {
        if !self.mode.rules.keeps_dead_names {
            return;
        }
        let until = |n: usize| self.resolved.mentioned_until.as_slice().get(n).map_or(0, |&u| u as usize);
        let index = object.id.index();
        let first = index.checked_sub(1).map_or(0, until);
        for &p in self.resolved.mentioned.get(first..until(index)).unwrap_or_default() {
            let string = self.resolved.prototypes.string(p);
            self.created_name(string);
        }
    }

    fn relocation_section(&mut self, object: &Object<'d>, index: u32, relocs: &RelocSection<'d>) {
        self.note_textures(object, relocs);
        let Some((target, base)) = self.records.placement.sections[object.section_ref(relocs.target)] else {
            self.dead_references(object, relocs);
            self.dead_records(object, relocs);
            self.listed_name(object, relocs);
            return;
        };
        if !self.companion_records(object, relocs, target) {
            return;
        }
        let base = self.stub_base(object, relocs.target).unwrap_or(base);
        self.records.relocs.push(RelocRef {
            object: object.id,
            index,
            target,
            base,
        });
    }

    /// nvlink quirk: with `--preserve-relocs` a jump table of a device function leaves the name of its list, although the table itself is
    /// copied into kernels.
    fn listed_name(&mut self, object: &Object<'d>, relocs: &RelocSection<'d>) {
        let Some(table) = object
            .section(relocs.target)
            .filter(|s| s.role == Role::Literals && object.has_mercury())
        else {
            return;
        };
        let owner = object.owner_of(table).and_then(|o| self.resolved.function(object.symbol_ref(o)));
        let live = owner.is_some_and(|f| self.live.alive[f]);
        if !self.mode.preserve || !live || relocs.entries.is_empty() || self.resolved_names.contains_key(&(b"".as_slice(), table.name)) {
            return;
        }
        let name = Name::new(resolved_prefix(b""), table.name);
        let id = self.section(
            name,
            Class::ResolvedRela(SectionId::new(0)),
            SHT_CUDA_RESOLVED_RELA,
            SHF_INFO_LINK,
            8,
            24,
        );
        self.records.sections[id].emission = Emission::NameOnly;
        self.resolved_names.insert((b"", table.name), id);
    }

    /// Any winning definition that refers to a texture counts, dead or alive.
    fn note_textures(&mut self, object: &Object<'d>, relocs: &RelocSection<'d>) {
        if self.records.images_used == ImageKinds::ALL {
            return;
        }
        let images = images(object, relocs);
        if !images.is_empty() && self.target_fate(object, relocs) == Fate::Winner {
            self.records.images_used.add(images);
        }
    }

    /// Does [`Self::note_textures`] note something?
    pub(super) fn uses_new_images(&self, object: &Object<'d>, relocs: &RelocSection<'d>) -> bool {
        self.records.images_used != ImageKinds::ALL && !images(object, relocs).is_empty()
    }

    /// Counts the relocation records that nvlink makes for a dead function.
    fn dead_records(&mut self, object: &Object<'d>, relocs: &RelocSection<'d>) {
        let Some(f) = self.dead_owner(object, relocs.target) else { return };
        let is_rela = relocs.is_rela();
        for i in 0..relocs.entries.len() {
            let rela = if i == 0 {
                is_rela
            } else {
                entry(&relocs.entries, i).r_addend.get() != 0
            };
            self.records.count_dead_section(f, 2 + usize::from(rela));
            if let Some(text) = object.section(relocs.target) {
                let prefix: &[u8] = if rela { b".rela" } else { b".rel" };
                self.records.created.dropped_section(self.mode, Name::new(prefix, text.name));
            }
            if !is_rela {
                break;
            }
        }
    }

    fn target_fate(&self, object: &Object<'d>, relocs: &RelocSection<'d>) -> Fate {
        let owner = object
            .section(relocs.target)
            .map(|s| s.owner)
            .filter(|&o| o < object.symbol_count());
        owner.map_or(Fate::None, |o| self.resolved.fate(object.symbol_ref(o)))
    }

    /// Shared variables that only dead code of a winning definition refers to get space too.
    fn dead_references(&mut self, object: &Object<'d>, relocs: &RelocSection<'d>) {
        if object.specials(relocs).is_empty() || self.target_fate(object, relocs) != Fate::Winner {
            return;
        }
        for &index in object.specials(relocs) {
            if let Place::Shared(id) = self.records.placement.symbols[object.symbol_ref(index)] {
                self.records.shared.variables[id].dead_reference = true;
            }
        }
    }

    /// Makes the records that the entries need, in entry order; false if every entry is skipped when read.
    fn companion_records(&mut self, object: &Object<'d>, relocs: &RelocSection<'d>, target: SectionId) -> bool {
        let is_rela = relocs.is_rela();
        let skips = DroppedEntries::new(
            self.records.sections[target].class,
            object,
            relocs,
            &self.records,
            self.resolved,
            (self.options.identity, self.mode.rules.keeps_replaced_frames),
        );
        let wanted: &[bool] = if skips.idle() {
            match is_rela {
                _ if relocs.entries.is_empty() => &[],
                true if relocs.plain_named => &[true, false],
                true if relocs.plain_later => wanted(object, relocs, &skips, &self.records),
                true => &[true],
                false => &[false],
            }
        } else {
            wanted(object, relocs, &skips, &self.records)
        };
        for (n, &rela) in wanted.iter().enumerate() {
            self.companion(target, RelocForm::with_addends(rela));
            if n == 0 {
                if self.mode.force_rela && !is_rela {
                    self.companion(target, RelocForm::Rela);
                }
                self.resolved_record(target);
            }
        }
        !wanted.is_empty()
    }

    /// `.rel.X` or `.rela.X`.
    fn companion(&mut self, target: SectionId, form: RelocForm) -> SectionId {
        if let Some(id) = self.records.sections[target].companions[form.companion()] {
            return id;
        }
        let id = self.records.add_companion(self.mode, target, form);
        self.records.sections[target].first_companion.get_or_insert(form);
        id
    }

    /// `.nv.resolvedrela.X`: one per name, so that static functions of one name share the first one's.
    fn resolved_record(&mut self, target: SectionId) {
        if !self.mode.preserve || self.records.sections[target].companions[2].is_some() {
            return;
        }
        let name = self.records.sections[target].name;
        let known = self.resolved_names.get(&(name.prefix, name.rest)).copied();
        let id = known.unwrap_or_else(|| {
            let full = Name {
                prefix: resolved_prefix(name.prefix),
                rest: name.rest,
            };
            let id = self.section(full, Class::ResolvedRela(target), SHT_CUDA_RESOLVED_RELA, SHF_INFO_LINK, 8, 24);
            self.resolved_names.insert((name.prefix, name.rest), id);
            id
        });
        self.records.sections[target].companions[2] = Some(id);
    }

    fn stub_base(&self, object: &Object<'d>, target: u32) -> Option<u64> {
        let s = object.section(target).filter(|s| s.role == Role::Stub && !self.mode.relocatable)?;
        let f = self.resolved.function(object.symbol_ref(s.owner))?;
        self.records.functions[f].stub_offset
    }
}

/// The kinds of records, `.rela` or not, that the entries need, in entry order: the first one the kind of its own section, the
/// others by their addends.
///
/// The addend of a section's symbol is the one in the output, which includes the offset of the section in the output.
fn wanted(object: &Object<'_>, relocs: &RelocSection<'_>, skips: &DroppedEntries<'_, '_>, records: &Merged<'_>) -> &'static [bool] {
    let read = |i: usize| Some(entry(&relocs.entries, i)).filter(|e| is_read(object, skips, e));
    let moved = |e: &Rela| {
        let symbol = e.r_sym.get();
        let section = || {
            object
                .symbol(symbol)
                .defined_in()
                .and_then(|s| records.placement.sections[object.section_ref(s)])
        };
        object.symbol_kind(symbol) == STT_SECTION && section().is_some_and(|(_, base)| base != 0)
    };
    let mut left = (0..relocs.entries.len()).filter_map(read);
    match (left.next(), relocs.is_rela()) {
        (None, _) => &[],
        // Entries without addends in the input only need the first kind.
        (Some(_), false) => &[false],
        (Some(_), true) if left.any(|e| e.r_addend.get() == 0 && !moved(&e)) => &[true, false],
        (Some(_), true) => &[true],
    }
}

/// Does an entry need a record? Skipped ones do not, but those that clear a field do, except in the Mercury view.
pub(super) fn is_read(object: &Object<'_>, skips: &DroppedEntries<'_, '_>, e: &Rela) -> bool {
    let clears = !object.has_mercury() && UNUSED_CLEAR_TYPES.contains(&e.r_type.get());
    clears || !skips.skips(e.r_offset.get(), e.r_sym.get())
}

/// Textures, samplers and surfaces that a relocation section refers to.
fn images(object: &Object<'_>, relocs: &RelocSection<'_>) -> ImageKinds {
    ImageKinds::of(object.specials(relocs).iter().map(|&i| object.symbol_kind(i)))
}

/// Relocations that nvlink skips when it reads them.
///
/// * In constant banks and in the three debug sections about code: those against a function or variable whose copy in the same input was
///   rejected. nvlink quirk: constant tables lose pointers; culd keeps them.
/// * In `.nv.global.init`: those inside a weak variable that lost against a weak one.
pub(crate) struct DroppedEntries<'m, 'd> {
    object: &'m Object<'d>,
    lost: &'m [SymbolRef],
    resolved: &'m Resolved<'d>,
    by_symbol: bool,
    ranges: Vec<(u64, u64)>,
}

impl<'m, 'd> DroppedEntries<'m, 'd> {
    pub(crate) fn new(
        class: Class,
        object: &'m Object<'d>,
        relocs: &RelocSection<'d>,
        records: &'m Merged<'d>,
        resolved: &'m Resolved<'d>,
        (identity, keeps_debug): (Identity, bool),
    ) -> Self {
        let of_kind = match class {
            Class::Constant(_) if identity == Identity::Culd => false,
            // Up to CUDA 12.6.
            Class::Debug(_) if keeps_debug => false,
            // Jump tables of the Mercury view keep theirs.
            Class::Literals => !object.has_mercury(),
            Class::Constant(_) | Class::Parameters | Class::Debug(DebugKind::Code) => true,
            _ => false,
        };
        let lost = if of_kind {
            of_object(&records.quirks.overridden, object)
        } else {
            &[]
        };
        let mut ranges = Vec::new();
        if class == Class::GlobalInit {
            for &lost in of_object(&records.quirks.overridden_by_weak, object) {
                let sym = object.symbol(lost.number() - object.first_symbol);
                if sym.defined_in() == Some(relocs.target) {
                    ranges.push((sym.value, sym.value.saturating_add(sym.size)));
                }
            }
            ranges.sort_unstable();
        }
        DroppedEntries {
            object,
            lost,
            resolved,
            by_symbol: of_kind && (resolved.has_rejected(object.id) || !lost.is_empty()),
            ranges,
        }
    }

    /// True if nothing can be skipped.
    pub(crate) fn idle(&self) -> bool {
        !self.by_symbol && self.ranges.is_empty()
    }

    pub(crate) fn skips(&self, offset: u64, symbol: u32) -> bool {
        if self.by_symbol {
            if symbol >= self.object.symbol_count() {
                return false;
            }
            let reference = self.object.symbol_ref(symbol);
            return self.resolved.fate(reference) == Fate::Rejected || self.lost.binary_search(&reference).is_ok();
        }
        let at = self.ranges.partition_point(|r| r.0 <= offset);
        at.checked_sub(1).and_then(|i| self.ranges.get(i)).is_some_and(|r| offset < r.1)
    }
}

/// The part of a list sorted by symbol that belongs to one object. While merging, the object's own entries are at the end, in order.
fn of_object<'m>(list: &'m [SymbolRef], object: &Object<'_>) -> &'m [SymbolRef] {
    let first = list.partition_point(|r| r.number() < object.first_symbol);
    let last = list.partition_point(|r| r.number() < object.first_symbol + object.symbol_count());
    list.get(first..last).unwrap_or_default()
}
