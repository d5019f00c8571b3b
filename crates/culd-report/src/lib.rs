//! A device link or a finished device file, described for people.
//!
//! 1. [`model`]: the description: units (one per cubin), functions, memory spaces, what was dropped, messages.
//! 2. [`build`]: makes it from device files. [`link`]: adds what only a link can tell.
//! 3. [`occupancy`]: blocks per multiprocessor and what limits them, from one table of architectures.
//! 4. [`sizes`], [`growth`]: tables of sizes, and the difference of two descriptions.
//! 5. [`page`]: one HTML page without references to other files.
//!
//! The crate reads byte slices and returns values; files and exit codes are up to the caller.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod build;
mod calls;
pub mod growth;
pub mod link;
pub mod model;
pub mod names;
pub mod occupancy;
pub mod page;
pub mod sizes;

pub use model::{Function, Report, Unit};
