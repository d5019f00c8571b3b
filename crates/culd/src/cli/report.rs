//! `--json-report` and `--time-phases`: what a link did, for programs and for people with a watch.
//!
//! The JSON has a fixed field order and no times, so equal links give equal reports.

use crate::cli::causes::Causes;
use crate::cli::culd_text;
use crate::cli::hiargs::LinkPlan;
use crate::cli::messages::ReportMessage;
use crate::cli::os;
use crate::linker::diagnostic;
use culd_engine::explain::Phase;
use culd_engine::explain::map::{Dropped, SymbolKind};
use culd_engine::usage::{ConstantBank, KernelUsage};
use culd_engine::{Code, Diagnostic, Outcome, ResourceUsage, Status};
use culd_input::{Loaded, Origin};
use serde::Serialize;
use std::time::Duration;

/// A whole report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of this layout; grows when a field changes its meaning.
    pub format: u32,
    /// culd's version.
    pub linker: &'static str,
    /// Target as typed.
    pub target: String,
    /// `linked`, `errors` or `fatal`.
    pub status: &'static str,
    /// The output, when there is one.
    pub output: Option<OutputFile>,
    /// Device objects in link order.
    pub inputs: Vec<InputObject>,
    /// Memory of the whole program; missing when the link did not get that far.
    pub memory: Option<Memory>,
    /// Kernels in the order of the call graph.
    pub kernels: Vec<Kernel>,
    /// Functions of the output in its order, kernels included; none when no image was made.
    pub functions: Vec<OutputFunction>,
    /// Sections of the output in its order; none when no image was made.
    pub sections: Vec<OutputSection>,
    /// What did not get into the output, in link order.
    pub dropped: Vec<Dropped>,
    /// From sm_100 on: functions whose code is the compiler's, because it could not be scheduled again.
    pub kept_sass: Vec<KeptSass>,
    /// Messages in order.
    pub messages: Vec<ReportMessage>,
    /// With `--time-phases`: how long everything took but writing this report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<Time>>,
    /// With `--html`: what its page shows.
    #[serde(skip)]
    pub described: Option<culd_report::Report>,
}

/// A function of the output.
#[derive(Debug, Serialize)]
pub struct OutputFunction {
    /// Name in the file.
    pub name: String,
    /// Name as a person would write it.
    pub demangled: String,
    /// It is a kernel.
    pub kernel: bool,
    /// Bytes of code.
    pub size: u64,
    /// Path, or `archive:member`.
    pub input: Option<String>,
}

/// A section of the output.
#[derive(Debug, Serialize)]
pub struct OutputSection {
    /// Name.
    pub name: String,
    /// Bytes, in memory for sections without bytes in the file.
    pub size: u64,
}

/// A function whose code was not scheduled again.
#[derive(Debug, Serialize)]
pub struct KeptSass {
    /// Name in the file.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// How long something took.
#[derive(Debug, Serialize)]
pub struct Time {
    /// What.
    pub phase: &'static str,
    /// Wall time.
    pub milliseconds: f64,
    /// The phases it consists of, when they are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Time>,
}

impl Time {
    fn new(phase: &'static str, time: Duration, parts: Vec<Time>) -> Self {
        let milliseconds = time.as_secs_f64() * 1000.0;
        Time {
            phase,
            milliseconds,
            parts,
        }
    }
}

/// The output file.
#[derive(Debug, Serialize)]
pub struct OutputFile {
    /// Path as typed.
    pub path: String,
    /// Bytes.
    pub size: u64,
}

/// A device object.
#[derive(Debug, Serialize)]
pub struct InputObject {
    /// Path, or `archive:member`.
    pub name: String,
    /// Bytes of the object itself.
    pub size: u64,
    /// `binary`, or `ptx` for an object that ptxas made on the way.
    pub origin: &'static str,
}

/// Memory of the whole program.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Global memory in bytes.
    pub global: u64,
    /// Constant banks and their bytes.
    pub constant_banks: Vec<Bank>,
}

/// A constant bank.
#[derive(Debug, Serialize)]
pub struct Bank {
    /// Number.
    pub bank: u32,
    /// Bytes.
    pub size: u64,
}

/// What a kernel uses.
#[derive(Debug, Serialize)]
pub struct Kernel {
    /// Name in the file.
    pub name: String,
    /// Name as a person would write it.
    pub demangled: String,
    /// Registers per thread.
    pub registers: u32,
    /// Barriers.
    pub barriers: u32,
    /// Stack in bytes; missing when it is unknown.
    pub stack: Option<u64>,
    /// Static shared memory in bytes.
    pub shared: u64,
    /// Constant banks.
    pub constant_banks: Vec<Bank>,
    /// Texture references.
    pub textures: u32,
    /// Surface references.
    pub surfaces: u32,
    /// Sampler references.
    pub samplers: u32,
}

impl Report {
    /// A report on something that did not get as far as a link.
    pub fn unlinked(target: String) -> Self {
        Report {
            format: 1,
            linker: env!("CARGO_PKG_VERSION"),
            target,
            status: word(Status::Fatal),
            output: None,
            inputs: Vec::new(),
            memory: None,
            kernels: Vec::new(),
            functions: Vec::new(),
            sections: Vec::new(),
            dropped: Vec::new(),
            kept_sass: Vec::new(),
            messages: Vec::new(),
            phases: None,
            described: None,
        }
    }

    /// States what the whole run came to, and the messages that do not come from the engine.
    pub fn conclude(&mut self, status: Status, before: Vec<ReportMessage>) {
        self.status = word(status);
        if status != Status::Success {
            self.output = None;
        }
        self.messages.splice(..0, before);
    }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Success => "linked",
        Status::Errors => "errors",
        Status::Fatal => "fatal",
    }
}

/// Removes the report of an earlier run, which must not be taken for that of a run that is killed.
pub fn discard_old(file: &[u8]) {
    let path = os::path(file);
    if file != b"-" && path.is_file() && !path.starts_with("/dev") && !path.starts_with("/proc") {
        // Writing the new one will tell what is wrong.
        let _ = std::fs::remove_file(path);
    }
}

/// Assembles a report. The engine must have computed the usage.
pub fn report(plan: &LinkPlan, loaded: &Loaded, outcome: &Outcome, causes: &Causes) -> Report {
    let usage = outcome.explained.usage.as_ref();
    let written = || outcome.written.as_ref().and_then(|w| w.as_ref().ok()).copied();
    let size = outcome.image.as_ref().map(|i| i.len() as u64).or_else(written);
    let output = size.zip(plan.output.as_ref());
    Report {
        status: word(outcome.status),
        output: output.map(|(size, path)| OutputFile {
            path: os::lossy(path),
            size,
        }),
        inputs: loaded
            .objects
            .iter()
            .map(|o| InputObject {
                name: o.name.to_string(),
                size: o.bytes.len() as u64,
                origin: match o.origin {
                    Origin::Binary => "binary",
                    Origin::Ptx => "ptx",
                },
            })
            .collect(),
        memory: usage.map(memory),
        kernels: usage.map_or(Vec::new(), |u| u.kernels.iter().map(kernel).collect()),
        functions: functions(outcome),
        sections: sections(outcome),
        dropped: outcome.explained.map.as_ref().map_or(Vec::new(), |m| m.dropped.clone()),
        kept_sass: kept_sass(&outcome.messages),
        messages: messages(&outcome.messages, causes),
        ..Report::unlinked(plan.arch.clone())
    }
}

fn functions(outcome: &Outcome) -> Vec<OutputFunction> {
    let sections = outcome.explained.map.iter().flat_map(|m| &m.sections);
    let symbols = sections
        .flat_map(|s| &s.symbols)
        .filter(|symbol| symbol.kind != SymbolKind::Variable);
    symbols
        .map(|symbol| OutputFunction {
            name: symbol.name.clone(),
            demangled: culd_text::short_name(&symbol.name),
            kernel: symbol.kind == SymbolKind::Kernel,
            size: symbol.size,
            input: symbol.input.clone(),
        })
        .collect()
}

fn sections(outcome: &Outcome) -> Vec<OutputSection> {
    let sections = outcome.explained.map.iter().flat_map(|m| &m.sections);
    sections
        .map(|s| OutputSection {
            name: s.name.clone(),
            size: s.size,
        })
        .collect()
}

fn kept_sass(messages: &[Diagnostic]) -> Vec<KeptSass> {
    let kept = messages.iter().filter_map(|d| match &d.code {
        Code::SassKept { function, reason } => Some(KeptSass {
            name: function.clone(),
            reason: reason.clone(),
        }),
        _ => None,
    });
    kept.collect()
}

fn banks(list: &[ConstantBank]) -> Vec<Bank> {
    let bank = |b: &ConstantBank| Bank {
        bank: b.bank,
        size: b.size,
    };
    list.iter().map(bank).collect()
}

fn memory(usage: &ResourceUsage) -> Memory {
    Memory {
        global: usage.memory.global,
        constant_banks: banks(&usage.memory.constant_banks),
    }
}

fn kernel(usage: &KernelUsage) -> Kernel {
    Kernel {
        name: usage.name.clone(),
        demangled: culd_text::short_name(&usage.name),
        registers: usage.registers,
        barriers: usage.barriers,
        stack: (!usage.stack_is_unknown).then_some(usage.stack),
        shared: usage.shared,
        constant_banks: banks(&usage.constant_banks),
        textures: usage.textures,
        surfaces: usage.surfaces,
        samplers: usage.samplers,
    }
}

fn messages(messages: &[Diagnostic], causes: &Causes) -> Vec<ReportMessage> {
    let message = |d: &Diagnostic| {
        let (file, symbol) = diagnostic::place(&d.code);
        ReportMessage {
            files: causes.files(&d.code),
            lines: causes.lines(&d.code),
            hint: causes.hint(&d.code),
            ..ReportMessage::new(d.severity, d.code.name(), causes.text(&d.code)).about(file, symbol)
        }
    };
    messages.iter().map(message).collect()
}

/// The times of phases for the report.
pub fn times(phases: &[Phase]) -> Vec<Time> {
    phases.iter().map(|p| Time::new(p.name, p.time, times(&p.parts))).collect()
}

/// The table of `--time-phases`: wall time, cores that were busy, phase.
pub fn phase_table(phases: &[Phase]) -> String {
    let mut text = String::new();
    phase_rows(phases, "", &mut text);
    let total: Duration = phases.iter().map(|p| p.time).sum();
    text + &phase_row(total, None, "total")
}

fn phase_rows(phases: &[Phase], indent: &str, text: &mut String) {
    for phase in phases {
        *text += &phase_row(phase.time, phase.busy_cores(), &format!("{indent}{}", phase.name));
        phase_rows(&phase.parts, &format!("{indent}  "), text);
    }
}

fn phase_row(time: Duration, cores: Option<f64>, name: &str) -> String {
    let cores = cores.map_or(String::new(), |cores| format!("{cores:.1} cores"));
    format!("{:>10.3} ms {cores:>10}  {name}\n", time.as_secs_f64() * 1000.0)
}
