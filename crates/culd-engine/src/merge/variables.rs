//! Variables of one object, in symbol order (shared ones: [`super::shared`]).
//!
//! * Undefined: a global record, unless local. Common: a global record, storage later.
//! * Defined: the whole input section is appended once, the symbol fills the known record or makes one.
//! * A weak definition after any other loses; its `.nv.global` is not taken for its sake.
//! * A strong one after a weak one takes over the record in its place; relocations against it that were collected so far in constant banks are dropped.

use super::Merger;
use super::literals::FoundBy;
use super::shared::shared_align;
use crate::diagnostics::{Code, Stop};
use crate::ids::{ObjectId, SectionId, SymbolId};
use crate::object::{ObjSection, ObjSymbol, Object, Role, text};
use crate::options::Identity;
use crate::records::SymbolEmission;
use crate::records::*;
use cubin::consts::*;
use cubin::read::SymbolSection;
use cubin::unified::UNIFIED_SYMBOLS;

impl<'d> Merger<'_, 'd, '_, '_> {
    pub(super) fn variable(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) -> Result<(), Stop> {
        let relocatable = self.mode.relocatable;
        if self.report_variable_clash(object, sym) {
            return Ok(());
        }
        if sym.is_shared() && !relocatable {
            self.shared_variable(object, index, sym);
            return Ok(());
        }
        if sym.is_shared() && sym.size == 0 && sym.bind != STB_LOCAL {
            self.dynamic_symbol(object, index, sym);
            return Ok(());
        }
        let section = match sym.section {
            SymbolSection::Undefined | SymbolSection::Reserved(_) => {
                self.undefined(object, index, sym);
                return Ok(());
            }
            SymbolSection::Common => {
                self.common(object, index, sym);
                return Ok(());
            }
            SymbolSection::Index(s) => s,
        };
        let Some(input) = object.section(section).copied() else {
            return Ok(());
        };
        if input.role == Role::Literals {
            if !relocatable {
                return self.literal(object, index, sym, section);
            }
            if !self.is_mine(object, input.info) {
                return Ok(());
            }
            self.place_literals(object, section, FoundBy::Symbol)?;
            if self.is_replaced_literal(object, sym, section) {
                return Ok(());
            }
        }
        self.defined(object, index, sym, section, &input)
    }

    fn defined(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>, section: u32, input: &ObjSection<'d>) -> Result<(), Stop> {
        let hidden = sym.other & 3 == 1 && !self.mode.relocatable && !self.mode.preserve;
        if hidden && input.role != Role::Constant {
            // `_param` and `*.const_opt.*`: only their section is taken.
            self.place(object, section)?;
            self.created_name(sym.name);
            return Ok(());
        }
        let known = if sym.bind == STB_LOCAL { None } else { self.known(sym) };
        if let Some(symbol) = known
            && sym.bind == STB_WEAK
            && (self.records.symbols[symbol].section.is_some() || self.commons.known.contains_key(&symbol))
        {
            return self.weak_loses(object, index, sym, section, symbol);
        }
        let Some((id, base)) = self.place(object, section)? else {
            return Ok(());
        };
        // nvlink quirk: a unified variable that was declared before without its id is not marked as one.
        let unmarked = known
            .map(|symbol| &self.records.symbols[symbol])
            .is_some_and(|known| known.section.is_none() && known.input_other & STO_CUDA_ENTRY == 0);
        let symbol = match known {
            Some(symbol) => {
                self.check(object, sym, symbol);
                if self.replace_or_report(object, sym, symbol) {
                    symbol
                } else {
                    return Ok(());
                }
            }
            None => {
                let new = self.new_symbol(object, sym, sym.bind, STT_OBJECT);
                self.symbol(sym, new)
            }
        };
        self.define(object, index, sym, symbol, id, base);
        if unmarked {
            let record = &mut self.records.symbols[symbol];
            record.other &= !STO_CUDA_ENTRY;
            record.input_other &= !STO_CUDA_ENTRY;
        }
        // Position-independent code reads addresses from a constant bank; the names of its entries end here.
        self.records.symbols[symbol].emission = if hidden { SymbolEmission::Hidden } else { SymbolEmission::Emit };
        if input.role == Role::UnifiedData && !self.mode.relocatable {
            self.records.unified.variables.push(UnifiedVar {
                symbol: object.symbol_ref(index),
                out: symbol,
            });
        }
        Ok(())
    }

    fn weak_loses(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>, section: u32, symbol: SymbolId) -> Result<(), Stop> {
        self.check(object, sym, symbol);
        let is_initialized = object.section(section).is_some_and(|s| s.role == Role::GlobalInit);
        let strands = self.mode.rules.strands_commons && self.mode.relocatable && self.options.identity == Identity::Nvlink;
        if strands && !is_initialized && self.records.symbols[symbol].section.is_none() {
            // nvlink quirk: the file cannot be linked.
            self.commons.stranded.insert(symbol);
        }
        if is_initialized && self.commons.known.contains_key(&symbol) && self.records.symbols[symbol].section.is_none() {
            // The common variable stays, with room for both; messages name the file of the definition.
            let size = self.commons.losers.entry(symbol).or_default();
            *size = sym.size.max(*size);
            self.records.symbols[symbol].first_mention = object.id;
        }
        let reference = object.symbol_ref(index);
        self.records.placement.symbols[reference] = Place::Symbol(symbol);
        self.records.quirks.overridden.push(reference);
        if self.records.symbols[symbol].bind == STB_WEAK {
            self.records.quirks.overridden_by_weak.push(reference);
        }
        // After a definition without initial value the section comes with those that no symbol requested.
        let later = self.records.symbols[symbol]
            .section
            .is_some_and(|id| self.records.sections[id].class == Class::Global);
        let is_taken = |s: &ObjSection<'d>| !matches!(s.role, Role::Global | Role::ReservedShared);
        if !later && object.section(section).is_some_and(is_taken) {
            self.place(object, section)?;
        }
        Ok(())
    }

    /// Two strong definitions are an error; a strong one over a weak one cuts constant-bank relocations read so far.
    fn replace_or_report(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, symbol: SymbolId) -> bool {
        let known = &mut self.records.symbols[symbol];
        if known.section.is_none() {
            return true;
        }
        if known.bind == STB_WEAK {
            known.constant_relocs_dropped_before = object.id;
            self.records.quirks.dropped_relocs.constants = true;
            return true;
        }
        let first = known.first_mention;
        self.multiple_definition(object, sym.name, first);
        false
    }

    fn define(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>, symbol: SymbolId, section: SectionId, base: u64) {
        let relocatable = self.mode.relocatable;
        let shared = sym.is_shared();
        let record = &mut self.records.symbols[symbol];
        record.bind = sym.bind;
        record.kind = if relocatable { sym.kind } else { STT_OBJECT };
        record.other = if relocatable { sym.other } else { sym.other & 0x1f };
        record.input_other = sym.other;
        if self.records.sections[section].class == Class::Literals {
            record.literal_number = self.counted.number(object, index);
        }
        record.section = Some(section);
        // Shared symbols of relocatable files keep their alignment as value.
        record.value = match self.records.sections[section].class {
            _ if shared => shared_align(object, sym),
            // Reserved shared memory: the value in the input is an alignment, until the layout.
            Class::ReservedShared if !relocatable => sym.value,
            _ => sym.value.wrapping_add(base),
        };
        record.size = sym.size;
        record.space = sym.other & STO_CUDA_SPACE;
        record.managed = sym.other & STO_CUDA_MANAGED != 0;
        // nvlink quirk: next to a definition without initial value, an earlier common symbol still gets storage of its own, unless a
        // weak one with initial values came between them. Not so in later releases.
        let joins = self.mode.rules.names_larger_common;
        let replaced = joins || self.records.sections[section].class != Class::Global || self.commons.losers.contains_key(&symbol);
        if replaced && self.commons.known.remove(&symbol).is_some() {
            record.first_mention = object.id;
        }
        record.weak_reference = false;
        if record.emission == SymbolEmission::NameOnly {
            record.emission = SymbolEmission::Emit;
        }
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
        if shared {
            self.sum_shared(object, section, sym);
        }
    }

    fn undefined(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) {
        let relocatable = self.mode.relocatable;
        if sym.bind == STB_LOCAL {
            if relocatable && sym.name == CONSTANT_SIZE_SYMBOL {
                let mut new = self.new_symbol(object, sym, STB_LOCAL, STT_CUDA_OBJECT);
                (new.other, new.input_other, new.size) = (sym.other, sym.other, sym.size);
                let symbol = self.symbol(sym, new);
                self.records.constant_sizes.push(symbol);
                self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
            }
            return;
        }
        let symbol = match self.known(sym) {
            Some(symbol) => {
                self.check(object, sym, symbol);
                self.records.symbols[symbol].weak_reference &= sym.bind == STB_WEAK;
                symbol
            }
            None => {
                let mut new = self.new_symbol(object, sym, STB_GLOBAL, if relocatable { sym.kind } else { STT_OBJECT });
                new.other = if relocatable { sym.other } else { sym.other & STO_CUDA_MANAGED };
                new.input_other = sym.other;
                new.size = sym.size;
                if !relocatable && !self.records.unified.active && UNIFIED_SYMBOLS.contains(&sym.name) {
                    new.emission = SymbolEmission::NameOnly;
                }
                new.space = sym.other & STO_CUDA_SPACE;
                new.managed = sym.other & STO_CUDA_MANAGED != 0;
                new.weak_reference = sym.bind == STB_WEAK;
                let named_space = !object.has_mercury() || sym.other & STO_CUDA_SPACE != 0;
                if relocatable && sym.kind == STT_CUDA_OBJECT && named_space && !self.options.allow_undefined_globals {
                    // No address yet.
                    new.value = u64::MAX;
                }
                self.symbol(sym, new)
            }
        };
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
    }

    fn common(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) {
        let relocatable = self.mode.relocatable;
        let symbol = match self.known(sym) {
            Some(symbol) => {
                let known = &self.records.symbols[symbol];
                let first = known.first_mention;
                // nvlink quirk: a common symbol collides with a definition without initial value, in older releases.
                let in_global = known.section.is_some_and(|id| self.records.sections[id].class == Class::Global);
                let in_global = in_global && !self.mode.rules.names_larger_common;
                let other_space = known.space != sym.other & STO_CUDA_SPACE;
                let collides = known.section.is_some() && known.bind == STB_GLOBAL && (in_global || other_space);
                self.check(object, sym, symbol);
                if collides {
                    self.multiple_definition(object, sym.name, first);
                }
                symbol
            }
            None => {
                let mut new = self.new_symbol(object, sym, STB_GLOBAL, if relocatable { sym.kind } else { STT_OBJECT });
                new.other = if relocatable { sym.other } else { 0 };
                new.input_other = sym.other;
                new.space = sym.other & STO_CUDA_SPACE;
                new.managed = sym.other & STO_CUDA_MANAGED != 0;
                self.symbol(sym, new)
            }
        };
        let record = &mut self.records.symbols[symbol];
        // nvlink quirk: next to a weak definition without initial value it gets storage, and the symbol moves there. Not so in later releases.
        let moves = record.bind == STB_WEAK && !self.mode.rules.names_larger_common;
        let weak = moves && record.section.is_some_and(|id| self.records.sections[id].class == Class::Global);
        if record.section.is_none() || weak {
            let known = self.commons.known.get(&symbol).copied();
            let (align, size) = known.unwrap_or((sym.value, 0));
            if known.is_none() {
                self.commons.order.push(symbol);
            }
            self.commons.known.insert(symbol, (align, size.max(sym.size)));
            if sym.size > size {
                // Messages name the file with the largest size.
                record.first_mention = object.id;
            }
            record.size = size.max(sym.size);
        }
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
    }

    /// Every incoming variable is checked against what is known of its name.
    fn check(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, symbol: SymbolId) {
        let known = &self.records.symbols[symbol];
        let link = |first: String| (text(sym.name), object.name.to_string(), first);
        let initialized = self.common_and_initialized(object, sym, symbol);
        let is_common = (known.section.is_none() || known.bind == STB_WEAK) && self.commons.known.contains_key(&symbol);
        let both_common = sym.section == SymbolSection::Common && is_common;
        let is_variable = known.space != NO_SPACE;
        let other_space = is_variable && known.space != sym.other & STO_CUDA_SPACE;
        let other_size = known.size != 0 && sym.size != 0 && known.size != sym.size && !both_common && initialized.is_none();
        let larger_than_global = other_size && is_common && known.size > sym.size && self.mode.rules.names_larger_common;
        let other_kind = is_variable && known.managed != (sym.other & STO_CUDA_MANAGED != 0);
        let first = known.first_mention;
        if other_space {
            let (symbol, file, first) = link(self.file(first));
            self.out.error(Code::SpaceMismatch { symbol, file, first });
        }
        if other_kind {
            let (symbol, file, first) = link(self.file(first));
            self.out.error(Code::ManagedMismatch { symbol, file, first });
        }
        if larger_than_global && sym.defined_in().is_some() {
            let (symbol, _, file) = link(self.file(first));
            self.out.error(Code::CommonLarger { symbol, file });
        }
        if other_size {
            let (symbol, file, first) = link(self.file(first));
            self.out.error(Code::SizeMismatch { symbol, file, first });
        }
        if let Some((common, file, size)) = initialized
            && common > size
        {
            let file = self.file(file);
            self.out.error(Code::CommonLarger {
                symbol: text(sym.name),
                file,
            });
        }
        // nvlink quirk: an array without a size takes none from a later declaration.
        let takes_size = self.options.identity == Identity::Culd || sym.section != SymbolSection::Undefined;
        let known = &mut self.records.symbols[symbol];
        if known.size == 0 && takes_size {
            known.size = sym.size;
        }
    }

    /// A common variable and a definition with initial values, in any order: the size of the common one and the file that declares it,
    /// and the size of the definition. The common one may be smaller.
    fn common_and_initialized(&self, object: &Object<'d>, sym: &ObjSymbol<'d>, symbol: SymbolId) -> Option<(u64, ObjectId, u64)> {
        let known = &self.records.symbols[symbol];
        match sym.section {
            SymbolSection::Common => {
                let class = self.records.sections[known.section?].class;
                (class == Class::GlobalInit).then_some((sym.size, object.id, known.size))
            }
            // A weak definition without initial values leaves the name to the common variable, a strong one does not.
            SymbolSection::Index(section) if known.section.is_none() || known.bind == STB_WEAK => {
                let (_, size) = self.commons.known.get(&symbol).copied()?;
                let role = object.section(section)?.role;
                (role == Role::GlobalInit).then_some((size, known.first_mention, sym.size))
            }
            _ => None,
        }
    }

    /// Texture, sampler and surface references: undefined-like global symbols.
    pub(super) fn texture(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) {
        if sym.bind == STB_LOCAL {
            self.texture_parameter(object, index, sym);
            return;
        }
        if self.report_texture_clash(object, sym) {
            return;
        }
        let symbol = match self.known(sym) {
            Some(symbol) => symbol,
            None => {
                let mut new = self.new_symbol(object, sym, STB_GLOBAL, sym.kind);
                new.other = if self.mode.relocatable { sym.other } else { 0 };
                new.size = if self.mode.relocatable { sym.size } else { 0 };
                self.symbol(sym, new)
            }
        };
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
    }

    /// A kernel parameter: a local symbol on the kernel's text. A copy that replaces another finds that one's.
    fn texture_parameter(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) {
        let Some((text, _)) = sym
            .defined_in()
            .and_then(|s| self.records.placement.sections[object.section_ref(s)])
        else {
            return;
        };
        let symbol = match self.texture_parameters.get(&(text, sym.name)) {
            Some(&known) => known,
            None => {
                let mut new = self.new_symbol(object, sym, STB_LOCAL, sym.kind);
                (new.other, new.size, new.section) = (sym.other, sym.size, Some(text));
                let symbol = self.symbol(sym, new);
                self.texture_parameters.insert((text, sym.name), symbol);
                symbol
            }
        };
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
    }
}
