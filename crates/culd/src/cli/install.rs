//! `culd install-as-nvlink DIR [--toolkit DIR] [--mode MODE]`: a view of a CUDA toolkit whose nvlink is culd.
//!
//! nvcc runs the nvlink of its own directory, whatever PATH is. So the view has a `bin` with links to the toolkit's programs; only its
//! `nvlink` is this program. Everything else in the toolkit is linked as it is. The toolkit itself is not changed.
//!
//! 1. Find the toolkit: `--toolkit`, CUDA_HOME, CUDA_PATH, or the directory above the `nvcc` or `ptxas` in PATH.
//! 2. Find its version. As nvlink, culd must support that release; under `--mode culd` any toolkit will do.
//! 3. The view must be new or empty, or an earlier view, which is then refreshed.
//! 4. Write the mark file, from which the view's nvlink takes its version and its mode ([`crate::cli::called`]).
//! 5. Link every entry of the toolkit but `bin`, and every program of `bin` but `nvlink`, which becomes a link to this program.
//!    On Windows this program is copied, and files are linked or copied as the rights of the user allow.
//! 6. Add what nvcc and nvlink look for and the layout lacks: `lib64` and `nvvm/lib64/libnvvm.so` (`complete`). Distributions have the programs of a
//!    toolkit in two places (`split`).

mod split;

use crate::cli::called::{self, Mode, VIEW_FILE};
use crate::cli::messages::{CliMessage, Console};
use crate::cli::os;
use culd_engine::Severity;
use culd_input::library;
use split::Split;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand.
pub const COMMAND: &str = "install-as-nvlink";

/// The text of `--help`.
pub const HELP: &str = "Makes a view of a CUDA toolkit: a directory of links to everything in it, but with culd as bin/nvlink.

Usage: culd install-as-nvlink <directory> [--toolkit <directory>] [--mode <mode>]

  --toolkit <directory>  the toolkit; without it that of CUDA_HOME, CUDA_PATH, or of the nvcc or ptxas in PATH
  --mode <mode>          nvlink (default): the messages, exit codes and bytes of the toolkit's nvlink
                         culd: culd's own messages and checks; CULD_FLAGS adds flags to every link
  --help                 show this help

Running the command again refreshes the view. Deleting the directory removes it; the toolkit is not changed.
";

#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum InstallError {
    #[error("{0}; see culd {COMMAND} --help")]
    Usage(String),
    #[error("no CUDA toolkit found: name one with --toolkit or CUDA_HOME, or put nvcc or ptxas in PATH")]
    NoToolkit,
    #[error("{} is not a CUDA toolkit: it has neither bin/nvcc nor bin/ptxas", .0.display())]
    NotAToolkit(PathBuf),
    #[error("{0}\n  --mode culd makes a view that links objects of every release")]
    Release(String),
    #[error("the release of {} is not known: it has no version.json, and no ptxas that runs\n  name it with {}, for example 13.0",
            .0.display(), called::VARIABLE)]
    NoVersion(PathBuf),
    #[error("{} is a script that starts {}, which is not there", .script.display(), .program.display())]
    Script { script: PathBuf, program: PathBuf },
    #[error("{} exists and is not a view made by culd", .0.display())]
    Occupied(PathBuf),
    #[error("{} is inside the toolkit", .0.display())]
    InsideToolkit(PathBuf),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Names the path that a system call failed on.
fn io_error(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_path_buf();
    move |error| InstallError::Io { path, error }
}

/// The arguments.
#[derive(Debug, Default)]
struct Request {
    view: Option<PathBuf>,
    toolkit: Option<PathBuf>,
    mode: Mode,
    help: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    match parse(arguments).and_then(install) {
        Ok(text) => {
            // Ignore EPIPE.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(e) => {
            console.say(Severity::Fatal, &CliMessage::Own(e.to_string()));
            ExitCode::from(1)
        }
    }
}

fn parse(arguments: &[Vec<u8>]) -> Result<Request, InstallError> {
    let mut request = Request::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let (name, attached) = match argument
            .iter()
            .position(|&b| b == b'=')
            .and_then(|at| argument.split_at_checked(at))
        {
            Some((name, value)) if name.starts_with(b"-") => (name, value.get(1..)),
            _ => (argument.as_slice(), None),
        };
        let mut value = || {
            let next = || arguments.next().map(Vec::as_slice);
            let missing = || InstallError::Usage(format!("{} needs a value", os::lossy(name)));
            attached.or_else(next).ok_or_else(missing)
        };
        match name {
            b"--help" | b"-h" => request.help = true,
            b"--toolkit" => request.toolkit = Some(os::path(value()?)),
            b"--mode" => {
                let word = os::lossy(value()?);
                let unknown = || InstallError::Usage(format!("--mode is nvlink or culd, not '{word}'"));
                request.mode = Mode::parse(&word).ok_or_else(unknown)?;
            }
            flag if flag.starts_with(b"-") => return Err(InstallError::Usage(format!("no flag {}", os::lossy(flag)))),
            _ if request.view.is_some() => return Err(InstallError::Usage("more than one directory".into())),
            _ => request.view = Some(os::path(argument)),
        }
    }
    Ok(request)
}

/// Makes the view; returns what to print.
fn install(request: Request) -> Result<String, InstallError> {
    if request.help {
        return Ok(HELP.into());
    }
    let view = request
        .view
        .ok_or_else(|| InstallError::Usage("no directory for the view".into()))?;
    let view = std::path::absolute(&view).map_err(io_error(&view))?;
    let mut toolkit = find_toolkit(request.toolkit)?;
    let own = std::env::current_exe().map_err(io_error(Path::new("culd")))?;
    let split = Split::of(&toolkit)?;
    let programs = split.as_ref().map_or_else(|| toolkit.join("bin"), |s| s.programs.clone());
    let mark = Mark::new(&toolkit, &programs, request.mode)?;
    if let Some(split) = &split {
        toolkit.clone_from(&split.home);
    }
    make_view(&view, &toolkit, &own, &mark)?;
    split.map_or(Ok(()), |split| split.complete(&view))?;
    Ok(format!("{}{}", mark.about(&view), usage(&view, &toolkit)))
}

/// How to use a view.
fn usage(view: &Path, toolkit: &Path) -> String {
    let view = view.display();
    match has_program(toolkit, "nvcc") {
        true => format!("Use {view}/bin/nvcc, or -DCMAKE_CUDA_COMPILER={view}/bin/nvcc with CMake.\n"),
        false => format!("It has no nvcc. Use --cuda-path={view} with clang, or put {view}/bin first in PATH.\n"),
    }
}

/// What the mark file of a view says.
struct Mark {
    version: Option<String>,
    mode: Mode,
}

impl Mark {
    /// For a toolkit and the directory of its ptxas; an error when its release is not supported.
    fn new(toolkit: &Path, programs: &Path, mode: Mode) -> Result<Self, InstallError> {
        let stated = called::toolkit_version(programs);
        if mode == Mode::Culd {
            let version = stated.map(|(version, _)| version);
            return Ok(Mark { version, mode });
        }
        let version = match (called::from_environment(), stated) {
            (Some(named), _) => named.map_err(InstallError::Release)?.build.version.to_owned(),
            (None, Some((text, file))) if cubin::release::Version::nearest(&text).is_none() => {
                return Err(InstallError::Release(called::unknown(&text, &file.display().to_string())));
            }
            (None, Some((text, _))) => text,
            (None, None) => return Err(InstallError::NoVersion(toolkit.to_path_buf())),
        };
        let version = Some(version);
        Ok(Mark { version, mode })
    }

    fn text(&self) -> String {
        let version = self.version.as_deref().unwrap_or("unknown");
        format!("{version} {}\nMade by culd {COMMAND}; may be deleted.\n", self.mode.word())
    }

    /// One line about what the view's nvlink is.
    fn about(&self, view: &Path) -> String {
        let view = view.display();
        let text = self.version.as_deref().unwrap_or("unknown version");
        let build = self
            .version
            .as_deref()
            .and_then(cubin::release::Version::nearest)
            .map(|v| v.build.version);
        match (self.mode, build) {
            (Mode::Culd, _) => format!("{view} is ready for CUDA {text}: its nvlink is culd, with culd's own messages and checks.\n"),
            (Mode::Nvlink, Some(build)) if build != text => {
                format!("{view} is ready for CUDA {text}: its nvlink is culd as nvlink {build}, the nearest build that was compared.\n")
            }
            (Mode::Nvlink, _) => format!("{view} is ready: its nvlink is culd as nvlink {text}.\n"),
        }
    }
}

/// True when a toolkit has a program.
pub fn has_program(toolkit: &Path, name: &str) -> bool {
    toolkit.join("bin").join(format!("{name}{EXE_SUFFIX}")).exists()
}

/// The toolkit that is meant.
pub fn find_toolkit(named: Option<PathBuf>) -> Result<PathBuf, InstallError> {
    let env = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let toolkit = named
        .or_else(|| env("CUDA_HOME"))
        .or_else(|| env("CUDA_PATH"))
        .or_else(|| toolkit_in_path("nvcc"))
        .or_else(|| toolkit_in_path("ptxas"))
        .ok_or(InstallError::NoToolkit)?;
    // A canonical path of Windows has a prefix that nvcc does not support.
    let canonical = if cfg!(windows) {
        std::path::absolute(&toolkit)
    } else {
        fs::canonicalize(&toolkit)
    };
    let toolkit = canonical.map_err(io_error(&toolkit))?;
    match has_program(&toolkit, "nvcc") || has_program(&toolkit, "ptxas") {
        true => Ok(toolkit),
        false => Err(InstallError::NotAToolkit(toolkit)),
    }
}

fn toolkit_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let name = format!("{program}{EXE_SUFFIX}");
    let found = library::listed(&path).into_iter().map(|d| d.join(&name)).find(|p| p.is_file())?;
    // The program may itself be a link into the toolkit.
    Some(fs::canonicalize(found).ok()?.parent()?.parent()?.to_path_buf())
}

fn make_view(view: &Path, toolkit: &Path, own: &Path, mark: &Mark) -> Result<(), InstallError> {
    if view.starts_with(toolkit) {
        return Err(InstallError::InsideToolkit(view.to_path_buf()));
    }
    match fs::read_dir(view) {
        Ok(entries) if view.join(VIEW_FILE).exists() => {
            // Windows does not remove a directory that is being read.
            drop(entries);
            fs::remove_dir_all(view).map_err(io_error(view))?;
        }
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(InstallError::Occupied(view.to_path_buf()));
            }
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(io_error(view)(e)),
    }
    let bin = view.join("bin");
    fs::create_dir_all(&bin).map_err(io_error(&bin))?;
    let file = view.join(VIEW_FILE);
    fs::write(&file, mark.text()).map_err(io_error(&file))?;
    link_entries(toolkit, view, &["bin", VIEW_FILE]).map_err(io_error(view))?;
    let nvlink = format!("nvlink{EXE_SUFFIX}");
    link_entries(&toolkit.join("bin"), &bin, &[&nvlink]).map_err(io_error(&bin))?;
    let nvlink = bin.join(nvlink);
    link_program(own, &nvlink).map_err(io_error(&nvlink))?;
    complete(view, toolkit).map_err(io_error(view))
}

/// Adds what nvcc and nvlink look for and a layout may lack.
///
/// 1. nvcc searches libraries in `lib64`. The wheels of PyPI have them in `lib`, conda in `targets/<platform>/lib`.
///    The wheels of CUDA 12 have a directory for each component ([`join_components`]).
/// 2. Link-time optimization loads `nvvm/lib64/libnvvm.so`. The wheels have `lib/libnvvm.so.4`. A directory on the way to the missing
///    file becomes a directory of the view, with links to the entries of the toolkit's.
fn complete(view: &Path, toolkit: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    join_components(view, toolkit)?;
    let libraries = library_directories(toolkit);
    if !view.join("lib64").exists()
        && let Some(libraries) = libraries.first()
    {
        link(libraries, &view.join("lib64"))?;
    }
    if view.join("nvvm/lib64/libnvvm.so").exists() {
        return Ok(());
    }
    let places = ["nvvm/lib64", "nvvm/lib"].iter().map(|d| toolkit.join(d)).chain(libraries);
    let Some(library) = places.filter_map(|d| newest_libnvvm(&d)).next() else {
        return Ok(());
    };
    for directory in ["nvvm", "nvvm/lib64"] {
        let at = view.join(directory);
        if at.is_symlink() {
            fs::remove_file(&at)?;
        }
        fs::create_dir_all(&at)?;
        if toolkit.join(directory).is_dir() {
            link_entries(&toolkit.join(directory), &at, &["lib64", "libnvvm.so"])?;
        }
    }
    link(&library, &view.join("nvvm/lib64/libnvvm.so"))
}

/// The wheels of CUDA 12 have a directory for each component: `cuda_nvcc`, `cuda_runtime`, `curand`. The view has the headers and libraries of all of
/// them, and the names without number that linkers look for.
fn join_components(view: &Path, toolkit: &Path) -> io::Result<()> {
    let Some(parent) = toolkit.parent().filter(|p| p.join("cuda_runtime/include").is_dir()) else {
        return Ok(());
    };
    if toolkit.join("include/cuda_runtime.h").exists() {
        return Ok(());
    }
    let mut components: Vec<PathBuf> = fs::read_dir(parent)?.filter_map(|e| Some(e.ok()?.path())).collect();
    components.sort();
    for (from, to) in [("include", "include"), ("lib", "lib64")] {
        let at = view.join(to);
        if at.is_symlink() {
            fs::remove_file(&at)?;
        }
        fs::create_dir_all(&at)?;
        for directory in components.iter().map(|c| c.join(from)).filter(|d| d.is_dir()) {
            for entry in fs::read_dir(&directory)?.filter_map(Result::ok) {
                let name = entry.file_name();
                let short = name
                    .to_str()
                    .and_then(|n| n.split_once(".so."))
                    .map(|(stem, _)| format!("{stem}.so"));
                for name in short.map(Into::into).into_iter().chain([name]) {
                    if !at.join(&name).is_symlink() {
                        link(&entry.path(), &at.join(&name))?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Directories with the toolkit's libraries, the one with the device runtime first.
fn library_directories(toolkit: &Path) -> Vec<PathBuf> {
    let platform = format!("targets/{}-linux/lib", std::env::consts::ARCH);
    let mut all = [platform.as_str(), "targets/sbsa-linux/lib", "lib64", "lib"]
        .iter()
        .map(|d| toolkit.join(d))
        .filter(|d| d.is_dir())
        .collect::<Vec<_>>();
    all.sort_by_key(|d| !d.join("libcudadevrt.a").exists());
    all
}

/// The file `libnvvm.so` of a directory, or the one with the highest number at its end.
fn newest_libnvvm(directory: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(directory).ok()?.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let numbered = names.filter_map(|name| {
        let rest = name.strip_prefix("libnvvm.so")?;
        let numbers: Option<Vec<u32>> = rest.split('.').skip(1).map(|n| n.parse().ok()).collect();
        Some((rest.is_empty(), numbers?, name))
    });
    numbered.max().map(|(.., name)| directory.join(name))
}

/// Links every entry of a directory into another, but some.
fn link_entries(from: &Path, to: &Path, but: &[&str]) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !but.iter().any(|name| entry.file_name() == *name) {
            link(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

/// Symbolic links need a privilege on Windows. Without it a file becomes a hard link, or a copy on another volume, and a directory becomes
/// a directory of such files.
#[cfg(not(unix))]
fn link(target: &Path, at: &Path) -> io::Result<()> {
    // A policy may forbid to follow links that could be made.
    if symlink(target, at).is_ok() && at.exists() {
        return Ok(());
    }
    match target.is_dir() {
        true => {
            fs::create_dir_all(at)?;
            link_entries(target, at, &[])
        }
        false => fs::hard_link(target, at).or_else(|_| fs::copy(target, at).map(drop)),
    }
}

#[cfg(windows)]
fn symlink(target: &Path, at: &Path) -> io::Result<()> {
    match target.is_dir() {
        true => std::os::windows::fs::symlink_dir(target, at),
        false => std::os::windows::fs::symlink_file(target, at),
    }
}

#[cfg(not(any(unix, windows)))]
fn symlink(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The view's nvlink. On Windows it is a copy: a program that runs cannot be replaced there, so a link would tie an update of culd to the view.
fn link_program(own: &Path, at: &Path) -> io::Result<()> {
    match cfg!(windows) {
        true => fs::copy(own, at).map(drop),
        false => link(own, at),
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const MARK: Mark = Mark {
        version: None,
        mode: Mode::Culd,
    };

    /// A toolkit with empty files.
    fn toolkit(at: &Path, files: &[&str]) {
        for file in files {
            let path = at.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
    }

    #[test]
    fn the_view_differs_from_the_toolkit_only_in_nvlink() {
        let directory = tempfile::tempdir().unwrap();
        let (cuda, view) = (directory.path().join("cuda"), directory.path().join("view"));
        toolkit(&cuda, &["bin/nvcc", "bin/nvlink", "bin/ptxas", "include/cuda.h"]);
        let own = directory.path().join("culd");
        fs::write(&own, "culd").unwrap();
        // Twice: a view may be refreshed.
        make_view(&view, &cuda, &own, &MARK).unwrap();
        make_view(&view, &cuda, &own, &MARK).unwrap();
        assert_eq!(fs::read(view.join("bin/nvlink")).unwrap(), b"culd");
        assert_eq!(fs::read(view.join("bin/ptxas")).unwrap(), b"bin/ptxas");
        assert!(view.join("include").is_dir());
        assert_eq!(fs::read(cuda.join("bin/nvlink")).unwrap(), b"bin/nvlink");
        let refused = |at: &Path| make_view(at, &cuda, &own, &MARK);
        assert!(matches!(refused(&cuda.join("view")), Err(InstallError::InsideToolkit(_))));
        assert!(matches!(refused(directory.path()), Err(InstallError::Occupied(_))));
    }

    #[test]
    fn every_layout_gets_its_libraries() {
        let read = |path: PathBuf| fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let platform = format!("targets/{}-linux/lib", std::env::consts::ARCH);
        let devrt = format!("{platform}/libcudadevrt.a");
        // Wheels of PyPI, a system toolkit, conda, and the wheels of CUDA 12 that have ptxas only.
        let layouts: [&[&str]; 4] = [
            &[
                "bin/nvcc",
                "lib/libcudadevrt.a",
                "lib/libnvvm.so.4",
                "nvvm/bin/cicc",
                "lib/libnvvm.so.3",
            ],
            &["bin/nvcc", "lib64/libcudadevrt.a", "nvvm/lib64/libnvvm.so", "nvvm/bin/cicc"],
            &["bin/nvcc", &devrt, "lib/libz.so", "nvvm/lib64/libnvvm.so.4", "nvvm/bin/cicc"],
            &["bin/ptxas", "nvvm/lib64/libnvvm.so", "nvvm/bin/cicc"],
        ];
        let expected = [
            ("lib/libcudadevrt.a", "lib/libnvvm.so.4"),
            ("lib64/libcudadevrt.a", "nvvm/lib64/libnvvm.so"),
            (devrt.as_str(), "nvvm/lib64/libnvvm.so.4"),
            ("", "nvvm/lib64/libnvvm.so"),
        ];
        for (files, (runtime, nvvm)) in layouts.iter().zip(expected) {
            let directory = tempfile::tempdir().unwrap();
            let (cuda, view) = (directory.path().join("cuda"), directory.path().join("view"));
            toolkit(&cuda, files);
            make_view(&view, &cuda, Path::new("/culd"), &MARK).unwrap();
            assert_eq!(read(view.join("nvvm/lib64/libnvvm.so")), nvvm);
            assert_eq!(read(view.join("nvvm/bin/cicc")), "nvvm/bin/cicc");
            if runtime.is_empty() {
                assert!(!view.join("lib64").exists());
            } else {
                assert_eq!(read(view.join("lib64/libcudadevrt.a")), runtime);
            }
            // The toolkit has no new entries.
            let entries = fs::read_dir(cuda.join("nvvm")).unwrap().count();
            assert_eq!(entries, 1 + usize::from(cuda.join("nvvm/lib64").exists()));
        }
    }

    #[test]
    fn components_of_wheels_are_joined() {
        let directory = tempfile::tempdir().unwrap();
        let (cuda, view) = (directory.path().join("nvidia/cuda_nvcc"), directory.path().join("view"));
        toolkit(&cuda, &["bin/ptxas", "include/crt/host.h", "lib/__init__.py"]);
        let runtime = directory.path().join("nvidia/cuda_runtime");
        toolkit(&runtime, &["include/cuda_runtime.h", "lib/libcudart.so.12", "lib/__init__.py"]);
        make_view(&view, &cuda, Path::new("/culd"), &MARK).unwrap();
        for file in [
            "include/crt/host.h",
            "include/cuda_runtime.h",
            "lib64/libcudart.so.12",
            "lib64/libcudart.so",
        ] {
            assert!(view.join(file).is_file(), "{file}");
        }
        assert!(!cuda.join("include/cuda_runtime.h").exists());
    }

    #[test]
    fn a_release_that_is_not_supported_is_refused_unless_the_mode_is_culd() {
        let directory = tempfile::tempdir().unwrap();
        let cuda = directory.path();
        toolkit(cuda, &["bin/ptxas"]);
        let of = |json: &str, mode| {
            fs::write(cuda.join("version.json"), json).unwrap();
            Mark::new(cuda, &cuda.join("bin"), mode).map(|m| m.text())
        };
        let v13 = r#"{"cuda_nvcc": {"version": "13.2.99"}}"#;
        let v11 = r#"{"cuda_nvcc": {"version": "11.8.89"}}"#;
        assert!(of(v13, Mode::Nvlink).is_ok_and(|t| t.starts_with("13.2.99 nvlink\n")));
        assert!(of(r#"{"cuda_nvcc": {"version": "12.5.82"}}"#, Mode::Nvlink).is_ok_and(|t| t.starts_with("12.5.82 nvlink\n")));
        assert!(of(v11, Mode::Culd).is_ok_and(|t| t.starts_with("11.8.89 culd\n")));
        assert!(of("{}", Mode::Culd).is_ok_and(|t| t.starts_with("unknown culd\n")));
        assert!(matches!(of(v11, Mode::Nvlink), Err(InstallError::Release(t)) if t.contains("11.8.89") && t.contains("13.0, 13.1, 13.2")));
        assert!(matches!(of("{}", Mode::Nvlink), Err(InstallError::NoVersion(_))));
    }
}
