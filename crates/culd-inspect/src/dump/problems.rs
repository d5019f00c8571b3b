//! What is wrong with a file beyond its headers: indices that point nowhere, tables with a rest.

use super::model::Model;
use super::rows::is_reloc;
use crate::names;
use crate::view::{Home, Problem, Sect};
use cubin::consts::{SHT_CUDA_CAPMERC, STT_FUNC};
use cubin::reloc::reloc_info;

/// At most this many problems of one kind are listed one by one.
const LISTED: usize = 10;

struct Collector {
    problems: Vec<Problem>,
}

impl Collector {
    /// Adds the first few problems of a place and the number of the others.
    fn add(&mut self, place: &str, reasons: impl Iterator<Item = String>) {
        let mut more = 0usize;
        for (i, reason) in reasons.enumerate() {
            if i < LISTED {
                self.problems.push(Problem {
                    place: place.to_owned(),
                    reason,
                });
            } else {
                more += 1;
            }
        }
        if more > 0 {
            self.problems.push(Problem {
                place: place.to_owned(),
                reason: format!("{more} more of this kind"),
            });
        }
    }
}

impl Model<'_, '_> {
    /// Everything that is wrong with the file, given its decoded contents.
    pub fn problems(&self, contents: &super::contents::Contents<'_>) -> Vec<Problem> {
        let view = self.view;
        let mut c = Collector {
            problems: view.problems.clone(),
        };
        let count = view.sections.len();
        for table in &view.tables {
            let place = names::text(view.section_name(table.section)).into_owned();
            let rest = view
                .section(table.section)
                .map_or(0, |s| s.data.len() % if view.is_64() { 24 } else { 16 });
            c.add(
                &place,
                (rest != 0).then(|| format!("{rest} bytes after the last symbol")).into_iter(),
            );
            let bad = (0..table.entries.len() as u32).filter_map(|i| match table.home(i) {
                Home::Section(s) if s as usize >= count => Some(format!("symbol {i}: section {s} does not exist, there are {count}")),
                _ => None,
            });
            c.add(&place, bad);
            let names = table.entries.iter().enumerate().filter(|(_, e)| {
                let offset = e.st_name.get() as usize;
                offset != 0 && offset >= table.strings.len()
            });
            c.add(
                &place,
                names.map(|(i, e)| format!("symbol {i}: name offset {:#x} is outside the string table", e.st_name.get())),
            );
        }
        for section in view.sections.iter().filter(|s| is_reloc(s)) {
            let symbols = view.table_of(section).map_or(0, |t| t.entries.len());
            let target = self.patched_size(section);
            let place = names::text(section.name);
            let (_, entries) = view.relocations(section);
            let bad = entries.enumerate().filter_map(|(i, r)| {
                let info = reloc_info(r.r_type.get());
                if r.r_sym.get() as usize >= symbols {
                    return Some(format!("entry {i}: symbol {} does not exist, there are {symbols}", r.r_sym.get()));
                }
                let Some(info) = info else {
                    return Some(format!("entry {i}: relocation type {:#x} is unknown", r.r_type.get()));
                };
                let end = r.r_offset.get().saturating_add(info.end_byte() as u64);
                (end > target).then(|| {
                    format!(
                        "entry {i}: {} at {:#x} is outside the section it patches",
                        info.name,
                        r.r_offset.get()
                    )
                })
            });
            c.add(&place, bad);
        }
        c.problems.extend(contents.problems.iter().cloned());
        c.problems
    }

    /// Size of what a relocation section patches. Offsets in a capsule count in the code that it holds, whose size its function has.
    fn patched_size(&self, relocs: &Sect<'_>) -> u64 {
        let index = relocs.header.sh_info.get();
        let Some(target) = self.view.section(index) else { return 0 };
        if target.header.sh_type.get() != SHT_CUDA_CAPMERC {
            return target.header.sh_size.get();
        }
        let Some(table) = self.view.table_of(relocs) else { return 0 };
        let functions = (0..).zip(table.entries.iter()).filter(|(_, e)| e.kind() == STT_FUNC);
        let held = functions.filter(|(i, _)| matches!(table.home(*i), Home::Section(s) if s == index));
        held.map(|(_, e)| e.st_size.get()).max().unwrap_or(0)
    }
}
