//! Requested reports: the call graph, register propagation, resource usage. Uses of reserved shared memory are reported among them.

use crate::arrange::Arranged;
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, SectionId, Table};
use crate::layout::Layout;
use crate::metadata::kernel::KernelAttributes;
use crate::metadata::reservation;
use crate::records::{ABSENT, Class, Emission};
use crate::session::Link;
use crate::usage::{ConstantBank, KernelUsage, MemoryUsage, ResourceUsage};
use cubin::consts::*;
use cubin::nvinfo::attr;

/// Call graph dump, register limits, resource usage, in nvlink's order.
pub fn report(
    link: Link<'_, '_>,
    layout: &Layout<'_>,
    arranged: &Arranged,
    attributes: &KernelAttributes<'_>,
    out: &mut Collector<'_>,
) -> Option<ResourceUsage> {
    let dump = link.options.dump_callgraph && !link.options.relocatable;
    if dump {
        dump_callgraph(link, layout, attributes, out);
    }
    if !link.options.relocatable {
        registers(link, layout, arranged, attributes, dump, out);
    }
    reservation::check(link, &attributes.reserved, out);
    let after = out.count();
    link.options.usage.then(|| usage(link, layout, arranged, attributes, after))
}

fn shown(link: Link<'_, '_>, f: FunctionId) -> String {
    let name = link.resolved.functions[f].name;
    String::from_utf8_lossy(&culd_demangle::display(name)).into_owned()
}

fn dump_callgraph(link: Link<'_, '_>, layout: &Layout<'_>, attributes: &KernelAttributes<'_>, out: &mut Collector<'_>) {
    if link.inputs.objects.len() == 0 {
        out.text("No relocatable objects found. Did not generate callgraph.".into());
        return;
    }
    out.text(format!("callgraph for sm_{}:", link.options.target.number));
    for line in [
        "# A: s -> B // s (number A) potentially calls B",
        "# s [N]     // s uses N registers",
        "# ^s        // s is entry point",
        "# &s        // s has address taken",
    ] {
        out.text(line.into());
    }
    let numbers = numbers(link);
    let stays = link.options.debug || link.mode.preserve;
    let unnamed_name = if layout.records.quirks.unnamed_have_first_name {
        ".shstrtab"
    } else {
        ""
    };
    let mut last = 0;
    for f in link.resolved.functions.ids() {
        let number = numbers[f];
        let arrow = if stays { " ->" } else { "" };
        (last + 1..number).for_each(|unnamed| out.text(format!("{unnamed}: {unnamed_name}{arrow}")));
        last = number;
        if !link.live.alive[f] || layout.records.symbol_of[f].is_none() {
            out.text(format!("{number}: "));
            continue;
        }
        let function = &link.resolved.functions[f];
        // nvlink quirk: unless there is exactly one kernel, stubs of unified functions count as entries.
        let is_entry = link.live.is_kernel[f]
            || (function.stub && link.live.only.is_none())
            || (function.winner.is_none() && link.resolved.is_declared_entry(f));
        let entry = if is_entry { "^" } else { "" };
        let taken = if function.taken.is_some() { "&" } else { "" };
        let registers = attributes.facts[f]
            .registers
            .filter(|_| function.winner.is_some())
            .map_or(String::new(), |n| format!(" [{n}]"));
        let mut line = format!("{number}: {entry}{taken}{}{registers} ->", shown(link, f));
        for callee in link.graph.callees(link.resolved, f) {
            line.push_str(&format!(" {}", numbers[callee]));
        }
        out.text(line);
    }
}

/// Numbers of functions in the dump. nvlink quirk: up to CUDA 12.9 the symbols without a name have numbers, too.
fn numbers(link: Link<'_, '_>) -> Table<FunctionId, u32> {
    let count = link.resolved.functions.len();
    let mut numbers = Table::filled(count, 0);
    let mut before = Table::filled(count, false);
    if link.mode.rules.unnamed_symbols {
        let mut seen = Table::filled(count, false);
        for object in link.inputs.objects.iter() {
            let mut is_first = true;
            for &index in object.function_order() {
                let sym = object.symbol(index);
                let Some(f) = link.resolved.function(sym.reference) else {
                    continue;
                };
                if !seen[f] && sym.defined_in().is_none() && sym.other & STO_CUDA_ENTRY == 0 {
                    before[f] = is_first;
                    is_first = false;
                }
                seen[f] = true;
            }
        }
    }
    let mut last = 0;
    for f in link.resolved.functions.ids() {
        last += 1 + u32::from(before[f]);
        numbers[f] = last;
    }
    numbers
}

/// Register limits of kernels, and with a dump the lines about propagation.
///
/// Functions in order of their sections, kernels in descending order: a kernel's count rises step by step. Without a dump only kernels
/// whose final count exceeds their limit need the walk.
fn registers(
    link: Link<'_, '_>,
    layout: &Layout<'_>,
    arranged: &Arranged,
    attributes: &KernelAttributes<'_>,
    dump: bool,
    out: &mut Collector<'_>,
) {
    let limit = |k: FunctionId| attributes.of(k).find(|r| r.code == attr::MAXREG_COUNT).map(|r| u32::from(r.half()));
    let exceeds = |k: FunctionId| limit(k).is_some_and(|l| attributes.registers[k] > l);
    let kernels = link
        .threads
        .filter_map(&link.live.kernels, |_, &k| (dump || exceeds(k)).then_some(k));
    if kernels.is_empty() {
        return;
    }
    let text = |id: &SectionId| {
        if let Class::Text(f) = layout.records.sections[*id].class {
            Some(f)
        } else {
            None
        }
    };
    let functions: Vec<FunctionId> = arranged
        .sections
        .iter()
        .filter_map(text)
        .filter(|&f| !link.resolved.functions[f].entry)
        .collect();
    let mut reached: Vec<Vec<u32>> = vec![Vec::new(); functions.len()];
    link.graph
        .reach(link.resolved, &functions, &kernels, |f, k| reached[f].push(k as u32));
    let mut current: Vec<u32> = kernels.iter().map(|&k| attributes.facts[k].registers.unwrap_or(0)).collect();
    for (&f, kernels_of) in functions.iter().zip(&reached) {
        let Some(count) = attributes.facts[f].registers else { continue };
        for &k in kernels_of.iter().rev() {
            let (Some(&kernel), Some(known)) = (kernels.get(k as usize), current.get_mut(k as usize)) else {
                continue;
            };
            if count <= *known {
                continue;
            }
            if let Some(limit) = limit(kernel).filter(|&l| count > l) {
                let path = link
                    .graph
                    .path(link.resolved, kernel, f)
                    .into_iter()
                    .map(|f| link.resolved.function_name(f))
                    .collect();
                let (entry, function) = (link.resolved.function_name(kernel), link.resolved.function_name(f));
                out.error(Code::TooManyRegisters {
                    entry,
                    limit,
                    function,
                    registers: count,
                    path,
                });
            }
            *known = count;
            if dump {
                out.text(format!(
                    "regcount {count} for {} propagated to entry {}",
                    shown(link, f),
                    shown(link, kernel)
                ));
            }
        }
    }
}

/// Constant banks of the module that `-v` counts.
const REPORTED_BANKS: [u32; 5] = [1, 3, 4, 5, 6];

/// Memory of the module, and resources of each kernel, last kernel first.
fn usage(link: Link<'_, '_>, layout: &Layout<'_>, arranged: &Arranged, attributes: &KernelAttributes<'_>, after: usize) -> ResourceUsage {
    let records = &layout.records;
    let emitted = |id: &SectionId| arranged.section_index(*id) != 0;
    let size = |id: SectionId| {
        if records.sections[id].size == ABSENT {
            0
        } else {
            records.sections[id].size
        }
    };
    let mut global = 0;
    let mut constant_banks = Vec::new();
    for &id in &arranged.sections {
        match records.sections[id].class {
            Class::Global | Class::GlobalInit => global = size(id).saturating_add(global),
            // Constants of the Mercury view have no bank yet.
            Class::Constant(bank) if !link.options.target.capabilities().has_mercury && REPORTED_BANKS.contains(&bank) => {
                constant_banks.push(ConstantBank { bank, size: size(id) })
            }
            _ => {}
        }
    }
    constant_banks.sort_unstable();
    let memory = MemoryUsage { global, constant_banks };
    // No counts for the Mercury view.
    let textured = |k: FunctionId| {
        let mut kernels = layout.textures.kernels.iter();
        kernels.find(|t| t.0 == k && !link.options.target.capabilities().has_mercury)
    };
    let compiled = compiled_slots(link, layout);
    let count = |k: FunctionId, kind: u8| {
        let slots = textured(k).map(|t| layout.textures.slots_of(records, (records.functions[k].text, t.1)));
        let added = slots.map_or(0, |slots| slots.filter(|(sym, _)| records.symbols[*sym].kind == kind).count());
        let bank = records.functions[k].parameters;
        (added + compiled.iter().filter(|c| Some(c.0) == bank && c.1 == kind).count()) as u32
    };
    let functions = &link.resolved.functions;
    // Also those that count as functions; in the order of their definitions: another object may have mentioned one before.
    let mut kernels: Vec<FunctionId> = functions
        .ids()
        .filter(|&f| functions[f].entry && functions[f].winner.is_some() && link.live.alive[f])
        .collect();
    kernels.sort_by_key(|&k| (records.functions[k].text, functions[k].defined_by));
    let mut usages = Vec::with_capacity(kernels.len());
    for &k in kernels.iter().rev() {
        let function = &records.functions[k];
        let bank = |id: SectionId| records.sections[id].sh_type.wrapping_sub(SHT_CUDA_CONSTANT0);
        let literals = function.orphaned_literals.or(function.literals);
        let mut constant_banks: Vec<ConstantBank> = [function.parameters, literals]
            .into_iter()
            .flatten()
            .filter(emitted)
            .filter(|&id| records.sections[id].emission != Emission::Never && !link.options.target.capabilities().has_mercury)
            .map(|id| ConstantBank {
                bank: bank(id),
                size: size(id),
            })
            .collect();
        constant_banks.sort_unstable();
        let relocatable = link.mode.relocatable;
        let own = attributes.facts[k];
        // A relocatable output keeps the barriers of CUDA 12 objects in section flags.
        let flagged = attributes.flagged.binary_search_by_key(&k, |f| f.0).ok();
        let flagged = flagged.and_then(|at| attributes.flagged.get(at)).map_or(0, |f| f.1);
        let unrecorded = if relocatable { function.barriers } else { flagged };
        let recorded = attributes.of(k).find(|r| r.code == attr::NUM_BARRIERS);
        let barriers = recorded.map_or(unrecorded, |r| u32::from(r.half() & 0xff));
        let stack = if relocatable {
            0
        } else {
            attributes.stack[k].unwrap_or(own.frame.into()) as u64
        };
        usages.push(KernelUsage {
            name: link.resolved.function_name(k),
            registers: if relocatable || !link.live.is_kernel[k] {
                own.registers.unwrap_or(0)
            } else {
                attributes.registers[k]
            },
            barriers,
            omits_barriers: !link.mode.rules.prints_barriers,
            stack,
            stack_is_unknown: !relocatable && attributes.stack[k].is_none(),
            shared: function.shared.filter(emitted).map_or(0, size),
            constant_banks,
            textures: count(k, STT_CUDA_TEXTURE),
            surfaces: count(k, STT_CUDA_SURFACE),
            samplers: count(k, STT_CUDA_SAMPLER),
        });
    }
    ResourceUsage {
        after,
        memory,
        kernels: usages,
    }
}

/// Slots that the compiler laid out itself (`-ewp`): the parameter bank and the kind of the symbol.
fn compiled_slots(link: Link<'_, '_>, layout: &Layout<'_>) -> Vec<(SectionId, u8)> {
    let records = &layout.records;
    if link.options.target.capabilities().has_mercury || !link.inputs.objects.iter().any(|o| o.is_ewp) {
        return Vec::new();
    }
    let mut slots = Vec::new();
    for r in records
        .relocs
        .iter()
        .filter(|r| records.sections[r.target].class == Class::Parameters)
    {
        let object = &link.inputs.objects[r.object];
        if let Some(relocs) = object.relocs.get(r.index as usize)
            && records.is_current(r, relocs.target)
        {
            let kinds = object.specials(relocs).iter().map(|&i| object.symbol_kind(i));
            slots.extend(kinds.map(|kind| (r.target, kind)));
        }
    }
    slots
}
