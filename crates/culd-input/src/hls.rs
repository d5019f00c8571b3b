//! `--gen-host-linker-script`: a linker script that keeps the fatbin sections of host objects together.
//!
//! 1. `lcs-aug` is a fixed text, to be used beside the host linker's own script.
//! 2. `lcs-abs` is a whole script. Ask the host compiler how it would link (`-###`), for the emulation and whether it makes
//!    position-independent executables.
//! 3. Ask `ld --verbose` for its script with these options: the text between two lines of `=`.
//! 4. Put the fixed text behind it.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};

/// The sections, as an addition to another script.
pub const AUGMENTATION: &str = "SECTIONS\n{\n\t.nvFatBinSegment : { *(.nvFatBinSegment) }\n\t__nv_relfatbin : { *(__nv_relfatbin) } \n\t.nv_fatbin : { *(.nv_fatbin) }\n}\n";

/// Why there is no script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// `ld` cannot be run.
    #[error("cannot run the host linker 'ld': {0}")]
    Linker(#[source] io::Error),
    /// `ld --verbose` prints no script.
    #[error("the host linker 'ld' shows no script with --verbose")]
    NoScript,
}

/// The whole script for the host compiler `compiler` (`gcc` when not given).
pub fn absolute(compiler: Option<&OsStr>) -> Result<String, ScriptError> {
    let compiler = compiler.unwrap_or(OsStr::new("gcc"));
    let plan = Command::new(compiler)
        .args(["-###", "/dev/null", "-m64"])
        .stdin(Stdio::null())
        .output()
        .map(|output| String::from_utf8_lossy(&output.stderr).into_owned())
        // A compiler that cannot be asked leaves the linker's defaults.
        .unwrap_or_default();
    let output = Command::new("ld")
        .arg("--verbose")
        .args(link_options(&plan))
        .stdin(Stdio::null())
        .output()
        .map_err(ScriptError::Linker)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let script = script_in(&text).ok_or(ScriptError::NoScript)?;
    Ok(format!("{script}{AUGMENTATION}"))
}

/// Emulation and `-pie` out of the compiler's plan.
fn link_options(plan: &str) -> Vec<String> {
    let words: Vec<&str> = plan.split_whitespace().map(|w| w.trim_matches('"')).collect();
    let emulation = words.windows(2).find_map(|pair| match pair {
        ["-m", name] => Some((*name).to_owned()),
        _ => None,
    });
    let mut options = vec!["-m".to_owned(), emulation.unwrap_or_else(|| "elf_x86_64".to_owned())];
    if words.contains(&"-pie") {
        options.push("-pie".to_owned());
    }
    options
}

/// The text between the two lines of `=`.
fn script_in(verbose: &str) -> Option<&str> {
    let is_rule = |line: &str| line.len() > 3 && line.bytes().all(|b| b == b'=');
    let mut start = None;
    let mut offset = 0;
    for line in verbose.split_inclusive('\n') {
        if is_rule(line.trim_end()) {
            match start {
                None => start = Some(offset + line.len()),
                Some(start) => return verbose.get(start..offset),
            }
        }
        offset += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_the_text_between_the_rules() {
        let text = "GNU ld\nusing internal linker script:\n=====\nSECTIONS\n{\n}\n=====\ntail\n";
        assert_eq!(script_in(text), Some("SECTIONS\n{\n}\n"));
        assert_eq!(script_in("=====\nonly one rule\n"), None);
    }

    #[test]
    fn the_compilers_plan_decides_emulation_and_pie() {
        let plan = " \"/usr/lib/collect2\" \"-m\" \"aarch64linux\" \"-pie\" \"-o\" \"a.out\"";
        assert_eq!(link_options(plan), ["-m", "aarch64linux", "-pie"]);
        assert_eq!(link_options(" collect2 -m elf_x86_64 -o a.out"), ["-m", "elf_x86_64"]);
        assert_eq!(link_options(""), ["-m", "elf_x86_64"]);
    }

    #[test]
    fn the_augmentation_has_nvlinks_size() {
        assert_eq!(AUGMENTATION.len(), 130);
    }
}
