//! What loading inputs has to say: values with a code and their context, in the order they came up.
//!
//! The first group of codes carries nvlink's wording, so that a drop-in can print it as it is; the second is culd's own.

use crate::target::Target;
use std::fmt;

/// How serious a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something worth knowing.
    Info,
    /// The link goes on and succeeds.
    Warning,
    /// Loading goes on, but there will be no link.
    Error,
    /// Loading stops here.
    Fatal,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Severity, after `--warning-as-error`.
    pub severity: Severity,
    /// What happened.
    pub code: Code,
}

impl Message {
    pub(crate) fn fatal(code: Code) -> Self {
        Message {
            severity: Severity::Fatal,
            code,
        }
    }
}

/// What can be said.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "field names say what they hold; the texts below say the rest")]
pub enum Code {
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
        target: Target,
    },
    LtoObjects,
    ArchMismatch {
        file: String,
        target: Target,
    },
    UnnamedArch,
    UnknownArch {
        file: String,
        number: u32,
    },
    SizeMismatch {
        file: String,
    },
    AbiMismatch {
        file: String,
    },
    Expected64Bit {
        file: String,
    },
    Accelerated {
        file: String,
    },
    /// Made by a release that is not known; only culd links it.
    UnknownRelease {
        file: String,
        toolkit: u32,
    },
    NewerThanToolkit {
        file: String,
        toolkit: u32,
        own: u32,
    },
    TooOld {
        file: String,
    },
    NoToolkit {
        file: String,
    },
    LimitedByOlderInput {
        file: String,
        number: u32,
    },
    ArchiveFormat,
    OutOfMemory,
    SkippingLibrary {
        path: String,
        library: String,
    },
    AfterCudadevrt,
    /// With link-time optimization, an object that takes no part in it.
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
    /// What the compiler of modules said.
    Nvvm {
        text: String,
    },
    JitFailed,
    SplitTwice,
    /// Link-time optimization came to nothing.
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
    /// A shared library found where a static one was meant.
    SharedLibrary {
        library: String,
        path: String,
    },
    /// A device file without host code beside `--register-link-binaries`.
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
        target: Target,
        have: Vec<String>,
    },
    /// A member without device code that nvlink would have stopped at.
    MemberIgnored {
        file: String,
        kind: &'static str,
    },
    /// An archive that has no members, as one that was cut behind its first bytes.
    EmptyArchive {
        file: String,
    },
    /// A linked host file, which holds nothing to link.
    HostFileIgnored {
        file: String,
    },
    /// There is PTX to compile but no ptxas.
    NoPtxas {
        file: String,
        tried: Vec<String>,
    },
}

impl Code {
    /// True for text that is printed without the linker's prefix.
    pub fn is_verbatim(&self) -> bool {
        matches!(self, Code::Ptxas { .. })
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Code::*;
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
            ArchMismatch { file, target } => write!(f, "Input file '{file}' arch does not match target '{target}'"),
            UnnamedArch => write!(f, "Unknown arch name ''"),
            UnknownArch { number, .. } => write!(f, "Unknown arch name 'sm_{number}'"),
            SizeMismatch { file } => write!(f, "Input file '{file}' size does not match target '-m64'"),
            AbiMismatch { file } => write!(f, "Input file '{file}' abi does not match"),
            Expected64Bit { file } => write!(f, "expected 64bit object '{file}' to have EF_CUDA_64BIT_ADDRESS set"),
            UnknownRelease { file, toolkit } => write!(
                f,
                "{file} was made by CUDA {}.{}, which is newer than culd knows; it is linked by the rules of CUDA {}",
                toolkit / 10,
                toolkit % 10,
                cubin::release::Release::newest().name()
            ),
            Accelerated { .. } => write!(f, "cannot link accelerated arch to non-accelerated"),
            NewerThanToolkit { file, toolkit, own } => write!(f, "Input file '{file}' newer than toolkit ({toolkit} vs {own})"),
            TooOld { file } | NoToolkit { file } => write!(f, "Input file '{file}' must be recompiled with toolkit >= Cuda 12.0"),
            LimitedByOlderInput { file, number } => {
                let limited = format_args!("Output is limited to run on SM Arch '{number}' only");
                write!(f, "{limited} due to limitations in input file {file}")
            }
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
                write!(f, "library -l{library} not found: no -L folder and no LIBRARY_PATH to search")
            }
            LibraryMissing { library, searched } => write!(f, "library -l{library} not found in {}", searched.join(", ")),
            SharedLibrary { library, path } => write!(f, "-l{library} is the shared library '{path}', which has no device code to link"),
            NoHostCode { file } => write!(
                f,
                "Input '{file}' has no host code, which could cause later host link error if there is a reference to it"
            ),
            SeveralFatbins { file, count } => write!(f, "'{file}' holds {count} fatbins; all of them are linked"),
            NoCodeFor { file, target, have } if have.is_empty() => write!(f, "'{file}' has no code for {target}: it is empty"),
            NoCodeFor { file, target, have } => write!(f, "'{file}' has no code for {target}, only for {}", have.join(", ")),
            MemberIgnored { file, kind } => write!(f, "'{file}' is {kind} and is not linked"),
            EmptyArchive { file } => write!(f, "'{file}' is an archive without members"),
            HostFileIgnored { file } => write!(f, "'{file}' is a linked host file; its device code cannot be linked again"),
            NoPtxas { file, tried } => write!(
                f,
                "'{file}' holds PTX, which ptxas has to compile, and no ptxas was found (tried {}); \
                 install the CUDA compiler or point to one with --ptxas or CULD_PTXAS",
                tried.join(", ")
            ),
        }
    }
}
