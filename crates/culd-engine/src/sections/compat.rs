//! `.nv.compat`: where the code may run, merged attribute by attribute.

use crate::layout::Layout;
use crate::options::Suffix;
use crate::records::{Class, OutSection};
use crate::session::Link;
use cubin::compat::TCGEN05_MMA;
use cubin::nvinfo::FORMAT_SIZED;
use cubin::release::Rules;

const ISA_CLASS: u8 = 2;
const FINALIZER: u8 = 0x0b;
const ACCELERATOR: u8 = 9;
const SCHEDULER: u8 = 0x0e;
/// Both fields of the record about tensor cores are 1.
const EVERY_TENSOR_CORE: u16 = 5;
/// Value of the scheduler's record from sm_100 on.
const SCHEDULER_DEFAULT: u16 = 0x400;

/// How an attribute of several inputs is joined. [`cubin::release::Rules`] states which releases support an attribute, add it
/// for inputs that lack it and leave out its default.
struct Rule {
    code: u8,
    format: u8,
    join: fn(u16, u16) -> u16,
    /// Value of an input that lacks it, in releases that add it.
    missing: fn(&Rules) -> Option<u16>,
    /// The value that is not written.
    silent: fn(&Rules) -> Option<u16>,
    /// False: such records of inputs are passed over.
    known: fn(&Rules) -> bool,
    /// Left out when an input lacks it.
    of_all: bool,
    /// Left out when no input has it; its place is that of an added one.
    of_some: fn(&Rules) -> bool,
}

/// 0 if either is 0, else the larger.
fn both(a: u16, b: u16) -> u16 {
    if a == 0 || b == 0 { 0 } else { a.max(b) }
}

/// Two fields of two bits, the rest from the first.
fn both_fields(a: u16, b: u16) -> u16 {
    (a & 0xf0) | both(a >> 2 & 3, b >> 2 & 3) << 2 | both(a & 3, b & 3)
}

/// A byte that every release supports and adds; entries start from it.
const BASE: Rule = Rule {
    code: 0,
    format: 2,
    join: u16::max,
    missing: |_| None,
    silent: |_| None,
    known: |_| true,
    of_all: false,
    of_some: |_| false,
};

/// Rules in the order in which missing attributes are added.
const RULES: [Rule; 10] = [
    Rule {
        code: ISA_CLASS,
        join: both,
        missing: |_| Some(0),
        ..BASE
    },
    Rule {
        code: 3,
        join: |a, b| a | b,
        missing: |_| Some(3),
        ..BASE
    },
    Rule {
        code: TCGEN05_MMA,
        join: both_fields,
        missing: |_| Some(0),
        silent: |r| r.compat_without_defaults.then_some(0),
        ..BASE
    },
    Rule {
        code: 6,
        join: |a, b| if a == b { a } else { 1 },
        missing: |r| (!r.compat_without_defaults).then_some(1),
        silent: |r| r.compat_without_defaults.then_some(1),
        ..BASE
    },
    Rule {
        code: 7,
        format: 3,
        missing: |r| (!r.compat_of_inputs).then_some(0x100),
        of_some: |r| r.compat_instruction_set,
        ..BASE
    },
    Rule {
        code: 8,
        format: 3,
        ..BASE
    },
    Rule {
        code: 0x0c,
        missing: |_| Some(2),
        known: |r| r.compat_scheduling,
        ..BASE
    },
    Rule {
        code: 0x0d,
        format: 3,
        missing: |_| Some(0x100),
        known: |r| r.compat_instruction_set,
        ..BASE
    },
    Rule {
        code: SCHEDULER,
        format: 3,
        known: |r| r.compat_scheduling,
        of_all: true,
        ..BASE
    },
    Rule {
        code: 0x0f,
        format: 3,
        known: |r| r.compat_scheduling,
        of_all: true,
        ..BASE
    },
];

/// Records of the output, in order.
struct Joined {
    records: Vec<(u8, Value)>,
}

/// Value of a record.
enum Value {
    /// In the record itself, with its format.
    Half(u8, u16),
    /// After the record: what the finalizer may change.
    Mask(u64),
}

impl Joined {
    fn half(&mut self, rule: &Rule, value: u16) {
        match self.records.iter_mut().find(|r| r.0 == rule.code) {
            Some((_, Value::Half(_, known))) => *known = (rule.join)(*known, value),
            Some(_) => {}
            None => self.records.push((rule.code, Value::Half(rule.format, value))),
        }
    }

    fn mask(&mut self, value: u64) {
        match self.records.iter_mut().find(|r| r.0 == FINALIZER) {
            Some((_, Value::Mask(known))) => *known &= value,
            Some(_) => {}
            None => self.records.push((FINALIZER, Value::Mask(value))),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 * self.records.len() + 8);
        for (code, value) in &self.records {
            match value {
                Value::Half(format, half) => {
                    bytes.extend_from_slice(&[*format, *code]);
                    bytes.extend_from_slice(&half.to_le_bytes());
                }
                Value::Mask(mask) => {
                    bytes.extend_from_slice(&[FORMAT_SIZED, *code, 8, 0]);
                    bytes.extend_from_slice(&mask.to_le_bytes());
                }
            }
        }
        bytes
    }
}

/// Bytes of `.nv.compat`.
pub fn compat(link: Link<'_, '_>, layout: &Layout<'_>) -> Vec<u8> {
    let target = link.options.target;
    let rules = &link.mode.rules;
    let accelerator = u16::from(target.suffix == Suffix::Arch);
    let mut joined = Joined {
        records: match rules.compat_of_inputs {
            true => Vec::new(),
            false => vec![(ACCELERATOR, Value::Half(2, accelerator))],
        },
    };
    let (mut lacking, mut stated) = ([false; RULES.len()], [false; RULES.len()]);
    for object in link.inputs.objects.iter() {
        let Some(bytes) = object.compat else { continue };
        let mut seen = [false; RULES.len()];
        for record in cubin::nvinfo::records(bytes).flatten() {
            if record.attribute == FINALIZER && rules.compat_joins_finalizer_mask {
                joined.mask(record.payload.first_chunk().map_or(0, |&b| u64::from_le_bytes(b)));
            }
            let known = |r: &Rule| r.code == record.attribute && (r.known)(rules);
            let Some(i) = RULES.iter().position(known) else { continue };
            joined.half(&RULES[i], if RULES[i].format == 2 { record.half & 0xff } else { record.half });
            (seen[i], stated[i]) = (true, true);
        }
        for (i, rule) in RULES.iter().enumerate().filter(|(i, r)| !seen[*i] && (r.known)(rules)) {
            lacking[i] = true;
            if let Some(value) = (rule.missing)(rules) {
                joined.half(rule, value);
            }
        }
    }
    joined
        .records
        .retain(|(code, value)| match (RULES.iter().position(|r| r.code == *code), value) {
            (Some(i), Value::Half(_, half)) => {
                let is_left_out = RULES[i].of_all && lacking[i] || (RULES[i].of_some)(rules) && !stated[i];
                !is_left_out && (RULES[i].silent)(rules) != Some(*half)
            }
            _ => true,
        });
    let tensor_cores = joined.records.iter().find_map(|r| match r {
        (TCGEN05_MMA, Value::Half(_, value)) => Some(*value),
        _ => None,
    });
    // Observed: then the code is not finalized for a relative of its architecture.
    let is_bound = match rules.compat_without_defaults {
        true => accelerator == 1 && tensor_cores != Some(EVERY_TENSOR_CORE),
        false => tensor_cores.is_some_and(|value| value & 3 == 2),
    };
    if let Some(mask) = finalizer_mask(link, layout, is_bound) {
        match joined.records.iter_mut().find(|r| r.0 == FINALIZER) {
            Some(known) => known.1 = Value::Mask(mask),
            None => joined.records.push((FINALIZER, Value::Mask(mask))),
        }
        if rules.compat_scheduling {
            let known = joined
                .records
                .iter()
                .position(|r| r.0 == SCHEDULER)
                .map(|i| joined.records.remove(i));
            let record = known.unwrap_or((SCHEDULER, Value::Half(3, SCHEDULER_DEFAULT)));
            joined.records.push(record);
        }
    }
    joined.bytes()
}

/// Size of the records that only the finalizer adds: the mask, unless inputs have one that is joined.
pub(crate) fn late_size(link: Link<'_, '_>) -> u64 {
    const MASK: u64 = 12;
    let compat = link.inputs.objects.iter().filter_map(|o| o.compat);
    let has_mask = |bytes| cubin::nvinfo::records(bytes).flatten().any(|r| r.attribute == FINALIZER);
    let is_joined = link.mode.rules.compat_joins_finalizer_mask && compat.into_iter().any(has_mask);
    if is_joined || link.mode.rules.compat_of_inputs { 0 } else { MASK }
}

/// Opcodes of double arithmetic: DADD, DMUL, DFMA, DSETP, in any form.
const DOUBLE: std::ops::RangeInclusive<u8> = 0x28..=0x2b;
/// More opcodes that the finalizer's mask distinguishes: FSETP with an immediate, IMMA, DMMA. Observed.
const SLOW: [u16; 3] = [0x80b, 0x237, 0x23f];

/// What the finalizer says about the code, from sm_100 on, if some input says where it may run or there is none.
fn finalizer_mask(link: Link<'_, '_>, layout: &Layout<'_>, is_bound: bool) -> Option<u64> {
    let objects = &link.inputs.objects;
    let wanted = objects.iter().next().is_none() || objects.iter().any(|o| o.compat.is_some());
    if !link.options.target.capabilities().has_mercury || !wanted || link.mode.rules.compat_of_inputs {
        return None;
    }
    let mut texts = layout
        .records
        .sections
        .iter()
        .filter(|s| matches!(s.class, Class::Text(_)))
        .peekable();
    let slow = |s: &OutSection<'_>| {
        s.pieces.as_slice().iter().any(|p| {
            let code = link.inputs.objects[p.object]
                .sass
                .get(p.section as usize)
                .map_or(&[][..], |s| s.data);
            code.chunks_exact(16).filter_map(|i| i.first_chunk::<2>()).any(|&[low, high]| {
                let double = DOUBLE.contains(&low) && high & 1 == 0 && high & 0xf != 0;
                double || SLOW.contains(&(u16::from_le_bytes([low, high]) & 0xfff))
            })
        })
    };
    // Later finalizers leave the mask of a file without code as compilers write it.
    let is_bound = is_bound && !(link.mode.rules.mask_of_target && texts.peek().is_none());
    Some(match link.options.target.number {
        100 if link.mode.rules.mask_of_target => {
            if is_bound {
                1
            } else {
                9
            }
        }
        _ if texts.peek().is_none() && !link.mode.rules.mask_of_target => 0,
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
    })
}
