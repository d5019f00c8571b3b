//! Problems of the whole link: unknown stacks, uncalled functions, undefined references, uses of removed functions.

use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, ObjectId, SectionId, SymbolId};
use crate::layout::Context;
use crate::merge::UNIFIED_SYMBOLS;
use crate::merge::model::{Class, Local, Merged, NO_SPACE, OutSymbol, Place, SharedVar};
use crate::object::text;
use cubin::consts::*;

/// Functions that the driver provides.
const DRIVER_FUNCTIONS: [&[u8]; 12] = [
    b"vprintf",
    b"vfprintf",
    b"malloc",
    b"free",
    b"__assertfail",
    b"__profile",
    b"cudaGraphLaunch",
    b"cudaGraphSetConditional",
    b"cudaGraphKernelNodeSetEnabled",
    b"cudaGraphKernelNodeSetGridDim",
    b"cudaGraphKernelNodeSetParam",
    b"cudaGraphKernelNodeUpdatesApply",
];

/// Functions of the device runtime that the driver provides, behind `cnp`.
const RUNTIME_FUNCTIONS: [&[u8]; 21] = [
    b"CtxSynchronize",
    b"DeviceGetAttribute",
    b"DeviceGetName",
    b"EventCreate",
    b"EventDestroy",
    b"EventRecord",
    b"FuncGetAttribute",
    b"GetCacheConfig",
    b"GetDevice",
    b"GetDeviceCount",
    b"GetLastError",
    b"GetLimit",
    b"GetParameterBuffer",
    b"GetParameterBufferV2",
    b"GetSharedMemConfig",
    b"LaunchDevice",
    b"LaunchDeviceV2",
    b"SetLastError",
    b"StreamCreate",
    b"StreamDestroy",
    b"StreamWaitEvent",
];

/// May a function of this name stay undefined?
pub fn is_driver_function(name: &[u8]) -> bool {
    name.starts_with(b"__cuda_syscall")
        || DRIVER_FUNCTIONS.contains(&name)
        || name.strip_prefix(b"cnp").is_some_and(|rest| RUNTIME_FUNCTIONS.contains(&rest))
}

/// Kernels whose stack is unknown: one warning per callee from which a cycle can be reached.
pub fn stacks(context: Context<'_, '_>, out: &mut Collector<'_>) -> Result<(), Stop> {
    let Context { resolved, graph, .. } = context;
    if context.options.relocatable || context.options.suppress_stack_size_warning {
        return Ok(());
    }
    let cyclic = graph.reaches_cycle(resolved);
    let is_cyclic = |f: &&FunctionId| cyclic[graph.component(**f)];
    let by_prototype: Vec<usize> = resolved
        .prototypes
        .strings()
        .ids()
        .map(|p| graph.targets(p).iter().filter(is_cyclic).count())
        .collect();
    for &k in &context.live.kernels {
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
pub fn uncalled(context: Context<'_, '_>, out: &mut Collector<'_>) -> Result<(), Stop> {
    let Context {
        resolved,
        graph,
        live,
        options,
        ..
    } = context;
    if options.extra_warnings && !options.relocatable && !options.debug && !options.preserve_relocs {
        let reached = graph.mark(resolved, live.kernels.iter().copied());
        for f in resolved.functions.ids() {
            // A kernel that nobody defines counts as one.
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
pub fn undefined(context: Context<'_, '_>, m: &Merged<'_>, out: &mut Collector<'_>) {
    if context.options.relocatable {
        return;
    }
    let mut shared: Vec<_> = m.shared.iter().filter(|v| v.wanted && !v.defined).collect();
    shared.sort_by_key(|v| v.position);
    let mut shared = shared.into_iter().peekable();
    let locals = m
        .locals
        .iter()
        .filter_map(|l| if let Local::Symbol(id) = l { Some(*id) } else { None });
    for id in locals {
        report_missing(context, m, id, out);
    }
    for (position, &id) in m.globals.iter().enumerate() {
        while let Some(var) = shared.next_if(|v| v.position <= position) {
            missing_shared(context, var, out);
        }
        report_missing(context, m, id, out);
    }
    shared.for_each(|var| missing_shared(context, var, out));
}

/// Functions that were removed because no call graph lists the calls to them, one error for each user.
pub fn removed(context: Context<'_, '_>, m: &Merged<'_>, uses: &[(ObjectId, SectionId, FunctionId)], out: &mut Collector<'_>) {
    let mut uses = uses.to_vec();
    uses.sort_unstable();
    uses.dedup();
    for (object, section, f) in uses {
        let (user, is_code) = match m.sections[section].class {
            Class::Text(caller) => (context.resolved.function_name(caller), true),
            _ => (text(&m.sections[section].name.to_vec()), false),
        };
        out.error(Code::RemovedFunction {
            function: context.resolved.function_name(f),
            user,
            is_code,
            file: context.inputs.objects[object].name.to_string(),
        });
    }
}

fn report_missing(context: Context<'_, '_>, m: &Merged<'_>, id: SymbolId, out: &mut Collector<'_>) {
    let y = &m.symbols[id];
    if y.section.is_none() && is_missing(context, y) {
        let file = context.inputs.objects[y.first].name.to_string();
        out.error(Code::UndefinedReference {
            symbol: text(y.name),
            file,
            files: askers(context, m, id),
        });
    }
}

fn missing_shared(context: Context<'_, '_>, var: &SharedVar<'_>, out: &mut Collector<'_>) {
    let file = context.inputs.objects[var.first].name.to_string();
    out.error(Code::UndefinedReference {
        symbol: text(var.name),
        files: vec![file.clone()],
        file,
    });
}

fn is_missing(context: Context<'_, '_>, y: &OutSymbol<'_>) -> bool {
    if y.weak_reference || y.name.is_empty() || !y.keep {
        return false;
    }
    match y.kind {
        STT_FUNC => !is_driver_function(y.name),
        STT_OBJECT if y.space != NO_SPACE => {
            let allowed = context.options.allow_undefined_globals && y.space == STO_CUDA_GLOBAL;
            // The driver has the unified tables; a relocatable link made these references strong.
            !allowed && !y.name.starts_with(b".nv.reservedSmem.") && !UNIFIED_SYMBOLS.contains(&y.name)
        }
        _ => false,
    }
}

/// culd only: an output without any function, although the inputs define some. That is an error when flags dropped the kernels, and a
/// warning when the host's own lists did, or when there are no kernels.
pub fn nothing_left(context: Context<'_, '_>, out: &mut Collector<'_>) -> Result<(), Stop> {
    let options = context.options;
    if options.identity == crate::options::Identity::Nvlink || options.relocatable {
        return Ok(());
    }
    let functions = &context.resolved.functions;
    let defined = || functions.ids().filter(|&f| functions[f].winner.is_some());
    if defined().next().is_none() || defined().any(|f| context.live.alive[f]) {
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
fn askers(context: Context<'_, '_>, m: &Merged<'_>, id: SymbolId) -> Vec<String> {
    let function = m.symbols[id].function;
    let mentions = |object: ObjectId| {
        let object = &context.inputs.objects[object];
        (1..object.symbol_count()).any(|i| {
            let y = object.symbol_ref(i);
            m.places[y] == Place::Symbol(id) || (function.is_some() && context.resolved.function(y) == function)
        })
    };
    if context.options.identity == crate::options::Identity::Nvlink {
        return Vec::new();
    }
    context
        .inputs
        .objects
        .ids()
        .filter(|&o| mentions(o))
        .map(|o| context.inputs.objects[o].name.to_string())
        .collect()
}
