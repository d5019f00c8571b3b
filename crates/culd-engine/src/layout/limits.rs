//! Limits of shared and constant memory, checked section by section in order of creation. Relocatable links check constant memory only.

use super::Layout;
use super::constants::USER_BANK;
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, SectionId};
use crate::object::text;
use crate::options::{Identity, Suffix};
use crate::records::ABSENT;
use crate::records::{Class, Piece, Place};
use crate::session::Link;
use cubin::consts::CONSTANT_LIMIT;
use cubin::release::SharedLimit;

/// Limit of static shared memory: default, and by architecture with `--enable-extended-smem`.
fn shared_limit(link: Link<'_, '_>) -> u64 {
    let is_extended = match link.mode.rules.shared_limit {
        SharedLimit::Hardware => {
            return match link.options.target.number {
                52 | 61 | 70 => 0x18000,
                50..80 => 0x10000,
                86 => 0x19000,
                _ => 0x29000,
            };
        }
        SharedLimit::CommonOrArch => link.options.target.suffix == Suffix::Arch,
        _ => false,
    };
    if !link.options.extended_smem && !is_extended {
        return 0xc000;
    }
    match link.options.target.number {
        75 => 0x10000,
        80 | 87 => 0x28c00,
        86 | 88 | 89 | 120 | 121 => 0x18c00,
        _ => 0x38c00,
    }
}

pub(super) fn check(link: Link<'_, '_>, layout: &Layout<'_>, out: &mut Collector<'_>) {
    let (base, limit) = (link.mode.shared_base, shared_limit(link));
    let is_large = |&id: &SectionId| {
        let size = layout.records.sections[id].size;
        size != ABSENT && size > limit.min(CONSTANT_LIMIT)
    };
    if !link.threads.any(&layout.records.memory, is_large) {
        return;
    }
    for (id, s) in layout.records.memory.iter().map(|&id| (id, &layout.records.sections[id])) {
        let used = if s.size == ABSENT { 0 } else { s.size.saturating_sub(base) };
        match s.class {
            Class::KernelShared | Class::ModuleShared if link.mode.relocatable => {}
            Class::KernelShared if used > limit => {
                let Some(f) = layout
                    .kernels
                    .iter()
                    .copied()
                    .find(|&f| layout.records.shared_section(f) == Some(id))
                else {
                    continue;
                };
                let contributors = contributors(layout, link, f);
                out.error(Code::TooMuchShared {
                    entry: link.resolved.function_name(f),
                    size: used,
                    limit,
                    contributors,
                });
            }
            Class::ModuleShared if used > limit => {
                // nvlink quirk: it takes the text after the length of ".nv.shared." for a kernel's name.
                let name = if link.options.identity == Identity::Nvlink {
                    "hared"
                } else {
                    ".nv_debug.shared"
                };
                out.error(Code::TooMuchShared {
                    entry: name.into(),
                    size: used,
                    limit,
                    contributors: Vec::new(),
                });
            }
            Class::Parameters if s.size > CONSTANT_LIMIT => {
                out.error(Code::TooMuchParameter {
                    entry: owner_of(layout, id).map_or_else(String::new, |f| link.resolved.function_name(f)),
                    size: s.size,
                    limit: CONSTANT_LIMIT,
                });
            }
            Class::Literals if s.size > CONSTANT_LIMIT => {
                let (entry, contributors) = literal_user(link, layout, id);
                out.error(Code::TooMuchLiteral {
                    entry,
                    size: s.size,
                    limit: CONSTANT_LIMIT,
                    contributors,
                });
            }
            Class::Constant(USER_BANK) if s.size > CONSTANT_LIMIT => {
                let contributors = constant_contributors(link, layout, id);
                out.error(Code::TooMuchConstant {
                    size: s.size,
                    limit: CONSTANT_LIMIT,
                    contributors,
                });
            }
            _ => {}
        }
    }
}

/// The function that a section belongs to.
fn owner_of(layout: &Layout<'_>, id: SectionId) -> Option<FunctionId> {
    match layout.records.sections[id].owner.map(|code| layout.records.sections[code].class)? {
        Class::Text(f) => Some(f),
        _ => None,
    }
}

/// The function whose bank of literals this is, a kernel in a final link, and the functions that add to it, largest first.
fn literal_user(link: Link<'_, '_>, layout: &Layout<'_>, id: SectionId) -> (String, Vec<(String, u64)>) {
    let Some(kernel) = owner_of(layout, id) else {
        return (String::new(), Vec::new());
    };
    let entry = link.resolved.function_name(kernel);
    if link.options.identity == Identity::Nvlink {
        // nvlink quirk: it takes what follows the first dot after ".nv.constant" for the name; sm_100 has ".nv.constant.optimizer.K".
        let optimizer = link.options.target.capabilities().has_optimizer_bank;
        return (if optimizer { format!("optimizer.{entry}") } else { entry }, Vec::new());
    }
    let reached = link.graph.mark(link.resolved, [kernel]);
    let pieces = layout
        .records
        .literals
        .banks
        .iter()
        .filter(|p| reached[p.function] && !p.bytes.is_empty());
    let list = pieces
        .map(|p| (link.resolved.function_name(p.function), p.bytes.len() as u64))
        .collect();
    (entry, largest_first(list))
}

fn constant_contributors(link: Link<'_, '_>, layout: &Layout<'_>, id: SectionId) -> Vec<(String, u64)> {
    let size = |p: &Piece| link.inputs.objects[p.object].section(p.section).map_or(0, |s| s.size);
    let pieces = layout.records.sections[id].pieces.as_slice();
    let list = pieces
        .iter()
        .map(|p| (link.inputs.objects[p.object].name.to_string(), size(p)))
        .collect();
    largest_first(list)
}

fn largest_first(mut list: Vec<(String, u64)>) -> Vec<(String, u64)> {
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

/// Variables that a kernel's own and reachable code refers to, largest first.
fn contributors(layout: &Layout<'_>, link: Link<'_, '_>, kernel: FunctionId) -> Vec<(String, u64)> {
    let reached = link.graph.mark(link.resolved, [kernel]);
    let mut list: Vec<(String, u64)> = Vec::new();
    for r in &layout.records.relocs {
        let Class::Text(f) = layout.records.sections[r.target].class else {
            continue;
        };
        let object = &link.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize).filter(|_| reached[f]) else {
            continue;
        };
        for &index in object.specials(relocs) {
            if let Place::Shared(s) = layout.records.placement.symbols[object.symbol_ref(index)] {
                let entry = (
                    text(layout.records.shared.variables[s].name),
                    layout.records.shared.variables[s].size,
                );
                if !list.contains(&entry) {
                    list.push(entry);
                }
            }
        }
    }
    largest_first(list)
}
