//! The types of the table of instruction forms and the short constructors it is written with.

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
    /// Lowest bit of the field in the 128-bit instruction, or [`SPLIT`].
    pub(crate) bit: u8,
    /// Number of consecutive registers, or one of the numbers that a texture instruction says itself.
    pub(crate) count: u8,
}

/// Coordinates of a texture.
pub(crate) const COORDINATES: u8 = 0x80;
/// Derivatives of the coordinates of a texture: two of each, without that of a layer.
pub(crate) const DERIVATIVES: u8 = 0x81;
/// The first two components that a texture instruction requests.
pub(crate) const LOW_RESULTS: u8 = 0x82;
/// The other components that a texture instruction requests.
pub(crate) const HIGH_RESULTS: u8 = 0x83;

/// The third uniform operand of matrix products with scales: its low three bits are 60 to 62, the others 73 to 77.
pub(crate) const SPLIT: u8 = 60;

impl Operand {
    /// The register that the field names; `None` for the constant register.
    pub(crate) fn field(&self, raw: u128) -> Option<u8> {
        let wide = matches!(self.file, RegFile::R | RegFile::Ur);
        // No field crosses the middle of the instruction but the one that has two parts.
        let half = if self.bit < 64 { raw as u64 } else { (raw >> 64) as u64 };
        let field = (half >> (self.bit & 63)) as u8;
        let (value, none) = match (self.bit, wide) {
            (SPLIT, true) => ((raw >> SPLIT & 7 | (raw >> 73 & 31) << 3) as u8, 255),
            (_, true) => (field, 255),
            (_, false) => (field & 7, 7),
        };
        (value != none).then_some(value)
    }

    /// Number of consecutive registers in an instruction.
    pub(crate) fn registers(&self, raw: u128) -> u8 {
        if self.count < COORDINATES {
            return self.count;
        }
        // Bits 61 and 62: 1D, 2D, 3D, cube; bit 63: in layers.
        let shape = [1, 2, 3, 3][(raw >> 61 & 3) as usize];
        let layers = (raw >> 63 & 1) as u8;
        // Bits 72 to 75: one for each component.
        let components = (raw >> 72 & 15).count_ones() as u8;
        match self.count {
            COORDINATES => shape + layers,
            DERIVATIVES => 2 * shape,
            LOW_RESULTS => components.min(2),
            HIGH_RESULTS => components.saturating_sub(2).max(1),
            count => count,
        }
    }
}

/// An instruction under one combination of modifier bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    pub(crate) code: u16,
    pub(crate) name: &'static str,
    pub(crate) mask: u64,
    pub(crate) value: u64,
    pub(crate) operands: &'static [Operand],
}

pub(crate) const fn form(code: u16, name: &'static str, mask: u64, value: u64, operands: &'static [Operand]) -> Form {
    Form {
        code,
        name,
        mask,
        value,
        operands,
    }
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
