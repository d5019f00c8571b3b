//! High-level arguments: the meaning of a command line.
//!
//! The checks come in nvlink's order and the first failure ends the run; messages on the way are kept in order:
//!
//! 1. `--help`, then `--version`.
//! 2. `--gen-host-linker-script`: no inputs.
//! 3. A target; an output file, unless the target is virtual; an input.
//! 4. Flags that exclude each other or need another one.
//! 5. Link-time optimization: its target, its library, its own flags.
//! 6. culd only: virtual targets and numbers that make no sense.
//! 7. Warnings about flags, then the interface version.

use crate::cli::called::Called;
use crate::cli::flags::Id;
use crate::cli::lto::{self, LtoPlan};
use crate::cli::messages::{CliMessage, Quiet};
use crate::cli::note;
use crate::cli::os;
use crate::cli::parse::{LowArgs, ParseError};
use crate::cli::why;
use cubin::release::Form;
use culd_engine::diagnostics::option_warning;
use culd_engine::{Arch, Code, Identity, KernelFilter, LinkOptions, Severity, ToolNote};
use std::sync::Arc;

/// What to do.
#[derive(Debug)]
pub enum Plan {
    /// Print the help.
    Help,
    /// Print the version.
    Version,
    /// Print the reference page.
    Docs,
    /// Print the manual page.
    Man,
    /// Print the completions of a shell.
    Completions(String),
    /// Write a host linker script.
    Script(ScriptPlan),
    /// Link.
    Link(Box<LinkPlan>),
}

/// `--gen-host-linker-script`.
#[derive(Debug)]
pub struct ScriptPlan {
    /// Add to the host linker's default script instead of standing alone.
    pub absolute: bool,
    /// Where to; standard output when missing.
    pub output: Option<Vec<u8>>,
    /// The host compiler.
    pub compiler: Vec<u8>,
    /// Options for the host linker.
    pub linker_options: Vec<Vec<u8>>,
    /// For a shared library.
    pub shared: bool,
    /// For a relocatable link.
    pub relocatable: bool,
    /// Show commands.
    pub verbose: bool,
}

/// A link.
#[derive(Debug)]
pub struct LinkPlan {
    /// Target name as typed: `sm_90`, or a virtual `compute_90`.
    pub arch: String,
    /// The target is virtual: inputs are checked, nothing is linked.
    pub is_virtual: bool,
    /// `-v`: print what the program uses.
    pub verbose: bool,
    /// Options of the engine; files that it needs are not read yet.
    pub options: LinkOptions<'static>,
    /// Output file; may be missing for a virtual target.
    pub output: Option<Vec<u8>>,
    /// Inputs in order.
    pub inputs: Arc<[Vec<u8>]>,
    /// `-l`.
    pub libraries: Vec<Vec<u8>>,
    /// `-L`.
    pub library_paths: Vec<Vec<u8>>,
    /// `--strict-libraries`.
    pub strict_libraries: bool,
    /// `--keep-system-libraries`.
    pub keep_system_libraries: bool,
    /// Kernels that the host does not launch may go.
    pub host_info: bool,
    /// `--suppress-arch-warning`.
    pub suppress_arch_warning: bool,
    /// Link-time optimization.
    pub lto: Option<LtoPlan>,
    /// How to compile PTX.
    pub ptx: PtxPlan,
    /// Side files.
    pub side: SideFiles,
    /// `--save-repro`: copy all files.
    pub saves_repro: bool,
    /// Files that parsing already read.
    pub files_read: Vec<Vec<u8>>,
    /// `--trace`.
    pub trace: bool,
    /// `--no-fork`.
    pub no_fork: bool,
}

/// Options for compiling PTX.
#[derive(Debug, Default)]
pub struct PtxPlan {
    /// `-Xptxas` and flags that ptxas knows under the same name.
    pub options: Vec<Vec<u8>>,
    /// `-maxrregcount`.
    pub max_registers: Option<u32>,
    /// With debug information: `-g` without `--suppress-debug-info`.
    pub debug: bool,
    /// `--ptxas`.
    pub program: Option<Vec<u8>>,
}

/// Files besides the output.
#[derive(Debug, Default)]
pub struct SideFiles {
    /// `--register-link-binaries`.
    pub register: Option<Vec<u8>>,
    /// `--dot-file`.
    pub dot: Option<Vec<u8>>,
    /// `--time`.
    pub time: Option<Vec<u8>>,
    /// `--uidx-file`, read.
    pub unified_index: Option<Vec<u8>>,
    /// `--nv-host`, read.
    pub host: Option<Vec<u8>>,
    /// `--dependency-file`.
    pub dependencies: Option<Vec<u8>>,
    /// `--json-report`.
    pub json_report: Option<Vec<u8>>,
    /// `--map`.
    pub map: Option<Vec<u8>>,
}

/// A message on the way to a plan.
#[derive(Debug)]
pub enum Remark {
    /// Our own.
    CliMessage(Severity, CliMessage),
    /// One of the engine's codes.
    Code(Severity, Code),
}

/// Finds out what a command line means. `remarks` receives messages in order; the error is fatal.
pub fn plan(low: &LowArgs, called: Called, remarks: &mut Vec<Remark>) -> Result<Plan, CliMessage> {
    let identity = called.identity;
    if low.has(Id::Help) {
        return Ok(Plan::Help);
    }
    if low.has(Id::Version) {
        return Ok(Plan::Version);
    }
    if low.has(Id::GenerateDocs) {
        return Ok(Plan::Docs);
    }
    if low.has(Id::GenerateMan) {
        return Ok(Plan::Man);
    }
    if let Some(shell) = low.text(Id::GenerateCompletions) {
        return Ok(Plan::Completions(os::lossy(shell)));
    }
    if low.has(Id::HostScript) {
        return script_plan(low, identity);
    }
    // nvlink asks for a target first; without any input that would not be helpful.
    if identity == Identity::Culd && low.inputs.is_empty() {
        return Err(CliMessage::NoInputs);
    }
    let arch = os::lossy(low.text(Id::Arch).ok_or(CliMessage::NoArch)?);
    let is_virtual = !arch.starts_with("sm_");
    if !is_virtual && !low.has(Id::Output) {
        return Err(CliMessage::NoOutput);
    }
    if low.inputs.is_empty() {
        return Err(CliMessage::NoInputs);
    }
    exclusions(low)?;
    let explicit = !low.list(Id::KernelsUsed).is_empty() || !low.list(Id::VariablesUsed).is_empty();
    if explicit && low.has(Id::UseHostInfo) {
        remarks.push(Remark::CliMessage(Severity::Info, CliMessage::UseHostInfoIgnored));
    }
    let lto = lto::plan(low, identity, &arch)?;
    if identity == Identity::Culd {
        own_checks(low, &arch, lto.is_some())?;
    }
    let name = arch.strip_prefix("compute_").map(|n| format!("sm_{n}"));
    let target = Arch::parse(name.as_deref().unwrap_or(&arch)).ok_or(CliMessage::NoArch)?;
    let options = engine_options(low, called, target, explicit_kernels(low));
    remarks.extend(option_warning(&options, &arch).map(|code| Remark::Code(Severity::Warning, code)));
    if low.has(Id::Fdcmpt) && !low.has(Id::Uumn) {
        return Err(CliMessage::Parse(ParseError::Unknown(b"-fdcmpt".to_vec())));
    }
    let api_version = api_version(low, called)?;
    let mut plan = link_plan(low, called, arch, is_virtual, options, lto);
    plan.options.api_version = api_version;
    Ok(Plan::Link(Box::new(plan)))
}

/// What nvlink lets pass and culd does not.
fn own_checks(low: &LowArgs, arch: &str, lto: bool) -> Result<(), CliMessage> {
    if arch.starts_with("compute_") && !lto {
        return Err(CliMessage::VirtualTarget(arch.into()));
    }
    let number = Arch::parse(arch).map_or(0, |t| t.number);
    match low.text(Id::Form) {
        Some(b"13") if (1..75).contains(&number) => return Err(CliMessage::Own(format!("{arch} has no files of form 13"))),
        Some(b"12") if number >= 100 => return Err(CliMessage::Own(format!("{arch} has no files of form 12"))),
        _ => {}
    }
    match low.number(Id::Threads) {
        Some(n) if n < 0 => Err(CliMessage::Own("--threads cannot be less than 0".into())),
        _ => Ok(()),
    }
}

fn script_plan(low: &LowArgs, identity: Identity) -> Result<Plan, CliMessage> {
    if !low.inputs.is_empty() {
        return Err(CliMessage::InputsWithHostScript);
    }
    Ok(Plan::Script(ScriptPlan {
        absolute: low.text(Id::HostScript) == Some(b"lcs-abs"),
        output: output_file(low, identity, Id::Output),
        compiler: low.text(Id::HostCompiler).unwrap_or(b"gcc").to_vec(),
        linker_options: low.list(Id::HostLinkerOptions).to_vec(),
        shared: low.has(Id::Shared),
        relocatable: low.has(Id::Relocatable) && !low.has(Id::Shared),
        verbose: low.has(Id::Verbose),
    }))
}

/// Flags that exclude each other, in the order in which nvlink looks.
fn exclusions(low: &LowArgs) -> Result<(), CliMessage> {
    if low.has(Id::SuppressDebugInfo) && !low.has(Id::Debug) {
        return Err(CliMessage::Conflict("-suppress-debug-info", "no -g"));
    }
    if low.has(Id::DumpCallgraph) && low.has(Id::DumpCallgraphMangled) {
        return Err(CliMessage::Conflict("-dump-callgraph", "-dump-callgraph-no-demangle"));
    }
    if low.has(Id::UseHostInfo) && low.has(Id::IgnoreHostInfo) {
        return Err(CliMessage::Conflict("-use-host-info", "-ignore-host-info"));
    }
    Ok(())
}

/// Reads `--cuda-api-version`: two unsigned numbers as C's `scanf` reads them, the first one that of
/// the release. Version times ten.
fn api_version(low: &LowArgs, called: Called) -> Result<Option<u32>, CliMessage> {
    let Some(text) = low.text(Id::CudaApiVersion) else {
        return Ok(None);
    };
    let (major, rest) = scan_unsigned(text).ok_or(CliMessage::ApiVersion)?;
    let (minor, rest) = rest.strip_prefix(b".").and_then(scan_unsigned).ok_or(CliMessage::ApiVersion)?;
    if !rest.iter().all(u8::is_ascii_whitespace) {
        return Err(CliMessage::ApiVersion);
    }
    if major != u64::from(called.version.release.toolkit / 10) {
        return Err(CliMessage::ApiVersionMajor);
    }
    let number = minor.saturating_add(10 * major);
    Ok(Some(u32::try_from(number).unwrap_or(u32::MAX)))
}

/// Reads blanks, an optional plus sign and digits.
fn scan_unsigned(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"+").unwrap_or(text);
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = std::str::from_utf8(text.get(..digits)?).ok()?.parse().ok()?;
    Some((number, text.get(digits..)?))
}

fn link_plan(
    low: &LowArgs,
    called: Called,
    arch: String,
    is_virtual: bool,
    options: LinkOptions<'static>,
    lto: Option<LtoPlan>,
) -> LinkPlan {
    let text = |id| low.text(id).map(<[u8]>::to_vec);
    let file = |id| output_file(low, called.identity, id);
    LinkPlan {
        is_virtual: is_virtual && lto.is_none(),
        output: file(Id::Output),
        inputs: low.inputs.clone(),
        libraries: low.list(Id::Library).to_vec(),
        library_paths: low.list(Id::LibraryPath).to_vec(),
        strict_libraries: low.has(Id::StrictLibraries),
        keep_system_libraries: low.has(Id::KeepSystemLibraries),
        host_info: options.kernels.is_none() && !low.has(Id::IgnoreHostInfo) && !options.relocatable,
        suppress_arch_warning: low.has(Id::SuppressArchWarning),
        lto,
        ptx: PtxPlan {
            options: ptxas_options(low),
            max_registers: low.number(Id::MaxRegisters).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0),
            debug: low.has(Id::Debug) && !low.has(Id::SuppressDebugInfo),
            program: text(Id::Ptxas),
        },
        side: SideFiles {
            register: file(Id::RegisterFile),
            dot: file(Id::DotFile),
            time: text(Id::Time),
            unified_index: text(Id::UnifiedIndex),
            host: text(Id::HostFile),
            dependencies: text(Id::DependencyFile),
            json_report: text(Id::JsonReport),
            map: text(Id::Map),
        },
        saves_repro: low.text(Id::SaveRepro).is_some(),
        files_read: low.files_read.clone(),
        trace: low.has(Id::Trace),
        no_fork: low.has(Id::NoFork),
        verbose: low.has(Id::Verbose),
        options,
        arch,
    }
}

/// A file to write. For culd `-` is standard output; for nvlink it is a name like any other.
fn output_file(low: &LowArgs, identity: Identity, id: Id) -> Option<Vec<u8>> {
    match (low.text(id)?, identity) {
        (b"-", Identity::Nvlink) => Some(b"./-".to_vec()),
        (file, _) => Some(file.to_vec()),
    }
}

/// `-Xptxas` and the flags that are handed on to ptxas.
fn ptxas_options(low: &LowArgs) -> Vec<Vec<u8>> {
    let mut options = low.list(Id::Xptxas).to_vec();
    if let Some(on) = low.boolean(Id::StackProtector) {
        options.push(format!("-device-stack-protector={on}").into_bytes());
    }
    if let Some(threads) = low.number(Id::SplitCompile) {
        options.push(format!("-split-compile={threads}").into_bytes());
    }
    options
}

/// `--kernels-used` and `--variables-used`: each item matches anywhere in a name.
fn explicit_kernels(low: &LowArgs) -> Option<KernelFilter> {
    let kernels = low.list(Id::KernelsUsed);
    if kernels.is_empty() && low.list(Id::VariablesUsed).is_empty() {
        return None;
    }
    let anywhere = |list: &[Vec<u8>]| -> Vec<Vec<u8>> { list.iter().map(|k| [b"*", k.as_slice(), b"*"].concat()).collect() };
    let (kernels, variables) = (anywhere(kernels), anywhere(low.list(Id::VariablesUsed)));
    Some(KernelFilter {
        external: kernels.clone(),
        internal: kernels,
        external_constants: variables.clone(),
        internal_constants: variables,
        explicit: true,
        early: true,
        ..KernelFilter::default()
    })
}

/// What silences or sharpens messages.
pub fn quiet(low: &LowArgs, called: Called) -> Quiet {
    let warnings_are_errors = low.has(Id::WarningAsError);
    match called.identity {
        // nvlink quirk: --disable-infos drops warnings, --disable-warnings nothing (in CUDA 12 it does).
        Identity::Nvlink => Quiet {
            warnings: low.has(Id::DisableInfos) || (low.has(Id::DisableWarnings) && called.version.release.rules.disables_warnings),
            infos: false,
            warnings_are_errors,
        },
        Identity::Culd => Quiet {
            warnings: low.has(Id::DisableWarnings),
            infos: low.has(Id::DisableInfos),
            warnings_are_errors,
        },
    }
}

/// nvlink quirk: the linkers of CUDA 12 accept `-r` without any effect.
fn is_relocatable(low: &LowArgs, called: Called) -> bool {
    low.has(Id::Relocatable) && (!called.is_nvlink() || called.version.release.rules.partial_links)
}

fn engine_options(low: &LowArgs, called: Called, target: Arch, kernels: Option<KernelFilter>) -> LinkOptions<'static> {
    let mut options = LinkOptions::new(target);
    options.identity = called.identity;
    options.release = called.is_nvlink().then_some(called.version.release);
    options.note = tool_note(low, called, options.note);
    options.relocatable = is_relocatable(low, called);
    options.form = match low.text(Id::Form) {
        Some(b"12") => Some(Form::Cuda12),
        Some(_) => Some(Form::Cuda13),
        None => None,
    };
    // Nothing is removed from a patch, as in links for a debugger.
    options.tools_patch = low.has(Id::ToolsPatch);
    options.debug = low.has(Id::Debug) || options.tools_patch;
    options.suppress_debug_info = low.has(Id::SuppressDebugInfo) || options.tools_patch && !low.has(Id::Debug);
    options.preserve_relocs = low.has(Id::PreserveRelocs);
    options.kernels = kernels;
    options.usage = low.has(Id::Verbose) || low.has(Id::JsonReport) || low.has(Id::Html);
    // nvlink quirk: names are demangled with either flag.
    options.dump_callgraph = low.has(Id::DumpCallgraph) || low.has(Id::DumpCallgraphMangled);
    options.dot_file = low.has(Id::DotFile);
    options.time_phases = low.has(Id::TimePhases);
    options.map = low.has(Id::Map) || low.has(Id::JsonReport) || low.has(Id::Html);
    options.why_live = why::rejoin(low.list(Id::WhyLive).iter().map(|s| os::lossy(s)));
    options.extra_warnings = low.has(Id::ExtraWarnings);
    options.suppress_stack_size_warning = low.has(Id::SuppressStackSizeWarning);
    options.disable_infos = quiet(low, called).warnings;
    options.warnings_as_errors = low.has(Id::WarningAsError);
    options.force_rela = low.has(Id::ForceRela);
    options.reserve_null_pointer = low.has(Id::ReserveNullPointer) && !low.has(Id::DontReserveNullPointer);
    options.disable_smem_reservation = low.boolean(Id::DisableSmemReservation) == Some(true);
    options.extended_smem = low.boolean(Id::ExtendedSmem) == Some(true);
    options.allow_undefined_globals = low.has(Id::AllowUndefinedGlobals);
    options.threads = low.number(Id::Threads).map_or(0, |n| usize::try_from(n).unwrap_or(0));
    options.keep_sass = low.has(Id::KeepSass);
    options.verify = low.has(Id::Verify) || options.verify;
    options
}

fn tool_note(low: &LowArgs, called: Called, own: ToolNote) -> ToolNote {
    let long_form = low.boolean(Id::VerboseNote).unwrap_or(low.has(Id::Debug));
    let mut note = match called.identity {
        Identity::Nvlink => ToolNote::new("nvlink", called.version.line(), called.version.build_line()),
        Identity::Culd => own,
    };
    if let Some(name) = low.text(Id::ToolName) {
        note.tool_name = name.to_vec();
    }
    if let (true, Some(output)) = (long_form, low.text(Id::Output)) {
        note.object_name = note::file_name(output).to_vec();
    }
    note.command_line = match low.text(Id::RecordedOptions) {
        Some(text) => text.to_vec(),
        None => note::command_line(low, long_form),
    };
    note
}
