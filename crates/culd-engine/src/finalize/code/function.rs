//! A function of the output, and where the places of its input are now.
//!
//! 1. Instructions that are deleted move what follows ([`OffsetMap`]), then fences before `EXIT` do ([`Moves`]).
//! 2. A label is before the fences of an `EXIT`, the instruction itself after them.

use crate::finalize::code::exits::Moves;
use crate::finalize::code::offsets::INSTRUCTION;
use crate::ids::{FunctionId, ObjectId};
use cubin::capmerc::{Capsule, Instruction};
use culd_sass::OffsetMap;
use culd_sass::decode::opcode;

/// Mercury's move, and what it is in SASS where no record says it: `MOV`, `UMOV`, `R2UR`.
const MOVE: u8 = 0x0b;
const MOVES: [u16; 6] = [0x202, 0x802, 0xc02, 0x882, 0xc82, 0x2ca];

/// A function of the output.
pub(crate) struct Function {
    /// Function.
    pub(crate) function: FunctionId,
    /// Object that it is taken from.
    pub(crate) object: ObjectId,
    /// Its code section there.
    pub(crate) section: u32,
    /// SASS.
    pub(crate) code: Vec<u8>,
    /// Capsule.
    pub(crate) capsule: Vec<u8>,
    pub(super) changes: Changes,
}

/// How the code differs from the input's.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) map: Option<OffsetMap>,
    pub(super) moves: Option<Moves>,
    /// Why the linker's code may be another.
    pub(super) doubt: Option<String>,
}

impl Function {
    fn rewritten_place(&self, offset: u64) -> Option<u32> {
        let offset = u32::try_from(offset).ok()?;
        Some(self.changes.map.as_ref().map_or(offset, |m| m.new_offset(offset)))
    }
    /// New offset of a label of the input: before the fences of an `EXIT`.
    pub(crate) fn place(&self, offset: u64) -> u64 {
        let Some(new) = self.rewritten_place(offset) else { return offset };
        self.changes.moves.as_ref().map_or(new, |m| m.label(new)).into()
    }
    /// New offset of an instruction of the input: after the fences of an `EXIT`.
    pub(crate) fn place_instruction(&self, offset: u64) -> u64 {
        let Some(new) = self.rewritten_place(offset) else { return offset };
        self.changes.moves.as_ref().map_or(new, |m| m.instruction(new)).into()
    }
    /// New offset of the `WARPSYNC` before a `NOP` that an older compiler put after it, and that went: attributes that name the `NOP` name the `WARPSYNC` then.
    pub(crate) fn before_pause(&self, offset: u64) -> Option<u64> {
        let before = offset.checked_sub(INSTRUCTION).filter(|_| self.is_deleted(offset))?;
        let at = self.place_instruction(before);
        let is_warpsync = |op: u16| matches!(op, opcode::WARPSYNC | opcode::WARPSYNC_COLLECTIVE);
        opcode_at(&self.code, at).is_some_and(is_warpsync).then_some(at)
    }
    /// Is an instruction of the input not in the output?
    pub(crate) fn is_deleted(&self, offset: u64) -> bool {
        let deleted = self.changes.map.as_ref().map_or(&[][..], |m| m.deleted());
        u32::try_from(offset).is_ok_and(|offset| deleted.binary_search(&offset).is_ok())
    }
    /// Offsets, in the input, of the instructions that move a value into a register.
    pub(crate) fn moves(&self) -> Vec<u64> {
        let Ok(capsule) = Capsule::read(&self.capsule) else {
            return Vec::new();
        };
        let mut first = 0;
        let mut moves = Vec::new();
        for (_, instruction) in capsule.instructions().flatten() {
            let is_move = match instruction {
                Instruction::Derived => self.opcode(first * INSTRUCTION).is_some_and(|op| MOVES.contains(&op)),
                Instruction::Full([_, MOVE, ..]) | Instruction::Short([_, MOVE, ..]) => true,
                _ => false,
            };
            if is_move {
                moves.push(first * INSTRUCTION);
            }
            first += u64::from(instruction.sass_count());
        }
        moves
    }
    /// Opcode of the instruction that was at an offset of the input.
    fn opcode(&self, offset: u64) -> Option<u16> {
        opcode_at(&self.code, self.place_instruction(offset))
    }
    /// True if instructions moved.
    pub(crate) fn moved(&self) -> bool {
        self.changes.moves.is_some() || self.changes.map.as_ref().is_some_and(|m| !m.deleted().is_empty())
    }
}

/// Opcode of the instruction at an offset.
pub(crate) fn opcode_at(code: &[u8], offset: u64) -> Option<u16> {
    let low = code.get(usize::try_from(offset).ok()?..)?.first_chunk()?;
    Some(u16::from_le_bytes(*low) & 0xfff)
}
