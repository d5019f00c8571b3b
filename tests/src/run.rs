//! Runs one command line under limits and collects what it did.
//!
//! 1. A shell sets the limits (memory, size of files) and replaces itself by `timeout`, which replaces itself by the tool.
//! 2. Exit code, standard output and standard error are taken as they are; death by a signal counts as 128 + signal.
//! 3. Output files are those whose time stamp or size changed, or that are new.
//!
//! `CULD_RUNNER` is a program that runs the tool (`qemu-aarch64-static`, `wine`): then there is no limit of memory, and more time.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Seconds after which a link counts as hanging.
const SECONDS: u32 = 20;
/// The same for a tool of another platform.
const EMULATED_SECONDS: u32 = 180;
/// The variable that names the program that runs a tool of another platform.
pub const RUNNER_VARIABLE: &str = "CULD_RUNNER";
/// Address space in KiB: a damaged input makes nvlink allocate all memory.
const MEMORY_KIB: u32 = 6_000_000;
/// Size of a written file in blocks of 512 bytes.
const FILE_BLOCKS: u32 = 2_000_000;

/// What a link did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Exit code, or 128 + signal.
    pub exit: i32,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
    /// Every file that was written, by name.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Outcome {
    /// Whether the tool crashed, hung or reported an internal error: then its result is not a reference.
    pub fn crashed(&self) -> bool {
        // timeout gives 124 and 137; 136, 139 and 153 are SIGFPE, SIGSEGV and SIGXFSZ
        matches!(self.exit, 124 | 136 | 137 | 139 | 153) || self.exit > 255 || self.exit == 134 || self.internal_error().is_some()
    }

    /// The internal error that the tool reported.
    pub fn internal_error(&self) -> Option<&[u8]> {
        const WORDS: &[u8] = b"Internal error";
        let at = self.stderr.windows(WORDS.len()).position(|w| w == WORDS)?;
        self.stderr.get(at..)?.split(|&b| b == b'\n').next()
    }
}

/// The time stamp and size of every plain file in a directory.
pub type Stamps = BTreeMap<String, (SystemTime, u64)>;

/// Reads the stamps of the files in `dir`.
pub fn stamps(dir: &Path) -> Result<Stamps> {
    let mut out = Stamps::new();
    for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
        let entry = entry.map_err(Error::file(dir))?;
        let meta = entry.metadata().map_err(Error::file(entry.path()))?;
        if meta.is_file() {
            let time = meta.modified().map_err(Error::file(entry.path()))?;
            out.insert(entry.file_name().to_string_lossy().into_owned(), (time, meta.len()));
        }
    }
    Ok(out)
}

/// `PATH` with `tools` first: a linker that is given PTX looks for ptxas there.
pub fn search_path(tools: &Path) -> Result<OsString> {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(tools.to_owned()).chain(std::env::split_paths(&usual))).map_err(|e| Error::Other(e.to_string()))
}

/// Runs `tool` with `args` (shell words) in `dir`, with `tools` on its `PATH`. Files written there are read into the outcome and stay.
pub fn link(tool: &Path, args: &str, dir: &Path, tools: Option<&Path>) -> Result<Outcome> {
    link_with(tool, args, dir, tools, &[])
}

/// Environments under which a program that only uses memory that it set does the same: the C library fills fresh and freed memory with a pattern,
/// or takes it from elsewhere.
pub const OTHER_MEMORY: [&[(&str, &str)]; 4] = [
    &[],
    &[("MALLOC_PERTURB_", "85")],
    &[("MALLOC_PERTURB_", "170"), ("MALLOC_MMAP_THRESHOLD_", "4096")],
    &[("MALLOC_TOP_PAD_", "100000")],
];

/// Like [`link`], with more variables in the environment.
pub fn link_with(tool: &Path, args: &str, dir: &Path, tools: Option<&Path>, variables: &[(&str, &str)]) -> Result<Outcome> {
    let before = stamps(dir)?;
    let mut outcome = command(tool, args, dir, tools, variables)?;
    for (name, stamp) in stamps(dir)? {
        if before.get(&name) != Some(&stamp) {
            let path = dir.join(&name);
            outcome.files.insert(name, std::fs::read(&path).map_err(Error::file(path))?);
        }
    }
    Ok(outcome)
}

fn command(tool: &Path, args: &str, dir: &Path, tools: Option<&Path>, variables: &[(&str, &str)]) -> Result<Outcome> {
    // $0 is the tool: its path may hold spaces, and only the arguments are words for the shell
    let given = variables
        .iter()
        .find(|(name, _)| *name == RUNNER_VARIABLE)
        .map(|(_, value)| (*value).to_owned());
    let runner = given.or_else(|| std::env::var(RUNNER_VARIABLE).ok()).unwrap_or_default();
    let script = match (runner.is_empty(), cfg!(unix)) {
        (true, true) => format!("ulimit -v {MEMORY_KIB}; ulimit -f {FILE_BLOCKS}; exec timeout -k 1 {SECONDS} \"$0\" {args}"),
        // Windows: the shell of MSYS has no limits, and its `timeout` is not that of Windows.
        (true, false) => format!("exec \"$0\" {args}"),
        (false, _) => format!("exec timeout -k 1 {EMULATED_SECONDS} {runner} \"$0\" {args}"),
    };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(script).arg(tool).current_dir(dir);
    shell.envs(variables.iter().copied());
    if let Some(tools) = tools {
        shell.env("PATH", search_path(tools)?);
    }
    let out = shell.output().map_err(|source| Error::Start {
        tool: tool.display().to_string(),
        source,
    })?;
    let exit = out.status.code().or(signal(out.status).map(|s| 128 + s)).unwrap_or(255);
    Ok(Outcome {
        exit,
        stdout: out.stdout,
        stderr: out.stderr,
        files: BTreeMap::new(),
    })
}

#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> Option<i32> {
    None
}

/// A symbolic link to a program, or a copy where there are none.
pub fn link_program(target: &Path, at: &Path) -> Result<()> {
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(target, at);
    #[cfg(not(unix))]
    let linked = std::fs::copy(target, at).map(drop);
    linked.map_err(Error::file(at))
}

/// A link to `culd` in `dir` that is called nvlink, with the extension of `culd`: the name decides how it behaves.
pub fn as_nvlink(culd: &Path, dir: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(dir).map_err(Error::file(dir))?;
    let mut link = dir.join("nvlink");
    if let Some(extension) = culd.extension().filter(|e| *e == "exe") {
        link.set_extension(extension);
    }
    match std::fs::remove_file(&link) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(&link)(e)),
        _ => {}
    }
    link_program(culd, &link)?;
    Ok(link)
}
