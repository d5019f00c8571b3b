//! Line tables: units, sequences, rows, and how nvlink writes them.

use super::u32_at;
use std::ops::Range;

/// A unit of a line table.
pub(crate) struct LineUnit {
    /// Header, from the length to the first operation.
    pub(crate) header: Range<usize>,
    /// Parameters of special operations.
    pub(crate) special: Special,
    /// Sequences: bytes, offset of the address that starts one.
    pub(crate) sequences: Vec<(Range<usize>, Option<usize>)>,
}

/// Units of `.debug_line` or `.nv_debug_line_sass`, up to the first invalid one.
pub(crate) fn line_units(data: &[u8]) -> Vec<LineUnit> {
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

/// Parameters of the special operations of a line table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Special {
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
    /// Changes of line and address that a special operation makes.
    fn decode(self, op: u8) -> (i64, u64) {
        let value = op.saturating_sub(self.opcode_base);
        let line = i64::from(value % self.line_range) + i64::from(self.line_base);
        (line, u64::from(value / self.line_range) * u64::from(self.unit))
    }

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

fn signed_leb128(data: &[u8], at: usize) -> Option<(i64, usize)> {
    let (raw, next) = leb128(data, at)?;
    let sign = 64u32.saturating_sub(7 * (next - at) as u32);
    Some(((raw << sign).cast_signed() >> sign, next))
}

fn push_leb(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn push_signed_leb(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

/// A line sequence whose addresses move: rows keep their form unless their distance changes.
pub(crate) fn moved_sequence(bytes: &[u8], lengths: &[u8], special: Special, place: impl Fn(u64) -> u64) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    // nvlink quirk: steps of the address are written as signed numbers, 0x40 in two bytes
    let steps = |distance: u64| i64::try_from(distance / u64::from(special.unit)).ok();
    let (mut at, mut old, mut new) = (0, 0u64, 0u64);
    // What the next row changes: line, address; and the bytes that encode it.
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
                let (change, next) = signed_leb128(bytes, at)?;
                line = line.checked_add(change)?;
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
                let (change, step) = special.decode(op);
                line = line.checked_add(change)?;
                address = address.checked_add(step)?;
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

/// A row of a line table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    address: u64,
    file: u64,
    line: i64,
    /// Mercury's mark of the row that starts a function.
    start: bool,
}

/// Offset of the address in a sequence that [`Special::sequence`] makes.
pub(crate) const ADDRESS: usize = 3;

/// Rows of a sequence; `None` if it has more than files and lines. Mercury's own marks are passed over.
pub(crate) fn line_rows(bytes: &[u8], lengths: &[u8], special: Special) -> Option<Vec<Row>> {
    const MERCURY_MARK: u8 = 0x92;
    let mut rows = Vec::new();
    let (mut row, mut at) = (
        Row {
            address: 0,
            file: 1,
            line: 1,
            start: false,
        },
        0,
    );
    while let Some(&op) = bytes.get(at) {
        at += 1;
        match op {
            0 => {
                let (size, next) = leb128(bytes, at)?;
                at = next.checked_add(usize::try_from(size).ok()?)?;
                match bytes.get(next)? {
                    1 | 2 => {}
                    &MERCURY_MARK => row.start = bytes.get(next + 1) == Some(&1),
                    _ => return None,
                }
            }
            1 => rows.push(row),
            2 => {
                let (count, next) = leb128(bytes, at)?;
                row.address = row.address.checked_add(count.checked_mul(special.unit.into())?)?;
                at = next;
            }
            3 => {
                let (change, next) = signed_leb128(bytes, at)?;
                row.line = row.line.checked_add(change)?;
                at = next;
            }
            4 => (row.file, at) = leb128(bytes, at)?,
            9 => {
                row.address = row
                    .address
                    .checked_add(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())?;
                at += 2;
            }
            _ if op < special.opcode_base => {
                for _ in 0..*lengths.get(usize::from(op) - 1)? {
                    at = leb128(bytes, at)?.1;
                }
            }
            _ => {
                let (change, step) = special.decode(op);
                row.line = row.line.checked_add(change)?;
                row.address = row.address.checked_add(step)?;
                rows.push(row);
            }
        }
    }
    Some(rows)
}

impl Special {
    /// A sequence with the first of these rows alone, for code of this size.
    pub(crate) fn start(self, rows: &[Row], size: u64) -> Option<Vec<u8>> {
        let first = Row {
            address: 0,
            start: size == 0,
            ..*rows.first()?
        };
        self.sequence(&[first], [(0, 0)].into_iter(), size)
    }

    /// A sequence of these rows for other code. `places` are its instructions: offset that the rows have, and new offset. Each row is
    /// at the first instruction that it covers; one that covers none is lost, and so is one of the same line as the one before.
    ///
    /// nvlink quirk: the first row is there twice if it is not marked as the start of the function.
    pub(crate) fn sequence(self, rows: &[Row], places: impl Iterator<Item = (u64, u64)>, size: u64) -> Option<Vec<u8>> {
        let mut out = vec![0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        let steps = |distance: u64| i64::try_from(distance / u64::from(self.unit)).ok();
        let (mut address, mut file, mut line) = (0u64, None, 1i64);
        let (mut next, mut shown) = (0, None);
        for (offset, there) in places {
            while rows.get(next).is_some_and(|r| r.address <= offset) {
                next += 1;
            }
            let Some((current, row)) = next.checked_sub(1).and_then(|i| Some((i, rows.get(i)?))) else {
                continue;
            };
            let before = shown.and_then(|i: usize| rows.get(i));
            let times = if before.is_none() && !row.start { 2 } else { 1 };
            shown = Some(current);
            if before.is_some_and(|b| (b.file, b.line) == (row.file, row.line)) {
                continue;
            }
            for _ in 0..times {
                if file != Some(row.file) {
                    out.push(4);
                    push_leb(&mut out, row.file);
                    file = Some(row.file);
                }
                let (change, distance) = (row.line.checked_sub(line)?, there.checked_sub(address)?);
                match self.encode(change, distance).filter(|_| distance != 0) {
                    Some(op) => out.push(op),
                    None => {
                        out.push(3);
                        push_signed_leb(&mut out, change);
                        if distance != 0 {
                            out.push(2);
                            push_signed_leb(&mut out, steps(distance)?);
                        }
                        out.push(1);
                    }
                }
                (address, line) = (there, row.line);
            }
        }
        if size != address {
            out.push(2);
            push_signed_leb(&mut out, steps(size.checked_sub(address)?)?);
        }
        out.extend_from_slice(&[0, 1, 1]);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failing test may panic")]
    use super::*;

    #[test]
    fn rows_stand_at_the_first_instruction_they_cover() {
        let row = |address, line| Row {
            address,
            file: 1,
            line,
            start: false,
        };
        let rows = [row(0, 3), row(0, 9), row(0x10, 10), row(0x18, 20), row(0x28, 20), row(0x30, 40)];
        let places = [(0, 0), (0x20, 0x10), (0x28, 0x20)];
        let bytes = SPECIAL.sequence(&rows, places.into_iter(), 0x80).unwrap();
        let expected = [4, 1, 3, 8, 1, 3, 0, 1, 3, 11, 2, 0x10, 1, 2, 0xf0, 0, 0, 1, 1];
        assert_eq!(bytes[11..], expected);
    }

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
        // Two instructions are added before the first row, three are removed before the second.
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
}
