//! The records of the output: sections, symbols and functions. `merge` appends to them, `layout` completes them, later phases read them.
//!
//! nvlink keeps append-only lists whose order decides the order of the output; a record that is not emitted in the end still owns its
//! name in the string tables.

mod build;
mod function;
mod section;
mod symbol;
mod unified;

pub(crate) use build::{IMAGE_HEADERS, kernel_shared_record, reloc_record, resolved_prefix};
pub use function::*;
pub use section::*;
pub use symbol::*;
pub use unified::*;

use crate::ids::{FunctionId, SectionId, SectionRef, SharedId, SymbolId, SymbolRef, Table};
use crate::mode::Mode;
use crate::names::{Name, SeededState};
use hashbrown::{HashMap, HashSet};

/// Were relocations that had been read already dropped again?
#[derive(Debug, Clone, Copy, Default)]
pub struct DroppedRelocs {
    /// Some [`OutFunction::relocs_dropped_before`] is set.
    pub debug: bool,
    /// Some [`OutSymbol::constant_relocs_dropped_before`] is set.
    pub constants: bool,
}

/// Everything that merging the inputs makes.
#[derive(Debug)]
pub struct Merged<'d> {
    /// Section records in order of creation.
    pub sections: Table<SectionId, OutSection<'d>>,
    /// Functions with a text section, in section order.
    pub texts: Vec<FunctionId>,
    /// Records of shared and constant memory, in order: the few records that layout is about.
    pub memory: Vec<SectionId>,
    /// `-r`: symbols that represent the size of user constants, ascending.
    pub constant_sizes: Vec<SymbolId>,
    /// Symbol records.
    pub symbols: Table<SymbolId, OutSymbol<'d>>,
    /// Order of the symbols.
    pub order: SymbolOrder,
    /// Every name that a record had when it was made.
    pub created: CreatedNames<'d>,
    /// Merge state of the functions.
    pub functions: Table<FunctionId, OutFunction>,
    /// The functions' symbols. Every reference to a function reads them, in random order, so they are in a small table.
    pub symbol_of: Table<FunctionId, Option<SymbolId>>,
    /// Some function is a second name of another.
    pub has_aliases: bool,
    /// Places of the symbols and sections of the inputs.
    pub placement: Placement,
    /// Shared memory.
    pub shared: SharedRecords<'d>,
    /// Literals of device functions.
    pub literals: LiteralRecords,
    /// What is only recorded to give the same bytes as nvlink.
    pub quirks: Quirks,
    /// Relocations in order of arrival.
    pub relocs: Vec<RelocRef>,
    /// The textures, samplers and surfaces that prevailing definitions refer to, dead or not.
    pub images_used: ImageKinds,
    /// Records of `.nv.uft.entry` and `.nv.udt.entry`.
    pub unified: Unified,
    /// Sections with fixed roles.
    pub standard: StandardSections,
    /// Number of objects that were merged in runs of plain objects.
    #[cfg(test)]
    pub(crate) in_runs: usize,
}

/// The symbol lists of the output.
#[derive(Debug, Default)]
pub struct SymbolOrder {
    /// Local part of the symbol list.
    pub locals: Vec<SymbolTableEntry>,
    /// Global part.
    pub globals: Vec<SymbolId>,
}

/// Names in the order in which nvlink makes records of them, for releases whose string tables keep all of them; empty for others.
#[derive(Debug, Default)]
pub struct CreatedNames<'d> {
    /// Names of sections.
    pub sections: Vec<Name<'d>>,
    /// Names of symbols and of section symbols.
    pub symbols: Vec<Name<'d>>,
}

impl<'d> CreatedNames<'d> {
    /// A section is made.
    pub(crate) fn section(&mut self, mode: Mode, name: Name<'d>) {
        if mode.rules.keeps_dead_names {
            self.sections.push(name);
        }
    }
    /// A symbol is made.
    pub(crate) fn symbol(&mut self, mode: Mode, name: Name<'d>) {
        if mode.rules.keeps_dead_names {
            self.symbols.push(name);
        }
    }
    /// A section and its symbol are made, and dropped again.
    pub(crate) fn dropped_section(&mut self, mode: Mode, name: Name<'d>) {
        self.section(mode, name);
        self.symbol(mode, name);
    }
}

/// Where symbols and sections of the inputs are in the output.
#[derive(Debug)]
pub struct Placement {
    /// Places of the inputs' symbols.
    pub symbols: Table<SymbolRef, Place>,
    /// Output section and offset of each input section.
    pub sections: Table<SectionRef, Option<(SectionId, u64)>>,
}

/// Shared memory as the inputs declare it.
#[derive(Debug)]
pub struct SharedRecords<'d> {
    /// Shared variables.
    pub variables: Table<SharedId, SharedVar<'d>>,
    /// Module-scope shared variables in order of definition (dynamic: of first mention).
    pub module: Vec<SharedId>,
    /// Own shared variables of kernels in order of appearance.
    pub of_kernels: Vec<(FunctionId, SharedId)>,
    /// A dynamic shared variable was declared.
    pub has_dynamic: bool,
    /// Shared memory that a compiler laid out (`-ewp`), in order of appearance.
    pub whole: Vec<WholeShared>,
    /// Relocatable output: alignment of the last section of module variables that a compiler laid out.
    pub module_whole: Option<u64>,
    /// Those of them that an earlier relocatable link summed up: other memory may precede them.
    pub summed: HashSet<FunctionId, SeededState>,
    /// Kernels whose dynamic memory an earlier relocatable link with a debugger placed: where it starts. Under nvlink's name there are none.
    pub placed: Vec<(FunctionId, u64)>,
    /// Relocatable output: largest alignment of a module-scope shared variable.
    pub module_align: u64,
}

/// Shared memory of a kernel that a compiler laid out.
#[derive(Debug, Clone, Copy)]
pub struct WholeShared {
    /// The kernel.
    pub kernel: FunctionId,
    /// Size in bytes.
    pub size: u64,
    /// Alignment of the section; 1 for a variable.
    pub align: u64,
    /// A variable of the section (debug information keeps them) and its offset, instead of the section.
    pub variable: Option<(SharedId, u64)>,
}

/// Literals of device functions.
#[derive(Debug, Default)]
pub struct LiteralRecords {
    /// Literal banks of device functions in order of creation.
    pub banks: Vec<FunctionLiterals>,
    /// `--preserve-relocs`: symbols of the functions' literals, in order of the inputs' symbols.
    pub symbols: HashMap<FunctionId, Vec<(SymbolRef, SymbolId)>, SeededState>,
}

/// What is only recorded to give the same bytes as nvlink.
#[derive(Debug, Default)]
pub struct Quirks {
    /// Weak variables that lost: symbols of inputs, sorted.
    pub overridden: Vec<SymbolRef>,
    /// Those of them that lost against a weak definition.
    pub overridden_by_weak: Vec<SymbolRef>,
    /// Records that nvlink makes for dead functions and drops again.
    pub dead_section_count: u32,
    /// Whether relocations were dropped when a definition was replaced.
    pub dropped_relocs: DroppedRelocs,
    /// Symbols without a name have the first name after the prototypes: an empty prototype, that of a kernel whose address is taken, came before them.
    pub unnamed_have_first_name: bool,
}
