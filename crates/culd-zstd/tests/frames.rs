//! Frames made by hand, one defect or one rule each.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use culd_zstd::{Error, SLACK, decompress, decompress_exact};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const RAW: u32 = 0;
const RLE: u32 = 1;
const COMPRESSED: u32 = 2;

/// A block; `size` is what its header says.
fn block(is_last: bool, kind: u32, size: usize, body: &[u8]) -> Vec<u8> {
    let word = u32::from(is_last) | kind << 1 | (size as u32) << 3;
    [&word.to_le_bytes()[..3], body].concat()
}

/// A frame with a window of 1 MiB and without content size.
fn frame(blocks: &[Vec<u8>]) -> Vec<u8> {
    [MAGIC.as_slice(), &[0, 10 << 3], &blocks.concat()].concat()
}

/// A frame of one compressed block.
fn compressed(body: &[u8]) -> Vec<u8> {
    frame(&[block(true, COMPRESSED, body.len(), body)])
}

/// Three literals, and one sequence with one symbol per table: its codes and the bits for their extra bits.
fn one_sequence(literals: u8, offset: u8, matched: u8, bits: &[u8]) -> Vec<u8> {
    let head = [3 << 3, b'a', b'b', b'c', 1, 0b01_01_01_00, literals, offset, matched];
    compressed(&[&head, bits].concat())
}

#[test]
fn blocks_without_compression() {
    let data = frame(&[block(false, RAW, 3, b"abc"), block(false, RLE, 4, b"x"), block(true, RAW, 0, b"")]);
    assert_eq!(decompress(&data, 7).unwrap(), b"abcxxxx");
    assert_eq!(decompress_exact(&data, 7).unwrap(), b"abcxxxx");
    assert_eq!(decompress(&data, 6), Err(Error::TooLong { limit: 6 }));
    assert_eq!(decompress_exact(&data, 8), Err(Error::Size { have: 7, want: 8 }));
}

#[test]
fn literals_of_one_byte() {
    assert_eq!(decompress(&compressed(&[9 << 3 | 1, b'z', 0]), 9).unwrap(), b"zzzzzzzzz");
}

#[test]
fn a_match_that_overlaps_itself() {
    // Offset code 2 with extra bits 10: written as 6, so 3 bytes back. Match code 2: 5 bytes.
    assert_eq!(decompress(&one_sequence(3, 2, 2, &[0b110]), 8).unwrap(), b"abcabcab");
    // Two literals first, 2 bytes back, 4 bytes; the third literal comes last.
    assert_eq!(decompress(&one_sequence(2, 2, 1, &[0b101]), 7).unwrap(), b"abababc");
}

/// What a match makes of literals, byte by byte.
fn repeated(mut literals: Vec<u8>, offset: u32, length: u32) -> Vec<u8> {
    for _ in 0..length {
        literals.push(literals[literals.len() - offset as usize]);
    }
    literals
}

#[test]
fn long_periods() {
    // 40 literals are code 23 with three extra bits; offset code 5 has 5 of them, match code 43 has 7.
    let literals: Vec<u8> = (0..40).collect();
    for offset in 29..=40u32 {
        for length in 0..128u32 {
            let stream = (1 << 12 | (offset + 3 - 32) << 7 | length) << 3;
            let body = [
                &[0b0100 | (40 & 15) << 4, 40 >> 4],
                literals.as_slice(),
                &[1, 0b01_01_01_00, 23, 5, 43],
                &stream.to_le_bytes()[..2],
            ];
            let got = decompress(&compressed(&body.concat()), 1 << 10).unwrap();
            assert_eq!(got, repeated(literals.clone(), offset, 131 + length), "{offset} {length}");
        }
    }
}

#[test]
fn short_periods() {
    // Match code 43 has 7 extra bits; offset codes 2 and 3 reach from 1 to 12 bytes back.
    let literals: Vec<u8> = (1..=12).collect();
    for offset in 1..=12u32 {
        for length in 0..128u32 {
            let code = (offset + 3).ilog2();
            let extra = offset + 3 - (1 << code);
            let stream = (1 << code | extra) << 7 | length;
            let body = [
                &[12 << 3],
                literals.as_slice(),
                &[1, 0b01_01_01_00, 12, code as u8, 43],
                &stream.to_le_bytes()[..2],
            ];
            let got = decompress(&compressed(&body.concat()), 1 << 10).unwrap();
            assert_eq!(got, repeated(literals.clone(), offset, 131 + length), "{offset} {length}");
        }
    }
}

#[test]
fn matches_before_the_content_are_refused() {
    // 4 bytes back where 3 are.
    let error = decompress(&one_sequence(3, 2, 2, &[0b111]), 99).unwrap_err();
    assert_eq!(error, Error::Offset { offset: 4, have: 3 });
    // No literals and 3 as the offset: one less than the latest, which is 1 at the start.
    let error = decompress(&one_sequence(0, 1, 2, &[0b11]), 99).unwrap_err();
    assert_eq!(error, Error::Offset { offset: 0, have: 0 });
    // A frame does not see the one before it.
    let row = [frame(&[block(true, RAW, 4, b"wxyz")]), one_sequence(3, 2, 2, &[0b111])].concat();
    assert_eq!(decompress(&row, 99), Err(Error::Offset { offset: 4, have: 3 }));
}

#[test]
fn damaged_sequences_are_refused() {
    let refused = |data: Vec<u8>| decompress(&data, 99).unwrap_err();
    assert!(
        matches!(refused(one_sequence(4, 2, 2, &[0b110])), Error::Sequences { .. }),
        "more literals than there are"
    );
    assert!(
        matches!(refused(one_sequence(36, 2, 2, &[0b110])), Error::Sequences { .. }),
        "no such code"
    );
    assert!(
        matches!(refused(one_sequence(3, 2, 2, &[0b11010])), Error::Sequences { .. }),
        "bits left over"
    );
    assert!(
        matches!(refused(one_sequence(3, 2, 2, &[0b11])), Error::Sequences { .. }),
        "bits missing"
    );
    assert!(
        matches!(refused(one_sequence(3, 2, 2, &[0])), Error::Sequences { .. }),
        "no end mark"
    );
    assert!(matches!(refused(one_sequence(3, 2, 2, &[])), Error::Sequences { .. }), "no bits");
    let repeated = [0, 1, 0b11_11_11_00, 1];
    assert!(
        matches!(refused(compressed(&repeated)), Error::Sequences { .. }),
        "no table to repeat"
    );
    assert_eq!(
        refused(compressed(&[0, 1, 1, 1])),
        Error::Reserved {
            what: "the modes of tables"
        }
    );
    assert!(
        matches!(refused(compressed(&[0, 0, 7])), Error::Sequences { .. }),
        "data after the last"
    );
    // Two sequences with as many extra bits as codes can have: more than fits between refills, and more than a block can have.
    let wide = [&[0, 2, 0b01_01_01_00, 35, 31, 52], [0xff; 16].as_slice()].concat();
    assert!(matches!(refused(compressed(&wide)), Error::Sequences { .. }));
}

#[test]
fn damaged_literals_are_refused() {
    let refused = |body: &[u8]| decompress(&compressed(body), 1 << 20).unwrap_err();
    assert_eq!(
        refused(&[3 << 3, b'a']),
        Error::Truncated {
            what: "the literals of a block"
        }
    );
    // A size of 20 bits, all set.
    assert!(matches!(refused(&[0xfc, 0xff, 0xff, 0]), Error::BlockSize { size: 0xf_ffff, .. }));
    // Huffman codes: 10 literals from the bytes that follow; one stream, or none to use again.
    let coded = |kind: u8, tree: &[u8]| {
        let word = u32::from(kind) | 10 << 4 | (tree.len() as u32) << 14;
        [&word.to_le_bytes()[..3], tree, &[0]].concat()
    };
    assert_eq!(refused(&coded(3, &[1])), Error::Huffman { why: "no earlier code" });
    assert_eq!(refused(&coded(2, &[128, 0xc0, 1])), Error::Huffman { why: "weight too large" });
    assert_eq!(
        refused(&coded(2, &[128, 0x00, 1])),
        Error::Huffman {
            why: "codes too long, or none"
        }
    );
    // Weights 3 and 1 make 5 of 8: what is missing is not a power of two.
    assert_eq!(
        refused(&coded(2, &[129, 0x31, 1])),
        Error::Huffman {
            why: "code is not complete"
        }
    );
    assert_eq!(
        refused(&coded(2, &[128, 0x20, 1])),
        Error::Huffman {
            why: "no code of full length"
        }
    );
    assert!(matches!(refused(&coded(2, &[255, 1])), Error::Truncated { .. }));
    assert!(matches!(refused(&coded(2, &[1, 0xff, 1])), Error::Fse { .. }));
}

#[test]
fn two_symbols_of_one_bit() {
    // Weight 1 for symbol 0, and so for symbol 1; ten bits and the end mark.
    let tree = [128, 0x10, 0b0101_0011, 0b110];
    let word = 2 | 10 << 4 | (tree.len() as u32) << 14;
    let body = [&word.to_le_bytes()[..3], &tree, &[0]].concat();
    assert_eq!(decompress(&compressed(&body), 10).unwrap(), [1, 0, 0, 1, 0, 1, 0, 0, 1, 1]);
}

#[test]
fn headers() {
    assert_eq!(decompress(b"", 0).unwrap(), b"");
    assert_eq!(decompress(b"junk", 9), Err(Error::Magic { found: 0x6b6e_756a }));
    assert_eq!(decompress(b"ju", 9), Err(Error::Truncated { what: "a frame header" }));
    let with = |rest: &[u8]| decompress(&[&MAGIC, rest].concat(), 99);
    assert_eq!(with(&[8, 0, 1, 0, 0]), Err(Error::Reserved { what: "a frame header" }));
    assert_eq!(with(&[1, 0, 5, 1, 0, 0]), Err(Error::Dictionary { id: 5 }));
    assert_eq!(with(&[1, 0, 0, 1, 0, 0]), Ok(vec![]));
    assert_eq!(with(&[0, 21 << 3 | 7, 1, 0, 0]), Ok(vec![]));
    assert_eq!(with(&[0, 22 << 3, 1, 0, 0]), Err(Error::Window { log: 32 }));
    assert_eq!(with(&[0x20, 3, 25, 0, 0, 1, 2, 3]), Ok(vec![1, 2, 3]));
    assert_eq!(with(&[0x20, 4, 25, 0, 0, 1, 2, 3]), Err(Error::Size { have: 3, want: 4 }));
    assert_eq!(with(&[0x20, 2, 25, 0, 0, 1, 2, 3]), Err(Error::BlockSize { size: 3, limit: 2 }));
    // Two bytes for the content size count from 256.
    assert_eq!(with(&[0x60, 0, 0, 3, 0, 0]), Err(Error::TooLarge { claimed: 256, limit: 99 }));
    assert_eq!(with(&[0, 0, 7, 0, 0]), Err(Error::Reserved { what: "a block header" }));
    let large = block(true, RLE, (128 << 10) + 1, b"x");
    assert!(matches!(decompress(&frame(&[large]), 1 << 20), Err(Error::BlockSize { .. })));
}

#[test]
fn checksums() {
    let data = [MAGIC.as_slice(), &[0x24, 3, 25, 0, 0], b"abc", &0xad77_0999_u32.to_le_bytes()].concat();
    assert_eq!(decompress(&data, 3).unwrap(), b"abc");
    let mut wrong = data.clone();
    wrong[9] = b'b';
    assert!(matches!(decompress(&wrong, 3), Err(Error::Checksum { stored: 0xad77_0999, .. })));
    assert_eq!(decompress(&data[..14], 3), Err(Error::Truncated { what: "a checksum" }));
}

#[test]
fn frames_to_pass_over() {
    let skipped = [0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2];
    let data = [&skipped, frame(&[block(true, RAW, 1, b"a")]).as_slice(), &skipped].concat();
    assert_eq!(decompress(&data, 1).unwrap(), b"a");
    assert_eq!(decompress(&skipped[..9], 1), Err(Error::Truncated { what: "a skippable frame" }));
}

#[test]
fn claims_take_no_memory() {
    // One byte that claims to be 1 TiB; and a frame of RLE blocks under a limit that is far off.
    let claim = [
        MAGIC.as_slice(),
        &[0xe0],
        &(1u64 << 40).to_le_bytes(),
        &[1 << 1 | 1 << 3 | 1, 0, 0, 0],
    ]
    .concat();
    let error = decompress(&claim, 1 << 30).unwrap_err();
    assert_eq!(
        error,
        Error::TooLarge {
            claimed: 1 << 40,
            limit: 1 << 30
        }
    );
    let out = decompress(&frame(&[block(true, RLE, 5, b"x")]), usize::MAX).unwrap();
    assert!(out.capacity() <= 5 + SLACK, "{}", out.capacity());
}
