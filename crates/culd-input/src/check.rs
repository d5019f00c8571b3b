//! Whether a device object may take part in a link: nvlink's checks, in nvlink's order.
//!
//! 1. A linked file (`ET_EXEC`) has nothing to link.
//! 2. The file must be consistent: 64-bit little-endian, tables and sections inside. nvlink drops others silently;
//!    objects out of fatbins skip this test, but a 32-bit one is refused.
//! 3. Releases from 13.1 on look into files (`broken_contents`).
//! 4. ABI, architecture and toolkit must fit: [`culd_base::admission`].

use crate::message::LoadCode;
use cubin::Cubin;
use cubin::arch::Arch;
use cubin::consts::{SHF_CUDA_NOTE_CUINFO, SHF_CUDA_NOTE_TKINFO, SHT_CUDA_INFO, SHT_NOTE, SHT_REL, SHT_RELA};
use cubin::nvinfo::{self, FORMAT_NONE, FORMAT_SIZED};
use cubin::raw::Ehdr;
use cubin::read::Section;
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
    check_parsed(&cubin, name, target, release, source)
}

/// Checks a device object that has been read: steps 3 and 4, and that it is not a linked file.
pub fn check_parsed(cubin: &Cubin<'_>, name: &str, target: Arch, release: Option<&'static Release>, source: ObjectSource) -> Verdict {
    if cubin.header().e_type.get() == ET_EXEC {
        return Verdict::Linked;
    }
    let file = || name.to_owned();
    let looks_inside = release.is_some_and(|r| r.rules.leaves_out_broken_objects) && source == ObjectSource::File;
    if looks_inside && let Some(section) = broken_contents(cubin) {
        return Verdict::Damaged(format!("section {section} is broken"));
    }
    let admission = admission::admit(cubin, Request { target, release });
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

/// Smallest note that says which toolkit made a file.
const CUINFO_SIZE: usize = 32;
/// Smallest note that says which tool made a file.
const TKINFO_SIZE: usize = 48;

/// The first section with contents that are not what its type calls for: attribute records that do not fill it, relocations against symbols
/// that do not exist, notes that are too short. What the records say is not looked at. Sections of the Mercury view have other types.
fn broken_contents(cubin: &Cubin<'_>) -> Option<u32> {
    let is_broken = |section: &Section<'_>| match section.header.sh_type.get() {
        SHT_CUDA_INFO => !nvinfo::records(section.data).all(|r| r.is_ok_and(|r| (FORMAT_NONE..=FORMAT_SIZED).contains(&r.format))),
        SHT_REL | SHT_RELA => cubin
            .relocations(section)
            .is_ok_and(|r| (0..r.len()).any(|i| r.get(i).is_some_and(|r| r.r_sym.get() as usize >= cubin.symbol_entries().len()))),
        SHT_NOTE => {
            let flags = section.header.sh_flags.get();
            let is_short = |flag: u64, size: usize| flags & flag != 0 && section.data.len() < size;
            is_short(SHF_CUDA_NOTE_CUINFO, CUINFO_SIZE) || is_short(SHF_CUDA_NOTE_TKINFO, TKINFO_SIZE)
        }
        _ => false,
    };
    cubin.sections().filter_map(Result::ok).find(is_broken).map(|s| s.index)
}
