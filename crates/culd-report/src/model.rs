//! The description of a link or a device file. It is written as JSON as it is: the names of fields are those of docs/json.md.

use crate::occupancy::Limits;
use serde::Serialize;

/// Everything that a page shows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Name and version of the layout.
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub culd: &'static str,
    /// What it is about: the output of a link, or the files.
    pub title: String,
    /// `linked`, `errors` or `fatal` for a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// One for each cubin.
    pub units: Vec<Unit>,
    /// Messages of a link, and what could not be read.
    pub messages: Vec<Message>,
    /// The architectures that occupancy can be calculated for.
    pub architectures: Vec<Limits>,
    /// The difference from another description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
}

/// One cubin.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Unit {
    /// File, and the part of it.
    pub name: String,
    /// The file it is in.
    pub file: String,
    /// `sm_90`.
    pub arch: String,
    /// Number of the architecture.
    pub sm: u32,
    /// Bytes of the cubin.
    pub size: u64,
    /// An object that is not linked yet: registers and stack are those of each function alone.
    pub relocatable: bool,
    /// Functions with code: kernels first.
    pub functions: Vec<Function>,
    /// Callers and callees as positions in `functions`.
    pub calls: Vec<[u32; 2]>,
    /// Inputs of the link, in link order.
    pub inputs: Vec<String>,
    /// Memory.
    pub spaces: Vec<Space>,
    /// Sections of the file.
    pub sections: Vec<Section>,
    /// What is not in the output of the link.
    pub dropped: Vec<Dropped>,
}

/// A function and what it needs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Function {
    /// Name in the file.
    pub name: String,
    /// The C++ name; the name in the file for others.
    pub demangled: String,
    /// The C++ name without return type, template arguments and parameters.
    pub family: String,
    /// It is a kernel.
    pub kernel: bool,
    /// Bytes of code.
    pub code: u64,
    /// Registers per thread; of a linked kernel with everything that it calls.
    pub registers: Option<u32>,
    /// Registers of the function alone, known from the inputs of a link.
    pub own_registers: Option<u32>,
    /// Limit on registers that the compiler was given.
    pub max_registers: Option<u32>,
    /// Bytes of its own stack frame.
    pub frame: Option<u32>,
    /// Bytes of stack with everything that it calls.
    pub stack: Option<u32>,
    /// The stack cannot be known: recursion or calls through pointers.
    pub stack_unknown: bool,
    /// Instructions that load from local memory and store to it: spilled registers and arrays. Absent before sm_70.
    pub local_access: Option<[u32; 2]>,
    /// Named barriers.
    pub barriers: u32,
    /// Bytes of static shared memory, without what the system reserves.
    pub shared: u64,
    /// It uses shared memory whose size the launch decides. Only known for kernels without static shared memory.
    pub dynamic_shared: bool,
    /// Bytes of local memory in a section of its own.
    pub local: u64,
    /// Constant banks and bytes.
    pub constants: Vec<[u64; 2]>,
    /// Bytes of parameters.
    pub parameters: Option<u32>,
    /// Limit on threads per block: `__launch_bounds__`.
    pub max_threads: Option<u32>,
    /// Threads per block that a launch must have.
    pub required_threads: Option<u32>,
    /// Position in `inputs`.
    pub input: Option<u32>,
    /// It calls through pointers.
    pub indirect: bool,
    /// Calls that lead to the function which sets the registers, itself first.
    pub registers_path: Vec<u32>,
    /// Calls whose frames add up to the most, itself first.
    pub stack_path: Vec<u32>,
}

/// A memory space.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Space {
    /// `global`, `constant bank 3`, `shared`.
    pub name: String,
    /// Section, where it is one.
    pub section: String,
    /// Bytes.
    pub size: u64,
    /// Variables by offset.
    pub variables: Vec<Variable>,
}

/// A variable.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Variable {
    /// Name in the file.
    pub name: String,
    /// The C++ name; the name in the file for others.
    pub demangled: String,
    /// Offset in the section.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Position in `inputs`.
    pub input: Option<u32>,
    /// The kernel that it belongs to, for shared memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

/// A section.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Name.
    pub name: String,
    /// Bytes; in memory for sections without bytes in the file.
    pub size: u64,
    /// The bytes are in the file.
    pub in_file: bool,
}

/// Something that is not in the output.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Dropped {
    /// Name in the file.
    pub name: String,
    /// The C++ name; the name in the file for others.
    pub demangled: String,
    /// Bytes.
    pub size: u64,
    /// Input, or `archive:member`.
    pub input: String,
    /// Why, in words.
    pub why: String,
}

/// A message.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Message {
    /// `info`, `warning`, `error` or `fatal`.
    pub severity: String,
    /// The kind of message.
    pub code: String,
    /// The text.
    pub text: String,
}

impl Unit {
    /// Bytes of code of all functions.
    pub fn code(&self) -> u64 {
        self.functions.iter().map(|f| f.code).fold(0, u64::saturating_add)
    }

    /// The input that a position names.
    pub fn input(&self, position: Option<u32>) -> Option<&str> {
        self.inputs.get(position? as usize).map(String::as_str)
    }
}

/// The numbers of a function that are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Numbers {
    /// Bytes of code.
    pub code: u64,
    /// Registers.
    pub registers: u64,
    /// Bytes of stack; absent when unknown.
    pub stack: Option<u64>,
    /// Bytes of static shared memory.
    pub shared: u64,
}

/// One function before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The C++ name.
    pub name: String,
    /// It is a kernel.
    pub kernel: bool,
    /// Architecture.
    pub arch: String,
    /// Absent for new functions.
    pub before: Option<Numbers>,
    /// Absent for functions that are gone.
    pub after: Option<Numbers>,
}

/// The difference of two descriptions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Growth {
    /// Names of the two.
    pub names: [String; 2],
    /// Bytes of all cubins.
    pub size: [u64; 2],
    /// Bytes of all code.
    pub code: [u64; 2],
    /// Functions whose numbers differ, the largest change of code first.
    pub changes: Vec<Change>,
    /// Functions whose numbers are equal.
    pub same: u64,
    /// Cubins that only one side has.
    pub unpaired: Vec<String>,
}
