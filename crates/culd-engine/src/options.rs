//! Target and settings of a link, independent of the command line's syntax.

pub use cubin::arch::{Arch, Suffix};
use cubin::release::{Form, Release, Version};
pub use culd_base::{Identity, KernelFilter};

/// The linker's own entry in `.note.nv.tkinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolNote {
    /// Output file name; only recorded in the long form.
    pub object_name: Vec<u8>,
    /// Name of the tool.
    pub tool_name: Vec<u8>,
    /// Version line.
    pub version: Vec<u8>,
    /// Build line.
    pub build: Vec<u8>,
    /// Recorded command line.
    pub command_line: Vec<u8>,
}

impl ToolNote {
    /// The entry of a tool, without object name and command line.
    pub fn new(tool_name: impl Into<Vec<u8>>, version: impl Into<Vec<u8>>, build: impl Into<Vec<u8>>) -> Self {
        Self {
            object_name: Vec::new(),
            tool_name: tool_name.into(),
            version: version.into(),
            build: build.into(),
            command_line: Vec::new(),
        }
    }
}

/// All settings of a link except its inputs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinkOptions<'d> {
    /// Target architecture.
    pub target: Arch,
    /// Which linker to behave like.
    pub identity: Identity,
    /// The release of nvlink to behave like; `None` is that of the newest input.
    pub release: Option<&'static Release>,
    /// Form of the output where neither a release nor the target determines it; `None` is that of CUDA 13.
    pub form: Option<Form>,
    /// `-r`: make a relocatable file.
    pub relocatable: bool,
    /// `-g`: keep everything a debugger can use.
    pub debug: bool,
    /// `--suppress-debug-info`: with `-g`, no shared symbols.
    pub suppress_debug_info: bool,
    /// `--preserve-relocs`: keep resolved relocations in `.nv.resolvedrela.*`.
    pub preserve_relocs: bool,
    /// Kernels to keep; `None` keeps all.
    pub kernels: Option<KernelFilter>,
    /// Collect what the program uses (`-v`).
    pub usage: bool,
    /// `--dump-callgraph` (either form).
    pub dump_callgraph: bool,
    /// `--dot-file` was given: produce the graph text.
    pub dot_file: bool,
    /// Measure the phases.
    pub time_phases: bool,
    /// Make a link map, and report functions that keep the compiler's schedule.
    pub map: bool,
    /// Symbols to explain: what keeps them in the output.
    pub why_live: Vec<String>,
    /// `--extra-warnings`.
    pub extra_warnings: bool,
    /// `--suppress-stack-size-warning`.
    pub suppress_stack_size_warning: bool,
    /// `--disable-infos`: nvlink drops warnings, not infos.
    pub disable_infos: bool,
    /// `--warning-as-error`.
    pub warnings_as_errors: bool,
    /// `--force-rela`.
    pub force_rela: bool,
    /// `--reserve-null-pointer`.
    pub reserve_null_pointer: bool,
    /// `--disable-smem-reservation true`.
    pub disable_smem_reservation: bool,
    /// `--enable-extended-smem true`.
    pub extended_smem: bool,
    /// `--cuda-api-version`: the newest interface that objects may use, version times ten.
    pub api_version: Option<u32>,
    /// `--link-as-tools-patch`: every function must be compiled for that.
    pub tools_patch: bool,
    /// `--allow-undefined-globals`.
    pub allow_undefined_globals: bool,
    /// Contents of `--uidx-file`.
    pub unified_index: Option<&'d [u8]>,
    /// Contents of `--nv-host`, stored in `.nv.host`.
    pub host_data: Option<&'d [u8]>,
    /// The caller has checked that the inputs fit the target and has given its warnings.
    pub inputs_checked: bool,
    /// The linker's own note.
    pub note: ToolNote,
    /// Worker threads: 0 = all cores, 1 = none besides the caller's.
    pub threads: usize,
    /// The process ends after this link: memory is left to the system instead of being given back in a hundred thousand pieces.
    pub leave_memory: bool,
    /// Blackwell: keep the compiler's SASS as it is.
    pub keep_sass: bool,
    /// As nvJitLink where its bytes differ from nvlink's: slots of unified functions are not filled with NOPs.
    pub as_nvjitlink: bool,
    /// Re-read the image and check it before it is handed out.
    pub verify: bool,
}

impl LinkOptions<'_> {
    /// The release of nvlink to behave like: under the name nvlink 13.0 where none is given.
    pub fn release(&self) -> Option<&'static Release> {
        let default = || (self.identity == Identity::Nvlink).then(|| Version::default().release);
        self.release.or_else(default)
    }

    /// The form of the output.
    pub(crate) fn form(&self) -> Form {
        match self.release() {
            Some(release) => release.rules_for(self.target).form,
            None if self.target.capabilities().has_mercury => Form::Cuda13,
            None if self.target.is_before_turing() => Form::Cuda12,
            None => self.form.unwrap_or(Form::Cuda13),
        }
    }

    /// A plain final link under culd's name.
    pub fn new(target: Arch) -> Self {
        let mut note = ToolNote::new("culd", format!("culd {}", env!("CARGO_PKG_VERSION")), "culd");
        note.command_line = format!("-arch {target} ").into_bytes();
        LinkOptions {
            target,
            identity: Identity::Culd,
            release: None,
            form: None,
            relocatable: false,
            debug: false,
            suppress_debug_info: false,
            preserve_relocs: false,
            kernels: None,
            usage: false,
            dump_callgraph: false,
            dot_file: false,
            time_phases: false,
            map: false,
            why_live: Vec::new(),
            extra_warnings: false,
            suppress_stack_size_warning: false,
            disable_infos: false,
            warnings_as_errors: false,
            force_rela: false,
            reserve_null_pointer: false,
            disable_smem_reservation: false,
            extended_smem: false,
            api_version: None,
            tools_patch: false,
            allow_undefined_globals: false,
            unified_index: None,
            host_data: None,
            inputs_checked: false,
            note,
            threads: 0,
            leave_memory: false,
            keep_sass: false,
            as_nvjitlink: false,
            verify: cfg!(debug_assertions),
        }
    }
}
