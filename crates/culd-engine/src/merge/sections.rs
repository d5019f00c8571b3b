//! Input sections that become part of output sections.
//!
//! 1. Data and debug sections, and those that are passed through: the whole input section is appended at the next multiple of its alignment, once per input.
//! 2. A parameter bank: a further copy of a weak kernel adds nothing (sizes must agree); of a strong one it is appended.
//! 3. Literal banks: see [`super::literals`].
//! 4. Shared sections hold no bytes; relocatable outputs sum their symbols.

use super::Merger;
use super::literals::FoundBy;
use crate::align::align_up;
use crate::diagnostics::{Code, Stop};
use crate::ids::{FunctionId, SectionId};
use crate::names::Name;
use crate::object::{ObjSection, Object, Role, text};
use crate::records::*;
use cubin::consts::*;

/// Location of an input section: output section and offset.
pub(super) type Placed = Option<(SectionId, u64)>;

impl<'d> Merger<'_, 'd, '_, '_> {
    /// Sections in file order that no symbol brought in, then the functions' attributes and the notes between them.
    pub(super) fn remaining_sections<'a>(&mut self, object: &'a Object<'d>) -> Result<(), Stop> {
        let sections = |numbers: &'a [u32]| numbers.iter().filter_map(|&index| Some((index, object.section(index)?)));
        for (index, s) in sections(object.placed_sections()) {
            match s.role {
                Role::Parameters => {
                    self.place(object, index)?;
                    self.dead_parameters(object, s);
                }
                Role::Literals => self.place_literals(object, index, FoundBy::Section)?,
                Role::UnifiedEntry => self.unified_entries(object, s)?,
                Role::KernelShared => self.whole_shared(object, index, s),
                Role::ModuleShared => self.empty_shared(object, s),
                _ => {
                    self.place(object, index)?;
                }
            }
        }
        let makes_compat = self.mode.rules.compat_of_inputs && self.records.standard.compat.is_none();
        let is_compat = |s: &ObjSection<'_>| makes_compat && s.is_compat();
        let sought = |s: &ObjSection<'_>| s.role == Role::FunctionInfo || is_compat(s);
        let last = sections(object.info_sections())
            .rfind(|(_, s)| sought(s))
            .map_or(0, |(index, _)| index);
        for (index, s) in sections(object.info_sections()).take_while(|&(index, _)| index <= last) {
            if s.role == Role::Note {
                self.place(object, index)?;
            }
            if is_compat(s) {
                self.compat_section();
            }
            if s.role != Role::FunctionInfo {
                continue;
            }
            if self.is_mine(object, s.info) {
                self.function_info(object, index, s);
            } else if let Some(f) = self.dead_owner(object, s.info) {
                self.records.count_dead_section(f, 1);
                self.records.created.dropped_section(self.mode, Name::plain(s.name));
            }
        }
        Ok(())
    }

    /// The dead function whose prevailing definition a text section holds.
    pub(super) fn dead_owner(&self, object: &Object<'d>, text: u32) -> Option<FunctionId> {
        let owner = object.section(text).map(|s| s.owner).filter(|&o| o < object.symbol_count())?;
        let symbol = object.symbol_ref(owner);
        let f = self.resolved.function(symbol)?;
        (!self.live.alive[f] && self.resolved.took(symbol)).then_some(f)
    }

    fn function_info(&mut self, object: &Object<'d>, index: u32, s: &ObjSection<'d>) {
        let Some((text, _)) = self.records.placement.sections[object.section_ref(s.info)] else {
            return;
        };
        let (Class::Text(f) | Class::Stub(f)) = self.records.sections[text].class else {
            return;
        };
        if self.records.functions[f].info.is_none() {
            self.info_section(f, Name::plain(s.name), text);
        }
        if let Some(id) = self.records.functions[f].info {
            self.records.placement.sections[object.section_ref(index)] = Some((id, 0));
        }
    }

    /// Puts an input section into its output section.
    pub(super) fn place(&mut self, object: &Object<'d>, index: u32) -> Result<Placed, Stop> {
        let slot = object.section_ref(index);
        if let Some(placed) = self.records.placement.sections[slot] {
            return Ok(Some(placed));
        }
        let Some(s) = object.section(index).copied() else { return Ok(None) };
        let placed = match s.role {
            Role::Parameters => self.place_parameters(object, index, &s),
            Role::KernelShared | Role::ModuleShared => self.place_shared(object, &s),
            Role::UnifiedData if !self.mode.relocatable => Some((self.unified_data(&s), 0)),
            Role::PassedThrough if s.flags & SHF_EXECINSTR != 0 && !self.mode.relocatable => {
                // nvlink: "Internal error: no regcount?".
                return Err(self.out.fatal(Code::Damaged {
                    file: object.name.into(),
                    reason: format!("section {}: code that belongs to no function", text(s.name)),
                }));
            }
            // nvlink quirk: the index of an earlier link is appended to the one that was given.
            Role::PassedThrough if s.sh_type == SHT_CUDA_UIDX && self.records.unified.index.is_some() => self.append_index(&s),
            // nvlink quirk: relocatable links drop notes.
            Role::Note if self.mode.relocatable => None,
            Role::Debug
            | Role::Global
            | Role::GlobalInit
            | Role::Constant
            | Role::UnifiedData
            | Role::ReservedShared
            | Role::PassedThrough
            | Role::Note => {
                let id = self.section_of(&s, class(&s));
                let base = self.append(id, object, index, &s);
                Some((id, base))
            }
            _ => None,
        };
        self.records.placement.sections[slot] = placed;
        Ok(placed)
    }

    fn append_index(&mut self, s: &ObjSection<'d>) -> Placed {
        let id = self.records.unified.index?;
        let bytes = self.records.sections[id].bytes.as_mut()?;
        let base = bytes.len() as u64;
        bytes.extend_from_slice(s.data);
        Some((id, base))
    }

    fn append(&mut self, id: SectionId, object: &Object<'d>, index: u32, s: &ObjSection<'d>) -> u64 {
        let piece = Piece {
            object: object.id,
            section: index,
            base: 0,
        };
        append_piece(&mut self.records.sections[id], piece, s.size, s.align.get())
    }

    fn owner(&self, object: &Object<'d>, s: &ObjSection<'d>) -> Option<FunctionId> {
        self.resolved.function(object.symbol_ref(object.owner_of(s)?))
    }

    fn place_parameters(&mut self, object: &Object<'d>, index: u32, s: &ObjSection<'d>) -> Placed {
        let f = self.owner(object, s)?;
        if !self.live.alive[f] {
            self.created_dead_parameters(s.name);
            return None;
        }
        if let Some(&id) = self.parameters.get(s.name)
            && self.records.sections[id].size > 0
            && self.records.functions[f].bind == STB_WEAK
        {
            if self.records.sections[id].size != s.size {
                let symbol = self.resolved.function_name(f);
                self.out.error(Code::ParameterBankMismatch { symbol });
            }
            self.records.functions[f].parameters = Some(id);
            return Some((id, 0));
        }
        let id = match self.parameters.get(s.name) {
            Some(&id) => id,
            None => {
                let id = self.records.add_section(self.mode, parameters_record(s));
                self.parameters.insert(s.name, id);
                id
            }
        };
        self.records.functions[f].parameters = Some(id);
        let text = self.records.functions[f].text;
        let record = &mut self.records.sections[id];
        record.align = record.align.max(s.align.get());
        record.owner = record.owner.or(text);
        Some((id, self.append(id, object, index, s)))
    }

    /// Copies of a weak kernel that nothing uses must agree on their parameters too.
    fn dead_parameters(&mut self, object: &Object<'d>, s: &ObjSection<'d>) {
        let Some(f) = self.owner(object, s).filter(|&f| !self.live.alive[f]) else {
            return;
        };
        let symbol = object.owner_of(s).map(|o| object.symbol(o));
        let took = symbol.filter(|sym| self.resolved.took(sym.reference)).map(|sym| sym.bind);
        let known = self.dead_parameters.entry(s.name).or_insert((0, STB_WEAK));
        known.1 = took.unwrap_or(known.1);
        if known.0 > 0 && known.1 == STB_WEAK {
            if known.0 != s.size {
                let symbol = self.resolved.function_name(f);
                self.out.error(Code::ParameterBankMismatch { symbol });
            }
            return;
        }
        known.0 = align_up(known.0, s.align.get()).saturating_add(s.size);
    }

    /// Names of the parameter bank of a dead kernel and of the relocations that it comes with.
    fn created_dead_parameters(&mut self, name: &'d [u8]) {
        let (bank, relocs) = (Name::plain(name), Name::new(b".rel", name));
        let created = &mut self.records.created;
        created.section(self.mode, bank);
        created.dropped_section(self.mode, relocs);
        created.symbol(self.mode, bank);
    }

    fn place_shared(&mut self, object: &Object<'d>, s: &ObjSection<'d>) -> Placed {
        if s.role == Role::ModuleShared {
            return Some((self.module_shared_section(1), 0));
        }
        let name = s.name.strip_prefix(b".nv.shared.")?;
        let id = match self.kernel_shared.get(name) {
            Some(&id) => id,
            None => self.kernel_shared_section(name),
        };
        let owner = self.owner(object, s);
        let text = owner.and_then(|f| self.records.functions[f].text);
        if let Some(f) = owner {
            self.records.functions[f].shared = Some(id);
        }
        let record = &mut self.records.sections[id];
        record.owner = record.owner.or(text);
        Some((id, 0))
    }
}

/// Appends an input section at the next multiple of its alignment, and returns where that is.
pub(super) fn append_piece(record: &mut OutSection<'_>, piece: Piece, size: u64, align: u64) -> u64 {
    let base = align_up(record.size, align);
    record.size = base.saturating_add(size);
    record.pieces.push(Piece { base, ..piece });
    base
}

pub(super) fn parameters_record<'d>(s: &ObjSection<'d>) -> NewSection<'d> {
    let name = match s.name.strip_prefix(IMAGE_HEADERS) {
        Some(kernel) => Name::new(IMAGE_HEADERS, kernel),
        None => Name::plain(s.name),
    };
    NewSection {
        name,
        class: Class::Parameters,
        sh_type: s.sh_type,
        flags: s.flags,
        align: s.align.get(),
        entsize: 0,
    }
}

fn class(s: &ObjSection<'_>) -> Class {
    match s.role {
        Role::Global => Class::Global,
        Role::GlobalInit => Class::GlobalInit,
        Role::ReservedShared => Class::ReservedShared,
        Role::UnifiedData => Class::Udt,
        Role::PassedThrough | Role::Note => Class::PassedThrough,
        Role::Constant => Class::Constant(s.sh_type.wrapping_sub(SHT_CUDA_CONSTANT0)),
        _ if matches!(s.name, b".debug_frame" | b".debug_line" | b".nv_debug_line_sass") => Class::Debug(DebugKind::Code),
        _ => Class::Debug(DebugKind::Other),
    }
}
