//! SHA-256 of files and of results.

use culd_tests::{Error, Result};
use sha2::{Digest as _, Sha256};
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_hash_is_sha_256() {
        assert!(super::hex(b"abc").starts_with("ba7816bf8f01cfea"));
    }
}
