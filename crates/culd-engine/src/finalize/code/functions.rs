//! SASS and capsule of every function.
//!
//! 1. The prevailing code, rewritten where a final link does so and the model is sure ([`culd_sass`]); else the compiler's.
//! 2. Resolved values go into the instruction of the parallel SASS relocation, and into the last word of the full Mercury instruction
//!    that represents it.
//! 3. Reserved shared memory stays a relocation in the Mercury view; SASS gets its address.
//! 4. The capsule's first word is the number of the code section. Deleted instructions are taken off the counts of their records.

use crate::arrange::OutputPlan;
use crate::diagnostics::{Code, Collector, Stop};
use crate::finalize::code::copies::Copies;
use crate::finalize::code::debug_code::{is_scheduled, unscheduled};
use crate::finalize::code::exits;
use crate::finalize::code::function::{Changes, Function, opcode_at};
use crate::finalize::code::inner;
use crate::finalize::code::offsets::INSTRUCTION;
use crate::finalize::code::sources::{DEBUG_CODE, Sources, function_name};
use crate::finalize::code::stubs::{self, Stubs};
use crate::finalize::code::{capsules, first_form, older, waits};
use crate::finalize::linked::{Linked, is_reserved};
use crate::ids::{FunctionId, ObjectId, SectionId, Table};
use crate::object::{ObjSection, Object, text};
use crate::options::Identity;
use crate::records::Class;
use crate::records::SymbolTableEntry;
use cubin::capmerc::{Capsule, Instruction};
use cubin::consts::{STT_CUDA_SURFACE, STT_CUDA_TEXTURE};
use cubin::raw::Rela;
use cubin::reloc::{FieldSource, reloc_info};
use culd_sass::decode::opcode;
use culd_sass::latency::same_timing;
use culd_sass::{KernelContext, Rewrite};

/// Shared memory of the system before the first reserved variable.
pub(crate) const RESERVED_BASE: u64 = 0x40;
/// Mercury's load from a constant bank: opcode, place of the bank, and the bank of texture slots.
const LOAD_CONSTANT: u8 = 0x22;
const LOAD_BANK: usize = 12;
const SLOTS: u8 = 0x49;
/// `LDC` and `LDCU`, with the relocation types of their offsets.
const LOADS: [(u16, u32); 2] = [(0xb82, 0x42), (0x7ac, 0x73)];
/// Relocation type of the last 32 bits of operands.
const R_CUDA_ABS32_32: u32 = 0x37;
/// Relocation type of a move whose result indexes the slots of textures.
const R_CUDA_ABS16_32: u32 = 0x3b;
/// Code of the first architecture with instructions that take another time on the second is scheduled anew in links for that: not modelled.
const FINALIZED_AGAIN: (u32, u32) = (100, 103);

/// A function, and why its SASS is the compiler's if it is.
type Made = Result<(Function, Option<String>), UnknownRecord>;

/// All functions by code section.
pub(crate) struct Functions<'a, 'd> {
    /// What was made of each emitted section, in their order. There are many functions, so that they stay where they were made.
    made: Vec<Option<Made>>,
    /// Which of these belongs to a section, if any does.
    by_section: Table<SectionId, u32>,
    /// Code sections in order.
    pub(crate) order: Vec<SectionId>,
    /// What belongs to code in the inputs.
    pub(crate) sources: Sources<'a, 'd>,
    /// Functions inside of copies that lost.
    pub(crate) copies: Copies,
    /// The code of `.nv.uft`.
    pub(crate) stubs: Option<Stubs>,
}

impl Functions<'_, '_> {
    /// The function in a code section.
    pub(crate) fn of(&self, text: SectionId) -> Option<&Function> {
        match self.made.get(*self.by_section.get(text)? as usize)? {
            Some(Ok((function, _))) => Some(function),
            _ => None,
        }
    }
    /// The stubs of unified functions, if this is the section with their table.
    pub(crate) fn stubs_in(&self, output: &OutputPlan<'_, '_>, id: SectionId) -> Option<&Stubs> {
        self.stubs
            .as_ref()
            .filter(|_| output.layout.records.sections[id].class == Class::Uft)
    }
    /// The function that is taken from this section of an object.
    pub(crate) fn taken<'a>(&'a self, output: &OutputPlan<'_, '_>, object: &Object<'_>, section: u32) -> Option<(SectionId, &'a Function)> {
        object.section(section)?;
        let (id, _) = output.layout.records.placement.sections[object.section_ref(section)]?;
        let function = self.of(id)?;
        (function.object == object.id && function.section == section).then_some((id, function))
    }
}

/// Makes all functions.
pub(crate) fn functions<'a, 'd>(output: &OutputPlan<'a, 'd>, linked: &Linked, out: &mut Collector<'_>) -> Result<Functions<'a, 'd>, Stop> {
    let stubs = stubs::table(output).map_err(|file| {
        out.fatal(Code::Unsupported {
            file: file.into(),
            reason: "the stub of a unified function is not a jump followed by NOPs, as CUDA 13.0 writes it, or a jump alone, as later releases do".into(),
        })
    })?;
    let sources = Sources::new(output);
    let copies = Copies::new(output, &sources);
    let maker = Maker {
        output,
        linked,
        sources: &sources,
        stubs: stubs.as_ref(),
        fences: output.link.mode.debug_symbols || sources.errors_at_exit() || has_debug_code(output),
    };
    let made = output.link.threads.map(&output.arranged.sections, |&id| maker.make(id));
    let mut functions = Functions {
        made,
        by_section: output.link.threads.filled(output.layout.records.sections.len(), u32::MAX),
        order: Vec::new(),
        sources,
        copies,
        stubs,
    };
    for (number, (&id, made)) in (0..).zip(output.arranged.sections.iter().zip(&functions.made)) {
        let Some(made) = made else { continue };
        let (function, kept) = made.as_ref().map_err(|unknown| {
            out.fatal(Code::Unsupported {
                file: output.link.inputs.objects[unknown.object].name.into(),
                reason: format!(
                    "function {} has Mercury code in the form of CUDA 12.8 with an instruction (opcode {:#x}) that is not known; compile it with CUDA 12.9 or later",
                    text(function_name(output, unknown.function)),
                    unknown.opcode
                ),
            })
        })?;
        // Under the name nvlink only a report has it.
        let is_told = output.link.options.identity == Identity::Culd || output.link.options.map;
        if let Some(reason) = kept.clone().filter(|_| is_told) {
            out.info(Code::SassKept {
                function: text(function_name(output, function.function)),
                reason,
            });
        }
        let object = &output.link.inputs.objects[function.object];
        if object.driver_callers.contains(&function.section) {
            return Err(out.fatal(Code::Unsupported {
                file: object.name.into(),
                reason: format!(
                    "function {} calls the driver, which its Mercury code does not (textures or surfaces on sm_107)",
                    text(function_name(output, function.function))
                ),
            }));
        }
        functions.by_section[id] = number;
        functions.order.push(id);
    }
    Ok(functions)
}

/// A function whose capsule cannot be converted.
struct UnknownRecord {
    object: ObjectId,
    function: FunctionId,
    /// Of the instruction whose record is not known.
    opcode: u16,
}

/// Makes functions.
struct Maker<'a, 'd> {
    output: &'a OutputPlan<'a, 'd>,
    linked: &'a Linked,
    sources: &'a Sources<'a, 'd>,
    stubs: Option<&'a Stubs>,
    /// `EXIT`s have fences.
    fences: bool,
}

/// True if some input has code with full debug information, dead or not.
fn has_debug_code(output: &OutputPlan<'_, '_>) -> bool {
    let filled = |name: &&[u8]| crate::finalize::sass::find(output, name).is_some_and(|id| output.layout.records.sections[id].size > 0);
    DEBUG_CODE.iter().any(filled)
}

impl Maker<'_, '_> {
    /// The function in a code section of the output, and why its code is the compiler's if it should be other.
    fn make(&self, id: SectionId) -> Option<Made> {
        let OutputPlan { link, layout, .. } = self.output;
        let section = &layout.records.sections[id];
        if section.class == Class::Uft {
            return Some(Ok((self.stub_table(id)?, None)));
        }
        let (Class::Text(f) | Class::Stub(f), Some(piece)) = (section.class, section.pieces.as_slice().first()) else {
            return None;
        };
        let object = &link.inputs.objects[piece.object];
        let compiled = object.sass.get(piece.section as usize)?.data;
        let capsule = object.section(piece.section).map_or(&[][..], |s| s.data);
        let compiled = older::ordered(object, &link.mode.rules, compiled, capsule);
        let (rewritten, kept) = match object.section(piece.section).filter(|_| !link.options.keep_sass) {
            None => (None, None),
            Some(input) => match self.rewrite(object, input, piece.section, &compiled, f) {
                // Observed: nvlink schedules some of them again by the attributes of another one.
                Ok(rewritten) if self.sources.of(object.id).is_repeated(input.name) => (
                    Some(rewritten),
                    Some("one of several static functions of one name in an output of -r".into()),
                ),
                Ok((code, mut changes)) => {
                    let doubt = changes.doubt.take();
                    (Some((code, changes)), doubt)
                }
                Err(reason) => (None, Some(reason)),
            },
        };
        let (mut code, changes) = rewritten.unwrap_or_else(|| (compiled.into_owned(), Changes::default()));
        let converted = match link.mode.rules.first_capsules {
            true => Ok(None),
            false => first_form::converted(capsule, object.sass.get(piece.section as usize)?.data),
        };
        let mut capsule = match converted {
            Ok(converted) => converted.unwrap_or_else(|| capsule.to_vec()),
            Err(opcode) => {
                return Some(Err(UnknownRecord {
                    object: object.id,
                    function: f,
                    opcode,
                }));
            }
        };
        let mut kept = kept;
        if matches!(section.class, Class::Stub(_)) && link.mode.rules.fills_stubs {
            match stubs::filled(*link, object.id, piece.section) {
                Some(stub) => (code, capsule) = stub,
                None => kept = Some("the stub of a unified function is not a jump and a branch, as compilers write it".into()),
            }
        }
        let mut function = Function {
            function: f,
            object: object.id,
            section: piece.section,
            code: Vec::new(),
            capsule,
            changes,
        };
        patch_code(self.output, self.linked, self.sources.slot_base, id, &function, &mut code);
        function.code = code;
        if matches!(section.class, Class::Stub(_)) {
            self.unschedule(&mut function);
        }
        capsules::patch(self.output, self.linked, id, &mut function);
        Some(Ok((function, kept)))
    }

    /// The table of unified functions, under the name of the stub in its first slot.
    fn stub_table(&self, id: SectionId) -> Option<Function> {
        let stubs = self.stubs?;
        let first = stubs.first()?;
        let mut function = Function {
            function: first.function,
            object: first.object,
            section: first.section,
            code: stubs.code.clone(),
            capsule: stubs.capsule.clone(),
            changes: Changes::default(),
        };
        self.unschedule(&mut function);
        capsules::patch(self.output, self.linked, id, &mut function);
        Some(function)
    }

    fn unschedule(&self, stub: &mut Function) {
        if self.output.link.mode.debug_symbols {
            let waits = self.output.link.mode.rules.debug_code_waits;
            stubs::unschedule(&mut stub.code, stubs::instructions(&stub.capsule), waits);
        }
    }

    /// The code as a final link leaves it, or why that is not known.
    fn rewrite(
        &self,
        object: &Object<'_>,
        input: &ObjSection<'_>,
        section: u32,
        code: &[u8],
        f: FunctionId,
    ) -> Result<(Vec<u8>, Changes), String> {
        let output = self.output;
        let (options, source) = (output.link.options, self.sources.of(object.id));
        let debug_symbols = output.link.mode.debug_symbols;
        let mut context = KernelContext {
            arch: options.target.number,
            entry: output.link.resolved.functions[f].entry,
            calls: has_calls(code) && source.calls(input.owner),
            debug: debug_symbols,
            debug_code: source.is_debug_code(function_name(output, f)),
            relocatable: options.relocatable,
            looks_ahead: output.link.mode.rules.schedule_looks_ahead,
            older: false,
            indirect: source.branch_targets(section),
        };
        if (object.sm, options.target.number) == FINALIZED_AGAIN && !same_timing(code, object.sm, options.target.number) {
            return Err("compiled for sm_100, where its instructions take another time".into());
        }
        if object.toolkit < output.link.mode.rules.finalizer && output.link.mode.rules.schedules_older_again {
            return Err(older::SCHEDULED_AGAIN.into());
        }
        let drops_waits = !output.link.mode.rules.adds_software_wait && source.has_software_waits(section);
        let is_older = older::is_older(object, &output.link.mode.rules);
        let compiler = match (is_older, drops_waits) {
            (true, _) => Some(waits::Compiler::Older),
            (false, true) => Some(waits::Compiler::Later),
            (false, false) => None,
        };
        let shorter = match compiler {
            Some(compiler) => waits::dropped(input.data, code, compiler, options.identity)?,
            None => None,
        };
        let mut doubt = shorter.as_ref().and_then(|shorter| shorter.doubt.clone());
        let (code, dropped) = shorter.as_ref().map_or((code, None), |s| (s.code.as_slice(), Some(&s.map)));
        let indirect = std::mem::take(&mut context.indirect);
        context.indirect = dropped.map_or_else(|| indirect.clone(), |map| waits::moved(&indirect, map));
        // nvlink quirk: the first function of a name decides whether the others have a schedule.
        if options.identity == Identity::Nvlink
            && source.namesake(section).is_some_and(|first| !is_scheduled(first.data))
            && is_scheduled(code)
        {
            let code = unscheduled(code, output.link.mode.rules.debug_code_waits);
            let map = dropped.cloned();
            return Ok((code, Changes { map, doubt, moves: None }));
        }
        // Observed: nvlink gives the load of the stack pointer, which the compiler found to be dead, a scoreboard again.
        if object.is_ewp && (options.relocatable || debug_symbols) && (has_calls(code) || has_branches(code)) {
            return Err("belongs to a whole program (-ewp), which nvlink schedules again with -r or -g".into());
        }
        let rewritten = match output.link.mode.rules.frees_stack_pointer {
            true if is_older => older::rewritten(code, input.data, &mut context, &mut doubt),
            true => culd_sass::rewrite(code, &context),
            false => Rewrite::Unchanged,
        };
        // Observed: nvlink frees the stack pointer that -r gave a scoreboard; the model does not see through calls of functions inside of the kernel.
        let inner_calls = object.has_inner_functions && context.entry && !options.relocatable && has_calls(code) && !context.calls;
        if inner_calls && matches!(rewritten, Rewrite::Unchanged) && culd_sass::loads_dead_stack_pointer(code) {
            return Err("has functions inside of a kernel (-ewp) and was linked with -r".into());
        }
        let (code, map) = match rewritten {
            Rewrite::Unchanged => (code.to_vec(), dropped.cloned()),
            Rewrite::Rewritten { code, map } => (code, Some(dropped.map_or_else(|| map.clone(), |first| first.then(&map)))),
            Rewrite::Unsure(reason) => return Err(reason.to_string()),
        };
        let membar = self
            .fences
            .then(|| debug_symbols || options.relocatable || context.calls || !context.entry || writes_surfaces(&code));
        let place = |offset: u32| map.as_ref().map_or(offset, |m| m.new_offset(offset));
        let take_time = output.link.mode.rules.fences_take_time;
        match exits::fence(&code, input.data, (membar, take_time), &indirect, &place) {
            Ok(None) => Ok((code, Changes { map, doubt, moves: None })),
            Ok(Some(mut fenced)) => {
                if object.has_inner_functions {
                    inner::retarget(&mut fenced, &code, &inner::labels(object, section, input)?);
                }
                let changes = Changes {
                    map,
                    moves: Some(fenced.moves),
                    doubt: fenced.doubt.map(|unsure| unsure.to_string()).or(doubt),
                };
                Ok((fenced.code, changes))
            }
            Err(unsure) => Err(unsure.to_string()),
        }
    }
}

/// Does code call? The call graph also has edges to traps that the compiler found to be unreachable.
fn has_calls(code: &[u8]) -> bool {
    let words = code.as_chunks::<16>().0.iter();
    words
        .map(|w| u128::from_le_bytes(*w))
        .any(|w| opcode::CALLS.contains(&((w & 0xfff) as u16)))
}

/// Does code write to surfaces? Observed: such a kernel has the `MEMBAR` before its `EXIT` in every link.
fn writes_surfaces(code: &[u8]) -> bool {
    let words = code.as_chunks::<16>().0.iter();
    words
        .map(|w| u128::from_le_bytes(*w))
        .any(|w| opcode::SURFACE_WRITES.contains(&((w & 0xfff) as u16)))
}

/// Does code branch, apart from the loop to itself after its end?
fn has_branches(code: &[u8]) -> bool {
    let words = code.as_chunks::<16>().0.iter();
    let branches = words.map(|w| u128::from_le_bytes(*w)).filter(|w| (w & 0xfff) as u16 == opcode::BRA);
    branches.count() > 1
}

/// Writes the value fields of a SASS type; the bank is in the instruction already.
fn put(code: &mut [u8], offset: u64, kind: u32, value: u64) {
    let Some(word) = code.get_mut(offset as usize..).and_then(|c| c.first_chunk_mut::<16>()) else {
        return;
    };
    let Some(info) = reloc_info(kind) else { return };
    let mut bits = u128::from_le_bytes(*word);
    for field in info.fields.iter().filter(|f| f.source == FieldSource::Value) {
        let mask = (u128::MAX >> (128 - u32::from(field.width.clamp(1, 64)))) << field.start;
        bits = bits & !mask | (u128::from(value >> field.shift) << field.start) & mask;
    }
    *word = bits.to_le_bytes();
}

fn patch_code(output: &OutputPlan<'_, '_>, linked: &Linked, slot_base: u64, id: SectionId, function: &Function, code: &mut [u8]) {
    move_slot_loads(slot_base, function, code);
    for r in &linked.sections[id].resolved {
        let value = if r.slot { slot(slot_base, &r.twin, r.value) } else { r.value };
        put(code, function.place(r.twin.r_offset.get()), r.twin.r_type.get(), value);
    }
    if output.link.mode.relocatable {
        // A relocatable link leaves texture slots to the next one, but moves them after the longest parameter bank.
        for kept in linked.sections[id].kept.iter().filter(|k| is_texture(output, k.named)) {
            if let Some(twin) = kept.twin {
                let value = slot(slot_base, &twin, twin.r_addend.get() as u64);
                put(code, function.place(twin.r_offset.get()), twin.r_type.get(), value);
            }
        }
    }
    for &(place, value) in &linked.sections[id].misplaced {
        put(code, function.place(place), R_CUDA_ABS32_32, value.into());
    }
    for kept in linked.sections[id].kept.iter().filter(|k| is_reserved(output, k.named)) {
        let (Some(twin), SymbolTableEntry::Symbol(sym)) = (kept.twin, kept.named) else {
            continue;
        };
        let value = output.layout.records.symbols[sym].value.wrapping_add(RESERVED_BASE);
        let value = value.wrapping_add(twin.r_addend.get() as u64);
        if !output.link.mode.relocatable {
            put(code, function.place(twin.r_offset.get()), twin.r_type.get(), value);
        }
    }
}

/// What an instruction has of a texture slot: its place in the parameter bank, or its number of bytes after the first slot if it is added to
/// the index register of a load.
fn slot(slot_base: u64, twin: &Rela, value: u64) -> u64 {
    if twin.r_type.get() == R_CUDA_ABS16_32 {
        value
    } else {
        slot_base.wrapping_add(value)
    }
}

/// Loads from the slots of textures go to where the slots are in this link.
fn move_slot_loads(slot_base: u64, function: &Function, code: &mut [u8]) {
    let Ok(capsule) = Capsule::read(&function.capsule) else { return };
    let mut first = 0;
    for (_, instruction) in capsule.instructions().flatten() {
        if let Instruction::Full(body @ [_, LOAD_CONSTANT, ..]) = instruction
            && body.get(LOAD_BANK) == Some(&SLOTS)
            && let Some(offset) = body.last_chunk::<4>()
        {
            let place = function.place(first * INSTRUCTION);
            let opcode = opcode_at(code, place);
            if let Some(&(_, kind)) = LOADS.iter().find(|l| Some(l.0) == opcode) {
                put(code, place, kind, slot_base.wrapping_add(u32::from_le_bytes(*offset).into()));
            }
        }
        first += u64::from(instruction.sass_count());
    }
}

fn is_texture(output: &OutputPlan<'_, '_>, named: SymbolTableEntry) -> bool {
    matches!(named, SymbolTableEntry::Symbol(sym) if output.layout.records.symbols.get(sym).is_some_and(|sym| matches!(sym.kind, STT_CUDA_TEXTURE..=STT_CUDA_SURFACE)))
}
