//! Attribute records (`.nv.info`, `.nv.compat`) as rows: names for codes, symbols and fields.

use super::model::Model;
use crate::line::{Line, hex};
use crate::names;
use crate::view::{Sect, SymbolTable, View};
use cubin::compat;
use cubin::consts::{SHT_CUDA_COMPAT, SHT_CUDA_INFO, SHT_CUDA_MERC_INFO};
use cubin::nvinfo::{self, Record, Value};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// A symbol that an attribute names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SymbolRef<'d> {
    /// Index.
    pub symbol: u32,
    /// Name.
    pub name: Cow<'d, str>,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttributeRow<'d> {
    /// Offset of the record in its section.
    pub offset: usize,
    /// Code.
    pub code: u8,
    /// Name, or the code as a number.
    pub name: Cow<'static, str>,
    /// Format name, or its number.
    pub format: Cow<'static, str>,
    /// Decoded value.
    pub value: AttributeValue<'d>,
}

/// Decoded value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttributeValue<'d> {
    /// Nothing but its presence.
    Flag,
    /// A number.
    Number {
        /// The number.
        number: u32,
    },
    /// A number for a symbol.
    SymbolNumber {
        /// Symbol index.
        symbol: u32,
        /// Symbol name.
        symbol_name: Cow<'d, str>,
        /// The number.
        number: u32,
    },
    /// Symbols.
    Symbols {
        /// The symbols.
        symbols: Vec<SymbolRef<'d>>,
    },
    /// Offsets of instructions.
    Offsets {
        /// The offsets.
        offsets: Vec<u32>,
    },
    /// Numbers.
    Words {
        /// The numbers.
        words: Vec<u32>,
    },
    /// Location of a kernel's parameters in constant bank 0.
    ParameterBank {
        /// Symbol index of the bank's section.
        symbol: u32,
        /// Symbol name.
        symbol_name: Cow<'d, str>,
        /// Offset of the first parameter.
        offset: u16,
        /// Size of all parameters.
        size: u16,
    },
    /// A kernel parameter.
    Parameter {
        /// First word, 0 in practice.
        index: u32,
        /// Position.
        ordinal: u16,
        /// Offset from the first parameter.
        offset: u16,
        /// Size in bytes.
        size: u16,
        /// Binary logarithm of the alignment of what it points to.
        log_alignment: u8,
        /// Memory space of what it points to.
        space: u8,
        /// Constant bank.
        bank: u8,
        /// True for a parameter that is passed in a constant bank.
        in_bank: bool,
    },
    /// A kernel parameter in the newer form.
    ParameterV2 {
        /// Position.
        ordinal: u32,
        /// Offset from the first parameter.
        offset: u32,
        /// Size in bytes.
        size: u16,
        /// Binary logarithm of the alignment.
        log_alignment: u8,
        /// Type and pointer bit.
        type_value: u8,
    },
    /// Three dimensions.
    Dimensions {
        /// x, y, z.
        xyz: [u32; 3],
    },
    /// Indirect branches.
    Branches {
        /// The branches.
        branches: Vec<BranchRow>,
    },
    /// Bytes without known structure, as hexadecimal digits.
    Bytes {
        /// The digits.
        hex: String,
    },
    /// The record is damaged.
    Damaged {
        /// Description of the defect.
        reason: String,
    },
}

/// An indirect branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BranchRow {
    /// Offset of the instruction.
    pub offset: u32,
    /// Possible targets.
    pub targets: Vec<u32>,
}

/// Which table of codes a section uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codes {
    /// `.nv.info`.
    Info,
    /// `.nv.compat`.
    Compat,
}

/// The table of codes of a section, if it holds attributes.
pub(crate) fn codes_of(section: &Sect<'_>) -> Option<Codes> {
    match section.header.sh_type.get() {
        SHT_CUDA_INFO | SHT_CUDA_MERC_INFO => Some(Codes::Info),
        SHT_CUDA_COMPAT => Some(Codes::Compat),
        _ => None,
    }
}

/// The records of an attribute section.
pub(crate) fn rows<'v, 'd>(view: &'v View<'d>, section: &Sect<'d>, codes: Codes) -> impl Iterator<Item = AttributeRow<'d>> + use<'v, 'd> {
    let table = view.table_of(section);
    let mut records = nvinfo::records(section.data);
    std::iter::from_fn(move || {
        let offset = records.offset();
        Some(match records.next()? {
            Ok(record) => row(view, table, offset, &record, codes),
            Err(error) => AttributeRow {
                offset,
                code: 0,
                name: "damaged record".into(),
                format: "-".into(),
                value: AttributeValue::Damaged { reason: error.to_string() },
            },
        })
    })
}

fn row<'d>(view: &View<'d>, table: Option<&SymbolTable<'d>>, offset: usize, record: &Record<'d>, codes: Codes) -> AttributeRow<'d> {
    let code = record.attribute;
    let name = match codes {
        Codes::Info => record.info().map(|i| i.name),
        Codes::Compat => compat::attribute_name(code),
    };
    let value = match codes {
        Codes::Info => info_value(view, table, record),
        Codes::Compat => compat_value(record),
    };
    AttributeRow {
        offset,
        code,
        name: name.map_or_else(|| format!("attribute {code:#04x}").into(), Cow::Borrowed),
        format: nvinfo::format_name(record.format).map_or_else(|| format!("format {}", record.format).into(), Cow::Borrowed),
        value,
    }
}

fn compat_value<'d>(record: &Record<'d>) -> AttributeValue<'d> {
    match record.format {
        nvinfo::FORMAT_SIZED if record.payload.len().is_multiple_of(4) => words(record.words().iter().map(|w| w.get()).collect()),
        nvinfo::FORMAT_SIZED => bytes(record.payload),
        nvinfo::FORMAT_BYTE => AttributeValue::Number {
            number: record.byte().into(),
        },
        _ => AttributeValue::Number {
            number: record.half.into(),
        },
    }
}

fn words<'d>(words: Vec<u32>) -> AttributeValue<'d> {
    AttributeValue::Words { words }
}

fn bytes<'d>(data: &[u8]) -> AttributeValue<'d> {
    AttributeValue::Bytes { hex: hex(data) }
}

fn info_value<'d>(view: &View<'d>, table: Option<&SymbolTable<'d>>, record: &Record<'d>) -> AttributeValue<'d> {
    let name_of = |symbol: u32| match table {
        Some(t) if (symbol as usize) < t.entries.len() => names::text(view.symbol_name(t, symbol)),
        _ => Cow::Borrowed("?"),
    };
    let list = |w: &[zerocopy::little_endian::U32]| w.iter().map(|w| w.get()).collect::<Vec<u32>>();
    match record.value() {
        Value::Flag => AttributeValue::Flag,
        Value::Byte(n) => AttributeValue::Number { number: n.into() },
        Value::Half(n) => AttributeValue::Number { number: n.into() },
        Value::Word(number) => AttributeValue::Number { number },
        Value::SymbolValue { symbol, value } => AttributeValue::SymbolNumber {
            symbol,
            symbol_name: name_of(symbol),
            number: value,
        },
        Value::Symbols(s) => AttributeValue::Symbols {
            symbols: list(s)
                .into_iter()
                .map(|symbol| SymbolRef {
                    symbol,
                    name: name_of(symbol),
                })
                .collect(),
        },
        Value::Offsets(o) => AttributeValue::Offsets { offsets: list(o) },
        Value::Words(w) => words(list(w)),
        Value::ParamBank { symbol, offset, size } => AttributeValue::ParameterBank {
            symbol,
            symbol_name: name_of(symbol),
            offset,
            size,
        },
        Value::Param(p) => AttributeValue::Parameter {
            index: p.index,
            ordinal: p.ordinal,
            offset: p.offset,
            size: p.size,
            log_alignment: p.log_alignment,
            space: p.space,
            bank: p.bank,
            in_bank: p.in_bank,
        },
        Value::ParamV2(p) => AttributeValue::ParameterV2 {
            ordinal: p.index,
            offset: p.offset,
            size: p.size,
            log_alignment: p.log_alignment,
            type_value: p.kind,
        },
        Value::Dim3(xyz) => AttributeValue::Dimensions { xyz },
        Value::BranchTargets(branches) => AttributeValue::Branches {
            branches: branches
                .flatten()
                .map(|b| BranchRow {
                    offset: b.offset,
                    targets: list(b.targets),
                })
                .collect(),
        },
        Value::Bytes(b) => bytes(b),
    }
}

/// A number as people read it: small ones as they are, others also in hexadecimal.
pub(crate) fn number(n: u32) -> String {
    match n {
        0..=9 => n.to_string(),
        u32::MAX => "-1 (0xffffffff)".into(),
        _ => format!("{n} ({n:#x})"),
    }
}

/// Appends a value to a line: the frequent ones without the formatting machinery.
pub(crate) fn put_value(line: &mut Line, value: &AttributeValue<'_>) {
    let put = |line: &mut Line, n: u32| {
        if n == u32::MAX {
            line.text("-1 (0xffffffff)");
            return;
        }
        line.number(n.into(), 0);
        if n > 9 {
            line.text(" (").hex(n.into(), 0).text(")");
        }
    };
    match value {
        AttributeValue::Flag => {
            line.text("set");
        }
        AttributeValue::Number { number } => put(line, *number),
        AttributeValue::SymbolNumber {
            symbol,
            symbol_name,
            number,
        } => {
            line.text(symbol_name).text(" [").number((*symbol).into(), 0).text("]: ");
            put(line, *number);
        }
        AttributeValue::Offsets { offsets } => {
            for (i, offset) in offsets.iter().enumerate() {
                line.text(if i == 0 { "+" } else { " +" }).hex((*offset).into(), 0);
            }
        }
        AttributeValue::Bytes { hex } => {
            line.text(hex);
        }
        other => {
            line.text(&other.to_string());
        }
    }
}

fn join<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let parts: Vec<String> = items.iter().map(show).collect();
    parts.join(" ")
}

impl fmt::Display for AttributeValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeValue::Flag => f.write_str("set"),
            AttributeValue::Number { number: n } => f.write_str(&number(*n)),
            AttributeValue::SymbolNumber {
                symbol,
                symbol_name,
                number: n,
            } => write!(f, "{symbol_name} [{symbol}]: {}", number(*n)),
            AttributeValue::Symbols { symbols } => f.write_str(&join(symbols, |s| format!("{} [{}]", s.name, s.symbol))),
            AttributeValue::Offsets { offsets } => f.write_str(&join(offsets, |o| format!("+{o:#x}"))),
            AttributeValue::Words { words } => f.write_str(&join(words, |w| format!("{w:#x}"))),
            AttributeValue::ParameterBank {
                symbol,
                symbol_name,
                offset,
                size,
            } => write!(f, "{symbol_name} [{symbol}]: {size} bytes at {offset:#x}"),
            AttributeValue::Parameter {
                index,
                ordinal,
                offset,
                size,
                log_alignment,
                space,
                bank,
                in_bank,
            } => {
                write!(f, "parameter {ordinal}: {size} bytes at {offset:#x}, bank {bank:#x}")?;
                if *log_alignment != 0 || *space != 0 {
                    write!(f, ", points to space {space} with alignment 2^{log_alignment}")?;
                }
                if *index != 0 {
                    write!(f, ", index {index}")?;
                }
                if *in_bank {
                    Ok(())
                } else {
                    f.write_str(", not in a constant bank")
                }
            }
            AttributeValue::ParameterV2 {
                ordinal,
                offset,
                size,
                log_alignment,
                type_value,
            } => write!(
                f,
                "parameter {ordinal}: {size} bytes at {offset:#x}, alignment 2^{log_alignment}, type {type_value:#x}"
            ),
            AttributeValue::Dimensions { xyz: [x, y, z] } => write!(f, "{x} x {y} x {z}"),
            AttributeValue::Branches { branches } => f.write_str(&join(branches, |b| {
                format!("+{:#x} -> {};", b.offset, join(&b.targets, |t| format!("+{t:#x}")))
            })),
            AttributeValue::Bytes { hex } => f.write_str(hex),
            AttributeValue::Damaged { reason } => f.write_str(reason),
        }
    }
}

impl<'v, 'd> Model<'v, 'd> {
    /// Sections of attributes with the function they belong to.
    pub(crate) fn attribute_sections(&self) -> impl Iterator<Item = (&'v Sect<'d>, Codes)> + use<'_, 'v, 'd> {
        self.view
            .sections
            .iter()
            .filter_map(|s| Some((s, codes_of(s)?)))
            .filter(|(s, _)| self.shows_section(s) || (!self.selection.kernels.is_empty() && self.function_of(s).is_none()))
    }

    /// The records of an attribute section that are shown: with `--kernel`, the module's records that name the kernel.
    pub(crate) fn attributes(&self, section: &'v Sect<'d>, codes: Codes) -> impl Iterator<Item = AttributeRow<'d>> + use<'_, 'v, 'd> {
        let whole = self.shows_section(section);
        rows(self.view, section, codes).filter(move |r| {
            whole || matches!(&r.value, AttributeValue::SymbolNumber { symbol_name, .. } if self.shows_function(symbol_name.as_bytes()))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn lines_are_what_is_displayed() {
        let values = [
            AttributeValue::Flag,
            AttributeValue::Number { number: 9 },
            AttributeValue::Number { number: 10 },
            AttributeValue::Number { number: u32::MAX },
            AttributeValue::SymbolNumber {
                symbol: 26,
                symbol_name: "k".into(),
                number: 24,
            },
            AttributeValue::Offsets { offsets: vec![0, 0x120] },
            AttributeValue::Words { words: vec![1, 2] },
            bytes(&[1, 2]),
        ];
        for value in values {
            let mut line = Line::default();
            put_value(&mut line, &value);
            let mut out = Vec::new();
            line.end(&mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{value}\n"));
        }
    }
}
