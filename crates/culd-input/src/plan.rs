//! From the command line to a flat list of units: files opened, recognised, archives taken apart. No device code is looked at yet.
//!
//! 1. Search the `-l` libraries; they come after all positional inputs.
//! 2. Open every file.
//! 3. Find the route of each, several at once: by nvlink's rules, or by content.
//! 4. Follow it, in order. An archive becomes one unit per member, in order; the same archive given twice
//!    shares its units.

use crate::archive::Members;
use crate::bytes::Bytes;
use crate::detect::{self, FileKind, Refusal, Route};
use crate::device_runtime;
use crate::files::{FileId, Files, Opened};
use crate::host::HostObject;
use crate::library::{self, Found, Probe};
use crate::message::{LoadCode, Message};
use crate::options::LoadOptions;
use culd_base::Severity;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::cell::Cell;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// From this many files on, they are opened in parallel.
const PARALLEL_FROM: usize = 64;

/// What kind of thing a unit is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Device,
    Fatbin,
    Ptx,
    LtoIr,
    Host,
    /// An ELF object that is looked at and not linked; it still counts for host information.
    Passed,
    /// No code, only diagnostics.
    Problem(Vec<Message>),
}

/// One thing to examine.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// Name in messages.
    pub(crate) name: Arc<str>,
    pub(crate) kind: UnitKind,
    pub(crate) bytes: Bytes,
    /// Length of the archive's name in `name`, for members.
    pub(crate) archive_name: Option<usize>,
    pub(crate) is_device_runtime: bool,
    /// The path says device runtime, whether or not it is treated as such.
    pub(crate) has_runtime_name: bool,
    /// Named `.ptx`.
    pub(crate) ptx_name: bool,
}

/// The part of nvlink that an input reaches first; a pending error makes that part fail in its own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    None,
    Fatbinary,
    Elf,
}

impl Unit {
    pub(crate) fn is_member(&self) -> bool {
        self.archive_name.is_some()
    }

    /// The unit under the name it has when its archive is spelt `archive`; `None` when that is how it was spelt.
    pub(crate) fn respelt(&self, archive: &InputSource) -> Option<Unit> {
        let (spelt, member) = self.name.split_at_checked(self.archive_name?)?;
        (spelt != &*archive.name).then(|| Unit {
            name: format!("{}{member}", archive.name).into(),
            archive_name: Some(archive.name.len()),
            is_device_runtime: archive.is_device_runtime,
            has_runtime_name: archive.has_runtime_name,
            ..self.clone()
        })
    }
}

/// One input of the command line.
#[derive(Debug, Clone)]
pub(crate) struct InputSource {
    pub(crate) name: Arc<str>,
    pub(crate) reader: Reader,
    pub(crate) is_device_runtime: bool,
    /// The path says device runtime, whether or not it is treated as such.
    pub(crate) has_runtime_name: bool,
    /// The identity of an archive.
    pub(crate) archive: Option<FileId>,
    pub(crate) units: Range<usize>,
}

/// All inputs.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Messages of the library search, which come first.
    pub(crate) search_messages: Vec<Message>,
    /// Libraries that gave nothing, which matters only when references stay undefined.
    pub(crate) passed_over: Vec<Message>,
    pub(crate) sources: Vec<InputSource>,
    pub(crate) units: Vec<Unit>,
    archives: HashMap<FileId, Range<usize>, FixedState>,
}

/// A file that was opened, and what can be told from it alone.
struct LookedAt {
    name: Arc<str>,
    /// The path says device runtime.
    has_runtime_name: bool,
    /// Its route; what it is, if there is none.
    routed: io::Result<(Opened, Result<Route, FileKind>)>,
}

impl LookedAt {
    fn new(path: &Path, opened: io::Result<Opened>, options: &LoadOptions) -> Self {
        let name: Arc<str> = path.to_string_lossy().into();
        let route = |bytes: &[u8]| {
            if options.is_nvlink() {
                return Ok(detect::route(path.as_os_str().as_encoded_bytes(), bytes, options.lto.is_some()));
            }
            let content = FileKind::of(bytes);
            detect::route_by_content(content, options.lto.is_some()).ok_or(content)
        };
        LookedAt {
            has_runtime_name: device_runtime::is_device_runtime(&name),
            name,
            routed: opened.map(|file| {
                let route = route(&file.bytes);
                (file, route)
            }),
        }
    }
}

impl Plan {
    /// Opens and routes all inputs.
    pub(crate) fn new(inputs: &[&Path], options: &LoadOptions, files: &dyn Files) -> Plan {
        let mut plan = Plan::default();
        let libraries = plan.find_libraries(options, files);
        let libraries = libraries.iter().map(PathBuf::as_path);
        let paths: Vec<&Path> = inputs.iter().copied().chain(libraries).collect();
        plan.sources.reserve(paths.len());
        plan.units.reserve(paths.len());
        let is_parallel = options.threads != 1 && paths.len() >= PARALLEL_FROM;
        let opened = files.open_all(&paths, is_parallel);
        let look = |(path, opened)| LookedAt::new(path, opened, options);
        let looked_at: Vec<LookedAt> = match is_parallel {
            true => paths.par_iter().copied().zip(opened).map(look).collect(),
            false => paths.iter().copied().zip(opened).map(look).collect(),
        };
        for (path, file) in paths.iter().zip(looked_at) {
            plan.add(path, file, options, files);
        }
        plan
    }

    fn find_libraries(&mut self, options: &LoadOptions, files: &dyn Files) -> Vec<PathBuf> {
        let directories = library::directories(&options.library_directories, options.library_path.as_deref());
        let fails = Cell::new(false);
        let look_inside = |path: &Path, bytes: Option<&Bytes>| {
            if !options.is_nvlink() {
                return probe(path, bytes);
            }
            // nvlink quirk: once a skipped library was made an error, the next look into one fails.
            if fails.get() {
                return Probe::Unusable(vec![Message::fatal(LoadCode::InternalError)]);
            }
            let result = nvlink_probe(path, bytes, files);
            fails.set(result == Probe::Skip && options.warnings_as_errors && !options.disable_infos);
            result
        };
        let mut paths = Vec::new();
        for name in options.libraries.iter().filter(|name| !name.is_empty()) {
            let search = library::search(name, &directories, files, &look_inside);
            let warnings = search.warnings.into_iter().map(|code| Message {
                severity: Severity::Warning,
                code,
            });
            self.search_messages.extend(warnings);
            match search.found {
                // A library named twice counts where it was named first.
                Found::Archive(path) if paths.contains(&path) => {}
                Found::Archive(path) => paths.push(path),
                Found::Unusable(messages) => self.search_messages.extend(messages),
                found if options.is_nvlink() => self.search_messages.extend(nvlink_search_failure(&found)),
                Found::Nothing if !options.strict_libraries => match system_library(name, options, files) {
                    SystemLibrary::Device(path) if paths.contains(&path) => {}
                    SystemLibrary::Device(path) => paths.push(path),
                    SystemLibrary::HostOnly => {}
                    SystemLibrary::Missing => self.passed_over.push(search_failure(name, &Found::Nothing, &directories)),
                },
                found @ Found::Shared(_) if !options.strict_libraries => {
                    self.passed_over.push(search_failure(name, &found, &directories));
                }
                found => self.search_messages.push(search_failure(name, &found, &directories)),
            }
        }
        paths
    }

    fn add(&mut self, path: &Path, file: LookedAt, options: &LoadOptions, files: &dyn Files) {
        let has_runtime_name = file.has_runtime_name;
        let start = self.units.len();
        let mut source = InputSource {
            name: file.name,
            reader: Reader::None,
            is_device_runtime: has_runtime_name && !options.keep_system_libraries,
            has_runtime_name,
            archive: None,
            units: start..start,
        };
        match file.routed {
            Err(error) => self.problem(&source, vec![cannot_open(&source.name, &error, options)]),
            Ok((_, Err(content))) => {
                let problem = unusable(&source.name, unusable_content(content));
                self.problem(&source, vec![problem]);
            }
            Ok((file, Ok(route))) => self.route(path, &mut source, (file, route), options, files),
        }
        if source.archive.is_none() {
            source.units.end = self.units.len();
        }
        self.sources.push(source);
    }

    fn route(&mut self, path: &Path, source: &mut InputSource, (file, route): (Opened, Route), options: &LoadOptions, files: &dyn Files) {
        let path_bytes = path.as_os_str().as_encoded_bytes();
        let (reader, kind) = match route {
            Route::Ignore if options.is_nvlink() => return,
            Route::Ignore => {
                let file = source.name.to_string();
                let note = Message {
                    severity: Severity::Info,
                    code: LoadCode::HostFileIgnored { file },
                };
                return self.problem(source, vec![note]);
            }
            Route::Refuse(refusal) => return self.problem(source, refused(refusal, &source.name, options)),
            Route::Archive { .. } => {
                source.reader = Reader::Elf;
                source.archive = Some(file.id.clone());
                source.units = match self.archives.get(&file.id) {
                    Some(range) => range.clone(),
                    None => {
                        let start = self.units.len();
                        self.members(path, source, &file.bytes, options, files);
                        let range = start..self.units.len();
                        self.archives.insert(file.id, range.clone());
                        range
                    }
                };
                return;
            }
            Route::Device => (Reader::None, UnitKind::Device),
            Route::Fatbin => (Reader::Fatbinary, UnitKind::Fatbin),
            Route::Ptx => (Reader::Fatbinary, UnitKind::Ptx),
            Route::LtoIr => (Reader::None, UnitKind::LtoIr),
            Route::Host => (Reader::Elf, UnitKind::Host),
            Route::IgnoreObject if is_relocatable(&file.bytes) => (Reader::Elf, UnitKind::Passed),
            Route::IgnoreObject => return,
        };
        source.reader = reader;
        let ptx_name = path_bytes.ends_with(b".ptx");
        let unit = Unit {
            ptx_name,
            ..unit(source, source.name.clone(), kind, file.bytes)
        };
        self.units.push(unit);
    }

    fn problem(&mut self, source: &InputSource, messages: Vec<Message>) {
        let unit = unit(source, source.name.clone(), UnitKind::Problem(messages), Vec::new().into());
        self.units.push(unit);
    }

    /// Takes an archive apart.
    fn members(&mut self, path: &Path, source: &InputSource, archive: &Bytes, options: &LoadOptions, files: &dyn Files) {
        let lenient = options.is_nvlink();
        let members = match Members::new(archive, lenient) {
            Ok(members) => members,
            Err(error) => return self.problem(source, vec![unusable(&source.name, error.to_string())]),
        };
        let thin = members.is_thin();
        let mut is_empty = true;
        for member in members {
            is_empty = false;
            let member = match member {
                Ok(member) => member,
                Err(_) if lenient => return self.problem(source, nvlink_archive_failure(LoadCode::ArchiveFormat)),
                Err(error) => return self.problem(source, vec![unusable(&source.name, error.to_string())]),
            };
            let mut member_name = member.name;
            if lenient {
                member_name = up_to_slash(member_name);
            }
            let member_name = String::from_utf8_lossy(member_name);
            let name: Arc<str> = format!("{}:{member_name}", source.name).into();
            let bytes = match thin {
                false => archive.part(member.data),
                true => match open_thin(path, &member_name, lenient, files) {
                    Ok(bytes) => bytes,
                    Err(messages) => {
                        self.problem(source, messages);
                        if lenient {
                            return;
                        }
                        continue;
                    }
                },
            };
            match member_kind(&bytes, &name, options) {
                Some(kind) => self.units.push(Unit {
                    archive_name: Some(source.name.len()),
                    ..unit(source, name, kind, bytes)
                }),
                // nvlink quirk: the first member that is not an ELF file ends the archive.
                None => return,
            }
        }
        if is_empty && !lenient {
            let warning = Message {
                severity: Severity::Warning,
                code: LoadCode::EmptyArchive {
                    file: source.name.to_string(),
                },
            };
            self.problem(source, vec![warning]);
        }
    }
}

/// True for ELF files that hold code still to be linked, of whatever machine.
fn is_relocatable(bytes: &[u8]) -> bool {
    matches!(
        FileKind::of(bytes),
        FileKind::HostElf { e_type: 1 } | FileKind::DeviceElf { e_type: 1 }
    )
}

fn unit(source: &InputSource, name: Arc<str>, kind: UnitKind, bytes: Bytes) -> Unit {
    Unit {
        name,
        kind,
        bytes,
        archive_name: None,
        is_device_runtime: source.is_device_runtime,
        has_runtime_name: source.has_runtime_name,
        ptx_name: false,
    }
}

/// What to do with a member; `None` ends nvlink's walk.
fn member_kind(bytes: &[u8], name: &str, options: &LoadOptions) -> Option<UnitKind> {
    let content = FileKind::of(bytes);
    if options.is_nvlink() {
        return match content {
            FileKind::HostElf { e_type: 1 } => Some(UnitKind::Host),
            FileKind::HostElf { .. } | FileKind::DeviceElf { .. } if !is_relocatable(bytes) => Some(UnitKind::Problem(Vec::new())),
            FileKind::DeviceElf { .. } => Some(UnitKind::Passed),
            _ => None,
        };
    }
    Some(match content {
        FileKind::HostElf { e_type: 0 | 1 } => UnitKind::Host,
        FileKind::DeviceElf { .. } => UnitKind::Device,
        FileKind::Fatbin => UnitKind::Fatbin,
        FileKind::Ptx => UnitKind::Ptx,
        FileKind::LtoIr if options.lto.is_some() => UnitKind::LtoIr,
        FileKind::Archive { .. } => UnitKind::Problem(vec![unusable(name, "an archive inside an archive is not unpacked")]),
        other => UnitKind::Problem(vec![Message {
            severity: Severity::Warning,
            code: LoadCode::MemberIgnored {
                file: name.to_owned(),
                kind: other.describe(),
            },
        }]),
    })
}

/// Opens a member of a thin archive: beside the archive, or (nvlink) in the current directory.
fn open_thin(archive: &Path, member: &str, is_nvlink: bool, files: &dyn Files) -> Result<Bytes, Vec<Message>> {
    let path = match archive.parent() {
        Some(directory) if !is_nvlink => directory.join(member),
        _ => PathBuf::from(member),
    };
    files.open(&path).map(|file| file.bytes).map_err(|error| {
        if !is_nvlink {
            let reason = format!("member '{}' of the thin archive: {error}", path.display());
            return vec![unusable(&archive.to_string_lossy(), reason)];
        }
        let code = match files.is_dir(&path) {
            true => LoadCode::OutOfMemory,
            false => LoadCode::CannotOpen { file: member.to_owned() },
        };
        nvlink_archive_failure(code)
    })
}

fn unusable(file: &str, reason: impl Into<String>) -> Message {
    Message {
        severity: Severity::Error,
        code: LoadCode::Unusable {
            file: file.to_owned(),
            reason: reason.into(),
        },
    }
}

fn unusable_content(content: FileKind) -> &'static str {
    match content {
        FileKind::Empty => "the file is empty",
        FileKind::LtoIr => "LTO IR needs link-time optimization (-lto)",
        FileKind::Bitcode => "LLVM bitcode cannot be linked",
        _ => "neither a device object, fatbin, PTX text, host object nor archive",
    }
}

fn cannot_open(file: &str, error: &io::Error, options: &LoadOptions) -> Message {
    if options.is_nvlink() {
        return Message::fatal(LoadCode::CannotOpen { file: file.to_owned() });
    }
    unusable(file, error.to_string())
}

fn refused(refusal: Refusal, file: &str, options: &LoadOptions) -> Vec<Message> {
    let error = |code| Message {
        severity: Severity::Error,
        code,
    };
    match refusal {
        Refusal::TooShort => vec![Message::fatal(LoadCode::CannotOpen { file: file.to_owned() })],
        Refusal::CubinNotElf => vec![Message::fatal(LoadCode::CubinNotElf)],
        Refusal::CubinNotDevice => vec![Message::fatal(LoadCode::CubinNotDevice)],
        Refusal::FatbinFormat => vec![Message::fatal(LoadCode::FatbinFormat)],
        Refusal::PtxFormat => vec![error(options.unknown_binary()), Message::fatal(LoadCode::FatbinaryError)],
        Refusal::NvvmWithoutLto => vec![Message::fatal(LoadCode::NvvmWithoutLto)],
        Refusal::Bitcode => vec![Message::fatal(LoadCode::Bitcode)],
    }
}

/// nvlink reports the problem, then that its archive reader failed.
fn nvlink_archive_failure(code: LoadCode) -> Vec<Message> {
    vec![Message::fatal(code), Message::fatal(LoadCode::InternalError)]
}

fn nvlink_search_failure(found: &Found) -> Vec<Message> {
    match found {
        Found::Directory(_) => vec![Message::fatal(LoadCode::OutOfMemory)],
        _ => Vec::new(),
    }
}

fn search_failure(library: &str, found: &Found, directories: &[PathBuf]) -> Message {
    let library = library.to_owned();
    match found {
        Found::Shared(path) => Message {
            severity: Severity::Info,
            code: LoadCode::SharedLibrary {
                library,
                path: path.display().to_string(),
            },
        },
        Found::Directory(path) => unusable(&path.display().to_string(), "it is a directory, not an archive"),
        _ => Message {
            severity: Severity::Error,
            code: LoadCode::LibraryMissing {
                library,
                searched: directories.iter().map(|f| f.display().to_string()).collect(),
            },
        },
    }
}

/// A library of the host's own directories.
enum SystemLibrary {
    /// An archive with device code.
    Device(PathBuf),
    /// A library without device code.
    HostOnly,
    Missing,
}

fn system_library(name: &str, options: &LoadOptions, files: &dyn Files) -> SystemLibrary {
    let look_inside = |_: &Path, bytes: Option<&Bytes>| match bytes.is_some_and(|b| has_device_code(b)) {
        true => Probe::Archive,
        false => Probe::Skip,
    };
    let search = library::search(name, &options.system_directories, files, &look_inside);
    match search.found {
        Found::Archive(path) => SystemLibrary::Device(path),
        Found::Nothing if search.warnings.is_empty() => SystemLibrary::Missing,
        _ => SystemLibrary::HostOnly,
    }
}

/// True for an archive with a member that a device link can use.
fn has_device_code(archive: &[u8]) -> bool {
    let Ok(members) = Members::new(archive, false) else { return false };
    let mut contents = members.map_while(Result::ok).map(|m| m.data);
    contents.any(|data| match FileKind::of(data) {
        FileKind::DeviceElf { .. } | FileKind::Fatbin | FileKind::Ptx => true,
        FileKind::HostElf { .. } => HostObject::parse(data).is_ok_and(|host| host.fatbins.is_some()),
        _ => false,
    })
}

/// A library for culd: any archive.
fn probe(path: &Path, bytes: Option<&Bytes>) -> Probe {
    match bytes.map(|b| FileKind::of(b)) {
        Some(FileKind::Archive { .. }) => Probe::Archive,
        content => {
            let reason = match content {
                Some(_) => "not an archive",
                None => "it cannot be opened",
            };
            Probe::Unusable(vec![unusable(&path.to_string_lossy(), reason)])
        }
    }
}

/// A library for nvlink: an archive with a host object, after any number of device objects.
fn nvlink_probe(path: &Path, bytes: Option<&Bytes>, files: &dyn Files) -> Probe {
    /// Something else is skipped when it is shorter than this.
    const SHORT: usize = 9;
    let Some(bytes) = bytes else {
        return Probe::Skip;
    };
    let Ok(members) = Members::new(bytes, true) else {
        return match bytes.len() < SHORT {
            true => Probe::Skip,
            false => Probe::Unusable(nvlink_archive_failure(LoadCode::ArchiveFormat)),
        };
    };
    let thin = members.is_thin();
    for member in members {
        let Ok(member) = member else {
            return Probe::Unusable(nvlink_archive_failure(LoadCode::ArchiveFormat));
        };
        let content = match thin {
            false => FileKind::of(member.data),
            true => match open_thin(path, &String::from_utf8_lossy(up_to_slash(member.name)), true, files) {
                Ok(bytes) => FileKind::of(&bytes),
                Err(messages) => return Probe::Unusable(messages),
            },
        };
        match content {
            FileKind::HostElf { .. } => return Probe::Archive,
            FileKind::DeviceElf { .. } => {}
            _ => return Probe::Skip,
        }
    }
    Probe::Skip
}

/// nvlink quirk: a member's name ends at the first slash.
fn up_to_slash(name: &[u8]) -> &[u8] {
    name.split(|&b| b == b'/').next().unwrap_or_default()
}
