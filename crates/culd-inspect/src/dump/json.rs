//! A dump as JSON. The keys are documented in `docs/json.md` and do not change their meaning.

use super::model::Model;
use super::rows::is_reloc;
use crate::names;
use crate::view::{Sect, SymbolTable};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// Serialises an iterator as a list without collecting it.
struct List<F>(F);

impl<F, I> Serialize for List<F>
where
    F: Fn() -> I,
    I: Iterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq((self.0)())
    }
}

/// One device file.
pub(super) struct Document<'a, 'v, 'd> {
    /// Displayed name.
    pub(super) name: &'a str,
    /// The file.
    pub(super) model: Model<'v, 'd>,
}

struct Symbols<'v, 'd>(Model<'v, 'd>, &'v SymbolTable<'d>);

impl Serialize for Symbols<'_, '_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Symbols(model, table) = *self;
        let mut out = s.serialize_struct("table", 3)?;
        out.serialize_field("section", &table.section)?;
        out.serialize_field("section_name", &names::text(model.view.section_name(table.section)))?;
        out.serialize_field("symbols", &List(|| model.symbols(table)))?;
        out.end()
    }
}

struct Relocations<'v, 'd>(Model<'v, 'd>, &'v Sect<'d>);

impl Serialize for Relocations<'_, '_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Relocations(model, section) = *self;
        let target = section.header.sh_info.get();
        let mut out = s.serialize_struct("relocations", 5)?;
        out.serialize_field("section", &section.index)?;
        out.serialize_field("section_name", &names::text(section.name))?;
        out.serialize_field("target", &target)?;
        out.serialize_field("target_name", &names::text(model.view.section_name(target)))?;
        out.serialize_field("entries", &List(|| model.relocs(section)))?;
        out.end()
    }
}

struct Attributes<'v, 'd>(Model<'v, 'd>, &'v Sect<'d>, super::attributes::Codes);

impl Serialize for Attributes<'_, '_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let Attributes(model, section, codes) = *self;
        let mut out = s.serialize_struct("attributes", 4)?;
        out.serialize_field("section", &section.index)?;
        out.serialize_field("section_name", &names::text(section.name))?;
        out.serialize_field("function", &model.function_of(section).map(names::text))?;
        out.serialize_field("records", &List(|| model.attributes(section, codes)))?;
        out.end()
    }
}

impl Serialize for Document<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let model = self.model;
        let view = model.view;
        let mut out = s.serialize_struct("cubin", 16)?;
        out.serialize_field("name", self.name)?;
        let mut contents = model.everything();
        out.serialize_field("problems", &model.problems(&contents))?;
        model.select(&mut contents);
        out.serialize_field("header", &model.header())?;
        out.serialize_field("program_headers", &List(|| model.segments()))?;
        out.serialize_field("functions", &model.functions())?;
        out.serialize_field("sections", &List(|| model.sections()))?;
        out.serialize_field("symbol_tables", &List(|| view.tables.iter().map(|t| Symbols(model, t))))?;
        let relocs = || view.sections.iter().filter(|s| is_reloc(s) && model.shows_relocs(s));
        out.serialize_field("relocations", &List(|| relocs().map(|s| Relocations(model, s))))?;
        out.serialize_field(
            "attributes",
            &List(|| model.attribute_sections().map(|(s, c)| Attributes(model, s, c))),
        )?;
        out.serialize_field("notes", &contents.notes)?;
        out.serialize_field("callgraph", &contents.callgraph)?;
        out.serialize_field("prototypes", &contents.prototypes)?;
        out.serialize_field("relocation_actions", &contents.actions)?;
        out.serialize_field("unified", &contents.unified)?;
        out.serialize_field("metadata", &contents.metadata)?;
        out.serialize_field("capsules", &contents.capsules)?;
        out.end()
    }
}
