//! The image: sizes first, then every byte once.
//!
//! 1. [`cubin::write::Plan`] assigns the offsets of all sections, from their sizes and alignments, and owns the file header, section 0 and the program
//!    headers; [`headers`] supplies the fields that the link decides.
//! 2. Everything in file order ([`chunks`], [`chunk_list`]): copied from the inputs and patched ([`fill`]), or made when it is reached (section headers,
//!    [`symbols`], relocations: [`reloc_sections`]).
//! 3. [`windows`] writes the chunks to memory or to a [`Sink`]. The [`finalizer`](crate::finalize) has chunks of its own and uses the same windows.

mod chunk_list;
pub(crate) mod chunks;
mod fill;
pub(crate) mod headers;
mod reloc_sections;
mod sink;
mod symbols;
pub(crate) mod windows;

pub use sink::Sink;
pub use windows::Emitted;

use crate::arrange::{OutputPlan, Shape, has_late_indices};
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::SectionId;
use crate::records::Class;
use crate::relocate::RelocResolver;
use crate::sections::SyntheticSections;
use chunk_list::ChunkList;
use chunks::{Chunk, ChunkSource, Contents};
use cubin::raw::{Shdr, Sym};
use cubin::write::{Extent, Plan, Storage, WriteError, WriterKind};
use fill::Filler;
use zerocopy::IntoBytes;

/// Makes the image, and hands it to `sink` if there is one that takes it.
pub(crate) fn emit(
    output: &OutputPlan<'_, '_>,
    computed: &SyntheticSections,
    sink: Option<&dyn Sink>,
    out: &mut Collector<'_>,
) -> Result<Emitted, Stop> {
    let file = plan(output, computed).map_err(|error| refused(output, &error, out))?;
    if file.size() > MAX_IMAGE {
        return Err(too_large(output, file.size(), out));
    }
    let resolver = RelocResolver::new(output.link, output.layout);
    let contents = Contents {
        file: &file,
        computed,
        resolver: &resolver,
    };
    let (header, textures) = (file.file_header(), reloc_sections::textures(output));
    let mut frame = frame(output, &file);
    frame.push(Chunk {
        offset: 0,
        source: ChunkSource::Bytes(header.as_bytes()),
    });
    reloc_sections::texture_places(output, &file, &textures, &mut frame);
    let threads = output.link.threads;
    let early = early(output, &file);
    let (receiver, chunks) = threads.join(
        || windows::begin(sink, file.size()).write_early(&early),
        || ChunkList::new(output, &contents, frame),
    );
    let filler = Filler {
        output,
        contents: &contents,
        chunks,
        early: &early,
    };
    Ok(windows::write(&filler, file.size(), threads, receiver))
}

/// The string tables: their bytes are there before the list of chunks is. Many threads do not wait for the list to write them.
fn early<'a>(output: &OutputPlan<'a, '_>, file: &Plan) -> Vec<(u64, &'a [u8])> {
    let (standard, arranged) = (&output.layout.records.standard, output.arranged);
    let tables = [
        (standard.section_names, arranged.section_names.as_slice()),
        (standard.strings, arranged.strings.as_slice()),
    ];
    let is_large = |bytes: &[u8]| bytes.len() as u64 >= windows::DIRECT;
    let large = tables
        .into_iter()
        .filter(|(_, bytes)| output.link.threads.are_many() && is_large(bytes));
    // A table without a place of its own size is not written.
    let placed = large.filter_map(|(id, bytes)| Some((chunks::place_of(output, file, id)?, bytes)));
    let whole = placed.filter(|(place, bytes)| place.size == bytes.len() as u64);
    whole.map(|(place, bytes)| (place.offset, bytes)).collect()
}

/// Offsets of all sections.
fn plan(output: &OutputPlan<'_, '_>, computed: &SyntheticSections) -> Result<Plan, WriteError> {
    let shapes = &output.arranged.shapes;
    let size = |n: usize, &id: &SectionId| shapes.get(n).map_or(0, |shape| size_of_section(output, id, shape, computed));
    // In random order, unlike the rest.
    let sizes: Vec<u64> = output.link.threads.map_numbered(&output.arranged.sections, size);
    let extents = sizes.iter().zip(shapes).map(|(&size, shape)| Extent {
        size,
        align: shape.align,
        reserve: match shape.class {
            Class::Symbols if output.arranged.extended && has_late_indices(output.link) => indices_size(output),
            _ => 0,
        },
        flags: shape.flags.into(),
        storage: if shape.has_bytes { Storage::Own } else { Storage::NoBits },
    });
    Plan::new(headers::image_header(output), WriterKind::Linker, extents)
}

/// Program headers, symbols and section headers.
fn frame<'a>(output: &OutputPlan<'_, '_>, file: &'a Plan) -> Vec<Chunk<'a>> {
    let standard = &output.layout.records.standard;
    let mut frame = vec![Chunk {
        offset: file.program_header_offset(),
        source: ChunkSource::Bytes(file.segments().as_bytes()),
    }];
    let symbols = output.arranged.symbols.len() + 1;
    let at = chunks::start_of(output, file, standard.symbols);
    frame.extend(chunks::table(at, symbols, size_of::<Sym>(), ChunkSource::Symbols));
    if output.arranged.extended {
        let at = chunks::start_of(output, file, standard.extended);
        frame.extend(chunks::table(at, symbols, size_of::<u32>(), ChunkSource::Extended));
    }
    let (at, count) = (file.section_header_offset(), file.section_count());
    frame.extend(chunks::table(at, count, size_of::<Shdr>(), ChunkSource::Headers));
    frame
}

/// Larger images are refused: no device could load them, and damaged sizes would exhaust memory.
const MAX_IMAGE: u64 = 64 << 30;

fn too_large(output: &OutputPlan<'_, '_>, size: u64, out: &mut Collector<'_>) -> Stop {
    damaged(output, format!("the linked file would have {size:#x} bytes"), out)
}

/// Reports that the file cannot be written.
pub(crate) fn refused(output: &OutputPlan<'_, '_>, error: &WriteError, out: &mut Collector<'_>) -> Stop {
    damaged(output, error.to_string(), out)
}

fn damaged(output: &OutputPlan<'_, '_>, reason: String, out: &mut Collector<'_>) -> Stop {
    let first = output.link.inputs.objects.iter().next();
    let file = first.map_or(String::new(), |object| object.name.to_string());
    out.fatal(Code::Damaged { file, reason })
}

/// Size of `.symtab_shndx`.
fn indices_size(output: &OutputPlan<'_, '_>) -> u64 {
    (output.arranged.symbols.len() as u64 + 1) * size_of::<u32>() as u64
}

fn size_of_section(output: &OutputPlan<'_, '_>, id: SectionId, shape: &Shape, computed: &SyntheticSections) -> u64 {
    let entries = || u64::from(output.plan.counts[id]);
    let symbols = output.arranged.symbols.len() as u64 + 1;
    match shape.class {
        Class::SectionNames => output.arranged.section_names.len() as u64,
        Class::Strings => output.arranged.strings.len() as u64,
        Class::Symbols => symbols * size_of::<Sym>() as u64,
        Class::ExtendedIndices => indices_size(output),
        Class::Rel(_) => entries() * 16,
        Class::Rela(_) | Class::ResolvedRela(_) => entries() * 24,
        _ => computed.get(id).map_or(shape.size, |bytes| bytes.len() as u64),
    }
}

pub(crate) fn copy(to: &mut [u8], offset: u64, from: &[u8]) {
    if let Some(place) = to.get_mut(offset as usize..).and_then(|d| d.get_mut(..from.len())) {
        place.copy_from_slice(from);
    }
}
