//! `cargo xtask api`: the public items of every published crate, compared with `docs/api/CRATE.txt`.
//!
//! 1. [`source`] parses the crate from `src/lib.rs` on, following `mod` declarations. Code for tests is left out.
//! 2. [`list`] walks the public modules and re-exports from the root and writes one line per item, field, variant, method and trait
//!    implementation, with its public path. Lines are sorted, so that the order of the source does not matter.
//! 3. The lines are compared with the file in the repository; `--write` replaces the file.
//!
//! Only source text is read: the result does not depend on the compiler, the platform or enabled features. What macros expand to has no source text:
//! a re-exported name that only a macro defines is listed as `pub macro-defined PATH`, without its members.

mod list;
mod render;
mod source;

use crate::context::Context;
use crate::report::Report;
use culd_tests::{Error, Result};
use std::fmt::Write as _;
use std::path::Path;

/// Compares the listing of each published crate with its file, or writes the files.
pub(crate) fn run(context: &Context, write: bool, report: &Report) -> Result<()> {
    let dir = context.root.join("docs/api");
    for (name, source) in published(&context.root)? {
        let listing = list::public_items(&name.replace('-', "_"), &source::Tree::read(&source)?);
        let file = dir.join(format!("{name}.txt"));
        if write {
            std::fs::create_dir_all(&dir).map_err(Error::file(&dir))?;
            std::fs::write(&file, listing).map_err(Error::file(&file))?;
            continue;
        }
        let recorded = std::fs::read_to_string(&file).unwrap_or_default();
        report.named(&format!("public items of {name}"), difference(&recorded, &listing).as_deref());
    }
    Ok(())
}

/// Names and root files of the libraries below `crates/` that are published.
fn published(root: &Path) -> Result<Vec<(String, std::path::PathBuf)>> {
    let crates = root.join("crates");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&crates).map_err(Error::file(&crates))? {
        let dir = entry.map_err(Error::file(&crates))?.path();
        let manifest = dir.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).map_err(Error::file(&manifest))?;
        let lib = dir.join("src/lib.rs");
        let name = text.lines().find_map(|l| l.strip_prefix("name = \"")?.strip_suffix('"'));
        if let Some(name) = name
            && !text.lines().any(|l| l == "publish = false")
            && lib.is_file()
        {
            found.push((name.to_owned(), lib));
        }
    }
    found.sort();
    Ok(found)
}

/// The lines that were added and removed; `None` if there are none.
fn difference(recorded: &str, now: &str) -> Option<String> {
    let mut text = String::new();
    for (sign, from, other) in [('-', recorded, now), ('+', now, recorded)] {
        let others: std::collections::BTreeSet<&str> = other.lines().collect();
        for line in from.lines().filter(|l| !others.contains(l)) {
            let _ = writeln!(text, "{sign} {line}");
        }
    }
    let refresh = "if the change is intended: cargo xtask api --write, and a line in CHANGELOG.md";
    (!text.is_empty()).then(|| format!("{text}{refresh}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn the_difference_names_both_sides() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        let text = difference("a\nb\n", "b\nc\n").unwrap_or_default();
        assert!(text.starts_with("- a\n+ c\n"), "{text}");
    }

    #[test]
    fn the_recorded_interfaces_are_current() {
        let context = Context::new();
        for (name, source) in published(&context.root).expect("the crates are readable") {
            let tree = source::Tree::read(&source).expect("the crate parses");
            let listing = list::public_items(&name.replace('-', "_"), &tree);
            let file = context.root.join(format!("docs/api/{name}.txt"));
            let recorded = std::fs::read_to_string(file).unwrap_or_default();
            assert_eq!(difference(&recorded, &listing), None, "{name}");
        }
    }
}
