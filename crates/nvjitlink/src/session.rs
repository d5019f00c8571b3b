//! One link: the state after `nvJitLinkCreate`, with its logs.
//!
//! 1. [`Session::create`] reads the options. A refused session still has its log.
//! 2. [`Session::add`] reads an input at once: containers are unpacked, PTX is compiled. What is refused is not part of the link.
//! 3. [`Session::complete`] links. An image exists only after a link without errors.
//!
//! With `-lto`, NVIDIA's library does all of it. So it does for CUDA 12 and architectures from sm_100 on that culd does not link as that release.

use crate::code::{Code, Flavour};
use crate::integrity;
use crate::options::{self, Options};
use crate::tools;
use cubin::Cubin;
use cubin::names::file_flags;
use cubin::release::Version;
use culd::{Diagnostic, Identity, InputKind, LinkError, Linker, PtxCache, Severity, ToolNote};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// The release whose behaviour a library for CUDA 12 has.
const CUDA_12: &str = "12.9";
/// Links of this size and above use several threads.
const SEVERAL_THREADS: usize = 4 << 20;

/// Most bytes of compiled PTX that a process keeps.
const PTX_CACHE_LIMIT: usize = 32 << 20;
/// Names the directory that compiled PTX is kept in, too.
const PTX_CACHE_VARIABLE: &str = "CULD_PTX_CACHE";

/// Input types; the numbers are those of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the header")]
#[non_exhaustive]
pub enum Kind {
    Cubin = 1,
    Ptx = 2,
    LtoIr = 3,
    Fatbin = 4,
    Object = 5,
    Library = 6,
    Index = 7,
    Any = 10,
}

impl Kind {
    /// The type with a number.
    pub fn from_number(number: i32) -> Option<Kind> {
        use Kind::*;
        [Cubin, Ptx, LtoIr, Fatbin, Object, Library, Index, Any]
            .into_iter()
            .find(|kind| *kind as i32 == number)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Cubin => "CUBIN",
            Kind::Ptx => "PTX",
            Kind::LtoIr => "LTOIR",
            Kind::Fatbin => "FATBIN",
            Kind::Object => "OBJECT",
            Kind::Library => "LIBRARY",
            Kind::Index => "INDEX",
            Kind::Any => "ANY",
        }
    }

    fn admits(self, content: InputKind) -> bool {
        match self {
            Kind::Cubin => content == InputKind::Cubin,
            Kind::Ptx => content == InputKind::Ptx,
            Kind::LtoIr => content == InputKind::LtoIr,
            Kind::Fatbin => content == InputKind::Fatbin,
            Kind::Object => matches!(content, InputKind::Object | InputKind::Cubin),
            Kind::Library => content == InputKind::Archive,
            Kind::Index => false,
            Kind::Any => true,
        }
    }
}

/// Finds the file of this library, where it is one.
pub type Own = fn() -> Option<PathBuf>;

/// How far a session is.
#[derive(Debug)]
enum State {
    /// The options were refused.
    Refused,
    Open(Box<Linker>),
    /// NVIDIA's library has the link.
    Delegated(culd_lto::Session),
    /// `-lto`, and NVIDIA's library is missing.
    NoDelegate(String),
    /// The image; `None` after a link with errors.
    Done(Option<Vec<u8>>),
}

/// One link.
#[derive(Debug)]
pub struct Session {
    flavour: Flavour,
    options: Options,
    state: State,
    started: Instant,
    bytes: usize,
    /// PTX was refused: a failed link then ends with another number.
    ptx_refused: bool,
    own: Own,
    error_log: Vec<u8>,
    info_log: Vec<u8>,
}

impl Session {
    /// Reads the options. `own` finds the file of this library, which is never taken for NVIDIA's.
    pub fn create(flavour: Flavour, list: &[String], own: Own) -> (Self, Code) {
        let mut session = Session {
            flavour,
            options: Options::default(),
            state: State::Refused,
            started: Instant::now(),
            bytes: 0,
            ptx_refused: false,
            own,
            error_log: Vec::new(),
            info_log: Vec::new(),
        };
        let code = match options::parse(list, flavour) {
            Ok(options) => {
                session.info_log.extend(options.notes.bytes());
                session.options = options;
                session.open(list)
            }
            Err(refusal) => {
                session.error_log.extend(refusal.log.bytes());
                session.info_log.extend(refusal.notes.bytes());
                refusal.code
            }
        };
        (session, code)
    }

    fn open(&mut self, list: &[String]) -> Code {
        let Some(target) = self.options.target else {
            return Code::MissingArch;
        };
        if self.options.lto {
            return self.delegate(list, "link-time optimization");
        }
        let mut linker = Linker::new(target);
        if self.flavour == Flavour::Cuda12 {
            let Some(version) = Version::nearest(CUDA_12) else {
                return Code::Internal;
            };
            if target.number >= 100 && !target.is_in(version.release.toolkit) {
                return self.delegate(list, &format!("{target} with CUDA 12"));
            }
            if linker.release(CUDA_12).is_err() {
                return Code::Internal;
            }
        }
        linker
            .identity(Identity::Nvlink)
            .as_nvjitlink(true)
            .usage(self.options.verbose)
            .debug(self.options.debug)
            .relocatable(self.options.relocatable)
            .keep_unlaunched_kernels(true)
            .max_registers(self.options.max_registers.unwrap_or(0))
            .tool_note(TOOL_NOTE.clone());
        self.options.kernels_used.iter().for_each(|name| {
            linker.kernel_used(name);
        });
        self.options.variables_used.iter().for_each(|name| {
            linker.variable_used(name);
        });
        if let Some(index) = self.options.index.take() {
            linker.unified_index(index);
        }
        let flags = [
            (self.options.verbose, "-v"),
            (self.options.unoptimized, "-O0"),
            (self.options.line_info, "-lineinfo"),
        ];
        for (_, option) in flags.iter().filter(|(on, _)| *on) {
            linker.ptxas_option(*option);
        }
        for option in &self.options.ptxas {
            linker.ptxas_option(option.clone());
        }
        if !self.options.no_cache {
            linker.ptx_cache(PTX_CACHE.clone());
        }
        self.state = State::Open(Box::new(linker));
        Code::Success
    }

    /// Hands the link to NVIDIA's library, which `what` needs.
    fn delegate(&mut self, list: &[String], what: &str) -> Code {
        match tools::nvjitlink((self.own)().as_deref(), self.flavour) {
            Ok(library) => match culd_lto::Session::create(&library, list) {
                Ok((session, 0)) => {
                    self.info_log.clear();
                    self.state = State::Delegated(session);
                    Code::Success
                }
                Ok((session, code)) => {
                    self.error_log.extend(session.error_log());
                    from_number(code)
                }
                Err(failure) => {
                    self.state = State::NoDelegate(format!("{}: {failure}", library.display()));
                    Code::Success
                }
            },
            Err(tried) => {
                let text = format!(
                    "{what} needs NVIDIA's {}, which was not found{}; name it with CULD_NVJITLINK",
                    self.flavour.library(),
                    culd_base::tried(&tried)
                );
                self.state = State::NoDelegate(text);
                Code::Success
            }
        }
    }

    /// Adds an input from memory. `bytes` and `name` are `None` for null pointers.
    pub fn add(&mut self, number: i32, bytes: Option<&[u8]>, name: Option<&str>) -> Code {
        let bytes = match (bytes, Kind::from_number(number)) {
            (Some(bytes), _) if !bytes.is_empty() => bytes,
            (None, None | Some(Kind::LtoIr | Kind::Fatbin | Kind::Object | Kind::Index)) if !self.options.lto => &[],
            _ => return Code::InvalidInput,
        };
        match &mut self.state {
            State::Refused => return Code::Internal,
            State::Delegated(session) => {
                // NVIDIA's library would crash, and the process with it.
                let damage = self.options.target.and_then(|target| integrity::damage(bytes, target));
                return match damage {
                    None => from_number(session.add(number, bytes, name)),
                    Some(reason) => {
                        let text = format!("ERROR 4: bad input:{}\n{reason}\n", name.unwrap_or_default());
                        self.fail(Code::InvalidInput, &text)
                    }
                };
            }
            State::NoDelegate(text) => {
                let text = format!("ERROR: {text}\n");
                return self.fail(Code::NvvmCompile, &text);
            }
            State::Open(_) | State::Done(_) => {}
        }
        let shown = name.unwrap_or_default();
        let Some(kind) = Kind::from_number(number) else {
            return self.fail(
                Code::IncorrectInputType,
                &format!("unsupported input type: {}\n", name.unwrap_or("(null)")),
            );
        };
        let content = InputKind::of(bytes);
        let Some(content) = content.filter(|content| kind.admits(*content)) else {
            return match kind {
                Kind::Any => self.fail(
                    Code::UnrecognizedInput,
                    &format!("unrecognized input type: {}\n", name.unwrap_or("(null)")),
                ),
                kind => self.fail(
                    Code::IncorrectInputType,
                    &format!("ERROR 1: bad input: does not match type NVJITLINK_INPUT_{}{shown}\n", kind.name()),
                ),
            };
        };
        if content == InputKind::LtoIr {
            return self.fail(Code::LtoNotEnabled, self.flavour.lto_not_enabled());
        }
        if matches!(self.state, State::Done(_)) {
            return self.fail(Code::Internal, &format!("ERROR 1: empty elfw when adding cubin{shown}\n"));
        }
        self.read(content, bytes, name)
    }

    fn read(&mut self, content: InputKind, bytes: &[u8], name: Option<&str>) -> Code {
        let own = self.own;
        let State::Open(linker) = &mut self.state else {
            return Code::Internal;
        };
        if content != InputKind::Cubin
            && let Some(ptxas) = tools::ptxas(own().as_deref(), self.flavour)
        {
            linker.ptxas(ptxas);
        }
        let length = bytes.len();
        match linker.add(Some(content), name.unwrap_or("(null)"), bytes) {
            Ok(diagnostics) => {
                self.bytes = self.bytes.saturating_add(length);
                for line in diagnostics.iter().filter(|d| d.code == "Ptxas") {
                    append(&mut self.info_log, &ptxas_line(&line.nvlink_text));
                    self.info_log.push(b'\n');
                }
                Code::Success
            }
            Err(error) => self.refuse(content, bytes, name, &error),
        }
    }

    /// The code and the text for an input that cannot be linked.
    fn refuse(&mut self, content: InputKind, bytes: &[u8], name: Option<&str>, error: &LinkError) -> Code {
        let has = |code: &str| error.diagnostics().iter().any(|d| d.code == code);
        let shown = name.unwrap_or_default();
        let only_lto = |d: &Diagnostic| d.text.contains("only LTO IR");
        if has("LtoObjects") || error.diagnostics().iter().any(only_lto) {
            return self.fail(Code::LtoNotEnabled, self.flavour.lto_not_enabled());
        }
        if has("Ptxas") || has("NoPtxas") || content == InputKind::Ptx {
            let mut text = String::new();
            for line in error.diagnostics().iter().filter(|d| d.code == "Ptxas" || d.code == "NoPtxas") {
                text += &ptxas_line(&line.nvlink_text);
                text.push('\n');
            }
            text += "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX";
            match name {
                Some(name) => text += &format!(" ({name})\n"),
                None => text.push('\n'),
            }
            self.ptx_refused = true;
            return self.fail(Code::PtxCompile, &text);
        }
        let is_mercury_target = self.options.target.is_some_and(|target| target.number >= 100);
        if content == InputKind::Cubin && is_mercury_target && is_sass(bytes) {
            let shown = name.unwrap_or("(null)");
            let text = format!("Mercury or Capmerc target was requested, but SASS input {shown} was found.\n");
            return self.fail(Code::InvalidInput, &text);
        }
        let text = match content {
            InputKind::Cubin => format!("ERROR 4: bad input:{shown}\n"),
            _ => format!("ERROR 3: bad input: {shown}\n"),
        };
        // Foreign architectures have this one line; anything else is damage that NVIDIA's library crashes on or drops.
        let detail: String = match ["ArchMismatch", "NoCodeFor", "AbiMismatch", "UnknownArch", "TooOld"]
            .iter()
            .any(|c| has(c))
        {
            true => String::new(),
            false => error.diagnostics().iter().map(|d| format!("{d}\n")).collect(),
        };
        self.fail(Code::InvalidInput, &(text + &detail))
    }

    fn fail(&mut self, code: Code, text: &str) -> Code {
        append(&mut self.error_log, text);
        code
    }

    /// Adds a file.
    pub fn add_file(&mut self, number: i32, path: &str) -> Code {
        match std::fs::read(Path::new(path)) {
            Ok(bytes) => self.add(number, Some(&bytes), Some(path)),
            Err(_) => self.fail(Code::InvalidInput, &format!("no such file: {path}\n")),
        }
    }

    /// Links.
    pub fn complete(&mut self) -> Code {
        match &mut self.state {
            State::Delegated(session) => return from_number(session.complete()),
            State::NoDelegate(text) => {
                let text = format!("ERROR: {text}\n");
                return self.fail(Code::NvvmCompile, &text);
            }
            State::Refused | State::Done(_) => return Code::Internal,
            State::Open(_) => {}
        }
        if self.options.time {
            let text = format!("nvJitLink time until Complete: {}\n", milliseconds(self.started));
            self.info_log.extend(text.bytes());
        }
        let start = Instant::now();
        let State::Open(mut linker) = std::mem::replace(&mut self.state, State::Done(None)) else {
            return Code::Internal;
        };
        linker.threads(match self.bytes < SEVERAL_THREADS {
            true => 1,
            false => std::thread::available_parallelism().map_or(1, usize::from),
        });
        let code = match linker.link() {
            Ok(linked) => {
                self.report(linked.nvlink_lines(), linked.diagnostics());
                self.state = State::Done(Some(linked.into_image()));
                Code::Success
            }
            Err(error) => {
                self.report(error.nvlink_lines(), error.diagnostics());
                let is_fatal = error
                    .diagnostics()
                    .iter()
                    .any(|d| d.severity == Severity::Fatal && d.code != "MergeFailed");
                let number = if is_fatal || self.ptx_refused { 1 } else { 9 };
                self.fail(Code::Internal, &format!("ERROR {number}: finish\n"))
            }
        };
        if self.options.time && code == Code::Success {
            let text = format!("nvJitLinkComplete time to finish: {}\n", milliseconds(start));
            self.info_log.extend(text.bytes());
        }
        code
    }

    /// Writes the messages of a link to the logs: errors to one, everything else to the other.
    fn report(&mut self, lines: &[(Severity, String)], diagnostics: &[Diagnostic]) {
        debug_assert!(diagnostics.len() <= lines.len());
        // nvlink has a warning about objects beside those of -ewp; the library has none.
        let is_logged = |(_, line): &&(Severity, String)| !line.ends_with("-ewp compiled objects should only link with libcudadevrt");
        for (severity, line) in lines.iter().filter(is_logged) {
            let log = match *severity >= Severity::Error {
                true => &mut self.error_log,
                false => &mut self.info_log,
            };
            append(log, &format!("{:<7} : {line}\n", severity.word()));
        }
    }

    /// The linked cubin.
    ///
    /// # Errors
    ///
    /// There is none (yet).
    pub fn cubin(&self) -> Result<Cow<'_, [u8]>, Code> {
        match &self.state {
            State::Done(Some(image)) => Ok(image.into()),
            State::Delegated(session) => session.cubin().map(Into::into).map_err(from_number),
            _ => Err(Code::Internal),
        }
    }

    /// The linked PTX, with its final NUL.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn ptx(&self) -> Result<Vec<u8>, Code> {
        match &self.state {
            State::Delegated(session) => session.ptx().map_err(from_number),
            _ => Err(Code::InvalidInput),
        }
    }

    /// The linked LTO IR.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn lto_ir(&self) -> Result<Vec<u8>, Code> {
        match &self.state {
            State::Delegated(session) => session.lto_ir().map_err(from_number),
            State::Done(_) => Err(Code::InvalidInput),
            _ => Err(Code::Internal),
        }
    }

    /// The log of errors.
    pub fn error_log(&self) -> Cow<'_, [u8]> {
        match &self.state {
            // What NVIDIA's library reported, then what did not reach it.
            State::Delegated(session) => [&session.error_log(), self.error_log.as_slice()].concat().into(),
            _ => (&self.error_log).into(),
        }
    }

    /// The log of everything else.
    pub fn info_log(&self) -> Cow<'_, [u8]> {
        match &self.state {
            State::Delegated(session) => session.info_log().into(),
            _ => (&self.info_log).into(),
        }
    }
}

/// Adds a text to a log. Names in inputs may have a NUL, which would end the log for a C program.
fn append(log: &mut Vec<u8>, text: &str) {
    log.extend(text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }));
}

/// A device file without a Mercury view, as those for architectures below 100.
fn is_sass(bytes: &[u8]) -> bool {
    Cubin::parse(bytes).is_ok_and(|cubin| !file_flags(cubin.header()).mercury)
}

/// A line of ptxas as the library logs it: continuation lines are marked.
fn ptxas_line(line: &str) -> Cow<'_, str> {
    match line.starts_with(' ') {
        true => format!("ptxas         . {line}").into(),
        false => line.into(),
    }
}

fn milliseconds(since: Instant) -> String {
    format!("{:.6}", since.elapsed().as_secs_f64() * 1000.0)
}

/// A code of NVIDIA's library.
fn from_number(number: i32) -> Code {
    use Code::*;
    let codes = [
        Success,
        UnrecognizedOption,
        MissingArch,
        InvalidInput,
        PtxCompile,
        NvvmCompile,
        Internal,
        UnrecognizedInput,
        NullInput,
        IncompatibleOptions,
        IncorrectInputType,
        UnrecognizedArch,
        UnsupportedArch,
        LtoNotEnabled,
    ];
    codes.into_iter().find(|code| *code as i32 == number).unwrap_or(Internal)
}

/// Compiled PTX of all links of the process.
static PTX_CACHE: LazyLock<Arc<PtxCache>> = LazyLock::new(|| {
    let directory = std::env::var_os(PTX_CACHE_VARIABLE).filter(|v| !v.is_empty());
    Arc::new(PtxCache::new(PTX_CACHE_LIMIT, directory.map(PathBuf::from)))
});

/// The linker's record in the output: in the form of nvJitLink's, signed by culd.
static TOOL_NOTE: LazyLock<ToolNote> = LazyLock::new(|| {
    let version = Version::default();
    let mut note = ToolNote::new("culd", version.line(), format!("culd {}", env!("CARGO_PKG_VERSION")));
    note.object_name = b"in-memory-ELF-image".to_vec();
    note.command_line = b"JIT API Command Line Options".to_vec();
    note
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_nul_does_not_end_the_log() {
        let (mut session, code) = Session::create(Flavour::Cuda13, &["-arch=sm_90".into()], || None);
        assert_eq!(code, Code::Success);
        assert_eq!(session.add(Kind::Any as i32, Some(b"text"), Some("a\0b")), Code::UnrecognizedInput);
        assert_eq!(session.error_log(), &b"unrecognized input type: a?b\n"[..]);
    }
}
