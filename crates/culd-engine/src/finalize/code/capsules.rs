//! What changes in the capsule of a function.
//!
//! 1. Resolved values go into the last word of the full Mercury instruction that represents the SASS instruction.
//! 2. The first word is the number of the code section.
//! 3. Where instructions were deleted or fences added, the counts of the records follow.

use crate::arrange::OutputPlan;
use crate::finalize::code::exits;
use crate::finalize::code::function::Function;
use crate::finalize::code::offsets::INSTRUCTION;
use crate::finalize::code::waits;
use crate::finalize::linked::Linked;
use crate::ids::SectionId;
use cubin::capmerc::{Capsule, Instruction};

/// `R_MERCURY_ABS32` and `R_MERCURY_ABS16`: width of the field in a Mercury instruction.
const MERCURY_FIELDS: [(u32, usize); 2] = [(0x1_0003, 4), (0x1_0004, 2)];

/// A record of a capsule.
struct Record {
    /// Offset of the end of the full instruction, if there is one.
    body_end: Option<usize>,
    /// First SASS instruction.
    first: u64,
    /// Number of SASS instructions.
    count: u64,
}

fn records(capsule: &[u8]) -> Vec<Record> {
    let Ok(parsed) = Capsule::read(capsule) else {
        return Vec::new();
    };
    let mut first = 0;
    let mut list = Vec::new();
    for (at, instruction) in parsed.instructions().flatten() {
        let count = u64::from(instruction.sass_count());
        if instruction != Instruction::Derived {
            list.push(Record {
                body_end: instruction.body().map(|_| at + instruction.size()),
                first,
                count,
            });
        }
        first += count;
    }
    list
}

/// Writes resolved values and the number of the code section, and counts instructions again where they moved.
pub(super) fn patch(output: &OutputPlan<'_, '_>, linked: &Linked, id: SectionId, function: &mut Function) {
    let records = match linked.sections[id].resolved.is_empty() {
        true => Vec::new(),
        false => records(&function.capsule),
    };
    for r in &linked.sections[id].resolved {
        let instruction = r.twin.r_offset.get() / INSTRUCTION;
        let at = records.partition_point(|x| x.first + x.count <= instruction);
        let Some(&(_, width)) = MERCURY_FIELDS.iter().find(|f| f.0 == r.kind) else {
            continue;
        };
        let record = records.get(at).filter(|x| x.first <= instruction);
        let Some(end) = record.and_then(|x| x.body_end) else { continue };
        if let Some(field) = end.checked_sub(4).and_then(|start| function.capsule.get_mut(start..start + width)) {
            field.copy_from_slice(r.value.to_le_bytes().get(..width).unwrap_or_default());
        }
    }
    if let Some(word) = function.capsule.first_chunk_mut::<4>() {
        *word = output.arranged.section_index(id).to_le_bytes();
    }
    if function.moved() {
        function.capsule = recounted(function).unwrap_or_else(|| function.capsule.clone());
    }
}

/// The capsule with the numbers of instructions of the new code. The last record represents the padding.
fn recounted(function: &Function) -> Option<Vec<u8>> {
    let capsule = Capsule::read(&function.capsule).ok()?;
    let list: Vec<Instruction<'_>> = capsule.instructions().map(|i| i.map(|i| i.1)).collect::<Result<_, _>>().ok()?;
    let mut first = 0;
    let mut bodies: Vec<([u8; 16], u16, Option<[u8; 4]>)> = Vec::with_capacity(list.len());
    let mut counts = Vec::with_capacity(list.len());
    for (i, instruction) in list.iter().enumerate() {
        let next = first + u64::from(instruction.sass_count()) * INSTRUCTION;
        let start = function.place(first);
        let end = if i + 1 == list.len() {
            function.code.len() as u64
        } else {
            function.place(next)
        };
        counts.push((end.saturating_sub(start) / INSTRUCTION) as u16);
        let last = function
            .code
            .get(end.saturating_sub(INSTRUCTION) as usize..)
            .and_then(|c| c.first_chunk());
        let last = last.map_or(0, |w| u128::from_le_bytes(*w));
        let operation = (last & 0xfff) as u16;
        let short = instruction.body().and_then(|body| waits::short_record(operation, body));
        bodies.push((exits::exit_body(last), operation, short));
        first = next;
    }
    let renewed: Vec<Instruction<'_>> = list
        .iter()
        .zip(counts)
        .zip(&bodies)
        .map(|((&old, count), (exit, operation, short))| match old {
            Instruction::Derived if count > 1 => Instruction::ExpandedFull {
                form: 0x51,
                count,
                body: exit,
            },
            Instruction::Full(body) if count > 1 => Instruction::ExpandedFull { form: 0x51, count, body },
            Instruction::ExpandedFull { body, .. } if count == 1 && (body == exit || waits::is_derived(*operation)) => Instruction::Derived,
            Instruction::ExpandedFull { body, .. } if count == 1 => short.as_ref().map_or(Instruction::Full(body), Instruction::Short),
            Instruction::ExpandedFull { form, body, .. } => Instruction::ExpandedFull { form, count, body },
            Instruction::Expanded { .. } => Instruction::Expanded { count },
            other => other,
        })
        .collect();
    let mut out = Vec::with_capacity(function.capsule.len());
    cubin::capmerc::write(capsule.text_section, capsule.tag, &renewed, &mut out).ok()?;
    Some(out)
}
