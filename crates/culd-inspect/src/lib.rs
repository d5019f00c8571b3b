//! Dump and compare CUDA device objects.
//!
//! * [`view`]: a device file as far as it can be read, damaged or not.
//! * [`mod@file`]: the device objects in a file of any kind.
//! * [`dump`]: what is in it, as rows, as text and as JSON.
//! * [`diff`]: the differences between two of them as text, causes first.
//!
//! Text and JSON come from the same structures. The crate reads byte slices and writes to a writer; files and exit codes are up to the caller.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod diff;
pub mod dump;
pub mod file;
mod line;
mod names;
mod style;
pub mod view;

pub use style::TextStyle;
