//! The finalizer: links for sm_100 and later, whose files have the program twice.
//!
//! # Mercury
//!
//! Up to sm_90 a compiled object has machine code (SASS) that the linker copies and patches. From sm_100 on it has two *views* of one
//! module. The usual sections have SASS, final for one architecture. Sections with the flag `SHF_CUDA_MERCURY` have the same functions as
//! *Mercury*, an instruction set from which a *finalizer* can make SASS again, for this architecture or for a relative of it. The two views
//! have symbol tables of their own, with the same symbols at the same indices.
//!
//! The *twin* of a section is its counterpart in the other view. A code section's twin is a *capsule* (`.nv.capmerc.text.F`): it only
//! stores the Mercury instructions that cannot be derived from the SASS instruction at the same place, so neither view is complete without
//! the other. Sections that do not depend on the instruction set (initialized variables, user constants) have no twin, or one that shares
//! its bytes in the file.
//!
//! # What nvlink does, and what this directory does
//!
//! nvlink links the Mercury view alone: it resolves symbols, lays out memory and applies relocations there, and then runs the finalizer on
//! the result, which makes the SASS view of the linked file. culd has no finalizer. It links the Mercury view with the phases of the
//! [`pipeline`](crate::pipeline), as every other object ([`mercury`](crate::object::mercury) reads it under the names and numbers of the
//! SASS view), and rebuilds the SASS view from the SASS of the inputs. The two results are the same because the finalizer changes little of what the
//! compiler wrote: fences before `EXIT`, the order of some instructions, registers of some loads (crate `culd-sass`).
//!
//! # Steps
//!
//! 1. [`linked`]: contents and kept relocations of the linked Mercury view, and the values that were resolved in code.
//! 2. [`code`]: the SASS of each function with those values in it, the capsules, the table of unified functions, jump tables.
//! 3. [`relocs`]: relocations of the SASS view, from the inputs' lists, which are parallel to those of the Mercury view.
//! 4. [`attributes`]: `.nv.info.F` of the SASS view.
//! 5. [`debug`]: unwinding, line tables, registers of variables, other debug information, with offsets in SASS.
//! 6. [`file`](mod@file): string tables, symbol tables and section headers of both views; the image.
//!
//! [`sass`] collects the contents of the SASS view in between.

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
use crate::emit::{Emitted, Sink};
use crate::ids::Table;
use crate::metadata::kernel::KernelAttributes;
use crate::sections::SyntheticSections;
use code::{functions, jump};
use debug::{frame, info, line};
use file::image::ImageFrame;
use sass::Sass;

/// Makes the image, and hands it to `sink` if there is one that takes it.
pub(crate) fn emit(
    output: &OutputPlan<'_, '_>,
    computed: &SyntheticSections,
    attributes: &KernelAttributes<'_>,
    sink: Option<&dyn Sink>,
    out: &mut Collector<'_>,
) -> Result<Emitted, Stop> {
    let linked = linked::link(output, computed);
    let code = functions::functions(output, &linked, out)?;
    let empty = || Sass {
        bytes: Table::filled(output.layout.records.sections.len(), None),
    };
    let plain = || {
        let mut sass = empty();
        relocs::write(output, &linked, &code, &mut sass);
        attributes::write(output, attributes, &linked, &code, &mut sass);
        jump::write(output, &linked, &code, &mut sass);
        sass
    };
    // Debug information only looks at its own sections.
    let debug = || {
        let mut sass = empty();
        frame::write(output, &linked, &code, &mut sass);
        let lines = line::write(output, &linked, &code, &mut sass);
        info::write(output, &linked, &code, &lines, &mut sass);
        sass
    };
    let threads = output.link.threads;
    let (frame, (mut sass, debug)) = threads.join(|| ImageFrame::new(output, &linked, &code), || threads.join(plain, debug));
    sass.take_over(debug);
    let emitted = file::image::emit(output, &linked, &code, (frame, sass), sink, out);
    if output.link.options.leave_memory {
        std::mem::forget((linked, code));
    }
    emitted
}
