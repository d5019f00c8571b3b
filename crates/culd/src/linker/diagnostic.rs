//! Diagnostics as values with a stable code, culd's text, nvlink's text, and what they are about.

use crate::cli::causes::Causes;
use crate::cli::culd_text;
use cubin::release::Release;
use culd_engine::{Arch, Code, Severity};
use serde::{Serialize, Serializer};
use std::fmt;

/// One message about the inputs or the link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How serious it is.
    #[serde(serialize_with = "word")]
    pub severity: Severity,
    /// The kind of message. The names are stable and the same as in the program's JSON report.
    pub code: String,
    /// What is wrong, in culd's words.
    pub text: String,
    /// What nvlink prints in its place, without prefix; the same text where nvlink has no words for it.
    #[serde(skip)]
    pub nvlink_text: String,
    /// The input that it is about.
    pub file: Option<String>,
    /// The symbol that it is about, as in the file.
    pub symbol: Option<String>,
    /// The likely cause or the way out, in one line.
    pub hint: Option<String>,
}

fn word<S: Serializer>(severity: &Severity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(severity.word())
}

impl Diagnostic {
    /// A message of the engine.
    pub(super) fn of_engine(diagnostic: &culd_engine::Diagnostic, causes: &Causes) -> Self {
        let code = &diagnostic.code;
        let (file, symbol) = place(code);
        Diagnostic {
            severity: diagnostic.severity,
            code: code.name().to_owned(),
            text: causes.text(code),
            hint: causes.hint(code),
            nvlink_text: code.to_string(),
            file,
            symbol,
        }
    }

    /// A message of the loader.
    pub(super) fn of_loader(message: &culd_input::Message, target: &str) -> Self {
        Diagnostic {
            severity: message.severity,
            code: message.code.name().to_owned(),
            text: culd_text::loader_text(&message.code, target),
            nvlink_text: message.code.to_string(),
            file: loader_file(&message.code),
            symbol: None,
            hint: culd_text::loader_hint(&message.code, target),
        }
    }

    pub(super) fn internal(text: &str) -> Self {
        Diagnostic::plain("Internal", text.to_owned(), None)
    }

    pub(super) fn damaged(file: &str, reason: &str) -> Self {
        let text = format!("{file} cannot be linked: {reason}");
        Diagnostic::plain("Damaged", text, Some(file.to_owned()))
    }

    fn plain(code: &str, text: String, file: Option<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code: code.to_owned(),
            nvlink_text: text.clone(),
            text,
            file,
            symbol: None,
            hint: None,
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Fatal => "error",
            other => other.word(),
        };
        write!(f, "{word}: {}", self.text)
    }
}

/// File and symbol of a message of the engine.
pub(crate) fn place(code: &Code) -> (Option<String>, Option<String>) {
    use Code::*;
    let (file, symbol) = match code {
        MultipleDefinition { symbol, file, .. }
        | SizeMismatch { symbol, file, .. }
        | CommonLarger { symbol, file }
        | SpaceMismatch { symbol, file, .. }
        | ManagedMismatch { symbol, file, .. }
        | PrototypeMismatch { symbol, file, .. }
        | UndefinedReference { symbol, file, .. } => (Some(file), Some(symbol)),
        RemovedFunction { function, file, .. } => (Some(file), Some(function)),
        EntryMismatch { symbol } | ParameterBankMismatch { symbol } => (None, Some(symbol)),
        StackUnknown { entry }
        | TooMuchShared { entry, .. }
        | TooManyImages { entry, .. }
        | TooMuchLiteral { entry, .. }
        | TooMuchParameter { entry, .. }
        | TooManyRegisters { entry, .. }
        | TcgenConflict { entry }
        | CachePreference { entry, .. } => (None, Some(entry)),
        AddressTakenUncalled { function } | ReservedShared { function } | SassKept { function, .. } => (None, Some(function)),
        PartiallyLinked { variable, .. } => (None, Some(variable)),
        Admission(problem) => (Some(&problem.file), None),
        MissingIsaClass { file, .. }
        | Lost { file, .. }
        | Damaged { file, .. }
        | NewerMercury { file, .. }
        | BesideEwp { file }
        | TensorMemoryMismatch { file }
        | SanitizerMismatch { file, .. }
        | Unsupported { file, .. } => (Some(file), None),
        _ => (None, None),
    };
    (file.cloned(), symbol.cloned())
}

/// File of a message of the loader.
pub(crate) fn loader_file(code: &culd_input::LoadCode) -> Option<String> {
    use culd_input::LoadCode::*;
    match code {
        CannotOpen { file }
        | FatbinMissing { file }
        | ArchNotFound { file, .. }
        | SizeMismatch { file }
        | NotBuiltForLto { file }
        | Unusable { file, .. }
        | NoHostCode { file }
        | SeveralFatbins { file, .. }
        | NoCodeFor { file, .. }
        | MemberIgnored { file, .. }
        | EmptyArchive { file }
        | HostFileIgnored { file }
        | NoPtxas { file, .. } => Some(file.clone()),
        Admission(problem) => Some(problem.file.clone()),
        SkippingLibrary { path, .. } | SharedLibrary { path, .. } => Some(path.clone()),
        _ => None,
    }
}

/// A link that made no image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkError {
    diagnostics: Vec<Diagnostic>,
    nvlink_lines: Vec<(Severity, String)>,
}

impl LinkError {
    pub(super) fn new(diagnostics: Vec<Diagnostic>) -> Self {
        LinkError {
            diagnostics,
            nvlink_lines: Vec::new(),
        }
    }

    pub(super) fn with_lines(self, nvlink_lines: Vec<(Severity, String)>) -> Self {
        LinkError { nvlink_lines, ..self }
    }

    pub(super) fn unknown_target(name: &str) -> Self {
        let text = format!("'{name}' is not an architecture that can be linked for; use a name such as sm_90");
        LinkError::new(vec![Diagnostic::plain("UnknownTarget", text, None)])
    }

    pub(super) fn unknown_release(name: &str) -> Self {
        let text = format!("'{name}' is not a release of CUDA that culd supports; use a name such as 13.0");
        LinkError::new(vec![Diagnostic::plain("UnknownRelease", text, None)])
    }

    pub(super) fn not_in_release(target: Arch, release: &Release) -> Self {
        let text = format!("{target} cannot be linked for by the rules of CUDA {}", release.name());
        LinkError::new(vec![Diagnostic::plain("UnknownTarget", text, None)])
    }

    pub(super) fn wrong_kind(name: &str, expected: &str, found: &str) -> Self {
        let text = format!("{name} is {found}, not {expected}");
        LinkError::new(vec![Diagnostic::plain("WrongKind", text, Some(name.to_owned()))])
    }

    /// All diagnostics in order, warnings included. At least one is an error.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The messages of the link as nvlink prints them, without program name and severity. Empty when no link was made.
    pub fn nvlink_lines(&self) -> &[(Severity, String)] {
        &self.nvlink_lines
    }

    /// The diagnostics themselves.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.diagnostics.iter().filter(|d| d.severity >= Severity::Error);
        for (index, diagnostic) in errors.enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&diagnostic.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for LinkError {}
