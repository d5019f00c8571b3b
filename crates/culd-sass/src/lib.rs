//! Instruction-level model of Blackwell SASS: scoreboards, fences, hazards
#![forbid(unsafe_code)]

mod alloc;
mod cfg;
pub mod check;
pub mod decode;
mod fence;
pub mod latency;
mod order;
mod policy;
pub mod reg;
mod rewrite;
mod setter;

pub use fence::OffsetMap;
pub use rewrite::{KernelContext, Reason, Rewrite, Unsure, rewrite};
