//! Inputs built byte by byte, and a file system in memory.
#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    missing_docs,
    unreachable_pub,
    reason = "test helpers"
)]

use culd_input::files::{FileId, Files, Opened};
use culd_input::{Arch, Identity, LoadOptions, LoadOutcome};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Files in memory. `links` are other names of the same file.
#[derive(Default)]
pub struct Memory {
    files: BTreeMap<PathBuf, Vec<u8>>,
    links: BTreeMap<PathBuf, PathBuf>,
    directories: Vec<PathBuf>,
}

impl Memory {
    pub fn new(files: &[(&str, &[u8])]) -> Self {
        let files = files.iter().map(|(name, data)| (PathBuf::from(name), data.to_vec())).collect();
        Memory {
            files,
            ..Memory::default()
        }
    }

    pub fn link(mut self, name: &str, target: &str) -> Self {
        self.links.insert(name.into(), target.into());
        self
    }

    pub fn directory(mut self, name: &str) -> Self {
        self.directories.push(name.into());
        self
    }

    fn resolve<'a>(&'a self, path: &'a Path) -> &'a Path {
        self.links.get(path).map_or(path, PathBuf::as_path)
    }
}

impl Files for Memory {
    fn open(&self, path: &Path) -> io::Result<Opened> {
        let path = self.resolve(path);
        let bytes = self.files.get(path).ok_or(io::ErrorKind::NotFound)?.clone();
        Ok(Opened {
            bytes: bytes.into(),
            id: FileId::Path(path.to_owned()),
        })
    }
    fn exists(&self, path: &Path) -> bool {
        self.files.contains_key(self.resolve(path)) || self.is_dir(path)
    }
    fn is_dir(&self, path: &Path) -> bool {
        self.directories.iter().any(|f| f == path)
    }
    fn current_dir(&self) -> io::Result<PathBuf> {
        Ok("/work".into())
    }
}

pub fn sm(name: &str) -> Arch {
    Arch::parse(name).unwrap()
}

pub fn nvlink() -> LoadOptions {
    LoadOptions {
        identity: Identity::Nvlink,
        ..LoadOptions::new(sm("sm_90"))
    }
}

pub fn culd() -> LoadOptions {
    LoadOptions::new(sm("sm_90"))
}

pub fn load(inputs: &[&str], options: &LoadOptions, files: &Memory) -> LoadOutcome {
    let inputs: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
    culd_input::load(&inputs, options, files)
}

/// Messages as text, with the severity first.
pub fn said(outcome: &LoadOutcome) -> Vec<String> {
    outcome.messages().map(|m| format!("{:?}: {}", m.severity, m.code)).collect()
}

/// Names of the objects in link order.
pub fn names(outcome: &LoadOutcome) -> Vec<String> {
    let loaded = outcome.loaded.as_ref().expect("loaded");
    loaded.objects.iter().map(|o| o.name.to_string()).collect()
}

/// A section for [`elf`].
pub struct Section<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub link: u32,
    pub entry: u64,
    pub data: Vec<u8>,
}

pub fn section<'a>(name: &'a str, data: &[u8]) -> Section<'a> {
    Section {
        name,
        kind: 1,
        link: 0,
        entry: 0,
        data: data.to_vec(),
    }
}

/// A relocatable ELF file: header, sections, names, section headers. Section numbers start at 1.
pub fn elf(machine: u16, ident: [u8; 2], flags: u32, sections: &[Section<'_>]) -> Vec<u8> {
    let mut out = vec![0; 64];
    let mut names = vec![0];
    let mut table = vec![0; 64];
    let mut header = |out: &mut Vec<u8>, names: &mut Vec<u8>, s: &Section<'_>| {
        while !out.len().is_multiple_of(8) {
            out.push(0);
        }
        let offset = out.len() as u64;
        let name = names.len() as u32;
        names.extend(s.name.bytes().chain([0]));
        let data = if s.name == ".shstrtab" { names.clone() } else { s.data.clone() };
        out.extend(&data);
        table.extend(name.to_le_bytes());
        table.extend(s.kind.to_le_bytes());
        table.extend([0; 16]);
        table.extend(offset.to_le_bytes());
        table.extend((data.len() as u64).to_le_bytes());
        table.extend(s.link.to_le_bytes());
        table.extend([0; 4]);
        table.extend(1u64.to_le_bytes());
        table.extend(s.entry.to_le_bytes());
    };
    for s in sections {
        header(&mut out, &mut names, s);
    }
    let shstrtab = Section {
        kind: 3,
        ..section(".shstrtab", &[])
    };
    header(&mut out, &mut names, &shstrtab);
    let count = sections.len() as u16 + 2;
    let offset = out.len() as u64;
    out.extend(&table);
    out[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    out[7..9].copy_from_slice(&ident);
    out[16..18].copy_from_slice(&1u16.to_le_bytes());
    out[18..20].copy_from_slice(&machine.to_le_bytes());
    out[20..24].copy_from_slice(&1u32.to_le_bytes());
    out[40..48].copy_from_slice(&offset.to_le_bytes());
    out[48..52].copy_from_slice(&flags.to_le_bytes());
    out[52..54].copy_from_slice(&64u16.to_le_bytes());
    out[58..60].copy_from_slice(&64u16.to_le_bytes());
    out[60..62].copy_from_slice(&count.to_le_bytes());
    out[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    out
}

/// A device object for sm_`number` with function symbols: names of defined and of undefined functions.
pub fn cubin(number: u32, defined: &[&str], undefined: &[&str]) -> Vec<u8> {
    let mut strings = vec![0u8];
    let mut symbols = vec![0u8; 24];
    for (names, shndx) in [(defined, 4u16), (undefined, 0)] {
        for name in names {
            symbols.extend((strings.len() as u32).to_le_bytes());
            symbols.extend([0x12, 0]);
            symbols.extend(shndx.to_le_bytes());
            symbols.extend([0; 16]);
            strings.extend(name.bytes().chain([0]));
        }
    }
    let mut note = Vec::new();
    note.extend(12u32.to_le_bytes());
    note.extend(8u32.to_le_bytes());
    note.extend(1000u32.to_le_bytes());
    note.extend(b"NVIDIA Corp\0");
    note.extend(2u16.to_le_bytes());
    note.extend((number as u16).to_le_bytes());
    note.extend(130u32.to_le_bytes());
    let sections = [
        Section {
            kind: 3,
            ..section(".strtab", &strings)
        },
        Section {
            kind: 2,
            link: 1,
            entry: 24,
            ..section(".symtab", &symbols)
        },
        Section {
            kind: 7,
            ..section(".note.nv.cuinfo", &note)
        },
        section(".text.f", &[0; 16]),
    ];
    // The top byte of the flags is the index of the note.
    elf(190, [0x41, 8], 3 << 24 | number << 8 | 4, &sections)
}

/// How an entry is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Store {
    Plain,
    Lz4,
}

/// One fatbin entry.
pub fn entry(kind: u16, arch: &str, data: &[u8], options: &str, store: Store) -> Vec<u8> {
    let arch = sm(arch);
    let suffix = match arch.to_string().chars().last() {
        Some('a') => 0x10_0000u64,
        Some('f') => 0x20_0000,
        _ => 0,
    };
    let mut stored = match store {
        Store::Plain => data.to_vec(),
        Store::Lz4 => lz4_flex::block::compress(data),
    };
    let exact = stored.len() as u32;
    stored.resize(stored.len().next_multiple_of(8), 0);
    let mut option_block = Vec::new();
    if !options.is_empty() {
        option_block.extend(0x48u32.to_le_bytes());
        option_block.extend((options.len() as u32).to_le_bytes());
        option_block.extend(options.bytes());
        option_block.resize(option_block.len().next_multiple_of(8), 0);
    }
    let compressed = store == Store::Lz4;
    let mut out = Vec::new();
    out.extend(kind.to_le_bytes());
    out.extend(0x101u16.to_le_bytes());
    out.extend((0x40 + option_block.len() as u32).to_le_bytes());
    out.extend((stored.len() as u64).to_le_bytes());
    out.extend((if compressed { exact } else { 0 }).to_le_bytes());
    out.extend((if options.is_empty() { 0u32 } else { 0x40 }).to_le_bytes());
    out.extend([0, 0, 9, 0]);
    out.extend(arch.number.to_le_bytes());
    out.extend([0; 8]);
    out.extend((0x11 | suffix | if compressed { 0x2000 } else { 0 }).to_le_bytes());
    out.extend([0; 8]);
    out.extend((if compressed { data.len() as u64 } else { 0 }).to_le_bytes());
    out.extend(option_block);
    out.extend(stored);
    out
}

/// A fatbin of entries.
pub fn fatbin(entries: &[Vec<u8>]) -> Vec<u8> {
    let payload = entries.concat();
    let mut out = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    out.extend((payload.len() as u64).to_le_bytes());
    out.extend(payload);
    out
}

/// A fatbin with one compressed device object.
pub fn one_fatbin(object: &[u8], arch: &str) -> Vec<u8> {
    fatbin(&[entry(2, arch, object, "", Store::Lz4)])
}

/// A host object as nvcc makes it.
pub fn host(machine: u16, fatbins: &[u8], id: &str, external: &[u8], internal: &[u8]) -> Vec<u8> {
    let id: Vec<u8> = id.bytes().chain([0]).collect();
    let sections = [
        section(".text", &[0x90; 32]),
        section("__nv_relfatbin", fatbins),
        section(".nvFatBinSegment", &[0; 24]),
        section("__nv_module_id", &id),
        section(".nvHRKE", external),
        section(".nvHRKI", internal),
    ];
    elf(machine, [0, 0], 0, &sections)
}

/// An archive in GNU form; names of any length.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    let mut add = |stored: &str, data: &[u8]| {
        out.extend(format!("{stored:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).into_bytes());
        out.extend(data);
        if data.len() % 2 == 1 {
            out.push(b'\n');
        }
    };
    // Long names are together first and are named by offset.
    let long: String = members.iter().filter(|m| m.0.len() > 15).map(|m| format!("{}/\n", m.0)).collect();
    if !long.is_empty() {
        add("//", long.as_bytes());
    }
    for (name, data) in members {
        match long.find(&format!("{name}/\n")).filter(|_| name.len() > 15) {
            Some(at) => add(&format!("/{at}"), data),
            None => add(&format!("{name}/"), data),
        }
    }
    out
}
