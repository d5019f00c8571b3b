//! `culd dump` and `culd diff`.
//!
//! 1. The flags of both are one table, from which arguments are read and help is printed.
//! 2. `dump` writes each file and reports what could not be read; the exit code is then 1.
//! 3. `diff` ends with 0 for equal files, 1 for different ones and 2 when it could not compare.

use crate::cli::messages::{CliMessage, Console};
use crate::cli::os;
use culd_engine::Severity;
use culd_input::files::{Opened, standard_input};
use culd_input::{Disk, Files};
use culd_inspect::TextStyle;
use culd_inspect::diff;
use culd_inspect::dump::{self, Selection};
use culd_inspect::file::DeviceFile;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

/// Subcommands handled here.
pub const COMMANDS: [&str; 2] = ["dump", "diff"];

/// What a flag does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    Section,
    Kernel,
    Demangle,
    Json,
    Bytes,
    List,
    All,
    Color,
    Help,
}

/// A flag's entry in the table.
struct Entry {
    name: &'static str,
    value: Option<&'static str>,
    flag: Flag,
    commands: &'static [&'static str],
    about: &'static str,
}

const fn entry(
    name: &'static str,
    value: Option<&'static str>,
    flag: Flag,
    commands: &'static [&'static str],
    about: &'static str,
) -> Entry {
    Entry {
        name,
        value,
        flag,
        commands,
        about,
    }
}

const DUMP: &[&str] = &["dump"];
const DIFF: &[&str] = &["diff"];
const BOTH: &[&str] = &["dump", "diff"];

const FLAGS: &[Entry] = &[
    entry(
        "section",
        Some("name"),
        Flag::Section,
        DUMP,
        "only this section, with its bytes (* matches any text)",
    ),
    entry("kernel", Some("name"), Flag::Kernel, DUMP, "only what belongs to this function"),
    entry("bytes", None, Flag::Bytes, DUMP, "also the bytes of every section"),
    entry("list", None, Flag::List, DUMP, "only the parts of the files"),
    entry("all", None, Flag::All, DIFF, "every difference, nothing shortened"),
    entry("demangle", None, Flag::Demangle, BOTH, "show C++ names"),
    entry("json", None, Flag::Json, BOTH, "write JSON (see docs/json.md)"),
    entry("color", Some("when"), Flag::Color, BOTH, "auto, always or never"),
    entry("help", None, Flag::Help, BOTH, "show this help"),
];

/// The command line of a subcommand.
#[derive(Debug, Default)]
struct Request {
    selection: Selection,
    json: bool,
    all: bool,
    list: bool,
    help: bool,
    color: Option<bool>,
    files: Vec<Vec<u8>>,
}

fn find(command: &str, name: &str) -> Option<&'static Entry> {
    FLAGS.iter().find(|e| e.name == name && e.commands.contains(&command))
}

fn understand(command: &str, arguments: &[Vec<u8>]) -> Result<Request, String> {
    let mut request = Request::default();
    let mut rest = arguments.iter();
    let mut flags_end = false;
    while let Some(argument) = rest.next() {
        let text = os::lossy(argument);
        let name = match text.strip_prefix("--").or_else(|| text.strip_prefix('-')) {
            Some(name) if !flags_end && !name.is_empty() => name,
            Some("") if !flags_end && text == "--" => {
                flags_end = true;
                continue;
            }
            _ => {
                request.files.push(argument.clone());
                continue;
            }
        };
        let (name, attached) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let entry = find(command, name).ok_or_else(|| format!("culd {command} has no flag --{name}; see culd {command} --help"))?;
        let value = match (entry.value, attached) {
            (None, None) => String::new(),
            (None, Some(_)) => return Err(format!("--{name} takes no value")),
            (Some(_), Some(value)) => value,
            (Some(what), None) => os::lossy(rest.next().ok_or_else(|| format!("--{name} needs a {what}"))?),
        };
        apply(&mut request, entry.flag, value)?;
    }
    Ok(request)
}

fn apply(request: &mut Request, flag: Flag, value: String) -> Result<(), String> {
    match flag {
        Flag::Section => request.selection.sections.push(value),
        Flag::Kernel => request.selection.kernels.push(value),
        Flag::Demangle => request.selection.demangle = true,
        Flag::Bytes => request.selection.bytes = true,
        Flag::Json => request.json = true,
        Flag::List => request.list = true,
        Flag::All => request.all = true,
        Flag::Help => request.help = true,
        Flag::Color => {
            request.color = match value.as_str() {
                "auto" => None,
                "always" => Some(true),
                "never" => Some(false),
                other => return Err(format!("--color is auto, always or never, not {other}")),
            }
        }
    }
    Ok(())
}

/// The text of `--help`.
pub fn help(command: &str) -> String {
    let (usage, about) = match command {
        "dump" => (
            "culd dump [flags] <file>...",
            "Shows what is in cubins, fatbins, host objects, archives, executables and libraries.",
        ),
        _ => (
            "culd diff [flags] <file> <file>",
            "Explains how two files differ. Ends with 0 if they do not, 1 if they do, 2 on trouble.",
        ),
    };
    let mut out = format!("{about} - is standard input.\n\nUsage: {usage}\n\n");
    for e in FLAGS.iter().filter(|e| e.commands.contains(&command)) {
        let name = match e.value {
            Some(value) => format!("--{} <{value}>", e.name),
            None => format!("--{}", e.name),
        };
        out.push_str(&format!("  {name:<18} {}\n", e.about));
    }
    out + &crate::cli::see::more_help(command)
}

/// Runs a subcommand with the arguments after its name.
pub fn run(command: &str, arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    let trouble = ExitCode::from(if command == "diff" { 2 } else { 1 });
    let request = match understand(command, arguments) {
        Ok(request) => request,
        Err(words) => {
            console.say(Severity::Fatal, &CliMessage::Own(words));
            return trouble;
        }
    };
    let stdout = io::stdout();
    let auto = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let style = if request.color.unwrap_or(auto) && !request.json {
        TextStyle::Coloured
    } else {
        TextStyle::Plain
    };
    let mut out = BufWriter::with_capacity(1 << 17, stdout.lock());
    let result = if request.help {
        out.write_all(help(command).as_bytes()).map(|()| ExitCode::SUCCESS)
    } else if command == "diff" {
        run_diff(&request, &mut out, style, console)
    } else {
        run_dump(&request, &mut out, style, console)
    };
    match result.and_then(|code| out.flush().map(|()| code)) {
        Ok(code) => code,
        // The reader of the pipe has closed it: ignore EPIPE.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            console.say(Severity::Fatal, &CliMessage::Own(format!("cannot write: {error}")));
            trouble
        }
    }
}

/// Opens a file; `-` is standard input.
fn open(file: &[u8]) -> io::Result<Opened> {
    match file {
        b"-" => standard_input(),
        _ => Disk.open(&os::path(file)),
    }
}

fn run_dump(request: &Request, out: &mut impl Write, style: TextStyle, console: &mut Console) -> io::Result<ExitCode> {
    if request.files.is_empty() {
        console.say(Severity::Fatal, &CliMessage::Own("no files; see culd dump --help".into()));
        return Ok(ExitCode::from(1));
    }
    let mut good = true;
    let mut first = true;
    if request.json {
        write!(out, "{{\"schema\":\"culd.dump/1\",\"files\":[")?;
    }
    for file in &request.files {
        let path = os::lossy(file);
        let opened = match open(file) {
            Ok(opened) => opened,
            Err(error) => {
                good = false;
                console.say(Severity::Error, &CliMessage::Own(format!("cannot read {path}: {error}")));
                continue;
            }
        };
        if !first {
            out.write_all(if request.json { b"," } else { b"\n" })?;
        }
        first = false;
        let device = DeviceFile::open(&opened.bytes);
        let outcome = if request.json {
            dump::write_file_json(out, &device, &request.selection, &path, request.list)?
        } else {
            dump::write_file(out, &device, &request.selection, &path, style, request.list)?
        };
        good &= !outcome.damaged && !device.parts.is_empty();
    }
    if request.json {
        writeln!(out, "]}}")?;
    }
    Ok(ExitCode::from(u8::from(!good)))
}

fn run_diff(request: &Request, out: &mut impl Write, style: TextStyle, console: &mut Console) -> io::Result<ExitCode> {
    let [a, b] = request.files.as_slice() else {
        console.say(Severity::Fatal, &CliMessage::Own("two files, please; see culd diff --help".into()));
        return Ok(ExitCode::from(2));
    };
    let paths = [a, b].map(|f| os::lossy(f));
    let names = [paths[0].as_str(), paths[1].as_str()];
    let read = |file: &[u8]| open(file).map_err(|e| format!("cannot read {}: {e}", os::lossy(file)));
    let options = diff::Options {
        demangle: request.selection.demangle,
        all: request.all,
    };
    let found = read(a).and_then(|x| {
        let y = read(b)?;
        diff::compare_files(&x.bytes, &y.bytes, names, options)
    });
    let found = match found {
        Ok(found) => found,
        Err(words) => {
            console.say(Severity::Fatal, &CliMessage::Own(words));
            return Ok(ExitCode::from(2));
        }
    };
    if request.json {
        diff::write_json(out, &found, names)?;
    } else {
        diff::write_text(out, &found, names, options, style)?;
    }
    Ok(ExitCode::from(u8::from(!found.is_same())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(command: &str, arguments: &[&str]) -> Result<Request, String> {
        let arguments: Vec<Vec<u8>> = arguments.iter().map(|a| a.as_bytes().to_vec()).collect();
        understand(command, &arguments)
    }

    #[test]
    fn flags_and_files() {
        let request = asked("dump", &["--json", "x", "--section=.text.k", "--kernel", "k", "--", "--y"]);
        let request = request.as_ref().map_err(String::as_str);
        assert!(request.is_ok_and(|r| r.json && r.selection.sections == [".text.k"] && r.selection.kernels == ["k"] && r.files.len() == 2));
    }

    #[test]
    fn flags_of_the_other_command_are_refused() {
        assert!(asked("dump", &["--all"]).is_err_and(|e| e.contains("no flag --all")));
        assert!(asked("diff", &["--section", "x"]).is_err());
        assert!(asked("dump", &["--kernel"]).is_err_and(|e| e == "--kernel needs a name"));
        assert!(asked("dump", &["--json=1"]).is_err());
        assert!(asked("diff", &["--color", "blue"]).is_err());
    }

    #[test]
    fn help_names_every_flag() {
        for command in COMMANDS {
            let text = help(command);
            for e in FLAGS.iter().filter(|e| e.commands.contains(&command)) {
                assert!(text.contains(&format!("--{}", e.name)));
            }
        }
    }
}
