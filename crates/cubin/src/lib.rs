//! The CUDA device object format ("cubin"): bytes to types and back.
//!
//! * [`raw`]: the on-disk structures, readable at any alignment.
//! * [`read`]: [`Cubin`], a checked, zero-copy view of one device ELF file.
//! * [`reloc`]: the relocation types and how they change bytes.
//! * [`elf32`]: a small reader for 32-bit files of old toolkits.
//! * [`kind`], [`names`]: what sections are, and the names of numbers, for showing them.
//! * [`nvinfo`], [`compat`], [`notes`], [`callgraph`], [`tables`], [`unified`], [`capmerc`]: contents of the CUDA sections.
//! * [`arch`]: the architectures, and which code runs on which; [`release`]: the releases of NVIDIA's linker and what differs between them.
//! * [`mod@validate`]: whether an object is consistent.
//! * [`fatbin`]: the container of device code for several architectures.
//! * [`build`]: a builder of relocatable objects.
//! * [`mod@write`]: the emitter; [`layout`]: the layout that NVIDIA's tools use; [`model`]: a whole file as values, and back.
//! * [`consts`]: the numbers of the format and their names; [`driver`]: functions that the driver provides.
//!
//! The crate does no file I/O: it takes byte slices and returns views, values or byte vectors.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod arch;
pub mod build;
pub mod callgraph;
pub mod capmerc;
pub mod codec;
pub mod compat;
pub mod consts;
pub mod driver;
pub mod elf32;
pub mod fatbin;
pub mod kind;
pub mod layout;
pub mod model;
pub mod names;
pub mod notes;
pub mod nvinfo;
pub mod raw;
pub mod read;
pub mod release;
pub mod reloc;
pub mod tables;
pub mod unified;
pub mod validate;
pub mod write;

pub use model::roundtrip;
pub use read::{Cubin, ReadError, Section, Symbol};
