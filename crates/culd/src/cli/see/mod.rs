//! Commands that show sizes and resources: `culd size`, `culd occupancy`, `culd report`, `culd dump --kernels`, `culd dump --sass`,
//! `culd diff --sizes`, and the page of a link (`--html`).
//!
//! 1. One table has the flags of all these commands; arguments are read and help is printed from it.
//! 2. Files become a [`culd_report::Report`]; each command is one module that prints it.
//! 3. Exit codes: 0; 1 when something could not be read; for `diff --sizes` 1 over a budget and 2 on trouble.

mod growth;
mod kernels;
mod occupancy;
pub mod page;
mod sass;
mod size;
mod table;

use crate::cli::messages::{CliMessage, Console};
use crate::cli::os;
use culd_engine::Severity;
use culd_input::files::{Opened, standard_input};
use culd_input::{Disk, Files};
use culd_report::Report;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

/// Subcommands that are only here.
pub const COMMANDS: [&str; 3] = ["size", "occupancy", "report"];

/// A flag's entry in the table.
#[derive(Debug)]
pub struct Entry {
    /// Name after two dashes.
    pub name: &'static str,
    /// What the value is; none for a switch.
    pub value: Option<&'static str>,
    /// The commands that have it.
    pub commands: &'static [&'static str],
    /// What it does.
    pub about: &'static str,
}

const fn entry(name: &'static str, value: Option<&'static str>, commands: &'static [&'static str], about: &'static str) -> Entry {
    Entry {
        name,
        value,
        commands,
        about,
    }
}

/// The flags.
pub const FLAGS: &[Entry] = &[
    entry(
        "kernels",
        None,
        &["dump"],
        "only the table of kernels and functions, cut to the width of the terminal",
    ),
    entry(
        "sass",
        Some("function"),
        &["dump"],
        "the machine code of a function with its source lines (needs nvdisasm: CULD_NVDISASM, the toolkit or PATH)",
    ),
    entry(
        "sizes",
        None,
        &["diff"],
        "per function: code, registers, stack and shared memory before and after",
    ),
    entry(
        "fail-above",
        Some("limit"),
        &["diff"],
        "with --sizes, end with 1 when something grows more: 5% or 4096 (all code), or code=, registers=, stack=, shared= of any one function; commas separate",
    ),
    entry(
        "by",
        Some("list"),
        &["size"],
        "input, function, family (of templates), section; commas separate (default: function)",
    ),
    entry(
        "sort",
        Some("column"),
        &["size", "dump"],
        "size (default), name or count; with dump --kernels: code (default), name, registers, stack or shared",
    ),
    entry("top", Some("n"), &["size", "dump", "diff"], "only the first n rows"),
    entry(
        "arch",
        Some("name"),
        &["size", "occupancy"],
        "size: only code for this architecture; occupancy: calculate for this one (sm_90)",
    ),
    entry(
        "block",
        Some("list"),
        &["occupancy"],
        "threads per block, commas separate (default: 64 to 1024 by powers of two; all multiples of 32 in JSON)",
    ),
    entry(
        "dynamic-shared",
        Some("bytes"),
        &["occupancy"],
        "shared memory that the launch adds",
    ),
    entry(
        "html",
        Some("file"),
        &["report"],
        "write the page to this file; - is standard output",
    ),
    entry(
        "json",
        None,
        &["size", "occupancy", "report", "dump", "diff"],
        "write JSON (see docs/json.md)",
    ),
    entry("help", None, &["size", "occupancy", "report"], "show this help"),
];

/// The command line of a subcommand.
#[derive(Debug, Default)]
pub struct Request {
    values: Vec<(&'static str, String)>,
    files: Vec<Vec<u8>>,
}

impl Request {
    fn has(&self, name: &str) -> bool {
        self.values.iter().any(|v| v.0 == name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().rev().find(|v| v.0 == name).map(|v| v.1.as_str())
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let parsed = self
            .value(name)
            .map(|v| v.parse().map_err(|_| format!("--{name} is a number, not {v}")));
        parsed.transpose()
    }

    /// How many rows to show.
    fn top(&self) -> Result<usize, String> {
        Ok(self.number("top")?.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)))
    }
}

/// True for the commands here, and for `dump` and `diff` with the flags that are handled here.
pub fn takes(command: &str, arguments: &[Vec<u8>]) -> bool {
    let has = |flag: &str| {
        arguments
            .iter()
            .any(|a| *a == flag.as_bytes() || a.starts_with(format!("{flag}=").as_bytes()))
    };
    match command {
        "dump" => has("--kernels") || has("--sass"),
        "diff" => has("--sizes"),
        _ => COMMANDS.contains(&command),
    }
}

fn understand(command: &str, arguments: &[Vec<u8>]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = os::lossy(argument);
        let Some(name) = text.strip_prefix("--").filter(|n| !n.is_empty()) else {
            request.files.push(argument.clone());
            continue;
        };
        let (name, attached) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let known = FLAGS.iter().find(|e| e.name == name && e.commands.contains(&command));
        let entry = known.ok_or_else(|| format!("culd {command} has no flag --{name} here; see culd {command} --help"))?;
        let value = match (entry.value, attached) {
            (None, None) => String::new(),
            (None, Some(_)) => return Err(format!("--{name} takes no value")),
            (Some(_), Some(value)) => value,
            (Some(what), None) => os::lossy(rest.next().ok_or_else(|| format!("--{name} needs a {what}"))?),
        };
        request.values.push((entry.name, value));
    }
    Ok(request)
}

/// The text of `--help`.
pub fn help(command: &str) -> String {
    let (usage, about) = match command {
        "size" => ("culd size [flags] <file>...", "Shows where the bytes of device code are."),
        "occupancy" => (
            "culd occupancy [flags] <file>...",
            "Shows how many blocks of each kernel fit on a multiprocessor, and what limits them.",
        ),
        _ => (
            "culd report <file>... --html <file>",
            "Writes a page about device code: sizes, kernels, occupancy, calls, memory. One file that loads nothing else.",
        ),
    };
    format!("{about} - is standard input.\n\nUsage: {usage}\n\n{}", more_help(command))
}

/// The flags of a command that are handled here.
pub fn more_help(command: &str) -> String {
    let mut out = String::new();
    for e in FLAGS.iter().filter(|e| e.commands.contains(&command)) {
        if matches!(command, "dump" | "diff") && e.name == "json" {
            continue;
        }
        let name = match e.value {
            Some(value) => format!("--{} <{value}>", e.name),
            None => format!("--{}", e.name),
        };
        out.push_str(&format!("  {name:<24} {}\n", e.about));
    }
    out
}

/// Runs a command with the arguments after its name.
pub fn run(command: &str, arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    let trouble = ExitCode::from(if command == "diff" { 2 } else { 1 });
    let mut out = BufWriter::with_capacity(1 << 17, io::stdout().lock());
    let result = understand(command, arguments).and_then(|request| {
        if request.has("help") {
            return put(&mut out, &help(command)).map(|()| 0);
        }
        if request.files.is_empty() {
            return Err(format!("no files; see culd {command} --help"));
        }
        carry_out(command, &request, &mut out, console)
    });
    match result.and_then(|code| flush(&mut out).map(|()| code)) {
        Ok(code) => ExitCode::from(code),
        Err(words) => {
            console.say(Severity::Fatal, &CliMessage::Own(words));
            trouble
        }
    }
}

fn carry_out(command: &str, request: &Request, out: &mut dyn Write, console: &mut Console) -> Result<u8, String> {
    if let Some(function) = request.value("sass") {
        return sass::run(function, &request.files, out);
    }
    if command == "diff" {
        return growth::run(request, out);
    }
    let report = read(&request.files)?;
    let damaged = complain(&report, console);
    match command {
        "size" => size::run(request, &report, out)?,
        "occupancy" => occupancy::run(request, &report, out)?,
        "dump" => kernels::run(request, &report, out)?,
        _ => page::run(request, &report, out)?,
    }
    Ok(u8::from(damaged))
}

/// A file; `-` is standard input.
fn open(file: &[u8]) -> Result<Opened, String> {
    let opened = match file {
        b"-" => standard_input(),
        _ => Disk.open(&os::path(file)),
    };
    opened.map_err(|e| format!("cannot read {}: {e}", os::lossy(file)))
}

/// Describes files.
fn read(files: &[Vec<u8>]) -> Result<Report, String> {
    let opened: Vec<(String, Opened)> = files.iter().map(|f| Ok((os::lossy(f), open(f)?))).collect::<Result<_, String>>()?;
    let list: Vec<(&str, &[u8])> = opened.iter().map(|(name, o)| (name.as_str(), &o.bytes[..])).collect();
    Ok(Report::of_files(&list))
}

/// Prints what could not be read; true when there was such a thing.
fn complain(report: &Report, console: &mut Console) -> bool {
    let bad = report.messages.iter().filter(|m| m.severity == "error");
    let mut damaged = false;
    for message in bad {
        damaged = true;
        console.say(Severity::Error, &CliMessage::Own(message.text.clone()));
    }
    damaged
}

/// Writes text; ignores EPIPE.
fn put(out: &mut dyn Write, text: &str) -> Result<(), String> {
    finished(out.write_all(text.as_bytes()))
}

fn flush(out: &mut dyn Write) -> Result<(), String> {
    finished(out.flush())
}

fn finished(result: io::Result<()>) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(format!("cannot write: {error}")),
        _ => Ok(()),
    }
}

/// Writes a JSON document.
fn put_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), String> {
    let text = serde_json::to_string(value).map_err(|e| e.to_string())?;
    put(out, &text)?;
    put(out, "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(arguments: &[&str]) -> Vec<Vec<u8>> {
        arguments.iter().map(|a| a.as_bytes().to_vec()).collect()
    }

    #[test]
    fn flags_choose_the_command() {
        assert!(takes("dump", &bytes(&["a.cubin", "--kernels"])));
        assert!(takes("dump", &bytes(&["--sass=k", "a.cubin"])));
        assert!(!takes("dump", &bytes(&["a.cubin"])));
        assert!(takes("diff", &bytes(&["--sizes", "a", "b"])));
        assert!(!takes("diff", &bytes(&["a", "b"])));
        assert!(takes("size", &[]));
    }

    #[test]
    fn unknown_flags_and_missing_values_are_refused() {
        assert!(understand("size", &bytes(&["--kernels", "a"])).is_err_and(|e| e.contains("no flag --kernels")));
        assert!(understand("size", &bytes(&["a", "--top"])).is_err_and(|e| e == "--top needs a n"));
        assert!(understand("size", &bytes(&["--json=1", "a"])).is_err());
        let request = understand("size", &bytes(&["--top=3", "-", "--by", "family"]));
        assert!(request.is_ok_and(|r| r.top() == Ok(3) && r.value("by") == Some("family") && r.files.len() == 1));
    }

    #[test]
    fn help_names_every_flag() {
        for command in ["size", "occupancy", "report"] {
            let text = help(command);
            assert!(
                FLAGS
                    .iter()
                    .filter(|e| e.commands.contains(&command))
                    .all(|e| text.contains(&format!("--{}", e.name)))
            );
        }
    }
}
