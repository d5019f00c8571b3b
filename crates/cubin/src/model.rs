//! A whole file as typed values, and back.
//!
//! 1. [`Model::read`] takes every section apart: strings, symbols, relocations, attributes, notes, call graph and the other tables become values;
//!    names become positions in a list of strings. Offsets in the file are not kept.
//! 2. [`Model::image`] encodes every value again and describes the file to the emitter, which computes all offsets.
//! 3. [`roundtrip`] does both: for a file of the vendor's tools the result is the file, byte for byte.

mod body;

pub use body::{Body, ModelNote, Relocation};

use crate::codec::CodecError;
use crate::consts::*;
use crate::kind::{SectionKind, classify, without_mercury};
use crate::layout::{self, R_MERCURY_ABS64, R_MERCURY_PROG_REL32, R_MERCURY_PROG_REL64, TwinFacts};
use crate::read::{Cubin, ReadError, Section, SymbolSection, is_nobits_section};
use crate::write::{Content, Image, ImageHeader, ImageSection, WriteError, WriterKind};
use std::collections::HashMap;

/// Why a file is not taken apart or put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The container is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A section's contents are damaged.
    #[error("section {section} ({name}): {source}")]
    Section {
        /// Section index.
        section: u32,
        /// Section name.
        name: String,
        /// The error of the codec.
        source: CodecError,
    },
    /// A section's contents do not fit the rest of the file.
    #[error("section {section} ({name}): {reason}")]
    Contents {
        /// Section index.
        section: u32,
        /// Section name.
        name: String,
        /// Description of the defect.
        reason: &'static str,
    },
    /// The file would come back with another size.
    #[error("file has {have} bytes, its sections make up a file of {need}")]
    Size {
        /// Size of the file.
        have: usize,
        /// Size of the file that would be written.
        need: usize,
    },
    /// The emitter refused.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Position in the list of strings of a string table. [`Strings::push`] and [`Strings::find`] give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

/// A string table as a list.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Strings<'d> {
    list: Vec<&'d [u8]>,
    starts: Vec<u32>,
}

impl<'d> Strings<'d> {
    /// A table that holds the empty string.
    ///
    /// ```
    /// let mut strings = cubin::model::Strings::new();
    /// let name = strings.push(b"kernel").unwrap();
    /// assert_eq!((strings.get(name), strings.offset(name)), (Some(&b"kernel"[..]), Some(1)));
    /// ```
    pub fn new() -> Self {
        Strings {
            list: vec![&[]],
            starts: vec![0],
        }
    }
    /// Adds a string at the end, for a section or a symbol that is added to a model. `None` when it contains a NUL, or when the table is full.
    pub fn push(&mut self, string: &'d [u8]) -> Option<NameId> {
        if string.contains(&0) {
            return None;
        }
        let end = match (self.list.last(), self.starts.last()) {
            (Some(last), Some(&start)) => start.checked_add(u32::try_from(last.len()).ok()?)?.checked_add(1)?,
            _ => 0,
        };
        // The NUL of the new string has an offset too.
        end.checked_add(u32::try_from(string.len()).ok()?)?;
        let id = NameId(u32::try_from(self.list.len()).ok()?);
        self.list.push(string);
        self.starts.push(end);
        Some(id)
    }
    /// All strings with their positions, in order.
    pub fn iter(&self) -> impl Iterator<Item = (NameId, &'d [u8])> + '_ {
        (0u32..).map(NameId).zip(self.list.iter().copied())
    }
    /// Number of strings.
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// True when there is no string, not even the empty one.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Splits a table at its NULs. `None` when it does not end with one.
    pub fn read(data: &'d [u8]) -> Option<Self> {
        let mut strings = Strings::default();
        let mut at = 0u32;
        let mut parts = data.split(|&b| b == 0).peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                // Bytes after the last NUL.
                return part.is_empty().then_some(strings);
            }
            strings.list.push(part);
            strings.starts.push(at);
            at = at.checked_add(u32::try_from(part.len()).ok()?)?.checked_add(1)?;
        }
        None
    }
    /// The string that starts at this offset.
    pub fn find(&self, offset: u32) -> Option<NameId> {
        self.starts.binary_search(&offset).ok().map(|i| NameId(i as u32))
    }
    /// A string.
    pub fn get(&self, id: NameId) -> Option<&'d [u8]> {
        self.list.get(id.0 as usize).copied()
    }
    /// Offset of a string.
    pub fn offset(&self, id: NameId) -> Option<u32> {
        self.starts.get(id.0 as usize).copied()
    }
    /// The table's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        for string in &self.list {
            out.extend_from_slice(string);
            out.push(0);
        }
    }
}

/// A symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelSymbol {
    /// Name, in the table that the symbol table links to.
    pub name: NameId,
    /// Binding and type.
    pub info: u8,
    /// CUDA bits.
    pub other: u8,
    /// Section of the symbol.
    pub section: SymbolSection,
    /// Value.
    pub value: u64,
    /// Size.
    pub size: u64,
    /// Entry in the table of extended indices that readers ignore.
    pub unused_index: u32,
}

/// A section.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSection<'d> {
    /// Name, in the section name table.
    pub name: NameId,
    /// `sh_type`.
    pub sh_type: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`.
    pub align: u64,
    /// `sh_entsize`.
    pub entsize: u64,
    /// Contents.
    pub body: Body<'d>,
}

/// A file.
#[derive(Debug, Clone, PartialEq)]
pub struct Model<'d> {
    /// Header fields.
    pub header: ImageHeader,
    /// Writer that made the file.
    pub writer: WriterKind,
    /// Sections from number 1 on.
    pub sections: Vec<ModelSection<'d>>,
}

impl<'d> Model<'d> {
    /// Takes a file apart.
    pub fn read(cubin: &Cubin<'d>) -> Result<Self, ModelError> {
        // Whatever it says otherwise would not come back.
        if cubin.section_headers().first().is_some_and(|null| null.sh_type.get() != SHT_NULL) {
            return Err(ModelError::Read(ReadError::BadTable {
                section: 0,
                reason: "the first section is not the null section",
            }));
        }
        let sections = cubin.sections().skip(1).collect::<Result<Vec<_>, _>>()?;
        let header = cubin.header();
        let writer = layout::writer_of(cubin);
        let names_index = cubin.section_names_section();
        let names = Strings::read(cubin.section_names()).ok_or(ReadError::BadTable {
            section: names_index,
            reason: "string table without a NUL at its end",
        })?;
        let shared = if writer == WriterKind::Finalizer {
            shared_sections(cubin, &sections)?
        } else {
            HashMap::new()
        };
        let mut model = Model {
            header: ImageHeader {
                ident: header.ident,
                e_type: header.e_type.get(),
                e_version: header.e_version.get(),
                e_flags: header.e_flags.get(),
                section_names: names_index,
            },
            writer,
            sections: Vec::with_capacity(sections.len()),
        };
        for section in &sections {
            let name = names.find(section.header.sh_name.get());
            let name = name.ok_or_else(|| contents(section, "name is the end of another name"))?;
            let body = match shared.get(&section.index) {
                Some(&twin) => Body::SameAs(twin),
                None if is_nobits_section(section.header) => Body::NoBits(section.header.sh_size.get()),
                None => body::read(cubin, section)?,
            };
            let h = section.header;
            model.sections.push(ModelSection {
                name,
                sh_type: h.sh_type.get(),
                flags: h.sh_flags.get(),
                link: h.sh_link.get(),
                info: h.sh_info.get(),
                align: h.sh_addralign.get(),
                entsize: h.sh_entsize.get(),
                body,
            });
        }
        Ok(model)
    }

    /// Section `index`.
    pub fn section(&self, index: u32) -> Option<&ModelSection<'d>> {
        self.sections.get((index as usize).checked_sub(1)?)
    }

    /// The strings of section `index`.
    pub fn strings(&self, index: u32) -> Option<&Strings<'d>> {
        match &self.section(index)?.body {
            Body::Strings(strings) => Some(strings),
            _ => None,
        }
    }

    /// Name of a section.
    pub fn section_name(&self, section: &ModelSection<'d>) -> &'d [u8] {
        let names = self.strings(self.header.section_names);
        names.and_then(|n| n.get(section.name)).unwrap_or_default()
    }

    /// Encodes every section and describes the file to the emitter.
    pub fn image(&self) -> Result<Image<'d>, ModelError> {
        let names = self.strings(self.header.section_names);
        let mut sections: Vec<ImageSection<'d>> = Vec::with_capacity(self.sections.len());
        for (index, s) in (1u32..).zip(&self.sections) {
            let content = body::encode(self, index, s)?;
            let size = match (&content, &s.body) {
                (Content::Bytes(bytes), _) => bytes.len() as u64,
                (_, Body::NoBits(size)) => *size,
                (Content::SameAs(twin), _) => sections.get((*twin as usize).wrapping_sub(1)).map_or(0, |t| t.size),
                _ => 0,
            };
            sections.push(ImageSection {
                name: names.and_then(|n| n.offset(s.name)).unwrap_or_default(),
                sh_type: s.sh_type,
                flags: s.flags,
                link: s.link,
                info: s.info,
                align: s.align,
                entsize: s.entsize,
                size,
                reserve: 0,
                content,
            });
        }
        self.reserve(&mut sections);
        Ok(Image {
            header: self.header,
            writer: self.writer,
            sections,
        })
    }

    /// Keeps bytes free after the string tables as the finalizer does.
    fn reserve(&self, sections: &mut [ImageSection<'d>]) {
        if self.writer != WriterKind::Finalizer {
            return;
        }
        let names = self.sections.iter().map(|s| self.section_name(s));
        let mut put = |index: u32, bytes: u64| {
            if let Some(s) = (index as usize).checked_sub(1).and_then(|i| sections.get_mut(i)) {
                s.reserve = bytes;
            }
        };
        let flags = self.sections.iter().map(|s| s.flags);
        let with_code = layout::reserves_code_names(&self.header.ident, self.header.e_version);
        let named = names.clone().zip(flags).filter(|_| with_code);
        put(self.header.section_names, layout::names_reserve(named));
        let table = |sh_type| self.sections.iter().find(|s| s.sh_type == sh_type);
        let (Some(sass), Some(mercury)) = (table(SHT_SYMTAB), table(SHT_CUDA_MERC_SYMTAB)) else {
            return;
        };
        let (Body::Symbols(ours), Body::Symbols(theirs)) = (&sass.body, &mercury.body) else {
            return;
        };
        let strings = self.strings(sass.link);
        let renamed = ours
            .iter()
            .zip(theirs)
            .filter(|(a, b)| a.info & 15 == STT_SECTION && a.name != b.name);
        let new_names = renamed.filter_map(|(a, _)| strings?.get(a.name));
        put(sass.link, layout::strings_reserve(names, new_names));
    }
}

fn contents(section: &Section<'_>, reason: &'static str) -> ModelError {
    ModelError::Contents {
        section: section.index,
        name: String::from_utf8_lossy(section.name).into_owned(),
        reason,
    }
}

/// Mercury sections without bytes of their own, and their twins in the SASS view.
fn shared_sections(cubin: &Cubin<'_>, sections: &[Section<'_>]) -> Result<HashMap<u32, u32>, ModelError> {
    // Sections of one name are paired in order.
    let mut sass: HashMap<&[u8], std::vec::IntoIter<&Section<'_>>> = HashMap::new();
    let mut lists: HashMap<&[u8], Vec<&Section<'_>>> = HashMap::new();
    let mercury = |s: &Section<'_>| s.header.sh_flags.get() & SHF_CUDA_MERCURY != 0;
    for s in sections.iter().filter(|s| !mercury(s)) {
        lists.entry(s.name).or_default().push(s);
    }
    sass.extend(lists.into_iter().map(|(name, list)| (name, list.into_iter())));
    let types = relocation_types(cubin, sections)?;
    let mut shared = HashMap::new();
    for s in sections.iter().filter(|s| mercury(s)) {
        let kind = classify(s.name, s.header.sh_type.get());
        if matches!(kind, SectionKind::Rela | SectionKind::SymbolTable | SectionKind::Capsule) {
            continue;
        }
        let name = layout::sass_name(without_mercury(s.name));
        let Some(twin) = sass.get_mut(name.as_ref()).and_then(Iterator::next) else {
            continue;
        };
        let found = types.get(&s.index).copied().unwrap_or_default();
        let facts = TwinFacts {
            name: s.name,
            sh_type: s.header.sh_type.get(),
            size: s.header.sh_size.get(),
            twin_size: twin.header.sh_size.get(),
            same: s.data == twin.data,
            finalizer_relocations: found.finalizer,
            absolute_relocations: found.absolute,
            later_debug: s.header.sh_offset.get() == twin.header.sh_offset.get(),
        };
        if !layout::shares_twin(&facts) {
            continue;
        }
        if s.data != twin.data {
            return Err(contents(s, "contents differ from those of its twin"));
        }
        shared.insert(s.index, twin.index);
    }
    Ok(shared)
}

/// Which of two relocation types a section has.
#[derive(Debug, Default, Clone, Copy)]
struct FoundTypes {
    finalizer: bool,
    absolute: bool,
}

fn relocation_types(cubin: &Cubin<'_>, sections: &[Section<'_>]) -> Result<HashMap<u32, FoundTypes>, ModelError> {
    let mut found: HashMap<u32, FoundTypes> = HashMap::new();
    for s in sections.iter().filter(|s| s.header.sh_type.get() == SHT_CUDA_MERC_RELA) {
        let list = cubin.relocations(s)?;
        let entry = found.entry(s.header.sh_info.get()).or_default();
        for r in (0..list.len()).filter_map(|i| list.get(i)) {
            entry.finalizer |= matches!(r.r_type.get(), R_MERCURY_PROG_REL32 | R_MERCURY_PROG_REL64);
            entry.absolute |= r.r_type.get() == R_MERCURY_ABS64;
        }
    }
    Ok(found)
}

/// Takes a file apart and puts it together again. For files of the vendor's tools the result equals the input.
pub fn roundtrip(bytes: &[u8]) -> Result<Vec<u8>, ModelError> {
    let cubin = Cubin::parse(bytes)?;
    let image = Model::read(&cubin)?.image()?;
    // Before memory is taken: a damaged alignment can require any amount.
    let plan = image.plan()?;
    if plan.size() != bytes.len() as u64 {
        return Err(ModelError::Size {
            have: bytes.len(),
            need: plan.size() as usize,
        });
    }
    Ok(image.emit()?)
}
