//! The device objects of a link: calls the loader and prints its messages.
//!
//! nvlink searches libraries before it touches anything else, and reads inputs after it has opened every other file. The loader does
//! both at once; [`Sources::library_messages`] and [`Sources::input_messages`] separate its messages.

use crate::cli::high::LinkPlan;
use crate::cli::messages::Console;
use crate::cli::{called, lto, os};
use culd_engine::{Identity, KernelFilter, Severity};
use culd_input::files::{Opened, standard_input};
use culd_input::ptx::{PtxOptions, PtxasSearch};
use culd_input::{Code, Disk, Files, LoadOptions, Loaded, Message, Style, Target, load};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The result of loading.
#[derive(Debug)]
pub struct Sources {
    messages: Vec<Message>,
    /// Libraries that gave nothing.
    passed_over: Vec<Message>,
    /// The inputs; `None` when a message forbids the link.
    pub loaded: Option<Loaded>,
    /// Every file that was opened, in order, if the plan asks for them.
    pub files: Vec<Vec<u8>>,
    /// Files that are mapped, as they were when they were opened.
    stamps: Vec<(PathBuf, Stamp)>,
}

impl Sources {
    /// Reads all inputs.
    pub fn read(plan: &LinkPlan) -> Self {
        let options = load_options(plan);
        let inputs: Vec<Cow<'_, Path>> = plan.inputs.iter().map(|i| os::as_path(i)).collect();
        let recorder = Recorder {
            wants_names: plan.side.dependencies.is_some() || plan.saves_repro,
            dash_is_stdin: plan.options.identity == Identity::Culd,
            ..Recorder::default()
        };
        let outcome = load(&inputs, &options, &recorder);
        let opened = recorder.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stamps = recorder.stamps.into_inner().unwrap_or_else(PoisonError::into_inner);
        Sources {
            messages: outcome.messages,
            passed_over: outcome.passed_over,
            loaded: outcome.loaded,
            stamps,
            files: opened.iter().map(|p| os::bytes(p.as_os_str())).collect(),
        }
    }

    /// An input that another process has written to since it was opened. What was read from it may be half old, half new.
    ///
    /// A file may be removed or replaced by another one: its old contents stay readable.
    pub fn changed(&self) -> Option<&Path> {
        let differs = |(path, then): &&(PathBuf, Stamp)| {
            let now = Stamp::of(path);
            now.is_some_and(|now| now.file == then.file && now != *then)
        };
        let mut changed = self.stamps.iter().filter(differs).map(|(path, _)| path.as_path());
        let first = self.stamps.first().map(|(path, _)| path.as_path());
        changed.next().or(first.filter(|_| culd_input::pages_were_lost()))
    }

    /// Number of messages that come from searching libraries.
    fn search_end(&self) -> usize {
        let searching = |m: &&Message| {
            matches!(
                m.code,
                Code::SkippingLibrary { .. }
                    | Code::ArchiveFormat
                    | Code::OutOfMemory
                    | Code::LibraryMissing { .. }
                    | Code::SharedLibrary { .. }
            )
        };
        let found = self.messages.iter().take_while(searching).count();
        // The fatal ones end with a general line.
        match self.messages.get(found) {
            Some(m) if found > 0 && m.code == Code::InternalError => found + 1,
            _ => found,
        }
    }

    /// Prints the messages of the library search; true when one was fatal.
    pub fn library_messages(&self, plan: &LinkPlan, console: &mut Console) -> bool {
        say(self.messages.get(..self.search_end()).unwrap_or_default(), plan, console)
    }

    /// Names the libraries that might have defined what is undefined.
    pub fn library_hints(&self, plan: &LinkPlan, console: &mut Console) {
        for message in &self.passed_over {
            let severity = severity(message.severity).min(Severity::Warning);
            let text = words(&message.code, plan);
            console.record(severity, &message.code, &text);
            console.graded(severity, &text);
        }
    }

    /// Number of messages that are called errors, although the inputs were loaded.
    pub fn harmless_errors(&self) -> usize {
        let of_nvlink = |m: &&Message| m.code == Code::UncompressFailed;
        self.messages.iter().filter(of_nvlink).count()
    }

    /// Prints the messages of reading inputs; true when one was fatal.
    pub fn input_messages(&self, plan: &LinkPlan, console: &mut Console) -> bool {
        say(self.messages.get(self.search_end()..).unwrap_or_default(), plan, console)
    }
}

impl LinkPlan {
    /// The kernels to keep: those named outright, or those that host objects launch.
    pub fn kernels(&self, loaded: &Loaded) -> Option<KernelFilter> {
        let by_host = || {
            let patterns = loaded.kernels.clone()?;
            Some(KernelFilter {
                external: patterns.external,
                internal: patterns.internal,
                external_constants: patterns.external_constants,
                internal_constants: patterns.internal_constants,
                explicit: false,
                early: false,
            })
        };
        let mut kernels = self.options.kernels.clone().or_else(by_host);
        if let (Some(filter), true) = (&mut kernels, loaded.is_optimized) {
            // nvlink has the lists before it merges anything.
            filter.early = true;
        }
        kernels
    }
}

/// Prints loader messages; true when one was fatal.
pub fn say(messages: &[Message], plan: &LinkPlan, console: &mut Console) -> bool {
    for message in messages {
        if message.code.is_verbatim() {
            console.raw(&format!("{}\n", message.code));
            console.record(severity(message.severity), &message.code, &message.code.to_string());
        } else {
            let text = words(&message.code, plan);
            console.record(severity(message.severity), &message.code, &text);
            console.engine_line(severity(message.severity), &text);
        }
    }
    messages.iter().any(|m| m.severity == culd_input::Severity::Fatal)
}

/// The text of a message; it names the target as it was typed.
fn words(code: &Code, plan: &LinkPlan) -> String {
    let arch = &plan.arch;
    match (plan.options.identity, code) {
        (Identity::Nvlink, Code::ArchMismatch { file, .. }) => format!("Input file '{file}' arch does not match target '{arch}'"),
        (Identity::Nvlink, Code::ArchNotFound { file, .. }) => format!("SM Arch ('{arch}') not found in '{file}'"),
        (Identity::Culd, code) => own_words(code, arch),
        (_, other) => other.to_string(),
    }
}

/// culd's own text. Codes that the engine has too get the engine's text.
pub(crate) fn own_words(code: &Code, arch: &str) -> String {
    let shared = match code.clone() {
        Code::ArchMismatch { file, compiled, .. } => culd_engine::Code::ArchMismatch {
            file,
            compiled: compiled.to_string(),
            target: arch.into(),
        },
        Code::AbiMismatch { file } => culd_engine::Code::AbiMismatch { file },
        Code::TooOld { file } => culd_engine::Code::TooOld { file },
        Code::Accelerated { file } => culd_engine::Code::Accelerated { file },
        Code::NewerThanToolkit { file, toolkit, own } => culd_engine::Code::NewerThanToolkit { file, toolkit, own },
        Code::NoToolkit { file } => {
            return format!(
                "{file} does not state its toolkit: section '.note.nv.cuinfo' is missing, damaged or not the one that e_flags names"
            );
        }
        Code::UnknownArch { file, number } => return format!("{file} was compiled for sm_{number}, which does not exist"),
        Code::LtoObjects => return "the inputs hold code for link-time optimization only; link with -lto".into(),
        other => return other.to_string(),
    };
    crate::cli::explain::words(&shared)
}

pub(crate) fn severity(of: culd_input::Severity) -> Severity {
    match of {
        culd_input::Severity::Info => Severity::Info,
        culd_input::Severity::Warning => Severity::Warning,
        culd_input::Severity::Error => Severity::Error,
        culd_input::Severity::Fatal => Severity::Fatal,
    }
}

fn load_options(plan: &LinkPlan) -> LoadOptions {
    let options = &plan.options;
    let target = options.target;
    let suffix = match target.suffix {
        culd_engine::options::Suffix::None => culd_input::Suffix::None,
        culd_engine::options::Suffix::Family => culd_input::Suffix::Family,
        culd_engine::options::Suffix::Arch => culd_input::Suffix::Arch,
    };
    LoadOptions {
        release: options.release,
        style: match options.identity {
            Identity::Nvlink => Style::Nvlink,
            Identity::Culd => Style::Culd,
        },
        libraries: plan.libraries.iter().map(|l| os::lossy(l)).collect(),
        library_folders: plan.library_paths.iter().map(|l| os::path(l)).collect(),
        library_path: std::env::var_os("LIBRARY_PATH"),
        system_folders: system_directories(),
        strict_libraries: plan.strict_libraries,
        keep_system_libraries: plan.keep_system_libraries,
        registers: plan.side.register.is_some(),
        host_info: plan.host_info,
        lto: plan.lto.as_ref().map(|lto| lto::options(lto, plan)),
        disable_infos: options.disable_infos,
        suppress_arch_warning: plan.suppress_arch_warning,
        warnings_as_errors: options.warnings_as_errors,
        ptx: PtxOptions {
            extra: plan.ptx.options.iter().map(|o| os::lossy(o)).collect(),
            max_registers: plan.ptx.max_registers,
            debug: plan.ptx.debug,
        },
        ptxas: ptxas_search(plan.ptx.program.as_deref().map(os::path)),
        threads: options.threads,
        ..LoadOptions::new(Target::new(target.number, suffix))
    }
}

/// Where ptxas may be.
pub fn ptxas_search(named: Option<PathBuf>) -> PtxasSearch {
    let search = PtxasSearch::from_environment(named);
    PtxasSearch {
        program_dir: called::view_bin().or(search.program_dir),
        ..search
    }
}

/// Directories of the host's own libraries.
fn system_directories() -> Vec<PathBuf> {
    let platform = format!("{}-linux-gnu", std::env::consts::ARCH);
    let directories = ["/usr/local/lib", "/usr/lib/*", "/lib/*", "/usr/lib64", "/lib64", "/usr/lib", "/lib"];
    directories.iter().map(|d| PathBuf::from(d.replace('*', &platform))).collect()
}

/// The file system, with a list of what was opened.
#[derive(Debug, Default)]
struct Recorder {
    /// Somebody wants to know what was opened.
    wants_names: bool,
    /// `-` is standard input.
    dash_is_stdin: bool,
    opened: Mutex<Vec<PathBuf>>,
    stamps: Mutex<Vec<(PathBuf, Stamp)>>,
}

/// What changes when a file is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    /// Device and inode.
    file: (u64, u64),
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let file = {
            use std::os::unix::fs::MetadataExt;
            (meta.dev(), meta.ino())
        };
        #[cfg(not(unix))]
        let file = (0, 0);
        Some(Stamp {
            file,
            size: meta.len(),
            modified: meta.modified().ok(),
        })
    }
}

impl Recorder {
    fn is_stdin(&self, path: &Path) -> bool {
        self.dash_is_stdin && path == Path::new("-")
    }

    fn note(&self, path: &Path, opened: &Opened) {
        // Small files are read at once; only mapped ones can change under our hands.
        if opened.bytes.is_mapped()
            && let Some(mut stamp) = Stamp::of(path)
        {
            stamp.size = opened.bytes.len() as u64;
            let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
            stamps.push((path.to_path_buf(), stamp));
        }
        if self.wants_names {
            self.opened.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
        }
    }
}

impl Files for Recorder {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        if self.is_stdin(path) {
            return standard_input();
        }
        let opened = Disk.open(path)?;
        self.note(path, &opened);
        Ok(opened)
    }

    fn open_all(&self, paths: &[&Path], parallel: bool) -> Vec<io::Result<Opened>> {
        if paths.iter().any(|path| self.is_stdin(path)) {
            return paths.iter().map(|path| self.open(path)).collect();
        }
        let all = Disk.open_all(paths, parallel);
        for (path, opened) in paths.iter().zip(&all) {
            if let Ok(opened) = opened {
                self.note(path, opened);
            }
        }
        all
    }

    fn exists(&self, path: &Path) -> bool {
        Disk.exists(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        Disk.is_dir(path)
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        Disk.current_dir()
    }
}
