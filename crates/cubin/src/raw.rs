//! On-disk structures of a 64-bit little-endian ELF file, readable at any alignment.

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// ELF file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Ehdr {
    /// Magic, class, data, version, OS ABI, ABI version, padding.
    pub ident: [u8; 16],
    /// Object file type.
    pub e_type: U16,
    /// Machine, 190 for CUDA.
    pub e_machine: U16,
    /// Version; CUDA 12 files store the toolkit here.
    pub e_version: U32,
    /// Entry point, always 0.
    pub e_entry: U64,
    /// File offset of the program headers.
    pub e_phoff: U64,
    /// File offset of the section headers.
    pub e_shoff: U64,
    /// Architecture and note index.
    pub e_flags: U32,
    /// Size of this header.
    pub e_ehsize: U16,
    /// Size of a program header.
    pub e_phentsize: U16,
    /// Number of program headers.
    pub e_phnum: U16,
    /// Size of a section header.
    pub e_shentsize: U16,
    /// Number of section headers, 0 when section 0 holds it.
    pub e_shnum: U16,
    /// Section that holds the section names.
    pub e_shstrndx: U16,
}

/// Section header.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Shdr {
    /// Offset of the name in the section name table.
    pub sh_name: U32,
    /// Type.
    pub sh_type: U32,
    /// Flags.
    pub sh_flags: U64,
    /// Address, always 0.
    pub sh_addr: U64,
    /// File offset.
    pub sh_offset: U64,
    /// Size in bytes.
    pub sh_size: U64,
    /// Linked section.
    pub sh_link: U32,
    /// Type-specific information.
    pub sh_info: U32,
    /// Alignment.
    pub sh_addralign: U64,
    /// Size of one entry, 0 for plain bytes.
    pub sh_entsize: U64,
}

/// Symbol table entry.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Sym {
    /// Offset of the name in the string table.
    pub st_name: U32,
    /// Binding (high four bits) and type (low four bits).
    pub st_info: u8,
    /// CUDA bits: entry, memory space, managed.
    pub st_other: u8,
    /// Section index or a reserved value.
    pub st_shndx: U16,
    /// Value; alignment for shared and common symbols of relocatable files.
    pub st_value: U64,
    /// Size in bytes.
    pub st_size: U64,
}

impl Sym {
    /// Binding: 0 local, 1 global, 2 weak.
    pub fn bind(&self) -> u8 {
        self.st_info >> 4
    }
    /// Symbol type.
    pub fn kind(&self) -> u8 {
        self.st_info & 15
    }
}

/// Relocation without addend.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Rel {
    /// Offset of the patched field in its section.
    pub r_offset: U64,
    /// Relocation type.
    pub r_type: U32,
    /// Symbol index.
    pub r_sym: U32,
}

/// Relocation with addend.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Rela {
    /// Offset of the patched field in its section.
    pub r_offset: U64,
    /// Relocation type.
    pub r_type: U32,
    /// Symbol index.
    pub r_sym: U32,
    /// Added to the symbol's value.
    pub r_addend: I64,
}

/// Program header.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Phdr {
    /// Segment type.
    pub p_type: U32,
    /// Permissions.
    pub p_flags: U32,
    /// File offset.
    pub p_offset: U64,
    /// Virtual address, always 0.
    pub p_vaddr: U64,
    /// Physical address, always 0.
    pub p_paddr: U64,
    /// Bytes in the file.
    pub p_filesz: U64,
    /// Bytes in memory.
    pub p_memsz: U64,
    /// Alignment.
    pub p_align: U64,
}

/// Two words: an entry of `.nv.callgraph` and of `.nv.prototype`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Pair {
    /// First word.
    pub first: U32,
    /// Second word.
    pub second: U32,
}
