//! What became of everything in the inputs: nothing is lost without a reason.
//!
//! 1. Sections: placed in the output, read by the linker, belonging to a function that was dropped, or of a kind that a linked file
//!    does not have.
//! 2. Symbols: a symbol of the output, a variable in shared memory, a literal, or a name that ends with the link.
//! 3. Relocations of sections that stay: applied, kept, cleared, or against something that was dropped for a reason of its own.
//!
//! Anything else is [`Disposition::Unexplained`]: an error under the name culd. Sections that no role is known for are looked at in every
//! link, all of it with `--verify`, with `--map` and in debug builds.

use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::ObjectId;
use crate::layout::Layout;
use crate::object::{NO_OWNER, ObjSection, ObjSymbol, Object, Role, entry, text};
use crate::options::Identity;
use crate::records::{Class, Place, RelocRef};
use crate::relocate::{RelocAction, RelocPlan, RelocResolver};
use crate::resolve::Fate;
use crate::session::Link;
use cubin::consts::*;
use cubin::kind::{SectionKind, classify};
use cubin::reloc::UNUSED_CLEAR_TYPES;
use cubin::unified::UNIFIED_SYMBOLS;

/// What became of a section, a symbol or a relocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// It is in the output, or was applied to something that is.
    Placed,
    /// The linker reads it and writes its own: tables, notes, attributes.
    Consumed,
    /// It belongs to a function that is dead or lost against another copy.
    OfDropped,
    /// A definition that lost against another one.
    OtherCopy,
    /// Memory in which no symbol is defined.
    Unnamed,
    /// Without meaning in a linked file.
    Ignored,
    /// Only code that no kernel reaches refers to this function, or takes its address without a call that could use it.
    AddressUnused(String),
    /// No rule explains why it was dropped.
    Unexplained,
}

/// A thing that is not in the output as it was.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) object: ObjectId,
    /// The thing, with its kind if the name is ambiguous.
    pub(crate) what: String,
    pub(crate) size: u64,
    pub(crate) disposition: Disposition,
}

/// Refuses the link if something is lost without a reason.
pub(crate) fn check(link: Link<'_, '_>, layout: &Layout<'_>, plan: &RelocPlan, out: &mut Collector<'_>) -> Result<(), Stop> {
    let strict = link.options.identity == Identity::Culd;
    let ledger = Ledger { link, layout };
    let mut entries = Vec::new();
    if link.options.verify || link.options.map {
        entries = self::entries(link, layout, plan);
    } else if strict {
        for object in link.inputs.objects.iter() {
            ledger.sections(object, |s| s.role == Role::Other, &mut entries);
        }
    }
    for e in entries.into_iter().filter(|e| e.disposition == Disposition::Unexplained) {
        let file = link.inputs.objects[e.object].name.to_string();
        if strict {
            out.error(Code::Lost { file, what: e.what });
        } else {
            let reason = format!("{file}: {} would be lost", e.what);
            return Err(out.fatal(Code::BadImage { reason }));
        }
    }
    match out.errors() {
        0 => Ok(()),
        _ => Err(Stop),
    }
}

/// Everything that is not in the output as it was, in link order.
pub(crate) fn entries(link: Link<'_, '_>, layout: &Layout<'_>, plan: &RelocPlan) -> Vec<Entry> {
    let ledger = Ledger { link, layout };
    let resolver = RelocResolver::new(link, layout);
    let mut found = Vec::new();
    let mut relocs = layout.records.relocs.as_slice();
    for object in link.inputs.objects.iter() {
        ledger.sections(object, |_| true, &mut found);
        ledger.symbols(object, &mut found);
        let count = relocs.iter().take_while(|r| r.object == object.id).count();
        let (own, rest) = relocs.split_at(count);
        for r in own {
            ledger.relocations(object, r, &resolver, plan, &mut found);
        }
        relocs = rest;
    }
    found
}

struct Ledger<'a, 'd> {
    link: Link<'a, 'd>,
    layout: &'a Layout<'d>,
}

impl<'d> Ledger<'_, 'd> {
    fn sections(&self, object: &Object<'d>, wanted: impl Fn(&ObjSection<'d>) -> bool, found: &mut Vec<Entry>) {
        for (index, s) in object.sections.iter().enumerate().filter(|(_, s)| wanted(s)) {
            let disposition = self.section(object, index as u32, s);
            if !matches!(disposition, Disposition::Placed | Disposition::Consumed) {
                found.push(Entry {
                    object: object.id,
                    what: format!("section {}", text(s.name)),
                    size: s.size,
                    disposition,
                });
            }
        }
    }

    fn section(&self, object: &Object<'d>, index: u32, s: &ObjSection<'d>) -> Disposition {
        if index == 0 || s.size == 0 && s.data.is_empty() || self.layout.records.placement.sections[object.section_ref(index)].is_some() {
            return Disposition::Placed;
        }
        match s.role {
            Role::Text | Role::Stub => self.code(object, s.owner),
            Role::FunctionInfo | Role::Parameters | Role::Literals | Role::KernelShared => self.companion(object, s),
            Role::Relocations => self.relocation_section(object, s),
            Role::Info | Role::UnifiedEntry => Disposition::Consumed,
            // Shared variables of the module are laid out one by one.
            Role::ModuleShared => Disposition::Consumed,
            Role::Global | Role::ReservedShared | Role::UnifiedData => self.memory(object, index),
            // nvlink drops the notes of its inputs in relocatable links.
            Role::Note if self.link.mode.relocatable => Disposition::Ignored,
            Role::Other => match other(s) {
                // nvlink quirk: sections of unknown types are dropped silently; culd refuses them.
                Disposition::Unexplained if self.link.options.identity == Identity::Nvlink => Disposition::Ignored,
                known => known,
            },
            _ => Disposition::Unexplained,
        }
    }

    /// Code that was not taken.
    fn code(&self, object: &Object<'d>, owner: u32) -> Disposition {
        if owner >= object.symbol_count() {
            // nvlink drops code without a function.
            return Disposition::Unnamed;
        }
        let symbol = object.symbol_ref(owner);
        let dead = self.link.resolved.function(symbol).is_some_and(|f| !self.link.live.alive[f]);
        match self.link.resolved.fate(symbol) {
            _ if dead => Disposition::OfDropped,
            Fate::Rejected | Fate::Replaced => Disposition::OtherCopy,
            // The stub of a unified function is copied into its table.
            _ if object
                .section(object.symbol(owner).defined_in().unwrap_or(0))
                .is_some_and(|s| s.role == Role::Stub) =>
            {
                Disposition::Placed
            }
            _ => Disposition::Unexplained,
        }
    }

    /// A section of a function.
    fn companion(&self, object: &Object<'d>, s: &ObjSection<'d>) -> Disposition {
        let Some(code) = object.section(s.info).filter(|c| matches!(c.role, Role::Text | Role::Stub)) else {
            return Disposition::Unexplained;
        };
        let taken = self.layout.records.placement.sections[object.section_ref(s.info)].is_some();
        match s.role {
            _ if code.owner == NO_OWNER => Disposition::Unnamed,
            // Literals of functions are copied into their kernels; shared variables are laid out one by one.
            Role::Literals | Role::KernelShared if taken => Disposition::Consumed,
            // Attributes of stubs become those of their table.
            _ if taken && code.role == Role::Stub => Disposition::Consumed,
            _ if taken => Disposition::Unexplained,
            _ => Disposition::OfDropped,
        }
    }

    fn relocation_section(&self, object: &Object<'d>, s: &ObjSection<'d>) -> Disposition {
        let Some(target) = object.section(s.info) else {
            return Disposition::Unexplained;
        };
        match self.section(object, s.info, target) {
            Disposition::Placed => Disposition::Consumed,
            other => other,
        }
    }

    /// Memory that is only taken for the sake of a symbol.
    fn memory(&self, object: &Object<'d>, index: u32) -> Disposition {
        let records = &self.layout.records;
        let mut reason = Disposition::Unnamed;
        for i in object.symbols_of(&[STT_OBJECT, STT_CUDA_OBJECT]) {
            if object.symbol(i).defined_in() != Some(index) {
                continue;
            }
            match records.quirks.overridden.binary_search(&object.symbol_ref(i)).is_ok() {
                true => reason = Disposition::OtherCopy,
                false => return Disposition::Unexplained,
            }
        }
        reason
    }

    fn symbols(&self, object: &Object<'d>, found: &mut Vec<Entry>) {
        let kinds: &'static [u8] = &[
            STT_OBJECT,
            STT_FUNC,
            STT_CUDA_TEXTURE,
            STT_CUDA_SAMPLER,
            STT_CUDA_SURFACE,
            STT_CUDA_OBJECT,
        ];
        for index in object.symbols_of(kinds) {
            let sym = object.symbol(index);
            if self.symbol(object, &sym) == Disposition::Unexplained {
                found.push(Entry {
                    object: object.id,
                    what: format!("symbol {}", text(sym.name)),
                    size: sym.size,
                    disposition: Disposition::Unexplained,
                });
            }
        }
    }

    fn symbol(&self, object: &Object<'d>, sym: &ObjSymbol<'d>) -> Disposition {
        let records = &self.layout.records;
        if sym.kind == STT_FUNC {
            let Some(f) = self.link.resolved.function(sym.reference) else {
                return Disposition::Unexplained;
            };
            return match self.link.resolved.fate(sym.reference) {
                // A mention: the function has a symbol where it is used.
                Fate::None => Disposition::Consumed,
                Fate::Rejected | Fate::Replaced => Disposition::OtherCopy,
                Fate::Winner if !self.link.live.alive[f] => Disposition::OfDropped,
                Fate::Winner if records.symbol_of[f].is_some() || records.functions[f].alias_of.is_some() => Disposition::Placed,
                Fate::Winner => Disposition::Unexplained,
            };
        }
        if records.placement.symbols[sym.reference] != Place::Nothing {
            return Disposition::Placed;
        }
        let Some(section) = sym.defined_in() else {
            // Local mentions, and names of the unified tables where there are none.
            return Disposition::Consumed;
        };
        let placed = records.placement.sections[object.section_ref(section)].is_some();
        // `_param`, `*.const_opt.*`: the name ends with the link, the section is taken.
        let hidden = sym.other & 3 == STV_INTERNAL;
        match object.section(section).map(|s| self.section(object, section, s)) {
            Some(Disposition::Placed) if placed && (hidden || sym.is_texture()) => Disposition::Consumed,
            Some(Disposition::Placed) if placed => Disposition::Unexplained,
            // Empty sections, and those of the other view: parameter banks are made again.
            Some(other) => other,
            None => Disposition::Unexplained,
        }
    }

    fn relocations(&self, object: &Object<'d>, r: &RelocRef, resolver: &RelocResolver<'_, 'd>, plan: &RelocPlan, found: &mut Vec<Entry>) {
        let class = self.layout.records.sections[r.target].class;
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return;
        };
        // Debug information of dropped code is dropped with it, and so is what the place of its literals has no room for.
        let target = object.section(relocs.target);
        let of_dropped = |s: &ObjSection<'d>| {
            let owner = object.section(s.info).map_or(NO_OWNER, |code| code.owner);
            s.role == Role::Literals && self.code(object, owner) == Disposition::OtherCopy
        };
        if matches!(class, Class::Debug(_)) || target.is_some_and(of_dropped) {
            return;
        }
        resolver.for_each(object, r, plan.meanings(object.id), |e, decision| {
            if !matches!(decision, RelocAction::Drop) {
                return;
            }
            let raw = entry(&relocs.entries, e.index as usize);
            let sym = object.symbol(raw.r_sym.get());
            let disposition = self.relocation(object, e.kind, &sym);
            if !matches!(disposition, Disposition::Unexplained | Disposition::AddressUnused(_)) {
                return;
            }
            let section = target.map_or(String::new(), |s| text(s.name));
            found.push(Entry {
                object: object.id,
                what: format!("the reference to {} in section {section}", text(sym.name)),
                size: 0,
                disposition,
            });
        });
    }

    /// Why a relocation of a section that stays was dropped.
    fn relocation(&self, object: &Object<'d>, kind: u32, sym: &ObjSymbol<'d>) -> Disposition {
        let records = &self.layout.records;
        if UNUSED_CLEAR_TYPES.contains(&kind) || kind & 0xffff == 0 {
            return Disposition::Consumed;
        }
        match (sym.kind, records.placement.symbols[sym.reference]) {
            (STT_SECTION, _) => {
                let section = sym.defined_in().and_then(|s| Some((s, object.section(s)?)));
                match section.map(|(index, s)| self.section(object, index, s)) {
                    // Constants that were dropped because not all fit.
                    Some(Disposition::Placed) if self.layout.moves.is_some() => Disposition::OfDropped,
                    Some(Disposition::Placed | Disposition::Consumed) | None => Disposition::Unexplained,
                    Some(other) => other,
                }
            }
            (STT_FUNC, _) => {
                let f = self.link.resolved.function(sym.reference);
                let dead = f.is_some_and(|f| !self.link.live.alive[f]);
                match dead {
                    true => Disposition::AddressUnused(text(sym.name)),
                    false => Disposition::Unexplained,
                }
            }
            (_, Place::Nothing) if UNIFIED_SYMBOLS.contains(&sym.name) || sym.defined_in().is_none() => Disposition::Consumed,
            (_, Place::Nothing) => self.symbol(object, sym),
            // Withdrawn constants, literals of functions without a kernel, textures without a slot.
            (_, Place::Symbol(_) | Place::Literal(_)) => Disposition::OfDropped,
            (_, Place::Shared(_)) => Disposition::Unexplained,
        }
    }
}

/// Sections without a role: those that the linker reads in another way, and those that it does not support.
fn other(s: &ObjSection<'_>) -> Disposition {
    use SectionKind as K;
    if s.flags & SHF_CUDA_MERCURY != 0 {
        return Disposition::Consumed;
    }
    if s.sh_type == SHT_NOTE && s.flags & SHF_CUDA_NOTE_CUINFO != 0 {
        return Disposition::Consumed;
    }
    match classify(s.name, s.sh_type) {
        K::Null | K::StringTable | K::SymbolTable | K::SymbolSectionIndices => Disposition::Consumed,
        K::ToolInfo | K::CudaInfo | K::CudaVersion | K::Compat | K::CallGraph | K::Prototype => Disposition::Consumed,
        // Written anew, or only of use for a file that was linked before.
        K::RelocationActions | K::ResolvedRela | K::SharedReserved => Disposition::Consumed,
        K::Local => Disposition::Ignored,
        _ => Disposition::Unexplained,
    }
}
