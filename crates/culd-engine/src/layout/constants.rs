//! User constants: merging of equal ones.
//!
//! nvlink quirk: only when kernels are selected, with options or by the launches of host objects. Every input's `.nv.constant3` is a unit; equal
//! units of certain sizes share their place. Symbol values and relocation offsets keep the old places, so that the code reads elsewhere
//! than the values are, and a placed unit leaves its offset in the value of symbol 0. Under its own name culd merges nothing.

use super::Layout;
use crate::align::align_up;
use crate::names::{Name, SeededState};
use crate::options::Identity;
use crate::records::{Class, Merged, Piece};
use crate::session::Link;
use hashbrown::HashMap;

/// Bank of user constants.
pub(super) const USER_BANK: u32 = 3;

/// Size of the bank of user constants, -1 without one.
pub(crate) fn user_size(records: &Merged<'_>) -> u64 {
    let mut memory = records.memory.iter().map(|&id| &records.sections[id]);
    memory.find(|s| s.class == Class::Constant(USER_BANK)).map_or(u64::MAX, |s| s.size)
}

pub(super) fn merge_equal(link: Link<'_, '_>, layout: &mut Layout<'_>) {
    if link.options.identity == Identity::Culd || link.options.kernels.is_none() || link.mode.debug_symbols {
        return;
    }
    let mut memory = layout.records.memory.iter().copied();
    let Some(id) = memory.find(|&id| layout.records.sections[id].class == Class::Constant(USER_BANK)) else {
        return;
    };
    let name = Name::fixed(b"TEMP_MERGED_CONSTANTS");
    layout.records.created.dropped_section(link.mode, name);
    let record = &mut layout.records.sections[id];
    let mut seen: HashMap<(u64, &[u8]), (), SeededState> = HashMap::default();
    let (mut pieces, mut units, mut end) = (Vec::new(), Vec::new(), 0u64);
    for piece in record.pieces.as_slice() {
        let Some(input) = link.inputs.objects[piece.object].section(piece.section) else {
            continue;
        };
        let mergeable = (input.size == 4 && input.align.get() == 4)
            || (input.size == 8 && input.align.get() == 8)
            || matches!(input.size, 12 | 16 | 20 | 24 | 32 | 48 | 64);
        let key = (input.align.get(), input.data);
        if mergeable && seen.contains_key(&key) && (input.size > 8 || input.data.iter().any(|&b| b != 0)) {
            continue;
        }
        let base = align_up(end, input.align.get());
        end = base + input.size;
        pieces.push(Piece { base, ..*piece });
        units.push((base, input.size));
        if mergeable {
            seen.insert(key, ());
            layout.null_value = base;
        }
    }
    record.pieces = pieces.into();
    record.size = end;
    layout.constant_units = Some(units);
}
