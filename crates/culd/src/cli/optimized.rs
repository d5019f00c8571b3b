//! What link-time optimization made of the whole program: no phase of the link describes it, so the finished cubin is read.

use crate::cli::report::{OutputFunction, OutputSection, Report};
use culd_engine::ResourceUsage;
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
}
