//! Prints the messages of the engine under the name culd.
//!
//! 1. Messages that come once per symbol or kernel are folded: undefined references into one list with the files that refer to them, unknown
//!    stack sizes into one line with a count. They are printed in place of the first of them.
//! 2. "merge failed" is left out: the errors before it say why.
//! 3. What a kernel uses takes one line instead of two.

use crate::cli::culd_text::{culd_text, enumerate, name, short_name};
use crate::cli::messages::Console;
use culd_engine::{Code, Message, Severity};

/// Prints the messages of a link.
pub fn print(messages: &[Message], console: &mut Console) {
    let mut folded = Folded::collect(messages);
    let mut kernel = "";
    for message in messages {
        match message {
            Message::Text(line) => console.raw(&format!("{line}\n")),
            Message::Diagnostic(diagnostic) => match &diagnostic.code {
                Code::UndefinedReference { .. } => folded.undefined(diagnostic.severity, console),
                Code::StackUnknown { .. } => folded.stacks(diagnostic.severity, console),
                Code::MergeFailed => {}
                Code::FunctionProperties { function } => kernel = function.as_str(),
                Code::FunctionUse { .. } => {
                    console.engine_line(diagnostic.severity, &format!("kernel {}: {}", name(kernel), diagnostic.code))
                }
                _ => console.engine_line(diagnostic.severity, &culd_text(&diagnostic.code)),
            },
        }
    }
}

/// Messages that are printed once for many symbols.
struct Folded<'m> {
    undefined: Vec<(&'m str, &'m [String])>,
    stacks: Vec<&'m str>,
}

impl<'m> Folded<'m> {
    fn collect(messages: &'m [Message]) -> Self {
        let mut folded = Folded {
            undefined: Vec::new(),
            stacks: Vec::new(),
        };
        for message in messages {
            let Message::Diagnostic(d) = message else { continue };
            match &d.code {
                Code::UndefinedReference { symbol, files, .. } => folded.undefined.push((symbol, files)),
                Code::StackUnknown { entry } => folded.stacks.push(entry),
                _ => {}
            }
        }
        folded
    }

    fn undefined(&mut self, severity: Severity, console: &mut Console) {
        let list = std::mem::take(&mut self.undefined);
        let mut text = match list.len() {
            0 => return,
            1 => "1 undefined reference".to_string(),
            n => format!("{n} undefined references"),
        };
        for (symbol, files) in list {
            text += &format!(
                "\n  {}\n    referenced by {}",
                name(symbol),
                enumerate(files.iter().cloned(), files.len())
            );
        }
        console.engine_line(severity, &text);
    }

    fn stacks(&mut self, severity: Severity, console: &mut Console) {
        let list = std::mem::take(&mut self.stacks);
        let text = match list.as_slice() {
            [] => return,
            [one] => format!(
                "cannot determine the stack size of kernel {} statically: it is recursive or makes indirect calls",
                name(one)
            ),
            many => format!(
                "cannot determine the stack sizes of {} kernels statically, because they are recursive or make indirect calls: {}",
                many.len(),
                enumerate(many.iter().take(3).map(|n| short_name(n)), many.len())
            ),
        };
        console.engine_line(severity, &text);
    }
}
