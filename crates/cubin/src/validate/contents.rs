//! Contents of the CUDA sections: every record is whole, every index names something of the right kind.

use super::sections::place;
use super::{Checked, DefectPlace, Invalid, defect, text};
use crate::callgraph::CallGraph;
use crate::capmerc::Capsule;
use crate::codec::CodecError;
use crate::consts::*;
use crate::notes::{CudaInfo, TYPE_CUINFO, TYPE_TKINFO, ToolInfo, notes};
use crate::nvinfo::{self, FORMAT_NONE, FORMAT_SIZED, Payload, Record, SymbolUse, Value};
use crate::raw::{Pair, Sym};
use crate::read::{Cubin, Section};
use crate::{tables, unified};

pub(super) fn check(cubin: &Cubin<'_>) -> Checked {
    for (index, header) in (0..).zip(cubin.section_headers()).skip(1) {
        if !has_contents(header.sh_type.get()) {
            continue;
        }
        let section = cubin.section(index)?;
        let broken = |e: CodecError| defect(place(&section), e.to_string());
        match section.header.sh_type.get() {
            SHT_CUDA_INFO | SHT_CUDA_MERC_INFO => attributes(cubin, &section)?,
            SHT_CUDA_CALLGRAPH => callgraph(cubin, &section, &CallGraph::read(section.data).map_err(broken)?)?,
            SHT_CUDA_PROTOTYPE => {
                let pairs = tables::prototypes(section.data).map_err(broken)?;
                pairs_of(cubin, &section, pairs, "prototype", [Word::Function, Word::Text])?;
            }
            SHT_NOTE => note_section(&section)?,
            SHT_CUDA_COMPAT => {
                for record in nvinfo::records(section.data) {
                    record.map_err(broken)?;
                }
            }
            SHT_CUDA_UFT_ENTRY | SHT_CUDA_UDT_ENTRY => {
                for (i, entry) in unified::entries(section.data).map_err(broken)?.iter().enumerate() {
                    if entry.symbol.get() as usize >= cubin.symbol_entries().len() {
                        let reason = no_symbol(cubin, entry.symbol.get());
                        return Err(defect(entry_place(&section, "entry", i * 32), reason));
                    }
                }
            }
            SHT_CUDA_CAPMERC => {
                let capsule = Capsule::read(section.data).map_err(broken)?;
                capsule.check().map_err(broken)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Types whose contents are checked. Most sections of a file have others.
fn has_contents(sh_type: u32) -> bool {
    matches!(
        sh_type,
        SHT_CUDA_INFO
            | SHT_CUDA_MERC_INFO
            | SHT_CUDA_CALLGRAPH
            | SHT_CUDA_PROTOTYPE
            | SHT_NOTE
            | SHT_CUDA_COMPAT
            | SHT_CUDA_UFT_ENTRY
            | SHT_CUDA_UDT_ENTRY
            | SHT_CUDA_CAPMERC
    )
}

fn entry_place(section: &Section<'_>, what: &'static str, offset: usize) -> DefectPlace {
    DefectPlace::Entry {
        index: section.index,
        name: text(section.name),
        what,
        offset,
    }
}

fn no_symbol(cubin: &Cubin<'_>, index: u32) -> String {
    format!("symbol {index} does not exist, there are {}", cubin.symbol_entries().len())
}

/// Number of symbols of the table that a section's indices refer to.
pub(super) fn symbol_count(cubin: &Cubin<'_>, section: &Section<'_>) -> Result<u64, Invalid> {
    let index = section.header.sh_link.get();
    match cubin.section_headers().get(index as usize) {
        Some(table) => Ok(table.sh_size.get() / size_of::<Sym>() as u64),
        None => Err(cubin
            .section(index)
            .err()
            .map_or_else(|| defect(place(section), "no symbol table"), Invalid::Read)),
    }
}

fn attributes(cubin: &Cubin<'_>, section: &Section<'_>) -> Checked {
    let count = symbol_count(cubin, section)?;
    let mut records = nvinfo::records(section.data);
    loop {
        let offset = records.offset();
        let Some(record) = records.next() else { return Ok(()) };
        let record = record.map_err(|e| defect(place(section), e.to_string()))?;
        if let Some(reason) = record_problem(count, &record) {
            return Err(defect(entry_place(section, "attribute", offset), reason));
        }
    }
}

/// What is wrong with a record. Unknown attributes are not checked.
fn record_problem(count: u64, record: &Record<'_>) -> Option<String> {
    if !(FORMAT_NONE..=FORMAT_SIZED).contains(&record.format) {
        return Some(format!("format {} is unknown", record.format));
    }
    let info = record.info()?;
    let structured = !matches!(info.payload, Payload::Nothing | Payload::Opaque);
    if record.format == FORMAT_SIZED && structured && matches!(record.value(), Value::Bytes(_)) {
        return Some(format!("{} cannot have {} bytes", info.name, record.payload.len()));
    }
    let words = match (info.symbols, info.payload) {
        // The first word of a parameter is not a symbol in every toolkit's files.
        (SymbolUse::No, _) | (_, Payload::Param | Payload::ParamV2) => return None,
        (SymbolUse::First, _) => record.words().get(..1).unwrap_or_default(),
        (SymbolUse::All, _) => record.words(),
    };
    let bad = words.iter().map(|w| w.get()).find(|&w| u64::from(w) >= count)?;
    Some(format!("{}: symbol {bad} does not exist, there are {count}", info.name))
}

/// What a word of a pair is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Function,
    Text,
}

fn callgraph(cubin: &Cubin<'_>, section: &Section<'_>, graph: &CallGraph<'_>) -> Checked {
    use Word::{Function, Text};
    let lists = [
        (graph.calls, "call", [Function, Function]),
        (graph.address_taken, "taken address", [Function, Text]),
        (graph.indirect_calls, "indirect call", [Function, Text]),
        (graph.takers, "taker of an address", [Function, Function]),
    ];
    lists
        .into_iter()
        .try_for_each(|(pairs, what, words)| pairs_of(cubin, section, pairs, what, words))
}

fn pairs_of(cubin: &Cubin<'_>, section: &Section<'_>, pairs: &[Pair], what: &'static str, words: [Word; 2]) -> Checked {
    for pair in pairs {
        for (word, value) in words.into_iter().zip([pair.first.get(), pair.second.get()]) {
            let Some(reason) = word_problem(cubin, word, value)? else {
                continue;
            };
            // Offset of the pair: the slice is a part of the section.
            let offset = (std::ptr::from_ref(pair).addr()).saturating_sub(section.data.as_ptr().addr());
            return Err(defect(entry_place(section, what, offset), reason));
        }
    }
    Ok(())
}

fn word_problem(cubin: &Cubin<'_>, word: Word, value: u32) -> Result<Option<String>, Invalid> {
    if word == Word::Text {
        let size = cubin.strings().len();
        return Ok(cubin
            .string(value)
            .is_err()
            .then(|| format!("{value:#x} is not a string of a table of {size:#x} bytes")));
    }
    Ok(match cubin.symbol_entries().get(value as usize) {
        None => Some(no_symbol(cubin, value)),
        Some(entry) if entry.kind() != STT_FUNC => Some(format!("symbol {value} '{}' is not a function", text(cubin.symbol(value)?.name))),
        Some(_) => None,
    })
}

fn note_section(section: &Section<'_>) -> Checked {
    let broken = |e: CodecError| defect(place(section), e.to_string());
    for note in notes(section.data) {
        let note = note.map_err(broken)?;
        match note.kind {
            TYPE_TKINFO => drop(ToolInfo::read(note.description).map_err(broken)?),
            TYPE_CUINFO => drop(CudaInfo::read(note.description).map_err(broken)?),
            _ => {}
        }
    }
    Ok(())
}
