//! The linked Mercury view: contents of its sections, kept relocations, and the values that were resolved in code.
//!
//! 1. Contents: computed bytes or the pieces of the inputs.
//! 2. Every relocation is decided once more. In code nothing is patched here: the value is remembered together with the parallel entry of
//!    the input's SASS view. Elsewhere it is written.
//! 3. Kept entries come in reverse order of arrival; relocations of jump tables that were copied into kernels follow.
//! 4. Values of the system (`.nv.reservedSmem.*`) are in the compiler's code already. nvlink quirk: a function with the relocations of
//!    another one has them where that one has them, over whatever is there, and 0 where they belong.

use crate::arrange::OutputPlan;
use crate::csr::GroupedLists;
use crate::emit::copy;
use crate::finalize::code::offsets::mercury_places;
use crate::ids::{Id, SectionId, Table};
use crate::object::{ObjSection, Object, RelocSection, Role, entry};
use crate::records::{Class, RelocRef, SymbolTableEntry};
use crate::relocate::{RelocAction, RelocResolver};
use crate::sections::SyntheticSections;
use cubin::consts::*;
use cubin::layout::R_MERCURY_PROG_REL32;
use cubin::raw::Rela;
use cubin::reloc::{MERCURY_CODE_ADDRESSES, RelocInfo};
use std::collections::BTreeMap;
use zerocopy::FromBytes;

/// A relocation that stays.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// Offset in the section.
    pub(crate) offset: u64,
    /// Mercury type.
    pub(crate) kind: u32,
    /// Symbol.
    pub(crate) named: SymbolTableEntry,
    /// Addend.
    pub(crate) addend: i64,
    /// The input's entry in the SASS view.
    pub(crate) twin: Option<Rela>,
}

/// A value that was resolved in code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resolved {
    /// Mercury type.
    pub(crate) kind: u32,
    /// Value.
    pub(crate) value: u64,
    /// It is the slot of a texture, sampler or surface.
    pub(crate) slot: bool,
    /// The input's entry in the SASS view.
    pub(crate) twin: Rela,
}

/// The linked Mercury view.
pub(crate) struct Linked {
    pub(crate) sections: Table<SectionId, LinkedSection>,
}

/// A section of the linked Mercury view.
#[derive(Default)]
pub(crate) struct LinkedSection {
    /// Contents; `None` for code, tables and relocations.
    pub(crate) bytes: Option<Vec<u8>>,
    /// Kept relocations that belong to it.
    pub(crate) kept: Vec<Kept>,
    /// Relocations of the texture slots that the link laid out in this parameter bank.
    pub(crate) slots: Vec<Kept>,
    /// What this list of resolved relocations (`--preserve-relocs`) lists.
    pub(crate) listed: Vec<Kept>,
    /// What a list is to list about this section: number of the relocation section, entries.
    entries: Vec<(u32, Vec<Kept>)>,
    /// Resolved values of this code section.
    pub(crate) resolved: Vec<Resolved>,
    /// Values of the system in functions with the relocations of another one: place in the compiler's code, value.
    pub(crate) misplaced: Vec<(u64, u32)>,
}

/// Number of a symbol or section symbol in the output.
pub(crate) fn symbol_number(output: &OutputPlan<'_, '_>, named: SymbolTableEntry) -> u32 {
    match named {
        SymbolTableEntry::Symbol(id) => output.arranged.symbol_index(id),
        SymbolTableEntry::Section(_) => output.arranged.named_index(named),
    }
}

/// Name of a symbol.
pub(crate) fn symbol_name<'a>(output: &'a OutputPlan<'_, '_>, named: SymbolTableEntry) -> &'a [u8] {
    match named {
        SymbolTableEntry::Symbol(id) => output.layout.records.symbols.get(id).map_or(b"", |sym| sym.name),
        SymbolTableEntry::Section(_) => b"",
    }
}

/// Reserved shared memory: kept in the Mercury view, resolved in SASS.
pub(crate) fn is_reserved(output: &OutputPlan<'_, '_>, named: SymbolTableEntry) -> bool {
    symbol_name(output, named).starts_with(b"__nv_reservedSMEM")
}

/// Entries of a relocation section in the SASS view.
pub(crate) fn sass_entries<'d>(object: &Object<'d>, section: u32) -> &'d [Rela] {
    let data = object.sass.get(section as usize).map_or(&[][..], |s| s.data);
    <[Rela]>::ref_from_bytes(data).unwrap_or_default()
}

/// The SASS entry of each Mercury entry: same order, without those for `.nv.reservedSmem.*`, and without those for labels in code (`-ewp`), which
/// the compiler's finalizer has resolved.
fn pair(object: &Object<'_>, relocs: &RelocSection<'_>, places: Option<&Places>) -> Vec<Option<Rela>> {
    let sass = sass_entries(object, relocs.section);
    let mercury = || (0..relocs.entries.len()).map(|i| entry(&relocs.entries, i));
    let is_system = |r: &Rela| object.symbol(r.r_sym.get()).name.starts_with(b".nv.reservedSmem");
    let is_label = |r: &Rela| r.r_type.get() == R_MERCURY_PROG_REL32;
    let in_code = object.section(relocs.target).is_some_and(|s| s.role == Role::Text);
    let has_labels = in_code && mercury().filter(|r| !is_system(r)).count() > sass.len();
    let mut twins = sass.iter();
    mercury()
        .map(|mercury| {
            if is_system(&mercury) || has_labels && is_label(&mercury) {
                return None;
            }
            let mut twin = *twins.next()?;
            if let Some(places) = places {
                twin.r_offset = place(places, mercury.r_offset.get()).into();
                if MERCURY_CODE_ADDRESSES.contains(&mercury.r_type.get()) {
                    twin.r_addend = (place(places, mercury.r_addend.get() as u64) as i64).into();
                }
            }
            Some(twin)
        })
        .collect()
}

/// SASS offset of each Mercury instruction.
type Places = BTreeMap<u64, u64>;

/// SASS offset of the instruction with a Mercury offset.
fn place(places: &Places, offset: u64) -> u64 {
    places.range(..=offset).next_back().map_or(offset, |p| *p.1)
}

/// What happens to the values of the system in a function with the relocations of another one: 0 where its own relocations have them, then the values
/// where the others have them.
fn misplaced(object: &Object<'_>, relocs: &RelocSection<'_>, places: &Places) -> Vec<(u64, u32)> {
    let value = |r: &Rela| {
        let name = object.symbol(r.r_sym.get()).name;
        Some(SYSTEM_SYMBOLS.iter().find(|s| s.0 == name)?.1 as u32)
    };
    let at = |r: &Rela| place(places, r.r_offset.get());
    let own = own_entries(object, relocs.target).unwrap_or_default();
    let own = own.iter().filter(|r| value(r).is_some()).map(|r| (at(r), 0));
    let borrowed = (0..relocs.entries.len()).map(|i| entry(&relocs.entries, i));
    own.chain(borrowed.filter_map(|r| Some((at(&r), value(&r)?)))).collect()
}

/// The Mercury relocations that belong to a code section, whichever its object gave it.
fn own_entries<'d>(object: &Object<'d>, code: u32) -> Option<&'d [Rela]> {
    let of_code = |s: &ObjSection<'_>| s.sh_type == SHT_CUDA_CAPMERC && s.data.first_chunk() == Some(&code.to_le_bytes());
    let capsule = object.sass.iter().position(of_code)? as u32;
    let mut lists = object.sass.iter().filter(|s| s.sh_type == SHT_CUDA_MERC_RELA);
    <[Rela]>::ref_from_bytes(lists.find(|s| s.info == capsule)?.data).ok()
}

/// Where the instructions of a function are, if its relocations are those of another function of this name: the same Mercury places mean other
/// SASS places.
fn borrowed_places(object: &Object<'_>, relocs: &RelocSection<'_>) -> Option<Places> {
    let sass = object.sass.get(relocs.section as usize)?;
    let borrowed = sass.info != relocs.target && object.section(relocs.target)?.role == Role::Text;
    borrowed.then(|| mercury_places(object, relocs.target)).flatten()
}

/// Sections with more relocation sections than this have them decided by several threads: those of debug information have one of every object.
const MANY: usize = 16;
/// Relocation sections whose effects are in memory at a time.
const WINDOW: usize = 1 << 14;

/// What the relocations of one input section do.
#[derive(Default)]
struct Effects {
    kept: Vec<Kept>,
    listed: Vec<Kept>,
    resolved: Vec<Resolved>,
    misplaced: Vec<(u64, u32)>,
    /// Fields outside of code, by their offset.
    fields: Vec<(u64, FieldChange)>,
}

/// A field that is written.
enum FieldChange {
    /// So many bytes are cleared.
    Clear(u8),
    /// Type, value, bank.
    Patch(&'static RelocInfo, u64, u32),
}

impl Effects {
    fn new<'d>(output: &OutputPlan<'_, 'd>, resolver: &RelocResolver<'_, 'd>, r: &RelocRef) -> Self {
        let mut effects = Effects::default();
        let records = &output.layout.records;
        let object = &output.link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            return effects;
        };
        let places = borrowed_places(object, relocs);
        if let Some(places) = &places {
            effects.misplaced = misplaced(object, relocs, places);
        }
        let twins = pair(object, relocs, places.as_ref());
        let target = &records.sections[r.target];
        let in_code = matches!(target.class, Class::Text(_) | Class::Stub(_) | Class::Uft);
        // Static functions of one name share a list: what is not the first one's is found again by its place in the first one's code.
        let list = target.companions[2].map(|list| &records.sections[list]);
        let owns_list = list.is_some_and(|list| matches!(list.class, Class::ResolvedRela(owner) if owner == r.target));
        resolver.for_each(object, r, output.plan.meanings(r.object), |e, decision| {
            let twin = twins.get(e.index as usize).copied().flatten();
            let kept = |kind: u32, named: SymbolTableEntry, addend: i64, twin: Option<Rela>| Kept {
                offset: e.offset,
                kind,
                named,
                addend,
                twin,
            };
            if let RelocAction::Patch(_, _, _, Some((Some(named), addend))) = decision
                && list.is_some()
            {
                effects.listed.push(kept(e.kind, named, addend, twin.filter(|_| owns_list)));
            }
            match decision {
                RelocAction::Drop | RelocAction::Removed(_) | RelocAction::Fail(_) => {}
                RelocAction::Keep(kind, symbol) => effects.kept.push(kept(kind, SymbolTableEntry::Symbol(symbol), e.addend, twin)),
                RelocAction::KeepSection(kind, section, addend) => {
                    effects.kept.push(kept(kind, SymbolTableEntry::Section(section), addend, twin));
                }
                RelocAction::Clear(size) => effects.fields.push((e.offset, FieldChange::Clear(size))),
                RelocAction::Patch(info, value, ..) if in_code => effects.resolved.extend(twin.map(|twin| Resolved {
                    kind: info.code,
                    value,
                    slot: object.symbol(entry(&relocs.entries, e.index as usize).r_sym.get()).is_texture(),
                    twin,
                })),
                RelocAction::Patch(info, value, bank, _) => effects.fields.push((e.offset, FieldChange::Patch(info, value, bank))),
            }
        });
        effects
    }
}

impl FieldChange {
    fn write(&self, field: &mut [u8]) {
        match *self {
            FieldChange::Clear(size) => {
                if let Some(field) = field.get_mut(..size.into()) {
                    field.fill(0);
                }
            }
            // A field that does not fit was refused when the object was read.
            FieldChange::Patch(info, value, bank) => cubin::reloc::apply(info, field, value, bank, false).unwrap_or_default(),
        }
    }
}

/// Appends a list to one that is often empty.
fn append<T>(list: &mut Vec<T>, mut new: Vec<T>) {
    match list.is_empty() {
        true => *list = new,
        false => list.append(&mut new),
    }
}

impl LinkedSection {
    /// Takes what the relocations of the next input section, with this number, do to this one.
    fn add(&mut self, number: u32, effects: Effects) {
        append(&mut self.kept, effects.kept);
        if !effects.listed.is_empty() {
            self.entries.push((number, effects.listed));
        }
        append(&mut self.resolved, effects.resolved);
        append(&mut self.misplaced, effects.misplaced);
        for (offset, change) in effects.fields {
            if let Some(field) = self.bytes.as_mut().and_then(|b| b.get_mut(offset as usize..)) {
                change.write(field);
            }
        }
    }
}

/// Links the Mercury view. Relocations of different sections do not meet, so each section is made by itself.
pub(crate) fn link(output: &OutputPlan<'_, '_>, computed: &SyntheticSections) -> Linked {
    let layout = output.layout;
    let (count, threads) = (layout.records.sections.len(), output.link.threads);
    let mut is_written = Table::filled(count, false);
    output.arranged.sections.iter().for_each(|&id| is_written[id] = true);
    let resolver = RelocResolver::new(output.link, layout);
    let refs: Vec<(SectionId, u32)> = layout.records.relocs.iter().zip(0..).map(|(r, n)| (r.target, n)).collect();
    let refs = GroupedLists::newest_first(count, &refs);
    let section = |&id: &SectionId| {
        let own = || computed.get(id).map(<[u8]>::to_vec).or_else(|| contents(output, id));
        let mut section = LinkedSection {
            bytes: if is_written[id] { own() } else { None },
            ..LinkedSection::default()
        };
        let effects = |&n: &u32| {
            let relocs = layout.records.relocs.get(n as usize);
            (n, relocs.map(|r| Effects::new(output, &resolver, r)).unwrap_or_default())
        };
        let own = refs.of(id);
        // The newest come first.
        for window in own.rchunks(WINDOW) {
            let all: Vec<(u32, Effects)> = match own.len() > MANY {
                true => threads.map(window, effects),
                false => window.iter().map(effects).collect(),
            };
            all.into_iter().rev().for_each(|(n, effects)| section.add(n, effects));
        }
        section.kept.reverse();
        section
    };
    let ids: Vec<SectionId> = (0..count).map(SectionId::from_index).collect();
    let mut linked = Linked {
        sections: threads.map(&ids, section).into(),
    };
    list(output, &mut linked);
    for &(k, left_out) in &layout.textures.kernels {
        let Some(id) = layout.records.functions[k].parameters else {
            continue;
        };
        let slots = layout
            .textures
            .slots_of(&layout.records, (layout.records.functions[k].text, left_out));
        linked.sections[id].slots.extend(slots.rev().map(|(sym, offset)| Kept {
            offset,
            kind: match layout.records.symbols[sym].kind {
                STT_CUDA_TEXTURE => 0x1_000b,
                STT_CUDA_SAMPLER => 0x1_000c,
                _ => 0x1_000d,
            },
            named: SymbolTableEntry::Symbol(sym),
            addend: 0,
            twin: None,
        }));
    }
    for r in &layout.literal_relocs {
        linked.sections[r.bank].kept.push(Kept {
            offset: r.offset,
            kind: r.kind,
            named: SymbolTableEntry::Symbol(r.symbol),
            addend: r.addend,
            twin: None,
        });
    }
    linked
}

/// Moves entries to the lists, which several sections can share, in the order of all relocation sections.
fn list(output: &OutputPlan<'_, '_>, linked: &mut Linked) {
    let sections = output.layout.records.sections.iter().zip(linked.sections.iter_mut());
    let mut entries: Vec<(u32, SectionId, Vec<Kept>)> = Vec::new();
    for (list, own) in sections.filter_map(|(s, linked)| Some((s.companions[2]?, &mut linked.entries))) {
        entries.extend(own.drain(..).map(|(number, kept)| (number, list, kept)));
    }
    entries.sort_by_key(|e| e.0);
    for (_, list, mut kept) in entries.into_iter().rev() {
        kept.reverse();
        append(&mut linked.sections[list].listed, kept);
    }
}

/// Bytes of a section before relocation.
fn contents(output: &OutputPlan<'_, '_>, id: SectionId) -> Option<Vec<u8>> {
    let s = &output.layout.records.sections[id];
    match s.class {
        Class::Text(_) | Class::Stub(_) | Class::Uft | Class::Rel(_) | Class::Rela(_) | Class::ResolvedRela(_) => return None,
        Class::SectionNames | Class::Strings | Class::Symbols | Class::ExtendedIndices => return None,
        _ if cubin::read::is_nobits(s.sh_type) || s.sh_type == SHT_CUDA_SHARED_RESERVED => return None,
        _ => {}
    }
    if let Some(bytes) = &s.bytes {
        return Some(bytes.to_vec());
    }
    let mut bytes = vec![0; s.size as usize];
    for piece in s.pieces.as_slice() {
        let input = output.link.inputs.objects[piece.object].section(piece.section);
        copy(&mut bytes, piece.base, input.map_or(&[], |i| i.data));
    }
    Some(bytes)
}
