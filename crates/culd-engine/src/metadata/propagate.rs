//! What kernels inherit from the functions they reach.
//!
//! 1. Registers: the maximum. Stack and call-return stack: the deepest call path, unknown where a cycle is reachable.
//! 2. Several kernels: records of non-kernel functions act on every kernel that reaches them, in merge order. Flags are added once;
//!    barrier counts take the maximum, mbarriers the sum; EXTERNS and fragments the union. What is added comes in order of its first cause.
//! 3. One kernel: every other live function contributes, reachable or not, and what is added comes in a fixed order.
//! 4. Objects of CUDA 12 have rules of their own ([`cuda12`]).
//!
//! Everything but unions and sums is a fold over the condensed call graph, so cost is linear in its edges.

use super::acting::{Acting, CODES, slot_of};
use super::attr;
use super::attributes::{Attribute, Attributes, Facts, Owner, Payload, Reserved};
use super::folds::Folds;
use super::lists::List;
use super::{cuda12, stubs};
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, Table};
use crate::layout::Context;
use crate::names::State;
use crate::options::Identity;
use cubin::nvinfo::{FORMAT_BYTE, FORMAT_HALF, FORMAT_NONE, FORMAT_SIZED};
use cubin::release::Rules;
use hashbrown::HashMap;

/// Attributes of the output.
#[derive(Debug)]
pub struct Final<'d> {
    /// Records of the module.
    pub module: Vec<Attribute<'d>>,
    /// Records of the stub table.
    pub stubs: Vec<Attribute<'d>>,
    records: Vec<Attribute<'d>>,
    pub(super) functions: Table<FunctionId, List<'d>>,
    /// What the inputs say about functions.
    pub facts: Table<FunctionId, Facts>,
    /// Registers of each kernel with everything it calls.
    pub registers: Table<FunctionId, u32>,
    /// Stack of each kernel; `None` if unknown.
    pub stack: Table<FunctionId, Option<i64>>,
    /// Functions whose text section has barrier flags, and the number of barriers.
    pub flagged: Vec<(FunctionId, u32)>,
    /// Functions that use reserved shared memory.
    pub reserved: Vec<Reserved>,
    /// Groups of tensor core instructions in the code of the only kernel itself.
    only_groups: [bool; 2],
}

impl<'d> Final<'d> {
    /// Records of a function.
    pub fn of(&self, f: FunctionId) -> impl Iterator<Item = &Attribute<'d>> {
        self.functions[f].iter(&self.records)
    }

    /// Records of a function, to change; `records` are all records while they are not here yet.
    pub(super) fn list(&mut self, records: &[Attribute<'d>], f: FunctionId) -> &mut Vec<Attribute<'d>> {
        self.functions[f].to_mut(records)
    }
}

/// Computes all attributes of the output; `folds` is nothing for a relocatable one.
pub fn propagate<'d>(context: Context<'_, 'd>, mut attributes: Attributes<'d>, folds: Option<&Folds>) -> Final<'d> {
    let count = context.resolved.functions.len();
    let mut module = std::mem::take(&mut attributes.module);
    module.reverse();
    let mut last = Final {
        module,
        stubs: Vec::new(),
        records: Vec::new(),
        functions: Table::filled(count, List::default()),
        facts: std::mem::take(&mut attributes.facts),
        registers: Table::filled(count, 0),
        stack: Table::filled(count, None),
        flagged: Vec::new(),
        reserved: std::mem::take(&mut attributes.reserved),
        only_groups: [false; 2],
    };
    share(&attributes, &mut last);
    cuda12::mercury_versions(context, &attributes, &mut last);
    if let Some(folds) = folds {
        inherit(context, &attributes, folds, &mut last);
    }
    last.records = attributes.records;
    last
}

/// Hands every function its own records.
fn share<'d>(attributes: &Attributes<'d>, last: &mut Final<'d>) {
    for (owner, range) in attributes.sections() {
        match owner {
            Owner::Module => {}
            Owner::Stubs => last.stubs.extend_from_slice(attributes.records.get(range).unwrap_or_default()),
            Owner::Function(f) => last.functions[f].add(&attributes.records, range),
        }
    }
    last.stubs.reverse();
    last.functions.iter_mut().for_each(List::finish);
}

fn inherit<'d>(context: Context<'_, 'd>, attributes: &Attributes<'d>, folds: &Folds, last: &mut Final<'d>) {
    registers(context, folds, last);
    stacks(context, attributes, folds, last);
    let acting = Acting::new(attributes, context.resolved.functions.len());
    if context.live.only.is_none() {
        stubs::inherit(context, attributes, &acting, last);
    }
    cuda12::sparse_masks(context, attributes, &acting.masked, last);
    match context.live.only {
        Some(kernel) => one_kernel(&context.mode.rules, attributes, &acting, kernel, last),
        None if context.live.kernels.is_empty() => {}
        None => many_kernels(context, attributes, &acting, last),
    }
    if !context.live.kernels.is_empty() {
        drop_fragments(context, attributes, &acting, last);
    }
    cuda12::barriers(context, attributes, last);
}

fn registers(context: Context<'_, '_>, folds: &Folds, last: &mut Final<'_>) {
    for &k in &context.live.kernels {
        last.registers[k] = folds.registers[context.graph.component(k)];
    }
    for record in last.module.iter_mut().filter(|r| r.code == attr::REGCOUNT) {
        if let Some((symbol, _)) = record.payload.about()
            && let Some(f) = context.resolved.function(symbol).filter(|&f| context.live.is_kernel[f])
        {
            record.payload = Payload::FunctionWord(f, last.registers[f]);
        }
    }
}

/// MIN_STACK_SIZE per kernel is added when symbols have their numbers; the call-return stack here.
fn stacks<'d>(context: Context<'_, 'd>, attributes: &Attributes<'d>, folds: &Folds, last: &mut Final<'d>) {
    for f in context
        .resolved
        .functions
        .ids()
        .filter(|&f| context.live.is_kernel[f] || context.resolved.functions[f].stub)
    {
        last.stack[f] = folds.stack[context.graph.component(f)];
    }
    for &k in &context.live.kernels {
        let value = folds.crs[context.graph.component(k)].unwrap_or(-1) as u32;
        let is_it = |r: &&Attribute<'d>| matches!(r.code, attr::CRS_STACK_SIZE | attr::SYNC_STACK);
        let stays = match last.functions[k].iter(&attributes.records).find(is_it) {
            None => value == 0,
            Some(record) => matches!(record.payload, Payload::Bytes(bytes) if bytes == value.to_le_bytes()),
        };
        if stays {
            continue;
        }
        let list = last.list(&attributes.records, k);
        match list.iter_mut().find(|r| matches!(r.code, attr::CRS_STACK_SIZE | attr::SYNC_STACK)) {
            Some(record) => record.payload = Payload::Word(value),
            None => list.push(Attribute {
                format: FORMAT_SIZED,
                code: attr::CRS_STACK_SIZE,
                payload: Payload::Word(value),
            }),
        }
    }
}

pub(super) fn half(code: u8, value: u16) -> Attribute<'static> {
    Attribute {
        format: FORMAT_HALF,
        code,
        payload: Payload::Half(value),
    }
}
pub(super) fn byte(code: u8, value: u16) -> Attribute<'static> {
    Attribute {
        format: FORMAT_BYTE,
        code,
        payload: Payload::Half(value),
    }
}
pub(super) fn flag(code: u8, value: u16) -> Attribute<'static> {
    Attribute {
        format: FORMAT_NONE,
        code,
        payload: Payload::Half(value),
    }
}

pub(super) fn first_of<'l, 'd>(list: &'l mut [Attribute<'d>], code: u8) -> Option<&'l mut Attribute<'d>> {
    list.iter_mut().find(|r| r.code == code)
}

const NEVER: u32 = u32::MAX;

/// What a component of the call graph hands to the kernels above it.
#[derive(Clone)]
struct Heritage {
    /// Number of the first record of each acting code.
    first: [u32; CODES.len()],
    barriers: u16,
    init_count: u16,
    mask: u16,
    /// Number and value of the last REG_RECONFIG.
    reconfig: (u32, u16),
}

impl Default for Heritage {
    fn default() -> Self {
        Heritage {
            first: [NEVER; CODES.len()],
            barriers: 0,
            init_count: 0,
            mask: 0,
            reconfig: (0, 0),
        }
    }
}

impl Heritage {
    fn add(&mut self, number: u32, record: &Attribute<'_>) {
        let Some(slot) = slot_of(record.code) else { return };
        self.first[slot] = self.first[slot].min(number);
        let value = record.half();
        match record.code {
            attr::NUM_BARRIERS => self.barriers = self.barriers.max(value),
            attr::VRC_CTA_INIT_COUNT => self.init_count = self.init_count.max(value),
            attr::SPARSE_MMA_MASK => self.mask |= value,
            attr::REG_RECONFIG if number + 1 > self.reconfig.0 => self.reconfig = (number + 1, value),
            _ => {}
        }
    }
    fn join(&mut self, other: &Heritage) {
        for (a, b) in self.first.iter_mut().zip(other.first) {
            *a = (*a).min(b);
        }
        self.barriers = self.barriers.max(other.barriers);
        self.init_count = self.init_count.max(other.init_count);
        self.mask |= other.mask;
        self.reconfig = self.reconfig.max(other.reconfig);
    }
}

/// Lists that several records add to: distinct contents in order of first appearance.
struct Unions<'r, 'd> {
    contents: Vec<&'r Payload<'d>>,
    /// Functions with such records, and their contents with the records' numbers.
    functions: Vec<FunctionId>,
    numbers: Vec<Vec<(u32, u32)>>,
}

fn unions<'r, 'd>(context: Context<'_, '_>, attributes: &'r Attributes<'d>, acting: &Acting, code: u8) -> Unions<'r, 'd> {
    let mut known: HashMap<Vec<u32>, u32, State> = HashMap::default();
    let mut place: HashMap<FunctionId, usize, State> = HashMap::default();
    let mut out = Unions {
        contents: Vec::new(),
        functions: Vec::new(),
        numbers: Vec::new(),
    };
    for &(owner, sequence) in &acting.list {
        let Some(record) = attributes.records.get(sequence as usize).filter(|r| r.code == code) else {
            continue;
        };
        let Some(f) = owner.function().filter(|&f| !context.resolved.functions[f].entry) else {
            continue;
        };
        let key: Vec<u32> = match &record.payload {
            Payload::Functions(list) => list.iter().map(|f| f.number()).collect(),
            Payload::Words(list) => list.to_vec(),
            _ => continue,
        };
        // Most lists lose all their functions: they add nothing to any kernel.
        if key.is_empty() {
            continue;
        }
        let number = *known.entry(key).or_insert_with(|| {
            out.contents.push(&record.payload);
            out.contents.len() as u32 - 1
        });
        let at = *place.entry(f).or_insert_with(|| {
            out.functions.push(f);
            out.numbers.push(Vec::new());
            out.functions.len() - 1
        });
        if let Some(list) = out.numbers.get_mut(at) {
            list.push((number, sequence));
        }
    }
    out
}

/// Per kernel the contents that reach it, in merge order of the records that bring them.
fn reaching_contents(context: Context<'_, '_>, unions: &Unions<'_, '_>) -> Vec<Vec<u32>> {
    let mut per_kernel: Vec<Vec<(u32, u32)>> = vec![Vec::new(); context.live.kernels.len()];
    context
        .graph
        .reach(context.resolved, &unions.functions, &context.live.kernels, |f, k| {
            for &(content, sequence) in &unions.numbers[f] {
                match per_kernel[k].iter_mut().find(|e| e.1 == content) {
                    Some(known) => known.0 = known.0.min(sequence),
                    None => per_kernel[k].push((sequence, content)),
                }
            }
        });
    let in_order = |mut list: Vec<(u32, u32)>| {
        list.sort_unstable();
        list.into_iter().map(|e| e.1).collect()
    };
    per_kernel.into_iter().map(in_order).collect()
}

fn many_kernels<'d>(context: Context<'_, 'd>, attributes: &Attributes<'d>, acting: &Acting, last: &mut Final<'d>) {
    let mut own: HashMap<FunctionId, Heritage, State> = HashMap::default();
    let mut mbarriers: Vec<(FunctionId, u16)> = Vec::new();
    for (owner, number, record) in acting.records(attributes) {
        let Some(f) = owner.function().filter(|&f| !context.resolved.functions[f].entry) else {
            continue;
        };
        own.entry(f).or_default().add(number, record);
        if record.code == attr::NUM_MBARRIERS {
            mbarriers.push((f, record.half()));
        }
    }
    if own.is_empty() {
        return;
    }
    let heritage = context.graph.fold(
        context.resolved,
        |f, h: &mut Heritage| {
            if let Some(mine) = own.get(&f) {
                h.join(mine);
            }
        },
        Heritage::join,
    );
    let sums = mbarrier_sums(context, &mbarriers);
    let externs = unions(context, attributes, acting, attr::EXTERNS);
    let fragments = unions(context, attributes, acting, attr::AT_ENTRY_FRAGMENTS);
    let (extern_lists, fragment_lists) = (reaching_contents(context, &externs), reaching_contents(context, &fragments));
    for (i, &k) in context.live.kernels.iter().enumerate() {
        let h = &heritage[context.graph.component(k)];
        let mut causes: Vec<(u32, u8)> = CODES
            .iter()
            .zip(h.first)
            .filter(|(_, n)| *n != NEVER)
            .map(|(&code, n)| (n, code))
            .collect();
        if causes.is_empty() {
            continue;
        }
        causes.sort_unstable();
        let list = last.list(&attributes.records, k);
        for (_, code) in causes {
            match code {
                attr::NUM_BARRIERS => raise(list, code, h.barriers),
                attr::VRC_CTA_INIT_COUNT => raise(list, code, h.init_count),
                attr::NUM_MBARRIERS => add(list, code, sums.get(i).copied().unwrap_or(0)),
                attr::REG_RECONFIG => match first_of(list, code) {
                    Some(record) => record.payload = Payload::Half(h.reconfig.1),
                    None => list.push(flag(code, h.reconfig.1)),
                },
                attr::SPARSE_MMA_MASK => {
                    if let Some(record) = first_of(list, code) {
                        record.payload = Payload::Half(record.half() | h.mask);
                    }
                }
                attr::EXTERNS => extend(list, code, &externs, extern_lists.get(i)),
                attr::AT_ENTRY_FRAGMENTS => extend(list, code, &fragments, fragment_lists.get(i)),
                _ if first_of(list, code).is_none() => list.push(flag(code, 0)),
                _ => {}
            }
        }
    }
}

/// Fragments belong to kernels: functions lose theirs.
fn drop_fragments<'d>(context: Context<'_, 'd>, attributes: &Attributes<'d>, acting: &Acting, last: &mut Final<'d>) {
    for (owner, _, record) in acting.records(attributes) {
        if record.code == attr::AT_ENTRY_FRAGMENTS
            && let Some(f) = owner.function().filter(|&f| !context.resolved.functions[f].entry)
        {
            last.list(&attributes.records, f).retain(|r| r.code != attr::AT_ENTRY_FRAGMENTS);
        }
    }
}

/// nvlink quirk: a count of 0xffff stays; others wrap around.
fn sum(a: u16, b: u16) -> u16 {
    if a == u16::MAX || b == u16::MAX {
        u16::MAX
    } else {
        a.wrapping_add(b)
    }
}

fn mbarrier_sums(context: Context<'_, '_>, mbarriers: &[(FunctionId, u16)]) -> Vec<u16> {
    let mut totals: HashMap<FunctionId, u16, State> = HashMap::default();
    for &(f, n) in mbarriers {
        let total = totals.entry(f).or_insert(0);
        *total = sum(*total, n);
    }
    let mut functions: Vec<FunctionId> = totals.keys().copied().collect();
    functions.sort_unstable();
    let mut sums = vec![0; context.live.kernels.len()];
    context.graph.reach(context.resolved, &functions, &context.live.kernels, |f, k| {
        sums[k] = sum(sums[k], functions.get(f).and_then(|f| totals.get(f)).copied().unwrap_or(0));
    });
    sums
}

fn raise(list: &mut Vec<Attribute<'_>>, code: u8, value: u16) {
    match first_of(list, code) {
        Some(record) => record.payload = Payload::Half(record.half().max(value)),
        None => list.push(byte(code, value)),
    }
}

fn add(list: &mut Vec<Attribute<'_>>, code: u8, value: u16) {
    match first_of(list, code) {
        Some(record) => record.payload = Payload::Half(sum(record.half(), value)),
        None => list.push(half(code, value)),
    }
}

/// Adds what is new of each content to the kernel's record; without one, makes it.
fn extend<'d>(list: &mut Vec<Attribute<'d>>, code: u8, unions: &Unions<'_, 'd>, contents: Option<&Vec<u32>>) {
    if first_of(list, code).is_none() {
        let payload = if code == attr::EXTERNS {
            Payload::Functions(Box::default())
        } else {
            Payload::Words(Box::default())
        };
        list.push(Attribute {
            format: FORMAT_SIZED,
            code,
            payload,
        });
    }
    let Some(record) = first_of(list, code) else { return };
    for number in contents.into_iter().flatten() {
        match (&mut record.payload, unions.contents.get(*number as usize)) {
            (Payload::Functions(mine), Some(Payload::Functions(theirs))) => extend_with(mine, theirs),
            (Payload::Words(mine), Some(Payload::Words(theirs))) => extend_with(mine, theirs),
            _ => {}
        }
    }
}

fn extend_with<T: Copy + PartialEq>(mine: &mut Box<[T]>, theirs: &[T]) {
    let mut list = std::mem::take(mine).into_vec();
    append_new(&mut list, theirs);
    *mine = list.into();
}

fn append_new<T: Copy + PartialEq>(mine: &mut Vec<T>, theirs: &[T]) {
    for &x in theirs {
        if !mine.contains(&x) {
            mine.push(x);
        }
    }
}

fn one_kernel<'d>(rules: &Rules, attributes: &Attributes<'d>, acting: &Acting, kernel: FunctionId, last: &mut Final<'d>) {
    let others = || {
        acting
            .records(attributes)
            .filter(|(owner, _, _)| *owner != Owner::Function(kernel))
            .map(|(_, _, record)| record)
    };
    last.only_groups = GROUPS.map(|code| last.functions[kernel].iter(&attributes.records).any(|r| r.code == code));
    for code in CODES {
        let mut of_code = others().filter(|r| r.code == code).peekable();
        if of_code.peek().is_none() {
            continue;
        }
        let list = last.list(&attributes.records, kernel);
        let has = first_of(list, code).is_some();
        match code {
            attr::VRC_CTA_INIT_COUNT if !has => list.push(byte(code, of_code.map(Attribute::half).max().unwrap_or(0))),
            attr::VRC_CTA_INIT_COUNT | attr::SPARSE_MMA_MASK => {}
            attr::NUM_BARRIERS => raise(list, code, of_code.map(Attribute::half).max().unwrap_or(0)),
            attr::NUM_MBARRIERS => {
                let total = of_code.map(Attribute::half).fold(0, sum);
                if has || total != 0 {
                    add(list, code, total);
                }
            }
            attr::EXTERNS => one_kernel_externs(rules, &attributes.records, list, of_code.flat_map(|r| functions_of(r))),
            attr::AT_ENTRY_FRAGMENTS => one_kernel_fragments(&attributes.records, list, of_code.flat_map(words_of)),
            _ if !has => list.push(flag(code, 0)),
            _ => {}
        }
    }
}

fn functions_of<'r>(record: &'r Attribute<'_>) -> &'r [FunctionId] {
    match &record.payload {
        Payload::Functions(list) => list,
        _ => &[],
    }
}

fn words_of<'r>(record: &'r Attribute<'_>) -> &'r [u32] {
    match &record.payload {
        Payload::Words(list) => list,
        _ => &[],
    }
}

/// The only kernel's fragments are made anew if a function has one that it lacks: all records in merge order.
fn one_kernel_fragments<'r, 'd>(records: &[Attribute<'d>], list: &mut Vec<Attribute<'d>>, mut theirs: impl Iterator<Item = &'r u32>) {
    let code = attr::AT_ENTRY_FRAGMENTS;
    let own: Vec<u32> = list.iter().filter(|r| r.code == code).flat_map(words_of).copied().collect();
    if list.iter().any(|r| r.code == code) && theirs.all(|f| own.contains(f)) {
        return;
    }
    let mut union = Vec::new();
    for r in records.iter().filter(|r| r.code == code) {
        append_new(&mut union, words_of(r));
    }
    list.retain(|r| r.code != code);
    list.push(Attribute {
        format: FORMAT_SIZED,
        code,
        payload: Payload::Words(union.into()),
    });
}

/// The only kernel's EXTERNS are made anew if a function has one that it lacks: all records in merge order, each new symbol
/// in front, or last in later releases.
fn one_kernel_externs<'r, 'd>(
    rules: &Rules,
    records: &[Attribute<'d>],
    list: &mut Vec<Attribute<'d>>,
    theirs: impl Iterator<Item = &'r FunctionId>,
) {
    let own: Vec<FunctionId> = list
        .iter()
        .filter(|r| r.code == attr::EXTERNS)
        .flat_map(functions_of)
        .copied()
        .collect();
    let mut theirs = theirs;
    if theirs.all(|f| own.contains(f)) {
        return;
    }
    let mut all: Vec<FunctionId> = Vec::new();
    for r in records.iter().filter(|r| r.code == attr::EXTERNS) {
        append_new(&mut all, functions_of(r));
    }
    if !rules.externs_in_order {
        all.reverse();
    }
    list.retain(|r| r.code != attr::EXTERNS);
    list.push(Attribute {
        format: FORMAT_SIZED,
        code: attr::EXTERNS,
        payload: Payload::Functions(all.into()),
    });
}

/// Attributes of code that uses single CTAs and pairs of them.
const GROUPS: [u8; 2] = [attr::TCGEN05_1CTA_USED, attr::TCGEN05_2CTA_USED];

/// Refuses kernels that use both groups of tensor core instructions.
pub fn check_tensor_groups(context: Context<'_, '_>, last: &Final<'_>, out: &mut Collector<'_>) {
    if context.mode.relocatable {
        return;
    }
    for &k in &context.live.kernels {
        let [one, two] = GROUPS.map(|code| last.of(k).any(|r| r.code == code));
        if one && two && !is_overlooked(context, last, k) {
            out.error(Code::TcgenConflict {
                entry: context.resolved.function_name(k),
            });
        }
    }
}

/// nvlink quirk: groups that the only kernel has from functions are compared with its own, not with each other.
fn is_overlooked(context: Context<'_, '_>, last: &Final<'_>, kernel: FunctionId) -> bool {
    context.live.only == Some(kernel) && context.options.identity == Identity::Nvlink && last.only_groups == [false; 2]
}
