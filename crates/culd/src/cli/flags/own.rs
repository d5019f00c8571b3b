//! Flags that exist under the name `culd` only.

use super::flag::{Allowed, BASE, Flag, Id, Kind, Known};

/// Shells that completions can be printed for.
pub(in crate::cli) const SHELLS: [&str; 3] = ["bash", "fish", "zsh"];

/// A flag of culd's own.
const OURS: Flag = Flag {
    known: Known::Culd,
    ..BASE
};

/// culd's own flags, sorted by name.
pub(super) const OWN: &[Flag] = &[
    Flag {
        id: Id::Color,
        long: "color",
        kind: Kind::Text,
        argument: "<when>",
        about: "Colour messages: auto (on a terminal, unless NO_COLOR is set), always or never.",
        allowed: Allowed::Words(&["always", "auto", "never"]),
        ..OURS
    },
    Flag {
        id: Id::DependencyFile,
        long: "dependency-file",
        kind: Kind::Text,
        argument: "<file>",
        about: "Write a Makefile rule that names every file this link read.",
        ..OURS
    },
    Flag {
        id: Id::Form,
        long: "form",
        kind: Kind::Text,
        argument: "<12|13>",
        allowed: Allowed::Words(&["12", "13"]),
        about: "The form of the output: 12 for drivers before R580, which do not read that of CUDA 13. The default is 13. sm_50 to sm_72 always have the form of CUDA 12, sm_100 and later that of CUDA 13.",
        ..OURS
    },
    Flag {
        id: Id::GenerateCompletions,
        long: "generate-completions",
        kind: Kind::Text,
        argument: "<shell>",
        about: "Print the completions for a shell: bash, fish or zsh.",
        allowed: Allowed::Words(&SHELLS),
        ..OURS
    },
    Flag {
        id: Id::GenerateDocs,
        long: "generate-docs",
        about: "Print the reference page of the command line in Markdown.",
        hidden: true,
        ..OURS
    },
    Flag {
        id: Id::GenerateMan,
        long: "generate-man",
        about: "Print the manual page.",
        ..OURS
    },
    Flag {
        id: Id::Html,
        long: "html",
        kind: Kind::Text,
        argument: "<file>",
        about: "Write a page about the link: sizes, kernels with occupancy, calls, memory, what was dropped, messages. One file that loads nothing else. Written for failed links too. - is standard output.",
        ..OURS
    },
    Flag {
        id: Id::JsonReport,
        long: "json-report",
        kind: Kind::Text,
        argument: "<file>",
        about: "Write what the link did as JSON: inputs, memory, resources of each kernel, functions and their sizes, what was dropped, messages. Written for failed links too. - is standard output.",
        ..OURS
    },
    Flag {
        id: Id::KeepSass,
        long: "keep-sass",
        about: "On sm_100 and later: keep the compiler's schedule of every kernel instead of finalizing it again.",
        ..OURS
    },
    Flag {
        id: Id::Map,
        long: "map",
        kind: Kind::Text,
        argument: "<file>",
        about: "Write a link map: every output section with the input sections and symbols in it, and what was dropped and why. - is standard output.",
        ..OURS
    },
    Flag {
        id: Id::NoFork,
        long: "no-fork",
        about: "Link in the program's own process, also if the link is large; for debuggers and programs that measure processes. \
                Without it the memory of a large link is freed after the program has ended (Linux).",
        ..OURS
    },
    Flag {
        id: Id::NvJitLink,
        long: "nvjitlink",
        kind: Kind::Text,
        argument: "<library>",
        about: "Optimize at link time with this libnvJitLink; without it CULD_NVJITLINK, the toolkit of -nvvmpath, that of culd, CUDA_HOME and \
                LD_LIBRARY_PATH are tried.",
        ..OURS
    },
    Flag {
        id: Id::Ptxas,
        long: "ptxas",
        kind: Kind::Text,
        argument: "<program>",
        about: "Compile PTX inputs with this ptxas; without it CULD_PTXAS, the directory of culd, PATH and CUDA_HOME are tried.",
        ..OURS
    },
    Flag {
        id: Id::RecordedOptions,
        long: "recorded-options",
        kind: Kind::Text,
        argument: "<text>",
        about: "Record this text as the command line in the note of the output. --save-repro writes it, so that a repeated link has the same bytes.",
        ..OURS
    },
    Flag {
        id: Id::SaveRepro,
        long: "save-repro",
        kind: Kind::Text,
        argument: "<directory>",
        about: "Copy every file this link reads into a new directory, with a response file that repeats the link there, byte for byte, and a README with command, \
                directory and environment.",
        ..OURS
    },
    Flag {
        id: Id::ShowCodes,
        long: "show-codes",
        about: "Print the stable code of each message, which `culd explain CODE` describes.",
        ..OURS
    },
    Flag {
        id: Id::StrictLibraries,
        long: "strict-libraries",
        about: "A -l library that is not in the directories of -L and LIBRARY_PATH is an error. Without it, libraries of the host are passed over, and missing ones are named only when references stay undefined.",
        ..OURS
    },
    Flag {
        id: Id::Threads,
        long: "threads",
        kind: Kind::Number,
        argument: "<n>",
        about: "Work with this many threads; 0, the default, uses every core. The output does not depend on it.",
        ..OURS
    },
    Flag {
        id: Id::TimePhases,
        long: "time-phases",
        about: "Print how long reading, linking and writing took, phase by phase; a JSON report gets the times too.",
        ..OURS
    },
    Flag {
        id: Id::Trace,
        long: "trace",
        short: Some("t"),
        about: "Print every linked device object, in link order.",
        ..OURS
    },
    Flag {
        id: Id::Verify,
        long: "verify",
        about: "Compare the linked file with the inputs before it is written: kernels, parameters, code, references, variables, attributes, debug addresses. Also account for everything of the inputs that is not in it.",
        ..OURS
    },
    Flag {
        id: Id::WhyLive,
        long: "why-live",
        kind: Kind::List,
        argument: "<symbol>,...",
        about: "Say what keeps these functions or variables in the output: the chain of calls that leads there from a kernel.",
        ..OURS
    },
];
