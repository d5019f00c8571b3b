//! Files without the linker's own entry in `.note.nv.tkinfo`, which nvlink and its library write in other words and sizes.
//!
//! 1. The first entry of the note is left out.
//! 2. Offsets in the file, which depend on its size, are replaced by the order of sections in the file and the holes between them: section headers
//!    lack offsets, and
//!    program headers have the section that they begin with instead of offset and sizes.
//! 3. Reserved shared memory of sm_101 has bytes in the file that are stale: parts of another file, from a place that depends on the size of its note.
//!    They are left out.

use crate::elf::number;

const HEADER_SIZE: usize = 64;
const SECTION_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const NOTE_HEAD: usize = 12;
const SHT_NOTE: u64 = 7;
/// `SHT_NOBITS`, and NVIDIA's types for global, local and shared memory.
const WITHOUT_BYTES: [u64; 4] = [8, 0x7000_0007, 0x7000_0009, 0x7000_000a];
/// Reserved shared memory of the Mercury view.
const STALE_BYTES: u64 = 0x7000_0015;
/// `SHF_CUDA_TKINFO`: only the note about the tools has it.
const TOOLS: u64 = 0x200_0000;

/// What the file has apart from the first entry of its note about the tools, or `None` where there is no such note.
pub fn without_own_note(file: &[u8]) -> Option<Vec<u8>> {
    let (programs, sections) = (number(file, 32, 8) as usize, number(file, 40, 8) as usize);
    let header = |i: usize| sections.saturating_add(i.saturating_mul(SECTION_HEADER));
    let field = |i: usize, at: usize| number(file, header(i).saturating_add(at), 8) as usize;
    let kind = |i: usize| number(file, header(i).saturating_add(4), 4);
    let count = match number(file, 60, 2) as usize {
        0 => field(0, 32),
        count => count,
    };
    let note = (0..count).find(|&i| kind(i) == SHT_NOTE && field(i, 8) as u64 & TOOLS != 0)?;
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&i| (field(i, 24), i));
    let mut out = file.get(..32)?.to_vec();
    out.extend_from_slice(file.get(48..64)?);
    let mut end = HEADER_SIZE;
    for i in order {
        let (offset, mut size) = (field(i, 24), field(i, 32));
        let bytes_in_file = if WITHOUT_BYTES.contains(&kind(i)) { 0 } else { size };
        // Bytes that belong to no section, beyond those that the alignment needs.
        let hole = offset.saturating_sub(end.next_multiple_of(field(i, 48).max(1)));
        end = end.max(offset.saturating_add(bytes_in_file));
        out.extend_from_slice(&(hole as u64).to_le_bytes());
        let head = file.get(header(i)..)?.get(..SECTION_HEADER)?;
        let mut bytes = match kind(i) {
            STALE_BYTES => &[][..],
            kind if WITHOUT_BYTES.contains(&kind) => &[][..],
            _ => file.get(offset..offset.checked_add(size)?)?,
        };
        if i == note {
            let name = number(bytes, 0, 4) as usize;
            let description = number(bytes, 4, 4) as usize;
            let own = NOTE_HEAD
                .checked_add(name.next_multiple_of(4))?
                .checked_add(description.next_multiple_of(4))?;
            bytes = bytes.get(own..)?;
            size = bytes.len();
        }
        out.extend_from_slice(&(i as u64).to_le_bytes());
        out.extend_from_slice(&head[..24]);
        out.extend_from_slice(&(size as u64).to_le_bytes());
        out.extend_from_slice(&head[40..]);
        out.extend_from_slice(bytes);
    }
    for i in 0..number(file, 56, 2) as usize {
        let head = file.get(programs.checked_add(i * PROGRAM_HEADER)?..)?.get(..PROGRAM_HEADER)?;
        let offset = number(head, 8, 8) as usize;
        let first = (0..count).position(|i| field(i, 24) == offset && field(i, 32) > 0);
        out.extend_from_slice(&head[..8]);
        out.extend_from_slice(&(first.unwrap_or(0) as u64).to_le_bytes());
        out.extend_from_slice(&head[48..]);
    }
    Some(out)
}
