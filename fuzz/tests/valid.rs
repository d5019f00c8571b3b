//! The strict checks refuse nothing that a compiler or a linker wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed unwrap is a failed test")]

use cubin::validate::validate;
use cubin::{Cubin, consts};
use culd_engine::Identity;
use culd_fuzz::classify;
use culd_fuzz::mutant::{Mode, Source};
use culd_fuzz::seeds::{Program, Seeds};
use culd_fuzz::wrap::Kind;
use std::path::Path;

#[test]
fn mutants_cover_targets_and_kinds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let source = Source::new(Seeds::load(&root.join("tests/fixtures")).unwrap(), 7);
    assert!(source.targets().len() >= 12, "{:?}", source.targets());
    let first: Vec<_> = (0..200).filter_map(|i| source.mutant(i)).collect();
    for kind in Kind::ALL {
        assert!(first.iter().any(|m| m.kind == kind), "{kind:?}");
    }
    let again = source.mutant(3).unwrap();
    assert_eq!(again.files, first[3].files, "a mutant is the same every time");
}

#[test]
fn packed_objects_link_like_bare_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let seeds = Seeds::load(&root.join("tests/fixtures")).unwrap();
    let link = |program: &Program, kind: Kind| {
        let pack = |(i, o): (usize, &Vec<u8>)| (format!("{i}.{}", kind.suffix()), kind.pack(100, o));
        let files: Vec<_> = program.objects.iter().enumerate().map(pack).collect();
        classify::link(&files, &program.arch, Identity::Nvlink, Mode::Final).image
    };
    // Some cases are about objects that are refused.
    let blackwell = seeds.programs.iter().filter(|p| p.arch == "sm_100");
    let (program, bare) = { blackwell }
        .find_map(|p| link(p, Kind::Cubin).map(|image| (p, image)))
        .expect("a program that links");
    for kind in Kind::ALL {
        assert!(link(program, kind).as_ref() == Some(&bare), "{kind:?}");
    }
}

#[test]
fn undamaged_objects_are_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
    let seeds = Seeds::load(&root.join("tests/fixtures")).unwrap();
    let mut bad = Vec::new();
    let mut count = 0;
    for bytes in &seeds.pristine {
        let cubin = Cubin::parse(bytes).unwrap();
        if cubin.header().e_type.get() != consts::ET_REL {
            continue;
        }
        count += 1;
        if let Err(e) = validate(&cubin) {
            bad.push(e.to_string());
        }
    }
    // nvlink quirk: a relocatable link takes the place that an earlier one with -g gave to dynamic shared memory for an alignment.
    let is_place = |e: &String| e.contains("'.nv.shared.k3': sh_addralign 0xd0 is not a power of two");
    bad.retain(|e| !is_place(e));
    assert!(bad.is_empty(), "{} of {count}: {:#?}", bad.len(), bad);
    assert!(count > 300, "only {count} objects");
}

#[test]
fn a_cut_archive_is_refused_or_named() {
    let object = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/sm_90-cxx/second.cubin")).unwrap();
    let archive = Kind::Archive.pack(90, &object);
    for keep in (0..200).chain(archive.len() - 200..archive.len()) {
        let files = [("0.cubin".to_owned(), object.clone()), ("1.a".to_owned(), archive[..keep].to_vec())];
        let linked = classify::link(&files, "sm_90", Identity::Culd, Mode::Final);
        if keep == 8 {
            assert!(linked.success, "an archive without members is legal");
            assert_eq!(linked.said, ["archive '1.a' is empty"]);
        } else {
            assert!(!linked.success, "{keep} bytes of the archive were accepted: {:?}", linked.said);
        }
    }
}
