//! The program, step by step.
//!
//! 1. Whose manners: by the name the program was called with. Subcommands of culd.
//! 2. Parse the command line, find out what it means.
//! 3. For a link: time table, index file, inputs.
//! 4. Errors so far stop here. Link.
//! 5. Say what the engine said.
//! 6. Write the output, then the side files; these are also written when the link had errors, but not after a fatal one.

use crate::flags::Id;
use crate::high::{self, LinkPlan, Plan, Remark};
use crate::messages::{Console, Said};
use crate::sources::{self, Sources};
use crate::{explain, help, inspect, install, os, output, parse, script, side};
use culd::{Code, Identity, Input, LinkOptions, Message, Outcome, Severity, Status};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs the program.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let called = args.next().unwrap_or_default();
    let identity = identity(&called);
    let args: Vec<Vec<u8>> = args.map(|a| os::bytes(&a)).collect();
    let mut console = Console::new(identity);
    if let (Identity::Culd, Some((command, rest))) = (identity, args.split_first()) {
        let command = os::lossy(command);
        if inspect::COMMANDS.contains(&command.as_str()) {
            return inspect::run(&command, rest, &mut console);
        }
        if command == install::COMMAND {
            return install::run(rest, &mut console);
        }
    }
    match understand(&args, &mut console) {
        Ok(plan) => carry_out(plan, &mut console),
        Err(said) => fatal(&said, &mut console),
    }
}

/// Called as `nvlink`, the program is nvlink.
fn identity(called: &OsString) -> Identity {
    let stem = std::path::Path::new(called).file_stem();
    match stem.is_some_and(|s| s == "nvlink") {
        true => Identity::Nvlink,
        false => Identity::Culd,
    }
}

fn fatal(said: &Said, console: &mut Console) -> ExitCode {
    console.say(Severity::Fatal, said);
    ExitCode::from(1)
}

/// From arguments to a plan; prints remarks on the way.
fn understand(args: &[Vec<u8>], console: &mut Console) -> Result<Plan, Said> {
    let mut redefined = Vec::new();
    let low = parse::parse(args, console.identity(), &mut redefined);
    for flag in redefined {
        console.say(Severity::Warning, &Said::Redefined(flag));
    }
    let low = low?;
    if let Some(name) = low.text(Id::ToolName) {
        console.set_tool(os::lossy(name));
    }
    if let (true, Some(arch)) = (low.has(Id::ReportArch), low.text(Id::Arch)) {
        console.report_arch(&os::lossy(arch));
    }
    match low.text(Id::Color) {
        Some(b"always") => console.set_color(true),
        Some(b"never") => console.set_color(false),
        _ => {}
    }
    console.set_quiet(high::quiet(&low, console.identity()));
    let mut remarks = Vec::new();
    let plan = high::plan(&low, console.identity(), &mut remarks);
    for remark in remarks {
        match remark {
            Remark::Said(severity, said) => console.say(severity, &said),
            Remark::Code(severity, code) => console.say_code(severity, &code),
        }
    }
    plan
}

fn carry_out(plan: Plan, console: &mut Console) -> ExitCode {
    let text = match plan {
        Plan::Help => help::help(console.identity(), console.tool()),
        Plan::Version => help::version(console.identity(), console.tool()),
        Plan::Docs => help::reference(),
        Plan::Script(plan) => return script::run(&plan, console),
        Plan::Link(plan) => return link(*plan, console),
    };
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn link(plan: LinkPlan, console: &mut Console) -> ExitCode {
    match run_link(&plan, console) {
        Ok(status) => ExitCode::from(status as u8),
        Err(said) => fatal(&said, console),
    }
}

fn run_link(plan: &LinkPlan, console: &mut Console) -> Result<Status, Said> {
    if let Some(file) = &plan.side.time {
        side::start_time_table(file)?;
    }
    if let Some(folder) = &plan.lto {
        lto_library(folder)?;
    }
    let read = |file: &Option<Vec<u8>>| match file {
        Some(file) => std::fs::read(os::path(file)).map(Some).map_err(|_| Said::InputFile(file.clone())),
        None => Ok(None),
    };
    let unified_index = read(&plan.side.unified_index)?;
    let _host = read(&plan.side.host)?;
    let options = LinkOptions {
        unified_index: unified_index.as_deref(),
        ..plan.options.clone()
    };
    let (sources, problem) = sources::read(plan, console);
    let inputs: Vec<Input<'_>> = sources
        .objects
        .iter()
        .map(|s| Input {
            name: &s.name,
            data: &s.data,
        })
        .collect();
    let checked_only = problem.is_some() || plan.is_virtual || console.errors() > 0;
    if checked_only {
        if let Some(status) = refused(&inputs, &options, plan, console) {
            return Ok(status);
        }
        if let Some(said) = problem {
            return Err(said);
        }
        return Ok(if console.errors() > 0 { Status::Errors } else { Status::Success });
    }
    if plan.trace {
        sources.objects.iter().for_each(|s| console.raw(&format!("{}\n", s.name)));
    }
    let outcome = culd::link(&inputs, &options);
    say(&outcome.messages, plan, console);
    finish(plan, outcome, &sources)
}

/// Checks inputs without linking them; prints and returns the status when one of them is refused.
// nvlink looks at each input when it opens it, before it links any; the engine does so before it links.
fn refused(inputs: &[Input<'_>], options: &LinkOptions<'_>, plan: &LinkPlan, console: &mut Console) -> Option<Status> {
    let outcome = culd::link(inputs, options);
    let refusal = |m: &Message| {
        matches!(m, Message::Diagnostic(d) if matches!(
            d.code,
            Code::ArchMismatch { .. } | Code::AbiMismatch { .. } | Code::UnknownArch { .. } | Code::NewerThanToolkit { .. } | Code::TooOld { .. } | Code::Damaged { .. }
        ))
    };
    let refused = outcome.messages.last().is_some_and(refusal);
    refused.then(|| {
        say(&outcome.messages, plan, console);
        outcome.status
    })
}

/// libnvvm must be where `-nvvmpath` says.
fn lto_library(folder: &[u8]) -> Result<(), Said> {
    match os::path(folder).join("lib64/libnvvm.so").exists() {
        true => Err(Said::Own("link-time optimization is not supported yet; link without -lto".into())),
        false => Err(Said::LibraryLoad),
    }
}

/// Prints the engine's messages.
fn say(messages: &[Message], plan: &LinkPlan, console: &mut Console) {
    if console.identity() == Identity::Culd {
        return explain::print(messages, console);
    }
    for message in messages {
        match message {
            Message::Text(text) => console.raw(text),
            Message::Diagnostic(d) => match &d.code {
                // The engine knows the real architecture; the message names the one asked for.
                Code::ArchMismatch { file, .. } => {
                    let code = Code::ArchMismatch {
                        file: file.clone(),
                        target: plan.arch.clone(),
                    };
                    console.engine_line(d.severity, &code.to_string());
                }
                code => console.engine_line(d.severity, &code.to_string()),
            },
        }
    }
}

/// Writes what the link made.
fn finish(plan: &LinkPlan, outcome: Outcome, sources: &Sources) -> Result<Status, Said> {
    if outcome.status == Status::Fatal {
        return Ok(outcome.status);
    }
    if let (Status::Success, Some(image), Some(file)) = (outcome.status, &outcome.image, &plan.output) {
        output::write(&os::path(file), image).map_err(|e| match e {
            output::WriteError::Open(_) => Said::OutputFile(file.clone()),
            output::WriteError::Write(_) => Said::Writing,
        })?;
    }
    if let Some(file) = &plan.side.register {
        side::write_text(file, &side::registration_list(sources))?;
    }
    if let (Some(file), Status::Success) = (&plan.side.dependencies, outcome.status) {
        side::write_text(file, &side::dependency_rule(plan, &sources.files))?;
    }
    Ok(outcome.status)
}
