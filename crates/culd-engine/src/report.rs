//! Reports that were asked for: the call graph, register propagation, resource usage. Uses of reserved shared memory are reported among them.

use crate::arrange::Arranged;
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, SectionId, Table};
use crate::layout::{ABSENT, Context, Layout};
use crate::merge::model::Class;
use crate::metadata::propagate::Final;
use crate::metadata::{attr, reservation};
use cubin::consts::*;

/// Call graph dump, register limits, resource usage, in nvlink's order.
pub fn report(context: Context<'_, '_>, layout: &Layout<'_>, arranged: &Arranged, attributes: &Final<'_>, out: &mut Collector<'_>) {
    let dump = context.options.dump_callgraph && !context.options.relocatable;
    if dump {
        dump_callgraph(context, layout, attributes, out);
    }
    if !context.options.relocatable {
        registers(context, layout, arranged, attributes, dump, out);
    }
    reservation::check(context, &attributes.reserved, out);
    if context.options.verbose {
        usage(context, layout, arranged, attributes, out);
    }
}

fn shown(context: Context<'_, '_>, f: FunctionId) -> String {
    let name = context.resolved.functions[f].name;
    String::from_utf8_lossy(&culd_demangle::display(name)).into_owned()
}

fn dump_callgraph(context: Context<'_, '_>, layout: &Layout<'_>, attributes: &Final<'_>, out: &mut Collector<'_>) {
    if context.inputs.objects.len() == 0 {
        out.text("No relocatable objects found. Did not generate callgraph.".into());
        return;
    }
    out.text(format!("callgraph for sm_{}:", context.options.target.number));
    for line in [
        "# A: s -> B // s (number A) potentially calls B",
        "# s [N]     // s uses N registers",
        "# ^s        // s is entry point",
        "# &s        // s has address taken",
    ] {
        out.text(line.into());
    }
    let numbers = numbers(context);
    let stays = context.options.debug || context.mode.preserve;
    let mut last = 0;
    for f in context.resolved.functions.ids() {
        let number = numbers[f];
        let arrow = if stays { " ->" } else { "" };
        (last + 1..number).for_each(|unnamed| out.text(format!("{unnamed}: {arrow}")));
        last = number;
        if !context.live.alive[f] || layout.m.symbol_of[f].is_none() {
            out.text(format!("{number}: "));
            continue;
        }
        let function = &context.resolved.functions[f];
        // nvlink quirk: unless there is exactly one kernel, stubs of unified functions count as entries.
        let is_entry = context.live.is_kernel[f]
            || (function.stub && context.live.only.is_none())
            || (function.winner.is_none() && context.resolved.is_declared_entry(f));
        let entry = if is_entry { "^" } else { "" };
        let taken = if function.taken.is_some() { "&" } else { "" };
        let registers = attributes.facts[f]
            .registers
            .filter(|_| function.winner.is_some())
            .map_or(String::new(), |n| format!(" [{n}]"));
        let mut line = format!("{number}: {entry}{taken}{}{registers} ->", shown(context, f));
        for callee in context.graph.callees(context.resolved, f) {
            line.push_str(&format!(" {}", numbers[callee]));
        }
        out.text(line);
    }
}

/// Numbers of functions in the dump. nvlink quirk: up to CUDA 12.9 the symbols without a name have numbers, too.
fn numbers(context: Context<'_, '_>) -> Table<FunctionId, u32> {
    let count = context.resolved.functions.len();
    let mut numbers = Table::filled(count, 0);
    let mut before = Table::filled(count, false);
    if context.mode.rules.unnamed_symbols {
        let mut seen = Table::filled(count, false);
        for object in context.inputs.objects.iter() {
            let mut is_first = true;
            for index in object.function_order() {
                let y = object.symbol(index);
                let Some(f) = context.resolved.function(y.reference) else {
                    continue;
                };
                if !seen[f] && y.defined_in().is_none() && y.other & STO_CUDA_ENTRY == 0 {
                    before[f] = is_first;
                    is_first = false;
                }
                seen[f] = true;
            }
        }
    }
    let mut last = 0;
    for f in context.resolved.functions.ids() {
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
    context: Context<'_, '_>,
    layout: &Layout<'_>,
    arranged: &Arranged,
    attributes: &Final<'_>,
    dump: bool,
    out: &mut Collector<'_>,
) {
    let limit = |k: FunctionId| attributes.of(k).find(|r| r.code == attr::MAXREG_COUNT).map(|r| u32::from(r.half()));
    let kernels: Vec<FunctionId> = context
        .live
        .kernels
        .iter()
        .copied()
        .filter(|&k| dump || limit(k).is_some_and(|l| attributes.registers[k] > l))
        .collect();
    if kernels.is_empty() {
        return;
    }
    let text = |id: &SectionId| {
        if let Class::Text(f) = layout.m.sections[*id].class {
            Some(f)
        } else {
            None
        }
    };
    let functions: Vec<FunctionId> = arranged
        .sections
        .iter()
        .filter_map(text)
        .filter(|&f| !context.resolved.functions[f].entry)
        .collect();
    let mut reached: Vec<Vec<u32>> = vec![Vec::new(); functions.len()];
    context
        .graph
        .reach(context.resolved, &functions, &kernels, |f, k| reached[f].push(k as u32));
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
                let path = context
                    .graph
                    .path(context.resolved, kernel, f)
                    .into_iter()
                    .map(|f| context.resolved.function_name(f))
                    .collect();
                let (entry, function) = (context.resolved.function_name(kernel), context.resolved.function_name(f));
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
                    shown(context, f),
                    shown(context, kernel)
                ));
            }
        }
    }
}

/// Constant banks of the module that `-v` counts.
const REPORTED_BANKS: [u32; 5] = [1, 3, 4, 5, 6];

/// `-v`: memory of the module, then resources of each kernel, last kernel first.
fn usage(context: Context<'_, '_>, layout: &Layout<'_>, arranged: &Arranged, attributes: &Final<'_>, out: &mut Collector<'_>) {
    let m = &layout.m;
    let emitted = |id: &SectionId| arranged.section_index(*id) != 0;
    let size = |id: SectionId| if m.sections[id].size == ABSENT { 0 } else { m.sections[id].size };
    let mut global = 0;
    let mut banks: Vec<(u32, u64)> = Vec::new();
    for &id in &arranged.sections {
        match m.sections[id].class {
            Class::Global | Class::GlobalInit => global = size(id).saturating_add(global),
            // Constants of the Mercury view have no bank yet.
            Class::Constant(bank) if !context.options.target.is_blackwell() && REPORTED_BANKS.contains(&bank) => {
                banks.push((bank, size(id)))
            }
            _ => {}
        }
    }
    banks.sort_unstable();
    out.info(Code::MemoryUse { global, banks });
    // No counts for the Mercury view.
    let textured = |k: FunctionId| {
        let mut kernels = layout.textures.kernels.iter();
        kernels.find(|t| t.0 == k && !context.options.target.is_blackwell())
    };
    let count = |k: FunctionId, kind: u8| {
        let slots = textured(k).map(|t| layout.textures.slots_of(m, (m.functions[k].text, t.1)));
        slots.map_or(0, |slots| slots.filter(|(y, _)| m.symbols[*y].kind == kind).count() as u32)
    };
    let functions = &context.resolved.functions;
    // Also those that count as functions; in the order of their definitions: another object may have mentioned one before.
    let mut kernels: Vec<FunctionId> = functions
        .ids()
        .filter(|&f| functions[f].entry && functions[f].winner.is_some() && context.live.alive[f])
        .collect();
    kernels.sort_by_key(|&k| (m.functions[k].text, functions[k].defined_by));
    for &k in kernels.iter().rev() {
        let function = &m.functions[k];
        let bank = |id: SectionId| m.sections[id].sh_type.wrapping_sub(SHT_CUDA_CONSTANT0);
        let literals = function.ghost.or(function.literals);
        let mut banks: Vec<(u32, u64)> = [function.parameters, literals]
            .into_iter()
            .flatten()
            .filter(emitted)
            .filter(|&id| !m.sections[id].withdrawn && !context.options.target.is_blackwell())
            .map(|id| (bank(id), size(id)))
            .collect();
        banks.sort_unstable();
        let relocatable = context.mode.relocatable;
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
        out.info(Code::FunctionProperties {
            function: context.resolved.function_name(k),
        });
        out.info(Code::FunctionUse {
            registers: if relocatable || !context.live.is_kernel[k] {
                own.registers.unwrap_or(0)
            } else {
                attributes.registers[k]
            },
            barriers: context.mode.rules.prints_barriers.then_some(barriers),
            stack,
            shared: function.shared.filter(emitted).map_or(0, size),
            banks,
            textures: count(k, STT_CUDA_TEXTURE),
            surfaces: count(k, STT_CUDA_SURFACE),
            samplers: count(k, STT_CUDA_SAMPLER),
        });
    }
}
