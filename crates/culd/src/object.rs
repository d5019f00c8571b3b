//! One input object as the linker sees it, independent of how it lies in the file.
//!
//! 1. Sections get a [`Role`] from name and type.
//! 2. Every name, section index and relocation symbol is checked, so later phases need not.
//! 3. The call graph and the prototypes are decoded.
//! 4. Each relocation section is summarised: whether addends differ, and the symbols that need attention before layout
//!    (undefined functions, shared variables, textures).

use crate::ids::{Id, ObjectId, SectionRef, SymbolRef};
use cubin::consts::*;
use cubin::raw::{Pair, Rel, Rela, Sym};
use cubin::read::{Cubin, ReadError, Relocations, SymbolSection, has_string, string_at};
use cubin::validate::Invalid;
use std::borrow::Cow;
use zerocopy::FromBytes;

/// What a section is to the linker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Nothing that is linked.
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
    /// Alignment, at least 1.
    pub align: u64,
    /// Type.
    pub sh_type: u32,
    /// `sh_info`.
    pub info: u32,
    /// Role.
    pub role: Role,
    /// A non-empty relocation section applies to this one.
    pub relocated: bool,
    /// Text and stubs: symbol of the function that the section is made for, [`NO_OWNER`] if none.
    pub owner: u32,
}

/// A section that no function symbol belongs to.
pub const NO_OWNER: u32 = u32::MAX;

/// A symbol of an input.
#[derive(Debug, Clone, Copy)]
pub struct ObjSymbol<'d> {
    /// Name.
    pub name: &'d [u8],
    /// 0 local, 1 global, 2 weak.
    pub bind: u8,
    /// Type.
    pub kind: u8,
    /// `st_other`.
    pub other: u8,
    /// Where it is defined.
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
    /// Who takes whose address.
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
    /// `.nv.prototype`: function, prototype.
    pub prototypes: Vec<(u32, StringRef)>,
    /// Virtual architecture: from the cuinfo note, or from the flags of a CUDA 12 file.
    pub virtual_sm: Option<u32>,
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
    /// Number of function symbols that other objects can see.
    pub named_functions: u32,
    /// Number of other symbols that other objects can see.
    pub named_variables: u32,
    /// Number of the first symbol among all objects' symbols.
    pub first_symbol: u32,
    /// Number of the first section among all objects' sections.
    pub first_section: u32,
    symbols: Cow<'d, [Sym]>,
    strings: &'d [u8],
    extended: Vec<(u32, u32)>,
    specials: Vec<u32>,
    trusting: bool,
}

/// A damaged object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Not readable as ELF.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Readable, but it does not hold together.
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
    /// A section header or table that makes no sense.
    #[error("section {section}: {reason}")]
    Section {
        /// Section name.
        section: String,
        /// Reason.
        reason: String,
    },
    /// A symbol that makes no sense.
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

/// Largest alignment that an object may ask for.
const MAX_ALIGN: u64 = 1 << 30;

impl<'d> Object<'d> {
    /// Builds the object from a parsed file. `first_symbol` and `id` are set when all objects are known.
    ///
    /// A trusting reader accepts relocations against symbols that do not exist, as nvlink does.
    pub fn new(name: &'d str, cubin: &Cubin<'d>, trusting: bool) -> Result<Self, ObjectError> {
        let view = View {
            sections: plain_sections(cubin)?,
            symbols: Cow::Borrowed(cubin.symbol_entries()),
            sass: Vec::new(),
        };
        let place = |i: u32| cubin.symbol_place(i).map_err(ObjectError::from);
        Object::assemble(name, cubin, view, place, trusting)
    }

    /// Builds the object from one view of a file. `place` gives the section of a symbol whose name is good.
    pub(crate) fn assemble(
        name: &'d str,
        cubin: &Cubin<'d>,
        view: View<'d>,
        place: impl Fn(u32) -> Result<SymbolSection, ObjectError>,
        trusting: bool,
    ) -> Result<Self, ObjectError> {
        let mut object = Object {
            id: ObjectId::new(0),
            name,
            sections: view.sections,
            sass: view.sass,
            relocs: Vec::new(),
            callgraph: ObjCallgraph::default(),
            prototypes: Vec::new(),
            virtual_sm: None,
            sm: cubin::names::file_flags(cubin.header()).sm.into(),
            tkinfo: None,
            compat: None,
            has_unified_functions: false,
            has_unified_data: false,
            named_functions: 0,
            named_variables: 0,
            first_symbol: 0,
            first_section: 0,
            symbols: view.symbols,
            strings: cubin.strings(),
            extended: Vec::new(),
            specials: Vec::new(),
            trusting,
        };
        object.check_sections()?;
        object.check_symbols(place)?;
        object.read_tables()?;
        object.read_relocations()?;
        Ok(object)
    }

    fn check_sections(&mut self) -> Result<(), ObjectError> {
        for s in &self.sections {
            match s.name {
                b".note.nv.tkinfo" => self.tkinfo = Some(s.data),
                b".nv.compat" => self.compat = Some(s.data),
                _ => {}
            }
            self.has_unified_functions |= s.sh_type == SHT_CUDA_UFT_ENTRY;
            self.has_unified_data |= s.sh_type == SHT_CUDA_UDT_ENTRY;
        }
        let count = self.sections.len() as u32;
        for s in &self.sections {
            let owned = matches!(
                s.role,
                Role::FunctionInfo | Role::Parameters | Role::Literals | Role::KernelShared | Role::Relocations
            );
            if owned && s.info >= count {
                return Err(ObjectError::Section {
                    section: text(s.name),
                    reason: format!("sh_info {} names no section", s.info),
                });
            }
        }
        Ok(())
    }

    fn check_symbols(&mut self, place: impl Fn(u32) -> Result<SymbolSection, ObjectError>) -> Result<(), ObjectError> {
        let strings = self.strings;
        let name = |entry: &Sym| string_at(strings, entry.st_name.get()).unwrap_or_default();
        for (i, entry) in self.symbols.iter().enumerate() {
            let section = place(i as u32)?;
            match entry.kind() {
                _ if entry.bind() == STB_LOCAL => {}
                STT_FUNC => self.named_functions += 1,
                _ => self.named_variables += 1,
            }
            let kind = entry.kind();
            if let (SHN_XINDEX, Some(x)) = (entry.st_shndx.get(), section.index()) {
                self.extended.push((i as u32, x));
            }
            let bad = match (kind, section) {
                (STT_FUNC, SymbolSection::Common | SymbolSection::Reserved(_)) => Some("a function in a reserved section"),
                (STT_OBJECT | STT_CUDA_OBJECT, SymbolSection::Reserved(_)) => Some("a variable in a reserved section"),
                (_, SymbolSection::Common) if !entry.st_value.get().is_power_of_two() || entry.st_value.get() > MAX_ALIGN => {
                    Some("common alignment is not a power of two")
                }
                (STT_CUDA_OBJECT, SymbolSection::Index(_))
                    if entry.st_other & STO_CUDA_SPACE == STO_CUDA_SHARED && entry.st_value.get() > MAX_ALIGN =>
                {
                    Some("shared alignment is too large")
                }
                (STT_FUNC, SymbolSection::Index(s))
                    if !matches!(self.sections.get(s as usize).map(|s| s.role), Some(Role::Text | Role::Stub)) =>
                {
                    Some("a function outside a text section")
                }
                _ => None,
            };
            if let Some(reason) = bad {
                return Err(ObjectError::Symbol {
                    symbol: text(name(entry)),
                    reason,
                });
            }
            if let (STT_FUNC, SymbolSection::Index(s)) = (kind, section)
                && let Some(owned) = self.sections.get_mut(s as usize)
                && (owned.role == Role::Stub || owned.name.strip_prefix(b".text.") == Some(name(entry)))
            {
                owned.owner = i as u32;
            }
        }
        Ok(())
    }

    fn read_tables(&mut self) -> Result<(), ObjectError> {
        let sections = std::mem::take(&mut self.sections);
        for s in &sections {
            match s.sh_type {
                SHT_CUDA_CALLGRAPH => self.read_callgraph(s)?,
                SHT_CUDA_PROTOTYPE => {
                    for (i, pair) in pairs(s)?.iter().enumerate() {
                        let function = self.function_index(s, i, pair.first.get())?;
                        self.prototypes.push((function, self.prototype(s, i, pair.second.get())?));
                    }
                }
                _ => {}
            }
        }
        self.sections = sections;
        Ok(())
    }

    fn read_callgraph(&mut self, s: &ObjSection<'d>) -> Result<(), ObjectError> {
        let mut segment = 0;
        for (i, pair) in pairs(s)?.iter().enumerate() {
            let (a, b) = (pair.first.get(), pair.second.get());
            if a == 0 && b >= 0xffff_fffc {
                segment = b.wrapping_neg();
                continue;
            }
            let function = self.function_index(s, i, a)?;
            match segment {
                1 => self.callgraph.direct.push((function, self.function_index(s, i, b)?)),
                2 => self.callgraph.taken.push((function, self.prototype(s, i, b)?)),
                3 => self.callgraph.sites.push((function, self.prototype(s, i, b)?)),
                4 => self.callgraph.takers.push((function, self.function_index(s, i, b)?)),
                _ => {
                    return Err(ObjectError::Section {
                        section: text(s.name),
                        reason: "an entry before the first list".into(),
                    });
                }
            }
        }
        Ok(())
    }

    fn function_index(&self, s: &ObjSection<'d>, entry: usize, index: u32) -> Result<u32, ObjectError> {
        match self.symbols.get(index as usize) {
            Some(y) if y.kind() == STT_FUNC => Ok(index),
            _ => Err(ObjectError::Index {
                section: text(s.name),
                entry,
                what: "function",
                index,
            }),
        }
    }

    fn prototype(&self, s: &ObjSection<'d>, entry: usize, offset: u32) -> Result<StringRef, ObjectError> {
        if has_string(self.strings, offset) {
            return Ok(StringRef(offset));
        }
        Err(ObjectError::Index {
            section: text(s.name),
            entry,
            what: "string",
            index: offset,
        })
    }

    /// A string of the object.
    pub fn string(&self, string: StringRef) -> &'d [u8] {
        string_at(self.strings, string.0).unwrap_or_default()
    }

    fn read_relocations(&mut self) -> Result<(), ObjectError> {
        let mut seen = vec![u32::MAX; self.symbols.len()];
        for i in 0..self.sections.len() as u32 {
            let Some(&ObjSection {
                role: Role::Relocations,
                info: target,
                name,
                sh_type,
                data,
                ..
            }) = self.sections.get(i as usize)
            else {
                continue;
            };
            let entries = relocation_entries(i, sh_type, data)?;
            let first = self.specials.len() as u32;
            match entries {
                Relocations::Rel(list) => {
                    for (j, r) in list.iter().enumerate() {
                        self.check_relocation(&mut seen, (i, name, j), target, r.r_offset.get(), r.r_sym.get())?;
                    }
                }
                Relocations::Rela(list) => {
                    for (j, r) in list.iter().enumerate() {
                        self.check_relocation(&mut seen, (i, name, j), target, r.r_offset.get(), r.r_sym.get())?;
                    }
                }
            }
            if !entries.is_empty()
                && let Some(t) = self.sections.get_mut(target as usize)
            {
                t.relocated = true;
            }
            self.relocs.push(RelocSection {
                section: i,
                target,
                entries,
                specials: (first, self.specials.len() as u32),
            });
        }
        Ok(())
    }

    fn check_relocation(
        &mut self,
        seen: &mut [u32],
        (section, name, entry): (u32, &[u8], usize),
        target: u32,
        offset: u64,
        sym: u32,
    ) -> Result<(), ObjectError> {
        let Some(y) = self.symbols.get(sym as usize) else {
            if self.trusting {
                return Ok(());
            }
            return Err(ObjectError::Index {
                section: text(name),
                entry,
                what: "symbol",
                index: sym,
            });
        };
        // The size of Mercury code is not the size of its capsule.
        let size = self.sections.get(target as usize).map_or(0, |t| match t.role {
            Role::Text => t.size,
            _ => t.data.len() as u64,
        });
        if offset >= size {
            return Err(ObjectError::RelocationOffset {
                section: text(name),
                entry,
            });
        }
        let special = match y.kind() {
            STT_FUNC => y.st_shndx.get() == 0,
            STT_CUDA_OBJECT => y.st_other & STO_CUDA_SPACE == STO_CUDA_SHARED,
            kind => matches!(kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE),
        };
        if special
            && let Some(last) = seen.get_mut(sym as usize)
            && *last != section
        {
            *last = section;
            self.specials.push(sym);
        }
        Ok(())
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
        ObjSymbol {
            name: string_at(self.strings, entry.st_name.get()).unwrap_or_default(),
            bind: entry.bind(),
            kind: entry.kind(),
            other: entry.st_other,
            section,
            value: entry.st_value.get(),
            size: entry.st_size.get(),
        }
    }

    /// Type of symbol `index`, without looking at its name.
    pub fn symbol_kind(&self, index: u32) -> u8 {
        self.symbols.get(index as usize).map_or(0, Sym::kind)
    }

    /// Indices of the symbols of one of these types, in order.
    pub fn symbols_of(&self, kinds: &'static [u8]) -> impl Iterator<Item = u32> + '_ {
        self.symbols
            .iter()
            .enumerate()
            .filter(move |(_, y)| kinds.contains(&y.kind()))
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

/// The sections as they are in the file.
pub(crate) fn plain_sections<'d>(cubin: &Cubin<'d>) -> Result<Vec<ObjSection<'d>>, ObjectError> {
    let mut sections = Vec::with_capacity(cubin.section_headers().len());
    for (i, header) in cubin.section_headers().iter().enumerate() {
        let section = cubin.section(i as u32)?;
        let (sh_type, flags) = (header.sh_type.get(), header.sh_flags.get());
        let role = if i == 0 { Role::Other } else { role(section.name, sh_type, flags) };
        let align = header.sh_addralign.get();
        if role != Role::Other && (!align.is_power_of_two() || align > MAX_ALIGN) {
            return Err(ObjectError::Section {
                section: text(section.name),
                reason: format!("alignment {align:#x} is not a power of two up to {MAX_ALIGN:#x}"),
            });
        }
        sections.push(ObjSection {
            name: section.name,
            data: section.data,
            size: header.sh_size.get(),
            flags,
            align: align.max(1),
            sh_type,
            info: header.sh_info.get(),
            role,
            relocated: false,
            owner: NO_OWNER,
        });
    }
    Ok(sections)
}

fn relocation_entries(section: u32, sh_type: u32, data: &[u8]) -> Result<Relocations<'_>, ReadError> {
    let bad = |reason| ReadError::BadTable { section, reason };
    if sh_type == SHT_REL {
        return <[Rel]>::ref_from_bytes(data)
            .map(Relocations::Rel)
            .map_err(|_| bad("size is not a multiple of 16"));
    }
    <[Rela]>::ref_from_bytes(data)
        .map(Relocations::Rela)
        .map_err(|_| bad("size is not a multiple of 24"))
}

fn pairs<'d>(s: &ObjSection<'d>) -> Result<&'d [Pair], ObjectError> {
    <[Pair]>::ref_from_bytes(s.data).map_err(|_| ObjectError::Section {
        section: text(s.name),
        reason: "size is not a multiple of 8".into(),
    })
}

/// Entry `i` of a relocation section; the null entry for an index that does not exist.
pub fn entry(relocs: &Relocations<'_>, i: usize) -> Rela {
    relocs.get(i).unwrap_or_default()
}

/// Role of a section by its type, then by its name.
pub(crate) fn role(name: &[u8], sh_type: u32, flags: u64) -> Role {
    match sh_type {
        SHT_REL | SHT_RELA => return Role::Relocations,
        SHT_CUDA_INFO => {
            return if flags & SHF_INFO_LINK != 0 {
                Role::FunctionInfo
            } else {
                Role::Info
            };
        }
        SHT_CUDA_GLOBAL => return Role::Global,
        SHT_CUDA_GLOBAL_INIT => return Role::GlobalInit,
        SHT_CUDA_UFT => return Role::Stub,
        SHT_CUDA_UDT => return Role::UnifiedData,
        SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY => return Role::UnifiedEntry,
        SHT_CUDA_SHARED => {
            return if name.starts_with(b".nv.shared.") {
                Role::KernelShared
            } else {
                Role::ModuleShared
            };
        }
        SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT17 => {
            let Some(rest) = name.strip_prefix(b".nv.constant") else {
                return Role::Other;
            };
            return match rest.iter().position(|&b| b == b'.') {
                None => Role::Constant,
                Some(_) if sh_type == SHT_CUDA_CONSTANT0 => Role::Parameters,
                Some(_) => Role::Literals,
            };
        }
        SHT_PROGBITS => {}
        _ => return Role::Other,
    }
    if name.starts_with(b".text.") {
        Role::Text
    } else if name.starts_with(b".debug_") || name.starts_with(b".nv_debug_") {
        Role::Debug
    } else {
        Role::Other
    }
}
