//! The manual page and the completions of shells, from the flag tables.
//!
//! * `culd --generate-man`: a page in the man macros.
//! * `culd --generate-completions bash|zsh|fish`: files are completed everywhere, values where a table lists them.

use crate::cli::flags::{self, Flag, Known};
use crate::cli::{help, see};
use culd_engine::Identity;
use std::fmt::Write;

/// Names of all subcommands, from the list that help shows.
fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    let named = help::COMMANDS
        .iter()
        .filter_map(|(usage, about)| Some((usage.strip_prefix("culd ")?.split(' ').next()?, *about)));
    named.filter(|(name, _)| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'))
}

fn listed() -> impl Iterator<Item = &'static Flag> {
    flags::all().filter(|f| !f.hidden)
}

/// Text in the man macros.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    match escaped.starts_with(['.', '\'']) {
        true => format!("\\&{escaped}"),
        false => escaped,
    }
}

/// The manual page.
pub fn man() -> String {
    let mut out = format!(
        ".\\\" Written by `culd --generate-man`.\n.TH CULD 1 \"\" \"culd {}\" \"User Commands\"\n.SH NAME\nculd \\- device linker for CUDA\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    for (usage, _) in help::COMMANDS {
        let _ = writeln!(out, ".B {}\n.br", roff(usage));
    }
    out += ".SH DESCRIPTION\nculd links relocatable device code of CUDA: cubins, and the device code in host objects, archives, fat binaries and PTX.\n";
    out += "Called through a link or copy named nvlink, it has the flags, texts and exit codes of nvlink.\n.SH COMMANDS\n";
    for (usage, about) in help::COMMANDS {
        let _ = writeln!(out, ".TP\n.B {}\n{}", roff(usage), roff(about));
    }
    for (title, known) in [("OPTIONS", Known::Both), ("OPTIONS OF CULD", Known::Culd)] {
        let _ = writeln!(out, ".SH {title}");
        for flag in listed().filter(|f| f.known == known) {
            let short = flag
                .short
                .filter(|s| *s != flag.long)
                .map(|s| format!("-{s}, "))
                .unwrap_or_default();
            let value = if flag.argument.is_empty() {
                String::new()
            } else {
                format!(" {}", flag.argument)
            };
            let _ = writeln!(
                out,
                ".TP\n.B {}\n{}",
                roff(&format!("{short}--{}{value}", flag.long)),
                roff(flag.about)
            );
        }
    }
    out += ".SH OPTIONS OF OTHER COMMANDS\n";
    for e in see::FLAGS.iter().filter(|e| e.name != "help") {
        let value = e.value.map(|v| format!(" <{v}>")).unwrap_or_default();
        let names = e.commands.join(", ");
        let _ = writeln!(
            out,
            ".TP\n.B {}\n({names}) {}",
            roff(&format!("--{}{value}", e.name)),
            roff(e.about)
        );
    }
    out += ".SH EXIT STATUS\n.TP\n.B 0\nlinked\n.TP\n.B 1\nstopped at the first problem\n.TP\n.B 255\nthe inputs or the link have errors, all of which were listed\n";
    out += ".PP\nculd diff ends with 0 for equal files, 1 for different ones and 2 on trouble; with \\-\\-sizes, 1 when a limit of \\-\\-fail\\-above is exceeded.\n";
    out + ".SH SEE ALSO\n.BR nvcc (1)\n"
}

/// The completions for a shell; none for one that is not known.
pub fn completions(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "fish" => Some(fish()),
        "zsh" => Some(zsh()),
        _ => None,
    }
}

/// Flags of a subcommand, with dashes.
fn flags_of(command: &str) -> Vec<String> {
    let from_help = match command {
        "dump" | "diff" => crate::cli::inspect::help(command),
        _ => String::new(),
    };
    let mut names: Vec<String> = from_help
        .split_whitespace()
        .filter(|w| w.starts_with("--"))
        .map(str::to_owned)
        .collect();
    names.extend(
        see::FLAGS
            .iter()
            .filter(|e| e.commands.contains(&command))
            .map(|e| format!("--{}", e.name)),
    );
    names.sort();
    names.dedup();
    names
}

/// The values of a flag, separated by blanks.
fn words(flag: &flags::Flag) -> String {
    flag.values(Identity::Culd.into()).collect::<Vec<_>>().join(" ")
}

fn bash() -> String {
    let names: Vec<&str> = commands().map(|c| c.0).collect();
    let mut flags: Vec<String> = listed().map(|f| format!("--{}", f.long)).collect();
    flags.extend(listed().filter_map(|f| f.short).map(|s| format!("-{s}")));
    flags.sort();
    flags.dedup();
    let mut values = String::new();
    for flag in listed().filter(|f| f.is_restricted()) {
        let short = flag.short.map(|s| format!("|-{s}")).unwrap_or_default();
        let _ = writeln!(
            values,
            "    --{}{short}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;",
            flag.long,
            words(flag)
        );
    }
    let mut by_command = String::new();
    for name in &names {
        let list = flags_of(name).join(" ");
        let _ = writeln!(by_command, "    {name}) flags='{list}' ;;");
    }
    format!(
        "# Completions of culd for bash; written by `culd --generate-completions bash`.\n_culd() {{\n  local word before flags\n  COMPREPLY=()\n  \
         word=\"${{COMP_WORDS[COMP_CWORD]}}\"\n  before=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n  [ \"$before\" = \"=\" ] && \
         before=\"${{COMP_WORDS[COMP_CWORD-2]}}\"\n  flags='{}'\n  case \"${{COMP_WORDS[1]}}\" in\n{by_command}  esac\n  case \"$before\" \
         in\n{values}  esac\n  if [[ \"$word\" == -* ]]; then\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n  elif [ \"$COMP_CWORD\" -eq 1 ]; then\n    \
         COMPREPLY=($(compgen -W '{}' -- \"$word\") $(compgen -f -- \"$word\"))\n  else\n    \
         COMPREPLY=($(compgen -f -- \"$word\"))\n  fi\n}}\ncomplete -o filenames -F _culd culd\n",
        flags.join(" "),
        names.join(" ")
    )
}

/// Text inside single quotes of a shell.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''")
}

fn fish() -> String {
    let mut out = String::from("# Completions of culd for fish; written by `culd --generate-completions fish`.\n");
    let fish = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    for (name, about) in commands() {
        let _ = writeln!(out, "complete -c culd -n __fish_use_subcommand -a {name} -d '{}'", fish(about));
    }
    for flag in listed() {
        let short = match flag.short {
            Some(s) if s.len() == 1 => format!(" -s {s}"),
            Some(s) if s != flag.long => format!(" -o {s}"),
            _ => String::new(),
        };
        let value = match (flag.kind, flag.is_restricted()) {
            (flags::Kind::Switch, _) => String::new(),
            (_, false) => " -r".into(),
            (_, true) => format!(" -x -a '{}'", words(flag)),
        };
        let _ = writeln!(out, "complete -c culd -l {}{short}{value} -d '{}'", flag.long, fish(flag.about));
    }
    for e in see::FLAGS {
        let value = if e.value.is_some() { " -r" } else { "" };
        let _ = writeln!(
            out,
            "complete -c culd -n '__fish_seen_subcommand_from {}' -l {}{value} -d '{}'",
            e.commands.join(" "),
            e.name,
            fish(e.about)
        );
    }
    out
}

fn zsh() -> String {
    let mut out = String::from(
        "#compdef culd\n# Completions of culd for zsh; written by `culd --generate-completions zsh`.\n_culd() {\n  local -a commands flags\n  commands=(\n",
    );
    for (name, about) in commands() {
        let _ = writeln!(out, "    '{name}:{}'", quoted(&about.replace(':', "\\:")));
    }
    out += "  )\n  flags=(\n";
    for flag in listed() {
        let about = quoted(&flag.about.replace(['[', ']', ':'], " "));
        let value = match (flag.kind, flag.is_restricted()) {
            (flags::Kind::Switch, _) => String::new(),
            (_, false) => ":value:_files".into(),
            (_, true) => format!(":value:({})", words(flag)),
        };
        let equals = if value.is_empty() { "" } else { "=" };
        let _ = writeln!(out, "    '--{}{equals}[{about}]{value}'", flag.long);
    }
    out += "  )\n  if (( CURRENT == 2 )) && [[ ${words[2]} != -* ]]; then\n    _describe command commands\n    _files\n    return\n  fi\n  case ${words[2]} in\n";
    for (name, _) in commands() {
        let list: Vec<String> = flags_of(name).iter().map(|f| format!("'{f}'")).collect();
        let _ = writeln!(out, "    {name}) flags=({}) ;;", list.join(" "));
    }
    out + "  esac\n  _arguments -S $flags '*:file:_files'\n}\n_culd \"$@\"\n"
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;
    use std::process::Command;

    /// Runs a shell on a script without executing it; None when the shell is not there.
    fn parses(program: &str, arguments: &[&str], text: &str) -> Option<bool> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let status = Command::new(program).args(arguments).arg(file.path()).output().ok()?;
        assert!(status.stderr.is_empty(), "{program}: {}", String::from_utf8_lossy(&status.stderr));
        Some(status.status.success())
    }

    #[test]
    fn shells_can_read_their_completions() {
        assert_ne!(parses("bash", &["-n"], &bash()), Some(false));
        assert_ne!(parses("zsh", &["-n"], &zsh()), Some(false));
        assert_ne!(parses("fish", &["--no-execute"], &fish()), Some(false));
    }

    #[test]
    fn bash_completes_commands_flags_and_values() {
        let complete = |words: &str, at: usize| {
            let script = format!(
                "{}\nCOMP_WORDS=({words}); COMP_CWORD={at}; _culd; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
                bash()
            );
            let output = Command::new("bash").args(["--norc", "-c", &script]).output().ok()?;
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        };
        let Some(commands) = complete("culd occ", 1) else { return };
        assert_eq!(commands.trim(), "occupancy");
        assert_eq!(complete("culd size --so", 2).unwrap().trim(), "--sort");
        assert_eq!(complete("culd --color al", 2).unwrap().trim(), "always");
        assert!(complete("culd --json", 1).unwrap().contains("--json-report"));
    }

    #[test]
    fn the_manual_page_names_every_flag() {
        let page = man();
        for flag in listed() {
            assert!(page.contains(&roff(&format!("--{}", flag.long))), "{}", flag.long);
        }
        // Lines of text must not be taken for requests.
        let requests = [".TH", ".SH", ".TP", ".B", ".BR", ".br", ".PP", ".\\\""];
        for line in page.lines().filter(|l| l.starts_with('.')) {
            assert!(requests.contains(&line.split(' ').next().unwrap()), "{line}");
        }
        assert!(!page.lines().any(|l| l.starts_with('\'')));
    }
}
