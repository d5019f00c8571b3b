//! Link-time optimization: LTO modules in, PTX out.
//!
//! Only NVIDIA's own compiler reads what nvcc writes with `-dlto`. Every toolkit has it as a library with a public interface, nvJitLink, which
//! this crate calls:
//!
//! 1. `find`: where the library is.
//! 2. A [`Job`] names the options and the modules: LTO IR, or a fat binary with one entry of it.
//! 3. `jitlink` hands the job to the library and takes the PTX.
//! 4. `child` does so in a separate process ([`Child`], [`serve`]), with the job as bytes on a pipe (`wire`): if the library crashes on damaged
//!    input, the linker reports it.
#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

mod child;
mod find;
mod jitlink;
mod wire;

pub use child::{Child, serve};
pub use find::Search;
pub use jitlink::{CANNOT_LOAD, Session, compile};

use std::fmt::Debug;

/// Kind of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleKind {
    /// LTO IR as in a file of its own.
    LtoIr,
    /// A fat binary with LTO IR inside.
    Fatbin,
}

/// One module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its name in messages.
    pub name: String,
    /// Kind of the module.
    pub kind: ModuleKind,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// Modules to be compiled together.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Job {
    /// The target as `sm_90`.
    pub arch: String,
    /// Options of the compiler inside the library (libnvvm), in order.
    pub options: Vec<String>,
    /// The modules, in link order.
    pub modules: Vec<Module>,
}

/// Why there is no PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The library cannot be used.
    #[error("{0}")]
    Library(String),
    /// The library refused the modules; holds what it said, as it said it.
    #[error("{0}")]
    Refused(String),
    /// The process of the library ended early.
    #[error("{0}")]
    Died(String),
}

/// Something that compiles jobs.
pub trait Compiler: Debug + Send + Sync {
    /// The PTX of all modules together.
    fn compile(&self, job: &Job) -> Result<Vec<u8>, Failure>;
}
