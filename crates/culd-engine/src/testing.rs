//! For unit tests: small objects for sm_80, and the phases of a link over them.
//!
//! [`Small`] describes an object by names; [`Linked::run`] runs the phases up to `arrange` and hands their results to a test.

use crate::arrange::{self, Order};
use crate::diagnostics::{Code, Collector};
use crate::graph::{CallEdges, CallGraph};
use crate::ids::FunctionId;
use crate::inputs::{self, Input};
use crate::layout::{self, Layout};
use crate::mode::Mode;
use crate::names::Name;
use crate::options::{Arch, LinkOptions};
use crate::par::Threads;
use crate::records::{OutSection, OutSymbol, SharedVar, SymbolTableEntry};
use crate::resolve::{CallLists, Resolved, Resolver, SymbolNames};
use crate::session::Link;
use crate::{check, liveness, merge, relocate};
use cubin::build::{
    self, Attribute, Binding, Form, ObjectBuilder, Place, Resources, SectionContents, SectionSpec, SymbolId, SymbolSpec, Target,
};
use cubin::consts::*;
use std::collections::BTreeMap;

/// `R_CUDA_ABS32_LO_32`: the low half of an address.
const ADDRESS: u32 = 0x38;

/// An object that a test describes; unknown names of functions are declared.
pub(crate) struct Small {
    builder: ObjectBuilder,
    functions: BTreeMap<&'static str, build::FunctionId>,
    variables: BTreeMap<&'static str, SymbolId>,
    offset: u64,
}

impl Small {
    pub(crate) fn new() -> Self {
        Self::compiled_for(80)
    }

    /// An object from PTX for `virtual_sm`.
    pub(crate) fn compiled_for(virtual_sm: u8) -> Self {
        let target = Target::sm(80).compiled_for(virtual_sm);
        Self {
            builder: ObjectBuilder::new(target, Form::Cuda13).unwrap(),
            functions: BTreeMap::new(),
            variables: BTreeMap::new(),
            offset: 0,
        }
    }

    pub(crate) fn kernel(mut self, name: &'static str) -> Self {
        let f = self.builder.declare_kernel(name.as_bytes()).unwrap();
        self.functions.insert(name, f);
        self.define(f, 16)
    }

    pub(crate) fn function(self, name: &'static str) -> Self {
        self.bound(name, Binding::Global, 16)
    }

    pub(crate) fn weak(self, name: &'static str, registers: u8) -> Self {
        self.bound(name, Binding::Weak, registers)
    }

    pub(crate) fn local(self, name: &'static str) -> Self {
        self.bound(name, Binding::Local, 16)
    }

    fn bound(mut self, name: &'static str, binding: Binding, registers: u8) -> Self {
        let f = self.builder.declare_function(name.as_bytes(), binding).unwrap();
        self.functions.insert(name, f);
        self.define(f, registers)
    }

    fn define(mut self, f: build::FunctionId, registers: u8) -> Self {
        let resources = Resources {
            registers: registers.into(),
            ..Resources::default()
        };
        self.builder.define(f, build::FunctionCode::new(vec![0; 256], registers)).unwrap();
        self.builder.set_resources(f, resources).unwrap();
        self
    }

    fn id(&mut self, name: &'static str) -> build::FunctionId {
        let builder = &mut self.builder;
        let declare = || builder.declare_function(name.as_bytes(), Binding::Global).unwrap();
        *self.functions.entry(name).or_insert_with(declare)
    }

    /// The object of this toolkit, version times ten.
    pub(crate) fn made_by(mut self, toolkit: u32) -> Self {
        self.builder.set_toolkit(toolkit);
        self
    }

    /// A function compiled with a sanitizer (EIATTR_SANITIZE).
    pub(crate) fn sanitized(mut self, function: &'static str) -> Self {
        let f = self.functions[function];
        self.builder.function_attribute(f, Attribute::half(0x5c, 1)).unwrap();
        self
    }

    pub(crate) fn declare_kernel(mut self, name: &'static str) -> Self {
        let f = self.builder.declare_kernel(name.as_bytes()).unwrap();
        self.functions.insert(name, f);
        self
    }

    pub(crate) fn call(mut self, caller: &'static str, callee: &'static str) -> Self {
        let (a, b) = (self.id(caller), self.id(callee));
        self.builder.add_call(a, b).unwrap();
        self
    }

    /// The address of `function` is taken; it has this prototype.
    pub(crate) fn taken(mut self, function: &'static str, prototype: &str) -> Self {
        let f = self.id(function);
        let p = self.builder.prototype(prototype.as_bytes()).unwrap();
        self.builder.add_address_taken(f, p).unwrap();
        self
    }

    pub(crate) fn indirect_call(mut self, caller: &'static str, prototype: &str) -> Self {
        let f = self.id(caller);
        let p = self.builder.prototype(prototype.as_bytes()).unwrap();
        self.builder.add_indirect_call(f, p).unwrap();
        self
    }

    pub(crate) fn prototype(mut self, function: &'static str, prototype: &str) -> Self {
        let f = self.id(function);
        let p = self.builder.prototype(prototype.as_bytes()).unwrap();
        self.builder.set_prototype(f, p).unwrap();
        self
    }

    pub(crate) fn global(mut self, name: &'static str, binding: Binding, size: u64, align: u64) -> Self {
        let id = self.builder.add_global(name.as_bytes(), binding, size, align).unwrap();
        self.variables.insert(name, id);
        self
    }

    pub(crate) fn global_init(mut self, name: &'static str, binding: Binding, bytes: &[u8], align: u64) -> Self {
        let id = self.builder.add_global_init(name.as_bytes(), binding, bytes, align).unwrap();
        self.variables.insert(name, id);
        self
    }

    pub(crate) fn constant(mut self, name: &'static str, binding: Binding, bytes: &[u8], align: u64) -> Self {
        let id = self.builder.add_constant(3, name.as_bytes(), binding, bytes, align).unwrap();
        self.variables.insert(name, id);
        self
    }

    pub(crate) fn parameters(mut self, kernel: &'static str, size: u16) -> Self {
        let kernel = self.id(kernel);
        self.builder.add_parameters(kernel, size).unwrap();
        self
    }

    /// An `extern` variable.
    pub(crate) fn variable(mut self, name: &'static str, size: u64) -> Self {
        let id = self.builder.declare_variable(name.as_bytes(), size).unwrap();
        self.variables.insert(name, id);
        self
    }

    pub(crate) fn common(self, name: &'static str, size: u64, align: u64) -> Self {
        self.symbol(name, STO_CUDA_GLOBAL, Binding::Global, Place::Common, align, size)
    }

    /// A shared variable of one kernel.
    pub(crate) fn shared(mut self, kernel: &'static str, name: &'static str, size: u64, align: u64) -> Self {
        let f = self.id(kernel);
        let id = self.builder.add_shared(f, name.as_bytes(), size, align).unwrap();
        self.variables.insert(name, id);
        self
    }

    /// A shared variable of the module.
    pub(crate) fn module_shared(mut self, name: &'static str, size: u64, align: u64) -> Self {
        let section = self.builder.section_by_name(b".nv_debug.shared").unwrap_or_else(|| {
            let spec = SectionSpec {
                sh_type: SHT_CUDA_SHARED,
                align: 16,
                ..SectionSpec::new(b".nv_debug.shared").flags(SHF_ALLOC | SHF_WRITE)
            };
            self.builder.add_section(spec, SectionContents::NoBits(4096)).unwrap()
        });
        self.symbol(name, STO_CUDA_SHARED, Binding::Global, Place::Section(section), align, size)
    }

    /// `extern __shared__` without a size.
    pub(crate) fn dynamic_shared(self, name: &'static str, align: u64) -> Self {
        self.symbol(name, STO_CUDA_SHARED, Binding::Global, Place::Undefined, align, 0)
    }

    fn symbol(mut self, name: &'static str, other: u8, binding: Binding, place: Place, value: u64, size: u64) -> Self {
        let spec = SymbolSpec {
            other,
            place,
            value,
            size,
            ..SymbolSpec::new(name.as_bytes(), binding, STT_CUDA_OBJECT)
        };
        let id = self.builder.add_symbol(spec).unwrap();
        self.variables.insert(name, id);
        self
    }

    /// A relocation in the code of `function` against a variable or a function.
    pub(crate) fn uses(mut self, function: &'static str, name: &'static str) -> Self {
        let f = self.id(function);
        let text = self.builder.text_of(f).unwrap();
        let symbol = match self.variables.get(name) {
            Some(&id) => id,
            None => {
                let target = self.id(name);
                self.builder.function_symbol(target).unwrap()
            }
        };
        self.builder.relocate(text, self.offset, ADDRESS, symbol, None).unwrap();
        self.offset = (self.offset + 16) % 256;
        self
    }

    fn bytes(self) -> Vec<u8> {
        self.builder.finish().unwrap()
    }
}

/// Options of a final link under culd's name.
pub(crate) fn options() -> LinkOptions<'static> {
    let mut options = LinkOptions::new(Arch::parse("sm_80").unwrap());
    options.threads = 1;
    options
}

/// The messages of a whole link.
pub(crate) fn messages(objects: Vec<Small>, options: &LinkOptions<'_>) -> Vec<Code> {
    let bytes: Vec<Vec<u8>> = objects.into_iter().map(Small::bytes).collect();
    let names: Vec<String> = (0..bytes.len()).map(|n| n.to_string()).collect();
    let files: Vec<Input<'_>> = names.iter().zip(&bytes).map(|(name, data)| Input { name, data }).collect();
    crate::link(&files, options).messages.into_iter().map(|m| m.code).collect()
}

/// The results of the phases up to `arrange`.
pub(crate) struct Linked<'a, 'd> {
    pub(crate) link: Link<'a, 'd>,
    pub(crate) layout: &'a Layout<'d>,
    pub(crate) order: &'a Order,
    pub(crate) messages: Vec<Code>,
}

impl<'d> Linked<'_, 'd> {
    /// Links the objects, which are called `0`, `1`, ... in messages.
    pub(crate) fn run<R>(objects: Vec<Small>, options: &LinkOptions<'_>, test: impl FnOnce(Linked<'_, '_>) -> R) -> R {
        let bytes: Vec<Vec<u8>> = objects.into_iter().map(Small::bytes).collect();
        let names: Vec<String> = (0..bytes.len()).map(|n| n.to_string()).collect();
        let files: Vec<Input<'_>> = names.iter().zip(&bytes).map(|(name, data)| Input { name, data }).collect();
        let mut out = Collector::new(options);
        let threads = Threads::new(0, options.threads);
        let (mut names, mut resolver, mut lists) = (SymbolNames::new(threads), Resolver::new(0), CallLists::new(options));
        let stages = inputs::Stages {
            name: |objects: &[_]| names.add(objects),
            resolve: |objects: &_, new, names| resolver.add(objects, new, names),
            join: |objects: &[_], functions| lists.add(objects, &functions),
        };
        let inputs = inputs::admit(&files, options, threads, &mut out, stages);
        let Ok(inputs) = inputs else {
            panic!("the objects are refused: {:?}", out.finish().0)
        };
        let mode = Mode::new(options, &inputs);
        let resolved = resolver.finish(lists, names, &inputs.objects, options.relocatable, threads);
        let calls = CallEdges::new(&resolved);
        let live = liveness::mark(&inputs, &resolved, &calls, options, threads);
        let graph = CallGraph::new(calls, &resolved);
        let link = Link {
            inputs: &inputs,
            resolved: &resolved,
            graph: &graph,
            live: &live,
            options,
            mode,
            threads,
        };
        let merged = merge::merge(
            &inputs,
            &resolved,
            &live,
            merge::Places::new(&inputs, threads),
            options,
            (mode, threads),
            &mut out,
        )
        .unwrap();
        check::stacks(link, &graph.reaches_cycle(&resolved), &mut out).unwrap();
        let layout = layout::lay_out(link, merged, &mut out).unwrap();
        check::undefined(link, &layout.records, &mut out);
        let plan = relocate::plan(link, &layout);
        let order = arrange::order(link, &layout, &plan, true);
        let messages = out.finish().0.into_iter().map(|m| m.code).collect();
        test(Linked {
            link,
            layout: &layout,
            order: &order,
            messages,
        })
    }

    pub(crate) fn resolved(&self) -> &Resolved<'d> {
        self.link.resolved
    }

    /// The only function of a name.
    pub(crate) fn id(&self, name: &str) -> FunctionId {
        let mut ids = self.functions(name);
        assert_eq!(ids.len(), 1, "functions called {name}");
        ids.remove(0)
    }

    pub(crate) fn functions(&self, name: &str) -> Vec<FunctionId> {
        let functions = &self.resolved().functions;
        functions.ids().filter(|&f| functions[f].name == name.as_bytes()).collect()
    }

    /// The number of the object whose definition prevails.
    pub(crate) fn winner(&self, name: &str) -> Option<usize> {
        let winner = self.resolved().functions[self.id(name)].winner;
        winner.map(|w| crate::ids::Id::index(w.object))
    }

    pub(crate) fn is_live(&self, name: &str) -> bool {
        self.link.live.alive[self.id(name)]
    }

    /// Names of functions, in the order of the ids.
    pub(crate) fn names(&self, ids: &[FunctionId]) -> Vec<String> {
        ids.iter().map(|&f| self.resolved().function_name(f)).collect()
    }

    pub(crate) fn section(&self, name: &str) -> Option<&OutSection<'d>> {
        let sections = &self.layout.records.sections;
        sections.iter().find(|s| text(s.name) == name)
    }

    pub(crate) fn symbol(&self, name: &str) -> &OutSymbol<'d> {
        let symbols = &self.layout.records.symbols;
        symbols.iter().find(|s| s.name == name.as_bytes()).unwrap()
    }

    pub(crate) fn shared(&self, name: &str) -> (&SharedVar<'d>, Option<u64>) {
        let variables = &self.layout.records.shared.variables;
        let (id, variable) = variables.enumerate().find(|(_, v)| v.name == name.as_bytes()).unwrap();
        (variable, self.layout.shared.offset[id])
    }

    /// Names of the emitted sections in order.
    pub(crate) fn emitted_sections(&self) -> Vec<String> {
        let sections = &self.layout.records.sections;
        self.order.sections.iter().map(|&id| text(sections[id].name)).collect()
    }

    /// Names of the emitted symbols in order, without section symbols.
    pub(crate) fn emitted_symbols(&self) -> Vec<String> {
        let symbols = &self.layout.records.symbols;
        let named = self.order.symbols.order.iter().filter_map(|entry| match entry {
            SymbolTableEntry::Symbol(id) => Some(crate::object::text(symbols[*id].name)),
            SymbolTableEntry::Section(_) => None,
        });
        named.collect()
    }
}

fn text(name: Name<'_>) -> String {
    crate::object::text(&name.to_vec())
}
