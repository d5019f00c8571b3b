//! Functions of one object, in symbol order.
//!
//! A rejected copy only maps its symbol to the winner. A copy taken over a known one keeps the symbol's and the section's place and brings
//! binding, size, bytes; the old body's relocations and literals are dropped, and so are debug relocations against it if an earlier copy had text
//! relocations.

use super::Merger;
use crate::diagnostics::Stop;
use crate::ids::{FunctionId, Id as _, SectionId, SymbolRef};
use crate::mode::Mode;
use crate::names::Name;
use crate::object::{NO_OWNER, ObjSection, ObjSymbol, Object, Role};
use crate::records::*;
use cubin::consts::*;
use cubin::driver::is_driver_function;

impl<'d> Merger<'_, 'd, '_, '_> {
    pub(super) fn function(&mut self, object: &Object<'d>, index: u32) -> Result<(), Stop> {
        let symbol = object.symbol_ref(index);
        let Some(f) = self.resolved.function(symbol) else { return Ok(()) };
        if self.adds_nothing(f, symbol) {
            return Ok(());
        }
        let sym = object.symbol(index);
        if self.report_function_clash(object, f, &sym)? {
            return Ok(());
        }
        if let Some(outer) = object.outer(index) {
            self.inner_function(object, f, &sym, outer);
            return Ok(());
        }
        let section = sym.defined_in().and_then(|s| object.section(s));
        let took = self.resolved.took(symbol);
        if let (Some(section), true) = (section, took) {
            self.note_relocations(object, f, section);
        }
        if !self.live.alive[f] {
            self.created_dead(object, f, &sym);
            if section.is_some() && took {
                self.records.count_dead_section(f, 0);
                if sym.other & STO_CUDA_ENTRY != 0 {
                    self.records.count_dead_section(f, 1);
                    self.unselected_kernel(sym.name);
                } else if is_driver_function(sym.name) {
                    self.kernel_shared_section(sym.name);
                }
            }
            return Ok(());
        }
        let (Some(section), Some(section_index)) = (section, sym.defined_in()) else {
            if self.records.symbol_of[f].is_none() {
                self.unnamed_function(object, &sym);
                let new = self.undefined_function(object, &sym);
                self.function_symbol(f, &sym, new);
            }
            return Ok(());
        };
        if !took {
            return Ok(());
        }
        if section.role == Role::Stub && !self.mode.relocatable {
            self.stub(object, f, &sym, section_index);
            return Ok(());
        }
        let first_seen_undefined = self.records.symbol_of[f].is_some() && self.records.functions[f].text.is_none();
        if self.records.symbol_of[f].is_none() {
            let new = self.new_symbol(object, &sym, sym.bind, STT_FUNC);
            self.function_symbol(f, &sym, new);
        }
        self.take_over(f, &sym, first_seen_undefined);
        if self.records.functions[f].text.is_some() {
            self.drop_body(f);
        }
        if is_alias(&sym, section, object) {
            self.alias(object, f, section_index);
            return Ok(());
        }
        let id = self.text_section(f, &sym, section);
        let piece = Piece {
            object: object.id,
            section: section_index,
            base: 0,
        };
        set_body(self.mode, &mut self.records.sections[id], section, piece);
        set_header_facts(&mut self.records.functions[f], section);
        self.records.placement.sections[object.section_ref(section_index)] = Some((id, 0));
        if let Some(symbol) = self.records.symbol_of[f] {
            self.records.symbols[symbol].section = Some(id);
        }
        // nvlink quirk: functions that the driver provides have a kernel's sections where an input defines them.
        let is_late = self.live.late.binary_search(&f).is_ok();
        if (sym.other & STO_CUDA_ENTRY != 0 && !is_late) || is_driver_function(sym.name) {
            self.kernel_sections(f, sym.name, id);
        }
        Ok(())
    }

    pub(super) fn undefined_function(&self, object: &Object<'d>, sym: &ObjSymbol<'d>) -> OutSymbol<'d> {
        let mut new = self.new_symbol(object, sym, STB_GLOBAL, STT_FUNC);
        new.other = if self.mode.relocatable { sym.other } else { 0 };
        new.weak_reference = sym.bind == STB_WEAK;
        new
    }

    /// Most symbols of functions are further mentions of one that has its symbol: undefined ones and rejected copies. They cannot clash with anything
    /// either, if the name's record is the function's and there are no shared variables.
    pub(super) fn adds_nothing(&self, f: FunctionId, symbol: SymbolRef) -> bool {
        let Some(known) = self.records.symbol_of[f] else { return false };
        let is_the_name = || self.resolved.name(symbol).is_some_and(|name| self.by_name[name] == Some(known));
        !self.resolved.took(symbol) && self.live.alive[f] && self.shared_by_name.is_empty() && is_the_name()
    }

    /// Names of the records that nvlink makes for a dead function and drops again.
    fn created_dead(&mut self, object: &Object<'d>, f: FunctionId, sym: &ObjSymbol<'d>) {
        if !self.mode.rules.keeps_dead_names {
            return;
        }
        let is_new = self.dead_seen.insert(f);
        if sym.defined_in().is_none() {
            if is_new {
                self.unnamed_function(object, sym);
                self.created_name(sym.name);
            }
            return;
        }
        if !self.resolved.took(sym.reference) {
            return;
        }
        self.created_name(sym.name);
        let created = &mut self.records.created;
        let section = sym.defined_in().and_then(|s| object.section(s));
        if section.is_some_and(|s| is_alias(sym, s, object)) {
            return;
        }
        created.dropped_section(self.mode, Name::new(b".text.", sym.name));
        if is_driver_function(sym.name) {
            created.dropped_section(self.mode, Name::new(b".nv.info.", sym.name));
        }
    }

    /// nvlink quirk: up to CUDA 12.9 the first undefined function of a file that is new to the link comes with a symbol without a name.
    fn unnamed_function(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>) {
        let stays = self.options.debug || self.mode.preserve;
        let is_kernel = sym.other & STO_CUDA_ENTRY != 0;
        if !is_kernel {
            self.created_name(b"");
        }
        if !self.mode.rules.unnamed_symbols || !stays || is_kernel || self.unnamed_in == Some(object.id) {
            return;
        }
        if self.unnamed_in.is_none() {
            self.records.quirks.unnamed_have_first_name = self.has_empty_prototype_before(object);
        }
        self.unnamed_in = Some(object.id);
        let mut unnamed = self.new_symbol(object, sym, STB_LOCAL, STT_FUNC);
        (unnamed.name, unnamed.name_id) = (b"", None);
        let id = self.records.symbols.push(unnamed);
        self.records.order.locals.push(SymbolTableEntry::Symbol(id));
        // Attributes about no symbol, which are those of parameters, name it.
        self.records.placement.symbols[object.symbol_ref(0)] = Place::Symbol(id);
    }

    /// Whether an object before this one mentions an empty prototype.
    fn has_empty_prototype_before(&self, object: &Object<'d>) -> bool {
        let counts = self.resolved.mentioned_until.as_slice();
        let before = object.id.index().checked_sub(1).and_then(|last| counts.get(last));
        let mentioned = before.and_then(|&count| self.resolved.mentioned.get(..count as usize));
        let mut strings = mentioned.unwrap_or_default().iter().map(|&p| self.resolved.prototypes.string(p));
        strings.any(<[u8]>::is_empty)
    }

    /// A function inside another one's text.
    fn inner_function(&mut self, object: &Object<'d>, f: FunctionId, sym: &ObjSymbol<'d>, outer: u32) {
        if !self.live.alive[f] || !self.resolved.took(sym.reference) {
            return;
        }
        if self.records.symbol_of[f].is_none() {
            let new = self.new_symbol(object, sym, sym.bind, STT_FUNC);
            self.function_symbol(f, sym, new);
        }
        self.take_over(f, sym, false);
        let text = self
            .resolved
            .function(object.symbol_ref(outer))
            .and_then(|o| self.records.functions[o].text);
        if let Some(symbol) = self.records.symbol_of[f] {
            self.records.symbols[symbol].section = text;
        }
    }

    /// nvlink quirk: a kernel that host objects do not reference leaves the name of its shared section.
    fn unselected_kernel(&mut self, name: &'d [u8]) {
        if self.options.kernels.as_ref().is_some_and(|k| !k.early) {
            self.kernel_shared_section(name);
        }
    }

    /// Remembers whether taken copies have text relocations: replacing such a copy drops debug relocations read so far.
    fn note_relocations(&mut self, object: &Object<'d>, f: FunctionId, section: &ObjSection<'d>) {
        let function = &mut self.records.functions[f];
        if function.relocated == Some(true) {
            function.relocs_dropped_before = object.id;
            self.records.quirks.dropped_relocs.debug = true;
        }
        function.relocated = Some(function.relocated == Some(true) || section.relocated);
    }

    fn function_symbol(&mut self, f: FunctionId, sym: &ObjSymbol<'d>, mut new: OutSymbol<'d>) {
        new.function = Some(f);
        let id = self.symbol(sym, new);
        self.records.symbol_of[f] = Some(id);
    }

    fn take_over(&mut self, f: FunctionId, sym: &ObjSymbol<'d>, first_seen_undefined: bool) {
        self.records.functions[f].bind = sym.bind;
        if let Some(id) = self.records.symbol_of[f] {
            define_symbol(self.mode, &mut self.records.symbols[id], sym, first_seen_undefined);
        }
    }

    /// Drops the old body of a replaced function and its literals. (Its relocations are dropped because its section is no longer placed there.)
    ///
    /// nvlink quirk: only the bank that is found first by name is emptied, which may be the record of a losing copy.
    fn drop_body(&mut self, f: FunctionId) {
        let function = &self.records.functions[f];
        if let Some(id) = function.orphaned_literals.or(function.literals) {
            let record = &mut self.records.sections[id];
            record.size = 0;
            record.bytes = None;
            record.pieces = Pieces::EMPTY;
            return;
        }
        let index = function.literal_index;
        if let Some(literals) = index.and_then(|i| self.records.literals.banks.get_mut(i as usize)) {
            literals.bytes.clear();
            literals.regions.clear();
            literals.last_losing = None;
        }
    }

    /// A second symbol on another function's section.
    fn alias(&mut self, object: &Object<'d>, f: FunctionId, section: u32) {
        let owner = object
            .section(section)
            .map(|s| object.symbol_ref(s.owner))
            .and_then(|sym| self.resolved.function(sym));
        let target = owner.and_then(|o| self.records.functions[o].text);
        self.records.functions[f].alias_of = owner;
        self.records.has_aliases |= owner.is_some();
        if let (Some(symbol), Some(target)) = (self.records.symbol_of[f], target) {
            self.records.symbols[symbol].section = Some(target);
        }
    }

    fn text_section(&mut self, f: FunctionId, sym: &ObjSymbol<'d>, section: &ObjSection<'d>) -> SectionId {
        if let Some(id) = self.records.functions[f].text {
            return id;
        }
        let id = if section.role == Role::Stub {
            self.section(
                Name::plain(section.name),
                Class::Stub(f),
                section.sh_type,
                6,
                section.align.get(),
                128,
            )
        } else {
            self.records.add_section(self.mode, text_record(f, sym.name, section))
        };
        self.records.functions[f].text = Some(id);
        id
    }

    fn kernel_sections(&mut self, f: FunctionId, name: &'d [u8], text: SectionId) {
        if self.records.functions[f].info.is_none() {
            self.info_section(f, kernel_info_name(name), text);
        }
        let shared = self.kernel_shared_section(name);
        self.records.sections[shared].owner.get_or_insert(text);
        self.records.functions[f].shared = Some(shared);
    }

    pub(super) fn info_section(&mut self, f: FunctionId, name: Name<'d>, text: SectionId) {
        let id = self.records.add_section(self.mode, info_record(f, name));
        self.records.sections[id].owner = Some(text);
        self.records.functions[f].info = Some(id);
    }

    /// `.nv.shared.K`: one per name, even for two static kernels.
    pub(super) fn kernel_shared_section(&mut self, name: &'d [u8]) -> SectionId {
        if let Some(&id) = self.kernel_shared.get(name) {
            return id;
        }
        let id = self.records.add_section(self.mode, kernel_shared_record(name));
        self.kernel_shared.insert(name, id);
        id
    }
}

/// A symbol takes what a definition of its function says.
pub(super) fn define_symbol(mode: Mode, symbol: &mut OutSymbol<'_>, sym: &ObjSymbol<'_>, first_seen_undefined: bool) {
    symbol.bind = sym.bind;
    symbol.other = if mode.relocatable { sym.other } else { sym.other & 0x1f };
    if first_seen_undefined {
        // Bit 2 marks some unified functions; it is lost when the symbol was first seen undefined.
        symbol.other &= !STO_CUDA_MANAGED;
    }
    symbol.weak_reference = false;
    (symbol.value, symbol.size) = (sym.value, sym.size);
}

/// A text section takes the body of a definition.
pub(super) fn set_body(mode: Mode, record: &mut OutSection<'_>, section: &ObjSection<'_>, piece: Piece) {
    record.align = record.align.max(section.align.get());
    record.size = section.size;
    record.flags = text_flags(mode, section);
    record.pieces = Pieces::One(piece);
}

/// What the header of a text section says about its function.
pub(super) fn set_header_facts(function: &mut OutFunction, section: &ObjSection<'_>) {
    function.barriers = section.barriers();
    function.registers = (section.info >> 24) as u8;
}

pub(super) fn text_record<'d>(f: FunctionId, name: &'d [u8], section: &ObjSection<'d>) -> NewSection<'d> {
    NewSection {
        name: Name::new(b".text.", name),
        class: Class::Text(f),
        sh_type: section.sh_type,
        flags: 6,
        align: section.align.get(),
        entsize: 0,
    }
}

pub(super) fn kernel_info_name(name: &[u8]) -> Name<'_> {
    Name::new(b".nv.info.", name)
}

pub(super) fn info_record(f: FunctionId, name: Name<'_>) -> NewSection<'_> {
    NewSection {
        name,
        class: Class::FunctionInfo(f),
        sh_type: SHT_CUDA_INFO,
        flags: SHF_INFO_LINK,
        align: 4,
        entsize: 0,
    }
}

/// Is a symbol in the local part of the symbol list?
pub(super) fn symbol_is_local(mode: Mode, bind: u8) -> bool {
    bind != STB_GLOBAL && (bind == STB_LOCAL || !mode.rules.weak_symbols_global)
}

/// Does another function own the section?
fn is_alias(sym: &ObjSymbol<'_>, section: &ObjSection<'_>, object: &Object<'_>) -> bool {
    section.role == Role::Text && section.owner != NO_OWNER && object.symbol_ref(section.owner) != sym.reference
}

/// Flags of a text section: a relocatable output keeps the barrier bits.
fn text_flags(mode: Mode, section: &ObjSection<'_>) -> u64 {
    if mode.relocatable {
        6 | u64::from(section.barriers()) << 20
    } else {
        6
    }
}
