//! The parts of DWARF that the SASS view needs: frame entries, frame programs, line tables.

use std::ops::Range;

/// A CIE or FDE of `.debug_frame` in the 64-bit form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FrameEntry {
    /// Bytes of the entry.
    pub(super) range: Range<usize>,
    /// Address range of an FDE; `None` for a CIE.
    pub(super) fde: Option<u64>,
}

/// Offset of an FDE's address.
pub(super) const FDE_ADDRESS: usize = 20;
/// Offset of an FDE's program.
pub(super) const FDE_PROGRAM: usize = 36;

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}
fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

/// Entries of `.debug_frame`, up to the first that makes no sense.
pub(super) fn frame_entries(data: &[u8]) -> Vec<FrameEntry> {
    let mut list = Vec::new();
    let mut at = 0;
    while u32_at(data, at) == Some(u32::MAX) {
        let (Some(size), Some(cie)) = (u64_at(data, at + 4), u64_at(data, at + 12)) else {
            break;
        };
        let end = usize::try_from(size).ok().and_then(|s| s.checked_add(at + 12));
        let Some(end) = end.filter(|&e| e <= data.len()) else { break };
        let fde = if cie == u64::MAX { None } else { u64_at(data, at + 28) };
        list.push(FrameEntry { range: at..end, fde });
        at = end;
    }
    list
}

/// An operation of a frame program.
pub(super) enum FrameOp {
    /// The location moves on.
    Advance {
        /// Distance as stored.
        delta: i32,
        /// Offset of the distance in the program.
        at: usize,
    },
    /// Any other operation.
    Rule(Range<usize>),
}

/// Operations of a frame program; `None` if one is not known.
pub(super) fn frame_ops(program: &[u8]) -> Option<Vec<FrameOp>> {
    let mut ops = Vec::new();
    let mut at = 0;
    let leb = |mut at: usize| {
        while program.get(at)? & 0x80 != 0 {
            at += 1;
        }
        Some(at + 1)
    };
    while let Some(&op) = program.get(at) {
        let start = at;
        at += 1;
        match op {
            0 => continue,
            4 => {
                let delta = u32_at(program, at)? as i32;
                ops.push(FrameOp::Advance { delta, at });
                at += 4;
                continue;
            }
            0x05 | 0x09 | 0x0c | 0x12 | 0x14 => at = leb(leb(at)?)?,
            0x06..=0x08 | 0x0d | 0x0e => at = leb(at)?,
            0x0a | 0x0b => {}
            0x10 | 0x16 => {
                at = leb(at)?;
                at += 1 + usize::from(*program.get(at)?);
            }
            _ => return None,
        }
        ops.push(FrameOp::Rule(start..at));
    }
    Some(ops)
}

/// A unit of a line table.
pub(super) struct LineUnit {
    /// Header, from the length to the first operation.
    pub(super) header: Range<usize>,
    /// Sequences: bytes, offset of the address that starts one.
    pub(super) sequences: Vec<(Range<usize>, Option<usize>)>,
}

/// Units of `.debug_line` or `.nv_debug_line_sass`, up to the first that makes no sense.
pub(super) fn line_units(data: &[u8]) -> Vec<LineUnit> {
    let mut units = Vec::new();
    let mut at = 0;
    while let Some((unit, end)) = line_unit(data, at) {
        units.push(unit);
        at = end;
    }
    units
}

fn leb128(data: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let &byte = data.get(at)?;
        at += 1;
        if shift < 64 {
            value |= u64::from(byte & 0x7f) << shift;
        }
        shift += 7;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
    }
}

fn line_unit(data: &[u8], start: usize) -> Option<(LineUnit, usize)> {
    let length = u32_at(data, start)? as usize;
    let program = start.checked_add(10)?.checked_add(u32_at(data, start + 6)? as usize)?;
    let end = start.checked_add(4)?.checked_add(length).filter(|&e| e <= data.len())?;
    let &opcode_base = data.get(start + 14)?;
    let mut unit = LineUnit {
        header: start..program,
        sequences: Vec::new(),
    };
    let (mut at, mut first, mut address) = (program, program, None);
    while at < end {
        let &op = data.get(at)?;
        at += 1;
        match op {
            0 => {
                let (size, next) = leb128(data, at)?;
                let &extended = data.get(next)?;
                at = next.checked_add(usize::try_from(size).ok()?)?;
                match extended {
                    1 => {
                        unit.sequences.push((first..at, address.take()));
                        first = at;
                    }
                    2 => address = Some(next + 1),
                    _ => {}
                }
            }
            9 => at += 2,
            _ if op < opcode_base => {
                for _ in 0..*data.get(start + 14 + usize::from(op))? {
                    at = leb128(data, at)?.1;
                }
            }
            _ => {}
        }
    }
    Some((unit, end))
}
