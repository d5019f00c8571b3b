//! `cargo xtask libraries`: the libraries with a C interface.
//!
//! 1. Build the static libraries of the crates `culd-nvjitlink` and `culd-c` in the profile `library`, which unwinds (`--quick`: the dev profile).
//! 2. Link each with the host compiler into a shared library in `target/library`. rustc cannot do this: it passes a version script of its own, and
//!    a second one with a named node is refused or leaves the symbols without it.
//!    * A version script exports the names of the library and nothing else. That of `libnvJitLink.so.13` has a node with the library's name.
//!    * A linker script makes the names with versions aliases of the plain ones. Versions that do not exist yet are included, so that a client
//!      built with a later header is not refused for a missing symbol.
//! 3. Read the export tables back and compare them with the names.
//! 4. Put header, pkg-config file and CMake package beside `libculd.so.0`, and build the C example through both ([`install`]).
//!
//! The functions of `libnvJitLink.so.12` are in the static library, but its files must have the older form below sm_100, which the linker cannot
//! write yet; the library is not built.

mod install;

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

/// A shared library to be made of a static one.
struct Library {
    /// The static library.
    archive: &'static str,
    soname: String,
    /// The node of the symbol versions; without it symbols have none.
    node: bool,
    /// Exported names, and what each is an alias of.
    names: Vec<(String, Option<String>)>,
}

/// Where the libraries are.
pub(crate) struct Libraries {
    /// With `include`, `lib/cmake/culd` and `culd.pc`.
    pub(crate) directory: PathBuf,
    pub(crate) nvjitlink: PathBuf,
    pub(crate) culd: PathBuf,
}

/// The drop-in for CUDA 13.
fn nvjitlink() -> Library {
    let plain = FUNCTIONS.iter().map(|f| (format!("nvJitLink{f}"), None));
    let versioned = FUNCTIONS
        .iter()
        .flat_map(|f| (0..MINORS).map(move |minor| (format!("__nvJitLink{f}_{MAJOR}_{minor}"), Some(format!("nvJitLink{f}")))));
    Library {
        archive: "libculd_nvjitlink.a",
        soname: format!("libnvJitLink.so.{MAJOR}"),
        node: true,
        names: plain.chain([("nvJitLinkVersion".to_owned(), None)]).chain(versioned).collect(),
    }
}

/// The interface of culd.h: the functions that the header declares.
fn culd(context: &Context) -> Result<Library> {
    let header = context.root.join("crates/libculd/include/culd.h");
    let text = std::fs::read_to_string(&header).map_err(Error::file(&header))?;
    Ok(Library {
        archive: "libculd_c.a",
        soname: "libculd.so.0".into(),
        node: false,
        names: declared(&text).map(|name| (name.to_owned(), None)).collect(),
    })
}

/// Functions that a header declares: words before `(` in lines that are not comments and end with `;` or with `;` and a comment.
fn declared(header: &str) -> impl Iterator<Item = &str> {
    header.lines().filter_map(|line| {
        let (before, after) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        (line.starts_with(|c: char| c.is_ascii_lowercase()) && name.starts_with("culd_") && after.contains(");")).then_some(name)
    })
}

/// Builds the libraries.
pub(crate) fn build(context: &Context, quick: bool) -> Result<Libraries> {
    let profile = if quick { "dev" } else { "library" };
    succeed(
        context
            .cargo()
            .args(["build", "--quiet", "--profile", profile, "-p", "culd-nvjitlink", "-p", "culd-c"]),
    )?;
    let directory = context.target.join(if quick { "debug" } else { "library" });
    let made = |library: Library| {
        let output = directory.join(&library.soname);
        link(&directory, &library, &output)?;
        check(&output, &library)?;
        Ok(output)
    };
    let (nvjitlink, culd) = (made(nvjitlink())?, made(culd(context)?)?);
    install::run(context, &directory, &culd)?;
    Ok(Libraries {
        directory,
        nvjitlink,
        culd,
    })
}

/// Builds the libraries and tries what was installed.
pub(crate) fn run(context: &Context, quick: bool) -> Result<()> {
    let libraries = build(context, quick)?;
    install::try_out(context, &libraries.directory)
}

fn link(directory: &Path, library: &Library, output: &Path) -> Result<()> {
    let Library { soname, names, .. } = library;
    let write = |extension: &str, text: String| {
        let path = directory.join(format!("{soname}.{extension}"));
        std::fs::write(&path, text).map_err(Error::file(&path)).map(|()| path)
    };
    let list: String = names.iter().map(|(name, _)| format!(" {name};")).collect();
    let node = if library.node { soname.as_str() } else { "" };
    let versions = write("map", format!("{node} {{ global:{list} local: *; }};\n"))?;
    let aliases = names.iter().filter_map(|(name, of)| Some(format!("{name} = {};\n", of.as_ref()?)));
    let aliases = write("ld", aliases.collect())?;
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
        names
            .iter()
            .filter(|(_, of)| of.is_none())
            .map(|(name, _)| format!("-Wl,-u,{name}")),
    )
    .arg(directory.join(library.archive));
    if names.iter().any(|(_, of)| of.is_some()) {
        cc.arg(aliases);
    }
    succeed(cc.args(["-lpthread", "-ldl", "-lm", "-lc", "-o"]).arg(output))
}

/// Compares the export table with the names.
fn check(library: &Path, wanted: &Library) -> Result<()> {
    let bytes = std::fs::read(library).map_err(Error::file(library))?;
    let mut found = exports(&bytes).ok_or_else(|| Error::Other(format!("{}: no dynamic symbols", library.display())))?;
    found.sort();
    let mut expected: Vec<String> = wanted.names.iter().map(|(name, _)| name.clone()).collect();
    expected.sort();
    if found != expected {
        let extra: Vec<&String> = found.iter().filter(|n| !expected.contains(n)).take(5).collect();
        let missing: Vec<&String> = expected.iter().filter(|n| !found.contains(n)).take(5).collect();
        return Err(Error::Other(format!(
            "{}: extra names {extra:?}, missing {missing:?}",
            library.display()
        )));
    }
    let soname = &wanted.soname;
    if !bytes.windows(soname.len()).any(|w| w == soname.as_bytes()) {
        return Err(Error::Other(format!("{}: no name {soname}", library.display())));
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

#[cfg(test)]
mod tests {
    use super::declared;

    #[test]
    fn declarations_are_found() {
        let header = "/* see culd_link() */\ntypedef struct culd_text culd_text;\nbool culd_a(int x); /* b */\nconst char *culd_b(void);\n * culd_c();\n";
        assert_eq!(declared(header).collect::<Vec<_>>(), ["culd_a", "culd_b"]);
    }
}
