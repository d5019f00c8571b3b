//! culd, a device linker for CUDA.
//!
//! [`Linker`] links from a program, see [`linker`].
//!
//! [`cli`] is the program: called through a name `nvlink` it has nvlink's command line, texts and exit codes; under its own name it is stricter and explains more.
#![forbid(unsafe_code)]

pub mod cli;
pub mod linker;

pub use culd_engine::{Arch, Identity, Severity, ToolNote};
pub use linker::{Bank, Diagnostic, InputKind, Kernel, LinkError, Linked, Linker, Memory, link_files};
