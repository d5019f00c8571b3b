//! Facts about the symbols of the linked objects. They are read again from the bytes when a message needs them.
//!
//! 1. Every symbol with a name, where it is, its size and its memory space.
//! 2. Calls, indirect calls and functions whose address is taken, from `.nv.callgraph`.
//! 3. Functions and the symbols that their relocations refer to.
//! 4. An object that cannot be read has no facts: the messages of the link already report its defect.

use cubin::Cubin;
use cubin::callgraph::CallGraph;
use cubin::consts::*;
use cubin::read::SymbolSection;
use cubin::tables::prototypes;

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
}

impl Object {
    /// Reads an object; empty where it cannot be read.
    pub fn read(name: &str, bytes: &[u8]) -> Self {
        let mut object = Object {
            name: name.to_owned(),
            ..Object::default()
        };
        if let Ok(cubin) = Cubin::parse(bytes) {
            object.add_symbols(&cubin);
            object.add_graph(&cubin);
            object.add_uses(&cubin);
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

    fn add_uses(&mut self, cubin: &Cubin<'_>) {
        let functions = cubin.symbols().flatten().filter(|s| s.entry.kind() == STT_FUNC);
        let by_section: std::collections::HashMap<u32, u32> = functions.filter_map(|s| Some((s.section.index()?, s.index))).collect();
        for section in cubin.sections().flatten() {
            let Some(&function) = by_section.get(&section.header.sh_info.get()) else {
                continue;
            };
            if !matches!(section.header.sh_type.get(), SHT_REL | SHT_RELA) {
                continue;
            }
            let Ok(relocations) = cubin.relocations(&section) else { continue };
            let symbols = (0..relocations.len()).filter_map(|i| relocations.get(i)).map(|r| r.r_sym.get());
            let mut symbols: Vec<u32> = symbols.collect();
            symbols.sort_unstable();
            symbols.dedup();
            self.uses.extend(symbols.into_iter().map(|s| (function, s)));
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
