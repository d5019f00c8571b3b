//! Finding `-l` libraries.
//!
//! 1. For each folder of `-L` in order, then each of `LIBRARY_PATH`: when `libX.so` is there, stop; the library has no device code to give.
//! 2. Else, when `libX.a` is there, look at its start. An archive is the answer.
//! 3. nvlink: fewer than 56 bytes of something else are skipped with a warning; more are fatal; so is a folder of that name.
//!
//! The search of all libraries comes before the first input is read, which is where its messages stand.

use crate::detect::Content;
use crate::files::Files;
use crate::message::Code;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Anything shorter cannot be an archive that nvlink would refuse; it is skipped instead.
const SHORT: usize = 56;

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// What was found.
    pub found: Found,
    /// Warnings on the way.
    pub warnings: Vec<Code>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A static library.
    Archive(PathBuf),
    /// A shared library, which hides static ones behind it.
    Shared(PathBuf),
    /// Nothing.
    Nothing,
    /// A file that is no archive (nvlink: "unexpected archive format").
    NotArchive(PathBuf),
    /// A folder with the library's name.
    Folder(PathBuf),
}

/// Folders to search: `-L` in order, then those of `LIBRARY_PATH`.
pub fn folders(given: &[PathBuf], library_path: Option<&OsStr>) -> Vec<PathBuf> {
    let from_environment = library_path.into_iter().flat_map(|v| std::env::split_paths(v).collect::<Vec<_>>());
    given
        .iter()
        .cloned()
        .chain(from_environment.filter(|p| !p.as_os_str().is_empty()))
        .collect()
}

/// A file in a folder; slashes at the folder's end do not show in the name.
fn inside(folder: &Path, file: &str) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    let text = path.to_string_lossy();
    let trimmed = text.trim_end_matches('/');
    if trimmed.len() < text.len() {
        path = OsString::from(trimmed);
    }
    path.push("/");
    path.push(file);
    PathBuf::from(path)
}

/// Searches one library.
pub fn search(name: &str, folders: &[PathBuf], files: &dyn Files) -> Search {
    let mut warnings = Vec::new();
    for folder in folders {
        let shared = inside(folder, &format!("lib{name}.so"));
        if files.exists(&shared) {
            return Search {
                found: Found::Shared(shared),
                warnings,
            };
        }
        let path = inside(folder, &format!("lib{name}.a"));
        if !files.exists(&path) {
            continue;
        }
        if files.is_dir(&path) {
            return Search {
                found: Found::Folder(path),
                warnings,
            };
        }
        let bytes = files.open(&path).map(|f| f.bytes).ok();
        let content = bytes.as_deref().map(Content::of);
        if matches!(content, Some(Content::Archive { .. })) {
            return Search {
                found: Found::Archive(path),
                warnings,
            };
        }
        if bytes.is_some_and(|b| b.len() >= SHORT) {
            return Search {
                found: Found::NotArchive(path),
                warnings,
            };
        }
        warnings.push(Code::SkippingLibrary {
            path: path.to_string_lossy().into_owned(),
            library: name.to_owned(),
        });
    }
    Search {
        found: Found::Nothing,
        warnings,
    }
}
