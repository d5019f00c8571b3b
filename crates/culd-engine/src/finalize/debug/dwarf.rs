//! The parts of DWARF that the SASS view needs: frame entries, frame programs, line tables.

pub(crate) mod line;

use std::ops::Range;

/// A CIE or FDE of `.debug_frame` in the 64-bit form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameEntry {
    /// Bytes of the entry.
    pub(crate) range: Range<usize>,
    /// Address range of an FDE; `None` for a CIE.
    pub(crate) fde: Option<u64>,
}

/// Offset of an FDE's address.
pub(crate) const FDE_ADDRESS: usize = 20;
/// Offset of an FDE's program.
pub(crate) const FDE_PROGRAM: usize = 36;

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}
fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

/// Entries of `.debug_frame`, up to the first invalid one.
pub(crate) fn frame_entries(data: &[u8]) -> Vec<FrameEntry> {
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
pub(crate) enum FrameOp {
    /// Advances the location.
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
pub(crate) fn frame_ops(program: &[u8]) -> Option<Vec<FrameOp>> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
