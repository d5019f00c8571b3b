//! How records are added, and found again.

use super::{Class, Merged, OutSection, Pieces, RelocRef, SymbolTableEntry};
use crate::ids::{FunctionId, SectionId};
use crate::mode::Mode;
use crate::names::Name;
use crate::records::Emission;
use cubin::consts::*;

impl<'d> Merged<'d> {
    /// Appends a section record, then its section symbol. Parameter banks get their relocation companion between the two.
    #[allow(clippy::too_many_arguments, reason = "the fields of a section header")]
    pub(crate) fn add_section(
        &mut self,
        mode: Mode,
        name: Name<'d>,
        class: Class,
        sh_type: u32,
        flags: u64,
        align: u64,
        entsize: u8,
    ) -> SectionId {
        // nvlink quirk: in final links one more record, without a name, comes after those that every link starts with.
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
        let unnamed = !mode.relocatable && !first;
        let number = self.sections.len() as u32 + 1 + u32::from(unnamed) + self.quirks.dead_section_count;
        let id = self.sections.push(OutSection {
            name,
            number,
            class,
            sh_type,
            flags,
            align,
            entsize,
            size: 0,
            pieces: Pieces::EMPTY,
            bytes: None,
            owner: None,
            companions: [None; 3],
            slot_relocs: None,
            rela_first: None,
            emission: Emission::Emit,
            no_symbol: false,
        });
        match class {
            Class::Text(f) => self.texts.push(f),
            Class::KernelShared | Class::ModuleShared | Class::Constant(_) | Class::Literals | Class::Parameters => self.memory.push(id),
            _ => {}
        }
        if class == Class::Parameters && !mode.relocatable {
            // The Mercury view has RELA only.
            let rela = mode.force_rela || !name.prefix.is_empty();
            let full = Name {
                prefix: companion_prefix(name.prefix, rela),
                rest: name.rest,
            };
            let companion = if rela {
                self.add_section(mode, full, Class::Rela(id), SHT_RELA, SHF_INFO_LINK, 8, 24)
            } else {
                self.add_section(mode, full, Class::Rel(id), SHT_REL, 0, 8, 16)
            };
            self.sections[id].slot_relocs = Some(companion);
        }
        self.order.locals.push(SymbolTableEntry::Section(id));
        id
    }

    /// Makes `.rel.X` or `.rela.X` of a section.
    pub(crate) fn add_companion(&mut self, mode: Mode, target: SectionId, rela: bool) -> SectionId {
        let name = self.sections[target].name;
        let full = Name {
            prefix: companion_prefix(name.prefix, rela),
            rest: name.rest,
        };
        let id = if rela {
            self.add_section(mode, full, Class::Rela(target), SHT_RELA, SHF_INFO_LINK, 8, 24)
        } else {
            self.add_section(mode, full, Class::Rel(target), SHT_REL, SHF_INFO_LINK, 8, 16)
        };
        self.sections[target].companions[usize::from(rela)] = Some(id);
        id
    }

    /// Makes `.nv.resolvedrela.X` of a section, in links that list resolved relocations.
    pub(crate) fn add_resolved_companion(&mut self, mode: Mode, target: SectionId) {
        if !mode.preserve || self.sections[target].companions[2].is_some() {
            return;
        }
        let name = self.sections[target].name;
        let full = Name {
            prefix: resolved_prefix(name.prefix),
            rest: name.rest,
        };
        let id = self.add_section(
            mode,
            full,
            Class::ResolvedRela(target),
            SHT_CUDA_RESOLVED_RELA,
            SHF_INFO_LINK,
            8,
            24,
        );
        self.sections[target].companions[2] = Some(id);
    }

    /// Makes the `.nv.shared.K` of a kernel that has none.
    pub(crate) fn add_shared_section(&mut self, mode: Mode, kernel: FunctionId, name: &'d [u8]) -> SectionId {
        let name = Name::new(b".nv.shared.", name);
        let id = self.add_section(mode, name, Class::KernelShared, SHT_CUDA_SHARED, 0x43, 1, 0);
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

/// Slots of textures, samplers and surfaces in the Mercury view.
pub(crate) const IMAGE_HEADERS: &[u8] = b".nv.constant.entry_image_header_indices.";

fn companion_prefix(prefix: &'static [u8], rela: bool) -> &'static [u8] {
    match (prefix, rela) {
        (b".text.", false) => b".rel.text.",
        (b".text.", true) => b".rela.text.",
        (b".nv.constant2.", false) => b".rel.nv.constant2.",
        (b".nv.constant2.", true) => b".rela.nv.constant2.",
        (b".nv.constant.optimizer.", false) => b".rel.nv.constant.optimizer.",
        (b".nv.constant.optimizer.", true) => b".rela.nv.constant.optimizer.",
        (IMAGE_HEADERS, _) => b".rela.nv.constant.entry_image_header_indices.",
        (b".nv.uft", false) => b".rel.nv.uft",
        (b".nv.uft", true) => b".rela.nv.uft",
        (_, false) => b".rel",
        (_, true) => b".rela",
    }
}

pub(crate) fn resolved_prefix(prefix: &'static [u8]) -> &'static [u8] {
    match prefix {
        b".text." => b".nv.resolvedrela.text.",
        b".nv.constant2." => b".nv.resolvedrela.nv.constant2.",
        b".nv.constant.optimizer." => b".nv.resolvedrela.nv.constant.optimizer.",
        b".nv.uft" => b".nv.resolvedrela.nv.uft",
        _ => b".nv.resolvedrela",
    }
}
