//! Functions: code, attributes, call graph, prototypes.

use super::ids::shown;
use super::section::{Body, number};
use super::{
    Attribute, Binding, BuildError, Form, FunctionId, ObjectBuilder, Place, PrototypeId, Reference, SectionId, SectionSpec, SymbolId,
    SymbolSpec,
};
use crate::consts::*;

/// `EIATTR_NUM_BARRIERS`.
const NUM_BARRIERS: u8 = 0x4c;
/// `EIATTR_REGCOUNT`, `EIATTR_MAX_STACK_SIZE`, `EIATTR_FRAME_SIZE`.
const RESOURCES: [u8; 3] = [0x2f, 0x23, 0x11];

/// Code of a function, with the resources that the hardware needs for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionCode {
    /// Instructions.
    pub bytes: Vec<u8>,
    /// Registers per thread.
    pub registers: u8,
    /// Number of barriers: in the flags of a CUDA 12 section (up to 127), as an attribute in CUDA 13.
    pub barriers: u8,
    /// Alignment; ptxas uses 128.
    pub align: u64,
    /// Size of the function's symbol, if it differs from the size of the code.
    pub size: Option<u64>,
}

impl FunctionCode {
    /// Code without barriers, aligned to 128 bytes.
    pub fn new(bytes: Vec<u8>, registers: u8) -> Self {
        FunctionCode {
            bytes,
            registers,
            barriers: 0,
            align: 128,
            size: None,
        }
    }
    /// Sets the number of barriers.
    pub fn barriers(mut self, count: u8) -> Self {
        self.barriers = count;
        self
    }
}

/// What a function needs per thread; becomes three attributes of `.nv.info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    /// Registers.
    pub registers: u32,
    /// Largest stack of the function with everything it calls, as far as the object shows it.
    pub max_stack: u32,
    /// Stack frame of the function itself.
    pub frame: u32,
}

/// A function of the builder.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) symbol: SymbolId,
    pub(super) text: Option<SectionId>,
    pub(super) info: Option<SectionId>,
    pub(super) registers: u8,
    pub(super) resources: Option<Resources>,
    pub(super) attributes: Vec<Attribute>,
    pub(super) is_kernel: bool,
    pub(super) deleted: bool,
}

/// The call graph and the prototype table.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    pub(super) calls: Vec<(FunctionId, FunctionId)>,
    pub(super) address_taken: Vec<(FunctionId, PrototypeId)>,
    pub(super) indirect_calls: Vec<(FunctionId, PrototypeId)>,
    pub(super) takers: Vec<(FunctionId, FunctionId)>,
    pub(super) prototypes: Vec<(FunctionId, PrototypeId)>,
}

impl ObjectBuilder {
    /// Declares a kernel: creates its global symbol.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let kernel = object.declare_kernel(b"k")?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn declare_kernel(&mut self, name: &[u8]) -> Result<FunctionId, BuildError> {
        self.declare(name, Binding::Global, STO_CUDA_ENTRY)
    }

    /// Declares a device function: creates its symbol. Without [`ObjectBuilder::define`] another object has to define it.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let helper = object.declare_function(b"helper", Binding::Global)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn declare_function(&mut self, name: &[u8], binding: Binding) -> Result<FunctionId, BuildError> {
        self.declare(name, binding, 0)
    }

    /// Declares a function with the bits of `st_other`; [`STO_CUDA_ENTRY`] makes it a kernel.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let kernel = object.declare(b"template_instance", Binding::Weak, cubin::consts::STO_CUDA_ENTRY)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn declare(&mut self, name: &[u8], binding: Binding, other: u8) -> Result<FunctionId, BuildError> {
        let id = FunctionId(number(self.functions.len(), "number of functions")?);
        let symbol = self.add_symbol(SymbolSpec {
            other,
            ..SymbolSpec::new(name, binding, STT_FUNC)
        })?;
        self.functions.push(Function {
            symbol,
            text: None,
            info: None,
            registers: 0,
            resources: None,
            attributes: Vec::new(),
            is_kernel: other & STO_CUDA_ENTRY != 0,
            deleted: false,
        });
        Ok(id)
    }

    /// Gives a function its code: creates `.text.<name>`.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// let text = object.define(kernel, FunctionCode::new(vec![0; 128], 24).barriers(1))?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn define(&mut self, function: FunctionId, code: FunctionCode) -> Result<SectionId, BuildError> {
        let f = self.function(function)?;
        let symbol = f.symbol;
        let name = self.symbol_entry(symbol)?.spec.name.clone();
        if f.text.is_some() {
            return Err(BuildError::Redefined { name: shown(&name) });
        }
        super::section::check_align(&name, code.align)?;
        let barriers = match self.form {
            Form::Cuda12 => u64::from(code.barriers) << 20,
            Form::Cuda13 => 0,
        };
        if barriers & !SHF_CUDA_BARRIERS != 0 {
            return Err(BuildError::TooLarge {
                what: "number of barriers",
                value: code.barriers.into(),
                max: SHF_CUDA_BARRIERS >> 20,
            });
        }
        let size = code.size.unwrap_or(code.bytes.len() as u64);
        let spec = SectionSpec {
            flags: SHF_ALLOC | SHF_EXECINSTR | barriers,
            info: Reference::Function(function),
            align: code.align,
            ..SectionSpec::new(&[b".text.", name.as_slice()].concat())
        };
        let text = self.create(spec.link(self.tables.symbols), Body::Bytes(code.bytes))?;
        let spec = &mut self.symbol_entry_mut(symbol)?.spec;
        spec.place = Place::Section(text);
        spec.size = size;
        let f = self.function_mut(function)?;
        f.text = Some(text);
        f.registers = code.registers;
        if self.form == Form::Cuda13 && code.barriers != 0 {
            self.function_attribute(function, Attribute::byte(NUM_BARRIERS, code.barriers))?;
        }
        Ok(text)
    }

    /// States what a function needs. ptxas writes these attributes for every function, the last function first, before other attributes of
    /// `.nv.info`.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Resources, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// object.set_resources(kernel, Resources { registers: 24, ..Resources::default() })?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_resources(&mut self, function: FunctionId, resources: Resources) -> Result<(), BuildError> {
        self.function_mut(function)?.resources = Some(resources);
        Ok(())
    }

    /// The attributes that resources become.
    pub(super) fn resource_attributes(&self) -> Vec<Attribute> {
        let live = self.functions.iter().rev().filter(|f| !f.deleted);
        let attributes = |f: &Function| {
            let r = f.resources?;
            let values = [r.registers, r.max_stack, r.frame];
            Some(
                RESOURCES
                    .into_iter()
                    .zip(values)
                    .map(|(code, v)| Attribute::symbol_value(code, f.symbol, v))
                    .collect::<Vec<_>>(),
            )
        };
        live.filter_map(attributes).flatten().collect()
    }

    /// Adds an attribute of a function with code: `.nv.info.<name>` is created with the first one.
    ///
    /// ```
    /// # use cubin::build::{Attribute, FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// // EIATTR_MAXREG_COUNT
    /// object.function_attribute(kernel, Attribute::half(0x1b, 255))?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn function_attribute(&mut self, function: FunctionId, attribute: Attribute) -> Result<(), BuildError> {
        self.info_section(function)?;
        self.function_mut(function)?.attributes.push(attribute);
        Ok(())
    }

    /// The attribute section of a function with code, created if it does not exist. Calls before the first attribute fix its place among others.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// let info = object.info_section(kernel)?;
    /// assert_eq!(object.section_by_name(b".nv.info.k"), Some(info));
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn info_section(&mut self, function: FunctionId) -> Result<SectionId, BuildError> {
        if let Some(info) = self.function(function)?.info {
            return Ok(info);
        }
        let text = self.text_of(function)?;
        let name = self.suffixed(b".nv.info.", function)?;
        let spec = SectionSpec {
            sh_type: SHT_CUDA_INFO,
            flags: SHF_INFO_LINK,
            align: 4,
            ..SectionSpec::new(&name)
        };
        let info = self.create(spec.link(self.tables.symbols).info(text), Body::FunctionInfo(function))?;
        self.function_mut(function)?.info = Some(info);
        Ok(info)
    }

    /// Makes a prototype for the call graph. Equal strings give equal handles; that of kernels is empty.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// // One 32-bit result, one 32-bit parameter, as ptxas writes it.
    /// let prototype = object.prototype(b"#ii")?;
    /// assert_eq!(object.prototype(b"#ii")?, prototype);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn prototype(&mut self, string: &[u8]) -> Result<PrototypeId, BuildError> {
        if string.contains(&0) {
            return Err(BuildError::Name { name: shown(string) });
        }
        if let Some(&known) = self.prototype_ids.get(string) {
            return Ok(known);
        }
        let id = PrototypeId(number(self.prototypes.len(), "number of prototypes")?);
        self.prototypes.push(super::Prototype {
            string: string.to_vec(),
            created: self.symbols.len(),
        });
        self.prototype_ids.insert(string.to_vec(), id);
        Ok(id)
    }

    /// Adds a call to the call graph.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # let helper = object.declare_function(b"helper", Binding::Global)?;
    /// object.add_call(kernel, helper)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_call(&mut self, caller: FunctionId, callee: FunctionId) -> Result<(), BuildError> {
        self.function(caller).and(self.function(callee))?;
        self.graph.calls.push((caller, callee));
        Ok(())
    }

    /// States that a function's address is taken, by code or data, and what its prototype is.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let helper = object.declare_function(b"helper", Binding::Global)?;
    /// let prototype = object.prototype(b"#ii")?;
    /// object.add_address_taken(helper, prototype)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_address_taken(&mut self, function: FunctionId, prototype: PrototypeId) -> Result<(), BuildError> {
        self.check_prototype(function, prototype)?;
        self.graph.address_taken.push((function, prototype));
        Ok(())
    }

    /// States that a function calls through pointers with this prototype.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// let prototype = object.prototype(b"#ii")?;
    /// object.add_indirect_call(kernel, prototype)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_indirect_call(&mut self, caller: FunctionId, prototype: PrototypeId) -> Result<(), BuildError> {
        self.check_prototype(caller, prototype)?;
        self.graph.indirect_calls.push((caller, prototype));
        Ok(())
    }

    /// States that the code of `taker` takes the address of `function`.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// # let helper = object.declare_function(b"helper", Binding::Global)?;
    /// object.add_address_taker(kernel, helper)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn add_address_taker(&mut self, taker: FunctionId, function: FunctionId) -> Result<(), BuildError> {
        self.function(taker).and(self.function(function))?;
        self.graph.takers.push((taker, function));
        Ok(())
    }

    /// Adds a function to `.nv.prototype`; ptxas lists device functions there that other objects can see.
    ///
    /// ```
    /// # use cubin::build::{Binding, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let helper = object.declare_function(b"helper", Binding::Global)?;
    /// let prototype = object.prototype(b"#ii")?;
    /// object.set_prototype(helper, prototype)?;
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn set_prototype(&mut self, function: FunctionId, prototype: PrototypeId) -> Result<(), BuildError> {
        self.check_prototype(function, prototype)?;
        self.graph.prototypes.push((function, prototype));
        Ok(())
    }

    fn check_prototype(&self, function: FunctionId, prototype: PrototypeId) -> Result<(), BuildError> {
        self.function(function)?;
        let found = self.prototypes.get(prototype.0 as usize);
        found.map(|_| ()).ok_or(BuildError::UnknownId {
            what: "prototype",
            index: prototype.0,
        })
    }

    /// The section with a function's code.
    ///
    /// ```
    /// # use cubin::build::{FunctionCode, Form, ObjectBuilder, Target};
    /// # let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// # let kernel = object.declare_kernel(b"k")?;
    /// assert!(object.text_of(kernel).is_err());
    /// let text = object.define(kernel, FunctionCode::new(vec![0; 128], 24))?;
    /// assert_eq!(object.text_of(kernel)?, text);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn text_of(&self, function: FunctionId) -> Result<SectionId, BuildError> {
        let f = self.function(function)?;
        let spec = &self.symbol_entry(f.symbol)?.spec;
        match (f.text, spec.place) {
            (Some(section), _) | (None, Place::Section(section)) => Ok(section),
            _ => Err(BuildError::NoCode { name: shown(&spec.name) }),
        }
    }

    pub(super) fn function(&self, function: FunctionId) -> Result<&Function, BuildError> {
        self.functions.get(function.0 as usize).ok_or(BuildError::UnknownId {
            what: "function",
            index: function.0,
        })
    }
    pub(super) fn function_mut(&mut self, function: FunctionId) -> Result<&mut Function, BuildError> {
        self.functions.get_mut(function.0 as usize).ok_or(BuildError::UnknownId {
            what: "function",
            index: function.0,
        })
    }

    /// A prefix with the function's name.
    pub(super) fn suffixed(&self, prefix: &[u8], function: FunctionId) -> Result<Vec<u8>, BuildError> {
        let symbol = self.function(function)?.symbol;
        Ok([prefix, &self.symbol_entry(symbol)?.spec.name].concat())
    }

    /// The call graph and prototype sections, which ptxas creates last.
    pub(super) fn create_graph_sections(&mut self) -> Result<(), BuildError> {
        let pairs = |name: &[u8], sh_type, symbols| {
            let spec = SectionSpec {
                sh_type,
                align: 4,
                entsize: 8,
                ..SectionSpec::new(name)
            };
            spec.link(symbols)
        };
        let symbols = self.tables.symbols;
        if self.section_by_name(b".nv.callgraph").is_none() {
            self.create(pairs(b".nv.callgraph", SHT_CUDA_CALLGRAPH, symbols), Body::CallGraph)?;
        }
        if self.section_by_name(b".nv.prototype").is_none() {
            let table = self.create(pairs(b".nv.prototype", SHT_CUDA_PROTOTYPE, symbols), Body::Prototypes)?;
            // An empty table leaves its name.
            if self.graph.prototypes.is_empty() {
                self.abandon(table)?;
            }
        }
        Ok(())
    }
}
