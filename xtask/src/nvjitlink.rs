//! `cargo xtask nvjitlink`: the C interface of libnvJitLink, ours against NVIDIA's.
//!
//! 1. Build our library ([`crate::libraries`]).
//! 2. Compile the inputs of `tests/nvjitlink` with the oracle's compilers.
//! 3. Build the conformance cases and write their links as scenarios: those that the interface can express. nvlink makes the inputs that are results of earlier
//!    links.
//! 4. `tests/nvjitlink/scenarios.py` runs every scenario with both libraries, each time in a process of its own, and compares result codes, logs
//!    and bytes without the tool note. Differences that are corrections are listed there with their reasons.
//!
//! `--toolkits VERSION` compares the library for CUDA 12 with that of this version, from the directory `CULD_TOOLKITS`; the conformance cases, whose
//! inputs are of 13.0, are left out.

use crate::context::{Context, succeed};
use crate::libraries::Platform;
use crate::report::Report;
use crate::{libraries, oracle};
use culd_tests::case::{Case, fresh_copy};
use culd_tests::{Error, Result, cases_dir, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the scenarios whose names contain one of `names`, or all.
pub(crate) fn run(context: &Context, names: &[String], quick: bool, old: Option<&str>, report: &Report) -> Result<()> {
    let built = libraries::build(context, quick, Platform::Host)?;
    let mut tools = oracle::bin_dir(context)?;
    let (ours, theirs) = match old {
        None => (built.nvjitlink, theirs(&tools)?),
        Some(version) => {
            let theirs;
            (tools, theirs) = old_toolkit(context, &tools, version)?;
            (built.nvjitlink12, theirs)
        }
    };
    let work = context.root.join("target/nvjitlink");
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let cases = work.join(if old.is_some() { "cases12.json" } else { "cases.json" });
    let list = match old {
        None => conformance(context, &tools)?,
        Some(_) => Vec::new(),
    };
    std::fs::write(&cases, Value::Array(list).to_string()).map_err(Error::file(&cases))?;
    let mut python = Command::new("python3");
    python
        .arg(context.root.join("tests/nvjitlink/scenarios.py"))
        .args([&ours, &theirs, &tools, &work, &cases])
        .args(names)
        .env("CULD_PTXAS", tools.join("ptxas"))
        .env("CULD_NVJITLINK", &theirs);
    let done = succeed(&mut python);
    let failure = done.err().map(|e| e.to_string());
    report.named("nvjitlink", failure.as_deref());
    Ok(())
}

/// NVIDIA's library of 13.0.
fn theirs(tools: &Path) -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("CULD_NVJITLINK") {
        return Ok(given.into());
    }
    let beside = tools.join("../lib/libnvJitLink.so.13");
    beside
        .canonicalize()
        .map_err(|_| Error::Other(format!("{} is missing: set CULD_NVJITLINK", beside.display())))
}

/// A directory with the ptxas of a release of CUDA 12 and the other tools of the oracle, and the library of that release.
fn old_toolkit(context: &Context, tools: &Path, version: &str) -> Result<(PathBuf, PathBuf)> {
    let all = std::env::var_os("CULD_TOOLKITS").ok_or_else(|| Error::Other("CULD_TOOLKITS names the directory of toolkits".into()))?;
    let toolkit = Path::new(&all).join(version);
    let directory = context.root.join("target/nvjitlink").join(version);
    std::fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
    for (name, from) in [("ptxas", toolkit.join("bin")), ("fatbinary", tools.to_owned())] {
        let copy = directory.join(name);
        std::fs::copy(from.join(name), &copy).map_err(Error::file(&copy))?;
    }
    let library = toolkit.join("lib/libnvJitLink.so.12");
    Ok((directory, library.canonicalize().map_err(Error::file(&library))?))
}

/// Links of the conformance cases as scenarios.
fn conformance(context: &Context, tools: &Path) -> Result<Vec<Value>> {
    let (mut list, mut links) = (Vec::new(), 0);
    for case in Case::load_all(&cases_dir(), &[])? {
        let input = context.root.join("target/cases").join(&case.name).join("in");
        if let Some(parent) = input.parent() {
            std::fs::create_dir_all(parent).map_err(Error::file(parent))?;
        }
        case.build(&input, tools)?;
        links += case.links.len();
        // Results of earlier links are added to a copy.
        let directory = match case.links.iter().any(|line| reads_a_result(line, &case.links)) {
            true => {
                let copy = input.with_file_name("nvjitlink");
                fresh_copy(&input, &copy)?;
                copy
            }
            false => input,
        };
        for (index, line) in case.links.iter().enumerate() {
            if let Some((options, files)) = translate(line, &directory) {
                let name = format!("case/{}/{}", case.name, index + 1);
                list.push(json!({ "name": name, "options": options, "files": files }));
            }
            if output_of(line).is_some_and(|out| case.links.iter().any(|l| inputs_of(l).any(|f| f == out))) {
                run::link(&tools.join("nvlink"), line, &directory, Some(tools))?;
            }
        }
    }
    println!("conformance cases: the interface can express {} of {links} links", list.len());
    Ok(list)
}

/// The file that a link writes.
fn output_of(line: &str) -> Option<&str> {
    line.split_whitespace().skip_while(|w| *w != "-o").nth(1)
}

/// The words of a link that may be inputs.
fn inputs_of(line: &str) -> impl Iterator<Item = &str> {
    let output = output_of(line);
    line.split_whitespace().filter(move |w| !w.starts_with('-') && Some(*w) != output)
}

/// Whether a link reads what one of `links` writes.
fn reads_a_result(line: &str, links: &[String]) -> bool {
    inputs_of(line).any(|file| links.iter().any(|l| output_of(l) == Some(file)))
}

/// Options and inputs of a link, when the interface has all of its flags and nvlink takes all inputs by their content.
fn translate(line: &str, directory: &Path) -> Option<(Vec<String>, Vec<String>)> {
    let (mut options, mut files) = (Vec::new(), Vec::new());
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        match word.split_once('=').unwrap_or((word, "")) {
            ("-o", "") => {
                words.next()?;
            }
            ("-arch", arch) => options.push(format!("-arch={arch}")),
            ("-r" | "-g", "") => options.push(word.to_owned()),
            ("-v", "") => options.push("-verbose".to_owned()),
            ("--kernels-used", list) if !list.is_empty() => options.extend(list.split(',').map(|k| format!("-kernels-used={k}"))),
            ("--variables-used", list) if !list.is_empty() => options.extend(list.split(',').map(|k| format!("-variables-used={k}"))),
            ("--uidx-file", file) if !file.is_empty() => options.push(format!("-uidx={}", directory.join(file).display())),
            ("--ignore-host-info", "") => {}
            _ if word.starts_with('-') => return None,
            _ => {
                let file = directory.join(word);
                file.is_file().then_some(())?;
                files.push(file.display().to_string());
            }
        }
    }
    (!files.is_empty()).then_some((options, files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_read_results() {
        let links = ["-arch=sm_90 -r a.cubin b.cubin -o ab.cubin", "-arch=sm_90 ab.cubin -o out.cubin"].map(str::to_owned);
        assert_eq!(output_of(&links[0]), Some("ab.cubin"));
        assert_eq!(inputs_of(&links[0]).collect::<Vec<_>>(), ["a.cubin", "b.cubin"]);
        assert_eq!(links.each_ref().map(|l| reads_a_result(l, &links)), [false, true]);
    }
}
