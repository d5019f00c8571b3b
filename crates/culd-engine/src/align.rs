//! Rounding of addresses and file offsets.

/// Rounds up to a multiple of a power of two.
pub fn align_up(value: u64, align: u64) -> u64 {
    let mask = align.max(1) - 1;
    value.saturating_add(mask) & !mask
}

/// Where a section may start in a file: the next multiple of its alignment. A relocatable link of relocatable links takes alignments from
/// addresses, so that they are not always powers of two.
pub fn file_offset(offset: u64, align: u64) -> u64 {
    // Division is slow; almost all alignments are powers of two.
    if align.is_power_of_two() {
        return align_up(offset, align);
    }
    offset.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}
