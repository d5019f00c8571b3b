//! Puts device objects into every kind of container that a linker accepts.

use cubin::fatbin::{FLAG_LZ4, FLAG_ZSTD, NewEntry, Writer};
use culd_tests::elf::put;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// How an input is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A bare device object.
    Cubin,
    /// A fat binary with a stored entry.
    Fatbin,
    /// A fat binary with a zstd entry.
    Zstd,
    /// A fat binary with an LZ4 entry.
    Lz4,
    /// A host object with a fat binary.
    Host,
    /// An archive with a host object.
    Archive,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] = [Kind::Cubin, Kind::Fatbin, Kind::Zstd, Kind::Lz4, Kind::Host, Kind::Archive];

    /// Suffix of the file's name; nvlink selects the reader by it.
    pub fn suffix(self) -> &'static str {
        match self {
            Kind::Cubin => "cubin",
            Kind::Fatbin | Kind::Zstd | Kind::Lz4 => "fatbin",
            Kind::Host => "o",
            Kind::Archive => "a",
        }
    }

    /// Packs an object.
    pub fn pack(self, arch: u32, object: &[u8]) -> Vec<u8> {
        match self {
            Kind::Cubin => object.to_vec(),
            Kind::Fatbin => fatbin(arch, object, None),
            Kind::Zstd => fatbin(arch, object, Some(Packing::Zstd)),
            Kind::Lz4 => fatbin(arch, object, Some(Packing::Lz4)),
            Kind::Host => host(&fatbin(arch, object, None)),
            Kind::Archive => archive(&host(&fatbin(arch, object, Some(Packing::Zstd)))),
        }
    }
}

/// How an entry of a fat binary is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// One zstd frame.
    Zstd,
    /// One LZ4 block.
    Lz4,
}

impl Packing {
    /// What the flags of an entry say.
    pub fn from_flags(flags: u64) -> Option<Self> {
        match flags {
            f if f & FLAG_ZSTD != 0 => Some(Packing::Zstd),
            f if f & FLAG_LZ4 != 0 => Some(Packing::Lz4),
            _ => None,
        }
    }

    /// Command-line flag of this form.
    pub fn flag(self) -> u64 {
        match self {
            Packing::Zstd => FLAG_ZSTD,
            Packing::Lz4 => FLAG_LZ4,
        }
    }

    /// Compresses.
    pub fn pack(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Packing::Zstd => compress_to_vec(bytes, CompressionLevel::Fastest),
            Packing::Lz4 => lz4_flex::block::compress(bytes),
        }
    }
}

fn fatbin(arch: u32, object: &[u8], packing: Option<Packing>) -> Vec<u8> {
    let mut writer = Writer::new();
    let packed = packing.map_or_else(|| object.to_vec(), |p| p.pack(object));
    let mut entry = NewEntry::elf(arch, &packed);
    entry.flags |= packing.map_or(0, Packing::flag);
    // Sizes of files in memory fit the fields.
    let _always_fits = writer.add(&entry);
    let mut out = writer.finish();
    if packing.is_some() {
        const ENTRY: usize = 16;
        put(&mut out, ENTRY + 16, 4, packed.len() as u64);
        put(&mut out, ENTRY + 56, 8, object.len() as u64);
    }
    out
}

/// Sections of a host object that a device linker looks at.
const HOST_SECTIONS: [&str; 4] = [".nvFatBinSegment", "__nv_relfatbin", "__nv_module_id", ".shstrtab"];

/// The smallest host object that carries a fat binary.
fn host(fatbin: &[u8]) -> Vec<u8> {
    let mut names = vec![0u8];
    let offsets = HOST_SECTIONS.map(|name| {
        let at = names.len();
        names.extend(name.bytes().chain([0]));
        at
    });
    let contents: [&[u8]; 4] = [&[0; 24], fatbin, b"__mutant_module\0", &names];
    let mut out = vec![0u8; 64];
    out[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    let mut headers = vec![[0u64; 5]];
    for (i, data) in contents.iter().enumerate() {
        out.resize(out.len().next_multiple_of(8), 0);
        let sh_type = if i == 3 { 3 } else { 1 };
        headers.push([offsets[i] as u64, sh_type, out.len() as u64, data.len() as u64, 8]);
        out.extend_from_slice(data);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let table = out.len();
    for (i, [name, sh_type, offset, size, align]) in headers.iter().enumerate() {
        let at = table + 64 * i;
        out.resize(at + 64, 0);
        for (field, width, value) in [(0, 4, name), (4, 4, sh_type), (24, 8, offset), (32, 8, size), (48, 8, align)] {
            put(&mut out, at + field, width, *value);
        }
    }
    let header = [
        (16, 2, 1),
        (18, 2, 62),
        (20, 4, 1),
        (40, 8, table as u64),
        (52, 2, 64),
        (58, 2, 64),
        (60, 2, 5),
        (62, 2, 4),
    ];
    for (at, width, value) in header {
        put(&mut out, at, width, value);
    }
    out
}

fn archive(member: &[u8]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    out.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "object.o/", 0, 0, 0, 644, member.len()).bytes());
    out.extend_from_slice(member);
    if member.len() % 2 == 1 {
        out.push(b'\n');
    }
    out
}
