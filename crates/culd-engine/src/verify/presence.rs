//! What the inputs define is in the image.
//!
//! 1. Kernels that were selected, all functions in a relocatable link.
//! 2. Variables in global and constant memory: with the size and, where nothing is relocated, the bytes of some definition.
//! 3. Sections that are passed through (bytes of unknown meaning, other notes), and debug information.

use super::file::File;
use super::{Check, Findings, Rules, text};
use crate::names::SeededState;
use cubin::consts::CONSTANT_LIMIT;
use cubin::consts::*;
use cubin::kind::SectionKind;
use cubin::layout::R_MERCURY_PROG_REL64;
use cubin::read::{Symbol, SymbolSection};
use hashbrown::{HashMap, HashSet};

/// Checks that every definition is present.
pub(super) fn check(image: &File<'_>, inputs: &[File<'_>], rules: &Rules<'_>, found: &mut Findings) {
    let mut symbols: HashMap<&[u8], Vec<&Symbol<'_>>, SeededState> = HashMap::default();
    for sym in image.symbols.iter().skip(1).filter(|sym| sym.entry.kind() != STT_SECTION) {
        symbols.entry(sym.name).or_default().push(sym);
    }
    let definitions = variables(inputs);
    for input in inputs {
        sections(image, input, rules, found);
        functions(image, input, rules, &symbols, found);
    }
    let may_drop = rules.options.kernels.is_some() && constants(inputs) > CONSTANT_LIMIT;
    for (name, list) in definitions {
        let is_constant = list.iter().any(|d| matches!(d.kind, SectionKind::Constant(_)));
        let Some(here) = symbols.get(name) else {
            if let (Some(d), false) = (list.first(), is_constant && may_drop) {
                found.add(Check::Presence, format!("variable {} of {} is missing", text(name), d.file));
            }
            continue;
        };
        for sym in here {
            // nvlink quirk: where kernels are selected it merges constants that are not equal.
            if is_constant && rules.nvlink && rules.options.kernels.is_some() {
                continue;
            }
            if let Some(reason) = variable(image, sym, &list) {
                found.add(Check::Presence, format!("variable {}: {reason}", text(name)));
            }
        }
    }
}

/// A definition of a variable.
struct Variable<'a, 'd> {
    file: &'d str,
    kind: SectionKind,
    size: u64,
    common: bool,
    /// Bytes, unless relocations write some of them.
    bytes: Option<&'a [u8]>,
}

/// Variables of the inputs by name, in order of the first mention.
fn variables<'a, 'd>(inputs: &'a [File<'d>]) -> Vec<(&'d [u8], Vec<Variable<'a, 'd>>)> {
    let mut found: Vec<(&'d [u8], Vec<Variable<'a, 'd>>)> = Vec::new();
    let mut at: HashMap<&'d [u8], usize, SeededState> = HashMap::default();
    for input in inputs {
        let mut places: HashMap<u32, Vec<u64>, SeededState> = HashMap::default();
        let tables = tables_of_inner_functions(input);
        for sym in input
            .symbols
            .iter()
            .filter(|sym| matches!(sym.entry.kind(), STT_OBJECT | STT_CUDA_OBJECT))
        {
            let (kind, section) = match sym.section {
                SymbolSection::Common => (SectionKind::Global, None),
                SymbolSection::Index(i) => (input.kind(i), input.section(i)),
                _ => continue,
            };
            // Names of compiler-made constants and parameters end with the link.
            let of_module = match kind {
                SectionKind::Global | SectionKind::GlobalInit => true,
                SectionKind::Constant(_) => section.is_some_and(|s| s.name.iter().skip(1).filter(|&&b| b == b'.').nth(1).is_none()),
                _ => false,
            };
            if !of_module || sym.entry.st_other & 3 == STV_INTERNAL {
                continue;
            }
            let (value, size) = (sym.entry.st_value.get(), sym.entry.st_size.get());
            let bytes = section.and_then(|s| {
                let offsets = places.entry(s.index).or_insert_with(|| {
                    let mut all: Vec<u64> = input.relocs(s.index).iter().map(|r| r.offset).collect();
                    all.sort_unstable();
                    all
                });
                let next = offsets.partition_point(|&o| o < value);
                let relocated = offsets.get(next).is_some_and(|&o| o < value.saturating_add(size));
                let bytes = s.data.get(usize::try_from(value).ok()?..)?.get(..usize::try_from(size).ok()?)?;
                (!relocated && !tables.contains(sym.name)).then_some(bytes)
            });
            let index = *at.entry(sym.name).or_insert_with(|| {
                found.push((sym.name, Vec::new()));
                found.len() - 1
            });
            if let Some((_, list)) = found.get_mut(index) {
                list.push(Variable {
                    file: input.name,
                    kind,
                    size,
                    common: section.is_none(),
                    bytes,
                });
            }
        }
    }
    found
}

/// Variables with places of functions inside of kernels (`-ewp`): relocations in the Mercury view alone, numbers that move with the code in the SASS view.
fn tables_of_inner_functions<'d>(input: &File<'d>) -> HashSet<&'d [u8], SeededState> {
    let mut places: HashMap<u32, Vec<u64>, SeededState> = HashMap::default();
    let mut found = HashSet::default();
    for sym in input
        .mercury
        .iter()
        .filter(|sym| matches!(sym.entry.kind(), STT_OBJECT | STT_CUDA_OBJECT))
    {
        let SymbolSection::Index(section) = sym.section else { continue };
        let offsets = places.entry(section).or_insert_with(|| {
            let relocs = input.relocs(section).into_iter().filter(|r| r.kind == R_MERCURY_PROG_REL64);
            let mut all: Vec<u64> = relocs.map(|r| r.offset).collect();
            all.sort_unstable();
            all
        });
        let start = sym.entry.st_value.get();
        let next = offsets.partition_point(|&o| o < start);
        if offsets
            .get(next)
            .is_some_and(|&o| o < start.saturating_add(sym.entry.st_size.get()))
        {
            found.insert(sym.name);
        }
    }
    found
}

/// Bytes of user constants over all inputs.
fn constants(inputs: &[File<'_>]) -> u64 {
    let banks = inputs
        .iter()
        .flat_map(|f| f.named(b".nv.constant3").iter().filter_map(|&i| f.section(i)));
    banks.map(|s| s.header.sh_size.get()).fold(0, u64::saturating_add)
}

/// Does a symbol of the image fit some definition?
fn variable(image: &File<'_>, sym: &Symbol<'_>, list: &[Variable<'_, '_>]) -> Option<String> {
    // nvlink quirk: a common variable that a relocatable link leaves to a later one.
    if sym.section == SymbolSection::Common && list.iter().any(|d| d.common) {
        return None;
    }
    let section = sym.section.index().and_then(|i| image.section(i));
    let Some(section) = section else {
        return Some("it is defined in an input, but not in the linked file".into());
    };
    let (value, size) = (sym.entry.st_value.get(), sym.entry.st_size.get());
    if !list.iter().any(|d| d.size == size) {
        return Some(format!("it has {size} bytes, in {} {}", list.first()?.file, list.first()?.size));
    }
    if sym.entry.st_other & 3 == STV_INTERNAL || list.iter().any(|d| d.common || d.bytes.is_none() || d.size == 0) {
        return None;
    }
    let here = section
        .data
        .get(usize::try_from(value).ok()?..)?
        .get(..usize::try_from(size).ok()?)?;
    let same = list.iter().any(|d| d.bytes == Some(here));
    (!same).then(|| format!("its initial value is not that of {}", list.first().map_or("", |d| d.file)))
}

fn functions(
    image: &File<'_>,
    input: &File<'_>,
    rules: &Rules<'_>,
    symbols: &HashMap<&[u8], Vec<&Symbol<'_>>, SeededState>,
    found: &mut Findings,
) {
    let defined = input
        .symbols
        .iter()
        .filter(|sym| sym.entry.kind() == STT_FUNC && sym.section.index().is_some_and(|s| input.kind(s) == SectionKind::Text));
    for sym in defined {
        let entry = sym.entry.st_other & STO_CUDA_ENTRY != 0;
        let stays = rules.options.relocatable || (entry && rules.keeps_kernel(sym.name, sym.entry.bind() == STB_LOCAL));
        if !stays {
            continue;
        }
        let is_it = |z: &&Symbol<'_>| z.entry.kind() == STT_FUNC && z.section.index().is_some_and(|s| image.kind(s) == SectionKind::Text);
        let here = symbols.get(sym.name).into_iter().flatten().filter(|z| is_it(z));
        let as_kernel = |z: &&Symbol<'_>| z.entry.st_other & STO_CUDA_ENTRY != 0;
        let mut here = here.copied().peekable();
        let what = if entry { "kernel" } else { "function" };
        if here.peek().is_none() {
            found.add(Check::Presence, format!("{what} {} of {} is missing", text(sym.name), input.name));
        } else if entry && !here.any(|z| as_kernel(&z)) {
            found.add(
                Check::Presence,
                format!("kernel {} of {} is not a kernel any more", text(sym.name), input.name),
            );
        }
    }
}

/// Sections whose contents are passed through.
fn sections(image: &File<'_>, input: &File<'_>, rules: &Rules<'_>, found: &mut Findings) {
    use SectionKind as K;
    for s in input.sections.iter().skip(1) {
        let handed_on = match input.kind(s.index) {
            // nvlink quirk: types that it does not support, memory without bytes and some notes are left out.
            K::OtherCuda | K::Note if rules.nvlink => false,
            // So are constant banks that no compiler uses, from sm_100 on.
            K::Other if rules.nvlink && input.has_mercury() && s.name.starts_with(b".nv.constant") => false,
            K::Other if rules.nvlink && s.header.sh_type.get() != SHT_PROGBITS => false,
            K::Other | K::OtherCuda | K::Note | K::Metadata | K::DescriptorSize => !input.is_mercury(s),
            K::Debug | K::DebugLineSass | K::DebugRegisters | K::DebugRegisterTypes | K::DebugPtx => true,
            // Tables of unified functions and variables, where the link has an index of them.
            K::UnifiedFunctionEntries | K::UnifiedData | K::UnifiedDataEntries => rules.options.unified_index.is_some(),
            _ => false,
        };
        if handed_on && s.header.sh_size.get() != 0 && image.named(s.name).is_empty() {
            found.add(Check::Presence, format!("section {} of {} is missing", text(s.name), input.name));
        }
    }
}
