//! Numbers of functions over the call graph.

use super::attributes::Facts;
use crate::ids::{FunctionId, Table};
use crate::session::Link;

/// What the call graph makes of the functions' numbers, per component. It needs no symbols, so it is computed in parallel with merging.
#[derive(Debug)]
pub struct CallTotals {
    pub(super) registers: Vec<u32>,
    pub(super) stack: Vec<Option<i64>>,
    pub(super) crs: Vec<Option<i64>>,
}

impl CallTotals {
    /// Accumulates the attributes of functions over the call graph.
    pub fn new(link: Link<'_, '_>, facts: &Table<FunctionId, Facts>) -> Self {
        let Link { graph, resolved, .. } = link;
        let registers = || {
            graph.fold(
                resolved,
                |f, max: &mut u32| *max = (*max).max(facts[f].registers.unwrap_or(0)),
                |max, callee| *max = (*max).max(*callee),
            )
        };
        let stack = || graph.deepest(resolved, |f| facts[f].frame.into());
        let crs = || graph.deepest(resolved, |f| facts[f].crs.into());
        let (registers, (stack, crs)) = link.threads.join(registers, || link.threads.join(stack, crs));
        CallTotals { registers, stack, crs }
    }

    /// Per component, whether a cycle can be reached from it: the stack is unknown.
    pub fn reaches_cycle(&self) -> Vec<bool> {
        self.stack.iter().map(Option::is_none).collect()
    }
}
