//! One 128-bit instruction: opcode, guard, registers, scoreboard control fields, branch target.
//!
//! 1. Split the code into 16-byte little-endian words; a tail shorter than 16 bytes is an error.
//! 2. Opcode = bits 0..12, guard = bits 12..16, control fields = bits 105..126 (see [`Control`]).
//! 3. Look the opcode up in the table, take the first form whose modifier bits match, and collect the registers its operand fields
//!    name. No opcode or no form: the instruction is kept, with [`Insn::unknown`] saying why its registers are not known.
//! 4. Direct branches carry their target relative to the next instruction.

mod operand;
mod table;

use crate::reg::{Reg, RegFile, RegSet};
use operand::{Access, Form};

/// Size of an instruction in bytes.
pub const INSN_BYTES: usize = 16;

/// Value of a scoreboard field that names no scoreboard.
pub const NO_SCOREBOARD: u8 = 7;

/// Number of scoreboards of a warp.
pub const SCOREBOARDS: u8 = 6;

/// The opcodes that the model distinguishes by behaviour.
pub mod opcode {
    /// `NOP`.
    pub const NOP: u16 = 0x918;
    /// `BRA`.
    pub const BRA: u16 = 0x947;
    /// `BRA.U`, condition in a uniform predicate.
    pub const BRA_U: u16 = 0x547;
    /// `BRX`, indirect branch through a register.
    pub const BRX: u16 = 0x949;
    /// `BRXU`, indirect branch through a uniform register.
    pub const BRXU: u16 = 0x958;
    /// `BSSY`, names a convergence point.
    pub const BSSY: u16 = 0x945;
    /// `BSYNC`, waits at a convergence point.
    pub const BSYNC: u16 = 0x941;
    /// `BREAK`, leaves a convergence point.
    pub const BREAK: u16 = 0x942;
    /// `EXIT`.
    pub const EXIT: u16 = 0x94d;
    /// `RET`.
    pub const RET: u16 = 0x950;
    /// `WARPSYNC` of all threads, or of a mask that is a constant.
    pub const WARPSYNC: u16 = 0x948;
    /// `ENDCOLLECTIVE`, after the instruction of a collective.
    pub const END_COLLECTIVE: u16 = 0x91b;
    /// `WARPSYNC.COLLECTIVE` and `.EXCLUSIVE`.
    pub const WARPSYNC_COLLECTIVE: u16 = 0x348;
    /// The forms of `CALL`.
    pub const CALLS: [u16; 4] = [0x343, 0x344, 0x943, 0x944];
    /// `MEMBAR`.
    pub const MEMBAR: u16 = 0x992;
    /// The forms of `SUST` and `SURED`.
    pub const SURFACE_WRITES: [u16; 3] = [0xf9b, 0xf9d, 0xf9f];
}

/// The scoreboard and issue fields of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// Issue stall in cycles (bits 105..109).
    pub stall: u8,
    /// Scoreboard released when the results are written (bits 110..113), 7 = none.
    pub write: u8,
    /// Scoreboard released when the operands have been read (bits 113..116), 7 = none.
    pub read: u8,
    /// Scoreboards this instruction waits for (bits 116..122).
    pub wait: u8,
    /// The warp keeps its turn after this instruction (bit 109).
    pub stays: bool,
    /// Operands that are kept for the next instruction (bits 122..126).
    pub reuse: u8,
}

impl Control {
    fn of(raw: u128) -> Self {
        Self {
            stall: bits8(raw, 105, 4),
            write: bits8(raw, 110, 3),
            read: bits8(raw, 113, 3),
            wait: bits8(raw, 116, 6),
            stays: raw >> 109 & 1 == 1,
            reuse: bits8(raw, 122, 4),
        }
    }

    /// The instruction word with these fields.
    #[must_use]
    pub fn put(self, raw: u128) -> u128 {
        let scoreboards = u128::from(self.write & 7) | u128::from(self.read & 7) << 3 | u128::from(self.wait & 63) << 6;
        let issue = u128::from(self.stall & 15) | u128::from(self.stays) << 4;
        raw & !(0x1f_ffff << 105) | issue << 105 | scoreboards << 110 | u128::from(self.reuse & 15) << 122
    }
}

/// The predicate that switches an instruction on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Predicate or uniform predicate.
    pub file: RegFile,
    /// Its number; 7 = the constant "true".
    pub index: u8,
    /// Execute when the predicate is false.
    pub negated: bool,
}

impl Guard {
    /// The two guards can never both hold, as long as the predicate keeps its value.
    #[must_use]
    pub fn excludes(self, other: Self) -> bool {
        self.file == other.file && self.index == other.index && self.negated != other.negated
    }

    /// `@!PT`: the instruction is never executed.
    #[must_use]
    pub fn never(self) -> bool {
        self.index == 7 && self.negated
    }
}

/// Why the registers of an instruction are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The opcode is not in the table.
    Opcode,
    /// The opcode is known, this combination of modifier bits is not.
    Form,
}

/// A decoded instruction.
#[derive(Debug, Clone)]
pub struct Insn {
    /// Offset in the function.
    pub offset: u32,
    /// The 128 bits.
    pub raw: u128,
    /// Bits 0..12.
    pub op: u16,
    /// Mnemonic without modifiers, `"?"` when the opcode is unknown.
    pub name: &'static str,
    /// The guard, if it is not the constant "true".
    pub guard: Option<Guard>,
    /// Registers written.
    pub defs: RegSet,
    /// Registers read, the guard included.
    pub uses: RegSet,
    /// Scoreboard fields.
    pub control: Control,
    /// Target of a direct branch or of a `BSSY`.
    pub target: Option<u32>,
    /// Set when the registers above are not reliable.
    pub unknown: Option<Unknown>,
}

impl Insn {
    /// The `width` (at most 8) bits from bit `low` up.
    #[must_use]
    pub fn bits(&self, low: u32, width: u32) -> u8 {
        bits8(self.raw, low, width)
    }

    /// Registers read or written.
    #[must_use]
    pub fn touched(&self) -> RegSet {
        self.defs.union(&self.uses)
    }

    /// May the value of a guard's predicate change? `R2P` and `UR2UP` write the predicates that a mask selects, which the table of forms does not list.
    #[must_use]
    pub fn changes(&self, guard: Guard) -> bool {
        let predicate = Reg {
            file: guard.file,
            index: guard.index,
        };
        self.defs.contains(predicate) || matches!((self.name, guard.file), ("R2P", RegFile::P) | ("UR2UP", RegFile::Up))
    }

    /// Predicates that arrive when the operands have been read: those of a generic atomic, and of one that returns nothing else.
    #[must_use]
    pub fn early_results(&self) -> RegSet {
        let alone = self.control.write == NO_SCOREBOARD && self.defs.general().is_empty();
        if self.control.read != NO_SCOREBOARD && (alone || self.name == "ATOM") {
            self.defs.minus(&self.defs.without_predicates())
        } else {
            RegSet::EMPTY
        }
    }

    /// Neither guarded nor conditional in any way the fields show.
    #[must_use]
    pub fn unguarded(&self) -> bool {
        self.guard.is_none()
    }
}

fn bits8(raw: u128, low: u32, width: u32) -> u8 {
    let value = raw.checked_shr(low).unwrap_or(0) & ((1 << width.min(8)) - 1);
    u8::try_from(value).unwrap_or(u8::MAX)
}

/// Number of opcodes: they have 12 bits.
const OPCODES: usize = 1 << 12;

/// Where the forms of each opcode start in the table.
static STARTS: [u16; OPCODES + 1] = starts();

const fn starts() -> [u16; OPCODES + 1] {
    let mut starts = [0; OPCODES + 1];
    let (mut op, mut at) = (0, 0);
    while op <= OPCODES {
        while at < table::FORMS.len() && (table::FORMS[at].code as usize) < op {
            at += 1;
        }
        starts[op] = at as u16;
        op += 1;
    }
    starts
}

/// The forms of an opcode.
fn forms(op: u16) -> &'static [Form] {
    let start = |op: usize| STARTS.get(op).map_or(0, |&at| usize::from(at));
    let op = usize::from(op);
    table::FORMS.get(start(op)..start(op + 1)).unwrap_or_default()
}

/// The form that applies to an instruction word.
fn find(forms: &'static [Form], raw: u128) -> Result<&'static Form, Unknown> {
    let modifiers = (raw >> 40) as u64;
    let unknown = if forms.is_empty() { Unknown::Opcode } else { Unknown::Form };
    forms.iter().find(|form| modifiers & form.mask == form.value).ok_or(unknown)
}

/// Decodes one instruction at `offset`.
#[must_use]
pub fn decode(raw: u128, offset: u32) -> Insn {
    let op = (raw & 0xfff) as u16;
    let mut insn = Insn {
        offset,
        raw,
        op,
        name: "?",
        guard: None,
        defs: RegSet::EMPTY,
        uses: RegSet::EMPTY,
        control: Control::of(raw),
        target: branch_target(raw, op, offset),
        unknown: None,
    };
    let mut guard_file = RegFile::P;
    let forms = forms(op);
    match find(forms, raw) {
        Err(unknown) => {
            insn.unknown = Some(unknown);
            insn.name = forms.first().map_or("?", |form| form.name);
        }
        Ok(form) => {
            insn.name = form.name;
            for operand in form.operands {
                if operand.bit == 12 {
                    guard_file = operand.file;
                }
                collect(&mut insn, operand);
            }
        }
    }
    if matches!(op, opcode::BRX | opcode::BRXU) && base(raw, offset) == Base::Other {
        insn.unknown = Some(Unknown::Form);
    }
    if insn.name == "LDGSTS" {
        // nvdisasm lists the condition of the copy as a result too; it is only read, and at issue.
        insn.defs = RegSet::EMPTY;
    }
    let (index, negated) = (bits8(raw, 12, 3), raw >> 15 & 1 == 1);
    if index != 7 || negated {
        insn.guard = Some(Guard {
            file: guard_file,
            index,
            negated,
        });
    }
    if index != 7 {
        insn.uses.insert(Reg { file: guard_file, index });
    }
    insn
}

/// Bits below these decide everything but scheduling.
const SCHEDULING: u32 = 105;

/// Decodes an instruction, with the registers of another one that has the same bits apart from those for scheduling.
pub(crate) fn decode_like(raw: u128, offset: u32, like: &Insn) -> Insn {
    if (raw ^ like.raw) << (128 - SCHEDULING) != 0 {
        return decode(raw, offset);
    }
    Insn {
        offset,
        raw,
        control: Control::of(raw),
        target: branch_target(raw, like.op, offset),
        ..like.clone()
    }
}

fn collect(insn: &mut Insn, operand: &operand::Operand) {
    let Some(first) = operand.field(insn.raw) else {
        return;
    };
    let registers = match operand.access {
        Access::Def => &mut insn.defs,
        Access::Use => &mut insn.uses,
    };
    registers.insert_range(
        Reg {
            file: operand.file,
            index: first,
        },
        operand.registers(insn.raw),
    );
}

/// The 56-bit signed displacement of the BRA family, in units of 4 bytes: low 8 bits at 16, the rest at 34.
#[must_use]
pub fn displacement(raw: u128) -> i64 {
    let low = (raw >> 16 & 0xff) as u64;
    let high = (raw >> 34 & 0xffff_ffff_ffff) as u64;
    ((low | high << 8) << 8).cast_signed() >> 8
}

fn branch_target(raw: u128, op: u16, offset: u32) -> Option<u32> {
    let next = i64::from(offset) + 16;
    let target = match op {
        opcode::BRA | opcode::BRA_U => next.checked_add(displacement(raw).checked_mul(4)?)?,
        opcode::WARPSYNC_COLLECTIVE => match displacement(raw) {
            0 => return None,
            d => next.checked_add(d.checked_mul(4)?)?,
        },
        // A displacement to where the threads continue; not where the field may be a mask.
        opcode::WARPSYNC if raw >> 24 & 0xff_ffff_ffff == 0 && raw >> 16 & 0xff != 0 => next + 4 * i64::from((raw >> 16) as u8),
        opcode::BSSY => next + i64::from(((raw >> 32) as u32).cast_signed()),
        _ => return None,
    };
    // Out of range stays visible: a target that is not an instruction makes the model unsure.
    Some(u32::try_from(target).unwrap_or(u32::MAX))
}

/// From where the targets of an indirect branch count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    /// The start of the function: the displacement undoes the own offset.
    Function,
    /// The next instruction: a table of branches follows.
    Next,
    /// No compiler writes this.
    Other,
}

fn base(raw: u128, offset: u32) -> Base {
    match displacement(raw).checked_mul(4) {
        Some(0) => Base::Next,
        Some(bytes) if bytes == -i64::from(offset) - INSN_BYTES as i64 => Base::Function,
        _ => Base::Other,
    }
}

/// Re-encodes a branch that is now at `offset` and branches to `target`, which is ignored for indirect branches.
#[must_use]
pub fn retarget(insn: &Insn, offset: u32, target: Option<u32>) -> u128 {
    let next = i64::from(offset) + 16;
    let bytes = match (insn.op, target) {
        (opcode::BRX | opcode::BRXU, _) if base(insn.raw, insn.offset) == Base::Function => -next,
        (opcode::BRX | opcode::BRXU, _) | (_, None) => return insn.raw,
        (_, Some(target)) => i64::from(target) - next,
    };
    match insn.op {
        opcode::BSSY => insn.raw & !(0xffff_ffff << 32) | u128::from(bytes as u32) << 32,
        opcode::BRA | opcode::BRA_U | opcode::BRX | opcode::BRXU | opcode::WARPSYNC | opcode::WARPSYNC_COLLECTIVE => {
            with_displacement(insn.raw, bytes / 4)
        }
        _ => insn.raw,
    }
}

/// An instruction of the BRA family with another displacement, in units of 4 bytes.
#[must_use]
pub fn with_displacement(raw: u128, displacement: i64) -> u128 {
    let units = u128::from(displacement.cast_unsigned() & 0xff_ffff_ffff_ffff);
    raw & !(0xff << 16 | 0xffff_ffff_ffff << 34) | (units & 0xff) << 16 | (units >> 8) << 34
}

/// Decodes a whole function; `None` when the length is not a multiple of 16 or does not fit in 32 bits.
#[must_use]
pub fn decode_all(code: &[u8]) -> Option<Vec<Insn>> {
    u32::try_from(code.len()).ok()?;
    let (words, rest) = code.as_chunks::<INSN_BYTES>();
    rest.is_empty().then(|| {
        let offsets = (0u32..).step_by(INSN_BYTES);
        words
            .iter()
            .zip(offsets)
            .map(|(word, offset)| decode(u128::from_le_bytes(*word), offset))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_forms_are_consistent() {
        assert!(table::FORMS.is_sorted_by(|a, b| (a.code, a.name) <= (b.code, b.name)));
        for (i, a) in table::FORMS.iter().enumerate() {
            assert_eq!(a.value & !a.mask, 0, "{} {:03x}", a.name, a.code);
            for b in table::FORMS.iter().skip(i + 1).take_while(|b| b.code == a.code) {
                let both = a.mask & b.mask;
                assert_ne!(a.value & both, b.value & both, "{} {:03x}: two forms overlap", a.name, a.code);
            }
        }
    }

    #[test]
    fn r2p_changes_every_predicate() {
        // R2P PR, R5, 0x7f
        let insn = decode(0x0000_007f_0500_7804, 0);
        assert_eq!((insn.name, insn.unknown), ("R2P", None));
        let guard = |file, index| Guard {
            file,
            index,
            negated: false,
        };
        assert!((0..7).all(|index| insn.changes(guard(RegFile::P, index))));
        assert!(!insn.changes(guard(RegFile::Up, 0)));
        // UR2UP UPR, UR79.B3
        let insn = decode(0x000f_d600_0800_3000_0000_00ff_4f00_7884, 0);
        assert_eq!((insn.name, insn.unknown), ("UR2UP", None));
        assert!((0..7).all(|index| insn.changes(guard(RegFile::Up, index))));
        assert!(!insn.changes(guard(RegFile::P, 0)));
    }

    #[test]
    fn a_load_reads_its_descriptor_and_address() {
        // LDG.E R2, desc[UR4][R2.64]
        let raw = 0x000e_a200_0c1e_1900_0000_0004_0202_7981_u128;
        let insn = decode(raw, 0);
        assert_eq!(insn.name, "LDG");
        assert_eq!(format!("{:?}", insn.defs), "{R2}");
        assert_eq!(format!("{:?}", insn.uses), "{R2, R3, UR4, UR5}");
    }

    /// Mnemonic, results and operands of an instruction.
    fn assert_registers(raw: u128, name: &str, registers: (&str, &str)) {
        let insn = decode(raw, 0);
        assert_eq!((insn.name, insn.unknown), (name, None), "{raw:x}");
        let (defs, uses) = (format!("{:?}", insn.defs), format!("{:?}", insn.uses));
        assert_eq!((defs.as_str(), uses.as_str()), registers, "{raw:x}");
    }

    #[test]
    fn forms_of_one_opcode_differ() {
        for (raw, name, defs, uses) in [
            // REDG.E.ADD.64.STRONG.SM desc[UR4][R4.64], R6
            (
                0x000f_e200_0c12_a504_0000_0006_0400_798e_u128,
                "REDG",
                "{}",
                "{R4, R5, R6, R7, UR4, UR5}",
            ),
            // ATOMS.CAS.64 R4, [R11], R4, R6
            (
                0x000f_e200_0000_0406_0000_0004_0b04_738d,
                "ATOMS",
                "{R4, R5}",
                "{R4, R5, R6, R7, R11}",
            ),
            // FMUL2 R4, R4.F32x2.HI_LO, R6.F32x2.HI_LO: the opcode of UVIMNMX too
            (0x000f_e200_0000_0000_0000_0006_0404_724a, "FMUL2", "{R4, R5}", "{R4, R5, R6, R7}"),
            // ISETP.GE.OR P0, PT, R14, UR6, P0
            (0x000f_e200_0870_6670_0000_0006_0e00_7c0c, "ISETP", "{P0}", "{R14, UR6, P0}"),
            // QMMA.SF.16832.F32.E2M3.E5M2.E8 R4, R4, R2, R8, R0, R13, UR4: one field is in two places
            (
                0x000f_e200_0008_8008_40d0_0002_0404_747a,
                "QMMA",
                "{R4, R5, R6, R7}",
                "{R0, R2, R3, R4, R5, R6, R7, R8, R9, R10, R11, R13, UR4}",
            ),
        ] {
            assert_registers(raw, name, (defs, uses));
        }
    }

    #[test]
    fn operands_may_be_uniform_or_constant() {
        for (raw, name, defs, uses) in [
            // VIMNMX3 R126, R126, UR40, R9, PT
            (
                0x000f_e200_0b80_0109_0000_0028_7e7e_7c0f_u128,
                "VIMNMX3",
                "{R126}",
                "{R9, R126, UR40}",
            ),
            // VIMNMX3 R3, R4, 0x80, R3, PT
            (0x000f_e200_0380_0103_0000_0080_0403_780f, "VIMNMX3", "{R3}", "{R3, R4}"),
            // FFMA2.FTZ R18, R16.F32x2.HI_LO, R10.F32, -0.25
            (0x000f_c800_0121_000a_be80_0000_1012_7449, "FFMA2", "{R18, R19}", "{R10, R16, R17}"),
            // UTMALDG.2D.GATHER4 [UR8], [UR24]
            (
                0x000f_e400_0810_8000_0000_0008_1800_75b4,
                "UTMALDG",
                "{}",
                "{UR8, UR9, UR10, UR11, UR12, UR13, UR14, UR24, UR25}",
            ),
            // STTM.x8 tmem[UR9+0x10], R4
            (
                0x000f_e200_081c_0009_0000_1004_0000_79ed,
                "STTM",
                "{}",
                "{R4, R5, R6, R7, R8, R9, R10, R11, UR9}",
            ),
        ] {
            assert_registers(raw, name, (defs, uses));
        }
    }

    #[test]
    fn textures_say_what_they_read_and_write() {
        for (raw, defs, uses) in [
            // TEX RZ, R3, R2, UR4, 1D, 0x2
            (0x001f_6400_081e_02ff_00ff_04ff_0203_7f60_u128, "{R3}", "{R2, UR4, UR5}"),
            // TEX.LL R20, R18, R8, R15, UR4, 3D, 0x7
            (
                0x001f_6400_089e_0714_48ff_040f_0812_7f60,
                "{R18, R19, R20}",
                "{R8, R9, R10, R15, UR4, UR5}",
            ),
            // TLD.LZ R22, R20, R7, UR4, 1D
            (0x000f_6200_081e_0f16_00ff_04ff_0714_7f66, "{R20, R21, R22, R23}", "{R7, UR4, UR5}"),
            // TXD RZ, R6, R4, R8, UR4, 2D, 0x8
            (
                0x000f_e200_081e_08ff_20ff_0408_0406_7f6c,
                "{R6}",
                "{R4, R5, R8, R9, R10, R11, UR4, UR5}",
            ),
            // TLD4.R RZ, R28, R4, UR4, ARRAY_2D, 0x6
            (0x000f_6200_081e_06ff_a0ff_04ff_041c_7f63, "{R28, R29}", "{R4, R5, R6, UR4, UR5}"),
        ] {
            let insn = decode(raw, 0);
            assert_eq!(insn.unknown, None, "{raw:x}");
            assert_eq!(
                (format!("{:?}", insn.defs), format!("{:?}", insn.uses)),
                (defs.to_owned(), uses.to_owned()),
                "{raw:x}"
            );
        }
    }

    #[test]
    fn branches_survive_re_encoding() {
        // BRA to itself.
        let insn = decode(0x000f_c000_0383_ffff_ffff_fffc_00fc_7947, 0x140);
        assert_eq!(insn.target, Some(0x140));
        let moved = decode(retarget(&insn, 0x80, Some(0x20)), 0x80);
        assert_eq!(moved.target, Some(0x20));
        assert_eq!(retarget(&moved, 0x140, Some(0x140)), insn.raw);
    }

    #[test]
    fn indirect_branches_keep_the_place_that_their_targets_count_from() {
        let brx = 0x000f_ea00_0383_ffff_0000_0000_0400_7949;
        let at = |offset: i64, base: i64| with_displacement(brx, (base - offset - INSN_BYTES as i64) / 4);
        // From the start of the function: the displacement undoes the own offset.
        let tables = decode(at(0x150, 0), 0x150);
        assert_eq!(tables.unknown, None);
        assert_eq!(retarget(&tables, 0x1a0, None), at(0x1a0, 0));
        // A list of branches follows: it moves with the instruction.
        let list = decode(at(0x150, 0x160), 0x150);
        assert_eq!(list.unknown, None);
        assert_eq!(retarget(&list, 0x1a0, None), list.raw);
        assert_eq!(decode(at(0x150, 0x80), 0x150).unknown, Some(Unknown::Form));
    }

    #[test]
    fn odd_lengths_are_refused() {
        assert!(decode_all(&[0; 17]).is_none());
        assert_eq!(decode_all(&[0; 32]).map(|v| v.len()), Some(2));
    }
}
