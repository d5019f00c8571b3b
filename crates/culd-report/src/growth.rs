//! What grew between two files.
//!
//! 1. Cubins are paired by architecture; among several of one architecture, those with the most functions in common.
//! 2. Functions of a pair are paired by name, then by C++ name: names of static functions change with every build.
//! 3. Functions without a partner are new or gone.

pub use crate::model::{Change, Growth, Numbers};
use crate::model::{Function, Report, Unit};
use std::collections::HashMap;

impl Change {
    /// Bytes of code that were added; negative when the code shrank.
    pub fn code_delta(&self) -> i128 {
        let code = |n: Option<Numbers>| n.map_or(0, |n| i128::from(n.code));
        code(self.after) - code(self.before)
    }
}

fn numbers(f: &Function) -> Numbers {
    Numbers {
        code: f.code,
        registers: f.registers.unwrap_or(0).into(),
        stack: if f.stack_unknown { None } else { Some(f.stack.unwrap_or(0).into()) },
        shared: f.shared,
    }
}

/// Compares two descriptions.
pub fn growth(before: &Report, after: &Report) -> Growth {
    let sum = |r: &Report, of: fn(&Unit) -> u64| r.units.iter().map(of).fold(0, u64::saturating_add);
    let mut growth = Growth {
        names: [before.title.clone(), after.title.clone()],
        size: [sum(before, |u| u.size), sum(after, |u| u.size)],
        code: [sum(before, Unit::code), sum(after, Unit::code)],
        ..Growth::default()
    };
    let mut taken = vec![false; after.units.len()];
    for a in &before.units {
        let candidates = after
            .units
            .iter()
            .enumerate()
            .filter(|(at, b)| b.arch == a.arch && taken.get(*at) == Some(&false));
        let best = candidates.max_by_key(|(at, b)| (common(a, b), std::cmp::Reverse(*at)));
        if let Some((at, b)) = best {
            taken.iter_mut().skip(at).take(1).for_each(|t| *t = true);
            compare(Some(a), Some(b), &mut growth);
        } else {
            growth.unpaired.push(format!("only in {}: {} ({})", before.title, a.name, a.arch));
            compare(Some(a), None, &mut growth);
        }
    }
    for (b, _) in after.units.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        growth.unpaired.push(format!("only in {}: {} ({})", after.title, b.name, b.arch));
        compare(None, Some(b), &mut growth);
    }
    growth.changes.sort_by(|x, y| {
        let (a, b) = (x.code_delta().unsigned_abs(), y.code_delta().unsigned_abs());
        b.cmp(&a).then_with(|| x.name.cmp(&y.name)).then_with(|| x.arch.cmp(&y.arch))
    });
    growth
}

/// Functions of the same name.
fn common(a: &Unit, b: &Unit) -> usize {
    let names: std::collections::HashSet<&str> = a.functions.iter().map(|f| f.demangled.as_str()).collect();
    b.functions.iter().filter(|f| names.contains(f.demangled.as_str())).count()
}

fn compare(a: Option<&Unit>, b: Option<&Unit>, growth: &mut Growth) {
    let list = |u: Option<&Unit>| -> Vec<Option<usize>> { (0..u.map_or(0, |u| u.functions.len())).map(Some).collect() };
    let get = |u: Option<&Unit>, at: usize| u.and_then(|u| u.functions.get(at).cloned());
    let (mut left, mut right) = (list(a), list(b));
    let arch = a.or(b).map(|u| u.arch.clone()).unwrap_or_default();
    let mut pairs: Vec<(Option<Function>, Option<Function>)> = Vec::new();
    let keys: [fn(&Function) -> &str; 2] = [|f| &f.name, |f| &f.demangled];
    for key in keys {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for slot in right.iter().rev().flatten() {
            if let Some(f) = get(b, *slot) {
                places.entry(key(&f).to_owned()).or_default().push(*slot);
            }
        }
        for slot in &mut left {
            let Some(f) = slot.and_then(|at| get(a, at)) else { continue };
            let Some(at) = places.get_mut(key(&f)).and_then(Vec::pop) else {
                continue;
            };
            right.iter_mut().skip(at).take(1).for_each(|s| *s = None);
            *slot = None;
            pairs.push((Some(f), get(b, at)));
        }
    }
    pairs.extend(left.into_iter().flatten().map(|at| (get(a, at), None)));
    pairs.extend(right.into_iter().flatten().map(|at| (None, get(b, at))));
    for (x, y) in pairs {
        let Some(named) = y.as_ref().or(x.as_ref()) else { continue };
        let change = Change {
            name: named.demangled.clone(),
            kernel: named.kernel,
            arch: arch.clone(),
            before: x.as_ref().map(numbers),
            after: y.as_ref().map(numbers),
        };
        if change.before == change.after {
            growth.same += 1;
        } else {
            growth.changes.push(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(title: &str, functions: &[(&str, &str, u64)]) -> Report {
        let function = |&(name, demangled, code): &(&str, &str, u64)| Function {
            name: name.into(),
            demangled: demangled.into(),
            code,
            ..Function::default()
        };
        let mut report = Report::new(title);
        report.units.push(Unit {
            arch: "sm_90".into(),
            functions: functions.iter().map(function).collect(),
            ..Unit::default()
        });
        report
    }

    #[test]
    fn functions_are_paired_by_name_and_then_by_cxx_name() {
        let a = report("a", &[("k", "k", 100), ("s1", "s(int)", 50), ("old", "old", 10)]);
        let b = report("b", &[("k", "k", 100), ("s2", "s(int)", 80), ("new", "new", 20)]);
        let growth = growth(&a, &b);
        assert_eq!((growth.same, growth.code), (1, [160, 200]));
        let names: Vec<(&str, i128)> = growth.changes.iter().map(|c| (c.name.as_str(), c.code_delta())).collect();
        assert_eq!(names, [("s(int)", 30), ("new", 20), ("old", -10)]);
    }
}
