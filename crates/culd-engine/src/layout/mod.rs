//! Layout: memory that can only be laid out when all inputs are known.
//!
//! 1. Shared memory ([`shared`]; relocatable outputs sum it: [`shared_sums`]), and what of it is reserved ([`reserved`]).
//! 2. Literal banks of device functions, copied into the kernels that reach them ([`literals`]).
//! 3. Constants above the limit ([`overflow`]), equal constants, where kernels were selected with options ([`constants`]), and the limits of
//!    memory ([`limits`]).
//! 4. Slots for textures, samplers and surfaces ([`textures`]).
//! 5. The last record of a final link, `.nv.rel.action`.

pub(crate) mod constants;
mod limits;
mod literals;
mod overflow;
mod reserved;
pub(crate) mod shared;
mod shared_sums;
mod shared_uses;
pub mod sort;
mod textures;

use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, SectionId, SharedId, SymbolId, Table};
use crate::names::Name;
use crate::options::Identity;
use crate::records::NewSection;
use crate::records::SymbolEmission;
use crate::records::{Class, Merged, OutFunction};
use crate::records::{Emission, LiteralReloc};
use crate::session::Link;
use cubin::consts::*;
pub use overflow::Moves;

/// Offsets of shared variables.
#[derive(Debug, Default)]
pub struct SharedLayout {
    /// Offset of each static variable that got space.
    pub offset: Table<SharedId, Option<u64>>,
    /// With a debugger: value of each dynamic variable.
    pub dynamic: Table<SharedId, u64>,
    /// Value of dynamic variables in each function that refers to one and is reached by a kernel.
    pub dynamic_in: Vec<(FunctionId, u64)>,
    /// Some variable is shared by several kernels.
    pub has_slots: bool,
}

impl SharedLayout {
    /// Value of dynamic variables in a function.
    pub fn dynamic_value(&self, f: FunctionId) -> Option<u64> {
        self.dynamic_in
            .binary_search_by_key(&f, |e| e.0)
            .ok()
            .and_then(|i| self.dynamic_in.get(i))
            .map(|e| e.1)
    }
}

/// Texture slots.
#[derive(Debug, Default)]
pub struct Textures {
    /// Slot of each reference, ascending.
    pub slots: Vec<(SymbolId, u64)>,
    /// Kernels that have the slots, each with the kind of symbols whose slots it leaves empty.
    pub kernels: Vec<(FunctionId, Option<u8>)>,
}

impl Textures {
    /// The slots that a kernel fills, by its code section and the kind that it leaves out: those of module scope and of its own parameters.
    pub(crate) fn slots_of<'a>(
        &'a self,
        records: &'a Merged<'_>,
        (text, left_out): (Option<SectionId>, Option<u8>),
    ) -> impl DoubleEndedIterator<Item = (SymbolId, u64)> + 'a {
        let fills = move |&(sym, _): &(SymbolId, u64)| {
            let sym = &records.symbols[sym];
            sym.section.is_none_or(|s| Some(s) == text) && Some(sym.kind) != left_out
        };
        self.slots.iter().copied().filter(fills)
    }
}

/// Merged records with their memory laid out.
#[derive(Debug)]
pub struct Layout<'d> {
    /// Records, complete.
    pub records: Merged<'d>,
    /// Kernels of the output in order of their sections.
    pub kernels: Vec<FunctionId>,
    /// Functions with shared memory and texture slots, in order of their sections: kernels that were not selected but stay have them all the
    /// same, and so have functions with the sections of a kernel, whether they count as one or not.
    pub every_kernel: Vec<FunctionId>,
    /// Shared memory.
    pub shared: SharedLayout,
    /// Offset of each function's literals in the kernels' banks.
    pub literals: Table<FunctionId, Option<u64>>,
    /// Texture slots.
    pub textures: Textures,
    /// Value of symbol 0. nvlink quirk: symbols of losing copies are symbol 0 and get values.
    pub null_value: u64,
    /// Places of the inputs' constants after equal ones were merged: offset, size.
    pub constant_units: Option<Vec<(u64, u64)>>,
    /// Places of constants that were laid out again.
    pub moves: Option<Moves>,
    /// Reason why nvlink fails when it writes the file.
    pub failure: Option<&'static str>,
    /// Relocations of jump tables that were copied into kernels' banks, in order.
    pub literal_relocs: Vec<LiteralReloc>,
    /// `-r`: the symbol that represents dynamic shared memory of a kernel's text.
    pub dynamic_instances: Vec<(SectionId, SymbolId)>,
}

/// Message about a relocation whose place does not exist.
pub(crate) const NOT_FOUND: &str = "reloc address not found";

/// Lays out shared memory, literals, constants and texture slots.
pub fn lay_out<'d>(link: Link<'_, 'd>, records: Merged<'d>, out: &mut Collector<'_>) -> Result<Layout<'d>, Stop> {
    let kernels = link.threads.filter_map(&records.texts, |_, &f| link.live.is_kernel[f].then_some(f));
    let has_memory = |_, &f: &FunctionId| (link.resolved.functions[f].entry || records.functions[f].shared.is_some()).then_some(f);
    let every_kernel = link.threads.filter_map(&records.texts, has_memory);
    let mut layout = Layout {
        kernels,
        every_kernel,
        shared: SharedLayout {
            offset: Table::filled(records.shared.variables.len(), None),
            dynamic: Table::filled(records.shared.variables.len(), 0),
            ..SharedLayout::default()
        },
        literals: Table::filled(records.functions.len(), None),
        textures: Textures::default(),
        null_value: 0,
        constant_units: None,
        moves: None,
        failure: None,
        literal_relocs: Vec::new(),
        dynamic_instances: Vec::new(),
        records,
    };
    if link.mode.relocatable {
        shared_sums::sum(link, &mut layout);
        withdraw_empty_literals(link, &mut layout);
        let size = constants::user_size(&layout.records);
        for &symbol in &layout.records.constant_sizes {
            layout.records.symbols[symbol].value = size;
        }
        limits::check(link, &layout, out);
        return Ok(layout);
    }
    if link.mode.rules.looks_up_shared && shared_uses::points_past_code(link, &layout.records) {
        return Err(out.fatal(Code::Internal { what: NOT_FOUND }));
    }
    textures::created(link, &mut layout.records);
    // Slots that have sections of their own come before the other sections that are made now.
    let early = link.options.target.capabilities().has_texture_slot_sections;
    if early {
        textures::lay_out(link, &mut layout, out)?;
    }
    shared::lay_out(link, &mut layout, out);
    reserved::lay_out(&mut layout, link.threads);
    literals::lay_out(link, &mut layout);
    if !overflow::lay_out(link, &mut layout) {
        constants::merge_equal(link, &mut layout);
    }
    if !early {
        textures::lay_out(link, &mut layout, out)?;
    }
    limits::check(link, &layout, out);
    if link.options.target.capabilities().has_rel_action && link.mode.rules.makes_rel_action {
        let action = layout.records.add_section(
            link.mode,
            NewSection {
                name: Name::fixed(b".nv.rel.action"),
                class: Class::RelAction,
                sh_type: SHT_CUDA_RELOCINFO,
                flags: 0,
                align: 8,
                entsize: 8,
            },
        );
        layout.records.sections[action].bytes = Some(Box::new(REL_ACTION.to_vec()));
        layout.records.sections[action].size = REL_ACTION.len() as u64;
    }
    withdraw_empty_literals(link, &mut layout);
    Ok(layout)
}

/// Contents of `.nv.rel.action`, the same in every final link up to sm_90a: how the driver patches type 0x73.
const REL_ACTION: [u8; 16] = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 0x05, 0x36];

/// Literal records that replacement emptied leave no section, no name and no symbols.
///
/// nvlink quirks: a relocatable link keeps the name of a record that a losing copy made, and fails if a symbol is left in one.
fn withdraw_empty_literals(link: Link<'_, '_>, layout: &mut Layout<'_>) {
    let records = &mut layout.records;
    let relocatable = link.mode.relocatable;
    let by_loser = |f: &OutFunction| {
        f.orphaned_literals
            .or(f.literals.filter(|_| f.literals_by_loser == Some(true)))
            .filter(|_| relocatable)
    };
    let named: Vec<SectionId> = records.functions.iter().filter_map(by_loser).collect();
    let is_empty = |id: &SectionId| records.sections[*id].class == Class::Literals && records.sections[*id].size == 0;
    let empty = link.threads.filter_map(&records.memory, |_, id| is_empty(id).then_some(*id));
    // Only lists of resolved relocations have been hidden so far.
    if empty.is_empty() && named.is_empty() && !link.mode.preserve {
        return;
    }
    for &id in &empty {
        records.sections[id].emission = Emission::Never;
    }
    if link.options.target.capabilities().has_mercury {
        // The finalizer leaves nothing of an empty jump table; a relocatable link keeps the names.
        for id in empty {
            let [rel, rela, listed] = records.sections[id].companions;
            for id in [rel, rela].into_iter().flatten() {
                records.sections[id].emission = if relocatable { Emission::NameOnly } else { Emission::Never };
            }
            if let Some(id) = listed {
                records.sections[id].emission = Emission::NameOnly;
            }
        }
    }
    for id in named {
        let s = &mut records.sections[id];
        s.emission = match s.emission {
            Emission::Never => Emission::NameOnly,
            _ => Emission::Emit,
        };
    }
    for sym in records.symbols.iter_mut() {
        let Some(section) = sym.section else { continue };
        if records.sections[section].emission != Emission::Emit {
            sym.emission = SymbolEmission::Withdrawn;
            if relocatable && link.options.identity == Identity::Nvlink {
                layout.failure = Some("reference to deleted section");
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
