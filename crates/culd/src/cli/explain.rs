//! Prints what a link reported.
//!
//! 1. Messages, lines of the call graph dump and the usage of resources are printed in the order in which they came up.
//! 2. As nvlink: one line for each.
//! 3. As culd: messages that come once per symbol or kernel are folded, undefined references into one list with the files that refer to them,
//!    unknown stack sizes into one line with a count. They are printed in place of the first of them.
//! 4. As culd: "merge failed" is left out, because the errors before it tell the reason. The usage of a kernel takes one line instead of two.

use crate::cli::culd_text::{culd_text, enumerate, name, short_name};
use crate::cli::messages::Console;
use culd_engine::{Code, Diagnostic, Identity, Outcome, ResourceUsage, Severity};

/// Prints the messages of a link, the call graph, and with `verbose` the usage.
pub fn print(outcome: &Outcome, verbose: bool, console: &mut Console) {
    let mut folded = Folded::collect(&outcome.messages);
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
    console.engine_line(Severity::Info, &usage.memory.to_string());
    for kernel in &usage.kernels {
        match console.identity() {
            Identity::Nvlink => {
                console.engine_line(Severity::Info, &format!("Function properties for '{}':", kernel.name));
                console.engine_line(Severity::Info, &kernel.to_string());
            }
            Identity::Culd => console.engine_line(Severity::Info, &format!("kernel {}: {kernel}", name(&kernel.name))),
        }
    }
}

/// Messages that are printed once for many symbols.
struct Folded<'m> {
    undefined: Vec<(&'m str, &'m [String])>,
    stacks: Vec<&'m str>,
}

impl<'m> Folded<'m> {
    fn collect(messages: &'m [Diagnostic]) -> Self {
        let mut folded = Folded {
            undefined: Vec::new(),
            stacks: Vec::new(),
        };
        for d in messages {
            match &d.code {
                Code::UndefinedReference { symbol, files, .. } => folded.undefined.push((symbol, files)),
                Code::StackUnknown { entry } => folded.stacks.push(entry),
                _ => {}
            }
        }
        folded
    }

    fn print(&mut self, message: &Diagnostic, console: &mut Console) {
        match (console.identity(), &message.code) {
            (Identity::Nvlink, code) => console.engine_line(message.severity, &code.to_string()),
            (Identity::Culd, Code::UndefinedReference { .. }) => self.undefined(message.severity, console),
            (Identity::Culd, Code::StackUnknown { .. }) => self.stacks(message.severity, console),
            (Identity::Culd, Code::MergeFailed) => {}
            (Identity::Culd, code) => console.engine_line(message.severity, &culd_text(code)),
        }
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
