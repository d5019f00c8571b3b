//! Writing files so that nobody sees half of one.
//!
//! 1. What is not a regular file (a pipe, a terminal, `/dev/null`) is written directly.
//! 2. A regular or new file is written under a temporary name in the same folder and renamed over the final name. It gets the mode of
//!    the file it replaces, or the mode that the umask gives a new file. A link is followed: the file it points to is replaced.
//! 3. Where the folder takes no new files but the file itself can be written, it is overwritten in place.

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
    old: Option<fs::Metadata>,
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
        let path = &self.path;
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return None;
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_file() => {
                OpenOptions::new().write(true).open(path).ok()?;
                let target = fs::canonicalize(path).ok()?;
                Some(Started {
                    temp: temporary(&target).ok()?,
                    target,
                    old: Some(meta),
                })
            }
            Err(_) if fs::symlink_metadata(path).is_err() => Some(Started {
                temp: temporary(path).ok()?,
                target: path.clone(),
                old: None,
            }),
            _ => None,
        }
    }

    /// Gives the file its final name.
    pub fn finish(self) -> Result<(), WriteError> {
        let started = self.started.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some(Started { temp, target, old }) = started else {
            return Ok(());
        };
        if let Some(old) = old {
            fs::set_permissions(temp.path(), old.permissions()).map_err(WriteError::Write)?;
        }
        temp.persist(&target).map(drop).map_err(|e| WriteError::Write(e.error))
    }
}

impl culd::Sink for Pending {
    fn begin(&self, size: u64) -> io::Result<bool> {
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

/// Writes a whole file.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    match fs::metadata(path) {
        // `/dev/stdout` may be a regular file that somebody else holds open.
        Ok(_) if path.starts_with("/dev") || path.starts_with("/proc") => in_place(path, bytes),
        Ok(meta) if meta.is_file() => replace(path, bytes, &meta),
        // Folders fail here as they should.
        Ok(_) => in_place(path, bytes),
        Err(_) => create(path, bytes),
    }
}

fn in_place(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).map_err(WriteError::Open)?;
    file.write_all(bytes).map_err(WriteError::Write)
}

fn create(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    // A dangling link is followed, so that the result lies where it points.
    if fs::symlink_metadata(path).is_ok() {
        let mut file = File::create(path).map_err(WriteError::Open)?;
        return file.write_all(bytes).map_err(WriteError::Write);
    }
    let mut temp = temporary(path).map_err(WriteError::Open)?;
    temp.write_all(bytes).map_err(WriteError::Write)?;
    temp.persist(path).map(drop).map_err(|e| WriteError::Write(e.error))
}

fn replace(path: &Path, bytes: &[u8], old: &fs::Metadata) -> Result<(), WriteError> {
    // A file that may not be written may not be replaced either.
    OpenOptions::new().write(true).open(path).map_err(WriteError::Open)?;
    let target = fs::canonicalize(path).map_err(WriteError::Open)?;
    let Ok(mut temp) = temporary(&target) else {
        return in_place(path, bytes);
    };
    temp.write_all(bytes).map_err(WriteError::Write)?;
    fs::set_permissions(temp.path(), old.permissions()).map_err(WriteError::Write)?;
    temp.persist(&target).map(drop).map_err(|e| WriteError::Write(e.error))
}

/// A new file beside `path`, removed again unless it is renamed.
fn temporary(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = match path.parent() {
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
    builder.tempfile_in(folder)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        write(&path, b"one").unwrap();
        write(&path, b"two!").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two!");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(matches!(write(folder.path(), b"x"), Err(WriteError::Open(_))));
        assert!(matches!(write(&folder.path().join("no/such"), b"x"), Err(WriteError::Open(_))));
        assert!(matches!(write(Path::new(""), b"x"), Err(WriteError::Open(_))));
    }

    #[cfg(unix)]
    #[test]
    fn modes_and_links_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        write(&path, b"one").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
        symlink("out", &link).unwrap();
        write(&link, b"two").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
        let dangling = folder.path().join("dangling");
        symlink("later", &dangling).unwrap();
        write(&dangling, b"x").unwrap();
        assert_eq!(fs::read(folder.path().join("later")).unwrap(), b"x");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_written_directly() {
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(matches!(write(Path::new("/dev/full"), b"x"), Err(WriteError::Write(_))));
    }
}
