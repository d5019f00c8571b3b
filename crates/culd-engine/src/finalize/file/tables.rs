//! String tables and symbol tables of both views.
//!
//! 1. Section names: those of the Mercury link; the name of an emitted section that is called differently in SASS is overwritten in place
//!    and filled with zeros. Then the parameter banks, then the Mercury sections, each on its own.
//! 2. Symbol names: those of the Mercury link, then new names of renamed section symbols, then the parameter banks. Both symbol tables
//!    share them.
//! 3. Mercury symbols keep type and memory space of the inputs. SASS symbols are the same with the sizes of SASS; in final links
//!    variables become plain objects, and shared memory starts after what the system reserves.

use crate::arrange::OutputPlan;
use crate::finalize::code::functions::Functions;
use crate::finalize::file::numbers::Numbers;
use crate::ids::{SectionId, Table};
use crate::names::Name;
use crate::options::Identity;
use crate::records::Class;
use crate::records::SymbolTableEntry;
use cubin::consts::*;
use cubin::layout::sass_name;
use cubin::read::SymbolSection;
use cubin::write::strings::NewSymbol;

/// Shared memory that the system reserves before kernels' variables.
pub(crate) const SHARED_BASE: u64 = 0x400;
/// What the system reserves before kernels' variables.
pub(crate) fn shared_base(output: &OutputPlan<'_, '_>) -> u64 {
    if output.link.mode.relocatable || output.link.options.disable_smem_reservation {
        0
    } else {
        SHARED_BASE
    }
}

/// String tables.
pub(crate) struct Strings {
    /// `.shstrtab`.
    pub(crate) section_names: Vec<u8>,
    /// `.strtab`.
    pub(crate) strings: Vec<u8>,
    /// Bytes kept free after `.strtab`.
    pub(crate) reserve: u64,
    /// Names of the parameter banks: as section, as symbol.
    pub(crate) parameters: Vec<(u32, u32)>,
    /// Names of the Mercury sections.
    pub(crate) mercury: Vec<u32>,
    /// Name of the Mercury symbol table.
    pub(crate) mercury_symbols: u32,
    /// Names of the tables of extended section numbers, Mercury's first.
    pub(crate) extended: [u32; 2],
    /// SASS names of renamed section symbols.
    renamed: Table<SectionId, Option<u32>>,
}

fn append(table: &mut Vec<u8>, name: &[u8]) -> u32 {
    let offset = table.len() as u32;
    table.extend_from_slice(name);
    table.push(0);
    offset
}

/// Length of the part that both names end with.
fn kept_part(old: &[u8], new: &[u8]) -> usize {
    let pairs = old.iter().rev().zip(new.iter().rev());
    pairs.take_while(|(a, b)| a == b && **a != b'.').count()
}

/// Overwrites a name in place.
///
/// nvlink quirk: the part that stays is read from the table, so that a name that two sections share is cut twice.
fn rename(table: &mut [u8], start: usize, size: usize, prefix: usize, new: &[u8]) {
    let Some(place) = table.get_mut(start..start + size) else { return };
    let end = place.iter().position(|&b| b == 0).unwrap_or(size);
    let kept = place.get(prefix.min(end)..end).unwrap_or_default().to_vec();
    let front = new.get(..new.len() - (size - prefix).min(new.len())).unwrap_or_default();
    let name = [front, &kept].concat();
    place.fill(0);
    place.iter_mut().zip(name).for_each(|(to, from)| *to = from);
}

/// A section's name and its name in SASS, if that is another one.
fn in_sass(name: Name<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    // All that are called differently start so; most names are neither joined nor compared.
    let starts_with = |start: &[u8]| start.iter().eq(name.prefix.iter().chain(name.rest).take(start.len()));
    if !starts_with(b".nv.constant.") && !starts_with(b".rela.nv.constant.") {
        return None;
    }
    let old = name.to_vec();
    let new = sass_name(&old).into_owned();
    (new != old).then_some((old, new))
}

/// Makes the string tables. `mercury` are the names of the Mercury sections; `extended`: the file has tables of extended section numbers.
pub(crate) fn strings(output: &OutputPlan<'_, '_>, parameters: &[&[u8]], mercury: &[Vec<u8>], extended: bool) -> Strings {
    let sections = &output.layout.records.sections;
    let arranged = output.arranged;
    let of_sections = || {
        let mut table = arranged.section_names.clone();
        let mut reserved = 0;
        for &id in &arranged.sections {
            let Some((old, new)) = in_sass(sections[id].name) else {
                continue;
            };
            reserved += old.len() as u64;
            let place = arranged.name_offset[id] as usize;
            rename(&mut table, place, old.len(), old.len() - kept_part(&old, &new), &new);
        }
        let mut extended_names = [0; 2];
        if extended {
            extended_names[1] = append(&mut table, b".symtab_shndx");
        }
        let parameters: Vec<u32> = parameters.iter().map(|name| append(&mut table, name)).collect();
        let mercury = mercury.iter().map(|name| append(&mut table, name)).collect();
        if extended {
            extended_names[0] = append(&mut table, b".nv.merc.symtab_shndx");
        }
        let mercury_symbols = append(&mut table, b".nv.merc.symtab");
        (table, reserved, parameters, mercury, mercury_symbols, extended_names)
    };
    let of_symbols = || {
        let mut table = arranged.strings.clone();
        let mut used = 0;
        let mut renamed = Table::filled(sections.len(), None);
        for &named in &arranged.symbols {
            let SymbolTableEntry::Section(id) = named else { continue };
            if let Some((_, new)) = in_sass(sections[id].name) {
                used += new.len() as u64 + 1;
                renamed[id] = Some(append(&mut table, &new));
            }
        }
        let parameters: Vec<u32> = parameters.iter().map(|name| append(&mut table, name)).collect();
        (table, used, renamed, parameters)
    };
    let ((section_names, reserved, in_sections, mercury, mercury_symbols, extended), (strings, used, renamed, in_symbols)) =
        output.link.threads.join(of_sections, of_symbols);
    Strings {
        section_names,
        strings,
        reserve: reserved.saturating_sub(used),
        parameters: in_sections.into_iter().zip(in_symbols).collect(),
        mercury,
        mercury_symbols,
        extended,
        renamed,
    }
}

/// Symbols of the Mercury view and of the SASS view.
pub(crate) fn symbols(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>, numbers: &Numbers, strings: &Strings) -> [Vec<NewSymbol>; 2] {
    let null = NewSymbol {
        name: 0,
        info: 0,
        other: 0,
        section: SymbolSection::Undefined,
        value: output.layout.null_value,
        size: 0,
        unused_index: 0,
    };
    let both = |&named: &SymbolTableEntry| {
        let name = output.arranged.name(named);
        let (section, symbol) = mercury_symbol(output, named, name);
        let place = |numbers: &dyn Fn(SectionId) -> u32| section.map_or(SymbolSection::Undefined, |s| SymbolSection::Index(numbers(s)));
        let mercury = NewSymbol {
            section: place(&|s| numbers.mercury(output, s)),
            ..symbol
        };
        let symbol = sass_symbol(output, code, strings, named, section, symbol);
        let sass = NewSymbol {
            section: place(&|s| output.arranged.section_index(s)),
            ..symbol
        };
        (mercury, sass)
    };
    let made = output.link.threads.map(&output.arranged.symbols, both);
    let (mut mercury, mut sass) = (
        Vec::with_capacity(made.len() + 1),
        Vec::with_capacity(made.len() + 1 + strings.parameters.len()),
    );
    mercury.push(null);
    sass.push(null);
    for (own, twin) in made {
        mercury.push(own);
        sass.push(twin);
    }
    for (&(_, name), number) in strings.parameters.iter().zip(numbers.first_parameter..) {
        sass.push(NewSymbol {
            name,
            info: STT_SECTION,
            section: SymbolSection::Index(number),
            value: 0,
            ..null
        });
    }
    [mercury, sass]
}

fn mercury_symbol(output: &OutputPlan<'_, '_>, named: SymbolTableEntry, name: u32) -> (Option<SectionId>, NewSymbol) {
    let mut symbol = NewSymbol {
        name,
        info: STT_SECTION,
        other: 0,
        section: SymbolSection::Undefined,
        value: 0,
        size: 0,
        unused_index: 0,
    };
    let sym = match named {
        SymbolTableEntry::Section(id) => return (Some(id), symbol),
        SymbolTableEntry::Symbol(id) => &output.layout.records.symbols[id],
    };
    let variable = sym.kind == STT_OBJECT;
    let kind = if variable { STT_CUDA_OBJECT } else { sym.kind };
    let system = SYSTEM_SYMBOLS.iter().any(|s| sym.name == s.0);
    symbol.info = sym.bind << 4 | kind;
    symbol.other = if variable { sym.input_other } else { sym.other };
    symbol.value = if system { 0 } else { sym.value };
    symbol.size = sym.size;
    (sym.section, symbol)
}

fn sass_symbol(
    output: &OutputPlan<'_, '_>,
    code: &Functions<'_, '_>,
    strings: &Strings,
    named: SymbolTableEntry,
    section: Option<SectionId>,
    mut symbol: NewSymbol,
) -> NewSymbol {
    let id = match named {
        SymbolTableEntry::Section(id) => {
            if let Some(name) = strings.renamed[id] {
                symbol.name = name;
            }
            return symbol;
        }
        SymbolTableEntry::Symbol(id) => id,
    };
    let sym = &output.layout.records.symbols[id];
    if let Some(&(_, value)) = SYSTEM_SYMBOLS.iter().find(|s| sym.name == s.0) {
        symbol.value = value;
    }
    let has_place = section.is_some() || symbol.other & STO_CUDA_SPACE != 0;
    let becomes_plain = symbol.info & 0xf == STT_CUDA_OBJECT && has_place && !output.link.mode.relocatable;
    if becomes_plain {
        symbol.info = symbol.info & 0xf0 | STT_OBJECT;
        symbol.other &= 0x1f;
    }
    let Some(section) = section else { return symbol };
    if let (STT_FUNC, Some(stubs)) = (sym.kind, code.stubs_in(output, section)) {
        (symbol.value, symbol.size) = stubs.symbol(sym.value);
    } else if let (STT_FUNC, Some(function)) = (sym.kind, code.of(section)) {
        // nvlink quirk: a second name of a function has no size.
        let owner = sym.function == Some(function.function);
        symbol.size = if owner { function.code.len() as u64 } else { 0 };
        let winner = sym.function.and_then(|f| output.link.resolved.functions[f].winner);
        if let Some(inner) = winner.filter(|w| output.link.inputs.objects[w.object].outer(w.symbol).is_some())
            && let Some(input) = code.sources.of(inner.object).inner_symbol(inner.symbol)
        {
            let (start, end) = (input.st_value.get(), input.st_value.get().saturating_add(input.st_size.get()));
            let copies = code.copies.of(section).filter(|_| output.link.options.identity == Identity::Nvlink);
            (symbol.value, symbol.size) = match copies {
                Some(copies) => copies.symbol(function, id, sym.size),
                None if inner.object == function.object => {
                    (function.place(start), function.place(end).saturating_sub(function.place(start)))
                }
                None => (0, 0),
            };
        }
    }
    if becomes_plain {
        symbol.value = symbol.value.wrapping_add(match output.layout.records.sections[section].class {
            Class::ReservedShared => crate::finalize::code::functions::RESERVED_BASE,
            Class::KernelShared | Class::ModuleShared => SHARED_BASE,
            _ => 0,
        });
    }
    symbol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_overwritten_in_place() {
        let mut table = b"\0.nv.constant.optimizer.k\0.x\0".to_vec();
        let (old, new) = (&b".nv.constant.optimizer.k"[..], &b".nv.constant2.k"[..]);
        let prefix = old.len() - kept_part(old, new);
        rename(&mut table, 1, old.len(), prefix, new);
        assert_eq!(table, b"\0.nv.constant2.k\0\0\0\0\0\0\0\0\0\0.x\0");
    }

    #[test]
    fn a_shared_name_is_cut_twice() {
        let old = b".nv.constant.optimizer.Quite_a_long_name";
        let new = b".nv.constant2.Quite_a_long_name";
        let mut table = old.to_vec();
        let prefix = old.len() - kept_part(old, new);
        rename(&mut table, 0, old.len(), prefix, new);
        rename(&mut table, 0, old.len(), prefix, new);
        assert!(table.starts_with(b".nv.constant2.ong_name\0"));
    }
}
