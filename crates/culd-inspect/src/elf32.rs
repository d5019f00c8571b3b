//! The 32-bit form of ELF structures, widened to the 64-bit form, for files of old toolkits.

use cubin::raw::{Ehdr, Phdr, Rela, Shdr, Sym};
use zerocopy::FromZeros;

/// Size of a section header.
pub(crate) const SHDR_SIZE: usize = 40;
/// Size of a program header.
pub(crate) const PHDR_SIZE: usize = 32;
/// Size of a symbol.
pub(crate) const SYM_SIZE: usize = 16;

fn u16_at(b: &[u8], at: usize) -> u16 {
    b.get(at..at + 2).and_then(|b| b.try_into().ok()).map_or(0, u16::from_le_bytes)
}

fn u32_at(b: &[u8], at: usize) -> u32 {
    b.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// The file header; `None` when the file is too short.
pub(crate) fn header(b: &[u8]) -> Option<Ehdr> {
    let b = b.get(..52)?;
    let wide = |at| u64::from(u32_at(b, at)).into();
    let mut h = Ehdr::new_zeroed();
    h.ident = b.first_chunk().copied()?;
    h.e_type = u16_at(b, 16).into();
    h.e_machine = u16_at(b, 18).into();
    h.e_version = u32_at(b, 20).into();
    h.e_entry = wide(24);
    h.e_phoff = wide(28);
    h.e_shoff = wide(32);
    h.e_flags = u32_at(b, 36).into();
    h.e_ehsize = u16_at(b, 40).into();
    h.e_phentsize = u16_at(b, 42).into();
    h.e_phnum = u16_at(b, 44).into();
    h.e_shentsize = u16_at(b, 46).into();
    h.e_shnum = u16_at(b, 48).into();
    h.e_shstrndx = u16_at(b, 50).into();
    Some(h)
}

/// A section header.
pub(crate) fn section(b: &[u8]) -> Shdr {
    let wide = |at| u64::from(u32_at(b, at)).into();
    Shdr {
        sh_name: u32_at(b, 0).into(),
        sh_type: u32_at(b, 4).into(),
        sh_flags: wide(8),
        sh_addr: wide(12),
        sh_offset: wide(16),
        sh_size: wide(20),
        sh_link: u32_at(b, 24).into(),
        sh_info: u32_at(b, 28).into(),
        sh_addralign: wide(32),
        sh_entsize: wide(36),
    }
}

/// A program header.
pub(crate) fn segment(b: &[u8]) -> Phdr {
    let wide = |at| u64::from(u32_at(b, at)).into();
    Phdr {
        p_type: u32_at(b, 0).into(),
        p_offset: wide(4),
        p_vaddr: wide(8),
        p_paddr: wide(12),
        p_filesz: wide(16),
        p_memsz: wide(20),
        p_flags: u32_at(b, 24).into(),
        p_align: wide(28),
    }
}

/// A symbol.
pub(crate) fn symbol(b: &[u8]) -> Sym {
    Sym {
        st_name: u32_at(b, 0).into(),
        st_value: u64::from(u32_at(b, 4)).into(),
        st_size: u64::from(u32_at(b, 8)).into(),
        st_info: b.get(12).copied().unwrap_or(0),
        st_other: b.get(13).copied().unwrap_or(0),
        st_shndx: u16_at(b, 14).into(),
    }
}

/// A relocation of 8 (REL) or 12 (RELA) bytes.
pub(crate) fn relocation(b: &[u8]) -> Rela {
    let info = u32_at(b, 4);
    Rela {
        r_offset: u64::from(u32_at(b, 0)).into(),
        r_type: (info & 0xff).into(),
        r_sym: (info >> 8).into(),
        r_addend: i64::from(u32_at(b, 8).cast_signed()).into(),
    }
}
