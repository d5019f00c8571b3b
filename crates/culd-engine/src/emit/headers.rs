//! Fields of the file header and of section headers that the link decides. Offsets and sizes are the plan's.

use crate::arrange::OutputPlan;
use crate::ids::{FunctionId, SectionId};
use crate::options::Suffix;
use crate::records::Class;
use crate::sections::notes;
use cubin::consts::*;
use cubin::names::make_file_flags_v7;
use cubin::raw::Shdr;
use cubin::release::Form;
use cubin::write::{ImageHeader, Plan, SectionFields};

/// Header of section `number`.
pub(super) fn section_header(output: &OutputPlan<'_, '_>, file: &Plan, number: u32) -> Shdr {
    let at = (number as usize).checked_sub(1);
    match at.and_then(|at| output.arranged.sections.get(at)) {
        Some(&id) => file.section_header(number, &section_fields(output, id)),
        None => file.null_header(),
    }
}

fn section_fields(output: &OutputPlan<'_, '_>, id: SectionId) -> SectionFields {
    let section = &output.layout.records.sections[id];
    let (link, info) = match section.class {
        Class::Text(f) | Class::Stub(f) => {
            let (symtab, symbol) = link_and_info(output, id);
            (symtab, registers(output, f) << 24 | symbol)
        }
        _ => link_and_info(output, id),
    };
    SectionFields {
        name: output.arranged.name_offset[id],
        sh_type: final_type(output, section.sh_type),
        flags: final_flags(output, id),
        link,
        info,
        align: section.align,
        entsize: section.entsize.into(),
    }
}

/// Registers in the header of a function's section.
fn registers(output: &OutputPlan<'_, '_>, f: FunctionId) -> u32 {
    let own = output.layout.records.functions[f].registers;
    let total = output
        .totals
        .binary_search_by_key(&f, |t| t.0)
        .ok()
        .and_then(|at| output.totals.get(at));
    total.map_or(own.into(), |t| t.1 & 0xff)
}

/// `sh_link` and `sh_info` of a section; without the registers that code has there.
pub(crate) fn link_and_info(output: &OutputPlan<'_, '_>, id: SectionId) -> (u32, u32) {
    let (records, arranged) = (&output.layout.records, output.arranged);
    let section = &records.sections[id];
    let index = |id: SectionId| arranged.section_index(id);
    let standard = &records.standard;
    // nvlink quirk: the number that the symbol table once had.
    let symtab = match output.link.mode.rules.fixed_symbol_table_link {
        true => 5,
        false => index(standard.symbols),
    };
    let owner = section.owner.map_or(0, index);
    let symbol_number = |symbol: Option<_>| symbol.map_or(0, |symbol| arranged.symbol_index(symbol));
    match section.class {
        Class::Symbols => (index(standard.strings), arranged.first_global),
        Class::ExtendedIndices => (symtab, 0),
        Class::CudaNote => (standard.tool_note.map_or(0, index), standard.compat.map_or(0, index)),
        Class::Info | Class::FunctionInfo(_) | Class::UftInfo => (symtab, owner),
        Class::Callgraph | Class::Prototype | Class::UdtEntry => (symtab, 0),
        Class::UftEntry if output.link.mode.relocatable => (symtab, 0),
        Class::Rel(target) | Class::Rela(target) | Class::ResolvedRela(target) => (symtab, index(target)),
        Class::Text(f) | Class::Stub(f) => (symtab, symbol_number(records.symbol_of[f])),
        Class::Uft => (symtab, symbol_number(records.unified.first_stub)),
        _ => (0, owner),
    }
}

fn final_flags(output: &OutputPlan<'_, '_>, id: SectionId) -> u64 {
    let (sections, rules) = (&output.layout.records.sections, &output.link.mode.rules);
    let section = &sections[id];
    let mut flags = section.flags;
    if let Class::Text(f) = section.class
        && let Ok(at) = output.flagged.binary_search_by_key(&f, |flagged| flagged.0)
        && let Some((_, barriers)) = output.flagged.get(at)
    {
        flags |= u64::from(*barriers) << 20;
    }
    if let Class::Rel(target) | Class::Rela(target) = section.class
        && sections[target].slot_relocs == Some(id)
        && (matches!(section.class, Class::Rel(_)) || rules.plain_parameter_relocs)
    {
        flags = 0;
    }
    if !rules.info_link_flags {
        flags &= !SHF_INFO_LINK;
    }
    flags
}

/// Final links use the generic types for data.
pub(crate) fn final_type(output: &OutputPlan<'_, '_>, sh_type: u32) -> u32 {
    if output.link.mode.relocatable {
        return sh_type;
    }
    match sh_type {
        SHT_CUDA_GLOBAL | SHT_CUDA_SHARED | SHT_CUDA_LOCAL => SHT_NOBITS,
        SHT_CUDA_GLOBAL_INIT | SHT_CUDA_CONSTANT0..=SHT_CUDA_CONSTANT_LAST => SHT_PROGBITS,
        other => other,
    }
}

/// Code with suffix a: a flag of the file where no record of `.nv.compat` says so.
const FOR_ONE_ARCH: u32 = 8;

/// Header fields of the file.
pub(crate) fn image_header(output: &OutputPlan<'_, '_>) -> ImageHeader {
    let (mode, target, arranged) = (output.link.mode, output.link.options.target, output.arranged);
    let standard = &output.layout.records.standard;
    let has_mercury = target.capabilities().has_mercury;
    let note = standard.cuda_note.map_or(0, |id| arranged.section_index(id).min(255));
    let accelerated = mode.rules.first_notes && target.suffix == Suffix::Arch;
    let kind = if has_mercury { 2 } else { 4 } | if accelerated { FOR_ONE_ARCH } else { 0 };
    let mut ident = ImageHeader::IDENT;
    let (version, flags) = match mode.rules.form {
        // Files with both views have the later form in every release.
        Form::Cuda12 if !has_mercury => {
            [ident[7], ident[8]] = [ELFOSABI_CUDA_V7, 7];
            let virtual_sm = notes::virtual_arch(output.link) as u8;
            let flags = make_file_flags_v7(target.number as u8, virtual_sm, target.suffix == Suffix::Arch);
            (mode.toolkit, flags)
        }
        _ => (1, note << 24 | target.number << 8 | kind),
    };
    ImageHeader {
        ident,
        e_type: if mode.relocatable { ET_REL } else { ET_EXEC },
        e_version: version,
        e_flags: flags,
        section_names: arranged.section_index(standard.section_names),
    }
}
