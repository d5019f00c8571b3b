//! Damaged inputs: cut off or changed anywhere, they are refused or ignored, never a panic and never half a link under culd.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use support::*;

const X86: u16 = 62;

/// One intact input of each kind, with its name.
fn intact() -> Vec<(&'static str, Vec<u8>)> {
    let device = cubin(90, &["k", "f"], &["g"]);
    let packed = fatbin(&[
        entry(1, "sm_80", b".version 9.0\n.target sm_80\n", "-O1 ", Store::Lz4),
        entry(2, "sm_90", &device, "", Store::Lz4),
    ]);
    let stored = fatbin(&[entry(2, "sm_90", &device, "", Store::Plain)]);
    let object = host(X86, &packed, "_id", b"k*\0", b"\0");
    let library = archive(&[("one.o", &object), ("a_second_member_with_a_long_name.o", &object)]);
    vec![
        ("a.cubin", device),
        ("packed.fatbin", packed),
        ("stored.fatbin", stored),
        ("a.o", object),
        ("lib.a", library),
    ]
}

fn count(name: &str, bytes: &[u8], options: &culd_input::LoadOptions) -> Option<usize> {
    let files = Memory::new(&[(name, bytes)]);
    let outcome = load(&[name], options, &files);
    outcome.loaded.map(|l| l.objects.len())
}

#[test]
fn intact_inputs_are_linked() {
    for (name, bytes) in intact() {
        let expected = if name == "lib.a" { 2 } else { 1 };
        let outcome = load(&[name], &culd(), &Memory::new(&[(name, &bytes)]));
        assert_eq!(said(&outcome), [""; 0], "{name}");
        assert_eq!(count(name, &bytes, &culd()), Some(expected), "{name}");
        assert_eq!(count(name, &bytes, &nvlink()), Some(expected), "{name}");
    }
}

#[test]
fn culd_refuses_what_is_cut_off() {
    for (name, bytes) in intact() {
        for cut in 0..bytes.len() {
            let part = &bytes[..cut];
            let _ = count(name, part, &nvlink());
            let got = count(name, part, &culd());
            // An archive may end behind any member.
            let is_whole_archive =
                name == "lib.a" && got.is_some_and(|n| n < 2) && culd_input::archive::Members::new(part, false).unwrap().all(|m| m.is_ok());
            assert!(got.is_none() || is_whole_archive, "{name} cut at {cut}: {got:?}");
        }
    }
}

#[test]
fn changed_bytes_never_panic() {
    for (name, bytes) in intact() {
        for at in 0..bytes.len() {
            for with in [0x00, 0xff, 0x80, bytes[at] ^ 1, bytes[at].wrapping_add(8)] {
                let mut copy = bytes.clone();
                copy[at] = with;
                let _ = count(name, &copy, &nvlink());
                let _ = count(name, &copy, &culd());
            }
        }
    }
}

#[test]
fn words_of_all_ones_never_panic() {
    for (name, bytes) in intact() {
        for at in (0..bytes.len().saturating_sub(8)).step_by(4) {
            for width in [2, 4, 8] {
                let mut copy = bytes.clone();
                copy[at..at + width].fill(0xff);
                let _ = count(name, &copy, &nvlink());
                let _ = count(name, &copy, &culd());
            }
        }
    }
}

#[test]
fn a_compression_bomb_is_refused_with_its_claim() {
    let mut bomb = one_fatbin(&cubin(90, &["k"], &[]), "sm_90");
    let size = 16 + 0x38;
    bomb[size..size + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
    let files = Memory::new(&[("bomb.fatbin", &bomb)]);
    let outcome = load(&["bomb.fatbin"], &culd(), &files);
    let text = said(&outcome).concat();
    assert!(text.contains("'bomb.fatbin'") && text.contains("1099511627776"), "{text}");
    let outcome = load(&["bomb.fatbin"], &nvlink(), &files);
    let expected = [
        "Error: Uncompress failed",
        "Error: Uncompress failed",
        "Fatal: elfLink fatbinary error",
    ];
    assert_eq!(said(&outcome), expected);
}

#[test]
fn a_host_object_with_a_broken_promise_is_an_error() {
    let sections = [section(".nvFatBinSegment", &[0; 24])];
    let empty = elf(X86, [0, 0], 0, &sections);
    let sections = [section(".nvFatBinSegment", &[0; 24]), section("__nv_relfatbin", &[1; 64])];
    let wrong = elf(X86, [0, 0], 0, &sections);
    let sections = [section(".nvFatBinSegment", &[0; 24]), section(".nv_fatbin", &[1; 64])];
    let whole_program = elf(X86, [0, 0], 0, &sections);
    let files = Memory::new(&[("empty.o", &empty), ("wrong.o", &wrong), ("whole.o", &whole_program)]);
    for name in ["empty.o", "wrong.o"] {
        let expected = [
            format!("Fatal: Could not find fatbin in '{name}'"),
            "Fatal: elfLink internal error".to_owned(),
        ];
        assert_eq!(said(&load(&[name], &nvlink(), &files)), expected);
        let text = said(&load(&[name], &culd(), &files)).concat();
        assert!(text.starts_with(&format!("Error: cannot use '{name}'")), "{text}");
    }
    assert!(names(&load(&["whole.o"], &nvlink(), &files)).is_empty());
    assert!(names(&load(&["whole.o"], &culd(), &files)).is_empty());
}
