//! The reference page must say what the flag table says.
#![allow(clippy::unwrap_used, reason = "tests")]

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
