//! Source lines of code: the line table that `-lineinfo` and `-G` make.
//!
//! 1. The start address of a sequence is a relocation against a function or section. It is replaced by the number of the code section, in the
//!    upper bits, and the offset in it, so that one table serves all sections.
//! 2. Rows are sorted by address. The line of an offset is that of the last row at or before it, in the same section.
//! 3. A table that cannot be read has no lines: the reader stops at the first error and keeps the rows before it.

use cubin::Cubin;
use cubin::consts::{SHF_EXECINSTR, SHT_REL, SHT_RELA};
use gimli::{AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LittleEndian};

/// Bits of an address for the offset in its section.
const OFFSET_BITS: u32 = 40;

type Bytes<'d> = EndianSlice<'d, LittleEndian>;

/// A line of a source file, by the number of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line {
    pub file: u32,
    pub line: u64,
}

/// The line table of an object.
#[derive(Debug, Default)]
pub struct Lines {
    /// Files as the compiler was given them, with their directory.
    pub files: Vec<String>,
    /// Address and line; none at the end of a sequence.
    rows: Vec<(u64, Option<Line>)>,
}

impl Lines {
    pub fn read(cubin: &Cubin<'_>) -> Self {
        let mut lines = Lines::default();
        if let Some(table) = relocated(cubin) {
            let mut start = 0;
            while let Some(next) = lines.unit(&table, start).filter(|&next| next > start) {
                start = next;
            }
        }
        // The end of a sequence comes before the start of another one at the same address.
        lines.rows.sort_by_key(|(address, line)| (*address, line.is_some()));
        lines
    }

    /// The line of an offset in a section.
    pub fn at(&self, section: u32, offset: u64) -> Option<Line> {
        let wanted = address(section, offset)?;
        let after = self.rows.partition_point(|row| row.0 <= wanted);
        let (found, line) = self.rows.get(after.checked_sub(1)?)?;
        (*line).filter(|_| found >> OFFSET_BITS == u64::from(section))
    }

    /// Adds the rows of a unit; the offset of the next one.
    fn unit(&mut self, table: &[u8], start: usize) -> Option<usize> {
        let program = DebugLine::new(table, LittleEndian)
            .program(DebugLineOffset(start), 8, None, None)
            .ok()?;
        let next = start.checked_add(4)?.checked_add(program.header().unit_length())?;
        let first = self.files.len();
        let mut rows = program.rows();
        let mut last = None;
        while let Ok(Some((header, row))) = rows.next_row() {
            let line = match (row.end_sequence(), row.line()) {
                (false, Some(line)) => {
                    let file = match last {
                        Some((index, file)) if index == row.file_index() => file,
                        _ => self.file(first, &path(header, row.file_index())),
                    };
                    last = Some((row.file_index(), file));
                    Some(Line { file, line: line.get() })
                }
                _ => None,
            };
            self.rows.push((row.address(), line));
        }
        Some(next)
    }

    /// The number of a file of a unit whose files begin at `first`.
    fn file(&mut self, first: usize, path: &str) -> u32 {
        let known = self.files.iter().skip(first).position(|f| f == path);
        let number = known.map_or(self.files.len(), |position| first + position);
        if known.is_none() {
            self.files.push(path.to_owned());
        }
        number as u32
    }
}

fn address(section: u32, offset: u64) -> Option<u64> {
    let fits = offset >> OFFSET_BITS == 0 && u64::from(section) >> (64 - OFFSET_BITS) == 0;
    fits.then_some((u64::from(section) << OFFSET_BITS) | offset)
}

/// The table with its relocations applied.
fn relocated(cubin: &Cubin<'_>) -> Option<Vec<u8>> {
    let table = cubin.section_by_name(b".debug_line")?;
    let mut bytes = table.data.to_vec();
    let of_table =
        |s: &cubin::read::Section<'_>| s.header.sh_info.get() == table.index && matches!(s.header.sh_type.get(), SHT_REL | SHT_RELA);
    for section in cubin.sections().flatten().filter(of_table) {
        let relocations = cubin.relocations(&section).ok()?;
        for relocation in (0..relocations.len()).filter_map(|i| relocations.get(i)) {
            let symbol = cubin.symbol(relocation.r_sym.get()).ok()?;
            // Others are offsets of names.
            let is_code = |&i: &u32| cubin.section(i).is_ok_and(|s| s.header.sh_flags.get() & SHF_EXECINSTR != 0);
            let Some(code) = symbol.section.index().filter(is_code) else {
                continue;
            };
            let place = usize::try_from(relocation.r_offset.get()).ok()?;
            let Some(slot) = bytes.get_mut(place..place.checked_add(8)?) else {
                continue;
            };
            let offset = symbol.entry.st_value.get().checked_add_signed(relocation.r_addend.get());
            slot.copy_from_slice(&offset.and_then(|offset| address(code, offset))?.to_le_bytes());
        }
    }
    Some(bytes)
}

fn path(header: &LineProgramHeader<Bytes<'_>>, file: u64) -> String {
    let text = |value: AttributeValue<Bytes<'_>>| match value {
        AttributeValue::String(text) => String::from_utf8_lossy(text.slice()).into_owned(),
        _ => String::new(),
    };
    let Some(entry) = header.file(file) else { return "?".into() };
    let name = text(entry.path_name());
    let directory = entry.directory(header).map(text).unwrap_or_default();
    match name.starts_with('/') || directory.is_empty() {
        true => name,
        false => format!("{directory}/{name}"),
    }
}
