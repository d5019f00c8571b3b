//! Links for sm_100 and later: files with two views of the same module, SASS and Mercury.
//!
//! The phases of the [`pipeline`](crate::pipeline) link the Mercury view of the inputs ([`view`]); what follows rebuilds the SASS view:
//!
//! 1. [`linked`]: contents and kept relocations of the linked Mercury view; values that were resolved in code.
//! 2. [`sources`]: what belongs to each code section of the inputs. [`code`]: the functions' SASS, rewritten where a final link rewrites it, with the
//!    resolved values in it and in the capsules. [`exits`]: fences in front of `EXIT`. [`stubs`]: the table of unified functions.
//! 3. [`relocs`]: relocations of the SASS view, from the inputs' parallel lists.
//! 4. [`attributes`]: `.nv.info.F` of the SASS view.
//! 5. [`jump`]: jump tables as offsets in SASS.
//! 6. [`frame`], [`mod@line`], [`registers`], [`debug`]: unwinding, line tables, registers of variables, other debug information.
//! 7. [`tables`]: string and symbol tables of both views.
//! 8. [`image`]: section headers, shared bytes, the file.

mod attributes;
mod code;
mod debug;
mod file;
mod linked;
mod register_lists;
mod relocs;
mod sass;

use crate::arrange::OutputPlan;
use crate::diagnostics::{Collector, Stop};
use crate::ids::Table;
use crate::metadata::kernel::KernelAttributes;
use crate::sections::SyntheticSections;
use code::{functions, jump};
use debug::{frame, info, line};
use sass::Sass;

/// Makes the image.
pub(crate) fn emit(
    parts: &OutputPlan<'_, '_>,
    computed: &SyntheticSections,
    attributes: &KernelAttributes<'_>,
    out: &mut Collector<'_>,
) -> Result<Vec<u8>, Stop> {
    let linked = linked::link(parts, computed);
    let code = functions::functions(parts, &linked, out)?;
    let mut sass = Sass {
        bytes: Table::filled(parts.layout.records.sections.len(), None),
    };
    relocs::write(parts, &linked, &code, &mut sass);
    attributes::write(parts, attributes, &linked, &code, &mut sass);
    jump::write(parts, &linked, &code, &mut sass);
    frame::write(parts, &linked, &code, &mut sass);
    let lines = line::write(parts, &linked, &code, &mut sass);
    info::write(parts, &linked, &code, &lines, &mut sass);
    file::image::emit(parts, &linked, &code, sass, out)
}
