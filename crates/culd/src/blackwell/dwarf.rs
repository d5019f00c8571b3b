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
    /// What special operations mean.
    pub(super) special: Special,
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
        special: Special {
            unit: (*data.get(start + 10)?).max(1),
            line_base: data.get(start + 12)?.cast_signed(),
            line_range: (*data.get(start + 13)?).max(1),
            opcode_base,
        },
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

/// What special operations of a line table mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Special {
    /// Bytes that the address moves on by one step.
    unit: u8,
    /// Lowest change of the line.
    line_base: i8,
    /// Number of changes of the line.
    line_range: u8,
    /// First special operation.
    opcode_base: u8,
}

impl Special {
    /// The special operation for a row, if there is one.
    fn encode(self, line: i64, address: u64) -> Option<u8> {
        let line = u64::try_from(line.checked_sub(self.line_base.into())?).ok()?;
        if line >= u64::from(self.line_range) || !address.is_multiple_of(u64::from(self.unit)) {
            return None;
        }
        let steps = (address / u64::from(self.unit)).checked_mul(self.line_range.into())?;
        u8::try_from(steps.checked_add(line)?.checked_add(self.opcode_base.into())?).ok()
    }
}

fn push_signed_leb(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

/// A line sequence whose addresses move: rows keep their form unless their distance changes.
pub(super) fn moved_sequence(bytes: &[u8], lengths: &[u8], special: Special, place: impl Fn(u64) -> u64) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    // nvlink quirk: steps of the address are written as signed numbers, 0x40 in two bytes
    let steps = |distance: u64| i64::try_from(distance / u64::from(special.unit)).ok();
    let (mut at, mut old, mut new) = (0, 0u64, 0u64);
    // What the next row changes: line, address; and the bytes that say so.
    let (mut line, mut address, mut pending) = (0i64, 0u64, Vec::new());
    while let Some(&op) = bytes.get(at) {
        let start = at;
        at += 1;
        let mut row = false;
        match op {
            0 => {
                let (size, next) = leb128(bytes, at)?;
                at = next.checked_add(usize::try_from(size).ok()?)?;
                if bytes.get(next) == Some(&1) {
                    let there = place(old.checked_add(address)?);
                    if there != new {
                        out.push(2);
                        push_signed_leb(&mut out, steps(there.checked_sub(new)?)?);
                    }
                    pending.clear();
                }
                out.extend_from_slice(bytes.get(start..at)?);
                continue;
            }
            1 => row = true,
            2 => {
                let (count, next) = leb128(bytes, at)?;
                at = next;
                address = address.checked_add(count.checked_mul(special.unit.into())?)?;
            }
            3 => {
                let (raw, next) = leb128(bytes, at)?;
                let bits = 7 * (next - at) as u32;
                let sign = 64u32.saturating_sub(bits);
                line = line.checked_add((raw << sign).cast_signed() >> sign)?;
                at = next;
            }
            9 => {
                address = address.checked_add(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())?;
                at += 2;
            }
            _ if op < special.opcode_base => {
                for _ in 0..*lengths.get(usize::from(op) - 1)? {
                    at = leb128(bytes, at)?.1;
                }
                out.extend_from_slice(bytes.get(start..at)?);
                continue;
            }
            _ => {
                let value = op - special.opcode_base;
                line += i64::from(value % special.line_range) + i64::from(special.line_base);
                address += u64::from(value / special.line_range) * u64::from(special.unit);
                row = true;
            }
        }
        pending.extend_from_slice(bytes.get(start..at)?);
        if !row {
            continue;
        }
        old = old.checked_add(address)?;
        let distance = place(old).checked_sub(new)?;
        new += distance;
        if distance == address {
            out.append(&mut pending);
        } else if let Some(op) = special.encode(line, distance) {
            out.push(op);
        } else {
            if line != 0 {
                out.push(3);
                push_signed_leb(&mut out, line);
            }
            if distance != 0 {
                out.push(2);
                push_signed_leb(&mut out, steps(distance)?);
            }
            out.push(1);
        }
        (line, address) = (0, 0);
        pending.clear();
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    const SPECIAL: Special = Special {
        unit: 1,
        line_base: -5,
        line_range: 14,
        opcode_base: 10,
    };
    const LENGTHS: [u8; 9] = [0, 1, 1, 1, 1, 0, 0, 0, 1];

    /// Address 0; line +3 at 0x10 as special operation; line +0x24 at 0x40; end at 0x60.
    const SEQUENCE: [u8; 22] = [0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0xf2, 3, 0x24, 2, 0x30, 1, 2, 0x20, 0];

    fn sequence() -> Vec<u8> {
        [&SEQUENCE[..], &[1, 1]].concat()
    }

    #[test]
    fn rows_that_do_not_move_keep_their_form() {
        let bytes = sequence();
        assert_eq!(moved_sequence(&bytes, &LENGTHS, SPECIAL, |o| o).unwrap(), bytes);
    }

    #[test]
    fn rows_that_move_are_encoded_again() {
        let bytes = sequence();
        // Two instructions come in before the first row, three go before the second.
        let place = |o: u64| match o {
            0 => 0,
            0x10 => 0x30,
            other => other,
        };
        let moved = moved_sequence(&bytes, &LENGTHS, SPECIAL, place).unwrap();
        let head = &bytes[..13];
        assert_eq!(&moved[..13], head);
        assert_eq!(moved[13..], [3, 3, 2, 0x30, 1, 3, 0x24, 2, 0x10, 1, 2, 0x20, 0, 1, 1]);
        let back = moved_sequence(&moved, &LENGTHS, SPECIAL, |o| if o == 0x30 { 0x10 } else { o }).unwrap();
        assert_eq!(back, bytes);
    }

    #[test]
    fn frame_entries_stop_at_damage() {
        let mut cie = u32::MAX.to_le_bytes().to_vec();
        cie.extend_from_slice(&8u64.to_le_bytes());
        cie.extend_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(frame_entries(&cie), [FrameEntry { range: 0..20, fde: None }]);
        let cut = cie.len() - 1;
        assert_eq!(frame_entries(&cie[..cut]), []);
    }

    #[test]
    fn unknown_frame_operations_are_not_guessed() {
        assert!(frame_ops(&[0x0c, 0x81, 0x80, 0x80, 0x28, 0, 4, 1, 0, 0, 0]).is_some_and(|ops| ops.len() == 2));
        assert!(frame_ops(&[0x3f]).is_none());
    }
}
