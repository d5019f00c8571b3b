//! What the inputs say about each code section, looked up once.
//!
//! 1. One pass over the sections of each object with two views: the attributes and the parameter bank of each code section.
//! 2. One over its call graph: which functions call.
//! 3. One over its list of registers: which functions were compiled with full debug information.
//! 4. The longest parameter bank of all kernels, after which the slots of textures start.

use crate::align::align_up;
use crate::arrange::OutputPlan;
use crate::finalize::register_lists;
use crate::ids::{FunctionId, ObjectId, Table};
use crate::names::SeededState;
use crate::object::{ObjSection, Object, Role};
use cubin::consts::SHT_SYMTAB;
use cubin::raw::Sym;
use std::collections::{BTreeMap, HashSet};
use zerocopy::FromBytes;

/// EIATTR_NVSAL_SW_WAR.
const SOFTWARE_WAIT: u8 = 0x6b;

/// Sections that only inputs compiled with full debug information have.
pub(crate) const DEBUG_CODE: [&[u8]; 2] = [b".nv_debug_info_reg_sass", b".debug_info"];
/// Attribute that lists the targets of indirect branches.
const BRANCH_TARGETS: u8 = 0x34;
/// Attribute of functions whose errors are to be seen when a kernel ends.
const ERRORS_AT_EXIT: u8 = 0x53;
/// Size of a parameter bank without parameters.
const EMPTY_PARAMETERS: u64 = 0x380;

/// All objects.
pub(crate) struct Sources<'a, 'd> {
    objects: Table<ObjectId, Source<'a, 'd>>,
    /// Where the slots of textures start in parameter banks.
    pub(crate) slot_base: u64,
}

/// One object.
pub(crate) struct Source<'a, 'd> {
    object: &'a Object<'d>,
    /// By code section.
    /// Code sections, and the first ones of the same names, whose attributes they have.
    namesakes: Vec<(u32, u32)>,
    companions: Vec<Companions>,
    /// Symbols of functions that call.
    callers: HashSet<u32, SeededState>,
    /// Some function has the attribute.
    errors_at_exit: bool,
    debug: DebugCode<'d>,
    /// Names that several code sections have: static functions in the output of `-r`.
    repeated: Vec<&'d [u8]>,
    /// Symbols of the SASS view, in objects with functions inside of kernels.
    symbols: &'d [Sym],
}

/// Sections that belong to a code section; 0 is none.
#[derive(Clone, Copy, Default)]
struct Companions {
    /// Attributes, in both views.
    attributes: u32,
    /// Parameter bank.
    parameters: u32,
}

/// Which functions were compiled with full debug information.
enum DebugCode<'d> {
    All,
    Listed(HashSet<&'d [u8], SeededState>),
}

impl<'a, 'd> Sources<'a, 'd> {
    /// Looks at all objects.
    pub(crate) fn new(output: &OutputPlan<'a, 'd>) -> Self {
        let objects = output.link.inputs.objects.as_slice();
        let mut sources = Sources {
            objects: output.link.threads.map(objects, Source::new).into(),
            slot_base: 0,
        };
        let records = &output.layout.records;
        let bank = |k| {
            let text = records.functions[k].text?;
            let piece = records.sections[text].pieces.as_slice().first()?;
            sources.objects[piece.object].parameter_size(piece.section)
        };
        // Those that were not selected and stay in a relocatable output count.
        let kernels = records.texts.iter().filter(|&&f| output.link.resolved.functions[f].entry);
        let banks = kernels.filter_map(|&k| bank(k));
        let longest = banks.max().unwrap_or(EMPTY_PARAMETERS);
        sources.slot_base = align_up(longest, 16);
        sources
    }

    /// Does some function, dead or not, show its errors at `EXIT`?
    pub(crate) fn errors_at_exit(&self) -> bool {
        self.objects.iter().any(|s| s.errors_at_exit)
    }

    /// One object.
    pub(crate) fn of(&self, object: ObjectId) -> &Source<'a, 'd> {
        &self.objects[object]
    }
}

/// Names that several code sections of an object have, sorted.
fn repeated<'d>(object: &Object<'d>) -> Vec<&'d [u8]> {
    let mut names: Vec<&[u8]> = object.sass.iter().filter(|s| s.role == Role::Text).map(|s| s.name).collect();
    names.sort_unstable();
    let mut twice: Vec<&[u8]> = names
        .windows(2)
        .filter(|w| w.first() == w.last())
        .filter_map(|w| w.first().copied())
        .collect();
    twice.dedup();
    twice
}

impl<'a, 'd> Source<'a, 'd> {
    fn new(object: &'a Object<'d>) -> Self {
        let mut companions = vec![Companions::default(); object.sass.len()];
        let mut note = |sections: &[ObjSection<'_>], role: Role, field: fn(&mut Companions) -> &mut u32| {
            for (n, s) in (0..).zip(sections).filter(|(_, s)| s.role == role) {
                if let Some(slot) = companions.get_mut(s.info as usize).map(field)
                    && *slot == 0
                {
                    *slot = n;
                }
            }
        };
        if object.has_mercury() {
            note(&object.sections, Role::FunctionInfo, |c| &mut c.attributes);
            note(&object.sass, Role::Parameters, |c| &mut c.parameters);
        }
        let pairs = object.sections.iter().zip(&object.sass);
        let attributes = pairs.filter(|(own, sass)| own.role == Role::FunctionInfo && sass.role == Role::FunctionInfo);
        let namesakes = attributes
            .filter(|(own, sass)| own.info != sass.info)
            .map(|(own, sass)| (own.info, sass.info));
        let graph = &object.callgraph;
        let named = |name: &[u8]| object.sass.iter().find(|s| s.name == name);
        Source {
            object,
            companions,
            namesakes: if object.has_mercury() { namesakes.collect() } else { Vec::new() },
            callers: graph.direct.iter().map(|e| e.0).chain(graph.sites.iter().map(|e| e.0)).collect(),
            errors_at_exit: object
                .sections
                .iter()
                .filter(|s| s.role == Role::Info)
                .any(|s| cubin::nvinfo::records(s.data).flatten().any(|r| r.attribute == ERRORS_AT_EXIT)),
            debug: match (named(DEBUG_CODE[0]), named(DEBUG_CODE[1])) {
                (Some(list), _) => DebugCode::Listed(register_lists::functions(list.data).collect()),
                (None, Some(_)) => DebugCode::All,
                (None, None) => DebugCode::Listed(HashSet::default()),
            },
            repeated: repeated(object),
            symbols: match object.has_inner_functions {
                true => sass_symbols(object),
                false => &[],
            },
        }
    }

    fn companions(&self, code: u32) -> Companions {
        self.companions.get(code as usize).copied().unwrap_or_default()
    }

    fn section<'s>(sections: &'s [ObjSection<'d>], number: u32) -> Option<&'s ObjSection<'d>> {
        sections.get(number as usize).filter(|_| number != 0)
    }

    /// Size of the parameters of a code section without the slots that the compiler laid out after them (`-ewp`).
    fn parameter_size(&self, code: u32) -> Option<u64> {
        let number = self.companions(code).parameters;
        let slots = Self::section(&self.object.sections, number).filter(|s| s.role == Role::Parameters);
        Some(self.parameters(code)?.size.saturating_sub(slots.map_or(0, |s| s.size)))
    }

    /// The parameter bank of a code section.
    pub(crate) fn parameters(&self, code: u32) -> Option<&ObjSection<'d>> {
        Self::section(&self.object.sass, self.companions(code).parameters)
    }

    /// The symbol of a function in the SASS view, in objects with functions inside of kernels.
    pub(crate) fn inner_symbol(&self, symbol: u32) -> Option<&'d Sym> {
        self.symbols.get(symbol as usize)
    }

    /// Attributes of a code section in the Mercury view.
    pub(crate) fn mercury_attributes(&self, code: u32) -> &'d [u8] {
        Self::section(&self.object.sections, self.companions(code).attributes).map_or(&[], |s| s.data)
    }

    /// Attributes of a code section in the SASS view.
    pub(crate) fn sass_attributes(&self, code: u32) -> &'d [u8] {
        Self::section(&self.object.sass, self.companions(code).attributes).map_or(&[], |s| s.data)
    }

    /// Does the SASS view say that the compiler added waits to this code (EIATTR_NVSAL_SW_WAR)?
    pub(crate) fn has_software_waits(&self, code: u32) -> bool {
        let mut records = cubin::nvinfo::records(self.sass_attributes(code)).flatten();
        records.any(|r| r.attribute == SOFTWARE_WAIT && r.half != 0)
    }

    /// True if the attributes of a code section belong to another function of its name.
    pub(crate) fn borrows_attributes(&self, code: u32) -> bool {
        Self::section(&self.object.sass, self.companions(code).attributes).is_some_and(|s| s.info != code)
    }

    /// Is the name of a code section that of another one?
    pub(crate) fn is_repeated(&self, name: &[u8]) -> bool {
        self.repeated.binary_search(&name).is_ok()
    }

    /// Does the call graph have calls of the function with this symbol?
    pub(crate) fn calls(&self, function: u32) -> bool {
        self.callers.contains(&function)
    }

    /// Was a function compiled with full debug information? Then its object lists its registers.
    pub(crate) fn is_debug_code(&self, name: &[u8]) -> bool {
        match &self.debug {
            DebugCode::All => true,
            DebugCode::Listed(names) => names.contains(name),
        }
    }

    /// The first code section of the name that this one has, too.
    pub(crate) fn namesake(&self, code: u32) -> Option<&'a ObjSection<'d>> {
        let (_, first) = self.namesakes.iter().find(|(own, _)| *own == code)?;
        self.object.sass.get(*first as usize)
    }

    /// Indirect branches and their targets: {offset, 0, count, targets}.
    pub(crate) fn branch_targets(&self, code: u32) -> BTreeMap<u32, Vec<u32>> {
        let mut found = BTreeMap::new();
        let records = cubin::nvinfo::records(self.sass_attributes(code)).flatten();
        for record in records.filter(|r| r.attribute == BRANCH_TARGETS) {
            let mut words = record.words().iter().map(|w| w.get());
            while let (Some(at), Some(_), Some(count)) = (words.next(), words.next(), words.next()) {
                found.insert(at, words.by_ref().take(count as usize).collect());
            }
        }
        found
    }
}

/// Name of a function.
pub(crate) fn function_name<'a>(output: &OutputPlan<'a, '_>, f: FunctionId) -> &'a [u8] {
    output.link.resolved.functions[f].name
}

/// The inputs that have a section of this name in their SASS view, with its contents.
pub(crate) fn inputs<'a, 'd>(output: &'a OutputPlan<'_, 'd>, name: &'static [u8]) -> impl Iterator<Item = (&'a Object<'d>, &'d [u8])> {
    let objects = output.link.inputs.objects.iter();
    objects.filter_map(move |o| Some((o, o.sass.iter().find(|s| s.name == name)?.data)))
}

/// The symbols of the SASS view.
fn sass_symbols<'d>(object: &Object<'d>) -> &'d [Sym] {
    let table = object.sass.iter().find(|s| s.sh_type == SHT_SYMTAB);
    table.and_then(|t| <[Sym]>::ref_from_bytes(t.data).ok()).unwrap_or_default()
}
