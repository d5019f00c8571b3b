//! Sections and symbols that a merge looks at, listed while objects are read in parallel: the merge itself is serial, and need not pass over the
//! others. Each list is in file order.

use super::{ObjSection, Object, Role};
use cubin::consts::*;

/// Numbers of sections and symbols.
#[derive(Debug, Default)]
pub(super) struct MergeLists {
    placed: Vec<u32>,
    infos: Vec<u32>,
    notes: Vec<u32>,
    variables: Vec<u32>,
}

impl MergeLists {
    /// Lists a section, if it is one of those; sections come in order.
    #[inline]
    pub(super) fn add_section(&mut self, number: u32, s: &ObjSection<'_>) {
        match s.role {
            Role::Debug
            | Role::GlobalInit
            | Role::Constant
            | Role::PassedThrough
            | Role::Parameters
            | Role::Literals
            | Role::UnifiedEntry
            | Role::KernelShared
            | Role::ModuleShared => self.placed.push(number),
            Role::FunctionInfo => self.infos.push(number),
            Role::Note => {
                self.infos.push(number);
                self.notes.push(number);
            }
            _ if s.is_compat() => self.infos.push(number),
            _ => {}
        }
    }

    /// Lists a symbol, if it is one of those; symbols come in order.
    #[inline]
    pub(super) fn add_symbol(&mut self, number: u32, kind: u8) {
        if matches!(kind, STT_OBJECT | STT_CUDA_TEXTURE..=STT_CUDA_SURFACE | STT_CUDA_OBJECT) {
            self.variables.push(number);
        }
    }
}

impl Object<'_> {
    /// Sections that are placed in file order, if no symbol brings them in.
    pub fn placed_sections(&self) -> &[u32] {
        &self.lists.placed
    }

    /// Attributes of functions, and what is handled between them: notes and compatibility records.
    pub fn info_sections(&self) -> &[u32] {
        &self.lists.infos
    }

    /// Notes that are not the linker's own.
    pub fn note_sections(&self) -> &[u32] {
        &self.lists.notes
    }

    /// Symbols of variables, textures, samplers and surfaces.
    pub fn variables(&self) -> &[u32] {
        &self.lists.variables
    }
}
