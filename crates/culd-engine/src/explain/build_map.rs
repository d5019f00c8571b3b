//! Fills the link map from the image and from the results of the phases.
//!
//! 1. Names, places and sizes of sections, values and sizes of symbols: as the image has them, so that the map cannot disagree with it.
//! 2. The sections that merging made come first in the image, in their order; so do symbols. They say which input a part came from.
//! 3. Files with two views: the records of merging for debug information describe the Mercury twin. Capsules and parameter banks come from
//!    the object that gives the code.
//! 4. Banks of literals are made by the layout: each function's part is at one offset in every kernel that reaches the function.

use super::dropped;
use super::map::*;
use super::references;
use crate::arrange::OutputPlan;
use crate::ids::{FunctionId, SectionId};
use crate::names::SeededState;
use crate::object::text;
use crate::records::SymbolTableEntry;
use crate::records::{Class, Piece};
use cubin::consts::*;
use cubin::read::Cubin;
use hashbrown::HashMap;

/// Makes the map.
pub(super) fn map(output: &OutputPlan<'_, '_>, image: &[u8]) -> LinkMap {
    let mut map = LinkMap {
        sections: sections(output, image),
        shared: shared(output),
        dropped: dropped::dropped(output),
    };
    for section in &mut map.sections {
        section.pieces.sort();
        section.symbols.sort_by_key(|sym| sym.offset);
    }
    map
}

fn sections(output: &OutputPlan<'_, '_>, image: &[u8]) -> Vec<MapSection> {
    // Our own image can be read; an unreadable image has no map.
    let Ok(cubin) = Cubin::parse(image) else { return Vec::new() };
    let mut sections: Vec<MapSection> = Vec::with_capacity(cubin.section_headers().len());
    for section in cubin.sections().skip(1).flatten() {
        sections.push(MapSection {
            name: text(section.name),
            offset: section.header.sh_offset.get(),
            size: section.header.sh_size.get(),
            align: section.header.sh_addralign.get(),
            pieces: Vec::new(),
            symbols: Vec::new(),
        });
    }
    let literals = literal_pieces(output);
    for (&id, section) in output.arranged.sections.iter().zip(&mut sections) {
        section.pieces = pieces(output, id, section.size);
    }
    if output.link.options.target.capabilities().has_mercury {
        two_views(output, &mut sections);
    }
    for (bank, piece) in literals {
        let number = output.arranged.section_index(bank) as usize;
        if let Some(section) = number.checked_sub(1).and_then(|i| sections.get_mut(i)) {
            section.pieces.push(piece);
        }
    }
    symbols(output, &cubin, &mut sections);
    sections
}

fn pieces(output: &OutputPlan<'_, '_>, id: SectionId, size: u64) -> Vec<MapPiece> {
    let s = &output.layout.records.sections[id];
    let of_code = matches!(s.class, Class::Text(_) | Class::Stub(_));
    let piece = |p: &Piece| {
        let object = &output.link.inputs.objects[p.object];
        let input = object.section(p.section)?;
        Some(MapPiece {
            offset: p.base,
            // Code has one piece, and its size may change when it is written again.
            size: if of_code { size } else { input.size },
            input: object.name.to_string(),
            section: text(input.name),
        })
    };
    s.pieces.as_slice().iter().filter_map(piece).collect()
}

/// Pieces of the sections that only files with two views have.
fn two_views(output: &OutputPlan<'_, '_>, sections: &mut [MapSection]) {
    let (link, m) = (output.link, &output.layout.records);
    let (own, others) = sections.split_at_mut(output.arranged.sections.len().min(sections.len()));
    let mut merged: HashMap<String, usize, SeededState> = HashMap::default();
    for (i, (&id, section)) in output.arranged.sections.iter().zip(own.iter()).enumerate() {
        if !section.pieces.is_empty() && !matches!(m.sections[id].class, Class::Text(_) | Class::Stub(_)) {
            merged.insert(format!(".nv.merc{}", section.name), i);
        }
    }
    for section in others.iter_mut() {
        if let Some(twin) = merged.get(&section.name).and_then(|&i| own.get_mut(i)) {
            section.pieces = twin.pieces.clone();
            if twin.size != section.size {
                twin.pieces.clear();
            }
        }
    }
    // Static functions of one name have sections of one name, in the order of their code.
    let mut by_name: HashMap<String, Vec<usize>, SeededState> = HashMap::default();
    for (i, section) in others.iter().enumerate().rev().filter(|(_, s)| s.pieces.is_empty()) {
        by_name.entry(section.name.clone()).or_default().push(i);
    }
    let code = output.arranged.sections.iter().map(|&id| m.sections[id].class);
    for f in code.filter_map(|class| if let Class::Text(f) = class { Some(f) } else { None }) {
        let Some(winner) = link.resolved.functions[f].winner else {
            continue;
        };
        let function = link.resolved.function_name(f);
        for name in [format!(".nv.capmerc.text.{function}"), format!(".nv.constant0.{function}")] {
            let Some(section) = by_name.get_mut(&name).and_then(Vec::pop).and_then(|i| others.get_mut(i)) else {
                continue;
            };
            section.pieces.push(MapPiece {
                offset: 0,
                size: section.size,
                input: link.inputs.objects[winner.object].name.to_string(),
                section: name,
            });
        }
    }
}

/// Literals of functions in the banks of the kernels that reach them.
fn literal_pieces(output: &OutputPlan<'_, '_>) -> Vec<(SectionId, MapPiece)> {
    let (link, layout) = (output.link, output.layout);
    let literals = &layout.records.literals.banks;
    let functions: Vec<FunctionId> = literals.iter().map(|l| l.function).collect();
    let mut found = Vec::new();
    link.graph.reach(link.resolved, &functions, &layout.kernels, |f, k| {
        let (Some(l), Some(&kernel)) = (literals.get(f), layout.kernels.get(k)) else {
            return;
        };
        let bank = layout.records.functions[kernel]
            .orphaned_literals
            .or(layout.records.functions[kernel].literals);
        let winner = link.resolved.functions[l.function].winner;
        if let (Some(bank), Some(winner), Some(offset), false) = (bank, winner, layout.literals[l.function], l.bytes.is_empty()) {
            let piece = MapPiece {
                offset,
                size: l.bytes.len() as u64,
                input: link.inputs.objects[winner.object].name.to_string(),
                section: format!(".nv.constant{}.{}", l.bank, link.resolved.function_name(l.function)),
            };
            found.push((bank, piece));
        }
    });
    found
}

fn symbols(output: &OutputPlan<'_, '_>, cubin: &Cubin<'_>, sections: &mut [MapSection]) {
    let defined_by = references::definers(output.link, output.layout);
    for (named, symbol) in output.arranged.symbols.iter().zip(cubin.symbols().skip(1)) {
        let (SymbolTableEntry::Symbol(id), Ok(symbol)) = (*named, symbol) else {
            continue;
        };
        let Some(number) = symbol.section.index() else { continue };
        let Some(section) = (number as usize).checked_sub(1).and_then(|i| sections.get_mut(i)) else {
            continue;
        };
        let sym = &output.layout.records.symbols[id];
        let kind = match sym.kind {
            STT_FUNC if sym.other & STO_CUDA_ENTRY != 0 => SymbolKind::Kernel,
            STT_FUNC => SymbolKind::Function,
            _ => SymbolKind::Variable,
        };
        section.symbols.push(MapSymbol {
            name: text(symbol.name),
            offset: symbol.entry.st_value.get(),
            size: symbol.entry.st_size.get(),
            input: defined_by[id].map(|o| output.link.inputs.objects[o].name.to_string()),
            kind,
        });
    }
}

fn shared(output: &OutputPlan<'_, '_>) -> Vec<MapShared> {
    let (link, layout) = (output.link, output.layout);
    let mut list: Vec<MapShared> = Vec::new();
    for (id, var) in layout.records.shared.variables.enumerate() {
        let Some(offset) = layout.shared.offset[id] else { continue };
        list.push(MapShared {
            name: text(var.name),
            offset,
            size: var.size,
            input: link.inputs.objects[var.first_mention].name.to_string(),
            kernel: var.kernel.map(|k| link.resolved.function_name(k)),
        });
    }
    list
}
