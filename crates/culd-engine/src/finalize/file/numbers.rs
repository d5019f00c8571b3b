//! Numbers of sections and of the section symbols of parameter banks in a file with two views.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::ids::{SectionId, Table};
use crate::object::ObjSection;
use crate::records::SymbolTableEntry;

/// Section numbers of the file.
pub(crate) struct Numbers {
    /// The file has tables of extended section numbers.
    pub(crate) extended: bool,
    /// First parameter bank.
    pub(crate) first_parameter: u32,
    /// Mercury twins of sections, 0 if there is none.
    pub(crate) twins: Table<SectionId, u32>,
    /// Mercury symbol table.
    pub(crate) symbols: u32,
}

impl Numbers {
    /// Number of a section in the Mercury view: its twin's, or its own if both views share it.
    pub(crate) fn mercury(&self, output: &OutputPlan<'_, '_>, id: SectionId) -> u32 {
        match self.twins[id] {
            0 => output.arranged.section_index(id),
            twin => twin,
        }
    }
}

/// The parameter bank of a kernel in its input.
pub(crate) fn parameter_bank<'a, 'd>(
    output: &OutputPlan<'_, 'd>,
    code: &'a Functions<'_, 'd>,
    function: &Function,
) -> Option<&'a ObjSection<'d>> {
    let entry = output.link.resolved.functions[function.function].entry;
    code.sources.of(function.object).parameters(function.section).filter(|_| entry)
}

/// Section symbols of the parameter banks by code section; 0 is none.
pub(crate) fn parameter_symbols<'d>(output: &OutputPlan<'_, 'd>, code: &Functions<'_, 'd>) -> Table<SectionId, u32> {
    let mut symbols = Table::filled(output.layout.records.sections.len(), 0);
    let first = output.arranged.symbols.len() as u32 + 1;
    let banks = code.order.iter().copied();
    let own = |id: SectionId| code.of(id).and_then(|f| output.layout.records.functions[f.function].parameters);
    let slots = code
        .order
        .iter()
        .filter_map(|&id| Some((id, output.arranged.named_index(SymbolTableEntry::Section(own(id)?)))));
    let banks = banks.filter(|&id| own(id).is_none() && code.of(id).is_some_and(|f| parameter_bank(output, code, f).is_some()));
    for (text, symbol) in banks.zip(first..).chain(slots) {
        symbols[text] = symbol;
    }
    symbols
}
