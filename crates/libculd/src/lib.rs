//! The C interface of culd; `include/culd.h` describes it.
//!
//! 1. `boundary` turns what C passes (pointers, text, sizes) into Rust values, and catches panics. Only this module and `exports` have
//!    `unsafe` code.
//! 2. `outcome` holds the result of a link with all its text as C strings, so that getters only lend pointers.
//! 3. `inspect` makes the texts of `culd_dump` and `culd_diff`.
//! 4. `exports` has one short function for each declaration of the header.
#![deny(unsafe_code)]

mod boundary;
mod exports;
mod inspect;
mod outcome;

/// The functions of libnvJitLink, with the prefixes `culd13_` and `culd12_`.
#[cfg(feature = "nvjitlink")]
pub use culd_nvjitlink::abi as nvjitlink;
pub use exports::*;
