//! `culd dump --sass FUNCTION`: the machine code of one function, as nvdisasm prints it, with the source lines it came from.
//!
//! 1. The function is found in the cubins of the files, under its name, its C++ name, or the C++ name without parameters.
//! 2. The cubin is written to a temporary file and nvdisasm prints the function.
//! 3. Remarks on lines get the text of that line, when the source is where it was when it was compiled.

use super::{open, put};
use crate::cli::{install, os};
use culd_input::library;
use culd_inspect::file::DeviceFile;
use culd_inspect::view::View;
use culd_report::names;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

pub(super) fn run(function: &str, files: &[Vec<u8>], out: &mut dyn Write) -> Result<u8, String> {
    let program = nvdisasm()?;
    let mut found = false;
    for file in files {
        let opened = open(file)?;
        for part in DeviceFile::open(&opened.bytes).parts.iter().filter(|p| p.is_cubin()) {
            let bytes = part.bytes()?;
            let view = View::parse(&bytes).map_err(|e| e.to_string())?;
            let Some(index) = symbol(&view, function) else { continue };
            found = true;
            put(out, &format!("{}{} {function}\n", os::lossy(file), part.row.name))?;
            put(out, &with_sources(&disassemble(&program, &bytes, index)?))?;
        }
    }
    match found {
        true => Ok(0),
        false => Err(format!("no function {function}; culd dump --kernels lists them")),
    }
}

fn symbol(view: &View<'_>, wanted: &str) -> Option<u32> {
    let table = view.tables.first()?;
    let functions =
        (0..table.entries.len() as u32).filter(|&i| table.entries.get(i as usize).is_some_and(|e| e.kind() == cubin::consts::STT_FUNC));
    let mut named = functions.map(|i| (i, String::from_utf8_lossy(table.name(i)).into_owned()));
    let fits = |name: &str| {
        let demangled = names::demangled(name);
        name == wanted || demangled == wanted || demangled.split('(').next() == Some(wanted) || names::family(&demangled) == wanted
    };
    named.find(|(_, name)| fits(name)).map(|n| n.0)
}

fn nvdisasm() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CULD_NVDISASM") {
        return Ok(named.into());
    }
    let toolkit = install::find_toolkit(None).ok().map(|t| t.join("bin/nvdisasm"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = toolkit
        .into_iter()
        .chain(library::listed(&path).into_iter().map(|p| p.join("nvdisasm")));
    places.find(|p| p.is_file()).ok_or_else(|| {
        "--sass needs nvdisasm, which is neither in the toolkit nor in PATH; CULD_NVDISASM names it (it is in the package cuda-nvdisasm)".into()
    })
}

fn disassemble(program: &PathBuf, cubin: &[u8], index: u32) -> Result<String, String> {
    let mut file = tempfile::Builder::new()
        .suffix(".cubin")
        .tempfile()
        .map_err(|e| format!("cannot write a temporary file: {e}"))?;
    file.write_all(cubin).map_err(|e| format!("cannot write a temporary file: {e}"))?;
    let run = |flags: &[&str]| {
        Command::new(program)
            .args(flags)
            .arg("-fun")
            .arg(index.to_string())
            .arg(file.path())
            .output()
    };
    // Files without line tables are refused with -g by some versions.
    let mut result = run(&["-c", "-g"]);
    if result.as_ref().is_ok_and(|r| !r.status.success()) {
        result = run(&["-c"]);
    }
    let result = result.map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    if !result.status.success() {
        return Err(format!("nvdisasm: {}", String::from_utf8_lossy(&result.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&result.stdout).into_owned())
}

/// The remark `//## File "x.cu", line 3` as file and line.
fn remark(line: &str) -> Option<(&str, usize)> {
    let rest = line.trim_start().strip_prefix("//## File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((file, digits.parse().ok()?))
}

fn with_sources(text: &str) -> String {
    let mut files: HashMap<String, Option<String>> = HashMap::new();
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if let Some((file, number)) = remark(line) {
            let source = files.entry(file.to_owned()).or_insert_with(|| std::fs::read_to_string(file).ok());
            let words = source
                .as_deref()
                .and_then(|s| s.lines().nth(number.saturating_sub(1)))
                .unwrap_or_default();
            let short = file.rsplit('/').next().unwrap_or(file);
            out.push_str(format!("\n{short}:{number}  {}", words.trim()).trim_end_matches(' '));
            out.push('\n');
        } else if !line.trim().is_empty() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_become_lines() {
        let text = with_sources("\t//## File \"/none/a.cu\", line 7 inlined at \"/none/b.cu\", line 2\n        /*0000*/  NOP ;\n\n");
        assert_eq!(text, "\na.cu:7\n        /*0000*/  NOP ;\n");
        assert_eq!(remark("//## File \"a\", line x"), None);
    }
}
