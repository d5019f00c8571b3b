//! `culd explain CODE`: cause, example and remedy of every message.
//!
//! The texts are in `codes.txt`: a line `# CODE`, then the paragraph. A test compares them with the codes of all messages.

use crate::cli::messages::{CliMessage, Console};
use crate::cli::{os, suggest};
use culd_engine::Severity;
use std::io::Write;
use std::process::ExitCode;

/// The subcommand.
pub const COMMAND: &str = "explain";

const TEXTS: &str = include_str!("codes.txt");

/// Every code and its text.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let entries = TEXTS.split("\n# ").filter_map(|entry| entry.split_once('\n'));
    entries.map(|(code, text)| (code.trim_start_matches("# ").trim(), text.trim_end()))
}

/// The text about a code, in any case of letters.
pub fn text(code: &str) -> Option<(&'static str, &'static str)> {
    all().find(|(name, _)| name.eq_ignore_ascii_case(code))
}

/// How to call it, and all codes.
pub fn list() -> String {
    let mut page = String::from("usage: culd explain CODE...\n\nCodes, as --show-codes and --json-report print them:\n");
    all().for_each(|(code, _)| page += &format!("  {code}\n"));
    page
}

/// `culd explain CODE...`; without codes it lists them.
pub fn run(args: &[Vec<u8>], console: &mut Console) -> ExitCode {
    let mut page = String::new();
    if args.is_empty() || args.iter().any(|a| a == b"--help" || a == b"-h") {
        page += &list();
    }
    let mut exit = ExitCode::SUCCESS;
    for code in args.iter().map(|a| os::lossy(a)).filter(|a| !a.starts_with('-')) {
        match text(&code) {
            Some((name, text)) => page += &format!("{name}\n\n{text}\n"),
            None => {
                let near = suggest::nearest(&code, all().map(|(name, _)| (name, name.to_owned())));
                let near = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
                let text = format!("there is no message with the code {code}{near}; `culd explain` lists all");
                console.say(Severity::Error, &CliMessage::Own(text));
                exit = ExitCode::from(1);
            }
        }
    }
    // Ignore EPIPE.
    let _ = std::io::stdout().write_all(page.as_bytes());
    exit
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_text_and_every_text_a_code() {
        let lists = [
            CliMessage::NAMES,
            culd_input::LoadCode::NAMES,
            culd_engine::Code::NAMES,
            &culd_base::admission::NAMES,
        ];
        let codes: BTreeSet<&str> = lists.into_iter().flatten().copied().collect();
        let texts: BTreeSet<&str> = all().map(|(code, _)| code).collect();
        assert_eq!(codes.symmetric_difference(&texts).collect::<Vec<_>>(), Vec::<&&str>::new());
        for (code, text) in all() {
            assert!(
                text.contains("\nExample: ") && text.contains("\nFix: "),
                "{code} lacks an example or a fix"
            );
        }
        assert_eq!(text("undefinedreference").map(|(code, _)| code), Some("UndefinedReference"));
    }
}
