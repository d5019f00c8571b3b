//! The device objects in a file: cubin, fatbin, host object, executable, shared library, archive.
//!
//! 1. Recognise the file by its content.
//! 2. An archive is its members, each taken apart the same way.
//! 3. A host file is the containers in its device code sections; without section headers the bytes are searched for containers.
//! 4. A container is its entries. Entries are unpacked only when requested.

use crate::names;
use crate::view::{Problem, View};
use cubin::fatbin::{Compression, DEFAULT_LIMIT, Entry, EntryKind, FLAG_NAMES, Fatbin, MAGIC};
use culd_input::archive::Members;
use culd_input::detect::FileKind;
use serde::Serialize;
use std::borrow::Cow;

/// Sections of host files that hold containers: code for device linking, and linked code.
const CONTAINERS: [&[u8]; 2] = [b"__nv_relfatbin", b".nv_fatbin"];

/// What a part of a file is, for tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartRow {
    /// Member, number of the entry and architecture; empty for a file that is one cubin.
    pub name: String,
    /// `cubin`, `ptx`, `lto`, `mercury`, or a number.
    pub kind: Cow<'static, str>,
    /// Architecture, `sm_90`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<String>,
    /// Section of the host file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// `stored`, `lz4`, `zstd`.
    pub compression: &'static str,
    /// Bytes as stored.
    pub stored_size: u64,
    /// Bytes after unpacking.
    pub size: u64,
    /// Flags of the entry.
    pub flags: Vec<&'static str>,
    /// Name that the compiler gave the entry.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub identifier: String,
    /// Options for compiling the entry.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub options: String,
    /// The options are text; entries of some compilers have binary records there.
    #[serde(skip)]
    pub has_text_options: bool,
}

#[derive(Debug, Clone, Copy)]
enum Source<'d> {
    Bytes(&'d [u8]),
    Entry(Entry<'d>),
}

/// A part of a file.
#[derive(Debug, Clone)]
pub struct Part<'d> {
    /// Its row in the list of parts.
    pub row: PartRow,
    source: Source<'d>,
}

impl<'d> Part<'d> {
    /// True for device ELF files.
    pub fn is_cubin(&self) -> bool {
        self.row.kind == "cubin"
    }

    /// The bytes, unpacked.
    pub fn bytes(&self) -> Result<Cow<'d, [u8]>, String> {
        match self.source {
            Source::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Source::Entry(entry) => entry.payload(DEFAULT_LIMIT).map_err(|e| e.to_string()),
        }
    }
}

/// A file and its parts.
#[derive(Debug, Clone)]
pub struct DeviceFile<'d> {
    /// What the file is, in words.
    pub kind: &'static str,
    /// Its parts in order.
    pub parts: Vec<Part<'d>>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl<'d> DeviceFile<'d> {
    /// Takes a file apart.
    pub fn open(data: &'d [u8]) -> Self {
        let content = FileKind::of(data);
        let kind = match content {
            FileKind::DeviceElf { .. } => "cubin",
            FileKind::HostElf { e_type: 2 } => "executable",
            FileKind::HostElf { e_type: 3 } => "executable or shared library",
            FileKind::HostElf { .. } => "host object",
            FileKind::Archive { .. } => "archive",
            FileKind::Fatbin => "fatbin",
            FileKind::Ptx => "PTX",
            _ => "file",
        };
        let mut file = DeviceFile {
            kind,
            parts: Vec::new(),
            problems: Vec::new(),
        };
        file.add(data, "");
        file
    }

    fn problem(&mut self, place: &str, reason: String) {
        let place = if place.is_empty() { "file" } else { place }.to_owned();
        self.problems.push(Problem { place, reason });
    }

    fn add(&mut self, data: &'d [u8], name: &str) {
        match FileKind::of(data) {
            FileKind::DeviceElf { .. } => self.push_plain(name, "cubin", data),
            FileKind::Ptx => self.push_plain(name, "ptx", data),
            FileKind::LtoIr | FileKind::Bitcode => self.push_plain(name, "lto", data),
            FileKind::Fatbin => self.add_containers(data, name, None),
            FileKind::HostElf { .. } => self.add_host(data, name),
            FileKind::Archive { thin: true } => self.problem(name, "thin archive: the members are files of their own".into()),
            FileKind::Archive { .. } => self.add_members(data, name),
            FileKind::Empty => self.problem(name, "empty".into()),
            // Archives hold members of other kinds too; only a file of its own is worth a word.
            FileKind::Unknown if !name.is_empty() => {}
            FileKind::Unknown => self.problem(name, "not a file with device code".into()),
        }
    }

    fn push_plain(&mut self, name: &str, kind: &'static str, data: &'d [u8]) {
        let row = PartRow {
            name: name.to_owned(),
            kind: kind.into(),
            arch: None,
            section: None,
            compression: "stored",
            stored_size: data.len() as u64,
            size: data.len() as u64,
            flags: Vec::new(),
            identifier: String::new(),
            options: String::new(),
            has_text_options: true,
        };
        self.parts.push(Part {
            row,
            source: Source::Bytes(data),
        });
    }

    fn add_members(&mut self, data: &'d [u8], name: &str) {
        let members = match Members::new(data, false) {
            Ok(members) => members,
            Err(error) => return self.problem(name, error.to_string()),
        };
        for member in members {
            match member {
                Ok(m) => self.add(m.data, &format!("{name}{}", names::text(m.name))),
                Err(error) => self.problem(name, error.to_string()),
            }
        }
    }

    fn add_host(&mut self, data: &'d [u8], name: &str) {
        let view = match View::sections_of_host(data) {
            Ok(view) => view,
            Err(error) => return self.problem(name, error.to_string()),
        };
        let before = self.parts.len();
        for s in view.sections.iter().filter(|s| CONTAINERS.contains(&s.name)) {
            self.add_containers(s.data, name, Some(s.name));
        }
        if view.sections.is_empty() && self.parts.len() == before {
            self.add_containers(data, name, None);
        }
        if name.is_empty() && self.parts.is_empty() {
            self.problem(name, "no device code inside".into());
        }
    }

    /// The containers in some bytes; what is between them is passed over.
    fn add_containers(&mut self, data: &'d [u8], name: &str, section: Option<&[u8]>) {
        let mut at = 0;
        while let Some(rest) = data.get(at..) {
            let Some(start) = find_magic(rest) else { return };
            let bytes = rest.get(start..).unwrap_or_default();
            let fatbin = match Fatbin::parse(bytes) {
                Ok(fatbin) => fatbin,
                Err(error) => {
                    self.problem(name, error.to_string());
                    at += start + 8;
                    continue;
                }
            };
            if fatbin.is_truncated() {
                self.problem(name, format!("container at {:#x} is truncated", at + start));
            }
            for entry in fatbin.entries() {
                match entry {
                    Ok(entry) => self.push_entry(entry, name, section),
                    Err(error) => self.problem(name, error.to_string()),
                }
            }
            at += start.saturating_add(usize::try_from(fatbin.size()).unwrap_or(usize::MAX).max(8));
        }
    }

    fn push_entry(&mut self, entry: Entry<'d>, name: &str, section: Option<&[u8]>) {
        let kind = match entry.kind() {
            EntryKind::Ptx => "ptx".into(),
            EntryKind::Elf => "cubin".into(),
            EntryKind::Lto => "lto".into(),
            EntryKind::Mercury => "mercury".into(),
            EntryKind::Group => "group".into(),
            EntryKind::Other(n) => Cow::Owned(format!("kind {n}")),
        };
        let prefix = if entry.kind() == EntryKind::Elf { "sm" } else { "compute" };
        let arch = format!("{prefix}_{}{}", entry.arch().number, entry.arch().suffix.letter());
        // Entries of one object are counted through, over all its containers.
        let same =
            |p: &&Part<'_>| p.row.name == name || p.row.name.strip_prefix(name).is_some_and(|r| name.is_empty() || r.starts_with(':'));
        let number = self.parts.iter().filter(same).count();
        let (compression, packed) = match entry.compression() {
            Compression::Stored => ("stored", false),
            Compression::Lz4 => ("lz4", true),
            Compression::Zstd => ("zstd", true),
        };
        let flags = entry.header.flags.get();
        let row = PartRow {
            name: format!("{name}:{number}:{arch}"),
            kind,
            arch: Some(arch),
            section: section.map(|s| names::text(s).into_owned()),
            compression,
            stored_size: entry.stored.len() as u64,
            size: if packed {
                entry.header.unpacked_size.get()
            } else {
                entry.stored.len() as u64
            },
            flags: FLAG_NAMES.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, n)| *n).collect(),
            identifier: names::text(entry.identifier()).into_owned(),
            options: names::text(entry.options()).into_owned(),
            has_text_options: is_text(entry.options()),
        };
        self.parts.push(Part {
            row,
            source: Source::Entry(entry),
        });
    }
}

/// Offset of the next container; they start at multiples of eight.
fn find_magic(data: &[u8]) -> Option<usize> {
    let magic = MAGIC.to_le_bytes();
    let at = data.chunks(8).position(|c| c.starts_with(&magic))?;
    Some(at * 8)
}

fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| !b.is_ascii_control() || b.is_ascii_whitespace())
}
