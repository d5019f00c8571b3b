//! The viewer: a page with reader and linker inside.
//!
//! 1. The crate culd-viewer is compiled to WebAssembly; the target is installed when rustup is there.
//! 2. The module is packed by gzip and written into the page in base64, so that the page works from a disk, too.

use crate::context::{Context, succeed};
use culd_tests::{Error, Result};
use std::path::PathBuf;
use std::process::Command;

const TARGET: &str = "wasm32-unknown-unknown";
/// Most bytes of the packed module.
const LIMIT: usize = 3 << 20;

/// Writes the page; its path.
pub(crate) fn run(context: &Context) -> Result<PathBuf> {
    // Where it is installed already, or where there is no rustup, the build decides.
    let _ = Command::new("rustup").args(["target", "add", TARGET]).output();
    succeed(
        context
            .cargo()
            .args(["build", "--quiet", "--profile", "viewer", "--target", TARGET, "-p", "culd-viewer"]),
    )?;
    let module = context.target.join(TARGET).join("viewer/culd_viewer.wasm");
    let raw = std::fs::read(&module).map_err(Error::file(&module))?;
    let packed = Command::new("gzip").args(["-9nc"]).arg(&module).output();
    let packed = packed.map_err(|source| Error::Start {
        tool: "gzip".into(),
        source,
    })?;
    let packed = packed.stdout;
    println!("reader and linker: {} bytes, {} packed", raw.len(), packed.len());
    if packed.len() > LIMIT || packed.is_empty() {
        return Err(Error::Other(format!(
            "the packed module has {} bytes, at most {LIMIT} are allowed",
            packed.len()
        )));
    }
    let directory = context.target.join("viewer");
    std::fs::create_dir_all(&directory).map_err(Error::file(&directory))?;
    let page = directory.join("index.html");
    std::fs::write(&page, culd_report::page::viewer(&base64(&packed))).map_err(Error::file(&page))?;
    Ok(page)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS.get((word >> (18 - 6 * at) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if at <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn as_everybody_writes_it() {
        for (bytes, text) in [("", ""), ("M", "TQ=="), ("Ma", "TWE="), ("Man", "TWFu"), ("Many", "TWFueQ==")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
