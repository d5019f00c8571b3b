//! Which instructions finish at an unknown time (facts only, for the hazard checker).
//!
//! An instruction that is not listed has a fixed latency: the compiler separates it from its consumers by stall counts, and no
//! scoreboard is involved. A listed instruction
//! * writes its results late (`result`): nothing may touch them before a wait;
//! * reads its operands late (`operands`): nothing may overwrite them before a wait.
//!
//! Uniform registers are read late only by instructions that work on descriptors in them.

use crate::decode::{Insn, decode_all};

/// Operands that are still being read after the instruction was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateOperands {
    /// None: all operands are read at issue.
    None,
    /// General registers.
    General,
    /// General and uniform registers.
    All,
}

/// Architectures on which a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum On {
    Every,
    /// All but sm_100, which has full-rate double precision with a fixed latency.
    NotSm100,
    /// Only sm_103.
    Sm103,
}

/// Instructions of one queue return their results in issue order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// No order is relied on.
    Unordered,
    /// Shared memory, exchanges between lanes, transposes of matrices in registers.
    Shared,
    /// Global memory.
    Global,
    /// Special functions, conversions, bit counts.
    Convert,
    /// Textures and surfaces.
    Texture,
    /// Double precision.
    Double,
    /// Tensor memory.
    Tensor,
    /// Products of matrices.
    Matrix,
    /// Special registers.
    Special,
}

impl Queue {
    /// Results arrive in issue order: the last of a group is enough to wait for.
    #[must_use]
    pub fn results_in_order(self) -> bool {
        matches!(
            self,
            Self::Shared | Self::Convert | Self::Texture | Self::Double | Self::Matrix | Self::Special
        )
    }

    /// Operands of an instruction of this queue are read before those of a later instruction of `later`.
    #[must_use]
    pub fn operands_before(self, later: Self) -> bool {
        match (self, later) {
            (Self::Unordered, _) => false,
            // One unit reads the operands of both kinds of memory instructions.
            (Self::Global | Self::Shared, Self::Global | Self::Shared) => true,
            _ => self == later,
        }
    }
}

/// Timing of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Results arrive late.
    pub result: bool,
    /// Which operands are read late.
    pub operands: LateOperands,
    /// Ordering among its kind.
    pub queue: Queue,
}

/// Everything at issue or after a fixed number of cycles.
const FIXED: Timing = Timing {
    result: false,
    operands: LateOperands::None,
    queue: Queue::Unordered,
};

struct Row(&'static str, On, bool, LateOperands, Queue);

use LateOperands::{All, General, None};
use On::{Every, NotSm100, Sm103};
use Queue::{Convert, Double, Global, Matrix, Shared, Special, Tensor, Texture, Unordered};

/// Sorted by mnemonic.
const ROWS: &[Row] = &[
    Row("ATOM", Every, true, General, Global),
    Row("ATOMG", Every, true, General, Global),
    Row("ATOMS", Every, true, General, Shared),
    Row("B2R", Every, true, None, Unordered),
    Row("BREV", Every, true, General, Convert),
    Row("DADD", NotSm100, true, General, Double),
    Row("DFMA", NotSm100, true, General, Double),
    Row("DMMA", Every, true, General, Double),
    Row("DMUL", NotSm100, true, General, Double),
    Row("DSETP", NotSm100, true, General, Double),
    Row("F2F", Every, true, General, Convert),
    Row("F2I", Every, true, General, Convert),
    Row("FCHK", Every, true, General, Convert),
    Row("FLO", Every, true, General, Convert),
    Row("FRND", Every, true, General, Convert),
    Row("I2F", Every, true, General, Convert),
    Row("IMMA", Sm103, true, General, Matrix),
    Row("LD", Every, true, General, Global),
    Row("LDC", Every, true, General, Unordered),
    Row("LDCU", Every, true, None, Unordered),
    Row("LDG", Every, true, General, Global),
    Row("LDGMC", Every, true, General, Global),
    Row("LDGSTS", Every, false, General, Global),
    Row("LDL", Every, true, General, Global),
    Row("LDS", Every, true, General, Shared),
    Row("LDSM", Every, true, General, Shared),
    Row("LDTM", Every, true, None, Tensor),
    Row("MATCH", Every, true, General, Unordered),
    Row("MOVM", Every, true, General, Shared),
    Row("MUFU", Every, true, General, Convert),
    Row("POPC", Every, true, General, Convert),
    Row("QSPC", Every, true, General, Unordered),
    Row("REDAS", Every, false, General, Unordered),
    Row("REDG", Every, false, General, Global),
    Row("REDUX", Every, true, General, Unordered),
    Row("S2R", Every, true, None, Special),
    Row("S2UR", Every, true, None, Special),
    Row("SHFL", Every, true, General, Shared),
    Row("ST", Every, false, General, Global),
    Row("STAS", Every, false, General, Unordered),
    Row("STG", Every, false, General, Global),
    Row("STL", Every, false, General, Global),
    Row("STS", Every, false, General, Shared),
    Row("STSM", Every, false, General, Shared),
    Row("STTM", Every, false, General, Tensor),
    Row("SULD", Every, true, All, Texture),
    Row("SURED", Every, false, All, Texture),
    Row("SUST", Every, false, All, Texture),
    Row("SYNCS", Every, true, General, Unordered),
    Row("TEX", Every, true, All, Texture),
    Row("TLD", Every, true, All, Texture),
    Row("TLD4", Every, true, All, Texture),
    Row("TXD", Every, true, All, Texture),
    Row("TXQ", Every, true, General, Texture),
    Row("UBLKCP", Every, false, All, Unordered),
    Row("UBLKPF", Every, false, All, Unordered),
    Row("UBLKRED", Every, false, All, Unordered),
    Row("UMEMSETS", Every, false, All, Unordered),
    Row("UREDGR", Every, false, All, Unordered),
    Row("USTGR", Every, false, All, Unordered),
    Row("UTCATOMSWS", Every, true, All, Unordered),
    Row("UTCBAR", Every, false, All, Unordered),
    Row("UTCCP", Every, false, All, Unordered),
    Row("UTCHMMA", Every, false, All, Unordered),
    Row("UTCIMMA", Every, false, All, Unordered),
    Row("UTCOMMA", Every, false, All, Unordered),
    Row("UTCQMMA", Every, false, All, Unordered),
    Row("UTMACCTL", Every, false, All, Unordered),
    Row("UTMALDG", Every, false, All, Unordered),
    Row("UTMAPF", Every, false, All, Unordered),
    Row("UTMAREDG", Every, false, All, Unordered),
    Row("UTMASTG", Every, false, All, Unordered),
];

/// Rows with a name of a length, a bit for each length, by first and last letter: most instructions have none.
static LENGTHS: [u32; LETTERS] = lengths();
const LETTERS: usize = 1 << 10;

const fn lengths() -> [u32; LETTERS] {
    let mut lengths = [0; LETTERS];
    let mut row = 0;
    while row < ROWS.len() {
        let name = ROWS[row].0.as_bytes();
        lengths[letters(name[0], name[name.len() - 1])] |= 1 << (name.len() % 32);
        row += 1;
    }
    lengths
}

const fn letters(first: u8, last: u8) -> usize {
    first as usize % 32 * 32 + last as usize % 32
}

/// May there be a row for a name?
fn may_have_row(name: &str) -> bool {
    let (Some(first), Some(last)) = (name.as_bytes().first(), name.as_bytes().last()) else {
        return false;
    };
    LENGTHS
        .get(letters(*first, *last))
        .is_some_and(|lengths| lengths >> (name.len() % 32) & 1 == 1)
}

/// The timing of an instruction on an architecture.
#[must_use]
pub fn timing(insn: &Insn, arch: u32) -> Timing {
    let row = || ROWS.binary_search_by_key(&insn.name, |row| row.0).ok().and_then(|i| ROWS.get(i));
    match may_have_row(insn.name).then(row).flatten() {
        Some(Row(_, on, result, operands, queue)) if holds(*on, arch) => Timing {
            result: *result,
            operands: *operands,
            queue: *queue,
        },
        _ => FIXED,
    }
}

/// Are all instructions of some code known, with the same timing on two architectures?
#[must_use]
pub fn same_timing(code: &[u8], arch: u32, other: u32) -> bool {
    let same = |insn: &Insn| insn.unknown.is_none() && timing(insn, arch) == timing(insn, other);
    decode_all(code).is_some_and(|insns| insns.iter().all(same) && ((arch, other) != (100, 103) || !waits_for_converter(&insns)))
}

/// Cycles for which a conversion or special function occupies its unit on sm_100.
const CONVERTER: u32 = 8;

/// Does some instruction wait for the unit of conversions and special functions, longer than on sm_103? There bit counts have another unit,
/// and powers of two take half of the time.
fn waits_for_converter(insns: &[Insn]) -> bool {
    let is_power = |insn: &Insn| insn.name == "MUFU" && insn.bits(74, 4) == 2;
    let is_count = |insn: &Insn| insn.name == "POPC";
    let mut last: Option<(&Insn, u32)> = Option::None;
    for insn in insns {
        if timing(insn, 100).queue == Queue::Convert {
            if last.is_some_and(|(before, cycles)| cycles <= CONVERTER && (is_power(before) || is_count(before) || is_count(insn))) {
                return true;
            }
            last = Some((insn, 0));
        }
        last = last.map(|(before, cycles)| (before, cycles + u32::from(insn.control.stall)));
    }
    false
}

fn holds(on: On, arch: u32) -> bool {
    match on {
        Every => true,
        NotSm100 => arch != 100,
        Sm103 => arch == 103,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn double_precision_is_slower_from_sm_103_on() {
        // DFMA R4, R4, UR4, R6 and MOV R0, 0x1
        let dfma: u128 = 0x000f_e200_0800_0006_0000_0004_0404_7c2b;
        let mov: u128 = 0x000f_e200_0000_0f00_0000_0001_0000_7802;
        assert!(same_timing(&mov.to_le_bytes(), 100, 103));
        assert!(same_timing(&dfma.to_le_bytes(), 103, 110));
        assert!(!same_timing(&dfma.to_le_bytes(), 100, 103));
    }

    #[test]
    fn bit_counts_do_not_wait_for_conversions_on_sm_103() {
        // FLO.U32 R8, UR5; CS2R R6, SRZ with a stall of 7 or 8; POPC R0, UR5
        let (flo, popc): (u128, u128) = (0x000e_2200_080e_0000_0000_0005_0008_7d00, 0x000e_e200_0800_0000_0000_0005_0000_7d09);
        let zero = |stall: u128| 0x000f_ce00_0001_ff00_0000_0000_0006_7805 & !(0xf << 105) | stall << 105;
        let code = |stall| [flo, zero(stall), popc].iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        assert!(!same_timing(&code(7), 100, 103));
        assert!(same_timing(&code(8), 100, 103));
        assert!(same_timing(&code(7), 103, 103));
    }
}
