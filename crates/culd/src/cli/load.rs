//! The device objects of a link: calls the loader and prints its messages.
//!
//! nvlink searches libraries before it touches anything else, and reads inputs after it has opened every other file. The loader does
//! both at once and keeps the messages apart: [`LoadedInputs::library_messages`], [`LoadedInputs::input_messages`].

use crate::cli::hiargs::LinkPlan;
use crate::cli::messages::{Console, ReportMessage};
use crate::cli::progress::ProgressLine;
use crate::cli::{called, culd_text, explain, lto, os};
use crate::linker::diagnostic::loader_file as file_of;
use culd_engine::explain::Phase;
use culd_engine::{Identity, KernelFilter, Severity};
use culd_input::files::{Opened, standard_input};
use culd_input::progress::Progress;
use culd_input::ptx::{PtxOptions, PtxasSearch};
use culd_input::{Disk, Files, LoadCode, LoadOptions, Loaded, Message, load};
use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The result of loading.
#[derive(Debug)]
pub struct LoadedInputs {
    search_messages: Vec<Message>,
    input_messages: Vec<Message>,
    /// Libraries that gave nothing.
    passed_over: Vec<Message>,
    /// The inputs; `None` when a message forbids the link.
    pub loaded: Option<Loaded>,
    /// Every file that was opened, in order, if the plan asks for them.
    pub files: Vec<Vec<u8>>,
    /// How long the parts of reading took.
    pub phases: Vec<Phase>,
    /// What was read from standard input, if the plan asks for it.
    pub standard_input: Option<Vec<u8>>,
    /// Files that are mapped, as they were when they were opened.
    stamps: Vec<(PathBuf, Stamp)>,
}

impl LoadedInputs {
    /// Reads all inputs.
    pub fn read(plan: &LinkPlan) -> Self {
        let progress = Arc::new(Progress::default());
        let line = match plan.options.identity {
            Identity::Culd => ProgressLine::start(&progress),
            Identity::Nvlink => None,
        };
        let options = LoadOptions {
            progress: Some(progress),
            ..load_options(plan)
        };
        let inputs: Vec<Cow<'_, Path>> = plan.inputs.iter().map(|i| os::as_path(i)).collect();
        let recorder = Recorder {
            wants_names: plan.side.dependencies.is_some() || plan.saves_repro,
            dash_is_stdin: plan.options.identity == Identity::Culd,
            ..Recorder::default()
        };
        let outcome = load(&inputs, &options, &recorder);
        drop(line);
        let opened = recorder.opened.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stamps = recorder.stamps.into_inner().unwrap_or_else(PoisonError::into_inner);
        LoadedInputs {
            search_messages: outcome.search_messages,
            input_messages: outcome.input_messages,
            passed_over: outcome.passed_over,
            loaded: outcome.loaded,
            phases: outcome.phases,
            standard_input: recorder.standard_input.into_inner().unwrap_or_else(PoisonError::into_inner),
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

    /// Prints the messages of the library search; true when one was fatal.
    pub fn library_messages(&self, plan: &LinkPlan, console: &mut Console) -> bool {
        say(&self.search_messages, plan, console)
    }

    /// Names the libraries that might have defined what is undefined.
    pub fn library_hints(&self, plan: &LinkPlan, console: &mut Console) {
        for message in &self.passed_over {
            let severity = message.severity.min(Severity::Warning);
            let text = text_of(&message.code, plan);
            console.record(severity, message.code.name(), &text);
            console.print_filtered(severity, message.code.name(), &text);
        }
    }

    /// Number of messages that are called errors, although the inputs were loaded.
    pub fn harmless_errors(&self) -> usize {
        let of_nvlink = |m: &&Message| m.code == LoadCode::UncompressFailed;
        self.input_messages.iter().filter(of_nvlink).count()
    }

    /// Prints the messages of reading inputs; true when one was fatal.
    pub fn input_messages(&self, plan: &LinkPlan, console: &mut Console) -> bool {
        say(&self.input_messages, plan, console)
    }
}

impl LinkPlan {
    /// The kernels to keep: those named outright, or those that host objects launch.
    pub fn kernels(&self, loaded: &Loaded) -> Option<KernelFilter> {
        let mut kernels = self.options.kernels.clone().or_else(|| loaded.kernels.clone());
        if let (Some(filter), true) = (&mut kernels, loaded.is_optimized) {
            // nvlink has the lists before it merges anything.
            filter.early = true;
        }
        kernels
    }
}

/// Prints loader messages; true when one was fatal.
pub fn say(messages: &[Message], plan: &LinkPlan, console: &mut Console) -> bool {
    let mut folded = Folded::collect(messages, plan);
    for message in messages {
        if message.code.is_verbatim() {
            console.raw(&format!("{}\n", message.code));
            console.record(message.severity, message.code.name(), &message.code.to_string());
        } else {
            let text = text_of(&message.code, plan);
            let hint = match plan.options.identity {
                Identity::Culd => culd_text::loader_hint(&message.code, &plan.arch),
                Identity::Nvlink => None,
            };
            let recorded = ReportMessage::new(message.severity, message.code.name(), text.clone());
            let recorded = ReportMessage {
                hint: hint.clone(),
                ..recorded.about(file_of(&message.code), None)
            };
            console.record_message(message.severity, recorded);
            if let Some(text) = folded.text(message, text, plan) {
                let text = explain::with_hint(text, hint, "\n  ");
                console.engine_line(message.severity, message.code.name(), &text);
            }
        }
    }
    messages.iter().any(|m| m.severity == Severity::Fatal)
}

/// As culd: messages that differ in the file only are printed once, with a list of the files.
struct Folded {
    /// Severity, text without the file, files; `None` once it is printed.
    groups: Vec<(Severity, String, Option<Vec<String>>)>,
}

impl Folded {
    fn collect(messages: &[Message], plan: &LinkPlan) -> Self {
        let mut groups: Vec<(Severity, String, Option<Vec<String>>)> = Vec::new();
        for message in messages.iter().filter(|_| plan.options.identity == Identity::Culd) {
            let Some((pattern, file)) = pattern(message, plan) else { continue };
            match groups.iter_mut().find(|(s, p, _)| *s == message.severity && *p == pattern) {
                Some((_, _, Some(files))) if !files.contains(&file) => files.push(file),
                Some(_) => {}
                None => groups.push((message.severity, pattern, Some(vec![file]))),
            }
        }
        Folded { groups }
    }

    /// What is printed for a message: nothing if it was printed with an earlier one.
    fn text(&mut self, message: &Message, text: String, plan: &LinkPlan) -> Option<String> {
        let Some((pattern, _)) = pattern(message, plan).filter(|_| plan.options.identity == Identity::Culd) else {
            return Some(text);
        };
        let group = self.groups.iter_mut().find(|(s, p, _)| *s == message.severity && *p == pattern)?;
        let files = group.2.take()?;
        let others = files.get(1..).unwrap_or_default();
        match others.len() {
            0 => Some(text),
            count => {
                let list = culd_text::enumerate(others.iter().cloned(), count);
                Some(format!("{text}\n  the same for {list}"))
            }
        }
    }
}

/// The text of a message without its file, and the file.
fn pattern(message: &Message, plan: &LinkPlan) -> Option<(String, String)> {
    let file = file_of(&message.code).filter(|f| !f.is_empty())?;
    Some((text_of(&message.code, plan).replace(&file, "\0"), file))
}

/// The text of a message; it names the target as it was typed.
fn text_of(code: &LoadCode, plan: &LinkPlan) -> String {
    let arch = &plan.arch;
    match (plan.options.identity, code) {
        (Identity::Nvlink, LoadCode::Admission(problem)) => problem.nvlink_text(arch),
        (Identity::Nvlink, LoadCode::ArchNotFound { file, .. }) => format!("SM Arch ('{arch}') not found in '{file}'"),
        (Identity::Culd, code) => culd_text::loader_text(code, arch),
        (_, other) => other.to_string(),
    }
}

fn load_options(plan: &LinkPlan) -> LoadOptions {
    let options = &plan.options;
    LoadOptions {
        release: options.release,
        identity: options.identity,
        libraries: plan.libraries.iter().map(|l| os::lossy(l)).collect(),
        library_directories: plan.library_paths.iter().map(|l| os::path(l)).collect(),
        library_path: std::env::var_os("LIBRARY_PATH"),
        system_directories: system_directories(),
        strict_libraries: plan.strict_libraries,
        keep_system_libraries: plan.keep_system_libraries,
        registers: plan.side.register.is_some(),
        host_info: plan.host_info,
        lto: plan.lto.as_ref().map(|lto| lto::options(lto, &plan.options)),
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
        time_phases: options.time_phases,
        ..LoadOptions::new(options.target)
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
    standard_input: Mutex<Option<Vec<u8>>>,
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
            let opened = standard_input()?;
            if self.wants_names {
                *self.standard_input.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened.bytes.to_vec());
                self.note(path, &opened);
            }
            return Ok(opened);
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
