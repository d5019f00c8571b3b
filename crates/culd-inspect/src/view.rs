//! A tolerant view of one device ELF file.
//!
//! [`cubin::Cubin`] refuses a file in which anything points nowhere; this view shows the rest of a damaged file.
//!
//! 1. Read the header, in 32-bit or 64-bit form; a file too short for it or without the magic is the only thing refused.
//! 2. Read as many section headers and program headers as the file holds.
//! 3. Give every section a name and the bytes that are in the file.
//! 4. Find the symbol tables (`.symtab` and the Mercury one) with their strings and extended section indices.
//!
//! Everything that is out of place on the way becomes a [`Problem`]; the first of them is what the strict reader says.

use cubin::consts::{EM_CUDA, SHN_COMMON, SHN_LORESERVE, SHN_XINDEX, SHT_CUDA_MERC_SYMTAB, SHT_REL, SHT_SYMTAB, SHT_SYMTAB_SHNDX};
use cubin::elf32::Cubin32;
use cubin::raw::{Ehdr, Phdr, Rel, Rela, Shdr, Sym};
use cubin::read::{is_nobits, string_at};
use cubin::{Cubin, ReadError};
use std::borrow::Cow;
use zerocopy::FromBytes;

/// Something in a file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Where: a section, a table, the header.
    pub place: String,
    /// Description of the defect.
    pub reason: String,
}

/// A section: header, name and the bytes that are in the file.
#[derive(Debug, Clone, Copy)]
pub struct Sect<'d> {
    /// Index in the section header table.
    pub index: u32,
    /// Header.
    pub header: Shdr,
    /// Name; empty when unreadable.
    pub name: &'d [u8],
    /// Bytes; empty for sections without bytes, short when the file ends early.
    pub data: &'d [u8],
}

/// A symbol table with its strings.
#[derive(Debug, Clone)]
pub struct SymbolTable<'d> {
    /// Index of its section.
    pub section: u32,
    /// Entries, number 0 included.
    pub entries: Cow<'d, [Sym]>,
    /// String table.
    pub strings: &'d [u8],
    extended: &'d [u8],
}

/// Section of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// Undefined.
    Undefined,
    /// Common storage.
    Common,
    /// In the section with this index; it may point nowhere.
    Section(u32),
    /// Another reserved index.
    Reserved(u16),
}

/// One device ELF file, as far as it can be read.
#[derive(Debug, Clone)]
pub struct View<'d> {
    /// The whole file.
    pub data: &'d [u8],
    /// Header, widened to 64 bits.
    pub header: Ehdr,
    /// Sections, number 0 included.
    pub sections: Vec<Sect<'d>>,
    /// Program headers.
    pub segments: Vec<Phdr>,
    /// Symbol tables: the plain one first.
    pub tables: Vec<SymbolTable<'d>>,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
    /// The reader of 32-bit files, which are refused when they are damaged.
    narrow: Option<Cubin32<'d>>,
}

impl<'d> View<'d> {
    /// Reads what can be read of a device file.
    pub fn parse(data: &'d [u8]) -> Result<Self, ReadError> {
        let mut view = View::with_header(data)?;
        if view.header.e_machine.get() != EM_CUDA {
            return Err(ReadError::NotDevice {
                machine: view.header.e_machine.get(),
            });
        }
        if let (true, Err(error)) = (view.is_64(), Cubin::parse(data)) {
            view.problem("file", error.to_string());
        }
        view.read_tables()?;
        view.find_symbols();
        Ok(view)
    }

    /// Reads the sections of a 64-bit ELF file of any machine; symbols are left out.
    pub fn sections_of_host(data: &'d [u8]) -> Result<Self, ReadError> {
        let mut view = View::with_header(data)?;
        let [_, _, _, _, class, encoding, ..] = view.header.ident;
        if class != 2 {
            return Err(ReadError::Class { class, data: encoding });
        }
        view.read_tables()?;
        Ok(view)
    }

    fn with_header(data: &'d [u8]) -> Result<Self, ReadError> {
        let narrow = match data {
            [0x7f, b'E', b'L', b'F', 1, 1, ..] => Some(Cubin32::parse(data)?),
            _ => None,
        };
        let header = match &narrow {
            Some(cubin) => *cubin.header(),
            None => *Ehdr::ref_from_prefix(data).map_err(|_| ReadError::TooShort { size: data.len() })?.0,
        };
        let [a, b, c, d, class, encoding, ..] = header.ident;
        if [a, b, c, d] != *b"\x7fELF" {
            return Err(ReadError::NotElf);
        }
        if !matches!((class, encoding), (1 | 2, 1)) {
            return Err(ReadError::Class { class, data: encoding });
        }
        Ok(View {
            data,
            header,
            sections: Vec::new(),
            segments: Vec::new(),
            tables: Vec::new(),
            problems: Vec::new(),
            narrow,
        })
    }

    /// True for the 64-bit form.
    pub fn is_64(&self) -> bool {
        self.narrow.is_none()
    }

    fn problem(&mut self, place: &str, reason: String) {
        let place = place.to_owned();
        self.problems.push(Problem { place, reason });
    }

    fn read_tables(&mut self) -> Result<(), ReadError> {
        let headers = match &self.narrow {
            Some(cubin) => cubin.section_headers().to_vec(),
            None => self.read_section_headers(),
        };
        self.name_sections(headers);
        self.segments = match &self.narrow {
            Some(cubin) => cubin.program_headers()?,
            None => self.read_segments(),
        };
        Ok(())
    }

    fn read_section_headers(&mut self) -> Vec<Shdr> {
        const SIZE: usize = size_of::<Shdr>();
        let (offset, stated) = (self.header.e_shoff.get(), self.header.e_shentsize.get());
        if offset == 0 && self.header.e_shnum.get() == 0 {
            return Vec::new();
        }
        if usize::from(stated) != SIZE {
            self.problem("header", format!("e_shentsize is {stated}, expected {SIZE}; {SIZE} is used"));
        }
        let table = usize::try_from(offset).ok().and_then(|o| self.data.get(o..)).unwrap_or_default();
        let headers = table.chunks_exact(SIZE).map(|c| Shdr::read_from_bytes(c).unwrap_or_default());
        let mut count = u64::from(self.header.e_shnum.get());
        if count == 0 {
            // More than 65,279 sections: the count is in section 0.
            count = headers.clone().next().map_or(0, |first| first.sh_size.get());
        }
        let readable = (headers.len() as u64).min(count) as usize;
        if (readable as u64) < count {
            let reason = format!("table of {count} at {offset:#x} ends outside the file, {readable} are readable");
            self.problem("section headers", reason);
        }
        headers.take(readable).collect()
    }

    fn name_sections(&mut self, headers: Vec<Shdr>) {
        let mut names = u32::from(self.header.e_shstrndx.get());
        if names == u32::from(SHN_XINDEX) {
            names = headers.first().map_or(0, |s| s.sh_link.get());
        }
        let strings = headers.get(names as usize).map(|h| clip(self.data, h)).unwrap_or_default();
        self.sections.reserve(headers.len());
        for (index, header) in headers.into_iter().enumerate() {
            let name = string_at(strings, header.sh_name.get());
            let data = clip(self.data, &header);
            let place = || match name {
                Some(n) if !n.is_empty() => format!("section {index} {}", n.escape_ascii()),
                _ => format!("section {index}"),
            };
            if name.is_none() {
                self.problem(&place(), format!("name offset {:#x} is not a string", header.sh_name.get()));
            }
            if !is_nobits(header.sh_type.get()) && (data.len() as u64) < header.sh_size.get() {
                let reason = format!(
                    "offset {:#x}, size {:#x}: only {:#x} bytes are in the file",
                    header.sh_offset.get(),
                    header.sh_size.get(),
                    data.len()
                );
                self.problem(&place(), reason);
            }
            let name = name.unwrap_or_default();
            self.sections.push(Sect {
                index: index as u32,
                header,
                name,
                data,
            });
        }
    }

    fn read_segments(&mut self) -> Vec<Phdr> {
        let count = usize::from(self.header.e_phnum.get());
        let table = usize::try_from(self.header.e_phoff.get()).ok().and_then(|o| self.data.get(o..));
        let chunks = table.unwrap_or_default().chunks_exact(size_of::<Phdr>());
        if count > chunks.len() {
            let reason = format!("table of {count} ends outside the file, {} are readable", chunks.len());
            self.problem("program headers", reason);
        }
        chunks.take(count).map(|c| Phdr::read_from_bytes(c).unwrap_or_default()).collect()
    }

    /// Entries of a relocation section, widened; REL entries have addend 0. The flag says whether there are addends.
    pub fn relocations(&self, section: &Sect<'d>) -> (bool, impl Iterator<Item = Rela> + use<'d>) {
        let with_addend = section.header.sh_type.get() != SHT_REL;
        let narrow: Vec<Rela> = match &self.narrow {
            Some(cubin) => {
                let list = cubin.section(section.index).and_then(|s| cubin.relocations(&s));
                list.unwrap_or_default()
            }
            None => Vec::new(),
        };
        let size = if with_addend { size_of::<Rela>() } else { size_of::<Rel>() };
        let data = if self.is_64() { section.data } else { &[] };
        let wide = data.chunks_exact(size).map(move |c| match with_addend {
            true => Rela::read_from_bytes(c).unwrap_or_default(),
            false => {
                let r = Rel::read_from_bytes(c).unwrap_or_default();
                Rela {
                    r_offset: r.r_offset,
                    r_type: r.r_type,
                    r_sym: r.r_sym,
                    r_addend: 0.into(),
                }
            }
        });
        (with_addend, wide.chain(narrow))
    }

    fn find_symbols(&mut self) {
        let mut tables = Vec::new();
        for s in &self.sections {
            if !matches!(s.header.sh_type.get(), SHT_SYMTAB | SHT_CUDA_MERC_SYMTAB) {
                continue;
            }
            let strings = self.section(s.header.sh_link.get()).map(|s| s.data).unwrap_or_default();
            let extended = self
                .sections
                .iter()
                .find(|x| x.header.sh_type.get() == SHT_SYMTAB_SHNDX && x.header.sh_link.get() == s.index);
            let whole = s.data.len() / size_of::<Sym>() * size_of::<Sym>();
            let entries = match &self.narrow {
                Some(cubin) => Cow::Owned(cubin.symbols().unwrap_or_default().into_iter().map(|(s, _)| s).collect()),
                None => {
                    let bytes = s.data.get(..whole).unwrap_or_default();
                    Cow::Borrowed(<[Sym]>::ref_from_bytes(bytes).unwrap_or_default())
                }
            };
            tables.push(SymbolTable {
                section: s.index,
                entries,
                strings,
                extended: extended.map(|x| x.data).unwrap_or_default(),
            });
        }
        tables.sort_by_key(|t| self.section(t.section).map(|s| s.header.sh_type.get()));
        self.tables = tables;
    }

    /// Section `index`.
    pub fn section(&self, index: u32) -> Option<&Sect<'d>> {
        self.sections.get(index as usize)
    }

    /// Name of section `index`; empty when there is none.
    pub fn section_name(&self, index: u32) -> &'d [u8] {
        self.section(index).map(|s| s.name).unwrap_or_default()
    }

    /// First section of this name.
    pub fn section_by_name(&self, name: &[u8]) -> Option<&Sect<'d>> {
        self.sections.iter().skip(1).find(|s| s.name == name)
    }

    /// The symbol table a section refers to with `sh_link`, or the plain one.
    pub fn table_of(&self, section: &Sect<'_>) -> Option<&SymbolTable<'d>> {
        let link = section.header.sh_link.get();
        self.tables.iter().find(|t| t.section == link).or(self.tables.first())
    }

    /// Name to show for symbol `index` of `table`: its own, or its section's for a section symbol without one.
    pub fn symbol_name(&self, table: &SymbolTable<'d>, index: u32) -> &'d [u8] {
        let name = table.name(index);
        let section = name.is_empty()
            && table
                .entries
                .get(index as usize)
                .is_some_and(|e| e.kind() == cubin::consts::STT_SECTION);
        match table.home(index) {
            Home::Section(s) if section => self.section_name(s),
            _ => name,
        }
    }

    /// Number of the architecture: 90 for sm_90.
    pub fn arch(&self) -> u32 {
        cubin::names::file_flags(&self.header).sm.into()
    }
}

impl<'d> SymbolTable<'d> {
    /// Name of symbol `index`; empty when unreadable.
    pub fn name(&self, index: u32) -> &'d [u8] {
        let offset = self.entries.get(index as usize).map_or(0, |e| e.st_name.get());
        string_at(self.strings, offset).unwrap_or_default()
    }

    /// Where symbol `index` lives.
    pub fn home(&self, index: u32) -> Home {
        let Some(entry) = self.entries.get(index as usize) else {
            return Home::Undefined;
        };
        match entry.st_shndx.get() {
            0 => Home::Undefined,
            SHN_COMMON => Home::Common,
            SHN_XINDEX => {
                let at = index as usize * 4;
                match self.extended.get(at..at + 4).and_then(|b| b.try_into().ok()) {
                    Some(b) => Home::Section(u32::from_le_bytes(b)),
                    None => Home::Reserved(SHN_XINDEX),
                }
            }
            reserved @ SHN_LORESERVE.. => Home::Reserved(reserved),
            direct => Home::Section(direct.into()),
        }
    }
}

/// The bytes of a section that are in the file.
fn clip<'d>(data: &'d [u8], header: &Shdr) -> &'d [u8] {
    if is_nobits(header.sh_type.get()) {
        return &[];
    }
    let rest = usize::try_from(header.sh_offset.get())
        .ok()
        .and_then(|o| data.get(o..))
        .unwrap_or_default();
    let size = usize::try_from(header.sh_size.get()).unwrap_or(usize::MAX);
    rest.get(..size).unwrap_or(rest)
}
