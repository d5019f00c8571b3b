//! Debug sections of the SASS view, from those of the Mercury view and of the inputs.
//!
//! * [`frame`]: unwinding (`.debug_frame`).
//! * [`mod@line`]: line tables.
//! * [`registers`]: registers of variables.
//! * [`info`]: all other debug information: addresses in code and offsets in other debug sections.
//! * [`dwarf`]: reading and writing of DWARF, without knowledge of linking.

pub(crate) mod dwarf;
pub(crate) mod frame;
pub(crate) mod info;
pub(crate) mod line;
pub(crate) mod registers;
