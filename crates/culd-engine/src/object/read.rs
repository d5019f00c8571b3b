//! Checks an object and decodes its tables, so that names and indices are valid in later phases.

use super::classify::{contradicts, normal_type, role};
use super::{Align, Label, MAX_ALIGN, NO_OWNER, ObjSection, Object, ObjectError, RelocSection, Role, StringRef, text};
use crate::names::NameHasher;
use crate::par::Threads;
use cubin::consts::*;
use cubin::raw::{Pair, Rel, Rela, Shdr, Sym};
use cubin::read::{Cubin, ReadError, Relocations, SymbolSection, has_string, string_at};
use cubin::reloc::takes_descriptor;
use std::ops::Range;
use zerocopy::FromBytes;

impl<'d> Object<'d> {
    pub(super) fn check_sections(&mut self) -> Result<(), ObjectError> {
        for (number, s) in (0..).zip(&self.sections) {
            self.lists.add_section(number, s);
            match s.name {
                b".note.nv.tkinfo" => self.tkinfo = Some(s.data),
                b".nv.compat" => self.compat = Some(s.data),
                _ => {}
            }
            self.has_unified_functions |= s.sh_type == SHT_CUDA_UFT_ENTRY;
            self.has_unified_data |= s.sh_type == SHT_CUDA_UDT_ENTRY;
            self.has_barrier_flags |= s.role == Role::Text && s.barriers() != 0;
        }
        let count = self.sections.len() as u32;
        for s in &self.sections {
            let owned = matches!(
                s.role,
                Role::FunctionInfo | Role::Parameters | Role::Literals | Role::KernelShared | Role::Relocations
            );
            if owned && s.info >= count {
                return Err(ObjectError::Section {
                    section: text(s.name),
                    reason: format!("sh_info {} names no section", s.info),
                });
            }
        }
        Ok(())
    }

    pub(super) fn check_symbols(
        &mut self,
        place: impl Fn(u32) -> Result<SymbolSection, ObjectError>,
        threads: Threads,
    ) -> Result<(), ObjectError> {
        let strings = self.strings;
        let name = |entry: &Sym| string_at(strings, entry.st_name.get()).unwrap_or_default();
        let hashing = NameHasher::default();
        // The name of a section's symbol is never looked up.
        let label = |entry: &Sym| match entry.kind() {
            STT_SECTION => Label::default(),
            _ => Label::new(name(entry), &hashing),
        };
        self.labels = match self.symbols.len() > CHUNK {
            true => threads.map(&self.symbols, label),
            false => self.symbols.iter().map(label).collect(),
        };
        for (i, (entry, label)) in self.symbols.iter().zip(&self.labels).enumerate() {
            let section = place(i as u32)?;
            let kind = entry.kind();
            self.lists.add_symbol(i as u32, kind);
            self.named += u32::from(entry.bind() != STB_LOCAL);
            if let (SHN_XINDEX, Some(x)) = (entry.st_shndx.get(), section.index()) {
                self.extended.push((i as u32, x));
            }
            let bad = match (kind, section) {
                (STT_FUNC, SymbolSection::Common | SymbolSection::Reserved(_)) => Some("a function in a reserved section"),
                (STT_OBJECT | STT_CUDA_OBJECT, SymbolSection::Reserved(_)) => Some("a variable in a reserved section"),
                (_, SymbolSection::Common) if !entry.st_value.get().is_power_of_two() || entry.st_value.get() > MAX_ALIGN => {
                    Some("common alignment is not a power of two")
                }
                (STT_CUDA_OBJECT, SymbolSection::Index(_))
                    if entry.st_other & STO_CUDA_SPACE == STO_CUDA_SHARED && entry.st_value.get() > MAX_ALIGN =>
                {
                    Some("shared alignment is too large")
                }
                (STT_FUNC, SymbolSection::Index(s))
                    if !matches!(self.sections.get(s as usize).map(|s| s.role), Some(Role::Text | Role::Stub)) =>
                {
                    Some("a function outside a text section")
                }
                // nvlink crashes.
                (STT_OBJECT | STT_CUDA_OBJECT, SymbolSection::Index(s))
                    if matches!(entry.st_other & STO_CUDA_SPACE, STO_CUDA_GLOBAL | STO_CUDA_CONSTANT)
                        && self.sections.get(s as usize).is_some_and(ObjSection::is_left_out) =>
                {
                    Some("a variable in a section that is not linked")
                }
                _ => None,
            };
            if let Some(reason) = bad {
                return Err(ObjectError::Symbol {
                    symbol: text(name(entry)),
                    reason,
                });
            }
            self.has_inner_functions |= kind == STT_FUNC && section.index().is_some() && entry.st_value.get() != 0;
            if let (STT_FUNC, SymbolSection::Index(s)) = (kind, section)
                && let Some(owned) = self.sections.get_mut(s as usize)
                && (owned.role == Role::Stub || owned.name.strip_prefix(b".text.") == Some(label.name(entry, strings)))
            {
                owned.owner = i as u32;
            }
        }
        Ok(())
    }

    pub(super) fn read_tables(&mut self) -> Result<(), ObjectError> {
        let sections = std::mem::take(&mut self.sections);
        for s in &sections {
            match s.sh_type {
                SHT_CUDA_CALLGRAPH => self.read_callgraph(s)?,
                SHT_CUDA_PROTOTYPE => {
                    let pairs = pairs(s)?;
                    self.prototypes.reserve_exact(pairs.len());
                    for (i, pair) in pairs.iter().enumerate() {
                        let function = self.function_index(s, i, pair.first.get())?;
                        self.prototypes.push((function, self.prototype(s, i, pair.second.get())?));
                    }
                }
                _ => {}
            }
        }
        self.sections = sections;
        Ok(())
    }

    fn read_callgraph(&mut self, s: &ObjSection<'d>) -> Result<(), ObjectError> {
        let mut segment = 0;
        let pairs = pairs(s)?;
        // Most of them are direct calls.
        self.callgraph.direct.reserve_exact(pairs.len());
        for (i, pair) in pairs.iter().enumerate() {
            let (a, b) = (pair.first.get(), pair.second.get());
            if a == 0 && b >= 0xffff_fffc {
                segment = b.wrapping_neg();
                continue;
            }
            let function = self.function_index(s, i, a)?;
            match segment {
                1 => self.callgraph.direct.push((function, self.function_index(s, i, b)?)),
                2 => self.callgraph.taken.push((function, self.prototype(s, i, b)?)),
                3 => self.callgraph.sites.push((function, self.prototype(s, i, b)?)),
                4 => self.callgraph.takers.push((function, self.function_index(s, i, b)?)),
                _ => {
                    return Err(ObjectError::Section {
                        section: text(s.name),
                        reason: "an entry before the first list".into(),
                    });
                }
            }
        }
        Ok(())
    }

    fn function_index(&self, s: &ObjSection<'d>, entry: usize, index: u32) -> Result<u32, ObjectError> {
        match self.symbols.get(index as usize) {
            Some(sym) if sym.kind() == STT_FUNC => Ok(index),
            _ => Err(ObjectError::Index {
                section: text(s.name),
                entry,
                what: "function",
                index,
            }),
        }
    }

    fn prototype(&self, s: &ObjSection<'d>, entry: usize, offset: u32) -> Result<StringRef, ObjectError> {
        if has_string(self.strings, offset) {
            return Ok(StringRef(offset));
        }
        Err(ObjectError::Index {
            section: text(s.name),
            entry,
            what: "string",
            index: offset,
        })
    }

    /// A string of the object.
    pub fn string(&self, string: StringRef) -> &'d [u8] {
        string_at(self.strings, string.0).unwrap_or_default()
    }

    /// Reads the relocation sections; those of large objects on several threads.
    pub(super) fn read_relocations(&mut self, threads: Threads) -> Result<(), ObjectError> {
        let parts = match self.sections.len() > CHUNK {
            true => {
                let starts: Vec<usize> = (0..self.sections.len()).step_by(CHUNK).collect();
                threads.map(&starts, |&start| self.relocation_part(start..start + CHUNK))
            }
            false => vec![self.relocation_part(0..CHUNK)],
        };
        for part in parts {
            let part = part?;
            for relocated in part.relocs.iter().filter(|r| !r.entries.is_empty()) {
                if let Some(target) = self.sections.get_mut(relocated.target as usize) {
                    target.relocated = true;
                }
            }
            if self.relocs.is_empty() {
                (self.relocs, self.specials, self.descriptors) = (part.relocs, part.specials, part.descriptors);
                continue;
            }
            let first = self.specials.len() as u32;
            self.relocs.extend(part.relocs.into_iter().map(|r| RelocSection {
                specials: (r.specials.0 + first, r.specials.1 + first),
                ..r
            }));
            self.specials.extend(part.specials);
            for descriptor in part.descriptors {
                note_descriptor(&mut self.descriptors, descriptor);
            }
        }
        Ok(())
    }

    /// Reads the relocation sections among some sections; numbers that are too large are left out.
    fn relocation_part(&self, numbers: Range<usize>) -> Result<RelocationPart<'d>, ObjectError> {
        let end = numbers.end.min(self.sections.len());
        let sections = self.sections.get(numbers.start..end).unwrap_or_default();
        let count = sections.iter().filter(|s| s.role == Role::Relocations).count();
        let mut part = RelocationPart::default();
        if count == 0 {
            return Ok(part);
        }
        let mut seen = vec![u32::MAX; self.symbols.len()];
        part.relocs.reserve_exact(count);
        part.specials.reserve(2 * count);
        for (i, s) in (numbers.start as u32..).zip(sections) {
            let &ObjSection {
                role: Role::Relocations,
                info: target,
                name,
                sh_type,
                data,
                ..
            } = s
            else {
                continue;
            };
            let entries = relocation_entries(i, sh_type, data)?;
            if let Some(t) = self.sections.get(target as usize)
                && (t.is_left_out() || t.role == Role::Note)
            {
                // nvlink: "Internal error: unexpected reloc section".
                return Err(ObjectError::Section {
                    section: text(name),
                    reason: format!("it relocates {}, which is not linked (type {:#x})", text(t.name), t.sh_type),
                });
            }
            let first = part.specials.len() as u32;
            let (mut plain_later, mut plain_named) = (false, false);
            match entries {
                Relocations::Rel(list) => {
                    for (j, r) in list.iter().enumerate() {
                        self.check_relocation(&mut part, &mut seen, (i, name, j), target, r.r_offset.get(), r.r_sym.get())?;
                        self.note_type(&mut part, target, r.r_type.get(), r.r_sym.get());
                    }
                }
                Relocations::Rela(list) => {
                    for (j, r) in list.iter().enumerate() {
                        if j > 0 && r.r_addend.get() == 0 {
                            plain_later = true;
                            plain_named = plain_named || self.symbol_kind(r.r_sym.get()) != STT_SECTION;
                        }
                        self.check_relocation(&mut part, &mut seen, (i, name, j), target, r.r_offset.get(), r.r_sym.get())?;
                        self.note_type(&mut part, target, r.r_type.get(), r.r_sym.get());
                    }
                }
            }
            part.relocs.push(RelocSection {
                section: i,
                target,
                entries,
                plain_later,
                plain_named,
                specials: (first, part.specials.len() as u32),
            });
        }
        Ok(part)
    }

    fn note_type(&self, part: &mut RelocationPart<'d>, target: u32, r_type: u32, number: u32) {
        if takes_descriptor(r_type) && self.symbol_kind(number) == STT_FUNC {
            note_descriptor(&mut part.descriptors, (target, number));
        }
    }

    fn check_relocation(
        &self,
        part: &mut RelocationPart<'d>,
        seen: &mut [u32],
        (section, name, entry): (u32, &[u8], usize),
        target: u32,
        offset: u64,
        number: u32,
    ) -> Result<(), ObjectError> {
        let Some(sym) = self.symbols.get(number as usize) else {
            if self.trust.is_trusted() {
                return Ok(());
            }
            return Err(ObjectError::Index {
                section: text(name),
                entry,
                what: "symbol",
                index: number,
            });
        };
        // The size of Mercury code is not the size of its capsule.
        let size = self.sections.get(target as usize).map_or(0, |t| match t.role {
            Role::Text | Role::Stub => t.size,
            _ => t.data.len() as u64,
        });
        // Relocations of another function of this name: only wrong if this one is linked.
        let borrowed = self.sass.get(section as usize).is_some_and(|s| s.info != target);
        if offset >= size && !(borrowed && self.trust.is_trusted()) {
            return Err(ObjectError::RelocationOffset {
                section: text(name),
                entry,
            });
        }
        let special = match sym.kind() {
            STT_FUNC => sym.st_shndx.get() == 0,
            STT_CUDA_OBJECT => sym.st_other & STO_CUDA_SPACE == STO_CUDA_SHARED,
            kind => matches!(kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE),
        };
        if special
            && let Some(last) = seen.get_mut(number as usize)
            && *last != section
        {
            *last = section;
            part.specials.push(number);
        }
        Ok(())
    }
}

/// What was read from some relocation sections of an object.
#[derive(Default)]
struct RelocationPart<'d> {
    relocs: Vec<RelocSection<'d>>,
    /// See [`Object::specials`]; the ranges of `relocs` start here.
    specials: Vec<u32>,
    /// See [`Object::descriptors`].
    descriptors: Vec<(u32, u32)>,
}

/// Notes a relocation that references a function's descriptor, unless it is like the one before it.
fn note_descriptor(descriptors: &mut Vec<(u32, u32)>, new: (u32, u32)) {
    if descriptors.last() != Some(&new) {
        descriptors.push(new);
    }
}

/// Sections that are read together, if several threads read the sections of an object.
const CHUNK: usize = 2048;

/// The sections as they are in the file.
pub(crate) fn plain_sections<'d>(cubin: &Cubin<'d>, threads: Threads) -> Result<Vec<ObjSection<'d>>, ObjectError> {
    let headers = cubin.section_headers();
    let read = |(first, chunk): (usize, &[Shdr])| {
        // Collecting results does not know how many there are.
        let mut sections = Vec::with_capacity(chunk.len());
        for (i, header) in (first..).zip(chunk) {
            sections.push(plain_section(cubin, i, header)?);
        }
        Ok(sections)
    };
    if headers.len() <= CHUNK || !threads.is_parallel() {
        return read((0, headers));
    }
    let chunks: Vec<(usize, &[Shdr])> = (0..).step_by(CHUNK).zip(headers.chunks(CHUNK)).collect();
    let parts = threads.map(&chunks, |&chunk| read(chunk));
    Ok(threads.concat(parts.into_iter().collect::<Result<_, _>>()?, &ObjSection::NULL))
}

fn plain_section<'d>(cubin: &Cubin<'d>, i: usize, header: &Shdr) -> Result<ObjSection<'d>, ObjectError> {
    let section = cubin.section(i as u32)?;
    let (flags, info) = (header.sh_flags.get(), header.sh_info.get());
    let sh_type = normal_type(section.name, header.sh_type.get())
        .filter(|&t| i == 0 || is_consumed_note(t, header.sh_flags.get()) || !contradicts(section.name, t));
    let Some(sh_type) = sh_type else {
        return Err(ObjectError::Section {
            section: text(section.name),
            reason: format!("a section of this name does not have type {:#x}", header.sh_type.get()),
        });
    };
    let role = if i == 0 {
        Role::Other
    } else {
        role(section.name, sh_type, flags, info)
    };
    let align = header.sh_addralign.get();
    if role != Role::Other && (!align.is_power_of_two() || align > MAX_ALIGN) {
        return Err(ObjectError::Section {
            section: text(section.name),
            reason: format!("alignment {align:#x} is not a power of two up to {MAX_ALIGN:#x}"),
        });
    }
    Ok(ObjSection {
        name: section.name,
        data: section.data,
        size: header.sh_size.get(),
        flags,
        align: Align::new(align),
        sh_type,
        info,
        role,
        relocated: false,
        owner: NO_OWNER,
        entsize: entry_size(section.name, role, header.sh_entsize.get())?,
    })
}

/// Entry size of a section that keeps it; nvlink's own sections have fixed ones.
fn entry_size(name: &[u8], role: Role, entsize: u64) -> Result<u8, ObjectError> {
    // Without a twin it is not linked: the view decides.
    if role == Role::Metadata && !name.starts_with(b".nv.merc.") {
        return Err(ObjectError::Section {
            section: text(name),
            reason: "module ids are not supported".into(),
        });
    }
    if !matches!(role, Role::PassedThrough | Role::Note | Role::Debug) {
        return Ok(0);
    }
    let bad = |reason| ObjectError::Section {
        section: text(name),
        reason,
    };
    u8::try_from(entsize).map_err(|_| bad(format!("entries of {entsize} bytes are not supported")))
}

/// The note that states the toolkit of the file: nvlink finds it by its number, whatever its name is.
fn is_consumed_note(sh_type: u32, flags: u64) -> bool {
    sh_type == SHT_NOTE && flags & SHF_CUDA_NOTE_CUINFO != 0
}

fn relocation_entries(section: u32, sh_type: u32, data: &[u8]) -> Result<Relocations<'_>, ReadError> {
    let bad = |reason| ReadError::BadTable { section, reason };
    if sh_type == SHT_REL {
        return <[Rel]>::ref_from_bytes(data)
            .map(Relocations::Rel)
            .map_err(|_| bad("size is not a multiple of 16"));
    }
    <[Rela]>::ref_from_bytes(data)
        .map(Relocations::Rela)
        .map_err(|_| bad("size is not a multiple of 24"))
}

fn pairs<'d>(s: &ObjSection<'d>) -> Result<&'d [Pair], ObjectError> {
    <[Pair]>::ref_from_bytes(s.data).map_err(|_| ObjectError::Section {
        section: text(s.name),
        reason: "size is not a multiple of 8".into(),
    })
}
