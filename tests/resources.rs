//! The numbers of reports against NVIDIA's `cuobjdump -res-usage`, on what nvlink wrote for the recorded cases.
//!
//! Needs cuobjdump: `CULD_ORACLE` names its directory. Without it only sizes of code are compared, with the section headers.
#![allow(clippy::unwrap_used, reason = "tests")]

use culd_report::{Function, Unit, build};
use culd_tests::elf;
use culd_tests::fixture::Fixture;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every third case is taken: about a hundred files.
const STEP: usize = 3;

/// Linked files of recorded cases, with their names.
fn cubins() -> Vec<(String, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "fixture"));
    files.sort();
    let mut out = Vec::new();
    for file in files.iter().step_by(STEP) {
        let fixture = Fixture::decode(&std::fs::read(file).unwrap()).unwrap();
        for link in fixture
            .links
            .iter()
            .take(1)
            .filter(|l| l.outcome.exit == 0 && !l.args.contains("-r "))
        {
            for (name, bytes) in &link.outcome.files {
                if bytes.starts_with(b"\x7fELF") && bytes.get(4) == Some(&2) {
                    out.push((format!("{}/{name}", file.file_stem().unwrap().to_string_lossy()), bytes.clone()));
                }
            }
        }
    }
    out
}

/// What cuobjdump prints for each function: `REG:24 STACK:UNKNOWN SHARED:0 CONSTANT[0]:536`.
fn usage(cuobjdump: &Path, file: &Path) -> BTreeMap<String, BTreeMap<String, String>> {
    let output = Command::new(cuobjdump).arg("-res-usage").arg(file).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut out = BTreeMap::new();
    let mut function = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Function ") {
            function = Some(name.trim_end_matches(':').to_owned());
        } else if let (true, Some(name)) = (line.starts_with("REG:"), function.take()) {
            let pairs = line.split(' ').filter_map(|w| w.split_once(':'));
            out.insert(name, pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect());
        }
    }
    out
}

/// The same for a function of the report.
fn own(unit: &Unit, f: &Function, bytes: &[u8]) -> BTreeMap<String, String> {
    // cuobjdump counts what the system reserves in sections of shared memory. Those of -ewp kernels with dynamic memory alone are empty.
    let section = format!(".nv.shared.{}", f.name);
    let is_empty = elf::sections(bytes).iter().any(|s| s.name == section.as_bytes() && s.size == 0);
    let has_shared = f.shared > 0 || (f.dynamic_shared && !is_empty);
    let reserved = if unit.sm >= 90 && has_shared { 1024 } else { 0 };
    let mut out = BTreeMap::from([
        ("REG".into(), f.registers.unwrap_or(0).to_string()),
        ("SHARED".into(), (f.shared + reserved).to_string()),
        (
            "STACK".into(),
            if f.stack_unknown {
                "UNKNOWN".into()
            } else {
                f.stack.unwrap_or(0).to_string()
            },
        ),
    ]);
    for [bank, size] in &f.constants {
        out.insert(format!("CONSTANT[{bank}]"), size.to_string());
    }
    out
}

/// False for static functions of one name: cuobjdump and the section names do not tell them apart.
fn has_own_name(unit: &Unit, f: &Function) -> bool {
    unit.functions.iter().filter(|other| other.name == f.name).count() == 1
}

#[test]
fn resources_of_kernels_are_those_of_cuobjdump() {
    let Some(cuobjdump) = std::env::var_os("CULD_ORACLE").map(|d| PathBuf::from(d).join("cuobjdump")) else {
        println!("left out: CULD_ORACLE does not lead to cuobjdump");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (mut compared, mut wrong) = (0, Vec::new());
    for (at, (name, bytes)) in cubins().iter().enumerate() {
        let Ok(unit) = build::unit(name, bytes) else { continue };
        let file = directory.path().join(format!("{at}.cubin"));
        std::fs::write(&file, bytes).unwrap();
        let usage = usage(&cuobjdump, &file);
        for f in unit.functions.iter().filter(|f| f.kernel && has_own_name(&unit, f)) {
            let Some(theirs) = usage.get(&f.name) else { continue };
            compared += 1;
            for (key, value) in own(&unit, f, bytes) {
                let expected = theirs.get(&key).map_or("0", String::as_str);
                if expected != value {
                    wrong.push(format!("{name} {} {key}: cuobjdump {expected}, report {value}", f.name));
                }
            }
        }
    }
    println!("{compared} kernels compared");
    assert!(compared > 50, "only {compared} kernels");
    assert!(
        wrong.is_empty(),
        "{} differences in {compared} kernels:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn sizes_of_code_are_those_of_the_sections() {
    let mut compared = 0;
    for (name, bytes) in cubins() {
        let Ok(unit) = build::unit(&name, &bytes) else { continue };
        let sections = elf::sections(&bytes);
        let texts = sections.iter().filter(|s| s.name.starts_with(b".text.")).count();
        // Functions that share a section are compared by their sum.
        for f in unit
            .functions
            .iter()
            .filter(|f| unit.functions.len() == texts && has_own_name(&unit, f))
        {
            let wanted = format!(".text.{}", f.name);
            let size = sections.iter().find(|s| s.name == wanted.as_bytes()).map(|s| s.size as u64);
            if let Some(size) = size {
                compared += 1;
                assert_eq!(f.code, size, "{name} {}", f.name);
            }
        }
        // Stubs of unified functions share one section.
        let total: u64 = sections
            .iter()
            .filter(|s| s.name.starts_with(b".text.") || s.name == b".nv.uft")
            .map(|s| s.size as u64)
            .sum();
        assert_eq!(unit.code(), total, "{name}");
    }
    assert!(compared > 100, "only {compared} functions");
}
