//! The attributes of the output: records of the module and of each function.

use super::attributes::{Attribute, Facts, Reserved};
use super::lists::List;
use crate::ids::{FunctionId, Table};
use crate::parts::Parts;
use crate::session::Link;

/// Attributes of the output.
#[derive(Debug)]
pub struct KernelAttributes<'d> {
    /// Records of the module.
    pub module: Vec<Attribute<'d>>,
    /// Records of the stub table.
    pub stubs: Vec<Attribute<'d>>,
    pub(super) records: Parts<Attribute<'d>>,
    pub(super) functions: Table<FunctionId, List<'d>>,
    /// What the inputs say about functions.
    pub facts: Table<FunctionId, Facts>,
    /// Registers of each kernel with everything it calls.
    pub registers: Table<FunctionId, u32>,
    /// Stack of each kernel; `None` if unknown.
    pub stack: Table<FunctionId, Option<i64>>,
    /// Languages that nvlink appends to the last stack size.
    pub stub_languages: Vec<u32>,
    /// Functions whose text section has barrier flags, and the number of barriers.
    pub flagged: Vec<(FunctionId, u32)>,
    /// Functions that use reserved shared memory.
    pub reserved: Vec<Reserved>,
    /// Groups of tensor core instructions in the code of the only kernel itself.
    pub(super) only_groups: [bool; 2],
}

impl<'d> KernelAttributes<'d> {
    /// Records of a function.
    pub fn of(&self, f: FunctionId) -> impl Iterator<Item = &Attribute<'d>> {
        self.functions[f].iter(&self.records)
    }

    /// Kernels, ascending, that call something with more registers than their own: the headers of their sections state those.
    pub fn header_totals(&self, link: Link<'_, '_>) -> Vec<(FunctionId, u32)> {
        let mut kernels = match link.mode.rules.kernel_headers_have_totals {
            true => link.live.kernels.clone(),
            false => Vec::new(),
        };
        kernels.sort_unstable();
        let grown = |_, &k: &FunctionId| {
            let total = self.registers[k];
            (total > self.facts[k].registers.unwrap_or(0)).then_some((k, total))
        };
        link.threads.filter_map(&kernels, grown)
    }

    /// Records of a function, to change; `records` are all records while they are not here yet.
    pub(super) fn list(&mut self, records: &Parts<Attribute<'d>>, f: FunctionId) -> &mut Vec<Attribute<'d>> {
        self.functions[f].to_mut(records)
    }
}
