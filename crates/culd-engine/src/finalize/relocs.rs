//! Relocations of the SASS view.
//!
//! Code: the parallel entries of the inputs at their new offsets, without reserved shared memory. Jump tables: none, their
//! section stays with size 0. Data: the Mercury entries with the types of [`DATA_TYPES`], but for places in code, which are resolved ([`jump`]). Debug
//! sections write their own.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::{Function, opcode_at};
use crate::finalize::code::functions::Functions;
use crate::finalize::code::jump;
use crate::finalize::code::offsets::{INSTRUCTION, mercury_places};
use crate::finalize::linked::{Kept, Linked, is_reserved, symbol_number};
use crate::finalize::sass::Sass;
use crate::ids::SectionId;
use crate::records::Class;
use cubin::raw::Rela;
use cubin::reloc::{MERCURY_CODE_ADDRESSES, unified_replacement};
use culd_sass::decode::opcode::WARPSYNC_COLLECTIVE;
use zerocopy::IntoBytes;

/// SASS types of Mercury types in data.
const DATA_TYPES: [(u32, u32); 12] = [
    (0x1_0001, 4),
    (0x1_0002, 2),
    (0x1_0003, 1),
    (0x1_0005, 70),
    (0x1_0006, 71),
    (0x1_0008, 1),
    (0x1_000b, 6),
    (0x1_000c, 101),
    (0x1_000d, 52),
    (0x1_000f, 35),
    (0x1_0032, 102),
    (0x1_003d, 2),
];

/// First byte-wise Mercury and SASS types: plain, generic address, function descriptor.
const BYTE_TYPES: [(u32, u32); 3] = [(0x1_0010, 76), (0x1_0018, 84), (0x1_0020, 92)];

/// SASS type of a Mercury type in data.
pub(crate) fn sass_type(kind: u32) -> u32 {
    if let Some(&(_, sass)) = DATA_TYPES.iter().find(|t| t.0 == kind) {
        return sass;
    }
    let bytes = BYTE_TYPES.iter().find(|t| (t.0..t.0 + 8).contains(&kind));
    bytes.map_or(kind, |t| t.1 + kind - t.0)
}

/// An entry with the symbol's number in the output.
pub(crate) fn relocation(output: &OutputPlan<'_, '_>, kept: &Kept, offset: u64, kind: u32, addend: i64) -> Rela {
    Rela {
        r_offset: offset.into(),
        r_type: kind.into(),
        r_sym: symbol_number(output, kept.named).into(),
        r_addend: addend.into(),
    }
}

/// Writes the relocation sections of code, jump tables and data.
pub(crate) fn write(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, sass: &mut Sass) {
    let made = output
        .link
        .threads
        .map(&output.arranged.sections, |&id| of_section(output, linked, code, id));
    for (id, bytes) in made.into_iter().flatten().flatten() {
        sass.put(id, bytes);
    }
}

/// A relocation section and its contents.
type List = Option<(SectionId, Vec<u8>)>;

fn list(id: Option<SectionId>, entries: &[Rela]) -> List {
    Some((id?, entries.as_bytes().to_vec()))
}

/// The relocation sections that a section has, or that it is.
fn of_section(output: &OutputPlan<'_, '_>, linked: &Linked, code: &Functions<'_, '_>, id: SectionId) -> [List; 2] {
    let section = &output.layout.records.sections[id];
    let kept = &linked.sections[id].kept;
    let entries: Vec<Rela> = match section.class {
        Class::Text(_) | Class::Stub(_) | Class::Uft => match code.of(id) {
            Some(function) => of_code(output, code, id, function, kept),
            None => return [None, None],
        },
        Class::ResolvedRela(target) => {
            let entries = resolved(output, code.of(target), &linked.sections[id].listed);
            return [list(Some(id), &entries), None];
        }
        Class::Literals => Vec::new(),
        Class::Debug(_) => return [None, None],
        Class::Parameters => {
            let base = code.sources.slot_base;
            let in_bank = |list: &[Kept]| -> Vec<Rela> {
                let entry = |k: &Kept| relocation(output, k, base + k.offset, sass_type(k.kind), k.addend);
                list.iter().map(entry).collect()
            };
            // Relocations of the texture slots that the link laid out come after the bank.
            let slots = list(section.slot_relocs, &in_bank(&linked.sections[id].slots));
            return [slots, list(section.companions[1], &in_bank(kept))];
        }
        _ if kept.is_empty() => return [None, None],
        _ => kept
            .iter()
            .filter(|k| jump::place_in_code(output, code, k).is_none())
            .map(|k| relocation(output, k, k.offset, sass_type(k.kind), k.addend))
            .collect(),
    };
    [list(section.companions[1], &entries), None]
}

/// Relocations of code.
fn of_code(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>, id: SectionId, function: &Function, kept: &[Kept]) -> Vec<Rela> {
    let relocatable = output.link.mode.relocatable;
    let entry = |k: &Kept| {
        let twin = k.twin?;
        let kind = twin.r_type.get();
        let kind = if relocatable || output.layout.records.unified.active {
            kind
        } else {
            unified_replacement(kind).unwrap_or(kind)
        };
        // An address in code is an addend that moves with the code.
        let addend = twin.r_addend.get();
        let addend = match (MERCURY_CODE_ADDRESSES.contains(&k.kind), u64::try_from(addend)) {
            (true, Ok(offset)) => function.place(offset) as i64,
            _ => addend,
        };
        let offset = match code.stubs_in(output, id) {
            Some(stubs) => stubs.sass_place(k.offset, twin.r_offset.get()),
            None => function.place(twin.r_offset.get()),
        };
        Some(relocation(output, k, offset, kind, addend))
    };
    let kept = kept.iter().filter(|k| relocatable || !is_reserved(output, k.named));
    kept.filter_map(entry).collect()
}

/// SASS types of a resolved address that is at the place of some other instruction: one that moves, any other.
const R_CUDA_ABS32_32: u32 = 55;
const R_CUDA_ABS24_40: u32 = 74;
const R_MERCURY_ABS32: u32 = 0x1_0003;

/// The list of resolved relocations of a function. Entries of other functions are listed where the same Mercury place is in this one.
fn resolved(output: &OutputPlan<'_, '_>, function: Option<&Function>, listed: &[Kept]) -> Vec<Rela> {
    let places = || mercury_places(output.link.inputs.objects.get(function?.object)?, function?.section);
    let places = listed.iter().any(|k| k.twin.is_none()).then(places).flatten().unwrap_or_default();
    let moves = if places.is_empty() {
        Vec::new()
    } else {
        function.map_or(Vec::new(), Function::moves)
    };
    let place = |offset: u64| function.map_or(offset, |f| f.place(offset));
    let entry = |k: &Kept| match k.twin {
        Some(twin) => Some(relocation(
            output,
            k,
            place(twin.r_offset.get()),
            twin.r_type.get(),
            twin.r_addend.get(),
        )),
        None if k.kind == R_MERCURY_ABS32 => {
            let (_, sass) = places.range(..=k.offset).next_back()?;
            // Of a collective it is the instruction inside.
            let sass = if begins_collective(output, function?, *sass) {
                sass + INSTRUCTION
            } else {
                *sass
            };
            let is_move = moves.binary_search(&sass).is_ok();
            let kind = if is_move { R_CUDA_ABS32_32 } else { R_CUDA_ABS24_40 };
            let offset = place(sass);
            Some(relocation(output, k, offset, kind, k.addend))
        }
        None => None,
    };
    listed.iter().filter_map(entry).collect()
}

/// Is there a `WARPSYNC` of a collective at an offset of the input's code?
fn begins_collective(output: &OutputPlan<'_, '_>, function: &Function, at: u64) -> bool {
    let object = output.link.inputs.objects.get(function.object);
    let sass = object.and_then(|o| o.sass.get(function.section as usize));
    sass.is_some_and(|s| opcode_at(s.data, at) == Some(WARPSYNC_COLLECTIVE))
}
