//! The codes of records that act on kernels other than their own function's.

use cubin::nvinfo::attr;

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
