//! What the program was called as: its own name, or nvlink of a certain toolkit.
//!
//! The version of nvlink is, in this order:
//!
//! 1. `CULD_NVLINK_VERSION`, for example `13.4` or `13.4.92`.
//! 2. The mark file that `culd install-as-nvlink` wrote into the view. Its second word is the mode: with `culd` the program acts under
//!    its own name, and the version does not matter.
//! 3. `version.json` of the toolkit whose `bin` holds the link.
//! 4. What the `ptxas` in the same directory prints.
//! 5. 13.0.88.

use cubin::release::{RELEASES, Version};
use culd_engine::Identity;
use culd_input::library;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Overrides the version of nvlink that the program is.
pub const VARIABLE: &str = "CULD_NVLINK_VERSION";
/// The mark file of a view. Its first line has the version of the toolkit and the [`Mode`].
pub const VIEW_FILE: &str = ".culd-view";

/// What the program named nvlink in a view acts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// nvlink of the toolkit's version.
    #[default]
    Nvlink,
    /// culd, with its own messages and checks.
    Culd,
}

impl Mode {
    /// The word for it in the mark file and on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Mode::Nvlink => "nvlink",
            Mode::Culd => "culd",
        }
    }

    /// The mode that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Mode::Nvlink, Mode::Culd].into_iter().find(|m| m.word() == word)
    }
}

/// What the program was called as.
#[derive(Debug, Clone, Copy)]
pub struct Called {
    /// nvlink or culd.
    pub identity: Identity,
    /// The version of nvlink; under culd's own name only the default.
    pub version: Version,
}

impl Called {
    /// From the first argument.
    pub fn new(program: &OsStr) -> Result<Self, String> {
        let stem = Path::new(program).file_stem();
        // The file names of Windows have no case.
        let is_nvlink = |s: &OsStr| s == "nvlink" || cfg!(windows) && s.eq_ignore_ascii_case("nvlink");
        if !stem.is_some_and(is_nvlink) {
            return Ok(Identity::Culd.into());
        }
        let bin = directory(program);
        if bin.as_deref().and_then(View::of).is_some_and(|view| view.mode == Mode::Culd) {
            return Ok(Identity::Culd.into());
        }
        Ok(Called {
            identity: Identity::Nvlink,
            version: find(bin.as_deref())?,
        })
    }

    /// True under the name nvlink.
    pub fn is_nvlink(self) -> bool {
        self.identity == Identity::Nvlink
    }
}

impl From<Identity> for Called {
    fn from(identity: Identity) -> Self {
        Called {
            identity,
            version: Version::default(),
        }
    }
}

fn find(bin: Option<&Path>) -> Result<Version, String> {
    if let Some(version) = from_environment() {
        return version;
    }
    let Some((text, file)) = bin.and_then(stated) else {
        return Ok(Version::default());
    };
    Version::nearest(&text).ok_or_else(|| unknown(&text, &file.display().to_string()))
}

/// The version that [`VARIABLE`] names.
pub fn from_environment() -> Option<Result<Version, String>> {
    let text = std::env::var_os(VARIABLE).filter(|t| !t.is_empty())?;
    let text = text.to_string_lossy();
    Some(Version::parse(&text).ok_or_else(|| unknown(&text, VARIABLE)))
}

/// Why the program cannot be the nvlink of a version that `place` states.
pub fn unknown(text: &str, place: &str) -> String {
    format!("culd cannot be nvlink {text} ({place}); it can be that of {}", releases())
}

/// The releases whose nvlink culd can be.
pub fn releases() -> String {
    let mut names: Vec<String> = RELEASES.iter().map(|r| r.name()).collect();
    names.dedup();
    names.join(", ")
}

/// The directory of the name that the program was called by; links are not followed.
fn directory(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.parent().map(Path::to_path_buf);
    }
    // A view on Windows has a copy, and the name may be without `.exe`.
    if cfg!(windows) {
        return std::env::current_exe().ok()?.parent().map(Path::to_path_buf);
    }
    let search = std::env::var_os("PATH")?;
    library::listed(&search).into_iter().find(|d| d.join(path).is_file())
}

/// A view that `culd install-as-nvlink` made.
struct View {
    file: PathBuf,
    version: Option<String>,
    mode: Mode,
}

impl View {
    /// The view whose programs are in `bin`.
    fn of(bin: &Path) -> Option<Self> {
        let file = bin.join("..").join(VIEW_FILE);
        let text = std::fs::read_to_string(&file).ok()?;
        let mut words = text.lines().next().unwrap_or_default().split_whitespace();
        let version = words.next().filter(|v| is_version(v)).map(str::to_owned);
        let mode = words.next().and_then(Mode::parse).unwrap_or_default();
        Some(View { file, version, mode })
    }
}

/// The `bin` of the view that this process was started from. Its other programs come before those beside the program itself.
pub fn view_bin() -> Option<PathBuf> {
    let bin = directory(&std::env::args_os().next()?)?;
    View::of(&bin).map(|_| bin)
}

/// The version that the surroundings of a program state, and where.
pub fn stated(bin: &Path) -> Option<(String, PathBuf)> {
    match View::of(bin) {
        Some(view) => Some((view.version?, view.file)),
        None => toolkit_version(bin),
    }
}

/// The version of the toolkit whose programs are in `bin`.
pub fn toolkit_version(bin: &Path) -> Option<(String, PathBuf)> {
    let json = bin.join("../version.json");
    if let Some(version) = std::fs::read(&json).ok().and_then(|text| version_in_json(&text)) {
        return Some((version, json));
    }
    let ptxas = bin.join(format!("ptxas{}", std::env::consts::EXE_SUFFIX));
    Some((program_version(&ptxas)?, ptxas))
}

/// The version that a program of the toolkit prints.
pub fn program_version(program: &Path) -> Option<String> {
    let out = program.is_file().then(|| Command::new(program).arg("--version").output().ok())??;
    version_in_text(&String::from_utf8_lossy(&out.stdout))
}

fn version_in_json(text: &[u8]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(text).ok()?;
    let of = |name: &str| json.get(name)?.get("version")?.as_str().map(str::to_owned);
    of("cuda_nvcc").or_else(|| of("cuda")).filter(|v| is_version(v))
}

/// `V13.0.88` in the text of `--version`.
fn version_in_text(text: &str) -> Option<String> {
    let word = text.split([' ', ',', '\n']).find(|w| w.starts_with('V') && is_version(&w[1..]))?;
    Some(word[1..].to_owned())
}

fn is_version(text: &str) -> bool {
    text.contains('.') && text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c == '.' || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_json_and_from_text() {
        let json = br#"{"cuda": {"version": "13.1.0"}, "cuda_nvcc": {"name": "CUDA NVCC", "version": "13.1.80"}}"#;
        assert_eq!(version_in_json(json).as_deref(), Some("13.1.80"));
        assert_eq!(version_in_json(b"{}"), None);
        let text = "Cuda compilation tools, release 13.4, V13.4.92\nBuild cuda_13.4.r13.4/compiler.38855100_0\n";
        assert_eq!(version_in_text(text).as_deref(), Some("13.4.92"));
        assert_eq!(version_in_text("ptxas: Vx"), None);
    }

    #[test]
    #[allow(clippy::unwrap_used, reason = "tests")]
    fn a_view_states_its_version_and_its_mode() {
        let view = tempfile::tempdir().unwrap();
        let bin = view.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let nvlink = bin.join("nvlink");
        let called = |mark: &str| {
            std::fs::write(view.path().join(VIEW_FILE), mark).unwrap();
            Called::new(nvlink.as_os_str()).map(|c| (c.is_nvlink(), c.version.build.version))
        };
        assert_eq!(called("13.4.92 nvlink\n"), Ok((true, "13.4.92")));
        assert_eq!(called("13.2.99\n"), Ok((true, "13.2.86")));
        assert_eq!(called("13.4.92 culd\n"), Ok((false, "13.0.88")));
        assert_eq!(called("unknown culd\n"), Ok((false, "13.0.88")));
        assert_eq!(called("12.5.99 nvlink\n"), Ok((true, "12.5.82")));
        assert!(called("11.8.89 nvlink\n").is_err_and(|e| e.contains("; it can be that of 12.0, 12.1") && e.contains("13.0, 13.1")));
        assert_eq!(called("12.3.107 nvlink\n"), Ok((true, "12.3.107")));
        assert_eq!(called("12.0.99 nvlink\n"), Ok((true, "12.0.140")));
        assert_eq!(called("12.3.107 culd\n"), Ok((false, "13.0.88")));
    }
}
