//! Properties of a function that are not in its code.

use std::collections::BTreeMap;

/// Properties of a function that the linker provides.
#[derive(Debug, Clone, Default)]
pub struct KernelContext {
    /// Target architecture number, such as 100 or 121.
    pub arch: u32,
    /// It is an entry function (a kernel).
    pub entry: bool,
    /// It calls something, directly or indirectly.
    pub calls: bool,
    /// The link is for a debugger.
    pub debug: bool,
    /// It was compiled with full debug information: its schedule stays, fence prefixes do not.
    pub debug_code: bool,
    /// The link produces a relocatable object.
    pub relocatable: bool,
    /// The compiler's scheduler is that of 13.1 or later, which looks at the next blocks.
    pub looks_ahead: bool,
    /// The compiler's scheduler is one before 13.0, whose choices the linker makes again.
    pub older: bool,
    /// Indirect branches and their targets, as offsets in the function.
    pub indirect: BTreeMap<u32, Vec<u32>>,
}
