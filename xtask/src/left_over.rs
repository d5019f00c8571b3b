//! Fields of nvlink's outputs for which it reads beyond the end of a table: what it finds there is left over from other work.
//!
//! 1. Registers of variables (`-G`), listed for other, longer code: culd writes 0.
//! 2. Relocations that `--preserve-relocs` lists, of a longer function of the same name: the Mercury place is at or after the end of the function's
//!    Mercury code. Observed: offset and type are those of no instruction (-1, addresses of memory, small numbers), culd lists the last one.

use cubin::consts::{SHT_CUDA_MERC_RESOLVED_RELA, SHT_CUDA_MERC_SYMTAB, SHT_CUDA_RESOLVED_RELA, STT_FUNC};
use cubin::read::Cubin;
use culd_inspect::diff::{self, Finding};
use culd_inspect::view::View;
use std::ops::Range;

/// Bytes of a symbol and of a relocation, and of a relocation's offset and type.
const ENTRY: usize = 24;
const PLACE: usize = 12;

/// An entry of a table, as it is in the file.
type Entry = [u8; ENTRY];

fn half(entry: &Entry, at: usize) -> u16 {
    entry.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_le_bytes(*b))
}

fn double(entry: &Entry, at: usize) -> u64 {
    entry.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// Whether two outputs differ only in such fields.
pub(crate) fn beyond_tables(ours: &[u8], nvlink: &[u8]) -> bool {
    let fields = listed(nvlink).unwrap_or_default();
    let (ours, nvlink) = (cleared(ours, &fields), cleared(nvlink, &fields));
    if ours == nvlink {
        return true;
    }
    let (Ok(a), Ok(b)) = (View::parse(&nvlink), View::parse(&ours)) else {
        return false;
    };
    let zero = |text: &str| text.chars().all(|c| c == '0');
    let is_left_over = |f: &Finding| f.subject.starts_with(".nv_debug_info_reg_sass+") && f.b.as_deref().is_some_and(zero);
    diff::compare(&a, &b, diff::Options::default()).findings.iter().all(is_left_over)
}

fn cleared(file: &[u8], fields: &[Range<usize>]) -> Vec<u8> {
    let mut file = file.to_vec();
    for field in fields {
        if let Some(bytes) = file.get_mut(field.clone()) {
            bytes.fill(0);
        }
    }
    file
}

/// Places and types of listed relocations that are beyond the Mercury code of their function. The lists of both views are parallel.
fn listed(file: &[u8]) -> Option<Vec<Range<usize>>> {
    let cubin = Cubin::parse(file).ok()?;
    let sections: Vec<_> = cubin.sections().flatten().collect();
    let of_type = |t: u32| sections.iter().filter(move |s| s.header.sh_type.get() == t);
    let symbols = of_type(SHT_CUDA_MERC_SYMTAB).next()?.data.as_chunks::<ENTRY>().0;
    // A symbol: name, type, other, section, value, size.
    let size = |capsule: u32| {
        let own = symbols
            .iter()
            .filter(|s| half(s, 4) as u8 & 0xf == STT_FUNC && u32::from(half(s, 6)) == capsule);
        own.map(|s| double(s, 8).saturating_add(double(s, 16))).max()
    };
    let mut fields = Vec::new();
    for (sass, mercury) in of_type(SHT_CUDA_RESOLVED_RELA).zip(of_type(SHT_CUDA_MERC_RESOLVED_RELA)) {
        let entries = mercury.data.as_chunks::<ENTRY>().0;
        let end = size(mercury.header.sh_info.get())?;
        let start = usize::try_from(sass.header.sh_offset.get()).ok()?;
        let beyond = (0..).zip(entries).filter(|(_, e)| double(e, 0) >= end);
        fields.extend(beyond.map(|(i, _): (usize, _)| start + i * ENTRY..start + i * ENTRY + PLACE));
    }
    Some(fields)
}
