//! Relocations: what happens to each one.
//!
//! 1. Once per object, every symbol gets a [`Meaning`]: where it ended up, or that it must be left to the driver.
//! 2. [`Decider::decide`] turns type, meaning and place of a relocation into a [`Decision`]: drop, clear, patch, or keep.
//! 3. [`plan()`] counts the kept and the listed ones, so that sections get their sizes before any byte is written.
//!
//! Kept relocations are written in reverse order of arrival; those read from RELA go to `.rela.X`, others to `.rel.X`.

mod plan;

pub use plan::{RelocPlan, plan};

use crate::ids::{FunctionId, SectionId, SectionRef, SharedId, SymbolId};
use crate::layout::constants::{CONSTANT_SIZE, user_size};
use crate::layout::shared::DYNAMIC_ALIGN;
use crate::layout::{Context, Layout, Moves};
use crate::merge::model::{Class, DebugKind, Place, RelocRef};
use crate::merge::{Skips, UNIFIED_SYMBOLS};
use crate::object::Object;
use crate::options::Identity;
use crate::resolve::Fate;
use cubin::consts::*;
use cubin::layout::R_MERCURY_PROG_REL32;
use cubin::read::Relocations;
use cubin::reloc::{FieldSource, RelocInfo, reloc_info, unified_replacement};

/// `R_CUDA_UNUSED_CLEAR32`, `R_CUDA_UNUSED_CLEAR64` and `R_MERCURY_UNUSED_CLEAR64`: the field is cleared when the function is dead.
pub(crate) const CLEAR: [u32; 3] = [72, 73, 0x1_000e];

/// Is a type the target of a call instruction?
pub(crate) fn is_call(kind: u32) -> bool {
    reloc_info(kind).is_some_and(|info| ["ABS47", "ABS55", "PCREL"].iter().any(|part| info.name.contains(part)))
}

/// nvlink quirk: bank number that a relocatable link writes for symbols that lie in no section.
const NO_BANK: u32 = 28;

/// What a symbol of an input means to relocations. Every symbol of every input has one, so they are small: an id, no values.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Meaning {
    /// Nothing: the relocation vanishes.
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

/// A symbol that a relocation of the output names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// A symbol record.
    Symbol(SymbolId),
    /// The section symbol of a section.
    Section(SectionId),
}

/// What happens to a relocation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Decision {
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
    /// The field is written: type, value, bank; and how `--preserve-relocs` lists it: symbol, addend.
    Patch(&'static RelocInfo, u64, u32, Option<(Named, i64)>),
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
pub(crate) struct Decider<'a, 'd> {
    context: Context<'a, 'd>,
    layout: &'a Layout<'d>,
    slots: Vec<(SymbolId, u64)>,
    /// Size of the bank of user constants, -1 without one.
    constant_size: u64,
}

impl<'a, 'd> Decider<'a, 'd> {
    pub(crate) fn new(context: Context<'a, 'd>, layout: &'a Layout<'d>) -> Self {
        let mut slots = layout.textures.slots.clone();
        slots.sort_unstable();
        Decider {
            context,
            layout,
            slots,
            constant_size: user_size(&layout.m),
        }
    }

    /// Meaning of every symbol of an object.
    pub(crate) fn meanings(&self, object: &Object<'d>) -> Vec<Meaning> {
        (0..object.symbol_count()).map(|i| self.meaning(object, i)).collect()
    }

    fn meaning(&self, object: &Object<'d>, index: u32) -> Meaning {
        let m = &self.layout.m;
        let relocatable = self.context.mode.relocatable;
        let reference = object.symbol_ref(index);
        match object.symbol_kind(index) {
            STT_SECTION => {
                let section = object.symbol(index).defined_in();
                let placed = section.map(|s| object.section_ref(s)).filter(|&s| m.placed[s].is_some());
                return placed.map_or(Meaning::Nothing, Meaning::Section);
            }
            STT_FUNC => {
                let Some(f) = self.context.resolved.function(reference) else {
                    return Meaning::Nothing;
                };
                let is_alias = m.has_aliases && m.functions[f].alias_of.is_some();
                return match m.symbol_of[f] {
                    Some(y) if self.context.live.alive[f] && !is_alias => Meaning::Live(y),
                    _ => Meaning::Function(f),
                };
            }
            // No symbol. Relocations that turn YIELD into NOP name it; the instruction stays.
            _ if index == 0 => return Meaning::Nothing,
            _ => {}
        }
        let symbol = match m.places[reference] {
            Place::Nothing if !relocatable && object.symbol(index).name == CONSTANT_SIZE => return Meaning::ConstantSize,
            Place::Nothing => return Meaning::Nothing,
            Place::Literal(f) => return Meaning::Literal(f),
            Place::Shared(id) => return Meaning::Shared(id),
            Place::Symbol(id) => id,
        };
        let record = &m.symbols[symbol];
        if !record.keep || record.withdrawn {
            return Meaning::Nothing;
        }
        if relocatable && self.context.options.identity == Identity::Culd {
            // nvlink resolves shared and constant addresses here that a later link moves; culd leaves them to that link.
            return Meaning::Kept(symbol);
        }
        if m.constant_sizes.binary_search(&symbol).is_ok() {
            return Meaning::ConstantSize;
        }
        if matches!(record.kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE) {
            return Meaning::Texture(symbol);
        }
        if record.dynamic {
            return Meaning::Dynamic(symbol);
        }
        let keeps_shared = self.context.mode.rules.partial_keeps_shared_relocs;
        let Some(section) = record.section else {
            // Addresses of the unified tables only exist where the tables do.
            let vanishes = !m.unified.has_functions && UNIFIED_SYMBOLS.contains(&record.name);
            return match record.space {
                _ if vanishes => Meaning::Nothing,
                // nvlink quirk: a relocatable link resolves these against the address -1 that undefined symbols have.
                STO_CUDA_SHARED if relocatable && !keeps_shared => Meaning::NoShared(symbol),
                STO_CUDA_CONSTANT if relocatable => Meaning::NoConstant(symbol),
                _ => Meaning::Kept(symbol),
            };
        };
        let weak = relocatable && record.bind == STB_WEAK;
        match m.sections[section].class {
            Class::Constant(_) | Class::Parameters | Class::Literals if !weak => Meaning::Constant(symbol),
            Class::KernelShared | Class::ModuleShared if relocatable && !weak && !keeps_shared => Meaning::SharedSymbol(symbol),
            _ => Meaning::Kept(symbol),
        }
    }

    /// True for relocations that were collected and dropped again when a definition was replaced.
    #[inline(never)]
    fn was_cut(&self, site: &Site<'_, 'd>, meaning: Meaning) -> bool {
        let m = &self.layout.m;
        let r = site.reference;
        let function = match meaning {
            Meaning::Function(f) => Some(f),
            Meaning::Live(y) => m.symbols[y].function,
            _ => None,
        };
        match (site.class, function, meaning) {
            (Class::Debug(DebugKind::Code), Some(f), _) => {
                r.object < m.functions[f].debug_cut && (site.is_rela || m.sections[r.target].rela_first == Some(true))
            }
            (Class::Constant(_), _, Meaning::Kept(y)) => r.object < m.symbols[y].constant_cut,
            _ => false,
        }
    }

    /// What happens to one relocation. `symbol` is its symbol's index in the object.
    #[inline(always)]
    fn decide(&self, site: &Site<'_, 'd>, symbol: u32, meaning: Meaning, e: Entry) -> Decision {
        if site.cuts && self.was_cut(site, meaning) {
            return Decision::Drop;
        }
        let kind = match site.replaces {
            true => unified_replacement(e.kind).unwrap_or(e.kind),
            false => e.kind,
        };
        let clears = CLEAR.contains(&kind);
        match meaning {
            // Most are one of these.
            Meaning::Live(_) if clears || kind == 0 => Decision::Drop,
            Meaning::Live(y) => Decision::Keep(kind, y),
            Meaning::Kept(_) if clears => Decision::Drop,
            Meaning::Kept(y) => Decision::Keep(kind, y),
            _ => self.decide_rare(site, symbol, meaning, e, kind),
        }
    }

    #[inline(never)]
    fn decide_rare(&self, site: &Site<'_, 'd>, symbol: u32, meaning: Meaning, e: Entry, kind: u32) -> Decision {
        let m = &self.layout.m;
        let relocatable = self.context.mode.relocatable;
        let addend = e.addend as u64;
        let named = |y: SymbolId| Some((Named::Symbol(y), e.addend));
        match meaning {
            Meaning::Section(section) => {
                let Some((id, base)) = m.placed[section] else {
                    return Decision::Drop;
                };
                let mut value = base.wrapping_add(addend);
                if let Some(moves) = self.layout.moves.as_ref().filter(|moves| moves.bank == id) {
                    let Some(moved) = moves.place(value) else {
                        return Decision::Drop;
                    };
                    value = moved;
                }
                // Addresses in global memory are known when the image is loaded.
                let loaded = matches!(m.sections[id].class, Class::Global | Class::GlobalInit);
                if loaded && !site.is_rela && base != 0 {
                    return Decision::Fail("relocation without addend against a section that moved");
                }
                if loaded || kind == R_MERCURY_PROG_REL32 {
                    return Decision::KeepSection(kind, id, value as i64);
                }
                patch(kind, value, 0, Some((Named::Section(id), value as i64)))
            }
            Meaning::Function(f) if CLEAR.contains(&kind) => {
                let reference = site.object.symbol_ref(symbol);
                let rejected = self.context.resolved.fate(reference) == Fate::Rejected && !self.context.mode.rules.keeps_replaced_frames;
                let dead = !self.context.live.alive[f] && !rejected;
                if dead {
                    Decision::Clear(if kind == CLEAR[0] { 4 } else { 8 })
                } else {
                    Decision::Drop
                }
            }
            _ if CLEAR.contains(&kind) => Decision::Drop,
            Meaning::Nothing | Meaning::Live(_) => Decision::Drop,
            Meaning::ConstantSize => patch(kind, self.constant_size, 0, None),
            Meaning::Literal(f) => self.literal(site.object, symbol, f, kind, e.addend),
            Meaning::Shared(id) => self.shared(site.class, id, kind, e),
            Meaning::Texture(y) if relocatable && !site.object.sass.is_empty() => Decision::Keep(kind, y),
            Meaning::Texture(y) if resolvable(kind).is_none() => Decision::Keep(kind, y),
            Meaning::Texture(y) if relocatable => patch(kind, addend, self.bank(y), named(y)),
            Meaning::Texture(y) => match self.slot(y) {
                Some(slot) => patch(kind, slot.wrapping_add(addend), 0, None),
                None => Decision::Drop,
            },
            Meaning::Function(f) if !self.context.live.alive[f] && kind != 0 => self.removed(site.class, f),
            Meaning::Function(_) if kind == 0 => Decision::Drop,
            Meaning::Function(f) => m.symbol_of[m.functions[f].alias_of.unwrap_or(f)].map_or(Decision::Drop, |y| Decision::Keep(kind, y)),
            Meaning::Constant(y) => known(kind, y, m.symbols[y].value, self.bank(y), e.addend),
            // The address -1 that undefined symbols have.
            Meaning::NoConstant(y) => known(kind, y, u64::MAX, NO_BANK, e.addend),
            Meaning::SharedSymbol(y) => known(kind, y, m.symbols[y].value, 0, e.addend),
            Meaning::NoShared(y) => known(kind, y, u64::MAX, 0, e.addend),
            Meaning::Dynamic(y) => self.dynamic(site.reference, kind, y, e.addend),
            Meaning::Kept(y) => Decision::Keep(kind, y),
        }
    }

    /// A use of a function that was removed. nvlink quirk: it leaves the field at 0, so that **the code calls address 0**.
    fn removed(&self, class: Class, f: FunctionId) -> Decision {
        // Position-independent code has every address of its module in bank 4, used or not.
        let is_used =
            matches!(class, Class::Text(_) | Class::GlobalInit | Class::Udt) || matches!(class, Class::Constant(bank) if bank != 4);
        let is_defined = self.context.resolved.functions[f].winner.is_some();
        match self.context.options.identity {
            Identity::Culd if is_used && is_defined => Decision::Removed(f),
            _ => Decision::Drop,
        }
    }

    /// Bank that is written for a symbol. nvlink quirk: it follows from the type of the symbol's section, whatever that is.
    fn bank(&self, symbol: SymbolId) -> u32 {
        let m = &self.layout.m;
        let section = m.symbols[symbol].section;
        section.map_or(NO_BANK, |s| m.sections[s].sh_type.wrapping_sub(SHT_CUDA_CONSTANT0))
    }

    /// Slot of a texture, if it has one.
    fn slot(&self, texture: SymbolId) -> Option<u64> {
        let at = self.slots.binary_search_by_key(&texture, |s| s.0).ok()?;
        self.slots.get(at).map(|s| s.1)
    }

    fn literal(&self, object: &Object<'d>, symbol: u32, f: FunctionId, kind: u32, addend: i64) -> Decision {
        let Some(offset) = self.layout.literals[f] else {
            return Decision::Drop;
        };
        let reference = object.symbol_ref(symbol);
        let m = &self.layout.m;
        let symbols = m.literal_symbols.get(&f).map_or(&[][..], Vec::as_slice);
        let at = symbols.partition_point(|s| s.0 < reference);
        // A function that counts as a kernel may have no bank, and then no symbols in it.
        let is_gone = |y: SymbolId| m.functions[f].literal_record.is_some() && m.symbols[y].withdrawn;
        let named = symbols
            .get(at)
            .filter(|s| s.0 == reference && !is_gone(s.1))
            .map(|s| (Named::Symbol(s.1), addend));
        let value = object.symbol(symbol).value.wrapping_add(addend as u64);
        patch(kind, offset.wrapping_add(value), LITERAL_BANK, named)
    }

    /// Shared variables of a final link: the offset, without the reserved part.
    fn shared(&self, class: Class, id: SharedId, kind: u32, e: Entry) -> Decision {
        let (m, shared) = (&self.layout.m, &self.layout.shared);
        let in_function = if let Class::Text(f) = class { Some(f) } else { None };
        let var = &m.shared[id];
        let dynamic = var.is_dynamic();
        let value = match (shared.offset[id], in_function) {
            (Some(offset), _) => offset,
            (None, Some(_)) if !dynamic => 0,
            (None, None) if !dynamic => u64::MAX,
            (None, _) if self.context.mode.debug_symbols => shared.dynamic[id],
            (None, Some(f)) => shared.dynamic_value(f).unwrap_or(u64::MAX),
            (None, None) => u64::MAX,
        };
        let reached = in_function.is_some_and(|f| shared.dynamic_value(f).is_some());
        // With a debugger the stand-in of an earlier relocatable link has a symbol, but is not listed.
        let listed = |y: &SymbolId| !self.context.mode.debug_symbols || m.symbols[*y].other & 3 != 1;
        let mut named = var.symbol.filter(listed).map(|y| (Named::Symbol(y), e.addend));
        if shared.offset[id].is_none() && self.context.mode.preserve && !self.context.mode.debug_symbols {
            if !shared.has_slots || reached {
                named = None;
            } else if self.context.mode.shared_base == 0 {
                // nvlink quirk: the entry would need the symbol that was dropped.
                return Decision::Fail("reference to deleted symbol");
            }
        }
        patch(kind, value.wrapping_add(e.addend as u64), 0, named)
    }

    /// Dynamic shared memory of a relocatable output.
    fn dynamic(&self, r: &RelocRef, kind: u32, y: SymbolId, addend: i64) -> Decision {
        let instances = &self.layout.dynamic_instances;
        if let Some(&(_, instance)) = instances
            .binary_search_by_key(&r.target, |i| i.0)
            .ok()
            .and_then(|i| instances.get(i))
        {
            return Decision::Keep(kind, instance);
        }
        if self.context.mode.rules.partial_keeps_shared_relocs {
            return Decision::Keep(kind, y);
        }
        if self.context.mode.debug_symbols && self.layout.m.symbols[y].other & 3 == 1 {
            // The stand-in of an earlier relocatable link stays.
            return Decision::Keep(kind, y);
        }
        let value = match self.context.mode.debug_symbols {
            true => self.layout.m.symbols[y].value,
            false if self.context.mode.rules.dynamic_alignment => self.layout.m.symbols[y].value.max(DYNAMIC_ALIGN),
            false => 0,
        };
        patch(kind, value.wrapping_add(addend as u64), 0, Some((Named::Symbol(y), addend)))
    }

    /// Calls `each` for every relocation that was read, in order.
    pub(crate) fn for_each(&self, object: &Object<'d>, r: &RelocRef, meanings: &[Meaning], mut each: impl FnMut(Entry, Decision)) {
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        if !self.layout.m.is_current(r, relocs.target) {
            return;
        }
        let class = self.layout.m.sections[r.target].class;
        let skips = Skips::new(
            class,
            object,
            relocs,
            &self.layout.m,
            self.context.resolved,
            (self.context.options.identity, self.context.mode.rules.keeps_replaced_frames),
        );
        let skips = (!skips.idle()).then_some(skips);
        let site = Site {
            object,
            reference: r,
            class,
            is_rela: relocs.is_rela(),
            cuts: match class {
                Class::Debug(DebugKind::Code) => self.layout.m.cuts.debug && !self.context.mode.rules.keeps_replaced_frames,
                // nvlink quirk: constant tables lose pointers.
                Class::Constant(_) => self.layout.m.cuts.constants && self.context.options.identity == Identity::Nvlink,
                _ => false,
            },
            replaces: !self.context.mode.relocatable && !self.layout.m.unified.active,
            lists_shared_only: !object.sass.is_empty(),
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
        skips: Option<&Skips<'_, 'd>>,
        meanings: &[Meaning],
        (index, offset, addend): (usize, u64, i64),
        (kind, symbol): (u32, u32),
        each: &mut impl FnMut(Entry, Decision),
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
            return each(e, Decision::Keep(kind, SymbolId::new(u32::MAX)));
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
fn listed(class: Class, meaning: Meaning, decision: Decision) -> Decision {
    let shared = matches!(
        meaning,
        Meaning::Shared(_) | Meaning::SharedSymbol(_) | Meaning::NoShared(_) | Meaning::Dynamic(_)
    );
    match decision {
        Decision::Patch(info, value, bank, _) if !shared || matches!(class, Class::Debug(_)) => Decision::Patch(info, value, bank, None),
        other => other,
    }
}

/// A value that is known: written if the type allows it, else left to the driver.
fn known(kind: u32, symbol: SymbolId, value: u64, bank: u32, addend: i64) -> Decision {
    match resolvable(kind) {
        Some(info) => Decision::Patch(info, value.wrapping_add(addend as u64), bank, Some((Named::Symbol(symbol), addend))),
        None => Decision::Keep(kind, symbol),
    }
}

fn patch(kind: u32, value: u64, bank: u32, named: Option<(Named, i64)>) -> Decision {
    match resolvable(kind) {
        Some(info) => Decision::Patch(info, value, bank, named),
        None => Decision::Drop,
    }
}
