//! Definitions that are not part of the link: in files of the command line for other architectures, in objects compiled without `-rdc=true`, in
//! archives of the `-L` directories.
//!
//! 1. Files of the command line are taken apart again. Entries for the target take part in the link already.
//! 2. A host object whose device code is in `.nv_fatbin` alone was compiled as a whole program.
//! 3. Archives of the `-L` directories are read in the order of their names, as long as they are not too large altogether.

use super::facts::{Home, Object};
use cubin::names::file_flags;
use culd_inspect::file::{DeviceFile, Part};
use std::path::{Path, PathBuf};

/// Archives larger than this are not searched, and this much is searched altogether.
const ARCHIVE_LIMIT: u64 = 64 << 20;
const TOTAL_LIMIT: u64 = 256 << 20;
/// The section of device code that cannot be linked again.
const WHOLE_PROGRAM: &str = ".nv_fatbin";

/// Where else to look.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// The target as it was typed.
    pub target: String,
    /// Files of the command line.
    pub inputs: Vec<PathBuf>,
    /// `-L`.
    pub directories: Vec<PathBuf>,
}

/// Something that is defined elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The symbol, by its position in the list of undefined symbols.
    pub symbol: usize,
    /// The file.
    pub file: String,
    /// The architecture, if the file says it.
    pub arch: Option<String>,
}

/// What was found elsewhere.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// In files of the command line, for other architectures.
    pub other_archs: Vec<Definition>,
    /// In executables and shared libraries of the command line.
    pub linked: Vec<Definition>,
    /// Host objects compiled without `-rdc=true`.
    pub whole_programs: Vec<String>,
    /// In archives of the `-L` directories.
    pub archives: Vec<Definition>,
}

impl Elsewhere {
    /// Looks for symbols.
    pub fn search(symbols: &[&str], around: &Surroundings) -> Self {
        let mut found = Elsewhere::default();
        for path in &around.inputs {
            let name = path.to_string_lossy().into_owned();
            let Some(bytes) = read(path, u64::MAX) else { continue };
            let file = DeviceFile::open(&bytes);
            let whole = |p: &Part<'_>| p.row.section.as_deref() == Some(WHOLE_PROGRAM);
            if file.kind == "host object" && !file.parts.is_empty() && file.parts.iter().all(whole) {
                found.whole_programs.push(name.clone());
            }
            if file.kind.starts_with("executable") {
                file.parts
                    .iter()
                    .for_each(|part| definitions(symbols, &name, part, &mut found.linked));
                continue;
            }
            let others = file.parts.iter().filter(|p| p.row.arch.as_deref() != Some(around.target.as_str()));
            for part in others.filter(|p| p.row.arch.is_some()) {
                definitions(symbols, &name, part, &mut found.other_archs);
            }
        }
        let mut total = 0;
        for path in archives(&around.directories) {
            let Some(bytes) = read(&path, ARCHIVE_LIMIT.min(TOTAL_LIMIT - total)) else {
                continue;
            };
            total += bytes.len() as u64;
            let name = path.to_string_lossy().into_owned();
            let file = DeviceFile::open(&bytes);
            for part in file.parts.iter().filter(|p| fits(p, &around.target)) {
                definitions(symbols, &name, part, &mut found.archives);
            }
        }
        found
    }
}

/// An entry for the target; a bare cubin states its architecture itself.
fn fits(part: &Part<'_>, target: &str) -> bool {
    if part.row.section.as_deref() == Some(WHOLE_PROGRAM) {
        return false;
    }
    match &part.row.arch {
        Some(arch) => arch == target,
        None => part.bytes().ok().is_none_or(|bytes| {
            let number: String = target.chars().filter(char::is_ascii_digit).collect();
            cubin::Cubin::parse(&bytes).map_or(true, |c| file_flags(c.header()).sm.to_string() == number)
        }),
    }
}

fn definitions(symbols: &[&str], file: &str, part: &Part<'_>, found: &mut Vec<Definition>) {
    if !part.is_cubin() {
        return;
    }
    let Ok(bytes) = part.bytes() else { return };
    let object = Object::read("", &bytes, &mut 0);
    for (number, symbol) in symbols.iter().enumerate() {
        let is_defined = object.symbol(symbol).is_some_and(|s| s.home != Home::Undefined && !s.is_local());
        let definition = Definition {
            symbol: number,
            file: file.to_owned(),
            arch: part.row.arch.clone(),
        };
        if is_defined && !found.contains(&definition) {
            found.push(definition);
        }
    }
}

fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let meta = std::fs::metadata(path).ok().filter(|m| m.is_file() && m.len() <= limit);
    meta.and_then(|_| std::fs::read(path).ok())
}

fn archives(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for directory in directories {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|e| e.path())
            .filter(|p| p.extension().is_some_and(|e| e == "a"))
            .collect();
        paths.sort();
        all.extend(paths);
    }
    all
}

/// How an archive is named on the command line: `-lX` for `libX.a`.
pub fn library_flag(archive: &str) -> Option<String> {
    let file = Path::new(archive).file_name()?.to_str()?;
    Some(format!("-l{}", file.strip_prefix("lib")?.strip_suffix(".a")?))
}
