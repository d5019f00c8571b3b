//! One input object as the linker reads it, independent of the file's layout.
//!
//! 1. Sections get a [`Role`] from name and type.
//! 2. Every name, section index and relocation symbol is checked, so later phases need not.
//! 3. The call graph and the prototypes are decoded.
//! 4. Each relocation section is summarised: whether addends differ, and the symbols that need attention before layout
//!    (undefined functions, shared variables, textures).

mod classify;
mod functions;
mod lists;
pub(crate) mod mercury;
mod read;

pub(crate) use classify::{normal_type, role};
pub use functions::FunctionMention;
pub(crate) use read::plain_sections;

use crate::ids::{Id, ObjectId, SectionRef, SymbolRef};
use crate::names::NameHasher;
use crate::par::Threads;
use cubin::consts::*;
use cubin::raw::{Rela, Sym};
use cubin::read::{Cubin, ReadError, Relocations, SymbolSection, string_at};
use cubin::validate::Invalid;
use std::borrow::Cow;

/// Extent of the checks of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Everything that a later phase relies on, and what only a damaged file has.
    Validate,
    /// What a later phase relies on: an object that nvlink takes is taken.
    Trusted,
}

impl Trust {
    /// True for [`Trust::Trusted`].
    pub fn is_trusted(self) -> bool {
        self == Trust::Trusted
    }
}

/// Role of a section in the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Not linked; `classify` lists what and why.
    Other,
    /// `.text.F`.
    Text,
    /// `.nv.uft.rel.F`: the stub of a unified function.
    Stub,
    /// `.nv.info`.
    Info,
    /// `.nv.info.F`.
    FunctionInfo,
    /// `.nv.constant0.F`: parameters.
    Parameters,
    /// `.nv.constantB.F` for other banks: literals of one function.
    Literals,
    /// `.nv.constant3` and other banks of the whole module.
    Constant,
    /// `.nv.global`.
    Global,
    /// `.nv.global.init`.
    GlobalInit,
    /// `.nv.shared.K`.
    KernelShared,
    /// `.nv_debug.shared`: shared variables of the module.
    ModuleShared,
    /// `.nv.shared.reserved.*`: shared memory that the system uses.
    ReservedShared,
    /// `.debug_*`, `.nv_debug_*`.
    Debug,
    /// Relocations.
    Relocations,
    /// `.nv.uft.entry`, `.nv.udt.entry`.
    UnifiedEntry,
    /// `.nv.udt`.
    UnifiedData,
    /// `.nv.metadata`.
    Metadata,
    /// A note that is not one of the linker's own: final links pass it through.
    Note,
    /// Bytes that the linker has no rule for: passed through.
    PassedThrough,
}

/// A section of an input.
#[derive(Debug, Clone, Copy)]
pub struct ObjSection<'d> {
    /// Name.
    pub name: &'d [u8],
    /// Bytes; empty for sections without bytes.
    pub data: &'d [u8],
    /// Size, also of sections without bytes.
    pub size: u64,
    /// Flags.
    pub flags: u64,
    /// Type.
    pub sh_type: u32,
    /// `sh_info`.
    pub info: u32,
    /// Alignment.
    pub align: Align,
    /// Entry size of sections that are passed through.
    pub entsize: u8,
    /// Role.
    pub role: Role,
    /// A non-empty relocation section applies to this one.
    pub relocated: bool,
    /// Text and stubs: symbol of the function that the section is made for, [`NO_OWNER`] if none.
    pub owner: u32,
}

/// An alignment: a power of two. There are many sections, so it takes one byte.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Align(u8);

impl Align {
    /// Of a section header; a number that is not a power of two counts as 1.
    pub fn new(align: u64) -> Self {
        let log = align.is_power_of_two().then(|| align.trailing_zeros());
        Align(log.unwrap_or(0) as u8)
    }
    /// In bytes.
    pub fn get(self) -> u64 {
        1 << (self.0 & 63)
    }
}

impl ObjSection<'_> {
    /// An empty section.
    pub const NULL: ObjSection<'static> = ObjSection {
        name: b"",
        data: b"",
        size: 0,
        flags: 0,
        sh_type: 0,
        info: 0,
        align: Align(0),
        entsize: 0,
        role: Role::Other,
        relocated: false,
        owner: NO_OWNER,
    };

    /// It has a name, but the linker does nothing with its contents.
    pub fn is_left_out(&self) -> bool {
        self.role == Role::Other && !self.name.is_empty()
    }
    /// `.nv.compat`.
    pub fn is_compat(&self) -> bool {
        self.name == b".nv.compat"
    }
    /// CUDA 12 keeps the number of barriers in bits 20..26 of a text section's flags.
    pub fn barriers(&self) -> u32 {
        (self.flags >> 20 & 0x7f) as u32
    }
}

/// A section that no function symbol belongs to.
pub const NO_OWNER: u32 = u32::MAX;

/// A symbol of an input.
#[derive(Debug, Clone, Copy)]
pub struct ObjSymbol<'d> {
    /// Its number among all objects' symbols.
    pub reference: SymbolRef,
    /// Name.
    pub name: &'d [u8],
    /// 0 local, 1 global, 2 weak.
    pub bind: u8,
    /// Type.
    pub kind: u8,
    /// `st_other`.
    pub other: u8,
    /// Section of the definition.
    pub section: SymbolSection,
    /// Value.
    pub value: u64,
    /// Size.
    pub size: u64,
}

impl ObjSymbol<'_> {
    /// Defined in a section (not undefined, not common).
    pub fn defined_in(&self) -> Option<u32> {
        self.section.index()
    }
    /// A variable in shared memory.
    pub fn is_shared(&self) -> bool {
        self.kind == STT_CUDA_OBJECT && self.other & STO_CUDA_SPACE == STO_CUDA_SHARED
    }
    /// A texture, sampler or surface reference.
    pub fn is_texture(&self) -> bool {
        matches!(self.kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE)
    }
}

/// A relocation section of an input, checked and summarised.
#[derive(Debug, Clone, Copy)]
pub struct RelocSection<'d> {
    /// Its index.
    pub section: u32,
    /// The section it patches.
    pub target: u32,
    /// Entries.
    pub entries: Relocations<'d>,
    /// An entry after the first has no addend.
    pub plain_later: bool,
    /// Such an entry names a symbol that does not represent a section.
    pub plain_named: bool,
    /// Range of [`Object::specials`].
    specials: (u32, u32),
}

impl RelocSection<'_> {
    /// True for RELA.
    pub fn is_rela(&self) -> bool {
        matches!(self.entries, Relocations::Rela(_))
    }
}

/// A string of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StringRef(u32);

/// An edge list of the call graph: symbol indices, or a symbol index and a prototype.
#[derive(Debug, Default)]
pub struct ObjCallgraph {
    /// Direct calls: caller, callee.
    pub direct: Vec<(u32, u32)>,
    /// Functions whose address is taken, with their prototype.
    pub taken: Vec<(u32, StringRef)>,
    /// Indirect calls: caller, prototype.
    pub sites: Vec<(u32, StringRef)>,
    /// Functions that take an address: taker, function.
    pub takers: Vec<(u32, u32)>,
}

/// An input object.
#[derive(Debug)]
pub struct Object<'d> {
    /// Position in link order.
    pub id: ObjectId,
    /// Name in messages.
    pub name: &'d str,
    /// Sections by index.
    pub sections: Vec<ObjSection<'d>>,
    /// Objects with two views: the sections of the SASS view by index; `sections` then has the Mercury view's contents.
    pub sass: Vec<ObjSection<'d>>,
    /// Relocation sections in file order.
    pub relocs: Vec<RelocSection<'d>>,
    /// Call graph.
    pub callgraph: ObjCallgraph,
    /// Relocations that reference a function's descriptor: patched section, function.
    pub descriptors: Vec<(u32, u32)>,
    /// `.nv.prototype`: function, prototype.
    pub prototypes: Vec<(u32, StringRef)>,
    /// Virtual architecture: from the cuinfo note, or from the flags of a CUDA 12 file.
    pub virtual_sm: Option<u32>,
    /// Compiled with `-ewp`: an extensible whole program.
    pub is_ewp: bool,
    /// The toolkit that made it, times ten; 0 if the file does not say.
    pub toolkit: u32,
    /// The architecture that the code is for.
    pub sm: u32,
    /// `.note.nv.tkinfo`.
    pub tkinfo: Option<&'d [u8]>,
    /// `.nv.compat`.
    pub compat: Option<&'d [u8]>,
    /// It has a table of unified functions.
    pub has_unified_functions: bool,
    /// It has a table of unified variables.
    pub has_unified_data: bool,
    /// Functions that are inside another one's text.
    pub has_inner_functions: bool,
    /// Code sections that call the driver in the SASS view alone.
    pub driver_callers: Vec<u32>,
    /// Some text section has the number of its barriers in its flags.
    pub has_barrier_flags: bool,
    /// Number of symbols that other objects can see.
    pub named: u32,
    /// Number of the first symbol among all objects' symbols.
    pub first_symbol: u32,
    /// Number of the first section among all objects' sections.
    pub first_section: u32,
    /// The whole file.
    file: &'d [u8],
    symbols: Cow<'d, [Sym]>,
    strings: &'d [u8],
    /// By symbol.
    labels: Vec<Label>,
    extended: Vec<(u32, u32)>,
    /// See [`Object::function_order`].
    functions: Vec<u32>,
    mentions: Vec<FunctionMention>,
    /// Registers by symbol, ascending, where weak functions are compared by them.
    registers: Vec<(u32, u32)>,
    specials: Vec<u32>,
    lists: lists::MergeLists,
    trust: Trust,
}

/// Length and hash of a symbol's name.
#[derive(Debug, Clone, Copy)]
struct Label {
    length: u32,
    hash: u32,
}

/// Length of a name that was not measured.
const UNKNOWN: u32 = u32::MAX;

impl Label {
    fn new(name: &[u8], hashing: &NameHasher) -> Self {
        Label {
            length: name.len() as u32,
            hash: hashing.of(name),
        }
    }

    fn name<'d>(self, entry: &Sym, strings: &'d [u8]) -> &'d [u8] {
        let offset = entry.st_name.get();
        match self.length {
            UNKNOWN => string_at(strings, offset),
            length => strings.get(offset as usize..).and_then(|s| s.get(..length as usize)),
        }
        .unwrap_or_default()
    }
}

impl Default for Label {
    fn default() -> Self {
        Label { length: UNKNOWN, hash: 0 }
    }
}

/// A damaged object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Not a readable ELF file.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Readable, but it is inconsistent.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// An index in a table points nowhere.
    #[error("section {section}: entry {entry} refers to {what} {index}, which does not exist")]
    Index {
        /// Section name.
        section: String,
        /// Entry number.
        entry: usize,
        /// Kind of thing.
        what: &'static str,
        /// Index.
        index: u32,
    },
    /// Mercury instructions of a newer version.
    #[error("section {section}: Mercury instructions of a newer version than {}.{}; compile it with an older toolkit", newest >> 8, newest & 0xff)]
    NewerMercury {
        /// Section name.
        section: String,
        /// Newest version that is linked, major and minor number in a byte each.
        newest: u16,
    },
    /// A section in a form that is not supported.
    #[error("section {section}: {reason}")]
    Unsupported {
        /// Section name.
        section: String,
        /// Reason.
        reason: &'static str,
    },
    /// A section header or table with invalid values.
    #[error("section {section}: {reason}")]
    Section {
        /// Section name.
        section: String,
        /// Reason.
        reason: String,
    },
    /// A symbol with invalid values.
    #[error("symbol {symbol}: {reason}")]
    Symbol {
        /// Name.
        symbol: String,
        /// Reason.
        reason: &'static str,
    },
    /// A relocation outside its section.
    #[error("relocation is past end of offset")]
    RelocationOffset {
        /// Section name.
        section: String,
        /// Entry number.
        entry: usize,
    },
}

/// Bytes as text for messages.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Largest alignment that an object may require.
pub(crate) const MAX_ALIGN: u64 = 1 << 30;

impl<'d> Object<'d> {
    /// True if the object is the Mercury view of a file; `sass` then has the sections of the other view.
    pub fn has_mercury(&self) -> bool {
        !self.sass.is_empty()
    }

    /// True if the object has compatibility records without the class of instructions that it needs. Its code then only runs on its own
    /// architecture.
    pub fn lacks_isa_class(&self) -> bool {
        const ISA_CLASS: u8 = 2;
        let has_class = |bytes| cubin::nvinfo::records(bytes).flatten().any(|r| r.attribute == ISA_CLASS);
        self.compat.is_some_and(|bytes| !has_class(bytes))
    }

    /// Builds the object from a parsed file. `first_symbol` and `id` are set when all objects are known.
    ///
    /// [`Trust::Trusted`] accepts relocations against symbols that do not exist, as nvlink does.
    pub fn new(name: &'d str, cubin: &Cubin<'d>, trust: Trust, threads: Threads) -> Result<Self, ObjectError> {
        let view = View {
            sections: plain_sections(cubin, threads)?,
            symbols: Cow::Borrowed(cubin.symbol_entries()),
            sass: Vec::new(),
        };
        let place = |i: u32| cubin.symbol_place(i).map_err(ObjectError::from);
        Object::assemble(name, cubin, view, place, (trust, threads))
    }

    /// Builds the object from one view of a file. `place` gives the section of a symbol whose name is good.
    pub(crate) fn assemble(
        name: &'d str,
        cubin: &Cubin<'d>,
        view: View<'d>,
        place: impl Fn(u32) -> Result<SymbolSection, ObjectError>,
        (trust, threads): (Trust, Threads),
    ) -> Result<Self, ObjectError> {
        let mut object = Object {
            id: ObjectId::new(0),
            name,
            sections: view.sections,
            sass: view.sass,
            relocs: Vec::new(),
            callgraph: ObjCallgraph::default(),
            descriptors: Vec::new(),
            prototypes: Vec::new(),
            virtual_sm: None,
            is_ewp: cubin.header().e_type.get() == ET_CUDA_EWP,
            toolkit: 0,
            sm: cubin::names::file_flags(cubin.header()).sm.into(),
            tkinfo: None,
            compat: None,
            has_unified_functions: false,
            has_unified_data: false,
            has_inner_functions: false,
            driver_callers: Vec::new(),
            has_barrier_flags: false,
            named: 0,
            first_symbol: 0,
            first_section: 0,
            file: cubin.data(),
            symbols: view.symbols,
            strings: cubin.strings(),
            labels: Vec::new(),
            extended: Vec::new(),
            functions: Vec::new(),
            mentions: Vec::new(),
            registers: Vec::new(),
            specials: Vec::new(),
            lists: lists::MergeLists::default(),
            trust,
        };
        object.check_sections()?;
        object.check_symbols(place, threads)?;
        object.read_tables()?;
        object.read_relocations(threads)?;
        object.functions = object.order_functions();
        Ok(object)
    }

    /// Bytes of the whole file.
    pub fn file_size(&self) -> u64 {
        self.file.len() as u64
    }

    /// Number of symbols, number 0 included.
    pub fn symbol_count(&self) -> u32 {
        self.symbols.len() as u32
    }

    /// Symbol `index`; the null symbol for an index that does not exist.
    pub fn symbol(&self, index: u32) -> ObjSymbol<'d> {
        let null = Sym::default();
        let entry = self.symbols.get(index as usize).unwrap_or(&null);
        let section = match entry.st_shndx.get() {
            0 => SymbolSection::Undefined,
            // nvlink quirk: see the reader.
            SHN_COMMON if matches!(entry.kind(), STT_SECTION | STT_FUNC) && self.sections.len() > SHN_COMMON.into() => {
                SymbolSection::Index(SHN_COMMON.into())
            }
            SHN_COMMON => SymbolSection::Common,
            SHN_XINDEX => match self
                .extended
                .binary_search_by_key(&index, |e| e.0)
                .ok()
                .and_then(|i| self.extended.get(i))
            {
                Some(&(_, x)) => SymbolSection::Index(x),
                None => SymbolSection::Reserved(SHN_XINDEX),
            },
            reserved @ SHN_LORESERVE.. => SymbolSection::Reserved(reserved),
            direct => SymbolSection::Index(direct.into()),
        };
        let label = self.labels.get(index as usize).copied().unwrap_or_default();
        ObjSymbol {
            reference: self.symbol_ref(index),
            name: self.name(entry, label),
            bind: entry.bind(),
            kind: entry.kind(),
            other: entry.st_other,
            section,
            value: entry.st_value.get(),
            size: entry.st_size.get(),
        }
    }

    fn name(&self, entry: &Sym, label: Label) -> &'d [u8] {
        label.name(entry, self.strings)
    }

    /// Type of symbol `index`, without looking at its name.
    pub fn symbol_kind(&self, index: u32) -> u8 {
        self.symbols.get(index as usize).map_or(0, Sym::kind)
    }

    /// Number, name and its hash of every symbol that represents more than a section and whose hash is `wanted`.
    pub fn names(&self, wanted: impl Fn(u32) -> bool) -> impl Iterator<Item = (SymbolRef, &'d [u8], u32)> {
        let symbols = (0..).zip(self.symbols.iter().zip(&self.labels)).skip(1);
        let named = symbols.filter(move |(_, (_, label))| label.length != UNKNOWN && wanted(label.hash));
        named.map(|(i, (entry, &label))| (self.symbol_ref(i), self.name(entry, label), label.hash))
    }

    /// Indices of the symbols of one of these types, in order.
    pub fn symbols_of(&self, kinds: &'static [u8]) -> impl Iterator<Item = u32> + '_ {
        // Types have four bits.
        let kinds = kinds.iter().fold(0u16, |all, kind| all | 1 << (kind & 15));
        self.symbols
            .iter()
            .enumerate()
            .filter(move |(_, sym)| kinds >> (sym.kind() & 15) & 1 != 0)
            .map(|(i, _)| i as u32)
    }

    /// Number of a symbol among all objects' symbols.
    pub fn symbol_ref(&self, index: u32) -> SymbolRef {
        SymbolRef::from_index((self.first_symbol + index) as usize)
    }

    /// Number of a section among all objects' sections.
    pub fn section_ref(&self, index: u32) -> SectionRef {
        SectionRef::from_index((self.first_section + index) as usize)
    }

    /// The symbol that a function's companion section (`sh_info` names the text) belongs to.
    pub fn owner_of(&self, companion: &ObjSection<'d>) -> Option<u32> {
        let text = self.section(companion.info)?;
        (text.owner != NO_OWNER).then_some(text.owner)
    }

    /// Section `index`; `None` if there is no such section.
    pub fn section(&self, index: u32) -> Option<&ObjSection<'d>> {
        self.sections.get(index as usize)
    }

    /// The file from the start of a section on; of a section without bytes nothing.
    pub fn file_from(&self, s: &ObjSection<'d>) -> &'d [u8] {
        let start = s.data.as_ptr().addr().wrapping_sub(self.file.as_ptr().addr());
        self.file.get(start..).unwrap_or(s.data)
    }

    /// Symbols of a relocation section that matter before layout, each once.
    pub fn specials(&self, relocs: &RelocSection<'d>) -> &[u32] {
        self.specials
            .get(relocs.specials.0 as usize..relocs.specials.1 as usize)
            .unwrap_or_default()
    }
}

/// What differs between the views of a file.
pub(crate) struct View<'d> {
    /// Sections by index.
    pub(crate) sections: Vec<ObjSection<'d>>,
    /// Symbols, with section numbers of the SASS view.
    pub(crate) symbols: Cow<'d, [Sym]>,
    /// See [`Object::sass`].
    pub(crate) sass: Vec<ObjSection<'d>>,
}

/// Entry `i` of a relocation section; the null entry for an index that does not exist.
pub fn entry(relocs: &Relocations<'_>, i: usize) -> Rela {
    relocs.get(i).unwrap_or_default()
}
