//! [`Link`]: inputs, options and the results of the phases up to `liveness`, read by every later phase.

use crate::graph::CallGraph;
use crate::inputs::Inputs;
use crate::liveness::Live;
use crate::mode::Mode;
use crate::options::LinkOptions;
use crate::par::Threads;
use crate::resolve::Resolved;

/// Inputs and results of the phases up to `liveness`. The pipeline makes it before `merge`; all later phases take it by value: it is `Copy`
/// and has only shared references.
#[derive(Clone, Copy)]
pub struct Link<'a, 'd> {
    /// Objects.
    pub inputs: &'a Inputs<'d>,
    /// Functions.
    pub resolved: &'a Resolved<'d>,
    /// Call graph.
    pub graph: &'a CallGraph,
    /// Live functions.
    pub live: &'a Live,
    /// Options.
    pub options: &'a LinkOptions<'a>,
    /// Derived from the options.
    pub mode: Mode,
    /// Thread pool settings.
    pub threads: Threads,
}

impl<'a, 'd> Link<'a, 'd> {
    /// Collects the results.
    pub fn new(
        inputs: &'a Inputs<'d>,
        resolved: &'a Resolved<'d>,
        graph: &'a CallGraph,
        live: &'a Live,
        options: &'a LinkOptions<'a>,
        mode: Mode,
        threads: Threads,
    ) -> Self {
        Link {
            inputs,
            resolved,
            graph,
            live,
            options,
            mode,
            threads,
        }
    }
}
