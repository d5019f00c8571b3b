//! Shared memory of a final link.
//!
//! 1. Which kernels use which variable: a relocation in their own or reachable code refers to it.
//! 2. Module-scope variables, larger first: used by one kernel, it joins that kernel's list; by several (or only by code that no kernel
//!    reaches), it is assigned to the first slot whose kernels are different, else to a new slot; referred to by nothing, it gets no space.
//! 3. Slots get offsets in order; a kernel's own list follows after its slots, by alignment descending, then size ascending.
//! 4. Dynamic variables start at the next multiple of 16; kernels that share a function using one start at the same place (with a
//!    debugger also kernels that share such a variable).
//! 5. sm_90 reserves the first 1 KB: section sizes include it, relocation values do not.

use super::Layout;
use super::shared_uses::{Late, References, late_kernels, references, users};
use super::sort::list_sort;
use crate::align::next_multiple;
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, SectionId, SharedId, Table};
use crate::names::Name;
use crate::object::text;
use crate::options::Identity;
use crate::records::SymbolEmission;
use crate::records::{ABSENT, Class, Merged};
use crate::session::Link;
use cubin::consts::{STB_LOCAL, STV_INTERNAL};
use hashbrown::{HashMap, HashSet};

/// Smallest alignment of dynamic shared memory.
pub(crate) const DYNAMIC_ALIGN: u64 = 16;

struct Slot {
    size: u64,
    align: u64,
    kernels: Vec<bool>,
    members: Vec<(SharedId, Vec<u32>)>,
}

#[derive(Clone, Default)]
struct Kernel {
    list: Vec<(SharedId, u64, u64)>,
    end: u64,
    align: u64,
    dynamic: Option<u64>,
    /// Dynamic memory starts later than the kernel's own memory needs, because of other kernels.
    moved: bool,
    used: bool,
    /// The compiler laid out its shared memory (`-ewp`).
    whole: bool,
    /// Memory that an earlier relocatable link summed up, between the slots and the variables that only this kernel uses.
    summed: u64,
}

pub(super) fn lay_out<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, out: &mut Collector<'_>) {
    let references = references(link, layout);
    let users = users(&layout.records, &references);
    let owner = section_owners(link, layout);
    let mut kernels = vec![
        Kernel {
            align: 1,
            end: link.mode.shared_start,
            ..Kernel::default()
        };
        layout.every_kernel.len()
    ];
    own_variables(link, layout, &owner, &mut kernels);
    let laid_out = whole(link, layout, &users, &mut kernels, out);
    if link.options.identity == Identity::Nvlink {
        // nvlink quirk: what sm_90 reserves is added to the value of symbol 0 for each of these.
        let blocks = layout.records.shared.whole.iter().filter(|w| w.variable.is_none());
        let count = blocks.filter(|w| w.size > 0).count() as u64;
        layout.null_value = link.mode.shared_base.saturating_mul(count);
    }
    let late = late_kernels(layout, &references);
    let (slots, needs) = assign(&layout.records, &users, &owner, &late, &mut kernels);
    layout.shared.has_slots = !slots.is_empty();
    make_sections(link, layout, &needs);
    let slot_end = place_slots(link, layout, &slots, &owner, &mut kernels);
    let module_align = module_align(link, &layout.records);
    let mut placed_in = Table::filled(layout.records.shared.variables.len(), None);
    for (k, s, offset) in laid_out {
        (layout.shared.offset[s], placed_in[s]) = (Some(offset), Some(k));
    }
    let mut first_summed = None;
    for (k, kernel) in kernels.iter_mut().enumerate() {
        if kernel.summed > 0 {
            let place = next_multiple(kernel.end, kernel.align);
            first_summed.get_or_insert(place);
            kernel.end = place.saturating_add(kernel.summed);
        }
        place_list(layout, k, kernel, &mut placed_in);
        // A section that is made for dynamic memory, later, does not take it.
        if !slots.is_empty() && layout.records.shared_section(layout.every_kernel[k]).is_some() {
            kernel.align = kernel.align.max(module_align);
        }
    }
    if link.options.identity == Identity::Nvlink {
        // nvlink quirk: the places of these are values of symbol 0, that of the first kernel last. 13.0 to 13.4 do this alike for copies that were
        // compiled with `-ewp`; memory of relocatable links is among these only in releases with `counts_laid_out_shared`.
        layout.null_value = layout.null_value.saturating_add(first_summed.unwrap_or(0));
    }
    dynamic(link, layout, &references, &users, &mut kernels);
    make_sections(link, layout, &late.kernels);
    mark_used(layout, &users, &owner, &mut kernels);
    section_sizes(link, layout, &kernels, &owner);
    module_section(link, layout, slot_end, module_align);
    symbols(link, layout, &placed_in);
}

/// The largest alignment of the module's variables. The value of the placeholder that a relocatable link makes for dynamic memory is a place.
fn module_align(link: Link<'_, '_>, records: &Merged<'_>) -> u64 {
    let variables = records.shared.module.iter().map(|&s| &records.shared.variables[s]);
    let sound = variables.filter(|v| !v.is_dynamic() || is_alignment(link, v.align));
    sound.map(|v| v.align).max().unwrap_or(0)
}

/// Per kernel: the kernel that owns its `.nv.shared.NAME` (another one only for static kernels of one name).
fn section_owners(link: Link<'_, '_>, layout: &Layout<'_>) -> Vec<u32> {
    let records = &layout.records;
    let is_anothers = |&f: &FunctionId| {
        let section = records.shared_section(f);
        section.is_some_and(|s| records.sections[s].owner != records.functions[f].text)
    };
    if !records.has_aliases && !link.threads.any(&layout.every_kernel, is_anothers) {
        return (0..layout.every_kernel.len() as u32).collect();
    }
    let mut number: HashMap<SectionId, u32, crate::names::SeededState> = HashMap::default();
    let texts: HashMap<SectionId, u32, crate::names::SeededState> = layout
        .every_kernel
        .iter()
        .enumerate()
        .filter_map(|(k, &f)| Some((layout.records.functions[f].text?, k as u32)))
        .collect();
    for (id, s) in layout.records.memory.iter().map(|&id| (id, &layout.records.sections[id])) {
        if s.class == Class::KernelShared
            && let Some(&k) = s.owner.and_then(|t| texts.get(&t))
        {
            number.insert(id, k);
        }
    }
    (0..layout.every_kernel.len() as u32)
        .map(|k| {
            layout
                .records
                .shared_section(layout.every_kernel[k as usize])
                .and_then(|s| number.get(&s))
                .copied()
                .unwrap_or(k)
        })
        .collect()
}

fn own_variables(link: Link<'_, '_>, layout: &Layout<'_>, owner: &[u32], kernels: &mut [Kernel]) {
    if layout.records.shared.of_kernels.is_empty() {
        return;
    }
    let whole = layout.records.shared.whole.iter();
    let laid_out: HashSet<SharedId, crate::names::SeededState> = whole
        .filter(|w| is_first_of_whole_program(link, w.kernel))
        .filter_map(|w| Some(w.variable?.0))
        .collect();
    let number: HashMap<FunctionId, usize, crate::names::SeededState> =
        layout.every_kernel.iter().enumerate().map(|(k, &f)| (f, k)).collect();
    let mut own: Vec<(usize, SharedId)> = layout
        .records
        .shared
        .of_kernels
        .iter()
        .filter(|(_, s)| !laid_out.contains(s))
        .filter_map(|(f, s)| Some((*number.get(f)?, *s)))
        .collect();
    own.sort_by_key(|e| e.0);
    for (k, s) in own {
        let var = &layout.records.shared.variables[s];
        kernels[owner[k] as usize].list.push((s, var.align, var.size));
    }
}

/// Is the prevailing copy of a kernel that of an extensible whole program (`-ewp`)?
fn is_of_whole_program(link: Link<'_, '_>, f: FunctionId) -> bool {
    let winner = link.resolved.functions[f].winner;
    winner.is_some_and(|w| link.inputs.objects[w.object].is_ewp)
}

/// Is the first object that has a kernel such a program?
///
/// nvlink quirk: it decides whether the variables of any copy keep their offsets, which the code of `-ewp` copies has.
fn is_first_of_whole_program(link: Link<'_, '_>, f: FunctionId) -> bool {
    match link.options.identity {
        Identity::Nvlink => link.inputs.objects[link.resolved.functions[f].first].is_ewp,
        Identity::Culd => is_of_whole_program(link, f),
    }
}

/// Kernels whose shared memory the compiler laid out: nothing but dynamic memory can follow. Returns the places of their variables.
///
/// nvlink quirk: variables of such a section have their offsets from its start, and then the section follows, again.
fn whole(
    link: Link<'_, '_>,
    layout: &Layout<'_>,
    users: &Table<SharedId, Option<Vec<u32>>>,
    kernels: &mut [Kernel],
    out: &mut Collector<'_>,
) -> Vec<(usize, SharedId, u64)> {
    let records = &layout.records;
    let mut placed = Vec::new();
    let mut is_whole: Vec<bool> = layout.every_kernel.iter().map(|&f| is_of_whole_program(link, f)).collect();
    if records.shared.whole.is_empty() && !is_whole.contains(&true) {
        return placed;
    }
    let number: HashMap<FunctionId, usize, crate::names::SeededState> =
        layout.every_kernel.iter().enumerate().map(|(k, &f)| (f, k)).collect();
    let mut ends = vec![0; kernels.len()];
    let has_variables: HashSet<FunctionId, crate::names::SeededState> = records
        .shared
        .whole
        .iter()
        .filter(|w| w.variable.is_some())
        .map(|w| w.kernel)
        .collect();
    for w in &records.shared.whole {
        let (size, align) = (w.size, w.align);
        let Some(&k) = number.get(&w.kernel) else { continue };
        let kernel = &mut kernels[k];
        if let Some((s, offset)) = w.variable {
            if is_first_of_whole_program(link, w.kernel) {
                placed.push((k, s, offset));
                if link.options.identity == Identity::Nvlink {
                    ends[k] = ends[k].max(offset.saturating_add(size));
                    kernel.end = kernel.end.max(ends[k]);
                }
                kernel.used = true;
            }
            continue;
        }
        kernel.align = kernel.align.max(align);
        kernel.used |= size > 0;
        kernel.whole = !records.shared.summed.contains(&w.kernel);
        is_whole[k] &= kernel.whole;
        // Several copies of a kernel follow each other.
        ends[k] = next_multiple(ends[k], align).saturating_add(size);
        let is_first = match has_variables.contains(&w.kernel) {
            true => is_first_of_whole_program(link, w.kernel),
            false => is_whole[k],
        };
        match is_first {
            true => kernel.end = kernel.end.max(ends[k]),
            false => kernel.summed = ends[k],
        }
    }
    let sorted = list_sort(records.shared.module.clone(), &|a, b| {
        records.shared.variables[*a].size > records.shared.variables[*b].size
    });
    let mut errors: Vec<Vec<Code>> = Vec::new();
    for s in sorted.into_iter().filter(|&s| records.shared.variables[s].size > 0) {
        let used_by = users[s].as_deref().unwrap_or_default().iter().rev();
        let refused = used_by.filter(|&&k| is_whole[k as usize]).map(|&k| Code::PartiallyLinked {
            variable: text(records.shared.variables[s].name),
            kernel: link.resolved.function_name(layout.every_kernel[k as usize]),
        });
        errors.push(refused.collect());
    }
    // nvlink quirk: below sm_90 it reports the smallest variable twice.
    let repeats = link.options.identity == Identity::Nvlink && !link.options.target.is_hopper_or_later();
    let again = errors.last().filter(|_| repeats).cloned();
    for code in errors.into_iter().chain(again).flatten() {
        out.error(code);
    }
    placed
}

/// Gives every module-scope variable to a kernel or to a slot. Also returns the late kernels in the order in which they need a section:
/// those of variables with one user, then those of slots.
fn assign(
    records: &Merged<'_>,
    users: &Table<SharedId, Option<Vec<u32>>>,
    owner: &[u32],
    late: &Late,
    kernels: &mut [Kernel],
) -> (Vec<Slot>, Vec<u32>) {
    let mut slots: Vec<Slot> = Vec::new();
    let (mut single, mut several) = (Vec::new(), Vec::new());
    let sorted = list_sort(records.shared.module.clone(), &|a, b| {
        records.shared.variables[*a].size > records.shared.variables[*b].size
    });
    for s in sorted {
        let var = &records.shared.variables[s];
        if var.size == 0 {
            continue;
        }
        let used_by = match &users[s] {
            Some(list) => list.as_slice(),
            None if var.dead_reference => &[],
            None => continue,
        };
        if let &[k] = used_by {
            single.extend(late.among(used_by));
            kernels[owner[k as usize] as usize].list.push((s, var.align, var.size));
            continue;
        }
        let free = slots.iter_mut().find(|slot| used_by.iter().all(|&k| !slot.kernels[k as usize]));
        let slot = match free {
            Some(slot) => slot,
            None => {
                slots.push(Slot {
                    size: var.size,
                    align: var.align,
                    kernels: vec![false; kernels.len()],
                    members: Vec::new(),
                });
                let last = slots.len() - 1;
                &mut slots[last]
            }
        };
        several.extend(late.among(used_by));
        slot.align = slot.align.max(var.align);
        for &k in used_by {
            slot.kernels[k as usize] = true;
        }
        slot.members.push((s, used_by.to_vec()));
    }
    single.append(&mut several);
    (slots, single)
}

/// Kernels that were not selected get their sections when the first variable comes to them.
fn make_sections<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, needs: &[u32]) {
    for &k in needs {
        let kernel = layout.every_kernel[k as usize];
        if layout.records.shared_section(kernel).is_none() {
            let name = link.resolved.functions[kernel].name;
            layout.records.add_shared_section(link.mode, kernel, name);
        }
    }
}

/// Offsets of the slots; returns their end.
fn place_slots(link: Link<'_, '_>, layout: &mut Layout<'_>, slots: &[Slot], owner: &[u32], kernels: &mut [Kernel]) -> u64 {
    let mut cursor = link.mode.shared_start;
    for slot in slots {
        let offset = next_multiple(cursor, slot.align);
        cursor = offset.saturating_add(slot.size);
        for (s, used_by) in &slot.members {
            layout.shared.offset[*s] = Some(offset);
            let end = offset.saturating_add(layout.records.shared.variables[*s].size);
            for &k in used_by {
                let kernel = &mut kernels[owner[k as usize] as usize];
                kernel.end = kernel.end.max(end);
            }
        }
    }
    if slots.is_empty() { 0 } else { cursor }
}

fn place_list(layout: &mut Layout<'_>, k: usize, kernel: &mut Kernel, placed_in: &mut Table<SharedId, Option<usize>>) {
    // nvlink quirk: memory that was summed up is the first entry of the list, which changes the order of equal variables.
    let summed = (kernel.summed > 0).then_some((None, u64::MAX, kernel.summed));
    let variables = kernel.list.iter().map(|&(s, align, size)| (Some(s), align, size));
    let before = |a: &(_, u64, u64), b: &(_, u64, u64)| a.1 < b.1 || (a.1 == b.1 && a.2 > b.2);
    for (s, align, size) in list_sort(summed.into_iter().chain(variables).collect(), &before).into_iter().rev() {
        let Some(s) = s else { continue };
        let offset = next_multiple(kernel.end, align);
        layout.shared.offset[s] = Some(offset);
        placed_in[s] = Some(k);
        kernel.end = offset.saturating_add(size);
        kernel.align = kernel.align.max(align);
    }
}

/// Dynamic variables: one start per group of kernels that share a function (with a debugger: a variable).
fn dynamic(
    link: Link<'_, '_>,
    layout: &mut Layout<'_>,
    references: &References,
    users: &Table<SharedId, Option<Vec<u32>>>,
    kernels: &mut [Kernel],
) {
    let records = &layout.records;
    let mut groups = Groups::new(kernels.len());
    let is_dynamic = |s: SharedId| records.shared.variables[s].is_dynamic();
    let users_of = |s: SharedId| users[s].as_deref().unwrap_or_default();
    for s in records.shared.module.iter().copied().filter(|&s| is_dynamic(s)) {
        for &k in users_of(s) {
            let kernel = &mut kernels[k as usize];
            let align = dynamic_align(link, records.shared.variables[s].align);
            kernel.dynamic = kernel.dynamic.max(Some(next_multiple(kernel.end, align)));
            kernel.align = kernel.align.max(align);
        }
        if link.mode.debug_symbols {
            groups.join(users_of(s));
        }
    }
    // nvlink quirk: of several dynamic variables the first one decides, whatever the others need.
    if link.options.identity == Identity::Nvlink && !link.mode.debug_symbols {
        let mut decided = vec![false; kernels.len()];
        for (variables, reached) in references.variables.iter().zip(&references.kernels) {
            for s in variables.iter().copied().filter(|&s| is_dynamic(s)) {
                let align = dynamic_align(link, records.shared.variables[s].align);
                for &k in reached.iter().filter(|&&k| !std::mem::replace(&mut decided[k as usize], true)) {
                    let kernel = &mut kernels[k as usize];
                    kernel.dynamic = Some(next_multiple(kernel.end, align));
                }
            }
        }
    }
    let uses_dynamic = |list: &Vec<SharedId>| list.iter().any(|&s| is_dynamic(s));
    for (variables, reached) in references.variables.iter().zip(&references.kernels) {
        if uses_dynamic(variables) {
            groups.join(reached);
        }
    }
    let mut highest = vec![0u64; kernels.len()];
    let mut largest_align = vec![1u64; kernels.len()];
    let mut largest_end = vec![0u64; kernels.len()];
    for (k, kernel) in kernels.iter().enumerate() {
        let g = groups.find(k as u32) as usize;
        highest[g] = highest[g].max(kernel.dynamic.unwrap_or(0));
        if kernel.dynamic.is_some() {
            largest_align[g] = largest_align[g].max(kernel.align);
            largest_end[g] = largest_end[g].max(kernel.end);
        }
    }
    // With a debugger, dynamic memory starts where the largest section ends, padding included.
    if link.mode.debug_symbols && link.mode.rules.dynamic_alignment {
        for ((start, align), end) in highest.iter_mut().zip(largest_align).zip(largest_end) {
            *start = next_multiple(end, align);
        }
    }
    for (k, kernel) in kernels.iter_mut().enumerate() {
        let start = highest[groups.find(k as u32) as usize];
        if let Some(own) = &mut kernel.dynamic {
            kernel.moved = *own != start || link.mode.debug_symbols;
            *own = start;
        }
    }
    let start = next_multiple(link.mode.shared_start, DYNAMIC_ALIGN);
    let value = |k: &u32| kernels[*k as usize].dynamic.unwrap_or(0);
    let values: Vec<_> = records
        .shared
        .module
        .iter()
        .filter(|&&s| is_dynamic(s))
        .map(|&s| (s, users_of(s).iter().map(value).max().unwrap_or(0).max(start)))
        .collect();
    let in_functions = references
        .functions
        .iter()
        .zip(references.variables.iter().zip(&references.kernels));
    let mut dynamic_in: Vec<_> = in_functions
        .filter(|(_, (v, _))| uses_dynamic(v))
        .filter_map(|(f, (_, reached))| Some((*f, value(reached.last()?))))
        .collect();
    dynamic_in.sort_unstable();
    for (s, v) in values {
        layout.shared.dynamic[s] = v;
    }
    if !dynamic_in.is_empty() && !link.mode.debug_symbols {
        let placeholder = Name::fixed(b"externsharedinstance");
        layout.records.created.symbol(link.mode, placeholder);
    }
    layout.shared.dynamic_in = dynamic_in;
}

/// Alignment of a dynamic variable that is declared with this one.
pub(super) fn dynamic_align(link: Link<'_, '_>, declared: u64) -> u64 {
    match link.mode.rules.dynamic_alignment && is_alignment(link, declared) {
        true => declared.max(DYNAMIC_ALIGN),
        false => DYNAMIC_ALIGN,
    }
}

/// nvlink quirk: the value that a relocatable link gave to `externsharedinstance` is a place, and counts as an alignment.
fn is_alignment(link: Link<'_, '_>, declared: u64) -> bool {
    declared.is_power_of_two() || (link.options.identity == Identity::Nvlink && link.mode.rules.dynamic_alignment)
}

/// A kernel has a shared section if it uses a variable that got space or a dynamic one, or has a list.
fn mark_used(layout: &Layout<'_>, users: &Table<SharedId, Option<Vec<u32>>>, owner: &[u32], kernels: &mut [Kernel]) {
    for (s, used_by) in users.enumerate() {
        let counts = layout.shared.offset[s].is_some() || layout.records.shared.variables[s].is_dynamic();
        for &k in used_by.iter().flatten().filter(|_| counts) {
            kernels[owner[k as usize] as usize].used = true;
        }
    }
}

fn section_sizes<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, kernels: &[Kernel], owner: &[u32]) {
    let base = link.mode.shared_base;
    let placed: HashMap<FunctionId, u64, crate::names::SeededState> = layout.records.shared.placed.iter().copied().collect();
    for (k, kernel) in kernels.iter().enumerate() {
        if owner[k] as usize != k {
            continue;
        }
        let floor = placed.get(&layout.every_kernel[k]).map(|start| base.saturating_add(*start));
        let size = match kernel.dynamic {
            // nvlink quirk: what counts as an alignment may not be a power of two, and the section may end before the memory starts. culd's does not.
            Some(start) if link.mode.rules.dynamic_alignment => {
                let keeps_room = kernel.moved || link.options.identity == Identity::Culd;
                let end = if keeps_room { start } else { kernel.end };
                Some(base.saturating_add(next_multiple(end, kernel.align)))
            }
            Some(start) => Some(base.saturating_add(start)),
            None if kernel.used || !kernel.list.is_empty() => Some(base.saturating_add(kernel.end)),
            // nvlink quirk: next to slots and a dynamic declaration, a kernel without shared memory has a section too.
            None if layout.shared.has_slots && layout.records.shared.has_dynamic && (base == 0 || kernel.align >= DYNAMIC_ALIGN) => {
                Some(base)
            }
            // The section of one that only uses dynamic memory is empty, next to a dynamic declaration but for what is reserved.
            None if layout.records.shared.has_dynamic => kernel.whole.then_some(base),
            None => kernel.whole.then_some(0),
        };
        let size = floor.max(size);
        let kernel_id = layout.every_kernel[k];
        let Some(section) = layout.records.shared_section(kernel_id) else {
            continue;
        };
        let record = &mut layout.records.sections[section];
        record.no_symbol = size.unwrap_or(0) == 0;
        match size {
            Some(size) if size > 0 || kernel.whole || kernel.align == DYNAMIC_ALIGN => (record.size, record.align) = (size, kernel.align),
            _ => record.size = ABSENT,
        }
    }
    let records = &mut layout.records;
    let is_absent = |&id: &SectionId| {
        let s = &records.sections[id];
        s.class == Class::KernelShared && s.size == 0 && !s.no_symbol
    };
    for id in link.threads.filter_map(&records.memory, |_, id| is_absent(id).then_some(*id)) {
        records.sections[id].size = ABSENT;
    }
}

fn module_section(link: Link<'_, '_>, layout: &mut Layout<'_>, slot_end: u64, module_align: u64) {
    let slots = layout.shared.has_slots;
    let dynamic = layout.records.shared.has_dynamic;
    let (size, align) = if link.mode.shared_symbols() {
        let align = (if dynamic { DYNAMIC_ALIGN } else { 0 }).max(if slots { module_align } else { 0 });
        if slots || dynamic {
            (link.mode.shared_base.saturating_add(slot_end), align)
        } else {
            (0, 0)
        }
    } else if dynamic {
        (0, if slots { module_align.max(DYNAMIC_ALIGN) } else { DYNAMIC_ALIGN })
    } else {
        (0, 0)
    };
    let symbols = link.mode.shared_symbols();
    if let Some(id) = layout.records.module_shared_section() {
        let s = &mut layout.records.sections[id];
        s.no_symbol = size == 0 || !symbols;
        (s.size, s.align) = if size > 0 || align == DYNAMIC_ALIGN {
            (size, align)
        } else {
            (ABSENT, 1)
        };
    }
}

/// Values and sections of shared symbols for a debugger or for preserved relocations.
fn symbols(link: Link<'_, '_>, layout: &mut Layout<'_>, placed_in: &Table<SharedId, Option<usize>>) {
    if !link.mode.shared_symbols() {
        return;
    }
    let base = link.mode.shared_base;
    let module = layout.records.module_shared_section();
    let module_is_empty = module.is_some_and(|id| layout.records.sections[id].no_symbol);
    let mut listed: Table<SharedId, u64> = Table::filled(layout.records.shared.variables.len(), 0);
    for &s in &layout.records.shared.module {
        listed[s] += 1;
    }
    for (_, s) in &layout.records.shared.of_kernels {
        listed[*s] = 1;
    }
    for s in layout.records.shared.variables.ids() {
        let Some(symbol) = layout.records.shared.variables[s].symbol else {
            continue;
        };
        let offset = layout.shared.offset[s];
        let section = match placed_in[s] {
            Some(k) => layout.records.shared_section(layout.every_kernel[k]),
            None => module,
        };
        let dynamic = layout.records.shared.variables[s].is_dynamic();
        let slots = layout.shared.has_slots;
        let record = &mut layout.records.symbols[symbol];
        record.section = section;
        if placed_in[s].is_some() && link.mode.rules.kernel_shared_local {
            record.bind = STB_LOCAL;
        }
        match offset {
            // nvlink quirk: a variable that takes space twice has the reserved part added twice.
            Some(offset) => record.value = (base * listed[s]).saturating_add(offset),
            None if !dynamic => record.emission = SymbolEmission::Withdrawn,
            // The placeholder of an earlier relocatable link has the section of its symbol.
            None if record.other & 3 == STV_INTERNAL && link.mode.debug_symbols && module_is_empty => {
                record.emission = SymbolEmission::Withdrawn
            }
            None if link.mode.debug_symbols => record.value = if slots { base } else { 0 } + layout.shared.dynamic[s],
            // nvlink quirk: an unset value of -1 moves with the base, or its symbol is dropped.
            None if slots && base > 0 => record.value = base - 1,
            None => record.emission = SymbolEmission::Withdrawn,
        }
    }
}

/// Disjoint groups of kernels.
struct Groups {
    parent: Vec<u32>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Groups {
            parent: (0..count as u32).collect(),
        }
    }
    fn find(&mut self, k: u32) -> u32 {
        let mut root = k;
        while self.parent[root as usize] != root {
            root = self.parent[root as usize];
        }
        let mut node = k;
        while self.parent[node as usize] != root {
            node = std::mem::replace(&mut self.parent[node as usize], root);
        }
        root
    }
    fn join(&mut self, members: &[u32]) {
        for pair in members.windows(2) {
            let (a, b) = (self.find(pair[0]), self.find(pair[1]));
            self.parent[b as usize] = a;
        }
    }
}
