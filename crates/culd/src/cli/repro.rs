//! `--save-repro`: a directory with everything that is needed to repeat a link elsewhere.
//!
//! 1. The directory must be new or empty.
//! 2. Each file that the link read is copied as `<number>-<name>`: equal names from different directories stay apart, suffixes stay.
//! 3. `response.txt` spells the command line again: every flag that changes the result, the copies in place of the files, libraries
//!    as the archives that were found, `out.cubin` as output.
//!
//! `cd <directory> && culd @response.txt` repeats the link.

use crate::cli::flags::{self, Id};
use crate::cli::messages::CliMessage;
use crate::cli::parse::{LowArgs, Value};
use crate::cli::{note, os};
use std::fs;
use std::io;
use std::path::Path;

/// Name of the response file.
pub const RESPONSE: &str = "response.txt";

/// Flags that are not spelled again: replaced by what they led to, or without influence on the result.
const LEFT_OUT: [Id; 12] = [
    Id::Output,
    Id::Library,
    Id::LibraryPath,
    Id::OptionsFile,
    Id::SaveRepro,
    Id::DependencyFile,
    Id::RegisterFile,
    Id::DotFile,
    Id::Time,
    Id::JsonReport,
    Id::Html,
    Id::Map,
];

/// Saves a link: `files` are those that the loader opened, in order.
pub fn save(directory: &[u8], low: &LowArgs, files: &[Vec<u8>]) -> Result<(), CliMessage> {
    let directory = os::path(directory);
    let problem = |path: &Path, e: io::Error| CliMessage::Own(format!("cannot save the reproduction: {}: {e}", path.display()));
    fs::create_dir_all(&directory).map_err(|e| problem(&directory, e))?;
    if fs::read_dir(&directory).map_err(|e| problem(&directory, e))?.next().is_some() {
        return Err(problem(&directory, io::Error::other("the directory is not empty")));
    }
    let named = [Id::UnifiedIndex, Id::HostFile]
        .into_iter()
        .filter_map(|id| low.text(id))
        .map(<[u8]>::to_vec);
    let mut copies = Copies::default();
    for file in files.iter().cloned().chain(named) {
        if let Some(name) = copies.add(file.clone()) {
            let from = os::path(&file);
            match fs::copy(&from, directory.join(os::path(&name))) {
                Ok(_) => {}
                // What the link cannot read either is part of the story.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(problem(&from, e)),
            }
        }
    }
    let response = directory.join(RESPONSE);
    fs::write(&response, response_text(low, files, &copies)).map_err(|e| problem(&response, e))
}

/// Which file became which copy.
#[derive(Debug, Default)]
struct Copies(Vec<(Vec<u8>, Vec<u8>)>);

impl Copies {
    /// Names a copy; nothing when the file has one already.
    fn add(&mut self, file: Vec<u8>) -> Option<Vec<u8>> {
        if self.0.iter().any(|(original, _)| *original == file) {
            return None;
        }
        let name = [format!("{:03}-", self.0.len()).as_bytes(), note::file_name(&file)].concat();
        self.0.push((file, name.clone()));
        Some(name)
    }

    /// The copy of a file, or the file itself.
    fn of<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        self.0.iter().find(|(original, _)| original == file).map_or(file, |(_, copy)| copy)
    }
}

fn response_text(low: &LowArgs, files: &[Vec<u8>], copies: &Copies) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for flag in flags::all().filter(|f| !LEFT_OUT.contains(&f.id)) {
        let Some(value) = low.get(flag.id) else { continue };
        let value = match value {
            Value::On => None,
            Value::Text(text) if matches!(flag.id, Id::UnifiedIndex | Id::HostFile) => Some(copies.of(text).to_vec()),
            Value::Text(text) => Some(text.clone()),
            Value::Number(n) => Some(n.to_string().into_bytes()),
            Value::Boolean(b) => Some(b.to_string().into_bytes()),
            // Quotes keep commas inside an item.
            Value::List(items) => Some(
                items
                    .iter()
                    .map(|i| [b"\"", i.as_slice(), b"\""].concat())
                    .collect::<Vec<_>>()
                    .join(&b','),
            ),
        };
        let name = format!("--{}", flag.long).into_bytes();
        lines.push(match value {
            Some(value) => [name, value].join(&b'='),
            None => name,
        });
    }
    lines.push(b"--output-file=out.cubin".to_vec());
    lines.extend(low.inputs.iter().map(|i| copies.of(i).to_vec()));
    // Libraries come after all inputs, as -l has them.
    let libraries = files.iter().filter(|f| !low.inputs.contains(f) && f.ends_with(b".a"));
    lines.extend(libraries.map(|f| copies.of(f).to_vec()));
    let mut text = Vec::new();
    for line in lines {
        quote_into(&mut text, &line);
        text.push(b'\n');
    }
    text
}

/// Protects an argument for a response file.
fn quote_into(out: &mut Vec<u8>, argument: &[u8]) {
    out.push(b'"');
    for &b in argument {
        if b == b'"' || b == b'\\' {
            out.push(b'\\');
        }
        out.push(b);
    }
    out.push(b'"');
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use culd_engine::Identity;

    #[test]
    fn the_response_file_repeats_the_link() {
        let work = tempfile::tempdir().unwrap();
        let file = |name: &str| os::bytes(work.path().join(name).as_os_str());
        let (input, library, directory) = (file("a.cubin"), file("libx.a"), file("repro"));
        for path in [&input, &library] {
            fs::write(os::path(path), "x").unwrap();
        }
        let args = [
            b"-arch=sm_90".to_vec(),
            b"-lx".to_vec(),
            b"-kernels-used=\"a,b\",c".to_vec(),
            b"-o".to_vec(),
            b"y".to_vec(),
            input.clone(),
            b"-r".to_vec(),
        ];
        let low = crate::cli::parse::parse(&args, Identity::Culd, &mut Vec::new()).unwrap();
        save(&directory, &low, &[library.clone(), input.clone()]).unwrap();
        assert_eq!(fs::read(os::path(&directory).join("001-a.cubin")).unwrap(), b"x");
        let again = [[b"@", directory.as_slice(), b"/response.txt"].concat()];
        let again = crate::cli::parse::parse(&again, Identity::Culd, &mut Vec::new()).unwrap();
        assert_eq!(again.inputs, [b"001-a.cubin".to_vec(), b"000-libx.a".to_vec()]);
        assert_eq!(again.list(Id::KernelsUsed), [b"a,b".to_vec(), b"c".to_vec()]);
        assert!(again.has(Id::Relocatable) && !again.has(Id::Library));
        assert!(save(&directory, &low, &[]).is_err(), "a directory that is in use is left alone");
    }
}
