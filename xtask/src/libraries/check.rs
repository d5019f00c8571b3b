//! What a finished library exports and needs.
//!
//! 1. The exported names are those of the list and no others.
//! 2. ELF: the library's name is right, every symbol has the version node of that name, and no version of glibc after the wanted one is needed.
//! 3. A library of the release profile is small.

use super::{Library, Platform};
use culd_tests::{Error, Result};
use object::read::elf::{FileHeader as _, SectionTable, Sym as _};
use object::{Endianness, Object as _, elf};
use std::path::Path;

/// Largest file that is still a small library.
const SIZE_LIMIT: u64 = 6 << 20;

/// What a library of Linux says of itself.
#[derive(Debug, Default, PartialEq, Eq)]
struct Elf {
    soname: String,
    /// Exported names with their versions.
    exports: Vec<(String, String)>,
    /// The newest version of glibc that a symbol has, as numbers.
    glibc: Vec<u32>,
}

/// Compares the library with what was wanted.
pub(super) fn run(path: &Path, wanted: &Library, platform: Platform<'_>, quick: bool) -> Result<()> {
    let fail = |text: String| Err(Error::Other(format!("{}: {text}", path.display())));
    let bytes = std::fs::read(path).map_err(Error::file(path))?;
    let unreadable = |e: object::Error| Error::Other(format!("{}: {e}", path.display()));
    let (mut found, needs) = match platform {
        Platform::Windows => (dll_exports(&bytes).map_err(unreadable)?, String::new()),
        _ => {
            let library = read_elf(&bytes).map_err(unreadable)?;
            let node = if wanted.node { wanted.name.as_str() } else { "" };
            if library.soname != wanted.name {
                return fail(format!("its name is '{}'", library.soname));
            }
            if let Some((name, version)) = library.exports.iter().find(|(_, version)| version != node) {
                return fail(format!("{name} has the version '{version}'"));
            }
            if let Platform::Glibc { version, .. } = platform
                && library.glibc > numbers(version)
            {
                return fail(format!("needs glibc {:?}", library.glibc));
            }
            let glibc: Vec<String> = library.glibc.iter().map(u32::to_string).collect();
            let names = library.exports.into_iter().map(|(name, _)| name).collect();
            (names, format!(", glibc {}", glibc.join(".")))
        }
    };
    found.sort();
    let mut expected: Vec<String> = wanted.names.iter().map(|(name, _)| name.clone()).collect();
    expected.sort();
    if found != expected {
        let extra: Vec<&String> = found.iter().filter(|n| !expected.contains(n)).take(5).collect();
        let missing: Vec<&String> = expected.iter().filter(|n| !found.contains(n)).take(5).collect();
        return fail(format!("extra names {extra:?}, missing {missing:?}"));
    }
    println!("{}: {} bytes, {} names{needs}", path.display(), bytes.len(), found.len());
    match bytes.len() as u64 > SIZE_LIMIT && !quick {
        true => fail(format!("larger than {SIZE_LIMIT} bytes")),
        false => Ok(()),
    }
}

fn dll_exports(bytes: &[u8]) -> object::Result<Vec<String>> {
    let exports = object::File::parse(bytes)?.exports()?;
    Ok(exports.iter().map(|e| String::from_utf8_lossy(e.name()).into_owned()).collect())
}

fn read_elf(bytes: &[u8]) -> object::Result<Elf> {
    let header = elf::FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections: SectionTable<'_, elf::FileHeader64<Endianness>> = header.sections(endian, bytes)?;
    let symbols = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
    let versions = sections.versions(endian, bytes)?;
    let mut out = Elf {
        soname: soname(&sections, endian, bytes)?,
        ..Elf::default()
    };
    for (index, symbol) in symbols.enumerate() {
        // The node itself is an absolute symbol.
        if symbol.is_undefined(endian) || symbol.st_shndx(endian) == elf::SHN_ABS {
            continue;
        }
        let version = match &versions {
            Some(table) => table.version(table.version_index(endian, index))?,
            None => None,
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let version = version.map_or(String::new(), |v| text(v.name()));
        out.exports.push((text(symbol.name(endian, symbols.strings())?), version));
    }
    if let Some((mut needed, link)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((_, mut versions)) = needed.next()? {
            while let Some(version) = versions.next()? {
                let name = String::from_utf8_lossy(version.name(endian, strings)?).into_owned();
                out.glibc = out.glibc.max(name.strip_prefix("GLIBC_").map(numbers).unwrap_or_default());
            }
        }
    }
    Ok(out)
}

fn soname(sections: &SectionTable<'_, elf::FileHeader64<Endianness>>, endian: Endianness, bytes: &[u8]) -> object::Result<String> {
    use object::read::elf::Dyn as _;
    let Some((entries, link)) = sections.dynamic(endian, bytes)? else {
        return Ok(String::new());
    };
    let strings = sections.strings(endian, bytes, link)?;
    let entry = entries.iter().find(|e| e.tag32(endian) == Some(elf::DT_SONAME));
    let name = entry.map(|e| e.string(endian, strings)).transpose()?;
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

/// `2.17` as numbers, which have an order.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order() {
        assert!(numbers("2.2.5") < numbers("2.17") && numbers("2.34") > numbers("2.28"));
        assert!(numbers("PRIVATE").is_empty());
    }

    #[test]
    fn files_that_are_no_library_are_refused() {
        assert!(read_elf(b"\x7fELF").is_err() && dll_exports(b"MZ").is_err());
    }
}
