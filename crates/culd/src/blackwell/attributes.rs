//! `.nv.info.F` of the SASS view, `.nv.info..nv.uft` among them.
//!
//! 1. The records of the linked Mercury view without the finalizer's options; where the input's SASS view says something else at the same
//!    place, that.
//! 2. Offsets move with the instructions.
//! 3. What the input's SASS view has behind these records follows: the parameter bank (with its new section symbol) and the finalizer's
//!    marks.

use super::Sass;
use super::code::{Function, Functions, mercury_places};
use super::image::parameter_symbols;
use super::linked::Linked;
use super::sources::Source;
use super::stubs::Stubs;
use crate::emit::Parts;
use crate::merge::model::Class;
use crate::metadata::attr::{FINALIZER_OPTIONS, MIN_STACK_SIZE};
use crate::metadata::attributes::{Attribute, Payload, Subject, subject};
use crate::metadata::propagate::Final;
use crate::names::State;
use cubin::nvinfo::{FORMAT_SIZED, Record, records};
use hashbrown::HashSet;
use std::collections::BTreeMap;

/// The parameter bank: section symbol, offset, size.
const PARAMETER_BANK: u8 = 0x0a;
/// Offsets of `EXIT`s.
const EXITS: u8 = 0x1c;
/// Lists of code offsets.
const OFFSETS: [u8; 6] = [EXITS, 0x1d, 0x25, 0x28, 0x31, 0x46];
/// Operations on barriers in memory: code offset and three more words each.
const MEMORY_BARRIERS: u8 = 0x39;
/// Branches with their targets.
const BRANCH_TARGETS: u8 = 0x34;

/// Writes the attribute sections.
pub(super) fn write<'d>(parts: &Parts<'_, 'd>, attributes: &Final<'d>, linked: &Linked, code: &Functions<'_, 'd>, sass: &mut Sass) {
    let module = parts.layout.m.fixed.info;
    if let (Some(_), Some(bytes)) = (&code.stubs, &linked.bytes[module]) {
        sass.put(module, stub_stacks(parts, bytes));
    }
    let parameters = parameter_symbols(parts, code);
    for &id in &parts.arranged.sections {
        let (f, list) = match parts.layout.m.sections[id].class {
            Class::FunctionInfo(f) => (f, attributes.of(f).collect::<Vec<_>>()),
            Class::UftInfo => match code.stubs.as_ref().and_then(Stubs::first) {
                Some(first) => (first.function, attributes.stubs.iter().collect()),
                None => continue,
            },
            _ => continue,
        };
        let text = parts.layout.m.functions[f].text;
        let Some((text, function)) = text.and_then(|t| Some((t, code.of(t)?))) else {
            continue;
        };
        let mut bytes = Vec::new();
        let borrowed = code.sources.of(function.object).borrows_attributes(function.section);
        let object = parts.context.inputs.objects.get(function.object).filter(|_| borrowed);
        let places = object.and_then(|o| mercury_places(o, function.section));
        for record in list {
            if record.code != FINALIZER_OPTIONS {
                parts
                    .encoder()
                    .one(&sass_record(parts, function, places.as_ref(), record), &mut bytes);
            }
        }
        let bank = parameters[text];
        for record in tail(code.sources.of(function.object), function.section) {
            append(&record, bank, &mut bytes);
        }
        if parts.layout.m.functions[f].parameters.is_some() {
            // A kernel with texture slots.
            bytes.extend_from_slice(&[2, 0x15, 0, 0, 2, 0x16, 0, 0]);
        }
        sass.put(id, bytes);
    }
}

/// The module's attributes in the SASS view. nvlink quirk: all stubs have the stack of the last one.
fn stub_stacks(parts: &Parts<'_, '_>, mercury: &[u8]) -> Vec<u8> {
    let m = &parts.layout.m;
    let symbols = m.unified.stubs.iter().filter_map(|s| m.symbol_of[s.function]);
    let symbols: HashSet<u32, State> = symbols.map(|y| parts.arranged.symbol_index(y)).collect();
    let mut bytes = mercury.to_vec();
    let mut at = 0;
    let mut stacks = Vec::new();
    for record in records(mercury).flatten() {
        let size = if record.format == FORMAT_SIZED {
            4 + record.payload.len()
        } else {
            4
        };
        let symbol = record.payload.first_chunk().map(|b| u32::from_le_bytes(*b));
        if record.attribute == MIN_STACK_SIZE && symbol.is_some_and(|y| symbols.contains(&y)) {
            stacks.push(at + 8..at + size);
        }
        at += size;
    }
    if let Some(value) = stacks.last().and_then(|last| mercury.get(last.clone())) {
        for stack in stacks.iter().cloned() {
            if let Some(field) = bytes.get_mut(stack).filter(|f| f.len() == value.len()) {
                field.copy_from_slice(value);
            }
        }
    }
    bytes
}

/// A record as the SASS view has it. Those of another function of this name speak of Mercury offsets: `places` are the function's own;
/// where none of its instructions starts, the offset is 0.
fn sass_record<'d>(
    parts: &Parts<'_, 'd>,
    function: &Function,
    places: Option<&BTreeMap<u64, u64>>,
    record: &Attribute<'d>,
) -> Attribute<'d> {
    if let (Payload::Views(views), Some(places), true) = (&record.payload, places, OFFSETS.contains(&record.code)) {
        let place = |offset: u32| {
            let Some(&sass) = places.get(&offset.into()) else { return 0 };
            if record.code == EXITS {
                function.place_instruction(sass) as u32
            } else {
                function.place(sass) as u32
            }
        };
        let words = words(views.mercury).into_iter().map(place).collect();
        return Attribute {
            format: record.format,
            code: record.code,
            payload: Payload::Words(words),
        };
    }
    let has_no_symbol = |symbol| subject(parts.context, parts.layout, symbol) == Subject::NoSymbol;
    let bytes = match &record.payload {
        Payload::Views(views) => views.sass,
        Payload::Bytes(bytes) => bytes,
        Payload::AboutViews(symbol, views) if has_no_symbol(*symbol) => views.sass,
        Payload::About(symbol, bytes) if has_no_symbol(*symbol) => bytes,
        _ => return record.clone(),
    };
    let payload = match moved(function, record.code, bytes) {
        Some(words) => Payload::Words(words.into()),
        None => Payload::Bytes(bytes),
    };
    Attribute {
        format: record.format,
        code: record.code,
        payload,
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|b| u32::from_le_bytes(*b)).collect()
}

/// Offsets after the deletion of instructions; `None` if the record has none.
fn moved(function: &Function, code: u8, bytes: &[u8]) -> Option<Vec<u32>> {
    if !function.moved() || !bytes.len().is_multiple_of(4) {
        return None;
    }
    let mut words = words(bytes);
    let place = |word: &mut u32| {
        let old = u64::from(*word);
        *word = if code == EXITS {
            function.place_instruction(old)
        } else {
            function.place(old)
        } as u32;
    };
    if OFFSETS.contains(&code) {
        words.iter_mut().for_each(place);
        return Some(words);
    }
    if code == MEMORY_BARRIERS {
        words.iter_mut().step_by(4).for_each(place);
        return Some(words);
    }
    if code != BRANCH_TARGETS {
        return None;
    }
    let mut rest = words.as_mut_slice();
    while let [at, _, count, tail @ ..] = rest {
        place(at);
        let count = (*count as usize).min(tail.len());
        let (targets, tail) = tail.split_at_mut(count);
        targets.iter_mut().for_each(place);
        rest = tail;
    }
    Some(words)
}

/// Records that only the SASS view has: those behind the parallel ones.
fn tail<'d>(source: &Source<'_, 'd>, text: u32) -> impl Iterator<Item = Record<'d>> {
    let mercury = records(source.mercury_attributes(text)).flatten();
    let parallel = mercury.filter(|r| r.attribute != FINALIZER_OPTIONS).count();
    records(source.sass_attributes(text)).flatten().skip(parallel)
}

fn append(record: &Record<'_>, bank: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[record.format, record.attribute]);
    if record.format != FORMAT_SIZED {
        out.extend_from_slice(&record.half.to_le_bytes());
        return;
    }
    out.extend_from_slice(&(record.payload.len() as u16).to_le_bytes());
    match record.payload.get(4..) {
        Some(rest) if record.attribute == PARAMETER_BANK => {
            out.extend_from_slice(&bank.to_le_bytes());
            out.extend_from_slice(rest);
        }
        _ => out.extend_from_slice(record.payload),
    }
}
