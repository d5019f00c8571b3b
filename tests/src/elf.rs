//! Where the numbers of an ELF file are, for changing them. Reads damaged files as far as they go; nothing here is checked twice.

/// A field of a record: name, offset in the record, width in bytes.
pub type FieldInfo = (&'static str, usize, usize);

/// The ELF header.
pub const HEADER: [FieldInfo; 19] = [
    ("EI_MAG0", 0, 1),
    ("EI_CLASS", 4, 1),
    ("EI_DATA", 5, 1),
    ("EI_VERSION", 6, 1),
    ("EI_OSABI", 7, 1),
    ("EI_ABIVERSION", 8, 1),
    ("e_type", 16, 2),
    ("e_machine", 18, 2),
    ("e_version", 20, 4),
    ("e_entry", 24, 8),
    ("e_phoff", 32, 8),
    ("e_shoff", 40, 8),
    ("e_flags", 48, 4),
    ("e_ehsize", 52, 2),
    ("e_phentsize", 54, 2),
    ("e_phnum", 56, 2),
    ("e_shentsize", 58, 2),
    ("e_shnum", 60, 2),
    ("e_shstrndx", 62, 2),
];

/// A section header.
pub const SECTION: [FieldInfo; 10] = [
    ("sh_name", 0, 4),
    ("sh_type", 4, 4),
    ("sh_flags", 8, 8),
    ("sh_addr", 16, 8),
    ("sh_offset", 24, 8),
    ("sh_size", 32, 8),
    ("sh_link", 40, 4),
    ("sh_info", 44, 4),
    ("sh_addralign", 48, 8),
    ("sh_entsize", 56, 8),
];

/// A symbol.
pub const SYMBOL: [FieldInfo; 6] = [
    ("st_name", 0, 4),
    ("st_info", 4, 1),
    ("st_other", 5, 1),
    ("st_shndx", 6, 2),
    ("st_value", 8, 8),
    ("st_size", 16, 8),
];

/// A relocation with addend; one without ends before it.
pub const RELOCATION: [FieldInfo; 4] = [("r_offset", 0, 8), ("r_type", 8, 4), ("r_sym", 12, 4), ("r_addend", 16, 8)];

/// The little-endian number of `width` bytes at `at`; 0 outside the file.
pub fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut value = [0; 8];
    if let Some(field) = at.checked_add(width).and_then(|end| bytes.get(at..end)) {
        value[..width].copy_from_slice(field);
    }
    u64::from_le_bytes(value)
}

/// Stores a number; false when it is outside the file.
pub fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) -> bool {
    let Some(field) = at.checked_add(width).and_then(|end| bytes.get_mut(at..end)) else {
        return false;
    };
    field.copy_from_slice(&value.to_le_bytes()[..width]);
    true
}

/// A section as its header describes it.
#[derive(Debug, Clone)]
pub struct ElfSection {
    /// Name, as far as it can be read.
    pub name: Vec<u8>,
    /// Offset of the header.
    pub header: usize,
    /// Type.
    pub sh_type: u32,
    /// Offset of the bytes.
    pub offset: usize,
    /// Number of bytes that are in the file.
    pub size: usize,
}

/// The sections of a 64-bit ELF file, number 0 included.
pub fn sections(bytes: &[u8]) -> Vec<ElfSection> {
    let at = |offset: usize, width| usize::try_from(number(bytes, offset, width)).unwrap_or(usize::MAX);
    let (table, count, names) = (at(40, 8), at(60, 2), at(62, 2));
    let header = |i: usize| table.saturating_add(i.saturating_mul(64));
    let names = at(header(names).saturating_add(24), 8);
    let section = |i: usize| {
        let header = header(i);
        let start = names.saturating_add(at(header, 4));
        let name = bytes.get(start..).unwrap_or_default();
        let offset = at(header.saturating_add(24), 8);
        let size = at(header.saturating_add(32), 8);
        ElfSection {
            name: name.split(|b| *b == 0).next().unwrap_or_default().to_vec(),
            header,
            sh_type: number(bytes, header.saturating_add(4), 4) as u32,
            offset,
            size: size.min(bytes.len().saturating_sub(offset)),
        }
    };
    (0..count).filter(|i| header(*i) < bytes.len()).map(section).collect()
}

/// The first symbol table.
pub fn symbol_table(sections: &[ElfSection]) -> Option<&ElfSection> {
    const SYMTAB: u32 = 2;
    sections.iter().find(|s| s.sh_type == SYMTAB)
}

/// Name of a symbol, as far as it can be read.
pub fn symbol_name<'b>(bytes: &'b [u8], sections: &[ElfSection], index: usize) -> &'b [u8] {
    let find = || {
        let table = symbol_table(sections)?;
        let strings = sections.get(number(bytes, table.header + 40, 4) as usize)?;
        let name = number(bytes, table.offset + 24 * index, 4) as usize;
        bytes.get(strings.offset.checked_add(name)?..)?.split(|b| *b == 0).next()
    };
    find().unwrap_or_default()
}
