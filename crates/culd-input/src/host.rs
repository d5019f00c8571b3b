//! Host objects: relocatable ELF files of the host compiler that carry a fatbin.
//!
//! 1. Read the section headers and their names; every range is checked against the file.
//! 2. `.nvFatBinSegment` says that there is device code; `__nv_relfatbin` holds it when it is meant for device linking.
//! 3. `__nv_module_id` names the module for the host's registration code.
//! 4. `.nvHRKE` and `.nvHRKI` list the kernels that host code refers to, `.nvHRCE` and `.nvHRCI` the constants, `.nvHRDE` and
//!    `.nvHRDI` the other variables.
//!
//! The host's machine does not matter: x86-64 and AArch64 objects are the same to a device linker. Relocations are not needed.

use cubin::raw::{Ehdr, Shdr};
use zerocopy::FromBytes;

/// Why a host object cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Shorter than an ELF header.
    #[error("shorter than an ELF header")]
    TooShort,
    /// 32-bit or big-endian.
    #[error("not a 64-bit little-endian ELF file")]
    Class,
    /// The section header table is cut off or of another format.
    #[error("section headers are damaged or truncated")]
    Sections,
    /// The section names are missing.
    #[error("section names are damaged or truncated")]
    Names,
    /// A section that is needed is not in the file.
    #[error("section {0} is outside the file")]
    OutOfFile(&'static str),
}

/// The sections of a host object that matter to a device link.
#[derive(Debug, Default, Clone, Copy)]
pub struct HostObject<'d> {
    /// `.nvFatBinSegment` is there.
    pub has_segment: bool,
    /// `.nv_fatbin` is there: code that is not meant for device linking.
    pub has_whole_program: bool,
    /// `__nv_relfatbin`.
    pub fatbins: Option<&'d [u8]>,
    /// `__nv_module_id`.
    pub module_id: Option<&'d [u8]>,
    /// `.nvHRKE`: kernels with external linkage.
    pub external_kernels: Option<&'d [u8]>,
    /// `.nvHRKI`: kernels with internal linkage.
    pub internal_kernels: Option<&'d [u8]>,
    /// `.nvHRCE`: constants with external linkage.
    pub external_constants: Option<&'d [u8]>,
    /// `.nvHRCI`: constants with internal linkage.
    pub internal_constants: Option<&'d [u8]>,
    /// `.nvHRDE`: other variables with external linkage.
    pub external_variables: Option<&'d [u8]>,
    /// `.nvHRDI`: other variables with internal linkage.
    pub internal_variables: Option<&'d [u8]>,
}

impl<'d> HostObject<'d> {
    /// Reads the headers and finds the sections; the first of each name counts.
    pub fn parse(data: &'d [u8]) -> Result<Self, HostError> {
        let (header, _) = Ehdr::ref_from_prefix(data).map_err(|_| HostError::TooShort)?;
        let [_, _, _, _, class, encoding, ..] = header.ident;
        if class != 2 || encoding != 1 {
            return Err(HostError::Class);
        }
        let sections = section_table(data, header).ok_or(HostError::Sections)?;
        let mut host = HostObject::default();
        let Some(first) = sections.first() else {
            return Ok(host);
        };
        let names = match header.e_shstrndx.get() {
            0xffff => first.sh_link.get(),
            index => index.into(),
        };
        let names = sections
            .get(names as usize)
            .and_then(|s| bytes_of(data, s))
            .ok_or(HostError::Names)?;
        for section in sections {
            host.note(data, names, section)?;
        }
        Ok(host)
    }

    /// Takes a section that matters.
    fn note(&mut self, data: &'d [u8], names: &'d [u8], section: &Shdr) -> Result<(), HostError> {
        let start = names.get(section.sh_name.get() as usize..).unwrap_or_default();
        // All names of interest start alike; the others are passed over without looking for their end.
        if !start.starts_with(b".nv") && !start.starts_with(b"__nv") {
            return Ok(());
        }
        let name = start.split(|&b| b == 0).next().unwrap_or_default();
        let (slot, what) = match name {
            b".nvFatBinSegment" => {
                self.has_segment = true;
                return Ok(());
            }
            b".nv_fatbin" => {
                self.has_whole_program = true;
                return Ok(());
            }
            b"__nv_relfatbin" => (&mut self.fatbins, "__nv_relfatbin"),
            b"__nv_module_id" => (&mut self.module_id, "__nv_module_id"),
            b".nvHRKE" => (&mut self.external_kernels, ".nvHRKE"),
            b".nvHRKI" => (&mut self.internal_kernels, ".nvHRKI"),
            b".nvHRCE" => (&mut self.external_constants, ".nvHRCE"),
            b".nvHRCI" => (&mut self.internal_constants, ".nvHRCI"),
            b".nvHRDE" => (&mut self.external_variables, ".nvHRDE"),
            b".nvHRDI" => (&mut self.internal_variables, ".nvHRDI"),
            _ => return Ok(()),
        };
        if slot.is_none() {
            *slot = Some(bytes_of(data, section).ok_or(HostError::OutOfFile(what))?);
        }
        Ok(())
    }
}

fn section_table<'d>(data: &'d [u8], header: &Ehdr) -> Option<&'d [Shdr]> {
    let offset = usize::try_from(header.e_shoff.get()).ok()?;
    let mut count = usize::from(header.e_shnum.get());
    if offset == 0 && count == 0 {
        return Some(&[]);
    }
    if usize::from(header.e_shentsize.get()) != size_of::<Shdr>() {
        return None;
    }
    let table = data.get(offset..)?;
    if count == 0 {
        let (first, _) = Shdr::ref_from_prefix(table).ok()?;
        count = usize::try_from(first.sh_size.get()).ok()?;
    }
    let table = table.get(..count.checked_mul(size_of::<Shdr>())?)?;
    <[Shdr]>::ref_from_bytes(table).ok()
}

fn bytes_of<'d>(data: &'d [u8], section: &Shdr) -> Option<&'d [u8]> {
    const NOBITS: u32 = 8;
    if section.sh_type.get() == NOBITS {
        return Some(&[]);
    }
    let start = usize::try_from(section.sh_offset.get()).ok()?;
    let size = usize::try_from(section.sh_size.get()).ok()?;
    data.get(start..start.checked_add(size)?)
}
