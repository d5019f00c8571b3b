//! Instruction-level model of Blackwell SASS: scoreboards, fences, hazards.
//!
//! In a final link, nvlink's finalizer rewrites call-free kernels: the load of an unused stack pointer loses its scoreboard,
//! which re-allocates all scoreboards of the kernel, and the work-around instructions before fences are removed. [`rewrite()`] reproduces
//! this where the model is sure and reports where it is not; [`check::check`] proves, independently of the allocator, that code waits for
//! everything it must.
//!
//! Data flow of [`rewrite()`]: bytes → [`decode`] → fence prefixes → blocks → setters and their conflicts → the compiler's policy
//! waits → order of blocks → allocation with and without the stack pointer → bytes and [`OffsetMap`] → [`check`].
//!
//! **Invariant**: only scoreboard and issue fields, deleted fence prefixes and the branch displacements across them differ from the input.
//! **Invariant**: code that fails the hazard check is never returned.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod alloc;
mod cfg;
pub mod check;
mod clock;
mod context;
pub mod decode;
mod ends;
mod fence;
pub mod latency;
mod order;
mod policy;
pub mod reg;
mod rewrite;
mod setter;
mod times;
mod turns;
mod waits;

pub use context::KernelContext;
pub use fence::OffsetMap;
pub use rewrite::{Reason, Rewrite, Unsure, fenced, loads_dead_stack_pointer, rewrite};
pub use waits::{without, without_pauses};

/// For the study of what the model does not explain (`examples/compare.rs`).
#[doc(hidden)]
pub mod study {
    pub use crate::clock::{Arrival, arrivals};
    pub use crate::rewrite::study::{Choice, Study, choices, study};
}
