//! The resources of every function, collected from where the format scatters them.
//!
//! 1. One pass over the sections groups them by the code section they belong to (`sh_info`).
//! 2. One pass over the module's `.nv.info` collects registers, frame and stack by symbol.
//! 3. Every function symbol that has a code section becomes a row.

use super::model::Model;
use crate::names;
use crate::view::{Home, View};
use cubin::consts::{SHT_CUDA_INFO, STO_CUDA_ENTRY, STT_FUNC};
use cubin::kind::{SectionKind, classify};
use cubin::nvinfo::Value;
use serde::Serialize;
use std::borrow::Cow;

const FRAME_SIZE: u8 = 0x11;
const MIN_STACK_SIZE: u8 = 0x12;
const MAX_STACK_SIZE: u8 = 0x23;
const MAX_THREADS: u8 = 0x05;
const REQUIRED_THREADS: u8 = 0x10;
const MAX_REGISTERS: u8 = 0x1b;
const REGISTERS: u8 = 0x2f;
const BARRIERS: u8 = 0x4c;

/// A constant bank of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BankRow {
    /// Number of the bank.
    pub bank: u32,
    /// Bytes.
    pub size: u64,
}

/// A kernel parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ParamRow {
    /// Position.
    pub ordinal: u32,
    /// Offset from the first parameter.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// A function and what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FunctionRow<'d> {
    /// Name.
    pub name: Cow<'d, str>,
    /// C++ name, with `--demangle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// True for kernels.
    pub kernel: bool,
    /// Bytes of code.
    pub code_size: u64,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Limit on registers; 255 means none.
    pub max_registers: Option<u32>,
    /// Bytes of its own stack frame.
    pub frame: Option<u32>,
    /// Bytes of stack with everything it calls; 4294967295 when unknown.
    pub stack: Option<u32>,
    /// Barriers.
    pub barriers: u32,
    /// Bytes of shared memory known before launch.
    pub shared: u64,
    /// Bytes of local memory in a section of its own.
    pub local: u64,
    /// Constant banks.
    pub constant_banks: Vec<BankRow>,
    /// Offset of the parameters in bank 0.
    pub parameters_offset: Option<u32>,
    /// Bytes of all parameters.
    pub parameters_size: Option<u32>,
    /// Parameters by position.
    pub parameters: Vec<ParamRow>,
    /// Limit on threads per block.
    pub max_threads: Option<[u32; 3]>,
    /// Required threads per block.
    pub required_threads: Option<[u32; 3]>,
}

/// What the module's `.nv.info` says of one function.
#[derive(Debug, Clone, Copy, Default)]
struct Needs {
    registers: Option<u32>,
    frame: Option<u32>,
    min_stack: Option<u32>,
    max_stack: Option<u32>,
}

/// What the module's `.nv.info` says, by symbol index.
fn module_attributes(view: &View<'_>, symbols: usize) -> Vec<Needs> {
    let mut found = vec![Needs::default(); symbols];
    for section in view.sections.iter().filter(|s| s.header.sh_type.get() == SHT_CUDA_INFO) {
        for record in cubin::nvinfo::records(section.data).flatten() {
            let slot = match record.attribute {
                REGISTERS | FRAME_SIZE | MIN_STACK_SIZE | MAX_STACK_SIZE => record.word(0).and_then(|s| found.get_mut(s as usize)),
                _ => None,
            };
            let (Some(needs), Some(value)) = (slot, record.word(1)) else {
                continue;
            };
            let field = match record.attribute {
                REGISTERS => &mut needs.registers,
                FRAME_SIZE => &mut needs.frame,
                MIN_STACK_SIZE => &mut needs.min_stack,
                _ => &mut needs.max_stack,
            };
            *field = Some(value);
        }
    }
    found
}

/// Sections of functions, by the code section they belong to.
fn by_code(view: &View<'_>) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); view.sections.len()];
    for s in view.sections.iter().filter(|s| super::model::function_of(s.name).is_some()) {
        if let Some(list) = lists.get_mut(s.header.sh_info.get() as usize) {
            list.push(s.index);
        }
    }
    lists
}

impl<'v, 'd> Model<'v, 'd> {
    /// Functions with code: kernels first, each group in the order of the symbol table.
    pub fn functions(&self) -> Vec<FunctionRow<'d>> {
        let view = self.view;
        let Some(table) = view.tables.first() else {
            return Vec::new();
        };
        let module = module_attributes(view, table.entries.len());
        let by_code = by_code(view);
        let mut out = Vec::new();
        for (index, entry) in table.entries.iter().enumerate() {
            let index = index as u32;
            let Home::Section(code) = table.home(index) else { continue };
            let name = table.name(index);
            if entry.kind() != STT_FUNC || !(self.shows_all() || self.shows_function(name)) {
                continue;
            }
            let Some(text) = view.section(code) else { continue };
            let needs = module.get(index as usize).copied().unwrap_or_default();
            let info = text.header.sh_info.get() >> 24;
            let mut row = FunctionRow {
                name: names::text(name),
                demangled: self.demangled(name),
                kernel: entry.st_other & STO_CUDA_ENTRY != 0,
                code_size: text.header.sh_size.get(),
                registers: needs.registers.or((info != 0).then_some(info)),
                max_registers: None,
                frame: needs.frame,
                stack: needs.min_stack.or(needs.max_stack),
                barriers: (text.header.sh_flags.get() >> 20 & 0x7f) as u32,
                shared: 0,
                local: 0,
                constant_banks: Vec::new(),
                parameters_offset: None,
                parameters_size: None,
                parameters: Vec::new(),
                max_threads: None,
                required_threads: None,
            };
            for &section in by_code.get(code as usize).into_iter().flatten() {
                self.collect(section, &mut row);
            }
            row.constant_banks.sort_by_key(|b| b.bank);
            row.parameters.sort_by_key(|p| p.ordinal);
            out.push(row);
        }
        out.sort_by_key(|r| !r.kernel);
        out
    }

    fn collect(&self, section: u32, row: &mut FunctionRow<'d>) {
        let Some(s) = self.view.section(section) else { return };
        let size = s.header.sh_size.get();
        if s.header.sh_type.get() == SHT_CUDA_INFO {
            for record in cubin::nvinfo::records(s.data).flatten() {
                collect_attribute(record.attribute, &record.value(), row);
            }
        } else if s.name.starts_with(b".nv.shared.") {
            row.shared = size;
        } else if s.name.starts_with(b".nv.local.") {
            row.local = size;
        } else if let SectionKind::Constant(bank) = classify(s.name, s.header.sh_type.get()) {
            row.constant_banks.push(BankRow { bank: bank.into(), size });
        }
    }
}

fn collect_attribute(code: u8, value: &Value<'_>, row: &mut FunctionRow<'_>) {
    match (code, *value) {
        (BARRIERS, Value::Byte(n)) => row.barriers = n.into(),
        (MAX_REGISTERS, Value::Half(n)) => row.max_registers = Some(n.into()),
        (MAX_THREADS, Value::Dim3(xyz)) => row.max_threads = Some(xyz),
        (REQUIRED_THREADS, Value::Dim3(xyz)) => row.required_threads = Some(xyz),
        (_, Value::ParamBank { offset, size, .. }) => {
            row.parameters_offset = Some(offset.into());
            row.parameters_size = Some(size.into());
        }
        (_, Value::Param(p)) => row.parameters.push(ParamRow {
            ordinal: p.ordinal.into(),
            offset: p.offset.into(),
            size: p.size.into(),
        }),
        (_, Value::ParamV2(p)) => row.parameters.push(ParamRow {
            ordinal: p.index,
            offset: p.offset,
            size: p.size.into(),
        }),
        _ => {}
    }
}
