//! Messages: one line each, on standard error, in the format of the identity.
//!
//! * As nvlink: `nvlink warning : text`, with ` (target: sm_90)` after it under `--report-arch`.
//! * As culd: `culd: warning: text`, coloured on a terminal.
//!
//! A [`Console`] also counts errors, because nvlink continues after some of them and stops later.

use crate::cli::parse::ParseError;
use crate::cli::{culd_text, os, suggest};
use culd_engine::{Code, Identity, Severity};
use serde::Serialize;
use std::io::{IsTerminal, Write};

/// Messages of the program itself; the texts are nvlink's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum CliMessage {
    #[error(transparent)]
    Parse(#[from] ParseError),
    #[error("incompatible redefinition for option '{0}', the last value of this option was used")]
    Redefined(&'static str),
    #[error("Unknown arch name '(null)'")]
    NoArch,
    #[error("Must specify output file with -o option")]
    NoOutput,
    #[error("No input files specified; use option --help for more information")]
    NoInputs,
    #[error("Conflicting options '{0}' and '{1}'")]
    Conflict(&'static str, &'static str),
    #[error("Link target of '{0}' is virtual target that is not JIT-able; use 'sm_' target instead")]
    LtoTarget(String),
    /// nvlink checks the inputs and makes nothing.
    #[error("'{0}' is a virtual target")]
    VirtualTarget(String),
    #[error("-nvvmpath should be specified with -lto")]
    NoNvvmPath,
    #[error("Invalid argument for option '--Ofast-compile'")]
    FastCompileLevel,
    #[error("--cuda-api-version value cannot be parsed")]
    ApiVersion,
    #[error("--cuda-api-version major number must be == toolkit version")]
    ApiVersionMajor,
    #[error("ignore -use-host-info because -kernels-used or -variables-used is specified")]
    UseHostInfoIgnored,
    #[error("Input files are not allowed with -ghls option; use --help for more information")]
    InputsWithHostScript,
    #[error("Host linker script creation failed.")]
    HostScript,
    #[error("Could not open input file '{}'", os::lossy(.0))]
    InputFile(Vec<u8>),
    #[error("Could not read file '{}'", os::lossy(.0))]
    EmptyFile(Vec<u8>),
    #[error("Memory allocation failure")]
    Directory(Vec<u8>),
    #[error("Internal error: not uidx input")]
    NotIndex,
    #[error("Internal error: malformed uidx input")]
    MalformedIndex,
    #[error("Could not open output file '{}'", os::lossy(.0))]
    OutputFile(Vec<u8>, String),
    #[error("Internal error: writing file")]
    Writing,
    #[error("Cannot open file '{}'", os::lossy(.0))]
    TimeFile(Vec<u8>),
    #[error("elfLink linker library load error")]
    LibraryLoad,
    /// Link-time optimization without its library.
    #[error("link-time optimization needs libnvJitLink.so.13, which was not found{}", culd_base::tried(.0))]
    NoNvJitLink(Vec<String>),
    /// nvlink dies of it or links what it finds.
    #[error("'{}' changed while it was linked", os::lossy(.0))]
    Changed(Vec<u8>),
    /// A text of culd; nvlink has none for it.
    #[error("{0}")]
    Own(String),
}

culd_base::code_names! {
    CliMessage {
        Parse => "Parse",
        Redefined => "Redefined",
        NoArch => "NoArch",
        NoOutput => "NoOutput",
        NoInputs => "NoInputs",
        Conflict => "Conflict",
        LtoTarget => "LtoTarget",
        VirtualTarget => "VirtualTarget",
        NoNvvmPath => "NoNvvmPath",
        FastCompileLevel => "FastCompileLevel",
        ApiVersion => "ApiVersion",
        ApiVersionMajor => "ApiVersionMajor",
        UseHostInfoIgnored => "UseHostInfoIgnored",
        InputsWithHostScript => "InputsWithHostScript",
        HostScript => "HostScript",
        InputFile => "InputFile",
        EmptyFile => "EmptyFile",
        Directory => "Directory",
        NotIndex => "NotIndex",
        MalformedIndex => "MalformedIndex",
        OutputFile => "OutputFile",
        Writing => "Writing",
        TimeFile => "TimeFile",
        LibraryLoad => "LibraryLoad",
        NoNvJitLink => "NoNvJitLink",
        Changed => "Changed",
        Own => "Own",
    }
}

impl CliMessage {
    /// culd's text, where it differs.
    fn culd_text(&self) -> String {
        match self {
            CliMessage::Parse(ParseError::Unknown(name)) => suggest::unknown_flag(name),
            CliMessage::Parse(ParseError::NotAllowed { value, flag }) => suggest::not_allowed(value, flag),
            CliMessage::Parse(problem) => parse_text(problem),
            CliMessage::NoArch => "no target: name one with -arch, for example -arch sm_90".into(),
            CliMessage::NoOutput => "no output file: name one with -o".into(),
            CliMessage::NoInputs => "no input files; see culd --help".into(),
            CliMessage::Redefined(flag) => format!("--{flag} was given twice with different values; the last one is used"),
            CliMessage::InputFile(file) => format!("cannot read {}", os::lossy(file)),
            CliMessage::EmptyFile(file) => format!("{} is empty", os::lossy(file)),
            CliMessage::Directory(file) => format!("{} is a directory", os::lossy(file)),
            CliMessage::NotIndex => "the file that --uidx-file names is not an index of unified functions and variables".into(),
            CliMessage::MalformedIndex => "the index file that --uidx-file names is damaged".into(),
            CliMessage::OutputFile(file, reason) => format!("cannot write {}: {reason}", os::lossy(file)),
            CliMessage::Writing => "the output could not be written completely".into(),
            CliMessage::LtoTarget(arch) => {
                format!("{arch} names code that is compiled at link time, not a target; link for an sm_ architecture")
            }
            CliMessage::VirtualTarget(arch) => {
                format!("{arch} is a virtual architecture, for which nothing can be linked; link for an sm_ one")
            }
            CliMessage::LibraryLoad => "cannot load lib64/libnvvm.so from the directory that -nvvmpath names".into(),
            CliMessage::HostScript => "the host linker does not print a usable script".into(),
            CliMessage::InputsWithHostScript => "--gen-host-linker-script takes no input files".into(),
            CliMessage::UseHostInfoIgnored => "-use-host-info is ignored with -kernels-used and -variables-used".into(),
            CliMessage::ApiVersion | CliMessage::ApiVersionMajor => {
                "--cuda-api-version must look like 13.0, and its major number must be 13".into()
            }
            CliMessage::TimeFile(file) => format!("cannot write the time table {}", os::lossy(file)),
            CliMessage::Conflict(a, b) if b.starts_with("no ") => format!("{a} requires {}", b.trim_start_matches("no ")),
            CliMessage::Conflict(a, b) => format!("{a} and {b} cannot be used together"),
            other => other.to_string(),
        }
    }
}

/// culd's text for a command line that cannot be read.
fn parse_text(problem: &ParseError) -> String {
    match problem {
        ParseError::MissingValue(flag) => format!("{} needs a value", os::lossy(flag)),
        ParseError::UnexpectedValue(flag) => format!("{} takes no value", os::lossy(flag)),
        ParseError::NotANumber(text) => format!("'{}' is not a number", os::lossy(text)),
        ParseError::OutOfRange(text) => format!("{} is too large", os::lossy(text)),
        ParseError::NotABoolean(text) => format!("'{}' is neither true nor false", os::lossy(text)),
        ParseError::OptionsFile(file) => format!("cannot read the options file {}", os::lossy(file)),
        ParseError::TooManyFiles(file) => format!("options files are nested too deep at {}", os::lossy(file)),
        other => other.to_string(),
    }
}

/// A message of the JSON report.
#[derive(Debug, Serialize)]
pub struct ReportMessage {
    /// `info`, `warning`, `error` or `fatal`.
    pub severity: &'static str,
    /// The stable name of the message; docs/json.md lists them.
    pub code: &'static str,
    /// The text.
    pub text: String,
    /// The file that it is about.
    pub file: Option<String>,
    /// Every file that it is about, when there are several.
    pub files: Vec<String>,
    /// Source lines that refer to the symbol, as `file:line`, where line tables exist.
    pub lines: Vec<String>,
    /// The symbol that it is about, as in the file.
    pub symbol: Option<String>,
    /// The symbol as a person would write it.
    pub demangled: Option<String>,
    /// The likely cause or the way out.
    pub hint: Option<String>,
}

impl ReportMessage {
    /// A message with the stable name of its code.
    pub fn new(severity: Severity, code: &'static str, text: String) -> Self {
        ReportMessage {
            severity: severity.word(),
            code,
            text,
            file: None,
            files: Vec::new(),
            lines: Vec::new(),
            symbol: None,
            demangled: None,
            hint: None,
        }
    }

    /// The same about a file and a symbol.
    pub fn about(self, file: Option<String>, symbol: Option<String>) -> Self {
        ReportMessage {
            demangled: symbol.as_deref().map(culd_text::variable),
            file,
            symbol,
            ..self
        }
    }
}

/// Where messages go.
#[derive(Debug)]
pub struct Console {
    identity: Identity,
    tool: String,
    suffix: String,
    color: bool,
    quiet: Quiet,
    shows_codes: bool,
    errors: usize,
    log: Vec<ReportMessage>,
}

/// What is not printed.
#[derive(Debug, Default, Clone, Copy)]
pub struct Quiet {
    /// Warnings.
    pub warnings: bool,
    /// Infos.
    pub infos: bool,
    /// Warnings are errors.
    pub warnings_are_errors: bool,
}

impl Console {
    /// A console before the command line is understood.
    pub fn new(identity: Identity) -> Self {
        let tool = match identity {
            Identity::Nvlink => "nvlink",
            Identity::Culd => "culd",
        };
        let auto = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Console {
            identity,
            tool: tool.into(),
            suffix: String::new(),
            color: auto && identity == Identity::Culd,
            quiet: Quiet::default(),
            shows_codes: false,
            errors: 0,
            log: Vec::new(),
        }
    }

    /// Which linker the program behaves like.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The name in front of messages.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// `--tool-name`.
    pub fn set_tool(&mut self, name: String) {
        self.tool = name;
    }

    /// `--report-arch`.
    pub fn report_arch(&mut self, arch: &str) {
        self.suffix = format!(" (target: {arch})");
    }

    /// `--color` when it is not `auto`.
    pub fn set_color(&mut self, on: bool) {
        self.color = on;
    }

    /// `--show-codes`.
    pub fn show_codes(&mut self) {
        self.shows_codes = true;
    }

    /// `--disable-infos`, `--disable-warnings`, `--warning-as-error`.
    pub fn set_quiet(&mut self, quiet: Quiet) {
        self.quiet = quiet;
    }

    /// Keeps a message that does not come from the engine for the JSON report.
    pub fn record(&mut self, severity: Severity, code: &'static str, text: &str) {
        self.record_message(severity, ReportMessage::new(severity, code, text.to_owned()));
    }

    /// The same with file and symbol.
    pub fn record_message(&mut self, severity: Severity, message: ReportMessage) {
        let severity = match severity {
            Severity::Warning if self.quiet.warnings => return,
            Severity::Info if self.quiet.infos => return,
            Severity::Warning if self.quiet.warnings_are_errors => Severity::Error,
            other => other,
        };
        let severity = severity.word();
        self.log.push(ReportMessage { severity, ..message });
    }

    /// The messages kept so far.
    pub fn take_log(&mut self) -> Vec<ReportMessage> {
        std::mem::take(&mut self.log)
    }

    /// Says something of our own.
    pub fn say(&mut self, severity: Severity, said: &CliMessage) {
        let text = match self.identity {
            Identity::Nvlink => said.to_string(),
            Identity::Culd => said.culd_text(),
        };
        self.record(severity, said.name(), &text);
        // Option problems are settled before the options that silence or sharpen warnings count.
        match said {
            CliMessage::Redefined(_) => self.line(severity, said.name(), &text),
            _ => self.print_filtered(severity, said.name(), &text),
        }
    }

    /// Says something of the engine's that comes up before the engine runs.
    pub fn say_code(&mut self, severity: Severity, code: &Code) {
        let text = match self.identity {
            Identity::Nvlink => code.to_string(),
            Identity::Culd => culd_text::culd_text(code),
        };
        self.record(severity, code.name(), &text);
        self.print_filtered(severity, code.name(), &text);
    }

    /// Prints a message whose severity the options may change.
    pub fn print_filtered(&mut self, severity: Severity, code: &str, text: &str) {
        match severity {
            Severity::Warning if self.quiet.warnings => {}
            Severity::Info if self.quiet.infos => {}
            Severity::Warning if self.quiet.warnings_are_errors => self.line(Severity::Error, code, text),
            _ => self.line(severity, code, text),
        }
    }

    /// Prints a message of the engine, which has already print_filtered it.
    pub fn engine_line(&mut self, severity: Severity, code: &str, text: &str) {
        if severity != Severity::Info || !self.quiet.infos {
            self.line(severity, code, text);
        }
    }

    /// Prints a message as it is and counts it. `code` is its stable name, empty for lines that are not messages.
    pub fn line(&mut self, severity: Severity, code: &str, text: &str) {
        if severity >= Severity::Error {
            self.errors += 1;
        }
        let line = match self.identity {
            Identity::Nvlink => format!("{} {:<7} : {text}{}\n", self.tool, severity.word(), self.suffix),
            Identity::Culd => {
                let shown = match self.shows_codes && !code.is_empty() {
                    true => format!("[{code}]"),
                    false => String::new(),
                };
                let (word, color) = match severity {
                    Severity::Info => ("info", "36"),
                    Severity::Warning => ("warning", "35"),
                    Severity::Error | Severity::Fatal => ("error", "31"),
                };
                match self.color {
                    true => format!("{}: \x1b[1;{color}m{word}{shown}:\x1b[0m {text}{}\n", self.tool, self.suffix),
                    false => format!("{}: {word}{shown}: {text}{}\n", self.tool, self.suffix),
                }
            }
        };
        self.raw(&line);
    }

    /// Prints text as it is.
    pub fn raw(&self, text: &str) {
        // If stderr is closed there is nowhere to report the error.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}
