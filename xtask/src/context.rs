//! Where things are, and the linker under test.

use culd_tests::{Error, Result, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cargo's arguments for the tests beside the code.
pub(crate) const UNIT_TESTS: [&str; 4] = ["test", "--workspace", "--exclude", "culd-tests"];

/// Directories that every task needs.
pub(crate) struct Context {
    /// The repository.
    pub(crate) root: PathBuf,
    /// Cargo's target directory.
    pub(crate) target: PathBuf,
}

/// The repository that contains a directory. It comes before the one where this program was built: a build directory may have been copied into another
/// working tree, whose files are then meant.
fn repository(start: &Path) -> Option<&Path> {
    start.ancestors().find(|dir| dir.join("xtask/Cargo.toml").is_file())
}

impl Context {
    pub(crate) fn new() -> Self {
        let start = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent().filter(|root| root.is_dir());
        let root = repository(&start).or(built).unwrap_or(&start).to_owned();
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |t| root.join(t));
        Self { root, target }
    }

    /// Cargo in the repository.
    pub(crate) fn cargo(&self) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root);
        cargo
    }

    /// Programs of the dev profile; their directory. `tested`: the tests of the workspace have been built, and with them the programs; asking
    /// for single packages would build much again with other features.
    pub(crate) fn dev_programs(&self, tested: bool) -> Result<PathBuf> {
        let mut cargo = self.cargo();
        match tested {
            true => cargo.args(UNIT_TESTS).args(["--quiet", "--no-run"]),
            false => cargo.args(["build", "--quiet", "-p", "culd-fuzz", "-p", "culd"]),
        };
        succeed(&mut cargo)?;
        Ok(self.target.join("debug"))
    }

    /// The linker under test: the one given, or the release build of this tree.
    pub(crate) fn linker(&self, given: Option<&Path>) -> Result<Linker> {
        let culd = match given {
            Some(path) => path.canonicalize().map_err(Error::file(path))?,
            None => {
                succeed(self.cargo().args(["build", "--quiet", "--release", "-p", "culd", "--bin", "culd"]))?;
                self.target.join("release/culd")
            }
        };
        Linker::new(culd, &self.target.join("as-nvlink"))
    }
}

/// Runs a command that prints for itself to its good end.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|source| Error::Start {
        tool: command.get_program().to_string_lossy().into_owned(),
        source,
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Other(format!("{command:?}: {status}"))),
    }
}

/// culd under its two names.
pub(crate) struct Linker {
    /// The program.
    pub(crate) culd: PathBuf,
    /// A link to it that is called nvlink.
    pub(crate) as_nvlink: PathBuf,
}

impl Linker {
    fn new(culd: PathBuf, dir: &Path) -> Result<Self> {
        // one directory per process: runs with different linkers may go on side by side
        let dir = dir.join(std::process::id().to_string());
        let as_nvlink = run::as_nvlink(&culd, &dir)?;
        Ok(Self { culd, as_nvlink })
    }

    /// What `culd diff` says about two files (nvlink's first), cut to `lines`; nothing if it cannot say.
    pub(crate) fn explain(&self, nvlink: &Path, ours: &Path, lines: usize) -> Option<String> {
        let out = Command::new(&self.culd).arg("diff").args([nvlink, ours]).output().ok()?;
        let text = String::from_utf8_lossy(&out.stdout);
        // 1 is "they differ"; anything else is not an explanation
        (out.status.code() == Some(1) && !text.trim().is_empty()).then(|| text.lines().take(lines).collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        if let Some(dir) = self.as_nvlink.parent() {
            // a leftover file would be harmless
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_repository_of_the_current_directory_comes_first() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(super::repository(&here.join("src/dist")), here.parent());
        assert_eq!(super::repository(Path::new("/")), None);
    }
}
