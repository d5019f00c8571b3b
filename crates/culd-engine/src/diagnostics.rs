//! What the linker has to say: values with a code and their context, in the order they came up.
//!
//! The texts are nvlink's, so that a drop-in can print them as they are; a friendlier front end renders [`Code`] itself.

use crate::options::LinkOptions;
use culd_base::AdmissionProblem;
pub use culd_base::Severity;
use std::fmt;

/// A line of the call graph dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallGraphLine {
    /// Number of messages that came up before it: lines and errors about register limits alternate.
    pub after: usize,
    /// The line.
    pub text: String,
}

/// One message: printed with the program's name and the severity before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity after `--warning-as-error`.
    pub severity: Severity,
    /// Message.
    pub code: Code,
}

/// A message with the names and values that it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the field names and the texts below describe them")]
#[non_exhaustive]
pub enum Code {
    MultipleDefinition {
        symbol: String,
        file: String,
        first: String,
    },
    SizeMismatch {
        symbol: String,
        file: String,
        first: String,
    },
    /// `file`: the one with the common variable.
    CommonLarger {
        symbol: String,
        file: String,
    },
    SpaceMismatch {
        symbol: String,
        file: String,
        first: String,
    },
    ManagedMismatch {
        symbol: String,
        file: String,
        first: String,
    },
    PrototypeMismatch {
        symbol: String,
        file: String,
        first: String,
    },
    EntryMismatch {
        symbol: String,
    },
    ParameterBankMismatch {
        symbol: String,
    },
    /// Version times ten: what an object uses, and what the link allows.
    ApiVersionTooHigh {
        file: String,
        version: u32,
        limit: u32,
    },
    /// `flag`: the option as this release spells it.
    NotToolsPatch {
        function: String,
        file: String,
        flag: &'static str,
    },
    /// Versions times ten: of the toolkit that made the file, and of that of the first sanitized function.
    SanitizerMismatch {
        file: String,
        toolkit: u32,
        first: u32,
    },
    MergeFailed,
    /// `files`: every input that references the symbol, first mention first.
    UndefinedReference {
        symbol: String,
        file: String,
        files: Vec<String>,
    },
    /// A call or an address of a function that was removed, because the call graph of the file does not list it; culd only.
    RemovedFunction {
        function: String,
        /// The function or the section that uses it.
        user: String,
        is_code: bool,
        file: String,
    },
    /// No function of the inputs is in the output; culd only.
    NothingLeft {
        /// Functions that the inputs define.
        functions: usize,
        reason: &'static str,
    },
    StackUnknown {
        entry: String,
    },
    AddressTakenUncalled {
        function: String,
    },
    /// `contributors`: variables and their sizes, largest first.
    TooMuchShared {
        entry: String,
        size: u64,
        limit: u64,
        contributors: Vec<(String, u64)>,
    },
    /// `what`: textures, samplers or surfaces.
    TooManyImages {
        entry: String,
        what: &'static str,
        limit: usize,
    },
    /// `contributors`: called functions and the sizes of their literals, largest first.
    TooMuchLiteral {
        entry: String,
        size: u64,
        limit: u64,
        contributors: Vec<(String, u64)>,
    },
    TooMuchParameter {
        entry: String,
        size: u64,
        limit: u64,
    },
    TooMuchConstant {
        size: u64,
        limit: u64,
        contributors: Vec<(String, u64)>,
    },
    /// `path`: call path from the entry to the function.
    TooManyRegisters {
        entry: String,
        limit: u32,
        function: String,
        registers: u32,
        path: Vec<String>,
    },
    TcgenConflict {
        entry: String,
    },
    ReservedShared {
        function: String,
    },
    CachePreference {
        entry: String,
        function: String,
    },
    /// An object that may not take part in the link, or only with a warning.
    Admission(AdmissionProblem),
    MissingIsaClass {
        file: String,
        number: u32,
    },
    UnifiedWithoutIndex,
    /// nvlink's words for a state it did not expect.
    Internal {
        what: &'static str,
    },
    /// Something of an input that would be lost without a reason. `what`: section, symbol or reference, with its name.
    Lost {
        file: String,
        what: String,
    },
    /// The finished file is not consistent, or does not fit the inputs: a defect of this linker.
    BadImage {
        reason: String,
    },
    /// An input that cannot be linked; culd only.
    Damaged {
        file: String,
        reason: String,
    },
    /// Mercury instructions of a newer version.
    NewerMercury {
        file: String,
        reason: String,
    },
    /// Mercury instructions of a newer version, as 13.1 and later say it.
    UnsupportedBinary,
    /// The link ends after [`Code::UnsupportedBinary`].
    FinalizationFailed,
    /// An object beside others that were compiled with `-ewp`.
    BesideEwp {
        file: String,
    },
    /// Objects of CUDA 12 and 13 that both use tensor memory.
    TensorMemoryMismatch {
        file: String,
    },
    /// An object of another release, with or after one that was compiled with `-ewp`.
    OlderBesideEwp,
    /// A shared variable used by a kernel whose shared memory the compiler laid out (`-ewp`).
    PartiallyLinked {
        variable: String,
        kernel: String,
    },
    /// An input that is sound, but in a form that is not supported.
    Unsupported {
        file: String,
        reason: String,
    },
    /// The output would be out of all proportion to the inputs.
    OutputTooLarge {
        size: u64,
        limit: u64,
        section: String,
    },
    /// Blackwell: the compiler's schedule was kept.
    SassKept {
        function: String,
        reason: String,
    },
    PreserveRelocsIncomplete {
        target: String,
    },
}

culd_base::code_names! {
    Code {
        MultipleDefinition => "MultipleDefinition",
        ApiVersionTooHigh => "ApiVersionTooHigh",
        NotToolsPatch => "NotToolsPatch",
        SizeMismatch => "SizeMismatch",
        CommonLarger => "CommonLarger",
        SpaceMismatch => "SpaceMismatch",
        ManagedMismatch => "ManagedMismatch",
        PrototypeMismatch => "PrototypeMismatch",
        EntryMismatch => "EntryMismatch",
        ParameterBankMismatch => "ParameterBankMismatch",
        MergeFailed => "MergeFailed",
        UndefinedReference => "UndefinedReference",
        RemovedFunction => "RemovedFunction",
        NothingLeft => "NothingLeft",
        StackUnknown => "StackUnknown",
        AddressTakenUncalled => "AddressTakenUncalled",
        TooMuchShared => "TooMuchShared",
        TooManyImages => "TooManyImages",
        TooMuchLiteral => "TooMuchLiteral",
        TooMuchParameter => "TooMuchParameter",
        TooMuchConstant => "TooMuchConstant",
        TooManyRegisters => "TooManyRegisters",
        TcgenConflict => "TcgenConflict",
        ReservedShared => "ReservedShared",
        CachePreference => "CachePreference",
        MissingIsaClass => "MissingIsaClass",
        UnifiedWithoutIndex => "UnifiedWithoutIndex",
        Internal => "Internal",
        Lost => "Lost",
        BadImage => "BadImage",
        Damaged => "Damaged",
        NewerMercury => "NewerMercury",
        UnsupportedBinary => "UnsupportedBinary",
        FinalizationFailed => "FinalizationFailed",
        BesideEwp => "BesideEwp",
        SanitizerMismatch => "SanitizerMismatch",
        TensorMemoryMismatch => "TensorMemoryMismatch",
        OlderBesideEwp => "OlderBesideEwp",
        PartiallyLinked => "PartiallyLinked",
        Unsupported => "Unsupported",
        OutputTooLarge => "OutputTooLarge",
        SassKept => "SassKept",
        PreserveRelocsIncomplete => "PreserveRelocsIncomplete",
    } else {
        Code::Admission(problem) => problem.name(),
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Code::*;
        match self {
            MultipleDefinition { symbol, file, first } => {
                write!(f, "Multiple definition of '{symbol}' in '{file}', first defined in '{first}'")
            }
            SizeMismatch { symbol, file, first } => {
                write!(f, "Size doesn't match for '{symbol}' in '{file}', first specified in '{first}'")
            }
            CommonLarger { symbol, file } => write!(f, "Common symbol '{symbol}' in file '{file}' has larger size than initialization"),
            SpaceMismatch { symbol, file, first } => write!(
                f,
                "Memory space doesn't match for '{symbol}' in '{file}', first specified in '{first}'"
            ),
            ManagedMismatch { symbol, file, first } => write!(
                f,
                "Managed attribute doesn't match for '{symbol}' in '{file}', first specified in '{first}'"
            ),
            PrototypeMismatch { symbol, file, first } => {
                write!(f, "Prototype doesn't match for '{symbol}' in '{file}', first defined in '{first}'")
            }
            EntryMismatch { symbol } => write!(f, "Function '{symbol}' not declared __global__ in all source files"),
            ParameterBankMismatch { symbol } => write!(f, "Duplicate weak parameter bank for '{symbol}' is not the same size"),
            ApiVersionTooHigh { file, version, limit } => write!(
                f,
                "Object '{file}' has cuda-api-version of {version} which is greater than version on link line ({limit})"
            ),
            NotToolsPatch { function, file, flag } => write!(
                f,
                "Function '{function}' in '{file}' is missing EIATTR_TOOLS_PATCH_FUNC attribute required by {flag} option"
            ),
            MergeFailed => write!(f, "merge_elf failed"),
            UndefinedReference { symbol, file, .. } => write!(f, "Undefined reference to '{symbol}' in '{file}'"),
            NothingLeft { functions, reason } => write!(f, "the output has none of the functions of the inputs ({functions}): {reason}"),
            RemovedFunction {
                function,
                user,
                is_code,
                file,
            } => {
                let kind = if *is_code { "function" } else { "section" };
                write!(
                    f,
                    "'{function}' is used by {kind} '{user}' in '{file}', but not listed in its call graph"
                )
            }
            StackUnknown { entry } => write!(f, "Stack size for entry function '{entry}' cannot be statically determined"),
            AddressTakenUncalled { function } => write!(f, "Function '{function}' has address taken but no calls to it found"),
            TooMuchShared { entry, size, limit, .. } => write!(
                f,
                "Entry function '{entry}' uses too much shared data ({size:#x} bytes, {limit:#x} max)"
            ),
            TooMuchLiteral { entry, .. } => write!(
                f,
                "Entry function '{entry}' uses too much data for compiler-generated constants; please recompile with -Xptxas --disable-optimizer-constants"
            ),
            TooMuchParameter { entry, size, limit } => write!(
                f,
                "Entry function '{entry}' uses too much constant data ({size:#x} bytes, {limit:#x} max)"
            ),
            TooManyImages { entry, what, limit } => write!(f, "More than {limit} {what} used in entry function '{entry}'"),
            TooMuchConstant { size, limit, .. } => write!(f, "File uses too much global constant data ({size:#x} bytes, {limit:#x} max)"),
            TooManyRegisters {
                entry,
                limit,
                function,
                registers,
                ..
            } => {
                write!(
                    f,
                    "entry function '{entry}' with max regcount of {limit} calls function '{function}' with regcount of {registers}"
                )
            }
            ReservedShared { function } => write!(f, "Function '{function}' uses reserved shared memory when not allowed."),
            TcgenConflict { entry } => write!(
                f,
                "Function '{entry}' uses single CTA(.cta_group::1) and CTA pair granularity(.cta_group::2) and that is not allowed."
            ),
            CachePreference { entry, function } => write!(
                f,
                "Function '{entry}' and function '{function}' have conflicting cache preference, falling back to use cache preference of entry '{entry}'"
            ),
            Admission(problem) => write!(f, "{problem}"),
            MissingIsaClass { file, number } => write!(
                f,
                "Output is limited to run on SM Arch '{number}' only, due to missing attribute 'ISA_CLASS' in input file '{file}'"
            ),
            UnifiedWithoutIndex => write!(f, "Unified symbols found but index file not specified."),
            Internal { what } => write!(f, "Internal error: {what}"),
            Lost { file, what } => write!(f, "'{file}': {what} would be lost"),
            BadImage { reason } => write!(f, "Internal error: the linked file failed verification: {reason}"),
            NewerMercury { file, .. } => write!(f, "Internal FNLZR error '{file}'"),
            UnsupportedBinary => write!(f, "Finalization failed: 'unsupported binary'"),
            FinalizationFailed => write!(f, "elfLink error finalization failed"),
            BesideEwp { file } => write!(f, "'{file}': -ewp compiled objects should only link with libcudadevrt"),
            SanitizerMismatch { file, toolkit, first } => write!(
                f,
                "Cannot link sanitized object '{file}' from version {toolkit} with sanitized object from a different toolkit version ({first})"
            ),
            TensorMemoryMismatch { file } => write!(
                f,
                "Object '{file}' cannot be linked due to version mismatch. Objects using tcgen05 in 12.x \
                 cannot be linked with 13.0 or later, they must be rebuilt with latest compiler"
            ),
            OlderBesideEwp => write!(f, "linking with -ewp objects requires using current toolkit"),
            PartiallyLinked { variable, kernel } => {
                write!(f, "Cannot link shared object '{variable}' with partially linked kernel '{kernel}'")
            }
            Unsupported { file, reason } => write!(f, "Input file '{file}' is not supported: {reason}"),
            Damaged { file, reason } => write!(f, "Input file '{file}' is damaged: {reason}"),
            OutputTooLarge { size, limit, section } => write!(
                f,
                "The linked file would have {size:#x} bytes, {limit:#x} are the most for these inputs; section '{section}' adds most to it"
            ),
            SassKept { function, reason } => write!(f, "Function '{function}' keeps the compiler's schedule: {reason}"),
            PreserveRelocsIncomplete { target } => write!(
                f,
                "Option '--preserve-relocs' is not fully implemented for gpu archtecture '{target}' and may not work as expected"
            ),
        }
    }
}

/// A warning about the options themselves, for the caller to give before the link: the link does not repeat it. `target` as it was typed.
pub fn option_warning(options: &LinkOptions<'_>, target: &str) -> Option<Code> {
    let incomplete = options.preserve_relocs && options.target.is_hopper_or_later();
    incomplete.then(|| Code::PreserveRelocsIncomplete { target: target.to_owned() })
}

/// The link cannot go on; the reason has been recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop;

/// Takes messages in order and applies the policies of the command line to them.
#[derive(Debug)]
pub struct Collector<'o> {
    options: &'o LinkOptions<'o>,
    messages: Vec<Diagnostic>,
    callgraph: Vec<CallGraphLine>,
    errors: usize,
}

impl<'o> Collector<'o> {
    /// An empty collector.
    pub fn new(options: &'o LinkOptions<'o>) -> Self {
        Collector {
            options,
            messages: Vec::new(),
            callgraph: Vec::new(),
            errors: 0,
        }
    }
    fn push(&mut self, severity: Severity, code: Code) {
        self.messages.push(Diagnostic { severity, code });
    }
    /// An info.
    pub fn info(&mut self, code: Code) {
        self.push(Severity::Info, code);
    }
    /// A warning; an error under `--warning-as-error`.
    pub fn warning(&mut self, code: Code) -> Result<(), Stop> {
        // nvlink quirk: --disable-infos drops warnings.
        if self.options.disable_infos {
            return Ok(());
        }
        if self.options.warnings_as_errors {
            self.error(code);
        } else {
            self.push(Severity::Warning, code);
        }
        Ok(())
    }
    /// An error: the link continues to its end but writes no image.
    pub fn error(&mut self, code: Code) {
        self.errors += 1;
        self.push(Severity::Error, code);
    }
    /// A fatal problem.
    #[must_use]
    pub fn fatal(&mut self, code: Code) -> Stop {
        self.push(Severity::Fatal, code);
        Stop
    }
    /// A line of the call graph dump.
    pub fn text(&mut self, text: String) {
        let after = self.messages.len();
        self.callgraph.push(CallGraphLine { after, text });
    }
    /// Number of messages so far.
    pub fn count(&self) -> usize {
        self.messages.len()
    }
    /// Number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }
    /// All messages, and the call graph dump.
    pub fn finish(self) -> (Vec<Diagnostic>, Vec<CallGraphLine>) {
        (self.messages, self.callgraph)
    }
}
