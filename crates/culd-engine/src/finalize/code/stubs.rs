//! `.nv.uft` of a final link: the stubs of unified functions, finalized as one piece of code.
//!
//! 1. Each input's stub is a jump, a branch to itself and NOPs; what the compiler's finalizer padded it with is left out. In the order of their
//!    slots the stubs follow each other, each filled with NOPs to the size of a slot; the padding follows the last one, to the end of a slot.
//!    nvJitLink does not fill the slots.
//!    13.1 on: the stub of an object has no NOPs. The linker adds them, up to the size of a slot in the Mercury view; relocatable links do so, too
//!    ([`filled`]). Each stub has its padding, as NOPs. With debug symbols there is one padding after the last one, the compiler's.
//! 2. The capsule has the records of the stubs' instructions, one more for every NOP, and one for the padding.
//! 3. nvlink quirk: symbols of the SASS view are where the finalized code has the Mercury offsets of the slots, as if there were no NOPs. Each reaches to
//!    the next, the first and the last one to the end of the section.
//! 4. nvlink quirk: relocations of the Mercury view are at the start of their instruction, in code with the NOPs; symbols have the places without them.
//! 5. nvlink quirk: the unwinding entry of the first slot's stub is translated, its range ends with the next symbol; the
//!    others stay as they are in the Mercury view.

use crate::arrange::OutputPlan;
use crate::finalize::code::offsets::{INSTRUCTION, capsule_places};
use crate::ids::ObjectId;
use crate::records::Stub;
use crate::session::Link;
use cubin::capmerc::{Capsule, Instruction};

/// Control bits of an instruction, and those of code that is not scheduled: stall 15, wait for scoreboards 0 and 1.
const CONTROL: u128 = 0x1f << 105 | 0x3f << 116;
const UNSCHEDULED: u128 = 0xf << 105 | 3 << 116;
/// Size of a slot, in both views.
const SLOT: u64 = 128;
const NOP: u16 = 0x918;
/// The NOP that fills a stub: stall 1, yield.
const FILLER: [u8; 16] = 0x000f_e200_0000_0000_0000_0000_0000_7918_u128.to_le_bytes();

/// The table.
pub(crate) struct Stubs {
    /// By slot.
    slots: Vec<Slot>,
    /// SASS.
    pub(crate) code: Vec<u8>,
    /// Capsule; its first word is not set.
    pub(crate) capsule: Vec<u8>,
    /// Size in the Mercury view, with NOPs.
    pub(crate) mercury_size: u64,
}

/// A stub in its slot.
struct Slot {
    stub: Stub,
    /// Start of its code in the SASS view.
    code: u64,
    /// Place of its symbol in the SASS view.
    start: u64,
    /// Start in the Mercury view, with NOPs.
    mercury: u64,
    /// Starts of the Mercury instructions.
    instructions: Vec<u64>,
}

/// A stub of an input, filled with NOPs.
struct Input<'d> {
    /// SASS, without padding.
    code: Vec<u8>,
    padding: &'d [u8],
    /// Records of the capsule, without padding.
    records: Vec<Instruction<'d>>,
    /// Starts of the Mercury instructions.
    instructions: Vec<u64>,
}

/// Takes a stub apart; `None` if it is not what the compiler writes.
fn input<'d>(link: Link<'_, 'd>, object: ObjectId, section: u32) -> Option<Input<'d>> {
    let object = &link.inputs.objects[object];
    let sass = object.sass.get(section as usize)?.data;
    let capsule = Capsule::read(object.section(section)?.data).ok()?;
    let mut records: Vec<Instruction<'d>> = capsule.instructions().map(|i| i.map(|i| i.1)).collect::<Result<_, _>>().ok()?;
    let Some(Instruction::Expanded { .. }) = records.pop() else {
        return None;
    };
    let size = INSTRUCTION * records.iter().map(|r| u64::from(r.sass_count())).sum::<u64>();
    let (code, padding) = sass.split_at_checked(size as usize)?;
    let (places, mercury) = capsule_places(object, section)?;
    let mut instructions: Vec<u64> = places.into_keys().collect();
    instructions.truncate(records.len());
    let missing = SLOT.checked_sub(mercury).filter(|_| mercury > 0)?;
    if missing > 0 && !link.mode.rules.fills_stubs {
        return None;
    }
    let mut code = code.to_vec();
    for place in (mercury..SLOT).step_by(INSTRUCTION as usize) {
        code.extend_from_slice(&FILLER);
        records.push(Instruction::Derived);
        instructions.push(place);
    }
    let padding = padding.get(..(SLOT.checked_sub(code.len() as u64)?) as usize)?;
    let last = code.last_chunk::<16>()?;
    let is_nop = u16::from_le_bytes([last[0], last[1]]) & 0xfff == NOP;
    (is_nop && padding.len() as u64 >= INSTRUCTION && sass.len() as u64 == SLOT).then_some(Input {
        code,
        padding,
        records,
        instructions,
    })
}

/// Instructions of padding, as the capsule states them.
fn padding(size: usize) -> Instruction<'static> {
    Instruction::Expanded {
        count: (size as u64 / INSTRUCTION) as u16,
    }
}

/// Code and capsule of a stub of a relocatable link, where the linker fills stubs; `None` if it leaves the stub as it is. The first word of the
/// capsule is not set.
pub(crate) fn filled(link: Link<'_, '_>, object: ObjectId, section: u32) -> Option<(Vec<u8>, Vec<u8>)> {
    let stub = input(link, object, section).filter(|_| link.mode.rules.fills_stubs)?;
    let mut records = stub.records;
    records.push(padding(stub.padding.len()));
    let mut capsule = Vec::new();
    cubin::capmerc::write(0, cubin::capmerc::TAG, &records, &mut capsule).ok()?;
    Some(([&stub.code, stub.padding].concat(), capsule))
}

/// Makes the table; the name of the input file that has a stub which is not known otherwise.
pub(crate) fn table<'a>(output: &OutputPlan<'a, '_>) -> Result<Option<Stubs>, &'a str> {
    let mut stubs = output.layout.records.unified.stubs.clone();
    stubs.sort_by_key(|s| s.offset);
    let Some(first) = stubs.first() else { return Ok(None) };
    let file = |stub: &Stub| output.link.inputs.objects[stub.object].name;
    let (mut code, mut records, mut slots) = (Vec::new(), Vec::new(), Vec::new());
    let mut mercury = 0;
    // SASS offset of each Mercury instruction.
    let mut places: Vec<(u64, u64)> = Vec::new();
    let mut last: &[u8] = &[];
    let inputs: Vec<Input<'_>> = stubs
        .iter()
        .map(|s| input(output.link, s.object, s.section).ok_or_else(|| file(s)))
        .collect::<Result<_, _>>()?;
    let fills = output.link.mode.rules.fills_stubs;
    if fills && output.link.options.as_nvjitlink {
        // Its table was not compared.
        return Err(file(first));
    }
    let each_padded = fills && !output.link.mode.debug_symbols;
    for (stub, input) in stubs.iter().zip(&inputs) {
        let size = input.code.len() as u64;
        let nops = match output.link.options.as_nvjitlink || fills {
            true => 0,
            false => (SLOT - size) / INSTRUCTION,
        };
        let nop = input.code.last_chunk::<16>().ok_or_else(|| file(stub))?;
        let first = code.len() as u64;
        let added = (0..nops).map(|i| SLOT + i * INSTRUCTION);
        let starts = input
            .instructions
            .iter()
            .copied()
            .chain(added)
            .zip((first..).step_by(INSTRUCTION as usize));
        places.extend(starts.map(|(start, sass)| (mercury + start, sass)));
        code.extend_from_slice(&input.code);
        records.extend_from_slice(&input.records);
        for _ in 0..nops {
            code.extend_from_slice(nop);
            records.push(Instruction::Derived);
        }
        if each_padded {
            let filler = input.padding.last_chunk::<16>().ok_or_else(|| file(stub))?;
            code.extend(std::iter::repeat_n(filler, input.padding.len() / filler.len()).flatten());
            records.push(padding(input.padding.len()));
        }
        slots.push(Slot {
            stub: *stub,
            code: first,
            start: 0,
            mercury,
            instructions: input.instructions.clone(),
        });
        mercury += SLOT + nops * INSTRUCTION;
        last = input.padding;
    }
    for slot in &mut slots {
        let next = places.partition_point(|p| p.0 <= slot.stub.offset);
        slot.start = next.checked_sub(1).and_then(|i| places.get(i)).map_or(0, |p| p.1);
    }
    if !each_padded {
        let unpadded = code.len();
        code.extend_from_slice(last);
        let filler = last.last_chunk::<16>().ok_or_else(|| file(first))?;
        let end = (unpadded as u64 + INSTRUCTION).next_multiple_of(SLOT) as usize;
        code.truncate(end);
        while code.len() < end {
            code.extend_from_slice(filler);
        }
        records.push(padding(end - unpadded));
    }
    let mut capsule = Vec::new();
    cubin::capmerc::write(0, cubin::capmerc::TAG, &records, &mut capsule).map_err(|_| file(first))?;
    Ok(Some(Stubs {
        slots,
        code,
        capsule,
        mercury_size: mercury,
    }))
}

/// The code of stubs as a link with debug symbols leaves it: the finalizer has no options for them. `count`: instructions without padding.
/// `waits`: in the form of releases up to 13.2.
pub(crate) fn unschedule(code: &mut [u8], count: usize, waits: bool) {
    let control = if waits { UNSCHEDULED } else { 0 };
    for word in code.as_chunks_mut::<16>().0.iter_mut().take(count) {
        *word = (u128::from_le_bytes(*word) & !CONTROL | control).to_le_bytes();
    }
}

/// Instructions that the capsule of a stub has, without padding.
pub(crate) fn instructions(capsule: &[u8]) -> usize {
    Capsule::read(capsule).map_or(0, |c| {
        let counts = c.instructions().flatten().filter(|i| !matches!(i.1, Instruction::Expanded { .. }));
        counts.map(|i| i.1.sass_count() as usize).sum()
    })
}

impl Stubs {
    /// The stub in the first slot.
    pub(crate) fn first(&self) -> Option<&Stub> {
        self.slots.first().map(|s| &s.stub)
    }

    /// Place and size of a stub's symbol in the SASS view, by the offset of its slot.
    pub(crate) fn symbol(&self, offset: u64) -> (u64, u64) {
        let at = (offset / SLOT) as usize;
        let end = self.code.len() as u64;
        let start = self.slots.get(at).map_or(offset, |s| s.start);
        let next = self.slots.get(at + 1).filter(|_| at > 0).map_or(end, |s| s.start);
        (start, next.saturating_sub(start))
    }

    /// Range of the first slot's unwinding entry.
    pub(crate) fn first_range(&self) -> u64 {
        self.slots.get(1).map_or(self.code.len() as u64, |s| s.start)
    }

    /// SASS offset of a relocation, from its Mercury offset and from its offset in the input's stub.
    pub(crate) fn sass_place(&self, mercury: u64, sass: u64) -> u64 {
        let slot = self.slots.get((mercury / SLOT) as usize);
        slot.map_or(mercury / SLOT * SLOT, |s| s.code) + sass
    }

    /// Mercury offset of a relocation in the finalized code.
    pub(crate) fn mercury_place(&self, offset: u64) -> u64 {
        let Some(slot) = self.slots.get((offset / SLOT) as usize) else {
            return offset;
        };
        let within = offset % SLOT;
        let instruction = slot.instructions.partition_point(|&start| start <= within);
        let start = instruction.checked_sub(1).and_then(|i| slot.instructions.get(i));
        slot.mercury + start.copied().unwrap_or(within)
    }
}
