//! A checked, zero-copy view of one 64-bit device ELF file.
//!
//! 1. Check magic, class, encoding and machine.
//! 2. Find the section headers (count in section 0 when `e_shnum` is 0), check that the table and every section are in the file.
//! 3. Find the section names, the symbol table, its strings and its extended section indices.
//!
//! Names and symbols are handed out through accessors that check each offset, so a view of a damaged file can be inspected up to the damage.

use crate::consts::*;
use crate::raw::{Ehdr, Phdr, Rel, Rela, Shdr, Sym};
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// Why a file is not a readable device object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Shorter than an ELF header.
    #[error("file has {size} bytes, an ELF header needs 64")]
    TooShort {
        /// Size of the file.
        size: usize,
    },
    /// No ELF magic.
    #[error("not an ELF file")]
    NotElf,
    /// ELF, but for another machine.
    #[error("not a CUDA device file: e_machine is {machine}")]
    NotDevice {
        /// `e_machine`.
        machine: u16,
    },
    /// Not 64-bit little-endian.
    #[error("ELF class {class}, data encoding {data}: only 64-bit little-endian files are supported")]
    Class {
        /// `EI_CLASS`.
        class: u8,
        /// `EI_DATA`.
        data: u8,
    },
    /// A header field that has one legal value.
    #[error("{field} is {value}, expected {expected}")]
    Field {
        /// Field name.
        field: &'static str,
        /// Value found.
        value: u64,
        /// Legal value.
        expected: u64,
    },
    /// Something is outside the file.
    #[error("{what} is outside the file: offset {offset:#x}, size {size:#x}, file size {file:#x}")]
    OutOfFile {
        /// Table or section, with its index.
        what: String,
        /// Offset.
        offset: u64,
        /// Size in bytes.
        size: u64,
        /// Size of the file.
        file: u64,
    },
    /// A table whose size or entry size is wrong.
    #[error("section {section}: {reason}")]
    BadTable {
        /// Section index.
        section: u32,
        /// Description of the defect.
        reason: &'static str,
    },
    /// A string offset outside its table or a string without end.
    #[error("{what}: name offset {offset:#x} is not a string of a table of {size:#x} bytes")]
    BadName {
        /// Owner of the name.
        what: String,
        /// Offset.
        offset: u32,
        /// Size of the string table.
        size: usize,
    },
    /// An index that points nowhere.
    #[error("{what} is {index}, there are {count}")]
    BadIndex {
        /// Which index.
        what: String,
        /// Value.
        index: u64,
        /// Number of things it could name.
        count: usize,
    },
}

/// A NUL-terminated string of a string table.
pub fn string_at(table: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = table.get(offset as usize..)?;
    rest.get(..first_zero(rest)?)
}

/// Is there a string at this offset? Cheap for tables that end with a zero, as all should.
pub fn has_string(table: &[u8], offset: u32) -> bool {
    match table.last() {
        Some(0) => (offset as usize) < table.len(),
        _ => string_at(table, offset).is_some(),
    }
}

/// Position of the first zero, eight bytes at a time: names are looked at often.
fn first_zero(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    let (words, tail) = bytes.as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The top bit of every byte that is zero; only bits above such a byte may be wrong.
        let zeros = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if zeros != 0 {
            return Some(i * 8 + zeros.trailing_zeros() as usize / 8);
        }
    }
    let at = tail.iter().position(|&b| b == 0)?;
    Some(words.len() * 8 + at)
}

/// True for section types without bytes in the file.
pub fn is_nobits(sh_type: u32) -> bool {
    matches!(sh_type, SHT_NULL | SHT_NOBITS | SHT_CUDA_GLOBAL | SHT_CUDA_LOCAL | SHT_CUDA_SHARED)
}

/// True for sections without bytes in the file. Reserved shared memory has bytes in the Mercury view only.
pub fn is_nobits_section(header: &Shdr) -> bool {
    let sh_type = header.sh_type.get();
    is_nobits(sh_type) || sh_type == SHT_CUDA_SHARED_RESERVED && header.sh_flags.get() & SHF_CUDA_MERCURY == 0
}

/// A section: header, name and bytes.
#[derive(Debug, Clone, Copy)]
pub struct Section<'d> {
    /// Index in the section header table.
    pub index: u32,
    /// Header.
    pub header: &'d Shdr,
    /// Name.
    pub name: &'d [u8],
    /// Bytes; empty for sections without bytes.
    pub data: &'d [u8],
}

/// A symbol with its name and full section index.
#[derive(Debug, Clone, Copy)]
pub struct Symbol<'d> {
    /// Index in the symbol table.
    pub index: u32,
    /// Entry.
    pub entry: &'d Sym,
    /// Name.
    pub name: &'d [u8],
    /// Section index with `.symtab_shndx` applied.
    pub section: SymbolSection,
}

/// Section of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolSection {
    /// Undefined.
    Undefined,
    /// Common storage.
    Common,
    /// In the section with this index (checked).
    Index(u32),
    /// Another reserved index.
    Reserved(u16),
}

impl SymbolSection {
    /// Index of the section, if the symbol is in one.
    pub fn index(self) -> Option<u32> {
        match self {
            SymbolSection::Index(i) => Some(i),
            _ => None,
        }
    }
}

/// Entries of a relocation section.
#[derive(Debug, Clone, Copy)]
pub enum Relocations<'d> {
    /// Without addends.
    Rel(&'d [Rel]),
    /// With addends.
    Rela(&'d [Rela]),
}

impl Relocations<'_> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Relocations::Rel(r) => r.len(),
            Relocations::Rela(r) => r.len(),
        }
    }
    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Entry `i` with addend (0 for REL).
    pub fn get(&self, i: usize) -> Option<Rela> {
        match self {
            Relocations::Rel(r) => r.get(i).map(|r| Rela {
                r_offset: r.r_offset,
                r_type: r.r_type,
                r_sym: r.r_sym,
                r_addend: 0.into(),
            }),
            Relocations::Rela(r) => r.get(i).copied(),
        }
    }
}

/// A device ELF file.
#[derive(Debug, Clone)]
pub struct Cubin<'d> {
    data: &'d [u8],
    header: &'d Ehdr,
    sections: &'d [Shdr],
    section_names: &'d [u8],
    symtab: Option<u32>,
    symbols: &'d [Sym],
    strings: &'d [u8],
    extended: &'d [U32],
}

impl<'d> Cubin<'d> {
    /// Parses the headers. Sections, names and symbols are checked when requested.
    pub fn parse(data: &'d [u8]) -> Result<Self, ReadError> {
        let (header, _) = Ehdr::ref_from_prefix(data).map_err(|_| ReadError::TooShort { size: data.len() })?;
        if header.ident[..4] != *b"\x7fELF" {
            return Err(ReadError::NotElf);
        }
        if header.e_machine.get() != EM_CUDA {
            return Err(ReadError::NotDevice {
                machine: header.e_machine.get(),
            });
        }
        let [_, _, _, _, class, encoding, ..] = header.ident;
        if class != 2 || encoding != 1 {
            return Err(ReadError::Class { class, data: encoding });
        }
        let sections = section_table(data, header)?;
        for (i, s) in sections.iter().enumerate() {
            section_bytes(data, s).ok_or_else(|| outside(label(data, header, sections, i), s.sh_offset.get(), s.sh_size.get(), data))?;
        }
        let mut cubin = Cubin {
            data,
            header,
            sections,
            section_names: &[],
            symtab: None,
            symbols: &[],
            strings: &[],
            extended: &[],
        };
        cubin.program_headers()?;
        if !sections.is_empty() {
            cubin.find_tables()?;
        }
        Ok(cubin)
    }

    fn find_tables(&mut self) -> Result<(), ReadError> {
        self.section_names = self.bytes_of("e_shstrndx", self.section_names_section())?;
        let Some(symtab) = self.sections.iter().position(|s| s.sh_type.get() == SHT_SYMTAB) else {
            return Ok(());
        };
        let header = self.sections.get(symtab).ok_or(ReadError::NotElf)?;
        let symtab = symtab as u32;
        if header.sh_entsize.get() != size_of::<Sym>() as u64 {
            return Err(ReadError::BadTable {
                section: symtab,
                reason: "symbol table with an entry size other than 24",
            });
        }
        let bytes = self.bytes_of("symbol table", symtab)?;
        self.symbols = <[Sym]>::ref_from_bytes(bytes).map_err(|_| ReadError::BadTable {
            section: symtab,
            reason: "symbol table size is not a multiple of 24",
        })?;
        self.strings = self.bytes_of("sh_link of the symbol table", header.sh_link.get())?;
        self.symtab = Some(symtab);
        let extended = self
            .sections
            .iter()
            .position(|s| s.sh_type.get() == SHT_SYMTAB_SHNDX && s.sh_link.get() == symtab);
        if let Some(i) = extended {
            let bytes = self.bytes_of("extended section indices", i as u32)?;
            self.extended = <[U32]>::ref_from_bytes(bytes).map_err(|_| ReadError::BadTable {
                section: i as u32,
                reason: "size is not a multiple of 4",
            })?;
        }
        Ok(())
    }

    fn bytes_of(&self, what: &str, index: u32) -> Result<&'d [u8], ReadError> {
        let header = self.sections.get(index as usize).ok_or_else(|| ReadError::BadIndex {
            what: what.into(),
            index: index.into(),
            count: self.sections.len(),
        })?;
        Ok(section_bytes(self.data, header).unwrap_or_default())
    }

    /// The whole file.
    pub fn data(&self) -> &'d [u8] {
        self.data
    }
    /// File header.
    pub fn header(&self) -> &'d Ehdr {
        self.header
    }
    /// Section headers, number 0 included.
    pub fn section_headers(&self) -> &'d [Shdr] {
        self.sections
    }
    /// The section name table.
    pub fn section_names(&self) -> &'d [u8] {
        self.section_names
    }
    /// Index of the section name table; 0 in a file without sections, whatever its header says.
    pub fn section_names_section(&self) -> u32 {
        match self.header.e_shstrndx.get() {
            _ if self.sections.is_empty() => 0,
            SHN_XINDEX => self.sections.first().map_or(0, |s| s.sh_link.get()),
            index => index.into(),
        }
    }
    /// Index of the symbol table's section.
    pub fn symtab_section(&self) -> Option<u32> {
        self.symtab
    }
    /// Symbol table entries, number 0 included.
    pub fn symbol_entries(&self) -> &'d [Sym] {
        self.symbols
    }
    /// The string table of the symbol table.
    pub fn strings(&self) -> &'d [u8] {
        self.strings
    }
    /// A string of the symbol table's string table.
    pub fn string(&self, offset: u32) -> Result<&'d [u8], ReadError> {
        string_at(self.strings, offset).ok_or_else(|| ReadError::BadName {
            what: "string".into(),
            offset,
            size: self.strings.len(),
        })
    }

    /// Section `index` with its name and bytes.
    pub fn section(&self, index: u32) -> Result<Section<'d>, ReadError> {
        self.section_if_readable(index).ok_or_else(|| self.unreadable_section(index))
    }

    #[inline]
    fn section_if_readable(&self, index: u32) -> Option<Section<'d>> {
        let header = self.sections.get(index as usize)?;
        Some(Section {
            index,
            header,
            name: string_at(self.section_names, header.sh_name.get())?,
            data: section_bytes(self.data, header).unwrap_or_default(),
        })
    }

    #[cold]
    fn unreadable_section(&self, index: u32) -> ReadError {
        match self.sections.get(index as usize) {
            None => ReadError::BadIndex {
                what: "section index".into(),
                index: index.into(),
                count: self.sections.len(),
            },
            Some(header) => ReadError::BadName {
                what: format!("section {index}"),
                offset: header.sh_name.get(),
                size: self.section_names.len(),
            },
        }
    }

    /// All sections in order, number 0 included.
    pub fn sections(&self) -> impl Iterator<Item = Result<Section<'d>, ReadError>> + '_ {
        (0..self.sections.len() as u32).map(|i| self.section(i))
    }

    /// First section of this name.
    pub fn section_by_name(&self, name: &[u8]) -> Option<Section<'d>> {
        self.sections().flatten().find(|s| s.index != 0 && s.name == name)
    }

    /// Symbol `index` with its name and section.
    pub fn symbol(&self, index: u32) -> Result<Symbol<'d>, ReadError> {
        let entry = self.symbols.get(index as usize).ok_or_else(|| ReadError::BadIndex {
            what: "symbol index".into(),
            index: index.into(),
            count: self.symbols.len(),
        })?;
        let offset = entry.st_name.get();
        let name = string_at(self.strings, offset).ok_or_else(|| ReadError::BadName {
            what: format!("symbol {index}"),
            offset,
            size: self.strings.len(),
        })?;
        Ok(Symbol {
            index,
            entry,
            name,
            section: self.symbol_section(index, entry)?,
        })
    }

    /// Where symbol `index` is defined. Its name is checked, but not looked at.
    pub fn symbol_place(&self, index: u32) -> Result<SymbolSection, ReadError> {
        match self.symbols.get(index as usize) {
            Some(entry) if has_string(self.strings, entry.st_name.get()) => self.symbol_section(index, entry),
            _ => self.symbol(index).map(|y| y.section),
        }
    }

    /// All symbols in order, number 0 included.
    pub fn symbols(&self) -> impl Iterator<Item = Result<Symbol<'d>, ReadError>> + '_ {
        (0..self.symbols.len() as u32).map(|i| self.symbol(i))
    }

    fn symbol_section(&self, index: u32, entry: &Sym) -> Result<SymbolSection, ReadError> {
        let section = match entry.st_shndx.get() {
            0 => return Ok(SymbolSection::Undefined),
            // nvlink quirk: it writes number 0xfff2 of a section as it is; code and section symbols are never common.
            SHN_COMMON if matches!(entry.kind(), STT_SECTION | STT_FUNC) && self.sections.len() > SHN_COMMON.into() => SHN_COMMON.into(),
            SHN_COMMON => return Ok(SymbolSection::Common),
            SHN_XINDEX => {
                let x = self.extended.get(index as usize).ok_or_else(|| ReadError::BadIndex {
                    what: format!("extended section index of symbol {index}"),
                    index: index.into(),
                    count: self.extended.len(),
                })?;
                x.get()
            }
            reserved @ SHN_LORESERVE.. => return Ok(SymbolSection::Reserved(reserved)),
            direct => direct.into(),
        };
        if section as usize >= self.sections.len() {
            return Err(ReadError::BadIndex {
                what: format!("section index of symbol {index}"),
                index: section.into(),
                count: self.sections.len(),
            });
        }
        Ok(SymbolSection::Index(section))
    }

    /// Entries of a relocation section (`SHT_REL`, `SHT_RELA` or a type in the form of RELA).
    pub fn relocations(&self, section: &Section<'d>) -> Result<Relocations<'d>, ReadError> {
        let bad = |reason| ReadError::BadTable {
            section: section.index,
            reason,
        };
        if section.header.sh_type.get() == SHT_REL {
            return <[Rel]>::ref_from_bytes(section.data)
                .map(Relocations::Rel)
                .map_err(|_| bad("size is not a multiple of 16"));
        }
        <[Rela]>::ref_from_bytes(section.data)
            .map(Relocations::Rela)
            .map_err(|_| bad("size is not a multiple of 24"))
    }

    /// Program headers.
    pub fn program_headers(&self) -> Result<&'d [Phdr], ReadError> {
        let count = usize::from(self.header.e_phnum.get());
        if count == 0 {
            return Ok(&[]);
        }
        let offset = self.header.e_phoff.get();
        let size = (count * size_of::<Phdr>()) as u64;
        let bytes = slice(self.data, offset, size).ok_or_else(|| outside("program header table".into(), offset, size, self.data))?;
        <[Phdr]>::ref_from_bytes(bytes).map_err(|_| outside("program header table".into(), offset, size, self.data))
    }
}

/// A section by number, and by name where that can be read.
fn label(data: &[u8], header: &Ehdr, sections: &[Shdr], index: usize) -> String {
    let name = || {
        let names = section_bytes(data, sections.get(usize::from(header.e_shstrndx.get()))?)?;
        string_at(names, sections.get(index)?.sh_name.get())
    };
    match name() {
        Some(name) => format!("section {index} '{}'", String::from_utf8_lossy(name)),
        None => format!("section {index}"),
    }
}

fn outside(what: String, offset: u64, size: u64, data: &[u8]) -> ReadError {
    ReadError::OutOfFile {
        what,
        offset,
        size,
        file: data.len() as u64,
    }
}

fn slice(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    data.get(start..end)
}

/// Bytes of a section; `None` when they are outside the file.
fn section_bytes<'d>(data: &'d [u8], header: &Shdr) -> Option<&'d [u8]> {
    if is_nobits_section(header) {
        return Some(&[]);
    }
    slice(data, header.sh_offset.get(), header.sh_size.get())
}

fn section_table<'d>(data: &'d [u8], header: &Ehdr) -> Result<&'d [Shdr], ReadError> {
    let offset = header.e_shoff.get();
    let mut count = u64::from(header.e_shnum.get());
    if offset == 0 && count == 0 {
        return Ok(&[]);
    }
    let entry = size_of::<Shdr>() as u64;
    if u64::from(header.e_shentsize.get()) != entry {
        return Err(ReadError::Field {
            field: "e_shentsize",
            value: header.e_shentsize.get().into(),
            expected: entry,
        });
    }
    if count == 0 {
        // More than 65,279 sections: the count is in section 0.
        let first = slice(data, offset, entry).and_then(|b| Shdr::ref_from_bytes(b).ok());
        count = first
            .ok_or_else(|| outside("section header table".into(), offset, entry, data))?
            .sh_size
            .get();
    }
    let size = count.saturating_mul(entry);
    let bytes = slice(data, offset, size).ok_or_else(|| outside("section header table".into(), offset, size, data))?;
    <[Shdr]>::ref_from_bytes(bytes).map_err(|_| outside("section header table".into(), offset, size, data))
}
