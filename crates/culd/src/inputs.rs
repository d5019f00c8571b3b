//! Admission: which inputs take part in the link, and whether they may.
//!
//! 1. Parse all inputs (in parallel when there is much to read).
//! 2. In link order: executables are left out; an object whose structure is broken is left out by nvlink and refused by culd.
//! 3. Check ABI, then architecture, then the toolkit that made the object.
//! 4. Number the objects and their symbols.

use crate::Input;
use crate::blackwell::view;
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{Id, ObjectId, SymbolRef, Table};
use crate::object::{Object, ObjectError};
use crate::options::{Identity, LinkOptions, Target};
use crate::par;
use cubin::consts::*;
use cubin::read::{Cubin, ReadError};

/// Toolkit version that this linker stands for: 13.0.
pub const TOOLKIT: u32 = 130;

/// The objects of a link.
#[derive(Debug)]
pub struct Inputs<'d> {
    /// Objects in link order.
    pub objects: Table<ObjectId, Object<'d>>,
    /// Number of symbols over all objects.
    pub symbol_count: usize,
    /// Number of sections over all objects.
    pub section_count: usize,
}

impl<'d> Inputs<'d> {
    /// The object that a symbol belongs to and its index there.
    pub fn locate(&self, symbol: SymbolRef) -> (&Object<'d>, u32) {
        let n = symbol.index() as u32;
        let i = self.objects.as_slice().partition_point(|o| o.first_symbol <= n).saturating_sub(1);
        let object = &self.objects[ObjectId::from_index(i)];
        (object, n - object.first_symbol)
    }
}

/// Reads and checks all inputs.
pub fn admit<'d>(inputs: &[Input<'d>], options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Result<Inputs<'d>, Stop> {
    let bytes = inputs.iter().map(|i| i.data.len()).sum();
    let trusting = options.identity == Identity::Nvlink;
    let parsed = par::map(inputs, bytes, options.threads, |input| parse(input, trusting));
    let mut objects: Table<ObjectId, Object<'d>> = Table::new();
    let (mut first_symbol, mut first_section) = (0u32, 0u32);
    for (input, parsed) in inputs.iter().zip(parsed) {
        let Some((cubin, object)) = admit_one(input, parsed, options, out)? else {
            continue;
        };
        check_arch(input, &cubin, options.target, out)?;
        let mut object = object.map_err(|e| refuse(input, &e, out))?;
        object.virtual_sm = check_toolkit(input, &cubin, out)?;
        (object.first_symbol, object.first_section) = (first_symbol, first_section);
        object.id = ObjectId::from_index(objects.len());
        let next = first_symbol
            .checked_add(object.symbol_count())
            .zip(first_section.checked_add(object.sections.len() as u32));
        (first_symbol, first_section) =
            next.ok_or_else(|| damaged(input, "more than 4 billion symbols or sections in one link".into(), out))?;
        objects.push(object);
    }
    Ok(Inputs {
        objects,
        symbol_count: first_symbol as usize,
        section_count: first_section as usize,
    })
}

type Parsed<'d> = Result<(Cubin<'d>, Result<Object<'d>, ObjectError>), ReadError>;

fn parse<'d>(input: &Input<'d>, trusting: bool) -> Parsed<'d> {
    let cubin = Cubin::parse(input.data)?;
    let object = if view::has_mercury(&cubin) {
        view::object(input.name, &cubin, trusting)
    } else {
        Object::new(input.name, &cubin, trusting)
    };
    Ok((cubin, object))
}

type Admitted<'d> = Option<(Cubin<'d>, Result<Object<'d>, ObjectError>)>;

/// Decides about objects that cannot be read, and about executables.
fn admit_one<'d>(input: &Input<'d>, parsed: Parsed<'d>, options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Result<Admitted<'d>, Stop> {
    let nvlink = options.identity == Identity::Nvlink;
    match parsed {
        // nvlink quirk: executables and objects with a broken structure are dropped without a word.
        Ok((cubin, _)) if cubin.header().e_type.get() == ET_EXEC => match nvlink {
            true => Ok(None),
            false => Err(damaged(
                input,
                "already linked (ET_EXEC), a relocatable object is needed".into(),
                out,
            )),
        },
        Ok(parsed) => Ok(Some(parsed)),
        Err(ReadError::Class { .. } | ReadError::OutOfFile { .. } | ReadError::Field { .. }) if nvlink => Ok(None),
        Err(e) => Err(damaged(input, e.to_string(), out)),
    }
}

fn damaged(input: &Input<'_>, reason: String, out: &mut Collector<'_>) -> Stop {
    out.fatal(Code::Damaged {
        file: input.name.into(),
        reason,
    })
}

fn refuse(input: &Input<'_>, error: &ObjectError, out: &mut Collector<'_>) -> Stop {
    match error {
        ObjectError::RelocationOffset { section, entry } => damaged(
            input,
            format!("section {section}: entry {entry} lies past the end of its section"),
            out,
        ),
        other => damaged(input, other.to_string(), out),
    }
}

/// Objects of one architecture that may go into a link for another: (object, target).
const COMPATIBLE: [(u32, u32); 5] = [(80, 86), (80, 89), (86, 89), (100, 103), (120, 121)];

fn check_arch(input: &Input<'_>, cubin: &Cubin<'_>, target: Target, out: &mut Collector<'_>) -> Result<(), Stop> {
    let header = cubin.header();
    let [.., osabi, abi, _, _, _, _, _, _, _] = header.ident;
    let flags = header.e_flags.get();
    let legacy = osabi == ELFOSABI_CUDA_V7 && abi == 7;
    let file = || input.name.to_string();
    if osabi != ELFOSABI_CUDA && (osabi != ELFOSABI_CUDA_V7 || flags & 0x400 == 0) {
        out.warning(Code::Expected64Bit { file: file() })?;
    }
    if !legacy && (osabi != ELFOSABI_CUDA || abi != 8) {
        return Err(out.fatal(Code::AbiMismatch { file: file() }));
    }
    let number = if legacy { flags & 0xff } else { flags >> 8 & 0xffff };
    if number == 0 {
        return Err(out.fatal(Code::UnknownArch {
            name: format!("sm_{number}"),
        }));
    }
    if number != target.number && !COMPATIBLE.contains(&(number, target.number)) {
        if target.is_blackwell() && number < 100 {
            out.warning(Code::LimitedByOlderInput {
                file: file(),
                number: target.number,
            })?;
        }
        return Err(out.fatal(Code::ArchMismatch {
            file: file(),
            target: target.to_string(),
        }));
    }
    Ok(())
}

/// Checks the toolkit; returns the virtual architecture.
fn check_toolkit(input: &Input<'_>, cubin: &Cubin<'_>, out: &mut Collector<'_>) -> Result<Option<u32>, Stop> {
    let header = cubin.header();
    let flags = header.e_flags.get();
    let file = || input.name.to_string();
    let (toolkit, version, virtual_sm) = if header.ident.get(7) == Some(&ELFOSABI_CUDA_V7) {
        (header.e_version.get(), 2, flags >> 16 & 0xff)
    } else {
        // Bits 24..31 are the index of the note, 255 when it does not fit.
        let note = match flags >> 24 {
            255 => cubin.section_by_name(b".note.nv.cuinfo"),
            index => cubin.section(index).ok().filter(|s| s.name == b".note.nv.cuinfo"),
        };
        let Some(words) = note.and_then(|n| n.data.get(24..32)) else {
            return Err(out.fatal(Code::TooOld { file: file() }));
        };
        let half = |i: usize| {
            u32::from(u16::from_le_bytes([
                words.get(i).copied().unwrap_or(0),
                words.get(i + 1).copied().unwrap_or(0),
            ]))
        };
        (half(4) | half(6) << 16, half(0), half(2))
    };
    if toolkit > TOOLKIT {
        return Err(out.fatal(Code::NewerThanToolkit { file: file(), toolkit }));
    }
    if toolkit < 120 || version < 2 {
        return Err(out.fatal(Code::TooOld { file: file() }));
    }
    Ok(Some(virtual_sm))
}
