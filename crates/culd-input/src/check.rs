//! Whether a device object may take part in a link: nvlink's checks, in nvlink's order.
//!
//! 1. A linked file (`ET_EXEC`) has nothing to link.
//! 2. The file must hold together: 64-bit little-endian, tables and sections inside. nvlink drops others silently;
//!    objects out of fatbins skip this test, but a 32-bit one is refused.
//! 3. The ABI version must fit the format: 8 for CUDA 13 objects (OS ABI 0x41), 7 for older ones.
//! 4. The architecture must run on the target; 0 is no architecture.
//! 5. The toolkit that made it must be between 12.0 and 13.0: from `.note.nv.cuinfo`, or from `e_version` of older objects.

use crate::message::Code;
use crate::select::elf_fits;
use crate::target::{Suffix, Target};
use cubin::Cubin;
use cubin::raw::Ehdr;
use zerocopy::FromBytes;

const ET_EXEC: u16 = 2;
/// OS ABI of CUDA 13 objects.
const OSABI_NEW: u8 = 0x41;
/// `e_flags` of CUDA 13 objects: the top byte is the index of the cuinfo note, this if it does not fit.
const NOTE_BY_NAME: u32 = 255;
/// `e_flags` of older objects: 64-bit addresses.
const OLD_64BIT: u32 = 0x400;
/// The linker's own toolkit.
const TOOLKIT: u32 = 130;
/// Oldest toolkit whose objects are accepted.
const OLDEST_TOOLKIT: u32 = 120;
/// `.nv.compat` attribute: made for one architecture only (suffix a).
const COMPAT_ACCELERATOR: u8 = 9;

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
pub fn check(data: &[u8], name: &str, target: Target, source: Source) -> Verdict {
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
    let mut warnings = Vec::new();
    match refuse(&cubin, header, name, target, &mut warnings) {
        Some(code) => Verdict::Refuse(warnings, code),
        None => Verdict::Accept(warnings),
    }
}

fn refuse(cubin: &Cubin<'_>, header: &Ehdr, name: &str, target: Target, warnings: &mut Vec<Code>) -> Option<Code> {
    let file = || name.to_owned();
    let flags = header.e_flags.get();
    let [.., os_abi, abi_version, _, _, _, _, _, _, _] = header.ident;
    let is_new = os_abi == OSABI_NEW;
    if !is_new && flags & OLD_64BIT == 0 {
        warnings.push(Code::Expected64Bit { file: file() });
    }
    if abi_version != if is_new { 8 } else { 7 } {
        return Some(Code::AbiMismatch { file: file() });
    }
    // The low bits of the flags say that the object has the code form that later architectures are made from.
    if is_new && target.number >= 100 && flags & 3 == 0 {
        let number = target.number;
        warnings.push(Code::LimitedByOlderInput { file: file(), number });
    }
    let number = if is_new { flags >> 8 & 0xffff } else { flags & 0xff };
    let suffix = if is_accelerator(cubin) { Suffix::Arch } else { Suffix::None };
    if number == 0 {
        return Some(Code::UnknownArch { number });
    }
    if !elf_fits(Target::new(number, suffix), target) {
        return Some(Code::ArchMismatch { file: file(), target });
    }
    let toolkit = if is_new {
        new_toolkit(cubin, flags)
    } else {
        Some(header.e_version.get())
    };
    match toolkit {
        Some(toolkit) if toolkit > TOOLKIT => Some(Code::NewerThanToolkit { file: file(), toolkit }),
        Some(OLDEST_TOOLKIT..) => None,
        _ => Some(Code::TooOld { file: file() }),
    }
}

/// The toolkit of a CUDA 13 object; `None` when the format or the note is too old or missing.
fn new_toolkit(cubin: &Cubin<'_>, flags: u32) -> Option<u32> {
    use zerocopy::little_endian::U16;
    /// Offset of the note's description: three words and the owner's name.
    const DESCRIPTION: usize = 24;
    let note = match flags >> 24 {
        NOTE_BY_NAME => cubin.section_by_name(b".note.nv.cuinfo")?,
        index => cubin.section(index).ok().filter(|s| s.name == b".note.nv.cuinfo")?,
    };
    let words = note.data.get(DESCRIPTION..DESCRIPTION + 6)?;
    let [version, _virtual_sm, toolkit] = <[U16]>::ref_from_bytes(words).ok()? else {
        return None;
    };
    (version.get() >= 2).then_some(toolkit.get().into())
}

/// True for code with suffix a.
fn is_accelerator(cubin: &Cubin<'_>) -> bool {
    let Some(compat) = cubin.section_by_name(b".nv.compat") else {
        return false;
    };
    let mut rest = compat.data;
    while let [format, attribute, low, high, behind @ ..] = rest {
        if *attribute == COMPAT_ACCELERATOR {
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
