//! nvlink's flags: those of its help, in its order and words, and those that it accepts without listing them.

use super::flag::{Allowed, BASE, Flag, Id, Kind, Recorded};

/// The flags of `nvlink --help`.
pub(super) const PUBLIC: &[Flag] = &[
    Flag {
        id: Id::FastCompile,
        since: 128,
        long: "Ofast-compile",
        short: Some("Ofc"),
        kind: Kind::OptionalText,
        omitted: "0",
        argument: "<0|min|mid|max>",
        nvlink_help: "Specify fast-compile level for device code, which controls the tradeoff between compilation speed and runtime performance by disabling certain optimizations at varying levels. \nLevels: \n        'max': Focus only on the fastest compilation speed, disabling many optimizations.\n        'mid': Balance compile time and runtime, disabling expensive optimizations.\n        'min': More minimal impact on both compile time and runtime, minimizing some expensive optimizations.\n        '0': Disables fast-compile. \nThe option is disabled by default.",
        about: "Trade run time for compile time in link-time optimization: 0 (off), min, mid or max.",
        recorded: Recorded::At(54),
        ..BASE
    },
    Flag {
        id: Id::Xnvvm,
        long: "Xnvvm",
        short: Some("Xnvvm"),
        kind: Kind::List,
        argument: "<options>,...",
        nvlink_help: "Nvvm options (only used with LTO).",
        about: "Pass options to libnvvm (link-time optimization).",
        recorded: Recorded::At(60),
        ..BASE
    },
    Flag {
        id: Id::Xptxas,
        long: "Xptxas",
        short: Some("Xptxas"),
        kind: Kind::List,
        argument: "<options>,...",
        nvlink_help: "Ptxas options (only used with LTO).",
        about: "Pass options to ptxas when PTX has to be compiled.",
        recorded: Recorded::At(58),
        ..BASE
    },
    Flag {
        id: Id::Arch,
        long: "arch",
        short: Some("arch"),
        kind: Kind::Text,
        argument: "<gpu architecture name>",
        nvlink_help: "Specify the 'sm_' name of the target architecture.",
        about: "Link for this architecture, for example sm_90. Required.",
        allowed: Allowed::Archs,
        recorded: Recorded::At(10),
        ..BASE
    },
    Flag {
        id: Id::CpuArch,
        long: "cpu-arch",
        short: Some("cpu-arch"),
        kind: Kind::Text,
        argument: "<cpu architecture name>",
        nvlink_help: "Specify the name of the cpu target architecture.",
        about: "Name the CPU of the host objects; accepted and recorded, changes nothing.",
        allowed: Allowed::Words(&["AARCH64", "ARMv7", "PPC64LE", "RISCV64", "X86", "X86_64", "unknown"]),
        allowed_since: &[("RISCV64", 133)],
        default: Some("'unknown'"),
        recorded: Recorded::At(36),
        ..BASE
    },
    Flag {
        id: Id::Debug,
        long: "debug",
        short: Some("g"),
        nvlink_help: "Specify that this was a debug compile.",
        about: "Make a debug link: nothing is removed, shared variables get symbols, the note takes its long form.",
        recorded: Recorded::At(8),
        ..BASE
    },
    Flag {
        id: Id::StackProtector,
        since: 128,
        long: "device-stack-protector",
        short: Some("device-stack-protector"),
        kind: Kind::Boolean,
        nvlink_help: "Enable stack protectors.",
        about: "Tell ptxas to protect device stacks when PTX has to be compiled.",
        recorded: Recorded::At(76),
        ..BASE
    },
    Flag {
        id: Id::DisableInfos,
        since: 128,
        long: "disable-infos",
        short: Some("disable-infos"),
        nvlink_help: "Disable all info messages.",
        about: "Print only warnings and errors; under the name nvlink it drops warnings instead.",
        recorded: Recorded::At(28),
        ..BASE
    },
    Flag {
        id: Id::DisableWarnings,
        long: "disable-warnings",
        short: Some("w"),
        nvlink_help: "Inhibit all warning messages.",
        about: "Print no warnings; under the name nvlink it changes nothing.",
        recorded: Recorded::At(24),
        ..BASE
    },
    Flag {
        id: Id::Dlto,
        long: "dlto",
        short: Some("dlto"),
        nvlink_help: "Do link-time optimization, alias for -lto.",
        about: "Same as --link-time-opt.",
        recorded: Recorded::At(46),
        ..BASE
    },
    Flag {
        id: Id::DumpCallgraph,
        long: "dump-callgraph",
        short: Some("dump-callgraph"),
        nvlink_help: "Dump callgraph information.",
        about: "Print the call graph with demangled names.",
        recorded: Recorded::At(64),
        ..BASE
    },
    Flag {
        id: Id::DumpCallgraphMangled,
        long: "dump-callgraph-no-demangle",
        short: Some("dump-callgraph-no-demangle"),
        nvlink_help: "Dump callgraph information without demangling.",
        about: "Print the call graph; names are demangled all the same, as nvlink does.",
        recorded: Recorded::At(66),
        ..BASE
    },
    Flag {
        id: Id::EmitPtx,
        long: "emit-ptx",
        short: Some("emit-ptx"),
        nvlink_help: "Emit ptx file if LTO is used.",
        about: "With --link-time-opt: write the PTX instead of a cubin.",
        ..BASE
    },
    Flag {
        id: Id::ExtraWarnings,
        long: "extra-warnings",
        short: Some("extrawarn"),
        nvlink_help: "Emit extra warnings about possible problems.",
        about: "Warn about functions whose address is taken but which are never called through a pointer.",
        recorded: Recorded::At(42),
        ..BASE
    },
    Flag {
        id: Id::HostScript,
        long: "gen-host-linker-script",
        short: Some("ghls"),
        kind: Kind::OptionalText,
        omitted: "lcs-abs",
        argument: "<host linker script type>",
        nvlink_help: "Specify the type of host linker script to be generated.",
        about: "Write a host linker script instead of linking: lcs-aug (only the device sections) or lcs-abs (the default script with them added).",
        allowed: Allowed::Words(&["lcs-abs", "lcs-aug"]),
        ..BASE
    },
    Flag {
        id: Id::Help,
        long: "help",
        short: Some("h"),
        nvlink_help: "Print this help information on this tool.",
        about: "Print this help.",
        ..BASE
    },
    Flag {
        id: Id::IgnoreHostInfo,
        long: "ignore-host-info",
        short: Some("ignore-host-info"),
        nvlink_help: "Ignore information about host references, so don't remove device code that could potentially be referenced by host.",
        about: "Keep kernels even if the host objects do not launch them.",
        recorded: Recorded::At(68),
        ..BASE
    },
    Flag {
        id: Id::KeepSystemLibraries,
        long: "keep-system-libraries",
        short: Some("keep-system-libraries"),
        nvlink_help: "Don't optimize away system library (e.g. cudadevrt) code.",
        about: "Treat libcudadevrt like any other library.",
        recorded: Recorded::At(30),
        ..BASE
    },
    Flag {
        id: Id::KernelsUsed,
        long: "kernels-used",
        short: Some("kernels-used"),
        kind: Kind::List,
        argument: "<kernel>,...",
        nvlink_help: "Specify kernels that are used. Can be part of a kernel name so any kernels with that string in name are matched. If this option is used, then any other kernels are considered dead-code and removed.",
        about: "Keep only kernels whose names contain one of these texts (* matches anything).",
        recorded: Recorded::At(32),
        ..BASE
    },
    Flag {
        id: Id::Library,
        long: "library",
        short: Some("l"),
        kind: Kind::List,
        argument: "<library>,...",
        nvlink_help: "Specify libraries to be used in the linking stage. The libraries are searched for on the library search paths that have been specified using option '-L'.",
        about: "Link lib<name>.a, searched for in the -L directories and then in LIBRARY_PATH.",
        glued: true,
        recorded: Recorded::At(14),
        ..BASE
    },
    Flag {
        id: Id::LibraryPath,
        long: "library-path",
        short: Some("L"),
        kind: Kind::List,
        argument: "<library-path>,...",
        nvlink_help: "Specify library search paths.",
        about: "Search these directories for -l libraries.",
        glued: true,
        recorded: Recorded::At(16),
        ..BASE
    },
    Flag {
        id: Id::ToolsPatch,
        long: "link-as-tools-patch",
        short: Some("astoolspatch"),
        nvlink_help: "Link code compiled with astoolspatch option.",
        about: "Link functions compiled with ptxas --compile-as-tools-patch: nothing is removed.",
        recorded: Recorded::At(57),
        since: 133,
        ..BASE
    },
    Flag {
        id: Id::Lto,
        long: "link-time-opt",
        short: Some("lto"),
        nvlink_help: "Do link-time optimization.",
        about: "Optimize LTO objects at link time.",
        recorded: Recorded::At(44),
        ..BASE
    },
    Flag {
        id: Id::Machine,
        long: "machine",
        short: Some("m"),
        kind: Kind::Number,
        argument: "<bits>",
        nvlink_help: "Specify 64 bit architecture.",
        about: "Pointer size of the code; only 64.",
        allowed: Allowed::Words(&["64"]),
        default: Some("64"),
        glued: true,
        recorded: Recorded::At(12),
        ..BASE
    },
    Flag {
        id: Id::MaxRegisters,
        long: "maxrregcount",
        short: Some("maxrregcount"),
        kind: Kind::Number,
        argument: "<amount>",
        nvlink_help: "Max regcount (only used with LTO).",
        about: "Limit registers when PTX has to be compiled.",
        recorded: Recorded::At(62),
        ..BASE
    },
    Flag {
        id: Id::NvvmPath,
        long: "nvvmpath",
        short: Some("nvvmpath"),
        kind: Kind::Text,
        nvlink_help: "Path to libnvvm library.",
        about: "Directory of the NVVM library (link-time optimization).",
        recorded: Recorded::At(48),
        ..BASE
    },
    Flag {
        id: Id::OptionsFile,
        long: "options-file",
        short: Some("optf"),
        kind: Kind::List,
        argument: "<file>,...",
        nvlink_help: "Include command line options from specified file.",
        about: "Read further options from these files.",
        recorded: Recorded::LongFormAt(78),
        ..BASE
    },
    Flag {
        id: Id::Output,
        long: "output-file",
        short: Some("o"),
        kind: Kind::Text,
        argument: "<file name>",
        nvlink_help: "Specify name and location of the output file.",
        about: "Write the linked file here. Required.",
        recorded: Recorded::LongFormAt(6),
        ..BASE
    },
    Flag {
        id: Id::PreserveRelocs,
        long: "preserve-relocs",
        short: Some("preserve-relocs"),
        nvlink_help: "Preserve resolved relocations in linked executable.",
        about: "Keep the relocations that were resolved, in .nv.resolvedrela sections.",
        recorded: Recorded::At(22),
        ..BASE
    },
    Flag {
        id: Id::RegisterFile,
        long: "register-link-binaries",
        kind: Kind::Text,
        argument: "<file name>",
        nvlink_help: "Specify name and location of output file that will contain names of cudaRegister routines for each linked file.",
        about: "Write a C file that lists the registration routine of each linked object.",
        recorded: Recorded::LongFormAt(18),
        ..BASE
    },
    Flag {
        id: Id::Relocatable,
        long_since: 130,
        long: "relocatable-link",
        short: Some("r"),
        nvlink_help: "Do relocatable / incremental link.",
        about: "Make a relocatable object that can be linked again.",
        recorded: Recorded::At(72),
        ..BASE
    },
    Flag {
        id: Id::ReportArch,
        long: "report-arch",
        short: Some("report-arch"),
        nvlink_help: "Report SM target arch in error messages.",
        about: "End every message with the target architecture.",
        recorded: Recorded::At(38),
        ..BASE
    },
    Flag {
        id: Id::SplitCompile,
        long: "split-compile",
        short: Some("split-compile"),
        kind: Kind::Number,
        argument: "<amount>",
        nvlink_help: "Max threads nvvm can use for split compilation (only used with LTO).",
        about: "Threads for libnvvm (link-time optimization).",
        default: Some("1"),
        recorded: Recorded::At(50),
        ..BASE
    },
    Flag {
        id: Id::SplitCompileExtended,
        long: "split-compile-extended",
        short: Some("split-compile-extended"),
        kind: Kind::Number,
        argument: "<amount>",
        nvlink_help: "Max threads linker can use for extended split compilation (only used with LTO).",
        about: "Threads for the whole link-time optimization.",
        default: Some("1"),
        recorded: Recorded::At(52),
        ..BASE
    },
    Flag {
        id: Id::SuppressArchWarning,
        long: "suppress-arch-warning",
        short: Some("suppress-arch-warning"),
        nvlink_help: "Suppress the warning that otherwise is printed when object does not contain code for target arch.",
        about: "Do not report inputs without code for the target.",
        recorded: Recorded::At(4),
        ..BASE
    },
    Flag {
        id: Id::SuppressDebugInfo,
        long: "suppress-debug-info",
        short: Some("suppress-debug-info"),
        nvlink_help: "Do not preserve debug symbols in output.\nNote: This option is ignored if used without --debug option.",
        about: "With --debug: leave the symbols of shared variables out.",
        recorded: Recorded::At(56),
        ..BASE
    },
    Flag {
        id: Id::SuppressStackSizeWarning,
        long: "suppress-stack-size-warning",
        short: Some("suppress-stack-size-warning"),
        nvlink_help: "Suppress the warning that otherwise is printed when stack size cannot be determined.",
        about: "Do not report kernels whose stack size is unknown.",
        recorded: Recorded::At(2),
        ..BASE
    },
    Flag {
        id: Id::Time,
        long: "time",
        short: Some("time"),
        kind: Kind::Text,
        argument: "<file name>",
        nvlink_help: "Generate a comma separated value table with the time taken by this program and sub-component invocations, and append it at the end of the file given as the option argument. If the file is empty, the column headings are generated in the first row of the table. If the file name is '-', the timing data is generated in stdout.",
        about: "Append a table of compile times to this file (- is standard output).",
        recorded: Recorded::LongFormAt(40),
        ..BASE
    },
    Flag {
        id: Id::UnifiedIndex,
        long: "uidx-file",
        short: Some("uidx"),
        kind: Kind::Text,
        nvlink_help: "Path to uidx file.",
        about: "Index file of unified functions and variables.",
        recorded: Recorded::At(74),
        ..BASE
    },
    Flag {
        id: Id::UseHostInfo,
        long: "use-host-info",
        short: Some("use-host-info"),
        nvlink_help: "Use information about host references to remove unused device code.",
        about: "Remove kernels that the host objects do not launch; this is the default when every input lists what it launches.",
        recorded: Recorded::At(70),
        ..BASE
    },
    Flag {
        id: Id::VariablesUsed,
        long: "variables-used",
        short: Some("variables-used"),
        kind: Kind::List,
        argument: "<variable>,...",
        nvlink_help: "Specify variables that are used. Can be part of a variable name so any variable with that string in name are matched. If this option is used, then any other variables are considered dead-code and potentially removed unless have other accesses from device code.",
        about: "Variables that the host uses; without --kernels-used all kernels are removed.",
        recorded: Recorded::At(34),
        ..BASE
    },
    Flag {
        id: Id::Verbose,
        long: "verbose",
        short: Some("v"),
        nvlink_help: "Enable verbose mode which prints code generation statistics.",
        about: "Print memory use of the link and resource use of each kernel.",
        recorded: Recorded::At(20),
        ..BASE
    },
    Flag {
        id: Id::Verbose2,
        long: "verbose2",
        short: Some("v2"),
        nvlink_help: "Enable extended verbose mode. Extends basic verbose mode with progress indicators, names of processed modules, etc.",
        about: "Pass -v2 to ptxas when PTX has to be compiled.",
        recorded: Recorded::At(21),
        since: 132,
        ..BASE
    },
    Flag {
        id: Id::Version,
        long: "version",
        short: Some("V"),
        nvlink_help: "Print version information on this tool.",
        about: "Print the version.",
        ..BASE
    },
    Flag {
        id: Id::WarningAsError,
        long: "warning-as-error",
        short: Some("Werror"),
        nvlink_help: "Make all warnings into errors.",
        about: "Treat warnings as errors.",
        recorded: Recorded::At(26),
        ..BASE
    },
];

/// Flags that nvlink accepts but does not list.
pub(super) const HIDDEN: &[Flag] = &[
    Flag {
        id: Id::AllowUndefinedGlobals,
        long: "allow-undefined-globals",
        short: Some("allow-undefined-globals"),
        about: "Let undefined global variables stay undefined.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::CudaApiVersion,
        long: "cuda-api-version",
        short: Some("cuda-api-version"),
        kind: Kind::Text,
        argument: "<major.minor>",
        about: "Oldest driver interface that the output may need; the major number must be 13.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::StackProtectorThreshold,
        since: 128,
        long: "device-stack-protector-frame-size-threshold",
        short: Some("device-stack-protector-frame-size-threshold"),
        kind: Kind::Number,
        argument: "<bytes>",
        about: "Accepted, changes nothing: ptxas has no such flag.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::DisableSmemReservation,
        long: "disable-smem-reservation",
        short: Some("disable-smem-reservation"),
        kind: Kind::Boolean,
        argument: "<true|false>",
        about: "Do not reserve shared memory for the system on sm_90 and later.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::DontReserveNullPointer,
        long: "dont-reserve-null-pointer",
        short: Some("dont-reserve-null-pointer"),
        about: "Undo --reserve-null-pointer.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::DotFile,
        long: "dot-file",
        short: Some("dot"),
        kind: Kind::Text,
        argument: "<file>",
        about: "Write the call graph to this file in Graphviz form.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::ExtendedSmem,
        since: 130,
        long: "enable-extended-smem",
        short: Some("enable-extended-smem"),
        kind: Kind::Boolean,
        argument: "<true|false>",
        about: "Allow as much static shared memory as the hardware has.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::Fdcmpt,
        long: "fdcmpt",
        short: Some("fdcmpt"),
        about: "Only together with --uumn; changes nothing.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::ForcePartialLto,
        long: "force-partial-lto",
        short: Some("force-partial-lto"),
        about: "With --link-time-opt: treat the program as incomplete.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::ForceRela,
        long: "force-rela",
        short: Some("force-rela"),
        about: "Write relocations with addends on every architecture.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::ForceWholeLto,
        long: "force-whole-lto",
        short: Some("force-whole-lto"),
        about: "With --link-time-opt: treat the program as complete.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::HostCompiler,
        long: "host-ccbin",
        short: Some("host-ccbin"),
        kind: Kind::Text,
        argument: "<program>",
        about: "Host compiler that --gen-host-linker-script=lcs-abs queries for its linker options (default gcc).",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::HostLinkerOptions,
        long: "host-linker-options",
        short: Some("Xlinker"),
        kind: Kind::List,
        argument: "<options>",
        about: "Options for the host linker that --gen-host-linker-script=lcs-abs queries for its script, instead of the compiler's.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::HostFile,
        since: 130,
        long: "nv-host",
        short: Some("nv-host"),
        kind: Kind::Text,
        argument: "<file>",
        about: "Store this file in a section .nv.host.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::ReserveNullPointer,
        long: "reserve-null-pointer",
        short: Some("reserve-null-pointer"),
        about: "Keep address 0 of shared memory free.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::Shared,
        long: "shared",
        short: Some("shared"),
        about: "With --gen-host-linker-script=lcs-abs: the script for shared libraries.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::SyscallConstOffset,
        long: "syscall-const-offset",
        short: Some("syscall-const-offset"),
        kind: Kind::Number,
        argument: "<bytes>",
        about: "Accepted, changes nothing.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::ToolName,
        long: "tool-name",
        short: Some("tool-name"),
        kind: Kind::Text,
        argument: "<name>",
        about: "Name of the linker in messages and in the note.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::Uumn,
        long: "uumn",
        short: Some("uumn"),
        about: "Accepted, changes nothing.",
        hidden: true,
        ..BASE
    },
    Flag {
        id: Id::VerboseNote,
        since: 130,
        long: "verbose-tkinfo",
        short: Some("verbose-tkinfo"),
        kind: Kind::Boolean,
        argument: "<true|false>",
        about: "Choose the long or short form of the note; --debug alone chooses the long form.",
        hidden: true,
        ..BASE
    },
];
