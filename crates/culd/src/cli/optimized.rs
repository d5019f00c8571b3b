//! What link-time optimization made of the whole program: no phase of the link describes it, so the finished cubin is read.

use crate::cli::report::{OutputFunction, OutputSection, Report};
use cubin::Cubin;
use cubin::consts::{STO_CUDA_ENTRY, STT_FUNC, STT_SECTION};
use culd_engine::ResourceUsage;
use culd_engine::explain::map::{LinkMap, MapSection, MapSymbol, SymbolKind};
use culd_engine::usage::{ConstantBank, KernelUsage};
use culd_report::Unit;
use culd_report::build;

/// Reads a finished image; nothing for PTX.
pub fn read(image: &[u8]) -> Option<Unit> {
    build::unit("", image).ok()
}

/// Memory and kernels of an image.
pub fn usage(unit: &Unit) -> ResourceUsage {
    let named = |prefix: &'static str| unit.sections.iter().filter(move |s| s.name.starts_with(prefix));
    let bank = |name: &str| name.strip_prefix(".nv.constant")?.parse().ok();
    let banks = named(".nv.constant").filter_map(|s| {
        Some(ConstantBank {
            bank: bank(&s.name)?,
            size: s.size,
        })
    });
    let mut usage = ResourceUsage::default();
    usage.memory.global = named(".nv.global").map(|s| s.size).sum();
    usage.memory.constant_banks = banks.collect();
    usage.kernels = unit.functions.iter().filter(|f| f.kernel).map(kernel).collect();
    usage
}

fn kernel(f: &culd_report::Function) -> KernelUsage {
    let bank = |[bank, size]: &[u64; 2]| ConstantBank {
        bank: u32::try_from(*bank).unwrap_or_default(),
        size: *size,
    };
    let mut usage = KernelUsage::default();
    usage.name = f.name.clone();
    usage.registers = f.registers.unwrap_or(0);
    usage.barriers = f.barriers;
    usage.stack = f.stack.unwrap_or(0).into();
    usage.stack_is_unknown = f.stack_unknown;
    usage.shared = f.shared;
    usage.constant_banks = f.constants.iter().map(bank).collect();
    usage
}

/// Adds functions and sections to a report.
pub fn describe(unit: &Unit, report: &mut Report) {
    let functions = unit.functions.iter().map(|f| OutputFunction {
        name: f.name.clone(),
        demangled: f.demangled.clone(),
        kernel: f.kernel,
        size: f.code,
        input: None,
    });
    report.functions = functions.collect();
    let sections = unit.sections.iter().map(|s| OutputSection {
        name: s.name.clone(),
        size: s.size,
    });
    report.sections = sections.collect();
}

/// Sections and symbols of an image. What came from which input, and what was dropped, is known to the optimizer only.
pub fn map(image: &[u8]) -> Option<LinkMap> {
    let cubin = Cubin::parse(image).ok()?;
    let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut map = LinkMap::default();
    map.sections.extend(cubin.sections().skip(1).flatten().map(|section| MapSection {
        name: name(section.name),
        offset: section.header.sh_offset.get(),
        size: section.header.sh_size.get(),
        align: section.header.sh_addralign.get(),
        pieces: Vec::new(),
        symbols: Vec::new(),
    }));
    for symbol in cubin.symbols().flatten().filter(|s| s.entry.kind() != STT_SECTION) {
        let number = symbol.section.index().and_then(|i| i.checked_sub(1));
        let Some(section) = number.and_then(|i| map.sections.get_mut(i as usize)) else {
            continue;
        };
        section.symbols.push(MapSymbol {
            name: name(symbol.name),
            offset: symbol.entry.st_value.get(),
            size: symbol.entry.st_size.get(),
            input: None,
            kind: match symbol.entry.kind() {
                STT_FUNC if symbol.entry.st_other & STO_CUDA_ENTRY != 0 => SymbolKind::Kernel,
                STT_FUNC => SymbolKind::Function,
                _ => SymbolKind::Variable,
            },
        });
    }
    for section in &mut map.sections {
        section.symbols.sort_by_key(|s| s.offset);
    }
    Some(map)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_finished_image_has_usage_and_functions() {
        let path = format!("{}/../../examples/saxpy/nvlink.cubin", env!("CARGO_MANIFEST_DIR"));
        let unit = read(&std::fs::read(path).unwrap()).unwrap();
        let usage = usage(&unit);
        assert!(!usage.kernels.is_empty());
        assert!(usage.kernels.iter().all(|k| k.registers > 0 && !k.constant_banks.is_empty()));
        let mut report = Report::unlinked("sm_90".into());
        describe(&unit, &mut report);
        assert_eq!(report.functions.iter().filter(|f| f.kernel).count(), usage.kernels.len());
        assert!(report.sections.iter().any(|s| s.name.starts_with(".text.")));
        assert!(read(b".version 8.0").is_none());
    }

    #[test]
    fn a_finished_image_has_a_map() {
        let path = format!("{}/../../examples/saxpy/nvlink.cubin", env!("CARGO_MANIFEST_DIR"));
        let image = std::fs::read(path).unwrap();
        let map = map(&image).unwrap();
        let unit = read(&image).unwrap();
        for f in &unit.functions {
            let named = format!(".text.{}", f.name);
            let section = map.sections.iter().find(|s| s.name == named).unwrap();
            let symbol = section.symbols.iter().find(|s| s.name == f.name).unwrap();
            assert_eq!(symbol.kind == SymbolKind::Kernel, f.kernel);
            assert_eq!(symbol.size, f.code);
        }
        assert!(map.sections.iter().all(|s| s.pieces.is_empty()));
        assert!(super::map(b".version 8.0").is_none());
    }
}
