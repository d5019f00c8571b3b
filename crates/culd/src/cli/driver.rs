//! The program, step by step.
//!
//! 1. The program name selects the mode: nvlink or culd. Subcommands of culd.
//! 2. Parse the command line and determine its meaning.
//! 3. For a link: a process of its own if it is large; libraries, time table, index file, inputs.
//! 4. Errors so far stop here. Link.
//! 5. Print the messages of the engine.
//! 6. Write the output, then the side files; these are also written when the link had errors, but not after a fatal one.
//! 7. Write the JSON report, whatever happened since the command line was read. That of an earlier run was removed before.

use crate::cli::aux_inputs::AuxInputs;
use crate::cli::called::Called;
use crate::cli::causes::Causes;
use crate::cli::causes::elsewhere::Surroundings;
use crate::cli::flags::Id;
use crate::cli::hiargs::{self, LinkPlan, Plan, Remark};
use crate::cli::load::{self, LoadedInputs};
use crate::cli::messages::{CliMessage, Console};
use crate::cli::parse::LowArgs;
use crate::cli::report::Report;
use crate::cli::{
    codes, doctor, environment, explain, help, inspect, install, lto, map, optimized, os, output, parse, report, repro, script, see, shell,
    side_outputs, subprocess, why,
};
use culd_base::Stopwatch;
use culd_engine::explain::dot;
use culd_engine::explain::why::Answer;
use culd_engine::{Code, Identity, Input, LinkOptions, Outcome, Severity, Status};
use culd_input::{Finished, Loaded};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs the program.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let program = args.next().unwrap_or_default();
    let called = match Called::new(&program) {
        Ok(called) => called,
        Err(reason) => return fatal(&CliMessage::Own(reason), &mut Console::new(Identity::Nvlink)),
    };
    let identity = called.identity;
    let args: Vec<Vec<u8>> = args.map(os::into_bytes).collect();
    let mut console = Console::new(identity);
    if let (Identity::Culd, Some((command, rest))) = (identity, args.split_first()) {
        let command = os::lossy(command);
        if see::takes(&command, rest) {
            return see::run(&command, rest, &mut console);
        }
        if inspect::COMMANDS.contains(&command.as_str()) {
            return inspect::run(&command, rest, &mut console);
        }
        if command == lto::COMMAND {
            return lto::serve(rest);
        }
        match command.as_str() {
            install::COMMAND => return install::run(rest, &mut console),
            codes::COMMAND => return codes::run(rest, &mut console),
            doctor::COMMAND => return doctor::run(rest, &mut console),
            help::COMMAND => return help::run(rest, &mut console),
            _ => {}
        }
    }
    culd_input::survive_truncation();
    let low = match read_arguments(args, called, &mut console) {
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
            conclude(&low, Report::unlinked(target), Status::Fatal, &mut console).into()
        }
    }
}

fn fatal(said: &CliMessage, console: &mut Console) -> ExitCode {
    console.say(Severity::Fatal, said);
    FATAL.into()
}

/// Exit code after a fatal message.
const FATAL: u8 = Status::Fatal as u8;

/// Writes the report and the page, if they are requested; returns the exit code of the run.
fn conclude(low: &LowArgs, mut report: Report, status: Status, console: &mut Console) -> u8 {
    report.conclude(status, console.take_log());
    if let Some(file) = low.text(Id::Html) {
        let described = report.described.take();
        if let Err(said) = see::page::write(file, described, &report) {
            console.say(Severity::Fatal, &said);
            return FATAL;
        }
    }
    if let Some(Err(said)) = low.text(Id::JsonReport).map(|file| side_outputs::write_json(file, &report)) {
        console.say(Severity::Fatal, &said);
        return FATAL;
    }
    status as u8
}

/// Reads the command line and what the environment adds to it.
fn read_arguments(args: Vec<Vec<u8>>, called: Called, console: &mut Console) -> Result<LowArgs, CliMessage> {
    let mut redefined = Vec::new();
    let from_environment = std::env::var_os(environment::VARIABLE).filter(|_| !called.is_nvlink());
    let typed = from_environment.as_ref().map(|_| args.clone());
    let mut low = parse::parse(args, called, &mut redefined);
    if let (Ok(understood), Some(added), Some(mut typed)) = (&low, from_environment, typed) {
        typed.extend(environment::flags(&os::into_bytes(added), understood));
        redefined.clear();
        low = parse::parse(typed, called, &mut redefined);
    }
    for flag in redefined {
        console.say(Severity::Warning, &CliMessage::Redefined(flag));
    }
    let mut low = low?;
    if let (true, Some(file)) = (called.is_nvlink(), std::env::var_os(environment::REPORT).filter(|f| !f.is_empty())) {
        let file = environment::with_places(&os::into_bytes(file), &low);
        low.set_text(Id::JsonReport, file);
    }
    set_up(console, &low, called);
    Ok(low)
}

/// Applies the flags that concern messages.
fn set_up(console: &mut Console, low: &LowArgs, called: Called) {
    if let Some(name) = low.text(Id::ToolName) {
        console.set_tool(os::lossy(name));
    }
    if low.has(Id::ShowCodes) {
        console.show_codes();
    }
    if let (true, Some(arch)) = (low.has(Id::ReportArch), low.text(Id::Arch)) {
        console.report_arch(&os::lossy(arch));
    }
    match low.text(Id::Color) {
        Some(b"always") => console.set_color(true),
        Some(b"never") => console.set_color(false),
        _ => {}
    }
    console.set_quiet(hiargs::quiet(low, called));
}

/// From arguments to a plan; prints remarks on the way.
fn understand(low: &LowArgs, called: Called, console: &mut Console) -> Result<Plan, CliMessage> {
    let mut remarks = Vec::new();
    let plan = hiargs::plan(low, called, &mut remarks);
    for remark in remarks {
        match remark {
            Remark::CliMessage(severity, said) => console.say(severity, &said),
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
        Plan::Man => shell::man(),
        Plan::Completions(name) => shell::completions(&name).unwrap_or_default(),
        Plan::Script(plan) => return script::run(&plan, console),
        Plan::Link(plan) => return link_in_process(&plan, low, console).into(),
    };
    // Ignore EPIPE.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Links, in a process of its own if the link is large.
fn link_in_process(plan: &LinkPlan, low: &LowArgs, console: &mut Console) -> u8 {
    match subprocess::enter(plan) {
        subprocess::Role::Alone => link(plan, low, console),
        subprocess::Role::Parent(code) => code,
        subprocess::Role::Child(reporter) => {
            let code = link(plan, low, console);
            reporter.report(code);
            code
        }
    }
}

fn link(plan: &LinkPlan, low: &LowArgs, console: &mut Console) -> u8 {
    let mut watch = Stopwatch::new(plan.options.time_phases);
    let inputs = LoadedInputs::read(plan);
    let mut report = Report::unlinked(plan.arch.clone());
    let done = run_link(plan, low, &inputs, &mut watch, &mut report, console);
    // The process ends: the inputs' memory need not be given back by hand.
    std::mem::forget(inputs);
    if plan.options.time_phases {
        console.raw(&report::phase_table(watch.phases()));
    }
    let status = done.unwrap_or_else(|said| {
        console.say(Severity::Fatal, &said);
        Status::Fatal
    });
    report.phases = plan.options.time_phases.then(|| report::times(watch.phases()));
    conclude(low, report, status, console)
}

fn run_link(
    plan: &LinkPlan,
    low: &LowArgs,
    inputs: &LoadedInputs,
    watch: &mut Stopwatch,
    report: &mut Report,
    console: &mut Console,
) -> Result<Status, CliMessage> {
    watch.lap_with("read inputs", inputs.phases.clone());
    if let Some(directory) = low.text(Id::SaveRepro) {
        let opened = repro::Opened {
            files: &inputs.files,
            standard_input: inputs.standard_input.as_deref(),
            command_line: &plan.options.note.command_line,
        };
        repro::save(directory, low, &opened)?;
    }
    let Some(aux) = open_inputs(plan, inputs, console)? else {
        return Ok(Status::Fatal);
    };
    let Some(loaded) = &inputs.loaded else { return Ok(Status::Errors) };
    if let Some(file) = &plan.side.time {
        side_outputs::add_times(file, &loaded.compilations, plan)?;
    }
    // nvlink continues after an error in the options, but does not link. A virtual target has nothing to link.
    if console.errors() > inputs.harmless_errors() {
        return Ok(Status::Errors);
    }
    if let Some(finished) = &loaded.finished {
        return write_finished(plan, low, finished, inputs, report, console);
    }
    if plan.is_virtual {
        return finish(plan, &nothing_linked(), None, loaded, inputs);
    }
    let (outcome, pending) = link_objects(plan, loaded, &aux, console);
    watch.lap_with("link", outcome.explained.phases.clone());
    let causes = find_causes(plan, loaded, &outcome, console);
    if plan.side.json_report.is_some() || low.has(Id::Html) {
        *report = report::report(plan, loaded, &outcome, &causes);
        report.described = low.has(Id::Html).then(|| see::page::describe(plan, loaded, &outcome)).flatten();
    }
    if let Some((_, deferred)) = &loaded.deferred_error {
        // What was merged before it may have errors of its own; nothing else is printed.
        match outcome.status {
            Status::Fatal => explain::print(&outcome, &causes, plan.verbose, console),
            _ => _ = load::say(std::slice::from_ref(deferred), plan, console),
        }
        return Ok(Status::Fatal);
    }
    explain::print(&outcome, &causes, plan.verbose, console);
    if outcome.messages.iter().any(|d| matches!(d.code, Code::UndefinedReference { .. })) {
        inputs.library_hints(plan, console);
    }
    for answer in &outcome.explained.why {
        console.raw(&why::text(answer));
        if answer.answer == Answer::Unknown {
            let objects = loaded.objects.iter().map(|o| (&*o.name, &*o.bytes));
            console.raw(&why::similar(&answer.symbol, objects));
        }
    }
    let done = finish(plan, &outcome, pending, loaded, inputs);
    watch.lap("write output");
    done
}

/// The causes of a link's messages; nvlink does not print them.
fn find_causes(plan: &LinkPlan, loaded: &Loaded, outcome: &Outcome, console: &Console) -> Causes {
    if console.identity() == Identity::Nvlink {
        return Causes::default();
    }
    let around = Surroundings {
        target: plan.arch.clone(),
        inputs: plan.inputs.iter().map(|i| os::path(i)).collect(),
        directories: plan.library_paths.iter().map(|d| os::path(d)).collect(),
    };
    let objects = loaded.objects.iter().map(|o| (&*o.name, &*o.bytes));
    Causes::new(&outcome.messages, objects, Some(&around))
}

/// Opens the other files and prints the messages of the library search before them, those of the inputs after them; `None` when one was
/// fatal.
fn open_inputs(plan: &LinkPlan, inputs: &LoadedInputs, console: &mut Console) -> Result<Option<AuxInputs>, CliMessage> {
    if inputs.library_messages(plan, console) {
        return Ok(None);
    }
    let aux = AuxInputs::open(plan)?;
    Ok((!inputs.input_messages(plan, console)).then_some(aux))
}

/// Writes the output of link-time optimization that needs no link.
fn write_finished(
    plan: &LinkPlan,
    low: &LowArgs,
    finished: &Finished,
    inputs: &LoadedInputs,
    report: &mut Report,
    console: &mut Console,
) -> Result<Status, CliMessage> {
    let mut outcome = nothing_linked();
    outcome.image = Some(finished.bytes.clone());
    let Some(loaded) = &inputs.loaded else { return Ok(Status::Errors) };
    let unit = optimized::read(&finished.bytes).filter(|_| console.identity() == Identity::Culd);
    outcome.explained.usage = unit.as_ref().map(optimized::usage);
    outcome.explained.map = optimized::map(&finished.bytes).filter(|_| plan.side.map.is_some());
    not_explained(plan, &outcome, console);
    *report = report::report(plan, loaded, &outcome, &Causes::default());
    if let Some(unit) = &unit {
        optimized::describe(unit, report);
        explain::print(&outcome, &Causes::default(), plan.verbose, console);
    }
    report.described = low.has(Id::Html).then(|| see::page::describe(plan, loaded, &outcome)).flatten();
    let done = finish(plan, &outcome, None, loaded, inputs)?;
    if let Some(error) = &finished.trailing_error {
        load::say(std::slice::from_ref(error), plan, console);
    }
    Ok(done)
}

/// Says which questions about a whole optimized program have no answer.
fn not_explained(plan: &LinkPlan, outcome: &Outcome, console: &mut Console) {
    let mut say = |text: &str| console.say(Severity::Warning, &CliMessage::Own(text.into()));
    if !plan.options.why_live.is_empty() {
        say(
            "--why-live has no answer: the optimizer of libnvJitLink decided what the whole program keeps; it inlines functions and states no \
             reasons\n  --force-partial-lto leaves the decision to the link",
        );
    }
    if plan.side.map.is_some() && outcome.explained.map.is_none() {
        say("--map has nothing to show: the output is PTX");
    }
}

/// Links the objects; the image is in the outcome or in the pending output file.
fn link_objects(plan: &LinkPlan, loaded: &Loaded, aux: &AuxInputs, console: &Console) -> (Outcome, Option<output::Pending>) {
    let mut options: LinkOptions<'_> = plan.options.clone();
    options.unified_index = aux.unified_index.as_deref();
    options.host_data = aux.host_data.as_deref();
    options.inputs_checked = true;
    options.leave_memory = true;
    options.kernels = plan.kernels(loaded);
    options.why_live = why::symbols(&plan.options.why_live, loaded.objects.iter().map(|o| (&*o.name, &*o.bytes)));
    let objects = loaded.objects.iter().map(|o| Input {
        name: &o.name,
        data: &o.bytes,
    });
    let objects: Vec<Input<'_>> = objects.collect();
    if plan.trace {
        objects.iter().for_each(|o| console.raw(&format!("{}\n", o.name)));
    }
    let pending = plan.output.as_ref().map(|file| output::Pending::new(os::path(file)));
    let outcome = match &pending {
        Some(pending) => culd_engine::link_into(&objects, &options, pending),
        None => culd_engine::link(&objects, &options),
    };
    (outcome, pending)
}

/// What a link for a virtual target makes.
fn nothing_linked() -> Outcome {
    let mut outcome = Outcome::nothing_linked();
    outcome.explained.dot = Some(dot::EMPTY.to_vec());
    outcome
}

/// Writes what the link made.
fn finish(
    plan: &LinkPlan,
    outcome: &Outcome,
    pending: Option<output::Pending>,
    loaded: &Loaded,
    inputs: &LoadedInputs,
) -> Result<Status, CliMessage> {
    if outcome.status == Status::Fatal {
        return Ok(outcome.status);
    }
    if let Some(file) = inputs.changed() {
        return Err(CliMessage::Changed(os::bytes(file.as_os_str())));
    }
    if let (Status::Success, Some(file)) = (outcome.status, &plan.output) {
        let done = match (&outcome.image, &outcome.written, pending) {
            (Some(image), ..) => output::write(&os::path(file), image),
            (None, Some(Err(_)), _) => return Err(CliMessage::Writing),
            (None, Some(Ok(_)), Some(pending)) => pending.finish(),
            (None, ..) => Ok(()),
        };
        done.map_err(|e| match e {
            output::WriteError::Open(e) => CliMessage::OutputFile(file.clone(), e.to_string()),
            output::WriteError::Write(_) => CliMessage::Writing,
        })?;
    }
    if let Some(Finished {
        trailing_error: Some(_), ..
    }) = &loaded.finished
    {
        return Ok(Status::Fatal);
    }
    // PTX cannot be registered.
    let is_ptx = loaded.finished.is_some() && plan.lto.as_ref().is_some_and(|lto| lto.emit_ptx);
    if let (Some(file), false) = (&plan.side.register, is_ptx) {
        side_outputs::write_register_file(file, &loaded.register)?;
    }
    if let (Some(file), Some(graph)) = (&plan.side.dot, &outcome.explained.dot) {
        side_outputs::write_text(file, graph)?;
    }
    if let (Some(file), Some(map)) = (&plan.side.map, &outcome.explained.map) {
        let output = plan.output.as_deref().map(os::lossy).unwrap_or_default();
        let mut target = plan.arch.clone();
        if loaded.finished.is_some() {
            target += ", optimized as one program: what came from which input is not known";
        }
        side_outputs::write_text(file, map::text(map, &output, &target).as_bytes())?;
    }
    if let (Some(file), Status::Success) = (&plan.side.dependencies, outcome.status) {
        side_outputs::write_text(file, &side_outputs::dependency_rule(plan, &inputs.files))?;
    }
    Ok(outcome.status)
}
