//! The calls that set the registers and the stack of a function. Both are linear in calls.
//!
//! Registers: functions in descending order of their own registers. From each, go backwards over calls; a function that is reached for the
//! first time gets its registers there, through the callee that it was reached from.
//!
//! Stack: functions in the order in which a depth-first search leaves them, so that callees come first. The deepest callee is the one whose
//! frames add up to the most. A call back into the search (recursion) does not count.

use crate::model::Unit;

/// Fills in the paths of a unit.
pub(crate) fn find_paths(unit: &mut Unit) {
    let count = unit.functions.len();
    let (callees, callers) = adjacency(unit, count);
    let through = registers(unit, &callers);
    let deepest = stacks(unit, &callees);
    for at in 0..count {
        let registers_path = follow(at, &through);
        let stack_path = follow(at, &deepest);
        if let Some(f) = unit.functions.get_mut(at) {
            f.registers_path = registers_path;
            f.stack_path = stack_path;
        }
    }
}

type Lists = Vec<Vec<u32>>;

fn adjacency(unit: &Unit, count: usize) -> (Lists, Lists) {
    let (mut callees, mut callers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for &[from, to] in &unit.calls {
        if let (Some(out), Some(into)) = (callees.get_mut(from as usize), callers.get_mut(to as usize)) {
            out.push(to);
            into.push(from);
        }
    }
    (callees, callers)
}

/// Registers of the function alone, as far as the file or the inputs tell.
fn own(unit: &Unit, at: u32) -> Option<u32> {
    let f = unit.functions.get(at as usize)?;
    f.own_registers.or(f.registers.filter(|_| !f.kernel || unit.relocatable))
}

fn registers(unit: &Unit, callers: &Lists) -> Vec<Option<u32>> {
    let mut order: Vec<(u32, u32)> = (0..callers.len() as u32).filter_map(|at| Some((own(unit, at)?, at))).collect();
    order.sort_unstable_by_key(|&(registers, at)| (std::cmp::Reverse(registers), at));
    let mut through = vec![None; callers.len()];
    let mut seen = vec![false; callers.len()];
    for (_, start) in order {
        let mut work = vec![start];
        if std::mem::replace(seen.get_mut(start as usize).unwrap_or(&mut true), true) {
            continue;
        }
        while let Some(f) = work.pop() {
            for &caller in callers.get(f as usize).into_iter().flatten() {
                let at = caller as usize;
                if let (Some(seen @ false), Some(slot)) = (seen.get_mut(at), through.get_mut(at)) {
                    *seen = true;
                    *slot = Some(f);
                    work.push(caller);
                }
            }
        }
    }
    through
}

fn stacks(unit: &Unit, callees: &Lists) -> Vec<Option<u32>> {
    let frame = |at: usize| u64::from(unit.functions.get(at).and_then(|f| f.frame).unwrap_or(0));
    let mut depth: Vec<Option<u64>> = vec![None; callees.len()];
    let mut deepest = vec![None; callees.len()];
    let mut seen = vec![false; callees.len()];
    for start in 0..callees.len() {
        let mut work: Vec<(usize, usize)> = Vec::new();
        if !std::mem::replace(seen.get_mut(start).unwrap_or(&mut true), true) {
            work.push((start, 0));
        }
        while let Some((f, next)) = work.last_mut() {
            let (f, callee) = (*f, callees.get(*f).and_then(|list| list.get(*next)).copied());
            *next += 1;
            if let Some(callee) = callee {
                let callee = callee as usize;
                if !std::mem::replace(seen.get_mut(callee).unwrap_or(&mut true), true) {
                    work.push((callee, 0));
                }
                continue;
            }
            work.pop();
            let done = callees.get(f).into_iter().flatten();
            // Callees that the search has not left yet are calls back.
            let best = done
                .filter_map(|&c| Some((depth.get(c as usize).copied()??, c)))
                .max_by_key(|&(d, c)| (d, std::cmp::Reverse(c)));
            if let (Some(slot), Some(via)) = (depth.get_mut(f), deepest.get_mut(f)) {
                *slot = Some(frame(f).saturating_add(best.map_or(0, |b| b.0)));
                *via = best.filter(|b| b.0 > 0).map(|b| b.1);
            }
        }
    }
    deepest
}

/// The path from a function along `next`; empty when it ends where it starts.
fn follow(start: usize, next: &[Option<u32>]) -> Vec<u32> {
    let mut path = vec![start as u32];
    let mut at = start;
    while let Some(&Some(to)) = next.get(at) {
        path.push(to);
        at = to as usize;
        if path.len() > next.len() {
            break;
        }
    }
    if path.len() == 1 { Vec::new() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Function;

    fn function(kernel: bool, registers: u32, frame: u32) -> Function {
        Function {
            kernel,
            registers: Some(registers),
            own_registers: Some(registers),
            frame: Some(frame),
            ..Function::default()
        }
    }

    #[test]
    fn the_path_leads_to_the_callee_that_sets_the_value() {
        let mut unit = Unit {
            functions: vec![
                function(true, 20, 16),
                function(false, 24, 0),
                function(false, 70, 8),
                function(false, 30, 100),
            ],
            calls: vec![[0, 1], [0, 3], [1, 2], [2, 1]],
            ..Unit::default()
        };
        find_paths(&mut unit);
        let path = |at: usize| unit.functions.get(at).map(|f| (f.registers_path.clone(), f.stack_path.clone()));
        assert_eq!(path(0), Some((vec![0, 1, 2], vec![0, 3])));
        assert_eq!(path(2), Some((vec![], vec![])));
        assert_eq!(path(3), Some((vec![], vec![])));
    }
}
