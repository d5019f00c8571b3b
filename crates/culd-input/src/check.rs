//! Whether a device object may take part in a link: nvlink's checks, in nvlink's order.
//!
//! 1. A linked file (`ET_EXEC`) has nothing to link.
//! 2. The file must hold together: 64-bit little-endian, tables and sections inside. nvlink drops others silently;
//!    objects out of fatbins skip this test, but a 32-bit one is refused.
//! 3. ABI, architecture and toolkit must fit: [`cubin::admission`].

use crate::message::Code;
use crate::target::{Suffix, Target};
use cubin::Cubin;
use cubin::admission::{self, Refusal, Request, Warning};
use cubin::raw::Ehdr;
use cubin::release::Release;
use zerocopy::FromBytes;

const ET_EXEC: u16 = 2;

/// The outcome for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Link it; warnings that come with it.
    Accept(Vec<Code>),
    /// A linked file.
    Linked,
    /// Does not hold together, with the reason.
    Damaged(String),
    /// Refuse: warnings first, then the reason.
    Refuse(Vec<Code>, Code),
}

/// Where an object came from, as far as the checks care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A file of its own.
    File,
    /// An entry of a fatbin.
    Fatbin,
}

/// Checks one device object.
pub fn check(data: &[u8], name: &str, target: Target, release: Option<&'static Release>, source: Source) -> Verdict {
    let Ok((header, _)) = Ehdr::ref_from_prefix(data) else {
        return Verdict::Damaged(format!("{} bytes are too few for a device object", data.len()));
    };
    if header.e_type.get() == ET_EXEC {
        return Verdict::Linked;
    }
    let [_, _, _, _, class, ..] = header.ident;
    let file = || name.to_owned();
    if class != 2 && source == Source::Fatbin {
        return Verdict::Refuse(Vec::new(), Code::SizeMismatch { file: file() });
    }
    let cubin = match Cubin::parse(data) {
        Ok(cubin) => cubin,
        Err(error) => return Verdict::Damaged(error.to_string()),
    };
    let request = Request {
        target: target.number,
        accelerated: target.suffix == Suffix::Arch,
        release,
    };
    let admission = admission::admit(&cubin, request);
    let warnings = admission.warnings.iter().map(|w| match w {
        Warning::Expected64Bit => Code::Expected64Bit { file: file() },
        Warning::UnknownRelease(toolkit) => Code::UnknownRelease {
            file: file(),
            toolkit: *toolkit,
        },
        Warning::NoMercury => Code::LimitedByOlderInput {
            file: file(),
            number: target.number,
        },
    });
    let refusal = admission.refusal.map(|r| match r {
        Refusal::Abi => Code::AbiMismatch { file: file() },
        Refusal::UnknownArch(number) => Code::UnknownArch { file: file(), number },
        Refusal::Arch(number, specific) => Code::ArchMismatch {
            file: file(),
            compiled: Target::new(number, if specific { Suffix::Arch } else { Suffix::None }),
            target,
        },
        Refusal::Accelerated => Code::Accelerated { file: file() },
        Refusal::Newer(toolkit, own) => Code::NewerThanToolkit {
            file: file(),
            toolkit,
            own,
        },
        Refusal::TooOld => Code::TooOld { file: file() },
        Refusal::NoToolkit => Code::NoToolkit { file: file() },
    });
    match refusal {
        Some(code) => Verdict::Refuse(warnings.collect(), code),
        None => Verdict::Accept(warnings.collect()),
    }
}
