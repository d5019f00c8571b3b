//! Limits of shared and constant memory, checked section by section in order of creation. Relocatable links check constant memory only.

use super::constants::{CONSTANT_LIMIT, USER_BANK};
use super::{ABSENT, Context, Layout};
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, SectionId};
use crate::merge::model::{Class, Piece, Place};
use crate::object::text;
use crate::options::{Identity, Suffix};

/// Limit of static shared memory: default, and by architecture with `--enable-extended-smem`.
fn shared_limit(context: Context<'_, '_>) -> u64 {
    if context.mode.rules.hardware_shared_limit {
        return match context.options.target.number {
            52 | 61 | 70 => 0x18000,
            50..80 => 0x10000,
            86 => 0x19000,
            _ => 0x29000,
        };
    }
    // Architecture-specific targets have the larger limit too.
    if !context.options.extended_smem && context.options.target.suffix != Suffix::Arch {
        return 0xc000;
    }
    match context.options.target.number {
        75 => 0x10000,
        80 | 87 => 0x28c00,
        86 | 88 | 89 | 120 | 121 => 0x18c00,
        _ => 0x38c00,
    }
}

pub(super) fn check(context: Context<'_, '_>, layout: &Layout<'_>, out: &mut Collector<'_>) {
    let (base, limit) = (context.mode.shared_base, shared_limit(context));
    for (id, s) in layout.m.memory.iter().map(|&id| (id, &layout.m.sections[id])) {
        let used = if s.size == ABSENT { 0 } else { s.size.saturating_sub(base) };
        match s.class {
            Class::KernelShared | Class::ModuleShared if context.mode.relocatable => {}
            Class::KernelShared if used > limit => {
                let Some(f) = layout.kernels.iter().copied().find(|&f| layout.m.shared_section(f) == Some(id)) else {
                    continue;
                };
                let contributors = contributors(layout, context, f);
                out.error(Code::TooMuchShared {
                    entry: context.resolved.function_name(f),
                    size: used,
                    limit,
                    contributors,
                });
            }
            Class::ModuleShared if used > limit => {
                // nvlink quirk: it takes what stands behind the length of ".nv.shared." for a kernel's name.
                let name = if context.options.identity == Identity::Nvlink {
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
                    entry: owner_of(layout, id).map_or_else(String::new, |f| context.resolved.function_name(f)),
                    size: s.size,
                    limit: CONSTANT_LIMIT,
                });
            }
            Class::Literals if s.size > CONSTANT_LIMIT => {
                let (entry, contributors) = literal_user(context, layout, id);
                out.error(Code::TooMuchLiteral {
                    entry,
                    size: s.size,
                    limit: CONSTANT_LIMIT,
                    contributors,
                });
            }
            Class::Constant(USER_BANK) if s.size > CONSTANT_LIMIT => {
                let contributors = constant_contributors(context, layout, id);
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
    match layout.m.sections[id].owner.map(|code| layout.m.sections[code].class)? {
        Class::Text(f) => Some(f),
        _ => None,
    }
}

/// The function whose bank of literals this is, a kernel in a final link, and the functions that add to it, largest first.
fn literal_user(context: Context<'_, '_>, layout: &Layout<'_>, id: SectionId) -> (String, Vec<(String, u64)>) {
    let Some(kernel) = owner_of(layout, id) else {
        return (String::new(), Vec::new());
    };
    let entry = context.resolved.function_name(kernel);
    if context.options.identity == Identity::Nvlink {
        // nvlink quirk: it takes what follows the first dot after ".nv.constant" for the name; sm_100 has ".nv.constant.optimizer.K".
        let optimizer = context.options.target.is_blackwell();
        return (if optimizer { format!("optimizer.{entry}") } else { entry }, Vec::new());
    }
    let reached = context.graph.mark(context.resolved, [kernel]);
    let pieces = layout.m.literals.iter().filter(|p| reached[p.function] && !p.bytes.is_empty());
    let list = pieces
        .map(|p| (context.resolved.function_name(p.function), p.bytes.len() as u64))
        .collect();
    (entry, largest_first(list))
}

fn constant_contributors(context: Context<'_, '_>, layout: &Layout<'_>, id: SectionId) -> Vec<(String, u64)> {
    let size = |p: &Piece| context.inputs.objects[p.object].section(p.section).map_or(0, |s| s.size);
    let pieces = layout.m.sections[id].pieces.as_slice();
    let list = pieces
        .iter()
        .map(|p| (context.inputs.objects[p.object].name.to_string(), size(p)))
        .collect();
    largest_first(list)
}

fn largest_first(mut list: Vec<(String, u64)>) -> Vec<(String, u64)> {
    list.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    list
}

/// Variables that a kernel's own and reachable code refers to, largest first.
fn contributors(layout: &Layout<'_>, context: Context<'_, '_>, kernel: FunctionId) -> Vec<(String, u64)> {
    let reached = context.graph.mark(context.resolved, [kernel]);
    let mut list: Vec<(String, u64)> = Vec::new();
    for r in &layout.m.relocs {
        let Class::Text(f) = layout.m.sections[r.target].class else {
            continue;
        };
        let object = &context.inputs.objects[r.object];
        let Some(relocs) = object.relocs.get(r.index as usize).filter(|_| reached[f]) else {
            continue;
        };
        for &index in object.specials(relocs) {
            if let Place::Shared(s) = layout.m.places[object.symbol_ref(index)] {
                let entry = (text(layout.m.shared[s].name), layout.m.shared[s].size);
                if !list.contains(&entry) {
                    list.push(entry);
                }
            }
        }
    }
    largest_first(list)
}
