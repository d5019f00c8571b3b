//! Slots for textures, samplers and surfaces.
//!
//! 1. A kernel that reaches code using one gets a 4-byte slot for each of all such symbols of the link; the only kernel of a link gets
//!    them if any prevailing definition uses one. A kernel that was not selected only counts for its own code, and
//!    on Blackwell not next to a single one that was.
//! 2. There are limits to their numbers.
//! 3. Slots start after the longest parameter bank of all kernels, ordered by the list sort over surfaces, samplers, textures reversed,
//!    each in order of arrival. A kernel leaves the slots of other kernels' parameters empty, and those of samplers if it uses textures
//!    alone, those of textures if it uses samplers alone.

use super::sort::list_sort;
use super::{Layout, Textures};
use crate::align::align_up;
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, SectionId, SymbolId, Table};
use crate::names::Name;
use crate::records::IMAGE_HEADERS;
use crate::records::NewSection;
use crate::records::{Class, ImageKinds, Merged, SymbolTableEntry};
use crate::session::Link;
use cubin::consts::*;

/// How many a kernel may have, in the order in which they are counted.
const LIMITS: [(u8, &str, usize); 3] = [
    (STT_CUDA_TEXTURE, "textures", 256),
    (STT_CUDA_SAMPLER, "samplers", 32),
    (STT_CUDA_SURFACE, "surfaces", 32),
];

pub(super) fn lay_out<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, out: &mut Collector<'_>) -> Result<(), Stop> {
    let records = &layout.records;
    if !records
        .symbols
        .iter()
        .any(|sym| matches!(sym.kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE))
    {
        return Ok(());
    }
    let mut symbols = all(records);
    if symbols.is_empty() {
        return Ok(());
    }
    symbols.reverse();
    let symbols = list_sort(symbols, &|_, _| true);
    let size_of = |f: &FunctionId| records.functions[*f].parameters.map_or(0, |id| records.sections[id].size);
    let base = align_up(layout.every_kernel.iter().map(size_of).max().unwrap_or(0), 4);
    let slots: Vec<(SymbolId, u64)> = symbols.iter().enumerate().map(|(i, &sym)| (sym, base + 4 * i as u64)).collect();
    let end = base + 4 * slots.len() as u64;
    let uses = users(link, layout);
    let reaches = link.graph.fold(
        link.resolved,
        |f, all: &mut ImageKinds| all.add(uses[f]),
        |all, callee| all.add(*callee),
    );
    let alone = link.live.only.is_some();
    let own_sections = link.options.target.capabilities().has_texture_slot_sections;
    let used = |k: FunctionId| match link.live.is_kernel[k] {
        true if alone => records.images_used,
        true => reaches[link.graph.component(k)],
        false if own_sections && alone => ImageKinds::default(),
        false => uses[k],
    };
    // Functions that count as kernels have slots where these are in no section of their own.
    let fills = |k: &FunctionId| link.resolved.functions[*k].entry || (link.live.is_kernel[*k] && !own_sections);
    let used = layout.every_kernel.iter().copied().filter(fills).map(|k| (k, used(k)));
    let kernels = used
        .filter(|(_, used)| !used.is_empty())
        .map(|(k, used)| (k, used.left_out()))
        .collect();
    let textures = Textures { slots, kernels };
    check_limits(link, layout, &textures, out)?;
    if link.options.target.capabilities().has_texture_slot_sections {
        for &(k, _) in &textures.kernels {
            if let Some(bank) = layout.records.functions[k].parameters {
                return Err(out.fatal(two_layouts(link, layout, bank)));
            }
            image_headers(link, layout, k);
        }
    }
    for &(k, _) in &textures.kernels {
        if let Some(id) = layout.records.functions[k].parameters {
            layout.records.sections[id].size = end;
        }
    }
    layout.textures = textures;
    Ok(())
}

/// Surfaces, samplers and textures, each in order of arrival.
fn all(records: &Merged<'_>) -> Vec<SymbolId> {
    let locals = || {
        records
            .order
            .locals
            .iter()
            .filter_map(|l| if let SymbolTableEntry::Symbol(sym) = l { Some(*sym) } else { None })
    };
    let of_kind = |kind: u8| {
        let all = locals().chain(records.order.globals.iter().copied());
        let mut list: Vec<SymbolId> = all.filter(|&sym| records.symbols[sym].kind == kind).collect();
        list.sort_unstable();
        list
    };
    [STT_CUDA_SURFACE, STT_CUDA_SAMPLER, STT_CUDA_TEXTURE].map(of_kind).concat()
}

/// Names of the slots that nvlink makes before it lays out other memory.
pub(super) fn created(link: Link<'_, '_>, records: &mut Merged<'_>) {
    if !link.mode.rules.keeps_dead_names {
        return;
    }
    let symbols = all(records);
    if symbols.is_empty() {
        return;
    }
    records.created.dropped_section(link.mode, Name::fixed(b".nv.constant0"));
    for &sym in symbols.iter().rev() {
        let name = Name::new(b"$NVLINKBINDLESSOFF_", records.symbols[sym].name);
        records.created.symbol(link.mode, name);
    }
}

/// Of several kernels with too many, the newest is the one that is named.
fn check_limits(link: Link<'_, '_>, layout: &Layout<'_>, textures: &Textures, out: &mut Collector<'_>) -> Result<(), Stop> {
    let records = &layout.records;
    if textures.slots.len() <= LIMITS.iter().map(|l| l.2).min().unwrap_or(0) {
        return Ok(());
    }
    for &(k, left_out) in textures.kernels.iter().rev() {
        for (kind, what, limit) in LIMITS {
            let slots = textures.slots_of(records, (records.functions[k].text, left_out));
            if slots.filter(|&(sym, _)| records.symbols[sym].kind == kind).count() > limit {
                let entry = link.resolved.function_name(k);
                return Err(out.fatal(Code::TooManyImages { entry, what, limit }));
            }
        }
    }
    Ok(())
}

/// A kernel that gets slots of the link next to those that the compiler laid out (`-ewp`). nvlink writes a SASS view whose relocations
/// belong to other slots than those of the Mercury view.
fn two_layouts(link: Link<'_, '_>, layout: &Layout<'_>, bank: SectionId) -> Code {
    let file = layout.records.sections[bank].pieces.as_slice().first();
    Code::Unsupported {
        file: file.map_or(String::new(), |p| link.inputs.objects[p.object].name.into()),
        reason: "a kernel with texture slots of its own (-ewp) next to functions that use textures, on sm_100 and later; compile it with -rdc=true"
            .into(),
    }
}

/// The Mercury view has a section of its own for the slots; it joins the parameters in the SASS view.
fn image_headers<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, k: FunctionId) {
    let name = link.resolved.functions[k].name;
    let id = layout.records.add_section(
        link.mode,
        NewSection {
            name: Name::new(IMAGE_HEADERS, name),
            class: Class::Parameters,
            sh_type: SHT_CUDA_CONSTANT0,
            flags: SHF_ALLOC | SHF_INFO_LINK,
            align: 4,
            entsize: 0,
        },
    );
    layout.records.sections[id].owner = layout.records.functions[k].text;
    layout.records.functions[k].parameters = Some(id);
}

/// What the relocations of each function refer to.
fn users(link: Link<'_, '_>, layout: &Layout<'_>) -> Table<FunctionId, ImageKinds> {
    let records = &layout.records;
    let mut uses = Table::filled(records.functions.len(), ImageKinds::default());
    for r in &records.relocs {
        let object = &link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            continue;
        };
        let Class::Text(f) = records.sections[r.target].class else {
            continue;
        };
        let images = ImageKinds::of(object.specials(relocs).iter().map(|&i| object.symbol_kind(i)));
        if !images.is_empty() && records.is_current(r, relocs.target) {
            uses[f].add(images);
        }
    }
    uses
}
