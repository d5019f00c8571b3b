//! Attributes whose symbols are handles: the builder writes the numbers when the symbol table is complete.

use super::{BuildError, SymbolId};
use crate::codec::CodecError;
use crate::nvinfo::{FORMAT_BYTE, FORMAT_HALF, FORMAT_NONE, FORMAT_SIZED, Record, SymbolUse, attribute_info};

/// One attribute of `.nv.info`.
///
/// ```
/// use cubin::build::{Attribute, Form, ObjectBuilder, Target};
/// let mut object = ObjectBuilder::new(Target::sm(80), Form::Cuda13)?;
/// let kernel = object.declare_kernel(b"k")?;
/// let symbol = object.function_symbol(kernel)?;
/// // EIATTR_REGCOUNT
/// object.module_attribute(Attribute::symbol_value(0x2f, symbol, 24))?;
/// // EIATTR_EXIT_INSTR_OFFSETS
/// let _exits = Attribute::words(0x1c, &[0x40, 0x80])?;
/// # Ok::<(), cubin::build::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    format: u8,
    code: u8,
    half: u16,
    payload: Vec<u8>,
    /// Offsets of symbol numbers in the payload.
    symbols: Vec<(usize, SymbolId)>,
}

impl Attribute {
    fn short(format: u8, code: u8, half: u16) -> Self {
        Attribute {
            format,
            code,
            half,
            payload: Vec::new(),
            symbols: Vec::new(),
        }
    }
    /// An attribute whose presence is the information.
    pub fn flag(code: u8) -> Self {
        Attribute::short(FORMAT_NONE, code, 0)
    }
    /// An attribute with a byte in the record.
    pub fn byte(code: u8, value: u8) -> Self {
        Attribute::short(FORMAT_BYTE, code, value.into())
    }
    /// An attribute with 16 bits in the record.
    pub fn half(code: u8, value: u16) -> Self {
        Attribute::short(FORMAT_HALF, code, value)
    }
    /// An attribute with a payload.
    pub fn sized(code: u8, payload: Vec<u8>) -> Result<Self, BuildError> {
        let half = u16::try_from(payload.len()).map_err(|_| CodecError::TooLong {
            what: "payload of an .nv.info record",
            size: payload.len(),
            max: u16::MAX.into(),
        })?;
        Ok(Attribute {
            payload,
            ..Attribute::short(FORMAT_SIZED, code, half)
        })
    }
    /// An attribute whose payload is words.
    pub fn words(code: u8, words: &[u32]) -> Result<Self, BuildError> {
        Attribute::sized(code, words.iter().flat_map(|w| w.to_le_bytes()).collect())
    }
    /// An attribute of a symbol with a value.
    pub fn symbol_value(code: u8, symbol: SymbolId, value: u32) -> Self {
        let [a, b, c, d] = value.to_le_bytes();
        Attribute {
            payload: vec![0, 0, 0, 0, a, b, c, d],
            symbols: vec![(0, symbol)],
            ..Attribute::short(FORMAT_SIZED, code, 8)
        }
    }
    /// An attribute that is a list of symbols.
    pub fn symbols(code: u8, list: &[SymbolId]) -> Result<Self, BuildError> {
        let mut attribute = Attribute::words(code, &vec![0; list.len()])?;
        attribute.symbols = list.iter().enumerate().map(|(i, &s)| (i * 4, s)).collect();
        Ok(attribute)
    }
    /// An attribute with a payload whose first word is a symbol, for example `EIATTR_PARAM_CBANK`.
    pub fn symbol_and_bytes(code: u8, symbol: SymbolId, rest: &[u8]) -> Result<Self, BuildError> {
        let mut attribute = Attribute::sized(code, [&[0; 4], rest].concat())?;
        attribute.symbols.push((0, symbol));
        Ok(attribute)
    }

    /// Takes over a record of another object. `symbol` translates the symbol numbers that the record contains; a number that it does not
    /// translate is kept.
    pub fn from_record(record: &Record<'_>, symbol: impl Fn(u32) -> Option<SymbolId>) -> Self {
        let uses = attribute_info(record.attribute).map_or(SymbolUse::No, |i| i.symbols);
        let count = match uses {
            SymbolUse::No => 0,
            SymbolUse::First => 1,
            SymbolUse::All => record.payload.len() / 4,
        };
        let found = |i| Some((i * 4, symbol(record.word(i)?)?));
        Attribute {
            format: record.format,
            code: record.attribute,
            half: record.half,
            payload: record.payload.to_vec(),
            symbols: (0..count).filter_map(found).collect(),
        }
    }

    /// True when the attribute names this symbol.
    pub(super) fn names(&self, symbol: SymbolId) -> bool {
        self.symbols.iter().any(|&(_, s)| s == symbol)
    }

    /// Appends the record; `number` gives the number of a symbol.
    pub(super) fn write(&self, number: impl Fn(SymbolId) -> Result<u32, BuildError>, out: &mut Vec<u8>) -> Result<(), BuildError> {
        let mut payload = self.payload.clone();
        for &(at, symbol) in &self.symbols {
            if let Some(word) = payload.get_mut(at..).and_then(|p| p.first_chunk_mut::<4>()) {
                *word = number(symbol)?.to_le_bytes();
            }
        }
        let record = Record {
            format: self.format,
            attribute: self.code,
            half: self.half,
            payload: &payload,
        };
        record.write(out);
        Ok(())
    }
}
