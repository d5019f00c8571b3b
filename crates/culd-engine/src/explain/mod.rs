//! Explanations of a link, made only on request.
//!
//! * [`dot`]: the call graph as a graph for pictures (`--dot-file`).
//! * [`map`]: location of every input section and symbol, and what was dropped (`--map`).
//! * [`why`]: what keeps a function or a variable in the output (`--why-live`).

mod build_map;
pub mod dot;
mod dropped;
pub mod map;
mod references;
pub mod why;

pub use culd_base::Phase;
pub use map::LinkMap;
pub use why::WhyLive;

use crate::arrange::OutputPlan;
use crate::diagnostics::CallGraphLine;
use crate::layout::Layout;
use crate::session::Link;
use crate::usage::ResourceUsage;

/// Results of the requested explanations.
#[derive(Debug, Default)]
pub struct Explained {
    /// The call graph in the DOT language, when [`LinkOptions::dot_file`](crate::LinkOptions::dot_file) is set. Links that end with
    /// errors have one too, unless merging failed.
    pub dot: Option<Vec<u8>>,
    /// What the program uses, when [`LinkOptions::usage`](crate::LinkOptions::usage) is set and the link got past the layout.
    pub usage: Option<ResourceUsage>,
    /// The call graph as text, when [`LinkOptions::dump_callgraph`](crate::LinkOptions::dump_callgraph) is set.
    pub callgraph: Vec<CallGraphLine>,
    /// Phases in order, when [`LinkOptions::time_phases`](crate::LinkOptions::time_phases) is set.
    pub phases: Vec<Phase>,
    /// The link map, when [`LinkOptions::map`](crate::LinkOptions::map) is set and an image was made.
    pub map: Option<LinkMap>,
    /// One answer for each of [`LinkOptions::why_live`](crate::LinkOptions::why_live), when the link got past merging.
    pub why: Vec<WhyLive>,
}

/// Answers that need the layout.
pub(crate) fn layout(link: Link<'_, '_>, layout: &Layout<'_>, explained: &mut Explained) {
    let options = link.options;
    explained.dot = options.dot_file.then(|| dot::graph(link, &layout.records));
    explained.why = options.why_live.iter().map(|asked| why::why_live(link, layout, asked)).collect();
}

/// Answers that need the image.
pub(crate) fn image(output: &OutputPlan<'_, '_>, image: &[u8], explained: &mut Explained) {
    if output.link.options.map {
        explained.map = Some(build_map::map(output, image));
    }
}
