//! Functions that use reserved shared memory in a link that reserves none (`--disable-smem-reservation`).
//!
//! 1. Kernels that reach such a function, the one with the latest cause first; kernels of one cause in order.
//! 2. The functions themselves, in merge order. nvlink quirk: dead ones are named "(null)".

use super::attributes::Reserved;
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, Table};
use crate::options::Identity;
use crate::session::Link;
use std::cmp::Reverse;

/// Reports the functions as errors.
pub fn check(link: Link<'_, '_>, reserved: &[Reserved], out: &mut Collector<'_>) {
    if !link.options.disable_smem_reservation || reserved.is_empty() {
        return;
    }
    let name = |f: FunctionId| link.resolved.function_name(f);
    for k in inheriting(link, reserved) {
        out.error(Code::ReservedShared { function: name(k) });
    }
    for &(_, f) in reserved {
        match f {
            Some(f) => out.error(Code::ReservedShared { function: name(f) }),
            None if link.options.identity == Identity::Nvlink => out.error(Code::ReservedShared { function: "(null)".into() }),
            None => {}
        }
    }
}

/// Kernels that use reserved shared memory only through what they call.
fn inheriting(link: Link<'_, '_>, reserved: &[Reserved]) -> Vec<FunctionId> {
    let kernels = link.live.kernels.as_slice();
    let mut first_use: Table<FunctionId, Option<usize>> = Table::filled(link.resolved.functions.len(), None);
    for &(cause, f) in reserved.iter().rev() {
        if let Some(f) = f {
            first_use[f] = Some(cause);
        }
    }
    let is_device = |f: FunctionId| !link.resolved.functions[f].entry;
    let mut found: Vec<(usize, FunctionId)> = match link.live.only {
        _ if link.mode.relocatable => Vec::new(),
        // one kernel gets what every other function has, reachable or not
        Some(k) => reserved
            .iter()
            .filter(|r| r.1.is_some_and(is_device))
            .take(1)
            .map(|r| (r.0, k))
            .collect(),
        None => {
            let first = link.graph.fold(
                link.resolved,
                |f, first: &mut Option<usize>| {
                    *first = earlier(*first, first_use[f].filter(|_| is_device(f)));
                },
                |first, callee| *first = earlier(*first, *callee),
            );
            let cause = |&k: &FunctionId| first[link.graph.component(k)].map(|cause| (cause, k));
            kernels.iter().filter_map(cause).collect()
        }
    };
    found.retain(|&(_, k)| first_use[k].is_none());
    found.sort_by_key(|&(cause, _)| Reverse(cause));
    found.into_iter().map(|(_, k)| k).collect()
}

fn earlier(a: Option<usize>, b: Option<usize>) -> Option<usize> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
