//! Running links and judging them.
//!
//! 1. [`case`]: a conformance case is a directory of sources and a `cmd` file with one link per line.
//! 2. [`run`]: one link is run in a directory, under limits; its result is an [`run::Outcome`].
//! 3. [`verdict`]: two outcomes are the same, or a [`verdict::Difference`] says how they differ.
//! 4. [`fixture`]: inputs with nvlink's outcomes, kept in the repository so that they can be replayed without nvlink.
//!
//! [`recipe`] makes damaged files from sound ones, [`elf`] finds their number fields; [`linker`] is the program under test,
//! [`fault_injection`] the faults that it has to survive.
//!
//! [`rng`] is the source of all random choices.
//!
//! The live comparison, the random test and the replay of recorded results all use these.
#![forbid(unsafe_code)]

pub mod case;
pub mod elf;
#[cfg(unix)]
pub mod fault_injection;
pub mod fixture;
pub mod linker;
pub mod recipe;
pub mod rng;
pub mod run;
pub mod tool_note;
pub mod verdict;

use std::path::PathBuf;

/// Why the harness itself could not do its work (a difference between linkers is not an error).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be used.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A tool could not be started.
    #[error("cannot run {tool}: {source}")]
    Start {
        /// The program.
        tool: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A tool ran and failed.
    #[error("{tool} failed ({status}):\n{text}")]
    Tool {
        /// The command.
        tool: String,
        /// Its exit status.
        status: String,
        /// What it printed.
        text: String,
    },
    /// Anything else, said in words.
    #[error("{0}")]
    Other(String),
}

impl Error {
    /// Adds the path to an I/O error: `.map_err(Error::file(&path))`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::File { path, source }
    }
}

/// Result of harness work.
pub type Result<T> = std::result::Result<T, Error>;

/// The directory of the conformance cases.
pub fn cases_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("cases")
}
