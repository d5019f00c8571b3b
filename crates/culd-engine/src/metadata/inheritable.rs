//! The records that act on kernels other than their own function's, among those whose codes can.
//!
//! Left out is what can change nothing: a sparse mask of 0, and EXTERNS when the functions of all of them are gone (a list without
//! functions still says where the kernel's list comes, so it counts as soon as one has some), and LANGUAGE when every kernel has the only
//! value that there is.

use super::attributes::{Attribute, Attributes, Owner, Payload};
use crate::ids::{FunctionId, Table};
use crate::liveness::Live;
use crate::par::Threads;
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

    /// Adds those of later records.
    fn append(&mut self, later: Self) {
        if let Some(first) = later.first {
            self.differ |= *self.first.get_or_insert(first) != first;
        }
        self.differ |= later.differ;
        self.kernels += later.kernels;
    }
}

/// What a part of the records has.
#[derive(Default)]
struct Part<'r> {
    list: Vec<(Owner, u32)>,
    masked: Vec<FunctionId>,
    has_externs: bool,
    languages: Languages<'r>,
}

impl<'r> Part<'r> {
    fn new(attributes: &'r Attributes<'_>, part: &[(Owner, u32)], live: &Live) -> Self {
        let mut out = Part::default();
        for &(owner, number) in part {
            let Some(record) = attributes.records.get(number as usize) else {
                continue;
            };
            if record.code == attr::SPARSE_MMA_MASK {
                out.masked.extend(owner.function());
                if record.half() == 0 {
                    continue;
                }
            }
            if record.code == attr::LANGUAGE {
                out.languages
                    .add(&record.payload, owner.function().is_some_and(|f| live.is_kernel[f]));
            }
            out.has_externs |= record.code == attr::EXTERNS && !matches!(&record.payload, Payload::Functions(list) if list.is_empty());
            out.list.push((owner, number));
        }
        out
    }
}

/// Records that are looked at together.
const PART: usize = 4096;

/// Records that kernels inherit.
#[derive(Debug)]
pub struct InheritableRecords {
    /// Owners and numbers, in merge order.
    pub(super) list: Vec<(Owner, u32)>,
    /// Functions that have a sparse mask.
    pub(super) masked: Table<FunctionId, bool>,
}

impl InheritableRecords {
    /// Looks at every record of such a code once.
    pub fn new(attributes: &Attributes<'_>, live: &Live, rules: &Rules, threads: Threads) -> Self {
        let parts: Vec<&[(Owner, u32)]> = attributes.inheritable.chunks(PART).collect();
        let parts = threads.map(&parts, |part| Part::new(attributes, part, live));
        let mut out = InheritableRecords {
            list: Vec::with_capacity(parts.iter().map(|part| part.list.len()).sum()),
            masked: Table::filled(live.is_kernel.len(), false),
        };
        let mut any_externs = false;
        let mut languages = Languages::default();
        for mut part in parts {
            out.list.append(&mut part.list);
            part.masked.iter().for_each(|&f| out.masked[f] = true);
            any_externs |= part.has_externs;
            languages.append(part.languages);
        }
        let same_languages = !rules.joins_languages || (!languages.differ && languages.kernels == live.kernels.len());
        if !any_externs || same_languages {
            let stays = |number: u32| match attributes.records.get(number as usize).map_or(attr::ERROR, |r| r.code) {
                attr::EXTERNS => any_externs,
                attr::LANGUAGE => !same_languages,
                _ => true,
            };
            out.list = threads.filter_map(&out.list, |_, &item| stays(item.1).then_some(item));
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
