//! `culd install-as-nvlink DIR [--toolkit DIR]`: a view of a CUDA toolkit whose nvlink is culd.
//!
//! nvcc runs the nvlink of its own folder, whatever PATH says. So the view has a `bin` full of links to the toolkit's programs, with one
//! exception: its `nvlink` is this program. Everything else in the toolkit is linked as it is. The toolkit itself is not changed.
//!
//! 1. Find the toolkit: `--toolkit`, CUDA_HOME, CUDA_PATH, or the folder above the `nvcc` in PATH.
//! 2. The view must be new or empty, or an earlier view (then it is made again).
//! 3. Link every entry of the toolkit but `bin`; make `bin`, link every program of the toolkit's `bin` but `nvlink`.
//! 4. `bin/nvlink` becomes a link to this program.

use crate::messages::{Console, Said};
use crate::os;
use culd::Severity;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand.
pub const COMMAND: &str = "install-as-nvlink";

/// Marks a folder as a view that may be made again.
const MARK: &str = ".culd-toolkit-view";

#[derive(Debug, thiserror::Error)]
enum InstallError {
    #[error("usage: culd {COMMAND} <folder> [--toolkit <folder>]")]
    Usage,
    #[error("no CUDA toolkit found: name one with --toolkit or CUDA_HOME, or put nvcc in PATH")]
    NoToolkit,
    #[error("{} has no bin/nvcc", .0.display())]
    NotAToolkit(PathBuf),
    #[error("{} exists and is not a view made by culd", .0.display())]
    Occupied(PathBuf),
    #[error("{} lies inside the toolkit", .0.display())]
    InsideToolkit(PathBuf),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

/// Names the path that a system call failed on.
fn io_error(path: &Path) -> impl FnOnce(io::Error) -> InstallError {
    let path = path.to_path_buf();
    move |error| InstallError::Io { path, error }
}

/// Runs the subcommand.
pub fn run(arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    let done = parse(arguments).and_then(|(view, toolkit)| {
        let toolkit = find_toolkit(toolkit)?;
        let own = std::env::current_exe().map_err(io_error(Path::new("culd")))?;
        make_view(&view, &toolkit, &own).map(|()| view)
    });
    match done {
        Ok(view) => {
            println!(
                "{0} is ready. Use {0}/bin/nvcc, or -DCMAKE_CUDA_COMPILER={0}/bin/nvcc with CMake.",
                view.display()
            );
            ExitCode::SUCCESS
        }
        Err(e) => {
            console.say(Severity::Fatal, &Said::Own(e.to_string()));
            ExitCode::from(1)
        }
    }
}

fn parse(arguments: &[Vec<u8>]) -> Result<(PathBuf, Option<PathBuf>), InstallError> {
    let (mut view, mut toolkit) = (None, None);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == b"--toolkit" {
            toolkit = Some(os::path(arguments.next().ok_or(InstallError::Usage)?));
        } else if let Some(folder) = argument.strip_prefix(b"--toolkit=") {
            toolkit = Some(os::path(folder));
        } else if argument.starts_with(b"-") || view.is_some() {
            return Err(InstallError::Usage);
        } else {
            view = Some(os::path(argument));
        }
    }
    let view = std::path::absolute(view.ok_or(InstallError::Usage)?).map_err(io_error(Path::new(".")))?;
    Ok((view, toolkit))
}

fn find_toolkit(named: Option<PathBuf>) -> Result<PathBuf, InstallError> {
    let env = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let toolkit = named
        .or_else(|| env("CUDA_HOME"))
        .or_else(|| env("CUDA_PATH"))
        .or_else(toolkit_in_path)
        .ok_or(InstallError::NoToolkit)?;
    let toolkit = fs::canonicalize(&toolkit).map_err(io_error(&toolkit))?;
    match toolkit.join("bin/nvcc").exists() {
        true => Ok(toolkit),
        false => Err(InstallError::NotAToolkit(toolkit)),
    }
}

fn toolkit_in_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let nvcc = std::env::split_paths(&path).map(|d| d.join("nvcc")).find(|p| p.is_file())?;
    // nvcc may itself be a link into the toolkit.
    Some(fs::canonicalize(nvcc).ok()?.parent()?.parent()?.to_path_buf())
}

fn make_view(view: &Path, toolkit: &Path, own: &Path) -> Result<(), InstallError> {
    if view.starts_with(toolkit) {
        return Err(InstallError::InsideToolkit(view.to_path_buf()));
    }
    match fs::read_dir(view) {
        Ok(_) if view.join(MARK).exists() => fs::remove_dir_all(view).map_err(io_error(view))?,
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
    let mark = view.join(MARK);
    fs::write(&mark, "Made by culd install-as-nvlink; may be deleted.\n").map_err(io_error(&mark))?;
    link_entries(toolkit, view, "bin").map_err(io_error(view))?;
    link_entries(&toolkit.join("bin"), &bin, "nvlink").map_err(io_error(&bin))?;
    let nvlink = bin.join("nvlink");
    link(own, &nvlink).map_err(io_error(&nvlink))
}

/// Links every entry of a folder into another, but one.
fn link_entries(from: &Path, to: &Path, but: &str) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != but {
            link(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(target: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(windows)]
fn link(target: &Path, at: &Path) -> io::Result<()> {
    match target.is_dir() {
        true => std::os::windows::fs::symlink_dir(target, at),
        false => std::os::windows::fs::symlink_file(target, at),
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_view_differs_from_the_toolkit_only_in_nvlink() {
        let folder = tempfile::tempdir().unwrap();
        let (toolkit, view) = (folder.path().join("cuda"), folder.path().join("view"));
        fs::create_dir_all(toolkit.join("bin")).unwrap();
        fs::create_dir_all(toolkit.join("include")).unwrap();
        for program in ["nvcc", "nvlink", "ptxas"] {
            fs::write(toolkit.join("bin").join(program), program).unwrap();
        }
        let own = folder.path().join("culd");
        fs::write(&own, "culd").unwrap();
        // Twice: a view may be made again.
        make_view(&view, &toolkit, &own).unwrap();
        make_view(&view, &toolkit, &own).unwrap();
        assert_eq!(fs::read(view.join("bin/nvlink")).unwrap(), b"culd");
        assert_eq!(fs::read(view.join("bin/ptxas")).unwrap(), b"ptxas");
        assert!(view.join("include").is_dir());
        assert_eq!(fs::read(toolkit.join("bin/nvlink")).unwrap(), b"nvlink");
        assert!(matches!(
            make_view(&toolkit.join("view"), &toolkit, &own),
            Err(InstallError::InsideToolkit(_))
        ));
        assert!(matches!(make_view(folder.path(), &toolkit, &own), Err(InstallError::Occupied(_))));
    }
}
