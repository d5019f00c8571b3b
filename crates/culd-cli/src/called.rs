//! What the program was called as: its own name, or nvlink of a certain toolkit.
//!
//! The version of nvlink is, in this order:
//!
//! 1. `CULD_NVLINK_VERSION`, for example `13.4` or `13.4.92`.
//! 2. What `culd install-as-nvlink` wrote beside the view's programs.
//! 3. `version.json` of the toolkit whose `bin` holds the link.
//! 4. What the `ptxas` in the same directory prints.
//! 5. 13.0.88.

use cubin::release::Version;
use culd::Identity;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Overrides the version of nvlink that the program is.
pub const VARIABLE: &str = "CULD_NVLINK_VERSION";
/// The file of a view that states the version of its toolkit, as the first word of its first line.
pub const VIEW_FILE: &str = ".culd-view";

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
        match stem.is_some_and(|s| s == "nvlink") {
            true => Ok(Called {
                identity: Identity::Nvlink,
                version: find(program)?,
            }),
            false => Ok(Called {
                identity: Identity::Culd,
                version: Version::default(),
            }),
        }
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

fn find(program: &OsStr) -> Result<Version, String> {
    if let Some(text) = std::env::var_os(VARIABLE).filter(|t| !t.is_empty()) {
        let text = text.to_string_lossy();
        return Version::parse(&text).ok_or_else(|| unknown(&text, VARIABLE));
    }
    let Some(bin) = directory(program) else {
        return Ok(Version::default());
    };
    let Some((text, file)) = stated(&bin) else {
        return Ok(Version::default());
    };
    Version::nearest(&text).ok_or_else(|| unknown(&text, &file.display().to_string()))
}

fn unknown(text: &str, place: &str) -> String {
    let known: Vec<String> = cubin::release::RELEASES.iter().map(|r| r.name()).collect();
    format!("culd cannot be nvlink {text} ({place}); it can be that of {}", known.join(", "))
}

/// The directory of the name that the program was called by; links are not followed.
fn directory(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return path.parent().map(Path::to_path_buf);
    }
    let search = std::env::var_os("PATH")?;
    std::env::split_paths(&search).find(|d| d.join(path).is_file())
}

/// The version that the surroundings of a program state, and where.
pub fn stated(bin: &Path) -> Option<(String, PathBuf)> {
    let view = bin.join("..").join(VIEW_FILE);
    if let Ok(text) = std::fs::read_to_string(&view) {
        return Some((text.split_whitespace().next()?.to_owned(), view)).filter(|(v, _)| is_version(v));
    }
    toolkit_version(bin)
}

/// The version of the toolkit whose programs are in `bin`.
pub fn toolkit_version(bin: &Path) -> Option<(String, PathBuf)> {
    let json = bin.join("../version.json");
    if let Some(version) = std::fs::read(&json).ok().and_then(|text| version_in_json(&text)) {
        return Some((version, json));
    }
    let ptxas = bin.join(format!("ptxas{}", std::env::consts::EXE_SUFFIX));
    let out = ptxas.is_file().then(|| Command::new(&ptxas).arg("--version").output().ok())??;
    Some((version_in_text(&String::from_utf8_lossy(&out.stdout))?, ptxas))
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
}
