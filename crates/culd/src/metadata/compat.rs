//! `.nv.compat`: where the code may run, merged attribute by attribute.

use crate::layout::{Context, Layout};
use crate::merge::model::{Class, OutSection};
use crate::object::Object;
use crate::options::Suffix;
use cubin::compat::TCGEN05_MMA;
use cubin::nvinfo::FORMAT_SIZED;

const ISA_CLASS: u8 = 2;
const FINALIZER: u8 = 0x0b;
const ACCELERATOR: u8 = 9;

/// How an attribute of two inputs is joined, and the value of an input that lacks it.
struct Rule {
    code: u8,
    format: u8,
    join: fn(u16, u16) -> u16,
    missing: Option<u16>,
}

/// 0 if either is 0, else the larger.
fn both(a: u16, b: u16) -> u16 {
    if a == 0 || b == 0 { 0 } else { a.max(b) }
}

/// Two fields of two bits, the rest from the first.
fn both_fields(a: u16, b: u16) -> u16 {
    (a & 0xf0) | both(a >> 2 & 3, b >> 2 & 3) << 2 | both(a & 3, b & 3)
}

/// Rules in the order in which missing attributes are applied.
const RULES: [Rule; 6] = [
    Rule {
        code: ISA_CLASS,
        format: 2,
        join: both,
        missing: Some(0),
    },
    Rule {
        code: 3,
        format: 2,
        join: |a, b| a | b,
        missing: Some(3),
    },
    Rule {
        code: 5,
        format: 2,
        join: both_fields,
        missing: Some(0),
    },
    Rule {
        code: 6,
        format: 2,
        join: |a, b| if a == b { a } else { 1 },
        missing: Some(1),
    },
    Rule {
        code: 7,
        format: 3,
        join: u16::max,
        missing: Some(0x100),
    },
    Rule {
        code: 8,
        format: 3,
        join: u16::max,
        missing: None,
    },
];

/// Bytes of `.nv.compat`.
pub fn compat(context: Context<'_, '_>, layout: &Layout<'_>) -> Vec<u8> {
    let target = context.options.target;
    let accelerator = u16::from(target.suffix == Suffix::Arch);
    let mut merged: Vec<(u8, u8, u16)> = vec![(2, ACCELERATOR, accelerator)];
    let mut apply = |rule: &Rule, value: u16| match merged.iter_mut().find(|r| r.1 == rule.code) {
        Some(known) => known.2 = (rule.join)(known.2, value),
        None => merged.push((rule.format, rule.code, value)),
    };
    for object in context.inputs.objects.iter() {
        let Some(bytes) = object.compat else { continue };
        let mut seen = [false; RULES.len()];
        for record in cubin::nvinfo::records(bytes).flatten() {
            let Some(i) = RULES.iter().position(|r| r.code == record.attribute) else {
                continue;
            };
            let (rule, value) = (&RULES[i], if RULES[i].format == 2 { record.half & 0xff } else { record.half });
            apply(rule, value);
            seen[i] = true;
        }
        for (rule, _) in RULES.iter().zip(seen).filter(|(_, seen)| !seen) {
            if let Some(value) = rule.missing {
                apply(rule, value);
            }
        }
    }
    // Observed: then the code is not finalized for a relative of its architecture.
    let is_bound = merged.iter().any(|&(_, code, value)| code == TCGEN05_MMA && value & 3 == 2);
    let mut bytes = Vec::with_capacity(4 * merged.len());
    for (format, code, value) in merged {
        bytes.extend_from_slice(&[format, code]);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes.extend_from_slice(&finalizer_mask(context, layout, is_bound));
    bytes
}

/// Is an object silent about the class of instructions that it needs? Then its code runs on its own architecture only.
pub fn lacks_class(object: &Object<'_>) -> bool {
    let has_class = |bytes| cubin::nvinfo::records(bytes).flatten().any(|r| r.attribute == ISA_CLASS);
    object.compat.is_some_and(|bytes| !has_class(bytes))
}

/// Opcodes of double arithmetic: DADD, DMUL, DFMA, DSETP, in any form.
const DOUBLE: std::ops::RangeInclusive<u8> = 0x28..=0x2b;
/// More opcodes that the finalizer's mask tells apart: FSETP with an immediate, IMMA, DMMA. Observed.
const SLOW: [u16; 3] = [0x80b, 0x237, 0x23f];

/// What the finalizer says about the code, from sm_100 on, if some input says where it may run or there is none.
fn finalizer_mask(context: Context<'_, '_>, layout: &Layout<'_>, is_bound: bool) -> Vec<u8> {
    let objects = &context.inputs.objects;
    let wanted = objects.iter().next().is_none() || objects.iter().any(|o| o.compat.is_some());
    if !context.options.target.is_blackwell() || !wanted {
        return Vec::new();
    }
    let mut texts = layout.m.sections.iter().filter(|s| matches!(s.class, Class::Text(_))).peekable();
    let slow = |s: &OutSection<'_>| {
        s.pieces.as_slice().iter().any(|p| {
            let code = context.inputs.objects[p.object]
                .sass
                .get(p.section as usize)
                .map_or(&[][..], |s| s.data);
            code.chunks_exact(16).filter_map(|i| i.first_chunk::<2>()).any(|&[low, high]| {
                let double = DOUBLE.contains(&low) && high & 1 == 0 && high & 0xf != 0;
                double || SLOW.contains(&(u16::from_le_bytes([low, high]) & 0xfff))
            })
        })
    };
    let mask: u32 = match context.options.target.number {
        _ if texts.peek().is_none() => 0,
        100 => {
            if is_bound || texts.any(slow) {
                1
            } else {
                9
            }
        }
        120 if is_bound => 0x10,
        120 => 0x50,
        _ => 0,
    };
    let mut bytes = vec![FORMAT_SIZED, FINALIZER, 8, 0];
    bytes.extend_from_slice(&mask.to_le_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes
}
