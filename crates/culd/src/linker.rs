//! Linking from a program: inputs and options in, an image and diagnostics out.
//!
//! A [`Linker`] takes inputs of every kind (device objects, fat binaries, host objects, archives, PTX, LTO IR) from memory or from files.
//!
//! 1. [`Linker::input`], [`Linker::input_as`] and [`Linker::file`] collect inputs; nothing is read before the link. [`Linker::add`] reads its
//!    input at once and reports what is wrong with it.
//! 2. [`Linker::link`] reads what was collected ([`culd_input::load`]), links it ([`culd_engine::link`]) and returns a [`Linked`] or a
//!    [`LinkError`] with all diagnostics.
//!
//! The library does not print, exit, install signal handlers, change the environment or map files. It reads the environment in one case: to
//! find ptxas for PTX, and libnvJitLink for LTO IR, where the caller named neither. A small link runs on the calling thread.
//!
//! ```
//! use culd::Linker;
//!
//! let saxpy = include_bytes!("../examples/data/saxpy.cubin");
//! let combine = include_bytes!("../examples/data/combine.cubin");
//! let linked = Linker::for_arch("sm_90")?
//!     .input("saxpy.cubin", saxpy)
//!     .input("combine.cubin", combine)
//!     .link()?;
//! assert!(linked.image().starts_with(b"\x7fELF"));
//! assert_eq!(linked.kernels()[0].name, "saxpy");
//! # Ok::<(), culd::LinkError>(())
//! ```
//!
//! Errors are values:
//!
//! ```
//! use culd::{Linker, Severity};
//!
//! let saxpy = include_bytes!("../examples/data/saxpy.cubin");
//! let error = Linker::for_arch("sm_90")?.input("saxpy.cubin", saxpy).link().unwrap_err();
//! let diagnostic = &error.diagnostics()[0];
//! assert_eq!((diagnostic.severity, diagnostic.code.as_str()), (Severity::Error, "UndefinedReference"));
//! assert_eq!(diagnostic.file.as_deref(), Some("saxpy.cubin"));
//! # Ok::<(), culd::LinkError>(())
//! ```

pub(crate) mod diagnostic;
mod linked;
mod memory;
mod run;

pub use diagnostic::{Diagnostic, LinkError};
pub use linked::{Bank, Kernel, Linked, Memory};

use crate::linker::memory::Source;
use culd_engine::{Arch, Identity, LinkOptions, ToolNote};
use culd_input::LoadedObject;
use culd_input::ptx::PtxOptions;
use culd_input::ptx_cache::PtxCache;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A device object.
    Cubin,
    /// PTX text, compiled by ptxas.
    Ptx,
    /// LTO IR; needs [`Linker::lto`].
    LtoIr,
    /// A fat binary.
    Fatbin,
    /// A host object with a fat binary inside.
    Object,
    /// An archive of host or device objects. All members take part.
    Archive,
}

impl InputKind {
    /// What these bytes are; `None` when no link can use them.
    pub fn of(bytes: &[u8]) -> Option<InputKind> {
        use culd_input::detect::FileKind;
        match FileKind::of(bytes) {
            FileKind::DeviceElf { .. } => Some(InputKind::Cubin),
            FileKind::HostElf { .. } => Some(InputKind::Object),
            FileKind::Fatbin => Some(InputKind::Fatbin),
            FileKind::Archive { .. } => Some(InputKind::Archive),
            FileKind::Ptx => Some(InputKind::Ptx),
            FileKind::LtoIr => Some(InputKind::LtoIr),
            FileKind::Empty | FileKind::Bitcode | FileKind::Unknown => None,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            InputKind::Cubin => "a device object",
            InputKind::Ptx => "PTX text",
            InputKind::LtoIr => "LTO IR",
            InputKind::Fatbin => "a fat binary",
            InputKind::Object => "a host object",
            InputKind::Archive => "an archive",
        }
    }
}

/// An input in the order of the link.
#[derive(Debug)]
enum Entry {
    /// To be read by the link.
    Pending(Source),
    /// Read before.
    Loaded(Vec<LoadedObject>),
}

/// A link to be made: its target, options and inputs. It can be linked more than once.
#[derive(Debug)]
pub struct Linker {
    engine: LinkOptions<'static>,
    entries: Vec<Entry>,
    libraries: Vec<String>,
    library_paths: Vec<PathBuf>,
    host_info: bool,
    suppress_arch_warning: bool,
    ptx: PtxOptions,
    ptxas: Option<PathBuf>,
    ptx_cache: Option<Arc<PtxCache>>,
    lto: bool,
    nvjitlink: Option<PathBuf>,
    index: Option<Vec<u8>>,
}

impl Linker {
    /// A link for `target` without inputs, under the name culd.
    pub fn new(target: Arch) -> Self {
        let mut engine = LinkOptions::new(target);
        engine.usage = true;
        engine.inputs_checked = true;
        Linker {
            engine,
            entries: Vec::new(),
            libraries: Vec::new(),
            library_paths: Vec::new(),
            host_info: true,
            suppress_arch_warning: false,
            ptx: PtxOptions::default(),
            ptxas: None,
            ptx_cache: None,
            lto: false,
            nvjitlink: None,
            index: None,
        }
    }

    /// A link for an architecture by its name: `sm_90`, `sm_100a`.
    ///
    /// # Errors
    ///
    /// The name is not that of an architecture that can be linked for.
    pub fn for_arch(name: &str) -> Result<Self, LinkError> {
        let target = Arch::parse(name).ok_or_else(|| LinkError::unknown_target(name))?;
        Ok(Linker::new(target))
    }

    /// The architecture.
    pub fn target(&self) -> Arch {
        self.engine.target
    }

    /// Adds an input from memory; its content decides what it is. `name` appears in diagnostics.
    pub fn input(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> &mut Self {
        self.entries.push(Entry::Pending(Source::memory(None, name.into(), bytes.into())));
        self
    }

    /// Adds an input from memory that must be of a certain kind.
    pub fn input_as(&mut self, kind: InputKind, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> &mut Self {
        self.entries
            .push(Entry::Pending(Source::memory(Some(kind), name.into(), bytes.into())));
        self
    }

    /// Adds a file, which is read by the link. Its content decides what it is.
    pub fn file(&mut self, path: impl Into<PathBuf>) -> &mut Self {
        self.entries.push(Entry::Pending(Source::File(path.into())));
        self
    }

    /// Adds an input from memory and reads it at once: containers are unpacked, PTX is compiled. An input that is refused is not part of the
    /// link. The result has warnings and what ptxas printed.
    ///
    /// Lists of used kernels in host objects are not considered for such an input.
    ///
    /// # Errors
    ///
    /// The input cannot be linked for the target.
    pub fn add(
        &mut self,
        kind: Option<InputKind>,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Result<Vec<Diagnostic>, LinkError> {
        let (objects, diagnostics) = self.read(Source::memory(kind, name.into(), bytes.into()))?;
        self.entries.push(Entry::Loaded(objects));
        Ok(diagnostics)
    }

    /// Adds an archive `lib{name}.a`, searched in the directories of [`Linker::library_path`]. Libraries come after all other inputs.
    pub fn library(&mut self, name: impl Into<String>) -> &mut Self {
        self.libraries.push(name.into());
        self
    }

    /// Adds a directory to search for libraries. No other directories are searched.
    pub fn library_path(&mut self, directory: impl Into<PathBuf>) -> &mut Self {
        self.library_paths.push(directory.into());
        self
    }

    /// Keeps what a debugger can use.
    pub fn debug(&mut self, on: bool) -> &mut Self {
        self.engine.debug = on;
        self.ptx.debug = on;
        self
    }

    /// Makes a relocatable object that can be linked again.
    pub fn relocatable(&mut self, on: bool) -> &mut Self {
        self.engine.relocatable = on;
        self
    }

    /// Keeps only kernels whose name contains `name`, or matches it with `*` as wildcard. May be given several times.
    pub fn kernel_used(&mut self, name: &str) -> &mut Self {
        let pattern = anywhere(name);
        let filter = self.explicit_filter();
        filter.external.push(pattern.clone());
        filter.internal.push(pattern);
        self
    }

    /// Keeps only constants that code uses and those whose name contains `name`. May be given several times.
    pub fn variable_used(&mut self, name: &str) -> &mut Self {
        let pattern = anywhere(name);
        let filter = self.explicit_filter();
        filter.external_constants.push(pattern.clone());
        filter.internal_constants.push(pattern);
        self
    }

    /// Keeps kernels although host objects list which ones they launch.
    pub fn keep_unlaunched_kernels(&mut self, on: bool) -> &mut Self {
        self.host_info = !on;
        self
    }

    /// Keeps resolved relocations in sections of their own.
    pub fn preserve_relocs(&mut self, on: bool) -> &mut Self {
        self.engine.preserve_relocs = on;
        self
    }

    /// Admits references to global variables that no input defines.
    pub fn allow_undefined_globals(&mut self, on: bool) -> &mut Self {
        self.engine.allow_undefined_globals = on;
        self
    }

    /// Reports more warnings.
    pub fn extra_warnings(&mut self, on: bool) -> &mut Self {
        self.engine.extra_warnings = on;
        self
    }

    /// Makes every warning an error.
    pub fn warnings_as_errors(&mut self, on: bool) -> &mut Self {
        self.engine.warnings_as_errors = on;
        self
    }

    /// Passes over inputs that have no code for the target, as long as one has.
    pub fn skip_foreign_code(&mut self, on: bool) -> &mut Self {
        self.suppress_arch_warning = on;
        self
    }

    /// Collects what the program and its kernels use; on unless turned off. See [`Linked::kernels`] and [`Linked::memory`].
    pub fn usage(&mut self, on: bool) -> &mut Self {
        self.engine.usage = on;
        self
    }

    /// Reads the image again and compares it with the inputs.
    pub fn verify(&mut self, on: bool) -> &mut Self {
        self.engine.verify = on;
        self
    }

    /// Most registers that code compiled from PTX may use.
    pub fn max_registers(&mut self, count: u32) -> &mut Self {
        self.ptx.max_registers = (count > 0).then_some(count);
        self
    }

    /// Adds an option for ptxas.
    pub fn ptxas_option(&mut self, option: impl Into<String>) -> &mut Self {
        self.ptx.extra.push(option.into());
        self
    }

    /// Names the ptxas that compiles PTX. Otherwise it is searched as the program does: `CULD_PTXAS`, beside the program, `PATH`, `CUDA_HOME`.
    pub fn ptxas(&mut self, path: impl Into<PathBuf>) -> &mut Self {
        self.ptxas = Some(path.into());
        self
    }

    /// Keeps compiled PTX in a cache, which several links may share.
    pub fn ptx_cache(&mut self, cache: Arc<PtxCache>) -> &mut Self {
        self.ptx_cache = Some(cache);
        self
    }

    /// Optimizes LTO IR of the inputs at link time, with NVIDIA's libnvJitLink loaded into this process.
    pub fn lto(&mut self, on: bool) -> &mut Self {
        self.lto = on;
        self
    }

    /// Names the libnvJitLink for LTO IR. Otherwise it is searched as the program does: `CULD_NVJITLINK`, the toolkit, `LD_LIBRARY_PATH`.
    pub fn nvjitlink(&mut self, path: impl Into<PathBuf>) -> &mut Self {
        self.nvjitlink = Some(path.into());
        self
    }

    /// Contents of an index of unified functions and variables.
    pub fn unified_index(&mut self, bytes: impl Into<Vec<u8>>) -> &mut Self {
        self.index = Some(bytes.into());
        self
    }

    /// Which linker's rules apply: culd's, or nvlink's to the byte of the output.
    pub fn identity(&mut self, identity: Identity) -> &mut Self {
        self.engine.identity = identity;
        self
    }

    /// The release whose rules apply, such as `13.0`; objects of later ones are refused. Otherwise that of the newest input.
    ///
    /// # Errors
    ///
    /// The release is not supported.
    pub fn release(&mut self, name: &str) -> Result<&mut Self, LinkError> {
        let version = cubin::release::Version::nearest(name);
        self.engine.release = Some(version.ok_or_else(|| LinkError::unknown_release(name))?.release);
        Ok(self)
    }

    /// Worker threads: 0 for all cores, 1 for none besides the calling thread. Small links never start one.
    pub fn threads(&mut self, count: usize) -> &mut Self {
        self.engine.threads = count;
        self
    }

    /// The linker's own record in the output.
    pub fn tool_note(&mut self, note: ToolNote) -> &mut Self {
        self.engine.note = note;
        self
    }

    /// Makes the bytes of nvJitLink where they differ from nvlink's.
    pub fn as_nvjitlink(&mut self, on: bool) -> &mut Self {
        self.engine.as_nvjitlink = on;
        self
    }

    /// Links the inputs in their order.
    ///
    /// # Errors
    ///
    /// An input cannot be used, or the link failed; the diagnostics tell why.
    pub fn link(&self) -> Result<Linked, LinkError> {
        run::link(self)
    }

    fn explicit_filter(&mut self) -> &mut culd_engine::KernelFilter {
        let filter = self.engine.kernels.get_or_insert_default();
        filter.explicit = true;
        filter.early = true;
        filter
    }
}

fn anywhere(name: &str) -> Vec<u8> {
    [b"*", name.as_bytes(), b"*"].concat()
}

/// Links files for an architecture.
///
/// # Errors
///
/// As [`Linker::link`].
pub fn link_files<P: AsRef<Path>>(arch: &str, files: &[P]) -> Result<Linked, LinkError> {
    let mut linker = Linker::for_arch(arch)?;
    for file in files {
        linker.file(file.as_ref());
    }
    linker.link()
}
