//! `.nv.info.F` of the SASS view, `.nv.info..nv.uft` among them.
//!
//! 1. The records of the linked Mercury view without the finalizer's options. Offsets in code are those of the input's SASS view at the same
//!    place; the table of attributes lists which words they are ([`CodePlaces`]).
//! 2. Offsets move with the instructions.
//! 3. What the input's SASS view has after these records follows: the parameter bank (with its new section symbol) and the finalizer's
//!    marks.
//! 4. Marks that later releases add follow. In a final link, a kernel that reaches a function that starts dependent grids is marked as one
//!    that does so itself.

use crate::arrange::OutputPlan;
use crate::finalize::code::function::Function;
use crate::finalize::code::functions::Functions;
use crate::finalize::code::offsets::mercury_places;
use crate::finalize::code::sources::Source;
use crate::finalize::code::stubs::Stubs;
use crate::finalize::file::numbers::parameter_symbols;
use crate::finalize::linked::Linked;
use crate::finalize::sass::Sass;
use crate::ids::{FunctionId, SectionId, Table};
use crate::metadata::attributes::{Attribute, Payload, Subject, subject};
use crate::metadata::kernel::KernelAttributes;
use crate::names::SeededState;
use crate::options::Identity;
use crate::records::Class;
use cubin::nvinfo::attr::{FINALIZER_OPTIONS, FRAME_SIZE, MIN_STACK_SIZE};
use cubin::nvinfo::{CodePlaces, FORMAT_SIZED, Record, attribute_info, records};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;

/// The parameter bank: section symbol, offset, size.
const PARAMETER_BANK: u8 = 0x0a;
/// Offsets of `EXIT`s.
const EXITS: u8 = 0x1c;

/// EIATTR_NVSAL_SW_WAR of 1, which newer releases add where it is missing.
const SOFTWARE_WAIT: [u8; 4] = [3, 0x6b, 1, 0];
/// EIATTR_PREEXIT_USED of 0, which newer releases add where it is missing.
const NO_PREEXIT: [u8; 4] = [2, PREEXIT, 0, 0];
const PREEXIT: u8 = 0x6d;
/// EIATTR_BINDLESS_TEXTURE_BANK and EIATTR_BINDLESS_SURFACE_BANK of 0, which follow every kernel's own records if it has slots.
const SLOT_BANK: [u8; 4] = [2, 0x15, 0, 0];
const SURFACE_BANK: [u8; 4] = [2, 0x16, 0, 0];
/// Attribute 67 of 0, which every function of sm_107 has.
const SM_107_MARK: [u8; 4] = [2, 0x67, 0, 0];

/// Writes the attribute sections.
pub(crate) fn write<'d>(
    output: &OutputPlan<'_, 'd>,
    attributes: &KernelAttributes<'d>,
    linked: &Linked,
    code: &Functions<'_, 'd>,
    sass: &mut Sass,
) {
    let module = output.layout.records.standard.info;
    if let Some(bytes) = linked.sections[module]
        .bytes
        .as_ref()
        .and_then(|b| one_value_per_section(output, code, b))
    {
        sass.put(module, bytes);
    }
    let maker = SassAttributes {
        output,
        attributes,
        code,
        parameters: parameter_symbols(output, code),
        with_slots: output.layout.textures.kernels.iter().map(|k| k.0).collect(),
    };
    let made = output.link.threads.map(&output.arranged.sections, |&id| maker.of_section(id));
    let marks = !output.link.mode.relocatable && output.link.mode.rules.adds_preexit;
    let mut marked = Preexits::default();
    for (&id, made) in output.arranged.sections.iter().zip(made) {
        let Some((f, bytes)) = made else { continue };
        match marks && matches!(output.layout.records.sections[id].class, Class::FunctionInfo(_)) {
            true => marked.add(f, id, bytes),
            false => sass.put(id, bytes),
        }
    }
    marked.write(output, sass);
}

/// Makes the attribute sections of functions.
struct SassAttributes<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    attributes: &'a KernelAttributes<'d>,
    code: &'a Functions<'a, 'd>,
    /// Numbers of the section symbols of parameter banks, by code section.
    parameters: Table<SectionId, u32>,
    /// Kernels with slots of textures.
    with_slots: HashSet<FunctionId, SeededState>,
}

impl SassAttributes<'_, '_> {
    /// The contents of an attribute section, and the function that they are about.
    fn of_section(&self, id: SectionId) -> Option<(FunctionId, Vec<u8>)> {
        let SassAttributes { output, code, .. } = *self;
        let (f, list) = match output.layout.records.sections[id].class {
            Class::FunctionInfo(f) => (f, self.attributes.of(f).collect::<Vec<_>>()),
            Class::UftInfo => {
                let first = code.stubs.as_ref().and_then(Stubs::first)?;
                (first.function, self.attributes.stubs.iter().collect())
            }
            _ => return None,
        };
        let text = output.layout.records.functions[f].text?;
        let function = code.of(text)?;
        let mut bytes = Vec::new();
        let borrowed = code.sources.of(function.object).borrows_attributes(function.section);
        let object = output.link.inputs.objects.get(function.object).filter(|_| borrowed);
        let places = object.and_then(|o| mercury_places(o, function.section));
        for record in list {
            if record.code != FINALIZER_OPTIONS {
                output
                    .encoder()
                    .one(&sass_record(output, function, places.as_ref(), record), &mut bytes);
            }
        }
        let bank = self.parameters[text];
        let link = &output.link;
        // nvlink quirk: releases that do not know the waits drop them, and the mark.
        let drops = link.options.identity == Identity::Nvlink && !link.mode.rules.adds_software_wait;
        let stays = |r: &Record<'_>| !drops || r.attribute != SOFTWARE_WAIT[1] || r.half == 0;
        for record in tail(code.sources.of(function.object), function.section).filter(stays) {
            append(&record, bank, &mut bytes);
        }
        self.add_marks(f, &mut bytes);
        Some((f, bytes))
    }

    /// Marks that the release adds.
    fn add_marks(&self, f: FunctionId, bytes: &mut Vec<u8>) {
        let link = &self.output.link;
        let rules = &link.mode.rules;
        let is_107 = !link.mode.relocatable && link.options.target.number == 107;
        let mut present = records(bytes).flatten().map(|r| r.attribute).collect::<Vec<_>>();
        present.sort_unstable();
        // The slots that the compiler laid out (`-ewp`) may be those of a copy that lost.
        let has_bank = || self.output.layout.records.functions[f].parameters.is_some() && present.binary_search(&SLOT_BANK[1]).is_err();
        let has_slots = self.with_slots.contains(&f) || has_bank();
        let added = [
            (rules.adds_software_wait, SOFTWARE_WAIT),
            (rules.adds_preexit, NO_PREEXIT),
            (has_slots, SLOT_BANK),
            (has_slots, SURFACE_BANK),
            (rules.has_sm_107 && is_107, SM_107_MARK),
        ];
        for (wanted, record) in added {
            let is_slots = record == SLOT_BANK || record == SURFACE_BANK;
            if wanted && (is_slots || present.binary_search(&record[1]).is_err()) {
                bytes.extend_from_slice(&record);
            }
        }
    }
}

/// Attributes that wait until all functions with EIATTR_PREEXIT_USED are known.
#[derive(Default)]
struct Preexits {
    using: Vec<FunctionId>,
    sections: Vec<(FunctionId, SectionId, Vec<u8>)>,
}

impl Preexits {
    fn add(&mut self, f: FunctionId, id: SectionId, bytes: Vec<u8>) {
        if records(&bytes).flatten().any(|r| r.attribute == PREEXIT && r.half != 0) {
            self.using.push(f);
        }
        self.sections.push((f, id, bytes));
    }

    fn write(self, output: &OutputPlan<'_, '_>, sass: &mut Sass) {
        let kernels = &output.layout.kernels;
        let mut inherits = vec![false; kernels.len()];
        let link = &output.link;
        link.graph.reach(link.resolved, &self.using, kernels, |_, k| {
            if let Some(kernel) = inherits.get_mut(k) {
                *kernel = true;
            }
        });
        let kernels = kernels.iter().zip(inherits).filter(|(_, inherits)| *inherits);
        let kernels: HashSet<FunctionId, SeededState> = kernels.map(|(k, _)| *k).collect();
        for (f, id, mut bytes) in self.sections {
            if kernels.contains(&f)
                && let Some(value) = preexit_value(&mut bytes)
            {
                *value = 1;
            }
            sass.put(id, bytes);
        }
    }
}

/// The value of EIATTR_PREEXIT_USED.
fn preexit_value(bytes: &mut [u8]) -> Option<&mut u8> {
    let mut at = 0;
    for record in records(bytes).flatten() {
        if record.attribute == PREEXIT {
            return bytes.get_mut(at + 2);
        }
        at += match record.format {
            FORMAT_SIZED => 4 + record.payload.len(),
            _ => 4,
        };
    }
    None
}

/// The module's attributes in the SASS view, if they differ from those of the Mercury view.
///
/// nvlink quirk: stacks and frames of the functions in one section are those of the last one. That concerns stubs, and functions inside a kernel
/// (`-ewp`); as culd the latter keep their frames.
fn one_value_per_section(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>, mercury: &[u8]) -> Option<Vec<u8>> {
    let groups = shared_sections(output, code);
    if groups.is_empty() {
        return None;
    }
    let mut fields = Vec::new();
    let mut last = BTreeMap::new();
    let mut at = 0;
    for record in records(mercury).flatten() {
        let size = if record.format == FORMAT_SIZED {
            4 + record.payload.len()
        } else {
            4
        };
        let symbol = record.payload.first_chunk().map(|b| u32::from_le_bytes(*b));
        if matches!(record.attribute, MIN_STACK_SIZE | FRAME_SIZE)
            && let Some(group) = symbol.and_then(|symbol| groups.get(&symbol))
            && let Some(value) = record.payload.get(4..)
        {
            fields.push((at + 8..at + size, (record.attribute, *group)));
            last.insert((record.attribute, *group), value);
        }
        at += size;
    }
    let mut bytes = mercury.to_vec();
    for (field, group) in fields {
        if let Some(value) = last.get(&group)
            && let Some(field) = bytes.get_mut(field).filter(|f| f.len() == value.len())
        {
            field.copy_from_slice(value);
        }
    }
    Some(bytes)
}

/// Numbers of the symbols of functions that have one section in common, with the section; stubs have none.
fn shared_sections(output: &OutputPlan<'_, '_>, code: &Functions<'_, '_>) -> HashMap<u32, Option<SectionId>, SeededState> {
    let merged = &output.layout.records;
    let stubs = merged.unified.stubs.iter().filter(|_| code.stubs.is_some());
    let stubs = stubs.filter_map(|s| Some((merged.symbol_of[s.function]?, None)));
    let link = &output.link;
    let is_inner = link.options.identity == Identity::Nvlink && link.inputs.objects.iter().any(|o| o.has_inner_functions);
    let functions = link.resolved.functions.ids().filter(|_| is_inner);
    let inner = functions.filter_map(|f| {
        let symbol = merged.symbol_of[f]?;
        Some((symbol, Some(merged.symbols[symbol].section?)))
    });
    let numbered = stubs
        .chain(inner)
        .map(|(symbol, group)| (output.arranged.symbol_index(symbol), group));
    numbered.collect()
}

/// A record as the SASS view has it. Those of another function of this name have Mercury offsets: `places` are the function's own;
/// where none of its instructions starts, the offset is 0.
fn sass_record<'d>(
    output: &OutputPlan<'_, 'd>,
    function: &Function,
    places: Option<&BTreeMap<u64, u64>>,
    record: &Attribute<'d>,
) -> Attribute<'d> {
    let offsets = attribute_info(record.code).map_or(CodePlaces::No, |i| i.places);
    if let (Payload::Views(views), true) = (&record.payload, offsets != CodePlaces::No && in_words(record)) {
        let mut sass = Vec::new();
        offsets.for_each(&mut words(views.sass), |offset| sass.push(*offset));
        let mut sass = sass.into_iter();
        let mut words = words(views.mercury);
        offsets.for_each(&mut words, |offset| {
            let own = match (places, sass.next()) {
                (Some(places), _) => places.get(&(*offset).into()).copied(),
                (None, own) => own.map(u64::from),
            };
            *offset = own.map_or(0, |own| placed(function, record.code, own)) as u32;
        });
        return Attribute {
            format: record.format,
            code: record.code,
            payload: Payload::Words(words.into()),
        };
    }
    let has_no_symbol = |symbol| subject(output.link, output.layout, symbol) == Subject::NoSymbol;
    let bytes = match &record.payload {
        Payload::Views(views) => views.mercury,
        Payload::Bytes(bytes) => bytes,
        Payload::AboutViews(symbol, views) if has_no_symbol(*symbol) => views.sass,
        Payload::About(symbol, bytes) if has_no_symbol(*symbol) => bytes,
        _ => return record.clone(),
    };
    let payload = match moved(function, record.code, offsets, bytes) {
        Some(words) => Payload::Words(words.into()),
        None => Payload::Bytes(bytes),
    };
    Attribute {
        format: record.format,
        code: record.code,
        payload,
    }
}

/// True if the payload is a list of words.
fn in_words(record: &Attribute<'_>) -> bool {
    matches!(&record.payload, Payload::Views(views) if views.mercury.len().is_multiple_of(4))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.as_chunks::<4>().0.iter();
    words.map(|b| u32::from_le_bytes(*b)).collect()
}

/// Offsets after the deletion of instructions; `None` if the record has none.
fn moved(function: &Function, code: u8, offsets: CodePlaces, bytes: &[u8]) -> Option<Vec<u32>> {
    if offsets == CodePlaces::No || !function.moved() || !bytes.len().is_multiple_of(4) {
        return None;
    }
    let mut words = words(bytes);
    offsets.for_each(&mut words, |offset| *offset = placed(function, code, (*offset).into()) as u32);
    Some(words)
}

/// New offset of an offset that an attribute names.
fn placed(function: &Function, code: u8, offset: u64) -> u64 {
    if code == EXITS {
        function.place_instruction(offset)
    } else if let Some(before) = function.before_pause(offset) {
        before
    } else {
        function.place(offset)
    }
}

/// Records that only the SASS view has: those after the parallel ones.
fn tail<'d>(source: &Source<'_, 'd>, text: u32) -> impl Iterator<Item = Record<'d>> {
    let mercury = records(source.mercury_attributes(text)).flatten();
    let parallel = mercury.filter(|r| r.attribute != FINALIZER_OPTIONS).count();
    records(source.sass_attributes(text)).flatten().skip(parallel)
}

fn append(record: &Record<'_>, bank: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[record.format, record.attribute]);
    if record.format != FORMAT_SIZED {
        out.extend_from_slice(&record.half.to_le_bytes());
        return;
    }
    out.extend_from_slice(&(record.payload.len() as u16).to_le_bytes());
    match record.payload.get(4..) {
        Some(rest) if record.attribute == PARAMETER_BANK => {
            out.extend_from_slice(&bank.to_le_bytes());
            out.extend_from_slice(rest);
        }
        _ => out.extend_from_slice(record.payload),
    }
}
