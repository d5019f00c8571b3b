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
mod dwarf;
mod exits;
mod frame;
mod image;
mod jump;
mod line;
mod linked;
mod registers;
mod relocs;
mod sources;
mod stubs;
mod tables;
pub(crate) mod view;

pub(crate) use linked::LiteralReloc;

use crate::diagnostics::{Collector, Stop};
use crate::emit::{Computed, Parts};
use crate::ids::{SectionId, Table};
use crate::merge::model::Class;
use crate::metadata::propagate::Final;
use cubin::raw::Rela;
use zerocopy::IntoBytes;

/// Contents of the SASS view that differ from the Mercury view's.
pub(crate) struct Sass {
    /// Bytes by section.
    pub(crate) bytes: Table<SectionId, Option<Vec<u8>>>,
}

impl Sass {
    fn put(&mut self, section: SectionId, bytes: Vec<u8>) {
        self.bytes[section] = Some(bytes);
    }

    /// Writes the relocation section of a target, if it has one that is emitted.
    fn put_relocs(&mut self, parts: &Parts<'_, '_>, target: SectionId, entries: &[Rela]) {
        if let Some(id) = parts.layout.m.sections[target].companions[1] {
            self.bytes[id] = Some(entries.as_bytes().to_vec());
        }
    }
}

/// Makes the image.
pub(crate) fn emit(parts: &Parts<'_, '_>, computed: &Computed, attributes: &Final<'_>, out: &mut Collector<'_>) -> Result<Vec<u8>, Stop> {
    let linked = linked::link(parts, computed);
    let code = code::functions(parts, &linked, out)?;
    let mut sass = Sass {
        bytes: Table::filled(parts.layout.m.sections.len(), None),
    };
    relocs::write(parts, &linked, &code, &mut sass);
    attributes::write(parts, attributes, &linked, &code, &mut sass);
    jump::write(parts, &linked, &code, &mut sass);
    frame::write(parts, &linked, &code, &mut sass);
    let lines = line::write(parts, &linked, &code, &mut sass);
    debug::write(parts, &linked, &code, &lines, &mut sass);
    image::emit(parts, &linked, &code, sass, out)
}

/// The emitted section of a class that holds only one.
fn find(parts: &Parts<'_, '_>, name: &[u8]) -> Option<SectionId> {
    let sections = &parts.layout.m.sections;
    parts
        .arranged
        .sections
        .iter()
        .copied()
        .find(|&id| matches!(sections[id].class, Class::Debug(_)) && sections[id].name.is(name))
}
