//! Files besides the output: registration list, time table, dependencies, reproduction.

use crate::high::LinkPlan;
use crate::messages::Said;
use crate::{note, os, output};
use culd_input::{Compilation, Register};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// First row of a time table.
const TIME_HEADER: &str = "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n";

/// Starts the time table: a header when the file is new or empty.
pub fn start_time_table(file: &[u8]) -> Result<(), Said> {
    let problem = |_| Said::TimeFile(file.to_vec());
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
pub fn write_text(file: &[u8], text: &[u8]) -> Result<(), Said> {
    output::write(&os::path(file), text).map_err(|_| Said::OutputFile(file.to_vec()))
}

/// Adds a row to the time table for each PTX compilation.
pub fn add_times(file: &[u8], compilations: &[Compilation], plan: &LinkPlan, tool: &str) -> Result<(), Said> {
    let mut rows = String::new();
    for Compilation { name, time } in compilations {
        let milliseconds = time.as_secs_f64() * 1000.0;
        rows += &format!("{name} , ptxas , {name} ,  , {} , {tool} , {milliseconds:.4} , ms\n", plan.arch);
    }
    if rows.is_empty() {
        return Ok(());
    }
    append(file, &rows).map_err(|_| Said::TimeFile(file.to_vec()))
}

fn append(file: &[u8], text: &str) -> std::io::Result<()> {
    if file == b"-" {
        return std::io::stdout().write_all(text.as_bytes());
    }
    OpenOptions::new().append(true).open(os::path(file))?.write_all(text.as_bytes())
}

/// Writes the C file that lists registration routines.
pub fn write_register_file(file: &[u8], register: &Register) -> Result<(), Said> {
    // nvlink quirk: nvcc names the same file for every architecture; with a device runtime in the link the first one stays.
    if register.keep_existing && os::path(file).exists() {
        return Ok(());
    }
    write_text(file, &register.text())
}

/// A Makefile rule: the output depends on every file that was read; each of those gets an empty rule, so that a vanished one is no error.
pub fn dependency_rule(plan: &LinkPlan, files: &[Vec<u8>]) -> Vec<u8> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for file in plan.files_read.iter().chain(files) {
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

/// Saves what is needed to repeat the link: copies of the files read, and a response file that names the copies.
///
/// 1. The folder must be new or empty.
/// 2. Each file is copied as `<number>-<name>`, so that equal names from different folders stay apart and the suffix stays.
/// 3. Arguments that name a copied file are rewritten; the output goes to `out.cubin`; `-L`, `-l` and the names of side files are
///    replaced by the files that were found, or left out.
pub fn save_repro(folder: &[u8], arguments: &[Vec<u8>], files: &[Vec<u8>]) -> Result<(), Said> {
    let problem = |what: &Path, e: std::io::Error| Said::Own(format!("cannot save the reproduction: {}: {e}", what.display()));
    let path = os::path(folder);
    fs::create_dir_all(&path).map_err(|e| problem(&path, e))?;
    if fs::read_dir(&path).map_err(|e| problem(&path, e))?.next().is_some() {
        return Err(Said::Own(format!("cannot save the reproduction: {} is not empty", path.display())));
    }
    let mut copies: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for file in files {
        if copies.iter().any(|(original, _)| original == file) {
            continue;
        }
        let name = [format!("{:03}-", copies.len()).as_bytes(), note::file_name(file)].concat();
        let from = os::path(file);
        fs::copy(&from, path.join(os::path(&name))).map_err(|e| problem(&from, e))?;
        copies.push((file, name));
    }
    let mut text = Vec::new();
    for argument in arguments {
        let copy = copies.iter().find(|(original, _)| original == argument).map(|(_, name)| name);
        quote_into(&mut text, copy.unwrap_or(argument));
        text.push(b'\n');
    }
    let response = path.join("response.txt");
    fs::write(&response, text).map_err(|e| problem(&response, e))
}

/// Protects an argument for a response file.
fn quote_into(out: &mut Vec<u8>, argument: &[u8]) {
    out.push(b'"');
    for &b in argument {
        if b == b'"' || b == b'\\' {
            out.push(b'\\');
        }
        out.push(b);
    }
    out.push(b'"');
}
