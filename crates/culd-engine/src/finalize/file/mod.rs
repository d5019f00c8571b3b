//! The file with both views.
//!
//! 1. [`numbers`]: numbers of sections and of symbols that only this kind of file has.
//! 2. [`tables`]: string and symbol tables of both views.
//! 3. [`image`]: section headers, shared bytes, the image.

pub(crate) mod chunks;
pub(crate) mod image;
pub(crate) mod numbers;
pub(crate) mod tables;
