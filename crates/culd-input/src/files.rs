//! Access to files, through a small trait so that tests and embedders can bring their own.
//!
//! 1. A regular file of 64 KiB or more is mapped, a smaller one is read: one system call beats two and a page fault.
//!    Many small files are read side by side into one buffer: memory for each costs more than reading it.
//! 2. Anything else that can be read (a pipe, a device) is read up to 1 GiB.
//! 3. Directories and everything that fails are errors of the caller's file, never a panic.

use crate::buffer::HugeBuffer;
use crate::bytes::Bytes;
use crate::mapped::Mapped;
use culd_base::pool;
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

/// Source of input files: a file system, or files in memory.
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

/// Standard input, up to its end.
pub fn standard_input() -> io::Result<Opened> {
    let mut bytes = Vec::new();
    read_limited(&mut io::stdin().lock(), &mut bytes)?;
    let id = FileId::Path(PathBuf::from("-"));
    Ok(Opened { bytes: bytes.into(), id })
}

fn read_limited(from: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    from.by_ref().take(READ_LIMIT + 1).read_to_end(bytes)?;
    if bytes.len() as u64 > READ_LIMIT {
        return Err(io::Error::other("more than 1 GiB without an end"));
    }
    Ok(())
}

/// Maps or reads one file.
fn whole(path: &Path, mut file: File, meta: &Metadata) -> io::Result<Opened> {
    let id = identity(path, meta)?;
    // WASI cannot map files.
    if meta.is_file() && meta.len() >= MAP_FROM && !cfg!(target_os = "wasi") {
        let bytes = Bytes::from_mapped(Mapped::new(&file)?);
        return Ok(Opened { bytes, id });
    }
    let mut bytes = Vec::with_capacity(meta.len().min(MAP_FROM) as usize + 1);
    read_limited(&mut file, &mut bytes)?;
    Ok(Opened { bytes: bytes.into(), id })
}

/// Opens many files; the small ones share a buffer.
fn all(paths: &[&Path], parallel: bool) -> Vec<io::Result<Opened>> {
    let small = |path: &&Path| {
        let meta = path.metadata().ok()?;
        let id = identity(path, &meta).ok()?;
        (meta.is_file() && meta.len() < MAP_FROM).then_some((meta.len() as usize, id))
    };
    // Large, no file, or not there at all: opening it will tell.
    let known: Vec<Option<(usize, FileId)>> = if parallel {
        paths.par_iter().map(small).collect()
    } else {
        paths.iter().map(small).collect()
    };
    // A byte more than there should be: a file that fills it has grown meanwhile.
    let size = |known: &Option<(usize, FileId)>| known.as_ref().map_or(0, |k| k.0 + 1);
    if parallel {
        pool::grow_heaps();
    }
    let mut buffer = HugeBuffer::new(known.iter().map(size).sum());
    let mut rest = &mut *buffer;
    let mut start = 0;
    let mut slots = Vec::with_capacity(paths.len());
    for (path, known) in paths.iter().zip(known) {
        let size = size(&known);
        let (place, tail) = std::mem::take(&mut rest).split_at_mut_checked(size).unwrap_or_default();
        let id = known.map(|k| k.1);
        slots.push(Slot { path, id, start, place });
        rest = tail;
        start += size;
    }
    let read: Vec<_> = if parallel {
        slots.into_par_iter().map(Slot::read).collect()
    } else {
        slots.into_iter().map(Slot::read).collect()
    };
    let shared = Bytes::from(buffer);
    let finish = |read| match read {
        ReadInto::Shared(range, id) => Opened {
            bytes: shared.slice(range).unwrap_or_else(|| Vec::new().into()),
            id,
        },
        ReadInto::Alone(opened) => opened,
    };
    read.into_iter().map(|r| r.map(finish)).collect()
}

/// A file and its place in the buffer.
struct Slot<'a> {
    path: &'a Path,
    /// Of a small file.
    id: Option<FileId>,
    start: usize,
    place: &'a mut [u8],
}

/// What a file came to.
enum ReadInto {
    /// A range of the buffer.
    Shared(Range<usize>, FileId),
    /// By itself.
    Alone(Opened),
}

impl Slot<'_> {
    fn read(self) -> io::Result<ReadInto> {
        if let (Some(id), Some(expected)) = (self.id, self.place.len().checked_sub(1)) {
            let read = read_enough(&mut File::open(self.path)?, self.place, expected)?;
            if read == expected {
                return Ok(ReadInto::Shared(self.start..self.start + read, id));
            }
            // It changed since its size was requested.
        }
        let (file, meta) = open(self.path)?;
        whole(self.path, file, &meta).map(ReadInto::Alone)
    }
}

/// Reads until there is `enough`, or the file ends.
fn read_enough(file: &mut File, place: &mut [u8], enough: usize) -> io::Result<usize> {
    let mut done = 0;
    while done < enough {
        match file.read(place.get_mut(done..).unwrap_or_default()) {
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

    #[test]
    fn many_files_are_what_each_is_alone() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = ["empty", "small", "large", "absent", "."]
            .iter()
            .map(|name| dir.path().join(name))
            .collect();
        std::fs::write(&paths[0], b"").unwrap();
        std::fs::write(&paths[1], b"abc").unwrap();
        std::fs::write(&paths[2], vec![7; MAP_FROM as usize]).unwrap();
        let list: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        for parallel in [false, true] {
            for (path, opened) in list.iter().zip(Disk.open_all(&list, parallel)) {
                match (opened, Disk.open(path)) {
                    (Ok(one), Ok(other)) => assert_eq!((&*one.bytes, &one.id), (&*other.bytes, &other.id)),
                    (one, other) => assert!(one.is_err() && other.is_err(), "{}", path.display()),
                }
            }
        }
    }

    #[test]
    fn files_that_change_meanwhile_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"four").unwrap();
        let id = Disk.open(&path).unwrap().id;
        for expected in [2, 3, 4, 5, 6] {
            let mut buffer = vec![0; expected + 1];
            let slot = Slot {
                path: &path,
                id: Some(id.clone()),
                start: 10,
                place: &mut buffer,
            };
            match slot.read().unwrap() {
                ReadInto::Shared(range, _) => assert_eq!((range, expected), (10..14, 4)),
                ReadInto::Alone(opened) => assert_eq!((&*opened.bytes, expected == 4), (&b"four"[..], false)),
            }
        }
    }
}
