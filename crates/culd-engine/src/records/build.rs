//! How records are added, and found again.

use super::{Class, Merged, NewSection, OutSection, RelocForm, RelocRef, SymbolTableEntry};
use crate::ids::{FunctionId, SectionId};
use crate::mode::Mode;
use crate::names::Name;
use cubin::consts::*;

impl<'d> Merged<'d> {
    /// Appends a section record, then its section symbol. Parameter banks get their relocation companion between the two.
    pub(crate) fn add_section(&mut self, mode: Mode, new: NewSection<'d>) -> SectionId {
        let NewSection { name, class, .. } = new;
        let first = matches!(
            class,
            Class::SectionNames
                | Class::Strings
                | Class::Symbols
                | Class::ExtendedIndices
                | Class::ToolNote
                | Class::CudaNote
                | Class::Info
                | Class::Compat
        );
        let number = self.section_number(mode, !first, self.sections.len());
        let id = self.sections.push(OutSection::new(new, number));
        self.created.section(mode, name);
        match class {
            Class::Text(f) => self.texts.push(f),
            Class::KernelShared | Class::ModuleShared | Class::Constant(_) | Class::Literals | Class::Parameters => self.memory.push(id),
            _ => {}
        }
        if class == Class::Parameters && !mode.relocatable {
            // The Mercury view has RELA only.
            let form = RelocForm::with_addends(mode.force_rela || !name.prefix.is_empty());
            let slots = self.add_reloc_section(mode, id, form);
            if form == RelocForm::Rel {
                self.sections[slots].flags = 0;
            }
            self.sections[id].slot_relocs = Some(slots);
        }
        self.created.symbol(mode, name);
        self.order.locals.push(SymbolTableEntry::Section(id));
        id
    }

    /// nvlink's number of the record at a position. Some records are those that every link starts with, the others come `later`.
    ///
    /// nvlink quirk: in final links one more record, without a name, comes between them.
    pub(crate) fn section_number(&self, mode: Mode, later: bool, position: usize) -> u32 {
        let unnamed = !mode.relocatable && later;
        position as u32 + 1 + u32::from(unnamed) + self.quirks.dead_section_count
    }

    /// Makes the companion `.rel.X` or `.rela.X` of a section.
    pub(crate) fn add_companion(&mut self, mode: Mode, target: SectionId, form: RelocForm) -> SectionId {
        let id = self.add_reloc_section(mode, target, form);
        self.sections[target].companions[form.companion()] = Some(id);
        id
    }

    fn add_reloc_section(&mut self, mode: Mode, target: SectionId, form: RelocForm) -> SectionId {
        self.add_section(mode, reloc_record(self.sections[target].name, target, form))
    }

    /// Makes `.nv.resolvedrela.X` of a section, in links that list resolved relocations.
    pub(crate) fn add_resolved_companion(&mut self, mode: Mode, target: SectionId) {
        if !mode.preserve || self.sections[target].companions[2].is_some() {
            return;
        }
        let name = self.sections[target].name;
        let new = NewSection {
            name: Name {
                prefix: resolved_prefix(name.prefix),
                rest: name.rest,
            },
            class: Class::ResolvedRela(target),
            sh_type: SHT_CUDA_RESOLVED_RELA,
            flags: SHF_INFO_LINK,
            align: 8,
            entsize: 24,
        };
        let id = self.add_section(mode, new);
        self.sections[target].companions[2] = Some(id);
    }

    /// Makes the `.nv.shared.K` of a kernel that has none.
    pub(crate) fn add_shared_section(&mut self, mode: Mode, kernel: FunctionId, name: &'d [u8]) -> SectionId {
        let id = self.add_section(mode, kernel_shared_record(name));
        self.sections[id].owner = self.functions[kernel].text;
        self.functions[kernel].shared = Some(id);
        id
    }

    /// Counts a record that nvlink makes for a dead function and drops again.
    pub(crate) fn count_dead_section(&mut self, f: FunctionId, kind: usize) {
        if !std::mem::replace(&mut self.functions[f].dead_sections_counted[kind], true) {
            self.quirks.dead_section_count += 1;
        }
    }

    /// `.nv_debug.shared`.
    pub(crate) fn module_shared_section(&self) -> Option<SectionId> {
        let is_it = |id: &SectionId| self.sections[*id].class == Class::ModuleShared;
        self.memory.iter().copied().find(is_it)
    }

    /// `.nv.shared.K` of a kernel.
    pub fn shared_section(&self, kernel: FunctionId) -> Option<SectionId> {
        self.functions[kernel].shared
    }

    /// False for the relocations of a body that was replaced.
    pub fn is_current(&self, r: &RelocRef, section: u32) -> bool {
        let target = &self.sections[r.target];
        match target.class {
            Class::Text(_) | Class::Stub(_) => target
                .pieces
                .as_slice()
                .iter()
                .any(|p| p.object == r.object && p.section == section),
            _ => true,
        }
    }
}

/// `.nv.shared.K`.
pub(crate) fn kernel_shared_record(name: &[u8]) -> NewSection<'_> {
    NewSection {
        name: Name::new(b".nv.shared.", name),
        class: Class::KernelShared,
        sh_type: SHT_CUDA_SHARED,
        flags: 0x43,
        align: 1,
        entsize: 0,
    }
}

/// `.rel.X` or `.rela.X` of a section with this name.
pub(crate) fn reloc_record(name: Name<'_>, target: SectionId, form: RelocForm) -> NewSection<'_> {
    let (class, sh_type, entsize) = match form {
        RelocForm::Rel => (Class::Rel(target), SHT_REL, 16),
        RelocForm::Rela => (Class::Rela(target), SHT_RELA, 24),
    };
    NewSection {
        name: Name {
            prefix: companion_prefix(name.prefix, form),
            rest: name.rest,
        },
        class,
        sh_type,
        flags: SHF_INFO_LINK,
        align: 8,
        entsize,
    }
}

/// Slots of textures, samplers and surfaces in the Mercury view.
pub(crate) const IMAGE_HEADERS: &[u8] = b".nv.constant.entry_image_header_indices.";

fn companion_prefix(prefix: &'static [u8], form: RelocForm) -> &'static [u8] {
    match (prefix, form) {
        (b".text.", RelocForm::Rel) => b".rel.text.",
        (b".text.", RelocForm::Rela) => b".rela.text.",
        (b".nv.constant2.", RelocForm::Rel) => b".rel.nv.constant2.",
        (b".nv.constant2.", RelocForm::Rela) => b".rela.nv.constant2.",
        (b".nv.constant.optimizer.", RelocForm::Rel) => b".rel.nv.constant.optimizer.",
        (b".nv.constant.optimizer.", RelocForm::Rela) => b".rela.nv.constant.optimizer.",
        (IMAGE_HEADERS, RelocForm::Rel) => b".rel.nv.constant.entry_image_header_indices.",
        (IMAGE_HEADERS, RelocForm::Rela) => b".rela.nv.constant.entry_image_header_indices.",
        (b".nv.uft", RelocForm::Rel) => b".rel.nv.uft",
        (b".nv.uft", RelocForm::Rela) => b".rela.nv.uft",
        (_, RelocForm::Rel) => b".rel",
        (_, RelocForm::Rela) => b".rela",
    }
}

pub(crate) fn resolved_prefix(prefix: &'static [u8]) -> &'static [u8] {
    match prefix {
        b".text." => b".nv.resolvedrela.text.",
        b".nv.constant2." => b".nv.resolvedrela.nv.constant2.",
        b".nv.constant.optimizer." => b".nv.resolvedrela.nv.constant.optimizer.",
        IMAGE_HEADERS => b".nv.resolvedrela.nv.constant.entry_image_header_indices.",
        b".nv.uft" => b".nv.resolvedrela.nv.uft",
        _ => b".nv.resolvedrela",
    }
}
