//! The pages that are made from tables must be current.
#![allow(clippy::unwrap_used, reason = "tests")]

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
