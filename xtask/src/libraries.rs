//! `cargo xtask libraries`: the libraries with a C interface.
//!
//! 1. Build one static library, that of the crate `culd-c` with the functions of `culd-nvjitlink`, in the profile `library`, which unwinds (`--quick`: the
//!    dev profile).
//! 2. Link it into three shared libraries in `target/library` ([`link`]), each with the parts that its functions use: with the host compiler, or with zig
//!    for an older glibc (`--glibc 2.17`) and for Windows. Names with versions that do not exist yet are included, so that a client built with a later
//!    header is not refused for a missing symbol.
//! 3. Link libnvJitLink once more, in `thin`, without code of its own: its functions are those of libculd beside it. Packages that have both
//!    contain the linker once.
//! 4. Read the libraries back: exported names, symbol versions, name of the library, the newest glibc that is needed ([`check`]).
//! 5. Use those of other platforms under their emulators ([`emulated`]).
//! 6. Put header, pkg-config file and CMake package beside `libculd.so.0`, and build the C example through both ([`install`]).

mod check;
mod emulated;
mod install;
mod link;

pub(crate) use link::compiler;

use crate::context::{Context, succeed};
use crate::dist;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};

/// Functions of all releases that exist with and without a version.
const FUNCTIONS: [&str; 13] = [
    "Create",
    "Destroy",
    "AddData",
    "AddFile",
    "Complete",
    "GetLinkedCubinSize",
    "GetLinkedCubin",
    "GetLinkedPtxSize",
    "GetLinkedPtx",
    "GetErrorLogSize",
    "GetErrorLog",
    "GetInfoLogSize",
    "GetInfoLog",
];
/// Functions since 13.2.
const NEW_FUNCTIONS: [&str; 2] = ["GetLinkedLTOIRSize", "GetLinkedLTOIR"];
/// Minor versions that names have: 13.0 to 13.19.
const MINORS: u32 = 20;

/// For which machine a library is linked, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Platform<'a> {
    /// This machine, with its compiler and its glibc.
    Host,
    /// Linux on a processor, with zig: the Rust target and the oldest glibc.
    Glibc { triple: &'a str, version: &'a str },
    /// Windows on x86-64, with zig.
    Windows,
}

impl Platform<'_> {
    /// The Rust target, where it is not the default one of this machine.
    fn triple(&self) -> Option<&str> {
        match self {
            Platform::Glibc { triple, .. } if *triple != dist::HOST => Some(triple),
            Platform::Windows => Some("x86_64-pc-windows-gnu"),
            _ => None,
        }
    }

    /// The processor of the library.
    fn processor(&self) -> &str {
        self.triple().and_then(|t| t.split('-').next()).unwrap_or(std::env::consts::ARCH)
    }
}

/// The static library that all others are made of.
const ARCHIVE: &str = "libculd_c.a";

/// Where the code of a library is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// In the library.
    Inside,
    /// In libculd, which is in the same directory.
    Libculd,
}

/// A shared library to be made of the static one.
struct Library {
    /// The name of the file, and of the library in it.
    name: String,
    /// The node of the symbol versions is called like the library; without it symbols have none.
    node: bool,
    /// Exported names, and the function of the static library behind each.
    names: Vec<(String, String)>,
    code: Code,
}

/// Where the libraries are.
pub(crate) struct Libraries {
    /// With `include`, `lib/cmake/culd` and `culd.pc`.
    pub(crate) directory: PathBuf,
    pub(crate) nvjitlink: PathBuf,
    pub(crate) nvjitlink12: PathBuf,
    pub(crate) culd: PathBuf,
    /// libnvJitLink for both releases, without code of its own.
    thin: [PathBuf; 2],
}

impl Libraries {
    /// Those of a package with all of them, in one directory.
    pub(crate) fn packed(&self) -> [&Path; 3] {
        let [new, old] = &self.thin;
        [&self.culd, new, old]
    }
}

/// Functions of a CUDA release that exist with and without a version.
fn functions(major: u32) -> impl Iterator<Item = &'static str> {
    FUNCTIONS.into_iter().chain(NEW_FUNCTIONS.into_iter().filter(move |_| major >= 13))
}

/// The name of a function in the static library.
fn internal(major: u32, function: &str) -> String {
    format!("culd{major}_nvJitLink{function}")
}

/// The drop-in for a CUDA release.
fn nvjitlink(major: u32, platform: Platform<'_>, code: Code) -> Library {
    let of = |function: &str| internal(major, function);
    let names = functions(major).flat_map(|f| {
        let versioned = (0..MINORS).map(move |minor| format!("__nvJitLink{f}_{major}_{minor}"));
        versioned.chain([format!("nvJitLink{f}")]).map(move |name| (name, of(f)))
    });
    Library {
        name: match platform {
            Platform::Windows => format!("nvJitLink_{major}0_0.dll"),
            _ => format!("libnvJitLink.so.{major}"),
        },
        node: true,
        names: names.chain([("nvJitLinkVersion".to_owned(), of("Version"))]).collect(),
        code,
    }
}

/// The interface of culd.h: the functions that the header declares, and those that a thin libnvJitLink calls.
fn culd(context: &Context, platform: Platform<'_>) -> Result<Library> {
    let header = context.root.join("crates/libculd/include/culd.h");
    let text = std::fs::read_to_string(&header).map_err(Error::file(&header))?;
    let called = [12, 13].into_iter().flat_map(|major| {
        let all = functions(major).chain(["Version"]);
        all.map(move |function| internal(major, function))
    });
    Ok(Library {
        name: match platform {
            Platform::Windows => "culd.dll".into(),
            _ => "libculd.so.0".into(),
        },
        node: false,
        names: declared(&text)
            .map(str::to_owned)
            .chain(called)
            .map(|name| (name.clone(), name))
            .collect(),
        code: Code::Inside,
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
pub(crate) fn build(context: &Context, quick: bool, platform: Platform<'_>) -> Result<Libraries> {
    let profile = if quick { "dev" } else { "library" };
    let mut cargo = context.cargo();
    match platform {
        // Import libraries of Windows are made by a tool that comes with zig.
        Platform::Windows => cargo = dist::zig_rustc(context)?,
        _ => {
            cargo.arg("rustc");
        }
    };
    cargo.args([
        "--quiet",
        "--profile",
        profile,
        "-p",
        "culd-c",
        "--lib",
        "--crate-type",
        "staticlib",
    ]);
    cargo.args(["--features", "nvjitlink"]);
    let mut directory = context.target.clone();
    if let Some(triple) = platform.triple() {
        dist::install_target(context, triple)?;
        cargo.args(["--target", triple]);
        directory.push(triple);
    }
    succeed(&mut cargo)?;
    directory.push(if quick { "debug" } else { "library" });
    let made = |library: Library| {
        let output = link::run(context, &directory, &library, platform)?;
        check::run(&output, &library, platform, quick)?;
        Ok::<PathBuf, Error>(output)
    };
    let libraries = Libraries {
        nvjitlink: made(nvjitlink(13, platform, Code::Inside))?,
        nvjitlink12: made(nvjitlink(12, platform, Code::Inside))?,
        culd: made(culd(context, platform)?)?,
        thin: [
            made(nvjitlink(13, platform, Code::Libculd))?,
            made(nvjitlink(12, platform, Code::Libculd))?,
        ],
        directory,
    };
    if platform != Platform::Windows {
        install::run(context, &libraries.directory, &libraries.culd)?;
    }
    Ok(libraries)
}

/// Builds the libraries and tries what was installed. `glibc`: the oldest one; `target`: a Rust target other than this machine's.
pub(crate) fn run(context: &Context, quick: bool, glibc: Option<&str>, target: Option<&str>) -> Result<()> {
    let platform = match (target, glibc) {
        (Some(triple), _) if triple.contains("windows") => Platform::Windows,
        (None, None) => Platform::Host,
        (triple, version) => Platform::Glibc {
            triple: triple.unwrap_or(dist::HOST),
            version: version.unwrap_or(dist::OLDEST_GLIBC),
        },
    };
    let libraries = build(context, quick, platform)?;
    match platform.triple() {
        None => install::try_out(context, &libraries.directory),
        Some(_) => emulated::run(context, &libraries, platform),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_found() {
        let header = "/* see culd_link() */\ntypedef struct culd_text culd_text;\nbool culd_a(int x); /* b */\nconst char *culd_b(void);\n * culd_c();\n";
        assert_eq!(declared(header).collect::<Vec<_>>(), ["culd_a", "culd_b"]);
    }

    #[test]
    fn names_of_both_releases() {
        let [old, new] = [12, 13].map(|major| nvjitlink(major, Platform::Host, Code::Inside));
        assert_eq!((old.names.len(), new.names.len()), (13 * 21 + 1, 15 * 21 + 1));
        let has = |library: &Library, name: &str| library.names.iter().any(|(n, _)| n == name);
        assert!(has(&old, "__nvJitLinkCreate_12_9") && !has(&old, "nvJitLinkGetLinkedLTOIR") && has(&old, "nvJitLinkVersion"));
        assert!(has(&new, "__nvJitLinkCreate_13_19") && has(&new, "__nvJitLinkGetLinkedLTOIR_13_0"));
        assert_eq!(nvjitlink(13, Platform::Windows, Code::Inside).name, "nvJitLink_130_0.dll");
    }
}
