//! Extracted `-l` libraries.
//!
//! 1. For each directory of `-L` in order, then each of `LIBRARY_PATH`: when `libX.so` is there, stop; the library has no device code to give.
//! 2. Else, when `libX.a` is there, look inside: it must be an archive. nvlink also requires a host object in it, after any
//!    number of device objects.
//! 3. nvlink: an archive without host objects, or fewer than 9 bytes of something else, is skipped with a warning and the search continues;
//!    any other file is fatal, and so is a directory of that name.
//!
//! 4. culd: a library that is in none of these directories may be one of the host's own (`-lrt -lm`). Their directories are searched
//!    last; a library without device code there is passed over.
//!
//! The search of all libraries comes before the first input is read, which is where its messages are.

use crate::bytes::Bytes;
use crate::files::Files;
use crate::message::{LoadCode, Message};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The library, if one was found.
    pub found: Found,
    /// Warnings on the way.
    pub warnings: Vec<LoadCode>,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A static library.
    Archive(PathBuf),
    /// A shared library, which hides static ones after it.
    Shared(PathBuf),
    /// Nothing.
    Nothing,
    /// A file that cannot be used, with what there is to say.
    Unusable(Vec<Message>),
    /// A directory with the library's name.
    Directory(PathBuf),
}

/// The directories of a list such as `PATH`.
pub fn listed(list: &OsStr) -> Vec<PathBuf> {
    // WASI has no such lists, and its standard library panics.
    match cfg!(target_os = "wasi") {
        true => Vec::new(),
        false => std::env::split_paths(list).collect(),
    }
}

/// Directories to search: `-L` in order, then those of `LIBRARY_PATH`.
pub fn directories(given: &[PathBuf], library_path: Option<&OsStr>) -> Vec<PathBuf> {
    let from_environment = library_path.into_iter().flat_map(listed);
    given
        .iter()
        .cloned()
        .chain(from_environment.filter(|p| !p.as_os_str().is_empty()))
        .collect()
}

/// A file in a directory; slashes at the directory's end do not show in the name.
fn inside(directory: &Path, file: &str) -> PathBuf {
    let mut path = directory.as_os_str().to_owned();
    let text = path.to_string_lossy();
    let trimmed = text.trim_end_matches('/');
    if trimmed.len() < text.len() {
        path = OsString::from(trimmed);
    }
    path.push("/");
    path.push(file);
    PathBuf::from(path)
}

/// What a look inside a library says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// It can be linked.
    Archive,
    /// Go on searching.
    Skip,
    /// The search ends in an error.
    Unusable(Vec<Message>),
}

/// Searches one library; `probe` looks inside a file that has the right name.
pub fn search(name: &str, directories: &[PathBuf], files: &dyn Files, probe: &dyn Fn(&Path, Option<&Bytes>) -> Probe) -> Search {
    let mut warnings = Vec::new();
    let found = first(name, directories, files, probe, &mut warnings);
    Search { found, warnings }
}

fn first(
    name: &str,
    directories: &[PathBuf],
    files: &dyn Files,
    probe: &dyn Fn(&Path, Option<&Bytes>) -> Probe,
    warnings: &mut Vec<LoadCode>,
) -> Found {
    for directory in directories {
        let shared = inside(directory, &format!("lib{name}.so"));
        if files.exists(&shared) {
            return Found::Shared(shared);
        }
        let path = inside(directory, &format!("lib{name}.a"));
        if !files.exists(&path) {
            continue;
        }
        if files.is_dir(&path) {
            return Found::Directory(path);
        }
        let bytes = files.open(&path).map(|f| f.bytes).ok();
        match probe(&path, bytes.as_ref()) {
            Probe::Archive => return Found::Archive(path),
            Probe::Unusable(messages) => return Found::Unusable(messages),
            Probe::Skip => warnings.push(LoadCode::SkippingLibrary {
                path: path.to_string_lossy().into_owned(),
                library: name.to_owned(),
            }),
        }
    }
    Found::Nothing
}
