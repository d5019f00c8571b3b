//! Fuzzing without a special toolchain.
//!
//! 1. [`seeds`]: device files from the recorded fixtures, by kind.
//! 2. [`mutate`]: damages one: bytes, header fields, tables, cuts, splices.
//! 3. [`targets`]: what is tried with the result. A target panics when a promise is broken; being refused is fine.
//! 4. [`mutant`], [`classify`], [`batch`]: whole links with one damaged input, packed in every way ([`wrap`]), for `cargo xtask mutate`.
//! 5. [`corpus`]: the files of coverage-guided fuzzing, which is in `fuzz/coverage`.
//! 6. [`jit`]: the C interface of `culd-nvjitlink`. All unsafe code of the crate is there.
//! 7. The program runs each target a fixed number of times from a fixed seed, so that every run is the same run.
//!
//! The targets are plain functions over bytes: libFuzzer calls them as they are.
#![deny(unsafe_code)]

pub mod batch;
pub mod classify;
pub mod corpus;
pub mod jit;
pub mod mutant;
pub mod mutate;
pub mod seeds;
pub mod targets;
pub mod wrap;
