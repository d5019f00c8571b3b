//! The Mercury view of an object, under the names and numbers of its SASS view.
//!
//! 1. Every Mercury section has a twin in the SASS view: a capsule names it in its first word, the others have its name after a prefix
//!    (the n-th of a name belongs to the n-th of that name). nvlink quirk: all sections of a name, those of static functions of one name
//!    after a relocatable link, have the contents of the first.
//! 2. A SASS section with a twin is replaced by the twin's contents, type and flags; its number stays. Sections without a twin are common
//!    to both views. Parameter banks only exist in the SASS view: they are rebuilt at the end of the link. The twin of a bank with slots of
//!    textures that the compiler laid out (`-ewp`) has these slots alone.
//! 3. The symbols are those of `.nv.merc.symtab`; symbol i is symbol i of the SASS view.
//! 4. Sizes of code are those of its Mercury form, which only the symbols state.

use super::{Align, NO_OWNER, ObjSection, Object, ObjectError, Role, Trust, View, normal_type, plain_sections, role, text};
use crate::names::SeededState;
use crate::par::Threads;
use cubin::compat::{INSTRUCTION_SET, MERCURY_ISA_VERSION};
use cubin::consts::*;
use cubin::kind::without_mercury;
use cubin::layout::sass_name;
use cubin::raw::{Rela, Sym};
use cubin::read::{Cubin, SymbolSection, has_string, string_at};
use cubin::release::Rules;
use hashbrown::HashMap;
use std::borrow::Cow;
use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

/// Banks from this number on have no place in the output.
const FIRST_UNUSED_BANK: u32 = 10;

/// Numbers of twins: SASS section of each Mercury section and the other way round, 0 if there is none.
struct Twins {
    sass: Vec<u32>,
    mercury: Vec<u32>,
    /// The Mercury section whose contents a SASS section gets, where that is not its twin: SASS section, Mercury section.
    borrowed: Vec<(u32, u32)>,
}

/// Sections of the SASS view with one name.
struct OfOneName {
    /// The first and the last that have no twin yet; nothing if all have one.
    left: Option<(u32, u32)>,
    /// The first Mercury section that was paired with one of them.
    first: Option<u32>,
}

/// The sections of the SASS view, by name.
struct SassNames<'p> {
    by_name: HashMap<&'p [u8], OfOneName, SeededState>,
    /// By section: the next one of the same name.
    following: Vec<Option<u32>>,
}

impl<'p> SassNames<'p> {
    fn new(plain: &'p [ObjSection<'_>]) -> Self {
        let mut names = SassNames {
            by_name: HashMap::with_capacity_and_hasher(plain.len() / 2, SeededState::default()),
            following: vec![None; plain.len()],
        };
        for (i, s) in (0..).zip(plain).filter(|(_, s)| !is_mercury(s)) {
            let same = names.by_name.entry(s.name).or_insert(OfOneName { left: None, first: None });
            same.left = match same.left {
                None => Some((i, i)),
                Some((first, last)) => {
                    if let Some(next) = names.following.get_mut(last as usize) {
                        *next = Some(i);
                    }
                    Some((first, i))
                }
            };
        }
        names
    }

    /// The next section of a name that has no twin yet, and the Mercury section that got the first one.
    fn take(&mut self, name: &[u8], mercury: u32) -> Option<(u32, u32)> {
        let same = self.by_name.get_mut(name)?;
        let (twin, last) = same.left?;
        let next = self.following.get(twin as usize).copied().flatten();
        same.left = next.map(|next| (next, last));
        Some((twin, *same.first.get_or_insert(mercury)))
    }
}

/// Builds the object from the Mercury view.
pub(crate) fn object<'d>(name: &'d str, cubin: &Cubin<'d>, trust: Trust, threads: Threads) -> Result<Object<'d>, ObjectError> {
    let plain = plain_sections(cubin, threads)?;
    let Some(symtab) = plain.iter().find(|s| s.sh_type == SHT_CUDA_MERC_SYMTAB) else {
        return Err(ObjectError::Section {
            section: ".nv.merc.symtab".into(),
            reason: "a file for this architecture needs one".into(),
        });
    };
    let twins = twins(&plain, trust)?;
    lonely(&plain, &twins, trust)?;
    let entries = <[Sym]>::ref_from_bytes(symtab.data).map_err(|_| ObjectError::Section {
        section: text(symtab.name),
        reason: "size is not a multiple of 24".into(),
    })?;
    let extended = plain
        .iter()
        .find(|s| s.name == b".nv.merc.symtab_shndx")
        .map_or(&[][..], |s| s.data);
    let extended = <[U32]>::ref_from_bytes(extended).unwrap_or_default();
    let mut places = Vec::with_capacity(entries.len());
    let mut symbols = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let place = section_of(i, entry, extended, &twins)?;
        let mut mapped = *entry;
        if let SymbolSection::Index(s) = place {
            mapped.st_shndx = u16::try_from(s).ok().filter(|&s| s < SHN_LORESERVE).unwrap_or(SHN_XINDEX).into();
        }
        places.push(place);
        symbols.push(mapped);
    }
    let mut sections: Vec<ObjSection<'d>> = (0..plain.len()).map(|i| section(i, &plain, &twins)).collect();
    let mut sass = plain.clone();
    if trust.is_trusted() {
        twins.borrow(&plain, &mut sections, &mut sass);
    }
    for (entry, place) in entries.iter().zip(&places) {
        if let (STT_FUNC, SymbolSection::Index(s)) = (entry.kind(), place)
            && let Some(code) = sections.get_mut(*s as usize)
        {
            code.size = code.size.max(entry.st_size.get());
        }
    }
    let strings = cubin.strings();
    let place = |i: u32| {
        let offset = entries.get(i as usize).map_or(0, |e| e.st_name.get());
        if !has_string(strings, offset) {
            return Err(ObjectError::Index {
                section: text(symtab.name),
                entry: i as usize,
                what: "string",
                index: offset,
            });
        }
        Ok(places.get(i as usize).copied().unwrap_or(SymbolSection::Undefined))
    };
    let view = View {
        sections,
        symbols: Cow::Owned(symbols),
        sass,
    };
    let mut object = Object::assemble(name, cubin, view, place, (trust, threads))?;
    object.driver_callers = driver_callers(cubin, entries);
    Ok(object)
}

/// Refuses functions inside of a kernel (`-ewp`) in links that keep debug information or are relocatable: nvlink schedules their kernel with
/// other waits and writes relocations of frames over each other.
pub(crate) fn refuse_inner(object: &Object<'_>) -> Result<(), ObjectError> {
    let inner = object
        .has_inner_functions
        .then(|| object.symbols_of(&[STT_FUNC]).find(|&i| object.outer(i).is_some()));
    let Some(inner) = inner.flatten() else { return Ok(()) };
    let section = object.symbol(inner).defined_in().and_then(|s| object.section(s));
    Err(ObjectError::Unsupported {
        section: section.map_or(String::new(), |s| text(s.name)),
        reason: "functions inside of a kernel (-ewp) with -r or -g on sm_100 and later; compile it with -rdc=true",
    })
}

/// Code sections that call the driver in the SASS view alone: there the compiler expanded instructions that the architecture lacks (textures and
/// surfaces on sm_107), and the Mercury view, from which the output is made, does not have it. A link that needs such code is refused.
fn driver_callers(cubin: &Cubin<'_>, mercury: &[Sym]) -> Vec<u32> {
    let is_call = |entry: &Sym| {
        let name = || string_at(cubin.strings(), entry.st_name.get()).unwrap_or_default();
        entry.kind() == STT_FUNC && entry.st_shndx.get() == 0 && name().starts_with(b"__cuda_syscall")
    };
    let is_known = |entry: &Sym| mercury.iter().any(|m| m.st_name.get() == entry.st_name.get());
    let entries = cubin.symbol_entries().iter().zip(0u32..);
    let called: Vec<u32> = entries.filter(|(e, _)| is_call(e) && !is_known(e)).map(|(_, i)| i).collect();
    if called.is_empty() {
        return Vec::new();
    }
    let tables = cubin.sections().flatten().filter(|s| s.header.sh_type.get() == SHT_RELA);
    let callers = tables.filter(|table| {
        let relocations = <[Rela]>::ref_from_bytes(table.data).unwrap_or_default();
        relocations.iter().any(|r| called.contains(&r.r_sym.get()))
    });
    callers.map(|table| table.header.sh_info.get()).collect()
}

/// True for a file that has a Mercury view.
pub(crate) fn has_mercury(cubin: &Cubin<'_>) -> bool {
    cubin.section_headers().iter().any(|h| h.sh_type.get() == SHT_CUDA_MERC_SYMTAB)
}

fn is_mercury(s: &ObjSection<'_>) -> bool {
    s.flags & SHF_CUDA_MERCURY != 0
}

/// Refuses Mercury instructions of a newer version than the release knows: nvlink fails to finalize them.
pub(crate) fn check_forms(cubin: &Cubin<'_>, rules: &Rules) -> Result<(), ObjectError> {
    for section in cubin.sections() {
        let section = section?;
        if section.header.sh_type.get() == SHT_CUDA_COMPAT && mercury_version(section.data, rules) > rules.newest_mercury {
            return Err(ObjectError::NewerMercury {
                section: text(section.name),
                newest: rules.newest_mercury,
            });
        }
    }
    Ok(())
}

/// The version of Mercury instructions that `.nv.compat` states, 0 if none: the largest, if it is stated several times.
fn mercury_version(compat: &[u8], rules: &Rules) -> u16 {
    let largest = |code: u8| {
        let stated = cubin::nvinfo::records(compat).flatten().filter(|r| r.attribute == code);
        stated.map(|r| r.half).max()
    };
    let instruction_set = || rules.compat_instruction_set.then(|| largest(INSTRUCTION_SET)).flatten();
    instruction_set().or_else(|| largest(MERCURY_ISA_VERSION)).unwrap_or(0)
}

fn twins(plain: &[ObjSection<'_>], trust: Trust) -> Result<Twins, ObjectError> {
    let mut twins = Twins {
        sass: vec![0; plain.len()],
        mercury: vec![0; plain.len()],
        borrowed: Vec::new(),
    };
    let mut names = SassNames::new(plain);
    for (i, s) in plain.iter().enumerate().filter(|(_, s)| is_mercury(s)) {
        let twin = match s.sh_type {
            SHT_CUDA_MERC_SYMTAB | SHT_SYMTAB_SHNDX => continue,
            SHT_CUDA_CAPMERC => s.data.first_chunk().map(|b| u32::from_le_bytes(*b)),
            _ => names
                .take(sass_name(without_mercury(s.name)).as_ref(), i as u32)
                .map(|(twin, first)| {
                    if first != i as u32 {
                        twins.borrowed.push((twin, first));
                    }
                    twin
                }),
        };
        // nvlink quirk: such a section is left out silently; what the SASS view has under its name is linked.
        if twin.is_none() && trust.is_trusted() && is_foreign(s) {
            continue;
        }
        let slot = twin.and_then(|t| twins.mercury.get_mut(t as usize)).filter(|slot| **slot == 0);
        let (Some(slot), Some(back), Some(twin)) = (slot, twins.sass.get_mut(i), twin) else {
            return Err(ObjectError::Section {
                section: text(s.name),
                reason: "no twin among the other sections".into(),
            });
        };
        *slot = i as u32;
        *back = twin;
    }
    Ok(twins)
}

/// A Mercury section without a rule in the linker. The Mercury view names its constant banks by their purpose, not by number.
fn is_foreign(s: &ObjSection<'_>) -> bool {
    let name = without_mercury(s.name);
    match role(name, s.sh_type, s.flags, s.info) {
        Role::Other => s.sh_type == SHT_NOBITS,
        Role::PassedThrough | Role::Note | Role::Constant => !name.starts_with(b".nv.constant."),
        Role::Metadata => true,
        _ => false,
    }
}

/// nvlink quirk: constant banks with a number that no compiler uses are left out silently, alone or in both views (observed: 10, 12, 15 to 19, 26).
fn is_unused_bank(s: &ObjSection<'_>) -> bool {
    s.role == Role::Constant && !is_mercury(s) && s.sh_type >= SHT_CUDA_CONSTANT0 + FIRST_UNUSED_BANK
}

/// Types of sections of the SASS view that are read and rebuilt, or that nvlink leaves out.
fn is_made_again(s: &ObjSection<'_>) -> bool {
    match s.sh_type {
        SHT_CUDA_RELOCINFO => s.name.starts_with(b".nv.rel.action"),
        SHT_NULL | SHT_SYMTAB | SHT_STRTAB | SHT_SYMTAB_SHNDX | SHT_NOTE | SHT_NOBITS => true,
        SHT_CUDA_CALLGRAPH | SHT_CUDA_PROTOTYPE | SHT_CUDA_COMPAT | SHT_CUDA_HOST | SHT_CUDA_RESOLVED_RELA => true,
        SHT_CUDA_LOCAL | SHT_CUDA_SHARED_RESERVED => true,
        _ => false,
    }
}

/// Refuses contents that only one of the views has, and unknown types: nvlink crashes. It links sections without a rule that are before all
/// parameter banks.
fn lonely(plain: &[ObjSection<'_>], twins: &Twins, trust: Trust) -> Result<(), ObjectError> {
    let mut after_parameters = false;
    for ((s, twin), sass) in plain.iter().zip(&twins.mercury).zip(&twins.sass) {
        let bank = |b: u32| s.role == Role::Constant && s.sh_type == SHT_CUDA_CONSTANT0 + b;
        after_parameters |= s.role == Role::Parameters;
        let is_left_out = |of: u32| plain.get(of as usize).is_some_and(is_unused_bank);
        let reason = match s.role {
            _ if trust.is_trusted() && (is_unused_bank(s) || *sass != 0 && is_left_out(*sass)) => continue,
            _ if *sass != 0 && s.sh_type == SHT_PROGBITS && without_mercury(s.name).starts_with(b".nv.constant") => {
                "a section of this name does not have type 0x1"
            }
            _ if is_mercury(s) => continue,
            Role::PassedThrough | Role::Note if *twin == 0 && trust.is_trusted() && !after_parameters => continue,
            Role::PassedThrough | Role::Debug | Role::GlobalInit | Role::Constant | Role::Note if *twin == 0 => {
                "no twin in the Mercury view"
            }
            Role::PassedThrough if !trust.is_trusted() && plain.get(*twin as usize).is_some_and(|t| t.data != s.data) => {
                "its bytes differ in the Mercury view"
            }
            Role::Other if !is_made_again(s) => {
                return Err(ObjectError::Section {
                    section: text(s.name),
                    reason: format!("type {:#x} is not known", s.sh_type),
                });
            }
            Role::Constant if !bank(3) && !bank(4) => "a constant bank that the Mercury view does not have",
            _ => continue,
        };
        return Err(ObjectError::Section {
            section: text(s.name),
            reason: reason.into(),
        });
    }
    Ok(())
}

impl Twins {
    /// Gives sections of one name the contents of the first, in both views. In the SASS view they keep their owners.
    fn borrow<'d>(&self, plain: &[ObjSection<'d>], sections: &mut [ObjSection<'d>], sass: &mut [ObjSection<'d>]) {
        for &(to, from) in &self.borrowed {
            let (Some(mercury), Some(first)) = (plain.get(from as usize), self.sass.get(from as usize)) else {
                continue;
            };
            if let Some(section) = sections.get_mut(to as usize) {
                (section.data, section.size) = (mercury.data, mercury.size);
            }
            if let (Some(section), Some(first)) = (sass.get_mut(to as usize), plain.get(*first as usize)) {
                (section.data, section.size, section.info) = (first.data, first.size, first.info);
            }
        }
    }
}

fn section_of(i: usize, entry: &Sym, extended: &[U32], twins: &Twins) -> Result<SymbolSection, ObjectError> {
    let index = match entry.st_shndx.get() {
        0 => return Ok(SymbolSection::Undefined),
        SHN_COMMON => return Ok(SymbolSection::Common),
        SHN_XINDEX => extended.get(i).map_or(0, |x| x.get()),
        // nvlink quirk: in files with more sections the first reserved number is that of a section.
        SHN_LORESERVE if twins.sass.len() > SHN_LORESERVE.into() => SHN_LORESERVE.into(),
        reserved @ SHN_LORESERVE.. => return Ok(SymbolSection::Reserved(reserved)),
        direct => direct.into(),
    };
    match twins.sass.get(index as usize) {
        Some(0) => Ok(SymbolSection::Index(index)),
        Some(&twin) => Ok(SymbolSection::Index(twin)),
        None => Err(ObjectError::Index {
            section: ".nv.merc.symtab".into(),
            entry: i,
            what: "section",
            index,
        }),
    }
}

/// A section of the SASS view with the contents of its twin.
fn section<'d>(i: usize, plain: &[ObjSection<'d>], twins: &Twins) -> ObjSection<'d> {
    let gone = ObjSection {
        name: b"",
        data: &[],
        size: 0,
        flags: 0,
        align: Align::default(),
        sh_type: SHT_NULL,
        info: 0,
        role: Role::Other,
        relocated: false,
        owner: NO_OWNER,
        entsize: 0,
    };
    let Some(sass) = plain.get(i) else { return gone };
    let number = twins.mercury.get(i).copied().unwrap_or(0);
    if is_mercury(sass) || (sass.role == Role::Parameters && number == 0) || is_unused_bank(sass) {
        return gone;
    }
    let Some(twin) = plain.get(number as usize).filter(|_| number != 0) else {
        let role = if sass.sh_type == SHT_CUDA_SHARED_RESERVED {
            Role::ReservedShared
        } else {
            sass.role
        };
        // A relocation section whose twin is missing has no effect.
        return ObjSection { role, ..*sass };
    };
    // Observed: bytes without a meaning are those of the SASS view.
    if matches!(sass.role, Role::PassedThrough | Role::Note) {
        return *sass;
    }
    if twin.sh_type == SHT_CUDA_CAPMERC {
        return ObjSection {
            data: twin.data,
            size: 0,
            ..*sass
        };
    }
    let back = |index: u32| match twins.sass.get(index as usize) {
        Some(&s) if s != 0 => s,
        _ => index,
    };
    let name = without_mercury(twin.name);
    let flags = match twin.sh_type {
        // The bank of a copy that loses keeps these, whatever its twin has.
        SHT_CUDA_CONSTANT_OPTIMIZER => sass.flags,
        _ => twin.flags & !SHF_CUDA_MERCURY,
    };
    let (sh_type, role, info) = match twin.sh_type {
        SHT_CUDA_MERC_INFO => (SHT_CUDA_INFO, role(name, SHT_CUDA_INFO, flags, twin.info), back(twin.info)),
        SHT_CUDA_MERC_RELA => (SHT_RELA, Role::Relocations, back(twin.info)),
        SHT_CUDA_CONSTANT_USER => (SHT_CUDA_CONSTANT0 + 3, Role::Constant, 0),
        SHT_CUDA_CONSTANT_PIC => (SHT_CUDA_CONSTANT0 + 4, Role::Constant, 0),
        SHT_CUDA_CONSTANT_IMAGE_HEADERS => (SHT_CUDA_CONSTANT0, Role::Parameters, back(twin.info)),
        SHT_CUDA_CONSTANT_OPTIMIZER => (SHT_CUDA_CONSTANT0 + 2, Role::Literals, back(twin.info)),
        SHT_CUDA_SHARED_RESERVED => (SHT_CUDA_SHARED_RESERVED, Role::ReservedShared, 0),
        SHT_CUDA_MERC_CALLGRAPH => (SHT_CUDA_CALLGRAPH, sass.role, 0),
        SHT_CUDA_MERC_PROTOTYPE => (SHT_CUDA_PROTOTYPE, sass.role, 0),
        other => {
            let sh_type = normal_type(name, other).unwrap_or(other);
            (sh_type, role(name, sh_type, flags, twin.info), twin.info)
        }
    };
    ObjSection {
        name,
        data: twin.data,
        size: twin.size,
        flags,
        align: twin.align,
        sh_type,
        info,
        role,
        relocated: false,
        owner: NO_OWNER,
        entsize: twin.entsize,
    }
}
