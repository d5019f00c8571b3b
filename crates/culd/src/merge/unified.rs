//! Unified function and data tables.
//!
//! 1. The index file gives every unique id its offset in the function or data window.
//! 2. Final link: stubs go to `.nv.uft` at their offsets, variables to `.nv.udt`; entries are rewritten with flags and offsets.
//! 3. Relocatable link: stubs and data stay as they are, entries are joined.

use super::Merger;
use super::model::*;
use crate::diagnostics::{Code, Collector, Stop};
use crate::ids::{FunctionId, SectionId};
use crate::inputs::Inputs;
use crate::names::{Name, State};
use crate::object::{ObjSection, ObjSymbol, Object};
use crate::options::LinkOptions;
use cubin::consts::*;
use hashbrown::HashMap;

/// Offsets by unique id, from the index file.
#[derive(Debug, Default)]
pub(super) struct UnifiedIndex {
    /// Size of the function window.
    pub(super) function_window: u64,
    /// Size of the data window.
    pub(super) data_window: u64,
    functions: HashMap<(u64, u64), u64, State>,
    data: HashMap<(u64, u64), u64, State>,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Reads the index file; without one, a final link of inputs with tables is refused.
pub(super) fn read_index(inputs: &Inputs<'_>, options: &LinkOptions<'_>, out: &mut Collector<'_>) -> Result<Option<UnifiedIndex>, Stop> {
    let Some(bytes) = options.unified_index else {
        let tables = inputs.objects.iter().any(|o| o.has_unified_functions || o.has_unified_data);
        if tables && !options.relocatable {
            return Err(out.fatal(Code::UnifiedWithoutIndex));
        }
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
    let mut index = UnifiedIndex {
        function_window: word(bytes, 16)?,
        data_window: word(bytes, 32)?,
        ..UnifiedIndex::default()
    };
    let (functions, data) = (word(bytes, 24)?, word(bytes, 40)?);
    let count = functions.checked_add(data)?;
    if count > bytes.len() as u64 {
        return None;
    }
    for i in 0..count {
        let at = 48 + 24 * i as usize;
        let table = if i < functions { &mut index.functions } else { &mut index.data };
        table.insert((word(bytes, at)?, word(bytes, at + 8)?), word(bytes, at + 16)?);
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
            let record = &mut self.m.sections[id];
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
                    self.m.sections[id]
                        .pieces
                        .as_slice()
                        .iter()
                        .find(|p| p.object == object.id)
                        .map(|p| p.base)
                });
                offset.wrapping_add(base.unwrap_or(0))
            } else {
                self.unified_offset(is_function, (a, b))?
            };
            let entry = UnifiedEntry {
                symbol: object.symbol_ref(symbol),
                flags: flags | 6,
                offset,
                id: (a, b),
            };
            if is_function {
                self.m.unified.functions.push(entry)
            } else {
                self.m.unified.data.push(entry)
            }
        }
        self.m.sections[table].size = RECORD as u64
            * if is_function {
                self.m.unified.functions.len()
            } else {
                self.m.unified.data.len()
            } as u64;
        Ok(())
    }

    fn unified_offset(&mut self, is_function: bool, id: (u64, u64)) -> Result<u64, Stop> {
        let found = self
            .index
            .as_ref()
            .and_then(|i| if is_function { i.functions.get(&id) } else { i.data.get(&id) })
            .copied();
        found.ok_or_else(|| self.out.fatal(Code::Internal { what: "uuid not found" }))
    }

    /// A stub of a unified function in a final link.
    pub(super) fn stub(&mut self, object: &Object<'d>, f: FunctionId, y: &ObjSymbol<'d>, section: u32) -> Result<(), Stop> {
        let Some(s) = object.section(section).copied() else { return Ok(()) };
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
        let offset = self.unified_offset(true, id.unwrap_or_default())?;
        let mut new = self.new_symbol(object, y, y.bind, STT_FUNC);
        (new.other, new.value, new.size, new.function) = (y.other & 0x1f, offset, y.size, Some(f));
        let symbol = self.symbol(y, new);
        let window = self.index.as_ref().map_or(0, |i| i.function_window);
        let table = self.uft_section(s.align.get(), window);
        self.m.unified.first_stub.get_or_insert(symbol);
        self.m.symbols[symbol].section = Some(table);
        let function = &mut self.m.functions[f];
        (function.text, function.bind, function.stub_offset) = (Some(table), y.bind, Some(offset));
        self.m.symbol_of[f] = Some(symbol);
        self.m.unified.stubs.push((f, object.id, section, offset));
        self.m.placed[object.section_ref(section)] = Some((table, offset));
        if let Some(place) = self.m.sections[table]
            .bytes
            .as_mut()
            .and_then(|b| b.get_mut(offset as usize..))
            .and_then(|b| b.get_mut(..s.data.len()))
        {
            place.copy_from_slice(s.data);
            return Ok(());
        }
        Err(self.out.fatal(Code::Internal {
            what: "size of uidx window != nv.uft",
        }))
    }

    fn uft_section(&mut self, align: u64, window: u64) -> SectionId {
        if let Some(&id) = self.named_sections.get(&b".nv.uft"[..]) {
            return id;
        }
        let id = self.section(Name::fixed(b".nv.uft"), Class::Uft, SHT_CUDA_UFT, 6, align, 128);
        self.named_sections.insert(b".nv.uft", id);
        let info = self.section(Name::fixed(b".nv.info..nv.uft"), Class::UftInfo, SHT_CUDA_INFO, SHF_INFO_LINK, 4, 0);
        self.m.sections[info].owner = Some(id);
        let record = &mut self.m.sections[id];
        record.size = window.min(MAX_WINDOW);
        record.bytes = Some(Box::new(vec![0; record.size as usize]));
        id
    }

    /// `.nv.udt` of a final link: variables are placed by their entries.
    pub(super) fn unified_data(&mut self, s: &ObjSection<'d>) -> SectionId {
        let window = self.index.as_ref().map_or(0, |i| i.data_window);
        let id = self.named_section(s.name, Class::Udt, s.sh_type, s.flags, s.align.get());
        let record = &mut self.m.sections[id];
        if record.bytes.is_none() {
            record.size = window.min(MAX_WINDOW);
            record.bytes = Some(Box::new(vec![0; record.size as usize]));
        }
        id
    }

    /// Checks the windows and writes the variables of `.nv.udt`.
    pub(super) fn finish_unified(&mut self) -> Result<(), Stop> {
        if self.mode.relocatable {
            return Ok(());
        }
        let Some(index) = &self.index else { return Ok(()) };
        let stubs = 128 * self.m.unified.stubs.len() as u64;
        if index.function_window != stubs && (stubs > 0 || index.function_window > 0) {
            return Err(self.out.fatal(Code::Internal {
                what: "size of uidx window != nv.uft",
            }));
        }
        let Some(&table) = self.named_sections.get(&b".nv.udt"[..]) else {
            return Ok(());
        };
        let mut offsets: Vec<_> = self.m.unified.data.iter().map(|e| (e.symbol, e.offset)).collect();
        offsets.sort_unstable();
        for var in std::mem::take(&mut self.m.unified.variables) {
            let Some(offset) = offsets
                .binary_search_by_key(&var.symbol, |e| e.0)
                .ok()
                .and_then(|i| offsets.get(i))
                .map(|e| e.1)
            else {
                continue;
            };
            self.m.symbols[var.out].value = offset;
            let (object, index) = self.inputs.locate(var.symbol);
            let y = object.symbol(index);
            let data = y
                .defined_in()
                .and_then(|s| object.section(s))
                .and_then(|s| s.data.get(y.value as usize..))
                .and_then(|d| d.get(..y.size as usize));
            let place = self.m.sections[table]
                .bytes
                .as_mut()
                .and_then(|b| b.get_mut(offset as usize..))
                .and_then(|b| b.get_mut(..y.size as usize));
            match (data, place) {
                (Some(data), Some(place)) => place.copy_from_slice(data),
                _ => {
                    return Err(self.out.fatal(Code::Internal {
                        what: "size of uidx window != nv.udt",
                    }));
                }
            }
        }
        Ok(())
    }
}

/// Largest window that an index file may claim.
const MAX_WINDOW: u64 = 1 << 30;
