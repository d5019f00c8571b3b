//! Mistakes that people make, and what culd says about each: `tests/mistakes/expect` has one text for each line of [`MISTAKES`].
//!
//! The objects are compiled from `tests/mistakes/src` (build.sh). `CULD_BLESS=1` writes the texts. Every link is also made with
//! `--json-report`, and the report has to follow `docs/report.schema.json`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
#![cfg(unix)]

use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Name and arguments.
const MISTAKES: &[(&str, &str)] = &[
    ("missing-object", "-arch=sm_90 main.cubin parts.cubin"),
    ("missing-object-in-archive", "-arch=sm_90 main.cubin parts.cubin -L lib"),
    ("extern-c", "-arch=sm_90 main.cubin parts.cubin cpp_helper.cubin"),
    ("signature", "-arch=sm_90 geo_main.cubin geo_helper.cubin"),
    ("not-rdc", "-arch=sm_90 main.cubin parts.cubin helper_nordc.o"),
    ("device-runtime", "-arch=sm_90 runtime.cubin"),
    (
        "duplicate-function",
        "-arch=sm_90 main.cubin parts.cubin helper.cubin helper2.cubin",
    ),
    (
        "duplicate-variable",
        "-arch=sm_90 main.cubin parts.cubin size40.cubin helper.cubin parts2.cubin",
    ),
    ("given-twice", "-arch=sm_90 main.cubin parts.cubin parts.cubin helper.cubin"),
    ("sizes", "-arch=sm_90 size40.cubin size80.cubin"),
    ("spaces", "-arch=sm_90 size40.cubin space.cubin"),
    ("prototypes", "-arch=sm_90 proto_a.cubin proto_b.cubin"),
    ("wrong-arch-object", "-arch=sm_90 main.cubin parts.cubin helper_80.o helper_80b.o"),
    ("wrong-arch-cubin", "-arch=sm_90 main.cubin parts.cubin helper_80.cubin"),
    ("newer-ptx", "-arch=sm_90 main.cubin parts.cubin helper_ptx100.o"),
    ("shared-memory", "-arch=sm_90 shared.cubin"),
    ("constant-memory", "-arch=sm_90 constants.cubin constants2.cubin"),
    ("registers", "-arch=sm_90 registers.cubin heavy.cubin"),
    ("recursion", "-arch=sm_90 recursion.cubin -v"),
    ("recursion-through-pointer", "-arch=sm_90 recursion.cubin pointer.cubin"),
    ("missing-library", "-arch=sm_90 main.cubin parts.cubin -lnothing -L lib2"),
    ("truncated", "-arch=sm_90 cut.cubin parts.cubin helper.cubin"),
    ("empty-file", "-arch=sm_90 empty.o parts.cubin"),
    ("text-file", "-arch=sm_90 text.o parts.cubin"),
    ("directory", "-arch=sm_90 lib parts.cubin"),
    ("source", "-arch=sm_90 main.cu parts.cubin"),
    ("newer-cuda", "-arch=sm_90 newer.cubin parts.cubin helper.cubin"),
    ("lto-without-flag", "-arch=sm_90 main.cubin parts.cubin helper_lto.o"),
    ("shared-library", "-arch=sm_90 main.cubin parts.cubin libhelper.so"),
    ("already-linked", "-arch=sm_90 linked.cubin parts.cubin"),
    ("typo-flag", "-arch=sm_90 main.cubin --ouput x"),
    ("typo-arch", "-arch=sm_9O main.cubin parts.cubin"),
    (
        "why-live-printed-name",
        "-arch=sm_90 main.cubin parts.cubin helper.cubin --why-live=k(float*,int),midle",
    ),
    ("codes", "-arch=sm_90 main.cubin parts.cubin --show-codes"),
    // With line tables.
    ("source-lines", "-arch=sm_90 lines_90.cubin"),
    ("source-lines-debug", "-arch=sm_90 lines_debug.cubin"),
    ("source-lines-75", "-arch=sm_75 lines_75.cubin"),
    ("source-lines-100", "-arch=sm_100 lines_100.cubin"),
    (
        "unknown-stack-suppressed",
        "-arch=sm_90 recursion.cubin -v --suppress-stack-size-warning",
    ),
    // From threads of users: tests/mistakes/threads.md.
    ("stack-flood", "-arch=sm_90 flood.cubin"),
    ("weak-size-clash", "-arch=sm_90 clash_a.cubin clash_b.cubin"),
    ("library-for-another-arch", "-arch=sm_90 main.cubin parts.cubin lib/libdeep.a"),
    ("arch-flood", "-arch=sm_90 main.cubin parts.cubin @many.txt"),
    (
        "duplicates-across-archives",
        "-arch=sm_90 main.cubin parts.cubin lib4/libone.a lib4/libtwo.a",
    ),
    ("library-not-named", "-arch=sm_90 nvshmem.cubin -L lib"),
    ("undefined-in-ptx", "-arch=sm_90 declared.cubin"),
    ("any-suffix", "-arch=sm_90 main.tmp parts helper.cubin"),
    ("no-inputs", "-arch=sm_90"),
    (
        "newer-device-runtime",
        "-arch=sm_90 main.cubin parts.cubin helper.cubin -lcudadevrt -L lib3",
    ),
    (
        "newer-device-runtime-used",
        "-arch=sm_90 main.cubin parts.cubin -lcudadevrt -L lib3",
    ),
    (
        "empty-archive",
        "-arch=sm_90 main.cubin parts.cubin helper.cubin -lrt -lpthread -L lib3",
    ),
];

/// The same with the optimizer: they need ptxas and libnvJitLink of the directory that CULD_ORACLE names.
const OPTIMIZED: &[(&str, &str)] = &[
    ("lto-missing-object", "-arch=sm_90 -lto main_lto.o parts_lto.o"),
    ("lto-missing-object-in-archive", "-arch=sm_90 -lto main_lto.o parts_lto.o -L lib"),
    (
        "lto-why-live",
        "-arch=sm_90 -lto main_lto.o parts_lto.o helper_lto.o --why-live=c_helper --map=- -v",
    ),
    (
        "lto-partial-why-live",
        "-arch=sm_90 -lto main_lto.o parts_lto.o helper_lto.o --force-partial-lto --why-live=c_helper,middle(float)",
    ),
    (
        "lto-map-of-ptx",
        "-arch=sm_90 -lto main_lto.o parts_lto.o helper_lto.o --emit-ptx --map=-",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory with all inputs.
fn bench() -> TempDir {
    let bench = tempfile::tempdir().unwrap();
    let at = |name: &str| bench.path().join(name);
    for entry in fs::read_dir(root().join("tests/mistakes/objects")).unwrap().flatten() {
        fs::copy(entry.path(), at(&entry.file_name().to_string_lossy())).unwrap();
    }
    fs::copy(root().join("tests/mistakes/src/main.cu"), at("main.cu")).unwrap();
    let copies = [
        ("helper.cubin", "helper2.cubin"),
        ("parts.cubin", "parts2.cubin"),
        ("helper_80.o", "helper_80b.o"),
    ];
    for (from, to) in copies {
        fs::copy(at(from), at(to)).unwrap();
    }
    for directory in ["lib", "lib2", "lib3", "lib4"] {
        fs::create_dir(at(directory)).unwrap();
    }
    fs::rename(at("libhelper.a"), at("lib/libhelper.a")).unwrap();
    fs::rename(at("libdeep.a"), at("lib/libdeep.a")).unwrap();
    for (from, to) in [
        ("lib/libhelper.a", "lib4/libone.a"),
        ("lib/libhelper.a", "lib4/libtwo.a"),
        ("main.cubin", "main.tmp"),
        ("parts.cubin", "parts"),
    ] {
        fs::copy(at(from), at(to)).unwrap();
    }
    let many: Vec<String> = (0..40).map(|n| format!("many/{n}.o")).collect();
    fs::create_dir(at("many")).unwrap();
    for name in &many {
        fs::copy(at("helper_80.o"), at(name)).unwrap();
    }
    fs::write(at("many.txt"), many.join("\n")).unwrap();
    fs::write(at("lib3/librt.a"), b"!<arch>\n").unwrap();
    let main = fs::read(at("main.cubin")).unwrap();
    fs::write(at("cut.cubin"), main.get(..3000).unwrap()).unwrap();
    fs::write(at("empty.o"), b"").unwrap();
    fs::write(at("text.o"), b"not an object\n").unwrap();
    // Format, virtual architecture and toolkit of the note.
    let note = [2u8, 0, 90, 0, 130, 0];
    for (from, to) in [("main.cubin", "newer.cubin"), ("libunused.a", "lib3/libcudadevrt.a")] {
        let mut newer = fs::read(at(from)).unwrap();
        let place = newer.windows(note.len()).position(|w| w == note).unwrap();
        *newer.get_mut(place + 4).unwrap() = 140;
        fs::write(at(to), newer).unwrap();
    }
    let mut library = fs::read(at("helper_80.o")).unwrap();
    *library.get_mut(16).unwrap() = 3;
    fs::write(at("libhelper.so"), library).unwrap();
    symlink(env!("CARGO_BIN_EXE_culd"), at("culd")).unwrap();
    let (exit, said) = run(&bench, "-arch=sm_90 main.cubin parts.cubin helper.cubin -o linked.cubin");
    assert_eq!((exit, said.as_str()), (Some(0), ""));
    bench
}

fn run(bench: &TempDir, line: &str) -> (Option<i32>, String) {
    // No ptxas, whatever is installed.
    let (exit, _, said) = run_with(bench, line, Path::new("/nonexistent/ptxas"));
    (exit, said)
}

/// Exit code, standard output and standard error.
fn run_with(bench: &TempDir, line: &str, ptxas: &Path) -> (Option<i32>, String, String) {
    let mut command = Command::new(bench.path().join("culd"));
    command.args(line.split(' ')).current_dir(bench.path());
    for variable in [
        "LIBRARY_PATH",
        "CULD_FLAGS",
        "CULD_REPORT",
        "CULD_NVLINK_VERSION",
        "CUDA_HOME",
        "CUDA_PATH",
        "CULD_NVJITLINK",
    ] {
        command.env_remove(variable);
    }
    command.env("CULD_PTXAS", ptxas).env("PATH", "/nonexistent");
    let library = ptxas.with_file_name("../lib/libnvJitLink.so.13");
    if library.exists() {
        command.env("CULD_NVJITLINK", library);
    }
    let out = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// Compares what was said with the stored text, or stores it.
fn compare(name: &str, line: &str, exit: Option<i32>, said: &str, wrong: &mut Vec<String>) {
    let text = format!("$ culd {line}\nexit {}\n{said}", exit.unwrap());
    let file = root().join("tests/mistakes/expect").join(format!("{name}.txt"));
    if std::env::var_os("CULD_BLESS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();
    if expected != text {
        wrong.push(format!("{name}: expected\n{expected}got\n{text}"));
    }
}

#[test]
fn mistakes_are_explained() {
    let bench = bench();
    let mut wrong = Vec::new();
    for (name, line) in MISTAKES {
        let (exit, said) = run(&bench, &format!("{line} -o out.cubin"));
        let said = said.replace(bench.path().to_str().unwrap(), "DIR");
        compare(name, line, exit, &said, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_in_optimized_programs_are_explained() {
    let Some(tools) = std::env::var_os("CULD_ORACLE").map(PathBuf::from) else {
        return;
    };
    let bench = bench();
    let mut wrong = Vec::new();
    for (name, line) in OPTIMIZED {
        let (exit, shown, said) = run_with(&bench, &format!("{line} -o out.cubin"), &tools.join("ptxas"));
        compare(name, line, exit, &format!("{said}{shown}"), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_follow_the_schema() {
    let bench = bench();
    let schema: Value = serde_json::from_slice(&fs::read(root().join("docs/report.schema.json")).unwrap()).unwrap();
    let good = ("good", "-arch=sm_90 main.cubin parts.cubin helper.cubin --time-phases");
    let mut hints = 0;
    for (name, line) in MISTAKES.iter().chain([&good]).filter(|(name, _)| !name.starts_with("typo")) {
        let file = bench.path().join("report.json");
        let _ = fs::remove_file(&file);
        run(&bench, &format!("{line} -o out.cubin --json-report=report.json"));
        let report: Value = serde_json::from_slice(&fs::read(&file).unwrap_or_else(|_| panic!("{name}: no report"))).unwrap();
        let mut problems = Vec::new();
        validate(&schema, &report, "report", &mut problems);
        assert!(problems.is_empty(), "{name}: {}", problems.join("; "));
        hints += report["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|m| m["hint"].is_string())
            .count();
    }
    assert!(hints > 10, "{hints} hints");
    let mut problems = Vec::new();
    validate(&schema, &serde_json::json!({"format": 2, "kernels": [{}]}), "report", &mut problems);
    assert!(problems.len() > 10, "the validator must find what is wrong: {problems:?}");
}

/// The part of JSON Schema that the file uses.
fn validate(schema: &Value, value: &Value, place: &str, problems: &mut Vec<String>) {
    let known = [
        "$schema",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "minimum",
    ];
    for key in schema.as_object().unwrap().keys() {
        assert!(known.contains(&key.as_str()), "the validator does not know {key}");
    }
    if let Some(list) = schema["anyOf"].as_array() {
        let fits = |schema: &Value| {
            let mut inner = Vec::new();
            validate(schema, value, place, &mut inner);
            inner.is_empty()
        };
        if !list.iter().any(fits) {
            problems.push(format!("{place} fits none of its schemas"));
        }
    }
    let is = |kind: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        kind => panic!("the validator does not know {kind}"),
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    };
    if !fits {
        problems.push(format!("{place} is not {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|list| !list.contains(value)) || schema.get("const").is_some_and(|c| c != value) {
        problems.push(format!("{place} has the value {value}"));
    }
    if value.as_i64().zip(schema["minimum"].as_i64()).is_some_and(|(v, least)| v < least) {
        problems.push(format!("{place} is too small"));
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        if value.get(key.as_str().unwrap()).is_none() {
            problems.push(format!("{place} lacks {key}"));
        }
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(key) {
            Some(schema) => validate(schema, inner, &format!("{place}.{key}"), problems),
            None if value.is_object() && schema.get("properties").is_some() => problems.push(format!("{place}.{key} is not in the schema")),
            None => {}
        }
    }
    if schema.get("items").is_some() {
        for inner in value.as_array().into_iter().flatten() {
            validate(&schema["items"], inner, &format!("{place}[]"), problems);
        }
    }
}
