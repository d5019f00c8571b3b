//! `cargo xtask libraries`: the libraries with a C interface.
//!
//! 1. Build the static library of crate `culd-nvjitlink` in the profile `library`, which unwinds (`--quick`: the dev profile).
//! 2. Link it with the host compiler into `target/library/libnvJitLink.so.13`. rustc cannot do this: it passes a version script of its own, and a
//!    second one with a named node is refused or leaves the symbols without it.
//!    * A version script with the node `libnvJitLink.so.13` exports the names of [`names`] and nothing else.
//!    * A linker script makes the names with versions aliases of the plain ones. Versions that do not exist yet are included, so that a client
//!      built with a later header is not refused for a missing symbol.
//! 3. Read the export table back and compare it with [`names`].
//!
//! The functions of `libnvJitLink.so.12` are in the static library, but its files must have the older form below sm_100, which the linker cannot
//! write yet; the library is not built.

use crate::context::{Context, succeed};
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions that exist with and without a version.
const FUNCTIONS: [&str; 15] = [
    "Create",
    "Destroy",
    "AddData",
    "AddFile",
    "Complete",
    "GetLinkedCubinSize",
    "GetLinkedCubin",
    "GetLinkedPtxSize",
    "GetLinkedPtx",
    "GetLinkedLTOIRSize",
    "GetLinkedLTOIR",
    "GetErrorLogSize",
    "GetErrorLog",
    "GetInfoLogSize",
    "GetInfoLog",
];
/// Versions that names have: 13.0 to 13.19.
const MAJOR: u32 = 13;
const MINORS: u32 = 20;
/// Largest file that is still a small library.
const SIZE_LIMIT: u64 = 6 << 20;

/// All exported names and what each is an alias of.
fn names() -> Vec<(String, Option<String>)> {
    let plain = FUNCTIONS.iter().map(|f| (format!("nvJitLink{f}"), None));
    let versioned = FUNCTIONS
        .iter()
        .flat_map(|f| (0..MINORS).map(move |minor| (format!("__nvJitLink{f}_{MAJOR}_{minor}"), Some(format!("nvJitLink{f}")))));
    plain.chain([("nvJitLinkVersion".to_owned(), None)]).chain(versioned).collect()
}

/// Builds the libraries; the file of the one for CUDA 13.
pub(crate) fn build(context: &Context, quick: bool) -> Result<PathBuf> {
    let profile = if quick { "dev" } else { "library" };
    succeed(
        context
            .cargo()
            .args(["build", "--quiet", "--profile", profile, "-p", "culd-nvjitlink"]),
    )?;
    let directory = context.target.join(if quick { "debug" } else { "library" });
    let soname = format!("libnvJitLink.so.{MAJOR}");
    let output = directory.join(&soname);
    link(&directory, &soname, &output)?;
    check(&output, &soname)?;
    Ok(output)
}

fn link(directory: &Path, soname: &str, output: &Path) -> Result<()> {
    let write = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(Error::file(&path)).map(|()| path)
    };
    let list: String = names().iter().map(|(name, _)| format!(" {name};")).collect();
    let versions = write("nvjitlink.map", format!("{soname} {{ global:{list} local: *; }};\n"))?;
    let aliases = names();
    let aliases = aliases
        .iter()
        .filter_map(|(name, of)| Some(format!("{name} = {};\n", of.as_ref()?)));
    let aliases = write("nvjitlink.ld", aliases.collect())?;
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args([
        "-shared",
        "-static-libgcc",
        "-Wl,--gc-sections",
        "-Wl,--as-needed",
        "-Wl,-z,relro,-z,now",
        "-Wl,--strip-all",
    ])
    .arg(format!("-Wl,-soname,{soname}"))
    .arg(format!("-Wl,--version-script={}", versions.display()))
    .args(
        names()
            .iter()
            .filter(|(_, of)| of.is_none())
            .map(|(name, _)| format!("-Wl,-u,{name}")),
    )
    .arg(directory.join("libculd_nvjitlink.a"))
    .arg(aliases)
    .args(["-lpthread", "-ldl", "-lm", "-lc", "-o"])
    .arg(output);
    succeed(&mut cc)
}

/// Compares the export table with the names.
fn check(library: &Path, soname: &str) -> Result<()> {
    let bytes = std::fs::read(library).map_err(Error::file(library))?;
    let mut found = exports(&bytes).ok_or_else(|| Error::Other(format!("{}: no dynamic symbols", library.display())))?;
    found.sort();
    let mut expected: Vec<String> = names().into_iter().map(|(name, _)| name).collect();
    expected.sort();
    if found != expected {
        let extra: Vec<&String> = found.iter().filter(|n| !expected.contains(n)).take(5).collect();
        let missing: Vec<&String> = expected.iter().filter(|n| !found.contains(n)).take(5).collect();
        return Err(Error::Other(format!(
            "{}: extra names {extra:?}, missing {missing:?}",
            library.display()
        )));
    }
    if !bytes.windows(soname.len()).any(|w| w == soname.as_bytes()) {
        return Err(Error::Other(format!("{}: no version node {soname}", library.display())));
    }
    println!("{}: {} bytes, {} names", library.display(), bytes.len(), found.len());
    match bytes.len() as u64 > SIZE_LIMIT && library.parent().is_some_and(|d| d.ends_with("library")) {
        true => Err(Error::Other(format!("{}: larger than {SIZE_LIMIT} bytes", library.display()))),
        false => Ok(()),
    }
}

/// Names of defined dynamic symbols of a 64-bit ELF file; the one that names the version node is left out.
fn exports(file: &[u8]) -> Option<Vec<String>> {
    const SHT_DYNSYM: u32 = 11;
    const SHN_ABS: u16 = 0xfff1;
    let u16_at = |at: usize| Some(u16::from_le_bytes(file.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(file.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let u64_at = |at: usize| usize::try_from(u64::from_le_bytes(file.get(at..at.checked_add(8)?)?.try_into().ok()?)).ok();
    let (table, count) = (u64_at(0x28)?, usize::from(u16_at(0x3c)?));
    let section = |index: usize| table.checked_add(index.checked_mul(64)?);
    let symbols = (0..count).filter_map(section).find(|at| u32_at(at + 4) == Some(SHT_DYNSYM))?;
    let strings = u64_at(section(u32_at(symbols + 0x28)? as usize)? + 0x18)?;
    let (start, size) = (u64_at(symbols + 0x18)?, u64_at(symbols + 0x20)?);
    let mut names = Vec::new();
    for at in (start..start.checked_add(size)?).step_by(24) {
        let shndx = u16_at(at + 6)?;
        if shndx == 0 || shndx == SHN_ABS {
            continue;
        }
        let name = file.get(strings.checked_add(u32_at(at)? as usize)?..)?;
        let end = name.iter().position(|b| *b == 0)?;
        names.push(String::from_utf8_lossy(name.get(..end)?).into_owned());
    }
    Some(names)
}
