//! Where the programs and libraries are that a link may need.
//!
//! 1. ptxas: as culd searches it (`CULD_PTXAS`, beside the program, `PATH`, `CUDA_HOME`), then beside this library, then in the packages of the
//!    Python environment.
//! 2. NVIDIA's libnvJitLink: `CULD_NVJITLINK`, the toolkit, `LD_LIBRARY_PATH`, then the packages of the Python environment. This library itself
//!    is never taken for it.

use crate::code::Flavour;
use std::path::{Path, PathBuf};

/// Directories of packages of the Python environment.
fn site_packages() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let program = std::env::current_exe().ok();
    let above_bin = program
        .as_deref()
        .and_then(Path::parent)
        .and_then(Path::parent)
        .map(Path::to_path_buf);
    let prefixes = [variable("VIRTUAL_ENV"), variable("CONDA_PREFIX"), above_bin];
    let mut found = Vec::new();
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
        let mut candidates = site_packages().into_iter().flat_map(|site| places.map(|place| site.join(place)));
        candidates.find(|file| file.is_file())
    })
}

/// NVIDIA's library, or the places that were searched.
///
/// # Errors
///
/// It is not in any of these places.
pub fn nvjitlink(own: Option<&Path>, flavour: Flavour) -> Result<PathBuf, Vec<String>> {
    let same = |file: &Path| own.is_some_and(|own| file.canonicalize().ok() == own.canonicalize().ok());
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
        for site in site_packages() {
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
