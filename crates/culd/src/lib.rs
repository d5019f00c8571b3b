//! culd, a device linker for CUDA.
//!
//! [`Linker`] links from a program, see [`linker`].
//!
//! Module `cli` is the program; its items are not part of the interface of this library. Called under the name `nvlink`, the program has nvlink's command line, texts and
//! exit codes; under the name `culd` it is stricter and explains its messages.
#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[doc(hidden)]
pub mod cli;
pub mod linker;

pub use culd_engine::{Arch, Identity, Severity, ToolNote};
pub use culd_input::ptx_cache::PtxCache;
pub use linker::{Bank, Diagnostic, InputKind, Kernel, LinkError, Linked, Linker, Memory, link_files};
