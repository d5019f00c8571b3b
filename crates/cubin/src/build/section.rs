//! Sections: creation, contents, relocations.

use super::ids::shown;
use super::{BuildError, FunctionId, ObjectBuilder, SectionId, SymbolId};
use crate::consts::*;
use crate::tables::{RelocationAction, RelocationActions};
use crate::validate::MAX_ALIGN;
use crate::write::WriterKind;

/// What a field of a section header refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reference {
    /// A number as it is.
    Number(u32),
    /// The number of a section.
    Section(SectionId),
    /// The number of a symbol.
    Symbol(SymbolId),
    /// `sh_info` of code: the number of the function's symbol, and in objects of the linker's writer the register count in the top byte.
    Function(FunctionId),
}

/// Header fields of a section to create.
///
/// ```
/// use cubin::build::SectionSpec;
/// let spec = SectionSpec { align: 4, ..SectionSpec::new(b".debug_line") };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionSpec {
    /// Name.
    pub name: Vec<u8>,
    /// `sh_type`.
    pub sh_type: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_link`.
    pub link: Reference,
    /// `sh_info`.
    pub info: Reference,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
}

impl SectionSpec {
    /// A section of plain bytes (`SHT_PROGBITS`) without flags and links, aligned to one byte.
    pub fn new(name: &[u8]) -> Self {
        SectionSpec {
            name: name.to_vec(),
            sh_type: SHT_PROGBITS,
            flags: 0,
            link: Reference::Number(0),
            info: Reference::Number(0),
            align: 1,
            entsize: 0,
        }
    }
    /// Sets `sh_link` to a section.
    pub fn link(mut self, section: SectionId) -> Self {
        self.link = Reference::Section(section);
        self
    }
    /// Sets `sh_info` to a section.
    pub fn info(mut self, section: SectionId) -> Self {
        self.info = Reference::Section(section);
        self
    }
    /// Sets `sh_flags`.
    pub fn flags(mut self, flags: u64) -> Self {
        self.flags = flags;
        self
    }
}

/// Contents that a caller gives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionContents {
    /// No bytes in the file; size in memory.
    NoBits(u64),
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A relocation of the builder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reloc {
    pub(super) offset: u64,
    pub(super) code: u32,
    pub(super) symbol: SymbolId,
    pub(super) addend: i64,
}

/// Contents of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    NoBits(u64),
    Bytes(Vec<u8>),
    Names,
    Strings,
    Symbols,
    Indices,
    ToolNotes,
    CudaNote,
    ModuleInfo,
    Compat,
    FunctionInfo(FunctionId),
    CallGraph,
    Prototypes,
    Rel(Vec<Reloc>),
    Rela(Vec<Reloc>),
}

/// A section of the builder.
#[derive(Debug, Clone)]
pub(super) struct SectionEntry {
    pub(super) spec: SectionSpec,
    pub(super) body: Body,
    pub(super) symbol: SymbolId,
    pub(super) deleted: bool,
    /// Its relocation sections.
    pub(super) rel: Option<SectionId>,
    pub(super) rela: Option<SectionId>,
}

impl ObjectBuilder {
    /// Creates a section with contents of the caller. Standard sections have creators of their own.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let lines = SectionSpec::new(b".debug_line");
    /// let lines = object.add_section(lines, SectionContents::Bytes(vec![0; 12]))?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_section(&mut self, spec: SectionSpec, contents: SectionContents) -> Result<SectionId, BuildError> {
        let body = match contents {
            SectionContents::NoBits(size) => Body::NoBits(size),
            SectionContents::Bytes(bytes) => Body::Bytes(bytes),
        };
        self.create(spec, body)
    }

    /// Creates a section and its symbol.
    pub(super) fn create(&mut self, spec: SectionSpec, body: Body) -> Result<SectionId, BuildError> {
        Self::check_name(&spec.name)?;
        if self.by_name.contains_key(&spec.name) {
            return Err(BuildError::DuplicateSection { name: shown(&spec.name) });
        }
        let id = SectionId(number(self.sections.len(), "number of sections")?);
        let symbol = self.section_symbol_entry(id)?;
        self.by_name.insert(spec.name.clone(), id);
        self.sections.push(SectionEntry {
            spec,
            body,
            symbol,
            deleted: false,
            rel: None,
            rela: None,
        });
        Ok(id)
    }

    pub(super) fn entry(&self, section: SectionId) -> Result<&SectionEntry, BuildError> {
        self.sections.get(section.0 as usize).ok_or(BuildError::UnknownId {
            what: "section",
            index: section.0,
        })
    }
    pub(super) fn entry_mut(&mut self, section: SectionId) -> Result<&mut SectionEntry, BuildError> {
        self.sections.get_mut(section.0 as usize).ok_or(BuildError::UnknownId {
            what: "section",
            index: section.0,
        })
    }

    /// The live section of this name.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// assert!(object.section_by_name(b".nv.info").is_some());
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn section_by_name(&self, name: &[u8]) -> Option<SectionId> {
        self.by_name.get(name).copied()
    }

    /// Bytes of a section that the caller fills, to change or extend them.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let section = object.add_section(SectionSpec::new(b".x"), SectionContents::Bytes(Vec::new()))?;
    /// object.bytes_mut(section)?.extend_from_slice(b"more");
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn bytes_mut(&mut self, section: SectionId) -> Result<&mut Vec<u8>, BuildError> {
        let entry = self.entry_mut(section)?;
        match &mut entry.body {
            Body::Bytes(bytes) => Ok(bytes),
            _ => Err(BuildError::NotBytes {
                name: shown(&entry.spec.name),
            }),
        }
    }

    /// Sets the alignment of a section.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let section = object.add_section(SectionSpec::new(b".x"), SectionContents::Bytes(Vec::new()))?;
    /// object.set_align(section, 16)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_align(&mut self, section: SectionId, align: u64) -> Result<(), BuildError> {
        let entry = self.entry_mut(section)?;
        check_align(&entry.spec.name, align)?;
        entry.spec.align = align;
        Ok(())
    }

    /// Adds a relocation of a section; the relocation section is created when it is needed.
    ///
    /// The linker's writer puts relocations without an addend into `.rel<section>` and others into `.rela<section>`, the finalizer's writer all
    /// into `.rela<section>`. ptxas gives an addend where it is not 0, and to relocations of `.debug_frame` that clear a field. Entries are
    /// written last one first, as ptxas does.
    ///
    /// ```
    /// # use cubin::build::{Binding, FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # let text = object.define(kernel, FunctionCode::new(vec![0; 64], 8))?;
    /// let counter = object.add_global(b"counter", Binding::Global, 4, 4)?;
    /// // R_CUDA_ABS32_LO_32 of the instruction at 0x10
    /// object.relocate(text, 0x10, 0x38, counter, None)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn relocate(
        &mut self,
        section: SectionId,
        offset: u64,
        code: u32,
        symbol: SymbolId,
        addend: Option<i64>,
    ) -> Result<(), BuildError> {
        if symbol != SymbolId::NULL {
            self.symbol_entry(symbol)?;
        }
        let companion = self.relocation_section(section, addend.is_some())?;
        let reloc = Reloc {
            offset,
            code,
            symbol,
            addend: addend.unwrap_or_default(),
        };
        match &mut self.entry_mut(companion)?.body {
            Body::Rel(list) | Body::Rela(list) => list.push(reloc),
            _ => {}
        }
        Ok(())
    }

    /// The relocation section of a section, for relocations with or without an addend; created if it does not exist.
    ///
    /// [`ObjectBuilder::relocate`] does this itself. Earlier calls fix the place of the section among others.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let section = object.add_section(SectionSpec::new(b".x"), SectionContents::Bytes(vec![0; 8]))?;
    /// let rela = object.relocation_section(section, true)?;
    /// assert_eq!(object.section_by_name(b".rela.x"), Some(rela));
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn relocation_section(&mut self, section: SectionId, addend: bool) -> Result<SectionId, BuildError> {
        let entry = self.entry(section)?;
        let (rel, rela) = (entry.rel, entry.rela);
        if self.writer == WriterKind::Linker {
            let found = if addend { rela } else { rel };
            return found.map_or_else(|| self.create_companion(section, addend), Ok);
        }
        // The finalizer's writer turns relocations without an addend into others: the first leaves the name of its section.
        if !addend && rel.is_none() {
            let rel = self.create_companion(section, false)?;
            self.abandon(rel)?;
        }
        rela.map_or_else(|| self.create_companion(section, true), Ok)
    }

    fn create_companion(&mut self, section: SectionId, addend: bool) -> Result<SectionId, BuildError> {
        let name = &self.entry(section)?.spec.name;
        let (prefix, sh_type, entsize): (&[u8], u32, u64) = if addend { (b".rela", SHT_RELA, 24) } else { (b".rel", SHT_REL, 16) };
        let spec = SectionSpec {
            sh_type,
            flags: SHF_INFO_LINK,
            align: 8,
            entsize,
            ..SectionSpec::new(&[prefix, name].concat())
        };
        let body = if addend { Body::Rela(Vec::new()) } else { Body::Rel(Vec::new()) };
        let id = self.create(spec.link(self.tables.symbols).info(section), body)?;
        let entry = self.entry_mut(section)?;
        *(if addend { &mut entry.rela } else { &mut entry.rel }) = Some(id);
        Ok(id)
    }

    /// Creates `.nv.rel.action`: how relocation types from `first_type` on store their values. ptxas writes it into executable files of CUDA 12
    /// only; the linker ignores it in objects.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda12)?;
    /// object.add_relocation_actions(0x73, &[cubin::tables::CONST_FIELD22_37])?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_relocation_actions(&mut self, first_type: u64, actions: &[RelocationAction]) -> Result<SectionId, BuildError> {
        let mut bytes = Vec::new();
        RelocationActions { first_type, actions }.write(&mut bytes);
        let spec = SectionSpec {
            sh_type: SHT_CUDA_RELOCINFO,
            align: 8,
            entsize: 8,
            ..SectionSpec::new(b".nv.rel.action")
        };
        self.create(spec, Body::Bytes(bytes))
    }
}

/// A count as a number of 32 bits.
pub(super) fn number(count: usize, what: &'static str) -> Result<u32, BuildError> {
    u32::try_from(count).map_err(|_| BuildError::TooLarge {
        what,
        value: count as u64,
        max: u32::MAX.into(),
    })
}

/// Refuses alignments that are not powers of two, and those that [`crate::validate`] refuses.
pub(super) fn check_align(name: &[u8], align: u64) -> Result<(), BuildError> {
    if align.is_power_of_two() && align <= MAX_ALIGN {
        return Ok(());
    }
    Err(BuildError::Align { name: shown(name), align })
}
