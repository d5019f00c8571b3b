//! Whole loads over inputs built in memory: what is linked, in which order, under which names, and what is said.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod support;

use culd_input::{Identity, LoadOptions, Severity};
use support::*;

const X86: u16 = 62;
const AARCH64: u16 = 183;

/// A host object with one device object that defines `name`.
fn host_object(name: &str) -> Vec<u8> {
    let device = cubin(90, &[name], &[]);
    host(X86, &one_fatbin(&device, "sm_90"), &format!("_id_{name}"), b"\0", b"\0")
}

fn both(check: impl Fn(&LoadOptions)) {
    check(&nvlink());
    check(&culd());
}

#[test]
fn libraries_come_after_all_positional_inputs() {
    let a = host_object("a");
    let lib = archive(&[("b.o", &host_object("b")), ("a_rather_long_member_name.o", &host_object("c"))]);
    let files = Memory::new(&[("a.o", &a), ("lib/libb.a", &lib), ("d.cubin", &cubin(90, &["d"], &[]))]);
    both(|options| {
        let options = LoadOptions {
            libraries: vec!["b".into()],
            library_directories: vec!["none".into(), "lib//".into()],
            ..options.clone()
        };
        let outcome = load(&["a.o", "d.cubin"], &options, &files);
        assert_eq!(said(&outcome), [""; 0]);
        let expected = ["a.o", "d.cubin", "lib/libb.a:b.o", "lib/libb.a:a_rather_long_member_name.o"];
        assert_eq!(names(&outcome), expected);
        let text = String::from_utf8(outcome.loaded.unwrap().register.text()).unwrap();
        let ids = ["_id_a", "_work_d_cubin", "_id_b", "_id_c"].map(|id| format!("DEFINE_REGISTER_FUNC({id})\n"));
        assert_eq!(text, format!("#define NUM_PRELINKED_OBJECTS 4\n{}", ids.concat()));
    });
}

#[test]
fn an_archive_is_linked_once_whatever_its_spelling() {
    let lib = archive(&[("b.o", &host_object("b"))]);
    let files = Memory::new(&[("libb.a", &lib), ("copy.a", &lib)]).link("./libb.a", "libb.a");
    both(|options| {
        let outcome = load(&["libb.a", "./libb.a", "libb.a", "copy.a"], options, &files);
        assert_eq!(names(&outcome), ["libb.a:b.o", "copy.a:b.o"]);
    });
}

#[test]
fn arm_hosts_are_hosts() {
    let device = cubin(90, &["k"], &[]);
    let object = host(AARCH64, &one_fatbin(&device, "sm_90"), "_arm", b"k\0", b"\0");
    let files = Memory::new(&[("a.o", &object)]);
    both(|options| {
        let outcome = load(&["a.o"], options, &files);
        let loaded = outcome.loaded.unwrap();
        assert_eq!(&*loaded.objects[0].bytes, device, "decompressed");
        assert_eq!(loaded.kernels.unwrap().external, [b"k".to_vec()]);
    });
}

#[test]
fn stored_code_is_not_copied() {
    let device = cubin(90, &["k"], &[]);
    let file = fatbin(&[entry(2, "sm_90", &device, "", Store::Plain)]);
    let files = Memory::new(&[("a.fatbin", &file)]);
    both(|options| {
        let outcome = load(&["a.fatbin"], options, &files);
        let object = &outcome.loaded.as_ref().unwrap().objects[0];
        assert!(object.bytes.starts_with(&device));
    });
}

#[test]
fn the_content_decides_for_culd_and_the_name_for_nvlink() {
    let device = cubin(90, &["k"], &[]);
    let fat = one_fatbin(&device, "sm_90");
    let files = Memory::new(&[
        ("a.txt", &device),
        ("noext", &device),
        ("f.bin", &fat),
        ("l.a", &archive(&[("m", &device)])),
    ]);
    let inputs = ["a.txt", "noext", "f.bin", "l.a"];
    let outcome = load(&inputs, &culd(), &files);
    assert_eq!(names(&outcome), ["a.txt", "noext", "f.bin", "l.a:m"]);
    let outcome = load(&inputs, &nvlink(), &files);
    assert!(names(&outcome).is_empty());
    assert!(outcome.messages().next().is_none(), "nvlink says nothing about it");
}

#[test]
fn joined_objects_keep_all_their_fatbins_under_culd() {
    let fatbins: Vec<u8> = ["a", "b", "c"]
        .iter()
        .flat_map(|name| {
            let mut bytes = one_fatbin(&cubin(90, &[name], &[]), "sm_90");
            bytes.resize(bytes.len().next_multiple_of(8) + 8, 0);
            bytes
        })
        .collect();
    let object = host(X86, &fatbins, "_a\0\0_b\0_c", b"\0", b"\0");
    let files = Memory::new(&[("abc.o", &object)]);
    let outcome = load(&["abc.o"], &nvlink(), &files);
    assert_eq!(names(&outcome), ["abc.o"]);
    assert!(outcome.messages().next().is_none());
    let outcome = load(&["abc.o"], &culd(), &files);
    assert_eq!(names(&outcome), ["abc.o", "abc.o#2", "abc.o#3"]);
    assert_eq!(said(&outcome), ["Info: 'abc.o' contains 3 fatbins; all of them are linked"]);
    let ids: Vec<_> = outcome.loaded.as_ref().unwrap().register.ids().map(|id| id.into_owned()).collect();
    assert_eq!(ids, [b"_a", b"_c", b"_b"]);
}

#[test]
fn code_for_another_architecture_is_an_error_for_culd() {
    let device = cubin(80, &["k"], &[]);
    let fat = fatbin(&[
        entry(2, "sm_80", &device, "", Store::Lz4),
        entry(1, "sm_100", b".version 9.0\n", "", Store::Lz4),
    ]);
    let object = host(X86, &fat, "_id", b"\0", b"\0");
    let files = Memory::new(&[
        ("a.o", &object),
        ("l.a", &archive(&[("a.o", &object)])),
        ("b.cubin", &cubin(90, &["b"], &[])),
    ]);
    let outcome = load(&["a.o", "l.a"], &nvlink(), &files);
    assert_eq!(said(&outcome), ["Warning: SM Arch ('sm_90') not found in 'a.o'"]);
    let ids: Vec<_> = outcome.loaded.unwrap().register.ids().map(|id| id.into_owned()).collect();
    assert_eq!(ids, [b"_id", b"_id"], "registered all the same");
    let outcome = load(&["a.o", "l.a"], &culd(), &files);
    let expected = [
        "Error: 'a.o' has no code for sm_90, only for sm_80, compute_100 (PTX)",
        "Error: 'l.a:a.o' has no code for sm_90, only for sm_80, compute_100 (PTX)",
    ];
    assert_eq!(said(&outcome), expected);
    assert!(outcome.loaded.is_none());
    let passes = LoadOptions {
        suppress_arch_warning: true,
        ..culd()
    };
    let outcome = load(&["a.o", "b.cubin"], &passes, &files);
    assert_eq!(names(&outcome), ["b.cubin"]);
    assert!(outcome.messages().next().is_none());
    let outcome = load(&["a.o"], &passes, &files);
    assert!(outcome.messages().count() == 1 && outcome.loaded.is_none(), "nothing is left");
}

#[test]
fn an_error_makes_the_next_part_of_nvlink_fail() {
    let device = cubin(80, &["k"], &[]);
    let old = one_fatbin(&device, "sm_80");
    let files = Memory::new(&[
        ("old.fatbin", &old),
        ("new.fatbin", &one_fatbin(&cubin(90, &["n"], &[]), "sm_90")),
        ("p.o", &elf(X86, [0, 0], 0, &[])),
        ("c.cubin", &cubin(90, &["c"], &[])),
    ]);
    let options = LoadOptions {
        warnings_as_errors: true,
        ..nvlink()
    };
    let warning = "Error: SM Arch ('sm_90') not found in 'old.fatbin'";
    let cases = [
        ("new.fatbin", Some("Fatal: elfLink fatbinary error")),
        ("p.o", Some("Fatal: elfLink internal error")),
        ("c.cubin", None),
    ];
    for (second, follows) in cases {
        let outcome = load(&["old.fatbin", second], &options, &files);
        let expected: Vec<&str> = [warning].into_iter().chain(follows).collect();
        assert_eq!(said(&outcome), expected, "{second}");
        assert!(outcome.loaded.is_none());
        assert_eq!(outcome.is_fatal(), follows.is_some());
    }
    let silent = LoadOptions {
        suppress_arch_warning: true,
        ..options
    };
    let outcome = load(&["old.fatbin", "new.fatbin"], &silent, &files);
    assert_eq!(names(&outcome), ["new.fatbin"]);
}

#[test]
fn nvlink_stops_at_the_first_fatal_message_and_culd_names_all() {
    let files = Memory::new(&[("a.cubin", &[0; 100]), ("empty.o", b""), ("c80.cubin", &cubin(80, &["k"], &[]))]);
    let inputs = ["empty.o", "c80.cubin", "a.cubin", "missing.o"];
    let outcome = load(&inputs, &nvlink(), &files);
    assert_eq!(said(&outcome), ["Fatal: Input file 'c80.cubin' arch does not match target 'sm_90'"]);
    let outcome = load(&inputs, &culd(), &files);
    let expected = [
        "Error: cannot use 'empty.o': the file is empty",
        "Error: Input file 'c80.cubin' arch does not match target 'sm_90'",
        "Error: cannot use 'a.cubin': neither a device object, fatbin, PTX text, host object nor archive",
        "Error: cannot use 'missing.o': entity not found",
    ];
    assert_eq!(said(&outcome), expected);
}

#[test]
fn a_missing_library_is_an_error_with_strict_libraries_only() {
    let files = Memory::new(&[("a.o", &host_object("a")), ("l/libs.so", b""), ("l/libs.a", b"!<arch>\n")]);
    let with = |identity, library: &str| LoadOptions {
        identity,
        libraries: vec![library.into()],
        library_directories: vec!["l".into()],
        strict_libraries: true,
        ..culd()
    };
    for library in ["x", "s"] {
        let outcome = load(&["a.o"], &with(Identity::Nvlink, library), &files);
        assert!(outcome.messages().next().is_none(), "{library}");
    }
    let outcome = load(&["a.o"], &with(Identity::Culd, "x"), &files);
    assert_eq!(said(&outcome), ["Error: library -lx not found in l"]);
    let outcome = load(&["a.o"], &with(Identity::Culd, "s"), &files);
    assert_eq!(
        said(&outcome),
        ["Info: -ls is the shared library 'l/libs.so', which has no device code to link"]
    );
}

#[test]
fn libraries_of_the_host_are_passed_over() {
    let host_only = archive(&[("h.o", &elf(X86, [0, 0], 0, &[]))]);
    let device = archive(&[("d.o", &host_object("d"))]);
    let files = Memory::new(&[
        ("a.o", &host_object("a")),
        ("l/libs.so", b""),
        ("sys/libm.so", b""),
        ("sys/libpthread.a", b"!<arch>\n"),
        ("sys/libdl.a", &host_only),
        ("sys/libgm.a", b"/* GNU ld script */ GROUP ( libm.so.6 )"),
        ("sys/libd.a", &device),
    ]);
    let with = |libraries: &[&str]| LoadOptions {
        libraries: libraries.iter().map(|&l| l.into()).collect(),
        library_directories: vec!["l".into()],
        system_directories: vec!["none".into(), "sys".into()],
        ..culd()
    };
    let outcome = load(&["a.o"], &with(&["m", "pthread", "dl", "gm"]), &files);
    assert!(outcome.messages().next().is_none() && outcome.passed_over.is_empty() && outcome.loaded.is_some());
    let outcome = load(&["a.o"], &with(&["d", "x", "s", "d"]), &files);
    assert_eq!(names(&outcome), ["a.o", "sys/libd.a:d.o"]);
    let passed: Vec<String> = outcome.passed_over.iter().map(|m| m.code.to_string()).collect();
    let expected = [
        "library -lx not found in l",
        "-ls is the shared library 'l/libs.so', which has no device code to link",
    ];
    assert_eq!(passed, expected);
}

#[test]
fn thin_members_lie_beside_their_archive() {
    let mut thin = b"!<thin>\n".to_vec();
    thin.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "b.o/", 0, 0, 0, 644, 1000).into_bytes());
    let files = Memory::new(&[("dir/t.a", &thin), ("dir/b.o", &host_object("b"))]);
    let outcome = load(&["dir/t.a"], &culd(), &files);
    assert_eq!(names(&outcome), ["dir/t.a:b.o"]);
    let outcome = load(&["dir/t.a"], &nvlink(), &files);
    assert_eq!(
        said(&outcome),
        ["Fatal: Could not open input file 'b.o'", "Fatal: elfLink internal error"]
    );
    let files = Memory::new(&[("dir/t.a", &thin), ("b.o", &host_object("b"))]);
    let outcome = load(&["dir/t.a"], &nvlink(), &files);
    assert_eq!(names(&outcome), ["dir/t.a:b.o"]);
    let outcome = load(&["dir/t.a"], &culd(), &files);
    assert!(
        said(&outcome)[0].contains("member 'dir/b.o' of the thin archive"),
        "{:?}",
        said(&outcome)
    );
}

#[test]
fn nvlink_leaves_an_archive_at_the_first_foreign_member() {
    let lib = archive(&[
        ("a.o", &host_object("a")),
        ("c.cubin", &cubin(90, &["c"], &[])),
        ("readme", b"text"),
        ("b.o", &host_object("b")),
    ]);
    let files = Memory::new(&[("l.a", &lib)]);
    let outcome = load(&["l.a"], &nvlink(), &files);
    assert_eq!(names(&outcome), ["l.a:a.o"]);
    assert!(outcome.messages().next().is_none());
    let outcome = load(&["l.a"], &culd(), &files);
    assert_eq!(names(&outcome), ["l.a:a.o", "l.a:c.cubin", "l.a:b.o"]);
    assert_eq!(said(&outcome), ["Warning: 'l.a:readme' is of an unknown kind and is not linked"]);
}

#[test]
fn nvlink_looks_into_libraries_before_it_reads_inputs() {
    let text = archive(&[("readme", b"text"), ("b.o", &host_object("b"))]);
    let device_first = archive(&[("c.cubin", &cubin(90, &["c"], &[])), ("b.o", &host_object("b"))]);
    let broken = [b"!<arch>\n".as_slice(), &[b' '; 60]].concat();
    let files = Memory::new(&[
        ("1/libx.a", &text),
        ("2/libx.a", b"8 bytes."),
        ("3/libx.a", &device_first),
        ("1/liby.a", &broken),
        ("1/libz.a", b"9 bytes.."),
    ])
    .directory("1/libd.a");
    let search = |library: &str| {
        let options = LoadOptions {
            libraries: vec![library.into()],
            library_directories: ["1", "2", "3"].map(Into::into).to_vec(),
            ..nvlink()
        };
        load(&["missing.o"], &options, &files)
    };
    let expected = [
        "Warning: Skipping incompatible '1/libx.a' when searching for -lx",
        "Warning: Skipping incompatible '2/libx.a' when searching for -lx",
        "Fatal: Could not open input file 'missing.o'",
    ];
    assert_eq!(said(&search("x")), expected);
    for library in ["y", "z"] {
        let expected = ["Fatal: unexpected archive format", "Fatal: elfLink internal error"];
        assert_eq!(said(&search(library)), expected, "{library}");
    }
    assert_eq!(said(&search("d")), ["Fatal: Memory allocation failure"]);
}

mod device_runtime {
    use super::*;

    fn files() -> Memory {
        let runtime = host_object("rt");
        Memory::new(&[
            ("calls.cubin", &cubin(90, &["k"], &["rt"])),
            ("prints.cubin", &cubin(90, &["p"], &["vprintf", "__cuda_syscall_x"])),
            ("plain.cubin", &cubin(90, &["q"], &[])),
            ("libcudadevrt.a", &archive(&[("rt.o", &runtime)])),
            ("cudadevrt.o", &runtime),
        ])
    }

    #[test]
    fn is_linked_only_when_something_calls_it() {
        both(|options| {
            let linked = |inputs: &[&str]| names(&load(inputs, options, &files()));
            assert_eq!(linked(&["calls.cubin", "libcudadevrt.a"]), ["calls.cubin", "libcudadevrt.a:rt.o"]);
            assert_eq!(linked(&["prints.cubin", "libcudadevrt.a"]), ["prints.cubin"]);
            assert_eq!(linked(&["calls.cubin", "libcudadevrt.a", "plain.cubin"]).len(), 3);
            assert_eq!(linked(&["libcudadevrt.a", "plain.cubin"]), ["plain.cubin"]);
        });
    }

    #[test]
    fn an_object_behind_it_is_fatal_for_nvlink_only() {
        let inputs = ["plain.cubin", "libcudadevrt.a", "calls.cubin"];
        let loaded = load(&inputs, &nvlink(), &files()).loaded.unwrap();
        let (after, message) = loaded.deferred_error.unwrap();
        assert_eq!((after, message.severity), (1, Severity::Fatal));
        assert_eq!(message.code.to_string(), "unexpected object after cudadevrt");
        assert_eq!(loaded.objects.len(), 1);
        let outcome = load(&inputs, &culd(), &files());
        assert_eq!(names(&outcome), ["plain.cubin", "calls.cubin", "libcudadevrt.a:rt.o"]);
    }

    #[test]
    fn an_existing_register_file_is_kept_when_it_was_not_needed() {
        let keep = |inputs: &[&str]| load(inputs, &nvlink(), &files()).loaded.unwrap().register.keep_existing;
        assert!(keep(&["plain.cubin", "libcudadevrt.a"]));
        assert!(!keep(&["calls.cubin", "libcudadevrt.a"]));
        assert!(
            !keep(&["libcudadevrt.a", "plain.cubin"]),
            "an archive before the inputs is not opened"
        );
        assert!(!keep(&["plain.cubin"]));
    }

    #[test]
    fn an_early_archive_counts_when_it_comes_again() {
        let files = files().link("./libcudadevrt.a", "libcudadevrt.a");
        let outcome = load(&["libcudadevrt.a", "calls.cubin", "./libcudadevrt.a"], &nvlink(), &files);
        assert_eq!(names(&outcome), ["calls.cubin", "./libcudadevrt.a:rt.o"]);
    }

    #[test]
    fn is_an_archive_like_any_other_when_kept() {
        let options = LoadOptions {
            keep_system_libraries: true,
            ..nvlink()
        };
        let outcome = load(&["plain.cubin", "libcudadevrt.a", "calls.cubin"], &options, &files());
        assert_eq!(names(&outcome).len(), 3);
    }
}

mod kernels {
    use super::*;

    fn kept(inputs: &[&str]) -> Option<usize> {
        let device = cubin(90, &["k"], &[]);
        let fat = one_fatbin(&device, "sm_90");
        let with = |external: &[u8], internal: &[u8]| host(X86, &fat, "_id", external, internal);
        let mut linked = device.clone();
        linked[16] = 2;
        let files = Memory::new(&[
            ("k.o", &with(b"_Z2k1*\0_Z2k2*\0", b"s*\0")),
            ("none.o", &with(b"\0", b"\0")),
            ("plain.o", &elf(X86, [0, 0], 0, &[section(".text", &[0; 64])])),
            ("c.cubin", &device),
            ("c.fatbin", &fat),
            ("c.xyz", &device),
            ("linked.cubin", &linked),
            ("short.cubin", &device[..200]),
            ("text.txt", &[b' '; 100]),
            ("a.so", &with(b"\0", b"\0")),
            ("cudadevrt.cubin", &device),
            ("cudadevrt.o", &with(b"\0", b"memcpy*\0")),
        ]);
        let outcome = load(inputs, &nvlink(), &files);
        assert!(outcome.messages().next().is_none());
        let kernels = outcome.loaded.unwrap().kernels;
        kernels.map(|k| k.external.len() + k.internal.len())
    }

    #[test]
    fn are_known_when_every_object_lists_them() {
        assert_eq!(kept(&["k.o"]), Some(3));
        assert_eq!(kept(&["k.o", "none.o", "text.txt", "a.so", "linked.cubin"]), Some(3));
        assert_eq!(kept(&["none.o"]), None, "no pattern at all keeps everything");
        assert_eq!(kept(&["none.o", "cudadevrt.o"]), None);
        assert_eq!(kept(&["k.o", "cudadevrt.o"]), Some(4));
        assert_eq!(kept(&["k.o", "cudadevrt.cubin"]), Some(3));
    }

    #[test]
    fn are_unknown_as_soon_as_one_does_not_tell() {
        for other in ["plain.o", "c.cubin", "c.fatbin", "c.xyz", "short.cubin"] {
            assert_eq!(kept(&["k.o", other]), None, "{other}");
        }
    }
}

#[test]
fn lto_ir_needs_link_time_optimisation() {
    let ptx_and_ir = fatbin(&[entry(8, "sm_90", b"ir", "", Store::Plain)]);
    let too_new = fatbin(&[entry(8, "sm_100", b"ir", "", Store::Plain)]);
    let files = Memory::new(&[("a.fatbin", &ptx_and_ir), ("b.fatbin", &too_new), ("x.ltoir", &[1; 100])]);
    assert_eq!(
        said(&load(&["a.fatbin"], &nvlink(), &files)),
        ["Fatal: LTO objects found, use -dlto"]
    );
    let outcome = load(&["b.fatbin"], &nvlink(), &files);
    assert_eq!(said(&outcome), ["Warning: SM Arch ('sm_90') not found in 'b.fatbin'"]);
    assert_eq!(
        said(&load(&["x.ltoir"], &nvlink(), &files)),
        ["Fatal: should only see nvvm files when -lto"]
    );
    assert!(said(&load(&["a.fatbin"], &culd(), &files))[0].contains("LTO IR"));
}

#[test]
fn ptx_without_ptxas_says_how_to_get_one() {
    let files = Memory::new(&[(
        "a.ptx",
        b".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ret;}\n",
    )]);
    for options in [nvlink(), culd()] {
        let outcome = load(&["a.ptx"], &options, &files);
        assert!(outcome.loaded.is_none());
        let text = said(&outcome).concat();
        assert!(text.contains("'a.ptx' holds PTX") && text.contains("CULD_PTXAS"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn ptx_is_compiled_with_the_options_of_its_entry() {
    use std::os::unix::fs::PermissionsExt;
    // A replacement for ptxas: writes a device object and prints its arguments.
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("ptxas");
    std::fs::write(directory.path().join("made.cubin"), cubin(90, &["k"], &[])).unwrap();
    let text = format!(
        "#!/bin/sh\ncp {}/made.cubin elf.o\necho \"$1 $2 $3 $4 $5 $6 $7\" >&2\n",
        directory.path().display()
    );
    std::fs::write(&script, text).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let fat = fatbin(&[entry(1, "sm_80", b".version 9.0\n", "-O1 -lineinfo ", Store::Lz4)]);
    let old = one_fatbin(&cubin(80, &["k"], &[]), "sm_80");
    let files = Memory::new(&[("a.fatbin", &fat), ("old.fatbin", &old)]);
    let mut options = nvlink();
    options.ptxas.given = Some(script);
    options.ptx.extra = vec!["-v".into()];
    let outcome = load(&["a.fatbin"], &options, &files);
    let expected = "Info: -arch=sm_90 -m64 --compile-only -O1 -lineinfo -v --input-as-string";
    assert_eq!(said(&outcome), [expected]);
    assert_eq!(names(&outcome), ["a.fatbin"]);
    assert_eq!(outcome.loaded.unwrap().compilations.len(), 1);
    // ptxas leaves its own switches set in nvlink: a warning is not an error any more.
    options.warnings_as_errors = true;
    let outcome = load(&["a.fatbin", "old.fatbin"], &options, &files);
    assert_eq!(outcome.messages().nth(1).unwrap().severity, Severity::Warning);
    assert!(!outcome.loaded.unwrap().warnings.as_errors);
    options.ptx.extra.push("-Werror".into());
    let outcome = load(&["a.fatbin", "old.fatbin"], &options, &files);
    assert_eq!(outcome.messages().nth(1).unwrap().severity, Severity::Error);
}

#[test]
fn results_do_not_depend_on_threads() {
    let objects: Vec<(String, Vec<u8>)> = (0..200)
        .map(|i| {
            let name = format!("f{i}");
            let mut device = cubin(90, &[&name], &[]);
            device.resize(8000, 0);
            let fat = fatbin(&[entry(2, "sm_90", &device, "", Store::Plain)]);
            (format!("m{i}.o"), host(X86, &fat, &name, b"\0", b"\0"))
        })
        .collect();
    let members: Vec<(&str, &[u8])> = objects.iter().map(|(n, d)| (n.as_str(), d.as_slice())).collect();
    let files = Memory::new(&[("l.a", &archive(&members))]);
    let one = load(&["l.a"], &LoadOptions { threads: 1, ..nvlink() }, &files);
    let many = load(&["l.a"], &nvlink(), &files);
    let expected: Vec<String> = (0..200).map(|i| format!("l.a:m{i}.o")).collect();
    assert_eq!(names(&one), expected);
    assert_eq!(names(&many), expected);
}
