//! SHA-256 of files and of results, and whether all platforms agree.

use culd_tests::{Error, Result};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// SHA-256 as hexadecimal text.
pub(super) fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes `SHA256SUMS` for the files of a directory.
pub(super) fn sums(dir: &Path) -> Result<()> {
    const NAME: &str = "SHA256SUMS";
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
        let path = entry.map_err(Error::file(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_file() && name != NAME {
            lines.push((name, hex(&std::fs::read(&path).map_err(Error::file(&path))?)));
        }
    }
    lines.sort();
    let text: String = lines.iter().map(|(name, hash)| format!("{hash}  {name}\n")).collect();
    std::fs::write(dir.join(NAME), text).map_err(Error::file(dir))
}

/// The recorded links of all platforms: each must have one hash.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    /// Files replayed on each.
    platforms: BTreeMap<String, usize>,
    /// Platforms by link and hash.
    links: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Agreement {
    fn add(&mut self, platform: &str, list: &str) {
        self.platforms.insert(platform.into(), list.lines().count());
        for (link, hash) in list.lines().filter_map(|line| line.rsplit_once(' ')) {
            let platforms = self.links.entry(link.into()).or_default().entry(hash.into()).or_default();
            platforms.insert(platform.into());
        }
    }

    fn disagreeing(&self) -> Vec<&str> {
        let several = self.links.iter().filter(|(_, hashes)| hashes.len() > 1);
        several.map(|(link, _)| link.as_str()).collect()
    }

    /// The result in words.
    pub(super) fn line(&self) -> String {
        let platforms: Vec<String> = self.platforms.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let (all, bad) = (self.links.len(), self.disagreeing().len());
        let on = platforms.join(", ");
        format!(
            "Recorded files with one hash of all their results wherever they were replayed: {} of {all} ({on})",
            all - bad
        )
    }

    /// The links that differ.
    pub(super) fn failure(&self) -> Option<String> {
        let bad = self.disagreeing();
        (!bad.is_empty()).then(|| bad.join("\n"))
    }
}

/// Compares the lists `links-PLATFORM.txt` of a directory.
pub(super) fn agreement(dir: &Path) -> Result<Agreement> {
    let mut agreement = Agreement::default();
    for entry in std::fs::read_dir(dir).map_err(Error::file(dir))? {
        let path = entry.map_err(Error::file(dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(platform) = name.strip_prefix("links-").and_then(|n| n.strip_suffix(".txt")) {
            agreement.add(platform, &std::fs::read_to_string(&path).map_err(Error::file(&path))?);
        }
    }
    Ok(agreement)
}

#[cfg(test)]
mod tests {
    use super::Agreement;

    #[test]
    fn platforms_that_differ_are_found() {
        let mut agreement = Agreement::default();
        agreement.add("one", "a 11\nb 22");
        agreement.add("two", "a 11");
        assert!(agreement.failure().is_none());
        assert!(agreement.line().contains("2 of 2 (one 2, two 1)"));
        agreement.add("three", "b 23");
        assert_eq!(agreement.failure().as_deref(), Some("b"));
        assert!(agreement.line().contains("1 of 2"));
    }

    #[test]
    fn the_hash_is_sha_256() {
        assert!(super::hex(b"abc").starts_with("ba7816bf8f01cfea"));
    }
}
