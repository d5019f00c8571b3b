//! Whether a device object may take part in a link: nvlink's checks, in nvlink's order.
//!
//! 1. A linked file (`ET_EXEC`) has nothing to link.
//! 2. The file must be consistent: 64-bit little-endian, tables and sections inside. nvlink drops others silently;
//!    objects out of fatbins skip this test, but a 32-bit one is refused.
//! 3. ABI, architecture and toolkit must fit: [`culd_base::admission`].

use crate::message::LoadCode;
use cubin::Cubin;
use cubin::arch::Arch;
use cubin::raw::Ehdr;
use cubin::release::Release;
use culd_base::AdmissionProblem;
use culd_base::admission::{self, AdmissionCode, Request};
use zerocopy::FromBytes;

const ET_EXEC: u16 = 2;

/// The outcome for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Link it; warnings that come with it.
    Accept(Vec<LoadCode>),
    /// A linked file.
    Linked,
    /// Not consistent, with the reason.
    Damaged(String),
    /// Refuse: warnings first, then the reason.
    Refuse(Vec<LoadCode>, LoadCode),
}

/// Where an object came from, as far as the checks care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectSource {
    /// A file of its own.
    File,
    /// An entry of a fatbin.
    Fatbin,
}

/// Checks one device object.
pub fn check(data: &[u8], name: &str, target: Arch, release: Option<&'static Release>, source: ObjectSource) -> Verdict {
    let Ok((header, _)) = Ehdr::ref_from_prefix(data) else {
        return Verdict::Damaged(format!("{} bytes are too few for a device object", data.len()));
    };
    if header.e_type.get() == ET_EXEC {
        return Verdict::Linked;
    }
    let [_, _, _, _, class, ..] = header.ident;
    let file = || name.to_owned();
    if class != 2 && source == ObjectSource::Fatbin {
        return Verdict::Refuse(Vec::new(), LoadCode::SizeMismatch { file: file() });
    }
    let cubin = match Cubin::parse(data) {
        Ok(cubin) => cubin,
        Err(error) => return Verdict::Damaged(error.to_string()),
    };
    let admission = admission::admit(&cubin, Request { target, release });
    let code = |problem: AdmissionCode| {
        LoadCode::Admission(AdmissionProblem {
            file: file(),
            target,
            problem,
        })
    };
    let warnings = admission.warnings.into_iter().map(code).collect();
    match admission.refusal {
        Some(problem) => Verdict::Refuse(warnings, code(problem)),
        None => Verdict::Accept(warnings),
    }
}
