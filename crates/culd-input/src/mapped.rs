//! Files mapped into memory: the only unsafe code of the crate.

#![allow(unsafe_code, reason = "mapping a file is unsafe by nature; everything else of the crate is safe")]

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// A file mapped for reading.
pub(crate) struct Mapped(Mmap);

impl Mapped {
    /// Maps the whole file.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the mapping is private and read-only, and the program never writes to its inputs. As with every linker that maps
        // its inputs, another process that truncates the file meanwhile ends this one with SIGBUS; removing or replacing it is harmless.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Mapped(map))
    }

    /// The file's bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }
}
