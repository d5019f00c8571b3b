//! The commands that show sizes and resources, as processes: what they print and how they end.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/saxpy").join(name)
}

fn culd(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_culd")).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_link_has_a_page_also_when_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["saxpy.cubin", "combine.cubin"].map(|n| example(n).to_string_lossy().into_owned());
    let [out, page] = ["out.cubin", "page.html"].map(|n| dir.path().join(n).to_string_lossy().into_owned());
    let good = culd(&["-arch=sm_90", &a, &b, "-o", &out, "--html", &page]);
    assert!(good.status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"status\":\"linked\"") && html.contains("\"demangled\":\"combine(float, float, float)\""));
    // Without the other object: the page has the message.
    let bad = culd(&["-arch=sm_90", &a, "-o", &out, "--html", &page]);
    assert!(!bad.status.success());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"status\":\"errors\"") && html.contains("UndefinedReference"));
}

#[test]
fn sizes_add_up() {
    let file = example("nvlink.cubin").to_string_lossy().into_owned();
    let output = culd(&["size", &file, "--by", "function,family", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for table in json["tables"].as_array().unwrap() {
        let rows = table["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|r| r["size"].as_u64().unwrap()).sum();
        assert_eq!(table["total"].as_u64(), Some(sum));
        assert_eq!(rows.len(), 2);
    }
    assert!(text(&culd(&["size", &file, "--top", "1"])).lines().count() == 3);
    assert_eq!(culd(&["size", &file, "--by", "colour"]).status.code(), Some(1));
}

#[test]
fn budgets_decide_the_exit_code() {
    let [a, b] = ["saxpy.cubin", "nvlink.cubin"].map(|n| example(n).to_string_lossy().into_owned());
    assert_eq!(culd(&["diff", "--sizes", &a, &b]).status.code(), Some(0));
    let over = culd(&["diff", "--sizes", &a, &b, "--fail-above", "1%"]);
    assert_eq!(over.status.code(), Some(1));
    assert!(text(&over).contains("over budget: all code grew by"));
    assert_eq!(culd(&["diff", "--sizes", &a, &a, "--fail-above", "0"]).status.code(), Some(0));
    assert_eq!(culd(&["diff", "--sizes", &a, "/nonexistent"]).status.code(), Some(2));
}

#[test]
fn tables_of_kernels_and_occupancy() {
    let file = example("nvlink.cubin").to_string_lossy().into_owned();
    let kernels = text(&culd(&["dump", "--kernels", &file]));
    assert!(kernels.lines().nth(2).unwrap().starts_with("saxpy "), "{kernels}");
    let output = culd(&["occupancy", &file, "--json", "--block", "256"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["kernels"][0]["occupancy"][0]["threads"], 256);
    assert!(json["kernels"][0]["occupancy"][0]["blocks"].as_u64().unwrap() > 0);
    assert_eq!(culd(&["occupancy", &file, "--block", "2000"]).status.code(), Some(1));
}

#[test]
fn the_manual_page_and_completions_are_printed() {
    assert!(text(&culd(&["--generate-man"])).contains(".SH OPTIONS"));
    for shell in ["bash", "fish", "zsh"] {
        assert!(text(&culd(&["--generate-completions", shell])).contains("culd"), "{shell}");
    }
    assert!(!culd(&["--generate-completions", "tcsh"]).status.success());
}
