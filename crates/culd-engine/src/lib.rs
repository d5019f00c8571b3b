//! culd: a device linker for CUDA, as a library.
//!
//! Bytes and options in, an image and messages out: nothing is printed, no file is touched, no process ends.
//!
//! * [`options`]: what to link for and how.
//! * [`diagnostics`]: all messages as values, in the order of the link.
//! * [`link`]: runs the pipeline.
//! * [`explain`]: explanations of the link, on request.
//!
//! ```
//! use culd_engine::{Arch, Input, LinkOptions};
//!
//! let a = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/saxpy/saxpy.cubin"));
//! let b = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/saxpy/combine.cubin"));
//! let options = LinkOptions::new(Arch::parse("sm_90").ok_or("no such target")?);
//! let inputs = [Input { name: "saxpy.cubin", data: a }, Input { name: "combine.cubin", data: b }];
//! let outcome = culd_engine::link(&inputs, &options);
//! let image = outcome.image.ok_or("the link failed")?;
//! assert!(image.starts_with(b"\x7fELF"));
//! # Ok::<(), &str>(())
//! ```
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod align;
mod arrange;
mod check;
mod csr;
pub mod diagnostics;
mod emit;
pub mod explain;
mod finalize;
mod graph;
mod ids;
mod inputs;
mod layout;
mod ledger;
mod liveness;
mod merge;
mod metadata;
mod mode;
mod names;
mod object;
pub mod options;
mod outcome;
mod par;
mod parts;
mod pipeline;
mod records;
mod relocate;
mod report;
mod resolve;
mod sections;
mod session;
mod size_limit;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
mod testing;
pub mod usage;
pub mod verify;

pub use diagnostics::{CallGraphLine, Code, Diagnostic, Severity};
pub use emit::Sink;
pub use explain::Explained;
pub use inputs::Input;
pub use options::{Arch, Identity, KernelFilter, LinkOptions, ToolNote};
pub use outcome::{Outcome, Status};
pub use usage::ResourceUsage;

/// Links the inputs in their order.
pub fn link(inputs: &[Input<'_>], options: &LinkOptions<'_>) -> Outcome {
    pipeline::run(inputs, options, None)
}

/// Links the inputs in their order and hands the image to `sink` in parts, without ever holding all of it. Where something needs the
/// whole image (verifying it, a link map) it is returned in [`Outcome::image`] instead.
pub fn link_into(inputs: &[Input<'_>], options: &LinkOptions<'_>, sink: &dyn Sink) -> Outcome {
    pipeline::run(inputs, options, Some(sink))
}
