//! What to link for and how: the meaning of a command line, independent of its spelling.

use cubin::release::{Form, Release, Version};
use std::fmt;

/// Whose manners the linker has.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// nvlink's results to the byte, its quirks included.
    Nvlink,
    /// culd's own: the same link, signed with its own name, strict about its inputs.
    #[default]
    Culd,
}

/// Architecture suffix.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suffix {
    /// None: `sm_90`.
    #[default]
    None,
    /// Family-specific: `sm_100f`.
    Family,
    /// Architecture-specific: `sm_90a`.
    Arch,
}

/// A target architecture such as `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Number, 90 for `sm_90a`.
    pub number: u32,
    /// Suffix.
    pub suffix: Suffix,
}

/// The first toolkit whose objects have the new form on all architectures.
const CUDA_13: u32 = 130;

/// Architectures that a link can target.
const TARGETS: [(u32, &str); 21] = [
    (50, ""),
    (52, ""),
    (53, ""),
    (60, ""),
    (61, ""),
    (62, ""),
    (70, ""),
    (72, ""),
    (75, ""),
    (80, ""),
    (86, ""),
    (87, ""),
    (88, ""),
    (89, ""),
    (90, "a"),
    (100, "af"),
    (103, "af"),
    (107, "af"),
    (110, "af"),
    (120, "af"),
    (121, "af"),
];

impl Target {
    /// Parses `sm_90a`; `None` for names that no link can target.
    pub fn parse(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("sm_")?;
        let (digits, suffix) = match rest.as_bytes().last()? {
            b'a' => (rest.strip_suffix('a')?, Suffix::Arch),
            b'f' => (rest.strip_suffix('f')?, Suffix::Family),
            _ => (rest, Suffix::None),
        };
        let number = digits.parse().ok()?;
        let (_, suffixes) = TARGETS.iter().find(|(n, _)| *n == number)?;
        let letter = match suffix {
            Suffix::None => return (digits.len() == number.to_string().len()).then_some(Target { number, suffix }),
            Suffix::Arch => 'a',
            Suffix::Family => 'f',
        };
        suffixes.contains(letter).then_some(Target { number, suffix })
    }

    /// All targets in ascending order.
    pub fn all() -> impl Iterator<Item = Target> {
        TARGETS.iter().flat_map(|&(number, suffixes)| {
            let with = suffixes.chars().map(|c| if c == 'a' { Suffix::Arch } else { Suffix::Family });
            std::iter::once(Suffix::None)
                .chain(with)
                .map(move |suffix| Target { number, suffix })
        })
    }

    /// True for architectures that CUDA 13 has dropped: their files have the form of CUDA 12.
    pub fn is_before_turing(self) -> bool {
        self.number < 75
    }

    /// True from sm_90 on: compat attributes, reserved shared memory, RELA only.
    pub fn is_hopper_or_later(self) -> bool {
        self.number >= 90
    }

    /// True from sm_100 on: two views of the code in one file.
    pub fn is_blackwell(self) -> bool {
        self.number >= 100
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::Family => "f",
            Suffix::Arch => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

/// Which kernels stay: glob patterns with `*`, anchored at both ends.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct KernelFilter {
    /// Patterns for global and weak kernels.
    pub external: Vec<Vec<u8>>,
    /// Patterns for static kernels.
    pub internal: Vec<Vec<u8>>,
    /// Patterns for global and weak constants that stay although no code uses them, when constants have to go.
    pub external_constants: Vec<Vec<u8>>,
    /// Patterns for static ones.
    pub internal_constants: Vec<Vec<u8>>,
    /// Given by `--kernels-used`/`--variables-used` (not by host objects): a kernel that stays only because its address is taken counts as a
    /// function.
    pub explicit: bool,
    /// Known before objects are merged: such a kernel is merged as a function.
    pub early: bool,
}

/// The linker's own entry in `.note.nv.tkinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Everything a link needs to know besides its inputs.
#[derive(Debug, Clone)]
pub struct LinkOptions<'d> {
    /// Target architecture.
    pub target: Target,
    /// nvlink's manners or culd's.
    pub identity: Identity,
    /// The release whose linker to be; `None` is that of the newest input.
    pub release: Option<&'static Release>,
    /// Form of the output where no release determines it; `None` is that of the newest input.
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
    /// `-v`.
    pub verbose: bool,
    /// `--dump-callgraph` (either form).
    pub dump_callgraph: bool,
    /// `--dot-file` was given: produce the graph text.
    pub dot_file: bool,
    /// Measure the phases.
    pub time_phases: bool,
    /// Make a link map.
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
    /// Re-read the image and check it before it is handed out.
    pub verify: bool,
}

impl LinkOptions<'_> {
    /// The release whose linker to be: under the name nvlink 13.0 where none is given.
    pub fn release(&self) -> Option<&'static Release> {
        let default = || (self.identity == Identity::Nvlink).then(|| Version::default().release);
        self.release.or_else(default)
    }

    /// The form of the output where the options determine it.
    pub(crate) fn form(&self) -> Option<Form> {
        match self.release() {
            Some(release) => Some(release.rules.form),
            None if self.target.is_blackwell() => Some(Form::Cuda13),
            None if self.target.is_before_turing() => Some(Form::Cuda12),
            None => self.form,
        }
    }

    /// The form of the output, for inputs of which the newest is of this toolkit.
    pub(crate) fn form_for(&self, newest: u32) -> Form {
        let of_inputs = if newest < CUDA_13 { Form::Cuda12 } else { Form::Cuda13 };
        self.form().unwrap_or(of_inputs)
    }

    /// A plain final link under culd's name.
    pub fn new(target: Target) -> Self {
        let note = ToolNote {
            object_name: Vec::new(),
            tool_name: b"culd".to_vec(),
            version: format!("culd {}", env!("CARGO_PKG_VERSION")).into_bytes(),
            build: b"culd".to_vec(),
            command_line: format!("-arch {target} ").into_bytes(),
        };
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
            verbose: false,
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
            allow_undefined_globals: false,
            unified_index: None,
            host_data: None,
            inputs_checked: false,
            note,
            threads: 0,
            leave_memory: false,
            keep_sass: false,
            verify: cfg!(debug_assertions),
        }
    }
}
