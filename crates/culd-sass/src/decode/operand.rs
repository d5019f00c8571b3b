//! The row types of the opcode table and the short constructors it is written with.

use crate::reg::RegFile;

/// Does an operand field name a register that is read or one that is written?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// The instruction reads the register.
    Use,
    /// The instruction writes the register.
    Def,
}

/// One operand field of an instruction form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) access: Access,
    pub(crate) file: RegFile,
    /// Lowest bit of the field in the 128-bit instruction.
    pub(crate) bit: u8,
    /// Number of consecutive registers.
    pub(crate) count: u8,
}

/// The operands of an opcode under one combination of modifier bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) mask: u64,
    pub(crate) value: u64,
    pub(crate) operands: &'static [Operand],
}

/// One opcode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpRow {
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    pub(crate) forms: &'static [Form],
}

pub(crate) const fn op(code: u16, name: &'static str, forms: &'static [Form]) -> OpRow {
    OpRow { code, name, forms }
}

pub(crate) const fn form(mask: u64, value: u64, operands: &'static [Operand]) -> Form {
    Form { mask, value, operands }
}

const fn operand(access: Access, file: RegFile, bit: u8, count: u8) -> Operand {
    Operand { access, file, bit, count }
}

pub(crate) const fn d_r(bit: u8, count: u8) -> Operand {
    operand(Access::Def, RegFile::R, bit, count)
}

pub(crate) const fn u_r(bit: u8, count: u8) -> Operand {
    operand(Access::Use, RegFile::R, bit, count)
}

pub(crate) const fn d_ur(bit: u8, count: u8) -> Operand {
    operand(Access::Def, RegFile::Ur, bit, count)
}

pub(crate) const fn u_ur(bit: u8, count: u8) -> Operand {
    operand(Access::Use, RegFile::Ur, bit, count)
}

pub(crate) const fn d_p(bit: u8) -> Operand {
    operand(Access::Def, RegFile::P, bit, 1)
}

pub(crate) const fn u_p(bit: u8) -> Operand {
    operand(Access::Use, RegFile::P, bit, 1)
}

pub(crate) const fn d_up(bit: u8) -> Operand {
    operand(Access::Def, RegFile::Up, bit, 1)
}

pub(crate) const fn u_up(bit: u8) -> Operand {
    operand(Access::Use, RegFile::Up, bit, 1)
}
