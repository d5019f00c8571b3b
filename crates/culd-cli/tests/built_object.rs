//! The object that crate `cubin`'s example builds from nothing links: with culd, and with nvlink to the same bytes when `CULD_ORACLE` names a
//! directory with the real tools.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

#[path = "../../cubin/examples/build_object.rs"]
#[allow(dead_code, reason = "its main function is for the example alone")]
mod build_object;

use cubin::Cubin;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Links `built.cubin` of `directory` and gives the result with what was printed.
fn link(linker: &Path, directory: &Path, arguments: &[&str]) -> (Option<i32>, Vec<u8>, Vec<u8>) {
    let out = directory.join("linked.cubin");
    let _ = fs::remove_file(&out);
    let mut command = Command::new(linker);
    command
        .current_dir(directory)
        .args(arguments)
        .args(["built.cubin", "-o", "linked.cubin"]);
    let output = command.output().unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), printed, fs::read(out).unwrap_or_default())
}

#[test]
fn culd_links_the_built_object() {
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("built.cubin"), build_object::build().unwrap()).unwrap();
    let (code, printed, linked) = link(Path::new(env!("CARGO_BIN_EXE_culd")), work.path(), &["-arch=sm_80"]);
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&printed));
    let file = Cubin::parse(&linked).unwrap();
    for name in [&b".text.scale"[..], b".text.count", b".text.triple", b".nv.global"] {
        assert!(file.section_by_name(name).is_some(), "{}", String::from_utf8_lossy(name));
    }
}

#[test]
fn nvlink_links_the_built_object_to_the_same_bytes() {
    let Some(tools) = std::env::var_os("CULD_ORACLE").map(PathBuf::from) else {
        return;
    };
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("built.cubin"), build_object::build().unwrap()).unwrap();
    let ours = work.path().join("nvlink");
    fs::copy(env!("CARGO_BIN_EXE_culd"), &ours).unwrap();
    for arguments in [
        &["-arch=sm_80"][..],
        &["-arch=sm_80", "-v"],
        &["-arch=sm_80", "-r"],
        &["-arch=sm_80", "--preserve-relocs"],
        &["-arch=sm_86"],
    ] {
        let theirs = link(&tools.join("nvlink"), work.path(), arguments);
        assert_eq!(theirs.0, Some(0), "{}", String::from_utf8_lossy(&theirs.1));
        let mine = link(&ours, work.path(), arguments);
        assert!(theirs == mine, "{arguments:?}");
    }
}
