//! Contents of the SASS view, collected while it is rebuilt.

use crate::arrange::OutputPlan;
use crate::ids::{SectionId, Table};
use crate::records::Class;
use cubin::raw::Rela;
use zerocopy::IntoBytes;

/// Contents of the SASS view that differ from the Mercury view's.
pub(crate) struct Sass {
    /// Bytes by section.
    pub(crate) bytes: Table<SectionId, Option<Vec<u8>>>,
}

impl Sass {
    pub(crate) fn put(&mut self, section: SectionId, bytes: Vec<u8>) {
        self.bytes[section] = Some(bytes);
    }

    /// Takes the contents of `other`.
    pub(crate) fn take_over(&mut self, other: Sass) {
        for (own, bytes) in self
            .bytes
            .iter_mut()
            .zip(other.bytes.into_items())
            .filter(|(_, bytes)| bytes.is_some())
        {
            *own = bytes;
        }
    }

    /// Writes the relocation section of a target, if it has one that is emitted.
    pub(crate) fn put_relocs(&mut self, output: &OutputPlan<'_, '_>, target: SectionId, entries: &[Rela]) {
        if let Some(id) = output.layout.records.sections[target].companions[1] {
            self.put(id, entries.as_bytes().to_vec());
        }
    }
}

/// The emitted section of a class that holds only one.
pub(crate) fn find(output: &OutputPlan<'_, '_>, name: &[u8]) -> Option<SectionId> {
    let sections = &output.layout.records.sections;
    output
        .arranged
        .sections
        .iter()
        .copied()
        .find(|&id| matches!(sections[id].class, Class::Debug(_)) && sections[id].name.is(name))
}
