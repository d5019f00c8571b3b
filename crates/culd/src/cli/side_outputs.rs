//! Files besides the output: registration list, time table, dependencies.

use crate::cli::hiargs::LinkPlan;
use crate::cli::messages::CliMessage;
use crate::cli::{os, output};
use culd_engine::Identity;
use culd_input::{Compilation, CompilationKind, Register};
use std::fs::OpenOptions;
use std::io::Write;

/// First row of a time table.
const TIME_HEADER: &str = "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n";

/// Starts the time table: a header when the file is new or empty.
pub fn start_time_table(file: &[u8]) -> Result<(), CliMessage> {
    let problem = |_| CliMessage::TimeFile(file.to_vec());
    if file == b"-" {
        return std::io::stdout().write_all(TIME_HEADER.as_bytes()).map_err(problem);
    }
    let mut table = OpenOptions::new().append(true).create(true).open(os::path(file)).map_err(problem)?;
    if table.metadata().map_err(problem)?.len() == 0 {
        table.write_all(TIME_HEADER.as_bytes()).map_err(problem)?;
    }
    Ok(())
}

/// Writes a text file for which a problem is fatal.
pub fn write_text(file: &[u8], text: &[u8]) -> Result<(), CliMessage> {
    output::write(&os::path(file), text).map_err(|e| CliMessage::OutputFile(file.to_vec(), e.to_string()))
}

/// Writes a JSON file for people to read.
pub fn write_json(file: &[u8], value: &impl serde::Serialize) -> Result<(), CliMessage> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| CliMessage::Own(e.to_string()))?;
    text.push(b'\n');
    write_text(file, &text)
}

/// Adds a row to the time table for each PTX compilation.
pub fn add_times(file: &[u8], compilations: &[Compilation], plan: &LinkPlan) -> Result<(), CliMessage> {
    // nvlink names itself here even when --tool-name calls it something else.
    let tool = match plan.options.identity {
        Identity::Nvlink => "nvlink",
        Identity::Culd => "culd",
    };
    let mut rows = String::new();
    for Compilation { what, name, time } in compilations {
        let milliseconds = time.as_secs_f64() * 1000.0;
        let (source, phase, input, output) = match what {
            CompilationKind::Modules => ("lto.nvvm", "cicc", "", "lto.ptx"),
            CompilationKind::Optimized => ("lto.ptx", "ptxas", "", "lto.cubin"),
            CompilationKind::Ptx if name.ends_with(".ptx") => (name.as_str(), "ptxas", name.as_str(), ""),
            // PTX from inside another file has no name of its own.
            CompilationKind::Ptx => ("ptx", "ptxas", name.as_str(), "cubin"),
        };
        rows += &format!(
            "{source} , {phase} , {input} , {output} , {} , {tool} , {milliseconds:.4} , ms\n",
            plan.arch
        );
    }
    if rows.is_empty() {
        return Ok(());
    }
    append(file, &rows).map_err(|_| CliMessage::TimeFile(file.to_vec()))
}

fn append(file: &[u8], text: &str) -> std::io::Result<()> {
    if file == b"-" {
        return std::io::stdout().write_all(text.as_bytes());
    }
    OpenOptions::new().append(true).open(os::path(file))?.write_all(text.as_bytes())
}

/// Writes the C file that lists registration routines.
pub fn write_register_file(file: &[u8], register: &Register) -> Result<(), CliMessage> {
    // nvlink quirk: nvcc names the same file for every architecture; with a device runtime in the link the first one stays.
    if register.keep_existing && os::path(file).exists() {
        return Ok(());
    }
    write_text(file, &register.text())
}

/// A Makefile rule: the output depends on every file that was read; each of those gets an empty rule, so that a missing one is not an error.
pub fn dependency_rule(plan: &LinkPlan, files: &[Vec<u8>]) -> Vec<u8> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    // Standard input is not a file.
    let read = plan.files_read.iter().chain(files).filter(|f| f.as_slice() != b"-");
    for file in read {
        let name = make_name(file);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut text = make_name(plan.output.as_deref().unwrap_or_default());
    text.push(b':');
    for name in &names {
        text.extend(b" \\\n  ");
        text.extend(name);
    }
    text.push(b'\n');
    for name in &names {
        text.extend(b"\n");
        text.extend(name);
        text.extend(b":\n");
    }
    text
}

/// A file name with the characters protected that mean something to make.
fn make_name(file: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(file.len());
    for &b in file {
        match b {
            b' ' | b'#' | b'\t' | b'\\' => out.extend([b'\\', b]),
            b'$' => out.extend(b"$$"),
            _ => out.push(b),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_sees_the_name_that_was_meant() {
        assert_eq!(make_name(b"a b$c#d\\e"), b"a\\ b$$c\\#d\\\\e");
    }
}
