//! The files that coverage-guided fuzzing starts from and those it has found.
//!
//! 1. [`sound`]: undamaged files for every target: recorded inputs of every kind, and small programs packed in every way.
//! 2. [`kept`]: what earlier runs found worth keeping, in `fuzz/corpus/<target>.fixture`. `cargo test` gives every file to its target.
//! 3. [`keep`] writes such a file.

use crate::jit;
use crate::seeds::Seeds;
use crate::targets;
use crate::wrap::Kind;
use culd_tests::fixture::Fixture;
use culd_tests::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is tried with a file; whether it was accepted.
pub type Target = fn(&[u8]) -> bool;

/// The targets of coverage-guided fuzzing.
pub const TARGETS: [(&str, Target); 7] = [
    ("parse_cubin", targets::parse_cubin),
    ("parse_fatbin", targets::parse_fatbin),
    ("parse_archive", targets::parse_archive),
    ("parse_host_object", targets::parse_host_object),
    ("link_two", targets::link_two),
    ("roundtrip", targets::round_trip),
    ("jit", jit::run),
];

/// Larger files slow the search down.
const SIZE: usize = 12_000;
/// Recorded files per target.
const RECORDED: usize = 100;

/// Undamaged files for a target.
pub fn sound(target: &str, seeds: &Seeds) -> Vec<Vec<u8>> {
    let archives = |yes: bool| {
        let list = seeds.containers.iter();
        list.filter(|b| b.starts_with(b"!") == yes).cloned().collect::<Vec<_>>()
    };
    let (recorded, kinds): (Vec<Vec<u8>>, &[Kind]) = match target {
        "parse_fatbin" => (seeds.fatbins.clone(), &[Kind::Fatbin, Kind::Zstd, Kind::Lz4]),
        "parse_archive" => (archives(true), &[Kind::Archive]),
        "parse_host_object" => (archives(false), &[Kind::Host]),
        "link_two" => (seeds.pristine.clone(), &[Kind::Cubin]),
        "jit" => (Vec::new(), &Kind::ALL),
        _ => (seeds.cubins.clone(), &[Kind::Cubin]),
    };
    let small: Vec<&Vec<u8>> = recorded.iter().filter(|b| b.len() <= SIZE).collect();
    let step = small.len().div_ceil(RECORDED).max(1);
    // The newest come from every architecture.
    let mut list: Vec<Vec<u8>> = small.iter().rev().step_by(step).map(|b| b.to_vec()).collect();
    let programs = seeds
        .programs
        .iter()
        .rev()
        .take(14)
        .filter(|p| p.objects.iter().all(|o| o.len() <= SIZE));
    for program in programs {
        let digits: String = program.arch.chars().filter(char::is_ascii_digit).collect();
        let number = digits.parse().unwrap_or_default();
        for object in &program.objects {
            for kind in kinds {
                let packed = kind.pack(number, object);
                list.push(match target {
                    "jit" => jit::sound(&packed, jit_type(*kind), number, list.len()),
                    _ => packed,
                });
            }
        }
    }
    if target == "link_two" {
        // The last byte selects the mode.
        for (i, bytes) in list.iter_mut().enumerate() {
            bytes.push(i as u8);
        }
    }
    list.sort();
    list.dedup();
    list
}

/// The input type of nvJitLink for a packing.
fn jit_type(kind: Kind) -> i32 {
    match kind {
        Kind::Cubin => 1,
        Kind::Fatbin | Kind::Zstd | Kind::Lz4 => 4,
        Kind::Host => 5,
        Kind::Archive => 6,
    }
}

/// Where the kept files of a target are.
pub fn path(target: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    directory.join(format!("{target}.fixture"))
}

/// The kept files of a target by name. None if nothing has been kept yet.
pub fn kept(target: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let path = path(target);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    Ok(Fixture::decode(&std::fs::read(&path).map_err(Error::file(path))?)?.inputs)
}

/// Keeps files for a target.
pub fn keep(target: &str, files: BTreeMap<String, Vec<u8>>) -> Result<()> {
    let fixture = Fixture {
        version: None,
        inputs: files,
        links: Vec::new(),
    };
    let path = path(target);
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
    }
    std::fs::write(&path, fixture.encode()?).map_err(Error::file(path))
}
