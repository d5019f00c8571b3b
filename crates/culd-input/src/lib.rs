//! Recognising linker inputs and extracted the device objects inside them.
//!
//! [`load()`] takes paths, libraries and options and returns the device objects to link, in order and with their names, and the messages about
//! the inputs, either exactly as nvlink does or in culd's own stricter way ([`Identity`]).
//!
//! * [`detect`]: what a file is.
//! * [`archive`], [`library`]: members and `-l`.
//! * [`host`], and [`cubin::fatbin`]: the containers around device code.
//! * [`select`], [`check`]: which code fits the target.
//! * [`ptx`]: compiling PTX with ptxas, [`ptx_cache`]: what was compiled before; [`lto`]: link-time optimization.
//! * [`device_runtime`], [`host_info`], [`registration`]: the device runtime library, kernels in use, side files.
//! * [`files`], [`bytes`]: files mapped, not copied.
#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod archive;
mod buffer;
pub mod bytes;
pub mod check;
pub mod detect;
pub mod device_runtime;
mod extract;
mod extracted;
pub mod files;
mod fold;
pub mod host;
pub mod host_info;
pub mod library;
mod load;
pub mod lto;
mod mapped;
pub mod message;
mod optimize;
mod options;
mod plan;
pub mod progress;
pub mod ptx;
pub mod ptx_cache;
pub mod registration;
pub mod select;
mod settle;
mod unpack;

pub use bytes::Bytes;
pub use cubin::arch::{Arch, Suffix};
pub use culd_base::{Identity, KernelFilter, Severity};
pub use files::{Disk, Files};
pub use fold::{Compilation, CompilationKind, LoadedObject, Origin};
pub use load::{LoadOutcome, load};
pub use mapped::{pages_were_lost, survive_truncation};
pub use message::{LoadCode, Message, WarningFlags};
pub use optimize::Finished;
pub use options::LoadOptions;
pub use registration::Register;
pub use settle::Loaded;
