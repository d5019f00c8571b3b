//! Objects of ptxas, built again from what they contain.
//!
//! With `CULD_ORACLE` (a directory with ptxas) objects are compiled and compared too. `CULD_REBUILD` names files, separated by spaces, that have to
//! come back.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "../examples/build_object.rs"]
#[allow(dead_code, reason = "its main function is for the example alone")]
mod build_object;
#[path = "builder_support/rebuild.rs"]
mod rebuild;

use cubin::Cubin;
use cubin::validate::validate;
use rebuild::rebuild;
use std::path::{Path, PathBuf};
use std::process::Command;

fn check(path: &Path) {
    let shown = path.display();
    let bytes = std::fs::read(path).unwrap();
    let again = rebuild(&bytes).unwrap_or_else(|e| panic!("{shown}: {e}"));
    assert!(again == bytes, "{shown} differs");
}

#[test]
fn recorded_objects_come_back() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for name in ["c.plain.75.rel.cubin", "b.plain.80.rel.cubin", "c.plain.90.rel.cubin"] {
        check(&data.join(name));
    }
}

#[test]
fn compiled_objects_come_back() {
    let Some(tools) = std::env::var_os("CULD_ORACLE").map(PathBuf::from) else {
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/builder_support/kinds.ptx");
    for arch in ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"] {
        let out = std::env::temp_dir().join(format!("cubin-builder-{}-{arch}.o", std::process::id()));
        let mut ptxas = Command::new(tools.join("ptxas"));
        let status = ptxas.args(["-c", "-arch", arch, "-o"]).arg(&out).arg(&source).status().unwrap();
        assert!(status.success(), "ptxas for {arch}");
        check(&out);
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn files_of_the_user_come_back() {
    let Ok(list) = std::env::var("CULD_REBUILD") else { return };
    let mut differ = Vec::new();
    let paths: Vec<&str> = list.split_whitespace().collect();
    for path in &paths {
        let path = Path::new(path);
        if std::panic::catch_unwind(|| check(path)).is_err() {
            differ.push(path);
        }
    }
    assert!(differ.is_empty(), "{} of {} differ: {differ:?}", differ.len(), paths.len());
    println!("{} files come back byte for byte", paths.len());
}

#[test]
fn the_example_is_valid() {
    let bytes = build_object::build().unwrap();
    let file = Cubin::parse(&bytes).unwrap();
    validate(&file).unwrap();
    assert!(cubin::roundtrip(&bytes).unwrap() == bytes);
    let kernels = file
        .symbols()
        .filter(|s| s.as_ref().is_ok_and(|s| s.entry.st_other == cubin::consts::STO_CUDA_ENTRY));
    assert_eq!(kernels.count(), 2);
}
