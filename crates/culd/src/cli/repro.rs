//! `--save-repro`: a directory with everything that is needed to repeat a link elsewhere, byte for byte.
//!
//! 1. The directory must be new or empty.
//! 2. Each input is copied as `<number>-<name>`: equal names from different directories stay apart, suffixes stay. Standard input is the file
//!    `<number>-stdin`. A `-l` library is copied as `lib/lib<name>.a`: the first directory of `-L` that has a name decides, so names are different.
//!    A thin archive is copied as a regular one with its members.
//! 3. `response.txt` spells the command line again: every flag that changes the result, whether it came from the command line, a response file or
//!    `CULD_FLAGS`, the copies in place of the files, and `out/<name>` as output.
//! 4. The note of the output states the command line, whose paths are different in the repetition: `--recorded-options` states the original.
//! 5. `README.txt` has the version, the original command line, the directory and the variables that culd reads.
//!
//! `cd <directory> && env -u CULD_FLAGS culd @response.txt` repeats the link. ptxas and libnvJitLink are not copied.

use crate::cli::flags::{self, Id};
use crate::cli::messages::CliMessage;
use crate::cli::parse::{LowArgs, Value};
use crate::cli::{note, os};
use culd_input::archive;
use std::fs;
use std::io;
use std::io::Read as _;
use std::path::Path;

/// Name of the response file.
pub const RESPONSE: &str = "response.txt";
/// Name of the file for people.
const README: &str = "README.txt";
/// Directory of the libraries.
const LIBRARIES: &str = "lib";
/// Directory of the output.
const OUT: &str = "out";

/// Flags that are not spelled again: replaced by what they led to, or without influence on the result.
const LEFT_OUT: [Id; 13] = [
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
    Id::RecordedOptions,
];

/// Variables that may change a link.
const VARIABLES: [&str; 6] = [
    "CULD_FLAGS",
    "CULD_PTXAS",
    "CULD_NVJITLINK",
    "LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
];

/// What the link read.
#[derive(Debug, Clone, Copy)]
pub struct Opened<'a> {
    /// Files that the loader opened, in order.
    pub files: &'a [Vec<u8>],
    /// What standard input had.
    pub standard_input: Option<&'a [u8]>,
    /// The command line that the note of the output states.
    pub command_line: &'a [u8],
}

/// Saves a link.
pub fn save(directory: &[u8], low: &LowArgs, opened: &Opened<'_>) -> Result<(), CliMessage> {
    let directory = os::path(directory);
    let problem = |path: &Path, e: io::Error| CliMessage::Own(format!("cannot save the reproduction: {}: {e}", path.display()));
    fs::create_dir_all(&directory).map_err(|e| problem(&directory, e))?;
    if fs::read_dir(&directory).map_err(|e| problem(&directory, e))?.next().is_some() {
        return Err(problem(&directory, io::Error::other("the directory is not empty")));
    }
    for inner in [LIBRARIES, OUT] {
        fs::create_dir(directory.join(inner)).map_err(|e| problem(&directory, e))?;
    }
    let named = [Id::UnifiedIndex, Id::HostFile]
        .into_iter()
        .filter_map(|id| low.text(id))
        .map(<[u8]>::to_vec);
    let mut copies = Copies::default();
    for file in opened.files.iter().cloned().chain(named) {
        if let Some(name) = copies.add(file.clone(), low) {
            let (from, to) = (os::path(&file), directory.join(os::path(&name)));
            let done = match opened.standard_input.filter(|_| file == STDIN) {
                Some(bytes) => fs::write(&to, bytes),
                None => match whole_archive(&from) {
                    Some(archive) => fs::write(&to, archive),
                    None => fs::copy(&from, &to).map(drop),
                },
            };
            match done {
                Ok(()) => {}
                // What the link cannot read either is part of the story.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(problem(&from, e)),
            }
        }
    }
    for (name, text) in [(RESPONSE, response_text(low, opened, &copies)), (README, readme())] {
        let path = directory.join(name);
        fs::write(&path, text).map_err(|e| problem(&path, e))?;
    }
    Ok(())
}

/// A thin archive together with its members.
fn whole_archive(path: &Path) -> Option<Vec<u8>> {
    let mut magic = [0; THIN.len()];
    fs::File::open(path).ok()?.read_exact(&mut magic).ok()?;
    if magic != *THIN {
        return None;
    }
    let directory = path.parent().unwrap_or(Path::new(""));
    archive::with_members(&fs::read(path).ok()?, |member| fs::read(directory.join(os::path(member))).ok())
}

/// How a thin archive starts.
const THIN: &[u8; 8] = b"!<thin>\n";

/// How standard input is named on a command line.
const STDIN: &[u8] = b"-";

/// Which file became which copy.
#[derive(Debug, Default)]
struct Copies(Vec<(Vec<u8>, Vec<u8>)>);

impl Copies {
    /// Names a copy; nothing when the file has one already.
    fn add(&mut self, file: Vec<u8>, low: &LowArgs) -> Option<Vec<u8>> {
        if self.0.iter().any(|(original, _)| *original == file) {
            return None;
        }
        let base = if file == STDIN { b"stdin" } else { note::file_name(&file) };
        let is_library = |l: &Vec<u8>| [b"lib", l.as_slice(), b".a"].concat() == base;
        let name = match !low.inputs.contains(&file) && low.list(Id::Library).iter().any(is_library) {
            true => [LIBRARIES.as_bytes(), b"/", base].concat(),
            false => [format!("{:03}-", self.0.len()).as_bytes(), base].concat(),
        };
        self.0.push((file, name.clone()));
        Some(name)
    }

    /// The copy of a file, or the file itself.
    fn of<'a>(&'a self, file: &'a [u8]) -> &'a [u8] {
        self.0.iter().find(|(original, _)| original == file).map_or(file, |(_, copy)| copy)
    }
}

fn response_text(low: &LowArgs, opened: &Opened<'_>, copies: &Copies) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    for flag in flags::all().filter(|f| !LEFT_OUT.contains(&f.id)) {
        let Some(value) = low.get(flag.id) else { continue };
        let value = match value {
            Value::On => None,
            Value::Text(text) if matches!(flag.id, Id::UnifiedIndex | Id::HostFile) => Some(copies.of(text).to_vec()),
            Value::Text(text) if matches!(flag.id, Id::Ptxas | Id::NvJitLink | Id::NvvmPath) => Some(absolute(text)),
            Value::Text(text) => Some(text.clone()),
            Value::Number(n) => Some(n.to_string().into_bytes()),
            Value::Boolean(b) => Some(b.to_string().into_bytes()),
            Value::List(items) => Some(list(items)),
        };
        lines.push(spelled(flag.long, value));
    }
    if !low.list(Id::Library).is_empty() {
        lines.push(spelled("library", Some(list(low.list(Id::Library)))));
        lines.push(spelled("library-path", Some(LIBRARIES.into())));
    }
    let output = low.text(Id::Output).filter(|o| *o != STDIN).unwrap_or(b"out.cubin");
    let output = [OUT.as_bytes(), b"/", note::file_name(output)].concat();
    lines.push(spelled("output-file", Some(output)));
    lines.push(spelled("recorded-options", Some(opened.command_line.to_vec())));
    lines.extend(low.inputs.iter().map(|i| copies.of(i).to_vec()));
    let mut text = Vec::new();
    for line in lines {
        quote_into(&mut text, &line);
        text.push(b'\n');
    }
    text
}

fn spelled(name: &str, value: Option<Vec<u8>>) -> Vec<u8> {
    let name = format!("--{name}").into_bytes();
    match value {
        Some(value) => [name, value].join(&b'='),
        None => name,
    }
}

/// A list whose items may have commas: quotes keep them inside.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let quoted: Vec<Vec<u8>> = items.iter().map(|i| [b"\"", i.as_slice(), b"\""].concat()).collect();
    quoted.join(&b',')
}

/// A path that is the same in every directory.
fn absolute(path: &[u8]) -> Vec<u8> {
    std::path::absolute(os::path(path)).map_or_else(|_| path.to_vec(), |p| os::bytes(p.as_os_str()))
}

fn readme() -> Vec<u8> {
    let mut text = format!(
        "A link of culd {}. To repeat it, byte for byte:\n\n  env -u CULD_FLAGS culd @{RESPONSE}\n\nptxas and libnvJitLink are not part of it.\n\nCommand:\n",
        env!("CARGO_PKG_VERSION")
    )
    .into_bytes();
    for argument in std::env::args_os() {
        text.extend_from_slice(b"  ");
        text.extend(os::into_bytes(argument));
        text.push(b'\n');
    }
    text.extend_from_slice(b"\nDirectory:\n  ");
    text.extend(std::env::current_dir().map(|d| os::bytes(d.as_os_str())).unwrap_or_default());
    text.extend_from_slice(b"\n\nEnvironment:\n");
    for (name, value) in VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))) {
        text.extend_from_slice(format!("  {name}=").as_bytes());
        text.extend(os::into_bytes(value));
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
            b"z/y".to_vec(),
            input.clone(),
            b"-".to_vec(),
            b"-r".to_vec(),
        ];
        let low = crate::cli::parse::parse(args.to_vec(), Identity::Culd, &mut Vec::new()).unwrap();
        let files = [library.clone(), input.clone(), b"-".to_vec(), library.clone()];
        let opened = Opened {
            files: &files,
            standard_input: Some(b"in"),
            command_line: b"-arch sm_90 -l \"x\" ",
        };
        save(&directory, &low, &opened).unwrap();
        let read = |name: &str| fs::read(os::path(&directory).join(name)).unwrap();
        assert_eq!(
            (read("001-a.cubin"), read("lib/libx.a"), read("002-stdin")),
            (b"x".to_vec(), b"x".to_vec(), b"in".to_vec())
        );
        let again = [[b"@", directory.as_slice(), b"/response.txt"].concat()];
        let again = crate::cli::parse::parse(again.to_vec(), Identity::Culd, &mut Vec::new()).unwrap();
        assert_eq!(*again.inputs, [b"001-a.cubin".to_vec(), b"002-stdin".to_vec()]);
        assert_eq!(again.list(Id::KernelsUsed), [b"a,b".to_vec(), b"c".to_vec()]);
        assert_eq!(again.list(Id::Library), [b"x".to_vec()]);
        assert_eq!(again.list(Id::LibraryPath), [b"lib".to_vec()]);
        assert_eq!(again.text(Id::Output), Some(&b"out/y"[..]));
        assert_eq!(again.text(Id::RecordedOptions), Some(opened.command_line));
        assert!(again.has(Id::Relocatable));
        assert!(save(&directory, &low, &opened).is_err(), "a directory that is in use is left alone");
    }
}
