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
            // An archive may end after any member.
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
    let expected = ["Fatal: Memory allocation failure", "Fatal: elfLink fatbinary error"];
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

#[test]
fn nvlink_passes_over_a_damaged_lz4_entry() {
    let sound = cubin(90, &["k"], &[]);
    let mut damaged = one_fatbin(&sound, "sm_90");
    let size = 16 + 0x38;
    damaged[size..size + 8].copy_from_slice(&(sound.len() as u64 + 1).to_le_bytes());
    let files = Memory::new(&[("a.fatbin", &damaged[..]), ("b.cubin", &sound)]);
    let outcome = load(&["a.fatbin", "b.cubin"], &nvlink(), &files);
    assert_eq!(
        said(&outcome),
        ["Error: Uncompress failed", "Warning: SM Arch ('sm_90') not found in 'a.fatbin'"]
    );
    assert_eq!(outcome.loaded.map(|l| l.objects.len()), Some(1));
    let outcome = load(&["a.fatbin", "b.cubin"], &culd(), &files);
    assert!(outcome.loaded.is_none(), "culd refuses it");
}

#[test]
fn later_releases_pass_over_damaged_entries_in_other_words() {
    let mut damaged = one_fatbin(&cubin(90, &["k"], &[]), "sm_90");
    // the entry says zstd, its data is LZ4
    let flags = 16 + 0x28;
    damaged[flags + 1] = (damaged[flags + 1] & !0x20) | 0x80;
    let files = Memory::new(&[("a.fatbin", &damaged[..]), ("a.ptx", &[b'x'; 200][..])]);
    let of = |toolkit| culd_input::LoadOptions {
        release: Some(cubin::release::Release::of_toolkit(toolkit)),
        ..nvlink()
    };
    let twice = [
        "Error: Uncompress failed",
        "Error: Uncompress failed",
        "Fatal: elfLink fatbinary error",
    ];
    assert_eq!(said(&load(&["a.fatbin"], &of(130), &files)), twice);
    let once = ["Error: Uncompress failed", "Warning: SM Arch ('sm_90') not found in 'a.fatbin'"];
    assert_eq!(said(&load(&["a.fatbin"], &of(131), &files)), once);
    assert!(load(&["a.fatbin"], &of(131), &files).loaded.is_some(), "the link continues");
    let format = "Error: Binary format for key='0', ident='' is not recognized";
    let kind = "Error: Can't load this binary kind, as it's not recognized";
    for (toolkit, text) in [(130, format), (131, kind), (134, kind)] {
        assert_eq!(
            said(&load(&["a.ptx"], &of(toolkit), &files)),
            [text, "Fatal: elfLink fatbinary error"]
        );
    }
}

#[test]
fn nvlink_does_not_look_at_the_magic_in_a_fatbin() {
    let sound = cubin(90, &["k"], &[]);
    let mut other = sound.clone();
    other[0] = 0;
    let damaged = one_fatbin(&other, "sm_90");
    let files = Memory::new(&[("a.fatbin", &damaged[..])]);
    let outcome = load(&["a.fatbin"], &nvlink(), &files);
    assert_eq!(
        outcome.loaded.map(|l| l.objects.first().map(|o| o.bytes.to_vec())),
        Some(Some(sound))
    );
    assert!(load(&["a.fatbin"], &culd(), &files).loaded.is_none(), "culd refuses it");
}

#[test]
fn nvlink_wants_slashes_behind_the_names_of_members() {
    let sound = cubin(90, &["k"], &[]);
    let object = host(X86, &one_fatbin(&sound, "sm_90"), "_id", b"k*\0", b"\0");
    let plain = archive(&[("k.o", &object)]);
    let mut strange = plain.clone();
    strange[8 + 3] = b' ';
    for (bytes, expected) in [(&plain, Some(1)), (&strange, None)] {
        assert_eq!(count("lib.a", bytes, &nvlink()), expected);
        assert_eq!(count("lib.a", bytes, &culd()), Some(1));
    }
}

#[test]
fn nvlink_passes_over_fatbins_that_it_cannot_place() {
    let sound = one_fatbin(&cubin(90, &["k"], &[]), "sm_90");
    let entry = 16;
    let with = |at: usize, value: u32| {
        let mut copy = sound.clone();
        copy[at..at + 4].copy_from_slice(&value.to_le_bytes());
        let outcome = load(&["a.fatbin"], &nvlink(), &Memory::new(&[("a.fatbin", &copy[..])]));
        said(&outcome).concat()
    };
    let not_found = "Warning: SM Arch ('sm_90') not found in 'a.fatbin'";
    let unnamed = "Fatal: Unknown arch name ''Fatal: elfLink fatbinary error";
    // Fields: size of the payload (upper half), architecture, flags (LZ4, not 64 bits), size of the header (after the version).
    let cases = [
        (12, 1, not_found),
        (entry + 28, 999, not_found),
        (entry + 28, 1000, unnamed),
        (entry + 28, 0, unnamed),
        (entry + 40, 0x2010, not_found),
        (4, 0x8_0001, not_found),
    ];
    for (at, value, expected) in cases {
        assert_eq!(with(at, value), expected, "{value:#x} at {at}");
    }
}
