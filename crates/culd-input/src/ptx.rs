//! Compiling PTX inputs with the real `ptxas`.
//!
//! 1. Find ptxas: the path given, `CULD_PTXAS`, beside the program, `PATH`, `CUDA_HOME/bin`; the first that exists.
//! 2. Options: architecture (without the suffix f), `-m64`, compile only, then those stored with the fatbin entry, then those of the command line.
//! 3. Hand the text over as an argument (`--input-as-string`) and let ptxas write `elf.o` in a directory of its own: this is how its
//!    messages and the record of its options come out as those of nvlink's built-in copy. Text too long for an argument is passed
//!    through a file; then only the record of a `-g` compilation differs, by the file's name.
//! 4. Its messages are kept as they are.

use crate::library;
use crate::message::WarningFlags;
use cubin::arch::{Arch, Suffix};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest text passed as an argument; Linux allows 128 KiB for one.
const ARGUMENT_LIMIT: usize = 120 * 1024;
/// The name that ptxas uses for text from an argument.
const INPUT_NAME: &str = "application ptx input";
/// The name of the compiler's program.
const PTXAS: &str = if cfg!(windows) { "ptxas.exe" } else { "ptxas" };
/// What ptxas calls its result when no name is given.
const OUTPUT_NAME: &str = "elf.o";

/// Options of the link that reach ptxas.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PtxOptions {
    /// `-Xptxas` items; blanks separate options.
    pub extra: Vec<String>,
    /// `-maxrregcount`.
    pub max_registers: Option<u32>,
    /// `-g`.
    pub debug: bool,
}

/// Where to look for ptxas.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PtxasSearch {
    /// `--ptxas`.
    pub given: Option<PathBuf>,
    /// `CULD_PTXAS`.
    pub variable: Option<PathBuf>,
    /// The directory of the program itself.
    pub program_dir: Option<PathBuf>,
    /// `PATH`.
    pub path: Option<OsString>,
    /// `CUDA_HOME` or `CUDA_PATH`.
    pub cuda_home: Option<PathBuf>,
}

impl PtxasSearch {
    /// The environment of the process.
    pub fn from_environment(given: Option<PathBuf>) -> Self {
        let variable = |name| std::env::var_os(name).filter(|v| !v.is_empty());
        let program = std::env::current_exe().ok();
        PtxasSearch {
            given,
            variable: variable("CULD_PTXAS").map(PathBuf::from),
            program_dir: program.and_then(|p| p.parent().map(Path::to_path_buf)),
            path: variable("PATH"),
            cuda_home: variable("CUDA_HOME").or_else(|| variable("CUDA_PATH")).map(PathBuf::from),
        }
    }

    /// The first ptxas there is; the places tried when there is none. One named outright is taken or nothing.
    pub fn find(&self) -> Result<PathBuf, Vec<String>> {
        if let Some(path) = self.given.as_ref().or(self.variable.as_ref()) {
            let text = path.display().to_string();
            return if path.is_file() { Ok(path.clone()) } else { Err(vec![text]) };
        }
        let path = self.path.as_deref().unwrap_or(OsStr::new(""));
        let home = self.cuda_home.iter().map(|h| h.join("bin"));
        let directories = self.program_dir.iter().cloned().chain(library::listed(path)).chain(home);
        let mut tried = Vec::new();
        for directory in directories {
            let candidate = directory.join(PTXAS);
            if candidate.is_file() {
                return Ok(candidate);
            }
            let text = directory.display().to_string();
            if !tried.contains(&text) {
                tried.push(text);
            }
        }
        Err(tried)
    }
}

/// What a compilation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The object; `None` when ptxas refused.
    pub object: Option<Vec<u8>>,
    /// Its messages, line by line.
    pub messages: Vec<String>,
    /// Duration.
    pub time: Duration,
}

/// Kind of output that ptxas makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PtxasOutput {
    /// An object to link.
    Object,
    /// A file to load, without a link.
    Program,
}

/// A compilation: everything that its result depends on.
#[derive(Debug, Clone, Copy)]
pub struct CompileRequest<'a> {
    /// The compiler.
    pub ptxas: &'a Path,
    /// The PTX; a NUL ends it.
    pub text: &'a [u8],
    /// Options stored with the fatbin entry.
    pub entry_options: &'a [u8],
    /// The architecture to compile for.
    pub target: Arch,
    /// Options of the link.
    pub options: &'a PtxOptions,
    /// Kind of output.
    pub makes: PtxasOutput,
}

/// Compiles PTX.
///
/// # Errors
///
/// ptxas cannot be run.
pub fn compile(request: &CompileRequest<'_>) -> io::Result<Compiled> {
    let CompileRequest {
        ptxas,
        text,
        entry_options,
        target,
        options,
        makes,
    } = *request;
    let directory = tempfile::Builder::new().prefix("culd-ptx").tempdir()?;
    // it runs in another directory, and nvcc may have put a relative one on PATH
    let mut command = Command::new(std::path::absolute(ptxas)?);
    // nvlink compiles for the plain architecture when it links for a family.
    let target = match target.suffix {
        Suffix::Family => Arch::new(target.number, Suffix::None),
        _ => target,
    };
    command
        .current_dir(directory.path())
        .arg(format!("-arch={target}"))
        .arg("-m64")
        .args((makes == PtxasOutput::Object).then_some("--compile-only"));
    command.args(split(&String::from_utf8_lossy(entry_options)));
    command.args(options.extra.iter().flat_map(|item| split(item)));
    if let Some(count) = options.max_registers {
        command.arg(format!("-maxrregcount={count}"));
    }
    if options.debug {
        command.arg("-g");
    }
    // A NUL ends the text, as it would end an argument.
    let text = text.split(|&b| b == 0).next().unwrap_or_default();
    match as_argument(text) {
        Some(argument) => command.arg("--input-as-string").arg(argument),
        None => {
            std::fs::write(directory.path().join(INPUT_NAME), text)?;
            command.arg(INPUT_NAME)
        }
    };
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).output()?;
    let time = start.elapsed();
    let object = match output.status.success() {
        true => Some(std::fs::read(directory.path().join(OUTPUT_NAME))?),
        false => None,
    };
    let said = [output.stderr, output.stdout].concat();
    let messages = String::from_utf8_lossy(&said).lines().map(str::to_owned).collect();
    Ok(Compiled { object, messages, time })
}

/// The switches for warnings that a compilation runs under.
pub(crate) fn warning_flags(entry_options: &[u8], options: &PtxOptions) -> WarningFlags {
    let stored = split(&String::from_utf8_lossy(entry_options));
    let given = options.extra.iter().flat_map(|item| split(item));
    stored
        .into_iter()
        .chain(given)
        .fold(WarningFlags::default(), |flags, option| WarningFlags {
            disabled: flags.disabled || matches!(option.as_str(), "-w" | "--disable-warnings"),
            as_errors: flags.as_errors || matches!(option.as_str(), "-Werror" | "--warning-as-error"),
        })
}

#[cfg(unix)]
fn as_argument(text: &[u8]) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt;
    (text.len() < ARGUMENT_LIMIT).then(|| OsStr::from_bytes(text))
}

#[cfg(not(unix))]
fn as_argument(text: &[u8]) -> Option<&OsStr> {
    let text = std::str::from_utf8(text).ok()?;
    (text.len() < ARGUMENT_LIMIT / 8).then(|| OsStr::new(text))
}

/// Splits an option string at blanks; double quotes keep blanks together.
fn split(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in options.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn options_are_split_at_blanks() {
        assert_eq!(
            split("-O1 --compile-only  -maxrregcount=40 "),
            ["-O1", "--compile-only", "-maxrregcount=40"]
        );
        assert_eq!(split("-x \"a b\"c \"\""), ["-x", "a bc", ""]);
        assert!(split("  ").is_empty());
    }

    #[test]
    fn a_path_given_is_taken_or_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let ptxas = directory.path().join(PTXAS);
        let search = |given: Option<PathBuf>| PtxasSearch {
            given,
            path: Some(directory.path().as_os_str().to_owned()),
            ..PtxasSearch::default()
        };
        assert_eq!(search(None).find(), Err(vec![directory.path().display().to_string()]));
        std::fs::write(&ptxas, b"").unwrap();
        assert_eq!(search(None).find(), Ok(ptxas));
        assert!(search(Some(directory.path().join("other"))).find().is_err());
    }
}
