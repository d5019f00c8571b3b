//! Symbol records of the output, and shared variables, which only become symbols for a debugger.

use crate::ids::{FunctionId, NameId, ObjectId, SectionId, SharedId, SymbolId};
use cubin::consts::*;

/// Form in which a symbol record is emitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolEmission {
    /// A symbol with its name.
    Emit,
    /// Its name in the string table, no symbol. Relocations against it are dropped.
    NameOnly,
    /// No symbol and no name, but relocations are resolved against it.
    Hidden,
    /// No symbol and no name, and relocations against it are dropped: its section is not emitted.
    Withdrawn,
    /// A common symbol, with its name.
    Common,
}

impl SymbolEmission {
    /// Relocations against it are resolved or kept.
    pub fn has_target(self) -> bool {
        matches!(self, SymbolEmission::Emit | SymbolEmission::Common | SymbolEmission::Hidden)
    }
    /// Its name is in the string table.
    pub fn has_name(self) -> bool {
        matches!(self, SymbolEmission::Emit | SymbolEmission::Common | SymbolEmission::NameOnly)
    }
}

/// A symbol record of the output.
#[derive(Debug, Clone)]
pub struct OutSymbol<'d> {
    /// Name.
    pub name: &'d [u8],
    /// The name among those of all inputs' symbols; nothing for a symbol that the linker makes.
    pub name_id: Option<NameId>,
    /// 0 local, 1 global, 2 weak.
    pub bind: u8,
    /// Type.
    pub kind: u8,
    /// `st_other`.
    pub other: u8,
    /// `st_other` of a variable in the inputs: of its first mention, then of its definition. The Mercury view keeps it.
    pub input_other: u8,
    /// Number of a literal among its object's: the Mercury view names it after its section and this.
    pub literal_number: u32,
    /// Memory space bits of the variable, `NO_SPACE` for others.
    pub space: u8,
    /// Managed variable.
    pub managed: bool,
    /// Form in which it is emitted.
    pub emission: SymbolEmission,
    /// Only weak undefined mentions so far.
    pub weak_reference: bool,
    /// Dynamic shared variable of a relocatable output.
    pub dynamic: bool,
    /// Defined here.
    pub section: Option<SectionId>,
    /// Value.
    pub value: u64,
    /// Size.
    pub size: u64,
    /// First file that mentions it.
    pub first_mention: ObjectId,
    /// Function it represents.
    pub function: Option<FunctionId>,
    /// Shared variable it represents (`-g`, `--preserve-relocs`).
    pub shared: Option<SharedId>,
    /// Relocations in constant banks from objects before this one were dropped (a strong definition replaced a weak one).
    pub constant_relocs_dropped_before: ObjectId,
}

/// Memory space of symbols that are not variables.
pub const NO_SPACE: u8 = 0xff;

/// An entry of the output's symbol table: what its list of local symbols has, and what a relocation names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolTableEntry {
    /// The section symbol of a section.
    Section(SectionId),
    /// A symbol record.
    Symbol(SymbolId),
}

/// Place of a symbol of an input in the output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Nothing; functions are looked up by function.
    #[default]
    Nothing,
    /// A symbol of the output.
    Symbol(SymbolId),
    /// A shared variable.
    Shared(SharedId),
    /// A literal of a function.
    Literal(FunctionId),
}

/// Which of textures, samplers and surfaces something refers to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageKinds(u8);

impl ImageKinds {
    /// All three.
    pub const ALL: Self = Self(7);

    /// Those among the symbols of some relocations.
    pub fn of(kinds: impl IntoIterator<Item = u8>) -> Self {
        let bit = |kind: u8| match kind {
            STT_CUDA_TEXTURE..=STT_CUDA_SURFACE => 1 << (kind - STT_CUDA_TEXTURE),
            _ => 0,
        };
        Self(kinds.into_iter().fold(0, |all, kind| all | bit(kind)))
    }
    /// Takes over those of `other`.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
    /// None of them.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The kind of which a kernel that uses these has no slots: samplers next to textures alone, textures next to samplers alone.
    pub fn left_out(self) -> Option<u8> {
        [(STT_CUDA_TEXTURE, STT_CUDA_SAMPLER), (STT_CUDA_SAMPLER, STT_CUDA_TEXTURE)]
            .into_iter()
            .find(|(alone, _)| self == Self::of([*alone]))
            .map(|(_, left_out)| left_out)
    }
}

/// A variable in shared memory.
#[derive(Debug, Clone)]
pub struct SharedVar<'d> {
    /// Name.
    pub name: &'d [u8],
    /// Alignment of the definition.
    pub align: u64,
    /// Size of the definition.
    pub size: u64,
    /// First size other than 0 that was mentioned.
    pub mentioned: u64,
    /// Defined somewhere.
    pub defined: bool,
    /// Binding of the definition.
    pub bind: u8,
    /// First file.
    pub first_mention: ObjectId,
    /// An extern declaration with a size came before any definition.
    pub wanted: bool,
    /// In the list of module variables.
    pub listed: bool,
    /// Kernel that it belongs to.
    pub kernel: Option<FunctionId>,
    /// Its symbol (`-g`, `--preserve-relocs`).
    pub symbol: Option<SymbolId>,
    /// The symbol has taken size and binding from a definition.
    pub symbol_defined: bool,
    /// Referred to by dead code of a prevailing definition.
    pub dead_reference: bool,
    /// Number of global symbols when it was first mentioned.
    pub position: usize,
}

impl SharedVar<'_> {
    /// Dynamic: no size anywhere.
    pub fn is_dynamic(&self) -> bool {
        self.kernel.is_none() && self.size == 0 && self.mentioned == 0
    }
}
