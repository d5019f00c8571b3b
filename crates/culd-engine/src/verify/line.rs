//! Line programs: an interpreter that only follows addresses.
//!
//! 1. A unit: length, version, header length, then the standard header of DWARF 2 to 4; other versions are skipped.
//! 2. Only sequences whose start address is relocated against a function are checked; others belong to functions that were dropped.
//! 3. [`reach`] says how far the rows of an input go: a relocatable output has those of longer copies that it dropped.

use crate::names::SeededState;
use hashbrown::HashMap;

/// A place in a function that a field of a debug section names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Offset in the function.
    pub(super) offset: u64,
    /// Size of the function.
    pub(super) size: u64,
    /// Symbol of the function.
    pub(super) symbol: u32,
}

/// Relocated fields by their offset.
pub(super) type Places = HashMap<u64, Place, SeededState>;

struct Reader<'d> {
    data: &'d [u8],
    at: usize,
}

impl<'d> Reader<'d> {
    fn take(&mut self, n: usize) -> Option<&'d [u8]> {
        let bytes = self.data.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(bytes)
    }
    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }
    fn half(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(*self.take(2)?.first_chunk()?))
    }
    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?))
    }
    fn long(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*self.take(8)?.first_chunk()?))
    }
    fn leb(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let byte = self.byte()?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }
}

/// Checks all units of a section.
pub(super) fn check(data: &[u8], places: &Places) -> Result<(), String> {
    units(data, places, &mut |place, address| match address > place.size {
        true => Err(format!("a row is at {address:#x} of a function of {:#x} bytes", place.size)),
        false => Ok(()),
    })
}

/// The last place of every function, by symbol, that rows name; as far as the section can be read.
pub(super) fn reach(data: &[u8], places: &Places) -> HashMap<u32, u64, SeededState> {
    let mut reached: HashMap<u32, u64, SeededState> = HashMap::default();
    let _ = units(data, places, &mut |place, address| {
        let last = reached.entry(place.symbol).or_default();
        *last = address.max(*last);
        Ok(())
    });
    reached
}

/// Called for every step to a place in a function.
type Step<'a> = &'a mut dyn FnMut(Place, u64) -> Result<(), String>;

fn units(data: &[u8], places: &Places, step: Step<'_>) -> Result<(), String> {
    let mut r = Reader { data, at: 0 };
    while r.at < data.len() {
        let start = r.at;
        unit(&mut r, places, step)
            .unwrap_or_else(|| Err("it is cut off".into()))
            .map_err(|reason| format!("unit at {start:#x}: {reason}"))?;
    }
    Ok(())
}

fn unit(r: &mut Reader<'_>, places: &Places, each: Step<'_>) -> Option<Result<(), String>> {
    let length = r.word()? as usize;
    let end = r.at.checked_add(length).filter(|&e| e <= r.data.len())?;
    let version = r.half()?;
    if !(2..=4).contains(&version) {
        r.at = end;
        return Some(Ok(()));
    }
    let header = r.word()? as usize;
    let program = r.at.checked_add(header).filter(|&p| p <= end)?;
    let step = u64::from(r.byte()?);
    if version >= 4 {
        r.byte()?;
    }
    r.byte()?;
    let _line_base = r.byte()?;
    let range = u64::from(r.byte()?.max(1));
    let base = r.byte()?;
    let lengths = r.take(usize::from(base.saturating_sub(1)))?.to_vec();
    r.at = program;
    let done = rows(r, end, (step, range, base), &lengths, places, each);
    r.at = end;
    Some(done.unwrap_or_else(|| Err("an instruction is cut off".into())))
}

fn rows(
    r: &mut Reader<'_>,
    end: usize,
    (step, range, base): (u64, u64, u8),
    lengths: &[u8],
    places: &Places,
    each: Step<'_>,
) -> Option<Result<(), String>> {
    // Address and function, when both are known.
    let mut now: Option<(u64, Place)> = None;
    let mut advance = |now: &mut Option<(u64, Place)>, by: u64| -> Result<(), String> {
        let Some((address, place)) = now else { return Ok(()) };
        *address = address.wrapping_add(by);
        each(*place, *address)
    };
    while r.at < end {
        let op = r.byte()?;
        let moved = match op {
            0 => {
                let length = usize::try_from(r.leb()?).ok()?;
                let after = r.at.checked_add(length).filter(|&a| a <= end)?;
                match (length, r.data.get(r.at)) {
                    (0, _) => {}
                    (_, Some(1)) => now = None,
                    (9, Some(2)) => {
                        let field = r.at as u64 + 1;
                        now = places.get(&field).map(|p| (p.offset, *p));
                        r.at += 1;
                        r.long()?;
                    }
                    _ => {}
                }
                r.at = after;
                0
            }
            2 => r.leb()?.wrapping_mul(step),
            8 => u64::from(255 - base) / range * step,
            9 => r.half()?.into(),
            op if op >= base => u64::from(op - base) / range * step,
            op => {
                for _ in 0..lengths.get(usize::from(op) - 1).copied().unwrap_or(0) {
                    r.leb()?;
                }
                0
            }
        };
        if let Err(reason) = advance(&mut now, moved) {
            return Some(Err(reason));
        }
    }
    Some(Ok(()))
}
