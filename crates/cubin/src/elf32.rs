//! 32-bit device ELF files of old toolkits, read to be shown.
//!
//! Headers, symbols and relocations are widened to the 64-bit structures, so that one dumper serves both classes. Contents are not copied.
//!
//! 1. Check magic, class, encoding and machine.
//! 2. Widen the section headers; find the section names.
//! 3. Everything else is widened when requested, each offset checked.

use crate::consts::*;
use crate::raw::{Ehdr, Phdr, Rela, Shdr, Sym};
use crate::read::{ReadError, Section, is_nobits, string_at};
use zerocopy::little_endian::{I32, U16, U32};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Ehdr32 {
    ident: [u8; 16],
    e_type: U16,
    e_machine: U16,
    e_version: U32,
    e_entry: U32,
    e_phoff: U32,
    e_shoff: U32,
    e_flags: U32,
    e_ehsize: U16,
    e_phentsize: U16,
    e_phnum: U16,
    e_shentsize: U16,
    e_shnum: U16,
    e_shstrndx: U16,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Shdr32 {
    sh_name: U32,
    sh_type: U32,
    sh_flags: U32,
    sh_addr: U32,
    sh_offset: U32,
    sh_size: U32,
    sh_link: U32,
    sh_info: U32,
    sh_addralign: U32,
    sh_entsize: U32,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Sym32 {
    st_name: U32,
    st_value: U32,
    st_size: U32,
    st_info: u8,
    st_other: u8,
    st_shndx: U16,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Rel32 {
    r_offset: U32,
    r_info: U32,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Rela32 {
    r_offset: U32,
    r_info: U32,
    r_addend: I32,
}

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Phdr32 {
    p_type: U32,
    p_offset: U32,
    p_vaddr: U32,
    p_paddr: U32,
    p_filesz: U32,
    p_memsz: U32,
    p_flags: U32,
    p_align: U32,
}

fn wide(value: U32) -> zerocopy::little_endian::U64 {
    u64::from(value.get()).into()
}

fn widen_section(s: &Shdr32) -> Shdr {
    Shdr {
        sh_name: s.sh_name,
        sh_type: s.sh_type,
        sh_flags: wide(s.sh_flags),
        sh_addr: wide(s.sh_addr),
        sh_offset: wide(s.sh_offset),
        sh_size: wide(s.sh_size),
        sh_link: s.sh_link,
        sh_info: s.sh_info,
        sh_addralign: wide(s.sh_addralign),
        sh_entsize: wide(s.sh_entsize),
    }
}

fn widen_symbol(s: &Sym32) -> Sym {
    Sym {
        st_name: s.st_name,
        st_info: s.st_info,
        st_other: s.st_other,
        st_shndx: s.st_shndx,
        st_value: wide(s.st_value),
        st_size: wide(s.st_size),
    }
}

fn widen_relocation(r_offset: U32, r_info: U32, addend: i32) -> Rela {
    // 32-bit files keep the type in the low byte.
    Rela {
        r_offset: wide(r_offset),
        r_type: (r_info.get() & 0xff).into(),
        r_sym: (r_info.get() >> 8).into(),
        r_addend: i64::from(addend).into(),
    }
}

/// A 32-bit device ELF file with widened headers.
#[derive(Debug, Clone)]
pub struct Cubin32<'d> {
    data: &'d [u8],
    header: Ehdr,
    sections: Vec<Shdr>,
    section_names: &'d [u8],
}

fn part(data: &[u8], offset: u64, size: u64, what: impl FnOnce() -> String) -> Result<&[u8], ReadError> {
    let range = || Some(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?);
    range().and_then(|r| data.get(r)).ok_or_else(|| ReadError::OutOfFile {
        what: what(),
        offset,
        size,
        file: data.len() as u64,
    })
}

impl<'d> Cubin32<'d> {
    /// Parses the headers. Names, symbols and relocations are checked when requested.
    pub fn parse(data: &'d [u8]) -> Result<Self, ReadError> {
        let (raw, _) = Ehdr32::ref_from_prefix(data).map_err(|_| ReadError::TooShort { size: data.len() })?;
        let [magic @ .., _, _, _, _, _, _, _, _, _, _, _, _] = raw.ident;
        let [_, _, _, _, class, encoding, ..] = raw.ident;
        if magic != *b"\x7fELF" {
            return Err(ReadError::NotElf);
        }
        if raw.e_machine.get() != EM_CUDA {
            return Err(ReadError::NotDevice {
                machine: raw.e_machine.get(),
            });
        }
        if class != 1 || encoding != 1 {
            return Err(ReadError::Class { class, data: encoding });
        }
        let header = widen_header(raw);
        let count = u64::from(raw.e_shnum.get());
        let mut sections = Vec::new();
        if count != 0 {
            let size = size_of::<Shdr32>() as u64;
            if u64::from(raw.e_shentsize.get()) != size {
                return Err(ReadError::Field {
                    field: "e_shentsize",
                    value: raw.e_shentsize.get().into(),
                    expected: size,
                });
            }
            let bytes = part(data, raw.e_shoff.get().into(), count * size, || "section header table".into())?;
            let table = <[Shdr32]>::ref_from_bytes(bytes).unwrap_or_default();
            sections.extend(table.iter().map(widen_section));
        }
        let mut cubin = Cubin32 {
            data,
            header,
            sections,
            section_names: &[],
        };
        for (i, s) in cubin.sections.iter().enumerate() {
            cubin.bytes(s, i)?;
        }
        let names = usize::from(raw.e_shstrndx.get());
        if let Some(s) = cubin.sections.get(names) {
            cubin.section_names = cubin.bytes(s, names)?;
        }
        Ok(cubin)
    }

    fn bytes(&self, s: &Shdr, index: usize) -> Result<&'d [u8], ReadError> {
        if is_nobits(s.sh_type.get()) {
            return Ok(&[]);
        }
        part(self.data, s.sh_offset.get(), s.sh_size.get(), || format!("section {index}"))
    }

    /// File header, widened.
    pub fn header(&self) -> &Ehdr {
        &self.header
    }
    /// Section headers, widened, number 0 included.
    pub fn section_headers(&self) -> &[Shdr] {
        &self.sections
    }

    /// Section `index` with its name and bytes.
    pub fn section(&self, index: u32) -> Result<Section<'_>, ReadError> {
        let header = self.sections.get(index as usize).ok_or_else(|| ReadError::BadIndex {
            what: "section index".into(),
            index: index.into(),
            count: self.sections.len(),
        })?;
        let offset = header.sh_name.get();
        let name = string_at(self.section_names, offset).ok_or_else(|| ReadError::BadName {
            what: format!("section {index}"),
            offset,
            size: self.section_names.len(),
        })?;
        Ok(Section {
            index,
            header,
            name,
            data: self.bytes(header, index as usize)?,
        })
    }

    /// Symbols with their names, number 0 included.
    pub fn symbols(&self) -> Result<Vec<(Sym, &'d [u8])>, ReadError> {
        let find = self.sections.iter().enumerate().find(|(_, s)| s.sh_type.get() == SHT_SYMTAB);
        let Some((index, table)) = find else {
            return Ok(Vec::new());
        };
        let entries = <[Sym32]>::ref_from_bytes(self.bytes(table, index)?).map_err(|_| ReadError::BadTable {
            section: index as u32,
            reason: "symbol table size is not a multiple of 16",
        })?;
        let link = table.sh_link.get() as usize;
        let strings = match self.sections.get(link) {
            Some(s) => self.bytes(s, link)?,
            None => &[],
        };
        let name = |(i, s): (usize, &Sym32)| {
            let offset = s.st_name.get();
            let name = string_at(strings, offset).ok_or_else(|| ReadError::BadName {
                what: format!("symbol {i}"),
                offset,
                size: strings.len(),
            })?;
            Ok((widen_symbol(s), name))
        };
        entries.iter().enumerate().map(name).collect()
    }

    /// Relocations of a section, widened; REL entries have addend 0.
    pub fn relocations(&self, section: &Section<'_>) -> Result<Vec<Rela>, ReadError> {
        let bad = |reason| ReadError::BadTable {
            section: section.index,
            reason,
        };
        if section.header.sh_type.get() == SHT_REL {
            let list = <[Rel32]>::ref_from_bytes(section.data).map_err(|_| bad("size is not a multiple of 8"))?;
            return Ok(list.iter().map(|r| widen_relocation(r.r_offset, r.r_info, 0)).collect());
        }
        let list = <[Rela32]>::ref_from_bytes(section.data).map_err(|_| bad("size is not a multiple of 12"))?;
        Ok(list
            .iter()
            .map(|r| widen_relocation(r.r_offset, r.r_info, r.r_addend.get()))
            .collect())
    }

    /// Program headers, widened.
    pub fn program_headers(&self) -> Result<Vec<Phdr>, ReadError> {
        let size = u64::from(self.header.e_phnum.get()) * size_of::<Phdr32>() as u64;
        if size == 0 {
            return Ok(Vec::new());
        }
        let bytes = part(self.data, self.header.e_phoff.get(), size, || "program header table".into())?;
        let list = <[Phdr32]>::ref_from_bytes(bytes).unwrap_or_default();
        Ok(list.iter().map(widen_segment).collect())
    }
}

fn widen_segment(p: &Phdr32) -> Phdr {
    Phdr {
        p_type: p.p_type,
        p_flags: p.p_flags,
        p_offset: wide(p.p_offset),
        p_vaddr: wide(p.p_vaddr),
        p_paddr: wide(p.p_paddr),
        p_filesz: wide(p.p_filesz),
        p_memsz: wide(p.p_memsz),
        p_align: wide(p.p_align),
    }
}

fn widen_header(raw: &Ehdr32) -> Ehdr {
    Ehdr {
        ident: raw.ident,
        e_type: raw.e_type,
        e_machine: raw.e_machine,
        e_version: raw.e_version,
        e_entry: wide(raw.e_entry),
        e_phoff: wide(raw.e_phoff),
        e_shoff: wide(raw.e_shoff),
        e_flags: raw.e_flags,
        e_ehsize: raw.e_ehsize,
        e_phentsize: raw.e_phentsize,
        e_phnum: raw.e_phnum,
        e_shentsize: raw.e_shentsize,
        e_shnum: raw.e_shnum,
        e_shstrndx: raw.e_shstrndx,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    fn words(list: &[u32]) -> Vec<u8> {
        list.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// A file with names, a symbol table of two, one REL and one code section.
    fn sample() -> Vec<u8> {
        let mut out = b"\x7fELF\x01\x01\x01\x33\x04\0\0\0\0\0\0\0".to_vec();
        out.extend([2, 0, 190, 0]);
        out.extend(words(&[1, 0, 0, 0, 0x14_0014]));
        out.extend([52, 0, 32, 0, 0, 0, 40, 0, 5, 0, 1, 0]);
        let names = b"\0.n\0.symtab\0.rel\0.text.k\0k\0";
        let base = 52u32;
        let symbols = base + 28;
        out.extend(names);
        out.resize(symbols as usize, 0);
        out.extend([0; 16]);
        out.extend(words(&[25, 0, 8, 0x0004_1012]));
        out.extend(words(&[4, 1 << 8 | 58]));
        out.extend([0xaa; 8]);
        let table = out.len() as u32;
        out[32..36].copy_from_slice(&table.to_le_bytes());
        out.extend([0; 40]);
        out.extend(words(&[1, 3, 0, 0, base, names.len() as u32, 0, 0, 1, 0]));
        out.extend(words(&[4, 2, 0, 0, symbols, 32, 1, 1, 4, 16]));
        out.extend(words(&[12, 9, 0, 0, symbols + 32, 8, 2, 4, 4, 8]));
        out.extend(words(&[17, 1, 6, 0, symbols + 40, 8, 2, 1, 4, 0]));
        out
    }

    #[test]
    fn headers_symbols_and_relocations_are_widened() {
        let bytes = sample();
        let cubin = Cubin32::parse(&bytes).unwrap();
        assert_eq!(crate::names::file_flags(cubin.header()).sm, 20);
        assert_eq!(cubin.section(4).unwrap().name, b".text.k");
        assert_eq!(cubin.section(4).unwrap().data, [0xaa; 8]);
        let symbols = cubin.symbols().unwrap();
        assert_eq!(symbols[1].1, b"k");
        assert_eq!(
            (symbols[1].0.kind(), symbols[1].0.st_other, symbols[1].0.st_shndx.get()),
            (2, 0x10, 4)
        );
        let relocations = cubin.relocations(&cubin.section(3).unwrap()).unwrap();
        assert_eq!((relocations[0].r_type.get(), relocations[0].r_sym.get()), (58, 1));
        assert!(cubin.program_headers().unwrap().is_empty());
        assert!(matches!(crate::Cubin::parse(&bytes), Err(ReadError::Class { class: 1, .. })));
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            assert!(Cubin32::parse(&bytes[..cut]).is_err());
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            let Ok(cubin) = Cubin32::parse(&damaged) else { continue };
            let _ = (cubin.symbols(), cubin.program_headers());
            for i in 0..5 {
                if let Ok(s) = cubin.section(i) {
                    let _ = cubin.relocations(&s);
                }
            }
        }
    }
}
