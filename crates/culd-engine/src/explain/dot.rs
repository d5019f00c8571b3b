//! The call graph in the DOT language.
//!
//! Functions that stay, in the order of their numbers; for each the callees as the call graph dump lists them, calls through pointers
//! included. In a relocatable link the targets of pointers are not known yet: only direct calls are listed. Names are those of the file.

use crate::records::Merged;
use crate::session::Link;

/// Writes the graph.
pub(crate) fn graph(link: Link<'_, '_>, records: &Merged<'_>) -> Vec<u8> {
    let resolved = link.resolved;
    let name = |f| resolved.functions[f].name;
    let mut out = b"digraph callgraph {\n".to_vec();
    for f in resolved.functions.ids() {
        if !link.live.alive[f] || records.symbol_of[f].is_none() {
            continue;
        }
        let callees = match link.options.relocatable {
            true => resolved.direct.of(f).to_vec(),
            false => link.graph.callees(resolved, f),
        };
        for callee in callees {
            out.extend_from_slice(&[name(f), b" -> ", name(callee), b";\n"].concat());
        }
    }
    out.extend_from_slice(b"}\n");
    out
}

/// The graph of a link that links nothing.
pub const EMPTY: &[u8] = b"digraph callgraph {\n}\n";
