//! Unified function and data tables.
//!
//! 1. The index file gives every unique id its offset in the function or data window.
//! 2. Final link: stubs go to `.nv.uft` at their offsets, variables to `.nv.udt`; entries are rewritten with flags and offsets.
//! 3. After the merge the index must fit a table that the link has: every id of the index once in the table, the size of the window that of
//!    the table. The window of a table that the link does not have is not looked at.
//! 4. Relocatable link: stubs and data stay as they are, entries are joined.

use super::Merger;
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, SectionId};
use crate::inputs::Inputs;
use crate::names::{Name, SeededState};
use crate::object::{ObjSection, ObjSymbol, Object};
use crate::options::LinkOptions;
use crate::records::*;
use cubin::consts::*;
use hashbrown::{HashMap, HashSet};

/// Unique id of a function or variable.
type Id = (u64, u64);

/// One table of the index file.
#[derive(Debug, Default)]
struct Window {
    /// Claimed size of the table.
    size: u64,
    /// Ids in order, with offsets in the table.
    entries: Vec<(Id, u64)>,
    offsets: HashMap<Id, u64, SeededState>,
}

impl Window {
    fn add(&mut self, id: Id, offset: u64) {
        self.entries.push((id, offset));
        self.offsets.insert(id, offset);
    }

    /// What is wrong with the ids when the link has these.
    fn check(&self, table: &[UnifiedEntry]) -> Option<&'static str> {
        let known: HashSet<Id, SeededState> = table.iter().map(|e| e.id).collect();
        let mut seen: HashSet<Id, SeededState> = HashSet::default();
        self.entries.iter().find_map(|(id, _)| {
            if !known.contains(id) {
                // nvlink quirk: ids are looked up by the difference of their halves first.
                let similar = table.iter().any(|e| e.id.0 ^ e.id.1 == id.0 ^ id.1);
                return Some(if similar { "matching uuid not found" } else { "uuid not found" });
            }
            (!seen.insert(*id)).then_some("entry was already found?")
        })
    }
}

/// Offsets by unique id, from the index file.
#[derive(Debug, Default)]
pub(super) struct UnifiedIndex {
    functions: Window,
    data: Window,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// A final link of inputs with tables needs an index file.
pub(super) fn lacks_index(inputs: &Inputs<'_>, options: &LinkOptions<'_>) -> Option<Code> {
    let tables = inputs.objects.iter().any(|o| o.has_unified_functions || o.has_unified_data);
    (tables && !options.relocatable && options.unified_index.is_none()).then_some(Code::UnifiedWithoutIndex)
}

/// Reads the index file.
pub(super) fn read_index(options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Result<Option<UnifiedIndex>, Stop> {
    let Some(bytes) = options.unified_index else {
        return Ok(None);
    };
    parse_index(bytes)
        .map(Some)
        .ok_or_else(|| out.fatal(Code::Internal { what: "not uidx input" }))
}

fn parse_index(bytes: &[u8]) -> Option<UnifiedIndex> {
    if !bytes.starts_with(b"\x7fUFTINDX") {
        return None;
    }
    let mut index = UnifiedIndex::default();
    (index.functions.size, index.data.size) = (word(bytes, 16)?, word(bytes, 32)?);
    let (functions, data) = (word(bytes, 24)?, word(bytes, 40)?);
    let count = functions.checked_add(data)?;
    if count > bytes.len() as u64 {
        return None;
    }
    for i in 0..count {
        let at = 48 + 24 * i as usize;
        let table = if i < functions { &mut index.functions } else { &mut index.data };
        table.add((word(bytes, at)?, word(bytes, at + 8)?), word(bytes, at + 16)?);
    }
    Some(index)
}

const RECORD: usize = 32;

impl<'d> Merger<'_, 'd, '_, '_> {
    /// `.nv.uft.entry` or `.nv.udt.entry`.
    pub(super) fn unified_table(&mut self, sh_type: u32, align: u64) -> SectionId {
        let (name, class): (&'static [u8], Class) = if sh_type == SHT_CUDA_UFT_ENTRY {
            (b".nv.uft.entry", Class::UftEntry)
        } else {
            (b".nv.udt.entry", Class::UdtEntry)
        };
        if let Some(&id) = self.named_sections.get(name) {
            let record = &mut self.records.sections[id];
            record.align = record.align.max(align);
            return id;
        }
        let id = self.section(Name::fixed(name), class, sh_type, 0, align, RECORD as u8);
        self.named_sections.insert(name, id);
        id
    }

    /// Joins the entries of one input's table.
    pub(super) fn unified_entries(&mut self, object: &Object<'d>, s: &ObjSection<'d>) -> Result<(), Stop> {
        let is_function = s.sh_type == SHT_CUDA_UFT_ENTRY;
        let table = self.unified_table(s.sh_type, s.align.get());
        for record in s.data.chunks_exact(RECORD) {
            let (Some(head), Some(offset), Some(a), Some(b)) = (word(record, 0), word(record, 8), word(record, 16), word(record, 24))
            else {
                continue;
            };
            let (symbol, flags) = (head as u32, (head >> 32) as u32);
            if symbol >= object.symbol_count() {
                return Err(self.out.fatal(Code::Damaged {
                    file: object.name.into(),
                    reason: format!("unified entry refers to symbol {symbol}"),
                }));
            }
            let offset = if self.mode.relocatable {
                let base = self.named_sections.get(&b".nv.udt"[..]).filter(|_| !is_function).and_then(|&id| {
                    self.records.sections[id]
                        .pieces
                        .as_slice()
                        .iter()
                        .find(|p| p.object == object.id)
                        .map(|p| p.base)
                });
                offset.wrapping_add(base.unwrap_or(0))
            } else if is_function {
                self.stub_place((a, b))
            } else {
                // An id that the index does not have is looked at in the end.
                self.data_offset((a, b)).unwrap_or(u64::MAX)
            };
            let entry = UnifiedEntry {
                symbol: object.symbol_ref(symbol),
                flags: flags | 6,
                offset,
                id: (a, b),
            };
            if is_function {
                self.records.unified.functions.push(entry)
            } else {
                self.records.unified.data.push(entry)
            }
        }
        self.records.sections[table].size = RECORD as u64
            * if is_function {
                self.records.unified.functions.len()
            } else {
                self.records.unified.data.len()
            } as u64;
        Ok(())
    }

    fn data_offset(&self, id: Id) -> Option<u64> {
        self.index.as_ref()?.data.offsets.get(&id).copied()
    }

    /// Offset of a stub; an id that has none ends the link after the merge.
    fn stub_place(&mut self, id: Id) -> u64 {
        let window = self.index.as_ref().map(|i| &i.functions);
        if let Some(&offset) = window.and_then(|w| w.offsets.get(&id)) {
            return offset;
        }
        // The size of the window is looked at first.
        let stubs = self.resolved.functions.iter().filter(|f| f.stub).count();
        let fits = window.is_some_and(|w| w.size == (STUB * stubs) as u64);
        let what = if fits { "uuid not found" } else { STUBS_MISFIT };
        self.records.unified.problem.get_or_insert(Code::Internal { what });
        0
    }

    /// A stub of a unified function in a final link.
    pub(super) fn stub(&mut self, object: &Object<'d>, f: FunctionId, sym: &ObjSymbol<'d>, section: u32) {
        let Some(s) = object.section(section).copied() else { return };
        let function = s.name.strip_prefix(b".nv.uft.rel.").unwrap_or_default();
        let entries = object
            .sections
            .iter()
            .filter(|t| t.sh_type == SHT_CUDA_UFT_ENTRY)
            .flat_map(|t| t.data.chunks_exact(RECORD));
        let mut id = None;
        for record in entries {
            let symbol = word(record, 0).unwrap_or(0) as u32;
            if object.symbol(symbol).name == function {
                id = word(record, 16).zip(word(record, 24));
                break;
            }
        }
        let offset = self.stub_place(id.unwrap_or_default());
        let mut new = self.new_symbol(object, sym, sym.bind, STT_FUNC);
        (new.other, new.value, new.size, new.function) = (sym.other & 0x1f, offset, sym.size, Some(f));
        let symbol = self.symbol(sym, new);
        let table = self.uft_section(s.align.get());
        self.records.unified.first_stub.get_or_insert(symbol);
        self.records.symbols[symbol].section = Some(table);
        let function = &mut self.records.functions[f];
        (function.text, function.bind, function.stub_offset) = (Some(table), sym.bind, Some(offset));
        self.records.symbol_of[f] = Some(symbol);
        self.records.unified.stubs.push(Stub {
            function: f,
            object: object.id,
            section,
            offset,
        });
        self.records.placement.sections[object.section_ref(section)] = Some((table, offset));
    }

    fn uft_section(&mut self, align: u64) -> SectionId {
        if let Some(&id) = self.named_sections.get(&b".nv.uft"[..]) {
            return id;
        }
        let id = self.section(Name::fixed(b".nv.uft"), Class::Uft, SHT_CUDA_UFT, 6, align, 128);
        self.named_sections.insert(b".nv.uft", id);
        let info = self.section(Name::fixed(b".nv.info..nv.uft"), Class::UftInfo, SHT_CUDA_INFO, SHF_INFO_LINK, 4, 0);
        self.records.sections[info].owner = Some(id);
        id
    }

    /// `.nv.udt` of a final link: variables are placed by their entries.
    pub(super) fn unified_data(&mut self, s: &ObjSection<'d>) -> SectionId {
        let sh_type = if self.mode.rules.plain_unified_data {
            SHT_PROGBITS
        } else {
            s.sh_type
        };
        self.named_section(s.name, Class::Udt, sh_type, s.flags, s.align.get())
    }

    /// Checks the windows and writes the tables.
    pub(super) fn finish_unified(&mut self) {
        let Some(index) = self.index.take().filter(|_| !self.mode.relocatable) else {
            return;
        };
        if self.records.unified.problem.is_some() {
            return;
        }
        let filled = match self.named_sections.get(&b".nv.uft"[..]).copied() {
            Some(table) => self.fill_stubs(&index.functions, table),
            None => Ok(()),
        };
        let filled = filled.and_then(|()| match self.named_sections.get(&b".nv.udt"[..]).copied() {
            Some(table) => self.fill_data(&index.data, table),
            None => Ok(()),
        });
        self.records.unified.problem = filled.err().map(|what| Code::Internal { what });
    }

    /// `.nv.uft`: one stub in each slot. On Blackwell the code is made in the end.
    fn fill_stubs(&mut self, window: &Window, table: SectionId) -> Result<(), &'static str> {
        let stubs = &self.records.unified.stubs;
        let size = STUB * stubs.len();
        if window.size != size as u64 {
            return Err(STUBS_MISFIT);
        }
        if let Some(what) = window.check(&self.records.unified.functions) {
            return Err(what);
        }
        let mut bytes = vec![0; size];
        let mut taken = vec![false; stubs.len()];
        for stub in stubs {
            // nvlink writes a stub that is outside of the window, or over another one.
            let slot = usize::try_from(stub.offset)
                .ok()
                .filter(|o| o.is_multiple_of(STUB))
                .map(|o| o / STUB);
            let free = slot.and_then(|s| taken.get_mut(s)).ok_or(STUBS_MISFIT)?;
            if std::mem::replace(free, true) {
                return Err(STUBS_MISFIT);
            }
            let section = self.inputs.objects[stub.object].section(stub.section).ok_or(STUBS_MISFIT)?;
            let place = bytes.get_mut(stub.offset as usize..).and_then(|b| b.get_mut(..section.data.len()));
            place.ok_or(STUBS_MISFIT)?.copy_from_slice(section.data);
        }
        let record = &mut self.records.sections[table];
        record.size = size as u64;
        record.bytes = Some(Box::new(bytes));
        Ok(())
    }

    /// `.nv.udt`: it ends with its last variable.
    fn fill_data(&mut self, window: &Window, table: SectionId) -> Result<(), &'static str> {
        const MISFIT: &str = "size of uidx window != nv.udt";
        if let Some(what) = window.check(&self.records.unified.data) {
            return Err(what);
        }
        let mut offsets: Vec<_> = self.records.unified.data.iter().map(|e| (e.symbol, e.offset)).collect();
        offsets.sort_unstable();
        let mut bytes: Vec<u8> = Vec::new();
        let mut lost = false;
        for var in std::mem::take(&mut self.records.unified.variables) {
            let at = offsets.binary_search_by_key(&var.symbol, |e| e.0).ok();
            let Some((_, offset)) = at.and_then(|i| offsets.get(i)).filter(|e| e.1 != u64::MAX) else {
                lost = true;
                continue;
            };
            self.records.symbols[var.out].value = *offset;
            let (object, index) = self.inputs.locate(var.symbol);
            let sym = object.symbol(index);
            let data = sym
                .defined_in()
                .and_then(|s| object.section(s))
                .and_then(|s| s.data.get(sym.value as usize..))
                .and_then(|d| d.get(..sym.size as usize))
                .ok_or(MISFIT)?;
            let end = offset
                .checked_add(sym.size)
                .filter(|&end| end <= window.size.min(MAX_WINDOW))
                .ok_or(MISFIT)? as usize;
            bytes.resize(bytes.len().max(end), 0);
            if let Some(place) = bytes.get_mut(*offset as usize..end) {
                place.copy_from_slice(data);
            }
        }
        if window.size != bytes.len() as u64 {
            return Err(MISFIT);
        }
        if lost {
            // nvlink links without the variable's value.
            return Err("uuid not found");
        }
        let record = &mut self.records.sections[table];
        record.size = window.size;
        record.bytes = Some(Box::new(bytes));
        Ok(())
    }
}

const STUBS_MISFIT: &str = "size of uidx window != nv.uft";
/// Size of a stub.
const STUB: usize = 128;
/// Largest window that an index file may claim.
const MAX_WINDOW: u64 = 1 << 30;
