//! `cargo xtask oracle`: the pinned NVIDIA tools.
//!
//! 1. `CULD_ORACLE`, if set, names a directory with the tools: nothing is installed.
//! 2. `target/oracle/stamp` equal to `xtask/oracle.txt`: they are there.
//! 3. Otherwise a fresh virtual environment is made (or, where Python has no `venv`, a plain directory) and pip installs the list into it.
//! 4. The directory that holds `nvlink` is looked up and checked, then the stamp is written.
//!
//! ptxas of other toolkits (`xtask/toolkits.txt`), see [`ptxas`]: from `CULD_TOOLKITS`, from the packages above, or installed one by one.

use crate::context::Context;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PINNED: &str = include_str!("../oracle.txt");
const TOOLKITS: &str = include_str!("../toolkits.txt");
const TOOLS: [&str; 6] = ["nvlink", "ptxas", "nvcc", "fatbinary", "cuobjdump", "nvdisasm"];

/// The device runtime's library beside the programs of a toolkit: packages have it in `lib`, installed toolkits in `lib64`.
pub(crate) fn device_runtime(tools: &Path) -> Result<PathBuf> {
    let mut places = ["lib", "lib64"].into_iter().map(|d| tools.with_file_name(d).join("libcudadevrt.a"));
    let found = places.find(|p| p.exists());
    found.ok_or_else(|| Error::Other(format!("no libcudadevrt.a beside {}", tools.display())))
}

/// The directory with the NVIDIA tools, installed if need be.
pub(crate) fn bin_dir(context: &Context) -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("CULD_ORACLE") {
        let dir = PathBuf::from(dir);
        return check(&dir).map(|()| dir);
    }
    let root = context.root.join("target/oracle");
    let stamp = root.join("stamp");
    if std::fs::read_to_string(&stamp).is_ok_and(|s| s == PINNED) {
        return find(&root);
    }
    eprintln!("installing the oracle into {} (once)", root.display());
    install(&root, &context.root.join("xtask/oracle.txt"))?;
    let bin = find(&root)?;
    check(&bin)?;
    std::fs::write(&stamp, PINNED).map_err(Error::file(&stamp))?;
    Ok(bin)
}

fn install(root: &Path, list: &Path) -> Result<()> {
    // what is there stays: pip brings it to the pinned versions, and another run may be using it
    std::fs::create_dir_all(root).map_err(Error::file(root))?;
    let python = python()?;
    let venv = root.join("venv");
    let made = run(Command::new(&python).args(["-m", "venv"]).arg(&venv))?;
    let mut pip = if made.status.success() {
        let mut pip = Command::new(venv.join("bin/python"));
        pip.args(["-m", "pip", "install"]);
        pip
    } else {
        // some distributions ship Python without ensurepip; a plain directory does as well
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--target"]).arg(root.join("site"));
        pip
    };
    let out = run(pip.args(["--quiet", "--disable-pip-version-check", "--no-deps", "-r"]).arg(list))?;
    if out.status.success() {
        return Ok(());
    }
    Err(Error::Other(format!(
        "pip could not install the packages of xtask/oracle.txt. Needed: Python 3 with venv or pip, and a package index that can be reached.\n{}{}",
        String::from_utf8_lossy(&made.stderr),
        String::from_utf8_lossy(&out.stderr)
    )))
}

fn python() -> Result<PathBuf> {
    for name in ["python3", "python"] {
        if Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success()) {
            return Ok(name.into());
        }
    }
    Err(Error::Other(
        "no python3 on PATH: install Python 3 (with venv or pip) to get the real tools, or set CULD_ORACLE to a directory that holds them"
            .into(),
    ))
}

fn run(command: &mut Command) -> Result<Output> {
    command.output().map_err(|source| Error::Start {
        tool: format!("{command:?}"),
        source,
    })
}

/// ptxas of CUDA 12, which makes objects in the older form; it is beside the other packages.
pub(crate) fn old_ptxas(bin: &Path) -> Option<PathBuf> {
    let old = bin.parent()?.parent()?.join("cuda_nvcc/bin/ptxas");
    old.is_file().then_some(old)
}

/// A line of `xtask/toolkits.txt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Toolkit {
    /// Version of the package.
    pub(crate) version: &'static str,
    /// Name of the package.
    package: &'static str,
    /// Highest PTX version that its ptxas supports.
    pub(crate) ptx: &'static str,
    /// Whether it is used unless others are selected.
    pub(crate) is_default: bool,
}

/// The toolkits of the list, oldest first.
pub(crate) fn toolkits() -> Vec<Toolkit> {
    let lines = TOOLKITS.lines().filter(|l| !l.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some(Toolkit {
                version: words.next()?,
                package: words.next()?,
                ptx: words.next()?,
                is_default: words.next() == Some("default"),
            })
        })
        .collect()
}

/// The releases of CUDA 13 as toolkits; their compilers come with the rest of them ([`release`]).
pub(crate) fn releases() -> impl Iterator<Item = Toolkit> {
    let builds = cubin::release::RELEASES
        .iter()
        .filter(|r| r.toolkit >= 130 && std::ptr::eq(*r, cubin::release::Release::of_toolkit(r.toolkit)))
        .filter_map(|r| r.builds.last());
    builds.map(|build| Toolkit {
        version: build.version,
        package: "nvidia-cuda-nvcc",
        ptx: "9.0",
        is_default: false,
    })
}

/// ptxas of a toolkit, installed if need be:
///
/// 1. `CULD_TOOLKITS`, if set, names a directory; `VERSION/bin/ptxas` in it is used if it is there.
/// 2. The packages of the oracle include one older ptxas.
/// 3. Otherwise pip installs the package beside `target/oracle/toolkits/VERSION`, and the program alone is moved there. The move is the last step:
///    a program that is there is complete.
pub(crate) fn ptxas(context: &Context, tools: &Path, toolkit: Toolkit) -> Result<PathBuf> {
    let Toolkit { version, package, .. } = toolkit;
    if let Some(dir) = std::env::var_os("CULD_TOOLKITS") {
        let given = PathBuf::from(dir).join(version).join("bin/ptxas");
        if given.is_file() {
            return Ok(given);
        }
    }
    if PINNED.lines().any(|l| l == format!("{package}=={version}"))
        && let Some(pinned) = old_ptxas(tools)
    {
        return Ok(pinned);
    }
    let root = context.root.join("target/oracle/toolkits");
    let bin = root.join(version).join("bin");
    let program = bin.join("ptxas");
    if program.is_file() {
        return Ok(program);
    }
    eprintln!("installing ptxas {version} into {} (once)", bin.display());
    let partial = root.join(format!("{version}.{}", std::process::id()));
    let mut pip = Command::new(python()?);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
    ])
    .arg(&partial)
    .arg(format!("{package}=={version}"));
    let out = run(&mut pip)?;
    if !out.status.success() {
        return Err(Error::Other(format!(
            "pip could not install {package}=={version}\n{}",
            String::from_utf8_lossy(&out.stderr)
        )));
    }
    std::fs::create_dir_all(&bin).map_err(Error::file(&bin))?;
    let installed = partial.join("nvidia/cuda_nvcc/bin/ptxas");
    std::fs::rename(&installed, &program).map_err(Error::file(installed))?;
    std::fs::remove_dir_all(&partial).map_err(Error::file(partial))?;
    Ok(program)
}

/// A package that nvcc of a release needs besides its own.
struct Companion {
    package: &'static str,
    /// Whether every release has one. Otherwise the newest one that is not newer than the release serves.
    is_in_every_release: bool,
}

const COMPANIONS: [Companion; 5] = [
    Companion {
        package: "nvidia-nvvm",
        is_in_every_release: true,
    },
    Companion {
        package: "nvidia-cuda-crt",
        is_in_every_release: true,
    },
    Companion {
        package: "nvidia-cuda-runtime",
        is_in_every_release: true,
    },
    // link-time optimization
    Companion {
        package: "nvidia-nvjitlink",
        is_in_every_release: true,
    },
    Companion {
        package: "nvidia-cuda-cccl",
        is_in_every_release: false,
    },
];

impl Companion {
    /// What pip is requested; `None` if `version` is not one.
    fn requirement(&self, version: &str) -> Option<String> {
        let Self { package, .. } = self;
        let mut numbers = version.split('.');
        let (major, minor) = (numbers.next()?, numbers.next()?.parse::<u32>().ok()?);
        Some(match self.is_in_every_release {
            true => format!("{package}=={major}.{minor}.*"),
            false => format!("{package}>={major}.0,<{major}.{}", minor.checked_add(1)?),
        })
    }
}

/// The tools of another build of CUDA 13, installed if need be:
///
/// 1. `CULD_TOOLKITS`, if set, names a directory; `VERSION/bin` in it is used if it holds all tools, and the compiler of nvcc is beside it.
/// 2. Otherwise pip installs the packages beside `target/oracle/releases/VERSION`, which is moved there as the last step.
pub(crate) fn release(context: &Context, version: &str) -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os("CULD_TOOLKITS") {
        let home = PathBuf::from(dir).join(version);
        let bin = home.join("bin");
        if check(&bin).is_ok() && home.join("nvvm/bin/cicc").is_file() {
            return Ok(bin);
        }
    }
    let root = context.root.join("target/oracle/releases");
    let home = root.join(version);
    let bin = home.join("nvidia/cu13/bin");
    if home.is_dir() {
        return check(&bin).map(|()| bin);
    }
    eprintln!("installing CUDA {version} into {} (once)", home.display());
    let partial = root.join(format!("{version}.{}", std::process::id()));
    let own = COMPANIONS.iter().filter_map(|companion| companion.requirement(version));
    let dumps = PINNED
        .lines()
        .filter(|l| l.starts_with("nvidia-cuda-cuobjdump") || l.starts_with("nvidia-cuda-nvdisasm"));
    let mut pip = Command::new(python()?);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
    ]);
    pip.arg(&partial).arg(format!("nvidia-cuda-nvcc=={version}")).args(own).args(dumps);
    let out = run(&mut pip)?;
    if !out.status.success() {
        let text = String::from_utf8_lossy(&out.stderr);
        return Err(Error::Other(format!(
            "pip could not install the packages of CUDA {version}\n{text}"
        )));
    }
    check(&partial.join("nvidia/cu13/bin"))?;
    std::fs::rename(&partial, &home).map_err(Error::file(&partial))?;
    Ok(bin)
}

/// The directory below `root` that holds nvlink: its path names the Python version.
fn find(root: &Path) -> Result<PathBuf> {
    let mut candidates = vec![root.join("site/nvidia/cu13/bin")];
    if let Ok(entries) = std::fs::read_dir(root.join("venv/lib")) {
        candidates.extend(
            entries
                .filter_map(|e| e.ok())
                .map(|e| e.path().join("site-packages/nvidia/cu13/bin")),
        );
    }
    let found = candidates.into_iter().find(|c| c.join("nvlink").is_file());
    found.ok_or_else(|| Error::Other(format!("no nvlink below {}: remove that directory and try again", root.display())))
}

/// A directory with ptxas of CUDA 12 and nvJitLink in nvlink's place, installed if need be. `version` is that of ptxas.
///
/// 1. `CULD_LIBRARIES`, if set, names a directory; `deb-VERSION/bin` in it, with nvlink itself, or `jit-VERSION/bin` is used if it is there.
/// 2. Otherwise pip installs nvJitLink of the same minor release into `target/oracle/releases/jit-VERSION`.
pub(crate) fn library(context: &Context, version: &str) -> Result<PathBuf> {
    let name = format!("jit-{version}");
    if let Some(dir) = std::env::var_os("CULD_LIBRARIES") {
        let dir = PathBuf::from(dir);
        let mut given = [format!("deb-{version}"), name.clone()]
            .map(|n| dir.join(n).join("bin"))
            .into_iter();
        if let Some(bin) = given.find(|bin| check(bin).is_ok()) {
            return Ok(bin);
        }
    }
    let home = context.root.join("target/oracle/releases").join(&name);
    let bin = home.join("bin");
    if check(&bin).is_ok() {
        return Ok(bin);
    }
    let toolkit = toolkits().into_iter().find(|t| t.version == version);
    let toolkit = toolkit.ok_or_else(|| Error::Other(format!("xtask/toolkits.txt has no version {version}")))?;
    let compiler = ptxas(context, &home, toolkit)?;
    eprintln!("installing nvJitLink {version} into {} (once)", bin.display());
    let minor = version.rsplit_once('.').map_or(version, |(minor, _)| minor);
    let mut pip = Command::new(python()?);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
    ]);
    let out = run(pip.arg(home.join("site")).arg(format!("nvidia-nvjitlink-cu12=={minor}.*")))?;
    if !out.status.success() {
        let text = String::from_utf8_lossy(&out.stderr);
        return Err(Error::Other(format!("pip could not install nvJitLink {minor}\n{text}")));
    }
    std::fs::create_dir_all(&bin).map_err(Error::file(&bin))?;
    let files = [
        (compiler, "ptxas"),
        (context.root.join("xtask/jitlink.py"), "nvlink"),
        (home.join("site/nvidia/nvjitlink/lib").join(LIBRARY), LIBRARY),
    ];
    for (from, name) in files {
        let to = bin.join(name);
        std::fs::copy(&from, &to).map_err(Error::file(&from))?;
        // The script is not a program in every checkout.
        crate::system::make_program(&to).map_err(Error::file(&to))?;
    }
    check(&bin).map(|()| bin)
}

/// nvJitLink of CUDA 12, beside a program in nvlink's place.
pub(crate) const LIBRARY: &str = "libnvJitLink.so.12";

fn check(bin: &Path) -> Result<()> {
    let needed = if bin.join(LIBRARY).is_file() { 2 } else { TOOLS.len() };
    let missing: Vec<&str> = TOOLS.into_iter().take(needed).filter(|t| !bin.join(t).is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::Other(format!("{} lacks {}", bin.display(), missing.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::{COMPANIONS, toolkits};

    #[test]
    fn a_release_without_a_package_takes_the_one_before() {
        let asked: Vec<_> = COMPANIONS.iter().filter_map(|c| c.requirement("13.4.92")).collect();
        assert_eq!(asked.first().map(String::as_str), Some("nvidia-nvvm==13.4.*"));
        assert_eq!(asked.last().map(String::as_str), Some("nvidia-cuda-cccl>=13.0,<13.5"));
        assert!(COMPANIONS.iter().all(|c| c.requirement("13").is_none()));
    }

    #[test]
    fn every_line_of_the_list_is_a_toolkit() {
        let lines = super::TOOLKITS.lines().filter(|l| !l.starts_with('#')).count();
        let list = toolkits();
        assert_eq!(list.len(), lines);
        assert!(list.iter().any(|t| t.is_default) && list.iter().any(|t| !t.is_default));
        assert!(list.iter().all(|t| t.ptx.split_once('.').is_some()));
    }
}
