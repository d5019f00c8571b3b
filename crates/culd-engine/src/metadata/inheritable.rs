//! The records that act on kernels other than their own function's, found in one pass over all records.
//!
//! Left out is what can change nothing: a sparse mask of 0, and EXTERNS when the functions of all of them are gone (a list without
//! functions still says where the kernel's list comes, so it counts as soon as one has some), and LANGUAGE when every kernel has the only
//! value that there is.

use super::attributes::{Attribute, Attributes, Owner, Payload};
use crate::ids::{FunctionId, Table};
use crate::liveness::Live;
use cubin::nvinfo::attr;
use cubin::release::Rules;

/// Codes that act on kernels, in the order used when there is one kernel.
pub(super) const CODES: [u8; 12] = [
    attr::CTAIDZ_USED,
    attr::RESERVED_SMEM_USED,
    attr::VRC_CTA_INIT_COUNT,
    attr::TCGEN05_1CTA_USED,
    attr::TCGEN05_2CTA_USED,
    attr::NUM_BARRIERS,
    attr::REG_RECONFIG,
    attr::NUM_MBARRIERS,
    attr::EXTERNS,
    attr::LANGUAGE,
    attr::AT_ENTRY_FRAGMENTS,
    attr::SPARSE_MMA_MASK,
];

/// Position of a code in [`CODES`], or their number.
const SLOTS: [u8; 256] = {
    let mut slots = [CODES.len() as u8; 256];
    let mut i = 0;
    while i < CODES.len() {
        slots[CODES[i] as usize] = i as u8;
        i += 1;
    }
    slots
};

/// Position of a code in [`CODES`].
pub(super) fn slot_of(code: u8) -> Option<usize> {
    let slot = usize::from(SLOTS[usize::from(code)]);
    (slot < CODES.len()).then_some(slot)
}

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
    /// Looks at every record once.
    pub(super) fn new(attributes: &Attributes<'_>, live: &Live, rules: &Rules) -> Self {
        let mut out = InheritableRecords {
            list: Vec::new(),
            masked: Table::filled(live.is_kernel.len(), false),
        };
        let mut any_externs = false;
        let mut languages = Languages::default();
        for (owner, range) in attributes.sections() {
            let first = range.start as u32;
            for (number, record) in (first..).zip(attributes.records.get(range).unwrap_or_default()) {
                if slot_of(record.code).is_none() {
                    continue;
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_slot_and_no_other_has_one() {
        for (i, &code) in CODES.iter().enumerate() {
            assert_eq!(slot_of(code), Some(i));
        }
        assert_eq!((0..=255).filter(|&code| slot_of(code).is_some()).count(), CODES.len());
    }
}
