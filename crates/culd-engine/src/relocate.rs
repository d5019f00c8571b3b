//! Relocations: what happens to each one.
//!
//! 1. Once per object, every symbol gets a [`SymbolTarget`]: where it ended up, or that it must be left to the driver.
//! 2. [`RelocResolver::decide`] turns type, meaning and place of a relocation into a [`RelocAction`]: drop, clear, patch, or keep.
//! 3. [`plan()`] counts the kept and the listed ones, so that sections get their sizes before any byte is written.
//!
//! Kept relocations are written in reverse order of arrival; those read from RELA go to `.rela.X`, others to `.rel.X`.

mod plan;

pub use plan::{RelocPlan, plan};

use crate::ids::{FunctionId, SectionId, SectionRef, SharedId, SymbolId};
use crate::layout::constants::user_size;
use crate::layout::shared::DYNAMIC_ALIGN;
use crate::layout::{Layout, Moves};
use crate::merge::DroppedEntries;
use crate::object::Object;
use crate::options::Identity;
use crate::records::{Class, DebugKind, Place, RelocRef, SymbolTableEntry};
use crate::records::{RelocForm, SymbolEmission};
use crate::resolve::Fate;
use crate::session::Link;
use cubin::consts::*;
use cubin::layout::R_MERCURY_PROG_REL32;
use cubin::read::Relocations;
use cubin::reloc::{FieldSource, RelocInfo, UNUSED_CLEAR_TYPES, YIELD_TYPES, reloc_info, unified_replacement};
use cubin::unified::UNIFIED_SYMBOLS;

/// nvlink quirk: bank number that a relocatable link writes for symbols that are in no section.
const NO_BANK: u32 = 28;

/// First architecture whose threads are scheduled independently: code for it needs its `YIELD` instructions.
const INDEPENDENT_THREADS: u32 = 70;

/// What a symbol of an input means to relocations. Every symbol of every input has one, so they are small: an id, no values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SymbolTarget {
    /// Nothing: the relocation is dropped.
    Nothing,
    /// A section symbol: the input section, which has a place in the output.
    Section(SectionRef),
    /// A function that lives, by its symbol.
    Live(SymbolId),
    /// Any other function.
    Function(FunctionId),
    /// The size of the bank of user constants.
    ConstantSize,
    /// A literal: offset in the kernels' banks.
    Literal(FunctionId),
    /// A shared variable.
    Shared(SharedId),
    /// A texture reference.
    Texture(SymbolId),
    /// A variable in a constant bank.
    Constant(SymbolId),
    /// `-r`: a variable in a constant bank, defined nowhere.
    NoConstant(SymbolId),
    /// `-r`: a shared variable.
    SharedSymbol(SymbolId),
    /// `-r`: a shared variable, defined nowhere.
    NoShared(SymbolId),
    /// `-r`: dynamic shared memory.
    Dynamic(SymbolId),
    /// Left to the driver.
    Kept(SymbolId),
}

/// What the relocations of one input section have in common.
struct Site<'s, 'd> {
    object: &'s Object<'d>,
    reference: &'s RelocRef,
    /// Class of the section that is patched.
    class: Class,
    is_rela: bool,
    /// Some may have been dropped when a definition was replaced.
    cuts: bool,
    /// Types of unified symbols are replaced.
    replaces: bool,
    /// In files with a Mercury view `--preserve-relocs` only lists shared variables, and not those that debug information names.
    lists_shared_only: bool,
    /// The target was laid out again.
    moves: Option<&'s Moves>,
}

/// How `--preserve-relocs` lists a relocation: symbol, if it names one, and addend.
type Listed = (Option<SymbolTableEntry>, i64);

/// What happens to a relocation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RelocAction {
    /// It vanishes.
    Drop,
    /// It would vanish with a function that was removed, although code or data that stays uses it.
    Removed(FunctionId),
    /// So many bytes are cleared.
    Clear(u8),
    /// It stays, with this type, against this symbol.
    Keep(u32, SymbolId),
    /// It stays, with this type, against a section and with this addend: only the loader or the finalizer can resolve it.
    KeepSection(u32, SectionId, i64),
    /// The field is written: type, value, bank; and how it is listed.
    Patch(&'static RelocInfo, u64, u32, Option<Listed>),
    /// nvlink's internal error.
    Fail(&'static str),
}

/// A relocation with its offset in the output section.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// Number in the input's list.
    pub(crate) index: u32,
    /// Offset in the output section.
    pub(crate) offset: u64,
    /// Type as read.
    pub(crate) kind: u32,
    /// Addend.
    pub(crate) addend: i64,
}

/// Decides about relocations.
pub(crate) struct RelocResolver<'a, 'd> {
    link: Link<'a, 'd>,
    layout: &'a Layout<'d>,
    slots: Vec<(SymbolId, u64)>,
    /// Size of the bank of user constants, -1 without one.
    constant_size: u64,
    /// `YIELD` becomes `NOP`: no input was compiled for independent threads.
    drops_yield: bool,
}

impl<'a, 'd> RelocResolver<'a, 'd> {
    pub(crate) fn new(link: Link<'a, 'd>, layout: &'a Layout<'d>) -> Self {
        let mut slots = layout.textures.slots.clone();
        slots.sort_unstable();
        let needs_yield = |o: &Object<'d>| o.virtual_sm.is_none_or(|sm| sm >= INDEPENDENT_THREADS);
        RelocResolver {
            link,
            layout,
            slots,
            constant_size: user_size(&layout.records),
            drops_yield: !link.mode.relocatable && !link.inputs.objects.iter().any(needs_yield),
        }
    }

    /// Target of every symbol of an object.
    pub(crate) fn meanings(&self, object: &Object<'d>) -> Vec<SymbolTarget> {
        (0..object.symbol_count()).map(|i| self.meaning(object, i)).collect()
    }

    fn meaning(&self, object: &Object<'d>, index: u32) -> SymbolTarget {
        let records = &self.layout.records;
        let relocatable = self.link.mode.relocatable;
        let reference = object.symbol_ref(index);
        match object.symbol_kind(index) {
            STT_SECTION => {
                let section = object.symbol(index).defined_in();
                let placed = section
                    .map(|s| object.section_ref(s))
                    .filter(|&s| records.placement.sections[s].is_some());
                return placed.map_or(SymbolTarget::Nothing, SymbolTarget::Section);
            }
            STT_FUNC => {
                let Some(f) = self.link.resolved.function(reference) else {
                    return SymbolTarget::Nothing;
                };
                let is_alias = records.has_aliases && records.functions[f].alias_of.is_some();
                return match records.symbol_of[f] {
                    Some(sym) if self.link.live.alive[f] && !is_alias => SymbolTarget::Live(sym),
                    _ => SymbolTarget::Function(f),
                };
            }
            // No symbol. Relocations that turn YIELD into NOP name it.
            _ if index == 0 => return SymbolTarget::Nothing,
            _ => {}
        }
        let symbol = match records.placement.symbols[reference] {
            Place::Nothing if !relocatable && object.symbol(index).name == CONSTANT_SIZE_SYMBOL => return SymbolTarget::ConstantSize,
            Place::Nothing => return SymbolTarget::Nothing,
            Place::Literal(f) => return SymbolTarget::Literal(f),
            Place::Shared(id) => return SymbolTarget::Shared(id),
            Place::Symbol(id) => id,
        };
        let record = &records.symbols[symbol];
        if !record.emission.has_target() {
            return SymbolTarget::Nothing;
        }
        if relocatable && self.link.options.identity == Identity::Culd {
            // nvlink resolves shared and constant addresses here that a later link moves; culd leaves them to that link.
            return SymbolTarget::Kept(symbol);
        }
        if records.constant_sizes.binary_search(&symbol).is_ok() {
            return SymbolTarget::ConstantSize;
        }
        if matches!(record.kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE) {
            return SymbolTarget::Texture(symbol);
        }
        if record.dynamic {
            return SymbolTarget::Dynamic(symbol);
        }
        let keeps_shared = self.link.mode.rules.partial_keeps_shared_relocs;
        let Some(section) = record.section else {
            // Addresses of the unified tables only exist where the tables do.
            let vanishes = !records.unified.has_functions && UNIFIED_SYMBOLS.contains(&record.name);
            return match record.space {
                _ if vanishes => SymbolTarget::Nothing,
                // nvlink quirk: a relocatable link resolves these against the address -1 that undefined symbols have.
                STO_CUDA_SHARED if relocatable && !keeps_shared => SymbolTarget::NoShared(symbol),
                STO_CUDA_CONSTANT if relocatable => SymbolTarget::NoConstant(symbol),
                _ => SymbolTarget::Kept(symbol),
            };
        };
        let weak = relocatable && record.bind == STB_WEAK;
        match records.sections[section].class {
            Class::Constant(_) | Class::Parameters | Class::Literals if !weak => SymbolTarget::Constant(symbol),
            Class::KernelShared | Class::ModuleShared if relocatable && !weak && !keeps_shared => SymbolTarget::SharedSymbol(symbol),
            _ => SymbolTarget::Kept(symbol),
        }
    }

    /// True for relocations that were collected and dropped again when a definition was replaced.
    #[inline(never)]
    fn was_cut(&self, site: &Site<'_, 'd>, meaning: SymbolTarget, offset: u64) -> bool {
        let records = &self.layout.records;
        let r = site.reference;
        let function = match meaning {
            SymbolTarget::Function(f) => Some(f),
            SymbolTarget::Live(sym) => records.symbols[sym].function,
            _ => None,
        };
        match (site.class, function, meaning) {
            (Class::Debug(DebugKind::Code), Some(f), _) => {
                r.object < records.functions[f].relocs_dropped_before
                    && (site.is_rela || records.sections[r.target].first_companion == Some(RelocForm::Rela))
            }
            // Those of a table whose copy lost stay, also where what is in its place is shorter: nvlink fails then.
            (Class::Literals, ..) => offset >= records.sections[r.target].size,
            (Class::Constant(_), _, SymbolTarget::Kept(sym)) => r.object < records.symbols[sym].constant_relocs_dropped_before,
            _ => false,
        }
    }

    /// What happens to one relocation. `symbol` is its symbol's index in the object.
    #[inline(always)]
    fn decide(&self, site: &Site<'_, 'd>, symbol: u32, meaning: SymbolTarget, e: Entry) -> RelocAction {
        if site.cuts && self.was_cut(site, meaning, e.offset) {
            return RelocAction::Drop;
        }
        let kind = match site.replaces {
            true => unified_replacement(e.kind).unwrap_or(e.kind),
            false => e.kind,
        };
        let clears = UNUSED_CLEAR_TYPES.contains(&kind);
        match meaning {
            // Most are one of these.
            SymbolTarget::Live(_) if clears || kind == 0 => RelocAction::Drop,
            SymbolTarget::Live(sym) => RelocAction::Keep(kind, sym),
            SymbolTarget::Kept(_) if clears => RelocAction::Drop,
            SymbolTarget::Kept(sym) => RelocAction::Keep(kind, sym),
            _ => self.decide_rare(site, symbol, meaning, e, kind),
        }
    }

    #[inline(never)]
    fn decide_rare(&self, site: &Site<'_, 'd>, symbol: u32, meaning: SymbolTarget, e: Entry, kind: u32) -> RelocAction {
        let records = &self.layout.records;
        let relocatable = self.link.mode.relocatable;
        let addend = e.addend as u64;
        let named = |sym: SymbolId| Some((Some(SymbolTableEntry::Symbol(sym)), e.addend));
        match meaning {
            SymbolTarget::Section(section) => {
                let Some((id, base)) = records.placement.sections[section] else {
                    return RelocAction::Drop;
                };
                let mut value = base.wrapping_add(addend);
                if let Some(moves) = self.layout.moves.as_ref().filter(|moves| moves.bank == id) {
                    let Some(moved) = moves.place(value) else {
                        return RelocAction::Drop;
                    };
                    value = moved;
                }
                // Addresses in global memory are known when the image is loaded.
                let loaded = matches!(records.sections[id].class, Class::Global | Class::GlobalInit);
                if loaded && !site.is_rela && base != 0 {
                    return RelocAction::Fail("relocation without addend against a section that moved");
                }
                if loaded || kind == R_MERCURY_PROG_REL32 {
                    return RelocAction::KeepSection(kind, id, value as i64);
                }
                patch(kind, value, 0, Some((Some(SymbolTableEntry::Section(id)), value as i64)))
            }
            SymbolTarget::Function(f) if UNUSED_CLEAR_TYPES.contains(&kind) => {
                let reference = site.object.symbol_ref(symbol);
                let rejected = self.link.resolved.fate(reference) == Fate::Rejected && !self.link.mode.rules.keeps_replaced_frames;
                let dead = !self.link.live.alive[f] && !rejected;
                if dead {
                    RelocAction::Clear(if kind == UNUSED_CLEAR_TYPES[0] { 4 } else { 8 })
                } else {
                    RelocAction::Drop
                }
            }
            _ if UNUSED_CLEAR_TYPES.contains(&kind) => RelocAction::Drop,
            SymbolTarget::Nothing if symbol == 0 && self.drops_yield && YIELD_TYPES.contains(&kind) => reloc_info(kind)
                .map_or(RelocAction::Drop, |info| {
                    RelocAction::Patch(info, addend, 0, Some((None, e.addend)))
                }),
            SymbolTarget::Nothing | SymbolTarget::Live(_) => RelocAction::Drop,
            SymbolTarget::ConstantSize => patch(kind, self.constant_size, 0, None),
            SymbolTarget::Literal(f) => self.literal(site.object, symbol, f, kind, e.addend),
            SymbolTarget::Shared(id) => self.shared(site.class, id, kind, e),
            SymbolTarget::Texture(sym) if relocatable && site.object.has_mercury() => RelocAction::Keep(kind, sym),
            SymbolTarget::Texture(sym) if resolvable(kind).is_none() => RelocAction::Keep(kind, sym),
            SymbolTarget::Texture(sym) if relocatable => patch(kind, addend, self.bank(sym), named(sym)),
            SymbolTarget::Texture(sym) => match self.slot(sym) {
                Some(slot) => patch(kind, slot.wrapping_add(addend), 0, None),
                None => RelocAction::Drop,
            },
            SymbolTarget::Function(f) if !self.link.live.alive[f] && kind != 0 => self.removed(site.class, f),
            SymbolTarget::Function(_) if kind == 0 => RelocAction::Drop,
            SymbolTarget::Function(f) => {
                records.symbol_of[records.functions[f].alias_of.unwrap_or(f)].map_or(RelocAction::Drop, |sym| RelocAction::Keep(kind, sym))
            }
            SymbolTarget::Constant(sym) => known(kind, sym, records.symbols[sym].value, self.bank(sym), e.addend),
            // The address -1 that undefined symbols have.
            SymbolTarget::NoConstant(sym) => known(kind, sym, u64::MAX, NO_BANK, e.addend),
            SymbolTarget::SharedSymbol(sym) => known(kind, sym, records.symbols[sym].value, 0, e.addend),
            SymbolTarget::NoShared(sym) => known(kind, sym, u64::MAX, 0, e.addend),
            SymbolTarget::Dynamic(sym) => self.dynamic(site.reference, kind, sym, e.addend),
            SymbolTarget::Kept(sym) => RelocAction::Keep(kind, sym),
        }
    }

    /// A use of a function that was removed. nvlink quirk: it leaves the field at 0, so that **the code calls address 0**.
    fn removed(&self, class: Class, f: FunctionId) -> RelocAction {
        // Position-independent code has every address of its module in bank 4, used or not.
        let is_used =
            matches!(class, Class::Text(_) | Class::GlobalInit | Class::Udt) || matches!(class, Class::Constant(bank) if bank != 4);
        let is_defined = self.link.resolved.functions[f].winner.is_some();
        match self.link.options.identity {
            Identity::Culd if is_used && is_defined => RelocAction::Removed(f),
            _ => RelocAction::Drop,
        }
    }

    /// Bank that is written for a symbol. nvlink quirk: it follows from the type of the symbol's section, whatever that is.
    fn bank(&self, symbol: SymbolId) -> u32 {
        let records = &self.layout.records;
        let section = records.symbols[symbol].section;
        section.map_or(NO_BANK, |s| records.sections[s].sh_type.wrapping_sub(SHT_CUDA_CONSTANT0))
    }

    /// Slot of a texture, if it has one.
    fn slot(&self, texture: SymbolId) -> Option<u64> {
        let at = self.slots.binary_search_by_key(&texture, |s| s.0).ok()?;
        self.slots.get(at).map(|s| s.1)
    }

    fn literal(&self, object: &Object<'d>, symbol: u32, f: FunctionId, kind: u32, addend: i64) -> RelocAction {
        let Some(offset) = self.layout.literals[f] else {
            return RelocAction::Drop;
        };
        let reference = object.symbol_ref(symbol);
        let records = &self.layout.records;
        let symbols = records.literals.symbols.get(&f).map_or(&[][..], Vec::as_slice);
        let at = symbols.partition_point(|s| s.0 < reference);
        // A function that counts as a kernel may have no bank, and then no symbols in it.
        let is_gone =
            |sym: SymbolId| records.functions[f].literal_record.is_some() && records.symbols[sym].emission == SymbolEmission::Withdrawn;
        let named = symbols
            .get(at)
            .filter(|s| s.0 == reference && !is_gone(s.1))
            .map(|s| (Some(SymbolTableEntry::Symbol(s.1)), addend));
        let value = object.symbol(symbol).value.wrapping_add(addend as u64);
        patch(kind, offset.wrapping_add(value), LITERAL_BANK, named)
    }

    /// Shared variables of a final link: the offset, without the reserved part.
    fn shared(&self, class: Class, id: SharedId, kind: u32, e: Entry) -> RelocAction {
        let (records, shared) = (&self.layout.records, &self.layout.shared);
        let in_function = if let Class::Text(f) = class { Some(f) } else { None };
        let var = &records.shared.variables[id];
        let dynamic = var.is_dynamic();
        let value = match (shared.offset[id], in_function) {
            (Some(offset), _) => offset,
            (None, Some(_)) if !dynamic => 0,
            (None, None) if !dynamic => u64::MAX,
            (None, _) if self.link.mode.debug_symbols => shared.dynamic[id],
            (None, Some(f)) => shared.dynamic_value(f).unwrap_or(u64::MAX),
            (None, None) => u64::MAX,
        };
        let reached = in_function.is_some_and(|f| shared.dynamic_value(f).is_some());
        // With a debugger the placeholder of an earlier relocatable link has a symbol, but is not listed.
        let listed = |sym: &SymbolId| !self.link.mode.debug_symbols || records.symbols[*sym].other & 3 != 1;
        let mut named = var.symbol.filter(listed).map(|sym| (Some(SymbolTableEntry::Symbol(sym)), e.addend));
        if shared.offset[id].is_none() && self.link.mode.preserve && !self.link.mode.debug_symbols {
            if !shared.has_slots || reached {
                named = None;
            } else if self.link.mode.shared_base == 0 {
                // nvlink quirk: the entry would need the symbol that was dropped.
                return RelocAction::Fail("reference to deleted symbol");
            }
        }
        patch(kind, value.wrapping_add(e.addend as u64), 0, named)
    }

    /// Dynamic shared memory of a relocatable output.
    fn dynamic(&self, r: &RelocRef, kind: u32, sym: SymbolId, addend: i64) -> RelocAction {
        let instances = &self.layout.dynamic_instances;
        if let Some(&(_, instance)) = instances
            .binary_search_by_key(&r.target, |i| i.0)
            .ok()
            .and_then(|i| instances.get(i))
        {
            return RelocAction::Keep(kind, instance);
        }
        if self.link.mode.rules.partial_keeps_shared_relocs {
            return RelocAction::Keep(kind, sym);
        }
        if self.link.mode.debug_symbols && self.layout.records.symbols[sym].other & 3 == 1 {
            // The placeholder of an earlier relocatable link stays.
            return RelocAction::Keep(kind, sym);
        }
        let value = match self.link.mode.debug_symbols {
            true => self.layout.records.symbols[sym].value,
            // Observed: the declaration of an older toolkit, which does not state its alignment, is at 0.
            false if self.link.mode.rules.dynamic_alignment => match self.layout.records.symbols[sym].value {
                0 => 0,
                declared => declared.max(DYNAMIC_ALIGN),
            },
            false => 0,
        };
        patch(
            kind,
            value.wrapping_add(addend as u64),
            0,
            Some((Some(SymbolTableEntry::Symbol(sym)), addend)),
        )
    }

    /// Calls `each` for every relocation that was read, in order.
    pub(crate) fn for_each(&self, object: &Object<'d>, r: &RelocRef, meanings: &[SymbolTarget], mut each: impl FnMut(Entry, RelocAction)) {
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        if !self.layout.records.is_current(r, relocs.target) {
            return;
        }
        let class = self.layout.records.sections[r.target].class;
        let skips = DroppedEntries::new(
            class,
            object,
            relocs,
            &self.layout.records,
            self.link.resolved,
            (self.link.options.identity, self.link.mode.rules.keeps_replaced_frames),
        );
        let skips = (!skips.idle()).then_some(skips);
        let site = Site {
            object,
            reference: r,
            class,
            is_rela: relocs.is_rela(),
            cuts: match class {
                Class::Debug(DebugKind::Code) => {
                    self.layout.records.quirks.dropped_relocs.debug && !self.link.mode.rules.keeps_replaced_frames
                }
                // nvlink quirk: constant tables lose pointers.
                Class::Constant(_) => self.layout.records.quirks.dropped_relocs.constants && self.link.options.identity == Identity::Nvlink,
                Class::Literals => self.link.options.identity == Identity::Culd,
                _ => false,
            },
            replaces: !self.link.mode.relocatable && !self.layout.records.unified.active,
            lists_shared_only: object.has_mercury(),
            moves: self.layout.moves.as_ref().filter(|moves| moves.bank == r.target),
        };
        match relocs.entries {
            Relocations::Rela(list) => {
                for (i, raw) in list.iter().enumerate() {
                    let (offset, addend) = (raw.r_offset.get(), raw.r_addend.get());
                    self.one(
                        &site,
                        skips.as_ref(),
                        meanings,
                        (i, offset, addend),
                        (raw.r_type.get(), raw.r_sym.get()),
                        &mut each,
                    );
                }
            }
            Relocations::Rel(list) => {
                for (i, raw) in list.iter().enumerate() {
                    let place = (i, raw.r_offset.get(), 0);
                    self.one(
                        &site,
                        skips.as_ref(),
                        meanings,
                        place,
                        (raw.r_type.get(), raw.r_sym.get()),
                        &mut each,
                    );
                }
            }
        }
    }

    /// Calls `each` for one relocation, unless it is skipped.
    #[inline(always)]
    fn one(
        &self,
        site: &Site<'_, 'd>,
        skips: Option<&DroppedEntries<'_, 'd>>,
        meanings: &[SymbolTarget],
        (index, offset, addend): (usize, u64, i64),
        (kind, symbol): (u32, u32),
        each: &mut impl FnMut(Entry, RelocAction),
    ) {
        let mut e = Entry {
            index: index as u32,
            offset: offset.wrapping_add(site.reference.base),
            kind,
            addend,
        };
        if let Some(moves) = site.moves {
            let Some(moved) = moves.place(e.offset) else { return };
            e.offset = moved;
        }
        let Some(&meaning) = meanings.get(symbol as usize) else {
            // nvlink quirk: a relocation against a symbol that does not exist is kept against symbol 0.
            return each(e, RelocAction::Keep(kind, SymbolId::new(u32::MAX)));
        };
        if skips.is_some_and(|s| s.skips(offset, symbol)) {
            return;
        }
        let decision = self.decide(site, symbol, meaning, e);
        each(
            e,
            if site.lists_shared_only {
                listed(site.class, meaning, decision)
            } else {
                decision
            },
        );
    }
}

/// Bank of literals.
const LITERAL_BANK: u32 = 2;

/// A type that the linker can write without help.
fn resolvable(kind: u32) -> Option<&'static RelocInfo> {
    let simple = |info: &&RelocInfo| {
        info.fields
            .iter()
            .all(|f| matches!(f.source, FieldSource::Value | FieldSource::Bank))
            && !info.fields.is_empty()
    };
    reloc_info(kind).filter(|info| info.linker_may_resolve()).filter(simple)
}

/// How `--preserve-relocs` lists a relocation in files with a Mercury view.
fn listed(class: Class, meaning: SymbolTarget, decision: RelocAction) -> RelocAction {
    let shared = matches!(
        meaning,
        SymbolTarget::Shared(_) | SymbolTarget::SharedSymbol(_) | SymbolTarget::NoShared(_) | SymbolTarget::Dynamic(_)
    );
    match decision {
        RelocAction::Patch(info, value, bank, _) if !shared || matches!(class, Class::Debug(_)) => {
            RelocAction::Patch(info, value, bank, None)
        }
        other => other,
    }
}

/// A value that is known: written if the type allows it, else left to the driver.
fn known(kind: u32, symbol: SymbolId, value: u64, bank: u32, addend: i64) -> RelocAction {
    match resolvable(kind) {
        Some(info) => RelocAction::Patch(
            info,
            value.wrapping_add(addend as u64),
            bank,
            Some((Some(SymbolTableEntry::Symbol(symbol)), addend)),
        ),
        None => RelocAction::Keep(kind, symbol),
    }
}

fn patch(kind: u32, value: u64, bank: u32, named: Option<Listed>) -> RelocAction {
    match resolvable(kind) {
        Some(info) => RelocAction::Patch(info, value, bank, named),
        None => RelocAction::Drop,
    }
}
