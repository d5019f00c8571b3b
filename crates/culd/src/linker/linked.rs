//! The result of a link.

use super::{Diagnostic, Linker};
use culd_engine::Severity;
use culd_engine::usage::{ConstantBank, KernelUsage, ResourceUsage};
use culd_input::{LoadedObject, Origin};
use serde::Serialize;

/// A linked program and what there is to know about it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Linked {
    /// Version of the layout of [`Linked::report_json`].
    format: u32,
    /// culd's version.
    linker: &'static str,
    target: String,
    size: u64,
    inputs: Vec<InputObject>,
    memory: Option<Memory>,
    kernels: Vec<Kernel>,
    diagnostics: Vec<Diagnostic>,
    #[serde(skip)]
    nvlink_lines: Vec<(Severity, String)>,
    #[serde(skip)]
    image: Vec<u8>,
}

/// A device object that took part.
#[derive(Debug, Clone, Serialize)]
struct InputObject {
    name: String,
    size: u64,
    origin: &'static str,
}

/// Memory of the whole program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Memory {
    /// Global memory in bytes.
    pub global: u64,
    /// Constant banks.
    pub constant_banks: Vec<Bank>,
}

/// A constant bank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Bank {
    /// Number.
    pub bank: u32,
    /// Bytes.
    pub size: u64,
}

/// What a kernel uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Kernel {
    /// Name in the file.
    pub name: String,
    /// Name as in the source.
    pub demangled: String,
    /// Registers per thread.
    pub registers: u32,
    /// Barriers.
    pub barriers: u32,
    /// Stack in bytes per thread; `None` when it cannot be known: recursion or calls through pointers.
    pub stack: Option<u64>,
    /// Static shared memory in bytes.
    pub shared: u64,
    /// Constant banks of the kernel.
    pub constant_banks: Vec<Bank>,
    /// Texture references.
    pub textures: u32,
    /// Surface references.
    pub surfaces: u32,
    /// Sampler references.
    pub samplers: u32,
}

impl Linked {
    /// The linked file: what the driver loads, or another relocatable object.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The linked file itself.
    pub fn into_image(self) -> Vec<u8> {
        self.image
    }

    /// The kernels and what they use, in the order of the call graph. Empty when [`Linker::usage`] is off or the whole program was compiled by
    /// link-time optimization.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Memory of the whole program, where [`Linked::kernels`] are known.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// Warnings and other diagnostics in order, without errors.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Everything but the image as JSON, with a fixed order of fields and without times.
    pub fn report_json(&self) -> String {
        // Only maps with keys that are not text cannot be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The messages of the link as nvlink prints them, without program name and severity; use of resources included.
    pub fn nvlink_lines(&self) -> &[(Severity, String)] {
        &self.nvlink_lines
    }

    pub(super) fn with_lines(self, nvlink_lines: Vec<(Severity, String)>) -> Self {
        Linked { nvlink_lines, ..self }
    }

    pub(super) fn finished(linker: &Linker, image: Vec<u8>, diagnostics: Vec<Diagnostic>) -> Self {
        Linked::new(linker, image, Usage::default(), &[], diagnostics)
    }

    pub(super) fn new(linker: &Linker, image: Vec<u8>, usage: Usage, objects: &[&LoadedObject], diagnostics: Vec<Diagnostic>) -> Self {
        let input = |object: &&LoadedObject| InputObject {
            name: object.name.to_string(),
            size: object.bytes.len() as u64,
            origin: match object.origin {
                Origin::Binary => "binary",
                Origin::Ptx => "ptx",
            },
        };
        Linked {
            format: 1,
            linker: env!("CARGO_PKG_VERSION"),
            target: linker.target().to_string(),
            size: image.len() as u64,
            inputs: objects.iter().map(input).collect(),
            memory: usage.memory,
            kernels: usage.kernels,
            diagnostics,
            nvlink_lines: Vec::new(),
            image,
        }
    }
}

/// What a link uses, with names for people.
#[derive(Debug, Default)]
pub(super) struct Usage {
    memory: Option<Memory>,
    kernels: Vec<Kernel>,
}

impl Usage {
    pub(super) fn new(usage: &ResourceUsage) -> Self {
        Usage {
            memory: Some(Memory {
                global: usage.memory.global,
                constant_banks: banks(&usage.memory.constant_banks),
            }),
            kernels: usage.kernels.iter().map(kernel).collect(),
        }
    }
}

fn kernel(usage: &KernelUsage) -> Kernel {
    Kernel {
        name: usage.name.clone(),
        demangled: culd_demangle::readable(usage.name.as_bytes()).unwrap_or_else(|| usage.name.clone()),
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

fn banks(list: &[ConstantBank]) -> Vec<Bank> {
    list.iter()
        .map(|b| Bank {
            bank: b.bank,
            size: b.size,
        })
        .collect()
}
