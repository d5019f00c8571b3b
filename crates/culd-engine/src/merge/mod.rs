//! Merging: every input in link order appends to the output's records.
//!
//! For each object:
//! 1. functions in symbol order ([`functions`]);
//! 2. variables in symbol order ([`variables`], [`shared`], [`literals`]);
//! 3. remaining sections in file order, then `.nv.info.F` ([`sections`]);
//! 4. relocation sections and notes in file order ([`relocs`]).
//!
//! With several threads, runs of objects that add what was known before them are merged in parallel ([`plain`], [`fill`]).
//!
//! Dead functions leave nothing. After the last object common symbols get their storage.

mod attributes;
mod drafts;
mod fill;
mod functions;
mod literals;
mod name_clashes;
mod plain;
mod relocs;
mod sections;
mod shared;
mod unified;
mod variables;

use crate::align::align_up;
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, Id as _, NameId, ObjectId, SectionId, SectionRef, SharedId, SymbolId, SymbolRef, Table};
use crate::inputs::Inputs;
use crate::liveness::Live;
use crate::mode::Mode;
use crate::names::{Name, SeededState};
use crate::object::{ObjSection, ObjSymbol, Object, Role, text};
use crate::options::{Identity, LinkOptions};
use crate::par::Threads;
use crate::records::*;
use crate::records::{NewSection, SymbolEmission};
use crate::resolve::Resolved;
use cubin::consts::*;
use hashbrown::{HashMap, HashSet};
pub(crate) use relocs::DroppedEntries;
use std::ops::Range;
use unified::UnifiedIndex;

/// Reserved shared variables for tensor memory, and the major release of CUDA that uses them.
const TENSOR_MEMORY: [(&[u8], u32); 5] = [
    (b"__nv_reservedSMEM_allocation_phase", 12),
    (b"__nv_reservedSMEM_allocation_mask", 12),
    (b"__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier", 12),
    (b"__nv_reservedSMEM_tmem_allocation_pipeline_mbarrier_parity", 12),
    (b"__nv_reservedSMEM_tcgen05_partition", 13),
];

/// State of a merge.
pub(crate) struct Merger<'a, 'd, 'o, 'c> {
    inputs: &'a Inputs<'d>,
    resolved: &'a Resolved<'d>,
    live: &'a Live,
    mode: Mode,
    out: &'a mut Collector<'c>,
    records: Merged<'d>,
    /// Variables and functions that have a symbol.
    by_name: Table<NameId, Option<SymbolId>>,
    shared_by_name: HashMap<&'d [u8], SharedId, SeededState>,
    /// The object asked last, and whether an earlier link placed its dynamic shared memory.
    placed_dynamic: Option<(ObjectId, bool)>,
    /// `.nv_debug.shared` of objects compiled with `-ewp`.
    empty_shared: Option<SectionId>,
    named_sections: HashMap<&'d [u8], SectionId, SeededState>,
    kernel_shared: HashMap<&'d [u8], SectionId, SeededState>,
    texture_parameters: HashMap<(SectionId, &'d [u8]), SymbolId, SeededState>,
    parameters: HashMap<&'d [u8], SectionId, SeededState>,
    /// Size of the parameters of dead kernels, and binding of the copy that was taken last.
    dead_parameters: HashMap<&'d [u8], (u64, u8), SeededState>,
    resolved_names: HashMap<(&'static [u8], &'d [u8]), SectionId, SeededState>,
    literals_seen: HashSet<SectionRef, SeededState>,
    commons: Commons,
    /// Literals of the Mercury view that were counted so far.
    counted: literals::Counted,
    /// Literals of the object that is merged.
    ranges: literals::Ranges,
    index: Option<UnifiedIndex>,
    /// The form in which objects so far share tensor memory: the major release of CUDA.
    tensor_memory: Option<u32>,
    /// The last object whose undefined functions came with a symbol without a name.
    unnamed_in: Option<ObjectId>,
    /// Dead functions that were mentioned, in releases that keep their names.
    dead_seen: HashSet<FunctionId, SeededState>,
    options: &'a LinkOptions<'o>,
    /// Records of runs of plain objects that are not in the tables by name yet.
    runs_without_names: Vec<Range<usize>>,
}

/// Common symbols without storage.
#[derive(Debug, Default)]
struct Commons {
    order: Vec<SymbolId>,
    /// Alignment of the first mention, largest size.
    known: HashMap<SymbolId, (u64, u64), SeededState>,
    /// Size of the largest weak definition with initial values that came after one.
    losers: HashMap<SymbolId, u64, SeededState>,
    /// Those that a weak definition without initial values followed, where they keep their place among common symbols.
    stranded: HashSet<SymbolId, SeededState>,
}

/// Value of a common symbol that does not get storage.
const NO_PLACE: u64 = u64::MAX - 1;

impl Commons {
    /// Each with its alignment, its size, and the room that it needs where nothing defines it.
    fn newest_first(mut self) -> impl Iterator<Item = (SymbolId, u64, u64, u64)> {
        let order = std::mem::take(&mut self.order);
        order.into_iter().rev().filter_map(move |sym| {
            let (align, size) = self.known.remove(&sym)?;
            let needed = self.losers.get(&sym).copied().unwrap_or(0).max(size);
            Some((sym, align, size, needed))
        })
    }
}

/// Every link starts with at most so many records.
const FIRST_RECORDS: usize = 16;
/// Objects with more sections are large.
const LARGE: usize = 2048;

/// Merges all inputs.
pub fn merge<'d>(
    inputs: &Inputs<'d>,
    resolved: &Resolved<'d>,
    live: &Live,
    places: Places,
    options: &LinkOptions<'d>,
    (mode, threads): (Mode, Threads),
    out: &mut Collector<'_>,
) -> Result<Merged<'d>, Stop> {
    let index = unified::read_index(options, out)?;
    let mut records = start(inputs, resolved, places, options, mode, threads);
    records.unified.problem = unified::lacks_index(inputs, options);
    let mut merger = Merger {
        inputs,
        resolved,
        live,
        mode,
        out,
        records,
        by_name: Table::filled(resolved.name_count, None),
        shared_by_name: HashMap::default(),
        placed_dynamic: None,
        empty_shared: None,
        named_sections: HashMap::default(),
        kernel_shared: HashMap::with_capacity_and_hasher(live.kernels.len(), SeededState::default()),
        texture_parameters: HashMap::default(),
        parameters: HashMap::with_capacity_and_hasher(live.kernels.len(), SeededState::default()),
        dead_parameters: HashMap::default(),
        resolved_names: HashMap::default(),
        literals_seen: HashSet::default(),
        commons: Commons::default(),
        counted: literals::Counted::default(),
        ranges: literals::Ranges::default(),
        index,
        tensor_memory: None,
        unnamed_in: None,
        dead_seen: HashSet::default(),
        options,
        runs_without_names: Vec::new(),
    };
    // Growing tables in steps costs more than filling them; unused capacity is never touched.
    // Each kernel's parameter bank may get a relocation section.
    let sections = inputs.section_count + live.kernels.len() + FIRST_RECORDS;
    merger.records.symbols.reserve(inputs.named);
    merger.records.sections.reserve(sections);
    merger.records.order.locals.reserve(sections + inputs.named);
    merger.records.relocs.reserve(inputs.objects.iter().map(|o| o.relocs.len()).sum());
    if threads.are_many() {
        merger.touch_sections();
    }
    merger.first_records();
    merger.objects(threads)?;
    merger.finish_unified();
    merger.finish();
    Ok(merger.records)
}

/// Per-symbol and per-section tables. Allocated in parallel with resolution because they depend only on the inputs.
#[derive(Debug)]
pub struct Places {
    symbols: Table<SymbolRef, Place>,
    sections: Table<SectionRef, Option<(SectionId, u64)>>,
}

impl Places {
    /// Tables in which no symbol has a place yet.
    pub fn new(inputs: &Inputs<'_>, threads: Threads) -> Self {
        Places {
            symbols: threads.filled(inputs.symbol_count, Place::Nothing),
            sections: threads.filled(inputs.section_count, None),
        }
    }
}

fn start<'d>(
    inputs: &Inputs<'d>,
    resolved: &Resolved<'d>,
    places: Places,
    options: &LinkOptions<'_>,
    mode: Mode,
    threads: Threads,
) -> Merged<'d> {
    let none = SectionId::new(u32::MAX);
    let has_functions = inputs.objects.iter().any(|o| o.has_unified_functions);
    let has_data = inputs.objects.iter().any(|o| o.has_unified_data);
    Merged {
        sections: Table::new(),
        texts: Vec::new(),
        memory: Vec::new(),
        constant_sizes: Vec::new(),
        symbols: Table::new(),
        order: SymbolOrder::default(),
        created: CreatedNames::default(),
        functions: threads.filled(resolved.functions.len(), OutFunction::default()),
        symbol_of: Table::filled(resolved.functions.len(), None),
        has_aliases: false,
        placement: Placement {
            symbols: places.symbols,
            sections: places.sections,
        },
        relocs: Vec::new(),
        literals: LiteralRecords::default(),
        shared: SharedRecords {
            variables: Table::new(),
            module: Vec::new(),
            module_whole: None,
            of_kernels: Vec::new(),
            has_dynamic: false,
            whole: Vec::new(),
            summed: HashSet::default(),
            placed: Vec::new(),
            module_align: 1,
        },
        quirks: Quirks::default(),
        images_used: ImageKinds::default(),
        unified: Unified {
            active: options.unified_index.is_some() || (mode.relocatable && (has_functions || has_data)),
            has_functions,
            ..Unified::default()
        },
        standard: StandardSections {
            section_names: none,
            strings: none,
            symbols: none,
            extended: none,
            tool_note: None,
            cuda_note: None,
            info: none,
            compat: None,
            callgraph: none,
            prototype: none,
        },
        #[cfg(test)]
        in_runs: 0,
    }
}

impl<'d> Merger<'_, 'd, '_, '_> {
    /// Touches the memory of the sections of large objects, which are merged on one thread, unless most functions are dead.
    fn touch_sections(&mut self) {
        let counts = self.inputs.objects.iter().map(|o| o.sections.len());
        let count: usize = counts.filter(|&count| count > LARGE).sum();
        let alive = self.live.alive.iter().filter(|&&alive| alive).count();
        if count == 0 || 2 * alive < self.live.alive.len() {
            return;
        }
        let empty = |_| {
            let new = NewSection {
                name: Name::fixed(b""),
                class: Class::PassedThrough,
                sh_type: 0,
                flags: 0,
                align: 1,
                entsize: 0,
            };
            OutSection::new(new, 0)
        };
        self.records.sections.touch(count + self.live.kernels.len().min(count), empty);
    }

    /// Records that every link starts with.
    fn first_records(&mut self) {
        let fixed = Name::fixed;
        self.records.standard.section_names = self.section(fixed(b".shstrtab"), Class::SectionNames, SHT_STRTAB, 0, 1, 0);
        self.records.standard.strings = self.section(fixed(b".strtab"), Class::Strings, SHT_STRTAB, 0, 1, 0);
        self.records.standard.symbols = self.section(fixed(b".symtab"), Class::Symbols, SHT_SYMTAB, 0, 8, 24);
        self.records.standard.extended = self.section(fixed(b".symtab_shndx"), Class::ExtendedIndices, SHT_SYMTAB_SHNDX, 0, 4, 4);
        if !self.mode.is_older_form() {
            self.notes();
        }
        if !self.mode.relocatable && self.records.unified.has_functions {
            self.unified_table(SHT_CUDA_UFT_ENTRY, 32);
        } else {
            self.records.created.dropped_section(self.mode, fixed(b".nv.uft.entry"));
        }
        self.records.standard.info = self.section(fixed(b".nv.info"), Class::Info, SHT_CUDA_INFO, 0, 4, 0);
        if self.options.target.capabilities().has_compat && !self.mode.is_older_form() && !self.mode.rules.compat_of_inputs {
            self.compat_section();
        }
        if let Some(bytes) = self.options.unified_index {
            let id = self.section(fixed(b".nv.uidx"), Class::Uidx, SHT_CUDA_UIDX, 0, 1, 0);
            self.records.sections[id].bytes = Some(Box::new(bytes.to_vec()));
            self.records.unified.index = Some(id);
        }
        if let Some(bytes) = self.options.host_data {
            let id = self.section(fixed(b".nv.host"), Class::HostData, SHT_CUDA_HOST, 0, 8, 0);
            self.records.sections[id].bytes = Some(Box::new(bytes.to_vec()));
        }
    }

    fn compat_section(&mut self) {
        self.records.standard.compat = Some(self.section(Name::fixed(b".nv.compat"), Class::Compat, SHT_CUDA_COMPAT, 0, 4, 0));
        // The note about CUDA names it.
        if let Some(note) = self.records.standard.cuda_note {
            self.records.sections[note].flags |= SHF_INFO_LINK;
        }
    }

    /// Notes about the tools and the toolkit, which the form of CUDA 12 does not have.
    fn notes(&mut self) {
        let fixed = Name::fixed;
        let tools = self.section(fixed(b".note.nv.tkinfo"), Class::ToolNote, SHT_NOTE, 0x200_0000, 4, 0);
        let name: &[u8] = match self.mode.rules.first_notes {
            true => b".note.nv.cuver",
            false => b".note.nv.cuinfo",
        };
        let cuda = self.section(fixed(name), Class::CudaNote, SHT_NOTE, 0x100_0000, 4, 0);
        if self.mode.rules.first_notes {
            self.records.sections[tools].no_symbol = true;
            self.records.sections[cuda].no_symbol = true;
        }
        self.records.standard.tool_note = Some(tools);
        self.records.standard.cuda_note = Some(cuda);
    }

    fn objects(&mut self, threads: Threads) -> Result<(), Stop> {
        let objects = &self.inputs.objects;
        let (mut functions, mut prototypes) = (0, 0);
        let has_ewp = objects.iter().any(|o| o.is_ewp);
        let mut sanitizers = self.sanitizer_mismatches().into_iter().peekable();
        let mut runs = fill::Runs::new(threads.are_many() && sanitizers.peek().is_none() && self.has_plain_objects());
        let mut position = 0;
        while position < objects.len() {
            let run = runs.candidates(position, objects.len());
            if !run.is_empty() {
                let merged = self.plain_run(run.clone());
                runs.done(&run, merged);
                position += merged;
                continue;
            }
            let object = &objects[ObjectId::from_index(position)];
            position += 1;
            self.add_names_of_runs();
            if has_ewp {
                self.beside_ewp(object)?;
            }
            self.tensor_memory(object)?;
            while let Some((_, code)) = self.resolved.function_errors.get(functions).filter(|e| e.0 == object.id) {
                functions += 1;
                self.out.error(code.clone());
            }
            self.object(object)?;
            while let Some((_, code)) = sanitizers.next_if(|e| e.0 == object.id) {
                self.out.error(code);
            }
            self.late_whole_shared(object);
            if self.records.standard.compat.is_some() && object.lacks_isa_class() {
                self.out.warning(Code::MissingIsaClass {
                    file: object.name.into(),
                    number: self.options.target.number,
                })?;
            }
            while let Some((_, code)) = self.resolved.prototype_errors.get(prototypes).filter(|e| e.0 == object.id) {
                prototypes += 1;
                self.out.error(code.clone());
            }
            self.api_versions(object);
            if self.out.errors() > 0 {
                return Err(self.out.fatal(Code::MergeFailed));
            }
            self.tools_patches(object)?;
        }
        Ok(())
    }

    /// Objects of CUDA 12 and of CUDA 13 that use tensor memory place what they share of it in different ways.
    fn tensor_memory(&mut self, object: &Object<'d>) -> Result<(), Stop> {
        if !object.sass.iter().any(|s| s.sh_type == SHT_CUDA_SHARED_RESERVED) {
            return Ok(());
        }
        let symbols = object.symbols_of(&[STT_CUDA_OBJECT]).map(|i| object.symbol(i).name);
        let forms: Vec<u32> = symbols
            .filter_map(|name| TENSOR_MEMORY.iter().find(|known| known.0 == name))
            .map(|known| known.1)
            .collect();
        if forms.is_empty() {
            return Ok(());
        }
        let own = object.toolkit / 10;
        let form = *self.tensor_memory.get_or_insert(own);
        let others = forms.iter().chain([&own]).filter(|&&other| other != form).count();
        if others == 0 {
            return Ok(());
        }
        // nvlink quirk: it reports each variable, and the object.
        let repeats = if self.options.identity == Identity::Nvlink { others } else { 1 };
        for _ in 0..repeats {
            self.out.error(Code::TensorMemoryMismatch { file: object.name.into() });
        }
        Err(self.out.fatal(Code::MergeFailed))
    }

    /// Extensible whole programs should be linked with the device runtime alone. As an error (`-Werror`) it does not hide others of the object.
    fn beside_ewp(&mut self, object: &Object<'d>) -> Result<(), Stop> {
        if !object.is_ewp && !object.name.contains("libcudadevrt") {
            self.out.warning(Code::BesideEwp { file: object.name.into() })?;
        }
        let loses_places = self.mode.relocatable && self.options.identity == Identity::Culd;
        if loses_places && object.is_ewp && shared::has_own_variables(object) {
            return Err(self.out.fatal(Code::Unsupported {
                file: object.name.into(),
                reason: "shared variables that the compiler placed (-ewp with -g) would lose their places in a relocatable output".into(),
            }));
        }
        Ok(())
    }

    fn object(&mut self, object: &Object<'d>) -> Result<(), Stop> {
        for &index in object.function_order() {
            self.function(object, index)?;
        }
        for &index in object.variables() {
            let sym = object.symbol(index);
            if sym.is_texture() {
                self.texture(object, index, &sym)
            } else {
                self.variable(object, index, &sym)?
            }
        }
        self.remaining_sections(object)?;
        self.relocations_and_notes(object)
    }

    /// Storage of common symbols, and the records that come after all inputs.
    fn finish(&mut self) {
        let stranded = std::mem::take(&mut self.commons.stranded);
        for (symbol, align, size, needed) in std::mem::take(&mut self.commons).newest_first() {
            if stranded.contains(&symbol) {
                let symbol = &mut self.records.symbols[symbol];
                (symbol.value, symbol.size, symbol.emission) = (NO_PLACE, size, SymbolEmission::Common);
                continue;
            }
            let size = if self.records.symbols[symbol].section.is_none() {
                needed
            } else {
                size
            };
            let section = self.named_section(b".nv.global", Class::Global, SHT_CUDA_GLOBAL, 3, align);
            let record = &mut self.records.sections[section];
            let value = align_up(record.size, align);
            record.size = value.saturating_add(size);
            let symbol = &mut self.records.symbols[symbol];
            (symbol.section, symbol.value, symbol.size) = (Some(section), value, size);
        }
        self.records.standard.callgraph = self.section(Name::fixed(b".nv.callgraph"), Class::Callgraph, SHT_CUDA_CALLGRAPH, 0, 4, 8);
        self.records.standard.prototype = self.section(Name::fixed(b".nv.prototype"), Class::Prototype, SHT_CUDA_PROTOTYPE, 0, 4, 8);
        self.records.quirks.overridden.sort_unstable();
        self.records.quirks.overridden_by_weak.sort_unstable();
    }

    /// Appends a section record, then its section symbol.
    fn section(&mut self, name: Name<'d>, class: Class, sh_type: u32, flags: u64, align: u64, entsize: u8) -> SectionId {
        let new = NewSection {
            name,
            class,
            sh_type,
            flags,
            align,
            entsize,
        };
        self.records.add_section(self.mode, new)
    }

    /// A section found by its name; a known one takes the larger alignment.
    fn named_section(&mut self, name: &'d [u8], class: Class, sh_type: u32, flags: u64, align: u64) -> SectionId {
        if let Some(&id) = self.named_sections.get(name) {
            let record = &mut self.records.sections[id];
            record.align = record.align.max(align);
            return id;
        }
        let id = self.section(Name::plain(name), class, sh_type, flags, align, 0);
        self.named_sections.insert(name, id);
        id
    }

    /// The section that an input section is appended to; entry size and flags are those of the first.
    fn section_of(&mut self, s: &ObjSection<'d>, class: Class) -> SectionId {
        let known = self.named_sections.contains_key(s.name);
        let id = self.named_section(s.name, class, s.sh_type, s.flags, s.align.get());
        if !known {
            self.records.sections[id].entsize = s.entsize;
        }
        id
    }

    /// Appends a symbol: global ones to the global part, local and weak ones to the local part.
    fn symbol(&mut self, sym: &ObjSymbol<'d>, symbol: OutSymbol<'d>) -> SymbolId {
        let bind = symbol.bind;
        self.records.created.symbol(self.mode, Name::plain(symbol.name));
        let id = self.records.symbols.push(symbol);
        match functions::symbol_is_local(self.mode, bind) {
            true => self.records.order.locals.push(SymbolTableEntry::Symbol(id)),
            false => self.records.order.globals.push(id),
        }
        if bind != STB_LOCAL
            && let Some(name) = self.resolved.name(sym.reference)
        {
            self.by_name[name] = Some(id);
        }
        id
    }

    /// nvlink makes a symbol that it drops again.
    fn created_name(&mut self, name: &'d [u8]) {
        self.records.created.symbol(self.mode, Name::plain(name));
    }

    /// The symbol that a global or weak name has so far.
    fn known(&self, sym: &ObjSymbol<'d>) -> Option<SymbolId> {
        self.by_name[self.resolved.name(sym.reference)?]
    }

    fn new_symbol(&self, object: &Object<'d>, sym: &ObjSymbol<'d>, bind: u8, kind: u8) -> OutSymbol<'d> {
        OutSymbol {
            name: sym.name,
            name_id: self.resolved.name(sym.reference),
            bind,
            kind,
            other: 0,
            input_other: 0,
            literal_number: 0,
            space: NO_SPACE,
            managed: false,
            emission: SymbolEmission::Emit,
            weak_reference: false,
            dynamic: false,
            section: None,
            value: 0,
            size: 0,
            first_mention: object.id,
            function: None,
            shared: None,
            constant_relocs_dropped_before: ObjectId::new(0),
        }
    }

    /// Is the function whose text a companion section belongs to taken from this object?
    fn is_mine(&self, object: &Object<'d>, text: u32) -> bool {
        object.section(text).is_some_and(|s| matches!(s.role, Role::Text | Role::Stub))
            && self.records.placement.sections[object.section_ref(text)].is_some()
    }

    fn file(&self, object: ObjectId) -> String {
        self.inputs.objects[object].name.to_string()
    }

    fn multiple_definition(&mut self, object: &Object<'d>, name: &[u8], first: ObjectId) {
        let first = self.file(first);
        self.out.error(Code::MultipleDefinition {
            symbol: text(name),
            file: object.name.into(),
            first,
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
