//! The flag table and its vocabulary.
//!
//! One entry per flag says how it is spelled, what value it takes, how it is described and where it is recorded. Everything else reads
//! the table: parsing ([`crate::cli::parse`]), `--help` and the reference page ([`crate::cli::help`]), the recorded command line ([`crate::cli::note`]).

mod own;
mod shared;

use crate::cli::called::Called;

/// Name of a flag inside the program. The order is the order of [`all`] and has no other meaning.
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
    GenerateDocs,
    JsonReport,
    KeepSass,
    Map,
    NvJitLink,
    Ptxas,
    SaveRepro,
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
    /// One text that may be left out at the end or before another flag; [`Flag::omitted`] stands in.
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

/// Who knows a flag.
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
    /// The only values allowed; empty when any will do. In the order of the help.
    pub allowed: &'static [&'static str],
    /// Values that exist only from a release on.
    pub allowed_since: &'static [(&'static str, u32)],
    /// Values that exist only before a release.
    pub allowed_before: &'static [(&'static str, u32)],
    /// The release of nvlink that introduced the flag; 0 for all.
    pub since: u32,
    /// The release that introduced the long name and listed the flag in the help; 0 for all.
    pub long_since: u32,
    /// Stands in for an optional value that was left out.
    pub omitted: &'static str,
    /// The default as shown in nvlink's help, quotes included.
    pub default: Option<&'static str>,
    /// A single-letter flag whose value may follow without a space.
    pub glued: bool,
    /// Place in the recorded command line.
    pub recorded: Recorded,
    /// Who knows it.
    pub known: Known,
    /// Not in nvlink's help.
    pub hidden: bool,
}

impl Flag {
    /// Does a caller's name know this allowed value?
    pub fn knows(&self, value: &str, called: Called) -> bool {
        let toolkit = called.version.release.toolkit;
        let is_later = |&(name, since): &(&str, u32)| since > toolkit && name == value;
        let is_gone = |&(name, before): &(&str, u32)| before <= toolkit && name == value;
        !called.is_nvlink() || !(self.allowed_since.iter().any(is_later) || self.allowed_before.iter().any(is_gone))
    }

    /// Does a caller's name know the long name, and list it?
    pub fn is_listed(&self, called: Called) -> bool {
        !called.is_nvlink() || self.long_since <= called.version.release.toolkit
    }

    /// The values that a caller's name allows; empty when any will do.
    pub fn values(&self, called: Called) -> impl Iterator<Item = &'static str> {
        self.allowed.iter().copied().filter(move |v| self.knows(v, called))
    }
}

/// A switch without a description; table entries start from it.
const BASE: Flag = Flag {
    id: Id::Help,
    long: "",
    short: None,
    kind: Kind::Switch,
    argument: "",
    nvlink_help: "",
    about: "",
    allowed: &[],
    allowed_since: &[],
    allowed_before: &[],
    since: 0,
    long_since: 0,
    omitted: "",
    default: None,
    glued: false,
    recorded: Recorded::Never,
    known: Known::Both,
    hidden: false,
};

/// Every flag: nvlink's in the order of its help, nvlink's unlisted ones, culd's own.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    shared::PUBLIC.iter().chain(shared::HIDDEN).chain(own::OWN)
}

/// The flags that a caller's name knows.
pub fn known_to(called: Called) -> impl Iterator<Item = &'static Flag> {
    all().filter(move |f| !called.is_nvlink() || (f.known == Known::Both && f.since <= called.version.release.toolkit))
}

/// Finds a flag by its long name.
pub fn by_long(name: &[u8], called: Called) -> Option<&'static Flag> {
    known_to(called).find(|f| f.long.as_bytes() == name && f.is_listed(called))
}

/// Finds a flag by its short name.
pub fn by_short(name: &[u8], called: Called) -> Option<&'static Flag> {
    known_to(called).find(|f| f.short.is_some_and(|s| s.as_bytes() == name))
}

/// Finds the single-letter flag that a glued value may follow: `-lfoo`, `-m64`.
pub fn by_glued_letter(name: &[u8], called: Called) -> Option<&'static Flag> {
    let letter = name.get(..1)?;
    known_to(called).find(|f| f.glued && f.short.is_some_and(|s| s.as_bytes() == letter))
}

/// The table entry of a flag.
pub fn flag(id: Id) -> &'static Flag {
    all().find(|f| f.id == id).unwrap_or(&BASE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_one_entry_and_every_name_is_unique() {
        let ids: Vec<Id> = all().map(|f| f.id).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), ids.len());
        assert_eq!(ids.len(), Id::WhyLive as usize + 1, "an id without an entry");
        let mut longs: Vec<&str> = all().map(|f| f.long).collect();
        longs.sort_unstable();
        longs.dedup();
        assert_eq!(longs.len(), ids.len());
        let mut shorts: Vec<&str> = all().filter_map(|f| f.short).collect();
        let n = shorts.len();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!(shorts.len(), n);
    }

    #[test]
    fn every_flag_is_described_and_recorded_places_are_unique() {
        assert!(
            all().all(|f| !f.about.is_empty() && f.about.ends_with('.')),
            "own words for each flag"
        );
        assert!(shared::PUBLIC.iter().all(|f| !f.nvlink_help.is_empty() && !f.hidden));
        let mut places: Vec<u8> = all()
            .filter_map(|f| match f.recorded {
                Recorded::Never => None,
                Recorded::At(n) | Recorded::LongFormAt(n) => Some(n),
            })
            .collect();
        let n = places.len();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), n);
    }
}
