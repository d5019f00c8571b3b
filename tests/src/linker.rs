//! The linker under test: `CULD_BIN`, or else the `culd` of this tree, built in the profile of the test that asks.

use crate::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the linker if need be.
pub fn linker() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("CULD_BIN") {
        return PathBuf::from(&path).canonicalize().map_err(Error::file(path));
    }
    let exe = std::env::current_exe().map_err(Error::file("this test"))?;
    // target/<profile>/deps/<test>-<hash>
    let profile = exe
        .parent()
        .and_then(Path::parent)
        .ok_or_else(|| Error::Other("this test is outside a target directory".into()))?;
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "culd", "--bin", "culd"]);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    let status = build.status().map_err(|source| Error::Start {
        tool: "cargo".into(),
        source,
    })?;
    if !status.success() {
        return Err(Error::Other("culd does not build".into()));
    }
    Ok(profile.join(format!("culd{}", std::env::consts::EXE_SUFFIX)))
}
