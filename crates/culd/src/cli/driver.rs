//! The program, step by step.
//!
//! 1. Whose manners: by the name the program was called with. Subcommands of culd.
//! 2. Parse the command line, find out what it means.
//! 3. For a link: libraries, time table, index file, inputs.
//! 4. Errors so far stop here. Link.
//! 5. Say what the engine said.
//! 6. Write the output, then the side files; these are also written when the link had errors, but not after a fatal one.
//! 7. Write the JSON report, whatever happened since the command line was read. That of an earlier run was removed before.

use crate::cli::called::Called;
use crate::cli::extra::Extra;
use crate::cli::flags::Id;
use crate::cli::high::{self, LinkPlan, Plan, Remark};
use crate::cli::messages::{Console, Said};
use crate::cli::parse::LowArgs;
use crate::cli::report::{Report, Watch};
use crate::cli::sources::{self, Sources};
use crate::cli::{doctor, environment, explain, help, inspect, install, lto, map, os, output, parse, report, repro, script, side, why};
use culd_engine::explain::dot;
use culd_engine::{Code, Explained, Identity, Input, LinkOptions, Message, Outcome, Severity, Status};
use culd_input::{Finished, Loaded};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs the program.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let program = args.next().unwrap_or_default();
    let called = match Called::new(&program) {
        Ok(called) => called,
        Err(reason) => return fatal(&Said::Own(reason), &mut Console::new(Identity::Nvlink)),
    };
    let identity = called.identity;
    let args: Vec<Vec<u8>> = args.map(os::into_bytes).collect();
    let mut console = Console::new(identity);
    if let (Identity::Culd, Some((command, rest))) = (identity, args.split_first()) {
        let command = os::lossy(command);
        if inspect::COMMANDS.contains(&command.as_str()) {
            return inspect::run(&command, rest, &mut console);
        }
        if command == lto::COMMAND {
            return lto::serve(rest);
        }
        match command.as_str() {
            install::COMMAND => return install::run(rest, &mut console),
            doctor::COMMAND => return doctor::run(rest, &mut console),
            help::COMMAND => return help::run(rest, &mut console),
            _ => {}
        }
    }
    culd_input::survive_truncation();
    let low = match read_arguments(&args, called, &mut console) {
        Ok(low) => low,
        Err(said) => return fatal(&said, &mut console),
    };
    if let Some(file) = low.text(Id::JsonReport) {
        report::discard_old(file);
    }
    match understand(&low, called, &mut console) {
        Ok(plan) => carry_out(plan, called, &low, &mut console),
        Err(said) => {
            console.say(Severity::Fatal, &said);
            let target = low.text(Id::Arch).map(os::lossy).unwrap_or_default();
            conclude(low.text(Id::JsonReport), Report::unlinked(target), Status::Fatal, &mut console)
        }
    }
}

fn fatal(said: &Said, console: &mut Console) -> ExitCode {
    console.say(Severity::Fatal, said);
    ExitCode::from(1)
}

/// Writes the report, if one is asked for; the exit code of the run.
fn conclude(file: Option<&[u8]>, mut report: Report, status: Status, console: &mut Console) -> ExitCode {
    report.conclude(status, console.take_log());
    match file.map(|file| side::write_json(file, &report)) {
        Some(Err(said)) => fatal(&said, console),
        _ => ExitCode::from(status as u8),
    }
}

/// Reads the command line and what the environment adds to it.
fn read_arguments(args: &[Vec<u8>], called: Called, console: &mut Console) -> Result<LowArgs, Said> {
    let mut redefined = Vec::new();
    let mut low = parse::parse(args, called, &mut redefined);
    if let (false, Ok(typed), Some(added)) = (called.is_nvlink(), &low, std::env::var_os(environment::VARIABLE)) {
        let added = environment::flags(&os::into_bytes(added), typed);
        redefined.clear();
        low = parse::parse(&[args, &added].concat(), called, &mut redefined);
    }
    for flag in redefined {
        console.say(Severity::Warning, &Said::Redefined(flag));
    }
    let low = low?;
    set_up(console, &low, called);
    Ok(low)
}

/// Applies the flags that concern messages.
fn set_up(console: &mut Console, low: &LowArgs, called: Called) {
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
    console.set_quiet(high::quiet(low, called));
}

/// From arguments to a plan; prints remarks on the way.
fn understand(low: &LowArgs, called: Called, console: &mut Console) -> Result<Plan, Said> {
    let mut remarks = Vec::new();
    let plan = high::plan(low, called, &mut remarks);
    for remark in remarks {
        match remark {
            Remark::Said(severity, said) => console.say(severity, &said),
            Remark::Code(severity, code) => console.say_code(severity, &code),
        }
    }
    plan
}

fn carry_out(plan: Plan, called: Called, low: &LowArgs, console: &mut Console) -> ExitCode {
    let text = match plan {
        Plan::Help => help::help(called, console.tool()),
        Plan::Version => help::version(called, console.tool()),
        Plan::Docs => help::reference(),
        Plan::Script(plan) => return script::run(&plan, console),
        Plan::Link(plan) => return link(&plan, low, console),
    };
    // A reader that has seen enough is no error.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn link(plan: &LinkPlan, low: &LowArgs, console: &mut Console) -> ExitCode {
    let mut watch = Watch::default();
    let sources = Sources::read(plan);
    let mut report = Report::unlinked(plan.arch.clone());
    let done = run_link(plan, low, &sources, &mut watch, &mut report, console);
    // The process ends: the inputs' memory need not be given back by hand.
    std::mem::forget(sources);
    if plan.options.time_phases {
        console.raw(&watch.text());
    }
    let status = done.unwrap_or_else(|said| {
        console.say(Severity::Fatal, &said);
        Status::Fatal
    });
    report.phases = plan.options.time_phases.then(|| watch.times());
    conclude(plan.side.json_report.as_deref(), report, status, console)
}

fn run_link(
    plan: &LinkPlan,
    low: &LowArgs,
    sources: &Sources,
    watch: &mut Watch,
    report: &mut Report,
    console: &mut Console,
) -> Result<Status, Said> {
    watch.lap("read inputs");
    if let Some(folder) = low.text(Id::SaveRepro) {
        repro::save(folder, low, &sources.files)?;
    }
    if sources.library_messages(plan, console) {
        return Ok(Status::Fatal);
    }
    let extra = Extra::open(plan)?;
    if sources.input_messages(plan, console) {
        return Ok(Status::Fatal);
    }
    let Some(loaded) = &sources.loaded else { return Ok(Status::Errors) };
    if let Some(file) = &plan.side.time {
        side::add_times(file, &loaded.compilations, plan)?;
    }
    // nvlink goes on after an error in the options, but not into the link. A virtual target has nothing to link.
    if console.errors() > sources.harmless_errors() {
        return Ok(Status::Errors);
    }
    if let Some(finished) = &loaded.finished {
        if plan.side.map.is_some() || !plan.options.why_live.is_empty() {
            let text = "the whole program was optimized and nothing was linked: --map and --why-live have nothing to show";
            console.say(Severity::Warning, &Said::Own(text.into()));
        }
        let outcome = Outcome {
            image: Some(finished.bytes.clone()),
            ..nothing_linked()
        };
        *report = report::report(plan, loaded, &outcome);
        let done = finish(plan, &outcome, None, loaded, sources)?;
        if let Some(regret) = &finished.regret {
            sources::say(std::slice::from_ref(regret), plan, console);
        }
        return Ok(done);
    }
    if plan.is_virtual {
        return finish(plan, &nothing_linked(), None, loaded, sources);
    }
    let options = LinkOptions {
        unified_index: extra.unified_index.as_deref(),
        host_data: extra.host_data.as_deref(),
        inputs_checked: true,
        leave_memory: true,
        kernels: plan.kernels(loaded),
        // The report is made from what -v says.
        verbose: plan.options.verbose || plan.side.json_report.is_some(),
        ..plan.options.clone()
    };
    let inputs: Vec<Input<'_>> = loaded
        .objects
        .iter()
        .map(|o| Input {
            name: &o.name,
            data: &o.bytes,
        })
        .collect();
    if plan.trace {
        inputs.iter().for_each(|i| console.raw(&format!("{}\n", i.name)));
    }
    let pending = plan.output.as_ref().map(|file| output::Pending::new(os::path(file)));
    let mut outcome = match &pending {
        Some(pending) => culd_engine::link_into(&inputs, &options, pending),
        None => culd_engine::link(&inputs, &options),
    };
    watch.lap_with("link", &outcome.explained.phases);
    // Said with the other remarks about options, before any file was opened.
    outcome
        .messages
        .retain(|m| !matches!(m, Message::Diagnostic(d) if matches!(d.code, Code::PreserveRelocsIncomplete { .. })));
    let wants_report = plan.side.json_report.is_some();
    if wants_report {
        *report = report::report(plan, loaded, &outcome);
    }
    if let Some((_, late)) = &loaded.late {
        // What was merged before it may have errors of its own; nothing else is said.
        if outcome.status == Status::Fatal {
            say(&outcome.messages, console);
        } else {
            sources::say(std::slice::from_ref(late), plan, console);
        }
        return Ok(Status::Fatal);
    }
    if wants_report {
        outcome.messages.retain(|m| plan.options.verbose || !report::is_resource_use(m));
    }
    say(&outcome.messages, console);
    let is_undefined = |m: &Message| matches!(m, Message::Diagnostic(d) if matches!(d.code, Code::UndefinedReference { .. }));
    if outcome.messages.iter().any(is_undefined) {
        sources.library_hints(plan, console);
    }
    for answer in &outcome.explained.why {
        console.raw(&why::text(answer));
    }
    let done = finish(plan, &outcome, pending, loaded, sources);
    watch.lap("write output");
    done
}

/// What a link for a virtual target makes.
fn nothing_linked() -> Outcome {
    let explained = Explained {
        dot: Some(dot::EMPTY.to_vec()),
        ..Explained::default()
    };
    Outcome {
        image: None,
        written: None,
        messages: Vec::new(),
        status: Status::Success,
        explained,
    }
}

/// Prints the engine's messages.
fn say(messages: &[Message], console: &mut Console) {
    if console.identity() == Identity::Culd {
        return explain::print(messages, console);
    }
    for message in messages {
        match message {
            Message::Text(line) => console.raw(&format!("{line}\n")),
            Message::Diagnostic(d) => console.engine_line(d.severity, &d.code.to_string()),
        }
    }
}

/// Writes what the link made.
fn finish(
    plan: &LinkPlan,
    outcome: &Outcome,
    pending: Option<output::Pending>,
    loaded: &Loaded,
    sources: &Sources,
) -> Result<Status, Said> {
    if outcome.status == Status::Fatal {
        return Ok(outcome.status);
    }
    if let Some(file) = sources.changed() {
        return Err(Said::Changed(os::bytes(file.as_os_str())));
    }
    if let (Status::Success, Some(file)) = (outcome.status, &plan.output) {
        let done = match (&outcome.image, &outcome.written, pending) {
            (Some(image), ..) => output::write(&os::path(file), image),
            (None, Some(Err(_)), _) => return Err(Said::Writing),
            (None, Some(Ok(_)), Some(pending)) => pending.finish(),
            (None, ..) => Ok(()),
        };
        done.map_err(|e| match e {
            output::WriteError::Open(e) => Said::OutputFile(file.clone(), e.to_string()),
            output::WriteError::Write(_) => Said::Writing,
        })?;
    }
    if let Some(Finished { regret: Some(_), .. }) = &loaded.finished {
        return Ok(Status::Fatal);
    }
    // PTX is no program that could be registered.
    let is_ptx = loaded.finished.is_some() && plan.lto.as_ref().is_some_and(|lto| lto.emit_ptx);
    if let (Some(file), false) = (&plan.side.register, is_ptx) {
        side::write_register_file(file, &loaded.register)?;
    }
    if let (Some(file), Some(graph)) = (&plan.side.dot, &outcome.explained.dot) {
        side::write_text(file, graph)?;
    }
    if let (Some(file), Some(map)) = (&plan.side.map, &outcome.explained.map) {
        let output = plan.output.as_deref().map(os::lossy).unwrap_or_default();
        side::write_text(file, map::text(map, &output, &plan.arch).as_bytes())?;
    }
    if let (Some(file), Status::Success) = (&plan.side.dependencies, outcome.status) {
        side::write_text(file, &side::dependency_rule(plan, &sources.files))?;
    }
    Ok(outcome.status)
}
