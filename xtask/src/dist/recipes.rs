//! The recipes of other package systems, with version, address and checksums filled in.
//!
//! Files `packaging/*/*.in` have `@VERSION@`, `@URL@` (the directory of the release, from `CULD_RELEASE_URL`) and `@SHA256:<file>@`, the
//! checksum of a package in `target/dist/out`, or zeros where it has not been built.

use super::{Place, hash, package};
use culd_tests::{Error, Result};

/// The recipes: template and result.
const RECIPES: [(&str, &str); 3] = [
    ("packaging/homebrew/culd.rb.in", "culd.rb"),
    ("packaging/conda/meta.yaml.in", "meta.yaml"),
    ("packaging/oci/Containerfile.in", "Containerfile"),
];

/// Writes the recipes into `target/dist/recipes`.
pub(super) fn write(place: &Place<'_>) -> Result<()> {
    let url = std::env::var("CULD_RELEASE_URL").unwrap_or_else(|_| "https://example.invalid/culd".into());
    for (template, name) in RECIPES {
        let path = place.context.root.join(template);
        let text = std::fs::read_to_string(&path).map_err(Error::file(&path))?;
        let text = text
            .replace("@VERSION@", &place.version)
            .replace("@URL@", url.trim_end_matches('/'));
        package::write(&place.work.join("recipes").join(name), &with_sums(place, &text))?;
    }
    Ok(())
}

fn with_sums(place: &Place<'_>, text: &str) -> String {
    let mut parts = text.split("@SHA256:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (file, rest) = part.split_once('@').unwrap_or(("", part));
        let sum = std::fs::read(place.out.join(file)).map_or_else(|_| "0".repeat(64), |bytes| hash::hex(&bytes));
        out.push_str(&sum);
        out.push_str(rest);
    }
    out
}
