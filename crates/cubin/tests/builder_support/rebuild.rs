//! Feeds what an object contains into a builder: names, values and the order in which ptxas created things, no numbers.
//!
//! 1. The order of creation comes from the string table, where ptxas leaves the name of every section, deleted ones too, and of every symbol.
//! 2. Global symbols follow in the order of the symbol table; each function is declared where its symbol is.
//! 3. Call graph and prototypes; sections with their contents; relocations, attributes.
//!
//! What has to be named by number in a file (symbols, sections, strings) is looked up by handle.

use cubin::build::{
    Attribute, Binding, BuildError, Form, FunctionCode, FunctionId, ObjectBuilder, Place, Reference, SectionContents, SectionId,
    SectionSpec, SymbolId, SymbolSpec, Target,
};
use cubin::callgraph::CallGraph;
use cubin::consts::*;
use cubin::kind::{SectionKind, classify};
use cubin::names::file_flags;
use cubin::notes::{CudaInfo, TYPE_TKINFO, ToolInfo, notes};
use cubin::nvinfo::records;
use cubin::read::{Section, SymbolSection, is_nobits_section, string_at};
use cubin::{Cubin, layout};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A symbol that the finalizer clears.
const CAP: &[u8] = b".nv.reservedSmem.cap";

/// Builds the object again. Panics when the object is not one that ptxas writes.
pub fn rebuild(bytes: &[u8]) -> Result<Vec<u8>, BuildError> {
    let file = Cubin::parse(bytes).unwrap();
    let mut state = Rebuild::new(&file)?;
    state.declare_all()?;
    state.graph()?;
    state.object.finish()
}

/// Something that ptxas created.
#[derive(Debug, Clone)]
enum Created<'d> {
    /// A section by its name; deleted when the file does not have it.
    Section(&'d [u8]),
    /// A symbol by its number.
    Symbol(u32),
    /// A prototype.
    Prototype(&'d [u8]),
}

struct Rebuild<'d> {
    file: &'d Cubin<'d>,
    sections: Vec<Section<'d>>,
    by_name: HashMap<&'d [u8], u32>,
    strings: &'d [u8],
    object: ObjectBuilder,
    symbols: BTreeMap<u32, SymbolId>,
    functions: BTreeMap<u32, FunctionId>,
    made: BTreeMap<u32, SectionId>,
    weak_with_globals: bool,
}

impl<'d> Rebuild<'d> {
    fn new(file: &'d Cubin<'d>) -> Result<Self, BuildError> {
        let header = file.header();
        let flags = file_flags(header);
        let form = if header.ident[7] == ELFOSABI_CUDA {
            Form::Cuda13
        } else {
            Form::Cuda12
        };
        let sections: Vec<_> = file.sections().map(|s| s.unwrap()).collect();
        let by_name: HashMap<&[u8], u32> = sections.iter().skip(1).map(|s| (s.name, s.index)).collect();
        let cuda = by_name.get(&b".note.nv.cuinfo"[..]).map(|&n| &sections[n as usize]);
        let cuda = cuda.map(|s| CudaInfo::read(notes(s.data).next().unwrap().unwrap().description).unwrap());
        let compat = by_name.get(&b".nv.compat"[..]).map(|&n| &sections[n as usize]);
        let compat: Vec<_> = compat.map(|s| records(s.data).map(|r| r.unwrap()).collect()).unwrap_or_default();
        let mut target = Target::sm(flags.sm);
        let virtual_sm = flags.virtual_sm.or(cuda.map(|c| c.virtual_sm as u8)).unwrap();
        target = target.compiled_for(virtual_sm);
        if flags.accelerated == Some(true) {
            target = target.accelerated();
        }
        let writer = layout::writer_of(file);
        let mut object = ObjectBuilder::with_writer(target, form, writer)?;
        object.set_toolkit(header.e_version.get());
        if form == Form::Cuda12 && flags.bits & 0x200 != 0 {
            object.set_independent_textures();
        }
        if let Some(cuda) = cuda {
            object.set_cuda_note(cuda);
        }
        if !compat.is_empty() {
            object.set_compat(&compat);
        }
        if let Some(&tools) = by_name.get(&b".note.nv.tkinfo"[..]) {
            for note in notes(sections[tools as usize].data) {
                let note = note.unwrap();
                assert_eq!(note.kind, TYPE_TKINFO);
                object.add_tool(&ToolInfo::read(note.description).unwrap())?;
            }
        }
        let strings = sections[by_name[&b".strtab"[..]] as usize].data;
        let mut state = Rebuild {
            file,
            sections,
            by_name,
            strings,
            object,
            symbols: BTreeMap::new(),
            functions: BTreeMap::new(),
            made: BTreeMap::new(),
            weak_with_globals: cuda.is_some_and(|c| c.toolkit >= 134),
        };
        state.standard();
        Ok(state)
    }

    fn symbol(&self, n: u32) -> cubin::Symbol<'d> {
        self.file.symbol(n).unwrap()
    }
    fn bind(&self, n: u32) -> u8 {
        self.symbol(n).entry.st_info >> 4
    }
    fn kind(&self, n: u32) -> u8 {
        self.symbol(n).entry.st_info & 15
    }
    fn symbol_count(&self) -> u32 {
        let table = &self.sections[self.by_name[&b".symtab"[..]] as usize];
        (table.data.len() / 24) as u32
    }
    /// CUDA 12.0 to 12.3, which put all names in the order of creation.
    fn is_early(&self) -> bool {
        self.object.form() == Form::Cuda12 && self.file.header().e_version.get() < 124
    }
    fn is_global(&self, n: u32) -> bool {
        // A cleared symbol was a weak one.
        if self.symbol(n).name.is_empty() {
            return self.weak_with_globals;
        }
        self.bind(n) == STB_GLOBAL || self.weak_with_globals && self.bind(n) == STB_WEAK
    }

    /// Sections that the builder has made already.
    fn standard(&mut self) {
        for (name, &index) in &self.by_name {
            if let Some(id) = self.object.section_by_name(name) {
                self.made.insert(index, id);
            }
        }
    }

    /// What ptxas created, in order.
    fn creations(&self) -> Vec<Created<'d>> {
        let names: HashSet<&[u8]> = self.file.section_names().split(|&b| b == 0).collect();
        let mut keyed: Vec<(usize, Created<'d>)> = Vec::new();
        let (mut at, mut zeros) = (0, 0);
        let mut cleared = Vec::new();
        for string in self.strings.split(|&b| b == 0) {
            zeros = if string.is_empty() { zeros + 1 } else { 0 };
            if zeros == CAP.len() + 1 {
                cleared.push(at);
            }
            // Names of the Mercury view are left where a section has no symbol.
            if let Some(name) = names.get(layout::sass_name(string).as_ref()).filter(|n| n.starts_with(b".")) {
                keyed.push((at, Created::Section(name)));
            }
            at += string.len() + 1;
        }
        let mut cleared = cleared.into_iter();
        if self.is_early() {
            keyed.extend(
                self.prototype_offsets()
                    .into_iter()
                    .map(|p| (p, Created::Prototype(string_at(self.strings, p as u32).unwrap()))),
            );
        }
        // Local symbols and global ones each have an order of their own.
        let mut lasts = [0, 0];
        for n in 1..self.symbol_count() {
            let global = self.is_global(n);
            let last = &mut lasts[usize::from(global)];
            let name = self.symbol(n).entry.st_name.get() as usize;
            // A name that an earlier symbol has says nothing.
            *last = (*last).max(if name == 0 { cleared.next().unwrap() } else { name });
            if self.kind(n) != STT_SECTION && (self.is_early() || !global) {
                keyed.push((*last, Created::Symbol(n)));
            }
        }
        keyed.sort_by_key(|(at, _)| *at);
        keyed.into_iter().map(|(_, c)| c).collect()
    }

    fn declare_all(&mut self) -> Result<(), BuildError> {
        self.prototypes()?;
        for created in self.creations() {
            match created {
                Created::Symbol(n) => self.declare(n)?,
                Created::Section(name) => self.section(name)?,
                Created::Prototype(string) => drop(self.object.prototype(string)?),
            }
        }
        // What the finalizer adds last.
        for s in self.sections.clone().iter().skip(1) {
            self.section(s.name)?;
        }
        for n in 1..self.symbol_count() {
            // The call graph is created at the end; nothing refers to its symbol.
            if let Some(&section) = self.made.get(&self.section_of(n).unwrap_or_default())
                && self.kind(n) == STT_SECTION
            {
                self.symbols.insert(n, self.object.section_symbol(section)?);
            }
        }
        self.relocations()?;
        self.attributes()
    }

    /// Section that a symbol is in.
    fn section_of(&self, n: u32) -> Option<u32> {
        match self.symbol(n).section {
            SymbolSection::Index(i) => Some(i),
            _ => None,
        }
    }

    fn declare(&mut self, n: u32) -> Result<(), BuildError> {
        let s = self.symbol(n);
        if s.name.is_empty() {
            let id = self.object.add_symbol(SymbolSpec::new(CAP, Binding::Weak, STT_OBJECT))?;
            self.symbols.insert(n, id);
            return self.object.erase_symbol(id);
        }
        let binding = match self.bind(n) {
            STB_LOCAL => Binding::Local,
            STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        if self.kind(n) == STT_FUNC {
            let f = self.object.declare(s.name, binding, s.entry.st_other)?;
            self.functions.insert(n, f);
            self.symbols.insert(n, self.object.function_symbol(f)?);
            return Ok(());
        }
        let place = match s.section {
            SymbolSection::Undefined => Place::Undefined,
            SymbolSection::Common => Place::Common,
            SymbolSection::Reserved(r) => Place::Reserved(r),
            SymbolSection::Index(i) => self.made.get(&i).map_or(Place::Undefined, |&id| Place::Section(id)),
        };
        let id = self.object.add_symbol(SymbolSpec {
            kind: self.kind(n),
            other: s.entry.st_other,
            place,
            value: s.entry.st_value.get(),
            size: s.entry.st_size.get(),
            ..SymbolSpec::new(s.name, binding, 0)
        })?;
        self.symbols.insert(n, id);
        Ok(())
    }

    /// Creates a section, or its name alone when the file does not have it.
    fn section(&mut self, name: &'d [u8]) -> Result<(), BuildError> {
        const LAST: [&[u8]; 2] = [b".nv.callgraph", b".nv.prototype"];
        if self.object.section_by_name(name).is_some() || LAST.contains(&name) || name == b".symtab_shndx" {
            return Ok(());
        }
        let index = self.by_name.get(name).copied();
        for (prefix, addend) in [(&b".rela."[..], true), (b".rel.", false)] {
            let target = name
                .strip_prefix(prefix)
                .and_then(|_| self.object.section_by_name(&name[prefix.len() - 1..]));
            if let Some(target) = target {
                let id = self.object.relocation_section(target, addend)?;
                index.map(|i| self.made.insert(i, id));
                return Ok(());
            }
        }
        let Some(index) = index else {
            let id = self.object.add_section(SectionSpec::new(name), SectionContents::NoBits(0))?;
            return self.object.delete_section(id);
        };
        let id = self.present(index)?;
        self.made.insert(index, id);
        Ok(())
    }

    fn present(&mut self, index: u32) -> Result<SectionId, BuildError> {
        let s = self.sections[index as usize];
        let h = s.header;
        let kind = classify(s.name, h.sh_type.get());
        if kind == SectionKind::FunctionInfo {
            let function = self.function_in(h.sh_info.get());
            return self.object.info_section(function);
        }
        if kind == SectionKind::Text {
            let symbol = h.sh_info.get() & 0xff_ffff;
            let function = self.function(symbol)?;
            let mut code = FunctionCode::new(s.data.to_vec(), (h.sh_info.get() >> 24) as u8);
            code.size = Some(self.symbol(symbol).entry.st_size.get());
            code.align = h.sh_addralign.get();
            code.barriers = ((h.sh_flags.get() & SHF_CUDA_BARRIERS) >> 20) as u8;
            return self.object.define(function, code);
        }
        let mut spec = SectionSpec {
            sh_type: h.sh_type.get(),
            align: h.sh_addralign.get(),
            entsize: h.sh_entsize.get(),
            ..SectionSpec::new(s.name)
        };
        spec = spec.flags(h.sh_flags.get());
        if let Some(&info) = self.made.get(&h.sh_info.get()) {
            spec = spec.info(info);
        }
        if let Some(&link) = self.made.get(&h.sh_link.get()) {
            spec = spec.link(link);
        }
        // A stub of a unified function.
        let stub = h.sh_flags.get() & SHF_EXECINSTR != 0;
        if stub {
            spec.info = Reference::Symbol(self.symbols[&h.sh_info.get()]);
        }
        let contents = match is_nobits_section(h) {
            true => SectionContents::NoBits(h.sh_size.get()),
            false => SectionContents::Bytes(s.data.to_vec()),
        };
        let id = self.object.add_section(spec, contents)?;
        if stub {
            self.place(h.sh_info.get(), id)?;
        }
        Ok(id)
    }

    /// The function of a symbol. Global ones get their symbols in the order of the table, all at the first need of one.
    fn function(&mut self, symbol: u32) -> Result<FunctionId, BuildError> {
        if !self.functions.contains_key(&symbol) {
            self.globals()?;
        }
        Ok(self.functions[&symbol])
    }

    fn globals(&mut self) -> Result<(), BuildError> {
        for n in 1..self.symbol_count() {
            if self.kind(n) != STT_SECTION && self.is_global(n) && !self.symbols.contains_key(&n) {
                self.declare(n)?;
            }
        }
        Ok(())
    }

    fn function_in(&self, text: u32) -> FunctionId {
        let symbol = self.sections[text as usize].header.sh_info.get() & 0xff_ffff;
        self.functions[&symbol]
    }

    fn place(&mut self, n: u32, section: SectionId) -> Result<(), BuildError> {
        let entry = self.symbol(n).entry;
        let place = Place::Section(section);
        self.object
            .set_place(self.symbols[&n], place, entry.st_value.get(), entry.st_size.get())
    }

    fn relocations(&mut self) -> Result<(), BuildError> {
        self.globals()?;
        for n in 1..self.symbol_count() {
            if let Some(section) = self
                .section_of(n)
                .filter(|_| self.kind(n) != STT_SECTION && !self.symbol(n).name.is_empty())
            {
                self.place(n, self.made[&section])?;
            }
        }
        for s in self.sections.clone() {
            if !matches!(s.header.sh_type.get(), SHT_REL | SHT_RELA) {
                continue;
            }
            let target = self.made[&s.header.sh_info.get()];
            let list = self.file.relocations(&s).unwrap();
            for r in (0..list.len()).rev().map(|i| list.get(i).unwrap()) {
                let symbol = match r.r_sym.get() {
                    0 => SymbolId::NULL,
                    n => self.symbols[&n],
                };
                let addend = (s.header.sh_type.get() == SHT_RELA).then(|| r.r_addend.get());
                self.object.relocate(target, r.r_offset.get(), r.r_type.get(), symbol, addend)?;
            }
        }
        Ok(())
    }

    fn attributes(&mut self) -> Result<(), BuildError> {
        for s in self.sections.clone() {
            let kind = classify(s.name, s.header.sh_type.get());
            if !matches!(kind, SectionKind::Info | SectionKind::FunctionInfo) {
                continue;
            }
            for record in records(s.data) {
                let attribute = Attribute::from_record(&record.unwrap(), |n| self.symbols.get(&n).copied());
                if kind == SectionKind::Info {
                    self.object.module_attribute(attribute)?;
                } else {
                    let function = self.function_in(s.header.sh_info.get());
                    self.object.function_attribute(function, attribute)?;
                }
            }
        }
        Ok(())
    }

    /// Prototypes are the strings before the name of the first section.
    fn prototypes(&mut self) -> Result<(), BuildError> {
        if self.is_early() {
            return Ok(());
        }
        let strings = self.strings.split(|&b| b == 0).skip(1);
        for string in strings.take_while(|s| *s != b".shstrtab") {
            self.object.prototype(string)?;
        }
        Ok(())
    }

    /// Where prototypes are in the string table.
    fn prototype_offsets(&self) -> BTreeSet<usize> {
        let graph = CallGraph::read(self.data(b".nv.callgraph")).unwrap();
        let table = cubin::tables::prototypes(self.data(b".nv.prototype")).unwrap();
        let all = graph.address_taken.iter().chain(graph.indirect_calls).chain(table);
        all.map(|p| p.second.get() as usize).collect()
    }

    fn data(&self, name: &[u8]) -> &'d [u8] {
        self.by_name.get(name).map_or(&[], |&i| self.sections[i as usize].data)
    }

    fn graph(&mut self) -> Result<(), BuildError> {
        let graph = CallGraph::read(self.data(b".nv.callgraph")).unwrap();
        let prototypes = cubin::tables::prototypes(self.data(b".nv.prototype")).unwrap();
        let f = |n: u32| self.functions[&n];
        for p in graph.calls {
            self.object.add_call(f(p.first.get()), f(p.second.get()))?;
        }
        for p in graph.takers {
            self.object.add_address_taker(f(p.first.get()), f(p.second.get()))?;
        }
        for p in graph.address_taken {
            let prototype = self.object.prototype(string_at(self.strings, p.second.get()).unwrap())?;
            self.object.add_address_taken(f(p.first.get()), prototype)?;
        }
        for p in graph.indirect_calls {
            let prototype = self.object.prototype(string_at(self.strings, p.second.get()).unwrap())?;
            self.object.add_indirect_call(f(p.first.get()), prototype)?;
        }
        for p in prototypes {
            let prototype = self.object.prototype(string_at(self.strings, p.second.get()).unwrap())?;
            self.object.set_prototype(f(p.first.get()), prototype)?;
        }
        Ok(())
    }
}
