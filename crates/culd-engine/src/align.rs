//! Rounding of addresses and file offsets.

/// Rounds up to a multiple of a power of two.
pub fn align_up(value: u64, align: u64) -> u64 {
    let mask = align.max(1) - 1;
    value.saturating_add(mask) & !mask
}

/// Rounds up to a multiple of any number: where a section may start in a file, or a variable in shared memory. A link of relocatable links takes
/// alignments from addresses, so that they are not always powers of two.
pub fn next_multiple(offset: u64, align: u64) -> u64 {
    // Division is slow; almost all alignments are powers of two.
    if align.is_power_of_two() {
        return align_up(offset, align);
    }
    offset.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}
