//! Literal banks of device functions: copied into every kernel that reaches the function, at one common offset.
//!
//! 1. Functions in reverse order of creation; the kernels that reach one get a bank if they have none.
//! 2. The offset is the end of the longest of these banks, aligned to the largest alignment among them and the function.
//! 3. The alignment spreads: every bank takes it, and the piece is padded to it.

use super::{Context, Layout};
use crate::blackwell::LiteralReloc;
use crate::ids::{FunctionId, ObjectId, SectionId};
use crate::merge::align_up;
use crate::merge::model::{Class, FunctionLiterals};
use crate::names::{Name, State};
use crate::object::entry;
use crate::options::Identity;
use cubin::consts::*;
use hashbrown::HashMap;
use std::cmp::Reverse;

pub(super) fn lay_out<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>) {
    for f in context.resolved.functions.ids().filter(|&f| context.resolved.functions[f].entry) {
        if layout.m.functions[f].literals.is_some() || layout.m.functions[f].ghost.is_some() {
            layout.literals[f] = Some(0);
        }
    }
    let pieces = std::mem::take(&mut layout.m.literals);
    let functions: Vec<FunctionId> = pieces.iter().map(|p| p.function).collect();
    let mut reaching: Vec<Vec<FunctionId>> = vec![Vec::new(); pieces.len()];
    context.graph.reach(context.resolved, &functions, &layout.kernels, |f, k| {
        let kernel = layout.kernels[k];
        // A function that only counts as a kernel has a bank for what it calls, not for itself.
        if kernel != functions[f] || context.resolved.functions[kernel].entry {
            reaching[f].push(kernel);
        }
    });
    let mut known = known_banks(context, layout);
    for (piece, mut kernels) in pieces.iter().zip(reaching).rev() {
        if kernels.is_empty() {
            // No kernel reaches it: no space, but its relocations are resolved with offset 0.
            layout.literals[piece.function] = Some(0);
            continue;
        }
        kernels.reverse();
        let banks: Vec<_> = kernels.iter().map(|&k| bank(context, layout, &mut known, k, piece)).collect();
        let align = banks.iter().map(|&id| layout.m.sections[id].align).fold(piece.align, u64::max);
        let longest = banks.iter().map(|&id| layout.m.sections[id].size).max().unwrap_or(0);
        let offset = align_up(longest, align);
        layout.literals[piece.function] = Some(offset);
        if let Some(lost) = piece.lost {
            layout.null_value = offset + lost;
        }
        for id in banks {
            let record = &mut layout.m.sections[id];
            record.align = align;
            let bytes = record.bytes.get_or_insert_default();
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(&piece.bytes);
            bytes.resize(align_up(bytes.len() as u64, align) as usize, 0);
            record.size = bytes.len() as u64;
            if !piece.bytes.is_empty() {
                copy_relocations(context, layout, piece, id, offset);
            }
        }
    }
    layout.m.literals = pieces;
}

/// The relocations of a function's jump tables go with its piece: regions by descending start, newest object first, each copy reversed.
/// Entries outside all regions belonged to a longer table that was replaced.
fn copy_relocations<'d>(context: Context<'_, 'd>, layout: &mut Layout<'d>, piece: &FunctionLiterals, bank: SectionId, offset: u64) {
    let mut found: Vec<(Reverse<u64>, Reverse<ObjectId>, LiteralReloc)> = Vec::new();
    for &(object, section, base) in &piece.tables {
        let object = &context.inputs.objects[object];
        for relocs in object.relocs.iter().filter(|r| r.target == section && !r.entries.is_empty()) {
            if layout.m.sections[bank].companions[1].is_none() {
                layout.m.add_companion(context.mode, bank, true);
                layout.m.add_resolved_companion(context.mode, bank);
            }
            for i in 0..relocs.entries.len() {
                let e = entry(&relocs.entries, i);
                let place = base + e.r_offset.get();
                let Some(region) = piece.regions.iter().find(|r| (r.0..r.1).contains(&place)) else {
                    continue;
                };
                let function = Some(e.r_sym.get())
                    .filter(|&y| y < object.symbol_count())
                    .and_then(|y| context.resolved.function(object.symbol_ref(y)));
                let Some(symbol) = function.filter(|&f| context.live.alive[f]).and_then(|f| layout.m.symbol_of[f]) else {
                    continue;
                };
                let reloc = LiteralReloc {
                    bank,
                    offset: offset + place,
                    kind: e.r_type.get(),
                    symbol,
                    addend: e.r_addend.get(),
                };
                found.push((Reverse(region.0), Reverse(object.id), reloc));
            }
        }
    }
    found.reverse();
    found.sort_by_key(|f| (f.0, f.1));
    layout.literal_relocs.extend(found.into_iter().map(|f| f.2));
}

/// The first bank of each name, where several kernels may have one name.
///
/// nvlink quirk: banks are found by name, so that the first one of several static kernels of one name gets everything, and **the others
/// read past theirs**.
type KnownBanks<'d> = HashMap<&'d [u8], SectionId, State>;

fn known_banks<'d>(context: Context<'_, 'd>, layout: &Layout<'d>) -> Option<KnownBanks<'d>> {
    let (m, functions) = (&layout.m, &context.resolved.functions);
    if context.options.identity == Identity::Culd || !layout.kernels.iter().any(|&k| functions[k].local) {
        return None;
    }
    let mut known = KnownBanks::default();
    for &id in &m.memory {
        let owner = m.sections[id].owner.map(|text| m.sections[text].class);
        if let (Class::Literals, Some(Class::Text(f))) = (m.sections[id].class, owner) {
            known.entry(functions[f].name).or_insert(id);
        }
    }
    Some(known)
}

/// The bank of a kernel, made if it has none. nvlink quirk: a record left by a losing copy is found first.
fn bank<'d>(
    context: Context<'_, 'd>,
    layout: &mut Layout<'d>,
    known: &mut Option<KnownBanks<'d>>,
    kernel: FunctionId,
    piece: &FunctionLiterals,
) -> SectionId {
    let (number, align) = (piece.bank, piece.align);
    let function = &layout.m.functions[kernel];
    let bank = match known {
        Some(known) => known.get(context.resolved.functions[kernel].name).copied(),
        None => function.ghost.or(function.literals),
    };
    if let Some(id) = bank {
        return id;
    }
    let (text, name) = (function.text, context.resolved.functions[kernel].name);
    let id = layout.m.add_section(
        context.mode,
        Name::new(prefix(context, number), name),
        Class::Literals,
        SHT_CUDA_CONSTANT0 + number,
        0x42,
        align,
        0,
    );
    layout.m.sections[id].owner = text;
    layout.m.functions[kernel].literals = Some(id);
    if let Some(known) = known {
        known.insert(name, id);
    }
    id
}

/// `.nv.constantB.` by bank.
fn prefix(context: Context<'_, '_>, bank: u32) -> &'static [u8] {
    if context.options.target.is_blackwell() {
        return b".nv.constant.optimizer.";
    }
    const PREFIXES: [&[u8]; 18] = [
        b".nv.constant0.",
        b".nv.constant1.",
        b".nv.constant2.",
        b".nv.constant3.",
        b".nv.constant4.",
        b".nv.constant5.",
        b".nv.constant6.",
        b".nv.constant7.",
        b".nv.constant8.",
        b".nv.constant9.",
        b".nv.constant10.",
        b".nv.constant11.",
        b".nv.constant12.",
        b".nv.constant13.",
        b".nv.constant14.",
        b".nv.constant15.",
        b".nv.constant16.",
        b".nv.constant17.",
    ];
    PREFIXES.get(bank as usize).copied().unwrap_or(b".nv.constant2.")
}
