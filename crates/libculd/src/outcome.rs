//! The result of a link, with its text as C strings.

use crate::boundary::c_text;
use culd::{Diagnostic, LinkError, Linked, Severity};
use std::ffi::{CString, c_char};
use std::ptr;

/// How serious a diagnostic is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// Only information.
    Info = 0,
    /// The link continues.
    Warning = 1,
    /// There is no image.
    Error = 2,
}

/// `culd_diagnostic`.
#[repr(C)]
#[derive(Debug)]
pub struct CDiagnostic {
    severity: Grade,
    code: *const c_char,
    text: *const c_char,
    file: *const c_char,
    symbol: *const c_char,
}

/// `CULD_STACK_UNKNOWN`.
const STACK_UNKNOWN: u64 = u64::MAX;

/// `culd_kernel`.
#[repr(C)]
#[derive(Debug)]
pub struct CKernel {
    name: *const c_char,
    demangled: *const c_char,
    registers: u32,
    barriers: u32,
    stack: u64,
    shared: u64,
}

#[derive(Debug)]
struct HeldDiagnostic {
    severity: Grade,
    code: CString,
    text: CString,
    file: Option<CString>,
    symbol: Option<CString>,
}

#[derive(Debug)]
struct HeldKernel {
    name: CString,
    demangled: CString,
    kernel: culd::Kernel,
}

/// `culd_result`.
#[derive(Debug)]
pub struct Outcome {
    image: Option<Vec<u8>>,
    diagnostics: Vec<HeldDiagnostic>,
    kernels: Vec<HeldKernel>,
    json: CString,
}

impl Outcome {
    pub(crate) fn new(result: Result<Linked, LinkError>) -> Self {
        match result {
            Ok(linked) => Outcome {
                diagnostics: linked.diagnostics().iter().map(held).collect(),
                kernels: linked.kernels().iter().map(held_kernel).collect(),
                json: c_text(&linked.report_json()),
                image: Some(linked.into_image()),
            },
            Err(error) => Outcome {
                image: None,
                diagnostics: error.diagnostics().iter().map(held).collect(),
                kernels: Vec::new(),
                json: c_text(&failed_json(error.diagnostics())),
            },
        }
    }

    /// The result of a link that panicked.
    pub(crate) fn defect() -> Self {
        let text = "internal error: the linker panicked (please report)";
        let json = serde_json::json!({ "format": 1, "diagnostics": [{ "severity": "error", "code": "Internal", "text": text }] });
        Outcome {
            image: None,
            diagnostics: vec![HeldDiagnostic {
                severity: Grade::Error,
                code: c_text("Internal"),
                text: c_text(text),
                file: None,
                symbol: None,
            }],
            kernels: Vec::new(),
            json: c_text(&json.to_string()),
        }
    }

    pub(crate) fn image(&self) -> Option<&[u8]> {
        self.image.as_deref()
    }

    pub(crate) fn diagnostic_count(&self) -> usize {
        self.diagnostics.len()
    }

    pub(crate) fn diagnostic(&self, index: usize) -> Option<CDiagnostic> {
        let held = self.diagnostics.get(index)?;
        let optional = |text: &Option<CString>| text.as_ref().map_or(ptr::null(), |t| t.as_ptr());
        Some(CDiagnostic {
            severity: held.severity,
            code: held.code.as_ptr(),
            text: held.text.as_ptr(),
            file: optional(&held.file),
            symbol: optional(&held.symbol),
        })
    }

    pub(crate) fn kernel_count(&self) -> usize {
        self.kernels.len()
    }

    pub(crate) fn kernel(&self, index: usize) -> Option<CKernel> {
        let held = self.kernels.get(index)?;
        Some(CKernel {
            name: held.name.as_ptr(),
            demangled: held.demangled.as_ptr(),
            registers: held.kernel.registers,
            barriers: held.kernel.barriers,
            stack: held.kernel.stack.unwrap_or(STACK_UNKNOWN),
            shared: held.kernel.shared,
        })
    }

    pub(crate) fn json(&self) -> *const c_char {
        self.json.as_ptr()
    }
}

fn held(diagnostic: &Diagnostic) -> HeldDiagnostic {
    HeldDiagnostic {
        severity: match diagnostic.severity {
            Severity::Fatal | Severity::Error => Grade::Error,
            Severity::Warning => Grade::Warning,
            _ => Grade::Info,
        },
        code: c_text(&diagnostic.code),
        text: c_text(&diagnostic.text),
        file: diagnostic.file.as_deref().map(c_text),
        symbol: diagnostic.symbol.as_deref().map(c_text),
    }
}

fn held_kernel(kernel: &culd::Kernel) -> HeldKernel {
    HeldKernel {
        name: c_text(&kernel.name),
        demangled: c_text(&kernel.demangled),
        kernel: kernel.clone(),
    }
}

fn failed_json(diagnostics: &[Diagnostic]) -> String {
    serde_json::json!({ "format": 1, "diagnostics": diagnostics }).to_string()
}
