//! What differs between two device files, in the user's words, causes first.
//!
//! 1. Pair sections and symbols by name (`pairing`); from here on indices are compared by what they name.
//! 2. Compare the header, which sections and symbols there are, and their order (`elf`, `symbols`, `arrangement`).
//! 3. Compare the contents of each pair of sections in its own terms (`code`, `data`, `frame`, `attributes`, `contents`), then the relocations
//!    into them (`relocs`), whose offsets follow pieces that moved.
//! 4. Compare sizes and layout where nothing above explains them (`elf`).
//! 5. If bytes differ and nothing was found, say where the first different byte is.
//!
//! Differences that follow from others are collected as consequences and named in one line.

mod arrangement;
mod attributes;
mod code;
mod compare;
mod contents;
mod context;
mod data;
mod elf;
mod files;
mod finding;
mod frame;
mod options;
mod order;
mod pairing;
mod relocs;
mod report;
mod symbols;

pub use compare::compare;
pub use files::{FilesReport, PartReport, compare_files, write_json, write_text};
pub use finding::{Finding, Group};
pub use options::Options;
pub use report::DiffReport;
