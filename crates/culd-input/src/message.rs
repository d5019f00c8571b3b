//! The messages of loading inputs: values with a code and their context, in the order in which they came up.
//!
//! The first group of codes carries nvlink's wording, so that a drop-in can print it as it is; the second is culd's own.

use cubin::arch::Arch;
use culd_base::{AdmissionProblem, Severity};
use std::fmt;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Severity, after `--warning-as-error`.
    pub severity: Severity,
    /// Code of the message, with its names and values.
    pub code: LoadCode,
}

impl Message {
    pub(crate) fn fatal(code: LoadCode) -> Self {
        Message {
            severity: Severity::Fatal,
            code,
        }
    }
}

/// Flags that suppress warnings or make them errors.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct WarningFlags {
    /// Not said at all (`--disable-infos`).
    pub disabled: bool,
    /// Errors (`--warning-as-error`).
    pub as_errors: bool,
}

/// The kinds of messages, with their context.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "field names say what they hold; the texts below say the rest")]
#[non_exhaustive]
pub enum LoadCode {
    CannotOpen {
        file: String,
    },
    CubinNotElf,
    CubinNotDevice,
    FatbinFormat,
    NvvmWithoutLto,
    Bitcode,
    BinaryFormat,
    /// The same, in the words of 13.1 and later.
    BinaryKind,
    FatbinaryError,
    InternalError,
    UncompressFailed,
    FatbinMissing {
        file: String,
    },
    ArchNotFound {
        file: String,
        target: Arch,
    },
    LtoObjects,
    /// An object that may not take part in the link, or only with a warning.
    Admission(AdmissionProblem),
    UnnamedArch,
    SizeMismatch {
        file: String,
    },
    ArchiveFormat,
    OutOfMemory,
    SkippingLibrary {
        path: String,
        library: String,
    },
    AfterCudadevrt,
    /// With link-time optimization, an object without LTO code.
    NotBuiltForLto {
        file: String,
    },
    NoLtoObjects,
    LtoOptionsDiffer {
        option: &'static str,
    },
    LtoOptionMissing {
        option: &'static str,
        value: String,
    },
    NvvmError,
    /// Output of the compiler of LTO modules.
    Nvvm {
        text: String,
    },
    JitFailed,
    SplitTwice,
    /// Link-time optimization failed.
    LtoFailed {
        reason: String,
    },
    ExpectedRuntime,
    /// A line of ptxas, printed as it is, without prefix.
    Ptxas {
        line: String,
    },

    /// An input that cannot be used, with the reason.
    Unusable {
        file: String,
        reason: String,
    },
    /// A library that was not found.
    LibraryMissing {
        library: String,
        searched: Vec<String>,
    },
    /// A shared library found in place of a static one.
    SharedLibrary {
        library: String,
        path: String,
    },
    /// With `--register-link-binaries`, a device file without host code.
    NoHostCode {
        file: String,
    },
    /// Several fatbins in one object; all are linked.
    SeveralFatbins {
        file: String,
        count: usize,
    },
    /// Device code for other architectures only.
    NoCodeFor {
        file: String,
        target: Arch,
        have: Vec<String>,
    },
    /// A member without device code, for which nvlink ends the link.
    MemberIgnored {
        file: String,
        kind: &'static str,
    },
    /// An archive without members, for example one that was truncated after its magic number.
    EmptyArchive {
        file: String,
    },
    /// An executable or shared library, which has no relocatable device code.
    HostFileIgnored {
        file: String,
    },
    /// There is PTX to compile but no ptxas.
    NoPtxas {
        file: String,
        tried: Vec<String>,
    },
}

impl LoadCode {
    /// True for text that is printed without the linker's prefix.
    pub fn is_verbatim(&self) -> bool {
        matches!(self, LoadCode::Ptxas { .. })
    }
}

culd_base::code_names! {
    LoadCode {
        CannotOpen => "CannotOpen",
        CubinNotElf => "CubinNotElf",
        CubinNotDevice => "CubinNotDevice",
        FatbinFormat => "FatbinFormat",
        NvvmWithoutLto => "NvvmWithoutLto",
        Bitcode => "Bitcode",
        BinaryFormat => "BinaryFormat",
        BinaryKind => "BinaryKind",
        FatbinaryError => "FatbinaryError",
        InternalError => "InternalError",
        UncompressFailed => "UncompressFailed",
        FatbinMissing => "FatbinMissing",
        ArchNotFound => "ArchNotFound",
        LtoObjects => "LtoObjects",
        UnnamedArch => "UnnamedArch",
        SizeMismatch => "SizeMismatch",
        ArchiveFormat => "ArchiveFormat",
        OutOfMemory => "OutOfMemory",
        SkippingLibrary => "SkippingLibrary",
        AfterCudadevrt => "AfterCudadevrt",
        NotBuiltForLto => "NotBuiltForLto",
        NoLtoObjects => "NoLtoObjects",
        LtoOptionsDiffer => "LtoOptionsDiffer",
        LtoOptionMissing => "LtoOptionMissing",
        NvvmError => "NvvmError",
        Nvvm => "Nvvm",
        JitFailed => "JitFailed",
        SplitTwice => "SplitTwice",
        LtoFailed => "LtoFailed",
        ExpectedRuntime => "ExpectedRuntime",
        Ptxas => "Ptxas",
        Unusable => "Unusable",
        LibraryMissing => "LibraryMissing",
        SharedLibrary => "SharedLibrary",
        NoHostCode => "NoHostCode",
        SeveralFatbins => "SeveralFatbins",
        NoCodeFor => "NoCodeFor",
        MemberIgnored => "MemberIgnored",
        EmptyArchive => "EmptyArchive",
        HostFileIgnored => "HostFileIgnored",
        NoPtxas => "NoPtxas",
    } else {
        LoadCode::Admission(problem) => problem.name(),
    }
}

impl fmt::Display for LoadCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use LoadCode::*;
        match self {
            CannotOpen { file } => write!(f, "Could not open input file '{file}'"),
            CubinNotElf => write!(f, "cubin not an elf?"),
            CubinNotDevice => write!(f, "cubin not a device elf?"),
            FatbinFormat => write!(f, "fatbin wrong format?"),
            NvvmWithoutLto => write!(f, "should only see nvvm files when -lto"),
            Bitcode => write!(f, "should never see bc files"),
            BinaryFormat => write!(f, "Binary format for key='0', ident='' is not recognized"),
            FatbinaryError => write!(f, "elfLink fatbinary error"),
            InternalError => write!(f, "elfLink internal error"),
            BinaryKind => write!(f, "Can't load this binary kind, as it's not recognized"),
            UncompressFailed => write!(f, "Uncompress failed"),
            FatbinMissing { file } => write!(f, "Could not find fatbin in '{file}'"),
            ArchNotFound { file, target } => write!(f, "SM Arch ('{target}') not found in '{file}'"),
            LtoObjects => write!(f, "LTO objects found, use -dlto"),
            UnnamedArch => write!(f, "Unknown arch name ''"),
            SizeMismatch { file } => write!(f, "Input file '{file}' size does not match target '-m64'"),
            Admission(problem) => write!(f, "{problem}"),
            ArchiveFormat => write!(f, "unexpected archive format"),
            OutOfMemory => write!(f, "Memory allocation failure"),
            SkippingLibrary { path, library } => write!(f, "Skipping incompatible '{path}' when searching for -l{library}"),
            NotBuiltForLto { file } => write!(f, "requested LTO but '{file}' not built for LTO so doing partial LTO"),
            NoLtoObjects => write!(f, "Ignoring -dlto option because no LTO objects found"),
            LtoOptionsDiffer { option } => write!(f, "Cicc option values for '{option}' do not match"),
            LtoOptionMissing { option, value } => write!(
                f,
                "Some objects do not have '{option}' specified but others do; will build everything with '{option}{value}'"
            ),
            LtoFailed { reason } => write!(f, "link-time optimization failed: {reason}"),
            Nvvm { text } => write!(f, "{text}"),
            JitFailed => write!(f, "elfLink JIT compile failed"),
            SplitTwice => write!(
                f,
                "Incompatible options '-split-compile' and '-split-compile-extended', using '-split-compile-extended'"
            ),
            NvvmError => write!(f, "elfLink nvvm error"),
            ExpectedRuntime => write!(f, "expected libcudadevrt object"),
            AfterCudadevrt => write!(f, "unexpected object after cudadevrt"),
            Ptxas { line } => write!(f, "{line}"),

            Unusable { file, reason } => write!(f, "cannot use '{file}': {reason}"),
            LibraryMissing { library, searched } if searched.is_empty() => {
                write!(
                    f,
                    "library -l{library} not found: there is neither a -L directory nor LIBRARY_PATH to search"
                )
            }
            LibraryMissing { library, searched } => write!(f, "library -l{library} not found in {}", searched.join(", ")),
            SharedLibrary { library, path } => write!(f, "-l{library} is the shared library '{path}', which has no device code to link"),
            NoHostCode { file } => write!(
                f,
                "Input '{file}' has no host code, which could cause later host link error if there is a reference to it"
            ),
            SeveralFatbins { file, count } => write!(f, "'{file}' contains {count} fatbins; all of them are linked"),
            NoCodeFor { file, target, have } if have.is_empty() => write!(f, "'{file}' has no code for {target}: it is empty"),
            NoCodeFor { file, target, have } => write!(f, "'{file}' has no code for {target}, only for {}", have.join(", ")),
            MemberIgnored { file, kind } => write!(f, "'{file}' is {kind} and is not linked"),
            EmptyArchive { file } => write!(f, "archive '{file}' is empty"),
            HostFileIgnored { file } => write!(
                f,
                "'{file}' is an executable or a shared library; its device code is already linked and is ignored"
            ),
            NoPtxas { file, tried } => write!(
                f,
                "'{file}' holds PTX, which needs ptxas, and no ptxas was found{}; \
                 install the CUDA compiler, or name a ptxas with --ptxas or CULD_PTXAS",
                culd_base::tried(tried)
            ),
        }
    }
}
