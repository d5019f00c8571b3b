//! Libraries of another platform, used there.
//!
//! 1. `tests/nvjitlink/two.c` is compiled for the platform, and runs under its emulator or wine.
//! 2. Each libnvJitLink, with its own code and thin, links the bundled objects. Those for CUDA 12 refuse them.
//! 3. What is printed and the image must be the same for both kinds, and those of this machine's library where it has been built.

use super::{Libraries, Platform, link};
use crate::context::{Context, succeed};
use crate::dist;
use culd_tests::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a link came to: the exit, what was printed, the image.
type Outcome = (Option<i32>, String, Option<Vec<u8>>);

/// Tries the libraries; how many were tried.
pub(super) fn run(context: &Context, libraries: &Libraries, platform: Platform<'_>) -> Result<()> {
    let Some(triple) = platform.triple() else { return Ok(()) };
    let words = match dist::runner(context, triple) {
        Ok(words) => words,
        Err(why) => {
            println!("{triple}: the libraries were not run: {why}");
            return Ok(());
        }
    };
    let pairs = [
        [&libraries.nvjitlink, &libraries.thin[0]],
        [&libraries.nvjitlink12, &libraries.thin[1]],
    ];
    for [whole, thin] in pairs {
        let first = outcome(context, platform, &words, &[whole])?;
        let second = outcome(context, platform, &words, &[thin, &libraries.culd])?;
        let name = whole.file_name().unwrap_or_default().to_string_lossy();
        same(&format!("{triple} {name}: whole and thin"), &first, &second)?;
        let host = context.target.join("library").join(host_name(&name));
        match host.is_file() {
            true => same(
                &format!("{triple} {name}: here and there"),
                &first,
                &outcome(context, Platform::Host, &[], &[&host])?,
            )?,
            false => println!("{name}: not compared with {}, which has not been built", host.display()),
        }
        let image = first.2.as_ref().map_or(0, Vec::len);
        println!("{triple} {name}: exit {:?}, image of {image} bytes; {}", first.0, first.1.trim());
    }
    Ok(())
}

/// The library of Linux with the functions of a DLL.
fn host_name(name: &str) -> String {
    match name.strip_prefix("nvJitLink_").and_then(|n| n.strip_suffix("0_0.dll")) {
        Some(major) => format!("libnvJitLink.so.{major}"),
        None => name.into(),
    }
}

fn same(what: &str, a: &Outcome, b: &Outcome) -> Result<()> {
    match a == b {
        true => Ok(()),
        false => Err(Error::Other(format!("{what} differ: {:?} {}, {:?} {}", a.0, a.1, b.0, b.1))),
    }
}

/// Links the bundled objects with the first of `files`, all of which are put beside the program.
fn outcome(context: &Context, platform: Platform<'_>, words: &[String], files: &[&PathBuf]) -> Result<Outcome> {
    let work = context.target.join("libculd-emulated");
    if work.exists() {
        std::fs::remove_dir_all(&work).map_err(Error::file(&work))?;
    }
    std::fs::create_dir_all(&work).map_err(Error::file(&work))?;
    let data = context.root.join("crates/culd/examples/data");
    let inputs = ["saxpy.cubin", "combine.cubin"];
    let copies = files.iter().map(|f| f.to_path_buf()).chain(inputs.map(|name| data.join(name)));
    for file in copies {
        std::fs::copy(&file, work.join(file.file_name().unwrap_or_default())).map_err(Error::file(&file))?;
    }
    let mut cc = link::compiler(context, platform)?;
    cc.arg("-O1").arg(context.root.join("tests/nvjitlink/two.c")).arg("-o");
    cc.arg(work.join("two.exe"));
    succeed(cc.args((platform != Platform::Windows).then_some("-ldl")))?;
    let library = files.first().and_then(|f| f.file_name()).unwrap_or_default().to_string_lossy();
    let library = if platform == Platform::Windows {
        library.into_owned()
    } else {
        format!("./{library}")
    };
    let words: Vec<&str> = words.iter().flat_map(|w| w.split(' ')).collect();
    let program = work.join("two.exe");
    let mut run = match words.split_first() {
        Some((first, rest)) => {
            let mut run = Command::new(first);
            run.args(rest).arg(&program);
            run
        }
        None => Command::new(&program),
    };
    dist::quiet_wine(&mut run);
    let out = run.arg(&library).args(["out.cubin", "-arch=sm_90"]).args(inputs).current_dir(&work);
    let out = out.output().map_err(Error::file(Path::new(&library)))?;
    let printed = String::from_utf8_lossy(&out.stdout).replace('\r', "");
    Ok((out.status.code(), printed, std::fs::read(work.join("out.cubin")).ok()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_windows_and_linux() {
        assert_eq!(super::host_name("nvJitLink_130_0.dll"), "libnvJitLink.so.13");
        assert_eq!(super::host_name("libnvJitLink.so.12"), "libnvJitLink.so.12");
    }
}
