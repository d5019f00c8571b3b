//! The records that act on kernels other than their own function's, among those whose codes can.
//!
//! Left out is what can change nothing: a sparse mask of 0, and EXTERNS when the functions of all of them are gone (a list without
//! functions still says where the kernel's list comes, so it counts as soon as one has some), and LANGUAGE when every kernel has the only
//! value that there is.

use super::attributes::{Attribute, Attributes, Owner, Payload};
use crate::ids::{FunctionId, Table};
use crate::liveness::Live;
use cubin::nvinfo::attr;
use cubin::release::Rules;

/// The LANGUAGE records of a link.
#[derive(Default)]
struct Languages<'r> {
    first: Option<&'r [u32]>,
    /// Whether two of them differ.
    differ: bool,
    /// Records of kernels.
    kernels: usize,
}

impl<'r> Languages<'r> {
    fn add(&mut self, payload: &'r Payload<'_>, is_kernel: bool) {
        let Payload::Words(list) = payload else { return };
        self.differ |= *self.first.get_or_insert(list) != &**list;
        self.kernels += usize::from(is_kernel);
    }
}

/// Records that kernels inherit.
#[derive(Debug)]
pub(super) struct InheritableRecords {
    /// Owners and numbers, in merge order.
    pub(super) list: Vec<(Owner, u32)>,
    /// Functions that have a sparse mask.
    pub(super) masked: Table<FunctionId, bool>,
}

impl InheritableRecords {
    /// Looks at every record of such a code once.
    pub(super) fn new(attributes: &Attributes<'_>, live: &Live, rules: &Rules) -> Self {
        let mut out = InheritableRecords {
            list: Vec::new(),
            masked: Table::filled(live.is_kernel.len(), false),
        };
        let mut any_externs = false;
        let mut languages = Languages::default();
        for &(owner, number) in &attributes.inheritable {
            let Some(record) = attributes.records.get(number as usize) else {
                continue;
            };
            if record.code == attr::SPARSE_MMA_MASK {
                if let Some(f) = owner.function() {
                    out.masked[f] = true;
                }
                if record.half() == 0 {
                    continue;
                }
            }
            if record.code == attr::LANGUAGE {
                languages.add(&record.payload, owner.function().is_some_and(|f| live.is_kernel[f]));
            }
            any_externs |= record.code == attr::EXTERNS && !matches!(&record.payload, Payload::Functions(list) if list.is_empty());
            out.list.push((owner, number));
        }
        let same_languages = !rules.joins_languages || (!languages.differ && languages.kernels == live.kernels.len());
        if !any_externs || same_languages {
            let code = |number: u32| attributes.records.get(number as usize).map_or(attr::ERROR, |r| r.code);
            out.list.retain(|&(_, number)| match code(number) {
                attr::EXTERNS => any_externs,
                attr::LANGUAGE => !same_languages,
                _ => true,
            });
        }
        out
    }

    /// Owners, numbers and records in merge order.
    pub(super) fn records<'r, 'd>(&'r self, attributes: &'r Attributes<'d>) -> impl Iterator<Item = (Owner, u32, &'r Attribute<'d>)> + 'r {
        self.list
            .iter()
            .filter_map(|&(owner, number)| Some((owner, number, attributes.records.get(number as usize)?)))
    }
}
