//! String tables and symbol tables for the emitter.
//!
//! A string table keeps the order in which strings are added; offset 0 is the empty string. [`StringTable::intern`] uses a string again that was
//! added before, [`StringTable::append`] never does: the vendor's tools do both.

use crate::consts::*;
use crate::raw::Sym;
use crate::read::SymbolSection;
use std::collections::HashMap;
use zerocopy::IntoBytes;

/// A string table in the making.
#[derive(Debug, Clone)]
pub struct StringTable {
    bytes: Vec<u8>,
    // Only looked up, never walked, so that its order cannot reach the file.
    known: HashMap<Vec<u8>, u32>,
}

impl Default for StringTable {
    fn default() -> Self {
        StringTable::new()
    }
}

impl StringTable {
    /// A table that holds the empty string.
    pub fn new() -> Self {
        StringTable {
            bytes: vec![0],
            known: HashMap::from([(Vec::new(), 0)]),
        }
    }
    /// Adds a string at the end and gives its offset.
    pub fn append(&mut self, string: &[u8]) -> u32 {
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(string);
        self.bytes.push(0);
        self.known.entry(string.to_vec()).or_insert(offset);
        offset
    }
    /// Gives the offset of a string, adding it if it is new.
    pub fn intern(&mut self, string: &[u8]) -> u32 {
        match self.known.get(string) {
            Some(&offset) => offset,
            None => self.append(string),
        }
    }
    /// Offset of a string that was added before.
    pub fn find(&self, string: &[u8]) -> Option<u32> {
        self.known.get(string).copied()
    }
    /// Bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The table.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A symbol to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewSymbol {
    /// Offset of the name in the string table.
    pub name: u32,
    /// Binding and type.
    pub info: u8,
    /// CUDA bits.
    pub other: u8,
    /// Section of the symbol.
    pub section: SymbolSection,
    /// Value.
    pub value: u64,
    /// Size.
    pub size: u64,
    /// Entry in the table of extended indices when the section's index fits 16 bits.
    ///
    /// Readers ignore it. nvlink quirk: it leaves the number there that the section had before sections were put in order.
    pub unused_index: u32,
}

/// The 16-bit field for a symbol's section, and the entry of the table of extended indices (0 when the field says all).
pub fn section_field(section: SymbolSection) -> (u16, u32) {
    match section {
        SymbolSection::Undefined => (0, 0),
        SymbolSection::Common => (SHN_COMMON, 0),
        SymbolSection::Reserved(index) => (index, 0),
        SymbolSection::Index(index) => match u16::try_from(index) {
            Ok(small) if small < SHN_LORESERVE => (small, 0),
            _ => (SHN_XINDEX, index),
        },
    }
}

/// Bytes of a symbol table, and of its table of extended indices if some symbol needs one.
pub fn encode_symbols(symbols: &[NewSymbol]) -> (Vec<u8>, Option<Vec<u8>>) {
    let mut table = Vec::with_capacity(size_of_val(symbols));
    let mut extended = Vec::with_capacity(symbols.len() * 4);
    let mut needed = false;
    for s in symbols {
        let (field, index) = section_field(s.section);
        let index = if field == SHN_XINDEX { index } else { s.unused_index };
        needed |= field == SHN_XINDEX;
        let entry = Sym {
            st_name: s.name.into(),
            st_info: s.info,
            st_other: s.other,
            st_shndx: field.into(),
            st_value: s.value.into(),
            st_size: s.size.into(),
        };
        table.extend_from_slice(entry.as_bytes());
        extended.extend_from_slice(&index.to_le_bytes());
    }
    (table, needed.then_some(extended))
}
