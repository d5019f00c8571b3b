//! Decoded contents of the other metadata sections as rows: notes, call graph, prototypes, relocation actions, unified tables, capsules.

use super::attributes::SymbolRef;
use super::model::Model;
use super::rows::reloc_name;
use crate::line::hex;
use crate::names;
use crate::view::{Problem, Sect, View};
use cubin::callgraph::CallGraph;
use cubin::capmerc::{Capsule, Instruction};
use cubin::codec::CodecError;
use cubin::consts::*;
use cubin::notes::{CudaInfo, TYPE_CUINFO, TYPE_TKINFO, ToolInfo, notes};
use cubin::raw::Pair;
use cubin::tables::{Metadata, RelocationActions, prototypes};
use cubin::unified;
use serde::Serialize;
use std::borrow::Cow;

/// A note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteRow<'d> {
    /// Section that contains it.
    pub section_name: Cow<'d, str>,
    /// Owner.
    pub owner: Cow<'d, str>,
    /// Type.
    pub type_value: u32,
    /// Decoded contents.
    #[serde(flatten)]
    pub content: NoteContent<'d>,
}

/// Decoded contents of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NoteContent<'d> {
    /// A tool that made the file.
    Tool {
        /// Format version.
        version: u32,
        /// Name of the object.
        object: Cow<'d, str>,
        /// Name of the tool.
        tool: Cow<'d, str>,
        /// Version of the tool.
        tool_version: Cow<'d, str>,
        /// Build of the tool.
        build: Cow<'d, str>,
        /// Arguments of the tool.
        arguments: Cow<'d, str>,
    },
    /// Device and toolkit.
    Cuda {
        /// Format version.
        version: u16,
        /// Virtual architecture.
        virtual_sm: u16,
        /// Toolkit version times ten.
        toolkit: u32,
    },
    /// Another note, as hexadecimal digits.
    Other {
        /// The digits.
        hex: String,
    },
}

/// Two functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EdgeRow<'d> {
    /// The first.
    pub from: SymbolRef<'d>,
    /// The second.
    pub to: SymbolRef<'d>,
}

/// A function and a prototype.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrototypeRow<'d> {
    /// The function.
    pub function: SymbolRef<'d>,
    /// The prototype.
    pub prototype: Cow<'d, str>,
    /// Its offset in the string table.
    pub string_offset: u32,
}

/// The call graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CallGraphRow<'d> {
    /// Callers and callees.
    pub calls: Vec<EdgeRow<'d>>,
    /// Functions whose address is taken.
    pub address_taken: Vec<PrototypeRow<'d>>,
    /// Indirect calls.
    pub indirect_calls: Vec<PrototypeRow<'d>>,
    /// Functions and the functions whose address they take.
    pub address_takers: Vec<EdgeRow<'d>>,
}

/// How a relocation type stores its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionRow {
    /// Relocation type.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// What is stored, 0 for the value.
    pub symbol_kind: u8,
    /// Shift of the value.
    pub shift: u8,
    /// Source bit, width and destination bit of each field.
    pub fields: Vec<[u8; 3]>,
}

/// An entry of a unified table, or a record of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnifiedRow<'d> {
    /// Section that contains it.
    pub section_name: Cow<'d, str>,
    /// `entry`, `function` (of the index) or `data` (of the index).
    pub kind: &'static str,
    /// Symbol; absent in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<SymbolRef<'d>>,
    /// Flags; absent in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flags: Option<u32>,
    /// Offset in the table.
    pub offset: u64,
    /// Identity, as hexadecimal digits.
    pub id: String,
}

/// An entry of `.nv.metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MetadataRow<'d> {
    /// Module id.
    pub module_id: Cow<'d, str>,
    /// Section.
    pub section: u32,
    /// Alignment.
    pub alignment: u32,
}

/// Summary of a Mercury capsule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapsuleRow<'d> {
    /// Section that contains it.
    pub section_name: Cow<'d, str>,
    /// Index of the code section it belongs to.
    pub text_section: u32,
    /// Name of that section.
    pub text_section_name: Cow<'d, str>,
    /// Tag.
    pub tag: u32,
    /// Mercury instructions.
    pub instructions: u32,
    /// Of these, derivable from the SASS.
    pub derived: u32,
    /// Stored in full.
    pub full: u32,
    /// Stored in short form.
    pub short: u32,
    /// Standing for several SASS instructions.
    pub expanded: u32,
    /// SASS instructions they represent.
    pub sass_instructions: u64,
}

/// Everything that is decoded, with what could not be.
#[derive(Debug, Clone, Default)]
pub struct Contents<'d> {
    /// Notes.
    pub notes: Vec<NoteRow<'d>>,
    /// Call graph.
    pub callgraph: Option<CallGraphRow<'d>>,
    /// Prototypes.
    pub prototypes: Vec<PrototypeRow<'d>>,
    /// Relocation actions.
    pub actions: Vec<ActionRow>,
    /// Unified tables.
    pub unified: Vec<UnifiedRow<'d>>,
    /// Module metadata.
    pub metadata: Vec<MetadataRow<'d>>,
    /// Mercury capsules.
    pub capsules: Vec<CapsuleRow<'d>>,
    /// What could not be decoded.
    pub problems: Vec<Problem>,
}

/// Looks up symbols and strings for the sections that name them.
struct Lookup<'a, 'd> {
    view: &'a View<'d>,
    section: &'a Sect<'d>,
}

impl<'d> Lookup<'_, 'd> {
    fn symbol(&self, symbol: u32) -> SymbolRef<'d> {
        let name = match self.view.table_of(self.section) {
            Some(t) if (symbol as usize) < t.entries.len() => names::text(self.view.symbol_name(t, symbol)),
            _ => Cow::Borrowed("?"),
        };
        SymbolRef { symbol, name }
    }

    fn string(&self, offset: u32) -> Cow<'d, str> {
        let table = self.view.table_of(self.section);
        let text = table.and_then(|t| cubin::read::string_at(t.strings, offset));
        text.map_or(Cow::Borrowed("?"), names::text)
    }

    fn edges(&self, pairs: &[Pair]) -> Vec<EdgeRow<'d>> {
        let row = |p: &Pair| EdgeRow {
            from: self.symbol(p.first.get()),
            to: self.symbol(p.second.get()),
        };
        pairs.iter().map(row).collect()
    }

    fn prototypes(&self, pairs: &[Pair]) -> Vec<PrototypeRow<'d>> {
        let row = |p: &Pair| PrototypeRow {
            function: self.symbol(p.first.get()),
            prototype: self.string(p.second.get()),
            string_offset: p.second.get(),
        };
        pairs.iter().map(row).collect()
    }
}

impl<'d> Contents<'d> {
    /// Decodes every section for which `wanted` holds.
    pub(crate) fn read(view: &View<'d>, wanted: impl Fn(&Sect<'d>) -> bool) -> Self {
        let mut contents = Contents::default();
        for section in view.sections.iter().filter(|s| !s.data.is_empty() && wanted(s)) {
            if let Err(error) = contents.decode(view, section) {
                contents.problems.push(Problem {
                    place: names::text(section.name).into_owned(),
                    reason: error.to_string(),
                });
            }
        }
        contents
    }

    fn decode(&mut self, view: &View<'d>, section: &Sect<'d>) -> Result<(), CodecError> {
        let lookup = Lookup { view, section };
        let data = section.data;
        match section.header.sh_type.get() {
            SHT_NOTE => self.decode_notes(section)?,
            SHT_CUDA_CALLGRAPH => {
                let graph = CallGraph::read(data)?;
                self.callgraph = Some(CallGraphRow {
                    calls: lookup.edges(graph.calls),
                    address_taken: lookup.prototypes(graph.address_taken),
                    indirect_calls: lookup.prototypes(graph.indirect_calls),
                    address_takers: lookup.edges(graph.takers),
                });
            }
            SHT_CUDA_PROTOTYPE => self.prototypes.extend(lookup.prototypes(prototypes(data)?)),
            SHT_CUDA_RELOCINFO => self.actions.extend(action_rows(&RelocationActions::read(data)?)),
            SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY => {
                for e in unified::entries(data)? {
                    self.unified.push(UnifiedRow {
                        section_name: names::text(section.name),
                        kind: "entry",
                        symbol: Some(lookup.symbol(e.symbol.get())),
                        flags: Some(e.flags.get()),
                        offset: e.offset.get(),
                        id: id_text(&e.id),
                    });
                }
            }
            SHT_CUDA_UIDX => self.decode_index(section)?,
            SHT_CUDA_METADATA => self.metadata.extend(Metadata::read(data).entries.iter().map(|e| MetadataRow {
                module_id: lookup.string(e.module_id.get()),
                section: e.section.get(),
                alignment: e.alignment.get(),
            })),
            SHT_CUDA_CAPMERC => self.capsules.push(capsule_row(view, section)?),
            _ => {}
        }
        Ok(())
    }

    fn decode_notes(&mut self, section: &Sect<'d>) -> Result<(), CodecError> {
        for note in notes(section.data) {
            let note = note?;
            let content = match note.kind {
                TYPE_TKINFO => ToolInfo::read(note.description).map(|t| NoteContent::Tool {
                    version: t.version,
                    object: names::text(t.object),
                    tool: names::text(t.tool),
                    tool_version: names::text(t.tool_version),
                    build: names::text(t.build),
                    arguments: names::text(t.arguments),
                })?,
                // Older files have another description under this type.
                TYPE_CUINFO if section.name != b".note.nv.cuver" => CudaInfo::read(note.description).map(|c| NoteContent::Cuda {
                    version: c.version,
                    virtual_sm: c.virtual_sm,
                    toolkit: c.toolkit,
                })?,
                _ => NoteContent::Other {
                    hex: hex(note.description),
                },
            };
            self.notes.push(NoteRow {
                section_name: names::text(section.name),
                owner: names::text(note.name.strip_suffix(b"\0").unwrap_or(note.name)),
                type_value: note.kind,
                content,
            });
        }
        Ok(())
    }

    fn decode_index(&mut self, section: &Sect<'d>) -> Result<(), CodecError> {
        let index = unified::Index::read(section.data)?;
        for (kind, records) in [("function", index.functions), ("data", index.data)] {
            self.unified.extend(records.iter().map(|r| UnifiedRow {
                section_name: names::text(section.name),
                kind,
                symbol: None,
                flags: None,
                offset: r.offset.get(),
                id: id_text(&r.id),
            }));
        }
        Ok(())
    }
}

fn id_text(id: &unified::UnifiedId) -> String {
    format!("{:016x}{:016x}", id.first.get(), id.second.get())
}

fn action_rows(actions: &RelocationActions<'_>) -> Vec<ActionRow> {
    let row = |(i, a): (usize, &cubin::tables::RelocationAction)| {
        let code = u32::try_from(actions.first_type).unwrap_or(u32::MAX).saturating_add(i as u32);
        ActionRow {
            kind: reloc_name(code),
            symbol_kind: a.kind,
            shift: a.shift,
            fields: vec![[a.source, a.width, a.start], [a.source2, a.width2, a.start2]],
        }
    };
    actions.actions.iter().enumerate().map(row).collect()
}

fn capsule_row<'d>(view: &View<'d>, section: &Sect<'d>) -> Result<CapsuleRow<'d>, CodecError> {
    let capsule = Capsule::read(section.data)?;
    let mut row = CapsuleRow {
        section_name: names::text(section.name),
        text_section: capsule.text_section,
        text_section_name: names::text(view.section_name(capsule.text_section)),
        tag: capsule.tag,
        instructions: capsule.count,
        derived: 0,
        full: 0,
        short: 0,
        expanded: 0,
        sass_instructions: 0,
    };
    let mut stored = 0;
    for item in capsule.instructions() {
        let (_, instruction) = item?;
        row.sass_instructions += u64::from(instruction.sass_count());
        stored += instruction.size();
        match instruction {
            Instruction::Derived => row.derived += 1,
            Instruction::Full(_) => row.full += 1,
            Instruction::Short(_) => row.short += 1,
            Instruction::Expanded { .. } | Instruction::ExpandedFull { .. } => row.expanded += 1,
        }
    }
    // Header and bitmap, then the records to the last byte.
    let end = 12 + capsule.count.div_ceil(32) as usize * 4 + stored;
    if end != section.data.len() {
        capsule.check()?;
    }
    Ok(row)
}

impl<'d> Model<'_, 'd> {
    /// Decoded contents of all metadata sections.
    pub fn everything(&self) -> Contents<'d> {
        Contents::read(self.view, |_| true)
    }

    /// Reduces contents to what is shown. With `--kernel`: the parts that name the kernel.
    pub fn select(&self, contents: &mut Contents<'d>) {
        if self.shows_all() {
            return;
        }
        let by_kernel = !self.selection.kernels.is_empty();
        *contents = Contents::read(self.view, |s| {
            self.shows_section(s) || by_kernel && matches!(s.header.sh_type.get(), SHT_CUDA_CALLGRAPH | SHT_CUDA_PROTOTYPE)
        });
        if by_kernel && self.selection.sections.is_empty() {
            let shown = |s: &SymbolRef<'_>| self.shows_function(s.name.as_bytes());
            contents.prototypes.retain(|p| shown(&p.function));
            if let Some(graph) = &mut contents.callgraph {
                graph.calls.retain(|e| shown(&e.from) || shown(&e.to));
                graph.address_taken.retain(|p| shown(&p.function));
                graph.indirect_calls.retain(|p| shown(&p.function));
                graph.address_takers.retain(|e| shown(&e.from) || shown(&e.to));
            }
        }
    }
}
