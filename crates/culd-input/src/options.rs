//! What to load and how: the part of a command line that concerns inputs.

use crate::lto::LtoOptions;
use crate::message::LoadCode;
use crate::progress::{Progress, Step};
use crate::ptx::{PtxOptions, PtxasSearch};
use crate::ptx_cache::PtxCache;
use cubin::arch::Arch;
use cubin::release::Release;
use culd_base::Identity;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that decides how inputs are read.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Arch architecture.
    pub target: Arch,
    /// Which linker to behave like.
    pub identity: Identity,
    /// The release of nvlink to behave like; `None` takes objects of every release.
    pub release: Option<&'static Release>,
    /// `-l` in order.
    pub libraries: Vec<String>,
    /// `-L` in order.
    pub library_directories: Vec<PathBuf>,
    /// The environment's `LIBRARY_PATH`.
    pub library_path: Option<OsString>,
    /// Directories of the host's own libraries, searched last; only device code is taken from there. culd only.
    pub system_directories: Vec<PathBuf>,
    /// A library that is not found is an error. culd only.
    pub strict_libraries: bool,
    /// `--keep-system-libraries`: the device runtime is an archive like any other.
    pub keep_system_libraries: bool,
    /// `--register-link-binaries` was given.
    pub registers: bool,
    /// Collect the kernels that host code refers to (not with `--ignore-host-info`, `--kernels-used` or `--variables-used`).
    pub host_info: bool,
    /// `--disable-infos`: nvlink drops warnings.
    pub disable_infos: bool,
    /// `--suppress-arch-warning`.
    pub suppress_arch_warning: bool,
    /// `--warning-as-error`.
    pub warnings_as_errors: bool,
    /// Link-time optimization.
    pub lto: Option<LtoOptions>,
    /// Options for PTX inputs.
    pub ptx: PtxOptions,
    /// Places to search for ptxas.
    pub ptxas: PtxasSearch,
    /// Where compiled PTX is kept.
    pub ptx_cache: Option<Arc<PtxCache>>,
    /// Worker threads: 0 = as many as the current rayon pool has, 1 = none besides the caller's.
    pub threads: usize,
    /// Where the loader says what it is doing.
    pub progress: Option<Arc<Progress>>,
    /// Measure the parts of the load.
    pub time_phases: bool,
}

impl LoadOptions {
    /// Whether entries of fat binaries that do not unpack are passed over.
    pub(crate) fn passes_over_damage(&self) -> bool {
        self.release.is_some_and(|r| r.rules.passes_over_damaged_fatbins)
    }

    /// What is said of a fat binary, or of PTX, that is neither.
    pub(crate) fn unknown_binary(&self) -> LoadCode {
        match self.passes_over_damage() {
            true => LoadCode::BinaryKind,
            false => LoadCode::BinaryFormat,
        }
    }

    /// A plain load under culd's name.
    pub fn new(target: Arch) -> Self {
        LoadOptions {
            target,
            identity: Identity::Culd,
            release: None,
            libraries: Vec::new(),
            library_directories: Vec::new(),
            library_path: None,
            system_directories: Vec::new(),
            strict_libraries: false,
            keep_system_libraries: false,
            registers: false,
            host_info: true,
            disable_infos: false,
            suppress_arch_warning: false,
            warnings_as_errors: false,
            lto: None,
            ptx: PtxOptions::default(),
            ptxas: PtxasSearch::default(),
            ptx_cache: None,
            threads: 0,
            progress: None,
            time_phases: false,
        }
    }

    pub(crate) fn start(&self, step: Step, total: usize) {
        if let Some(progress) = &self.progress {
            progress.start(step, total);
        }
    }

    pub(crate) fn is_nvlink(&self) -> bool {
        self.identity == Identity::Nvlink
    }
}
