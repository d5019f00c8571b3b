//! Where the programs and libraries are that a link may need.
//!
//! 1. ptxas: as culd searches it (`CULD_PTXAS`, beside the program, `PATH`, `CUDA_HOME`), then beside this library, then in the packages of the
//!    Python environment.
//! 2. NVIDIA's libnvJitLink: `CULD_NVJITLINK`, the toolkit, `LD_LIBRARY_PATH`, then the packages of the Python environment. Neither this library
//!    nor another copy of it is ever taken for NVIDIA's: two copies would call each other without end.

use crate::code::Flavour;
use std::path::{Path, PathBuf};

/// The directory of packages that a file is in: a virtual environment need not be activated to be used.
fn packages_of(file: &Path) -> Option<PathBuf> {
    let is_packages = |dir: &&Path| dir.file_name().is_some_and(|n| n == "site-packages" || n == "dist-packages");
    file.ancestors().find(is_packages).map(Path::to_path_buf)
}

/// Directories of packages of the Python environment: that of this library, then those of the process.
fn site_packages(own: Option<&Path>) -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let program = std::env::current_exe().ok();
    let above_bin = program
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent)
        .map(Path::to_path_buf);
    let prefixes = [variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), above_bin];
    let mut found: Vec<PathBuf> = own.and_then(packages_of).into_iter().collect();
    for prefix in prefixes.into_iter().flatten() {
        let Ok(list) = std::fs::read_dir(prefix.join("lib")) else {
            continue;
        };
        let mut versions: Vec<PathBuf> = list
            .flatten()
            .map(|e| e.path().join("site-packages"))
            .filter(|p| p.is_dir())
            .collect();
        versions.sort();
        found.extend(versions);
    }
    found
}

/// ptxas, where the search of culd does not find one. `own`: the file of this library.
pub fn ptxas(own: Option<&Path>, flavour: Flavour) -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("CULD_PTXAS").filter(|v| !v.is_empty()) {
        return Some(given.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = |name| std::env::var_os(name).map(|home| PathBuf::from(home).join("bin"));
    let beside = own
        .and_then(Path::parent)
        .into_iter()
        .flat_map(|dir| [dir.join("../bin"), dir.to_path_buf()]);
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    directories.extend(home("CUDA_HOME").or_else(|| home("CUDA_PATH")));
    directories.extend(beside);
    let first = directories.into_iter().map(|dir| dir.join("ptxas")).find(|file| file.is_file());
    first.or_else(|| {
        let (cu12, cu13, triton) = (
            "nvidia/cuda_nvcc/bin/ptxas",
            "nvidia/cu13/bin/ptxas",
            "triton/backends/nvidia/bin/ptxas",
        );
        let places = match flavour {
            Flavour::Cuda12 => [cu12, triton, cu13],
            Flavour::Cuda13 => [cu13, cu12, triton],
        };
        let mut candidates = site_packages(own).into_iter().flat_map(|site| places.map(|place| site.join(place)));
        candidates.find(|file| file.is_file())
    })
}

/// Files above this size are not read: NVIDIA's library has 47 MB or more.
const OWN_SIZE_LIMIT: u64 = 16 << 20;
/// The end of a name that all of culd's libraries export, and NVIDIA's none.
const OWN_MARK: &[u8] = b"_19\0";
/// The start of that name.
const OWN_NAME: &[u8] = b"__nvJitLinkCreate_";

/// Whether a file is a libnvJitLink of culd.
fn is_culds(file: &Path) -> bool {
    let is_small = std::fs::metadata(file).is_ok_and(|meta| meta.len() < OWN_SIZE_LIMIT);
    let bytes = is_small.then(|| std::fs::read(file).ok()).flatten().unwrap_or_default();
    let names = bytes.windows(OWN_NAME.len() + 2 + OWN_MARK.len());
    names.filter(|name| name.starts_with(OWN_NAME)).any(|name| name.ends_with(OWN_MARK))
}

/// NVIDIA's library, or the places that were searched.
///
/// # Errors
///
/// It is not in any of these places.
pub fn nvjitlink(own: Option<&Path>, flavour: Flavour) -> Result<PathBuf, Vec<String>> {
    let same = |file: &Path| own.is_some_and(|own| file.canonicalize().ok() == own.canonicalize().ok()) || is_culds(file);
    let mut search = culd_lto::Search::from_environment(None, None);
    let name = flavour.library();
    let mut tried = match search.find_named(&[name, "libnvJitLink.so"]) {
        Ok(file) if !same(&file) => return Ok(file),
        Ok(file) => vec![file.display().to_string()],
        Err(tried) => tried,
    };
    if search.given.is_none() {
        // One directory may hold this library and another one NVIDIA's.
        for directory in search.library_path.take().iter().flat_map(std::env::split_paths) {
            let file = directory.join(name);
            if file.is_file() && !same(&file) {
                return Ok(file);
            }
        }
        for site in site_packages(own) {
            for place in ["nvidia/cu13/lib", "nvidia/nvjitlink/lib"] {
                let file = site.join(place).join(name);
                if file.is_file() && !same(&file) {
                    return Ok(file);
                }
            }
            tried.push(site.display().to_string());
        }
    }
    Err(tried)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_the_library_is_searched() {
        let own = Path::new("/home/me/env/lib/python3.11/site-packages/culd/lib/libculd.so.0");
        let packages = Path::new("/home/me/env/lib/python3.11/site-packages");
        assert_eq!(packages_of(own).as_deref(), Some(packages));
        assert_eq!(site_packages(Some(own)).first().map(PathBuf::as_path), Some(packages));
        assert_eq!(packages_of(Path::new("/opt/culd/lib/libnvJitLink.so.13")), None);
    }

    #[test]
    fn copies_of_this_library_are_known() {
        let file = std::env::temp_dir().join(format!("culd-own-{}", std::process::id()));
        for (names, expected) in [
            (&b"\0nvJitLinkCreate\0__nvJitLinkCreate_13_19\0"[..], true),
            (b"\0__nvJitLinkCreate_12_1\0__nvJitLinkCreate_12_19\0", true),
            (b"\0nvJitLinkCreate\0__nvJitLinkCreate_13_1\0__nvJitLinkDestroy_13_19\0", false),
        ] {
            std::fs::write(&file, names).unwrap();
            assert_eq!(is_culds(&file), expected, "{}", String::from_utf8_lossy(names));
        }
        std::fs::remove_file(&file).unwrap();
        assert!(!is_culds(&file));
    }
}
