//! Checks of the whole link: unknown stacks, uncalled functions, undefined references, uses of removed functions.

use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, ObjectId, SectionId, SymbolId};
use crate::object::text;
use crate::records::SymbolEmission;
use crate::records::{Class, Merged, NO_SPACE, OutSymbol, Place, SharedVar, SymbolTableEntry};
use crate::session::Link;
use cubin::consts::*;
use cubin::driver::is_driver_function;
use cubin::unified::UNIFIED_SYMBOLS;

/// Kernels whose stack is unknown: one warning per callee from which a cycle can be reached. `cyclic` has the components of the call graph from which
/// one can be.
pub fn stacks(link: Link<'_, '_>, cyclic: &[bool], out: &mut Collector<'_>) -> Result<(), Stop> {
    let Link { resolved, graph, .. } = link;
    if link.options.relocatable || link.options.suppress_stack_size_warning || !cyclic.contains(&true) {
        return Ok(());
    }
    let is_cyclic = |f: &&FunctionId| cyclic[graph.component(**f)];
    let by_prototype: Vec<usize> = resolved
        .prototypes
        .strings()
        .ids()
        .map(|p| graph.targets(p).iter().filter(is_cyclic).count())
        .collect();
    for &k in &link.live.kernels {
        let direct = resolved.direct.of(k).iter().filter(is_cyclic).count();
        let indirect: usize = resolved.sites.of(k).iter().map(|p| by_prototype[p.number() as usize]).sum();
        for _ in 0..direct + indirect {
            out.warning(Code::StackUnknown {
                entry: resolved.function_name(k),
            })?;
        }
    }
    Ok(())
}

/// Functions whose address is taken, and that no kernel may call.
pub fn uncalled(link: Link<'_, '_>, out: &mut Collector<'_>) -> Result<(), Stop> {
    let Link {
        resolved,
        graph,
        live,
        options,
        ..
    } = link;
    if options.extra_warnings && !options.relocatable && !options.debug && !options.preserve_relocs {
        // The host may call unified functions, through their stubs. nvlink quirk: not where there is exactly one kernel.
        let stubs = resolved
            .functions
            .ids()
            .filter(|&f| resolved.functions[f].stub && live.only.is_none());
        let reached = graph.mark(resolved, live.kernels.iter().copied().chain(stubs));
        for f in resolved.functions.ids() {
            // A kernel without a definition counts as one.
            let is_entry = resolved.functions[f].winner.is_none() && resolved.is_declared_entry(f);
            if resolved.functions[f].taken.is_some() && live.alive[f] && !reached[f] && !is_entry {
                out.warning(Code::AddressTakenUncalled {
                    function: resolved.function_name(f),
                })?;
            }
        }
    }
    Ok(())
}

/// Undefined references, one error per symbol in symbol order; shared variables at the place of their first mention.
pub fn undefined(link: Link<'_, '_>, records: &Merged<'_>, out: &mut Collector<'_>) {
    if link.options.relocatable {
        return;
    }
    let mut shared: Vec<_> = records.shared.variables.iter().filter(|v| v.wanted && !v.defined).collect();
    let is_missing = |sym: &OutSymbol<'_>| is_missing(link, sym);
    if shared.is_empty() && !link.threads.any(records.symbols.as_slice(), is_missing) {
        return;
    }
    shared.sort_by_key(|v| v.position);
    let mut shared = shared.into_iter().peekable();
    let locals = records
        .order
        .locals
        .iter()
        .filter_map(|l| if let SymbolTableEntry::Symbol(id) = l { Some(*id) } else { None });
    for id in locals {
        report_missing(link, records, id, out);
    }
    for (position, &id) in records.order.globals.iter().enumerate() {
        while let Some(var) = shared.next_if(|v| v.position <= position) {
            missing_shared(link, var, out);
        }
        report_missing(link, records, id, out);
    }
    shared.for_each(|var| missing_shared(link, var, out));
}

/// Functions that were removed because no call graph lists the calls to them, one error for each user.
pub fn removed(link: Link<'_, '_>, records: &Merged<'_>, uses: &[(ObjectId, SectionId, FunctionId)], out: &mut Collector<'_>) {
    let mut uses = uses.to_vec();
    uses.sort_unstable();
    uses.dedup();
    for (object, section, f) in uses {
        let (user, is_code) = match records.sections[section].class {
            Class::Text(caller) => (link.resolved.function_name(caller), true),
            _ => (text(&records.sections[section].name.to_vec()), false),
        };
        out.error(Code::RemovedFunction {
            function: link.resolved.function_name(f),
            user,
            is_code,
            file: link.inputs.objects[object].name.to_string(),
        });
    }
}

fn report_missing(link: Link<'_, '_>, records: &Merged<'_>, id: SymbolId, out: &mut Collector<'_>) {
    let sym = &records.symbols[id];
    if is_missing(link, sym) {
        let file = link.inputs.objects[sym.first_mention].name.to_string();
        out.error(Code::UndefinedReference {
            symbol: text(sym.name),
            file,
            files: askers(link, records, id),
        });
    }
}

fn missing_shared(link: Link<'_, '_>, var: &SharedVar<'_>, out: &mut Collector<'_>) {
    let file = link.inputs.objects[var.first_mention].name.to_string();
    out.error(Code::UndefinedReference {
        symbol: text(var.name),
        files: vec![file.clone()],
        file,
    });
}

fn is_missing(link: Link<'_, '_>, sym: &OutSymbol<'_>) -> bool {
    if sym.section.is_some() || sym.weak_reference || sym.name.is_empty() || sym.emission == SymbolEmission::NameOnly {
        return false;
    }
    match sym.kind {
        STT_FUNC => !is_driver_function(sym.name),
        STT_OBJECT if sym.space != NO_SPACE => {
            let allowed = link.options.allow_undefined_globals && sym.space == STO_CUDA_GLOBAL;
            // The driver has the unified tables; a relocatable link made these references strong.
            !allowed && !sym.name.starts_with(b".nv.reservedSmem.") && !UNIFIED_SYMBOLS.contains(&sym.name)
        }
        _ => false,
    }
}

/// culd only: an output without any function, although the inputs define some. That is an error when flags dropped the kernels, and a
/// warning when the host's own lists did, or when there are no kernels.
pub fn nothing_left(link: Link<'_, '_>, out: &mut Collector<'_>) -> Result<(), Stop> {
    let options = link.options;
    if options.identity == crate::options::Identity::Nvlink || options.relocatable {
        return Ok(());
    }
    let functions = &link.resolved.functions;
    let defined = || functions.ids().filter(|&f| functions[f].winner.is_some());
    if defined().next().is_none() || defined().any(|f| link.live.alive[f]) {
        return Ok(());
    }
    let by_host = options.kernels.as_ref().is_some_and(|filter| !filter.explicit);
    let has_kernels = defined().any(|f| functions[f].entry);
    let functions = defined().count();
    let left = |reason| Code::NothingLeft { functions, reason };
    match (has_kernels, by_host) {
        (false, _) => out.warning(left("there is no kernel that uses them")),
        (true, true) => out.warning(left("the host code uses none of the kernels")),
        (true, false) => {
            out.error(left("none of the kernels is selected"));
            Ok(())
        }
    }
}

/// Files that mention a symbol, in link order.
fn askers(link: Link<'_, '_>, records: &Merged<'_>, id: SymbolId) -> Vec<String> {
    let function = records.symbols[id].function;
    let mentions = |object: ObjectId| {
        let object = &link.inputs.objects[object];
        (1..object.symbol_count()).any(|i| {
            let sym = object.symbol_ref(i);
            records.placement.symbols[sym] == Place::Symbol(id) || (function.is_some() && link.resolved.function(sym) == function)
        })
    };
    if link.options.identity == crate::options::Identity::Nvlink {
        return Vec::new();
    }
    link.inputs
        .objects
        .ids()
        .filter(|&o| mentions(o))
        .map(|o| link.inputs.objects[o].name.to_string())
        .collect()
}
