//! Types that the engine and the loader share, each defined once.
//!
//! * [`Identity`]: which linker to behave like.
//! * [`Severity`]: how serious a message is.
//! * [`KernelFilter`]: which kernels stay in the output.
//! * [`admission`]: whether an object may take part in a link.
//! * [`Stopwatch`]: how long the phases of a run take.
//! * [`pool`]: the threads of large links.
//! * [`tried`]: where something that was not found was searched.
//! * [`code_names`]: stable names of message codes.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod admission;
mod identity;
mod kernel_filter;
mod names;
pub mod pool;
mod search;
mod severity;
mod stopwatch;

pub use admission::{Admission, AdmissionProblem};
pub use identity::Identity;
pub use kernel_filter::KernelFilter;
pub use search::tried;
pub use severity::Severity;
pub use stopwatch::{Phase, Stopwatch};
