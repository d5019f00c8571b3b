//! Toolkits of Linux distributions, whose programs are in two places.
//!
//! Debian and Ubuntu have ptxas, nvlink and others in `/usr/bin`, where nvcc is a script that starts `/usr/lib/nvidia-cuda-toolkit/bin/nvcc`. That one
//! finds the others through PATH, so that a view of either directory would run the distribution's nvlink.
//!
//! 1. [`Split::of`] recognizes such a toolkit by the script, or by an nvcc without a ptxas beside it.
//! 2. The view is one of the directory with nvcc. [`Split::complete`] adds links to the other programs, and a line to `nvcc.profile` with which nvcc
//!    searches the view first.

use super::{InstallError, has_program, io_error, link};
use culd_input::library;
use std::fs;
use std::path::{Path, PathBuf};

/// Programs of a toolkit beside nvcc and nvlink.
const PROGRAMS: [&str; 9] = [
    "__nvcc_device_query",
    "bin2c",
    "cu++filt",
    "cudafe++",
    "cuobjdump",
    "fatbinary",
    "nvdisasm",
    "nvprune",
    "ptxas",
];
/// No script that starts nvcc is larger.
const SCRIPT: u64 = 1 << 16;

/// A toolkit in two places.
pub(super) struct Split {
    /// The toolkit of nvcc.
    pub(super) home: PathBuf,
    /// The directory with ptxas.
    pub(super) programs: PathBuf,
}

impl Split {
    /// The two places of a toolkit that has them.
    pub(super) fn of(toolkit: &Path) -> Result<Option<Self>, InstallError> {
        let script = toolkit.join("bin/nvcc");
        if let Some(program) = started_by(&script) {
            let home = program.parent().and_then(Path::parent).filter(|_| program.is_file());
            return match home {
                Some(home) => Ok(Some(Split {
                    home: home.to_path_buf(),
                    programs: toolkit.join("bin"),
                })),
                None => Err(InstallError::Script { script, program }),
            };
        }
        let is_alone = cfg!(unix) && has_program(toolkit, "nvcc") && !has_program(toolkit, "ptxas");
        let path = std::env::var_os("PATH").filter(|_| is_alone);
        let programs = path.and_then(|path| library::listed(&path).into_iter().find(|d| d.join("ptxas").is_file()));
        Ok(programs.map(|programs| Split {
            home: toolkit.to_path_buf(),
            programs,
        }))
    }

    /// Adds to a view what nvcc would find elsewhere.
    pub(super) fn complete(&self, view: &Path) -> Result<(), InstallError> {
        let bin = view.join("bin");
        for name in PROGRAMS {
            let (program, at) = (self.programs.join(name), bin.join(name));
            if program.is_file() && !at.exists() {
                link(&program, &at).map_err(io_error(&at))?;
            }
        }
        let profile = bin.join("nvcc.profile");
        let mut text = fs::read_to_string(&profile).unwrap_or_default();
        text.push_str(&format!(
            "\n# culd: the programs of this view come first.\nPATH += {}:\n",
            bin.display()
        ));
        if profile.is_symlink() {
            fs::remove_file(&profile).map_err(io_error(&profile))?;
        }
        fs::write(&profile, text).map_err(io_error(&profile))
    }
}

/// The nvcc that a script starts, if it is one: the last absolute path in it that ends in `/nvcc`.
fn started_by(script: &Path) -> Option<PathBuf> {
    fs::metadata(script).ok().filter(|m| m.is_file() && m.len() < SCRIPT)?;
    let text = fs::read_to_string(script).ok().filter(|text| text.starts_with("#!"))?;
    let is_separator = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '=');
    let program = text.split(is_separator).rfind(|w| w.starts_with('/') && w.ends_with("/nvcc"))?;
    Some(program.into()).filter(|program: &PathBuf| program != script)
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_a_distribution_leads_to_its_toolkit() {
        let directory = tempfile::tempdir().unwrap();
        let (usr, home) = (directory.path().join("usr"), directory.path().join("usr/lib/toolkit"));
        fs::create_dir_all(usr.join("bin")).unwrap();
        fs::create_dir_all(home.join("bin")).unwrap();
        let real = home.join("bin/nvcc");
        let script = format!(
            "#!/bin/sh\n\nexport PATH=\"{0}/bin:$PATH\"\nexec {0}/bin/nvcc \"$@\"\n",
            home.display()
        );
        fs::write(usr.join("bin/nvcc"), script).unwrap();
        fs::write(usr.join("bin/ptxas"), "ptxas").unwrap();
        assert!(matches!(Split::of(&usr), Err(InstallError::Script { program, .. }) if program == real));
        fs::write(&real, "\x7fELF").unwrap();
        fs::write(directory.path().join("profile"), "LIBRARIES =+ -L/x\n").unwrap();
        link(&directory.path().join("profile"), &home.join("bin/nvcc.profile")).unwrap();

        let split = Split::of(&usr).unwrap().unwrap();
        assert_eq!((&split.home, &split.programs), (&home, &usr.join("bin")));
        let bin = directory.path().join("view/bin");
        fs::create_dir_all(&bin).unwrap();
        link(&home.join("bin/nvcc.profile"), &bin.join("nvcc.profile")).unwrap();
        split.complete(&directory.path().join("view")).unwrap();
        assert_eq!(fs::read(bin.join("ptxas")).unwrap(), b"ptxas");
        let profile = fs::read_to_string(bin.join("nvcc.profile")).unwrap();
        assert!(profile.starts_with("LIBRARIES") && profile.ends_with(&format!("PATH += {}:\n", bin.display())));
        // What the toolkit has is not changed.
        assert_eq!(fs::read(directory.path().join("profile")).unwrap(), b"LIBRARIES =+ -L/x\n");
    }

    #[test]
    fn a_toolkit_in_one_place_is_not_split() {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("bin");
        fs::create_dir(&bin).unwrap();
        fs::write(bin.join("ptxas"), "").unwrap();
        for nvcc in ["\x7fELF /usr/bin/nvcc", "#!/bin/sh\nexec ccache nvcc.real\n"] {
            fs::write(bin.join("nvcc"), nvcc).unwrap();
            assert!(Split::of(directory.path()).unwrap().is_none());
        }
    }
}
