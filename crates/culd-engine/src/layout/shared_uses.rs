//! Who uses shared memory in a final link.
//!
//! 1. Functions with relocations against shared variables, and the kernels that reach them ([`references`]).
//! 2. From these, the kernels of each variable ([`users`]), and kernels without a section of their own ([`late_kernels`]).

use super::Layout;
use crate::ids::{FunctionId, SharedId, Table};
use crate::object::entry;
use crate::records::{Class, Merged, Place};
use crate::session::Link;
use hashbrown::HashMap;

/// References of functions to shared variables.
pub(super) struct References {
    /// Functions that refer to shared variables, in order.
    pub(super) functions: Vec<FunctionId>,
    /// Their variables.
    pub(super) variables: Vec<Vec<SharedId>>,
    /// Per function the kernels that reach it, ascending.
    pub(super) kernels: Vec<Vec<u32>>,
}

/// Functions with relocations against shared variables, and the kernels that reach them.
pub(super) fn references(link: Link<'_, '_>, layout: &Layout<'_>) -> References {
    let records = &layout.records;
    let mut number: HashMap<FunctionId, usize, crate::names::SeededState> = HashMap::default();
    let mut references = References {
        functions: Vec::new(),
        variables: Vec::new(),
        kernels: Vec::new(),
    };
    // Without variables there are no references.
    let relocs = records.relocs.iter().filter(|_| records.shared.variables.len() > 0);
    for r in relocs {
        let object = &link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize) else {
            continue;
        };
        let specials = object.specials(relocs);
        let Class::Text(f) = records.sections[r.target].class else {
            continue;
        };
        if specials.is_empty() || !records.is_current(r, relocs.target) {
            continue;
        }
        for &index in specials {
            let Place::Shared(id) = records.placement.symbols[object.symbol_ref(index)] else {
                continue;
            };
            let n = *number.entry(f).or_insert_with(|| {
                references.functions.push(f);
                references.variables.push(Vec::new());
                references.functions.len() - 1
            });
            if let Some(list) = references.variables.get_mut(n)
                && !list.contains(&id)
            {
                list.push(id);
            }
        }
    }
    references.kernels = vec![Vec::new(); references.functions.len()];
    // A kernel that was not selected only counts for its own code; a function that counts as one only for what it calls, itself if it is recursive.
    let References { functions, kernels, .. } = &mut references;
    link.graph.reach(link.resolved, functions, &layout.every_kernel, |f, k| {
        let kernel = layout.every_kernel[k];
        let counts = match kernel == functions[f] {
            true => link.resolved.functions[kernel].entry || (link.live.is_kernel[kernel] && link.graph.is_recursive(kernel)),
            false => link.live.is_kernel[kernel],
        };
        if counts {
            kernels[f].push(k as u32);
        }
    });
    references
}

/// Does a relocation against a shared variable point past the end of Blackwell code?
pub(super) fn points_past_code(link: Link<'_, '_>, records: &Merged<'_>) -> bool {
    records.relocs.iter().any(|r| {
        let object = &link.inputs.objects[r.object];
        let section = &records.sections[r.target];
        let Some(relocs) = object.relocs.get(r.index as usize).filter(|_| object.has_mercury()) else {
            return false;
        };
        let specials = object.specials(relocs);
        let is_shared = |index: &u32| matches!(records.placement.symbols[object.symbol_ref(*index)], Place::Shared(_));
        matches!(section.class, Class::Text(_))
            && specials.iter().any(is_shared)
            && records.is_current(r, relocs.target)
            && (0..relocs.entries.len())
                .map(|i| entry(&relocs.entries, i))
                .filter(|e| e.r_offset.get() >= section.size)
                .any(|e| specials.iter().any(|s| *s == e.r_sym.get() && is_shared(s)))
    })
}

/// Kernels that use shared memory but have no section, because they were not selected by name, in order of arrival of the references.
#[derive(Default)]
pub(super) struct Late {
    pub(super) kernels: Vec<u32>,
    /// Position of each in this order.
    position: HashMap<u32, usize, crate::names::SeededState>,
}

impl Late {
    /// Those among some kernels, in order.
    pub(super) fn among(&self, kernels: &[u32]) -> Vec<u32> {
        let mut positions: Vec<usize> = kernels.iter().filter_map(|k| self.position.get(k).copied()).collect();
        positions.sort_unstable();
        positions.iter().map(|&p| self.kernels[p]).collect()
    }
}

pub(super) fn late_kernels(layout: &Layout<'_>, references: &References) -> Late {
    let mut late = Late::default();
    let is_late: Vec<bool> = layout
        .every_kernel
        .iter()
        .map(|&k| layout.records.shared_section(k).is_none())
        .collect();
    if !is_late.contains(&true) {
        return late;
    }
    for &k in references.kernels.iter().flatten() {
        if is_late.get(k as usize) == Some(&true) && !late.position.contains_key(&k) {
            late.position.insert(k, late.kernels.len());
            late.kernels.push(k);
        }
    }
    late
}

/// Per variable: the kernels that use it, ascending; `None` for variables that no live code refers to.
pub(super) fn users(records: &Merged<'_>, references: &References) -> Table<SharedId, Option<Vec<u32>>> {
    let mut users: Table<SharedId, Option<Vec<u32>>> = Table::filled(records.shared.variables.len(), None);
    for (variables, kernels) in references.variables.iter().zip(&references.kernels) {
        for &v in variables {
            users[v].get_or_insert_default().extend(kernels);
        }
    }
    for list in users.iter_mut().flatten() {
        list.sort_unstable();
        list.dedup();
    }
    users
}
