//! Inputs of a [`Linker`](super::Linker) as files for the loader.
//!
//! 1. Inputs are opened all at once and in order, so that two of them may have the same name.
//! 2. Bytes from memory are lent to the loader as shared storage; files are read, never mapped.
//! 3. Two inputs from memory are never the same file. Two paths are when they lead to the same inode.

use super::{Entry, InputKind};
use culd_input::files::{FileId, Opened};
use culd_input::{Bytes, Disk, Files};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Most bytes taken from something without a size.
const READ_LIMIT: u64 = 1 << 30;

/// Where an input comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// Memory.
    Memory {
        /// The kind that it must have.
        kind: Option<InputKind>,
        /// Name in diagnostics.
        name: String,
        /// Contents.
        bytes: Bytes,
    },
    /// A file.
    File(PathBuf),
}

impl Source {
    pub(super) fn memory(kind: Option<InputKind>, name: String, bytes: Vec<u8>) -> Self {
        let bytes = Bytes::from(bytes);
        Source::Memory { kind, name, bytes }
    }

    /// An input that is not of the kind it was given as: both kinds in words.
    pub(super) fn wrong_kind(&self) -> Option<(&str, &'static str, &'static str)> {
        let Source::Memory {
            kind: Some(kind),
            name,
            bytes,
        } = self
        else {
            return None;
        };
        let content = InputKind::of(bytes);
        let found = content.map_or("of an unknown kind", InputKind::describe);
        (content != Some(*kind)).then_some((name, kind.describe(), found))
    }
}

/// One input as the loader sees it.
#[derive(Debug)]
pub(super) struct Named {
    name: PathBuf,
    bytes: Option<Bytes>,
}

impl Named {
    pub(super) fn of(source: &Source) -> Self {
        match source {
            Source::Memory { name, bytes, .. } => Named {
                name: PathBuf::from(name),
                bytes: Some(bytes.clone()),
            },
            Source::File(path) => Named {
                name: path.clone(),
                bytes: None,
            },
        }
    }

    /// Everything that an entry brings.
    pub(super) fn all(entry: &Entry) -> Vec<Self> {
        match entry {
            Entry::Pending(source) => vec![Named::of(source)],
            Entry::Loaded(objects) => objects
                .iter()
                .map(|object| Named {
                    name: PathBuf::from(&*object.name),
                    bytes: Some(object.bytes.clone()),
                })
                .collect(),
        }
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }
}

/// The inputs, and files beside them.
#[derive(Debug)]
pub(super) struct Inputs<'a>(pub(super) &'a [Named]);

impl Files for Inputs<'_> {
    /// A file that is not an input: a library, a member of a thin archive.
    fn open(&self, path: &Path) -> io::Result<Opened> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(meta.len().min(READ_LIMIT)).unwrap_or_default() + 1);
        match meta.is_file() {
            true => file.read_to_end(&mut bytes)?,
            false => file.take(READ_LIMIT).read_to_end(&mut bytes)?,
        };
        let id = path.canonicalize().map(FileId::Path)?;
        Ok(Opened { bytes: bytes.into(), id })
    }

    fn open_all(&self, paths: &[&Path], _parallel: bool) -> Vec<io::Result<Opened>> {
        let known = self.0.iter().map(Some).chain(std::iter::repeat(None));
        let open = |(index, (path, named)): (usize, (&&Path, Option<&Named>))| match named.and_then(|n| n.bytes.clone()) {
            Some(bytes) => Ok(Opened {
                bytes,
                id: FileId::Path(PathBuf::from(format!("input {index}"))),
            }),
            None => self.open(path),
        };
        paths.iter().zip(known).enumerate().map(open).collect()
    }

    fn exists(&self, path: &Path) -> bool {
        Disk.exists(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        Disk.is_dir(path)
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        // Only paths to register are relative to it, and a library registers nothing.
        Ok(PathBuf::new())
    }
}
