//! Function records of the output, and the literals of functions.

use crate::ids::{FunctionId, ObjectId, SectionId, SymbolId};

/// Merge state of a function.
#[derive(Debug, Clone, Default)]
pub struct OutFunction {
    /// Its text.
    pub text: Option<SectionId>,
    /// It is a second name of this function.
    pub alias_of: Option<FunctionId>,
    /// Its `.nv.info.F`.
    pub info: Option<SectionId>,
    /// Binding of the prevailing definition at this point of the merge.
    pub bind: u8,
    /// If it is dead: the records that were counted for its text, attributes, `.rel` and `.rela`.
    pub dead_sections_counted: [bool; 4],
    /// A taken definition had text relocations; `None` before the first.
    pub relocated: Option<bool>,
    /// Debug relocations from objects before this one were dropped.
    pub relocs_dropped_before: ObjectId,
    /// Its `.nv.shared.K`.
    pub shared: Option<SectionId>,
    /// Its parameter bank.
    pub parameters: Option<SectionId>,
    /// Barriers from the flags of a CUDA 12 text section.
    pub barriers: u32,
    /// Top byte of the text section's `sh_info`: registers up to sm_89.
    pub registers: u8,
    /// Its entry in the literal records of `Merged`.
    pub literal_index: Option<u32>,
    /// Its empty literal record in a kernel's bank, if it may count as a kernel.
    pub literal_record: Option<SectionId>,
    /// Its literal bank record.
    pub literals: Option<SectionId>,
    /// That record was made by a losing copy.
    pub literals_by_loser: Option<bool>,
    /// A literal bank record made by a losing copy and not reused by the winner.
    pub orphaned_literals: Option<SectionId>,
    /// Offset of its stub in `.nv.uft`.
    pub stub_offset: Option<u64>,
}

/// Literal bank of a device function, to be copied into the kernels that reach it.
#[derive(Debug, Clone)]
pub struct FunctionLiterals {
    /// Function.
    pub function: FunctionId,
    /// Bytes: the prevailing copy and the losers after it.
    pub bytes: Vec<u8>,
    /// Alignment.
    pub align: u64,
    /// Offset of the last losing piece.
    pub last_losing: Option<u64>,
    /// Bank number.
    pub bank: u32,
    /// Jump tables of all copies so far, replaced ones included: object, section there, offset.
    pub tables: Vec<(ObjectId, u32, u64)>,
    /// Ranges that jump table entries may be in: tables of the prevailing copy, one region per losing copy.
    pub regions: Vec<(u64, u64)>,
}

impl FunctionLiterals {
    /// Without literals.
    pub fn none(function: FunctionId) -> Self {
        FunctionLiterals {
            function,
            bytes: Vec::new(),
            align: 1,
            last_losing: None,
            bank: 0,
            tables: Vec::new(),
            regions: Vec::new(),
        }
    }
}

/// A relocation of a jump table that was copied into a kernel's bank.
#[derive(Debug, Clone, Copy)]
pub struct LiteralReloc {
    /// The kernel's bank.
    pub bank: SectionId,
    /// Offset in it.
    pub offset: u64,
    /// Type.
    pub kind: u32,
    /// Function.
    pub symbol: SymbolId,
    /// Offset in the function's Mercury code.
    pub addend: i64,
}
