//! `.nv.callgraph` and `.nv.prototype` of the output.
//!
//! Functions in number order, live ones only. Direct calls and address takers name live targets only; an address-taken function that
//! no call can reach stays, but its own callees may be dropped. Prototypes are listed for functions whose address is not taken.

use crate::arrange::{Arranged, prototyped};
use crate::ids::{FunctionId, ProtoId};
use crate::layout::Layout;
use crate::session::Link;
use cubin::callgraph::CallGraph;
use cubin::raw::Pair;

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

/// Bytes of `.nv.callgraph`.
pub fn callgraph(link: Link<'_, '_>, layout: &Layout<'_>, arranged: &Arranged) -> Vec<u8> {
    let resolved = link.resolved;
    let index = |f: FunctionId| live_symbol(link, layout, arranged, f);
    let string = |p: ProtoId| arranged.prototype_offset(p);
    let (mut direct, mut taken, mut sites, mut takers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for f in resolved.functions.ids() {
        let Some(i) = index(f) else { continue };
        direct.extend(resolved.direct.of(f).iter().filter_map(|&c| Some(pair(i, index(c)?))));
        let function = &resolved.functions[f];
        let prototype = |p| if function.taken_unnamed { 0 } else { string(p) };
        taken.extend(function.taken.map(|p| pair(i, prototype(p))));
        sites.extend(resolved.sites.of(f).iter().map(|&p| pair(i, string(p))));
        takers.extend(resolved.takes.of(f).iter().filter_map(|&c| Some(pair(i, index(c)?))));
    }
    let graph = CallGraph::new(&direct, &taken, &sites, &takers);
    let mut out = Vec::with_capacity(graph.size());
    graph.write(&mut out);
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
