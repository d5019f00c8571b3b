//! The 64-bit xxHash with seed 0, of which a frame stores the low half.
//!
//! 1. Stripes of 32 bytes feed four lanes.
//! 2. The lanes are joined, the size is added.
//! 3. The rest is added as words of eight and four bytes and single bytes; a last mixing spreads it.

const PRIME: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIME[1]))
        .rotate_left(31)
        .wrapping_mul(PRIME[0])
}

fn mix(hash: u64, word: u64, turn: u32, factor: u64, term: u64) -> u64 {
    (hash ^ word).rotate_left(turn).wrapping_mul(factor).wrapping_add(term)
}

/// Hash of `data`.
pub(crate) fn xxh64(data: &[u8]) -> u64 {
    let (stripes, mut rest) = data.as_chunks::<32>();
    let mut hash = PRIME[4];
    if !stripes.is_empty() {
        let mut lanes = [PRIME[0].wrapping_add(PRIME[1]), PRIME[1], 0, PRIME[0].wrapping_neg()];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turns = [1, 7, 12, 18];
        hash = lanes
            .iter()
            .zip(turns)
            .fold(0u64, |sum, (lane, turn)| sum.wrapping_add(lane.rotate_left(turn)));
        hash = lanes
            .iter()
            .fold(hash, |hash, &lane| mix(hash, round(0, lane), 0, PRIME[0], PRIME[3]));
    }
    hash = hash.wrapping_add(data.len() as u64);
    while let Some((&word, tail)) = rest.split_first_chunk::<8>() {
        hash = mix(hash, round(0, u64::from_le_bytes(word)), 27, PRIME[0], PRIME[3]);
        rest = tail;
    }
    if let Some((&word, tail)) = rest.split_first_chunk::<4>() {
        let word = u64::from(u32::from_le_bytes(word)).wrapping_mul(PRIME[0]);
        hash = mix(hash, word, 23, PRIME[1], PRIME[2]);
        rest = tail;
    }
    for &byte in rest {
        hash = mix(hash, u64::from(byte).wrapping_mul(PRIME[4]), 11, PRIME[0], 0);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(PRIME[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(PRIME[2]);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::xxh64;

    #[test]
    fn known_hashes() {
        assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(xxh64(b"abc"), 0x44bc_2cf5_ad77_0999);
    }
}
