//! Literal banks (`.nv.constant2.F`).
//!
//! A kernel's bank is an ordinary record to which every copy, also a rejected one, is appended. A device function's bank has no record in
//! a final link: layout copies it into the kernels that reach the function; rejected copies are appended to it as well. But when no taken
//! copy has a bank, a rejected one makes a record that stays in the output. Relocatable outputs have a record for every function.

use super::Merger;
use crate::align::align_up;
use crate::diagnostics::{Code, Stop};
use crate::ids::{FunctionId, ObjectId, SectionId};
use crate::names::Name;
use crate::object::{ObjSection, ObjSymbol, Object, Role};
use crate::options::Identity;
use crate::records::*;
use cubin::consts::*;
use cubin::driver::is_driver_function;
use std::borrow::Cow;
use std::ops::Range;

const OVERLAP: Code = Code::Internal {
    what: "overlapping non-identical data",
};

/// What leads to a literal bank.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundBy {
    /// A symbol in it.
    Symbol,
    /// The list of sections: none of its symbols did.
    Section,
}

/// Whose literals a bank has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LiteralCopy {
    /// Those of the prevailing copy of the function.
    Prevailing,
    /// Those of a copy that lost.
    Losing,
}

impl<'d> Merger<'_, 'd, '_, '_> {
    /// A symbol in a literal bank.
    pub(super) fn literal(&mut self, object: &Object<'d>, index: u32, sym: &ObjSymbol<'d>, section: u32) -> Result<(), Stop> {
        let Some((f, input)) = self.literal_owner(object, section) else {
            self.created_dead_literal(object, sym, section);
            return Ok(());
        };
        let reference = object.symbol_ref(index);
        if !self.is_mine(object, input.info) {
            return self.second_strong_literals(object, section, f, &input);
        }
        self.created_literal(sym, &input);
        self.records.placement.symbols[reference] = Place::Literal(f);
        self.place_literals(object, section, FoundBy::Symbol)?;
        let placed = self.records.placement.sections[object.section_ref(section)].filter(|_| self.resolved.functions[f].entry);
        let record = placed.map(|p| p.0).or(self.records.functions[f].literal_record);
        if let Some(id) = record.filter(|_| self.mode.preserve) {
            let mut new = self.new_symbol(object, sym, sym.bind, STT_OBJECT);
            (new.other, new.section, new.value, new.size) = (sym.other & 0x1f, Some(id), sym.value, sym.size);
            (new.input_other, new.literal_number) = (sym.other, self.counted.number(object, index));
            let symbol = self.symbol(sym, new);
            self.records.literals.symbols.entry(f).or_default().push((reference, symbol));
        }
        Ok(())
    }

    /// Names of a literal and of the bank that nvlink makes for each function.
    fn created_literal(&mut self, sym: &ObjSymbol<'d>, input: &ObjSection<'d>) {
        self.records.created.dropped_section(self.mode, Name::plain(input.name));
        self.created_name(sym.name);
    }

    fn created_dead_literal(&mut self, object: &Object<'d>, sym: &ObjSymbol<'d>, section: u32) {
        let input = object.section(section).copied();
        if let Some(input) = input.filter(|s| self.dead_owner(object, s.info).is_some()) {
            self.created_literal(sym, &input);
        }
    }

    fn literal_owner(&self, object: &Object<'d>, section: u32) -> Option<(FunctionId, ObjSection<'d>)> {
        let input = *object.section(section)?;
        let f = self.resolved.function(object.symbol_ref(object.owner_of(&input)?))?;
        self.live.alive[f].then_some((f, input))
    }

    /// Whether a literal is one of a copy that does not prevail: the function of the bank is replaced later by the copy of another object, or
    /// was replaced in an earlier relocatable link, and the literal is outside of the bank.
    ///
    /// nvlink quirk: a relocatable link keeps such symbols, in the bank of the other copy.
    pub(super) fn is_replaced_literal(&self, object: &Object<'d>, sym: &ObjSymbol<'d>, section: u32) -> bool {
        let is_replaced = |(f, input): (FunctionId, ObjSection<'d>)| {
            let is_outside = sym.value.checked_add(sym.size).is_none_or(|end| end > input.size);
            is_outside || self.resolved.functions[f].winner.is_some_and(|w| w.object != object.id)
        };
        self.options.identity == Identity::Culd && self.literal_owner(object, section).is_some_and(is_replaced)
    }

    /// A second strong definition is an error already; nvlink stops at once if its literals differ.
    fn second_strong_literals(&mut self, object: &Object<'d>, section: u32, f: FunctionId, input: &ObjSection<'d>) -> Result<(), Stop> {
        let strong = object.owner_of(input).is_some_and(|o| object.symbol(o).bind == STB_GLOBAL);
        if !strong {
            return Ok(());
        }
        let own = own_bytes(self.source(object, input), self.ranges.of(object, section));
        let function = &self.records.functions[f];
        let known = match function.literal_index.and_then(|i| self.records.literals.banks.get(i as usize)) {
            Some(literals) => Some(&literals.bytes),
            None => function.literals.and_then(|id| self.records.sections[id].bytes.as_deref()),
        };
        if known.is_some_and(|k| !k.is_empty() && **k != *own) {
            return Err(self.out.fatal(OVERLAP));
        }
        Ok(())
    }

    /// Appends the bank of one copy of a function.
    pub(super) fn place_literals(&mut self, object: &Object<'d>, section: u32, found: FoundBy) -> Result<(), Stop> {
        if let (FoundBy::Section, Some(input)) = (found, object.section(section)) {
            self.records.created.dropped_section(self.mode, Name::plain(input.name));
        }
        let Some((f, input)) = self.literal_owner(object, section) else {
            return Ok(());
        };
        let slot = object.section_ref(section);
        if self.records.placement.sections[slot].is_some() || !self.literals_seen.insert(slot) {
            return Ok(());
        }
        let took = self.is_mine(object, input.info);
        // A bank without symbols, which a relocatable link left of a losing copy, belongs to no function.
        let copy = match (took, found) {
            (true, FoundBy::Symbol) => LiteralCopy::Prevailing,
            _ => LiteralCopy::Losing,
        };
        let own = copy == LiteralCopy::Prevailing;
        let bytes = match own {
            true => own_bytes(self.source(object, &input), self.ranges.of(object, section)),
            false => Cow::Borrowed(input.data),
        };
        let recorded = self.mode.relocatable || self.resolved.functions[f].entry;
        let function = &self.records.functions[f];
        if own && recorded && function.orphaned_literals.is_some() {
            let collides = function
                .literals
                .and_then(|id| self.records.sections[id].bytes.as_deref())
                .is_some_and(|b| !b.is_empty() && **b != *bytes);
            if collides {
                return Err(self.out.fatal(OVERLAP));
            }
        }
        let function = &mut self.records.functions[f];
        if own && function.literals.is_some() && function.literals_by_loser == Some(true) {
            // nvlink quirk: the loser's emptied record is not reused here, but found first by name later.
            function.orphaned_literals = function.literals.take();
            function.literals_by_loser = None;
        }
        if recorded || (!own && (function.literal_index.is_none() || function.orphaned_literals.is_some())) {
            let id = self.literal_record(f, &input, copy);
            let base = self.append_literals(id, &bytes, input.align.get());
            self.records.placement.sections[slot] = Some((id, base));
        } else {
            let copy = if took { LiteralCopy::Prevailing } else { LiteralCopy::Losing };
            self.device_literals(object, section, (f, &input), &bytes, copy);
        }
        Ok(())
    }

    /// The bytes of a bank that its symbols cover.
    ///
    /// nvlink quirk: a relocatable link leaves the symbols of a copy that was replaced; they may reach into what follows in the file.
    fn source(&self, object: &Object<'d>, input: &ObjSection<'d>) -> &'d [u8] {
        match self.options.identity {
            Identity::Nvlink => object.file_from(input),
            Identity::Culd => input.data,
        }
    }

    fn literal_record(&mut self, f: FunctionId, input: &ObjSection<'d>, copy: LiteralCopy) -> SectionId {
        let own = copy == LiteralCopy::Prevailing;
        let function = &self.records.functions[f];
        if let (Some(orphaned_literals), false) = (function.orphaned_literals, own) {
            let record = &mut self.records.sections[orphaned_literals];
            record.align = record.align.max(input.align.get());
            return orphaned_literals;
        }
        let id = match function.literals {
            Some(id) => id,
            None => self.section(
                Name::plain(input.name),
                Class::Literals,
                input.sh_type,
                if own { 0x42 } else { input.flags },
                input.align.get(),
                0,
            ),
        };
        let function = &mut self.records.functions[f];
        function.literals = Some(id);
        function.literals_by_loser.get_or_insert(!own);
        let record = &mut self.records.sections[id];
        record.align = record.align.max(input.align.get());
        record.owner = record.owner.or(function.text);
        id
    }

    fn append_literals(&mut self, id: SectionId, new: &[u8], align: u64) -> u64 {
        let record = &mut self.records.sections[id];
        let bytes = record.bytes.get_or_insert_default();
        pad(bytes, align);
        let base = bytes.len() as u64;
        bytes.extend_from_slice(new);
        record.size = bytes.len() as u64;
        base
    }

    fn device_literals(
        &mut self,
        object: &Object<'d>,
        section: u32,
        (f, input): (FunctionId, &ObjSection<'d>),
        bytes: &[u8],
        copy: LiteralCopy,
    ) {
        let took = copy == LiteralCopy::Prevailing;
        let index = match self.records.functions[f].literal_index {
            Some(index) => index as usize,
            None => {
                let bank = input.sh_type.wrapping_sub(SHT_CUDA_CONSTANT0);
                let align = input.align.get();
                self.records.functions[f].literal_record = is_driver_function(self.resolved.functions[f].name).then(|| {
                    let id = self.section(Name::plain(input.name), Class::Literals, input.sh_type, 0x42, align, 0);
                    self.records.sections[id].owner = self.records.functions[f].text;
                    id
                });
                self.records.literals.banks.push(FunctionLiterals {
                    align,
                    bank,
                    ..FunctionLiterals::none(f)
                });
                let index = self.records.literals.banks.len() - 1;
                self.records.functions[f].literal_index = Some(index as u32);
                index
            }
        };
        let Some(literals) = self.records.literals.banks.get_mut(index) else {
            return;
        };
        literals.align = literals.align.max(input.align.get());
        if !took {
            pad(&mut literals.bytes, input.align.get());
            literals.last_losing = Some(literals.bytes.len() as u64);
        }
        let base = literals.bytes.len() as u64;
        literals.tables.push((object.id, section, base));
        if took {
            let ranges = self.ranges.of(object, section).iter();
            literals.regions = ranges.map(|r| (base.saturating_add(r.start), base.saturating_add(r.end))).collect();
        } else {
            literals.regions.push((base, base + input.size));
        }
        literals.bytes.extend_from_slice(bytes);
    }
}

/// The part of a bank that its symbols name, zeros between them. What a relocatable link appended to it, of losing copies, has none.
fn own_bytes<'d>(source: &'d [u8], ranges: &[Range<u64>]) -> Cow<'d, [u8]> {
    let clamp = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(source.len());
    let end = ranges.iter().map(|r| clamp(r.end)).max().unwrap_or(0);
    let (mut next, mut dense) = (0, true);
    for r in ranges {
        dense &= r.start == next;
        next = r.end;
    }
    if dense {
        return Cow::Borrowed(source.get(..end).unwrap_or(source));
    }
    let mut bytes = vec![0; end];
    for r in ranges {
        let place = clamp(r.start)..clamp(r.end);
        if let (Some(to), Some(from)) = (bytes.get_mut(place.clone()), source.get(place)) {
            to.copy_from_slice(from);
        }
    }
    Cow::Owned(bytes)
}

/// Ranges of the symbols in the literal banks of one object.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    object: Option<ObjectId>,
    /// Sections, ascending.
    sections: Vec<u32>,
    ranges: Vec<Range<u64>>,
}

impl Ranges {
    /// Those of one section, in symbol order.
    fn of(&mut self, object: &Object<'_>, section: u32) -> &[Range<u64>] {
        if self.object != Some(object.id) {
            let literal = |sym: ObjSymbol<'_>| {
                let section = sym.defined_in()?;
                let is_it = sym.kind != STT_SECTION && object.section(section)?.role == Role::Literals;
                is_it.then(|| (section, sym.value..sym.value.saturating_add(sym.size)))
            };
            let mut all: Vec<_> = (0..object.symbol_count()).filter_map(|i| literal(object.symbol(i))).collect();
            all.sort_by_key(|l| l.0);
            (self.sections, self.ranges) = all.into_iter().unzip();
            self.object = Some(object.id);
        }
        let first = self.sections.partition_point(|&s| s < section);
        let end = self.sections.partition_point(|&s| s <= section);
        self.ranges.get(first..end).unwrap_or_default()
    }
}

/// How many literals an object has up to a symbol.
#[derive(Debug, Default)]
pub(super) struct Counted {
    object: ObjectId,
    /// The first symbol that was not looked at.
    next: u32,
    count: u32,
}

impl Counted {
    /// Number of a literal among its object's in the Mercury view, counted from 1; 0 in other objects.
    pub(super) fn number(&mut self, object: &Object<'_>, index: u32) -> u32 {
        if !object.has_mercury() {
            return 0;
        }
        if self.object != object.id || index < self.next {
            *self = Counted {
                object: object.id,
                next: 1,
                count: 0,
            };
        }
        let literal = |i: &u32| {
            let sym = object.symbol(*i);
            let section = sym.defined_in().and_then(|s| object.section(s));
            sym.kind != STT_SECTION && section.is_some_and(|s| s.role == Role::Literals)
        };
        // Symbols come in order, so each is looked at once.
        self.count += (self.next..=index).filter(literal).count() as u32;
        self.next = index + 1;
        self.count
    }
}

/// Pads with zeros to an alignment.
pub(crate) fn pad(bytes: &mut Vec<u8>, align: u64) {
    let size = align_up(bytes.len() as u64, align) as usize;
    bytes.resize(size, 0);
}
