//! The link map: what every part of the output came from, and what did not get there.
//!
//! Output sections in file order, each with its pieces by offset and its symbols; variables in shared memory; what was dropped, in link
//! order. Names are those of the files; inputs are named as in messages, `archive:member` for members.

#[cfg(feature = "serde")]
use serde::Serialize;

/// Location of every input section and symbol in the output.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct LinkMap {
    /// Output sections in file order.
    pub sections: Vec<MapSection>,
    /// Static variables in shared memory that got space.
    pub shared: Vec<MapShared>,
    /// What was left out, in link order.
    pub dropped: Vec<Dropped>,
}

/// An output section.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct MapSection {
    /// Name.
    pub name: String,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes, in memory for sections without bytes in the file.
    pub size: u64,
    /// Alignment.
    pub align: u64,
    /// What it is made of, by offset. Sections that the linker writes itself have none.
    pub pieces: Vec<MapPiece>,
    /// Functions and variables in it, by offset.
    pub symbols: Vec<MapSymbol>,
}

/// A part of an output section.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct MapPiece {
    /// Offset in the section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Input, or `archive:member`.
    pub input: String,
    /// Section of the input.
    pub section: String,
}

/// A symbol of an output section.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct MapSymbol {
    /// Name.
    pub name: String,
    /// Offset in the section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The input that defines it, or `archive:member`; the linker's own symbols have none.
    pub input: Option<String>,
    /// Kind of the symbol.
    pub kind: SymbolKind,
}

/// Kind of a symbol in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize), serde(rename_all = "snake_case"))]
pub enum SymbolKind {
    /// A kernel.
    Kernel,
    /// A function.
    Function,
    /// A variable, or anything else.
    Variable,
}

/// A variable in shared memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct MapShared {
    /// Name.
    pub name: String,
    /// Offset in shared memory, after what the system reserves there.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The first input that mentions it.
    pub input: String,
    /// The kernel it belongs to; others may be used by several kernels.
    pub kernel: Option<String>,
}

/// Something that did not get into the output.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize))]
pub struct Dropped {
    /// Function, variable or section.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Input, or `archive:member`.
    pub input: String,
    /// Reason.
    pub why: DropReason,
}

/// Reason why something was dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(Serialize), serde(rename_all = "snake_case"))]
pub enum DropReason {
    /// No kernel reaches it.
    Unreached,
    /// A kernel that host code does not launch, or that `--kernels-used` does not name.
    NotUsed,
    /// Another definition won: the one in this input.
    OtherCopy(String),
    /// The same bytes were already there.
    Merged,
    /// No symbol is defined in it.
    Unnamed,
    /// Its contents have no meaning for a linked file.
    Ignored,
    /// A reference to this function in code that no kernel reaches, or an address that no call through a pointer uses.
    AddressUnused(String),
}
