#![allow(clippy::unwrap_used, reason = "a failing test may panic")]
use super::*;

const STORED: &[u8] = include_bytes!("../../tests/data/none.fatbin");
const ZSTD: &[u8] = include_bytes!("../../tests/data/size.fatbin");
const LZ4: &[u8] = include_bytes!("../../tests/data/speed.fatbin");

fn entries(data: &[u8]) -> Vec<Entry<'_>> {
    Fatbin::parse(data).unwrap().entries().collect::<Result<_, _>>().unwrap()
}

#[test]
fn three_ways_to_store_give_the_same_data() {
    let stored = entries(STORED);
    for (bytes, compression) in [(STORED, Compression::Stored), (ZSTD, Compression::Zstd), (LZ4, Compression::Lz4)] {
        let list = entries(bytes);
        assert_eq!(list.iter().map(Entry::kind).collect::<Vec<_>>(), [EntryKind::Elf, EntryKind::Ptx]);
        assert_eq!(list.iter().map(|e| e.arch().number).collect::<Vec<_>>(), [90, 75]);
        for (entry, plain) in list.iter().zip(&stored) {
            assert_eq!(entry.compression(), compression);
            assert_eq!(entry.arch().suffix, Suffix::None);
            assert_eq!(entry.identifier(), b"hello.cu");
            let data = entry.payload(DEFAULT_LIMIT).unwrap();
            assert!(plain.stored.starts_with(&data));
        }
        assert_eq!(list[0].options(), b"");
        assert_eq!(list[1].options(), b"-O1 --compile-only");
        assert!(crate::Cubin::parse(&list[0].payload(DEFAULT_LIMIT).unwrap()).is_ok());
    }
}

#[test]
fn writer_makes_what_the_vendors_tool_makes() {
    let list = entries(STORED);
    let text: Vec<u8> = list[1].stored.iter().copied().take_while(|&b| b != 0).collect();
    let mut writer = Writer::new();
    let elf = NewEntry {
        identifier: b"hello.cu",
        ..NewEntry::elf(90, list[0].stored)
    };
    writer.add(&elf).unwrap();
    let ptx = NewEntry {
        kind: EntryKind::Ptx,
        arch: 75,
        version: (9, 0),
        options: b"-O1 --compile-only",
        data: &text,
        ..elf
    };
    writer.add(&ptx).unwrap();
    assert_eq!(writer.finish(), STORED);
}

#[test]
fn claims_are_checked_before_memory_is_taken() {
    for bytes in [ZSTD, LZ4] {
        let mut huge = bytes.to_vec();
        huge[16 + 0x38..16 + 0x40].copy_from_slice(&(1u64 << 40).to_le_bytes());
        let error = entries(&huge)[0].payload(DEFAULT_LIMIT).unwrap_err();
        assert!(
            matches!(error, FatbinError::TooLarge { claimed, offset: 16, .. } if claimed == 1 << 40),
            "{error}"
        );
        // Below the caller's limit, but more or less than there is.
        for wrong in [3479u64, 3481, 0, 100_000] {
            let mut off = bytes.to_vec();
            off[16 + 0x38..16 + 0x40].copy_from_slice(&wrong.to_le_bytes());
            let error = entries(&off)[0].payload(DEFAULT_LIMIT).unwrap_err();
            assert!(matches!(error, FatbinError::Unpack { .. }), "{wrong}: {error}");
        }
        assert!(matches!(entries(bytes)[0].payload(3479), Err(FatbinError::TooLarge { .. })));
        assert!(entries(bytes)[0].payload(3480).is_ok());
    }
}

/// A container with `frames` as the data of its one entry, which claims `size` bytes.
fn zstd_entry(frames: &[u8], size: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.add(&NewEntry::elf(90, frames)).unwrap();
    let mut bytes = writer.finish();
    bytes[16 + 0x28..16 + 0x30].copy_from_slice(&FLAG_ZSTD.to_le_bytes());
    bytes[16 + 0x10] = frames.len() as u8;
    bytes[16 + 0x38..16 + 0x40].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[test]
fn a_frame_with_a_giant_window_is_refused() {
    // zstd frame: no content size, window of 128 GiB, one empty last block.
    let bytes = zstd_entry(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 27 << 3, 1, 0, 0], 0);
    let error = entries(&bytes)[0].payload(DEFAULT_LIMIT).unwrap_err();
    assert!(error.to_string().contains("window of 2^37 bytes"), "{error}");
}

/// What nvlink was seen to take and to refuse.
#[test]
fn frames_in_a_row_are_joined_and_nothing_may_follow() {
    let frame = |text: &[u8; 3]| [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 3 << 3 | 1, 0, 0], text.as_slice()].concat();
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];
    let row = [&skipped, frame(b"abc").as_slice(), &skipped, &frame(b"def")].concat();
    assert_eq!(entries(&zstd_entry(&row, 6))[0].payload(6).unwrap().as_ref(), b"abcdef");
    for (data, size) in [([&row[..], b"junk"].concat(), 6), (row.clone(), 3), (frame(b"abc"), 6)] {
        let error = entries(&zstd_entry(&data, size))[0].payload(6).unwrap_err();
        assert!(matches!(error, FatbinError::Unpack { .. }), "{error}");
    }
    // Without a size of the compressed data there is none.
    let mut unsized_data = zstd_entry(&row, 6);
    unsized_data[16 + 0x10] = 0;
    let error = entries(&unsized_data)[0].payload(6).unwrap_err();
    assert!(matches!(error, FatbinError::TooLarge { .. }), "{error}");
}

#[test]
fn cuts_and_flips_never_panic() {
    for bytes in [STORED, ZSTD, LZ4] {
        for cut in 0..bytes.len() {
            let Ok(fatbin) = Fatbin::parse(&bytes[..cut]) else { continue };
            assert!(fatbin.is_truncated());
            for entry in fatbin.entries().flatten() {
                let _ = (entry.identifier(), entry.options(), entry.payload(1 << 20));
            }
        }
        for at in 0..bytes.len().min(0x90) {
            for bit in 0..8 {
                let mut damaged = bytes.to_vec();
                damaged[at] ^= 1 << bit;
                let Ok(fatbin) = Fatbin::parse(&damaged) else { continue };
                for entry in fatbin.entries().flatten() {
                    let _ = (entry.identifier(), entry.options(), entry.payload(1 << 20));
                }
            }
        }
    }
}

#[test]
fn other_things_are_named() {
    assert_eq!(
        Fatbin::parse(b"\x7fELF567890123456").unwrap_err().to_string(),
        "not a fat binary: first word is 0x464c457f"
    );
    let mut version = STORED.to_vec();
    version[4] = 2;
    assert!(matches!(Fatbin::parse(&version), Err(FatbinError::Version { version: 2, .. })));
    assert!(Fatbin::parse(&STORED[..15]).is_err());
    let cut = Fatbin::parse(&STORED[..100]).unwrap();
    assert!(cut.entries().next().unwrap().unwrap().payload(DEFAULT_LIMIT).is_err());
    assert_eq!(cut.size(), STORED.len() as u64);
}
