//! Why a function or a variable is in the output: the chain that leads from a kernel to it.
//!
//! 1. The symbol is looked for by its name in the files, else by its demangled name, with or without parameters.
//! 2. A function that a kernel reaches: a shortest call path from the first such kernel; stubs of unified functions are roots as well.
//! 3. Else, if its address is taken: the chain of the function that takes it, or the variable whose initial value it is.
//! 4. Else something in code or data mentions it, or everything is kept (`-g`, `-r`, `--preserve-relocs`).
//! 5. A variable: the chain of the first function that refers to it. Without one it is there because variables always are; a variable in
//!    shared memory is dropped then.

use super::dropped::why_dead;
use super::map::DropReason;
use super::references::{ReferenceTarget, Referrer, referrers};
use crate::ids::{FunctionId, SharedId, SymbolId};
use crate::layout::Layout;
use crate::object::text;
use crate::session::Link;

/// The answer for one symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyLive {
    /// The symbol that was asked about; its name in the files if it was found.
    pub symbol: String,
    /// Explanation.
    pub answer: Answer,
}

/// Explanation of a symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No input mentions it.
    Unknown,
    /// It was dropped.
    Dropped(DropReason),
    /// It is kept; the first step is a root, the last one leads to the symbol.
    Live(Vec<Step>),
}

/// One step of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The symbol that this step leads to.
    pub symbol: String,
    /// Kind of reference that leads to it.
    pub how: How,
}

/// How a symbol is reached from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// A kernel that is kept for its own sake.
    Kernel,
    /// The stub of a unified function.
    Stub,
    /// A variable with an initial value: variables are always kept.
    Variable,
    /// Everything is kept: `-g`, `-r` or `--preserve-relocs`.
    Everything,
    /// Called by name.
    Called,
    /// May be called through a pointer of its type.
    CalledThroughPointer,
    /// Its address is taken, or code refers to it.
    AddressTaken,
    /// Its address is in the variable's initial value.
    Initial,
    /// The function's code uses the variable.
    Used,
}

/// Answers for one name.
pub(crate) fn why_live(link: Link<'_, '_>, layout: &Layout<'_>, asked: &str) -> WhyLive {
    let Some(found) = find(link, layout, asked) else {
        return WhyLive {
            symbol: asked.to_string(),
            answer: Answer::Unknown,
        };
    };
    let search = Search { link, layout };
    let (symbol, answer) = match found {
        ReferenceTarget::Function(f) => (link.resolved.function_name(f), search.function(f)),
        ReferenceTarget::Variable(id) => (text(layout.records.symbols[id].name), search.variable(id)),
        ReferenceTarget::Shared(id) => (text(layout.records.shared.variables[id].name), search.shared(id)),
    };
    WhyLive { symbol, answer }
}

/// Finds what a name means: exactly, then as a demangled name; what stays before what does not.
fn find(link: Link<'_, '_>, layout: &Layout<'_>, asked: &str) -> Option<ReferenceTarget> {
    let exact = |name: &[u8]| name == asked.as_bytes();
    let demangled = |name: &[u8]| {
        let shown = culd_demangle::display(name);
        let shown = shown.as_ref();
        shown == asked.as_bytes() || shown.split(|&b| b == b'(').next() == Some(asked.as_bytes())
    };
    find_by(link, layout, &exact).or_else(|| find_by(link, layout, &demangled))
}

fn find_by(link: Link<'_, '_>, layout: &Layout<'_>, is_it: &dyn Fn(&[u8]) -> bool) -> Option<ReferenceTarget> {
    let resolved = link.resolved;
    let named = |f: &FunctionId| is_it(resolved.functions[*f].name);
    let mut functions = resolved.functions.ids().filter(named);
    let first = functions.next();
    if let Some(f) = first
        .filter(|&f| link.live.alive[f])
        .or_else(|| functions.find(|&f| link.live.alive[f]))
        .or(first)
    {
        return Some(ReferenceTarget::Function(f));
    }
    let shared = layout
        .records
        .shared
        .variables
        .enumerate()
        .find(|(_, v)| is_it(v.name))
        .map(|(id, _)| ReferenceTarget::Shared(id));
    let is_variable = |sym: &crate::records::OutSymbol<'_>| sym.function.is_none() && sym.shared.is_none() && is_it(sym.name);
    shared.or_else(|| {
        layout
            .records
            .symbols
            .enumerate()
            .find(|(_, sym)| is_variable(sym))
            .map(|(id, _)| ReferenceTarget::Variable(id))
    })
}

struct Search<'a, 'd> {
    link: Link<'a, 'd>,
    layout: &'a Layout<'d>,
}

impl Search<'_, '_> {
    fn step(&self, f: FunctionId, how: How) -> Step {
        Step {
            symbol: self.link.resolved.function_name(f),
            how,
        }
    }

    fn function(&self, f: FunctionId) -> Answer {
        let (resolved, live) = (self.link.resolved, self.link.live);
        if !live.alive[f] {
            return Answer::Dropped(why_dead(self.link, f));
        }
        if let Some(chain) = self.called(f) {
            return Answer::Live(chain);
        }
        let takers = resolved
            .functions
            .ids()
            .filter(|&t| live.alive[t] && resolved.takes.of(t).contains(&f));
        if let Some(chain) = takers.filter_map(|t| self.called(t)).next() {
            return Answer::Live(self.then(chain, f, How::AddressTaken));
        }
        Answer::Live(self.mentioned(f))
    }

    /// A chain over calls alone, from a kernel or a stub.
    fn called(&self, f: FunctionId) -> Option<Vec<Step>> {
        let (resolved, graph, live) = (self.link.resolved, self.link.graph, self.link.live);
        let stubs = resolved.functions.ids().filter(|&s| resolved.functions[s].stub && live.alive[s]);
        let roots: Vec<FunctionId> = live.kernels.iter().copied().chain(stubs).collect();
        let mut first = None;
        graph.reach(resolved, &[f], &roots, |_, root| first = first.or(Some(root)));
        let root = *roots.get(first?)?;
        let path = graph.path(resolved, root, f);
        let how = if live.is_kernel[root] { How::Kernel } else { How::Stub };
        let mut chain = vec![self.step(root, how)];
        for (&caller, &callee) in path.iter().zip(path.iter().skip(1)) {
            let how = match resolved.direct.of(caller).contains(&callee) {
                true => How::Called,
                false => How::CalledThroughPointer,
            };
            chain.push(self.step(callee, how));
        }
        Some(chain)
    }

    fn then(&self, mut chain: Vec<Step>, f: FunctionId, how: How) -> Vec<Step> {
        chain.push(self.step(f, how));
        chain
    }

    /// A chain to a function that no call reaches.
    fn mentioned(&self, f: FunctionId) -> Vec<Step> {
        let everything = vec![self.step(f, How::Everything)];
        let mut data = None;
        for referrer in referrers(self.link, self.layout, ReferenceTarget::Function(f)) {
            match referrer {
                Referrer::Code(from) if from != f => {
                    if let Some(chain) = self.called(from) {
                        return self.then(chain, f, How::AddressTaken);
                    }
                }
                Referrer::Code(_) => {}
                Referrer::Data(name, _) => data = data.or(Some(name)),
            }
        }
        let Some(name) = data else { return everything };
        let holder = Step {
            symbol: text(name),
            how: How::Variable,
        };
        self.then(vec![holder], f, How::Initial)
    }

    /// The chain of the first function that uses a variable.
    fn used(&self, sought: ReferenceTarget, name: &[u8]) -> Option<Vec<Step>> {
        let users = referrers(self.link, self.layout, sought);
        let code = users.iter().filter_map(|r| if let Referrer::Code(f) = r { Some(*f) } else { None });
        let mut chain = code.filter_map(|f| self.called(f)).next()?;
        chain.push(Step {
            symbol: text(name),
            how: How::Used,
        });
        Some(chain)
    }

    fn variable(&self, id: SymbolId) -> Answer {
        let sym = &self.layout.records.symbols[id];
        let name = sym.name;
        let always = || {
            vec![Step {
                symbol: text(name),
                how: How::Variable,
            }]
        };
        if !sym.emission.has_target() {
            return Answer::Dropped(DropReason::Unreached);
        }
        Answer::Live(self.used(ReferenceTarget::Variable(id), name).unwrap_or_else(always))
    }

    fn shared(&self, id: SharedId) -> Answer {
        let var = &self.layout.records.shared.variables[id];
        let own = || {
            let kernel = var.kernel.filter(|&k| self.link.live.alive[k])?;
            let mut chain = vec![self.step(kernel, How::Kernel)];
            chain.push(Step {
                symbol: text(var.name),
                how: How::Used,
            });
            Some(chain)
        };
        match self.used(ReferenceTarget::Shared(id), var.name).or_else(own) {
            Some(chain) => Answer::Live(chain),
            None => Answer::Dropped(DropReason::Unreached),
        }
    }
}
