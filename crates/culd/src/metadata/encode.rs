//! Bytes of `.nv.info` and `.nv.info.F`.

use super::attr;
use super::attributes::{Attribute, Payload};
use super::propagate::Final;
use crate::arrange::Arranged;
use crate::ids::FunctionId;
use crate::layout::{Context, Layout};
use crate::relocate::Named;
use cubin::nvinfo::FORMAT_SIZED;

/// Adds the records that need symbol numbers: MIN_STACK_SIZE per kernel in symbol order, region stacks, missing register counts.
pub fn complete(context: Context<'_, '_>, layout: &Layout<'_>, arranged: &Arranged, last: &mut Final<'_>) {
    if context.mode.relocatable {
        return;
    }
    let only = context.live.kernels.len() == 1;
    let functions = &context.resolved.functions;
    let stubs = functions.ids().filter(|&f| !only && functions[f].stub && context.live.alive[f]);
    let mut entries: Vec<(u32, FunctionId, Named)> = context
        .live
        .kernels
        .iter()
        .copied()
        .chain(stubs)
        .filter_map(|f| {
            layout.m.symbol_of[f]
                .map(|y| (arranged.symbol_index(y), f, Named::Symbol(y)))
        })
        .collect();
    entries.sort_unstable_by_key(|e| e.0);
    for &(_, f, named) in &entries {
        let value = last.stack[f].unwrap_or(-1) as u32;
        last.module.push(Attribute {
            format: FORMAT_SIZED,
            code: attr::MIN_STACK_SIZE,
            payload: Payload::SymbolWord(named, value),
        });
    }
    regions(context, &entries, last);
    for &(_, f, named) in entries.iter().filter(|e| context.live.is_kernel[e.1]) {
        if last.facts[f].registers.is_none() {
            let payload = Payload::SymbolWord(named, last.registers[f]);
            last.module.push(Attribute {
                format: FORMAT_SIZED,
                code: attr::REGCOUNT,
                payload,
            });
        }
    }
}

/// Region stacks: the maximum over the functions that a kernel calls.
fn regions(context: Context<'_, '_>, entries: &[(u32, FunctionId, Named)], last: &mut Final<'_>) {
    if last.facts.iter().all(|f| f.region.is_none()) {
        return;
    }
    let facts = &last.facts;
    let highest = context.graph.fold(
        context.resolved,
        |f, max: &mut Option<u32>| *max = (*max).max(facts[f].region.filter(|_| !context.live.is_kernel[f])),
        |max, callee| *max = (*max).max(*callee),
    );
    for &(_, f, named) in entries.iter().filter(|e| context.live.is_kernel[e.1]) {
        if let Some(value) = highest[context.graph.component(f)] {
            let payload = Payload::SymbolWord(named, value);
            last.module.push(Attribute {
                format: FORMAT_SIZED,
                code: attr::SAM_REGION_STACK_SIZE,
                payload,
            });
        }
    }
}

/// Appends records to a section.
pub fn encode<'r, 'd: 'r>(
    layout: &Layout<'_>,
    arranged: &Arranged,
    records: impl IntoIterator<Item = &'r Attribute<'d>>,
    out: &mut Vec<u8>,
) {
    for record in records {
        encode_one(layout, arranged, record, out);
    }
}

pub(crate) fn encode_one(layout: &Layout<'_>, arranged: &Arranged, record: &Attribute<'_>, out: &mut Vec<u8>) {
    let head = |size: usize| {
        let [low, high] = (size as u16).to_le_bytes();
        [record.format, record.code, low, high]
    };
    match &record.payload {
        Payload::Half(value) => out.extend_from_slice(&head((*value).into())),
        // What has no bytes is not written.
        Payload::Bytes([]) => {}
        Payload::Bytes(bytes) | Payload::Unsettled(_, bytes) => {
            out.extend_from_slice(&head(bytes.len()));
            out.extend_from_slice(bytes);
        }
        Payload::Views(views) | Payload::UnsettledViews(_, views) => {
            if !views.mercury.is_empty() {
                out.extend_from_slice(&head(views.mercury.len()));
                out.extend_from_slice(views.mercury);
            }
        }
        Payload::Symbol(named, rest) => {
            let words = [head(4 + rest.len()), arranged.named_index(*named).to_le_bytes()];
            out.extend_from_slice(words.as_flattened());
            out.extend_from_slice(rest);
        }
        Payload::SymbolWord(named, word) => {
            let words = [head(8), arranged.named_index(*named).to_le_bytes(), word.to_le_bytes()];
            out.extend_from_slice(words.as_flattened());
        }
        Payload::Word(word) => out.extend_from_slice([head(4), word.to_le_bytes()].as_flattened()),
        Payload::Words(words) => list(head, words.iter().copied(), out),
        Payload::Functions(functions) => {
            let symbols = functions.iter().filter_map(|&f| layout.m.symbol_of[f]);
            list(head, symbols.map(|y| arranged.symbol_index(y)), out);
        }
    }
}

/// A record of words, unless there are none.
fn list(head: impl Fn(usize) -> [u8; 4], words: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&head(0));
    words.for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    let size = out.len() - start - 4;
    if size == 0 {
        out.truncate(start);
    } else if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&head(size));
    }
}
