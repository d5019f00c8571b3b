//! `culd doctor`: which programs and libraries of CUDA are found, and what works with them.
//!
//! 1. The toolkit: where `culd install-as-nvlink` would look, with its release and that of the nvlink in it.
//! 2. ptxas, for PTX inputs, and libnvJitLink, for link-time optimization, found as a link finds them.
//! 3. What does not fit together, one line each. Nothing is changed, and the exit code is 0 unless the arguments are wrong.

use crate::cli::messages::{CliMessage, Console};
use crate::cli::{called, install, load, lto, os};
use culd_engine::Severity;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The subcommand.
pub const COMMAND: &str = "doctor";

/// The text of `--help`.
pub const HELP: &str = "Shows which programs and libraries of CUDA are found, and what works with them.

Usage: culd doctor [--toolkit <directory>]

Without --toolkit, the toolkit is that of CUDA_HOME, CUDA_PATH, or of the nvcc or ptxas in PATH.
";

/// Runs the subcommand.
pub fn run(arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    let words: Vec<String> = arguments.iter().map(|a| os::lossy(a)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = match words.as_slice() {
        ["--help" | "-h"] => HELP.into(),
        [] => Findings::collect(None).text(),
        ["--toolkit", toolkit] => Findings::collect(Some(toolkit.into())).text(),
        [flag] if flag.starts_with("--toolkit=") => Findings::collect(flag.split_once('=').map(|(_, t)| t.into())).text(),
        _ => {
            console.say(
                Severity::Fatal,
                &CliMessage::Own("usage: culd doctor [--toolkit <directory>]".into()),
            );
            return ExitCode::from(1);
        }
    };
    // Ignore EPIPE.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// What was found.
#[derive(Debug)]
struct Findings {
    /// The toolkit, or why there is none.
    toolkit: Result<PathBuf, String>,
    /// Its version.
    version: Option<String>,
    has_nvcc: bool,
    /// ptxas and its version.
    ptxas: Result<(PathBuf, Option<String>), Vec<String>>,
    nvjitlink: Result<PathBuf, Vec<String>>,
}

impl Findings {
    fn collect(named: Option<PathBuf>) -> Self {
        let toolkit = install::find_toolkit(named).map_err(|e| e.to_string());
        let bin = toolkit.as_ref().ok().map(|t| t.join("bin"));
        let nvvm = toolkit.as_ref().ok().map(|t| t.join("nvvm"));
        let mut ptxas = load::ptxas_search(None);
        // A view of the toolkit would take the ptxas in it first.
        ptxas.program_dir = bin.clone().or(ptxas.program_dir);
        let with_version = |ptxas: PathBuf| {
            let version = called::program_version(&ptxas);
            (ptxas, version)
        };
        Findings {
            version: bin.as_deref().and_then(called::toolkit_version).map(|(version, _)| version),
            has_nvcc: toolkit.as_ref().is_ok_and(|t| install::has_program(t, "nvcc")),
            ptxas: ptxas.find().map(with_version),
            nvjitlink: lto::nvjitlink_search(None, nvvm).find(),
            toolkit,
        }
    }

    fn text(&self) -> String {
        let mut out = format!("culd          {}\n", env!("CARGO_PKG_VERSION"));
        let _ = writeln!(out, "as nvlink of  {}", called::releases());
        let version = self.version.as_deref().unwrap_or("unknown version");
        let _ = match &self.toolkit {
            Ok(path) => writeln!(out, "toolkit       {version}, {}", path.display()),
            Err(why) => writeln!(out, "toolkit       {why}"),
        };
        let _ = match (&self.toolkit, self.has_nvcc) {
            (Ok(path), true) => writeln!(out, "nvcc          {}", path.join("bin/nvcc").display()),
            _ => writeln!(out, "nvcc          not found"),
        };
        let _ = match &self.ptxas {
            Ok((path, version)) => writeln!(
                out,
                "ptxas         {}, {}",
                version.as_deref().unwrap_or("unknown version"),
                path.display()
            ),
            Err(tried) => writeln!(out, "ptxas         not found{}", culd_base::tried(tried)),
        };
        let _ = match &self.nvjitlink {
            Ok(path) => writeln!(out, "libnvJitLink  {}", path.display()),
            Err(tried) => writeln!(out, "libnvJitLink  not found{}", culd_base::tried(tried)),
        };
        let problems = self.problems();
        if problems.is_empty() {
            out += "\nEverything fits together.\n";
        }
        for problem in problems {
            let _ = write!(out, "\n- {problem}\n");
        }
        out
    }

    /// What will not work.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        match (&self.toolkit, &self.version) {
            (Err(_), _) => {
                problems.push("No toolkit: culd install-as-nvlink needs --toolkit. Linking cubins and objects works without one.".into())
            }
            (Ok(path), None) => problems.push(format!(
                "The release of {} is not known: culd install-as-nvlink needs {} or --mode culd.",
                path.display(),
                called::VARIABLE
            )),
            (Ok(_), Some(version)) if cubin::release::Version::nearest(version).is_none() => problems.push(format!(
                "culd cannot be the nvlink of CUDA {version}: use culd install-as-nvlink --mode culd."
            )),
            _ => {}
        }
        match (&self.ptxas, &self.version) {
            (Err(_), _) => problems.push(
                "No ptxas: inputs with PTX instead of code for the target cannot be linked. Name one with --ptxas or CULD_PTXAS.".into(),
            ),
            (Ok((path, Some(ptxas))), Some(toolkit)) if release(ptxas) != release(toolkit) => problems.push(format!(
                "{} is of CUDA {}, the toolkit of {}: PTX inputs become objects of the other release.",
                path.display(),
                release(ptxas),
                release(toolkit)
            )),
            _ => {}
        }
        match (&self.nvjitlink, &self.toolkit) {
            _ if culd_lto::CANNOT_LOAD.is_some() => problems.extend(culd_lto::CANNOT_LOAD.map(str::to_owned)),
            (Err(_), _) => problems.push(
                "No libnvJitLink: link-time optimization (-lto, nvcc -dlto) does not work. Name one with --nvjitlink or CULD_NVJITLINK."
                    .into(),
            ),
            (Ok(library), Ok(toolkit)) if !is_inside(library, toolkit) => problems.push(format!(
                "{} is not that of the toolkit: link-time optimization gives the code of its compiler.",
                library.display()
            )),
            _ => {}
        }
        problems
    }
}

/// `13.0` of `13.0.88`.
fn release(version: &str) -> &str {
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(at, _)| at);
    version.get(..end).unwrap_or(version)
}

/// Is the file in the directory, or reached through it? The libraries of a view are links to those of its toolkit.
fn is_inside(file: &Path, directory: &Path) -> bool {
    if file.starts_with(directory) {
        return file.exists();
    }
    match (file.canonicalize(), directory.canonicalize()) {
        (Ok(file), Ok(directory)) => file.starts_with(directory),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(toolkit: &str, ptxas: &str) -> Findings {
        Findings {
            toolkit: Ok("/cuda".into()),
            version: Some(toolkit.into()),
            has_nvcc: true,
            ptxas: Ok(("/other/ptxas".into(), Some(ptxas.into()))),
            nvjitlink: Err(vec!["/cuda/lib64".into()]),
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let problems = |toolkit, ptxas| findings(toolkit, ptxas).problems().join("\n");
        assert!(problems("13.4.92", "13.4.59").starts_with("No libnvJitLink"));
        assert!(problems("13.4.92", "13.0.88").starts_with("/other/ptxas is of CUDA 13.0, the toolkit of 13.4"));
        assert!(problems("11.8.89", "11.8.89").starts_with("culd cannot be the nvlink of CUDA 11.8.89"));
        let mut found = findings("13.4.92", "13.4.92");
        assert!(found.text().contains("libnvJitLink  not found (tried /cuda/lib64)\n"));
        found.nvjitlink = Err(Vec::new());
        found.ptxas = Err(Vec::new());
        assert!(found.text().contains("ptxas         not found\nlibnvJitLink  not found\n"));
    }

    #[cfg(unix)]
    #[test]
    fn libraries_of_a_view_are_those_of_its_toolkit() {
        let root = tempfile::tempdir().unwrap();
        let (lib, view) = (root.path().join("cuda/lib"), root.path().join("view"));
        std::fs::create_dir_all(&lib).unwrap();
        std::fs::create_dir_all(&view).unwrap();
        std::fs::write(lib.join("libnvJitLink.so.13"), "").unwrap();
        std::os::unix::fs::symlink(&lib, view.join("lib64")).unwrap();
        assert!(is_inside(&view.join("lib64/libnvJitLink.so.13"), &view));
        assert!(!is_inside(&lib.join("libnvJitLink.so.13"), &view));
        assert!(!is_inside(&view.join("lib64/libother.so"), &view));
    }
}
