//! Code and references of functions.
//!
//! 1. Every code section of the image has the bytes of a definition in some input, but for fields that relocations write. From sm_100 on
//!    the machine code is rewritten: only references are compared then.
//! 2. What the code of that definition refers to is in the image: a relocation against a function or a global variable is still there,
//!    at the same place (from sm_100 on: in the Mercury view), against a symbol of that name. A reference without one would be a call
//!    to address 0.
//! 3. A reference to a constant has been replaced by the constant's offset.

use super::file::{File, Reloc, View};
use super::{Check, Findings, Rules, text};
use crate::names::SeededState;
use cubin::consts::*;
use cubin::kind::SectionKind;
use cubin::read::{Section, Symbol};
use cubin::reloc::{FieldSource, field_content, reloc_info, unified_replacement};
use cubin::reloc::{UNUSED_CLEAR_TYPES, is_call};
use hashbrown::HashMap;

struct Image<'a, 'd> {
    file: &'a File<'d>,
    /// Sections of the symbols of a name.
    symbols: HashMap<&'d [u8], Vec<&'a Symbol<'d>>, SeededState>,
    /// Number of definitions in the inputs by the name of the code section.
    definitions: HashMap<&'d [u8], usize, SeededState>,
    nvlink: bool,
    relocatable: bool,
    /// Without unified tables references through them become plain ones.
    unified: bool,
}

/// Compares every function of the image with the inputs.
pub(super) fn check(image: &File<'_>, inputs: &[File<'_>], rules: &Rules<'_>, found: &mut Findings) {
    let mut definitions: HashMap<&[u8], Vec<Definition<'_, '_>>, SeededState> = HashMap::default();
    for input in inputs {
        let capsules = capsules(input);
        for s in input.sections.iter().filter(|s| input.kind(s.index) == SectionKind::Text) {
            definitions.entry(s.name).or_default().push(Definition {
                input,
                code: s.index,
                capsule: capsules.get(&s.index).copied().filter(|_| input.has_mercury()),
            });
        }
    }
    let mut symbols: HashMap<&[u8], Vec<&Symbol<'_>>, SeededState> = HashMap::default();
    for sym in image.symbols.iter().skip(1).filter(|sym| sym.entry.kind() != STT_SECTION) {
        symbols.entry(sym.name).or_default().push(sym);
    }
    let image = Image {
        file: image,
        symbols,
        definitions: definitions.iter().map(|(name, list)| (*name, list.len())).collect(),
        nvlink: rules.nvlink,
        relocatable: rules.options.relocatable,
        unified: rules.options.relocatable || rules.options.unified_index.is_some(),
    };
    let capsules = capsules(image.file);
    for s in image.file.sections.iter().filter(|s| image.file.kind(s.index) == SectionKind::Text) {
        let candidates = definitions.get(s.name).map_or(&[][..], Vec::as_slice);
        let mut first = None;
        let fits = candidates.iter().any(|definition| match image.compare(s, &capsules, definition) {
            Ok(()) => true,
            Err(reason) => {
                first.get_or_insert(reason);
                false
            }
        });
        // nvlink quirk: static functions of one name in one file take each other's contents on sm_100 and later.
        let name_clashes = candidates
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if std::ptr::eq(a.input, b.input)));
        let excused = rules.nvlink && name_clashes && image.file.has_mercury();
        if !fits && !excused {
            let reason = match (candidates.len(), first) {
                (1, Some(reason)) => reason,
                (0, _) => format!("section {} comes from no input", text(s.name)),
                (_, Some(reason)) => format!("section {} does not match any definition of the inputs: {reason}", text(s.name)),
                (_, None) => continue,
            };
            found.add(Check::Code, reason);
        }
    }
}

/// A function of an input.
struct Definition<'a, 'd> {
    input: &'a File<'d>,
    code: u32,
    /// Section of its capsule.
    capsule: Option<u32>,
}

/// Capsules by the code section that they belong to.
fn capsules(file: &File<'_>) -> HashMap<u32, u32, SeededState> {
    let capsules = file.sections.iter().filter(|s| file.kind(s.index) == SectionKind::Capsule);
    capsules
        .filter_map(|s| Some((u32::from_le_bytes(*s.data.first_chunk::<4>()?), s.index)))
        .collect()
}

impl<'d> Image<'_, 'd> {
    fn compare(&self, s: &Section<'d>, capsules: &HashMap<u32, u32, SeededState>, definition: &Definition<'_, 'd>) -> Result<(), String> {
        let (input, code) = (definition.input, definition.code);
        let Some(of) = input.section(code) else { return Ok(()) };
        let relocs = input.relocs(code);
        if !self.file.has_mercury() {
            self.bytes(s, input, of, &relocs)?;
            return self.references((s.index, code), View::Sass, s, input, &relocs);
        }
        if let (Some(here), Some(there)) = (capsules.get(&s.index), definition.capsule) {
            self.references((*here, code), View::Mercury, s, input, &input.relocs(there))?;
        }
        self.names(s, of, input, &relocs)
    }

    fn bytes(&self, s: &Section<'d>, input: &File<'d>, of: &Section<'d>, relocs: &[Reloc]) -> Result<(), String> {
        if s.data.len() != of.data.len() {
            return Err(format!(
                "section {} has {} bytes, in {} it has {}",
                text(s.name),
                s.data.len(),
                input.name,
                of.data.len()
            ));
        }
        if s.data == of.data {
            return Ok(());
        }
        let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(relocs.len());
        for r in relocs {
            let start = r.offset as usize;
            let end = reloc_info(r.kind).map_or(16, |i| i.end_byte());
            ranges.push((start, start.saturating_add(end)));
        }
        ranges.sort_unstable();
        let mut at = 0;
        for (start, end) in ranges.into_iter().chain([(s.data.len(), s.data.len())]) {
            if start > at && s.data.get(at..start) != of.data.get(at..start) {
                return Err(format!(
                    "section {} does not have the code of {} between {at:#x} and {start:#x}",
                    text(s.name),
                    input.name
                ));
            }
            at = at.max(end);
        }
        Ok(())
    }

    /// References by place.
    fn references(
        &self,
        (target, code): (u32, u32),
        view: View,
        s: &Section<'d>,
        input: &File<'d>,
        relocs: &[Reloc],
    ) -> Result<(), String> {
        let mut kept: HashMap<u64, Vec<u32>, SeededState> = HashMap::default();
        for r in self.file.relocs(target) {
            kept.entry(r.offset).or_default().push(r.symbol);
        }
        for r in relocs
            .iter()
            .filter(|r| !UNUSED_CLEAR_TYPES.contains(&r.kind) && r.kind & 0xffff != 0)
        {
            let Some(sym) = input.symbol(view, r.symbol) else { continue };
            match self.sort(input, sym) {
                Sort::Other => continue,
                Sort::Constant if view == View::Sass => self.constant(s, input, r, sym)?,
                Sort::Constant => continue,
                Sort::Kept => {
                    let same = |&k: &u32| self.file.symbol(view, k).is_some_and(|z| self.is_same(sym.name, z));
                    if !kept.get(&r.offset).is_some_and(|list| list.iter().any(same)) && !self.excused(sym, r.kind, input, code) {
                        return Err(self.lost(s, r.offset, sym, input));
                    }
                }
            }
        }
        Ok(())
    }

    /// References where code has moved: by operation and type, each as often as in the input.
    fn names(&self, s: &Section<'d>, of: &Section<'d>, input: &File<'d>, relocs: &[Reloc]) -> Result<(), String> {
        let mut kept: HashMap<(Option<u16>, u32), Vec<&Symbol<'d>>, SeededState> = HashMap::default();
        for r in self.file.relocs(s.index) {
            if let Some(z) = self.file.symbol(View::Sass, r.symbol) {
                kept.entry((operation(s, r.offset), self.plain(r.kind))).or_default().push(z);
            }
        }
        for r in relocs.iter().filter(|r| !UNUSED_CLEAR_TYPES.contains(&r.kind) && r.kind != 0) {
            let Some(sym) = input.symbol(View::Sass, r.symbol) else { continue };
            if self.sort(input, sym) != Sort::Kept {
                continue;
            }
            let list = kept.entry((operation(of, r.offset), self.plain(r.kind))).or_default();
            match list.iter().position(|z| self.is_same(sym.name, z)) {
                Some(at) => drop(list.swap_remove(at)),
                None if self.excused(sym, r.kind, input, of.index) => {}
                None => return Err(self.lost(s, r.offset, sym, input)),
            }
        }
        Ok(())
    }

    /// The type that a reference has in the image.
    fn plain(&self, kind: u32) -> u32 {
        unified_replacement(kind).filter(|_| !self.unified).unwrap_or(kind)
    }

    fn lost(&self, s: &Section<'d>, offset: u64, sym: &Symbol<'d>, input: &File<'d>) -> String {
        let what = if sym.entry.kind() == STT_FUNC { "function" } else { "variable" };
        format!(
            "section {} of {}: the reference to {what} {} at {offset:#x} is lost",
            text(s.name),
            input.name,
            text(sym.name)
        )
    }

    /// A function whose address is taken but that no call through a pointer can reach is dropped, and its address is 0. What it calls is
    /// dropped even where the function itself stays for its address: the call graph lists these calls.
    ///
    /// nvlink quirk: it also drops functions that the call graph of an object does not list, whatever the code calls.
    fn excused(&self, sym: &Symbol<'d>, kind: u32, input: &File<'d>, code: u32) -> bool {
        let is_call = is_call(kind) && !input.calls.contains(&(code, sym.index));
        let here = self.symbols.get(sym.name).map_or(0, Vec::len);
        let there = self
            .definitions
            .get([b".text.", sym.name].concat().as_slice())
            .copied()
            .unwrap_or(0);
        // Static functions of one name cannot be distinguished: any of them may be dropped.
        let is_gone = here == 0 || (sym.entry.bind() == STB_LOCAL && here < there);
        sym.entry.kind() == STT_FUNC && is_gone && (self.nvlink || !is_call)
    }

    /// Is a symbol of the image what an input calls by this name? A second name of a function becomes the first.
    fn is_same(&self, name: &[u8], z: &Symbol<'d>) -> bool {
        let place = |sym: &&Symbol<'d>| sym.section.index().is_some() && sym.section == z.section && sym.entry.st_value == z.entry.st_value;
        z.name == name || self.symbols.get(name).is_some_and(|list| list.iter().any(place))
    }

    fn sort(&self, input: &File<'d>, sym: &Symbol<'d>) -> Sort {
        match (sym.entry.kind(), sym.section.index()) {
            (STT_FUNC, _) => Sort::Kept,
            (STT_OBJECT | STT_CUDA_OBJECT, Some(section)) => match input.kind(section) {
                SectionKind::Global | SectionKind::GlobalInit => Sort::Kept,
                SectionKind::Constant(3) if !self.relocatable => Sort::Constant,
                _ => Sort::Other,
            },
            // Defined in another input.
            (STT_OBJECT | STT_CUDA_OBJECT, None) => match self.symbols.get(sym.name).map(Vec::as_slice) {
                Some([z]) => match z.section.index().map(|s| self.file.kind(s)) {
                    Some(SectionKind::Global | SectionKind::GlobalInit) => Sort::Kept,
                    Some(SectionKind::Constant(3)) if !self.relocatable => Sort::Constant,
                    _ => Sort::Other,
                },
                _ => Sort::Other,
            },
            _ => Sort::Other,
        }
    }

    /// The offset of a constant that has one symbol in the image.
    fn constant(&self, s: &Section<'d>, input: &File<'d>, r: &Reloc, sym: &Symbol<'d>) -> Result<(), String> {
        let Some([z]) = self.symbols.get(sym.name).map(Vec::as_slice) else {
            return Ok(());
        };
        let (Some(info), Some(bytes), true) = (reloc_info(r.kind), s.data.get(r.offset as usize..), r.is_rela) else {
            return Ok(());
        };
        if !info.linker_may_resolve() || z.section.index().is_none() {
            return Ok(());
        }
        let value = z.entry.st_value.get().wrapping_add(r.addend as u64);
        for field in info.fields.iter().filter(|f| f.source == FieldSource::Value) {
            let mask = u64::MAX >> (64 - u32::from(field.width.clamp(1, 64)));
            if field_content(field, bytes).is_some_and(|c| c != value >> field.shift & mask) {
                return Err(format!(
                    "section {} of {}: {:#x} does not have the offset of constant {}",
                    text(s.name),
                    input.name,
                    r.offset,
                    text(sym.name)
                ));
            }
        }
        Ok(())
    }
}

/// Operation of the instruction at an offset: its low 12 bits.
fn operation(s: &Section<'_>, offset: u64) -> Option<u16> {
    let at = usize::try_from(offset).ok()? & !15;
    let bytes = s.data.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*bytes) & 0xfff)
}

/// What the image must have of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// The relocation.
    Kept,
    /// The offset of a constant.
    Constant,
    /// Nothing: it is not checked.
    Other,
}
