//! culd, a device linker for CUDA.
//!
//! [`cli`] is the program: called through a name `nvlink` it has nvlink's command line, texts and exit codes; under its own name it is stricter and explains more.
#![forbid(unsafe_code)]

pub mod cli;
