//! Synthetic sections: those whose bytes the linker makes.
//!
//! * [`encode`]: `.nv.info` and `.nv.info.F`.
//! * [`callgraph`]: `.nv.callgraph` and `.nv.prototype`.
//! * [`notes`], [`compat`]: which tools made the file, and where it may run.
//! * `.nv.uft.entry` and `.nv.udt.entry`, here.
//!
//! They need the symbol numbers of `arrange`. Their contents come from `metadata` and from the call graph.

pub mod callgraph;
pub mod compat;
pub mod encode;
pub mod notes;

use crate::arrange::OutputPlan;
use crate::ids::{FunctionId, SectionId, Table};
use crate::metadata::attributes::Attribute;
use crate::metadata::kernel::KernelAttributes;
use crate::records::{Class, Place, UnifiedEntry};
use std::ops::Range;

/// Bytes of the sections that the linker computes, many sections to a buffer.
pub(crate) struct SyntheticSections {
    buffers: Vec<Vec<u8>>,
    /// Buffer of each part, and where it is there; the first represents sections that are not computed.
    spans: Vec<(u32, Range<usize>)>,
    /// Per section: its part.
    parts: Table<SectionId, u32>,
}

impl SyntheticSections {
    fn new(sections: usize) -> Self {
        SyntheticSections {
            buffers: Vec::new(),
            spans: vec![(u32::MAX, 0..0)],
            parts: Table::filled(sections, 0),
        }
    }
    /// Bytes of a section, if it is a computed one.
    pub(crate) fn get(&self, id: SectionId) -> Option<&[u8]> {
        let (buffer, range) = self.spans.get(self.parts[id] as usize)?;
        self.buffers.get(*buffer as usize)?.get(range.clone())
    }
    /// Adds a section.
    fn add(&mut self, id: SectionId, bytes: Vec<u8>) {
        let end = bytes.len();
        self.add_all(bytes, [(id, end)]);
    }
    /// Adds consecutive sections; each comes with its end.
    fn add_all(&mut self, bytes: Vec<u8>, ends: impl IntoIterator<Item = (SectionId, usize)>) {
        let mut start = 0;
        for (id, end) in ends {
            self.parts[id] = self.spans.len() as u32;
            self.spans.push((self.buffers.len() as u32, start..end));
            start = end;
        }
        self.buffers.push(bytes);
    }
}

/// Computes sections.
pub(crate) fn computed(output: &OutputPlan<'_, '_>, attributes: &KernelAttributes<'_>) -> SyntheticSections {
    let OutputPlan {
        link, layout, arranged, ..
    } = *output;
    let fixed = &layout.records.standard;
    let mut all = SyntheticSections::new(layout.records.sections.len());
    let singles: [(Option<SectionId>, &Make<'_>); 6] = [
        (Some(fixed.info), &|| {
            let part = |part: &[Attribute<'_>]| {
                let mut bytes = Vec::with_capacity(part.len() * RECORD);
                output.encoder().all(part, &mut bytes);
                bytes
            };
            link.threads.join_parts(&attributes.module, INFO_CHUNK, part)
        }),
        (Some(fixed.callgraph), &|| callgraph::callgraph(link, layout, arranged)),
        (Some(fixed.prototype), &|| callgraph::prototypes(link, layout, arranged)),
        (fixed.tool_note, &|| notes::tool_note(link)),
        (fixed.cuda_note, &|| notes::cuda_note(link)),
        (fixed.compat, &|| compat::compat(link, layout)),
    ];
    let (infos, made) = link.threads.join(
        || function_infos(output, attributes),
        || link.threads.map(&singles, |(id, write)| id.map(|id| (id, write()))),
    );
    for (bytes, ends) in infos {
        all.add_all(bytes, ends);
    }
    for (id, bytes) in made.into_iter().flatten() {
        all.add(id, bytes);
    }
    if !layout.records.unified.active && !layout.records.unified.has_functions {
        return all;
    }
    for &id in &arranged.sections {
        match layout.records.sections[id].class {
            Class::UftInfo => {
                let mut bytes = Vec::new();
                output.encoder().all(&attributes.stubs, &mut bytes);
                all.add(id, bytes);
            }
            Class::UftEntry => all.add(id, unified_entries(output, &layout.records.unified.functions)),
            Class::UdtEntry => all.add(id, unified_entries(output, &layout.records.unified.data)),
            _ => {}
        }
    }
    all
}

/// Makes the bytes of a section.
type Make<'a> = dyn Fn() -> Vec<u8> + Sync + 'a;

/// Sections one after the other, with the end of each.
type Encoded = (Vec<u8>, Vec<(SectionId, usize)>);

/// Attributes of functions, in chunks when it pays.
fn function_infos(output: &OutputPlan<'_, '_>, attributes: &KernelAttributes<'_>) -> Vec<Encoded> {
    let threads = output.link.threads;
    let infos: Vec<(SectionId, FunctionId)> =
        threads.filter_map(&output.arranged.sections, |n, &id| match output.arranged.shapes.get(n)?.class {
            Class::FunctionInfo(f) => Some((id, f)),
            _ => None,
        });
    let chunks: Vec<&[(SectionId, FunctionId)]> = infos.chunks(INFO_CHUNK).collect();
    threads.map(&chunks, |chunk| {
        let mut bytes = Vec::with_capacity(chunk.len() * 4 * RECORD);
        let mut ends = Vec::with_capacity(chunk.len());
        for &(id, f) in *chunk {
            output.encoder().all(attributes.of(f), &mut bytes);
            ends.push((id, bytes.len()));
        }
        (bytes, ends)
    })
}

/// Bytes that most records take at most.
const RECORD: usize = 12;

/// Functions whose attributes are encoded together; as many attributes of the module are.
const INFO_CHUNK: usize = 1024;

fn unified_entries(output: &OutputPlan<'_, '_>, entries: &[UnifiedEntry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 * entries.len());
    for e in entries {
        let records = &output.layout.records;
        let symbol = match output.link.resolved.function(e.symbol) {
            Some(f) => records.symbol_of[f],
            None => {
                if let Place::Symbol(sym) = records.placement.symbols[e.symbol] {
                    Some(sym)
                } else {
                    None
                }
            }
        };
        out.extend_from_slice(&symbol.map_or(0, |sym| output.arranged.symbol_index(sym)).to_le_bytes());
        out.extend_from_slice(&e.flags.to_le_bytes());
        for word in [e.offset, e.id.0, e.id.1] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    out
}
