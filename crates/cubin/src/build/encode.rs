//! Contents with final numbers, and the file.

use super::ids::shown;
use super::order::{Names, Numbering};
use super::section::{Body, Reloc, SectionEntry, number};
use super::symbol::State;
use super::{BuildError, Form, FunctionId, ObjectBuilder, Place, PrototypeId, Reference};
use crate::callgraph::CallGraph;
use crate::consts::*;
use crate::layout;
use crate::notes::ToolInfo;
use crate::raw::{Pair, Rel, Rela};
use crate::read::SymbolSection;
use crate::write::strings::{NewSymbol, encode_symbols};
use crate::write::{Content, Image, ImageHeader, ImageSection, WriterKind};
use std::borrow::Cow;
use zerocopy::IntoBytes;

/// Symbol numbers in `sh_info` of code have 24 bits where the register count is in the rest.
const MAX_TEXT_SYMBOL: u32 = 0xff_ffff;

impl ObjectBuilder {
    /// The object's bytes.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// let bytes = ObjectBuilder::new(Target::sm(86), Form::Cuda13)?.finish()?;
    /// assert_eq!(cubin::names::file_flags(cubin::Cubin::parse(&bytes).unwrap().header()).sm, 86);
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn finish(self) -> Result<Vec<u8>, BuildError> {
        Ok(self.finish_numbered()?.0)
    }

    /// The object's bytes, and the numbers of its sections and symbols.
    ///
    /// ```
    /// # use cubin::build::{Form, ObjectBuilder, Target};
    /// let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
    /// let names = object.section_by_name(b".shstrtab").unwrap();
    /// let (_, numbers) = object.finish_numbered()?;
    /// assert_eq!(numbers.section(names), Some(1));
    /// # Ok::<(), cubin::build::BuildError>(())
    /// ```
    pub fn finish_numbered(mut self) -> Result<(Vec<u8>, Numbering), BuildError> {
        self.create_graph_sections()?;
        self.default_tool()?;
        let numbering = self.number()?;
        let image = self.image(&numbering)?;
        Ok((image.emit()?, numbering))
    }

    /// The linker expects at least one tool.
    fn default_tool(&mut self) -> Result<(), BuildError> {
        if self.form != Form::Cuda13 || !self.tool_notes.is_empty() {
            return Ok(());
        }
        let arguments = format!("-arch {} ", self.target.name());
        self.add_tool(&ToolInfo {
            version: 2,
            object: b"",
            tool: b"cubin",
            tool_version: env!("CARGO_PKG_VERSION").as_bytes(),
            build: b"",
            arguments: arguments.as_bytes(),
        })
    }

    fn image(&self, n: &Numbering) -> Result<Image<'static>, BuildError> {
        let names = self.names()?;
        let (table, extended) = self.symbol_tables(n, &names)?;
        let mut sections = Vec::with_capacity(n.sections.len());
        for &id in &n.sections {
            let s = self.entry(id)?;
            let content = match &s.body {
                Body::NoBits(_) => Content::NoBits,
                Body::Symbols => Content::Bytes(Cow::Owned(table.clone())),
                Body::Indices => Content::Bytes(Cow::Owned(extended.clone())),
                _ => Content::Bytes(Cow::Owned(self.contents(n, &names, s)?)),
            };
            let size = match (&content, &s.body) {
                (Content::Bytes(bytes), _) => bytes.len() as u64,
                (_, Body::NoBits(size)) => *size,
                _ => 0,
            };
            sections.push(ImageSection {
                name: names.sections.get(id.0 as usize).copied().unwrap_or_default(),
                sh_type: s.spec.sh_type,
                flags: s.spec.flags & if self.is_early() { !SHF_INFO_LINK } else { u64::MAX },
                link: self.header_field(n, s, s.spec.link)?,
                info: self.info_field(n, s)?,
                align: s.spec.align,
                entsize: s.spec.entsize,
                size,
                reserve: self.reserve(n, &s.body),
                content,
            });
        }
        let note = self.tables.cuda_note.and_then(|s| n.section(s)).unwrap_or_default();
        Ok(Image {
            header: ImageHeader {
                ident: self.ident(),
                e_type: ET_REL,
                e_version: if self.form == Form::Cuda12 { self.toolkit } else { 1 },
                e_flags: self.file_flags(note),
                section_names: self.section_number(n, self.tables.names, b"ELF header")?,
            },
            writer: self.writer,
            sections,
        })
    }

    /// Bytes that the finalizer keeps free after the section names.
    fn reserve(&self, n: &Numbering, body: &Body) -> u64 {
        if self.writer != WriterKind::Finalizer || *body != Body::Names {
            return 0;
        }
        let with_code = layout::reserves_code_names(&self.ident(), self.toolkit);
        let live = n
            .sections
            .iter()
            .filter_map(|s| self.sections.get(s.0 as usize))
            .filter(|_| with_code);
        layout::names_reserve(live.map(|s| (s.spec.name.as_slice(), s.spec.flags)))
    }

    fn info_field(&self, n: &Numbering, s: &SectionEntry) -> Result<u32, BuildError> {
        match s.body {
            // The finalizer of CUDA 13 counts the symbols that it adds after the global ones.
            Body::Symbols if n.has_late && self.form == Form::Cuda13 => number(n.symbols.len() + 1, "number of symbols"),
            Body::Symbols => Ok(n.first_global),
            _ => self.header_field(n, s, s.spec.info),
        }
    }

    /// Value of `sh_link` or `sh_info`.
    fn header_field(&self, n: &Numbering, s: &SectionEntry, reference: Reference) -> Result<u32, BuildError> {
        let from = &s.spec.name;
        match reference {
            Reference::Number(number) => Ok(number),
            Reference::Section(section) => self.section_number(n, section, from),
            Reference::Symbol(symbol) => self.symbol_number(n, symbol, from),
            Reference::Function(function) => {
                let f = self.function(function)?;
                let symbol = self.symbol_number(n, f.symbol, from)?;
                if self.writer == WriterKind::Finalizer {
                    return Ok(symbol);
                }
                if symbol > MAX_TEXT_SYMBOL {
                    return Err(BuildError::TooLarge {
                        what: "symbol number of a function",
                        value: symbol.into(),
                        max: MAX_TEXT_SYMBOL.into(),
                    });
                }
                Ok(symbol | u32::from(f.registers) << 24)
            }
        }
    }

    /// The symbol table, and its table of extended section indices.
    fn symbol_tables(&self, n: &Numbering, names: &Names) -> Result<(Vec<u8>, Vec<u8>), BuildError> {
        let null = NewSymbol {
            name: 0,
            info: 0,
            other: 0,
            section: SymbolSection::Undefined,
            value: 0,
            size: 0,
            unused_index: 0,
        };
        let mut list = Vec::with_capacity(n.symbols.len() + 1);
        list.push(null);
        for &id in &n.symbols {
            let entry = self.symbol_entry(id)?;
            let section = match entry.spec.place {
                _ if entry.state == State::Erased => SymbolSection::Undefined,
                Place::Undefined => SymbolSection::Undefined,
                Place::Common => SymbolSection::Common,
                Place::Reserved(index) => SymbolSection::Reserved(index),
                Place::Section(s) => SymbolSection::Index(self.section_number(n, s, self.symbol_name(entry))?),
            };
            list.push(NewSymbol {
                name: names.symbols.get(id.0 as usize).copied().unwrap_or_default(),
                info: entry.spec.info(),
                other: entry.spec.other,
                section,
                value: entry.spec.value,
                size: entry.spec.size,
                unused_index: 0,
            });
        }
        let (table, extended) = encode_symbols(&list);
        Ok((table, extended.unwrap_or_else(|| vec![0; list.len() * 4])))
    }

    /// Bytes of a section.
    fn contents(&self, n: &Numbering, names: &Names, s: &SectionEntry) -> Result<Vec<u8>, BuildError> {
        let from = s.spec.name.as_slice();
        let symbol = |id| self.symbol_number(n, id, from);
        let mut out = Vec::new();
        match &s.body {
            Body::NoBits(_) | Body::Symbols | Body::Indices => {}
            Body::Bytes(bytes) => out.clone_from(bytes),
            Body::Names => out.clone_from(&names.section_table),
            Body::Strings => out.clone_from(&names.string_table),
            Body::ToolNotes => out.clone_from(&self.tool_notes),
            Body::CudaNote => self.cuda_note.write(&mut out)?,
            Body::Compat => out.clone_from(&self.compat),
            Body::ModuleInfo => {
                let resources = self.resource_attributes();
                let all = resources.iter().chain(&self.attributes);
                all.into_iter().try_for_each(|a| a.write(symbol, &mut out))?;
            }
            Body::FunctionInfo(f) => self.function(*f)?.attributes.iter().try_for_each(|a| a.write(symbol, &mut out))?,
            Body::CallGraph => self.write_graph(n, names, from, &mut out)?,
            Body::Prototypes => out.extend_from_slice(self.prototype_pairs(n, names, from, &self.graph.prototypes)?.as_bytes()),
            Body::Rel(list) => {
                for r in list.iter().rev() {
                    out.extend_from_slice(rel(r, symbol(r.symbol)?).as_bytes());
                }
            }
            Body::Rela(list) => {
                for r in list.iter().rev() {
                    out.extend_from_slice(rela(r, symbol(r.symbol)?).as_bytes());
                }
            }
        }
        Ok(out)
    }

    fn write_graph(&self, n: &Numbering, names: &Names, from: &[u8], out: &mut Vec<u8>) -> Result<(), BuildError> {
        let calls = self.function_pairs(n, from, &self.graph.calls)?;
        let taken = self.prototype_pairs(n, names, from, &self.graph.address_taken)?;
        let indirect = self.prototype_pairs(n, names, from, &self.graph.indirect_calls)?;
        let takers = self.function_pairs(n, from, &self.graph.takers)?;
        CallGraph::new(&calls, &taken, &indirect, &takers).write(out);
        Ok(())
    }

    fn function_number(&self, n: &Numbering, from: &[u8], function: FunctionId) -> Result<u32, BuildError> {
        self.symbol_number(n, self.function(function)?.symbol, from)
    }

    fn function_pairs(&self, n: &Numbering, from: &[u8], list: &[(FunctionId, FunctionId)]) -> Result<Vec<Pair>, BuildError> {
        let pair = |&(a, b): &(FunctionId, FunctionId)| {
            Ok(Pair {
                first: self.function_number(n, from, a)?.into(),
                second: self.function_number(n, from, b)?.into(),
            })
        };
        list.iter().map(pair).collect()
    }

    fn prototype_pairs(
        &self,
        n: &Numbering,
        names: &Names,
        from: &[u8],
        list: &[(FunctionId, PrototypeId)],
    ) -> Result<Vec<Pair>, BuildError> {
        let pair = |&(f, p): &(FunctionId, PrototypeId)| {
            let offset = names.prototypes.get(p.0 as usize).copied();
            let missing = || BuildError::Deleted {
                from: shown(from),
                name: format!("prototype {}", p.0),
            };
            Ok(Pair {
                first: self.function_number(n, from, f)?.into(),
                second: offset.ok_or_else(missing)?.into(),
            })
        };
        list.iter().map(pair).collect()
    }
}

fn rel(r: &Reloc, symbol: u32) -> Rel {
    Rel {
        r_offset: r.offset.into(),
        r_type: r.code.into(),
        r_sym: symbol.into(),
    }
}

fn rela(r: &Reloc, symbol: u32) -> Rela {
    Rela {
        r_offset: r.offset.into(),
        r_type: r.code.into(),
        r_sym: symbol.into(),
        r_addend: r.addend.into(),
    }
}
