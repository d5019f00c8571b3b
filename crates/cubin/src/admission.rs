//! Whether a device object may take part in a link for an architecture: what the vendor's linker asks of a file's header and notes.
//!
//! 1. Form: OS ABI 0x41 is that of CUDA 13, anything else counts as the older one, whose flags should say that addresses have 64 bits.
//! 2. The ABI version belongs to the form: 8 for the new one, 7 for the older one.
//! 3. From sm_100 on an object needs its Mercury form to run on anything but its own architecture.
//! 4. The architecture must run on the target; 0 is none.
//! 5. The toolkit that made it must not be newer than the linker's release, if it stands for one, and for sm_90 not older than 12.0: from the
//!    note that `e_flags` names, or from `e_version` of the older form. Code for other architectures may be of any older toolkit.

use crate::compat;
use crate::consts::{ELFOSABI_CUDA, SHT_NOTE};
use crate::read::{Cubin, Section};
use crate::release::{Form, Release};
use zerocopy::FromBytes;
use zerocopy::little_endian::U16;

/// Oldest toolkit whose objects for sm_90 are accepted.
pub const OLDEST_TOOLKIT: u32 = 120;
/// The architecture whose code of older toolkits is refused.
const CHANGED_IN_12: u32 = 90;

/// Code for the first number also runs on the second. sm_110 is CUDA 13's name of sm_101.
const RUNS_ON: [(u32, u32); 11] = [
    (50, 52),
    (60, 61),
    (70, 75),
    (80, 86),
    (80, 89),
    (86, 89),
    (100, 103),
    (100, 107),
    (101, 110),
    (103, 107),
    (120, 121),
];
/// First architecture of CUDA 13.
const TURING: u32 = 75;
/// First architecture whose code has a Mercury form.
const MERCURY: u32 = 100;
/// `e_flags` of the older form: 64-bit addresses.
const OLD_64BIT: u32 = 0x400;
/// `e_flags` of the new form: set in files with a Mercury form.
const HAS_MERCURY: u32 = 3;
/// `e_flags` of the new form: the top byte is the index of the cuinfo note, this if it does not fit.
const NOTE_BY_NAME: u32 = 255;
/// First format of the note that states the toolkit.
const NOTE_FORMAT: u32 = 2;

/// The outcome for one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// What to warn about, in order; also before a refusal.
    pub warnings: Vec<Warning>,
    /// Why it may not be linked.
    pub refusal: Option<Refusal>,
    /// Virtual architecture that the code was compiled from, 0 if the file does not say.
    pub virtual_arch: u32,
    /// Toolkit that made the file, version times ten; 0 if the file does not say.
    pub toolkit: u32,
}

/// What an object is judged for.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// Number of the target architecture.
    pub target: u32,
    /// The target has suffix `a`.
    pub accelerated: bool,
    /// The release whose linker judges; `None` accepts objects of every later release.
    pub release: Option<&'static Release>,
}

/// Something to warn about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// The flags do not say that addresses have 64 bits.
    Expected64Bit,
    /// Without a Mercury form the output runs on the target alone.
    NoMercury,
    /// Made by a later minor release than any that is known: this one.
    UnknownRelease(u32),
}

/// Why an object may not be linked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// ABI version of another form.
    Abi,
    /// No architecture: this number.
    UnknownArch(u32),
    /// Made for an architecture whose code does not run on the target: its number, and whether it has suffix `a`.
    Arch(u32, bool),
    /// Made for one architecture only (suffix `a`), the target is the plain one.
    Accelerated,
    /// Made by a newer toolkit: this one, and the linker's own.
    Newer(u32, u32),
    /// Made for sm_90 by a toolkit before 12.0.
    TooOld,
    /// Made for sm_90, without a readable note that says by which toolkit; the vendor's linker calls it too old.
    NoToolkit,
}

/// True when device code for `code` runs on `target`; `specific`: it was made for one architecture only (suffix a).
pub fn runs_on(code: u32, specific: bool, target: u32) -> bool {
    code == target || (!specific && RUNS_ON.contains(&(code, target)))
}

/// Judges an object for a target architecture.
pub fn admit(cubin: &Cubin<'_>, request: Request) -> Admission {
    let target = request.target;
    let header = cubin.header();
    let flags = header.e_flags.get();
    let [.., os_abi, abi_version, _, _, _, _, _, _, _] = header.ident;
    let is_new = os_abi == ELFOSABI_CUDA;
    let (toolkit, virtual_arch) = if is_new {
        cuda_note(cubin).map_or((None, 0), |note| (note.toolkit, note.virtual_arch))
    } else {
        (Some(header.e_version.get()), flags >> 16 & 0xff)
    };
    let mut warnings = Vec::new();
    let has_mercury = is_new && flags & HAS_MERCURY != 0;
    if !is_new && flags & OLD_64BIT == 0 {
        warnings.push(Warning::Expected64Bit);
    }
    // Linkers whose own form is the older one do not read the new one.
    let knows_form = !is_new || request.release.is_none_or(|r| r.rules.form == Form::Cuda13);
    let abi_fits = abi_version == if is_new { 8 } else { 7 } && knows_form;
    if abi_fits && target >= MERCURY && !has_mercury {
        warnings.push(Warning::NoMercury);
    }
    let number = if is_new { flags >> 8 & 0xffff } else { flags & 0xff };
    // CUDA 13 has dropped what is older than sm_75, also as code for later architectures.
    let dropped = number < TURING && request.release.is_some_and(|r| !r.rules.has_sm_50);
    let runs_on = |code, specific, target| runs_on(code, specific, target) && !dropped;
    let fits = || number == target || ((number < MERCURY || has_mercury) && runs_on(number, is_specific(cubin), target));
    // Without a release to stand for, later minor releases of the newest known major are accepted.
    let known = Release::newest().toolkit;
    let newest = request.release.map_or(known - known % 10 + 9, |r| r.toolkit);
    if let Some(toolkit) = toolkit.filter(|&t| request.release.is_none() && known < t && t <= newest) {
        warnings.push(Warning::UnknownRelease(toolkit));
    }
    let accelerated_only = request.release.is_some_and(|r| r.rules.accelerated_only_for_itself);
    let refusal = match toolkit {
        _ if !abi_fits => Some(Refusal::Abi),
        _ if accelerated_only && !request.accelerated && is_specific(cubin) => Some(Refusal::Accelerated),
        _ if number == 0 => Some(Refusal::UnknownArch(number)),
        _ if !fits() => Some(Refusal::Arch(number, is_specific(cubin))),
        Some(toolkit) if toolkit > newest => Some(Refusal::Newer(toolkit, request.release.map_or(known, |r| r.toolkit))),
        _ if number != CHANGED_IN_12 => None,
        Some(OLDEST_TOOLKIT..) => None,
        Some(_) => Some(Refusal::TooOld),
        None => Some(Refusal::NoToolkit),
    };
    Admission {
        warnings,
        refusal,
        virtual_arch,
        toolkit: toolkit.unwrap_or(0),
    }
}

/// What the note of the new form says: `.note.nv.cuinfo`, or `.note.nv.cuver` in files of CUDA 12.8 and 12.9.
struct CudaNote {
    virtual_arch: u32,
    toolkit: Option<u32>,
}

/// The section of the new form's note. Observed: its type matters, its name only where the number does not fit.
pub(crate) fn note_section<'d>(cubin: &Cubin<'d>) -> Option<Section<'d>> {
    let note = match cubin.header().e_flags.get() >> 24 {
        NOTE_BY_NAME => cubin.section_by_name(b".note.nv.cuinfo")?,
        index => cubin.section(index).ok()?,
    };
    (note.header.sh_type.get() == SHT_NOTE).then_some(note)
}

fn cuda_note(cubin: &Cubin<'_>) -> Option<CudaNote> {
    /// Offset of the note's description: three words and the owner's name.
    const DESCRIPTION: usize = 24;
    let note = note_section(cubin)?;
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

/// True for code with suffix a.
fn is_specific(cubin: &Cubin<'_>) -> bool {
    let Some(section) = cubin.section_by_name(b".nv.compat") else {
        return false;
    };
    let mut rest = section.data;
    while let [format, attribute, low, high, behind @ ..] = rest {
        if *attribute == compat::ACCELERATOR_TARGET {
            return *low == 1;
        }
        // Format 4 has a size and that many bytes behind it; the others keep their value in the record.
        let skip = if *format == 4 {
            usize::from(u16::from_le_bytes([*low, *high]))
        } else {
            0
        };
        rest = behind.get(skip..).unwrap_or_default();
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

    fn judged(file: &[u8], target: u32) -> (Vec<Warning>, Option<Refusal>) {
        let request = Request {
            target,
            accelerated: false,
            release: Some(Release::of_toolkit(130)),
        };
        let admission = admit(&Cubin::parse(file).unwrap(), request);
        (admission.warnings, admission.refusal)
    }

    /// Older objects: virtual architecture, 64-bit flag, real architecture.
    fn old(abi: u8, toolkit: u32, flags: u32) -> (Vec<Warning>, Option<Refusal>) {
        judged(&header(0x33, abi, toolkit, flags), 90)
    }

    #[test]
    fn older_objects_are_judged_by_their_header() {
        assert_eq!(old(7, 129, 0x5a_055a), (vec![], None));
        assert_eq!(old(7, 129, 0x5a_015a), (vec![Warning::Expected64Bit], None));
        assert_eq!(old(8, 129, 0x5a_055a), (vec![], Some(Refusal::Abi)));
        assert_eq!(old(7, 129, 0x5a_0500), (vec![], Some(Refusal::UnknownArch(0))));
        assert_eq!(old(7, 129, 0x5a_0550), (vec![], Some(Refusal::Arch(80, false))));
        assert_eq!(old(7, 131, 0x5a_055a), (vec![], Some(Refusal::Newer(131, 130))));
        assert_eq!(old(7, 119, 0x5a_055a), (vec![], Some(Refusal::TooOld)));
        assert_eq!(
            judged(&header(0x33, 7, 118, 0x50_0550), 80),
            (vec![], None),
            "only sm_90 needs CUDA 12"
        );
        assert_eq!(
            judged(&header(0x33, 7, 129, 0x5a_055a), 100),
            (vec![Warning::NoMercury], Some(Refusal::Arch(90, false)))
        );
        // Observed: any other OS ABI is read as the older form.
        assert_eq!(judged(&header(0x40, 7, 129, 0x5a_055a), 90), (vec![], None));
        assert_eq!(
            judged(&header(0x40, 8, 1, 0x600_5a04), 90),
            (vec![Warning::Expected64Bit], Some(Refusal::Abi))
        );
    }

    #[test]
    fn without_mercury_code_stays_on_its_architecture() {
        let new = |flags, target| judged(&header(0x41, 8, 1, flags), target);
        assert_eq!(new(0x6402, 103), (vec![], None));
        assert_eq!(new(0x6404, 103), (vec![Warning::NoMercury], Some(Refusal::Arch(100, false))));
        assert_eq!(new(0x6404, 100), (vec![Warning::NoMercury], None));
        assert_eq!(new(0x5a04, 100), (vec![Warning::NoMercury], Some(Refusal::Arch(90, false))));
        assert_eq!(new(0x5004, 86), (vec![], None));
        assert_eq!(new(0x5a04, 90), (vec![], Some(Refusal::NoToolkit)), "the note is missing");
    }

    #[test]
    fn specific_code_runs_nowhere_else() {
        assert!(runs_on(100, false, 103) && !runs_on(100, true, 103) && runs_on(90, true, 90));
    }
}
