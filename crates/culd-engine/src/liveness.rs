//! Liveness: the functions that are linked into the output.
//!
//! 1. `-r`, `-g` and `--preserve-relocs` keep everything.
//! 2. Roots are the selected kernels; unless there is exactly one, also stubs of unified functions, and definitions of functions that
//!    the driver provides, which then count as kernels.
//! 3. Everything reachable over direct calls and calls through matching prototypes stays.
//! 4. Functions whose address is taken stay. nvlink quirk: what they call is not followed; culd follows it.
//! 5. An undefined function stays if a live function calls it, if a relocation in live code or in data (but not in `.nv.constant4`) names it,
//!    or if its address is taken.
//! 6. A function inside another one's text (`-ewp`) stays with it.

use crate::graph::CallEdges;
use crate::ids::{FunctionId, Table};
use crate::inputs::Inputs;
use crate::names::SeededState;
use crate::object::{NO_OWNER, Object, Role};
use crate::options::{Identity, KernelFilter, LinkOptions};
use crate::par::Threads;
use crate::resolve::{Fate, Function, Resolved};
use cubin::consts::{SHT_CUDA_CONSTANT0, STO_CUDA_ENTRY, STT_FUNC};
use cubin::driver::is_driver_function;
use hashbrown::HashSet;

/// The functions that stay.
#[derive(Debug)]
pub struct Live {
    /// Per function: stays in the output.
    pub alive: Table<FunctionId, bool>,
    /// Per function: a kernel of the output.
    pub is_kernel: Table<FunctionId, bool>,
    /// Kernels of the output by number.
    pub kernels: Vec<FunctionId>,
    /// Functions that are kernels in their objects and are merged as functions ([`KernelFilter::early`]), in order.
    pub late: Vec<FunctionId>,
    /// The kernel of a link with exactly one.
    pub only: Option<FunctionId>,
    /// Second names of dead functions that the list of prototypes still has, ascending.
    pub dead_aliases: Vec<FunctionId>,
}

/// Does a name match a pattern in which `*` matches anything?
pub fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p, n));
            p += 1;
        } else if pattern.get(p).is_some() && pattern.get(p) == name.get(n) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((star, at)) = retry {
            retry = Some((star, at + 1));
            (p, n) = (star + 1, at + 1);
        } else {
            return false;
        }
    }
    pattern.iter().skip(p).all(|&b| b == b'*')
}

/// Patterns of one kind: host objects name thousands of kernels, nearly always without a star.
pub(crate) struct Patterns<'f> {
    exact: HashSet<&'f [u8], SeededState>,
    stars: Vec<&'f [u8]>,
}

impl<'f> Patterns<'f> {
    pub(crate) fn new(patterns: &'f [Vec<u8>]) -> Self {
        let (stars, exact): (Vec<&[u8]>, Vec<&[u8]>) = patterns.iter().map(Vec::as_slice).partition(|p| p.contains(&b'*'));
        Patterns {
            exact: exact.into_iter().collect(),
            stars,
        }
    }
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        self.exact.contains(name) || self.stars.iter().any(|p| glob(p, name))
    }
}

/// The kernels that a filter lets through.
struct Selection<'f> {
    external: Patterns<'f>,
    internal: Patterns<'f>,
    explicit: bool,
    early: bool,
}

impl<'f> Selection<'f> {
    fn new(filter: &'f KernelFilter) -> Self {
        Selection {
            external: Patterns::new(&filter.external),
            internal: Patterns::new(&filter.internal),
            explicit: filter.explicit,
            early: filter.early,
        }
    }
    fn selects(&self, name: &[u8], local: bool) -> bool {
        if local {
            self.internal.matches(name)
        } else {
            self.external.matches(name)
        }
    }
}

/// What liveness reads of every function, several times: a small table of its own.
#[derive(Debug, Clone, Copy)]
struct Traits(u8);

impl Traits {
    const ENTRY: u8 = 1;
    const DEFINED: u8 = 2;
    const TAKEN: u8 = 4;
    const STUB: u8 = 8;
    /// The driver provides it, and an input defines it.
    const PROVIDED: u8 = 16;

    fn new(function: &Function<'_>) -> Self {
        let defined = function.winner.is_some();
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        Traits(
            bit(function.entry, Self::ENTRY)
                | bit(defined, Self::DEFINED)
                | bit(function.taken.is_some(), Self::TAKEN)
                | bit(function.stub, Self::STUB)
                | bit(defined && is_driver_function(function.name), Self::PROVIDED),
        )
    }
    /// Has all of these.
    fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// Finds the live functions.
pub fn mark(inputs: &Inputs<'_>, resolved: &Resolved<'_>, calls: &CallEdges, options: &LinkOptions<'_>, threads: Threads) -> Live {
    let traits: Table<FunctionId, Traits> = threads.map(resolved.functions.as_slice(), Traits::new).into();
    let with = |bits: u8| traits.enumerate().filter(move |(_, t)| t.has(bits)).map(|(f, _)| f);
    let filter = options.kernels.as_ref().filter(|_| !options.debug || options.suppress_debug_info);
    let filter = filter.map(Selection::new);
    let functions = &resolved.functions;
    let named = |f: &FunctionId| {
        let function = &functions[*f];
        filter.as_ref().is_none_or(|filter| filter.selects(function.name, function.local))
    };
    let defined = with(Traits::ENTRY | Traits::DEFINED);
    let (mut kernels, others): (Vec<FunctionId>, Vec<FunctionId>) = defined.partition(named);
    let is_late = |f: &FunctionId| filter.as_ref().is_some_and(|filter| filter.early) && !functions[*f].taken_before;
    let late = others.iter().copied().filter(is_late).collect();
    let lone = |kernels: &[FunctionId]| if let &[kernel] = kernels { Some(kernel) } else { None };
    let mut only = lone(&kernels);
    let explicit = filter.as_ref().is_some_and(|filter| filter.explicit);
    if filter.is_some() && !(explicit && only.is_some()) {
        // The lists name the kernels that the host launches; device code launches those whose address it takes.
        // nvlink quirk: next to one kernel of the command line these stay, but as functions.
        kernels.extend(others.iter().filter(|f| functions[**f].taken.is_some()));
        kernels.sort_unstable();
        only = if explicit { None } else { lone(&kernels) };
    }
    // A kernel without a definition counts as well, until it is reported as undefined.
    let undefined = |f: FunctionId| resolved.functions[f].winner.is_none() && resolved.is_declared_entry(f);
    if only.is_some() && resolved.functions.ids().any(undefined) {
        only = None;
    }
    if only.is_none() {
        // nvlink quirk: functions that the driver provides count as kernels where an input defines them.
        kernels.extend(with(Traits::PROVIDED));
        kernels.sort_unstable();
        kernels.dedup();
    }
    let mut is_kernel = Table::filled(resolved.functions.len(), false);
    for &k in &kernels {
        is_kernel[k] = true;
    }
    let keep_all = options.relocatable || options.debug || options.preserve_relocs;
    let mut alive = if keep_all {
        Table::filled(resolved.functions.len(), true)
    } else {
        reachable(inputs, resolved, calls, &traits, (&kernels, only), (options.identity, threads))
    };
    mark_inner(inputs, resolved, options.identity, &mut alive);
    let dead_aliases = match options.release().is_some_and(|r| r.rules.keeps_aliases) {
        true => mark_aliases(inputs, resolved, &mut alive),
        false => Vec::new(),
    };
    Live {
        alive,
        is_kernel,
        kernels,
        late,
        only,
        dead_aliases,
    }
}

/// Second names of live functions stay; those of dead ones are returned.
fn mark_aliases(inputs: &Inputs<'_>, resolved: &Resolved<'_>, alive: &mut Table<FunctionId, bool>) -> Vec<FunctionId> {
    let mut dead = Vec::new();
    for object in inputs.objects.iter() {
        for index in object.symbols_of(&[STT_FUNC]) {
            let symbol = object.symbol_ref(index);
            let section = object.symbol(index).defined_in().and_then(|s| object.section(s));
            let owner = section.filter(|s| s.role == Role::Text && s.owner != NO_OWNER && s.owner != index);
            let owner = owner.and_then(|s| resolved.function(object.symbol_ref(s.owner)));
            if let (Some(f), Some(owner)) = (resolved.function(symbol), owner)
                && resolved.fate(symbol) == Fate::Winner
            {
                alive[f] |= alive[owner];
                dead.extend(Some(f).filter(|&f| !alive[f]));
            }
        }
    }
    dead.sort_unstable();
    dead
}

/// Functions inside another one's text stay with it.
fn mark_inner(inputs: &Inputs<'_>, resolved: &Resolved<'_>, identity: Identity, alive: &mut Table<FunctionId, bool>) {
    // nvlink quirk: the names of those inside a weak kernel stay, whichever copy of it prevails.
    let holds = |outer| match identity {
        Identity::Nvlink => true,
        Identity::Culd => resolved.fate(outer) == Fate::Winner,
    };
    for object in inputs.objects.iter().filter(|o| o.has_inner_functions) {
        for index in object.symbols_of(&[STT_FUNC]) {
            let (inner, outer) = (object.symbol_ref(index), object.outer(index).map(|o| object.symbol_ref(o)));
            if let (Some(f), Some(outer)) = (resolved.function(inner), outer)
                && resolved.fate(inner) == Fate::Winner
            {
                alive[f] = holds(outer) && resolved.function(outer).is_some_and(|o| alive[o]);
            }
        }
    }
}

fn reachable(
    inputs: &Inputs<'_>,
    resolved: &Resolved<'_>,
    calls: &CallEdges,
    traits: &Table<FunctionId, Traits>,
    (kernels, only): (&[FunctionId], Option<FunctionId>),
    (identity, threads): (Identity, Threads),
) -> Table<FunctionId, bool> {
    let with = |bits: u8| traits.enumerate().filter(move |(_, t)| t.has(bits)).map(|(f, _)| f);
    let roots = kernels.iter().copied().chain(with(Traits::STUB).filter(|_| only.is_none()));
    let followed = with(Traits::TAKEN).filter(|_| identity == Identity::Culd);
    let mut alive = calls.mark_all(resolved, roots.chain(followed), threads);
    for f in with(Traits::STUB).chain(with(Traits::TAKEN)) {
        alive[f] = true;
    }
    // What is defined is alive by now, or dead.
    if traits.iter().all(|t| t.has(Traits::DEFINED)) {
        return alive;
    }
    let mut used = Table::filled(traits.len(), false);
    for object in inputs.objects.iter() {
        mark_undefined(object, resolved, &alive, &mut used);
        if object.is_ewp {
            mark_launched(object, resolved, &mut used);
        }
    }
    for f in with(Traits::DEFINED) {
        if alive[f] {
            for &callee in resolved.direct.of(f) {
                used[callee] = true;
            }
        }
    }
    for (f, traits) in traits.enumerate().filter(|(_, t)| !t.has(Traits::DEFINED)) {
        alive[f] = used[f] || traits.has(Traits::TAKEN);
    }
    alive
}

/// Type of `.nv.constant4`: addresses for position-independent code.
const ADDRESSES: u32 = SHT_CUDA_CONSTANT0 + 4;

/// Marks undefined functions that relocations of live code and of data name.
fn mark_undefined(object: &Object<'_>, resolved: &Resolved<'_>, alive: &Table<FunctionId, bool>, used: &mut Table<FunctionId, bool>) {
    for relocs in &object.relocs {
        let specials = object.specials(relocs);
        if specials.is_empty() {
            continue;
        }
        let counts = match object.section(relocs.target).map(|s| (s.role, s.sh_type)) {
            Some((Role::Debug, _)) | None => false,
            Some((Role::Text | Role::Stub, _)) => text_is_live(object, resolved, alive, relocs.target),
            // Position-independent code has every address of its module there, used or not.
            Some((Role::Constant, ADDRESSES)) => false,
            Some(_) => true,
        };
        if counts {
            for &index in specials {
                if let Some(f) = resolved.function(object.symbol_ref(index)) {
                    used[f] = true;
                }
            }
        }
    }
}

/// Marks undefined kernels of an extensible whole program: nothing but its attributes says that it launches them.
fn mark_launched(object: &Object<'_>, resolved: &Resolved<'_>, used: &mut Table<FunctionId, bool>) {
    for index in object.symbols_of(&[STT_FUNC]) {
        let sym = object.symbol(index);
        if sym.other & STO_CUDA_ENTRY != 0
            && let Some(f) = resolved.function(sym.reference)
        {
            used[f] = true;
        }
    }
}

/// True if the text section holds the prevailing definition of a live function.
fn text_is_live(object: &Object<'_>, resolved: &Resolved<'_>, alive: &Table<FunctionId, bool>, section: u32) -> bool {
    let Some(owner) = object.section(section).map(|s| s.owner).filter(|&owner| owner != NO_OWNER) else {
        return false;
    };
    let sym = object.symbol_ref(owner);
    resolved.fate(sym) == Fate::Winner && resolved.function(sym).is_some_and(|f| alive[f])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod tests;
