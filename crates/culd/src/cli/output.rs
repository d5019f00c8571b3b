//! Writes files atomically: another process sees the old file or the whole new one.
//!
//! 1. `-` is standard output. What is not a regular file (a pipe, a terminal, `/dev/null`) is written directly.
//! 2. A regular or new file is written under a temporary name in the same directory and renamed over the final name. It gets the mode of
//!    the file it replaces, or the mode that the umask gives a new file. A link is followed: the file it points to is replaced.
//! 3. If no new file can be created in the directory, nothing is written: a failure while overwriting would lose the old file.
//! 4. A large old file stays open, so that the system frees it when the process ends and not in the rename: a large link does not wait for the end
//!    of its process (`subprocess`).
//!
//! Whatever happens, and be it SIGKILL, the name leads to the old file or to the new one. A killed process may leave a temporary file
//! (`.culd-` and six characters) behind; everything else removes it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot be opened.
    #[error("{0}")]
    Open(io::Error),
    /// Writing failed on the way.
    #[error("{0}")]
    Write(io::Error),
}

/// A regular file under a temporary name, written in parts and renamed in the end.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    started: Mutex<Option<Started>>,
    file: OnceLock<File>,
}

#[derive(Debug)]
struct Started {
    temp: tempfile::NamedTempFile,
    target: PathBuf,
    old: Option<Old>,
}

/// The file that an output replaces.
#[derive(Debug)]
struct Old {
    permissions: fs::Permissions,
    /// The file, if it is to be freed when the process ends.
    kept: Option<File>,
}

impl Old {
    fn new(meta: &fs::Metadata, file: File) -> Self {
        let kept = (meta.len() >= LARGE && is_local(&file)).then_some(file);
        Old {
            permissions: meta.permissions(),
            kept,
        }
    }
}

/// A file of this size takes long to free.
const LARGE: u64 = 4 << 20;

/// True where a name is gone at once although the file is open: NFS keeps another name for it.
#[cfg(target_os = "linux")]
fn is_local(file: &File) -> bool {
    /// Magic numbers of ext2 to ext4, XFS, btrfs, tmpfs, F2FS and overlayfs.
    const LOCAL: [u32; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630];
    rustix::fs::fstatfs(file).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &File) -> bool {
    false
}

impl Pending {
    /// For `path`; nothing happens before the first part.
    pub fn new(path: PathBuf) -> Self {
        Pending {
            path,
            started: Mutex::new(None),
            file: OnceLock::new(),
        }
    }

    /// Opens the temporary file; `None` where the path is to be written in another way.
    fn start(&self) -> Option<Started> {
        match place(&self.path).ok()? {
            Place::Direct => None,
            Place::Renamed { target, old } => Some(Started {
                temp: temporary(&target).ok()?,
                target,
                old,
            }),
        }
    }

    /// Gives the file its final name.
    pub fn finish(self) -> Result<(), WriteError> {
        let started = self.started.into_inner().unwrap_or_else(PoisonError::into_inner);
        started.map_or(Ok(()), Started::rename)
    }
}

impl Started {
    fn rename(self) -> Result<(), WriteError> {
        // WASI has no permissions.
        if let Some(old) = self.old.filter(|_| !cfg!(target_os = "wasi")) {
            fs::set_permissions(self.temp.path(), old.permissions).map_err(WriteError::Write)?;
            // Closed by the end of the process.
            std::mem::forget(old.kept);
        }
        self.temp.persist(&self.target).map(drop).map_err(|e| WriteError::Write(e.error))
    }
}

impl culd_engine::Sink for Pending {
    fn begin(&self, size: u64) -> io::Result<bool> {
        // WASI cannot open a file twice: there the image is written as a whole.
        if cfg!(target_os = "wasi") {
            return Ok(false);
        }
        let Some(started) = self.start() else { return Ok(false) };
        let file = started.temp.as_file().try_clone()?;
        reserve(&file, size)?;
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
        Ok(self.file.set(file).is_ok())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.file.get().ok_or(io::ErrorKind::NotFound)?;
        #[cfg(unix)]
        {
            std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
        }
        #[cfg(not(unix))]
        {
            use std::io::Seek;
            let _one_at_a_time = self.started.lock().unwrap_or_else(PoisonError::into_inner);
            let mut file: &File = file;
            file.seek(io::SeekFrom::Start(offset))?;
            file.write_all(bytes)
        }
    }
}

/// Gives a new file its size, with space on the disk where the file system can promise it: a full disk is found out before anything is
/// written, and the rename need not wait for the blocks to be found.
fn reserve(file: &File, size: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        match fallocate(file, FallocateFlags::empty(), 0, size.max(1)) {
            Ok(()) => return file.set_len(size),
            Err(Errno::NOSPC | Errno::FBIG | Errno::DQUOT) => return Err(io::ErrorKind::StorageFull.into()),
            Err(_) => {}
        }
    }
    file.set_len(size)
}

/// How a path is written.
enum Place {
    /// Byte by byte into what is there.
    Direct,
    /// Under another name first.
    Renamed {
        /// The file itself, at the end of all links.
        target: PathBuf,
        /// The file that is replaced.
        old: Option<Old>,
    },
}

fn place(path: &Path) -> Result<Place, WriteError> {
    if path == Path::new(STANDARD_OUTPUT) {
        return Ok(Place::Direct);
    }
    if cfg!(windows) && path.as_os_str().eq_ignore_ascii_case("nul") {
        return Ok(Place::Direct);
    }
    match fs::metadata(path) {
        // `/dev/stdout` may be a regular file that somebody else holds open.
        Ok(_) if path.starts_with("/dev") || path.starts_with("/proc") => Ok(Place::Direct),
        Ok(meta) if meta.is_file() => {
            // A file that may not be written may not be replaced either.
            let file = OpenOptions::new().write(true).open(path).map_err(WriteError::Open)?;
            Ok(Place::Renamed {
                target: end_of_links(path).map_err(WriteError::Open)?,
                old: Some(Old::new(&meta, file)),
            })
        }
        // Writing to a directory fails, as it should.
        Ok(_) => Ok(Place::Direct),
        Err(_) => Ok(Place::Renamed {
            target: follow(path).map_err(WriteError::Open)?,
            old: None,
        }),
    }
}

/// The file at the end of a chain of links, which is there.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    match cfg!(target_os = "wasi") {
        // WASI cannot resolve a whole path.
        true => follow(path),
        false => fs::canonicalize(path),
    }
}

/// The file at the end of a chain of links, which is not there yet.
fn follow(path: &Path) -> io::Result<PathBuf> {
    /// As many as the kernel follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

/// The name of standard output.
const STANDARD_OUTPUT: &str = "-";

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    if path == Path::new(STANDARD_OUTPUT) {
        let mut stdout = io::stdout().lock();
        return stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(WriteError::Write);
    }
    match place(path)? {
        Place::Direct => {
            // A device of Windows cannot be truncated.
            let mut file = OpenOptions::new()
                .write(true)
                .truncate(!cfg!(windows))
                .open(path)
                .map_err(WriteError::Open)?;
            file.write_all(bytes).map_err(WriteError::Write)
        }
        Place::Renamed { target, old } => {
            let mut temp = temporary(&target).map_err(WriteError::Open)?;
            temp.write_all(bytes).map_err(WriteError::Write)?;
            Started { temp, target, old }.rename()
        }
    }
}

/// A new file beside `path`, removed again unless it is renamed.
fn temporary(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let directory = match path.parent() {
        Some(p) if p != Path::new("") => p,
        _ => Path::new("."),
    };
    if path.file_name().is_none() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".culd-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The umask takes its part away, as from any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(directory)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        write(&path, b"one").unwrap();
        write(&path, b"two!").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two!");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(matches!(write(directory.path(), b"x"), Err(WriteError::Open(_))));
        assert!(matches!(write(&directory.path().join("no/such"), b"x"), Err(WriteError::Open(_))));
        assert!(matches!(write(Path::new(""), b"x"), Err(WriteError::Open(_))));
    }

    #[cfg(unix)]
    #[test]
    fn modes_and_links_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("out"), directory.path().join("link"));
        write(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        symlink("out", &link).unwrap();
        write(&link, b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
        let dangling = directory.path().join("dangling");
        symlink("later", &dangling).unwrap();
        write(&dangling, b"x").unwrap();
        assert_eq!(fs::read(directory.path().join("later")).unwrap(), b"x");
        assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
        let circle = directory.path().join("circle");
        symlink("circle", &circle).unwrap();
        assert!(matches!(write(&circle, b"x"), Err(WriteError::Open(_))));
    }

    #[cfg(unix)]
    #[test]
    fn an_input_can_be_replaced_while_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("both");
        write(&path, b"input").unwrap();
        let reader = File::open(&path).unwrap();
        write(&path, b"output").unwrap();
        assert_eq!(io::read_to_string(reader).unwrap(), "input");
        assert_eq!(fs::read(&path).unwrap(), b"output");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn parts_are_renamed_together_or_not_at_all() {
        use culd_engine::Sink;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        write(&path, b"old").unwrap();
        let pending = Pending::new(path.clone());
        assert!(pending.begin(6).unwrap());
        pending.write_at(3, b"two").unwrap();
        pending.write_at(0, b"one").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(pending);
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "what was begun and given up is removed"
        );
        let pending = Pending::new(path.clone());
        assert!(pending.begin(3).unwrap());
        pending.write_at(0, b"new").unwrap();
        pending.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert!(!Pending::new("/dev/null".into()).begin(3).unwrap(), "devices are not renamed");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_directly() {
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(matches!(write(Path::new("/dev/full"), b"x"), Err(WriteError::Write(_))));
    }
}
