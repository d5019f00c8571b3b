//! Where nvJitLink is.
//!
//! 1. A file that was named outright is taken or nothing.
//! 2. Otherwise the directories of libraries of each toolkit there is a trace of: the one with libnvvm (`-nvvmpath` is its `nvvm` directory), the one
//!    that contains the program, `CUDA_HOME`; last the directories of `LD_LIBRARY_PATH`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names of the library; the interface is that of any version from 12.3 on, the results are those of the compiler inside.
const NAMES: [&str; 2] = ["libnvJitLink.so.13", "libnvJitLink.so"];
/// Where a toolkit keeps libraries.
const DIRECTORIES: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];

/// Places to search for libnvJitLink.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Search {
    /// A file that was named outright.
    pub given: Option<PathBuf>,
    /// `-nvvmpath`.
    pub nvvm: Option<PathBuf>,
    /// The directory of the program itself.
    pub program_dir: Option<PathBuf>,
    /// `CUDA_HOME` or `CUDA_PATH`.
    pub cuda_home: Option<PathBuf>,
    /// `LD_LIBRARY_PATH`.
    pub library_path: Option<OsString>,
}

impl Search {
    /// The environment of the process.
    pub fn from_environment(given: Option<PathBuf>, nvvm: Option<PathBuf>) -> Self {
        let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty());
        let program = std::env::current_exe().ok();
        Search {
            given: given.or_else(|| variable("CULD_NVJITLINK").map(PathBuf::from)),
            nvvm,
            program_dir: program.and_then(|p| p.parent().map(Path::to_path_buf)),
            cuda_home: variable("CUDA_HOME").or_else(|| variable("CUDA_PATH")).map(PathBuf::from),
            // WASI has no such lists, and its standard library panics.
            library_path: variable("LD_LIBRARY_PATH").filter(|_| !cfg!(target_os = "wasi")),
        }
    }

    /// The first library there is; the places tried when there is none.
    pub fn find(&self) -> Result<PathBuf, Vec<String>> {
        self.find_named(&NAMES)
    }

    /// The first library that has one of these names.
    pub fn find_named(&self, names: &[&str]) -> Result<PathBuf, Vec<String>> {
        if let Some(path) = &self.given {
            let text = path.display().to_string();
            return if path.is_file() { Ok(path.clone()) } else { Err(vec![text]) };
        }
        let above = |directory: &PathBuf| directory.parent().map(Path::to_path_buf);
        // The directory as given first: what it links to may be elsewhere.
        let resolved = self.nvvm.as_ref().and_then(|n| n.canonicalize().ok());
        let toolkits = self.nvvm.iter().flat_map(|n| [Some(n.join("..")), Some(n.clone())]).flatten();
        let toolkits = toolkits.chain(resolved.as_ref().and_then(above));
        let toolkits = toolkits
            .chain(self.program_dir.as_ref().and_then(above))
            .chain(self.cuda_home.clone());
        let directories = toolkits.flat_map(|toolkit| DIRECTORIES.map(|directory| toolkit.join(directory)));
        let listed = self.library_path.iter().flat_map(std::env::split_paths);
        let mut tried: Vec<String> = Vec::new();
        for directory in directories.chain(listed) {
            for name in names {
                let candidate = directory.join(name);
                if candidate.is_file() {
                    return Ok(candidate);
                }
            }
            let text = directory.display().to_string();
            if !tried.contains(&text) {
                tried.push(text);
            }
        }
        Err(tried)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_toolkit_of_libnvvm_comes_first() {
        let toolkit = tempfile::tempdir().unwrap();
        let root = toolkit.path();
        std::fs::create_dir_all(root.join("nvvm")).unwrap();
        std::fs::create_dir_all(root.join("lib")).unwrap();
        let search = Search {
            nvvm: Some(root.join("nvvm")),
            ..Search::default()
        };
        assert!(!search.find().unwrap_err().is_empty());
        std::fs::write(root.join("lib/libnvJitLink.so.13"), b"").unwrap();
        let found = search.find().unwrap();
        assert_eq!(
            found.canonicalize().unwrap(),
            root.join("lib/libnvJitLink.so.13").canonicalize().unwrap()
        );
    }

    #[test]
    fn a_file_that_is_named_is_taken_or_nothing() {
        let missing = PathBuf::from("no/such/library.so");
        let search = Search {
            given: Some(missing.clone()),
            ..Search::default()
        };
        assert_eq!(search.find(), Err(vec![missing.display().to_string()]));
    }
}
