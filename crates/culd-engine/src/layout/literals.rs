//! Literal banks of device functions: copied into every kernel that reaches the function, at one common offset.
//!
//! 1. Functions in reverse order of creation; the kernels that reach one get a bank if they have none.
//! 2. The offset is the end of the longest of these banks, aligned to the largest alignment among them and the function.
//! 3. The alignment spreads: every bank takes it, and the piece is padded to it.

use super::Layout;
use crate::align::align_up;
use crate::ids::{FunctionId, ObjectId, SectionId};
use crate::names::{Name, SeededState};
use crate::object::entry;
use crate::options::Identity;
use crate::records::LiteralReloc;
use crate::records::{Class, FunctionLiterals};
use crate::records::{NewSection, RelocForm};
use crate::session::Link;
use cubin::consts::*;
use hashbrown::HashMap;
use std::cmp::Reverse;

pub(super) fn lay_out<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>) {
    for f in link.resolved.functions.ids().filter(|&f| link.resolved.functions[f].entry) {
        if layout.records.functions[f].literals.is_some() || layout.records.functions[f].orphaned_literals.is_some() {
            layout.literals[f] = Some(0);
        }
    }
    let mut pieces = std::mem::take(&mut layout.records.literals.banks);
    let functions: Vec<FunctionId> = pieces.iter().map(|p| p.function).collect();
    let mut reaching: Vec<Vec<FunctionId>> = vec![Vec::new(); pieces.len()];
    link.graph.reach(link.resolved, &functions, &layout.kernels, |f, k| {
        let kernel = layout.kernels[k];
        // A function that only counts as a kernel has a bank for what it calls, not for itself.
        if kernel != functions[f] || link.resolved.functions[kernel].entry {
            reaching[f].push(kernel);
        }
    });
    let mut known = known_banks(link, layout);
    let mut inside: HashMap<usize, Vec<(FunctionId, u64)>, SeededState> = HashMap::default();
    let mut grown = 0;
    for (i, mut kernels) in reaching.into_iter().enumerate().rev() {
        let piece = std::mem::replace(&mut pieces[i], FunctionLiterals::none(functions[i]));
        // The one mentioned last comes first.
        kernels.sort_unstable_by_key(|&k| Reverse(k));
        let banks: Vec<_> = kernels.iter().map(|&k| bank(link, layout, (&mut known, i), k, &piece)).collect();
        let align = banks.iter().map(|b| b.align(layout, &pieces)).fold(piece.align, u64::max);
        let longest = banks.iter().map(|b| b.size(layout, &pieces)).max().unwrap_or(0);
        // Where no kernel reaches it: no space, but its relocations are resolved with offset 0.
        let offset = align_up(longest, align);
        if let (Some(losing), false) = (piece.last_losing, banks.is_empty()) {
            layout.null_value = offset + losing;
        }
        layout.literals[piece.function] = Some(offset);
        // Symbols that were moved with the piece before move again; the last move counts.
        let mut moved = inside.remove(&i).unwrap_or_default();
        for (f, within) in &mut moved {
            *within += offset;
            layout.literals[*f] = Some(*within);
        }
        moved.push((piece.function, offset));
        for bank in banks {
            match bank {
                Bank::Own(id) => {
                    let record = &mut layout.records.sections[id];
                    record.align = align;
                    let bytes = record.bytes.get_or_insert_default();
                    append(bytes, &piece, offset, align);
                    record.size = bytes.len() as u64;
                    if !piece.bytes.is_empty() {
                        copy_relocations(link, layout, &piece, id, offset);
                    }
                }
                Bank::Piece(n) => {
                    let (inside, other) = (inside.entry(n).or_default(), &mut pieces[n]);
                    inside.extend_from_slice(&moved);
                    let before = other.bytes.len();
                    other.align = align;
                    append(&mut other.bytes, &piece, offset, align);
                    other.tables.extend(piece.tables.iter().map(|t| (t.0, t.1, t.2 + offset)));
                    other.regions.extend(piece.regions.iter().map(|r| (r.0 + offset, r.1 + offset)));
                    // Functions that all call each other would double them at every step.
                    grown += other.bytes.len() - before + moved.len();
                    if other.bytes.len() > PIECE_MAX || grown > GROWN_MAX {
                        layout.failure = Some("literals too large");
                        return;
                    }
                }
            }
        }
        pieces[i] = piece;
    }
    layout.records.literals.banks = pieces;
    move_symbols(layout);
}

/// `--preserve-relocs`: symbols in the literals of functions that may count as kernels stay in their banks, with the offset elsewhere.
fn move_symbols(layout: &mut Layout<'_>) {
    let records = &mut layout.records;
    for (&f, symbols) in &records.literals.symbols {
        if records.functions[f].literal_record.is_none() {
            continue;
        }
        for &(_, sym) in symbols {
            records.symbols[sym].value += layout.literals[f].unwrap_or(0);
        }
    }
}

/// Bound on the literals of one function that grow: twice what a bank can hold.
const PIECE_MAX: usize = 1 << 17;
/// Bound on the growth of all literals together.
const GROWN_MAX: usize = 1 << 24;

/// Where the literals of a function go.
#[derive(Clone, Copy)]
enum Bank {
    /// The bank of a kernel.
    Own(SectionId),
    /// nvlink quirk: the literals of a function that counts as a kernel, found by their name. They grow until their own turn comes; then
    /// their record is empty and is that function's bank.
    Piece(usize),
}

impl Bank {
    fn align(self, layout: &Layout<'_>, pieces: &[FunctionLiterals]) -> u64 {
        match self {
            Bank::Own(id) => layout.records.sections[id].align,
            Bank::Piece(n) => pieces[n].align,
        }
    }
    fn size(self, layout: &Layout<'_>, pieces: &[FunctionLiterals]) -> u64 {
        match self {
            Bank::Own(id) => layout.records.sections[id].size,
            Bank::Piece(n) => pieces[n].bytes.len() as u64,
        }
    }
}

fn append(bytes: &mut Vec<u8>, piece: &FunctionLiterals, offset: u64, align: u64) {
    bytes.resize(offset as usize, 0);
    bytes.extend_from_slice(&piece.bytes);
    bytes.resize(align_up(bytes.len() as u64, align) as usize, 0);
}

/// The relocations of a function's jump tables go with its piece: regions by descending start, newest object first, each copy reversed.
/// Entries outside all regions belonged to a longer table that was replaced.
fn copy_relocations<'d>(link: Link<'_, 'd>, layout: &mut Layout<'d>, piece: &FunctionLiterals, bank: SectionId, offset: u64) {
    let mut found: Vec<(Reverse<u64>, Reverse<ObjectId>, LiteralReloc)> = Vec::new();
    for &(object, section, base) in &piece.tables {
        let object = &link.inputs.objects[object];
        for relocs in object.relocs.iter().filter(|r| r.target == section && !r.entries.is_empty()) {
            if layout.records.sections[bank].companions[1].is_none() {
                layout.records.add_companion(link.mode, bank, RelocForm::Rela);
                layout.records.add_resolved_companion(link.mode, bank);
            }
            for i in 0..relocs.entries.len() {
                let e = entry(&relocs.entries, i);
                let place = base + e.r_offset.get();
                let Some(region) = piece.regions.iter().find(|r| (r.0..r.1).contains(&place)) else {
                    continue;
                };
                let function = Some(e.r_sym.get())
                    .filter(|&sym| sym < object.symbol_count())
                    .and_then(|sym| link.resolved.function(object.symbol_ref(sym)));
                let Some(symbol) = function.filter(|&f| link.live.alive[f]).and_then(|f| layout.records.symbol_of[f]) else {
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
type KnownBanks<'d> = HashMap<&'d [u8], SectionId, SeededState>;

fn known_banks<'d>(link: Link<'_, 'd>, layout: &Layout<'d>) -> Option<KnownBanks<'d>> {
    let (records, functions) = (&layout.records, &link.resolved.functions);
    if link.options.identity == Identity::Culd || !layout.kernels.iter().any(|&k| functions[k].local) {
        return None;
    }
    let mut known = KnownBanks::default();
    for &id in &records.memory {
        let owner = records.sections[id].owner.map(|text| records.sections[text].class);
        if let (Class::Literals, Some(Class::Text(f))) = (records.sections[id].class, owner) {
            known.entry(functions[f].name).or_insert(id);
        }
    }
    Some(known)
}

/// The bank of a kernel, made if it has none. nvlink quirk: a record left by a losing copy is found first.
fn bank<'d>(
    link: Link<'_, 'd>,
    layout: &mut Layout<'d>,
    (known, waiting): (&mut Option<KnownBanks<'d>>, usize),
    kernel: FunctionId,
    piece: &FunctionLiterals,
) -> Bank {
    let (number, align) = (piece.bank, piece.align);
    let function = &layout.records.functions[kernel];
    if let Some(index) = function.literal_index.map(|n| n as usize) {
        let record = function.literal_record.filter(|_| index > waiting);
        return record.map_or(Bank::Piece(index), Bank::Own);
    }
    let bank = match known {
        Some(known) => known.get(link.resolved.functions[kernel].name).copied(),
        None => function.orphaned_literals.or(function.literals),
    };
    if let Some(id) = bank {
        return Bank::Own(id);
    }
    let (text, name) = (function.text, link.resolved.functions[kernel].name);
    let id = layout.records.add_section(
        link.mode,
        NewSection {
            name: Name::new(prefix(link, number), name),
            class: Class::Literals,
            sh_type: SHT_CUDA_CONSTANT0 + number,
            flags: 0x42,
            align,
            entsize: 0,
        },
    );
    layout.records.sections[id].owner = text;
    layout.records.functions[kernel].literals = Some(id);
    if let Some(known) = known {
        known.insert(name, id);
    }
    Bank::Own(id)
}

/// `.nv.constantB.` by bank.
fn prefix(link: Link<'_, '_>, bank: u32) -> &'static [u8] {
    if link.options.target.capabilities().has_optimizer_bank {
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
