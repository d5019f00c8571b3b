//! What kernels inherit from the functions they reach.
//!
//! 1. Registers: the maximum. Stack and call-return stack: the deepest call path, unknown where a cycle is reachable, and for kernels whose stack the
//!    compiler did not know (`-ewp`; any copy of a weak kernel).
//! 2. Several kernels: records of non-kernel functions act on every kernel that reaches them, in merge order. Flags are added once;
//!    barrier counts take the maximum, mbarriers the sum; EXTERNS, fragments and languages the union. What is added comes in order of its first cause.
//! 3. One kernel: every other live function contributes, reachable or not, and what is added comes in a fixed order.
//! 4. Objects of CUDA 12 have rules of their own ([`cuda12`]).
//!
//! Everything but unions and sums is a fold over the condensed call graph, so cost is linear in its edges.

use super::attributes::{Attribute, Attributes, Owner, Payload, byte, first_of, flag, half};
use super::call_totals::CallTotals;
use super::codes::{CODES, slot_of};
use super::inheritable::InheritableRecords;
use super::kernel::KernelAttributes;
use super::lists::List;
use super::{cuda12, stubs};
use crate::diagnostics::{Code, Collector};
use crate::ids::{FunctionId, Table};
use crate::names::SeededState;
use crate::options::Identity;
use crate::parts::Parts;
use crate::session::Link;
use cubin::nvinfo::FORMAT_SIZED;
use cubin::nvinfo::attr;
use cubin::release::Rules;
use hashbrown::HashMap;

/// What functions hand to kernels. It needs no symbols, so it is collected in parallel with merging.
#[derive(Debug)]
pub struct Heritable {
    /// Numbers over the call graph.
    pub totals: CallTotals,
    /// Records that act on other functions than their own.
    pub records: InheritableRecords,
}

impl Heritable {
    /// Looks at the attributes of all functions.
    pub fn new(link: Link<'_, '_>, attributes: &Attributes<'_>) -> Self {
        let (totals, records) = link.threads.join(
            || CallTotals::new(link, &attributes.facts),
            || InheritableRecords::new(attributes, link.live, &link.mode.rules, link.threads),
        );
        Heritable { totals, records }
    }
}

/// Computes all attributes of the output; `heritable` is `None` for a relocatable one.
pub fn propagate<'d>(link: Link<'_, 'd>, mut attributes: Attributes<'d>, heritable: Option<&Heritable>) -> KernelAttributes<'d> {
    let count = link.resolved.functions.len();
    let mut module = std::mem::take(&mut attributes.module);
    module.reverse();
    let mut last = KernelAttributes {
        module,
        stubs: Vec::new(),
        stub_languages: Vec::new(),
        records: Parts::default(),
        functions: Table::filled(count, List::default()),
        facts: std::mem::take(&mut attributes.facts),
        registers: Table::filled(count, 0),
        stack: Table::filled(count, None),
        flagged: Vec::new(),
        reserved: std::mem::take(&mut attributes.reserved),
        only_groups: [false; 2],
    };
    share(&attributes, &mut last);
    cuda12::mercury_versions(link, &attributes, &mut last);
    if let Some(heritable) = heritable {
        inherit(link, &attributes, heritable, &mut last);
    }
    last.records = attributes.records;
    last
}

/// Hands every function its own records.
fn share<'d>(attributes: &Attributes<'d>, last: &mut KernelAttributes<'d>) {
    for (owner, range) in attributes.sections() {
        match owner {
            Owner::Module => {}
            Owner::Stubs => last.stubs.extend_from_slice(attributes.records.of_part(range)),
            Owner::Function(f) => last.functions[f].add(&attributes.records, range),
        }
    }
    last.stubs.reverse();
    last.functions.iter_mut().for_each(List::finish);
}

fn inherit<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, heritable: &Heritable, last: &mut KernelAttributes<'d>) {
    let Heritable { totals, records: acting } = heritable;
    registers(link, totals, last);
    stacks(link, attributes, totals, last);
    if link.live.only.is_none() {
        stubs::inherit(link, attributes, acting, last);
    }
    cuda12::sparse_masks(link, attributes, &acting.masked, last);
    match link.live.only {
        Some(kernel) => one_kernel(&link.mode.rules, attributes, acting, kernel, last),
        None if link.live.kernels.is_empty() => {}
        None => many_kernels(link, attributes, acting, last),
    }
    if !link.live.kernels.is_empty() {
        drop_fragments(link, attributes, acting, last);
    }
    cuda12::barriers(link, attributes, last);
}

fn registers(link: Link<'_, '_>, folds: &CallTotals, last: &mut KernelAttributes<'_>) {
    for &k in &link.live.kernels {
        last.registers[k] = folds.registers[link.graph.component(k)];
    }
    for record in last.module.iter_mut().filter(|r| r.code == attr::REGCOUNT) {
        if let Some((symbol, _)) = record.payload.about()
            && let Some(f) = link.resolved.function(symbol).filter(|&f| link.live.is_kernel[f])
        {
            record.payload = Payload::FunctionWord(f, last.registers[f]);
        }
    }
}

/// MIN_STACK_SIZE per kernel is added when symbols have their numbers; the call-return stack here.
fn stacks<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, folds: &CallTotals, last: &mut KernelAttributes<'d>) {
    for f in link
        .resolved
        .functions
        .ids()
        .filter(|&f| link.live.is_kernel[f] || link.resolved.functions[f].stub)
    {
        last.stack[f] = folds.stack[link.graph.component(f)].filter(|_| !last.facts[f].unbounded);
    }
    for &k in &link.live.kernels {
        let crs = folds.crs[link.graph.component(k)].filter(|_| !last.facts[k].unbounded);
        let value = crs.unwrap_or(-1) as u32;
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

const NEVER: u32 = u32::MAX;

/// What a component of the call graph hands to the kernels above it.
#[derive(Clone)]
struct Inherited {
    /// Number of the first record of each acting code.
    first: [u32; CODES.len()],
    barriers: u16,
    init_count: u16,
    mask: u16,
    /// Number and value of the last REG_RECONFIG.
    reconfig: (u32, u16),
}

impl Default for Inherited {
    fn default() -> Self {
        Inherited {
            first: [NEVER; CODES.len()],
            barriers: 0,
            init_count: 0,
            mask: 0,
            reconfig: (0, 0),
        }
    }
}

impl Inherited {
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
    fn join(&mut self, other: &Inherited) {
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
struct SharedLists<'r, 'd> {
    contents: Vec<&'r Payload<'d>>,
    /// Functions with such records, and their contents with the records' numbers.
    functions: Vec<FunctionId>,
    numbers: Vec<Vec<(u32, u32)>>,
}

fn unions<'r, 'd>(link: Link<'_, '_>, attributes: &'r Attributes<'d>, acting: &InheritableRecords, code: u8) -> SharedLists<'r, 'd> {
    let mut known: HashMap<Vec<u32>, u32, SeededState> = HashMap::default();
    let mut place: HashMap<FunctionId, usize, SeededState> = HashMap::default();
    let mut out = SharedLists {
        contents: Vec::new(),
        functions: Vec::new(),
        numbers: Vec::new(),
    };
    for &(owner, sequence) in &acting.list {
        let Some(record) = attributes.records.get(sequence as usize).filter(|r| r.code == code) else {
            continue;
        };
        let Some(f) = owner.function().filter(|&f| !link.resolved.functions[f].entry) else {
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
fn reaching_contents(link: Link<'_, '_>, unions: &SharedLists<'_, '_>) -> Vec<Vec<u32>> {
    let mut per_kernel: Vec<Vec<(u32, u32)>> = vec![Vec::new(); link.live.kernels.len()];
    link.graph.reach(link.resolved, &unions.functions, &link.live.kernels, |f, k| {
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

fn many_kernels<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, acting: &InheritableRecords, last: &mut KernelAttributes<'d>) {
    let mut own: HashMap<FunctionId, Inherited, SeededState> = HashMap::default();
    let mut mbarriers: Vec<(FunctionId, u16)> = Vec::new();
    for (owner, number, record) in acting.records(attributes) {
        let Some(f) = owner.function().filter(|&f| !link.resolved.functions[f].entry) else {
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
    let heritage = link.graph.fold(
        link.resolved,
        |f, h: &mut Inherited| {
            if let Some(mine) = own.get(&f) {
                h.join(mine);
            }
        },
        Inherited::join,
    );
    let sums = mbarrier_sums(link, &mbarriers);
    let externs = unions(link, attributes, acting, attr::EXTERNS);
    let fragments = unions(link, attributes, acting, attr::AT_ENTRY_FRAGMENTS);
    let (extern_lists, fragment_lists) = (reaching_contents(link, &externs), reaching_contents(link, &fragments));
    let languages = unions(link, attributes, acting, attr::LANGUAGE);
    let language_lists = reaching_contents(link, &languages);
    for (i, &k) in link.live.kernels.iter().enumerate() {
        let h = &heritage[link.graph.component(k)];
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
                attr::LANGUAGE => extend(list, code, &languages, language_lists.get(i)),
                _ if first_of(list, code).is_none() => list.push(flag(code, 0)),
                _ => {}
            }
        }
    }
}

/// Fragments belong to kernels: functions lose theirs.
fn drop_fragments<'d>(link: Link<'_, 'd>, attributes: &Attributes<'d>, acting: &InheritableRecords, last: &mut KernelAttributes<'d>) {
    for (owner, _, record) in acting.records(attributes) {
        if record.code == attr::AT_ENTRY_FRAGMENTS
            && let Some(f) = owner.function().filter(|&f| !link.resolved.functions[f].entry)
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

fn mbarrier_sums(link: Link<'_, '_>, mbarriers: &[(FunctionId, u16)]) -> Vec<u16> {
    let mut totals: HashMap<FunctionId, u16, SeededState> = HashMap::default();
    for &(f, n) in mbarriers {
        let total = totals.entry(f).or_insert(0);
        *total = sum(*total, n);
    }
    let mut functions: Vec<FunctionId> = totals.keys().copied().collect();
    functions.sort_unstable();
    let mut sums = vec![0; link.live.kernels.len()];
    link.graph.reach(link.resolved, &functions, &link.live.kernels, |f, k| {
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
fn extend<'d>(list: &mut Vec<Attribute<'d>>, code: u8, unions: &SharedLists<'_, 'd>, contents: Option<&Vec<u32>>) {
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

fn one_kernel<'d>(
    rules: &Rules,
    attributes: &Attributes<'d>,
    acting: &InheritableRecords,
    kernel: FunctionId,
    last: &mut KernelAttributes<'d>,
) {
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
            attr::AT_ENTRY_FRAGMENTS | attr::LANGUAGE => one_kernel_words(code, &attributes.records, list, of_code.flat_map(words_of)),
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

/// The only kernel's fragments or languages are rebuilt if a function has one that it lacks: all records in merge order.
fn one_kernel_words<'r, 'd>(
    code: u8,
    records: &Parts<Attribute<'d>>,
    list: &mut Vec<Attribute<'d>>,
    mut theirs: impl Iterator<Item = &'r u32>,
) {
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

/// The only kernel's EXTERNS are rebuilt if a function has one that it lacks: all records in merge order, each new symbol
/// first, or last in later releases.
fn one_kernel_externs<'r, 'd>(
    rules: &Rules,
    records: &Parts<Attribute<'d>>,
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
pub fn check_tensor_groups(link: Link<'_, '_>, last: &KernelAttributes<'_>, out: &mut Collector<'_>) {
    if link.mode.relocatable {
        return;
    }
    let uses_both = |_, &k: &FunctionId| {
        let uses = GROUPS.map(|code| last.of(k).any(|r| r.code == code));
        (uses == [true; 2]).then_some(k)
    };
    for k in link.threads.filter_map(&link.live.kernels, uses_both) {
        let times = match is_from_functions(link, last, k) {
            // nvlink quirk: groups that the only kernel has from functions were compared with its own, not with each other; later
            // releases do, once for each group
            true => link.mode.rules.tensor_groups_of_functions,
            false => 1,
        };
        for _ in 0..times {
            out.error(Code::TcgenConflict {
                entry: link.resolved.function_name(k),
            });
        }
    }
}

/// Whether the kernel is the only one and has its groups from functions alone, in a link where that counts.
fn is_from_functions(link: Link<'_, '_>, last: &KernelAttributes<'_>, kernel: FunctionId) -> bool {
    link.live.only == Some(kernel) && link.options.identity == Identity::Nvlink && last.only_groups == [false; 2]
}
