//! Debug information and the code that it describes.
//!
//! 1. A relocation of a debug section against a function names a place inside it, its end included.
//! 2. `.debug_frame`: a description does not reach past the end of its function.
//! 3. Line tables: rows are inside the function, its end included, or not further after it than those of an input, which may be a relocatable
//!    output with rows of a longer copy that it dropped.

use super::file::{File, View};
use super::line::{self, Place, Places};
use super::{Check, Findings, text};
use crate::names::SeededState;
use cubin::consts::STT_FUNC;
use cubin::kind::{SectionKind, without_mercury};
use cubin::read::Section;
use hashbrown::HashMap;

/// Checks all debug sections of the SASS view.
pub(super) fn check(image: &File<'_>, inputs: &[File<'_>], found: &mut Findings) {
    // Descriptions of a copy that lost stay, and name the one that won: the largest copy counts.
    let mut sizes: HashMap<&[u8], (usize, u64), SeededState> = HashMap::default();
    for input in inputs {
        for s in input.sections.iter().filter(|s| input.kind(s.index) == SectionKind::Text) {
            let (count, size) = sizes.entry(s.name).or_default();
            (*count, *size) = (*count + 1, s.header.sh_size.get().max(*size));
        }
    }
    let largest_copy = |name: &[u8]| sizes.get(name).filter(|s| s.0 > 1).map_or(0, |s| s.1);
    for s in image.sections.iter().skip(1).filter(|s| !image.is_mercury(s)) {
        let is_debug = matches!(
            image.kind(s.index),
            SectionKind::Debug | SectionKind::DebugLineSass | SectionKind::DebugRegisters
        );
        if !is_debug {
            continue;
        }
        let result = places(image, s, &largest_copy).and_then(|places| match without_mercury(s.name) {
            b".debug_frame" => frames(s, &places),
            b".debug_line" | b".nv_debug_line_sass" => {
                line::check(s.data, &places).or_else(|_| line::check(s.data, &widened(image, inputs, s, places)))
            }
            _ => Ok(()),
        });
        if let Err(reason) = result {
            found.add(Check::Debug, format!("section {}: {reason}", text(s.name)));
        }
    }
}

/// Places whose functions are as long as the rows of the inputs' tables say.
fn widened(image: &File<'_>, inputs: &[File<'_>], table: &Section<'_>, mut found: Places) -> Places {
    let code = |file: &File<'_>, symbol: u32| {
        let sym = file.symbol(View::Sass, symbol)?;
        file.section(sym.section.index()?).map(|s| s.name.to_vec())
    };
    let mut sizes: HashMap<Vec<u8>, u64, SeededState> = HashMap::default();
    for input in inputs {
        for s in input.sections.iter().filter(|s| s.name == table.name) {
            let Ok(places) = places(input, s, &|_| u64::MAX) else { continue };
            for (symbol, last) in line::reach(s.data, &places) {
                let Some(name) = code(input, symbol) else { continue };
                let size = sizes.entry(name).or_default();
                *size = last.max(*size);
            }
        }
    }
    for place in found.values_mut() {
        let reached = code(image, place.symbol).and_then(|name| sizes.get(&name).copied());
        place.size = place.size.max(reached.unwrap_or(0));
    }
    found
}

fn places(image: &File<'_>, s: &Section<'_>, largest_copy: &impl Fn(&[u8]) -> u64) -> Result<Places, String> {
    let mut places = Places::default();
    for r in image.relocs(s.index) {
        let Some(sym) = image.symbol(View::Sass, r.symbol).filter(|sym| sym.entry.kind() == STT_FUNC) else {
            continue;
        };
        let code = sym.section.index().and_then(|i| image.section(i));
        let Some(code) = code.filter(|c| image.kind(c.index) == SectionKind::Text) else {
            continue;
        };
        let field = || {
            let bytes = s.data.get(r.offset as usize..)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*bytes))
        };
        let offset = if r.is_rela { r.addend as u64 } else { field().unwrap_or(0) };
        let size = code.header.sh_size.get().max(largest_copy(code.name));
        // Four bytes of an address are a part of it.
        if offset > size && (r.is_rela || matches!(r.kind, 2)) {
            return Err(format!(
                "{:#x} names {offset:#x} of function {}, which has {size:#x} bytes",
                r.offset,
                text(sym.name)
            ));
        }
        places.insert(
            r.offset,
            Place {
                offset,
                size,
                symbol: r.symbol,
            },
        );
    }
    Ok(places)
}

fn frames(s: &Section<'_>, places: &Places) -> Result<(), String> {
    let word = |at: usize| Some(u32::from_le_bytes(*s.data.get(at..)?.first_chunk::<4>()?));
    let long = |at: usize| Some(u64::from_le_bytes(*s.data.get(at..)?.first_chunk::<8>()?));
    // A function with several descriptions has those of copies that an earlier link dropped.
    let mut first: HashMap<u32, Option<String>, SeededState> = HashMap::default();
    let mut at = 0usize;
    while at < s.data.len() {
        let cut = || format!("the description at {at:#x} is cut off");
        let (start, wide) = match word(at).ok_or_else(cut)? {
            u32::MAX => (at.saturating_add(12), true),
            _ => (at.saturating_add(4), false),
        };
        let length = if wide { long(at + 4) } else { word(at).map(u64::from) };
        let end = length
            .and_then(|l| start.checked_add(usize::try_from(l).ok()?))
            .filter(|&e| e <= s.data.len());
        let end = end.ok_or_else(cut)?;
        let pc = start.saturating_add(if wide { 8 } else { 4 });
        if let (Some(place), Some(range)) = (places.get(&(pc as u64)), long(pc.saturating_add(8))) {
            let wrong = place.offset.saturating_add(range) > place.size;
            let reason = wrong.then(|| {
                format!(
                    "the description at {at:#x} covers {range:#x} bytes of a function of {:#x}",
                    place.size
                )
            });
            let is_first = !first.contains_key(&place.symbol);
            first.insert(place.symbol, reason.filter(|_| is_first));
        }
        at = end;
    }
    match first.into_values().flatten().min() {
        Some(reason) => Err(reason),
        None => Ok(()),
    }
}
