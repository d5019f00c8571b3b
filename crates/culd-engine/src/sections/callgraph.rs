//! `.nv.callgraph` and `.nv.prototype` of the output.
//!
//! Functions in number order, live ones only. Direct calls and address takers name live targets only; an address-taken function that
//! no call can reach stays, but its own callees may be dropped. Prototypes are listed for functions whose address is not taken.

use crate::arrange::{Arranged, prototyped};
use crate::ids::{FunctionId, Id as _, ProtoId};
use crate::layout::Layout;
use crate::names::SeededState;
use crate::session::Link;
use cubin::callgraph::CallGraph;
use cubin::driver::is_driver_function;
use cubin::raw::Pair;
use hashbrown::HashMap;
use std::ops::Range;

fn live_symbol(link: Link<'_, '_>, layout: &Layout<'_>, arranged: &Arranged, f: FunctionId) -> Option<u32> {
    if !link.live.alive[f] {
        return None;
    }
    layout.records.symbol_of[f].map(|sym| arranged.symbol_index(sym))
}

fn pair(first: u32, second: u32) -> Pair {
    Pair {
        first: first.into(),
        second: second.into(),
    }
}

/// Functions that are listed together.
const FUNCTIONS: usize = 2048;

/// The lists of `.nv.callgraph`.
#[derive(Default)]
struct Lists {
    direct: Vec<Pair>,
    taken: Vec<Pair>,
    sites: Vec<Pair>,
    takers: Vec<Pair>,
}

impl Lists {
    fn append(&mut self, mut other: Lists) {
        self.direct.append(&mut other.direct);
        self.taken.append(&mut other.taken);
        self.sites.append(&mut other.sites);
        self.takers.append(&mut other.takers);
    }
}

/// Bytes of `.nv.callgraph`.
pub fn callgraph(link: Link<'_, '_>, layout: &Layout<'_>, arranged: &Arranged) -> Vec<u8> {
    let resolved = link.resolved;
    let index = |f: FunctionId| live_symbol(link, layout, arranged, f);
    let string = |p: ProtoId| arranged.prototype_offset(p);
    let rules = &link.mode.rules;
    let is_listed = |c: &FunctionId| {
        let callee = &resolved.functions[*c];
        rules.lists_driver_calls || callee.winner.is_some() || !is_driver_function(callee.name)
    };
    let reached = match rules.lists_indirect_calls {
        true => taken_by_prototype(link),
        false => HashMap::default(),
    };
    let listed = |functions: Range<usize>| {
        let mut lists = Lists::default();
        for f in functions.map(FunctionId::from_index) {
            let Some(i) = index(f) else { continue };
            let indirect = resolved.sites.of(f).iter().rev().filter_map(|p| reached.get(p)).flatten();
            let calls = indirect.chain(resolved.direct.of(f)).filter(|c| is_listed(c));
            lists.direct.extend(calls.filter_map(|&c| Some(pair(i, index(c)?))));
            let function = &resolved.functions[f];
            let prototype = |p| if function.taken_unnamed { 0 } else { string(p) };
            lists.taken.extend(function.taken.map(|p| pair(i, prototype(p))));
            lists.sites.extend(resolved.sites.of(f).iter().map(|&p| pair(i, string(p))));
            lists
                .takers
                .extend(resolved.takes.of(f).iter().filter_map(|&c| Some(pair(i, index(c)?))));
        }
        lists
    };
    let count = resolved.functions.len();
    let parts: Vec<Range<usize>> = (0..count)
        .step_by(FUNCTIONS)
        .map(|start| start..count.min(start + FUNCTIONS))
        .collect();
    let mut parts = link.threads.map(&parts, |part| listed(part.clone())).into_iter();
    let mut lists = parts.next().unwrap_or_default();
    parts.for_each(|part| lists.append(part));
    let graph = CallGraph::new(&lists.direct, &lists.taken, &lists.sites, &lists.takers);
    let mut out = Vec::with_capacity(graph.size());
    graph.write(&mut out);
    out
}

/// Functions whose address is taken, newest first, by prototype.
fn taken_by_prototype(link: Link<'_, '_>) -> HashMap<ProtoId, Vec<FunctionId>, SeededState> {
    let mut out: HashMap<ProtoId, Vec<FunctionId>, SeededState> = HashMap::default();
    let functions = &link.resolved.functions;
    for f in functions.ids().rev() {
        if let Some(p) = functions[f].taken {
            out.entry(p).or_default().push(f);
        }
    }
    out
}

/// Bytes of `.nv.prototype`.
pub fn prototypes(link: Link<'_, '_>, layout: &Layout<'_>, arranged: &Arranged) -> Vec<u8> {
    let mut out = Vec::new();
    for (f, p) in prototyped(link, layout) {
        let symbol = layout.records.symbol_of[f].map_or(0, |sym| arranged.symbol_index(sym));
        out.extend_from_slice(&symbol.to_le_bytes());
        out.extend_from_slice(&arranged.prototype_offset(p).to_le_bytes());
    }
    out
}
