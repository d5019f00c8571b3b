//! The platforms: how the program is built for each, where it runs on this machine, and what its packages are called.

use std::path::{Path, PathBuf};

/// What links a program for a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    /// `rust-lld` with the C library that comes with the Rust target.
    RustLld,
    /// `cargo zigbuild`; the text is appended to the name of the target (the oldest glibc).
    Zig(&'static str),
}

/// What runs a program of a platform here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    /// This machine.
    Native,
    /// An emulator of the name, from PATH.
    Emulator(&'static str),
    /// Wine, through `packaging/wine/run`.
    Wine,
    /// WASI of Node.js, through `packaging/wasm/run.mjs`.
    Node,
    /// Nothing, and why.
    Nothing(&'static str),
}

/// One platform.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name of the Rust target.
    pub(crate) triple: &'static str,
    pub(crate) build: Build,
    pub(crate) runner: Runner,
    /// Platform tag of the wheel.
    pub(crate) wheel: Option<&'static str>,
    /// Architecture of the Debian package.
    pub(crate) deb: Option<&'static str>,
    /// Largest size of the program in bytes that is a success.
    pub(crate) limit: u64,
}

/// The goal for a static Linux program.
const STATIC_LIMIT: u64 = 4_500_000;
/// For the others, whose formats have further tables.
const LIMIT: u64 = 6_000_000;

/// The oldest glibc that programs and libraries run with, that of `manylinux2014`.
pub(crate) const OLDEST_GLIBC: &str = "2.17";

/// The Rust target of this machine, where it is Linux.
#[cfg(target_arch = "aarch64")]
pub(crate) const HOST: &str = "aarch64-unknown-linux-gnu";
#[cfg(not(target_arch = "aarch64"))]
pub(crate) const HOST: &str = "x86_64-unknown-linux-gnu";

/// All platforms.
pub(crate) const TARGETS: &[Target] = &[
    Target {
        triple: "x86_64-unknown-linux-musl",
        build: Build::RustLld,
        runner: Runner::Native,
        wheel: Some("musllinux_1_1_x86_64"),
        deb: None,
        limit: STATIC_LIMIT,
    },
    Target {
        triple: "x86_64-unknown-linux-gnu",
        build: Build::Zig(".2.17"),
        runner: Runner::Native,
        wheel: Some("manylinux_2_17_x86_64.manylinux2014_x86_64"),
        deb: Some("amd64"),
        limit: LIMIT,
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        build: Build::RustLld,
        runner: Runner::Emulator("qemu-aarch64-static"),
        wheel: Some("musllinux_1_1_aarch64"),
        deb: None,
        limit: STATIC_LIMIT,
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        build: Build::Zig(".2.17"),
        runner: Runner::Emulator("qemu-aarch64-static"),
        wheel: Some("manylinux_2_17_aarch64.manylinux2014_aarch64"),
        deb: Some("arm64"),
        limit: LIMIT,
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        build: Build::Zig(""),
        runner: Runner::Wine,
        wheel: Some("win_amd64"),
        deb: None,
        limit: LIMIT,
    },
    Target {
        triple: "aarch64-apple-darwin",
        build: Build::Zig(""),
        runner: Runner::Nothing("needs macOS"),
        wheel: Some("macosx_11_0_arm64"),
        deb: None,
        limit: LIMIT,
    },
    Target {
        triple: "x86_64-apple-darwin",
        build: Build::Zig(""),
        runner: Runner::Nothing("needs macOS"),
        wheel: Some("macosx_10_12_x86_64"),
        deb: None,
        limit: LIMIT,
    },
    Target {
        triple: "wasm32-wasip1",
        build: Build::RustLld,
        runner: Runner::Node,
        wheel: None,
        deb: None,
        limit: LIMIT,
    },
];

impl Target {
    /// The platform of a name.
    pub(crate) fn find(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|t| t.triple == name)
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.triple.contains("windows")
    }

    pub(crate) fn is_wasm(&self) -> bool {
        self.triple.starts_with("wasm")
    }

    /// The file name of the program.
    pub(crate) fn program(&self) -> &'static str {
        match self.triple {
            t if t.contains("windows") => "culd.exe",
            t if t.starts_with("wasm") => "culd.wasm",
            _ => "culd",
        }
    }

    /// The words before the program that run it here, or why it cannot run.
    pub(crate) fn runner(&self, root: &Path) -> Result<Vec<String>, String> {
        match self.runner {
            Runner::Native => Ok(Vec::new()),
            // An AArch64 machine runs such a program by itself.
            Runner::Emulator(_) if self.triple.starts_with(std::env::consts::ARCH) => Ok(Vec::new()),
            Runner::Emulator(name) => {
                let mut words = vec![in_path(name).ok_or(format!("no {name} in PATH"))?.display().to_string()];
                words.extend(self.library_root().map(|r| format!("-L {}", r.display())));
                Ok(words)
            }
            Runner::Wine if cfg!(windows) => Ok(Vec::new()),
            Runner::Wine => {
                in_path("wine").ok_or("no wine in PATH")?;
                Ok(vec![root.join("packaging/wine/run").display().to_string()])
            }
            Runner::Node => {
                let node = in_path("node").ok_or("no node in PATH")?;
                let script = root.join("packaging/wasm/run.mjs");
                Ok(vec![node.display().to_string(), script.display().to_string()])
            }
            Runner::Nothing(why) => Err(why.into()),
        }
    }

    /// Where Debian's cross packages have the C library of an emulated platform.
    fn library_root(&self) -> Option<PathBuf> {
        let root = Path::new("/usr").join(self.triple.replace("-unknown", ""));
        (self.triple.ends_with("linux-gnu") && root.is_dir()).then_some(root)
    }
}

/// A program of PATH.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file())
}
