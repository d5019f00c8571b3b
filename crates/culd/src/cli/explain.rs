//! culd's own text for the messages of the engine.
//!
//! 1. Messages that come once per symbol or kernel are folded: undefined references into one list with the files that refer to them, unknown
//!    stack sizes into one line with a count. They are printed in place of the first of them.
//! 2. C++ names are demangled; the name in the file follows in brackets.
//! 3. Limits list what adds up to them, register limits the calls that lead there.
//! 4. "merge failed" is left out: the errors before it say why.
//! 5. What a kernel uses takes one line instead of two.

use crate::cli::messages::Console;
use culd_engine::{Code, Message, Severity};

/// Contributors and files listed before "and N more".
const SHOWN: usize = 10;

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
                _ => console.engine_line(diagnostic.severity, &words(&diagnostic.code)),
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

/// The first of some names, and how many more there are.
fn enumerate(names: impl Iterator<Item = String>, total: usize) -> String {
    let shown: Vec<String> = names.take(SHOWN).collect();
    match total - shown.len().min(total) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A demangled name, followed by the name in the file.
pub fn name(symbol: &str) -> String {
    match culd_demangle::demangle(symbol.as_bytes()) {
        Some(demangled) if demangled != symbol => format!("{demangled} [{symbol}]"),
        _ => symbol.to_string(),
    }
}

/// A demangled name alone.
pub fn short_name(symbol: &str) -> String {
    culd_demangle::demangle(symbol.as_bytes()).unwrap_or_else(|| symbol.to_string())
}

/// Variables that add up to a limit.
fn contributors(list: &[(String, u64)]) -> String {
    let mut text = String::new();
    for (variable, size) in list.iter().take(SHOWN) {
        text += &format!("\n  {size:>8} bytes  {}", name(variable));
    }
    if list.len() > SHOWN {
        let rest: u64 = list.iter().skip(SHOWN).map(|(_, size)| size).sum();
        text += &format!("\n  {rest:>8} bytes  in {} more", list.len() - SHOWN);
    }
    text
}

/// The text of a message under the name culd; nvlink's text where no other is given here.
pub fn words(code: &Code) -> String {
    match code {
        Code::MultipleDefinition { symbol, file, first } => format!(
            "multiple definitions of {}: {file} defines it again, first seen in {first}",
            name(symbol)
        ),
        Code::SizeMismatch { symbol, file, first } => format!("{} has different sizes in {first} and {file}", name(symbol)),
        Code::CommonLarger { symbol, file } => format!(
            "the common variable {} is larger in {file} than in the file that initializes it",
            name(symbol)
        ),
        Code::SpaceMismatch { symbol, file, first } => {
            format!("{} is declared in different memory spaces in {first} and {file}", name(symbol))
        }
        Code::ManagedMismatch { symbol, file, first } => {
            format!("{} is declared __managed__ in only one of {first} and {file}", name(symbol))
        }
        Code::PrototypeMismatch { symbol, file, first } => {
            format!("{} has different prototypes in {first} and {file}", name(symbol))
        }
        Code::EntryMismatch { symbol } => format!("{} is a kernel in one file and a device function in another", name(symbol)),
        Code::AddressTakenUncalled { function } => {
            format!(
                "the address of {} is taken, but nothing calls a function of its type",
                name(function)
            )
        }
        Code::RemovedFunction {
            function,
            user,
            is_code: true,
            file,
        } => format!(
            "{} in {file} calls or takes the address of {}, which the call graph of {file} does not list: the function was removed, \
             and its registers and stack are unknown",
            name(user),
            name(function)
        ),
        Code::RemovedFunction { function, user, file, .. } => format!(
            "section {user} of {file} has the address of {}, which the call graph of {file} does not list: the function was removed",
            name(function)
        ),
        Code::TooMuchShared {
            entry,
            size,
            limit,
            contributors: list,
        } => format!(
            "kernel {} uses {size} bytes of shared memory, {} more than the {limit} allowed{}",
            name(entry),
            size.saturating_sub(*limit),
            contributors(list)
        ),
        Code::TooMuchLiteral {
            entry,
            size,
            limit,
            contributors: list,
        } => format!(
            "{} and the functions that it calls use {size} bytes of compiler-generated constants, {} more than the {limit} allowed; \
             compile them with -Xptxas --disable-optimizer-constants{}",
            name(entry),
            size.saturating_sub(*limit),
            contributors(list)
        ),
        Code::TooMuchParameter { entry, size, limit } => format!(
            "the parameter bank of kernel {} has {size} bytes, {} more than the {limit} allowed; the banks of all its definitions add up",
            name(entry),
            size.saturating_sub(*limit)
        ),
        Code::TooMuchConstant {
            size,
            limit,
            contributors: list,
        } => format!(
            "the program uses {size} bytes of constant memory, {} more than the {limit} allowed{}",
            size.saturating_sub(*limit),
            contributors(list)
        ),
        Code::TooManyRegisters {
            entry,
            limit,
            function,
            registers,
            path,
        } => {
            let calls: Vec<String> = path.iter().map(|f| short_name(f)).collect();
            let mut text = format!(
                "kernel {} may use {limit} registers but calls {}, which needs {registers}",
                name(entry),
                name(function)
            );
            if calls.len() > 1 {
                text += &format!("\n  call path: {}", calls.join(" -> "));
            }
            text
        }
        Code::ArchMismatch { file, compiled, target } => format!("{file} was compiled for {compiled}, not {target}"),
        Code::AbiMismatch { file } => format!("{file} has an ABI version that culd does not support"),
        Code::Accelerated { file } => {
            format!("{file} was compiled for an architecture with suffix a and cannot be linked for a target without it")
        }
        Code::NewerThanToolkit { file, toolkit, own } => format!(
            "{file} was compiled by CUDA {}.{}, but culd only supports objects up to CUDA {}.{}",
            toolkit / 10,
            toolkit % 10,
            own / 10,
            own % 10
        ),
        Code::TooOld { file } => format!("{file} was compiled by a CUDA release before 12.0; recompile it"),
        Code::Lost { file, what } => format!("{file}: {what} would be missing from the output, and no rule of culd allows that"),
        Code::BadImage { reason } => format!("internal error: the output failed verification (please report): {reason}"),
        Code::Damaged { file, reason } | Code::Unsupported { file, reason } | Code::NewerMercury { file, reason } => {
            format!("{file} cannot be linked: {reason}")
        }
        Code::OutputTooLarge { size, limit, section } => format!(
            "the output would have {size} bytes, more than the {limit} allowed for inputs of this size; section '{section}' contributes most"
        ),
        Code::PreserveRelocsIncomplete { target } => format!("--preserve-relocs does not keep every relocation on {target}"),
        Code::UnifiedWithoutIndex => "the inputs have unified functions or variables; name their index file with --uidx-file".into(),
        Code::Internal { what } => format!("the inputs are inconsistent: {what}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_show_what_adds_up() {
        let list: Vec<(String, u64)> = (0..12).map(|i| (format!("v{i}"), 100 - i)).collect();
        let text = contributors(&list);
        assert!(text.contains("     100 bytes  v0"));
        assert!(text.ends_with("179 bytes  in 2 more"));
    }

    #[test]
    fn literals_above_the_limit_name_kernel_size_and_functions() {
        let text = words(&Code::TooMuchLiteral {
            entry: "_Z1kv".into(),
            size: 65540,
            limit: 65536,
            contributors: vec![("f0".into(), 65412)],
        });
        assert!(text.starts_with("k() [_Z1kv] and the functions that it calls use 65540 bytes of compiler-generated constants, 4 more"));
        assert!(text.ends_with("   65412 bytes  f0"));
    }

    #[test]
    fn names_are_demangled_beside_the_original() {
        assert_eq!(name("_Z1fi"), "f(int) [_Z1fi]");
        assert_eq!(name("plain"), "plain");
    }
}
