//! Which kernels stay in the output.

/// Which kernels stay: glob patterns with `*`, anchored at both ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct KernelFilter {
    /// Patterns for global and weak kernels.
    pub external: Vec<Vec<u8>>,
    /// Patterns for static kernels.
    pub internal: Vec<Vec<u8>>,
    /// Patterns for global and weak constants that host code uses: they stay although no device code uses them.
    pub external_constants: Vec<Vec<u8>>,
    /// Patterns for static constants that host code uses.
    pub internal_constants: Vec<Vec<u8>>,
    /// Patterns for other global and weak variables that host code uses; only link-time optimization reads them.
    pub external_variables: Vec<Vec<u8>>,
    /// Patterns for other static variables that host code uses; only link-time optimization reads them.
    pub internal_variables: Vec<Vec<u8>>,
    /// Given by `--kernels-used`/`--variables-used` (not by host objects): a kernel that stays only because its address is taken counts as a
    /// function.
    pub explicit: bool,
    /// Known before objects are merged: such a kernel is merged as a function.
    pub early: bool,
}
