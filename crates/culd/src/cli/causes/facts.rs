//! Facts about the symbols of the linked objects. They are read again from the bytes when a message needs them.
//!
//! 1. Every symbol with a name, where it is, its size and its memory space.
//! 2. Calls, indirect calls and functions whose address is taken, from `.nv.callgraph`.
//! 3. Functions and the symbols that their relocations refer to, with the source lines where the object has a line table. Variables whose
//!    initial value refers to a symbol.
//! 4. An object that cannot be read has no facts: the messages of the link already report its defect.

use super::lines::{Line, Lines};
use cubin::Cubin;
use cubin::callgraph::CallGraph;
use cubin::consts::*;
use cubin::read::SymbolSection;
use cubin::tables::prototypes;
use std::collections::HashMap;

/// Whether an object has a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    Undefined,
    /// A variable without initial value.
    Common,
    Defined,
}

/// A symbol of an object.
#[derive(Debug)]
pub struct Symbol {
    pub name: String,
    pub size: u64,
    pub home: Home,
    pub kind: u8,
    pub bind: u8,
    other: u8,
}

impl Symbol {
    pub fn is_function(&self) -> bool {
        self.kind == STT_FUNC
    }

    pub fn is_kernel(&self) -> bool {
        self.is_function() && self.other & STO_CUDA_ENTRY != 0
    }

    pub fn is_local(&self) -> bool {
        self.bind == STB_LOCAL
    }

    pub fn is_managed(&self) -> bool {
        self.other & STO_CUDA_MANAGED != 0
    }

    /// A variable in constant memory.
    pub fn is_constant(&self) -> bool {
        self.other & STO_CUDA_SPACE == STO_CUDA_CONSTANT
    }

    /// What it is, as its declaration says.
    pub fn what(&self) -> &'static str {
        match (self.kind, self.other & STO_CUDA_SPACE) {
            (STT_FUNC, _) if self.is_kernel() => "__global__ function",
            (STT_FUNC, _) => "__device__ function",
            (STT_CUDA_TEXTURE, _) => "texture",
            (STT_CUDA_SAMPLER, _) => "sampler",
            (STT_CUDA_SURFACE, _) => "surface",
            (_, STO_CUDA_SHARED) => "__shared__",
            (_, STO_CUDA_CONSTANT) => "__constant__",
            (_, STO_CUDA_GLOBAL) if self.is_managed() => "__managed__",
            (_, STO_CUDA_GLOBAL) => "__device__",
            _ => "a variable",
        }
    }
}

/// An object of the link.
#[derive(Debug, Default)]
pub struct Object {
    pub name: String,
    /// Symbols by their index in the file.
    pub symbols: Vec<Symbol>,
    /// Caller and callee.
    pub calls: Vec<(u32, u32)>,
    /// Callers of indirect calls, and the prototype.
    pub sites: Vec<(u32, String)>,
    /// Functions whose address is taken, and their prototype.
    pub taken: Vec<(u32, String)>,
    /// Functions and their prototype.
    pub prototypes: Vec<(u32, String)>,
    /// Functions, and what their code refers to.
    pub uses: Vec<(u32, u32)>,
    /// Variables, and what their initial value refers to.
    pub data_uses: Vec<(u32, u32)>,
    /// Source files.
    files: Vec<String>,
    /// Where a function refers to a symbol, in the order of the code.
    lines: HashMap<(u32, u32), Vec<Line>>,
    /// Where a function calls through a pointer.
    site_lines: HashMap<u32, Vec<Line>>,
}

impl Object {
    /// Reads an object; empty where it cannot be read.
    ///
    /// `budget`: how many bytes of line tables are read; what this object's table has is subtracted.
    pub fn read(name: &str, bytes: &[u8], budget: &mut usize) -> Self {
        let mut object = Object {
            name: name.to_owned(),
            ..Object::default()
        };
        if let Ok(cubin) = Cubin::parse(bytes) {
            object.add_symbols(&cubin);
            object.add_graph(&cubin);
            let size = cubin.section_by_name(b".debug_line").map_or(0, |s| s.data.len());
            let lines = budget.checked_sub(size).filter(|_| size > 0).map(|rest| {
                *budget = rest;
                Lines::read(&cubin)
            });
            object.add_uses(&cubin, &lines.unwrap_or_default());
        }
        object
    }

    /// The symbol with this name that others can see, or else a local one.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        let mut named = self.symbols.iter().filter(|s| s.name == name);
        let first = named.next()?;
        match first.is_local() {
            true => named.find(|s| !s.is_local()).or(Some(first)),
            false => Some(first),
        }
    }

    pub fn prototype(&self, name: &str) -> Option<&str> {
        let named = |index: u32| self.symbols.get(index as usize).is_some_and(|s| s.name == name);
        let (_, prototype) = self.prototypes.iter().find(|(index, _)| named(*index))?;
        Some(prototype.split('|').next().unwrap_or_default())
    }

    fn add_symbols(&mut self, cubin: &Cubin<'_>) {
        for index in 0..cubin.symbol_entries().len() as u32 {
            let symbol = cubin.symbol(index).ok();
            let entry = symbol.map(|s| *s.entry).unwrap_or_default();
            let is_named = entry.kind() != STT_SECTION;
            self.symbols.push(Symbol {
                name: symbol.filter(|_| is_named).map(|s| lossy(s.name)).unwrap_or_default(),
                size: entry.st_size.get(),
                home: match symbol.map(|s| s.section) {
                    Some(SymbolSection::Index(_)) => Home::Defined,
                    Some(SymbolSection::Common) => Home::Common,
                    _ => Home::Undefined,
                },
                kind: entry.kind(),
                bind: entry.bind(),
                other: entry.st_other,
            });
        }
    }

    fn add_graph(&mut self, cubin: &Cubin<'_>) {
        let string = |offset: u32| cubin.string(offset).map(lossy).unwrap_or_default();
        if let Some(graph) = cubin.section_by_name(b".nv.callgraph").and_then(|s| CallGraph::read(s.data).ok()) {
            self.calls = graph.calls.iter().map(|p| (p.first.get(), p.second.get())).collect();
            self.sites = graph
                .indirect_calls
                .iter()
                .map(|p| (p.first.get(), string(p.second.get())))
                .collect();
            self.taken = graph
                .address_taken
                .iter()
                .map(|p| (p.first.get(), string(p.second.get())))
                .collect();
        }
        if let Some(pairs) = cubin
            .section_by_name(b".nv.prototype")
            .map(|s| prototypes(s.data).unwrap_or_default())
        {
            self.prototypes = pairs.iter().map(|p| (p.first.get(), string(p.second.get()))).collect();
        }
    }

    fn add_uses(&mut self, cubin: &Cubin<'_>, lines: &Lines) {
        self.files.clone_from(&lines.files);
        let functions = cubin.symbols().flatten().filter(|s| s.entry.kind() == STT_FUNC);
        let by_section: HashMap<u32, u32> = functions.filter_map(|s| Some((s.section.index()?, s.index))).collect();
        for section in cubin.sections().flatten() {
            if let Some(&function) = by_section.get(&section.index) {
                self.add_calls(function, &section, lines);
            }
            if !matches!(section.header.sh_type.get(), SHT_REL | SHT_RELA) {
                continue;
            }
            let code = section.header.sh_info.get();
            let Ok(relocations) = cubin.relocations(&section) else { continue };
            let places = (0..relocations.len()).filter_map(|i| relocations.get(i));
            let mut places: Vec<(u64, u32)> = places.map(|r| (r.r_offset.get(), r.r_sym.get())).collect();
            places.sort_unstable();
            match by_section.get(&code) {
                Some(&function) => self.add_code_uses(function, code, &places, lines),
                None => self.add_data_uses(cubin, code, &places),
            }
        }
    }

    fn add_code_uses(&mut self, function: u32, code: u32, places: &[(u64, u32)], lines: &Lines) {
        for &(offset, symbol) in places.iter().filter(|p| p.1 != function) {
            add(self.lines.entry((function, symbol)).or_default(), lines.at(code, offset));
        }
        let mut symbols: Vec<u32> = places.iter().map(|p| p.1).collect();
        symbols.sort_unstable();
        symbols.dedup();
        self.uses.extend(symbols.into_iter().map(|s| (function, s)));
    }

    fn add_data_uses(&mut self, cubin: &Cubin<'_>, data: u32, places: &[(u64, u32)]) {
        let in_data = |s: &cubin::read::Symbol<'_>| s.section.index() == Some(data) && s.entry.kind() != STT_SECTION;
        let variables: Vec<_> = cubin.symbols().flatten().filter(in_data).collect();
        for variable in variables {
            let start = variable.entry.st_value.get();
            let end = start.saturating_add(variable.entry.st_size.get());
            let inside = places.iter().filter(|(offset, _)| (start..end).contains(offset));
            self.data_uses.extend(inside.map(|&(_, symbol)| (variable.index, symbol)));
        }
    }

    /// Calls without relocation: through a pointer, and of the function itself.
    fn add_calls(&mut self, function: u32, code: &cubin::read::Section<'_>, lines: &Lines) {
        for (number, instruction) in code.data.chunks_exact(INSTRUCTION).enumerate() {
            let offset = (number * INSTRUCTION) as u64;
            let Some(low) = instruction.first_chunk().map(|b| u64::from_le_bytes(*b)) else {
                continue;
            };
            match low & OPCODE {
                CALL_REGISTER => add(self.site_lines.entry(function).or_default(), lines.at(code.index, offset)),
                CALL_RELATIVE if is_call_of_start(low, offset) => {
                    add(self.lines.entry((function, function)).or_default(), lines.at(code.index, offset));
                }
                _ => {}
            }
        }
    }

    /// Where a function refers to a symbol.
    pub fn lines_of(&self, function: u32, symbol: u32) -> &[Line] {
        self.lines.get(&(function, symbol)).map_or(&[], Vec::as_slice)
    }

    /// Where a function calls through a pointer.
    pub fn site_lines(&self, function: u32) -> &[Line] {
        self.site_lines.get(&function).map_or(&[], Vec::as_slice)
    }

    /// The file and the number of a line.
    pub fn place(&self, line: Line) -> (&str, u64) {
        (self.files.get(line.file as usize).map_or("?", String::as_str), line.line)
    }
}

/// Bytes of an instruction, from sm_70 on.
const INSTRUCTION: usize = 16;
const OPCODE: u64 = 0xfff;
/// CALL.ABS with the address in registers.
const CALL_REGISTER: u64 = 0x343;
/// CALL.REL with a constant.
const CALL_RELATIVE: u64 = 0x944;

/// Whether a relative call at `offset` has the start of its section as target. The distance is in the upper half of the first eight bytes up to sm_89;
/// from sm_90 on it counts words, with its lowest eight bits at 16.
fn is_call_of_start(low: u64, offset: u64) -> bool {
    let back = 0i64.checked_sub_unsigned(offset.saturating_add(INSTRUCTION as u64));
    let bytes = low.cast_signed() >> 32;
    let words = (low.cast_signed() >> 34 << 8) | (low >> 16 & 0xff).cast_signed();
    back == Some(bytes) || back == words.checked_mul(4)
}

fn add(list: &mut Vec<Line>, line: Option<Line>) {
    list.extend(line.filter(|l| !list.contains(l)));
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
