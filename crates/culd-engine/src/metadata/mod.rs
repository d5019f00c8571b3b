//! Metadata: attributes, call graph, notes, compatibility.
//!
//! * [`attributes`]: `.nv.info` records of the inputs that survive, and what they say about functions.
//! * `inheritable`: which of them kernels inherit.
//! * [`propagate`]: what kernels inherit from the functions they reach.

pub mod attributes;
pub mod call_totals;
mod codes;
mod cuda12;
mod inheritable;
pub mod kernel;
mod lists;
pub mod propagate;
pub mod reservation;
mod stubs;
