//! Variables, shared memory and kernel parameters: the creators place each variable at the next aligned offset of its section.

use super::section::{Body, check_align};
use super::{Binding, BuildError, FunctionId, ObjectBuilder, Place, SectionId, SectionSpec, SymbolId, SymbolSpec};
use crate::consts::*;
use crate::write::WriterKind;

/// Last constant bank.
const LAST_BANK: u8 = (SHT_CUDA_CONSTANT17 - SHT_CUDA_CONSTANT0) as u8;

/// What the sections of one memory space have in common.
#[derive(Clone, Copy)]
struct Space {
    sh_type: u32,
    flags: u64,
    other: u8,
}

const GLOBAL: Space = Space {
    sh_type: SHT_CUDA_GLOBAL,
    flags: SHF_WRITE | SHF_ALLOC,
    other: STO_CUDA_GLOBAL,
};
const GLOBAL_INIT: Space = Space {
    sh_type: SHT_CUDA_GLOBAL_INIT,
    ..GLOBAL
};
const SHARED: Space = Space {
    sh_type: SHT_CUDA_SHARED,
    flags: SHF_WRITE | SHF_ALLOC | SHF_INFO_LINK,
    other: STO_CUDA_SHARED,
};

impl ObjectBuilder {
    /// Adds a variable of global memory that starts as zeros, in `.nv.global`.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let counter = object.add_global(b"counter", Binding::Global, 4, 4)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_global(&mut self, name: &[u8], binding: Binding, size: u64, align: u64) -> Result<SymbolId, BuildError> {
        let section = self.data_section(b".nv.global", GLOBAL, None)?;
        self.place(section, GLOBAL, name, binding, Data::Zeros(size), align)
    }

    /// Adds a variable of global memory with its first contents, in `.nv.global.init`.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let step = object.add_global_init(b"step", Binding::Local, &7u32.to_le_bytes(), 4)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_global_init(&mut self, name: &[u8], binding: Binding, bytes: &[u8], align: u64) -> Result<SymbolId, BuildError> {
        let section = self.data_section(b".nv.global.init", GLOBAL_INIT, None)?;
        self.place(section, GLOBAL_INIT, name, binding, Data::Bytes(bytes), align)
    }

    /// Adds a constant to bank `bank`, in `.nv.constant<bank>`. CUDA's `__constant__` variables are in bank 3.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let table = object.add_constant(3, b"table", Binding::Global, &[1, 2, 3, 4], 4)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_constant(&mut self, bank: u8, name: &[u8], binding: Binding, bytes: &[u8], align: u64) -> Result<SymbolId, BuildError> {
        if bank > LAST_BANK {
            return Err(BuildError::Bank { bank });
        }
        let space = Space {
            sh_type: SHT_CUDA_CONSTANT0 + u32::from(bank),
            flags: SHF_ALLOC,
            other: STO_CUDA_CONSTANT,
        };
        let section = self.data_section(format!(".nv.constant{bank}").as_bytes(), space, None)?;
        self.place(section, space, name, binding, Data::Bytes(bytes), align)
    }

    /// Adds a variable of shared memory of a kernel, in `.nv.shared.<kernel>`. Its offset is chosen by the linker: as in objects of ptxas, the
    /// value of the symbol is the alignment, and the size of the section is the sum of the variables.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// let buffer = object.add_shared(kernel, b"buffer", 256, 8)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_shared(&mut self, kernel: FunctionId, name: &[u8], size: u64, align: u64) -> Result<SymbolId, BuildError> {
        let text = self.text_of(kernel)?;
        let section = self.suffixed(b".nv.shared.", kernel)?;
        let section = self.data_section(&section, SHARED, Some(text))?;
        check_align(name, align)?;
        let symbol = self.place(section, SHARED, name, Binding::Local, Data::Zeros(size), 1)?;
        let spec = &mut self.entry_mut(section)?.spec;
        spec.align = spec.align.max(align);
        self.set_place(symbol, Place::Section(section), align, size)?;
        Ok(symbol)
    }

    /// Creates the parameter bank `.nv.constant0.<kernel>` for `size` bytes of parameters after the architecture's own values. Objects of the
    /// linker's writer also get the symbol `_param`.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// let bank = object.add_parameters(kernel, 12)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_parameters(&mut self, kernel: FunctionId, size: u16) -> Result<SectionId, BuildError> {
        let text = self.text_of(kernel)?;
        let name = self.suffixed(b".nv.constant0.", kernel)?;
        let base = self.target.parameter_base();
        let spec = SectionSpec {
            sh_type: SHT_CUDA_CONSTANT0,
            flags: SHF_ALLOC | SHF_INFO_LINK,
            align: 4,
            ..SectionSpec::new(&name)
        };
        let bytes = vec![0; usize::from(base) + usize::from(size)];
        let bank = self.create(spec.info(text), Body::Bytes(bytes))?;
        if self.writer == WriterKind::Linker && size != 0 {
            self.add_symbol(SymbolSpec {
                other: STO_CUDA_CONSTANT | STV_INTERNAL,
                place: Place::Section(bank),
                value: base.into(),
                size: size.into(),
                ..SymbolSpec::new(b"_param", Binding::Local, STT_CUDA_OBJECT)
            })?;
        }
        Ok(bank)
    }

    /// The section of a name, created if it does not exist.
    fn data_section(&mut self, name: &[u8], space: Space, owner: Option<SectionId>) -> Result<SectionId, BuildError> {
        if let Some(section) = self.section_by_name(name) {
            return Ok(section);
        }
        let spec = SectionSpec {
            sh_type: space.sh_type,
            flags: space.flags,
            ..SectionSpec::new(name)
        };
        let spec = match owner {
            Some(text) => spec.info(text),
            None => spec,
        };
        let in_file = !matches!(space.sh_type, SHT_CUDA_GLOBAL | SHT_CUDA_SHARED);
        self.create(spec, if in_file { Body::Bytes(Vec::new()) } else { Body::NoBits(0) })
    }

    /// Puts a variable at the end of its section.
    fn place(
        &mut self,
        section: SectionId,
        space: Space,
        name: &[u8],
        binding: Binding,
        data: Data<'_>,
        align: u64,
    ) -> Result<SymbolId, BuildError> {
        Self::check_name(name)?;
        check_align(name, align)?;
        let size = match data {
            Data::Zeros(size) => size,
            Data::Bytes(bytes) => bytes.len() as u64,
        };
        let entry = self.entry_mut(section)?;
        let end = match &entry.body {
            Body::NoBits(size) => *size,
            Body::Bytes(bytes) => bytes.len() as u64,
            _ => 0,
        };
        let too_large = BuildError::TooLarge {
            what: "end of a data section",
            value: u64::MAX,
            max: isize::MAX as u64,
        };
        let value = end.checked_next_multiple_of(align).ok_or_else(|| too_large.clone())?;
        let new_end = value.checked_add(size).filter(|&e| e <= isize::MAX as u64).ok_or(too_large)?;
        match (&mut entry.body, data) {
            (Body::NoBits(total), _) => *total = new_end,
            (Body::Bytes(bytes), Data::Bytes(new)) => {
                bytes.resize(usize::try_from(value).unwrap_or(bytes.len()), 0);
                bytes.extend_from_slice(new);
            }
            _ => {}
        }
        entry.spec.align = entry.spec.align.max(align);
        self.add_symbol(SymbolSpec {
            other: space.other,
            place: Place::Section(section),
            value,
            size,
            ..SymbolSpec::new(name, binding, STT_CUDA_OBJECT)
        })
    }
}

/// First contents of a variable.
enum Data<'a> {
    Zeros(u64),
    Bytes(&'a [u8]),
}
