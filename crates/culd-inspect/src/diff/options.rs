//! Options of a comparison.

/// How to compare and how much to show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Show C++ names.
    pub demangle: bool,
    /// Show every difference.
    pub all: bool,
}
