//! A replacement for NVIDIA's libnvJitLink: its C interface on top of [`culd::Linker`].
//!
//! * [`options`]: the options of `nvJitLinkCreate`.
//! * `integrity`: what may be handed to NVIDIA's library.
//! * [`session`]: one link, from `nvJitLinkCreate` to `nvJitLinkDestroy`: result codes and logs.
//! * [`tools`]: where ptxas and NVIDIA's own library are.
//! * [`abi`]: the exported functions.
//! * `block_cache`: the allocator of the finished library (feature `block-cache`). All unsafe code of the crate is in these two.
//!
//! PTX is compiled by ptxas in a process of its own. A link with `-lto` is handed to NVIDIA's library, loaded by its full path: only that library
//! reads LTO IR.
#![deny(unsafe_code)]

pub mod abi;
#[cfg(any(test, feature = "block-cache"))]
mod block_cache;
pub mod code;
mod integrity;
pub mod options;
pub mod session;
pub mod tools;

pub use code::{Code, Flavour};
pub use session::{Kind, Session};

/// The finished library has an allocator of its own; a program that links this crate chooses for itself.
#[cfg(feature = "block-cache")]
#[global_allocator]
static ALLOCATOR: block_cache::BlockCache = block_cache::BlockCache;
