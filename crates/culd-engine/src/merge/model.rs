//! The records that merging appends to: sections, local symbols, global symbols, and what hangs on them.
//!
//! nvlink keeps append-only lists whose order decides the order of the output; a record that is not emitted in the end still owns its
//! name in the string tables.

use crate::diagnostics::Code;
use crate::ids::{FunctionId, NameId, ObjectId, SectionId, SectionRef, SharedId, SymbolId, SymbolRef, Table};
use crate::names::{Name, State};
use cubin::consts::*;
use hashbrown::HashMap;

/// What a section of the output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `.shstrtab`.
    SectionNames,
    /// `.strtab`.
    Strings,
    /// `.symtab`.
    Symbols,
    /// `.symtab_shndx`.
    ExtendedIndices,
    /// `.note.nv.tkinfo`.
    ToolNote,
    /// `.note.nv.cuinfo`.
    CudaNote,
    /// `.nv.info`.
    Info,
    /// `.nv.compat`.
    Compat,
    /// `.nv.info.F`.
    FunctionInfo(FunctionId),
    /// `.text.F`.
    Text(FunctionId),
    /// `.nv.shared.K`.
    KernelShared,
    /// `.nv_debug.shared`.
    ModuleShared,
    /// `.nv.shared.reserved.*`.
    ReservedShared,
    /// `.nv.constant0.K`.
    Parameters,
    /// `.nv.constant2.F`.
    Literals,
    /// `.nv.constant3` and other module banks.
    Constant(u32),
    /// `.nv.global`.
    Global,
    /// `.nv.global.init`.
    GlobalInit,
    /// `.debug_*`, `.nv_debug_*`.
    Debug(DebugKind),
    /// `.rel.X` of a section.
    Rel(SectionId),
    /// `.rela.X` of a section.
    Rela(SectionId),
    /// `.nv.resolvedrela.X` of a section.
    ResolvedRela(SectionId),
    /// `.nv.callgraph`.
    Callgraph,
    /// `.nv.prototype`.
    Prototype,
    /// `.nv.rel.action`.
    RelAction,
    /// `.nv.uft`: stubs of unified functions at their places.
    Uft,
    /// `.nv.uft.rel.F` of a relocatable output.
    Stub(FunctionId),
    /// `.nv.info..nv.uft`.
    UftInfo,
    /// `.nv.uft.entry`.
    UftEntry,
    /// `.nv.udt`.
    Udt,
    /// `.nv.udt.entry`.
    UdtEntry,
    /// `.nv.uidx`.
    Uidx,
    /// `.nv.host`: a file that the linker only hands on.
    HostData,
    /// Bytes that the linker has no rule for.
    PassedThrough,
}

/// Debug sections with rules of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DebugKind {
    /// `.debug_frame`, `.debug_line`, `.nv_debug_line_sass`: relocations against lost definitions go.
    Code,
    /// All others.
    Other,
}

/// One input section inside an output section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Object.
    pub object: ObjectId,
    /// Section index there.
    pub section: u32,
    /// Offset in the output section.
    pub base: u64,
}

/// Pieces of a section. Most have one, so that it lies in the record, and an id says which of the two it is.
#[derive(Debug, Clone)]
pub enum Pieces {
    /// One.
    One(Piece),
    /// None or several, ascending.
    #[allow(clippy::box_collection, reason = "few records have several, and there are many records")]
    Others(Option<Box<Vec<Piece>>>),
}

impl Pieces {
    /// None.
    pub const EMPTY: Pieces = Pieces::Others(None);

    /// Adds a piece.
    pub fn push(&mut self, piece: Piece) {
        match self {
            Pieces::Others(None) => *self = Pieces::One(piece),
            Pieces::One(first) => *self = Pieces::Others(Some(Box::new(vec![*first, piece]))),
            Pieces::Others(Some(all)) => all.push(piece),
        }
    }
    /// As a slice.
    pub fn as_slice(&self) -> &[Piece] {
        match self {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Others(all) => all.as_deref().map_or(&[], Vec::as_slice),
        }
    }
}

impl From<Vec<Piece>> for Pieces {
    fn from(pieces: Vec<Piece>) -> Self {
        Pieces::Others(Some(Box::new(pieces)))
    }
}

/// A section record of the output.
#[derive(Debug, Clone)]
pub struct OutSection<'d> {
    /// Name.
    pub name: Name<'d>,
    /// nvlink's own number of the record, those of dead functions counted.
    pub number: u32,
    /// What it is.
    pub class: Class,
    /// Type, in the form of relocatable files.
    pub sh_type: u32,
    /// Flags.
    pub flags: u64,
    /// Alignment.
    pub align: u64,
    /// Entry size.
    pub entsize: u8,
    /// Size so far.
    pub size: u64,
    /// Input sections in it.
    pub pieces: Pieces,
    /// Bytes that were computed; they replace the pieces.
    #[allow(clippy::box_collection, reason = "few records have any, and there are many records")]
    pub bytes: Option<Box<Vec<u8>>>,
    /// Section whose index goes to `sh_info`.
    pub owner: Option<SectionId>,
    /// Companion `.rel.X`, `.rela.X`, `.nv.resolvedrela.X`.
    pub companions: [Option<SectionId>; 3],
    /// The companion that was made first is `.rela`.
    pub rela_first: Option<bool>,
    /// The record was withdrawn: no section, no name.
    pub withdrawn: bool,
    /// Not emitted, but its name stays.
    pub hidden: bool,
    /// An empty shared section that is emitted gets no section symbol.
    pub no_symbol: bool,
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
    /// Goes into the symbol table.
    pub keep: bool,
    /// Withdrawn: no symbol, no name.
    pub withdrawn: bool,
    /// Relocations are resolved against it, but it has no symbol and no name.
    pub hidden: bool,
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
    pub first: ObjectId,
    /// Function it stands for.
    pub function: Option<FunctionId>,
    /// Shared variable it stands for (`-g`, `--preserve-relocs`).
    pub shared: Option<SharedId>,
    /// Relocations in constant banks from objects before this one were dropped (a strong definition replaced a weak one).
    pub constant_cut: ObjectId,
}

/// Were relocations that had been read already dropped again?
#[derive(Debug, Clone, Copy, Default)]
pub struct Cuts {
    /// Some [`OutFunction::debug_cut`] is set.
    pub debug: bool,
    /// Some [`OutSymbol::constant_cut`] is set.
    pub constants: bool,
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

/// Memory space of symbols that are not variables.
pub const NO_SPACE: u8 = 0xff;

/// An entry of the list of local symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Local {
    /// Section symbol.
    Section(SectionId),
    /// Static or weak symbol.
    Symbol(SymbolId),
}

/// What a symbol of an input became.
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

/// What merging knows about a function.
#[derive(Debug, Clone, Default)]
pub struct OutFunction {
    /// Its text.
    pub text: Option<SectionId>,
    /// It is a second name of this function.
    pub alias_of: Option<FunctionId>,
    /// Its `.nv.info.F`.
    pub info: Option<SectionId>,
    /// Binding of the definition in force at this point of the merge.
    pub bind: u8,
    /// Dead: phantom records were counted for its text, attributes, `.rel` and `.rela`.
    pub phantoms: [bool; 4],
    /// A taken definition had text relocations; `None` before the first.
    pub relocated: Option<bool>,
    /// Debug relocations from objects before this one were dropped.
    pub debug_cut: ObjectId,
    /// Its `.nv.shared.K`.
    pub shared: Option<SectionId>,
    /// Its parameter bank.
    pub parameters: Option<SectionId>,
    /// Barriers from the flags of a CUDA 12 text section.
    pub barriers: u32,
    /// Top byte of the text section's `sh_info`: registers up to sm_89.
    pub registers: u8,
    /// Its entry in [`Merged::literals`].
    pub literal_index: Option<u32>,
    /// ... and an empty record next to it, if it may count as a kernel.
    pub literal_record: Option<SectionId>,
    /// Its literal bank record.
    pub literals: Option<SectionId>,
    /// That record was made by a losing copy.
    pub literals_by_loser: Option<bool>,
    /// A literal bank record made by a losing copy and not reused by the winner.
    pub ghost: Option<SectionId>,
    /// Offset of its stub in `.nv.uft`.
    pub stub_offset: Option<u64>,
}

/// Literal bank of a device function, to be copied into the kernels that reach it.
#[derive(Debug, Clone)]
pub struct FunctionLiterals {
    /// Function.
    pub function: FunctionId,
    /// Bytes: the copy in force and the losers behind it.
    pub bytes: Vec<u8>,
    /// Alignment.
    pub align: u64,
    /// Offset of the last losing piece.
    pub lost: Option<u64>,
    /// Bank number.
    pub bank: u32,
    /// Jump tables of all copies so far, replaced ones included: object, section there, offset.
    pub tables: Vec<(ObjectId, u32, u64)>,
    /// Places that jump table entries may lie in: tables of the copy in force, one region per losing copy.
    pub regions: Vec<(u64, u64)>,
}

impl FunctionLiterals {
    /// Without literals.
    pub fn none(function: FunctionId) -> Self {
        FunctionLiterals {
            function,
            bytes: Vec::new(),
            align: 1,
            lost: None,
            bank: 0,
            tables: Vec::new(),
            regions: Vec::new(),
        }
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
    pub first: ObjectId,
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
    /// Referred to by dead code of a definition in force.
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

/// Relocations of one input section, in order of arrival.
#[derive(Debug, Clone, Copy)]
pub struct RelocRef {
    /// Object.
    pub object: ObjectId,
    /// Index into the object's relocation sections.
    pub index: u32,
    /// Output section that is patched.
    pub target: SectionId,
    /// Offset of the input section in it.
    pub base: u64,
}

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

/// Ids of the sections that every link has.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    /// `.shstrtab`.
    pub section_names: SectionId,
    /// `.strtab`.
    pub strings: SectionId,
    /// `.symtab`.
    pub symbols: SectionId,
    /// `.symtab_shndx`.
    pub extended: SectionId,
    /// `.note.nv.tkinfo`.
    pub tool_note: Option<SectionId>,
    /// `.note.nv.cuinfo`.
    pub cuda_note: Option<SectionId>,
    /// `.nv.info`.
    pub info: SectionId,
    /// `.nv.compat`.
    pub compat: Option<SectionId>,
    /// `.nv.callgraph`.
    pub callgraph: SectionId,
    /// `.nv.prototype`.
    pub prototype: SectionId,
}

/// Everything that merging the inputs makes.
#[derive(Debug)]
pub struct Merged<'d> {
    /// Section records in order of creation.
    pub sections: Table<SectionId, OutSection<'d>>,
    /// The functions that have text sections, in order of these.
    pub texts: Vec<FunctionId>,
    /// Records of shared and constant memory, in order. They are few among all records, and layout is about them.
    pub memory: Vec<SectionId>,
    /// `-r`: symbols that stand for the size of user constants, ascending.
    pub constant_sizes: Vec<SymbolId>,
    /// Symbol records.
    pub symbols: Table<SymbolId, OutSymbol<'d>>,
    /// Local part of the symbol list.
    pub locals: Vec<Local>,
    /// Global part.
    pub globals: Vec<SymbolId>,
    /// What became of the functions.
    pub functions: Table<FunctionId, OutFunction>,
    /// The functions' symbols. Everything that refers to a function asks for them, in no order, so they lie close together.
    pub symbol_of: Table<FunctionId, Option<SymbolId>>,
    /// Some function is a second name of another.
    pub has_aliases: bool,
    /// `--preserve-relocs`: symbols of the functions' literals, in order of the inputs' symbols.
    pub literal_symbols: HashMap<FunctionId, Vec<(SymbolRef, SymbolId)>, State>,
    /// What became of the inputs' symbols.
    pub places: Table<SymbolRef, Place>,
    /// Where the inputs' sections went.
    pub placed: Table<SectionRef, Option<(SectionId, u64)>>,
    /// Shared memory that a compiler laid out (`-ewp`): kernel, size, alignment.
    pub whole_shared: Vec<(FunctionId, u64, u64)>,
    /// Relocations in order of arrival.
    pub relocs: Vec<RelocRef>,
    /// Literal banks of device functions in order of creation.
    pub literals: Vec<FunctionLiterals>,
    /// Shared variables.
    pub shared: Table<SharedId, SharedVar<'d>>,
    /// Module-scope shared variables in order of definition (dynamic: of first mention).
    pub module_shared: Vec<SharedId>,
    /// Own shared variables of kernels in order of appearance.
    pub kernel_shared: Vec<(FunctionId, SharedId)>,
    /// A dynamic shared variable was declared.
    pub dynamic_declared: bool,
    /// The textures, samplers and surfaces that definitions in force refer to, dead or not.
    pub images_used: ImageKinds,
    /// Weak variables that lost: symbols of inputs, sorted.
    pub lost: Vec<SymbolRef>,
    /// ... against a weak one.
    pub lost_to_weak: Vec<SymbolRef>,
    /// Relocatable output: largest alignment of a module-scope shared variable.
    pub module_shared_align: u64,
    /// Records of `.nv.uft.entry` and `.nv.udt.entry`.
    pub unified: Unified,
    /// Records that nvlink makes for dead functions and drops again.
    pub phantoms: u32,
    /// What was cut anywhere.
    pub cuts: Cuts,
    /// Sections with fixed roles.
    pub fixed: Fixed,
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
    /// The index file does not fit, or there is none. It ends the link, but after what there is to say about stacks.
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

impl<'d> Merged<'d> {
    /// Makes the `.nv.shared.K` of a kernel that has none.
    pub(crate) fn add_shared_section(&mut self, mode: super::Mode, kernel: FunctionId, name: &'d [u8]) -> SectionId {
        let name = Name::new(b".nv.shared.", name);
        let id = self.add_section(mode, name, Class::KernelShared, SHT_CUDA_SHARED, 0x43, 1, 0);
        self.sections[id].owner = self.functions[kernel].text;
        self.functions[kernel].shared = Some(id);
        id
    }

    /// Counts a record that nvlink makes for a dead function and drops again.
    pub(crate) fn phantom(&mut self, f: FunctionId, kind: usize) {
        if !std::mem::replace(&mut self.functions[f].phantoms[kind], true) {
            self.phantoms += 1;
        }
    }

    /// `.nv_debug.shared`.
    pub(crate) fn module_shared_section(&self) -> Option<SectionId> {
        let is_it = |id: &SectionId| self.sections[*id].class == Class::ModuleShared;
        self.memory.iter().copied().find(is_it)
    }

    /// `.nv.shared.K` of a kernel.
    pub fn shared_section(&self, kernel: FunctionId) -> Option<SectionId> {
        self.functions[kernel].shared
    }

    /// False for the relocations of a body that was replaced.
    pub fn is_current(&self, r: &RelocRef, section: u32) -> bool {
        let target = &self.sections[r.target];
        match target.class {
            Class::Text(_) | Class::Stub(_) => target
                .pieces
                .as_slice()
                .iter()
                .any(|p| p.object == r.object && p.section == section),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_small() {
        assert_eq!(size_of::<Pieces>(), size_of::<Piece>());
        assert!(size_of::<OutSection<'_>>() <= 120);
    }

    #[test]
    fn pieces_stay_in_order() {
        let piece = |section| Piece {
            object: ObjectId::new(0),
            section,
            base: 0,
        };
        let mut pieces = Pieces::EMPTY;
        for n in 0..4 {
            assert_eq!(pieces.as_slice(), (0..n).map(piece).collect::<Vec<_>>());
            pieces.push(piece(n));
        }
    }
}
