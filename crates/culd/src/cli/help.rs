//! Help texts and the reference page, all from the flag table.
//!
//! nvlink's layout: one row per flag; the name in 50 columns, the short name from column 52 padded to 28, the text below with 8 blanks in
//! front. Text wraps at the first blank at or after column 80, and after commas of value lists; words are never split.

use crate::cli::called::Called;
use crate::cli::flags::{self, Flag, Known};
use crate::cli::messages::{CliMessage, Console};
use crate::cli::{codes, doctor, inspect, install, os, see};
use cubin::release::Version;
use culd_engine::Severity;
use std::fmt::Write;
use std::io::Write as _;
use std::process::ExitCode;

/// nvlink's `--help`, under the name `tool`.
pub fn nvlink_help(tool: &str, called: Called) -> String {
    let mut out = format!("\nUsage  : {tool} [options] <objects>\n\nOptions\n=======\n\n");
    for flag in flags::known_to(called).filter(|f| f.known == Known::Both && !f.hidden && f.is_listed(called)) {
        let left = left_column(flag);
        let second = match flag.short {
            Some(short) => format!("(-{short})"),
            // nvlink quirk: without a short name the first column is repeated.
            None => format!("{left}  "),
        };
        out += &format!("{left:<50}  ");
        wrap(&mut out, &format!("{second:<28}"), 52);
        out += "\n        ";
        wrap(&mut out, &nvlink_text(flag, called), 8);
        out += "\n\n";
    }
    out + "\n"
}

/// `--name <value>`.
fn left_column(flag: &Flag) -> String {
    match flag.argument {
        "" => format!("--{}", flag.long),
        argument => format!("--{} {argument}", flag.long),
    }
}

/// The help text with allowed values and default.
fn nvlink_text(flag: &Flag, called: Called) -> String {
    let mut text = flag.nvlink_help.to_string();
    if flag.is_restricted() {
        let quote = if flag.kind == flags::Kind::Number { "" } else { "'" };
        let values: Vec<String> = flag.values(called).map(|v| format!("{quote}{v}{quote}")).collect();
        text += &format!("\nAllowed values for this option:  {}.", values.join(","));
    }
    if let Some(default) = flag.default {
        text += &format!("\nDefault value:  {default}.");
    }
    text
}

fn wrap(out: &mut String, text: &str, start: usize) {
    const BREAK: &str = "\n        ";
    let mut column = start;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\n' || (c == ' ' && column >= 80) {
            out.push_str(BREAK);
            column = 8;
            continue;
        }
        out.push(c);
        column += 1;
        if c == ',' && column >= 80 && chars.peek().is_some_and(|n| *n != ' ') {
            out.push_str(BREAK);
            column = 8;
        }
    }
}

/// nvlink's `--version`, under the name `tool`.
pub fn nvlink_version(tool: &str, version: Version) -> String {
    format!(
        "{tool}: NVIDIA (R) Cuda linker\nCopyright (c) {} NVIDIA Corporation\nBuilt on {}\n{}\n{}\n",
        version.build.years,
        version.build.date,
        version.line(),
        version.build_line()
    )
}

/// culd's `--version`. The second line is for tools that look for a toolkit release.
pub fn culd_version() -> String {
    format!(
        "culd {}, a device linker for CUDA\nlinks objects of {}\n",
        env!("CARGO_PKG_VERSION"),
        Version::default().line()
    )
}

/// Subcommands: how to call them and what they do.
pub const COMMANDS: [(&str, &str); 10] = [
    ("culd [flags] <inputs>... -arch <name> -o <file>", "link device objects"),
    ("culd dump ...", "show what is in a device object"),
    ("culd diff ...", "explain how two device objects differ"),
    (
        "culd size <file>...",
        "show where the bytes are: by input, function, family, section",
    ),
    (
        "culd occupancy <file>...",
        "show how many blocks of each kernel fit on a multiprocessor",
    ),
    ("culd report <file>... --html <file>", "write a page about device code"),
    (
        "culd install-as-nvlink <directory> [flags]",
        "make a view of a CUDA toolkit whose nvlink is culd",
    ),
    ("culd explain CODE", "tell more about a message: cause, example, fix"),
    ("culd doctor", "show what of CUDA is found and what works with it"),
    ("culd help [command]", "show the help of a command"),
];

/// The subcommand that prints help.
pub const COMMAND: &str = "help";

/// `culd help [command]`.
pub fn run(arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    let text = match arguments {
        [] => culd_help(),
        [command, ..] => match os::lossy(command).as_str() {
            COMMAND => culd_help(),
            install::COMMAND => install::HELP.into(),
            codes::COMMAND => codes::list(),
            doctor::COMMAND => doctor::HELP.into(),
            name if see::COMMANDS.contains(&name) => see::help(name),
            name if inspect::COMMANDS.contains(&name) => inspect::help(name),
            name => {
                console.say(Severity::Fatal, &CliMessage::Own(format!("no command {name}; see culd help")));
                return ExitCode::from(1);
            }
        },
    };
    // Ignore EPIPE.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// culd's `--help`.
pub fn culd_help() -> String {
    let mut out = String::from("culd: a device linker for CUDA\n\nUsage:\n");
    for (usage, about) in COMMANDS {
        let _ = writeln!(out, "  {usage:<54} {about}");
    }
    out += "\nCalled under the name nvlink it behaves exactly like the nvlink of its toolkit (12.0 to 13.4, by default 13.0.88).\n";
    out += "@file reads further arguments from a response file.\n";
    for (title, filter) in GROUPS {
        let _ = write!(out, "\n{title}:\n");
        for flag in flags::all().filter(|f| filter(f)) {
            culd_row(&mut out, flag);
        }
    }
    out + "\nFlags that nvlink accepts without listing them are accepted too; see docs/cli.md.\n"
}

type Group = (&'static str, fn(&Flag) -> bool);

const GROUPS: [Group; 2] = [
    ("Flags that nvlink has too", |f| f.known == Known::Both && !f.hidden),
    ("Flags of culd", |f| f.known == Known::Culd && !f.hidden),
];

fn culd_row(out: &mut String, flag: &Flag) {
    let name = match flag.short {
        Some(short) if short != flag.long => format!("-{short}, {}", left_column(flag)),
        _ => left_column(flag),
    };
    let mut line = if name.len() < 30 {
        format!("  {name:<30}")
    } else {
        format!("  {name}\n{:32}", "")
    };
    let mut column = 32;
    for word in flag.about.split(' ') {
        if column + word.len() > 110 {
            line = line.trim_end().to_string();
            let _ = write!(line, "\n{:32}", "");
            column = 32;
        }
        let _ = write!(line, "{word} ");
        column += word.len() + 1;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// How to put culd in nvlink's place.
const INSTALL: &str = "
## With nvcc and CMake

nvcc always runs the nvlink that is beside it, so culd needs a toolkit directory of its own. This makes one out of links, without
changing the toolkit:

```
culd install-as-nvlink /opt/cuda-culd --toolkit /usr/local/cuda
/opt/cuda-culd/bin/nvcc -arch=sm_90 -rdc=true a.cu b.cu -o app
cmake -B build -DCMAKE_CUDA_COMPILER=/opt/cuda-culd/bin/nvcc
```

Without `--toolkit`, the toolkit is the one named by `CUDA_HOME` or `CUDA_PATH`, or that of the nvcc or ptxas in `PATH`. Running the
command again refreshes the view, for example after a toolkit update; deleting the directory removes it.

The view's nvlink is the nvlink of the toolkit's release, which must be one that culd supports. With `--mode culd` it is culd itself, with
its own messages and checks, for toolkits of every release.

A program that runs nvlink itself (clang, XLA, CUDA.jl) only needs a link or a copy of culd named `nvlink`.

## Environment

| variable | what it does |
|---|---|
| `CULD_FLAGS` | Flags that are added at the end of every link of culd (not of nvlink), separated by white space. `{output}` and `{target}` are replaced by the values of `-o` and `-arch`: `--map={output}.map`. |
| `CULD_REPORT` | Under the name nvlink, the file of `--json-report`, with the same replacements; nothing else changes. It also names the functions whose schedule was kept. |
| `CULD_NVLINK_VERSION` | The version that culd has under the name nvlink: `13.4` or `13.4.92`. |
| `CULD_PTXAS`, `CULD_NVJITLINK` | The ptxas for PTX inputs and the libnvJitLink for link-time optimization. |
| `CULD_NO_FORK` | If it is not empty, links run in the program's own process under both names, as with `--no-fork`. |
| `LIBRARY_PATH` | Directories for `-l` after those of `-L`, separated by colons. |
| `NO_COLOR` | Messages are not coloured. |
";

/// The reference page docs/cli.md.
pub fn reference() -> String {
    let mut out =
        String::from("# The command line\n\n<!-- Written by `culd --generate-docs`. Change the flag table, not this page. -->\n\n");
    out += "## Commands\n\n| command | what it does |\n|---|---|\n";
    for (usage, about) in COMMANDS {
        let _ = writeln!(out, "| `{usage}` | {about} |");
    }
    out += "\nThe same program, called through a link or copy named `nvlink`, has the flags, texts and exit codes of the nvlink of its toolkit: 12.0 to 13.4, by default 13.0.88.\n\n";
    out += "## Grammar\n\n";
    out += "* Long names take two dashes, short names one. There are no abbreviations.\n";
    out += "* A value follows as the next argument or after `=`; `-l`, `-L` and `-m` also take it glued (`-lfoo`).\n";
    out += "* Lists are separated by commas and add up over repeats. Any other flag given twice with different values keeps the last and warns.\n";
    out += "* Under `culd`, `-` as a file is standard input or output.\n";
    out += "* Numbers are decimal, `0x` hexadecimal or, with a leading zero, octal.\n";
    out +=
        "* Under `culd`, `@file` reads further arguments from a response file: white space separates, quotes and backslashes protect.\n\n";
    out += "## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | linked |\n| 1 | stopped at the first problem: the command line, a file, or objects that contradict each other |\n";
    out += "| 255 | the inputs or the link have errors, all of which were listed; nothing was linked |\n\n";
    out += "Other commands:\n\n| command | 0 | 1 | 2 |\n|---|---|---|---|\n";
    out += "| `dump`, `size`, `occupancy`, `report` | shown | a file cannot be read, or has no device code or no such function | |\n";
    out += "| `diff` | the same, or nothing grew beyond its budget | different, or beyond a budget | a file cannot be read |\n";
    out += "| `install-as-nvlink`, `explain`, `help` | done | a problem, which is printed | |\n";
    out += "| `doctor` | shown | unknown flag | |\n";
    let groups: [Group; 3] = [
        GROUPS[0],
        ("Flags that nvlink accepts without listing them", |f| {
            f.known == Known::Both && f.hidden
        }),
        GROUPS[1],
    ];
    for (title, filter) in groups {
        let _ = write!(out, "\n## {title}\n\n| flag | short | value | what it does |\n|---|---|---|---|\n");
        for flag in flags::all().filter(|f| filter(f)) {
            reference_row(&mut out, flag);
        }
    }
    out + INSTALL
}

fn reference_row(out: &mut String, flag: &Flag) {
    let short = flag.short.map(|s| format!("`-{s}`")).unwrap_or_default();
    let value = match (flag.kind, flag.argument) {
        (flags::Kind::Switch, _) => String::new(),
        (flags::Kind::Boolean, _) => "true or false".into(),
        (_, "") => "text".into(),
        (_, argument) => argument.replace(['<', '>'], "").replace('|', ", "),
    };
    let _ = writeln!(
        out,
        "| `--{}` | {short} | {value} | {} |",
        flag.long,
        flag.about.replace('|', "\\|")
    );
}

/// The help that fits the name.
pub fn help(called: Called, tool: &str) -> String {
    match called.is_nvlink() {
        true => nvlink_help(tool, called),
        false => culd_help(),
    }
}

/// The version text that fits the name.
pub fn version(called: Called, tool: &str) -> String {
    match called.is_nvlink() {
        true => nvlink_version(tool, called.version),
        false => culd_version(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvlink_help_has_the_size_of_the_real_one() {
        let help = nvlink_help("nvlink", culd_engine::Identity::Nvlink.into());
        assert_eq!(help.len(), 8755);
        // A value list breaks after a comma, a text after the word that reaches column 80.
        assert!(help.contains("'compute_100f',\n        'compute_103'"));
        assert!(help.contains("--register-link-binaries <file\n        name>  \n"));
    }

    #[test]
    fn culd_help_lines_fit_a_terminal() {
        assert!(culd_help().lines().all(|l| l.len() <= 120), "a line is too long");
    }
}
