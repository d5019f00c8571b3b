//! The pages that are made from tables must be current.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let page = std::fs::read_to_string(path).unwrap();
    assert!(
        page == culd::cli::help::reference(),
        "write docs/cli.md again with: culd --generate-docs > docs/cli.md"
    );
}

/// docs/json.md lists exactly the names that the JSON report can have.
#[test]
fn the_page_lists_every_message_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(path).unwrap();
    let section = page.split("### Message codes").nth(1).unwrap().split("\n#").next().unwrap();
    let listed: BTreeSet<&str> = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| *word != "code" && *word != "messages")
        .collect();
    let lists = [
        culd::cli::messages::CliMessage::NAMES,
        culd_input::LoadCode::NAMES,
        &culd_base::admission::NAMES,
        culd_engine::Code::NAMES,
    ];
    let known: BTreeSet<&str> = lists.into_iter().flatten().copied().collect();
    let missing: Vec<_> = known.difference(&listed).collect();
    let surplus: Vec<_> = listed.difference(&known).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "missing: {missing:?}, not a code: {surplus:?}"
    );
}

/// docs/users.md: the tests that it names exist, and its sums are right.
#[test]
fn the_answers_to_users_have_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/users.md")).unwrap();
    let mut tests = String::new();
    for directory in ["crates/culd/tests", "crates/libculd/tests"] {
        for entry in std::fs::read_dir(root.join(directory)).unwrap().flatten() {
            tests += &std::fs::read_to_string(entry.path()).unwrap_or_default();
        }
    }
    let tasks = std::fs::read_to_string(root.join("xtask/src/main.rs")).unwrap();
    let mistakes = std::fs::read_to_string(root.join("crates/culd/tests/mistakes.rs")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|l| l.starts_with("| ") && l.as_bytes().get(2).is_some_and(u8::is_ascii_digit))
        .map(|l| l.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect())
        .collect();
    let mut counts = std::collections::BTreeMap::new();
    for row in &rows {
        let [number, _, answer, _, shown] = row.as_slice() else {
            panic!("{row:?}");
        };
        *counts.entry(*answer).or_insert(0) += 1;
        for name in shown.split('`').skip(1).step_by(2) {
            let exists = match name.split_once('/') {
                Some(("mistakes", name)) => {
                    mistakes.contains(&format!("\"{name}\"")) && root.join(format!("tests/mistakes/expect/{name}.txt")).exists()
                }
                Some(("cases", name)) => root.join("tests/cases").join(name).join("cmd").exists(),
                _ if name.starts_with("cargo xtask ") => tasks.contains(name),
                _ => tests.contains(&format!("fn {name}()")),
            };
            assert!(exists, "{number}: {name}");
        }
    }
    assert_eq!(rows.len(), 40);
    let sums = format!("**{} of 40 yes, {} in part, {} no.**", counts["yes"], counts["part"], counts["no"]);
    assert!(page.contains(&sums), "{sums}");
}
