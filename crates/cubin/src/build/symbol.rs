//! Symbols: creation and places.

use super::section::number;
use super::{BuildError, FunctionId, ObjectBuilder, SectionId, SymbolId};
use crate::consts::*;

/// Binding of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Visible in the object only.
    Local,
    /// Visible to all objects of a link.
    Global,
    /// As [`Binding::Global`], and other definitions may take its place.
    Weak,
}

impl Binding {
    fn code(self) -> u8 {
        match self {
            Binding::Local => STB_LOCAL,
            Binding::Global => STB_GLOBAL,
            Binding::Weak => STB_WEAK,
        }
    }
}

/// Section that a symbol belongs to, or one of the reserved section numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// In another object.
    Undefined,
    /// Space that the linker allocates once for all objects.
    Common,
    /// At an offset of a section.
    Section(SectionId),
    /// A reserved section index, `SHN_ABS` for example.
    Reserved(u16),
}

/// A symbol to create.
///
/// ```
/// use cubin::build::{Binding, SymbolSpec};
/// use cubin::consts::{STO_CUDA_GLOBAL, STT_CUDA_OBJECT};
/// let spec = SymbolSpec { size: 4, other: STO_CUDA_GLOBAL, ..SymbolSpec::new(b"table", Binding::Global, STT_CUDA_OBJECT) };
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolSpec {
    /// Name.
    pub name: Vec<u8>,
    /// Binding.
    pub binding: Binding,
    /// Type, `STT_*`; four bits.
    pub kind: u8,
    /// `st_other`: visibility, kernel mark, memory space.
    pub other: u8,
    /// Section of the symbol.
    pub place: Place,
    /// Value.
    pub value: u64,
    /// Size.
    pub size: u64,
}

impl SymbolSpec {
    /// An undefined symbol of size 0.
    pub fn new(name: &[u8], binding: Binding, kind: u8) -> Self {
        SymbolSpec {
            name: name.to_vec(),
            binding,
            kind,
            other: 0,
            place: Place::Undefined,
            value: 0,
            size: 0,
        }
    }
    /// `st_info`.
    pub(super) fn info(&self) -> u8 {
        self.binding.code() << 4 | self.kind & 15
    }
}

/// State of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// In the table.
    Live,
    /// Left out; the name stays.
    Deleted,
    /// An empty entry; the bytes of the name are cleared.
    Erased,
}

/// A symbol of the builder.
#[derive(Debug, Clone)]
pub(super) struct SymbolEntry {
    pub(super) spec: SymbolSpec,
    pub(super) state: State,
    /// Binding at creation, which decides the part of the table.
    pub(super) ordered_as: Binding,
    /// The section whose symbol it is. Its name is that of the section.
    pub(super) section: Option<SectionId>,
}

impl ObjectBuilder {
    fn push_symbol(&mut self, spec: SymbolSpec, section: Option<SectionId>) -> Result<SymbolId, BuildError> {
        let id = SymbolId(number(self.symbols.len(), "number of symbols")?);
        self.symbols.push(SymbolEntry {
            ordered_as: spec.binding,
            spec,
            state: State::Live,
            section,
        });
        Ok(id)
    }

    /// The symbol of a section that is created now.
    pub(super) fn section_symbol_entry(&mut self, section: SectionId) -> Result<SymbolId, BuildError> {
        let spec = SymbolSpec {
            place: Place::Section(section),
            ..SymbolSpec::new(b"", Binding::Local, STT_SECTION)
        };
        self.push_symbol(spec, Some(section))
    }

    /// Creates a symbol. Functions and variables have creators of their own.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, SymbolSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// // A texture reference that another object defines.
    /// let texture = object.add_symbol(SymbolSpec::new(b"tex", Binding::Global, cubin::consts::STT_CUDA_TEXTURE))?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_symbol(&mut self, spec: SymbolSpec) -> Result<SymbolId, BuildError> {
        Self::check_name(&spec.name)?;
        if let Place::Section(section) = spec.place {
            self.entry(section)?;
        }
        self.push_symbol(spec, None)
    }

    /// Declares a variable of global memory that another object defines.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let elsewhere = object.declare_variable(b"elsewhere", 4)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn declare_variable(&mut self, name: &[u8], size: u64) -> Result<SymbolId, BuildError> {
        self.add_symbol(SymbolSpec {
            other: STO_CUDA_GLOBAL,
            size,
            ..SymbolSpec::new(name, Binding::Global, STT_CUDA_OBJECT)
        })
    }

    /// Says where a symbol is that was created before its section, and its size. A function that is placed so has its code in that section.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Place, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let symbol = object.declare_variable(b"v", 4)?;
    /// let section = object.add_section(SectionSpec::new(b".x"), SectionContents::Bytes(vec![0; 8]))?;
    /// object.set_place(symbol, Place::Section(section), 4, 4)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_place(&mut self, symbol: SymbolId, place: Place, value: u64, size: u64) -> Result<(), BuildError> {
        if let Place::Section(section) = place {
            self.entry(section)?;
        }
        let spec = &mut self.symbol_entry_mut(symbol)?.spec;
        spec.place = place;
        spec.value = value;
        spec.size = size;
        Ok(())
    }

    /// The symbol of a section, for relocations and attributes that refer to the section itself.
    ///
    /// Tables, relocation sections and `.nv.info` have no symbol in the file: a reference to one of theirs is an error of
    /// [`ObjectBuilder::finish`].
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, SectionContents, SectionSpec, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let section = object.add_section(SectionSpec::new(b".x"), SectionContents::Bytes(vec![0; 8]))?;
    /// let symbol = object.section_symbol(section)?;
    /// object.relocate(section, 0, 2, symbol, Some(4))?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn section_symbol(&self, section: SectionId) -> Result<SymbolId, BuildError> {
        Ok(self.entry(section)?.symbol)
    }

    /// The symbol of a function.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let function = object.declare_kernel(b"k")?;
    /// let symbol = object.function_symbol(function)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn function_symbol(&self, function: FunctionId) -> Result<SymbolId, BuildError> {
        Ok(self.function(function)?.symbol)
    }

    pub(super) fn symbol_entry(&self, symbol: SymbolId) -> Result<&SymbolEntry, BuildError> {
        self.symbols.get(symbol.0 as usize).ok_or(BuildError::UnknownId {
            what: "symbol",
            index: symbol.0,
        })
    }
    pub(super) fn symbol_entry_mut(&mut self, symbol: SymbolId) -> Result<&mut SymbolEntry, BuildError> {
        self.symbols.get_mut(symbol.0 as usize).ok_or(BuildError::UnknownId {
            what: "symbol",
            index: symbol.0,
        })
    }

    /// Name of a symbol, that of its section for section symbols.
    pub(super) fn symbol_name<'a>(&'a self, entry: &'a SymbolEntry) -> &'a [u8] {
        let section = entry.section.and_then(|s| self.sections.get(s.0 as usize));
        section.map_or(&entry.spec.name, |s| &s.spec.name)
    }
}
