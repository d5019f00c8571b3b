//! Metadata: attributes, call graph, notes, compatibility.
//!
//! * [`attributes`]: `.nv.info` records of the inputs that survive, and what they say about functions.
//! * `acting`: which of them act on kernels.
//! * [`propagate`]: what kernels inherit from the functions they reach.

mod acting;
pub mod attributes;
mod cuda12;
pub mod folds;
pub mod kernel;
mod lists;
pub mod propagate;
pub mod reservation;
mod stubs;
