//! Which linker to behave like.

/// Which linker to behave like.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// nvlink: its results to the byte, its silences and quirks included.
    Nvlink,
    /// culd: the same link under its own name. Content decides what an input is, nothing is dropped silently, and a damaged input is an error
    /// that names the file and the reason.
    #[default]
    Culd,
}
