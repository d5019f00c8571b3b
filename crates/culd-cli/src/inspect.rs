//! `culd dump` and `culd diff`.

use crate::messages::{Console, Said};
use culd::Severity;
use std::process::ExitCode;

/// Subcommands handled here.
pub const COMMANDS: [&str; 2] = ["dump", "diff"];

/// Runs a subcommand with the arguments behind its name.
pub fn run(command: &str, _arguments: &[Vec<u8>], console: &mut Console) -> ExitCode {
    console.say(Severity::Fatal, &Said::Own(format!("culd {command} is not part of this build")));
    ExitCode::from(1)
}
