//! `.nv.compat`: where the code may run, merged attribute by attribute.

use crate::diagnostics::{Code, Collector, Stop};
use crate::layout::Context;
use crate::options::Suffix;

const ISA_CLASS: u8 = 2;
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
pub fn compat(context: Context<'_, '_>, out: &mut Collector<'_>) -> Result<Vec<u8>, Stop> {
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
            if rule.code == ISA_CLASS {
                out.warning(Code::MissingIsaClass {
                    file: object.name.into(),
                    number: target.number,
                })?;
            }
            if let Some(value) = rule.missing {
                apply(rule, value);
            }
        }
    }
    let mut bytes = Vec::with_capacity(4 * merged.len());
    for (format, code, value) in merged {
        bytes.extend_from_slice(&[format, code]);
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    Ok(bytes)
}
