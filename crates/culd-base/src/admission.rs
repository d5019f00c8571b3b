//! Whether a device object may take part in a link for an architecture: nvlink's checks of its header and notes.
//!
//! 1. Form: OS ABI 0x41 is that of CUDA 13, anything else counts as the older one, whose flags should say that addresses have 64 bits.
//! 2. The ABI version belongs to the form: 8 for the new one, 7 for the older one.
//! 3. From sm_100 on an object needs its Mercury form to run on anything but its own architecture.
//! 4. The architecture must run on the target; 0 is none.
//! 5. The toolkit that made it must not be newer than the linker's release, if one is selected, and for sm_90 not older than 12.0: from the
//!    note that `e_flags` names, or from `e_version` of the older form. Code for other architectures may be of any older toolkit.

use cubin::arch::{Arch, Suffix};
use cubin::compat;
use cubin::consts::ELFOSABI_CUDA;
use cubin::notes::cuda_note_section;
use cubin::release::{Form, Release};
use cubin::{Cubin, Section};
use std::fmt;
use zerocopy::FromBytes;
use zerocopy::little_endian::U16;

/// Oldest toolkit whose objects for sm_90 are accepted.
pub const OLDEST_TOOLKIT: u32 = 120;
/// The architecture whose code of older toolkits is refused.
const CHANGED_IN_12: u32 = 90;

/// First architecture whose code has a Mercury form.
const MERCURY: u32 = 100;
/// `e_flags` of the older form: 64-bit addresses.
const OLD_64BIT: u32 = 0x400;
/// Flag of the file for code with suffix a, in files of CUDA 12.8 and 12.9.
const FOR_ONE_ARCH: u32 = 8;
/// `e_flags` of the new form: set in files with a Mercury form.
const HAS_MERCURY: u32 = 3;
/// The same flag in files of the older form (sm_90a).
const OLD_FOR_ONE_ARCH: u32 = 0x800;
/// First format of the note that states the toolkit.
const NOTE_FORMAT: u32 = 2;

/// The outcome for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// What to warn about, in order; also before a refusal.
    pub warnings: Vec<AdmissionCode>,
    /// Why it may not be linked.
    pub refusal: Option<AdmissionCode>,
    /// Virtual architecture that the code was compiled from, 0 if the file does not state it.
    pub virtual_arch: u32,
    /// Toolkit that made the file, version times ten; 0 if the file does not state it.
    pub toolkit: u32,
}

/// What an object is checked for.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Target architecture.
    pub target: Arch,
    /// The release whose linker checks; `None` accepts objects of every later release.
    pub release: Option<&'static Release>,
}

/// A reason to warn about an object or to refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmissionCode {
    /// Warning: the flags do not state that addresses have 64 bits.
    Expected64Bit,
    /// Warning: without a Mercury form the output runs on the target alone.
    NoMercury,
    /// Warning: made by this toolkit, a later minor release than any that is supported. Only culd links it.
    UnknownRelease(u32),
    /// ABI version of another form.
    Abi,
    /// There is no architecture of this number.
    UnknownArch(u32),
    /// Made for this architecture, whose code does not run on the target.
    Arch(Arch),
    /// Made for one architecture only (suffix `a`), the target is the plain one.
    Accelerated,
    /// Made by a newer toolkit: this one, and the linker's own.
    Newer(u32, u32),
    /// Made for sm_90 by a toolkit before 12.0.
    TooOld,
    /// Made for sm_90, without a readable note of the toolkit; nvlink calls it too old.
    NoToolkit,
}

/// A [`AdmissionCode`] of one object, with the names for its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionProblem {
    /// The object.
    pub file: String,
    /// Target of the link.
    pub target: Arch,
    /// The problem.
    pub problem: AdmissionCode,
}

/// Stable names of the problems in the JSON report.
pub const NAMES: [&str; 10] = [
    "Expected64Bit",
    "LimitedByOlderInput",
    "UnknownRelease",
    "AbiMismatch",
    "UnknownArch",
    "ArchMismatch",
    "Accelerated",
    "NewerThanToolkit",
    "TooOld",
    "NoToolkit",
];

impl AdmissionProblem {
    /// The stable name in the JSON report.
    pub fn name(&self) -> &'static str {
        let [
            expected_64_bit,
            no_mercury,
            unknown_release,
            abi,
            unknown_arch,
            arch,
            accelerated,
            newer,
            too_old,
            no_toolkit,
        ] = NAMES;
        match self.problem {
            AdmissionCode::Expected64Bit => expected_64_bit,
            AdmissionCode::NoMercury => no_mercury,
            AdmissionCode::UnknownRelease(_) => unknown_release,
            AdmissionCode::Abi => abi,
            AdmissionCode::UnknownArch(_) => unknown_arch,
            AdmissionCode::Arch(_) => arch,
            AdmissionCode::Accelerated => accelerated,
            AdmissionCode::Newer(..) => newer,
            AdmissionCode::TooOld => too_old,
            AdmissionCode::NoToolkit => no_toolkit,
        }
    }

    /// nvlink's text, with the target as it was typed.
    pub fn nvlink_text(&self, target: &str) -> String {
        let (file, number) = (&self.file, self.target.number);
        match self.problem {
            AdmissionCode::Expected64Bit => format!("expected 64bit object '{file}' to have EF_CUDA_64BIT_ADDRESS set"),
            AdmissionCode::NoMercury => {
                format!("Output is limited to run on SM Arch '{number}' only due to limitations in input file {file}")
            }
            AdmissionCode::UnknownRelease(_) => self.culd_text(target),
            AdmissionCode::Abi => format!("Input file '{file}' abi does not match"),
            AdmissionCode::UnknownArch(number) => format!("Unknown arch name 'sm_{number}'"),
            AdmissionCode::Arch(_) => format!("Input file '{file}' arch does not match target '{target}'"),
            AdmissionCode::Accelerated => "cannot link accelerated arch to non-accelerated".to_owned(),
            AdmissionCode::Newer(toolkit, own) => format!("Input file '{file}' newer than toolkit ({toolkit} vs {own})"),
            AdmissionCode::TooOld | AdmissionCode::NoToolkit => format!("Input file '{file}' must be recompiled with toolkit >= Cuda 12.0"),
        }
    }

    /// culd's text, with the target as it was typed.
    pub fn culd_text(&self, target: &str) -> String {
        let file = &self.file;
        match self.problem {
            AdmissionCode::UnknownRelease(toolkit) => format!(
                "{file} was compiled by CUDA {}, newer than any release that culd supports; it is linked by the rules of CUDA {}",
                release_name(toolkit),
                Release::newest().name()
            ),
            AdmissionCode::Abi => format!("{file} has an ABI version that culd does not support"),
            AdmissionCode::UnknownArch(number) => format!("{file} was compiled for sm_{number}, which does not exist"),
            AdmissionCode::Arch(compiled) => format!("{file} was compiled for {compiled}, not {target}"),
            AdmissionCode::Accelerated => {
                format!("{file} was compiled for an architecture with suffix a and cannot be linked for a target without it")
            }
            AdmissionCode::Newer(toolkit, own) => format!(
                "{file} was compiled by CUDA {}, but culd only supports objects up to CUDA {}",
                release_name(toolkit),
                release_name(own)
            ),
            AdmissionCode::TooOld => format!("{file} was compiled by a CUDA release before 12.0; recompile it"),
            AdmissionCode::NoToolkit => {
                format!(
                    "{file} does not state its toolkit: section '.note.nv.cuinfo' is missing, damaged or not the one that e_flags names"
                )
            }
            AdmissionCode::Expected64Bit | AdmissionCode::NoMercury => self.nvlink_text(target),
        }
    }
}

/// A toolkit version: 13.1 for 131.
fn release_name(toolkit: u32) -> String {
    format!("{}.{}", toolkit / 10, toolkit % 10)
}

impl fmt::Display for AdmissionProblem {
    /// nvlink's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.nvlink_text(&self.target.to_string()))
    }
}

/// Checks an object for a target architecture.
pub fn admit(cubin: &Cubin<'_>, request: Request) -> Admission {
    let target = request.target.number;
    let header = cubin.header();
    let flags = header.e_flags.get();
    let [.., os_abi, abi_version, _, _, _, _, _, _, _] = header.ident;
    let is_new = os_abi == ELFOSABI_CUDA;
    let (toolkit, virtual_arch) = toolkit_and_virtual(cubin);
    let mut warnings = Vec::new();
    let has_mercury = is_new && flags & HAS_MERCURY != 0;
    if !is_new && flags & OLD_64BIT == 0 {
        warnings.push(AdmissionCode::Expected64Bit);
    }
    // Linkers whose own form is the older one do not read the new one.
    let knows_form = !is_new || request.release.is_none_or(|r| r.rules_for(request.target).form == Form::Cuda13);
    let abi_fits = abi_version == if is_new { 8 } else { 7 } && knows_form;
    if abi_fits && target >= MERCURY && !has_mercury {
        warnings.push(AdmissionCode::NoMercury);
    }
    let number = if is_new { flags >> 8 & 0xffff } else { flags & 0xff };
    let code = || {
        let suffix = if is_specific(cubin) { Suffix::Arch } else { Suffix::None };
        Arch::new(number, suffix)
    };
    let runs = || match request.release {
        Some(release) => code().runs_on_in(request.target, release.toolkit),
        None => code().runs_on(request.target),
    };
    let fits = || number == target || ((number < MERCURY || has_mercury) && (runs() || code().is_same_chip(request.target)));
    // Without a selected release, later minor releases of the newest known major are accepted.
    let known = Release::newest().toolkit;
    let newest = request.release.map_or(known - known % 10 + 9, |r| r.toolkit);
    if let Some(toolkit) = toolkit.filter(|&t| request.release.is_none() && known < t && t <= newest) {
        warnings.push(AdmissionCode::UnknownRelease(toolkit));
    }
    let accelerated_only = request.release.is_some_and(|r| r.rules.accelerated_only_for_itself);
    let refusal = match toolkit {
        _ if !abi_fits => Some(AdmissionCode::Abi),
        _ if accelerated_only && request.target.suffix != Suffix::Arch && is_specific(cubin) => Some(AdmissionCode::Accelerated),
        _ if number == 0 => Some(AdmissionCode::UnknownArch(number)),
        _ if !fits() => Some(AdmissionCode::Arch(code())),
        Some(toolkit) if toolkit > newest => Some(AdmissionCode::Newer(toolkit, request.release.map_or(known, |r| r.toolkit))),
        _ if number != CHANGED_IN_12 => None,
        Some(OLDEST_TOOLKIT..) => None,
        Some(_) => Some(AdmissionCode::TooOld),
        None => Some(AdmissionCode::NoToolkit),
    };
    Admission {
        warnings,
        refusal,
        virtual_arch,
        toolkit: toolkit.unwrap_or(0),
    }
}

/// The toolkit that an object was made with.
pub fn toolkit(cubin: &Cubin<'_>) -> Option<u32> {
    toolkit_and_virtual(cubin).0
}

fn toolkit_and_virtual(cubin: &Cubin<'_>) -> (Option<u32>, u32) {
    let header = cubin.header();
    let [.., os_abi, _, _, _, _, _, _, _, _] = header.ident;
    match os_abi == ELFOSABI_CUDA {
        true => cuda_note(cubin).map_or((None, 0), |note| (note.toolkit, note.virtual_arch)),
        false => (Some(header.e_version.get()), header.e_flags.get() >> 16 & 0xff),
    }
}

/// What the note of the new form says: `.note.nv.cuinfo`, or `.note.nv.cuver` in files of CUDA 12.8 and 12.9.
struct CudaNote {
    virtual_arch: u32,
    toolkit: Option<u32>,
}

fn cuda_note(cubin: &Cubin<'_>) -> Option<CudaNote> {
    /// Offset of the note's description: three words and the owner's name.
    const DESCRIPTION: usize = 24;
    let note = cuda_note_section(cubin)?;
    let words = note.data.get(DESCRIPTION..DESCRIPTION + 6)?;
    let [format, virtual_arch, toolkit] = <[U16]>::ref_from_bytes(words).ok()? else {
        return None;
    };
    let toolkit = if u32::from(format.get()) >= NOTE_FORMAT {
        Some(toolkit.get().into())
    } else {
        tool_version(cubin, &note, DESCRIPTION)
    };
    Some(CudaNote {
        virtual_arch: virtual_arch.get().into(),
        toolkit,
    })
}

/// The toolkit where the note does not state it: CUDA 12.8 and 12.9 have it in the note about the tools, to which `sh_link` points.
fn tool_version(cubin: &Cubin<'_>, note: &Section<'_>, description: usize) -> Option<u32> {
    let tools = cubin.section(note.header.sh_link.get()).ok()?;
    let version = tools.data.get(description..)?.first_chunk()?;
    Some(u32::from_le_bytes(*version))
}

/// True for code with suffix a: a record of `.nv.compat`, or a flag of the file in files of CUDA 12.
fn is_specific(cubin: &Cubin<'_>) -> bool {
    let header = cubin.header();
    let [.., os_abi, _, _, _, _, _, _, _, _] = header.ident;
    let flag = match os_abi == ELFOSABI_CUDA {
        true => FOR_ONE_ARCH,
        false => OLD_FOR_ONE_ARCH,
    };
    if header.e_flags.get() & flag != 0 {
        return true;
    }
    let Some(section) = cubin.section_by_name(b".nv.compat") else {
        return false;
    };
    let mut rest = section.data;
    while let [format, attribute, low, high, after @ ..] = rest {
        if *attribute == compat::ACCELERATOR_TARGET {
            return *low == 1;
        }
        // Format 4 has a size and that many bytes after it; the others keep their value in the record.
        let skip = if *format == 4 {
            usize::from(u16::from_le_bytes([*low, *high]))
        } else {
            0
        };
        rest = after.get(skip..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    /// A file with a section table of one empty entry, of the given form.
    fn header(os_abi: u8, abi: u8, version: u32, flags: u32) -> Vec<u8> {
        let mut file = vec![0u8; 128];
        file[..9].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, os_abi, abi]);
        file[16..20].copy_from_slice(&[1, 0, 190, 0]);
        file[20..24].copy_from_slice(&version.to_le_bytes());
        file[40] = 64;
        file[48..52].copy_from_slice(&flags.to_le_bytes());
        file[52..64].copy_from_slice(&[64, 0, 56, 0, 0, 0, 64, 0, 1, 0, 0, 0]);
        file
    }

    fn checked(file: &[u8], target: u32) -> (Vec<AdmissionCode>, Option<AdmissionCode>) {
        let request = Request {
            target: Arch::new(target, Suffix::None),
            release: Some(Release::of_toolkit(130)),
        };
        let admission = admit(&Cubin::parse(file).unwrap(), request);
        (admission.warnings, admission.refusal)
    }

    /// Older objects: virtual architecture, 64-bit flag, real architecture.
    fn old(abi: u8, toolkit: u32, flags: u32) -> (Vec<AdmissionCode>, Option<AdmissionCode>) {
        checked(&header(0x33, abi, toolkit, flags), 90)
    }

    #[test]
    fn older_objects_are_judged_by_their_header() {
        assert_eq!(old(7, 129, 0x5a_055a), (vec![], None));
        assert_eq!(old(7, 129, 0x5a_015a), (vec![AdmissionCode::Expected64Bit], None));
        assert_eq!(old(8, 129, 0x5a_055a), (vec![], Some(AdmissionCode::Abi)));
        assert_eq!(old(7, 129, 0x5a_0500), (vec![], Some(AdmissionCode::UnknownArch(0))));
        assert_eq!(
            old(7, 129, 0x5a_0550),
            (vec![], Some(AdmissionCode::Arch(Arch::new(80, Suffix::None))))
        );
        assert_eq!(old(7, 131, 0x5a_055a), (vec![], Some(AdmissionCode::Newer(131, 130))));
        assert_eq!(old(7, 119, 0x5a_055a), (vec![], Some(AdmissionCode::TooOld)));
        assert_eq!(
            checked(&header(0x33, 7, 118, 0x50_0550), 80),
            (vec![], None),
            "only sm_90 needs CUDA 12"
        );
        assert_eq!(
            checked(&header(0x33, 7, 129, 0x5a_055a), 100),
            (
                vec![AdmissionCode::NoMercury],
                Some(AdmissionCode::Arch(Arch::new(90, Suffix::None)))
            )
        );
        // Observed: any other OS ABI is read as the older form.
        assert_eq!(checked(&header(0x40, 7, 129, 0x5a_055a), 90), (vec![], None));
        assert_eq!(
            checked(&header(0x40, 8, 1, 0x600_5a04), 90),
            (vec![AdmissionCode::Expected64Bit], Some(AdmissionCode::Abi))
        );
    }

    #[test]
    fn a_flag_binds_code_of_cuda_12_to_its_architecture() {
        let in_129 = |flags, target| {
            let request = Request {
                target,
                release: Some(Release::of_toolkit(129)),
            };
            admit(&Cubin::parse(&header(0x41, 8, 1, flags)).unwrap(), request).refusal
        };
        let plain = |number| Arch::new(number, Suffix::None);
        assert_eq!(in_129(0x6402, plain(103)), None);
        assert_eq!(in_129(0x640a, Arch::new(100, Suffix::Arch)), None);
        let refused = Some(AdmissionCode::Arch(Arch::new(100, Suffix::Arch)));
        assert_eq!(in_129(0x640a, plain(103)), refused);
        assert_eq!(in_129(0x640a, Arch::new(103, Suffix::Arch)), refused);
    }

    #[test]
    fn without_mercury_code_stays_on_its_architecture() {
        let new = |flags, target| checked(&header(0x41, 8, 1, flags), target);
        assert_eq!(new(0x6402, 103), (vec![], None));
        assert_eq!(
            new(0x6404, 103),
            (
                vec![AdmissionCode::NoMercury],
                Some(AdmissionCode::Arch(Arch::new(100, Suffix::None)))
            )
        );
        assert_eq!(new(0x6404, 100), (vec![AdmissionCode::NoMercury], None));
        assert_eq!(
            new(0x5a04, 100),
            (
                vec![AdmissionCode::NoMercury],
                Some(AdmissionCode::Arch(Arch::new(90, Suffix::None)))
            )
        );
        assert_eq!(new(0x5004, 86), (vec![], None));
        assert_eq!(new(0x5a04, 90), (vec![], Some(AdmissionCode::NoToolkit)), "the note is missing");
    }
}
