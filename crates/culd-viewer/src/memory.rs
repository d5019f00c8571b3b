//! Files that are in memory, for the loader.

use crate::File;
use culd_input::Files;
use culd_input::files::{FileId, Opened};
use std::io;
use std::path::{Path, PathBuf};

/// The files that the page handed over.
pub(crate) struct Memory<'f> {
    pub(crate) files: &'f [File],
}

impl Memory<'_> {
    fn find(&self, path: &Path) -> Option<(usize, &File)> {
        self.files.iter().enumerate().find(|(_, f)| Path::new(&f.0) == path)
    }
}

impl Files for Memory<'_> {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        let (at, file) = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Opened {
            bytes: file.1.clone().into(),
            id: FileId::Inode(0, at as u64),
        })
    }

    fn exists(&self, path: &Path) -> bool {
        self.find(path).is_some()
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }

    fn current_dir(&self) -> io::Result<PathBuf> {
        Ok(PathBuf::from("/"))
    }
}
