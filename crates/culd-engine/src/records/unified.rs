//! Records of the tables of unified functions and data.

use crate::diagnostics::Code;
use crate::ids::{FunctionId, ObjectId, SectionId, SymbolId, SymbolRef};

/// A unified table entry of an input.
#[derive(Debug, Clone, Copy)]
pub struct UnifiedEntry {
    /// Symbol.
    pub symbol: SymbolRef,
    /// Flags.
    pub flags: u32,
    /// Offset in the table.
    pub offset: u64,
    /// First half of the unique id.
    pub id: (u64, u64),
}

/// A variable of `.nv.udt`.
#[derive(Debug, Clone, Copy)]
pub struct UnifiedVar {
    /// Symbol of the input.
    pub symbol: SymbolRef,
    /// Symbol of the output.
    pub out: SymbolId,
}

/// Unified tables.
#[derive(Debug, Default)]
pub struct Unified {
    /// The link has an index file or (relocatable) inputs with tables.
    pub active: bool,
    /// Some input has `.nv.uft.entry`.
    pub has_functions: bool,
    /// Function entries in merge order.
    pub functions: Vec<UnifiedEntry>,
    /// Data entries in merge order.
    pub data: Vec<UnifiedEntry>,
    /// Variables of `.nv.udt`.
    pub variables: Vec<UnifiedVar>,
    /// First stub symbol.
    pub first_stub: Option<SymbolId>,
    /// Stubs of `.nv.uft` in merge order.
    pub stubs: Vec<Stub>,
    /// `.nv.uidx` of the index file that was given.
    pub index: Option<SectionId>,
    /// The index file does not match, or is missing. Reported after the messages about stacks; it ends the link.
    pub problem: Option<Code>,
}

/// The stub of a unified function in `.nv.uft`.
#[derive(Debug, Clone, Copy)]
pub struct Stub {
    /// The stub, a function of its own.
    pub function: FunctionId,
    /// Object that it is taken from.
    pub object: ObjectId,
    /// Its section there.
    pub section: u32,
    /// Offset in the table.
    pub offset: u64,
}
