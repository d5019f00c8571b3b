//! Relocatable device objects from nothing.
//!
//! [`ObjectBuilder`] owns sections, symbols and strings and numbers them itself; callers hold handles. The order of everything is that of
//! ptxas:
//!
//! 1. The standard sections exist from the start: string tables, symbol table, notes, `.nv.info`. Others are created when they are first needed.
//! 2. Creating a section creates its symbol. Deleted sections and symbols leave their names in the string tables, nothing else.
//! 3. [`ObjectBuilder::finish`] numbers live sections by rank (`order`): tables, debug information, metadata, relocations, constants, code,
//!    initialized data, the rest; sections of one rank keep the order of creation.
//! 4. Symbols: section symbols, local and weak symbols in the order of creation, then global symbols; `sh_info` of the symbol table follows.
//! 5. `.shstrtab` has the names of sections in the order of creation; `.strtab` has prototypes, names in the order of step 4 with those of
//!    sections that have no symbol between them. Before CUDA 12.4 all names are in the order of creation.
//! 6. Contents are encoded with the final numbers (`encode`), `.symtab_shndx` is added when 16 bits do not suffice, and
//!    [`crate::write::Image`] computes offsets. Relocatable objects have no program headers.
//!
//! ptxas has two writers ([`WriterKind`]), which differ in the order of parameter banks, in relocation sections and in header fields:
//! [`ObjectBuilder::new`] takes the one that ptxas uses for the architecture.
//!
//! Limits: objects are 64-bit; the 32-bit class of old toolkits can be read ([`crate::elf32`]) and not written. The Mercury view of objects
//! from sm_100 on is not made: its sections can be given ready ([`ObjectBuilder::add_section`] with
//! [`SHF_CUDA_MERCURY`]), and numbers inside their bytes are the caller's.

mod attribute;
mod data;
mod delete;
mod encode;
mod frame;
mod function;
mod ids;
mod order;
mod section;
mod symbol;
#[cfg(test)]
mod tests;

pub use attribute::Attribute;
pub use function::{FunctionCode, Resources};
pub use ids::{BuildError, FunctionId, PrototypeId, SectionId, SymbolId};
pub use order::Numbering;
pub use section::{Reference, SectionContents, SectionSpec};
pub use symbol::{Binding, Place, SymbolSpec};

use crate::consts::*;
use crate::names;
use crate::notes::{CudaInfo, ToolInfo};
use crate::nvinfo::Record;
use crate::write::WriterKind;
use function::{Function, Graph};
use section::{Body, SectionEntry};
use std::collections::HashMap;
use symbol::SymbolEntry;

/// Container form, which says to the vendor's tools which toolkit an object belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// CUDA 13: OS ABI 0x41, ABI version 8, with notes.
    Cuda13,
    /// CUDA 12: OS ABI 0x33, ABI version 7, `e_version` is the toolkit's version, no notes.
    Cuda12,
}

/// Architecture that an object is for.
///
/// ```
/// use cubin::build::Target;
/// let target = Target::sm(90).accelerated().compiled_for(80);
/// assert_eq!(target.name(), "sm_90a");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    sm: u8,
    virtual_sm: u8,
    accelerated: bool,
}

impl Target {
    /// `sm_<number>`, compiled from `compute_<number>`.
    pub fn sm(number: u8) -> Self {
        Target {
            sm: number,
            virtual_sm: number,
            accelerated: false,
        }
    }
    /// The architecture with the suffix `a`.
    pub fn accelerated(mut self) -> Self {
        self.accelerated = true;
        self
    }
    /// Sets the virtual architecture: `.target` of the PTX that the code was compiled from.
    pub fn compiled_for(mut self, virtual_sm: u8) -> Self {
        self.virtual_sm = virtual_sm;
        self
    }
    /// `sm_90` or `sm_90a`.
    pub fn name(&self) -> String {
        format!("sm_{}{}", self.sm, if self.accelerated { "a" } else { "" })
    }
    /// Architecture number.
    pub fn number(&self) -> u8 {
        self.sm
    }
    /// Bytes of bank 0 before the first kernel parameter.
    pub fn parameter_base(&self) -> u16 {
        match self.sm {
            ..90 => 0x160,
            90..100 => 0x210,
            100.. => 0x380,
        }
    }
}

/// Where ptxas puts weak symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WeakOrder {
    /// Among the local ones, before `sh_info`: CUDA 12, and CUDA 13.0 to 13.3.
    WithLocal,
    /// Among the global ones, as the ELF specification has it: from CUDA 13.4 on.
    WithGlobal,
}

/// First toolkit with [`WeakOrder::WithGlobal`].
const WEAK_WITH_GLOBAL: u32 = 134;
/// Bits of a CUDA 12 file that state its texture mode.
const TEXTURE_MODES: u32 = 0x300;
/// The bit for independent textures and samplers.
const TEXTURES_INDEPENDENT: u32 = 0x200;
/// `EIATTR_TEXMODE_INDEPENDENT`.
const ATTRIBUTE_INDEPENDENT: u8 = 0x4d;

/// A relocatable device object in the making.
///
/// ```
/// use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
/// let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
/// let kernel = object.declare_kernel(b"k")?;
/// // EXIT; BRA to itself
/// let code = [0x4d, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x03, 0, 0xea, 0x0f, 0];
/// object.define(kernel, FunctionCode::new(code.to_vec(), 8))?;
/// object.add_parameters(kernel, 8)?;
/// let bytes = object.finish()?;
/// let file = cubin::Cubin::parse(&bytes).unwrap();
/// cubin::validate::validate(&file).unwrap();
/// # Ok::<(), cubin::build::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ObjectBuilder {
    target: Target,
    form: Form,
    writer: WriterKind,
    weak_order: Option<WeakOrder>,
    independent_textures: bool,
    toolkit: u32,
    sections: Vec<SectionEntry>,
    // Only looked up: live sections by name.
    by_name: HashMap<Vec<u8>, SectionId>,
    symbols: Vec<SymbolEntry>,
    functions: Vec<Function>,
    prototypes: Vec<Prototype>,
    // Only looked up.
    prototype_ids: HashMap<Vec<u8>, PrototypeId>,
    graph: Graph,
    tables: Tables,
    attributes: Vec<Attribute>,
    tool_notes: Vec<u8>,
    cuda_note: CudaInfo,
    compat: Vec<u8>,
}

/// A string of the call graph.
#[derive(Debug, Clone)]
struct Prototype {
    string: Vec<u8>,
    /// Number of symbols created before it.
    created: usize,
}

/// Sections that exist from the start.
#[derive(Debug, Clone, Copy)]
struct Tables {
    names: SectionId,
    strings: SectionId,
    symbols: SectionId,
    indices: SectionId,
    cuda_note: Option<SectionId>,
    info: SectionId,
}

impl ObjectBuilder {
    /// An object without code, laid out as ptxas lays out objects for this architecture.
    ///
    /// ```
    /// use cubin::build::{Form, ObjectBuilder, Target};
    /// let bytes = ObjectBuilder::new(Target::sm(75), Form::Cuda12)?.finish()?;
    /// assert_eq!(bytes[7..9], [0x33, 7]);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn new(target: Target, form: Form) -> Result<Self, BuildError> {
        let writer = if target.sm >= 90 {
            WriterKind::Finalizer
        } else {
            WriterKind::Linker
        };
        ObjectBuilder::with_writer(target, form, writer)
    }

    /// An object without code, laid out as the given writer does it.
    ///
    /// ```
    /// use cubin::build::{Form, ObjectBuilder, Target};
    /// use cubin::write::WriterKind;
    /// // As `nvlink -r` writes objects for sm_90.
    /// let object = ObjectBuilder::with_writer(Target::sm(90), Form::Cuda13, WriterKind::Linker)?;
    /// # object.finish()?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn with_writer(target: Target, form: Form, writer: WriterKind) -> Result<Self, BuildError> {
        // CUDA 12 wrote other flags for Blackwell, which were not observed here.
        if form == Form::Cuda12 && target.sm >= 100 {
            return Err(BuildError::Target { sm: target.sm });
        }
        let none = SectionId(0);
        let mut builder = ObjectBuilder {
            target,
            form,
            writer,
            weak_order: None,
            independent_textures: false,
            toolkit: if form == Form::Cuda13 { 130 } else { 129 },
            sections: Vec::new(),
            by_name: HashMap::new(),
            symbols: Vec::new(),
            functions: Vec::new(),
            prototypes: Vec::new(),
            prototype_ids: HashMap::new(),
            graph: Graph::default(),
            tables: Tables {
                names: none,
                strings: none,
                symbols: none,
                indices: none,
                cuda_note: None,
                info: none,
            },
            attributes: Vec::new(),
            tool_notes: Vec::new(),
            cuda_note: CudaInfo {
                version: 2,
                virtual_sm: target.virtual_sm.into(),
                toolkit: 130,
            },
            compat: Vec::new(),
        };
        builder.create_standard()?;
        Ok(builder)
    }

    /// The sections that ptxas creates first, in its order.
    fn create_standard(&mut self) -> Result<(), BuildError> {
        let table = |name, sh_type, align, entsize| SectionSpec {
            sh_type,
            align,
            entsize,
            ..SectionSpec::new(name)
        };
        self.tables.names = self.create(table(b".shstrtab", SHT_STRTAB, 1, 0), Body::Names)?;
        self.tables.strings = self.create(table(b".strtab", SHT_STRTAB, 1, 0), Body::Strings)?;
        let symbols = table(b".symtab", SHT_SYMTAB, 8, 24).link(self.tables.strings);
        self.tables.symbols = self.create(symbols, Body::Symbols)?;
        let indices = table(b".symtab_shndx", SHT_SYMTAB_SHNDX, 4, 4).link(self.tables.symbols);
        self.tables.indices = self.create(indices, Body::Indices)?;
        let note = |name, flags| table(name, SHT_NOTE, 4, 0).flags(flags);
        if self.form == Form::Cuda13 {
            let tool = self.create(note(b".note.nv.tkinfo", SHF_CUDA_NOTE_TKINFO), Body::ToolNotes)?;
            let cuda = note(b".note.nv.cuinfo", SHF_CUDA_NOTE_CUINFO).link(tool);
            self.tables.cuda_note = Some(self.create(cuda, Body::CudaNote)?);
        }
        let info = table(b".nv.info", SHT_CUDA_INFO, 4, 0).link(self.tables.symbols);
        self.tables.info = self.create(info, Body::ModuleInfo)?;
        if self.form == Form::Cuda13 && self.writer == WriterKind::Finalizer {
            let compat = self.create(table(b".nv.compat", SHT_CUDA_COMPAT, 4, 0), Body::Compat)?;
            self.compat = self.default_compat();
            // The finalizer names the section of compatibility records in the note.
            let cuda = self.tables.cuda_note.and_then(|n| self.sections.get_mut(n.0 as usize));
            if let Some(cuda) = cuda {
                cuda.spec.info = Reference::Section(compat);
                cuda.spec.flags |= SHF_INFO_LINK;
            }
        }
        Ok(())
    }

    /// What ptxas 13.0 writes for code without instructions that restrict where it can run.
    fn default_compat(&self) -> Vec<u8> {
        use crate::compat::*;
        let mut out = Vec::new();
        Record::with_byte(ACCELERATOR_TARGET, self.target.accelerated.into()).write(&mut out);
        Record::with_byte(ISA_CLASS, 1).write(&mut out);
        Record::with_byte(TCGEN05_MMA, 5).write(&mut out);
        Record::with_half(MERCURY_ISA_VERSION, 0x101).write(&mut out);
        Record::with_byte(TENSORMAP_V1, 0).write(&mut out);
        Record::with_byte(OPPORTUNISTIC_FINALIZATION, 1).write(&mut out);
        if let Ok(fastpath) = Record::sized(FASTPATH_FINALIZE, &[0; 8]) {
            fastpath.write(&mut out);
        }
        out
    }

    /// Architecture of the object.
    pub fn target(&self) -> Target {
        self.target
    }
    /// Container form of the object.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Sets the toolkit's version times ten, 124 for 12.4: `e_version` of CUDA 12 objects, a field of the `cuinfo` note of CUDA 13 ones.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// let mut object = ObjectBuilder::new(Target::sm(75), Form::Cuda12)?;
    /// object.set_toolkit(124);
    /// assert_eq!(object.finish()?[20], 124);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_toolkit(&mut self, version: u32) {
        self.toolkit = version;
        self.cuda_note.toolkit = version;
    }

    /// Sets the `cuinfo` note of a CUDA 13 object.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// object.set_cuda_note(cubin::notes::CudaInfo { version: 2, virtual_sm: 75, toolkit: 131 });
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_cuda_note(&mut self, note: CudaInfo) {
        self.cuda_note = note;
    }

    /// Adds a tool to the `tkinfo` note of a CUDA 13 object: what made the code. Without one, the note names this crate.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// object.add_tool(&cubin::notes::ToolInfo {
    ///     version: 2,
    ///     object: b"",
    ///     tool: b"my-assembler",
    ///     tool_version: b"1.0",
    ///     build: b"",
    ///     arguments: b"-arch sm_80",
    /// })?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_tool(&mut self, tool: &ToolInfo<'_>) -> Result<(), BuildError> {
        Ok(tool.write(&mut self.tool_notes)?)
    }

    /// Replaces the records of `.nv.compat`, which objects have that the finalizer's writer lays out (CUDA 13, from sm_90 on).
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// use cubin::compat::{ISA_CLASS, Record};
    /// # let mut object = ObjectBuilder::new(Target::sm(90), Form::Cuda13)?;
    /// object.set_compat(&[Record::with_byte(ISA_CLASS, 1)]);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_compat(&mut self, records: &[Record<'_>]) {
        self.compat.clear();
        records.iter().for_each(|r| r.write(&mut self.compat));
    }

    /// Sets where weak symbols are put; otherwise the toolkit's version decides.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target, WeakOrder};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// object.set_weak_order(WeakOrder::WithGlobal);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_weak_order(&mut self, order: WeakOrder) {
        self.weak_order = Some(order);
    }

    /// States that textures and samplers are independent (`.texmode_independent` of PTX): a bit of the header in CUDA 12, an attribute of the
    /// module in CUDA 13.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda12)?;
    /// object.set_independent_textures();
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_independent_textures(&mut self) {
        if self.form == Form::Cuda13 && !self.independent_textures {
            self.attributes.push(Attribute::flag(ATTRIBUTE_INDEPENDENT));
        }
        self.independent_textures = true;
    }

    /// Adds an attribute to `.nv.info`.
    ///
    /// ```
    /// # use cubin::build::{Attribute, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// // EIATTR_TEXMODE_INDEPENDENT
    /// object.module_attribute(Attribute::flag(0x4d))?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn module_attribute(&mut self, attribute: Attribute) -> Result<(), BuildError> {
        self.attributes.push(attribute);
        Ok(())
    }

    /// True when weak symbols are in the second part of the table.
    fn has_weak_with_global(&self) -> bool {
        let new = self.form == Form::Cuda13 && self.cuda_note.toolkit >= WEAK_WITH_GLOBAL;
        self.weak_order.map_or(new, |order| order == WeakOrder::WithGlobal)
    }

    /// CUDA 12.0 to 12.3: all names in the order of creation, no `SHF_INFO_LINK`.
    fn is_early(&self) -> bool {
        self.form == Form::Cuda12 && self.toolkit < 124
    }

    /// `e_ident`.
    fn ident(&self) -> [u8; 16] {
        let [abi, version] = match self.form {
            Form::Cuda13 => [ELFOSABI_CUDA, 8],
            Form::Cuda12 => [ELFOSABI_CUDA_V7, 7],
        };
        [0x7f, b'E', b'L', b'F', 2, 1, 1, abi, version, 0, 0, 0, 0, 0, 0, 0]
    }

    /// `e_flags`, with the number of `.note.nv.cuinfo`.
    fn file_flags(&self, note: u32) -> u32 {
        let t = self.target;
        match self.form {
            Form::Cuda13 => names::make_file_flags(t.sm, note),
            Form::Cuda12 => {
                let flags = names::make_file_flags_v7(t.sm, t.virtual_sm, t.accelerated);
                if self.independent_textures {
                    flags & !TEXTURE_MODES | TEXTURES_INDEPENDENT
                } else {
                    flags
                }
            }
        }
    }

    /// Refuses names that a string table cannot hold.
    fn check_name(name: &[u8]) -> Result<(), BuildError> {
        if name.is_empty() || name.contains(&0) {
            return Err(BuildError::Name { name: ids::shown(name) });
        }
        Ok(())
    }
}
