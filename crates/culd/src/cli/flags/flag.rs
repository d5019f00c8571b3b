//! The vocabulary of the flag table.

use crate::cli::called::Called;
use cubin::arch::{self, Arch, ArchName};

/// Name of a flag inside the program. The order is that of the table and has no other meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each variant is described by its table entry")]
pub enum Id {
    FastCompile,
    Xnvvm,
    Xptxas,
    Arch,
    CpuArch,
    Debug,
    StackProtector,
    DisableInfos,
    DisableWarnings,
    Dlto,
    DumpCallgraph,
    DumpCallgraphMangled,
    EmitPtx,
    ExtraWarnings,
    HostScript,
    Help,
    IgnoreHostInfo,
    KeepSystemLibraries,
    KernelsUsed,
    Library,
    LibraryPath,
    ToolsPatch,
    Lto,
    Machine,
    MaxRegisters,
    NvvmPath,
    OptionsFile,
    Output,
    PreserveRelocs,
    RegisterFile,
    Relocatable,
    ReportArch,
    SplitCompile,
    SplitCompileExtended,
    SuppressArchWarning,
    SuppressDebugInfo,
    SuppressStackSizeWarning,
    Time,
    UnifiedIndex,
    UseHostInfo,
    VariablesUsed,
    Verbose,
    Verbose2,
    Version,
    WarningAsError,
    AllowUndefinedGlobals,
    CudaApiVersion,
    StackProtectorThreshold,
    DisableSmemReservation,
    DontReserveNullPointer,
    DotFile,
    ExtendedSmem,
    Fdcmpt,
    ForcePartialLto,
    ForceRela,
    ForceWholeLto,
    HostCompiler,
    HostLinkerOptions,
    HostFile,
    ReserveNullPointer,
    Shared,
    SyscallConstOffset,
    ToolName,
    Uumn,
    VerboseNote,
    Color,
    DependencyFile,
    GenerateCompletions,
    GenerateDocs,
    GenerateMan,
    Html,
    JsonReport,
    KeepSass,
    Map,
    NoFork,
    NvJitLink,
    Ptxas,
    RecordedOptions,
    SaveRepro,
    ShowCodes,
    StrictLibraries,
    Threads,
    TimePhases,
    Trace,
    Verify,
    Form,
    WhyLive,
}

/// What follows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Switch,
    /// One text.
    Text,
    /// One text that may be left out at the end or before another flag; the default is then [`Flag::omitted`].
    OptionalText,
    /// A 32-bit number: decimal, `0x` or leading-zero octal.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Texts separated by commas; repeats add up.
    List,
}

/// Where a flag appears in the command line that is recorded in the output's note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Nowhere.
    Never,
    /// At this place.
    At(u8),
    /// At this place, only in the long form of the note; a path is cut to its last part.
    LongFormAt(u8),
}

/// Which identities accept a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Both identities.
    Both,
    /// Only `culd`.
    Culd,
}

/// One flag.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Name in the program.
    pub id: Id,
    /// Name after two dashes.
    pub long: &'static str,
    /// Name after one dash.
    pub short: Option<&'static str>,
    /// What follows.
    pub kind: Kind,
    /// The value as shown in help; nvlink shows none for some flags that take one.
    pub argument: &'static str,
    /// nvlink's help text.
    pub nvlink_help: &'static str,
    /// Our help text.
    pub about: &'static str,
    /// The only values allowed.
    pub allowed: Allowed,
    /// Those of [`Allowed::Words`] that exist only from a release on.
    pub allowed_since: &'static [(&'static str, u32)],
    /// The release of nvlink that introduced the flag; 0 for all.
    pub since: u32,
    /// The release that introduced the long name and listed the flag in the help; 0 for all.
    pub long_since: u32,
    /// The value when an optional one is left out.
    pub omitted: &'static str,
    /// The default as shown in nvlink's help, quotes included.
    pub default: Option<&'static str>,
    /// A single-letter flag whose value may follow without a space.
    pub glued: bool,
    /// Place in the recorded command line.
    pub recorded: Recorded,
    /// Which identities accept it.
    pub known: Known,
    /// Not in nvlink's help.
    pub hidden: bool,
}

/// The values that a flag accepts, in the order of the help.
#[derive(Debug, Clone, Copy)]
pub enum Allowed {
    /// Any value.
    Anything,
    /// One of these.
    Words(&'static [&'static str]),
    /// A name of an architecture ([`cubin::arch::names`]).
    Archs,
}

impl Flag {
    /// True when only some values are allowed.
    pub fn is_restricted(&self) -> bool {
        !matches!(self.allowed, Allowed::Anything)
    }

    /// True if the flag exists under a program name and is listed in its help.
    pub fn is_listed(&self, called: Called) -> bool {
        !called.is_nvlink() || self.long_since <= called.version.release.toolkit
    }

    /// True when a caller's name allows this text as value.
    pub fn accepts(&self, called: Called, text: &[u8]) -> bool {
        let known = |arch: Arch| {
            let (since, until) = arch.toolkits();
            !called.is_nvlink() || (since..=until).contains(&called.version.release.toolkit)
        };
        match self.allowed {
            Allowed::Anything => true,
            // Without making the list of all names, which takes longer than a small link.
            Allowed::Archs => std::str::from_utf8(text).ok().and_then(Arch::of_name).is_some_and(known),
            Allowed::Words(_) => self.values(called).any(|v| v.as_bytes() == text),
        }
    }

    /// The values that a caller's name allows; none when any will do.
    pub fn values(&self, called: Called) -> impl Iterator<Item = &'static str> {
        let (words, archs): (&'static [&'static str], &'static [ArchName]) = match self.allowed {
            Allowed::Anything => (&[], &[]),
            Allowed::Words(words) => (words, &[]),
            Allowed::Archs => (&[], arch::names()),
        };
        let since = |word: &str| {
            self.allowed_since
                .iter()
                .find(|(name, _)| *name == word)
                .map_or(0, |(_, since)| *since)
        };
        let words = words.iter().map(move |word| (*word, since(word), u32::MAX));
        let archs = archs.iter().map(|name| (name.text.as_str(), name.since, name.until));
        let own = called.is_nvlink().then_some(called.version.release.toolkit);
        words
            .chain(archs)
            .filter(move |(_, since, until)| own.is_none_or(|toolkit| (*since..=*until).contains(&toolkit)))
            .map(|(value, ..)| value)
    }
}

/// A switch without a description; table entries start from it.
pub(super) const BASE: Flag = Flag {
    id: Id::Help,
    long: "",
    short: None,
    kind: Kind::Switch,
    argument: "",
    nvlink_help: "",
    about: "",
    allowed: Allowed::Anything,
    allowed_since: &[],
    since: 0,
    long_since: 0,
    omitted: "",
    default: None,
    glued: false,
    recorded: Recorded::Never,
    known: Known::Both,
    hidden: false,
};
