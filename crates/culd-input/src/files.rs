//! Access to files, behind a small trait so that tests and embedders can bring their own.
//!
//! 1. A regular file of 64 KiB or more is mapped, a smaller one is read: one system call beats two and a page fault.
//!    Many small files are read side by side into one room: memory for each costs more than reading it.
//! 2. Anything else that can be read (a pipe, a device) is read up to 1 GiB.
//! 3. Directories and everything that fails are errors of the caller's file, never a panic.

use crate::bytes::Bytes;
use crate::mapped::Mapped;
use crate::room::Room;
use rayon::prelude::*;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Files of at least this size are mapped.
const MAP_FROM: u64 = 64 * 1024;
/// Most bytes taken from something without a size.
const READ_LIMIT: u64 = 1 << 30;

/// What makes two paths the same file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FileId {
    /// Device and inode.
    Inode(u64, u64),
    /// Resolved path, where there are no inodes.
    Path(PathBuf),
}

/// An opened file.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Contents.
    pub bytes: Bytes,
    /// Identity.
    pub id: FileId,
}

/// Where inputs come from.
pub trait Files: Sync {
    /// Opens a file for reading; directories are errors.
    fn open(&self, path: &Path) -> io::Result<Opened>;
    /// Opens many files, several at once if `parallel`.
    fn open_all(&self, paths: &[&Path], parallel: bool) -> Vec<io::Result<Opened>> {
        if parallel {
            paths.par_iter().map(|path| self.open(path)).collect()
        } else {
            paths.iter().map(|path| self.open(path)).collect()
        }
    }
    /// True when the path leads to something.
    fn exists(&self, path: &Path) -> bool;
    /// True for directories.
    fn is_dir(&self, path: &Path) -> bool;
    /// The current directory, without symbolic links.
    fn current_dir(&self) -> io::Result<PathBuf>;
}

/// The file system.
#[derive(Debug, Default, Clone, Copy)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        let (file, meta) = open(path)?;
        whole(path, file, &meta)
    }

    fn open_all(&self, paths: &[&Path], parallel: bool) -> Vec<io::Result<Opened>> {
        all(paths, parallel)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn is_dir(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        std::env::current_dir()
    }
}

fn open(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    Ok((file, meta))
}

/// Maps or reads one file.
fn whole(path: &Path, mut file: File, meta: &Metadata) -> io::Result<Opened> {
    let id = identity(path, meta)?;
    if meta.is_file() && meta.len() >= MAP_FROM {
        let bytes = Bytes::from_mapped(Mapped::new(&file)?);
        return Ok(Opened { bytes, id });
    }
    let mut bytes = Vec::with_capacity(meta.len().min(MAP_FROM) as usize + 1);
    file.by_ref().take(READ_LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > READ_LIMIT {
        return Err(io::Error::other("more than 1 GiB without an end"));
    }
    Ok(Opened { bytes: bytes.into(), id })
}

/// Opens many files; the small ones share a room.
fn all(paths: &[&Path], parallel: bool) -> Vec<io::Result<Opened>> {
    let size = |path: &&Path| match path.metadata() {
        Ok(meta) if meta.is_file() && meta.len() < MAP_FROM => meta.len() as usize,
        // Large, no file, or not there at all: opening it will tell.
        _ => 0,
    };
    let sizes: Vec<usize> = if parallel {
        paths.par_iter().map(size).collect()
    } else {
        paths.iter().map(size).collect()
    };
    let mut room = Room::new(sizes.iter().sum());
    let mut rest = &mut *room;
    let mut start = 0;
    let mut slots = Vec::with_capacity(paths.len());
    for (path, size) in paths.iter().zip(sizes) {
        let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
        slots.push(Slot { path, start, place });
        rest = tail;
        start += size;
    }
    let read: Vec<_> = if parallel {
        slots.into_par_iter().map(Slot::read).collect()
    } else {
        slots.into_iter().map(Slot::read).collect()
    };
    let shared = Bytes::from(room);
    let finish = |read| match read {
        InRoom::Shared(range, id) => Opened {
            bytes: shared.slice(range).unwrap_or_else(|| Vec::new().into()),
            id,
        },
        InRoom::Alone(opened) => opened,
    };
    read.into_iter().map(|r| r.map(finish)).collect()
}

/// A file and its place in the room.
struct Slot<'a> {
    path: &'a Path,
    start: usize,
    place: &'a mut [u8],
}

/// What a file came to.
enum InRoom {
    /// A range of the room.
    Shared(Range<usize>, FileId),
    /// By itself.
    Alone(Opened),
}

impl Slot<'_> {
    fn read(self) -> io::Result<InRoom> {
        let (mut file, meta) = open(self.path)?;
        // Also what changed since its size was asked for.
        if self.place.is_empty() || !meta.is_file() || meta.len() != self.place.len() as u64 {
            return whole(self.path, file, &meta).map(InRoom::Alone);
        }
        let end = self.start + read_up_to(&mut file, self.place)?;
        Ok(InRoom::Shared(self.start..end, identity(self.path, &meta)?))
    }
}

/// Fills the place, or as much of it as the file still has.
fn read_up_to(file: &mut File, place: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while let Some(left) = place.get_mut(done..).filter(|left| !left.is_empty()) {
        match file.read(left) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

#[cfg(unix)]
fn identity(_path: &Path, meta: &Metadata) -> io::Result<FileId> {
    use std::os::unix::fs::MetadataExt;
    Ok(FileId::Inode(meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path, _meta: &Metadata) -> io::Result<FileId> {
    path.canonicalize().map(FileId::Path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_read_and_large_ones_mapped() {
        let dir = tempfile::tempdir().unwrap();
        let small = dir.path().join("small");
        let large = dir.path().join("large");
        std::fs::write(&small, b"x").unwrap();
        std::fs::write(&large, vec![7; MAP_FROM as usize]).unwrap();
        assert!(!Disk.open(&small).unwrap().bytes.is_mapped());
        let opened = Disk.open(&large).unwrap();
        assert!(opened.bytes.is_mapped());
        std::fs::remove_file(&large).unwrap();
        assert_eq!(opened.bytes.len() as u64, MAP_FROM, "a removed file stays readable");
        assert!(Disk.open(&large).is_err());
        assert!(Disk.open(dir.path()).is_err());
    }
}
