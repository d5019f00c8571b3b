//! One name for things of different kinds: functions, variables, shared variables, textures.
//!
//! A final link keeps these apart, and functions that nothing calls have no record at all, so every arrival is compared with the other kinds
//! here; variables of one kind are compared in [`super::variables`] and [`super::shared`].
//!
//! 1. A variable: another memory space; then perhaps another managed attribute, another size, a second definition.
//! 2. A function: another memory space, perhaps a second definition; nvlink then has no place for it in the call graph. A kernel is reported as not
//!    declared everywhere first, and the link continues to the end of the file.
//! 3. A texture, sampler or surface: a second definition.

use super::Merger;
use crate::diagnostics::{Code, Stop};
use crate::ids::{FunctionId, ObjectId};
use crate::object::{ObjSymbol, Object, text};
use crate::options::Identity;
use crate::records::*;
use cubin::consts::*;
use cubin::read::SymbolSection;

/// Another symbol of the same name.
#[derive(Clone, Copy)]
struct Clash {
    first: ObjectId,
    size: u64,
    /// A strong definition.
    strong: bool,
    managed: bool,
    /// Texture, sampler or surface.
    image: bool,
}

impl<'d> Merger<'_, 'd, '_, '_> {
    /// Reports a variable whose name is something else elsewhere.
    pub(super) fn report_variable_clash(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>) -> bool {
        let namesake = match sym.bind {
            STB_LOCAL => None,
            _ => self.function_namesake(object, sym).or_else(|| self.variable_namesake(sym)),
        };
        let Some(known) = namesake else { return false };
        self.space_mismatch(object, sym, known);
        let (symbol, file, first) = (text(sym.name), object.name.to_string(), self.namesake_file(known));
        if known.managed != (sym.other & STO_CUDA_MANAGED != 0) {
            let (symbol, file, first) = (symbol.clone(), file.clone(), first.clone());
            self.out.error(Code::ManagedMismatch { symbol, file, first });
        }
        if known.size != 0 && sym.size != 0 && known.size != sym.size {
            self.out.error(Code::SizeMismatch { symbol, file, first });
        }
        if sym.section == SymbolSection::Common || sym.defined_in().is_some() {
            self.second_definition(object, sym, known);
        }
        true
    }

    /// Reports a function whose name is a variable or a texture.
    pub(super) fn report_function_clash(&mut self, object: &Object<'d>, f: FunctionId, sym: &ObjSymbol<'d>) -> Result<bool, Stop> {
        let known = match sym.bind {
            STB_LOCAL => None,
            // The symbol of the function itself need not be read.
            _ => self
                .known(sym)
                .filter(|&id| self.records.symbol_of[f] != Some(id) && self.records.symbols[id].function.is_none()),
        };
        let known = known.map(|id| self.namesake(&self.records.symbols[id]));
        let known = match known {
            None if sym.bind != STB_LOCAL => self.shared_namesake(sym),
            known => known,
        };
        let Some(known) = known else { return Ok(false) };
        let kernel = sym.other & STO_CUDA_ENTRY != 0;
        if kernel {
            let symbol = text(&culd_demangle::display(sym.name));
            self.out.error(Code::EntryMismatch { symbol });
        }
        self.space_mismatch(object, sym, known);
        if sym.defined_in().is_some() {
            self.second_definition(object, sym, known);
        }
        match kernel {
            true => Ok(true),
            false => Err(self.out.fatal(Code::Internal { what: "no callgraph node" })),
        }
    }

    /// Reports a texture, sampler or surface whose name is something else.
    pub(super) fn report_texture_clash(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>) -> bool {
        let known = self.known(sym).map(|id| &self.records.symbols[id]);
        let known = known.filter(|k| k.kind != sym.kind).map(|k| self.namesake(k));
        let known = known
            .or_else(|| self.function_namesake(object, sym))
            .or_else(|| self.shared_namesake(sym));
        let Some(known) = known else { return false };
        let first = self.namesake_file(known);
        self.out.error(Code::MultipleDefinition {
            symbol: text(sym.name),
            file: object.name.into(),
            first,
        });
        true
    }

    /// A function, dead or not, that this or an earlier file mentions.
    fn function_namesake(&self, object: &Object<'d>, sym: &ObjSymbol<'d>) -> Option<Clash> {
        let f = self.resolved.function_named(self.resolved.name(sym.reference)?)?;
        let function = &self.resolved.functions[f];
        let winner = function.winner.filter(|w| w.object <= object.id);
        let definition = winner.map(|w| self.inputs.objects[w.object].symbol(w.symbol));
        (function.first <= object.id).then_some(Clash {
            first: function.first,
            size: definition.map_or(0, |d| d.size),
            strong: definition.is_some_and(|d| d.bind == STB_GLOBAL),
            managed: false,
            image: false,
        })
    }

    /// A texture; in a final link also a variable, where one is shared and the other is not.
    fn variable_namesake(&self, sym: &ObjSymbol<'d>) -> Option<Clash> {
        let known = self.known(sym).map(|id| &self.records.symbols[id]);
        if let Some(image) = known.filter(|k| is_image(k)) {
            return Some(self.namesake(image));
        }
        if self.mode.relocatable {
            return None;
        }
        match sym.is_shared() {
            true => known
                .filter(|k| k.shared.is_none() && k.space != NO_SPACE)
                .map(|k| self.namesake(k)),
            false => self.shared_namesake(sym),
        }
    }

    /// A shared variable of a final link.
    fn shared_namesake(&self, sym: &ObjSymbol<'d>) -> Option<Clash> {
        let var = &self.records.shared.variables[*self.shared_by_name.get(sym.name)?];
        Some(Clash {
            first: var.first_mention,
            size: if var.size != 0 { var.size } else { var.mentioned },
            strong: var.defined && var.bind == STB_GLOBAL,
            managed: false,
            image: false,
        })
    }

    fn namesake(&self, known: &OutSymbol<'d>) -> Clash {
        let image = is_image(known);
        Clash {
            first: known.first_mention,
            size: if image { 0 } else { known.size },
            strong: !image && known.section.is_some() && known.bind == STB_GLOBAL,
            managed: known.managed,
            image,
        }
    }

    /// nvlink does not record the file of a texture.
    fn namesake_file(&self, known: Clash) -> String {
        match (known.image, self.options.identity) {
            (true, Identity::Nvlink) => "<input>".into(),
            _ => self.file(known.first),
        }
    }

    fn space_mismatch(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, known: Clash) {
        let first = self.namesake_file(known);
        self.out.error(Code::SpaceMismatch {
            symbol: text(sym.name),
            file: object.name.into(),
            first,
        });
    }

    fn second_definition(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, known: Clash) {
        if known.strong && sym.bind == STB_GLOBAL {
            self.multiple_definition(object, sym.name, known.first);
        }
    }
}

fn is_image(known: &OutSymbol<'_>) -> bool {
    (STT_CUDA_TEXTURE..=STT_CUDA_SURFACE).contains(&known.kind)
}
