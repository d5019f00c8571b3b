//! Prints what a link reported.
//!
//! 1. Messages, lines of the call graph dump and the usage of resources are printed in the order in which they came up.
//! 2. As nvlink: one line for each.
//! 3. As culd: messages that come once per symbol or kernel are folded, undefined references into one list with the files that refer to them,
//!    unknown stack sizes and functions whose schedule is kept into one line with a count. They are printed in place of the first of them.
//! 4. As culd: messages with the same text but for the symbol, such as those of a file that is given twice, are folded into one. Hints follow
//!    on a line of their own.
//! 5. As culd: "merge failed" is left out, because the errors before it tell the reason. The usage of a kernel takes one line instead of two.

use crate::cli::causes::Causes;
use crate::cli::culd_text::{enumerate, name, short_name};
use crate::cli::messages::Console;
use culd_engine::{Code, Diagnostic, Identity, Outcome, ResourceUsage, Severity};

/// Undefined references that are listed.
const SHOWN: usize = 100;

/// Prints the messages of a link, the call graph, and with `verbose` the usage.
pub fn print(outcome: &Outcome, causes: &Causes, verbose: bool, console: &mut Console) {
    let mut folded = Folded::collect(&outcome.messages, causes);
    let mut callgraph = outcome.explained.callgraph.iter().peekable();
    let mut usage = outcome.explained.usage.as_ref().filter(|_| verbose);
    for printed in 0..=outcome.messages.len() {
        while let Some(line) = callgraph.next_if(|line| line.after <= printed) {
            console.raw(&format!("{}\n", line.text));
        }
        if let Some(usage) = usage.take_if(|usage| usage.after <= printed) {
            print_usage(usage, console);
        }
        if let Some(message) = outcome.messages.get(printed) {
            folded.print(message, console);
        }
    }
}

fn print_usage(usage: &ResourceUsage, console: &mut Console) {
    console.engine_line(Severity::Info, "", &usage.memory.to_string());
    for kernel in &usage.kernels {
        match console.identity() {
            Identity::Nvlink => {
                console.engine_line(Severity::Info, "", &format!("Function properties for '{}':", kernel.name));
                console.engine_line(Severity::Info, "", &kernel.to_string());
            }
            Identity::Culd => {
                let mut used = kernel.to_string();
                if kernel.stack_is_unknown {
                    used = used.replacen(&format!(" {} stack,", kernel.stack), " unknown stack,", 1);
                }
                console.engine_line(Severity::Info, "", &format!("kernel {}: {used}", name(&kernel.name)));
            }
        }
    }
}

/// Messages that are printed once for many symbols.
struct Folded<'m> {
    causes: &'m Causes,
    undefined: Vec<(&'m Code, &'m str, &'m [String])>,
    stacks: Vec<&'m str>,
    /// Files that are given twice, and what they define.
    twice: Vec<(&'m str, Vec<&'m str>)>,
    /// Reasons to keep the compiler's schedule, and functions.
    kept: Vec<(&'m str, Vec<&'m str>)>,
}

impl<'m> Folded<'m> {
    fn collect(messages: &'m [Diagnostic], causes: &'m Causes) -> Self {
        let mut folded = Folded {
            causes,
            undefined: Vec::new(),
            stacks: Vec::new(),
            twice: Vec::new(),
            kept: Vec::new(),
        };
        for d in messages {
            match &d.code {
                Code::UndefinedReference { symbol, files, .. } => folded.undefined.push((&d.code, symbol, files)),
                Code::StackUnknown { entry } if !folded.stacks.contains(&entry.as_str()) => folded.stacks.push(entry),
                Code::MultipleDefinition { symbol, file, .. } if causes.given_twice(symbol, file) => {
                    match folded.twice.iter_mut().find(|(name, _)| name == file) {
                        Some((_, symbols)) => symbols.push(symbol),
                        None => folded.twice.push((file, vec![symbol])),
                    }
                }
                Code::SassKept { function, reason } => match folded.kept.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, functions)) => functions.push(function),
                    None => folded.kept.push((reason, vec![function])),
                },
                _ => {}
            }
        }
        folded
    }

    fn print(&mut self, message: &Diagnostic, console: &mut Console) {
        match (console.identity(), &message.code) {
            // Only for the report.
            (Identity::Nvlink, Code::SassKept { .. }) => {}
            (Identity::Nvlink, code) => console.engine_line(message.severity, code.name(), &code.to_string()),
            (Identity::Culd, Code::UndefinedReference { .. }) => self.undefined(message.severity, console),
            (Identity::Culd, Code::StackUnknown { .. }) => self.stacks(message.severity, console),
            (Identity::Culd, Code::MergeFailed) => {}
            (Identity::Culd, Code::SassKept { reason, .. }) => self.kept(message.severity, reason, console),
            (Identity::Culd, Code::MultipleDefinition { symbol, file, .. }) if self.causes.given_twice(symbol, file) => {
                self.given_twice(message.severity, file, console);
            }
            (Identity::Culd, code) => {
                let text = with_hint(self.causes.text(code), self.causes.hint(code), "\n  ");
                console.engine_line(message.severity, code.name(), &text);
            }
        }
    }

    fn undefined(&mut self, severity: Severity, console: &mut Console) {
        let list = std::mem::take(&mut self.undefined);
        let mut text = match list.len() {
            0 => return,
            1 => "1 undefined reference".to_string(),
            n => format!("{n} undefined references"),
        };
        let mut last = None;
        let count = list.len();
        for (number, (code, symbol, files)) in list.into_iter().enumerate() {
            let who = self.causes.references(symbol, files, "\n    ");
            // The same hint once, where it fits all.
            let hint = self
                .causes
                .hint(code)
                .filter(|h| last.replace(h.clone()).as_ref() != Some(h) || number == 0);
            text += &with_hint(format!("\n  {}{who}", name(symbol)), hint, "\n    ");
            if number + 1 == SHOWN && count > SHOWN {
                text += &format!("\n  and {} more", count - SHOWN);
                break;
            }
        }
        console.engine_line(severity, "UndefinedReference", &text);
    }

    fn stacks(&mut self, severity: Severity, console: &mut Console) {
        let list = std::mem::take(&mut self.stacks);
        let text = match list.as_slice() {
            [] => return,
            [one] => format!(
                "cannot determine the stack size of kernel {} statically: {}",
                name(one),
                self.causes.stack_cause(one)
            ),
            many => {
                let mut text = format!(
                    "cannot determine the stack sizes of {} kernels statically: {}",
                    many.len(),
                    enumerate(many.iter().take(3).map(|n| short_name(n)), many.len())
                );
                for kernel in many.iter().take(3) {
                    text += &format!("\n  {}: {}", short_name(kernel), self.causes.stack_cause(kernel));
                }
                text
            }
        };
        console.engine_line(severity, "StackUnknown", &text);
    }

    fn kept(&mut self, severity: Severity, reason: &str, console: &mut Console) {
        let Some(place) = self.kept.iter().position(|(known, _)| *known == reason) else {
            return;
        };
        let (_, functions) = self.kept.remove(place);
        let text = match functions.as_slice() {
            [one] => format!("{} keeps the compiler's schedule: {reason}", name(one)),
            many => format!(
                "{} functions keep the compiler's schedule ({reason})\n  {}",
                many.len(),
                enumerate(many.iter().take(3).map(|f| short_name(f)), many.len())
            ),
        };
        console.engine_line(severity, "SassKept", &text);
    }

    fn given_twice(&mut self, severity: Severity, file: &str, console: &mut Console) {
        let Some(place) = self.twice.iter().position(|(name, _)| *name == file) else {
            return;
        };
        let (_, symbols) = self.twice.remove(place);
        let count = symbols.len();
        let names = enumerate(symbols.into_iter().map(name), count);
        console.engine_line(
            severity,
            "MultipleDefinition",
            &format!("{file} is given twice: multiple definitions of {names}"),
        );
    }
}

/// A text and its hint on a line of its own.
pub fn with_hint(text: String, hint: Option<String>, start: &str) -> String {
    match hint {
        Some(hint) => format!("{text}{start}hint: {hint}"),
        None => text,
    }
}
