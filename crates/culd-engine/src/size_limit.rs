//! Limits the output size to a fixed multiple of the input size.
//!
//! Sizes and alignments that an input claims for things without bytes (a common constant of a terabyte, a variable aligned
//! to a gigabyte) would become bytes of the output. No compiler makes such objects, so a limit far above every realistic link rejects only
//! damaged ones.
//!
//! 1. Add up the sections, each with the padding before it; those without bytes add their padding only.
//! 2. More than [`IMAGE`] allows is refused before memory is taken; the section that adds most is named.

use crate::align::next_multiple;
use crate::arrange::Arranged;
use crate::diagnostics::Code;
use crate::inputs::Inputs;
use crate::layout::Layout;
use crate::object::{MAX_ALIGN, text};
use cubin::raw::Ehdr;

/// Bytes of the linked file per byte of input, and bytes on top of that.
pub const IMAGE: (u64, u64) = (64, 16 << 20);

/// Largest file that may come of some inputs.
pub fn limit(inputs: &Inputs<'_>) -> u64 {
    inputs.bytes.saturating_mul(IMAGE.0).saturating_add(IMAGE.1)
}

/// Why the result of a link would be out of proportion.
pub fn problem(inputs: &Inputs<'_>, layout: &Layout<'_>, arranged: &Arranged) -> Option<Code> {
    let limit = limit(inputs);
    let mut size = size_of::<Ehdr>() as u64;
    let mut largest = (0, None);
    for (&id, shape) in arranged.sections.iter().zip(&arranged.shapes) {
        if shape.align > MAX_ALIGN {
            // A shared variable may have any value here; a number that is not a power of two is not an alignment.
            let name = text(&layout.records.sections[id].name.to_vec());
            let reason = format!("section {name}: alignment {:#x} is above {MAX_ALIGN:#x}", shape.align);
            let file = inputs.objects.iter().next().map_or(String::new(), |o| o.name.to_string());
            return Some(Code::Damaged { file, reason });
        }
        let start = next_multiple(size, shape.align).max(size);
        let end = start.saturating_add(if shape.has_bytes { shape.size } else { 0 });
        largest = largest.max((end - size, Some(id)));
        size = end;
    }
    if size <= limit {
        return None;
    }
    let section = largest.1.map(|id| text(&layout.records.sections[id].name.to_vec()));
    Some(Code::OutputTooLarge {
        size,
        limit,
        section: section.unwrap_or_default(),
    })
}
