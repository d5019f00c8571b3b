//! Shared variables of one object.
//!
//! In inputs the value of a shared symbol is its alignment. Variables of `.nv.shared.K` belong to kernel K, all copies of K included; the
//! others are the module's: global and weak ones are known by name, static ones are their own. Without a size anywhere a variable is
//! dynamic. Symbols are only made for a debugger, for `--preserve-relocs` and for relocatable outputs.

use super::Merger;
use crate::align::align_up;
use crate::diagnostics::Code;
use crate::ids::{FunctionId, SectionId, SharedId};
use crate::names::Name;
use crate::object::{ObjSection, ObjSymbol, Object, Role, text};
use crate::options::Identity;
use crate::records::*;
use cubin::consts::*;

impl<'d> Merger<'_, 'd, '_, '_> {
    pub(super) fn shared_variable(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) {
        let section = sym
            .defined_in()
            .and_then(|s| object.section(s))
            .filter(|s| s.role == Role::KernelShared);
        let kernel = section.map(|s| object.owner_of(s).and_then(|o| self.resolved.function(object.symbol_ref(o))));
        let id = match (section, kernel) {
            (Some(section), Some(kernel)) => {
                let name = section.name.strip_prefix(b".nv.shared.").unwrap_or_default();
                self.own_variable(object, sym, name, kernel)
            }
            _ => self.module_variable(object, index, sym),
        };
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Shared(id);
        let own_of_dead = kernel.is_some_and(|k| k.is_none_or(|k| !self.live.alive[k]));
        let internal = sym.other & 3 == 1;
        if self.mode.shared_symbols() && (!internal || self.mode.preserve) && !own_of_dead {
            self.shared_symbol(object, sym, id, section.map(|s| s.name));
        }
    }

    fn own_variable(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, name: &'d [u8], kernel: Option<FunctionId>) -> SharedId {
        let mut var = new_variable(object, sym);
        let align = shared_align(object, sym);
        (var.align, var.size, var.defined, var.kernel) = (align, sym.size, true, kernel);
        let id = self.records.shared.variables.push(var);
        let Some(kernel) = kernel else { return id };
        self.records.created.dropped_section(self.mode, Name::new(b".nv.shared.", name));
        self.created_name(sym.name);
        if self.records.functions[kernel].shared.is_none() {
            // A kernel that was not selected still makes the record; it is emitted only if the kernel stays.
            let section = self.kernel_shared_section(name);
            let text = self.records.functions[kernel].text;
            self.records.functions[kernel].shared = Some(section);
            let record = &mut self.records.sections[section];
            record.owner = record.owner.or(text);
        }
        if self.live.alive[kernel] {
            self.records.shared.of_kernels.push((kernel, id));
        }
        if object.is_ewp {
            self.records.shared.whole.push(WholeShared {
                kernel,
                size: sym.size,
                align,
                variable: Some((id, sym.value)),
            });
        }
        id
    }

    fn is_whole(&self, object: &Object<'d>, index: u32) -> bool {
        match self.options.identity {
            // nvlink quirk: with a debugger, and in a relocatable output that is linked again, this memory is lost.
            Identity::Nvlink => {
                let is_laid_out = self.mode.rules.counts_laid_out_shared && !has_variables(object, index);
                (object.is_ewp || is_laid_out) && (!self.mode.debug_symbols || self.mode.rules.debug_keeps_laid_out_shared)
            }
            Identity::Culd => object.is_ewp || !has_variables(object, index),
        }
    }

    /// What shared memory that a compiler laid out (`-ewp`) leaves after everything else of the object: that of functions, and of kernels that were
    /// not selected.
    ///
    /// nvlink quirk: a dead kernel leaves the name of the section.
    pub(super) fn late_whole_shared(&mut self, object: &Object<'d>) {
        if !object.is_ewp {
            return;
        }
        for (index, s) in (0..).zip(&object.sections).filter(|(_, s)| s.role == Role::KernelShared) {
            if !self.is_whole(object, index) {
                continue;
            }
            let name = s.name.strip_prefix(b".nv.shared.").unwrap_or_default();
            let late = self.whole_owner(object, s).filter(|&f| self.records.functions[f].shared.is_none());
            if let Some(f) = late {
                let id = self.kernel_shared_section(name);
                let text = self.records.functions[f].text;
                self.records.functions[f].shared = Some(id);
                self.records.sections[id].owner = self.records.sections[id].owner.or(text);
                self.whole_shared(object, index, s);
            } else if self.options.identity == Identity::Nvlink && self.dead_owner(object, s.info).is_some() {
                self.kernel_shared_section(name);
            }
        }
    }

    /// The function that a section of shared memory without variables counts for.
    ///
    /// nvlink quirk: copies of a weak kernel that were not taken count too.
    fn whole_owner(&self, object: &Object<'d>, s: &ObjSection<'d>) -> Option<FunctionId> {
        let f = object.owner_of(s).and_then(|o| self.resolved.function(object.symbol_ref(o)))?;
        let every_copy = self.options.identity == Identity::Nvlink && object.is_ewp && self.records.functions[f].text.is_some();
        (every_copy || self.is_mine(object, s.info)).then_some(f)
    }

    /// Shared memory of a kernel that a compiler laid out (`-ewp`): the section has a size, and no variables.
    pub(super) fn whole_shared(&mut self, object: &Object<'d>, index: u32, s: &ObjSection<'d>) {
        let is_whole = self.is_whole(object, index);
        let is_placed = !is_whole && self.options.identity == Identity::Culd && self.has_placed_dynamic(object);
        if !is_whole && !is_placed {
            return;
        }
        let Some(f) = self.whole_owner(object, s) else { return };
        let Some(id) = self.records.functions[f].shared else { return };
        if is_placed {
            self.records.shared.placed.push((f, s.size));
            return;
        }
        let align = s.align.get();
        if self.mode.relocatable {
            let record = &mut self.records.sections[id];
            record.size = align_up(record.size, align).saturating_add(s.size);
            record.align = record.align.max(align);
        }
        self.records.shared.whole.push(WholeShared {
            kernel: f,
            size: s.size,
            align,
            variable: None,
        });
        if !object.is_ewp {
            self.records.shared.summed.insert(f);
        }
    }

    /// The `.nv_debug.shared` of an object compiled with `-ewp`, which is empty: its variables are in the sections of kernels.
    ///
    /// nvlink quirk: it stays as a section of its own if no variable of the module came before; under `-r` it has the size of its alignment.
    pub(super) fn empty_shared(&mut self, object: &Object<'d>, s: &ObjSection<'d>) {
        if !object.is_ewp || self.mode.debug_symbols || self.options.identity != Identity::Nvlink {
            return;
        }
        let align = s.align.get();
        if let Some(&id) = self.named_sections.get(s.name) {
            if self.mode.relocatable {
                let record = &mut self.records.sections[id];
                record.size = align_up(record.size, align).saturating_add(s.size);
                record.align = record.align.max(align);
                self.records.shared.module_align = self.records.shared.module_align.max(align);
                self.records.shared.module_whole = Some(align);
            }
            return;
        }
        if s.size != 0 {
            return;
        }
        let id = match self.empty_shared {
            Some(id) => id,
            None => {
                let id = self.section(Name::plain(s.name), Class::EmptyShared, SHT_CUDA_SHARED, s.flags, align, 0);
                *self.empty_shared.insert(id)
            }
        };
        let record = &mut self.records.sections[id];
        record.align = record.align.max(align);
        if self.mode.relocatable {
            record.size = record.align;
        }
    }

    /// [`has_placed_dynamic`], once for all sections of an object.
    fn has_placed_dynamic(&mut self, object: &Object<'d>) -> bool {
        match self.placed_dynamic {
            Some((id, known)) if id == object.id => known,
            _ => {
                let placed = has_placed_dynamic(object);
                self.placed_dynamic = Some((object.id, placed));
                placed
            }
        }
    }

    fn module_variable(&mut self, object: &Object<'d>, _index: u32, sym: &ObjSymbol<'d>) -> SharedId {
        let known = if sym.bind == STB_LOCAL {
            None
        } else {
            self.shared_by_name.get(sym.name).copied()
        };
        let id = known.unwrap_or_else(|| {
            let mut var = new_variable(object, sym);
            var.position = self.records.order.globals.len();
            if sym.defined_in().is_none() && sym.size == 0 {
                var.align = shared_align(object, sym);
            }
            let id = self.records.shared.variables.push(var);
            if sym.bind != STB_LOCAL {
                self.shared_by_name.insert(sym.name, id);
            }
            id
        });
        let defined = sym.defined_in().is_some();
        if !defined && sym.size == 0 && self.options.identity == Identity::Culd {
            // nvlink takes the alignment of the first declaration, which may be too small for another.
            let var = &mut self.records.shared.variables[id];
            var.align = var.align.max(sym.value);
        }
        self.check_shared(object, sym, id);
        let var = &mut self.records.shared.variables[id];
        if var.mentioned == 0 {
            var.mentioned = sym.size;
        }
        if defined && var.defined && var.bind == STB_WEAK && sym.bind == STB_GLOBAL {
            // nvlink quirk: a strong definition after a weak one takes space a second time.
            self.records.shared.module.push(id);
        }
        let var = &mut self.records.shared.variables[id];
        if defined && (!var.defined || (var.bind == STB_WEAK && sym.bind == STB_GLOBAL)) {
            let counts = sym.size != 0 || self.mode.rules.dynamic_alignment;
            let align = if counts { shared_align(object, sym) } else { 0 };
            (var.align, var.size, var.defined, var.bind) = (align, sym.size, true, sym.bind);
        }
        if !defined && sym.size != 0 && !var.defined {
            var.wanted = true;
        }
        if defined || sym.size == 0 {
            if !std::mem::replace(&mut var.listed, true) {
                self.records.shared.module.push(id);
            }
            self.module_shared_section(1);
        }
        self.records.shared.has_dynamic |= sym.size == 0;
        self.created_name(sym.name);
        id
    }

    fn check_shared(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, id: SharedId) {
        let var = &self.records.shared.variables[id];
        let size = if var.size != 0 { var.size } else { var.mentioned };
        let strong_before = var.defined && var.bind == STB_GLOBAL;
        let dynamic_before = var.is_dynamic() && sym.size == 0 && var.listed;
        let (first, twice) = (
            var.first_mention,
            sym.defined_in().is_some() && sym.bind == STB_GLOBAL && (strong_before || dynamic_before),
        );
        if sym.bind != STB_LOCAL && size != 0 && sym.size != 0 && size != sym.size {
            let first = self.file(first);
            self.out.error(Code::SizeMismatch {
                symbol: text(sym.name),
                file: object.name.into(),
                first,
            });
        }
        if twice {
            self.multiple_definition(object, sym.name, first);
        }
    }

    /// `.nv_debug.shared`.
    pub(super) fn module_shared_section(&mut self, align: u64) -> SectionId {
        self.named_section(b".nv_debug.shared", Class::ModuleShared, SHT_CUDA_SHARED, 3, align)
    }

    /// Symbol of a shared variable for a debugger or for preserved relocations.
    fn shared_symbol(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, id: SharedId, own_section: Option<&'d [u8]>) {
        let defined = sym.defined_in().is_some();
        let section = match own_section.and_then(|name| name.strip_prefix(b".nv.shared.")) {
            Some(name) => Some(self.kernel_shared_section(name)),
            None if defined || sym.size == 0 => Some(self.module_shared_section(1)),
            None => None,
        };
        let known = if sym.bind == STB_LOCAL { None } else { self.known(sym) };
        let symbol = known.unwrap_or_else(|| {
            let mut new = self.new_symbol(object, sym, sym.bind, STT_OBJECT);
            let internal = sym.other & 3 == 1;
            new.other = u8::from(internal || (self.mode.preserve && !self.mode.debug_symbols));
            new.input_other = sym.other | new.other;
            (new.section, new.size, new.shared) = (section, sym.size, Some(id));
            self.symbol(sym, new)
        });
        let var = &mut self.records.shared.variables[id];
        var.symbol.get_or_insert(symbol);
        let strong_over_weak = sym.bind == STB_GLOBAL && self.records.symbols[symbol].bind == STB_WEAK;
        if defined && (!std::mem::replace(&mut var.symbol_defined, true) || strong_over_weak) {
            let record = &mut self.records.symbols[symbol];
            (record.size, record.bind, record.section) = (sym.size, sym.bind, section);
            record.input_other = sym.other | record.other;
        }
    }

    /// Relocatable output: a dynamic variable becomes a definition in `.nv_debug.shared`.
    pub(super) fn dynamic_symbol(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>) {
        let section = self.module_shared_section(16);
        let symbol = match self.known(sym) {
            Some(symbol) => {
                // nvlink quirk: a dynamic variable that an earlier relocatable link defined collides with any earlier mention.
                if sym.defined_in().is_some() && sym.bind == STB_GLOBAL {
                    let first = self.records.symbols[symbol].first_mention;
                    self.multiple_definition(object, sym.name, first);
                }
                symbol
            }
            None => {
                // nvlink quirk: the place that an earlier relocatable link with a debugger gave to a variable counts as an alignment.
                let value = shared_align(object, sym);
                let is_align = self.options.identity == Identity::Nvlink || value.is_power_of_two();
                let align = if is_align { value } else { 0 };
                let record = &mut self.records.sections[section];
                record.align = record.align.max(align);
                self.records.shared.module_align = self.records.shared.module_align.max(align);
                let mut new = self.new_symbol(object, sym, sym.bind, STT_CUDA_OBJECT);
                (new.other, new.value) = (sym.other, value);
                self.symbol(sym, new)
            }
        };
        let record = &mut self.records.symbols[symbol];
        (record.section, record.dynamic) = (Some(section), true);
        self.records.placement.symbols[object.symbol_ref(index)] = Place::Symbol(symbol);
        self.records.shared.has_dynamic = true;
    }

    /// Relocatable output: sizes are summed, not laid out.
    pub(super) fn sum_shared(&mut self, object: &Object<'d>, section: SectionId, sym: &ObjSymbol<'d>) {
        let align = shared_align(object, sym);
        let record = &mut self.records.sections[section];
        record.size = match object.is_ewp {
            true => record.size.max(sym.value.saturating_add(sym.size)),
            false => record.size.saturating_add(sym.size),
        };
        record.align = record.align.max(align);
        if record.class == Class::ModuleShared {
            self.records.shared.module_align = self.records.shared.module_align.max(align);
        }
    }
}

/// Alignment of a shared variable.
///
/// nvlink quirk: those of an extensible whole program (`-ewp`) have their offset as value, and any alignment.
pub(super) fn shared_align(object: &Object<'_>, sym: &ObjSymbol<'_>) -> u64 {
    if object.is_ewp { 1 } else { sym.value }
}

/// Are there variables in the shared memory of kernels?
pub(super) fn has_own_variables(object: &Object<'_>) -> bool {
    let is_own = |s: u32| object.section(s).is_some_and(|s| s.role == Role::KernelShared);
    let variables = &mut object.symbols_of(&[STT_CUDA_OBJECT]);
    variables.any(|i| object.symbol(i).defined_in().is_some_and(is_own))
}

fn has_variables(object: &Object<'_>, section: u32) -> bool {
    let variables = &mut object.symbols_of(&[STT_CUDA_OBJECT]);
    variables.any(|i| object.symbol(i).defined_in() == Some(section))
}

/// Did an earlier relocatable link with a debugger place dynamic memory? Its text has the addresses already; without a debugger there would be an
/// instance for each kernel.
fn has_placed_dynamic(object: &Object<'_>) -> bool {
    let variables = || object.symbols_of(&[STT_CUDA_OBJECT]).map(|i| object.symbol(i));
    let is_placed = |sym: &ObjSymbol<'_>| {
        let space = sym.other & STO_CUDA_SPACE;
        space == STO_CUDA_SHARED && sym.size == 0 && sym.value != 0 && sym.defined_in().is_some()
    };
    variables().any(|sym| is_placed(&sym)) && !variables().any(|sym| sym.name == b"externsharedinstance")
}

fn new_variable<'d>(object: &Object<'d>, sym: &ObjSymbol<'d>) -> SharedVar<'d> {
    SharedVar {
        name: sym.name,
        align: 0,
        size: 0,
        mentioned: 0,
        defined: false,
        bind: 0,
        first_mention: object.id,
        wanted: false,
        listed: false,
        kernel: None,
        symbol: None,
        symbol_defined: false,
        dead_reference: false,
        position: 0,
    }
}
