//! Whether a relocatable device object is consistent. The checks assume that any field may be corrupt.
//!
//! [`Cubin::parse`] makes sure that a file can be read; this module makes sure that it means something. In order:
//!
//! 1. The file header: fields with one legal value.
//! 2. Section headers (`sections`): place, alignment, entry size, links to other sections, what may exist only once.
//! 3. Symbols (`symbols`): names, types, bindings, and that each is inside its section.
//! 4. Relocations (`relocations`): known type, existing symbol, a field inside the section that is patched.
//! 5. Contents (`contents`): attributes, call graph, prototypes, notes, unified tables, Mercury capsules.
//!
//! The first defect ends the check. It names its place by number and name, so that it can be found with any ELF reader.

mod contents;
mod relocations;
mod sections;
mod symbols;

use crate::consts::*;
use crate::notes::cuda_note_section;
use crate::raw::Phdr;
use crate::read::{Cubin, ReadError};
use std::fmt;

/// Largest alignment that an object may require.
pub const MAX_ALIGN: u64 = 1 << 30;
/// Largest size of a section without bytes in the file: more than any device has.
pub const MAX_MEMORY: u64 = 1 << 48;

/// What is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Defect {
    /// Location of the defect.
    pub place: DefectPlace,
    /// Description of the defect.
    pub reason: String,
}

/// A place in an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DefectPlace {
    /// The ELF header.
    Header,
    /// The file as a whole.
    File,
    /// A section.
    Section {
        /// Index.
        index: u32,
        /// Name.
        name: String,
    },
    /// An entry or a record of a section.
    Entry {
        /// Index of the section.
        index: u32,
        /// Name of the section.
        name: String,
        /// What the entry is called.
        what: &'static str,
        /// Offset in the section.
        offset: usize,
    },
    /// A symbol.
    Symbol {
        /// Index.
        index: u32,
        /// Name.
        name: String,
    },
}

impl fmt::Display for DefectPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DefectPlace::Header => write!(f, "ELF header"),
            DefectPlace::File => write!(f, "file"),
            DefectPlace::Section { index, name } => write!(f, "section {index} '{name}'"),
            DefectPlace::Entry { index, name, what, offset } => write!(f, "section {index} '{name}', {what} at offset {offset:#x}"),
            DefectPlace::Symbol { index, name } => write!(f, "symbol {index} '{name}'"),
        }
    }
}

/// Why an object is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// A name or an index that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something that makes no sense.
    #[error(transparent)]
    Defect(#[from] Defect),
}

type Checked = Result<(), Invalid>;

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

fn defect(place: DefectPlace, reason: impl Into<String>) -> Invalid {
    Invalid::Defect(Defect {
        place,
        reason: reason.into(),
    })
}

/// Checks a relocatable object.
pub fn validate(cubin: &Cubin<'_>) -> Checked {
    header(cubin)?;
    sections::check(cubin)?;
    symbols::check(cubin)?;
    relocations::check(cubin)?;
    contents::check(cubin)
}

/// Fields of the header that have one legal value in every object of every toolkit.
fn header(cubin: &Cubin<'_>) -> Checked {
    let header = cubin.header();
    let [_, _, _, _, _, _, version, ..] = header.ident;
    let segments = header.e_phnum.get() != 0;
    let fields: [(&str, u64, u64, bool); 4] = [
        ("EI_VERSION", version.into(), 1, true),
        (
            "e_type",
            header.e_type.get().into(),
            ET_REL.into(),
            header.e_type.get() != ET_CUDA_EWP,
        ),
        ("e_ehsize", header.e_ehsize.get().into(), 64, true),
        ("e_phentsize", header.e_phentsize.get().into(), size_of::<Phdr>() as u64, segments),
    ];
    for (field, value, expected, matters) in fields {
        if matters && value != expected {
            return Err(defect(
                DefectPlace::Header,
                format!("{field} is {value}, in a relocatable object it is {expected}"),
            ));
        }
    }
    if cubin.section_headers().is_empty() {
        return Err(defect(DefectPlace::Header, "there are no sections"));
    }
    toolkit_note(cubin)
}

/// Files of the new form state in `e_flags` where the note about architecture and toolkit is.
fn toolkit_note(cubin: &Cubin<'_>) -> Checked {
    let [.., os_abi, _, _, _, _, _, _, _, _] = cubin.header().ident;
    if os_abi != ELFOSABI_CUDA || cuda_note_section(cubin).is_some() {
        return Ok(());
    }
    let index = cubin.header().e_flags.get() >> 24;
    Err(defect(
        DefectPlace::Header,
        format!("e_flags states that section {index} is the note with the toolkit, but it is not a note"),
    ))
}
