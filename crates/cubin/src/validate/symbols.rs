//! Symbols: names, types, and that each is inside its section.
//!
//! Two things that a relocatable link of nvlink leaves in its output are accepted, because nothing reads them:
//!
//! 1. A value of symbol 0 (with inputs that were compiled with `-ewp`).
//! 2. Symbols of literals of a weak function whose copy was replaced: they are in the bank of the prevailing copy, which may be smaller.
//!    A relocation against such a symbol is a defect.

use super::sections::{is_relocation, is_text, terminated};
use super::{Checked, DefectPlace, MAX_ALIGN, defect, text};
use crate::consts::*;
use crate::raw::Sym;
use crate::read::{Cubin, SymbolSection};

pub(super) fn check(cubin: &Cubin<'_>) -> Checked {
    let Some(table) = cubin.symtab_section() else {
        return Ok(());
    };
    let table = cubin.section(table)?;
    terminated(&cubin.section(table.header.sh_link.get())?)?;
    let count = cubin.symbol_entries().len();
    if table.header.sh_info.get() as usize > count {
        return Err(defect(
            super::sections::place(&table),
            format!(
                "sh_info, the number of symbols before the first global one, is {}, there are {count}",
                table.header.sh_info.get()
            ),
        ));
    }
    let mut literals = Vec::new();
    for (index, entry) in (0..).zip(cubin.symbol_entries()) {
        let section = cubin.symbol_place(index)?;
        if let Some(reason) = problem(cubin, index, entry, section) {
            if is_literal(cubin, entry, section) {
                literals.push((index, reason));
                continue;
            }
            let name = text(cubin.symbol(index)?.name);
            return Err(defect(DefectPlace::Symbol { index, name }, reason));
        }
    }
    unreferenced(cubin, table.index, &literals)
}

/// Literals that the compiler put into the constant bank of a function: local, internal, and not the bank of the parameters.
fn is_literal(cubin: &Cubin<'_>, entry: &Sym, section: SymbolSection) -> bool {
    let SymbolSection::Index(index) = section else { return false };
    let is_bank = |kind: u32| kind == SHT_CUDA_CONSTANT_OPTIMIZER || kind > SHT_CUDA_CONSTANT0 && kind <= SHT_CUDA_CONSTANT17;
    let is_local = entry.bind() == STB_LOCAL && entry.kind() == STT_CUDA_OBJECT && entry.st_other & 3 == STV_INTERNAL;
    is_local
        && entry.st_value.get() <= CONSTANT_LIMIT
        && entry.st_size.get() <= CONSTANT_LIMIT
        && cubin
            .section_headers()
            .get(index as usize)
            .is_some_and(|h| is_bank(h.sh_type.get()))
}

/// Refuses relocations against these symbols, which are in increasing order.
fn unreferenced(cubin: &Cubin<'_>, table: u32, symbols: &[(u32, String)]) -> Checked {
    if symbols.is_empty() {
        return Ok(());
    }
    for (index, header) in (0..).zip(cubin.section_headers()) {
        if !is_relocation(header.sh_type.get()) || header.sh_link.get() != table {
            continue;
        }
        let list = cubin.relocations(&cubin.section(index)?)?;
        for entry in (0..list.len()).filter_map(|i| list.get(i)) {
            let found = symbols.binary_search_by_key(&entry.r_sym.get(), |(index, _)| *index);
            if let Some((index, reason)) = found.ok().and_then(|i| symbols.get(i)) {
                let name = text(cubin.symbol(*index)?.name);
                return Err(defect(DefectPlace::Symbol { index: *index, name }, reason.clone()));
            }
        }
    }
    Ok(())
}

fn problem(cubin: &Cubin<'_>, index: u32, entry: &Sym, section: SymbolSection) -> Option<String> {
    let (kind, value, size) = (entry.kind(), entry.st_value.get(), entry.st_size.get());
    if index == 0 {
        let is_null = entry.st_info == 0 && entry.st_shndx.get() == 0 && size == 0;
        return (!is_null).then(|| "number 0 is the null symbol and has to be empty".into());
    }
    if entry.bind() > STB_WEAK {
        return Some(format!("binding {} is unknown", entry.bind()));
    }
    let known = matches!(kind, 0..=4 | STT_CUDA_TEXTURE..=STT_CUDA_OBJECT);
    if !known {
        return Some(format!("type {kind} is unknown"));
    }
    let is_function = kind == STT_FUNC;
    let is_variable = matches!(kind, STT_OBJECT | STT_CUDA_OBJECT);
    match section {
        SymbolSection::Undefined => None,
        SymbolSection::Common if is_function => Some("a function cannot be common".into()),
        SymbolSection::Common if !value.is_power_of_two() || value > MAX_ALIGN => Some(format!(
            "st_value {value:#x}, the alignment of a common variable, is not a power of two up to {MAX_ALIGN:#x}"
        )),
        SymbolSection::Common => None,
        SymbolSection::Reserved(index) if is_function || is_variable => {
            Some(format!("st_shndx {index:#x} is reserved: it is defined nowhere"))
        }
        SymbolSection::Reserved(_) => None,
        SymbolSection::Index(index) => {
            let Some(header) = cubin.section_headers().get(index as usize) else {
                return Some(format!("section {index} does not exist"));
            };
            let room = header.sh_size.get();
            let in_section = || format!("section {index} '{}'", cubin.section(index).map_or(String::new(), |s| text(s.name)));
            // The value of a shared variable is its alignment; so is that of the variables of reserved shared memory.
            let is_reserved = header.sh_type.get() == SHT_CUDA_SHARED_RESERVED;
            let is_shared = kind == STT_CUDA_OBJECT && entry.st_other & STO_CUDA_SPACE == STO_CUDA_SHARED || is_reserved;
            // In an extensible whole program (-ewp) the compiler has placed them.
            let is_placed = is_shared && !is_reserved && cubin.header().e_type.get() == ET_CUDA_EWP;
            let start = if is_shared && !is_placed { 0 } else { value };
            // A relocatable link with -g has placed the variables of dynamic shared memory: their value is where they start.
            let is_placed_dynamic = || size == 0 && cubin.section(index).is_ok_and(|s| s.name == b".nv_debug.shared");
            if is_function && !is_text(header) {
                Some(format!("a function in {}, which is not a text section", in_section()))
            } else if is_shared && (!value.is_power_of_two() && value != 0 || value > MAX_ALIGN) && !is_placed && !is_placed_dynamic() {
                Some(format!(
                    "st_value {value:#x}, the alignment of a shared variable, is not a power of two up to {MAX_ALIGN:#x}"
                ))
            } else if (is_function || is_variable) && start.checked_add(size).is_none_or(|end| end > room) {
                Some(format!(
                    "st_value {value:#x}, st_size {size:#x}: it is not inside {} of {room:#x} bytes",
                    in_section()
                ))
            } else {
                None
            }
        }
    }
}
